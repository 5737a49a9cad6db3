/* GGUF: any bytes give a checked table or an error. */
#include "fuzz_reader.h"

#include "io/gguf.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_input input = pel_input_of(*(pel_str *)arg);
    pel_gguf_read(ctx, &input, &findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
