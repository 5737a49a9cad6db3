/* Tar archives: any bytes give a list of members or an error. */
#include "fuzz_reader.h"

#include "io/tar.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_tar_read(ctx, *(pel_str *)arg, &findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
