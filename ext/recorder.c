/* The type Recorder: runs a model and logs the activations of the author's functions.
 *
 * Two hooks of CPython work together. The frame evaluation function (PEP 523) sees every frame begin and end:
 * it opens and closes activations, and says which frames are the author's. Of these each instruction is seen just
 * before it runs (watch.c); what the instruction before it left is on the stack by then.
 * Neither changes what the program does. */
#include "recorder.h"

#include "skeleton.h"

#if PEL_CAN_RECORD

/* ---- errors: the recorder may run out of memory, the model must not notice ---- */

typedef struct job {
    pel_recorder *rec;
    void (*body)(pel_recorder *rec, void *arg);
    void *arg;
} job;

static void do_job(pel_ctx *ctx, void *arg) {
    (void)ctx;
    job *j = arg;
    j->body(j->rec, j->arg);
}

bool pel_record_attempt(pel_recorder *rec, void (*body)(pel_recorder *rec, void *arg), void *arg) {
    job j = { rec, body, arg };
    bool was_busy = rec->busy;
    rec->busy = true;
    bool done = pel_attempt(rec->ctx, do_job, &j, &rec->err);
    rec->busy = was_busy;
    if (!done) {
        rec->failed = true;
        PyErr_Clear();
    }
    return done;
}

void pel_take_error(pel_recorder *rec) {
    if (!PyErr_Occurred()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool is_answer =
        PyErr_GivenExceptionMatches(type, PyExc_Exception) && !PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
    if (!is_answer) {
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback) PyException_SetTraceback(value, traceback);
        Py_XSETREF(rec->interrupt, Py_NewRef(value));
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    if (!is_answer) pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "the recording was interrupted");
}

/* Raises what ended the recording. */
static PyObject *raise_failure(pel_recorder *rec) {
    if (!rec->interrupt) return pel_ext_raise_err(&rec->err, NULL);
    PyErr_SetObject((PyObject *)Py_TYPE(rec->interrupt), rec->interrupt);
    Py_CLEAR(rec->interrupt);
    return NULL;
}

/* ---- records ---- */

static void add_record(pel_recorder *rec, pel_live *live, pel_record_kind kind, uint32_t at, uint32_t value) {
    pel_push(rec->ctx, &live->records,
             (pel_record){ .at = at & 0xfffffff, .kind = (uint32_t)kind & 0xf, .value = value });
}

/* What is that far below the top of the frame's stack as the instruction at `unit` begins; borrowed, NULL possible. */
static PyObject *peek(const pel_frame *frame, const pel_unit *unit, int below) {
    int at = unit->depth - 1 - below;
    return at < 0 ? NULL : pel_frame_slots(frame)[pel_frame_code(frame)->co_nlocalsplus + at];
}

/* The value that an instruction left, now that the next one of its frame, at unit `next`, is about to run. */
static pel_id value_left(pel_recorder *rec, const pel_live *live, const pel_frame *frame, uint32_t next) {
    const pel_unit *left = &live->code->units[live->pending], *now = &live->code->units[next];
    PyObject *top = peek(frame, now, 0);
    switch ((pel_leaves)left->leaves) {
    case PEL_LEAVES_TOP:
    case PEL_LEAVES_YIELD: return pel_record_value(rec, top);
    case PEL_LEAVES_GLOBAL: {
        rec->of_file = true;
        pel_id value = pel_record_value(rec, top);
        rec->of_file = false;
        return value;
    }
    case PEL_LEAVES_NEW: return top ? pel_record_new(rec, top) : 0;
    case PEL_LEAVES_RESULT: /* only the stack holds it: it was made just now */
        return top && Py_REFCNT(top) == 1 ? pel_record_new(rec, top) : pel_record_value(rec, top);
    case PEL_LEAVES_CALLABLE: {
        PyObject *function = peek(frame, now, 1);
        return function && top ? pel_record_method(rec, top, function) : pel_record_value(rec, top ? top : function);
    }
    case PEL_LEAVES_ITEM: return next == live->pending + left->size ? pel_record_value(rec, top) : 0;
    case PEL_LEAVES_COLLECTED: return pel_record_value(rec, top);
    case PEL_LEAVES_NOTHING:
    case PEL_LEAVES_RETURN: return 0;
    }
    return 0;
}

static void on_raise(pel_recorder *rec, pel_live *live, PyObject *exception) {
    if (!live->has_pending) return;
    pel_id class = exception && PyType_Check(exception) ? pel_record_class_value(rec, exception) : 0;
    add_record(rec, live, PEL_R_RAISE, live->at, class);
    live->has_pending = false;
}

static void finish_pending(pel_recorder *rec, pel_live *live, const pel_frame *frame, uint32_t next) {
    if (!live->has_pending) return;
    const pel_unit *left = &live->code->units[live->pending], *now = &live->code->units[next];
    if (!left->is_quiet) rec->moment++;
    if (now->is_handler && !left->raises_again) { /* the exception is what a handler finds on the stack */
        PyObject *exception = peek(frame, now, 0);
        on_raise(rec, live, exception ? (PyObject *)Py_TYPE(exception) : NULL);
        return;
    }
    pel_id value = value_left(rec, live, frame, next);
    add_record(rec, live, value ? PEL_R_PUSH : PEL_R_STEP, live->at, value);
    live->has_pending = false;
}

/* The record of the first of two instructions in one. */
static void add_ahead(pel_recorder *rec, pel_live *live, const pel_frame *frame, const pel_unit *unit) {
    pel_id value = 0;
    switch ((pel_ahead)unit->ahead) {
    case PEL_AHEAD_NOTHING: break;
    case PEL_AHEAD_LOCAL: value = pel_record_value(rec, pel_frame_slots(frame)[unit->local]); break;
    case PEL_AHEAD_SUPER: value = pel_record_instance_of(rec, &PySuper_Type); break;
    case PEL_AHEAD_SLICE: {
        PyObject *start = peek(frame, unit, 1), *stop = peek(frame, unit, 0);
        PyObject *slice = PySlice_New(start, stop, NULL);
        value = pel_record_value(rec, slice);
        Py_XDECREF(slice);
        PyErr_Clear();
        break;
    }
    }
    add_record(rec, live, value ? PEL_R_PUSH : PEL_R_STEP, unit->real, value);
}

typedef struct instruction_event {
    pel_live *live;
    pel_frame *frame;
    uint32_t unit;
} instruction_event;

static void on_instruction(pel_recorder *rec, void *arg) {
    instruction_event *event = arg;
    pel_live *live = event->live;
    if (event->unit >= live->code->n_units) return;
    const pel_unit *unit = &live->code->units[event->unit];
    if (unit->is_silent) return;
    if (live->has_pending && live->pending == unit->real) return; /* its EXTENDED_ARG has announced it */
    finish_pending(rec, live, event->frame, event->unit);
    if (unit->second) add_ahead(rec, live, event->frame, unit);
    live->pending = unit->real;
    live->at = unit->second ? unit->second : unit->real;
    live->has_pending = true;
}

static pel_recorder *running; /* all that run now, one per thread */

static pel_recorder *recorder_of(const PyThreadState *thread) {
    pel_recorder *rec = running;
    while (rec && rec->thread != thread) rec = rec->next_running;
    return rec;
}

static int see_instruction(PyThreadState *thread, pel_frame *frame, uint32_t unit) {
    pel_recorder *rec = recorder_of(thread);
    if (!rec || rec->busy) return 0;
    if (!rec->failed && rec->top && rec->top->frame == frame)
        pel_record_attempt(rec, on_instruction, &(instruction_event){ rec->top, frame, unit });
    if (!rec->interrupt) return 0;
    raise_failure(rec);
    return -1;
}

/* ---- activations ---- */

typedef struct begin_event {
    pel_frame *frame;
    pel_live *live;     /* out; NULL for frames that are not the author's */
    pel_code_role role; /* out */
} begin_event;

static void set_variables(pel_recorder *rec, pel_activation *row, pel_frame *frame, const pel_code_object *code) {
    PyCodeObject *object = pel_frame_code(frame);
    PyObject *const *slots = pel_frame_slots(frame);
    PyObject *closure = PyFunction_GET_CLOSURE(pel_frame_function(frame));
    pel_id *locals = pel_new_array(rec->ctx, code->varnames.n, pel_id);
    pel_id *cells = pel_new_array(rec->ctx, code->cellvars.n + code->freevars.n, pel_id);
    uint32_t n_locals = 0, n_cells = 0, n_free = 0;
    for (int i = 0; i < object->co_nlocalsplus; i++) { /* arguments are not in their cells yet, free variables are */
        int kind = pel_code_slot_kind(object, i);
        pel_id value = 0;
        if (kind & PEL_SLOT_FREE) {
            PyObject *cell = closure && n_free < PyTuple_GET_SIZE(closure) ? PyTuple_GET_ITEM(closure, n_free) : NULL;
            value = cell ? pel_record_value(rec, PyCell_GET(cell)) : 0;
        } else if (slots[i]) {
            value = pel_record_value(rec, slots[i]);
        }
        if (kind & PEL_SLOT_LOCAL && n_locals < code->varnames.n) locals[n_locals++] = value;
        if (kind & PEL_SLOT_CELL && n_cells < code->cellvars.n) cells[n_cells++] = value;
        if (kind & PEL_SLOT_FREE && n_free < code->freevars.n) cells[code->cellvars.n + n_free++] = value;
    }
    row->locals = locals;
    row->cells = cells;
}

/* A module of a class that the user wants to keep as it is. */
static bool is_leaf(const pel_recorder *rec, PyObject *object) {
    if (!object || !rec->leaf_types || !pel_is_module(&rec->torch, object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rec->leaf_types); i++)
        if (PyObject_TypeCheck(object, (PyTypeObject *)PyTuple_GET_ITEM(rec->leaf_types, i))) return true;
    return false;
}

static void begin(pel_recorder *rec, void *arg) {
    begin_event *event = arg;
    rec->moment++;
    pel_frame *frame = event->frame;
    pel_code_info *info = pel_code_info_of(rec, (PyObject *)pel_frame_code(frame));
    event->role = info->role;
    if (info->role != PEL_ROLE_AUTHOR) return;
    PyObject *generator = pel_frame_generator(frame);
    if (generator) { /* resumed: its activation goes on, if it was seen to begin */
        pel_live *live = pel_map_pointer(&rec->generators, PEL_KEY(generator));
        if (live && live->code == info) event->live = live;
        return;
    }
    PyObject *function = pel_frame_function(frame);
    PyObject *const *slots = pel_frame_slots(frame);
    PyObject *first = pel_frame_code(frame)->co_argcount > 0 ? slots[0] : NULL;
    if (is_leaf(rec, first)) {
        event->role = PEL_ROLE_SILENT;
        return;
    }
    pel_activation row = { .run = rec->run, .direct = rec->foreign == 0 };
    row.code = pel_record_code(rec, info, function, first);
    if (pel_watch_code(&rec->watch, info->code) != 0)
        pel_throw(rec->ctx, PEL_E_UNSUPPORTED, 0, "sys.monitoring refuses to watch the model's code");
    row.function = pel_record_value(rec, function);
    set_variables(rec, &row, frame, rec->log->codes.at[row.code].code);
    pel_push(rec->ctx, &rec->log->activations, row);
    pel_live *live = pel_new(rec->ctx, pel_live);
    live->id = rec->log->activations.n - 1;
    live->code = info;
    live->older = rec->live;
    rec->live = live;
    if (rec->top) {
        pel_activation *made = &rec->log->activations.at[live->id];
        made->parent = rec->top->id;
        made->parent_at = rec->top->records.n;
        add_record(rec, rec->top, PEL_R_CHILD, rec->top->at, live->id);
    }
    event->live = live;
}

typedef struct end_event {
    pel_frame *frame; /* gone by then: only to know whether it was a generator's */
    pel_live *live;
    PyObject *result;    /* NULL: it raised */
    PyObject *exception; /* its class then */
    bool was_resumed;
} end_event;

static void end(pel_recorder *rec, void *arg) {
    end_event *event = arg;
    pel_live *live = event->live;
    rec->moment++;
    int flags = ((PyCodeObject *)live->code->code)->co_flags;
    bool is_generator = flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
    if (event->result && is_generator && !event->was_resumed) { /* nothing of it has run yet */
        pel_map_set(rec->ctx, &rec->generators, PEL_KEY(event->result), PEL_KEY(live));
        return;
    }
    bool yields = live->has_pending && live->code->units[live->pending].leaves == PEL_LEAVES_YIELD;
    if (event->result && yields && is_generator) { /* what is sent will be its value */
        add_record(rec, live, PEL_R_YIELD, live->at, pel_record_value(rec, event->result));
        return;
    }
    if (event->result) {
        add_record(rec, live, PEL_R_RETURN, live->at, pel_record_value(rec, event->result));
        live->has_pending = false;
    } else {
        on_raise(rec, live, event->exception);
    }
}

/* ---- the frame evaluation function ---- */

static _PyFrameEvalFunction evaluate_before; /* what ours has replaced */

static PyObject *evaluate_plainly(PyThreadState *thread, pel_frame *frame, int throwing) {
    return evaluate_before ? evaluate_before(thread, frame, throwing)
                           : _PyEval_EvalFrameDefault(thread, frame, throwing);
}

typedef struct plain_call {
    PyThreadState *thread;
    pel_frame *frame;
} plain_call;

static PyObject *run_plain_call(void *arg) {
    plain_call *call = arg;
    return evaluate_plainly(call->thread, call->frame, 0);
}

static PyObject *evaluate_library(pel_recorder *rec, PyThreadState *thread, pel_frame *frame, int throwing) {
    PyObject *const *slots = pel_frame_slots(frame);
    if (throwing || !rec->event_mode || !pel_is_leaf_call(rec, pel_frame_code(frame), slots[0]))
        return evaluate_plainly(thread, frame, throwing);
    return pel_run_leaf(rec, slots, run_plain_call, &(plain_call){ thread, frame });
}

static PyObject *evaluate_foreign(pel_recorder *rec, PyThreadState *thread, pel_frame *frame, int throwing,
                                  pel_code_role role) {
    int entered = pel_watch_enter(thread, false);
    rec->foreign++;
    rec->silent += role == PEL_ROLE_SILENT;
    PyObject *result = evaluate_library(rec, thread, frame, throwing);
    rec->silent -= role == PEL_ROLE_SILENT;
    rec->foreign--;
    pel_watch_leave(thread, entered);
    return result;
}

static PyObject *evaluate_author(pel_recorder *rec, PyThreadState *thread, pel_frame *frame, int throwing,
                                 pel_live *live) {
    pel_live *caller = rec->top;
    uint32_t foreign = rec->foreign;
    bool was_resumed = pel_frame_generator(frame) != NULL;
    rec->top = live;
    rec->foreign = 0;
    live->frame = frame;
    int entered = pel_watch_enter(thread, true);
    PyObject *result = evaluate_plainly(thread, frame, throwing);
    pel_watch_leave(thread, entered);
    live->frame = NULL;
    if (rec->thread && !rec->failed) {
        PyObject *type = NULL, *value = NULL, *traceback = NULL;
        if (!result) PyErr_Fetch(&type, &value, &traceback);
        pel_record_attempt(
            rec, end, &(end_event){ .live = live, .result = result, .exception = type, .was_resumed = was_resumed });
        if (!result) PyErr_Restore(type, value, traceback);
    }
    rec->top = caller;
    rec->foreign = foreign;
    return result;
}

static PyObject *evaluate(PyThreadState *thread, pel_frame *frame, int throwing) {
    pel_recorder *rec = recorder_of(thread);
    if (!rec || rec->busy || rec->silent || rec->failed) return evaluate_plainly(thread, frame, throwing);
    if (thread->tracing) return evaluate_plainly(thread, frame, throwing); /* somebody's trace function, or monitor */
    uint64_t known = pel_map_find(&rec->codes, PEL_KEY(pel_frame_code(frame)), 0);
    const pel_code_info *info = (const pel_code_info *)(uintptr_t)known;
    if (info && info->role != PEL_ROLE_AUTHOR) return evaluate_foreign(rec, thread, frame, throwing, info->role);
    begin_event event = { .frame = frame };
    PyObject *type, *value, *traceback; /* set if the frame is resumed by throw() */
    if (throwing) PyErr_Fetch(&type, &value, &traceback);
    pel_record_attempt(rec, begin, &event);
    if (throwing) PyErr_Restore(type, value, traceback);
    if (!event.live) return evaluate_foreign(rec, thread, frame, throwing, event.role);
    Py_INCREF(rec); /* the model may drop the last reference while it runs */
    PyObject *result = evaluate_author(rec, thread, frame, throwing, event.live);
    Py_DECREF(rec);
    return result;
}

/* ---- a run ---- */

static int install(pel_recorder *rec) {
    PyThreadState *thread = PyThreadState_Get();
    if (thread->tracing) {
        PyErr_SetString(PyExc_RuntimeError, "a trace function is at work (a debugger's prompt?): what it runs itself "
                                            "can't be recorded");
        return -1;
    }
    if (pel_watch_start(&rec->watch, (PyObject *)rec, see_instruction) != 0) return -1;
    if (!running) {
        _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(thread->interp);
        if (current != evaluate) {
            evaluate_before = current == _PyEval_EvalFrameDefault ? NULL : current;
            _PyInterpreterState_SetEvalFrameFunc(thread->interp, evaluate);
        }
    }
    rec->thread = thread;
    rec->next_running = running;
    running = rec;
    return 0;
}

static void uninstall(pel_recorder *rec) {
    PyThreadState *thread = PyThreadState_Get();
    pel_watch_stop(&rec->watch);
    for (pel_recorder **at = &running; *at; at = &(*at)->next_running) {
        if (*at != rec) continue;
        *at = rec->next_running;
        break;
    }
    rec->thread = NULL;
    if (!running && _PyInterpreterState_GetEvalFrameFunc(thread->interp) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(thread->interp,
                                             evaluate_before ? evaluate_before : _PyEval_EvalFrameDefault);
}

/* Whether the log is nobody else's at the moment; raises if not. */
static bool is_free(const pel_recorder *rec) {
    if (!rec->thread && !rec->is_writing) return true;
    PyErr_SetString(PyExc_RuntimeError, rec->thread ? "the recorder is running" : "the recorder is writing a skeleton");
    return false;
}

typedef struct run_event {
    PyObject *label, *args, *kwargs, *result;
} run_event;

static void begin_run(pel_recorder *rec, void *arg) {
    run_event *event = arg;
    rec->moment++;
    pel_log_run row = { .label = pel_ext_text(rec->ctx, event->label), .grad_enabled = pel_grad_enabled(&rec->torch) };
    if (pel_is_module(&rec->torch, rec->root)) {
        if (!rec->log->root) pel_record_tree(rec, rec->root);
        row.root = rec->log->root;
        PyObject *dict = PyObject_GenericGetDict(rec->root, NULL);
        row.training = dict && PyDict_GetItemString(dict, "training") == Py_True;
        Py_XDECREF(dict);
    }
    row.n_args = (uint32_t)PyTuple_GET_SIZE(event->args);
    row.args = pel_new_array(rec->ctx, row.n_args, pel_id);
    for (uint32_t i = 0; i < row.n_args; i++) row.args[i] = pel_record_value(rec, PyTuple_GET_ITEM(event->args, i));
    row.kwargs = pel_new_array(rec->ctx, event->kwargs ? (size_t)PyDict_GET_SIZE(event->kwargs) : 0, pel_log_attribute);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (event->kwargs && PyDict_Next(event->kwargs, &at, &key, &value))
        row.kwargs[row.n_kwargs++] = (pel_log_attribute){ pel_ext_name(rec->ctx, key), pel_record_value(rec, value) };
    pel_push(rec->ctx, &rec->log->runs, row);
    rec->run = rec->log->runs.n - 1;
}

/* Of the activations that nobody recorded called, the one that is the root's forward. */
static pel_id forward_of_run(pel_recorder *rec) {
    const pel_log *log = rec->log;
    PyObject *name = PyUnicode_FromString("forward");
    PyObject *function = name ? _PyType_Lookup(Py_TYPE(rec->root), name) : NULL; /* borrowed */
    Py_XDECREF(name);
    PyErr_Clear();
    if (PyFunction_Check(rec->root)) function = rec->root;
    pel_id code =
        function && PyFunction_Check(function) ? pel_code_info_of(rec, PyFunction_GET_CODE(function))->row : 0;
    pel_id first = 0;
    for (const pel_live *live = rec->live; live; live = live->older) {
        const pel_activation *row = &log->activations.at[live->id];
        if (row->parent) continue;
        if (code && row->code == code) return live->id;
        bool on_root = log->codes.at[row->code].code->varnames.n && row->locals[0] &&
                       pel_value_at(log, row->locals[0])->kind == PEL_V_MODULE &&
                       pel_value_at(log, row->locals[0])->module == log->root;
        if (on_root || !log->root) first = live->id;
    }
    return first;
}

static void end_run(pel_recorder *rec, void *arg) {
    run_event *event = arg;
    rec->moment++;
    for (pel_live *live = rec->live; live; live = live->older) {
        pel_activation *row = &rec->log->activations.at[live->id];
        row->records = live->records.at;
        row->n_records = live->records.n;
    }
    pel_log_run *row = &rec->log->runs.at[rec->run];
    row->activation = forward_of_run(rec);
    row->result = event->result ? pel_record_value(rec, event->result) : 0;
    rec->live = rec->top = NULL;
    rec->generators = (pel_map){ .slots = NULL };
    for (uint32_t i = 0; i < rec->constants.n; i++) pel_describe_tensor(rec, rec->constants.at[i]);
    rec->constants.n = 0;
}

PyDoc_STRVAR(run_doc, "run(label, args=(), kwargs={})\n--\n\n"
                      "Calls the model with these arguments, records what happens, and returns what it returns.\n"
                      "Exceptions of the model come out as they are.");

static PyObject *recorder_run(pel_recorder *rec, PyObject *arguments, PyObject *keywords) {
    static char *names[] = { "label", "args", "kwargs", NULL };
    PyObject *given = NULL, *kwargs = NULL;
    run_event event = { .label = NULL };
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|OO!:run", names, &event.label, &given, &PyDict_Type,
                                     &kwargs))
        return NULL;
    for (pel_recorder *other = running; other; other = other->next_running)
        if (other->thread == PyThreadState_Get()) {
            PyErr_SetString(PyExc_RuntimeError, "a recorder is running in this thread already");
            return NULL;
        }
    if (!is_free(rec)) return NULL;
    if (rec->failed) return raise_failure(rec);
    event.args = given ? PySequence_Tuple(given) : PyTuple_New(0);
    if (!event.args) return NULL;
    event.kwargs = kwargs;
    PyObject *result = NULL;
    if (pel_record_attempt(rec, begin_run, &event)) {
        bool installed = install(rec) == 0;
        if (installed && pel_events_on(rec)) result = PyObject_Call(rec->root, event.args, event.kwargs);
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        pel_events_off(rec);
        if (installed) uninstall(rec);
        event.result = result;
        if (!rec->failed) pel_record_attempt(rec, end_run, &event);
        PyErr_Restore(type, value, traceback);
        if (rec->failed) Py_CLEAR(result);
    }
    Py_DECREF(event.args);
    if (rec->interrupt) PyErr_Clear(); /* an exception of the model came first: it would hide the interrupt */
    if (rec->failed && !PyErr_Occurred()) return raise_failure(rec);
    return result;
}

/* ---- what becomes of the log ---- */

typedef struct text_job {
    pel_recorder *rec;
    pel_buf out;
} text_job;

static void write_log(pel_ctx *ctx, void *arg) {
    text_job *j = arg;
    pel_log_check(ctx, j->rec->log);
    pel_log_write(ctx, j->rec->log, &j->out);
}

static void dump_log(pel_ctx *ctx, void *arg) {
    text_job *j = arg;
    pel_log_dump(ctx, j->rec->log, &j->out);
}

static PyObject *text_of_log(pel_recorder *rec, void (*body)(pel_ctx *ctx, void *arg), bool is_text) {
    if (!is_free(rec)) return NULL;
    pel_ctx *scratch = pel_ext_open(); /* the log's own memory stays as small as it is */
    if (!scratch) return NULL;
    text_job j = { .rec = rec, .out = pel_buf_in(scratch) };
    pel_err err;
    PyObject *result = NULL;
    if (pel_attempt(scratch, body, &j, &err)) {
        pel_str s = pel_buf_str(&j.out);
        result = is_text ? PyUnicode_DecodeUTF8(s.ptr, (Py_ssize_t)s.len, "surrogatepass")
                         : PyBytes_FromStringAndSize(s.ptr, (Py_ssize_t)s.len);
    } else {
        pel_ext_raise_err(&err, NULL);
    }
    pellucid_close(scratch);
    return result;
}

PyDoc_STRVAR(log_bytes_doc, "log_bytes()\n--\n\nThe log as a trace file.");
static PyObject *recorder_log_bytes(pel_recorder *rec, PyObject *ignored) {
    (void)ignored;
    return text_of_log(rec, write_log, false);
}

PyDoc_STRVAR(dump_doc, "dump()\n--\n\nThe log as text, for people.");
static PyObject *recorder_dump(pel_recorder *rec, PyObject *ignored) {
    (void)ignored;
    return text_of_log(rec, dump_log, true);
}

typedef struct synthesis {
    const pel_log *log;
    pel_skeleton made;
} synthesis;

static void synthesise(pel_ctx *ctx, void *arg) {
    synthesis *s = arg;
    pel_log_check(ctx, s->log);
    pel_synthesise(ctx, s->log, &s->made);
}

PyDoc_STRVAR(synthesise_doc, "synthesise()\n--\n\n"
                             "The skeleton of what was recorded: (source, name of the root class, report).");

static PyObject *recorder_synthesise(pel_recorder *rec, PyObject *ignored) {
    (void)ignored;
    if (!is_free(rec)) return NULL;
    synthesis work = { .log = rec->log };
    pel_err err;
    bool done;
    rec->is_writing = true; /* the log's names are its ctx's, so the work is done there */
    Py_BEGIN_ALLOW_THREADS done = pel_attempt(rec->ctx, synthesise, &work, &err);
    Py_END_ALLOW_THREADS rec->is_writing = false;
    return done ? pel_ext_skeleton(&work.made) : pel_ext_raise_err(&err, NULL);
}

/* ---- the type ---- */

static void open_log(pel_recorder *rec, void *arg) {
    (void)arg;
    rec->log = pel_log_new(rec->ctx);
    PyObject *versions = rec->helpers ? PyObject_CallMethod(rec->helpers, "versions", NULL) : NULL;
    if (versions && PyUnicode_Check(versions)) rec->log->versions = pel_ext_text(rec->ctx, versions);
    Py_XDECREF(versions);
    pel_take_error(rec);
    pel_push(rec->ctx, &rec->next_same_hash, 0);
}

static PyObject *recorder_get_origin(pel_recorder *rec, void *closure) {
    (void)closure;
    pel_str s = rec->log->origin;
    return PyUnicode_DecodeUTF8(s.ptr ? s.ptr : "", (Py_ssize_t)s.len, "surrogatepass");
}

static void set_origin(pel_recorder *rec, void *arg) { rec->log->origin = pel_ext_text(rec->ctx, arg); }

static int recorder_set_origin(pel_recorder *rec, PyObject *value, void *closure) {
    (void)closure;
    if (!value || !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "origin must be a str");
        return -1;
    }
    if (!is_free(rec)) return -1;
    if (pel_record_attempt(rec, set_origin, value)) return 0;
    raise_failure(rec);
    return -1;
}

static PyObject *tuple_of_types(PyObject *sequence) {
    PyObject *tuple = PySequence_Tuple(sequence);
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); i++)
        if (!PyType_Check(PyTuple_GET_ITEM(tuple, i))) {
            PyErr_Format(PyExc_TypeError, "leaves are classes, %R is none", PyTuple_GET_ITEM(tuple, i));
            Py_CLEAR(tuple);
        }
    return tuple;
}

static bool misfit; /* the frames of the interpreter are not what we were built for */

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (misfit)
        return PyErr_Format(PyExc_NotImplementedError,
                            "pellucid was built for the frames of Python " PY_VERSION
                            ", those of this one are laid out "
                            "differently: %s. Build it again with this Python",
                            Py_GetVersion());
    static char *names[] = { "model", "author_roots", "leaves", "origin", "events", NULL };
    PyObject *model, *roots = NULL, *leaves = NULL, *origin = NULL;
    int events = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O$OUp:Recorder", names, &model, &roots, &leaves, &origin,
                                     &events))
        return NULL;
    if (!PyCallable_Check(model)) return PyErr_Format(PyExc_TypeError, "a model can be called, %R can't", model);
    pel_recorder *rec = (pel_recorder *)type->tp_alloc(type, 0);
    if (!rec) return NULL;
    rec->root = Py_NewRef(model);
    rec->wants_events = events;
    if (roots && roots != Py_None && !(rec->author_roots = PySequence_Tuple(roots))) goto failed;
    if (leaves && leaves != Py_None && !(rec->leaf_types = tuple_of_types(leaves))) goto failed;
    if (pel_torch_find(&rec->torch) != 0) goto failed;
    rec->helpers = PyImport_ImportModule("pellucid._library");
    rec->kept_list = PyList_New(0);
    rec->caches = PyList_New(0);
    rec->odd_constants = PyList_New(0);
    if (!rec->helpers || !rec->kept_list || !rec->caches || !rec->odd_constants || !(rec->ctx = pel_ext_open()))
        goto failed;
    if (rec->torch.present) {
        rec->leaves = PyImport_ImportModule("pellucid._leaves");
        rec->formulas = rec->leaves ? PyImport_ImportModule("pellucid._formula") : NULL;
        if (!rec->formulas) goto failed;
    }
    rec->opened = rec->leaves ? PyObject_CallMethod(rec->leaves, "opened", "OO", model,
                                                    rec->leaf_types ? rec->leaf_types : Py_None)
                              : PyFrozenSet_New(NULL);
    if (!rec->opened) goto failed;
    if (!pel_record_attempt(rec, open_log, NULL)) {
        raise_failure(rec);
        goto failed;
    }
    if (origin && recorder_set_origin(rec, origin, NULL) != 0) goto failed;
    return (PyObject *)rec;
failed:
    Py_DECREF(rec);
    return NULL;
}

static int recorder_traverse(pel_recorder *rec, visitproc visit, void *arg) {
    Py_VISIT(rec->root);
    Py_VISIT(rec->author_roots);
    Py_VISIT(rec->leaf_types);
    Py_VISIT(rec->opened);
    Py_VISIT(rec->helpers);
    Py_VISIT(rec->leaves);
    Py_VISIT(rec->formulas);
    Py_VISIT(rec->caches);
    Py_VISIT(rec->kept_list);
    Py_VISIT(rec->odd_constants);
    Py_VISIT(rec->interrupt);
    int stop = pel_torch_visit(&rec->torch, visit, arg);
    return stop ? stop : pel_visit_seen(rec, visit, arg);
}

static int recorder_clear(pel_recorder *rec) {
    Py_CLEAR(rec->root);
    Py_CLEAR(rec->author_roots);
    Py_CLEAR(rec->leaf_types);
    Py_CLEAR(rec->opened);
    Py_CLEAR(rec->helpers);
    Py_CLEAR(rec->leaves);
    Py_CLEAR(rec->formulas);
    Py_CLEAR(rec->caches);
    Py_CLEAR(rec->kept_list);
    Py_CLEAR(rec->odd_constants);
    Py_CLEAR(rec->interrupt);
    pel_forget_all(rec);
    pel_torch_release(&rec->torch);
    return 0;
}

static void recorder_dealloc(pel_recorder *rec) {
    PyObject_GC_UnTrack(rec);
    recorder_clear(rec);
    if (rec->ctx) pellucid_close(rec->ctx);
    Py_TYPE(rec)->tp_free((PyObject *)rec);
}

PyDoc_STRVAR(event_names_doc,
             "event_names()\n--\n\n"
             "The calls of torch's functions and modules in their order, if the recorder was made with\n"
             "events=True.");

static PyObject *recorder_event_names(pel_recorder *rec, PyObject *ignored) {
    (void)ignored;
    return is_free(rec) ? pel_event_names(rec->log) : NULL;
}

PyDoc_STRVAR(caches_doc, "caches()\n--\n\n"
                         "The functions behind functools.lru_cache that were seen: what they answered before was not\n"
                         "computed in a run.");

static PyObject *recorder_caches(pel_recorder *rec, PyObject *ignored) {
    (void)ignored;
    return PyList_AsTuple(rec->caches);
}

static PyMethodDef recorder_methods[] = {
    { "run", (PyCFunction)(void (*)(void))recorder_run, METH_VARARGS | METH_KEYWORDS, run_doc },
    { "log_bytes", (PyCFunction)(void (*)(void))recorder_log_bytes, METH_NOARGS, log_bytes_doc },
    { "synthesise", (PyCFunction)(void (*)(void))recorder_synthesise, METH_NOARGS, synthesise_doc },
    { "event_names", (PyCFunction)(void (*)(void))recorder_event_names, METH_NOARGS, event_names_doc },
    { "caches", (PyCFunction)(void (*)(void))recorder_caches, METH_NOARGS, caches_doc },
    { "dump", (PyCFunction)(void (*)(void))recorder_dump, METH_NOARGS, dump_doc },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef recorder_properties[] = {
    { "origin", (getter)recorder_get_origin, (setter)recorder_set_origin, "How the user named the model.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(recorder_doc,
             "Recorder(model, author_roots=None, *, leaves=(), origin='', events=False)\n--\n\n"
             "Records calls of a model: what every function of its author did. With author_roots only\n"
             "code below these folders is the author's; else all that is not torch's, numpy's or the\n"
             "standard library's. Modules of leaf classes are not looked into. With events=True the calls of\n"
             "torch's functions are recorded too.");

static PyTypeObject recorder_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pellucid._pellucid.Recorder",
    .tp_doc = recorder_doc,
    .tp_basicsize = sizeof(pel_recorder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = recorder_new,
    .tp_dealloc = (destructor)recorder_dealloc,
    .tp_traverse = (traverseproc)recorder_traverse,
    .tp_clear = (inquiry)recorder_clear,
    .tp_methods = recorder_methods,
    .tp_getset = recorder_properties,
};

#else /* !PEL_CAN_RECORD */

static PyObject *recorder_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type, (void)args, (void)keywords;
    return PyErr_Format(PyExc_NotImplementedError, "recording works in CPython 3.11 to 3.13 with a GIL; this is %s",
                        Py_GetVersion());
}

static PyTypeObject recorder_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pellucid._pellucid.Recorder",
    .tp_doc = "Recorder(model)\n--\n\nNot supported in this Python.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = recorder_new,
};

#endif

/* ---- trace files ---- */

typedef struct trace_job {
    pel_str bytes;
    pel_buf out;
} trace_job;

static void dump_trace_file(pel_ctx *ctx, void *arg) {
    trace_job *j = arg;
    pel_log_dump(ctx, pel_log_read(ctx, j->bytes), &j->out);
}

PyDoc_STRVAR(dump_trace_doc, "dump_trace(data)\n--\n\nThe text of a trace file's log, for people.");

static PyObject *dump_trace(PyObject *module, PyObject *argument) {
    (void)module;
    Py_buffer buffer;
    if (PyObject_GetBuffer(argument, &buffer, PyBUF_SIMPLE) != 0) return NULL;
    pel_ctx *ctx = pel_ext_open();
    PyObject *result = NULL;
    if (ctx) {
        trace_job j = { .bytes = { buffer.buf, (size_t)buffer.len }, .out = pel_buf_in(ctx) };
        pel_err err;
        bool done;
        Py_BEGIN_ALLOW_THREADS done = pel_attempt(ctx, dump_trace_file, &j, &err);
        Py_END_ALLOW_THREADS pel_str s = pel_buf_str(&j.out);
        result = done ? PyUnicode_DecodeUTF8(s.ptr, (Py_ssize_t)s.len, "surrogatepass") : pel_ext_raise_err(&err, NULL);
        pellucid_close(ctx);
    }
    PyBuffer_Release(&buffer);
    return result;
}

PyMethodDef pel_ext_trace_methods[] = {
    { "dump_trace", dump_trace, METH_O, dump_trace_doc },
    { NULL, NULL, 0, NULL },
};

int pel_ext_add_recorder(PyObject *module) {
#if PEL_CAN_RECORD
    int fits = pel_frames_fit();
    if (fits < 0) return -1;
    if (!fits) misfit = true;
#endif
    return PyModule_AddType(module, &recorder_type);
}
