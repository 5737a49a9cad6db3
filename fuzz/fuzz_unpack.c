/* Packed streams of every kind: any bytes give content, complete or up to the fault, and never more than the limit. */
#include "fuzz_reader.h"

#include "io/unpack.h"

static void read_all(pel_ctx *ctx, void *arg) {
    uint64_t end;
    bool failed;
    pel_err why;
    pel_str made = pel_unpack(ctx, *(pel_str *)arg, (uint64_t)1 << 20, &end, &failed, &why);
    PEL_ASSERT(made.len <= (size_t)1 << 20 && end <= ((pel_str *)arg)->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
