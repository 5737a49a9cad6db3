/* From walked groups to a program: what nobody needs goes, round after round, and what is left gets its names,
 * signatures and calls. */
#include "trace/shrink/link.h"

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
            node->Lambda.body = body ? body : pel_make_none(s->ctx);
        }
    }
}

static void find_instances(pel_synth *s) {
    for (uint32_t m = 1; m < s->log->modules.n; m++) {
        const pel_log_module *module = pel_module_at(s->log, m);
        if (pel_class_at(s->log, module->class)->kind != PEL_CLASS_MODULE) continue;
        pel_push(s->ctx, &pel_class_row(s->ctx, s->program, module->class)->instances, m);
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
    for (uint32_t i = 0; i < s->groups.n; i++) changed |= pel_dissolve_wrapper(s, s->groups.at[i]);
    changed |= pel_inline_results(s);
    if (!changed) changed = pel_drop_results(s, pel_find_reached(s).seen);
    if (!changed) changed = pel_pass_items(s, pel_find_reached(s).seen);
    if (!changed) {
        pel_reach now = pel_find_reached(s);
        changed = pel_splice(s, &now) || pel_unwrap(s, &now);
    }
    return changed;
}

#define MAX_ROUNDS 200

bool pel_link_all(pel_synth *s) {
    resolve_references(s);
    pel_forget_unasked(s);
    pin_outer_functions(s);
    find_static_methods(s);
    for (int round = 0; round < MAX_ROUNDS && shrink(s); round++) continue;
    pel_reach r = pel_find_reached(s);
    pel_name_functions(s, &r);
    pel_write_functions(s, &r);
    pel_write_hooked(s);
    find_instances(s);
    pel_name_classes(s);
    pel_write_records(s);
    pel_write_stub(s);
    pel_write_straight(s);
    s->program->root = pel_class_row(s->ctx, s->program, pel_module_at(s->log, s->log->root)->class)->name;
    return pel_check_texts(s, &r);
}
