/* String literals: escapes, implicit concatenation, formatted strings, template strings.
 *
 * Before Python 3.12 a formatted string is one token: its replacement fields are found by looking for braces,
 * then parsed as if they stood in parentheses. From 3.12 on the tokeniser knows fields, and they nest. A template
 * string (3.14) is read in the same way; its fields are Interpolations, which keep the text of their expression. */
#include "python/parser.h"

#include "python/unicode.h"

#define MAX_NESTED_FSTRINGS 150 /* as CPython's tokeniser */

/* ---- places inside of a token ---- */

/* Follows a pointer through a token that may span lines; it only moves forward. */
typedef struct pel_cursor {
    const char *at, *line_start;
    uint32_t line;
} pel_cursor;

static pel_cursor cursor_at(const pel_token *token) {
    return (pel_cursor){ token->start, token->start - token->from.column, token->from.line };
}

static pel_parse_place move_to(pel_cursor *cursor, const char *s) {
    for (const char *end; (end = memchr(cursor->at, '\n', (size_t)(s - cursor->at)));) {
        cursor->line++;
        cursor->at = cursor->line_start = end + 1;
    }
    cursor->at = s;
    return (pel_parse_place){ cursor->line, (uint32_t)(s - cursor->line_start) };
}

/* ---- escapes ---- */

static _Noreturn void bad_escape(pel_parser *p, const pel_token *token, const char *backslash, const char *what) {
    pel_cursor cursor = cursor_at(token);
    pel_syntax_error(&p->lex, move_to(&cursor, backslash), "%s", what);
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads exactly n hexadecimal digits. */
static bool read_hex(const char *s, const char *end, int n, uint32_t *value) {
    if (end - s < n) return false;
    *value = 0;
    for (int i = 0; i < n; i++) {
        int digit = hex_value(s[i]);
        if (digit < 0) return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

static const char *read_octal(const char *s, const char *end, uint32_t *value) {
    *value = 0;
    for (int i = 0; i < 3 && s < end && *s >= '0' && *s <= '7'; i++) *value = *value * 8 + (uint32_t)(*s++ - '0');
    return s;
}

/* The byte that a backslash and c stand for, in str and bytes alike; -1 if it is not one of these. */
static int simple_escape(char c) {
    switch (c) {
    case '\\': return '\\';
    case '\'': return '\'';
    case '"': return '"';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return -1;
    }
}

/* \x41 \u0041 \U00000041: s is after the letter. */
static const char *put_hex_escape(pel_parser *p, const pel_token *token, pel_buf *out, const char *s, const char *end) {
    int n = s[-1] == 'x' ? 2 : s[-1] == 'u' ? 4 : 8;
    uint32_t point;
    if (!read_hex(s, end, n, &point))
        bad_escape(p, token, s - 2,
                   n == 2   ? "\\x must be followed by 2 hexadecimal digits"
                   : n == 4 ? "\\u must be followed by 4 hexadecimal digits"
                            : "\\U must be followed by 8 hexadecimal digits");
    if (point > 0x10FFFF) bad_escape(p, token, s - 2, "this character code is over \\U0010ffff");
    pel_put_utf8(out, point);
    return s + n;
}

/* \N{BULLET}: s is after the N. */
static const char *put_named_escape(pel_parser *p, const pel_token *token, pel_buf *out, const char *s,
                                    const char *end) {
    const char *close = s < end && *s == '{' ? memchr(s, '}', (size_t)(end - s)) : NULL;
    uint32_t point;
    if (!close) bad_escape(p, token, s - 2, "\\N must be followed by a character name in braces");
    if (!pel_unicode_named((pel_str){ s + 1, (size_t)(close - s - 1) }, &point))
        bad_escape(p, token, s - 2, "unknown Unicode character name");
    pel_put_utf8(out, point);
    return close + 1;
}

/* Text between quotes, or a part of it, as the string that it stands for. token is where it stands. */
static void put_text(pel_parser *p, const pel_token *token, pel_buf *out, const char *s, const char *end, bool is_raw) {
    while (s < end) {
        const char *backslash = is_raw ? NULL : memchr(s, '\\', (size_t)(end - s));
        const char *stop = backslash ? backslash : end;
        pel_put(out, (pel_str){ s, (size_t)(stop - s) });
        if (!backslash) return;
        s = backslash + 1;
        if (s == end) { /* before a brace in a formatted string */
            pel_put_byte(out, '\\');
            return;
        }
        char c = *s++;
        int simple = simple_escape(c);
        if (simple >= 0) {
            pel_put_byte(out, (char)simple);
        } else if (c >= '0' && c <= '7') {
            uint32_t point;
            s = read_octal(s - 1, end, &point);
            pel_put_utf8(out, point);
        } else if (c == 'x' || c == 'u' || c == 'U') {
            s = put_hex_escape(p, token, out, s, end);
        } else if (c == 'N') {
            s = put_named_escape(p, token, out, s, end);
        } else if (c != '\n') { /* not an escape */
            pel_put_byte(out, '\\');
            s--;
        }
    }
}

/* Bytes have fewer escapes than text: \u, \U and \N are none, and an octal escape keeps its low 8 bits. After a
 * backslash that begins no escape the next byte is read again, so that the check for ASCII sees it. */
static void put_bytes(pel_parser *p, const pel_token *token, pel_buf *out, const pel_quoted *quoted) {
    for (const char *s = quoted->start; s < quoted->end;) {
        char c = *s++;
        if (c & 0x80) bad_escape(p, token, s - 1, "bytes can only contain ASCII literal characters");
        if (c != '\\' || quoted->is_raw || s == quoted->end) {
            pel_put_byte(out, c);
            continue;
        }
        c = *s++;
        int simple = simple_escape(c);
        uint32_t value;
        if (simple >= 0) {
            pel_put_byte(out, (char)simple);
        } else if (c >= '0' && c <= '7') {
            s = read_octal(s - 1, quoted->end, &value);
            pel_put_byte(out, (char)value);
        } else if (c == 'x') {
            if (!read_hex(s, quoted->end, 2, &value))
                bad_escape(p, token, s - 2, "\\x must be followed by 2 hexadecimal digits");
            pel_put_byte(out, (char)value);
            s += 2;
        } else if (c != '\n') {
            pel_put_byte(out, '\\');
            s--;
        }
    }
}

/* ---- putting the parts together ---- */

/* The literals that stand side by side, or one format specification: constants that touch become one,
 * empty ones vanish. The values of a JoinedStr are kept on the scratch stack. */
typedef struct pel_joined {
    pel_parse_place from; /* of the whole */
    pel_buf text;         /* of the constant in the making */
    pel_str only;         /* its text, as long as it is a single piece that needs no copy */
    bool has_text;
    pel_parse_place text_from, text_to;
    pel_str kind; /* of the constant */
    bool is_formatted, is_template;
    uint32_t mark;
} pel_joined;

static void add_text(pel_parser *p, pel_joined *joined, const pel_token *token, const char *s, const char *end,
                     bool is_raw, pel_parse_place from, pel_parse_place to) {
    if (!joined->has_text) joined->text_from = from;
    joined->text_to = to;
    if (!is_raw) is_raw = !memchr(s, '\\', (size_t)(end - s));
    if (is_raw && !joined->has_text) {
        joined->only = (pel_str){ s, (size_t)(end - s) };
    } else {
        if (joined->only.len) pel_put(&joined->text, joined->only);
        joined->only = (pel_str){ 0 };
        put_text(p, token, &joined->text, s, end, is_raw);
    }
    joined->has_text = true;
}

/* Makes the constant, if there is text for one. */
static pel_node *take_text(pel_parser *p, pel_joined *joined) {
    pel_node *node = pel_begin(p, Constant, joined->text_from);
    node->Constant.value = pel_const_str(p->ctx, joined->only.len ? joined->only : pel_buf_str(&joined->text));
    node->Constant.kind = joined->kind;
    joined->text = pel_buf_in(p->ctx);
    joined->only = (pel_str){ 0 };
    joined->has_text = false;
    return pel_finish_at(node, joined->text_to);
}

static void flush_text(pel_parser *p, pel_joined *joined) {
    if (joined->only.len || joined->text.len) {
        pel_keep(p, take_text(p, joined));
    } else {
        joined->has_text = false;
    }
    if (p->lex.version >= 12) joined->kind = (pel_str){ 0 };
}

static pel_node *take_joined(pel_parser *p, pel_joined *joined) {
    flush_text(p, joined);
    pel_node *node =
        joined->is_template ? pel_begin(p, TemplateStr, joined->from) : pel_begin(p, JoinedStr, joined->from);
    node->JoinedStr.values = pel_take(p, joined->mark); /* both kinds have the same fields */
    return node;
}

static pel_joined new_joined(pel_parser *p, pel_parse_place from) {
    return (pel_joined){ .from = from, .text = pel_buf_in(p->ctx), .mark = pel_mark(p) };
}

/* 's', 'r', 'a': the conversion of a field */
static int conversion_of(pel_parser *p, const char *what, pel_str text, pel_parse_place at) {
    if (text.len == 1 && (text.ptr[0] == 's' || text.ptr[0] == 'r' || text.ptr[0] == 'a')) return text.ptr[0];
    pel_syntax_error(&p->lex, at, "%s: invalid conversion character '%.*s': expected 's', 'r', or 'a'", what,
                     PEL_FMT(text));
}

/* ---- formatted strings before Python 3.12 ---- */

typedef struct pel_old_fstring {
    const pel_token *token;
    pel_cursor cursor;
    const char *end;
    bool is_raw;
    pel_parse_place whole_from, whole_to; /* all nodes but the expressions have the position of the token */
} pel_old_fstring;

static const char *parse_old_parts(pel_parser *p, pel_joined *joined, pel_old_fstring *f, const char *s, int level);

static _Noreturn void old_fstring_error(pel_parser *p, pel_old_fstring *f, const char *s, const char *what) {
    pel_cursor cursor = cursor_at(f->token);
    pel_syntax_error(&p->lex, move_to(&cursor, s), "f-string: %s", what);
}

/* Where the expression that starts at s ends: at '!', ':', '=' or '}' outside of quotes and brackets. */
static const char *find_old_expression_end(pel_parser *p, pel_old_fstring *f, const char *s) {
    char quote = 0;
    int quotes = 0, depth = 0;
    for (; s < f->end; s++) {
        char c = *s;
        if (c == '\\') old_fstring_error(p, f, s, "expression part cannot include a backslash");
        bool is_triple = f->end - s > 2 && s[1] == c && s[2] == c;
        if (quote) {
            if (c == quote && (quotes == 1 || is_triple)) {
                s += quotes - 1;
                quote = 0;
            }
            continue;
        }
        switch (c) {
        case '\'':
        case '"':
            quote = c;
            quotes = is_triple ? 3 : 1;
            s += quotes - 1;
            break;
        case '(':
        case '[':
        case '{': depth++; break;
        case '#': old_fstring_error(p, f, s, "expression part cannot include '#'");
        case '!':
        case '=':
        case '<':
        case '>':
        case ':':
            if (depth) break;
            if (c != ':' && f->end - s > 1 && s[1] == '=') {
                s++;
                break;
            }
            if (c == '<' || c == '>') break;
            return s;
        case ')':
        case ']':
        case '}':
            if (depth == 0 && c == '}') return s;
            if (depth-- == 0) old_fstring_error(p, f, s, "unmatched closing bracket");
            break;
        default: break;
        }
    }
    old_fstring_error(p, f, f->end, quote ? "unterminated string" : "expecting '}'");
}

/* Parses the text from s to end as an expression in parentheses, in place: the byte at end becomes the end
 * of the text for as long as that takes. */
static pel_node *parse_old_expression(pel_parser *p, pel_old_fstring *f, const char *s, const char *end) {
    bool is_empty = true;
    for (const char *c = s; c < end && is_empty; c++) is_empty = *c == ' ' || (*c >= '\t' && *c <= '\r');
    if (is_empty) old_fstring_error(p, f, s, "empty expression not allowed");

    pel_lexer *lex = &p->lex;
    pel_token token = lex->token;
    pel_parse_place last_end = lex->last_end;
    const char *at = lex->at, *line_start = lex->line_start, *limit = lex->limit;
    uint32_t line = lex->line, field = lex->field, n_brackets = lex->n_brackets;
    char *stop = (char *)(uintptr_t)end, stopped = *stop; /* the text is the lexer's own copy */

    pel_parse_place from = move_to(&f->cursor, s);
    pel_open_bracket(lex, '{', from);
    lex->at = s;
    lex->line = from.line;
    lex->line_start = s - from.column;
    lex->limit = end;
    lex->field = lex->n_brackets;
    *stop = 0;
    pel_enter(p);
    pel_next_token(lex);
    pel_node *value = pel_parenthesised_rest(p, from, PEL_T_END);
    pel_leave(p);
    *stop = stopped;

    lex->token = token;
    lex->last_end = last_end;
    lex->at = at;
    lex->line_start = line_start;
    lex->limit = limit;
    lex->line = line;
    lex->field = field;
    lex->n_brackets = n_brackets;
    return value;
}

/* A replacement field; s is at its '{'. Returns what follows its '}'. */
static const char *parse_old_field(pel_parser *p, pel_joined *joined, pel_old_fstring *f, const char *s, int level) {
    if (level >= 2) old_fstring_error(p, f, s, "expressions nested too deeply");
    const char *start = ++s;
    s = find_old_expression_end(p, f, s);
    pel_node *node = pel_begin(p, FormattedValue, f->whole_from);
    node->FormattedValue.value = parse_old_expression(p, f, start, s);
    node->FormattedValue.conversion = -1;
    bool has_equal = *s == '=';
    if (has_equal) { /* the text of the expression is part of the string */
        do s++;
        while (s < f->end && (*s == ' ' || (*s >= '\t' && *s <= '\r')));
        add_text(p, joined, f->token, start, s, true, f->whole_from, f->whole_to);
    }
    if (s < f->end && *s == '!') {
        if (++s == f->end) old_fstring_error(p, f, s, "expecting '}'");
        pel_cursor cursor = cursor_at(f->token);
        node->FormattedValue.conversion = conversion_of(p, "f-string", (pel_str){ s, 1 }, move_to(&cursor, s));
        s++;
    }
    if (s < f->end && *s == ':') {
        pel_joined spec = new_joined(p, f->whole_from);
        s = parse_old_parts(p, &spec, f, s + 1, level + 1);
        node->FormattedValue.format_spec = pel_finish_at(take_joined(p, &spec), f->whole_to);
    }
    if (s >= f->end || *s != '}') old_fstring_error(p, f, s, "expecting '}'");
    if (has_equal && !node->FormattedValue.format_spec && node->FormattedValue.conversion == -1)
        node->FormattedValue.conversion = 'r';
    flush_text(p, joined);
    pel_keep(p, pel_finish_at(node, f->whole_to));
    return s + 1;
}

/* Literal text and fields, up to the end or, inside of a format specification (level > 0), to its '}'. */
static const char *parse_old_parts(pel_parser *p, pel_joined *joined, pel_old_fstring *f, const char *s, int level) {
    while (s < f->end) {
        const char *start = s;
        for (; s < f->end && *s != '{' && *s != '}'; s++) {
            if (*s != '\\' || f->is_raw || f->end - s < 2) continue;
            if (s[1] == 'N' && f->end - s > 2 && s[2] == '{')
                while (s + 1 < f->end && *s != '}') s++;
            else if (s[1] != '{' && s[1] != '}')
                s++;
        }
        bool is_doubled = level == 0 && f->end - s > 1 && s[1] == *s;
        const char *end = is_doubled ? s + 1 : s;
        if (end > start) add_text(p, joined, f->token, start, end, f->is_raw, f->whole_from, f->whole_to);
        if (is_doubled) {
            s += 2;
        } else if (s < f->end && *s == '}') {
            if (level == 0) old_fstring_error(p, f, s, "single '}' is not allowed");
            return s;
        } else if (s < f->end) {
            s = parse_old_field(p, joined, f, s, level);
        }
    }
    return s;
}

static void parse_old_fstring(pel_parser *p, pel_joined *joined, const pel_token *token, const pel_quoted *quoted) {
    pel_old_fstring f = { .token = token,
                          .cursor = cursor_at(token),
                          .end = quoted->end,
                          .is_raw = quoted->is_raw,
                          .whole_from = joined->from,
                          .whole_to = token->to };
    parse_old_parts(p, joined, &f, quoted->start, 0);
}

/* ---- formatted strings from Python 3.12 on ---- */

static void parse_parts(pel_parser *p, pel_joined *joined, const pel_quoted *quoted, pel_parse_place opened,
                        uint32_t level);

/* The next comment of a field's text, or NULL. Strings hide a '#' from 3.14 on. As in CPython, a string ends at the
 * next quote of its kind, whatever is before it: three quotes are a string and the start of another. */
static const char *find_comment(const pel_parser *p, const char *s, const char *end) {
    char quote = 0;
    for (; s < end; s++) {
        if (p->lex.version >= 14 && *s == '\\')
            s++;
        else if (p->lex.version >= 14 && (*s == '"' || *s == '\''))
            quote = !quote ? *s : *s == quote ? 0 : quote;
        else if (*s == '#' && !quote)
            return s;
    }
    return NULL;
}

/* The source between two places of a field, which `{x = }` and template strings keep. Comments are no part of it. */
static pel_str field_text(pel_parser *p, const char *start, const char *end) {
    pel_buf text = pel_buf_in(p->ctx);
    while (start < end) {
        const char *hash = find_comment(p, start, end);
        pel_put(&text, (pel_str){ start, (size_t)((hash ? hash : end) - start) });
        start = hash ? memchr(hash, '\n', (size_t)(end - hash)) : NULL;
        if (!start) break;
    }
    return text.at ? pel_buf_str(&text) : PEL_STR("");
}

static const char *name_of(const pel_quoted *quoted) { return quoted->is_template ? "t-string" : "f-string"; }

/* What a field has after its expression: ['=' ] ['!' NAME] [':' format_spec]. */
typedef struct pel_field_rest {
    bool has_equal;
    const char *value_end, *debug_end; /* where the text of the expression ends, without and with its '=' */
    pel_parse_place debug_to;
    int conversion;
    pel_node *spec;
} pel_field_rest;

/* The ends are where the next token starts, because `{x = }` keeps its spaces. At ':' the parser must not advance: what
 * follows is text, not tokens. A bare `=` implies !r, but not beside a format specification. */
static pel_field_rest parse_field_rest(pel_parser *p, const pel_quoted *quoted, pel_parse_place opened,
                                       uint32_t level) {
    pel_lexer *lex = &p->lex;
    pel_field_rest rest = { .value_end = lex->token.start, .conversion = -1 };
    rest.has_equal = pel_accept(p, PEL_T_EQUAL);
    rest.debug_end = lex->token.start;
    rest.debug_to = pel_here(p);
    if (pel_at(p, PEL_T_EXCLAMATION)) {
        const char *after = lex->token.end;
        pel_advance(p);
        if (!pel_at(p, PEL_T_NAME)) pel_unexpected(p, "a conversion character after '!'");
        if (lex->token.start != after)
            pel_syntax_error(lex, pel_here(p), "%s: conversion type must come right after the exclamation mark",
                             name_of(quoted));
        rest.conversion = conversion_of(p, name_of(quoted), pel_name_str(lex->token.name), pel_here(p));
        pel_advance(p);
    }
    if (pel_at(p, PEL_T_COLON)) {
        pel_joined spec = new_joined(p, pel_here(p));
        parse_parts(p, &spec, quoted, opened, level + 1);
        rest.spec = take_joined(p, &spec);
        pel_finish_at(rest.spec, lex->last_end);
    } else if (rest.has_equal && rest.conversion == -1) {
        rest.conversion = 'r';
    }
    return rest;
}

/* The node of a field. Those of a template string keep their source; a format specification has plain fields. */
static pel_node *field_node(pel_parser *p, pel_node *value, pel_parse_place from, const pel_field_rest *rest,
                            const char *template_text) {
    pel_node *node = template_text ? pel_begin(p, Interpolation, from) : pel_begin(p, FormattedValue, from);
    if (template_text) {
        node->Interpolation.value = value;
        node->Interpolation.str = pel_const_str(p->ctx, field_text(p, template_text, rest->value_end));
        node->Interpolation.conversion = rest->conversion;
        node->Interpolation.format_spec = rest->spec;
    } else {
        node->FormattedValue.value = value;
        node->FormattedValue.conversion = rest->conversion;
        node->FormattedValue.format_spec = rest->spec;
    }
    return node;
}

/* fstring_replacement_field: '{' (yield_expr | star_expressions) ['='] ['!' NAME] [':' format_spec] '}'
 * The '{' is the next byte. Ends with the '}' as the current token. */
static void parse_field(pel_parser *p, pel_joined *joined, const pel_quoted *quoted, pel_parse_place opened,
                        uint32_t level) {
    pel_lexer *lex = &p->lex;
    uint32_t outer_field = lex->field;
    pel_next_token(lex);
    pel_parse_place from = pel_here(p);
    const char *start = lex->at;
    if (level >= 3) pel_syntax_error(lex, from, "%s: expressions nested too deeply", name_of(quoted));
    lex->field = lex->n_brackets;
    pel_enter(p);
    pel_advance(p);
    if (pel_at(p, PEL_T_RBRACE) || pel_at(p, PEL_T_EXCLAMATION) || pel_at(p, PEL_T_COLON) || pel_at(p, PEL_T_EQUAL))
        pel_syntax_error(lex, pel_here(p), "%s: valid expression required before %s", name_of(quoted),
                         pel_token_text(pel_kind_now(p)));
    if (pel_at(p, PEL_T_LAMBDA))
        pel_syntax_error(lex, pel_here(p), "%s: lambda expressions are not allowed without parentheses",
                         name_of(quoted));
    pel_node *value = pel_yield_or_star_expressions(p);
    pel_field_rest rest = parse_field_rest(p, quoted, opened, level);
    if (!pel_at(p, PEL_T_RBRACE)) {
        const char *end = quoted->is_template ? "'}' to end the field of this t-string"
                                              : "'}' to end the replacement field of this f-string";
        pel_unexpected(p, end);
    }
    pel_leave(p);
    lex->field = outer_field;
    if (rest.has_equal) {
        pel_str text = field_text(p, start, rest.debug_end);
        pel_parse_place text_from = { from.line, from.column + 1 };
        add_text(p, joined, &p->lex.token, text.ptr, text.ptr + text.len, true, text_from, rest.debug_to);
    }
    flush_text(p, joined);
    pel_node *node = field_node(p, value, from, &rest, joined->is_template ? start : NULL);
    pel_keep(p, pel_finish_at(node, lex->token.to));
}

/* (FSTRING_MIDDLE | fstring_replacement_field)*, up to the closing quotes or, in a format specification
 * (level > 0), up to its '}', which is the current token then. */
static void parse_parts(pel_parser *p, pel_joined *joined, const pel_quoted *quoted, pel_parse_place opened,
                        uint32_t level) {
    pel_lexer *lex = &p->lex;
    for (bool is_first = true;; is_first = false) {
        pel_part_end end = pel_read_literal_part(lex, quoted, opened, level > 0);
        const pel_token *part = &lex->token;
        if (part->end > part->start)
            add_text(p, joined, part, part->start, part->end, quoted->is_raw, part->from, part->to);
        switch (end) {
        case PEL_PART_DOUBLED: break;
        case PEL_PART_OPEN: parse_field(p, joined, quoted, opened, level); break;
        case PEL_PART_QUOTE:
            if (level > 0) pel_syntax_error(lex, part->to, "%s: expecting '}'", name_of(quoted));
            return;
        case PEL_PART_CLOSE:
            if (level == 0) pel_syntax_error(lex, part->to, "%s: single '}' is not allowed", name_of(quoted));
            pel_next_token(lex);
            return;
        case PEL_PART_LINE_END: /* 3.13 takes it without a field before it, 3.14 never */
            if (lex->version >= 14 || (lex->version == 13 && !is_first))
                pel_syntax_error(lex, part->to,
                                 "%s: a format specification can't go on in the next line without "
                                 "triple quotes",
                                 name_of(quoted));
            pel_next_token(lex);
            return;
        }
    }
}

/* fstring: FSTRING_START (FSTRING_MIDDLE | fstring_replacement_field)* FSTRING_END
 * Ends with the closing quotes as the end of the current token. */
static void parse_fstring(pel_parser *p, pel_joined *joined) {
    pel_lexer *lex = &p->lex;
    pel_token whole = lex->token;
    pel_quoted quoted = pel_quoted_parts(&whole);
    if (++p->fstrings > MAX_NESTED_FSTRINGS)
        pel_lexer_error(lex, PEL_E_TOO_DEEP, whole.from, "over %d nested f-strings", MAX_NESTED_FSTRINGS);
    parse_parts(p, joined, &quoted, whole.from, 0);
    p->fstrings--;
    lex->at += quoted.quotes;
    whole.end = lex->at;
    whole.to = (pel_parse_place){ lex->line, (uint32_t)(lex->at - lex->line_start) };
    lex->token = whole;
}

/* ---- all literals ---- */

/* Bytes literals side by side. */
static pel_node *parse_bytes(pel_parser *p) {
    pel_node *node = pel_begin(p, Constant, pel_here(p));
    pel_buf bytes = pel_buf_in(p->ctx);
    for (; pel_at(p, PEL_T_STRING); pel_advance(p)) {
        pel_quoted quoted = pel_quoted_parts(&p->lex.token);
        if (!quoted.is_bytes) break;
        put_bytes(p, &p->lex.token, &bytes, &quoted);
    }
    if (pel_at(p, PEL_T_STRING) || pel_at(p, PEL_T_FSTRING))
        pel_syntax_error(&p->lex, pel_here(p), "cannot mix bytes and nonbytes literals");
    node->Constant.value = pel_const_bytes(p->ctx, pel_buf_str(&bytes));
    return pel_finish(p, node);
}

/* strings: (STRING | fstring)+ | tstring+ */
pel_node *pel_strings(pel_parser *p) {
    pel_quoted quoted = pel_quoted_parts(&p->lex.token);
    if (quoted.is_bytes) return parse_bytes(p);
    pel_joined joined = new_joined(p, pel_here(p));
    for (bool is_first = true; pel_at(p, PEL_T_STRING) || pel_at(p, PEL_T_FSTRING); is_first = false) {
        pel_token token = p->lex.token;
        quoted = pel_quoted_parts(&token);
        if (quoted.is_bytes) pel_syntax_error(&p->lex, token.from, "cannot mix bytes and nonbytes literals");
        if (!is_first && quoted.is_template != joined.is_template)
            pel_syntax_error(&p->lex, token.from, "cannot mix t-string literals with string or bytes literals");
        joined.is_template = quoted.is_template;
        if (quoted.is_unicode && (is_first || (p->lex.version >= 12 && !joined.has_text))) joined.kind = PEL_STR("u");
        joined.is_formatted |= quoted.is_formatted;
        if (token.kind == PEL_T_FSTRING)
            parse_fstring(p, &joined);
        else if (quoted.is_formatted)
            parse_old_fstring(p, &joined, &token, &quoted);
        else
            add_text(p, &joined, &token, quoted.start, quoted.end, quoted.is_raw, token.from, token.to);
        pel_advance(p);
    }
    bool has_parts = joined.is_formatted || joined.is_template;
    return pel_finish(p, has_parts ? take_joined(p, &joined) : take_text(p, &joined));
}
