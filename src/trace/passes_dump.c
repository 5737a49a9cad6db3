/* The program after a pass, as text for people: `pellucid skeleton TRACE --dump=PASS`. */
#include "python/print.h"
#include "trace/passes.h"

static const pel_print_options how = { .width = 120, .version = 10 };

static void check_statement(pel_ctx *ctx, void *arg) { pel_check_statements(ctx, arg, 1); }

/* Nested functions and lambdas get their bodies from the pass `effects` on: until then a statement may have a hole. */
static void put_body(pel_synth *s, pel_nodes body, pel_buf *out) {
    pel_err err;
    if (!body.n) pel_put_c(out, "    pass\n");
    for (uint32_t i = 0; i < body.n; i++) {
        if (pel_attempt(s->ctx, check_statement, &body.at[i], &err))
            pel_print_body(s->ctx, (pel_nodes){ .at = &body.at[i], .n = 1 }, 1, &how, out);
        else
            pel_putf(out, "    (a statement that is not whole yet: %s)\n", err.what);
    }
}

static bool is_whole(pel_synth *s, pel_node *expression) {
    pel_node *statement = pel_node_new(s->ctx, PEL_Expr);
    statement->Expr.value = expression;
    pel_err err;
    return pel_attempt(s->ctx, check_statement, &statement, &err);
}

/* Arguments of linked calls are written into the text by the pass `functions` alone; until then they are here. */
static void put_links(pel_synth *s, const pel_group *group, pel_buf *out) {
    for (uint32_t i = 0; i < s->calls.links.n; i++) {
        const pel_link *link = s->calls.links.at[i];
        if (link->caller != group) continue;
        pel_putf(out, "  calls group %u with (", link->target->number);
        for (uint32_t p = 0; p < link->target->n_params; p++) {
            if (p) pel_put_c(out, ", ");
            if (!link->args[p])
                pel_put_c(out, "-");
            else if (is_whole(s, link->args[p]))
                pel_print(s->ctx, link->args[p], &how, out);
            else
                pel_put_c(out, "(not whole yet)");
        }
        pel_put_c(out, ")\n");
    }
}

static void put_parameter(const pel_param *param, const char *before, pel_buf *out) {
    pel_putf(out, "%s%s", before, param->name->text);
    if (param->taint && pel_varies(param->taint)) pel_put_c(out, "~"); /* depends on what the calls pass */
    if (param->unread) pel_put_c(out, " unread");
    if (param->dead) pel_put_c(out, " gone");
}

static void put_title(const pel_synth *s, const pel_group *group, pel_buf *out) {
    const char *class = group->class ? pel_class_at(s->log, group->class)->name->text : "";
    pel_putf(out, "group %u: %s%s%s\n", group->number, class, *class ? "." : "",
             s->log->codes.at[group->code].code->name->text);
}

/* A function in the making: whose it is, how many activations it tells, and its text so far. */
static void put_group(pel_synth *s, const pel_group *group, pel_buf *out) {
    const pel_log_code *row = &s->log->codes.at[group->code];
    const char *class = group->class ? pel_class_at(s->log, group->class)->name->text : "";
    pel_putf(out, "group %u: %s%s%s, line %d, %u lane%s", group->number, class, *class ? "." : "",
             row->code->name->text, row->code->firstlineno, group->n_lanes, group->n_lanes == 1 ? "" : "s");
    if (group->is.root) pel_put_c(out, ", root");
    if (group->is.nested) pel_put_c(out, ", nested");
    if (group->facts.has_effect) pel_put_c(out, ", has an effect");
    if (group->facts.result && pel_varies(group->facts.result)) pel_put_c(out, ", result~");
    if (group->instead) pel_putf(out, ", group %u takes its place", group->instead->number);
    pel_put_c(out, "\n  (");
    for (uint32_t p = 0; p < group->n_params; p++) put_parameter(&group->params[p], p ? ", " : "", out);
    pel_put_c(out, ")\n");
    if (group->why)
        pel_putf(out, "    failed: %s\n", group->why);
    else
        put_body(s, group->body, out);
    put_links(s, group, out);
}

static void put_functions(pel_synth *s, pel_buf *out) {
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        const pel_program_function *function = s->program->functions.at[i];
        if (function->dead || !function->def) continue;
        const char *class = function->class ? pel_class_at(s->log, function->class)->name->text : "";
        pel_putf(out, "%s%s%s\n", class, *class ? "." : "", function->name->text);
        const char *why = pel_why_no_text(s, function);
        if (why)
            pel_putf(out, "    failed: %s\n", why);
        else
            pel_print_body(s->ctx, (pel_nodes){ .at = (pel_node *[]){ function->def }, .n = 1 }, 1, &how, out);
    }
}

static void put_classes(pel_synth *s, pel_buf *out) {
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        const pel_program_class *class = s->program->classes.at[i];
        pel_node *def = class->def ? class->def : class->init;
        if (!def) continue;
        pel_putf(out, "%s\n", class->name->text);
        pel_print_body(s->ctx, (pel_nodes){ .at = (pel_node *[]){ def }, .n = 1 }, 1, &how, out);
    }
}

static void put_extents(const pel_synth *s, pel_buf *out) {
    for (pel_id id = 1; id < s->log->activations.n; id++) {
        const pel_log_code *row = &s->log->codes.at[s->log->activations.at[id].code];
        pel_putf(out, "activation %u: %s, to activation %u, events %u to %u\n", id, row->code->name->text,
                 s->extents[id].end, s->extents[id].first_event, s->extents[id].end_event);
    }
}

static void put_live(const pel_synth *s, pel_buf *out) {
    for (pel_id id = 1; id < s->log->values.n; id++)
        if (s->objects.live[id]) pel_putf(out, "value %u is live\n", id);
}

static void put_lifted(const pel_synth *s, pel_buf *out) {
    for (pel_id id = 1; id < s->log->codes.n; id++) {
        const pel_code_object *code = s->log->codes.at[id].code;
        uint64_t n;
        if (!pel_map_get(&s->lifted, id, &n)) continue;
        pel_putf(out, "%s, line %d, takes what was in its cells:", code->name->text, code->firstlineno);
        for (uint32_t i = 0; i < n; i++) pel_putf(out, " %s", code->varnames.at[i]->text);
        pel_put_c(out, "\n");
    }
    if (!s->lifted.n) pel_put_c(out, "no function has anything in its cells\n");
}

static void put_hooks(const pel_synth *s, pel_buf *out) {
    for (uint32_t i = 0; i < s->hooks.all.n; i++) {
        const pel_hook *hook = s->hooks.all.at[i];
        const pel_log_code *row = &s->log->codes.at[s->log->activations.at[hook->activation].code];
        pel_putf(out, "activation %u: %s, %s ", hook->activation, row->code->name->text,
                 hook->before ? "before" : "after");
        if (hook->forward)
            pel_putf(out, "activation %u", hook->forward);
        else
            pel_put_c(out, "a forward of torch's");
        pel_putf(out, ", module %u%s\n", hook->module, hook->owner ? ", a method of another module" : "");
    }
    if (!s->hooks.all.n) pel_put_c(out, "no hooks\n");
}

/* What was folded, function by function: the author's line, what he wrote, what stands there, and why it is constant.
 */
static void put_folds(const pel_synth *s, pel_buf *out) {
    const pel_print_options one_line = { .one_line = true };
    for (uint32_t g = 0; g < s->groups.n; g++) {
        bool any = false;
        for (uint32_t i = 0; i < s->notes.folds.n; i++) {
            const pel_fold *fold = &s->notes.folds.at[i];
            if (fold->group != s->groups.at[g] || pel_same(fold->author, fold->text)) continue;
            if (!any) put_title(s, fold->group, out);
            any = true;
            pel_putf(out, "  line %d: ", (int)fold->author->lineno);
            pel_print(s->ctx, pel_copy(s->ctx, fold->author), &one_line, out);
            pel_put_c(out, " is ");
            pel_print(s->ctx, pel_copy(s->ctx, fold->text), &one_line, out);
            pel_putf(out, ": %s\n", pel_reason(fold->taint ? fold->taint->why : PEL_WHY_NONE));
        }
    }
}

void pel_dump_program(pel_synth *s, const pel_pass *pass, uint32_t round, pel_buf *out) {
    pel_putf(out, "== %s, round %u\n", pass->name, round);
    if (pass->run == pel_pass_extents) {
        put_extents(s, out);
    } else if (pass->run == pel_pass_live) {
        put_live(s, out);
    } else if (pass->run == pel_pass_depends) {
        put_folds(s, out);
    } else if (pass->run == pel_pass_emit) {
        pel_put(out, s->program->text);
    } else if (pass->run == pel_pass_init || pass->run == pel_pass_numbers) {
        put_classes(s, out);
    } else if (pass->run == pel_pass_closures) {
        put_lifted(s, out);
    } else if (pass->run == pel_pass_hooks) {
        put_hooks(s, out);
    } else if (pass->group <= PEL_PASSES_SHRINK || pass->run == pel_pass_names) {
        for (uint32_t i = 0; i < s->groups.n; i++) put_group(s, s->groups.at[i], out);
    } else {
        put_functions(s, out);
    }
}
