/* f-strings and t-strings: their fields, and what is made of those. */
#include "decompile/lift.h"
#include "python/parse.h"
#include "python/print.h"

static const int conversions[] = { -1, 's', 'r', 'a' };

static void wrong(pel_lift *l, uint32_t at, const char *what) {
    if (l->trial)
        l->broken = true;
    else
        pel_lift_fail(l, at, what);
}

/* What follows the colon of a field. */
static pel_node *spec_of(pel_lift *l, stack *s, uint32_t at) {
    item it = pel_stack_pop(l, s, at);
    pel_node *spec = pel_item_expr(l, it, at);
    if (spec->kind != PEL_JoinedStr) {
        pel_node *joined = pel_make(l, PEL_JoinedStr, at);
        joined->JoinedStr.values = pel_nodes_one(l->ctx, spec);
        spec = joined;
    }
    for (uint32_t i = 0; i < spec->JoinedStr.values.n; i++) {
        const pel_node *part = spec->JoinedStr.values.at[i];
        if (part->kind == PEL_FormattedValue && part->FormattedValue.format_spec)
            wrong(l, at, "a format within the format of a format");
    }
    return spec;
}

void pel_format_field(pel_lift *l, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    pel_node *spec = ins->op == PEL_I_FORMAT && ins->arg ? spec_of(l, s, at) : NULL;
    item it = pel_stack_pop(l, s, at);
    pel_node *node = pel_make(l, PEL_FormattedValue, at);
    if (it.kind == IT_EXPR && it.chain == false && it.node && it.node->kind == PEL_FormattedValue &&
        it.node->parens == 0x20) {
        node->FormattedValue.value = it.node->FormattedValue.value; /* converted before */
        node->FormattedValue.conversion = it.node->FormattedValue.conversion;
    } else {
        node->FormattedValue.value = pel_item_expr(l, it, at);
        uint32_t conversion = ins->op == PEL_I_CONVERT ? ins->arg : ins->sub;
        node->FormattedValue.conversion = conversions[conversion & 3];
    }
    node->FormattedValue.format_spec = spec;
    if (ins->op == PEL_I_CONVERT) node->parens = 0x20;
    pel_push_expr(l, s, at, node);
}

/* ---- t-strings ---- */

/* A field keeps the text of its expression, which the program can read. */
void pel_template_field(pel_lift *l, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    pel_node *spec = ins->arg & 1 ? spec_of(l, s, at) : NULL;
    pel_node *text = pel_pop_expr(l, s, at);
    pel_node *node = pel_make(l, PEL_Interpolation, at);
    node->Interpolation.value = pel_pop_expr(l, s, at);
    node->Interpolation.conversion = conversions[ins->arg >> 2 & 3];
    node->Interpolation.format_spec = spec;
    if (text->kind == PEL_Constant && text->Constant.value->kind == PEL_CONST_STR)
        node->Interpolation.str = text->Constant.value;
    else
        wrong(l, at, "a field of a t-string without its text");
    pel_push_expr(l, s, at, node);
}

/* The texts between the fields, one more than there are fields; empty ones are no parts. */
void pel_template(pel_lift *l, stack *s, uint32_t at) {
    pel_node *fields = pel_pop_expr(l, s, at), *texts = pel_pop_expr(l, s, at);
    pel_node *node = pel_make(l, PEL_TemplateStr, at);
    uint32_t n = fields->kind == PEL_Tuple ? fields->Tuple.elts.n : 0;
    bool fits = fields->kind == PEL_Tuple && texts->kind == PEL_Tuple && texts->Tuple.elts.n == n + 1;
    for (uint32_t i = 0; fits && i <= n; i++) {
        pel_node *part = texts->Tuple.elts.at[i];
        fits = part->kind == PEL_Constant && part->Constant.value->kind == PEL_CONST_STR;
        if (fits && part->Constant.value->text.len) /* one instruction made them all */
            pel_nodes_push(l->ctx, &node->TemplateStr.values, pel_make_constant(l->ctx, part->Constant.value));
        if (fits && i < n) pel_nodes_push(l->ctx, &node->TemplateStr.values, fields->Tuple.elts.at[i]);
    }
    if (!fits) wrong(l, at, "a t-string that none could be compiled to");
    pel_push_expr(l, s, at, node);
}

typedef struct reread {
    pel_str text;
    pel_node *made;
} reread;

static void parse_text(pel_ctx *ctx, void *arg) {
    reread *r = arg;
    pel_str in_parens = pel_format(ctx, "(%.*s\n)", PEL_FMT(r->text));
    pel_source source = pel_source_text(ctx, PEL_STR("<field>"), in_parens);
    r->made = pel_parse_newest_expression(ctx, &source)->Expression.body;
}

static pel_str printed(pel_ctx *ctx, pel_node *expr) {
    pel_buf out = pel_buf_in(ctx);
    pel_node *stmt = pel_make_expr(ctx, pel_copy(ctx, expr));
    pel_print(ctx, stmt, &(pel_print_options){ .width = 10000 }, &out);
    return pel_buf_str(&out);
}

/* The text is what is printed, so the tree of a field must be that of its text: compilers fold `-1` and `a[1:2]` to
 * constants. Two trees that are printed alike mean the same. */
static void reread_field(void *arg, pel_node **slot) {
    pel_lift *l = arg;
    pel_node *node = *slot;
    pel_each_child(node, reread_field, arg);
    if (node->kind != PEL_Interpolation) return;
    reread r = { .text = node->Interpolation.str->text };
    pel_err why;
    if (!pel_attempt(l->ctx, parse_text, &r, &why)) pel_lift_fail(l, 0, "the text of a t-string is no expression");
    if (pel_same(r.made, node->Interpolation.value)) return;
    if (!pel_str_eq(printed(l->ctx, r.made), printed(l->ctx, node->Interpolation.value)))
        pel_lift_fail(l, 0, "a t-string whose expression is not what its text says");
    pel_forget_marks(r.made);
    r.made->mark = node->Interpolation.value->mark;
    node->Interpolation.value = r.made;
}

void pel_reread_templates(pel_lift *l, pel_nodes *body) {
    for (uint32_t i = 0; i < body->n; i++) reread_field(l, &body->at[i]);
}
