/* From walked groups to a program: what nobody needs goes, round after round, and what is left gets its names,
 * signatures and calls. */
#include "trace/passes.h"
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
        s->groups.at[i]->has_effect = s->groups.at[i]->why || s->groups.at[i]->is.generator;
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
        group->is.pinned = true;
        /* torch calls it by that name, whatever a decorator calls it */
        if (!group->is.nested && !pel_map_has(&s->hooks.of_activation, id) && pel_runs_module(s, id))
            group->hint = pel_intern_c(s->ctx, "forward");
    }
}

/* What all callers take for a static method loses its `self`. */
static void find_static_methods(pel_synth *s) {
    for (uint32_t i = 0; i < s->links.n; i++)
        s->links.at[i]->target->is.without_self = s->links.at[i]->callee == PEL_CALLEE_STATIC;
    for (uint32_t i = 0; i < s->links.n; i++)
        if (s->links.at[i]->callee != PEL_CALLEE_STATIC) s->links.at[i]->target->is.without_self = false;
}

/* ---- passes ---- */

typedef bool rewrite(pel_synth *s, pel_group *group);

static bool for_each_group(pel_synth *s, rewrite *run, bool nested_too) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (nested_too || !s->groups.at[i]->is.nested) changed |= run(s, s->groups.at[i]);
    return changed;
}

bool pel_pass_references(pel_synth *s) {
    resolve_references(s);
    return false;
}

bool pel_pass_unasked(pel_synth *s) {
    pel_forget_unasked(s);
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

bool pel_pass_dead(pel_synth *s) { return for_each_group(s, pel_remove_dead, true); }

bool pel_pass_tidy(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) pel_tidy_group(s, s->groups.at[i]);
    return false;
}

bool pel_pass_copies(pel_synth *s) { return for_each_group(s, pel_join_names, false); }

bool pel_pass_assertions(pel_synth *s) { return for_each_group(s, pel_decide_assertions, false); }

bool pel_pass_wrappers(pel_synth *s) { return pel_drop_wrappers(s); }

bool pel_pass_inline(pel_synth *s) { return pel_inline_results(s); }

bool pel_pass_results(pel_synth *s) { return pel_drop_results(s, pel_find_reached(s).seen); }

bool pel_pass_arguments(pel_synth *s) { return pel_pass_items(s, pel_find_reached(s).seen); }

bool pel_pass_splice(pel_synth *s) {
    pel_reach now = pel_find_reached(s);
    return pel_splice(s, &now);
}

bool pel_pass_names(pel_synth *s) {
    s->reached = pel_find_reached(s);
    pel_name_functions(s, &s->reached);
    return true;
}

bool pel_pass_functions(pel_synth *s) {
    pel_write_functions(s, &s->reached);
    return true;
}

bool pel_pass_classes(pel_synth *s) {
    pel_write_hooked(s);
    find_instances(s);
    pel_name_classes(s);
    pel_write_records(s);
    pel_write_stub(s);
    return true;
}

bool pel_pass_lines(pel_synth *s) {
    pel_write_straight(s);
    s->program->root = pel_class_row(s->ctx, s->program, pel_module_at(s->log, s->log->root)->class)->name;
    return true;
}

bool pel_pass_texts(pel_synth *s) {
    if (pel_check_texts(s, &s->reached)) return false;
    pel_program *program = s->program; /* functions were split: what was written of them goes */
    program->functions.n = program->classes.n = program->remarks.n = program->globals.n = 0;
    program->hooked = (pel_map){ 0 };
    s->regroup = true;
    return true;
}

bool pel_pass_shorten(pel_synth *s) {
    pel_shorten(s->ctx, s->program);
    return false;
}

bool pel_pass_contract(pel_synth *s) { return pel_contract(s->ctx, s->program); }

bool pel_pass_sizes(pel_synth *s) { return pel_move_sizes(s->ctx, s->program); }

bool pel_pass_roundabout(pel_synth *s) {
    pel_find_roundabout(s->ctx, s->program);
    return false;
}
