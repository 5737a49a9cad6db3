/* LZ4 frames: blocks of literals and of copies from what came before. */
#include "io/bytes.h"
#include "io/unpack.h"

enum { FLAG_DICTIONARY = 1, FLAG_CONTENT_SUM = 4, FLAG_SIZE = 8, FLAG_BLOCK_SUM = 16, FLAG_INDEPENDENT = 32 };

#define FRAME 0x184D2204u
#define SKIPPED 0x184D2A50u /* and fifteen more */

_Noreturn static void fail(pel_ctx *ctx, uint64_t at, const char *what) {
    pel_throw(ctx, PEL_E_FORMAT, at, "lz4: %s", what);
}

/* A length of 15 goes on in the next bytes, until one is not 255. */
static uint64_t take_length(pel_ctx *ctx, pel_str block, uint64_t *next, uint64_t at, uint64_t length) {
    if (length != 15) return length;
    unsigned char more;
    do {
        if (*next == block.len) fail(ctx, at + *next, "a length is truncated");
        more = (unsigned char)block.ptr[(*next)++];
        length += more;
    } while (more == 255);
    return length;
}

/* first: where in the output copies may begin. */
static void unpack_block(pel_ctx *ctx, pel_str block, uint64_t at, pel_sink *out, uint64_t first) {
    for (uint64_t next = 0; next < block.len;) {
        unsigned token = (unsigned char)block.ptr[next++];
        uint64_t literals = take_length(ctx, block, &next, at, token >> 4);
        if (!pel_within(block, next, literals)) fail(ctx, at + next, "literals go beyond their block");
        pel_sink_put(out, pel_str_cut(block, next, next + literals), at + next);
        next += literals;
        if (next == block.len) return; /* the last ones have no copy */
        if (!pel_within(block, next, 2)) fail(ctx, at + next, "truncated");
        uint64_t distance = pel_le16(block.ptr + next);
        next += 2;
        if (!distance || distance > out->n - first) fail(ctx, at + next, "a copy from before the start");
        uint64_t length = take_length(ctx, block, &next, at, token & 15) + 4;
        pel_sink_repeat(out, distance, length, at + next);
    }
}

static uint64_t unpack_frame(pel_ctx *ctx, pel_str packed, uint64_t at, pel_sink *out) {
    if (!pel_within(packed, at, 7)) fail(ctx, at, "truncated");
    unsigned flags = (unsigned char)packed.ptr[at + 4];
    uint64_t begin = out->n;
    if (flags >> 6 != 1) pel_throw(ctx, PEL_E_UNSUPPORTED, at + 4, "lz4: version %u of the format", flags >> 6);
    if (flags & FLAG_DICTIONARY) pel_throw(ctx, PEL_E_UNSUPPORTED, at + 4, "lz4: a dictionary that is not in the file");
    at += flags & FLAG_SIZE ? 15 : 7;
    for (;;) {
        if (!pel_within(packed, at, 4)) fail(ctx, at, "truncated");
        uint32_t size = pel_le32(packed.ptr + at);
        at += 4;
        if (!size) break;
        bool is_stored = size >> 31;
        size &= 0x7FFFFFFF;
        uint64_t have = at < packed.len ? packed.len - at : 0;
        pel_str block = pel_str_cut(packed, at, at + (size < have ? size : have));
        if (is_stored)
            pel_sink_put(out, block, at);
        else
            unpack_block(ctx, block, at, out, flags & FLAG_INDEPENDENT ? out->n : begin);
        if (size > have) fail(ctx, packed.len, "truncated");
        at += size + (flags & FLAG_BLOCK_SUM ? 4 : 0);
    }
    return at + (flags & FLAG_CONTENT_SUM ? 4 : 0);
}

void pel_unlz4(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    for (uint64_t at = 0; pel_within(packed, at, 8) || !at;) {
        uint32_t mark = packed.len >= at + 4 ? pel_le32(packed.ptr + at) : 0;
        if (mark == FRAME) {
            at = unpack_frame(ctx, packed, at, out);
        } else if ((mark & 0xFFFFFFF0) == SKIPPED) {
            uint64_t size = 8 + (uint64_t)pel_le32(packed.ptr + at + 4);
            if (!pel_within(packed, at, size)) fail(ctx, at, "truncated");
            at += size;
        } else {
            fail(ctx, at, "something stands where a frame should begin");
        }
        out->end = at;
    }
}
