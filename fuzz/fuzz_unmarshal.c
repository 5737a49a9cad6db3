/* Marshalled bytes: whatever they are, an error or a code object whose every instruction can be shown. The first byte
 * picks the version of Python. */
#include <pellucid.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    pel_dis_options options = { .python = PEL_PYTHON_MIN + data[0] % (PEL_PYTHON_MAX - PEL_PYTHON_MIN + 1) };
    pel_text bytes = { (const char *)data + 1, size - 1 }, out;
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = (size_t)1 << 30 });
    if (pellucid_dis(ctx, bytes, &options, &out, NULL)) {
        options.as_json = true;
        pellucid_dis(ctx, bytes, &options, &out, NULL);
    }
    pellucid_close(ctx);
    return 0;
}
