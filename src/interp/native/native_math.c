/* math. */
#include "interp/vm.h"

#include <math.h>

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

static pel_val symbolic(pel_vm *vm, const char *name, pel_val *args, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (pel_is_symbol(args[i])) {
            pel_val function = pel_symbol_of(vm, pel_format(vm->ctx, "math.%s", name), ((pel_symbol *)args[i])->why);
            return pel_symbol_call(vm, function, args, n, NULL);
        }
    return NULL;
}

#define REAL(name, expression, domain)                                                                                 \
    METHOD(math_##name) {                                                                                              \
        IGNORE();                                                                                                      \
        pel_val symbol = symbolic(vm, #name, args, n);                                                                 \
        double x;                                                                                                      \
        if (symbol) return symbol;                                                                                     \
        if (!pel_to_double(vm, args[0], &x)) return NULL;                                                              \
        if (!(domain)) return pel_raise(vm, vm->types.ValueError, "math domain error");                                \
        return pel_float_of(vm, expression);                                                                           \
    }
REAL(sqrt, sqrt(x), x >= 0 || isnan(x))
REAL(exp, exp(x), 1)
REAL(expm1, expm1(x), 1)
REAL(log2, log2(x), x > 0 || isnan(x))
REAL(log10, log10(x), x > 0 || isnan(x))
REAL(log1p, log1p(x), x > -1)
REAL(sin, sin(x), 1)
REAL(cos, cos(x), 1)
REAL(tan, tan(x), 1)
REAL(asin, asin(x), fabs(x) <= 1)
REAL(acos, acos(x), fabs(x) <= 1)
REAL(atan, atan(x), 1)
REAL(sinh, sinh(x), 1)
REAL(cosh, cosh(x), 1)
REAL(tanh, tanh(x), 1)
REAL(asinh, asinh(x), 1)
REAL(acosh, acosh(x), x >= 1)
REAL(atanh, atanh(x), fabs(x) < 1)
REAL(erf, erf(x), 1)
REAL(erfc, erfc(x), 1)
REAL(gamma, tgamma(x), 1)
REAL(lgamma, lgamma(x), 1)
REAL(fabs, fabs(x), 1)
REAL(degrees, x * 57.29577951308232, 1)
REAL(radians, x * 0.017453292519943295, 1)
REAL(cbrt, cbrt(x), 1)
REAL(exp2, exp2(x), 1)

#define PAIR(name, expression)                                                                                         \
    METHOD(math_##name) {                                                                                              \
        IGNORE();                                                                                                      \
        pel_val symbol = symbolic(vm, #name, args, n);                                                                 \
        double x, y;                                                                                                   \
        if (symbol) return symbol;                                                                                     \
        if (!pel_to_double(vm, args[0], &x) || !pel_to_double(vm, args[1], &y)) return NULL;                           \
        return pel_float_of(vm, expression);                                                                           \
    }
PAIR(pow, pow(x, y))
PAIR(atan2, atan2(x, y))
PAIR(fmod, fmod(x, y))
PAIR(copysign, copysign(x, y))
PAIR(remainder, remainder(x, y))
PAIR(nextafter, nextafter(x, y))

METHOD(math_log) {
    IGNORE();
    pel_val symbol = symbolic(vm, "log", args, n);
    double x, base;
    if (symbol) return symbol;
    if (!pel_to_double(vm, args[0], &x)) return NULL;
    if (x <= 0) return pel_raise(vm, vm->types.ValueError, "math domain error");
    if (n < 2) return pel_float_of(vm, log(x));
    if (!pel_to_double(vm, args[1], &base)) return NULL;
    return pel_float_of(vm, log(x) / log(base));
}

static pel_val to_whole(pel_vm *vm, pel_val v, const char *name, pel_val special, double (*round)(double)) {
    pel_val symbol = symbolic(vm, name, &v, 1);
    if (symbol) return symbol;
    if (pel_is_int(v)) return pel_int_plain(vm, v);
    if (pel_is_float(v)) return pel_int_from_double(vm, round(((pel_float *)v)->value));
    pel_val made = pel_call_special(vm, v, special, NULL, 0);
    if (made || vm->raised) return made;
    double d;
    return pel_to_double(vm, v, &d) ? pel_int_from_double(vm, round(d)) : NULL;
}
METHOD(math_floor) {
    IGNORE();
    return to_whole(vm, args[0], "floor", vm->names.s_floor, floor);
}
METHOD(math_ceil) {
    IGNORE();
    return to_whole(vm, args[0], "ceil", vm->names.s_ceil, ceil);
}
METHOD(math_trunc) {
    IGNORE();
    return to_whole(vm, args[0], "trunc", vm->names.s_trunc, trunc);
}

METHOD(math_isnan) {
    IGNORE();
    double x;
    return pel_to_double(vm, args[0], &x) ? pel_bool_of(vm, isnan(x)) : NULL;
}
METHOD(math_isinf) {
    IGNORE();
    double x;
    return pel_to_double(vm, args[0], &x) ? pel_bool_of(vm, isinf(x)) : NULL;
}
METHOD(math_isfinite) {
    IGNORE();
    double x;
    return pel_to_double(vm, args[0], &x) ? pel_bool_of(vm, isfinite(x)) : NULL;
}
METHOD(math_isclose) {
    pel_val p[4];
    if (!pel_args(vm, "isclose", "a,b,rel_tol,abs_tol", args, n, kw, 2, p)) return NULL;
    double a, b, relative = 1e-9, absolute = 0;
    if (!pel_to_double(vm, p[0], &a) || !pel_to_double(vm, p[1], &b)) return NULL;
    if ((p[2] && !pel_to_double(vm, p[2], &relative)) || (p[3] && !pel_to_double(vm, p[3], &absolute))) return NULL;
    if (a == b) return vm->true_;
    double most = relative * (fabs(a) > fabs(b) ? fabs(a) : fabs(b));
    return pel_bool_of(vm, fabs(a - b) <= (most > absolute ? most : absolute));
}

static pel_val gcd2(pel_vm *vm, pel_val a, pel_val b) {
    a = pel_int_sign(a) < 0 ? pel_int_negate(vm, a) : a;
    b = pel_int_sign(b) < 0 ? pel_int_negate(vm, b) : b;
    while (pel_int_sign(b)) {
        pel_val rest = pel_int_binary(vm, PEL_Mod, a, b);
        a = b;
        b = rest;
    }
    return a;
}
static pel_val fold_ints(pel_vm *vm, const char *name, pel_val *args, uint32_t n, bool lcm) {
    pel_val symbol = symbolic(vm, name, args, n);
    if (symbol) return symbol;
    pel_val total = pel_from_small(lcm ? 1 : 0);
    for (uint32_t i = 0; i < n; i++) {
        int64_t ignored;
        if (!pel_is_int(args[i]) && !pel_index(vm, args[i], &ignored)) return NULL;
        pel_val v = pel_is_int(args[i]) ? pel_int_plain(vm, args[i]) : pel_int_of(vm, ignored);
        if (lcm && !pel_int_sign(v)) return pel_from_small(0);
        pel_val common = gcd2(vm, total, v);
        total = lcm ? pel_int_binary(vm, PEL_Mult, total, pel_int_binary(vm, PEL_FloorDiv, v, common)) : common;
    }
    return lcm && pel_int_sign(total) < 0 ? pel_int_negate(vm, total) : total;
}
METHOD(math_gcd) {
    (void)kw;
    return fold_ints(vm, "gcd", args, n, false);
}
METHOD(math_lcm) {
    (void)kw;
    return fold_ints(vm, "lcm", args, n, true);
}

METHOD(math_prod) {
    pel_val p[2];
    if (!pel_args(vm, "prod", "iterable,start", args, n, kw, 1, p)) return NULL;
    pel_val total = p[1] ? p[1] : pel_from_small(1), iter = pel_iter_of(vm, p[0]);
    if (!iter) return NULL;
    for (pel_val v; (v = pel_next_of(vm, iter));)
        if (!(total = pel_binary(vm, PEL_Mult, total, v))) return NULL;
    return vm->raised ? NULL : total;
}
METHOD(math_fsum) {
    IGNORE();
    pel_val *items;
    uint32_t count;
    if (!pel_collect(vm, args[0], &items, &count)) return NULL;
    long double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        double d;
        if (!pel_to_double(vm, items[i], &d)) return NULL;
        total += d;
    }
    return pel_float_of(vm, (double)total);
}
METHOD(math_isqrt) {
    IGNORE();
    int64_t v;
    pel_val symbol = symbolic(vm, "isqrt", args, n);
    if (symbol) return symbol;
    if (!pel_index(vm, args[0], &v)) return NULL;
    if (v < 0) return pel_raise(vm, vm->types.ValueError, "isqrt() argument must be nonnegative");
    int64_t root = (int64_t)sqrt((double)v);
    while (root * root > v) root--;
    while ((root + 1) * (root + 1) <= v) root++;
    return pel_int_of(vm, root);
}
METHOD(math_factorial) {
    IGNORE();
    int64_t v;
    if (!pel_index(vm, args[0], &v)) return NULL;
    if (v < 0) return pel_raise(vm, vm->types.ValueError, "factorial() not defined for negative values");
    if (v > 5000) pel_over_budget(vm, "the size of a number");
    pel_val total = pel_from_small(1);
    for (int64_t i = 2; i <= v; i++) total = pel_int_binary(vm, PEL_Mult, total, pel_int_of(vm, i));
    return total;
}
METHOD(math_comb) {
    IGNORE();
    int64_t total, k;
    if (!pel_index(vm, args[0], &total) || !pel_index(vm, args[1], &k)) return NULL;
    if (k < 0 || k > total) return pel_from_small(0);
    if (k > total - k) k = total - k;
    if (k > 5000) pel_over_budget(vm, "the size of a number");
    pel_val result = pel_from_small(1);
    for (int64_t i = 1; i <= k; i++) {
        result = pel_int_binary(vm, PEL_Mult, result, pel_int_of(vm, total - k + i));
        result = pel_int_binary(vm, PEL_FloorDiv, result, pel_int_of(vm, i));
    }
    return result;
}
METHOD(math_hypot) {
    (void)kw;
    double total = 0;
    for (uint32_t i = 0; i < n; i++) {
        double x;
        if (!pel_to_double(vm, args[i], &x)) return NULL;
        total = hypot(total, x);
    }
    return pel_float_of(vm, total);
}
METHOD(math_modf) {
    IGNORE();
    double x, whole;
    if (!pel_to_double(vm, args[0], &x)) return NULL;
    double fraction = modf(x, &whole);
    return pel_tuple2(vm, pel_float_of(vm, fraction), pel_float_of(vm, whole));
}
METHOD(math_frexp) {
    IGNORE();
    double x;
    int exponent;
    if (!pel_to_double(vm, args[0], &x)) return NULL;
    double fraction = frexp(x, &exponent);
    return pel_tuple2(vm, pel_float_of(vm, fraction), pel_int_of(vm, exponent));
}
METHOD(math_ldexp) {
    IGNORE();
    double x;
    int64_t by;
    if (!pel_to_double(vm, args[0], &x) || !pel_index(vm, args[1], &by)) return NULL;
    return pel_float_of(vm, ldexp(x, by > 5000 ? 5000 : by < -5000 ? -5000 : (int)by));
}

/* A name that CPython's math has and this table lacks (perm, dist) counts as an error of the program: math is no stub,
 * so pel_import_from makes no symbol of it. */
pel_val pel_native_math(pel_vm *vm) {
    static const pel_native_row rows[] = {
#define ROW(name) { #name, math_##name, 1, 1 }
        ROW(sqrt),
        ROW(exp),
        ROW(expm1),
        ROW(log2),
        ROW(log10),
        ROW(log1p),
        ROW(sin),
        ROW(cos),
        ROW(tan),
        ROW(asin),
        ROW(acos),
        ROW(atan),
        ROW(sinh),
        ROW(cosh),
        ROW(tanh),
        ROW(asinh),
        ROW(acosh),
        ROW(atanh),
        ROW(erf),
        ROW(erfc),
        ROW(gamma),
        ROW(lgamma),
        ROW(fabs),
        ROW(degrees),
        ROW(radians),
        ROW(cbrt),
        ROW(exp2),
        ROW(floor),
        ROW(ceil),
        ROW(trunc),
        ROW(isnan),
        ROW(isinf),
        ROW(isfinite),
        ROW(isqrt),
        ROW(factorial),
        ROW(fsum),
        ROW(modf),
        ROW(frexp),
#undef ROW
        { "pow", math_pow, 2, 2 },
        { "atan2", math_atan2, 2, 2 },
        { "fmod", math_fmod, 2, 2 },
        { "copysign", math_copysign, 2, 2 },
        { "remainder", math_remainder, 2, 2 },
        { "nextafter", math_nextafter, 2, 2 },
        { "log", math_log, 1, 2 },
        { "isclose", math_isclose, 2, 2, true },
        { "gcd", math_gcd, 0, -1 },
        { "lcm", math_lcm, 0, -1 },
        { "prod", math_prod, 1, 1, true },
        { "comb", math_comb, 2, 2 },
        { "hypot", math_hypot, 0, -1 },
        { "ldexp", math_ldexp, 2, 2 },
        { NULL },
    };
    pel_val module = pel_new_module(vm, pel_interned_c(vm, "math"));
    pel_add_functions(vm, module->attrs, rows);
    pel_dict_set_c(vm, module->attrs, "pi", pel_float_of(vm, 3.14159265358979323846));
    pel_dict_set_c(vm, module->attrs, "e", pel_float_of(vm, 2.71828182845904523536));
    pel_dict_set_c(vm, module->attrs, "tau", pel_float_of(vm, 6.28318530717958647692));
    pel_dict_set_c(vm, module->attrs, "inf", pel_float_of(vm, INFINITY));
    pel_dict_set_c(vm, module->attrs, "nan", pel_float_of(vm, NAN));
    return module;
}
