/* with statements. What a context manager of the author's does is called by what is written, from nowhere in the text.
 */
#include "trace/walk/stmt.h"

static bool is_context_of(const pel_walk *w, pel_front front, const pel_val *val, const char *class) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_OBJECT || !value->class) return false;
        if (!pel_str_is(pel_class_at(w->log, value->class)->path, class)) return false;
    }
    return front.n > 0;
}

/* Contexts that do nothing to what is written: warnings are in no text. */
static bool is_idle_context(const pel_walk *w, pel_front front, const pel_val *val) {
    return is_context_of(w, front, val, "contextlib.nullcontext") ||
           is_context_of(w, front, val, "warnings.catch_warnings");
}

static void find_answer(void *arg, pel_node **slot) {
    const pel_node *node = *slot, *value = node->kind == PEL_Return ? node->Return.value : NULL;
    *(bool *)arg |= value && !pel_is_none(value) && !pel_is_truth(value, false);
    pel_each_child(*slot, find_answer, arg);
}

/* Whether what ran since then was an author's __exit__ that may take an exception for its own: one that returns
 * something. */
static bool may_swallow(const pel_walk *w, const pel_lane *lane, uint32_t from) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    bool answers = false;
    for (uint32_t r = from; r < lane->at; r++) {
        if (activation->records[r].kind != PEL_R_CHILD) continue;
        pel_id code = w->log->activations.at[activation->records[r].value].code;
        const pel_author *author = &w->s->authors[code];
        if (!pel_name_is(w->log->codes.at[code].code->name, "__exit__")) continue;
        pel_node *def = author->node;
        if (!def) return true;
        find_answer(&answers, &def);
    }
    return answers;
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

/* Steps over what enters a context. */
static void enter_context(pel_walk *w, pel_front front) {
    for (uint32_t k = 0; k < front.n; k++) {
        pel_lane *lane = pel_lane_at(w, front, k);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN &&
               enters_context(pel_insn_of(w, record)))
            lane->at++;
    }
}

/* The items as they are written, but for those that do nothing. suppresses: one takes exceptions. */
static pel_nodes walk_items(pel_walk *w, pel_front front, const pel_node *node, bool *suppresses) {
    pel_nodes items = { 0 };
    for (uint32_t i = 0; i < node->With.items.n; i++) {
        pel_node *item = node->With.items.at[i], *made = pel_shallow(w, item);
        pel_val *context = pel_eval(w, front, item->withitem.context_expr);
        w->effect |= context->effect;
        enter_context(w, front);
        made->withitem.context_expr = context->text;
        if (item->withitem.optional_vars)
            pel_store(w, front, item->withitem.optional_vars, &(pel_lane_stored){ .taint = &pel_taint_unknown },
                      &made->withitem.optional_vars);
        bool is_open = !item->withitem.optional_vars && is_context_of(w, front, context, "contextlib.suppress");
        *suppresses |= is_open;
        if (!is_open && (item->withitem.optional_vars || !is_idle_context(w, front, context)))
            pel_nodes_push(w->ctx, &items, made);
    }
    return items;
}

/* What __enter__ gives is in no text, so what a name for it depends on is unknown. Records of the exits lie at the
 * items or at the whole statement: both are passed over, the last item first, as Python leaves them. */
pel_front pel_walk_with(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    bool suppresses = false;
    text->With.items = walk_items(w, front, node, &suppresses);
    const pel_untried own = { node, node->With.body, pel_save_places(w, front) };
    pel_nodes *outer = w->out;
    pel_front rest;
    w->tried += suppresses;
    bool is_written = text->With.items.n == 0 && !suppresses; /* by its body alone */
    if (is_written)
        rest = pel_walk_body(w, front, node->With.body);
    else
        text->With.body = pel_walk_side(w, front, node->With.body, &rest);
    w->tried -= suppresses;
    w->out = outer;
    if (suppresses) text->With.body = pel_refuse_raising(w, front, &own, text->With.body);
    if (text->With.items.n && text->With.body.n) pel_write_statement(w, text);
    for (uint32_t i = 0; !is_written && !text->With.items.n && i < text->With.body.n; i++)
        pel_write_statement(w, text->With.body.at[i]);
    bool is_settled = pel_is_settled_body(w, front, &own);
    const uint32_t *places = pel_save_places(w, rest);
    for (uint32_t i = node->With.items.n; i > 0; i--)
        leave_context(w, rest, node->With.items.at[i - 1]->withitem.context_expr);
    leave_context(w, rest, node);
    for (uint32_t i = 0; i < rest.n && !is_settled; i++)
        if (may_swallow(w, pel_lane_at(w, rest, i), places[i]))
            pel_lost(w, node, "an __exit__ that may take exceptions, and data could raise one");
    return rest;
}
