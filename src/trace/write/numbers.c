/* Numbers as an author would have written them: a scale of 0.1767766952966369 is 32 ** -0.5.
 *
 * What a constructor computed is a number by the time a model is recorded, and sixteen digits tell a reader nothing. A
 * form is taken if it gives the same bits, so nothing is lost if the author meant another one. */
#include "trace/depends/uses.h"
#include "trace/passes.h"
#include "trace/program.h"

#include <math.h>

#define PI 3.14159265358979323846
enum {
    FEWEST_DIGITS = 14, /* of a number that nobody wrote */
    MOST_PARTS = 10,    /* of a fraction */
    MOST_UNITS = 64,    /* of 1 / n */
};
static const double most_rooted = 65536; /* under a root */
static const double most_logged = 1000000;
static const double most_parts_of_pi = 12;
static const double decimals = 10000; /* of what is left of 1 */

typedef struct numbers {
    pel_ctx *ctx;
    pel_program *program;
} numbers;

/* ---- parts of forms ---- */

static pel_node *whole(const numbers *n, double value) { return pel_make_int(n->ctx, (int64_t)value); }
static pel_node *decimal(const numbers *n, double value) {
    return pel_make_constant(n->ctx, pel_const_float(n->ctx, value));
}

static pel_node *operation(const numbers *n, pel_node *left, pel_OPERATOR op, pel_node *right) {
    return pel_make_binop(n->ctx, left, op, right);
}

static pel_node *pi(const numbers *n) { return pel_library_expression(n->ctx, n->program, PEL_STR("math.pi")); }

static pel_node *call(const numbers *n, pel_str function, pel_node *argument) {
    pel_node *callee = pel_library_expression(n->ctx, n->program, function);
    return pel_make_call(n->ctx, callee, pel_nodes_one(n->ctx, argument), (pel_nodes){ 0 });
}

/* ---- forms: NULL where one does not give the value ---- */

static pel_node *as_fraction(const numbers *n, double value) {
    for (int parts = 3; parts <= MOST_PARTS; parts++) {
        double count = round(value * parts);
        if (count >= 1 && count <= decimals && count / parts == value)
            return operation(n, whole(n, count), PEL_Div, whole(n, parts));
    }
    double of = round(1 / value);
    return of >= 3 && of <= MOST_UNITS && 1 / of == value ? operation(n, whole(n, 1), PEL_Div, whole(n, of)) : NULL;
}

/* Of a square it is a fraction: 196**-0.5 is 1 / 14, and rather one of a row of rates than a scale. */
static bool is_square(double value) {
    double root = round(sqrt(value));
    return root * root == value;
}

static pel_node *as_inverse_root(const numbers *n, double value) {
    double of = round(1 / (value * value));
    if (of < 2 || of > most_rooted || is_square(of)) return NULL;
    pel_node *under = whole(n, of), *half = decimal(n, 0.5);
    if (pow(of, -0.5) == value) {
        pel_node *minus = pel_node_new(n->ctx, PEL_UnaryOp);
        minus->UnaryOp.op = PEL_USub;
        minus->UnaryOp.operand = half;
        return operation(n, under, PEL_Pow, minus);
    }
    return 1 / sqrt(of) == value ? operation(n, whole(n, 1), PEL_Div, call(n, PEL_STR("math.sqrt"), under)) : NULL;
}

static pel_node *as_root(const numbers *n, double value) {
    double of = round(value * value);
    if (of >= 2 && of <= most_rooted && sqrt(of) == value) return call(n, PEL_STR("math.sqrt"), whole(n, of));
    of = round(value * value * PI); /* GELU's */
    if (of < 1 || of > most_parts_of_pi || sqrt(of / PI) != value) return NULL;
    return call(n, PEL_STR("math.sqrt"), operation(n, whole(n, of), PEL_Div, pi(n)));
}

static pel_node *as_logarithm(const numbers *n, double value) {
    double of = value < log(most_logged) + 1 ? round(exp(value)) : 0;
    return of >= 2 && of <= most_logged && log(of) == value ? call(n, PEL_STR("math.log"), whole(n, of)) : NULL;
}

static pel_node *as_part_of_pi(const numbers *n, double value) {
    for (int parts = 1; parts <= most_parts_of_pi; parts++) {
        double count = round(value * parts / PI);
        if (count < 1 || count > most_parts_of_pi || count * PI / parts != value) continue;
        pel_node *times = count == 1 ? pi(n) : operation(n, whole(n, count), PEL_Mult, pi(n));
        return parts == 1 ? times : operation(n, times, PEL_Div, whole(n, parts));
    }
    return NULL;
}

static pel_node *as_rest_of_one(const numbers *n, double value) {
    double taken = round((1 - value) * decimals) / decimals;
    return taken > 0 && taken < 1 && 1 - taken == value ? operation(n, whole(n, 1), PEL_Sub, decimal(n, taken)) : NULL;
}

typedef pel_node *form(const numbers *n, double value);
static form *const forms[] = { as_fraction, as_inverse_root, as_root, as_logarithm, as_part_of_pi, as_rest_of_one };

/* ---- where numbers stand ---- */

bool pel_is_computed(pel_ctx *ctx, const pel_node *node) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_FLOAT) return false;
    double value = node->Constant.value->real;
    if (!isfinite(value) || value <= 0) return false;
    pel_buf text = pel_buf_in(ctx);
    pel_put_float_repr(&text, value);
    int digits = 0; /* behind the zeros that it begins with, up to the exponent */
    for (size_t i = 0; i < text.len && text.at[i] != 'e'; i++)
        digits += text.at[i] != '.' && (digits || text.at[i] != '0');
    return digits >= FEWEST_DIGITS;
}

static pel_node *form_of(const numbers *n, const pel_node *node) {
    pel_node *found = NULL;
    for (size_t i = 0; i < PEL_COUNT(forms) && !found; i++) found = forms[i](n, node->Constant.value->real);
    return found;
}

/* A table of numbers is written in one manner. */
static bool is_mixed(const numbers *n, pel_nodes items) {
    for (uint32_t i = 0; i < items.n; i++)
        if (pel_is_computed(n->ctx, items.at[i]) && !form_of(n, items.at[i])) return true;
    return false;
}

static void write_number(void *arg, pel_node **slot) {
    const numbers *n = arg;
    pel_node *node = *slot;
    if (pel_is_computed(n->ctx, node)) {
        pel_node *found = form_of(n, node);
        if (found) *slot = found;
        return;
    }
    if (node->kind == PEL_MatchValue) return; /* a pattern takes literals alone */
    if ((node->kind == PEL_List && is_mixed(n, node->List.elts)) ||
        (node->kind == PEL_Tuple && is_mixed(n, node->Tuple.elts)))
        return;
    pel_each_child(node, write_number, arg);
}

/* ---- what a formula names ---- */

typedef struct hoist {
    pel_ctx *ctx;
    const pel_node *init;
    pel_nodes before; /* statements that must come before the one that is looked at */
} hoist;

static bool is_free(const hoist *h, pel_name name) {
    const pel_node *args = h->init->FunctionDef.args;
    for (uint32_t i = 0; i < args->arguments.args.n; i++)
        if (args->arguments.args.at[i]->arg.arg == name) return false;
    for (uint32_t i = 0; i < h->before.n; i++)
        if (pel_bound_name(h->before.at[i]) == name) return false;
    const pel_uses uses = pel_uses_in(NULL, h->init->FunctionDef.body, name);
    return uses.binds <= 1 && uses.captured; /* by the lambda alone */
}

/* f((lambda place: place[:, None] - place)(a))  ->  place = a; f(place[:, None] - place), where it is always asked. */
static void hoist_argument(void *arg, pel_node **slot) {
    hoist *h = arg;
    pel_node *node = *slot;
    switch ((int)node->kind) {
    case PEL_IfExp:
    case PEL_BoolOp:
    case PEL_ListComp:
    case PEL_GeneratorExp:
    case PEL_DictComp:
    case PEL_SetComp:
    case PEL_Lambda:
    case PEL_FunctionDef: return;
    default: break;
    }
    const pel_node *lambda = node->kind == PEL_Call && node->Call.func->kind == PEL_Lambda ? node->Call.func : NULL;
    if (!lambda) {
        pel_each_child(node, hoist_argument, h);
        return;
    }
    const pel_nodes params = lambda->Lambda.args->arguments.args;
    if (params.n != 1 || node->Call.args.n != 1 || node->Call.keywords.n || !is_free(h, params.at[0]->arg.arg)) return;
    pel_node *name = pel_make_name(h->ctx, params.at[0]->arg.arg, PEL_Store);
    pel_nodes_push(h->ctx, &h->before, pel_make_assign(h->ctx, name, node->Call.args.at[0]));
    *slot = lambda->Lambda.body;
}

static void name_arguments(pel_ctx *ctx, pel_node *init) {
    pel_nodes made = { 0 };
    hoist h = { .ctx = ctx, .init = init };
    pel_nodes *body = &init->FunctionDef.body;
    for (uint32_t i = 0; i < body->n; i++) {
        uint32_t n = h.before.n;
        bool is_simple = body->at[i]->kind == PEL_Assign || body->at[i]->kind == PEL_Expr;
        if (is_simple) hoist_argument(&h, &body->at[i]);
        for (; n < h.before.n; n++) pel_nodes_push(ctx, &made, h.before.at[n]);
        pel_nodes_push(ctx, &made, body->at[i]);
    }
    *body = made;
}

void pel_write_numbers(pel_ctx *ctx, pel_program *program) {
    numbers n = { ctx, program };
    for (uint32_t i = 0; program->known && i < program->known->class_facts.n; i++)
        if (pel_str_starts(program->known->class_facts.at[i], PEL_STR("rates\n")))
            pel_write_rates(ctx, program, program->known->class_facts.at[i]);
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (!function->dead && function->def) write_number(&n, &function->def);
    }
    for (uint32_t i = 0; i < program->classes.n; i++) {
        pel_program_class *class = program->classes.at[i];
        if (class->init) write_number(&n, &class->init);
        if (class->init && class->init->kind == PEL_FunctionDef) name_arguments(ctx, class->init);
        if (class->def) write_number(&n, &class->def);
    }
    for (uint32_t i = 0; i < program->globals.n; i++)
        if (program->globals.at[i].value) write_number(&n, &program->globals.at[i].value);
}

bool pel_pass_numbers(pel_synth *s) {
    pel_write_numbers(s->ctx, s->program);
    return true;
}
