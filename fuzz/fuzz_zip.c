/* Zip archives: any bytes give a directory or an error, and every member its content or an error. */
#include "fuzz_reader.h"

#include "io/zip.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_input input = pel_input_of(*(pel_str *)arg);
    const pel_zip *zip = pel_zip_read(ctx, &input, &findings);
    for (uint32_t i = 0; i < zip->members.n && i < 100; i++)
        pel_zip_content(ctx, zip, &zip->members.at[i], 1 << 20, &findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
