#include "python/constant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "python/unicode.h"

const pel_const pel_none = { .kind = PEL_CONST_NONE };
const pel_const pel_false = { .kind = PEL_CONST_FALSE };
const pel_const pel_true = { .kind = PEL_CONST_TRUE };
const pel_const pel_ellipsis = { .kind = PEL_CONST_ELLIPSIS };

static pel_const *new_const(pel_ctx *ctx, pel_const_kind kind) {
    pel_const *value = pel_new(ctx, pel_const);
    value->kind = kind;
    return value;
}

const pel_const *pel_const_int(pel_ctx *ctx, int64_t number) {
    pel_const *value = new_const(ctx, PEL_CONST_INT);
    value->integer.small = number;
    return value;
}

const pel_const *pel_const_float(pel_ctx *ctx, double number) {
    pel_const *value = new_const(ctx, PEL_CONST_FLOAT);
    value->real = number;
    return value;
}

const pel_const *pel_const_str(pel_ctx *ctx, pel_str text) {
    pel_const *value = new_const(ctx, PEL_CONST_STR);
    value->text = text;
    return value;
}

const pel_const *pel_const_bytes(pel_ctx *ctx, pel_str bytes) {
    pel_const *value = new_const(ctx, PEL_CONST_BYTES);
    value->text = bytes;
    return value;
}

/* ---- comparing ---- */

static bool same_double(double a, double b) {
    /* By bits, so that zeros differ by sign and a NaN is itself. */
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same_items(const pel_const *a, const pel_const *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!pel_const_same(a->items[i], b->items[i])) return false;
    return true;
}

static bool has_item(const pel_const *set, const pel_const *item) {
    for (uint32_t i = 0; i < set->n; i++)
        if (pel_const_same(set->items[i], item)) return true;
    return false;
}

static bool same_set(const pel_const *a, const pel_const *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!has_item(b, a->items[i])) return false;
    return true;
}

bool pel_const_same(const pel_const *a, const pel_const *b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind) return false;
    switch (a->kind) {
    case PEL_CONST_NONE:
    case PEL_CONST_FALSE:
    case PEL_CONST_TRUE:
    case PEL_CONST_ELLIPSIS: return true;
    case PEL_CONST_INT:
        return pel_str_eq(a->integer.digits, b->integer.digits) &&
               (a->integer.digits.len || a->integer.small == b->integer.small);
    case PEL_CONST_FLOAT: return same_double(a->real, b->real);
    case PEL_CONST_COMPLEX: return same_double(a->real, b->real) && same_double(a->imag, b->imag);
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: return pel_str_eq(a->text, b->text);
    case PEL_CONST_TUPLE:
    case PEL_CONST_SLICE: return same_items(a, b);
    case PEL_CONST_FROZENSET: return same_set(a, b);
    case PEL_CONST_CODE: return a->code == b->code;
    case PEL_CONST_OBJECT: return a->object == b->object && pel_str_eq(a->repr, b->repr);
    }
    return false;
}

const char *pel_const_type_name(const pel_const *value) {
    static const char *const names[] = {
        [PEL_CONST_NONE] = "NoneType",
        [PEL_CONST_FALSE] = "bool",
        [PEL_CONST_TRUE] = "bool",
        [PEL_CONST_ELLIPSIS] = "ellipsis",
        [PEL_CONST_INT] = "int",
        [PEL_CONST_FLOAT] = "float",
        [PEL_CONST_COMPLEX] = "complex",
        [PEL_CONST_STR] = "str",
        [PEL_CONST_BYTES] = "bytes",
        [PEL_CONST_TUPLE] = "tuple",
        [PEL_CONST_FROZENSET] = "frozenset",
        [PEL_CONST_CODE] = "code",
        [PEL_CONST_OBJECT] = "object",
        [PEL_CONST_SLICE] = "slice",
    };
    return names[value->kind];
}

/* ---- floats ---- */

#define MOST_DIGITS 17 /* enough to tell any two doubles apart */

/* value = 0.d1d2d3… × 10^point */
typedef struct decimal {
    char digits[MOST_DIGITS + 1];
    int n, point;
} decimal;

/* The digits of value rounded to n places. Only the digits are taken from printf, and strtod is given
 * no decimal point: neither depends on the locale then. */
static decimal round_to(double value, int n) {
    char text[64];
    snprintf(text, sizeof text, "%.*e", n - 1, value);
    decimal d = { .n = 0 };
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9') d.digits[d.n++] = *at;
    d.point = atoi(at + 1) + 1;
    return d;
}

static bool reads_back(const decimal *d, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->point - d->n);
    return strtod(text, NULL) == value;
}

/* The next larger number of as many digits; false if that is a power of ten. */
static bool step_up(decimal *d) {
    int i = d->n - 1;
    while (i >= 0 && d->digits[i] == '9') d->digits[i--] = '0';
    if (i < 0) return false;
    d->digits[i]++;
    return true;
}

/* The shortest decimal that reads back as value (positive and finite), the nearest of these. */
static decimal shortest(double value) {
    for (int n = 1; n < MOST_DIGITS; n++) {
        decimal d = round_to(value, n);
        if (reads_back(&d, value)) return d;
        /* Above a power of two, doubles lie twice as far apart as below: a decimal above may read back
         * although the nearest one, below, does not. */
        if (step_up(&d) && reads_back(&d, value)) return d;
    }
    return round_to(value, MOST_DIGITS);
}

/* The letters of CPython's repr: an exponent from 1e16 on and below 1e-4, whatever printf would choose. Without
 * as_float it is a part of a complex number, which has no `.0`. */
static void put_float(pel_buf *out, double value, bool as_float) {
    if (isnan(value)) {
        pel_put_c(out, "nan");
        return;
    }
    if (signbit(value)) pel_put_byte(out, '-');
    if (isinf(value)) {
        pel_put_c(out, "inf");
        return;
    }
    decimal d = value == 0 ? (decimal){ "0", 1, 1 } : shortest(fabs(value));
    while (d.n > 1 && d.digits[d.n - 1] == '0') d.n--;
    if (d.point > 16 || d.point < -3) {
        pel_put_byte(out, d.digits[0]);
        if (d.n > 1) {
            pel_put_byte(out, '.');
            pel_put(out, (pel_str){ d.digits + 1, (size_t)d.n - 1 });
        }
        pel_putf(out, "e%c%02d", d.point > 0 ? '+' : '-', abs(d.point - 1));
        return;
    }
    if (d.point <= 0) {
        pel_put_c(out, "0.");
        for (int i = d.point; i < 0; i++) pel_put_byte(out, '0');
        pel_put(out, (pel_str){ d.digits, (size_t)d.n });
        return;
    }
    for (int i = 0; i < d.point; i++) pel_put_byte(out, i < d.n ? d.digits[i] : '0');
    if (d.n > d.point) {
        pel_put_byte(out, '.');
        pel_put(out, (pel_str){ d.digits + d.point, (size_t)(d.n - d.point) });
    } else if (as_float) {
        pel_put_c(out, ".0");
    }
}

void pel_put_float_repr(pel_buf *out, double value) { put_float(out, value, true); }

static void put_complex(pel_buf *out, double real, double imag) {
    if (real == 0 && !signbit(real)) {
        put_float(out, imag, false);
        pel_put_byte(out, 'j');
        return;
    }
    pel_put_byte(out, '(');
    put_float(out, real, false);
    if (isnan(imag) || !signbit(imag)) pel_put_byte(out, '+');
    put_float(out, imag, false);
    pel_put_c(out, "j)");
}

/* ---- text ---- */

uint32_t pel_text_next(pel_str text, size_t *at) {
    const char *s = text.ptr + *at;
    size_t left = text.len - *at, len = pel_utf8_length((const unsigned char *)s, left);
    bool is_surrogate = left >= 3 && s[0] == '\xED' && (s[1] & 0xE0) == 0xA0 && (s[2] & 0xC0) == 0x80;
    if (!len && !is_surrogate) {
        *at += 1;
        return 0xDC00u | (unsigned char)*s;
    }
    uint32_t point = pel_utf8_point(s, &len);
    *at += len;
    return point;
}

static char quote_for(pel_str text) {
    bool has_single = text.len && memchr(text.ptr, '\'', text.len);
    bool has_double = text.len && memchr(text.ptr, '"', text.len);
    return has_single && !has_double ? '"' : '\'';
}

void pel_put_str_repr(pel_buf *out, pel_str text) {
    char quote = quote_for(text);
    pel_put_byte(out, quote);
    for (size_t i = 0; i < text.len;) {
        uint32_t point = pel_text_next(text, &i);
        pel_put_escaped(out, point, quote);
    }
    pel_put_byte(out, quote);
}

void pel_put_bytes_repr(pel_buf *out, pel_str bytes) {
    char quote = quote_for(bytes);
    pel_put_byte(out, 'b');
    pel_put_byte(out, quote);
    for (size_t i = 0; i < bytes.len; i++) pel_put_escaped_byte(out, (unsigned char)bytes.ptr[i], quote);
    pel_put_byte(out, quote);
}

/* The escapes that both str and bytes have; false if byte has none. */
static bool put_short_escape(pel_buf *out, uint32_t byte, char quote) {
    char letter;
    switch (byte) {
    case '\\': letter = '\\'; break;
    case '\t': letter = 't'; break;
    case '\n': letter = 'n'; break;
    case '\r': letter = 'r'; break;
    default:
        if (!quote || byte != (unsigned char)quote) return false;
        letter = quote;
    }
    pel_put_byte(out, '\\');
    pel_put_byte(out, letter);
    return true;
}

void pel_put_escaped(pel_buf *out, uint32_t point, char quote) {
    if (put_short_escape(out, point, quote)) return;
    if (pel_is_printable(point))
        pel_put_utf8(out, point);
    else if (point < 0x100)
        pel_putf(out, "\\x%02x", point);
    else if (point < 0x10000)
        pel_putf(out, "\\u%04x", point);
    else
        pel_putf(out, "\\U%08x", point);
}

void pel_put_escaped_byte(pel_buf *out, unsigned char byte, char quote) {
    if (put_short_escape(out, byte, quote)) return;
    if (byte >= ' ' && byte < 0x7F)
        pel_put_byte(out, (char)byte);
    else
        pel_putf(out, "\\x%02x", byte);
}

/* ---- everything ---- */

#define MOST_NESTED 100 /* tuples in tuples; marshal allows more, programs don't need it */

static void put_repr(pel_buf *out, const pel_const *value, int depth);

static void put_items(pel_buf *out, const pel_const *value, int depth) {
    if (depth > MOST_NESTED) pel_throw(out->ctx, PEL_E_TOO_DEEP, 0, "a constant nests too deep");
    for (uint32_t i = 0; i < value->n; i++) {
        if (i) pel_put_c(out, ", ");
        put_repr(out, value->items[i], depth + 1);
    }
}

/* What repr() gives, which is not always an expression: nan, inf, code objects. Callers that write a program treat
 * these kinds before they come here. */
static void put_repr(pel_buf *out, const pel_const *value, int depth) {
    switch (value->kind) {
    case PEL_CONST_NONE: pel_put_c(out, "None"); break;
    case PEL_CONST_FALSE: pel_put_c(out, "False"); break;
    case PEL_CONST_TRUE: pel_put_c(out, "True"); break;
    case PEL_CONST_ELLIPSIS: pel_put_c(out, "Ellipsis"); break;
    case PEL_CONST_INT:
        if (value->integer.digits.len)
            pel_put(out, value->integer.digits);
        else
            pel_put_int(out, value->integer.small);
        break;
    case PEL_CONST_FLOAT: pel_put_float_repr(out, value->real); break;
    case PEL_CONST_COMPLEX: put_complex(out, value->real, value->imag); break;
    case PEL_CONST_STR: pel_put_str_repr(out, value->text); break;
    case PEL_CONST_BYTES: pel_put_bytes_repr(out, value->text); break;
    case PEL_CONST_TUPLE:
        pel_put_byte(out, '(');
        put_items(out, value, depth);
        pel_put_c(out, value->n == 1 ? ",)" : ")");
        break;
    case PEL_CONST_FROZENSET:
        pel_put_c(out, value->n ? "frozenset({" : "frozenset(");
        put_items(out, value, depth);
        pel_put_c(out, value->n ? "})" : ")");
        break;
    case PEL_CONST_SLICE:
        pel_put_c(out, "slice(");
        put_items(out, value, depth);
        pel_put_byte(out, ')');
        break;
    case PEL_CONST_CODE: pel_put_c(out, "<code object>"); break;
    case PEL_CONST_OBJECT: pel_put(out, value->repr); break;
    }
}

void pel_put_repr(pel_buf *out, const pel_const *value) { put_repr(out, value, 0); }
