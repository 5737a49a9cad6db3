/* From walked groups to a program: what nobody needs goes, round after round, and what is left gets its names,
 * signatures and calls. */
#include "trace/shrink/link.h"
#include "trace/passes.h"

/* Which functions the text of the root leads to: by calls, by mentions, by what torch calls back. */

typedef struct search {
    pel_synth *s;
    pel_reach found;
    pel_map link_number; /* Call node -> number of its link */
    pel_map reference;   /* node -> group */
    pel_map referred;    /* name of such a node -> group */
    PEL_VEC(pel_group *) todo;
} search;

pel_group *pel_caller_of(const pel_synth *s, pel_id activation) {
    pel_id parent = s->log->activations.at[activation].parent;
    while (parent && !s->group_of[parent]) parent = s->log->activations.at[parent].parent;
    return s->group_of[parent];
}

static void reach_group(search *r, pel_group *group) {
    while (group && group->instead) group = group->instead;
    if (!group || r->found.seen[group->number]) return;
    r->found.seen[group->number] = true;
    pel_push(r->s->ctx, &r->todo, group);
}

static void reach_node(void *arg, pel_node **slot) {
    search *r = arg;
    uint64_t number;
    if (pel_map_get(&r->link_number, PEL_KEY(*slot), &number)) {
        r->found.active[number] = true;
        reach_group(r, r->s->calls.links.at[number]->target);
    }
    uint64_t group;
    if (pel_map_get(&r->reference, PEL_KEY(*slot), &group))
        reach_group(r, (pel_group *)(uintptr_t)group);
    else if ((*slot)->kind == PEL_Name && pel_map_get(&r->referred, PEL_KEY((*slot)->Name.id), &group))
        reach_group(r, (pel_group *)(uintptr_t)group); /* a copy of one that was noted */
    pel_each_part(r->s, *slot, reach_node, r);
}

static void note_references(search *r) {
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
static pel_map find_called_back(search *r) {
    pel_synth *s = r->s;
    pel_map called_back = { 0 };
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        pel_group *group = s->group_of[id];
        if (!group || s->calls.linked[id] || group->is.nested) continue;
        if (pel_map_has(&s->hooks.of_activation, id)) {
            reach_group(r, group);
            continue;
        }
        const pel_group *caller = pel_caller_of(s, id);
        if (!caller) { /* the root is torch's own class: what it calls of the author's are modules */
            if (group->class && pel_class_at(s->log, group->class)->kind == PEL_CLASS_MODULE) reach_group(r, group);
            continue;
        }
        uint64_t list;
        if (!pel_map_get(&called_back, caller->number, &list)) {
            list = PEL_KEY(pel_new(s->ctx, group_list));
            pel_map_set(s->ctx, &called_back, caller->number, list);
        }
        group_list *groups = (group_list *)(uintptr_t)list;
        if (!groups->n || groups->at[groups->n - 1] != group) pel_push(s->ctx, groups, group);
    }
    return called_back;
}

pel_reach pel_find_reached(pel_synth *s) {
    search r = { .s = s };
    r.found.seen = pel_new_array(s->ctx, s->groups.n + 1u, bool);
    r.found.active = pel_new_array(s->ctx, s->calls.links.n + 1u, bool);
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        pel_map_set(s->ctx, &r.link_number, PEL_KEY(s->calls.links.at[i]->node), i);
    note_references(&r);
    pel_map called_back = find_called_back(&r);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->is.root) reach_group(&r, s->groups.at[i]);
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
    return r.found;
}

/* Functions that the text has as values: somebody may call them. */
typedef struct values {
    const pel_synth *s;
    pel_map referred; /* name -> group */
    uint32_t *n_calls;
} values;

static void see_value(void *arg, pel_node **slot) {
    values *v = arg;
    pel_node *node = *slot;
    uint64_t group;
    if (node->kind == PEL_Name && pel_map_get(&v->referred, PEL_KEY(node->Name.id), &group))
        v->n_calls[((const pel_group *)(uintptr_t)group)->number] += 2;
    const pel_link *link = node->kind == PEL_Call ? pel_link_at(v->s, node) : NULL;
    if (!link || link->callee != PEL_CALLEE_NAME) {
        pel_each_part(v->s, node, see_value, v);
        return;
    }
    for (uint32_t p = 0; p < link->target->n_params; p++)
        if (link->args[p] && !link->target->params[p].dead) see_value(v, &link->args[p]);
}

uint32_t *pel_count_calls(pel_synth *s, const pel_reach *reached) {
    values v = { .s = s, .n_calls = pel_new_array(s->ctx, s->groups.n + 1u, uint32_t) };
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (reached->active[i]) v.n_calls[s->calls.links.at[i]->target->number]++;
    for (uint32_t i = 0; i < s->references.n; i++) {
        const pel_reference *ref = &s->references.at[i];
        if (ref->group && ref->held) v.n_calls[ref->group->number] += 2; /* by whoever holds it */
        if (ref->group && ref->node->kind == PEL_Name)
            pel_map_set(s->ctx, &v.referred, PEL_KEY(ref->node->Name.id), PEL_KEY(ref->group));
    }
    for (uint32_t i = 0; i < s->groups.n; i++)
        for (uint32_t k = 0; reached->seen[i] && k < s->groups.at[i]->body.n; k++)
            see_value(&v, &s->groups.at[i]->body.at[k]);
    return v.n_calls;
}

bool *pel_find_calling_back(pel_synth *s) {
    bool *calls_back = pel_new_array(s->ctx, s->groups.n + 1u, bool);
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        const pel_group *caller = s->group_of[id] && !s->calls.linked[id] ? pel_caller_of(s, id) : NULL;
        if (caller) calls_back[caller->number] = true;
    }
    return calls_back;
}

/* Variables of the file that functions set and nobody ever asks: setting them does nothing. */

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
    if (set && a->forget && !pel_map_has(&a->names, PEL_KEY(set))) pel_forget_notes(node);
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
    pel_reach r = pel_find_reached(s);
    for (a.forget = false;; a.forget = true) {
        for (uint32_t i = 0; i < s->groups.n; i++)
            for (uint32_t k = 0; r.seen[i] && k < s->groups.at[i]->body.n; k++)
                see_asked(&a, &s->groups.at[i]->body.at[k]);
        if (a.forget) return;
    }
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
            if (!body && !group->why && group->body.n) group->why = "a lambda of which more than an expression is left";
            node->Lambda.body = body ? body : pel_make_none(s->ctx);
        }
    }
}

/* Which functions do more than return a value: the walk only knew what they might do, the text knows what is left. */
static void find_effects(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        s->groups.at[i]->facts.has_effect = s->groups.at[i]->why || s->groups.at[i]->is.generator;
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < s->groups.n; i++) {
            pel_group *group = s->groups.at[i];
            const pel_group *real = group;
            while (real->instead) real = real->instead;
            if (group->facts.has_effect ||
                (real == group ? !pel_body_has_effect(s, group->body) : !real->facts.has_effect))
                continue;
            group->facts.has_effect = changed = true;
        }
    }
}

/* Functions that nobody's text calls are called by torch, or by the user: their signatures are the author's. */
static void pin_outer_functions(pel_synth *s) {
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        pel_group *group = s->group_of[id];
        if (!group || s->calls.linked[id]) continue;
        group->is.pinned = true;
        /* torch calls it by that name, whatever a decorator calls it */
        if (!group->is.nested && !pel_map_has(&s->hooks.of_activation, id) && pel_runs_module(s, id))
            group->hint = pel_intern_c(s->ctx, "forward");
    }
}

/* What all callers take for a static method loses its `self`. */
static void find_static_methods(pel_synth *s) {
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        s->calls.links.at[i]->target->is.without_self = s->calls.links.at[i]->callee == PEL_CALLEE_STATIC;
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->callee != PEL_CALLEE_STATIC) s->calls.links.at[i]->target->is.without_self = false;
}

/* ---- passes ---- */

bool pel_pass_references(pel_synth *s) {
    resolve_references(s);
    return false;
}

bool pel_pass_unasked(pel_synth *s) {
    forget_unasked(s);
    return false;
}

bool pel_pass_pin(pel_synth *s) {
    pin_outer_functions(s);
    find_static_methods(s);
    return false;
}

bool pel_pass_effects(pel_synth *s) {
    fill_nested(s);
    find_effects(s);
    return false;
}
