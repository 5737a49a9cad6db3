/* Attempts: all passes, and the ways back where a function has no text. */
#include "trace/passes.h"

#define MAX_ROUNDS 40 /* each brings at least one function a row further */

typedef struct attempt {
    const pel_log *log;
    const pel_pass_watch *watch;
    const pel_known *known;
    pel_map straight; /* the plan: code -> pel_straight_level */
    PEL_VEC(pel_remark) steps;
    pel_program *program;
    pel_skeleton *out;
} attempt;

pel_program *pel_program_new(pel_ctx *ctx, const pel_log *log) {
    pel_program *program = pel_new(ctx, pel_program);
    program->log = log;
    program->notes = pel_new(ctx, pel_note_table);
    return program;
}

static void write_program(pel_ctx *ctx, void *arg) {
    attempt *a = arg;
    pel_program *program = a->program = pel_program_new(ctx, a->log);
    program->watch = a->watch;
    program->known = a->known;
    program->straight = a->straight;
    pel_synth *s = pel_synth_new(ctx, program);
    pel_run_passes(s);
    pel_check_file(s); /* in every build: a text with a name that nothing binds is given to nobody */
    *a->out = (pel_skeleton){ program->text, program->root, program };
}

/* ---- the steps back ---- */

/* What a function is written as, and what it is written as next where that can't be, or proved wrong. The last row has
 * no other text: those that call the function take a step instead. */
static const struct {
    pel_straight_level level;
    const char *words;
} STEPS[] = {
    { PEL_STRAIGHT_TEXT, "its text" },
    { PEL_STRAIGHT_CALLS, "the calls that it made" },
    { PEL_STRAIGHT_FLAT, "torch's calls alone" },
};

/* One round of steps: no function takes two in it. */
typedef struct stepper {
    attempt *a;
    pel_map seen;
    bool is_news;
} stepper;

/* What was asked for needs no words: whoever asked has them. */
static void explain(pel_ctx *ctx, stepper *to, pel_id code, const char *words, pel_str why) {
    if (!why.len) return;
    const pel_log_code *row = &to->a->log->codes.at[code];
    const pel_name *name = row->code->qualname ? &row->code->qualname : &row->code->name;
    pel_remark remark = { PEL_REMARK_STEP,
                          pel_format(ctx, "%s is written as %s: %.*s", (*name)->text, words, PEL_FMT(why)), row->file,
                          (uint32_t)row->code->firstlineno };
    pel_push(ctx, &to->a->steps, remark);
}

/* The next row for a function; false if it is at the last one, or was met in this round. */
static bool take_step(pel_ctx *ctx, stepper *to, pel_id code, pel_str why) {
    uint64_t level = pel_map_find(&to->a->straight, code, PEL_STRAIGHT_TEXT);
    if (level + 1 >= PEL_COUNT(STEPS) || !pel_map_set(ctx, &to->seen, code, 1)) return false;
    pel_map_set(ctx, &to->a->straight, code, STEPS[level + 1].level);
    explain(ctx, to, code, STEPS[level + 1].words, why);
    return to->is_news = true;
}

/* The function around an activation: comprehensions are parts of one. 0: it was called from outside. */
static pel_id code_around(const pel_log *log, pel_id id) {
    pel_id code = log->activations.at[id].code;
    for (pel_id parent = log->activations.at[id].parent; parent; parent = log->activations.at[parent].parent) {
        pel_id above = log->activations.at[parent].code;
        if (above != code && log->codes.at[above].code->name->text[0] != '<') return above;
    }
    return 0;
}

static void step_back(pel_ctx *ctx, stepper *to, pel_id code, pel_str why) {
    const pel_log *log = to->a->log;
    if (pel_map_find(&to->a->straight, code, PEL_STRAIGHT_TEXT) + 1 < PEL_COUNT(STEPS)) {
        take_step(ctx, to, code, why);
        return;
    }
    for (pel_id id = 1; id < log->activations.n; id++) {
        if (log->activations.at[id].code != code) continue;
        pel_id above = code_around(log, id);
        if (above) take_step(ctx, to, above, why);
    }
}

/* Functions whose text proved wrong: whoever ran the model knows of them before anything is written. */
static void step_back_from_wrong_texts(pel_ctx *ctx, attempt *a) {
    const pel_log *log = a->log;
    for (uint32_t i = 0; a->known && i < a->known->retreats.n; i++) {
        const pel_retreat *wrong = &a->known->retreats.at[i];
        stepper to = { .a = a }; /* each is a step of its own: the same function may take several */
        for (pel_id code = 1; code < log->codes.n; code++)
            if ((uint32_t)log->codes.at[code].code->firstlineno == wrong->line &&
                pel_str_eq(log->files.at[log->codes.at[code].file].path, wrong->path))
                step_back(ctx, &to, code, (pel_str){ 0 });
    }
}

/* The construct that can't be followed is what people must know of; then what stopped the last way back. */
static _Noreturn void give_up(pel_ctx *ctx, const pel_err *first, const pel_err *last, int round) {
    if (!round) pel_throw_at(ctx, first->code, first->at, first->line, first->column, "%s", first->what);
    const char *also = round < MAX_ROUNDS ? "; and its recorded torch calls can't replace it"
                                          : "; and there are too many ways to write it as its calls";
    bool fits = strlen(first->what) + strlen(also) + strlen(last->what) + 2 < PEL_MESSAGE_MAX;
    pel_throw_at(ctx, first->code, first->at, first->line, first->column, "%s%s%s%s", first->what, also,
                 fits ? ": " : "", fits ? last->what : "");
}

/* Plan: what each function is written as. Attempt: all passes. Verdict: a program, or the functions that are refused
 * and why. Rule: their next row in the table. Steps need a log with events: torch's calls. */
static void synthesise(pel_ctx *ctx, attempt start) {
    attempt a = start;
    pel_err first = { 0 }, err;
    step_back_from_wrong_texts(ctx, &a);
    for (int round = 0;; round++) {
        if (pel_attempt(ctx, write_program, &a, &err)) break;
        if (round == 0) first = err;
        stepper to = { .a = &a };
        for (uint32_t i = 0; a.log->events.n > 1 && i < a.program->said.refused.n; i++)
            step_back(ctx, &to, a.program->said.refused.at[i].code, a.program->said.refused.at[i].why);
        if (!to.is_news || round == MAX_ROUNDS) give_up(ctx, &first, &err, round);
    }
    for (uint32_t i = 0; i < a.steps.n; i++) pel_push(ctx, &a.program->said.remarks, a.steps.at[i]);
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
    pel_program *program = pel_program_new(ctx, log);
    program->only_construction = true;
    pel_init(ctx, program);
    pel_write_numbers(ctx, program);
    pel_write_file(ctx, program);
    *out = (pel_skeleton){ program->text, program->root, program };
}
