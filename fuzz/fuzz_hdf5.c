/* HDF5: any bytes give a tree of groups or an error. */
#include "fuzz_reader.h"

#include "io/hdf5.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_input input = pel_input_of(*(pel_str *)arg);
    pel_h5_read(ctx, &input, &findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
