/* Bytes compressed by zlib's format, as base64 text: how programs that we write carry constant tensors. */
#ifndef PEL_BASE_DEFLATE_H
#define PEL_BASE_DEFLATE_H

#include "base/ctx.h"

/* How the format tells lengths and distances: the smallest of each symbol, and the bits that follow it. */
enum { PEL_LENGTHS = 29, PEL_DISTANCES = 30 };
extern const uint16_t pel_length_base[PEL_LENGTHS], pel_distance_base[PEL_DISTANCES];
extern const uint8_t pel_length_bits[PEL_LENGTHS], pel_distance_bits[PEL_DISTANCES];

pel_str pel_zlib_base64(pel_ctx *ctx, pel_str bytes);

#endif
