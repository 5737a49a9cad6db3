/* Runs the passes of passes.def: one loop, one bound, one place that dumps and checks. */
#include "trace/passes.h"

/* No program that people write needs a twentieth of this. A group that goes on has two passes that undo each other. */
#define MAX_ROUNDS 400

static const pel_pass passes[] = {
#define GROUP(name, when)
#define PASS(name, run, check, group) { #name, run, check, PEL_PASSES_##group, false },
#define LATE(name, run, check, group) { #name, run, check, PEL_PASSES_##group, true },
#include "trace/passes.def"
#undef GROUP
#undef PASS
#undef LATE
};
#define N_PASSES (sizeof passes / sizeof *passes)

enum { ONCE, UNTIL_QUIET };
static const uint8_t when[] = {
#define GROUP(name, when) [PEL_PASSES_##name] = when,
#define PASS(name, run, check, group)
#define LATE(name, run, check, group)
#include "trace/passes.def"
#undef GROUP
#undef PASS
#undef LATE
};

static const char *const group_names[] = {
#define GROUP(name, when) [PEL_PASSES_##name] = #name,
#define PASS(name, run, check, group)
#define LATE(name, run, check, group)
#include "trace/passes.def"
#undef GROUP
#undef PASS
#undef LATE
};

bool pel_is_pass(pel_str name) {
    for (size_t i = 0; i < N_PASSES; i++)
        if (pel_str_eq(name, pel_str_of(passes[i].name))) return true;
    return false;
}

void pel_list_passes(pel_buf *out) {
    for (size_t i = 0; i < N_PASSES; i++)
        pel_putf(out, "%-11s %s%s\n", passes[i].name, group_names[passes[i].group],
                 passes[i].late          ? ", when nothing else changes"
                 : when[passes[i].group] ? ", until nothing changes"
                                         : "");
}

static bool run_pass(pel_synth *s, const pel_pass *pass, uint32_t round) {
    bool changed = pass->run(s);
    const pel_pass_watch *watch = s->program->watch;
    if (!watch) return changed;
    if (watch->check) pass->check(s);
    /* a pass that found nothing to do says so once, in its first round */
    bool shows = pass->run == pel_pass_depends ? !changed : changed || round == 1; /* reasons hold once all facts do */
    if (shows && pel_str_eq(watch->dump, pel_str_of(pass->name))) pel_dump_program(s, pass, round, watch->out);
    return changed;
}

static void run_group(pel_synth *s, pel_pass_group group) {
    for (uint32_t round = 1;; round++) {
        const char *changer = NULL;
        for (size_t i = 0; i < N_PASSES; i++) {
            if (passes[i].group != group || (passes[i].late && changer)) continue;
            if (run_pass(s, &passes[i], round)) changer = passes[i].name;
        }
        if (!changer || when[group] == ONCE) return;
        if (round == MAX_ROUNDS)
            pel_throw(s->ctx, PEL_E_TOO_BIG, 0, "the pass '%s' still changes the program after %d rounds", changer,
                      MAX_ROUNDS);
    }
}

void pel_run_passes(pel_synth *s) {
    uint32_t starts = 0;
    run_group(s, PEL_PASSES_PREPARE);
    do { /* functions whose lanes need several texts are split, and all that is known of them begins anew */
        if (++starts > MAX_ROUNDS) pel_throw(s->ctx, PEL_E_TOO_BIG, 0, "functions split without end");
        s->regroup = true;
        for (pel_pass_group group = PEL_PASSES_WALK; group <= PEL_PASSES_DEFINE; group++) run_group(s, group);
    } while (s->regroup);
    run_group(s, PEL_PASSES_SHORTEN);
    run_group(s, PEL_PASSES_BUILD);
}
