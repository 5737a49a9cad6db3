/* Code that nothing reaches, but that old compilers leave where it was.
 *
 * They lead every jump to a jump straight to where that one goes, and so take from under it whatever led there; only
 * after a `return` is it removed. What is left says how the code was written: a jump after a `raise` or a `break` is
 * the end of an if that has an else. It stays, marked as dead; and where it is clear which jumps it was that led to a
 * dead one, they do so again here. */
#include "bytecode/normalise_internal.h"

static bool is_jump(const pel_norm *n, uint32_t i) { return pel_norm_op(n, i) == PEL_I_JUMP; }

/* A `break` or `continue` begins a line, the end of a part of a statement does not. */
static bool begins_line(const pel_norm *n, uint32_t i) {
    uint32_t from = n->from.at[i];
    return from > 0 && n->insns->at[from].line && n->insns->at[from].line != n->insns->at[from - 1].line;
}

static bool is_dead_jump(const pel_norm *n, uint32_t i) { return is_jump(n, i) && n->ins.at[i].dead; }

/* Leads jump i to the dead jump at `to`, if both go to the same place. Each jump was led on by one step: where i went
 * until now is where the dead jump went before. */
static bool lead_to(pel_norm *n, uint32_t i, uint32_t to) {
    if (i == to || i >= n->ins.n || pel_norm_resolve(n, n->ins.at[i].target) != pel_norm_resolve(n, to)) return false;
    if (pel_norm_skip(n, n->ins.at[i].target) == to) return true;
    if (n->ins.at[to].dead) n->ins.at[to].target = n->ins.at[i].target;
    n->ins.at[i].target = to;
    return true;
}

/* A dead jump after the handlers of a try: what ends the body and the handlers led to it. */
static void behind_handlers(pel_norm *n, uint32_t g) {
    const pel_guard *guard = &n->guards.at[g];
    uint32_t last = PEL_NONE;
    for (uint32_t i = guard->target; i < n->ins.n; i++)
        if (n->reached[i] && n->ins.at[i].within == g && n->ins.at[i].op == PEL_I_RERAISE) last = i;
    uint32_t behind = last == PEL_NONE ? PEL_NONE : pel_norm_next(n, last);
    if (behind == PEL_NONE || !is_dead_jump(n, behind)) return;
    uint32_t over = pel_norm_prev(n, guard->target);
    bool any = over != PEL_NONE && is_jump(n, over) && lead_to(n, over, behind);
    for (uint32_t i = guard->target; i < last; i++) {
        if (n->ins.at[i].within != g || !is_jump(n, i)) continue;
        uint32_t before = pel_norm_prev(n, i);
        if (before != PEL_NONE && n->ins.at[before].op == PEL_I_POP_EXC && !n->ins.at[i].dead)
            any |= lead_to(n, i, behind);
    }
    if (any) n->ins.at[behind].dead = false;
}

/* The end of a `with` goes where an exception goes on that was swallowed: the jump over the handler led there, and no
 * further. */
static void behind_with(pel_norm *n, const pel_guard *guard) {
    if (guard->target == PEL_NONE || guard->exit == PEL_NONE || !is_jump(n, guard->exit)) return;
    uint32_t over = pel_norm_prev(n, guard->target);
    if (over != PEL_NONE && is_jump(n, over) && n->reached[over] && n->reached[over] == n->reached[guard->exit])
        lead_to(n, over, guard->exit);
}

/* By place: the last jump that comes back to it, or PEL_NONE. */
static uint32_t *last_jumps_back(const pel_norm *n) {
    uint32_t *last = pel_alloc_raw(n->ctx, ((size_t)n->ins.n + 1) * sizeof *last);
    memset(last, 0xff, ((size_t)n->ins.n + 1) * sizeof *last);
    for (uint32_t i = 0; i < n->ins.n; i++)
        if (n->reached[i] && n->ins.at[i].op != PEL_I_NOP && n->ins.at[i].target <= i) last[n->ins.at[i].target] = i;
    return last;
}

/* A test around the one at i, with another end. */
static bool leads_elsewhere(const pel_norm *n, uint32_t k, uint32_t i, uint32_t at) {
    return pel_is_pop_jump(&n->ins.at[k]) && n->ins.at[k].target > at && n->ins.at[k].target != n->ins.at[i].target;
}

/* Whether a loop that goes on after `at` begins with the test that ends at i. */
static bool tests_loop(const pel_norm *n, const uint32_t *last_back, uint32_t i, uint32_t at) {
    for (uint32_t k = i; k != PEL_NONE; k = pel_norm_prev(n, k)) {
        if (last_back[k] != PEL_NONE && last_back[k] >= at) return true;
        if (k != i && (pel_norm_ends_statement(&n->ins.at[k]) || leads_elsewhere(n, k, i, at))) return false;
    }
    return false;
}

/* Whether the test that ends at i follows another one in the same statement. */
static bool follows_test(const pel_norm *n, uint32_t i) {
    for (uint32_t k = pel_norm_prev(n, i); k != PEL_NONE && !pel_norm_ends_statement(&n->ins.at[k]);
         k = pel_norm_prev(n, k))
        if (pel_is_pop_jump(&n->ins.at[k])) return true;
    return false;
}

/* The innermost test around what is before a jump, if it goes where that jump goes; PEL_NONE if it does not. */
static uint32_t test_around(const pel_norm *n, const uint32_t *last_back, uint32_t at) {
    for (uint32_t i = at; i-- > 0;) {
        const pel_ins *ins = &n->ins.at[i];
        if (n->reached[i] != n->reached[at] || (ins->op != PEL_I_FOR && !pel_is_pop_jump(ins))) continue;
        uint32_t to = ins->target;
        bool inside = to > i ? to <= at : last_back[to] < at;
        if (inside) continue;
        bool same = ins->op != PEL_I_FOR && pel_norm_resolve(n, to) == pel_norm_resolve(n, at);
        return same ? i : PEL_NONE;
    }
    return PEL_NONE;
}

/* The tests that jump away led to this jump: `if a and b: raise X` and `continue` after it. The place they go to now
 * is the one that the jump had before it was led further in its turn: what goes back at once is a `continue`. */
static bool led_by_tests(pel_norm *n, const uint32_t *last_back, uint32_t at, bool is_certain) {
    uint32_t i = test_around(n, last_back, at);
    if (i == PEL_NONE) return false;
    uint32_t to = n->ins.at[i].target;
    if (tests_loop(n, last_back, i, at)) { /* while a: if b: x; else: break: the loop keeps one test at least */
        if (!is_certain || !follows_test(n, i)) return false;
        n->ins.at[i].target = at;
        i = PEL_NONE;
    }
    for (; i != PEL_NONE && !pel_norm_ends_statement(&n->ins.at[i]); i = pel_norm_prev(n, i)) {
        if (!pel_is_pop_jump(&n->ins.at[i])) continue;
        if (n->ins.at[i].target == to)
            n->ins.at[i].target = at;
        else if (n->ins.at[i].target > at)
            break;
    }
    n->ins.at[at].target = to;
    n->ins.at[at].flag = to <= at;
    n->ins.at[at].dead = false;
    return true;
}

/* if a: x; else: break, where x goes on with the next turn: the end of x, a dead `break`, and the dead jump back that
 * the end of x led to. */
static bool is_jump_as_else(const pel_norm *n, uint32_t dead) {
    uint32_t before = pel_norm_prev(n, dead), next = pel_norm_next(n, dead);
    if (before == PEL_NONE || !is_jump(n, before) || begins_line(n, before)) return false;
    if (is_dead_jump(n, next)) return pel_norm_resolve(n, before) == pel_norm_resolve(n, next);
    return pel_norm_skip(n, n->ins.at[before].target) == next;
}

/* ---- what lines tell ---- */

/* Whether nobody wrote the jump back at i: it ends a part of an if-else or of a try, and was led on by one that stands
 * after all of it. Directly after a test it may be all that the line says. */
static bool is_unwritten(const pel_norm *n, uint32_t i) {
    uint32_t before = pel_norm_prev(n, i);
    return before != PEL_NONE && n->insns->at[n->from.at[i]].line && !begins_line(n, i) &&
           !pel_is_cond(&n->ins.at[before]) && n->ins.at[before].op != PEL_I_FOR;
}

/* The first jump after i that goes where i goes and that nothing in between leads over, but for what leaves the loop,
 * which ends at `last`; PEL_NONE if there is none. */
static uint32_t next_like(const pel_norm *n, uint32_t i, uint32_t last) {
    uint32_t furthest = 0;
    for (uint32_t k = i + 1; k <= last; k++) {
        const pel_ins *ins = &n->ins.at[k];
        if (ins->op == PEL_I_NOP || n->reached[k] != n->reached[i]) continue;
        if (ins->op == PEL_I_JUMP && ins->target == n->ins.at[i].target && furthest <= k) return k;
        if (ins->target != PEL_NONE && ins->target <= last && ins->target > furthest) furthest = ins->target;
    }
    return PEL_NONE;
}

/* if a: x; else: y; and `continue` after both: the end of x was led to where the `continue` goes. */
static void lead_to_continues(pel_norm *n, const uint32_t *last_back) {
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins *ins = &n->ins.at[i];
        if (!is_jump(n, i) || !n->reached[i] || ins->dead || ins->target > i) continue;
        ins->own_line = begins_line(n, i);
        if (ins->own_line && last_back[ins->target] != i) ins->flag = true;
        if (last_back[ins->target] == i || !is_unwritten(n, i)) continue;
        uint32_t like = next_like(n, i, last_back[ins->target]);
        if (like != PEL_NONE && like != last_back[ins->target] && begins_line(n, like)) ins->target = like;
    }
}

void pel_norm_dead(pel_norm *n) {
    if (!pel_norm_keeps_dead(n)) return;
    for (uint32_t i = 0; i < n->ins.n; i++)
        n->ins.at[i].to_jump = pel_is_pop_jump(&n->ins.at[i]) && is_jump(n, pel_norm_skip(n, n->ins.at[i].target));
    for (uint32_t g = 0; g < n->guards.n; g++) {
        if (n->guards.at[g].kind == PEL_G_WITH)
            behind_with(n, &n->guards.at[g]);
        else
            behind_handlers(n, g);
    }
    pel_norm_count_targets(n);
    const uint32_t *last_back = last_jumps_back(n);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        if (!is_dead_jump(n, i) || !n->reached[i] || n->jumps_to[i] || !is_jump_as_else(n, i)) continue;
        uint32_t before = pel_norm_prev(n, i), next = pel_norm_next(n, i);
        if (led_by_tests(n, last_back, i, true) && is_dead_jump(n, next) && lead_to(n, before, next))
            n->ins.at[next].dead = n->ins.at[before].dead;
    }
    pel_norm_count_targets(n);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        uint32_t before = pel_norm_prev(n, i);
        if (!is_jump(n, i) || !n->reached[i] || n->jumps_to[i] || before == PEL_NONE || n->ins.at[before].dead)
            continue;
        if (is_jump(n, pel_norm_skip(n, n->ins.at[i].target))) continue; /* known to go there and no further */
        led_by_tests(n, last_back, i, false);
    }
    lead_to_continues(n, last_back);
    pel_norm_count_targets(n);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins *ins = &n->ins.at[i];
        uint32_t before = pel_norm_prev(n, i);
        bool ends_handler = ins->op == PEL_I_RERAISE; /* that never gets there */
        bool has_no_value = ins->op == PEL_I_RETURN && (before == PEL_NONE || !n->ins.at[before].dead);
        if (ins->dead && (ends_handler || has_no_value)) ins->op = PEL_I_NOP;
    }
}
