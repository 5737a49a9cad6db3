/* How the recorder gets to see each instruction of the author's frames just before it runs.
 *
 * 3.11 has a trace function per thread and a flag per frame, 3.12 and later have sys.monitoring, where code objects are
 * instrumented. Here they look the same; neither sees anything of torch's own Python, which runs at full speed. */
#ifndef PEL_EXT_WATCH_H
#define PEL_EXT_WATCH_H

#include "frames.h"

#if PEL_CAN_RECORD

/* Called in the thread that runs the frame. It changes nothing; -1, with an exception, is for interrupts alone: the
 * instruction raises them. */
typedef int pel_on_instruction(PyThreadState *thread, pel_frame *frame, uint32_t unit);

typedef struct pel_watch { /* of one thread */
#if PY_VERSION_HEX < 0x030c0000
    Py_tracefunc trace_before;
    PyObject *trace_object_before;
#else
    PyObject *codes; /* dict: address -> code object that is instrumented */
    struct pel_watch *next;
#endif
} pel_watch;

/* Begins; -1 with an exception if that can't be, and then nothing is changed. */
int pel_watch_start(pel_watch *watch, PyObject *recorder, pel_on_instruction *see);
/* Puts everything back. Keeps an exception that is set. */
void pel_watch_stop(pel_watch *watch);

/* From now on the frames of this code are watched. -1 with an exception. */
int pel_watch_code(pel_watch *watch, PyObject *code);

/* Around the evaluation of a frame: is it to be watched? */
int pel_watch_enter(PyThreadState *thread, bool watched);
void pel_watch_leave(PyThreadState *thread, int entered);

#endif

#endif
