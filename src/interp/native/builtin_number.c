/* int, bool, float, complex. */
#include "interp/vm.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static pel_str strip(pel_str s) {
    while (s.len && isspace((unsigned char)s.ptr[0])) s = pel_str_from(s, 1);
    while (s.len && isspace((unsigned char)s.ptr[s.len - 1])) s.len--;
    return s;
}

/* pel_int_from_text trusts its digits, so the whole text is checked first. Only ASCII digits and spaces count; Python
 * takes those of other scripts too. The message shows the text as it was given. */
static pel_val parse_int(pel_vm *vm, pel_str given, unsigned base) {
    pel_str text = strip(given);
    bool negative = false;
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+')) {
        negative = text.ptr[0] == '-';
        text = pel_str_from(text, 1);
    }
    if (text.len > 1 && text.ptr[0] == '0' && (base == 16 || base == 2 || base == 8 || base == 0)) {
        char mark = (char)(text.ptr[1] | 32);
        unsigned marked = mark == 'x' ? 16 : mark == 'b' ? 2 : mark == 'o' ? 8 : 0;
        if (marked && (base == marked || base == 0)) {
            base = marked;
            text = pel_str_from(text, 2);
        }
    }
    if (base == 0) base = 10;
    bool fine = text.len > 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - 48)
                         : isalpha(c)         ? (unsigned)(tolower(c) - 'a' + 10)
                                              : 99;
        if (c == '_' && i && i + 1 < text.len && text.ptr[i - 1] != '_') continue;
        fine &= digit < base;
    }
    if (!fine) {
        pel_val repr = pel_repr(vm, pel_new_text(vm, given));
        return pel_raise(vm, vm->types.ValueError, "invalid literal for int() with base %u: %s", base,
                         repr ? pel_string_at(repr)->text : "?");
    }
    pel_val v = pel_int_from_text(vm, text, base);
    return negative ? pel_int_negate(vm, v) : v;
}

static pel_val as_type(pel_vm *vm, pel_val type, pel_val value) {
    if (!value || type == &vm->types.int_->head) return value ? pel_int_plain(vm, value) : NULL;
    return pel_int_copy_as(vm, pel_as_type(type), value);
}

/* A symbol comes first: int() of something unknown is unknown and no error. A class's own __int__ comes before the
 * number inside, which a subclass of int or float has as well. */
static pel_val int_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val p[2];
    if (!pel_args(vm, "int", "x,base", args + 1, n - 1, kw, 0, p)) return NULL;
    if (!p[0]) return as_type(vm, args[0], pel_from_small(0));
    if (pel_is_symbol(p[0])) {
        pel_symbol *s = (pel_symbol *)p[0];
        return pel_symbol_of(vm, pel_format(vm->ctx, "int(%.*s)", PEL_FMT(s->text)), s->why);
    }
    if (p[1]) {
        int64_t base;
        if (!pel_index(vm, p[1], &base)) return NULL;
        if (!pel_is_str(p[0]) || base < 0 || base > 36)
            return pel_raise(vm, vm->types.TypeError, "int() can't convert that with an explicit base");
        return as_type(vm, args[0], parse_int(vm, pel_text_of(p[0]), (unsigned)base));
    }
    if (pel_is_str(p[0]) || pel_is(p[0], PEL_L_BYTES))
        return as_type(vm, args[0], parse_int(vm, pel_text_of(p[0]), 10));
    pel_val special = pel_type_of(vm, p[0])->is_native ? NULL : pel_special(vm, p[0], vm->names.s_int);
    if (special && !pel_is(special, PEL_L_NATIVE)) {
        pel_val made = pel_call_special(vm, p[0], vm->names.s_int, NULL, 0);
        if (!made || pel_is_symbol(made)) return made;
        if (!pel_is_int(made)) return pel_raise(vm, vm->types.TypeError, "__int__ returned non-int");
        return as_type(vm, args[0], made);
    }
    if (pel_is_int(p[0])) return as_type(vm, args[0], p[0]);
    if (pel_is_float(p[0])) return as_type(vm, args[0], pel_int_from_double(vm, ((pel_float *)p[0])->value));
    pel_val made = pel_call_special(vm, p[0], vm->names.s_index, NULL, 0);
    if (!made && !vm->raised) made = pel_call_special(vm, p[0], vm->names.s_trunc, NULL, 0);
    if (made) return pel_is_symbol(made) ? made : as_type(vm, args[0], made);
    if (!vm->raised)
        pel_raise(vm, vm->types.TypeError,
                  "int() argument must be a string, a bytes-like object or a real number, not '%s'",
                  pel_type_text(vm, p[0]));
    return NULL;
}

static pel_val int_plain_method(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_int_plain(vm, args[0]);
}
static pel_val int_bit_length(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_int_of(vm, pel_int_bits(args[0]));
}
static pel_val int_bit_count(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    int64_t i;
    if (!pel_to_i64(args[0], &i)) return pel_raise(vm, vm->types.OverflowError, "bit_count of a large number");
    return pel_int_of(vm, __builtin_popcountll((unsigned long long)(i < 0 ? -i : i)));
}
static pel_val int_is_integer(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)args, (void)n, (void)kw;
    return vm->true_;
}
static pel_val int_to_bytes(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val p[3];
    if (!pel_args(vm, "to_bytes", "length,byteorder,signed", args + 1, n - 1, kw, 0, p)) return NULL;
    int64_t value, length = 1;
    if (p[0] && !pel_index(vm, p[0], &length)) return NULL;
    if (!pel_to_i64(args[0], &value) || length < 0 || length > 64)
        return pel_raise(vm, vm->types.OverflowError, "int too big to convert");
    bool little = p[1] && pel_text_is(p[1], "little");
    char bytes[64];
    for (int64_t i = 0; i < length; i++) {
        bytes[little ? i : length - 1 - i] = (char)(i < 8 ? value >> (8 * i) : value < 0 ? -1 : 0);
    }
    return pel_bytes_of(vm, (pel_str){ bytes, (size_t)length });
}
static pel_val int_from_bytes(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val p[3];
    if (!pel_args(vm, "from_bytes", "bytes,byteorder,signed", args, n, kw, 1, p)) return NULL;
    if (!pel_is(p[0], PEL_L_BYTES)) return pel_raise(vm, vm->types.TypeError, "cannot convert to bytes");
    pel_str bytes = pel_text_of(p[0]);
    bool little = p[1] && pel_text_is(p[1], "little");
    pel_val v = pel_from_small(0);
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[little ? bytes.len - 1 - i : i];
        v = pel_int_binary(vm, PEL_Add, pel_int_binary(vm, PEL_Mult, v, pel_from_small(256)), pel_from_small(c));
    }
    return v;
}
static pel_val get_real(pel_vm *vm, pel_val self) {
    return pel_is_int(self) ? pel_int_plain(vm, self) : pel_float_of(vm, ((pel_float *)self)->value);
}
static pel_val get_imag(pel_vm *vm, pel_val self) {
    if (pel_is_int(self)) return pel_from_small(0);
    return pel_float_of(vm, pel_is(self, PEL_L_COMPLEX) ? ((pel_float *)self)->imag : 0);
}
static pel_val get_one(pel_vm *vm, pel_val self) {
    (void)vm, (void)self;
    return pel_from_small(1);
}

/* Dunders of numbers that code calls by name: int.__add__(a, b). */
#define OPERATOR(name, op)                                                                                             \
    static pel_val num_##name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {                               \
        (void)n, (void)kw;                                                                                             \
        pel_val a = pel_is_int(args[0]) ? pel_int_plain(vm, args[0]) : args[0];                                        \
        pel_val b = pel_is_int(args[1]) ? pel_int_plain(vm, args[1]) : args[1];                                        \
        if (!pel_is_int(b) && !pel_is_float(b)) return vm->not_implemented;                                            \
        if (!pel_is_int(a)) a = pel_float_of(vm, ((pel_float *)a)->value);                                             \
        return op;                                                                                                     \
    }
OPERATOR(add, pel_binary(vm, PEL_Add, a, b))
OPERATOR(sub, pel_binary(vm, PEL_Sub, a, b))
OPERATOR(mul, pel_binary(vm, PEL_Mult, a, b))
OPERATOR(truediv, pel_binary(vm, PEL_Div, a, b))
OPERATOR(floordiv, pel_binary(vm, PEL_FloorDiv, a, b))
OPERATOR(mod, pel_binary(vm, PEL_Mod, a, b))
OPERATOR(pow, pel_binary(vm, PEL_Pow, a, b))
OPERATOR(and, pel_binary(vm, PEL_BitAnd, a, b))
OPERATOR(or, pel_binary(vm, PEL_BitOr, a, b))
OPERATOR(xor, pel_binary(vm, PEL_BitXor, a, b))
OPERATOR(lshift, pel_binary(vm, PEL_LShift, a, b))
OPERATOR(rshift, pel_binary(vm, PEL_RShift, a, b))
OPERATOR(radd, pel_binary(vm, PEL_Add, b, a))
OPERATOR(rsub, pel_binary(vm, PEL_Sub, b, a))
OPERATOR(rmul, pel_binary(vm, PEL_Mult, b, a))
OPERATOR(rtruediv, pel_binary(vm, PEL_Div, b, a))
OPERATOR(lt, pel_compare(vm, PEL_Lt, a, b))
OPERATOR(le, pel_compare(vm, PEL_LtE, a, b))
OPERATOR(gt, pel_compare(vm, PEL_Gt, a, b))
OPERATOR(ge, pel_compare(vm, PEL_GtE, a, b))
OPERATOR(eq, pel_compare(vm, PEL_Eq, a, b))

static pel_val num_neg(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (pel_is_int(args[0])) return pel_int_negate(vm, pel_int_plain(vm, args[0]));
    return pel_float_of(vm, -((pel_float *)args[0])->value);
}
static pel_val num_abs(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_int(args[0])) return pel_float_of(vm, fabs(((pel_float *)args[0])->value));
    pel_val plain = pel_int_plain(vm, args[0]);
    return pel_int_sign(plain) < 0 ? pel_int_negate(vm, plain) : plain;
}
static pel_val num_hash(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    uint64_t hash;
    pel_val v = pel_is_int(args[0]) ? pel_int_plain(vm, args[0]) : pel_float_of(vm, ((pel_float *)args[0])->value);
    return pel_hash_of(vm, v, &hash) ? pel_int_of(vm, (int64_t)(hash & INT64_MAX)) : NULL;
}
static pel_val num_repr(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_repr(vm, pel_is_int(args[0]) && !pel_is(args[0], PEL_L_BOOL) ? pel_int_plain(vm, args[0])
                        : pel_is_float(args[0]) ? pel_float_of(vm, ((pel_float *)args[0])->value)
                                                : args[0]);
}
static pel_val num_float(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    double d;
    return pel_to_double(vm, args[0], &d) ? pel_float_of(vm, d) : NULL;
}
static pel_val num_bool(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_bool_of(vm, pel_is_int(args[0]) ? pel_int_sign(args[0]) != 0 : ((pel_float *)args[0])->value != 0);
}

/* ---- bool ---- */

static pel_val bool_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    if (n < 2) return vm->false_;
    int truth = pel_truth(vm, args[1]);
    return truth < 0 ? NULL : pel_bool_of(vm, truth);
}

/* ---- float ---- */

static bool parse_float(pel_str text, double *out) {
    char room[400];
    size_t len = 0;
    text = strip(text);
    if (!text.len || text.len >= sizeof room) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '_') continue;
        if (text.ptr[i] == 'x' || text.ptr[i] == 'X' || text.ptr[i] == '(') return false;
        room[len++] = text.ptr[i];
    }
    room[len] = 0;
    char *end;
    *out = strtod(room, &end);
    return *end == 0 && end != room;
}

/* float() of something unknown is unknown and no error. A subclass gets its type by a write into the result, which is
 * safe because pel_float_of never shares a float. */
static pel_val float_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    double d = 0;
    if (n > 1) {
        if (pel_is_symbol(args[1])) {
            pel_symbol *s = (pel_symbol *)args[1];
            return pel_symbol_of(vm, pel_format(vm->ctx, "float(%.*s)", PEL_FMT(s->text)), s->why);
        }
        if (pel_is_str(args[1])) {
            if (!parse_float(pel_text_of(args[1]), &d)) {
                pel_val repr = pel_repr(vm, args[1]);
                return pel_raise(vm, vm->types.ValueError, "could not convert string to float: %s",
                                 repr ? pel_string_at(repr)->text : "?");
            }
        } else {
            pel_val special = pel_type_of(vm, args[1])->is_native ? NULL : pel_special(vm, args[1], vm->names.s_float);
            if (special && !pel_is(special, PEL_L_NATIVE)) {
                pel_val made = pel_call_special(vm, args[1], vm->names.s_float, NULL, 0);
                if (!made || pel_is_symbol(made)) return made;
                if (!pel_to_double(vm, made, &d)) return NULL;
            } else if (!pel_to_double(vm, args[1], &d)) {
                return NULL;
            }
        }
    }
    pel_val made = pel_float_of(vm, d);
    made->type = pel_as_type(args[0]);
    return made;
}

static pel_val float_is_integer(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    double d = ((pel_float *)args[0])->value;
    return pel_bool_of(vm, isfinite(d) && floor(d) == d);
}
static pel_val float_as_ratio(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    int exponent;
    double fraction = frexp(((pel_float *)args[0])->value, &exponent);
    for (int i = 0; i < 60 && fraction != floor(fraction); i++) {
        fraction *= 2;
        exponent--;
    }
    pel_val top = pel_int_from_double(vm, fraction);
    if (!top) return NULL;
    pel_val one = pel_from_small(1), power = pel_int_binary(vm, PEL_LShift, one, pel_int_of(vm, abs(exponent)));
    return exponent > 0 ? pel_tuple2(vm, pel_int_binary(vm, PEL_Mult, top, power), one) : pel_tuple2(vm, top, power);
}
static pel_val float_hex(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_textf(vm, "%a", ((pel_float *)args[0])->value);
}

static pel_val complex_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    double real = 0, imag = 0;
    if (n > 1 && pel_is(args[1], PEL_L_COMPLEX)) return args[1];
    if (n > 1 && !pel_to_double(vm, args[1], &real)) return NULL;
    if (n > 2 && !pel_to_double(vm, args[2], &imag)) return NULL;
    return pel_complex_of(vm, real, imag);
}
static pel_val complex_conjugate(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_complex_of(vm, ((pel_float *)args[0])->value, -((pel_float *)args[0])->imag);
}

static void add_new(pel_vm *vm, pel_type *type, pel_native_fn *fn) {
    pel_dict_set_str(vm, pel_attrs(vm, &type->head), vm->names.s_new, pel_new_native(vm, "__new__", fn, 1, -1, true));
}

/* Operators of plain numbers never look here: operators.c computes them at once. The rows are for calls by name
 * (`int.__add__`, super() in a subclass). bool inherits those of int and needs only a __new__. */
void pel_init_numbers(pel_vm *vm) {
    static const pel_native_row both[] = {
        { "__add__", num_add, 2, 2 },
        { "__sub__", num_sub, 2, 2 },
        { "__mul__", num_mul, 2, 2 },
        { "__truediv__", num_truediv, 2, 2 },
        { "__floordiv__", num_floordiv, 2, 2 },
        { "__mod__", num_mod, 2, 2 },
        { "__pow__", num_pow, 2, 2 },
        { "__radd__", num_radd, 2, 2 },
        { "__rsub__", num_rsub, 2, 2 },
        { "__rmul__", num_rmul, 2, 2 },
        { "__rtruediv__", num_rtruediv, 2, 2 },
        { "__lt__", num_lt, 2, 2 },
        { "__le__", num_le, 2, 2 },
        { "__gt__", num_gt, 2, 2 },
        { "__ge__", num_ge, 2, 2 },
        { "__eq__", num_eq, 2, 2 },
        { "__neg__", num_neg, 1, 1 },
        { "__abs__", num_abs, 1, 1 },
        { "__hash__", num_hash, 1, 1 },
        { "__repr__", num_repr, 1, 1 },
        { "__float__", num_float, 1, 1 },
        { "__bool__", num_bool, 1, 1 },
        { NULL },
    };
    static const pel_native_row ints[] = {
        { "__and__", num_and, 2, 2 },
        { "__or__", num_or, 2, 2 },
        { "__xor__", num_xor, 2, 2 },
        { "__lshift__", num_lshift, 2, 2 },
        { "__rshift__", num_rshift, 2, 2 },
        { "__int__", int_plain_method, 1, 1 },
        { "__index__", int_plain_method, 1, 1 },
        { "__trunc__", int_plain_method, 1, 1 },
        { "conjugate", int_plain_method, 1, 1 },
        { "bit_length", int_bit_length, 1, 1 },
        { "bit_count", int_bit_count, 1, 1 },
        { "is_integer", int_is_integer, 1, 1 },
        { "to_bytes", int_to_bytes, 1, 4, true },
        { NULL },
    };
    static const pel_native_row floats[] = {
        { "is_integer", float_is_integer, 1, 1 },
        { "as_integer_ratio", float_as_ratio, 1, 1 },
        { "hex", float_hex, 1, 1 },
        { NULL },
    };
    static const pel_native_row complexes[] = { { "conjugate", complex_conjugate, 1, 1 }, { NULL } };
    pel_add_methods(vm, vm->types.int_, both);
    pel_add_methods(vm, vm->types.int_, ints);
    pel_add_methods(vm, vm->types.float_, both);
    pel_add_methods(vm, vm->types.float_, floats);
    pel_add_methods(vm, vm->types.complex, complexes);
    add_new(vm, vm->types.int_, int_new);
    add_new(vm, vm->types.bool_, bool_new);
    add_new(vm, vm->types.float_, float_new);
    add_new(vm, vm->types.complex, complex_new);
    pel_wrapper *from_bytes = pel_make_object(vm, vm->types.staticmethod, sizeof *from_bytes);
    from_bytes->func = pel_new_native(vm, "from_bytes", int_from_bytes, 1, 3, true);
    pel_dict_set_c(vm, pel_attrs(vm, &vm->types.int_->head), "from_bytes", &from_bytes->head);
    pel_type *types[] = { vm->types.int_, vm->types.float_, vm->types.complex };
    for (int i = 0; i < 3; i++) {
        pel_add_getset(vm, types[i], "real", get_real, NULL);
        pel_add_getset(vm, types[i], "imag", get_imag, NULL);
    }
    pel_add_getset(vm, vm->types.int_, "numerator", get_real, NULL);
    pel_add_getset(vm, vm->types.int_, "denominator", get_one, NULL);
}
