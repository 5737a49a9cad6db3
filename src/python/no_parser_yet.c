#include "python/parse.h"

pel_source pel_source_decode(pel_ctx *ctx, pel_str name, pel_str bytes) {
    (void)ctx;
    return (pel_source){ name, bytes };
}
pel_node *pel_parse(pel_ctx *ctx, const pel_source *source, pel_version version) {
    (void)source;
    (void)version;
    pel_throw_at(ctx, PEL_E_UNSUPPORTED, 0, 1, 0, "this build has no parser yet");
}
void pel_ast_json(pel_ctx *ctx, const pel_node *root, pel_version version, pel_buf *out) {
    (void)ctx, (void)root, (void)version, (void)out;
}
void pel_ast_text(pel_ctx *ctx, const pel_node *root, pel_buf *out) { (void)ctx, (void)root, (void)out; }
