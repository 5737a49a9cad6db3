/* Canonical instructions in the layout of the code itself.
 *
 * The other passes put the code into the order in which a compiler's source stood, and trust that a compiler made it.
 * A reader that trusts nothing (states.c) takes this instead. What is checked here is only what the translation of
 * single instructions relies on: groups are entered at their beginning, and instructions without a meaning of their own
 * are where they have none. */
#include "bytecode/normalise_internal.h"

static _Noreturn void fail(const pel_norm *n, uint32_t i, const char *what) {
    pel_throw(n->ctx, PEL_E_INCOMPLETE, n->insns->at[i].offset, "%s", what);
}

static void refuse_entry(const pel_norm *n, uint32_t from, uint32_t to) {
    if (n->group[to] != to && n->group[to] != n->group[from])
        fail(n, to, "a jump into the middle of an instruction group");
}

/* The end of a loop is passed over by the loop itself: nothing else leads there, and nothing is run into it. */
static void check_loop_end(const pel_norm *n, uint32_t i) {
    if (i == 0 || !pel_op_ends(n->insns->at[i - 1].op)) fail(n, i, "the end of a loop is run into");
    for (uint32_t k = 0; k < n->insns->n; k++)
        if (n->insns->at[k].target == i && n->insns->at[k].op != PEL_OP_FOR_ITER)
            fail(n, i, "the end of a loop is jumped to");
}

/* Instructions that the translation leaves out, where they do something. */
static void check_left_out(const pel_norm *n, uint32_t i, bool *begun) {
    const pel_insns *insns = n->insns;
    switch (insns->at[i].op) {
    case PEL_OP_MAKE_CELL:
    case PEL_OP_COPY_FREE_VARS:
    case PEL_OP_RETURN_GENERATOR:
        if (*begun) fail(n, i, "a function begins in its middle");
        break;
    case PEL_OP_END_SEND:
    case PEL_OP_SEND:
        if (n->group[i] == i) fail(n, i, "half an await");
        break;
    case PEL_OP_SETUP_FINALLY:
    case PEL_OP_SETUP_WITH:
    case PEL_OP_SETUP_ASYNC_WITH: fail(n, i, "exception handling by blocks, which has no form without structure");
    case PEL_OP_END_ASYNC_FOR: fail(n, i, "an `async for`, which has no form without structure");
    case PEL_OP_END_FOR: check_loop_end(n, i); break;
    case PEL_OP_FOR_ITER: {
        bool has_end = insns->code->version >= 12;
        if (has_end && insns->at[insns->at[i].target].op != PEL_OP_END_FOR) fail(n, i, "a loop without an end");
        *begun = true;
        break;
    }
    case PEL_OP_NOP:
    case PEL_OP_RESUME:
    case PEL_OP_POP_TOP: break; /* of what a generator is sent first */
    default: *begun = true;
    }
}

static void check_groups(const pel_norm *n) {
    bool begun = false;
    for (uint32_t i = 0; i < n->insns->n; i++) {
        if (n->insns->at[i].target != PEL_NO_TARGET) refuse_entry(n, i, n->insns->at[i].target);
        check_left_out(n, i, &begun);
    }
}

/* The entry of the table that covers an instruction, but for those that the compiler adds to every generator and every
 * await: a source with `yield` and `await` gets them again. */
static const pel_handler *written_handler(const pel_norm *n, uint32_t i) {
    const pel_insns *insns = n->insns;
    for (uint32_t steps = 0; steps <= insns->n_handlers; steps++) {
        const pel_handler *handler = pel_norm_handler_at(insns, i);
        if (!handler) return NULL;
        const pel_insn *to = &insns->at[handler->target];
        bool is_generator = insns->code->flags & (PEL_CO_GENERATOR | PEL_CO_COROUTINE | PEL_CO_ASYNC_GENERATOR);
        bool ends_generator = is_generator && to->op == PEL_OP_CALL_INTRINSIC_1 && to->arg == 3 && !handler->depth;
        if (ends_generator) return NULL;
        if (to->op != PEL_OP_CLEANUP_THROW) return handler;
        i = handler->target;
    }
    return NULL;
}

static uint32_t guard_for(pel_norm *n, const pel_handler *handler, const uint32_t *to) {
    uint32_t target = to[n->place[handler->target]];
    for (uint32_t g = 0; g < n->guards.n; g++)
        if (n->guards.at[g].target == target && n->guards.at[g].depth == handler->depth) return g;
    pel_push(n->ctx, &n->guards,
             (pel_guard){ .kind = PEL_G_EXCEPT,
                          .target = target,
                          .outer = PEL_NONE,
                          .first = PEL_NONE,
                          .last = PEL_NONE,
                          .stood = PEL_NONE,
                          .exit = PEL_NONE,
                          .offset = n->insns->at[handler->target].offset,
                          .depth = handler->depth,
                          .lasti = handler->lasti });
    return n->guards.n - 1;
}

/* One walk over the translated instructions, because their order stays: places that are empty are left out, and jumps
 * and handlers follow. */
pel_canon *pel_normalise_as_laid(pel_ctx *ctx, const pel_insns *insns) {
    pel_normalise_knows(ctx, insns->code);
    if (insns->code->version >= 14) insns = pel_norm_halves(ctx, insns);
    pel_norm norm = { .ctx = ctx, .insns = insns, .plainly = true };
    pel_norm *n = &norm;
    pel_norm_translate_all(n);
    check_groups(n);
    uint32_t *to = pel_new_array(ctx, (size_t)n->ins.n + 1, uint32_t), kept = 0;
    for (uint32_t i = 0; i < n->ins.n; i++) {
        to[i] = kept;
        kept += n->ins.at[i].op != PEL_I_NOP;
    }
    to[n->ins.n] = kept;
    pel_canon *canon = pel_new(ctx, pel_canon);
    canon->code = insns->code;
    canon->at = pel_new_array(ctx, (size_t)kept + 1, pel_ins);
    canon->n = canon->n_main = kept;
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins ins = n->ins.at[i];
        if (ins.op == PEL_I_NOP) continue;
        if (ins.target != PEL_NONE) ins.target = to[ins.target];
        if (ins.target != PEL_NONE && ins.target >= kept) pel_norm_fail(n, i, "a jump leads out of the code");
        const pel_handler *handler = written_handler(n, n->from.at[i]);
        if (handler) ins.cover = guard_for(n, handler, to);
        canon->at[to[i]] = ins;
    }
    for (uint32_t i = 0; i < kept; i++)
        if (canon->at[i].target != PEL_NONE) canon->at[canon->at[i].target].is_target = true;
    canon->guards = n->guards.at;
    canon->n_guards = n->guards.n;
    for (uint32_t g = 0; g < canon->n_guards; g++)
        if (canon->guards[g].target < kept) canon->at[canon->guards[g].target].is_target = true;
    canon->has_docstring = pel_norm_has_docstring(n);
    canon->cleans_docs = insns->code->version >= 13;
    return canon;
}
