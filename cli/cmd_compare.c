#include "cli.h"

#include <string.h>

static int compare(const cli_args *args, pel_ctx *ctx, cli_model *models) {
    for (int i = 0; i < 2; i++) models[i].file.name = (pel_text){ args->operands[i], strlen(args->operands[i]) };
    const pel_compare_options options = { .as_json = cli_has(args, "json"),
                                          .ignore_dtype = cli_has(args, "ignore-dtype") };
    pel_error error;
    pel_text text;
    unsigned differences;
    if (!pellucid_compare(ctx, &models[0].file, &models[1].file, &options, &text, &differences, &error))
        return cli_report(ctx, &(cli_input){ .name = models[0].input.name }, &error, options.as_json);
    int result = cli_write(NULL, text);
    return result != CLI_FINE ? result : differences ? CLI_FOUND : CLI_FINE;
}

static int run(const cli_args *args) {
    cli_model models[2];
    pel_error error;
    pel_ctx *ctx = cli_open_for_models(args);
    if (!ctx) return CLI_BAD_INPUT;
    int n = 0, result = CLI_FINE;
    for (; n < 2 && result == CLI_FINE; n++)
        if (!cli_open_model(args->operands[n], &models[n], &error)) {
            result = cli_report(ctx, &models[n].input, &error, cli_has(args, "json"));
            break;
        }
    if (result == CLI_FINE) result = compare(args, ctx, models);
    while (n-- > 0) cli_close_model(&models[n]);
    pellucid_close(ctx);
    return result;
}

static const cli_option options[] = {
    CLI_OPTION_JSON,
    { 0, "ignore-dtype", NULL, "float16 weights fit a float32 model", NULL },
    CLI_OPTION_MEMORY,
    CLI_OPTION_END,
};

const cli_command cli_cmd_compare = {
    .name = "compare",
    .operands = "A B",
    .summary = "say whether two models have the same tensors",
    .about = "Compares names, shapes and dtypes of the tensors of two model files, without executing\n"
             "anything. A and B are files of any format that `pellucid tree` reads, or model trees that\n"
             "another command wrote with --json: of a scan, of a recorded run, of a live model. Where\n"
             "all names of one differ from the other's by a prefix, as 'model.', it is taken off.\n"
             "A size that is a symbol fits any number.\n"
             "\n"
             "Exit 0: the same. Exit 4: not.",
    .example = "$ pellucid compare checkpoint.pt model.safetensors\n"
               "$ pellucid tree timm:resnet18 --json > code.json; pellucid compare code.json resnet18.pth",
    .options = options,
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
