/* Inside of the parser: what its files share. The grammar rule is above each function; a rule is
 * written as in CPython's own grammar, `,`.x+ being one or more x with commas between. */
#ifndef PEL_PYTHON_PARSER_H
#define PEL_PYTHON_PARSER_H

#include "python/token.h"

/* How deep the parser's own calls may nest, and how high a tree may be that it returns: every pass over
 * a tree is recursive. Brackets and indentation have CPython's smaller limits. */
#define PEL_MAX_PARSE_DEPTH 1000
#define PEL_MAX_TREE_HEIGHT 2000

typedef struct pel_parser {
    pel_lexer lex;
    pel_ctx *ctx;
    uint32_t depth, deepest;
    uint32_t links;    /* of long chains (a + b + …, a.b.c…, elif …), which make high trees without deep calls */
    uint32_t fstrings; /* formatted strings inside of each other */
    PEL_VEC(pel_node *) scratch; /* children of unfinished nodes; each takes those above its own mark */
    pel_name match, case_, type, lazy, underscore, debug;
} pel_parser;

/* ---- tokens ---- */

static inline pel_token_kind pel_kind_now(const pel_parser *p) { return p->lex.token.kind; }
static inline bool pel_at(const pel_parser *p, pel_token_kind kind) { return p->lex.token.kind == kind; }
static inline bool pel_at_name(const pel_parser *p, pel_name name) {
    return pel_at(p, PEL_T_NAME) && p->lex.token.name == name;
}
static inline pel_parse_place pel_here(const pel_parser *p) { return p->lex.token.from; }
static inline void pel_advance(pel_parser *p) { pel_next_token(&p->lex); }
static inline bool pel_accept(pel_parser *p, pel_token_kind kind) {
    if (!pel_at(p, kind)) return false;
    pel_advance(p);
    return true;
}
static inline void pel_need_version(pel_parser *p, pel_version minor, pel_parse_place at, const char *what) {
    if (p->lex.version < minor) pel_syntax_error(&p->lex, at, "%s are only supported from Python 3.%d on", what, minor);
}

/* Takes the token or says that it was expected. */
void pel_expect(pel_parser *p, pel_token_kind kind);
pel_name pel_expect_name(pel_parser *p, const char *what);
_Noreturn void pel_unexpected(pel_parser *p, const char *expected);

/* The kind of the token after the current one; nothing is taken. */
pel_token_kind pel_peek(pel_parser *p);

/* ---- nodes ---- */

static inline void *pel_parser_alloc(pel_parser *p, size_t size) {
    pel_ctx *ctx = p->ctx;
    size = (size + (_Alignof(max_align_t) - 1)) & ~(_Alignof(max_align_t) - 1);
    if (size > (size_t)(ctx->limit - ctx->next)) return pel_alloc(ctx, size);
    void *at = ctx->next;
    ctx->next += size;
    return memset(at, 0, size);
}

static inline pel_node *pel_node_sized(pel_parser *p, pel_kind kind, size_t size, pel_parse_place from) {
    pel_node *node = pel_parser_alloc(p, size);
    node->kind = (uint8_t)kind;
    node->lineno = from.line;
    node->col_offset = from.column;
    return node;
}
/* A node that starts at a place; pel_finish ends it where the last token ended. */
#define pel_begin(p, K, from) pel_node_sized(p, PEL_##K, offsetof(pel_node, K) + sizeof((pel_node *)0)->K, from)

static inline pel_node *pel_finish_at(pel_node *node, pel_parse_place to) {
    node->end_lineno = to.line;
    node->end_col_offset = to.column;
    return node;
}
static inline pel_node *pel_finish(pel_parser *p, pel_node *node) { return pel_finish_at(node, p->lex.last_end); }
static inline pel_parse_place pel_start_of(const pel_node *node) {
    return (pel_parse_place){ node->lineno, node->col_offset };
}
static inline pel_parse_place pel_end_of(const pel_node *node) {
    return (pel_parse_place){ node->end_lineno, node->end_col_offset };
}

/* ---- lists of children ---- */

static inline uint32_t pel_mark(const pel_parser *p) { return p->scratch.n; }
static inline void pel_keep(pel_parser *p, pel_node *node) { pel_push(p->ctx, &p->scratch, node); }
static inline pel_nodes pel_take(pel_parser *p, uint32_t mark) {
    uint32_t n = p->scratch.n - mark;
    p->scratch.n = mark;
    if (!n) return (pel_nodes){ 0 };
    return pel_nodes_of(p->ctx, p->scratch.at + mark, n);
}

/* ---- depth ---- */

_Noreturn void pel_parse_too_deep(pel_parser *p);
static inline void pel_enter(pel_parser *p) {
    if (++p->depth > p->deepest && (p->deepest = p->depth) > PEL_MAX_PARSE_DEPTH) pel_parse_too_deep(p);
}
static inline void pel_leave(pel_parser *p) { p->depth--; }
/* The nth link of a chain. Short chains don't count: only their sum could make a tree too high. */
static inline void pel_count_link(pel_parser *p, uint32_t nth) { p->links += nth > 10; }

/* ---- expressions (parse_expr.c) ---- */

bool pel_starts_expression(pel_token_kind kind);
pel_node *pel_expression(pel_parser *p);            /* expression */
pel_node *pel_named_expression(pel_parser *p);      /* named_expression */
pel_node *pel_star_named_expression(pel_parser *p); /* star_named_expression */
pel_node *pel_star_expressions(pel_parser *p);      /* star_expressions: a tuple if there is a comma */
pel_node *pel_starred(pel_parser *p);               /* '*' bitwise_or */
pel_node *pel_disjunction(pel_parser *p);
pel_node *pel_bitwise_or(pel_parser *p);
pel_node *pel_yield_or_star_expressions(pel_parser *p); /* (yield_expr | star_expressions) */
pel_nodes pel_for_if_clauses(pel_parser *p);
/* Arguments up to the closing parenthesis, which it takes. A class takes no bare generator. */
void pel_arguments(pel_parser *p, pel_nodes *args, pel_nodes *keywords, bool is_class);
pel_node *pel_number(pel_parser *p);
/* What is between parentheses, up to `close`, which it takes. */
pel_node *pel_parenthesised_rest(pel_parser *p, pel_parse_place from, pel_token_kind close);

/* ---- strings (parse_string.c) and numbers (parse_number.c) ---- */

pel_node *pel_strings(pel_parser *p);
const pel_const *pel_number_value(pel_parser *p, const pel_token *token);

/* ---- targets (parse_target.c) ---- */

typedef enum pel_target_use { PEL_ASSIGN, PEL_AUGASSIGN, PEL_ANNASSIGN, PEL_DELETE } pel_target_use;
/* Checks that the expression may be a target of that use, and sets its context. */
void pel_make_target(pel_parser *p, pel_node *node, pel_target_use use);
pel_node *pel_star_target(pel_parser *p);  /* still Load: pel_make_target comes next */
pel_node *pel_star_targets(pel_parser *p); /* of `for`; made Store */
/* Refuses a name that must not be bound. Python 3.8's parser cares; the later ones leave it to the compiler. */
void pel_check_bound(pel_parser *p, pel_name name, pel_parse_place at);
const char *pel_expression_text(const pel_node *node); /* "function call", "literal": for messages */

/* ---- functions and classes (parse_def.c) ---- */

pel_node *pel_lambda(pel_parser *p);
pel_node *pel_function_def(pel_parser *p, pel_parse_place from, pel_nodes decorators, bool is_async);
pel_node *pel_class_def(pel_parser *p, pel_nodes decorators);
pel_nodes pel_type_params(pel_parser *p);

/* ---- statements (parse_stmt.c) ---- */

pel_node *pel_file(pel_parser *p);
pel_nodes pel_parse_block(pel_parser *p, const char *after, uint32_t line);
void pel_finish_block(pel_parser *p, pel_node *node, pel_nodes last_block);

/* ---- match (parse_match.c) ---- */

bool pel_is_match_statement(pel_parser *p);
pel_node *pel_match_stmt(pel_parser *p);

#endif
