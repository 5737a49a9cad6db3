/* TensorFlow Lite: any bytes as a flatbuffer of that schema. */
#include "fuzz_reader.h"

#include "load/load.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_model_file file = { .name = { "x", 1 } };
    pel_loaded loaded = { .file = &file };
    pel_load_tflite(ctx, &loaded, PEL_STR("x"), *(pel_str *)arg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
