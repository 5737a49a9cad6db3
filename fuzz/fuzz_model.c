/* Model files of every format: the tree, as text and JSON, and the audit. What a callback reads must come out as what
 * lies in memory does, byte by byte. */
#include <pellucid.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_at(void *arg, uint64_t offset, char *to, size_t length) {
    memcpy(to, (const char *)arg + offset, length);
    return true;
}

/* All that there is to say about a file, in the arena of ctx. */
static pel_text look(pel_ctx *ctx, const pel_model_file *file, unsigned what, pel_error *error) {
    pel_text out = { "", 0 };
    *error = (pel_error){ .code = PEL_E_OK };
    if (what == 0) pellucid_tree(ctx, file, NULL, &out, error);
    if (what == 1)
        pellucid_tree(ctx, file, &(pel_view_options){ .view = PEL_VIEW_JSON, .filter = "*weight" }, &out, error);
    if (what == 2) pellucid_audit(ctx, file, &(pel_audit_options){ .as_json = true }, &out, NULL, error);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_limits limits = { .memory = (size_t)256 << 20 };
    pel_ctx *ctx = pellucid_open(&limits), *far_ctx = pellucid_open(&limits);
    for (unsigned what = 0; what < 3; what++) {
        pel_model_source source = { .size = size, .read_at = read_at, .arg = (void *)(uintptr_t)data };
        pel_model_file file = { .name = { "model", 5 }, .bytes = { (const char *)data, size } };
        pel_model_file far = { .name = { "model", 5 }, .source = &source };
        pel_error error, far_error;
        pel_text out = look(ctx, &file, what, &error), far_out = look(far_ctx, &far, what, &far_error);
        bool is_equal = out.len == far_out.len && memcmp(out.ptr, far_out.ptr, out.len) == 0 &&
                        strcmp(error.message, far_error.message) == 0;
        if (!is_equal && error.code != PEL_E_MEMORY && far_error.code != PEL_E_MEMORY) abort();
        pellucid_reset(ctx);
        pellucid_reset(far_ctx);
    }
    pellucid_close(ctx);
    pellucid_close(far_ctx);
    return 0;
}
