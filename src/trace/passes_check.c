/* The checkers of the passes: what the next pass may rely on. A checker that throws has found a mistake of ours. */
#include "trace/passes.h"

_Noreturn static void found(const pel_synth *s, const char *what, uint32_t which) {
    pel_throw(s->ctx, PEL_E_INCOMPLETE, 0, "checker: %s (%u)", what, which);
}

void pel_check_nothing(pel_synth *s) { (void)s; }

/* What an activation led to lies inside what its caller led to. */
void pel_check_extents(pel_synth *s) {
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        const pel_extent *extent = &s->extents[id];
        if (extent->end <= id || extent->end > s->log->activations.n)
            found(s, "an activation ends before it began", id);
        if (extent->first_event > extent->end_event) found(s, "the events of an activation are no range", id);
        pel_id parent = s->log->activations.at[id].parent;
        if (parent >= id) found(s, "an activation comes before its caller", id);
        if (parent && s->extents[parent].end < extent->end) found(s, "an activation ends after its caller", id);
    }
}

/* Every activation that has a group is one of its lanes, once. */
void pel_check_groups(pel_synth *s) {
    uint32_t grouped = 0, lanes = 0;
    for (pel_id id = 1; id < s->log->activations.n; id++) grouped += s->group_of[id] != NULL;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        lanes += group->n_lanes;
        if (group->number != i) found(s, "a group has another number than its place", i);
        for (uint32_t k = 0; k < group->n_lanes; k++) {
            if (s->group_of[group->lanes[k]] != group) found(s, "a lane belongs to another group", group->lanes[k]);
            if (s->log->activations.at[group->lanes[k]].code != group->code)
                found(s, "a lane runs another function than its group", group->lanes[k]);
        }
    }
    if (grouped != lanes) found(s, "an activation is a lane of no group, or of two", grouped);
}

void pel_check_statements(pel_ctx *ctx, pel_node **statements, uint32_t n) {
    pel_node *module = pel_node_new(ctx, PEL_Module);
    module->Module.body = (pel_nodes){ .at = statements, .n = n };
    pel_ast_check(ctx, module);
}

/* Functions in the making are trees that Python would take, or they say why they have none. */
void pel_check_bodies(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (group->why && !*group->why) found(s, "a function failed without a reason", i);
        for (uint32_t k = 0; k < group->body.n; k++)
            if (!group->body.at[k]) found(s, "a body has a hole", i);
    }
}

/* Calls between functions: each is a call, or the reading of a property, and has a place for every parameter of its
 * target. */
void pel_check_links(pel_synth *s) {
    pel_check_bodies(s);
    for (uint32_t i = 0; i < s->links.n; i++) {
        const pel_link *link = s->links.at[i];
        if (!link->node || (link->node->kind != PEL_Call && link->node->kind != PEL_Attribute))
            found(s, "a link without a call", i);
        if (!link->caller || !link->target) found(s, "a link without a caller or a target", i);
        if (link->target->n_params && !link->args) found(s, "a link without arguments", i);
        const pel_group *end = link->target;
        for (uint32_t steps = 0; end->instead; end = end->instead)
            if (++steps > s->groups.n) found(s, "functions take each other's place in a circle", i);
    }
}

static pel_str function_key(const pel_synth *s, const pel_program_function *function) {
    return pel_format(s->ctx, "%u.%s", function->class, function->name->text);
}

/* Functions of the program: whole trees, each name once in its class or in the file. */
void pel_check_functions(pel_synth *s) {
    pel_map names = { 0 };
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        const pel_program_function *function = s->program->functions.at[i];
        if (function->dead || !function->def) continue;
        if (function->def->kind != PEL_FunctionDef) found(s, "a function that is no definition", i);
        pel_check_statements(s->ctx, (pel_node *[]){ function->def }, 1);
        pel_str text = function_key(s, function);
        pel_name key = pel_intern(s->ctx, text.ptr, text.len);
        if (!pel_map_set(s->ctx, &names, PEL_KEY(key), 1) && !function->is_property)
            pel_throw(s->ctx, PEL_E_INCOMPLETE, 0, "checker: two functions are called %s", function->name->text);
    }
}

/* Classes whose instances the file builds have a constructor that Python would take. */
void pel_check_classes(pel_synth *s) {
    pel_check_functions(s);
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        const pel_program_class *class = s->program->classes.at[i];
        pel_node *def = class->def ? class->def : class->init;
        if (def) pel_check_statements(s->ctx, &def, 1);
    }
}
