/* Trace files: whatever the bytes are, an error or a log that can be shown, and that says the same when it is written
 * and read again. */
#include "trace/log/log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct trip {
    pel_str bytes;
    pel_buf first, second;
} trip;

static void read_and_dump(pel_ctx *ctx, void *arg) {
    trip *t = arg;
    pel_log *log = pel_log_read(ctx, t->bytes);
    pel_log_dump(ctx, log, &t->first);
    pel_buf again = pel_buf_in(ctx);
    pel_log_write(ctx, log, &again);
    pel_log_dump(ctx, pel_log_read(ctx, pel_buf_str(&again)), &t->second);
    if (!pel_str_eq(pel_buf_str(&t->first), pel_buf_str(&t->second))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_ctx *ctx = pel_ctx_new((size_t)1 << 29);
    if (!ctx) return 0;
    trip t = { .bytes = { (const char *)data, size }, .first = pel_buf_in(ctx), .second = pel_buf_in(ctx) };
    pel_err err;
    pel_attempt(ctx, read_and_dump, &t, &err);
    pel_ctx_free(ctx);
    return 0;
}
