/* What load_state_dict(strict=True) would say of a model and a checkpoint, and what would make them fit. */
#include "base/json.h"
#include "model/align.h"
#include "model/model.h"

#include <stdlib.h>

#define MAX_KEYS 500    /* of each side, that renames are looked for among */
#define MAX_RENAMES 8   /* that are shown */
#define MAX_SEGMENTS 32 /* of a name */

/* ---- renames: keys of equal shape whose names differ in one part ---- */

typedef struct rename_row {
    pel_str model, file; /* the part of the name */
    uint32_t n;
} rename_row;
typedef PEL_VEC(rename_row) renames;

static uint32_t split(pel_str name, pel_str *parts) {
    uint32_t n = 0;
    for (size_t start = 0; n < MAX_SEGMENTS;) {
        const char *dot = memchr(name.ptr + start, '.', name.len - start);
        size_t end = dot ? (size_t)(dot - name.ptr) : name.len;
        parts[n++] = pel_str_cut(name, start, end);
        if (!dot) break;
        start = end + 1;
    }
    return n;
}

static bool same_sizes(const pel_model_tensor *a, const pel_model_tensor *b) {
    if (!a->shape.is_known || !b->shape.is_known || a->shape.n != b->shape.n) return false;
    for (uint32_t i = 0; i < a->shape.n; i++) {
        if (a->shape.dims[i].symbol.len || b->shape.dims[i].symbol.len) return false;
        if (a->shape.dims[i].size != b->shape.dims[i].size) return false;
    }
    return true;
}

/* The index of the only part that differs; UINT32_MAX: none, or several. */
static uint32_t only_other(const pel_str *a, const pel_str *b, uint32_t n) {
    uint32_t at = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (pel_str_eq(a[i], b[i])) continue;
        if (at != UINT32_MAX) return UINT32_MAX;
        at = i;
    }
    return at;
}

static void count_rename(pel_ctx *ctx, renames *all, pel_str model, pel_str file) {
    uint32_t i = 0;
    while (i < all->n && !(pel_str_eq(all->at[i].model, model) && pel_str_eq(all->at[i].file, file))) i++;
    if (i == all->n) pel_push(ctx, all, ((rename_row){ model, file, 0 }));
    all->at[i].n++;
}

static bool is_number(pel_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
    return true;
}

static void look_for_rename(pel_ctx *ctx, const pel_load_verdict *v, const pel_difference *missing, renames *all) {
    pel_str a[MAX_SEGMENTS], b[MAX_SEGMENTS];
    uint32_t n = split(missing->name, a), tried = 0;
    const pel_model_tensor *wanted = v->is_swapped ? missing->b : missing->a;
    for (uint32_t i = 0; i < v->found->differences.n && tried < MAX_KEYS; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        if (row->kind != (v->is_swapped ? PEL_ONLY_A : PEL_ONLY_B)) continue;
        tried++;
        const pel_model_tensor *given = v->is_swapped ? row->a : row->b;
        if (!same_sizes(wanted, given) || split(row->name, b) != n) continue;
        uint32_t at = only_other(a, b, n);
        if (at != UINT32_MAX && !is_number(a[at]) && !is_number(b[at])) count_rename(ctx, all, a[at], b[at]);
    }
}

static void find_renames(pel_ctx *ctx, const pel_load_verdict *v, renames *all) {
    uint32_t tried = 0;
    for (uint32_t i = 0; i < v->found->differences.n && tried < MAX_KEYS; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        if (row->kind != (v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A)) continue;
        tried++;
        look_for_rename(ctx, v, row, all);
    }
    for (uint32_t i = 1; i < all->n; i++)
        for (uint32_t k = i; k && all->at[k].n > all->at[k - 1].n; k--) {
            rename_row other = all->at[k];
            all->at[k] = all->at[k - 1];
            all->at[k - 1] = other;
        }
    if (all->n > MAX_RENAMES) all->n = MAX_RENAMES;
}

/* ---- torch's words ---- */

static void put_size(pel_buf *out, const pel_shape *shape) {
    pel_put_c(out, "torch.Size([");
    for (uint32_t i = 0; i < shape->n; i++) {
        if (i) pel_put_c(out, ", ");
        if (shape->dims[i].symbol.len)
            pel_put_visible(out, shape->dims[i].symbol);
        else
            pel_put_int(out, shape->dims[i].size);
    }
    pel_put_c(out, "])");
}

static void put_keys(const pel_load_verdict *v, pel_difference_kind kind, const char *title, pel_buf *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->found->differences.n; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        if (row->kind != kind) continue;
        pel_put_c(out, n++ ? ", \"" : title);
        if (n == 1) pel_put_c(out, " key(s) in state_dict: \"");
        pel_put_visible(out, row->name);
        pel_put_byte(out, '"');
    }
    if (n) pel_put_c(out, ".\n");
}

static void put_mismatches(const pel_load_verdict *v, pel_buf *out) {
    for (uint32_t i = 0; i < v->found->differences.n; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        if (row->kind != PEL_OTHER_SHAPE) continue;
        pel_put_c(out, "\tsize mismatch for ");
        pel_put_visible(out, row->name);
        pel_put_c(out, ": copying a param with shape ");
        put_size(out, v->is_swapped ? &row->a->shape : &row->b->shape);
        pel_put_c(out, " from checkpoint, the shape in current model is ");
        put_size(out, v->is_swapped ? &row->b->shape : &row->a->shape);
        pel_put_c(out, ".\n");
    }
}

static bool any_other(const pel_load_verdict *v) {
    for (uint32_t i = 0; i < v->found->differences.n; i++)
        if (v->found->differences.at[i].kind != PEL_OTHER_DTYPE) return true;
    return false;
}

static bool is_unsure(const pel_load_verdict *v) { return v->found->open || v->found->lost_a || v->found->lost_b; }

/* The keys are all there, but for a prefix that one side has. */
static bool is_apart(const pel_load_verdict *v) {
    return v->found->prefix_a.len || v->found->prefix_b.len || v->found->apart_a || v->found->apart_b;
}

/* ---- what helps ---- */

/* A key that is missing because its tensor is in the file under another name. */
static void put_ties(const pel_load_verdict *v, pel_buf *out) {
    for (uint32_t i = 0; i < v->found->differences.n; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        if (row->kind != (v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A)) continue;
        const pel_model_tensor *tensor = v->is_swapped ? row->b : row->a;
        if (!tensor->tied_to.len) continue;
        pel_put_c(out, "hint: ");
        pel_put_visible(out, row->name);
        pel_put_c(out, " is tied to ");
        pel_put_visible(out, tensor->tied_to);
        pel_put_c(out, ": with strict=False it gets that one's values\n");
    }
}

typedef struct key_list {
    pel_ctx *ctx;
    const pel_network *network;
    PEL_VEC(pel_str) at;
} key_list;

static void collect_keys(void *arg, const pel_module *module, pel_str path) {
    key_list *keys = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++)
        if (module->tensors.at[i].role != PEL_VOLATILE_BUFFER)
            pel_push(keys->ctx, &keys->at, pel_tensor_name(keys->ctx, keys->network, path, &module->tensors.at[i]));
}

static int by_text(const void *a, const void *b) { return pel_str_cmp(*(const pel_str *)a, *(const pel_str *)b); }

static key_list keys_of(pel_ctx *ctx, const pel_network *network) {
    key_list keys = { .ctx = ctx, .network = network };
    pel_each_module(ctx, network, collect_keys, &keys);
    return keys;
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* What `key.replace(old, new)` gives in Python; whole: `re.sub(r"\bold", new, key)`. */
static pel_str replaced(pel_ctx *ctx, pel_str key, pel_str old, pel_str new, bool whole) {
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < key.len;) {
        bool is_inside = whole && i && is_word(key.ptr[i - 1]);
        if (!is_inside && pel_str_starts(pel_str_from(key, i), old))
            pel_put(&out, new), i += old.len;
        else
            pel_put_byte(&out, key.ptr[i++]);
    }
    return pel_buf_str(&out);
}

/* Whether the line that makes the renames loads the file: it is tried on all keys, since a part that is renamed here
 * may be part of another name that must stay. */
static bool fits_renamed(pel_ctx *ctx, const pel_load_verdict *v, const renames *all, bool whole) {
    pel_str prefix = v->is_swapped ? v->found->prefix_a : v->found->prefix_b;
    pel_str added = v->is_swapped ? v->found->prefix_b : v->found->prefix_a;
    for (uint32_t i = 0; i < v->found->differences.n; i++)
        if (v->found->differences.at[i].kind == PEL_OTHER_SHAPE) return false;
    if (v->found->open || v->found->lost_a || v->found->lost_b) return false;
    key_list wanted = keys_of(ctx, v->model), given = keys_of(ctx, v->checkpoint);
    if (wanted.at.n != given.at.n || !given.at.n) return false;
    for (uint32_t i = 0; i < given.at.n; i++) {
        pel_str key = given.at.at[i];
        if (pel_str_starts(key, prefix)) key = pel_str_from(key, prefix.len);
        for (uint32_t k = 0; k < all->n; k++)
            key = replaced(ctx, key, pel_format(ctx, "%.*s.", PEL_FMT(all->at[k].file)),
                           pel_format(ctx, "%.*s.", PEL_FMT(all->at[k].model)), whole);
        given.at.at[i] = pel_format(ctx, "%.*s%.*s", PEL_FMT(added), PEL_FMT(key));
    }
    qsort(wanted.at.at, wanted.at.n, sizeof(pel_str), by_text);
    qsort(given.at.at, given.at.n, sizeof(pel_str), by_text);
    for (uint32_t i = 0; i < wanted.at.n; i++)
        if (!pel_str_eq(wanted.at.at[i], given.at.at[i])) return false;
    return true;
}

typedef enum load_way { NO_WAY, BY_REPLACE, BY_PATTERN } load_way;

/* Of `replace` and a pattern that takes whole words the simpler one that loads the file. */
static load_way way_to_load(pel_ctx *ctx, const pel_load_verdict *v, const renames *all) {
    if (fits_renamed(ctx, v, all, false)) return BY_REPLACE;
    bool is_plain = all->n > 0;
    for (uint32_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->at[i].file.len; k++) is_plain &= is_word(all->at[i].file.ptr[k]);
    return is_plain && fits_renamed(ctx, v, all, true) ? BY_PATTERN : NO_WAY;
}

/* What align makes of names that no rename explains. Asked only where both sides have keys that the other lacks: then
 * they may be two implementations of one model. False: it finds no more than the names that are equal. */
static bool find_sources(pel_ctx *ctx, const pel_load_verdict *v, pel_align_counts *counts) {
    uint32_t n[2] = { 0 };
    for (uint32_t i = 0; i < v->found->differences.n; i++) {
        n[0] += v->found->differences.at[i].kind == PEL_ONLY_A;
        n[1] += v->found->differences.at[i].kind == PEL_ONLY_B;
    }
    if (!n[0] || !n[1]) return false;
    pel_alignment found = { 0 };
    pel_network_align(ctx, v->checkpoint, v->model, NULL, NULL, &found);
    *counts = pel_alignment_count(&found);
    return counts->rows > v->found->equal;
}

/* A file that one call of Python opens as a dict of tensors. */
static bool is_one_file(pel_str file) {
    static const char *const endings[] = { ".safetensors", ".pt", ".pth", ".bin", ".ckpt" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++)
        if (pel_str_ends(file, pel_str_of(endings[i]))) return true;
    return false;
}

/* The order of the parts matters: renames were found between names without prefixes, so the prefix goes first and the
 * one that the model wants is added last. Callers ask for the line only if it makes all names fit. */
static void put_load_line(const pel_load_verdict *v, const renames *all, load_way way, pel_buf *out) {
    bool is_safe = pel_str_ends(v->file, PEL_STR(".safetensors"));
    pel_str prefix = v->is_swapped ? v->found->prefix_a : v->found->prefix_b;
    pel_str added = v->is_swapped ? v->found->prefix_b : v->found->prefix_a;
    pel_put_c(out, "state = ");
    pel_put_c(out, is_safe ? "safetensors.torch.load_file(\"" : "torch.load(\"");
    pel_put_visible(out, v->file);
    pel_put_c(out, is_safe ? "\"); " : "\", weights_only=True); ");
    pel_put_c(out, "model.load_state_dict(");
    if (!prefix.len && !added.len && !all->n) {
        pel_put_c(out, "state)");
        return;
    }
    pel_put_c(out, "{");
    if (added.len) pel_put_c(out, "\""), pel_put_visible(out, added), pel_put_c(out, "\" + ");
    for (uint32_t i = all->n; i-- > 0 && way == BY_PATTERN;) {
        pel_put_c(out, "re.sub(r\"\\b");
        pel_put_visible(out, all->at[i].file);
        pel_put_c(out, "\\.\", \"");
        pel_put_visible(out, all->at[i].model);
        pel_put_c(out, ".\", ");
    }
    pel_put_c(out, "k");
    if (prefix.len) pel_put_c(out, ".removeprefix(\""), pel_put_visible(out, prefix), pel_put_c(out, "\")");
    for (uint32_t i = 0; i < all->n && way == BY_PATTERN; i++) pel_put_byte(out, ')');
    for (uint32_t i = 0; i < all->n && way == BY_REPLACE; i++) {
        pel_put_c(out, ".replace(\"");
        pel_put_visible(out, all->at[i].file);
        pel_put_c(out, ".\", \"");
        pel_put_visible(out, all->at[i].model);
        pel_put_c(out, ".\")");
    }
    pel_put_c(out, ": v for k, v in state.items()})");
}

static void put_answer(const pel_load_verdict *v, pel_buf *out) {
    const char *rest = is_apart(v)    ? "raise: one side has a prefix before its names\n"
                       : is_unsure(v) ? "take it if what is not known of them fits\n"
                                      : "take it\n";
    pel_put_c(out, "load_state_dict(strict=True) would ");
    pel_put_c(out, any_other(v) ? "raise:\n" : rest);
    if (!any_other(v)) return;
    put_keys(v, v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A, "\tMissing", out);
    put_keys(v, v->is_swapped ? PEL_ONLY_A : PEL_ONLY_B, "\tUnexpected", out);
    put_mismatches(v, out);
}

void pel_load_verdict_text(pel_ctx *ctx, const pel_load_verdict *v, pel_buf *out) {
    renames all = { 0 };
    find_renames(ctx, v, &all);
    put_answer(v, out);
    for (uint32_t i = 0; i < all.n; i++) {
        pel_put_c(out, "hint: '");
        pel_put_visible(out, all.at[i].file);
        pel_put_c(out, "' in the checkpoint may be '");
        pel_put_visible(out, all.at[i].model);
        pel_putf(out, "' in the model: %u tensors of equal shape\n", all.at[i].n);
    }
    put_ties(v, out);
    load_way way = is_one_file(v->file) ? way_to_load(ctx, v, &all) : NO_WAY;
    pel_align_counts n;
    if (way == NO_WAY && find_sources(ctx, v, &n)) {
        pel_putf(out, "hint: pellucid align finds the source of %u of the model's tensors", n.rows);
        if (n.open) pel_putf(out, ", %u are ambiguous", n.open);
        pel_put_c(out, ", and writes the function that converts\n");
    }
    if (way == NO_WAY) return;
    pel_put_c(out, "load: ");
    put_load_line(v, &all, way, out);
    pel_put_byte(out, '\n');
}

/* ---- as JSON ---- */

static void put_json_keys(const pel_load_verdict *v, pel_difference_kind kind, const char *title, pel_json *json) {
    pel_json_key(json, title);
    pel_json_array(json);
    for (uint32_t i = 0; i < v->found->differences.n; i++)
        if (v->found->differences.at[i].kind == kind) pel_json_str(json, v->found->differences.at[i].name);
    pel_json_end_array(json);
}

static void put_json_renames(const renames *all, pel_json *json) {
    pel_json_key(json, "renames");
    pel_json_array(json);
    for (uint32_t i = 0; i < all->n; i++) {
        pel_json_object(json);
        pel_json_key(json, "checkpoint"), pel_json_str(json, all->at[i].file);
        pel_json_key(json, "model"), pel_json_str(json, all->at[i].model);
        pel_json_key(json, "tensors"), pel_json_int(json, all->at[i].n);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
}

static void put_json_ties(const pel_load_verdict *v, pel_json *json) {
    pel_json_key(json, "tied");
    pel_json_object(json);
    for (uint32_t i = 0; i < v->found->differences.n; i++) {
        const pel_difference *row = &v->found->differences.at[i];
        const pel_model_tensor *tensor = v->is_swapped ? row->b : row->a;
        if (row->kind != (v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A) || !tensor->tied_to.len) continue;
        pel_json_key_str(json, row->name), pel_json_str(json, tensor->tied_to);
    }
    pel_json_end_object(json);
}

/* Keys are always there; "load" and "aligned" are null where there is nothing to say. */
void pel_load_verdict_json(pel_ctx *ctx, const pel_load_verdict *v, pel_json *json) {
    renames all = { 0 };
    find_renames(ctx, v, &all);
    pel_json_object(json);
    pel_json_key(json, "strict");
    pel_json_c(json, any_other(v) || is_apart(v) ? "raises" : is_unsure(v) ? "unknown" : "loads");
    put_json_keys(v, v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A, "missing", json);
    put_json_keys(v, v->is_swapped ? PEL_ONLY_A : PEL_ONLY_B, "unexpected", json);
    put_json_keys(v, PEL_OTHER_SHAPE, "mismatched", json);
    put_json_renames(&all, json);
    put_json_ties(v, json);
    pel_json_key(json, "load");
    load_way way = is_one_file(v->file) ? way_to_load(ctx, v, &all) : NO_WAY;
    if (way != NO_WAY) {
        pel_buf line = pel_buf_in(ctx);
        put_load_line(v, &all, way, &line);
        pel_json_str(json, pel_buf_str(&line));
    } else {
        pel_json_null(json);
    }
    pel_align_counts n;
    pel_json_key(json, "aligned");
    if (way == NO_WAY && find_sources(ctx, v, &n))
        pel_json_int(json, n.rows);
    else
        pel_json_null(json);
    pel_json_end_object(json);
}
