/* Steps that one line says as well: x = self.norm(x); x = self.mlp(x)  ->  x = self.mlp(self.norm(x)).
 *
 * A name that the author gave to something else stays: only what is bound again under the same name, bound to a name
 * that has meant other things, returned, or the head of a chain of methods moves into the next statement, and only
 * where that stays short. What moves is evaluated
 * later than it was, so all that now comes before it must be reads that it can't change. */
#include "base/map.h"
#include "python/print.h"
#include "trace/passes.h"
#include "trace/shrink/link.h"

#define MAX_LENGTH PEL_LINE_LENGTH /* of a line that was made from two */
#define MAX_CALLS 3                /* that nest in it */

typedef struct contractor {
    pel_ctx *ctx;
    pel_map changing;    /* attributes that the program writes, or computes: reading one is not quiet */
    pel_map functions;   /* names of the file's functions, which nobody binds again */
    const pel_node *def; /* the function being looked at */
    bool all;            /* steps that get another name are taken, too: they can keep others from it */
    bool changed;
} contractor;

/* ---- attributes that may change ---- */

static void see_written(void *arg, pel_node **slot) {
    contractor *c = arg;
    if ((*slot)->kind == PEL_Attribute && (*slot)->Attribute.ctx != PEL_Load)
        pel_map_set(c->ctx, &c->changing, PEL_KEY((*slot)->Attribute.attr), 1);
    pel_each_child(*slot, see_written, c);
}

static void find_changing(contractor *c, pel_program *program) {
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        see_written(c, &function->def);
        if (!function->class) pel_map_set(c->ctx, &c->functions, PEL_KEY(function->name), 1);
        if (function->is_property) pel_map_set(c->ctx, &c->changing, PEL_KEY(function->name), 1);
    }
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->def) see_written(c, &program->classes.at[i]->def);
}

static pel_uses uses_in_function(const contractor *c, pel_name name) {
    return pel_uses_in(NULL, c->def->FunctionDef.body, name);
}

/* ---- where the name is read ---- */

static bool is_quiet(const contractor *c, const pel_node *node) {
    if (node->kind == PEL_Attribute)
        return !pel_map_has(&c->changing, PEL_KEY(node->Attribute.attr)) && is_quiet(c, node->Attribute.value);
    if (node->kind == PEL_Starred) return is_quiet(c, node->Starred.value);
    if (node->kind == PEL_Slice)
        return (!node->Slice.lower || is_quiet(c, node->Slice.lower)) &&
               (!node->Slice.upper || is_quiet(c, node->Slice.upper)) &&
               (!node->Slice.step || is_quiet(c, node->Slice.step));
    if (node->kind == PEL_Call) /* super() */
        return node->Call.func->kind == PEL_Name && pel_name_is(node->Call.func->Name.id, "super") &&
               !node->Call.args.n;
    return node->kind == PEL_Name || node->kind == PEL_Constant;
}

/* Comparisons of what is quiet: they change nothing. */
static bool is_calm(const contractor *c, const pel_node *node) {
    if (node->kind == PEL_UnaryOp) return is_calm(c, node->UnaryOp.operand);
    if (node->kind != PEL_BoolOp && node->kind != PEL_Compare) return is_quiet(c, node);
    const pel_nodes parts = node->kind == PEL_BoolOp ? node->BoolOp.values : node->Compare.comparators;
    for (uint32_t i = 0; i < parts.n; i++)
        if (!is_calm(c, parts.at[i])) return false;
    return node->kind == PEL_BoolOp || is_calm(c, node->Compare.left);
}

/* a is None: it can't fail, and costs nothing where nobody asks. */
static bool is_identity_test(const contractor *c, const pel_node *node) {
    return node->kind == PEL_Compare && node->Compare.ops.n == 1 &&
           (node->Compare.ops.at[0] == PEL_Is || node->Compare.ops.at[0] == PEL_IsNot) && is_calm(c, node);
}

typedef struct search {
    const contractor *c;
    pel_name name;
    bool is_read;     /* what is to stand there only reads: it need not happen */
    pel_node **found; /* where the one read hangs */
    bool failed;      /* something may happen before it, or it need not happen at all */
} search;

/* Goes through an expression in the order of its evaluation, up to the name. */
static void find_read(void *arg, pel_node **slot) {
    search *s = arg;
    pel_node *node = *slot;
    if (s->found || s->failed) return;
    if (node->kind == PEL_Name && node->Name.id == s->name) {
        s->found = slot;
        return;
    }
    bool mentioned = pel_uses_at(NULL, node, s->name).reads;
    if (is_quiet(s->c, node) && !mentioned) return;
    if (s->is_read && node->kind == PEL_BoolOp && mentioned) {
        for (uint32_t i = 0; i < node->BoolOp.values.n && !s->found && !s->failed; i++)
            if (pel_uses_at(NULL, node->BoolOp.values.at[i], s->name).reads ||
                !is_calm(s->c, node->BoolOp.values.at[i]))
                find_read(s, &node->BoolOp.values.at[i]);
        return;
    }
    switch (node->kind) {
    case PEL_Call:
    case PEL_keyword:
    case PEL_Attribute:
    case PEL_Subscript:
    case PEL_BinOp:
    case PEL_UnaryOp:
    case PEL_Starred:
    case PEL_Tuple:
    case PEL_List:
        if (!mentioned) break; /* evaluated before, and more than a read */
        pel_each_child(node, find_read, s);
        if (!s->found) s->failed = true;
        return;
    default: break;
    }
    s->failed = true;
}

static bool heads_chain(const pel_node *value, pel_name name) {
    bool methods = false;
    for (;;) {
        if (value->kind == PEL_Call && value->Call.func->kind == PEL_Attribute) {
            value = value->Call.func->Attribute.value;
            methods = true;
        } else if (value->kind == PEL_Subscript) {
            value = value->Subscript.value;
        } else {
            return methods && value->kind == PEL_Name && value->Name.id == name;
        }
    }
}

/* ---- two statements as one ---- */

typedef struct nesting {
    uint32_t here, most;
} nesting;

/* f(g(x)) nests, x.f().g() is read from left to right. */
static void see_nesting(void *arg, pel_node **slot) {
    nesting *n = arg;
    pel_node *node = *slot;
    if (node->kind != PEL_Call) {
        pel_each_child(node, see_nesting, n);
        return;
    }
    if (n->here + 1 > n->most) n->most = n->here + 1;
    see_nesting(n, &node->Call.func);
    n->here++;
    for (uint32_t i = 0; i < node->Call.args.n; i++) see_nesting(n, &node->Call.args.at[i]);
    for (uint32_t i = 0; i < node->Call.keywords.n; i++) see_nesting(n, &node->Call.keywords.at[i]);
    n->here--;
}

static uint32_t nested_calls(pel_node *node) {
    nesting n = { 0 };
    see_nesting(&n, &node);
    return n.most;
}

/* Whether a part of an expression is an operand or an argument of its outermost operation. */
static bool is_direct(const pel_node *whole, pel_node *const *place) {
    if (whole->kind == PEL_BinOp) return place == &whole->BinOp.left || place == &whole->BinOp.right;
    if (whole->kind != PEL_Call) return false;
    for (uint32_t i = 0; i < whole->Call.args.n; i++)
        if (place == &whole->Call.args.at[i]) return true;
    for (uint32_t i = 0; i < whole->Call.keywords.n; i++)
        if (place == &whole->Call.keywords.at[i]->keyword.value) return true;
    return false;
}

/* The index of a subscript that a place is, or one of several. */
static bool is_index(const pel_node *whole, pel_node *const *place) {
    if (whole->kind != PEL_Subscript) return false;
    const pel_node *slice = whole->Subscript.slice;
    for (uint32_t i = 0; slice->kind == PEL_Tuple && i < slice->Tuple.elts.n; i++)
        if (place == &slice->Tuple.elts.at[i]) return true;
    return place == &whole->Subscript.slice;
}

/* x[slice(a, None)] is x[a:]; NULL for what is no such call. */
static pel_node *as_slice(const contractor *c, const pel_node *value) {
    if (value->kind != PEL_Call || value->Call.func->kind != PEL_Name ||
        !pel_name_is(value->Call.func->Name.id, "slice") || value->Call.args.n != 2 || value->Call.keywords.n)
        return NULL;
    pel_node *lower = value->Call.args.at[0], *upper = value->Call.args.at[1], *made = pel_node_new(c->ctx, PEL_Slice);
    made->Slice.lower = pel_is_none(lower) || pel_is_number(lower, 0) ? NULL : lower;
    made->Slice.upper = pel_is_none(upper) ? NULL : upper;
    return made;
}

static bool is_sum(const pel_node *node) { return node->BinOp.op == PEL_Add || node->BinOp.op == PEL_Sub; }
static bool is_product(const pel_node *node) {
    return node->BinOp.op == PEL_Mult || node->BinOp.op == PEL_Div || node->BinOp.op == PEL_MatMult;
}

/* a * b + c, c + a * b and a + b + c are read as they stand. */
static bool needs_no_parentheses(const pel_node *value, const pel_node *into, pel_node *const *place) {
    if (is_sum(into)) return is_product(value) || (is_sum(value) && place == &into->BinOp.left);
    return is_product(into) && is_product(value) && place == &into->BinOp.left;
}

/* What may stand inside of another expression without making it hard to read. */
static bool may_move(const pel_node *value, const pel_node *into, pel_node **place) {
    switch (value->kind) {
    case PEL_Call:
    case PEL_Attribute:
    case PEL_Subscript: return true;
    case PEL_BinOp: /* f(a + b), but not (a + b).f() or (a + b) * c */
        if (!is_direct(into, place)) return false;
        return into->kind == PEL_Call || (into->kind == PEL_BinOp && needs_no_parentheses(value, into, place));
    case PEL_Compare: return into->kind == PEL_BoolOp;
    default: return false;
    }
}

static pel_node *value_of(const pel_node *statement) {
    if (statement->kind == PEL_Return) return statement->Return.value;
    return statement->kind == PEL_Assign && statement->Assign.targets.n == 1 ? statement->Assign.value : NULL;
}

static void set_value(pel_node *statement, pel_node *value) {
    if (statement->kind == PEL_Return)
        statement->Return.value = value;
    else
        statement->Assign.value = value;
}

static bool is_short(const contractor *c, pel_node *statement, int indent) {
    pel_buf text = pel_buf_in(c->ctx);
    const pel_print_options options = { .width = MAX_LENGTH, .version = 10 };
    pel_print_body(c->ctx, pel_nodes_one(c->ctx, statement), indent, &options, &text);
    return !memchr(text.at, '\n', text.len - 1) && text.len - 1 <= MAX_LENGTH;
}

/* A statement that may be joined with the one before it. */
typedef struct step {
    pel_nodes body;
    uint32_t at;
    int indent;
    bool is_top; /* of the function: nothing runs behind it */
} step;

static void see_kind(void *arg, pel_node **slot) {
    uint64_t *shape = arg;
    *shape = (*shape + (*slot)->kind + 1) * 0x100000001b3u;
    pel_each_child(*slot, see_kind, shape);
}

/* q = q.view(shape); k = k.view(shape): the same done to two things reads best in two lines. */
static bool are_alike(pel_node *a, pel_node *b) {
    uint64_t shape_a = 0, shape_b = 0;
    see_kind(&shape_a, &a);
    see_kind(&shape_b, &b);
    return shape_a == shape_b;
}

/* Whether nothing behind a statement reads what a name is bound to there. */
static bool is_spent(const step *s, pel_name name) {
    for (uint32_t i = s->at + 1; i < s->body.n; i++) {
        pel_uses r = pel_uses_at(NULL, s->body.at[i], name);
        if (r.reads) return false;
        if (r.binds && value_of(s->body.at[i])) return true;
    }
    return s->is_top;
}

static bool is_alias(const contractor *c, const pel_node *value) {
    return value->kind == PEL_Attribute && is_quiet(c, value);
}

/* x = f(x), where x is about to become something of another name; or a second name for an attribute. */
static bool is_step(const contractor *c, pel_nodes before, const step *s, pel_name name) {
    pel_node *first = before.at[before.n - 1];
    return c->all && (is_alias(c, first->Assign.value) || pel_uses_at(NULL, first->Assign.value, name).reads) &&
           is_spent(s, name) && !(before.n > 1 && are_alike(before.at[before.n - 2], first));
}

/* first; second  ->  second with what first computes in it. NULL if they should stay two. */
static pel_node *contracted(const contractor *c, pel_nodes before, const step *s) {
    pel_node *first = before.at[before.n - 1], *second = s->body.at[s->at], *value = value_of(second);
    pel_name name = pel_bound_name(first);
    if (!name || !value || value->kind == PEL_Tuple) return NULL;
    const pel_node *target = second->kind == PEL_Assign ? second->Assign.targets.at[0] : NULL;
    bool again = target && target->kind == PEL_Name && target->Name.id == name;
    pel_uses all = uses_in_function(c, name);
    if (all.scoped || pel_uses_at(NULL, value, name).reads != 1) return NULL;
    if (!again && second->kind != PEL_Return && !(all.reads == 1 && heads_chain(value, name)) &&
        !is_step(c, before, s, name))
        return NULL;
    if (target && !again && target->kind != PEL_Name && target->kind != PEL_Tuple) return NULL;
    pel_node *made = pel_copy(c->ctx, second), *into = value_of(made);
    const pel_node *moving = first->Assign.value;
    search place = { .c = c, .name = name, .is_read = is_quiet(c, moving) || is_identity_test(c, moving) };
    find_read(&place, &into);
    if (!place.found || place.failed || place.found == &into || !may_move(moving, into, place.found)) return NULL;
    pel_node *slice = is_index(into, place.found) ? as_slice(c, moving) : NULL;
    if (!again && !heads_chain(value, name) && !is_direct(into, place.found) && !slice && !is_alias(c, moving))
        return NULL;
    *place.found = pel_copy(c->ctx, slice ? slice : moving);
    set_value(made, into);
    if (nested_calls(made) > MAX_CALLS || !is_short(c, made, s->indent)) return NULL;
    made->lineno = first->lineno;
    return made;
}

/* ---- assertions of one kind ---- */

/* assert a, m; assert b, m  ->  assert a and b, m */
static pel_node *joined_assertions(const contractor *c, const pel_node *first, pel_node *second, int indent) {
    if (first->kind != PEL_Assert || second->kind != PEL_Assert || !first->Assert.msg || !second->Assert.msg ||
        first->Assert.msg->kind != PEL_Constant || !pel_same(first->Assert.msg, second->Assert.msg))
        return NULL;
    const pel_node *tests[] = { first->Assert.test, second->Assert.test };
    pel_nodes both = { 0 };
    for (size_t i = 0; i < PEL_COUNT(tests); i++) {
        bool is_and = tests[i]->kind == PEL_BoolOp && tests[i]->BoolOp.op == PEL_And;
        for (uint32_t k = 0; is_and && k < tests[i]->BoolOp.values.n; k++)
            pel_nodes_push(c->ctx, &both, tests[i]->BoolOp.values.at[k]);
        if (!is_and) pel_nodes_push(c->ctx, &both, pel_copy(c->ctx, tests[i]));
    }
    pel_node *made = pel_make_assert(c->ctx, pel_make_boolop(c->ctx, PEL_And, both), second->Assert.msg);
    made->lineno = first->lineno;
    return is_short(c, made, indent) ? made : NULL;
}

/* ---- what is said again ---- */

static pel_name root_of(const pel_node *attribute) {
    while (attribute->kind == PEL_Attribute) attribute = attribute->Attribute.value;
    return attribute->kind == PEL_Name ? attribute->Name.id : NULL;
}

/* Without `factor = self.momentum` in a block before which that was said, and where nothing has changed since. */
static bool drop_said(pel_nodes *block, const pel_node *said) {
    pel_name name = pel_bound_name(said), root = root_of(said->Assign.value);
    for (uint32_t i = 0; i < block->n && block->n > 1; i++) {
        const pel_node *node = block->at[i];
        if (pel_bound_name(node) == name && pel_same(node->Assign.value, said->Assign.value)) {
            memmove(&block->at[i], &block->at[i + 1], (block->n - i - 1) * sizeof *block->at);
            block->n--;
            return true;
        }
        if (pel_uses_at(NULL, node, name).binds || pel_uses_at(NULL, node, root).binds) return false;
    }
    return false;
}

/* factor = self.momentum; if self.training: count(); factor = self.momentum  ->  once. The attribute is none that the
 * program writes or computes. */
static bool drop_repeated(const contractor *c, const pel_nodes *body) {
    bool dropped = false;
    for (uint32_t i = 0; i < body->n; i++) {
        const pel_node *said = body->at[i];
        pel_name name = pel_bound_name(said), root = name ? root_of(said->Assign.value) : NULL;
        if (!name || !root || !is_alias(c, said->Assign.value) || uses_in_function(c, name).scoped) continue;
        for (uint32_t k = i + 1; k < body->n; k++) {
            pel_node *node = body->at[k];
            if (node->kind == PEL_If) {
                dropped |= drop_said(&node->If.body, said);
                dropped |= drop_said(&node->If.orelse, said);
            }
            if (pel_uses_at(NULL, node, name).binds || pel_uses_at(NULL, node, root).binds) break;
        }
    }
    return dropped;
}

static void contract_body(contractor *c, pel_nodes *body, int indent, bool is_top) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        bool has_scope = node->kind == PEL_FunctionDef || node->kind == PEL_Try || node->kind == PEL_ClassDef;
        pel_nodes *block;
        for (uint32_t k = 0; !has_scope && (block = pel_block_at(node, k)); k++)
            contract_body(c, block, indent + 1, false);
        while (kept.n) {
            body->at[i] = node;
            const step s = { *body, i, indent, is_top };
            pel_node *both = contracted(c, kept, &s);
            if (!both) both = joined_assertions(c, kept.at[kept.n - 1], node, indent);
            if (!both) break;
            node = both;
            kept.n--;
            c->changed = true;
        }
        pel_nodes_push(c->ctx, &kept, node);
    }
    const pel_copies copies = { c->ctx, pel_def_text(c->def), &c->functions };
    c->changed |= pel_drop_copies(&copies, &kept, is_top);
    c->changed |= drop_repeated(c, &kept);
    *body = kept;
}

static void contract_all(contractor *c, pel_program *program) {
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        c->def = function->def;
        contract_body(c, &function->def->FunctionDef.body, function->class ? 2 : 1, true);
    }
}

static bool contract(pel_ctx *ctx, pel_program *program) {
    contractor c = { .ctx = ctx };
    find_changing(&c, program);
    contract_all(&c, program);
    c.all = true;
    if (!c.changed) contract_all(&c, program);
    return c.changed;
}

bool pel_pass_contract(pel_synth *s) { return contract(s->ctx, s->program); }
