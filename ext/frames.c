/* Where CPython keeps what of a frame: a section per version. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frames.h"

#if PEL_CAN_RECORD

#include "cpython_inside.h"

/* ---- by version ---- */

#if PY_VERSION_HEX < 0x030c0000 /* 3.11 */

static PyObject *code_in(const pel_frame *frame) { return (PyObject *)frame->f_code; }
PyObject *pel_frame_function(const pel_frame *frame) { return (PyObject *)frame->f_func; }
pel_frame *pel_running_frame(const PyThreadState *thread) { return thread->cframe->current_frame; }

#elif PY_VERSION_HEX < 0x030d0000 /* 3.12 */

static PyObject *code_in(const pel_frame *frame) { return (PyObject *)frame->f_code; }
PyObject *pel_frame_function(const pel_frame *frame) { return frame->f_funcobj; }
pel_frame *pel_running_frame(const PyThreadState *thread) { return thread->cframe->current_frame; }

#elif PY_VERSION_HEX < 0x030e0000 /* 3.13 */

static PyObject *code_in(const pel_frame *frame) { return frame->f_executable; }
PyObject *pel_frame_function(const pel_frame *frame) { return frame->f_funcobj; }
pel_frame *pel_running_frame(const PyThreadState *thread) { return thread->current_frame; }

#else /* 3.14, 3.15: references carry tags */

static PyObject *object_of(_PyStackRef reference) {
    if (PyStackRef_IsNull(reference) || PyStackRef_IsTaggedInt(reference)) return NULL;
    return PyStackRef_AsPyObjectBorrow(reference);
}
static PyObject *code_in(const pel_frame *frame) { return object_of(frame->f_executable); }
PyObject *pel_frame_function(const pel_frame *frame) { return object_of(frame->f_funcobj); }
pel_frame *pel_running_frame(const PyThreadState *thread) { return thread->current_frame; }

#endif

#if PY_VERSION_HEX < 0x030e0000

PyObject *pel_frame_slot(const pel_frame *frame, int i) { return frame->localsplus[i]; }
static PyObject *generator_of(pel_frame *frame) { return (PyObject *)_PyFrame_GetGenerator(frame); }
void pel_frame_refuse(pel_frame *frame, int i) { (void)frame, (void)i; } /* no code of these has shortcuts */

#else

PyObject *pel_frame_slot(const pel_frame *frame, int i) { return object_of(frame->localsplus[i]); }
static PyObject *generator_of(pel_frame *frame) { return (PyObject *)_PyGen_GetGeneratorFromFrame(frame); }
void pel_frame_refuse(pel_frame *frame, int i) { /* both are immortal: nobody counts them */
    if (object_of(frame->localsplus[i]) == Py_True) frame->localsplus[i] = PyStackRef_False;
}

#endif

/* ---- by all ---- */

PyCodeObject *pel_frame_code(const pel_frame *frame) { return (PyCodeObject *)code_in(frame); }

PyObject *pel_frame_generator(pel_frame *frame) {
    return frame->owner == FRAME_OWNED_BY_GENERATOR ? generator_of(frame) : NULL;
}

int pel_code_slot_kind(const PyCodeObject *code, int i) {
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);
    return (kind & CO_FAST_LOCAL ? PEL_SLOT_LOCAL : 0) | (kind & CO_FAST_CELL ? PEL_SLOT_CELL : 0) |
           (kind & CO_FAST_FREE ? PEL_SLOT_FREE : 0);
}

/* ---- the trial ---- */

static struct trial {
    PyObject *function, *code, *generator; /* what is called, and what the call gave */
    PyObject *argument;
    bool saw_call, saw_generator;
    _PyFrameEvalFunction before;
} trial;

static PyObject *evaluate_on_trial(PyThreadState *thread, pel_frame *frame, int throwing) {
    if (code_in(frame) == trial.code && pel_frame_function(frame) == trial.function &&
        pel_running_frame(thread) != frame) { /* it is not linked in yet */
        if (frame->owner == FRAME_OWNED_BY_GENERATOR)
            trial.saw_generator |= pel_frame_generator(frame) == trial.generator;
        else
            trial.saw_call |= pel_frame_slot(frame, 0) == trial.argument;
    }
    return trial.before(thread, frame, throwing);
}

static PyObject *make_trial_function(void) {
    PyObject *names = PyDict_New();
    PyObject *done =
        names ? PyRun_String("def trial(argument):\n    yield argument\n", Py_file_input, names, names) : NULL;
    PyObject *function = done ? Py_XNewRef(PyDict_GetItemString(names, "trial")) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(names);
    return function;
}

int pel_frames_fit(void) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    trial.function = make_trial_function();
    if (!trial.function) return -1;
    trial.code = PyFunction_GET_CODE(trial.function);
    trial.argument = PyUnicode_FromString("argument");
    trial.before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_on_trial);
    trial.generator = trial.argument ? PyObject_CallOneArg(trial.function, trial.argument) : NULL;
    PyObject *item = trial.generator ? PyIter_Next(trial.generator) : NULL;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, trial.before);
    int fits = item ? trial.saw_call && trial.saw_generator : -1;
    Py_XDECREF(item);
    Py_XDECREF(trial.generator);
    Py_XDECREF(trial.argument);
    Py_DECREF(trial.function);
    return fits;
}

#endif
