/* Model files of every format: the tree, as text and JSON, and the audit. */
#include <pellucid.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_model_file file = { .name = { "model", 5 }, .bytes = { (const char *)data, size } };
    pel_text out;
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = (size_t)256 << 20 });
    pellucid_tree(ctx, &file, NULL, &out, NULL);
    pellucid_reset(ctx);
    pellucid_tree(ctx, &file, &(pel_view_options){ .view = PEL_VIEW_JSON, .filter = "*weight" }, &out, NULL);
    pellucid_reset(ctx);
    pellucid_audit(ctx, &file, NULL, &out, NULL, NULL);
    pellucid_close(ctx);
    return 0;
}
