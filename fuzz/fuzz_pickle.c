/* Pickles: any bytes give a graph, complete or up to the fault, that can be shown; and the scan that tells pickles from
 * other files misses none that the machine can read or that calls something. */
#include "fuzz_reader.h"

#include "io/pickle.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    const pel_pickle *pickle = pel_pickle_read(ctx, *(pel_str *)arg, 0, PEL_STR("x"), &findings);
    pel_buf out = pel_buf_in(ctx);
    if (pickle->root) pel_pickled_show(&out, pickle->root);
    for (uint32_t i = 0; i < pickle->calls.n && i < 20; i++) pel_pickled_show(&out, pickle->calls.at[i]);
    pel_input input = pel_input_of(*(pel_str *)arg);
    pel_pickle_look look = pel_pickle_scan(ctx, &input);
    PEL_ASSERT(!pickle->calls.n || look != PEL_PICKLE_NONE);
    PEL_ASSERT(pickle->failed || pickle->arrays.n || look != PEL_PICKLE_NONE);
    uint64_t budget = 1 << 20;
    pel_str bytes;
    if (pickle->root) pel_pickled_bytes(ctx, pickle->root, &budget, &bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
