/* Expressions. Binary operators are parsed by climbing their precedences, not by a call per level. */
#include "python/parser.h"

/* ---- operators ---- */

typedef enum pel_precedence {
    NO_OPERATOR,
    OR,
    AND,
    NOT,
    COMPARISON,
    BITOR,
    BITXOR,
    BITAND,
    SHIFT,
    SUM,
    TERM,
} pel_precedence;

/* value: a pel_OPERATOR, or the pel_CMPOP of a comparison that is one token. */
static const struct pel_operator_row {
    uint8_t precedence, value;
} operators[PEL_TOKEN_COUNT] = {
    [PEL_T_OR] = { OR, PEL_Or },
    [PEL_T_AND] = { AND, PEL_And },
    [PEL_T_EQEQUAL] = { COMPARISON, PEL_Eq },
    [PEL_T_NOTEQUAL] = { COMPARISON, PEL_NotEq },
    [PEL_T_LESS] = { COMPARISON, PEL_Lt },
    [PEL_T_LESSEQUAL] = { COMPARISON, PEL_LtE },
    [PEL_T_GREATER] = { COMPARISON, PEL_Gt },
    [PEL_T_GREATEREQUAL] = { COMPARISON, PEL_GtE },
    [PEL_T_IN] = { COMPARISON, PEL_In },
    [PEL_T_IS] = { COMPARISON, PEL_Is },
    [PEL_T_NOT] = { COMPARISON, PEL_NotIn },
    [PEL_T_VBAR] = { BITOR, PEL_BitOr },
    [PEL_T_CIRCUMFLEX] = { BITXOR, PEL_BitXor },
    [PEL_T_AMPER] = { BITAND, PEL_BitAnd },
    [PEL_T_LEFTSHIFT] = { SHIFT, PEL_LShift },
    [PEL_T_RIGHTSHIFT] = { SHIFT, PEL_RShift },
    [PEL_T_PLUS] = { SUM, PEL_Add },
    [PEL_T_MINUS] = { SUM, PEL_Sub },
    [PEL_T_STAR] = { TERM, PEL_Mult },
    [PEL_T_SLASH] = { TERM, PEL_Div },
    [PEL_T_DOUBLESLASH] = { TERM, PEL_FloorDiv },
    [PEL_T_PERCENT] = { TERM, PEL_Mod },
    [PEL_T_AT] = { TERM, PEL_MatMult },
};

static const bool starts_expression[PEL_TOKEN_COUNT] = {
    [PEL_T_NAME] = true, [PEL_T_NUMBER] = true,   [PEL_T_STRING] = true, [PEL_T_FSTRING] = true, [PEL_T_LPAR] = true,
    [PEL_T_LSQB] = true, [PEL_T_LBRACE] = true,   [PEL_T_PLUS] = true,   [PEL_T_MINUS] = true,   [PEL_T_TILDE] = true,
    [PEL_T_NOT] = true,  [PEL_T_LAMBDA] = true,   [PEL_T_AWAIT] = true,  [PEL_T_TRUE] = true,    [PEL_T_FALSE] = true,
    [PEL_T_NONE] = true, [PEL_T_ELLIPSIS] = true,
};

bool pel_starts_expression(pel_token_kind kind) { return starts_expression[kind]; }

static pel_node *parse_unary(pel_parser *p);

/* comparison: bitwise_or (comp_op bitwise_or)+
 * comp_op: '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not' 'in' | 'is' ['not'] */
static pel_node *parse_comparison(pel_parser *p, pel_node *left, pel_parse_place from) {
    pel_node *node = pel_begin(p, Compare, from);
    PEL_VEC(uint8_t) ops = { 0 };
    uint32_t mark = pel_mark(p);
    while (operators[pel_kind_now(p)].precedence == COMPARISON) {
        uint8_t op = operators[pel_kind_now(p)].value;
        bool is_arrows = pel_at(p, PEL_T_LESS) && *p->lex.token.end == '>';
        if (is_arrows) pel_syntax_error(&p->lex, pel_here(p), "'<>' is not an operator, use '!='");
        pel_advance(p);
        if (op == PEL_NotIn) pel_expect(p, PEL_T_IN);
        if (op == PEL_Is && pel_accept(p, PEL_T_NOT)) op = PEL_IsNot;
        pel_push(p->ctx, &ops, op);
        pel_keep(p, pel_bitwise_or(p));
    }
    node->Compare.left = left;
    node->Compare.ops = (pel_cmpops){ ops.at, ops.n };
    node->Compare.comparators = pel_take(p, mark);
    return pel_finish(p, node);
}

/* All that binds at least as tight as `least`:
 * disjunction: conjunction ('or' conjunction)*
 * conjunction: inversion ('and' inversion)*
 * inversion: 'not' inversion | comparison
 * bitwise_or … term: x (operator y)*, left to right */
static pel_node *parse_operators(pel_parser *p, pel_precedence least) {
    pel_parse_place from = pel_here(p);
    pel_node *left;
    if (pel_at(p, PEL_T_NOT) && least <= NOT) {
        left = pel_begin(p, UnaryOp, from);
        left->UnaryOp.op = PEL_Not;
        pel_advance(p);
        pel_enter(p);
        left->UnaryOp.operand = parse_operators(p, NOT);
        pel_leave(p);
        pel_finish(p, left);
    } else {
        left = parse_unary(p);
    }
    for (uint32_t links = 0;; links++) {
        pel_token_kind kind = pel_kind_now(p);
        struct pel_operator_row row = operators[kind];
        if (row.precedence < least || row.precedence == NO_OPERATOR) return left;
        if (row.precedence == COMPARISON) {
            left = parse_comparison(p, left, from);
        } else if (row.precedence <= AND) {
            pel_node *node = pel_begin(p, BoolOp, from);
            uint32_t mark = pel_mark(p);
            pel_keep(p, left);
            while (pel_accept(p, kind)) pel_keep(p, parse_operators(p, row.precedence + 1));
            node->BoolOp.op = row.value;
            node->BoolOp.values = pel_take(p, mark);
            left = pel_finish(p, node);
        } else {
            pel_node *node = pel_begin(p, BinOp, from);
            pel_advance(p);
            node->BinOp.left = left;
            node->BinOp.op = row.value;
            node->BinOp.right = parse_operators(p, row.precedence + 1);
            left = pel_finish(p, node);
            pel_count_link(p, links);
        }
    }
}

pel_node *pel_disjunction(pel_parser *p) { return parse_operators(p, OR); }
pel_node *pel_bitwise_or(pel_parser *p) { return parse_operators(p, BITOR); }

/* expression: disjunction ['if' disjunction 'else' expression] | lambdef */
pel_node *pel_expression(pel_parser *p) {
    pel_enter(p);
    pel_node *node;
    if (pel_at(p, PEL_T_LAMBDA)) {
        node = pel_lambda(p);
    } else {
        pel_parse_place from = pel_here(p);
        node = parse_operators(p, OR);
        if (pel_at(p, PEL_T_IF)) {
            pel_node *body = node;
            node = pel_begin(p, IfExp, from);
            pel_advance(p);
            node->IfExp.body = body;
            node->IfExp.test = pel_disjunction(p);
            if (!pel_at(p, PEL_T_ELSE)) pel_unexpected(p, "'else' after this 'if' expression");
            pel_advance(p);
            node->IfExp.orelse = pel_expression(p);
            pel_finish(p, node);
        }
    }
    pel_leave(p);
    return node;
}

/* named_expression: NAME ':=' expression | expression !':=' */
pel_node *pel_named_expression(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *target = pel_expression(p);
    if (!pel_at(p, PEL_T_COLONEQUAL)) return target;
    if (target->kind != PEL_Name || (target->parens && p->lex.version > 8))
        pel_syntax_error(&p->lex, pel_start_of(target), "cannot use assignment expressions with %s",
                         pel_expression_text(target));
    pel_node *node = pel_begin(p, NamedExpr, from);
    pel_advance(p);
    pel_make_target(p, target, PEL_ASSIGN);
    node->NamedExpr.target = target;
    node->NamedExpr.value = pel_expression(p);
    return pel_finish(p, node);
}

/* '*' bitwise_or */
pel_node *pel_starred(pel_parser *p) {
    pel_node *node = pel_begin(p, Starred, pel_here(p));
    pel_advance(p);
    node->Starred.value = pel_bitwise_or(p);
    return pel_finish(p, node);
}

/* star_named_expression: '*' bitwise_or | named_expression */
pel_node *pel_star_named_expression(pel_parser *p) {
    return pel_at(p, PEL_T_STAR) ? pel_starred(p) : pel_named_expression(p);
}

static bool starts_star_expression(const pel_parser *p) {
    return starts_expression[pel_kind_now(p)] || pel_at(p, PEL_T_STAR);
}

/* star_expressions: ','.star_expression+ [',']
 * star_expression: '*' bitwise_or | expression */
pel_node *pel_star_expressions(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *first = pel_at(p, PEL_T_STAR) ? pel_starred(p) : pel_expression(p);
    if (!pel_at(p, PEL_T_COMMA)) return first;
    pel_node *node = pel_begin(p, Tuple, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_COMMA) && starts_star_expression(p))
        pel_keep(p, pel_at(p, PEL_T_STAR) ? pel_starred(p) : pel_expression(p));
    node->Tuple.elts = pel_take(p, mark);
    return pel_finish(p, node);
}

/* yield_expr: 'yield' 'from' expression | 'yield' [star_expressions] */
static pel_node *parse_yield(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_advance(p);
    pel_node *node;
    if (pel_accept(p, PEL_T_FROM)) {
        node = pel_begin(p, YieldFrom, from);
        node->YieldFrom.value = pel_expression(p);
    } else {
        node = pel_begin(p, Yield, from);
        if (starts_star_expression(p)) node->Yield.value = pel_star_expressions(p);
    }
    return pel_finish(p, node);
}

pel_node *pel_yield_or_star_expressions(pel_parser *p) {
    return pel_at(p, PEL_T_YIELD) ? parse_yield(p) : pel_star_expressions(p);
}

/* ---- comprehensions ---- */

/* for_if_clauses: (['async'] 'for' star_targets 'in' disjunction ('if' disjunction)*)+ */
pel_nodes pel_for_if_clauses(pel_parser *p) {
    uint32_t mark = pel_mark(p);
    while (pel_at(p, PEL_T_FOR) || pel_at(p, PEL_T_ASYNC)) {
        pel_node *clause = pel_begin(p, comprehension, pel_here(p));
        clause->comprehension.is_async = pel_accept(p, PEL_T_ASYNC);
        pel_expect(p, PEL_T_FOR);
        clause->comprehension.target = pel_star_targets(p);
        if (!pel_at(p, PEL_T_IN)) pel_unexpected(p, "'in' after the target of 'for'");
        pel_advance(p);
        clause->comprehension.iter = pel_disjunction(p);
        uint32_t ifs = pel_mark(p);
        while (pel_accept(p, PEL_T_IF)) {
            bool old_lambda = p->lex.version == 8 && pel_at(p, PEL_T_LAMBDA);
            pel_keep(p, old_lambda ? pel_lambda(p) : pel_disjunction(p));
        }
        clause->comprehension.ifs = pel_take(p, ifs);
        pel_keep(p, clause);
    }
    return pel_take(p, mark);
}

static bool at_comprehension(const pel_parser *p) { return pel_at(p, PEL_T_FOR) || pel_at(p, PEL_T_ASYNC); }

/* [*x for x in xs] is one of the new things of Python 3.15. */
static void check_starred_element(pel_parser *p, const pel_node *element) {
    if (element->kind == PEL_Starred) pel_need_version(p, 15, pel_start_of(element), "stars in comprehensions");
}

/* Whether the node is a bitwise_or, as the operand of a star must be outside of comprehensions. */
static bool binds_as_bitwise_or(const pel_node *node) {
    if (node->parens) return true;
    switch (node->kind) {
    case PEL_BoolOp:
    case PEL_Compare:
    case PEL_IfExp:
    case PEL_Lambda: return false;
    case PEL_UnaryOp: return node->UnaryOp.op != PEL_Not;
    default: return true;
    }
}

/* The operand of a star that may turn out to be the element of a comprehension: (*expression for …), {**expression
 * for …}, but (*bitwise_or, …). Which of them it is shows at its end. */
static pel_node *parse_unpacked(pel_parser *p) {
    if (p->lex.version < 15) return pel_bitwise_or(p);
    pel_node *value = pel_expression(p);
    if (!at_comprehension(p) && !binds_as_bitwise_or(value))
        pel_syntax_error(&p->lex, pel_start_of(value), "this %s needs parentheses after a star",
                         pel_expression_text(value));
    return value;
}

/* ---- atoms in brackets ---- */

/* tuple: '(' [star_named_expression ',' [star_named_expressions]] ')'
 * group: '(' (yield_expr | named_expression) ')'
 * genexp: '(' ('*' expression | named_expression) for_if_clauses ')'
 * All without the opening parenthesis, which is at `from`. */
pel_node *pel_parenthesised_rest(pel_parser *p, pel_parse_place from, pel_token_kind close) {
    pel_node *node;
    if (pel_at(p, PEL_T_YIELD)) {
        node = parse_yield(p);
        node->parens++;
        pel_expect(p, close);
        return node;
    }
    uint32_t mark = pel_mark(p);
    if (!pel_at(p, close)) {
        pel_node *first;
        if (pel_at(p, PEL_T_STAR)) {
            first = pel_begin(p, Starred, pel_here(p));
            pel_advance(p);
            first->Starred.value = parse_unpacked(p);
            pel_finish(p, first);
        } else {
            first = pel_named_expression(p);
        }
        if (at_comprehension(p)) {
            check_starred_element(p, first);
            node = pel_begin(p, GeneratorExp, from);
            node->GeneratorExp.elt = first;
            node->GeneratorExp.generators = pel_for_if_clauses(p);
            pel_expect(p, close);
            return pel_finish(p, node);
        }
        if (!pel_at(p, PEL_T_COMMA)) {
            if (first->kind == PEL_Starred && p->lex.version > 8)
                pel_syntax_error(&p->lex, pel_start_of(first), "cannot use starred expression here");
            first->parens++;
            pel_expect(p, close);
            return first;
        }
        pel_keep(p, first);
        while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, close)) pel_keep(p, pel_star_named_expression(p));
    }
    node = pel_begin(p, Tuple, from);
    node->Tuple.elts = pel_take(p, mark);
    node->parens++;
    pel_expect(p, close);
    return pel_finish(p, node);
}

/* list: '[' [star_named_expressions] ']'
 * listcomp: '[' star_named_expression for_if_clauses ']' */
static pel_node *parse_list(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    while (!pel_at(p, PEL_T_RSQB)) {
        pel_node *element = pel_star_named_expression(p);
        if (at_comprehension(p) && pel_mark(p) == mark) {
            check_starred_element(p, element);
            pel_node *node = pel_begin(p, ListComp, from);
            node->ListComp.elt = element;
            node->ListComp.generators = pel_for_if_clauses(p);
            pel_expect(p, PEL_T_RSQB);
            return pel_finish(p, node);
        }
        pel_keep(p, element);
        if (!pel_accept(p, PEL_T_COMMA)) break;
    }
    pel_node *node = pel_begin(p, List, from);
    node->List.elts = pel_take(p, mark);
    pel_expect(p, PEL_T_RSQB);
    return pel_finish(p, node);
}

/* One `key ':' value` or `'**' bitwise_or` of a dict: keeps the key (NULL for the latter), then the value. */
static void parse_dict_item(pel_parser *p) {
    if (pel_accept(p, PEL_T_DOUBLESTAR)) {
        pel_keep(p, NULL);
        pel_keep(p, pel_bitwise_or(p));
        return;
    }
    pel_keep(p, pel_expression(p));
    if (!pel_at(p, PEL_T_COLON)) pel_unexpected(p, "':' after the key");
    pel_advance(p);
    if (pel_at(p, PEL_T_COMMA) || pel_at(p, PEL_T_RBRACE)) pel_unexpected(p, "a value after ':'");
    pel_keep(p, pel_expression(p));
}

/* The rest of a dictcomp. What was kept above the mark is its key, NULL for `**`, and its value. */
static pel_node *parse_dict_comprehension(pel_parser *p, pel_parse_place from, uint32_t mark) {
    pel_node *node = pel_begin(p, DictComp, from), *key = p->scratch.at[mark], *value = p->scratch.at[mark + 1];
    if (!key) pel_need_version(p, 15, pel_here(p), "dict comprehensions of dicts (**)");
    node->DictComp.key = key ? key : value; /* as CPython: the dict that is unpacked is the key */
    node->DictComp.value = key ? value : NULL;
    p->scratch.n = mark;
    node->DictComp.generators = pel_for_if_clauses(p);
    pel_expect(p, PEL_T_RBRACE);
    return pel_finish(p, node);
}

/* dict: '{' [','.(expression ':' expression | '**' bitwise_or)+ [',']] '}', its first key parsed already if not NULL
 * dictcomp: '{' (expression ':' expression | '**' expression) for_if_clauses '}' */
static pel_node *parse_dict(pel_parser *p, pel_parse_place from, pel_node *first_key) {
    uint32_t mark = pel_mark(p);
    if (first_key) {
        pel_keep(p, first_key);
        pel_advance(p);
        if (pel_at(p, PEL_T_COMMA) || pel_at(p, PEL_T_RBRACE)) pel_unexpected(p, "a value after ':'");
        pel_keep(p, pel_expression(p));
        if (at_comprehension(p)) return parse_dict_comprehension(p, from, mark);
    } else if (pel_accept(p, PEL_T_DOUBLESTAR)) {
        pel_keep(p, NULL);
        pel_keep(p, parse_unpacked(p));
        if (at_comprehension(p)) return parse_dict_comprehension(p, from, mark);
    }
    while (pel_mark(p) > mark && pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_RBRACE)) parse_dict_item(p);
    pel_node *node = pel_begin(p, Dict, from);
    uint32_t n = (pel_mark(p) - mark) / 2;
    pel_node **keys = pel_alloc_array(p->ctx, n, sizeof *keys), **values = pel_alloc_array(p->ctx, n, sizeof *values);
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = p->scratch.at[mark + 2 * i];
        values[i] = p->scratch.at[mark + 2 * i + 1];
    }
    p->scratch.n = mark;
    node->Dict.keys = (pel_nodes){ keys, n };
    node->Dict.values = (pel_nodes){ values, n };
    pel_expect(p, PEL_T_RBRACE);
    return pel_finish(p, node);
}

static void check_set_element(pel_parser *p, const pel_node *element) {
    if (element->kind == PEL_NamedExpr && !element->parens)
        pel_need_version(p, 9, pel_start_of(element), "assignment expressions without parentheses in sets");
}

/* set: '{' star_named_expressions '}'
 * setcomp: '{' star_named_expression for_if_clauses '}' */
static pel_node *parse_dict_or_set(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_advance(p);
    if (pel_at(p, PEL_T_RBRACE) || pel_at(p, PEL_T_DOUBLESTAR)) return parse_dict(p, from, NULL);
    pel_node *first = pel_star_named_expression(p), *node;
    if (pel_at(p, PEL_T_COLON) && first->kind != PEL_Starred && (first->kind != PEL_NamedExpr || first->parens))
        return parse_dict(p, from, first);
    check_set_element(p, first);
    if (at_comprehension(p)) {
        check_starred_element(p, first);
        node = pel_begin(p, SetComp, from);
        node->SetComp.elt = first;
        node->SetComp.generators = pel_for_if_clauses(p);
    } else {
        node = pel_begin(p, Set, from);
        uint32_t mark = pel_mark(p);
        pel_keep(p, first);
        while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_RBRACE)) {
            pel_keep(p, pel_star_named_expression(p));
            check_set_element(p, p->scratch.at[p->scratch.n - 1]);
        }
        node->Set.elts = pel_take(p, mark);
    }
    pel_expect(p, PEL_T_RBRACE);
    return pel_finish(p, node);
}

/* ---- calls and subscripts ---- */

typedef struct pel_argument_state {
    bool has_keyword, has_double_star;
} pel_argument_state;

/* args: ','.(starred_expression | named_expression !'=' | NAME '=' expression | '**' expression)+ */
static pel_node *parse_argument(pel_parser *p, pel_argument_state *state) {
    pel_parse_place from = pel_here(p);
    if (pel_at(p, PEL_T_STAR)) {
        if (state->has_double_star)
            pel_syntax_error(&p->lex, from, "iterable argument unpacking follows keyword argument unpacking");
        pel_node *node = pel_begin(p, Starred, from);
        pel_advance(p);
        node->Starred.value = pel_expression(p);
        /* Python 3.8 leaves out a closing parenthesis here */
        return p->lex.version == 8 ? pel_finish_at(node, pel_end_of(node->Starred.value)) : pel_finish(p, node);
    }
    if (pel_at(p, PEL_T_DOUBLESTAR)) {
        pel_node *node = pel_begin(p, keyword, from);
        pel_advance(p);
        node->keyword.value = pel_expression(p);
        state->has_double_star = true;
        return pel_finish(p, node);
    }
    pel_node *value = pel_named_expression(p);
    if (pel_at(p, PEL_T_EQUAL)) {
        if (value->kind != PEL_Name || value->parens)
            pel_syntax_error(&p->lex, pel_start_of(value),
                             "expression cannot contain assignment, perhaps you meant \"==\"?");
        pel_node *node = pel_begin(p, keyword, from);
        node->keyword.arg = value->Name.id;
        pel_check_bound(p, value->Name.id, from);
        pel_advance(p);
        if (pel_at(p, PEL_T_COMMA) || pel_at(p, PEL_T_RPAR)) pel_unexpected(p, "a value for this argument");
        node->keyword.value = pel_expression(p);
        state->has_keyword = true;
        return pel_finish(p, node);
    }
    if (state->has_double_star)
        pel_syntax_error(&p->lex, from, "positional argument follows keyword argument unpacking");
    if (state->has_keyword) pel_syntax_error(&p->lex, from, "positional argument follows keyword argument");
    return value;
}

/* Splits what was kept above the mark: keyword arguments and others. */
static void take_arguments(pel_parser *p, uint32_t mark, pel_nodes *args, pel_nodes *keywords) {
    uint32_t n = pel_mark(p) - mark, n_keywords = 0;
    pel_node **kept = p->scratch.at + mark;
    for (uint32_t i = 0; i < n; i++) n_keywords += kept[i]->kind == PEL_keyword;
    p->scratch.n = mark;
    *args = *keywords = (pel_nodes){ 0 };
    if (n_keywords < n) args->at = pel_alloc_raw(p->ctx, (n - n_keywords) * sizeof *args->at);
    if (n_keywords) keywords->at = pel_alloc_raw(p->ctx, n_keywords * sizeof *keywords->at);
    for (uint32_t i = 0; i < n; i++) {
        pel_nodes *list = kept[i]->kind == PEL_keyword ? keywords : args;
        list->at[list->n++] = kept[i];
    }
}

/* genexp of a call: '(' ('*' expression | named_expression) for_if_clauses ')', its first part parsed already */
static pel_node *parse_sole_generator(pel_parser *p, pel_node *element, pel_parse_place from) {
    pel_node *node = pel_begin(p, GeneratorExp, from);
    node->GeneratorExp.elt = element;
    node->GeneratorExp.generators = pel_for_if_clauses(p);
    return node;
}

void pel_arguments(pel_parser *p, pel_nodes *args, pel_nodes *keywords, bool is_class) {
    pel_parse_place from = pel_here(p);
    pel_expect(p, PEL_T_LPAR);
    uint32_t mark = pel_mark(p);
    pel_argument_state state = { 0 };
    pel_node *generator = NULL;
    while (!pel_at(p, PEL_T_RPAR)) {
        pel_node *argument = parse_argument(p, &state);
        if (at_comprehension(p)) {
            check_starred_element(p, argument);
            if (argument->kind == PEL_keyword || (argument->kind == PEL_Starred && is_class))
                pel_unexpected(p, "',' or ')' after the argument");
            argument = generator = parse_sole_generator(p, argument, from);
            if (is_class || pel_mark(p) > mark || !pel_at(p, PEL_T_RPAR))
                pel_syntax_error(&p->lex, pel_start_of(argument->GeneratorExp.elt),
                                 "generator expression must be parenthesized");
        }
        pel_keep(p, argument);
        if (!pel_accept(p, PEL_T_COMMA)) break;
    }
    take_arguments(p, mark, args, keywords);
    if (!pel_at(p, PEL_T_RPAR)) pel_unexpected(p, "',' or ')' after the argument");
    pel_advance(p);
    if (generator) pel_finish(p, generator);
}

/* slice: [expression] ':' [expression] [':' [expression]] | named_expression */
static pel_node *parse_slice(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *lower = NULL;
    if (!pel_at(p, PEL_T_COLON)) {
        lower = pel_named_expression(p);
        if (lower->kind == PEL_NamedExpr && !lower->parens)
            pel_need_version(p, 10, from, "assignment expressions without parentheses in subscripts");
        if (!pel_at(p, PEL_T_COLON)) return lower;
        if (lower->kind == PEL_NamedExpr && !lower->parens) pel_unexpected(p, "']' or ','");
    }
    pel_node *node = pel_begin(p, Slice, from);
    pel_expect(p, PEL_T_COLON);
    node->Slice.lower = lower;
    if (starts_expression[pel_kind_now(p)]) node->Slice.upper = pel_expression(p);
    if (pel_accept(p, PEL_T_COLON) && starts_expression[pel_kind_now(p)]) node->Slice.step = pel_expression(p);
    return pel_finish(p, node);
}

static pel_node *parse_slice_or_starred(pel_parser *p) {
    if (!pel_at(p, PEL_T_STAR)) return parse_slice(p);
    pel_need_version(p, 11, pel_here(p), "starred expressions in subscripts");
    pel_node *node = pel_begin(p, Starred, pel_here(p));
    pel_advance(p);
    node->Starred.value = pel_expression(p);
    return pel_finish(p, node);
}

/* slices: slice !',' | ','.(slice | starred_expression)+ [','] */
static pel_node *parse_slices(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *first = parse_slice_or_starred(p);
    if (!pel_at(p, PEL_T_COMMA) && first->kind != PEL_Starred) return first;
    pel_node *node = pel_begin(p, Tuple, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_RSQB)) pel_keep(p, parse_slice_or_starred(p));
    node->Tuple.elts = pel_take(p, mark);
    return pel_finish(p, node);
}

/* ---- atoms, primaries, unary operators ---- */

static pel_node *parse_constant(pel_parser *p, const pel_const *value) {
    pel_node *node = pel_begin(p, Constant, pel_here(p));
    node->Constant.value = value;
    pel_advance(p);
    return pel_finish(p, node);
}

/* NUMBER */
pel_node *pel_number(pel_parser *p) { return parse_constant(p, pel_number_value(p, &p->lex.token)); }

/* atom: NAME | 'True' | 'False' | 'None' | strings | NUMBER | tuple | group | genexp | list | listcomp
 *     | dict | set | dictcomp | setcomp | '...' */
static pel_node *parse_atom(pel_parser *p) {
    switch (pel_kind_now(p)) {
    case PEL_T_NAME: {
        pel_node *node = pel_begin(p, Name, pel_here(p));
        node->Name.id = p->lex.token.name;
        pel_finish_at(node, p->lex.token.to);
        pel_advance(p);
        return node;
    }
    case PEL_T_NUMBER: return pel_number(p);
    case PEL_T_STRING:
    case PEL_T_FSTRING: return pel_strings(p);
    case PEL_T_LPAR: {
        pel_parse_place from = pel_here(p);
        pel_advance(p);
        return pel_parenthesised_rest(p, from, PEL_T_RPAR);
    }
    case PEL_T_LSQB: return parse_list(p);
    case PEL_T_LBRACE: return parse_dict_or_set(p);
    case PEL_T_NONE: return parse_constant(p, &pel_none);
    case PEL_T_TRUE: return parse_constant(p, &pel_true);
    case PEL_T_FALSE: return parse_constant(p, &pel_false);
    case PEL_T_ELLIPSIS: return parse_constant(p, &pel_ellipsis);
    default: pel_unexpected(p, "an expression");
    }
}

/* primary: atom ('.' NAME | '(' [arguments] ')' | '[' slices ']')* */
static pel_node *parse_primary(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *value = parse_atom(p), *node;
    for (uint32_t links = 0;; links++) {
        switch (pel_kind_now(p)) {
        case PEL_T_DOT:
            node = pel_begin(p, Attribute, from);
            node->Attribute.value = value;
            pel_advance(p);
            node->Attribute.attr = pel_expect_name(p, "an attribute name after '.'");
            break;
        case PEL_T_LPAR:
            node = pel_begin(p, Call, from);
            node->Call.func = value;
            pel_arguments(p, &node->Call.args, &node->Call.keywords, false);
            break;
        case PEL_T_LSQB:
            node = pel_begin(p, Subscript, from);
            node->Subscript.value = value;
            pel_advance(p);
            if (pel_at(p, PEL_T_RSQB)) pel_unexpected(p, "an index or slice");
            node->Subscript.slice = parse_slices(p);
            if (!pel_at(p, PEL_T_RSQB)) pel_unexpected(p, "']' or ','");
            pel_advance(p);
            break;
        default: return value;
        }
        value = pel_finish(p, node);
        pel_count_link(p, links);
    }
}

/* factor: ('+' | '-' | '~') factor | power
 * power: ['await'] primary ['**' factor] */
static pel_node *parse_unary(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *node, *base;
    pel_UNARYOP op;
    switch (pel_kind_now(p)) {
    case PEL_T_MINUS: op = PEL_USub; break;
    case PEL_T_PLUS: op = PEL_UAdd; break;
    case PEL_T_TILDE: op = PEL_Invert; break;
    case PEL_T_AWAIT:
        base = pel_begin(p, Await, from);
        pel_advance(p);
        base->Await.value = parse_primary(p);
        pel_finish(p, base);
        goto power;
    default: base = parse_primary(p); goto power;
    }
    node = pel_begin(p, UnaryOp, from);
    pel_advance(p);
    node->UnaryOp.op = op;
    pel_enter(p);
    node->UnaryOp.operand = parse_unary(p);
    pel_leave(p);
    return pel_finish(p, node);

power:
    if (!pel_at(p, PEL_T_DOUBLESTAR)) return base;
    node = pel_begin(p, BinOp, from);
    pel_advance(p);
    node->BinOp.left = base;
    node->BinOp.op = PEL_Pow;
    pel_enter(p);
    node->BinOp.right = parse_unary(p);
    pel_leave(p);
    return pel_finish(p, node);
}
