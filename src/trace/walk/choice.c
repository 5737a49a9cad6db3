/* Choices that are values: `a if t else b`, `a and b`. Each operand is walked by the lanes that came to it. */
#include "trace/walk/expr.h"

static pel_node *raising_call(pel_walk *w) {
    return pel_make_call(w->ctx, pel_stub_name(w->s), (pel_nodes){ 0 }, (pel_nodes){ 0 });
}

/* Where no statement can assert what was recorded, the other side raises. */
static pel_val *choose_or_raise(pel_walk *w, pel_front front, pel_node *node, const pel_test *test) {
    bool truth = test->truth[0];
    w->level++;
    pel_val *val = pel_eval(w, front, truth ? node->IfExp.body : node->IfExp.orelse);
    w->level--;
    pel_node *other = raising_call(w);
    pel_node *text = pel_shallow(w, node);
    text->IfExp.test = test->text;
    text->IfExp.body = truth ? val->text : other;
    text->IfExp.orelse = truth ? other : val->text;
    pel_note_node(w->s, text, PEL_NOTE_EFFECT); /* it holds on that condition, whatever reads it */
    val->text = text;
    val->fixed = w->effect = true;
    val->effect |= test->effect;
    val->lost |= test->lost;
    val->parts = NULL;
    return val;
}

pel_val *pel_eval_ifexp(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->IfExp.test);
    pel_going all = pel_going_all(w, front);
    pel_going yes = pel_going_on(w, all, test.truth, true), no = pel_going_on(w, all, test.truth, false);
    if (yes.front.n == 0 || no.front.n == 0) {
        if (test.dynamic && w->in_expression) return choose_or_raise(w, front, node, &test);
        if (test.dynamic)
            pel_guard(w, node, test.text, yes.front.n > 0, "path not recorded");
        else if (test.effect)
            pel_lost(w, node, "a test with an effect inside of an expression");
        return pel_eval(w, front, yes.front.n ? node->IfExp.body : node->IfExp.orelse);
    }
    w->in_expression++; /* what one side needs must not be asserted for both */
    w->level += test.dynamic;
    pel_val *a = pel_eval(w, yes.front, node->IfExp.body), *b = pel_eval(w, no.front, node->IfExp.orelse);
    w->level -= test.dynamic;
    w->in_expression--;
    pel_node *text = pel_shallow(w, node);
    text->IfExp.test = test.text;
    text->IfExp.body = a->text;
    text->IfExp.orelse = b->text;
    pel_val *val = pel_val_new(w, front, text);
    for (uint32_t i = 0; i < yes.front.n; i++) val->at[yes.places[i]] = a->at[i];
    for (uint32_t i = 0; i < no.front.n; i++) val->at[no.places[i]] = b->at[i];
    pel_take_over(val, a);
    pel_take_over(val, b);
    val->effect |= test.effect;
    val->lost |= test.lost;
    val->taint = pel_taint_join(w->ctx, a->taint, b->taint);
    if (test.dynamic) val->taint = pel_computed_taint(w, front, val, true);
    return pel_finish(w, front, node, val);
}

/* Whether an operand decides the whole: False at the end of an `and` whose values are truths, True at that of an `or`.
 */
static bool always(pel_walk *w, pel_front front, const pel_node *last, bool is_and, const pel_val *val) {
    if (last->kind != PEL_Constant || val->effect) return false;
    pel_const_kind kind = is_and ? PEL_CONST_FALSE : PEL_CONST_TRUE;
    if (last->Constant.value->kind != kind) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != kind) return false;
    }
    return true;
}

/* Those that the operand does not decide. */
static pel_going go_on(pel_walk *w, pel_going from, pel_val *operand, const pel_node *node, uint32_t k) {
    bool is_and = node->BoolOp.op == PEL_And;
    const pel_node *part = node->BoolOp.values.at[k];
    bool *truth = pel_new_array(w->ctx, from.front.n + 1u, bool);
    pel_ask_truth(w, from.front, operand);
    for (uint32_t i = 0; i < from.front.n; i++) {
        if (pel_take_jump(w, pel_lane_at(w, from.front, i), &truth[i])) continue;
        if (part->kind == PEL_BoolOp) /* `a and b or c`: a jumps to c at once if it is false */
            truth[i] = part->BoolOp.op == PEL_Or;
        else if (operand->text->kind == PEL_Constant)
            truth[i] = is_and; /* a constant the compiler left out */
        else
            pel_lost(w, node, "an `and` or `or` without its jump");
    }
    return pel_going_on(w, from, truth, is_and);
}

static bool are_truths(const pel_walk *w, const pel_val *val, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_CONST ||
            (value->constant->kind != PEL_CONST_TRUE && value->constant->kind != PEL_CONST_FALSE))
            return false;
    }
    return true;
}

/* Containers and objects are true by what they hold; that is not asserted, unless data say how much it is. */
static bool may_hold(const pel_walk *w, const pel_val *val, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint8_t kind = pel_value_at(w->log, val->at[i])->kind;
        if (kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_OBJECT || kind == PEL_V_DICT) return true;
    }
    return false;
}

/* and, or: as a value. Operands that all lanes passed by without data are left out. */
pel_val *pel_eval_boolop(pel_walk *w, pel_front front, pel_node *node) {
    bool is_and = node->BoolOp.op == PEL_And;
    pel_going now = pel_going_all(w, front);
    pel_val *val = pel_val_constant(w, front, NULL, PEL_WHY_COMPUTED); /* no operand so far */
    pel_nodes kept = { 0 };
    uint32_t level = w->level;
    bool dynamic = false, raises = false;
    bool truths = false, all_truths = true; /* the operand kept last, or all, give but truths */
    for (uint32_t k = 0; k < node->BoolOp.values.n && now.front.n; k++) {
        if (k > 0) w->in_expression++;
        pel_val *operand = pel_eval(w, now.front, node->BoolOp.values.at[k]);
        if (k > 0) w->in_expression--;
        for (uint32_t i = 0; i < now.front.n; i++) val->at[now.places[i]] = operand->at[i];
        bool last = k + 1 == node->BoolOp.values.n;
        pel_going next = last ? (pel_going){ 0 } : go_on(w, now, operand, node, k);
        bool data = pel_dynamic(w, now.front, operand);
        pel_take_over(val, operand);
        if (last || next.front.n < now.front.n || data || operand->effect) {
            if (last && truths && pel_is_truth(operand->text, is_and)) break; /* `a > b and True` */
            pel_nodes_push(w->ctx, &kept, operand->text);
            val->taint = pel_taint_join(w->ctx, val->taint, operand->taint);
            dynamic |= data;
            truths = are_truths(w, operand, now.front.n);
            all_truths &= truths;
        }
        if (!last && !next.front.n && data) {
            bool holds = may_hold(w, operand, now.front.n);
            raises = !holds && w->in_expression; /* where no statement can assert it */
            if (!holds && !raises)
                pel_guard(w, node, operand->text, !is_and, "path not recorded");
            else if (raises || pel_taint_counts(operand->taint)) /* items or not_recorded() */
                pel_nodes_push(w->ctx, &kept, raising_call(w));
        }
        if (data && next.front.n < now.front.n) w->level++;
        now = next;
    }
    w->level = level;
    if (kept.n == 1) {
        val->text = kept.at[0];
        /* `n > 1 and is_causal` asked n, so that it gave a truth of Python's on symbolic sizes, too. */
        if (dynamic && truths && kept.at[0]->kind == PEL_Compare && node->BoolOp.values.n > 1)
            val->text = pel_make_call(w->ctx, pel_make_name(w->ctx, pel_intern_c(w->ctx, "bool"), PEL_Load),
                                      pel_nodes_one(w->ctx, kept.at[0]), (pel_nodes){ 0 });
    } else if (kept.n && all_truths && always(w, front, kept.at[kept.n - 1], is_and, val)) {
        val->text = kept.at[kept.n - 1]; /* `a > b and False` is False whatever a and b are */
        val->taint = pel_constant(PEL_WHY_COMPUTED);
    } else {
        val->text = pel_shallow(w, node);
        val->text->BoolOp.values = kept;
        if (raises) {
            pel_note_node(w->s, val->text, PEL_NOTE_EFFECT); /* it holds on that condition, whatever reads it */
            val->fixed = w->effect = true;
        }
        if (dynamic) val->taint = pel_taint_join(w->ctx, val->taint, pel_computed_taint(w, front, val, true));
    }
    return pel_finish(w, front, node, val);
}
