/* Ends of the function that the compiler copied become one again.
 *
 * Since 3.10 every jump to the implicit `return None` at the end gets a copy of its own, and copies of one place stand
 * side by side. Side by side and equal, they are one. */
#include "bytecode/normalise_internal.h"

static bool is_return_none(const pel_canon *c, uint32_t i) {
    return i + 1 < c->n && c->at[i].op == PEL_I_CONST && c->at[i].value->kind == PEL_CONST_NONE && c->at[i + 1].op == PEL_I_RETURN &&
           !c->at[i + 1].is_target;
}

void pel_norm_exits(pel_ctx *ctx, pel_canon *c) {
    pel_canon_finish(c);
    uint32_t *moved = NULL;
    bool *gone = NULL;
    for (uint32_t i = 0; i < c->n_main; i++) {
        if (!is_return_none(c, i)) continue;
        uint32_t k = i + 2;
        while (k < c->n_main && is_return_none(c, k) && c->at[k].is_target) k += 2;
        if (k == i + 2) continue;
        /* directly behind a test the first is a `return` that somebody wrote */
        bool guard = i > 0 && (pel_is_cond(&c->at[i - 1]) || c->at[i - 1].op == PEL_I_FOR) && !c->at[i].is_target;
        uint32_t first = guard ? i + 2 : i;
        if (!moved) {
            moved = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
            gone = pel_new_array(ctx, (size_t)c->n + 1, bool);
            for (uint32_t m = 0; m <= c->n; m++) moved[m] = m;
        }
        for (uint32_t m = first + 2; m < k; m += 2) {
            moved[m] = first;
            gone[m] = gone[m + 1] = true;
        }
        i = k - 1;
    }
    if (!moved) return;
    pel_canon_compact(ctx, c, gone, moved);
}
