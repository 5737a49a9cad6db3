/* Packed streams of every kind that model files come in. All decoders are our own and give what is before a fault.
 */
#ifndef PEL_IO_UNPACK_H
#define PEL_IO_UNPACK_H

#include "base/ctx.h"

/* Where a decoder writes: memory that grows up to a limit. */
typedef struct pel_sink {
    pel_ctx *ctx;
    char *at;
    uint64_t n, cap, limit;
    uint64_t end; /* of the last stream in the packed bytes: what follows belongs to nothing */
} pel_sink;

/* Makes room for n more bytes. Throws PEL_E_TOO_BIG beyond the limit; where: offset in the packed bytes. */
void pel_sink_room(pel_sink *sink, uint64_t n, uint64_t where);
static inline void pel_sink_byte(pel_sink *sink, char byte, uint64_t where) {
    if (sink->n == sink->cap) pel_sink_room(sink, 1, where);
    sink->at[sink->n++] = byte;
}
/* The bytes from `distance` before the end on, again. distance must be 1 to sink->n. */
void pel_sink_repeat(pel_sink *sink, uint64_t distance, uint64_t n, uint64_t where);
void pel_sink_put(pel_sink *sink, pel_str bytes, uint64_t where);

/* One decoder each: the whole of packed, streams in a row included. They throw PEL_E_FORMAT with the offset where the
 * stream is broken, PEL_E_UNSUPPORTED where it uses what is not read. Sums are not checked: who unpickles while he
 * unpacks has run everything before he learns that they are wrong. */
void pel_bunzip2(pel_ctx *ctx, pel_str packed, pel_sink *out);
void pel_unxz(pel_ctx *ctx, pel_str packed, pel_sink *out);
void pel_unlzma(pel_ctx *ctx, pel_str packed, pel_sink *out);  /* the format before xz, "lzma alone" */
void pel_unlzma2(pel_ctx *ctx, pel_str packed, pel_sink *out); /* its chunks alone, as archives have them */
void pel_unlz4(pel_ctx *ctx, pel_str packed, pel_sink *out);   /* frames */

/* "gzip", "zlib", "bzip2", "xz", "lzma", "lz4", by the first bytes; NULL: none of these. */
const char *pel_packing(pel_str bytes);
/* The same for streams whose first bytes say too little (zlib and lzma with unusual parameters): all of it must be one
 * stream, and it gives something. */
bool pel_may_be_packed(pel_str head); /* worth asking */
const char *pel_packing_of_whole(pel_ctx *ctx, pel_str packed);
/* What the stream gives, up to limit bytes. Of a broken one, what it gives before the fault. end: where the packed
 * bytes of a whole one end. */
pel_str pel_unpack(pel_ctx *ctx, pel_str packed, uint64_t limit, uint64_t *end, bool *failed, pel_err *why);

#endif
