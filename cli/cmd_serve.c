#include "cli.h"

static const cli_option options[] = {
    { 0, "port", "N", "the port (default any that is free)", NULL },
    { 0, "no-open", NULL, "print the address, don't open it in a browser", NULL },
    { 0, "python", "PATH", "the Python that has the package", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_serve = {
    .name = "serve",
    .operands = "[FOLDER|FILE]",
    .summary = "show the model files of a folder in a browser",
    .about = "Serves a page to this machine's browser: the files of FOLDER (default: the current one),\n"
             "of each its tree, its audit, its tensors, and of a tensor its first values and a\n"
             "histogram. Each answer is made when it is asked for. Nothing in a file is executed,\n"
             "nothing is written, nothing outside of FOLDER is read. Ctrl-C ends it.\n"
             "\n"
             "The address has a token: other users of this machine and other pages can't ask. It is\n"
             "reached from this machine alone; from elsewhere by `ssh -L PORT:127.0.0.1:PORT`.",
    .example = "$ pellucid serve checkpoints\n"
               "$ pellucid serve model.safetensors --port 8000 --no-open",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = cli_run_python,
};
