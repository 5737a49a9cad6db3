/* Pickles: any bytes give a graph, complete or up to the fault, that can be shown. */
#include "fuzz_reader.h"

#include "io/pickle.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    const pel_pickle *pickle = pel_pickle_read(ctx, *(pel_str *)arg, 0, PEL_STR("x"), &findings);
    pel_buf out = pel_buf_in(ctx);
    if (pickle->root) pel_pickled_show(&out, pickle->root);
    for (uint32_t i = 0; i < pickle->calls.n && i < 20; i++) pel_pickled_show(&out, pickle->calls.at[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
