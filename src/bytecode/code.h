/* A code object as any of the supported Pythons made it, and where it came from.
 *
 * Two sources fill it: unmarshal.c (.pyc files, marshalled bytes) and the extension (live objects).
 * Everything in it has been checked against its own sizes; nothing has been interpreted yet. */
#ifndef PEL_BYTECODE_CODE_H
#define PEL_BYTECODE_CODE_H

#include "python/constant.h"
#include "python/parse.h" /* pel_version */

enum { /* co_flags */
       PEL_CO_OPTIMIZED = 0x1,
       PEL_CO_NEWLOCALS = 0x2,
       PEL_CO_VARARGS = 0x4,
       PEL_CO_VARKEYWORDS = 0x8,
       PEL_CO_NESTED = 0x10,
       PEL_CO_GENERATOR = 0x20,
       PEL_CO_COROUTINE = 0x80,
       PEL_CO_ITERABLE_COROUTINE = 0x100,
       PEL_CO_ASYNC_GENERATOR = 0x200,
       PEL_CO_FUTURE_ANNOTATIONS = 0x1000000,
       PEL_CO_HAS_DOCSTRING = 0x4000000, /* since 3.14 */
};

typedef struct pel_code_object {
    pel_version version;
    uint32_t argcount, posonlyargcount, kwonlyargcount; /* argcount includes the positional-only ones, as in CPython */
    uint32_t stacksize, flags, firstlineno;
    pel_name name, qualname; /* qualname: NULL before 3.11 */
    pel_str filename;
    pel_str code; /* raw instructions; inline caches hold no run-time state */
    const pel_const **consts;
    uint32_t n_consts;
    pel_name_list names, varnames, cellvars, freevars;
    pel_name_list localsplus; /* varnames, the cellvars that are not among them, freevars: what 3.11 and later index */
    pel_str linetable;        /* co_lnotab before 3.10 */
    pel_str exceptiontable;   /* empty before 3.11 */
} pel_code_object;

/* Fills localsplus and checks that the counts fit the names; the function that fills a code object calls it last.
 * Throws PEL_E_FORMAT, with the offset at. */
void pel_code_finish(pel_ctx *ctx, pel_code_object *code, uint64_t at);

/* An integer from its 32-bit limbs, least significant first; the limbs are used up. */
#define PEL_INT_BITS_MAX (1u << 18) /* callers check this: making it decimal takes quadratic time */
const pel_const *pel_const_of_limbs(pel_ctx *ctx, uint32_t *limbs, uint32_t n, bool negative);

/* A .pyc file: checks magic number and flags, then unmarshals. Throws PEL_E_FORMAT, PEL_E_UNSUPPORTED
 * (a Python that is not among PEL_VERSIONS_TEXT: the message says which it is and which are supported). */
pel_code_object *pel_read_pyc(pel_ctx *ctx, pel_str bytes);
/* Marshalled bytes that hold one code object. */
pel_code_object *pel_unmarshal_code(pel_ctx *ctx, pel_str bytes, pel_version version);
/* The same where they begin at offset start of bytes; offsets in errors count from the beginning of bytes. */
pel_code_object *pel_unmarshal_code_at(pel_ctx *ctx, pel_str bytes, size_t start, pel_version version);
/* The Python that wrote a .pyc, by its first four bytes; 0 if unknown. */
pel_version pel_pyc_version(pel_str bytes);

#endif
