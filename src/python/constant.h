/* Values of Python constants: what a literal or a code object's co_consts can hold. */
#ifndef PEL_PYTHON_CONSTANT_H
#define PEL_PYTHON_CONSTANT_H

#include "base/buf.h"

typedef enum pel_const_kind {
    PEL_CONST_NONE,
    PEL_CONST_FALSE,
    PEL_CONST_TRUE,
    PEL_CONST_ELLIPSIS,
    PEL_CONST_INT,
    PEL_CONST_FLOAT,
    PEL_CONST_COMPLEX,
    PEL_CONST_STR,
    PEL_CONST_BYTES,
    /* only in code objects */
    PEL_CONST_TUPLE,
    PEL_CONST_FROZENSET,
    PEL_CONST_CODE,
    PEL_CONST_OBJECT, /* a live object without a literal, or what marshal gave for one */
    PEL_CONST_SLICE,  /* items: start, stop, step */
} pel_const_kind;

typedef struct pel_const pel_const;
struct pel_const {
    pel_const_kind kind;
    union {
        struct {
            int64_t small;  /* the value, if digits is empty */
            pel_str digits; /* decimal with sign, if the value does not fit int64_t */
        } integer;
        struct {
            double real, imag; /* FLOAT: real only */
        };
        pel_str text; /* STR: UTF-8, lone surrogates as three bytes; BYTES: as they are */
        struct {
            const pel_const **items;
            uint32_t n;
        };
        struct pel_code_object *code;
        struct {
            uint64_t object; /* names the object to the code that made the constant */
            pel_str repr;    /* how to show it */
        };
    };
};

extern const pel_const pel_none, pel_false, pel_true, pel_ellipsis;

const pel_const *pel_const_int(pel_ctx *ctx, int64_t value);
const pel_const *pel_const_float(pel_ctx *ctx, double value);
const pel_const *pel_const_str(pel_ctx *ctx, pel_str text);
const pel_const *pel_const_bytes(pel_ctx *ctx, pel_str bytes);
static inline const pel_const *pel_const_bool(bool value) { return value ? &pel_true : &pel_false; }

/* Same type and value, as Python's compiler tells constants apart: 0.0 and -0.0 differ, 1 and True too. */
bool pel_const_same(const pel_const *a, const pel_const *b);
const char *pel_const_type_name(const pel_const *value); /* type(value).__name__ */

/* repr(value), exactly as CPython writes it. */
void pel_put_repr(pel_buf *out, const pel_const *value);
void pel_put_float_repr(pel_buf *out, double value); /* repr(float): shortest digits that read back */
void pel_put_str_repr(pel_buf *out, pel_str text);
void pel_put_bytes_repr(pel_buf *out, pel_str bytes);

/* One character as it is in a literal between these quotes (0: none is escaped). */
void pel_put_escaped(pel_buf *out, uint32_t point, char quote);
void pel_put_escaped_byte(pel_buf *out, unsigned char byte, char quote);
/* The character of a STR at *at, which moves after it. Bytes that are no UTF-8 become U+DC80 to U+DCFF,
 * as Python's surrogateescape. */
uint32_t pel_text_next(pel_str text, size_t *at);

#endif
