/* MessagePack, and Flax on top of it: any bytes give values, or an error. */
#include "fuzz_reader.h"

#include "io/msgpack.h"
#include "load/load.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_str bytes = *(pel_str *)arg;
    pel_loaded out = { 0 };
    pel_is_msgpack(bytes);
    pel_load_flax(ctx, &out, PEL_STR("model"), bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
