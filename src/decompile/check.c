/* Does the tree do what the instructions do?
 *
 * The tree is made into a graph of events (loads, operators, calls, stores, returns, loops, tests, ways out of `with`
 * and `finally`...) along the ways that control can take; the instructions are such a graph already. Both are walked at
 * once, from the start and from every handler: each event must meet its like, and be covered by the same handlers.
 * Copies that the compiler made need no care: several places may meet the same event. An instruction that only pushes
 * or computes a value may be passed over if no node of the tree came from it, since compilers load more than is
 * written (names of arguments, the None of a bare `return`); an event of the tree never is. A tree that fails is not
 * given out. */
#include "decompile/lift.h"

typedef enum event_kind {
    EV_GO, /* nothing happens */
    /* values */
    EV_LOAD,
    EV_CONST,
    EV_ATTR,
    EV_SUBSCR,
    EV_UNARY,
    EV_BINARY,
    EV_COMPARE,
    EV_LAST_VALUE = EV_COMPARE,
    /* effects */
    EV_CALL,
    EV_STORE,
    EV_DELETE,
    EV_STORE_ATTR,
    EV_DELETE_ATTR,
    EV_STORE_SUBSCR,
    EV_DELETE_SUBSCR,
    EV_YIELD,
    EV_AWAIT,
    EV_RETURN,
    EV_RAISE,
    EV_RERAISE,
    EV_FOR,  /* next: an item, other: the end */
    EV_TEST, /* next: true, other: false */
    EV_WITH,
    EV_WITH_EXIT,
    EV_FINALLY, /* its body runs on the way out */
    EV_CATCH,   /* next: the exception is of the type, other: it is not */
    EV_IMPORT,
    EV_IMPORT_ALL,
    EV_NO_END, /* the body of a `finally` that never comes to its end: meets EV_FINALLY, what follows is not reached */
} event_kind;

typedef struct event {
    event_kind kind;
    uint8_t op;             /* of a value: which operator */
    bool asks;              /* EV_TEST: compares or negates, too (`is None`, `not`, a pattern) */
    pel_name name;          /* or NULL */
    const pel_const *value; /* EV_CONST */
    uint32_t from;          /* of a value: the instruction that the node came from, or PEL_NONE */
    uint32_t n_args;        /* EV_CALL: how many, PEL_NONE if that is not known; of a bare `raise`: `handled` */
    uint32_t next, other;
    uint32_t context; /* the statement around it that catches exceptions, or PEL_NONE */
} event;

typedef struct context {
    uint32_t handler; /* event that it begins with */
    uint32_t outer;
    bool is_with;
} context;

/* What a jump out of it has to leave. */
typedef struct enclosure {
    struct enclosure *outer;
    event_kind leaves; /* EV_WITH_EXIT or EV_FINALLY */
} enclosure;

typedef struct checker {
    pel_lift *l;
    uint32_t *first_at; /* by offset: the first instruction from there, or PEL_NONE */
    bool *meant;        /* by instruction: a value event of the tree came from it */
    PEL_VEC(event) events;
    PEL_VEC(context) contexts;
    bool has_match;
    uint32_t within;  /* context of what is being made */
    uint32_t handled; /* how many exceptions are being handled there: which one a bare `raise` raises again */
    uint32_t break_to, continue_to;
    enclosure *around, *around_loop; /* what a return has to leave; what lies around the innermost loop */
    int depth;
} checker;

#define MAX_NESTING 900
#define NOT_SEEN (PEL_NONE - 1)

static uint32_t add(checker *c, event_kind kind, pel_name name, uint32_t next, uint32_t other) {
    event e = { .kind = kind,
                .name = name,
                .from = PEL_NONE,
                .n_args = PEL_NONE,
                .next = next,
                .other = other,
                .context = c->within };
    pel_push(c->l->ctx, &c->events, e);
    return c->events.n - 1;
}

/* A cell that goes into a closure: Python has no text for it. */
static bool loads_cell(const pel_code_object *code, const pel_ins *ins) {
    if (ins->sub != PEL_FAST) return false;
    for (uint32_t i = 0; i < code->cellvars.n; i++)
        if (code->cellvars.at[i] == ins->name) return true;
    for (uint32_t i = 0; i < code->freevars.n; i++)
        if (code->freevars.at[i] == ins->name) return true;
    return false;
}

/* The instruction that a node came from, if it is one of these; or PEL_NONE. */
static uint32_t made_by(const checker *c, const pel_node *node, pel_iop op, pel_iop or_op) {
    const pel_canon *code = c->l->c;
    uint32_t offset = node->mark - 1; /* no mark: beyond all offsets */
    if (offset >= code->code->code.len) return PEL_NONE;
    for (uint32_t i = c->first_at[offset]; i < code->n && code->at[i].offset == offset; i++)
        if (code->at[i].op == op || code->at[i].op == or_op) return i;
    return PEL_NONE;
}

static uint32_t add_value(checker *c, event_kind kind, uint32_t ins, pel_name name, unsigned op, uint32_t next) {
    if (ins != PEL_NONE) c->meant[ins] = true;
    uint32_t made = add(c, kind, name, next, PEL_NONE);
    c->events.at[made].op = (uint8_t)op;
    c->events.at[made].from = ins;
    return made;
}

/* The instruction that pushed the constant which a node is, or is a part of. */
static uint32_t const_of(const checker *c, const pel_node *node) {
    switch (node->kind) {
    case PEL_Constant:
    case PEL_UnaryOp:
    case PEL_BinOp:
    case PEL_Tuple:
    case PEL_Slice:
    case PEL_Set: break;
    default: return PEL_NONE;
    }
    uint32_t ins = made_by(c, node, PEL_I_CONST, PEL_I_CONST);
    return ins != PEL_NONE && c->l->c->at[ins].value->kind == PEL_CONST_CODE ? PEL_NONE : ins;
}

/* All parts of a constant come from one instruction. */
static uint32_t add_const(checker *c, uint32_t ins, uint32_t next) {
    const pel_const *value = c->l->c->at[ins].value;
    if (next != PEL_NONE && c->events.at[next].kind == EV_CONST && c->events.at[next].from == ins) return next;
    uint32_t made = add_value(c, EV_CONST, ins, NULL, 0, next);
    c->events.at[made].value = value;
    return made;
}

static uint32_t value(checker *c, pel_node *e, uint32_t next);
static uint32_t body(checker *c, pel_nodes list, uint32_t next);

/* ---- expressions, last to first: each function returns where control enters ---- */

static bool is_none(const pel_node *e) { return e->kind == PEL_Constant && e->Constant.value->kind == PEL_CONST_NONE; }

static uint32_t ask(checker *c, uint32_t yes, uint32_t no) {
    uint32_t made = add(c, EV_TEST, NULL, yes, no);
    c->events.at[made].asks = true;
    return made;
}

/* Compilers make jumps of `not`, `and` and `or` in a test, so these have no events of their own. `is None`, and a `not`
 * that is an instruction (parens 4), must meet a jump that compares or negates: ask() makes that event. */
static uint32_t cond(checker *c, pel_node *e, uint32_t yes, uint32_t no) {
    switch (e->kind) {
    case PEL_UnaryOp:
        if (e->UnaryOp.op != PEL_Not) break;
        if (e->parens == 4) return value(c, e->UnaryOp.operand, ask(c, no, yes));
        return cond(c, e->UnaryOp.operand, no, yes);
        break;
    case PEL_BoolOp: {
        uint32_t entry = PEL_NONE;
        for (uint32_t i = e->BoolOp.values.n; i-- > 0;) {
            bool last = i + 1 == e->BoolOp.values.n;
            if (e->BoolOp.op == PEL_And)
                entry = cond(c, e->BoolOp.values.at[i], last ? yes : entry, no);
            else
                entry = cond(c, e->BoolOp.values.at[i], yes, last ? no : entry);
        }
        return entry;
    }
    case PEL_IfExp: {
        uint32_t a = cond(c, e->IfExp.body, yes, no), b = cond(c, e->IfExp.orelse, yes, no);
        return cond(c, e->IfExp.test, a, b);
    }
    case PEL_Compare:
        if (e->Compare.ops.n == 1 && is_none(e->Compare.comparators.at[0])) {
            uint8_t op = e->Compare.ops.at[0];
            if (op == PEL_IsNot) return value(c, e->Compare.left, ask(c, no, yes));
            if (op == PEL_Is) return value(c, e->Compare.left, ask(c, yes, no));
        }
        break;
    default: break;
    }
    return value(c, e, add(c, EV_TEST, NULL, yes, no));
}

static uint32_t values(checker *c, pel_nodes list, uint32_t next) {
    for (uint32_t i = list.n; i-- > 0;)
        if (list.at[i]) next = value(c, list.at[i], next);
    return next;
}

/* Stores happen in the order of their instructions, which optimised swaps may have turned. */
static uint32_t store(checker *c, pel_node *target, uint32_t next) {
    switch (target->kind) {
    case PEL_Name: /* a store that another one overwrites at once is left out */
        return target->parens == 8 ? next : add(c, EV_STORE, target->Name.id, next, PEL_NONE);
    case PEL_Attribute:
        return value(c, target->Attribute.value, add(c, EV_STORE_ATTR, target->Attribute.attr, next, PEL_NONE));
    case PEL_Subscript:
        next = add(c, EV_STORE_SUBSCR, NULL, next, PEL_NONE);
        return value(c, target->Subscript.value, value(c, target->Subscript.slice, next));
    case PEL_Starred: return store(c, target->Starred.value, next);
    case PEL_Tuple:
    case PEL_List: {
        pel_nodes elts = target->kind == PEL_Tuple ? target->Tuple.elts : target->List.elts;
        bool turned = elts.n > 1 && elts.at[0]->kind == PEL_Name && elts.at[0]->mark > elts.at[elts.n - 1]->mark;
        for (uint32_t i = 0; i < elts.n; i++) next = store(c, elts.at[turned ? i : elts.n - 1 - i], next);
        return next;
    }
    default: return next;
    }
}

static uint32_t generators(checker *c, pel_nodes list, uint32_t i, pel_node *const *elts, uint32_t n, uint32_t next) {
    if (i == list.n) {
        for (uint32_t k = n; k-- > 0;) next = value(c, elts[k], next);
        return next;
    }
    pel_node *g = list.at[i];
    uint32_t loop_event = add(c, EV_FOR, NULL, PEL_NONE, next);
    uint32_t inner = generators(c, list, i + 1, elts, n, loop_event);
    for (uint32_t k = g->comprehension.ifs.n; k-- > 0;) inner = cond(c, g->comprehension.ifs.at[k], inner, loop_event);
    inner = store(c, g->comprehension.target, inner);
    c->events.at[loop_event].next = inner;
    return value(c, g->comprehension.iter, loop_event);
}

/* A comprehension is a function of its own, called with the first iterable, or a loop that is here. */
static uint32_t comprehension(checker *c, pel_node *e, pel_nodes list, pel_node *const *elts, uint32_t n,
                              uint32_t next) {
    if (pel_map_has(&c->l->result->code_of, PEL_KEY(e))) {
        pel_node *iter = list.at[0]->comprehension.iter; /* what calls it fills it in */
        if (!iter) pel_throw(c->l->ctx, PEL_E_INCOMPLETE, 0, "a comprehension that nothing calls");
        if (pel_is_async_comp(c->l, e)) next = add(c, EV_AWAIT, NULL, next, PEL_NONE);
        return value(c, iter, add(c, EV_CALL, NULL, next, PEL_NONE));
    }
    return generators(c, list, 0, elts, n, next);
}

static uint32_t annotation(checker *c, pel_node *arg, uint32_t next) {
    return arg && arg->arg.annotation ? value(c, arg->arg.annotation, next) : next;
}

static uint32_t function_parts(checker *c, pel_node *args, pel_node *returns, uint32_t next) {
    /* annotations come last, in an order of their own */
    if (returns) next = value(c, returns, next);
    next = annotation(c, args->arguments.kwarg, next);
    for (uint32_t i = args->arguments.kwonlyargs.n; i-- > 0;)
        next = annotation(c, args->arguments.kwonlyargs.at[i], next);
    next = annotation(c, args->arguments.vararg, next);
    for (uint32_t i = args->arguments.posonlyargs.n; i-- > 0;)
        next = annotation(c, args->arguments.posonlyargs.at[i], next);
    for (uint32_t i = args->arguments.args.n; i-- > 0;) next = annotation(c, args->arguments.args.at[i], next);
    next = values(c, args->arguments.kw_defaults, next);
    return values(c, args->arguments.defaults, next);
}

static uint32_t calls(checker *c, uint32_t n, uint32_t next) {
    while (n-- > 0) next = add(c, EV_CALL, NULL, next, PEL_NONE);
    return next;
}

typedef struct gathered {
    checker *c;
    PEL_VEC(pel_node *) children;
} gathered;

static void gather(void *arg, pel_node **slot) {
    gathered *g = arg;
    pel_push(g->c->l->ctx, &g->children, *slot);
}

/* a < b < c: each comparison is made as soon as it can be. */
static uint32_t comparison(checker *c, pel_node *e, uint32_t next) {
    for (uint32_t i = e->Compare.ops.n; i-- > 0;) {
        bool is_last = i + 1 == e->Compare.ops.n; /* the only one that the node came from */
        uint32_t ins = is_last ? made_by(c, e, PEL_I_COMPARE, PEL_I_COMPARE) : PEL_NONE;
        if (!is_last || ins != PEL_NONE) next = add_value(c, EV_COMPARE, ins, NULL, e->Compare.ops.at[i], next);
        next = value(c, e->Compare.comparators.at[i], next);
    }
    return value(c, e->Compare.left, next);
}

static uint32_t n_args_of(const pel_node *call) {
    for (uint32_t i = 0; i < call->Call.args.n; i++)
        if (call->Call.args.at[i]->kind == PEL_Starred) return PEL_NONE;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++)
        if (!call->Call.keywords.at[i]->keyword.arg) return PEL_NONE;
    return call->Call.args.n + call->Call.keywords.n;
}

/* Each part needs the entry of what runs after it, so parts are added from the last to the first. A name or operator
 * that no instruction made adds no event: the compiler computed it, or a cell is only passed on. */
static uint32_t value_inner(checker *c, pel_node *e, uint32_t next) {
    uint32_t ins = const_of(c, e);
    if (ins != PEL_NONE) return add_const(c, ins, next);
    switch (e->kind) {
    case PEL_Constant: return next;
    case PEL_Name:
        ins = made_by(c, e, PEL_I_LOAD, PEL_I_LOAD);
        if (ins == PEL_NONE || loads_cell(c->l->code, &c->l->c->at[ins])) return next;
        return add_value(c, EV_LOAD, ins, e->Name.id, 0, next);
    case PEL_Attribute:
        ins = made_by(c, e, PEL_I_ATTR, PEL_I_METHOD);
        if (ins != PEL_NONE) next = add_value(c, EV_ATTR, ins, e->Attribute.attr, 0, next);
        return value(c, e->Attribute.value, next);
    case PEL_Subscript:
        ins = made_by(c, e, PEL_I_SUBSCR, PEL_I_SUBSCR);
        if (ins != PEL_NONE) next = add_value(c, EV_SUBSCR, ins, NULL, 0, next);
        return value(c, e->Subscript.value, value(c, e->Subscript.slice, next));
    case PEL_UnaryOp:
        ins = made_by(c, e, PEL_I_UNARY, PEL_I_UNARY);
        if (ins != PEL_NONE) next = add_value(c, EV_UNARY, ins, NULL, e->UnaryOp.op, next);
        return value(c, e->UnaryOp.operand, next);
    case PEL_BinOp:
        ins = made_by(c, e, PEL_I_BINARY, PEL_I_BINARY);
        if (ins != PEL_NONE) next = add_value(c, EV_BINARY, ins, NULL, e->BinOp.op, next);
        return value(c, e->BinOp.left, value(c, e->BinOp.right, next));
    case PEL_Compare: return comparison(c, e, next);
    case PEL_BoolOp: {
        pel_nodes v = e->BoolOp.values;
        uint32_t entry = value(c, v.at[v.n - 1], next);
        for (uint32_t i = v.n - 1; i-- > 0;)
            entry = e->BoolOp.op == PEL_And ? cond(c, v.at[i], entry, next) : cond(c, v.at[i], next, entry);
        return entry;
    }
    case PEL_IfExp: {
        uint32_t yes = value(c, e->IfExp.body, next), no = value(c, e->IfExp.orelse, next);
        return cond(c, e->IfExp.test, yes, no);
    }
    case PEL_NamedExpr: return value(c, e->NamedExpr.value, store(c, e->NamedExpr.target, next));
    case PEL_Call:
        next = add(c, EV_CALL, NULL, next, PEL_NONE);
        c->events.at[next].n_args = n_args_of(e);
        for (uint32_t i = e->Call.keywords.n; i-- > 0;) next = value(c, e->Call.keywords.at[i]->keyword.value, next);
        return value(c, e->Call.func, values(c, e->Call.args, next));
    case PEL_Dict:
        for (uint32_t i = e->Dict.keys.n; i-- > 0;) {
            next = value(c, e->Dict.values.at[i], next);
            if (e->Dict.keys.at[i]) next = value(c, e->Dict.keys.at[i], next);
        }
        return next;
    case PEL_Lambda: return function_parts(c, e->Lambda.args, NULL, next);
    case PEL_Yield:
    case PEL_YieldFrom: {
        pel_node *given = e->kind == PEL_Yield ? e->Yield.value : e->YieldFrom.value;
        next = add(c, EV_YIELD, NULL, next, PEL_NONE);
        return given ? value(c, given, next) : next;
    }
    case PEL_Await: return value(c, e->Await.value, add(c, EV_AWAIT, NULL, next, PEL_NONE));
    case PEL_ListComp: return comprehension(c, e, e->ListComp.generators, &e->ListComp.elt, 1, next);
    case PEL_SetComp: return comprehension(c, e, e->SetComp.generators, &e->SetComp.elt, 1, next);
    case PEL_GeneratorExp: return comprehension(c, e, e->GeneratorExp.generators, &e->GeneratorExp.elt, 1, next);
    case PEL_DictComp: {
        pel_node *pair[] = { e->DictComp.key, e->DictComp.value };
        return comprehension(c, e, e->DictComp.generators, pair, 2, next);
    }
    default: {
        gathered g = { .c = c };
        pel_each_child(e, gather, &g);
        for (uint32_t i = g.children.n; i-- > 0;) next = value(c, g.children.at[i], next);
        return next;
    }
    }
}

static uint32_t value(checker *c, pel_node *e, uint32_t next) {
    if (++c->depth > MAX_NESTING) pel_throw(c->l->ctx, PEL_E_TOO_DEEP, 0, "expressions nest too deep");
    uint32_t entry = value_inner(c, e, next);
    c->depth--;
    return entry;
}

/* ---- statements ---- */

static uint32_t loop_body(checker *c, pel_nodes list, uint32_t head, uint32_t after) {
    uint32_t break_to = c->break_to, continue_to = c->continue_to;
    enclosure *around_loop = c->around_loop;
    c->break_to = after;
    c->continue_to = head;
    c->around_loop = c->around;
    uint32_t entry = body(c, list, head);
    c->break_to = break_to;
    c->continue_to = continue_to;
    c->around_loop = around_loop;
    return entry;
}

static void enclose(checker *c, enclosure *e, event_kind leaves) {
    *e = (enclosure){ c->around, leaves };
    c->around = e;
}

/* The innermost is left first. */
static uint32_t leave(checker *c, const enclosure *e, const enclosure *until, uint32_t next) {
    if (e == until) return next;
    return add(c, e->leaves, NULL, leave(c, e->outer, until, next), PEL_NONE);
}

/* A value that has to be computed is computed before anything is left, a constant is loaded last. */
static uint32_t return_value(checker *c, pel_node *given, uint32_t next) {
    bool is_const = !given || given->kind == PEL_Constant || const_of(c, given) != PEL_NONE;
    if (given && is_const) next = value(c, given, next);
    next = leave(c, c->around, NULL, next);
    return is_const ? next : value(c, given, next);
}

static uint32_t open_context(checker *c, uint32_t handler, bool is_with) {
    pel_push(c->l->ctx, &c->contexts, ((context){ handler, c->within, is_with }));
    c->within = c->contexts.n - 1;
    return c->within;
}

static uint32_t with(checker *c, pel_node *stmt, uint32_t i, uint32_t next) {
    if (i == stmt->With.items.n) return body(c, stmt->With.body, next);
    uint32_t outer = c->within;
    pel_node *with_item = stmt->With.items.at[i];
    uint32_t left = add(c, EV_WITH_EXIT, NULL, next, PEL_NONE);
    open_context(c, next, true);
    enclosure e;
    enclose(c, &e, EV_WITH_EXIT);
    uint32_t entry = with(c, stmt, i + 1, left);
    c->around = e.outer;
    if (with_item->withitem.optional_vars) entry = store(c, with_item->withitem.optional_vars, entry);
    c->within = outer;
    return value(c, with_item->withitem.context_expr, add(c, EV_WITH, NULL, entry, PEL_NONE));
}

/* The order of the contexts is their nesting: `finally` covers handlers and `else`, so it opens first; the handlers
 * cover the body alone, so they open last. Compilers make nothing of a `finally` that only passes: it has no event. */
static uint32_t try(checker *c, pel_node *stmt, uint32_t next) {
    uint32_t outer = c->within;
    enclosure e, *around = c->around;
    if (stmt->Try.finalbody.n) {
        uint32_t end = add(c, EV_RERAISE, NULL, PEL_NONE, PEL_NONE);
        bool is_empty = stmt->Try.finalbody.n == 1 && stmt->Try.finalbody.at[0]->kind == PEL_Pass;
        if (!is_empty) next = add(c, EV_FINALLY, NULL, next, PEL_NONE);
        c->handled++;
        open_context(c, body(c, stmt->Try.finalbody, end), false);
        c->handled--;
        if (!is_empty) enclose(c, &e, EV_FINALLY);
    }
    uint32_t done = body(c, stmt->Try.orelse, next);
    if (stmt->Try.handlers.n) {
        uint32_t entry = add(c, EV_RERAISE, NULL, PEL_NONE, PEL_NONE);
        for (uint32_t i = stmt->Try.handlers.n; i-- > 0;) {
            pel_node *handler = stmt->Try.handlers.at[i];
            c->handled++;
            uint32_t inside = body(c, handler->ExceptHandler.body, next);
            c->handled--;
            if (handler->ExceptHandler.name) inside = add(c, EV_STORE, handler->ExceptHandler.name, inside, PEL_NONE);
            entry = handler->ExceptHandler.type
                        ? value(c, handler->ExceptHandler.type, add(c, EV_CATCH, NULL, inside, entry))
                        : inside;
        }
        open_context(c, entry, false);
    }
    uint32_t entry = body(c, stmt->Try.body, done);
    c->within = outer;
    c->around = around;
    return entry;
}

/* ---- match ---- */

static uint32_t pattern(checker *c, pel_node *p, uint32_t yes, uint32_t no);

static uint32_t all_patterns(checker *c, pel_nodes list, uint32_t yes, uint32_t no) {
    for (uint32_t i = list.n; i-- > 0;) yes = pattern(c, list.at[i], yes, no);
    return yes;
}

/* What a pattern asks, in its order; the names are bound when all of it fits. */
static uint32_t pattern(checker *c, pel_node *p, uint32_t yes, uint32_t no) {
    if (++c->depth > MAX_NESTING) pel_throw(c->l->ctx, PEL_E_TOO_DEEP, 0, "patterns nest too deep");
    switch (p->kind) {
    case PEL_MatchValue: yes = value(c, p->MatchValue.value, ask(c, yes, no)); break;
    case PEL_MatchSingleton: yes = ask(c, yes, no); break;
    case PEL_MatchSequence: {
        pel_nodes list = p->MatchSequence.patterns;
        yes = all_patterns(c, list, yes, no);
        if (list.n != 1 || list.at[0]->kind != PEL_MatchStar) yes = ask(c, yes, no);
        yes = ask(c, yes, no);
        break;
    }
    case PEL_MatchMapping:
        yes = all_patterns(c, p->MatchMapping.patterns, yes, no);
        if (p->MatchMapping.keys.n || p->MatchMapping.rest) yes = ask(c, no, yes);
        yes = values(c, p->MatchMapping.keys, yes);
        if (p->MatchMapping.keys.n) yes = ask(c, yes, no);
        yes = ask(c, yes, no);
        break;
    case PEL_MatchClass:
        yes = all_patterns(c, p->MatchClass.kwd_patterns, yes, no);
        yes = all_patterns(c, p->MatchClass.patterns, yes, no);
        yes = value(c, p->MatchClass.cls, ask(c, no, yes));
        break;
    case PEL_MatchOr:
        for (uint32_t i = p->MatchOr.patterns.n; i-- > 0;) no = pattern(c, p->MatchOr.patterns.at[i], yes, no);
        yes = no;
        break;
    case PEL_MatchAs:
        if (p->MatchAs.pattern) yes = pattern(c, p->MatchAs.pattern, yes, no);
        break;
    default: break;
    }
    c->depth--;
    return yes;
}

typedef struct binding {
    uint32_t mark;
    pel_name name;
} binding;

typedef struct bindings {
    checker *c;
    PEL_VEC(binding) list;
} bindings;

static void gather_names(void *arg, pel_node **slot) {
    bindings *b = arg;
    pel_node *p = *slot;
    pel_name name = p->kind == PEL_MatchAs        ? p->MatchAs.name
                    : p->kind == PEL_MatchStar    ? p->MatchStar.name
                    : p->kind == PEL_MatchMapping ? p->MatchMapping.rest
                                                  : NULL;
    if (name) pel_push(b->c->l->ctx, &b->list, ((binding){ p->mark, name }));
    if (p->kind == PEL_MatchOr) /* all alternatives bind the same */
        gather_names(arg, &p->MatchOr.patterns.at[0]);
    else if (pel_kinds[p->kind].class == PEL_PATTERN)
        pel_each_child(p, gather_names, arg);
}

static uint32_t match(checker *c, pel_node *stmt, uint32_t next) {
    uint32_t no = next;
    c->has_match = true;
    for (uint32_t i = stmt->Match.cases.n; i-- > 0;) {
        pel_node *one = stmt->Match.cases.at[i];
        uint32_t yes = body(c, one->match_case.body, next);
        if (one->match_case.guard) yes = cond(c, one->match_case.guard, yes, no);
        bindings b = { .c = c };
        gather_names(&b, &one->match_case.pattern);
        while (b.list.n) { /* the last first */
            uint32_t last = 0;
            for (uint32_t k = 1; k < b.list.n; k++)
                if (b.list.at[k].mark > b.list.at[last].mark) last = k;
            yes = add(c, EV_STORE, b.list.at[last].name, yes, PEL_NONE);
            b.list.at[last] = b.list.at[--b.list.n];
        }
        no = pattern(c, one->match_case.pattern, yes, no);
    }
    return value(c, stmt->Match.subject, no);
}

static uint32_t statement_inner(checker *c, pel_node *stmt, uint32_t next) {
    switch (stmt->kind) {
    case PEL_Expr:
        if (stmt->Expr.value->kind == PEL_Tuple && stmt->Expr.value->parens == 0x40)
            return values(c, stmt->Expr.value->Tuple.elts, next);
        return value(c, stmt->Expr.value, next);
    case PEL_Assign:
        for (uint32_t i = stmt->Assign.targets.n; i-- > 0;) next = store(c, stmt->Assign.targets.at[i], next);
        return value(c, stmt->Assign.value, next);
    case PEL_AugAssign: {
        pel_node *target = stmt->AugAssign.target;
        event_kind kind = target->kind == PEL_Name        ? EV_STORE
                          : target->kind == PEL_Attribute ? EV_STORE_ATTR
                                                          : EV_STORE_SUBSCR;
        pel_name name = target->kind == PEL_Name        ? target->Name.id
                        : target->kind == PEL_Attribute ? target->Attribute.attr
                                                        : NULL;
        next = add(c, kind, name, next, PEL_NONE);
        next = value(c, stmt->AugAssign.value, add_value(c, EV_BINARY, PEL_NONE, NULL, stmt->AugAssign.op, next));
        if (target->kind == PEL_Attribute)
            return value(c, target->Attribute.value, add_value(c, EV_ATTR, PEL_NONE, name, 0, next));
        if (target->kind == PEL_Name) return add_value(c, EV_LOAD, PEL_NONE, name, 0, next);
        next = add_value(c, EV_SUBSCR, PEL_NONE, NULL, 0, next);
        return value(c, target->Subscript.value, value(c, target->Subscript.slice, next));
    }
    case PEL_Delete:
        for (uint32_t i = stmt->Delete.targets.n; i-- > 0;) {
            pel_node *target = stmt->Delete.targets.at[i];
            if (target->kind == PEL_Name)
                next = add(c, EV_DELETE, target->Name.id, next, PEL_NONE);
            else if (target->kind == PEL_Attribute)
                next =
                    value(c, target->Attribute.value, add(c, EV_DELETE_ATTR, target->Attribute.attr, next, PEL_NONE));
            else {
                next = add(c, EV_DELETE_SUBSCR, NULL, next, PEL_NONE);
                next = value(c, target->Subscript.value, value(c, target->Subscript.slice, next));
            }
        }
        return next;
    case PEL_Return: return return_value(c, stmt->Return.value, add(c, EV_RETURN, NULL, PEL_NONE, PEL_NONE));
    case PEL_Raise:
        next = add(c, EV_RAISE, NULL, PEL_NONE, PEL_NONE);
        if (!stmt->Raise.exc) c->events.at[next].n_args = c->handled;
        if (stmt->Raise.cause) next = value(c, stmt->Raise.cause, next);
        return stmt->Raise.exc ? value(c, stmt->Raise.exc, next) : next;
    case PEL_Assert: {
        uint32_t raise = add(c, EV_RAISE, NULL, PEL_NONE, PEL_NONE);
        if (stmt->Assert.msg) raise = value(c, stmt->Assert.msg, add(c, EV_CALL, NULL, raise, PEL_NONE));
        if (stmt->parens == 1) return raise; /* a constant that is not tested */
        return cond(c, stmt->Assert.test, next, raise);
    }
    case PEL_If: {
        uint32_t yes = body(c, stmt->If.body, next), no = body(c, stmt->If.orelse, next);
        return cond(c, stmt->If.test, yes, no);
    }
    case PEL_While: {
        uint32_t head = add(c, EV_GO, NULL, PEL_NONE, PEL_NONE);
        uint32_t done = body(c, stmt->While.orelse, next);
        uint32_t inside = loop_body(c, stmt->While.body, head, next);
        bool forever = stmt->While.test->kind == PEL_Constant;
        uint32_t entry = forever ? inside : cond(c, stmt->While.test, inside, done);
        c->events.at[head].next = entry;
        return head;
    }
    case PEL_For:
    case PEL_AsyncFor: {
        uint32_t done = body(c, stmt->For.orelse, next);
        uint32_t head = add(c, EV_FOR, NULL, PEL_NONE, done);
        uint32_t inside = loop_body(c, stmt->For.body, head, next);
        uint32_t entry = store(c, stmt->For.target, inside);
        c->events.at[head].next = entry;
        return value(c, stmt->For.iter, head);
    }
    case PEL_With:
    case PEL_AsyncWith: return with(c, stmt, 0, next);
    case PEL_Try:
    case PEL_TryStar: return try(c, stmt, next); /* in the form of except */
    case PEL_Match: return match(c, stmt, next);
    case PEL_Import:
    case PEL_ImportFrom: {
        pel_nodes names = stmt->kind == PEL_Import ? stmt->Import.names : stmt->ImportFrom.names;
        for (uint32_t i = names.n; i-- > 0;) {
            pel_node *alias = names.at[i];
            pel_str name = pel_name_str(alias->alias.name);
            if (pel_str_is(name, "*")) {
                next = add(c, EV_IMPORT_ALL, NULL, next, PEL_NONE);
                continue;
            }
            size_t dot = 0;
            while (dot < name.len && (name.ptr[dot] != '.' || stmt->kind == PEL_ImportFrom)) dot++;
            pel_name stored = alias->alias.asname ? alias->alias.asname : pel_intern(c->l->ctx, name.ptr, dot);
            next = add(c, EV_STORE, stored, next, PEL_NONE);
        }
        if (stmt->kind == PEL_Import) return add(c, EV_IMPORT, names.at[0]->alias.name, next, PEL_NONE);
        pel_name module = stmt->ImportFrom.module ? stmt->ImportFrom.module : pel_intern_c(c->l->ctx, "");
        return add(c, EV_IMPORT, module, next, PEL_NONE);
    }
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
        next = add(c, EV_STORE, stmt->FunctionDef.name, next, PEL_NONE);
        next = calls(c, stmt->FunctionDef.decorator_list.n, next);
        if (stmt->FunctionDef.type_params.n) { /* annotations are within the function that has the parameters */
            next = add(c, EV_CALL, NULL, next, PEL_NONE);
            next = values(c, stmt->FunctionDef.args->arguments.kw_defaults, next);
            next = values(c, stmt->FunctionDef.args->arguments.defaults, next);
        } else
            next = function_parts(c, stmt->FunctionDef.args, stmt->FunctionDef.returns, next);
        return values(c, stmt->FunctionDef.decorator_list, next);
    case PEL_ClassDef:
        next = add(c, EV_STORE, stmt->ClassDef.name, next, PEL_NONE);
        next = calls(c, 1 + stmt->ClassDef.decorator_list.n, next);
        if (stmt->ClassDef.type_params.n) return values(c, stmt->ClassDef.decorator_list, next);
        for (uint32_t i = stmt->ClassDef.keywords.n; i-- > 0;)
            next = value(c, stmt->ClassDef.keywords.at[i]->keyword.value, next);
        next = values(c, stmt->ClassDef.bases, next);
        return values(c, stmt->ClassDef.decorator_list, next);
    case PEL_TypeAlias:
        next = add(c, EV_STORE, stmt->TypeAlias.name->Name.id, next, PEL_NONE);
        return calls(c, stmt->TypeAlias.type_params.n > 0, next);
    case PEL_Break: return leave(c, c->around, c->around_loop, c->break_to);
    case PEL_Continue: return leave(c, c->around, c->around_loop, c->continue_to);
    default: return next;
    }
}

static uint32_t body(checker *c, pel_nodes list, uint32_t next) {
    for (uint32_t i = list.n; i-- > 0;) {
        if (++c->depth > MAX_NESTING) pel_throw(c->l->ctx, PEL_E_TOO_DEEP, 0, "statements nest too deep");
        next = statement_inner(c, list.at[i], next);
        c->depth--;
    }
    return next;
}

/* ---- instructions ---- */

/* A value that is kept may be tested again where it arrives: the outcome is known then. */
static uint32_t tested_again(const pel_canon *c, uint32_t at, bool is_true) {
    for (int steps = 0; steps < 16 && at < c->n; steps++) {
        const pel_ins *ins = &c->at[at];
        if (ins->op == PEL_I_JUMP)
            at = ins->target;
        else if (ins->op == PEL_I_JFP || ins->op == PEL_I_PJF)
            at = is_true ? at + 1 : ins->target;
        else if (ins->op == PEL_I_JTP || ins->op == PEL_I_PJT)
            at = is_true ? ins->target : at + 1;
        else
            break;
    }
    return at;
}

static event event_at(pel_lift *l, uint32_t i) {
    const pel_ins *ins = &l->c->at[i];
    event e = { .kind = EV_GO, .n_args = PEL_NONE, .next = i + 1, .other = PEL_NONE };
    switch (ins->op) {
    case PEL_I_JUMP: e.next = ins->target; break;
    case PEL_I_LOAD:
        if (!loads_cell(l->code, ins)) e.kind = EV_LOAD, e.name = pel_unmangle(l, ins->name);
        break;
    case PEL_I_CONST:
        if (ins->value->kind != PEL_CONST_CODE) e.kind = EV_CONST, e.value = ins->value;
        break;
    case PEL_I_ATTR:
    case PEL_I_METHOD: e.kind = EV_ATTR, e.name = pel_unmangle(l, ins->name); break;
    case PEL_I_SUBSCR: e.kind = EV_SUBSCR; break;
    case PEL_I_UNARY: e.kind = EV_UNARY, e.op = ins->sub; break;
    case PEL_I_BINARY: e.kind = EV_BINARY, e.op = ins->sub; break;
    case PEL_I_COMPARE:
    case PEL_I_CHAIN: e.kind = EV_COMPARE, e.op = ins->sub; break;
    case PEL_I_CALL: e.kind = EV_CALL, e.n_args = ins->arg; break;
    case PEL_I_CALL_EX:
    case PEL_I_SUPER: e.kind = EV_CALL; break;
    case PEL_I_STORE:
        if (l->unseen[i]) break;
        e.kind = EV_STORE;
        e.name = pel_unmangle(l, ins->name);
        break;
    case PEL_I_DELETE: e.kind = EV_DELETE, e.name = pel_unmangle(l, ins->name); break;
    case PEL_I_STORE_ATTR: e.kind = EV_STORE_ATTR, e.name = pel_unmangle(l, ins->name); break;
    case PEL_I_DELETE_ATTR: e.kind = EV_DELETE_ATTR, e.name = pel_unmangle(l, ins->name); break;
    case PEL_I_STORE_SUBSCR: e.kind = EV_STORE_SUBSCR; break;
    case PEL_I_DELETE_SUBSCR: e.kind = EV_DELETE_SUBSCR; break;
    case PEL_I_YIELD:
    case PEL_I_YIELD_FROM: e.kind = EV_YIELD; break;
    case PEL_I_AWAIT: e.kind = EV_AWAIT; break;
    case PEL_I_RETURN: e.kind = EV_RETURN; break;
    case PEL_I_RAISE: e.kind = EV_RAISE; break;
    case PEL_I_RERAISE: e.kind = EV_RERAISE; break;
    case PEL_I_IMPORT: e.kind = EV_IMPORT, e.name = ins->name; break;
    case PEL_I_IMPORT_STAR: e.kind = EV_IMPORT_ALL; break;
    case PEL_I_FOR: e.kind = EV_FOR, e.other = ins->target; break;
    case PEL_I_WITH: e.kind = EV_WITH; break;
    case PEL_I_WITH_EXIT: e.kind = EV_WITH_EXIT; break;
    case PEL_I_EXC_MATCH: e.kind = EV_CATCH, e.other = ins->target; break;
    case PEL_I_FINALLY:
        if (ins->flag)
            e.kind = EV_NO_END;
        else if (l->c->at[l->c->guards[ins->arg].target + 1].op != PEL_I_RERAISE) /* finally: pass */
            e.kind = EV_FINALLY;
        break;
    case PEL_I_PJF: e.kind = EV_TEST, e.other = ins->target; break;
    case PEL_I_JFP: e.kind = EV_TEST, e.other = tested_again(l->c, ins->target, false); break;
    case PEL_I_PJT: e.kind = EV_TEST, e.next = ins->target, e.other = i + 1; break;
    case PEL_I_JTP: e.kind = EV_TEST, e.next = tested_again(l->c, ins->target, true), e.other = i + 1; break;
    case PEL_I_PJN: e.kind = EV_TEST, e.next = ins->target, e.other = i + 1; break;
    case PEL_I_PJNN: e.kind = EV_TEST, e.other = ins->target; break;
    default: break;
    }
    if (e.kind == EV_TEST && i > 0 && !ins->is_target) { /* what the tree writes as the other way round */
        const pel_ins *before = &l->c->at[i - 1];
        bool is_not = before->op == PEL_I_COMPARE && before->sub == PEL_IsNot && i > 1 &&
                      l->c->at[i - 2].op == PEL_I_CONST && l->c->at[i - 2].value->kind == PEL_CONST_NONE;
        bool negates = before->op == PEL_I_UNARY && before->sub == PEL_Not;
        if (is_not || negates) {
            uint32_t swapped = e.next;
            e.next = e.other;
            e.other = swapped;
        }
    }
    return e;
}

typedef struct meeting {
    uint32_t a, b;
} meeting;

static _Noreturn void differ(pel_lift *l, uint32_t b, const char *what) {
    uint32_t offset = b < l->c->n ? l->c->at[b].offset : 0;
    pel_throw(l->ctx, PEL_E_INCOMPLETE, offset, "the statements would not do what the instructions do: %s (offset %u)",
              what, offset);
}

static bool meets(const event *a, const event *b) {
    if (a->kind != b->kind || a->name != b->name || a->op != b->op) return false;
    if (a->n_args != b->n_args && a->n_args != PEL_NONE && b->n_args != PEL_NONE) return false;
    return a->kind != EV_CONST || pel_const_same(a->value, b->value);
}

static bool is_value(event_kind kind) { return kind >= EV_LOAD && kind <= EV_LAST_VALUE; }

/* Jumps, values that are there already, and the last steps of leaving something may be outside of the range that their
 * statement covers. */
static bool shows_cover(event_kind kind) {
    bool is_made = kind == EV_ATTR || kind == EV_SUBSCR || kind == EV_CALL || kind == EV_BINARY || kind == EV_COMPARE;
    return (is_made || !is_value(kind)) && kind != EV_RETURN && kind != EV_RERAISE && kind != EV_TEST &&
           kind != EV_WITH_EXIT && kind != EV_FINALLY;
}

static bool returns_none(const pel_canon *c, uint32_t at) {
    return c->at[at - 1].op == PEL_I_CONST && c->at[at - 1].value->kind == PEL_CONST_NONE;
}

typedef struct walk {
    checker c;
    pel_map met;          /* pairs that were compared: (event << 32) | instruction */
    uint32_t *context_of; /* by handler of the code: the context of the tree, or PEL_NONE */
    uint32_t *handled;    /* by instruction: how many exceptions are being handled, PEL_NONE if that is not known */
    PEL_VEC(meeting) todo;
} walk;

/* The first event from here on at which something happens; PEL_NONE for the end, and for a loop without effect. */
static uint32_t next_event(const checker *c, uint32_t a) {
    for (uint32_t steps = 0; a != PEL_NONE && c->events.at[a].kind == EV_GO; steps++) {
        if (steps > c->events.n) return PEL_NONE;
        a = c->events.at[a].next;
    }
    return a;
}

/* What compilers push though nobody wrote it: constants, what super() takes, the variables of type parameters, and what
 * is part of a test. */
static bool may_hide(const checker *checked, const event *a, uint32_t i, const event *b) {
    const pel_canon *c = checked->l->c;
    switch (b->kind) {
    case EV_CONST: return true;
    case EV_LOAD:
        return pel_name_is(b->name, "__class__") || b->name->text[0] == '.' ||
               (i + 1 < c->n && c->at[i + 1].op == PEL_I_SUPER) ||
               (c->asserts_by_name && pel_name_is(b->name, "AssertionError"));
    case EV_COMPARE: return (a && a->asks) || checked->has_match;
    case EV_UNARY: return (a && a->asks && b->op == PEL_Not) || checked->has_match;
    case EV_ATTR: return false;
    default: return checked->has_match && is_value(b->kind); /* parts of a sequence, counted from its end */
    }
}

/* Whether an instruction pushes a value for which there is no node. It may look like the one that is waited for: then
 * that one still comes. */
static bool is_hidden(const walk *w, const event *a, uint32_t i, const event *b) {
    if (!may_hide(&w->c, a, i, b) || w->c.meant[i]) return false;
    if (!a || !meets(a, b)) return true;
    const pel_canon *code = w->c.l->c;
    for (i++; i < code->n && !w->c.meant[i]; i++) {
        event between = event_at(w->c.l, i);
        if (between.next != i + 1 || (between.kind != EV_GO && !is_value(between.kind))) return false;
    }
    return i == a->from;
}

/* The same for instructions; *b is what it does. EV_GO: a loop without effect. */
static uint32_t next_instruction(const walk *w, uint32_t a, uint32_t i, event *b) {
    pel_lift *l = w->c.l;
    const event *awaited = a == PEL_NONE ? NULL : &w->c.events.at[a];
    for (uint32_t steps = 0; steps <= 2 * l->c->n; steps++) {
        if (i >= l->c->n) differ(l, i, "the code ends");
        *b = event_at(l, i);
        if (b->kind != EV_GO && !is_hidden(w, awaited, i, b)) return i;
        i = b->next;
    }
    b->kind = EV_GO;
    return i;
}

/* Exceptions must go to the same place; where they go is compared the first time. */
static void compare_cover(walk *w, const event *a, uint32_t at) {
    pel_lift *l = w->c.l;
    uint32_t guard = l->c->at[at].cover;
    if ((guard == PEL_NONE) != (a->context == PEL_NONE)) differ(l, at, "exceptions go elsewhere");
    if (guard == PEL_NONE) return;
    if (w->context_of[guard] != PEL_NONE) {
        if (w->context_of[guard] != a->context) differ(l, at, "exceptions go elsewhere");
        return;
    }
    const context *x = &w->c.contexts.at[a->context];
    const pel_guard *g = &l->c->guards[guard];
    w->context_of[guard] = a->context;
    if (x->is_with != (g->kind == PEL_G_WITH)) differ(l, at, "exceptions are handled in another way");
    uint32_t handler = x->is_with ? g->exit : g->target;
    if (handler < l->c->n) pel_push(l->ctx, &w->todo, ((meeting){ x->handler, handler }));
}

/* Both ways from one pair on, up to the end or a pair that was met before. */
static void compare_from(walk *w, meeting m) {
    pel_lift *l = w->c.l;
    for (;;) {
        event b;
        m.a = next_event(&w->c, m.a);
        m.b = next_instruction(w, m.a, m.b, &b);
        if (b.kind == EV_RAISE && l->c->at[m.b].arg == 0) b.n_args = w->handled[m.b];
        if (b.kind == EV_NO_END && m.a != PEL_NONE && w->c.events.at[m.a].kind == EV_FINALLY) return;
        if (b.kind == EV_GO && m.a == PEL_NONE) return;
        if (b.kind == EV_GO) differ(l, m.b, "a loop without effect");
        pel_lift_tick(l, m.b);
        if (m.a == PEL_NONE && b.kind == EV_RETURN && m.b && returns_none(l->c, m.b)) return;
        if (m.a == PEL_NONE) differ(l, m.b, "they end too early");
        bool may_meet_again = !is_value(b.kind) || l->c->at[m.b].is_target;
        if (may_meet_again && !pel_map_set(l->ctx, &w->met, ((uint64_t)m.a << 32) | m.b, 1)) return;
        const event a = w->c.events.at[m.a];
        if (!meets(&a, &b)) differ(l, m.b, "another thing comes first");
        if (shows_cover(b.kind)) compare_cover(w, &a, m.b);
        if (b.kind == EV_RETURN || b.kind == EV_RAISE || b.kind == EV_RERAISE) return;
        if (b.other != PEL_NONE) pel_push(l->ctx, &w->todo, ((meeting){ a.other, b.other }));
        m = (meeting){ a.next, b.next };
    }
}

/* From one place on along all paths: entering a handler is one more, POP_EXC one less. Where paths disagree it is not
 * known. */
static void count_handled(walk *w, uint32_t from, uint32_t n) {
    const pel_canon *code = w->c.l->c;
    pel_push(w->c.l->ctx, &w->todo, ((meeting){ n, from }));
    while (w->todo.n) {
        meeting m = w->todo.at[--w->todo.n];
        for (uint32_t i = m.b, k = m.a; i < code->n; i++) {
            const pel_ins *ins = &code->at[i];
            if (w->handled[i] == k || w->handled[i] == PEL_NONE) break;
            w->handled[i] = w->handled[i] == NOT_SEEN ? k : PEL_NONE;
            if (ins->op == PEL_I_EXC) k++;
            if (ins->op == PEL_I_POP_EXC && k > 0) k--;
            if (ins->target != PEL_NONE) pel_push(w->c.l->ctx, &w->todo, ((meeting){ k, ins->target }));
            if (pel_ends(ins)) break;
        }
    }
}

static void count_all_handled(walk *w) {
    const pel_canon *code = w->c.l->c;
    w->handled = pel_alloc_raw(w->c.l->ctx, ((size_t)code->n + 1) * sizeof *w->handled);
    for (uint32_t i = 0; i <= code->n; i++) w->handled[i] = NOT_SEEN;
    count_handled(w, 0, 0);
    for (uint32_t g = 0; g < code->n_guards; g++) {
        uint32_t at = code->guards[g].target;
        if (code->guards[g].kind != PEL_G_WITH && at < code->n && code->at[at].level)
            count_handled(w, at, code->at[at].level - 1);
    }
    for (uint32_t i = 0; i <= code->n; i++)
        if (w->handled[i] == NOT_SEEN) w->handled[i] = PEL_NONE;
}

static checker checker_for(pel_lift *l) {
    checker c = { .l = l, .within = PEL_NONE, .break_to = PEL_NONE, .continue_to = PEL_NONE };
    size_t n_offsets = l->code->code.len;
    c.first_at = pel_alloc_raw(l->ctx, (n_offsets + 1) * sizeof *c.first_at);
    memset(c.first_at, 0xff, (n_offsets + 1) * sizeof *c.first_at);
    for (uint32_t i = l->c->n; i-- > 0;)
        if (l->c->at[i].offset < n_offsets) c.first_at[l->c->at[i].offset] = i;
    c.meant = pel_new_array(l->ctx, (size_t)l->c->n + 1, bool);
    return c;
}

void pel_check_tree(pel_lift *l, pel_nodes list) {
    walk w = { .c = checker_for(l) };
    uint32_t start = body(&w.c, list, PEL_NONE);
    w.context_of = pel_alloc_raw(l->ctx, (l->c->n_guards + 1) * sizeof *w.context_of);
    memset(w.context_of, 0xff, (l->c->n_guards + 1) * sizeof *w.context_of);
    count_all_handled(&w);
    pel_push(l->ctx, &w.todo, ((meeting){ start, 0 }));
    while (w.todo.n) compare_from(&w, w.todo.at[--w.todo.n]);
}
