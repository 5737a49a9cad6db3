/* pellucid_scan: the interpreter and its model trees, as pellucid.h has them. */
#include "api.h"
#include "interp/scan.h"
#include "pellucid.h"
#include "show/show.h"
#include "show/summary.h"

static pel_str str_of(pel_text text) { return (pel_str){ text.ptr, text.len }; }
static pel_text text_of(pel_str s) { return (pel_text){ s.ptr, s.len }; }

static void give_error(const pel_err *err, pel_error *error) {
    if (!error) return;
    *error = (pel_error){
        .code = err->code, .offset = err->at, .line = err->line, .column = err->line ? err->column + 1 : 0
    };
    memcpy(error->message, err->what, sizeof error->message);
}

/* ---- files ---- */

static bool read_file(void *arg, pel_str path, pel_str *bytes) {
    const pel_scan_files *files = arg;
    pel_text text;
    if (!files->read(files->arg, text_of(path), &text)) return false;
    *bytes = str_of(text);
    return true;
}
static enum pel_entry_kind kind_of(void *arg, pel_str path) {
    const pel_scan_files *files = arg;
    int kind = files->kind(files->arg, text_of(path));
    return kind == 1 ? PEL_FILE : kind == 2 ? PEL_FOLDER : PEL_NOTHING;
}
static bool list_folder(void *arg, pel_str path, pel_str *names) {
    const pel_scan_files *files = arg;
    pel_text text;
    if (!files->list || !files->list(files->arg, text_of(path), &text)) return false;
    *names = str_of(text);
    return true;
}

/* ---- opening ---- */

typedef struct open_call {
    const pel_scan_options *options;
    pel_scanner *scanner;
} open_call;

/* The scanner outlives the options, so their texts are copied, and the callbacks get the scanner's own copy of the
 * files. Settings of --set are evaluated here: a wrong one must fail before the first source is scanned. */
static void open_body(pel_ctx *ctx, void *arg) {
    open_call *call = arg;
    const pel_scan_options *options = call->options;
    pel_files files = { NULL, read_file, kind_of, list_folder };
    pel_scanner *scanner = pel_scanner_new(ctx, &files, options->steps);
    scanner->outside = options->files;
    scanner->vm->files.arg = &scanner->outside;
    scanner->as_json = options->as_json;
    scanner->classes = options->classes;
    scanner->wants_source = options->as_source;
    if (options->network) scanner->wanted = pel_str_copy(ctx, pel_str_of(options->network));
    if (options->with) {
        pel_loaded loaded = { 0 };
        pel_load_any(ctx, options->with, &loaded);
        if (!loaded.networks.n) pel_throw(ctx, PEL_E_FORMAT, 0, "there is no network in the file of --with");
        scanner->known = loaded.networks.at[0];
        scanner->known_name = pel_str_copy(ctx, str_of(options->with->name));
    }
    scanner->is_one_of_many = options->is_one_of_many;
    if (options->forward) scanner->forward = pel_str_copy(ctx, pel_str_of(options->forward));
    for (const char *const *root = options->roots; root && *root; root++) pel_scanner_root(scanner, pel_str_of(*root));
    for (const char *const *set = options->set; set && *set; set++) {
        const char *equals = strchr(*set, '=');
        if (!equals) pel_throw(ctx, PEL_E_USAGE, 0, "--set needs NAME=VALUE, not '%s'", *set);
        pel_scanner_set(scanner, (pel_str){ *set, (size_t)(equals - *set) }, pel_str_of(equals + 1));
    }
    call->scanner = scanner;
}

bool pellucid_scan_open(pel_ctx *ctx, const pel_scan_options *options, pel_scanner **scanner, pel_error *error) {
    open_call call = { options, NULL };
    pel_err err;
    if (!pel_attempt(ctx, open_body, &call, &err)) {
        give_error(&err, error);
        return false;
    }
    *scanner = call.scanner;
    return true;
}

typedef struct import_call {
    pel_scanner *scanner;
    const pel_scan_target *targets;
    size_t n, wanted_by;
} import_call;

static void import_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    import_call *call = arg;
    pel_scanner_import(call->scanner, call->targets, call->n, call->wanted_by);
}

void pellucid_scan_import(pel_scanner *scanner, const pel_scan_target *targets, size_t n, size_t wanted_by) {
    import_call call = { scanner, targets, n, wanted_by };
    pel_err err;
    pel_attempt(scanner->vm->ctx, import_body, &call, &err); /* what fails here is said by the scan itself */
}

typedef struct imports_call {
    pel_scanner *scanner;
    const pel_scan_target *target;
    pel_buf out;
} imports_call;

static void imports_body(pel_ctx *ctx, void *arg) {
    imports_call *call = arg;
    call->out = pel_buf_in(ctx);
    pel_scanner_imports(call->scanner, call->target, &call->out);
}

bool pellucid_scan_imports(pel_scanner *scanner, const pel_scan_target *target, pel_text *out, pel_error *error) {
    imports_call call = { .scanner = scanner, .target = target };
    pel_err err;
    if (!pel_attempt(scanner->vm->ctx, imports_body, &call, &err)) {
        give_error(&err, error);
        return false;
    }
    *out = text_of(pel_buf_str(&call.out));
    return true;
}

/* ---- scanning ---- */

typedef struct scan_call {
    pel_scanner *scanner;
    pel_scan_request request;
    pel_networks networks;
    pel_buf out;
    pel_scan_result result;
} scan_call;

static void put_rows(pel_buf *out, const char *kind, const pel_unknown *rows, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        pel_putf(out, "  %s: %.*s", kind, PEL_FMT(rows[i].what));
        if (rows[i].place.line) pel_putf(out, "  (%.*s:%u)", PEL_FMT(rows[i].place.file), rows[i].place.line);
        if (rows[i].why.len) pel_putf(out, ": %.*s", PEL_FMT(rows[i].why));
        pel_put_byte(out, '\n');
    }
}

static void put_text(pel_ctx *ctx, const pel_network *network, pel_buf *out) {
    pel_tree_options options = { 0 };
    if (network->root) {
        pel_show_tree(ctx, network, &options, out);
        return;
    }
    pel_putf(out, "%.*s\n", PEL_FMT(network->name));
    put_rows(out, "error", network->errors.at, network->errors.n);
    put_rows(out, "unknown", network->unknown.at, network->unknown.n);
}

/* What kept the writer from its program; without that row the network was not made, and the last one says why. */
static const pel_unknown *why_unwritten(const pel_network *network) {
    for (uint32_t i = network->unknown.n; i-- > 0;)
        if (pel_str_eq(network->unknown.at[i].why, PEL_WHY_UNWRITTEN)) return &network->unknown.at[i];
    return network->unknown.n ? &network->unknown.at[network->unknown.n - 1] : NULL;
}

/* The program of the network that was asked for. */
static void put_source(pel_ctx *ctx, const scan_call *call, pel_buf *out) {
    const pel_network *chosen = NULL;
    pel_str wanted = call->scanner->wanted, names = { "", 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < call->networks.n; i++) {
        const pel_network *network = call->networks.at[i];
        if (network->root)
            names = names.len ? pel_format(ctx, "%.*s, %.*s", PEL_FMT(names), PEL_FMT(network->name)) : network->name;
        if (wanted.len ? !pel_str_eq(network->name, wanted) : call->networks.n > 1 && !network->root) continue;
        chosen = network;
        n++;
    }
    if (n > 1) pel_throw(ctx, PEL_E_USAGE, 0, "there are several networks, say which: %.*s", PEL_FMT(names));
    if (!chosen && wanted.len)
        pel_throw(ctx, PEL_E_USAGE, 0, "there is no network '%.*s'; there are: %.*s", PEL_FMT(wanted), PEL_FMT(names));
    if (!chosen) pel_throw(ctx, PEL_E_INCOMPLETE, 0, "no network was found");
    if (!chosen->source.len) {
        const pel_unknown *row = why_unwritten(chosen);
        pel_throw(ctx, PEL_E_INCOMPLETE, 0, "%.*s can't be written as a program (%.*s:%u): %.*s", PEL_FMT(chosen->name),
                  PEL_FMT(row ? row->place.file : PEL_STR("?")), row ? row->place.line : 0,
                  PEL_FMT(row ? row->what : PEL_STR("it was not made")));
    }
    pel_put(out, chosen->source);
}

#define MAX_ROUNDS 8 /* of reading facts off a file: each may show more */

/* The network that has most in common with the known one: tensors that fit, or else names. UINT32_MAX: none has any. */
static uint32_t nearest(pel_ctx *ctx, const pel_networks *networks, const pel_network *known) {
    uint32_t best = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < networks->n; i++) {
        pel_comparison found;
        if (!networks->at[i]->root) continue;
        pel_network_compare(ctx, networks->at[i], known, true, &found);
        uint64_t named = 0;
        for (uint32_t k = 0; k < found.differences.n; k++) named += found.differences.at[k].kind == PEL_OTHER_SHAPE;
        uint64_t score = (uint64_t)found.equal << 32 | named;
        if (score > most) best = i, most = score;
    }
    return best;
}

static void put_error(pel_ctx *ctx, pel_network *network, pel_str what, pel_str why) {
    if (network->errors.n < 1000) pel_push(ctx, &network->errors, ((pel_unknown){ .what = what, .why = why }));
}

/* The file has tensors that the source does not make, or in other shapes, or lacks some: it is of another network. */
static void put_contradictions(pel_ctx *ctx, pel_network *network, const pel_scanner *scanner) {
    pel_comparison found;
    pel_network_compare(ctx, network, scanner->known, true, &found);
    if (found.apart_b) {
        pel_str what = pel_format(ctx, "%u tensors of %.*s", found.apart_b, PEL_FMT(scanner->known_name));
        pel_str why = pel_format(ctx, "not compared: their names do not begin with '%.*s'", PEL_FMT(found.prefix_b));
        pel_push(ctx, &network->unknown, ((pel_unknown){ .what = what, .why = why }));
    }
    if (found.apart_a)
        put_error(ctx, network, pel_format(ctx, "%u tensors", found.apart_a),
                  pel_format(ctx, "%.*s has only the others, which begin with '%.*s'", PEL_FMT(scanner->known_name),
                             PEL_FMT(found.prefix_a)));
    for (uint32_t i = 0; i < found.differences.n; i++) {
        const pel_difference *row = &found.differences.at[i];
        pel_str file = scanner->known_name;
        switch (row->kind) {
        case PEL_ONLY_A:
            if (row->a && row->a->condition.len) break;
            put_error(ctx, network, row->name, pel_format(ctx, "%.*s does not have it", PEL_FMT(file)));
            break;
        case PEL_ONLY_B:
            put_error(ctx, network, row->name, pel_format(ctx, "%.*s has it, the source does not", PEL_FMT(file)));
            break;
        case PEL_OTHER_SHAPE:
            put_error(ctx, network, row->name, pel_format(ctx, "%.*s has it in another shape", PEL_FMT(file)));
            break;
        case PEL_OTHER_DTYPE: break;
        }
    }
}

/* No tensor of the file is one of any network here. */
static void put_no_fit(pel_ctx *ctx, scan_call *call) {
    pel_str file = call->scanner->known_name;
    bool any = false;
    for (uint32_t i = 0; i < call->networks.n; i++) any |= call->networks.at[i]->root != NULL;
    pel_network *none = any ? NULL : pel_network_new(ctx, call->request.path);
    if (none) pel_push(ctx, &call->networks, none);
    for (uint32_t i = 0; i < call->networks.n; i++)
        if (call->networks.at[i]->root || call->networks.at[i] == none) {
            put_error(ctx, call->networks.at[i], PEL_STR("--with"),
                      pel_format(ctx,
                                 none ? "%.*s is not used: there is no network"
                                      : "no tensor of %.*s has a name of this network",
                                 PEL_FMT(file)));
            return;
        }
}

/* What a file says of the network that fits it best: scanned again with that, until it says no more. */
static void scan_with(pel_ctx *ctx, scan_call *call) {
    pel_scanner *scanner = call->scanner;
    pel_network **place, *problems;
    uint32_t chosen = nearest(ctx, &call->networks, scanner->known);
    if (chosen == UINT32_MAX) {
        put_no_fit(ctx, call);
        return;
    }
    place = &call->networks.at[chosen];
    pel_facts facts = { 0 };
    pel_scanner_push(scanner);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        uint32_t before = facts.n;
        pel_network_resolve(ctx, *place, scanner->known, &facts);
        if (facts.n == before) break;
        for (uint32_t i = before; i < facts.n; i++) {
            facts.at[i].from = pel_format(ctx, "%.*s: %.*s", PEL_FMT(scanner->known_name), PEL_FMT(facts.at[i].from));
            pel_scanner_set(scanner, facts.at[i].what, facts.at[i].value);
        }
        pel_networks again = { 0 };
        pel_scan(scanner, &call->request, &again, &problems);
        for (uint32_t i = 0; i < again.n; i++)
            if (again.at[i]->root && pel_str_eq(again.at[i]->name, (*place)->name)) *place = again.at[i];
    }
    pel_scanner_pop(scanner);
    (*place)->facts = facts;
    put_contradictions(ctx, *place, scanner);
}

static void scan_body(pel_ctx *ctx, void *arg) {
    scan_call *call = arg;
    pel_network *problems;
    if (pel_str_ends(call->request.path, PEL_STR(".ipynb")))
        call->request.text = pel_notebook_program(ctx, call->request.text);
    pel_scan(call->scanner, &call->request, &call->networks, &problems);
    if (call->scanner->known) scan_with(ctx, call);
    /* what stopped the run concerns every network of it; without any it is alone */
    for (uint32_t i = 0; i < call->networks.n; i++)
        for (uint32_t k = 0; k < problems->unknown.n; k++)
            pel_push(ctx, &call->networks.at[i]->unknown, problems->unknown.at[k]);
    if (!call->networks.n && (problems->unknown.n || problems->errors.n)) pel_push(ctx, &call->networks, problems);
    for (uint32_t i = 0; i < call->networks.n; i++) {
        call->result.networks += call->networks.at[i]->root != NULL;
        call->result.unknown += call->networks.at[i]->unknown.n;
        call->result.errors += call->networks.at[i]->errors.n;
    }
    pel_buf rows = pel_buf_in(ctx);
    pel_summary_rows(ctx, &call->networks, call->request.path, &rows);
    call->result.rows = text_of(pel_buf_str(&rows));
    if (call->scanner->wants_source)
        put_source(ctx, call, &call->out);
    else if (call->scanner->as_json)
        pel_networks_json(ctx, &call->networks, &call->out);
    else
        for (uint32_t i = 0; i < call->networks.n; i++) put_text(ctx, call->networks.at[i], &call->out);
}

bool pellucid_scan(pel_scanner *scanner, const char *path, pel_text source, pel_text *out, pel_scan_result *result,
                   pel_error *error) {
    scan_call call = { .scanner = scanner, .out = pel_buf_in(scanner->vm->ctx) };
    call.request = (pel_scan_request){ .path = path ? pel_str_of(path) : PEL_STR("<snippet>"),
                                       .text = str_of(source),
                                       .is_snippet = !path,
                                       .classes = scanner->classes && path,
                                       .forward = scanner->forward };
    pel_err err;
    if (!pel_attempt(scanner->vm->ctx, scan_body, &call, &err)) {
        give_error(&err, error);
        return false;
    }
    *out = text_of(pel_buf_str(&call.out));
    if (result) *result = call.result;
    return true;
}

typedef struct summary_call {
    pel_text rows;
    bool as_json;
    pel_buf out;
} summary_call;

static void summary_body(pel_ctx *ctx, void *arg) {
    summary_call *call = arg;
    pel_show_summary(ctx, str_of(call->rows), call->as_json, &call->out);
}

bool pellucid_scan_summary(pel_ctx *ctx, pel_text rows, bool as_json, pel_text *out, pel_error *error) {
    summary_call call = { rows, as_json, pel_buf_in(ctx) };
    pel_err err;
    if (!pel_attempt(ctx, summary_body, &call, &err)) {
        give_error(&err, error);
        return false;
    }
    *out = text_of(pel_buf_str(&call.out));
    return true;
}
