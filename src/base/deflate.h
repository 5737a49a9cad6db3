/* Bytes compressed by zlib's format, as base64 text: how programs that we write carry constant tensors. */
#ifndef PEL_BASE_DEFLATE_H
#define PEL_BASE_DEFLATE_H

#include "base/ctx.h"

pel_str pel_zlib_base64(pel_ctx *ctx, pel_str bytes);

#endif
