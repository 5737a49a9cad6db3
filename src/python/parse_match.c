/* The match statement and its patterns (from Python 3.10 on). */
#include "python/parser.h"

static pel_node *parse_pattern(pel_parser *p);

/* `match` is a name everywhere else: it starts a match statement if what follows can be a subject and the
 * line ends with a colon, which no simple statement does. */
bool pel_is_match_statement(pel_parser *p) {
    if (p->lex.version < 10 || !pel_at_name(p, p->match)) return false;
    pel_lexer saved = p->lex;
    pel_advance(p);
    pel_token_kind last = PEL_T_END;
    if (pel_starts_expression(pel_kind_now(p)) || pel_at(p, PEL_T_STAR)) {
        while (!pel_at(p, PEL_T_NEWLINE) && !pel_at(p, PEL_T_END)) {
            last = pel_kind_now(p);
            if (pel_at(p, PEL_T_FSTRING))
                pel_strings(p);
            else
                pel_advance(p);
        }
    }
    p->lex = saved;
    return last == PEL_T_COLON;
}

/* ---- literals ---- */

/* signed_number: ['-' | '+'] NUMBER, the plus since 3.15 */
static pel_node *parse_signed_number(pel_parser *p) {
    bool is_minus = pel_at(p, PEL_T_MINUS);
    if (!is_minus && !pel_at(p, PEL_T_PLUS)) return pel_number(p);
    if (!is_minus) pel_need_version(p, 15, pel_here(p), "numbers with a plus sign in patterns");
    pel_node *node = pel_begin(p, UnaryOp, pel_here(p));
    pel_advance(p);
    if (!pel_at(p, PEL_T_NUMBER)) pel_unexpected(p, "a number after its sign in a pattern");
    node->UnaryOp.op = is_minus ? PEL_USub : PEL_UAdd;
    node->UnaryOp.operand = pel_number(p);
    return pel_finish(p, node);
}

static bool is_imaginary(const pel_node *number) {
    if (number->kind == PEL_UnaryOp) number = number->UnaryOp.operand;
    return number->Constant.value->kind == PEL_CONST_COMPLEX;
}

/* signed_number | complex_number: signed_real_number ('+' | '-') imaginary_number */
static pel_node *parse_number_literal(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *left = parse_signed_number(p);
    if (!pel_at(p, PEL_T_PLUS) && !pel_at(p, PEL_T_MINUS)) return left;
    if (is_imaginary(left)) pel_syntax_error(&p->lex, from, "real number required in complex literal");
    pel_node *node = pel_begin(p, BinOp, from);
    node->BinOp.left = left;
    node->BinOp.op = pel_at(p, PEL_T_PLUS) ? PEL_Add : PEL_Sub;
    pel_advance(p);
    pel_parse_place at = pel_here(p);
    if (!pel_at(p, PEL_T_NUMBER)) pel_unexpected(p, "an imaginary number");
    node->BinOp.right = pel_number(p);
    if (!is_imaginary(node->BinOp.right)) pel_syntax_error(&p->lex, at, "imaginary number required in complex literal");
    return pel_finish(p, node);
}

/* 'None' | 'True' | 'False' */
static const pel_const *singleton_now(const pel_parser *p) {
    switch (pel_kind_now(p)) {
    case PEL_T_NONE: return &pel_none;
    case PEL_T_TRUE: return &pel_true;
    case PEL_T_FALSE: return &pel_false;
    default: return NULL;
    }
}

/* name_or_attr: NAME ('.' NAME)*, its first name taken already */
static pel_node *parse_dotted(pel_parser *p, pel_node *value, pel_parse_place from) {
    for (uint32_t links = 0; pel_accept(p, PEL_T_DOT); links++) {
        pel_node *node = pel_begin(p, Attribute, from);
        node->Attribute.value = value;
        node->Attribute.attr = pel_expect_name(p, "an attribute name after '.'");
        value = pel_finish(p, node);
        pel_count_link(p, links);
    }
    return value;
}

static pel_node *parse_name(pel_parser *p) {
    pel_node *node = pel_begin(p, Name, pel_here(p));
    node->Name.id = pel_expect_name(p, "a name");
    return pel_finish(p, node);
}

static pel_node *value_pattern(pel_parser *p, pel_node *value, pel_parse_place from) {
    pel_node *node = pel_begin(p, MatchValue, from);
    node->MatchValue.value = value;
    return pel_finish(p, node);
}

/* ---- sequences, mappings, classes ---- */

static pel_name parse_capture_or_wildcard(pel_parser *p) {
    pel_name name = pel_expect_name(p, "a name");
    return name == p->underscore ? NULL : name;
}

/* maybe_star_pattern: '*' NAME | pattern */
static pel_node *parse_maybe_star_pattern(pel_parser *p) {
    if (!pel_at(p, PEL_T_STAR)) return parse_pattern(p);
    pel_node *node = pel_begin(p, MatchStar, pel_here(p));
    pel_advance(p);
    node->MatchStar.name = parse_capture_or_wildcard(p);
    return pel_finish(p, node);
}

/* group_pattern: '(' pattern ')'
 * sequence_pattern: '[' [maybe_sequence_pattern] ']' | '(' [open_sequence_pattern] ')' */
static pel_node *parse_sequence_or_group(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_token_kind close = pel_at(p, PEL_T_LSQB) ? PEL_T_RSQB : PEL_T_RPAR;
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    bool has_comma = false;
    while (!pel_at(p, close)) {
        pel_keep(p, parse_maybe_star_pattern(p));
        if (!pel_accept(p, PEL_T_COMMA)) break;
        has_comma = true;
    }
    pel_node *only = pel_mark(p) > mark ? p->scratch.at[mark] : NULL;
    if (close == PEL_T_RPAR && only && !has_comma && only->kind != PEL_MatchStar) {
        p->scratch.n = mark;
        pel_expect(p, close);
        return only;
    }
    if (close == PEL_T_RPAR && only && !has_comma) pel_unexpected(p, "',' after the starred pattern");
    pel_node *node = pel_begin(p, MatchSequence, from);
    node->MatchSequence.patterns = pel_take(p, mark);
    pel_expect(p, close);
    return pel_finish(p, node);
}

/* (literal_expr | attr), the key of a mapping */
static pel_node *parse_mapping_key(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    const pel_const *singleton = singleton_now(p);
    if (singleton) {
        pel_node *node = pel_begin(p, Constant, from);
        node->Constant.value = singleton;
        pel_advance(p);
        return pel_finish(p, node);
    }
    if (pel_at(p, PEL_T_STRING) || pel_at(p, PEL_T_FSTRING)) return pel_strings(p);
    if (pel_at(p, PEL_T_NUMBER) || pel_at(p, PEL_T_MINUS) || pel_at(p, PEL_T_PLUS)) return parse_number_literal(p);
    if (!pel_at(p, PEL_T_NAME)) pel_unexpected(p, "a literal or a dotted name as the key of a mapping pattern");
    pel_node *key = parse_name(p);
    if (!pel_at(p, PEL_T_DOT)) pel_unexpected(p, "'.': a key of a mapping pattern is a literal or a dotted name");
    return parse_dotted(p, key, from);
}

/* mapping_pattern: '{' [','.(key ':' pattern)+] ['**' NAME] [','] '}' */
static pel_node *parse_mapping(pel_parser *p) {
    pel_node *node = pel_begin(p, MatchMapping, pel_here(p));
    pel_advance(p);
    PEL_VEC(pel_node *) keys = { 0 };
    uint32_t mark = pel_mark(p);
    while (!pel_at(p, PEL_T_RBRACE)) {
        if (pel_accept(p, PEL_T_DOUBLESTAR)) {
            pel_parse_place at = pel_here(p);
            node->MatchMapping.rest = pel_expect_name(p, "a name after '**'");
            if (node->MatchMapping.rest == p->underscore) pel_syntax_error(&p->lex, at, "'**_' is not a pattern");
            pel_accept(p, PEL_T_COMMA);
            break;
        }
        pel_push(p->ctx, &keys, parse_mapping_key(p));
        pel_expect(p, PEL_T_COLON);
        pel_keep(p, parse_pattern(p));
        if (!pel_accept(p, PEL_T_COMMA)) break;
    }
    node->MatchMapping.keys = pel_nodes_of(p->ctx, keys.at, keys.n);
    node->MatchMapping.patterns = pel_take(p, mark);
    pel_expect(p, PEL_T_RBRACE);
    return pel_finish(p, node);
}

/* class_pattern: name_or_attr '(' [','.(pattern | NAME '=' pattern)+ [',']] ')', keywords last */
static pel_node *parse_class_pattern(pel_parser *p, pel_node *cls, pel_parse_place from) {
    pel_node *node = pel_begin(p, MatchClass, from);
    pel_advance(p);
    node->MatchClass.cls = cls;
    PEL_VEC(pel_name) names = { 0 };
    PEL_VEC(pel_node *) patterns = { 0 };
    uint32_t mark = pel_mark(p);
    while (!pel_at(p, PEL_T_RPAR)) {
        pel_parse_place at = pel_here(p);
        pel_name name = pel_at(p, PEL_T_NAME) ? p->lex.token.name : NULL;
        if (name && pel_peek(p) == PEL_T_EQUAL) {
            pel_advance(p);
            pel_advance(p);
            pel_push(p->ctx, &names, name);
            pel_push(p->ctx, &patterns, parse_pattern(p));
        } else {
            if (names.n) pel_syntax_error(&p->lex, at, "positional patterns follow keyword patterns");
            pel_keep(p, parse_pattern(p));
        }
        if (!pel_accept(p, PEL_T_COMMA)) break;
    }
    node->MatchClass.patterns = pel_take(p, mark);
    node->MatchClass.kwd_attrs = (pel_name_list){ names.at, names.n };
    node->MatchClass.kwd_patterns = pel_nodes_of(p->ctx, patterns.at, patterns.n);
    pel_expect(p, PEL_T_RPAR);
    return pel_finish(p, node);
}

/* ---- patterns ---- */

/* capture_pattern | wildcard_pattern | value_pattern | class_pattern: what starts with a name */
static pel_node *parse_name_pattern(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *name = parse_name(p), *value = parse_dotted(p, name, from);
    if (pel_at(p, PEL_T_LPAR)) return parse_class_pattern(p, value, from);
    if (value != name) return value_pattern(p, value, from);
    if (pel_at(p, PEL_T_EQUAL)) pel_unexpected(p, "a pattern");
    pel_node *node = pel_begin(p, MatchAs, from);
    node->MatchAs.name = name->Name.id == p->underscore ? NULL : name->Name.id;
    return pel_finish(p, node);
}

/* closed_pattern */
static pel_node *parse_closed_pattern(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    const pel_const *singleton = singleton_now(p);
    if (singleton) {
        pel_node *node = pel_begin(p, MatchSingleton, from);
        node->MatchSingleton.value = singleton;
        pel_advance(p);
        return pel_finish(p, node);
    }
    switch (pel_kind_now(p)) {
    case PEL_T_NAME: return parse_name_pattern(p);
    case PEL_T_NUMBER:
    case PEL_T_PLUS:
    case PEL_T_MINUS: return value_pattern(p, parse_number_literal(p), from);
    case PEL_T_STRING:
    case PEL_T_FSTRING: return value_pattern(p, pel_strings(p), from);
    case PEL_T_LPAR:
    case PEL_T_LSQB: return parse_sequence_or_group(p);
    case PEL_T_LBRACE: return parse_mapping(p);
    default: pel_unexpected(p, "a pattern");
    }
}

/* or_pattern: '|'.closed_pattern+ */
static pel_node *parse_or_pattern(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *first = parse_closed_pattern(p);
    if (!pel_at(p, PEL_T_VBAR)) return first;
    pel_node *node = pel_begin(p, MatchOr, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_VBAR)) pel_keep(p, parse_closed_pattern(p));
    node->MatchOr.patterns = pel_take(p, mark);
    return pel_finish(p, node);
}

/* pattern: or_pattern ['as' NAME] */
static pel_node *parse_pattern(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_enter(p);
    pel_node *pattern = parse_or_pattern(p);
    pel_leave(p);
    if (!pel_at(p, PEL_T_AS)) return pattern;
    pel_node *node = pel_begin(p, MatchAs, from);
    pel_advance(p);
    pel_parse_place at = pel_here(p);
    node->MatchAs.pattern = pattern;
    node->MatchAs.name = pel_expect_name(p, "a name after 'as'");
    if (node->MatchAs.name == p->underscore) pel_syntax_error(&p->lex, at, "cannot use '_' as a target");
    return pel_finish(p, node);
}

/* patterns: open_sequence_pattern | pattern
 * open_sequence_pattern: maybe_star_pattern ',' [','.maybe_star_pattern+ [',']] */
static pel_node *parse_patterns(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *first = parse_maybe_star_pattern(p);
    if (!pel_at(p, PEL_T_COMMA) && first->kind != PEL_MatchStar) return first;
    if (!pel_at(p, PEL_T_COMMA)) pel_unexpected(p, "',' after the starred pattern");
    pel_node *node = pel_begin(p, MatchSequence, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_COLON) && !pel_at(p, PEL_T_IF))
        pel_keep(p, parse_maybe_star_pattern(p));
    node->MatchSequence.patterns = pel_take(p, mark);
    return pel_finish(p, node);
}

/* ---- the statement ---- */

/* subject_expr: star_named_expression ',' [star_named_expressions] | named_expression */
static pel_node *parse_subject(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *first = pel_star_named_expression(p);
    if (!pel_at(p, PEL_T_COMMA) && first->kind != PEL_Starred) return first;
    if (!pel_at(p, PEL_T_COMMA)) pel_unexpected(p, "',' after the starred subject");
    pel_node *node = pel_begin(p, Tuple, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_COLON)) pel_keep(p, pel_star_named_expression(p));
    node->Tuple.elts = pel_take(p, mark);
    return pel_finish(p, node);
}

/* case_block: "case" patterns ['if' named_expression] ':' block */
static pel_node *parse_case(pel_parser *p) {
    if (!pel_at_name(p, p->case_)) pel_unexpected(p, "'case'");
    pel_node *node = pel_begin(p, match_case, pel_here(p));
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    node->match_case.pattern = parse_patterns(p);
    if (pel_accept(p, PEL_T_IF)) node->match_case.guard = pel_named_expression(p);
    node->match_case.body = pel_parse_block(p, "a 'case'", line);
    pel_finish_block(p, node, node->match_case.body);
    return node;
}

/* match_stmt: "match" subject_expr ':' NEWLINE INDENT case_block+ DEDENT */
pel_node *pel_match_stmt(pel_parser *p) {
    pel_node *node = pel_begin(p, Match, pel_here(p));
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    node->Match.subject = parse_subject(p);
    pel_expect(p, PEL_T_COLON);
    pel_expect(p, PEL_T_NEWLINE);
    if (!pel_at(p, PEL_T_INDENT))
        pel_syntax_error(&p->lex, pel_here(p), "expected an indented block after 'match' on line %u", line);
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    while (!pel_at(p, PEL_T_DEDENT)) pel_keep(p, parse_case(p));
    pel_advance(p);
    node->Match.cases = pel_take(p, mark);
    return pel_finish(p, node);
}
