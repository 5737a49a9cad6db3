#include "cli.h"

#include <string.h>
#include <sys/stat.h>

/* Lines for people are cut where the terminal ends; what programs read is whole. */
static int write_view(const char *path, pel_view view, pel_text text, bool coloured) {
    if (path || view == PEL_VIEW_JSON) return cli_write(path, text);
    return cli_write_fitted(text, coloured);
}

static int tree_of_file(const cli_args *args, pel_ctx *ctx, const char *path) {
    bool as_json = cli_has(args, "json");
    pel_verdict verdict = PEL_HARMLESS;
    pel_view_options how = { .verdict = &verdict,
                             .unfolded = cli_has(args, "unfolded"),
                             .filter = cli_value(args, "filter") };
    int mistake = cli_number(args, "depth", 1, 1000, &how.depth);
    if (mistake >= 0) return mistake;
    cli_model model;
    pel_error error;
    pel_text text;
    if (!cli_open_model(path, &model, &error)) return cli_report(ctx, &model.input, &error, as_json);
    /* the files that were asked for, then what goes to the terminal */
    const struct {
        bool wanted;
        const char *path; /* NULL: standard output */
        pel_view view;
    } views[] = {
        { cli_has(args, "svg"), cli_value(args, "svg"), PEL_VIEW_SVG },
        { cli_has(args, "html"), cli_value(args, "html"), PEL_VIEW_HTML },
        { as_json, NULL, PEL_VIEW_JSON },
        { !as_json && cli_has(args, "table"), NULL, PEL_VIEW_TABLE },
        { !as_json && !cli_has(args, "table") && !cli_has(args, "svg") && !cli_has(args, "html"), NULL, PEL_VIEW_TREE },
    };
    int result = CLI_FINE;
    for (size_t i = 0; i < sizeof views / sizeof *views && result == CLI_FINE; i++) {
        if (!views[i].wanted) continue;
        how.view = views[i].view;
        how.coloured = !views[i].path && cli_is_terminal(stdout);
        how.width = views[i].path ? 0 : (int)cli_columns();
        result = pellucid_tree(ctx, &model.file, &how, &text, &error)
                     ? write_view(views[i].path, views[i].view, text, how.coloured)
                     : cli_report(ctx, &(cli_input){ .name = model.input.name }, &error, as_json);
    }
    cli_close_model(&model);
    bool is_settled = result != CLI_FINE && result != CLI_BAD_INPUT; /* a view could not be written, say */
    return verdict == PEL_DANGEROUS && !is_settled ? CLI_FOUND : result;
}

static int run(const cli_args *args) {
    const char *spec = args->operands[0];
    struct stat info;
    if (strchr(spec, ':') && !cli_is_remote(spec) && stat(spec, &info) != 0) return cli_run_python(args);
    cli_set_insecure(cli_has(args, "insecure"));
    pel_ctx *ctx = cli_open_for_models(args);
    if (!ctx) return CLI_BAD_INPUT;
    int result = tree_of_file(args, ctx, spec);
    pellucid_close(ctx);
    return result;
}

static const cli_option options[] = {
    { 0, "depth", "N", "levels to show below the root (default all)", NULL },
    { 0, "filter", "GLOB", "of a file: only the tensors whose names fit, as 'layers.0.*'", NULL },
    { 0, "unfolded", NULL, "every repeated block, not one for all", NULL },
    { 0, "table", NULL, "parameters, and of a live model output shapes and multiply-adds, instead", NULL },
    { 0, "svg", "FILE", "write a picture: boxes, and what flows between them", NULL },
    { 0, "html", "FILE", "write a page to open, search and walk through", NULL },
    CLI_OPTION_MODEL,
    CLI_OPTION_MEMORY,
    CLI_OPTION_INSECURE,
    CLI_OPTION_END,
};

const cli_command cli_cmd_tree = {
    .name = "tree",
    .operands = "FILE|SPEC",
    .summary = "print the hierarchy of a model or a checkpoint",
    .about = "Prints the modules of a model: names, classes, arguments, parameters with their shapes.\n"
             "Equal neighbours are one line.\n"
             "\n"
             "FILE is a checkpoint or a model file, or the folder of one. Its content decides its\n"
             "format. Nothing in it is executed, and of large files only the tables are read. If the\n"
             "audit finds something, its worst finding is the last line, and heads the page; the exit\n"
             "code of a dangerous file is 4, also where it has no tree.\n"
             "\n"
             "FILE may be the address of a file that is somewhere else (hf://org/model/file, https://,\n"
             "s3://, gs://, az://): only the ranges that are needed are read (docs/remote.md).\n"
             "\n"
             "SPEC names a live model (see `pellucid help skeleton`): it is built by Python. With inputs\n"
             "(see there), and for --table, --svg and --html, it runs once: then output shapes,\n"
             "multiply-adds and what feeds what are shown too.",
    .example = "$ pellucid tree model.safetensors --filter '*.attn.*'\n"
               "$ pellucid tree checkpoint.pt --json\n"
               "$ pellucid tree hf://org/model/model.safetensors\n"
               "$ pellucid tree timm:vit_base_patch16_224 --table --depth 3 --html vit.html",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
