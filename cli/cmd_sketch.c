#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "DIR", "where the files go", NULL },
    CLI_OPTION_MODEL,
    CLI_OPTION_END,
};

const cli_command cli_cmd_sketch = {
    .name = "sketch",
    .operands = "SPEC",
    .summary = "write the author's source files, cut to what ran",
    .about = "Builds and runs the model that SPEC names (see `pellucid help skeleton`) and writes the\n"
             "source files that took part, in their own layout: the functions and statements that\n"
             "ran, the rest shown as `...`.",
    .example = "$ pellucid sketch timm:vit_tiny_patch16_224 -o sketch",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cli_run_python,
};
