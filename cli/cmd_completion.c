#include "cli.h"

#include <string.h>

static int run(const cli_args *args) {
    if (strcmp(args->operands[0], "bash") == 0)
        cli_print_bash_completion(stdout);
    else
        cli_print_zsh_completion(stdout);
    return CLI_FINE;
}

static const cli_option options[] = { CLI_OPTION_END };

const cli_command cli_cmd_completion = {
    .name = "completion",
    .operands = "bash|zsh",
    .summary = "print a completion script for a shell",
    .about = "Prints a script that teaches a shell to complete subcommands, options and their values.",
    .example = "$ source <(pellucid completion bash)\n"
               "$ pellucid completion zsh > ~/.zfunc/_pellucid",
    .options = options,
    .choices = "bash zsh",
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
