/* What load_state_dict(strict=True) would say of a model and a checkpoint, and what would make them fit. */
#include "base/json.h"
#include "model/model.h"

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

/* Whether the renames are all that is needed: then the line that makes them loads the file. */
static bool is_enough(const pel_load_verdict *v, const renames *all) {
    uint32_t n[PEL_OTHER_DTYPE + 1] = { 0 }, renamed = 0;
    for (uint32_t i = 0; i < v->found->differences.n; i++) n[v->found->differences.at[i].kind]++;
    for (uint32_t i = 0; i < all->n; i++) renamed += all->at[i].n;
    return !n[PEL_OTHER_SHAPE] && n[PEL_ONLY_A] == renamed && n[PEL_ONLY_B] == renamed && !v->found->apart_a &&
           !v->found->apart_b;
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
static void put_load_line(const pel_load_verdict *v, const renames *all, pel_buf *out) {
    bool is_safe = pel_str_ends(v->file, PEL_STR(".safetensors"));
    pel_str prefix = v->is_swapped ? v->found->prefix_a : v->found->prefix_b;
    pel_str added = v->is_swapped ? v->found->prefix_b : v->found->prefix_a;
    pel_put_c(out, "load: state = ");
    pel_put_c(out, is_safe ? "safetensors.torch.load_file(\"" : "torch.load(\"");
    pel_put_visible(out, v->file);
    pel_put_c(out, is_safe ? "\"); " : "\", weights_only=True); ");
    pel_put_c(out, "model.load_state_dict(");
    if (!prefix.len && !added.len && !all->n) {
        pel_put_c(out, "state)\n");
        return;
    }
    pel_put_c(out, "{");
    if (added.len) pel_put_c(out, "\""), pel_put_visible(out, added), pel_put_c(out, "\" + ");
    pel_put_c(out, "k");
    if (prefix.len) pel_put_c(out, ".removeprefix(\""), pel_put_visible(out, prefix), pel_put_c(out, "\")");
    for (uint32_t i = 0; i < all->n; i++) {
        pel_put_c(out, ".replace(\"");
        pel_put_visible(out, all->at[i].file);
        pel_put_c(out, ".\", \"");
        pel_put_visible(out, all->at[i].model);
        pel_put_c(out, ".\")");
    }
    pel_put_c(out, ": v for k, v in state.items()})\n");
}

void pel_load_verdict_text(pel_ctx *ctx, const pel_load_verdict *v, pel_buf *out) {
    renames all = { 0 };
    find_renames(ctx, v, &all);
    if (any_other(v)) {
        pel_put_c(out, "load_state_dict(strict=True) would raise:\n");
        put_keys(v, v->is_swapped ? PEL_ONLY_B : PEL_ONLY_A, "\tMissing", out);
        put_keys(v, v->is_swapped ? PEL_ONLY_A : PEL_ONLY_B, "\tUnexpected", out);
        put_mismatches(v, out);
    } else {
        pel_put_c(out, "load_state_dict(strict=True) would take it\n");
    }
    for (uint32_t i = 0; i < all.n; i++) {
        pel_put_c(out, "hint: '");
        pel_put_visible(out, all.at[i].file);
        pel_put_c(out, "' in the checkpoint may be '");
        pel_put_visible(out, all.at[i].model);
        pel_putf(out, "' in the model: %u tensors of equal shape\n", all.at[i].n);
    }
    put_ties(v, out);
    if (is_enough(v, &all) && is_one_file(v->file)) put_load_line(v, &all, out);
}
