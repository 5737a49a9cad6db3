/* The value of a number literal. The tokeniser has checked its form. */
#include "python/parser.h"

#include <stdlib.h>

#define MAX_DECIMAL_DIGITS 4300 /* CPython's own limit for reading and writing integers in decimal */
#define MAX_RADIX_DIGITS 20000  /* 0x…, 0o… and 0b…: converting them to decimal takes quadratic time */

static uint32_t digit_value(char c) { return c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10); }

/* The decimal digits of a number given in another radix: long division is avoided by multiplying up
 * limbs of nine decimal digits, the least significant first. */
static pel_str decimal_digits(pel_ctx *ctx, const char *s, size_t len, uint32_t radix) {
    enum { LIMB = 1000000000 };
    PEL_VEC(uint32_t) limbs = { 0 };
    pel_push(ctx, &limbs, 0u);
    for (size_t i = 0; i < len;) {
        uint32_t scale = 1, chunk = 0;
        for (; i < len && scale < (1u << 24); i++) { /* several digits to a pass over the limbs */
            chunk = chunk * radix + digit_value(s[i]);
            scale *= radix;
        }
        uint64_t carry = chunk;
        for (uint32_t j = 0; j < limbs.n; j++) {
            carry += (uint64_t)limbs.at[j] * scale;
            limbs.at[j] = (uint32_t)(carry % LIMB);
            carry /= LIMB;
        }
        if (carry) pel_push(ctx, &limbs, (uint32_t)carry);
    }
    pel_buf out = pel_buf_in(ctx);
    for (uint32_t j = limbs.n; j-- > 0;) pel_putf(&out, j == limbs.n - 1 ? "%u" : "%09u", limbs.at[j]);
    return pel_buf_str(&out);
}

/* Copies the digits without underscores. */
static pel_str without_underscores(pel_ctx *ctx, const char *s, size_t len) {
    char *copy = pel_alloc_raw(ctx, len + 1);
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        if (s[i] != '_') copy[n++] = s[i];
    copy[n] = 0;
    return (pel_str){ copy, n };
}

static const pel_const *integer_value(pel_parser *p, const pel_token *token, uint32_t radix) {
    const char *s = token->start + (radix == 10 ? 0 : 2);
    size_t len = (size_t)(token->end - s);
    uint64_t value = 0;
    bool fits = true;
    for (size_t i = 0; i < len && fits; i++) {
        if (s[i] == '_') continue;
        fits =
            !__builtin_mul_overflow(value, radix, &value) && !__builtin_add_overflow(value, digit_value(s[i]), &value);
    }
    if (fits && value <= INT64_MAX) return pel_const_int(p->ctx, (int64_t)value);

    pel_str digits = without_underscores(p->ctx, s, len);
    while (digits.len > 1 && digits.ptr[0] == '0') digits = pel_str_from(digits, 1);
    size_t most = radix == 10 ? MAX_DECIMAL_DIGITS : MAX_RADIX_DIGITS;
    if (digits.len > most)
        pel_lexer_error(&p->lex, radix == 10 ? PEL_E_SYNTAX : PEL_E_TOO_BIG, token->from,
                        "an integer of %zu digits, over the limit of %zu", digits.len, most);
    pel_const *constant = pel_new(p->ctx, pel_const);
    constant->kind = PEL_CONST_INT;
    constant->integer.digits = radix == 10 ? digits : decimal_digits(p->ctx, digits.ptr, digits.len, radix);
    return constant;
}

/* A decimal fraction, correctly rounded. strtod reads the decimal point of the locale, so it is never given
 * one: 1.25e3 is read as 125e1. Short numbers are exact products and quotients of doubles. */
static double real_value(pel_parser *p, const char *s, const char *end) {
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    char *digits = pel_alloc_raw(p->ctx, (size_t)(end - s) + 32);
    size_t n = 0;
    int64_t exponent = 0;
    bool behind_point = false;
    for (; s < end && (*s | 0x20) != 'e'; s++) {
        if (*s == '.') {
            behind_point = true;
        } else if (*s != '_') {
            if (n == 1 && digits[0] == '0') n = 0;
            digits[n++] = *s;
            if (behind_point) exponent--;
        }
    }
    if (s < end) {
        s++;
        bool negative = *s == '-';
        if (*s == '-' || *s == '+') s++;
        int64_t written = 0;
        for (; s < end; s++)
            if (*s != '_' && written < INT32_MAX) written = written * 10 + (*s - '0');
        exponent += negative ? -written : written;
    }
    if (n <= 15 && exponent >= -22 && exponent <= 22) {
        uint64_t whole = 0;
        for (size_t i = 0; i < n; i++) whole = whole * 10 + (uint64_t)(digits[i] - '0');
        return exponent < 0 ? (double)whole / powers[-exponent] : (double)whole * powers[exponent];
    }
    pel_str rest = pel_format(p->ctx, "e%lld", (long long)exponent);
    memcpy(digits + n, rest.ptr, rest.len);
    digits[n + rest.len] = 0;
    return strtod(digits, NULL);
}

const pel_const *pel_number_value(pel_parser *p, const pel_token *token) {
    const char *s = token->start, *end = token->end;
    char second = s + 1 < end ? (char)(s[1] | 0x20) : 0;
    if (*s == '0' && (second == 'x' || second == 'o' || second == 'b'))
        return integer_value(p, token, second == 'x' ? 16 : second == 'o' ? 8 : 2);
    bool is_imaginary = (end[-1] | 0x20) == 'j', is_integer = !is_imaginary;
    for (const char *c = s; c < end && is_integer; c++) is_integer = *c != '.' && (*c | 0x20) != 'e';
    if (is_integer) return integer_value(p, token, 10);
    double value = real_value(p, s, is_imaginary ? end - 1 : end);
    if (!is_imaginary) return pel_const_float(p->ctx, value);
    pel_const *constant = pel_new(p->ctx, pel_const);
    constant->kind = PEL_CONST_COMPLEX;
    constant->imag = value;
    return constant;
}
