/* What this file does and in which order is said in normalise.h. It works on a vector of canonical instructions in
 * which NOP means "deleted"; jumps name places in that vector until relay() writes the final order. */
#include "bytecode/normalise.h"

#include "bytecode/normalise_internal.h"

/* ---- helpers that the other normalise_*.c files share ---- */

_Noreturn void pel_norm_fail(const pel_norm *n, uint32_t at, const char *what) {
    pel_throw(n->ctx, PEL_E_INCOMPLETE, at < n->ins.n ? n->ins.at[at].offset : 0, "%s", what);
}

uint32_t pel_norm_next(const pel_norm *n, uint32_t i) {
    for (i++; i < n->ins.n && n->ins.at[i].op == PEL_I_NOP; i++) {}
    return i;
}

uint32_t pel_norm_prev(const pel_norm *n, uint32_t i) {
    while (i-- > 0)
        if (n->ins.at[i].op != PEL_I_NOP) return i;
    return PEL_NONE;
}

/* The first instruction at or after a place that is still there. */
uint32_t pel_norm_skip(const pel_norm *n, uint32_t i) {
    while (i < n->ins.n && n->ins.at[i].op == PEL_I_NOP) i++;
    return i;
}

uint8_t pel_norm_op(const pel_norm *n, uint32_t i) { return i < n->ins.n ? n->ins.at[i].op : PEL_I_NOP; }

bool pel_norm_is_none(const pel_norm *n, uint32_t i) {
    return i < n->ins.n && n->ins.at[i].op == PEL_I_CONST && n->ins.at[i].value->kind == PEL_CONST_NONE;
}

/* Jumps to each place, counted anew. */
void pel_norm_count_targets(pel_norm *n) {
    memset(n->jumps_to, 0, (n->ins.n + 1) * sizeof *n->jumps_to);
    for (uint32_t i = 0; i < n->ins.n; i++) {
        pel_ins *ins = &n->ins.at[i];
        if (ins->op == PEL_I_NOP || ins->target == PEL_NONE) continue;
        ins->target = pel_norm_skip(n, ins->target);
        n->jumps_to[ins->target]++;
    }
}

/* Follows unconditional jumps. */
uint32_t pel_norm_resolve(const pel_norm *n, uint32_t i) {
    for (int steps = 0; steps < 64; steps++) {
        i = pel_norm_skip(n, i);
        if (i >= n->ins.n || n->ins.at[i].op != PEL_I_JUMP) break;
        i = n->ins.at[i].target;
    }
    return i;
}

bool pel_norm_same_ins(const pel_ins *a, const pel_ins *b) {
    if (a->op != b->op || a->flag != b->flag || a->arg != b->arg) return false;
    if (a->sub != b->sub && !pel_is_cond(a)) return false; /* of a test it only tells where the test stands */
    switch (a->op) {
    case PEL_I_CONST: return a->value == b->value || pel_const_same(a->value, b->value);
    case PEL_I_CALL: return a->value == b->value || (a->value && b->value && pel_const_same(a->value, b->value));
    default: return a->name == b->name;
    }
}

/* ---- one instruction of some version -> canonical ones ---- */

/* What the same instruction means depends on the version in these few ways. */
typedef struct traits {
    uint8_t call_slots;    /* on the stack below the arguments of CALL_FUNCTION_EX */
    uint8_t compare_shift; /* of COMPARE_OP's argument */
    bool named_functions;  /* MAKE_FUNCTION takes the qualified name from the stack */
    bool function_flags;   /* MAKE_FUNCTION takes defaults and so on from the stack */
    bool for_end_pops;     /* the END_FOR after a loop pops the iterator, too */
    bool tests_again;      /* as in pel_canon */
    bool forward_tests;    /* conditional jumps never go backwards */
    bool match_answers;    /* MATCH_CLASS and MATCH_KEYS push whether there is a result, too */
    bool else_first;       /* the else part of a try is before its handlers, and those before what follows */
    bool keeps_dead;       /* code that nothing reaches is left where it was, but for what is behind a `return` */
    bool asserts_by_name;  /* as in pel_canon */
    bool moves_cold;       /* code that only exceptions lead to is after all other */
    bool bares_jumps;      /* as in pel_canon */
    bool returns_consts;   /* as in pel_canon */
    bool splits_pairs;     /* what a `with` calls at its end takes two places of the stack: normalise_halves.c */
} traits;

static const traits traits_of[PEL_VERSION_MAX + 1] = {
    [8] = { .call_slots = 1,
            .named_functions = true,
            .function_flags = true,
            .keeps_dead = true,
            .asserts_by_name = true },
    [9] = { .call_slots = 1, .named_functions = true, .function_flags = true, .keeps_dead = true },
    [10] = { .call_slots = 1,
             .named_functions = true,
             .function_flags = true,
             .tests_again = true,
             .match_answers = true },
    [11] = { .call_slots = 2, .function_flags = true, .tests_again = true, .else_first = true },
    [12] = { .call_slots = 2,
             .compare_shift = 4,
             .function_flags = true,
             .for_end_pops = true,
             .tests_again = true,
             .forward_tests = true,
             .else_first = true,
             .moves_cold = true,
             .returns_consts = true },
    [13] = { .call_slots = 2,
             .compare_shift = 5,
             .tests_again = true,
             .forward_tests = true,
             .else_first = true,
             .moves_cold = true,
             .bares_jumps = true,
             .returns_consts = true },
    [14] = { .call_slots = 2,
             .compare_shift = 5,
             .tests_again = true,
             .forward_tests = true,
             .else_first = true,
             .moves_cold = true,
             .bares_jumps = true,
             .splits_pairs = true },
    [15] = { .call_slots = 2,
             .compare_shift = 5,
             .tests_again = true,
             .forward_tests = true,
             .else_first = true,
             .moves_cold = true,
             .bares_jumps = true,
             .splits_pairs = true },
};

bool pel_norm_keeps_dead(const pel_norm *n) { return traits_of[n->insns->code->version].keeps_dead && !n->plainly; }
bool pel_norm_returns_consts(const pel_norm *n) { return traits_of[n->insns->code->version].returns_consts; }
bool pel_norm_copies_exits(const pel_norm *n) { return n->insns->code->version >= 10; }
bool pel_norm_has_docstring(const pel_norm *n) {
    const pel_code_object *code = n->insns->code;
    return code->n_consts && code->consts[0]->kind == PEL_CONST_STR &&
           (code->version < 14 || code->flags & PEL_CO_HAS_DOCSTRING);
}
bool pel_norm_moves_cold(const pel_norm *n) { return traits_of[n->insns->code->version].moves_cold; }

pel_ins *pel_norm_add(pel_norm *n, pel_iop op, const pel_insn *from) {
    pel_push(n->ctx, &n->ins,
             (pel_ins){ .op = (uint8_t)op,
                        .target = PEL_NONE,
                        .cover = PEL_NONE,
                        .within = PEL_NONE,
                        .offset = from->offset,
                        .line = from->line });
    return &n->ins.at[n->ins.n - 1];
}

static void add_arg(pel_norm *n, pel_iop op, const pel_insn *from, uint32_t arg) {
    pel_norm_add(n, op, from)->arg = arg;
}
static void add_sub(pel_norm *n, pel_iop op, const pel_insn *from, int sub, uint32_t arg) {
    pel_ins *ins = pel_norm_add(n, op, from);
    ins->sub = (uint8_t)sub;
    ins->arg = arg;
}
static void add_name(pel_norm *n, pel_iop op, const pel_insn *from, int sub) {
    pel_ins *ins = pel_norm_add(n, op, from);
    ins->sub = (uint8_t)sub;
    ins->name = from->name;
}
static void add_jump(pel_norm *n, pel_iop op, const pel_insn *from) {
    pel_norm_add(n, op, from)->target = from->target;
}

static void add_binary(pel_norm *n, const pel_insn *from, pel_OPERATOR operator, bool in_place) {
    pel_ins *ins = pel_norm_add(n, PEL_I_BINARY, from);
    ins->sub = (uint8_t) operator;
    ins->flag = in_place;
}

/* BINARY_OP's argument, and the order of its in-place half. */
static const uint8_t binary_ops[13] = { PEL_Add,  PEL_BitAnd, PEL_FloorDiv, PEL_LShift, PEL_MatMult,
                                        PEL_Mult, PEL_Mod,    PEL_BitOr,    PEL_Pow,    PEL_RShift,
                                        PEL_Sub,  PEL_Div,    PEL_BitXor };

static void translate_compare(pel_norm *n, const pel_insn *from, uint32_t index) {
    static const uint8_t ops[] = { PEL_Lt,  PEL_LtE, PEL_Eq,    PEL_NotEq, PEL_Gt,
                                   PEL_GtE, PEL_In,  PEL_NotIn, PEL_Is,    PEL_IsNot };
    if (index == 10) { /* an exception and a type: the jump that follows is part of it */
        add_sub(n, PEL_I_EXC_MATCH, from, 0, 0);
        return;
    }
    if (index >= PEL_COUNT(ops)) pel_throw(n->ctx, PEL_E_FORMAT, from->offset, "unknown comparison %u", index);
    add_sub(n, PEL_I_COMPARE, from, ops[index], 0);
}

/* What is one with the instruction before it must not be jumped to. */
static void refuse_entry(pel_norm *n, const pel_insn *in) {
    if (in->is_target)
        pel_throw(n->ctx, PEL_E_INCOMPLETE, in->offset, "a jump into the middle of an instruction group");
}

/* The keyword names of a call are in a constant just before it. */
static const pel_const *take_names(pel_norm *n, const pel_insn *from) {
    pel_ins *last = n->ins.n ? &n->ins.at[n->ins.n - 1] : NULL;
    refuse_entry(n, from);
    if (!last || last->op != PEL_I_CONST || last->value->kind != PEL_CONST_TUPLE)
        pel_throw(n->ctx, PEL_E_INCOMPLETE, from->offset, "keyword names of a call are not a constant");
    const pel_const *names = last->value;
    last->op = PEL_I_NOP;
    return names;
}

static void add_call(pel_norm *n, const pel_insn *from, uint32_t count, const pel_const *names, int slots) {
    pel_ins *ins = pel_norm_add(n, PEL_I_CALL, from);
    ins->arg = count;
    ins->value = names;
    ins->sub = (uint8_t)slots;
}

/* Two in one: the second counts as one byte after the first, so that each has an offset of its own. */
static void second_half(pel_norm *n, const pel_insn *in) {
    n->ins.at[n->ins.n - 1].name = in->name2;
    n->ins.at[n->ins.n - 1].offset++;
}

/* The namespace in which a name is looked up first lies on the stack: a class's own, or that of the class around. */
static void drop_namespace(pel_norm *n, const pel_insn *in) {
    pel_ins *last = n->ins.n ? &n->ins.at[n->ins.n - 1] : NULL;
    if (!last) return;
    refuse_entry(n, in);
    bool is_cell = last->op == PEL_I_LOAD && last->sub == PEL_DEREF && pel_name_is(last->name, "__classdict__");
    if (last->op == PEL_I_LOCALS || is_cell) last->op = PEL_I_NOP;
}

static void translate(pel_norm *n, const pel_insn *in) {
    const traits *t = &traits_of[n->insns->code->version];
    switch ((pel_op)in->op) {
    case PEL_OP_NOP:
    case PEL_OP_EXTENDED_ARG:
    case PEL_OP_RESUME:
    case PEL_OP_PRECALL:
    case PEL_OP_MAKE_CELL:
    case PEL_OP_COPY_FREE_VARS:
    case PEL_OP_TO_BOOL:
    case PEL_OP_END_SEND:
    case PEL_OP_GEN_START:
    case PEL_OP_RETURN_GENERATOR:
    case PEL_OP_ASYNC_GEN_WRAP:
    case PEL_OP_EXIT_INIT_CHECK:
    case PEL_OP_END_FOR:
    case PEL_OP_POP_BLOCK:
    case PEL_OP_CLEANUP_THROW:
    case PEL_OP_NOT_TAKEN:
    case PEL_OP_NONE: break;

    case PEL_OP_POP_TOP:
    case PEL_OP_POP_ITER: pel_norm_add(n, PEL_I_POP, in); break;
    case PEL_OP_COPY: add_arg(n, PEL_I_COPY, in, in->arg); break;
    case PEL_OP_SWAP: add_arg(n, PEL_I_SWAP, in, in->arg); break;
    case PEL_OP_DUP_TOP: add_arg(n, PEL_I_COPY, in, 1); break;
    case PEL_OP_DUP_TOP_TWO:
        add_arg(n, PEL_I_COPY, in, 2);
        add_arg(n, PEL_I_COPY, in, 2);
        break;
    case PEL_OP_ROT_TWO: add_arg(n, PEL_I_SWAP, in, 2); break;
    case PEL_OP_ROT_THREE:
    case PEL_OP_ROT_FOUR:
    case PEL_OP_ROT_N:
        for (uint32_t k = in->op == PEL_OP_ROT_THREE ? 3 : in->op == PEL_OP_ROT_FOUR ? 4 : in->arg; k >= 2; k--)
            add_arg(n, PEL_I_SWAP, in, k);
        break;
    case PEL_OP_PUSH_NULL: pel_norm_add(n, PEL_I_PUSH_NULL, in); break;

    case PEL_OP_LOAD_CONST: pel_norm_add(n, PEL_I_CONST, in)->value = in->value; break;
    case PEL_OP_LOAD_FAST:
    case PEL_OP_LOAD_FAST_CHECK: add_name(n, PEL_I_LOAD, in, PEL_FAST); break;
    case PEL_OP_LOAD_FAST_LOAD_FAST:
        add_name(n, PEL_I_LOAD, in, PEL_FAST);
        add_name(n, PEL_I_LOAD, in, PEL_FAST);
        second_half(n, in);
        break;
    case PEL_OP_STORE_FAST_LOAD_FAST:
        add_name(n, PEL_I_STORE, in, PEL_FAST);
        add_name(n, PEL_I_LOAD, in, PEL_FAST);
        second_half(n, in);
        break;
    case PEL_OP_STORE_FAST_STORE_FAST:
        add_name(n, PEL_I_STORE, in, PEL_FAST);
        add_name(n, PEL_I_STORE, in, PEL_FAST);
        second_half(n, in);
        break;
    case PEL_OP_LOAD_FAST_AND_CLEAR: add_name(n, PEL_I_LOAD_CLEAR, in, PEL_FAST); break;
    case PEL_OP_LOAD_DEREF: add_name(n, PEL_I_LOAD, in, PEL_DEREF); break;
    case PEL_OP_LOAD_CLASSDEREF: add_name(n, PEL_I_LOAD, in, PEL_CLASS_DEREF); break;
    case PEL_OP_LOAD_FROM_DICT_OR_DEREF:
        drop_namespace(n, in);
        add_name(n, PEL_I_LOAD, in, PEL_CLASS_DEREF);
        n->ins.at[n->ins.n - 1].flag = true;
        break;
    case PEL_OP_LOAD_FROM_DICT_OR_GLOBALS:
        drop_namespace(n, in);
        add_name(n, PEL_I_LOAD, in, PEL_NAME);
        n->ins.at[n->ins.n - 1].flag = true;
        break;
    case PEL_OP_LOAD_GLOBAL:
        if (in->kind == PEL_ARG_NAME2 && in->arg & 1) pel_norm_add(n, PEL_I_PUSH_NULL, in);
        add_name(n, PEL_I_LOAD, in, PEL_GLOBAL);
        break;
    case PEL_OP_LOAD_NAME: add_name(n, PEL_I_LOAD, in, PEL_NAME); break;
    case PEL_OP_STORE_FAST: add_name(n, PEL_I_STORE, in, PEL_FAST); break;
    case PEL_OP_STORE_DEREF: add_name(n, PEL_I_STORE, in, PEL_DEREF); break;
    case PEL_OP_STORE_GLOBAL: add_name(n, PEL_I_STORE, in, PEL_GLOBAL); break;
    case PEL_OP_STORE_NAME: add_name(n, PEL_I_STORE, in, PEL_NAME); break;
    case PEL_OP_DELETE_FAST: add_name(n, PEL_I_DELETE, in, PEL_FAST); break;
    case PEL_OP_DELETE_DEREF: add_name(n, PEL_I_DELETE, in, PEL_DEREF); break;
    case PEL_OP_DELETE_GLOBAL: add_name(n, PEL_I_DELETE, in, PEL_GLOBAL); break;
    case PEL_OP_DELETE_NAME: add_name(n, PEL_I_DELETE, in, PEL_NAME); break;
    case PEL_OP_LOAD_CLOSURE: add_name(n, PEL_I_CELL, in, 0); break;

    case PEL_OP_LOAD_ATTR:
        add_name(n, in->kind == PEL_ARG_NAME2 && in->arg & 1 ? PEL_I_METHOD : PEL_I_ATTR, in, 0);
        break;
    case PEL_OP_LOAD_METHOD: add_name(n, PEL_I_METHOD, in, 0); break;
    case PEL_OP_LOAD_SUPER_ATTR: {
        pel_ins *ins = pel_norm_add(n, PEL_I_SUPER, in);
        ins->name = in->name;
        ins->flag = in->arg & 2;
        ins->sub = in->arg & 1;
        break;
    }
    case PEL_OP_STORE_ATTR: add_name(n, PEL_I_STORE_ATTR, in, 0); break;
    case PEL_OP_DELETE_ATTR: add_name(n, PEL_I_DELETE_ATTR, in, 0); break;
    case PEL_OP_BINARY_SUBSCR: pel_norm_add(n, PEL_I_SUBSCR, in); break;
    case PEL_OP_STORE_SUBSCR: pel_norm_add(n, PEL_I_STORE_SUBSCR, in); break;
    case PEL_OP_DELETE_SUBSCR: pel_norm_add(n, PEL_I_DELETE_SUBSCR, in); break;
    case PEL_OP_BINARY_SLICE:
        add_sub(n, PEL_I_BUILD, in, PEL_D_SLICE, 2);
        pel_norm_add(n, PEL_I_SUBSCR, in);
        break;
    case PEL_OP_STORE_SLICE:
        add_sub(n, PEL_I_BUILD, in, PEL_D_SLICE, 2);
        pel_norm_add(n, PEL_I_STORE_SUBSCR, in);
        break;

    case PEL_OP_UNARY_INVERT: add_sub(n, PEL_I_UNARY, in, PEL_Invert, 0); break;
    case PEL_OP_UNARY_NEGATIVE: add_sub(n, PEL_I_UNARY, in, PEL_USub, 0); break;
    case PEL_OP_UNARY_NOT: add_sub(n, PEL_I_UNARY, in, PEL_Not, 0); break;
    case PEL_OP_UNARY_POSITIVE: add_sub(n, PEL_I_UNARY, in, PEL_UAdd, 0); break;
    case PEL_OP_BINARY_OP:
        if (in->arg == 26) {
            pel_norm_add(n, PEL_I_SUBSCR, in);
            break;
        }
        if (in->arg > 26) pel_throw(n->ctx, PEL_E_FORMAT, in->offset, "unknown operator %u", in->arg);
        add_binary(n, in, binary_ops[in->arg % 13], in->arg >= 13);
        break;
    case PEL_OP_BINARY_ADD: add_binary(n, in, PEL_Add, false); break;
    case PEL_OP_BINARY_AND: add_binary(n, in, PEL_BitAnd, false); break;
    case PEL_OP_BINARY_FLOOR_DIVIDE: add_binary(n, in, PEL_FloorDiv, false); break;
    case PEL_OP_BINARY_LSHIFT: add_binary(n, in, PEL_LShift, false); break;
    case PEL_OP_BINARY_MATRIX_MULTIPLY: add_binary(n, in, PEL_MatMult, false); break;
    case PEL_OP_BINARY_MODULO: add_binary(n, in, PEL_Mod, false); break;
    case PEL_OP_BINARY_MULTIPLY: add_binary(n, in, PEL_Mult, false); break;
    case PEL_OP_BINARY_OR: add_binary(n, in, PEL_BitOr, false); break;
    case PEL_OP_BINARY_POWER: add_binary(n, in, PEL_Pow, false); break;
    case PEL_OP_BINARY_RSHIFT: add_binary(n, in, PEL_RShift, false); break;
    case PEL_OP_BINARY_SUBTRACT: add_binary(n, in, PEL_Sub, false); break;
    case PEL_OP_BINARY_TRUE_DIVIDE: add_binary(n, in, PEL_Div, false); break;
    case PEL_OP_BINARY_XOR: add_binary(n, in, PEL_BitXor, false); break;
    case PEL_OP_INPLACE_ADD: add_binary(n, in, PEL_Add, true); break;
    case PEL_OP_INPLACE_AND: add_binary(n, in, PEL_BitAnd, true); break;
    case PEL_OP_INPLACE_FLOOR_DIVIDE: add_binary(n, in, PEL_FloorDiv, true); break;
    case PEL_OP_INPLACE_LSHIFT: add_binary(n, in, PEL_LShift, true); break;
    case PEL_OP_INPLACE_MATRIX_MULTIPLY: add_binary(n, in, PEL_MatMult, true); break;
    case PEL_OP_INPLACE_MODULO: add_binary(n, in, PEL_Mod, true); break;
    case PEL_OP_INPLACE_MULTIPLY: add_binary(n, in, PEL_Mult, true); break;
    case PEL_OP_INPLACE_OR: add_binary(n, in, PEL_BitOr, true); break;
    case PEL_OP_INPLACE_POWER: add_binary(n, in, PEL_Pow, true); break;
    case PEL_OP_INPLACE_RSHIFT: add_binary(n, in, PEL_RShift, true); break;
    case PEL_OP_INPLACE_SUBTRACT: add_binary(n, in, PEL_Sub, true); break;
    case PEL_OP_INPLACE_TRUE_DIVIDE: add_binary(n, in, PEL_Div, true); break;
    case PEL_OP_INPLACE_XOR: add_binary(n, in, PEL_BitXor, true); break;
    case PEL_OP_COMPARE_OP: translate_compare(n, in, in->arg >> t->compare_shift); break;
    case PEL_OP_IS_OP: add_sub(n, PEL_I_COMPARE, in, in->arg ? PEL_IsNot : PEL_Is, 0); break;
    case PEL_OP_CONTAINS_OP: add_sub(n, PEL_I_COMPARE, in, in->arg ? PEL_NotIn : PEL_In, 0); break;

    case PEL_OP_BUILD_TUPLE: add_sub(n, PEL_I_BUILD, in, PEL_D_TUPLE, in->arg); break;
    case PEL_OP_BUILD_LIST: add_sub(n, PEL_I_BUILD, in, PEL_D_LIST, in->arg); break;
    case PEL_OP_BUILD_SET: add_sub(n, PEL_I_BUILD, in, PEL_D_SET, in->arg); break;
    case PEL_OP_BUILD_MAP: add_sub(n, PEL_I_BUILD, in, PEL_D_DICT, in->arg); break;
    case PEL_OP_BUILD_STRING: add_sub(n, PEL_I_BUILD, in, PEL_D_STRING, in->arg); break;
    case PEL_OP_BUILD_SLICE: add_sub(n, PEL_I_BUILD, in, PEL_D_SLICE, in->arg); break;
    case PEL_OP_BUILD_CONST_KEY_MAP: {
        const pel_const *keys = take_names(n, in);
        pel_ins *ins = pel_norm_add(n, PEL_I_BUILD_CONST_KEYS, in);
        ins->arg = in->arg;
        ins->value = keys;
        if (keys->n != in->arg) pel_throw(n->ctx, PEL_E_FORMAT, in->offset, "as many keys as values are needed");
        break;
    }
    case PEL_OP_BUILD_TUPLE_UNPACK: add_sub(n, PEL_I_BUILD_UNPACK, in, PEL_D_TUPLE, in->arg); break;
    case PEL_OP_BUILD_LIST_UNPACK: add_sub(n, PEL_I_BUILD_UNPACK, in, PEL_D_LIST, in->arg); break;
    case PEL_OP_BUILD_SET_UNPACK: add_sub(n, PEL_I_BUILD_UNPACK, in, PEL_D_SET, in->arg); break;
    case PEL_OP_BUILD_MAP_UNPACK: add_sub(n, PEL_I_BUILD_UNPACK, in, PEL_D_DICT, in->arg); break;
    case PEL_OP_BUILD_TUPLE_UNPACK_WITH_CALL: add_sub(n, PEL_I_BUILD_CALL_UNPACK, in, PEL_D_TUPLE, in->arg); break;
    case PEL_OP_BUILD_MAP_UNPACK_WITH_CALL: add_sub(n, PEL_I_BUILD_CALL_UNPACK, in, PEL_D_DICT, in->arg); break;
    case PEL_OP_LIST_EXTEND: add_sub(n, PEL_I_EXTEND, in, PEL_D_LIST, in->arg); break;
    case PEL_OP_SET_UPDATE: add_sub(n, PEL_I_EXTEND, in, PEL_D_SET, in->arg); break;
    case PEL_OP_DICT_UPDATE: add_sub(n, PEL_I_EXTEND, in, PEL_D_DICT, in->arg); break;
    case PEL_OP_DICT_MERGE: add_sub(n, PEL_I_EXTEND, in, PEL_D_MERGE, in->arg); break;
    case PEL_OP_LIST_TO_TUPLE: pel_norm_add(n, PEL_I_LIST_TO_TUPLE, in); break;
    case PEL_OP_LIST_APPEND: add_sub(n, PEL_I_APPEND, in, PEL_D_LIST, in->arg); break;
    case PEL_OP_SET_ADD: add_sub(n, PEL_I_APPEND, in, PEL_D_SET, in->arg); break;
    case PEL_OP_MAP_ADD: add_sub(n, PEL_I_APPEND, in, PEL_D_DICT, in->arg); break;
    case PEL_OP_UNPACK_SEQUENCE: add_arg(n, PEL_I_UNPACK, in, in->arg); break;
    case PEL_OP_UNPACK_EX: add_arg(n, PEL_I_UNPACK_EX, in, in->arg); break;

    case PEL_OP_KW_NAMES: n->kw_names = in->value; break;
    case PEL_OP_CALL:
        if (n->kw_names) refuse_entry(n, in);
        add_call(n, in, in->arg, n->kw_names, 2);
        n->kw_names = NULL;
        break;
    case PEL_OP_CALL_KW: add_call(n, in, in->arg, take_names(n, in), 2); break;
    case PEL_OP_CALL_FUNCTION: add_call(n, in, in->arg, NULL, 1); break;
    case PEL_OP_CALL_METHOD: add_call(n, in, in->arg, NULL, 2); break;
    case PEL_OP_CALL_FUNCTION_KW: add_call(n, in, in->arg, take_names(n, in), 1); break;
    case PEL_OP_CALL_FUNCTION_EX: {
        bool has_keywords = in->arg & 1;
        if (t->splits_pairs) { /* the place of the keywords is always there */
            pel_ins *last = n->ins.n ? &n->ins.at[n->ins.n - 1] : NULL;
            has_keywords = !last || last->op != PEL_I_PUSH_NULL;
            refuse_entry(n, in);
            if (!has_keywords) last->op = PEL_I_NOP;
        }
        add_sub(n, PEL_I_CALL_EX, in, t->call_slots, has_keywords);
        break;
    }
    case PEL_OP_MAKE_FUNCTION: {
        const pel_const *name = NULL;
        if (t->named_functions && n->ins.n && n->ins.at[n->ins.n - 1].op == PEL_I_CONST) {
            refuse_entry(n, in);
            name = n->ins.at[n->ins.n - 1].value;
            n->ins.at[n->ins.n - 1].op = PEL_I_NOP;
        }
        pel_ins *made = pel_norm_add(n, PEL_I_FUNCTION, in);
        made->arg = t->function_flags ? in->arg : 0;
        made->value = name;
    } break;
    case PEL_OP_SET_FUNCTION_ATTRIBUTE: add_arg(n, PEL_I_FUNCTION_PART, in, in->arg); break;
    case PEL_OP_LOAD_BUILD_CLASS: pel_norm_add(n, PEL_I_BUILD_CLASS, in); break;
    case PEL_OP_IMPORT_NAME:
        add_name(n, PEL_I_IMPORT, in, 0);
        n->ins.at[n->ins.n - 1].flag = in->kind == PEL_ARG_NAME4 && in->arg & 1;
        break;
    case PEL_OP_IMPORT_FROM: add_name(n, PEL_I_IMPORT_FROM, in, 0); break;
    case PEL_OP_IMPORT_STAR: pel_norm_add(n, PEL_I_IMPORT_STAR, in); break;

    case PEL_OP_GET_ITER: pel_norm_add(n, PEL_I_GET_ITER, in); break;
    case PEL_OP_GET_AITER: pel_norm_add(n, PEL_I_GET_ITER, in)->flag = true; break;
    case PEL_OP_FOR_ITER: add_jump(n, PEL_I_FOR, in); break;
    case PEL_OP_YIELD_VALUE: pel_norm_add(n, PEL_I_YIELD, in); break;
    case PEL_OP_RETURN_VALUE: pel_norm_add(n, PEL_I_RETURN, in); break;
    case PEL_OP_RETURN_CONST:
        pel_norm_add(n, PEL_I_CONST, in)->value = in->value;
        pel_norm_add(n, PEL_I_RETURN, in)->flag = true;
        break;
    case PEL_OP_RAISE_VARARGS: add_arg(n, PEL_I_RAISE, in, in->arg); break;
    case PEL_OP_RERAISE: pel_norm_add(n, PEL_I_RERAISE, in); break;
    case PEL_OP_JUMP_FORWARD:
    case PEL_OP_JUMP_ABSOLUTE:
    case PEL_OP_JUMP_BACKWARD:
    case PEL_OP_JUMP_BACKWARD_NO_INTERRUPT: add_jump(n, PEL_I_JUMP, in); break;
    case PEL_OP_POP_JUMP_IF_FALSE:
    case PEL_OP_POP_JUMP_FORWARD_IF_FALSE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_FALSE: add_jump(n, PEL_I_PJF, in); break;
    case PEL_OP_POP_JUMP_IF_TRUE:
    case PEL_OP_POP_JUMP_FORWARD_IF_TRUE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_TRUE: add_jump(n, PEL_I_PJT, in); break;
    case PEL_OP_POP_JUMP_IF_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NONE: add_jump(n, PEL_I_PJN, in); break;
    case PEL_OP_POP_JUMP_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_FORWARD_IF_NOT_NONE:
    case PEL_OP_POP_JUMP_BACKWARD_IF_NOT_NONE: add_jump(n, PEL_I_PJNN, in); break;
    case PEL_OP_JUMP_IF_FALSE_OR_POP: add_jump(n, PEL_I_JFP, in); break;
    case PEL_OP_JUMP_IF_TRUE_OR_POP: add_jump(n, PEL_I_JTP, in); break;

    case PEL_OP_BEFORE_WITH: pel_norm_add(n, PEL_I_WITH, in); break;
    case PEL_OP_BEFORE_ASYNC_WITH: pel_norm_add(n, PEL_I_WITH, in)->flag = true; break;
    case PEL_OP_WITH_EXCEPT_START: pel_norm_add(n, PEL_I_WITH_RAISED, in); break;
    case PEL_OP_PUSH_EXC_INFO: pel_norm_add(n, PEL_I_EXC, in); break;
    case PEL_OP_CHECK_EXC_MATCH: pel_norm_add(n, PEL_I_EXC_MATCH, in); break;
    case PEL_OP_CHECK_EG_MATCH: pel_norm_add(n, PEL_I_EXC_MATCH, in)->sub = 1; break;
    case PEL_OP_JUMP_IF_NOT_EXC_MATCH: add_jump(n, PEL_I_EXC_MATCH, in); break;
    case PEL_OP_POP_EXCEPT: pel_norm_add(n, PEL_I_POP_EXC, in); break;
    case PEL_OP_PREP_RERAISE_STAR: pel_norm_add(n, PEL_I_GROUP_RAISE, in); break;

    case PEL_OP_FORMAT_VALUE:
        if (in->arg & 3 && !(in->arg & 4)) add_arg(n, PEL_I_CONVERT, in, in->arg & 3);
        add_sub(n, PEL_I_FORMAT, in, (in->arg & 4) ? (int)(in->arg & 3) : 0, in->arg & 4 ? 1 : 0);
        break;
    case PEL_OP_FORMAT_SIMPLE: add_arg(n, PEL_I_FORMAT, in, 0); break;
    case PEL_OP_FORMAT_WITH_SPEC: add_arg(n, PEL_I_FORMAT, in, 1); break;
    case PEL_OP_BUILD_INTERPOLATION: add_arg(n, PEL_I_INTERPOLATION, in, in->arg); break;
    case PEL_OP_BUILD_TEMPLATE: pel_norm_add(n, PEL_I_TEMPLATE, in); break;
    case PEL_OP_CONVERT_VALUE: add_arg(n, PEL_I_CONVERT, in, in->arg); break;
    case PEL_OP_LOAD_COMMON_CONSTANT: { /* of the rest of these */
        static const char *const names[] = { NULL, "NotImplementedError", "tuple", "all", "any", "list", "set" };
        if (!in->arg || in->arg >= PEL_COUNT(names))
            pel_throw(n->ctx, PEL_E_INCOMPLETE, in->offset, "unknown common constant %u", in->arg);
        pel_ins *ins = pel_norm_add(n, PEL_I_LOAD, in);
        ins->sub = PEL_GLOBAL;
        ins->name = pel_intern_c(n->ctx, names[in->arg]);
        break;
    }
    case PEL_OP_LOAD_ASSERTION_ERROR: pel_norm_add(n, PEL_I_ASSERTION_ERROR, in); break;
    case PEL_OP_LOAD_LOCALS: pel_norm_add(n, PEL_I_LOCALS, in); break;
    case PEL_OP_SETUP_ANNOTATIONS: pel_norm_add(n, PEL_I_SETUP_ANNOTATIONS, in); break;
    case PEL_OP_PRINT_EXPR: pel_norm_add(n, PEL_I_PRINT, in); break;
    case PEL_OP_MATCH_CLASS:
        add_arg(n, PEL_I_MATCH_CLASS, in, in->arg);
        if (t->match_answers) add_arg(n, PEL_I_COPY, in, 1);
        break;
    case PEL_OP_MATCH_MAPPING: pel_norm_add(n, PEL_I_MATCH_MAPPING, in); break;
    case PEL_OP_MATCH_SEQUENCE: pel_norm_add(n, PEL_I_MATCH_SEQUENCE, in); break;
    case PEL_OP_MATCH_KEYS:
        pel_norm_add(n, PEL_I_MATCH_KEYS, in);
        if (t->match_answers) add_arg(n, PEL_I_COPY, in, 1);
        break;
    case PEL_OP_GET_LEN: pel_norm_add(n, PEL_I_GET_LEN, in); break;
    case PEL_OP_COPY_DICT_WITHOUT_KEYS: pel_norm_add(n, PEL_I_DICT_REST, in); break;
    case PEL_OP_CALL_INTRINSIC_1:
        switch (in->arg) { /* those that have an instruction of their own elsewhere */
        case 1: pel_norm_add(n, PEL_I_PRINT, in); break;
        case 2: pel_norm_add(n, PEL_I_IMPORT_STAR, in)->flag = true; break; /* what it pushes says nothing */
        case 4: break; /* wraps what an asynchronous generator yields */
        case 5: add_sub(n, PEL_I_UNARY, in, PEL_UAdd, 0); break;
        case 6: pel_norm_add(n, PEL_I_LIST_TO_TUPLE, in); break;
        default: add_arg(n, PEL_I_INTRINSIC, in, in->arg);
        }
        break;
    case PEL_OP_CALL_INTRINSIC_2:
        if (in->arg == 1)
            pel_norm_add(n, PEL_I_GROUP_RAISE, in);
        else
            add_arg(n, PEL_I_INTRINSIC2, in, in->arg);
        break;
    default: pel_norm_translate_old(n, in); break;
    }
}

/* An await, a `yield from` or a step of an asynchronous loop takes several instructions: a loop that passes on what the
 * other side yields. Returns how many belong to the one at i, 0 if it is none of these. */
static uint32_t delegation(const pel_insns *insns, uint32_t i) {
    uint32_t k = i + 1;
    while (k < insns->n && (insns->at[k].op == PEL_OP_PUSH_NULL || insns->at[k].op == PEL_OP_NOP)) k++;
    if (k >= insns->n || insns->at[k].op != PEL_OP_LOAD_CONST || insns->at[k].value->kind != PEL_CONST_NONE) return 0;
    if (++k >= insns->n) return 0;
    if (insns->at[k].op == PEL_OP_YIELD_FROM) return k + 1 - i;
    if (insns->at[k].op != PEL_OP_SEND) return 0;
    uint32_t end = insns->at[k].target;
    if (end <= k || end > k + 6 || end >= insns->n) return 0;
    return (insns->at[end].op == PEL_OP_END_SEND ? end + 1 : end) - i;
}

/* Whether a truth value is made for a test or for `not`, which ask for it anyway. A plain jump does not: the value of
 * `not not a if b else c` goes on to where the other one is. */
static bool is_tested(const pel_insns *insns, uint32_t i) {
    do i++;
    while (i < insns->n && insns->at[i].op == PEL_OP_NOP);
    if (i >= insns->n) return true;
    const pel_insn *next = &insns->at[i];
    bool is_plain = next->op == PEL_OP_JUMP_FORWARD || next->op == PEL_OP_JUMP_BACKWARD ||
                    next->op == PEL_OP_JUMP_BACKWARD_NO_INTERRUPT;
    return next->op == PEL_OP_UNARY_NOT || (next->target != PEL_NO_TARGET && !is_plain);
}

/* The instructions from i on that are not NOP: whether the next ones are these. Returns where they end, 0 if not. */
static uint32_t is_run(const pel_insns *insns, uint32_t i, const uint16_t *ops, uint32_t n) {
    for (uint32_t k = 0; k < n; i++) {
        if (i >= insns->n) return 0;
        if (insns->at[i].op == PEL_OP_NOP || insns->at[i].op == PEL_OP_NOT_TAKEN) continue;
        if (insns->at[i].op != ops[k++]) return 0;
    }
    return i;
}

/* Entering a `with`: the method for its end is looked up, then the one for its beginning is, and is called. */
static uint32_t enters_with(pel_norm *n, uint32_t i) {
    static const uint16_t ops[] = { PEL_OP_COPY, PEL_OP_LOAD_SPECIAL, PEL_OP_SWAP, PEL_OP_LOAD_SPECIAL, PEL_OP_CALL };
    uint32_t end = is_run(n->insns, i, ops, PEL_COUNT(ops));
    if (!end || !traits_of[n->insns->code->version].splits_pairs) return 1;
    pel_norm_add(n, PEL_I_WITH, &n->insns->at[i])->flag = n->insns->at[i + 1].arg >= 2;
    return end - i;
}

/* any(... for ...), where `any` is the built-in one, is a loop in place; if it is not, the call is after it. Only
 * the call was written. */
static uint32_t folded_call(const pel_insns *insns, uint32_t i) {
    static const uint16_t ops[] = { PEL_OP_COPY, PEL_OP_LOAD_COMMON_CONSTANT, PEL_OP_IS_OP, PEL_OP_POP_JUMP_IF_FALSE };
    uint32_t end = is_run(insns, i, ops, PEL_COUNT(ops));
    if (!end || insns->at[i].arg != 1) return 1;
    uint32_t to = insns->at[end - 1].target;
    return to > end ? to - i : 1;
}

/* value; COPY 2; name; STORE_SUBSCR: an annotation joins the others. */
static const uint16_t note_store[] = { PEL_OP_COPY, PEL_OP_LOAD_CONST, PEL_OP_STORE_SUBSCR };

static bool fills_notes(const pel_insns *insns) {
    if (insns->code->version < 14 || !pel_name_is(insns->code->name, "__annotate__")) return false;
    for (uint32_t i = 0; i < insns->n; i++)
        if (insns->at[i].op == PEL_OP_COPY && is_run(insns, i, note_store, PEL_COUNT(note_store))) return true;
    return false;
}

void pel_norm_translate_all(pel_norm *n) {
    const pel_insns *insns = n->insns;
    uint32_t *place = pel_new_array(n->ctx, (size_t)insns->n + 1, uint32_t);
    uint32_t *group = pel_new_array(n->ctx, (size_t)insns->n + 1, uint32_t);
    pel_reserve(n->ctx, &n->ins, insns->n + 8);
    for (uint32_t i = 0; i < insns->n;) {
        const pel_insn *in = &insns->at[i];
        uint32_t from = n->ins.n;
        pel_norm_old_handler(n, i);
        uint32_t taken = pel_norm_old_special(n, i);
        if (taken == 0)
            taken = 1;
        else
            goto done;
        switch (in->op) {
        case PEL_OP_RETURN_GENERATOR: /* what the caller sends first is popped */
            if (i + 1 < insns->n && insns->at[i + 1].op == PEL_OP_POP_TOP) taken = 2;
            break;
        case PEL_OP_END_FOR:
            if (!traits_of[insns->code->version].for_end_pops && i + 1 < insns->n &&
                (insns->at[i + 1].op == PEL_OP_POP_TOP || insns->at[i + 1].op == PEL_OP_POP_ITER))
                taken = 2;
            break;
        case PEL_OP_BUILD_MAP:
            if (n->fills_notes && !in->arg && !n->made_dict) {
                n->made_dict = true;
                break;
            }
            translate(n, in);
            break;
        case PEL_OP_RETURN_VALUE:
            if (n->fills_notes) pel_norm_add(n, PEL_I_CONST, in)->value = &pel_none;
            translate(n, in);
            break;
        case PEL_OP_COPY:
            if (n->fills_notes && is_run(insns, i, note_store, PEL_COUNT(note_store)) && in->arg == 2) {
                pel_ins *dict = pel_norm_add(n, PEL_I_LOAD, in);
                dict->sub = PEL_NAME;
                dict->name = pel_intern_c(n->ctx, "__annotations__");
                break;
            }
            if ((taken = enters_with(n, i)) > 1) break;
            if ((taken = folded_call(insns, i)) > 1) break;
            taken = 1;
            translate(n, in);
            break;
        case PEL_OP_GET_ITER:
            if (in->kind == PEL_ARG_INT && in->arg == 3 && (taken = delegation(insns, i)) != 0) {
                pel_norm_add(n, PEL_I_YIELD_FROM, in)->cold = pel_norm_cleanup_of(n, i, taken);
                break;
            }
            taken = 1;
            translate(n, in);
            break;
        case PEL_OP_GET_AWAITABLE:
            if ((taken = delegation(insns, i)) == 0)
                pel_throw(n->ctx, PEL_E_INCOMPLETE, in->offset, "an await of unknown shape");
            /* entering and leaving `async with` awaits as part of it */
            if (!(n->ins.n && n->ins.at[n->ins.n - 1].op == PEL_I_WITH && n->ins.at[n->ins.n - 1].flag))
                pel_norm_add(n, PEL_I_AWAIT, in)->cold = pel_norm_cleanup_of(n, i, taken);
            break;
        case PEL_OP_GET_YIELD_FROM_ITER:
            if ((taken = delegation(insns, i)) == 0)
                pel_throw(n->ctx, PEL_E_INCOMPLETE, in->offset, "a `yield from` of unknown shape");
            pel_norm_add(n, PEL_I_YIELD_FROM, in)->cold = pel_norm_cleanup_of(n, i, taken);
            break;
        case PEL_OP_GET_ANEXT: {
            if ((taken = delegation(insns, i)) == 0)
                pel_throw(n->ctx, PEL_E_INCOMPLETE, in->offset, "an `async for` of unknown shape");
            pel_ins *ins = pel_norm_add(n, PEL_I_FOR, in);
            ins->flag = true;
            ins->target = pel_norm_anext_end(n, i, taken);
            break;
        }
        case PEL_OP_TO_BOOL:
            if (is_tested(insns, i)) break;
            add_sub(n, PEL_I_UNARY, in, PEL_Not, 0); /* what the compiler makes of `not not` */
            add_sub(n, PEL_I_UNARY, in, PEL_Not, 0);
            break;
        default: translate(n, in);
        }
    done:
        for (uint32_t k = i; k < i + taken && k < insns->n; k++) {
            place[k] = from;
            group[k] = i;
        }
        while (n->from.n < n->ins.n) pel_push(n->ctx, &n->from, i); /* one may become many: a rotation of any depth */
        i += taken;
    }
    place[insns->n] = n->ins.n;
    n->place = place;
    n->group = group;
    for (uint32_t i = 0; i < n->ins.n; i++)
        if (n->ins.at[i].target != PEL_NONE) n->ins.at[i].target = place[n->ins.at[i].target];
    n->jumps_to = pel_new_array(n->ctx, (size_t)n->ins.n + 1, uint32_t);
}

/* ---- the final order ---- */

#define MAX_LEVEL 200

bool pel_norm_ends_statement(const pel_ins *ins) {
    switch (ins->op) {
    case PEL_I_POP:
    case PEL_I_STORE:
    case PEL_I_DELETE:
    case PEL_I_STORE_ATTR:
    case PEL_I_DELETE_ATTR:
    case PEL_I_STORE_SUBSCR:
    case PEL_I_DELETE_SUBSCR:
    case PEL_I_IMPORT_STAR:
    case PEL_I_FOR:
    case PEL_I_WITH:
    case PEL_I_WITH_EXIT:
    case PEL_I_FINALLY:
    case PEL_I_PLACE: return true;
    default: return pel_ends(ins);
    }
}

/* Whether a few instructions from i on end in `return` or `raise`, and stand elsewhere, too, with the same line. */
static bool is_copied_end(const pel_norm *n, uint32_t i) {
    uint32_t end = i;
    for (int steps = 0; steps < 5 && !pel_ends(&n->ins.at[end]); steps++) {
        end = pel_norm_next(n, end);
        if (end >= n->ins.n) return false;
    }
    const pel_ins *first = &n->ins.at[i];
    if (n->ins.at[end].op != PEL_I_RETURN && n->ins.at[end].op != PEL_I_RAISE) return false;
    for (uint32_t k = 0; k < n->ins.n && first->line; k++)
        if ((k < i || k > end) && n->ins.at[k].line == first->line && pel_norm_same_ins(&n->ins.at[k], first))
            return true;
    return false;
}

/* Behind the end of a handler: whether what follows only leaves blocks, returns a constant or jumps, and so still
 * belongs to the handler; the jump may have become a copy of where it led. Anything else is what comes after the
 * statement. */
static bool leaves_at_once(const pel_norm *n, uint32_t i) {
    bool pops = false;
    for (int steps = 0; steps < 12; steps++, i = pel_norm_next(n, i)) {
        switch (pel_norm_op(n, i)) {
        case PEL_I_POP: pops = true; break;
        case PEL_I_SWAP:
        case PEL_I_CONST:
        case PEL_I_WITH_EXIT:
        case PEL_I_POP_EXC: break;
        case PEL_I_RETURN:
        case PEL_I_JUMP:
        case PEL_I_RERAISE: return true;
        default: return pops && pel_norm_copies_exits(n) && !n->plainly && is_copied_end(n, i);
        }
    }
    return false;
}

/* Whether the handler ends at this POP_EXC: if a value is to be returned, it was just brought below. */
static bool ends_handler(const pel_norm *n, uint32_t i) {
    if (n->ins.at[i].op != PEL_I_POP_EXC) return false;
    uint32_t before = pel_norm_prev(n, i);
    return before == PEL_NONE || n->ins.at[before].op != PEL_I_SWAP;
}

typedef struct place {
    uint32_t at;
    bool is_left; /* the handler was left on the way: this is code of the level around it */
} place;

/* Marks what runs from place i on without a further exception; after the end of a handler, as code of the level that
 * it covers. */
static void reach(pel_norm *n, uint32_t start, uint8_t mark, uint32_t guard) {
    uint32_t around = guard == PEL_NONE ? PEL_NONE : n->within_of[guard];
    PEL_VEC(place) todo = { 0 };
    pel_push(n->ctx, &todo, ((place){ start, false }));
    while (todo.n) {
        place p = todo.at[--todo.n];
        uint32_t i = p.at;
        bool is_left = p.is_left;
        while (i < n->ins.n) {
            if (n->reached[i]) break;
            n->reached[i] = (uint8_t)(mark - is_left);
            pel_ins *ins = &n->ins.at[i];
            ins->within = is_left ? around : guard;
            ins->level = n->reached[i] - 1u;
            if (ins->op == PEL_I_NOP) {
                i++;
                continue;
            }
            if (ins->target != PEL_NONE) {
                if (ins->op == PEL_I_JUMP) {
                    is_left = is_left || (mark > 1 && n->behind_end[i]);
                    i = ins->target;
                    continue;
                }
                pel_push(n->ctx, &todo, ((place){ ins->target, is_left }));
            }
            if (pel_ends(ins)) break;
            if (mark > 1 && !is_left && ends_handler(n, i)) {
                uint32_t next = pel_norm_next(n, i);
                if (!leaves_at_once(n, next))
                    is_left = true;
                else
                    for (uint32_t k = next; k < n->ins.n; k = pel_norm_next(n, k)) {
                        n->behind_end[k] = true;
                        if (pel_ends(&n->ins.at[k])) break;
                    }
            }
            i++;
        }
    }
}

/* What nothing reaches is on the level of what is before it; after a handler, on that of what it covers. */
static bool reach_dead(pel_norm *n, uint8_t level) {
    bool any = false;
    for (uint32_t i = 0; i < n->ins.n; i++) {
        if (!n->ins.at[i].dead || n->reached[i] || n->ins.at[i].op == PEL_I_NOP) continue;
        uint32_t before = pel_norm_prev(n, i);
        if (before == PEL_NONE || !n->reached[before]) continue;
        uint32_t within = n->ins.at[before].within;
        uint8_t mark = n->reached[before];
        if (n->ins.at[before].op == PEL_I_RERAISE && within != PEL_NONE) {
            within = n->within_of[within];
            mark--;
        }
        if (mark > level) continue;
        reach(n, i, mark, within);
        any = true;
    }
    return any;
}

/* What nothing reaches counts only where it stands. */
static bool is_covered(const pel_norm *n, uint32_t i, uint32_t guard) {
    uint32_t g = n->ins.at[i].cover;
    while (g != PEL_NONE && g != guard && !n->ins.at[i].dead) g = n->guards.at[g].outer;
    return g == guard;
}

/* Level by level: each handler is one deeper than what it covers. */
static uint8_t reach_all(pel_norm *n) {
    n->reached = pel_new_array(n->ctx, (size_t)n->ins.n + 1, uint8_t);
    n->behind_end = pel_new_array(n->ctx, (size_t)n->ins.n + 1, bool);
    n->within_of = pel_new_array(n->ctx, (size_t)n->guards.n + 1, uint32_t);
    reach(n, 0, 1, PEL_NONE);
    uint8_t level = 1;
    for (;; level++) {
        bool any = false;
        if (level > MAX_LEVEL) pel_norm_fail(n, 0, "handlers nest too deep");
        for (bool more = true; more;) { /* what follows a statement may hold further ones */
            more = false;
            if (reach_dead(n, level)) more = true;
            for (uint32_t g = 0; g < n->guards.n; g++) {
                pel_guard *guard = &n->guards.at[g];
                if (guard->first != PEL_NONE) continue;
                bool used = false;
                for (uint32_t i = n->cover_from[g]; i < n->cover_to[g] && !used; i++) {
                    used = n->reached[i] == level && n->ins.at[i].op != PEL_I_NOP && is_covered(n, i, g);
                    if (used) n->within_of[g] = n->ins.at[i].within;
                }
                if (!used) continue;
                guard->first = 0; /* a mark until the real value is known */
                more = any = true;
                if (guard->kind != PEL_G_WITH)
                    reach(n, guard->target, level + 1, g);
                else if (guard->exit != PEL_NONE) {
                    if (!n->old) guard->exit = pel_norm_resolve(n, guard->exit);
                    reach(n, guard->exit, level, n->within_of[g]);
                }
            }
        }
        if (!any) return level;
    }
}

/* The first instruction of the covered code's level after a handler that stood between; PEL_NONE if it was moved from
 * there. Handlers move after all that is reached without an exception: what is there itself keeps its order. */
static uint32_t stood_before(const pel_norm *n, const pel_guard *guard, uint32_t g, const uint32_t *to, uint32_t end) {
    uint8_t level = 0;
    uint32_t first = n->cover_from[g], last = PEL_NONE;
    for (; first < n->cover_to[g] && !level; first++)
        if (n->ins.at[first].op != PEL_I_NOP && is_covered(n, first, g)) level = n->reached[first];
    if (!level) return end; /* nothing reaches what it covers */
    if (pel_norm_moves_cold(n) && level == 1 && first <= pel_norm_first_handler(n)) return PEL_NONE;
    for (uint32_t i = guard->target; i < n->ins.n; i++)
        if (n->reached[i] == level && n->ins.at[i].op != PEL_I_NOP) return to[i];
    for (uint32_t i = guard->target; i-- > 0 && last == PEL_NONE;)
        if (n->reached[i] == level && n->ins.at[i].op != PEL_I_NOP) last = to[i];
    return last == PEL_NONE ? end : last + 1;
}

/* A `break` at the end of a loop: the loop's own end is between the jump and its target. */
static bool leaves_for(const pel_norm *n, uint32_t i) {
    uint32_t next = n->from.at[i] + 1;
    return next < n->insns->n && n->insns->at[next].op == PEL_OP_END_FOR;
}

static pel_norm_path path_of(pel_norm *n, uint8_t mark) {
    pel_norm_path path = { 0 };
    for (uint32_t i = 0; i < n->ins.n; i++)
        if (n->reached[i] == mark && n->ins.at[i].op != PEL_I_NOP) pel_push(n->ctx, &path, i);
    return path;
}

/* The main path, then the handlers, in the order they had; what nothing reaches is left out. */
static pel_canon *relay(pel_norm *n) {
    uint8_t levels = reach_all(n);
    pel_norm_dead(n);
    uint32_t *to = pel_new_array(n->ctx, (size_t)n->ins.n + 1, uint32_t);
    memset(to, 0xff, (n->ins.n + 1) * sizeof *to);
    PEL_VEC(pel_ins) out = { 0 };
    pel_reserve(n->ctx, &out, n->ins.n + 1);
    uint32_t n_main = 0;
    for (uint8_t mark = 1; mark <= levels; mark++) {
        pel_norm_path path = mark == 1 ? pel_norm_main_path(n) : path_of(n, mark);
        for (uint32_t k = 0; k < path.n; k++) {
            uint32_t i = path.at[k], next = pel_norm_next(n, i), follows = k + 1 < path.n ? path.at[k + 1] : n->ins.n;
            const pel_ins *ins = &n->ins.at[i];
            if (ins->op == PEL_I_JUMP && !ins->dead && follows == pel_norm_skip(n, ins->target)) {
                /* over what is moved away: falls through now */
                if (follows == next && out.n && !leaves_for(n, i)) out.at[out.n - 1].dead_jump = true; /* else: pass */
                continue;
            }
            to[i] = out.n;
            pel_push(n->ctx, &out, *ins);
            if (!pel_ends(ins) && next < n->ins.n && next != follows) {
                pel_ins jump = { .op = PEL_I_JUMP,
                                 .target = next,
                                 .cover = ins->cover,
                                 .offset = ins->offset,
                                 .line = ins->line,
                                 .within = ins->within,
                                 .level = ins->level };
                pel_push(n->ctx, &out, jump);
            }
        }
        if (mark == 1) n_main = out.n;
    }
    /* a deleted instruction hands its label to what is next in its own path */
    for (uint32_t i = n->ins.n; i-- > 0;) {
        if (to[i] != PEL_NONE) continue;
        if (n->ins.at[i].op == PEL_I_JUMP &&
            n->reached[i]) { /* dropped: its target is what comes next; resolved below */
            uint32_t k = pel_norm_skip(n, n->ins.at[i].target);
            to[i] = k < n->ins.n && to[k] != PEL_NONE ? to[k] : PEL_NONE;
            if (to[i] != PEL_NONE) continue;
        }
        uint32_t k = i + 1;
        while (k < n->ins.n && (n->reached[k] != n->reached[i] || to[k] == PEL_NONE)) k++;
        to[i] = k < n->ins.n ? to[k] : out.n;
    }
    pel_canon *canon = pel_new(n->ctx, pel_canon);
    canon->code = n->insns->code;
    canon->at = out.at;
    canon->n = out.n;
    canon->n_main = n_main;
    canon->else_first = traits_of[canon->code->version].else_first;
    canon->returns_consts = pel_norm_returns_consts(n);
    canon->folds_super = canon->code->version >= 12;
    canon->moves_cold = pel_norm_moves_cold(n);
    canon->bares_jumps = traits_of[canon->code->version].bares_jumps;
    canon->copies_exits = pel_norm_copies_exits(n);
    canon->folds_formats = canon->code->version >= 11;
    canon->has_docstring = pel_norm_has_docstring(n);
    canon->cleans_docs = canon->code->version >= 13;
    canon->tests_once = canon->code->version >= 14;
    canon->keeps_dead = pel_norm_keeps_dead(n);
    canon->asserts_by_name = traits_of[canon->code->version].asserts_by_name;
    canon->tests_again = traits_of[canon->code->version].tests_again;
    canon->target_of = pel_new_array(n->ctx, (size_t)out.n + 1, uint32_t);
    for (uint32_t i = 0; i < out.n; i++) {
        pel_ins *ins = &out.at[i];
        if (ins->target == PEL_NONE) continue;
        ins->target = to[ins->target];
        if (ins->target >= out.n) pel_throw(n->ctx, PEL_E_INCOMPLETE, ins->offset, "a jump leads out of the code");
    }
    canon->guards = n->guards.at;
    canon->n_guards = n->guards.n;
    for (uint32_t g = 0; g < n->guards.n; g++) {
        pel_guard *guard = &n->guards.at[g];
        guard->first = guard->last = PEL_NONE;
        if (guard->target != PEL_NONE) guard->stood = stood_before(n, guard, g, to, out.n);
        if (guard->target != PEL_NONE) guard->target = guard->kind == PEL_G_WITH ? PEL_NONE : to[guard->target];
        if (guard->exit != PEL_NONE) guard->exit = to[guard->exit];
    }
    return canon;
}

/* Fills what is counted from the final instructions. */
void pel_canon_finish(pel_canon *canon) {
    memset(canon->target_of, 0, (canon->n + 1) * sizeof *canon->target_of);
    for (uint32_t g = 0; g < canon->n_guards; g++) canon->guards[g].first = canon->guards[g].last = PEL_NONE;
    for (uint32_t i = 0; i < canon->n; i++) canon->at[i].is_target = false;
    for (uint32_t g = 0; g < canon->n_guards; g++) {
        uint32_t exit = canon->guards[g].exit;
        if (exit >= canon->n) continue;
        canon->target_of[exit]++;
        canon->at[exit].is_target = true;
    }
    for (uint32_t i = 0; i < canon->n; i++) {
        pel_ins *ins = &canon->at[i];
        if (ins->target != PEL_NONE) {
            canon->target_of[ins->target] += ins->op != PEL_I_JUMP || !ins->sub;
            canon->at[ins->target].is_target = true;
        }
        for (uint32_t g = ins->cover; g != PEL_NONE; g = canon->guards[g].outer) {
            pel_guard *guard = &canon->guards[g];
            /* handlers within what it covers lie after: they are no part of the range */
            if (guard->first == PEL_NONE) guard->first = i;
            if (canon->at[i].level == canon->at[guard->first].level) guard->last = i;
        }
    }
}

void pel_canon_compact(pel_ctx *ctx, pel_canon *c, const bool *gone, const uint32_t *moved) {
    uint32_t *to = pel_new_array(ctx, (size_t)c->n + 1, uint32_t);
    uint32_t n = 0, n_main = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (i == c->n_main) n_main = n;
        to[i] = n;
        if (!gone[i]) c->at[n++] = c->at[i];
    }
    if (c->n_main == c->n) n_main = n;
    to[c->n] = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *target = &c->at[i].target;
        if (*target != PEL_NONE) *target = to[moved ? moved[*target] : *target];
    }
    for (uint32_t g = 0; g < c->n_guards; g++) {
        pel_guard *guard = &c->guards[g];
        if (guard->target != PEL_NONE) guard->target = to[guard->target];
        if (guard->exit != PEL_NONE) guard->exit = to[moved ? moved[guard->exit] : guard->exit];
        if (guard->stood != PEL_NONE) guard->stood = to[guard->stood];
    }
    c->n = n;
    c->n_main = n_main;
}

#define NEWEST_KNOWN 15

void pel_normalise_knows(pel_ctx *ctx, const pel_code_object *code) {
    if (code->version > NEWEST_KNOWN)
        pel_throw(
            ctx, PEL_E_UNSUPPORTED, 0,
            "the decompiler reads bytecode of Python 3.8 to 3.%d; this is Python 3.%d's (`pellucid dis` reads it)",
            NEWEST_KNOWN, code->version);
}

pel_canon *pel_normalise(pel_ctx *ctx, const pel_insns *insns, bool plainly) {
    pel_normalise_knows(ctx, insns->code);
    if (traits_of[insns->code->version].splits_pairs) insns = pel_norm_halves(ctx, insns);
    pel_norm norm = { .ctx = ctx, .insns = insns, .plainly = plainly };
    if (insns->code->version <= 10) pel_norm_prepare_old(&norm);
    norm.fills_notes = fills_notes(insns);
    pel_norm_translate_all(&norm);
    pel_norm_guards(&norm);
    norm.splits_pairs = traits_of[insns->code->version].splits_pairs;
    norm.forward_tests = traits_of[insns->code->version].forward_tests;
    pel_norm_patterns(&norm);
    pel_canon *canon = relay(&norm);
    pel_norm_thrown_values(ctx, canon);
    if (!plainly) pel_norm_copies(ctx, canon);
    pel_norm_one_raise(ctx, canon);
    pel_norm_finally(ctx, canon);
    pel_norm_exits(ctx, canon, plainly);
    pel_canon_finish(canon);
    return canon;
}
