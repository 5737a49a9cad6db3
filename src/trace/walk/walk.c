/* Walks each group's tree with all its lanes, again and again until nothing new is learnt. */
#include "trace/passes.h"
#include "trace/walk/walk.h"

/* ---- failing ---- */

void pel_lost(pel_walk *w, const pel_node *node, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(w->ctx, PEL_E_INCOMPLETE, 0, node ? node->lineno : 0, node ? node->col_offset : 0, format, args);
}

/* ---- values ---- */

bool pel_all_same(pel_walk *w, pel_front front, const pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!values[i] || (values[i] != values[0] && !pel_value_same(w->log, values[i], values[0]))) return false;
    return front.n > 0;
}

bool pel_dynamic(pel_walk *w, pel_front front, const pel_val *val) {
    if (pel_varies(val->taint)) return true;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_live(w->s, val->at[i])) return true;
    return false;
}

pel_id pel_self_of(const pel_walk *w, const pel_lane *lane) {
    const pel_activation *activation = &w->log->activations.at[lane->owner];
    const pel_group *group = w->group;
    if (!group->class || group->n_params == 0) return 0;
    pel_id id = activation->locals[group->params[0].local];
    const pel_value *value = pel_value_at(w->log, id);
    if (group->params[0].kind == PEL_PARAM_STAR_ITEM && value->kind == PEL_V_TUPLE && value->n)
        value = pel_value_at(w->log, value->items[0]);
    return value->kind == PEL_V_MODULE ? value->module : 0;
}

pel_front pel_front_new(pel_walk *w, uint32_t n) { return (pel_front){ pel_new_array(w->ctx, n + 1u, uint32_t), n }; }

/* ---- one function ---- */

/* Items of *args or **kwargs, which are parameters of their own. */
typedef struct item_list {
    PEL_VEC(pel_val *) items;
    PEL_VEC(pel_name) keys;
} item_list;

/* The name of *args or **kwargs: its parts are known, and there is no such thing in the output. */
static void bind_whole(pel_walk *w, pel_name name, const item_list *list, bool by_key) {
    pel_parts *parts = pel_new(w->ctx, pel_parts);
    *parts = (pel_parts){ list->items.n, NULL, list->items.at };
    if (by_key) parts->keys = list->keys.at ? list->keys.at : pel_new_array(w->ctx, 1, pel_name);
    const pel_taint **taints = pel_new_array(w->ctx, parts->n + 1u, const pel_taint *);
    for (uint32_t i = 0; i < parts->n; i++) taints[i] = parts->items[i]->taint;
    const pel_taint *taint = pel_taint_tuple(w->ctx, taints, parts->n);
    pel_slot *slot = pel_env_slot(w, name);
    slot->parts = parts;
    bool is_ordered_by_caller = (w->group->is.root || w->group->is.pinned) && parts->n > 1;
    bool is_open = by_key && (pel_varies(taint) || is_ordered_by_caller);
    slot->taint = is_open ? pel_taint_each(w->ctx, &pel_tainted) : taint;
    slot->gone = true;
}

static pel_val *value_given(pel_walk *w, pel_front front, pel_param *param) {
    pel_val *given = pel_val_new(w, front, pel_make_name(w->ctx, param->name, PEL_Load));
    given->taint = pel_taint_fact(param->taint);
    if (param->kind == PEL_PARAM_STAR) given->taint = &pel_tainted; /* calls say how many there are */
    if (param->optional) given->optional = param;
    for (uint32_t i = 0; i < front.n; i++)
        given->at[i] = pel_argument(w->log, pel_lane_at(w, front, i)->activation, param);
    return given;
}

/* def f(x, seen=[]): there is one such list for all calls. */
static void keep_default(pel_walk *w, pel_front front, const pel_param *param, const pel_id *values) {
    if (!param->author_default || param->author_default->kind == PEL_Constant) return;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, values[i]);
        if (value->kind == PEL_V_LIST || value->kind == PEL_V_DICT || value->kind == PEL_V_SET)
            pel_map_set(w->ctx, &w->s->objects.old, value->object, 1);
    }
}

/* What is known of names when the function begins. */
static void bind_parameters(pel_walk *w, pel_front front) {
    const pel_group *group = w->group;
    const pel_code_object *code = w->log->codes.at[group->code].code;
    item_list star = { 0 }, keys = { 0 };
    bool has_whole_star = false;
    for (uint32_t p = 0; p < group->n_params; p++) {
        pel_param *param = &group->params[p];
        pel_val *given = value_given(w, front, param);
        pel_slot *slot = pel_env_slot(w, param->name);
        slot->taint = given->taint;
        pel_tell_closures(w, param->name, given->taint);
        keep_default(w, front, param, given->at);
        pel_bind_lanes(w, front, slot, given->at);
        slot->is_size = param->kind == PEL_PARAM_PLAIN && !group->is.root && !group->is.pinned && !param->of &&
                        !given->lost && pel_are_one_size(w, front, given->at);
        has_whole_star |= param->kind == PEL_PARAM_STAR;
        if (param->kind == PEL_PARAM_PLAIN || param->kind == PEL_PARAM_STAR) continue;
        item_list *list = param->kind == PEL_PARAM_STAR_ITEM ? &star : &keys;
        pel_push(w->ctx, &list->items, given);
        pel_push(w->ctx, &list->keys, param->key);
    }
    uint32_t next = code->argcount + code->kwonlyargcount;
    if (code->flags & PEL_CO_VARARGS && !has_whole_star) bind_whole(w, code->varnames.at[next], &star, false);
    next += (code->flags & PEL_CO_VARARGS) != 0;
    if (code->flags & PEL_CO_VARKEYWORDS) bind_whole(w, code->varnames.at[next++], &keys, true);
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        uint64_t key = pel_key2(group->code, PEL_KEY(code->freevars.at[i]));
        pel_env_slot(w, code->freevars.at[i])->taint = pel_taint_fact(pel_map_pointer(&w->s->facts.cells, key));
    }
}

/* *args that a function inside of this one reads: it must be there under its own name. */
static void bind_captured(pel_walk *w) {
    const pel_code_object *code = w->log->codes.at[w->group->code].code;
    for (uint32_t i = 0; i < code->cellvars.n; i++) {
        pel_slot *slot = pel_env_slot(w, code->cellvars.at[i]);
        if (!slot->gone) continue;
        pel_node *whole = pel_parts_text(w, slot->parts);
        if (slot->parts->keys) pel_note_node(w->s, whole, PEL_NOTE_KEYWORDS);
        pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, pel_make_name(w->ctx, slot->name, PEL_Store), whole));
        slot->gone = false;
    }
}

static pel_front lanes_of_group(pel_walk *w) {
    const pel_group *group = w->group;
    pel_front front = pel_front_new(w, group->n_lanes);
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_activation *activation = &w->log->activations.at[group->lanes[i]];
        front.at[i] = w->lanes.n;
        pel_push(w->ctx, &w->lanes,
                 ((pel_lane){ group->lanes[i], group->lanes[i], 0, activation->n_records, PEL_LANE_RUNS }));
    }
    return front;
}

/* Lanes that came to the end of the text must be at the end of their log. */
static void check_ends(pel_walk *w, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        /* an implicit `return None` has the position of the last statement */
        while (record && record->kind == PEL_R_PUSH && pel_insn_of(w, record)->op == PEL_OP_LOAD_CONST) {
            lane->at++;
            record = pel_next_record(w, lane);
        }
        if (record && record->kind != PEL_R_RETURN)
            pel_lost(w, w->now, "the walk ends before the log of activation %u does", lane->activation);
    }
}

static void walk_function(pel_ctx *ctx, void *arg) {
    pel_walk *w = arg;
    pel_group *group = w->group;
    pel_node *node = group->author->node;
    pel_front front = lanes_of_group(w);
    pel_nodes body = { 0 };
    w->out = &body;
    w->level = group->facts.chosen;
    bind_parameters(w, front);
    bind_captured(w);
    if (node->kind == PEL_Lambda) {
        w->in_expression++; /* there is no place for assertions, which would be lost with it */
        pel_val *val = pel_eval(w, front, node->Lambda.body);
        w->in_expression--;
        w->result = val->taint;
        w->effect |= val->effect;
        pel_nodes_push(ctx, &body, pel_make_return(ctx, val->text));
    } else {
        pel_front rest = pel_walk_body(w, front, node->FunctionDef.body);
        group->facts.falls_off = rest.n > 0;
        if (rest.n) w->result = pel_taint_join(ctx, w->result, pel_constant(PEL_WHY_LITERAL)); /* None */
        check_ends(w, rest);
    }
    group->body = body;
    if (pel_taint_grow(ctx, &group->facts.result, w->result)) w->s->facts.changed = true;
    if (w->effect && !group->facts.has_effect) w->s->facts.changed = group->facts.has_effect = true;
}

static void walk_group(pel_synth *s, pel_group *group) {
    pel_walk w = { .ctx = s->ctx, .s = s, .log = s->log, .group = group, .author = group->author };
    pel_err err;
    group->why = NULL;
    if (pel_map_has(&s->program->straight, group->code)) {
        pel_walk_straight(s, group);
        if (!group->why) pel_insert_hooks(s, group);
    } else if (!group->author->node) {
        group->why = group->author->why;
        group->why_line = s->log->codes.at[group->code].code->firstlineno;
    } else if (!pel_attempt(s->ctx, walk_function, &w, &err)) {
        group->why = pel_format(s->ctx, "%s", err.what).ptr;
        group->why_line = err.line;
    } else {
        pel_insert_hooks(s, group);
    }
}

static bool met_data(const pel_synth *s, const pel_activation *activation) {
    bool asks_mode = false;
    return pel_met_data(s, activation, 0, activation->n_records, &asks_mode) || asks_mode;
}

static bool lives_on_data(const pel_synth *s, const pel_group *group) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (pel_varies(pel_taint_fact(group->params[p].taint))) return true;
    for (uint32_t i = 0; i < group->n_lanes; i++)
        for (pel_id id = group->lanes[i]; id < s->extents[group->lanes[i]].end; id++)
            if (pel_is_below(s->log, id, group->lanes[i]) && met_data(s, &s->log->activations.at[id])) return true;
    return false;
}

/* Of functions that could not be walked nothing is known but what came by them: calls of these stay, so that they must
 * have a text of another kind, unless they only compute constants. */
static void doubt_failed(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        if (!group->why || group->facts.doubted) continue;
        if (!lives_on_data(s, group)) {
            pel_taint_grow(s->ctx, &group->facts.result, pel_constant(PEL_WHY_NO_DATA));
            continue;
        }
        group->facts.doubted = group->facts.has_effect = s->facts.changed = true;
        pel_taint_grow(s->ctx, &group->facts.result, &pel_tainted);
    }
}

/* Of the round before. */
static void forget_texts(pel_synth *s) {
    s->facts.changed = s->regroup = false;
    s->calls.links.n = s->references.n = s->helpers.n = s->notes.folds.n = 0;
    s->calls.link_of = (pel_map){ 0 };
    s->program->held = (pel_map){ 0 };
    memset(s->calls.linked, 0, s->log->activations.n * sizeof *s->calls.linked);
    for (uint32_t i = 0; i < s->program->classes.n; i++) s->program->classes.at[i]->needs.n = 0;
}

/* ---- passes ---- */

bool pel_pass_walk(pel_synth *s) {
    forget_texts(s);
    for (uint32_t i = 0; i < s->groups.n; i++) walk_group(s, s->groups.at[i]);
    return s->facts.changed || s->regroup;
}

bool pel_pass_doubt(pel_synth *s) {
    doubt_failed(s);
    return s->facts.changed;
}

/* A parameter that no call was seen to pass anything for, because what calls the function is none of ours: torch, a
 * library, a hook. What it gets there is not known. */
bool pel_pass_depends(pel_synth *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        uint32_t first = group->class != 0; /* what is read off self has its own */
        for (uint32_t p = first; p < group->n_params && !group->why && !group->is.root; p++)
            if (!group->params[p].taint) changed |= pel_taint_grow(s->ctx, &group->params[p].taint, &pel_taint_unknown);
    }
    s->facts.changed |= changed;
    return changed;
}

bool pel_pass_live(pel_synth *s) {
    pel_find_live(s);
    return false;
}

bool pel_pass_hooks(pel_synth *s) {
    pel_find_hooks(s);
    return false;
}

pel_synth *pel_synth_new(pel_ctx *ctx, pel_program *program) {
    const pel_log *log = program->log;
    pel_synth *s = pel_new(ctx, pel_synth);
    *s = (pel_synth){ .ctx = ctx, .log = log, .program = program };
    s->authors = program->authors = pel_align(ctx, log);
    for (uint32_t r = 0; r < log->runs.n; r++) {
        s->asked.trained |= log->runs.at[r].training;
        s->asked.evaluated |= !log->runs.at[r].training;
    }
    return s;
}
