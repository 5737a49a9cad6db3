#include "trace/program.h"

#define MAX_STRAIGHT_ROUNDS 12

typedef struct attempt {
    const pel_log *log;
    pel_map straight;
    pel_program *program;
    pel_skeleton *out;
} attempt;

static void write_program(pel_ctx *ctx, void *arg) {
    attempt *a = arg;
    pel_program *program = a->program = pel_new(ctx, pel_program);
    program->log = a->log;
    program->straight = a->straight;
    pel_lanes(ctx, program);
    pel_shorten(ctx, program);
    pel_contract(ctx, program);
    pel_init(ctx, program);
    pel_buf text = pel_buf_in(ctx);
    pel_emit_file(ctx, program, &text);
    *a->out = (pel_skeleton){ pel_buf_str(&text), program->root, program };
}

/* A function that has no text is tried as a straight line, where the log has events; if that can't be written at the
 * places that call it, the functions around these are refused next, and tried in turn. */
void pel_synthesise(pel_ctx *ctx, const pel_log *log, pel_skeleton *out) {
    attempt a = { .log = log, .out = out };
    for (int round = 0;; round++) {
        pel_err err;
        if (pel_attempt(ctx, write_program, &a, &err)) return;
        bool is_news = false;
        for (uint32_t i = 0; log->events.n > 1 && i < a.program->refused.n; i++)
            is_news |= pel_map_set(ctx, &a.straight, a.program->refused.at[i], 1);
        if (!is_news || round == MAX_STRAIGHT_ROUNDS)
            pel_throw_at(ctx, err.code, err.at, err.line, err.column, "%s", err.what);
    }
}
