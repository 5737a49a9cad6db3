/* Ends of paths that the compiler copied become jumps again.
 *
 * Newer compilers replace a jump to a few instructions that end in `return` or `raise` by a copy of them. A copy keeps
 * the line numbers of what it was copied from, and nobody writes the same instructions twice in one line: equal ends of
 * paths with equal lines are copies of one. The last of them stays. Where lines were stripped nothing is done here, and
 * the statements come out as the copies have it. */
#include "base/map.h"
#include "bytecode/normalise_internal.h"

#define MAX_COPY 5 /* canonical instructions; the compiler copies four of its own */

static bool ends_path(const pel_ins *ins) { return ins->op == PEL_I_RETURN || ins->op == PEL_I_RAISE; }

static bool is_copy_of(const pel_ins *a, const pel_ins *b) {
    return a->line == b->line && a->line && a->cover == b->cover && a->target == PEL_NONE && pel_norm_same_ins(a, b);
}

/* The first instruction of a statement; or the store of the one value that both ways of an if-else expression made. */
static bool begins(const pel_canon *c, uint32_t i) {
    const pel_ins *ins = &c->at[i], *before = i ? &c->at[i - 1] : NULL;
    if (ins->op == PEL_I_STORE) return true;
    bool needs_nothing = ins->op == PEL_I_LOAD || ins->op == PEL_I_CONST || ins->op == PEL_I_PUSH_NULL ||
                         (ins->op == PEL_I_RAISE && ins->arg == 0);
    return needs_nothing &&
           (!before || pel_is_cond(before) || before->op == PEL_I_POP_EXC || pel_norm_ends_statement(before));
}

/* The end of the function, which nobody wrote: another place decides which copy is which. */
static bool is_return_none(const pel_canon *c, uint32_t i) {
    return i + 1 < c->n && c->at[i].op == PEL_I_CONST && c->at[i].value->kind == PEL_CONST_NONE &&
           c->at[i + 1].op == PEL_I_RETURN;
}

/* How many instructions up to and with a were copied from those up to and with b. */
static uint32_t copied(const pel_canon *c, uint32_t a, uint32_t b) {
    uint32_t length = 0, apart = a < b ? b - a : a - b, before = a < b ? a : b;
    while (length < MAX_COPY && length <= before && length < apart &&
           is_copy_of(&c->at[a - length], &c->at[b - length])) {
        length++;
        if (c->at[a + 1 - length].is_target || c->at[b + 1 - length].is_target) break;
    }
    while (length > 0 && (!begins(c, a + 1 - length) || is_return_none(c, a + 1 - length))) length--;
    return length;
}

/* Whether a jump from one place to the other stays on its level. */
static bool may_jump(const pel_canon *c, uint32_t from, uint32_t to) {
    if (c->at[from].level == c->at[to].level && c->at[from].within == c->at[to].within) return true;
    uint32_t before = from; /* a handler that is done, and perhaps the loop around it */
    while (before > 0 && c->at[before - 1].op == PEL_I_POP) before--;
    return before > 0 && c->at[before - 1].op == PEL_I_POP_EXC && c->at[from].level == c->at[to].level + 1;
}

/* By place: whether all that follows on the main path was written after it. */
static bool *written_last(pel_ctx *ctx, const pel_canon *c) {
    bool *last = pel_new_array(ctx, (size_t)c->n_main + 1, bool);
    uint32_t least = UINT32_MAX;
    for (uint32_t i = c->n_main; i-- > 0;) {
        uint32_t line = c->at[i].line;
        last[i] = line <= least;
        if (line && line < least) least = line;
    }
    return last;
}

void pel_norm_copies(pel_ctx *ctx, pel_canon *c) {
    if (!c->copies_exits) return;
    pel_canon_finish(c);
    bool *gone = pel_new_array(ctx, (size_t)c->n + 1, bool), changed = false;
    bool *is_made = pel_new_array(ctx, (size_t)c->n + 1, bool), *is_last = written_last(ctx, c);
    pel_map last_of = { 0 }; /* line -> the last end of a path in it */
    for (uint32_t i = 0; i < c->n_main; i++)
        if (ends_path(&c->at[i])) pel_map_set(ctx, &last_of, c->at[i].line, i);
    for (uint32_t i = 0; i < c->n; i++) {
        if (!ends_path(&c->at[i])) continue;
        uint32_t last = (uint32_t)pel_map_find(&last_of, c->at[i].line, PEL_NONE);
        if (last == PEL_NONE || last == i || !is_last[last]) continue;
        uint32_t length = copied(c, i, last);
        if (!length) continue;
        uint32_t from = i + 1 - length, to = last + 1 - length;
        if (!may_jump(c, from, to)) continue;
        pel_ins *jump = &c->at[from];
        jump->op = PEL_I_JUMP;
        jump->target = to;
        jump->arg = 0;
        jump->sub = 0;
        jump->flag = false;
        jump->name = NULL;
        if (to == i + 1 && from > 0 && c->n_guards == 0) /* only jumps are replaced, and no try explains this one */
            c->at[from - 1].dead_jump = true;            /* else: pass */
        is_made[from] = changed = true;
        for (uint32_t k = from + 1; k <= i; k++) gone[k] = true;
    }
    if (!changed) return;
    /* what only handlers led to a copy for leads on, and the copy is gone */
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t to = c->at[i].target;
        if (c->at[i].op == PEL_I_JUMP && to != PEL_NONE && is_made[to] && c->at[i].level > c->at[to].level)
            c->at[i].target = c->at[to].target;
    }
    for (uint32_t g = 0; g < c->n_guards; g++) { /* a `with` that goes on in two copies */
        uint32_t *exit = &c->guards[g].exit, before = *exit - 1;
        if (*exit >= c->n || *exit == 0 || !is_made[*exit]) continue;
        while (before > 0 && gone[before]) before--;
        if (is_made[before] && c->at[before].target == c->at[*exit].target) *exit = c->at[*exit].target;
    }
    pel_canon_compact(ctx, c, gone, NULL);
    pel_canon_sweep(ctx, c);
}

static bool raises_again(const pel_ins *ins) { return ins->op == PEL_I_RAISE && ins->arg == 0; }

/* A `raise` behind a handler: 3.10 puts a copy for each of the handler's ends behind the one that the main path has.
 * One of those that stand in a row is enough. */
void pel_norm_one_raise(pel_ctx *ctx, pel_canon *c) {
    if (!c->copies_exits || c->moves_cold) return;
    uint32_t *first = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
    bool changed = false;
    for (uint32_t i = 0; i < c->n; i++) {
        const pel_ins *before = i ? &c->at[i - 1] : NULL, *ins = &c->at[i];
        bool is_same = before && raises_again(ins) && raises_again(before) && before->cover == ins->cover &&
                       before->within == ins->within && before->line == ins->line;
        first[i] = is_same ? first[i - 1] : i;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t to = c->at[i].target;
        if (to >= c->n || first[to] == to) continue;
        c->at[i].target = first[to];
        changed = true;
    }
    if (changed) pel_canon_sweep(ctx, c);
}

/* The instructions before a place that are the same as those from it on and end the path: how many, 0 if none. */
static uint32_t twin_before(const pel_canon *c, uint32_t at) {
    for (uint32_t length = 2; length <= MAX_COPY && length <= at && at + length <= c->n_main; length++) {
        const pel_ins *end = &c->at[at - 1];
        if (!ends_path(end) && end->op != PEL_I_JUMP) return 0;
        if (length > 2 && c->at[at - length + 1].is_target) return 0;
        bool is_same = c->at[at - length].op == PEL_I_POP;
        for (uint32_t i = 0; i < length && is_same; i++) {
            const pel_ins *a = &c->at[at - length + i], *b = &c->at[at + i];
            is_same = pel_norm_same_ins(a, b) && a->target == b->target && a->cover == b->cover;
        }
        if (is_same) return length;
    }
    return 0;
}

/* `a and b()` as a statement at the end of a path: each outcome is thrown away in a copy of its own. They become one,
 * which the first value falls into. */
void pel_norm_thrown_values(pel_ctx *ctx, pel_canon *c) {
    pel_canon_finish(c);
    bool *gone = pel_new_array(ctx, (size_t)c->n + 1, bool), changed = false;
    for (uint32_t i = 0; i < c->n_main; i++) {
        uint32_t to = c->at[i].target;
        if ((c->at[i].op != PEL_I_JFP && c->at[i].op != PEL_I_JTP) || to <= i || to >= c->n_main) continue;
        uint32_t length = c->at[to].op == PEL_I_POP ? twin_before(c, to) : 0;
        if (!length || to - length <= i) continue;
        for (uint32_t k = to - length; k < to; k++) gone[k] = true;
        changed = true;
    }
    if (!changed) return;
    pel_canon_compact(ctx, c, gone, NULL);
    pel_canon_sweep(ctx, c);
}
