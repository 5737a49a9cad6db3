#include "python/constant.h"
#include "check.h"

#include <locale.h>
#include <math.h>

static pel_str repr(pel_ctx *ctx, const pel_const *value) {
    pel_buf out = pel_buf_in(ctx);
    pel_put_repr(&out, value);
    return pel_buf_str(&out);
}

static pel_str float_repr(pel_ctx *ctx, double value) { return repr(ctx, pel_const_float(ctx, value)); }
static pel_str str_repr(pel_ctx *ctx, pel_str text) { return repr(ctx, pel_const_str(ctx, text)); }

static const pel_const *complex_of(pel_ctx *ctx, double real, double imag) {
    pel_const *value = pel_new(ctx, pel_const);
    value->kind = PEL_CONST_COMPLEX;
    value->real = real;
    value->imag = imag;
    return value;
}

static const pel_const *collection(pel_ctx *ctx, pel_const_kind kind, uint32_t n, const pel_const *a,
                                   const pel_const *b) {
    pel_const *value = pel_new(ctx, pel_const);
    value->kind = kind;
    value->items = pel_new_array(ctx, 2, const pel_const *);
    value->items[0] = a;
    value->items[1] = b;
    value->n = n;
    return value;
}

/* ---- floats ---- */

static void floats_have_the_fewest_digits(pel_ctx *ctx) {
    CHECK_STR(float_repr(ctx, 0.1), "0.1");
    CHECK_STR(float_repr(ctx, 1.0 / 3), "0.3333333333333333");
    CHECK_STR(float_repr(ctx, 0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(float_repr(ctx, 9007199254740993.0), "9007199254740992.0");
    CHECK_STR(float_repr(ctx, 5e-324), "5e-324");
    CHECK_STR(float_repr(ctx, 1.7976931348623157e308), "1.7976931348623157e+308");
    CHECK_STR(float_repr(ctx, 2.2250738585072014e-308), "2.2250738585072014e-308");
    CHECK_STR(float_repr(ctx, 0x1p-44), "5.684341886080802e-14"); /* the nearest of 16 digits does not read back */
    CHECK_STR(float_repr(ctx, 9.5), "9.5");
}

static void floats_use_an_exponent_where_python_does(pel_ctx *ctx) {
    CHECK_STR(float_repr(ctx, 1e15), "1000000000000000.0");
    CHECK_STR(float_repr(ctx, 1e16), "1e+16");
    CHECK_STR(float_repr(ctx, 9999999999999998.0), "9999999999999998.0");
    CHECK_STR(float_repr(ctx, 0.0001), "0.0001");
    CHECK_STR(float_repr(ctx, 0.00001), "1e-05");
    CHECK_STR(float_repr(ctx, -1.5e-7), "-1.5e-07");
    CHECK_STR(float_repr(ctx, 1e100), "1e+100");
}

static void floats_that_are_no_numbers(pel_ctx *ctx) {
    CHECK_STR(float_repr(ctx, 0.0), "0.0");
    CHECK_STR(float_repr(ctx, -0.0), "-0.0");
    CHECK_STR(float_repr(ctx, INFINITY), "inf");
    CHECK_STR(float_repr(ctx, -INFINITY), "-inf");
    CHECK_STR(float_repr(ctx, NAN), "nan");
    CHECK_STR(float_repr(ctx, -NAN), "nan");
}

/* Reads back: every double of a walk over all exponents, with 16 significands each. */
static void floats_read_back(pel_ctx *ctx) {
    uint64_t seed = 88172645463325252u;
    for (uint64_t exponent = 0; exponent < 2047; exponent++)
        for (int i = 0; i < 16; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            uint64_t bits = exponent << 52 | (i ? seed >> 12 : 0);
            double value, back;
            memcpy(&value, &bits, sizeof value);
            pel_str text = float_repr(ctx, value);
            char copy[40] = { 0 };
            memcpy(copy, text.ptr, text.len < sizeof copy ? text.len : sizeof copy - 1);
            sscanf(copy, "%lf", &back);
            CHECK(memcmp(&value, &back, sizeof value) == 0);
        }
}

static void floats_do_not_follow_the_locale(pel_ctx *ctx) {
    /* Without such a locale installed this checks nothing new. */
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    CHECK_STR(float_repr(ctx, 0.5), "0.5");
    CHECK_STR(float_repr(ctx, 1.25e-9), "1.25e-09");
    setlocale(LC_NUMERIC, "C");
}

static void complexes(pel_ctx *ctx) {
    CHECK_STR(repr(ctx, complex_of(ctx, 0, 2)), "2j");
    CHECK_STR(repr(ctx, complex_of(ctx, 0, -2.5)), "-2.5j");
    CHECK_STR(repr(ctx, complex_of(ctx, 1, 2)), "(1+2j)");
    CHECK_STR(repr(ctx, complex_of(ctx, -0.0, -2)), "(-0-2j)");
    CHECK_STR(repr(ctx, complex_of(ctx, 1, NAN)), "(1+nanj)");
    CHECK_STR(repr(ctx, complex_of(ctx, INFINITY, -INFINITY)), "(inf-infj)");
}

/* ---- text ---- */

static void strings_choose_quotes_and_escapes(pel_ctx *ctx) {
    CHECK_STR(str_repr(ctx, PEL_STR("")), "''");
    CHECK_STR(str_repr(ctx, PEL_STR("it's")), "\"it's\"");
    CHECK_STR(str_repr(ctx, PEL_STR("'\"")), "'\\'\"'");
    CHECK_STR(str_repr(ctx, PEL_STR("\"")), "'\"'");
    CHECK_STR(str_repr(ctx, PEL_STR("\t\n\r\\\0\x1b\x7f")), "'\\t\\n\\r\\\\\\x00\\x1b\\x7f'");
    CHECK_STR(str_repr(ctx, PEL_STR("\xC3\xA9")), "'\xC3\xA9'");
    CHECK_STR(str_repr(ctx, PEL_STR("\xC2\xA0")), "'\\xa0'");       /* a space that is not one */
    CHECK_STR(str_repr(ctx, PEL_STR("\xE2\x80\x8B")), "'\\u200b'"); /* zero width */
    CHECK_STR(str_repr(ctx, PEL_STR("\xF0\x9F\x98\x80")), "'\xF0\x9F\x98\x80'");
    CHECK_STR(str_repr(ctx, PEL_STR("\xF3\xA0\x80\x81")), "'\\U000e0001'");
    CHECK_STR(str_repr(ctx, PEL_STR("\xED\xA0\x80")), "'\\ud800'");      /* a lone surrogate */
    CHECK_STR(str_repr(ctx, PEL_STR("a\xFF\xC3")), "'a\\udcff\\udcc3'"); /* no UTF-8 at all */
}

static void bytes(pel_ctx *ctx) {
    CHECK_STR(repr(ctx, pel_const_bytes(ctx, PEL_STR("a\xFF'\n"))), "b\"a\\xff'\\n\"");
    CHECK_STR(repr(ctx, pel_const_bytes(ctx, PEL_STR(""))), "b''");
}

/* ---- the rest ---- */

static void collections(pel_ctx *ctx) {
    const pel_const *one = pel_const_int(ctx, 1), *a = pel_const_str(ctx, PEL_STR("a"));
    CHECK_STR(repr(ctx, collection(ctx, PEL_CONST_TUPLE, 0, one, a)), "()");
    CHECK_STR(repr(ctx, collection(ctx, PEL_CONST_TUPLE, 1, one, a)), "(1,)");
    CHECK_STR(repr(ctx, collection(ctx, PEL_CONST_TUPLE, 2, one, a)), "(1, 'a')");
    CHECK_STR(repr(ctx, collection(ctx, PEL_CONST_FROZENSET, 2, one, a)), "frozenset({1, 'a'})");
    CHECK_STR(repr(ctx, collection(ctx, PEL_CONST_FROZENSET, 0, one, a)), "frozenset()");
}

static void singletons_and_integers(pel_ctx *ctx) {
    CHECK_STR(repr(ctx, &pel_none), "None");
    CHECK_STR(repr(ctx, &pel_true), "True");
    CHECK_STR(repr(ctx, &pel_false), "False");
    CHECK_STR(repr(ctx, &pel_ellipsis), "Ellipsis");
    CHECK_STR(repr(ctx, pel_const_int(ctx, INT64_MIN)), "-9223372036854775808");
    pel_const big = { .kind = PEL_CONST_INT };
    big.integer.digits = PEL_STR("-123456789012345678901234567890");
    CHECK_STR(repr(ctx, &big), "-123456789012345678901234567890");
}

static void nest(pel_ctx *ctx, void *arg) {
    const pel_const *value = &pel_none;
    for (int i = 0; i < *(int *)arg; i++) value = collection(ctx, PEL_CONST_TUPLE, 1, value, NULL);
    repr(ctx, value);
}

static void nesting_has_a_limit(pel_ctx *ctx) {
    pel_err err;
    int few = 50, many = 1000000;
    CHECK(pel_attempt(ctx, nest, &few, &err));
    CHECK(!pel_attempt(ctx, nest, &many, &err));
    CHECK(err.code == PEL_E_TOO_DEEP);
}

static void sameness_is_the_compilers(pel_ctx *ctx) {
    CHECK(pel_const_same(pel_const_float(ctx, 1.5), pel_const_float(ctx, 1.5)));
    CHECK(!pel_const_same(pel_const_float(ctx, 0.0), pel_const_float(ctx, -0.0)));
    CHECK(pel_const_same(pel_const_float(ctx, NAN), pel_const_float(ctx, NAN)));
    CHECK(!pel_const_same(pel_const_float(ctx, 1), pel_const_int(ctx, 1)));
    CHECK(!pel_const_same(&pel_true, pel_const_int(ctx, 1)));
    CHECK(!pel_const_same(pel_const_str(ctx, PEL_STR("a")), pel_const_bytes(ctx, PEL_STR("a"))));
    const pel_const *one = pel_const_int(ctx, 1), *two = pel_const_int(ctx, 2);
    const pel_const *uno = pel_const_int(ctx, 1), *due = pel_const_int(ctx, 2);
    CHECK(pel_const_same(collection(ctx, PEL_CONST_TUPLE, 2, one, two), collection(ctx, PEL_CONST_TUPLE, 2, uno, due)));
    CHECK(
        !pel_const_same(collection(ctx, PEL_CONST_TUPLE, 2, one, two), collection(ctx, PEL_CONST_TUPLE, 2, due, uno)));
    CHECK(pel_const_same(collection(ctx, PEL_CONST_FROZENSET, 2, one, two),
                         collection(ctx, PEL_CONST_FROZENSET, 2, due, uno)));
    CHECK(
        !pel_const_same(collection(ctx, PEL_CONST_TUPLE, 1, one, two), collection(ctx, PEL_CONST_TUPLE, 2, one, two)));
    pel_const small = { .kind = PEL_CONST_INT }, large = { .kind = PEL_CONST_INT };
    large.integer.digits = PEL_STR("99999999999999999999");
    CHECK(!pel_const_same(&small, &large));
}

static const test tests[] = {
    TEST(floats_have_the_fewest_digits),
    TEST(floats_use_an_exponent_where_python_does),
    TEST(floats_that_are_no_numbers),
    TEST(floats_read_back),
    TEST(floats_do_not_follow_the_locale),
    TEST(complexes),
    TEST(strings_choose_quotes_and_escapes),
    TEST(bytes),
    TEST(collections),
    TEST(singletons_and_integers),
    TEST(nesting_has_a_limit),
    TEST(sameness_is_the_compilers),
};

int main(void) { return RUN_TESTS(tests); }
