/* try statements. What no run raised is refused where data could raise it; what all calls raise without data is what
 * was done before it, and what the handler did; the rest stays. */
#include "trace/walk/expr.h"
#include "trace/walk/stmt.h"

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

typedef struct scope {
    const pel_node *comprehension;
    const struct scope *around;
} scope;

typedef struct {
    pel_walk *w;
    const scope *scope;   /* the comprehensions around a name */
    const pel_node *seen; /* the first iterable of the innermost one: it is evaluated outside of it */
    bool found;
} search;

static bool is_in_scope(const scope *inner, pel_name name) {
    for (; inner; inner = inner->around)
        if (pel_is_variable_of(inner->comprehension, name)) return true;
    return false;
}

static void find_data(void *arg, pel_node **slot);

static void find_data_in_comprehension(search *for_data, pel_node *node) {
    const search outside = *for_data;
    const scope own = { node, outside.scope };
    pel_node **first = &pel_generators_of(node).at[0]->comprehension.iter;
    find_data(for_data, first);
    for_data->scope = &own;
    for_data->seen = *first;
    pel_each_child(node, find_data, for_data);
    for_data->scope = outside.scope;
    for_data->seen = outside.seen;
}

/* A name that depends on data, or an attribute that calls change. A comprehension's variable is one of neither: it has
 * what the iterable gives, which is looked at itself. Since 3.12 the function has it among its variables. */
static void find_data(void *arg, pel_node **slot) {
    search *for_data = arg;
    pel_walk *w = for_data->w;
    const pel_node *node = *slot;
    if (node == for_data->seen) return;
    if (node->kind == PEL_Name && node->Name.ctx == PEL_Load && pel_is_local(w, node->Name.id) &&
        !is_in_scope(for_data->scope, node->Name.id))
        for_data->found |= pel_varies(pel_env_slot(w, node->Name.id)->taint);
    if (node->kind == PEL_Attribute && pel_name_is(node->Attribute.attr, "training")) w->s->asked.training = true;
    if (node->kind == PEL_Attribute)
        for (pel_id class = 1; class < w->log->classes.n; class ++)
            for_data->found |= pel_map_has(&w->s->objects.written, pel_key2(class, PEL_KEY(node->Attribute.attr)));
    if (pel_generators_of(node).n)
        find_data_in_comprehension(for_data, *slot);
    else
        pel_each_child(*slot, find_data, arg);
}

/* Whether what a function that the run made has in its closure is constant: it is this function's, or not known. */
static bool has_settled_cells(pel_walk *w, const pel_activation *activation) {
    const pel_code_object *code = w->log->codes.at[activation->code].code;
    if (!pel_made_in_run(w->s, &w->s->authors[activation->code])) return true;
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        pel_name name = code->freevars.at[i];
        if (!pel_is_local(w, name) || pel_varies(pel_env_slot(w, name)->taint)) return false;
    }
    return true;
}

/* Whether a function does the same in every call that gives it the same. */
static bool is_settled_child(pel_walk *w, pel_id child) {
    for (pel_id id = child; id < w->s->extents[child].end; id++) {
        const pel_activation *activation = &w->log->activations.at[id];
        if (!pel_is_below(w->log, id, child)) continue;
        if (pel_met_data(w->s, activation, 0, activation->n_records, &w->s->asked.training)) return false;
        if (!has_settled_cells(w, activation)) return false;
    }
    return true;
}

/* Whether no data came by in a statement until a record of it: then it does the same in every call. */
static bool is_settled_until(pel_walk *w, const pel_lane *lane, pel_node *statement, uint32_t end) {
    search for_data = { .w = w };
    find_data(&for_data, &statement);
    if (for_data.found) return false;
    const pel_activation *activation = pel_lane_activation(w, lane);
    uint32_t from = lane->at;
    while (from < end && !pel_inside(pel_position_of(w, &activation->records[from]), statement)) from++;
    if (pel_met_data(w->s, activation, from, end, &w->s->asked.training)) return false;
    for (uint32_t r = from; r < end; r++)
        if (activation->records[r].kind == PEL_R_CHILD && !is_settled_child(w, activation->records[r].value))
            return false;
    return true;
}

static void forget_children(pel_walk *w, const pel_lane *lane, uint32_t end) {
    const pel_activation *activation = pel_lane_activation(w, lane);
    for (uint32_t r = lane->at; r < end; r++)
        if (activation->records[r].kind == PEL_R_CHILD) w->s->calls.linked[activation->records[r].value] = true;
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
        pel_front rest = pel_walk_statement(w, front, node->Try.body.at[k]);
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
    if (handler->ExceptHandler.name) {
        pel_slot *slot = pel_env_slot(w, handler->ExceptHandler.name);
        slot->parts = NULL;
        slot->taint = pel_constant(PEL_WHY_COMPUTED); /* no data came by before it was raised */
    }
    pel_front rest = pel_walk_body(w, front, handler->ExceptHandler.body);
    pel_skip(w, rest, handler);
    return rest;
}

/* Whether a lane raises in a statement, and this try catches it. */
static bool raises_in(pel_walk *w, const pel_lane *lane, const pel_node *node, uint32_t statement, uint32_t *at) {
    return raising_statement(w, lane, node->Try.body, at) == statement && is_caught_by(w, lane, *at, node);
}

static bool all_raise_in(pel_walk *w, pel_front front, const pel_node *node, uint32_t statement) {
    uint32_t at;
    for (uint32_t i = 0; i < front.n; i++)
        if (!raises_in(w, pel_lane_at(w, front, i), node, statement, &at)) return false;
    return front.n > 0;
}

/* Takes the lanes that raise in the next statement out of those that go on, and puts them where the handlers begin. */
static pel_front part_raising(pel_walk *w, pel_front going, const pel_node *node, uint32_t statement,
                              pel_front *raised) {
    pel_front rest = pel_front_new(w, going.n), out = pel_front_new(w, going.n);
    rest.n = out.n = 0;
    for (uint32_t i = 0; i < going.n; i++) {
        pel_lane *lane = pel_lane_at(w, going, i);
        uint32_t at;
        if (!raises_in(w, lane, node, statement, &at)) {
            rest.at[rest.n++] = going.at[i];
            continue;
        }
        forget_children(w, lane, at);
        lane->at = at + 1;
        out.at[out.n++] = going.at[i];
    }
    *raised = pel_both(w, *raised, out);
    return rest;
}

/* torch.cuda.is_current_stream_capturing(): a function of a library that is given nothing. The machine decides. */
static bool is_library_asked(pel_walk *w, pel_front front, pel_node *value) {
    if (value->kind != PEL_Call || value->Call.args.n || value->Call.keywords.n) return false;
    const pel_val *function = pel_eval(w, front, value->Call.func);
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, function->at[i])->kind != PEL_V_LIBRARY) return false;
    return front.n > 0;
}

/* The expression in which every lane raises. What ran until then is seen, and what it would have given nobody reads:
 * behind it no recorded call came by. */
static pel_node *text_of_raising(pel_walk *w, pel_front front, const pel_node *node, uint32_t statement) {
    pel_node *raising = node->Try.body.at[statement], *value = NULL;
    bool unpacks = raising->kind == PEL_Assign && raising->Assign.targets.at[0]->kind == PEL_Tuple;
    if (raising->kind == PEL_Expr) value = raising->Expr.value;
    if (raising->kind == PEL_Assign) value = raising->Assign.value;
    if (raising->kind == PEL_Return) value = raising->Return.value;
    for (uint32_t i = 0; i < front.n && value; i++) {
        const pel_lane *lane = pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, lane);
        uint32_t at, first = raising_statement(w, lane, node->Try.body, &at);
        const pel_position *place = pel_position_of(w, &activation->records[at]);
        bool in_target = unpacks && pel_inside(place, raising->Assign.targets.at[0]);
        if (first != statement || (!in_target && !pel_inside(place, value))) value = NULL;
        for (uint32_t r = lane->at; r < at; r++)
            if (activation->records[r].kind == PEL_R_CHILD) value = NULL; /* a function that never gave anything */
    }
    if (!value) pel_lost(w, raising, "every call raises an exception here that depends on data");
    uint32_t *from = pel_new_array(w->ctx, front.n + 1u, uint32_t);
    for (uint32_t i = 0; i < front.n; i++) from[i] = pel_lane_at(w, front, i)->at;
    bool asks_machine = is_library_asked(w, front, value);
    for (uint32_t i = 0; i < front.n; i++) pel_lane_at(w, front, i)->at = from[i];
    if (asks_machine) pel_lost(w, raising, "every call raises an exception here, and no data lead to it");
    pel_val *val = pel_eval(w, front, value);
    for (uint32_t i = 0; i < front.n; i++) pel_lane_at(w, front, i)->at = from[i];
    pel_note_node(w->s, val->text, PEL_NOTE_EFFECT);
    if (unpacks) return pel_make_assign(w->ctx, pel_copy(w->ctx, raising->Assign.targets.at[0]), val->text);
    pel_node *text = pel_node_new(w->ctx, PEL_Expr);
    text->Expr.value = val->text;
    return text;
}

/* ---- what a skeleton raises by itself ---- */

/* Where a path was not recorded, the text raises AssertionError or NotImplementedError. An author's handler must not
 * take that for its own. */
static bool catches_guards(pel_walk *w, const pel_node *handler, pel_id type) {
    static const char *const own[] = { "AssertionError", "NotImplementedError" }, *const above[] = { "BaseException",
                                                                                                     "Exception",
                                                                                                     "RuntimeError" };
    const pel_value *value = pel_value_at(w->log, type);
    bool found = false;
    if (value->kind == PEL_V_TUPLE) {
        for (uint32_t i = 0; i < value->n; i++) found |= catches_guards(w, handler, value->items[i]);
        return found;
    }
    bool is_class = value->kind == PEL_V_CLASS;
    if (!is_class && value->kind != PEL_V_LIBRARY) return true; /* whatever it is */
    pel_str name = is_class ? pel_class_at(w->log, value->class)->path : value->text;
    for (size_t i = 0; i < PEL_COUNT(own); i++)
        if (pel_str_is(name, own[i]))
            pel_lost(w, handler, "it catches %s, which is how a skeleton says what was not recorded", own[i]);
    for (size_t i = 0; i < PEL_COUNT(above); i++) found |= pel_str_is(name, above[i]);
    return found;
}

static pel_node *builtin(pel_walk *w, const char *name) {
    return pel_make_name(w->ctx, pel_intern_c(w->ctx, name), PEL_Load);
}

static pel_node *make_handler(pel_walk *w, pel_node *type, pel_nodes body) {
    pel_node *made = pel_node_new(w->ctx, PEL_ExceptHandler);
    made->ExceptHandler.type = type;
    made->ExceptHandler.body = body;
    return made;
}

/* except (AssertionError, NotImplementedError): raise */
static pel_node *hand_guards_on(pel_walk *w) {
    pel_node *both = pel_node_new(w->ctx, PEL_Tuple);
    pel_nodes_push(w->ctx, &both->Tuple.elts, builtin(w, "AssertionError"));
    pel_nodes_push(w->ctx, &both->Tuple.elts, builtin(w, "NotImplementedError"));
    return make_handler(w, both, pel_nodes_one(w->ctx, pel_node_new(w->ctx, PEL_Raise)));
}

/* except Exception: raise NotImplementedError("path not recorded") */
static pel_node *refuse_exceptions(pel_walk *w) {
    return make_handler(w, builtin(w, "Exception"), pel_stub_body(w->ctx));
}

static void put_first(pel_walk *w, pel_nodes *list, pel_node *first) {
    pel_nodes made = pel_nodes_one(w->ctx, first);
    for (uint32_t i = 0; i < list->n; i++) pel_nodes_push(w->ctx, &made, list->at[i]);
    *list = made;
}

/* One `except`, and what the lanes do that it catches. Those that it does not stay in `raised`. */
static pel_node *walk_handler(pel_walk *w, pel_front *raised, pel_node *handler, pel_front *rest, bool *hides_guards) {
    pel_node *text = pel_shallow(w, handler);
    pel_node *type = handler->ExceptHandler.type;
    *hides_guards |= !type;
    if (type) {
        for (uint32_t i = 0; i < raised->n; i++) {
            pel_lane *lane = pel_lane_at(w, *raised, i);
            const pel_record *record;
            while ((record = pel_next_record(w, lane)) && !pel_inside(pel_position_of(w, record), type)) lane->at++;
        }
        const pel_val *val = pel_eval(w, *raised, type);
        text->ExceptHandler.type = val->text;
        for (uint32_t i = 0; i < raised->n; i++) *hides_guards |= catches_guards(w, handler, val->at[i]);
    }
    bool *caught = pel_new_array(w->ctx, raised->n + 1u, bool);
    for (uint32_t i = 0; i < raised->n; i++) caught[i] = catches(w, pel_lane_at(w, *raised, i), handler);
    pel_sides s = pel_part(w, *raised, caught);
    *raised = s.no;
    if (handler->ExceptHandler.name) {
        pel_slot *slot = pel_env_slot(w, handler->ExceptHandler.name);
        slot->parts = NULL;
        slot->taint = &pel_tainted;
    }
    if (s.yes.n)
        text->ExceptHandler.body = pel_walk_side(w, s.yes, handler->ExceptHandler.body, rest);
    else
        text->ExceptHandler.body = pel_stub_body(w->ctx);
    if (!text->ExceptHandler.body.n) text->ExceptHandler.body = pel_nodes_one(w->ctx, pel_node_new(w->ctx, PEL_Pass));
    pel_skip(w, *rest, handler);
    return text;
}

typedef struct keeping {
    pel_synth *s;
    bool all; /* those, too, that hold a call somewhere inside */
} keeping;

/* What may raise must stay where somebody catches it, though nobody reads what it gives. Calls have their notes. */
static void keep_raising(void *arg, pel_node **slot) {
    const keeping *k = arg;
    pel_node *node = *slot, *value = NULL;
    if (node->kind == PEL_Expr) value = node->Expr.value;
    if (node->kind == PEL_Assign) value = node->Assign.value;
    bool unpacks = node->kind == PEL_Assign && node->Assign.targets.at[0]->kind == PEL_Tuple;
    bool may_raise = value && (value->kind == PEL_Subscript || value->kind == PEL_BinOp || value->kind == PEL_Compare);
    bool is_call = value && value->kind == PEL_Call && k->all;
    bool is_plain = value && (value->kind == PEL_Name || value->kind == PEL_Constant);
    if (unpacks || may_raise || is_call || (value && k->all && !is_plain)) pel_note_node(k->s, value, PEL_NOTE_EFFECT);
    if (!value) pel_each_child(node, keep_raising, arg);
}

static void keep_all_raising(pel_walk *w, pel_nodes body, uint32_t from, bool all) {
    keeping k = { w->s, all };
    for (uint32_t i = from; i < body.n; i++) keep_raising(&k, &body.at[i]);
}

static void find_inner(void *arg, pel_node **slot) {
    const pel_node *node = *slot;
    *(bool *)arg |= node->kind == PEL_Try || node->kind == PEL_TryStar || node->kind == PEL_With;
    pel_each_child(*slot, find_inner, arg);
}

/* Whether another try may run inside of this one: one that is written there, or one of a function that it calls. */
static bool has_others(pel_walk *w, pel_front front, const uint32_t *places, const pel_nodes *body) {
    bool found = false;
    for (uint32_t k = 0; k < body->n && !found; k++) find_inner(&found, &body->at[k]);
    for (uint32_t i = 0; i < front.n && !found; i++) {
        const pel_lane *lane = pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, lane);
        for (uint32_t r = places[i]; r < lane->at; r++) found |= activation->records[r].kind == PEL_R_CHILD;
    }
    return found;
}

/* Whether an exception is raised depends on data: the statement stays. */
static pel_front walk_tried(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    const uint32_t *places = pel_save_places(w, front);
    text->Try.body = text->Try.handlers = text->Try.orelse = text->Try.finalbody = (pel_nodes){ 0 };
    pel_env raising = pel_env_copy(w, &w->env); /* joined from wherever an exception may come */
    pel_front going = front, raised = pel_front_new(w, 0);
    pel_nodes *outer = w->out;
    uint32_t level = w->level;
    w->level++; /* data chose the lanes that go on, and those that the handlers get */
    w->out = &text->Try.body;
    w->tried++;
    bool all_raise = false;
    for (uint32_t k = 0; k < node->Try.body.n && going.n; k++) {
        uint32_t before = raised.n;
        all_raise = all_raise_in(w, going, node, k);
        if (all_raise) pel_nodes_push(w->ctx, w->out, text_of_raising(w, going, node, k));
        going = part_raising(w, going, node, k, &raised);
        w->torn += raised.n > before;
        if (going.n) going = pel_walk_statement(w, going, node->Try.body.at[k]);
        w->torn -= raised.n > before;
        pel_env_join(w, &raising, &w->env);
    }
    w->out = outer;
    w->tried--;
    if (!w->s->asked.catches && has_others(w, front, places, &node->Try.body))
        w->s->asked.catches = w->s->facts.changed = true;
    keep_all_raising(w, text->Try.body, 0, true);
    if (!raised.n) pel_lost(w, node, "an exception is raised here that nothing catches");
    pel_front rest = pel_front_new(w, 0);
    text->Try.orelse =
        all_raise ? pel_stub_body(w->ctx) : pel_walk_side(w, going, node->Try.orelse, &rest); /* caught by none */
    pel_env after = pel_env_copy(w, &w->env);
    pel_taint_stored(w, text->Try.body);
    bool hides_guards = false;
    uint32_t h = 0;
    for (; h < node->Try.handlers.n && raised.n; h++) {
        pel_front behind_it = pel_front_new(w, 0);
        pel_node *handler = node->Try.handlers.at[h];
        w->env = pel_env_copy(w, &raising);
        pel_nodes_push(w->ctx, &text->Try.handlers, walk_handler(w, &raised, handler, &behind_it, &hides_guards));
        if (behind_it.n) pel_env_join(w, &after, &w->env);
        rest = pel_both(w, rest, behind_it);
    }
    if (raised.n) pel_lost(w, node, "an exception is raised here that nothing catches");
    if (hides_guards) put_first(w, &text->Try.handlers, hand_guards_on(w));
    if (h < node->Try.handlers.n) pel_nodes_push(w->ctx, &text->Try.handlers, refuse_exceptions(w));
    w->env = after;
    w->level = level + (rest.n < front.n);
    pel_note_exits(w, front);
    pel_taint_stored(w, pel_nodes_one(w->ctx, text));
    w->effect = true;
    pel_write_statement(w, text);
    return rest;
}

bool pel_is_settled_body(pel_walk *w, pel_front front, const pel_untried *body) {
    search for_data = { .w = w };
    for (uint32_t k = 0; k < body->source.n; k++) find_data(&for_data, &body->source.at[k]);
    if (for_data.found) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_lane *lane = pel_lane_at(w, front, i);
        const pel_activation *activation = pel_lane_activation(w, lane);
        if (pel_met_data(w->s, activation, body->places[i], lane->at, &w->s->asked.training)) return false;
        for (uint32_t r = body->places[i]; r < lane->at; r++)
            if (activation->records[r].kind == PEL_R_CHILD && !is_settled_child(w, activation->records[r].value))
                return false;
    }
    return true;
}

pel_nodes pel_refuse_raising(pel_walk *w, pel_front front, const pel_untried *body, pel_nodes written) {
    bool is_guarded = written.n && !pel_is_settled_body(w, front, body);
    keep_all_raising(w, written, 0, is_guarded);
    if (!is_guarded) return written;
    pel_node *text = pel_node_new(w->ctx, PEL_Try);
    text->lineno = body->at->lineno;
    text->Try.body = written;
    text->Try.handlers = pel_nodes_one(w->ctx, refuse_exceptions(w));
    w->effect = true; /* a call that raises must stay */
    return pel_nodes_one(w->ctx, text);
}

/* isinstance(x, Proxy), and imports: data can't make them raise. */
static bool only_asks_types(const pel_nodes *body) {
    for (uint32_t k = 0; k < body->n; k++) {
        const pel_node *node = body->at[k], *value = node->kind == PEL_Return ? node->Return.value : NULL;
        if (node->kind == PEL_Import || node->kind == PEL_ImportFrom) continue;
        if (!value || value->kind != PEL_Call || value->Call.func->kind != PEL_Name) return false;
        if (!pel_name_is(value->Call.func->Name.id, "isinstance")) return false;
    }
    return true;
}

/* No run raised anything here. What raises in functions that are called from here shows itself, unless a try further
 * out would take it for an answer of its own: then it is said that the path was not recorded. Where data can't raise
 * anything, the body is all there is. */
static pel_front walk_quiet(pel_walk *w, pel_front front, pel_node *node) {
    bool has_handlers = node->Try.handlers.n > 0;
    const pel_untried own = { node, node->Try.body, pel_save_places(w, front) };
    pel_nodes *outer = w->out, body = { 0 };
    if (outer) w->out = &body;
    w->tried += has_handlers;
    pel_front rest = pel_walk_body(w, front, node->Try.body);
    w->tried -= has_handlers;
    w->out = outer;
    bool is_small =
        has_handlers && !has_others(w, front, own.places, &node->Try.body) && !only_asks_types(&node->Try.body);
    if (w->s->asked.catches || is_small)
        body = pel_refuse_raising(w, front, &own, body);
    else if (has_handlers)
        keep_all_raising(w, body, 0, false);
    for (uint32_t i = 0; i < body.n; i++) pel_write_statement(w, body.at[i]);
    return pel_walk_body(w, rest, node->Try.orelse);
}

pel_front pel_walk_try(pel_walk *w, pel_front front, pel_node *node) {
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
        rest = walk_quiet(w, front, node);
    }
    w->finally = outer;
    for (uint32_t i = 0; node->Try.finalbody.n && i < front.n; i++) {
        pel_lane_state state = pel_lane_at(w, front, i)->state;
        if (state == PEL_LANE_BROKE || state == PEL_LANE_CONTINUED)
            pel_lost(w, node, "a loop is left through finally, which is not supported");
    }
    return pel_walk_body(w, rest, node->Try.finalbody);
}
