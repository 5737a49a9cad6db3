/* Small groups of instructions that always mean one thing. */
#include "bytecode/normalise_internal.h"

static bool is_target(const pel_norm *n, uint32_t i) { return n->jumps_to[i] != 0; }

static void delete (pel_norm *n, uint32_t i) { n->ins.at[i].op = PEL_I_NOP; }

/* Where a value is thrown away that was tested twice: a jump leads to the second test, whose answer is known, or past
 * it; PEL_NONE if the value is kept. */
static uint32_t past_second_test(const pel_norm *n, uint32_t jump) {
    uint32_t to = pel_norm_skip(n, n->ins.at[jump].target);
    uint8_t other = n->ins.at[jump].op == PEL_I_PJF ? PEL_I_PJT : PEL_I_PJF;
    if (pel_norm_op(n, to) == PEL_I_COPY && n->ins.at[to].arg == 1) {
        uint32_t test = pel_norm_next(n, to), pop = pel_norm_next(n, test);
        return pel_norm_op(n, test) == other && pel_norm_op(n, pop) == PEL_I_POP ? pel_norm_next(n, pop) : PEL_NONE;
    }
    uint32_t before = pel_norm_prev(n, to);
    bool is_tested = before != PEL_NONE && (n->ins.at[before].op == PEL_I_PJF || n->ins.at[before].op == PEL_I_PJT);
    return pel_norm_op(n, to) == PEL_I_POP && is_tested ? pel_norm_next(n, to) : PEL_NONE;
}

/* COPY 1; PJF L; POP  ->  JFP L */
static void jump_or_pop(pel_norm *n, uint32_t i) {
    uint32_t jump = pel_norm_next(n, i), pop = pel_norm_next(n, jump);
    if (n->ins.at[i].arg != 1 || (pel_norm_op(n, jump) != PEL_I_PJF && pel_norm_op(n, jump) != PEL_I_PJT)) return;
    if (pel_norm_op(n, pop) != PEL_I_POP || is_target(n, jump) || is_target(n, pop)) return;
    uint32_t next = past_second_test(n, jump);
    if (next != PEL_NONE) { /* nobody keeps it: the first test of `a and b or c` */
        n->jumps_to[pel_norm_skip(n, n->ins.at[jump].target)]--;
        n->jumps_to[next]++;
        n->ins.at[jump].target = next;
        delete (n, i);
        delete (n, pop);
        return;
    }
    n->ins.at[jump].op = n->ins.at[jump].op == PEL_I_PJF ? PEL_I_JFP : PEL_I_JTP;
    delete (n, i);
    delete (n, pop);
}

static uint8_t inverse(uint8_t op) {
    switch (op) {
    case PEL_I_PJF: return PEL_I_PJT;
    case PEL_I_PJT: return PEL_I_PJF;
    case PEL_I_PJN: return PEL_I_PJNN;
    default: return PEL_I_PJN;
    }
}

/* PJF L; JUMP back; L:  ->  PJT back. Newer compilers have no conditional jump backwards. */
static void backward_test(pel_norm *n, uint32_t i) {
    uint32_t jump = pel_norm_next(n, i);
    if (!n->forward_tests || pel_norm_op(n, jump) != PEL_I_JUMP || is_target(n, jump) || n->ins.at[jump].target > i)
        return;
    if (pel_norm_skip(n, n->ins.at[i].target) != pel_norm_next(n, jump)) return;
    pel_ins *ins = &n->ins.at[i];
    ins->op = inverse(ins->op);
    ins->target = n->ins.at[jump].target;
    ins->flag = true;
    bool has_line = !n->plainly && ins->line && n->ins.at[jump].line && ins->line != n->ins.at[jump].line;
    ins->sub = has_line ? PEL_COVER_SAME : (uint8_t)pel_norm_same_cover(n, i, jump);
    delete (n, jump);
}

/* Whether what a call takes was loaded just before its arguments: a `with` calls what waits since it was entered. */
static bool loads_callee(const pel_norm *n, uint32_t before) {
    switch (before == PEL_NONE ? PEL_I_COUNT : n->ins.at[before].op) {
    case PEL_I_METHOD:
    case PEL_I_PUSH_NULL:
    case PEL_I_SUPER:
    case PEL_I_ATTR:
    case PEL_I_LOAD: return true;
    default: return false;
    }
}

/* None, None, None, call, pop: a `with` block is left. */
static void with_exit(pel_norm *n, uint32_t i) {
    uint32_t k = i;
    for (int nones = 0; nones < 3; nones++, k = pel_norm_next(n, k)) {
        bool copied = nones > 0 && pel_norm_op(n, k) == PEL_I_COPY && n->ins.at[k].arg == 1;
        if (!copied && !pel_norm_is_none(n, k)) return;
        if (nones && is_target(n, k)) return;
    }
    const pel_ins *call = k < n->ins.n ? &n->ins.at[k] : NULL;
    if (!call || call->op != PEL_I_CALL || call->value || call->arg + call->sub != (n->splits_pairs ? 5 : 4)) return;
    /* an ordinary call of three arguments has loaded what it calls just before, NULL or method */
    if (call->sub == 1 && !(pel_norm_op(n, pel_norm_next(n, i)) == PEL_I_COPY)) return;
    if (n->splits_pairs && loads_callee(n, pel_norm_prev(n, i))) return;
    uint32_t pop = pel_norm_next(n, k);
    uint32_t await = PEL_NONE;
    if (pel_norm_op(n, pop) == PEL_I_AWAIT) {
        await = pop;
        pop = pel_norm_next(n, pop);
    }
    if (pel_norm_op(n, pop) != PEL_I_POP) return;
    for (k = pel_norm_next(n, i); k < pop; k = pel_norm_next(n, k)) delete (n, k);
    if (await != PEL_NONE) delete (n, await);
    delete (n, pop);
    pel_ins *ins = &n->ins.at[i];
    ins->op = PEL_I_WITH_EXIT;
    ins->flag = await != PEL_NONE;
    ins->value = NULL;
    /* the place is no longer covered: it belongs to the statement around */
}

/* POP_EXC; name = None; del name  ->  POP_EXC: the end of `except ... as name`. */
static void named_end(pel_norm *n, uint32_t i) {
    uint32_t none = pel_norm_next(n, i), store = pel_norm_next(n, none), gone = pel_norm_next(n, store);
    if (!pel_norm_is_none(n, none) || pel_norm_op(n, store) != PEL_I_STORE || pel_norm_op(n, gone) != PEL_I_DELETE)
        return;
    if (n->ins.at[store].name != n->ins.at[gone].name || is_target(n, none) || is_target(n, store)) return;
    delete (n, none);
    delete (n, store);
    delete (n, gone);
}

/* ---- chained comparisons ---- */

/* How many instructions from a on are the same as from b on, up to and with the first that ends a path; 0 if they
 * differ before. */
static uint32_t equal_run(const pel_norm *n, uint32_t a, uint32_t b) {
    for (uint32_t length = 1; length < 24; length++) {
        if (a >= n->ins.n || b >= n->ins.n) return 0;
        const pel_ins *x = &n->ins.at[a], *y = &n->ins.at[b];
        if (!pel_norm_same_ins(x, y)) return 0;
        if (x->target != PEL_NONE && pel_norm_skip(n, x->target) != pel_norm_skip(n, y->target)) return 0;
        if (pel_ends(x)) return length;
        a = pel_norm_next(n, a);
        b = pel_norm_next(n, b);
    }
    return 0;
}

static void delete_run(pel_norm *n, uint32_t i, uint32_t length) {
    for (; length > 0; length--, i = pel_norm_next(n, i)) delete (n, i);
}

/* The instruction that a run of `length` before i begins with. */
static uint32_t back_by(const pel_norm *n, uint32_t i, uint32_t length) {
    while (length-- > 0 && i != PEL_NONE) i = pel_norm_prev(n, i);
    return i;
}

static uint32_t run_length(const pel_norm *n, uint32_t i) {
    for (uint32_t length = 1; i < n->ins.n && length < 24; length++, i = pel_norm_next(n, i))
        if (pel_ends(&n->ins.at[i])) return length;
    return 0;
}

/* The place c is reached when a comparison within a chain failed and its right side is still on the stack. Behind it
 * the code does what the failing last comparison does; that is checked, then c and the copy are removed. */
static bool drop_cleanup(pel_norm *n, uint32_t c) {
    if (n->jumps_to[c] != 1) return false;
    uint32_t before = pel_norm_prev(n, c);
    if (before == PEL_NONE) return false;
    if (pel_norm_op(n, c) == PEL_I_SWAP) { /* as a value: swap, pop, then go on with False */
        uint32_t pop = pel_norm_next(n, c), rest = pel_norm_next(n, pop);
        if (n->ins.at[c].arg != 2 || pel_norm_op(n, pop) != PEL_I_POP) return false;
        if (n->ins.at[before].op == PEL_I_JUMP && pel_norm_skip(n, n->ins.at[before].target) == rest) {
            if (!is_target(n, before)) delete (n, before);
            delete (n, c);
            delete (n, pop);
            return true;
        }
        uint32_t length = run_length(n, rest), start = back_by(n, c, length);
        if (!length || start == PEL_NONE || equal_run(n, start, rest) != length) return false;
        uint32_t copy = is_target(n, rest) ? start : rest; /* where others lead to stays */
        if (is_target(n, copy)) return false;
        delete (n, c);
        delete (n, pop);
        delete_run(n, copy, length);
        return true;
    }
    if (pel_norm_op(n, c) != PEL_I_POP) return false;
    uint32_t rest = pel_norm_next(n, c);
    /* the last test, and what is between it and c */
    uint32_t test = before;
    for (int steps = 0; test != PEL_NONE && !pel_is_pop_jump(&n->ins.at[test]); steps++) {
        if (steps > 24) return false;
        test = pel_norm_prev(n, test);
    }
    if (test == PEL_NONE) return false;
    uint32_t after_test = pel_norm_next(n, test), if_jumps = pel_norm_skip(n, n->ins.at[test].target);
    uint8_t op = n->ins.at[test].op;
    bool over = pel_ends(&n->ins.at[before]);
    if (!over) return false;
    if (op != PEL_I_PJT) { /* false jumps away: the clean-up must go there, too */
        if (rest == if_jumps) {
            delete (n, c);
            return true;
        }
        if (pel_norm_op(n, rest) == PEL_I_JUMP && pel_norm_resolve(n, rest) == pel_norm_resolve(n, if_jumps)) {
            uint32_t end = pel_norm_next(n, rest);
            bool shared = is_target(n, rest);
            delete (n, c);
            if (!shared) delete (n, rest);
            if (n->ins.at[before].op == PEL_I_JUMP && before == after_test && !shared &&
                pel_norm_skip(n, n->ins.at[before].target) == end && !is_target(n, before))
                delete (n, before);
            return true;
        }
        uint32_t length = equal_run(n, rest, if_jumps);
        if (length && !is_target(n, rest)) {
            uint32_t end = rest;
            for (uint32_t k = 0; k < length; k++) end = pel_norm_next(n, end);
            delete (n, c);
            delete_run(n, rest, length);
            if (n->ins.at[before].op == PEL_I_JUMP && before == after_test && !is_target(n, before) &&
                pel_norm_skip(n, n->ins.at[before].target) == end)
                delete (n, before);
            return true;
        }
        if (op == PEL_I_PJF) return false;
    }
    /* true jumps away: what is between is what the clean-up does */
    if (op == PEL_I_PJN || op == PEL_I_PJNN) n->ins.at[test].arg = 1;
    if (n->ins.at[before].op == PEL_I_JUMP && before == after_test &&
        pel_norm_skip(n, n->ins.at[before].target) == rest) {
        delete (n, c);
        if (!is_target(n, before)) delete (n, before);
        return true;
    }
    uint32_t length = equal_run(n, after_test, rest);
    uint32_t copy = is_target(n, rest) ? after_test : rest; /* where others lead to stays */
    if (!length || is_target(n, copy) || back_by(n, c, length) != after_test) return false;
    delete (n, c);
    delete_run(n, copy, length);
    return true;
}

/* b is kept under the comparison a < b: [a, b] -> [b, a < b]. */
static uint32_t chain_compare(const pel_norm *n, uint32_t i) {
    uint32_t k = pel_norm_next(n, i);
    if (pel_norm_op(n, i) == PEL_I_SWAP && n->ins.at[i].arg == 2 && pel_norm_op(n, k) == PEL_I_COPY &&
        n->ins.at[k].arg == 2)
        k = pel_norm_next(n, k);
    else if (pel_norm_op(n, i) == PEL_I_COPY && n->ins.at[i].arg == 1 && pel_norm_op(n, k) == PEL_I_SWAP &&
             n->ins.at[k].arg == 3 && pel_norm_op(n, pel_norm_next(n, k)) == PEL_I_SWAP &&
             n->ins.at[pel_norm_next(n, k)].arg == 2)
        k = pel_norm_next(n, pel_norm_next(n, k));
    else
        return PEL_NONE;
    if (pel_norm_op(n, k) != PEL_I_COMPARE) return PEL_NONE;
    uint32_t jump = pel_norm_next(n, k);
    return pel_norm_op(n, jump) == PEL_I_PJF || pel_norm_op(n, jump) == PEL_I_JFP ? k : PEL_NONE;
}

static void fold_chains(pel_norm *n) {
    /* from the end, so that of chains within chains the inner one is folded first */
    for (uint32_t i = n->ins.n; i-- > 0;) {
        if (n->ins.at[i].op == PEL_I_NOP) continue;
        uint32_t compare = chain_compare(n, i);
        if (compare == PEL_NONE) continue;
        uint32_t jump = pel_norm_next(n, compare);
        uint32_t c = pel_norm_skip(n, n->ins.at[jump].target);
        pel_norm_count_targets(n);
        /* several comparisons of one chain share the clean-up; it goes with the last that is left */
        if (n->jumps_to[c] > 1) {
            bool mine = pel_norm_op(n, c) == PEL_I_POP || pel_norm_op(n, c) == PEL_I_SWAP;
            if (!mine) continue;
        } else if (!drop_cleanup(n, c))
            continue;
        for (uint32_t k = i; k <= jump; k = pel_norm_next(n, k))
            if (k != compare) delete (n, k);
        n->ins.at[compare].op = PEL_I_CHAIN;
    }
    pel_norm_count_targets(n);
}

/* ---- match ---- */

/* MATCH_CLASS; COPY 1; PJF L  ->  MATCH_CLASS; COPY 1; PJN L. Where they push a second value that says whether there is
 * a first one, the translation has put a COPY of the first in its place. */
static void match_result(pel_norm *n, uint32_t i) {
    uint32_t copied = pel_norm_next(n, i), jump = pel_norm_next(n, copied);
    if (pel_norm_op(n, copied) == PEL_I_COPY && pel_norm_op(n, jump) == PEL_I_PJF) n->ins.at[jump].op = PEL_I_PJN;
}

/* [mapping, keys] -> what other keys there are: {}; SWAP 3; EXTEND 2; UNPACK n; (COPY; SWAP 2; DELETE_SUBSCR) n times
 * ->  DICT_REST; SWAP 2; POP */
static void dict_rest(pel_norm *n, uint32_t i) {
    uint32_t swap = pel_norm_next(n, i), extend = pel_norm_next(n, swap), unpack = pel_norm_next(n, extend);
    if (n->ins.at[i].sub != PEL_D_DICT || n->ins.at[i].arg || pel_norm_op(n, unpack) != PEL_I_UNPACK) return;
    if (pel_norm_op(n, swap) != PEL_I_SWAP || n->ins.at[swap].arg != 3) return;
    if (pel_norm_op(n, extend) != PEL_I_EXTEND || n->ins.at[extend].arg != 2) return;
    uint32_t end = unpack;
    for (uint32_t left = n->ins.at[unpack].arg; left > 0; left--) {
        uint32_t copied = pel_norm_next(n, end), swapped = pel_norm_next(n, copied);
        end = pel_norm_next(n, swapped);
        if (pel_norm_op(n, copied) != PEL_I_COPY || n->ins.at[copied].arg != left + 1) return;
        if (pel_norm_op(n, swapped) != PEL_I_SWAP || pel_norm_op(n, end) != PEL_I_DELETE_SUBSCR) return;
    }
    for (uint32_t k = pel_norm_next(n, unpack); k <= end && end > unpack; k = pel_norm_next(n, k)) delete (n, k);
    delete (n, unpack);
    n->ins.at[i].op = PEL_I_DICT_REST;
    n->ins.at[i].sub = 0;
    n->ins.at[swap].arg = 2;
    n->ins.at[extend].op = PEL_I_POP;
    n->ins.at[extend].sub = 0;
    n->ins.at[extend].arg = 0;
}

/* ---- annotations in nested blocks ---- */

static bool is_conditional_set(const pel_norm *n, uint32_t i, pel_iop op) {
    return pel_norm_op(n, i) == op && pel_name_is(n->ins.at[i].name, "__conditional_annotations__");
}

/* LOAD set; CONST number; APPEND; POP  ->  set[number] = None: the place of an annotation, as a statement. */
static void annotation_place(pel_norm *n, uint32_t i) {
    uint32_t number = pel_norm_next(n, i), added = pel_norm_next(n, number), pop = pel_norm_next(n, added);
    if (pel_norm_op(n, number) != PEL_I_CONST || n->ins.at[number].value->kind != PEL_CONST_INT) return;
    if (pel_norm_op(n, added) != PEL_I_APPEND || pel_norm_op(n, pop) != PEL_I_POP) return;
    pel_name set = n->ins.at[i].name;
    const pel_const *value = n->ins.at[number].value;
    uint8_t sub = n->ins.at[i].sub;
    n->ins.at[i].op = PEL_I_CONST;
    n->ins.at[i].sub = 0;
    n->ins.at[i].value = &pel_none;
    n->ins.at[number].op = PEL_I_LOAD;
    n->ins.at[number].sub = sub;
    n->ins.at[number].name = set;
    n->ins.at[added].op = PEL_I_CONST;
    n->ins.at[added].sub = 0;
    n->ins.at[added].arg = 0;
    n->ins.at[added].value = value;
    n->ins.at[pop].op = PEL_I_STORE_SUBSCR;
}

/* {}; STORE set: made before the first of them. */
static void annotation_set(pel_norm *n, uint32_t i) {
    uint32_t store = pel_norm_next(n, i);
    if (n->ins.at[i].sub != PEL_D_SET || n->ins.at[i].arg || !is_conditional_set(n, store, PEL_I_STORE)) return;
    delete (n, i);
    delete (n, store);
}

/* ---- the end of a class body ---- */

/* Whether i stores what only the compiler gives a class. */
static bool is_class_mark(const pel_norm *n, uint32_t i) {
    if (pel_norm_op(n, i) != PEL_I_STORE) return false;
    static const char *const names[] = { "__static_attributes__", "__classdictcell__", "__classcell__" };
    for (uint32_t k = 0; k < PEL_COUNT(names); k++)
        if (pel_name_is(n->ins.at[i].name, names[k])) return true;
    return false;
}

static bool is_class_cell(const pel_norm *n, uint32_t i) {
    if (pel_norm_op(n, i) != PEL_I_CELL && pel_norm_op(n, i) != PEL_I_LOAD) return false;
    return pel_name_is(n->ins.at[i].name, "__class__") || pel_name_is(n->ins.at[i].name, "__classdict__");
}

/* The RETURN of a run from i on that only stores the compiler's own names; PEL_NONE if it does anything else. */
static uint32_t class_end(const pel_norm *n, uint32_t i) {
    bool stores = false;
    for (uint32_t k = i; k < n->ins.n; k = pel_norm_next(n, k)) {
        if (k != i && is_target(n, k)) return PEL_NONE;
        switch (n->ins.at[k].op) {
        case PEL_I_CONST: {
            bool is_tuple = n->ins.at[k].value->kind == PEL_CONST_TUPLE;
            uint32_t next = pel_norm_next(n, k);
            if (is_tuple ? !is_class_mark(n, next) : pel_norm_op(n, next) != PEL_I_RETURN) return PEL_NONE;
            break;
        }
        case PEL_I_CELL:
        case PEL_I_LOAD:
            if (!is_class_cell(n, k)) return PEL_NONE;
            break;
        case PEL_I_COPY: break;
        case PEL_I_STORE:
            if (!is_class_mark(n, k)) return PEL_NONE;
            stores = true;
            break;
        case PEL_I_RETURN: return stores ? k : PEL_NONE;
        default: return PEL_NONE;
        }
    }
    return PEL_NONE;
}

/* What the compiler adds at the end of a class body becomes the end of any other code. The end of a path may be a copy
 * of it, so it is taken out here, where every copy still looks like the first. */
static void class_ends(pel_norm *n) {
    const pel_code_object *code = n->insns->code;
    if (code->flags & PEL_CO_OPTIMIZED || pel_name_is(code->name, "<module>")) return;
    for (uint32_t i = 0; i < n->ins.n; i++) {
        if (n->ins.at[i].op != PEL_I_CONST && !is_class_cell(n, i)) continue;
        uint32_t end = class_end(n, i);
        if (end == PEL_NONE) continue;
        for (uint32_t k = pel_norm_next(n, i); k < end; k = pel_norm_next(n, k)) delete (n, k);
        n->ins.at[i].op = PEL_I_CONST;
        n->ins.at[i].sub = 0;
        n->ins.at[i].value = &pel_none;
        n->ins.at[end].flag = pel_norm_returns_consts(n);
    }
}

/* A group may be folded only if no jump leads into it. So jumps are counted again after each step that takes some out;
 * within the loop the patterns keep the counts true themselves. */
void pel_norm_patterns(pel_norm *n) {
    pel_norm_count_targets(n);
    class_ends(n);
    pel_norm_count_targets(n);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        switch (n->ins.at[i].op) {
        case PEL_I_COPY: jump_or_pop(n, i); break;
        case PEL_I_PJF:
        case PEL_I_PJT:
        case PEL_I_PJN:
        case PEL_I_PJNN: backward_test(n, i); break;
        case PEL_I_CONST: with_exit(n, i); break;
        case PEL_I_POP_EXC: named_end(n, i); break;
        case PEL_I_MATCH_CLASS:
        case PEL_I_MATCH_KEYS: match_result(n, i); break;
        case PEL_I_BUILD:
            dict_rest(n, i);
            if (n->ins.at[i].op == PEL_I_BUILD) annotation_set(n, i);
            break;
        case PEL_I_LOAD:
            if (is_conditional_set(n, i, PEL_I_LOAD)) annotation_place(n, i);
            break;
        default: break;
        }
    }
    pel_norm_count_targets(n);
    fold_chains(n);
}
