/* One analysis as bytes: they may go to another process, which has no other way to know what the editor has. */
#include "lsp/lsp.h"

static void put_member(pel_json *json, const char *key, pel_str text) {
    pel_json_key(json, key);
    pel_json_str(json, text);
}

static void put_roots(pel_json *json, const pel_lsp *server) {
    const pel_json_value *more = pel_json_get(server->settings, "roots");
    pel_str folders = pel_piece_str(&server->folders);
    pel_json_key(json, "roots");
    pel_json_array(json);
    for (size_t at = 0; at < folders.len; at += strlen(folders.ptr + at) + 1) pel_json_c(json, folders.ptr + at);
    for (uint32_t i = 0; more && more->kind == PEL_J_ARRAY && i < more->items.n; i++)
        if (more->items.at[i]->kind == PEL_J_STR) pel_json_str(json, more->items.at[i]->text);
    pel_json_end_array(json);
}

/* The analysis runs in another process, which has nothing but this text. Other open documents go along because what the
 * editor shows counts, saved or not: an import must find that, and not the file on the disk. */
void pel_job_write(pel_lsp *server, pel_ctx *ctx, const pel_document *document, pel_buf *out) {
    (void)ctx;
    pel_json json = pel_json_to(out);
    const pel_json_value *inputs = pel_json_get(server->settings, "inputs");
    pel_json_object(&json);
    put_member(&json, "path", pel_piece_str(&document->path));
    put_member(&json, "text", pel_piece_str(&document->text));
    put_member(&json, "python", pel_json_text(pel_json_get(server->settings, "python")));
    put_roots(&json, server);
    if (inputs && inputs->kind == PEL_J_OBJECT) {
        pel_json_key(&json, "inputs");
        pel_json_copy(&json, inputs);
    }
    pel_json_key(&json, "open");
    pel_json_array(&json);
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++) {
        const pel_document *other = server->documents[i];
        if (!other || other == document) continue;
        pel_json_object(&json);
        put_member(&json, "path", pel_piece_str(&other->path));
        put_member(&json, "text", pel_piece_str(&other->text));
        pel_json_end_object(&json);
    }
    pel_json_end_array(&json);
    pel_json_end_object(&json);
}

/* ---- reading ---- */

static const char *c_text(pel_ctx *ctx, pel_str text) {
    char *made = pel_alloc(ctx, (uint64_t)text.len + 1);
    if (text.len) memcpy(made, text.ptr, text.len);
    return made;
}

static pel_scan_target read_target(pel_ctx *ctx, const pel_json_value *row) {
    pel_str text = pel_json_text(pel_json_get(row, "text"));
    return (pel_scan_target){ c_text(ctx, pel_json_text(pel_json_get(row, "path"))), { text.ptr, text.len } };
}

void pel_job_read(pel_ctx *ctx, pel_str bytes, pel_lsp_job *job) {
    const pel_json_value *root = pel_json_read(ctx, bytes, 0);
    const pel_json_value *roots = pel_json_get(root, "roots"), *open = pel_json_get(root, "open");
    pel_str python = pel_json_text(pel_json_get(root, "python"));
    uint32_t n_roots = roots && roots->kind == PEL_J_ARRAY ? roots->items.n : 0;
    uint32_t n_open = open && open->kind == PEL_J_ARRAY ? open->items.n : 0;
    const char **list = pel_new_array(ctx, n_roots + 1u, const char *);
    for (uint32_t i = 0; i < n_roots; i++) list[i] = c_text(ctx, pel_json_text(roots->items.at[i]));
    pel_scan_target *targets = pel_new_array(ctx, n_open + 1u, pel_scan_target);
    targets[0] = read_target(ctx, root);
    for (uint32_t i = 0; i < n_open; i++) targets[i + 1] = read_target(ctx, open->items.at[i]);
    *job = (pel_lsp_job){ .path = targets[0].path,
                          .source = targets[0].source,
                          .python = python.len ? c_text(ctx, python) : NULL,
                          .roots = list,
                          .open = targets,
                          .n_open = n_open + 1u,
                          .inputs = pel_json_get(root, "inputs") };
    if (!job->path[0]) pel_throw(ctx, PEL_E_FORMAT, 0, "an analysis without a path");
}
