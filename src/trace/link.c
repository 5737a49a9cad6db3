/* From walked groups to a program: who calls whom with which parameters, what nobody needs, what everything is called.
 */
#include "trace/lanes.h"

/* ---- parameters ---- */

/* Whether a keyword of the root was put there by wrappers, and not by who called the model. */
static bool is_of_wrappers(const pel_synth *s, const pel_param *param) {
    if (param->kind != PEL_PARAM_KEY_ITEM) return false;
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        for (uint32_t i = 0; i < s->log->runs.at[r].n_kwargs; i++)
            if (s->log->runs.at[r].kwargs[i].name == param->key) return false;
    return true;
}

/* Whether a parameter that nobody reads may go. */
bool pel_may_drop(const pel_synth *s, const pel_group *group, uint32_t param) {
    if (param == 0 && group->class) return group->no_self;
    if (group->is_root) return is_of_wrappers(s, &group->params[param]);
    if (!group->pinned) return true;
    /* called by torch with what it was recorded with: only what was never passed may go, from the end */
    for (uint32_t p = param; p < group->n_params; p++) {
        if (!group->params[p].fallback || group->params[p].passed || (p > param && !group->params[p].dead))
            return false;
        for (uint32_t i = 0; i < group->n_lanes; i++) {
            const pel_value *value =
                pel_value_at(s->log, s->log->activations.at[group->lanes[i]].locals[group->params[p].local]);
            if (value->kind != PEL_V_CONST) return false;
        }
    }
    return true;
}

/* [], {}, dict(): the same in any file. */
static bool is_empty_container(const pel_node *node) {
    static const char *const makers[] = { "dict", "list", "tuple", "set" };
    if (node->kind == PEL_Dict) return !node->Dict.values.n;
    if (node->kind == PEL_List || node->kind == PEL_Tuple) return !node->Tuple.elts.n;
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Name || node->Call.args.n || node->Call.keywords.n)
        return false;
    for (size_t i = 0; i < PEL_COUNT(makers); i++)
        if (pel_name_is(node->Call.func->Name.id, makers[i])) return true;
    return false;
}

/* Made of constants alone. */
static bool is_constant_text(const pel_node *node) {
    if (node->kind == PEL_UnaryOp) return is_constant_text(node->UnaryOp.operand);
    if (node->kind != PEL_List && node->kind != PEL_Tuple)
        return node->kind == PEL_Constant || is_empty_container(node);
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
        if (!is_constant_text(node->Tuple.elts.at[i])) return false;
    return true;
}

static bool is_passed(const pel_log_run *run, const pel_param *param, uint32_t place) {
    if (place < run->n_args) return true;
    for (uint32_t k = 0; k < run->n_kwargs; k++)
        if (run->kwargs[k].name == param->name) return true;
    return false;
}

/* Of the model's own forward: a run that left this parameter to its default. Of others: any call. 0: there is none. */
static pel_id lane_with_default(const pel_synth *s, const pel_group *group, uint32_t p) {
    if (!group->is_root) return group->lanes[0];
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_log_run *run = &s->log->runs.at[s->log->activations.at[group->lanes[i]].run];
        if (run->activation != group->lanes[i] || !is_passed(run, &group->params[p], p - 1)) return group->lanes[i];
    }
    return 0;
}

static pel_node *constant_default(pel_synth *s, const pel_group *group, uint32_t p) {
    pel_node *fallback = group->params[p].fallback;
    if (!fallback) return NULL;
    if (group->in_place || is_constant_text(fallback)) return pel_copy(s->ctx, fallback);
    /* an expression of the author's file: its value is what lanes that got no argument began with */
    pel_id lane = lane_with_default(s, group, p);
    pel_id value = lane ? s->log->activations.at[lane].locals[group->params[p].local] : 0;
    bool has_text = lane && (pel_plain(s, value) || pel_is_constant_tensor(s->log, pel_value_at(s->log, value)));
    pel_node *text = has_text ? pel_value_expression(s->ctx, s->program, value) : NULL;
    return text ? text : pel_make_constant(s->ctx, &pel_none);
}

/* Whether some link leaves a parameter to its default. */
static bool *left_out(pel_synth *s, const pel_group *group, const bool *active) {
    bool *left = pel_new_array(s->ctx, group->n_params + 1u, bool);
    for (uint32_t i = 0; i < s->links.n; i++) {
        const pel_link *link = s->links.at[i];
        if (link->target != group || !active[i]) continue;
        for (uint32_t p = link->receiver ? 1 : 0; p < group->n_params; p++) left[p] |= !link->args[p];
    }
    return left;
}

/* Callers that we don't write say its name; of the others we see what they say. */
static bool stands_behind_star(const pel_group *group, const pel_param *param) {
    return param->keyword_only && (group->is_root || group->in_place);
}

static pel_node *signature(pel_synth *s, pel_group *group, const bool *active) {
    pel_node *args = pel_node_new(s->ctx, PEL_arguments);
    bool *left = left_out(s, group, active);
    uint32_t first_default = group->n_params; /* from here on every parameter has a default */
    while (first_default > 0) {
        const pel_param *param = &group->params[first_default - 1];
        bool open = group->is_root || group->pinned || group->in_place;
        if (stands_behind_star(group, param)) { /* with a default or without */
            first_default--;
            continue;
        }
        bool is_gone = param->dead || (group->rest && param->forwarded);
        if (!is_gone && !(param->fallback && (open || left[first_default - 1]))) break;
        first_default--;
    }
    for (uint32_t p = 0; p < group->n_params; p++) {
        pel_param *param = &group->params[p];
        if (param->dead || (group->rest && param->forwarded)) continue;
        if (group->star && param->kind == PEL_PARAM_STAR_ITEM) continue;
        pel_node *arg = pel_node_new(s->ctx, PEL_arg);
        arg->arg.arg = param->name;
        pel_node *fallback = p >= first_default ? constant_default(s, group, p) : NULL;
        if (stands_behind_star(group, param)) {
            pel_nodes_push(s->ctx, &args->arguments.kwonlyargs, arg);
            pel_nodes_push(s->ctx, &args->arguments.kw_defaults, fallback ? fallback : constant_default(s, group, p));
        } else {
            pel_nodes_push(s->ctx, &args->arguments.args, arg);
            if (fallback) pel_nodes_push(s->ctx, &args->arguments.defaults, fallback);
        }
    }
    if (group->star) {
        args->arguments.vararg = pel_node_new(s->ctx, PEL_arg);
        args->arguments.vararg->arg.arg = group->star;
    }
    if (group->rest) {
        args->arguments.kwarg = pel_node_new(s->ctx, PEL_arg);
        args->arguments.kwarg->arg.arg = group->rest;
    }
    return args;
}

/* Of how many items of `*whole` the text of an argument is one; 0 if it is not one. */
static uint32_t star_length(const pel_synth *s, const pel_node *text) {
    uint64_t n = 0;
    pel_map_get(&s->star_items, PEL_KEY(text), &n);
    return (uint32_t)n;
}

/* f(x, pair[0], pair[1]) was f(x, *pair), and is that again if none of the items went. */
static void restore_stars(const pel_synth *s, pel_nodes *positional) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < positional->n;) {
        pel_node *first = positional->at[i];
        uint32_t n = star_length(s, first), k = 0;
        for (; k < n && i + k < positional->n; k++) {
            const pel_node *item = positional->at[i + k];
            if (star_length(s, item) != n || !pel_is_number(item->Subscript.slice, k) ||
                !pel_same(item->Subscript.value, first->Subscript.value))
                break;
        }
        bool whole = n > 1 && k == n;
        if (whole) {
            pel_node *star = pel_node_new(s->ctx, PEL_Starred);
            star->Starred.value = first->Subscript.value;
            first = star;
        }
        pel_nodes_push(s->ctx, &out, first);
        i += whole ? n : 1;
    }
    *positional = out;
}

/* An argument whose keyword says nothing that is not seen: the first one, or attention_mask=attention_mask. */
static bool speaks_for_itself(const pel_group *target, uint32_t param, uint32_t place, const pel_node *text) {
    bool is_first = place == (target->class && !target->no_self);
    return is_first || (text->kind == PEL_Name && text->Name.id == target->params[param].name);
}

static bool does_something(const pel_node *node) {
    if (node->kind == PEL_Attribute) return does_something(node->Attribute.value);
    return node->kind != PEL_Name && node->kind != PEL_Constant;
}

static bool comes_before(const pel_node *a, const pel_node *b) {
    if (!a->lineno || !b->lineno) return false;
    return a->lineno < b->lineno || (a->lineno == b->lineno && a->col_offset < b->col_offset);
}

/* f(b=g(x), a=h(x)): the order in which the author has the arguments is one in which something happens. */
static bool has_order(const pel_link *link) {
    const pel_node *last = NULL;
    for (uint32_t p = link->receiver; p < link->target->n_params; p++) {
        const pel_node *text = link->args[p];
        if (!text || link->target->params[p].dead || !link->by_keyword[p] || !does_something(text)) continue;
        if (last && comes_before(text, last)) return true;
        last = text;
    }
    return false;
}

static void sort_by_place(pel_nodes *keywords) {
    for (uint32_t i = 1; i < keywords->n; i++)
        for (uint32_t k = i; k > 0; k--) {
            pel_node **pair = &keywords->at[k - 1];
            if (!comes_before(pair[1]->keyword.value, pair[0]->keyword.value)) break;
            pel_node *later = pair[0];
            pair[0] = pair[1];
            pair[1] = later;
        }
}

/* What a call passes that the author's leaves out, where the signature has no default for it. */
static pel_node *left_out_argument(pel_synth *s, pel_group *target, uint32_t p) {
    pel_node *text = constant_default(s, target, p);
    if (text) return text;
    target->why = pel_format(s->ctx, "a call leaves out `%s`, which has no default", target->params[p].name->text).ptr;
    return pel_make_constant(s->ctx, &pel_none);
}

static void write_callee(pel_synth *s, const pel_link *link) {
    pel_node *call = link->node;
    const pel_program_function *function = link->target->function; /* none if it is written in place */
    if (link->callee == PEL_CALLEE_NAME || link->callee == PEL_CALLEE_STATIC)
        call->Call.func = pel_make_name(s->ctx, function->name, PEL_Load);
    else if (link->callee == PEL_CALLEE_METHOD)
        call->Call.func->Attribute.attr = function->name;
    else if (link->implied && function->name != link->implied) /* one of several */
        call->Call.func = pel_make_attribute(s->ctx, call->Call.func, function->name, PEL_Load);
}

/* Puts the arguments that are left into the call. */
static void write_call(pel_synth *s, pel_link *link, const pel_node *args) {
    if (link->node->kind != PEL_Call) return; /* a property */
    pel_group *target = link->target;
    pel_nodes positional = { 0 }, keywords = { 0 };
    uint32_t n_defaults = args->arguments.defaults.n, n_args = args->arguments.args.n, at = 0;
    bool by_name = false, ordered = has_order(link);
    for (uint32_t p = 0; p < target->n_params; p++) {
        if (target->params[p].dead) continue;
        if (target->rest && target->params[p].forwarded) {
            if (!link->args[p]) continue;
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].key, link->args[p]));
            by_name = true;
            continue;
        }
        uint32_t place = at++;
        if (p == 0 && link->receiver) continue;
        pel_node *text = link->args[p];
        if (!text && (place >= n_args - n_defaults || place >= n_args)) { /* its default serves */
            by_name = true;
            continue;
        }
        if (!text) text = left_out_argument(s, target, p);
        bool plain =
            !link->by_keyword[p] || (!target->is_root && !ordered && speaks_for_itself(target, p, place, text));
        if (by_name || !plain) {
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].name, text));
            by_name = true;
        } else {
            pel_nodes_push(s->ctx, &positional, text);
        }
    }
    restore_stars(s, &positional);
    if (ordered) sort_by_place(&keywords);
    link->node->Call.args = positional;
    link->node->Call.keywords = keywords;
    write_callee(s, link);
}

/* ---- what is reached ---- */

typedef struct reach {
    pel_synth *s;
    bool *active; /* per link */
    pel_map link_number;
    bool *seen;        /* per group */
    pel_map reference; /* node -> group */
    pel_map referred;  /* name of such a node -> group */
    PEL_VEC(pel_group *) todo;
} reach;

static void reach_group(reach *r, pel_group *group) {
    while (group && group->instead) group = group->instead;
    if (!group || r->seen[group->number]) return;
    r->seen[group->number] = true;
    pel_push(r->s->ctx, &r->todo, group);
}

static void reach_node(void *arg, pel_node **slot) {
    reach *r = arg;
    uint64_t number;
    if (pel_map_get(&r->link_number, PEL_KEY(*slot), &number)) {
        r->active[number] = true;
        reach_group(r, r->s->links.at[number]->target);
    }
    uint64_t group;
    if (pel_map_get(&r->reference, PEL_KEY(*slot), &group))
        reach_group(r, (pel_group *)(uintptr_t)group);
    else if ((*slot)->kind == PEL_Name && pel_map_get(&r->referred, PEL_KEY((*slot)->Name.id), &group))
        reach_group(r, (pel_group *)(uintptr_t)group); /* a copy of one that was noted */
    pel_each_part(r->s, *slot, reach_node, r);
}

static void note_references(reach *r) {
    pel_synth *s = r->s;
    for (uint32_t i = 0; i < s->references.n; i++) {
        const pel_reference *ref = &s->references.at[i];
        if (!ref->group || pel_map_has(&s->program->straight, ref->group->code)) continue;
        pel_map_set(s->ctx, &r->reference, PEL_KEY(ref->node), PEL_KEY(ref->group));
        if (ref->node->kind == PEL_Name)
            pel_map_set(s->ctx, &r->referred, PEL_KEY(ref->node->Name.id), PEL_KEY(ref->group));
    }
}

typedef PEL_VEC(pel_group *) group_list;

/* What torch calls back hangs below the functions that called torch: number of such a group -> group_list. What nobody
 * called is reached at once. */
static pel_map find_called_back(reach *r) {
    pel_synth *s = r->s;
    pel_map called_back = { 0 };
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        pel_group *group = s->group_of[id];
        if (!group || s->linked[id] || group->in_place) continue;
        if (pel_map_has(&s->hook_of, id)) {
            reach_group(r, group);
            continue;
        }
        pel_id parent = s->log->activations.at[id].parent;
        while (parent && !s->group_of[parent]) parent = s->log->activations.at[parent].parent; /* comprehensions */
        if (!parent) { /* the root is torch's own class: what it calls of the author's are modules */
            if (group->class && pel_class_at(s->log, group->class)->kind == PEL_CLASS_MODULE) reach_group(r, group);
            continue;
        }
        uint64_t list;
        if (!pel_map_get(&called_back, s->group_of[parent]->number, &list)) {
            list = PEL_KEY(pel_new(s->ctx, group_list));
            pel_map_set(s->ctx, &called_back, s->group_of[parent]->number, list);
        }
        group_list *groups = (group_list *)(uintptr_t)list;
        if (!groups->n || groups->at[groups->n - 1] != group) pel_push(s->ctx, groups, group);
    }
    return called_back;
}

static reach find_reached(pel_synth *s) {
    reach r = { .s = s,
                .active = pel_new_array(s->ctx, s->links.n + 1u, bool),
                .seen = pel_new_array(s->ctx, s->groups.n + 1u, bool) };
    for (uint32_t i = 0; i < s->links.n; i++) pel_map_set(s->ctx, &r.link_number, PEL_KEY(s->links.at[i]->node), i);
    note_references(&r);
    pel_map called_back = find_called_back(&r);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->is_root) reach_group(&r, s->groups.at[i]);
    for (uint32_t i = 0; i < s->references.n; i++)
        if (s->references.at[i].held) reach_group(&r, s->references.at[i].group);
    for (uint32_t i = 0; i < r.todo.n; i++) {
        pel_group *group = r.todo.at[i];
        for (uint32_t k = 0; k < group->body.n; k++) reach_node(&r, &group->body.at[k]);
        uint64_t list;
        if (!pel_map_get(&called_back, group->number, &list)) continue;
        const group_list *groups = (const group_list *)(uintptr_t)list;
        for (uint32_t k = 0; k < groups->n; k++) reach_group(&r, groups->at[k]);
    }
    return r;
}

/* ---- references: nested functions, lambdas, functions as values ---- */

static void resolve_references(pel_synth *s) {
    pel_group **by_code = pel_new_array(s->ctx, s->log->codes.n, pel_group *);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (!by_code[s->groups.at[i]->code]) by_code[s->groups.at[i]->code] = s->groups.at[i];
    for (uint32_t i = 0; i < s->references.n; i++) s->references.at[i].group = by_code[s->references.at[i].code];
}

static pel_node *lambda_body(const pel_group *group) {
    return group->body.n == 1 && group->body.at[0]->kind == PEL_Return ? group->body.at[0]->Return.value : NULL;
}

static void fill_nested(pel_synth *s) {
    for (uint32_t i = 0; i < s->references.n; i++) {
        pel_node *node = s->references.at[i].node;
        pel_group *group = s->references.at[i].group;
        if (!group) continue;
        if (node->kind == PEL_FunctionDef)
            node->FunctionDef.body = group->body;
        else if (node->kind == PEL_Lambda) {
            pel_node *body = lambda_body(group);
            node->Lambda.body = body ? body : pel_make_constant(s->ctx, &pel_none);
        }
    }
}

/* ---- functions that only forward ---- */

static bool is_literal(const pel_node *node) {
    return node->kind == PEL_Constant || (node->kind == PEL_UnaryOp && node->UnaryOp.operand->kind == PEL_Constant);
}

pel_param *pel_param_named(const pel_group *group, pel_name name) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (group->params[p].name == name && !group->params[p].dead) return &group->params[p];
    return NULL;
}

/* The call that is all a function does, if it passes on nothing but its parameters and constants. */
static pel_link *only_call(const pel_synth *s, const pel_group *group) {
    if (group->body.n != 1 || group->body.at[0]->kind != PEL_Return || !group->body.at[0]->Return.value) return NULL;
    pel_node *call = group->body.at[0]->Return.value;
    pel_link *link = call->kind == PEL_Call ? pel_link_at(s, call) : NULL;
    if (!link || link->target == group || link->target->in_place || link->target->instead || group->is_property)
        return NULL;
    if (link->receiver) { /* self.other(...) */
        const pel_node *func = call->Call.func;
        if (link->callee != PEL_CALLEE_METHOD || !group->class || func->Attribute.value->kind != PEL_Name ||
            func->Attribute.value->Name.id != group->params[0].name || link->target->class != group->class)
            return NULL;
    } else if (link->callee != PEL_CALLEE_NAME || group->class)
        return NULL;
    for (uint32_t p = link->receiver; p < link->target->n_params; p++) {
        const pel_node *arg = link->args[p];
        if (link->target->params[p].dead || !arg || is_literal(arg)) continue;
        if (arg->kind != PEL_Name || !pel_param_named(group, arg->Name.id)) return NULL;
    }
    return link;
}

/* A keyword that a wrapper takes and the function in it does not: it goes if no run was given it. */
static bool is_left_out(const pel_synth *s, const pel_group *outer, const pel_link *inner, uint32_t q) {
    const pel_param *param = &outer->params[q];
    if (!outer->is_root || !param->keyword_only || param->kind != PEL_PARAM_PLAIN) return false;
    for (uint32_t p = inner->receiver; p < inner->target->n_params; p++) {
        const pel_node *arg = inner->args[p];
        if (arg && arg->kind == PEL_Name && arg->Name.id == param->name) return false;
    }
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        for (uint32_t k = 0; k < s->log->runs.at[r].n_kwargs; k++)
            if (s->log->runs.at[r].kwargs[k].name == param->name) return false;
    return true;
}

/* The name that callers of the root know a parameter by. */
static pel_name outer_name(const pel_synth *s, const pel_group *root, const pel_param *param) {
    if (param->kind == PEL_PARAM_PLAIN) return s->log->codes.at[root->code].code->varnames.at[param->local];
    return param->kind == PEL_PARAM_KEY_ITEM ? param->key : param->name;
}

/* Whether the inner function can stand where the outer one is called from outside: the same parameters in order. */
static bool stands_in(const pel_synth *s, const pel_group *outer, const pel_link *inner) {
    uint32_t q = inner->receiver;
    for (uint32_t p = inner->receiver; p < inner->target->n_params; p++) {
        const pel_param *param = &inner->target->params[p];
        const pel_node *arg = inner->args[p];
        if (!arg) {
            if (!param->dead && !param->fallback) return false;
            continue;
        }
        while (q < outer->n_params && (outer->params[q].dead || is_left_out(s, outer, inner, q))) q++;
        if (param->dead) continue;
        if (arg->kind != PEL_Name || q >= outer->n_params) return false;
        if (outer->is_root && outer->params[q].kind != PEL_PARAM_PLAIN) { /* *args, **kwargs: by name */
            if (!pel_param_named(outer, arg->Name.id)) return false;
            q++;
            continue;
        }
        if (outer->params[q].name != arg->Name.id) return false;
        if (outer->is_root && outer_name(s, inner->target, param) != arg->Name.id) return false;
        q++;
    }
    return true;
}

/* The root is called by its author's names, whatever shorter text was made of it before, and by the keywords that its
 * **kwargs took, whatever its variables are called. */
static void give_back_names(pel_synth *s, pel_group *root) {
    pel_nodes body = { 0 };
    for (uint32_t p = 0; p < root->n_params; p++) {
        pel_param *param = &root->params[p];
        pel_name given = outer_name(s, root, param);
        if (param->name == given) continue;
        if (!param->unread)
            pel_nodes_push(s->ctx, &body,
                           pel_make_assign(s->ctx, pel_make_name(s->ctx, param->name, PEL_Store),
                                           pel_make_name(s->ctx, given, PEL_Load)));
        param->name = given;
    }
    if (!body.n) return;
    for (uint32_t i = 0; i < root->body.n; i++) pel_nodes_push(s->ctx, &body, root->body.at[i]);
    root->body = body;
}

/* A call of a wrapper becomes a call of what it wraps. */
static void redirect(pel_synth *s, pel_link *link, const pel_group *wrapper, const pel_link *inner) {
    pel_group *target = inner->target;
    pel_node **args = pel_new_array(s->ctx, target->n_params + 1u, pel_node *);
    bool *by_keyword = pel_new_array(s->ctx, target->n_params + 1u, bool);
    for (uint32_t p = inner->receiver; p < target->n_params; p++) {
        const pel_node *arg = inner->args[p];
        if (!arg) continue;
        by_keyword[p] = inner->by_keyword[p];
        if (is_literal(arg)) { /* also where nobody reads it: it is the default, should the function be the root */
            args[p] = pel_copy(s->ctx, arg);
            continue;
        }
        const pel_param *handed = arg->kind == PEL_Name ? pel_param_named(wrapper, arg->Name.id) : NULL;
        if (!handed) continue; /* dead */
        uint32_t q = (uint32_t)(handed - wrapper->params);
        by_keyword[p] = link->by_keyword[q];
        args[p] = link->args[q];
        if (!args[p]) args[p] = constant_default(s, wrapper, q);
    }
    link->target = target;
    link->args = args;
    link->by_keyword = by_keyword;
}

/* The wrapped function is the root instead of its wrapper: what wrappers fill in is the default that callers see. */
static void make_root(pel_synth *s, const pel_group *wrapper, const pel_link *inner) {
    pel_group *target = inner->target;
    target->is_root = true;
    target->pinned = true;
    give_back_names(s, target);
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_node *given = inner->args[p];
        for (uint32_t q = 0; given && given->kind == PEL_Name && q < wrapper->n_params; q++)
            if (wrapper->params[q].name == given->Name.id && wrapper->params[q].kind != PEL_PARAM_PLAIN)
                given = wrapper->params[q].fallback;
        if (given && is_literal(given)) target->params[p].fallback = pel_copy(s->ctx, given);
        if (target->params[p].kind == PEL_PARAM_PLAIN) target->params[p].dead = false;
    }
}

static bool collapse(pel_synth *s, pel_group *outer) {
    pel_link *inner = outer->instead || outer->why || outer->in_place ? NULL : only_call(s, outer);
    if (!inner || inner->target->why) return false;
    pel_group *target = inner->target;
    bool open = outer->is_root || outer->pinned;
    if (open && !stands_in(s, outer, inner)) return false;
    if (target->is_root && !outer->is_root) return false;
    for (uint32_t i = 0; i < s->links.n; i++)
        if (s->links.at[i]->target == outer && s->links.at[i] != inner) redirect(s, s->links.at[i], outer, inner);
    target->hint = outer->hint ? outer->hint : target->hint;
    if (outer->is_root) make_root(s, outer, inner);
    /* Who calls it is not ours to change: it takes all that the outer one took, read or not. */
    for (uint32_t p = inner->receiver; outer->pinned && p < target->n_params; p++)
        if (inner->args[p]) {
            target->params[p].dead = false;
            target->params[p].passed = true;
        }
    target->pinned |= outer->pinned;
    outer->instead = target;
    outer->is_root = outer->pinned = false;
    return true;
}

/* ---- calls that are replaced by what they return ---- */

typedef struct inlining {
    pel_synth *s;
    const pel_link *link; /* while its result is copied */
    bool changed, has_link;
} inlining;

static void see_link(void *arg, pel_node **slot) {
    inlining *in = arg;
    if (pel_link_at(in->s, *slot)) in->has_link = true;
    pel_each_child(*slot, see_link, in);
}

static void put_arguments(void *arg, pel_node **slot) {
    inlining *in = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Name) {
        const pel_param *param = pel_param_named(in->link->target, node->Name.id);
        if (!param) return;
        uint32_t p = (uint32_t)(param - in->link->target->params);
        pel_node *given = in->link->args[p] ? in->link->args[p] : constant_default(in->s, in->link->target, p);
        if (given) *slot = given->kind == PEL_Name || given->kind == PEL_Constant ? pel_copy(in->s->ctx, given) : given;
        return;
    }
    pel_each_child(node, put_arguments, in);
}

typedef struct counting {
    pel_name name;
    uint32_t n;
} counting;

static void count_one(void *arg, pel_node **slot) {
    counting *c = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == c->name) c->n++;
    pel_each_child(*slot, count_one, c);
}

static uint32_t count_name(const pel_node *node, pel_name name) {
    counting c = { name, 0 };
    pel_node *root = (pel_node *)(uintptr_t)node;
    count_one(&c, &root);
    return c.n;
}

static void inline_calls(void *arg, pel_node **slot) {
    inlining *in = arg;
    pel_each_part(in->s, *slot, inline_calls, in);
    const pel_link *link = (*slot)->kind == PEL_Call ? pel_link_at(in->s, *slot) : NULL;
    if (!link || link->callee != PEL_CALLEE_INLINE) return;
    const pel_group *target = link->target;
    if (target->body.n != 1 || target->body.at[0]->kind != PEL_Return || !target->body.at[0]->Return.value) return;
    const pel_node *result = target->body.at[0]->Return.value;
    in->has_link = false;
    pel_node *root = (pel_node *)(uintptr_t)result;
    see_link(in, &root);
    if (in->has_link || (target->n_params && !target->params[0].unread)) return;
    for (uint32_t p = 1; p < target->n_params; p++) {
        const pel_node *given = link->args[p];
        bool simple = !given || given->kind == PEL_Name || given->kind == PEL_Constant;
        if (!simple && count_name(result, target->params[p].name) > 1) return;
    }
    pel_node *copy = pel_copy(in->s->ctx, result);
    in->link = link;
    put_arguments(in, &copy);
    *slot = copy;
    in->changed = true;
}

/* ---- names ---- */

/* What the text may mean by a name when no function of the file has it. */
static bool is_builtin(pel_name name) {
    static const char *const names[] = {
        "abs",     "all",   "any",        "bool",  "callable", "dict",     "enumerate", "filter", "float",   "getattr",
        "hasattr", "int",   "isinstance", "iter",  "len",      "list",     "map",       "max",    "min",     "next",
        "open",    "print", "property",   "range", "repr",     "reversed", "round",     "set",    "setattr", "slice",
        "sorted",  "str",   "sum",        "super", "tuple",    "type",     "zip"
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    return false;
}

static pel_name unique(pel_synth *s, pel_map *taken, pel_id class, pel_name wish) {
    pel_name name = wish;
    for (unsigned i = 2; pel_map_has(taken, pel_key2(class, PEL_KEY(name))) || (!class && is_builtin(name)); i++) {
        pel_str text = pel_format(s->ctx, "%s_%u", wish->text, i);
        name = pel_intern(s->ctx, text.ptr, text.len);
    }
    pel_map_set(s->ctx, taken, pel_key2(class, PEL_KEY(name)), 1);
    return name;
}

/* Whether a name means something else in some function: a local variable, or one of Python's own. */
static bool is_used_otherwise(const pel_synth *s, pel_name name) {
    static const char *const builtins[] = { "set",  "list", "dict", "tuple", "type", "id",    "min",   "max",  "sum",
                                            "any",  "all",  "len",  "map",   "next", "iter",  "range", "abs",  "pow",
                                            "hash", "repr", "open", "input", "zip",  "round", "slice", "print" };
    for (size_t i = 0; i < PEL_COUNT(builtins); i++)
        if (pel_name_is(name, builtins[i])) return true;
    for (uint32_t c = 1; c < s->log->codes.n; c++) {
        const pel_code_object *code = s->log->codes.at[c].code;
        for (uint32_t i = 0; i < code->localsplus.n; i++)
            if (code->localsplus.at[i] == name) return true;
    }
    return false;
}

static void name_functions(pel_synth *s, const reach *r) {
    pel_map taken = { 0 };
    /* the plain names go to those that are called by them */
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < s->groups.n; i++) {
            pel_group *group = s->groups.at[i];
            if (!r->seen[i] || group->in_place || group->function) continue;
            pel_name own = s->log->codes.at[group->code].code->name;
            bool fixed = group->is_root || group->pinned || group->is_property || group->is_init ||
                         (group->hint && group->hint == own);
            if (pass == 0 && !fixed) continue;
            pel_name wish = (group->class || own->text[0] == '<') && group->hint ? group->hint : own;
            if (wish->text[0] == '<') wish = pel_intern_c(s->ctx, "function");
            if (group->is_root) wish = pel_intern_c(s->ctx, "forward");
            if (group->no_self && is_used_otherwise(s, wish)) { /* it was a method: there the name was free */
                pel_str text = pel_format(s->ctx, "%s_%s", pel_class_at(s->log, group->class)->name->text, wish->text);
                wish = pel_intern(s->ctx, text.ptr, text.len);
            }
            pel_program_function *function = pel_new(s->ctx, pel_program_function);
            *function = (pel_program_function){ .code = group->code,
                                                .class = group->no_self ? 0 : group->class,
                                                .from_source = !pel_map_has(&s->program->straight, group->code),
                                                .is_property = group->is_property };
            function->name = unique(s, &taken, function->class, wish);
            group->function = function;
        }
}

/* ---- the program ---- */

static pel_program_class *program_class(pel_synth *s, pel_id class) {
    pel_program *program = s->program;
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->class == class) return program->classes.at[i];
    pel_program_class *row = pel_new(s->ctx, pel_program_class);
    row->class = class;
    row->name = pel_class_at(s->log, class)->name;
    pel_push(s->ctx, &program->classes, row);
    return row;
}

/* The mode of torch that a decorator sets around the function, NULL if it sets none. It leaves no activation of its
 * own.
 */
const char *pel_mode_of(const pel_node *decorator) {
    static const char *const modes[] = { "no_grad", "enable_grad", "inference_mode" };
    const pel_node *name = decorator->kind == PEL_Call ? decorator->Call.func : decorator;
    if (decorator->kind == PEL_Call && (decorator->Call.args.n || decorator->Call.keywords.n)) return NULL;
    pel_name last = name->kind == PEL_Attribute ? name->Attribute.attr : name->kind == PEL_Name ? name->Name.id : NULL;
    for (size_t k = 0; k < PEL_COUNT(modes); k++)
        if (pel_name_is(last, modes[k])) return modes[k];
    return NULL;
}

static bool has_constant_arguments(const pel_node *call) {
    for (uint32_t i = 0; i < call->Call.args.n; i++)
        if (call->Call.args.at[i]->kind != PEL_Constant) return false;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++)
        if (call->Call.keywords.at[i]->keyword.value->kind != PEL_Constant) return false;
    return true;
}

/* @autocast("cuda", enabled=False): torch.amp's names the kind of device, torch.cuda.amp's does not. */
static pel_node *autocast_decorator(pel_synth *s, const pel_node *decorator) {
    if (decorator->kind != PEL_Call || !has_constant_arguments(decorator)) return NULL;
    const pel_node *func = decorator->Call.func;
    pel_name last = func->kind == PEL_Attribute ? func->Attribute.attr : func->kind == PEL_Name ? func->Name.id : NULL;
    if (!pel_name_is(last, "autocast")) return NULL;
    bool names_device = decorator->Call.args.n && decorator->Call.args.at[0]->Constant.value->kind == PEL_CONST_STR;
    pel_node *made = pel_copy(s->ctx, decorator);
    made->Call.func = pel_library_expression(
        s->ctx, s->program, names_device ? PEL_STR("torch.amp.autocast") : PEL_STR("torch.cuda.amp.autocast"));
    return made;
}

static void keep_modes(pel_synth *s, const pel_node *author, pel_node *def) {
    if (!author || author->kind != PEL_FunctionDef) return;
    for (uint32_t i = 0; i < author->FunctionDef.decorator_list.n; i++) {
        pel_node *autocast = autocast_decorator(s, author->FunctionDef.decorator_list.at[i]);
        if (autocast) pel_nodes_push(s->ctx, &def->FunctionDef.decorator_list, autocast);
        const char *name = pel_mode_of(author->FunctionDef.decorator_list.at[i]);
        if (!name) continue;
        pel_node *mode = pel_library_expression(s->ctx, s->program, pel_format(s->ctx, "torch.%s", name));
        pel_nodes_push(s->ctx, &def->FunctionDef.decorator_list,
                       pel_make_call(s->ctx, mode, (pel_nodes){ 0 }, (pel_nodes){ 0 }));
    }
}

static void write_function(pel_synth *s, pel_group *group, pel_node *args) {
    pel_program_function *function = group->function;
    pel_node *def = pel_node_new(s->ctx, PEL_FunctionDef);
    def->FunctionDef.name = function->name;
    def->FunctionDef.args = args;
    def->FunctionDef.body = group->body;
    def->lineno = group->author->node ? group->author->node->lineno : 0;
    if (group->is_property)
        def->FunctionDef.decorator_list =
            pel_nodes_one(s->ctx, pel_make_name(s->ctx, pel_intern_c(s->ctx, "property"), PEL_Load));
    if (group->is_context)
        def->FunctionDef.decorator_list =
            pel_nodes_one(s->ctx, pel_library_expression(s->ctx, s->program, PEL_STR("contextlib.contextmanager")));
    keep_modes(s, group->author->node, def);
    function->def = def;
    for (uint32_t i = 0; i < group->n_lanes; i++) pel_push(s->ctx, &function->activations, group->lanes[i]);
    pel_push(s->ctx, &s->program->functions, function);
    if (function->class) {
        pel_program_class *class = program_class(s, function->class);
        pel_push(s->ctx, &class->methods, function);
    }
}

typedef struct blame {
    pel_synth *s;
    const pel_node *found;
} blame;

static void find_unwritable(void *arg, pel_node **slot) {
    blame *b = arg;
    if (b->found) return;
    const pel_link *link = pel_link_at(b->s, *slot);
    if (pel_map_has(&b->s->unwritable, PEL_KEY(*slot)) || (link && link->callee == PEL_CALLEE_INLINE))
        b->found = *slot;
    else
        pel_each_part(b->s, *slot, find_unwritable, b);
}

/* A function without a text is tried as a straight line, and then without the calls in it; at last those that called it
 * are. */
static void refuse_code(pel_synth *s, const pel_group *group) {
    if (pel_map_find(&s->program->straight, group->code, 0) != PEL_STRAIGHT_FLAT) {
        pel_push(s->ctx, &s->program->refused, group->code);
        return;
    }
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        pel_id parent = s->log->activations.at[group->lanes[i]].parent;
        while (parent && !s->group_of[parent]) parent = s->log->activations.at[parent].parent;
        if (parent) pel_push(s->ctx, &s->program->refused, s->group_of[parent]->code);
    }
}

static void refuse(pel_synth *s, const pel_group *group, uint32_t line, const char *why) {
    const pel_log_code *row = &s->log->codes.at[group->code];
    refuse_code(s, group);
    pel_str path = row->file ? s->log->files.at[row->file].path : PEL_STR("?");
    pel_remark remark = { PEL_REMARK_REFUSED,
                          pel_format(s->ctx, "%s:%u: %s: %s", pel_format(s->ctx, "%.*s", PEL_FMT(path)).ptr, line,
                                     row->code->qualname ? row->code->qualname->text : row->code->name->text, why),
                          row->file, line };
    pel_push(s->ctx, &s->program->remarks, remark);
}

/* Every function that is reached must have a text, and every name in it must mean something. */
static bool check(pel_synth *s, const reach *r) {
    bool split = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) split |= pel_split_group(s, s->groups.at[i]);
    if (split) return false;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        if (!r->seen[i]) continue;
        if (group->why) {
            refuse(s, group, group->why_line, group->why);
            continue;
        }
        if (group->no_self && !group->params[0].dead) {
            refuse(s, group, group->author->node->lineno, "its object has no literal");
            continue;
        }
        blame b = { s, NULL };
        for (uint32_t k = 0; k < group->body.n && !b.found; k++) find_unwritable(&b, &group->body.at[k]);
        if (!b.found) continue;
        pel_str text = b.found->kind == PEL_Name        ? pel_name_str(b.found->Name.id)
                       : b.found->kind == PEL_Attribute ? pel_name_str(b.found->Attribute.attr)
                                                        : PEL_STR("?");
        refuse(s, group, b.found->lineno,
               pel_format(s->ctx, "`%.*s` is an object without a literal", PEL_FMT(text)).ptr);
    }
    for (uint32_t i = 0; i < s->program->remarks.n; i++)
        if (s->program->remarks.at[i].kind == PEL_REMARK_REFUSED)
            pel_throw_at(s->ctx, PEL_E_UNSUPPORTED, 0, s->program->remarks.at[i].line, 0, "%.*s",
                         PEL_FMT(s->program->remarks.at[i].text));
    return true;
}

/* ---- what the root was not recorded with ---- */

static pel_node *as_recorded(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    const pel_log *log = s->log;
    pel_id first = pel_argument(log, root->lanes[0], param);
    for (uint32_t i = 0; i < root->n_lanes; i++) {
        pel_id value = pel_argument(log, root->lanes[i], param);
        if (!value || !pel_plain(s, value) || !pel_value_same(log, value, first)) return NULL;
    }
    pel_node *name = pel_make_name(s->ctx, param->name, PEL_Load),
             *value = pel_value_expression(s->ctx, s->program, first);
    if (!value) return NULL;
    bool none = value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_NONE;
    if (value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_TRUE) return name;
    if (value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_FALSE) return pel_not(s->ctx, name);
    pel_node *test = pel_node_new(s->ctx, PEL_Compare);
    test->Compare.left = name;
    test->Compare.ops = (pel_cmpops){ pel_new_array(s->ctx, 1, uint8_t), 1 };
    test->Compare.ops.at[0] = none ? PEL_Is : PEL_Eq;
    test->Compare.comparators = pel_nodes_one(s->ctx, value);
    return test;
}

static void guard(pel_synth *s, pel_nodes *body, pel_node *test, const char *message) {
    pel_node *made = pel_node_new(s->ctx, PEL_Assert);
    made->Assert.test = test;
    made->Assert.msg = pel_make_constant(s->ctx, pel_const_str(s->ctx, pel_str_of(message)));
    pel_nodes_push(s->ctx, body, made);
}

/* a is None and b is None  ->  a is b is None: a root may have many that were not given. */
static void chain_nones(pel_synth *s, pel_nodes *tests) {
    pel_nodes names = { 0 }, others = { 0 };
    for (uint32_t i = 0; i < tests->n; i++) {
        pel_node *test = tests->at[i];
        bool none = test->kind == PEL_Compare && test->Compare.ops.at[0] == PEL_Is;
        pel_nodes_push(s->ctx, none ? &names : &others, none ? test->Compare.left : test);
    }
    if (names.n < 3) return;
    pel_node *chain = pel_node_new(s->ctx, PEL_Compare);
    chain->Compare.left = names.at[0];
    chain->Compare.ops = (pel_cmpops){ pel_new_array(s->ctx, names.n, uint8_t), names.n };
    for (uint32_t i = 0; i < names.n; i++) {
        chain->Compare.ops.at[i] = PEL_Is;
        pel_nodes_push(s->ctx, &chain->Compare.comparators,
                       i + 1 < names.n ? names.at[i + 1] : pel_make_constant(s->ctx, &pel_none));
    }
    *tests = pel_nodes_one(s->ctx, chain);
    for (uint32_t i = 0; i < others.n; i++) pel_nodes_push(s->ctx, tests, others.at[i]);
}

/* Arguments that the text never looks at have the values they were recorded with, and so has the mode. */
static void guard_root(pel_synth *s, pel_group *root) {
    pel_nodes body = { 0 }, tests = { 0 };
    for (uint32_t p = 1; p < root->n_params; p++) {
        if (!root->params[p].unread || root->params[p].dead) continue;
        pel_node *test = as_recorded(s, root, p);
        if (test) pel_nodes_push(s->ctx, &tests, test);
    }
    const char *message = tests.n == 1 ? "not recorded with this argument" : "not recorded with these arguments";
    chain_nones(s, &tests);
    if (tests.n == 1)
        guard(s, &body, tests.at[0], message);
    else if (tests.n) {
        pel_node *all = pel_node_new(s->ctx, PEL_BoolOp);
        all->BoolOp.op = PEL_And;
        all->BoolOp.values = tests;
        guard(s, &body, all, message);
    }
    if (s->asked_training && s->trained != s->evaluated) {
        pel_node *mode = pel_make_attribute(s->ctx, pel_make_name(s->ctx, root->params[0].name, PEL_Load),
                                            pel_intern_c(s->ctx, "training"), PEL_Load);
        guard(s, &body, s->trained ? mode : pel_not(s->ctx, mode),
              s->trained ? "recorded in train mode only" : "recorded in eval mode only");
    }
    for (uint32_t i = 0; i < root->body.n; i++) pel_nodes_push(s->ctx, &body, root->body.at[i]);
    root->body = body;
}

static void find_instances(pel_synth *s) {
    for (uint32_t m = 1; m < s->log->modules.n; m++) {
        const pel_log_module *module = pel_module_at(s->log, m);
        if (pel_class_at(s->log, module->class)->kind != PEL_CLASS_MODULE) continue;
        pel_push(s->ctx, &program_class(s, module->class)->instances, m);
    }
}

/* Which functions do more than return a value: the walk only knew what they might do, the text knows what is left. */
static void find_effects(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        s->groups.at[i]->has_effect = s->groups.at[i]->why || s->groups.at[i]->is_generator;
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < s->groups.n; i++) {
            pel_group *group = s->groups.at[i];
            const pel_group *real = group;
            while (real->instead) real = real->instead;
            if (group->has_effect || (real == group ? !pel_body_has_effect(s, group->body) : !real->has_effect))
                continue;
            group->has_effect = changed = true;
        }
    }
}

/* ---- variables of the file that are set and never asked ---- */

typedef struct asked {
    const pel_synth *s;
    pel_map names; /* of variables that something but set and reset uses */
    bool forget;   /* what is done to the others does nothing */
} asked;

static pel_name sets_variable(const pel_synth *s, const pel_node *node) {
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Attribute) return NULL;
    const pel_node *func = node->Call.func;
    if (func->Attribute.value->kind != PEL_Name ||
        !(pel_name_is(func->Attribute.attr, "set") || pel_name_is(func->Attribute.attr, "reset")))
        return NULL;
    for (uint32_t i = 0; i < s->program->globals.n; i++)
        if (s->program->globals.at[i].name == func->Attribute.value->Name.id) return func->Attribute.value->Name.id;
    return NULL;
}

static void see_asked(void *arg, pel_node **slot) {
    asked *a = arg;
    pel_node *node = *slot;
    pel_name set = sets_variable(a->s, node);
    if (set && a->forget && !pel_map_has(&a->names, PEL_KEY(set))) node->mark = 0;
    if (set) {
        for (uint32_t i = 0; i < node->Call.args.n; i++) see_asked(a, &node->Call.args.at[i]);
        return;
    }
    if (node->kind == PEL_Name) pel_map_set(a->s->ctx, &a->names, PEL_KEY(node->Name.id), 1);
    pel_each_part(a->s, node, see_asked, a);
}

static void forget_unasked(pel_synth *s) {
    if (!s->program->globals.n) return;
    asked a = { .s = s };
    reach r = find_reached(s);
    for (a.forget = false;; a.forget = true) {
        for (uint32_t i = 0; i < s->groups.n; i++)
            for (uint32_t k = 0; r.seen[i] && k < s->groups.at[i]->body.n; k++)
                see_asked(&a, &s->groups.at[i]->body.at[k]);
        if (a.forget) return;
    }
}

/* Functions that nobody's text calls are called by torch, or by the user: their signatures are the author's. */
static void pin_outer_functions(pel_synth *s) {
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        pel_group *group = s->group_of[id];
        if (!group || s->linked[id]) continue;
        group->pinned = true;
        /* torch calls it by that name, whatever a decorator calls it */
        if (!group->in_place && !pel_map_has(&s->hook_of, id) && pel_runs_module(s, id))
            group->hint = pel_intern_c(s->ctx, "forward");
    }
}

/* What all callers take for a static method loses its `self`. */
static void find_static_methods(pel_synth *s) {
    for (uint32_t i = 0; i < s->links.n; i++)
        s->links.at[i]->target->no_self = s->links.at[i]->callee == PEL_CALLEE_STATIC;
    for (uint32_t i = 0; i < s->links.n; i++)
        if (s->links.at[i]->callee != PEL_CALLEE_STATIC) s->links.at[i]->target->no_self = false;
}

/* One round of what makes a program smaller; false if there was nothing left to do. Dear steps wait for the others. */
static bool shrink(pel_synth *s) {
    bool changed = false;
    fill_nested(s);
    find_effects(s);
    for (uint32_t i = 0; i < s->groups.n; i++) changed |= pel_remove_dead(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++) pel_tidy_group(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++) {
        if (s->groups.at[i]->in_place) continue;
        changed |= pel_drop_copies(s, s->groups.at[i]);
        changed |= pel_decide_assertions(s, s->groups.at[i]);
    }
    for (uint32_t i = 0; i < s->groups.n; i++) changed |= collapse(s, s->groups.at[i]);
    inlining in = { .s = s };
    for (uint32_t i = 0; i < s->groups.n; i++)
        for (uint32_t k = 0; k < s->groups.at[i]->body.n; k++) inline_calls(&in, &s->groups.at[i]->body.at[k]);
    changed |= in.changed;
    if (!changed) changed = pel_drop_results(s, find_reached(s).seen);
    if (!changed) changed = pel_pass_items(s, find_reached(s).seen);
    if (!changed) {
        reach now = find_reached(s);
        changed = pel_splice(s, now.seen, now.active);
    }
    return changed;
}

/* Names and arguments where a function is mentioned, not called. */
static void write_references(pel_synth *s, const reach *r, pel_node *const *args) {
    for (uint32_t i = 0; i < s->references.n; i++) {
        pel_node *node = s->references.at[i].node;
        const pel_group *group = s->references.at[i].group;
        if (!group || !r->seen[group->number]) continue;
        if (node->kind == PEL_FunctionDef)
            node->FunctionDef.args = args[group->number];
        else if (node->kind == PEL_Lambda)
            node->Lambda.args = args[group->number];
        else if (node->kind == PEL_Name && group->function)
            node->Name.id = group->function->name;
    }
}

static void write_functions(pel_synth *s, const reach *r) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) {
            pel_keep_rest(s, s->groups.at[i]);
            pel_keep_star(s, s->groups.at[i]);
            if (s->groups.at[i]->is_root) give_back_names(s, s->groups.at[i]);
        }
    pel_node **args = pel_new_array(s->ctx, s->groups.n + 1u, pel_node *);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) args[i] = signature(s, s->groups.at[i], r->active);
    for (uint32_t i = 0; i < s->links.n; i++)
        if (r->active[i]) write_call(s, s->links.at[i], args[s->links.at[i]->target->number]);
    write_references(s, r, args);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->is_root && s->groups.at[i]->n_params) guard_root(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->function) write_function(s, s->groups.at[i], args[i]);
}

static void name_classes(pel_synth *s) { /* two files may have classes of one name */
    pel_map taken = { 0 };
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        pel_program_class *row = s->program->classes.at[i];
        if (row->methods.n || row->instances.n) row->name = unique(s, &taken, 0, row->name);
    }
}

#define MAX_ROUNDS 200

bool pel_link_all(pel_synth *s) {
    resolve_references(s);
    forget_unasked(s);
    pin_outer_functions(s);
    find_static_methods(s);
    for (int round = 0; round < MAX_ROUNDS && shrink(s); round++) continue;
    reach r = find_reached(s);
    name_functions(s, &r);
    write_functions(s, &r);
    pel_write_hooked(s);
    find_instances(s);
    name_classes(s);
    pel_write_records(s);
    pel_write_stub(s);
    pel_write_straight(s);
    s->program->root = program_class(s, pel_module_at(s->log, s->log->root)->class)->name;
    return check(s, &r);
}
