/* A decorator's wrapper that does something before and after it calls the method it decorates: both would have the
 * method's name. Its statements are written around those of the method, which keeps the author's parameters. */
#include "trace/shrink/link.h"

typedef struct unwrapping {
    pel_synth *s;
    pel_group *outer; /* the wrapper */
    pel_link *inner;  /* its call of the method */
    uint32_t at;      /* the statement that the call stands in */
    pel_node **slot;  /* where it stands there */
} unwrapping;

/* ---- what is looked at ---- */

/* Where the call stands that a statement begins with: x = call(...), return call(...).items() */
static pel_node **first_call(pel_node *statement) {
    pel_node **slot = statement->kind == PEL_Assign   ? &statement->Assign.value
                      : statement->kind == PEL_Expr   ? &statement->Expr.value
                      : statement->kind == PEL_Return ? &statement->Return.value
                                                      : NULL;
    while (slot && *slot) {
        pel_node *node = *slot;
        if (node->kind == PEL_Attribute)
            slot = &node->Attribute.value;
        else if (node->kind == PEL_Subscript)
            slot = &node->Subscript.value;
        else if (node->kind == PEL_Call && node->Call.func->kind == PEL_Attribute &&
                 node->Call.func->Attribute.value->kind != PEL_Name)
            slot = &node->Call.func->Attribute.value;
        else
            return node->kind == PEL_Call ? slot : NULL;
    }
    return NULL;
}

/* Whether statements can be moved to another function: no returns, no functions that remember names. */
static void see_movable(void *arg, pel_node **slot) {
    bool *movable = arg;
    switch ((*slot)->kind) {
    case PEL_Return:
    case PEL_FunctionDef:
    case PEL_Lambda:
    case PEL_GeneratorExp:
    case PEL_NamedExpr:
    case PEL_Yield:
    case PEL_YieldFrom:
    case PEL_Global:
    case PEL_Nonlocal: *movable = false; return;
    default: break;
    }
    if (*movable) pel_each_child(*slot, see_movable, movable);
}

static bool are_movable(pel_nodes body, bool may_return) {
    bool movable = true;
    for (uint32_t i = 0; i < body.n && movable; i++) {
        pel_node *node = body.at[i];
        bool last = may_return && i + 1 == body.n && node->kind == PEL_Return;
        if (last && node->Return.value)
            see_movable(&movable, &node->Return.value);
        else if (!last)
            see_movable(&movable, &node);
    }
    return movable;
}

static bool is_ordinary(const pel_synth *s, const pel_group *group) {
    return group->class && !group->no_self && !group->in_place && !group->is_property && !group->is_init &&
           !group->is_generator && !group->why && !group->instead && group->n_params && !pel_sets_mode(s->ctx, group) &&
           !pel_map_has(&s->program->straight, group->code);
}

static bool find_inner(unwrapping *u, const uint32_t *n_calls) {
    const pel_group *outer = u->outer;
    for (u->at = 0; u->at < outer->body.n; u->at++) {
        u->slot = first_call(outer->body.at[u->at]);
        u->inner = u->slot ? pel_link_at(u->s, *u->slot) : NULL;
        if (!u->inner || !u->inner->receiver || u->inner->callee != PEL_CALLEE_METHOD) continue;
        const pel_node *object = u->inner->node->Call.func->Attribute.value;
        const pel_group *target = u->inner->target;
        if (object->kind == PEL_Name && object->Name.id == outer->params[0].name && target != outer &&
            target->class == outer->class && is_ordinary(u->s, target) && !target->is_root && !target->pinned &&
            n_calls[target->number] == 1 && pel_name_wish(u->s, target) == pel_name_wish(u->s, outer))
            return true;
    }
    return false;
}

/* ---- whether it can be done ---- */

/* The parameter of the method that gets a parameter of the wrapper as it is, read there or not; NULL: none does. */
static pel_param *handed_to(const unwrapping *u, const pel_param *param) {
    const pel_group *target = u->inner->target;
    if (param == u->outer->params) return target->params;
    for (uint32_t p = 1; p < target->n_params; p++) {
        const pel_node *arg = u->inner->args[p];
        if (arg && arg->kind == PEL_Name && arg->Name.id == param->name) return &target->params[p];
    }
    return NULL;
}

static bool arguments_are_handed(const unwrapping *u) {
    const pel_group *target = u->inner->target;
    for (uint32_t p = 1; p < target->n_params; p++) {
        const pel_node *arg = u->inner->args[p];
        if (target->params[p].optional || target->params[p].forwarded) return false;
        if (!arg || target->params[p].dead || pel_is_literal(arg)) continue;
        if (arg->kind != PEL_Name || !pel_param_named(u->outer, arg->Name.id)) return false;
    }
    return true;
}

typedef struct meeting {
    const unwrapping *u;
    const pel_group *own, *other; /* whose text is looked at, and what it meets */
    bool clash;
} meeting;

/* A local name of the one that means a function or class of the file in the other; or one that the wrapper binds before
 * the call: the method would bind it again. */
static void see_clash(void *arg, const pel_use *use) {
    meeting *m = arg;
    if (!pel_is_own_name(pel_group_text(m->u->s, m->other), use->name)) return;
    const pel_group *outer = m->u->outer;
    pel_nodes before = pel_nodes_until(outer->body, m->u->at);
    m->clash |= !pel_is_own_name(pel_group_text(m->u->s, m->own), use->name) ||
                (m->own == outer && pel_uses_in(m->u->s, before, use->name).binds);
}

static bool names_agree(const unwrapping *u) {
    meeting out = { u, u->outer, u->inner->target, false }, in = { u, u->inner->target, u->outer, false };
    pel_each_use_in(u->s, out.own->body, see_clash, &out);
    pel_each_use_in(u->s, in.own->body, see_clash, &in);
    return !out.clash && !in.clash;
}

/* What the wrapper reads of its parameters is what the method has of them, and the other way round. */
static bool parameters_agree(const unwrapping *u) {
    const pel_group *outer = u->outer, *target = u->inner->target;
    for (uint32_t q = 0; q < outer->n_params; q++) {
        const pel_param *param = &outer->params[q];
        if (param->dead) continue;
        const pel_param *handed = handed_to(u, param);
        pel_uses here = pel_uses_in(u->s, outer->body, param->name);
        if (!handed) { /* of the root's it is known what they were */
            if (pel_is_used(here) || !outer->is_root || param->kind != PEL_PARAM_KEY_ITEM || param->optional ||
                pel_is_own_name(pel_group_text(u->s, target), param->name))
                return false;
            continue;
        }
        if (here.binds) return false;
        if (param->name != handed->name && pel_is_own_name(pel_group_text(u->s, outer), handed->name)) return false;
        if (pel_uses_in(u->s, pel_nodes_from(outer->body, u->at), param->name).reads &&
            pel_uses_in(u->s, target->body, handed->name).binds)
            return false;
    }
    return true;
}

static bool may_unwrap(const unwrapping *u, const bool *calls_back) {
    pel_group *outer = u->outer, *target = u->inner->target;
    if (calls_back[outer->number] || !arguments_are_handed(u) || !are_movable(target->body, true)) return false;
    for (uint32_t i = 0; i < outer->body.n; i++)
        if (outer->body.at[i]->kind != PEL_Return && !are_movable((pel_nodes){ &outer->body.at[i], 1 }, true))
            return false;
    if ((outer->is_root || outer->pinned) && !pel_stands_in(u->s, outer, u->inner)) return false;
    *u->slot = pel_make_constant(u->s->ctx, &pel_none); /* its arguments are no reads that count */
    bool fine = parameters_agree(u) && names_agree(u);
    *u->slot = u->inner->node;
    return fine;
}

/* ---- doing it ---- */

static void rename_parameters(const unwrapping *u) {
    for (uint32_t q = 0; q < u->outer->n_params; q++) {
        pel_param *handed = u->outer->params[q].dead ? NULL : handed_to(u, &u->outer->params[q]);
        if (!handed) continue;
        pel_renaming r = { .from = u->outer->params[q].name, .to = handed->name };
        if (pel_uses_in(u->s, u->outer->body, r.from).reads) handed->dead = handed->unread = false;
        if (r.from != r.to) pel_rename(u->s->ctx, u->s, u->outer->body, r);
    }
}

/* Keywords that only the wrapper takes. */
static void add_parameters(const unwrapping *u) {
    pel_group *target = u->inner->target;
    pel_param *all = pel_new_array(u->s->ctx, target->n_params + u->outer->n_params, pel_param);
    uint32_t n = target->n_params;
    memcpy(all, target->params, n * sizeof *all);
    for (uint32_t q = 0; q < u->outer->n_params; q++) {
        const pel_param *param = &u->outer->params[q];
        if (param->dead || handed_to(u, param)) continue;
        all[n] = *param;
        all[n].of = u->outer;
        all[n].keyword_only = true;
        if (param->fallback && !pel_is_literal(param->fallback)) all[n].fallback = NULL;
        n++;
    }
    target->params = all;
    target->n_params = n;
}

static void unwrap(const unwrapping *u) {
    pel_ctx *ctx = u->s->ctx;
    pel_group *outer = u->outer, *target = u->inner->target;
    *u->slot = pel_make_constant(ctx, &pel_none);
    rename_parameters(u);
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < u->at; i++) pel_nodes_push(ctx, &body, outer->body.at[i]);
    for (uint32_t i = 0; i < target->body.n; i++) {
        pel_node *node = target->body.at[i];
        if (node->kind != PEL_Return)
            pel_nodes_push(ctx, &body, node);
        else if (node->Return.value)
            *u->slot = node->Return.value;
    }
    for (uint32_t i = u->at; i < outer->body.n; i++) pel_nodes_push(ctx, &body, outer->body.at[i]);
    target->body = body;
    target->falls_off = outer->falls_off;
    target->left_by_data |= outer->left_by_data;
    target->result_taint = outer->result_taint;
    for (uint32_t i = 0; i < u->s->links.n; i++)
        if (u->s->links.at[i]->caller == outer) u->s->links.at[i]->caller = target;
    uint32_t n = target->n_params;
    add_parameters(u);
    pel_node **args = pel_new_array(ctx, target->n_params + 1u, pel_node *);
    bool *by_keyword = pel_new_array(ctx, target->n_params + 1u, bool);
    memcpy(args, u->inner->args, n * sizeof *args);
    memcpy(by_keyword, u->inner->by_keyword, n * sizeof *by_keyword);
    u->inner->args = args;
    u->inner->by_keyword = by_keyword;
    pel_take_place(u->s, outer, u->inner);
}

/* One at a time: what is called how often has changed then. */
bool pel_unwrap(pel_synth *s, const pel_reach *reached) {
    uint32_t *n_calls = pel_count_calls(s, reached);
    const bool *calls_back = pel_find_calling_back(s);
    for (uint32_t i = 0; i < s->groups.n; i++) {
        unwrapping u = { .s = s, .outer = s->groups.at[i] };
        if (!reached->seen[i] || !is_ordinary(s, u.outer) || !find_inner(&u, n_calls)) continue;
        if (!may_unwrap(&u, calls_back)) continue;
        unwrap(&u);
        return true;
    }
    return false;
}
