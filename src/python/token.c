#include "python/token.h"

#include "python/unicode.h"

/* ---- classes of bytes ---- */

enum { NAME_START = 1, NAME_PART = 2, DIGIT = 4, HEX = 8, SPACE = 16, STRING_STOP = 32 };

static const uint8_t byte_class[256] = {
    ['A' ... 'F'] = NAME_START | NAME_PART | HEX,
    ['G' ... 'Z'] = NAME_START | NAME_PART,
    ['a' ... 'f'] = NAME_START | NAME_PART | HEX,
    ['g' ... 'z'] = NAME_START | NAME_PART,
    ['_'] = NAME_START | NAME_PART,
    ['0' ... '9'] = NAME_PART | DIGIT | HEX,
    [' '] = SPACE,
    ['\t'] = SPACE,
    ['\f'] = SPACE,
    [0] = STRING_STOP,
    ['\n'] = STRING_STOP,
    ['\\'] = STRING_STOP,
    ['"'] = STRING_STOP,
    ['\''] = STRING_STOP,
};

static inline bool is(char c, uint8_t class) { return byte_class[(unsigned char)c] & class; }

/* ---- messages ---- */

const char *pel_token_text(pel_token_kind kind) {
    static const char *const texts[] = {
/* clang-format off */
#define X(name, text) text,
        PEL_TOKENS(X)
#undef X
#define X(name, text) "'" text "'",
        PEL_PUNCTUATION(X) PEL_KEYWORDS(X)
#undef X
        /* clang-format on */
    };
    return texts[kind];
}

/* The byte offset of a place in the source as it was given, where a line may end in \r\n. */
static uint64_t offset_of(const pel_lexer *lex, pel_parse_place at) {
    pel_str text = lex->source->text;
    size_t i = 0;
    for (uint32_t line = 1; line < at.line && i < text.len; i++) {
        if (text.ptr[i] == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n') continue;
        if (text.ptr[i] == '\n' || text.ptr[i] == '\r') line++;
    }
    return i + at.column < text.len ? i + at.column : text.len;
}

void pel_lexer_error(pel_lexer *lex, pel_code code, pel_parse_place at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(lex->ctx, code, offset_of(lex, at), at.line, at.column, format, args);
}

void pel_syntax_error(pel_lexer *lex, pel_parse_place at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(lex->ctx, PEL_E_SYNTAX, offset_of(lex, at), at.line, at.column, format, args);
}

/* ---- the text ---- */

static inline pel_parse_place place_of(const pel_lexer *lex, const char *at) {
    return (pel_parse_place){ lex->line, (uint32_t)(at - lex->line_start) };
}

/* A copy with \n line ends, a newline at the end, and NULs after it. */
static char *copy_text(pel_ctx *ctx, pel_str text, const char **limit) {
    enum { PADDING = 8 };
    char *copy = pel_alloc_raw(ctx, text.len + 1 + PADDING), *out = copy;
    const char *at = text.ptr, *end = text.ptr + text.len;
    while (at < end) {
        const char *cr = memchr(at, '\r', (size_t)(end - at));
        size_t n = (size_t)((cr ? cr : end) - at);
        memcpy(out, at, n);
        out += n;
        at += n;
        if (!cr) break;
        *out++ = '\n';
        at += at + 1 < end && at[1] == '\n' ? 2 : 1;
    }
    if (out > copy && out[-1] != '\n') *out++ = '\n';
    memset(out, 0, PADDING);
    *limit = out;
    return copy;
}

void pel_lexer_init(pel_lexer *lex, pel_ctx *ctx, const pel_source *source, pel_version version) {
    *lex = (pel_lexer){ .ctx = ctx, .version = version, .source = source, .line = 1, .at_line_start = true };
    lex->at = lex->line_start = copy_text(ctx, source->text, &lex->limit);
    const char *nul = memchr(lex->at, 0, (size_t)(lex->limit - lex->at));
    if (nul) {
        for (const char *line; (line = memchr(lex->line_start, '\n', (size_t)(nul - lex->line_start))); lex->line++)
            lex->line_start = line + 1;
        pel_syntax_error(lex, place_of(lex, nul), "source code cannot contain null bytes");
    }
}

/* ---- brackets ---- */

void pel_open_bracket(pel_lexer *lex, char bracket, pel_parse_place from) {
    if (lex->n_brackets == PEL_MAX_BRACKETS)
        pel_lexer_error(lex, PEL_E_TOO_DEEP, from, "over %d nested parentheses", PEL_MAX_BRACKETS);
    lex->brackets[lex->n_brackets++] = (pel_bracket){ bracket, from };
}

static void close_bracket(pel_lexer *lex, const char *at) {
    char closing = *at;
    if (lex->n_brackets == 0) pel_syntax_error(lex, place_of(lex, at), "unmatched '%c'", closing);
    pel_bracket *open = &lex->brackets[--lex->n_brackets];
    char fits = open->opening == '(' ? ')' : open->opening == '[' ? ']' : '}';
    if (closing == fits) return;
    if (open->from.line == lex->line)
        pel_syntax_error(lex, place_of(lex, at), "closing '%c' does not match opening '%c'", closing, open->opening);
    pel_syntax_error(lex, place_of(lex, at), "closing '%c' does not match opening '%c' on line %u", closing,
                     open->opening, open->from.line);
}

/* ---- indentation ---- */

static void next_line(pel_lexer *lex, const char *start) {
    lex->line++;
    lex->line_start = start;
}

/* Passes over a backslash and the line end after it. */
static const char *continue_line(pel_lexer *lex, const char *backslash) {
    if (backslash[1] != '\n')
        pel_syntax_error(lex, place_of(lex, backslash + 1), "unexpected character after line continuation character");
    next_line(lex, backslash + 2);
    if (backslash + 2 == lex->limit)
        pel_syntax_error(lex, place_of(lex, backslash + 2), "the file ends after a line continuation character");
    return backslash + 2;
}

static _Noreturn void inconsistent_tabs(pel_lexer *lex, const char *at) {
    pel_syntax_error(lex, place_of(lex, at), "inconsistent use of tabs and spaces in indentation");
}

/* Passes over empty lines and comments to the first token of a line, and compares its indentation with the
 * open ones: sets lex->pending. */
static void read_indentation(pel_lexer *lex) {
    uint32_t column, with_tabs_as_one, continued;
    const char *s = lex->at;
    for (;;) {
        column = with_tabs_as_one = continued = 0;
        for (;; s++) {
            if (*s == ' ') {
                column++;
                with_tabs_as_one++;
            } else if (*s == '\t') {
                column = column / 8 * 8 + 8;
                with_tabs_as_one++;
            } else if (*s == '\f') {
                column = with_tabs_as_one = 0;
            } else if (*s == '\\') { /* the indentation is that before the first backslash */
                if (!continued) continued = column;
                s = continue_line(lex, s) - 1;
            } else {
                break;
            }
        }
        if (*s == '#') s = memchr(s, '\n', (size_t)(lex->limit - s));
        if (*s != '\n') break;
        next_line(lex, ++s);
    }
    lex->at = s;
    lex->at_line_start = false;
    if (s == lex->limit) {
        lex->pending = -(int32_t)lex->n_indents;
        lex->n_indents = 0;
        return;
    }
    if (continued) column = with_tabs_as_one = continued;
    uint32_t top = 0, top_with_tabs_as_one = 0;
    if (lex->n_indents) {
        top = lex->indents[lex->n_indents - 1].column;
        top_with_tabs_as_one = lex->indents[lex->n_indents - 1].with_tabs_as_one;
    }
    if (column == top) {
        if (with_tabs_as_one != top_with_tabs_as_one) inconsistent_tabs(lex, s);
    } else if (column > top) {
        if (with_tabs_as_one <= top_with_tabs_as_one) inconsistent_tabs(lex, s);
        if (lex->n_indents + 1 >= PEL_MAX_INDENTS)
            pel_lexer_error(lex, PEL_E_TOO_DEEP, place_of(lex, s), "over %d levels of indentation", PEL_MAX_INDENTS);
        lex->indents[lex->n_indents].column = column;
        lex->indents[lex->n_indents++].with_tabs_as_one = with_tabs_as_one;
        lex->pending = 1;
    } else {
        while (lex->n_indents && column < lex->indents[lex->n_indents - 1].column) {
            lex->n_indents--;
            lex->pending--;
        }
        top = lex->n_indents ? lex->indents[lex->n_indents - 1].column : 0;
        top_with_tabs_as_one = lex->n_indents ? lex->indents[lex->n_indents - 1].with_tabs_as_one : 0;
        if (column != top)
            pel_syntax_error(lex, place_of(lex, s), "unindent does not match any outer indentation level");
        if (with_tabs_as_one != top_with_tabs_as_one) inconsistent_tabs(lex, s);
    }
}

/* ---- numbers ---- */

/* Digits of a class with single underscores between them. Returns the end. */
static const char *read_digits(pel_lexer *lex, const char *s, uint8_t class) {
    for (;;) {
        while (is(*s, class)) s++;
        if (*s != '_') return s;
        if (!is(s[1], class))
            pel_syntax_error(lex, place_of(lex, s), "an underscore in a number must stand between digits");
        s++;
    }
}

static const char *read_radix_digits(pel_lexer *lex, const char *s, const char *what, char last_digit) {
    if (*s == '_') s++;
    const char *first = s;
    for (;; s++) {
        if (*s >= '0' && *s <= last_digit) continue;
        if (*s == '_' && s > first && s[-1] != '_' && s[1] >= '0' && s[1] <= last_digit) continue;
        break;
    }
    if (is(*s, DIGIT)) pel_syntax_error(lex, place_of(lex, s), "invalid digit '%c' in %s literal", *s, what);
    if (s == first || *s == '_') pel_syntax_error(lex, place_of(lex, s), "invalid %s literal", what);
    return s;
}

/* A keyword may follow a number directly (`1if x else y`); another name may not. */
static void check_number_end(pel_lexer *lex, const char *s, const char *what) {
    static const char *const keywords[] = { "and", "else", "for", "if", "in", "is", "not", "or" };
    if (!is(*s, NAME_START) && !(*s & 0x80)) return;
    const char *end = s;
    while (is(*end, NAME_PART)) end++;
    for (size_t i = 0; i < PEL_COUNT(keywords); i++)
        if (pel_str_is((pel_str){ s, (size_t)(end - s) }, keywords[i])) return;
    pel_syntax_error(lex, place_of(lex, s), "invalid %s literal", what);
}

/* A letter that follows a number is an error, unless it begins a keyword (`1if x`), as CPython has it. An `e` without
 * digits is such a letter, not an exponent. */
static const char *read_number(pel_lexer *lex, const char *s) {
    if (*s == '0') {
        char radix = (char)(s[1] | 0x20);
        if (radix == 'x') {
            s += s[2] == '_' ? 3 : 2;
            const char *end = is(*s, HEX) ? read_digits(lex, s, HEX) : s;
            if (end == s) pel_syntax_error(lex, place_of(lex, s), "invalid hexadecimal literal");
            check_number_end(lex, end, "hexadecimal");
            return end;
        }
        if (radix == 'o' || radix == 'b') {
            const char *what = radix == 'o' ? "octal" : "binary";
            const char *end = read_radix_digits(lex, s + 2, what, radix == 'o' ? '7' : '1');
            check_number_end(lex, end, what);
            return end;
        }
    }
    const char *start = s;
    bool is_integer = true;
    if (is(*s, DIGIT)) s = read_digits(lex, s, DIGIT);
    if (*s == '.') {
        is_integer = false;
        s++;
        if (is(*s, DIGIT)) s = read_digits(lex, s, DIGIT);
    }
    if ((*s | 0x20) == 'e') {
        const char *exponent = s + 1;
        if (*exponent == '+' || *exponent == '-') exponent++;
        if (is(*exponent, DIGIT)) {
            is_integer = false;
            s = read_digits(lex, exponent, DIGIT);
        } else if (exponent > s + 1) {
            pel_syntax_error(lex, place_of(lex, s), "invalid decimal literal");
        }
    }
    if ((*s | 0x20) == 'j') {
        s++;
        check_number_end(lex, s, "imaginary");
        return s;
    }
    check_number_end(lex, s, "decimal");
    if (is_integer && *start == '0')
        for (const char *digit = start; digit < s; digit++)
            if (*digit != '0' && *digit != '_')
                pel_syntax_error(lex, place_of(lex, start),
                                 "leading zeros in decimal integers are not permitted; use 0o for octal integers");
    return s;
}

/* ---- strings ---- */

pel_quoted pel_quoted_parts(const pel_token *token) {
    pel_quoted quoted = { 0 };
    const char *s = token->start;
    quoted.is_unicode = *s == 'u'; /* not U: so does CPython */
    for (; *s != '"' && *s != '\''; s++) {
        char letter = (char)(*s | 0x20);
        quoted.is_raw |= letter == 'r';
        quoted.is_bytes |= letter == 'b';
        quoted.is_formatted |= letter == 'f';
        quoted.is_template |= letter == 't';
    }
    quoted.quote = *s;
    quoted.quotes = s[1] == *s && s[2] == *s && token->end - s >= 3 ? 3 : 1;
    quoted.start = s + quoted.quotes;
    quoted.end = token->end - quoted.quotes;
    return quoted;
}

static _Noreturn void unterminated(pel_lexer *lex, const pel_quoted *quoted, pel_parse_place opened) {
    const char *kind = quoted->quotes == 3 ? "triple-quoted string" : "string";
    if (opened.line == lex->line) pel_syntax_error(lex, opened, "this %s is never closed", kind);
    pel_syntax_error(lex, opened, "this %s is never closed (read up to line %u)", kind, lex->line);
}

/* Passes over a string from after its opening quotes; returns the end of the closing ones. */
static const char *read_string(pel_lexer *lex, const char *s, const pel_quoted *quoted, pel_parse_place opened) {
    for (;; s++) {
        while (!is(*s, STRING_STOP)) s++;
        if (*s == quoted->quote) {
            if (quoted->quotes == 1) return s + 1;
            if (s[1] == quoted->quote && s[2] == quoted->quote) return s + 3;
        } else if (*s == '\\') {
            s++;
            if (*s == '\n') next_line(lex, s + 1);
            if (s >= lex->limit) unterminated(lex, quoted, opened);
        } else if (*s == '\n') {
            if (quoted->quotes == 1) unterminated(lex, quoted, opened);
            next_line(lex, s + 1);
        } else if (*s == 0 && s >= lex->limit) {
            unterminated(lex, quoted, opened);
        }
    }
}

pel_part_end pel_read_literal_part(pel_lexer *lex, const pel_quoted *quoted, pel_parse_place opened, bool in_spec) {
    const char *s = lex->at;
    pel_token *token = &lex->token;
    pel_part_end end;
    token->start = s;
    token->from = place_of(lex, s);
    for (;; s++) {
        if (*s == quoted->quote) {
            if (quoted->quotes == 1 || (s[1] == *s && s[2] == *s)) {
                end = PEL_PART_QUOTE;
                break;
            }
        } else if (*s == '{' || *s == '}') {
            end = *s == '{' ? PEL_PART_OPEN : PEL_PART_CLOSE;
            if (s[1] == *s && !in_spec) {
                s++;
                end = PEL_PART_DOUBLED;
            }
            break;
        } else if (*s == '\\') {
            if (s[1] == '{' || s[1] == '}') continue; /* the brace keeps its meaning */
            s++;
            if (*s == '\n') next_line(lex, s + 1);
            if (s >= lex->limit) unterminated(lex, quoted, opened);
            if (*s == 'N' && s[1] == '{' && !quoted->is_raw) { /* a character by name */
                const char *close = s + 2;
                while (*close != '}' && *close != '\n' && *close != quoted->quote && close < lex->limit) close++;
                if (*close == '}') s = close;
            }
        } else if (*s == '\n') {
            if (quoted->quotes == 1 && in_spec) {
                end = PEL_PART_LINE_END;
                break;
            }
            if (quoted->quotes == 1) unterminated(lex, quoted, opened);
            next_line(lex, s + 1);
        } else if (*s == 0 && s >= lex->limit) {
            unterminated(lex, quoted, opened);
        }
    }
    token->end = s;
    lex->at = end == PEL_PART_DOUBLED ? s + 1 : s;
    token->to = place_of(lex, lex->at);
    return end;
}

static void string_token(pel_lexer *lex, const char *start, const char *quote) {
    pel_token *token = &lex->token;
    token->start = start;
    token->from = place_of(lex, start);
    pel_quoted quoted = { .quote = *quote, .quotes = quote[1] == *quote && quote[2] == *quote ? 3 : 1 };
    bool is_formatted = false, is_template = false;
    for (const char *s = start; s < quote; s++) {
        is_formatted |= (*s | 0x20) == 'f';
        is_template |= (*s | 0x20) == 't';
    }
    if (is_template && lex->version < 14)
        pel_syntax_error(lex, token->from, "template strings are only supported from Python 3.14 on");
    const char *inside = quote + quoted.quotes;
    if (is_template || (is_formatted && lex->version >= 12)) {
        token->kind = PEL_T_FSTRING;
        token->end = inside;
    } else {
        token->kind = PEL_T_STRING;
        token->end = read_string(lex, inside, &quoted, token->from);
    }
    token->to = place_of(lex, token->end);
    lex->at = token->end;
}

/* ---- names ---- */

typedef struct pel_keyword {
    char text[9];
    uint8_t len, kind;
} pel_keyword;

/* No two keywords share a slot. */
#define KEYWORD_SLOT(first, second, last, len) (((first) + 7 * (second) + 16 * (last) + (len)) & 127)

/* clang-format off */
static const pel_keyword keyword_slots[128] = {
#define ROW(first, second, last, text, kind)                                                                           \
    [KEYWORD_SLOT(first, second, last, (int)sizeof text - 1)] = { text, sizeof text - 1, PEL_T_##kind },
    ROW('F', 'a', 'e', "False", FALSE)
    ROW('N', 'o', 'e', "None", NONE)
    ROW('T', 'r', 'e', "True", TRUE)
    ROW('a', 'n', 'd', "and", AND)
    ROW('a', 's', 's', "as", AS)
    ROW('a', 's', 't', "assert", ASSERT)
    ROW('a', 's', 'c', "async", ASYNC)
    ROW('a', 'w', 't', "await", AWAIT)
    ROW('b', 'r', 'k', "break", BREAK)
    ROW('c', 'l', 's', "class", CLASS)
    ROW('c', 'o', 'e', "continue", CONTINUE)
    ROW('d', 'e', 'f', "def", DEF)
    ROW('d', 'e', 'l', "del", DEL)
    ROW('e', 'l', 'f', "elif", ELIF)
    ROW('e', 'l', 'e', "else", ELSE)
    ROW('e', 'x', 't', "except", EXCEPT)
    ROW('f', 'i', 'y', "finally", FINALLY)
    ROW('f', 'o', 'r', "for", FOR)
    ROW('f', 'r', 'm', "from", FROM)
    ROW('g', 'l', 'l', "global", GLOBAL)
    ROW('i', 'f', 'f', "if", IF)
    ROW('i', 'm', 't', "import", IMPORT)
    ROW('i', 'n', 'n', "in", IN)
    ROW('i', 's', 's', "is", IS)
    ROW('l', 'a', 'a', "lambda", LAMBDA)
    ROW('n', 'o', 'l', "nonlocal", NONLOCAL)
    ROW('n', 'o', 't', "not", NOT)
    ROW('o', 'r', 'r', "or", OR)
    ROW('p', 'a', 's', "pass", PASS)
    ROW('r', 'a', 'e', "raise", RAISE)
    ROW('r', 'e', 'n', "return", RETURN)
    ROW('t', 'r', 'y', "try", TRY)
    ROW('w', 'h', 'e', "while", WHILE)
    ROW('w', 'i', 'h', "with", WITH)
    ROW('y', 'i', 'd', "yield", YIELD)
#undef ROW
};
/* clang-format on */

static uint8_t keyword_kind(const char *s, size_t len) {
    if (len < 2 || len > 8) return PEL_T_NAME;
    const pel_keyword *row = &keyword_slots[KEYWORD_SLOT(s[0], s[1], s[len - 1], (int)len)];
    return row->len == len && memcmp(row->text, s, len) == 0 ? row->kind : PEL_T_NAME;
}

static bool is_string_prefix(const char *s, size_t len) {
    static const char *const prefixes[] = { "r", "u", "b", "f", "br", "rb", "fr", "rf", "t", "tr", "rt" };
    if (len > 2) return false;
    for (size_t i = 0; i < PEL_COUNT(prefixes); i++)
        if (strlen(prefixes[i]) == len && (s[0] | 0x20) == prefixes[i][0] &&
            (len == 1 || (s[1] | 0x20) == prefixes[i][1]))
            return true;
    return false;
}

static _Noreturn void invalid_character(pel_lexer *lex, const char *at) {
    size_t len;
    uint32_t point = pel_utf8_point(at, &len);
    if (pel_is_printable(point))
        pel_syntax_error(lex, place_of(lex, at), "invalid character '%.*s' (U+%04X)", (int)len, at, point);
    pel_syntax_error(lex, place_of(lex, at), "invalid non-printable character U+%04X", point);
}

/* A name with characters beyond ASCII: checked, then normalised. */
static const char *read_unicode_name(pel_lexer *lex, const char *start) {
    const char *s = start;
    for (size_t len; is(*s, NAME_PART) || (*s & 0x80); s += len) {
        uint32_t point = pel_utf8_point(s, &len);
        if (s == start ? !pel_is_xid_start(point) : !pel_is_xid_continue(point)) invalid_character(lex, s);
    }
    pel_str name = pel_nfkc(lex->ctx, (pel_str){ start, (size_t)(s - start) });
    if (!name.len)
        pel_lexer_error(lex, PEL_E_TOO_BIG, place_of(lex, start), "too many combining marks in a row in this name");
    lex->token.name = pel_intern_str(lex->ctx, name);
    return s;
}

/* ---- all tokens ---- */

static inline void give(pel_lexer *lex, pel_token_kind kind, const char *start, const char *end) {
    pel_token *token = &lex->token;
    token->kind = (uint8_t)kind;
    token->from = place_of(lex, start);
    token->to = place_of(lex, end);
    token->start = start;
    token->end = end;
    lex->at = end;
}

static void name_token(pel_lexer *lex, const char *start) {
    uint32_t hash = PEL_HASH_START;
    const char *s = start;
    for (; is(*s, NAME_PART); s++) hash = pel_hash_step(hash, (unsigned char)*s);
    size_t len = (size_t)(s - start);
    if ((*s == '"' || *s == '\'') && is_string_prefix(start, len)) {
        string_token(lex, start, s);
        return;
    }
    uint8_t kind = PEL_T_NAME;
    if (*s & 0x80) {
        s = read_unicode_name(lex, start);
    } else {
        kind = keyword_kind(start, len);
        if (kind == PEL_T_NAME) lex->token.name = pel_intern_hashed(lex->ctx, start, len, hash);
    }
    give(lex, kind, start, s);
}

/* An operator of one, two or three bytes: `+`, `+=`, `**`, `**=`. */
static void operator_token(pel_lexer *lex, const char *s, pel_token_kind one, pel_token_kind with_equal,
                           pel_token_kind two, pel_token_kind two_with_equal) {
    if (s[1] == '=' && with_equal)
        give(lex, with_equal, s, s + 2);
    else if (s[1] == *s && two)
        s[2] == '=' && two_with_equal ? give(lex, two_with_equal, s, s + 3) : give(lex, two, s, s + 2);
    else
        give(lex, one, s, s + 1);
}

static void opening_token(pel_lexer *lex, pel_token_kind kind, const char *s) {
    give(lex, kind, s, s + 1);
    pel_open_bracket(lex, *s, lex->token.from);
}

static void closing_token(pel_lexer *lex, pel_token_kind kind, const char *s) {
    close_bracket(lex, s);
    give(lex, kind, s, s + 1);
}

static void give_pending(pel_lexer *lex) {
    bool is_indent = lex->pending > 0;
    lex->pending += is_indent ? -1 : 1;
    give(lex, is_indent ? PEL_T_INDENT : PEL_T_DEDENT, lex->at, lex->at);
}

/* At the NUL after the text. */
static void end_token(pel_lexer *lex, const char *s) {
    if (s < lex->limit) pel_syntax_error(lex, place_of(lex, s), "source code cannot contain null bytes");
    if (lex->n_brackets > lex->field) {
        pel_bracket *open = &lex->brackets[lex->n_brackets - 1];
        pel_syntax_error(lex, open->from, "'%c' was never closed", open->opening);
    }
    give(lex, PEL_T_END, s, s);
}

void pel_next_token(pel_lexer *lex) {
    if (lex->token.kind < PEL_T_NEWLINE || lex->token.kind > PEL_T_DEDENT) lex->last_end = lex->token.to;
    if (lex->at_line_start) read_indentation(lex);
    if (lex->pending) {
        give_pending(lex);
        return;
    }
    const char *s = lex->at;
again:
    while (is(*s, SPACE)) s++;
    switch (*s) {
    case 'a' ... 'z':
    case 'A' ... 'Z':
    case '_': name_token(lex, s); return;
    case '0' ... '9': give(lex, PEL_T_NUMBER, s, read_number(lex, s)); return;
    case '"':
    case '\'': string_token(lex, s, s); return;
    case '#': s = memchr(s, '\n', (size_t)(lex->limit - s)); goto again;
    case '\\': s = continue_line(lex, s); goto again;
    case '\n':
        if (lex->n_brackets) {
            next_line(lex, ++s);
            goto again;
        }
        give(lex, PEL_T_NEWLINE, s, s + 1);
        next_line(lex, s + 1);
        lex->at_line_start = true;
        return;
    case 0: end_token(lex, s); return;
    case '(': opening_token(lex, PEL_T_LPAR, s); return;
    case '[': opening_token(lex, PEL_T_LSQB, s); return;
    case '{': opening_token(lex, PEL_T_LBRACE, s); return;
    case ')': closing_token(lex, PEL_T_RPAR, s); return;
    case ']': closing_token(lex, PEL_T_RSQB, s); return;
    case '}': closing_token(lex, PEL_T_RBRACE, s); return;
    case ',': give(lex, PEL_T_COMMA, s, s + 1); return;
    case ';': give(lex, PEL_T_SEMI, s, s + 1); return;
    case '~': give(lex, PEL_T_TILDE, s, s + 1); return;
    case '.':
        if (is(s[1], DIGIT))
            give(lex, PEL_T_NUMBER, s, read_number(lex, s));
        else if (s[1] == '.' && s[2] == '.')
            give(lex, PEL_T_ELLIPSIS, s, s + 3);
        else
            give(lex, PEL_T_DOT, s, s + 1);
        return;
    case ':': /* directly in a replacement field a colon starts the format, even before `=` */
        if (s[1] == '=' && !(lex->field && lex->n_brackets == lex->field))
            give(lex, PEL_T_COLONEQUAL, s, s + 2);
        else
            give(lex, PEL_T_COLON, s, s + 1);
        return;
    case '!':
        if (s[1] == '=')
            give(lex, PEL_T_NOTEQUAL, s, s + 2);
        else if (lex->field && lex->n_brackets == lex->field)
            give(lex, PEL_T_EXCLAMATION, s, s + 1);
        else
            invalid_character(lex, s);
        return;
    case '=': operator_token(lex, s, PEL_T_EQUAL, PEL_T_EQEQUAL, 0, 0); return;
    case '+': operator_token(lex, s, PEL_T_PLUS, PEL_T_PLUSEQUAL, 0, 0); return;
    case '-':
        if (s[1] == '>')
            give(lex, PEL_T_ARROW, s, s + 2);
        else
            operator_token(lex, s, PEL_T_MINUS, PEL_T_MINUSEQUAL, 0, 0);
        return;
    case '*': operator_token(lex, s, PEL_T_STAR, PEL_T_STAREQUAL, PEL_T_DOUBLESTAR, PEL_T_DOUBLESTAREQUAL); return;
    case '/': operator_token(lex, s, PEL_T_SLASH, PEL_T_SLASHEQUAL, PEL_T_DOUBLESLASH, PEL_T_DOUBLESLASHEQUAL); return;
    case '<': operator_token(lex, s, PEL_T_LESS, PEL_T_LESSEQUAL, PEL_T_LEFTSHIFT, PEL_T_LEFTSHIFTEQUAL); return;
    case '>':
        operator_token(lex, s, PEL_T_GREATER, PEL_T_GREATEREQUAL, PEL_T_RIGHTSHIFT, PEL_T_RIGHTSHIFTEQUAL);
        return;
    case '|': operator_token(lex, s, PEL_T_VBAR, PEL_T_VBAREQUAL, 0, 0); return;
    case '&': operator_token(lex, s, PEL_T_AMPER, PEL_T_AMPEREQUAL, 0, 0); return;
    case '^': operator_token(lex, s, PEL_T_CIRCUMFLEX, PEL_T_CIRCUMFLEXEQUAL, 0, 0); return;
    case '%': operator_token(lex, s, PEL_T_PERCENT, PEL_T_PERCENTEQUAL, 0, 0); return;
    case '@': operator_token(lex, s, PEL_T_AT, PEL_T_ATEQUAL, 0, 0); return;
    default:
        if (*s & 0x80)
            give(lex, PEL_T_NAME, s, read_unicode_name(lex, s));
        else
            invalid_character(lex, s);
    }
}
