#include "cli.h"

static const cli_option options[] = {
    CLI_OPTION_MODEL,
    { 0, "html", "FILE", "write a page, too", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_diff = {
    .name = "diff",
    .operands = "A B",
    .summary = "show what differs between two models, by their skeletons",
    .about = "A and B are each a SPEC, as for `pellucid skeleton`, or the file of a skeleton (NAME.py). Of a\n"
             "SPEC the skeleton is made first, with all its checks; --input and --inputs are for both.\n"
             "\n"
             "Classes and functions belong together by name, by name without what the family is called\n"
             "(LlamaMLP and Qwen3MLP), or by text. Each pair is the same, the same but for sizes (numbers\n"
             "of constructors, and the parameters that give them), or different, with its lines in the\n"
             "names of A. Comments, imports and the order of definitions are not compared.\n"
             "\n"
             "Exit status: 0 all is the same, 4 it is not, 2 a model or a file can't be read.",
    .example = "$ pellucid diff hf:llama.json hf:qwen3.json\n"
               "$ pellucid diff llama.py qwen3.py --html difference.html",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .run = cli_run_python,
};
