/* 3.11 by a trace function, since 3.12 by sys.monitoring. */
#include "watch.h"

#if PEL_CAN_RECORD

static pel_on_instruction *see_instruction; /* the same for all */

#if PY_VERSION_HEX < 0x030c0000

/* ---- a trace function, switched on for single frames ---- */

#include "cpython_inside.h"

static int on_trace(PyObject *recorder, PyFrameObject *object, int what, PyObject *arg) {
    (void)recorder, (void)arg;
    pel_frame *frame = object->f_frame;
    if (what == PyTrace_OPCODE) {
        uint32_t unit = (uint32_t)(frame->prev_instr - _PyCode_CODE(frame->f_code));
        return see_instruction(PyThreadState_Get(), frame, unit);
    }
    if (what == PyTrace_CALL) {
        object->f_trace_lines = 0;
        object->f_trace_opcodes = 1;
    }
    return 0;
}

/* Whether the frame that runs now gets events. Frames that it calls start as it is. Returns how it was. */
static int set_tracing(PyThreadState *thread, bool on) {
    int was = thread->cframe->use_tracing;
    thread->cframe->use_tracing = on ? 255 : 0;
    return was;
}

int pel_watch_start(pel_watch *watch, PyObject *recorder, pel_on_instruction *see) {
    PyThreadState *thread = PyThreadState_Get();
    see_instruction = see;
    watch->trace_before = thread->c_tracefunc;
    watch->trace_object_before = Py_XNewRef(thread->c_traceobj);
    PyEval_SetTrace(on_trace, recorder);
    set_tracing(thread, thread->c_profilefunc != NULL);
    return 0;
}

void pel_watch_stop(pel_watch *watch) {
    PyEval_SetTrace(watch->trace_before, watch->trace_object_before);
    Py_CLEAR(watch->trace_object_before);
}

int pel_watch_code(pel_watch *watch, PyObject *code) {
    (void)watch, (void)code;
    return 0;
}

int pel_watch_enter(PyThreadState *thread, bool watched) {
    return set_tracing(thread, watched || thread->c_profilefunc != NULL);
}

void pel_watch_leave(PyThreadState *thread, int entered) { thread->cframe->use_tracing = (uint8_t)entered; }

#else

/* ---- sys.monitoring: code objects are instrumented for every thread that runs them ---- */

static pel_watch *watches; /* all that are on, one per thread */
static struct {
    PyObject *monitoring; /* sys.monitoring */
    PyObject *id;         /* of the tool that we are while anything is watched */
    PyObject *instruction;
    PyObject *nothing;
} tool;

static PyObject *on_instruction(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    PyThreadState *thread = PyThreadState_Get();
    long offset = n == 2 ? PyLong_AsLong(args[1]) : -1;
    if (offset >= 0 && see_instruction(thread, pel_running_frame(thread), (uint32_t)(offset / 2)) != 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef on_instruction_method = { "pellucid", (PyCFunction)(void (*)(void))on_instruction, METH_FASTCALL,
                                             NULL };

/* The tool that has an id, for people. */
static void name_tools(char *text, size_t size) {
    size_t len = 0;
    for (int id = 0; id < 6 && len < size; id++) {
        PyObject *name = PyObject_CallMethod(tool.monitoring, "get_tool", "i", id);
        const char *of = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        int more = snprintf(text + len, size - len, "%s%s", id ? ", " : "", of ? of : "?");
        len += more > 0 ? (size_t)more : 0;
        Py_XDECREF(name);
        PyErr_Clear();
    }
}

/* One of the six ids that sys.monitoring has. Those with a meaning (debugger, coverage, profiler) come last. */
static int take_id(void) {
    static const int ids[] = { 4, 3, 5, 2, 1, 0 };
    for (size_t i = 0; i < PEL_COUNT(ids); i++) {
        PyObject *taken = PyObject_CallMethod(tool.monitoring, "use_tool_id", "is", ids[i], "pellucid");
        if (!taken && !PyErr_ExceptionMatches(PyExc_ValueError)) return -1; /* it says so of an id that is in use */
        PyErr_Clear();
        if (!taken) continue;
        Py_DECREF(taken);
        tool.id = PyLong_FromLong(ids[i]);
        return tool.id ? 0 : -1;
    }
    char names[200];
    name_tools(names, sizeof names);
    PyErr_Format(PyExc_RuntimeError, "sys.monitoring has no room for the recorder: %s use it already", names);
    return -1;
}

static int call(const char *method, PyObject *a, PyObject *b) {
    PyObject *done = PyObject_CallMethod(tool.monitoring, method, "OOO", tool.id, a, b);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int hear_instructions(void) {
    PyObject *function = PyCFunction_New(&on_instruction_method, NULL);
    int result = function ? call("register_callback", tool.instruction, function) : -1;
    Py_XDECREF(function);
    return result;
}

static int open_tool(void) {
    if (!tool.monitoring) {
        PyObject *monitoring = Py_XNewRef(PySys_GetObject("monitoring")); /* borrowed */
        PyObject *events = monitoring ? PyObject_GetAttrString(monitoring, "events") : NULL;
        tool.instruction = events ? PyObject_GetAttrString(events, "INSTRUCTION") : NULL;
        tool.nothing = PyLong_FromLong(0);
        Py_XDECREF(events);
        if (!tool.instruction || !tool.nothing) {
            Py_XDECREF(monitoring);
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "this Python has no sys.monitoring");
            return -1;
        }
        tool.monitoring = monitoring;
    }
    return take_id();
}

static void close_tool(void) {
    if (!tool.id) return;
    call("register_callback", tool.instruction, Py_None);
    PyErr_Clear();
    PyObject *done = PyObject_CallMethod(tool.monitoring, "free_tool_id", "O", tool.id);
    PyErr_Clear();
    Py_XDECREF(done);
    Py_CLEAR(tool.id);
}

int pel_watch_start(pel_watch *watch, PyObject *recorder, pel_on_instruction *see) {
    (void)recorder;
    see_instruction = see;
    watch->codes = PyDict_New();
    if (!watch->codes) return -1;
    if (!watches && (open_tool() != 0 || hear_instructions() != 0)) {
        PyObject *raised = PyErr_GetRaisedException();
        close_tool();
        PyErr_SetRaisedException(raised);
        Py_CLEAR(watch->codes);
        return -1;
    }
    watch->next = watches;
    watches = watch;
    return 0;
}

static bool is_watched_by_another(const pel_watch *than, PyObject *address) {
    for (const pel_watch *watch = watches; watch; watch = watch->next)
        if (watch != than && PyDict_Contains(watch->codes, address) == 1) return true;
    return false;
}

void pel_watch_stop(pel_watch *watch) {
    PyObject *raised = PyErr_GetRaisedException(), *address, *code;
    Py_ssize_t at = 0;
    while (PyDict_Next(watch->codes, &at, &address, &code)) {
        if (is_watched_by_another(watch, address)) continue;
        call("set_local_events", code, tool.nothing);
        PyErr_Clear();
    }
    for (pel_watch **link = &watches; *link; link = &(*link)->next)
        if (*link == watch) {
            *link = watch->next;
            break;
        }
    if (!watches) close_tool();
    Py_CLEAR(watch->codes);
    PyErr_SetRaisedException(raised);
}

/* The address identifies a code object: two that are equal are still two. */
int pel_watch_code(pel_watch *watch, PyObject *code) {
    PyObject *address = PyLong_FromVoidPtr(code);
    int known = address ? PyDict_Contains(watch->codes, address) : -1;
    int result = known < 0 ? -1 : 0;
    if (known == 0) {
        result = call("set_local_events", code, tool.instruction);
        if (result == 0) result = PyDict_SetItem(watch->codes, address, code);
    }
    Py_XDECREF(address);
    return result;
}

int pel_watch_enter(PyThreadState *thread, bool watched) {
    (void)thread, (void)watched;
    return 0;
}

void pel_watch_leave(PyThreadState *thread, int entered) { (void)thread, (void)entered; }

#endif

#endif
