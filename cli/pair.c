/* Two models, for the subcommands that hold one against the other: files, sources, addresses. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* One of the two: a file, or the model tree that scanning a source gave. */
typedef struct side {
    const char *name;
    bool is_source, is_code; /* is_code: -e */
    bool is_open;
    cli_model model;
    pel_model_file tree;
    char *json;
} side;

static bool scan_side(cli_sources *sources, side *s, pel_error *error) {
    pel_text out, code = { s->name, strlen(s->name) };
    pel_scan_result result;
    bool done = s->is_code ? pellucid_scan(sources->scanner, NULL, code, &out, &result, error)
                           : cli_scan_path(sources, s->name, &out, &result, error);
    if (!done) return false;
    /* The next scan may move what the first gave. The name follows: a tree is no Python source, whatever it is of. */
    static const char scanned[] = " (scanned)";
    size_t n_name = strlen(s->name) + sizeof scanned;
    s->json = malloc(out.len + n_name);
    if (!s->json) {
        *error = (pel_error){ .code = PEL_E_MEMORY, .message = "out of memory" };
        return false;
    }
    memcpy(s->json, out.ptr, out.len);
    char *name = s->json + out.len;
    snprintf(name, n_name, "%s%s", s->name, scanned);
    s->tree = (pel_model_file){ .name = { name, n_name - 1 }, .bytes = { s->json, out.len } };
    return true;
}

static bool open_side(cli_sources *sources, side *s, pel_error *error) {
    if (s->is_source) return scan_side(sources, s, error);
    s->is_open = cli_open_model(s->name, &s->model, error);
    s->tree = s->model.file;
    s->tree.name = (pel_text){ s->name, strlen(s->name) };
    return s->is_open;
}

static int open_both(const cli_args *args, pel_ctx *ctx, cli_sources *sources, side *sides, cli_pair_job *job) {
    pel_error error;
    bool any_source = sides[0].is_source || sides[1].is_source;
    if (any_source && !cli_sources_open(sources, (pel_scan_options){ .as_json = true, .classes = true }, &error))
        return cli_usage_error(args->command, "%s", error.message);
    for (int i = 0; i < 2; i++)
        if (!open_side(sources, &sides[i], &error))
            return cli_report(ctx, &(cli_input){ .name = sides[i].name }, &error, cli_has(args, "json"));
    return job(args, ctx, &sides[0].tree, &sides[1].tree);
}

int cli_with_pair(const cli_args *args, cli_pair_job *job) {
    cli_set_insecure(cli_has(args, "insecure"));
    cli_sources *sources = cli_sources_new(args);
    pel_ctx *ctx = sources ? cli_open_for_models(args) : NULL;
    side sides[2] = { 0 };
    int result = CLI_BAD_INPUT;
    if (ctx && sources->n_snippets + args->n_operands != 2) {
        result = cli_usage_error(args->command, "two models are needed: A B, or -e CODE and B, or -e CODE twice");
    } else if (ctx) {
        for (size_t i = 0; i < 2; i++) {
            bool is_code = i < sources->n_snippets;
            const char *name = is_code ? sources->snippets[i] : args->operands[i - sources->n_snippets];
            sides[i] = (side){ .name = name, .is_code = is_code, .is_source = is_code || cli_is_source(name) };
        }
        result = open_both(args, ctx, sources, sides, job);
    }
    for (int i = 0; i < 2; i++) {
        if (sides[i].is_open) cli_close_model(&sides[i].model);
        free(sides[i].json);
    }
    if (ctx) pellucid_close(ctx);
    cli_sources_free(sources);
    return result;
}
