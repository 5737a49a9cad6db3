/* The type Recorder: runs a model, and gives what was recorded. */
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

PyObject *pel_raise_failure(pel_recorder *rec) {
    if (!rec->interrupt) return pel_ext_raise_err(&rec->err, NULL);
    PyErr_SetObject((PyObject *)Py_TYPE(rec->interrupt), rec->interrupt);
    Py_CLEAR(rec->interrupt);
    return NULL;
}

/* ---- a run ---- */

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
    if (pel_recorder_of(PyThreadState_Get())) {
        PyErr_SetString(PyExc_RuntimeError, "a recorder is running in this thread already");
        return NULL;
    }
    if (!is_free(rec)) return NULL;
    if (rec->failed) return pel_raise_failure(rec);
    event.args = given ? PySequence_Tuple(given) : PyTuple_New(0);
    if (!event.args) return NULL;
    event.kwargs = kwargs;
    PyObject *result = NULL;
    if (pel_record_attempt(rec, begin_run, &event)) {
        bool installed = pel_see_frames(rec) == 0;
        if (installed && pel_events_on(rec)) result = PyObject_Call(rec->root, event.args, event.kwargs);
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        pel_events_off(rec);
        if (installed) pel_look_away(rec);
        event.result = result;
        if (!rec->failed) pel_record_attempt(rec, end_run, &event);
        PyErr_Restore(type, value, traceback);
        if (rec->failed) Py_CLEAR(result);
    }
    Py_DECREF(event.args);
    if (rec->interrupt) PyErr_Clear(); /* an exception of the model came first: it would hide the interrupt */
    if (rec->failed && !PyErr_Occurred()) return pel_raise_failure(rec);
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
    pel_raise_failure(rec);
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

/* What is written in Python, and the lists that it fills. */
static bool find_helpers(pel_recorder *rec, PyObject *model) {
    rec->helpers = PyImport_ImportModule("pellucid._library");
    rec->kept_list = PyList_New(0);
    rec->caches = PyList_New(0);
    rec->odd_constants = PyList_New(0);
    if (!rec->helpers || !rec->kept_list || !rec->caches || !rec->odd_constants) return false;
    if (rec->torch.present) {
        rec->leaves = PyImport_ImportModule("pellucid._leaves");
        rec->formulas = rec->leaves ? PyImport_ImportModule("pellucid._formula") : NULL;
        if (!rec->formulas) return false;
    }
    PyObject *leaf_types = rec->leaf_types ? rec->leaf_types : Py_None;
    rec->opened =
        rec->leaves ? PyObject_CallMethod(rec->leaves, "opened", "OO", model, leaf_types) : PyFrozenSet_New(NULL);
    return rec->opened != NULL;
}

static bool misfit; /* the frames of the interpreter are not what we were built for */

/* tp_alloc gives zeroed memory, so a recorder that is half made can be freed at any point. The search for torch comes
 * before the helpers, since it decides which of them are imported. */
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
    if (!find_helpers(rec, model) || !(rec->ctx = pel_ext_open())) goto failed;
    if (!pel_record_attempt(rec, open_log, NULL)) {
        pel_raise_failure(rec);
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
    return PyErr_Format(PyExc_NotImplementedError, "recording works in CPython 3.11 to 3.15 with a GIL; this is %s",
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
