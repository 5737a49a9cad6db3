/* DEFLATE (RFC 1951) and its checksums. */
#ifndef PEL_IO_INFLATE_H
#define PEL_IO_INFLATE_H

#include "io/unpack.h"

/* Inflates packed into exactly size bytes at out. at: offset of packed in its file, for messages. Throws PEL_E_FORMAT
 * if the stream is broken, gives more or fewer bytes, or does not end with packed. */
void pel_inflate(pel_ctx *ctx, pel_str packed, uint64_t at, char *out, uint64_t size);

bool pel_is_gzip(pel_str bytes);
bool pel_is_zlib(pel_str bytes);
/* A gzip stream, all of its members, or a zlib stream. As the decoders of io/unpack.h. */
void pel_gunzip(pel_ctx *ctx, pel_str packed, pel_sink *out);

uint32_t pel_crc32(pel_str s);  /* of zip */
uint32_t pel_crc32c(pel_str s); /* of TensorFlow's records */

#endif
