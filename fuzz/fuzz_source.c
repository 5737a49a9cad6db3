/* Python source: whatever the bytes, an error or a tree; and a tree that was printed must read and print the same
 * again. The first byte picks the version of Python. */
#include <pellucid.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    int python = PEL_PYTHON_MIN + data[0] % (PEL_PYTHON_MAX - PEL_PYTHON_MIN + 1);
    pel_text source = { (const char *)data + 1, size - 1 }, json, once, twice;
    pel_error error;
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = (size_t)1 << 30 });
    pel_format_options options = { .python = python, .width = 60 };
    if (pellucid_ast(ctx, source, &(pel_ast_options){ .python = python }, &json, &error)) {
        if (pellucid_format(ctx, source, &options, &once, &error)) {
            if (!pellucid_format(ctx, once, &options, &twice, &error)) abort();
            if (once.len != twice.len || memcmp(once.ptr, twice.ptr, once.len) != 0) abort();
        }
    } else {
        pellucid_source_line(ctx, source, error.line);
    }
    pellucid_close(ctx);
    return 0;
}
