/* Functions, lambdas, classes and type parameters. */
#include "python/parser.h"

/* ---- parameters ---- */

typedef enum pel_parameter_stage { BEFORE_STAR, AFTER_STAR, AFTER_DOUBLE_STAR } pel_parameter_stage;

typedef struct pel_parameters {
    bool is_lambda;
    pel_parameter_stage stage;
    bool has_slash, has_default;
    pel_parse_place star;
    PEL_VEC(pel_node *) args, defaults, kwonlyargs, kw_defaults;
} pel_parameters;

/* param: NAME [':' expression]; a lambda's has no annotation */
static pel_node *parse_parameter(pel_parser *p, const pel_parameters *state, bool is_variadic) {
    pel_node *node = pel_begin(p, arg, pel_here(p));
    pel_parse_place name_to = p->lex.token.to;
    node->arg.arg = pel_expect_name(p, "a parameter name");
    pel_check_bound(p, node->arg.arg, pel_start_of(node));
    if (!state->is_lambda && pel_accept(p, PEL_T_COLON)) {
        if (is_variadic && state->stage == AFTER_STAR && pel_at(p, PEL_T_STAR)) { /* *args: *Ts */
            pel_need_version(p, 11, pel_here(p), "starred annotations");
            node->arg.annotation = pel_starred(p);
        } else {
            node->arg.annotation = pel_expression(p);
        }
    }
    /* Python 3.8 leaves out the annotation of keyword-only parameters */
    bool is_name_only = p->lex.version == 8 && state->stage == AFTER_STAR && !is_variadic;
    return is_name_only ? pel_finish_at(node, name_to) : pel_finish(p, node);
}

static void parse_star_parameter(pel_parser *p, pel_parameters *state, pel_node *arguments) {
    if (state->stage != BEFORE_STAR) pel_syntax_error(&p->lex, pel_here(p), "* argument may appear only once");
    state->stage = AFTER_STAR;
    state->star = pel_here(p);
    pel_advance(p);
    if (pel_at(p, PEL_T_NAME)) {
        arguments->arguments.vararg = parse_parameter(p, state, true);
        if (pel_at(p, PEL_T_EQUAL))
            pel_syntax_error(&p->lex, pel_here(p), "var-positional argument cannot have default value");
    } else if (!pel_at(p, PEL_T_COMMA)) {
        pel_syntax_error(&p->lex, state->star, "named arguments must follow bare *");
    }
}

static void parse_slash(pel_parser *p, pel_parameters *state, pel_node *arguments) {
    if (state->has_slash) pel_syntax_error(&p->lex, pel_here(p), "/ may appear only once");
    if (state->stage != BEFORE_STAR) pel_syntax_error(&p->lex, pel_here(p), "/ must be ahead of *");
    if (!state->args.n) pel_syntax_error(&p->lex, pel_here(p), "at least one argument must precede /");
    state->has_slash = true;
    arguments->arguments.posonlyargs = pel_nodes_of(p->ctx, state->args.at, state->args.n);
    state->args.n = 0;
    pel_advance(p);
}

static void parse_plain_parameter(pel_parser *p, pel_parameters *state) {
    pel_node *parameter = parse_parameter(p, state, false), *value = NULL;
    if (pel_accept(p, PEL_T_EQUAL)) {
        if (!pel_starts_expression(pel_kind_now(p))) pel_unexpected(p, "a default value");
        value = pel_expression(p);
    }
    if (state->stage == AFTER_STAR) {
        pel_push(p->ctx, &state->kwonlyargs, parameter);
        pel_push(p->ctx, &state->kw_defaults, value);
        return;
    }
    if (value)
        pel_push(p->ctx, &state->defaults, value);
    else if (state->has_default)
        pel_syntax_error(&p->lex, pel_start_of(parameter),
                         "parameter without a default follows parameter with a default");
    state->has_default = value != NULL;
    pel_push(p->ctx, &state->args, parameter);
}

/* parameters: ','.(param ['=' expression] | '/' | '*' [param] | '**' param)+ [','] up to `end`, which stays.
 * Order: positional-only '/' positional '*' keyword-only '**'; defaults only at the end of the positional ones. */
static pel_node *parse_parameters(pel_parser *p, pel_token_kind end, bool is_lambda) {
    pel_node *arguments = pel_begin(p, arguments, pel_here(p));
    pel_parameters state = { .is_lambda = is_lambda };
    while (!pel_at(p, end)) {
        if (state.stage == AFTER_DOUBLE_STAR)
            pel_syntax_error(&p->lex, pel_here(p), "arguments cannot follow var-keyword argument");
        if (pel_at(p, PEL_T_STAR)) {
            parse_star_parameter(p, &state, arguments);
        } else if (pel_at(p, PEL_T_DOUBLESTAR)) {
            if (state.stage == AFTER_STAR && !arguments->arguments.vararg && !state.kwonlyargs.n)
                pel_syntax_error(&p->lex, state.star, "named arguments must follow bare *");
            state.stage = AFTER_DOUBLE_STAR;
            pel_advance(p);
            arguments->arguments.kwarg = parse_parameter(p, &state, true);
            if (pel_at(p, PEL_T_EQUAL))
                pel_syntax_error(&p->lex, pel_here(p), "var-keyword argument cannot have default value");
        } else if (pel_at(p, PEL_T_SLASH)) {
            parse_slash(p, &state, arguments);
        } else {
            parse_plain_parameter(p, &state);
        }
        if (pel_accept(p, PEL_T_COMMA)) continue;
        if (pel_at(p, PEL_T_LPAR)) pel_syntax_error(&p->lex, pel_here(p), "parameters cannot be parenthesized");
        if (!pel_at(p, end))
            pel_unexpected(p, is_lambda ? "',' or ':' after the parameter" : "',' or ')' after the parameter");
    }
    if (state.stage == AFTER_STAR && !arguments->arguments.vararg && !state.kwonlyargs.n)
        pel_syntax_error(&p->lex, state.star, "named arguments must follow bare *");
    arguments->arguments.args = pel_nodes_of(p->ctx, state.args.at, state.args.n);
    arguments->arguments.defaults = pel_nodes_of(p->ctx, state.defaults.at, state.defaults.n);
    arguments->arguments.kwonlyargs = pel_nodes_of(p->ctx, state.kwonlyargs.at, state.kwonlyargs.n);
    arguments->arguments.kw_defaults = pel_nodes_of(p->ctx, state.kw_defaults.at, state.kw_defaults.n);
    return pel_finish(p, arguments);
}

/* lambdef: 'lambda' [lambda_params] ':' expression */
pel_node *pel_lambda(pel_parser *p) {
    pel_node *node = pel_begin(p, Lambda, pel_here(p));
    pel_advance(p);
    node->Lambda.args = parse_parameters(p, PEL_T_COLON, true);
    pel_expect(p, PEL_T_COLON);
    node->Lambda.body = pel_expression(p);
    return pel_finish(p, node);
}

/* ---- type parameters ---- */

/* ['=' expression], from Python 3.13 on; that of *Ts may be starred */
static pel_node *parse_type_default(pel_parser *p, bool may_be_starred) {
    if (!pel_at(p, PEL_T_EQUAL)) return NULL;
    pel_need_version(p, 13, pel_here(p), "type parameter defaults");
    pel_advance(p);
    return may_be_starred && pel_at(p, PEL_T_STAR) ? pel_starred(p) : pel_expression(p);
}

/* type_param: NAME [':' expression] [type_default] | '*' NAME [type_default] | '**' NAME [type_default] */
static pel_node *parse_type_param(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *node;
    if (pel_accept(p, PEL_T_STAR)) {
        node = pel_begin(p, TypeVarTuple, from);
        node->TypeVarTuple.name = pel_expect_name(p, "a type parameter");
        node->TypeVarTuple.default_value = parse_type_default(p, true);
    } else if (pel_accept(p, PEL_T_DOUBLESTAR)) {
        node = pel_begin(p, ParamSpec, from);
        node->ParamSpec.name = pel_expect_name(p, "a type parameter");
        node->ParamSpec.default_value = parse_type_default(p, false);
    } else {
        node = pel_begin(p, TypeVar, from);
        node->TypeVar.name = pel_expect_name(p, "a type parameter");
        if (pel_accept(p, PEL_T_COLON)) node->TypeVar.bound = pel_expression(p);
        node->TypeVar.default_value = parse_type_default(p, false);
    }
    if (node->kind != PEL_TypeVar && pel_at(p, PEL_T_COLON))
        pel_syntax_error(&p->lex, pel_here(p), "cannot use bound with %s", pel_kinds[node->kind].name);
    return pel_finish(p, node);
}

/* type_params: ['[' ','.type_param+ [','] ']'] */
pel_nodes pel_type_params(pel_parser *p) {
    if (!pel_at(p, PEL_T_LSQB)) return (pel_nodes){ 0 };
    pel_need_version(p, 12, pel_here(p), "type parameters");
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    do pel_keep(p, parse_type_param(p));
    while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_RSQB));
    pel_expect(p, PEL_T_RSQB);
    return pel_take(p, mark);
}

/* ---- definitions ---- */

/* function_def: ['async'] 'def' NAME [type_params] '(' [params] ')' ['->' expression] ':' block */
pel_node *pel_function_def(pel_parser *p, pel_parse_place from, pel_nodes decorators, bool is_async) {
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    pel_node *node = is_async ? pel_begin(p, AsyncFunctionDef, from) : pel_begin(p, FunctionDef, from);
    node->FunctionDef.decorator_list = decorators; /* both kinds have the same fields */
    node->FunctionDef.name = pel_expect_name(p, "a function name");
    node->FunctionDef.type_params = pel_type_params(p);
    if (!pel_at(p, PEL_T_LPAR)) pel_unexpected(p, "'(' after the function name");
    pel_advance(p);
    node->FunctionDef.args = parse_parameters(p, PEL_T_RPAR, false);
    pel_expect(p, PEL_T_RPAR);
    if (pel_accept(p, PEL_T_ARROW)) node->FunctionDef.returns = pel_expression(p);
    node->FunctionDef.body = pel_parse_block(p, "a function definition", line);
    pel_finish_block(p, node, node->FunctionDef.body);
    return node;
}

/* class_def: 'class' NAME [type_params] ['(' [arguments] ')'] ':' block */
pel_node *pel_class_def(pel_parser *p, pel_nodes decorators) {
    pel_parse_place from = pel_here(p);
    pel_advance(p);
    pel_node *node = pel_begin(p, ClassDef, from);
    node->ClassDef.decorator_list = decorators;
    node->ClassDef.name = pel_expect_name(p, "a class name");
    node->ClassDef.type_params = pel_type_params(p);
    if (pel_at(p, PEL_T_LPAR)) pel_arguments(p, &node->ClassDef.bases, &node->ClassDef.keywords, true);
    node->ClassDef.body = pel_parse_block(p, "a class definition", from.line);
    pel_finish_block(p, node, node->ClassDef.body);
    return node;
}
