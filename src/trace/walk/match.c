/* match: the case that every lane took, or the author's statement where they differ or ask the data. */
#include "trace/walk/walk.h"

#define NO_CASE UINT32_MAX

/* A pattern that is a constant, several of them, or everything: what can be written and binds no name. */
static bool is_plain_pattern(const pel_node *pattern) {
    switch (pattern->kind) {
    case PEL_MatchValue:
        return pattern->MatchValue.value->kind == PEL_Constant ||
               (pattern->MatchValue.value->kind == PEL_UnaryOp &&
                pattern->MatchValue.value->UnaryOp.operand->kind == PEL_Constant);
    case PEL_MatchSingleton: return true;
    case PEL_MatchAs: return !pattern->MatchAs.pattern && !pattern->MatchAs.name;
    case PEL_MatchOr:
        for (uint32_t i = 0; i < pattern->MatchOr.patterns.n; i++)
            if (!is_plain_pattern(pattern->MatchOr.patterns.at[i])) return false;
        return true;
    default: return false;
    }
}

static bool stands_in(const pel_position *at, pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++)
        if (pel_inside(at, body.at[i])) return true;
    return false;
}

/* Steps over the patterns that a lane tried. */
static uint32_t case_taken(pel_walk *w, pel_lane *lane, const pel_node *node) {
    const pel_record *record;
    while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN && record->kind != PEL_R_RAISE) {
        const pel_position *at = pel_position_of(w, record);
        if (!pel_inside(at, node)) return NO_CASE;
        for (uint32_t i = 0; i < node->Match.cases.n; i++)
            if (stands_in(at, node->Match.cases.at[i]->match_case.body)) return i;
        uint16_t op = pel_insn_of(w, record)->op;
        if (op == PEL_OP_STORE_FAST || op == PEL_OP_STORE_DEREF) pel_lost(w, node, "a pattern that binds names");
        if (record->kind == PEL_R_CHILD) w->s->calls.linked[record->value] = true;
        lane->at++;
    }
    return NO_CASE;
}

static pel_front lanes_of(pel_walk *w, pel_front front, const uint32_t *taken, uint32_t which) {
    pel_front some = pel_front_new(w, front.n);
    some.n = 0;
    for (uint32_t i = 0; i < front.n; i++)
        if (taken[i] == which) some.at[some.n++] = front.at[i];
    return some;
}

static pel_front in_order(pel_walk *w, pel_front a, pel_front b) {
    pel_front all = pel_front_new(w, a.n + b.n);
    for (uint32_t i = 0, k = 0, n = 0; n < all.n; n++)
        all.at[n] = k >= b.n || (i < a.n && a.at[i] < b.at[k]) ? a.at[i++] : b.at[k++];
    return all;
}

/* A written match keeps all cases, because their order decides; one that no lane took raises. If some lanes end inside,
 * data chose those that go on, so the level stays up. The variables may also be as before: no case may fit. */
pel_front pel_walk_match(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *subject = pel_eval(w, front, node->Match.subject);
    w->effect |= subject->effect;
    uint32_t *taken = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    bool differs = false;
    for (uint32_t i = 0; i < front.n; i++) {
        taken[i] = case_taken(w, pel_lane_at(w, front, i), node);
        differs |= taken[i] != taken[0];
    }
    if (!differs && !pel_dynamic(w, front, subject) && !subject->effect)
        return taken[0] == NO_CASE ? front : pel_walk_body(w, front, node->Match.cases.at[taken[0]]->match_case.body);
    for (uint32_t c = 0; c < node->Match.cases.n; c++)
        if (!is_plain_pattern(node->Match.cases.at[c]->match_case.pattern) || node->Match.cases.at[c]->match_case.guard)
            pel_lost(w, node, "a pattern that is no constant depends on data here");
    pel_node *text = pel_shallow(w, node);
    text->Match.subject = subject->text;
    text->Match.cases = (pel_nodes){ 0 };
    pel_front rest = lanes_of(w, front, taken, NO_CASE);
    pel_env before = pel_env_copy(w, &w->env), after = pel_env_copy(w, &w->env);
    w->level += differs && pel_dynamic(w, front, subject);
    for (uint32_t c = 0; c < node->Match.cases.n; c++) {
        pel_front some = lanes_of(w, front, taken, c), gone_on = some;
        pel_node *made = pel_shallow(w, node->Match.cases.at[c]);
        pel_nodes written = { 0 }, *outer = w->out;
        if (some.n) {
            w->env = pel_env_copy(w, &before);
            w->out = &written;
            gone_on = pel_walk_body(w, some, made->match_case.body);
            w->out = outer;
            if (gone_on.n) pel_env_join(w, &after, &w->env);
            if (!written.n) pel_nodes_push(w->ctx, &written, pel_node_new(w->ctx, PEL_Pass));
        } else {
            written = pel_stub_body(w->ctx);
        }
        made->match_case.body = written;
        pel_nodes_push(w->ctx, &text->Match.cases, made);
        rest = in_order(w, rest, gone_on);
    }
    w->env = after;
    if (differs && pel_dynamic(w, front, subject) && rest.n == front.n) w->level--;
    for (uint32_t c = 0; c < text->Match.cases.n; c++)
        if (pel_dynamic(w, front, subject)) pel_taint_stored(w, text->Match.cases.at[c]->match_case.body);
    w->effect = true;
    pel_nodes_push(w->ctx, w->out, text);
    return rest;
}
