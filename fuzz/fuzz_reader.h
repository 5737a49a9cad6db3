/* What the targets for one reader share. */
#ifndef PEL_FUZZ_READER_H
#define PEL_FUZZ_READER_H

#include "base/ctx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs read(ctx, &bytes); it may throw, and that is all that it may do. */
static inline int fuzz_reader(void (*read)(pel_ctx *ctx, void *bytes), const uint8_t *data, size_t size) {
    pel_str bytes = { (const char *)data, size };
    pel_ctx *ctx = pel_ctx_new((size_t)256 << 20);
    pel_err ignored;
    pel_attempt(ctx, read, &bytes, &ignored);
    pel_ctx_free(ctx);
    return 0;
}

#endif
