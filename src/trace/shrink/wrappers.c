/* Functions that only hand on to another one: whoever calls them calls that one instead. */
#include "trace/shrink/link.h"

bool pel_is_literal(const pel_node *node) {
    return node->kind == PEL_Constant || (node->kind == PEL_UnaryOp && node->UnaryOp.operand->kind == PEL_Constant);
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
        if (link->target->params[p].dead || !arg || pel_is_literal(arg)) continue;
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

bool pel_stands_in(const pel_synth *s, const pel_group *outer, const pel_link *inner) {
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

void pel_give_back_names(pel_synth *s, pel_group *root) {
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
        if (pel_is_literal(arg)) { /* also where nobody reads it: it is the default, should the function be the root */
            args[p] = pel_copy(s->ctx, arg);
            continue;
        }
        const pel_param *handed = arg->kind == PEL_Name ? pel_param_named(wrapper, arg->Name.id) : NULL;
        if (!handed) continue; /* dead */
        uint32_t q = (uint32_t)(handed - wrapper->params);
        by_keyword[p] = link->by_keyword[q];
        args[p] = link->args[q];
        if (!args[p]) args[p] = pel_default_text(s, wrapper, q);
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
    pel_give_back_names(s, target);
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_node *given = inner->args[p];
        const pel_param *handed = given && given->kind == PEL_Name ? pel_param_named(wrapper, given->Name.id) : NULL;
        if (handed) given = handed->fallback;
        if (given && (handed || pel_is_literal(given))) target->params[p].fallback = pel_copy(s->ctx, given);
        if (target->params[p].kind == PEL_PARAM_PLAIN) target->params[p].dead = false;
    }
}

void pel_take_place(pel_synth *s, pel_group *outer, const pel_link *inner) {
    pel_group *target = inner->target;
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
}

bool pel_dissolve_wrapper(pel_synth *s, pel_group *outer) {
    const pel_link *inner = outer->instead || outer->why || outer->in_place ? NULL : only_call(s, outer);
    if (!inner || inner->target->why) return false;
    if ((outer->is_root || outer->pinned) && !pel_stands_in(s, outer, inner)) return false;
    if (inner->target->is_root && !outer->is_root) return false;
    pel_take_place(s, outer, inner);
    return true;
}
