/* Sources for the interpreter: whatever a program does, the scan ends within its budgets, and touches nothing. The
 * first byte picks what is asked for. There are no files: imports find the models of libraries alone. */
#include <pellucid.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool no_file(void *arg, pel_text path, pel_text *bytes) {
    (void)arg, (void)path, (void)bytes;
    return false;
}
static int nothing(void *arg, pel_text path) {
    (void)arg, (void)path;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    pel_text source = { (const char *)data + 1, size - 1 }, out;
    const pel_scan_options options = { .files = { NULL, no_file, nothing, no_file },
                                       .as_json = data[0] & 1,
                                       .forward = data[0] & 2   ? "nx10"
                                                  : data[0] & 4 ? "2x3x28x28"
                                                                : NULL,
                                       .as_source = (data[0] & 24) == 24,
                                       .classes = true,
                                       .steps = 100000 };
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = (size_t)256 << 20 });
    pel_scanner *scanner;
    pel_scan_result result;
    pel_error error;
    if (pellucid_scan_open(ctx, &options, &scanner, &error))
        pellucid_scan(scanner, data[0] & 32 ? NULL : "source.py", source, &out, &result, &error);
    pellucid_close(ctx);
    return 0;
}
