/* Frames of the running interpreter: what the recorder must know about the inside of CPython, and nothing
 * else knows. One section of frames.c per version. */
#ifndef PEL_EXT_FRAMES_H
#define PEL_EXT_FRAMES_H

#include "ext.h"

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
#define PEL_CAN_RECORD 1
#else
#define PEL_CAN_RECORD 0
#endif

/* What an instruction leaves behind, as far as its AST node is concerned. The value of an instruction is the
 * value of the expression that it completes; the tables in frames.c say which that is, opcode by opcode. */
typedef enum pel_leaves {
    PEL_LEAVES_NOTHING, /* stores, jumps, and what only moves the stack */
    PEL_LEAVES_TOP,     /* the value is on top of the stack */
    PEL_LEAVES_NEW,     /* the same, and it is a container that did not exist before */
    PEL_LEAVES_RESULT,  /* the same, and it is what a call gave: maybe new */
    PEL_LEAVES_METHOD,  /* an attribute that is about to be called: bound method, or function and self apart */
    PEL_LEAVES_ITEM,    /* the next item of a loop, if the loop goes on */
    PEL_LEAVES_YIELD,   /* hands out the top; when resumed, what was sent is on top */
    PEL_LEAVES_RETURN,  /* ends the frame */
} pel_leaves;

typedef struct pel_unit { /* of a code object: two bytes */
    uint8_t leaves;       /* enum pel_leaves */
    bool swallows_stop;   /* a StopIteration in it is no exception for the program */
    uint16_t size;        /* units of the instruction with its caches */
    uint32_t real;        /* where the instruction itself is, behind its EXTENDED_ARGs */
} pel_unit;

/* One per unit of co_code (the bytes as co_code gives them: neither specialised nor instrumented). */
void pel_describe_units(const unsigned char *code, size_t n_units, pel_unit *units);

#if PEL_CAN_RECORD

typedef struct _PyInterpreterFrame pel_frame;

PyCodeObject *pel_frame_code(const pel_frame *frame);
PyObject *pel_frame_function(const pel_frame *frame); /* borrowed */
PyObject *const *pel_frame_slots(
    const pel_frame *frame);                     /* locals, cells and free variables, as in co_localsplusnames */
uint32_t pel_frame_unit(const pel_frame *frame); /* the instruction that is about to run; only while tracing */
PyObject *pel_frame_peek(const pel_frame *frame, int below_top); /* borrowed, NULL possible; only while tracing */
PyObject *pel_frame_generator(pel_frame *frame); /* the generator that owns it, borrowed; NULL if none does */
pel_frame *pel_frame_of(PyFrameObject *frame);
void pel_frame_trace_opcodes(PyFrameObject *frame); /* events for each instruction, none for lines */

/* Whether the frame that runs now gets events. Frames that it calls start as it is. Returns how it was. */
int pel_set_tracing(PyThreadState *thread, int on);

/* What slot `i` of pel_frame_slots is. */
typedef enum pel_slot_kind { PEL_SLOT_LOCAL = 1, PEL_SLOT_CELL = 2, PEL_SLOT_FREE = 4 } pel_slot_kind;
int pel_code_slot_kind(const PyCodeObject *code, int i);

#endif

#endif
