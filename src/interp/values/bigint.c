/* Whole numbers of any size: sign and 32-bit limbs, the lowest first. Small ones live in the value itself. */
#include "interp/vm.h"

#include <math.h>

#define MAX_LIMBS (1u << 20)

typedef struct big {
    bool negative;
    uint32_t n;
    const uint32_t *limb;
    uint32_t room[2];
} big;

static pel_int *new_int(pel_vm *vm, uint32_t n) {
    if (n > MAX_LIMBS) pel_over_budget(vm, "the size of a number");
    return pel_make_object(vm, vm->types.int_, sizeof(pel_int) + n * sizeof(uint32_t));
}

static void as_big(pel_val v, big *out) {
    if (pel_is_small(v)) {
        int64_t i = pel_small(v);
        uint64_t u = i < 0 ? (uint64_t)0 - (uint64_t)i : (uint64_t)i;
        out->negative = i < 0;
        out->room[0] = (uint32_t)u;
        out->room[1] = (uint32_t)(u >> 32);
        out->n = out->room[1] ? 2 : out->room[0] ? 1 : 0;
        out->limb = out->room;
        return;
    }
    pel_int *b = (pel_int *)v;
    out->negative = b->negative;
    out->n = b->n;
    out->limb = b->limb;
}

/* Shortens it, and makes a small one of it if it fits. */
static pel_val finish(pel_int *b) {
    while (b->n && !b->limb[b->n - 1]) b->n--;
    if (b->n <= 2) {
        uint64_t u = (b->n > 0 ? b->limb[0] : 0) | (b->n > 1 ? (uint64_t)b->limb[1] << 32 : 0);
        if (u < (uint64_t)PEL_SMALL_MAX) return pel_from_small(b->negative ? -(int64_t)u : (int64_t)u);
    }
    return &b->head;
}

pel_val pel_int_of(pel_vm *vm, int64_t i) {
    if (i < PEL_SMALL_MAX && i > -PEL_SMALL_MAX) return pel_from_small(i);
    pel_int *b = new_int(vm, 2);
    uint64_t u = i < 0 ? (uint64_t)0 - (uint64_t)i : (uint64_t)i;
    b->negative = i < 0;
    b->n = 2;
    b->limb[0] = (uint32_t)u;
    b->limb[1] = (uint32_t)(u >> 32);
    return &b->head;
}

pel_val pel_int_plain(pel_vm *vm, pel_val a) {
    if (pel_is_small(a) || a->type == vm->types.int_) return a;
    big b;
    as_big(a, &b);
    pel_int *copy = new_int(vm, b.n);
    copy->n = b.n;
    copy->negative = b.negative;
    if (b.n) memcpy(copy->limb, b.limb, b.n * sizeof *b.limb);
    return finish(copy);
}

pel_val pel_int_copy_as(pel_vm *vm, pel_type *type, pel_val value) {
    big b;
    as_big(value, &b);
    pel_int *copy = pel_make_object(vm, type, sizeof *copy + b.n * sizeof(uint32_t));
    copy->n = b.n;
    copy->negative = b.negative;
    if (b.n) memcpy(copy->limb, b.limb, b.n * sizeof *b.limb);
    return &copy->head;
}

bool pel_to_i64(pel_val v, int64_t *out) {
    if (pel_is_small(v)) {
        *out = pel_small(v);
        return true;
    }
    big b;
    as_big(v, &b);
    if (b.n > 2) return false;
    uint64_t u = (b.n > 0 ? b.limb[0] : 0) | (b.n > 1 ? (uint64_t)b.limb[1] << 32 : 0);
    if (u > (uint64_t)INT64_MAX) return false;
    *out = b.negative ? -(int64_t)u : (int64_t)u;
    return true;
}

double pel_int_to_double(pel_val v) {
    if (pel_is_small(v)) return (double)pel_small(v);
    big b;
    as_big(v, &b);
    double d = 0;
    for (uint32_t i = b.n; i > 0; i--) d = d * 4294967296.0 + b.limb[i - 1];
    return b.negative ? -d : d;
}

pel_val pel_int_from_double(pel_vm *vm, double d) {
    if (isnan(d)) return pel_raise(vm, vm->types.ValueError, "cannot convert float NaN to integer");
    if (isinf(d)) return pel_raise(vm, vm->types.OverflowError, "cannot convert float infinity to integer");
    d = trunc(d);
    if (fabs(d) < 9e17) return pel_int_of(vm, (int64_t)d);
    int exponent;
    double fraction = frexp(fabs(d), &exponent);
    uint64_t mantissa = (uint64_t)ldexp(fraction, 53);
    pel_val v = pel_int_of(vm, (int64_t)mantissa);
    v = pel_int_binary(vm, PEL_LShift, v, pel_int_of(vm, exponent - 53));
    return d < 0 ? pel_int_negate(vm, v) : v;
}

int pel_int_sign(pel_val a) {
    if (pel_is_small(a)) return (pel_small(a) > 0) - (pel_small(a) < 0);
    pel_int *b = (pel_int *)a;
    return !b->n ? 0 : b->negative ? -1 : 1;
}

static int compare_limbs(const big *a, const big *b) {
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i > 0; i--)
        if (a->limb[i - 1] != b->limb[i - 1]) return a->limb[i - 1] < b->limb[i - 1] ? -1 : 1;
    return 0;
}

int pel_int_compare(pel_val a, pel_val b) {
    if (pel_is_small(a) && pel_is_small(b)) return (pel_small(a) > pel_small(b)) - (pel_small(a) < pel_small(b));
    big x, y;
    as_big(a, &x);
    as_big(b, &y);
    bool x_negative = x.negative && x.n, y_negative = y.negative && y.n;
    if (x_negative != y_negative) return x_negative ? -1 : 1;
    int order = compare_limbs(&x, &y);
    return x_negative ? -order : order;
}

uint64_t pel_int_hash(pel_val a) {
    int64_t i;
    if (pel_to_i64(a, &i)) return (uint64_t)i;
    big b;
    as_big(a, &b);
    uint64_t hash = b.negative;
    for (uint32_t k = 0; k < b.n; k++) hash = hash * 1000003 + b.limb[k];
    return hash;
}

uint32_t pel_int_bits(pel_val a) {
    big b;
    as_big(a, &b);
    return b.n ? (b.n - 1) * 32 + (32 - (uint32_t)__builtin_clz(b.limb[b.n - 1])) : 0;
}

static pel_val add_limbs(pel_vm *vm, const big *a, const big *b, bool negative) {
    uint32_t n = (a->n > b->n ? a->n : b->n) + 1;
    pel_int *r = new_int(vm, n);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < b->n ? b->limb[i] : 0);
        r->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    r->n = n;
    r->negative = negative;
    return finish(r);
}

/* |a| >= |b| */
static pel_val sub_limbs(pel_vm *vm, const big *a, const big *b, bool negative) {
    pel_int *r = new_int(vm, a->n);
    int64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t d = (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0) + borrow;
        borrow = d < 0 ? -1 : 0;
        r->limb[i] = (uint32_t)d;
    }
    r->n = a->n;
    r->negative = negative;
    return finish(r);
}

static pel_val add(pel_vm *vm, const big *a, const big *b) {
    if (a->negative == b->negative) return add_limbs(vm, a, b, a->negative);
    return compare_limbs(a, b) >= 0 ? sub_limbs(vm, a, b, a->negative) : sub_limbs(vm, b, a, b->negative);
}

static pel_val multiply(pel_vm *vm, const big *a, const big *b) {
    pel_int *r = new_int(vm, a->n + b->n + 1);
    if ((uint64_t)a->n * b->n > (1u << 26)) pel_over_budget(vm, "the size of a number");
    vm->steps += (uint64_t)a->n * b->n;
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < b->n || carry; k++) {
            carry += (uint64_t)a->limb[i] * (k < b->n ? b->limb[k] : 0) + r->limb[i + k];
            r->limb[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    r->n = a->n + b->n;
    r->negative = a->negative != b->negative;
    return finish(r);
}

/* Floor division, schoolbook by bits of the dividend's limbs. */
static void divide_limbs(pel_vm *vm, const big *a, const big *b, pel_int *q, pel_int *r) {
    q->n = a->n;
    r->n = b->n + 1;
    if (b->n == 1) {
        uint64_t rest = 0;
        for (uint32_t i = a->n; i > 0; i--) {
            rest = rest << 32 | a->limb[i - 1];
            q->limb[i - 1] = (uint32_t)(rest / b->limb[0]);
            rest %= b->limb[0];
        }
        r->limb[0] = (uint32_t)rest;
        return;
    }
    vm->steps += (uint64_t)a->n * 64 * b->n;
    for (uint32_t bit = a->n * 32; bit > 0; bit--) {
        uint32_t carry = a->limb[(bit - 1) / 32] >> ((bit - 1) % 32) & 1;
        for (uint32_t i = 0; i <= b->n; i++) {
            uint32_t high = r->limb[i] >> 31;
            r->limb[i] = r->limb[i] << 1 | carry;
            carry = high;
        }
        bool larger = r->limb[b->n] != 0;
        if (!larger) {
            larger = true;
            for (uint32_t i = b->n; i > 0; i--)
                if (r->limb[i - 1] != b->limb[i - 1]) {
                    larger = r->limb[i - 1] > b->limb[i - 1];
                    break;
                }
        }
        if (!larger) continue;
        int64_t borrow = 0;
        for (uint32_t i = 0; i <= b->n; i++) {
            int64_t d = (int64_t)r->limb[i] - (i < b->n ? b->limb[i] : 0) + borrow;
            borrow = d < 0 ? -1 : 0;
            r->limb[i] = (uint32_t)d;
        }
        q->limb[(bit - 1) / 32] |= 1u << ((bit - 1) % 32);
    }
}

static pel_val divide(pel_vm *vm, const big *a, const big *b, bool wants_mod) {
    if (!b->n) return pel_raise(vm, vm->types.ZeroDivisionError, "integer division or modulo by zero");
    pel_int *q = new_int(vm, a->n + 1), *r = new_int(vm, b->n + 2);
    divide_limbs(vm, a, b, q, r);
    q->negative = a->negative != b->negative;
    r->negative = a->negative;
    pel_val quotient = finish(q), rest = finish(r);
    bool adjust = pel_int_sign(rest) != 0 && a->negative != b->negative;
    if (wants_mod) {
        if (!adjust) return rest;
        big x;
        as_big(rest, &x);
        return add(vm, &x, b);
    }
    if (!adjust) return quotient;
    return pel_int_binary(vm, PEL_Sub, quotient, pel_from_small(1));
}

/* Bits of a number as two's complement, limb by limb. */
static uint32_t twos(const big *a, uint32_t i, uint64_t *carry) {
    uint32_t limb = i < a->n ? a->limb[i] : 0;
    if (!a->negative) return limb;
    *carry += (uint32_t)~limb;
    uint32_t out = (uint32_t)*carry;
    *carry >>= 32;
    return out;
}

static pel_val bitwise(pel_vm *vm, pel_OPERATOR op, const big *a, const big *b) {
    uint32_t n = (a->n > b->n ? a->n : b->n) + 1;
    pel_int *r = new_int(vm, n);
    uint64_t carry_a = 1, carry_b = 1, carry = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = twos(a, i, &carry_a), y = twos(b, i, &carry_b);
        r->limb[i] = op == PEL_BitAnd ? x & y : op == PEL_BitOr ? x | y : x ^ y;
    }
    r->n = n;
    r->negative = r->limb[n - 1] >> 31;
    if (r->negative)
        for (uint32_t i = 0; i < n; i++) {
            carry += (uint32_t)~r->limb[i];
            r->limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
    return finish(r);
}

static pel_val shift_left(pel_vm *vm, const big *a, int64_t by) {
    if (by > (int64_t)MAX_LIMBS * 32) pel_over_budget(vm, "the size of a number");
    uint32_t limbs = (uint32_t)(by / 32), bits = (uint32_t)(by % 32);
    pel_int *r = new_int(vm, a->n + limbs + 1);
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t wide = (uint64_t)a->limb[i] << bits;
        r->limb[i + limbs] |= (uint32_t)wide;
        r->limb[i + limbs + 1] |= (uint32_t)(wide >> 32);
    }
    r->n = a->n + limbs + 1;
    r->negative = a->negative;
    return finish(r);
}

static pel_val power(pel_vm *vm, pel_val base, int64_t exponent) {
    pel_val result = pel_from_small(1);
    while (exponent > 0) {
        if (exponent & 1) result = pel_int_binary(vm, PEL_Mult, result, base);
        exponent >>= 1;
        if (exponent) base = pel_int_binary(vm, PEL_Mult, base, base);
    }
    return result;
}

pel_val pel_int_negate(pel_vm *vm, pel_val a) {
    if (pel_is_small(a)) return pel_int_of(vm, -pel_small(a));
    pel_val copy = pel_int_copy_as(vm, vm->types.int_, a);
    ((pel_int *)copy)->negative = !((pel_int *)copy)->negative;
    return finish((pel_int *)copy);
}

/* NULL without exception: not an operator of ints (Div, MatMult). */
pel_val pel_int_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b) {
    big x, y;
    as_big(a, &x);
    as_big(b, &y);
    int64_t by;
    switch (op) {
    case PEL_Add: return add(vm, &x, &y);
    case PEL_Sub: y.negative = !y.negative; return add(vm, &x, &y);
    case PEL_Mult: return multiply(vm, &x, &y);
    case PEL_FloorDiv: return divide(vm, &x, &y, false);
    case PEL_Mod: return divide(vm, &x, &y, true);
    case PEL_BitAnd:
    case PEL_BitOr:
    case PEL_BitXor: return bitwise(vm, op, &x, &y);
    case PEL_LShift:
    case PEL_RShift:
        if (!pel_to_i64(b, &by)) by = INT64_MAX;
        if (by < 0) return pel_raise(vm, vm->types.ValueError, "negative shift count");
        if (!x.n) return pel_from_small(0);
        if (op == PEL_LShift) return shift_left(vm, &x, by);
        if (by > (int64_t)x.n * 32) return pel_from_small(x.negative ? -1 : 0);
        return pel_int_binary(vm, PEL_FloorDiv, a, shift_left(vm, &(big){ .n = 1, .limb = (uint32_t[]){ 1 } }, by));
    case PEL_Pow:
        if (y.negative) {
            if (!x.n) return pel_raise(vm, vm->types.ZeroDivisionError, "0.0 cannot be raised to a negative power");
            return pel_float_of(vm, pow(pel_int_to_double(a), pel_int_to_double(b)));
        }
        if (!pel_to_i64(b, &by)) pel_over_budget(vm, "the size of a number");
        return power(vm, pel_int_plain(vm, a), by);
    default: return NULL;
    }
}

/* ---- text ---- */

pel_val pel_int_from_text(pel_vm *vm, pel_str digits, unsigned base) {
    bool negative = digits.len && digits.ptr[0] == '-';
    if (negative || (digits.len && digits.ptr[0] == '+')) digits = pel_str_from(digits, 1);
    pel_spend(vm, (uint64_t)digits.len * digits.len / 16);
    pel_int *r = new_int(vm, (uint32_t)(digits.len / 5 + 2));
    for (size_t i = 0; i < digits.len; i++) {
        unsigned char c = (unsigned char)digits.ptr[i];
        if (c == '_') continue;
        uint32_t digit = c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 32) - 'a' + 10);
        uint64_t carry = digit;
        for (uint32_t k = 0; k < r->n || carry; k++) {
            carry += (uint64_t)r->limb[k] * base;
            r->limb[k] = (uint32_t)carry;
            carry >>= 32;
            if (k >= r->n) r->n = k + 1;
        }
    }
    r->negative = negative;
    return finish(r);
}

/* The room is enough for base 2, which needs the most digits: 32 for each limb. The work grows with the square of the
 * length, so it is charged as steps; the next look at the budget sees them. */
void pel_put_int_val(pel_vm *vm, pel_buf *out, pel_val v, unsigned base) {
    int64_t small;
    if (base == 10 && pel_to_i64(v, &small)) {
        pel_put_int(out, small);
        return;
    }
    big b;
    as_big(v, &b);
    if (!b.n) {
        pel_put_byte(out, '0');
        return;
    }
    uint32_t n = b.n;
    vm->steps += (uint64_t)n * n * 16;
    uint32_t *rest = pel_alloc_raw(vm->ctx, n * sizeof *rest);
    memcpy(rest, b.limb, n * sizeof *rest);
    char *text = pel_alloc_raw(vm->ctx, (size_t)n * 32 + 2);
    size_t at = (size_t)n * 32 + 2;
    while (n) {
        uint64_t carry = 0;
        for (uint32_t i = n; i > 0; i--) {
            carry = carry << 32 | rest[i - 1];
            rest[i - 1] = (uint32_t)(carry / base);
            carry %= base;
        }
        text[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[carry];
        while (n && !rest[n - 1]) n--;
    }
    if (b.negative) text[--at] = '-';
    pel_put(out, (pel_str){ text + at, (size_t)b.n * 32 + 2 - at });
}
