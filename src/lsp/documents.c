/* Open documents: their text as the editor has it, and what their last analysis found. */
#include "lsp/lsp.h"

#define QUIET 40   /* milliseconds without a change before a document that is being typed in is analysed */
#define TYPING 200 /* changes that follow each other by less are typing */

pel_document *pel_document_find(pel_lsp *server, pel_str uri) {
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++)
        if (server->documents[i] && pel_str_eq(pel_piece_str(&server->documents[i]->uri), uri))
            return server->documents[i];
    return NULL;
}

typedef struct document_job {
    pel_document *made;
} document_job;

static void document_body(pel_ctx *ctx, void *arg) {
    document_job *job = arg;
    job->made = pel_new(ctx, pel_document);
}

void pel_document_free(pel_lsp *server, pel_document *document) {
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++)
        if (server->documents[i] == document) server->documents[i] = NULL;
    if (server->running == document) server->running = NULL;
    pel_piece_free(&document->uri);
    pel_piece_free(&document->path);
    pel_piece_free(&document->text);
    pel_piece_free(&document->result);
    pel_ctx_free(document->result_ctx);
    pel_ctx_free(document->ctx);
}

static void touch(pel_lsp *server, pel_document *document) {
    bool is_typing = document->changed && server->now - document->changed < TYPING;
    document->due = server->now + (is_typing ? QUIET : 0);
    document->changed = server->now;
    document->is_dirty = true;
}

void pel_analyse_all(pel_lsp *server) {
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++)
        if (server->documents[i]) touch(server, server->documents[i]);
}

/* ---- what the editor says ---- */

static void refuse(pel_lsp_call *c, const char *message) {
    c->code = PEL_RPC_PARAMS;
    c->message = message;
}

static pel_document *named(pel_lsp_call *c) {
    pel_str uri = pel_json_text(pel_json_get(pel_json_get(c->params, "textDocument"), "uri"));
    pel_document *document = pel_document_find(c->server, uri);
    if (!document) refuse(c, "no such document is open");
    return document;
}

static int64_t version_of(const pel_json_value *item) {
    const pel_json_value *version = pel_json_get(item, "version");
    return version && version->kind == PEL_J_NUMBER && version->is_integer ? version->integer : 0;
}

/* What has no file yet is taken for one in the first folder. */
static pel_str path_for(pel_lsp_call *c, pel_str uri) {
    pel_str path = pel_path_of_uri(c->ctx, uri), folders = pel_piece_str(&c->server->folders);
    if (path.len) return path;
    return pel_format(c->ctx, "%s/untitled.py", folders.len ? folders.ptr : "");
}

static pel_document *new_document(pel_lsp_call *c, pel_str uri) {
    pel_lsp *server = c->server;
    uint32_t slot = 0;
    while (slot < PEL_LSP_MAX_DOCUMENTS && server->documents[slot]) slot++;
    if (slot == PEL_LSP_MAX_DOCUMENTS) {
        refuse(c, "256 documents are open: this one is not analysed");
        return NULL;
    }
    pel_str path = path_for(c, uri); /* may throw: nothing is held yet */
    pel_ctx *ctx = pel_ctx_new(0);
    document_job job = { NULL };
    pel_err ignored;
    if (!ctx || !pel_attempt(ctx, document_body, &job, &ignored)) {
        pel_ctx_free(ctx);
        return NULL;
    }
    job.made->ctx = ctx;
    if (!pel_piece_set(&job.made->uri, uri) || !pel_piece_set(&job.made->path, path)) {
        pel_document_free(server, job.made);
        return NULL;
    }
    return server->documents[slot] = job.made;
}

void pel_did_open(pel_lsp_call *c) {
    const pel_json_value *item = pel_json_get(c->params, "textDocument"), *text = pel_json_get(item, "text");
    pel_str uri = pel_json_text(pel_json_get(item, "uri")), language = pel_json_text(pel_json_get(item, "languageId"));
    if (!uri.len || !text || text->kind != PEL_J_STR) {
        refuse(c, "textDocument needs a uri and a text");
        return;
    }
    if (language.len && !pel_str_is(language, "python")) return;
    pel_document *document = pel_document_find(c->server, uri);
    if (!document) document = new_document(c, uri);
    if (!document) return;
    document->version = version_of(item);
    if (pel_piece_set(&document->text, text->text))
        touch(c->server, document);
    else
        pel_document_free(c->server, document); /* no memory: better none than one with another text */
}

static bool read_position(const pel_json_value *value, pel_text_position *out) {
    const pel_json_value *line = pel_json_get(value, "line"), *character = pel_json_get(value, "character");
    if (!line || !character || !line->is_integer || !character->is_integer) return false;
    if (line->integer < 0 || character->integer < 0) return false;
    out->line = line->integer > UINT32_MAX ? UINT32_MAX : (uint32_t)line->integer;
    out->character = character->integer > UINT32_MAX ? UINT32_MAX : (uint32_t)character->integer;
    return true;
}

static bool apply(pel_document *document, const pel_json_value *change) {
    const pel_json_value *range = pel_json_get(change, "range"), *text = pel_json_get(change, "text");
    pel_text_position from, to;
    if (!text || text->kind != PEL_J_STR) return false;
    if (!range || range->kind == PEL_J_NULL) return pel_piece_set(&document->text, text->text);
    if (!read_position(pel_json_get(range, "start"), &from) || !read_position(pel_json_get(range, "end"), &to))
        return false;
    pel_str whole = pel_piece_str(&document->text);
    size_t start = pel_offset_at(whole, from), end = pel_offset_at(whole, to);
    pel_piece made = { 0 };
    if (start > end || !pel_piece_put(&made, pel_str_cut(whole, 0, start)) || !pel_piece_put(&made, text->text) ||
        !pel_piece_put(&made, pel_str_from(whole, end))) {
        pel_piece_free(&made);
        return false;
    }
    pel_piece_free(&document->text);
    document->text = made;
    return true;
}

void pel_did_change(pel_lsp_call *c) {
    const pel_json_value *changes = pel_json_get(c->params, "contentChanges");
    pel_document *document = named(c);
    if (!document) return;
    if (!changes || changes->kind != PEL_J_ARRAY) {
        refuse(c, "contentChanges is no list");
        return;
    }
    for (uint32_t i = 0; i < changes->items.n; i++)
        if (!apply(document, changes->items.at[i]))
            refuse(c, "a change has no text, or a range that is none, or there is no memory");
    document->version = version_of(pel_json_get(c->params, "textDocument"));
    touch(c->server, document);
}

/* Others may import it: their text did not change, but what they mean may have. */
void pel_did_save(pel_lsp_call *c) {
    if (named(c)) pel_analyse_all(c->server);
}

static void publish(pel_lsp *server, pel_ctx *ctx, const pel_document *document, const pel_json_value *diagnostics) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_put_c(&out, "\"method\":\"textDocument/publishDiagnostics\",\"params\":");
    pel_json_object(&json);
    pel_json_key(&json, "uri");
    pel_json_str(&json, pel_piece_str(&document->uri));
    if (diagnostics) {
        pel_json_key(&json, "version");
        pel_json_int(&json, document->version);
    }
    pel_json_key(&json, "diagnostics");
    if (diagnostics) {
        pel_json_copy(&json, diagnostics);
    } else {
        pel_json_array(&json);
        pel_json_end_array(&json);
    }
    pel_json_end_object(&json);
    pel_lsp_send(server, ctx, pel_buf_str(&out));
}

void pel_did_close(pel_lsp_call *c) {
    pel_document *document = named(c);
    if (!document) return;
    publish(c->server, c->ctx, document, NULL);
    pel_answer_waiting(c->server, c->ctx, document);
    pel_document_free(c->server, document);
}

/* ---- analyses ---- */

static pel_document *next_due(pel_lsp *server, uint64_t *wait) {
    pel_document *best = NULL;
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++) {
        pel_document *document = server->documents[i];
        if (!document || !document->is_dirty) continue;
        if (server->running && server->running != document) continue; /* one at a time; only its own text stops it */
        if (!best || document->due < best->due || (document->due == best->due && document->changed > best->changed))
            best = document;
    }
    *wait = best && best->due > server->now ? best->due - server->now : 0;
    return best && best->due <= server->now ? best : NULL;
}

typedef struct request_job {
    pel_lsp *server;
    const pel_document *document;
    bool is_made;
} request_job;

static void request_body(pel_ctx *ctx, void *arg) {
    request_job *job = arg;
    pel_buf out = pel_buf_in(ctx);
    pel_job_write(job->server, ctx, job->document, &out);
    job->is_made = pel_piece_set(&job->server->request, pel_buf_str(&out));
}

bool pellucid_lsp_due(pel_lsp *server, uint64_t now, uint64_t *wait, pel_text *request, uint64_t *job_number) {
    server->now = now;
    pel_document *document = next_due(server, wait);
    if (!document) return false;
    request_job job = { .server = server, .document = document };
    pel_err ignored;
    pel_ctx *ctx = pel_ctx_new(0);
    if (ctx) pel_attempt(ctx, request_body, &job, &ignored);
    pel_ctx_free(ctx);
    document->is_dirty = false;
    if (!job.is_made) return false;
    server->running = document;
    *job_number = ++server->job;
    *request = (pel_text){ server->request.at, server->request.len };
    return true;
}

typedef struct done_job {
    pel_lsp *server;
    pel_document *document;
    pel_ctx *kept; /* of the result */
    pel_json_value *found;
    const char *failed; /* why there is none; NULL: there is */
} done_job;

static void read_body(pel_ctx *ctx, void *arg) {
    done_job *job = arg;
    job->found = pel_json_read(ctx, pel_piece_str(&job->document->result), 0);
}

static void ask_refresh(pel_lsp *server, pel_ctx *ctx, const char *what) {
    pel_lsp_send(server, ctx,
                 pel_format(ctx, "\"id\":\"refresh %u\",\"method\":\"workspace/%s/refresh\"", ++server->asked, what));
}

static void done_body(pel_ctx *ctx, void *arg) {
    done_job *job = arg;
    pel_lsp *server = job->server;
    pel_document *document = job->document;
    if (job->failed) {
        pel_str why = pel_format(ctx, "%.*s: %s", PEL_FMT(pel_piece_str(&document->path)), job->failed);
        pel_lsp_log(server, ctx, 2, why);
    }
    pel_str log = pel_json_text(pel_json_get(document->found, "log"));
    if (log.len && !job->failed) pel_lsp_log(server, ctx, 3, log);
    publish(server, ctx, document, pel_json_get(document->found, "diagnostics"));
    bool any_waiting = server->n_waiting > 0;
    pel_answer_waiting(server, ctx, document);
    if (any_waiting || job->failed) return; /* the client has asked for this text */
    if (server->can_refresh_hints) ask_refresh(server, ctx, "inlayHint");
    if (server->can_refresh_lenses) ask_refresh(server, ctx, "codeLens");
}

/* What an analysis found; without a result, why there is none. Of one that is no longer wanted nothing is said. */
void pellucid_lsp_done(pel_lsp *server, uint64_t number, pel_text result, const char *failed) {
    if (number != server->job || !server->running) return;
    done_job job = { .server = server, .failed = failed };
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++)
        if (server->documents[i] == server->running) job.document = server->documents[i];
    server->running = NULL;
    pel_document *document = job.document;
    if (!document || document->is_dirty) return; /* its text has changed: the next one counts */
    pel_err ignored;
    pel_ctx_free(document->result_ctx);
    document->result_ctx = pel_ctx_new(0);
    document->found = NULL;
    pel_piece_set(&document->result, (pel_str){ result.ptr, failed ? 0 : result.len });
    if (!failed && document->result_ctx && pel_attempt(document->result_ctx, read_body, &job, &ignored))
        document->found = job.found;
    pel_ctx *ctx = pel_ctx_new(0);
    if (ctx) pel_attempt(ctx, done_body, &job, &ignored);
    pel_ctx_free(ctx);
}
