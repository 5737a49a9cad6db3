#include "cli.h"

typedef struct dis_job {
    pel_dis_options options;
} dis_job;

static int dis_file(const void *arg, pel_ctx *ctx, const char *path) {
    const dis_job *job = arg;
    cli_input input;
    pel_error error;
    pel_text text;
    if (!cli_read(path, PEL_BYTECODE_MAX, &input, &error)) return cli_report(ctx, &input, &error, job->options.as_json);
    int result = CLI_FINE;
    if (!pellucid_dis(ctx, input.bytes, &job->options, &text, &error))
        result = cli_report(ctx, &input, &error, job->options.as_json);
    else
        result = cli_write(NULL, text);
    if (result == CLI_FINE && job->options.as_json) putchar('\n');
    cli_release(&input);
    return result;
}

static int run(const cli_args *args) {
    dis_job job = { .options = { .as_json = cli_has(args, "json"),
                                 .normalised = cli_has(args, "normalised"),
                                 .python = cli_marshal_version(args) } };
    if (job.options.as_json && job.options.normalised)
        return cli_usage_error(args->command, "--normalised and --json exclude each other");
    return cli_each_operand(args, dis_file, &job);
}

static const cli_option options[] = {
    CLI_OPTION_JSON,
    { 0, "normalised", NULL, "show instructions as the decompiler reads them, one set for all", NULL },
    CLI_OPTION_MARSHAL,
    CLI_OPTION_END,
};

const cli_command cli_cmd_dis = {
    .name = "dis",
    .operands = "FILE...",
    .summary = "show the instructions of compiled Python",
    .about = "Prints the bytecode of .pyc files (\"-\" is standard input), of Python 3.8 to 3.15 whichever\n"
             "Python is installed: basic blocks with the blocks that lead to them, jumps by offset, and\n"
             "for each block where an exception goes. Source line, offset, instruction, argument.\n"
             "With --normalised: one instruction set in one layout, the main path first, then handlers.\n"
             "\">\" marks the target of a jump, \"[N]\" says that exceptions go to handler N.",
    .example = "$ pellucid dis __pycache__/hello.cpython-311.pyc\n"
               "code <module>, Python 3.11, line 0\n"
               "block 0\n"
               "    0      0  RESUME                   0\n"
               "    1      2  PUSH_NULL\n"
               "           4  LOAD_NAME                print",
    .options = options,
    .min_operands = 1,
    .run = run,
};
