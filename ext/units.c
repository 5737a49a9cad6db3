/* Which instruction leaves the value of which expression: a table by opcode, and the depth of the stack. */
#include "units.h"

/* Not in the table: LEAVES_NOTHING.
 *
 *   GET_ITER, GET_AWAITABLE ...   have the position of what they iterate over: their iterator is nobody's value
 *   LIST_EXTEND, DICT_UPDATE ...  complete [*a, *b], {**a}: the container, which is then on top
 *   LIST_APPEND, MAP_ADD ...      a comprehension in the making: its value is what its frame returns, or what is there
 *                                 when its loop ends
 *   LOAD_FAST_AND_CLEAR           puts a variable aside that a comprehension has, too
 *   COPY, SWAP, PUSH_NULL         move the stack
 *   UNPACK_SEQUENCE, UNPACK_EX    the targets are no expressions
 *   LOAD_CLOSURE                  pushes a cell, for MAKE_FUNCTION
 *   LOAD_SPECIAL                  pushes __enter__ or __exit__ and its self, for the CALL that follows
 *   NOT_TAKEN, POP_ITER           mark a way, end a loop
 *   PRECALL, KW_NAMES             belong to the CALL that follows
 *   TO_BOOL, CONVERT_VALUE        belong to the test or the text that follows */
static const uint8_t leaves_of[PEL_OP_COUNT] = {
    [PEL_OP_LOAD_CONST] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_FAST] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_FAST_CHECK] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_FAST_LOAD_FAST] = PEL_LEAVES_TOP,
    [PEL_OP_STORE_FAST_LOAD_FAST] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_NAME] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_LOCALS] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_GLOBAL] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_DEREF] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_CLASSDEREF] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_FROM_DICT_OR_DEREF] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_FROM_DICT_OR_GLOBALS] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_ATTR] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_SUPER_ATTR] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_METHOD] = PEL_LEAVES_CALLABLE,
    [PEL_OP_LOAD_BUILD_CLASS] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_ASSERTION_ERROR] = PEL_LEAVES_TOP,
    [PEL_OP_LOAD_COMMON_CONSTANT] = PEL_LEAVES_TOP,
    [PEL_OP_BUILD_INTERPOLATION] = PEL_LEAVES_TOP,
    [PEL_OP_BUILD_TEMPLATE] = PEL_LEAVES_TOP,
    [PEL_OP_UNARY_POSITIVE] = PEL_LEAVES_TOP,
    [PEL_OP_UNARY_NEGATIVE] = PEL_LEAVES_TOP,
    [PEL_OP_UNARY_NOT] = PEL_LEAVES_TOP,
    [PEL_OP_UNARY_INVERT] = PEL_LEAVES_TOP,
    [PEL_OP_BINARY_OP] = PEL_LEAVES_RESULT,
    [PEL_OP_BINARY_SUBSCR] = PEL_LEAVES_TOP,
    [PEL_OP_BINARY_SLICE] = PEL_LEAVES_TOP,
    [PEL_OP_COMPARE_OP] = PEL_LEAVES_TOP,
    [PEL_OP_IS_OP] = PEL_LEAVES_TOP,
    [PEL_OP_CONTAINS_OP] = PEL_LEAVES_TOP,
    [PEL_OP_BUILD_TUPLE] = PEL_LEAVES_TOP,
    [PEL_OP_BUILD_LIST] = PEL_LEAVES_NEW,
    [PEL_OP_BUILD_SET] = PEL_LEAVES_NEW,
    [PEL_OP_BUILD_MAP] = PEL_LEAVES_NEW,
    [PEL_OP_BUILD_CONST_KEY_MAP] = PEL_LEAVES_NEW,
    [PEL_OP_BUILD_SLICE] = PEL_LEAVES_TOP,
    [PEL_OP_BUILD_STRING] = PEL_LEAVES_TOP,
    [PEL_OP_FORMAT_VALUE] = PEL_LEAVES_TOP,
    [PEL_OP_FORMAT_SIMPLE] = PEL_LEAVES_TOP,
    [PEL_OP_FORMAT_WITH_SPEC] = PEL_LEAVES_TOP,
    [PEL_OP_LIST_TO_TUPLE] = PEL_LEAVES_TOP,
    [PEL_OP_LIST_EXTEND] = PEL_LEAVES_TOP,
    [PEL_OP_SET_UPDATE] = PEL_LEAVES_TOP,
    [PEL_OP_DICT_UPDATE] = PEL_LEAVES_TOP,
    [PEL_OP_DICT_MERGE] = PEL_LEAVES_TOP,
    [PEL_OP_MAKE_FUNCTION] = PEL_LEAVES_TOP,
    [PEL_OP_SET_FUNCTION_ATTRIBUTE] = PEL_LEAVES_TOP,
    [PEL_OP_CALL] = PEL_LEAVES_RESULT,
    [PEL_OP_CALL_KW] = PEL_LEAVES_RESULT,
    [PEL_OP_CALL_FUNCTION_EX] = PEL_LEAVES_RESULT,
    [PEL_OP_IMPORT_NAME] = PEL_LEAVES_TOP,
    [PEL_OP_IMPORT_FROM] = PEL_LEAVES_TOP,
    [PEL_OP_BEFORE_WITH] = PEL_LEAVES_TOP,
    [PEL_OP_BEFORE_ASYNC_WITH] = PEL_LEAVES_TOP,
    [PEL_OP_CHECK_EXC_MATCH] = PEL_LEAVES_TOP,
    [PEL_OP_CHECK_EG_MATCH] = PEL_LEAVES_TOP,
    [PEL_OP_MATCH_MAPPING] = PEL_LEAVES_TOP,
    [PEL_OP_MATCH_SEQUENCE] = PEL_LEAVES_TOP,
    [PEL_OP_GET_LEN] = PEL_LEAVES_TOP,
    [PEL_OP_FOR_ITER] = PEL_LEAVES_ITEM,
    [PEL_OP_YIELD_VALUE] = PEL_LEAVES_YIELD,
    [PEL_OP_RETURN_VALUE] = PEL_LEAVES_RETURN,
    [PEL_OP_RETURN_CONST] = PEL_LEAVES_RETURN,
};

enum { INTRINSIC_UNARY_POSITIVE = 5, INTRINSIC_LIST_TO_TUPLE = 6 };

/* [ ... for x in xs] that runs in the frame around it: the container is made just ahead of the loop. */
static bool collects(const pel_insns *insns, uint32_t i) {
    const pel_insn *loop = &insns->at[i];
    if (i > 2 && loop[-1].op == PEL_OP_GET_ITER) loop--, i--; /* since 3.15 it is after */
    if (i < 2 || loop[-1].op != PEL_OP_SWAP || loop[-2].arg != 0) return false;
    uint16_t made = loop[-2].op;
    return made == PEL_OP_BUILD_LIST || made == PEL_OP_BUILD_SET || made == PEL_OP_BUILD_MAP;
}

/* Since 3.14 `all(x for x in xs)` is `if all is the builtin: a loop over the generator; else: the call`. Both compute
 * the same, but in the loop nothing is left that is the value of the call. The author wrote no question: it has no
 * records. */
static bool offers_shortcut(const pel_insns *insns, uint32_t i) {
    const pel_insn *jump = &insns->at[i];
    return i > 3 && i < insns->n && jump->op == PEL_OP_POP_JUMP_IF_FALSE && jump[-1].op == PEL_OP_IS_OP &&
           jump[-2].op == PEL_OP_LOAD_COMMON_CONSTANT && jump[-3].op == PEL_OP_COPY;
}

static uint8_t what_is_left(const pel_insns *insns, uint32_t i) {
    const pel_insn *insn = &insns->at[i];
    switch (insn->op) {
    case PEL_OP_LOAD_GLOBAL:
        return insn->kind != PEL_ARG_NAME && insn->arg & 1 ? PEL_LEAVES_CALLABLE : PEL_LEAVES_GLOBAL;
    case PEL_OP_LOAD_ATTR:
    case PEL_OP_LOAD_SUPER_ATTR: /* the lowest bit says that a call follows, where it is none of the name's */
        return insn->kind != PEL_ARG_NAME && insn->arg & 1 ? PEL_LEAVES_CALLABLE : PEL_LEAVES_TOP;
    case PEL_OP_LIST_EXTEND:
    case PEL_OP_SET_UPDATE:
    case PEL_OP_DICT_UPDATE:
    case PEL_OP_DICT_MERGE: /* those of a call f(**a, **b) work below other values */
        return insn->arg == 1 ? PEL_LEAVES_TOP : PEL_LEAVES_NOTHING;
    case PEL_OP_MAKE_FUNCTION:
    case PEL_OP_SET_FUNCTION_ATTRIBUTE: { /* its closure comes later */
        bool is_whole = i + 1 >= insns->n || insn[1].op != PEL_OP_SET_FUNCTION_ATTRIBUTE;
        return is_whole ? PEL_LEAVES_TOP : PEL_LEAVES_NOTHING;
    }
    case PEL_OP_CALL_INTRINSIC_1:
        return insn->arg == INTRINSIC_UNARY_POSITIVE || insn->arg == INTRINSIC_LIST_TO_TUPLE ? PEL_LEAVES_TOP
                                                                                             : PEL_LEAVES_NOTHING;
    case PEL_OP_FOR_ITER: return collects(insns, i) ? PEL_LEAVES_COLLECTED : PEL_LEAVES_ITEM;
    default: return leaves_of[insn->op];
    }
}

static uint8_t what_is_ahead(pel_op first) {
    switch (first) {
    case PEL_OP_LOAD_FAST: return PEL_AHEAD_LOCAL;
    case PEL_OP_CALL: return PEL_AHEAD_SUPER;
    case PEL_OP_BUILD_SLICE: return PEL_AHEAD_SLICE;
    default: return PEL_AHEAD_NOTHING;
    }
}

/* Only instructions that reach no method of an object: POP_JUMP_IF_TRUE may call __bool__, LOAD_ATTR a property,
 * BUILD_SET __hash__. From 3.13 on, attributes are read anew only after an instruction that is not quiet, so a wrong
 * entry here keeps stale values. */
static bool is_quiet(uint16_t op) {
    switch (op) {
    case PEL_OP_LOAD_CONST:
    case PEL_OP_LOAD_FAST:
    case PEL_OP_LOAD_FAST_CHECK:
    case PEL_OP_LOAD_FAST_LOAD_FAST:
    case PEL_OP_LOAD_DEREF:
    case PEL_OP_LOAD_GLOBAL:
    case PEL_OP_STORE_FAST:
    case PEL_OP_STORE_FAST_LOAD_FAST:
    case PEL_OP_STORE_FAST_STORE_FAST:
    case PEL_OP_BUILD_TUPLE:
    case PEL_OP_BUILD_LIST:
    case PEL_OP_BUILD_MAP:
    case PEL_OP_IS_OP:
    case PEL_OP_COPY:
    case PEL_OP_SWAP:
    case PEL_OP_PUSH_NULL:
    case PEL_OP_KW_NAMES:
    case PEL_OP_NOP:
    case PEL_OP_NOT_TAKEN:
    case PEL_OP_JUMP_FORWARD:
    case PEL_OP_JUMP_BACKWARD:
    case PEL_OP_POP_JUMP_IF_NONE:
    case PEL_OP_POP_JUMP_IF_NOT_NONE: return true;
    default: return false;
    }
}

static uint32_t behind_prefixes(const pel_code_object *code, const pel_insn *insn) {
    const pel_opinfo *ops = pel_optab(code->version);
    uint32_t at = insn->offset;
    while (at + 2 < insn->end && ops[(unsigned char)code->code.ptr[at]].op == PEL_OP_EXTENDED_ARG) at += 2;
    return at / 2;
}

typedef struct measuring {
    const pel_insns *insns;
    int32_t *depths;
} measuring;

static void measure(pel_ctx *ctx, void *arg) {
    measuring *m = arg;
    m->depths = pel_stack_depths(ctx, m->insns);
}

pel_unit *pel_describe_units(pel_ctx *ctx, const pel_code_object *code) {
    const pel_insns *insns = pel_decode(ctx, code);
    uint32_t n_units = (uint32_t)(code->code.len / 2), n_second = 0;
    pel_unit *units = pel_new_array(ctx, n_units, pel_unit);
    measuring stack = { insns, NULL };
    pel_err err; /* code that no compiler made may have no one depth: then its stack is not looked at */
    bool balanced = pel_attempt(ctx, measure, &stack, &err);
    for (uint32_t i = 0; i < insns->n; i++) {
        const pel_insn *insn = &insns->at[i];
        pel_unit unit = { .leaves = what_is_left(insns, i), .depth = balanced ? stack.depths[i] : -1 };
        unit.is_quiet = is_quiet(insn->op);
        unit.offers_shortcut = offers_shortcut(insns, i);
        if (insn->op == PEL_OP_POP_ITER) unit.drops_iterator = code->version >= 15 ? 2 : 1;
        unit.is_silent = insn->op == PEL_OP_RESUME;
        for (uint32_t ahead = 0; ahead < 4; ahead++) unit.is_silent |= offers_shortcut(insns, i + ahead);
        unit.raises_again = insn->op == PEL_OP_RERAISE;
        unit.real = behind_prefixes(code, insn);
        pel_op halves[2];
        if (pel_op_halves(insn->op, halves)) {
            unit.second = n_units + n_second++;
            unit.ahead = what_is_ahead(halves[0]);
            unit.local = insn->arg >> 4;
        }
        for (uint32_t at = insn->offset / 2; at < insn->end / 2 && at < n_units; at++) {
            units[at] = unit;
            units[at].size = (uint16_t)(insn->end / 2 - at);
        }
    }
    for (uint32_t h = 0; h < insns->n_handlers; h++)
        units[insns->at[insns->handlers[h].target].offset / 2].is_handler = true;
    return units;
}
