/* Statements: which of them stay, and which lanes go on behind them. */
#include "trace/lanes.h"

static pel_front walk_statement(pel_walk *w, pel_front front, pel_node *node);

static void emit(pel_walk *w, pel_node *statement) { pel_nodes_push(w->ctx, w->out, statement); }

static pel_front without(pel_walk *w, pel_front front) { /* those that still run */
    pel_front rest = pel_front_new(w, front.n);
    rest.n = 0;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_lane_at(w, front, i)->state == PEL_LANE_RUNS) rest.at[rest.n++] = front.at[i];
    return rest;
}

static void leave(pel_walk *w, pel_front front, pel_lane_state state) {
    for (uint32_t i = 0; i < front.n; i++) pel_lane_at(w, front, i)->state = state;
}

pel_front pel_walk_body(pel_walk *w, pel_front front, pel_nodes body) {
    for (uint32_t i = 0; i < body.n && front.n; i++) front = walk_statement(w, front, body.at[i]);
    return front;
}

/* Steps over all that a statement without a text of its own did. */
static void skip(pel_walk *w, pel_front front, const pel_node *node) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN && record->kind != PEL_R_RAISE &&
               pel_inside(pel_position_of(w, record), node)) {
            if (record->kind == PEL_R_CHILD) w->s->linked[record->value] = true;
            lane->at++;
        }
    }
}

/* ---- simple statements ---- */

/* Puts something into a list, dict or set that the function made itself: that concerns no caller. */
static bool fills_own_container(pel_walk *w, const pel_node *author, const pel_node *text) {
    if (author->kind != PEL_Call || author->Call.func->kind != PEL_Attribute || text->kind != PEL_Call ||
        author->Call.func->Attribute.value->kind != PEL_Name || pel_link_at(w->s, text) ||
        !pel_env_slot(w, author->Call.func->Attribute.value->Name.id)->own)
        return false;
    for (uint32_t i = 0; i < text->Call.args.n; i++)
        if (!pel_pure(w->s, text->Call.args.at[i])) return false;
    for (uint32_t i = 0; i < text->Call.keywords.n; i++)
        if (!pel_pure(w->s, text->Call.keywords.at[i]->keyword.value)) return false;
    return true;
}

static pel_front walk_expr(pel_walk *w, pel_front front, pel_node *node) {
    if (node->Expr.value->kind == PEL_Constant) return front; /* docstrings leave no instruction */
    pel_val *val = pel_eval(w, front, node->Expr.value);
    if (val->effect) {
        if (!fills_own_container(w, node->Expr.value, val->text)) w->effect = true;
        pel_node *text = pel_shallow(w, node);
        text->Expr.value = val->text;
        emit(w, text);
    }
    return front;
}

static pel_front walk_assign(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_eval(w, front, node->Assign.value);
    w->effect |= val->effect;
    pel_node *text = pel_shallow(w, node);
    text->Assign.value = val->text;
    text->Assign.targets = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
        pel_node *target;
        pel_store(w, front, node->Assign.targets.at[i], val->taint, val->parts, val, &target);
        if (target->kind == PEL_Name && pel_is_new_container(val->text)) pel_env_slot(w, target->Name.id)->own = true;
        pel_nodes_push(w->ctx, &text->Assign.targets, target);
    }
    emit(w, text);
    return front;
}

static pel_front walk_annotated(pel_walk *w, pel_front front, pel_node *node) {
    if (!node->AnnAssign.value) return front;
    pel_val *val = pel_eval(w, front, node->AnnAssign.value);
    w->effect |= val->effect;
    pel_node *target;
    pel_store(w, front, node->AnnAssign.target, val->taint, val->parts, val, &target);
    pel_node *text = pel_make_assign(w->ctx, target, val->text);
    text->lineno = node->lineno;
    emit(w, text);
    return front;
}

static pel_front walk_augmented(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *target = node->AugAssign.target, *text = pel_shallow(w, node), *made = pel_shallow(w, target);
    pel_val *old = pel_eval(w, front, target);
    if (target->kind == PEL_Attribute && old->text->kind == PEL_Attribute)
        made->Attribute.value = old->text->Attribute.value;
    else if (target->kind == PEL_Subscript && old->text->kind == PEL_Subscript) {
        made->Subscript.value = old->text->Subscript.value;
        made->Subscript.slice = old->text->Subscript.slice;
    } else if (target->kind != PEL_Name)
        pel_lost(w, node, "this cannot be changed in place");
    pel_val *value = pel_eval(w, front, node->AugAssign.value);
    pel_id *results = pel_new_array(w->ctx, front.n + 1u, pel_id);
    pel_kids kids = { 0 };
    pel_own(w, front, node, target->kind == PEL_Name ? target : NULL, results, &kids);
    bool dynamic = pel_dynamic(w, front, old) || pel_dynamic(w, front, value), shows = true;
    for (uint32_t i = 0; i < front.n; i++) shows &= results[i] && pel_live(w->s, results[i]);
    const pel_taint *taint = dynamic && !shows ? &pel_tainted : NULL;
    w->effect |= value->effect || target->kind != PEL_Name || kids.n > 0;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, old->at[i])->kind;
        if (kind == PEL_V_TENSOR || kind == PEL_V_LIST) { /* changed in place, whoever holds it */
            w->effect = true;
            text->mark = 1;
        }
    }
    if (target->kind == PEL_Name) {
        pel_node *ignored;
        pel_store(w, front, target, taint, NULL, NULL, &ignored);
    } else if (target->kind == PEL_Subscript && taint && target->Subscript.value->kind == PEL_Name) {
        pel_env_slot(w, target->Subscript.value->Name.id)->taint = &pel_tainted;
    }
    text->AugAssign.target = made;
    text->AugAssign.value = value->text;
    emit(w, text);
    return front;
}

/* A try statement with a finally around what is walked. */
typedef struct pel_finally {
    const struct pel_finally *outer;
    pel_nodes body;
} pel_finally;

/* What runs between the value of a return statement and the return. */
static void walk_finally(pel_walk *w, pel_front front, const pel_node *node, pel_node *text) {
    const pel_finally *around = w->finally;
    pel_nodes *out = w->out, after = { 0 };
    w->out = &after;
    for (; w->finally; w->finally = w->finally->outer) {
        const pel_finally *inner = w->finally;
        w->finally = inner->outer;
        if (pel_walk_body(w, front, inner->body).n != front.n) pel_lost(w, node, "a finally leaves in its own way");
        w->finally = inner;
    }
    w->finally = around;
    w->out = out;
    if (!after.n) return;
    if (text->Return.value && text->Return.value->kind != PEL_Constant) { /* its value is that of before */
        const pel_code_object *code = w->log->codes.at[w->group->code].code;
        pel_name name = pel_free_name(w->s, code, pel_intern_c(w->ctx, "result"));
        emit(w, pel_make_assign(w->ctx, pel_make_name(w->ctx, name, PEL_Store), text->Return.value));
        text->Return.value = pel_make_name(w->ctx, name, PEL_Load);
    }
    for (uint32_t i = 0; i < after.n; i++) emit(w, after.at[i]);
}

static pel_front walk_return(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    if (node->Return.value) {
        pel_val *val = pel_eval(w, front, node->Return.value);
        w->effect |= val->effect;
        w->result = pel_taint_join(w->ctx, w->result, val->taint);
        text->Return.value = val->text;
    }
    if (w->finally) walk_finally(w, front, node, text);
    emit(w, text);
    leave(w, front, PEL_LANE_LEFT);
    return without(w, front);
}

static pel_front walk_delete(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = 0; i < node->Delete.targets.n; i++) {
        pel_node *target = node->Delete.targets.at[i];
        if (target->kind == PEL_Name) {
            skip(w, front, target);
            continue;
        }
        pel_node *made = pel_shallow(w, target);
        if (target->kind == PEL_Attribute)
            made->Attribute.value = pel_eval(w, front, target->Attribute.value)->text;
        else if (target->kind == PEL_Subscript) {
            made->Subscript.value = pel_eval(w, front, target->Subscript.value)->text;
            made->Subscript.slice = pel_eval(w, front, target->Subscript.slice)->text;
        } else
            pel_lost(w, node, "deleting %s is not supported", pel_kinds[target->kind].name);
        skip(w, front, target);
        pel_node *text = pel_node_new(w->ctx, PEL_Delete);
        text->Delete.targets = pel_nodes_one(w->ctx, made);
        w->effect = true;
        emit(w, text);
    }
    return front;
}

static pel_front walk_assert(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->Assert.test);
    for (uint32_t i = 0; i < front.n; i++)
        if (!test.truth[i]) pel_lost(w, node, "the assertion fails here");
    if (!test.dynamic || !test.text || test.lost) return front;
    pel_node *text = pel_shallow(w, node);
    text->Assert.test = test.text;
    if (node->Assert.msg && node->Assert.msg->kind != PEL_Constant) text->Assert.msg = NULL; /* was never evaluated */
    w->effect = true;
    emit(w, text);
    return front;
}

static pel_front walk_import(pel_walk *w, pel_front front, pel_node *node) {
    skip(w, front, node); /* what the names hold is written by its path wherever it is used */
    return front;
}

/* @wraps(function) in a function: decorators stand before what they are called with, and are called after it is made.
 * What they give is taken for the function itself, which holds of the library's. */
static void apply_decorators(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = node->FunctionDef.decorator_list.n; i > 0; i--) {
        pel_kids kids = { 0 };
        pel_own(w, front, node->FunctionDef.decorator_list.at[i - 1], NULL, NULL, &kids);
        if (kids.n) pel_lost(w, node, "`%s` is decorated by a function of the author's", node->FunctionDef.name->text);
    }
    skip(w, front, node);
}

static pel_front walk_nested(pel_walk *w, pel_front front, pel_node *node) {
    for (uint32_t i = 0; i < node->FunctionDef.decorator_list.n; i++)
        skip(w, front, node->FunctionDef.decorator_list.at[i]);
    pel_eval_defaults(w, front, node, node->FunctionDef.args);
    skip(w, front, node);
    apply_decorators(w, front, node);
    bool ran = false;
    for (pel_id code = 1; code < w->log->codes.n; code++)
        if (w->s->authors[code].node == node && pel_ran(w->s, code)) {
            ran = true;
            pel_node *text = pel_node_new(w->ctx, PEL_FunctionDef);
            text->FunctionDef.name = node->FunctionDef.name;
            text->FunctionDef.args = pel_node_new(w->ctx, PEL_arguments);
            text->lineno = node->lineno;
            pel_push(w->ctx, &w->s->references, ((pel_reference){ text, code, NULL, false }));
            emit(w, text);
        }
    if (!ran) emit(w, pel_stub_def(w->ctx, node));
    pel_slot *slot = pel_env_slot(w, node->FunctionDef.name);
    slot->taint = NULL;
    slot->parts = NULL;
    return front;
}

/* ---- if ---- */

typedef struct sides {
    pel_front yes, no;
} sides;

static sides part(pel_walk *w, pel_front front, const bool *truth) {
    sides s = { pel_front_new(w, front.n), pel_front_new(w, front.n) };
    s.yes.n = s.no.n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        if (truth[i])
            s.yes.at[s.yes.n++] = front.at[i];
        else
            s.no.at[s.no.n++] = front.at[i];
    }
    return s;
}

static pel_front both(pel_walk *w, pel_front a, pel_front b) {
    pel_front all = pel_front_new(w, a.n + b.n);
    /* in the order of the lanes, so that the first lane stays the first */
    for (uint32_t i = 0, k = 0, n = 0; n < all.n; n++)
        all.at[n] = k >= b.n || (i < a.n && a.at[i] < b.at[k]) ? a.at[i++] : b.at[k++];
    return all;
}

/* What the author says when the other side is a mere `raise`. */
static const char *own_message(pel_walk *w, pel_nodes body) {
    if (body.n == 0 || body.at[body.n - 1]->kind != PEL_Raise) return NULL;
    const pel_node *exc = body.at[body.n - 1]->Raise.exc;
    if (!exc || exc->kind != PEL_Call || exc->Call.args.n == 0) return NULL;
    const pel_node *arg = exc->Call.args.at[0];
    if (arg->kind != PEL_Constant || arg->Constant.value->kind != PEL_CONST_STR) return NULL;
    return pel_format(w->ctx, "%.*s", PEL_FMT(arg->Constant.value->text)).ptr;
}

static pel_nodes walk_side(pel_walk *w, pel_front front, pel_nodes body, pel_front *rest) {
    pel_nodes written = { 0 }, *outer = w->out;
    w->out = &written;
    *rest = pel_walk_body(w, front, body);
    w->out = outer;
    return written;
}

/* Lanes that a test on data made leave a loop, or the function: the rounds, or the calls, could have been more. */
static void note_exits(pel_walk *w, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane_state state = pel_lane_at(w, front, i)->state;
        if (state == PEL_LANE_BROKE && w->loop) w->loop->left_by_data = true;
        if (state != PEL_LANE_LEFT) continue;
        for (pel_loop *loop = w->loop; loop; loop = loop->outer) loop->left_by_data = true;
        if (!w->group->left_by_data) w->s->changed = w->group->left_by_data = true;
    }
}

static pel_front walk_if(pel_walk *w, pel_front front, pel_node *node) {
    pel_test test = pel_eval_test(w, front, node->If.test);
    sides s = part(w, front, test.truth);
    w->effect |= test.effect;
    if (s.yes.n == 0 || s.no.n == 0) {
        bool yes = s.yes.n > 0;
        if (test.dynamic && test.text) {
            const char *message = own_message(w, yes ? node->If.orelse : node->If.body);
            pel_guard(w, node, test.text, yes, message ? message : "path not recorded");
        } else if (test.effect && test.text) {
            emit(w, pel_make_expr(w->ctx, test.text));
        }
        return pel_walk_body(w, front, yes ? node->If.body : node->If.orelse);
    }
    pel_env before = pel_env_copy(w, &w->env);
    pel_node *text = pel_shallow(w, node);
    text->If.test = test.text;
    pel_front rest_yes, rest_no;
    text->If.body = walk_side(w, s.yes, node->If.body, &rest_yes);
    pel_env after = w->env;
    w->env = before;
    text->If.orelse = walk_side(w, s.no, node->If.orelse, &rest_no);
    if (rest_no.n == 0)
        w->env = after;
    else if (rest_yes.n)
        pel_env_join(w, &w->env, &after);
    if (test.dynamic) {
        pel_taint_stored(w, text->If.body);
        pel_taint_stored(w, text->If.orelse);
        note_exits(w, front);
    }
    emit(w, text);
    return both(w, rest_yes, rest_no);
}

/* ---- loops ---- */

/* Whether a record of a FOR_ITER is the last one of its loop: it does not go on with the body. */
bool pel_loop_ends(const pel_walk *w, const pel_activation *activation, uint32_t record) {
    return record + 1 >= activation->n_records ||
           pel_insn_of(w, &activation->records[record + 1]) != pel_insn_of(w, &activation->records[record]) + 1;
}

pel_rounds pel_split_rounds(pel_walk *w, pel_front front, const pel_node *node) {
    pel_rounds rounds = {
        { 0 }, NULL, pel_new_array(w->ctx, front.n + 1u, uint32_t), pel_new_array(w->ctx, front.n + 1u, uint32_t)
    };
    PEL_VEC(uint32_t) lanes = { 0 }, parents = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane lane = *pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, &lane);
        const pel_insn *head = NULL;
        uint32_t last = UINT32_MAX;
        for (uint32_t r = lane.at; r < lane.end; r++) {
            const pel_record *record = &activation->records[r];
            if (record->kind != PEL_R_PUSH && record->kind != PEL_R_STEP) {
                if (record->kind == PEL_R_CHILD && !head) w->s->linked[record->value] = true; /* its __iter__ */
                continue;
            }
            const pel_insn *insn = pel_insn_of(w, record);
            if (!head) {
                if (insn->op != PEL_OP_FOR_ITER) continue;
                head = insn;
            }
            if (head > w->author->insns->at && insn == head - 1 && insn->op == PEL_OP_GET_ITER && last != UINT32_MAX)
                break; /* entered anew: it was left by break */
            if (insn != head) continue;
            if (last != UINT32_MAX) w->lanes.at[lanes.at[last]].end = r;
            if (pel_loop_ends(w, activation, r)) {
                rounds.rest[i] = r + 1;
                break;
            }
            last = lanes.n;
            pel_push(w->ctx, &parents, i);
            pel_push(w->ctx, &lanes, w->lanes.n);
            pel_push(w->ctx, &w->lanes, ((pel_lane){ lane.activation, lane.owner, r + 1, lane.end, PEL_LANE_RUNS }));
        }
        if (!head) pel_lost(w, node, "the loop was never entered");
        rounds.last[i] = last;
    }
    rounds.body = (pel_front){ lanes.at, lanes.n };
    rounds.parent = parents.at;
    return rounds;
}

static uint32_t *save_places(pel_walk *w, pel_front front) {
    uint32_t *places = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    for (uint32_t i = 0; i < front.n; i++) places[i] = pel_lane_at(w, front, i)->at;
    return places;
}

static void restore_places(pel_walk *w, pel_front front, const uint32_t *places) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane_at(w, front, i)->at = places[i];
        pel_lane_at(w, front, i)->state = PEL_LANE_RUNS;
    }
}

static void end_round(pel_walk *w, pel_loop *loop) {
    if (loop->has_continue) pel_env_join(w, &w->env, &loop->continues);
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

/* Writes a loop, with what its author does when it was not broken off. broke, ran_out: the lanes behind it. If none
 * ran out but others might, nobody knows what would come then. */
static pel_front end_loop(pel_walk *w, pel_node *text, pel_nodes *orelse_text, pel_nodes orelse, pel_front broke,
                          pel_front ran_out, bool may_run_out) {
    bool unknown = may_run_out && ran_out.n == 0, in_else = broke.n && orelse.n;
    if (in_else && !unknown) *orelse_text = walk_side(w, ran_out, orelse, &ran_out);
    if (in_else && unknown) *orelse_text = pel_stub_body(w->ctx);
    emit(w, text);
    if (!in_else && ran_out.n) ran_out = pel_walk_body(w, ran_out, orelse);
    if (unknown && broke.n == 0) emit(w, pel_stub_body(w->ctx).at[0]);
    return both(w, broke, ran_out);
}

#define LOOP_ROUNDS 30
#define UNROLL_LIMIT 32

/* ---- loops over constants that are not worth a loop ---- */

typedef struct unrolling {
    pel_walk *w;
    pel_node *node;
    const pel_rounds *rounds;
    uint32_t n_front, n;
    pel_nodes written;
    bool broke;
} unrolling;

static void walk_unrolled(pel_ctx *ctx, void *arg) {
    (void)ctx;
    unrolling *u = arg;
    pel_walk *w = u->w;
    for (uint32_t k = 0; k < u->n && !u->broke; k++) {
        pel_front front = pel_front_new(w, u->n_front);
        uint32_t n = 0, seen = 0, parent = UINT32_MAX;
        for (uint32_t i = 0; i < u->rounds->body.n; i++) {
            seen = u->rounds->parent[i] == parent ? seen + 1 : 0;
            parent = u->rounds->parent[i];
            if (seen == k) front.at[n++] = u->rounds->body.at[i];
        }
        pel_loop loop = { .outer = w->loop };
        w->loop = &loop;
        pel_nodes *outer = w->out;
        w->out = &u->written;
        pel_node *ignored;
        pel_store(w, front, u->node->For.target, NULL, NULL, NULL, &ignored);
        front = pel_walk_body(w, front, u->node->For.body);
        w->out = outer;
        w->loop = loop.outer;
        u->broke = loop.has_break || loop.has_continue || front.n < u->n_front;
    }
}

static bool is_trivial_value(const pel_node *value) {
    if (value->kind == PEL_Constant || value->kind == PEL_Name) return true;
    if (value->kind == PEL_UnaryOp) return is_trivial_value(value->UnaryOp.operand);
    if (value->kind != PEL_List && value->kind != PEL_Tuple) return false;
    for (uint32_t i = 0; i < value->List.elts.n; i++)
        if (!is_trivial_value(value->List.elts.at[i])) return false;
    return true;
}

static bool is_trivial(const pel_node *node) {
    return node->kind == PEL_Assign && node->Assign.targets.n == 1 && node->Assign.targets.at[0]->kind == PEL_Name &&
           is_trivial_value(node->Assign.value);
}

/* What the loop's variable is bound to in a round. */
static const pel_record *item_of(pel_walk *w, const pel_rounds *rounds, uint32_t round) {
    const pel_lane *lane = pel_lane_at(w, rounds->body, round);
    return &pel_lane_activation(w, lane)->records[lane->at - 1];
}

/* Tries the loop as its rounds one after the other, and takes that if nothing but names of constants is left of it, or
 * if there is but one round. */
static bool unroll(pel_walk *w, pel_front front, pel_node *node, const pel_rounds *rounds) {
    if (rounds->body.n % front.n || rounds->body.n / front.n > UNROLL_LIMIT) return false;
    unrolling u = { w, node, rounds, front.n, rounds->body.n / front.n, { 0 }, false };
    for (uint32_t i = 0; i < rounds->body.n; i++) {
        if (rounds->parent[i] != i / u.n) return false;
        const pel_record *item = item_of(w, rounds, i), *first = item_of(w, rounds, i % u.n);
        if (item->kind != PEL_R_PUSH || !pel_plain(w->s, item->value) ||
            !pel_value_same(w->log, item->value, first->value))
            return false;
    }
    pel_env before = pel_env_copy(w, &w->env);
    uint32_t *places = save_places(w, rounds->body), *front_places = save_places(w, front);
    pel_walk saved = *w;
    bool changed = w->s->changed, regroup = w->s->regroup;
    pel_err err;
    bool fine = pel_attempt(w->ctx, walk_unrolled, &u, &err) && !u.broke;
    for (uint32_t i = 0; i < u.written.n && fine && u.n > 1; i++) fine = is_trivial(u.written.at[i]);
    if (fine) {
        for (uint32_t i = 0; i < u.written.n; i++) emit(w, u.written.at[i]);
        return true;
    }
    w->s->changed = changed;
    w->s->regroup = regroup;
    w->env = before;
    w->out = saved.out;
    w->loop = saved.loop;
    w->author = saved.author;
    w->depth = saved.depth;
    w->in_expression = saved.in_expression;
    w->effect = saved.effect;
    w->result = saved.result;
    w->now = saved.now;
    restore_places(w, front, front_places);
    restore_places(w, rounds->body, places);
    return false;
}

/* ---- the loop as a loop ---- */

/* Whether data says how often the loop runs. */
static bool is_counted(const pel_walk *w, pel_front front, const pel_val *iter) {
    if (iter->taint) return true;
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
        pel_guard(w, node, test, false, "the loop had nothing to do when it was recorded");
    } else if (iter->effect) {
        emit(w, pel_make_expr(w->ctx, iter->text));
    }
}

/* Walks the body until what is known before a round is what is known after it. True if data left the loop. */
static bool walk_rounds(pel_walk *w, pel_front body, const pel_node *node, bool counted, pel_node *text) {
    uint32_t *places = save_places(w, body);
    pel_env entry = pel_env_copy(w, &w->env);
    pel_loop loop;
    for (uint32_t round = 0;; round++) {
        if (round > LOOP_ROUNDS) pel_lost(w, node, "the taint of the loop does not settle");
        loop = (pel_loop){ .outer = w->loop };
        w->loop = &loop;
        w->env = pel_env_copy(w, &entry);
        restore_places(w, body, places);
        pel_nodes written = { 0 }, *outer = w->out;
        w->out = &written;
        pel_store(w, body, node->For.target, counted ? &pel_tainted : NULL, NULL, NULL, &text->For.target);
        pel_walk_body(w, body, node->For.body);
        w->out = outer;
        w->loop = loop.outer;
        text->For.body = written;
        end_round(w, &loop);
        if (counted) pel_taint_stored(w, written);
        bool settled = counted || !loop.left_by_data;
        counted |= loop.left_by_data;
        pel_env next = pel_env_copy(w, &entry);
        pel_env_join(w, &next, &w->env);
        if (settled && pel_env_same(&next, &entry)) break;
        entry = next;
    }
    w->env = entry; /* joined with what the rounds leave */
    if (loop.has_break) pel_env_join(w, &w->env, &loop.breaks);
    return loop.left_by_data;
}

static pel_front walk_for(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *iter = pel_eval(w, front, node->For.iter);
    w->effect |= iter->effect;
    pel_rounds rounds = pel_split_rounds(w, front, node);
    bool counted = is_counted(w, front, iter);
    bool is_idle = rounds.body.n == 0;
    if (is_idle) write_idle_loop(w, node, iter, counted);
    pel_front ran_out;
    if (is_idle || (!counted && unroll(w, front, node, &rounds))) {
        pel_front rest = behind(w, front, &rounds, &ran_out);
        return pel_walk_body(w, both(w, rest, ran_out), node->For.orelse);
    }
    pel_node *text = pel_shallow(w, node);
    bool left_by_data = walk_rounds(w, rounds.body, node, counted, text);
    text->For.iter = iter->text;
    text->For.orelse = (pel_nodes){ 0 };
    pel_front rest = behind(w, front, &rounds, &ran_out);
    return end_loop(w, text, &text->For.orelse, node->For.orelse, rest, ran_out, left_by_data);
}

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

/* A while loop: the body first, then the test. */
static pel_front walk_while(pel_walk *w, pel_front front, pel_node *node) {
    pel_rounds rounds = split_while(w, front, node);
    pel_front body = rounds.body;
    uint32_t *places = save_places(w, body), *front_places = save_places(w, front);
    pel_env entry = pel_env_copy(w, &w->env);
    pel_node *text = pel_shallow(w, node);
    text->While.orelse = (pel_nodes){ 0 };
    pel_loop loop;
    pel_test test;
    for (uint32_t round = 0;; round++) {
        if (round > LOOP_ROUNDS) pel_lost(w, node, "the taint of the loop does not settle");
        loop = (pel_loop){ .outer = w->loop };
        w->loop = &loop;
        w->env = pel_env_copy(w, &entry);
        restore_places(w, body, places);
        restore_places(w, front, front_places);
        pel_nodes written = { 0 }, *outer = w->out;
        w->out = &written;
        if (body.n) pel_walk_body(w, body, node->While.body);
        w->out = outer;
        w->loop = loop.outer;
        text->While.body = written;
        end_round(w, &loop);
        if (round > 0 && (test.dynamic || loop.left_by_data)) pel_taint_stored(w, written);
        pel_env next = pel_env_copy(w, &entry);
        pel_env_join(w, &next, &w->env);
        w->env = pel_env_copy(w, &next);
        test = eval_while_test(w, lanes_at_test(w, front, body), node->While.test);
        if (round > 0 && pel_env_same(&next, &entry)) break;
        entry = next;
    }
    w->env = entry;
    if (loop.has_break) pel_env_join(w, &w->env, &loop.breaks);
    w->effect |= test.effect;
    if (body.n == 0) {
        if (test.dynamic && test.text)
            pel_guard(w, node, test.text, false, "the loop had nothing to do when it was recorded");
        return pel_walk_body(w, front, node->While.orelse);
    }
    text->While.test = test.text ? test.text : pel_make_constant(w->ctx, &pel_true);
    pel_front ran_out, rest = behind_while(w, front, &rounds, &ran_out);
    bool forever = text->While.test->kind == PEL_Constant;
    return end_loop(w, text, &text->While.orelse, node->While.orelse, rest, ran_out, loop.left_by_data && !forever);
}

static pel_front walk_jump(pel_walk *w, pel_front front, pel_node *node) {
    pel_loop *loop = w->loop;
    if (!loop) pel_lost(w, node, "a jump out of no loop");
    skip(w, front, node);
    bool is_break = node->kind == PEL_Break;
    pel_env *into = is_break ? &loop->breaks : &loop->continues;
    bool *has = is_break ? &loop->has_break : &loop->has_continue;
    if (*has)
        pel_env_join(w, into, &w->env);
    else
        *into = pel_env_copy(w, &w->env);
    *has = true;
    emit(w, pel_shallow(w, node));
    leave(w, front, is_break ? PEL_LANE_BROKE : PEL_LANE_CONTINUED);
    return without(w, front);
}

/* ---- with, try ---- */

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
            if (record->kind == PEL_R_CHILD && !is_method) w->s->linked[record->value] = true;
            lane->at++;
        }
    }
}

static pel_front walk_with(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    text->With.items = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < node->With.items.n; i++) {
        pel_node *item = node->With.items.at[i], *made = pel_shallow(w, item);
        pel_val *context = pel_eval(w, front, item->withitem.context_expr);
        w->effect |= context->effect;
        for (uint32_t k = 0; k < front.n; k++) { /* BEFORE_WITH */
            pel_lane *lane = pel_lane_at(w, front, k);
            const pel_record *record;
            while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN &&
                   pel_insn_of(w, record)->op == PEL_OP_BEFORE_WITH)
                lane->at++;
        }
        made->withitem.context_expr = context->text;
        if (item->withitem.optional_vars)
            pel_store(w, front, item->withitem.optional_vars, NULL, NULL, NULL, &made->withitem.optional_vars);
        if (!is_null_context(w, front, context)) pel_nodes_push(w->ctx, &text->With.items, made);
    }
    pel_front rest;
    if (text->With.items.n == 0) {
        rest = pel_walk_body(w, front, node->With.body);
    } else {
        text->With.body = walk_side(w, front, node->With.body, &rest);
        if (text->With.body.n) emit(w, text);
    }
    for (uint32_t i = node->With.items.n; i > 0; i--)
        leave_context(w, rest, node->With.items.at[i - 1]->withitem.context_expr);
    leave_context(w, rest, node);
    return rest;
}

static bool raises_inside(pel_walk *w, const pel_lane *lane, const pel_node *node) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = lane->at; r < lane->end; r++) {
        const pel_record *record = &activation->records[r];
        const pel_position *at = pel_position_of(w, record);
        if (at->line >= 0 && at->col >= 0 && !pel_inside(at, node)) return false;
        if (record->kind == PEL_R_RAISE) return true;
    }
    return false;
}

/* The statement of a body in which a lane's next exception is raised; UINT32_MAX: in none of them. at: its record. */
static uint32_t raising_statement(pel_walk *w, const pel_lane *lane, pel_nodes body, uint32_t *at) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    *at = lane->at;
    for (uint32_t r = lane->at; r < lane->end; r++) {
        const pel_record *record = &activation->records[r];
        if (record->kind != PEL_R_RAISE) continue;
        *at = r;
        for (uint32_t i = 0; i < body.n; i++)
            if (pel_inside(pel_position_of(w, record), body.at[i])) return i;
        break;
    }
    return UINT32_MAX;
}

/* Whether the handlers of this try get the exception, and not those of one inside. */
static bool is_caught_by(pel_walk *w, const pel_lane *lane, uint32_t raise, const pel_node *node) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = raise + 1; r < lane->end; r++) {
        const pel_position *at = pel_position_of(w, &activation->records[r]);
        if (at->line < 0 || at->col < 0) continue;
        for (uint32_t h = 0; h < node->Try.handlers.n; h++)
            if (pel_inside(at, node->Try.handlers.at[h])) return true;
        return false;
    }
    return false;
}

/* Whether no data came by in a statement until a record of it: then it does the same in every call. */
static bool is_settled_until(pel_walk *w, const pel_lane *lane, const pel_node *statement, uint32_t end) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = lane->at; r < end; r++) {
        const pel_record *record = &activation->records[r];
        if (record->kind == PEL_R_PUSH && pel_live(w->s, record->value) &&
            pel_inside(pel_position_of(w, record), statement))
            return false;
    }
    return true;
}

static void forget_children(pel_walk *w, const pel_lane *lane, uint32_t end) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = lane->at; r < end; r++)
        if (activation->records[r].kind == PEL_R_CHILD) w->s->linked[activation->records[r].value] = true;
}

/* Steps over what an `except` does before its body, and says whether it catches. */
static bool catches(pel_walk *w, pel_lane *lane, const pel_node *handler) {
    const pel_record *record;
    while ((record = pel_next_record(w, lane)) && record->kind != PEL_R_RETURN) {
        const pel_position *at = pel_position_of(w, record);
        if (!pel_inside(at, handler) || pel_inside(at, handler->ExceptHandler.body.at[0])) return true;
        bool truth;
        if (!pel_take_jump(w, lane, &truth))
            lane->at++;
        else if (!truth)
            return false;
    }
    return true;
}

/* Whether all lanes raise in the same statement of a try's body before any data came by: then every call does. */
static bool always_raises(pel_walk *w, pel_front front, const pel_node *node, uint32_t *which) {
    uint32_t at;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_lane *lane = pel_lane_at(w, front, i);
        uint32_t mine = raising_statement(w, lane, node->Try.body, &at);
        if (mine == UINT32_MAX || (i && mine != *which)) return false;
        if (!is_settled_until(w, lane, node->Try.body.at[mine], at)) return false;
        *which = mine;
    }
    return true;
}

/* An exception that no data has to do with is raised and caught in the same way each time: what was done before it, and
 * what the handler does, is all there is. */
static pel_front walk_caught(pel_walk *w, pel_front front, pel_node *node, uint32_t which) {
    for (uint32_t k = 0; k < which; k++) {
        pel_front rest = walk_statement(w, front, node->Try.body.at[k]);
        if (rest.n != front.n) pel_lost(w, node, "an exception is raised and caught here");
    }
    const pel_node *handler = NULL;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        uint32_t at;
        raising_statement(w, lane, node->Try.body, &at);
        forget_children(w, lane, at);
        lane->at = at + 1;
        const pel_node *mine = NULL;
        for (uint32_t h = 0; h < node->Try.handlers.n && !mine; h++)
            if (catches(w, lane, node->Try.handlers.at[h])) mine = node->Try.handlers.at[h];
        if (!mine || (handler && handler != mine)) pel_lost(w, node, "different exceptions are raised here");
        handler = mine;
    }
    if (handler->ExceptHandler.name) pel_env_slot(w, handler->ExceptHandler.name)->parts = NULL;
    pel_front rest = pel_walk_body(w, front, handler->ExceptHandler.body);
    skip(w, rest, handler);
    return rest;
}

/* Takes the lanes that raise in the next statement out of those that go on, and puts them where the handlers begin. */
static pel_front part_raising(pel_walk *w, pel_front going, const pel_node *node, uint32_t statement,
                              pel_front *raised) {
    pel_front rest = pel_front_new(w, going.n), out = pel_front_new(w, going.n);
    rest.n = out.n = 0;
    for (uint32_t i = 0; i < going.n; i++) {
        pel_lane *lane = pel_lane_at(w, going, i);
        uint32_t at;
        if (raising_statement(w, lane, node->Try.body, &at) != statement || !is_caught_by(w, lane, at, node)) {
            rest.at[rest.n++] = going.at[i];
            continue;
        }
        forget_children(w, lane, at);
        lane->at = at + 1;
        out.at[out.n++] = going.at[i];
    }
    *raised = both(w, *raised, out);
    if (!rest.n) pel_lost(w, node->Try.body.at[statement], "every call raises an exception here that depends on data");
    return rest;
}

/* One `except`, and what the lanes do that it catches. Those that it does not stay in `raised`. */
static pel_node *walk_handler(pel_walk *w, pel_front *raised, pel_node *handler, pel_front *rest) {
    pel_node *text = pel_shallow(w, handler);
    pel_node *type = handler->ExceptHandler.type;
    if (type) {
        for (uint32_t i = 0; i < raised->n; i++) {
            pel_lane *lane = pel_lane_at(w, *raised, i);
            const pel_record *record;
            while ((record = pel_next_record(w, lane)) && !pel_inside(pel_position_of(w, record), type)) lane->at++;
        }
        text->ExceptHandler.type = pel_eval(w, *raised, type)->text;
    }
    bool *caught = pel_new_array(w->ctx, raised->n + 1u, bool);
    for (uint32_t i = 0; i < raised->n; i++) caught[i] = catches(w, pel_lane_at(w, *raised, i), handler);
    sides s = part(w, *raised, caught);
    *raised = s.no;
    if (handler->ExceptHandler.name) {
        pel_slot *slot = pel_env_slot(w, handler->ExceptHandler.name);
        slot->parts = NULL;
        slot->taint = &pel_tainted;
    }
    if (s.yes.n)
        text->ExceptHandler.body = walk_side(w, s.yes, handler->ExceptHandler.body, rest);
    else
        text->ExceptHandler.body = pel_stub_body(w->ctx);
    if (!text->ExceptHandler.body.n) text->ExceptHandler.body = pel_nodes_one(w->ctx, pel_node_new(w->ctx, PEL_Pass));
    skip(w, *rest, handler);
    return text;
}

/* Whether an exception is raised depends on data: the statement stays. */
static pel_front walk_tried(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    text->Try.body = text->Try.handlers = text->Try.orelse = text->Try.finalbody = (pel_nodes){ 0 };
    pel_env raising = pel_env_copy(w, &w->env); /* joined from wherever an exception may come */
    pel_front going = front, raised = pel_front_new(w, 0);
    pel_nodes *outer = w->out;
    w->out = &text->Try.body;
    for (uint32_t k = 0; k < node->Try.body.n && going.n; k++) {
        going = walk_statement(w, part_raising(w, going, node, k, &raised), node->Try.body.at[k]);
        pel_env_join(w, &raising, &w->env);
    }
    w->out = outer;
    if (!raised.n) pel_lost(w, node, "an exception is raised here that nothing catches");
    pel_front rest = pel_front_new(w, 0);
    text->Try.orelse = walk_side(w, going, node->Try.orelse, &rest);
    pel_env after = pel_env_copy(w, &w->env);
    pel_taint_stored(w, text->Try.body);
    for (uint32_t h = 0; h < node->Try.handlers.n && raised.n; h++) {
        pel_front behind_it = pel_front_new(w, 0);
        w->env = pel_env_copy(w, &raising);
        pel_nodes_push(w->ctx, &text->Try.handlers, walk_handler(w, &raised, node->Try.handlers.at[h], &behind_it));
        if (behind_it.n) pel_env_join(w, &after, &w->env);
        rest = both(w, rest, behind_it);
    }
    if (raised.n) pel_lost(w, node, "an exception is raised here that nothing catches");
    w->env = after;
    pel_taint_stored(w, pel_nodes_one(w->ctx, text));
    w->effect = true;
    emit(w, text);
    return rest;
}

static pel_front walk_try(pel_walk *w, pel_front front, pel_node *node) {
    bool raises = false;
    for (uint32_t i = 0; i < front.n; i++) raises |= raises_inside(w, pel_lane_at(w, front, i), node);
    pel_front rest = front;
    const pel_finally *outer = w->finally, own = { outer, node->Try.finalbody };
    if (node->Try.finalbody.n) w->finally = &own;
    uint32_t which = 0;
    if (raises && always_raises(w, front, node, &which)) {
        rest = walk_caught(w, front, node, which);
    } else if (raises) {
        rest = walk_tried(w, front, node);
    } else {
        /* nothing was caught: what is caught now would not have been recorded, so it may as well show itself */
        rest = pel_walk_body(w, front, node->Try.body);
        rest = pel_walk_body(w, rest, node->Try.orelse);
    }
    w->finally = outer;
    for (uint32_t i = 0; node->Try.finalbody.n && i < front.n; i++) {
        pel_lane_state state = pel_lane_at(w, front, i)->state;
        if (state == PEL_LANE_BROKE || state == PEL_LANE_CONTINUED)
            pel_lost(w, node, "a loop is left through finally, which is not supported");
    }
    return pel_walk_body(w, rest, node->Try.finalbody);
}

static pel_front walk_statement(pel_walk *w, pel_front front, pel_node *node) {
    if (++w->depth > 200) pel_lost(w, node, "statements nest too deep");
    w->now = node;
    switch (node->kind) {
    case PEL_Expr: front = walk_expr(w, front, node); break;
    case PEL_Assign: front = walk_assign(w, front, node); break;
    case PEL_AnnAssign: front = walk_annotated(w, front, node); break;
    case PEL_AugAssign: front = walk_augmented(w, front, node); break;
    case PEL_Return: front = walk_return(w, front, node); break;
    case PEL_Delete: front = walk_delete(w, front, node); break;
    case PEL_Assert: front = walk_assert(w, front, node); break;
    case PEL_Import:
    case PEL_ImportFrom: front = walk_import(w, front, node); break;
    case PEL_FunctionDef: front = walk_nested(w, front, node); break;
    case PEL_If: front = walk_if(w, front, node); break;
    case PEL_For: front = walk_for(w, front, node); break;
    case PEL_While: front = walk_while(w, front, node); break;
    case PEL_Break:
    case PEL_Continue: front = walk_jump(w, front, node); break;
    case PEL_With: front = walk_with(w, front, node); break;
    case PEL_Try: front = walk_try(w, front, node); break;
    case PEL_Match: front = pel_walk_match(w, front, node); break;
    case PEL_Pass: break;
    case PEL_Global: w->effect = true; /* fall through */
    case PEL_Nonlocal: emit(w, pel_shallow(w, node)); break;
    case PEL_Raise: pel_lost(w, node, "an exception is raised here");
    default: pel_lost(w, node, "%s is not supported", pel_kinds[node->kind].name);
    }
    w->depth--;
    return front;
}
