/* Records and sorted tables of TensorFlow: any bytes give rows or an error. */
#include "fuzz_reader.h"

#include "io/tfrecord.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_str bytes = *(pel_str *)arg, record;
    for (uint64_t at = 0; bytes.len && bytes.ptr[0] % 2 && pel_tfrecord_next(ctx, bytes, &at, &record, &findings);)
        continue;
    pel_table_read(ctx, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
