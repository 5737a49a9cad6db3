/* Source back from model files: archives of TorchScript and torch.export. What is written must parse: the printer's
 * tree was checked, so anything else is a fault of ours. */
#include <pellucid.h>

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_limits limits = { .memory = (size_t)256 << 20 };
    pel_ctx *ctx = pellucid_open(&limits);
    pel_model_file file = { .name = { "model", 5 }, .bytes = { (const char *)data, size } };
    pel_text out = { "", 0 }, tree = { "", 0 };
    pel_error error = { .code = PEL_E_OK };
    if (pellucid_recover(ctx, &file, &out, &error)) {
        bool parses = pellucid_ast(ctx, out, NULL, &tree, &error);
        if (!parses && error.code != PEL_E_MEMORY) abort();
    }
    pellucid_close(ctx);
    return 0;
}
