/* The tensors of both sides, and the layers that they belong to. */
#include "model/align_inside.h"

#include <stdlib.h>

typedef struct collecting {
    align_run *run;
    int which;
    const pel_network *network;
} collecting;

static bool is_whole_number(pel_str dtype) {
    return pel_str_starts(dtype, PEL_STR("int")) || pel_str_starts(dtype, PEL_STR("uint")) || pel_str_is(dtype, "bool");
}

static void collect(void *arg, const pel_module *module, pel_str path) {
    collecting *c = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        if (tensor->role == PEL_VOLATILE_BUFFER) continue;
        pel_align_tensor row = { .name = pel_tensor_name(c->run->ctx, c->network, path, tensor),
                                 .tensor = tensor,
                                 .is_whole_number = is_whole_number(tensor->dtype) };
        if (!pel_shape_count(&tensor->shape, &row.count)) row.count = 0;
        pel_push(c->run->ctx, &c->run->out->tensors[c->which], row);
    }
}

/* ---- order ---- */

static int natural(pel_str a, pel_str b) {
    size_t i = 0, k = 0;
    while (i < a.len && k < b.len) {
        bool both = a.ptr[i] >= '0' && a.ptr[i] <= '9' && b.ptr[k] >= '0' && b.ptr[k] <= '9';
        if (!both && a.ptr[i] != b.ptr[k]) return (unsigned char)a.ptr[i] < (unsigned char)b.ptr[k] ? -1 : 1;
        size_t from = i, start = k;
        i++, k++;
        if (!both) continue;
        while (i < a.len && a.ptr[i] >= '0' && a.ptr[i] <= '9') i++;
        while (k < b.len && b.ptr[k] >= '0' && b.ptr[k] <= '9') k++;
        int order = pel_align_by_numbers(pel_str_cut(a, from, i), pel_str_cut(b, start, k));
        if (order) return order;
    }
    return (i < a.len) - (k < b.len);
}

static int by_name(const void *a, const void *b) {
    return natural(((const pel_align_tensor *)a)->name, ((const pel_align_tensor *)b)->name);
}

/* A file that lists its names by the alphabet has block 10 before block 2. */
static void sort_naturally(pel_alignment *out, int which) {
    bool is_sorted = true;
    for (uint32_t i = 1; i < out->tensors[which].n; i++)
        is_sorted &= pel_str_cmp(out->tensors[which].at[i - 1].name, out->tensors[which].at[i].name) <= 0;
    if (is_sorted && out->tensors[which].n)
        qsort(out->tensors[which].at, out->tensors[which].n, sizeof(pel_align_tensor), by_name);
}

/* ---- units ---- */

static void fill_tensor(const pel_align_tensor *row, align_tensor *own) {
    const pel_shape *shape = &row->tensor->shape;
    own->has_shape = row->count > 0 && shape->n <= PEL_ALIGN_DIMS;
    for (uint32_t d = 0; own->has_shape && d < shape->n; d++)
        if (shape->dims[d].size != 1) own->dims[own->n++] = shape->dims[d].size;
}

#define NEAR 8 /* tensors of one layer lie together */

static bool has_name(const align_run *run, int which, uint32_t at, pel_str path, const char *last) {
    uint32_t from = at < NEAR ? 0 : at - NEAR;
    for (uint32_t i = from; i < run->out->tensors[which].n && i <= at + NEAR; i++) {
        pel_str name = run->out->tensors[which].at[i].name;
        if (name.len == path.len + 1 + strlen(last) && pel_str_starts(name, path) &&
            pel_str_ends(name, pel_str_of(last)))
            return true;
    }
    return false;
}

/* The layer of a tensor: "fc.weight" and "fc.bias" are one, "in_proj_weight" is of "in_proj", what has a name of its
 * own is a layer alone. */
static pel_str unit_path(const align_run *run, int which, uint32_t at, align_kind *kind) {
    pel_str name = run->out->tensors[which].at[at].name;
    size_t start = name.len;
    while (start && name.ptr[start - 1] != '.' && name.ptr[start - 1] != '/') start--;
    pel_str last = pel_str_from(name, start), path = pel_str_cut(name, 0, start ? start - 1 : 0);
    bool is_gamma = pel_str_is(last, "gamma") || pel_str_is(last, "beta");
    bool has_beta = is_gamma && has_name(run, which, at, path, "gamma") && has_name(run, which, at, path, "beta");
    *kind = pel_align_kind(last, has_beta);
    if (*kind != ALIGN_OTHER) return path;
    static const char *const ends[] = { [ALIGN_WEIGHT] = "_weight", [ALIGN_BIAS] = "_bias" };
    for (int k = 0; k < 2; k++) {
        if (last.len <= strlen(ends[k]) || !pel_str_ends(last, pel_str_of(ends[k]))) continue;
        *kind = (align_kind)k;
        return pel_str_cut(name, 0, name.len - strlen(ends[k]));
    }
    return name;
}

static void add_sizes(align_unit *unit, const pel_align_tensor *row, const align_tensor *own) {
    if (row->is_whole_number || own->kind == ALIGN_COUNT || own->is_tied) return;
    int at = own->kind == ALIGN_BIAS       ? 2
             : own->kind == ALIGN_MEAN     ? 3
             : own->kind == ALIGN_VARIANCE ? 4
             : own->n > 1                  ? 0
                                           : 1;
    unit->sums[at] += row->count;
    unit->total += row->count;
    if (own->n > 1) unit->is_flat = false;
}

static int by_text(const void *a, const void *b) { return pel_str_cmp(*(const pel_str *)a, *(const pel_str *)b); }

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Kinds and sizes of a layer's tensors as a name. A table of positions is an embedding's weight in one library and a
 * parameter in the next, so a tensor alone has no kind but for a bias. */
static pel_name signature_of(align_run *run, const align_side *side, const align_unit *unit, bool is_turned) {
    pel_str *lines = pel_new_array(run->ctx, unit->n + 1, pel_str);
    uint32_t n = 0;
    for (uint32_t i = unit->first; i < unit->first + unit->n; i++) {
        const align_tensor *own = &side->tensors.at[i];
        if (own->kind == ALIGN_COUNT) continue;
        int64_t dims[PEL_ALIGN_DIMS];
        memcpy(dims, own->dims, sizeof dims);
        if (is_turned) qsort(dims, own->n, sizeof *dims, by_size);
        pel_buf line = pel_buf_in(run->ctx);
        pel_putf(&line, "%d", unit->n == 1 && own->kind != ALIGN_BIAS ? ALIGN_WEIGHT : own->kind);
        for (uint32_t d = 0; d < own->n; d++) pel_putf(&line, " %lld", (long long)dims[d]);
        if (!own->has_shape) pel_putf(&line, "? %u", i); /* like no other */
        pel_put_byte(&line, ';');
        lines[n++] = pel_buf_str(&line);
    }
    qsort(lines, n, sizeof *lines, by_text);
    pel_buf all = pel_buf_in(run->ctx);
    for (uint32_t i = 0; i < n; i++) pel_put(&all, lines[i]);
    return pel_intern_str(run->ctx, pel_buf_str(&all));
}

static pel_str block_of(pel_str path) {
    size_t end = 0;
    while (end < path.len && !(path.ptr[end] >= '0' && path.ptr[end] <= '9')) end++;
    while (end < path.len && path.ptr[end] != '.' && path.ptr[end] != '/') end++;
    /* the layer's own name is no block: "conv1" */
    return end == path.len ? (pel_str){ "", 0 } : pel_str_cut(path, 0, end);
}

/* Tensors of one layer come one after the other. Signatures need all of them, so they are made at the end. */
static void make_units(align_run *run, int which) {
    align_side *side = &run->sides[which];
    for (uint32_t i = 0; i < run->out->tensors[which].n; i++) {
        const pel_align_tensor *row = &run->out->tensors[which].at[i];
        align_tensor own = { 0 };
        fill_tensor(row, &own);
        own.is_tied = row->tensor->tied_to.len > 0;
        pel_str path = unit_path(run, which, i, &own.kind);
        bool is_new = !side->units.n || !pel_str_eq(side->units.at[side->units.n - 1].path, path);
        if (is_new) {
            align_unit unit = { .path = path, .first = i, .is_flat = true };
            unit.role = pel_align_role(path, &unit.holder);
            unit.block = block_of(path);
            unit.shape = pel_align_shape_of(run->ctx, path, &unit.scope);
            pel_push(run->ctx, &side->units, unit);
        }
        align_unit *unit = &side->units.at[side->units.n - 1];
        own.unit = side->units.n - 1;
        unit->is_parameter = is_new && own.kind == ALIGN_OTHER;
        unit->n++;
        add_sizes(unit, row, &own);
        pel_push(run->ctx, &side->tensors, own);
    }
    for (uint32_t u = 0; u < side->units.n; u++) {
        align_unit *unit = &side->units.at[u];
        unit->signature = signature_of(run, side, unit, false);
        unit->turned = signature_of(run, side, unit, true);
    }
}

void pel_align_collect(align_run *run, int which, const pel_network *network) {
    collecting c = { run, which, network };
    run->sides[which].network = network;
    pel_each_module(run->ctx, network, collect, &c);
    sort_naturally(run->out, which);
    make_units(run, which);
    for (uint32_t i = 0; i < network->unknown.n && network->format.len; i++)
        run->out->lost[which] += network->unknown.at[i].is_lost && !network->unknown.at[i].in_parts;
}

/* ---- shapes ---- */

bool pel_align_same_dims(const align_tensor *a, const align_tensor *b) {
    if (!a->has_shape || !b->has_shape || a->n != b->n) return false;
    for (uint32_t d = 0; d < a->n; d++)
        if (a->dims[d] != b->dims[d]) return false;
    return true;
}

/* Orders that libraries keep kernels in: of a linear layer turned, of convolutions with their channels last. */
int pel_align_order_of(const pel_align_tensor *a, const pel_align_tensor *b, uint8_t *order) {
    static const struct {
        uint8_t n, order[5];
    } rows[] = {
        { 2, { 1, 0 } },       { 3, { 2, 1, 0 } },    { 4, { 3, 2, 0, 1 } },
        { 4, { 2, 3, 1, 0 } }, { 4, { 2, 3, 0, 1 } }, { 5, { 4, 3, 0, 1, 2 } },
    };
    const pel_shape *x = &a->tensor->shape, *y = &b->tensor->shape;
    for (size_t i = 0; i < PEL_COUNT(rows) && a->count; i++) {
        bool fits = x->n == rows[i].n && y->n == x->n;
        for (uint32_t d = 0; fits && d < x->n; d++) fits = x->dims[rows[i].order[d]].size == y->dims[d].size;
        if (!fits) continue;
        memcpy(order, rows[i].order, rows[i].n);
        return rows[i].n;
    }
    return -1;
}
