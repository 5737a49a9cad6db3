/* The code units of an author's function, as the recorder looks at them while it runs. */
#ifndef PEL_EXT_UNITS_H
#define PEL_EXT_UNITS_H

#include "bytecode/decode.h"

/* What an instruction leaves behind, as far as its AST node is concerned. The value of an instruction is the
 * value of the expression that it completes; the table in units.c says which that is, opcode by opcode. */
typedef enum pel_leaves {
    PEL_LEAVES_NOTHING,   /* stores, jumps, and what only moves the stack */
    PEL_LEAVES_TOP,       /* the value is on top of the stack */
    PEL_LEAVES_GLOBAL,    /* the same; it is a variable of the author's file */
    PEL_LEAVES_NEW,       /* the same, and it is a container that did not exist before */
    PEL_LEAVES_RESULT,    /* the same, and it is what a call gave: maybe new */
    PEL_LEAVES_CALLABLE,  /* what is about to be called: it and nothing, in either order, or function and self apart */
    PEL_LEAVES_ITEM,      /* the next item of a loop, if the loop goes on */
    PEL_LEAVES_COLLECTED, /* the same; after the last one, what the comprehension around it made */
    PEL_LEAVES_YIELD,     /* hands out the top; when resumed, what was sent is on top */
    PEL_LEAVES_RETURN,    /* ends the frame */
} pel_leaves;

/* Of two instructions in one: what the first of them leaves, which is known before they run. */
typedef enum pel_ahead {
    PEL_AHEAD_NOTHING,
    PEL_AHEAD_LOCAL, /* a local variable */
    PEL_AHEAD_SUPER, /* super(), of which then an attribute is read */
    PEL_AHEAD_SLICE, /* the slice of the two values on top, with which then an item is read or set */
} pel_ahead;

typedef struct pel_unit {   /* two bytes of code */
    uint8_t leaves;         /* enum pel_leaves */
    bool is_silent;         /* begins or resumes the frame, or is about a shortcut: no record */
    bool is_handler;        /* only an exception leads here */
    bool is_quiet;          /* runs no code but its own, and changes nobody's object */
    bool raises_again;      /* an exception that was raised before */
    bool offers_shortcut;   /* jumps to a plain call of all, any, tuple unless the top is True: a loop does its work */
    uint8_t drops_iterator; /* of a loop that has ended: how many places of the stack it takes */
    uint16_t size;          /* units of the instruction with its caches */
    uint32_t real;          /* where the instruction itself is, after its EXTENDED_ARGs */
    int32_t depth;          /* of the stack when it begins; -1: no path leads here */
    uint32_t second;        /* of two instructions in one: the unit of the other one, after the code; 0 if it is one */
    uint8_t ahead;          /* enum pel_ahead; then `leaves` is what the second one leaves */
    uint32_t local;         /* for PEL_AHEAD_LOCAL */
} pel_unit;

/* One per unit of co_code (the bytes as co_code gives them: neither specialised nor instrumented). */
pel_unit *pel_describe_units(pel_ctx *ctx, const pel_code_object *code);

#endif
