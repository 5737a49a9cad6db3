/* The passes in their order: a log becomes a file. */
#include "trace/program.h"

void pel_synthesise(pel_ctx *ctx, const pel_log *log, pel_skeleton *out) {
    pel_program *program = pel_new(ctx, pel_program);
    program->log = log;
    pel_lanes(ctx, program);
    pel_shorten(ctx, program);
    pel_contract(ctx, program);
    pel_init(ctx, program);
    pel_buf text = pel_buf_in(ctx);
    pel_emit_file(ctx, program, &text);
    *out = (pel_skeleton){ pel_buf_str(&text), program->root, program };
}
