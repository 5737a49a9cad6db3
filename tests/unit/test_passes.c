/* Every checker of passes.def lets a sound program pass and finds the one thing that is broken in it. */
#include "check.h"
#include "trace/depends/uses.h"
#include "trace/passes.h"

static pel_str read_trace(pel_ctx *ctx, const char *name) {
    FILE *file = fopen(pel_format(ctx, "%s/%s.ptrace", CORPUS, name).ptr, "rb");
    if (!file) pel_throw(ctx, PEL_E_FORMAT, 0, "%s/%s.ptrace can't be read", CORPUS, name);
    char *at = pel_alloc_raw(ctx, 1 << 16);
    size_t n = fread(at, 1, 1 << 16, file);
    fclose(file);
    return (pel_str){ at, n };
}

/* All that the passes know of a trace when the last of them is done. */
static pel_synth *passed(pel_ctx *ctx, const char *trace) {
    pel_program *program = pel_program_new(ctx, pel_log_read(ctx, read_trace(ctx, trace)));
    pel_synth *s = pel_synth_new(ctx, program);
    pel_run_passes(s);
    return s;
}

typedef struct checking {
    pel_synth *s;
    void (*check)(pel_synth *s);
} checking;

static void run_check(pel_ctx *ctx, void *arg) {
    const checking *c = arg;
    (void)ctx;
    c->check(c->s);
}

static bool is_sound(pel_synth *s, void (*check)(pel_synth *s)) {
    checking c = { s, check };
    pel_err err;
    bool fine = pel_attempt(s->ctx, run_check, &c, &err);
    if (!fine) printf("refused: %s\n", err.what);
    return fine;
}

static bool finds(pel_synth *s, void (*check)(pel_synth *s), const char *what) {
    checking c = { s, check };
    pel_err err;
    if (pel_attempt(s->ctx, run_check, &c, &err)) return false;
    if (!strstr(err.what, what)) printf("refused for another reason: %s\n", err.what);
    return strstr(err.what, what);
}

static void closures(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "cells");
    CHECK(is_sound(s, pel_check_closures));
    CHECK(s->lifted.n);
    pel_id code = 1;
    while (!pel_map_has(&s->lifted, code)) code++;
    pel_id call = 1;
    while (s->log->activations.at[call].code != code) call++;
    pel_id given = s->log->activations.at[call].locals[0];
    s->log->activations.at[call].locals[0] = 0;
    CHECK(finds(s, pel_check_closures, "does not pass what was in a cell"));
    s->log->activations.at[call].locals[0] = given;
    s->log->codes.at[code].code->varnames.at[0] = pel_intern_c(ctx, "another");
    CHECK(finds(s, pel_check_closures, "another name in the text"));
}

static void extents(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "gen");
    CHECK(is_sound(s, pel_check_extents));
    pel_extent kept = s->extents[2];
    s->extents[2].end = 2;
    CHECK(finds(s, pel_check_extents, "ends before it began"));
    s->extents[2] = kept;
    s->extents[1].end = 2;
    CHECK(finds(s, pel_check_extents, "ends after its caller"));
}

static void live(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "loop");
    CHECK(is_sound(s, pel_check_live));
    for (pel_id id = 1; id < s->log->values.n; id++) {
        if (!s->objects.live[id] || pel_value_at(s->log, id)->kind != PEL_V_TUPLE) continue;
        s->objects.live[id] = false;
        CHECK(finds(s, pel_check_live, "holds a live one"));
        s->objects.live[id] = true;
    }
    pel_id tensor = 1;
    while (pel_value_at(s->log, tensor)->kind != PEL_V_TENSOR) tensor++;
    s->objects.live[tensor] = false;
    CHECK(finds(s, pel_check_live, "a tensor is not live"));
}

static void hooks(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "hooks");
    CHECK(is_sound(s, pel_check_hooks));
    CHECK(s->hooks.all.n > 1);
    pel_hook *hook = s->hooks.all.at[0];
    pel_id module = hook->module;
    hook->module = 0;
    CHECK(finds(s, pel_check_hooks, "a hook of no module"));
    hook->module = module;
    hook->forward = hook->activation + 1; /* as if it stood before that one */
    hook->before = false;
    CHECK(finds(s, pel_check_hooks, "on the wrong side"));
    hook->before = true;
    CHECK(finds(s, pel_check_hooks, "does not know its hook"));
    pel_hook_list list = { 0 };
    pel_map_set(ctx, &s->hooks.of_forward, hook->forward, PEL_KEY(&list));
    pel_push(ctx, &list, hook);
    CHECK(is_sound(s, pel_check_hooks));
    pel_push(ctx, &list, hook);
    CHECK(finds(s, pel_check_hooks, "knows it twice"));
    s->hooks.all.at[0] = s->hooks.all.at[1];
    pel_map_set(ctx, &s->hooks.of_activation, s->hooks.all.at[1]->activation, 0);
    CHECK(finds(s, pel_check_hooks, "not found by its activation"));
}

static void groups(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_groups));
    pel_group *group = s->groups.at[1];
    group->number++;
    CHECK(finds(s, pel_check_groups, "another number than its place"));
    group->number--;
    group->n_lanes--;
    CHECK(finds(s, pel_check_groups, "a lane of no group, or of two"));
    group->n_lanes++;
    group->code = s->groups.at[0]->code;
    CHECK(finds(s, pel_check_groups, "runs another function"));
}

static void bodies(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_bodies));
    pel_group *root = s->groups.at[0];
    root->why = "";
    CHECK(finds(s, pel_check_bodies, "failed without a reason"));
    root->why = NULL;
    pel_node *first = root->body.at[0];
    root->body.at[0] = NULL;
    CHECK(finds(s, pel_check_bodies, "a body has a hole"));
    root->body.at[0] = first;
    root->params[1].name = root->params[0].name;
    CHECK(finds(s, pel_check_bodies, "two parameters of a function have one name"));
}

static void depends(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_depends));
    pel_group *group = s->groups.at[1];
    const pel_taint *result = group->facts.result;
    group->facts.result = NULL;
    CHECK(finds(s, pel_check_depends, "nothing says what a function gives"));
    group->facts.result = result;
    CHECK(s->notes.folds.n);
    if (!s->notes.folds.n) return;
    s->notes.folds.at[0].taint = &pel_tainted;
    CHECK(finds(s, pel_check_depends, "something that is no constant was folded"));
}

static void links(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_links));
    CHECK(s->calls.links.n);
    pel_link *link = s->calls.links.at[0];
    pel_node *node = link->node;
    link->node = NULL;
    CHECK(finds(s, pel_check_links, "a link without a call"));
    link->node = node;
    pel_group *target = link->target;
    link->target = NULL;
    CHECK(finds(s, pel_check_links, "without a caller or a target"));
    link->target = target;
    target->instead = target;
    CHECK(finds(s, pel_check_links, "in a circle"));
}

static void functions(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_functions));
    pel_program_function *one = NULL;
    for (uint32_t i = 0; i < s->program->functions.n && !one; i++)
        if (!s->program->functions.at[i]->dead && s->program->functions.at[i]->def) one = s->program->functions.at[i];
    pel_push(ctx, &s->program->functions, one);
    CHECK(finds(s, pel_check_functions, "two functions are called"));
    s->program->functions.n--;
    one->def->FunctionDef.body.n = 0;
    CHECK(finds(s, pel_check_functions, "body"));
}

static pel_group *reached_group(pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (s->groups.at[i]->function && s->groups.at[i]->function->def) return s->groups.at[i];
    CHECK(false); /* there is a function with a text */
    return NULL;
}

/* A function that failed has no text until `texts` refuses it; an empty body without a reason is a mistake. */
static void drafts(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_drafts));
    pel_group *group = reached_group(s);
    group->function->def->FunctionDef.body.n = 0;
    CHECK(finds(s, pel_check_drafts, "body"));
    group->why = "a construct that can't be followed";
    CHECK(is_sound(s, pel_check_drafts));
    CHECK(finds(s, pel_check_functions, "was not refused"));
}

static void classes(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_classes));
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        pel_node *init = s->program->classes.at[i]->init;
        if (!init || init->kind != PEL_FunctionDef) continue;
        init->FunctionDef.args = NULL;
        CHECK(finds(s, pel_check_classes, "args"));
        return;
    }
    CHECK(false); /* there is a class with a constructor */
}

static void file(pel_ctx *ctx) {
    pel_synth *s = passed(ctx, "passes");
    CHECK(is_sound(s, pel_check_file));
    pel_str text = s->program->text;
    s->program->text = pel_format(ctx, "%.*sdef f(x): return y\n", PEL_FMT(text));
    CHECK(finds(s, pel_check_file, "reads `y` and nobody binds it"));
    s->program->text = pel_format(ctx, "%.*sdef f(x: return x\n", PEL_FMT(text));
    CHECK(!is_sound(s, pel_check_file));
    s->program->text = PEL_STR("x = 1\n");
    CHECK(finds(s, pel_check_file, "does not define the root"));
}

static const test tests[] = {
    TEST(closures), TEST(extents), TEST(live),      TEST(hooks),  TEST(groups),  TEST(bodies),
    TEST(links),    TEST(depends), TEST(functions), TEST(drafts), TEST(classes), TEST(file),
};

int main(void) { return RUN_TESTS(tests); }
