/* Arguments that follow from others: padding=kernel_size // 2, a shortcut where stride == 1 and in_chs == out_chs.
 *
 * All values of all instances must agree, so the constructor stays right whatever the author had in mind; what is tried
 * is what constructors usually compute. */
#include "trace/build/unifier.h"

typedef struct deriver {
    pel_unifier *unifier;
    pel_nodes *body;
    const pel_hole *hole; /* the one that is to go */
    pel_node *found;      /* what says the same */
} deriver;

static bool value_in(const pel_hole *hole, uint32_t lane, int64_t *value) {
    return !(hole->open && hole->open[lane]) && pel_positive_int(hole->values[lane], value);
}

static pel_node *name_of(const deriver *d, const pel_hole *hole) {
    return pel_make_name(d->unifier->ctx, hole->name, PEL_Load);
}

/* ---- padding that keeps the size ---- */

static const pel_hole *hole_passed(const deriver *d, const pel_node *call, const char *keyword) {
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *value = call->Call.keywords.at[i]->keyword.value;
        if (value->kind == PEL_Name && pel_name_is(call->Call.keywords.at[i]->keyword.arg, keyword))
            return pel_hole_named(d->unifier, value->Name.id);
    }
    return NULL;
}

/* kernel // 2, times the dilation if there is one */
static bool keeps_size(const deriver *d, const pel_hole *kernel, const pel_hole *dilation) {
    for (uint32_t i = 0; i < d->unifier->n_lanes; i++) {
        if (d->hole->open && d->hole->open[i]) continue;
        int64_t size, times = 1, padding = 0;
        pel_positive_int(d->hole->values[i], &padding);
        if (!padding && !pel_is_number(d->hole->values[i], 0)) return false;
        if (!value_in(kernel, i, &size) || (dilation && !value_in(dilation, i, &times))) return false;
        if (padding != size / 2 * times) return false;
    }
    return true;
}

static void derive_padding(void *arg, pel_node **slot) {
    deriver *d = arg;
    if (d->found) return;
    pel_each_child(*slot, derive_padding, arg);
    if ((*slot)->kind != PEL_Call || hole_passed(d, *slot, "padding") != d->hole) return;
    const pel_hole *kernel = hole_passed(d, *slot, "kernel_size"), *dilation = hole_passed(d, *slot, "dilation");
    pel_ctx *ctx = d->unifier->ctx;
    if (!kernel || kernel == d->hole || dilation == d->hole) return;
    if (keeps_size(d, kernel, NULL))
        d->found = pel_make_binop(ctx, name_of(d, kernel), PEL_FloorDiv, pel_make_int(ctx, 2));
    else if (dilation && keeps_size(d, kernel, dilation))
        d->found = pel_make_binop(ctx, pel_make_binop(ctx, name_of(d, kernel), PEL_FloorDiv, pel_make_int(ctx, 2)),
                                  PEL_Mult, name_of(d, dilation));
}

/* ---- flags ---- */

/* dim, 4 * dim: a size of each instance. */
typedef struct size {
    pel_node *text;
    int64_t *at;
} size;
typedef PEL_VEC(size) size_list;

typedef struct size_search {
    deriver *d;
    size_list found;
} size_search;

static void add_size(size_search *s, pel_node *text, const pel_hole *hole, int64_t times, int64_t by) {
    pel_ctx *ctx = s->d->unifier->ctx;
    for (uint32_t i = 0; i < s->found.n; i++)
        if (pel_same(s->found.at[i].text, text)) return;
    size added = { text, pel_new_array(ctx, s->d->unifier->n_lanes, int64_t) };
    for (uint32_t i = 0; i < s->d->unifier->n_lanes; i++) {
        if (!value_in(hole, i, &added.at[i])) return;
        added.at[i] = added.at[i] * times / by;
    }
    pel_push(ctx, &s->found, added);
}

/* Sizes as they stand in the constructor. */
static void find_sizes(void *arg, pel_node **slot) {
    size_search *s = arg;
    pel_node *node = *slot;
    const pel_hole *hole = NULL;
    int64_t factor;
    if (node->kind == PEL_Name) {
        hole = pel_hole_named(s->d->unifier, node->Name.id);
        if (hole && hole->is_size) add_size(s, node, hole, 1, 1);
        return;
    }
    if (node->kind == PEL_BinOp && node->BinOp.op == PEL_Mult && node->BinOp.right->kind == PEL_Name &&
        pel_positive_int(node->BinOp.left, &factor)) {
        hole = pel_hole_named(s->d->unifier, node->BinOp.right->Name.id);
        if (hole && hole->is_size) add_size(s, node, hole, factor, 1);
    }
    pel_each_child(node, find_sizes, arg);
}

/* A flag that tells several instances from several others; few could agree with anything. */
static bool is_fair_flag(const deriver *d) {
    uint32_t n_true = 0, n = d->unifier->n_lanes;
    for (uint32_t i = 0; i < n; i++) {
        bool is_set = pel_is_truth(d->hole->values[i], true);
        if (d->hole->open || (!is_set && !pel_is_truth(d->hole->values[i], false))) return false;
        n_true += is_set;
    }
    return n_true > 1 && n - n_true > 1;
}

/* Whether the flag is set in the lanes where a is b, and where the stride is 1 if there is one; `opposite`: or in all
 * the others. */
static bool says_the_same(const deriver *d, const size *a, const size *b, const pel_hole *stride, bool opposite) {
    for (uint32_t i = 0; i < d->unifier->n_lanes; i++) {
        int64_t step = 1;
        if (stride && !value_in(stride, i, &step)) return false;
        bool holds = step == 1 && (!a || a->at[i] == b->at[i]);
        if ((holds != opposite) != pel_is_truth(d->hole->values[i], true)) return false;
    }
    return true;
}

static pel_node *condition(const deriver *d, const size *a, const size *b, const pel_hole *stride, bool opposite) {
    pel_ctx *ctx = d->unifier->ctx;
    pel_CMPOP op = opposite ? PEL_NotEq : PEL_Eq;
    pel_node *of_stride = stride ? pel_make_compare(ctx, name_of(d, stride), op, pel_make_int(ctx, 1)) : NULL;
    if (!a) return of_stride;
    pel_node *of_sizes = pel_make_compare(ctx, pel_copy(ctx, a->text), op, pel_copy(ctx, b->text));
    if (!stride) return of_sizes;
    pel_nodes both = pel_nodes_one(ctx, of_stride);
    pel_nodes_push(ctx, &both, of_sizes);
    return pel_make_boolop(ctx, opposite ? PEL_Or : PEL_And, both);
}

static void try_condition(deriver *d, const size *a, const size *b, const pel_hole *stride) {
    for (int opposite = 0; opposite < 2 && !d->found; opposite++)
        if (says_the_same(d, a, b, stride, opposite)) d->found = condition(d, a, b, stride, opposite);
}

static void derive_flag(deriver *d) {
    if (!is_fair_flag(d)) return;
    size_search s = { .d = d };
    for (uint32_t i = 0; i < d->body->n; i++) find_sizes(&s, &d->body->at[i]);
    const pel_hole *stride = pel_hole_named(d->unifier, pel_intern_c(d->unifier->ctx, "stride"));
    for (int with_stride = 0; with_stride < (stride ? 2 : 1);
         with_stride++) /* what goes in, and the last that comes out */
        for (uint32_t b = s.found.n; b-- > 1;)
            try_condition(d, &s.found.at[0], &s.found.at[b], with_stride ? stride : NULL);
    if (stride) try_condition(d, NULL, NULL, stride);
}

/* ---- all of them ---- */

static void derive_size(deriver *d) {
    for (uint32_t h = 0; &d->unifier->holes.at[h] < d->hole && d->hole->is_size && !d->hole->open && !d->found; h++)
        if (d->unifier->holes.at[h].is_size)
            d->found = pel_multiple_of(d->unifier, &d->unifier->holes.at[h],
                                       (pel_column){ d->hole->values, d->unifier->n_lanes });
}

void pel_derive_holes(pel_unifier *unifier, pel_nodes *body) {
    for (uint32_t h = unifier->holes.n; h-- > 0;) {
        deriver d = { unifier, body, &unifier->holes.at[h], NULL };
        for (uint32_t i = 0; i < body->n; i++) derive_padding(&d, &body->at[i]);
        if (!d.found) derive_size(&d);
        if (!d.found) derive_flag(&d);
        if (!d.found) continue;
        for (uint32_t i = 0; i < body->n; i++) pel_replace_name(&body->at[i], d.hole->name, d.found);
        memmove(unifier->holes.at + h, unifier->holes.at + h + 1,
                (unifier->holes.n - h - 1) * sizeof *unifier->holes.at);
        unifier->holes.n--;
    }
}
