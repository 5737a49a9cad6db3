/* Runs with different decisions -> one tree. What only some runs have is marked with the decision that tells them
 * apart. */
#include "interp/scan.h"

typedef struct joiner {
    pel_ctx *ctx;
    const pel_scan_run *runs;
    uint32_t n;
} joiner;

/* 1, 0, or -1 if the run was not asked. */
static int decision(const pel_scan_run *run, pel_str what) {
    for (uint32_t i = 0; i < run->n; i++)
        if (pel_str_eq(run->asked[i].what, what)) return run->decided[i];
    return -1;
}

/* The condition that holds in exactly the runs of the set. */
static pel_str condition_of(joiner *j, uint64_t in) {
    for (uint32_t r = 0; r < j->n; r++)
        for (uint32_t i = 0; i < j->runs[r].n; i++) {
            pel_str what = j->runs[r].asked[i].what;
            bool when_true = true, when_false = true;
            for (uint32_t k = 0; k < j->n; k++) {
                if (!j->runs[k].root) continue;
                bool there = in >> k & 1;
                int decided = decision(&j->runs[k], what);
                when_true &= there == (decided == 1);
                when_false &= there == (decided == 0);
            }
            if (when_true) return what;
            if (when_false) return pel_format(j->ctx, "not (%.*s)", PEL_FMT(what));
        }
    /* no single one: all that the first of the runs decided */
    for (uint32_t r = 0; r < j->n; r++) {
        if (!(in >> r & 1)) continue;
        pel_str text = { "", 0 };
        for (uint32_t i = 0; i < j->runs[r].n; i++) {
            pel_str what = j->runs[r].asked[i].what;
            pel_str one = j->runs[r].decided[i] ? what : pel_format(j->ctx, "not (%.*s)", PEL_FMT(what));
            text = text.len ? pel_format(j->ctx, "%.*s and %.*s", PEL_FMT(text), PEL_FMT(one)) : one;
        }
        return text;
    }
    return (pel_str){ "", 0 };
}

static pel_module *child_like(const pel_module *parent, const pel_module *wanted) {
    for (uint32_t i = 0; i < parent->children.n; i++)
        if (pel_str_eq(parent->children.at[i]->name, wanted->name) &&
            pel_str_eq(parent->children.at[i]->class, wanted->class))
            return parent->children.at[i];
    return NULL;
}

static bool same_shapes(const pel_module *a, const pel_module *b) {
    if (a->tensors.n != b->tensors.n) return false;
    for (uint32_t i = 0; i < a->tensors.n; i++) {
        const pel_shape *x = &a->tensors.at[i].shape, *y = &b->tensors.at[i].shape;
        if (!pel_str_eq(a->tensors.at[i].name, b->tensors.at[i].name) || x->n != y->n) return false;
        for (uint32_t k = 0; k < x->n; k++)
            if (x->dims[k].size != y->dims[k].size || !pel_str_eq(x->dims[k].symbol, y->dims[k].symbol)) return false;
    }
    return true;
}

/* nodes[r]: the module in run r, or NULL. The first that is there becomes the result. */
static pel_module *join(joiner *j, pel_module **nodes, uint64_t parents, uint32_t depth) {
    if (depth > 100) pel_throw(j->ctx, PEL_E_TOO_DEEP, 0, "modules nest too deep");
    pel_module *result = NULL;
    uint64_t in = 0;
    for (uint32_t r = 0; r < j->n; r++)
        if (nodes[r]) {
            in |= (uint64_t)1 << r;
            if (!result) result = nodes[r];
        }
    if (in != parents) result->condition = condition_of(j, in);
    PEL_VEC(pel_module *) children = { 0 };
    pel_module **row = pel_new_array(j->ctx, j->n, pel_module *);
    for (uint32_t r = 0; r < j->n; r++) {
        for (uint32_t c = 0; nodes[r] && c < nodes[r]->children.n; c++) {
            pel_module *child = nodes[r]->children.at[c];
            bool done = false;
            for (uint32_t before = 0; before < r && !done; before++) {
                pel_module *twin = nodes[before] ? child_like(nodes[before], child) : NULL;
                done = twin && same_shapes(twin, child);
            }
            if (done) continue;
            for (uint32_t k = 0; k < j->n; k++) {
                row[k] = k < r || !nodes[k] ? NULL : child_like(nodes[k], child);
                if (row[k] && !same_shapes(row[k], child)) row[k] = NULL;
            }
            pel_push(j->ctx, &children, join(j, row, in, depth + 1));
        }
    }
    result->children.n = 0;
    for (uint32_t i = 0; i < children.n; i++) pel_push(j->ctx, &result->children, children.at[i]);
    return result;
}

pel_module *pel_join_runs(pel_ctx *ctx, const pel_scan_run *runs, uint32_t n) {
    joiner j = { ctx, runs, n };
    pel_module **roots = pel_new_array(ctx, n, pel_module *);
    uint64_t all = 0;
    for (uint32_t r = 0; r < n; r++) {
        roots[r] = runs[r].root;
        if (roots[r]) all |= (uint64_t)1 << r;
    }
    if (!all) return NULL;
    return n == 1 ? roots[0] : join(&j, roots, all, 0);
}
