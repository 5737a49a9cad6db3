/* Code that only an exception leads to goes back to where it was written.
 *
 * Newer compilers move what is seldom run after everything else: the handlers, and also what follows a statement whose
 * body never comes to its end (`try: return a()`, `except E: pass`, and then the rest of the function). The rest stood
 * after the end of that body. */
#include "bytecode/normalise_internal.h"

uint32_t pel_norm_first_handler(const pel_norm *n) {
    uint32_t first = n->ins.n;
    for (uint32_t g = 0; g < n->guards.n; g++)
        if (n->guards.at[g].target < first) first = n->guards.at[g].target;
    return first;
}

static bool is_main(const pel_norm *n, uint32_t i) { return n->reached[i] == 1 && n->ins.at[i].op != PEL_I_NOP; }

/* The statement of the main path in whose handler an instruction stands. */
static uint32_t outermost(const pel_norm *n, uint32_t i) {
    uint32_t g = n->ins.at[i].within;
    while (g != PEL_NONE && n->within_of[g] != PEL_NONE) g = n->within_of[g];
    return g;
}

/* By place on the main path: the statement whose handlers lead there, the one that ends last if there are several;
 * PEL_NONE if no handler does. */
static uint32_t *entered_from(pel_norm *n) {
    uint32_t *from = pel_alloc_raw(n->ctx, ((size_t)n->ins.n + 1) * sizeof *from);
    memset(from, 0xff, ((size_t)n->ins.n + 1) * sizeof *from);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        const pel_ins *ins = &n->ins.at[i];
        if (n->reached[i] < 2 || ins->op == PEL_I_NOP) continue;
        uint32_t to[] = { ins->target == PEL_NONE ? n->ins.n : pel_norm_skip(n, ins->target),
                          pel_ends(ins) ? n->ins.n : pel_norm_next(n, i) };
        for (uint32_t k = 0; k < PEL_COUNT(to); k++) {
            uint32_t g = outermost(n, i);
            if (to[k] >= n->ins.n || n->reached[to[k]] != 1 || g == PEL_NONE) continue;
            if (from[to[k]] == PEL_NONE || n->cover_to[from[to[k]]] < n->cover_to[g]) from[to[k]] = g;
        }
    }
    for (uint32_t g = 0; g < n->guards.n; g++) {
        uint32_t exit = n->guards.at[g].exit;
        if (n->guards.at[g].kind == PEL_G_WITH && exit < n->ins.n && n->within_of[g] == PEL_NONE)
            from[pel_norm_skip(n, exit)] = g;
    }
    return from;
}

/* The last instruction of the main path that a handler covers, or PEL_NONE. */
static uint32_t last_covered(const pel_norm *n, uint32_t guard, uint32_t limit) {
    uint32_t last = PEL_NONE;
    for (uint32_t i = n->cover_from[guard]; i < n->cover_to[guard] && i < limit; i++) {
        if (!is_main(n, i)) continue;
        for (uint32_t g = n->ins.at[i].cover; g != PEL_NONE; g = n->guards.at[g].outer)
            if (g == guard) last = i;
    }
    return last;
}

/* Behind the body and the else part of a statement, none of which come to an end: where no path goes on. What was
 * written after the given line is after the statement, too; without a line, what the else part does not lead to. */
static uint32_t end_of_statement(const pel_norm *n, uint32_t guard, uint32_t limit, uint32_t line) {
    uint32_t last = last_covered(n, guard, limit);
    if (last == PEL_NONE) return PEL_NONE;
    uint32_t furthest = last;
    bool ended = false;
    for (uint32_t i = last; i < limit; i++) {
        const pel_ins *ins = &n->ins.at[i];
        if (!is_main(n, i)) continue;
        if (ended && (line ? ins->line > line : i > furthest)) return i;
        if (i > last && ins->target != PEL_NONE && ins->target > furthest) furthest = ins->target;
        ended = pel_ends(ins);
    }
    return ended ? limit : PEL_NONE;
}

/* By place: the `async for` that goes on there when it comes to its end, which is by an exception; or PEL_NONE. */
static uint32_t *async_loops(const pel_norm *n) {
    uint32_t *head = pel_alloc_raw(n->ctx, ((size_t)n->ins.n + 1) * sizeof *head);
    memset(head, 0xff, ((size_t)n->ins.n + 1) * sizeof *head);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        const pel_ins *ins = &n->ins.at[i];
        if (is_main(n, i) && ins->op == PEL_I_FOR && ins->flag) head[pel_norm_skip(n, ins->target)] = i;
    }
    return head;
}

/* After a loop, whose last jump back is before the limit; PEL_NONE if it has none. */
static uint32_t end_of_loop(const pel_norm *n, uint32_t head, uint32_t limit) {
    uint32_t last = PEL_NONE;
    for (uint32_t k = head; k < limit; k++)
        if (is_main(n, k) && n->ins.at[k].target != PEL_NONE && pel_norm_skip(n, n->ins.at[k].target) == head) last = k;
    return last == PEL_NONE || !pel_ends(&n->ins.at[last]) ? PEL_NONE : last + 1;
}

static bool begins_path(const pel_norm *n, uint32_t i) {
    uint32_t before = pel_norm_prev(n, i);
    return before == PEL_NONE || !is_main(n, before) || pel_ends(&n->ins.at[before]);
}

/* Where code begins that was moved: at the first handler, or at the end of an `async for` that is not after its loop.
 */
static uint32_t first_moved(const pel_norm *n, const uint32_t *loops) {
    uint32_t limit = pel_norm_first_handler(n);
    for (uint32_t i = 0; i < limit; i++) {
        if (loops[i] == PEL_NONE || loops[i] > i || !is_main(n, i) || !begins_path(n, i)) continue;
        uint32_t place = end_of_loop(n, loops[i], i);
        if (place != PEL_NONE && pel_norm_skip(n, place) != i) return i;
    }
    return limit;
}

/* Gives each instruction that was moved its place in *put_at: before which one it stood, PEL_NONE if it stays. */
static void find_places(pel_norm *n, uint32_t cold, const uint32_t *loops, uint32_t *put_at) {
    const uint32_t *from = entered_from(n);
    uint32_t place = PEL_NONE;
    for (uint32_t i = cold; i < n->ins.n; i++) {
        if (!is_main(n, i)) continue;
        bool begins = begins_path(n, i);
        uint32_t after_loop = begins && loops[i] < cold ? end_of_loop(n, loops[i], cold) : PEL_NONE;
        if (after_loop != PEL_NONE)
            place = after_loop;
        else if (begins && from[i] != PEL_NONE)
            place = end_of_statement(n, from[i], cold, n->plainly ? 0 : n->ins.at[i].line);
        put_at[i] = place;
    }
}

/* ---- copies that have lost their original ---- */

/* The end of a straight row of instructions that ends in `return` or `raise`; PEL_NONE if i begins none. */
static uint32_t end_of_row(const pel_norm *n, uint32_t i) {
    for (int steps = 0; i < n->ins.n && steps < 6; steps++, i = pel_norm_next(n, i)) {
        if (n->ins.at[i].op == PEL_I_RETURN || n->ins.at[i].op == PEL_I_RAISE) return i;
        if (!is_main(n, i) || n->ins.at[i].target != PEL_NONE || pel_ends(&n->ins.at[i])) return PEL_NONE;
    }
    return PEL_NONE;
}

/* The place on the main path after i where everything from there on was written after the line, if no path leads
 * there from before; PEL_NONE if that is where i stands, or something of that line. */
static uint32_t place_by_line(const pel_norm *n, uint32_t i, uint32_t line) {
    uint32_t place = n->ins.n, k = n->ins.n;
    for (; k-- > i + 1;) {
        if (!is_main(n, k)) continue;
        if (n->ins.at[k].line == line) return PEL_NONE; /* the original */
        if (n->ins.at[k].line < line) return pel_ends(&n->ins.at[k]) ? place : PEL_NONE;
        place = k;
    }
    return PEL_NONE;
}

/* Whether a jump to what now is at i would have stood after `before`: the end of a handler, or the pop of a loop's
 * iterator by a `break`, which is in no line with what is before it. */
static bool leaves_loop(const pel_norm *n, uint32_t before, uint32_t i) {
    const pel_ins *ins = &n->ins.at[before];
    if (ins->op == PEL_I_POP_EXC) return n->reached[before] == 2 && !pel_norm_moves_cold(n);
    uint32_t earlier = pel_norm_prev(n, before);
    return ins->op == PEL_I_POP && is_main(n, before) && earlier != PEL_NONE && n->ins.at[earlier].line != ins->line &&
           ins->line < n->ins.at[i].line;
}

/* What follows a loop that only `break` leaves may be short enough to be copied to where that stands, and nothing leads
 * to the original any more. */
static void find_lost(const pel_norm *n, uint32_t *put_at) {
    for (uint32_t i = 1; i < n->ins.n; i++) {
        uint32_t before = is_main(n, i) ? pel_norm_prev(n, i) : PEL_NONE;
        if (before == PEL_NONE || !leaves_loop(n, before, i)) continue;
        uint32_t end = end_of_row(n, i);
        uint32_t place = end == PEL_NONE ? PEL_NONE : place_by_line(n, end, n->ins.at[i].line);
        if (place == PEL_NONE) continue;
        for (; i <= end; i++)
            if (is_main(n, i)) put_at[i] = place;
    }
}

pel_norm_path pel_norm_main_path(pel_norm *n) {
    pel_norm_path path = { 0 };
    const uint32_t *loops = async_loops(n);
    uint32_t cold = pel_norm_moves_cold(n) ? first_moved(n, loops) : n->ins.n;
    size_t size = ((size_t)n->ins.n + 1) * sizeof(uint32_t);
    uint32_t *put_at = pel_alloc_raw(n->ctx, size), *first_at = pel_alloc_raw(n->ctx, size);
    uint32_t *next = pel_alloc_raw(n->ctx, size); /* of those that go to the same place */
    memset(put_at, 0xff, size);
    memset(first_at, 0xff, size);
    find_places(n, cold, loops, put_at);
    if (pel_norm_copies_exits(n) && !n->plainly) find_lost(n, put_at);
    for (uint32_t i = n->ins.n; i-- > 0;) {
        if (put_at[i] == PEL_NONE) continue;
        next[i] = first_at[put_at[i]];
        first_at[put_at[i]] = i;
    }
    for (uint32_t i = 0; i <= n->ins.n; i++) {
        for (uint32_t k = first_at[i]; k != PEL_NONE; k = next[k]) pel_push(n->ctx, &path, k);
        if (i < n->ins.n && is_main(n, i) && put_at[i] == PEL_NONE) pel_push(n->ctx, &path, i);
    }
    return path;
}
