/* Functions that say in many lines what a few calls of torch did: they take patterns apart, fill tables and multiply
 * lengths until they know a shape (einops does). Their text is right and tells a reader nothing; the calls that they
 * made would. Found here, so that the caller can record these calls and have them written instead. The same goes for
 * what leads to a function that had to be written that way: told where the author calls it, each use is a line. */
#include "base/map.h"
#include "trace/passes.h"
#include "trace/program.h"

enum {
    LONG = 12,       /* statements, at least */
    PER_TENSOR = 6,  /* and for each tensor that is made */
    MOST_LOOKED = 8, /* activations of a function */
};

typedef struct finder {
    pel_ctx *ctx;
    const pel_program *program;
    pel_map functions; /* name -> function of the file */
    pel_map counted;   /* of them: those whose statements are in */
    uint32_t n_statements;
    bool loops; /* one of the statements is a loop */
} finder;

/* ---- what there is to read ---- */

static void count_function(finder *f, const pel_program_function *function);

static void count_statements(void *arg, pel_node **slot) {
    finder *f = arg;
    pel_node *node = *slot;
    f->n_statements += pel_kinds[node->kind].class == PEL_STMT;
    f->loops |= node->kind == PEL_For || node->kind == PEL_While;
    uint64_t called;
    if (node->kind == PEL_Name && pel_map_get(&f->functions, PEL_KEY(node->Name.id), &called))
        count_function(f, (const pel_program_function *)(uintptr_t)called);
    pel_each_child(node, count_statements, f);
}

static void count_function(finder *f, const pel_program_function *function) {
    if (!pel_map_set(f->ctx, &f->counted, PEL_KEY(function), 1)) return;
    const pel_nodes body = function->def->FunctionDef.body;
    for (uint32_t i = 0; i < body.n; i++) count_statements(f, &body.at[i]);
}

/* ---- what was done ---- */

static bool runs_below(const pel_log *log, pel_id activation, pel_id above) {
    while (activation > above) activation = log->activations.at[activation].parent;
    return activation == above;
}

/* How many tensors an activation made, with all that it called; UINT32_MAX if modules ran in it. */
static uint32_t tensors_made(const finder *f, pel_id above) {
    const pel_log *log = f->program->log;
    pel_map seen = { 0 };
    uint32_t n = 0;
    const pel_log_code *outer = &log->codes.at[log->activations.at[above].code];
    for (uint32_t i = 0; i < outer->code->argcount + outer->code->kwonlyargcount; i++) {
        const pel_value *given = pel_value_at(log, log->activations.at[above].locals[i]);
        if (given->kind == PEL_V_TENSOR) pel_map_set(f->ctx, &seen, given->tensor, 1);
    }
    for (pel_id id = above; id < log->activations.n && runs_below(log, id, above); id++) {
        const pel_activation *activation = &log->activations.at[id];
        pel_id class = log->codes.at[activation->code].class;
        if (class && pel_class_at(log, class)->kind == PEL_CLASS_MODULE) return UINT32_MAX;
        for (uint32_t i = 0; i < activation->n_records; i++) {
            if (activation->records[i].kind != PEL_R_PUSH) continue;
            const pel_value *value = pel_value_at(log, activation->records[i].value);
            if (value->kind == PEL_V_TENSOR) n += pel_map_set(f->ctx, &seen, value->tensor, 1);
        }
    }
    return n;
}

static bool is_roundabout(finder *f, const pel_program_function *function) {
    f->counted = (pel_map){ 0 };
    f->n_statements = 0;
    f->loops = false;
    count_function(f, function);
    if (!f->loops || f->n_statements < LONG) return false;
    uint32_t most = 0;
    for (uint32_t i = 0; i < function->activations.n && i < MOST_LOOKED; i++) {
        uint32_t n = tensors_made(f, function->activations.at[i]);
        if (n == UINT32_MAX) return false;
        if (n > most) most = n;
    }
    return most && f->n_statements >= PER_TENSOR * most;
}

/* The function that the author called: those of one file that only lead to another are no better to read. */
static pel_id entry_of(const finder *f, pel_id activation) {
    const pel_log *log = f->program->log;
    uint32_t n = tensors_made(f, activation);
    if (n == UINT32_MAX) return log->activations.at[activation].code;
    for (;;) {
        pel_id code = log->activations.at[activation].code, parent = log->activations.at[activation].parent;
        pel_id above = parent ? log->activations.at[parent].code : 0;
        if (!above || log->codes.at[above].file != log->codes.at[code].file || tensors_made(f, parent) != n ||
            log->codes.at[above].code->name->text[0] == '<')
            return code;
        activation = parent;
    }
}

static void find_roundabout(pel_ctx *ctx, pel_program *program) {
    finder f = { .ctx = ctx, .program = program };
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (!function->dead && function->def && !function->class)
            pel_map_set(ctx, &f.functions, PEL_KEY(function->name), PEL_KEY(function));
    }
    pel_map found = { 0 };
    for (uint32_t i = 0; i < program->functions.n; i++) {
        const pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def || function->class || !function->code) continue;
        if (function->from_source && !is_roundabout(&f, function)) continue;
        for (uint32_t k = 0; k < function->activations.n; k++) {
            pel_id code = entry_of(&f, function->activations.at[k]);
            if (!function->from_source && code == function->code) continue; /* it is told by its calls as it is */
            if (pel_map_set(ctx, &found, code, 1)) pel_push(ctx, &program->said.roundabout, code);
        }
    }
}

bool pel_pass_roundabout(pel_synth *s) {
    find_roundabout(s->ctx, s->program);
    return false;
}
