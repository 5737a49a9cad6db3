/* Before there were exception tables, instructions pushed and popped blocks at run time. This file finds out which
 * blocks are open where by walking all paths, and gives handlers the shape they have since: what they find on the stack
 * counts as one item instead of three, and the oldest `finally`, which control ran into, becomes a handler and a
 * FINALLY instruction for each way in. */
#include "bytecode/normalise_internal.h"

typedef struct block {
    bool is_handler;  /* the block of a running handler; else of what it covers */
    uint32_t handler; /* decoded index */
    struct block *below;
} block;

typedef struct visit {
    uint32_t at;
    block *blocks;
} visit;

struct pel_old {
    block **blocks; /* by decoded instruction: what is open before it */
    bool *seen;
    bool *dead;       /* seen only after all that can be reached */
    bool left_over;   /* what is seen from now on is dead */
    bool *is_handler; /* a handler begins here */
    bool *is_cleanup; /* it only deletes the name of `except ... as name` */
    bool *skip;       /* of such a clean-up */
    uint32_t *end_of; /* by handler: its END_FINALLY, or PEL_NONE */
    PEL_VEC(visit) todo, later;
};

static bool sets_block(uint16_t op) {
    return op == PEL_OP_SETUP_FINALLY || op == PEL_OP_SETUP_WITH || op == PEL_OP_SETUP_ASYNC_WITH;
}

static uint16_t op_at(const pel_insns *insns, uint32_t i) { return i < insns->n ? insns->at[i].op : PEL_OP_NONE; }

static bool is_store(uint16_t op) {
    return op == PEL_OP_STORE_FAST || op == PEL_OP_STORE_NAME || op == PEL_OP_STORE_GLOBAL || op == PEL_OP_STORE_DEREF;
}
static bool is_delete(uint16_t op) {
    return op == PEL_OP_DELETE_FAST || op == PEL_OP_DELETE_NAME || op == PEL_OP_DELETE_GLOBAL ||
           op == PEL_OP_DELETE_DEREF;
}

/* name = None; del name; raise again. setup is the instruction that opens the block: just before it the name is bound.
 */
static bool is_name_cleanup(const pel_insns *insns, uint32_t setup, uint32_t at) {
    if (at + 3 >= insns->n || setup < 2) return false;
    const pel_insn *in = &insns->at[at], *bound = &insns->at[setup - 2];
    return in->op == PEL_OP_LOAD_CONST && in->value->kind == PEL_CONST_NONE && is_store(in[1].op) &&
           is_delete(in[2].op) && in[1].name == in[2].name &&
           (in[3].op == PEL_OP_END_FINALLY || in[3].op == PEL_OP_RERAISE) && is_store(bound->op) &&
           bound->name == in[1].name && insns->at[setup - 1].op == PEL_OP_POP_TOP;
}

static block *push_block(pel_norm *n, block *below, bool is_handler, uint32_t handler) {
    block *b = pel_new(n->ctx, block);
    *b = (block){ is_handler, handler, below };
    return b;
}

/* Pops down to and with the innermost block of the kind; what the code does without one is not ours to judge. */
static block *pop_block(block *blocks, bool is_handler) {
    for (block *b = blocks; b; b = b->below)
        if (b->is_handler == is_handler) return b->below;
    return blocks;
}

static void walk(pel_norm *n, uint32_t i, block *blocks) {
    const pel_insns *insns = n->insns;
    struct pel_old *old = n->old;
    while (i < insns->n) {
        if (old->seen[i]) return;
        old->seen[i] = true;
        old->dead[i] = old->left_over;
        old->blocks[i] = blocks;
        const pel_insn *in = &insns->at[i];
        if (sets_block(in->op)) {
            pel_push(n->ctx, &old->todo, ((visit){ in->target, push_block(n, blocks, true, in->target) }));
            blocks = push_block(n, blocks, false, in->target);
        } else if (in->op == PEL_OP_BEGIN_FINALLY) {
            uint32_t handler = i + 1;
            if (op_at(insns, handler) == PEL_OP_WITH_CLEANUP_START) { /* up to END_FINALLY or POP_FINALLY it is one */
                while (i < insns->n && insns->at[i].op != PEL_OP_END_FINALLY && insns->at[i].op != PEL_OP_POP_FINALLY)
                    i++;
                i++;
                continue;
            }
            if (old->end_of[handler] == PEL_NONE) {
                pel_push(n->ctx, &old->later, ((visit){ i, blocks }));
                return;
            }
            i = old->end_of[handler] + 1;
            continue;
        } else if (in->op == PEL_OP_POP_BLOCK)
            blocks = pop_block(blocks, false);
        else if (in->op == PEL_OP_POP_EXCEPT || in->op == PEL_OP_POP_FINALLY)
            blocks = pop_block(blocks, true);
        else if (in->op == PEL_OP_END_FINALLY) {
            for (block *b = blocks; b; b = b->below)
                if (b->is_handler) {
                    if (old->end_of[b->handler] == PEL_NONE) old->end_of[b->handler] = i;
                    break;
                }
            /* after a handler that swallowed nothing there is nothing; a `with` may swallow */
            bool with = false;
            for (block *b = blocks; b && !with; b = b->below)
                if (b->is_handler) {
                    with = insns->at[b->handler].op == PEL_OP_WITH_CLEANUP_START;
                    if (!with) return;
                    blocks = b->below;
                    break;
                }
            if (!with) return;
        }
        /* what is dead is in what is around it, wherever something dead jumps to it from */
        if (in->target != PEL_NONE && in->op != PEL_OP_CALL_FINALLY && !sets_block(in->op) && !old->left_over)
            pel_push(n->ctx, &old->todo, ((visit){ in->target, blocks }));
        if (pel_op_ends(in->op)) return;
        i++;
    }
}

/* All that runs from a place on. */
static void walk_all(pel_norm *n, uint32_t start, block *blocks) {
    struct pel_old *old = n->old;
    pel_push(n->ctx, &old->todo, ((visit){ start, blocks }));
    for (;;) {
        while (old->todo.n) {
            visit v = old->todo.at[--old->todo.n];
            walk(n, v.at, v.blocks);
        }
        uint32_t waiting = old->later.n, done = 0;
        for (uint32_t k = 0; k < waiting; k++) {
            visit v = old->later.at[k];
            uint32_t end = old->end_of[v.at + 1];
            if (end == PEL_NONE)
                old->later.at[k - done] = v;
            else {
                pel_push(n->ctx, &old->todo, ((visit){ end + 1, v.blocks }));
                done++;
            }
        }
        old->later.n -= done;
        if (!done) break;
    }
}

/* The blocks that are open at a place by its position alone: nothing leads there that could tell. */
static block *blocks_around(pel_norm *n, uint32_t at) {
    block *blocks = NULL;
    for (uint32_t i = 0; i < at; i++) {
        const pel_insn *in = &n->insns->at[i];
        if (sets_block(in->op) && n->old->seen[i] && in->target > at) blocks = push_block(n, blocks, false, in->target);
    }
    return blocks;
}

/* Where what nothing reaches from i on ends, if it holds blocks of its own: a copy of a `finally` body that says
 * nothing about the code around it. Else i. */
static uint32_t dead_copy_end(const pel_norm *n, uint32_t i) {
    bool has_blocks = false;
    uint32_t end = i;
    for (; end < n->insns->n && !n->old->seen[end]; end++) has_blocks |= sets_block(n->insns->at[end].op);
    return has_blocks ? end : i;
}

/* Where the body of the oldest `finally` says return, break or continue, a None is pushed before its block and popped
 * on every way out of it. */
static void skip_pushed_none(pel_norm *n) {
    const pel_insns *insns = n->insns;
    for (uint32_t i = 1; i < insns->n; i++) {
        const pel_insn *before = &insns->at[i - 1];
        if (insns->at[i].op != PEL_OP_SETUP_FINALLY || insns->at[i].is_target || before->op != PEL_OP_LOAD_CONST ||
            before->value->kind != PEL_CONST_NONE)
            continue;
        uint32_t end = n->old->end_of[insns->at[i].target];
        if (end == PEL_NONE || op_at(insns, end + 1) != PEL_OP_POP_TOP) continue;
        n->old->skip[i - 1] = n->old->skip[end + 1] = true;
        for (uint32_t k = insns->at[i].target; k < end; k++) {
            if (insns->at[k].op != PEL_OP_POP_FINALLY) continue;
            bool keeps_value = op_at(insns, k + 1) == PEL_OP_ROT_TWO;
            if (op_at(insns, k + 1 + keeps_value) != PEL_OP_POP_TOP) continue;
            n->old->skip[k + 1] = n->old->skip[k + 1 + keeps_value] = true;
        }
    }
}

/* Up to 3.10 no table says which handler covers an instruction: a walk along all ways finds the open blocks. Code that
 * the walk reaches comes first. The rest is dead, and only its position says which blocks are open. skip_pushed_none
 * needs the ends of handlers, which the walk notes. */
void pel_norm_prepare_old(pel_norm *n) {
    const pel_insns *insns = n->insns;
    struct pel_old *old = n->old = pel_new(n->ctx, struct pel_old);
    size_t count = (size_t)insns->n + 1;
    old->blocks = pel_new_array(n->ctx, count, block *);
    old->seen = pel_new_array(n->ctx, count, bool);
    old->dead = pel_new_array(n->ctx, count, bool);
    old->is_handler = pel_new_array(n->ctx, count, bool);
    old->is_cleanup = pel_new_array(n->ctx, count, bool);
    old->skip = pel_new_array(n->ctx, count, bool);
    old->end_of = pel_alloc_raw(n->ctx, count * sizeof *old->end_of);
    memset(old->end_of, 0xff, count * sizeof *old->end_of);
    for (uint32_t i = 0; i < insns->n; i++) {
        if (!sets_block(insns->at[i].op)) continue;
        uint32_t handler = insns->at[i].target;
        if (is_name_cleanup(insns, i, handler)) {
            old->is_cleanup[handler] = true;
            for (uint32_t k = 0; k < 4; k++) old->skip[handler + k] = true;
        } else if (insns->at[handler].op != PEL_OP_END_ASYNC_FOR)
            old->is_handler[handler] = true;
    }
    walk_all(n, 0, NULL);
    skip_pushed_none(n);
    old->left_over = true;
    for (uint32_t i = 0; i < insns->n && pel_norm_keeps_dead(n); i++) {
        if (old->seen[i]) continue;
        uint32_t end = dead_copy_end(n, i);
        if (end > i)
            i = end - 1;
        else
            walk_all(n, i, blocks_around(n, i));
    }
}

/* ---- translation ---- */

/* Instructions that begin a handler or belong to the machinery of blocks. Returns how many were dealt with; 0: none. */
uint32_t pel_norm_old_special(pel_norm *n, uint32_t i) {
    const pel_insns *insns = n->insns;
    struct pel_old *old = n->old;
    const pel_insn *in = &insns->at[i];
    if (!old) return 0;
    if (old->skip[i]) return 1;
    if (in->op == PEL_OP_POP_BLOCK && old->dead[i]) {
        pel_norm_add(n, PEL_I_PLACE, in);
        return 1;
    }
    if (in->op == PEL_OP_BEGIN_FINALLY && op_at(insns, i + 1) == PEL_OP_WITH_CLEANUP_START) {
        uint32_t k = i + 1;
        while (k < insns->n && insns->at[k].op != PEL_OP_END_FINALLY && insns->at[k].op != PEL_OP_POP_FINALLY) k++;
        pel_norm_add(n, PEL_I_WITH_EXIT, in)->flag = op_at(insns, i + 2) == PEL_OP_GET_AWAITABLE;
        return k + 1 - i;
    }
    if (in->op == PEL_OP_WITH_CLEANUP_START) { /* reached by exceptions only */
        uint32_t k = i;
        while (k < insns->n && insns->at[k].op != PEL_OP_END_FINALLY && insns->at[k].op != PEL_OP_POP_FINALLY) k++;
        pel_norm_add(n, PEL_I_WITH_RAISED, in);
        pel_norm_add(n, PEL_I_RERAISE, in);
        return k + 1 - i;
    }
    if (in->op == PEL_OP_BEGIN_FINALLY) {
        if (old->is_cleanup[i + 1]) return 1;
        pel_ins *run = pel_norm_add(n, PEL_I_FINALLY, in);
        run->arg = i + 1; /* a decoded index until guards have numbers */
        run->flag = old->end_of[i + 1] == PEL_NONE;
        if (!run->flag) pel_norm_add(n, PEL_I_JUMP, in)->target = old->end_of[i + 1] + 1;
        return 1;
    }
    if (in->op == PEL_OP_CALL_FINALLY) {
        if (!old->is_cleanup[in->target]) pel_norm_add(n, PEL_I_FINALLY, in)->arg = in->target;
        return 1;
    }
    if (in->op == PEL_OP_ROT_FOUR && (op_at(insns, i + 1) == PEL_OP_POP_EXCEPT ||
                                      (op_at(insns, i + 1) == PEL_OP_POP_BLOCK &&
                                       op_at(insns, i + 2) == PEL_OP_POP_EXCEPT))) { /* three items are one now */
        pel_norm_add(n, PEL_I_SWAP, in)->arg = 2;
        return 1;
    }
    return 0;
}

void pel_norm_old_handler(pel_norm *n, uint32_t i) {
    if (n->old && n->old->is_handler[i]) pel_norm_add(n, PEL_I_EXC, &n->insns->at[i]);
}

void pel_norm_translate_old(pel_norm *n, const pel_insn *in) {
    switch (in->op) {
    case PEL_OP_SETUP_FINALLY:
    case PEL_OP_SETUP_ASYNC_WITH:
    case PEL_OP_END_ASYNC_FOR: break;
    case PEL_OP_SETUP_WITH: pel_norm_add(n, PEL_I_WITH, in); break;
    case PEL_OP_END_FINALLY: pel_norm_add(n, PEL_I_RERAISE, in); break;
    case PEL_OP_POP_FINALLY:
        if (in->arg) pel_norm_add(n, PEL_I_SWAP, in)->arg = 2;
        pel_norm_add(n, PEL_I_POP, in);
        if (in->arg) pel_norm_add(n, PEL_I_SWAP, in)->arg = 2;
        pel_norm_add(n, PEL_I_POP_EXC, in);
        break;
    default: pel_throw(n->ctx, PEL_E_UNSUPPORTED, in->offset, "instruction %s is not supported", pel_op_name(in->op));
    }
}

/* ---- guards ---- */

static uint32_t cover_of(const pel_norm *n, block *blocks) {
    for (block *b = blocks; b; b = b->below)
        if (!b->is_handler && n->old->is_handler[b->handler]) return b->handler;
    return PEL_NONE;
}

static void drop(pel_norm *n, uint32_t i, uint8_t op) {
    if (pel_norm_op(n, i) != op) pel_norm_fail(n, i, "a handler of unknown shape");
    n->ins.at[i].op = PEL_I_NOP;
}

/* Type, value and traceback are one item: of the three pops around the name, the middle one stays. */
static void shape_clauses(pel_norm *n, uint32_t exc) {
    uint32_t i = pel_norm_next(n, exc);
    for (int clauses = 0; clauses < 1000; clauses++) {
        if (pel_norm_op(n, i) == PEL_I_POP) { /* except: */
            drop(n, pel_norm_next(n, i), PEL_I_POP);
            drop(n, pel_norm_next(n, i), PEL_I_POP);
            return;
        }
        if (pel_norm_op(n, i) != PEL_I_COPY) return;
        n->ins.at[i].op = PEL_I_NOP;
        while (i < n->ins.n && n->ins.at[i].op != PEL_I_EXC_MATCH) i = pel_norm_next(n, i);
        if (i >= n->ins.n) pel_norm_fail(n, exc, "a handler without a type");
        uint32_t next = n->ins.at[i].target;
        uint32_t first = pel_norm_next(n, i);
        drop(n, first, PEL_I_POP);
        drop(n, pel_norm_next(n, pel_norm_next(n, first)), PEL_I_POP);
        i = pel_norm_skip(n, next);
    }
}

/* return, break and continue in a `finally` body pop three and the handler. */
static void shape_finally(pel_norm *n) {
    for (uint32_t i = 0; i < n->ins.n; i++) {
        if (n->ins.at[i].op != PEL_I_POP) continue;
        uint32_t second = pel_norm_next(n, i), third = pel_norm_next(n, second), last = pel_norm_next(n, third);
        if (pel_norm_op(n, second) != PEL_I_POP || pel_norm_op(n, third) != PEL_I_POP ||
            pel_norm_op(n, last) != PEL_I_POP_EXC)
            continue;
        n->ins.at[second].op = n->ins.at[third].op = PEL_I_NOP;
    }
}

/* All guards get their numbers before `outer`, `cover` and PEL_I_FINALLY refer to them, since an inner handler may come
 * before its outer one. shape_finally runs after shape_clauses: a bare `except:` has the same pops, and shape_clauses
 * must find all of them. */
void pel_norm_blocks(pel_norm *n) {
    const pel_insns *insns = n->insns;
    struct pel_old *old = n->old;
    uint32_t *guard_of = pel_alloc_raw(n->ctx, ((size_t)insns->n + 1) * sizeof *guard_of);
    memset(guard_of, 0xff, ((size_t)insns->n + 1) * sizeof *guard_of);
    for (uint32_t h = 0; h < insns->n; h++) {
        if (!old->is_handler[h] || !old->seen[h]) continue;
        uint32_t exc = n->place[h];
        bool with = insns->at[h].op == PEL_OP_WITH_EXCEPT_START || insns->at[h].op == PEL_OP_WITH_CLEANUP_START;
        pel_guard guard = { .kind = PEL_G_WITH,
                            .target = exc,
                            .outer = PEL_NONE,
                            .exit = PEL_NONE,
                            .stood = PEL_NONE,
                            .first = PEL_NONE,
                            .last = PEL_NONE };
        if (insns->at[h].op == PEL_OP_WITH_CLEANUP_START) {
            uint32_t k = h;
            while (k < insns->n && insns->at[k].op != PEL_OP_END_FINALLY) k++;
            if (k + 1 >= insns->n) pel_norm_fail(n, exc, "a `with` handler that does not end");
            guard.exit = n->place[k + 1];
        } else if (with)
            guard.exit = pel_norm_with_exit(n, exc);
        else {
            bool copies = pel_norm_op(n, pel_norm_next(n, exc)) == PEL_I_COPY;
            guard.kind = pel_norm_guard_kind(n, exc);
            if (guard.kind == PEL_G_EXCEPT && !copies && pel_norm_op(n, pel_norm_next(n, exc)) != PEL_I_POP)
                guard.kind = PEL_G_FINALLY;
            if (guard.kind == PEL_G_EXCEPT) shape_clauses(n, exc);
        }
        guard_of[h] = n->guards.n;
        pel_push(n->ctx, &n->guards, guard);
    }
    shape_finally(n);
    for (uint32_t h = 0; h < insns->n; h++) {
        if (guard_of[h] == PEL_NONE) continue;
        uint32_t outer = cover_of(n, old->blocks[h]);
        n->guards.at[guard_of[h]].outer = outer == PEL_NONE ? PEL_NONE : guard_of[outer];
    }
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins *ins = &n->ins.at[i];
        uint32_t handler = old->seen[n->from.at[i]] ? cover_of(n, old->blocks[n->from.at[i]]) : PEL_NONE;
        ins->cover = handler == PEL_NONE ? PEL_NONE : guard_of[handler];
        ins->dead = old->dead[n->from.at[i]];
        if (ins->op == PEL_I_FINALLY) {
            if (guard_of[ins->arg] == PEL_NONE) pel_norm_fail(n, i, "a `finally` that nothing covers");
            ins->arg = guard_of[ins->arg];
        }
    }
}
