/* Small rewrites that a person would have made. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

/* Dicts and lists that are filled right after they are made: each is one display.
 *
 * Authors put parts into a container under conditions; once these are decided, d = {}; d["a"] = x is {"a": x}. The
 * container is made where its next part comes, if nothing looks at it before. */

typedef struct container {
    pel_synth *s;
    pel_name name;
    pel_node *display; /* Dict, with keys that are constants, or List */
} container;

static bool mentions(const container *c, pel_node *node) { return pel_is_used(pel_uses_at(c->s, node, c->name)); }

/* name = {...}, or name = [...] */
static bool is_made(const pel_node *node, container *out) {
    out->name = pel_bound_name(node);
    if (!out->name) return false;
    out->display = node->Assign.value;
    if (out->display->kind == PEL_List) return true;
    if (out->display->kind != PEL_Dict) return false;
    const pel_nodes keys = out->display->Dict.keys;
    for (uint32_t i = 0; i < keys.n; i++)
        if (!keys.at[i] || keys.at[i]->kind != PEL_Constant) return false;
    return true;
}

/* name["key"] = value, for a key that the dict has not got. */
static bool puts_item(const container *c, const pel_node *node) {
    if (node->kind != PEL_Assign || node->Assign.targets.n != 1 || node->Assign.targets.at[0]->kind != PEL_Subscript)
        return false;
    const pel_node *target = node->Assign.targets.at[0], *key = target->Subscript.slice, *dict = c->display;
    if (target->Subscript.value->kind != PEL_Name || target->Subscript.value->Name.id != c->name ||
        key->kind != PEL_Constant || mentions(c, node->Assign.value))
        return false;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++)
        if (pel_const_same(dict->Dict.keys.at[i]->Constant.value, key->Constant.value)) return false;
    return true;
}

/* What name.append(value) appends; NULL for other statements. */
static pel_node *appended(const container *c, const pel_node *node) {
    if (node->kind != PEL_Expr || node->Expr.value->kind != PEL_Call) return NULL;
    const pel_node *call = node->Expr.value, *method = call->Call.func;
    if (method->kind != PEL_Attribute || !pel_name_is(method->Attribute.attr, "append") ||
        method->Attribute.value->kind != PEL_Name || method->Attribute.value->Name.id != c->name ||
        call->Call.args.n != 1 || call->Call.keywords.n)
        return NULL;
    pel_node *value = call->Call.args.at[0];
    return value->kind == PEL_Starred || mentions(c, value) ? NULL : value;
}

/* Whether the parts of a container are what they were once a statement has run. */
static bool may_pass(const container *c, pel_node *statement) {
    const pel_nodes parts = c->display->kind == PEL_Dict ? c->display->Dict.values : c->display->List.elts;
    if (mentions(c, statement)) return false;
    for (uint32_t i = 0; i < parts.n; i++) {
        if (parts.at[i]->kind == PEL_Constant) continue;
        if (parts.at[i]->kind != PEL_Name || pel_uses_at(c->s, statement, parts.at[i]->Name.id).binds) return false;
    }
    return true;
}

static bool moves_down(pel_synth *s, pel_nodes body, uint32_t at) {
    container c = { .s = s };
    pel_node *node = body.at[at];
    if (!is_made(node, &c)) return false;
    uint32_t next = at + 1;
    while (next < body.n && may_pass(&c, body.at[next])) next++;
    if (next >= body.n) return false;
    const pel_node *fill = body.at[next];
    if (c.display->kind == PEL_Dict) {
        if (!puts_item(&c, fill)) return false;
        pel_nodes_push(s->ctx, &c.display->Dict.keys, fill->Assign.targets.at[0]->Subscript.slice);
        pel_nodes_push(s->ctx, &c.display->Dict.values, fill->Assign.value);
    } else {
        pel_node *value = appended(&c, fill);
        if (!value) return false;
        pel_nodes_push(s->ctx, &c.display->List.elts, value);
    }
    node->lineno = fill->lineno;
    body.at[next] = node;
    return true;
}

static void gather(pel_synth *s, pel_nodes *body) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n; i++)
        if (!moves_down(s, *body, i)) body->at[n++] = body->at[i];
    body->n = n;
}

typedef struct tidying {
    pel_synth *s;
    pel_group *group;
} tidying;

static void tidy_body(const tidying *t, pel_nodes *body);

/* a = e; b = a, where nobody else reads a  ->  b = e */
static bool hands_on(const tidying *t, const pel_node *node, const pel_node *next) {
    if (node->kind != PEL_Assign || next->kind != PEL_Assign || node->Assign.targets.n != 1 ||
        next->Assign.targets.n != 1)
        return false;
    const pel_node *a = node->Assign.targets.at[0], *b = next->Assign.targets.at[0], *value = next->Assign.value;
    if (a->kind != PEL_Name || b->kind != PEL_Name || value->kind != PEL_Name || value->Name.id != a->Name.id)
        return false;
    return pel_uses_in(t->s, t->group->body, a->Name.id).reads == 1;
}

static void tidy_blocks(const tidying *t, pel_node *node) {
    pel_nodes *block;
    for (uint32_t k = 0; (block = pel_block_at(node, k)); k++) tidy_body(t, block);
}

bool pel_returns_it(const pel_node *assign, const pel_node *next) {
    return next->kind == PEL_Return && next->Return.value && next->Return.value->kind == PEL_Name &&
           next->Return.value->Name.id == pel_bound_name(assign);
}

/* ---- dicts that are only passed on ---- */

typedef struct dict_use {
    pel_ctx *ctx;
    pel_name name;
    const pel_node *dict;  /* the display that it is bound to */
    uint32_t uses, by_key; /* of them: name["key"] */
    uint64_t wanted;       /* keys that are read, by place */
    bool substitute;
    const bool *simple; /* per key: its value may stand where it is read */
} dict_use;

#define KEYS_MAX 64

static bool is_key(const pel_node *key) { /* of a kind of which no two are equal but written otherwise, as 1 and True */
    return key && key->kind == PEL_Constant &&
           (key->Constant.value->kind == PEL_CONST_STR || key->Constant.value->kind == PEL_CONST_NONE);
}

static uint32_t key_place(const pel_node *dict, const pel_node *key) {
    if (!is_key(key)) return UINT32_MAX;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++)
        if (pel_const_same(dict->Dict.keys.at[i]->Constant.value, key->Constant.value)) return i;
    return UINT32_MAX;
}

static void see_dict_use(void *arg, const pel_name_use *use) {
    dict_use *u = arg;
    if (use->name != u->name) return;
    u->uses++;
    const pel_node *part = use->part ? *use->part : NULL;
    uint32_t place = part && part->kind == PEL_Subscript ? key_place(u->dict, part->Subscript.slice) : UINT32_MAX;
    if (place == UINT32_MAX) return;
    u->by_key++;
    if (u->substitute && u->simple[place])
        *use->part = pel_copy(u->ctx, u->dict->Dict.values.at[place]);
    else
        u->wanted |= (uint64_t)1 << place;
}

static void read_as_value(void *arg, const pel_name_use *use) {
    const dict_use *u = arg;
    if (use->name == u->name && use->part && (*use->part)->kind == PEL_Subscript) *use->part = *use->slot;
}

/* d = {"a": x, "b": f(y)}; g(d["a"], d["b"])  ->  d = {"b": f(y)}; g(x, d["b"]): where d is nothing but that. A
 * dict of one item is that item. True if nothing is left of d. */
static bool spell_out(const tidying *t, pel_nodes body, uint32_t at) {
    pel_node *node = body.at[at];
    pel_name name = pel_bound_name(node);
    if (!name) return false;
    pel_node *dict = node->Assign.value;
    if (dict->kind != PEL_Dict || dict->Dict.keys.n == 0 || dict->Dict.keys.n > KEYS_MAX) return false;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++)
        if (!is_key(dict->Dict.keys.at[i])) return false;
    const pel_nodes rest = pel_nodes_from(body, at + 1);
    dict_use all = { .ctx = t->s->ctx, .name = name, .dict = dict }, after = all;
    pel_each_use_in(t->s, t->group->body, see_dict_use, &all);
    pel_each_use_in(t->s, rest, see_dict_use, &after);
    /* one store (this one), and every read by key, after it */
    if (all.uses != all.by_key + 1 || after.by_key != all.by_key) return false;
    bool *simple = pel_new_array(t->s->ctx, dict->Dict.keys.n, bool);
    for (uint32_t k = 0; k < dict->Dict.keys.n; k++) {
        const pel_node *value = dict->Dict.values.at[k];
        simple[k] =
            value->kind == PEL_Constant || (value->kind == PEL_Name && !pel_uses_in(t->s, rest, value->Name.id).binds);
    }
    after.substitute = true;
    after.simple = simple;
    after.wanted = 0;
    pel_each_use_in(t->s, rest, see_dict_use, &after);
    pel_nodes keys = { 0 }, values = { 0 };
    for (uint32_t k = 0; k < dict->Dict.keys.n; k++) {
        if (!(after.wanted >> k & 1) && pel_pure(t->s, dict->Dict.values.at[k])) continue;
        pel_nodes_push(t->s->ctx, &keys, dict->Dict.keys.at[k]);
        pel_nodes_push(t->s->ctx, &values, dict->Dict.values.at[k]);
    }
    dict->Dict.keys = keys;
    dict->Dict.values = values;
    if (keys.n == 1 && after.wanted) { /* what is left of it is its one value */
        node->Assign.value = values.at[0];
        pel_each_use_in(t->s, rest, read_as_value, &after);
    }
    return keys.n == 0;
}

/* (a,) + (b, c), or t + () */
static pel_node *joined_tuples(pel_synth *s, const pel_node *node) {
    pel_node *left = node->BinOp.left, *right = node->BinOp.right;
    if (node->BinOp.op != PEL_Add || right->kind != PEL_Tuple) return NULL;
    if (left->kind == PEL_Name && !right->Tuple.elts.n) return left;
    if (left->kind != PEL_Tuple) return NULL;
    pel_node *made = pel_node_new(s->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < left->Tuple.elts.n; i++) pel_nodes_push(s->ctx, &made->Tuple.elts, left->Tuple.elts.at[i]);
    for (uint32_t i = 0; i < right->Tuple.elts.n; i++)
        pel_nodes_push(s->ctx, &made->Tuple.elts, right->Tuple.elts.at[i]);
    return made;
}

static void tidy_expression(void *arg, pel_node **slot) {
    pel_synth *s = arg;
    pel_node *node = *slot, *joined;
    if (pel_kinds[node->kind].class == PEL_STMT && node->kind == PEL_FunctionDef) return;
    pel_each_part(s, node, tidy_expression, s);
    switch (node->kind) {
    case PEL_Slice:
        if (node->Slice.lower && pel_is_number(node->Slice.lower, 0)) node->Slice.lower = NULL;
        break;
    case PEL_BinOp:
        joined = joined_tuples(s, node);
        if (joined) *slot = joined;
        break;
    case PEL_IfExp: /* False if c else True */
        if (pel_is_truth(node->IfExp.body, false) && pel_is_truth(node->IfExp.orelse, true) &&
            pel_gives_truth(node->IfExp.test))
            *slot = pel_not(s, node->IfExp.test);
        else if (pel_is_truth(node->IfExp.body, true) && pel_is_truth(node->IfExp.orelse, false) &&
                 pel_gives_truth(node->IfExp.test))
            *slot = node->IfExp.test;
        break;
    default: break;
    }
}

/* for i, x in enumerate(xs): where nobody reads i; for a, b in xs: where nobody reads either */
static void tidy_for(pel_node *node) {
    pel_node *iter = node->For.iter, *target = node->For.target;
    bool blank = target->kind == PEL_Tuple && target->Tuple.elts.n;
    for (uint32_t i = 0; blank && i < target->Tuple.elts.n; i++) {
        const pel_node *part = target->Tuple.elts.at[i];
        blank = part->kind == PEL_Name && pel_name_is(part->Name.id, "_");
    }
    if (blank) node->For.target = target->Tuple.elts.at[0];
    if (iter->kind != PEL_Call || iter->Call.func->kind != PEL_Name ||
        !pel_name_is(iter->Call.func->Name.id, "enumerate"))
        return;
    if (target->kind != PEL_Tuple || target->Tuple.elts.n != 2 || iter->Call.args.n == 0) return;
    const pel_node *count = target->Tuple.elts.at[0];
    if (count->kind != PEL_Name || !pel_name_is(count->Name.id, "_")) return;
    node->For.iter = iter->Call.args.at[0];
    node->For.target = target->Tuple.elts.at[1];
}

/* if t: x = True, else: x = False */
static pel_node *tidy_flag(pel_synth *s, pel_node *node) {
    if (node->kind != PEL_If || node->If.body.n != 1 || node->If.orelse.n != 1 || !pel_gives_truth(node->If.test))
        return node;
    const pel_node *yes = node->If.body.at[0], *no = node->If.orelse.at[0];
    if (yes->kind != PEL_Assign || no->kind != PEL_Assign || !pel_same_list(yes->Assign.targets, no->Assign.targets))
        return node;
    bool plain = pel_is_truth(yes->Assign.value, true) && pel_is_truth(no->Assign.value, false);
    bool flipped = pel_is_truth(yes->Assign.value, false) && pel_is_truth(no->Assign.value, true);
    if (!plain && !flipped) return node;
    pel_node *made = pel_node_new(s->ctx, PEL_Assign);
    made->Assign.targets = yes->Assign.targets;
    made->Assign.value = plain ? node->If.test : pel_not(s, node->If.test);
    made->lineno = node->lineno;
    return made;
}

static void tidy_body(const tidying *t, pel_nodes *body) {
    pel_synth *s = t->s;
    pel_nodes out = { 0 };
    gather(s, body);
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        tidy_blocks(t, node);
        if (node->kind == PEL_For) tidy_for(node);
        if (spell_out(t, *body, i)) continue;
        if (node->kind == PEL_Expr && (node->Expr.value->kind == PEL_Dict || node->Expr.value->kind == PEL_Tuple)) {
            /* nobody wants the whole: what its parts do stays */
            pel_nodes parts =
                node->Expr.value->kind == PEL_Dict ? node->Expr.value->Dict.values : node->Expr.value->Tuple.elts;
            for (uint32_t k = 0; k < parts.n; k++)
                if (!pel_pure(s, parts.at[k])) pel_nodes_push(s->ctx, &out, pel_make_expr(s->ctx, parts.at[k]));
            continue;
        }
        node = tidy_flag(s, node);
        if (i + 1 < body->n && hands_on(t, node, body->at[i + 1])) {
            node->Assign.targets = body->at[i + 1]->Assign.targets;
            body->at[i + 1] = node; /* it may be handed on further */
            continue;
        }
        if (i + 1 < body->n && pel_returns_it(node, body->at[i + 1])) {
            pel_node *made = pel_make_return(s->ctx, node->Assign.value);
            made->lineno = node->lineno;
            pel_nodes_push(s->ctx, &out, made);
            i++;
            continue;
        }
        pel_nodes_push(s->ctx, &out, node);
    }
    *body = out;
}

static void tidy_group(pel_synth *s, pel_group *group) {
    const tidying t = { s, group };
    tidy_body(&t, &group->body);
    for (uint32_t i = 0; i < group->body.n; i++) tidy_expression(s, &group->body.at[i]);
}

bool pel_pass_tidy(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) tidy_group(s, s->groups.at[i]);
    return false;
}
