#include "cli.h"

static int align(const cli_args *args, pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b) {
    const char *path = cli_value(args, "output");
    pel_text text, python = { 0 };
    const pel_align_options options = { .as_json = cli_has(args, "json"),
                                        .without_values = cli_has(args, "no-values"),
                                        .python = path ? &python : NULL };
    pel_error error;
    pel_align_result found;
    if (!pellucid_align(ctx, a, b, &options, &text, &found, &error))
        return cli_report(ctx, &(cli_input){ .name = a->name.ptr }, &error, options.as_json);
    if (path) {
        int written = cli_write(path, python);
        if (written != CLI_FINE) return written;
    }
    int result = cli_write(NULL, text);
    if (result != CLI_FINE) return result;
    if (found.ambiguous || found.lost) return CLI_INCOMPLETE;
    return found.missing || found.unused || !found.rows ? CLI_FOUND : CLI_FINE;
}

static int run(const cli_args *args) { return cli_with_pair(args, align); }

static const cli_option options[] = {
    { 'o', "output", "FILE.py", "a Python function that makes B's state dict of A's", NULL },
    { 0, "no-values", NULL, "by names, shapes and order alone, though both have values", NULL },
    { 'e', "code", "CODE", "A is the network that this code makes; given twice, B as well", NULL },
    CLI_OPTION_SOURCES,
    CLI_OPTION_JSON,
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_align = {
    .name = "align",
    .operands = "[A] [B]",
    .summary = "find which tensor of one model is which of another",
    .about = "Finds for each tensor of B the tensors of A that it is made of: renamed, turned, reshaped,\n"
             "fused (q, k and v in one matrix) or split, stacked (experts) or tied. A and B are what\n"
             "`pellucid compare` takes. Nothing is executed.\n"
             "\n"
             "If both have values, these decide, and what was found is proved: bit-equal after the map.\n"
             "Else names, shapes and order do, and the output says so. Where they fit in more than one\n"
             "way, nothing is guessed: the tensors are listed with their candidates as ambiguous.\n"
             "Each line ends with what shows it: values, name, words, shape, order, elimination\n"
             "(docs/align.md).\n"
             "\n"
             "-o writes a Python module with convert(state_dict). --json writes a map that\n"
             "`pellucid convert --map` takes.\n"
             "\n"
             "Exit status: 0 each tensor of one is in the other, 3 some are ambiguous or can't be read,\n"
             "4 some have no counterpart, 2 one can't be read.",
    .example = "$ pellucid align timm.safetensors transformers.safetensors -o map.py\n"
               "$ pellucid align old.pt new.pt --json > map.json\n"
               "$ pellucid convert other.pt --map map.json -o converted.safetensors",
    .options = options,
    .max_operands = 2,
    .run = run,
};
