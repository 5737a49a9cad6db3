/* Protocol buffers: any bytes as ONNX, as a graph, as a SavedModel; the first byte picks. */
#include "fuzz_reader.h"

#include "load/load.h"

static void read_all(pel_ctx *ctx, void *arg) {
    static void (*const loaders[])(pel_ctx *, pel_loaded *, pel_str, pel_str) = { pel_load_onnx, pel_load_graphdef,
                                                                                  pel_load_saved_model };
    pel_str bytes = *(pel_str *)arg;
    pel_model_file file = { .name = { "x", 1 } };
    pel_loaded loaded = { .file = &file };
    if (bytes.len)
        loaders[(unsigned char)bytes.ptr[0] % PEL_COUNT(loaders)](ctx, &loaded, PEL_STR("x"), pel_str_from(bytes, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
