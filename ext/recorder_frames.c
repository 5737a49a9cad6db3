/* Activations of the author's functions, and what their instructions leave.
 *
 * Two hooks of CPython work together. The frame evaluation function (PEP 523) sees every frame begin and end:
 * it opens and closes activations, and says which frames are the author's. Of these each instruction is seen just
 * before it runs (watch.c); what the instruction before it left is on the stack by then.
 * Neither changes what the program computes. Where the compiler left two ways to do a call (units.h, offers_shortcut),
 * the one that makes the call is taken. */
#include "recorder.h"

#if PEL_CAN_RECORD

/* ---- records ---- */

static void add_record(pel_recorder *rec, pel_live *live, pel_record_kind kind, uint32_t at, uint32_t value) {
    pel_push(rec->ctx, &live->records,
             (pel_record){ .at = at & 0xfffffff, .kind = (uint32_t)kind & 0xf, .value = value });
}

/* What is that far below the top of the frame's stack as the instruction at `unit` begins; borrowed, NULL possible. */
static PyObject *peek(const pel_frame *frame, const pel_unit *unit, int below) {
    int at = unit->depth - 1 - below;
    return at < 0 ? NULL : pel_frame_slot(frame, pel_frame_code(frame)->co_nlocalsplus + at);
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
    case PEL_LEAVES_COLLECTED: return pel_record_value(rec, peek(frame, now, now->drops_iterator));
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
    case PEL_AHEAD_LOCAL: value = pel_record_value(rec, pel_frame_slot(frame, (int)unit->local)); break;
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
    if (unit->offers_shortcut && unit->depth > 0)
        pel_frame_refuse(event->frame, pel_frame_code(event->frame)->co_nlocalsplus + unit->depth - 1);
    if (unit->is_silent) return;
    if (live->has_pending && live->pending == unit->real) return; /* its EXTENDED_ARG has announced it */
    finish_pending(rec, live, event->frame, event->unit);
    if (unit->second) add_ahead(rec, live, event->frame, unit);
    live->pending = unit->real;
    live->at = unit->second ? unit->second : unit->real;
    live->has_pending = true;
}

static pel_recorder *running; /* all that run now, one per thread */

pel_recorder *pel_recorder_of(const PyThreadState *thread) {
    pel_recorder *rec = running;
    while (rec && rec->thread != thread) rec = rec->next_running;
    return rec;
}

static int see_instruction(PyThreadState *thread, pel_frame *frame, uint32_t unit) {
    pel_recorder *rec = pel_recorder_of(thread);
    if (!rec || rec->busy) return 0;
    if (!rec->failed && rec->top && rec->top->frame == frame)
        pel_record_attempt(rec, on_instruction, &(instruction_event){ rec->top, frame, unit });
    if (!rec->interrupt) return 0;
    pel_raise_failure(rec);
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
        } else if (pel_frame_slot(frame, i)) {
            value = pel_record_value(rec, pel_frame_slot(frame, i));
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
    PyObject *first = pel_frame_code(frame)->co_argcount > 0 ? pel_frame_slot(frame, 0) : NULL;
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
    if (throwing || !rec->event_mode || !pel_is_leaf_call(rec, pel_frame_code(frame), pel_frame_slot(frame, 0)))
        return evaluate_plainly(thread, frame, throwing);
    PyObject *slots[] = { pel_frame_slot(frame, 0), pel_frame_slot(frame, 1), pel_frame_slot(frame, 2) };
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
    pel_recorder *rec = pel_recorder_of(thread);
    if (!rec || rec->busy || rec->silent || rec->failed) return evaluate_plainly(thread, frame, throwing);
    if (thread->tracing) return evaluate_plainly(thread, frame, throwing); /* somebody's trace function, or monitor */
    const pel_code_info *info = pel_map_pointer(&rec->codes, PEL_KEY(pel_frame_code(frame)));
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

/* ---- both hooks ---- */

int pel_see_frames(pel_recorder *rec) {
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

void pel_look_away(pel_recorder *rec) {
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

#endif
