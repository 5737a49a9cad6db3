#include "base/ctx.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h> /* madvise */
#endif

/* ---- the arena ---- */

#define FIRST_BLOCK (32u << 10)
#define LARGEST_BLOCK (4u << 20)
#define HUGE_PAGE (2u << 20)
/* Of 32-bit addresses a quarter: a default larger than all of them would be 0. */
#define DEFAULT_LIMIT (SIZE_MAX > UINT32_MAX ? (size_t)(UINT64_C(4) << 30) : (size_t)1 << 30)

struct pel_block {
    pel_block *older;
    size_t size;
    max_align_t data[];
};

static long allocations_until_failure; /* testing only; see pel_fail_allocation */

long pel_fail_allocation(long nth) {
    long left = allocations_until_failure;
    allocations_until_failure = nth;
    return left;
}

/* Under AddressSanitizer, and when failures are tested, each allocation is a block of its own: the sanitizer
 * sees a step over the end of any of them, and any of them can be the one that fails. */
#if defined(__SANITIZE_ADDRESS__)
#define BLOCKS_OF_ONE true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOCKS_OF_ONE true
#endif
#endif
#ifndef BLOCKS_OF_ONE
#define BLOCKS_OF_ONE (allocations_until_failure > 0)
#endif

static void *ask_malloc(size_t size) {
    if (allocations_until_failure > 0 && --allocations_until_failure == 0) return NULL;
    return malloc(size);
}

/* Large blocks lie in large pages, where the system has them: a process full of small ones takes long to copy (scan
 * forks one for each source), to fill, and to find anything in. */
static void *ask_block(size_t size) {
#ifdef MADV_HUGEPAGE
    void *at;
    if (size >= HUGE_PAGE && !BLOCKS_OF_ONE) {
        if (posix_memalign(&at, HUGE_PAGE, size)) return NULL;
        madvise(at, size, MADV_HUGEPAGE);
        return at;
    }
#endif
    return ask_malloc(size);
}

pel_ctx *pel_ctx_new(size_t may_take) {
    pel_ctx *ctx = ask_malloc(sizeof *ctx);
    if (!ctx) return NULL;
    memset(ctx, 0, sizeof *ctx);
    ctx->may_take = may_take ? may_take : DEFAULT_LIMIT;
    return ctx;
}

static void free_blocks(pel_ctx *ctx) {
    for (pel_block *block = ctx->blocks, *older; block; block = older) {
        older = block->older;
        free(block);
    }
}

void pel_ctx_reset(pel_ctx *ctx) {
    free_blocks(ctx);
    *ctx = (pel_ctx){ .may_take = ctx->may_take };
}

void pel_ctx_free(pel_ctx *ctx) {
    if (!ctx) return;
    free_blocks(ctx);
    free(ctx);
}

static void *alloc_from_new_block(pel_ctx *ctx, size_t size) {
    size_t want = ctx->taken < FIRST_BLOCK ? FIRST_BLOCK : ctx->taken;
    if (want > LARGEST_BLOCK - sizeof(pel_block)) want = LARGEST_BLOCK - sizeof(pel_block);
    bool is_large = BLOCKS_OF_ONE || size > want / 4; /* a block of its own: the current one keeps its free end */
    if (is_large) want = size;
    if (want > ctx->may_take || ctx->taken > ctx->may_take - want)
        pel_throw(ctx, PEL_E_MEMORY, 0, "this needs more than the limit of %zu bytes of memory", ctx->may_take);
    pel_block *block = ask_block(sizeof *block + want);
    if (!block) pel_throw(ctx, PEL_E_MEMORY, 0, "out of memory");
    block->size = want;
    block->older = ctx->blocks;
    ctx->blocks = block;
    ctx->taken += want;
    char *data = (char *)block->data;
    if (!is_large) {
        ctx->next = data + size;
        ctx->limit = data + want;
    }
    return data;
}

void *pel_alloc_raw(pel_ctx *ctx, uint64_t wanted) {
    const size_t align = _Alignof(max_align_t) - 1;
    if (wanted > SIZE_MAX - align)
        pel_throw(ctx, PEL_E_MEMORY, 0, "this needs more than the limit of %zu bytes of memory", ctx->may_take);
    size_t size = wanted ? ((size_t)wanted + align) & ~align : align + 1; /* never NULL, not even for nothing */
    if (size <= (size_t)(ctx->limit - ctx->next)) {
        char *at = ctx->next;
        ctx->next += size;
        return at;
    }
    return alloc_from_new_block(ctx, size);
}

void *pel_alloc(pel_ctx *ctx, uint64_t size) {
    void *at = pel_alloc_raw(ctx, size);
    return size ? memset(at, 0, (size_t)size) : at;
}

void *pel_alloc_array(pel_ctx *ctx, uint64_t count, size_t size) {
    uint64_t total;
    if (__builtin_mul_overflow(count, size, &total)) pel_throw(ctx, PEL_E_MEMORY, 0, "allocation size overflows");
    return pel_alloc(ctx, total);
}

void *pel_grow(pel_ctx *ctx, void *at, uint32_t n, uint32_t *cap, size_t size) {
    if (*cap >= UINT32_MAX / 2) pel_throw(ctx, PEL_E_TOO_BIG, 0, "a table has more than %u rows", *cap);
    uint32_t larger = *cap ? *cap * 2 : 8;
    void *moved = pel_alloc_array(ctx, larger, size);
    if (n) memcpy(moved, at, n * size);
    *cap = larger;
    return moved;
}

/* ---- errors ---- */

struct pel_catch {
    pel_catch *outer;
    jmp_buf jump;
};

bool pel_attempt(pel_ctx *ctx, void (*body)(pel_ctx *, void *), void *arg, pel_err *err) {
    pel_catch here = { .outer = ctx->innermost };
    ctx->innermost = &here;
    bool returned = setjmp(here.jump) == 0;
    if (returned) body(ctx, arg);
    ctx->innermost = here.outer;
    if (!returned) {
        *err = ctx->err;
        ctx->err = (pel_err){ .code = PEL_E_OK };
    }
    return returned;
}

void pel_vthrow(pel_ctx *ctx, pel_code code, uint64_t at, uint32_t line, uint32_t column, const char *format,
                va_list args) {
    if (ctx->err.code == PEL_E_OK) {
        ctx->err.code = code;
        ctx->err.at = at;
        ctx->err.line = line;
        ctx->err.column = column;
        vsnprintf(ctx->err.what, sizeof ctx->err.what, format, args);
    }
    if (!ctx->innermost) PEL_BUG("an error was thrown outside of pel_attempt");
    longjmp(ctx->innermost->jump, 1);
}

void pel_throw(pel_ctx *ctx, pel_code code, uint64_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(ctx, code, at, 0, 0, format, args);
}

void pel_throw_at(pel_ctx *ctx, pel_code code, uint64_t at, uint32_t line, uint32_t column, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pel_vthrow(ctx, code, at, line, column, format, args);
}

const char *pel_code_text(pel_code code) {
    switch (code) {
#define X(number, name, text)                                                                                          \
    case PEL_E_##name: return text;
        PEL_CODES(X)
#undef X
    }
    return "unknown error";
}

void pel_bug(const char *file, int line, const char *what) {
    fprintf(stderr, "pellucid: internal error at %s:%d: %s\n", file, line, what);
    abort();
}

/* ---- interned names ---- */

static void grow_names(pel_ctx *ctx) {
    uint32_t cap = ctx->names_cap ? ctx->names_cap * 2 : 1024;
    const pel_ident **slots = pel_alloc_array(ctx, cap, sizeof *slots);
    for (uint32_t i = 0; i < ctx->names_cap; i++) {
        const pel_ident *name = ctx->names[i];
        if (!name) continue;
        uint32_t slot = name->hash & (cap - 1);
        while (slots[slot]) slot = (slot + 1) & (cap - 1);
        slots[slot] = name;
    }
    ctx->names = slots;
    ctx->names_cap = cap;
}

pel_name pel_intern_hashed(pel_ctx *ctx, const char *ptr, size_t len, uint32_t hash) {
    if (ctx->n_names * 2 >= ctx->names_cap) grow_names(ctx);
    uint32_t slot = hash & (ctx->names_cap - 1);
    for (const pel_ident *name; (name = ctx->names[slot]); slot = (slot + 1) & (ctx->names_cap - 1))
        if (name->hash == hash && name->len == len && memcmp(name->text, ptr, len) == 0) return name;
    if (len > UINT32_MAX - sizeof(pel_ident) - 1) pel_throw(ctx, PEL_E_TOO_BIG, 0, "a name of %zu bytes", len);
    pel_ident *added = pel_alloc_raw(ctx, sizeof *added + len + 1);
    added->hash = hash;
    added->len = (uint32_t)len;
    if (len) memcpy(added->text, ptr, len);
    added->text[len] = 0;
    ctx->names[slot] = added;
    ctx->n_names++;
    return added;
}

pel_name pel_intern(pel_ctx *ctx, const char *ptr, size_t len) {
    return pel_intern_hashed(ctx, ptr, len, pel_hash(ptr, len));
}

pel_name pel_intern_c(pel_ctx *ctx, const char *text) { return pel_intern(ctx, text, strlen(text)); }

/* ---- strings ---- */

pel_str pel_str_copy(pel_ctx *ctx, pel_str s) {
    char *copy = pel_alloc_raw(ctx, s.len + 1);
    if (s.len) memcpy(copy, s.ptr, s.len);
    copy[s.len] = 0;
    return (pel_str){ copy, s.len };
}

pel_str pel_format(pel_ctx *ctx, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) pel_throw(ctx, PEL_E_TOO_BIG, 0, "text too long to format");
    char *text = pel_alloc_raw(ctx, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return (pel_str){ text, (size_t)len };
}

#ifdef _WIN32
/* By a hash that rolls along, since the C library has no memmem; equal hashes are compared byte by byte. */
const char *pel_str_find(pel_str text, pel_str part) {
    const uint64_t base = 1099511628211u;
    uint64_t wanted = 0, here = 0, highest = 1;
    if (part.len > text.len) return NULL;
    for (size_t i = 0; i < part.len; i++) {
        wanted = wanted * base + (unsigned char)part.ptr[i];
        here = here * base + (unsigned char)text.ptr[i];
        if (i) highest *= base;
    }
    for (size_t at = 0;; at++) {
        if (here == wanted && memcmp(text.ptr + at, part.ptr, part.len) == 0) return text.ptr + at;
        if (at + part.len == text.len) return NULL;
        here = (here - (unsigned char)text.ptr[at] * highest) * base + (unsigned char)text.ptr[at + part.len];
    }
}
#else
const char *pel_str_find(pel_str text, pel_str part) {
    if (!part.len) return text.ptr;
    return part.len > text.len ? NULL : memmem(text.ptr, text.len, part.ptr, part.len);
}
#endif

int pel_str_cmp(pel_str a, pel_str b) {
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.ptr, b.ptr, shorter) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}
