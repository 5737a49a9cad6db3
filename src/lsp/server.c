/* One client's session: messages in, answers out. What may be asked is one table. */
#include "lsp/lsp.h"

/* ---- sending ---- */

void pel_lsp_send(pel_lsp *server, pel_ctx *ctx, pel_str rest) {
    pel_str head = PEL_STR("{\"jsonrpc\":\"2.0\",");
    pel_str header = pel_format(ctx, "Content-Length: %zu\r\n\r\n", head.len + rest.len + 1);
    size_t before = server->out.len;
    if (!pel_piece_put(&server->out, header) || !pel_piece_put(&server->out, head) ||
        !pel_piece_put(&server->out, rest) || !pel_piece_put(&server->out, PEL_STR("}")))
        server->out.len = before; /* no memory for a whole message: none is better than a part */
}

/* Whole numbers stay whole, because an id must go back to the client as it came. The recursion has an end:
 * pel_json_read refuses deep values. */
void pel_json_copy(pel_json *out, const pel_json_value *value) {
    switch ((pel_json_kind)value->kind) {
    case PEL_J_NULL: pel_json_null(out); break;
    case PEL_J_BOOL: pel_json_bool(out, value->boolean); break;
    case PEL_J_NUMBER:
        if (value->is_integer)
            pel_json_int(out, value->integer);
        else
            pel_json_double(out, value->number);
        break;
    case PEL_J_STR: pel_json_str(out, value->text); break;
    case PEL_J_ARRAY:
        pel_json_array(out);
        for (uint32_t i = 0; i < value->items.n; i++) pel_json_copy(out, value->items.at[i]);
        pel_json_end_array(out);
        break;
    case PEL_J_OBJECT:
        pel_json_object(out);
        for (uint32_t i = 0; i + 1 < value->items.n; i += 2) {
            pel_json_key_str(out, value->items.at[i]->text);
            pel_json_copy(out, value->items.at[i + 1]);
        }
        pel_json_end_object(out);
        break;
    }
}

void pel_lsp_log(pel_lsp *server, pel_ctx *ctx, int type, pel_str text) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_put_c(&out, "\"method\":\"window/logMessage\",\"params\":");
    pel_json_object(&json);
    pel_json_key(&json, "type");
    pel_json_int(&json, type);
    pel_json_key(&json, "message");
    pel_json_str(&json, text);
    pel_json_end_object(&json);
    pel_lsp_send(server, ctx, pel_buf_str(&out));
}

static void send_error(pel_lsp *server, pel_ctx *ctx, pel_str id, int code, pel_str message) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_putf(&out, "\"id\":%.*s,\"error\":", PEL_FMT(id));
    pel_json_object(&json);
    pel_json_key(&json, "code");
    pel_json_int(&json, code);
    pel_json_key(&json, "message");
    pel_json_str(&json, message);
    pel_json_end_object(&json);
    pel_lsp_send(server, ctx, pel_buf_str(&out));
}

/* ---- settings ---- */

typedef struct copy_job {
    const pel_json_value *from;
    pel_json_value *made;
} copy_job;

static void copy_body(pel_ctx *ctx, void *arg) {
    copy_job *job = arg;
    pel_buf text = pel_buf_in(ctx);
    pel_json json = pel_json_to(&text);
    pel_json_copy(&json, job->from);
    job->made = pel_json_read(ctx, pel_buf_str(&text), 0);
}

/* Settings outlive the message that brought them. The client may send them with their section around them, or bare. */
static void take_settings(pel_lsp *server, const pel_json_value *given) {
    const pel_json_value *section = pel_json_get(given, "pellucid");
    copy_job job = { section ? section : given, NULL };
    pel_err ignored;
    if (!job.from || job.from->kind != PEL_J_OBJECT) return;
    pel_ctx *ctx = pel_ctx_new(0);
    if (!ctx || !pel_attempt(ctx, copy_body, &job, &ignored)) {
        pel_ctx_free(ctx);
        return;
    }
    pel_ctx_free(server->settings_ctx);
    server->settings_ctx = ctx;
    server->settings = job.made;
    pel_analyse_all(server);
}

/* ---- the beginning and the end ---- */

static void add_folder(pel_lsp_call *c, pel_str path) {
    if (!path.len || !pel_piece_put(&c->server->folders, path)) return;
    pel_piece_put(&c->server->folders, (pel_str){ "", 1 });
}

static void take_folders(pel_lsp_call *c) {
    const pel_json_value *folders = pel_json_get(c->params, "workspaceFolders");
    pel_str uri = pel_json_text(pel_json_get(c->params, "rootUri"));
    pel_str path = pel_json_text(pel_json_get(c->params, "rootPath"));
    if (folders && folders->kind == PEL_J_ARRAY && folders->items.n) {
        for (uint32_t i = 0; i < folders->items.n; i++)
            add_folder(c, pel_path_of_uri(c->ctx, pel_json_text(pel_json_get(folders->items.at[i], "uri"))));
    } else {
        add_folder(c, uri.len ? pel_path_of_uri(c->ctx, uri) : path);
    }
}

static bool can(const pel_json_value *params, const char *area, const char *what, const char *detail) {
    const pel_json_value *found = pel_json_get(pel_json_get(params, "capabilities"), area);
    found = pel_json_get(found, what);
    if (detail) found = pel_json_get(found, detail);
    return found && found->kind == PEL_J_BOOL && found->boolean;
}

static void initialize(pel_lsp_call *c) {
    pel_lsp *server = c->server;
    if (server->is_initialized) {
        c->code = PEL_RPC_REQUEST;
        c->message = "initialize was sent before";
        return;
    }
    server->is_initialized = true;
    take_folders(c);
    server->can_configure = can(c->params, "workspace", "configuration", NULL);
    server->can_refresh_hints = can(c->params, "workspace", "inlayHint", "refreshSupport");
    server->can_refresh_lenses = can(c->params, "workspace", "codeLens", "refreshSupport");
    take_settings(server, pel_json_get(c->params, "initializationOptions"));
    pel_put_c(c->out.out, "{\"capabilities\":{\"positionEncoding\":\"utf-16\",\"textDocumentSync\":{\"openClose\":true,"
                          "\"change\":2,\"save\":{\"includeText\":false}},\"hoverProvider\":true,"
                          "\"inlayHintProvider\":true,\"codeLensProvider\":{\"resolveProvider\":false},"
                          "\"workspace\":{\"workspaceFolders\":{\"supported\":true,\"changeNotifications\":true}}},"
                          "\"serverInfo\":{\"name\":\"pellucid\",\"version\":\"");
    pel_put_c(c->out.out, pellucid_version());
    pel_put_c(c->out.out, "\"}}");
}

static void ask_settings(pel_lsp_call *c) {
    pel_lsp *server = c->server;
    if (!server->can_configure) return;
    pel_lsp_send(server, c->ctx,
                 pel_format(c->ctx,
                            "\"id\":\"settings %u\",\"method\":\"workspace/configuration\",\"params\":{\"items\":"
                            "[{\"section\":\"pellucid\"}]}",
                            ++server->asked));
}

static void shut_down(pel_lsp_call *c) {
    c->server->is_shut_down = true;
    pel_json_null(&c->out);
}

static void leave(pel_lsp_call *c) { c->server->is_over = true; }

static void did_configure(pel_lsp_call *c) {
    const pel_json_value *settings = pel_json_get(c->params, "settings");
    const pel_json_value *section = pel_json_get(settings, "pellucid");
    if (section && section->kind == PEL_J_OBJECT)
        take_settings(c->server, section);
    else
        ask_settings(c);
}

static void did_change_folders(pel_lsp_call *c) {
    const pel_json_value *event = pel_json_get(c->params, "event");
    const pel_json_value *added = pel_json_get(event, "added"), *removed = pel_json_get(event, "removed");
    pel_str before = pel_str_copy(c->ctx, pel_piece_str(&c->server->folders));
    c->server->folders.len = 0;
    for (size_t at = 0; at < before.len; at += strlen(before.ptr + at) + 1) {
        pel_str path = pel_str_of(before.ptr + at);
        bool is_gone = false;
        for (uint32_t i = 0; removed && removed->kind == PEL_J_ARRAY && i < removed->items.n; i++) {
            pel_str uri = pel_json_text(pel_json_get(removed->items.at[i], "uri"));
            is_gone |= pel_str_eq(path, pel_path_of_uri(c->ctx, uri));
        }
        if (!is_gone) add_folder(c, path);
    }
    for (uint32_t i = 0; added && added->kind == PEL_J_ARRAY && i < added->items.n; i++)
        add_folder(c, pel_path_of_uri(c->ctx, pel_json_text(pel_json_get(added->items.at[i], "uri"))));
    pel_analyse_all(c->server);
}

static void did_change_files(pel_lsp_call *c) { pel_analyse_all(c->server); }

static void nothing(pel_lsp_call *c) { (void)c; }

/* ---- cancelling ---- */

static pel_str id_text(pel_ctx *ctx, const pel_json_value *id) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    bool is_id = id && (id->kind == PEL_J_STR || (id->kind == PEL_J_NUMBER && id->is_integer));
    if (is_id) pel_json_copy(&json, id);
    return pel_buf_str(&out);
}

static void cancel(pel_lsp_call *c) {
    pel_lsp *server = c->server;
    pel_str id = id_text(c->ctx, pel_json_get(c->params, "id"));
    for (uint32_t i = 0; i < server->n_waiting; i++) {
        if (!pel_str_is(id, server->waiting[i].id)) continue;
        send_error(server, c->ctx, id, PEL_RPC_CANCELLED, PEL_STR("cancelled"));
        server->waiting[i] = server->waiting[--server->n_waiting];
        return;
    }
}

/* ---- messages ---- */

typedef struct method {
    const char *name;
    void (*run)(pel_lsp_call *c);
    bool is_request;
} method;

static const method methods[] = {
    { "initialize", initialize, true },
    { "initialized", ask_settings, false },
    { "shutdown", shut_down, true },
    { "exit", leave, false },
    { "textDocument/didOpen", pel_did_open, false },
    { "textDocument/didChange", pel_did_change, false },
    { "textDocument/didSave", pel_did_save, false },
    { "textDocument/didClose", pel_did_close, false },
    { "textDocument/hover", pel_ask_hover, true },
    { "textDocument/inlayHint", pel_ask_hints, true },
    { "textDocument/codeLens", pel_ask_lenses, true },
    { "workspace/didChangeConfiguration", did_configure, false },
    { "workspace/didChangeWorkspaceFolders", did_change_folders, false },
    { "workspace/didChangeWatchedFiles", did_change_files, false },
    { "$/cancelRequest", cancel, false },
    { "$/setTrace", nothing, false },
};

static const method *find_method(pel_str name) {
    for (size_t i = 0; i < PEL_COUNT(methods); i++)
        if (pel_str_is(name, methods[i].name)) return &methods[i];
    return NULL;
}

/* What keeps a request from being run; 0: nothing. */
static int refusal(const pel_lsp *server, const method *m, pel_str name, const char **message) {
    bool begins = pel_str_is(name, "initialize");
    if (server->is_shut_down) {
        *message = "the server was shut down";
        return PEL_RPC_REQUEST;
    }
    if (!server->is_initialized && !begins) {
        *message = "initialize comes first";
        return PEL_RPC_NOT_INITIALIZED;
    }
    if (m && m->is_request) return 0;
    *message = m ? "this is a notification" : "no such method";
    return m ? PEL_RPC_REQUEST : PEL_RPC_METHOD;
}

static void run_request(pel_lsp_call *c, const method *m, pel_str name) {
    c->code = refusal(c->server, m, name, &c->message);
    if (!c->code) m->run(c);
    if (c->code) {
        send_error(c->server, c->ctx, c->id, c->code, pel_str_of(c->message));
    } else if (!c->is_waiting) {
        pel_str result = pel_buf_str(c->out.out);
        pel_lsp_send(c->server, c->ctx,
                     pel_format(c->ctx, "\"id\":%.*s,\"result\":%.*s", PEL_FMT(c->id), PEL_FMT(result)));
    }
}

/* A notification has no answer, so a mistake in it is a line of the log. */
static void run_notification(pel_lsp_call *c, const method *m, pel_str name) {
    bool leaves = pel_str_is(name, "exit");
    if (!leaves && (!c->server->is_initialized || c->server->is_shut_down)) return;
    if (m && !m->is_request) m->run(c);
    if (c->code) pel_lsp_log(c->server, c->ctx, 2, pel_format(c->ctx, "%.*s: %s", PEL_FMT(name), c->message));
}

/* The answer to a request of ours: only settings are asked for. */
static void take_answer(pel_lsp *server, const pel_json_value *message) {
    const pel_json_value *result = pel_json_get(message, "result");
    if (!pel_str_starts(pel_json_text(pel_json_get(message, "id")), PEL_STR("settings "))) return;
    if (result && result->kind == PEL_J_ARRAY && result->items.n) take_settings(server, result->items.at[0]);
}

typedef struct message_job {
    pel_lsp *server;
    pel_str body;
    bool is_read;
    pel_str id;
} message_job;

/* After a throw take_message reads is_read and id, to know whose mistake it was and which request waits for an answer:
 * each is set as soon as it is known. An answer to us has no method, so it leaves before requests are checked. */
static void message_body(pel_ctx *ctx, void *arg) {
    message_job *job = arg;
    pel_json_value *message = pel_json_read(ctx, job->body, 0);
    job->is_read = true;
    const pel_json_value *method_name = pel_json_get(message, "method"), *id = pel_json_get(message, "id");
    const pel_json_value *params = pel_json_get(message, "params");
    pel_str name = pel_json_text(method_name);
    if (message->kind == PEL_J_OBJECT && !method_name && id &&
        (pel_json_get(message, "result") || pel_json_get(message, "error"))) {
        take_answer(job->server, message);
        return;
    }
    pel_buf out = pel_buf_in(ctx);
    pel_lsp_call call = { .server = job->server, .ctx = ctx, .params = params, .out = pel_json_to(&out) };
    call.id = id_text(ctx, id);
    job->id = call.id;
    bool is_named = method_name && method_name->kind == PEL_J_STR;
    bool has_params =
        !params || params->kind == PEL_J_OBJECT || params->kind == PEL_J_ARRAY || params->kind == PEL_J_NULL;
    if (message->kind != PEL_J_OBJECT || !is_named || (id && !call.id.len) || !has_params) {
        send_error(job->server, ctx, call.id.len ? call.id : PEL_STR("null"), PEL_RPC_REQUEST,
                   PEL_STR("this is no request: one object with a method, an id that is a number or a string, params"));
        return;
    }
    if (call.id.len)
        run_request(&call, find_method(name), name);
    else
        run_notification(&call, find_method(name), name);
}

static void take_message(pel_lsp *server, pel_ctx *ctx, pel_str body) {
    message_job job = { .server = server, .body = body, .id = PEL_STR("") };
    pel_err err;
    if (pel_attempt(ctx, message_body, &job, &err)) return;
    bool is_ours = job.is_read;
    if (is_ours && !job.id.len) return;
    send_error(server, ctx, job.id.len ? job.id : PEL_STR("null"), is_ours ? PEL_RPC_INTERNAL : PEL_RPC_PARSE,
               pel_str_of(err.what));
}

/* ---- public ---- */

typedef struct feed_job {
    pel_lsp *server;
    pel_frame_kind kind;
    pel_str body;
} feed_job;

static void feed_body(pel_ctx *ctx, void *arg) {
    feed_job *job = arg;
    switch (job->kind) {
    case PEL_FRAME_NONE: break;
    case PEL_FRAME_MESSAGE: take_message(job->server, ctx, job->body); break;
    case PEL_FRAME_TOO_LONG:
        send_error(job->server, ctx, PEL_STR("null"), PEL_RPC_PARSE, PEL_STR("the message is too long: passed over"));
        break;
    case PEL_FRAME_BROKEN:
        send_error(job->server, ctx, PEL_STR("null"), PEL_RPC_PARSE, PEL_STR("a header without a Content-Length"));
        break;
    }
}

void pellucid_lsp_feed(pel_lsp *server, pel_text bytes, uint64_t now) {
    pel_err ignored; /* no memory for an answer */
    server->now = now;
    if (!pel_framing_feed(&server->in, (pel_str){ bytes.ptr, bytes.len })) {
        server->is_over = true;
        return;
    }
    feed_job job = { .server = server };
    while (!server->is_over && (job.kind = pel_framing_next(&server->in, &job.body)) != PEL_FRAME_NONE) {
        pel_ctx *ctx = pel_ctx_new(0);
        if (ctx) pel_attempt(ctx, feed_body, &job, &ignored);
        pel_ctx_free(ctx);
    }
}

typedef struct open_job {
    pel_lsp *server;
} open_job;

static void open_body(pel_ctx *ctx, void *arg) {
    open_job *job = arg;
    job->server = pel_new(ctx, pel_lsp);
    job->server->ctx = ctx;
}

pel_lsp *pellucid_lsp_open(void) {
    pel_ctx *ctx = pel_ctx_new(0);
    open_job job = { NULL };
    pel_err ignored;
    if (ctx && !pel_attempt(ctx, open_body, &job, &ignored)) pel_ctx_free(ctx);
    return job.server;
}

void pellucid_lsp_close(pel_lsp *server) {
    if (!server) return;
    for (uint32_t i = 0; i < PEL_LSP_MAX_DOCUMENTS; i++)
        if (server->documents[i]) pel_document_free(server, server->documents[i]);
    pel_piece_free(&server->in.bytes);
    pel_piece_free(&server->out);
    pel_piece_free(&server->folders);
    pel_piece_free(&server->request);
    pel_ctx_free(server->settings_ctx);
    pel_ctx_free(server->ctx);
}

pel_text pellucid_lsp_output(const pel_lsp *server) {
    pel_str out = pel_piece_str(&server->out);
    return (pel_text){ out.ptr, out.len };
}

typedef struct say_job {
    pel_lsp *server;
    pel_str text;
} say_job;

static void say_body(pel_ctx *ctx, void *arg) {
    const say_job *job = arg;
    pel_lsp_log(job->server, ctx, 2, job->text);
}

void pellucid_lsp_say(pel_lsp *server, pel_text text) {
    say_job job = { server, { text.ptr, text.len } };
    pel_err ignored;
    pel_ctx *ctx = pel_ctx_new(0);
    if (ctx) pel_attempt(ctx, say_body, &job, &ignored);
    pel_ctx_free(ctx);
}

void pellucid_lsp_sent(pel_lsp *server, size_t n) { pel_piece_drop(&server->out, n); }

bool pellucid_lsp_is_over(const pel_lsp *server, int *exit_code) {
    *exit_code = server->is_shut_down ? 0 : 1;
    return server->is_over;
}
