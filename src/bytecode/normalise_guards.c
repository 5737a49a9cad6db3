/* Exception tables -> guards: the handlers that somebody wrote, with what they cover.
 *
 * Most entries of a table are the compiler's own: they pop the exception when a handler raises, delete the name of
 * `except ... as name`, restore the variables of an inlined comprehension, turn StopIteration into RuntimeError. Those
 * are looked through: what they cover belongs to the next real handler outside. */
#include "bytecode/normalise_internal.h"

const pel_handler *pel_norm_handler_at(const pel_insns *insns, uint32_t i) {
    uint32_t low = 0, high = insns->n_handlers;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (insns->handlers[mid].end <= i)
            low = mid + 1;
        else
            high = mid;
    }
    return low < insns->n_handlers && insns->handlers[low].start <= i ? &insns->handlers[low] : NULL;
}

pel_same_cover pel_norm_same_cover(const pel_norm *n, uint32_t a, uint32_t b) {
    const pel_handler *x = pel_norm_handler_at(n->insns, n->from.at[a]),
                      *y = pel_norm_handler_at(n->insns, n->from.at[b]);
    if (!x && !y) return PEL_COVER_UNKNOWN;
    return x && y && x->target == y->target ? PEL_COVER_SAME : PEL_COVER_OTHER;
}

uint32_t pel_norm_cleanup_of(const pel_norm *n, uint32_t i, uint32_t taken) {
    for (uint32_t k = i; k < i + taken && k < n->insns->n; k++) {
        const pel_handler *handler = n->insns->at[k].op == PEL_OP_YIELD_VALUE ? pel_norm_handler_at(n->insns, k) : NULL;
        const pel_insn *to = handler ? &n->insns->at[handler->target] : NULL;
        if (to && to->op == PEL_OP_CLEANUP_THROW) return to->offset;
    }
    return 0;
}

uint32_t pel_norm_anext_end(pel_norm *n, uint32_t i, uint32_t taken) {
    const pel_insns *insns = n->insns;
    const pel_handler *handler = pel_norm_handler_at(insns, i);
    uint32_t target = PEL_NONE;
    if (handler)
        target = handler->target;
    else if (i > 0 && insns->at[i - 1].op == PEL_OP_SETUP_FINALLY)
        target = insns->at[i - 1].target;
    (void)taken;
    if (target == PEL_NONE || insns->at[target].op != PEL_OP_END_ASYNC_FOR || target + 1 >= insns->n)
        pel_throw(n->ctx, PEL_E_INCOMPLETE, insns->at[i].offset, "an `async for` without end");
    return target + 1;
}

/* Whether an instruction may be between the start of a handler and the test of the exception's type. */
static bool may_name_type(uint8_t op) {
    switch (op) {
    case PEL_I_COPY:
    case PEL_I_SWAP:
    case PEL_I_PUSH_NULL:
    case PEL_I_CONST:
    case PEL_I_LOAD:
    case PEL_I_CELL:
    case PEL_I_ATTR:
    case PEL_I_METHOD:
    case PEL_I_SUBSCR:
    case PEL_I_UNARY:
    case PEL_I_BINARY:
    case PEL_I_COMPARE:
    case PEL_I_BUILD:
    case PEL_I_EXTEND:
    case PEL_I_LIST_TO_TUPLE:
    case PEL_I_BUILD_UNPACK:
    case PEL_I_CALL:
    case PEL_I_CALL_EX:
    case PEL_I_JUMP:
    case PEL_I_PJF:
    case PEL_I_PJT:
    case PEL_I_PJN:
    case PEL_I_PJNN:
    case PEL_I_JFP:
    case PEL_I_JTP: return true;
    default: return false;
    }
}

pel_guard_kind pel_norm_guard_kind(const pel_norm *n, uint32_t exc) {
    uint32_t i = pel_norm_next(n, exc);
    if (pel_norm_op(n, i) == PEL_I_WITH_RAISED) return PEL_G_WITH;
    if (pel_norm_op(n, i) == PEL_I_POP) return PEL_G_EXCEPT;
    while (i < n->ins.n && may_name_type(n->ins.at[i].op)) i = pel_norm_next(n, i);
    if (pel_norm_op(n, i) == PEL_I_EXC_MATCH) return n->ins.at[i].sub ? PEL_G_GROUP : PEL_G_EXCEPT;
    return PEL_G_FINALLY;
}

/* Where an exception that a `with` swallowed goes on. */
uint32_t pel_norm_with_exit(const pel_norm *n, uint32_t exc) {
    uint32_t i = pel_norm_next(n, pel_norm_next(n, exc));
    if (pel_norm_op(n, i) == PEL_I_AWAIT) i = pel_norm_next(n, i);
    if (pel_norm_op(n, i) == PEL_I_PJT)
        i = pel_norm_skip(n, n->ins.at[i].target);
    else if (pel_norm_op(n, i) == PEL_I_PJF)
        i = pel_norm_next(n, i);
    else
        pel_norm_fail(n, i, "a `with` handler of unknown shape");
    bool popped = false;
    for (int pops = 0; pops < 6; pops++, i = pel_norm_next(n, i)) {
        if (pel_norm_op(n, i) == PEL_I_POP_EXC)
            popped = true;
        else if (pel_norm_op(n, i) != PEL_I_POP)
            break;
    }
    if (!popped) pel_norm_fail(n, i, "a `with` handler that does not end");
    return i;
}

static uint32_t guard_of(pel_norm *n, uint32_t *by_place, uint32_t place) {
    if (by_place[place] != PEL_NONE) return by_place[place];
    pel_guard guard = { .kind = pel_norm_guard_kind(n, place),
                        .target = place,
                        .offset = n->ins.at[place].offset,
                        .outer = PEL_NONE,
                        .exit = PEL_NONE,
                        .stood = PEL_NONE,
                        .first = PEL_NONE,
                        .last = PEL_NONE };
    if (guard.kind == PEL_G_WITH) guard.exit = pel_norm_with_exit(n, place);
    by_place[place] = n->guards.n;
    pel_push(n->ctx, &n->guards, guard);
    return n->guards.n - 1;
}

/* The innermost real handler around a decoded instruction. */
static uint32_t real_guard(pel_norm *n, uint32_t *by_place, uint32_t decoded) {
    for (int steps = 0; steps < 100; steps++) {
        const pel_handler *handler = pel_norm_handler_at(n->insns, decoded);
        if (!handler) return PEL_NONE;
        uint32_t place = pel_norm_skip(n, n->place[handler->target]);
        if (n->insns->at[handler->target].op == PEL_OP_PUSH_EXC_INFO) return guard_of(n, by_place, place);
        if (handler->target == decoded) return PEL_NONE;
        decoded = handler->target;
    }
    return PEL_NONE;
}

/* CHECK_EXC_MATCH and the jump after it are one. */
static void fold_matches(pel_norm *n) {
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins *ins = &n->ins.at[i];
        if (ins->op != PEL_I_EXC_MATCH || ins->target != PEL_NONE || ins->sub) continue;
        uint32_t k = pel_norm_next(n, i);
        if (pel_norm_op(n, k) != PEL_I_PJF) pel_norm_fail(n, i, "a test of an exception's type without a jump");
        ins->target = n->ins.at[k].target;
        n->ins.at[k].op = PEL_I_NOP;
    }
}

/* ---- except* ---- */

static void drop(pel_norm *n, uint32_t i) {
    n->ins.at[i].op = PEL_I_NOP;
    n->ins.at[i].target = PEL_NONE;
}

static void become(pel_norm *n, uint32_t i, pel_iop op, uint32_t target) {
    pel_ins *ins = &n->ins.at[i];
    ins->op = (uint8_t)op;
    ins->target = target;
    ins->name = NULL;
    ins->arg = ins->sub = 0;
    ins->flag = false;
}

/* From the list that collects what is raised to the test of the first type: EXC; list, exception. */
static uint32_t drop_group_list(pel_norm *n, uint32_t exc) {
    uint32_t at[3] = { pel_norm_next(n, exc) };
    at[1] = pel_norm_next(n, at[0]);
    at[2] = pel_norm_next(n, at[1]);
    bool list_first = pel_norm_op(n, at[0]) == PEL_I_BUILD && pel_norm_op(n, at[1]) == PEL_I_COPY;
    bool copy_first = pel_norm_op(n, at[0]) == PEL_I_COPY && pel_norm_op(n, at[1]) == PEL_I_BUILD &&
                      pel_norm_op(n, at[2]) == PEL_I_SWAP;
    if (!list_first && !copy_first) pel_norm_fail(n, exc, "an except* of unknown shape");
    for (int k = 0; k < (list_first ? 2 : 3); k++) drop(n, at[k]);
    return pel_norm_skip(n, at[0]);
}

/* The end of an except* statement: what is left and what was raised on the way is raised again, or the handler is done.
 * Returns where it goes on then; only RERAISE stays. */
static uint32_t drop_group_end(pel_norm *n, uint32_t raise, uint32_t *reraise) {
    uint32_t at[9] = { raise };
    for (int k = 1; k < 5; k++) at[k] = pel_norm_next(n, at[k - 1]);
    bool known = pel_norm_op(n, at[1]) == PEL_I_COPY && pel_norm_op(n, at[2]) == PEL_I_PJNN &&
                 pel_norm_op(n, at[3]) == PEL_I_POP && pel_norm_op(n, at[4]) == PEL_I_POP_EXC;
    if (!known) pel_norm_fail(n, raise, "an except* of unknown shape");
    uint32_t goes_on = pel_norm_next(n, at[4]);
    if (pel_norm_op(n, goes_on) == PEL_I_JUMP) goes_on = n->ins.at[goes_on].target;
    at[5] = pel_norm_skip(n, n->ins.at[at[2]].target);
    at[6] = pel_norm_next(n, at[5]);
    at[7] = pel_norm_next(n, at[6]);
    known = pel_norm_op(n, at[5]) == PEL_I_SWAP && pel_norm_op(n, at[6]) == PEL_I_POP_EXC &&
            pel_norm_op(n, at[7]) == PEL_I_RERAISE;
    if (!known) pel_norm_fail(n, raise, "an except* of unknown shape");
    for (int k = 0; k < 7; k++) drop(n, at[k]);
    *reraise = at[7];
    return goes_on;
}

static bool is_raised_end(const pel_norm *n, uint32_t i) {
    uint32_t pop = pel_norm_prev(n, i), append = pop == PEL_NONE ? PEL_NONE : pel_norm_prev(n, pop);
    if (append != PEL_NONE && n->ins.at[pop].op == PEL_I_APPEND && n->ins.at[pop].arg == 1) {
        pop = append; /* with what is left */
        append = pel_norm_prev(n, pop);
    }
    return append != PEL_NONE && n->ins.at[pop].op == PEL_I_POP && n->ins.at[append].op == PEL_I_APPEND &&
           n->ins.at[append].arg == 3;
}

/* The last jump from a clause to the next one, which begins at `next`, or to the end with what is left; all other ways
 * there lead to it afterwards. PEL_NONE if the clause always raises. */
static uint32_t clause_end(pel_norm *n, uint32_t from, uint32_t no, uint32_t next) {
    uint32_t found = PEL_NONE, end = pel_norm_op(n, next) == PEL_I_APPEND ? pel_norm_next(n, next) : PEL_NONE;
    uint32_t limit = no;
    for (uint32_t i = from; i < no; i++) /* what is after is only passed through */
        if (n->ins.at[i].op == PEL_I_JUMP && is_raised_end(n, i)) limit = i;
    for (uint32_t i = from; i < limit; i++) {
        const pel_ins *ins = &n->ins.at[i];
        if (ins->op != PEL_I_JUMP || is_raised_end(n, i)) continue;
        uint32_t to = pel_norm_resolve(n, ins->target), before = pel_norm_prev(n, i);
        if (to == next) found = i;
        if (to == end && before != PEL_NONE && n->ins.at[before].op == PEL_I_APPEND) found = before;
    }
    if (found == PEL_NONE) return found;
    for (uint32_t i = from; i < no; i++) {
        uint32_t to = n->ins.at[i].target;
        if (to != PEL_NONE && i != found && n->ins.at[i].op != PEL_I_NOP && pel_norm_resolve(n, to) == next)
            n->ins.at[i].target = found;
    }
    return found;
}

/* name = None; del name, before the end of a clause */
static void drop_name(pel_norm *n, uint32_t end) {
    uint32_t gone = pel_norm_prev(n, end), store = gone == PEL_NONE ? PEL_NONE : pel_norm_prev(n, gone);
    uint32_t none = store == PEL_NONE ? PEL_NONE : pel_norm_prev(n, store);
    if (none == PEL_NONE || n->ins.at[gone].op != PEL_I_DELETE || n->ins.at[store].op != PEL_I_STORE) return;
    if (n->ins.at[gone].name != n->ins.at[store].name || !pel_norm_is_none(n, none)) return;
    drop(n, none);
    drop(n, store);
    drop(n, gone);
}

/* One handler of except* -> the form of except: a clause that is done pops the exception and goes on after the
 * statement, whereas in truth the next clause has its turn with what is left of the group. */
static void fold_group(pel_norm *n, uint32_t exc) {
    uint32_t at = drop_group_list(n, exc), last_match = PEL_NONE;
    PEL_VEC(uint32_t) ends = { 0 }; /* jumps at the end of clauses */
    for (;;) {
        while (at < n->ins.n && may_name_type(n->ins.at[at].op)) at = pel_norm_next(n, at);
        if (pel_norm_op(n, at) != PEL_I_EXC_MATCH || !n->ins.at[at].sub) break;
        uint32_t copied = pel_norm_next(n, at), jump = pel_norm_next(n, copied);
        if (pel_norm_op(n, copied) != PEL_I_COPY || pel_norm_op(n, jump) != PEL_I_PJN)
            pel_norm_fail(n, at, "an except* of unknown shape");
        uint32_t no = pel_norm_skip(n, n->ins.at[jump].target), next = pel_norm_next(n, no);
        if (no <= jump || pel_norm_op(n, no) != PEL_I_POP) pel_norm_fail(n, at, "an except* of unknown shape");
        drop(n, copied);
        drop(n, jump);
        n->ins.at[at].target = next;
        last_match = at;
        uint32_t leave = clause_end(n, jump, no, next);
        if (leave != PEL_NONE) {
            for (uint32_t i = leave + 1; i < no; i++) drop(n, i); /* what is done when the clause raises */
            drop_name(n, leave);
            become(n, leave, PEL_I_POP_EXC, PEL_NONE);
            become(n, no, PEL_I_JUMP, PEL_NONE);
            pel_push(n->ctx, &ends, no);
        } else
            drop(n, no);
        at = next;
    }
    if (last_match == PEL_NONE || pel_norm_op(n, at) != PEL_I_APPEND)
        pel_norm_fail(n, exc, "an except* without clauses");
    uint32_t raise = pel_norm_next(n, at), reraise = PEL_NONE;
    drop(n, at);
    if (pel_norm_op(n, raise) != PEL_I_GROUP_RAISE) pel_norm_fail(n, at, "an except* that does not end");
    uint32_t goes_on = drop_group_end(n, raise, &reraise);
    n->ins.at[last_match].target = reraise;
    for (uint32_t i = 0; i < ends.n; i++) {
        n->ins.at[ends.at[i]].target = goes_on;
        n->ins.at[ends.at[i]].sub = i > 0; /* there was one jump, not many */
    }
}

void pel_norm_guards(pel_norm *n) {
    fold_matches(n);
    for (uint32_t i = 0; i < n->ins.n; i++)
        if (n->ins.at[i].op == PEL_I_EXC && pel_norm_guard_kind(n, i) == PEL_G_GROUP) fold_group(n, i);
    if (n->old)
        pel_norm_blocks(n);
    else {
        uint32_t *by_place = pel_new_array(n->ctx, (size_t)n->ins.n + 1, uint32_t);
        memset(by_place, 0xff, (n->ins.n + 1) * sizeof *by_place);
        if (n->insns->n_handlers)
            for (uint32_t i = 0; i < n->ins.n; i++) n->ins.at[i].cover = real_guard(n, by_place, n->from.at[i]);
        for (uint32_t g = 0; g < n->guards.n; g++) { /* the vector may grow meanwhile */
            uint32_t outer = real_guard(n, by_place, n->from.at[n->guards.at[g].target]);
            n->guards.at[g].outer = outer;
        }
    }
    for (uint32_t g = 0; g < n->guards.n; g++) {
        pel_guard *guard = &n->guards.at[g];
        if (guard->kind != PEL_G_WITH || guard->exit >= n->ins.n) continue;
        const pel_ins *jump = &n->ins.at[guard->exit];
        guard->leads_on = jump->op == PEL_I_JUMP && guard->outer != PEL_NONE && jump->cover == guard->outer;
    }
    n->cover_from = pel_new_array(n->ctx, (size_t)n->guards.n + 1, uint32_t);
    n->cover_to = pel_new_array(n->ctx, (size_t)n->guards.n + 1, uint32_t);
    memset(n->cover_from, 0xff, n->guards.n * sizeof *n->cover_from);
    /* handlers around handlers must end somewhere */
    for (uint32_t g = 0; g < n->guards.n; g++) {
        uint32_t outer = n->guards.at[g].outer;
        for (uint32_t steps = 0; outer != PEL_NONE; outer = n->guards.at[outer].outer)
            if (outer == g || ++steps > n->guards.n)
                pel_norm_fail(n, n->guards.at[g].target, "handlers that cover themselves");
    }
    for (uint32_t i = 0; i < n->ins.n; i++) {
        for (uint32_t g = n->ins.at[i].cover; g != PEL_NONE; g = n->guards.at[g].outer) {
            if (n->cover_from[g] == PEL_NONE) n->cover_from[g] = i;
            n->cover_to[g] = i + 1;
        }
    }
}
