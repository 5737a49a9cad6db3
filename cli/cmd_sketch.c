#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "DIR", "where the files go", NULL },
    CLI_OPTION_MODEL,
    { 0, "package", "NAME", "of a script: cut this installed package, too; may be given several times", NULL },
    CLI_OPTION_END,
};

static int run(const cli_args *args) {
    if (args->n_operands > 1 && !cli_names_python(args->operands[0]))
        return cli_usage_error(&cli_cmd_sketch, "one operand too many: '%s'; a script is -- python SCRIPT.py",
                               args->operands[1]);
    return cli_run_python(args);
}

const cli_command cli_cmd_sketch = {
    .name = "sketch",
    .operands = "SPEC|-- python SCRIPT [ARG...]",
    .summary = "write the author's source files, cut to what ran",
    .about = "Builds and runs the model that SPEC names (see `pellucid help skeleton`) and writes the\n"
             "source files that took part, in their own layout: the functions and statements that\n"
             "ran, the rest shown as `...`.\n"
             "\n"
             "-- python SCRIPT.py runs a script with its lines watched, and writes it and the modules of\n"
             "its repository so that they run again: branches that did not run are assertions,\n"
             "functions, parameters and imports that nothing uses are gone, and whatever else did\n"
             "not run raises. What these files print is compared with what the script printed: less is\n"
             "cut where that helps, and exit code 4 says that they print something else. The script is\n"
             "executed, and its sketch as well: give only one that you would run several times.",
    .example = "$ pellucid sketch timm:vit_tiny_patch16_224 -o sketch\n"
               "$ pellucid sketch -o sketch -- python quickstart.py --steps 2",
    .options = options,
    .min_operands = 1,
    .run = run,
};
