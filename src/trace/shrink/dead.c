/* What nobody reads goes: stores, statements without effect, parameters. Walks each body backwards with the set of
 * names that are still read. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

typedef struct names {
    pel_ctx *ctx;
    const pel_synth *s;
    pel_map index;
    uint32_t n, words;
    bool growing; /* first pass: names get their numbers */
} names;

typedef struct bits {
    uint64_t *at;
} bits;

typedef struct scope { /* of a loop */
    struct scope *outer;
    bits at_break, at_continue;
} scope;

typedef struct sweep {
    pel_ctx *ctx;
    const pel_synth *s;
    names *names;
    bits captured; /* read by functions defined inside: never dead */
    scope *loop;
    pel_name blank; /* `_` */
    bool changed;
} sweep;

/* ---- what an expression reads ---- */

static uint32_t number_of(names *n, pel_name name) {
    uint64_t found;
    if (pel_map_get(&n->index, PEL_KEY(name), &found)) return (uint32_t)found;
    if (!n->growing) return UINT32_MAX;
    pel_map_set(n->ctx, &n->index, PEL_KEY(name), n->n);
    return n->n++;
}

static bits new_bits(sweep *sw) { return (bits){ pel_new_array(sw->ctx, sw->names->words, uint64_t) }; }
static bits copy_bits(sweep *sw, bits from) {
    bits made = new_bits(sw);
    memcpy(made.at, from.at, sw->names->words * sizeof *made.at);
    return made;
}
static void join_bits(const sweep *sw, bits into, bits from) {
    for (uint32_t i = 0; i < sw->names->words; i++) into.at[i] |= from.at[i];
}
static bool has(const sweep *sw, bits set, pel_name name) {
    uint32_t i = number_of(sw->names, name);
    return i != UINT32_MAX && (set.at[i / 64] >> (i % 64) & 1);
}
static void add(const sweep *sw, bits set, pel_name name) {
    uint32_t i = number_of(sw->names, name);
    if (i != UINT32_MAX) set.at[i / 64] |= (uint64_t)1 << (i % 64);
}
static void drop(const sweep *sw, bits set, pel_name name) {
    uint32_t i = number_of(sw->names, name);
    if (i != UINT32_MAX) set.at[i / 64] &= ~((uint64_t)1 << (i % 64));
}

typedef struct reading {
    const sweep *sw;
    bits set;
} reading;

static void add_read(void *arg, const pel_name_use *use) {
    const reading *r = arg;
    if (use->kind == PEL_USE_READS) add(r->sw, r->set, use->name);
}

static void reads(const sweep *sw, bits set, pel_node *node) {
    reading r = { sw, set };
    if (node) pel_each_use(sw->s, &node, add_read, &r);
}

/* ---- purity ---- */

typedef struct asking {
    const pel_synth *s;
    bool pure;
} asking;

static void ask(void *arg, pel_node **slot) {
    asking *a = arg;
    const pel_node *node = *slot;
    const pel_link *link = pel_link_at(a->s, node);
    if (link && ((link->target->facts.has_effect && !link->looks_up) || link->target->is.init)) a->pure = false;
    if (pel_is_noted(a->s, node, PEL_NOTE_EFFECT) && node->kind != PEL_Name) a->pure = false;
    switch (node->kind) {
    case PEL_NamedExpr:
    case PEL_Yield:
    case PEL_YieldFrom:
    case PEL_Await: a->pure = false; break;
    case PEL_Lambda: return; /* making it does nothing */
    default: break;
    }
    if (a->pure) pel_each_part(a->s, *slot, ask, a);
}

bool pel_pure(const pel_synth *s, const pel_node *expression) {
    asking a = { s, true };
    pel_node *node = (pel_node *)(uintptr_t)expression;
    ask(&a, &node);
    return a.pure;
}

/* Whether running statements does more than bind local names. Assertions count: what is known of a function's result
 * is known on their conditions. */
bool pel_body_has_effect(const pel_synth *s, pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++) {
        const pel_node *node = body.at[i];
        switch (node->kind) {
        case PEL_Expr:
            if (!pel_pure(s, node->Expr.value)) return true;
            break;
        case PEL_Assign:
            if (!pel_pure(s, node->Assign.value)) return true;
            for (uint32_t k = 0; k < node->Assign.targets.n; k++) {
                uint8_t kind = node->Assign.targets.at[k]->kind;
                if (kind != PEL_Name && kind != PEL_Tuple) return true;
                for (uint32_t e = 0; kind == PEL_Tuple && e < node->Assign.targets.at[k]->Tuple.elts.n; e++)
                    if (node->Assign.targets.at[k]->Tuple.elts.at[e]->kind != PEL_Name) return true;
            }
            break;
        case PEL_AugAssign:
            if (pel_is_noted(s, node, PEL_NOTE_EFFECT) || node->AugAssign.target->kind != PEL_Name ||
                !pel_pure(s, node->AugAssign.value))
                return true;
            break;
        case PEL_Return:
            if (node->Return.value && !pel_pure(s, node->Return.value)) return true;
            break;
        case PEL_If:
            if (!pel_pure(s, node->If.test) || pel_body_has_effect(s, node->If.body) ||
                pel_body_has_effect(s, node->If.orelse))
                return true;
            break;
        case PEL_For:
            if (!pel_pure(s, node->For.iter) || pel_body_has_effect(s, node->For.body) ||
                pel_body_has_effect(s, node->For.orelse))
                return true;
            break;
        case PEL_FunctionDef:
        case PEL_Pass:
        case PEL_Break:
        case PEL_Continue: break;
        default: return true; /* assert may fail, while may not end; with, delete, nonlocal do something */
        }
    }
    return false;
}

/* ---- statements ---- */

static pel_nodes sweep_body(sweep *sw, pel_nodes body, bits live);

/* Whether none of the names that a target binds is read; other targets count as read. */
static bool target_dead(const sweep *sw, const pel_node *target, bits live) {
    switch (target->kind) {
    case PEL_Name: return !has(sw, live, target->Name.id) && !has(sw, sw->captured, target->Name.id);
    case PEL_Starred: return target_dead(sw, target->Starred.value, live);
    case PEL_Tuple:
    case PEL_List:
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
            if (!target_dead(sw, target->Tuple.elts.at[i], live)) return false;
        return true;
    default: return false;
    }
}

static void kill(const sweep *sw, pel_node *target, bits live) {
    switch (target->kind) {
    case PEL_Name: drop(sw, live, target->Name.id); break;
    case PEL_Starred: kill(sw, target->Starred.value, live); break;
    case PEL_Tuple:
    case PEL_List:
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) kill(sw, target->Tuple.elts.at[i], live);
        break;
    default: break;
    }
}

static void read_target(const sweep *sw, pel_node *target, bits live) {
    switch (target->kind) {
    case PEL_Name: break;
    case PEL_Starred: read_target(sw, target->Starred.value, live); break;
    case PEL_Tuple:
    case PEL_List:
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) read_target(sw, target->Tuple.elts.at[i], live);
        break;
    default: reads(sw, live, target);
    }
}

/* Names of a tuple that nobody reads become `_`. */
static void blank_out(sweep *sw, pel_node **slot, bits live) {
    pel_node *target = *slot;
    if (target->kind == PEL_Name) {
        if (target->Name.id == sw->blank || !target_dead(sw, target, live)) return;
        *slot = pel_make_name(sw->ctx, sw->blank, PEL_Store);
        sw->changed = true;
    } else if (target->kind == PEL_Starred) {
        blank_out(sw, &target->Starred.value, live);
    } else if (target->kind == PEL_Tuple || target->kind == PEL_List) {
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) blank_out(sw, &target->Tuple.elts.at[i], live);
    }
}

static bool is_blank(const sweep *sw, const pel_node *target) {
    return target->kind == PEL_Name && target->Name.id == sw->blank;
}

/* How many targets one value with a star is unpacked into, beside those that the others fill; false: not known. */
static bool width_of_star(pel_nodes targets, pel_nodes values, uint32_t *width) {
    uint32_t n_stars = 0;
    for (uint32_t i = 0; i < targets.n; i++)
        if (targets.at[i]->kind == PEL_Starred) return false;
    for (uint32_t i = 0; i < values.n; i++) n_stars += values.at[i]->kind == PEL_Starred;
    if (n_stars > 1 || targets.n + n_stars < values.n || (!n_stars && targets.n != values.n)) return false;
    *width = targets.n + 1 - values.n;
    return true;
}

/* a, _, c = f(), y, z  ->  a, c = f(), z;  a, b, _ = *x.shape, 0  ->  a, b = x.shape */
static void drop_pairs(sweep *sw, pel_node *node) {
    if (node->Assign.targets.n != 1) return;
    pel_node *target = node->Assign.targets.at[0], *value = node->Assign.value;
    if (target->kind != PEL_Tuple || value->kind != PEL_Tuple) return;
    pel_nodes to = target->Tuple.elts, from = value->Tuple.elts, targets = { 0 }, values = { 0 };
    uint32_t width, at = 0;
    if (!width_of_star(to, from, &width)) return;
    for (uint32_t i = 0; i < from.n; i++) {
        bool star = from.at[i]->kind == PEL_Starred, blank = true;
        uint32_t n = star ? width : 1;
        for (uint32_t k = 0; k < n; k++) blank &= is_blank(sw, to.at[at + k]);
        if (!blank || !pel_pure(sw->s, star ? from.at[i]->Starred.value : from.at[i])) {
            for (uint32_t k = 0; k < n; k++) pel_nodes_push(sw->ctx, &targets, to.at[at + k]);
            pel_nodes_push(sw->ctx, &values, from.at[i]);
        }
        at += n;
    }
    if (values.n == from.n || !targets.n) return;
    sw->changed = true;
    target->Tuple.elts = targets;
    value->Tuple.elts = values;
    if (values.n > 1) return;
    bool star = values.at[0]->kind == PEL_Starred;
    if (!star) node->Assign.targets = pel_nodes_one(sw->ctx, targets.at[0]);
    node->Assign.value = star ? values.at[0]->Starred.value : values.at[0];
}

static pel_node *sweep_assign(sweep *sw, pel_node *node, bits live) {
    PEL_VEC(pel_node *) kept = { 0 };
    for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
        pel_node *target = node->Assign.targets.at[i];
        bool copy = target->kind == PEL_Name && node->Assign.value->kind == PEL_Name &&
                    target->Name.id == node->Assign.value->Name.id;
        if (!copy && !target_dead(sw, target, live)) pel_push(sw->ctx, &kept, target);
    }
    if (kept.n != node->Assign.targets.n) sw->changed = true;
    if (kept.n == 0) {
        if (pel_pure(sw->s, node->Assign.value)) return NULL;
        pel_node *left = pel_make_expr(sw->ctx, node->Assign.value);
        left->lineno = node->lineno;
        reads(sw, live, node->Assign.value);
        return left;
    }
    node->Assign.targets = pel_nodes_of(sw->ctx, kept.at, kept.n);
    for (uint32_t i = 0; i < kept.n; i++)
        if (kept.at[i]->kind != PEL_Name) blank_out(sw, &node->Assign.targets.at[i], live);
    drop_pairs(sw, node);
    for (uint32_t i = 0; i < kept.n; i++) kill(sw, node->Assign.targets.at[i], live);
    for (uint32_t i = 0; i < kept.n; i++) read_target(sw, node->Assign.targets.at[i], live);
    reads(sw, live, node->Assign.value);
    return node;
}

static pel_node *sweep_if(sweep *sw, pel_node *node, bits live) {
    bits other = copy_bits(sw, live);
    node->If.body = sweep_body(sw, node->If.body, live);
    node->If.orelse = sweep_body(sw, node->If.orelse, other);
    join_bits(sw, live, other);
    if (node->If.body.n == 0 && node->If.orelse.n == 0) {
        sw->changed = true;
        if (pel_pure(sw->s, node->If.test)) return NULL;
        reads(sw, live, node->If.test);
        return pel_make_expr(sw->ctx, node->If.test);
    }
    if (node->If.body.n == 0) {
        node->If.test = pel_not(sw->s, node->If.test);
        node->If.body = node->If.orelse;
        node->If.orelse = (pel_nodes){ 0 };
        sw->changed = true;
    }
    reads(sw, live, node->If.test);
    return node;
}

static pel_node *sweep_loop(sweep *sw, pel_node *node, bits live) {
    bool is_for = node->kind == PEL_For;
    pel_nodes *body = is_for ? &node->For.body : &node->While.body,
              *orelse = is_for ? &node->For.orelse : &node->While.orelse;
    bits after = copy_bits(sw, live);
    scope loop = { sw->loop, after, { 0 } };
    *orelse = sweep_body(sw, *orelse, live);
    bits exit = copy_bits(sw, live); /* when it runs out */
    if (!is_for) reads(sw, exit, node->While.test);
    /* what any round reads is live at the end of every round */
    bits head = copy_bits(sw, exit);
    for (uint32_t i = 0; i < body->n; i++) reads(sw, head, body->at[i]);
    sw->loop = &loop;
    loop.at_continue = head;
    bits in = copy_bits(sw, head);
    *body = sweep_body(sw, *body, in);
    sw->loop = loop.outer;
    if (body->n == 0) {
        if (is_for ? pel_pure(sw->s, node->For.iter) : false) {
            sw->changed = true;
            return NULL;
        }
        pel_nodes_push(sw->ctx, body, pel_node_new(sw->ctx, PEL_Pass));
    }
    if (is_for && node->For.target->kind == PEL_Tuple) blank_out(sw, &node->For.target, in);
    if (is_for) kill(sw, node->For.target, in);
    join_bits(sw, in, exit);
    memcpy(live.at, in.at, sw->names->words * sizeof *live.at);
    if (is_for) reads(sw, live, node->For.iter);
    return node;
}

static pel_node *gone(sweep *sw) {
    sw->changed = true;
    return NULL;
}

/* not f(x), f(x) is None, f(x)[0], where nobody wants the result: f(x) is what it does. */
static pel_node *what_it_does(const sweep *sw, pel_node *value, bits live) {
    for (;;) {
        pel_node *inner = NULL;
        if (pel_is_noted(sw->s, value, PEL_NOTE_EFFECT | PEL_NOTE_COMPARES_TENSORS) || pel_link_at(sw->s, value))
            return value;
        if (value->kind == PEL_UnaryOp && value->UnaryOp.op == PEL_Not)
            inner = value->UnaryOp.operand;
        else if (value->kind == PEL_Attribute)
            inner = value->Attribute.value;
        else if (value->kind == PEL_Subscript && pel_pure(sw->s, value->Subscript.slice))
            inner = value->Subscript.value;
        else if (value->kind == PEL_Compare && value->Compare.ops.n == 1 &&
                 pel_pure(sw->s, value->Compare.comparators.at[0]))
            inner = value->Compare.left;
        else if (value->kind == PEL_NamedExpr && target_dead(sw, value->NamedExpr.target, live))
            inner = value->NamedExpr.value;
        if (!inner) return value;
        value = inner;
    }
}

/* live comes as the names read after the statement and leaves as those read before it. Jumps replace the set, since
 * what follows them in the text does not run next. A with that lost its body takes its context along. */
static pel_node *sweep_statement(sweep *sw, pel_node *node, bits live) {
    switch (node->kind) {
    case PEL_Assign: return sweep_assign(sw, node, live);
    case PEL_AugAssign:
        if (node->AugAssign.target->kind == PEL_Name && !pel_is_noted(sw->s, node, PEL_NOTE_EFFECT) &&
            target_dead(sw, node->AugAssign.target, live) && pel_pure(sw->s, node->AugAssign.value))
            return gone(sw);
        reads(sw, live, node);
        return node;
    case PEL_Expr:
        node->Expr.value = what_it_does(sw, node->Expr.value, live);
        if (pel_pure(sw->s, node->Expr.value)) return gone(sw);
        reads(sw, live, node->Expr.value);
        return node;
    case PEL_Return:
        memset(live.at, 0, sw->names->words * sizeof *live.at);
        reads(sw, live, node->Return.value);
        return node;
    case PEL_If: return sweep_if(sw, node, live);
    case PEL_For:
    case PEL_While: return sweep_loop(sw, node, live);
    case PEL_Break:
    case PEL_Continue:
        if (sw->loop) {
            bits to = node->kind == PEL_Break ? sw->loop->at_break : sw->loop->at_continue;
            memcpy(live.at, to.at, sw->names->words * sizeof *live.at);
        }
        return node;
    case PEL_With:
        node->With.body = sweep_body(sw, node->With.body, live);
        for (uint32_t i = 0; i < node->With.items.n; i++) reads(sw, live, node->With.items.at[i]);
        return node->With.body.n ? node : gone(sw);
    case PEL_FunctionDef:
        if (!has(sw, live, node->FunctionDef.name) && !has(sw, sw->captured, node->FunctionDef.name)) return gone(sw);
        reads(sw, live, node);
        return node;
    default: reads(sw, live, node); return node;
    }
}

static pel_nodes sweep_body(sweep *sw, pel_nodes body, bits live) {
    PEL_VEC(pel_node *) kept = { 0 }; /* backwards */
    for (uint32_t i = body.n; i > 0; i--) {
        pel_node *node = sweep_statement(sw, body.at[i - 1], live);
        if (node) pel_push(sw->ctx, &kept, node);
    }
    pel_nodes result = { 0 };
    for (uint32_t i = kept.n; i > 0; i--) pel_nodes_push(sw->ctx, &result, kept.at[i - 1]);
    return result;
}

/* ---- containers that are only filled ---- */

typedef struct filling {
    sweep *sw;
    bits only_filled; /* candidates: names bound to new containers */
    bits read;        /* names read in any other way */
} filling;

bool pel_is_new_container(const pel_node *value) {
    switch (value->kind) {
    case PEL_List:
    case PEL_Dict:
    case PEL_Set:
    case PEL_ListComp:
    case PEL_DictComp:
    case PEL_SetComp: return true;
    default: return false;
    }
}

/* The container that a statement only puts something into, or takes something out of for nobody; NULL if it is none. */
static pel_name filled_by(const pel_synth *s, const pel_node *node) {
    if (node->kind == PEL_Expr && node->Expr.value->kind == PEL_Call && !pel_link_at(s, node->Expr.value)) {
        const pel_node *call = node->Expr.value, *func = call->Call.func;
        if (func->kind != PEL_Attribute || func->Attribute.value->kind != PEL_Name) return NULL;
        for (uint32_t i = 0; i < call->Call.args.n; i++)
            if (!pel_pure(s, call->Call.args.at[i])) return NULL;
        for (uint32_t i = 0; i < call->Call.keywords.n; i++)
            if (!pel_pure(s, call->Call.keywords.at[i]->keyword.value)) return NULL;
        return func->Attribute.value->Name.id;
    }
    if (node->kind == PEL_Assign && node->Assign.targets.n == 1 && node->Assign.targets.at[0]->kind == PEL_Subscript) {
        const pel_node *target = node->Assign.targets.at[0];
        if (target->Subscript.value->kind != PEL_Name || !pel_pure(s, target->Subscript.slice) ||
            !pel_pure(s, node->Assign.value))
            return NULL;
        return target->Subscript.value->Name.id;
    }
    return NULL;
}

static void look_at_filling(void *arg, pel_node **slot) {
    filling *f = arg;
    pel_node *node = *slot;
    if (pel_bound_name(node) && pel_is_new_container(node->Assign.value) && pel_pure(f->sw->s, node->Assign.value)) {
        add(f->sw, f->only_filled, pel_bound_name(node));
        reads(f->sw, f->read, node->Assign.value);
        return;
    }
    pel_name name = filled_by(f->sw->s, node);
    if (name) { /* all but the container itself is read */
        bool before = has(f->sw, f->read, name);
        reads(f->sw, f->read, node);
        if (!before) drop(f->sw, f->read, name);
        return;
    }
    if (node->kind == PEL_Name) add(f->sw, f->read, node->Name.id);
    pel_each_part(f->sw->s, node, look_at_filling, f);
}

static bool fills_dead(const filling *f, const pel_node *node) {
    pel_name name = filled_by(f->sw->s, node);
    return name && has(f->sw, f->only_filled, name) && !has(f->sw, f->read, name) && !has(f->sw, f->sw->captured, name);
}

static void drop_filling(filling *f, pel_nodes *body) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        if (fills_dead(f, node)) {
            f->sw->changed = true;
            continue;
        }
        pel_nodes *block;
        for (uint32_t k = 0; node->kind != PEL_FunctionDef && (block = pel_block_at(node, k)); k++)
            drop_filling(f, block);
        pel_nodes_push(f->sw->ctx, &kept, node);
    }
    *body = kept;
}

/* ---- a function ---- */

static void number_name(void *arg, const pel_name_use *use) { number_of(arg, use->name); }

/* What functions and generators inside read is read whenever they run. */
static void add_captured(void *arg, const pel_name_use *use) {
    const reading *r = arg;
    bool later = use->within & (PEL_WITHIN_FUNCTION | PEL_WITHIN_GENERATOR);
    if (use->kind == PEL_USE_DECLARES || (use->kind == PEL_USE_READS && later)) add(r->sw, r->set, use->name);
}

/* The order counts: sets have room for names that were numbered before, and containers that are only filled go before
 * the sweep, to which an append is a read. unread also holds for parameters that callers force us to keep. */
static bool remove_dead(pel_synth *s, pel_group *group) {
    names n = { .ctx = s->ctx, .s = s, .growing = true };
    pel_each_use_in(s, group->body, number_name, &n);
    for (uint32_t p = 0; p < group->n_params; p++) number_of(&n, group->params[p].name);
    n.growing = false;
    n.words = n.n / 64 + 1;
    sweep sw = { .ctx = s->ctx, .s = s, .names = &n, .blank = pel_intern_c(s->ctx, "_") };
    sw.captured = new_bits(&sw);
    reading r = { &sw, sw.captured };
    pel_each_use_in(s, group->body, add_captured, &r);
    filling f = { &sw, new_bits(&sw), new_bits(&sw) };
    for (uint32_t p = 0; p < group->n_params; p++) add(&sw, f.read, group->params[p].name);
    for (uint32_t i = 0; i < group->body.n; i++) look_at_filling(&f, &group->body.at[i]);
    drop_filling(&f, &group->body);
    bits live = new_bits(&sw);
    group->body = sweep_body(&sw, group->body, live);
    for (uint32_t p = 0; p < group->n_params; p++) {
        pel_param *param = &group->params[p];
        bool dead = !has(&sw, live, param->name) && !has(&sw, sw.captured, param->name);
        param->unread = dead;
        if (dead && !param->dead && pel_may_drop(s, group, p)) {
            param->dead = true;
            sw.changed = true;
        }
    }
    return sw.changed;
}

bool pel_pass_dead(pel_synth *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++) changed |= remove_dead(s, s->groups.at[i]);
    return changed;
}
