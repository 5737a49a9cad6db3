/* Ends of the function that the compiler copied become one again.
 *
 * Since 3.10 every jump to the implicit `return None` at the end gets a copy of its own. Copies of one place stand side
 * by side; side by side and equal, they are one place, and nobody wrote a `return` there: the path just comes to its
 * end. One place that several jumps share is a `return` that somebody did write. */
#include "bytecode/normalise_internal.h"

static bool is_return_none(const pel_canon *c, uint32_t i) {
    return i + 1 < c->n && c->at[i].op == PEL_I_CONST && c->at[i].value->kind == PEL_CONST_NONE &&
           c->at[i + 1].op == PEL_I_RETURN && !c->at[i + 1].is_target && c->at[i + 1].flag == c->returns_consts;
}

/* One more instruction at the end of the main path. */
static void add_end(pel_ctx *ctx, pel_canon *c) {
    pel_ins *grown = pel_alloc_raw(ctx, (c->n + 3) * sizeof *grown);
    memcpy(grown, c->at, c->n_main * sizeof *grown);
    memcpy(grown + c->n_main + 2, c->at + c->n_main, (c->n - c->n_main) * sizeof *grown);
    pel_ins load = { .op = PEL_I_CONST, .target = PEL_NONE, .cover = PEL_NONE, .within = PEL_NONE, .value = &pel_none };
    if (c->n_main) load.offset = c->at[c->n_main - 1].offset, load.line = c->at[c->n_main - 1].line;
    pel_ins leave = load;
    leave.op = PEL_I_RETURN;
    leave.value = NULL;
    leave.sub = 1;
    grown[c->n_main] = load;
    grown[c->n_main + 1] = leave;
    for (uint32_t i = 0; i < c->n + 2; i++)
        if (grown[i].target != PEL_NONE && grown[i].target >= c->n_main) grown[i].target += 2;
    for (uint32_t g = 0; g < c->n_guards; g++) {
        uint32_t *labels[] = { &c->guards[g].target, &c->guards[g].exit, &c->guards[g].stood };
        for (uint32_t k = 0; k < PEL_COUNT(labels); k++)
            if (*labels[k] != PEL_NONE && *labels[k] >= c->n_main + (k == 2)) *labels[k] += 2;
    }
    c->at = grown;
    c->n += 2;
    c->n_main += 2;
    c->target_of = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
}

void pel_norm_exits(pel_ctx *ctx, pel_canon *c) {
    pel_canon_finish(c);
    if (!c->copies_exits) return;
    PEL_VEC(uint32_t) middle = { 0 };
    uint32_t *moved = NULL;
    bool *gone = NULL;
    for (uint32_t i = 0; i < c->n_main; i++) {
        if (!is_return_none(c, i)) continue;
        uint32_t k = i + 2;
        while (k < c->n_main && is_return_none(c, k) && c->at[k].is_target) k += 2;
        if (k == i + 2) continue;
        /* directly behind a test the first is a `return` that somebody wrote */
        bool guard = i > 0 && pel_is_cond(&c->at[i - 1]) && c->at[i - 1].target > i && !c->at[i].is_target;
        uint32_t first = guard ? i + 2 : i;
        if (k > first + 2) {
            if (!moved) {
                moved = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
                gone = pel_new_array(ctx, (size_t)c->n + 1, bool);
                for (uint32_t m = 0; m <= c->n; m++) moved[m] = m;
            }
            for (uint32_t m = first + 2; m < k; m += 2) {
                moved[m] = first;
                gone[m] = gone[m + 1] = true;
            }
            c->at[first + 1].sub = 1;
            if (k < c->n_main) pel_push(ctx, &middle, first);
        }
        i = k - 1;
    }
    if (!moved) return;
    if (middle.n) {
        uint32_t last = c->n_main - 2;
        bool has_end = c->n_main >= 2 && is_return_none(c, last) && !c->at[last].is_target;
        if (!has_end && c->n_main >= 2) has_end = is_return_none(c, last) && c->at[last + 1].sub == 1;
        if (!has_end) {
            last = c->n_main;
            bool *more_gone = pel_new_array(ctx, (size_t)c->n + 3, bool);
            uint32_t *more_moved = pel_new_array(ctx, (size_t)c->n + 3, uint32_t);
            memcpy(more_gone, gone, c->n_main * sizeof *gone);
            for (uint32_t m = 0; m < c->n + 3; m++) more_moved[m] = m < c->n_main ? moved[m] : m;
            gone = more_gone;
            moved = more_moved;
            add_end(ctx, c);
        }
        uint32_t end = moved[last];
        for (uint32_t m = 0; m < middle.n; m++) {
            pel_ins *load = &c->at[middle.at[m]];
            load->op = PEL_I_JUMP;
            load->target = end;
            load->value = NULL;
            gone[middle.at[m] + 1] = true;
        }
        c->at[end + 1].sub = 1;
    }
    pel_canon_compact(ctx, c, gone, moved);
}
