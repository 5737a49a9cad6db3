#include "trace/program.h"

#define MAX_STRAIGHT_ROUNDS 12
#define MAX_SHORT_ROUNDS 6

static bool is_taken(const pel_program *program, pel_name name) {
    for (uint32_t i = 0; i < program->functions.n; i++)
        if (!program->functions.at[i]->class && program->functions.at[i]->name == name) return true;
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->name == name) return true;
    return false;
}

pel_name pel_unused_name(pel_ctx *ctx, const pel_program *program, pel_name wish) {
    pel_name name = wish;
    for (unsigned k = 2; is_taken(program, name); k++) {
        pel_str text = pel_format(ctx, "%s_%u", wish->text, k);
        name = pel_intern(ctx, text.ptr, text.len);
    }
    return name;
}

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
    for (int round = 0; round < MAX_SHORT_ROUNDS; round++) { /* what became one line may stand in another function's */
        pel_shorten(ctx, program);
        if (!pel_contract(ctx, program)) break;
    }
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

void pel_write_construction(pel_ctx *ctx, const pel_log *log, pel_skeleton *out) {
    pel_program *program = pel_new(ctx, pel_program);
    program->log = log;
    program->only_construction = true;
    pel_init(ctx, program);
    pel_buf text = pel_buf_in(ctx);
    pel_emit_file(ctx, program, &text);
    *out = (pel_skeleton){ pel_buf_str(&text), program->root, program };
}
