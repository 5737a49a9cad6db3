/* A range of instructions -> statements. */
#include "decompile/lift.h"

static uint32_t read_loop(pel_lift *l, region *r, stack *s, uint32_t at);
static bool read_test_loop(pel_lift *l, region *r, stack *s, test *t, uint32_t start, uint32_t *next);

void pel_region_begin(pel_lift *l, region *r, const stack *s) {
    r->base = s->n;
    r->base_items = pel_alloc_raw(l->ctx, (s->n + 1) * sizeof(item));
    if (s->n) memcpy(r->base_items, s->at, s->n * sizeof(item));
}

static void back_to_base(pel_lift *l, const region *r, stack *s) {
    s->n = 0;
    pel_reserve(l->ctx, s, r->base);
    if (r->base) memcpy(s->at, r->base_items, r->base * sizeof(item));
    s->n = r->base;
}

/* Between two statements: the stack is what it was, and nothing waits to be used. */
static bool between(const region *r, const stack *s) {
    if (s->n != r->base || r->pending_targets.n) return false;
    for (uint32_t i = s->n; i-- > 0;) /* a value to be returned may have sunk below an exception */
        if (s->at[i].kind != r->base_items[i].kind || s->at[i].node != r->base_items[i].node) return false;
    return true;
}

/* A value that is to be returned waits while blocks around it are left. */
static bool waits(const region *r, const stack *s) {
    for (uint32_t i = s->n; i-- > 0;) {
        if (s->at[i].kind == IT_EXPR && (i >= r->base || r->base_items[i].kind != IT_EXPR)) return true;
    }
    return false;
}

pel_nodes pel_read_body(pel_lift *l, region *r, const stack *s, uint32_t from, uint32_t end, uint32_t fall) {
    region body = { .outer = r, .end = end, .fall = pel_resolve(l, fall), .loop = r->loop };
    stack copy = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &body, s);
    pel_read_range(l, &body, &copy, from);
    return body.out;
}

bool pel_same_run(const pel_lift *l, uint32_t a, uint32_t b) {
    a = pel_resolve(l, a);
    b = pel_resolve(l, b);
    for (int steps = 0; steps < 12; steps++, a++, b++) {
        if (a < l->c->n && l->c->at[a].op == PEL_I_JUMP) a = pel_resolve(l, a);
        if (b < l->c->n && l->c->at[b].op == PEL_I_JUMP) b = pel_resolve(l, b);
        if (a == b) return true;
        if (a >= l->c->n || b >= l->c->n) return false;
        const pel_ins *x = &l->c->at[a], *y = &l->c->at[b];
        if (x->op != y->op || (x->sub != y->sub && x->op != PEL_I_RETURN) || x->arg != y->arg) return false;
        if (x->op == PEL_I_CONST ? !pel_const_same(x->value, y->value) : x->name != y->name) return false;
        if (x->target != PEL_NONE && x->target != y->target) return false;
        if (pel_ends(x)) return true;
    }
    return false;
}

bool pel_is_end(const pel_lift *l, uint32_t at) {
    for (uint32_t i = at; i < l->c->n && i < at + 24; i++) {
        const pel_ins *ins = &l->c->at[i];
        if (ins->op == PEL_I_RETURN || ins->op == PEL_I_RAISE) return true;
        if (pel_ends(ins) || pel_is_cond(ins) || ins->op == PEL_I_FOR || ins->op == PEL_I_WITH) return false;
    }
    return false;
}

static pel_nodes pass_if_empty(pel_lift *l, pel_nodes body) {
    if (!body.n) pel_nodes_push(l->ctx, &body, pel_node_new(l->ctx, PEL_Pass));
    return body;
}

static void drop_continue(pel_nodes *body) {
    if (body->n && body->at[body->n - 1]->kind == PEL_Continue) body->n--;
}

/* The same at all ends of what the last statements do, where something else is left. */
static void drop_continues(pel_nodes *body) {
    if (body->n > 1) drop_continue(body);
    pel_node *last = body->n ? body->at[body->n - 1] : NULL;
    if (!last || last->kind != PEL_If) return;
    drop_continues(&last->If.body);
    drop_continues(&last->If.orelse);
}

/* ---- jumps ---- */

static bool leaves_loop(const loop *lp, uint32_t label) { return label < lp->from || label >= lp->end; }

static void emit_break(pel_lift *l, loop *lp, uint32_t to, uint32_t at) {
    if (lp->broke_to == PEL_NONE) lp->broke_to = to;
    lp->n_breaks++;
    pel_lift_emit(l, pel_make(l, PEL_Break, at));
}

#define FAR 4000 /* instructions: tests do not jump further over one body */

bool pel_is_unwritten(const pel_lift *l, uint32_t from, uint32_t at) {
    uint32_t line = l->c->at[at].line;
    if (l->plainly || !l->c->tests_again || !line) return false;
    if (at > from && !pel_ends(&l->c->at[at - 1]) && l->c->at[at - 1].line == line) return true;
    for (uint32_t i = at > FAR ? at - FAR : 0; l->c->at[at].is_target && i < at; i++)
        if (l->c->at[i].target == at && l->c->at[i].line == line) return true;
    return false;
}

/* A `finally` whose body never comes to its end: whether what leads there is a return, break or continue can't be told,
 * and does not matter. */
static bool ends_in_finally(const pel_lift *l, uint32_t at) {
    return at < l->c->n && l->c->at[at].op == PEL_I_FINALLY && l->c->at[at].flag;
}

static void read_jump(pel_lift *l, region *r, stack *s, uint32_t at) {
    uint32_t to = l->c->at[at].target;
    loop *lp = r->loop;
    (void)s;
    bool last = at + 1 >= r->end;
    if (to == at + 1) return;
    if (last && (to == r->end || pel_resolve(l, to) == r->fall)) {
        if (lp && s->n < r->base && leaves_loop(lp, to))
            emit_break(l, lp, to, at);
        else if (lp && to == lp->head && r->end != lp->end && l->c->tests_again && !pel_is_unwritten(l, r->from, at))
            pel_lift_emit(l, pel_make(l, PEL_Continue, at));
        return;
    }
    if (ends_in_finally(l, to) && l->code->flags & PEL_CO_OPTIMIZED && !(lp && to == lp->end)) {
        pel_lift_emit(l, pel_make(l, PEL_Return, at));
        return;
    }
    if (lp && (to == lp->head || pel_resolve(l, to) == lp->head || (lp->again != PEL_NONE && to == lp->again))) {
        pel_lift_emit(l, pel_make(l, PEL_Continue, at));
        return;
    }
    if (lp && leaves_loop(lp, to)) {
        bool ends = to + 1 < l->c->n && l->c->at[to + 1].op == PEL_I_RETURN && l->c->at[to + 1].sub == 1 &&
                    l->c->at[to].op == PEL_I_CONST;
        if (ends)
            pel_lift_emit(l, pel_make(l, PEL_Return, at)); /* the end of the function, from within a loop */
        else
            emit_break(l, lp, to, at);
        return;
    }
    if ((pel_resolve(l, to) == r->fall && r->open_ended) || l->c->at[at].dead) return;
    if (l->repeats_ends && pel_is_end(l, to))
        pel_read_tail(l, r, s, to, &r->out);
    else
        pel_lift_fail(l, at, "a jump that fits no statement");
}

/* ---- if ---- */

/* Whether a POP takes away the iterator of a loop that begins in [from, i): nothing before it has pushed a value. */
static bool pops_iterator(const pel_lift *l, uint32_t from, uint32_t i) {
    bool in_loop = false;
    for (uint32_t k = from; k < i && !in_loop; k++) in_loop = l->c->at[k].op == PEL_I_FOR && l->c->at[k].target > i;
    if (!in_loop || l->c->at[i].is_target) return in_loop;
    const pel_ins *before = &l->c->at[i - 1];
    return before->op == PEL_I_STORE || before->op == PEL_I_STORE_ATTR || before->op == PEL_I_STORE_SUBSCR ||
           before->op == PEL_I_POP || pel_is_pop_jump(before);
}

/* Whether a test jumps back because the body of the loop ends there. Where a try is in the loop, leaving that would
 * look the same. */
static bool ends_body(const pel_lift *l, const pel_ins *ins) {
    return ins->flag && ins->sub == PEL_COVER_OTHER && ins->cover == l->c->at[ins->target].cover;
}

/* Whether a jump is taken if something is not `not in` or not `is not`: nobody asks for that, but a body that is run
 * otherwise has such a test before it. Where each test of a `continue` has a jump of its own, it is the same for `in`
 * and `is`: `if not a in b: continue` asks for `not in`. */
static bool skips_body(const pel_lift *l, uint32_t i) {
    if (l->c->at[i].op != PEL_I_PJF || !i || l->c->at[i].is_target) return false;
    const pel_ins *before = &l->c->at[i - 1];
    if (before->op != PEL_I_COMPARE) return false;
    if (before->sub == PEL_IsNot || before->sub == PEL_NotIn) return true;
    return l->c->moves_cold && l->c->at[i].flag && (before->sub == PEL_Is || before->sub == PEL_In);
}

/* A jump back to the head of a loop that can't be a `continue`: a test that ends a part of a statement, or a `break` of
 * a loop within, which leaves by popping its iterator. */
static bool ends_part(const pel_lift *l, uint32_t from, uint32_t i) {
    const pel_ins *ins = &l->c->at[i];
    if (pel_is_cond(ins)) return ends_body(l, ins) || skips_body(l, i);
    return l->c->tests_again && ins->op == PEL_I_JUMP && i > 0 && l->c->at[i - 1].op == PEL_I_POP &&
           pops_iterator(l, from, i - 1);
}

uint32_t pel_else_end(pel_lift *l, const region *r, uint32_t from, uint32_t otherwise) {
    uint32_t found = PEL_NONE;
    for (uint32_t g = 0; g < l->c->n_guards; g++) { /* handlers of what is in the body come back, too */
        const pel_guard *guard = &l->c->guards[g];
        if (guard->first < from || guard->first >= otherwise || guard->target == PEL_NONE) continue;
        for (uint32_t i = guard->target; i < l->c->n && l->c->at[i].within == g; i++) {
            uint32_t to = l->c->at[i].target;
            if (l->c->at[i].op != PEL_I_JUMP || l->c->at[to].level != l->c->at[from].level) continue;
            if (to > otherwise && to < r->end)
                found = found == PEL_NONE || to > found ? to : found;
            else if (to > otherwise && pel_resolve(l, to) == r->fall && !(r->loop && to == r->loop->head))
                return r->end;
        }
    }
    for (uint32_t i = from; i < otherwise; i++) {
        const pel_ins *ins = &l->c->at[i];
        uint32_t to = ins->target;
        if (to == PEL_NONE || (to >= from && to <= otherwise)) continue;
        if (ins->op != PEL_I_JUMP && ins->op != PEL_I_FOR && !pel_is_cond(ins)) continue;
        if (to > otherwise && to < r->end) {
            if (found == PEL_NONE || to > found) found = to;
        } else if (pel_resolve(l, to) == r->fall && !(r->loop && to == r->loop->head && !ends_part(l, from, i))) {
            return r->end;
        }
    }
    return found;
}

static bool terminates(const pel_nodes *body) {
    if (!body->n) return false;
    const pel_node *last = body->at[body->n - 1];
    switch (last->kind) {
    case PEL_Return:
    case PEL_Raise:
    case PEL_Continue:
    case PEL_Break: return true;
    case PEL_If: return last->If.orelse.n && terminates(&last->If.body) && terminates(&last->If.orelse);
    default: return false;
    }
}

/* Whether the last instruction of a body is a `return`: what nothing reaches is only removed after one. */
static bool returns_last(const pel_nodes *body) {
    if (!body->n) return false;
    const pel_node *last = body->at[body->n - 1];
    if (last->kind == PEL_If) return returns_last(last->If.orelse.n ? &last->If.orelse : &last->If.body);
    return last->kind == PEL_Return;
}

/* Whether a `break` in some statements leaves the loop that they are the body of. */
static bool breaks(const pel_nodes *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const pel_node *stmt = body->at[i];
        bool found = false;
        switch (stmt->kind) {
        case PEL_Break: return true;
        case PEL_If: found = breaks(&stmt->If.body) || breaks(&stmt->If.orelse); break;
        case PEL_For:
        case PEL_AsyncFor: found = breaks(&stmt->For.orelse); break;
        case PEL_While: found = breaks(&stmt->While.orelse); break;
        case PEL_With:
        case PEL_AsyncWith: found = breaks(&stmt->With.body); break;
        case PEL_Try:
            found = breaks(&stmt->Try.body) || breaks(&stmt->Try.orelse) || breaks(&stmt->Try.finalbody);
            for (uint32_t k = 0; k < stmt->Try.handlers.n && !found; k++)
                found = breaks(&stmt->Try.handlers.at[k]->ExceptHandler.body);
            break;
        default: break;
        }
        if (found) return true;
    }
    return false;
}

/* Of a statement whose end nothing reaches: the else part that what follows it may be, empty so far; or NULL. A jump
 * led over it to the end: from the other part of an if, from handlers, or from a loop that is left by `break`. */
static pel_nodes *missing_else(pel_node *stmt) {
    pel_nodes *orelse = NULL;
    bool jumps_over = false;
    switch (stmt->kind) {
    case PEL_If:
        orelse = &stmt->If.orelse;
        jumps_over = terminates(&stmt->If.body) && returns_last(&stmt->If.body);
        break;
    case PEL_For:
        orelse = &stmt->For.orelse;
        jumps_over = breaks(&stmt->For.body);
        break;
    case PEL_While:
        orelse = &stmt->While.orelse;
        jumps_over = breaks(&stmt->While.body);
        break;
    case PEL_Try:
        orelse = &stmt->Try.orelse;
        jumps_over = stmt->Try.handlers.n && !stmt->Try.finalbody.n;
        for (uint32_t i = 0; i < stmt->Try.handlers.n && jumps_over; i++)
            jumps_over = terminates(&stmt->Try.handlers.at[i]->ExceptHandler.body);
        break;
    default: return NULL;
    }
    return jumps_over && !orelse->n ? orelse : NULL;
}

/* Old compilers leave behind what nothing reaches: a jump or a `return None` behind an if-else of which both parts
 * return. Without the else it would not be there. */
static void keep_else(pel_lift *l, pel_nodes *body) {
    if (body->n < 2 || body->at[body->n - 1]->kind != PEL_Return) return;
    uint32_t found = PEL_NONE;
    for (uint32_t k = body->n - 1; k-- > 0;) {
        pel_node *stmt = body->at[k];
        bool is_loop = stmt->kind == PEL_For || stmt->kind == PEL_While;
        if (!missing_else(stmt) || (found != PEL_NONE && stmt->kind != PEL_If)) continue;
        found = k;
        if (!is_loop) break; /* an if-else around a loop explains it as well, and is more common */
    }
    if (found == PEL_NONE) return;
    *missing_else(body->at[found]) = pel_nodes_of(l->ctx, body->at + found + 1, body->n - found - 1);
    body->n = found + 1;
}

/* The only things that assert raises: AssertionError itself, or a call of it with the message. */
static bool is_assertion_error(const pel_node *exc) {
    if (exc->kind == PEL_Call && exc->Call.args.n == 1 && !exc->Call.keywords.n &&
        exc->Call.args.at[0]->kind != PEL_Starred)
        exc = exc->Call.func;
    return exc->kind == PEL_Name && pel_name_is(exc->Name.id, "AssertionError");
}

static bool is_assertion_at(const pel_lift *l, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    return ins->op == PEL_I_ASSERTION_ERROR || (l->c->asserts_by_name && ins->op == PEL_I_LOAD &&
                                                ins->sub == PEL_GLOBAL && pel_name_is(ins->name, "AssertionError"));
}

static pel_node *assert_of(pel_lift *l, pel_node *asserted, pel_node *exc) {
    return pel_make_assert(l->ctx, asserted, exc->kind == PEL_Call ? exc->Call.args.at[0] : NULL);
}

static bool leads_to_jump(const pel_lift *l, const test *t) {
    for (uint32_t i = 0; i < t->used; i++)
        if (l->c->at[l->c->at[pel_test_jump(t, i)].target].op == PEL_I_JUMP) return true;
    return false;
}

static bool was_led_to_jump(const pel_lift *l, const test *t) {
    for (uint32_t i = 0; i < t->used; i++)
        if (l->c->at[pel_test_jump(t, i)].to_jump) return true;
    return false;
}

static void emit_if(pel_lift *l, const test *t, pel_nodes body, pel_nodes orelse) {
    pel_node *only = !orelse.n && body.n == 1 ? body.at[0] : NULL;
    bool fails = only && only->kind == PEL_Assert && only->Assert.test->kind == PEL_Constant;
    if (fails && !t->negation_folds) {
        pel_lift_emit(l, pel_make_assert(l->ctx, t->negation, only->Assert.msg)); /* if not test: assert False */
        return;
    }
    pel_node *raised = only && only->kind == PEL_Raise ? only->Raise.exc : NULL;
    /* in a function every name that is nobody's is a global; elsewhere only an assertion makes it one */
    bool is_assert = l->code->flags & PEL_CO_OPTIMIZED ? t->is_negated : is_assertion_at(l, t->next);
    if (raised && l->c->asserts_by_name && is_assert && is_assertion_error(raised)) {
        pel_lift_emit(l, assert_of(l, t->negation, raised));
        return;
    }
    pel_node *node = pel_node_new(l->ctx, PEL_If);
    node->If.test = t->expr;
    node->If.body = pass_if_empty(l, body);
    node->If.orelse = orelse;
    /* a jump to a jump is only left as it is where the two are on different lines */
    if (l->is_comp && l->c->copies_exits && leads_to_jump(l, t)) node->parens = 1;
    pel_lift_emit(l, node);
}

static void emit_continue_if(pel_lift *l, pel_node *asked, uint32_t at) {
    pel_node *node = pel_node_new(l->ctx, PEL_If);
    node->If.test = asked;
    node->If.body = pel_nodes_one(l->ctx, pel_make(l, PEL_Continue, at - 1));
    pel_lift_emit(l, node);
}

/* if a or b: continue. Newer compilers let both tests lead to one jump; where each has its own, it had its own `if`. */
static void emit_continues(pel_lift *l, pel_node *asked, uint32_t at) {
    bool is_or = asked->kind == PEL_BoolOp && asked->BoolOp.op == PEL_Or;
    pel_node *inner = asked->kind == PEL_UnaryOp && asked->UnaryOp.op == PEL_Not ? asked->UnaryOp.operand : NULL;
    bool is_not_and = inner && inner->kind == PEL_BoolOp && inner->BoolOp.op == PEL_And;
    if (!l->c->moves_cold || (!is_or && !is_not_and)) {
        emit_continue_if(l, asked, at);
        return;
    }
    pel_nodes parts = is_or ? asked->BoolOp.values : inner->BoolOp.values;
    for (uint32_t i = 0; i < parts.n; i++) emit_continue_if(l, is_or ? parts.at[i] : pel_negate(l, parts.at[i]), at);
}

/* Behind a `return` nothing is left but what a jump led to, and that jump is gone, too: it stood at the end of a part
 * of an if-else. */
static bool was_joined(const pel_lift *l, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    return at && ins->dead && !ins->is_target && l->c->at[at - 1].op == PEL_I_RETURN && !l->c->at[at - 1].dead;
}

static bool ends_in_else(const pel_lift *l, const region *r) { return r->end > 0 && was_joined(l, r->end - 1); }

/* Whether all jumps of a test that go back to the head of a loop are known to be written as `continue`. */
static bool says_continue(const pel_lift *l, const test *t) {
    /* up to 3.13 `while` ends in a jump with a line */
    bool any = false, is_for = l->c->at[t->otherwise].op == PEL_I_FOR || l->c->tests_once;
    for (uint32_t i = 0; i < t->used; i++) {
        const pel_ins *ins = &l->c->at[pel_test_jump(t, i)];
        if (!ins->flag || ins->target != t->otherwise) continue;
        if (ins->sub != PEL_COVER_SAME && is_for) return false;
        any = true;
    }
    return any;
}

/* How many of the first jumps are known to be written as `continue`, where not all are. */
static uint32_t n_continues(const pel_lift *l, const test *t) {
    uint32_t n = 0;
    while (n < t->used && l->c->at[pel_test_jump(t, n)].flag && l->c->at[pel_test_jump(t, n)].sub == PEL_COVER_SAME)
        n++;
    return n < t->used && ends_body(l, &l->c->at[pel_test_jump(t, n)]) ? n : 0;
}

static uint32_t read_if(pel_lift *l, region *r, stack *s, test *t) {
    loop *lp = r->loop;
    uint32_t n_continue = lp && !l->is_comp && t->otherwise == lp->head ? n_continues(l, t) : 0;
    if (n_continue) { /* if a: continue; if b: ... */
        test whole = *t;
        if (!pel_shorter_test(l, t, n_continue)) *t = whole;
    }
    uint32_t body = t->next, other = t->otherwise;
    if (lp && body >= lp->end && other == lp->head && r->end == lp->end) { /* the loop's last test leaves it */
        if (l->c->at[body - 1].flag) {                                     /* the jump back is one of its own */
            emit_continue_if(l, t->negation, body);
            emit_break(l, lp, body, body - 1);
            return r->end;
        }
        if (lp->broke_to == PEL_NONE) lp->broke_to = body;
        lp->n_breaks++;
        emit_if(l, t, pel_nodes_one(l->ctx, pel_make(l, PEL_Break, body - 1)), (pel_nodes){ 0 });
        return r->end;
    }
    if (other == body) {
        emit_if(l, t, (pel_nodes){ 0 }, (pel_nodes){ 0 });
        return body;
    }
    if (other > body && other <= r->end &&
        !(other == r->end && pel_resolve(l, other) != r->fall && lp && r->end == lp->end)) {
        /* [body, other) and perhaps an else after it */
        uint32_t end = PEL_NONE;
        const pel_ins *last = &l->c->at[other - 1];
        bool continues = false;
        if (last->op == PEL_I_JUMP && other < r->end) {
            uint32_t to = last->target;
            continues = !last->dead && lp && to == lp->head && !pel_is_unwritten(l, body, other - 1) &&
                        !ends_in_else(l, r) && (!l->c->keeps_dead || !last->is_target || last->flag) &&
                        !(other == body + 1 && was_led_to_jump(l, t)); /* if a or b: pass */
            if (to > other && to <= r->end &&
                !(lp && to == r->end && leaves_loop(lp, to) && pel_resolve(l, to) != r->fall))
                end = to;
            else if (!continues && pel_resolve(l, to) == r->fall)
                end = r->end;
        }
        if (end == PEL_NONE && other < r->end) end = pel_else_end(l, r, body, other);
        uint32_t after = end == PEL_NONE ? other : end;
        pel_nodes yes = pel_read_body(l, r, s, body, other, after < r->end ? after : r->fall);
        pel_nodes no = { 0 };
        if (end == r->end && continues && l->c->tests_again)
            drop_continues(&yes); /* what the else after it says, too */
        if (end != PEL_NONE)
            no = pel_read_body(l, r, s, other, end, after < r->end ? after : r->fall);
        else if (last->dead_jump)
            pel_nodes_push(l->ctx, &no, pel_node_new(l->ctx, PEL_Pass));
        emit_if(l, t, yes, no);
        return after;
    }
    /* only the negation can be written as it was */
    bool folds = t->folds && !t->negation_folds && !is_assertion_at(l, body);
    bool to_head = lp && other == lp->head && !l->is_comp;
    if (pel_resolve(l, other) == r->fall && !(to_head && (folds || (says_continue(l, t) && !t->negation_folds)))) {
        pel_nodes yes = pel_read_body(l, r, s, body, r->end, r->fall);
        emit_if(l, t, yes, (pel_nodes){ 0 });
        return r->end;
    }
    if (lp && (other == lp->head || other == lp->again)) { /* not at the tail: the test skips the rest of the loop */
        emit_continues(l, t->negation, body);
        return body;
    }
    if (lp && leaves_loop(lp, other)) {
        pel_nodes yes = pel_read_body(l, r, s, body, r->end, r->fall);
        if (l->c->tests_again && r->end == lp->end && other == lp->end) { /* `break` is the last of the loop */
            if (!terminates(&yes)) pel_nodes_push(l->ctx, &yes, pel_make(l, PEL_Continue, r->end - 1));
            emit_if(l, t, yes, (pel_nodes){ 0 });
            emit_break(l, lp, other, body);
            return r->end;
        }
        if (lp->broke_to == PEL_NONE) lp->broke_to = other;
        lp->n_breaks++;
        emit_if(l, t, yes, pel_nodes_one(l->ctx, pel_make(l, PEL_Break, body)));
        return r->end;
    }
    if (!l->repeats_ends || !pel_is_end(l, other)) pel_lift_fail(l, body, "a conditional jump that fits no statement");
    test inverse = *t;
    inverse.expr = t->negation;
    inverse.negation = t->expr;
    pel_nodes end = { 0 };
    pel_read_tail(l, r, s, other, &end);
    emit_if(l, &inverse, end, (pel_nodes){ 0 });
    return body;
}

/* ---- loops ---- */

/* The first instruction from i on that ends its path, nothing jumping before it; PEL_NONE if there is none near. */
static uint32_t straight_end(const pel_lift *l, uint32_t i, uint32_t limit) {
    for (uint32_t steps = 0; i < limit && steps < 200; i++, steps++) {
        if (pel_ends(&l->c->at[i])) return i;
        if (pel_is_cond(&l->c->at[i]) || l->c->at[i].op == PEL_I_FOR) return PEL_NONE;
    }
    return PEL_NONE;
}

/* What follows a loop: an else if `break` jumps over something. Returns where to go on. */
static uint32_t read_orelse(pel_lift *l, region *r, const stack *s, loop *lp, uint32_t end, pel_nodes *orelse) {
    uint32_t to = lp->broke_to;
    if (to == PEL_NONE || to == end) return end;
    if (r->loop && to == r->loop->end && to == r->end && end < to && pel_resolve(l, to) != r->fall) {
        *orelse = pel_read_body(l, r, s, end, to, to);
        lp->leaves_outer = true;
        return to;
    }
    if (to > end && to < r->end) {
        *orelse = pel_read_body(l, r, s, end, to, to);
        return to;
    }
    if (pel_resolve(l, to) == pel_resolve(l, end)) return end;
    if (pel_resolve(l, to) == r->fall || to == r->end) {
        if (end < r->end) *orelse = pel_read_body(l, r, s, end, r->end, r->fall);
        return r->end;
    }
    if (r->loop && leaves_loop(r->loop, to)) return end;
    return end;
}

/* end: after the loop. A jump back that nothing reaches is there because `continue` was written before it. */
static void drop_last_continue(const pel_lift *l, pel_nodes *body, uint32_t end) {
    if (l->c->at[end - 1].dead && l->c->at[end - 1].op == PEL_I_JUMP) return;
    drop_continue(body);
}

static void emit_loop(pel_lift *l, region *r, pel_node *node, const loop *lp) {
    pel_lift_emit(l, node);
    if (lp->leaves_outer) emit_break(l, r->loop, lp->broke_to, lp->end - 1);
}

/* A loop may end after its region, so only an end outside of the code or before the loop is wrong. The first store of
 * the body fills in lp.target, through the item on the stack. head_open goes back to its old value, as trials may
 * nest. */
uint32_t pel_read_for(pel_lift *l, region *r, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    uint32_t end = ins->target;
    if (end <= at || end > r->end + (r->open_ended ? l->c->n : 0)) {
        if (!(end > at && end <= l->c->n)) pel_lift_fail(l, at, "a loop that does not end behind itself");
    }
    pel_node *iter = pel_pop_expr(l, s, at);
    loop lp = { .outer = r->loop, .head = at, .again = PEL_NONE, .from = at, .end = end, .broke_to = PEL_NONE };
    region body = { .outer = r, .end = end, .fall = at, .loop = &lp };
    stack inner = pel_stack_copy(l, s, s->n);
    pel_stack_push(l, &inner, (item){ .kind = IT_ITER, .at = at });
    pel_region_begin(l, &body, &inner);
    pel_stack_push(l, &inner, (item){ .kind = IT_ITEM, .at = at, .targets = (pel_targets *)(void *)&lp.target });
    bool was_open = l->head_open[at];
    l->head_open[at] = true;
    uint32_t start = r->start;
    pel_read_range(l, &body, &inner, at + 1);
    l->head_open[at] = was_open;
    drop_last_continue(l, &body.out, end);
    pel_node *node = pel_node_new(l->ctx, ins->flag ? PEL_AsyncFor : PEL_For);
    if (!lp.target) pel_lift_fail(l, at, "a loop without target");
    node->For.target = lp.target;
    node->For.iter = iter;
    node->For.body = pass_if_empty(l, body.out);
    uint32_t next = read_orelse(l, r, s, &lp, end, &node->For.orelse);
    r->start = start;
    emit_loop(l, r, node, &lp);
    return next;
}

static uint8_t inverse(uint8_t op) {
    switch (op) {
    case PEL_I_PJF: return PEL_I_PJT;
    case PEL_I_PJT: return PEL_I_PJF;
    case PEL_I_PJN: return PEL_I_PJNN;
    case PEL_I_PJNN: return PEL_I_PJN;
    default: return op;
    }
}

/* How many instructions before `body` and before the end of `bottom` are the same test, written twice. */
static uint32_t copied_test(const pel_lift *l, uint32_t body, uint32_t bottom, uint32_t exit) {
    const pel_ins *top_last = &l->c->at[body - 1], *last = &l->c->at[bottom];
    if (inverse(top_last->op) != last->op || last->target != body) return 0;
    if (top_last->target != exit) return 0;
    uint32_t length = 1;
    for (; length < body && length <= bottom - body; length++) {
        uint32_t i = body - 1 - length, k = bottom - length;
        const pel_ins *a = &l->c->at[i], *b = &l->c->at[k];
        if (a->op != b->op || (a->sub != b->sub && a->target == PEL_NONE) || a->arg != b->arg) break;
        if (a->op == PEL_I_CONST ? !pel_const_same(a->value, b->value) : a->name != b->name) break;
        if (a->target != PEL_NONE) {
            bool same = (a->target == body && b->target == body) ||
                        pel_resolve(l, a->target) == pel_resolve(l, b->target) || a->target - i == b->target - k ||
                        (pel_resolve(l, a->target) == pel_resolve(l, exit));
            if (!same) break;
        }
    }
    return length;
}

/* The last jump in [to, limit) that goes back to a place, or PEL_NONE. */
static uint32_t last_jump_to(const pel_lift *l, uint32_t to, uint32_t limit) {
    for (uint32_t i = limit; i-- > to;)
        if (l->c->at[i].target == to) return i;
    return PEL_NONE;
}

/* while test: body, with the test again at the end. t is the test at the top, start the first instruction of the
 * statement. */
static bool read_test_loop(pel_lift *l, region *r, stack *s, test *t, uint32_t start, uint32_t *next) {
    uint32_t body = t->next, bottom = l->back[body];
    if (bottom == PEL_NONE || l->head_open[body] || !pel_is_pop_jump(&l->c->at[bottom])) return false;
    uint32_t length = copied_test(l, body, bottom, t->otherwise);
    if (length == 0) return false;
    /* which of the jumps belong to the loop: those whose code is there twice */
    uint32_t first = t->used;
    for (uint32_t i = t->used; i-- > 0;) {
        uint32_t from = i == 0 ? start : pel_test_start(t, i);
        if (body - from <= length)
            first = i;
        else
            break;
    }
    if (first == t->used) return false;
    if (first > 0) { /* the others are an `if` around it */
        if (!pel_shorter_test(l, t, first)) return false;
        return false;
    }
    uint32_t copy = bottom + 1 - (body - start);
    loop lp = {
        .outer = r->loop, .head = start, .again = PEL_NONE, .from = start, .end = bottom + 1, .broke_to = PEL_NONE
    };
    region inner = { .outer = r, .end = copy, .fall = copy, .loop = &lp };
    stack w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &inner, &w);
    l->back[body] = last_jump_to(l, body, copy); /* of a loop that begins with the body */
    l->back_cover[body] = l->back[body] == PEL_NONE ? PEL_NONE : l->c->at[l->back[body]].cover;
    l->only_handlers[body] = false;
    bool was_open = l->head_open[start];
    l->head_open[start] = true;
    pel_read_range(l, &inner, &w, body);
    l->head_open[start] = was_open;
    drop_last_continue(l, &inner.out, bottom + 1);
    pel_node *node = pel_node_new(l->ctx, PEL_While);
    node->While.test = t->expr;
    node->While.body = pass_if_empty(l, inner.out);
    *next = read_orelse(l, r, s, &lp, bottom + 1, &node->While.orelse);
    r->start = start;
    emit_loop(l, r, node, &lp);
    return true;
}

/* A trial: its stack is a copy, and `broken` is put back for the trial around it. A conditional jump with more than the
 * condition on the stack belongs to an operand such as `f(a or b)`, so it is read as a value and passed. */
bool pel_first_test(pel_lift *l, const stack *s, uint32_t at, uint32_t limit, test *t) {
    stack w = pel_stack_copy(l, s, s->n);
    uint32_t base = s->n, pos = at;
    l->trial++;
    bool broken = l->broken;
    l->broken = false;
    bool ok = true;
    while (ok && pos < limit && !(pel_is_cond(&l->c->at[pos]) && w.n == base + 1)) {
        const pel_ins *ins = &l->c->at[pos];
        if (pel_is_cond(ins)) {
            test ignored;
            uint32_t next;
            ok = w.n > base + 1 && pel_read_cond(l, &w, pos, limit, &ignored, &next);
            if (ok) pos = next;
            continue;
        }
        ok = ins->op != PEL_I_JUMP && ins->op != PEL_I_FOR && ins->op != PEL_I_WITH && pel_step(l, &w, pos) &&
             w.low >= base;
        pos++;
    }
    ok = ok && pos < limit && !l->broken;
    l->trial--;
    l->broken = broken;
    if (!ok) return false;
    uint32_t next;
    return !pel_read_cond(l, &w, pos, limit, t, &next);
}

/* while test: ... break. Nothing comes back to the test but `continue`, so it is there only once. */
static bool read_broken_loop(pel_lift *l, region *r, stack *s, const test *t, uint32_t at, uint32_t *next) {
    uint32_t end = t->otherwise;
    if (end <= l->back[at] || end > r->end || l->c->at[end - 1].level != l->c->at[at].level) return false;
    loop lp = { .outer = r->loop, .head = at, .again = PEL_NONE, .from = at, .end = end, .broke_to = PEL_NONE };
    region inner = { .outer = r, .end = end, .fall = pel_resolve(l, end), .loop = &lp };
    stack w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &inner, &w);
    pel_read_range(l, &inner, &w, t->next);
    pel_node *node = pel_node_new(l->ctx, PEL_While);
    node->While.test = t->expr;
    if (!terminates(&inner.out)) pel_nodes_push(l->ctx, &inner.out, pel_make(l, PEL_Break, end - 1));
    node->While.body = inner.out;
    *next = end;
    r->start = at;
    pel_lift_emit(l, node);
    return true;
}

/* while True: ... break, where only handlers say `continue`. */
static uint32_t read_retried(pel_lift *l, region *r, stack *s, uint32_t at) {
    uint32_t end = l->back[at] + 1;
    loop lp = { .outer = r->loop, .head = at, .again = PEL_NONE, .from = at, .end = end, .broke_to = PEL_NONE };
    region inner = { .outer = r, .end = end, .fall = pel_resolve(l, end), .loop = &lp };
    stack w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &inner, &w);
    uint32_t next = pel_read_range(l, &inner, &w, at);
    if (!terminates(&inner.out)) pel_nodes_push(l->ctx, &inner.out, pel_make(l, PEL_Break, end - 1));
    pel_node *node = pel_node_new(l->ctx, PEL_While);
    node->While.test = pel_make_constant(l->ctx, &pel_true);
    node->While.body = inner.out;
    r->start = at;
    emit_loop(l, r, node, &lp);
    return next;
}

/* Two loops that begin at the same place: the end of the inner one is a jump back that several ways lead to, and what
 * it does not repeat goes on just after it. PEL_NONE if there is no such jump before `last`. */
static uint32_t inner_end(const pel_lift *l, uint32_t at, uint32_t last) {
    uint32_t behind = PEL_NONE; /* where a jump goes out of what may be the inner loop */
    for (uint32_t i = at; i < last; i++) {
        const pel_ins *ins = &l->c->at[i];
        if (ins->op != PEL_I_JUMP) continue;
        if (ins->target == at && ins->is_target && behind == i + 1) return i;
        if (ins->target > i) behind = ins->target;
    }
    return PEL_NONE;
}

/* The last instruction of a loop whose last jump back is at `last`. Where that is a `continue`, or is in a handler,
 * the jump at the end of the loop is gone: old compilers remove what follows a `return`. t: the loop's test, or NULL.
 */
static uint32_t loop_last(const pel_lift *l, const region *r, uint32_t at, uint32_t last, const test *t) {
    if (!l->c->keeps_dead || (!l->c->at[last].own_line && !l->only_handlers[at])) return last;
    if (t && t->otherwise > last + 1 && t->otherwise <= r->end && l->c->at[t->otherwise - 1].op == PEL_I_RETURN)
        return t->otherwise - 1;
    if (l->only_handlers[at]) return last;
    uint32_t furthest = 0;
    for (uint32_t i = last + 1; i < r->end; i++) {
        const pel_ins *ins = &l->c->at[i];
        if (ins->dead || l->back[i] != PEL_NONE) break;
        if (ins->target != PEL_NONE && ins->target > furthest) furthest = ins->target;
        if (ins->op == PEL_I_RETURN && furthest <= i) return i;
        if (pel_ends(ins) && furthest <= i) break;
    }
    return last;
}

/* Whether a loop goes on with what follows its last jump back: that jump is a test or in a handler, a `for` within the
 * loop ends there, or another test leads there though `break` leads to broke_to. t: the loop's test, or NULL. */
static bool goes_on_behind(const pel_lift *l, uint32_t at, uint32_t last, const test *t, uint32_t broke_to) {
    if (!pel_ends(&l->c->at[last])) return true;
    for (uint32_t i = at + 1; i < last; i++) {
        if (l->c->at[i].target != last + 1) continue;
        if (l->c->at[i].op == PEL_I_FOR) return true;
        if (pel_is_pop_jump(&l->c->at[i]) && broke_to != PEL_NONE && !(t && t->otherwise == last + 1)) return true;
    }
    return false;
}

/* The last instruction of a loop that has something behind its last jump back: a `raise` or `return` that ends the
 * body, so no jump back is left behind it. It reaches to where the loop is left to, or to the end of its path. */
static uint32_t last_of_body(const pel_lift *l, const region *r, uint32_t at, uint32_t last, const test *t) {
    if (l->c->keeps_dead) return last;
    uint32_t end = PEL_NONE;
    for (uint32_t i = at + 1; i <= last; i++) /* a loop within, and its `break` jumps back itself */
        if (l->back[i] != PEL_NONE && l->back[i] > last && l->back[i] < r->end) last = l->back[i];
    for (uint32_t i = at; i <= last; i++) {
        uint32_t to = l->c->at[i].target;
        if (to != PEL_NONE && to > last + 1 && to <= r->end && l->c->at[i].op != PEL_I_FOR && to < end) end = to;
    }
    if (!goes_on_behind(l, at, last, t, end)) return last;
    if (end == PEL_NONE && l->c->at[last].op == PEL_I_JUMP) {
        uint32_t ended = straight_end(l, last + 1, r->end);
        if (ended != PEL_NONE) end = ended + 1;
    }
    if (end == PEL_NONE || !pel_ends(&l->c->at[end - 1])) return last;
    bool breaks = l->c->at[end - 1].op == PEL_I_JUMP; /* past the else part that the loop's test leads to */
    return breaks && !(t && t->otherwise == end && l->c->at[end - 1].target > end) ? last : end - 1;
}

static uint32_t read_loop(pel_lift *l, region *r, stack *s, uint32_t at) {
    uint32_t last = l->back[at], next;
    test t;
    bool tests = pel_first_test(l, s, at, last + 1, &t);
    last = loop_last(l, r, at, last, tests ? &t : NULL);
    uint32_t used = tests ? t.used : 0;
    l->head_open[at] = true;
    uint32_t inner_last = l->nests_loops ? inner_end(l, at, last) : PEL_NONE;
    /* where a test that leads out is no part of `while`, reading plainly gives `while True` and a `break` */
    bool tests_again = l->c->tests_again && (!l->c->tests_once || l->plainly);
    if (!tests_again) last = last_of_body(l, r, at, last, tests ? &t : NULL);
    bool repeats =
        tests && inner_last == PEL_NONE && tests_again && (l->back[t.next] == PEL_NONE || l->back[t.next] >= last);
    if (repeats && read_test_loop(l, r, s, &t, at, &next)) return next;
    if (repeats && read_broken_loop(l, r, s, &t, at, &next)) return next;
    if (l->only_handlers[at] && (!tests || tests_again)) return read_retried(l, r, s, at);
    loop lp = { .outer = r->loop, .head = at, .again = PEL_NONE, .from = at, .end = last + 1, .broke_to = PEL_NONE };
    region inner = { .outer = r, .end = last + 1, .fall = at, .loop = &lp };
    stack w = pel_stack_copy(l, s, s->n);
    pel_region_begin(l, &inner, &w);
    pel_node *node = pel_node_new(l->ctx, PEL_While);
    if (inner_last != PEL_NONE) {
        l->back[at] = inner_last;
        l->head_open[at] = false;
    }
    bool while_test = false; /* the longest test that leaves the loop if it fails */
    for (uint32_t k = used; k > 0 && !while_test && !tests_again && inner_last == PEL_NONE; k--)
        while_test = (k == used || pel_shorter_test(l, &t, k)) && leaves_loop(&lp, t.otherwise);
    if (while_test) {
        lp.broke_to = PEL_NONE;
        pel_read_range(l, &inner, &w, t.next);
        node->While.test = t.expr;
    } else {
        pel_read_range(l, &inner, &w, at);
        node->While.test = pel_make_constant(l->ctx, &pel_true);
    }
    drop_last_continue(l, &inner.out, last + 1);
    node->While.body = pass_if_empty(l, inner.out);
    next = last + 1;
    bool dead_else = next < l->c->n && l->c->at[next].dead;
    if (while_test || dead_else) next = read_orelse(l, r, s, &lp, last + 1, &node->While.orelse);
    r->start = at;
    emit_loop(l, r, node, &lp);
    return next;
}

/* ---- the walk ---- */

static bool pel_ends_before(const pel_lift *l, uint32_t at) { return at == 0 || pel_ends(&l->c->at[at - 1]); }

/* Whether a `return` of a constant is after a `finally`, in a later line: the function's own end has the line of
 * what comes before it. */
static bool is_behind_finally(const pel_lift *l, uint32_t at) {
    if (!l->c->copies_exits || l->plainly || at < 2 || l->c->at[at - 2].op != PEL_I_FINALLY) return false;
    uint32_t guard = l->c->at[at - 2].arg, target = l->c->guards[guard].target;
    for (uint32_t i = target + 1; i < l->c->n && l->c->at[i].level == l->c->at[target].level; i++)
        if (l->c->at[i].within == guard && l->c->at[i].line >= l->c->at[at - 1].line) return false;
    return true;
}

/* The outermost handler around a place whose statement has not begun. */
static uint32_t guard_to_open(const pel_lift *l, uint32_t at) {
    uint32_t found = PEL_NONE;
    for (uint32_t g = l->c->at[at].cover; g != PEL_NONE; g = l->c->guards[g].outer)
        if (!l->open[g]) found = g;
    return found;
}

/* Whether a loop that begins here is within what a handler covers. */
static bool loops_within(const pel_lift *l, uint32_t at, uint32_t guard) {
    for (uint32_t g = l->back_cover[at]; g != PEL_NONE; g = l->c->guards[g].outer)
        if (g == guard) return true;
    return false;
}

static pel_node *assert_false(pel_lift *l, pel_node *exc, uint32_t at) {
    if (!is_assertion_error(exc)) pel_lift_fail(l, at, "an assertion of unknown shape");
    pel_node *node = assert_of(l, pel_make_constant(l->ctx, &pel_false), exc);
    node->parens = 1; /* the constant is not tested */
    return node;
}

/* if test: return a; return b, where the constants are loaded by an instruction of their own -> return a if test else b
 */
static void return_ternaries(pel_lift *l, pel_nodes *body) {
    for (uint32_t i = body->n; i-- > 0;) {
        pel_node *stmt = body->at[i];
        if (stmt->kind != PEL_If || stmt->If.body.n != 1 || stmt->If.body.at[0]->kind != PEL_Return) continue;
        pel_node *yes = stmt->If.body.at[0], *no = NULL;
        bool behind = !stmt->If.orelse.n && i + 1 < body->n;
        if (stmt->If.orelse.n == 1)
            no = stmt->If.orelse.at[0];
        else if (behind)
            no = body->at[i + 1];
        if (!no || no->kind != PEL_Return || !(yes->parens == 4 || no->parens == 4) || !yes->Return.value ||
            !no->Return.value)
            continue;
        pel_node *value = pel_node_new(l->ctx, PEL_IfExp);
        value->mark = stmt->mark;
        value->IfExp.test = stmt->If.test;
        value->IfExp.body = yes->Return.value;
        value->IfExp.orelse = no->Return.value;
        pel_node *made = pel_node_new(l->ctx, PEL_Return);
        made->mark = stmt->mark;
        made->parens = 4;
        made->Return.value = value;
        body->at[i] = made;
        if (!behind) continue;
        memmove(&body->at[i + 1], &body->at[i + 2], (body->n - i - 2) * sizeof *body->at);
        body->n--;
    }
}

static bool same_instruction(const pel_ins *a, const pel_ins *b) {
    return a->op == b->op && a->arg == b->arg && (a->sub == b->sub || a->op == PEL_I_RETURN) &&
           a->target == b->target && (a->op == PEL_I_CONST ? pel_const_same(a->value, b->value) : a->name == b->name);
}

/* Reads the value of a test with the instructions at copy_at as a jump to those at copy_of that they are a copy of. */
static bool read_with_copy(pel_lift *l, stack *s, uint32_t at, uint32_t limit, uint32_t length, uint32_t *next) {
    test ignored = { 0 };
    bool broken = l->broken;
    l->copy_end = l->copy_at + length;
    l->trial++; /* a test is no answer here */
    bool made = pel_read_cond(l, s, at, limit, &ignored, next);
    l->trial--;
    l->copy_at = PEL_NONE;
    l->broken = broken;
    return made;
}

/* return a or (b if c else d): what follows the value was copied into the arm before the last. */
static bool read_copied_value(pel_lift *l, stack *s, uint32_t at, uint32_t limit, uint32_t *next) {
    const pel_ins *ins = &l->c->at[at];
    if (ins->op != PEL_I_JFP && ins->op != PEL_I_JTP) return false;
    stack whole = pel_stack_copy(l, s, s->n);
    l->copy_at = PEL_NONE;
    if (read_with_copy(l, &whole, at, limit, 0, next)) return false; /* there is no copy */
    uint32_t to = ins->target, last = straight_end(l, to, l->c->n);
    if (last == PEL_NONE || last - to >= 8 || l->c->at[last].op == PEL_I_JUMP) return false;
    uint32_t length = last + 1 - to;
    for (uint32_t i = at + 1; i + length <= to; i++) {
        uint32_t k = 0;
        while (k < length && same_instruction(&l->c->at[i + k], &l->c->at[to + k])) k++;
        if (k < length) continue;
        l->copy_at = i;
        l->copy_of = to;
        if (read_with_copy(l, s, at, limit, length, next)) return true;
    }
    return false;
}

/* Whether the end of a path returns a tuple of nothing but constants that is no constant itself. Compilers fold such a
 * tuple, so one of them came from an if-else expression. */
static bool returns_unfolded(const pel_lift *l, uint32_t from, uint32_t end) {
    const pel_ins *at = l->c->at;
    if (end <= from || at[end].op != PEL_I_RETURN || at[end - 1].op != PEL_I_BUILD || at[end - 1].sub != PEL_D_TUPLE)
        return false;
    uint32_t n = at[end - 1].arg;
    if (!n || end - 1 < from + n) return false;
    for (uint32_t i = 1; i <= n; i++)
        if (at[end - 1 - i].op != PEL_I_CONST) return false;
    return true;
}

/* return f(a if c else b): the call and the return after the two arms are short enough to be copied into both. Both
 * arms then end alike; the first copy is read as a jump to the second. */
static bool read_copied_tail(pel_lift *l, region *r, stack *s, uint32_t at, const test *t, uint32_t *next) {
    uint32_t limit = r->end;
    /* a `return` is not covered by what covers the rest */
    uint32_t more = 0;
    if (limit + 1 < l->c->n && l->c->at[limit].op == PEL_I_CONST && l->c->at[limit + 1].op == PEL_I_RETURN) more = 2;
    if (limit < l->c->n && l->c->at[limit].op == PEL_I_RETURN && !l->c->at[limit].is_target) more = 1;
    uint32_t first = straight_end(l, t->next, limit), second = straight_end(l, t->otherwise, limit + more);
    if (!l->c->copies_exits || first == PEL_NONE || second == PEL_NONE || first >= second) return false;
    bool is_value =
        s->n > r->base + 1 || returns_unfolded(l, t->next, first) || returns_unfolded(l, t->otherwise, second);
    if (!is_value) return false; /* two statements */
    uint32_t length = 0;
    while (length < 8 && first - length > t->next && second - length > t->otherwise &&
           same_instruction(&l->c->at[first - length], &l->c->at[second - length]))
        length++;
    for (; length > 0; length--) {
        l->copy_at = first + 1 - length;
        l->copy_of = second + 1 - length;
        if (read_with_copy(l, s, at, limit, length, next)) return true;
    }
    return false;
}

/* The same where only the arm that compilers see as one run was folded: return ("a" if c else "b",) in 3.14 and later.
 */
static bool read_half_folded(pel_lift *l, stack *s, uint32_t at, const test *t, uint32_t *next) {
    uint32_t yes = t->next, no = t->otherwise;
    if (no != yes + 2 || no + 2 >= l->c->n || l->c->at[no].is_target == 0) return false;
    const pel_ins *folded = &l->c->at[yes], *apart = &l->c->at[no];
    bool fits = folded[0].op == PEL_I_CONST && folded[0].value->kind == PEL_CONST_TUPLE && folded[0].value->n == 1 &&
                folded[1].op == PEL_I_RETURN && apart[1].arg == 1 && returns_unfolded(l, no, no + 2);
    if (!fits) return false;
    pel_stack_pop(l, s, at);
    pel_node *value = pel_make(l, PEL_IfExp, at);
    value->IfExp.test = t->expr;
    value->IfExp.body = pel_const_node(l, folded->value->items[0], yes);
    value->IfExp.orelse = pel_const_node(l, apart->value, no);
    pel_push_expr(l, s, at, value);
    *next = no + 1;
    return true;
}

/* Behind the pop of a loop's iterator: the code of a `break` that the compiler replaced by a copy of where it leads. */
static uint32_t copied_break(const pel_lift *l, const loop *lp, uint32_t at) {
    const pel_ins *first = &l->c->at[at];
    if (first->op == PEL_I_JUMP || first->op == PEL_I_POP || first->op == PEL_I_RETURN ||
        first->op == PEL_I_WITH_EXIT || first->op == PEL_I_FINALLY || first->op == PEL_I_POP_EXC ||
        first->op == PEL_I_SWAP)
        return PEL_NONE;
    if (first->op == PEL_I_CONST && l->c->at[at + 1].op == PEL_I_RETURN) return PEL_NONE;
    for (uint32_t p = lp->end; p < l->c->n && l->c->at[p].level == first->level; p++)
        if (l->c->at[p].op == first->op && pel_same_run(l, at, p)) return p;
    return PEL_NONE;
}

/* `break` or `continue` in a handler that begins to leave it at a POP_EXC: its jump, if the handler's own end, which
 * nothing reaches, is after it; or PEL_NONE. */
static uint32_t jump_before_end(const pel_lift *l, const region *r, uint32_t at) {
    uint32_t i = at + 1;
    while (i < r->end && (l->c->at[i].op == PEL_I_POP || l->c->at[i].op == PEL_I_WITH_EXIT)) i++;
    return i + 1 < r->end && l->c->at[i].op == PEL_I_JUMP && l->c->at[i + 1].dead ? i : PEL_NONE;
}

uint32_t pel_read_range(pel_lift *l, region *r, stack *s, uint32_t at) {
    region *saved = l->region;
    l->region = r;
    r->from = r->start = at;
    pel_lift_enter(l, at);
    while (!r->done && (at < r->end || waits(r, s))) {
        pel_lift_tick(l, at);
        if (at >= l->c->n) pel_lift_fail(l, at, "the code ends within a statement");
        const pel_ins *ins = &l->c->at[at];
        if (between(r, s)) {
            r->start = at;
            if (was_joined(l, at)) keep_else(l, &r->out);
            uint32_t guard = guard_to_open(l, at);
            bool head = l->back[at] != PEL_NONE && !l->head_open[at] && ins->op != PEL_I_FOR && l->back[at] < r->end;
            if (head && guard != PEL_NONE && loops_within(l, at, guard)) head = false;
            if (head) {
                at = read_loop(l, r, s, at);
                continue;
            }
            if (guard != PEL_NONE) {
                at = pel_read_try(l, r, s, at, guard);
                continue;
            }
        }
        if (s->n == r->base + 1 && s->at[r->base].kind == IT_EXPR && pel_begins_match(l, at)) {
            uint32_t next = pel_read_match(l, r, s, at);
            if (next != PEL_NONE) {
                at = next;
                continue;
            }
        }
        if (pel_is_cond(ins)) {
            test t;
            uint32_t next;
            if (read_copied_value(l, s, at, r->end, &next) || pel_read_cond(l, s, at, r->end, &t, &next)) {
                at = next;
                continue;
            }
            if (read_half_folded(l, s, at, &t, &next) || read_copied_tail(l, r, s, at, &t, &next)) {
                at = next;
                continue;
            }
            pel_stack_pop(l, s, at);
            if (!between(r, s)) pel_lift_fail(l, at, "a test within an expression");
            uint32_t start = r->start;
            if (l->c->tests_again && (!l->c->tests_once || l->plainly) && read_test_loop(l, r, s, &t, start, &next))
                at = next;
            else
                at = read_if(l, r, s, &t);
            continue;
        }
        switch (ins->op) {
        case PEL_I_JUMP:
            read_jump(l, r, s, at);
            back_to_base(l, r, s);
            at++;
            if (r->open_ended) r->done = true;
            break;
        case PEL_I_RETURN: {
            pel_node *node = pel_node_new(l->ctx, PEL_Return);
            if (s->n && s->at[s->n - 1].kind == IT_SILENT)
                pel_stack_pop(l, s, at); /* a class returns its cell */
            else
                node->Return.value = pel_pop_expr(l, s, at);
            bool is_shared = l->c->copies_exits && at && l->c->target_of[at - 1] + !pel_ends_before(l, at - 1) > 1;
            if (ins->sub == 1 || (ins->dead && at + 1 == l->c->n_main))
                node->parens = 2;
            else if (is_shared || is_behind_finally(l, at))
                node->parens = 1;
            if (l->c->returns_consts && !ins->flag && !ins->is_target && at && l->c->at[at - 1].op == PEL_I_CONST)
                node->parens = 4;
            pel_lift_emit(l, node);
            back_to_base(l, r, s);
            at++;
            if (r->open_ended) r->done = true;
            break;
        }
        case PEL_I_RAISE: {
            pel_node *node = pel_node_new(l->ctx, PEL_Raise);
            bool asserts = ins->arg == 1 && l->c->at[r->start].op == PEL_I_ASSERTION_ERROR;
            if (ins->arg > 1) node->Raise.cause = pel_pop_expr(l, s, at);
            if (ins->arg > 0) node->Raise.exc = pel_pop_expr(l, s, at);
            if (asserts) node = assert_false(l, node->Raise.exc, at);
            pel_lift_emit(l, node);
            back_to_base(l, r, s);
            at++;
            if (r->open_ended) r->done = true;
            break;
        }
        case PEL_I_PLACE: at++; break;
        case PEL_I_FOR: {
            uint32_t next = pel_read_inline_comp(l, s, at);
            at = next != PEL_NONE ? next : pel_read_for(l, r, s, at);
            break;
        }
        case PEL_I_POP:
            if (r->loop && s->n == r->base && s->n && s->at[s->n - 1].kind == IT_ITER && l->c->copies_exits) {
                uint32_t to = copied_break(l, r->loop, at + 1);
                if (to != PEL_NONE) {
                    emit_break(l, r->loop, to, at);
                    for (at++; !pel_ends(&l->c->at[at]); at++) {}
                    at++;
                    back_to_base(l, r, s);
                    break;
                }
            }
            pel_step(l, s, at++);
            break;
        case PEL_I_WITH: at = pel_read_with(l, r, s, at); break;
        case PEL_I_POP_EXC:
            if (r->is_handler && between(r, s)) {
                uint32_t jump = jump_before_end(l, r, at);
                if (jump != PEL_NONE) {
                    read_jump(l, r, s, jump);
                    at = jump + 1;
                    break;
                }
                r->done = true;
                r->exit = at + 1;
                break;
            }
            if (!s->n || s->at[s->n - 1].kind != IT_EXC)
                pel_lift_fail(l, at, "an exception is popped that is not there");
            pel_stack_pop(l, s, at++);
            break;
        case PEL_I_RERAISE:
            if (r->is_handler && between(r, s)) {
                r->done = true;
                r->exit = PEL_NONE;
                break;
            }
            pel_lift_fail(l, at, "an exception is raised again outside a handler");
        default: pel_step(l, s, at++);
        }
    }
    /* the iterator is gone: control leaves the loop */
    if (r->loop && !r->done && s->n < r->base) emit_break(l, r->loop, r->end, at);
    if (l->c->returns_consts) return_ternaries(l, &r->out);
    l->region = saved;
    pel_lift_leave(l);
    return at;
}
