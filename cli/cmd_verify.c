#include "cli.h"

static const cli_option options[] = {
    { 0, "against", "SPEC", "the model (always needed), as for `pellucid skeleton`", NULL },
    CLI_OPTION_MODEL,
    { 0, "call", "METHOD(INPUT, ...)", "a call that FILE was made of; may be given several times", NULL },
    { 0, "module", "PATH", "the part of the model that FILE is a skeleton of", NULL },
    { 0, "full", NULL, "every check of the table, not only those that FILE was verified with", NULL },
    CLI_OPTION_END,
};

static int run(const cli_args *args) {
    if (!cli_has(args, "against"))
        return cli_usage_error(&cli_cmd_verify, "--against SPEC says with which model FILE is compared");
    return cli_run_python(args);
}

const cli_command cli_cmd_verify = {
    .name = "verify",
    .operands = "FILE",
    .summary = "compare a skeleton's file with its model, again",
    .about = "Builds the model that SPEC names and compares the skeleton in FILE with it, as\n"
             "`pellucid skeleton` did when it wrote FILE. The last line of FILE says which runs were\n"
             "equal then; one that is not equal now is a fault. Exit 4: the skeleton differs from its\n"
             "model, or from what FILE claims. Exit 3: equal where it must be, not everywhere.",
    .example = "$ pellucid verify resnet18.py --against timm:resnet18",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
