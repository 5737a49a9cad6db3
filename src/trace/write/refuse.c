/* Functions without a text: what is said of them, and which are to be written as straight lines instead. */
#include "trace/passes.h"
#include "trace/shrink/link.h"
#include "python/parse.h"
#include "trace/synth.h"

typedef struct blame {
    pel_synth *s;
    pel_map nameless; /* mentions of functions that are written where they are called, and have no text */
    const pel_node *found;
} blame;

/* functools.partial(f, 1), where f is its recorded calls at each place that calls it: nothing is left to be named. */
static pel_map nameless_mentions(pel_synth *s) {
    pel_map found = { 0 };
    for (uint32_t i = 0; i < s->references.n; i++) {
        const pel_reference *ref = &s->references.at[i];
        if (ref->node->kind == PEL_Name && ref->group && !ref->group->function &&
            pel_map_has(&s->program->straight, ref->group->code))
            pel_map_set(s->ctx, &found, PEL_KEY(ref->node), 1);
    }
    return found;
}

static void find_unwritable(void *arg, pel_node **slot) {
    blame *b = arg;
    if (b->found) return;
    const pel_link *link = pel_link_at(b->s, *slot);
    if (pel_map_has(&b->s->notes.unwritable, PEL_KEY(*slot)) || pel_map_has(&b->nameless, PEL_KEY(*slot)) ||
        (link && link->callee == PEL_CALLEE_INLINE))
        b->found = *slot;
    else
        pel_each_part(b->s, *slot, find_unwritable, b);
}

static void refuse(pel_synth *s, const pel_group *group, uint32_t line, const char *why) {
    const pel_log_code *row = &s->log->codes.at[group->code];
    pel_push(s->ctx, &s->program->said.refused, ((pel_refused){ group->code, pel_str_of(why) }));
    pel_str path = row->file ? s->log->files.at[row->file].path : PEL_STR("?");
    pel_remark remark = { PEL_REMARK_REFUSED,
                          pel_format(s->ctx, "%s:%u: %s: %s", pel_format(s->ctx, "%.*s", PEL_FMT(path)).ptr, line,
                                     row->code->qualname ? row->code->qualname->text : row->code->name->text, why),
                          row->file, line };
    pel_push(s->ctx, &s->program->said.remarks, remark);
}

static bool split_groups(pel_synth *s, const pel_reach *r, bool without_text) {
    bool split = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && without_text == (s->groups.at[i]->why != NULL)) split |= pel_split_group(s, s->groups.at[i]);
    return split;
}

static bool check_texts(pel_synth *s, const pel_reach *r) {
    /* while some function has no text, what others need of their arguments is not known yet */
    if (split_groups(s, r, true) || split_groups(s, r, false)) return false;
    const pel_map nameless = nameless_mentions(s);
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        if (!r->seen[i]) continue;
        if (group->why) {
            refuse(s, group, group->why_line, group->why);
            continue;
        }
        if (group->is.without_self && !group->params[0].dead) {
            refuse(s, group, group->author->node->lineno, "its object has no literal");
            continue;
        }
        blame b = { s, nameless, NULL };
        for (uint32_t k = 0; k < group->body.n && !b.found; k++) find_unwritable(&b, &group->body.at[k]);
        if (!b.found) continue;
        pel_str text = b.found->kind == PEL_Name        ? pel_name_str(b.found->Name.id)
                       : b.found->kind == PEL_Attribute ? pel_name_str(b.found->Attribute.attr)
                                                        : PEL_STR("?");
        refuse(s, group, b.found->lineno,
               pel_format(s->ctx, "`%.*s` is an object without a literal", PEL_FMT(text)).ptr);
    }
    for (uint32_t i = 0; i < s->program->said.remarks.n; i++)
        if (s->program->said.remarks.at[i].kind == PEL_REMARK_REFUSED)
            pel_throw_at(s->ctx, PEL_E_UNSUPPORTED, 0, s->program->said.remarks.at[i].line, 0, "%.*s",
                         PEL_FMT(s->program->said.remarks.at[i].text));
    return true;
}

/* Functions that never ran although their names are passed on: calling one is a path that was not recorded. */

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

bool pel_pass_texts(pel_synth *s) {
    if (check_texts(s, &s->reached)) return false;
    pel_program *program = s->program; /* functions were split: what was written of them goes */
    program->functions.n = program->classes.n = program->said.remarks.n = program->globals.n = 0;
    program->operators.n = 0;
    program->hooks.hooked = (pel_map){ 0 };
    s->regroup = true;
    return true;
}
