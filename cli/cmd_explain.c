#include "cli.h"

static const cli_option options[] = {
    { 'o', "output", "DIR", "keep all sources, graphs and guards there", NULL },
    { 0, "html", "FILE", "write a page instead: the three sources side by side, lines matched", NULL },
    { 0, "trace", "DIR",
      "instead of a model: read what torch.compile logged with TORCH_TRACE=DIR, perhaps on another machine; nothing of "
      "it is executed",
      NULL },
    { 0, "timeline", "FILE", "write where the time of compiling went, for chrome://tracing or Perfetto", NULL },
    { 0, "backend", "NAME", "of torch.compile: eager (the default), aot_eager, inductor or another", NULL },
    { 0, "numerics", NULL,
      "compare the numbers of each stage of the compiler with the model as written, bit by bit, and name the line "
      "where they part",
      NULL },
    { 0, "vary", NULL, "call it with other batch sizes and lengths, too, to see what is compiled again", NULL },
    { 0, "try", NULL,
      "make the same calls again under each setting that could stop a recompilation, count, and compare the results; "
      "includes --vary",
      NULL },
    CLI_OPTION_MODEL,
    CLI_OPTION_END,
};

const cli_command cli_cmd_explain = {
    .name = "explain",
    .operands = "SPEC|--trace DIR",
    .summary = "say what torch.compile makes of a model, and where it breaks",
    .about = "Builds the model that SPEC names (see `pellucid help skeleton`), compiles and calls it, and\n"
             "reports what was compiled, where the graph broke and why, and what was compiled again;\n"
             "where the time of compiling went; then the source as written, what Dynamo generated and the\n"
             "graph, side by side. From Python: pellucid.explain, and pellucid.prepare_debug to step through\n"
             "it in a debugger.\n"
             "\n"
             "--trace DIR reads the log of a run with TORCH_TRACE=DIR (what tlparse reads) into the same\n"
             "report and page: graphs, Inductor's code with the lines that each kernel computes, recompilations,\n"
             "time. Of the source there are the lines that the log quotes. Exit code 3 if not all of the log\n"
             "could be read.\n"
             "\n"
             "What was compiled again has its cause: the guard that failed, the value that it wanted and the\n"
             "one that came, the lines that need it, give it and assign to it, and the change that would stop\n"
             "it. --vary makes calls that differ; --try tries the changes.\n"
             "\n"
             "With --numerics the model runs as written and with the backends eager, aot_eager and\n"
             "inductor. Results and gradients are compared; for the first backend that differs, the line\n"
             "whose inputs are equal and whose value is not is named, with your source line and the\n"
             "kernel. Lines that make NaN or infinity of finite numbers are named, too. Exit code 4 if\n"
             "anything differs or is not finite. From Python: pellucid.bisect_numerics.",
    .example = "$ pellucid explain timm:resnet18 --html explained.html\n"
               "$ pellucid explain timm:resnet18 --try\n"
               "$ pellucid explain --trace /tmp/trace --html page.html\n"
               "$ pellucid explain timm:resnet18 --numerics",
    .options = options,
    .min_operands = 0,
    .max_operands = 1,
    .run = cli_run_python,
};
