/* What readers read from: a size, and ranges of bytes.
 *
 * Bytes that lie in memory (given, or a mapped file) are views of it: nothing is copied. Other bytes come from a
 * callback, block by block; blocks are kept in the arena, so a range is asked for once, and every view stays valid as
 * long as the ctx. A reader that asks only for the ranges it needs works on a file that is somewhere else.
 *
 * The type is not called pel_source: that is Python source (python/source.h). */
#ifndef PEL_IO_SOURCE_H
#define PEL_IO_SOURCE_H

#include "base/ctx.h"

#define PEL_INPUT_BLOCK ((uint64_t)64 << 10) /* bytes that a callback is asked for, or a multiple of it */

typedef struct pel_input_cache pel_input_cache;

typedef struct pel_input {
    uint64_t size;
    const char *near;       /* all bytes, if they lie in memory; NULL: the cache has them, or gets them */
    uint64_t start;         /* of this input in what the callback reads */
    pel_input_cache *cache; /* shared by all parts of one file */
} pel_input;

/* Bytes in memory. */
static inline pel_input pel_input_of(pel_str bytes) {
    return (pel_input){ .size = bytes.len, .near = bytes.ptr ? bytes.ptr : "" };
}
/* What a callback reads. */
pel_input pel_input_from(pel_ctx *ctx, pel_model_source *source);
/* A file of the public API: its bytes, or its source. */
const pel_input *pel_input_of_file(pel_ctx *ctx, const pel_model_file *file);
/* A part of it, as a file of its own: a member of an archive. Throws PEL_E_FORMAT if that lies outside. */
pel_input pel_input_part(pel_ctx *ctx, const pel_input *input, uint64_t offset, uint64_t size);

/* Whether bytes [offset, offset + size) lie within the input. */
static inline bool pel_input_has(const pel_input *input, uint64_t offset, uint64_t size) {
    return offset <= input->size && size <= input->size - offset;
}

/* Bytes [offset, offset + size). Throws PEL_E_FORMAT if they lie outside, PEL_E_READ if they can't be had. */
pel_str pel_input_view(pel_ctx *ctx, const pel_input *input, uint64_t offset, uint64_t size);
/* The first block, or all of a smaller input. */
pel_str pel_input_head(pel_ctx *ctx, const pel_input *input);
/* Whether what only says where the bytes of tensors lie is to be left unread. */
bool pel_input_without_places(const pel_input *input);
/* Everything, for readers that can't do with less: far bytes all come into memory. */
pel_str pel_input_whole(pel_ctx *ctx, const pel_input *input);
/* Copies bytes without keeping them: for the content of tensors, which is large and read once. */
void pel_input_copy(pel_ctx *ctx, const pel_input *input, uint64_t offset, char *to, size_t size);

/* Throws PEL_E_READ if any read of this input has failed, even one whose error somebody caught: nothing that was
 * found out without those bytes may count. */
void pel_input_check(pel_ctx *ctx, const pel_input *input);

#endif
