/* Operators: arithmetic, comparisons as values, and what stands in brackets behind a value. */
#include "trace/walk/expr.h"

void pel_operator_calls(pel_walk *w, const pel_kids *kids, pel_val *val, bool looks_up) {
    bool on_records = !looks_up && pel_on_records(w, kids);
    if (on_records) pel_refuse_own_protocol(w, kids);
    if (looks_up || on_records)
        pel_forget_kids(w, kids);
    else if (kids->n) {
        val->effect = true;
        pel_note_node(w->s, val->text, PEL_NOTE_EFFECT);
    }
}

static bool is_small(const pel_const *index) {
    return index && index->kind == PEL_CONST_INT && index->integer.digits.len == 0;
}

/* The part of a tuple or dict that a constant means; NULL if it is not known. */
static const pel_val *part_at(const pel_parts *parts, const pel_const *index) {
    for (uint32_t i = 0; i < parts->n; i++) {
        bool hit = parts->keys ? index->kind == PEL_CONST_STR && pel_str_eq(index->text, pel_name_str(parts->keys[i]))
                               : is_small(index) &&
                                     (index->integer.small == i || index->integer.small == (int64_t)i - parts->n);
        if (hit) return parts->items[i];
    }
    return NULL;
}

static const pel_taint *taint_at(const pel_taint *taint, const pel_const *index) {
    if (!is_small(index)) return pel_taint_any(taint);
    int64_t i = index->integer.small;
    if (i >= 0) return pel_taint_item(taint, (uint32_t)i);
    return taint && taint->n && i >= -(int64_t)taint->n ? pel_taint_item(taint, (uint32_t)(taint->n + i))
                                                        : pel_taint_any(taint);
}

pel_val *pel_eval_subscript(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *base = pel_eval(w, front, node->Subscript.value);
    pel_val *slice = pel_eval(w, front, node->Subscript.slice);
    pel_node *text = pel_shallow(w, node);
    text->Subscript.value = base->text;
    text->Subscript.slice = slice->text;
    pel_val *val = pel_val_new(w, front, text);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    pel_take_over(val, base);
    pel_take_over(val, slice);
    val->owner = base->at;
    const pel_const *index = slice->text->kind == PEL_Constant ? slice->text->Constant.value : NULL;
    const pel_val *part = base->parts && index && !base->effect ? part_at(base->parts, index) : NULL;
    if (part) { /* an item of *args or **kwargs */
        val->taint = part->taint;
        if (base->text->kind != PEL_Name) {
            val->text = part->text;
            val->lost = part->lost;
        }
        return pel_finish(w, front, node, val);
    }
    bool is_part = node->Subscript.slice->kind == PEL_Slice;
    val->taint = is_part ? pel_taint_some_items(base->taint) : taint_at(base->taint, index);
    bool tensor = false;
    for (uint32_t i = 0; i < front.n; i++) tensor |= pel_value_at(w->log, base->at[i])->kind == PEL_V_TENSOR;
    if (tensor) pel_note_rank_given(w, front, slice);
    if (tensor || pel_dynamic(w, front, slice))
        val->taint = pel_taint_join(w->ctx, val->taint, pel_computed_taint(w, front, val, true));
    for (uint32_t i = 0; i < front.n; i++) val->lost |= pel_is_static_object(w->s, val->at[i]);
    pel_operator_calls(w, &kids, val, base->lost && !pel_dynamic(w, front, slice));
    return pel_finish(w, front, node, val);
}

static pel_val *eval_operands(pel_walk *w, pel_front front, pel_node *node, pel_node *text, pel_val **operands,
                              uint32_t n) {
    pel_val *val = pel_val_new(w, front, text);
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    bool dynamic = false;
    bool is_type_open = false;
    for (uint32_t i = 0; i < n; i++) {
        pel_take_over(val, operands[i]);
        dynamic |= pel_dynamic(w, front, operands[i]);
        is_type_open |= pel_taint_maybe_other_type(operands[i]->taint);
    }
    val->taint = pel_computed_taint(w, front, val, dynamic);
    if (is_type_open && val->taint == &pel_tainted_some) val->taint = &pel_tainted_given;
    pel_operator_calls(w, &kids, val, !dynamic);
    return pel_finish(w, front, node, val);
}

static bool are_whole_numbers(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_INT) return false;
    }
    return front.n > 0;
}

static bool is_neutral(pel_OPERATOR op, const pel_node *operand, int side) {
    if (operand->kind != PEL_Constant || operand->Constant.value->kind != PEL_CONST_INT ||
        operand->Constant.value->integer.digits.len)
        return false;
    int64_t value = operand->Constant.value->integer.small;
    switch (op) {
    case PEL_Add: return value == 0;
    case PEL_Sub: return value == 0 && side == 1;
    case PEL_Mult: return value == 1;
    case PEL_FloorDiv: return value == 1 && side == 1;
    default: return false;
    }
}

/* x.cos() * 1.0: what configurations scale by when they don't. */
static bool scales_by_one(pel_walk *w, pel_front front, pel_OPERATOR op, pel_val *const operands[2]) {
    const pel_node *one = operands[1]->text;
    if (op != PEL_Mult || one->kind != PEL_Constant || !pel_makes_floats(operands[0]->text)) return false;
    const pel_const *value = one->Constant.value;
    if (value->kind != PEL_CONST_FLOAT || value->real < 1.0 || value->real > 1.0) return false;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, operands[0]->at[i])->kind != PEL_V_TENSOR) return false;
    return front.n > 0;
}

/* torch.arange(n) + 0, where n is what a cache holds already: a new tensor of whole numbers, or of floats of which none
 * is -0.0, stays as it is. */
static bool is_new_range(const pel_node *text) {
    if (text->kind != PEL_Call || text->Call.func->kind != PEL_Attribute) return false;
    const pel_node *of = text->Call.func->Attribute.value;
    if (of->kind != PEL_Name || !pel_name_is(of->Name.id, "torch")) return false;
    for (uint32_t i = 0; i < text->Call.keywords.n; i++) {
        pel_name name = text->Call.keywords.at[i]->keyword.arg;
        if (!name || pel_name_is(name, "out") || pel_name_is(name, "requires_grad")) return false;
    }
    return pel_name_is(text->Call.func->Attribute.attr, "arange");
}

static bool is_unchanged(const pel_walk *w, pel_front front, pel_OPERATOR op, const pel_val *val) {
    if ((op == PEL_Add || op == PEL_Sub) && is_new_range(val->text)) return true;
    return are_whole_numbers(w, front, val) && val->taint != &pel_tainted_given; /* 0 + True is 1 */
}

pel_val *pel_eval_binop(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *operands[2];
    operands[0] = pel_eval(w, front, node->BinOp.left);
    operands[1] = pel_eval(w, front, node->BinOp.right);
    pel_node *text = pel_shallow(w, node);
    text->BinOp.left = operands[0]->text;
    text->BinOp.right = operands[1]->text;
    pel_val *val = eval_operands(w, front, node, text, operands, 2);
    if (val->text != text || operands[0]->effect || operands[1]->effect) return val;
    if (scales_by_one(w, front, node->BinOp.op, operands)) val->text = operands[0]->text;
    /* n + 0, 0 + n, n - 0, n * 1, 1 * n, n // 1: of ints only, for a tensor it makes a new one */
    for (int i = 0; i < 2; i++)
        if (is_neutral(node->BinOp.op, operands[i]->text, i) && is_unchanged(w, front, node->BinOp.op, operands[1 - i]))
            val->text = operands[1 - i]->text;
    return val;
}

pel_val *pel_eval_unary(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *operand = pel_eval(w, front, node->UnaryOp.operand);
    pel_node *text = pel_shallow(w, node);
    text->UnaryOp.operand = operand->text;
    return eval_operands(w, front, node, text, &operand, 1);
}

/* A dict whose keys are written out, as `**kwargs` is: what is in it does not hang on what the values are. */
static bool has_fixed_keys(const pel_node *text) {
    if (text->kind != PEL_Dict) return false;
    for (uint32_t i = 0; i < text->Dict.keys.n; i++)
        if (!text->Dict.keys.at[i] || text->Dict.keys.at[i]->kind != PEL_Constant) return false;
    return true;
}

/* By what is compared: since 3.13 a comparison that is tested has no other result than the outcome of the test. */
static bool compares_tensors(const pel_walk *w, pel_front front, uint8_t op, const pel_val *left,
                             const pel_val *right) {
    if (pel_is_identity(op) || pel_is_containment(op)) return false;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, left->at[i])->kind == PEL_V_TENSOR ||
            pel_value_at(w->log, right->at[i])->kind == PEL_V_TENSOR)
            return true;
    return false;
}

/* Two tensors, or objects with such, that a caller may give as one; the model's own weights are what they are. */
static bool may_be_one(const pel_walk *w, pel_front front, const pel_val *left, const pel_val *right) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *a = pel_value_at(w->log, left->at[i]), *b = pel_value_at(w->log, right->at[i]);
        bool are_weights = a->kind == PEL_V_TENSOR && b->kind == PEL_V_TENSOR && w->log->tensors.at[a->tensor].owner &&
                           w->log->tensors.at[b->tensor].owner;
        if (!are_weights && pel_live(w->s, left->at[i]) && pel_live(w->s, right->at[i])) return true;
    }
    return false;
}

/* Whether with other data one could be the other where it was not, or not be it: what is computed is never None, and
 * what was given and is none is asserted to be such. */
static bool may_be_other(pel_walk *w, pel_front front, const pel_val *left, const pel_val *right) {
    const pel_val *asked = pel_is_none(right->text) ? left : pel_is_none(left->text) ? right : NULL;
    if (!asked) return pel_varies(left->taint) || pel_varies(right->taint) || may_be_one(w, front, left, right);
    if (pel_taint_maybe_none(asked->taint)) return true;
    if (asked->taint->why == PEL_WHY_BROUGHT) {
        w->s->asked.there = true;
        return false;
    }
    return !pel_ask_type(w, front, asked); /* a number of a caller's was none in all lanes */
}

static bool are_members(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!pel_is_member(w->log, pel_value_at(w->log, val->at[i]), &(pel_id){ 0 }, &(pel_id){ 0 })) return false;
    return front.n > 0;
}

/* mode is Mode.FAST, where callers give the mode: they have the author's class, and the file another whose members are
 * equal to those. */
static void compare_members(pel_walk *w, pel_front front, pel_node *text, uint32_t k, const pel_val *sides[2]) {
    uint8_t op = text->Compare.ops.at[k];
    if (!pel_is_identity(op) || (!are_members(w, front, sides[0]) && !are_members(w, front, sides[1]))) return;
    uint8_t *ops = pel_new_array(w->ctx, text->Compare.ops.n, uint8_t);
    memcpy(ops, text->Compare.ops.at, text->Compare.ops.n);
    ops[k] = op == PEL_Is ? PEL_Eq : PEL_NotEq;
    text->Compare.ops.at = ops;
}

pel_val *pel_eval_compare(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *left = pel_eval(w, front, node->Compare.left);
    pel_node *text = pel_shallow(w, node);
    text->Compare.left = left->text;
    text->Compare.comparators = (pel_nodes){ 0 };
    pel_val *val = pel_val_new(w, front, text);
    pel_take_over(val, left);
    bool dynamic = false, left_dynamic = pel_dynamic(w, front, left);
    pel_front going = front;
    for (uint32_t k = 0; k < node->Compare.comparators.n; k++) {
        if (k > 0) pel_own(w, going, node, node->Compare.comparators.at[k], NULL, NULL);
        pel_val *right = pel_eval(w, going, node->Compare.comparators.at[k]);
        pel_take_over(val, right);
        pel_nodes_push(w->ctx, &text->Compare.comparators, right->text);
        if (node->Compare.ops.n == 1 && are_whole_numbers(w, going, left) && are_whole_numbers(w, going, right))
            pel_map_set(w->ctx, &w->s->notes.whole_numbers, PEL_KEY(text), 1);
        bool right_dynamic = pel_dynamic(w, going, right);
        if (pel_is_containment(node->Compare.ops.at[k]) && has_fixed_keys(right->text)) right_dynamic = false;
        if (compares_tensors(w, going, node->Compare.ops.at[k], left, right))
            pel_note_node(w->s, text, PEL_NOTE_COMPARES_TENSORS);
        dynamic |= pel_is_identity(node->Compare.ops.at[k]) ? may_be_other(w, going, left, right)
                                                            : left_dynamic || right_dynamic;
        const pel_val *sides[2] = { left, right };
        if (may_be_other(w, going, left, right)) compare_members(w, going, text, k, sides);
        left = right;
        left_dynamic = right_dynamic;
        if (k + 1 == node->Compare.comparators.n) break;
        /* a < b < c as a value: the first that fails ends it. All lanes must agree, as for any path of an expression.
         */
        pel_own(w, going, node, node->Compare.comparators.at[k + 1], NULL, NULL);
        for (uint32_t i = 0; i < going.n; i++) {
            bool truth;
            if (!pel_take_jump(w, pel_lane_at(w, going, i), &truth)) pel_lost(w, node, "a comparison without its jump");
            if (!truth) pel_lost(w, node, "a chained comparison that ends early is not supported as a value");
        }
    }
    pel_kids kids = { 0 };
    pel_own(w, front, node, NULL, val->at, &kids);
    val->taint = pel_computed_taint(w, front, val, dynamic);
    pel_operator_calls(w, &kids, val, !dynamic);
    return pel_finish(w, front, node, val);
}
