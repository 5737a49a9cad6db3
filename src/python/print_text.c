/* Literals: numbers, strings with the quotes that read best, f-strings that the target version can read, t-strings. */
#include <math.h>

#include "python/printer.h"
#include "python/unicode.h"

/* ---- numbers ---- */

/* Python refuses longer decimal literals since a security fix of 2022; hexadecimal ones have no limit. */
#define MOST_DECIMAL_DIGITS 4300

static void put_hexadecimal(pel_buf *out, pel_str digits) {
    bool is_negative = digits.ptr[0] == '-';
    PEL_VEC(uint32_t) limbs = { 0 }; /* least significant first */
    for (size_t i = is_negative; i < digits.len; i++) {
        uint64_t carry = (uint64_t)(digits.ptr[i] - '0');
        for (uint32_t k = 0; k < limbs.n; k++) {
            carry += (uint64_t)limbs.at[k] * 10;
            limbs.at[k] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry) pel_push(out->ctx, &limbs, (uint32_t)carry);
    }
    pel_put_c(out, is_negative ? "-0x" : "0x");
    for (uint32_t k = limbs.n; k-- > 0;) pel_putf(out, k + 1 == limbs.n ? "%x" : "%08x", limbs.at[k]);
}

#define MANY_ZEROS 6

/* 10000000000.0: one digit and so many zeros that nobody counts them. */
static bool put_round(pel_buf *out, pel_str repr) {
    size_t first = repr.ptr[0] == '-', zeros = 0;
    while (first + 1 + zeros < repr.len && repr.ptr[first + 1 + zeros] == '0') zeros++;
    if (zeros < MANY_ZEROS || !pel_str_is(pel_str_from(repr, first + 1 + zeros), ".0")) return false;
    pel_putf(out, "%.*se%zu", PEL_FMT(pel_str_cut(repr, 0, first + 1)), zeros);
    return true;
}

/* repr's exponents are those of printf: people write 1e-5 for 1e-05, 1e16 for 1e+16 and 1e9 for 1000000000.0. */
static void put_finite(pel_buf *out, double value) {
    pel_buf repr = pel_buf_in(out->ctx);
    pel_put_float_repr(&repr, value);
    pel_str text = pel_buf_str(&repr);
    if (put_round(out, text)) return;
    const char *e = memchr(text.ptr, 'e', text.len);
    size_t exponent = e ? (size_t)(e - text.ptr) + 1 : text.len;
    pel_put(out, pel_str_cut(text, 0, exponent));
    if (!e) return;
    if (text.ptr[exponent] == '-') pel_put_byte(out, '-');
    for (exponent++; text.ptr[exponent] == '0'; exponent++) {}
    pel_put(out, pel_str_from(text, exponent));
}

static void put_float(pel_buf *out, double value) {
    if (isnan(value))
        pel_put_c(out, "1e309 - 1e309");
    else if (isinf(value))
        pel_put_c(out, value > 0 ? "1e309" : "-1e309");
    else
        put_finite(out, value);
}

static bool is_negative_zero(double value) { return value == 0 && signbit(value); }

/* The compiler folds -2j to -0.0-2j and 1 - 2j to 1-2j: written so, each part keeps its sign. */
static void put_complex(pel_buf *out, double real, double imag) {
    bool flips = is_negative_zero(real) || (is_negative_zero(imag) && real != 0);
    if (flips && !(is_negative_zero(real) && signbit(imag))) {
        pel_put_c(out, "-(");
        put_complex(out, -real, -imag);
        pel_put_c(out, ")");
        return;
    }
    if (is_negative_zero(real)) {
        pel_put_c(out, "-");
        imag = -imag;
    } else if (real != 0 || signbit(imag)) {
        put_float(out, real);
        pel_put_c(out, signbit(imag) ? " - " : " + ");
        imag = fabs(imag);
    }
    pel_buf digits = pel_buf_in(out->ctx);
    put_float(&digits, imag);
    pel_str text = pel_buf_str(&digits);
    if (pel_str_ends(text, PEL_STR(".0"))) text.len -= 2;
    pel_put(out, text);
    pel_put_byte(out, 'j');
}

static pel_level level_of_complex(double real, double imag) {
    if (real == 0 && !signbit(real)) return signbit(imag) ? PEL_LEVEL_ARITH : PEL_LEVEL_ATOM;
    return is_negative_zero(real) ? PEL_LEVEL_FACTOR : PEL_LEVEL_ARITH;
}

pel_level pel_constant_level(const pel_const *value) {
    switch (value->kind) {
    case PEL_CONST_INT: {
        pel_str digits = value->integer.digits;
        bool is_negative = digits.len ? digits.ptr[0] == '-' : value->integer.small < 0;
        return is_negative ? PEL_LEVEL_FACTOR : PEL_LEVEL_ATOM;
    }
    case PEL_CONST_FLOAT:
        if (isnan(value->real)) return PEL_LEVEL_ARITH;
        return signbit(value->real) ? PEL_LEVEL_FACTOR : PEL_LEVEL_ATOM;
    case PEL_CONST_COMPLEX: return level_of_complex(value->real, value->imag);
    default: return PEL_LEVEL_ATOM;
    }
}

/* ---- strings ---- */

typedef struct quotes {
    uint8_t bit;
    const char *text;
    uint8_t taken_inside; /* bits that strings inside a replacement field can't use */
} quotes;

enum { DOUBLE = 1, SINGLE = 2, TRIPLE_DOUBLE = 4, TRIPLE_SINGLE = 8 };

static const quotes all_quotes[] = {
    { DOUBLE, "\"", DOUBLE | TRIPLE_DOUBLE },
    { SINGLE, "'", SINGLE | TRIPLE_SINGLE },
    { TRIPLE_DOUBLE, "\"\"\"", TRIPLE_DOUBLE },
    { TRIPLE_SINGLE, "'''", TRIPLE_SINGLE },
};
#define IS_TRIPLE(q) ((q)->bit >= TRIPLE_DOUBLE)

/* What decides how a string is best written. */
typedef struct looks {
    size_t length, lines;
    uint32_t singles, doubles, backslashes;
    bool has_other;     /* characters that only an escape shows */
    bool has_loose_end; /* a line ends with a space */
} looks;

static void look_at(looks *seen, pel_str text, bool is_bytes) {
    seen->length += text.len;
    for (size_t i = 0; i < text.len;) {
        uint32_t c = is_bytes ? (unsigned char)text.ptr[i++] : pel_text_next(text, &i);
        seen->singles += c == '\'';
        seen->doubles += c == '"';
        seen->backslashes += c == '\\';
        if (c == '\n') {
            seen->lines++;
            seen->has_loose_end |= i > 1 && text.ptr[i - 2] == ' ';
        } else if (is_bytes ? c < ' ' || c > '~' : !pel_is_printable(c)) {
            seen->has_other = true;
        }
    }
}

/* Texts of several lines keep them. */
static bool is_block(const pel_printer *p, const looks *seen) {
    return seen->lines >= 2 && seen->length >= 60 && !seen->has_other && !seen->has_loose_end && !p->lay.nobreak;
}

/* The order in which to try quotes: `"` unless that takes more escapes. */
static void order_quotes(const looks *seen, bool triple_first, const quotes *order[4]) {
    bool single_first = seen->doubles > seen->singles;
    order[triple_first ? 2 : 0] = &all_quotes[single_first];
    order[triple_first ? 3 : 1] = &all_quotes[!single_first];
    order[triple_first ? 0 : 2] = &all_quotes[2];
    order[triple_first ? 1 : 3] = &all_quotes[3];
}

typedef struct style {
    const quotes *quotes;
    bool raw, is_bytes;
    bool no_backslash;        /* what needs an escape is impossible */
    uint8_t taken;            /* with no_backslash: quotes that may not occur */
    bool braces, spec_braces; /* of f-strings: doubled, or escaped in a format specification */
    bool block;               /* new lines and tabs stay what they are */
    bool is_last;             /* the closing quotes follow */
    bool is_template;         /* a t-string */
} style;

static bool repeats(pel_str text, size_t at, char c, size_t n) {
    if (text.len - at < n) return false;
    for (size_t i = 0; i < n; i++)
        if (text.ptr[at + i] != c) return false;
    return true;
}

/* Whether the quote at `at` would end the literal. */
static bool ends_literal(const style *s, pel_str text, size_t at) {
    char quote = s->quotes->text[0];
    if (text.ptr[at] != quote) return false;
    return !IS_TRIPLE(s->quotes) || repeats(text, at, quote, 3) || (s->is_last && at + 1 == text.len) ||
           (s->is_last && at + 2 == text.len && text.ptr[at + 1] == quote);
}

/* Whether the strings around, that can't be escaped from, would end here. */
static bool is_taken(const style *s, pel_str text, size_t at) {
    char c = text.ptr[at];
    if (c == '"') return s->taken & DOUBLE || (s->taken & TRIPLE_DOUBLE && repeats(text, at, c, 3));
    if (c == '\'') return s->taken & SINGLE || (s->taken & TRIPLE_SINGLE && repeats(text, at, c, 3));
    return false;
}

/* Whether a character can stand for itself in source. */
static bool shows_itself(const style *s, uint32_t c) {
    if (c == '\n') return IS_TRIPLE(s->quotes) && (s->block || s->no_backslash);
    if (s->is_bytes) return c >= ' ' && c <= '~';
    if (c == '\t') return s->block || s->no_backslash;
    if (s->no_backslash) return c != 0 && c != '\r' && (c < 0xD800 || c > 0xDFFF);
    return pel_is_printable(c);
}

/* The text between the quotes; false if it can't be written in this style. */
static bool put_body(pel_buf *out, pel_str text, const style *s) {
    for (size_t i = 0; i < text.len;) {
        size_t at = i;
        uint32_t c = s->is_bytes ? (unsigned char)text.ptr[i++] : pel_text_next(text, &i);
        bool plain = shows_itself(s, c) && !ends_literal(s, text, at) && (c != '\\' || s->raw);
        if (s->spec_braces && (c == '{' || c == '}')) plain = false;
        if (plain && !(s->no_backslash && (c == '\\' || is_taken(s, text, at)))) {
            pel_put(out, pel_str_cut(text, at, i));
            if (s->braces && (c == '{' || c == '}')) pel_put_byte(out, (char)c);
        } else if (s->raw || s->no_backslash) {
            return false;
        } else if (c == '{' || c == '}') {
            pel_putf(out, "\\x%02x", c);
        } else if (c == '"' || c == '\'') {
            pel_put_byte(out, '\\');
            pel_put_byte(out, (char)c);
        } else if (s->is_bytes) {
            pel_put_escaped_byte(out, (unsigned char)c, 0);
        } else {
            pel_put_escaped(out, c, 0);
        }
    }
    return true;
}

/* r"…" spares escapes, where there is nothing else to escape and no backslash at the end. */
static bool can_be_raw(pel_str text, const looks *seen) {
    return seen->backslashes && !seen->has_other && text.ptr[text.len - 1] != '\\';
}

static bool put_string(pel_buf *out, const char *prefix, pel_str text, const style *s) {
    pel_put_c(out, prefix);
    if (s->raw) pel_put_byte(out, 'r');
    if (s->is_bytes) pel_put_byte(out, 'b');
    pel_put_c(out, s->quotes->text);
    if (!put_body(out, text, s)) return false;
    pel_put_c(out, s->quotes->text);
    return true;
}

static bool try_string(pel_printer *p, const char *prefix, pel_str text, const style *s) {
    pel_buf out = pel_buf_in(p->ctx);
    if (!put_string(&out, prefix, text, s)) return false;
    pel_lay(&p->lay, pel_buf_str(&out));
    return true;
}

static bool in_field(const pel_printer *p) { return p->field.taken != 0; }

/* Tries the quotes in order; those that the strings around use come last, or never. */
static bool try_quotes(pel_printer *p, const char *prefix, pel_str text, style s, const quotes *const order[4]) {
    for (int i = 0; i < 4; i++) {
        s.quotes = order[i];
        if (p->field.taken & order[i]->bit) continue;
        if (try_string(p, prefix, text, &s)) return true;
    }
    if (s.no_backslash) return false;
    s.quotes = order[0];
    return try_string(p, prefix, text, &s);
}

static void print_string(pel_printer *p, pel_str text, bool is_bytes, const char *prefix, bool is_docstring) {
    looks seen = { 0 };
    look_at(&seen, text, is_bytes);
    bool block = (is_docstring && !p->one_line) || is_block(p, &seen);
    const quotes *order[4];
    order_quotes(&seen, block, order);
    style s = { .is_bytes = is_bytes, .is_last = true, .block = block };
    s.no_backslash = p->field.no_backslash;
    s.taken = p->field.taken;
    if (can_be_raw(text, &seen) && !*prefix && !in_field(p)) {
        s.raw = true;
        s.quotes = order[0];
        if (try_string(p, prefix, text, &s)) return;
        s.raw = false;
    }
    if (!try_quotes(p, prefix, text, s, order)) p->field.impossible = true;
}

/* ---- constants ---- */

static void print_items(pel_printer *p, const pel_const *value, const char *open, const char *close) {
    pel_print_enter(p);
    pel_row row = pel_row_open(p, open, true);
    for (uint32_t i = 0; i < value->n; i++) {
        pel_row_next(p, &row);
        pel_print_constant(p, value->items[i], (pel_str){ 0 }, false);
    }
    if (value->n == 1 && *open == '(') pel_lay_c(&p->lay, ",");
    pel_row_close(p, &row, close);
    pel_print_leave(p);
}

/* What an object calls itself may have several lines; here it gets one. */
static void put_object(pel_buf *out, pel_str repr) {
    if (!repr.len) pel_put_c(out, "<object>");
    for (size_t i = 0; i < repr.len; i++) pel_put_byte(out, (unsigned char)repr.ptr[i] < ' ' ? ' ' : repr.ptr[i]);
}

static void put_plain_constant(pel_buf *out, const pel_const *value) {
    switch (value->kind) {
    case PEL_CONST_ELLIPSIS: pel_put_c(out, "..."); break;
    case PEL_CONST_INT:
        if (value->integer.digits.len > MOST_DECIMAL_DIGITS)
            put_hexadecimal(out, value->integer.digits);
        else
            pel_put_repr(out, value);
        break;
    case PEL_CONST_FLOAT: put_float(out, value->real); break;
    case PEL_CONST_COMPLEX: put_complex(out, value->real, value->imag); break;
    case PEL_CONST_OBJECT: put_object(out, value->repr); break;
    default: pel_put_repr(out, value);
    }
}

void pel_print_constant(pel_printer *p, const pel_const *value, pel_str kind, bool is_docstring) {
    switch (value->kind) {
    case PEL_CONST_STR: print_string(p, value->text, false, kind.len ? "u" : "", is_docstring); break;
    case PEL_CONST_BYTES: print_string(p, value->text, true, "", false); break;
    case PEL_CONST_TUPLE:
        if (value->n)
            print_items(p, value, "(", ")");
        else
            pel_lay_c(&p->lay, "()");
        break;
    case PEL_CONST_FROZENSET:
        pel_lay_c(&p->lay, "frozenset(");
        if (value->n) print_items(p, value, "{", "}");
        pel_lay_c(&p->lay, ")");
        break;
    default: {
        pel_buf out = pel_buf_in(p->ctx);
        put_plain_constant(&out, value);
        pel_lay(&p->lay, pel_buf_str(&out));
    }
    }
}

/* ---- f-strings ---- */

/* A colon of its own would start the format specification. */
static bool ends_with_lambda(const pel_node *node) {
    while (node->kind == PEL_IfExp) node = node->IfExp.orelse;
    return node->kind == PEL_Lambda;
}

static bool is_text(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR;
}

static void print_parts(pel_printer *p, pel_nodes parts, style s);

static void print_field_value(pel_printer *p, pel_node *value) {
    pel_level level = ends_with_lambda(value) ? PEL_LEVEL_ATOM : PEL_LEVEL_TEST;
    uint32_t here = pel_lay_here(&p->lay);
    pel_print_expr(p, value, level);
    if (pel_lay_first_byte(&p->lay, here) != '{') return;
    pel_lay_undo(&p->lay, here); /* {{ would be a brace */
    pel_lay_c(&p->lay, " ");
    pel_print_expr(p, value, level);
}

/* The field of a t-string keeps the text of its expression, which the program can read: it is printed as it is. A tree
 * whose expression was changed after it was read has no such text any more. */
typedef struct text_check {
    pel_str text;
    const pel_node *value;
    bool is_same;
} text_check;

static void parse_text(pel_ctx *ctx, void *arg) {
    text_check *check = arg;
    pel_str in_parens = pel_format(ctx, "(%.*s\n)", PEL_FMT(check->text));
    pel_source source = pel_source_text(ctx, PEL_STR("<field>"), in_parens);
    check->is_same = pel_same(pel_parse_newest_expression(ctx, &source)->Expression.body, check->value);
}

static void lay_within(void *arg, pel_node **slot) {
    pel_printer *p = arg;
    pel_print_enter(p);
    pel_lay_start(&p->lay, *slot);
    pel_each_child(*slot, lay_within, p);
    pel_print_leave(p);
}

static void lay_end_within(void *arg, pel_node **slot) {
    pel_printer *p = arg;
    pel_print_enter(p);
    pel_each_child(*slot, lay_end_within, p);
    pel_lay_end(&p->lay, *slot);
    pel_print_leave(p);
}

/* Every node of the expression gets the place of the whole text. */
static void print_field_text(pel_printer *p, pel_node *value, pel_str text) {
    text_check check = { .text = text, .value = value };
    pel_err err;
    bool was_read = text.len && text.ptr[0] != '{' && pel_attempt(p->ctx, parse_text, &check, &err);
    if (!was_read || !check.is_same)
        pel_throw(p->ctx, PEL_E_INCOMPLETE, 0, "a t-string whose expression is not what its text says: {%.*s}",
                  PEL_FMT(text));
    lay_within(p, &value);
    pel_lay(&p->lay, text);
    lay_end_within(p, &value);
}

/* written: the text of a t-string's field, NULL in f-strings. */
static void print_field(pel_printer *p, pel_node *value, const pel_const *written, int conversion, pel_node *spec,
                        style s) {
    pel_lay_c(&p->lay, "{");
    if (written)
        print_field_text(p, value, written->text);
    else
        print_field_value(p, value);
    if (conversion > 0) {
        const char text[] = { '!', (char)conversion, 0 };
        pel_lay(&p->lay, pel_str_copy(p->ctx, pel_str_of(text)));
    }
    if (spec) {
        pel_lay_c(&p->lay, ":");
        s.braces = false;
        s.spec_braces = true;
        s.is_last = false;
        pel_nodes parts = spec->kind == PEL_JoinedStr ? spec->JoinedStr.values : (pel_nodes){ &spec, 1 };
        pel_lay_start(&p->lay, spec);
        print_parts(p, parts, s);
        pel_lay_end(&p->lay, spec);
    }
    pel_lay_c(&p->lay, "}");
}

static void print_part(pel_printer *p, pel_node *part, style s) {
    pel_print_enter(p);
    pel_lay_start(&p->lay, part);
    if (is_text(part)) {
        pel_buf out = pel_buf_in(p->ctx);
        if (!put_body(&out, part->Constant.value->text, &s)) p->field.impossible = true;
        pel_lay(&p->lay, pel_buf_str(&out));
    } else if (part->kind == PEL_FormattedValue) {
        print_field(p, part->FormattedValue.value, NULL, part->FormattedValue.conversion,
                    part->FormattedValue.format_spec, s);
    } else if (part->kind == PEL_Interpolation) {
        print_field(p, part->Interpolation.value, part->Interpolation.str, part->Interpolation.conversion,
                    part->Interpolation.format_spec, s);
    } else if (part->kind == PEL_JoinedStr) {
        print_parts(p, part->JoinedStr.values, s);
    } else {
        print_field(p, part, NULL, 0, NULL, s);
    }
    pel_lay_end(&p->lay, part);
    pel_print_leave(p);
}

static void print_parts(pel_printer *p, pel_nodes parts, style s) {
    bool is_last = s.is_last;
    for (uint32_t i = 0; i < parts.n; i++) {
        s.is_last = is_last && i + 1 == parts.n;
        print_part(p, parts.at[i], s);
    }
}

/* Writes the f-string, or t-string, in the given quotes; false if what is in its fields can't be written then. */
static bool try_fstring(pel_printer *p, pel_nodes parts, style s, pel_field_limits around) {
    uint32_t here = pel_lay_here(&p->lay);
    p->field.taken = around.taken | s.quotes->taken_inside;
    p->field.no_backslash = p->version < 12;
    p->field.impossible = false;
    pel_lay_c(&p->lay, s.is_template ? s.raw ? "rt" : "t" : s.raw ? "rf" : "f");
    pel_lay_c(&p->lay, s.quotes->text);
    p->lay.nobreak++;
    print_parts(p, parts, s);
    p->lay.nobreak--;
    pel_lay_c(&p->lay, s.quotes->text);
    bool possible = !p->field.impossible;
    p->field = around;
    if (!possible) pel_lay_undo(&p->lay, here);
    return possible;
}

/* Raw, if there are backslashes in the text, nothing else to escape, and no brace after a backslash. */
static bool can_fstring_be_raw(pel_nodes parts, const looks *seen) {
    if (!seen->backslashes || seen->has_other) return false;
    for (uint32_t i = 0; i < parts.n; i++) {
        if (!is_text(parts.at[i])) continue;
        pel_str text = parts.at[i]->Constant.value->text;
        for (size_t k = 0; k < text.len; k++)
            if (text.ptr[k] == '\\' && (k + 1 == text.len || text.ptr[k + 1] == '{' || text.ptr[k + 1] == '}'))
                return false;
    }
    return true;
}

static bool print_joined(pel_printer *p, pel_nodes parts, bool is_template) {
    looks seen = { 0 };
    for (uint32_t i = 0; i < parts.n; i++)
        if (is_text(parts.at[i])) look_at(&seen, parts.at[i]->Constant.value->text, false);
    bool block = is_block(p, &seen);
    const quotes *order[4];
    order_quotes(&seen, block, order);
    pel_field_limits around = p->field;
    style s = { .braces = true, .is_last = true, .block = block, .is_template = is_template };
    s.no_backslash = around.no_backslash;
    s.taken = around.taken;
    s.raw = can_fstring_be_raw(parts, &seen) && !in_field(p);
    for (;; s.raw = false) {
        for (int i = 0; i < 4; i++) {
            s.quotes = order[i];
            if (!(around.taken & s.quotes->bit) && try_fstring(p, parts, s, around)) return true;
        }
        if (!s.raw) break;
    }
    s.quotes = order[0];
    return p->version >= 12 && try_fstring(p, parts, s, around);
}

void pel_print_fstring(pel_printer *p, pel_node *node) {
    bool is_whole = node->kind == PEL_JoinedStr || node->kind == PEL_TemplateStr; /* both have the same fields */
    bool is_template = node->kind == PEL_TemplateStr || node->kind == PEL_Interpolation;
    if (is_template && p->version < 14)
        pel_throw(p->ctx, PEL_E_INCOMPLETE, 0, "a t-string, which Python 3.%d can't read", p->version);
    if (print_joined(p, is_whole ? node->JoinedStr.values : (pel_nodes){ &node, 1 }, is_template)) return;
    if (!in_field(p))
        pel_throw(p->ctx, PEL_E_INCOMPLETE, 0, "an f-string that Python 3.%d can't write: quotes or backslashes inside",
                  p->version);
    p->field.impossible = true; /* the string around tries other quotes */
}
