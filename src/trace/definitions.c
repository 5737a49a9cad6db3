/* Definitions of the functions that are reached, with signatures, decorators and the calls between them. */
#include "trace/link.h"

static pel_name name_of_decorator(const pel_node *decorator) {
    return pel_last_name(decorator->kind == PEL_Call ? decorator->Call.func : decorator);
}

/* The mode of torch that a decorator sets around the function, NULL if it sets none. It leaves no activation of its
 * own. */
static const char *mode_of(const pel_node *decorator) {
    static const char *const modes[] = { "no_grad", "enable_grad", "inference_mode" };
    if (decorator->kind == PEL_Call && (decorator->Call.args.n || decorator->Call.keywords.n)) return NULL;
    pel_name last = name_of_decorator(decorator);
    for (size_t k = 0; k < PEL_COUNT(modes); k++)
        if (pel_name_is(last, modes[k])) return modes[k];
    return NULL;
}

bool pel_sets_mode(const pel_group *group) {
    const pel_node *node = group->author->node;
    if (!node || node->kind != PEL_FunctionDef) return true;
    for (uint32_t i = 0; i < node->FunctionDef.decorator_list.n; i++) {
        const pel_node *decorator = node->FunctionDef.decorator_list.at[i];
        if (mode_of(decorator) || pel_name_is(name_of_decorator(decorator), "autocast")) return true;
    }
    return false;
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
    if (!pel_name_is(name_of_decorator(decorator), "autocast")) return NULL;
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
        const char *name = mode_of(author->FunctionDef.decorator_list.at[i]);
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
        pel_program_class *class = pel_class_row(s->ctx, s->program, function->class);
        pel_push(s->ctx, &class->methods, function);
    }
}

/* Names and arguments where a function is mentioned, not called. */
static void write_references(pel_synth *s, const pel_reach *r, pel_node *const *args) {
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

void pel_write_functions(pel_synth *s, const pel_reach *r) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) {
            pel_keep_rest(s, s->groups.at[i]);
            pel_keep_star(s, s->groups.at[i]);
            if (s->groups.at[i]->is_root) pel_give_back_names(s, s->groups.at[i]);
        }
    pel_node **args = pel_new_array(s->ctx, s->groups.n + 1u, pel_node *);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) args[i] = pel_signature(s, s->groups.at[i], r->active);
    for (uint32_t i = 0; i < s->links.n; i++)
        if (r->active[i]) pel_write_call(s, s->links.at[i], args[s->links.at[i]->target->number]);
    write_references(s, r, args);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->is_root && s->groups.at[i]->n_params) pel_guard_root(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->function) write_function(s, s->groups.at[i], args[i]);
}
