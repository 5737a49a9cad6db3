#include "cli.h"

static const cli_option options[] = { CLI_OPTION_MODEL, CLI_OPTION_END };

const cli_command cli_cmd_tree = {
    .name = "tree",
    .operands = "SPEC",
    .summary = "print the hierarchy of a model",
    .about = "Builds the model that SPEC names (see `pellucid help skeleton`) and prints its modules:\n"
             "names, classes, arguments, parameters with their shapes. Equal neighbours are one line.",
    .example = "$ pellucid tree torch.nn:GRUCell(4,4)\n"
               "GRUCell(4, 4)  weight_ih 12×4, weight_hh 12×4, bias_ih 12, bias_hh 12\n"
               "120 parameters",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_python,
};
