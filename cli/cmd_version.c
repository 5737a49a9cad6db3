#include "cli.h"

static int run(const cli_args *args) {
    if (cli_has(args, "json"))
        printf("{\"version\":\"%s\",\"python\":[\"3.%d\",\"3.%d\"]}\n", pellucid_version(), PEL_PYTHON_MIN,
               PEL_PYTHON_MAX);
    else
        printf("pellucid %s (Python 3.%d to 3.%d)\n", pellucid_version(), PEL_PYTHON_MIN, PEL_PYTHON_MAX);
    return CLI_FINE;
}

static const cli_option options[] = { CLI_OPTION_JSON, CLI_OPTION_END };

const cli_command cli_cmd_version = {
    .name = "version",
    .operands = "",
    .summary = "print the version",
    .about = "Prints the version of the program and the Pythons whose code it reads, oldest and newest.",
    .example = "$ pellucid version\n"
               "pellucid " PELLUCID_VERSION " (Python 3.8 to 3.15)",
    .options = options,
    .run = run,
};
