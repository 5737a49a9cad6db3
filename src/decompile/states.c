/* Any code -> statements that do the same: its blocks as states of a loop.
 *
 * For what no other reader makes statements of. Nothing is trusted: neither a layout nor that jumps nest nor that the
 * stack is empty between statements. Where two ways meet, what is on the stack is in variables of our own, one for each
 * place. What only one way leads to is written where the way goes, so that a state is a place where ways meet, where a
 * loop comes back to, or where other handlers begin to count.
 *
 *     while True:
 *         try:
 *             if state == 1: ...
 *             if state == 2: ...
 *         except BaseException as error:      only if a handler covers one of the states
 *             if state == 2: state = 3; stack_1 = error
 *             else: raise
 *             while state in (3, 4):          the code of handlers, while their exception is being handled
 *                 ...
 *
 * A handler runs inside of an `except`, so `raise`, sys.exc_info() and the context of further exceptions are what they
 * were. How deep a state is nested in handlers is known: PUSH_EXC_INFO (EXC) and POP_EXCEPT (POP_EXC) say it. */
#include "decompile/flat.h"

#define MAX_INLINE 12 /* blocks within blocks */
#define MAX_NESTED 6  /* handlers within handlers */
#define MAX_BLOCKS 2000

/* What the reader has to know of a place of the stack where ways meet. */
typedef struct place {
    uint8_t kind; /* enum item_kind */
    uint32_t
        slot; /* EXPR: the exception that is handled at this depth, or 0; EXC: the depth that POP_EXC goes back to */
} place;

typedef struct block {
    uint32_t from, end; /* instructions */
    uint32_t cover;
    uint32_t ways;  /* that lead here; handlers count as many */
    uint32_t depth; /* in handlers */
    uint32_t id;    /* of its state; 0: none yet */
    bool is_done;
    place *stack;
    uint32_t n_stack;
    pel_nodes body;
} block;

typedef struct states {
    pel_flat_walk f;
    pel_lift *l;
    block *blocks;
    uint32_t n;
    uint32_t *block_at;            /* by instruction: the block that begins there */
    PEL_VEC(uint32_t) todo, order; /* order: blocks with a state, as their numbers were given */
    PEL_VEC(pel_name) places;      /* variables for places of the stack */
    pel_name state;
    uint32_t n_ids;
    bool is_function;
    /* the state in the making */
    const block *root;
    uint32_t depth;
} states;

static _Noreturn void fail(states *m, uint32_t at, const char *what) { pel_lift_fail(m->l, at, what); }

/* ---- small parts ---- */

static pel_node *load(states *m, pel_name name) { return pel_make_name(m->l->ctx, name, PEL_Load); }
static pel_node *builtin(states *m, const char *name) { return pel_flat_builtin(&m->f, name); }

static pel_node *call1(states *m, pel_node *function, pel_node *arg) {
    return pel_make_call(m->l->ctx, function, pel_nodes_one(m->l->ctx, arg), (pel_nodes){ 0 });
}

static void emit_assign(states *m, pel_name name, pel_node *value) {
    pel_node *target = pel_make_name(m->l->ctx, name, PEL_Store);
    pel_lift_emit(m->l, pel_make_assign(m->l->ctx, target, value));
}

static void emit_state(states *m, int64_t id) { emit_assign(m, m->state, pel_make_int(m->l->ctx, id)); }

static pel_name own(states *m, const char *prefix) { return pel_own_name(m->l->ctx, &m->f.names, prefix); }

static pel_name place_name(states *m, uint32_t i) {
    while (m->places.n <= i) {
        pel_name name = own(m, "stack");
        pel_push(m->l->ctx, &m->places, name);
    }
    return m->places.at[i];
}

static pel_node *is_one_of(states *m, const uint32_t *ids, uint32_t n) {
    pel_ctx *ctx = m->l->ctx;
    if (n == 1) return pel_make_compare(ctx, load(m, m->state), PEL_Eq, pel_make_int(ctx, ids[0]));
    pel_node *tuple = pel_node_new(ctx, PEL_Tuple);
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(ctx, &tuple->Tuple.elts, pel_make_int(ctx, ids[i]));
    return pel_make_compare(ctx, load(m, m->state), PEL_In, tuple);
}

static pel_nodes or_pass(states *m, pel_nodes body) {
    if (!body.n) pel_nodes_push(m->l->ctx, &body, pel_node_new(m->l->ctx, PEL_Pass));
    return body;
}

/* Statements go to a list of their own until end() gives it back. */
typedef struct part {
    region r, *outer;
} part;

static void begin(states *m, part *p) {
    p->outer = m->l->region;
    p->r = (region){ .outer = p->outer, .end = m->l->c->n, .fall = PEL_NONE, .start = p->outer ? p->outer->start : 0 };
    m->l->region = &p->r;
}

static pel_nodes end(states *m, part *p) {
    m->l->region = p->outer;
    return p->r.out;
}

static pel_node *handler_of(states *m, pel_node *type, pel_name name, pel_nodes body) {
    pel_node *handler = pel_node_new(m->l->ctx, PEL_ExceptHandler);
    handler->ExceptHandler.type = type;
    handler->ExceptHandler.name = name;
    handler->ExceptHandler.body = or_pass(m, body);
    return handler;
}

static bool is_place(const states *m, const item *it, uint32_t i) {
    return it->kind == IT_EXPR && it->node->kind == PEL_Name && i < m->places.n && it->node->Name.id == m->places.at[i];
}

/* ---- blocks ---- */

static bool ends_block(const pel_ins *ins) {
    return pel_ends(ins) || pel_is_cond(ins) || ins->op == PEL_I_FOR || ins->op == PEL_I_POP_EXC ||
           ins->op == PEL_I_EXC;
}

/* Whether the exception that a handler gets becomes the current one, as it does in all that somebody wrote. */
static bool enters(const states *m, const pel_guard *guard) { return m->l->c->at[guard->target].op == PEL_I_EXC; }

/* The code of a handler; what makes its exception the current one is the `except` that it runs in. */
static block *handler_block(const states *m, const pel_guard *guard) {
    return &m->blocks[m->block_at[guard->target + enters(m, guard)]];
}

/* What no handler needs to cover. */
static bool never_raises(const pel_ins *ins) {
    switch ((pel_iop)ins->op) {
    case PEL_I_COPY:
    case PEL_I_SWAP:
    case PEL_I_POP: /* of what is in a variable already: blocks begin so */
    case PEL_I_CONST:
    case PEL_I_PUSH_NULL:
    case PEL_I_JUMP:
    case PEL_I_EXC:
    case PEL_I_POP_EXC: return true;
    default: return false;
    }
}

/* Handlers of code that never raises are not asked: the compiler's table names some where another stack would be. */
static void drop_covers(states *m) {
    for (uint32_t b = 0; b < m->n; b++) {
        bool raises = false;
        for (uint32_t i = m->blocks[b].from; i < m->blocks[b].end; i++) raises |= !never_raises(&m->l->c->at[i]);
        if (!raises) m->blocks[b].cover = PEL_NONE;
    }
}

/* A block also ends where another handler begins to count, so that its number says which handler takes over. */
static void find_blocks(states *m) {
    const pel_canon *c = m->l->c;
    m->block_at = pel_new_array(m->l->ctx, (size_t)c->n + 1, uint32_t);
    m->blocks = pel_new_array(m->l->ctx, (size_t)c->n + 1, block);
    for (uint32_t i = 0; i < c->n; i++) {
        bool begins = i == 0 || c->at[i].is_target || ends_block(&c->at[i - 1]) || c->at[i].cover != c->at[i - 1].cover;
        if (begins) {
            m->blocks[m->n] = (block){ .from = i, .cover = c->at[i].cover };
            m->n++;
        }
        m->block_at[i] = m->n - 1;
        m->blocks[m->n - 1].end = i + 1;
    }
    drop_covers(m);
    if (m->n > MAX_BLOCKS) fail(m, 0, "too many states");
    if (!m->n) fail(m, 0, "no code");
    for (uint32_t b = 0; b < m->n; b++) {
        const pel_ins *last = &c->at[m->blocks[b].end - 1];
        if (last->target != PEL_NONE) m->blocks[m->block_at[last->target]].ways++;
        if (!pel_ends(last) && m->blocks[b].end < c->n) m->blocks[b + 1].ways++;
    }
    for (uint32_t g = 0; g < c->n_guards; g++) {
        if (c->guards[g].target + 1 >= c->n) fail(m, 0, "a handler outside of the code");
        handler_block(m, &c->guards[g])->ways += 2;
    }
}

/* ---- where ways meet ---- */

static uint32_t id_of(states *m, block *b) {
    if (!b->id) {
        b->id = ++m->n_ids;
        pel_push(m->l->ctx, &m->order, (uint32_t)(b - m->blocks));
        pel_push(m->l->ctx, &m->todo, (uint32_t)(b - m->blocks));
    }
    return b->id;
}

/* A way leads to a block with this on the stack: all ways must agree. */
static void arrive(states *m, block *b, const place *list, uint32_t n, uint32_t depth, uint32_t at) {
    if (depth > MAX_NESTED) fail(m, at, "handlers nest too deep for states");
    if (b->stack) {
        bool same = b->n_stack == n && b->depth == depth;
        for (uint32_t i = 0; i < n && same; i++)
            same = b->stack[i].kind == list[i].kind && b->stack[i].slot == list[i].slot;
        if (!same) fail(m, at, "ways with unequal stacks meet");
        return;
    }
    b->stack = pel_new_array(m->l->ctx, (size_t)n + 1, place);
    if (n) memcpy(b->stack, list, n * sizeof *list);
    b->n_stack = n;
    b->depth = depth;
}

static place *places_of(states *m, const stack *s) {
    place *list = pel_new_array(m->l->ctx, (size_t)s->n + 1, place);
    for (uint32_t i = 0; i < s->n; i++) {
        const item *it = &s->at[i];
        bool has_slot = it->kind == IT_EXC || it->kind == IT_EXPR;
        list[i] = (place){ it->kind, has_slot ? it->slot : 0 };
    }
    return list;
}

/* What is on the stack goes into the variables of its places, all at once; `tested` is evaluated after it and before
 * any of them changes. Returns what stands for it. */
static pel_node *settle(states *m, stack *s, pel_node *tested, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    pel_node *left = pel_node_new(ctx, PEL_Tuple), *right = pel_node_new(ctx, PEL_Tuple);
    left->Tuple.ctx = PEL_Store;
    for (uint32_t i = 0; i < s->n; i++) {
        item *it = &s->at[i];
        bool is_value = it->kind == IT_EXPR || it->kind == IT_SAVED;
        if (!is_value && it->kind != IT_NULL && it->kind != IT_EXC && it->kind != IT_SILENT)
            fail(m, at, "a statement goes on in another block");
        if (!is_value || is_place(m, it, i)) continue;
        pel_name name = place_name(m, i);
        pel_node *value = it->kind == IT_SAVED ? it->node : pel_item_expr(m->l, *it, at);
        if (value->kind == PEL_Slice || value->kind == PEL_Comment || pel_kinds[value->kind].class != PEL_EXPR)
            fail(m, at, "half an expression goes on in another block");
        pel_nodes_push(ctx, &left->Tuple.elts, pel_make_name(ctx, name, PEL_Store));
        pel_nodes_push(ctx, &right->Tuple.elts, value);
        it->node = load(m, name);
    }
    if (!left->Tuple.elts.n) return tested;
    if (tested) {
        pel_name name = own(m, "value");
        pel_nodes_push(ctx, &left->Tuple.elts, pel_make_name(ctx, name, PEL_Store));
        pel_nodes_push(ctx, &right->Tuple.elts, tested);
        tested = load(m, name);
    }
    bool is_one = left->Tuple.elts.n == 1;
    pel_lift_emit(
        m->l, pel_make_assign(ctx, is_one ? left->Tuple.elts.at[0] : left, is_one ? right->Tuple.elts.at[0] : right));
    return tested;
}

static void run_block(states *m, uint32_t index, stack *s, int inlined);

static bool goes_inline(const states *m, const block *b, int inlined) {
    return b->ways == 1 && b->cover == m->root->cover && inlined < MAX_INLINE;
}

/* Control goes to an instruction. */
static void go(states *m, uint32_t to, stack *s, int inlined, uint32_t at) {
    if (to >= m->l->c->n) fail(m, at, "the code runs off its end");
    block *b = &m->blocks[m->block_at[to]];
    bool same_depth = m->depth == m->root->depth;
    if (same_depth && goes_inline(m, b, inlined)) {
        run_block(m, m->block_at[to], s, inlined + 1);
        return;
    }
    settle(m, s, NULL, at);
    arrive(m, b, places_of(m, s), s->n, m->depth, at);
    emit_state(m, id_of(m, b));
}

/* A branch: each side with a stack of its own. */
static pel_nodes side(states *m, uint32_t to, const stack *s, const item *pushed, int inlined, uint32_t at) {
    part p;
    begin(m, &p);
    uint32_t depth = m->depth;
    stack copy = pel_stack_copy(m->l, s, s->n);
    if (pushed) pel_stack_push(m->l, &copy, *pushed);
    go(m, to, &copy, inlined, at);
    m->depth = depth;
    return or_pass(m, end(m, &p));
}

/* ---- ends of blocks ---- */

static void branch(states *m, stack *s, int inlined, uint32_t at) {
    const pel_ins *ins = &m->l->c->at[at];
    bool keeps = ins->op == PEL_I_JFP || ins->op == PEL_I_JTP;
    if (keeps) pel_flat_spill(&m->f, s, s->n, at);
    item tested = pel_stack_pop(m->l, s, at);
    pel_node *value = settle(m, s, pel_item_expr(m->l, tested, at), at);
    if (keeps) tested.node = value; /* `settle` may have given it another name */
    pel_node *stmt = pel_make(m->l, PEL_If, at);
    stmt->If.test = pel_flat_stays(m->l, ins, value, at);
    stmt->If.body = side(m, at + 1, s, NULL, inlined, at);
    stmt->If.orelse = side(m, ins->target, s, keeps ? &tested : NULL, inlined, at);
    pel_lift_emit(m->l, stmt);
}

/* The next item of an iterator; none left: the other way. */
static void next_item(states *m, stack *s, int inlined, uint32_t at) {
    const pel_ins *ins = &m->l->c->at[at];
    if (ins->flag) fail(m, at, "an `async for`, which has no form without structure");
    settle(m, s, NULL, at);
    if (!s->n) fail(m, at, "the stack is empty");
    pel_name name = own(m, "item");
    part p;
    begin(m, &p);
    emit_assign(m, name, call1(m, builtin(m, "next"), pel_item_expr(m->l, s->at[s->n - 1], at)));
    pel_node *stmt = pel_make(m->l, PEL_Try, at);
    stmt->Try.body = end(m, &p);
    item got = { .kind = IT_EXPR, .at = at, .node = load(m, name) };
    stmt->Try.orelse = side(m, at + 1, s, &got, inlined, at);
    stack rest = pel_stack_copy(m->l, s, s->n - 1);
    pel_nodes none_left = side(m, ins->target, &rest, NULL, MAX_INLINE, at);
    pel_node *handler = handler_of(m, builtin(m, "StopIteration"), NULL, none_left);
    stmt->Try.handlers = pel_nodes_one(m->l->ctx, handler);
    pel_lift_emit(m->l, stmt);
}

static void emit_return(states *m, stack *s, uint32_t at) {
    item it = pel_stack_pop(m->l, s, at);
    pel_node *value = pel_item_expr(m->l, it, at);
    pel_flat_spill(&m->f, s, s->n, at);
    if (!m->is_function) {
        if (value->kind != PEL_Constant) fail(m, at, "a module returns a value");
        emit_state(m, -1);
        return;
    }
    if (value->kind == PEL_Slice || value->kind == PEL_Comment) fail(m, at, "half an expression is returned");
    pel_node *stmt = pel_make(m->l, PEL_Return, at);
    stmt->Return.value = value;
    pel_lift_emit(m->l, stmt);
}

static void emit_raise(states *m, pel_node *what, pel_node *cause, uint32_t at) {
    pel_node *stmt = pel_make(m->l, PEL_Raise, at);
    stmt->Raise.exc = what;
    stmt->Raise.cause = cause;
    pel_lift_emit(m->l, stmt);
}

static void raise(states *m, stack *s, uint32_t n, uint32_t at) {
    pel_node *cause = n > 1 ? pel_pop_expr(m->l, s, at) : NULL, *what = n > 0 ? pel_pop_expr(m->l, s, at) : NULL;
    pel_flat_spill(&m->f, s, s->n, at);
    emit_raise(m, what, cause, at);
}

/* A variable that keeps an exception keeps the frame, and all that is in it, alive. */
static pel_node *forget(states *m, pel_name name) {
    return pel_make_assign(m->l->ctx, pel_make_name(m->l->ctx, name, PEL_Store), pel_make_none(m->l->ctx));
}

static bool is_on(const stack *s, pel_name name) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i].kind == IT_EXPR && s->at[i].node->kind == PEL_Name && s->at[i].node->Name.id == name) return true;
    return false;
}

/* An exception goes on as it is: `raise error` would give it the context of now. */
static void raise_again(states *m, stack *s, uint32_t at) {
    pel_flat_spill(&m->f, s, s->n, at);
    item it = pel_stack_pop(m->l, s, at);
    pel_node *error = pel_item_expr(m->l, it, at);
    if (it.slot && it.slot == m->depth) {
        bool is_ours = error->kind == PEL_Name && pel_map_has(&m->f.names.ours, PEL_KEY(error->Name.id));
        if (is_ours) pel_lift_emit(m->l, forget(m, error->Name.id));
        emit_raise(m, NULL, NULL, at);
        return;
    }
    if (error->kind != PEL_Name) fail(m, at, "something is raised again that is no exception");
    pel_ctx *ctx = m->l->ctx;
    pel_name context = own(m, "value"), attribute = pel_intern_c(ctx, "__context__");
    emit_assign(m, context, pel_make_attribute(ctx, load(m, error->Name.id), attribute, PEL_Load));
    pel_node *stmt = pel_make(m->l, PEL_Try, at);
    part p;
    begin(m, &p);
    emit_raise(m, load(m, error->Name.id), NULL, at);
    stmt->Try.body = end(m, &p);
    pel_node *target = pel_make_attribute(ctx, load(m, error->Name.id), attribute, PEL_Store);
    stmt->Try.finalbody = pel_nodes_one(ctx, pel_make_assign(ctx, target, load(m, context)));
    pel_nodes_push(ctx, &stmt->Try.finalbody, forget(m, context));
    if (pel_map_has(&m->f.names.ours, PEL_KEY(error->Name.id)))
        pel_nodes_push(ctx, &stmt->Try.finalbody, forget(m, error->Name.id));
    pel_lift_emit(m->l, stmt);
}

/* The handler is done: what it handled is not the current exception any more. */
static void leave_handler(states *m, stack *s, int inlined, uint32_t at) {
    item it = pel_stack_pop(m->l, s, at);
    if (it.kind != IT_EXC || !m->depth || it.slot != m->depth - 1) fail(m, at, "a handler ends that is not the last");
    for (uint32_t i = 0; i < s->n; i++)
        if (s->at[i].kind == IT_EXPR && s->at[i].slot == m->depth) s->at[i].slot = 0;
    for (uint32_t g = 0; g < m->l->c->n_guards; g++) {
        const pel_guard *guard = &m->l->c->guards[g];
        const block *handler = handler_block(m, guard);
        if (!enters(m, guard) || !handler->stack || handler->depth != m->depth) continue;
        pel_name name = place_name(m, handler->n_stack - 1);
        if (!is_on(s, name)) pel_lift_emit(m->l, forget(m, name));
    }
    m->depth--;
    go(m, at + 1, s, inlined, at);
}

/* ---- instructions of handlers, `with` and comprehensions ---- */

/* Whether the current exception is of a type, by what the language has for it. */
static void match_exception(states *m, stack *s, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    if (m->l->c->at[at].sub) fail(m, at, "except*, which has no form without structure");
    item type = pel_stack_pop(m->l, s, at);
    pel_flat_spill(&m->f, s, s->n, at);
    if (!s->n || s->at[s->n - 1].kind != IT_EXPR || s->at[s->n - 1].slot != m->depth || !m->depth)
        fail(m, at, "the type of an exception is asked for that is not being handled");
    pel_name answer = own(m, "value");
    pel_node *stmt = pel_make(m->l, PEL_Try, at);
    part p;
    begin(m, &p);
    emit_raise(m, NULL, NULL, at);
    stmt->Try.body = end(m, &p);
    const pel_const *answers[] = { &pel_true, &pel_false };
    for (int k = 0; k < 2; k++) {
        begin(m, &p);
        emit_assign(m, answer, pel_make_constant(ctx, answers[k]));
        pel_nodes body = end(m, &p);
        pel_nodes_push(ctx, &stmt->Try.handlers, handler_of(m, k ? NULL : pel_item_expr(m->l, type, at), NULL, body));
    }
    pel_lift_emit(m->l, stmt);
    pel_push_expr(m->l, s, at, load(m, answer));
}

/* Entering and leaving are calls of contextlib.ExitStack, which does both as a `with` does. */
static void enter_with(states *m, stack *s, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    if (m->l->c->at[at].flag) fail(m, at, "an `async with`, which has no form without structure");
    pel_flat_spill(&m->f, s, s->n, at);
    pel_node *manager = pel_pop_expr(m->l, s, at);
    pel_node *module = call1(m, builtin(m, "__import__"), pel_make_text(ctx, PEL_STR("contextlib")));
    pel_node *class = pel_make_attribute(ctx, module, pel_intern_c(ctx, "ExitStack"), PEL_Load);
    pel_name exits = own(m, "exits"), value = own(m, "value");
    emit_assign(m, exits, pel_make_call(ctx, class, (pel_nodes){ 0 }, (pel_nodes){ 0 }));
    pel_node *enter = pel_make_attribute(ctx, load(m, exits), pel_intern_c(ctx, "enter_context"), PEL_Load);
    emit_assign(m, value, call1(m, enter, manager));
    pel_name leave = own(m, "value");
    emit_assign(m, leave, pel_make_attribute(ctx, load(m, exits), pel_intern_c(ctx, "__exit__"), PEL_Load));
    pel_push_expr(m->l, s, at, load(m, leave));
    pel_push_expr(m->l, s, at, load(m, value));
}

static void leave_with_raised(states *m, stack *s, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    pel_flat_spill(&m->f, s, s->n, at);
    if (s->n < 4 || s->at[s->n - 4].kind != IT_EXPR || s->at[s->n - 1].kind != IT_EXPR)
        fail(m, at, "a `with` of unknown shape");
    pel_node *error = pel_item_expr(m->l, s->at[s->n - 1], at), *leave = pel_item_expr(m->l, s->at[s->n - 4], at);
    pel_nodes args = { 0 };
    pel_nodes_push(ctx, &args, call1(m, builtin(m, "type"), error));
    pel_nodes_push(ctx, &args, pel_copy(ctx, error));
    pel_nodes_push(ctx, &args,
                   pel_make_attribute(ctx, pel_copy(ctx, error), pel_intern_c(ctx, "__traceback__"), PEL_Load));
    pel_push_expr(m->l, s, at, pel_make_call(ctx, pel_copy(ctx, leave), args, (pel_nodes){ 0 }));
    pel_flat_spill(&m->f, s, s->n, at);
}

/* A comprehension saves a variable that has its name: a tuple of its value, or an empty one. */
static void save_variable(states *m, stack *s, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    pel_name name = pel_unmangle(m->l, m->l->c->at[at].name), saved = own(m, "saved");
    pel_flat_spill(&m->f, s, s->n, at);
    pel_node *stmt = pel_make(m->l, PEL_Try, at), *none = pel_node_new(ctx, PEL_Tuple);
    pel_node *tuple = pel_node_new(ctx, PEL_Tuple);
    tuple->Tuple.elts = pel_nodes_one(ctx, load(m, name));
    part p;
    begin(m, &p);
    emit_assign(m, saved, tuple);
    stmt->Try.body = end(m, &p);
    begin(m, &p);
    emit_assign(m, saved, none);
    pel_nodes body = end(m, &p);
    stmt->Try.handlers = pel_nodes_one(ctx, handler_of(m, builtin(m, "NameError"), NULL, body));
    pel_lift_emit(m->l, stmt);
    pel_stack_push(m->l, s, (item){ .kind = IT_SAVED, .at = at, .node = load(m, saved) });
}

static void restore_variable(states *m, stack *s, uint32_t at) {
    pel_ctx *ctx = m->l->ctx;
    pel_name name = pel_unmangle(m->l, m->l->c->at[at].name);
    item it = pel_stack_pop(m->l, s, at);
    pel_flat_spill(&m->f, s, s->n, at);
    pel_node *stmt = pel_make(m->l, PEL_If, at), *target = pel_node_new(ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    target->Tuple.elts = pel_nodes_one(ctx, pel_make_name(ctx, name, PEL_Store));
    stmt->If.test = it.node;
    stmt->If.body = pel_nodes_one(ctx, pel_make_assign(ctx, target, pel_copy(ctx, it.node)));
    pel_node *gone = pel_node_new(ctx, PEL_Delete);
    gone->Delete.targets = pel_nodes_one(ctx, pel_make_name(ctx, name, PEL_Del));
    pel_nodes_push(ctx, &stmt->If.orelse,
                   pel_make_assign(ctx, pel_make_name(ctx, name, PEL_Store), pel_make_none(ctx)));
    pel_nodes_push(ctx, &stmt->If.orelse, gone);
    pel_lift_emit(m->l, stmt);
}

/* An import takes several instructions, which are one statement. Returns how many after the first. */
static uint32_t import(states *m, stack *s, uint32_t at) {
    pel_lift *l = m->l;
    stack own_stack = { 0 };
    if (s->n < 2) fail(m, at, "the stack is empty");
    if (l->c->at[at].flag) fail(m, at, "a lazy import, which has no form without structure");
    for (uint32_t i = s->n - 2; i < s->n; i++) pel_stack_push(l, &own_stack, s->at[i]);
    s->n -= 2;
    pel_flat_spill(&m->f, s, s->n, at);
    uint32_t k = at;
    do {
        if (k >= m->f.limit || (k > at && l->c->at[k].is_target)) fail(m, at, "an import of unknown shape");
        pel_step(l, &own_stack, k++);
    } while (own_stack.n);
    return k - at - 1;
}

/* One instruction that does not end a block. Returns how many after it are done, too. */
static uint32_t step(states *m, stack *s, uint32_t at) {
    const pel_ins *ins = &m->l->c->at[at];
    switch ((pel_iop)ins->op) {
    case PEL_I_EXC: fail(m, at, "a handler begins in the middle of code");
    case PEL_I_EXC_MATCH: match_exception(m, s, at); return 0;
    case PEL_I_WITH: enter_with(m, s, at); return 0;
    case PEL_I_WITH_RAISED: leave_with_raised(m, s, at); return 0;
    case PEL_I_LOAD_CLEAR: save_variable(m, s, at); return 0;
    case PEL_I_IMPORT: return import(m, s, at);
    case PEL_I_STORE:
        if (s->n && s->at[s->n - 1].kind == IT_SAVED) {
            restore_variable(m, s, at);
            return 0;
        }
        break;
    default: break;
    }
    return pel_flat_step(&m->f, s, at);
}

/* A handler finds the stack as it was when the state began, as far as it looks. */
static void check_kept(states *m, const stack *s, uint32_t at) {
    if (m->root->cover == PEL_NONE) return;
    uint32_t depth = m->l->c->guards[m->root->cover].depth;
    bool kept = s->n >= depth && s->low >= depth && m->root->n_stack >= depth;
    for (uint32_t i = 0; i < depth && kept; i++)
        kept = s->at[i].kind == IT_EXPR ? is_place(m, &s->at[i], i) || s->at[i].node->kind == PEL_Name
                                        : s->at[i].kind == m->root->stack[i].kind;
    if (!kept) fail(m, at, "a handler keeps what the code that it covers takes");
}

/* Every instruction that ends a block decides where control goes; all others are steps, after each of which the handler
 * must still find what it keeps. */
static void run_block(states *m, uint32_t index, stack *s, int inlined) {
    const block *b = &m->blocks[index];
    pel_lift *l = m->l;
    pel_lift_enter(l, b->from);
    for (uint32_t at = b->from; at < b->end;) {
        const pel_ins *ins = &l->c->at[at];
        pel_lift_tick(l, at);
        l->region->start = at;
        m->f.limit = b->end;
        bool is_last = at + 1 == b->end;
        if (pel_is_cond(ins))
            branch(m, s, inlined, at);
        else if (ins->op == PEL_I_FOR)
            next_item(m, s, inlined, at);
        else if (ins->op == PEL_I_JUMP)
            go(m, ins->target, s, inlined, at);
        else if (ins->op == PEL_I_RETURN)
            emit_return(m, s, at);
        else if (ins->op == PEL_I_RAISE)
            raise(m, s, ins->arg, at);
        else if (ins->op == PEL_I_RERAISE)
            raise_again(m, s, at);
        else if (ins->op == PEL_I_POP_EXC)
            leave_handler(m, s, inlined, at);
        else if (ins->target != PEL_NONE)
            fail(m, at, "a jump of unknown meaning");
        else {
            at += 1 + step(m, s, at);
            check_kept(m, s, at - 1);
            if (at >= b->end) go(m, at, s, inlined, at - 1);
            continue;
        }
        if (!is_last) fail(m, at, "a block that ends in its middle");
        break;
    }
    pel_lift_leave(l);
}

/* The code of one state. */
static void run_state(states *m, block *b) {
    stack s = { 0 };
    for (uint32_t i = 0; i < b->n_stack; i++) {
        place p = b->stack[i];
        item it = { .kind = p.kind, .at = b->from, .slot = p.slot };
        if (p.kind == IT_EXPR || p.kind == IT_SAVED) it.node = load(m, place_name(m, i));
        pel_stack_push(m->l, &s, it);
    }
    s.low = s.n;
    m->root = b;
    m->depth = b->depth;
    if (b->cover != PEL_NONE) { /* what its handler will find */
        const pel_guard *guard = &m->l->c->guards[b->cover];
        block *handler = handler_block(m, guard);
        if (guard->depth > b->n_stack) fail(m, b->from, "a handler keeps more of the stack than there is");
        place *list = pel_new_array(m->l->ctx, (size_t)guard->depth + 3, place);
        if (guard->depth) memcpy(list, b->stack, guard->depth * sizeof *list);
        uint32_t n = guard->depth;
        if (guard->lasti) list[n++] = (place){ IT_SILENT, 0 };
        if (enters(m, guard)) list[n++] = (place){ IT_EXC, b->depth };
        list[n++] = (place){ IT_EXPR, enters(m, guard) ? b->depth + 1 : 0 };
        arrive(m, handler, list, n, b->depth + enters(m, guard), b->from);
        id_of(m, handler);
    }
    part p;
    begin(m, &p);
    run_block(m, (uint32_t)(b - m->blocks), &s, 0);
    b->body = or_pass(m, end(m, &p));
    b->is_done = true;
}

/* ---- the loop ---- */

/* Which handler takes over from which state: the exception goes where the handler looks for it. */
static pel_nodes hand_over(states *m, uint32_t depth, pel_name error) {
    pel_ctx *ctx = m->l->ctx;
    pel_node *first = NULL, *last = NULL;
    for (uint32_t g = 0; g < m->l->c->n_guards; g++) {
        const pel_guard *guard = &m->l->c->guards[g];
        const block *handler = handler_block(m, guard);
        PEL_VEC(uint32_t) ids = { 0 };
        for (uint32_t k = 0; k < m->order.n; k++) {
            const block *b = &m->blocks[m->order.at[k]];
            if (b->cover == g && b->depth == depth) pel_push(ctx, &ids, b->id);
        }
        if (!ids.n) continue;
        part p;
        begin(m, &p);
        emit_assign(m, place_name(m, guard->depth + guard->lasti + enters(m, guard)), load(m, error));
        emit_state(m, handler->id);
        pel_node *stmt = pel_node_new(ctx, PEL_If);
        stmt->If.test = is_one_of(m, ids.at, ids.n);
        stmt->If.body = end(m, &p);
        if (last)
            last->If.orelse = pel_nodes_one(ctx, stmt);
        else
            first = stmt;
        last = stmt;
    }
    last->If.orelse = pel_nodes_one(ctx, pel_node_new(ctx, PEL_Raise));
    return pel_nodes_one(ctx, first);
}

/* The states of one depth, and within their `except` those of the next. */
static pel_nodes machine(states *m, uint32_t depth) {
    pel_ctx *ctx = m->l->ctx;
    pel_nodes body = { 0 };
    PEL_VEC(uint32_t) deeper = { 0 };
    bool is_covered = false;
    for (uint32_t k = 0; k < m->order.n; k++) {
        const block *b = &m->blocks[m->order.at[k]];
        if (b->depth > depth) pel_push(ctx, &deeper, b->id);
        if (b->depth != depth) continue;
        is_covered |= b->cover != PEL_NONE;
        pel_node *stmt = pel_node_new(ctx, PEL_If);
        stmt->If.test = is_one_of(m, &b->id, 1);
        stmt->If.body = b->body;
        pel_nodes_push(ctx, &body, stmt);
    }
    if (!is_covered) return body;
    pel_name error = own(m, "error");
    pel_nodes handled = hand_over(m, depth, error);
    if (deeper.n) {
        pel_node *again = pel_node_new(ctx, PEL_While);
        again->While.test = is_one_of(m, deeper.at, deeper.n);
        again->While.body = machine(m, depth + 1);
        pel_nodes_push(ctx, &handled, again);
    }
    pel_node *stmt = pel_node_new(ctx, PEL_Try);
    stmt->Try.body = body;
    stmt->Try.handlers = pel_nodes_one(ctx, handler_of(m, builtin(m, "BaseException"), error, handled));
    return pel_nodes_one(ctx, stmt);
}

/* Variables of comprehensions outside of functions: the language has none there. */
static void rename_fast(states *m) {
    pel_map ours = { 0 };
    for (uint32_t i = 0; i < m->l->c->n; i++) {
        pel_ins *ins = &m->l->c->at[i];
        bool is_use = ins->op == PEL_I_LOAD || ins->op == PEL_I_STORE || ins->op == PEL_I_DELETE;
        if (!(is_use && ins->sub == PEL_FAST) && ins->op != PEL_I_LOAD_CLEAR) continue;
        uint64_t known = pel_map_find(&ours, PEL_KEY(ins->name), 0);
        if (!known) pel_map_set(m->l->ctx, &ours, PEL_KEY(ins->name), known = PEL_KEY(own(m, "value")));
        ins->name = (pel_name)(uintptr_t)known;
    }
}

/* What a module must not keep: our variables, whether they were used or not. */
static void forget_ours(states *m, pel_nodes *body) {
    pel_ctx *ctx = m->l->ctx;
    static const char *const prefixes[] = { "value", "item", "stack", "saved", "exits", "state" };
    for (uint32_t k = 0; k < PEL_COUNT(prefixes); k++)
        for (uint32_t i = 1; i <= m->f.names.n; i++) {
            pel_str text = pel_format(ctx, "%s_%u", prefixes[k], i);
            if (!pel_map_find(&m->f.names.ours, PEL_KEY(pel_intern_str(ctx, text)), 0)) continue;
            pel_nodes args = pel_nodes_one(ctx, pel_make_text(ctx, text));
            pel_nodes_push(ctx, &args, pel_make_none(ctx));
            pel_node *all = pel_make_call(ctx, builtin(m, "locals"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
            pel_node *pop = pel_make_attribute(ctx, all, pel_intern_c(ctx, "pop"), PEL_Load);
            pel_nodes_push(ctx, body, pel_make_expr(ctx, pel_make_call(ctx, pop, args, (pel_nodes){ 0 })));
        }
}

/* What nothing comes back to is written before the loop, so that imports and most of a module stay where they were. */
pel_nodes pel_read_states(pel_lift *l) {
    pel_ctx *ctx = l->ctx;
    states state = { .l = l }, *m = &state;
    m->is_function = l->code->flags & PEL_CO_OPTIMIZED;
    bool is_module = !m->is_function && pel_name_is(l->code->name, "<module>");
    pel_flat_begin(&m->f, l);
    m->f.is_careful = true;
    if (!m->is_function && !is_module) fail(m, 0, "a class would keep the variables that states need");
    if (is_module) rename_fast(m);
    find_blocks(m);
    m->state = own(m, "state");
    block *first = &m->blocks[0];
    arrive(m, first, NULL, 0, 0, 0);
    pel_nodes body = { 0 };
    bool before_loop = first->ways == 0 && first->cover == PEL_NONE;
    if (before_loop) {
        run_state(m, first);
        body = first->body;
    } else {
        part p;
        begin(m, &p);
        emit_state(m, id_of(m, first));
        body = end(m, &p);
    }
    while (m->todo.n) {
        block *b = &m->blocks[m->todo.at[--m->todo.n]];
        if (!b->is_done) run_state(m, b);
    }
    if (m->order.n) {
        pel_node *again = pel_node_new(ctx, PEL_While);
        again->While.test = m->is_function ? pel_make_constant(ctx, &pel_true)
                                           : pel_make_compare(ctx, load(m, m->state), PEL_GtE, pel_make_int(ctx, 0));
        again->While.body = machine(m, 0);
        if (!again->While.body.n) fail(m, 0, "states without a beginning");
        pel_nodes_push(ctx, &body, again);
    }
    const pel_node *last = body.n ? body.at[body.n - 1] : NULL;
    bool is_straight = !m->order.n && last && last->kind == PEL_Assign &&
                       last->Assign.targets.at[0]->kind == PEL_Name && last->Assign.targets.at[0]->Name.id == m->state;
    if (is_module && is_straight) {
        body.n--; /* it says that the module is done, and nothing asks */
        pel_map_set(ctx, &m->f.names.ours, PEL_KEY(m->state), 0);
    }
    if (is_module) forget_ours(m, &body);
    return body;
}
