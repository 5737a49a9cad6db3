/* Constructors, from the module tree as it was before the first run.
 *
 * Every module of the tree has an expression that builds it. For a class of the author's the expressions
 * of all instances are unified part by part: what they share stands in `__init__`, what differs becomes
 * an argument. Classes are done children first, because the expression for a module of the author's is a
 * call of its class with the arguments that this instance needs. */
#include "trace/build/init.h"

pel_program_class *pel_class_for(pel_builder *b, pel_id class) {
    pel_program_class *known = pel_map_pointer(&b->class_of, class);
    if (known) return known;
    pel_program_class *added = pel_new(b->ctx, pel_program_class);
    added->class = class;
    added->name = pel_unused_name(b->ctx, b->program, pel_class_at(b->log, class)->name);
    pel_push(b->ctx, &b->program->classes, added);
    pel_map_set(b->ctx, &b->class_of, class, PEL_KEY(added));
    return added;
}

static void collect_instances(pel_builder *b, pel_id module, pel_map *seen, int depth) {
    if (!pel_map_set(b->ctx, seen, module, 1)) return;
    if (depth > PEL_DEEPEST_TREE) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_DEEPEST_TREE);
    const pel_log_module *row = pel_module_at(b->log, module);
    bool has_class = !pel_is_torch_module(b->log, module) && !pel_is_derived_by_torch(b->log, row->class) &&
                     !pel_is_container_enough(b, row->class);
    if (has_class) pel_push(b->ctx, &pel_class_for(b, row->class)->instances, module);
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && pel_is_needed(b, row, i)) collect_instances(b, row->children[i], seen, depth + 1);
}

static void polish_all(pel_builder *b) {
    for (uint32_t i = 0; i < b->program->classes.n; i++)
        if (b->program->classes.at[i]->init) pel_unify_polish(b->ctx, &b->program->classes.at[i]->init);
}

/* A class around the root that takes no arguments, where the root's own takes some or is torch's: it inherits, so
 * that the names in the state_dict stay. */
static pel_program_class *add_root(pel_builder *b, pel_node *made, const pel_program_class *of) {
    pel_ctx *ctx = b->ctx;
    pel_unifier single = { .ctx = ctx, .n_lanes = 1 };
    pel_node *unified = pel_unify(&single, &made, pel_intern_c(ctx, "layers"));
    pel_program_class *class = pel_new(ctx, pel_program_class);
    pel_str name = of ? pel_format(ctx, "%sRoot", of->name->text) : PEL_STR("Model");
    class->name = pel_intern_str(ctx, name);
    class->def = pel_node_new(ctx, PEL_ClassDef);
    class->def->ClassDef.name = class->name;
    class->def->ClassDef.bases = pel_nodes_one(ctx, unified->Call.func);
    unified->Call.func = pel_super_init(ctx);
    class->init = pel_node_new(ctx, PEL_FunctionDef);
    class->init->FunctionDef.name = pel_intern_c(ctx, "__init__");
    class->init->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    pel_add_argument(ctx, class->init->FunctionDef.args, pel_intern_c(ctx, "self"), NULL);
    pel_nodes_push(ctx, &class->init->FunctionDef.body, pel_make_expr(ctx, unified));
    class->def->ClassDef.body = pel_nodes_one(ctx, class->init);
    pel_push(ctx, &b->program->classes, class);
    return class;
}

void pel_init(pel_ctx *ctx, pel_program *program) {
    pel_builder b = { .ctx = ctx, .program = program, .log = program->log };
    pel_id root = program->log->root;
    if (!root) pel_throw(ctx, PEL_E_FORMAT, 0, "the log has no root module");
    for (uint32_t i = 0; i < program->classes.n; i++) {
        program->classes.at[i]->instances.n = 0;
        pel_map_set(ctx, &b.class_of, program->classes.at[i]->class, PEL_KEY(program->classes.at[i]));
    }
    pel_find_wanted(&b);
    pel_map seen = { 0 };
    collect_instances(&b, root, &seen, 0);

    pel_node *made = pel_module_call(&b, root);
    pel_program_class *class =
        pel_is_torch_module(program->log, root) ? NULL : pel_class_for(&b, pel_module_at(program->log, root)->class);
    if (!class || made->Call.keywords.n) class = add_root(&b, made, class);
    program->root = class->name;
    pel_add_ties(&b, class);
    polish_all(&b);
}
