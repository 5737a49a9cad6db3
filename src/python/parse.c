/* The parser's entry, and what its files share. */
#include "python/parser.h"

/* ---- messages ---- */

static pel_str found_text(pel_parser *p) {
    const pel_token *token = &p->lex.token;
    pel_token_kind kind = token->kind;
    bool has_text = kind == PEL_T_NAME || kind == PEL_T_NUMBER;
    if (!has_text) return pel_str_of(pel_token_text(kind));
    size_t len = (size_t)(token->end - token->start);
    return pel_format(p->ctx, "'%.*s%s'", len > 40 ? 40 : (int)len, token->start, len > 40 ? "…" : "");
}

void pel_unexpected(pel_parser *p, const char *expected) {
    pel_str found = found_text(p);
    uint32_t n = p->lex.n_brackets;
    /* a missing comma or bracket shows far from where the bracket was opened */
    if (n > p->lex.field && p->lex.brackets[n - 1].from.line < pel_here(p).line)
        pel_syntax_error(&p->lex, pel_here(p), "expected %s, found %.*s ('%c' was opened on line %u)", expected,
                         PEL_FMT(found), p->lex.brackets[n - 1].opening, p->lex.brackets[n - 1].from.line);
    pel_syntax_error(&p->lex, pel_here(p), "expected %s, found %.*s", expected, PEL_FMT(found));
}

static const char *expected_text(pel_token_kind kind) {
    switch (kind) { /* where a bracket could close, a comma could stand */
    case PEL_T_RPAR: return "',' or ')'";
    case PEL_T_RSQB: return "',' or ']'";
    case PEL_T_RBRACE: return "',' or '}'";
    default: return pel_token_text(kind);
    }
}

void pel_expect(pel_parser *p, pel_token_kind kind) {
    if (!pel_at(p, kind)) pel_unexpected(p, expected_text(kind));
    pel_advance(p);
}

pel_name pel_expect_name(pel_parser *p, const char *what) {
    if (!pel_at(p, PEL_T_NAME)) pel_unexpected(p, what);
    pel_name name = p->lex.token.name;
    pel_advance(p);
    return name;
}

pel_token_kind pel_peek(pel_parser *p) {
    pel_lexer saved = p->lex;
    pel_advance(p);
    pel_token_kind kind = pel_kind_now(p);
    p->lex = saved;
    return kind;
}

void pel_parse_too_deep(pel_parser *p) {
    pel_lexer_error(&p->lex, PEL_E_TOO_DEEP, pel_here(p), "expressions nest over %d deep", PEL_MAX_PARSE_DEPTH);
}

/* ---- the height of the tree ---- */

typedef struct pel_height_check {
    pel_parser *p;
    uint32_t height; /* of the nodes being pushed */
    PEL_VEC(struct {
        pel_node *node;
        uint32_t height;
    })
    todo;
} pel_height_check;

static void visit_for_height(void *arg, pel_node **slot) {
    pel_height_check *check = arg;
    pel_reserve(check->p->ctx, &check->todo, 1);
    check->todo.at[check->todo.n].node = *slot;
    check->todo.at[check->todo.n++].height = check->height;
}

/* Not recursive, as the tree may be higher than any stack. */
static void check_height(pel_parser *p, pel_node *root) {
    pel_height_check check = { .p = p };
    visit_for_height(&check, &root);
    while (check.todo.n) {
        check.todo.n--;
        pel_node *node = check.todo.at[check.todo.n].node;
        check.height = check.todo.at[check.todo.n].height + 1;
        if (check.height > PEL_MAX_TREE_HEIGHT)
            pel_lexer_error(&p->lex, PEL_E_TOO_DEEP, pel_start_of(node), "the tree is over %d high",
                            PEL_MAX_TREE_HEIGHT);
        pel_each_child(node, visit_for_height, &check);
    }
}

/* ---- entries ---- */

static pel_parser *start(pel_ctx *ctx, const pel_source *source, pel_version version) {
    if (version < PEL_VERSION_MIN || version > PEL_VERSION_MAX)
        pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "Python 3.%d is not supported: 3.%d to 3.%d are", version, PEL_VERSION_MIN,
                  PEL_VERSION_MAX);
    pel_parser *p = pel_new(ctx, pel_parser);
    p->ctx = ctx;
    pel_reserve(ctx, &p->scratch, 64);
    p->match = pel_intern_c(ctx, "match");
    p->case_ = pel_intern_c(ctx, "case");
    p->type = pel_intern_c(ctx, "type");
    p->lazy = pel_intern_c(ctx, "lazy");
    p->underscore = pel_intern_c(ctx, "_");
    p->debug = pel_intern_c(ctx, "__debug__");
    pel_lexer_init(&p->lex, ctx, source, version);
    pel_next_token(&p->lex);
    return p;
}

static pel_node *finish(pel_parser *p, pel_node *root) {
    if (p->links > 200 || p->deepest > 200) check_height(p, root);
    return root;
}

pel_node *pel_parse(pel_ctx *ctx, const pel_source *source, pel_version version) {
    pel_parser *p = start(ctx, source, version);
    return finish(p, pel_file(p));
}

/* eval: star_expressions NEWLINE* END */
pel_node *pel_parse_expression(pel_ctx *ctx, const pel_source *source, pel_version version) {
    pel_parser *p = start(ctx, source, version);
    if (pel_at(p, PEL_T_INDENT)) pel_syntax_error(&p->lex, pel_here(p), "unexpected indent");
    pel_node *root = pel_begin(p, Expression, pel_here(p));
    root->Expression.body = pel_star_expressions(p);
    while (pel_accept(p, PEL_T_NEWLINE)) continue;
    if (!pel_at(p, PEL_T_END)) pel_unexpected(p, "the end of the expression");
    return finish(p, pel_finish(p, root));
}
