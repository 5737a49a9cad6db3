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

/* Copies that go; jumps to them lead to what they are copies of. */
typedef struct merging {
    bool *gone;
    uint32_t *moved;
    bool changed;
} merging;

static merging start_merging(pel_ctx *ctx, const pel_canon *c) {
    merging m = { .gone = pel_new_array(ctx, (size_t)c->n + 1, bool),
                  .moved = pel_alloc_raw(ctx, ((size_t)c->n + 1) * sizeof *m.moved) };
    for (uint32_t i = 0; i <= c->n; i++) m.moved[i] = i;
    return m;
}

/* ---- ends of handlers ---- */

/* Two more instructions before a place; what led there leads after them. */
static void insert_pair(pel_ctx *ctx, pel_canon *c, uint32_t at, const pel_ins *like) {
    pel_ins *grown = pel_alloc_raw(ctx, (c->n + 3) * sizeof *grown);
    memcpy(grown, c->at, at * sizeof *grown);
    memcpy(grown + at + 2, c->at + at, (c->n - at) * sizeof *grown);
    grown[at] = like[0];
    grown[at + 1] = like[1];
    c->at = grown;
    c->n += 2;
    if (at < c->n_main) c->n_main += 2;
    for (uint32_t i = 0; i < c->n; i++) {
        if (i == at || i == at + 1) continue;
        if (grown[i].target != PEL_NONE && grown[i].target >= at) grown[i].target += 2;
    }
    if (grown[at + 1].target >= at) grown[at + 1].target += 2;
    for (uint32_t g = 0; g < c->n_guards; g++) {
        uint32_t *labels[] = { &c->guards[g].target, &c->guards[g].exit, &c->guards[g].stood };
        for (uint32_t k = 0; k < PEL_COUNT(labels); k++)
            if (*labels[k] != PEL_NONE && *labels[k] >= at) *labels[k] += 2;
    }
    c->target_of = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
}

/* How many instructions from i on end a clause of a handler: the exception is popped, and a jump leads on or the
 * function comes to its end. 0 if they do something else. */
static uint32_t end_length(const pel_canon *c, uint32_t i, uint32_t within) {
    if (i + 1 >= c->n || c->at[i].op != PEL_I_POP_EXC || c->at[i].within != within) return 0;
    const pel_ins *next = &c->at[i + 1];
    if (next->is_target || next->within != within) return 0;
    if (next->op == PEL_I_JUMP) return 2;
    return is_return_none(c, i + 1) ? 3 : 0;
}

/* Whether a line begins at a place in [from, to): nothing leads there from within it. */
static bool is_written(const pel_canon *c, uint32_t at, uint32_t from, uint32_t to) {
    uint32_t line = c->at[at].line;
    if (!line || (at > from && !pel_ends(&c->at[at - 1]) && c->at[at - 1].line == line)) return false;
    for (uint32_t i = from; i < to; i++)
        if (c->at[i].target == at && c->at[i].line == line) return false;
    return true;
}

/* One clause of a handler, [from, to). Compilers copy a short end of a clause into the branches that lead there;
 * the copies become jumps to one that is last. */
static void one_clause_end(pel_ctx *ctx, pel_canon *c, uint32_t from, uint32_t to, uint32_t within, bool plainly) {
    uint32_t first = PEL_NONE, last = PEL_NONE, n = 0, length = 3;
    for (uint32_t i = from; i < to; i++)
        if (end_length(c, i, within) == 2) length = 2; /* a clause that goes on; what returns was written then */
    for (uint32_t i = from; i < to; i++) {
        if (end_length(c, i, within) != length) continue;
        if (!plainly && is_written(c, i, from, to)) return;
        if (first != PEL_NONE && c->at[i + 1].target != c->at[first + 1].target) return;
        if (first == PEL_NONE) first = i;
        last = i;
        n++;
    }
    if (first == PEL_NONE) return;
    uint32_t goal = c->at[first + 1].target, covered = c->guards[within].first;
    bool is_last = last + length == to;
    if (is_last && n == 1) return;
    if (length == 2 && (covered == PEL_NONE || goal <= covered || c->at[goal].within == within)) return;
    if (length == 3 && !is_last) return;
    pel_ins pair[2] = { c->at[first], c->at[first + 1] };
    if (!is_last) insert_pair(ctx, c, to, pair);
    uint32_t end = is_last ? last : to;
    merging m = start_merging(ctx, c);
    if (length == 3) c->at[end + 2].sub = 1;
    for (uint32_t i = from; i < end; i++) {
        if (end_length(c, i, within) != length) continue;
        m.gone[i] = pel_ends(&c->at[i - 1]) && length == 3; /* only jumps lead there */
        m.moved[i] = m.gone[i] ? end : i;
        for (uint32_t k = 1; k < length; k++) m.gone[i + k] = true;
        c->at[i].op = PEL_I_JUMP;
        c->at[i].target = end;
    }
    pel_canon_compact(ctx, c, m.gone, m.moved);
}

static void one_end_per_clause(pel_ctx *ctx, pel_canon *c, bool plainly) {
    for (uint32_t g = 0; g < c->n_guards; g++) {
        if (c->guards[g].kind != PEL_G_EXCEPT || c->guards[g].target == PEL_NONE) continue;
        for (uint32_t at = c->guards[g].target + 1; at < c->n && c->at[at].within == g;) {
            uint32_t match = at;
            while (match < c->n && c->at[match].within == g && c->at[match].op != PEL_I_EXC_MATCH) match++;
            if (match >= c->n || c->at[match].within != g) break;
            uint32_t next = c->at[match].target;
            if (next <= match + 2 || next > c->n || c->at[next - 1].within != g) break;
            one_clause_end(ctx, c, match + 1, next, g, plainly);
            pel_canon_finish(c);
            at = c->at[match].target;
        }
    }
}

/* ---- ends of `with` and `finally` ---- */

/* Where control goes when a block is left at i, or PEL_NONE if nothing is left there. */
static uint32_t left_to(const pel_canon *c, uint32_t i) {
    const pel_ins *ins = &c->at[i];
    if (ins->op != PEL_I_WITH_EXIT && (ins->op != PEL_I_FINALLY || ins->flag)) return PEL_NONE;
    if (i + 1 >= c->n) return PEL_NONE;
    return c->at[i + 1].op == PEL_I_JUMP && !c->at[i + 1].is_target ? c->at[i + 1].target : i + 1;
}

static bool is_copy_of(const pel_canon *c, uint32_t at, uint32_t original) {
    const pel_ins *copy = &c->at[at], *ins = &c->at[original];
    return copy->op == ins->op && copy->arg == ins->arg && copy->within == ins->within && copy->cover == ins->cover &&
           copy->line == ins->line;
}

static void merge_before(merging *m, uint32_t at, uint32_t length) {
    m->moved[at - length] = at;
    for (uint32_t k = at - length; k < at; k++) m->gone[k] = true;
    m->changed = true;
}

static void finish_merging(pel_ctx *ctx, pel_canon *c, merging *m) {
    if (!m->changed) return;
    for (uint32_t i = c->n; i-- > 0;)
        if (m->moved[i] != i) m->moved[i] = m->moved[m->moved[i]]; /* a copy of a copy */
    pel_canon_compact(ctx, c, m->gone, m->moved);
    pel_canon_sweep(ctx, c);
    pel_canon_finish(c);
}

/* Leaving a block is short enough to be copied to the jumps that lead there. Copies that stand side by side and go on
 * at the same place are one. */
static void one_way_out(pel_ctx *ctx, pel_canon *c) {
    merging m = start_merging(ctx, c);
    for (uint32_t i = 2; i < c->n; i++) {
        uint32_t to = left_to(c, i);
        if (to == PEL_NONE || !c->at[i].is_target || left_to(c, i - 2) != to || !is_copy_of(c, i - 2, i)) continue;
        merge_before(&m, i, 2);
    }
    finish_merging(ctx, c, &m);
}

/* How many instructions from i on leave blocks and then come to the end of the function; 0 if they do something else.
 */
static uint32_t way_to_end(const pel_canon *c, uint32_t i) {
    uint32_t k = i;
    while (k < c->n_main && (c->at[k].op == PEL_I_WITH_EXIT || (c->at[k].op == PEL_I_FINALLY && !c->at[k].flag)) &&
           (k == i || !c->at[k].is_target))
        k++;
    return k > i && is_return_none(c, k) && !c->at[k].is_target ? k + 2 - i : 0;
}

/* Where the function ends after a block, the way out is copied with its end. */
static void one_way_to_end(pel_ctx *ctx, pel_canon *c) {
    merging m = start_merging(ctx, c);
    for (uint32_t i = 0; i < c->n_main; i++) {
        uint32_t length = c->at[i].is_target ? way_to_end(c, i) : 0;
        if (!length || length > i || way_to_end(c, i - length) != length) continue;
        bool same = true;
        for (uint32_t k = i; k < i + length && same; k++) same = is_copy_of(c, k - length, k);
        if (same) merge_before(&m, i, length);
    }
    finish_merging(ctx, c, &m);
}

/* ---- ends of the function ---- */

/* Whether what follows the last way out of a `finally` has a line of its body: the end of the function, which has none
 * itself. */
static bool ends_with_finally(const pel_canon *c, uint32_t i) {
    const pel_ins *finally = &c->at[i - 1];
    for (uint32_t k = i; k < c->n; k++)
        if (c->at[k].op == PEL_I_FINALLY && c->at[k].arg == finally->arg && c->at[k].level == finally->level)
            return false;
    for (uint32_t k = c->guards[finally->arg].target; k < c->n; k++)
        if (c->at[k].within == finally->arg && c->at[k].line == c->at[i].line) return true;
    return false;
}

/* A `return None` in the line of the statement before it: nobody wrote it, unless it leaves something on its way. */
static bool comes_to_end(const pel_canon *c, uint32_t i) {
    if (i > 0 && c->at[i - 1].op == PEL_I_FINALLY && !c->at[i].is_target) return ends_with_finally(c, i);
    if (i < 2 || c->at[i].is_target || !c->at[i].line || c->at[i - 1].line != c->at[i].line) return false;
    const pel_ins *before = &c->at[i - 1], *earlier = &c->at[i - 2];
    if (pel_ends(before) || pel_is_cond(before) || before->op == PEL_I_WITH_EXIT || before->op == PEL_I_FINALLY)
        return false;
    return before->op != PEL_I_POP || (earlier->line == before->line && !pel_is_cond(earlier) && !before->is_target);
}

/* By place: whether a path comes there within a line. A copy of the end that nobody wrote takes the line of what led to
 * it; a `return` has its own, but for `if a: return`. */
static bool *same_line(pel_ctx *ctx, const pel_canon *c) {
    bool *same = pel_new_array(ctx, (size_t)c->n + 1, bool);
    for (uint32_t i = 0; i < c->n; i++) {
        const pel_ins *ins = &c->at[i];
        if (ins->target != PEL_NONE && ins->line == c->at[ins->target].line) same[ins->target] = true;
        if (i + 1 < c->n && !pel_ends(ins) && ins->line == c->at[i + 1].line) same[i + 1] = true;
    }
    return same;
}

/* A jump back without a line is copied for each test that leads to it, and each copy takes the line of its test. Side
 * by side they are one. */
static void one_jump_back(pel_ctx *ctx, pel_canon *c) {
    const bool *is_copy = same_line(ctx, c);
    merging m = start_merging(ctx, c);
    for (uint32_t i = 1; i < c->n; i++) {
        const pel_ins *jump = &c->at[i], *before = &c->at[i - 1];
        bool are_jumps = jump->op == PEL_I_JUMP && before->op == PEL_I_JUMP && jump->target == before->target;
        if (!are_jumps || jump->target > i || !jump->is_target || !is_copy[i] || !is_copy[i - 1]) continue;
        if (jump->within != before->within || jump->cover != before->cover) continue;
        m.gone[i] = m.changed = true;
        m.moved[i] = m.moved[i - 1];
    }
    finish_merging(ctx, c, &m);
}

/* A run of ends of the function, side by side. */
typedef struct run {
    uint32_t first, end;
    bool is_implicit; /* nobody wrote it: control only comes there */
} run;

/* A `return` directly after a test: somebody wrote it. */
static bool follows_test(const pel_canon *c, uint32_t i) {
    return i > 0 && pel_is_cond(&c->at[i - 1]) && c->at[i - 1].target > i && !c->at[i].is_target;
}

/* Only jumps lead to it, and all from other lines: somebody wrote it, too. */
static bool has_own_line(const pel_canon *c, const bool *is_copy, uint32_t i) {
    return is_copy && !is_copy[i] && c->at[i].is_target && c->at[i].line && i > 0 && pel_ends(&c->at[i - 1]);
}

/* The run that begins at an end of the function. is_copy: by place, NULL where lines are not looked at. */
static run run_at(const pel_canon *c, const bool *is_copy, uint32_t i) {
    run r = { .first = i, .end = i + 2 };
    while (r.end < c->n_main && is_return_none(c, r.end) && c->at[r.end].is_target &&
           (!is_copy || is_copy[r.end] || c->at[r.end].line == c->at[r.end - 1].line))
        r.end += 2;
    if (r.end == i + 2) {
        r.is_implicit = is_copy && comes_to_end(c, i);
        return r;
    }
    bool own_line = has_own_line(c, is_copy, i);
    if (own_line || follows_test(c, i)) r.first += 2;
    r.is_implicit = own_line || r.end > r.first + 2;
    return r;
}

/* The main path's last instructions, to which all other ends of the function lead. */
static uint32_t last_end(pel_ctx *ctx, pel_canon *c, merging *m) {
    uint32_t last = c->n_main >= 2 ? c->n_main - 2 : PEL_NONE;
    if (last != PEL_NONE && is_return_none(c, last) && (!c->at[last].is_target || c->at[m->moved[last] + 1].sub == 1))
        return m->moved[last];
    merging grown = { .gone = pel_new_array(ctx, (size_t)c->n + 3, bool),
                      .moved = pel_new_array(ctx, (size_t)c->n + 3, uint32_t) };
    memcpy(grown.gone, m->gone, c->n_main * sizeof *m->gone);
    for (uint32_t i = 0; i < c->n + 3; i++) grown.moved[i] = i < c->n_main ? m->moved[i] : i;
    *m = grown;
    last = c->n_main;
    add_end(ctx, c);
    return last;
}

/* All ends of the function that nobody wrote become one. */
static void one_function_end(pel_ctx *ctx, pel_canon *c, bool plainly) {
    const bool *is_copy = plainly ? NULL : same_line(ctx, c);
    merging m = start_merging(ctx, c);
    PEL_VEC(uint32_t) middle = { 0 };
    bool any = false;
    for (uint32_t i = 0; i < c->n_main; i++) {
        if (!is_return_none(c, i)) continue;
        run r = run_at(c, is_copy, i);
        i = r.end - 1;
        if (!r.is_implicit) continue;
        for (uint32_t k = r.first + 2; k < r.end; k += 2) {
            m.moved[k] = r.first;
            m.gone[k] = m.gone[k + 1] = true;
        }
        c->at[r.first + 1].sub = 1;
        if (r.end < c->n_main) pel_push(ctx, &middle, r.first);
        any = true;
    }
    if (!any) return;
    uint32_t end = middle.n ? last_end(ctx, c, &m) : PEL_NONE;
    for (uint32_t i = 0; i < middle.n; i++) {
        pel_ins *load = &c->at[middle.at[i]];
        load->op = PEL_I_JUMP;
        load->target = end;
        load->value = NULL;
        m.gone[middle.at[i] + 1] = true;
    }
    if (middle.n) c->at[end + 1].sub = 1;
    pel_canon_compact(ctx, c, m.gone, m.moved);
}

void pel_norm_exits(pel_ctx *ctx, pel_canon *c, bool plainly) {
    pel_canon_finish(c);
    if (!c->copies_exits) return;
    one_way_out(ctx, c);
    one_way_to_end(ctx, c);
    one_end_per_clause(ctx, c, plainly);
    if (c->bares_jumps && !plainly) one_jump_back(ctx, c);
    one_function_end(ctx, c, plainly);
}
