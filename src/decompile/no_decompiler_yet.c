#include "decompile/decompile.h"

const char *const pel_passes[] = { NULL };

pel_decompiled *pel_decompile(pel_ctx *ctx, const pel_code_object *code) {
    (void)code;
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "this build has no decompiler yet");
}

void pel_decompile_dump(pel_ctx *ctx, const pel_code_object *code, pel_str pass, pel_buf *out) {
    (void)code, (void)out;
    pel_throw(ctx, PEL_E_USAGE, 0, "there is no pass %.*s", PEL_FMT(pass));
}
