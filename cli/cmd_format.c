#include "cli.h"

typedef struct format_job {
    pel_format_options options;
    const char *output;
    bool as_json;
} format_job;

static int format_file(const void *arg, pel_ctx *ctx, const char *path) {
    const format_job *job = arg;
    cli_input input;
    pel_error error;
    pel_text text;
    if (!cli_read(path, PEL_SOURCE_MAX, &input, &error)) return cli_report(ctx, &input, &error, job->as_json);
    int result = pellucid_format(ctx, input.bytes, &job->options, &text, &error)
                     ? cli_write(job->output, text)
                     : cli_report(ctx, &input, &error, job->as_json);
    cli_release(&input);
    return result;
}

static int run(const cli_args *args) {
    format_job job = { .output = cli_value(args, "output"), .as_json = cli_has(args, "json") };
    job.options.python = cli_python_version(args);
    int mistake = cli_number(args, "width", 20, 1000, &job.options.width);
    if (mistake >= 0) return mistake;
    if (job.output && args->n_operands > 1) return cli_usage_error(args->command, "'--output' goes with one FILE only");
    return cli_each_operand(args, format_file, &job);
}

static const cli_option options[] = {
    { 'o', "output", "FILE", "write there instead of to standard output", NULL },
    { 'w', "width", "COLUMNS", "break lines to fit (default 100)", NULL },
    CLI_OPTION_PYTHON_VERSION,
    { 0, "json", NULL, "print errors as JSON too, one line per input", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_format = {
    .name = "format",
    .operands = "FILE...",
    .summary = "print Python source again, laid out anew",
    .about = "Parses Python source (\"-\" is standard input) and prints its tree with the printer that\n"
             "all generated code goes through. The result is the same program: parsing it gives the\n"
             "same tree. Comments are not part of the tree and are lost.",
    .example = "$ echo 'if (x): y=f( a,b )' | pellucid format -\n"
               "if x:\n"
               "    y = f(a, b)",
    .options = options,
    .min_operands = 1,
    .run = run,
};
