/* Skeletons of trace files: whatever a log says happened, an error or a text. */
#include "trace/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_skeleton(pel_ctx *ctx, void *arg) {
    const pel_str *bytes = arg;
    pel_skeleton made;
    pel_synthesise(ctx, pel_log_read(ctx, *bytes), &made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_ctx *ctx = pel_ctx_new((size_t)1 << 29);
    if (!ctx) return 0;
    pel_str bytes = { (const char *)data, size };
    pel_err err;
    pel_attempt(ctx, write_skeleton, &bytes, &err);
    pel_ctx_free(ctx);
    return 0;
}
