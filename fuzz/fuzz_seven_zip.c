/* 7z: any bytes give names, or an error that says where. */
#include "fuzz_reader.h"

#include "io/seven_zip.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_str bytes = *(pel_str *)arg;
    if (!pel_is_7z(bytes)) return;
    const pel_7z *list = pel_7z_list(ctx, bytes);
    PEL_ASSERT(list->names.n <= list->n && list->names.n <= PEL_7Z_NAMES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
