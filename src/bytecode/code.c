#include "bytecode/code.h"

static bool holds(pel_name_list list, pel_name name) {
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i] == name) return true;
    return false;
}

/* As CPython lays them out: a cell that is also a local variable keeps that variable's place. */
static pel_name_list lay_out(pel_ctx *ctx, const pel_code_object *code) {
    size_t most = (size_t)code->varnames.n + code->cellvars.n + code->freevars.n;
    pel_name_list all = { pel_new_array(ctx, most, pel_name), 0 };
    for (uint32_t i = 0; i < code->varnames.n; i++) all.at[all.n++] = code->varnames.at[i];
    for (uint32_t i = 0; i < code->cellvars.n; i++)
        if (!holds(code->varnames, code->cellvars.at[i])) all.at[all.n++] = code->cellvars.at[i];
    for (uint32_t i = 0; i < code->freevars.n; i++) all.at[all.n++] = code->freevars.at[i];
    return all;
}

void pel_code_finish(pel_ctx *ctx, pel_code_object *code, uint64_t at) {
    uint64_t arguments = (uint64_t)code->argcount + code->kwonlyargcount + !!(code->flags & PEL_CO_VARARGS) +
                         !!(code->flags & PEL_CO_VARKEYWORDS);
    if (arguments > code->varnames.n)
        pel_throw(ctx, PEL_E_FORMAT, at, "code of %.*s: %llu arguments, but only %u local variables",
                  PEL_FMT(pel_name_str(code->name)), (unsigned long long)arguments, code->varnames.n);
    if (code->posonlyargcount > code->argcount)
        pel_throw(ctx, PEL_E_FORMAT, at, "code of %.*s: %u positional-only arguments among %u",
                  PEL_FMT(pel_name_str(code->name)), code->posonlyargcount, code->argcount);
    if (!code->localsplus.at) code->localsplus = lay_out(ctx, code);
}

/* ---- large integers ---- */

/* Nine decimal digits a turn; eats the limbs. */
static pel_str decimal_of(pel_ctx *ctx, uint32_t *limbs, uint32_t n, bool negative) {
    size_t size = (size_t)n * 10 + 2, at = size; /* 32 bits are 9.63 digits */
    char *text = pel_alloc_raw(ctx, size);
    while (n) {
        uint64_t rest = 0;
        for (uint32_t i = n; i-- > 0;) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 1000000000);
            rest %= 1000000000;
        }
        while (n && !limbs[n - 1]) n--;
        for (int i = 0; i < 9 && (n || rest); i++, rest /= 10) text[--at] = (char)('0' + rest % 10);
    }
    if (negative) text[--at] = '-';
    return (pel_str){ text + at, size - at };
}

const pel_const *pel_const_of_limbs(pel_ctx *ctx, uint32_t *limbs, uint32_t n, bool negative) {
    while (n && !limbs[n - 1]) n--;
    uint64_t low = n ? limbs[0] : 0;
    if (n > 1) low |= (uint64_t)limbs[1] << 32;
    if (n <= 2 && low <= (uint64_t)INT64_MAX + negative)
        return pel_const_int(ctx, negative ? (int64_t)(0 - low) : (int64_t)low);
    pel_const *konst = pel_new(ctx, pel_const);
    konst->kind = PEL_CONST_INT;
    konst->integer.digits = decimal_of(ctx, limbs, n, negative);
    return konst;
}
