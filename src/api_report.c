/* pellucid_scan_sarif: what scans found, for code scanning. The codes are those of the language server (lsp/analyse.c).
 */
#include "api.h"
#include "base/json.h"
#include "base/json_read.h"
#include "interp/scan.h"
#include "load/audit/audit_report.h"
#include "pellucid.h"

static const pel_rule rules[] = {
    { "shape", "shapes disagree", "A layer or an operation gets a shape that it can't take, whatever else is given." },
    { "not-run", "forward can't work", "Something else than a shape ends the forward that --forward asked for." },
    { "contradiction", "a checkpoint does not fit", "The file of --with has other tensors than the source makes." },
    { "unreadable", "the source can't be read", "It is no valid Python, or the file can't be opened." },
    { "unknown-import", "a module that no root has", "Its names are not known, and so is what depends on them." },
    { "budget", "the analysis was cut short", "A budget of steps or memory was spent: there may be more to find." },
};

static const pel_rule *rule_at(size_t i) { return i < PEL_COUNT(rules) ? &rules[i] : NULL; }

typedef struct source_row { /* one source, as the report wants it */
    pel_ctx *ctx;
    pel_str path; /* where a row names none */
    pel_buf text;
    pel_json json;
    pel_map known; /* findings that several networks have */
} source_row;

static int64_t line_of(const pel_json_value *row) {
    const pel_json_value *line = pel_json_get(row, "line");
    return line && line->kind == PEL_J_NUMBER && line->is_integer && line->integer > 0 ? line->integer : 1;
}

static pel_str member(const pel_json_value *row, const char *key) { return pel_json_text(pel_json_get(row, key)); }

static void put(pel_json *json, const char *key, pel_str text) {
    pel_json_key(json, key);
    pel_json_str(json, text);
}

/* Networks of one source run the same code, so one mistake comes back with each of them. Its kind, line and text make
 * it the same finding, which is written once. */
static void put_finding(source_row *r, const char *kind, const char *severity, const pel_json_value *row,
                        pel_str text) {
    pel_json *json = &r->json;
    const pel_json_value *also = pel_json_get(row, "also");
    pel_str file = member(row, "file").len ? member(row, "file") : r->path;
    pel_str key = pel_format(r->ctx, "%s %.*s %lld %.*s", kind, PEL_FMT(file), (long long)line_of(row), PEL_FMT(text));
    if (!pel_map_set(r->ctx, &r->known, PEL_KEY(pel_intern_str(r->ctx, key)), 1)) return;
    pel_json_object(json);
    put(json, "kind", pel_str_of(kind));
    put(json, "severity", pel_str_of(severity));
    put(json, "text", text);
    put(json, "file", file);
    pel_json_key(json, "line");
    pel_json_int(json, line_of(row));
    if (also) {
        pel_json_key(json, "related");
        pel_json_array(json);
        pel_json_object(json);
        put(json, "file", member(also, "file"));
        pel_json_key(json, "line");
        pel_json_int(json, line_of(also));
        put(json, "text", PEL_STR("this gave the shape"));
        pel_json_end_object(json);
        pel_json_end_array(json);
    }
    pel_json_end_object(json);
}

/* Most unknown rows are no findings: values that only a run would give are missing in every scan. Only gaps that the
 * author can close are reported. An error without a place comes from the comparison with --with. */
static void put_network(source_row *r, const pel_json_value *network) {
    const pel_json_value *errors = pel_json_get(network, "errors"), *unknown = pel_json_get(network, "unknown");
    for (uint32_t i = 0; errors && i < errors->items.n; i++) {
        const pel_json_value *row = errors->items.at[i];
        pel_str what = member(row, "what"), why = member(row, "why");
        bool is_shape = pel_str_starts(what, PEL_STR("ShapeError: ")), has_place = member(row, "file").len > 0;
        put_finding(r,
                    is_shape    ? "shape"
                    : has_place ? "not-run"
                                : "contradiction",
                    "danger", row,
                    pel_format(r->ctx, "%.*s: %.*s", PEL_FMT(pel_str_from(what, is_shape ? 12 : 0)), PEL_FMT(why)));
    }
    for (uint32_t i = 0; unknown && i < unknown->items.n; i++) {
        const pel_json_value *row = unknown->items.at[i];
        pel_str what = member(row, "what"), why = member(row, "why");
        bool is_budget = pel_str_starts(what, PEL_WHAT_SPENT) || pel_str_eq(why, PEL_WHY_SPENT);
        bool is_unreadable =
            pel_str_is(why, pel_code_text(PEL_E_SYNTAX)) || pel_str_is(why, pel_code_text(PEL_E_ENCODING));
        const char *kind = is_unreadable                      ? "unreadable"
                           : is_budget                        ? "budget"
                           : pel_str_eq(why, PEL_WHY_MISSING) ? "unknown-import"
                                                              : NULL;
        if (kind)
            put_finding(r, kind, is_unreadable ? "danger" : "note", row,
                        pel_format(r->ctx, "%.*s: %.*s", PEL_FMT(what), PEL_FMT(why)));
    }
}

/* A line of --json: the networks of a source, or why there are none. */
static pel_text convert(pel_ctx *ctx, const pel_scan_target *line) {
    const pel_json_value *root = pel_json_read(ctx, (pel_str){ line->source.ptr, line->source.len }, 0);
    const pel_json_value *networks = pel_json_get(root, "networks"), *error = pel_json_get(root, "error");
    source_row r = { .ctx = ctx, .path = pel_str_of(line->path), .text = pel_buf_in(ctx) };
    r.json = pel_json_to(&r.text);
    pel_json_object(&r.json);
    put(&r.json, "file", pel_str_of(line->path));
    put(&r.json, "verdict", error ? PEL_STR("unreadable") : PEL_STR("scanned"));
    put(&r.json, "format", PEL_STR("python"));
    pel_json_key(&r.json, "findings");
    pel_json_array(&r.json);
    if (error) put_finding(&r, "unreadable", "danger", error, member(error, "message"));
    for (uint32_t i = 0; networks && networks->kind == PEL_J_ARRAY && i < networks->items.n; i++)
        put_network(&r, networks->items.at[i]);
    pel_json_end_array(&r.json);
    pel_json_end_object(&r.json);
    pel_str made = pel_buf_str(&r.text);
    return (pel_text){ made.ptr, made.len };
}

typedef struct sarif_call {
    const pel_scan_target *lines;
    size_t n;
    pel_buf out;
} sarif_call;

static void sarif_body(pel_ctx *ctx, void *arg) {
    sarif_call *call = arg;
    pel_text *rows = pel_new_array(ctx, call->n + 1, pel_text);
    call->out = pel_buf_in(ctx);
    for (size_t i = 0; i < call->n; i++) rows[i] = convert(ctx, &call->lines[i]);
    pel_sarif(ctx, rows, call->n, rule_at, &call->out);
}

bool pellucid_scan_sarif(pel_ctx *ctx, const pel_scan_target *lines, size_t n, pel_text *out, pel_error *error) {
    sarif_call call = { .lines = lines, .n = n };
    pel_err err;
    if (!pel_attempt(ctx, sarif_body, &call, &err)) {
        pel_give_error(&err, (pel_str){ "", 0 }, error);
        return false;
    }
    pel_str made = pel_buf_str(&call.out);
    *out = (pel_text){ made.ptr, made.len };
    return true;
}
