/* Methods that a module registers as forward hooks of others: self.net[3].register_forward_hook(self.keep). */
#include "trace/build/init.h"
#include "trace/synth.h"

static pel_node *statement(pel_builder *b, const pel_registration *row, pel_node *module, pel_node *owner) {
    pel_ctx *ctx = b->ctx;
    const char *name = row->before ? "register_forward_pre_hook" : "register_forward_hook";
    pel_node *method = pel_make_attribute(ctx, owner, row->method, PEL_Load);
    pel_node *call = pel_call_of(ctx, pel_make_attribute(ctx, module, pel_intern_c(ctx, name), PEL_Load),
                                 pel_nodes_one(ctx, method));
    if (row->with_kwargs)
        pel_add_keyword(ctx, call, pel_intern_c(ctx, "with_kwargs"), pel_make_constant(ctx, &pel_true), 0);
    return pel_make_expr(ctx, call);
}

/* The number-th hook that a module registers; NULL: it has less. */
static const pel_registration *registration_of(const pel_builder *b, pel_id owner, uint32_t number) {
    for (uint32_t i = 0; i < b->program->registrations.n; i++)
        if (b->program->registrations.at[i].owner == owner && !number--) return &b->program->registrations.at[i];
    return NULL;
}

/* The statement for the number-th hook of every instance; NULL if they differ, or it is none of their parts. */
static pel_node *common_statement(pel_builder *b, const pel_program_class *class, uint32_t number) {
    const pel_registration *first = registration_of(b, class->instances.at[0], number);
    pel_id *wanted = pel_new_array(b->ctx, class->instances.n, pel_id);
    for (uint32_t i = 0; i < class->instances.n; i++) {
        const pel_registration *row = registration_of(b, class->instances.at[i], number);
        if (!row || row->method != first->method || row->before != first->before) return NULL;
        wanted[i] = row->module;
    }
    pel_node *self = pel_make_name(b->ctx, pel_intern_c(b->ctx, "self"), PEL_Load);
    pel_node *module = pel_module_text(b->ctx, b->log, self, class->instances.at, wanted, class->instances.n);
    return module ? statement(b, first, module, self) : NULL;
}

/* What the constructor of a class does for all its instances; empty if the root has to do it. */
static pel_nodes common_statements(pel_builder *b, const pel_program_class *class) {
    pel_nodes made = { 0 };
    for (uint32_t number = 0, any = 1; any; number++) {
        any = 0;
        for (uint32_t i = 0; i < class->instances.n; i++)
            any |= registration_of(b, class->instances.at[i], number) != NULL;
        pel_node *one =
            any && registration_of(b, class->instances.at[0], number) ? common_statement(b, class, number) : NULL;
        if (any && !one) return (pel_nodes){ 0 };
        if (one) pel_nodes_push(b->ctx, &made, one);
    }
    return made;
}

void pel_register_hooks(pel_builder *b, const pel_program_class *class, pel_nodes *body) {
    pel_nodes made = b->program->registrations.n ? common_statements(b, class) : (pel_nodes){ 0 };
    for (uint32_t i = 0; i < made.n; i++) pel_nodes_push(b->ctx, body, made.at[i]);
}

void pel_register_other_hooks(pel_builder *b, pel_nodes *body) {
    for (uint32_t i = 0; i < b->program->registrations.n; i++) {
        const pel_registration *row = &b->program->registrations.at[i];
        const pel_log_module *owner = pel_module_at(b->log, row->owner), *module = pel_module_at(b->log, row->module);
        const pel_program_class *class = pel_map_pointer(&b->class_of, owner->class);
        if (class && common_statements(b, class).n) continue;
        pel_nodes_push(b->ctx, body,
                       statement(b, row, pel_path_text(b->ctx, module->path, PEL_Load),
                                 pel_path_text(b->ctx, owner->path, PEL_Load)));
    }
}
