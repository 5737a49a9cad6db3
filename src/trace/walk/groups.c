/* Which activations are told by one text, and what parameters that has: *args and **kwargs become one for each item. */
#include "trace/passes.h"
#include "trace/synth.h"

pel_id pel_argument(const pel_log *log, pel_id activation, const pel_param *param) {
    pel_id id = log->activations.at[activation].locals[param->local];
    const pel_value *whole = pel_value_at(log, id);
    if (param->kind == PEL_PARAM_PLAIN || param->kind == PEL_PARAM_STAR) return id;
    if (param->kind == PEL_PARAM_STAR_ITEM) return param->item < whole->n ? whole->items[param->item] : 0;
    return pel_item_named(log, whole, param->key);
}

bool pel_ran(const pel_synth *s, pel_id code) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->code == code) return true;
    return false;
}

static const pel_value *first_argument(const pel_log *log, const pel_activation *activation) {
    const pel_code_object *code = log->codes.at[activation->code].code;
    if (code->argcount > 0) return pel_value_at(log, activation->locals[0]);
    if (code->flags & PEL_CO_VARARGS) {
        const pel_value *star = pel_value_at(log, activation->locals[code->kwonlyargcount]);
        if (star->kind == PEL_V_TUPLE && star->n) return pel_value_at(log, star->items[0]);
    }
    return NULL;
}

/* Whether a function keeps a method in a cell: what a decorator made of it, whatever it calls its first parameter. */
static bool wraps_method(const pel_log *log, const pel_activation *activation) {
    const pel_code_object *code = log->codes.at[activation->code].code;
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        const pel_value *cell = pel_value_at(log, activation->cells[code->cellvars.n + i]);
        if (cell->kind == PEL_V_FUNCTION && log->codes.at[cell->code].class) return true;
    }
    return false;
}

/* The class that a function is a method of in this activation, or 0. */
static pel_id class_of_self(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_hook *hook = pel_map_pointer(&s->hooks.of_activation, id);
    if (hook && !hook->first) return 0; /* a function, whatever its first parameter is called */
    const pel_log_code *row = &s->log->codes.at[activation->code];
    const pel_value *first = first_argument(s->log, activation);
    if (!first) return 0;
    bool named_self = row->code->argcount > 0 && pel_name_is(row->code->varnames.at[0], "self");
    bool wraps = (row->code->flags & PEL_CO_NESTED) &&
                 (row->code->argcount == 0 || (!named_self && wraps_method(s->log, activation)));
    if (!row->class && !named_self && !wraps && !pel_map_has(&s->hooks.owner_of, id)) return 0;
    if (first->kind == PEL_V_MODULE) return pel_module_at(s->log, first->module)->class;
    bool instance = first->kind == PEL_V_OBJECT || first->kind == PEL_V_DICT || first->kind == PEL_V_LIST ||
                    first->kind == PEL_V_TUPLE || first->kind == PEL_V_SET;
    return instance && !wraps ? first->class : 0;
}

bool pel_made_in_run(const pel_synth *s, const pel_author *author) {
    if (!author->node) return false;
    if (!author->within || author->within->kind == PEL_ClassDef) return false;
    for (pel_id id = 1; id < s->log->codes.n; id++)
        if (s->authors[id].node == author->within) return true;
    return false;
}

static uint64_t key_of(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    uint64_t key = pel_key2(1, activation->code);
    if (pel_made_in_run(s, &s->authors[activation->code])) return key;
    key = pel_key2(key, class_of_self(s, id));
    bool wraps = false; /* wrappers: one for each function that they wrap */
    for (uint32_t i = 0; i < code->freevars.n; i++) {
        pel_id id_of_cell = activation->cells[code->cellvars.n + i];
        const pel_value *cell = pel_value_at(s->log, id_of_cell);
        if (pel_map_has(&s->hooks.of_activation, id) && pel_plain(s, id_of_cell))
            key = pel_key2(key, id_of_cell); /* one per text */
        if (cell->kind != PEL_V_FUNCTION) continue;
        key = pel_key2(key, cell->code);
        wraps = true;
    }
    uint32_t next = code->argcount + code->kwonlyargcount;
    if (code->flags & PEL_CO_VARARGS) key = pel_key2(key, pel_value_at(s->log, activation->locals[next++])->n);
    if (code->flags & PEL_CO_VARKEYWORDS && wraps) { /* others get the keys of all calls as parameters */
        const pel_value *dict = pel_value_at(s->log, activation->locals[next]);
        uint64_t sum = 0; /* the order of the keys does not matter */
        for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
            const pel_value *name = pel_value_at(s->log, dict->items[i]);
            if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR)
                sum += pel_hash(name->constant->text.ptr, name->constant->text.len);
        }
        key = pel_key2(key, sum);
    }
    return pel_key2(key, pel_map_find(&s->split, id, 0));
}

static pel_node *default_of(const pel_node *args, uint32_t index) {
    uint32_t plain = args->arguments.posonlyargs.n + args->arguments.args.n, first = plain - args->arguments.defaults.n;
    if (index < plain) return index >= first ? args->arguments.defaults.at[index - first] : NULL;
    return args->arguments.kw_defaults.at[index - plain];
}

pel_name pel_free_name(pel_synth *s, const pel_code_object *code, pel_name key) {
    bool taken = false;
    for (uint32_t i = 0; i < code->localsplus.n; i++) taken |= code->localsplus.at[i] == key;
    if (!taken) return key;
    pel_str text = pel_format(s->ctx, "%s_", key->text);
    return pel_intern_str(s->ctx, text);
}

typedef PEL_VEC(pel_param) param_list;

static const pel_node *arguments_of(const pel_node *function) {
    if (!function) return NULL;
    if (function->kind == PEL_Lambda) return function->Lambda.args;
    bool has_arguments = function->kind == PEL_FunctionDef || function->kind == PEL_AsyncFunctionDef;
    return has_arguments ? function->FunctionDef.args : NULL;
}

/* A function inside of another has one text, however many items its calls pass: *args stays whole. */
static bool has_open_star(const pel_synth *s, const pel_group *group, uint32_t local) {
    uint32_t n = pel_value_at(s->log, s->log->activations.at[group->lanes[0]].locals[local])->n;
    for (uint32_t i = 1; i < group->n_lanes; i++)
        if (pel_value_at(s->log, s->log->activations.at[group->lanes[i]].locals[local])->n != n) return true;
    return false;
}

/* Each item of *args, which all calls have as many of; `local` is the variable that holds them. */
static void add_star_items(pel_synth *s, const pel_group *group, uint32_t local, param_list *params) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    pel_str star = pel_name_str(code->varnames.at[local]);
    uint32_t n = pel_value_at(s->log, s->log->activations.at[group->lanes[0]].locals[local])->n;
    for (uint32_t i = 0; i < n; i++) {
        pel_str text = pel_format(s->ctx, "%s_%u", star.ptr, i);
        if (i == 0 && group->class && code->argcount == 0)
            text = PEL_STR("self");
        else if (n == 1 && star.len > 1)
            text = pel_str_cut(star, 0, star.len - (star.ptr[star.len - 1] == 's'));
        pel_push(s->ctx, params,
                 ((pel_param){
                     .name = pel_intern_str(s->ctx, text), .local = local, .kind = PEL_PARAM_STAR_ITEM, .item = i }));
    }
}

/* Each key of **kwargs that any call passes. */
static void add_keys(pel_synth *s, const pel_group *group, uint32_t local, param_list *params) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    pel_map count = { 0 }; /* key -> calls that pass it */
    uint32_t first = params->n;
    for (uint32_t l = 0; l < group->n_lanes; l++) {
        const pel_value *dict = pel_value_at(s->log, s->log->activations.at[group->lanes[l]].locals[local]);
        for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
            const pel_value *text = pel_value_at(s->log, dict->items[i]);
            if (text->kind != PEL_V_CONST || text->constant->kind != PEL_CONST_STR) continue;
            pel_name key = pel_intern_str(s->ctx, text->constant->text);
            uint64_t before = pel_map_find(&count, PEL_KEY(key), 0);
            pel_map_set(s->ctx, &count, PEL_KEY(key), before + 1);
            if (before) continue;
            pel_push(s->ctx, params,
                     ((pel_param){ .name = pel_free_name(s, code, key),
                                   .local = local,
                                   .kind = PEL_PARAM_KEY_ITEM,
                                   .key = key,
                                   .keyword_only = true }));
        }
    }
    for (uint32_t p = first; p < params->n; p++)
        params->at[p].optional = pel_map_find(&count, PEL_KEY(params->at[p].key), 0) < group->n_lanes;
}

static void make_params(pel_synth *s, pel_group *group) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    const pel_node *args = arguments_of(group->author->node);
    param_list params = { 0 };
    uint32_t n_plain = code->argcount + code->kwonlyargcount;
    for (uint32_t i = 0; i < n_plain; i++) {
        pel_node *fallback = args ? default_of(args, i) : NULL;
        pel_push(s->ctx, &params,
                 ((pel_param){ .name = code->varnames.at[i],
                               .local = i,
                               .keyword_only = i >= code->argcount,
                               .fallback = fallback,
                               .author_default = fallback }));
    }
    bool has_star = code->flags & PEL_CO_VARARGS;
    if (has_star && has_open_star(s, group, n_plain)) {
        pel_param whole = { .name = code->varnames.at[n_plain], .local = n_plain, .kind = PEL_PARAM_STAR };
        pel_push(s->ctx, &params, whole);
    } else if (has_star)
        add_star_items(s, group, n_plain, &params);
    if (code->flags & PEL_CO_VARKEYWORDS) add_keys(s, group, n_plain + has_star, &params);
    group->params = params.at;
    group->n_params = params.n;
}

bool pel_runs_module(pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_code_object *code = s->log->codes.at[activation->code].code;
    const pel_value *self = first_argument(s->log, activation);
    bool is_forward =
        pel_name_is(code->name, "forward") || (code->flags & PEL_CO_NESTED) || pel_map_has(&s->hooks.owner_of, id);
    return !activation->direct && is_forward && class_of_self(s, id) && self && self->kind == PEL_V_MODULE &&
           pel_module_at(s->log, self->module)->in_tree;
}

/* Activations that a straight line above them tells, or a text that is kept as it is. */
static bool *find_told(pel_synth *s) {
    const pel_log *log = s->log;
    uint8_t *level = pel_new_array(s->ctx, log->activations.n, uint8_t); /* of the line that an activation is in */
    bool *told = pel_find_kept(s);
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        uint8_t above = level[activation->parent];
        told[id] |= above == PEL_STRAIGHT_FLAT || (above && !pel_runs_module(s, id));
        level[id] = told[id] ? above : (uint8_t)pel_map_find(&s->program->straight, activation->code, 0);
    }
    return told;
}

static void group_activations(pel_synth *s) {
    const pel_log *log = s->log;
    pel_map by_key = { 0 };
    const bool *told = find_told(s);
    s->groups.n = 0;
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_author *author = &s->authors[activation->code];
        s->group_of[id] = NULL;
        if (told[id]) continue;
        bool comprehension = author->node && author->node->kind != PEL_FunctionDef &&
                             author->node->kind != PEL_AsyncFunctionDef && author->node->kind != PEL_Lambda;
        if (comprehension) continue; /* part of the function around it */
        if (activation->run < log->runs.n && !log->runs.at[activation->run].result) continue; /* the run failed */
        uint64_t key = key_of(s, id), number;
        if (!pel_map_get(&by_key, key, &number)) {
            pel_group *group = pel_new(s->ctx, pel_group);
            number = s->groups.n;
            pel_map_set(s->ctx, &by_key, key, number);
            *group = (pel_group){ .number = (uint32_t)number, .code = activation->code, .author = author };
            group->is.nested = pel_made_in_run(s, author);
            if (!group->is.nested) group->class = class_of_self(s, id);
            /* callers may pass an object whose methods are the author's */
            group->is.pinned = group->class && pel_map_has(&s->objects.given, pel_given_class(group->class)) &&
                               !pel_name_is(log->codes.at[activation->code].code->name, "__init__");
            group->is.init = group->class && pel_name_is(log->codes.at[group->code].code->name, "__init__");
            group->is.generator = (log->codes.at[group->code].code->flags & PEL_CO_GENERATOR) != 0;
            pel_push(s->ctx, &s->groups, group);
        }
        pel_group *group = s->groups.at[number];
        s->group_of[id] = group;
        if (group->n_lanes == group->cap_lanes)
            group->lanes = pel_grow(s->ctx, group->lanes, group->n_lanes, &group->cap_lanes, sizeof *group->lanes);
        group->lanes[group->n_lanes++] = id;
        for (uint32_t r = 0; r < log->runs.n; r++)
            if (log->runs.at[r].activation == id) group->is.root = true;
    }
    for (uint32_t i = 0; i < s->groups.n; i++) make_params(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->is.root) pel_mark_given(s, s->groups.at[i]);
}

bool pel_pass_groups(pel_synth *s) {
    if (s->regroup) group_activations(s);
    return false;
}

/* Callers come before what they call, so one way back hands on what is known of the called. */
bool pel_pass_extents(pel_synth *s) {
    const pel_log *log = s->log;
    s->extents = pel_new_array(s->ctx, log->activations.n, pel_extent);
    for (uint32_t i = 1; i < log->events.n; i++) {
        pel_extent *extent = &s->extents[log->events.at[i].activation];
        if (!extent->end_event) extent->first_event = i;
        extent->end_event = i + 1;
    }
    for (pel_id id = log->activations.n; id-- > 1;) {
        pel_extent *own = &s->extents[id], *caller = &s->extents[log->activations.at[id].parent];
        if (own->end <= id) own->end = id + 1;
        if (caller->end < own->end) caller->end = own->end;
        if (!own->end_event) continue;
        if (!caller->end_event || caller->first_event > own->first_event) caller->first_event = own->first_event;
        if (caller->end_event < own->end_event) caller->end_event = own->end_event;
    }
    return false;
}

/* Functions that get several texts: what their calls are given differs in a way that one text can't say. */

#define MOST_PARTS 16 /* of one function, by one argument */

/* Which object a lane's parameter holds, if it was there before the run and can't be written; else 0. */
static uint64_t object_in(const pel_synth *s, pel_id activation, const pel_param *param) {
    pel_id id = s->log->activations.at[activation].locals[param->local];
    const pel_value *value = pel_value_at(s->log, id);
    bool is_old = pel_map_has(&s->objects.old, value->object);
    return is_old && pel_is_static_object(s, id) && value->class ? value->object : 0;
}

static uint64_t keys_in(const pel_synth *s, pel_id activation, const pel_param *param) {
    const pel_value *dict = pel_value_at(s->log, s->log->activations.at[activation].locals[param->local]);
    uint64_t sum = 1; /* the order of the keys does not matter */
    for (uint32_t i = 0; dict->kind == PEL_V_DICT && i + 1 < dict->n; i += 2) {
        const pel_value *name = pel_value_at(s->log, dict->items[i]);
        if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR)
            sum += pel_hash(name->constant->text.ptr, name->constant->text.len);
    }
    return sum;
}

static bool split_lanes(pel_synth *s, const pel_group *group, const uint64_t *parts) {
    pel_map seen = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < group->n_lanes; i++) n += pel_map_set(s->ctx, &seen, parts[i], 1);
    if (n < 2 || n > MOST_PARTS) return false;
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        uint64_t old = pel_map_find(&s->split, group->lanes[i], 0);
        pel_map_set(s->ctx, &s->split, group->lanes[i], pel_key2(old, parts[i]) | 1);
    }
    return true;
}

bool pel_split_group(pel_synth *s, const pel_group *group) {
    if (group->is.nested || group->is.root || group->n_lanes < 2) return false;
    uint64_t *parts = pel_new_array(s->ctx, group->n_lanes, uint64_t);
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        bool fits = !param->dead && param->kind != PEL_PARAM_STAR_ITEM;
        bool by_keys = param->kind == PEL_PARAM_KEY_ITEM;
        if (by_keys && (!group->why || !param->optional)) continue;
        for (uint32_t i = 0; i < group->n_lanes && fits; i++) {
            parts[i] = by_keys ? keys_in(s, group->lanes[i], param) : object_in(s, group->lanes[i], param);
            fits = parts[i] != 0;
        }
        if (fits && split_lanes(s, group, parts)) return true;
    }
    return false;
}
