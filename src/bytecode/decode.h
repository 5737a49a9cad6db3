/* Raw instructions -> a table that ends the differences of encoding between versions.
 *
 * EXTENDED_ARG is folded into the argument, inline caches are gone, jumps name instructions by index, names and
 * constants are in their instruction, the exception table and the line table are parsed. Everything is checked:
 * readers of a pel_insns need no range checks for what it refers to. Which instructions there are still depends on
 * the version. */
#ifndef PEL_BYTECODE_DECODE_H
#define PEL_BYTECODE_DECODE_H

#include "bytecode/code.h"
#include "bytecode/opcode.h"

#define PEL_NO_TARGET UINT32_MAX

typedef struct pel_insn {
    uint16_t op;            /* enum pel_op */
    uint8_t kind;           /* enum pel_arg_kind */
    uint8_t code;           /* of the instruction in its Python's table */
    bool is_target;         /* of a jump, or a handler begins here */
    uint32_t arg;           /* with its EXTENDED_ARGs, otherwise raw: flag bits and shifts are left in */
    uint32_t offset;        /* of the instruction in bytes; of its first EXTENDED_ARG, if it has any */
    uint32_t end;           /* offset after it and its caches */
    uint32_t target;        /* index of the instruction it jumps to; PEL_NO_TARGET if it doesn't jump */
    uint32_t line;          /* source line; 0: none */
    pel_name name;          /* kinds NAME*, LOCAL*, FREE */
    pel_name name2;         /* kind LOCAL2: the second one */
    const pel_const *value; /* kind CONST */
} pel_insn;

/* Instructions start to end - 1 are covered by the handler at target. Ranges are sorted and do not overlap. */
typedef struct pel_handler {
    uint32_t start, end, target; /* instruction indexes; end may be n */
    uint32_t depth;              /* of the stack when the handler begins, not counting what is pushed for it */
    bool lasti;                  /* the offset of the instruction that raised is pushed below the exception */
} pel_handler;

typedef struct pel_insns {
    const pel_code_object *code;
    pel_insn *at;
    uint32_t n;
    pel_handler *handlers; /* 3.11 and later; before, SETUP_* instructions say it */
    uint32_t n_handlers;
} pel_insns;

/* Throws PEL_E_FORMAT with the offset in code->code (or exceptiontable, linetable) in the message. Instructions that do
 * what an older one does under another name have the older one's: LOAD_FAST_BORROW is LOAD_FAST, LOAD_SMALL_INT 1 is
 * LOAD_CONST 1. */
pel_insns *pel_decode(pel_ctx *ctx, const pel_code_object *code);
/* The same, each instruction under its own name. */
pel_insns *pel_decode_as_named(pel_ctx *ctx, const pel_code_object *code);

/* Where in the source an instruction came from: 3.11 and later, else only the line is known. */
typedef struct pel_position {
    int32_t line, end_line, col, end_col; /* lines from 1; columns in UTF-8 bytes from 0; -1: not known */
} pel_position;

/* One per instruction of insns. */
pel_position *pel_positions(pel_ctx *ctx, const pel_insns *insns);

/* The deepest stack that an instruction can begin with, -1 where no path leads; throws PEL_E_FORMAT where an
 * instruction takes more than there is. Before 3.11 the counts are those the compiler of that version reckons with. */
int32_t *pel_stack_depths(pel_ctx *ctx, const pel_insns *insns);

/* Throws PEL_E_INCOMPLETE (our mistake, not the input's) if the table breaks a promise made above. */
void pel_insns_check(pel_ctx *ctx, const pel_insns *insns);

#endif
