/* `from __future__ import annotations`: the compiler keeps annotations as text, and makes that text of the expressions
 * that stand in the source. Under that import an annotation that is a string would become a string of a string, so the
 * text is read as an expression again. */
#include <stdio.h>

#include "decompile/lift.h"
#include "python/parse.h"

typedef struct reread {
    pel_ctx *ctx;
    pel_str text;
    pel_node *made;
} reread;

static void parse_text(pel_ctx *ctx, void *arg) {
    reread *r = arg;
    pel_source source = pel_source_text(ctx, PEL_STR("annotation"), r->text);
    r->made = pel_parse_newest_expression(ctx, &source);
    if (r->made->kind == PEL_Expression) r->made = r->made->Expression.body;
}

typedef struct walk {
    pel_ctx *ctx;
    pel_decompiled *result;
    const pel_code_object *code;
    pel_str unread; /* the first text that is no expression */
} walk;

/* X[(Ellipsis, None)]: a compiler that folds constants before it writes the text found X[..., None]. */
static void unfold_ellipsis(void *arg, pel_node **slot) {
    pel_node *node = *slot;
    pel_each_child(node, unfold_ellipsis, arg);
    if (node->kind != PEL_Subscript || node->Subscript.slice->kind != PEL_Tuple || !node->Subscript.slice->parens)
        return;
    pel_nodes elts = node->Subscript.slice->Tuple.elts;
    for (uint32_t i = 0; i < elts.n; i++)
        if (elts.at[i]->kind != PEL_Constant &&
            !(elts.at[i]->kind == PEL_Name && pel_name_is(elts.at[i]->Name.id, "Ellipsis")))
            return;
    for (uint32_t i = 0; i < elts.n; i++)
        if (elts.at[i]->kind == PEL_Name) elts.at[i] = pel_make_constant(arg, &pel_ellipsis);
}

static void reread_one(walk *w, pel_node **slot) {
    pel_node *old = *slot;
    if (!old || old->kind != PEL_Constant || old->Constant.value->kind != PEL_CONST_STR) return;
    reread r = { .ctx = w->ctx, .text = old->Constant.value->text };
    pel_err why;
    if (!pel_attempt(w->ctx, parse_text, &r, &why)) {
        if (!w->unread.ptr) w->unread = r.text;
        return;
    }
    unfold_ellipsis(w->ctx, &r.made);
    pel_forget_marks(r.made);
    r.made->mark = old->mark;
    *slot = r.made;
}

static void visit(void *arg, pel_node **slot) {
    walk *w = arg;
    pel_node *node = *slot;
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: reread_one(w, &node->FunctionDef.returns); break;
    case PEL_arg: reread_one(w, &node->arg.annotation); break;
    case PEL_AnnAssign: reread_one(w, &node->AnnAssign.annotation); break;
    default: break;
    }
    pel_each_child(node, visit, arg);
}

static bool imports_annotations(const pel_node *module) {
    for (uint32_t i = 0; i < module->Module.body.n; i++) {
        const pel_node *stmt = module->Module.body.at[i];
        bool is_future = stmt->kind == PEL_ImportFrom && stmt->ImportFrom.module && !stmt->ImportFrom.level &&
                         pel_name_is(stmt->ImportFrom.module, "__future__");
        for (uint32_t k = 0; is_future && k < stmt->ImportFrom.names.n; k++)
            if (pel_name_is(stmt->ImportFrom.names.at[k]->alias.name, "annotations")) return true;
    }
    return false;
}

void pel_reread_annotations(pel_ctx *ctx, pel_decompiled *result, const pel_code_object *code) {
    if (!imports_annotations(result->tree)) return;
    walk w = { .ctx = ctx, .result = result, .code = code };
    pel_node *tree = result->tree;
    visit(&w, &tree);
    if (!w.unread.ptr) return;
    pel_incomplete report = { .code = code };
    report.why.code = PEL_E_INCOMPLETE;
    pel_str text = pel_format(ctx, "an annotation that is no expression: %.*s", PEL_FMT(w.unread));
    snprintf(report.why.what, sizeof report.why.what, "%.*s", PEL_FMT(text));
    pel_push(ctx, &result->incomplete, report);
    pel_nodes body = pel_nodes_one(ctx, pel_make_comment(ctx, pel_format(ctx, PEL_INCOMPLETE ": %.*s", PEL_FMT(text))));
    for (uint32_t i = 0; i < tree->Module.body.n; i++) pel_nodes_push(ctx, &body, tree->Module.body.at[i]);
    tree->Module.body = body;
}
