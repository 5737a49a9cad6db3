/* pellucid.h on top of the internals: checks arguments, runs the stages inside an attempt, and turns
 * what they throw into a pel_error. No work of its own is done here. */
#include "pellucid.h"

#include "base/buf.h"
#include "base/json.h"
#include "bytecode/dis.h"
#include "decompile/decompile.h"
#include "decompile/line_map.h"
#include "load/audit/audit.h"
#include "load/content.h"
#include "model/align.h"
#include "python/parse.h"
#include "python/print.h"
#include "show/show.h"
#include "source/source.h"
#include "trace/passes.h"
#include "trace/program.h"
#include "trace/write/tree.h"
#include "api.h"

#include <stdio.h>

const char *pellucid_version(void) { return PELLUCID_VERSION; }

const char *pellucid_code_text(pel_code code) { return pel_code_text(code); }

const char *pellucid_code_name(pel_code code) {
    static const char *const names[] = {
#define X(number, name, text) [number] = #name,
        PEL_CODES(X)
#undef X
    };
    return (size_t)code < PEL_COUNT(names) ? names[code] : "UNKNOWN";
}

pel_ctx *pellucid_open(const pel_limits *limits) { return pel_ctx_new(limits ? limits->memory : 0); }
void pellucid_reset(pel_ctx *ctx) { pel_ctx_reset(ctx); }
void pellucid_close(pel_ctx *ctx) { pel_ctx_free(ctx); }

/* ---- positions ---- */

static pel_str str_of(pel_text text) { return (pel_str){ text.ptr, text.len }; }
static pel_text text_of(pel_str s) { return (pel_text){ s.ptr, s.len }; }

/* Line `line` of text, lines ending as Python has it: \n, \r\n or \r. */
static pel_str nth_line(pel_str text, uint32_t line) {
    size_t start = 0;
    for (uint32_t at = 1;; at++) {
        size_t end = start;
        while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') end++;
        if (at >= line) return pel_str_cut(text, start, end);
        if (end == text.len) return (pel_str){ "", 0 };
        start = end + (text.ptr[end] == '\r' && end + 1 < text.len && text.ptr[end + 1] == '\n' ? 2 : 1);
    }
}

static uint32_t characters(pel_str s) {
    uint32_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

/* text: what line and column of err count in; empty where the input has no lines. */
void pel_give_error(const pel_err *err, pel_str text, pel_error *error) {
    if (!error) return;
    *error = (pel_error){ .code = err->code, .offset = err->at, .line = err->line };
    memcpy(error->message, err->what, sizeof error->message);
    if (err->line) error->column = characters(pel_str_cut(nth_line(text, err->line), 0, err->column)) + 1;
}

/* ---- Python source ---- */

typedef struct source_call {
    pel_str bytes;
    pel_source source; /* name and text are empty until it is decoded */
    int python, width;
    bool is_utf8;
    pel_ast_format format;
    pel_buf out;
} source_call;

static pel_node *read_source(pel_ctx *ctx, source_call *call) {
    if (call->python < PEL_PYTHON_MIN || call->python > PEL_PYTHON_MAX)
        pel_throw(ctx, PEL_E_USAGE, 0, "Python 3.%d is not among those supported, 3.%d to 3.%d", call->python,
                  PEL_PYTHON_MIN, PEL_PYTHON_MAX);
    if (call->bytes.len > PEL_SOURCE_MAX)
        pel_throw_at(ctx, PEL_E_TOO_BIG, 0, 1, 0, "%zu bytes of source are more than the limit of %zu", call->bytes.len,
                     PEL_SOURCE_MAX);
    call->source = call->is_utf8 ? pel_source_text(ctx, PEL_STR(""), call->bytes)
                                 : pel_source_decode(ctx, PEL_STR(""), call->bytes);
    return pel_parse(ctx, &call->source, call->python);
}

static void ast_body(pel_ctx *ctx, void *arg) {
    source_call *call = arg;
    pel_node *root = read_source(ctx, call);
    if (call->format == PEL_AST_JSON) pel_ast_json(ctx, root, call->python, &call->out);
    if (call->format == PEL_AST_TEXT) pel_ast_text(ctx, root, &call->out);
}

static void format_body(pel_ctx *ctx, void *arg) {
    source_call *call = arg;
    pel_node *root = read_source(ctx, call);
    pel_print(ctx, root, &(pel_print_options){ .width = call->width, .version = call->python }, &call->out);
}

static bool run_source_call(pel_ctx *ctx, void (*body)(pel_ctx *, void *), source_call *call, pel_text *out,
                            pel_error *error) {
    pel_err err;
    call->out = pel_buf_in(ctx);
    if (!call->python) call->python = PEL_PYTHON_MAX;
    bool done = pel_attempt(ctx, body, call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call->out));
    else
        pel_give_error(&err, call->source.text.len ? call->source.text : call->bytes, error);
    return done;
}

bool pellucid_ast(pel_ctx *ctx, pel_text source, const pel_ast_options *options, pel_text *out, pel_error *error) {
    source_call call = { .bytes = str_of(source) };
    if (options) {
        call.python = options->python;
        call.format = options->format;
        call.is_utf8 = options->is_utf8;
    }
    return run_source_call(ctx, ast_body, &call, out, error);
}

bool pellucid_format(pel_ctx *ctx, pel_text source, const pel_format_options *options, pel_text *out,
                     pel_error *error) {
    source_call call = { .bytes = str_of(source) };
    if (options) {
        call.python = options->python;
        call.width = options->width;
        call.is_utf8 = options->is_utf8;
    }
    return run_source_call(ctx, format_body, &call, out, error);
}

static void decode_body(pel_ctx *ctx, void *arg) {
    source_call *call = arg;
    call->source = pel_source_decode(ctx, PEL_STR(""), call->bytes);
}

pel_text pellucid_source_line(pel_ctx *ctx, pel_text source, uint32_t line) {
    source_call call = { .bytes = str_of(source) };
    pel_err ignored; /* what can't be decoded is shown as it is */
    bool decoded = call.bytes.len <= PEL_SOURCE_MAX && pel_attempt(ctx, decode_body, &call, &ignored);
    return text_of(nth_line(decoded ? call.source.text : call.bytes, line));
}

/* ---- bytecode ---- */

typedef struct code_call {
    pel_str bytes;
    pel_decompile_options options;
    unsigned incomplete;
    pel_buf out;
} code_call;

static pel_code_object *read_code(pel_ctx *ctx, const code_call *call) {
    int python = call->options.python;
    if (python && (python < PEL_PYTHON_MIN || python > PEL_PYTHON_MAX))
        pel_throw(ctx, PEL_E_USAGE, 0, "Python 3.%d is not among those supported, 3.%d to 3.%d", python, PEL_PYTHON_MIN,
                  PEL_PYTHON_MAX);
    if (call->bytes.len > PEL_BYTECODE_MAX)
        pel_throw(ctx, PEL_E_TOO_BIG, 0, "%zu bytes are more than the limit of %zu", call->bytes.len, PEL_BYTECODE_MAX);
    return python ? pel_unmarshal_code(ctx, call->bytes, python) : pel_read_pyc(ctx, call->bytes);
}

static void decompile_json(pel_ctx *ctx, const pel_decompiled *made, const pel_code_object *code, pel_str source,
                           pel_buf *out) {
    pel_json json = pel_json_to(out);
    pel_json_object(&json);
    pel_json_key(&json, "python");
    pel_json_str(&json, pel_format(ctx, "3.%d", code->version));
    pel_json_key(&json, "source");
    pel_json_str(&json, source);
    pel_json_key(&json, "incomplete");
    pel_json_array(&json);
    for (uint32_t i = 0; i < made->incomplete.n; i++) {
        const pel_incomplete *row = &made->incomplete.at[i];
        pel_json_object(&json);
        pel_json_key(&json, "name");
        pel_json_str(&json, pel_name_str(row->code->name));
        pel_json_key(&json, "offset");
        pel_json_int(&json, (int64_t)row->why.at);
        pel_json_key(&json, "why");
        pel_json_c(&json, row->why.what);
        pel_json_end_object(&json);
    }
    pel_json_end_array(&json);
    pel_line_map_json(ctx, pel_map_lines(ctx, made, code), &json);
    pel_json_end_object(&json);
}

static void decompile_body(pel_ctx *ctx, void *arg) {
    code_call *call = arg;
    const pel_code_object *code = read_code(ctx, call);
    pel_print_options print = { .width = call->options.width,
                                .version = code->version,
                                .indent_docstrings = code->version >= 13,
                                .set_positions = call->options.as_json };
    if (call->options.dump) {
        pel_decompile_dump(ctx, code, pel_str_of(call->options.dump), &print, &call->out);
        return;
    }
    const pel_decompiled *made = pel_decompile(ctx, code);
    call->incomplete = made->incomplete.n;
    pel_buf source = pel_buf_in(ctx);
    pel_print(ctx, made->tree, &print, &source);
    if (call->options.as_json)
        decompile_json(ctx, made, code, pel_buf_str(&source), &call->out);
    else
        call->out = source;
}

static bool run_code_call(pel_ctx *ctx, void (*body)(pel_ctx *, void *), code_call *call, pel_text *out,
                          pel_error *error) {
    pel_err err;
    call->out = pel_buf_in(ctx);
    bool done = pel_attempt(ctx, body, call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call->out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    return done;
}

bool pellucid_decompile(pel_ctx *ctx, pel_text bytes, const pel_decompile_options *options, pel_text *out,
                        unsigned *incomplete, pel_error *error) {
    code_call call = { .bytes = str_of(bytes) };
    if (options) call.options = *options;
    bool done = run_code_call(ctx, decompile_body, &call, out, error);
    if (incomplete) *incomplete = call.incomplete;
    return done;
}

const char *const *pellucid_decompile_passes(void) { return pel_passes; }

static void dis_body(pel_ctx *ctx, void *arg) {
    code_call *call = arg;
    const pel_code_object *code = read_code(ctx, call);
    if (call->options.dump) {
        if (call->options.as_json) pel_throw(ctx, PEL_E_USAGE, 0, "normalised instructions are shown as text only");
        pel_decompile_dump(ctx, code, pel_str_of(call->options.dump), &(pel_print_options){ 0 }, &call->out);
    } else if (call->options.as_json) {
        pel_json json = pel_json_to(&call->out);
        pel_dis_json(ctx, code, &json);
    } else {
        pel_dis_text(ctx, code, &call->out);
    }
}

bool pellucid_dis(pel_ctx *ctx, pel_text bytes, const pel_dis_options *options, pel_text *out, pel_error *error) {
    code_call call = { .bytes = str_of(bytes) };
    if (options)
        call.options = (pel_decompile_options){ .python = options->python,
                                                .as_json = options->as_json,
                                                .dump = options->normalised ? "normalise" : NULL };
    return run_code_call(ctx, dis_body, &call, out, error);
}

/* ---- errors as JSON ---- */

typedef struct error_call {
    pel_str file;
    const pel_error *error;
    pel_buf out;
} error_call;

static void number_or_null(pel_json *json, const char *key, uint32_t value) {
    pel_json_key(json, key);
    if (value)
        pel_json_int(json, value);
    else
        pel_json_null(json);
}

static void error_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    error_call *call = arg;
    pel_json json = pel_json_to(&call->out);
    pel_json_object(&json);
    pel_json_key(&json, "error");
    pel_json_object(&json);
    pel_json_key(&json, "file");
    pel_json_str(&json, call->file);
    number_or_null(&json, "line", call->error->line);
    number_or_null(&json, "column", call->error->column);
    pel_json_key(&json, "offset");
    pel_json_int(&json, (int64_t)call->error->offset);
    pel_json_key(&json, "code");
    pel_json_c(&json, pellucid_code_name(call->error->code));
    pel_json_key(&json, "message");
    pel_json_c(&json, call->error->message);
    pel_json_end_object(&json);
    pel_json_end_object(&json);
}

pel_text pellucid_error_json(pel_ctx *ctx, pel_text file, const pel_error *error) {
    error_call call = { .file = str_of(file), .error = error, .out = pel_buf_in(ctx) };
    pel_err err;
    if (!pel_attempt(ctx, error_body, &call, &err)) return text_of(PEL_STR("{\"error\":{\"code\":\"MEMORY\"}}"));
    return text_of(pel_buf_str(&call.out));
}

/* ---- recorded runs ---- */

typedef struct trace_call {
    pel_str bytes;
    pel_skeleton_options options;
    pel_buf out;
} trace_call;

static void skeleton_json(const pel_skeleton *skeleton, pel_buf *out) {
    unsigned n_functions = 0, n_from_source = 0;
    for (uint32_t i = 0; i < skeleton->program->functions.n; i++) {
        const pel_program_function *function = skeleton->program->functions.at[i];
        if (function->dead || !function->def) continue;
        n_functions++;
        n_from_source += function->from_source;
    }
    pel_json json = pel_json_to(out);
    pel_json_object(&json);
    pel_json_key(&json, "root");
    pel_json_str(&json, pel_name_str(skeleton->root));
    pel_json_key(&json, "source");
    pel_json_str(&json, skeleton->source);
    pel_json_key(&json, "functions");
    pel_json_int(&json, n_functions);
    pel_json_key(&json, "from_source");
    pel_json_int(&json, n_from_source);
    pel_json_end_object(&json);
}

static void skeleton_body(pel_ctx *ctx, void *arg) {
    trace_call *call = arg;
    if (call->bytes.len > PEL_TRACE_MAX)
        pel_throw(ctx, PEL_E_TOO_BIG, 0, "%zu bytes are more than the limit of %zu", call->bytes.len, PEL_TRACE_MAX);
    const pel_log *log = pel_log_read(ctx, call->bytes);
    pel_str dump = pel_str_of(call->options.dump ? call->options.dump : "");
    if (pel_str_eq(dump, PEL_STR("log"))) {
        pel_log_dump(ctx, log, &call->out);
        return;
    }
    if (pel_str_eq(dump, PEL_STR("passes"))) {
        pel_list_passes(&call->out);
        return;
    }
    if (dump.len && !pel_is_pass(dump))
        pel_throw(ctx, PEL_E_USAGE, 0, "there is no pass '%.*s'; --dump=passes lists them", PEL_FMT(dump));
    const pel_pass_watch watch = { .dump = dump, .out = &call->out, .check = call->options.check };
    pel_skeleton skeleton;
    pel_synthesise_watched(ctx, log, &watch, &skeleton);
    if (dump.len) return;
    if (call->options.as_json)
        skeleton_json(&skeleton, &call->out);
    else
        pel_put(&call->out, skeleton.source);
}

bool pellucid_is_trace(pel_text bytes) { return pel_log_is_file(str_of(bytes)); }

bool pellucid_skeleton(pel_ctx *ctx, pel_text trace, const pel_skeleton_options *options, pel_text *out,
                       pel_error *error) {
    trace_call call = { .bytes = str_of(trace), .out = pel_buf_in(ctx) };
    if (options) call.options = *options;
    pel_err err;
    bool done = pel_attempt(ctx, skeleton_body, &call, &err);
    if (done) {
        *out = text_of(pel_buf_str(&call.out));
    } else {
        err.line = 0; /* of one of the author's files: the message names it */
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    }
    return done;
}

/* ---- model trees ---- */

typedef struct view_call {
    const pel_model_file *file; /* or: */
    pel_str json;
    pel_view_options options;
    pel_audit audit; /* with what was loaded */
    pel_buf out;
} view_call;

static void view_networks(pel_ctx *ctx, const pel_networks *networks, const pel_view_options *options, pel_str audit,
                          pel_buf *out) {
    static void (*const each[])(pel_ctx *, const pel_network *, const pel_tree_options *, pel_buf *) = {
        [PEL_VIEW_TREE] = pel_show_tree,
        [PEL_VIEW_TABLE] = pel_show_table,
        [PEL_VIEW_SVG] = pel_show_svg,
    };
    for (uint32_t i = 0; options->filter && i < networks->n; i++)
        pel_network_filter(ctx, networks->at[i], pel_str_of(options->filter));
    const pel_tree_options how = {
        .depth = options->depth, .unfolded = options->unfolded, .coloured = options->coloured, .width = options->width
    };
    if (options->view == PEL_VIEW_HTML) return pel_show_page(ctx, networks, str_of(options->source), audit, out);
    if (options->view == PEL_VIEW_JSON) return pel_networks_json(ctx, networks, out);
    if ((size_t)options->view >= PEL_COUNT(each)) pel_throw(ctx, PEL_E_USAGE, 0, "no such view");
    if (options->view == PEL_VIEW_SVG && networks->n != 1)
        pel_throw(ctx, PEL_E_USAGE, 0, "a picture shows one network, here are %u", networks->n);
    for (uint32_t i = 0; i < networks->n; i++) {
        if (i) pel_put_byte(out, '\n');
        each[options->view](ctx, networks->at[i], &how, out);
    }
}

void pel_load_any(pel_ctx *ctx, const pel_model_file *file, pel_loaded *out) {
    out->input = pel_input_of_file(ctx, file);
    if (!pel_log_is_file(pel_input_head(ctx, out->input))) return pel_load(ctx, file, out);
    pel_network *network = pel_log_tree(ctx, pel_log_read(ctx, pel_input_whole(ctx, out->input)));
    network->format = PEL_STR("trace");
    pel_push(ctx, &out->networks, network);
}

/* What the audit says comes last in a text, and first on a page. */
static void view_file_body(pel_ctx *ctx, void *arg) {
    view_call *call = arg;
    pel_buf said = pel_buf_in(ctx);
    bool is_text = call->options.view == PEL_VIEW_TREE || call->options.view == PEL_VIEW_TABLE;
    pel_load_any(ctx, call->file, &call->audit.loaded);
    pel_audit_loaded(ctx, &call->audit);
    pel_audit_line(&call->audit, &said);
    pel_str line = pel_buf_str(&said);
    if (!line.len && !is_text) line = pel_format(ctx, "audit: %s\n", pel_verdict_name(call->audit.verdict));
    view_networks(ctx, &call->audit.loaded.networks, &call->options, pel_str_cut(line, 0, line.len ? line.len - 1 : 0),
                  &call->out);
    if (is_text) pel_put(&call->out, line);
}

static void view_json_body(pel_ctx *ctx, void *arg) {
    view_call *call = arg;
    if (call->json.len > PEL_TREE_MAX)
        pel_throw(ctx, PEL_E_TOO_BIG, 0, "%zu bytes are more than the limit of %zu", call->json.len, PEL_TREE_MAX);
    pel_networks networks = pel_networks_read(ctx, call->json);
    view_networks(ctx, &networks, &call->options, (pel_str){ "", 0 }, &call->out);
}

static bool run_view(pel_ctx *ctx, void (*body)(pel_ctx *, void *), view_call *call, const pel_view_options *options,
                     pel_text *out, pel_error *error) {
    if (options) call->options = *options;
    call->out = pel_buf_in(ctx);
    pel_err err;
    bool done = pel_attempt(ctx, body, call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call->out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    return done;
}

typedef struct broken_call {
    pel_audit *audit;
    pel_buf said;
} broken_call;

static void audit_broken_body(pel_ctx *ctx, void *arg) {
    broken_call *call = arg;
    call->said = pel_buf_in(ctx);
    pel_audit_loaded(ctx, call->audit);
    pel_audit_line(call->audit, &call->said);
}

/* A file that has no tree may still do something: what was read before the fault is judged, and the error says so. */
static pel_verdict audit_broken(pel_ctx *ctx, pel_audit *audit, pel_error *error) {
    pel_err why;
    broken_call call = { .audit = audit };
    audit->is_broken = true;
    audit->fault = (pel_err){ .code = error->code, .at = error->offset };
    memcpy(audit->fault.what, error->message, sizeof audit->fault.what);
    if (!pel_attempt(ctx, audit_broken_body, &call, &why)) {
        if (why.code == PEL_E_MEMORY) pel_give_error(&why, (pel_str){ "", 0 }, error);
        return PEL_BROKEN;
    }
    if (audit->verdict != PEL_DANGEROUS && audit->verdict != PEL_SUSPICIOUS) return audit->verdict;
    pel_str line = pel_buf_str(&call.said);
    size_t used = strlen(error->message);
    snprintf(error->message + used, sizeof error->message - used, "; %.*s", (int)line.len - 1, line.ptr);
    return audit->verdict;
}

bool pellucid_tree(pel_ctx *ctx, const pel_model_file *file, const pel_view_options *options, pel_text *out,
                   pel_error *error) {
    view_call call = { .file = file };
    pel_error own;
    if (!error) error = &own;
    bool done = run_view(ctx, view_file_body, &call, options, out, error);
    pel_verdict verdict = done ? call.audit.verdict : PEL_BROKEN;
    if (!done && error->code != PEL_E_USAGE && error->code != PEL_E_MEMORY)
        verdict = audit_broken(ctx, &call.audit, error);
    if (options && options->verdict) *options->verdict = verdict;
    return done;
}

bool pellucid_view(pel_ctx *ctx, pel_text json, const pel_view_options *options, pel_text *out, pel_error *error) {
    view_call call = { .json = str_of(json) };
    return run_view(ctx, view_json_body, &call, options, out, error);
}

/* ---- source from files ---- */

typedef struct recover_call {
    const pel_model_file *file;
    pel_recovered made;
} recover_call;

static void recover_body(pel_ctx *ctx, void *arg) {
    recover_call *call = arg;
    pel_recover_file(ctx, call->file, &call->made);
}

bool pellucid_recover(pel_ctx *ctx, const pel_model_file *file, pel_text *out, pel_error *error) {
    recover_call call = { .file = file };
    pel_err err;
    bool done = pel_attempt(ctx, recover_body, &call, &err);
    if (done)
        *out = text_of(call.made.source);
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    return done;
}

/* ---- the content of files ---- */

typedef struct content_call {
    const pel_model_file *file;
    pel_str name; /* of a tensor, or the prefix of all that are wanted */
    bool with_constants, for_source;
    pel_str map;
    size_t n_left;
    pel_writer writer;
    pel_loaded loaded;
} content_call;

static void extract_body(pel_ctx *ctx, void *arg) {
    content_call *call = arg;
    pel_load(ctx, call->file, &call->loaded);
    pel_write_npy(ctx, &call->loaded, call->name, &call->writer);
}

static void convert_body(pel_ctx *ctx, void *arg) {
    content_call *call = arg;
    if (call->for_source) {
        pel_recovered made;
        pel_recover_file(ctx, call->file, &made);
        call->loaded = *made.loaded;
        call->loaded.networks = (pel_networks){ 0 };
        pel_push(ctx, &call->loaded.networks, made.network);
        call->with_constants = true;
    } else {
        pel_load(ctx, call->file, &call->loaded);
    }
    if (call->map.len) {
        uint64_t most = UINT64_MAX;
        pel_network *mapped = pel_network_mapped(ctx, &call->loaded.networks, call->map, pel_tensor_bytes, &most);
        call->loaded.networks = (pel_networks){ 0 };
        pel_push(ctx, &call->loaded.networks, mapped);
        call->n_left = pel_write_safetensors(ctx, &call->loaded, call->name, true, &call->writer);
        return;
    }
    call->n_left = pel_write_safetensors(ctx, &call->loaded, call->name, call->with_constants, &call->writer);
}

static bool run_content_call(pel_ctx *ctx, void (*body)(pel_ctx *, void *), content_call *call, pel_error *error) {
    pel_err err;
    bool done = pel_attempt(ctx, body, call, &err);
    if (!done) pel_give_error(&err, (pel_str){ "", 0 }, error);
    return done;
}

bool pellucid_extract(pel_ctx *ctx, const pel_model_file *file, pel_text name, pel_write *write, void *arg,
                      pel_error *error) {
    content_call call = { .file = file, .name = str_of(name), .writer = { write, arg } };
    return run_content_call(ctx, extract_body, &call, error);
}

bool pellucid_convert(pel_ctx *ctx, const pel_model_file *file, const pel_convert_options *options, pel_write *write,
                      void *arg, size_t *n_left, pel_error *error) {
    pel_convert_options how = options ? *options : (pel_convert_options){ 0 };
    content_call call = { .file = file,
                          .name = pel_str_of(how.prefix ? how.prefix : ""),
                          .with_constants = how.with_constants,
                          .for_source = how.for_source,
                          .map = str_of(how.map),
                          .writer = { write, arg } };
    bool done = run_content_call(ctx, convert_body, &call, error);
    if (n_left) *n_left = call.n_left;
    return done;
}

typedef struct compare_call {
    const pel_model_file *files[2];
    pel_compare_options options;
    pel_loaded loaded[2];
    pel_comparison found;
    bool is_model[2]; /* not a file of tensors: a source or a run */
    const pel_network *nearest[2];
    pel_buf out;
} compare_call;

#define MAX_PAIRS 256

/* Of several networks, the two that have most in common. */
static void compare_nearest(pel_ctx *ctx, compare_call *call) {
    const pel_networks *a = &call->loaded[0].networks, *b = &call->loaded[1].networks;
    uint32_t tried = 0;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n && tried < MAX_PAIRS; k++, tried++) {
            pel_comparison found;
            pel_network_compare(ctx, a->at[i], b->at[k], call->options.ignore_dtype, &found);
            bool is_nearer = found.equal > call->found.equal ||
                             (found.equal == call->found.equal && found.differences.n < call->found.differences.n);
            if (tried && !is_nearer) continue;
            call->found = found;
            call->nearest[0] = a->at[i];
            call->nearest[1] = b->at[k];
            for (int s = 0; s < 2; s++) call->is_model[s] = !call->nearest[s]->format.len;
        }
}

static void compare_body(pel_ctx *ctx, void *arg) {
    compare_call *call = arg;
    for (int i = 0; i < 2; i++) {
        pel_load_any(ctx, call->files[i], &call->loaded[i]);
        if (!call->loaded[i].networks.n)
            pel_throw(ctx, PEL_E_FORMAT, 0, "there is no network in %.*s", (int)call->files[i]->name.len,
                      call->files[i]->name.ptr);
    }
    pel_str a = str_of(call->files[0]->name), b = str_of(call->files[1]->name);
    compare_nearest(ctx, call);
    bool is_swapped = call->is_model[1] && !call->is_model[0], any_model = call->is_model[0] || call->is_model[1];
    pel_load_verdict verdict = { .found = &call->found,
                                 .model = call->nearest[is_swapped],
                                 .checkpoint = call->nearest[!is_swapped],
                                 .is_swapped = is_swapped,
                                 .file = is_swapped ? a : b };
    if (call->options.as_json) {
        pel_comparison_json(ctx, &call->found, a, b, any_model ? &verdict : NULL, &call->out);
        return;
    }
    pel_comparison_text(&call->found, a, b, &call->out);
    if (any_model) pel_load_verdict_text(ctx, &verdict, &call->out);
}

bool pellucid_compare(pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b,
                      const pel_compare_options *options, pel_text *out, pel_compare_result *result, pel_error *error) {
    compare_call call = { .files = { a, b }, .out = pel_buf_in(ctx) };
    if (options) call.options = *options;
    pel_err err;
    bool done = pel_attempt(ctx, compare_body, &call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call.out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    if (!result) return done;
    result->differences = call.found.differences.n + (call.found.lost_a > 0) + (call.found.lost_b > 0);
    result->open = call.found.open;
    return done;
}

/* ---- which tensor is which ---- */

#define GATHERED_FOR_VALUES ((uint64_t)8 << 20) /* of one tensor that does not lie in the file as it is */

typedef struct align_call {
    const pel_model_file *files[2];
    pel_align_options options;
    pel_alignment found;
    pel_buf out;
    pel_str python;
} align_call;

/* Of several networks in a file, the two of which most is known to be the same. */
static void align_body(pel_ctx *ctx, void *arg) {
    align_call *call = arg;
    pel_loaded loaded[2];
    uint32_t tried = 0, best = 0;
    uint64_t most = GATHERED_FOR_VALUES;
    for (int i = 0; i < 2; i++) {
        loaded[i] = (pel_loaded){ 0 };
        pel_load_any(ctx, call->files[i], &loaded[i]);
        if (!loaded[i].networks.n)
            pel_throw(ctx, PEL_E_FORMAT, 0, "there is no network in %.*s", (int)call->files[i]->name.len,
                      call->files[i]->name.ptr);
    }
    for (uint32_t i = 0; i < loaded[0].networks.n; i++)
        for (uint32_t k = 0; k < loaded[1].networks.n && tried < MAX_PAIRS; k++, tried++) {
            pel_alignment found = { .names = { str_of(call->files[0]->name), str_of(call->files[1]->name) } };
            pel_network_align(ctx, loaded[0].networks.at[i], loaded[1].networks.at[k],
                              call->options.without_values ? NULL : pel_tensor_bytes, &most, &found);
            if (tried && found.rows.n <= best) continue;
            best = found.rows.n;
            call->found = found;
        }
    if (call->options.python) call->python = pel_alignment_python(ctx, &call->found);
    if (call->options.as_json)
        pel_alignment_json(ctx, &call->found, &call->out);
    else
        pel_alignment_text(ctx, &call->found, &call->out);
}

bool pellucid_align(pel_ctx *ctx, const pel_model_file *a, const pel_model_file *b, const pel_align_options *options,
                    pel_text *out, pel_align_result *result, pel_error *error) {
    align_call call = { .files = { a, b }, .out = pel_buf_in(ctx) };
    if (options) call.options = *options;
    pel_err err;
    bool done = pel_attempt(ctx, align_body, &call, &err);
    if (!done) {
        pel_give_error(&err, (pel_str){ "", 0 }, error);
        return false;
    }
    *out = text_of(pel_buf_str(&call.out));
    if (call.options.python) *call.options.python = text_of(call.python);
    if (!result) return true;
    pel_align_counts n = pel_alignment_count(&call.found);
    *result = (pel_align_result){ .rows = n.rows,
                                  .ambiguous = n.open,
                                  .missing = n.only_b,
                                  .unused = n.only_a,
                                  .equal = n.equal,
                                  .lost = call.found.lost[0] + call.found.lost[1] };
    return true;
}
