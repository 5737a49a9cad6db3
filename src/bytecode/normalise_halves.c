/* Since 3.14 a `with` keeps what it calls at its end in two places of the stack, function and self; since 3.15 a loop
 * keeps its iterator in two, too. The second place of each pair says nothing of its own. This pass follows the stack
 * along all paths, marks second places, and writes the instructions as if they were not there. */
#include "bytecode/normalise_internal.h"

typedef struct halves {
    pel_ctx *ctx;
    pel_insns *insns;
    const pel_opinfo *ops;
    int32_t *depth;  /* of the stack before each instruction; -1: nothing leads there */
    uint64_t **mark; /* bits of the places that are second halves */
    uint32_t words;
    PEL_VEC(uint32_t) todo;
} halves;

static bool get(const uint64_t *bits, int64_t at) { return at >= 0 && bits[at / 64] >> (at % 64) & 1; }
static void set(uint64_t *bits, int64_t at, bool on) {
    uint64_t bit = (uint64_t)1 << (at % 64);
    bits[at / 64] = on ? bits[at / 64] | bit : bits[at / 64] & ~bit;
}

static void arrive(halves *h, uint32_t i, const uint64_t *bits, int64_t depth) {
    if (i >= h->insns->n || h->mark[i] || depth != h->depth[i]) return;
    h->mark[i] = pel_new_array(h->ctx, h->words, uint64_t);
    for (int64_t k = 0; k < depth; k++) set(h->mark[i], k, get(bits, k));
    pel_push(h->ctx, &h->todo, i);
}

/* How many marked places lie from `from` up to, but without, `to`. */
static uint32_t marked(const uint64_t *bits, int64_t from, int64_t to) {
    uint32_t n = 0;
    for (int64_t k = from < 0 ? 0 : from; k < to; k++) n += get(bits, k);
    return n;
}

static void run(halves *h, uint32_t i) {
    const pel_insn *in = &h->insns->at[i];
    const pel_opinfo *info = &h->ops[in->code];
    int64_t depth = h->depth[i];
    uint64_t *after = pel_new_array(h->ctx, h->words, uint64_t);
    memcpy(after, h->mark[i], h->words * sizeof *after);
    int64_t next = depth + pel_stack_count(info->effect, in->arg);
    int64_t jumped = depth + pel_stack_count(info->jump_effect, in->arg);
    int64_t kept = depth - pel_stack_count(info->pop, in->arg);
    switch ((pel_op)in->op) {
    case PEL_OP_SWAP: {
        int64_t other = depth - in->arg;
        bool top = get(after, depth - 1);
        if (other < 0) break;
        set(after, depth - 1, get(after, other));
        set(after, other, top);
        break;
    }
    case PEL_OP_COPY: set(after, depth, get(after, depth - (int64_t)in->arg)); break;
    case PEL_OP_LOAD_SPECIAL:
        set(after, depth - 1, false);
        set(after, depth, true);
        break;
    case PEL_OP_GET_ITER:
        if (next == depth) break;
        set(after, depth - 1, false);
        set(after, depth, true);
        break;
    case PEL_OP_FOR_ITER:
    case PEL_OP_SEND:
    case PEL_OP_LIST_APPEND:
    case PEL_OP_SET_ADD:
    case PEL_OP_MAP_ADD:
    case PEL_OP_LIST_EXTEND:
    case PEL_OP_SET_UPDATE:
    case PEL_OP_DICT_UPDATE:
    case PEL_OP_DICT_MERGE:
    case PEL_OP_WITH_EXCEPT_START: /* what they only look at stays */
        for (int64_t k = depth; k < next; k++) set(after, k, false);
        break;
    default:
        for (int64_t k = kept < 0 ? 0 : kept; k < depth || k < next || k < jumped; k++) set(after, k, false);
    }
    if (in->target != PEL_NO_TARGET) arrive(h, in->target, after, jumped);
    if (!pel_op_ends(in->op)) arrive(h, i + 1, after, next);
    for (uint32_t k = 0; k < h->insns->n_handlers; k++) {
        const pel_handler *handler = &h->insns->handlers[k];
        if (i < handler->start || i >= handler->end) continue;
        uint64_t *at = pel_new_array(h->ctx, h->words, uint64_t);
        for (int64_t d = 0; d < handler->depth && d < depth; d++) set(at, d, get(h->mark[i], d));
        arrive(h, handler->target, at, (int64_t)handler->depth + handler->lasti + 1);
    }
}

static void erase(pel_insn *in) {
    in->op = PEL_OP_NOP;
    in->kind = PEL_ARG_NONE;
    in->name = in->name2 = NULL;
    in->value = NULL;
    in->target = PEL_NO_TARGET;
}

/* The argument of an instruction that counts places, without those that are gone. */
static void rewrite(halves *h, uint32_t i) {
    pel_insn *in = &h->insns->at[i];
    const uint64_t *bits = h->mark[i];
    if (!bits) return;
    int64_t depth = h->depth[i];
    switch ((pel_op)in->op) {
    case PEL_OP_SWAP: {
        int64_t other = depth - in->arg;
        if (!get(bits, depth - 1) && !get(bits, other)) {
            in->arg -= marked(bits, other, depth);
            if (in->arg < 2) erase(in);
        } else if (marked(bits, other, depth) + 1 >= in->arg)
            erase(in); /* all but one are second halves: the order of the others stays */
        else
            pel_throw(h->ctx, PEL_E_INCOMPLETE, in->offset, "half an iterator is moved");
        break;
    }
    case PEL_OP_COPY:
        if (get(bits, depth - (int64_t)in->arg))
            erase(in);
        else
            in->arg -= marked(bits, depth - (int64_t)in->arg, depth);
        break;
    case PEL_OP_POP_TOP:
        if (get(bits, depth - 1)) erase(in);
        break;
    case PEL_OP_LIST_APPEND:
    case PEL_OP_SET_ADD:
    case PEL_OP_LIST_EXTEND:
    case PEL_OP_SET_UPDATE:
    case PEL_OP_DICT_UPDATE:
    case PEL_OP_DICT_MERGE: in->arg -= marked(bits, depth - 1 - (int64_t)in->arg, depth - 1); break;
    case PEL_OP_MAP_ADD: in->arg -= marked(bits, depth - 2 - (int64_t)in->arg, depth - 2); break;
    default: break;
    }
}

const pel_insns *pel_norm_halves(pel_ctx *ctx, const pel_insns *insns) {
    pel_insns *copy = pel_new(ctx, pel_insns);
    *copy = *insns;
    copy->at = pel_new_array(ctx, insns->n, pel_insn);
    memcpy(copy->at, insns->at, insns->n * sizeof *copy->at);
    halves h = { .ctx = ctx, .insns = copy, .ops = pel_optab(insns->code->version) };
    h.depth = pel_stack_depths(ctx, insns);
    int32_t deepest = 0;
    for (uint32_t i = 0; i < insns->n; i++)
        if (h.depth[i] > deepest) deepest = h.depth[i];
    h.words = (uint32_t)deepest / 64 + 2;
    h.mark = pel_new_array(ctx, insns->n, uint64_t *);
    uint64_t *none = pel_new_array(ctx, h.words, uint64_t);
    arrive(&h, 0, none, h.depth[0]);
    while (h.todo.n) run(&h, h.todo.at[--h.todo.n]);
    for (uint32_t i = 0; i < insns->n; i++) rewrite(&h, i);
    copy->handlers = pel_new_array(ctx, (size_t)insns->n_handlers + 1, pel_handler);
    for (uint32_t k = 0; k < insns->n_handlers; k++) {
        copy->handlers[k] = insns->handlers[k];
        const uint64_t *bits = h.mark[insns->handlers[k].target];
        if (bits) copy->handlers[k].depth -= marked(bits, 0, insns->handlers[k].depth);
    }
    return copy;
}
