/* Frames of the running interpreter: what the recorder must know about the inside of CPython, and nothing
 * else knows. The layouts are those of CPython's own headers, one section of frames.c per version. */
#ifndef PEL_EXT_FRAMES_H
#define PEL_EXT_FRAMES_H

#include "ext.h"

/* A build may set it to 0: tests do, to see that the extension is whole where nothing can be recorded. */
#if defined(PEL_CAN_RECORD)
#elif PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x03100000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)
#define PEL_CAN_RECORD 1
#else
#define PEL_CAN_RECORD 0
#endif

#if PEL_CAN_RECORD

typedef struct _PyInterpreterFrame pel_frame;

PyCodeObject *pel_frame_code(const pel_frame *frame);
PyObject *pel_frame_function(const pel_frame *frame); /* borrowed */
/* Locals, cells and free variables, as in co_localsplusnames; then the stack, from its bottom. */
PyObject *pel_frame_slot(const pel_frame *frame,
                         int i);                 /* borrowed; NULL: empty, or nothing but a number for CPython */
void pel_frame_refuse(pel_frame *frame, int i);  /* makes False of True in a slot */
PyObject *pel_frame_generator(pel_frame *frame); /* the generator that owns it, borrowed; NULL if none does */
pel_frame *pel_running_frame(const PyThreadState *thread);

/* What slot `i` of a frame is. */
typedef enum pel_slot_kind { PEL_SLOT_LOCAL = 1, PEL_SLOT_CELL = 2, PEL_SLOT_FREE = 4 } pel_slot_kind;
int pel_code_slot_kind(const PyCodeObject *code, int i);

/* Tries out whether the interpreter that runs has its frames where the headers said that it would. Touches nothing that
 * it has not compared before. -1 with an exception if the trial itself could not be made. */
int pel_frames_fit(void);

#endif

#endif
