/* How deep the stack is where. A walk over the paths, each instruction once: the compiler makes all paths to an
 * instruction arrive with one depth, and code where they don't is refused. */
#include "bytecode/decode.h"

typedef struct walk {
    pel_ctx *ctx;
    const pel_insns *insns;
    int32_t *depth;
    const pel_handler **handler_of; /* by instruction; NULL: not covered */
    const pel_opinfo *ops;          /* of the code's Python */
    PEL_VEC(uint32_t) todo;
} walk;

static _Noreturn void unbalanced(walk *w, uint32_t index, const char *what) {
    pel_throw(w->ctx, PEL_E_FORMAT, w->insns->at[index].offset, "code of %.*s, offset %u: %s",
              PEL_FMT(pel_name_str(w->insns->code->name)), w->insns->at[index].offset, what);
}

static void reach(walk *w, uint32_t index, int64_t depth) {
    if (depth > INT32_MAX) unbalanced(w, index, "the stack gets too deep");
    int32_t *known = &w->depth[index];
    if (*known < 0) {
        *known = (int32_t)depth;
        pel_push(w->ctx, &w->todo, index);
        return;
    }
    /* 3.8 enters a finally body with an exception, with a return address or with nothing; it reckons with the most. */
    bool may_be_less = w->insns->code->version == 8;
    if (depth != *known && !(may_be_less && depth < *known)) unbalanced(w, index, "paths with unequal stacks meet");
}

static void step(walk *w, uint32_t index) {
    const pel_insn *insn = &w->insns->at[index];
    const pel_opinfo *info = &w->ops[insn->code];
    int64_t depth = w->depth[index];
    if (pel_stack_count(info->pop, insn->arg) > depth)
        unbalanced(w, index, "it takes more from the stack than there is");
    int64_t after = depth + pel_stack_count(info->effect, insn->arg);
    int64_t after_jump = depth + pel_stack_count(info->jump_effect, insn->arg);
    if (after < 0 || after_jump < 0) unbalanced(w, index, "it takes more from the stack than there is");
    if (insn->target != PEL_NO_TARGET) reach(w, insn->target, after_jump);
    if (!pel_op_ends(insn->op)) reach(w, index + 1, after);
    const pel_handler *handler = w->handler_of[index];
    if (handler) {
        /* 3.15: what ends a generator covers the code after its loop, too, where the iterator is gone */
        bool may_be_deeper = w->insns->code->version >= 15;
        if (handler->depth > depth && !may_be_deeper)
            unbalanced(w, index, "its handler keeps more of the stack than there is");
        reach(w, handler->target, (int64_t)handler->depth + handler->lasti + 1);
    }
}

int32_t *pel_stack_depths(pel_ctx *ctx, const pel_insns *insns) {
    walk w = { .ctx = ctx,
               .insns = insns,
               .depth = pel_new_array(ctx, insns->n, int32_t),
               .handler_of = pel_new_array(ctx, insns->n, const pel_handler *),
               .ops = pel_optab(insns->code->version) };
    memset(w.depth, 0xff, insns->n * sizeof *w.depth);
    for (uint32_t h = 0; h < insns->n_handlers; h++)
        for (uint32_t i = insns->handlers[h].start; i < insns->handlers[h].end; i++)
            w.handler_of[i] = &insns->handlers[h];
    /* From 3.10 to 3.12 a generator begins with what its caller sends. */
    const uint32_t generator = PEL_CO_GENERATOR | PEL_CO_COROUTINE | PEL_CO_ASYNC_GENERATOR;
    int version = insns->code->version;
    reach(&w, 0, version >= 10 && version <= 12 && insns->code->flags & generator);
    while (w.todo.n) step(&w, w.todo.at[--w.todo.n]);
    return w.depth;
}
