#include "python/print.h"

void pel_print(pel_ctx *ctx, pel_node *node, const pel_print_options *options, pel_buf *out) {
    (void)node, (void)options, (void)out;
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "this build has no printer yet");
}
