/* Many sources in one view: which networks their entry points build, which classes nothing builds, what was not
 * understood. Sources are scanned by processes of their own, so each hands over rows of text: fields with a tab
 * between.
 *
 *   N built|class file line name written parameters exact open reads
 *   U file line what why
 *   C file of a class, its name, the source that builds one                                                          */
#include "show/summary.h"

#include "base/json.h"
#include "base/map.h"
#include "python/print.h"

#define FIELDS 10
#define MAX_SHOWN 6    /* examples of one reason */
#define MAX_WRITTEN 90 /* bytes of a constructor's call */

/* ---- rows of one source ---- */

static void put_field(pel_buf *out, pel_str text) {
    pel_put_byte(out, '\t');
    for (size_t i = 0; i < text.len; i++)
        pel_put_byte(out, text.ptr[i] == '\t' || text.ptr[i] == '\n' || text.ptr[i] == '\r' ? ' ' : text.ptr[i]);
}

static pel_str written(pel_ctx *ctx, const pel_module *root) {
    pel_buf out = pel_buf_in(ctx);
    pel_print_options options = { .one_line = true };
    pel_put(&out, root->class);
    pel_put_byte(&out, '(');
    for (uint32_t i = 0; i < root->args.n; i++) {
        const pel_model_argument *arg = &root->args.at[i];
        if (i) pel_put(&out, PEL_STR(", "));
        if (arg->name.len) pel_putf(&out, "%.*s=", PEL_FMT(arg->name));
        pel_print(ctx, arg->value, &options, &out);
        while (out.len && out.at[out.len - 1] == '\n') out.len--;
    }
    pel_put_byte(&out, ')');
    pel_str all = pel_buf_str(&out);
    if (all.len <= MAX_WRITTEN) return all;
    size_t len = MAX_WRITTEN;
    while (len && ((unsigned char)all.ptr[len] & 0xC0) == 0x80) len--; /* not inside of a character */
    return pel_format(ctx, "%.*s…)", (int)len, all.ptr);
}

static void put_network(pel_ctx *ctx, const pel_network *network, pel_str path, pel_buf *out) {
    pel_totals totals = pel_network_totals(ctx, network);
    const pel_place *origin = &network->root->origin;
    bool is_here = origin->line && !network->is_class;
    pel_put(out, PEL_STR("N"));
    put_field(out, network->is_class ? PEL_STR("class") : PEL_STR("built"));
    put_field(out, path);
    put_field(out, pel_format(ctx, "%u", is_here && pel_str_eq(origin->file, path) ? origin->line : 0));
    put_field(out, network->name);
    put_field(out, written(ctx, network->root));
    put_field(out, pel_format(ctx, "%llu", (unsigned long long)totals.parameters));
    put_field(out, totals.exact ? PEL_STR("1") : PEL_STR("0"));
    put_field(out, pel_format(ctx, "%u", network->n_open));
    pel_buf reads = pel_buf_in(ctx);
    for (uint32_t i = 0; i < network->reads.n; i++)
        pel_putf(&reads, "%s%.*s", i ? ", " : "", PEL_FMT(network->reads.at[i]));
    put_field(out, pel_buf_str(&reads));
    pel_put_byte(out, '\n');
}

static void put_unknown(pel_ctx *ctx, const pel_unknown *row, pel_str path, pel_buf *out) {
    pel_put_byte(out, 'U');
    put_field(out, row->place.line ? row->place.file : path);
    put_field(out, pel_format(ctx, "%u", row->place.line));
    put_field(out, row->what);
    put_field(out, row->why);
    pel_put_byte(out, '\n');
}

static pel_str plain_path(pel_str path) {
    while (pel_str_starts(path, PEL_STR("./"))) path = pel_str_from(path, 2);
    return path;
}

/* Which classes a tree has, each once. The root of a class that is shown for itself is no use of it. */
static void put_uses(pel_ctx *ctx, const pel_module *module, pel_str path, bool is_use, pel_map *seen, pel_buf *out) {
    if (is_use && module->class_file.len) {
        pel_buf line = pel_buf_in(ctx);
        pel_put_byte(&line, 'C');
        put_field(&line, plain_path(module->class_file));
        put_field(&line, module->class);
        put_field(&line, path);
        pel_put_byte(&line, '\n');
        uint64_t key = PEL_KEY(pel_intern_str(ctx, pel_buf_str(&line)));
        if (!pel_map_has(seen, key)) pel_put(out, pel_buf_str(&line));
        pel_map_set(ctx, seen, key, 1);
    }
    for (uint32_t i = 0; i < module->children.n; i++) put_uses(ctx, module->children.at[i], path, true, seen, out);
}

void pel_summary_rows(pel_ctx *ctx, const pel_networks *networks, pel_str path, pel_buf *out) {
    pel_map seen = { 0 };
    for (uint32_t i = 0; i < networks->n; i++) {
        const pel_network *network = networks->at[i];
        if (network->root) put_network(ctx, network, path, out);
        if (network->root) put_uses(ctx, network->root, path, !network->is_class, &seen, out);
        for (uint32_t k = 0; k < network->unknown.n; k++) put_unknown(ctx, &network->unknown.at[k], path, out);
        for (uint32_t k = 0; k < network->errors.n; k++) put_unknown(ctx, &network->errors.at[k], path, out);
    }
}

/* ---- reading them ---- */

typedef struct row {
    pel_str at[FIELDS];
    pel_str built_by; /* of a class: the first source whose networks have one inside; empty: none */
} row;

typedef struct reason {
    pel_str why;
    uint32_t n;
    PEL_VEC(row) examples;
} reason;

typedef struct summary {
    pel_ctx *ctx;
    PEL_VEC(row) built, classes;
    PEL_VEC(reason) reasons;
    uint32_t n_unknown, n_parts;
    pel_map seen, uses; /* lines; file and name of a class -> the source that builds one */
} summary;

static bool is_seen(summary *s, pel_str line) {
    uint64_t key = PEL_KEY(pel_intern_str(s->ctx, line));
    if (pel_map_has(&s->seen, key)) return true;
    pel_map_set(s->ctx, &s->seen, key, 1);
    return false;
}

/* What a reason is called in a list of them: what differs from row to row is left out. */
static pel_str kind_of(const row *r) {
    pel_str why = r->at[4], what = r->at[3];
    if (!pel_str_starts(why, PEL_STR("that line can't be run"))) return why;
    const char *colon = memchr(what.ptr, ':', what.len);
    return colon ? pel_str_cut(what, 0, (size_t)(colon - what.ptr)) : what;
}

static void add_unknown(summary *s, const row *r) {
    pel_str why = kind_of(r);
    uint32_t i = 0;
    while (i < s->reasons.n && !pel_str_eq(s->reasons.at[i].why, why)) i++;
    if (i == s->reasons.n) pel_push(s->ctx, &s->reasons, ((reason){ .why = why }));
    reason *found = &s->reasons.at[i];
    found->n++;
    s->n_unknown++;
    for (uint32_t k = 0; k < found->examples.n; k++)
        if (pel_str_eq(found->examples.at[k].at[3], r->at[3])) return;
    if (found->examples.n < MAX_SHOWN) pel_push(s->ctx, &found->examples, *r);
}

static uint64_t class_key(summary *s, pel_str file, pel_str class) {
    return PEL_KEY(pel_intern_str(s->ctx, pel_format(s->ctx, "%.*s\t%.*s", PEL_FMT(file), PEL_FMT(class))));
}

static void add_use(summary *s, const row *r) {
    uint64_t key = class_key(s, r->at[1], r->at[2]);
    if (pel_map_has(&s->uses, key)) return;
    pel_map_set(s->ctx, &s->uses, key, PEL_KEY(pel_intern_str(s->ctx, r->at[3])));
}

static void add_line(summary *s, pel_str line) {
    row r = { 0 };
    uint32_t n = 0;
    if (is_seen(s, line)) return;
    for (size_t start = 0; n < FIELDS; n++) {
        const char *tab = memchr(line.ptr + start, '\t', line.len - start);
        size_t end = tab ? (size_t)(tab - line.ptr) : line.len;
        r.at[n] = pel_str_cut(line, start, end);
        if (!tab) break;
        start = end + 1;
    }
    if (pel_str_is(r.at[0], "U") && n == 4) add_unknown(s, &r);
    if (pel_str_is(r.at[0], "C") && n == 3) add_use(s, &r);
    if (!pel_str_is(r.at[0], "N") || n != FIELDS - 1) return;
    if (pel_str_is(r.at[1], "built"))
        pel_push(s->ctx, &s->built, r);
    else
        pel_push(s->ctx, &s->classes, r);
}

static void sort_reasons(summary *s) {
    for (uint32_t i = 1; i < s->reasons.n; i++)
        for (uint32_t k = i; k && s->reasons.at[k].n > s->reasons.at[k - 1].n; k--) {
            reason other = s->reasons.at[k];
            s->reasons.at[k] = s->reasons.at[k - 1];
            s->reasons.at[k - 1] = other;
        }
}

/* A class whose file builds none may be built by another file: that is known when all rows are read. */
static void find_builders(summary *s) {
    for (uint32_t i = 0; i < s->classes.n; i++) {
        row *r = &s->classes.at[i];
        uint64_t builder;
        if (!pel_map_get(&s->uses, class_key(s, plain_path(r->at[2]), r->at[4]), &builder)) continue;
        r->built_by = pel_name_str((pel_name)(uintptr_t)builder);
        s->n_parts++;
    }
}

static summary read_rows(pel_ctx *ctx, pel_str rows) {
    summary s = { .ctx = ctx };
    for (size_t start = 0; start < rows.len;) {
        const char *end = memchr(rows.ptr + start, '\n', rows.len - start);
        size_t stop = end ? (size_t)(end - rows.ptr) : rows.len;
        add_line(&s, pel_str_cut(rows, start, stop));
        start = stop + 1;
    }
    sort_reasons(&s);
    find_builders(&s);
    return s;
}

/* ---- as text ---- */

static void put_count(pel_buf *out, pel_str number) {
    for (size_t i = 0; i < number.len; i++) {
        if (i && (number.len - i) % 3 == 0) pel_put_byte(out, ',');
        pel_put_byte(out, number.ptr[i]);
    }
}

static void put_row(const row *r, pel_buf *out) {
    bool is_built = pel_str_is(r->at[1], "built"), is_exact = pel_str_is(r->at[7], "1");
    pel_putf(out, "  %.*s", PEL_FMT(r->at[2]));
    if (!pel_str_is(r->at[3], "0")) pel_putf(out, ":%.*s", PEL_FMT(r->at[3]));
    pel_put(out, PEL_STR("  "));
    if (is_built) pel_putf(out, "%.*s = ", PEL_FMT(r->at[4]));
    pel_putf(out, "%.*s: ", PEL_FMT(r->at[5]));
    if (!is_built && !pel_str_is(r->at[8], "0")) {
        pel_put(out, PEL_STR("size depends on its arguments\n"));
        return;
    }
    if (!is_exact) pel_put(out, PEL_STR("at least "));
    put_count(out, r->at[6]);
    pel_put(out, PEL_STR(" parameters"));
    if (r->at[9].len) pel_putf(out, ", reads %.*s", PEL_FMT(r->at[9]));
    pel_put_byte(out, '\n');
}

static void put_reasons(const summary *s, pel_buf *out) {
    if (!s->n_unknown) return;
    pel_putf(out, "not understood: %u %s\n", s->n_unknown, s->n_unknown == 1 ? "place" : "places");
    for (uint32_t i = 0; i < s->reasons.n; i++) {
        const reason *one = &s->reasons.at[i];
        pel_putf(out, "  %u × %.*s: ", one->n, PEL_FMT(one->why));
        for (uint32_t k = 0; k < one->examples.n; k++) {
            const row *r = &one->examples.at[k];
            size_t len = r->at[3].len > MAX_WRITTEN ? MAX_WRITTEN : r->at[3].len;
            while (len && len < r->at[3].len && ((unsigned char)r->at[3].ptr[len] & 0xC0) == 0x80) len--;
            pel_putf(out, "%s%.*s%s (%.*s:%.*s)", k ? ", " : "", (int)len, r->at[3].ptr, len < r->at[3].len ? "…" : "",
                     PEL_FMT(r->at[1]), PEL_FMT(r->at[2]));
        }
        pel_put(out, one->n > one->examples.n ? PEL_STR(", …\n") : PEL_STR("\n"));
    }
}

static void put_text(const summary *s, pel_buf *out) {
    pel_putf(out, "networks that are built: %u\n", s->built.n);
    for (uint32_t i = 0; i < s->built.n; i++) put_row(&s->built.at[i], out);
    pel_putf(out, "classes that these or other classes contain: %u\n", s->n_parts);
    pel_putf(out, "classes that nothing here builds: %u\n", s->classes.n - s->n_parts);
    for (uint32_t i = 0; i < s->classes.n; i++)
        if (!s->classes.at[i].built_by.len) put_row(&s->classes.at[i], out);
    put_reasons(s, out);
    pel_put_byte(out, '\n');
}

/* ---- as JSON ---- */

static int64_t number_of(pel_str text) {
    int64_t n = 0;
    for (size_t i = 0; i < text.len && n < INT64_MAX / 16; i++) n = n * 10 + (text.ptr[i] - '0');
    return n;
}

static void put_json_row(pel_json *json, const row *r) {
    pel_json_object(json);
    pel_json_key(json, "file"), pel_json_str(json, r->at[2]);
    pel_json_key(json, "line"), pel_json_int(json, number_of(r->at[3]));
    pel_json_key(json, "name"), pel_json_str(json, r->at[4]);
    pel_json_key(json, "call"), pel_json_str(json, r->at[5]);
    pel_json_key(json, "parameters"), pel_json_int(json, number_of(r->at[6]));
    pel_json_key(json, "exact"), pel_json_bool(json, pel_str_is(r->at[7], "1"));
    pel_json_key(json, "open_arguments"), pel_json_int(json, number_of(r->at[8]));
    pel_json_key(json, "reads"), pel_json_str(json, r->at[9]);
    if (r->built_by.len) pel_json_key(json, "built_by"), pel_json_str(json, r->built_by);
    pel_json_end_object(json);
}

static void put_json_reason(pel_json *json, const reason *one) {
    pel_json_object(json);
    pel_json_key(json, "reason"), pel_json_str(json, one->why);
    pel_json_key(json, "count"), pel_json_int(json, one->n);
    pel_json_key(json, "examples"), pel_json_array(json);
    for (uint32_t k = 0; k < one->examples.n; k++) {
        const row *r = &one->examples.at[k];
        pel_json_object(json);
        pel_json_key(json, "what"), pel_json_str(json, r->at[3]);
        pel_json_key(json, "file"), pel_json_str(json, r->at[1]);
        pel_json_key(json, "line"), pel_json_int(json, number_of(r->at[2]));
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_end_object(json);
}

static void put_json(const summary *s, pel_buf *out) {
    pel_json json = pel_json_to(out);
    pel_json_object(&json);
    pel_json_key(&json, "summary"), pel_json_object(&json);
    pel_json_key(&json, "built"), pel_json_array(&json);
    for (uint32_t i = 0; i < s->built.n; i++) put_json_row(&json, &s->built.at[i]);
    pel_json_end_array(&json);
    pel_json_key(&json, "classes"), pel_json_array(&json);
    for (uint32_t i = 0; i < s->classes.n; i++) put_json_row(&json, &s->classes.at[i]);
    pel_json_end_array(&json);
    pel_json_key(&json, "unknown"), pel_json_array(&json);
    for (uint32_t i = 0; i < s->reasons.n; i++) put_json_reason(&json, &s->reasons.at[i]);
    pel_json_end_array(&json);
    pel_json_end_object(&json);
    pel_json_key(&json, "networks"), pel_json_array(&json), pel_json_end_array(&json);
    pel_json_end_object(&json);
    pel_put_byte(out, '\n');
}

void pel_show_summary(pel_ctx *ctx, pel_str rows, bool as_json, pel_buf *out) {
    summary s = read_rows(ctx, rows);
    if (as_json)
        put_json(&s, out);
    else
        put_text(&s, out);
}
