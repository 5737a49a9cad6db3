/* Attempts: all passes, and the ways back where a function has no text. */
#include "trace/passes.h"

#define MAX_STRAIGHT_ROUNDS 40

typedef struct attempt {
    const pel_log *log;
    const pel_pass_watch *watch;
    const pel_known *known;
    pel_map straight;
    pel_program *program;
    pel_skeleton *out;
} attempt;

static void write_program(pel_ctx *ctx, void *arg) {
    attempt *a = arg;
    pel_program *program = a->program = pel_new(ctx, pel_program);
    program->log = a->log;
    program->watch = a->watch;
    program->known = a->known;
    program->straight = a->straight;
    pel_synth *s = pel_synth_new(ctx, program);
    pel_run_passes(s);
    pel_check_file(s); /* in every build: a text with a name that nothing binds is given to nobody */
    *a->out = (pel_skeleton){ program->text, program->root, program };
}

/* One step back for a function; false if there is none left. */
static bool retreat(pel_ctx *ctx, pel_map *straight, pel_id code, pel_map *seen) {
    uint64_t level = pel_map_find(straight, code, 0);
    if (level == PEL_STRAIGHT_FLAT || !pel_map_set(ctx, seen, code, 1)) return false;
    pel_map_set(ctx, straight, code, level + 1);
    return true;
}

/* Back to those that called a function, where it has no step left of its own. */
static void retreat_to_callers(pel_ctx *ctx, const pel_log *log, pel_map *straight, pel_id code) {
    pel_map seen = { 0 };
    for (pel_id id = 1; id < log->activations.n; id++) {
        if (log->activations.at[id].code != code) continue;
        pel_id parent = log->activations.at[id].parent, above;
        for (; parent; parent = log->activations.at[parent].parent) {
            above = log->activations.at[parent].code;
            const char *name = log->codes.at[above].code->name->text;
            if (above != code && name[0] != '<') break; /* comprehensions are parts of a function */
        }
        if (parent) retreat(ctx, straight, log->activations.at[parent].code, &seen);
    }
}

/* A function that has no text is tried as a straight line, where the log has events; if that can't be written at the
 * places that call it, the functions around these are refused next, and tried in turn. */
static void synthesise(pel_ctx *ctx, attempt start) {
    attempt a = start;
    const pel_log *log = a.log;
    const pel_retreat *retreats = a.known ? a.known->retreats.at : NULL;
    for (uint32_t i = 0; a.known && i < a.known->retreats.n; i++)
        for (pel_id code = 1; code < log->codes.n; code++) {
            const pel_log_code *row = &log->codes.at[code];
            if ((uint32_t)row->code->firstlineno != retreats[i].line ||
                !pel_str_eq(log->files.at[row->file].path, retreats[i].path))
                continue;
            pel_map once = { 0 };
            if (!retreat(ctx, &a.straight, code, &once)) retreat_to_callers(ctx, log, &a.straight, code);
        }
    pel_err first = { 0 }, err;
    for (int round = 0;; round++) {
        if (pel_attempt(ctx, write_program, &a, &err)) return;
        if (round == 0) first = err;
        bool is_news = false;
        pel_map seen = { 0 };
        for (uint32_t i = 0; log->events.n > 1 && i < a.program->refused.n; i++)
            is_news |= retreat(ctx, &a.straight, a.program->refused.at[i], &seen);
        if (is_news && round < MAX_STRAIGHT_ROUNDS) continue;
        if (round == 0) pel_throw_at(ctx, err.code, err.at, err.line, err.column, "%s", err.what);
        /* the construct that can't be followed is what people must know of */
        static const char also[] = "; and its recorded torch calls can't replace it";
        bool fits = strlen(first.what) + sizeof also + strlen(err.what) + 2 < PEL_MESSAGE_MAX;
        pel_throw_at(ctx, first.code, first.at, first.line, first.column, "%s%s%s%s", first.what, also,
                     fits ? ": " : "", fits ? err.what : "");
    }
}

/* In builds for developers and sanitizers every pass is followed by its checker. */
static const pel_pass_watch *usual_watch(void) {
#ifndef PEL_CHECK_PASSES
    return NULL;
#else
    static const pel_pass_watch checks = { .check = true };
    return &checks;
#endif
}

void pel_synthesise_knowing(pel_ctx *ctx, const pel_log *log, const pel_known *known, pel_skeleton *out) {
    synthesise(ctx, (attempt){ .log = log, .watch = usual_watch(), .known = known, .out = out });
}

void pel_synthesise_watched(pel_ctx *ctx, const pel_log *log, const pel_pass_watch *watch, pel_skeleton *out) {
    synthesise(ctx, (attempt){ .log = log, .watch = watch, .out = out });
}

void pel_synthesise(pel_ctx *ctx, const pel_log *log, pel_skeleton *out) {
    pel_synthesise_watched(ctx, log, usual_watch(), out);
}

void pel_write_construction(pel_ctx *ctx, const pel_log *log, pel_skeleton *out) {
    pel_program *program = pel_new(ctx, pel_program);
    program->log = log;
    program->only_construction = true;
    pel_init(ctx, program);
    pel_write_numbers(ctx, program);
    pel_write_file(ctx, program);
    *out = (pel_skeleton){ program->text, program->root, program };
}
