/* with statements. What a context manager of the author's does is called by what is written, from nowhere in the text.
 */
#include "trace/walk/stmt.h"

static bool is_null_context(pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_OBJECT || !value->class) return false;
        if (!pel_str_is(pel_class_at(w->log, value->class)->path, "contextlib.nullcontext")) return false;
    }
    return front.n > 0;
}

/* Steps over the end of a with. The __exit__ of an author's class is called by what is written, from nowhere in it. */
static void leave_context(pel_walk *w, pel_front front, const pel_node *node) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN && record->kind != PEL_R_RAISE &&
               pel_inside(pel_position_of(w, record), node)) {
            bool is_method =
                record->kind == PEL_R_CHILD && w->s->group_of[record->value] && w->s->group_of[record->value]->class;
            if (record->kind == PEL_R_CHILD && !is_method) w->s->calls.linked[record->value] = true;
            lane->at++;
        }
    }
}

/* BEFORE_WITH; since 3.14 LOAD_SPECIAL and the call of what it pushed. */
static bool enters_context(const pel_insn *insn) {
    if (insn->op == PEL_OP_BEFORE_WITH || insn->op == PEL_OP_LOAD_SPECIAL) return true;
    return insn->op == PEL_OP_CALL && insn->offset > 0 && insn[-1].op == PEL_OP_LOAD_SPECIAL;
}

/* What __enter__ gives is in no text, so what a name for it depends on is unknown. Records of the exits lie at the
 * items or at the whole statement: both are passed over, the last item first, as Python leaves them. */
pel_front pel_walk_with(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    text->With.items = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < node->With.items.n; i++) {
        pel_node *item = node->With.items.at[i], *made = pel_shallow(w, item);
        pel_val *context = pel_eval(w, front, item->withitem.context_expr);
        w->effect |= context->effect;
        for (uint32_t k = 0; k < front.n; k++) {
            pel_lane *lane = pel_lane_at(w, front, k);
            const pel_record *record;
            while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN &&
                   enters_context(pel_insn_of(w, record)))
                lane->at++;
        }
        made->withitem.context_expr = context->text;
        if (item->withitem.optional_vars)
            pel_store(w, front, item->withitem.optional_vars, &(pel_lane_stored){ .taint = &pel_taint_unknown },
                      &made->withitem.optional_vars);
        if (!is_null_context(w, front, context) || item->withitem.optional_vars)
            pel_nodes_push(w->ctx, &text->With.items, made);
    }
    pel_front rest;
    if (text->With.items.n == 0) {
        rest = pel_walk_body(w, front, node->With.body);
    } else {
        text->With.body = pel_walk_side(w, front, node->With.body, &rest);
        if (text->With.body.n) pel_write_statement(w, text);
    }
    for (uint32_t i = node->With.items.n; i > 0; i--)
        leave_context(w, rest, node->With.items.at[i - 1]->withitem.context_expr);
    leave_context(w, rest, node);
    return rest;
}
