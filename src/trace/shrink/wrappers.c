/* Wrappers: functions that call another one in their place. One that only hands on goes, and its callers call what it
 * calls. One that does something before and after, as decorators do, has its statements written around those of the
 * method that it calls: both would have that method's name. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

bool pel_is_literal(const pel_node *node) {
    return node->kind == PEL_Constant || (node->kind == PEL_UnaryOp && node->UnaryOp.operand->kind == PEL_Constant);
}

/* ---- what may take whose place ---- */

/* The call that is all a function does, if it passes on nothing but its parameters and constants. */
static pel_link *only_call(const pel_synth *s, const pel_group *group) {
    if (group->body.n != 1 || group->body.at[0]->kind != PEL_Return || !group->body.at[0]->Return.value) return NULL;
    pel_node *call = group->body.at[0]->Return.value;
    pel_link *link = call->kind == PEL_Call ? pel_link_at(s, call) : NULL;
    if (!link || link->target == group || link->target->is.nested || link->target->instead || group->is.property)
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

/* Whether some call of the model gave this keyword. */
static bool is_given(const pel_synth *s, const pel_group *root, const pel_param *param) {
    pel_name name = param->kind == PEL_PARAM_KEY_ITEM ? param->key : param->name;
    for (uint32_t r = 0; root->is.root && r < s->log->runs.n; r++)
        for (uint32_t k = 0; k < s->log->runs.at[r].n_kwargs; k++)
            if (s->log->runs.at[r].kwargs[k].name == name) return true;
    return false;
}

/* A keyword that a wrapper takes and the function in it does not: it goes if no run was given it. */
static bool is_left_out(const pel_synth *s, const pel_group *outer, const pel_link *inner, uint32_t q) {
    const pel_param *param = &outer->params[q];
    if (!outer->is.root || !param->keyword_only || param->kind != PEL_PARAM_PLAIN) return false;
    for (uint32_t p = inner->receiver; p < inner->target->n_params; p++) {
        const pel_node *arg = inner->args[p];
        if (arg && arg->kind == PEL_Name && arg->Name.id == param->name) return false;
    }
    return !is_given(s, outer, param);
}

/* The name that callers of the root know a parameter by. */
static pel_name outer_name(const pel_synth *s, const pel_group *root, const pel_param *param) {
    if (param->kind == PEL_PARAM_PLAIN) return s->log->codes.at[root->code].code->varnames.at[param->local];
    return param->kind == PEL_PARAM_KEY_ITEM ? param->key : param->name;
}

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
        if (outer->is.root && outer->params[q].kind != PEL_PARAM_PLAIN) { /* *args, **kwargs: by name */
            if (!pel_param_named(outer, arg->Name.id)) return false;
            q++;
            continue;
        }
        if (outer->params[q].name != arg->Name.id) return false;
        if (outer->is.root && outer_name(s, inner->target, param) != arg->Name.id) return false;
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

/* ---- taking its place ---- */

typedef struct unwrapping {
    pel_synth *s;
    pel_group *outer; /* the wrapper */
    pel_link *inner;  /* its call of the method */
    uint32_t at;      /* the statement that the call stands in */
    pel_node **slot;  /* where it stands there */
} unwrapping;

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

/* Whether the function takes what the wrapper takes: it is handed on, or has a parameter there of the same name. */
static bool is_taken(const unwrapping *u, const pel_param *param) {
    const pel_group *target = u->inner->target;
    if (handed_to(u, param)) return true;
    for (uint32_t p = 1; p < target->n_params; p++)
        if (outer_name(u->s, target, &target->params[p]) == outer_name(u->s, u->outer, param)) return true;
    return false;
}

/* Whether only the wrapper takes a keyword that calls of the model give. */
static bool has_own(const unwrapping *u) {
    for (uint32_t q = 0; q < u->outer->n_params; q++)
        if (is_given(u->s, u->outer, &u->outer->params[q]) && !is_taken(u, &u->outer->params[q])) return true;
    return false;
}

/* The function takes what only the wrapper took: those who call the model give it still. */
static void add_parameters(const unwrapping *u) {
    pel_ctx *ctx = u->s->ctx;
    pel_group *target = u->inner->target;
    uint32_t n = target->n_params, most = n + u->outer->n_params;
    pel_param *all = pel_new_array(ctx, most, pel_param);
    pel_node **args = pel_new_array(ctx, most + 1u, pel_node *);
    bool *by_keyword = pel_new_array(ctx, most + 1u, bool);
    memcpy(all, target->params, n * sizeof *all);
    memcpy(args, u->inner->args, n * sizeof *args);
    memcpy(by_keyword, u->inner->by_keyword, n * sizeof *by_keyword);
    for (uint32_t q = 0; q < u->outer->n_params; q++) {
        const pel_param *param = &u->outer->params[q];
        if (is_taken(u, param) || (param->dead && !is_given(u->s, u->outer, param))) continue;
        all[n] = *param;
        all[n].of = u->outer;
        all[n].keyword_only = true;
        all[n].dead = false;
        if (param->fallback && !pel_is_literal(param->fallback)) all[n].fallback = NULL;
        n++;
    }
    target->params = all;
    target->n_params = n;
    u->inner->args = args;
    u->inner->by_keyword = by_keyword;
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
    target->is.root = true;
    target->is.pinned = true;
    pel_give_back_names(s, target);
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_node *given = inner->args[p];
        const pel_param *handed = given && given->kind == PEL_Name ? pel_param_named(wrapper, given->Name.id) : NULL;
        if (handed) given = handed->fallback;
        if (given && (handed || pel_is_literal(given))) target->params[p].fallback = pel_copy(s->ctx, given);
        if (target->params[p].kind == PEL_PARAM_PLAIN) target->params[p].dead = false;
    }
}

static void take_place(pel_synth *s, pel_group *outer, const pel_link *inner) {
    pel_group *target = inner->target;
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->target == outer && s->calls.links.at[i] != inner)
            redirect(s, s->calls.links.at[i], outer, inner);
    target->hint = outer->hint ? outer->hint : target->hint;
    if (outer->is.root) make_root(s, outer, inner);
    /* Who calls it is not ours to change: it takes all that the outer one took, read or not. */
    for (uint32_t p = inner->receiver; outer->is.pinned && p < target->n_params; p++)
        if (inner->args[p]) {
            target->params[p].dead = false;
            target->params[p].passed = true;
        }
    target->is.pinned |= outer->is.pinned;
    outer->instead = target;
    outer->is.root = outer->is.pinned = false;
}

static bool is_only_caller(const pel_synth *s, const pel_link *link) {
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i] != link && s->calls.links.at[i]->target == link->target) return false;
    return true;
}

/* A function that only calls another one gives its place to that one. */
static bool dissolve(pel_synth *s, pel_group *outer) {
    pel_link *inner = outer->instead || outer->why || outer->is.nested ? NULL : only_call(s, outer);
    if (!inner || inner->target->why) return false;
    if ((outer->is.root || outer->is.pinned) && !stands_in(s, outer, inner)) return false;
    if (inner->target->is.root && !outer->is.root) return false;
    unwrapping u = { .s = s, .outer = outer, .inner = inner };
    if (has_own(&u)) {
        if (!is_only_caller(s, inner)) return false; /* others don't give it */
        add_parameters(&u);
    }
    take_place(s, outer, inner);
    return true;
}

/* ---- wrappers that do something around the call ---- */

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
    return group->class && !group->is.without_self && !group->is.nested && !group->is.property && !group->is.init &&
           !group->is.generator && !group->why && !group->instead && group->n_params && !pel_sets_mode(s->ctx, group) &&
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
            target->class == outer->class && is_ordinary(u->s, target) && !target->is.root && !target->is.pinned &&
            n_calls[target->number] == 1 && pel_name_wish(u->s, target) == pel_name_wish(u->s, outer))
            return true;
    }
    return false;
}

/* ---- whether it can be done ---- */

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
static void see_clash(void *arg, const pel_name_use *use) {
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
            if (pel_is_used(here) || !outer->is.root || param->kind != PEL_PARAM_KEY_ITEM || param->optional ||
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
    if ((outer->is.root || outer->is.pinned) && !stands_in(u->s, outer, u->inner)) return false;
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
    target->facts.falls_off = outer->facts.falls_off;
    target->facts.left_by_data |= outer->facts.left_by_data;
    target->facts.result = outer->facts.result;
    for (uint32_t i = 0; i < u->s->calls.links.n; i++)
        if (u->s->calls.links.at[i]->caller == outer) u->s->calls.links.at[i]->caller = target;
    add_parameters(u);
    take_place(u->s, outer, u->inner);
}

/* One at a time: what is called how often has changed then. */
static bool unwrap_one(pel_synth *s, const pel_reach *reached) {
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

bool pel_pass_wrappers(pel_synth *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++) changed |= dissolve(s, s->groups.at[i]);
    if (changed) return true;
    pel_reach now = pel_find_reached(s);
    return unwrap_one(s, &now);
}
