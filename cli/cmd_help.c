#include "cli.h"

#include <string.h>

static int run(const cli_args *args) {
    if (cli_has(args, "man")) {
        cli_print_man(stdout);
        return CLI_FINE;
    }
    if (!args->n_operands) {
        cli_print_overview(stdout);
        return CLI_FINE;
    }
    cli_nearest nearest = { .typed = args->operands[0] };
    for (const cli_command *const *command = cli_commands; *command; command++) {
        if (strcmp((*command)->name, args->operands[0]) == 0) {
            cli_print_help(stdout, *command);
            return CLI_FINE;
        }
        cli_consider(&nearest, (*command)->name);
    }
    if (nearest.best)
        return cli_usage_error(NULL, "there is no subcommand '%s'; did you mean '%s'?", args->operands[0],
                               nearest.best);
    return cli_usage_error(NULL, "there is no subcommand '%s'", args->operands[0]);
}

static const cli_option options[] = {
    { 0, "man", NULL, "print the manual page, for man -l", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_help = {
    .name = "help",
    .operands = "[SUBCOMMAND]",
    .summary = "explain the program or a subcommand",
    .about = "Explains a subcommand with its options and an example, or lists them all.",
    .example = "$ pellucid help ast\n"
               "$ pellucid help --man | man -l -",
    .options = options,
    .max_operands = 1,
    .run = run,
};
