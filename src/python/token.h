/* Python source -> tokens, one at a time.
 *
 * The text is a private copy that ends with a newline and NULs, so that the reader looks ahead without
 * asking where the end is. From Python 3.12 on a formatted string is not one token, nor is a template string:
 * FSTRING opens it and the parser asks for its literal parts with pel_read_literal_part, for the rest with
 * pel_next_token. */
#ifndef PEL_PYTHON_TOKEN_H
#define PEL_PYTHON_TOKEN_H

#include "python/parse.h"

#define PEL_MAX_BRACKETS 200 /* the limits of CPython's own tokeniser */
#define PEL_MAX_INDENTS 100

/* clang-format off */
#define PEL_TOKENS(X)                                                                                                  \
    X(END, "end of file") X(NEWLINE, "end of line") X(INDENT, "indentation") X(DEDENT, "end of the block")             \
    X(NAME, "name") X(NUMBER, "number") X(STRING, "string") X(FSTRING, "formatted string")

#define PEL_PUNCTUATION(X)                                                                                             \
    X(LPAR, "(") X(RPAR, ")") X(LSQB, "[") X(RSQB, "]") X(LBRACE, "{") X(RBRACE, "}") X(COLON, ":") X(COMMA, ",")      \
    X(SEMI, ";") X(DOT, ".") X(ELLIPSIS, "...") X(ARROW, "->") X(COLONEQUAL, ":=") X(EQUAL, "=") X(EXCLAMATION, "!")   \
    X(PLUS, "+") X(MINUS, "-") X(STAR, "*") X(SLASH, "/") X(VBAR, "|") X(AMPER, "&") X(LESS, "<") X(GREATER, ">")      \
    X(PERCENT, "%") X(EQEQUAL, "==") X(NOTEQUAL, "!=") X(LESSEQUAL, "<=") X(GREATEREQUAL, ">=") X(TILDE, "~")          \
    X(CIRCUMFLEX, "^") X(LEFTSHIFT, "<<") X(RIGHTSHIFT, ">>") X(DOUBLESTAR, "**") X(DOUBLESLASH, "//") X(AT, "@")      \
    X(PLUSEQUAL, "+=") X(MINUSEQUAL, "-=") X(STAREQUAL, "*=") X(SLASHEQUAL, "/=") X(PERCENTEQUAL, "%=")                \
    X(AMPEREQUAL, "&=") X(VBAREQUAL, "|=") X(CIRCUMFLEXEQUAL, "^=") X(LEFTSHIFTEQUAL, "<<=") X(RIGHTSHIFTEQUAL, ">>=") \
    X(DOUBLESTAREQUAL, "**=") X(DOUBLESLASHEQUAL, "//=") X(ATEQUAL, "@=")

#define PEL_KEYWORDS(X)                                                                                                \
    X(FALSE, "False") X(NONE, "None") X(TRUE, "True") X(AND, "and") X(AS, "as") X(ASSERT, "assert") X(ASYNC, "async")  \
    X(AWAIT, "await") X(BREAK, "break") X(CLASS, "class") X(CONTINUE, "continue") X(DEF, "def") X(DEL, "del")          \
    X(ELIF, "elif") X(ELSE, "else") X(EXCEPT, "except") X(FINALLY, "finally") X(FOR, "for") X(FROM, "from")            \
    X(GLOBAL, "global") X(IF, "if") X(IMPORT, "import") X(IN, "in") X(IS, "is") X(LAMBDA, "lambda")                    \
    X(NONLOCAL, "nonlocal") X(NOT, "not") X(OR, "or") X(PASS, "pass") X(RAISE, "raise") X(RETURN, "return")            \
    X(TRY, "try") X(WHILE, "while") X(WITH, "with") X(YIELD, "yield")

typedef enum pel_token_kind {
#define X(name, text) PEL_T_##name,
    PEL_TOKENS(X) PEL_PUNCTUATION(X) PEL_KEYWORDS(X)
#undef X
    PEL_TOKEN_COUNT
} pel_token_kind;
/* clang-format on */

typedef struct pel_parse_place {
    uint32_t line, column;
} pel_parse_place;

typedef struct pel_token {
    uint8_t kind; /* enum pel_token_kind */
    pel_parse_place from, to;
    const char *start, *end;
    pel_name name; /* NAME: normalised and interned */
} pel_token;

typedef struct pel_bracket {
    char opening;
    pel_parse_place from;
} pel_bracket;

typedef struct pel_lexer {
    pel_ctx *ctx;
    pel_version version;
    pel_token token;          /* the current one */
    pel_parse_place last_end; /* where the one before ended; line ends and indentation don't count */
    const char *at;           /* the next byte to read */
    const char *line_start;
    const char *limit; /* after the last newline; *limit is NUL */
    uint32_t line;
    bool at_line_start;
    int32_t pending; /* INDENT (1) or DEDENTs (negative) to be given out */
    uint32_t field;  /* the number of open brackets directly inside of a replacement field, 0 outside of any */
    uint32_t n_brackets, n_indents;
    pel_bracket brackets[PEL_MAX_BRACKETS];
    struct {
        uint32_t column, with_tabs_as_one;
    } indents[PEL_MAX_INDENTS];
    const pel_source *source;
} pel_lexer;

/* Starts at the first token of the source. */
void pel_lexer_init(pel_lexer *lex, pel_ctx *ctx, const pel_source *source, pel_version version);
void pel_next_token(pel_lexer *lex);

/* What a token is called in messages: 'while', "name", … */
const char *pel_token_text(pel_token_kind kind);

/* The parts of a string token: prefix letters, quotes, and what is between the quotes. */
typedef struct pel_quoted {
    bool is_raw, is_bytes, is_unicode; /* is_unicode: the prefix u, which the tree keeps */
    bool is_formatted, is_template;    /* the prefixes f and t */
    uint8_t quotes;                    /* 1 or 3 */
    char quote;
    const char *start, *end;
} pel_quoted;
pel_quoted pel_quoted_parts(const pel_token *token);

/* Python 3.12: reads literal text of a formatted string up to what ends it: the closing quotes, '{' or '}'.
 * A doubled brace ends it too: it then is in the part once and is passed over. A line end ends the format
 * specification of a string in single quotes. Sets from, to, start and end of the token; lex->at is at what
 * ended the part. */
typedef enum pel_part_end {
    PEL_PART_QUOTE,
    PEL_PART_OPEN,
    PEL_PART_CLOSE,
    PEL_PART_DOUBLED,
    PEL_PART_LINE_END,
} pel_part_end;
pel_part_end pel_read_literal_part(pel_lexer *lex, const pel_quoted *quoted, pel_parse_place opened, bool in_spec);

void pel_open_bracket(pel_lexer *lex, char bracket, pel_parse_place from);

_Noreturn void pel_syntax_error(pel_lexer *lex, pel_parse_place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void pel_lexer_error(pel_lexer *lex, pel_code code, pel_parse_place at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
