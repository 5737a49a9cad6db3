#include "cli.h"

typedef struct ast_job {
    pel_ast_options options;
    bool as_json;
} ast_job;

static int show_file(const void *arg, pel_ctx *ctx, const char *path) {
    const ast_job *job = arg;
    cli_input input;
    pel_error error;
    pel_text text;
    if (!cli_read(path, PEL_SOURCE_MAX, &input, &error)) return cli_report(ctx, &input, &error, job->as_json);
    int result = CLI_FINE;
    if (!pellucid_ast(ctx, input.bytes, &job->options, &text, &error))
        result = cli_report(ctx, &input, &error, job->as_json);
    else if (job->options.format != PEL_AST_CHECK)
        result = cli_write(NULL, text);
    if (result == CLI_FINE && job->options.format == PEL_AST_JSON) putchar('\n');
    cli_release(&input);
    return result;
}

static int run(const cli_args *args) {
    ast_job job = { .as_json = cli_has(args, "json") };
    job.options.python = cli_python_version(args);
    job.options.format = cli_has(args, "quiet") ? PEL_AST_CHECK : job.as_json ? PEL_AST_JSON : PEL_AST_TEXT;
    return cli_each_operand(args, show_file, &job);
}

static const cli_option options[] = {
    CLI_OPTION_JSON,
    CLI_OPTION_PYTHON_VERSION,
    { 'q', "quiet", NULL, "print nothing but errors: only check", NULL },
    CLI_OPTION_END,
};

const cli_command cli_cmd_ast = {
    .name = "ast",
    .operands = "FILE...",
    .summary = "print the syntax tree of Python source",
    .about = "Parses Python source (\"-\" is standard input) and prints its syntax tree: CPython's\n"
             "node kinds, fields and positions. A line of the text is a node: its place in its\n"
             "parent, its kind, its names and values, and its position (line:column).\n"
             "\n"
             "With --json a node is an object with _type and CPython's fields; a constant is\n"
             "{\"t\": its type, \"v\": its repr}. Source that Python rejects is rejected, at the\n"
             "same place.",
    .example = "$ echo 'y = f(x)' | pellucid ast -\n"
               "Module\n"
               "  body[0]: Assign  1:0-1:8\n"
               "    targets[0]: Name id=y ctx=Store  1:0-1:1\n"
               "    value: Call  1:4-1:8\n"
               "      func: Name id=f  1:4-1:5\n"
               "      args[0]: Name id=x  1:6-1:7",
    .options = options,
    .min_operands = 1,
    .run = run,
};
