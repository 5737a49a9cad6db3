#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
/* CPython's own headers for its insides; they are not as clean as ours. */
#define Py_BUILD_CORE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE
#endif

#include <opcode.h>

#include "frames.h"

/* ---- what each opcode leaves ---- */

typedef struct op_row {
    uint8_t leaves, caches;
} op_row;

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000

/* 3.11. Not in the table: LEAVES_NOTHING, no caches.
 *
 *   GET_ITER, GET_AWAITABLE ...   have the position of what they iterate over: their iterator is nobody's value
 *   LIST_EXTEND, DICT_UPDATE ...  complete [*a, *b], {**a}: the container, which is then on top
 *   LIST_APPEND, MAP_ADD ...      a comprehension in the making: its value is what its frame returns
 *   COPY, SWAP, PUSH_NULL         move the stack
 *   UNPACK_SEQUENCE, UNPACK_EX    the targets are no expressions
 *   LOAD_CLOSURE                  pushes a cell, for MAKE_FUNCTION
 *   BEFORE_WITH                   what __enter__ gave
 *   PRECALL, KW_NAMES             belong to the CALL that follows */
static const op_row ops[256] = {
    [LOAD_CONST] = { PEL_LEAVES_TOP, 0 },          [LOAD_FAST] = { PEL_LEAVES_TOP, 0 },
    [LOAD_NAME] = { PEL_LEAVES_TOP, 0 },           [LOAD_GLOBAL] = { PEL_LEAVES_TOP, 5 },
    [LOAD_DEREF] = { PEL_LEAVES_TOP, 0 },          [LOAD_CLASSDEREF] = { PEL_LEAVES_TOP, 0 },
    [LOAD_ATTR] = { PEL_LEAVES_TOP, 4 },           [LOAD_METHOD] = { PEL_LEAVES_METHOD, 10 },
    [LOAD_BUILD_CLASS] = { PEL_LEAVES_TOP, 0 },    [LOAD_ASSERTION_ERROR] = { PEL_LEAVES_TOP, 0 },
    [UNARY_POSITIVE] = { PEL_LEAVES_TOP, 0 },      [UNARY_NEGATIVE] = { PEL_LEAVES_TOP, 0 },
    [UNARY_NOT] = { PEL_LEAVES_TOP, 0 },           [UNARY_INVERT] = { PEL_LEAVES_TOP, 0 },
    [BINARY_OP] = { PEL_LEAVES_RESULT, 1 },        [BINARY_SUBSCR] = { PEL_LEAVES_TOP, 4 },
    [COMPARE_OP] = { PEL_LEAVES_TOP, 2 },          [IS_OP] = { PEL_LEAVES_TOP, 0 },
    [CONTAINS_OP] = { PEL_LEAVES_TOP, 0 },         [BUILD_TUPLE] = { PEL_LEAVES_TOP, 0 },
    [BUILD_LIST] = { PEL_LEAVES_NEW, 0 },          [BUILD_SET] = { PEL_LEAVES_NEW, 0 },
    [BUILD_MAP] = { PEL_LEAVES_NEW, 0 },           [BUILD_CONST_KEY_MAP] = { PEL_LEAVES_NEW, 0 },
    [BUILD_SLICE] = { PEL_LEAVES_TOP, 0 },         [BUILD_STRING] = { PEL_LEAVES_TOP, 0 },
    [FORMAT_VALUE] = { PEL_LEAVES_TOP, 0 },        [LIST_TO_TUPLE] = { PEL_LEAVES_TOP, 0 },
    [LIST_EXTEND] = { PEL_LEAVES_TOP, 0 },         [SET_UPDATE] = { PEL_LEAVES_TOP, 0 },
    [DICT_UPDATE] = { PEL_LEAVES_TOP, 0 },         [DICT_MERGE] = { PEL_LEAVES_TOP, 0 },
    [MAKE_FUNCTION] = { PEL_LEAVES_TOP, 0 },       [CALL] = { PEL_LEAVES_RESULT, 4 },
    [CALL_FUNCTION_EX] = { PEL_LEAVES_RESULT, 0 }, [IMPORT_NAME] = { PEL_LEAVES_TOP, 0 },
    [IMPORT_FROM] = { PEL_LEAVES_TOP, 0 },         [BEFORE_WITH] = { PEL_LEAVES_TOP, 0 },
    [BEFORE_ASYNC_WITH] = { PEL_LEAVES_TOP, 0 },   [CHECK_EXC_MATCH] = { PEL_LEAVES_TOP, 0 },
    [CHECK_EG_MATCH] = { PEL_LEAVES_TOP, 0 },      [MATCH_MAPPING] = { PEL_LEAVES_TOP, 0 },
    [MATCH_SEQUENCE] = { PEL_LEAVES_TOP, 0 },      [GET_LEN] = { PEL_LEAVES_TOP, 0 },
    [FOR_ITER] = { PEL_LEAVES_ITEM, 0 },           [YIELD_VALUE] = { PEL_LEAVES_YIELD, 0 },
    [RETURN_VALUE] = { PEL_LEAVES_RETURN, 0 },     [STORE_ATTR] = { PEL_LEAVES_NOTHING, 4 },
    [STORE_SUBSCR] = { PEL_LEAVES_NOTHING, 1 },    [UNPACK_SEQUENCE] = { PEL_LEAVES_NOTHING, 1 },
    [PRECALL] = { PEL_LEAVES_NOTHING, 1 },
};

static bool swallows_stop(int op) { return op == FOR_ITER || op == SEND; }

/* DICT_MERGE of a call f(**a, **b) and the like work below other values when their argument is not 1. */
static bool is_below_top(int op, int arg) {
    return arg != 1 && (op == LIST_EXTEND || op == SET_UPDATE || op == DICT_UPDATE || op == DICT_MERGE);
}

#else

static const op_row ops[256] = { [0] = { PEL_LEAVES_NOTHING, 0 } };
static bool swallows_stop(int op) { return op < 0; }
static bool is_below_top(int op, int arg) { return op < 0 && arg < 0; }

#endif

void pel_describe_units(const unsigned char *code, size_t n_units, pel_unit *units) {
    for (size_t i = 0; i < n_units;) {
        size_t real = i;
        int arg = code[2 * i + 1];
        for (; code[2 * real] == EXTENDED_ARG && real + 1 < n_units; real++)
            arg = (arg << 8 | code[2 * real + 3]) & 0xffffff;
        int op = code[2 * real];
        uint8_t leaves = is_below_top(op, arg) ? PEL_LEAVES_NOTHING : ops[op].leaves;
        size_t next = real + 1 + ops[op].caches;
        if (next > n_units) next = n_units;
        for (size_t at = i; at < next; at++)
            units[at] = (pel_unit){ .leaves = leaves,
                                    .swallows_stop = swallows_stop(op),
                                    .size = (uint16_t)(next - at),
                                    .real = (uint32_t)real };
        i = next;
    }
}

/* ---- frames ---- */

#if PEL_CAN_RECORD

PyCodeObject *pel_frame_code(const pel_frame *frame) { return frame->f_code; }
PyObject *pel_frame_function(const pel_frame *frame) { return (PyObject *)frame->f_func; }
PyObject *const *pel_frame_slots(const pel_frame *frame) { return frame->localsplus; }

uint32_t pel_frame_unit(const pel_frame *frame) { return (uint32_t)(frame->prev_instr - _PyCode_CODE(frame->f_code)); }

PyObject *pel_frame_peek(const pel_frame *frame, int below_top) {
    int at = frame->stacktop - 1 - below_top;
    return at < frame->f_code->co_nlocalsplus ? NULL : frame->localsplus[at];
}

PyObject *pel_frame_generator(pel_frame *frame) {
    return frame->owner == FRAME_OWNED_BY_GENERATOR ? (PyObject *)_PyFrame_GetGenerator(frame) : NULL;
}

pel_frame *pel_frame_of(PyFrameObject *frame) { return frame->f_frame; }

void pel_frame_trace_opcodes(PyFrameObject *frame) {
    frame->f_trace_lines = 0;
    frame->f_trace_opcodes = 1;
}

int pel_set_tracing(PyThreadState *thread, int on) {
    int was = thread->cframe->use_tracing;
    thread->cframe->use_tracing = on ? 255 : 0;
    return was;
}

int pel_code_slot_kind(const PyCodeObject *code, int i) {
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);
    return (kind & CO_FAST_LOCAL ? PEL_SLOT_LOCAL : 0) | (kind & CO_FAST_CELL ? PEL_SLOT_CELL : 0) |
           (kind & CO_FAST_FREE ? PEL_SLOT_FREE : 0);
}

#endif
