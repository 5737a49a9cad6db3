/* Statements. */
#include "python/parser.h"

static void parse_statement(pel_parser *p);

/* ---- assignments and expressions ---- */

static const struct {
    bool is_augassign;
    uint8_t op;
} augassign_ops[PEL_TOKEN_COUNT] = {
    [PEL_T_PLUSEQUAL] = { true, PEL_Add },         [PEL_T_MINUSEQUAL] = { true, PEL_Sub },
    [PEL_T_STAREQUAL] = { true, PEL_Mult },        [PEL_T_SLASHEQUAL] = { true, PEL_Div },
    [PEL_T_PERCENTEQUAL] = { true, PEL_Mod },      [PEL_T_AMPEREQUAL] = { true, PEL_BitAnd },
    [PEL_T_VBAREQUAL] = { true, PEL_BitOr },       [PEL_T_CIRCUMFLEXEQUAL] = { true, PEL_BitXor },
    [PEL_T_LEFTSHIFTEQUAL] = { true, PEL_LShift }, [PEL_T_RIGHTSHIFTEQUAL] = { true, PEL_RShift },
    [PEL_T_DOUBLESTAREQUAL] = { true, PEL_Pow },   [PEL_T_DOUBLESLASHEQUAL] = { true, PEL_FloorDiv },
    [PEL_T_ATEQUAL] = { true, PEL_MatMult },
};

/* annotated assignment: target ':' expression ['=' (yield_expr | star_expressions)] */
static pel_node *parse_annassign(pel_parser *p, pel_node *target, pel_parse_place from) {
    pel_node *node = pel_begin(p, AnnAssign, from);
    pel_make_target(p, target, PEL_ANNASSIGN);
    pel_advance(p);
    node->AnnAssign.target = target;
    node->AnnAssign.simple = target->kind == PEL_Name && !target->parens;
    node->AnnAssign.annotation = pel_expression(p);
    if (pel_accept(p, PEL_T_EQUAL)) node->AnnAssign.value = pel_yield_or_star_expressions(p);
    return pel_finish(p, node);
}

/* assignment: (star_targets '=')+ (yield_expr | star_expressions), its first target parsed already */
static pel_node *parse_assign(pel_parser *p, pel_node *first, pel_parse_place from) {
    pel_node *node = pel_begin(p, Assign, from), *value = first;
    uint32_t mark = pel_mark(p);
    while (pel_at(p, PEL_T_EQUAL)) {
        pel_make_target(p, value, PEL_ASSIGN);
        pel_keep(p, value);
        pel_advance(p);
        value = pel_yield_or_star_expressions(p);
    }
    node->Assign.targets = pel_take(p, mark);
    node->Assign.value = value;
    return pel_finish(p, node);
}

/* augmented assignment: single_target augassign (yield_expr | star_expressions) */
static pel_node *parse_augassign(pel_parser *p, pel_node *target, pel_parse_place from) {
    pel_node *node = pel_begin(p, AugAssign, from);
    pel_make_target(p, target, PEL_AUGASSIGN);
    node->AugAssign.target = target;
    node->AugAssign.op = augassign_ops[pel_kind_now(p)].op;
    pel_advance(p);
    node->AugAssign.value = pel_yield_or_star_expressions(p);
    return pel_finish(p, node);
}

/* assignment | star_expressions | yield_expr */
static pel_node *parse_expression_stmt(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *value = pel_yield_or_star_expressions(p);
    pel_token_kind kind = pel_kind_now(p);
    if (kind == PEL_T_EQUAL) return parse_assign(p, value, from);
    if (kind == PEL_T_COLON) return parse_annassign(p, value, from);
    if (augassign_ops[kind].is_augassign) return parse_augassign(p, value, from);
    pel_node *node = pel_begin(p, Expr, from);
    node->Expr.value = value;
    return pel_finish(p, node);
}

/* ---- simple statements ---- */

/* import's dotted_name: '.'.NAME+ as one name */
static pel_name parse_dotted_name(pel_parser *p) {
    pel_name name = pel_expect_name(p, "a module name");
    if (!pel_at(p, PEL_T_DOT)) return name;
    pel_buf text = pel_buf_in(p->ctx);
    pel_put_name(&text, name);
    while (pel_accept(p, PEL_T_DOT)) {
        pel_put_byte(&text, '.');
        pel_put_name(&text, pel_expect_name(p, "a module name after '.'"));
    }
    return pel_intern(p->ctx, text.at, text.len);
}

/* name ['as' NAME], the name being that of a module or of something in one */
static pel_node *parse_alias(pel_parser *p, bool is_dotted) {
    pel_node *node = pel_begin(p, alias, pel_here(p));
    node->alias.name = is_dotted ? parse_dotted_name(p) : pel_expect_name(p, "a name to import");
    if (pel_accept(p, PEL_T_AS)) node->alias.asname = pel_expect_name(p, "a name after 'as'");
    return pel_finish(p, node);
}

/* import_name: 'import' ','.(dotted_name ['as' NAME])+ */
static pel_node *parse_import(pel_parser *p, pel_parse_place from) {
    pel_node *node = pel_begin(p, Import, from);
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    do pel_keep(p, parse_alias(p, true));
    while (pel_accept(p, PEL_T_COMMA));
    node->Import.names = pel_take(p, mark);
    return pel_finish(p, node);
}

/* import_from: 'from' ('.' | '...')* [dotted_name] 'import' targets
 * targets: '(' ','.alias+ [','] ')' | ','.alias+ | '*' */
static pel_node *parse_import_from(pel_parser *p, pel_parse_place from) {
    pel_node *node = pel_begin(p, ImportFrom, from);
    pel_advance(p);
    int level = 0;
    for (;;) {
        if (pel_accept(p, PEL_T_DOT))
            level++;
        else if (pel_accept(p, PEL_T_ELLIPSIS))
            level += 3;
        else
            break;
    }
    node->ImportFrom.level = level;
    if (!level || !pel_at(p, PEL_T_IMPORT)) node->ImportFrom.module = parse_dotted_name(p);
    pel_expect(p, PEL_T_IMPORT);
    uint32_t mark = pel_mark(p);
    if (pel_at(p, PEL_T_STAR)) {
        pel_node *all = pel_begin(p, alias, pel_here(p));
        all->alias.name = pel_intern_c(p->ctx, "*");
        pel_advance(p);
        pel_keep(p, pel_finish(p, all));
    } else {
        bool in_parens = pel_accept(p, PEL_T_LPAR);
        do pel_keep(p, parse_alias(p, false));
        while (pel_accept(p, PEL_T_COMMA) && !(in_parens && pel_at(p, PEL_T_RPAR)));
        if (in_parens) pel_expect(p, PEL_T_RPAR);
    }
    node->ImportFrom.names = pel_take(p, mark);
    return pel_finish(p, node);
}

/* "lazy" (import_name | import_from), since 3.15 */
static pel_node *parse_lazy_import(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_need_version(p, 15, from, "lazy imports");
    pel_advance(p);
    if (pel_at(p, PEL_T_IMPORT)) {
        pel_node *node = parse_import(p, from);
        node->Import.is_lazy = true;
        return node;
    }
    pel_node *node = parse_import_from(p, from);
    node->ImportFrom.is_lazy = true;
    if (!node->ImportFrom.level && pel_name_is(node->ImportFrom.module, "__future__"))
        pel_syntax_error(&p->lex, from, "lazy from __future__ import is not allowed");
    return node;
}

/* ('global' | 'nonlocal') ','.NAME+ */
static pel_node *parse_scope(pel_parser *p) {
    bool is_global = pel_at(p, PEL_T_GLOBAL);
    pel_node *node = is_global ? pel_begin(p, Global, pel_here(p)) : pel_begin(p, Nonlocal, pel_here(p));
    PEL_VEC(pel_name) names = { 0 };
    pel_advance(p);
    do pel_push(p->ctx, &names, pel_expect_name(p, "a name"));
    while (pel_accept(p, PEL_T_COMMA));
    node->Global.names = (pel_name_list){ names.at, names.n }; /* both kinds have the same fields */
    return pel_finish(p, node);
}

static bool at_statement_end(const pel_parser *p) { return pel_at(p, PEL_T_NEWLINE) || pel_at(p, PEL_T_SEMI); }

/* del_stmt: 'del' ','.del_target+ [','] */
static pel_node *parse_del(pel_parser *p) {
    pel_node *node = pel_begin(p, Delete, pel_here(p));
    pel_advance(p);
    uint32_t mark = pel_mark(p);
    do {
        pel_node *target = p->lex.version == 8 ? pel_star_target(p) : pel_bitwise_or(p);
        pel_make_target(p, target, PEL_DELETE);
        pel_keep(p, target);
    } while (pel_accept(p, PEL_T_COMMA) && !at_statement_end(p));
    node->Delete.targets = pel_take(p, mark);
    return pel_finish(p, node);
}

/* raise_stmt: 'raise' [expression ['from' expression]] */
static pel_node *parse_raise(pel_parser *p) {
    pel_node *node = pel_begin(p, Raise, pel_here(p));
    pel_advance(p);
    if (!at_statement_end(p)) {
        node->Raise.exc = pel_expression(p);
        if (pel_accept(p, PEL_T_FROM)) node->Raise.cause = pel_expression(p);
    }
    return pel_finish(p, node);
}

/* assert_stmt: 'assert' expression [',' expression] */
static pel_node *parse_assert(pel_parser *p) {
    pel_node *node = pel_begin(p, Assert, pel_here(p));
    pel_advance(p);
    node->Assert.test = pel_expression(p);
    if (pel_accept(p, PEL_T_COMMA)) node->Assert.msg = pel_expression(p);
    return pel_finish(p, node);
}

/* return_stmt: 'return' [star_expressions] */
static pel_node *parse_return(pel_parser *p) {
    pel_node *node = pel_begin(p, Return, pel_here(p));
    pel_advance(p);
    if (!at_statement_end(p)) node->Return.value = pel_star_expressions(p);
    return pel_finish(p, node);
}

/* type_alias: "type" NAME [type_params] '=' expression */
static pel_node *parse_type_alias(pel_parser *p) {
    pel_node *node = pel_begin(p, TypeAlias, pel_here(p));
    pel_need_version(p, 12, pel_here(p), "type statements");
    pel_advance(p);
    node->TypeAlias.name = pel_begin(p, Name, pel_here(p));
    node->TypeAlias.name->Name.id = pel_expect_name(p, "a name");
    node->TypeAlias.name->Name.ctx = PEL_Store;
    pel_finish(p, node->TypeAlias.name);
    node->TypeAlias.type_params = pel_type_params(p);
    pel_expect(p, PEL_T_EQUAL);
    node->TypeAlias.value = pel_expression(p);
    return pel_finish(p, node);
}

static pel_node *parse_one_word(pel_parser *p, pel_node *node) {
    pel_advance(p);
    return pel_finish(p, node);
}

static pel_node *parse_simple_stmt(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    switch (pel_kind_now(p)) {
    case PEL_T_RETURN: return parse_return(p);
    case PEL_T_IMPORT: return parse_import(p, from);
    case PEL_T_FROM: return parse_import_from(p, from);
    case PEL_T_RAISE: return parse_raise(p);
    case PEL_T_PASS: return parse_one_word(p, pel_begin(p, Pass, from));
    case PEL_T_BREAK: return parse_one_word(p, pel_begin(p, Break, from));
    case PEL_T_CONTINUE: return parse_one_word(p, pel_begin(p, Continue, from));
    case PEL_T_DEL: return parse_del(p);
    case PEL_T_ASSERT: return parse_assert(p);
    case PEL_T_GLOBAL:
    case PEL_T_NONLOCAL: return parse_scope(p);
    case PEL_T_NAME:
        if (p->lex.token.name == p->type && pel_peek(p) == PEL_T_NAME) return parse_type_alias(p);
        if (p->lex.token.name == p->lazy) {
            pel_token_kind next = pel_peek(p); /* no expression goes on with these: `yield lazy from x` is none */
            if (next == PEL_T_IMPORT || next == PEL_T_FROM) return parse_lazy_import(p);
        }
        return parse_expression_stmt(p);
    default: return parse_expression_stmt(p);
    }
}

/* What is not the end of a statement, said so that it helps. */
static _Noreturn void refuse_rest(pel_parser *p, const pel_node *statement) {
    const pel_node *value = statement->kind == PEL_Expr ? statement->Expr.value : NULL;
    if (value && value->kind == PEL_Name && !value->parens) {
        pel_name name = value->Name.id;
        if (pel_name_is(name, "print") || pel_name_is(name, "exec"))
            pel_syntax_error(&p->lex, pel_start_of(value), "missing parentheses in call to '%s'", name->text);
        if (name == p->match) pel_need_version(p, 10, pel_start_of(value), "match statements");
    }
    if (pel_at(p, PEL_T_COLONEQUAL))
        pel_syntax_error(&p->lex, pel_here(p), "an assignment expression needs parentheses here");
    if (pel_at(p, PEL_T_EQUAL)) pel_syntax_error(&p->lex, pel_here(p), "cannot assign here");
    pel_unexpected(p, "the end of the statement");
}

/* simple_stmts: ';'.simple_stmt+ [';'] NEWLINE */
static void parse_simple_stmts(pel_parser *p) {
    do {
        pel_node *statement = parse_simple_stmt(p);
        if (!at_statement_end(p)) refuse_rest(p, statement);
        pel_keep(p, statement);
    } while (pel_accept(p, PEL_T_SEMI) && !pel_at(p, PEL_T_NEWLINE));
    pel_expect(p, PEL_T_NEWLINE);
}

/* ---- blocks ---- */

/* block: ':' (NEWLINE INDENT statement+ DEDENT | simple_stmts) */
pel_nodes pel_parse_block(pel_parser *p, const char *after, uint32_t line) {
    if (pel_at(p, PEL_T_EQUAL))
        pel_syntax_error(&p->lex, pel_here(p), "cannot assign here, perhaps you meant '==' or ':='");
    pel_expect(p, PEL_T_COLON);
    uint32_t mark = pel_mark(p);
    if (pel_accept(p, PEL_T_NEWLINE)) {
        if (!pel_at(p, PEL_T_INDENT))
            pel_syntax_error(&p->lex, pel_here(p), "expected an indented block after %s on line %u", after, line);
        pel_advance(p);
        while (!pel_at(p, PEL_T_DEDENT)) parse_statement(p);
        pel_advance(p);
    } else {
        parse_simple_stmts(p);
    }
    return pel_take(p, mark);
}

/* Python 3.8 ends a compound statement with its last statement, later ones with a semicolon after that. */
void pel_finish_block(pel_parser *p, pel_node *node, pel_nodes last_block) {
    if (p->lex.version == 8)
        pel_finish_at(node, pel_end_of(last_block.at[last_block.n - 1]));
    else
        pel_finish(p, node);
}

/* ['else' ':' block] */
static pel_nodes parse_else(pel_parser *p) {
    if (!pel_at(p, PEL_T_ELSE)) return (pel_nodes){ 0 };
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    return pel_parse_block(p, "'else'", line);
}

static pel_nodes last_of(pel_nodes a, pel_nodes b) { return b.n ? b : a; }

/* ---- compound statements ---- */

/* if_stmt: 'if' named_expression block ('elif' named_expression block)* [else_block]
 * Each elif is the only statement of the orelse before. */
static pel_node *parse_if(pel_parser *p) {
    uint32_t mark = pel_mark(p);
    pel_nodes last = { 0 };
    for (uint32_t links = 0; links == 0 || pel_at(p, PEL_T_ELIF); links++) {
        pel_node *node = pel_begin(p, If, pel_here(p));
        const char *after = links ? "'elif'" : "'if'";
        uint32_t line = pel_here(p).line;
        pel_advance(p);
        node->If.test = pel_named_expression(p);
        node->If.body = last = pel_parse_block(p, after, line);
        pel_keep(p, node);
        pel_count_link(p, links);
    }
    pel_nodes orelse = parse_else(p);
    last = last_of(last, orelse);
    while (pel_mark(p) > mark) {
        pel_node *node = p->scratch.at[--p->scratch.n];
        node->If.orelse = orelse;
        pel_finish_block(p, node, last);
        orelse = pel_nodes_one(p->ctx, node);
    }
    return orelse.at[0];
}

/* while_stmt: 'while' named_expression block [else_block] */
static pel_node *parse_while(pel_parser *p) {
    pel_node *node = pel_begin(p, While, pel_here(p));
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    node->While.test = pel_named_expression(p);
    node->While.body = pel_parse_block(p, "'while'", line);
    node->While.orelse = parse_else(p);
    pel_finish_block(p, node, last_of(node->While.body, node->While.orelse));
    return node;
}

static bool has_bare_star(const pel_node *node) {
    if (node->kind == PEL_Starred) return true;
    if (node->kind != PEL_Tuple || node->parens) return false;
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
        if (node->Tuple.elts.at[i]->kind == PEL_Starred) return true;
    return false;
}

/* for_stmt: ['async'] 'for' star_targets 'in' star_expressions block [else_block] */
static pel_node *parse_for(pel_parser *p, pel_parse_place from, bool is_async) {
    pel_node *node = is_async ? pel_begin(p, AsyncFor, from) : pel_begin(p, For, from);
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    node->For.target = pel_star_targets(p); /* both kinds have the same fields */
    if (!pel_at(p, PEL_T_IN)) pel_unexpected(p, "'in' after the target of 'for'");
    pel_advance(p);
    node->For.iter = pel_star_expressions(p);
    if (has_bare_star(node->For.iter))
        pel_need_version(p, 9, pel_start_of(node->For.iter), "starred expressions after 'in'");
    node->For.body = pel_parse_block(p, "'for'", line);
    node->For.orelse = parse_else(p);
    pel_finish_block(p, node, last_of(node->For.body, node->For.orelse));
    return node;
}

/* ','.expression+ [','], since 3.14 without parentheses, unless a name follows. */
static pel_node *parse_exception_types(pel_parser *p, pel_node *first, pel_parse_place from) {
    pel_node *node = pel_begin(p, Tuple, from);
    uint32_t mark = pel_mark(p);
    pel_keep(p, first);
    while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_COLON) && !pel_at(p, PEL_T_AS))
        pel_keep(p, pel_expression(p));
    node->Tuple.elts = pel_take(p, mark);
    pel_finish(p, node);
    if (pel_at(p, PEL_T_AS))
        pel_syntax_error(&p->lex, from, "multiple exception types must be parenthesized when using 'as'");
    return node;
}

/* except_block: 'except' ['*'] [expression ['as' NAME] | ','.expression+ [',']] block */
static pel_node *parse_except(pel_parser *p, bool *is_star) {
    pel_node *node = pel_begin(p, ExceptHandler, pel_here(p));
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    *is_star = pel_at(p, PEL_T_STAR);
    if (*is_star) {
        pel_need_version(p, 11, pel_here(p), "exception groups (except*)");
        pel_advance(p);
    }
    if (!pel_at(p, PEL_T_COLON)) {
        pel_parse_place from = pel_here(p);
        node->ExceptHandler.type = pel_expression(p);
        if (pel_at(p, PEL_T_COMMA) && p->lex.version >= 14)
            node->ExceptHandler.type = parse_exception_types(p, node->ExceptHandler.type, from);
        if (pel_accept(p, PEL_T_AS)) node->ExceptHandler.name = pel_expect_name(p, "a name after 'as'");
        if (pel_at(p, PEL_T_COMMA)) pel_syntax_error(&p->lex, from, "multiple exception types must be parenthesized");
    } else if (*is_star) {
        pel_unexpected(p, "one or more exception types after 'except*'");
    }
    node->ExceptHandler.body = pel_parse_block(p, "'except'", line);
    pel_finish_block(p, node, node->ExceptHandler.body);
    return node;
}

/* try_stmt: 'try' block (except_block+ [else_block] [finally_block] | finally_block) */
static pel_node *parse_try(pel_parser *p) {
    pel_node *node = pel_begin(p, Try, pel_here(p));
    uint32_t line = pel_here(p).line;
    pel_advance(p);
    node->Try.body = pel_parse_block(p, "'try'", line);
    uint32_t mark = pel_mark(p);
    bool has_star = false;
    while (pel_at(p, PEL_T_EXCEPT)) {
        pel_parse_place from = pel_here(p);
        bool is_star;
        pel_node *handler = parse_except(p, &is_star);
        if (pel_mark(p) > mark && is_star != has_star)
            pel_syntax_error(&p->lex, from, "cannot have both 'except' and 'except*' on the same 'try'");
        has_star = is_star;
        pel_keep(p, handler);
    }
    node->Try.handlers = pel_take(p, mark);
    if (has_star) node->kind = PEL_TryStar; /* both kinds have the same fields */
    if (node->Try.handlers.n) node->Try.orelse = parse_else(p);
    pel_nodes last = last_of(node->Try.body, node->Try.orelse);
    if (pel_at(p, PEL_T_FINALLY)) {
        line = pel_here(p).line;
        pel_advance(p);
        last = node->Try.finalbody = pel_parse_block(p, "'finally'", line);
    } else if (!node->Try.handlers.n) {
        pel_unexpected(p, "'except' or 'finally' block");
    } else if (!node->Try.orelse.n) {
        last = node->Try.handlers;
    }
    pel_finish_block(p, node, last);
    return node;
}

/* with_item: expression ['as' star_target] */
static pel_node *parse_with_item(pel_parser *p) {
    pel_node *item = pel_begin(p, withitem, pel_here(p));
    item->withitem.context_expr = pel_expression(p);
    if (pel_accept(p, PEL_T_AS)) {
        bool may_be_starred = p->lex.version >= 9;
        item->withitem.optional_vars = may_be_starred ? pel_star_target(p) : pel_bitwise_or(p);
        pel_make_target(p, item->withitem.optional_vars, PEL_ASSIGN);
    }
    return pel_finish(p, item);
}

/* At `(`: whether it encloses with_items with an `as`, as in `with (a as b, c):`. Without any `as` the
 * parentheses are read as those of an expression; see parse_with. */
static bool at_parenthesised_items(pel_parser *p) {
    if (p->lex.version < 9 || !pel_at(p, PEL_T_LPAR)) return false;
    pel_lexer saved = p->lex;
    uint32_t outside = p->lex.n_brackets - 1;
    bool has_as = false;
    do {
        has_as |= pel_at(p, PEL_T_AS) && p->lex.n_brackets == outside + 1;
        if (pel_at(p, PEL_T_FSTRING))
            pel_strings(p);
        else
            pel_advance(p);
    } while (p->lex.n_brackets > outside);
    pel_advance(p);
    bool is_whole = pel_at(p, PEL_T_COLON);
    p->lex = saved;
    return has_as && is_whole;
}

/* `with (a, b):` has two items, unless an element is one that only a tuple can have. */
static bool is_tuple_of_items(const pel_parser *p, const pel_node *node) {
    if (p->lex.version < 9 || node->kind != PEL_Tuple || node->parens != 1 || !node->Tuple.elts.n) return false;
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++) {
        const pel_node *element = node->Tuple.elts.at[i];
        if (element->kind == PEL_Starred || (element->kind == PEL_NamedExpr && !element->parens)) return false;
    }
    return true;
}

/* with_stmt: ['async'] 'with' ('(' ','.with_item+ [','] ')' | ','.with_item+) block */
static pel_node *parse_with(pel_parser *p, pel_parse_place from, bool is_async) {
    pel_node *node = is_async ? pel_begin(p, AsyncWith, from) : pel_begin(p, With, from);
    uint32_t line = pel_here(p).line, mark = pel_mark(p);
    pel_advance(p);
    if (at_parenthesised_items(p)) {
        pel_advance(p);
        do pel_keep(p, parse_with_item(p));
        while (pel_accept(p, PEL_T_COMMA) && !pel_at(p, PEL_T_RPAR));
        pel_expect(p, PEL_T_RPAR);
    } else {
        do pel_keep(p, parse_with_item(p));
        while (pel_accept(p, PEL_T_COMMA));
        const pel_node *only = p->scratch.at[mark];
        if (pel_mark(p) == mark + 1 && !only->withitem.optional_vars &&
            is_tuple_of_items(p, only->withitem.context_expr)) {
            pel_nodes elements = only->withitem.context_expr->Tuple.elts;
            p->scratch.n = mark;
            for (uint32_t i = 0; i < elements.n; i++) {
                pel_node *item = pel_begin(p, withitem, pel_start_of(elements.at[i]));
                item->withitem.context_expr = elements.at[i];
                pel_keep(p, pel_finish_at(item, pel_end_of(elements.at[i])));
            }
        }
    }
    node->With.items = pel_take(p, mark); /* both kinds have the same fields */
    node->With.body = pel_parse_block(p, "'with'", line);
    pel_finish_block(p, node, node->With.body);
    return node;
}

/* A decorator of Python 3.8: dotted_name ['(' [arguments] ')'] */
static bool is_old_decorator(const pel_node *node) {
    if (node->parens) return false;
    if (node->kind == PEL_Call) node = node->Call.func;
    while (node->kind == PEL_Attribute && !node->parens) node = node->Attribute.value;
    return node->kind == PEL_Name && !node->parens;
}

/* ('@' named_expression NEWLINE)+ (class_def | function_def) */
static pel_node *parse_decorated(pel_parser *p) {
    uint32_t mark = pel_mark(p);
    while (pel_accept(p, PEL_T_AT)) {
        pel_node *decorator = pel_named_expression(p);
        if (!is_old_decorator(decorator))
            pel_need_version(p, 9, pel_start_of(decorator), "decorators other than dotted names and calls of them");
        pel_keep(p, decorator);
        pel_expect(p, PEL_T_NEWLINE);
    }
    pel_nodes decorators = pel_take(p, mark);
    pel_parse_place from = pel_here(p);
    if (pel_at(p, PEL_T_CLASS)) return pel_class_def(p, decorators);
    bool is_async = pel_accept(p, PEL_T_ASYNC);
    if (!pel_at(p, PEL_T_DEF)) pel_unexpected(p, "a function or class after its decorators");
    return pel_function_def(p, from, decorators, is_async);
}

/* 'async' (function_def | for_stmt | with_stmt) */
static pel_node *parse_async(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_advance(p);
    switch (pel_kind_now(p)) {
    case PEL_T_DEF: return pel_function_def(p, from, (pel_nodes){ 0 }, true);
    case PEL_T_FOR: return parse_for(p, from, true);
    case PEL_T_WITH: return parse_with(p, from, true);
    default: pel_unexpected(p, "'def', 'for' or 'with' after 'async'");
    }
}

/* statement: compound_stmt | simple_stmts. Keeps what it parsed. */
static void parse_statement(pel_parser *p) {
    pel_node *node;
    switch (pel_kind_now(p)) {
    case PEL_T_IF: node = parse_if(p); break;
    case PEL_T_FOR: node = parse_for(p, pel_here(p), false); break;
    case PEL_T_WHILE: node = parse_while(p); break;
    case PEL_T_TRY: node = parse_try(p); break;
    case PEL_T_WITH: node = parse_with(p, pel_here(p), false); break;
    case PEL_T_DEF: node = pel_function_def(p, pel_here(p), (pel_nodes){ 0 }, false); break;
    case PEL_T_CLASS: node = pel_class_def(p, (pel_nodes){ 0 }); break;
    case PEL_T_AT: node = parse_decorated(p); break;
    case PEL_T_ASYNC: node = parse_async(p); break;
    case PEL_T_INDENT: pel_syntax_error(&p->lex, pel_here(p), "unexpected indent");
    case PEL_T_NAME:
        if (pel_is_match_statement(p)) {
            node = pel_match_stmt(p);
            break;
        }
        parse_simple_stmts(p);
        return;
    default: parse_simple_stmts(p); return;
    }
    pel_keep(p, node);
}

/* Since 3.14 the parser knows the features of __future__, if their import is where it has an effect: first in the file,
 * after its docstring. */
static void check_future(pel_parser *p, pel_nodes body) {
    static const char *const features[] = {
        "nested_scopes",  "generators",       "division",       "absolute_import", "with_statement",
        "print_function", "unicode_literals", "barry_as_FLUFL", "generator_stop",  "annotations",
    };
    bool has_docstring = body.n && body.at[0]->kind == PEL_Expr && body.at[0]->Expr.value->kind == PEL_Constant &&
                         body.at[0]->Expr.value->Constant.value->kind == PEL_CONST_STR;
    for (uint32_t i = has_docstring; i < body.n; i++) {
        const pel_node *node = body.at[i];
        if (node->kind != PEL_ImportFrom || node->ImportFrom.level || !node->ImportFrom.module ||
            !pel_name_is(node->ImportFrom.module, "__future__"))
            return;
        for (uint32_t k = 0; k < node->ImportFrom.names.n; k++) {
            const pel_node *alias = node->ImportFrom.names.at[k];
            bool is_known = false;
            for (size_t f = 0; f < PEL_COUNT(features); f++) is_known |= pel_name_is(alias->alias.name, features[f]);
            if (!is_known)
                pel_syntax_error(&p->lex, pel_start_of(alias), "future feature %s is not defined",
                                 alias->alias.name->text);
        }
    }
}

/* file: statement* END */
pel_node *pel_file(pel_parser *p) {
    pel_node *module = pel_begin(p, Module, pel_here(p));
    uint32_t mark = pel_mark(p);
    while (!pel_at(p, PEL_T_END)) parse_statement(p);
    module->Module.body = pel_take(p, mark);
    if (p->lex.version >= 14) check_future(p, module->Module.body);
    return pel_finish(p, module);
}
