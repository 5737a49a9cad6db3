/* Conditional jumps -> tests and values.
 *
 * Jumps that test one expression after the other, with nothing but expressions between them, are a small graph. Its
 * nodes are gathered in layout order, then neighbours are joined by a handful of rules until one is left:
 *
 *   a -T-> b, a -F-> F(b)   a and b          a -F-> b, a -T-> T(b)   a or b
 *   a -T-> b, a -F-> T(b)   not a or b       a -F-> b, a -T-> F(b)   not a and b
 *   a -> {b, c}, b and c leave alike         b if a else c
 *
 * A jump that is not pushed through keeps its value ("or pop"); such nodes join only where the value may arrive. */
#include "decompile/lift.h"

typedef enum cnode_kind {
    TEST,       /* both ways without a value */
    KEEP_FALSE, /* false goes on with the value */
    KEEP_TRUE,
    VALUE, /* goes on with the value; t and f are the place */
} cnode_kind;

/* An expression and what is ugly about it. */
typedef struct form {
    pel_node *e;
    uint32_t cost;
} form;

struct cnode {
    uint32_t start, jump;
    cnode_kind kind;
    form yes, no; /* TEST: the expression and its negation; else yes only */
    uint32_t t, f;
};

#define MAX_NODES 300
/* `not a in b` would be compiled as `a not in b` */
#define COST_FOLDED 1000

bool pel_opens_guard(const pel_lift *l, uint32_t at) {
    for (uint32_t g = l->c->at[at].cover; g != PEL_NONE; g = l->c->guards[g].outer)
        if (!l->open[g]) return true;
    return false;
}

/* ---- negation ---- */

static pel_node *not_node(pel_lift *l, pel_node *e) {
    pel_node *node = pel_node_new(l->ctx, PEL_UnaryOp);
    node->mark = e->mark;
    node->UnaryOp.op = PEL_Not;
    node->UnaryOp.operand = e;
    return node;
}

/* Whether a compiler makes something else of `not e`. */
static bool folds_not(const pel_node *e) {
    if (e->kind == PEL_Constant) return true;
    if (e->kind != PEL_Compare || e->Compare.ops.n != 1) return false;
    uint8_t op = e->Compare.ops.at[0];
    return op == PEL_Is || op == PEL_IsNot || op == PEL_In || op == PEL_NotIn;
}

static form negated(pel_lift *l, form x) {
    return (form){ not_node(l, x.e), x.cost + 1 + (folds_not(x.e) ? COST_FOLDED : 0) };
}

static form cheaper(form a, form b) { return b.cost < a.cost ? b : a; }

static form joined(pel_lift *l, pel_BOOLOP op, form a, form b) {
    pel_node *node = pel_node_new(l->ctx, PEL_BoolOp);
    node->mark = a.e->mark;
    node->BoolOp.op = op;
    for (int side = 0; side < 2; side++) {
        pel_node *e = side ? b.e : a.e;
        if (e->kind == PEL_BoolOp && e->BoolOp.op == op)
            for (uint32_t i = 0; i < e->BoolOp.values.n; i++)
                pel_nodes_push(l->ctx, &node->BoolOp.values, e->BoolOp.values.at[i]);
        else
            pel_nodes_push(l->ctx, &node->BoolOp.values, e);
    }
    return (form){ node, a.cost + b.cost };
}

static form ternary(pel_lift *l, const cnode *a, form b, form c, bool inverted) {
    pel_node *node = pel_node_new(l->ctx, PEL_IfExp);
    form asked = inverted ? a->no : a->yes;
    node->mark = asked.e->mark;
    node->IfExp.test = asked.e;
    node->IfExp.body = b.e;
    node->IfExp.orelse = c.e;
    return (form){ node, asked.cost + b.cost + c.cost };
}

/* Both forms of `a op b`, each in the cheaper of its two writings. */
static void join_tests(pel_lift *l, cnode *into, pel_BOOLOP op, form a, form a_no, form b, form b_no) {
    form plain = joined(l, op, a, b), dual = joined(l, op == PEL_And ? PEL_Or : PEL_And, a_no, b_no);
    into->yes = cheaper(plain, negated(l, dual));
    into->no = cheaper(dual, negated(l, plain));
}

pel_node *pel_negate(pel_lift *l, pel_node *e) {
    if (e->kind == PEL_UnaryOp && e->UnaryOp.op == PEL_Not) return e->UnaryOp.operand;
    return not_node(l, e);
}

/* ---- gathering ---- */

typedef struct graph {
    cnode *at;
    uint32_t n, cap;
} graph;

static bool is_join(const graph *g, uint32_t label) {
    for (uint32_t i = 0; i < g->n; i++) {
        const cnode *node = &g->at[i];
        if (node->kind == VALUE && node->t == label) return true;
        if (node->kind == KEEP_FALSE && node->f == label) return true;
        if (node->kind == KEEP_TRUE && node->t == label) return true;
    }
    return false;
}

#define CHAINED 0x21 /* parens of a comparison that goes on */

/* e is None, or e is not None; the comparison e may be the beginning of it. */
static pel_node *none_test(pel_lift *l, pel_node *e, bool is_none, uint32_t at) {
    pel_node *node = pel_make(l, PEL_Compare, at);
    uint32_t n = e->parens == CHAINED ? e->Compare.ops.n : 0;
    node->Compare.left = n ? e->Compare.left : e;
    node->Compare.ops.at = pel_alloc_array(l->ctx, n + 1, 1);
    if (n) memcpy(node->Compare.ops.at, e->Compare.ops.at, n);
    node->Compare.ops.at[n] = is_none ? PEL_Is : PEL_IsNot;
    node->Compare.ops.n = n + 1;
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(l->ctx, &node->Compare.comparators, e->Compare.comparators.at[i]);
    pel_nodes_push(l->ctx, &node->Compare.comparators, pel_make_none(l->ctx));
    return node;
}

/* What a jump tests. */
static pel_node *pop_tested(pel_lift *l, stack *s, uint32_t at) {
    item *top = s->n ? &s->at[s->n - 1] : NULL;
    bool asks_none = l->c->at[at].op == PEL_I_PJN || l->c->at[at].op == PEL_I_PJNN;
    if (!asks_none || !top || top->kind != IT_EXPR || !top->chain) return pel_pop_expr(l, s, at);
    pel_node *begun = pel_node_new(l->ctx, PEL_Compare);
    begun->Compare = top->node->Compare;
    begun->parens = CHAINED;
    pel_stack_pop(l, s, at);
    return begun;
}

static cnode node_at(pel_lift *l, uint32_t start, uint32_t jump, pel_node *e) {
    const pel_ins *ins = &l->c->at[jump];
    uint32_t next = jump + 1;
    cnode node = { .start = start, .jump = jump, .kind = TEST, .yes = { e, 0 }, .t = next, .f = ins->target };
    switch (ins->op) {
    case PEL_I_PJT:
        node.t = ins->target;
        node.f = next;
        break;
    case PEL_I_JFP: node.kind = KEEP_FALSE; break;
    case PEL_I_JTP:
        node.kind = KEEP_TRUE;
        node.t = ins->target;
        node.f = next;
        break;
    case PEL_I_PJN:
    case PEL_I_PJNN: {
        bool jumps_if_none = ins->op == PEL_I_PJN;
        if (e->parens == CHAINED) { /* a < b is None: where it fails, the comparisons before it lead, too */
            bool if_true = ins->arg == 1;
            node.yes.e = none_test(l, e, jumps_if_none == if_true, jump);
            if (if_true) {
                node.t = ins->target;
                node.f = next;
            }
            break;
        }
        node.yes = (form){ none_test(l, e, !jumps_if_none, jump), 0 }; /* true falls through */
        node.no = (form){ none_test(l, e, jumps_if_none, jump), 0 };
        return node;
    }
    default: break;
    }
    node.no = negated(l, node.yes);
    return node;
}

typedef enum run_end { RUN_STOP, RUN_TEST, RUN_JUMP, RUN_JOIN } run_end;

/* Runs expressions from *at on, on trial, until something is decided about the one value above base. */
static run_end run(pel_lift *l, const graph *g, stack *s, uint32_t base, uint32_t *at, uint32_t limit) {
    for (;;) {
        uint32_t i = *at;
        if (i >= limit) return s->n == base + 1 && s->low >= base && is_join(g, i) ? RUN_JOIN : RUN_STOP;
        bool one = s->n == base + 1 && s->at[base].kind == IT_EXPR && !s->at[base].chain;
        if (s->n == base + 1 && s->at[base].kind == IT_EXPR && s->at[base].chain &&
            (l->c->at[i].op == PEL_I_PJN || l->c->at[i].op == PEL_I_PJNN))
            return RUN_TEST;
        if (one && is_join(g, i)) return RUN_JOIN;
        const pel_ins *ins = &l->c->at[i];
        if (pel_opens_guard(l, i)) return RUN_STOP;
        if (pel_is_cond(ins)) {
            if (one) return RUN_TEST;
            if (s->n <= base + 1) return RUN_STOP;
            test ignored;
            uint32_t next;
            if (!pel_read_cond(l, s, i, limit, &ignored, &next)) return RUN_STOP;
            *at = next;
            continue;
        }
        if (ins->op == PEL_I_JUMP || i == l->copy_at) return one ? RUN_JUMP : RUN_STOP;
        if (ins->op == PEL_I_FOR) {
            uint32_t next = pel_read_inline_comp(l, s, i);
            if (next == PEL_NONE) return RUN_STOP;
            *at = next;
            continue;
        }
        if (!pel_step(l, s, i) || s->low < base) return RUN_STOP;
        *at = i + 1;
    }
}

/* ---- reducing ---- */

static uint32_t edges_to(const cnode *nodes, uint32_t n, uint32_t label) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i].t == label) count++;
        if (nodes[i].f == label && nodes[i].kind != VALUE) count++;
    }
    return count;
}

static bool same_label(const pel_lift *l, uint32_t a, uint32_t b) {
    return a == b || pel_resolve(l, a) == pel_resolve(l, b);
}

/* Whether a test leaves for the same place as the one behind it. Where jumps to jumps are led on within one line only,
 * a jump in a line of its own is a statement, and a place of its own. */
static bool same_exit(const pel_lift *l, const cnode *a, uint32_t other, uint32_t label) {
    if (other == label) return true;
    if (!same_label(l, other, label)) return false;
    if (!l->c->tests_again || l->c->moves_cold || l->plainly || other >= l->c->n || label >= l->c->n) return true;
    const pel_ins *x = &l->c->at[other], *y = &l->c->at[label];
    if (y->op != PEL_I_JUMP || !y->line) return true;
    return x->op != PEL_I_JUMP && y->line == l->c->at[a->jump].line;
}

/* Joins two neighbours into *into; false if no rule fits. */
static bool join_pair(pel_lift *l, const cnode *a, const cnode *b, cnode *into) {
    *into = *b;
    into->start = a->start;
    if (a->kind == TEST && b->kind != VALUE) {
        /* the way that both share must be one that b leaves without a value */
        bool share_f = b->kind != KEEP_FALSE, share_t = b->kind != KEEP_TRUE;
        bool to_b_if_true = a->t == b->start;
        if (!to_b_if_true && a->f != b->start) return false;
        uint32_t other = to_b_if_true ? a->f : a->t;
        bool is_f = share_f && same_exit(l, a, other, b->f), is_t = share_t && same_exit(l, a, other, b->t);
        if (!is_f && !is_t) return false;
        pel_BOOLOP op = is_f ? PEL_And : PEL_Or;
        /* and: reaching b means that the left side was true */
        form left = (op == PEL_And) == to_b_if_true ? a->yes : a->no,
             left_no = (op == PEL_And) == to_b_if_true ? a->no : a->yes;
        if (b->kind == TEST)
            join_tests(l, into, op, left, left_no, b->yes, b->no);
        else
            into->yes = joined(l, op, left, b->yes);
        return true;
    }
    if (a->kind == KEEP_FALSE && a->t == b->start && (b->kind == VALUE || b->kind == KEEP_FALSE) &&
        same_label(l, a->f, b->f)) {
        into->yes = joined(l, PEL_And, a->yes, b->yes);
        return true;
    }
    if (a->kind == KEEP_TRUE && a->f == b->start && (b->kind == VALUE || b->kind == KEEP_TRUE) &&
        same_label(l, a->t, b->t)) {
        into->yes = joined(l, PEL_Or, a->yes, b->yes);
        return true;
    }
    return false;
}

static bool join_three(pel_lift *l, const cnode *a, const cnode *b, const cnode *c, cnode *into) {
    if (a->kind != TEST || b->kind != c->kind) return false;
    bool inverted;
    if (a->t == b->start && a->f == c->start)
        inverted = false;
    else if (a->f == b->start && a->t == c->start)
        inverted = true;
    else
        return false;
    if (!same_label(l, b->t, c->t) || !same_label(l, b->f, c->f)) return false;
    *into = *c;
    into->start = a->start;
    into->yes = ternary(l, a, b->yes, c->yes, inverted);
    if (c->kind == TEST) into->no = negated(l, into->yes);
    return true;
}

/* Joins until nothing fits any more; the number that is left. */
static uint32_t reduce(pel_lift *l, cnode *nodes, uint32_t n) {
    for (bool again = true; again && n > 1;) {
        again = false;
        for (uint32_t i = n - 1; i-- > 0;) {
            cnode made;
            uint32_t gone = 0;
            pel_lift_tick(l, nodes[i].jump);
            if (edges_to(nodes, n, nodes[i + 1].start) == 1) {
                if (join_pair(l, &nodes[i], &nodes[i + 1], &made))
                    gone = 1;
                else if (i + 2 < n && edges_to(nodes, n, nodes[i + 2].start) == 1 &&
                         join_three(l, &nodes[i], &nodes[i + 1], &nodes[i + 2], &made))
                    gone = 2;
            }
            if (!gone) continue;
            nodes[i] = made;
            memmove(&nodes[i + 1], &nodes[i + 1 + gone], (n - i - 1 - gone) * sizeof *nodes);
            n -= gone;
            again = true;
            if (i + 1 > n) break;
        }
    }
    return n;
}

static cnode *nodes_copy(pel_lift *l, const cnode *nodes, uint32_t n) {
    cnode *copy = pel_alloc_raw(l->ctx, (n + 1) * sizeof *copy);
    memcpy(copy, nodes, n * sizeof *copy);
    return copy;
}

/* The last nodes whose value arrives at label, joined: their first index, or PEL_NONE if that makes no value. */
static uint32_t value_at(pel_lift *l, graph *g, uint32_t label, pel_node **value) {
    uint32_t from = g->n;
    while (from > 0) {
        const cnode *node = &g->at[from - 1];
        bool inside = true;
        for (int side = 0; side < 2 && inside; side++) {
            uint32_t to = side ? node->f : node->t;
            if (to == label) {
                inside =
                    node->kind == VALUE || (node->kind == KEEP_FALSE && side) || (node->kind == KEEP_TRUE && !side);
                continue;
            }
            inside = false;
            for (uint32_t k = from; k < g->n && !inside; k++) inside = g->at[k].start == to;
        }
        if (!inside) break;
        from--;
    }
    if (from == g->n) return PEL_NONE;
    cnode *copy = nodes_copy(l, &g->at[from], g->n - from);
    if (reduce(l, copy, g->n - from) != 1 || copy->kind != VALUE) return PEL_NONE;
    *value = copy->yes.e;
    return from;
}

/* ---- the two questions asked from outside ---- */

/* Jumps of two statements may look like one test (`if a: continue` before `if b:`), and only a caller knows where it
 * must end. The first n make a test if they lead to two places, of which one is next. On failure *t is as before. */
bool pel_shorter_test(pel_lift *l, test *t, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (t->nodes[i].kind != TEST) return false;
    uint32_t next = t->nodes[n - 1].jump + 1, exits[2], n_exits = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (int side = 0; side < 2; side++) {
            uint32_t to = side ? t->nodes[i].f : t->nodes[i].t;
            bool inside = false;
            for (uint32_t k = i + 1; k < n && !inside; k++) inside = t->nodes[k].start == to;
            for (uint32_t k = 0; k < n_exits && !inside; k++) inside = same_label(l, exits[k], to);
            if (inside) continue;
            if (n_exits == 2) return false;
            exits[n_exits++] = to;
        }
    }
    cnode *copy = nodes_copy(l, t->nodes, n);
    if (reduce(l, copy, n) != 1) return false;
    if (copy->t == next) {
        t->expr = copy->yes.e;
        t->folds = copy->yes.cost >= COST_FOLDED;
        t->negation_folds = copy->no.cost >= COST_FOLDED;
        t->is_negated = copy->yes.cost > copy->no.cost;
        t->negation = copy->no.e;
        t->otherwise = copy->f;
    } else if (copy->f == next) {
        t->expr = copy->no.e;
        t->folds = copy->no.cost >= COST_FOLDED;
        t->negation_folds = copy->yes.cost >= COST_FOLDED;
        t->is_negated = copy->no.cost > copy->yes.cost;
        t->negation = copy->yes.e;
        t->otherwise = copy->t;
    } else
        return false;
    t->next = next;
    t->used = n;
    return true;
}

uint32_t pel_test_start(const test *t, uint32_t i) { return t->nodes[i].start; }
uint32_t pel_test_jump(const test *t, uint32_t i) { return t->nodes[i].jump; }

/* Whether every jump to a place comes from the nodes gathered. */
static bool entered_from_nodes(const pel_lift *l, const graph *g, uint32_t start) {
    uint32_t known = 0;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->at[i].kind != VALUE && l->c->at[g->at[i].jump].target == start) known++;
    return l->c->target_of[start] <= known;
}

bool pel_read_cond(pel_lift *l, stack *s, uint32_t at, uint32_t limit, test *out, uint32_t *next) {
    pel_lift_enter(l, at);
    graph g = { 0 };
    uint32_t base = s->n - 1, pos = at + 1, value_start = PEL_NONE;
    bool broken = l->broken, made_value = false;
    l->trial++;
    l->broken = false;
    stack w = pel_stack_copy(l, s, s->n);
    pel_node *first = pop_tested(l, &w, at);
    bool bad_first = l->broken;
    pel_push(l->ctx, &g, node_at(l, at, at, first));
    pel_node *pending = NULL; /* a value that is ready at pos */
    uint32_t rounds = 0;      /* no compiler's code needs many: in other code a value may lead to itself */
    while (!bad_first && g.n < MAX_NODES && pos < limit && rounds++ < 4 * MAX_NODES) {
        if (!pending) {
            /* `if (a if c else b)`: a jump over the second arm */
            if (l->c->at[pos].op == PEL_I_JUMP && g.n >= 2 && !l->c->at[pos].is_target && g.at[g.n - 1].kind == TEST) {
                bool skips = false;
                for (uint32_t i = 0; i + 1 < g.n; i++) skips |= g.at[i].t == pos + 1 || g.at[i].f == pos + 1;
                if (!skips) break;
                cnode *last = &g.at[g.n - 1];
                if (last->t == pos + 1 || last->f == pos + 1) break; /* if a: pass, with an else */
                if (last->t == pos)
                    last->t = l->c->at[pos].target;
                else
                    last->f = l->c->at[pos].target;
                pos++;
                if (pos >= limit) break;
            }
            if (l->back[pos] != PEL_NONE || pel_opens_guard(l, pos) || !entered_from_nodes(l, &g, pos)) break;
        }
        uint32_t start = pending ? value_start : pos;
        w = pel_stack_copy(l, s, base);
        if (pending) pel_push_expr(l, &w, pos, pending);
        w.low = base;
        pending = NULL;
        run_end end = run(l, &g, &w, base, &pos, limit);
        if (end == RUN_STOP || l->broken) break;
        pel_node *e = end == RUN_TEST ? pop_tested(l, &w, pos) : pel_pop_expr(l, &w, pos);
        if (l->broken) break;
        if (end == RUN_TEST) {
            pel_push(l->ctx, &g, node_at(l, start, pos, e));
            pos++;
            continue;
        }
        cnode node = { .start = start, .jump = pos, .kind = VALUE, .yes = { e, 0 }, .t = pos, .f = pos };
        bool is_copy = pos == l->copy_at;
        if (end == RUN_JUMP) node.t = node.f = is_copy ? l->copy_of : l->c->at[pos].target;
        pel_push(l->ctx, &g, node);
        if (end == RUN_JUMP) {
            pos = is_copy ? l->copy_end : pos + 1;
            if (pos >= limit || l->c->target_of[pos] == 0) break;
            continue;
        }
        uint32_t from = value_at(l, &g, pos, &pending);
        if (from == PEL_NONE) break;
        if (from == 0) {
            made_value = true;
            break;
        }
        value_start = g.at[from].start;
        g.n = from;
    }
    l->trial--;
    l->broken = broken;
    pel_lift_leave(l);
    if (made_value) {
        s->n = base;
        pel_push_expr(l, s, at, pending);
        if (base < s->low) s->low = base;
        *next = pos;
        return true;
    }
    if (bad_first) {
        if (!l->trial) pel_lift_fail(l, at, "a test of no value");
        l->broken = true;
    }
    *out = (test){ .nodes = g.at, .n_nodes = g.n };
    if (g.at[0].kind != TEST) {
        if (!l->trial) pel_lift_fail(l, at, "a value that nothing takes");
        l->broken = true;
        return false;
    }
    if (l->trial) return false;
    uint32_t n = g.n;
    while (n > 1 && !pel_shorter_test(l, out, n)) n--;
    if (n == 1 && !pel_shorter_test(l, out, 1)) pel_lift_fail(l, at, "a test without two ways");
    /* no single test has a `not` before `in` or `is` in both its writings: an `if` within an `if` */
    test whole = *out;
    for (uint32_t k = n; k > 1 && out->folds && out->negation_folds;)
        if (!pel_shorter_test(l, out, --k) || (k == 1 && out->folds && out->negation_folds)) *out = whole;
    return false;
}
