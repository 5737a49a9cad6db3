/* Assertions as a person would write them: those that can't fail go, `not (a > b)` of whole numbers is a <= b, and what
 * an assertion before or another part of a test says already is not said again. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

static const pel_const *truth_of(const pel_node *node) {
    if (node->kind != PEL_Constant) return NULL;
    const pel_const *value = node->Constant.value;
    return value->kind == PEL_CONST_TRUE || value->kind == PEL_CONST_FALSE ? value : NULL;
}

static bool is_equality(uint8_t op) { return op == PEL_Eq || op == PEL_LtE || op == PEL_GtE; }

typedef struct deciding {
    pel_synth *s;
    const pel_group *group;
} deciding;

/* ---- what a name says ---- */

static void see_settled(void *arg, pel_node **slot) {
    deciding *d = arg;
    if ((*slot)->kind == PEL_Name && !pel_is_bound_once(pel_group_text(d->s, d->group), (*slot)->Name.id))
        d->group = NULL;
    if (d->group) pel_each_part(d->s, *slot, see_settled, d);
}

/* The expression that a name stands for all along: bound once, of names that are; NULL if there is none. */
static const pel_node *meaning_of(const deciding *d, const pel_node *name) {
    if (name->kind != PEL_Name || !pel_is_bound_once(pel_group_text(d->s, d->group), name->Name.id)) return NULL;
    for (uint32_t i = 0; i < d->group->body.n; i++) {
        const pel_node *node = d->group->body.at[i];
        if (pel_bound_name(node) != name->Name.id) continue;
        deciding settled = *d;
        pel_node *value = node->Assign.value;
        if (value->kind == PEL_Compare) see_settled(&settled, &value);
        return value->kind == PEL_Compare && settled.group && pel_pure(d->s, value) ? value : NULL;
    }
    return NULL;
}

/* is_causal and length > 1, where is_causal = length > 1 */
static void drop_implied(const deciding *d, pel_nodes *values) {
    for (uint32_t i = 0; i < values->n; i++) {
        const pel_node *meaning = meaning_of(d, values->at[i]);
        uint32_t n = 0;
        for (uint32_t k = 0; meaning && k < values->n; k++)
            if (k == i || !pel_same(values->at[k], meaning)) values->at[n++] = values->at[k];
        if (meaning) values->n = n;
    }
}

/* ---- opposites ---- */

/* not (a > b), of whole numbers; not (a != b or c != d). NULL where `not` says it best. */
static pel_node *opposite_of(pel_synth *s, pel_node *test) {
    if (test->kind == PEL_Compare && test->Compare.ops.n == 1 && pel_map_has(&s->notes.whole_numbers, PEL_KEY(test))) {
        static const uint8_t opposite[] = { [PEL_Lt] = PEL_GtE, [PEL_LtE] = PEL_Gt,   [PEL_Gt] = PEL_LtE,
                                            [PEL_GtE] = PEL_Lt, [PEL_Eq] = PEL_NotEq, [PEL_NotEq] = PEL_Eq };
        uint8_t op = test->Compare.ops.at[0];
        if (op < PEL_COUNT(opposite)) {
            pel_node *made =
                pel_make_compare(s->ctx, test->Compare.left, opposite[op], test->Compare.comparators.at[0]);
            pel_map_set(s->ctx, &s->notes.whole_numbers, PEL_KEY(made), 1);
            return made;
        }
    }
    if (test->kind != PEL_BoolOp || test->BoolOp.op != PEL_Or) return NULL;
    pel_nodes parts = { 0 };
    for (uint32_t i = 0; i < test->BoolOp.values.n; i++) {
        pel_node *part = opposite_of(s, test->BoolOp.values.at[i]);
        if (!part) return NULL;
        pel_nodes_push(s->ctx, &parts, part);
    }
    return pel_make_boolop(s->ctx, PEL_And, parts);
}

/* ---- tests ---- */

static void decide(void *arg, pel_node **slot) {
    const deciding *d = arg;
    pel_synth *s = d->s;
    pel_node *node = *slot, *opposite;
    if (node->kind == PEL_FunctionDef) return;
    pel_each_part(s, node, decide, arg);
    bool is_all = node->kind == PEL_Call && node->Call.func->kind == PEL_Attribute &&
                  pel_name_is(node->Call.func->Attribute.attr, "all");
    if (is_all && d->group && pel_holds_by_counting(s, d->group, node)) {
        *slot = pel_make_constant(s->ctx, pel_const_bool(true));
        return;
    }
    if (node->kind == PEL_Compare && pel_map_has(&s->notes.whole_numbers, PEL_KEY(node))) {
        const pel_node *left = node->Compare.left, *right = node->Compare.comparators.at[0];
        if (node->Compare.ops.n == 1 && left->kind == PEL_Name && pel_same(left, right))
            *slot = pel_make_constant(s->ctx, pel_const_bool(is_equality(node->Compare.ops.at[0])));
    } else if (node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_Not) {
        opposite = opposite_of(s, node->UnaryOp.operand);
        if (opposite) *slot = opposite;
    } else if (node->kind == PEL_BoolOp) { /* `a or True`, where asking a does nothing */
        bool is_and = node->BoolOp.op == PEL_And;
        if (is_and) drop_implied(d, &node->BoolOp.values);
        for (uint32_t i = 0; i < node->BoolOp.values.n; i++) {
            const pel_const *value = truth_of(node->BoolOp.values.at[i]);
            if (value && (value->kind == PEL_CONST_TRUE) != is_and) {
                *slot = pel_make_constant(s->ctx, value);
                return;
            }
            if (!pel_pure(s, node->BoolOp.values.at[i])) return;
        }
        if (node->BoolOp.values.n == 1) *slot = node->BoolOp.values.at[0];
    }
}

/* ---- what was asserted before ---- */

/* Whether a test asks for nothing but names, and these are bound once: asked again it says the same. */
static bool is_settled(const deciding *d, const pel_node *test) {
    switch (test->kind) {
    case PEL_Name: return pel_is_bound_once(pel_group_text(d->s, d->group), test->Name.id);
    case PEL_Constant: return true;
    case PEL_UnaryOp: return is_settled(d, test->UnaryOp.operand);
    case PEL_BoolOp:
        for (uint32_t i = 0; i < test->BoolOp.values.n; i++)
            if (!is_settled(d, test->BoolOp.values.at[i])) return false;
        return true;
    case PEL_Compare:
        for (uint32_t i = 0; i < test->Compare.comparators.n; i++)
            if (!is_settled(d, test->Compare.comparators.at[i])) return false;
        return pel_map_has(&d->s->notes.whole_numbers, PEL_KEY(test)) && is_settled(d, test->Compare.left);
    default: return false;
    }
}

static bool was_asserted(const deciding *d, const pel_nodes *before, const pel_node *test) {
    for (uint32_t i = 0; i < before->n; i++)
        if (before->at[i]->kind == PEL_Assert && pel_same(before->at[i]->Assert.test, test)) return is_settled(d, test);
    return false;
}

static bool is_random(const pel_node *value) {
    if (value->kind != PEL_Call || value->Call.func->kind != PEL_Attribute) return false;
    const pel_node *func = value->Call.func;
    return pel_name_is(func->Attribute.attr, "rand") && func->Attribute.value->kind == PEL_Name &&
           pel_name_is(func->Attribute.value->Name.id, "torch");
}

static bool is_zero_or_less(const pel_node *node) {
    if (node->kind != PEL_Constant) return false;
    const pel_const *value = node->Constant.value;
    return (value->kind == PEL_CONST_FLOAT && value->real <= 0) || pel_is_number(node, 0);
}

/* chance = torch.rand([]); assert not chance < 0.0: layers that are left out with a probability of 0. */
static bool holds_for_chance(const pel_nodes *before, const pel_node *test) {
    if (!before->n || test->kind != PEL_UnaryOp || test->UnaryOp.op != PEL_Not) return false;
    const pel_node *bound = before->at[before->n - 1], *less = test->UnaryOp.operand;
    return pel_bound_name(bound) && is_random(bound->Assign.value) && less->kind == PEL_Compare &&
           less->Compare.ops.n == 1 && less->Compare.ops.at[0] == PEL_Lt && less->Compare.left->kind == PEL_Name &&
           less->Compare.left->Name.id == pel_bound_name(bound) && is_zero_or_less(less->Compare.comparators.at[0]);
}

static bool has_items(const pel_node *display) {
    if (display->kind == PEL_Dict) return display->Dict.keys.n && display->Dict.keys.at[0];
    if (display->kind != PEL_List && display->kind != PEL_Tuple) return false;
    for (uint32_t i = 0; i < display->List.elts.n; i++)
        if (display->List.elts.at[i]->kind != PEL_Starred) return true;
    return false;
}

/* parts = [x]; assert parts: nobody has touched them in between. */
static bool holds_as_filled(const deciding *d, const pel_nodes *before, const pel_node *test) {
    for (uint32_t i = before->n; test->kind == PEL_Name && i-- > 0;) {
        pel_node *node = before->at[i];
        if (pel_bound_name(node) == test->Name.id) return has_items(node->Assign.value);
        if (pel_is_used(pel_uses_at(d->s, node, test->Name.id))) return false;
    }
    return false;
}

/* Assertions that can't fail. Only tests are decided: elsewhere `a or True` is a, if a is true. */
static void decide_assertions(deciding *d, pel_nodes *body, bool *changed) {
    pel_ctx *ctx = d->s->ctx;
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        if (node->kind == PEL_Assert) decide(d, &node->Assert.test);
        const pel_const *truth = node->kind == PEL_Assert ? truth_of(node->Assert.test) : NULL;
        bool holds = truth && truth->kind == PEL_CONST_TRUE;
        if (node->kind == PEL_Assert)
            holds |= was_asserted(d, &kept, node->Assert.test) || holds_for_chance(&kept, node->Assert.test) ||
                     holds_as_filled(d, &kept, node->Assert.test);
        if (holds) {
            *changed = true;
            continue;
        }
        pel_nodes *block;
        for (uint32_t k = 0; node->kind != PEL_FunctionDef && (block = pel_block_at(node, k)); k++)
            decide_assertions(d, block, changed);
        pel_nodes_push(ctx, &kept, node);
    }
    if (!kept.n && body->n) pel_nodes_push(ctx, &kept, pel_node_new(ctx, PEL_Pass));
    *body = kept;
}

static bool decide_group(pel_synth *s, pel_group *group) {
    bool changed = false;
    deciding d = { s, group };
    decide_assertions(&d, &group->body, &changed);
    return changed;
}

bool pel_pass_assertions(pel_synth *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (!s->groups.at[i]->is.nested) changed |= decide_group(s, s->groups.at[i]);
    return changed;
}
