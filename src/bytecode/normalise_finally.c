/* Copies of `finally` bodies -> one FINALLY instruction each.
 *
 * The compiler writes the body of a `finally` once as a handler and once more at every way out of what it covers. The
 * handler's writing is the truth. A copy can only begin where control leaves the covered range; it is recognised by
 * walking both at once, instruction by instruction along all paths, until the handler raises again: there the copy
 * goes on with whatever follows. */
#include "bytecode/normalise_internal.h"

typedef struct pair {
    uint32_t a, b; /* in the handler, in the copy */
} pair;

typedef struct matching {
    pel_ctx *ctx;
    pel_canon *c;
    uint32_t guard;
    uint32_t *b_of;      /* by instruction of the handler: the one in the copy, or PEL_NONE */
    uint32_t *guard_b;   /* by guard within the handler: the one in the copy */
    PEL_VEC(pair) pairs; /* all that matched */
    PEL_VEC(pair) todo;
    uint32_t goes_on; /* where the copy ends, or PEL_NONE */
} matching;

#define MAX_COPY 4000

static uint32_t jumped(const pel_canon *c, uint32_t i) {
    for (int steps = 0; steps < 64 && i < c->n && c->at[i].op == PEL_I_JUMP; steps++) i = c->at[i].target;
    return i;
}

static bool same_path_end(const pel_canon *c, uint32_t a, uint32_t b) {
    for (int steps = 0; steps < 12; steps++, a++, b++) {
        if (a == b) return true;
        if (a >= c->n || b >= c->n || !pel_norm_same_ins(&c->at[a], &c->at[b]) || c->at[a].target != c->at[b].target)
            return false;
        if (pel_ends(&c->at[a])) return true;
    }
    return false;
}

/* The handler pops its exception before it leaves by return, break or continue: POP; POP_EXC with swaps around a value.
 */
static uint32_t skip_pops(const pel_canon *c, uint32_t a) {
    uint32_t k = a;
    while (k < c->n && k - a < 3 && (c->at[k].op == PEL_I_POP || (c->at[k].op == PEL_I_SWAP && c->at[k].arg == 2))) k++;
    return k < c->n && c->at[k].op == PEL_I_POP_EXC ? k + 1 : a;
}

/* The handler in whose code a handler covers something, or PEL_NONE. */
static uint32_t stands_in(const pel_canon *c, uint32_t g) {
    uint32_t first = c->guards[g].first;
    return first == PEL_NONE ? PEL_NONE : c->at[first].within;
}

/* Whether a handler covers something within the body of this `finally`, or within a handler that is there. */
static bool is_inner(const matching *m, uint32_t g) {
    for (; g != PEL_NONE; g = m->c->guards[g].outer)
        for (uint32_t h = stands_in(m->c, g); h != PEL_NONE; h = stands_in(m->c, h))
            if (h == m->guard) return true;
    return false;
}

/* Where the handler raises again: at its own end, or at that of a handler in it, which has just popped its exception.
 */
static bool ends_handler(const matching *m, uint32_t a) {
    const pel_ins *ins = &m->c->at[a];
    if (ins->op != PEL_I_RERAISE) return false;
    return ins->within == m->guard ||
           (a > 0 && m->c->at[a - 1].op == PEL_I_POP_EXC && ins->within != PEL_NONE && is_inner(m, ins->within));
}

static bool add_pair(matching *m, uint32_t a, uint32_t b) {
    const pel_canon *c = m->c;
    for (uint32_t steps = 0;; steps++) {
        if (steps > c->n) return false; /* jumps in a circle */
        if (a >= c->n || b >= c->n) return false;
        if (m->b_of[a] != PEL_NONE) return m->b_of[a] == b || jumped(c, m->b_of[a]) == jumped(c, b);
        if (ends_handler(m, a)) {
            uint32_t end = b;
            if (m->goes_on == PEL_NONE) m->goes_on = end;
            return jumped(c, m->goes_on) == jumped(c, end) || same_path_end(c, m->goes_on, end);
        }
        bool a_jumps = c->at[a].op == PEL_I_JUMP, b_jumps = c->at[b].op == PEL_I_JUMP;
        if (a_jumps && b_jumps) { /* out of the body both, or within it */
            m->b_of[a] = b;
            pel_push(m->ctx, &m->pairs, ((pair){ a, b }));
            if (c->at[a].target == c->at[b].target) return true;
            a = c->at[a].target;
            b = c->at[b].target;
            continue;
        }
        if (a_jumps) {
            a = c->at[a].target;
            continue;
        }
        if (b_jumps) {
            pel_push(m->ctx, &m->pairs, ((pair){ PEL_NONE, b }));
            b = c->at[b].target;
            continue;
        }
        break;
    }
    pel_push(m->ctx, &m->todo, ((pair){ a, b }));
    return true;
}

static bool match_guards(matching *m, uint32_t a, uint32_t b) {
    uint32_t ga = m->c->at[a].cover, gb = m->c->at[b].cover;
    if (ga == PEL_NONE || !is_inner(m, ga)) return true;
    if (gb == PEL_NONE) return false;
    if (m->guard_b[ga] != PEL_NONE) return m->guard_b[ga] == gb;
    const pel_guard *x = &m->c->guards[ga], *y = &m->c->guards[gb];
    if (x->kind != y->kind) return false;
    m->guard_b[ga] = gb;
    if (x->kind == PEL_G_WITH) return x->exit == PEL_NONE || y->exit == PEL_NONE || add_pair(m, x->exit, y->exit);
    return add_pair(m, x->target, y->target);
}

static bool same_here(const matching *m, const pel_ins *x, const pel_ins *y) {
    if (x->op == PEL_I_FINALLY && y->op == PEL_I_FINALLY)
        return m->guard_b[x->arg] == y->arg || m->guard_b[x->arg] == PEL_NONE;
    return pel_norm_same_ins(x, y);
}

static bool match(matching *m, uint32_t a, uint32_t b) {
    const pel_canon *c = m->c;
    if (!add_pair(m, a, b)) return false;
    while (m->todo.n) {
        pair p = m->todo.at[--m->todo.n];
        if (m->b_of[p.a] != PEL_NONE) {
            if (m->b_of[p.a] != p.b) return false;
            continue;
        }
        const pel_ins *x = &c->at[p.a], *y = &c->at[p.b];
        if (!same_here(m, x, y)) {
            uint32_t behind = skip_pops(c, p.a);
            if (behind == p.a || !add_pair(m, behind, p.b)) return false;
            continue;
        }
        if (m->pairs.n > MAX_COPY) return false;
        m->b_of[p.a] = p.b;
        pel_push(m->ctx, &m->pairs, p);
        if (!match_guards(m, p.a, p.b)) return false;
        if (x->target != PEL_NONE && x->target != y->target && !add_pair(m, x->target, y->target)) return false;
        if (!pel_ends(x) && !add_pair(m, p.a + 1, p.b + 1)) return false;
    }
    return true;
}

static bool is_covered(const pel_canon *c, uint32_t i, uint32_t guard) {
    for (uint32_t g = c->at[i].cover; g != PEL_NONE; g = c->guards[g].outer)
        if (g == guard) return true;
    return false;
}

/* Marks what goes with a copy: all of it, but for jumps at its end that others use, too. False, and nothing marked, if
 * something else comes into the middle. */
static bool mark_copy(matching *m, uint32_t from, bool *gone) {
    const pel_canon *c = m->c;
    bool *copied = pel_new_array(m->ctx, (size_t)c->n + 1, bool);
    for (uint32_t i = 0; i < m->pairs.n; i++) copied[m->pairs.at[i].b] = !gone[m->pairs.at[i].b];
    for (uint32_t i = 0; i < c->n; i++) {
        if (copied[i] || gone[i]) continue;
        uint32_t to[] = { c->at[i].target, pel_ends(&c->at[i]) ? PEL_NONE : i + 1 };
        for (uint32_t k = 0; k < PEL_COUNT(to); k++) {
            if (to[k] >= c->n || to[k] == from || !copied[to[k]]) continue;
            if (c->at[to[k]].op != PEL_I_JUMP) return false;
            copied[to[k]] = false;
        }
    }
    for (uint32_t i = 0; i < c->n; i++) gone[i] |= copied[i];
    return true;
}

/* Replaces a copy that was matched. */
static void replace(matching *m, uint32_t from, bool *gone, bool *changed) {
    pel_canon *c = m->c;
    if (!mark_copy(m, from, gone)) return;
    uint32_t second = PEL_NONE;
    for (uint32_t i = 0; i < m->pairs.n; i++) {
        uint32_t b = m->pairs.at[i].b;
        if (gone[b] && b > from && (second == PEL_NONE || b < second)) second = b;
    }
    gone[from] = false;
    pel_ins *ins = &c->at[from];
    ins->op = PEL_I_FINALLY;
    ins->arg = m->guard;
    ins->sub = 0;
    ins->flag = m->goes_on == PEL_NONE;
    ins->target = PEL_NONE;
    ins->name = NULL;
    ins->cover = c->guards[m->guard].outer; /* the body may begin with a try of its own */
    *changed = true;
    if (m->goes_on == PEL_NONE) return;
    uint32_t next = from + 1;
    while (next < c->n && gone[next]) next++;
    if (next == m->goes_on || (next < c->n && jumped(c, next) == jumped(c, m->goes_on))) return;
    if (second == PEL_NONE) pel_throw(m->ctx, PEL_E_INCOMPLETE, ins->offset, "a `finally` body too short to leave");
    gone[second] = false;
    pel_ins *jump = &c->at[second];
    jump->op = PEL_I_JUMP;
    jump->target = jumped(c, m->goes_on); /* a jump there may be part of the copy */
    jump->sub = 0;
    jump->flag = false;
    jump->arg = 0;
    jump->name = NULL;
    /* it must be directly after */
    if (second != from + 1) {
        gone[second] = true;
        gone[from + 1] = false;
        c->at[from + 1] = *jump;
    }
}

static void try_copy(pel_ctx *ctx, pel_canon *c, uint32_t guard, uint32_t at, uint32_t *b_of, uint32_t *guard_b,
                     bool *gone, bool *changed) {
    if (gone[at] || c->at[at].op == PEL_I_FINALLY) return;
    matching m = { .ctx = ctx, .c = c, .guard = guard, .b_of = b_of, .guard_b = guard_b, .goes_on = PEL_NONE };
    bool same = match(&m, c->guards[guard].target + 1, at);
    for (uint32_t i = 0; i < m.pairs.n; i++)
        if (m.pairs.at[i].a != PEL_NONE) b_of[m.pairs.at[i].a] = PEL_NONE;
    memset(guard_b, 0xff, c->n_guards * sizeof *guard_b);
    if (!same || !m.pairs.n) return;
    replace(&m, at, gone, changed);
}

static void reach(pel_ctx *ctx, const pel_canon *c, bool *reached, uint32_t start) {
    PEL_VEC(uint32_t) todo = { 0 };
    pel_push(ctx, &todo, start);
    while (todo.n) {
        for (uint32_t i = todo.at[--todo.n]; i < c->n && !reached[i]; i++) {
            reached[i] = true;
            if (c->at[i].target != PEL_NONE) pel_push(ctx, &todo, c->at[i].target);
            if (pel_ends(&c->at[i])) break;
        }
    }
}

/* Where the ends of a copy had been copied in their turn, all but one are out of reach now; and a jump to what has
 * become its neighbour says nothing. */
void pel_canon_sweep(pel_ctx *ctx, pel_canon *c) {
    bool *reached = pel_new_array(ctx, (size_t)c->n + 1, bool), *gone = pel_new_array(ctx, (size_t)c->n + 1, bool);
    bool *used = pel_new_array(ctx, (size_t)c->n_guards + 1, bool);
    for (uint32_t i = 0; i < c->n; i++)
        if (i == 0 || c->at[i].dead) reach(ctx, c, reached, i);
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < c->n; i++) {
            uint32_t g = c->at[i].cover;
            if (!reached[i] || g == PEL_NONE || used[g]) continue;
            used[g] = more = true;
            uint32_t start = c->guards[g].kind == PEL_G_WITH ? c->guards[g].exit : c->guards[g].target;
            if (start < c->n) reach(ctx, c, reached, start);
        }
    }
    for (uint32_t i = 0; i < c->n; i++) {
        gone[i] = !reached[i];
        uint32_t next = i + 1;
        while (next < c->n && !reached[next]) next++;
        if (c->at[i].op == PEL_I_JUMP && c->at[i].target == next && next < c->n && c->at[next].level == c->at[i].level)
            gone[i] = true;
    }
    pel_canon_compact(ctx, c, gone, NULL);
}

/* ---- what leaves a handler through a `finally` ---- */

#define MAX_LEAVING 8

/* Where [at, end) only leaves blocks and then returns a constant: its end. Else PEL_NONE. */
static uint32_t leaving_end(const pel_canon *c, uint32_t at) {
    for (uint32_t i = at; i < c->n && i < at + MAX_LEAVING; i++) {
        if (i > at && c->at[i].is_target) return PEL_NONE;
        switch (c->at[i].op) {
        case PEL_I_FINALLY:
        case PEL_I_WITH_EXIT:
        case PEL_I_POP:
        case PEL_I_CONST: break;
        case PEL_I_RETURN: return i + 1;
        default: return PEL_NONE;
        }
    }
    return PEL_NONE;
}

/* Puts [from, to) in the place of the jump that leads there. */
static void move_to_jump(pel_ctx *ctx, pel_canon *c, uint32_t jump, uint32_t from, uint32_t to) {
    pel_ins *at = pel_alloc_raw(ctx, c->n * sizeof *at);
    uint32_t *place = pel_new_array(ctx, (size_t)c->n + 1, uint32_t), n = 0;
    for (uint32_t i = 0; i <= c->n; i++) {
        place[i] = n;
        if (i == jump) {
            for (uint32_t k = from; k < to; k++, n++) {
                place[k] = n;
                at[n] = c->at[k];
                at[n].within = c->at[jump].within;
                at[n].level = c->at[jump].level;
            }
        } else if (i < c->n && (i < from || i >= to))
            at[n++] = c->at[i];
    }
    place[jump] = place[from];
    for (uint32_t i = 0; i < n; i++)
        if (at[i].target != PEL_NONE) at[i].target = place[at[i].target];
    for (uint32_t g = 0; g < c->n_guards; g++) {
        uint32_t *labels[] = { &c->guards[g].target, &c->guards[g].exit, &c->guards[g].stood };
        for (uint32_t k = 0; k < PEL_COUNT(labels); k++)
            if (*labels[k] != PEL_NONE) *labels[k] = place[*labels[k]];
    }
    c->n_main = place[c->n_main];
    c->at = at;
    c->n = n;
}

/* Whether the main path leaves in the same way elsewhere: then both are copies of what follows the statement. */
static bool has_like(const pel_canon *c, uint32_t at) {
    for (uint32_t i = 0; i < c->n_main; i++)
        if (i != at && c->at[i].op == PEL_I_FINALLY && c->at[i].arg == c->at[at].arg && same_path_end(c, i, at))
            return true;
    return false;
}

/* `return` in a handler runs the bodies of `finally` around it. Before those were known as such, they looked like what
 * comes after the handler: now they go back into it. */
static bool bring_back(pel_ctx *ctx, pel_canon *c) {
    bool changed = false;
    for (uint32_t i = c->n_main ? c->n_main : 1; i < c->n; i++) {
        uint32_t to = c->at[i].target;
        if (c->at[i].op != PEL_I_JUMP || to >= c->n_main || c->at[i - 1].op != PEL_I_POP_EXC || c->at[i].is_target)
            continue;
        if (c->at[to].op != PEL_I_FINALLY || c->target_of[to] != 1 || to == 0 || !pel_ends(&c->at[to - 1])) continue;
        uint32_t end = leaving_end(c, to);
        if (end == PEL_NONE || end >= c->n_main) continue;
        if (c->copies_exits && has_like(c, to)) continue;
        move_to_jump(ctx, c, i, to, end);
        pel_canon_finish(c);
        changed = true;
    }
    return changed;
}

/* The end of a handler is short enough to be copied, too: one is enough. */
static void one_end(pel_canon *c, uint32_t guard) {
    uint32_t last = PEL_NONE;
    for (uint32_t i = c->n; i-- > 0;) {
        pel_ins *ins = &c->at[i];
        if (ins->op != PEL_I_RERAISE || ins->within != guard) continue;
        if (last != PEL_NONE) {
            ins->op = PEL_I_JUMP;
            ins->target = last;
        } else
            last = i;
    }
}

void pel_norm_finally(pel_ctx *ctx, pel_canon *c) {
    bool any = false;
    for (uint32_t g = 0; g < c->n_guards && !any; g++) any = c->guards[g].kind == PEL_G_FINALLY;
    if (!any) return;
    for (uint32_t g = 0; g < c->n_guards; g++)
        if (c->guards[g].kind == PEL_G_FINALLY) one_end(c, g);
    pel_canon_finish(c);
    uint32_t *b_of = pel_alloc_raw(ctx, (c->n + 1) * sizeof *b_of),
             *guard_b = pel_alloc_raw(ctx, (c->n_guards + 1) * sizeof *guard_b);
    memset(b_of, 0xff, (c->n + 1) * sizeof *b_of);
    memset(guard_b, 0xff, (c->n_guards + 1) * sizeof *guard_b);
    bool *gone = pel_new_array(ctx, (size_t)c->n + 1, bool), changed = false;
    /* innermost first: what is within a `finally` body is done before the body is compared */
    uint32_t *order = pel_new_array(ctx, (size_t)c->n_guards + 1, uint32_t);
    uint32_t n = 0;
    for (uint32_t g = 0; g < c->n_guards; g++) {
        if (c->guards[g].kind != PEL_G_FINALLY || c->guards[g].first == PEL_NONE) continue;
        uint32_t k = n++;
        for (; k > 0; k--) {
            const pel_guard *x = &c->guards[order[k - 1]], *y = &c->guards[g];
            uint32_t level_x = c->at[x->first].level, level_y = c->at[y->first].level;
            if (level_x > level_y || (level_x == level_y && x->first > y->first)) break;
            order[k] = order[k - 1];
        }
        order[k] = g;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t g = order[k];
        uint32_t body = c->guards[g].target + 1;
        if (body >= c->n || c->at[body].op == PEL_I_RERAISE) continue; /* finally: pass */
        for (uint32_t w = 0; w < c->n_guards; w++) {                   /* a swallowed exception leaves, too */
            uint32_t exit = c->guards[w].exit;
            if (c->guards[w].kind != PEL_G_WITH || exit >= c->n || c->guards[w].first == PEL_NONE) continue;
            if (is_covered(c, c->guards[w].first, g) && !is_covered(c, exit, g))
                try_copy(ctx, c, g, exit, b_of, guard_b, gone, &changed);
        }
        for (uint32_t i = 0; i < c->n; i++) {
            if (gone[i] || !is_covered(c, i, g)) continue;
            const pel_ins *ins = &c->at[i];
            uint32_t to = ins->target;
            if (to != PEL_NONE && !is_covered(c, to, g)) try_copy(ctx, c, g, to, b_of, guard_b, gone, &changed);
            uint32_t next = i + 1;
            while (next < c->n && gone[next]) next++;
            if (!pel_ends(ins) && next < c->n && !is_covered(c, next, g))
                try_copy(ctx, c, g, next, b_of, guard_b, gone, &changed);
        }
    }
    if (changed) pel_canon_compact(ctx, c, gone, NULL);
    pel_canon_finish(c);
    if (bring_back(ctx, c) || changed) pel_canon_sweep(ctx, c);
}
