/* try and with. The code of handlers follows everything else, so the main path reads as if there were none. The guard
 * says what a statement covers. Its handlers are read at their own place, and the statement ends where they return
 * to the main path. */
#include "decompile/lift.h"

/* A try statement on its way from instructions to a node. */
typedef struct trying {
    pel_lift *l;
    region *r;
    const stack *s;
    const pel_guard *guard;
    uint32_t at, end; /* what is covered */
    pel_nodes handlers;
    PEL_VEC(uint32_t) exits; /* per handler: where it went on when it was done, or PEL_NONE */
    uint32_t after;          /* where the statement ends: what the handlers that are done go on with, or PEL_NONE */
    bool to_fall;            /* some of them go on after the region */
    bool to_end;             /* the else reaches to the end of the region, as the order of the handlers tells */
    bool completes;          /* something goes on after the statement without an exception */
    uint32_t next;           /* where the main path goes on */
    uint32_t tail;           /* what follows the statement, where only handlers lead there; or PEL_NONE */
} trying;

/* The code of a handler reaches at most here. */
static uint32_t handler_end(const pel_lift *l, uint32_t at) {
    uint32_t i = at + 1;
    for (; i < l->c->n && l->c->at[i].level == l->c->at[at].level; i++)
        if (l->c->at[i].op == PEL_I_EXC) break;
    return i;
}

/* Expressions up to the test of the exception's type. */
static uint32_t read_type(pel_lift *l, stack *s, uint32_t at, uint32_t end) {
    while (at < end && l->c->at[at].op != PEL_I_EXC_MATCH) {
        if (pel_is_cond(&l->c->at[at])) {
            test t;
            uint32_t next;
            if (!pel_read_cond(l, s, at, end, &t, &next)) pel_lift_fail(l, at, "a handler's type is no expression");
            at = next;
            continue;
        }
        if (l->c->at[at].op == PEL_I_JUMP) pel_lift_fail(l, at, "a handler's type is no expression");
        pel_step(l, s, at++);
    }
    if (at >= end) pel_lift_fail(l, at, "a handler without a type");
    return at;
}

/* except clauses, one after the other */
static void read_clauses(trying *t) {
    pel_lift *l = t->l;
    region *r = t->r;
    uint32_t at = t->guard->target + 1, limit = handler_end(l, t->guard->target);
    while (at < l->c->n && l->c->at[at].op != PEL_I_RERAISE) {
        stack w = pel_stack_copy(l, t->s, t->s->n);
        pel_stack_push(l, &w, (item){ .kind = IT_EXC, .at = at });
        uint32_t next = limit;
        pel_node *clause = pel_make(l, PEL_ExceptHandler, at);
        bool bare = l->c->at[at].op == PEL_I_POP;
        if (!bare) {
            pel_stack_push(l, &w, (item){ .kind = IT_EXC, .at = at });
            at = read_type(l, &w, at, limit);
            clause->ExceptHandler.type = pel_pop_expr(l, &w, at);
            next = l->c->at[at].target;
            pel_stack_pop(l, &w, at++);
            if (next <= at) pel_lift_fail(l, at, "handlers out of order");
            const pel_ins *ins = &l->c->at[at];
            if (ins->op == PEL_I_STORE)
                clause->ExceptHandler.name = pel_unmangle(l, ins->name);
            else if (ins->op != PEL_I_POP)
                pel_lift_fail(l, at, "a handler that keeps its exception");
        }
        at++;
        region body = {
            .outer = r, .end = next, .fall = PEL_NONE, .loop = r->loop, .is_handler = true, .exit = PEL_NONE
        };
        pel_region_begin(l, &body, &w);
        pel_read_range(l, &body, &w, at);
        clause->ExceptHandler.body = body.out;
        pel_nodes_push(l->ctx, &t->handlers, clause);
        pel_push(l->ctx, &t->exits, body.done ? body.exit : PEL_NONE);
        if (bare || next >= limit) break;
        at = next;
    }
}

/* A handler that went on at a place: the label it means. */
static uint32_t label_of(const pel_lift *l, uint32_t exit) {
    return l->c->at[exit].op == PEL_I_JUMP ? l->c->at[exit].target : exit;
}

static bool is_const_return(const pel_lift *l, uint32_t at) {
    return at + 1 < l->c->n && l->c->at[at].op == PEL_I_CONST && l->c->at[at + 1].op == PEL_I_RETURN &&
           l->c->at[at + 1].sub != 1;
}

static bool returns_none(const pel_lift *l, uint32_t at) {
    return is_const_return(l, at) && l->c->at[at].value->kind == PEL_CONST_NONE;
}

/* The end of a handler and of the function after it, short enough for the compiler to copy. */
static bool is_copied_end(const pel_lift *l, uint32_t at) {
    return l->c->copies_exits && at + 2 < l->c->n && l->c->at[at].op == PEL_I_POP_EXC &&
           l->c->at[at + 1].op == PEL_I_CONST && l->c->at[at + 1].value->kind == PEL_CONST_NONE &&
           l->c->at[at + 2].op == PEL_I_RETURN;
}

void pel_read_tail(pel_lift *l, region *r, const stack *s, uint32_t at, pel_nodes *out) {
    region tail = { .outer = r, .end = l->c->n, .fall = r->fall, .loop = r->loop, .open_ended = true };
    stack w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &tail, &w);
    pel_read_range(l, &tail, &w, at);
    for (uint32_t i = 0; i < tail.out.n; i++) pel_nodes_push(l->ctx, out, tail.out.at[i]);
}

static bool reaches(const pel_lift *l, uint32_t from, uint32_t to) {
    if (to > from && !pel_ends(&l->c->at[to - 1]) && !l->c->at[to - 1].dead) return true;
    for (uint32_t i = from; i < to; i++)
        if (l->c->at[i].target == to) return true;
    for (uint32_t g = 0; g < l->c->n_guards; g++) { /* a `with` in between that swallowed an exception */
        const pel_guard *guard = &l->c->guards[g];
        if (guard->kind == PEL_G_WITH && guard->exit == to && guard->first > from && guard->first < to) return true;
    }
    return false;
}

static bool is_covered(const pel_lift *l, uint32_t at, const pel_guard *guard) {
    uint32_t g = l->c->at[at].cover;
    while (g != PEL_NONE && &l->c->guards[g] != guard) g = l->c->guards[g].outer;
    return g != PEL_NONE;
}

/* Behind the last covered instruction there may be ends of paths that are no longer covered: returns, jumps. They
 * belong to the body if something in it jumps over them. */
static uint32_t body_end(const pel_lift *l, const pel_guard *guard, uint32_t from, uint32_t limit) {
    uint32_t end = guard->last + 1, furthest = end;
    for (uint32_t i = from; i < end; i++) {
        uint32_t to = l->c->at[i].target;
        if (to == PEL_NONE || to <= furthest || to > limit || to >= l->c->n) continue;
        if (!l->c->moves_cold && !is_covered(l, i, guard)) continue; /* it has left; the newest leave gaps */
        if (l->c->at[to].level != l->c->at[from].level || !pel_ends(&l->c->at[to - 1])) continue;
        furthest = to;
    }
    return furthest;
}

static pel_nodes with_pass(pel_lift *l, pel_nodes body) {
    if (!body.n) pel_nodes_push(l->ctx, &body, pel_node_new(l->ctx, PEL_Pass));
    return body;
}

static bool leaves_loop(const loop *lp, uint32_t label) { return label < lp->from || label >= lp->end; }

static bool runs_finally(const pel_lift *l, uint32_t at, const pel_guard *guard) {
    return at < l->c->n && l->c->at[at].op == PEL_I_FINALLY && &l->c->guards[l->c->at[at].arg] == guard;
}

/* The body of a `finally` may come to its end only by handlers that stand in it. */
static uint32_t finally_end(const pel_lift *l, const region *r, const pel_guard *guard, uint32_t end) {
    bool returns_value = end + 1 < l->c->n && l->c->at[end + 1].op == PEL_I_RETURN;
    if (runs_finally(l, end, guard) && !returns_value) return end;
    for (uint32_t i = l->c->n_main; i < l->c->n; i++) {
        uint32_t to = l->c->at[i].target;
        if (l->c->at[i].op == PEL_I_JUMP && to > end && to <= r->end && runs_finally(l, to, guard) &&
            pel_ends(&l->c->at[to - 1]) && is_covered(l, i, guard))
            end = to;
    }
    return end;
}

/* Whether a path ends just before a place, in a line from before the handler. */
static bool ends_before(const pel_lift *l, uint32_t at, uint32_t handler) {
    const pel_ins *last = &l->c->at[at - 1];
    return !l->plainly && pel_ends(last) && last->line && last->line < l->c->at[handler].line;
}

static uint32_t read_finally(pel_lift *l, region *r, stack *s, uint32_t at, const pel_guard *guard) {
    uint32_t end = finally_end(l, r, guard, body_end(l, guard, at, r->end));
    stack w = pel_stack_copy(l, s, s->n);
    pel_stack_push(l, &w, (item){ .kind = IT_EXC, .at = at });
    pel_stack_push(l, &w, (item){ .kind = IT_EXC, .at = at });
    region final = {
        .outer = r, .end = handler_end(l, guard->target), .fall = PEL_NONE, .loop = r->loop, .is_handler = true
    };
    pel_region_begin(l, &final, &w);
    pel_read_range(l, &final, &w, guard->target + 1);
    uint32_t start = r->start;
    region body = { .outer = r, .end = end, .fall = pel_resolve(l, end), .loop = r->loop };
    w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &body, &w);
    uint32_t next = pel_read_range(l, &body, &w, at);
    bool completes = runs_finally(l, next, guard);
    if (body.left_to && l->c->at[body.left_to].op != PEL_I_FINALLY)
        pel_lift_fail(l, at, "a `finally` that is left behind");
    bool empty = l->c->at[guard->target + 1].op == PEL_I_RERAISE;
    if (!completes && !empty && reaches(l, at, next))
        pel_lift_fail(l, next, "a `finally` whose body is not run at the end");
    if (completes) next++;
    const pel_ins *behind = next < l->c->n ? &l->c->at[next] : NULL;
    bool before = guard->stood != PEL_NONE && next < guard->stood && next < r->end;
    /* a function that comes to its end has a `return None` there, too, but not in a line of the body */
    bool at_end = behind && !l->c->keeps_dead && behind->op == PEL_I_CONST && behind->value->kind == PEL_CONST_NONE &&
                  (!behind->line || behind->line >= l->c->at[guard->target + 1].line);
    bool leaves = is_const_return(l, next) || (behind && behind->op == PEL_I_JUMP) ||
                  (before && guard->stood <= r->end && ends_before(l, guard->stood, guard->target + 1));
    if (completes && before && !at_end && leaves) {
        /* what is before the handler is part of the body: a return, break or continue */
        pel_read_tail(l, r, s, next, &body.out);
        next = guard->stood < r->end ? guard->stood : r->end;
    }
    pel_node *node = pel_node_new(l->ctx, PEL_Try);
    pel_node *inner = body.out.n == 1 ? body.out.at[0] : NULL;
    bool merge = inner && (inner->kind == PEL_Try || inner->kind == PEL_TryStar) && !inner->Try.finalbody.n;
    if (merge)
        node = inner;
    else
        node->Try.body = with_pass(l, body.out);
    node->Try.finalbody = with_pass(l, final.out);
    r->start = start;
    node->mark = 0;
    pel_lift_emit(l, node);
    return next;
}

/* Whether a place is within the same handlers' ranges as a statement whose handler has this one around it. */
static bool covered_alike(const pel_lift *l, uint32_t outer, uint32_t at) {
    if (outer == PEL_NONE) return true;
    for (uint32_t g = l->c->at[at].cover; g != PEL_NONE; g = l->c->guards[g].outer)
        if (g == outer) return true;
    return is_const_return(l, at);
}

/* Nothing but the end of a path in [from, to). */
static bool reads_straight(const pel_lift *l, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        if (pel_ends(&l->c->at[i])) return i + 1 == to;
    return false;
}

/* Compilers that put all handlers at the end put them in the order in which their statements end. So a statement after
 * this one whose handlers come first is in the else of this one; and so is an await whose clean-up does. */
static bool order_tells_else(const pel_lift *l, const region *r, const pel_guard *guard) {
    if (!l->c->moves_cold) return false;
    for (uint32_t g = 0; g < l->c->n_guards; g++) {
        const pel_guard *other = &l->c->guards[g];
        if (other->first <= guard->last || other->first >= r->end) continue;
        if (l->c->at[other->first].level == l->c->at[guard->first].level && other->offset < guard->offset) return true;
    }
    for (uint32_t i = guard->last + 1; i < r->end; i++)
        if (l->c->at[i].cold && l->c->at[i].cold < guard->offset) return true;
    return false;
}

/* The end of a body jumps over the handlers, and a jump that leads there is led on. Where that shows, one that was not
 * led on goes to something else at the end of the body: an else. */
static bool jumps_tell_else(const pel_lift *l, const pel_guard *guard, uint32_t end) {
    if (!l->c->bares_jumps) return false;
    uint32_t mine = (uint32_t)(guard - l->c->guards);
    for (uint32_t i = guard->first; i <= guard->last; i++)
        if (l->c->at[i].op == PEL_I_JUMP && l->c->at[i].target == end && l->c->at[i].cover == mine) return true;
    for (uint32_t g = 0; g < l->c->n_guards; g++)
        if (l->c->guards[g].leads_on && l->c->guards[g].outer == mine && l->c->guards[g].exit == end) return true;
    return false;
}

/* A test that ends the body of a `for` jumps back itself. Where it leads to a jump back that is the last of the loop,
 * the end of something else stood between, and here only an else part is left for that. */
static bool loop_tells_else(const pel_lift *l, const region *r, uint32_t from) {
    if (!l->c->bares_jumps || !r->loop || r->end != r->loop->end || r->end < 2) return false;
    uint32_t last = r->end - 1;
    if (l->c->at[last].op != PEL_I_JUMP || l->c->at[last].target != r->loop->head) return false;
    if (l->c->at[r->loop->head].op != PEL_I_FOR) return false;
    for (uint32_t i = from; i < last; i++)
        if (pel_is_pop_jump(&l->c->at[i]) && l->c->at[i].target == last) return true;
    return false;
}

/* Where a body comes to its end, it goes to the jump that ends the loop: that has a line, so no jump is led past it. */
static bool continues_while(const pel_lift *l, const region *r, uint32_t label) {
    return r->loop && l->c->copies_exits && label == r->loop->head && l->c->at[label].op != PEL_I_FOR &&
           r->end == r->loop->end && l->c->at[r->end - 1].op == PEL_I_JUMP && l->c->at[r->end - 1].target == label;
}

static bool ends_in_raise(const pel_nodes *body) { return body->n && body->at[body->n - 1]->kind == PEL_Raise; }

/* The last `return` of a function is one that nobody wrote. */
static void comes_to_end(pel_nodes *body) {
    pel_node *last = body->n ? body->at[body->n - 1] : NULL;
    if (last && last->kind == PEL_Return) last->parens = 2;
}

static bool is_on_level_of(const pel_lift *l, uint32_t label, uint32_t at) {
    return l->c->at[label < l->c->n ? label : 0].level == l->c->at[at].level;
}

/* The end of the clause around in [from, to), copied before the handlers that stood between: nobody wrote it, so it has
 * no line of its own. */
static uint32_t end_of_clause(const trying *t, uint32_t from, uint32_t to) {
    const pel_ins *at = t->l->c->at;
    if (!t->r->is_handler || !t->l->c->moves_cold) return to;
    for (uint32_t i = to; i-- > from;) {
        bool ends = at[i].op == PEL_I_POP_EXC && at[i].within == at[t->at].within && at[i - 1].op != PEL_I_SWAP;
        if (ends && pel_is_unwritten(t->l, t->at, i)) return i;
    }
    return to;
}

/* Whether a handler that goes on at a place leaves by a `return` that somebody wrote, and by no copy of what follows.
 * At the end of the function that makes no difference. */
static bool is_written_end(const trying *t, uint32_t exit) {
    const pel_lift *l = t->l;
    if (!l->c->copies_exits) return true; /* nothing is copied */
    if (l->plainly || exit < 2 || l->c->moves_cold || l->c->else_first || t->end + 2 >= l->c->n_main) return false;
    const pel_ins *pop = &l->c->at[exit - 1], *before = &l->c->at[exit - 2];
    return is_const_return(l, exit) && pop->op == PEL_I_POP_EXC && pop->line && !pop->is_target &&
           before->line != pop->line;
}

static void find_after(trying *t) {
    pel_lift *l = t->l;
    region *r = t->r;
    const pel_guard *guard = t->guard;
    t->after = PEL_NONE;
    for (uint32_t i = 0; i < t->exits.n; i++) {
        uint32_t exit = t->exits.at[i];
        if (exit == PEL_NONE) continue;
        uint32_t label = label_of(l, exit);
        if (label == exit) { /* code instead of a jump: a copy of what follows, or what follows itself */
            if (label != t->end && !is_written_end(t, exit) && pel_same_run(l, label, t->end) &&
                body_end(l, guard, t->at, r->end) == t->end)
                t->after = t->end;
            continue;
        }
        bool inside = label >= t->end && (label < r->end || (label == r->end && pel_resolve(l, label) == r->fall));
        if (inside && is_on_level_of(l, label, t->at))
            t->after = label;
        else if (pel_resolve(l, label) == r->fall)
            t->to_fall = true;
    }
    if (guard->stood != PEL_NONE && l->c->else_first && guard->kind != PEL_G_GROUP)
        t->after = end_of_clause(t, t->end, guard->stood < r->end ? guard->stood : r->end);
    if (t->after != PEL_NONE && t->after > t->end && r->is_handler && l->c->at[t->after - 1].op == PEL_I_RERAISE)
        t->after--; /* the end of the handler around, which is no part of an else */
}

/* Whether a statement begins at a place: in a line that nothing comes from, and that was written before the handler.
 * What follows the statement, and copies of it, have later lines. */
static bool is_written_before(const pel_lift *l, const pel_guard *guard, uint32_t at) {
    uint32_t line = l->c->at[at].line;
    if (l->plainly || !line || line >= l->c->at[guard->target].line || line == l->c->at[at - 1].line) return false;
    if (l->c->at[at - 1].op == PEL_I_FINALLY) return false; /* several lines in one */
    for (uint32_t i = guard->first; i < at; i++)
        if (l->c->at[i].target == at && l->c->at[i].line == line) return false;
    return true;
}

/* Where handlers stood between, and an else after them, all that stood before them is of the body: a `break` leaves
 * what is covered first. But for copies of what follows; those have lines from after the handlers. */
static bool leaves_in_body(const trying *t, uint32_t end, uint32_t limit) {
    const pel_lift *l = t->l;
    uint32_t stood = t->guard->stood;
    if (l->c->else_first || stood == PEL_NONE || stood <= end || stood > limit) return false;
    const pel_ins *last = &l->c->at[stood - 1];
    if (pel_ends(last) && is_written_before(l, t->guard, end)) return true;
    if (!t->r->loop) return false;
    bool jumps_out = last->op == PEL_I_JUMP && leaves_loop(t->r->loop, last->target);
    bool falls_out = last->op == PEL_I_POP && end + 1 == stood && stood == t->r->loop->end;
    if (!jumps_out && !falls_out) return false;
    for (uint32_t i = end; i < stood; i++)
        if (l->c->at[i].line > l->c->at[t->guard->target].line) return false;
    return true;
}

static pel_nodes read_try_body(trying *t) {
    pel_lift *l = t->l;
    uint32_t limit = t->after != PEL_NONE ? t->after : t->r->end;
    if (t->guard->stood < limit) limit = t->guard->stood;
    uint32_t end = body_end(l, t->guard, t->at, limit);
    if (t->after != end && is_const_return(l, end) && reaches(l, t->at, end) && end + 2 <= limit) end += 2;
    if (leaves_in_body(t, end, limit)) end = t->guard->stood;
    region body = { .outer = t->r, .end = end, .fall = pel_resolve(l, end), .loop = t->r->loop };
    stack w = pel_stack_copy(l, t->s, t->s->n);
    pel_region_begin(l, &body, &w);
    t->next = pel_read_range(l, &body, &w, t->at);
    if (body.left_to) t->tail = body.left_to;
    return with_pass(l, body.out);
}

/* What follows, copied to the end of the body, is no else. */
static bool is_copied_behind(const trying *t) {
    return t->l->c->copies_exits && t->after != PEL_NONE && t->after > t->next && t->after < t->r->end &&
           pel_same_run(t->l, t->next, t->after) && reads_straight(t->l, t->next, t->after);
}

/* The function's end, where nobody wrote a `return`. */
static bool is_unwritten_end(const pel_lift *l, uint32_t at) {
    return at + 1 < l->c->n && l->c->at[at].op == PEL_I_CONST && l->c->at[at + 1].op == PEL_I_RETURN &&
           l->c->at[at + 1].sub == 1;
}

/* Whether a handler comes to the end of the function, and what is before the region's end does, too. */
static bool handler_comes_to_end(const trying *t) {
    const pel_lift *l = t->l;
    uint32_t end = t->r->end;
    if (end < 2 || (!returns_none(l, end - 2) && !is_unwritten_end(l, end - 2))) return false;
    for (uint32_t i = 0; i < t->exits.n; i++)
        if (t->exits.at[i] != PEL_NONE && is_unwritten_end(l, t->exits.at[i])) return true;
    return false;
}

/* Whether all the rest of the region, from a place on, is the else part, though no handler says where that ends. */
static bool else_reaches_end(const trying *t, uint32_t from) {
    return order_tells_else(t->l, t->r, t->guard) || jumps_tell_else(t->l, t->guard, from) ||
           loop_tells_else(t->l, t->r, from) || handler_comes_to_end(t);
}

static pel_nodes read_try_else(trying *t) {
    pel_lift *l = t->l;
    region *r = t->r;
    pel_nodes orelse = { 0 };
    uint32_t from = t->next;
    t->to_end = t->after == PEL_NONE && from < r->end && else_reaches_end(t, from);
    bool is_copied = is_copied_behind(t), has_else = false;
    bool to_head = r->loop && r->fall == r->loop->head && !l->c->keeps_dead; /* then handlers say `continue` */
    if (t->after != PEL_NONE && t->after > from) {
        t->next = t->after;
        has_else = !is_copied;
        if (has_else) orelse = pel_read_body(l, r, t->s, from, t->after, t->after < r->end ? t->after : r->fall);
    } else if (t->to_end || (t->after == PEL_NONE && t->to_fall && from < r->end && !to_head)) {
        t->next = r->end;
        has_else = true;
        orelse = pel_read_body(l, r, t->s, from, r->end, r->fall);
        if (t->to_end && returns_none(l, r->end - 2)) comes_to_end(&orelse);
    }
    bool else_ends = has_else && !reaches(l, from, t->next) && l->c->at[t->next - 1].op != PEL_I_JUMP;
    t->completes = reaches(l, t->at, t->next) || (has_else && !else_ends) || is_copied;
    return orelse;
}

/* Whether the end of a path is a copy: those keep their line, but for the ends of a function and of a clause, which
 * have none. */
static bool is_copy_of(const pel_lift *l, uint32_t copy, uint32_t of) {
    if (l->c->keeps_dead || !pel_same_run(l, copy, of)) return false;
    const pel_ins *a = &l->c->at[copy], *b = &l->c->at[of];
    bool is_end = a->op == PEL_I_POP_EXC || a->op == PEL_I_RERAISE || returns_none(l, copy);
    bool is_written = a->line && b->line && !is_end;
    return l->plainly || !is_written || a->line == b->line;
}

/* Whether a handler that is done goes on after the statement. */
static bool falls_behind(const trying *t, uint32_t label) {
    const pel_lift *l = t->l;
    const region *r = t->r;
    uint32_t resolved = pel_resolve(l, label);
    if (t->after != PEL_NONE && (resolved == pel_resolve(l, t->after) || is_copy_of(l, label, t->after))) return true;
    bool at_end = t->next >= r->end || pel_resolve(l, t->next) == r->fall;
    if (at_end && resolved == r->fall) return true;
    bool ends_function = t->next >= r->end && r->end >= 2 && is_unwritten_end(l, r->end - 2);
    if (ends_function && label > 0 && returns_none(l, label) && l->c->at[label - 1].op == PEL_I_POP_EXC &&
        !l->c->at[label - 1].is_target)
        return true;
    return t->to_end && r->end >= 2 && (returns_none(l, label) || is_unwritten_end(l, label)) &&
           (returns_none(l, r->end - 2) || is_unwritten_end(l, r->end - 2));
}

/* Whether a handler ends in code of its own: it leaves more than the statement. */
static bool leaves_more(const pel_lift *l, uint32_t exit, uint32_t label) {
    uint8_t op = l->c->at[exit].op;
    return is_const_return(l, label) || op == PEL_I_POP || op == PEL_I_WITH_EXIT || op == PEL_I_FINALLY ||
           (op == PEL_I_POP_EXC && !is_copied_end(l, exit));
}

/* Only handlers go on after the statement: all of them in the same way. */
static void goes_on(trying *t, uint32_t label, uint32_t exit) {
    if (t->completes) pel_lift_fail(t->l, exit, "a handler that goes on where no statement ends");
    if (t->tail != PEL_NONE && !pel_same_run(t->l, t->tail, label))
        pel_lift_fail(t->l, exit, "handlers that go on in two ways");
    t->tail = label;
}

/* Whether a handler whose end has a line of its own goes back to the head of a loop: `continue`. Without that line its
 * end would be copied to each way that leads there. */
static bool says_continue(const trying *t, uint32_t exit, uint32_t label) {
    const pel_lift *l = t->l;
    return l->c->bares_jumps && !l->plainly && t->r->loop && label == t->r->loop->head &&
           l->c->at[exit - 1].op == PEL_I_POP_EXC && l->c->at[exit - 1].line && l->c->at[exit - 1].is_target &&
           !pel_is_unwritten(l, 0, exit - 1);
}

/* Whether a handler that is done ends the clause around it, too, and both go on where no loop is left or repeated. */
static bool ends_outer_clause(const trying *t, uint32_t exit) {
    const pel_lift *l = t->l;
    const loop *lp = t->r->loop;
    if (!t->r->is_handler || t->completes || exit + 1 >= l->c->n || l->c->at[exit].op != PEL_I_POP_EXC) return false;
    const pel_ins *jump = &l->c->at[exit + 1];
    return jump->op == PEL_I_JUMP && (!lp || (jump->target != lp->head && !leaves_loop(lp, jump->target)));
}

/* The last statement of a handler that is done. */
static void end_handler(trying *t, pel_nodes *body, uint32_t exit) {
    pel_lift *l = t->l;
    loop *lp = t->r->loop;
    uint32_t label = label_of(l, exit);
    bool jumps = l->c->at[exit].op == PEL_I_JUMP;
    if (falls_behind(t, label)) {
        if (jumps && (continues_while(l, t->r, label) || says_continue(t, exit, label)))
            pel_nodes_push(l->ctx, body, pel_make(l, PEL_Continue, exit));
    } else if (t->guard->kind == PEL_G_GROUP) { /* nothing else leaves such a handler */
        goes_on(t, label, exit);
    } else if (lp && l->c->at[exit].dead && ends_in_raise(body) && (label == lp->head || leaves_loop(lp, label))) {
        /* the handler's own end: every handler has one */
    } else if (lp && label == lp->head) {
        pel_nodes_push(l->ctx, body, pel_make(l, PEL_Continue, exit));
    } else if (lp && jumps && leaves_loop(lp, label)) {
        if (lp->broke_to == PEL_NONE) lp->broke_to = label;
        lp->n_breaks++;
        pel_nodes_push(l->ctx, body, pel_make(l, PEL_Break, exit));
    } else if (ends_outer_clause(t, exit)) {
        goes_on(t, label, exit);
    } else if (leaves_more(l, exit, label) || (t->completes && l->repeats_ends && pel_is_end(l, label))) {
        pel_read_tail(l, t->r, t->s, label, body);
    } else {
        goes_on(t, label, exit);
    }
}

/* What follows a statement that nothing on the main path comes after. */
static void read_behind(pel_lift *l, region *r, const stack *s, const pel_guard *guard, uint32_t tail) {
    if (!covered_alike(l, guard->outer, tail)) {
        r->left_to = tail; /* after a statement around this one */
        return;
    }
    region *saved = l->region;
    l->region = r;
    pel_read_tail(l, r, s, tail, &r->out);
    l->region = saved;
}

uint32_t pel_read_try(pel_lift *l, region *r, stack *s, uint32_t at, uint32_t g) {
    const pel_guard *guard = &l->c->guards[g];
    l->open[g] = true;
    if (guard->kind == PEL_G_WITH) pel_lift_fail(l, at, "a `with` handler without its statement");
    if (guard->kind == PEL_G_FINALLY) return read_finally(l, r, s, at, guard);
    trying t = { .l = l, .r = r, .s = s, .guard = guard, .at = at, .end = guard->last + 1, .tail = PEL_NONE };
    uint32_t start = r->start;
    read_clauses(&t);
    find_after(&t);
    pel_node *node = pel_node_new(l->ctx, guard->kind == PEL_G_GROUP ? PEL_TryStar : PEL_Try);
    node->Try.body = read_try_body(&t);
    node->Try.orelse = read_try_else(&t);
    for (uint32_t i = 0; i < t.handlers.n; i++) {
        pel_nodes *body = &t.handlers.at[i]->ExceptHandler.body;
        if (t.exits.at[i] != PEL_NONE) end_handler(&t, body, t.exits.at[i]);
        *body = with_pass(l, *body);
    }
    node->Try.handlers = t.handlers;
    r->start = start;
    pel_lift_emit(l, node);
    if (t.tail != PEL_NONE && r->is_handler && l->c->at[t.tail].op == PEL_I_POP_EXC) {
        r->done = true; /* the handler around ends there, too */
        r->exit = t.tail + 1;
    } else if (t.tail != PEL_NONE)
        read_behind(l, r, s, guard, t.tail);
    return t.next;
}

/* Whether all in [from, to) is a copy of what follows, up to its jump, and nothing else leads into it. */
static bool is_copied_run(const pel_lift *l, uint32_t from, uint32_t to) {
    if (to == PEL_NONE || to <= from || !reads_straight(l, from, to) || l->c->at[to - 1].op != PEL_I_JUMP) return false;
    for (uint32_t i = from; i < to; i++)
        if (l->c->at[i].is_target) return false;
    return true;
}

uint32_t pel_read_with(pel_lift *l, region *r, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    uint32_t g = at + 1 < l->c->n ? l->c->at[at + 1].cover : PEL_NONE;
    if (g == PEL_NONE || l->c->guards[g].kind != PEL_G_WITH || l->open[g])
        pel_lift_fail(l, at, "a `with` without a handler");
    const pel_guard *guard = &l->c->guards[g];
    l->open[g] = true;
    uint32_t start = r->start, end = body_end(l, guard, at + 1, r->end);
    pel_node *manager = pel_pop_expr(l, s, at), *target = NULL;
    region body = { .outer = r, .end = end, .fall = pel_resolve(l, end), .loop = r->loop };
    stack w = pel_stack_copy(l, s, s->n);
    pel_stack_push(l, &w, (item){ .kind = IT_EXIT, .at = at });
    pel_region_begin(l, &body, &w);
    pel_stack_push(l, &w, (item){ .kind = IT_ENTER, .at = at, .targets = (pel_targets *)(void *)&target });
    uint32_t next = pel_read_range(l, &body, &w, at + 1);
    bool completes =
        next < l->c->n && l->c->at[next].op == PEL_I_WITH_EXIT && (l->c->at[next].dead || reaches(l, at + 1, next));
    pel_node *node = pel_node_new(l->ctx, ins->flag ? PEL_AsyncWith : PEL_With);
    uint32_t go_on = PEL_NONE;
    if (completes) {
        next++;
        bool same = guard->exit == PEL_NONE || pel_resolve(l, next) == pel_resolve(l, guard->exit) ||
                    (l->c->copies_exits && pel_same_run(l, next, guard->exit));
        if (!same && (is_const_return(l, next) || l->c->at[next].op == PEL_I_JUMP)) {
            /* the block is left by a return or a jump that is in it */
            pel_read_tail(l, r, s, next, &body.out);
            next += l->c->at[next].op == PEL_I_JUMP ? 1 : 2;
            go_on = guard->exit;
        } else if (same && is_copied_run(l, next, guard->exit)) {
            next = guard->exit; /* what the end of the block and what is swallowed go on with, each by itself */
        }
    } else
        go_on = guard->exit;
    pel_node *with_item = pel_make(l, PEL_withitem, at);
    with_item->withitem.context_expr = manager;
    with_item->withitem.optional_vars = target;
    node->With.items = pel_nodes_one(l->ctx, with_item);
    node->With.body = with_pass(l, body.out);
    if (node->With.body.n == 1 && node->With.body.at[0]->kind == node->kind) { /* with a, b: */
        pel_node *inner = node->With.body.at[0];
        for (uint32_t i = 0; i < inner->With.items.n; i++)
            pel_nodes_push(l->ctx, &node->With.items, inner->With.items.at[i]);
        node->With.body = inner->With.body;
    }
    r->start = start;
    pel_lift_emit(l, node);
    if (go_on != PEL_NONE && go_on != next) {
        uint32_t label = l->c->at[go_on].op == PEL_I_JUMP ? l->c->at[go_on].target : go_on;
        if (label >= next && label < r->end && l->c->at[label].level == l->c->at[at].level)
            return label == next ? next : label;
        if (pel_resolve(l, label) == r->fall || pel_same_run(l, label, next)) return next;
        if (r->loop && label == r->loop->head)
            pel_lift_emit(l, pel_make(l, PEL_Continue, at));
        else
            read_behind(l, r, s, guard, label);
    }
    return next;
}
