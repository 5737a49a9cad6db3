/* One analysis: its memory, its names and its error.
 *
 * Everything an analysis makes lives in its arena and dies with it; nothing is freed one by one.
 * Because nothing else has to be released, an error may leave any depth of calls at once:
 * pel_throw() records the first error and jumps to the innermost pel_attempt(). Code between the
 * two checks no return values, and at the public boundary the error is an ordinary value again. */
#ifndef PEL_BASE_CTX_H
#define PEL_BASE_CTX_H

#include "base/base.h"
#include "pellucid.h" /* the error codes */

#include <stdarg.h>

typedef struct pel_err {
    pel_code code;
    uint64_t at;     /* byte offset in the input */
    uint32_t line;   /* from 1; 0 where the input has no lines */
    uint32_t column; /* from 0, in bytes */
    char what[PEL_MESSAGE_MAX];
} pel_err;

typedef struct pel_block pel_block;
typedef struct pel_catch pel_catch;

struct pel_ctx {
    /* the arena */
    pel_block *blocks;
    char *next, *limit;
    size_t taken, may_take;
    /* the interned names */
    const pel_ident **names;
    uint32_t n_names, names_cap;
    /* the error */
    pel_catch *innermost;
    pel_err err;
};

/* may_take: bytes that the analysis may hold at once; 0 for the default (4 GiB, 1 GiB where addresses have 32 bits).
 * Returns NULL when there is no memory even for that. */
pel_ctx *pel_ctx_new(size_t may_take);
void pel_ctx_free(pel_ctx *ctx);
void pel_ctx_reset(pel_ctx *ctx); /* as new; everything in it is gone */

/* Memory that lives as long as ctx, aligned for any type. pel_alloc clears it. Sizes have 64 bits on every machine:
 * one that comes from a file is refused here, not narrowed on its way. */
void *pel_alloc(pel_ctx *ctx, uint64_t size);
void *pel_alloc_raw(pel_ctx *ctx, uint64_t size);
void *pel_alloc_array(pel_ctx *ctx, uint64_t count, size_t size);
#define pel_new(ctx, type) ((type *)pel_alloc(ctx, sizeof(type)))
#define pel_new_array(ctx, count, type) ((type *)pel_alloc_array(ctx, count, sizeof(type)))

/* Records the error (the first wins until it is caught) and leaves to the innermost pel_attempt. */
_Noreturn void pel_throw(pel_ctx *ctx, pel_code code, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
_Noreturn void pel_throw_at(pel_ctx *ctx, pel_code code, uint64_t at, uint32_t line, uint32_t column,
                            const char *format, ...) __attribute__((format(printf, 6, 7)));
_Noreturn void pel_vthrow(pel_ctx *ctx, pel_code code, uint64_t at, uint32_t line, uint32_t column, const char *format,
                          va_list args);

/* Runs body(ctx, arg). Returns true if it returned; false if it threw, with the error moved to *err.
 * Attempts nest: the decompiler gives up on one function and goes on with the next. */
bool pel_attempt(pel_ctx *ctx, void (*body)(pel_ctx *ctx, void *arg), void *arg, pel_err *err);

const char *pel_code_text(pel_code code);

/* A mistake of ours, never of the input. */
_Noreturn void pel_bug(const char *file, int line, const char *what);
#define PEL_BUG(what) pel_bug(__FILE__, __LINE__, what)
#define PEL_ASSERT(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) PEL_BUG(#condition);                                                                         \
    } while (0)

/* Testing: let the nth allocation from now fail (0: none). Returns what was left of the number given before:
 * 0 if that allocation was reached. */
long pel_fail_allocation(long nth);

/* ---- growable arrays in the arena: PEL_VEC(type) name; ---- */
#define PEL_VEC(type)                                                                                                  \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        uint32_t n, cap;                                                                                               \
    }
void *pel_grow(pel_ctx *ctx, void *at, uint32_t n, uint32_t *cap, size_t size);
#define pel_reserve(ctx, vec, extra)                                                                                   \
    do {                                                                                                               \
        while ((vec)->cap - (vec)->n < (uint32_t)(extra))                                                              \
            (vec)->at = pel_grow(ctx, (vec)->at, (vec)->n, &(vec)->cap, sizeof *(vec)->at);                            \
    } while (0)
#define pel_push(ctx, vec, ...)                                                                                        \
    do {                                                                                                               \
        pel_reserve(ctx, vec, 1);                                                                                      \
        (vec)->at[(vec)->n++] = (__VA_ARGS__);                                                                         \
    } while (0)

/* ---- interned names: equal text, equal pointer ---- */
pel_name pel_intern(pel_ctx *ctx, const char *ptr, size_t len);
pel_name pel_intern_hashed(pel_ctx *ctx, const char *ptr, size_t len, uint32_t hash); /* hash: pel_hash(ptr, len) */
pel_name pel_intern_c(pel_ctx *ctx, const char *text);
static inline pel_name pel_intern_str(pel_ctx *ctx, pel_str text) { return pel_intern(ctx, text.ptr, text.len); }

/* ---- strings ---- */
pel_str pel_str_copy(pel_ctx *ctx, pel_str s);
pel_str pel_format(pel_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
