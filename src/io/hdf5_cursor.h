/* Windows of an HDF5 file: every byte is taken through one, and none goes beyond the file. */
#ifndef PEL_IO_HDF5_CURSOR_H
#define PEL_IO_HDF5_CURSOR_H

#include "base/map.h"
#include "io/bytes.h"
#include "io/finding.h"
#include "io/source.h"

#define PEL_H5_MAX_OBJECTS 200000
#define PEL_H5_NOWHERE UINT64_MAX

typedef struct pel_h5_reader {
    pel_ctx *ctx;
    pel_input input;
    uint64_t start; /* of the input in the file */
    pel_findings *findings;
    unsigned offset_size, length_size;
    uint32_t n_objects;
    uint64_t steps;
    pel_map seen; /* address of an object header -> 1: hard links may make cycles */
} pel_h5_reader;

typedef struct pel_h5_cursor {
    pel_h5_reader *r;
    uint64_t at, end;
} pel_h5_cursor;

_Noreturn static inline void pel_h5_fail(const pel_h5_reader *r, uint64_t at, const char *what) {
    pel_throw(r->ctx, PEL_E_FORMAT, at, "HDF5: %s", what);
}

static inline pel_h5_cursor pel_h5_window(pel_h5_reader *r, uint64_t at, uint64_t size, const char *what) {
    if (++r->steps > 4 * PEL_H5_MAX_OBJECTS) pel_h5_fail(r, at, "there is no end to its parts");
    if (!pel_input_has(&r->input, at, size))
        pel_throw(r->ctx, PEL_E_FORMAT, at, "HDF5: %s lies outside of the file", what);
    return (pel_h5_cursor){ r, at, at + size };
}

static inline const char *pel_h5_take(pel_h5_cursor *c, uint64_t size) {
    if (size > c->end - c->at) pel_h5_fail(c->r, c->at, "truncated: a part ends too early");
    const char *at = pel_input_view(c->r->ctx, &c->r->input, c->at, size).ptr;
    c->at += size;
    return at;
}

static inline uint64_t pel_h5_number(pel_h5_cursor *c, unsigned size) {
    const unsigned char *at = (const unsigned char *)pel_h5_take(c, size);
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* All bits set: there is none. */
static inline uint64_t pel_h5_address(pel_h5_cursor *c) {
    uint64_t value = pel_h5_number(c, c->r->offset_size);
    return c->r->offset_size < 8 && value == ((uint64_t)1 << 8 * c->r->offset_size) - 1 ? PEL_H5_NOWHERE : value;
}

static inline uint64_t pel_h5_length(pel_h5_cursor *c) { return pel_h5_number(c, c->r->length_size); }

static inline void pel_h5_expect(pel_h5_cursor *c, const char *signature) {
    if (memcmp(pel_h5_take(c, 4), signature, 4) != 0)
        pel_throw(c->r->ctx, PEL_E_FORMAT, c->at - 4, "HDF5: %s was expected here", signature);
}

/* The messages (links, attributes) of an object that has many: they lie in a heap, in the order of a B-tree. */
typedef enum pel_h5_dense_kind { PEL_H5_DENSE_LINKS = 5, PEL_H5_DENSE_ATTRIBUTES = 8 } pel_h5_dense_kind;
typedef void pel_h5_visit(void *arg, pel_h5_cursor message);
void pel_h5_each_dense(pel_h5_reader *r, pel_h5_dense_kind kind, uint64_t heap, uint64_t tree, pel_h5_visit *visit,
                       void *arg);

#endif
