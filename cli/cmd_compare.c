#include "cli.h"

static int compare(const cli_args *args, pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b) {
    const pel_compare_options options = { .as_json = cli_has(args, "json"),
                                          .ignore_dtype = cli_has(args, "ignore-dtype") };
    pel_error error;
    pel_text text;
    pel_compare_result found;
    if (!pellucid_compare(ctx, a, b, &options, &text, &found, &error))
        return cli_report(ctx, &(cli_input){ .name = a->name.ptr }, &error, options.as_json);
    int result = cli_write(NULL, text);
    return result != CLI_FINE ? result : found.differences ? CLI_FOUND : found.open ? CLI_INCOMPLETE : CLI_FINE;
}

static int run(const cli_args *args) { return cli_with_pair(args, compare); }

static const cli_option options[] = {
    { 'e', "code", "CODE", "A is the network that this code makes; given twice, B as well", NULL },
    CLI_OPTION_SOURCES,
    CLI_OPTION_JSON,
    { 0, "ignore-dtype", NULL, "float16 weights fit a float32 model", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_compare = {
    .name = "compare",
    .operands = "[A] [B]",
    .summary = "compare the tensors of two models: does this checkpoint fit?",
    .about = "Compares names, shapes and dtypes of the tensors of two models, without executing anything.\n"
             "A and B are each one of: Python source (scanned as `pellucid scan` does),\n"
             "files of any format that `pellucid tree` reads, the trace of a recorded run, or model trees\n"
             "that another command wrote with --json. Of several networks, the two that have most in\n"
             "common are compared. If all names of one have a prefix that the other lacks, as\n"
             "'model.', it is ignored. A size that is a symbol fits any number.\n"
             "\n"
             "If one of the two is a model (source or a recorded run), the output also says what torch's\n"
             "load_state_dict(strict=True) would raise, in its words: missing keys, unexpected keys, sizes.\n"
             "Then come names that are probably renamed, and, if renaming is enough, the line of Python that\n"
             "loads the file. --json has the same as load_state_dict.\n"
             "\n"
             "Exit status: 0 they are the same, 3 they are if what the source leaves open fits (sizes, layers,\n"
             "branches), 4 they are not, or a file has tensors that can't be read, 2 one can't be read.",
    .example = "$ pellucid compare model.py checkpoint.pt --python venv\n"
               "$ pellucid compare -e 'import timm; timm.create_model(\"resnet18\")' weights.pt\n"
               "$ pellucid compare checkpoint.pt model.safetensors",
    .options = options,
    .max_operands = 2,
    .run = run,
};
