/* Loops. Iterations are lanes, too; the body is walked by all of them until what is known before a round is what is
 * known after it. */
#include "trace/walk/stmt.h"

#define NOTHING_TO_DO "the loop had nothing to do when it was recorded"

/* ---- iterations as lanes ---- */

/* Whether a record of a FOR_ITER is the last one of its loop: it does not go on with the body. */
bool pel_loop_ends(const pel_walk *w, const pel_activation *activation, uint32_t record) {
    return record + 1 >= activation->n_records ||
           pel_insn_of(w, &activation->records[record + 1]) != pel_insn_of(w, &activation->records[record]) + 1;
}

typedef PEL_VEC(uint32_t) numbers;

/* The rounds of one lane, which become lanes of their own; returns where the last of them is in `lanes`. */
static uint32_t split_lane(pel_walk *w, pel_lane lane, const pel_node *node, numbers *lanes, uint32_t *rest) {
    const pel_activation *activation = pel_lane_activation(w, &lane);
    const pel_insn *head = NULL;
    uint32_t last = UINT32_MAX;
    for (uint32_t r = lane.at; r < lane.end; r++) {
        const pel_record *record = &activation->records[r];
        if (record->kind != PEL_R_PUSH && record->kind != PEL_R_STEP) {
            if (record->kind == PEL_R_CHILD && !head) w->s->calls.linked[record->value] = true; /* its __iter__ */
            continue;
        }
        const pel_insn *insn = pel_insn_of(w, record);
        if (!head && insn->op == PEL_OP_FOR_ITER) head = insn;
        if (!head) continue;
        if (head > w->author->insns->at && insn == head - 1 && insn->op == PEL_OP_GET_ITER && last != UINT32_MAX)
            break; /* entered anew: it was left by break */
        if (insn != head) continue;
        if (last != UINT32_MAX) w->lanes.at[lanes->at[last]].end = r;
        if (pel_loop_ends(w, activation, r)) {
            *rest = r + 1;
            break;
        }
        last = lanes->n;
        pel_push(w->ctx, lanes, w->lanes.n);
        pel_push(w->ctx, &w->lanes, ((pel_lane){ lane.activation, lane.owner, r + 1, lane.end, PEL_LANE_RUNS }));
    }
    if (!head) pel_lost(w, node, "the loop was never entered");
    return last;
}

pel_rounds pel_split_rounds(pel_walk *w, pel_front front, const pel_node *node) {
    pel_rounds rounds = { .rest = pel_new_array(w->ctx, front.n + 1u, uint32_t),
                          .last = pel_new_array(w->ctx, front.n + 1u, uint32_t) };
    numbers lanes = { 0 }, parents = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        rounds.last[i] = split_lane(w, *pel_lane_at(w, front, i), node, &lanes, &rounds.rest[i]);
        while (parents.n < lanes.n) pel_push(w->ctx, &parents, i);
    }
    rounds.body = (pel_front){ lanes.at, lanes.n };
    rounds.parent = parents.at;
    return rounds;
}

uint32_t *pel_save_places(pel_walk *w, pel_front front) {
    uint32_t *places = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    for (uint32_t i = 0; i < front.n; i++) places[i] = pel_lane_at(w, front, i)->at;
    return places;
}

void pel_restore_places(pel_walk *w, pel_front front, const uint32_t *places) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane_at(w, front, i)->at = places[i];
        pel_lane_at(w, front, i)->state = PEL_LANE_RUNS;
    }
}

/* Puts the lanes of the loop behind it; returns those that go on. ran_out: those that were not broken off. */
static pel_front behind(pel_walk *w, pel_front front, const pel_rounds *rounds, pel_front *ran_out) {
    pel_front rest = pel_front_new(w, front.n);
    *ran_out = pel_front_new(w, front.n);
    rest.n = ran_out->n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        if (rounds->rest[i]) {
            lane->at = rounds->rest[i];
            ran_out->at[ran_out->n++] = front.at[i];
            continue;
        }
        const pel_lane *last = rounds->last[i] == UINT32_MAX ? NULL : &w->lanes.at[rounds->body.at[rounds->last[i]]];
        if (last && last->state == PEL_LANE_BROKE) {
            lane->at = last->at;
            rest.at[rest.n++] = front.at[i];
        } else {
            lane->state = PEL_LANE_LEFT;
        }
    }
    return rest;
}

typedef struct loop_text {
    pel_node *text;
    pel_nodes *orelse_text; /* in it */
    pel_nodes orelse;       /* as the author wrote it */
    bool may_run_out;       /* with other data, although no lane did */
} loop_text;

/* Writes a loop, with what its author does when it was not broken off. broke, ran_out: the lanes behind it. If none
 * ran out but others might, nobody knows what would come then. */
static pel_front end_loop(pel_walk *w, const loop_text *loop, pel_front broke, pel_front ran_out) {
    bool unknown = loop->may_run_out && ran_out.n == 0, in_else = broke.n && loop->orelse.n;
    if (in_else && !unknown) *loop->orelse_text = pel_walk_side(w, ran_out, loop->orelse, &ran_out);
    if (in_else && unknown) *loop->orelse_text = pel_stub_body(w->ctx);
    pel_write_statement(w, loop->text);
    if (!in_else && ran_out.n) ran_out = pel_walk_body(w, ran_out, loop->orelse);
    if (unknown && broke.n == 0) pel_write_statement(w, pel_stub_body(w->ctx).at[0]);
    return pel_both(w, broke, ran_out);
}

/* ---- round after round ---- */

#define MAX_ROUNDS 30

/* Walks of a loop's body, each from what is known before it, until they leave nothing that was not known. */
typedef struct settling {
    pel_walk *w;
    pel_front body;
    uint32_t *places;   /* where its lanes begin */
    pel_env entry;      /* what is known before a round, whichever it is */
    pel_lane_loop loop; /* the walk that is under way */
    uint32_t level;     /* of the walk outside */
    uint32_t n;         /* walks */
    pel_nodes written, *out;
} settling;

static settling settling_new(pel_walk *w, pel_front body) {
    return (settling){
        .w = w, .body = body, .places = pel_save_places(w, body), .entry = pel_env_copy(w, &w->env), .level = w->level
    };
}

static void begin_round(settling *s, const pel_node *node, bool counted) {
    pel_walk *w = s->w;
    w->level = s->level + counted;
    if (s->n++ > MAX_ROUNDS) pel_lost(w, node, "the taint of the loop does not settle");
    s->loop = (pel_lane_loop){ .outer = w->loop };
    w->loop = &s->loop;
    w->env = pel_env_copy(w, &s->entry);
    pel_restore_places(w, s->body, s->places);
    s->written = (pel_nodes){ 0 };
    s->out = w->out;
    w->out = &s->written;
}

static pel_nodes end_round(settling *s) {
    pel_walk *w = s->w;
    w->out = s->out;
    w->loop = s->loop.outer;
    if (s->loop.has_continue) pel_env_join(w, &w->env, &s->loop.continues);
    return s->written;
}

/* Whether the next round would begin with what the last one began with. */
static bool has_settled(settling *s) {
    pel_env next = pel_env_copy(s->w, &s->entry);
    pel_env_join(s->w, &next, &s->w->env);
    bool same = pel_env_same(&next, &s->entry);
    s->entry = next;
    return same;
}

/* What is known behind the loop: it ran out before any round, or was broken off. */
static void know_behind(settling *s) {
    s->w->env = s->entry;
    s->w->level = s->level + s->loop.left_by_data;
    if (s->loop.has_break) pel_env_join(s->w, &s->w->env, &s->loop.breaks);
}

/* ---- for ---- */

bool pel_is_counted(const pel_walk *w, pel_front front, const pel_val *iter) {
    if (pel_taint_counts(iter->taint)) return true;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, iter->at[i])->kind;
        if (kind == PEL_V_TENSOR || (kind == PEL_V_RANGE && pel_live(w->s, iter->at[i]))) return true;
    }
    return false;
}

/* A loop that no lane went into. */
static void write_idle_loop(pel_walk *w, const pel_node *node, const pel_val *iter, bool counted) {
    if (counted) {
        pel_node *list = pel_make_name(w->ctx, pel_intern_c(w->ctx, "list"), PEL_Load);
        pel_node *test = pel_make_call(w->ctx, list, pel_nodes_one(w->ctx, iter->text), (pel_nodes){ 0 });
        pel_guard(w, node, test, false, NOTHING_TO_DO);
    } else if (iter->effect) {
        pel_write_statement(w, pel_make_expr(w->ctx, iter->text));
    }
}

/* True if data left the loop. */
static bool walk_for_rounds(pel_walk *w, pel_front body, const pel_node *node, const pel_taint *item, bool counted,
                            pel_node *text) {
    settling s = settling_new(w, body);
    for (bool settled = false; !settled;) {
        begin_round(&s, node, counted);
        pel_store(w, body, node->For.target, &(pel_lane_stored){ .taint = counted ? &pel_tainted : item },
                  &text->For.target);
        pel_walk_body(w, body, node->For.body);
        text->For.body = end_round(&s);
        if (counted || s.loop.skips_by_data) pel_taint_stored(w, text->For.body);
        settled = has_settled(&s) && (counted || !s.loop.left_by_data);
        counted |= s.loop.left_by_data;
    }
    know_behind(&s);
    return s.loop.left_by_data;
}

pel_front pel_walk_for(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *iter = pel_eval(w, front, node->For.iter);
    w->effect |= iter->effect;
    pel_rounds rounds = pel_split_rounds(w, front, node);
    bool counted = pel_is_counted(w, front, iter);
    bool is_idle = rounds.body.n == 0;
    if (is_idle) write_idle_loop(w, node, iter, counted);
    pel_front ran_out;
    if (is_idle || (!counted && pel_is_constant(iter->taint) && pel_unroll(w, front, node, &rounds))) {
        pel_front rest = behind(w, front, &rounds, &ran_out);
        return pel_walk_body(w, pel_both(w, rest, ran_out), node->For.orelse);
    }
    pel_node *text = pel_shallow(w, node);
    bool left_by_data = walk_for_rounds(w, rounds.body, node, pel_taint_any(iter->taint), counted, text);
    text->For.iter = iter->text;
    text->For.orelse = (pel_nodes){ 0 };
    pel_front rest = behind(w, front, &rounds, &ran_out);
    const loop_text loop = { text, &text->For.orelse, node->For.orelse, left_by_data };
    return end_loop(w, &loop, rest, ran_out);
}

/* ---- while ---- */

/* The lanes of all rounds of a while loop: one begins where the first instruction of the body runs again. */
static pel_rounds split_while(pel_walk *w, pel_front front, const pel_node *node) {
    PEL_VEC(uint32_t) lanes = { 0 };
    pel_rounds rounds = { .last = pel_new_array(w->ctx, front.n + 1u, uint32_t) };
    pel_node first_body = { .lineno = node->While.body.at[0]->lineno,
                            .col_offset = node->While.body.at[0]->col_offset,
                            .end_lineno = node->end_lineno,
                            .end_col_offset = node->end_col_offset };
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane lane = *pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, &lane);
        const pel_insn *start = NULL;
        rounds.last[i] = UINT32_MAX;
        for (uint32_t r = lane.at; r < lane.end; r++) {
            const pel_record *record = &activation->records[r];
            const pel_position *at = pel_position_of(w, record);
            if (at->line >= 0 && at->col >= 0 && !pel_inside(at, node) && record->kind != PEL_R_RETURN) break;
            if (record->kind != PEL_R_PUSH && record->kind != PEL_R_STEP) continue;
            const pel_insn *insn = pel_insn_of(w, record);
            if (!start && pel_inside(at, &first_body)) start = insn;
            if (insn != start) continue;
            if (rounds.last[i] != UINT32_MAX) w->lanes.at[lanes.at[rounds.last[i]]].end = r;
            rounds.last[i] = lanes.n;
            pel_push(w->ctx, &lanes, w->lanes.n);
            pel_push(w->ctx, &w->lanes, ((pel_lane){ lane.activation, lane.owner, r, lane.end, PEL_LANE_RUNS }));
        }
    }
    rounds.body = (pel_front){ lanes.at, lanes.n };
    return rounds;
}

/* Every lane that comes to the test, from above or from the body's end: a round's lane ends where the next one begins,
 * behind the test. */
static pel_front lanes_at_test(pel_walk *w, pel_front front, pel_front body) {
    pel_front tested = pel_front_new(w, front.n + body.n);
    tested.n = 0;
    for (uint32_t i = 0; i < front.n; i++) tested.at[tested.n++] = front.at[i];
    for (uint32_t i = 0; i < body.n; i++) {
        pel_lane *lane = pel_lane_at(w, body, i);
        if (lane->state != PEL_LANE_RUNS && lane->state != PEL_LANE_CONTINUED) continue;
        lane->state = PEL_LANE_RUNS;
        tested.at[tested.n++] = body.at[i];
    }
    return tested;
}

static pel_test eval_while_test(pel_walk *w, pel_front tested, pel_node *node) {
    if (node->kind == PEL_Constant) {
        pel_test test = { .text = pel_shallow(w, node), .truth = pel_new_array(w->ctx, tested.n + 1u, bool) };
        for (uint32_t i = 0; i < tested.n; i++) test.truth[i] = true;
        return test;
    }
    w->in_expression++;
    pel_test test = pel_eval_test(w, tested, node);
    w->in_expression--;
    return test;
}

/* As behind(), of a while loop, whose lanes leave it at the test. */
static pel_front behind_while(pel_walk *w, pel_front front, const pel_rounds *rounds, pel_front *ran_out) {
    pel_front rest = pel_front_new(w, front.n);
    *ran_out = pel_front_new(w, front.n);
    rest.n = ran_out->n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_lane *final = rounds->last[i] == UINT32_MAX ? lane : pel_lane_at(w, rounds->body, rounds->last[i]);
        if (final->state == PEL_LANE_LEFT) {
            lane->state = PEL_LANE_LEFT;
            continue;
        }
        lane->at = final->at;
        pel_front *side = final->state == PEL_LANE_BROKE ? &rest : ran_out;
        side->at[side->n++] = front.at[i];
    }
    return rest;
}

/* The body first, then the test. True if data left the loop. */
static bool walk_while_rounds(pel_walk *w, pel_front front, pel_front body, const pel_node *node, pel_node *text,
                              pel_test *test) {
    uint32_t *front_places = pel_save_places(w, front);
    settling s = settling_new(w, body);
    for (bool settled = false; !settled;) {
        begin_round(&s, node, test->dynamic);
        pel_restore_places(w, front, front_places);
        if (body.n) pel_walk_body(w, body, node->While.body);
        text->While.body = end_round(&s);
        if (s.n > 1 && (test->dynamic || s.loop.left_by_data || s.loop.skips_by_data))
            pel_taint_stored(w, text->While.body);
        settled = has_settled(&s) && s.n > 1; /* the first one did not know the test */
        w->env = pel_env_copy(w, &s.entry);
        w->level = s.level;
        *test = eval_while_test(w, lanes_at_test(w, front, body), node->While.test);
    }
    know_behind(&s);
    return s.loop.left_by_data;
}

pel_front pel_walk_while(pel_walk *w, pel_front front, pel_node *node) {
    pel_rounds rounds = split_while(w, front, node);
    pel_node *text = pel_shallow(w, node);
    text->While.orelse = (pel_nodes){ 0 };
    pel_test test = { 0 };
    bool left_by_data = walk_while_rounds(w, front, rounds.body, node, text, &test);
    w->effect |= test.effect;
    if (rounds.body.n == 0) {
        if (test.dynamic && test.text) pel_guard(w, node, test.text, false, NOTHING_TO_DO);
        return pel_walk_body(w, front, node->While.orelse);
    }
    text->While.test = test.text ? test.text : pel_make_constant(w->ctx, &pel_true);
    bool forever = text->While.test->kind == PEL_Constant;
    pel_front ran_out, rest = behind_while(w, front, &rounds, &ran_out);
    const loop_text loop = { text, &text->While.orelse, node->While.orelse, left_by_data && !forever };
    return end_loop(w, &loop, rest, ran_out);
}

/* ---- break, continue ---- */

pel_front pel_walk_jump(pel_walk *w, pel_front front, pel_node *node) {
    pel_lane_loop *loop = w->loop;
    if (!loop) pel_lost(w, node, "a jump out of no loop");
    pel_skip(w, front, node);
    bool is_break = node->kind == PEL_Break;
    pel_env *into = is_break ? &loop->breaks : &loop->continues;
    bool *has = is_break ? &loop->has_break : &loop->has_continue;
    if (*has)
        pel_env_join(w, into, &w->env);
    else
        *into = pel_env_copy(w, &w->env);
    *has = true;
    pel_write_statement(w, pel_shallow(w, node));
    pel_stop_lanes(w, front, is_break ? PEL_LANE_BROKE : PEL_LANE_CONTINUED);
    return pel_running(w, front);
}
