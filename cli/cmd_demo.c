#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "DIR", "where the model, its skeleton and the page go (default here)", NULL },
    { 0, "width", "COLUMNS", "columns to use (default those of the terminal)", NULL },
    { 0, "python", "PATH", "the Python that has torch", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_demo = {
    .name = "demo",
    .operands = "",
    .summary = "show the main job on a built-in model",
    .about = "Makes the skeleton of a transformer that is built the way libraries build them. Prints\n"
             "its tree, the author's source beside what ran, and how they were compared; writes the\n"
             "model, the skeleton, and a page that shows both.",
    .example = "$ pellucid demo -o demo",
    .options = options,
    .run = cli_run_python,
};
