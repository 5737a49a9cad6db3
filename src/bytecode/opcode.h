/* Opcodes: one name for the same instruction in every Python, and per version what each code means.
 *
 * The tables are data (data/opcodes/3.X.tsv, drafted from each interpreter by tools/dump_opcodes.py). */
#ifndef PEL_BYTECODE_OPCODE_H
#define PEL_BYTECODE_OPCODE_H

#include "base/base.h"
#include "python/parse.h" /* pel_version */

typedef enum pel_op {
    PEL_OP_NONE, /* no instruction of that Python */
#define OP(name) PEL_OP_##name,
#include "bytecode/ops.inc"
#undef OP
    PEL_OP_COUNT
} pel_op;

/* What the argument of an instruction means. */
typedef enum pel_arg_kind {
    PEL_ARG_NONE,
    PEL_ARG_INT,     /* a count, flags, an operator: the instruction knows */
    PEL_ARG_CONST,   /* index into consts */
    PEL_ARG_NAME,    /* index into names */
    PEL_ARG_NAME2,   /* the same times 2; the lowest bit says something else */
    PEL_ARG_NAME4,   /* the same times 4; the lowest two bits say something else */
    PEL_ARG_LOCAL,   /* index into varnames; since 3.11 into localsplus */
    PEL_ARG_LOCAL2,  /* two of them, four bits each */
    PEL_ARG_FREE,    /* index into cellvars, then freevars; since 3.11 into localsplus */
    PEL_ARG_COMPARE, /* index into the comparisons, shifted since 3.12 */
    PEL_ARG_JREL,    /* jump forward */
    PEL_ARG_JBACK,   /* jump backward */
    PEL_ARG_JABS,    /* jump to an offset */
} pel_arg_kind;

/* A stack count: base + sign * term(argument). */
typedef enum pel_term {
    PEL_TERM_0,
    PEL_TERM_N,     /* the argument */
    PEL_TERM_2N,    /* twice the argument */
    PEL_TERM_ODD,   /* its lowest bit */
    PEL_TERM_LOHI,  /* its low byte plus the rest */
    PEL_TERM_FLAGS, /* how many of its lowest four bits are set */
    PEL_TERM_THREE, /* 1 if it is 3 */
    PEL_TERM_SPEC,  /* 1 if bit 2 is set and bit 3 is not */
} pel_term;

typedef struct pel_stack_sum {
    int8_t base, sign;
    uint8_t term; /* enum pel_term */
} pel_stack_sum;

typedef struct pel_opinfo {
    uint8_t op;                /* enum pel_op; PEL_OP_NONE where the Python has no such code */
    uint8_t kind;              /* enum pel_arg_kind */
    uint8_t caches;            /* code units of inline cache after it */
    pel_stack_sum pop;         /* values it reads */
    pel_stack_sum effect;      /* what it adds to the depth when it goes on */
    pel_stack_sum jump_effect; /* and when it jumps */
} pel_opinfo;

/* The 256 rows of a supported version. */
const pel_opinfo *pel_optab(pel_version version);
/* "LOAD_FAST" */
const char *pel_op_name(pel_op op);
int64_t pel_stack_count(pel_stack_sum sum, uint32_t arg);
/* Execution never goes on after it: return, raise, reraise, unconditional jump. */
bool pel_op_ends(pel_op op);
/* Whether it does what two instructions of 3.11 do, one after the other; which two. */
bool pel_op_halves(pel_op op, pel_op halves[2]);

#endif
