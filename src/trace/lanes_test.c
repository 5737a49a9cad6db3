/* Tests: conditions that are asked, not computed. Each part of one leaves its own jump. */
#include "trace/lanes.h"

pel_node *pel_not(pel_ctx *ctx, pel_node *test) {
    if (test->kind == PEL_UnaryOp && test->UnaryOp.op == PEL_Not) return test->UnaryOp.operand;
    if (test->kind == PEL_Compare && test->Compare.ops.n == 1 && test->mark != PEL_COMPARES_TENSORS) {
        /* not for < and >: with NaN they have no opposite */
        static const struct {
            uint8_t from, to;
        } opposite[] = { { PEL_Eq, PEL_NotEq }, { PEL_NotEq, PEL_Eq }, { PEL_Is, PEL_IsNot },
                         { PEL_IsNot, PEL_Is }, { PEL_In, PEL_NotIn }, { PEL_NotIn, PEL_In } };
        for (size_t i = 0; i < PEL_COUNT(opposite); i++)
            if (test->Compare.ops.at[0] == opposite[i].from)
                return pel_make_compare(ctx, test->Compare.left, opposite[i].to, test->Compare.comparators.at[0]);
    }
    pel_node *made = pel_node_new(ctx, PEL_UnaryOp);
    made->UnaryOp.op = PEL_Not;
    made->UnaryOp.operand = test;
    return made;
}

bool pel_gives_truth(const pel_node *node) {
    if (node->kind == PEL_Compare) return true;
    if (node->kind == PEL_UnaryOp) return node->UnaryOp.op == PEL_Not;
    return node->kind == PEL_Attribute && pel_name_is(node->Attribute.attr, "training");
}

static pel_test test_chain(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = { .truth = pel_new_array(w->ctx, front.n + 1u, bool) };
    pel_node *text = pel_shallow(w, node);
    text->Compare.comparators = (pel_nodes){ 0 };
    text->Compare.ops = (pel_cmpops){ pel_new_array(w->ctx, node->Compare.ops.n, uint8_t), 0 };
    pel_val *left = pel_eval(w, front, node->Compare.left);
    text->Compare.left = left->text;
    test.effect = left->effect;
    test.lost = left->lost;
    bool left_dynamic = pel_dynamic(w, front, left);
    pel_front going = front;
    uint32_t *at = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    for (uint32_t i = 0; i < front.n; i++) at[i] = i;
    for (uint32_t k = 0; k < node->Compare.comparators.n && going.n; k++) {
        bool last = k + 1 == node->Compare.comparators.n;
        if (k > 0) pel_own(w, going, node, node->Compare.comparators.at[k], NULL, NULL);
        pel_val *right = pel_eval(w, going, node->Compare.comparators.at[k]);
        bool right_dynamic = pel_dynamic(w, going, right);
        test.dynamic |= left_dynamic || right_dynamic;
        test.effect |= right->effect;
        test.lost |= right->lost;
        left_dynamic = right_dynamic;
        pel_nodes_push(w->ctx, &text->Compare.comparators, right->text);
        text->Compare.ops.at[text->Compare.ops.n++] = node->Compare.ops.at[k];
        pel_own(w, going, node, last ? NULL : node->Compare.comparators.at[k + 1], NULL, NULL);
        pel_front next = pel_front_new(w, going.n);
        uint32_t on = 0;
        for (uint32_t i = 0; i < going.n; i++) {
            bool truth;
            if (!pel_take_jump(w, pel_lane_at(w, going, i), &truth)) pel_lost(w, node, "a comparison without its jump");
            test.truth[at[i]] = truth;
            if (!truth) continue;
            next.at[on] = going.at[i];
            at[on++] = at[i];
        }
        next.n = on;
        going = next;
    }
    test.text = text;
    return test;
}

static pel_test test_boolop(pel_walk *w, pel_front front, pel_node *node) {
    bool is_and = node->BoolOp.op == PEL_And;
    pel_test test = { .truth = pel_new_array(w->ctx, front.n + 1u, bool) };
    uint32_t *at = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    for (uint32_t i = 0; i < front.n; i++) at[i] = i;
    pel_front going = front;
    pel_nodes kept = { 0 };
    for (uint32_t k = 0; k < node->BoolOp.values.n && going.n; k++) {
        if (k > 0) w->in_expression++;
        pel_test part = pel_eval_test(w, going, node->BoolOp.values.at[k]);
        if (k > 0) w->in_expression--;
        pel_front next = pel_front_new(w, going.n);
        uint32_t *next_at = pel_new_array(w->ctx, going.n + 1u, uint32_t), on = 0;
        for (uint32_t i = 0; i < going.n; i++) {
            test.truth[at[i]] = part.truth[i];
            if (part.truth[i] != is_and) continue;
            next.at[on] = going.at[i];
            next_at[on++] = at[i];
        }
        next.n = on;
        bool agreed = on == 0 || on == going.n;
        if (!agreed || part.dynamic || part.effect) {
            pel_nodes_push(w->ctx, &kept, part.text);
            test.dynamic |= part.dynamic;
            test.effect |= part.effect;
            test.lost |= part.lost;
        } else if (on == 0) {
            /* all that came this far stop here whatever the data, and those that stopped before have the same outcome
             */
            if (kept.n && test.effect)
                pel_nodes_push(w->ctx, &kept, pel_make_constant(w->ctx, pel_const_bool(!is_and)));
            else
                kept.n = 0;
            test.dynamic = test.lost = false;
        }
        going = next;
        at = next_at;
    }
    if (kept.n == 0) return test; /* nothing to ask: all agree */
    if (kept.n == 1)
        test.text = kept.at[0];
    else {
        test.text = pel_shallow(w, node);
        test.text->BoolOp.values = kept;
    }
    return test;
}

static bool constant_truth(const pel_const *value) {
    switch (value->kind) {
    case PEL_CONST_NONE:
    case PEL_CONST_FALSE: return false;
    case PEL_CONST_INT: return value->integer.digits.len || value->integer.small != 0;
    case PEL_CONST_FLOAT: return value->real != 0;
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: return value->text.len > 0;
    default: return true;
    }
}

/* An object of the author's may say itself whether it is true: its __bool__ or __len__ runs at the jump. */
void pel_ask_truth(pel_walk *w, pel_front front, pel_val *val) {
    pel_kids kids = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && record->kind == PEL_R_CHILD) {
            uint16_t op = pel_insn_of(w, record)->op;
            if (!pel_is_conditional(op) && op != PEL_OP_TO_BOOL) break;
            pel_push(w->ctx, &kids, ((pel_child){ i, record->value }));
            lane->at++;
        }
    }
    if (kids.n) pel_operator_calls(w, &kids, val, val->lost);
}

pel_test pel_eval_test(pel_walk *w, pel_front front, pel_node *node) {
    if (node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_Not) {
        pel_test test = pel_eval_test(w, front, node->UnaryOp.operand);
        for (uint32_t i = 0; i < front.n; i++) test.truth[i] = !test.truth[i];
        if (test.text) test.text = pel_not(w->ctx, test.text);
        return test;
    }
    if (node->kind == PEL_BoolOp) return test_boolop(w, front, node);
    if (node->kind == PEL_Compare && node->Compare.ops.n > 1) return test_chain(w, front, node);
    pel_val *val = pel_eval(w, front, node);
    pel_ask_truth(w, front, val);
    pel_test test = { val->text, pel_new_array(w->ctx, front.n + 1u, bool), pel_dynamic(w, front, val), val->effect,
                      val->lost };
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (pel_take_jump(w, pel_lane_at(w, front, i), &test.truth[i])) continue;
        if (node->kind == PEL_Constant)
            test.truth[i] = constant_truth(node->Constant.value);
        else if (value->kind == PEL_V_CONST)
            test.truth[i] = constant_truth(value->constant);
        else
            pel_lost(w, node, "the test leaves no jump");
    }
    /* `x is None` has no value of its own: the jump looks at x */
    if (node->kind == PEL_Compare && pel_is_identity(node->Compare.ops.at[0])) {
        bool none_jump = true;
        for (uint32_t i = 0; i < front.n; i++) none_jump &= val->at[i] == 0;
        if (none_jump) {
            bool is = node->Compare.ops.at[0] == PEL_Is;
            if (is)
                for (uint32_t i = 0; i < front.n; i++) test.truth[i] = !test.truth[i];
        }
    }
    return test;
}
