/* Tests: conditions that are asked, not computed. Each part of one leaves its own jump. */
#include "trace/walk/expr.h"

pel_going pel_going_all(pel_walk *w, pel_front front) {
    pel_going all = { front, pel_new_array(w->ctx, front.n + 1u, uint32_t) };
    for (uint32_t i = 0; i < front.n; i++) all.places[i] = i;
    return all;
}

pel_going pel_going_on(pel_walk *w, pel_going from, const bool *truth, bool want) {
    pel_going on = { pel_front_new(w, from.front.n), pel_new_array(w->ctx, from.front.n + 1u, uint32_t) };
    on.front.n = 0;
    for (uint32_t i = 0; i < from.front.n; i++) {
        if (truth[i] != want) continue;
        on.places[on.front.n] = from.places[i];
        on.front.at[on.front.n++] = from.front.at[i];
    }
    return on;
}

/* a < b < c */
static pel_test test_chain(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = { .truth = pel_new_array(w->ctx, front.n + 1u, bool), .text = pel_shallow(w, node) };
    pel_node *text = test.text;
    text->Compare.comparators = (pel_nodes){ 0 };
    text->Compare.ops = (pel_cmpops){ pel_new_array(w->ctx, node->Compare.ops.n, uint8_t), 0 };
    pel_val *left = pel_eval(w, front, node->Compare.left);
    text->Compare.left = left->text;
    test.effect = left->effect;
    test.lost = left->lost;
    bool left_dynamic = pel_dynamic(w, front, left);
    pel_going now = pel_going_all(w, front);
    for (uint32_t k = 0; k < node->Compare.comparators.n && now.front.n; k++) {
        bool last = k + 1 == node->Compare.comparators.n;
        if (k > 0) pel_own(w, now.front, node, node->Compare.comparators.at[k], NULL, NULL);
        pel_val *right = pel_eval(w, now.front, node->Compare.comparators.at[k]);
        bool right_dynamic = pel_dynamic(w, now.front, right);
        test.dynamic |= left_dynamic || right_dynamic;
        test.effect |= right->effect;
        test.lost |= right->lost;
        left_dynamic = right_dynamic;
        pel_nodes_push(w->ctx, &text->Compare.comparators, right->text);
        text->Compare.ops.at[text->Compare.ops.n++] = node->Compare.ops.at[k];
        pel_own(w, now.front, node, last ? NULL : node->Compare.comparators.at[k + 1], NULL, NULL);
        bool *truth = pel_new_array(w->ctx, now.front.n + 1u, bool);
        for (uint32_t i = 0; i < now.front.n; i++) {
            if (!pel_take_jump(w, pel_lane_at(w, now.front, i), &truth[i]))
                pel_lost(w, node, "a comparison without its jump");
            test.truth[now.places[i]] = truth[i];
        }
        now = pel_going_on(w, now, truth, true);
    }
    return test;
}

/* An operand stays if it sends lanes different ways, or could: by data, or by what it does. */
static void keep_operand(pel_walk *w, pel_test *whole, pel_nodes *kept, const pel_test *part) {
    pel_nodes_push(w->ctx, kept, part->text);
    whole->dynamic |= part->dynamic;
    whole->effect |= part->effect;
    whole->lost |= part->lost;
}

static pel_test test_boolop(pel_walk *w, pel_front front, pel_node *node) {
    bool is_and = node->BoolOp.op == PEL_And;
    pel_test test = { .truth = pel_new_array(w->ctx, front.n + 1u, bool) };
    pel_going now = pel_going_all(w, front);
    pel_nodes kept = { 0 };
    uint32_t level = w->level;
    for (uint32_t k = 0; k < node->BoolOp.values.n && now.front.n; k++) {
        if (k > 0) w->in_expression++;
        pel_test part = pel_eval_test(w, now.front, node->BoolOp.values.at[k]);
        if (k > 0) w->in_expression--;
        for (uint32_t i = 0; i < now.front.n; i++) test.truth[now.places[i]] = part.truth[i];
        pel_going next = pel_going_on(w, now, part.truth, is_and);
        bool agreed = next.front.n == 0 || next.front.n == now.front.n;
        if (!agreed || part.dynamic || part.effect) {
            keep_operand(w, &test, &kept, &part);
        } else if (next.front.n == 0) {
            /* all that came this far stop here whatever the data, and those that stopped before have the same outcome
             */
            if (kept.n && test.effect)
                pel_nodes_push(w->ctx, &kept, pel_make_constant(w->ctx, pel_const_bool(!is_and)));
            else
                kept.n = 0;
            test.dynamic = test.lost = false;
        }
        w->level += part.dynamic && !agreed;
        now = next;
    }
    w->level = level;
    if (kept.n < 2) {
        test.text = kept.n ? kept.at[0] : NULL; /* nothing to ask: all agree */
        return test;
    }
    test.text = pel_shallow(w, node);
    test.text->BoolOp.values = kept;
    return test;
}

static bool constant_truth(const pel_const *value) {
    switch (value->kind) {
    case PEL_CONST_NONE:
    case PEL_CONST_FALSE: return false;
    case PEL_CONST_INT: return value->integer.digits.len || value->integer.small != 0;
    case PEL_CONST_FLOAT: return value->real != 0;
    case PEL_CONST_COMPLEX: return value->real != 0 || value->imag != 0;
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: return value->text.len > 0;
    case PEL_CONST_TUPLE:
    case PEL_CONST_FROZENSET: return value->n > 0;
    case PEL_CONST_TRUE:
    case PEL_CONST_ELLIPSIS:
    case PEL_CONST_CODE:
    case PEL_CONST_OBJECT:
    case PEL_CONST_SLICE: return true;
    }
    return true;
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
        if (test.text) test.text = pel_not(w->s, test.text);
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
        bool none_jump = node->Compare.ops.at[0] == PEL_Is;
        for (uint32_t i = 0; i < front.n; i++) none_jump &= val->at[i] == 0;
        for (uint32_t i = 0; i < front.n && none_jump; i++) test.truth[i] = !test.truth[i];
    }
    return test;
}
