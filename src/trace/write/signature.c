/* Signatures of the functions of the output: which parameters may go, which have defaults and what these are. */
#include "trace/shrink/link.h"

/* Whether a keyword of the root was put there by wrappers, and not by who called the model. */
static bool is_of_wrappers(const pel_synth *s, const pel_param *param) {
    if (param->kind != PEL_PARAM_KEY_ITEM) return false;
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        for (uint32_t i = 0; i < s->log->runs.at[r].n_kwargs; i++)
            if (s->log->runs.at[r].kwargs[i].name == param->key) return false;
    return true;
}

bool pel_may_drop(const pel_synth *s, const pel_group *group, uint32_t param) {
    if (param == 0 && group->class) return group->is.without_self;
    if (group->is.root) return is_of_wrappers(s, &group->params[param]);
    if (!group->is.pinned) return true;
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
    if (!group->is.root) return group->lanes[0];
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_log_run *run = &s->log->runs.at[s->log->activations.at[group->lanes[i]].run];
        if (run->activation != group->lanes[i] || !is_passed(run, &group->params[p], p - 1)) return group->lanes[i];
    }
    return 0;
}

pel_node *pel_default_text(pel_synth *s, const pel_group *group, uint32_t p) {
    pel_node *fallback = group->params[p].fallback;
    if (!fallback) return NULL;
    if (group->is.nested || is_constant_text(fallback)) return pel_copy(s->ctx, fallback);
    /* an expression of the author's file: its value is what lanes that got no argument began with */
    pel_id lane = lane_with_default(s, group, p);
    pel_id value = lane ? s->log->activations.at[lane].locals[group->params[p].local] : 0;
    bool has_text = lane && (pel_plain(s, value) || pel_is_constant_tensor(s->log, pel_value_at(s->log, value)));
    pel_node *text = has_text ? pel_value_expression(s->ctx, s->program, value) : NULL;
    return text ? text : pel_make_none(s->ctx);
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

static bool needs_default_before(const pel_group *group, const pel_param *param) {
    for (const pel_param *p = group->params; p < param; p++)
        if (p->fallback && !p->dead && (p->left_out || !p->passed)) return true;
    return false;
}

/* Callers that we don't write say its name; of the others we see what they say. */
static bool stands_behind_star(const pel_group *group, const pel_param *param) {
    if (group->is.root || group->is.nested) return param->keyword_only;
    if (!group->is.pinned) return false;
    return param->kind == PEL_PARAM_KEY_ITEM ? needs_default_before(group, param) : param->keyword_only;
}

pel_node *pel_signature(pel_synth *s, const pel_group *group, const bool *active) {
    pel_node *args = pel_node_new(s->ctx, PEL_arguments);
    bool *left = left_out(s, group, active);
    uint32_t first_default = group->n_params; /* from here on every parameter has a default */
    while (first_default > 0) {
        const pel_param *param = &group->params[first_default - 1];
        bool open = group->is.root || group->is.pinned || group->is.nested;
        if (stands_behind_star(group, param)) { /* with a default or without */
            first_default--;
            continue;
        }
        bool is_gone = param->dead || (group->rest && param->forwarded);
        if (!is_gone && !(param->fallback && (open || left[first_default - 1]))) break;
        first_default--;
    }
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        if (param->dead || (group->rest && param->forwarded)) continue;
        if (group->star && param->kind == PEL_PARAM_STAR_ITEM) continue;
        pel_node *arg = pel_node_new(s->ctx, PEL_arg);
        arg->arg.arg = param->name;
        pel_node *fallback = p >= first_default ? pel_default_text(s, group, p) : NULL;
        if (stands_behind_star(group, param)) {
            pel_nodes_push(s->ctx, &args->arguments.kwonlyargs, arg);
            pel_nodes_push(s->ctx, &args->arguments.kw_defaults, fallback ? fallback : pel_default_text(s, group, p));
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
