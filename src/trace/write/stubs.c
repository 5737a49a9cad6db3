/* Functions that never ran although their names are passed on: calling one is a path that was not recorded. */
#include "python/parse.h"
#include "trace/synth.h"

pel_nodes pel_stub_body(pel_ctx *ctx) {
    pel_node *raise = pel_node_new(ctx, PEL_Raise);
    const pel_const *message = pel_const_str(ctx, PEL_STR("path not recorded"));
    raise->Raise.exc = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "NotImplementedError"), PEL_Load),
                                     pel_nodes_one(ctx, pel_make_constant(ctx, message)), (pel_nodes){ 0 });
    return pel_nodes_one(ctx, raise);
}

static pel_nodes plain_args(pel_ctx *ctx, pel_nodes args) {
    pel_nodes made = { 0 };
    for (uint32_t i = 0; i < args.n; i++) {
        pel_node *arg = pel_node_new(ctx, PEL_arg);
        arg->arg.arg = args.at[i]->arg.arg;
        pel_nodes_push(ctx, &made, arg);
    }
    return made;
}

static pel_nodes nones(pel_ctx *ctx, pel_nodes defaults) {
    pel_nodes made = { 0 };
    for (uint32_t i = 0; i < defaults.n; i++) pel_nodes_push(ctx, &made, defaults.at[i] ? pel_make_none(ctx) : NULL);
    return made;
}

/* The author's parameters without annotations; which defaults they have matters to nobody. */
pel_node *pel_stub_def(pel_ctx *ctx, const pel_node *author) {
    const pel_node *from = author->FunctionDef.args;
    pel_node *made = pel_node_new(ctx, PEL_FunctionDef), *args = pel_node_new(ctx, PEL_arguments);
    made->FunctionDef.name = author->FunctionDef.name;
    made->FunctionDef.args = args;
    made->FunctionDef.body = pel_stub_body(ctx);
    made->lineno = author->lineno;
    args->arguments.posonlyargs = plain_args(ctx, from->arguments.posonlyargs);
    args->arguments.args = plain_args(ctx, from->arguments.args);
    args->arguments.kwonlyargs = plain_args(ctx, from->arguments.kwonlyargs);
    args->arguments.defaults = nones(ctx, from->arguments.defaults);
    args->arguments.kw_defaults = nones(ctx, from->arguments.kw_defaults);
    if (from->arguments.vararg)
        args->arguments.vararg = plain_args(ctx, pel_nodes_one(ctx, from->arguments.vararg)).at[0];
    if (from->arguments.kwarg) args->arguments.kwarg = plain_args(ctx, pel_nodes_one(ctx, from->arguments.kwarg)).at[0];
    return made;
}

#define STUB "not_recorded"

/* For what has no name of its own in the output: lambdas, functions of other files. */
pel_node *pel_stub_name(pel_synth *s) {
    s->has_stub = true;
    return pel_make_name(s->ctx, pel_intern_c(s->ctx, STUB), PEL_Load);
}

void pel_write_stub(pel_synth *s) {
    if (!s->has_stub) return;
    pel_source source = { PEL_STR("<stub>"), PEL_STR("def " STUB "(*args, **kwargs): pass\n") };
    pel_program_function *function = pel_new(s->ctx, pel_program_function);
    *function = (pel_program_function){ .name = pel_intern_c(s->ctx, STUB), .from_source = true };
    function->def = pel_parse(s->ctx, &source, PEL_VERSION_MAX)->Module.body.at[0];
    function->def->FunctionDef.body = pel_stub_body(s->ctx);
    pel_push(s->ctx, &s->program->functions, function);
}
