#include "cli.h"

static const cli_option options[] = { CLI_OPTION_MODEL, CLI_OPTION_END };

const cli_command cli_cmd_tree = {
    .name = "tree",
    .operands = "SPEC",
    .summary = "print the hierarchy of a model",
    .about = "Builds the model that SPEC names (see `pellucid help skeleton`) and prints its modules:\n"
             "names, classes, arguments, parameters with their shapes. Equal neighbours are one line.",
    .example = "$ pellucid tree timm:resnet18\n"
               "$ pellucid tree 'package.models:Net(width=32)' --json",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_python,
};
