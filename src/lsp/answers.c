/* Requests that an analysis answers. Those that come while the text is being analysed wait for it, so that no answer
 * speaks of another text than the client has. */
#include "lsp/lsp.h"

static int64_t number(const pel_json_value *object, const char *key) {
    const pel_json_value *found = pel_json_get(object, key);
    return found && found->kind == PEL_J_NUMBER && found->is_integer ? found->integer : -1;
}

/* ---- answers ---- */

static void put_position(pel_json *out, int64_t line, int64_t character) {
    pel_json_object(out);
    pel_json_key(out, "line");
    pel_json_int(out, line);
    pel_json_key(out, "character");
    pel_json_int(out, character);
    pel_json_end_object(out);
}

static void put_range(pel_json *out, const pel_json_value *row) {
    pel_json_key(out, "range");
    pel_json_object(out);
    pel_json_key(out, "start");
    put_position(out, number(row, "line"), number(row, "from"));
    pel_json_key(out, "end");
    put_position(out, number(row, "line"), number(row, "to"));
    pel_json_end_object(out);
}

static const pel_json_value *rows_of(const pel_document *document, const char *key) {
    const pel_json_value *rows = pel_json_get(document->found, key);
    return rows && rows->kind == PEL_J_ARRAY ? rows : NULL;
}

static void put_markdown(pel_json *out, pel_str text) {
    pel_json_object(out);
    pel_json_key(out, "kind");
    pel_json_c(out, "markdown");
    pel_json_key(out, "value");
    pel_json_str(out, text);
    pel_json_end_object(out);
}

/* The narrowest row around the position. */
static void put_hover(pel_json *out, const pel_waiting *ask) {
    const pel_json_value *rows = rows_of(ask->document, "hovers"), *best = NULL;
    for (uint32_t i = 0; rows && i < rows->items.n; i++) {
        const pel_json_value *row = rows->items.at[i];
        if (number(row, "line") != ask->from.line) continue;
        if (ask->from.character < number(row, "from") || ask->from.character > number(row, "to")) continue;
        if (!best || number(row, "to") - number(row, "from") < number(best, "to") - number(best, "from")) best = row;
    }
    if (!best) {
        pel_json_null(out);
        return;
    }
    pel_json_object(out);
    pel_json_key(out, "contents");
    put_markdown(out, pel_json_text(pel_json_get(best, "text")));
    put_range(out, best);
    pel_json_end_object(out);
}

static void put_hints(pel_json *out, const pel_waiting *ask) {
    const pel_json_value *rows = rows_of(ask->document, "hints");
    pel_json_array(out);
    for (uint32_t i = 0; rows && i < rows->items.n; i++) {
        const pel_json_value *row = rows->items.at[i];
        int64_t line = number(row, "line");
        if (line < ask->from.line || line > ask->to.line) continue;
        pel_json_object(out);
        pel_json_key(out, "position");
        put_position(out, line, number(row, "character"));
        pel_json_key(out, "label");
        pel_json_str(out, pel_json_text(pel_json_get(row, "label")));
        pel_json_key(out, "paddingLeft");
        pel_json_bool(out, true);
        pel_json_key(out, "tooltip");
        put_markdown(out, pel_json_text(pel_json_get(row, "tooltip")));
        pel_json_end_object(out);
    }
    pel_json_end_array(out);
}

static void put_lenses(pel_json *out, const pel_waiting *ask) {
    const pel_json_value *rows = rows_of(ask->document, "lenses");
    pel_json_array(out);
    for (uint32_t i = 0; rows && i < rows->items.n; i++) {
        const pel_json_value *row = rows->items.at[i];
        pel_json_object(out);
        put_range(out, row);
        pel_json_key(out, "command");
        pel_json_object(out);
        pel_json_key(out, "title");
        pel_json_str(out, pel_json_text(pel_json_get(row, "title")));
        pel_json_key(out, "command");
        pel_json_c(out, "");
        pel_json_end_object(out);
        pel_json_end_object(out);
    }
    pel_json_end_array(out);
}

static void put_answer(pel_json *out, const pel_waiting *ask) {
    switch (ask->what) {
    case PEL_ASK_HOVER: put_hover(out, ask); break;
    case PEL_ASK_HINTS: put_hints(out, ask); break;
    case PEL_ASK_LENSES: put_lenses(out, ask); break;
    }
}

/* ---- asking ---- */

static bool read_position(const pel_json_value *value, pel_text_position *out) {
    int64_t line = number(value, "line"), character = number(value, "character");
    if (line < 0 || character < 0) return false;
    out->line = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
    out->character = character > UINT32_MAX ? UINT32_MAX : (uint32_t)character;
    return true;
}

static bool is_on(const pel_lsp *server, const char *setting) {
    const pel_json_value *found = pel_json_get(server->settings, setting);
    return !found || found->kind != PEL_J_BOOL || found->boolean;
}

static void answer(pel_lsp_call *c, pel_waiting ask) {
    pel_lsp *server = c->server;
    const pel_document *document = ask.document;
    bool is_coming = document->is_dirty || server->running == document;
    if (is_coming && c->id.len < sizeof ask.id && server->n_waiting < PEL_LSP_MAX_WAITING) {
        memcpy(ask.id, c->id.ptr, c->id.len);
        server->waiting[server->n_waiting++] = ask;
        c->is_waiting = true;
        return;
    }
    put_answer(&c->out, &ask);
}

/* The document that a request names; NULL: it is not open, which is an empty answer, or the request is wrong. */
static const pel_document *subject(pel_lsp_call *c) {
    const pel_json_value *uri = pel_json_get(pel_json_get(c->params, "textDocument"), "uri");
    if (!uri || uri->kind != PEL_J_STR) {
        c->code = PEL_RPC_PARAMS;
        c->message = "textDocument needs a uri";
        return NULL;
    }
    const pel_document *document = pel_document_find(c->server, uri->text);
    if (!document) pel_json_null(&c->out);
    return document;
}

static void need(pel_lsp_call *c, bool fine, const char *message) {
    if (fine || c->code) return;
    c->code = PEL_RPC_PARAMS;
    c->message = message;
}

void pel_ask_hover(pel_lsp_call *c) {
    pel_waiting ask = { .what = PEL_ASK_HOVER };
    need(c, read_position(pel_json_get(c->params, "position"), &ask.from), "position needs a line and a character");
    if (!c->code && (ask.document = subject(c))) answer(c, ask);
}

void pel_ask_hints(pel_lsp_call *c) {
    pel_waiting ask = { .what = PEL_ASK_HINTS };
    const pel_json_value *range = pel_json_get(c->params, "range");
    bool fine = read_position(pel_json_get(range, "start"), &ask.from);
    need(c, fine && read_position(pel_json_get(range, "end"), &ask.to), "range needs a start and an end");
    if (c->code) return;
    if (!is_on(c->server, "inlayHints"))
        pel_json_null(&c->out);
    else if ((ask.document = subject(c)))
        answer(c, ask);
}

void pel_ask_lenses(pel_lsp_call *c) {
    pel_waiting ask = { .what = PEL_ASK_LENSES };
    if (!is_on(c->server, "codeLens"))
        pel_json_null(&c->out);
    else if ((ask.document = subject(c)))
        answer(c, ask);
}

void pel_answer_waiting(pel_lsp *server, pel_ctx *ctx, const pel_document *document) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < server->n_waiting; i++) {
        pel_waiting ask = server->waiting[i];
        if (ask.document != document) {
            server->waiting[left++] = ask;
            continue;
        }
        pel_buf out = pel_buf_in(ctx);
        pel_json json = pel_json_to(&out);
        pel_putf(&out, "\"id\":%s,\"result\":", ask.id);
        put_answer(&json, &ask);
        pel_lsp_send(server, ctx, pel_buf_str(&out));
    }
    server->n_waiting = left;
}
