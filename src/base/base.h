/* What every file needs: fixed-width types, string slices, names. No function here allocates. */
#ifndef PEL_BASE_BASE_H
#define PEL_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A slice of bytes that somebody else owns. Never relies on a final NUL. */
typedef struct pel_str {
    const char *ptr;
    size_t len;
} pel_str;

#define PEL_STR(literal) ((pel_str){ (literal), sizeof(literal) - 1 })
#define PEL_FMT(s) (int)(s).len, (s).ptr /* for "%.*s" */

/* An interned identifier: two names are equal exactly if their pointers are. */
typedef struct pel_ident {
    uint32_t hash;
    uint32_t len;
    char text[]; /* NUL-terminated for the debugger's sake */
} pel_ident;
typedef const pel_ident *pel_name;

static inline pel_str pel_str_of(const char *text) { return (pel_str){ text, strlen(text) }; }
static inline pel_str pel_name_str(pel_name name) { return (pel_str){ name->text, name->len }; }

static inline bool pel_str_eq(pel_str a, pel_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}
static inline bool pel_str_is(pel_str a, const char *text) { return pel_str_eq(a, pel_str_of(text)); }
static inline bool pel_name_is(pel_name name, const char *text) {
    return name && pel_str_eq(pel_name_str(name), pel_str_of(text));
}
static inline bool pel_str_starts(pel_str s, pel_str prefix) {
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}
static inline bool pel_str_ends(pel_str s, pel_str suffix) {
    return s.len >= suffix.len && (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}
/* Offsets have 64 bits on every machine: a file may be larger than the memory. They are cut to the slice first. */
static inline pel_str pel_str_from(pel_str s, uint64_t start) {
    size_t from = start >= s.len ? s.len : (size_t)start;
    return (pel_str){ s.ptr + from, s.len - from };
}
static inline pel_str pel_str_cut(pel_str s, uint64_t start, uint64_t end) {
    size_t to = end >= s.len ? s.len : (size_t)end, from = start >= to ? to : (size_t)start;
    return (pel_str){ s.ptr + from, to - from };
}
/* A slice whose length is known to lie in memory: it was cut from there, or allocated. */
static inline pel_str pel_str_at(const char *ptr, uint64_t len) { return (pel_str){ ptr, (size_t)len }; }
int pel_str_cmp(pel_str a, pel_str b);
/* Where part first is in text, in time that grows with their lengths alone; NULL: nowhere. */
const char *pel_str_find(pel_str text, pel_str part);

/* FNV-1a, one byte at a time so that the tokeniser can compute it while it reads. */
#define PEL_HASH_START 2166136261u
static inline uint32_t pel_hash_step(uint32_t hash, unsigned char byte) { return (hash ^ byte) * 16777619u; }
static inline uint32_t pel_hash(const char *ptr, size_t len) {
    uint32_t hash = PEL_HASH_START;
    for (size_t i = 0; i < len; i++) hash = pel_hash_step(hash, (unsigned char)ptr[i]);
    return hash;
}

#define PEL_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
