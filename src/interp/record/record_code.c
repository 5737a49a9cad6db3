/* Code of the machine -> code rows of the log.
 *
 * The synthesis reads instructions of CPython: what kind they are, where they jump, and where in the source they lie.
 * The machine's compiler follows CPython's, so each of its instructions becomes the one of 3.11 that does the same,
 * with the position of the node that it was made for. Nobody executes the result. */
#include "bytecode/code.h"
#include "interp/code/ops.h"
#include "interp/record/record.h"

#define VERSION 11 /* the first whose line table has columns */

enum { /* opcodes of 3.11 */
       POP_TOP = 1,
       PUSH_NULL = 2,
       NOP = 9,
       UNARY_POSITIVE = 10,
       UNARY_NEGATIVE = 11,
       UNARY_NOT = 12,
       UNARY_INVERT = 15,
       BINARY_SUBSCR = 25,
       GET_LEN = 30,
       MATCH_MAPPING = 31,
       MATCH_SEQUENCE = 32,
       MATCH_KEYS = 33,
       CHECK_EXC_MATCH = 36,
       WITH_EXCEPT_START = 49,
       BEFORE_WITH = 53,
       STORE_SUBSCR = 60,
       DELETE_SUBSCR = 61,
       GET_ITER = 68,
       LOAD_ASSERTION_ERROR = 74,
       LIST_TO_TUPLE = 82,
       RETURN_VALUE = 83,
       YIELD_VALUE = 86,
       POP_EXCEPT = 89,
       STORE_NAME = 90,
       DELETE_NAME = 91,
       UNPACK_SEQUENCE = 92,
       FOR_ITER = 93,
       UNPACK_EX = 94,
       STORE_ATTR = 95,
       DELETE_ATTR = 96,
       STORE_GLOBAL = 97,
       DELETE_GLOBAL = 98,
       SWAP = 99,
       LOAD_CONST = 100,
       LOAD_NAME = 101,
       BUILD_TUPLE = 102,
       BUILD_LIST = 103,
       BUILD_SET = 104,
       BUILD_MAP = 105,
       LOAD_ATTR = 106,
       COMPARE_OP = 107,
       IMPORT_NAME = 108,
       IMPORT_FROM = 109,
       JUMP_FORWARD = 110,
       JUMP_IF_FALSE_OR_POP = 111,
       JUMP_IF_TRUE_OR_POP = 112,
       POP_JUMP_FORWARD_IF_FALSE = 114,
       POP_JUMP_FORWARD_IF_TRUE = 115,
       LOAD_GLOBAL = 116,
       IS_OP = 117,
       CONTAINS_OP = 118,
       RERAISE = 119,
       COPY = 120,
       BINARY_OP = 122,
       LOAD_FAST = 124,
       STORE_FAST = 125,
       DELETE_FAST = 126,
       POP_JUMP_FORWARD_IF_NOT_NONE = 128,
       RAISE_VARARGS = 130,
       MAKE_FUNCTION = 132,
       BUILD_SLICE = 133,
       LOAD_CLOSURE = 136,
       LOAD_DEREF = 137,
       STORE_DEREF = 138,
       DELETE_DEREF = 139,
       JUMP_BACKWARD = 140,
       CALL_FUNCTION_EX = 142,
       EXTENDED_ARG = 144,
       LIST_APPEND = 145,
       SET_ADD = 146,
       MAP_ADD = 147,
       LOAD_CLASSDEREF = 148,
       MATCH_CLASS = 152,
       FORMAT_VALUE = 155,
       BUILD_STRING = 157,
       LOAD_METHOD = 160,
       LIST_EXTEND = 162,
       SET_UPDATE = 163,
       DICT_MERGE = 164,
       DICT_UPDATE = 165,
       CALL = 171,
       POP_JUMP_BACKWARD_IF_NOT_NONE = 173,
       POP_JUMP_BACKWARD_IF_FALSE = 175,
       POP_JUMP_BACKWARD_IF_TRUE = 176,
};

typedef enum argument { NO_ARG, ONE, OPERAND, NAME, GLOBAL_NAME, CELL, JUMP } argument;

typedef struct row {
    uint8_t op, back; /* back: of a jump, when it leads backwards */
    uint8_t arg;      /* enum argument */
    uint8_t caches;
} row;

/* What is not here does nothing that the synthesis looks at: NOP. */
static const row rows[PEL_OP_COUNT_INTERP] = {
    [PEL_I_POP] = { POP_TOP, 0, NO_ARG, 0 },
    [PEL_I_LEAVE_FOR] = { POP_TOP, 0, NO_ARG, 0 },
    [PEL_I_COPY] = { COPY, 0, OPERAND, 0 },
    [PEL_I_SWAP] = { SWAP, 0, OPERAND, 0 },
    [PEL_I_PUSH_NULL] = { PUSH_NULL, 0, NO_ARG, 0 },
    [PEL_I_LOAD_CONST] = { LOAD_CONST, 0, NO_ARG, 0 },
    [PEL_I_LOAD_FAST] = { LOAD_FAST, 0, OPERAND, 0 },
    [PEL_I_STORE_FAST] = { STORE_FAST, 0, OPERAND, 0 },
    [PEL_I_DELETE_FAST] = { DELETE_FAST, 0, OPERAND, 0 },
    [PEL_I_LOAD_DEREF] = { LOAD_DEREF, 0, CELL, 0 },
    [PEL_I_STORE_DEREF] = { STORE_DEREF, 0, CELL, 0 },
    [PEL_I_DELETE_DEREF] = { DELETE_DEREF, 0, CELL, 0 },
    [PEL_I_LOAD_CLOSURE] = { LOAD_CLOSURE, 0, CELL, 0 },
    [PEL_I_LOAD_CLASS_DEREF] = { LOAD_CLASSDEREF, 0, CELL, 0 },
    [PEL_I_LOAD_GLOBAL] = { LOAD_GLOBAL, 0, GLOBAL_NAME, 5 },
    [PEL_I_STORE_GLOBAL] = { STORE_GLOBAL, 0, NAME, 0 },
    [PEL_I_DELETE_GLOBAL] = { DELETE_GLOBAL, 0, NAME, 0 },
    [PEL_I_LOAD_NAME] = { LOAD_NAME, 0, NAME, 0 },
    [PEL_I_STORE_NAME] = { STORE_NAME, 0, NAME, 0 },
    [PEL_I_DELETE_NAME] = { DELETE_NAME, 0, NAME, 0 },
    [PEL_I_LOAD_ATTR] = { LOAD_ATTR, 0, NAME, 4 },
    [PEL_I_STORE_ATTR] = { STORE_ATTR, 0, NAME, 4 },
    [PEL_I_DELETE_ATTR] = { DELETE_ATTR, 0, NAME, 0 },
    [PEL_I_LOAD_METHOD] = { LOAD_METHOD, 0, NAME, 10 },
    [PEL_I_LOAD_SUBSCR] = { BINARY_SUBSCR, 0, NO_ARG, 4 },
    [PEL_I_STORE_SUBSCR] = { STORE_SUBSCR, 0, NO_ARG, 1 },
    [PEL_I_DELETE_SUBSCR] = { DELETE_SUBSCR, 0, NO_ARG, 0 },
    [PEL_I_BINARY] = { BINARY_OP, 0, NO_ARG, 1 },
    [PEL_I_UNARY] = { UNARY_NEGATIVE, 0, NO_ARG, 0 },
    [PEL_I_COMPARE] = { COMPARE_OP, 0, NO_ARG, 2 },
    [PEL_I_JUMP] = { JUMP_FORWARD, JUMP_BACKWARD, JUMP, 0 },
    [PEL_I_JUMP_BACK] = { JUMP_FORWARD, JUMP_BACKWARD, JUMP, 0 },
    [PEL_I_POP_JUMP_IF_FALSE] = { POP_JUMP_FORWARD_IF_FALSE, POP_JUMP_BACKWARD_IF_FALSE, JUMP, 0 },
    [PEL_I_POP_JUMP_IF_TRUE] = { POP_JUMP_FORWARD_IF_TRUE, POP_JUMP_BACKWARD_IF_TRUE, JUMP, 0 },
    [PEL_I_POP_JUMP_IF_NOT_NONE] = { POP_JUMP_FORWARD_IF_NOT_NONE, POP_JUMP_BACKWARD_IF_NOT_NONE, JUMP, 0 },
    [PEL_I_JUMP_IF_FALSE_OR_POP] = { JUMP_IF_FALSE_OR_POP, 0, JUMP, 0 },
    [PEL_I_JUMP_IF_TRUE_OR_POP] = { JUMP_IF_TRUE_OR_POP, 0, JUMP, 0 },
    [PEL_I_BUILD_TUPLE] = { BUILD_TUPLE, 0, OPERAND, 0 },
    [PEL_I_BUILD_LIST] = { BUILD_LIST, 0, OPERAND, 0 },
    [PEL_I_BUILD_SET] = { BUILD_SET, 0, OPERAND, 0 },
    [PEL_I_BUILD_MAP] = { BUILD_MAP, 0, OPERAND, 0 },
    [PEL_I_BUILD_SLICE] = { BUILD_SLICE, 0, OPERAND, 0 },
    [PEL_I_BUILD_STRING] = { BUILD_STRING, 0, OPERAND, 0 },
    [PEL_I_FORMAT] = { FORMAT_VALUE, 0, NO_ARG, 0 },
    [PEL_I_LIST_APPEND] = { LIST_APPEND, 0, OPERAND, 0 },
    [PEL_I_SET_ADD] = { SET_ADD, 0, OPERAND, 0 },
    [PEL_I_MAP_ADD] = { MAP_ADD, 0, OPERAND, 0 },
    [PEL_I_LIST_EXTEND] = { LIST_EXTEND, 0, OPERAND, 0 },
    [PEL_I_SET_UPDATE] = { SET_UPDATE, 0, OPERAND, 0 },
    [PEL_I_DICT_UPDATE] = { DICT_UPDATE, 0, OPERAND, 0 },
    [PEL_I_DICT_MERGE] = { DICT_MERGE, 0, OPERAND, 0 },
    [PEL_I_LIST_TO_TUPLE] = { LIST_TO_TUPLE, 0, NO_ARG, 0 },
    [PEL_I_UNPACK] = { UNPACK_SEQUENCE, 0, OPERAND, 1 },
    [PEL_I_UNPACK_EX] = { UNPACK_EX, 0, NO_ARG, 0 },
    [PEL_I_GET_ITER] = { GET_ITER, 0, NO_ARG, 0 },
    [PEL_I_FOR_ITER] = { FOR_ITER, 0, JUMP, 0 },
    [PEL_I_CALL] = { CALL, 0, OPERAND, 4 },
    [PEL_I_CALL_KW] = { CALL, 0, OPERAND, 4 },
    [PEL_I_CALL_EX] = { CALL_FUNCTION_EX, 0, OPERAND, 0 },
    [PEL_I_MAKE_FUNCTION] = { MAKE_FUNCTION, 0, NO_ARG, 0 },
    [PEL_I_RETURN] = { RETURN_VALUE, 0, NO_ARG, 0 },
    [PEL_I_YIELD] = { YIELD_VALUE, 0, NO_ARG, 0 },
    [PEL_I_RAISE] = { RAISE_VARARGS, 0, OPERAND, 0 },
    [PEL_I_RERAISE] = { RERAISE, 0, NO_ARG, 0 },
    [PEL_I_MATCH_EXCEPTION] = { CHECK_EXC_MATCH, 0, NO_ARG, 0 },
    [PEL_I_BEFORE_WITH] = { BEFORE_WITH, 0, NO_ARG, 0 },
    [PEL_I_WITH_EXCEPT] = { WITH_EXCEPT_START, 0, NO_ARG, 0 },
    [PEL_I_POP_EXCEPT] = { POP_EXCEPT, 0, NO_ARG, 0 },
    [PEL_I_IMPORT_NAME] = { IMPORT_NAME, 0, NAME, 0 },
    [PEL_I_IMPORT_FROM] = { IMPORT_FROM, 0, NAME, 0 },
    [PEL_I_LOAD_ASSERTION_ERROR] = { LOAD_ASSERTION_ERROR, 0, NO_ARG, 0 },
    [PEL_I_GET_LEN] = { GET_LEN, 0, NO_ARG, 0 },
    [PEL_I_MATCH_SEQUENCE] = { MATCH_SEQUENCE, 0, NO_ARG, 0 },
    [PEL_I_MATCH_MAPPING] = { MATCH_MAPPING, 0, NO_ARG, 0 },
    [PEL_I_MATCH_KEYS] = { MATCH_KEYS, 0, NO_ARG, 0 },
    [PEL_I_MATCH_CLASS] = { MATCH_CLASS, 0, NO_ARG, 0 },
};

/* Which of several opcodes one instruction of ours is. */
static uint8_t opcode_of(const pel_vm_insn *insn, const row *r) {
    switch ((pel_vm_op)insn->op) {
    case PEL_I_UNARY:
        return insn->b == PEL_Not      ? UNARY_NOT
               : insn->b == PEL_Invert ? UNARY_INVERT
               : insn->b == PEL_UAdd   ? UNARY_POSITIVE
                                       : UNARY_NEGATIVE;
    case PEL_I_COMPARE:
        if (insn->b == PEL_Is || insn->b == PEL_IsNot) return IS_OP;
        return insn->b == PEL_In || insn->b == PEL_NotIn ? CONTAINS_OP : COMPARE_OP;
    default: return r->op ? r->op : NOP;
    }
}

#define LONG_JUMP 3 /* EXTENDED_ARGs before a jump: how far it is, is not known when places are given out */

static uint32_t caches_of(uint8_t op, const row *r) { return op == IS_OP || op == CONTAINS_OP ? 0 : r->caches; }

static uint32_t n_extended(const row *r, uint32_t arg) {
    if (r->arg == JUMP) return LONG_JUMP;
    return arg > 0xffffff ? 3 : arg > 0xffff ? 2 : arg > 0xff ? 1 : 0;
}

static pel_name name_of(pel_recording *rec, pel_val text) {
    return pel_intern(rec->ctx, pel_text_of(text).ptr, pel_text_of(text).len);
}

static pel_name_list names_of(pel_recording *rec, pel_val *at, uint32_t n) {
    pel_name_list list = { pel_new_array(rec->ctx, n + 1u, pel_name), n };
    for (uint32_t i = 0; i < n; i++) list.at[i] = name_of(rec, at[i]);
    return list;
}

static uint32_t argument_of(const pel_recording *rec, const pel_codeobj *code, const pel_code_object *made,
                            const pel_vm_insn *insn, const row *r) {
    (void)rec;
    switch ((argument)r->arg) {
    case ONE: return 1;
    case OPERAND: return insn->b;
    case NAME: return insn->b;
    case GLOBAL_NAME: return insn->b << 1;
    case CELL: {
        pel_str name = pel_text_of(code->cells[insn->b]);
        for (uint32_t i = 0; i < made->localsplus.n; i++)
            if (pel_str_eq(pel_name_str(made->localsplus.at[i]), name)) return i;
        return 0;
    }
    default: return 0;
    }
}

static void put_varint(pel_buf *out, uint32_t value) {
    for (; value >= 64; value >>= 6) pel_put_byte(out, (char)(0x40 | (value & 63)));
    pel_put_byte(out, (char)value);
}

/* An entry of the line table covers up to 8 units. */
static void put_position(pel_buf *out, const pel_node *node, uint32_t units, uint32_t *line) {
    while (units) {
        uint32_t now = units < 8 ? units : 8;
        units -= now;
        if (!node || !node->lineno) {
            pel_put_byte(out, (char)(0x80 | 15 << 3 | (now - 1)));
            continue;
        }
        pel_put_byte(out, (char)(0x80 | 14 << 3 | (now - 1)));
        int64_t delta = (int64_t)node->lineno - *line;
        put_varint(out, delta < 0 ? (uint32_t)(-delta) << 1 | 1 : (uint32_t)delta << 1);
        put_varint(out, node->end_lineno >= node->lineno ? node->end_lineno - node->lineno : 0);
        put_varint(out, node->col_offset + 1);
        put_varint(out, node->end_col_offset + 1);
        *line = node->lineno;
    }
}

static void put_insn(pel_buf *out, uint8_t op, uint32_t arg, uint32_t extended, uint32_t caches) {
    for (uint32_t i = extended; i > 0; i--) {
        pel_put_byte(out, (char)EXTENDED_ARG);
        pel_put_byte(out, (char)(arg >> (8 * i) & 0xff));
    }
    pel_put_byte(out, (char)op);
    pel_put_byte(out, (char)(arg & 0xff));
    for (uint32_t i = 0; i < 2 * caches; i++) pel_put_byte(out, 0);
}

/* A jump needs the places of all instructions, so there are two passes; each jump has room for the longest argument, so
 * that the first pass knows its size. Jumps lead to the prefixes of their target, records (unit_of) to the instruction
 * itself. */
static void put_code(pel_recording *rec, const pel_codeobj *code, pel_code_object *made, uint32_t *unit_of) {
    pel_buf bytes = pel_buf_in(rec->ctx), lines = pel_buf_in(rec->ctx);
    uint32_t *args = pel_new_array(rec->ctx, code->n_insns + 1u, uint32_t);
    uint32_t *ends = pel_new_array(rec->ctx, code->n_insns + 1u, uint32_t);
    uint32_t at = 0, line = made->firstlineno;
    for (uint32_t i = 0; i < code->n_insns; i++) {
        const row *r = &rows[code->insns[i].op];
        args[i] = argument_of(rec, code, made, &code->insns[i], r);
        unit_of[i] = at + n_extended(r, args[i]);
        ends[i] = unit_of[i] + 1 + caches_of(opcode_of(&code->insns[i], r), r);
        at = ends[i];
    }
    for (uint32_t i = 0; i < code->n_insns; i++) {
        const pel_vm_insn *insn = &code->insns[i];
        const row *r = &rows[insn->op];
        uint8_t op = opcode_of(insn, r);
        uint32_t extended = n_extended(r, args[i]), start = unit_of[i] - extended;
        if (r->arg == JUMP) {
            const row *to = &rows[code->insns[insn->b].op];
            uint32_t target = unit_of[insn->b] - n_extended(to, args[insn->b]);
            bool back = target < ends[i];
            if (back && !r->back)
                pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "a jump of %.*s leads backwards", PEL_FMT(code->file));
            if (back) op = r->back;
            args[i] = back ? ends[i] - target : target - ends[i];
        }
        put_insn(&bytes, op, args[i], extended, caches_of(op, r));
        put_position(&lines, code->nodes ? code->nodes[i] : NULL, ends[i] - start, &line);
    }
    made->code = pel_buf_str(&bytes);
    made->linetable = pel_buf_str(&lines);
}

/* A function may be logged as a value before it runs, when its class is unknown: the row gets its class later. Each
 * LOAD_CONST has the argument 0, so one constant must exist; the records say which value it gave. */
pel_logged *pel_logged_codeobj(pel_recording *rec, pel_codeobj *code, const pel_dict *globals, pel_id class) {
    uint64_t known;
    if (pel_map_get(&rec->codes, PEL_KEY(code), &known)) {
        pel_logged *logged = (pel_logged *)(uintptr_t)known;
        if (class && !rec->log->codes.at[logged->row].class) rec->log->codes.at[logged->row].class = class;
        return logged;
    }
    pel_logged *logged = pel_new(rec->ctx, pel_logged);
    pel_code_object *made = pel_new(rec->ctx, pel_code_object);
    made->version = VERSION;
    made->argcount = code->n_args;
    made->posonlyargcount = code->n_posonly;
    made->kwonlyargcount = code->n_kwonly;
    made->stacksize = code->stack_size;
    made->flags = (uint32_t)PEL_CO_OPTIMIZED | PEL_CO_NEWLOCALS | (code->has_varargs ? PEL_CO_VARARGS : 0u) |
                  (code->has_varkw ? PEL_CO_VARKEYWORDS : 0u) | (code->is_generator ? PEL_CO_GENERATOR : 0u) |
                  (code->is_coroutine ? PEL_CO_COROUTINE : 0u);
    made->firstlineno = code->first_line;
    made->name = name_of(rec, code->name);
    made->qualname = name_of(rec, code->qualname);
    made->filename = code->file;
    const pel_const **consts = pel_new_array(rec->ctx, 1, const pel_const *);
    consts[0] = &pel_none;
    made->consts = consts;
    made->n_consts = 1;
    made->names = names_of(rec, code->names, code->n_names);
    made->varnames = names_of(rec, code->locals, code->n_locals);
    made->cellvars = names_of(rec, code->cells, code->n_cells);
    made->freevars = names_of(rec, code->cells + code->n_cells, code->n_free);
    pel_code_finish(rec->ctx, made, 0);
    logged->unit_of = pel_new_array(rec->ctx, code->n_insns + 1u, uint32_t);
    put_code(rec, code, made, logged->unit_of);
    pel_val module = globals ? pel_dict_get_str(globals, rec->vm->names.s_name) : NULL;
    pel_log_code entry = { .code = made, .file = pel_logged_file(rec, code), .class = class };
    entry.module = module && pel_is_str(module) ? pel_text_of(module) : (pel_str){ "", 0 };
    pel_push(rec->ctx, &rec->log->codes, entry);
    logged->row = rec->log->codes.n - 1;
    pel_map_set(rec->ctx, &rec->codes, PEL_KEY(code), PEL_KEY(logged));
    return logged;
}
