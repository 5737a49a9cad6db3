/* Torch events: every call that reaches torch's function mode, and calls of torch's own modules as one event each.
 *
 * A plain C object is on the stack of torch's function modes; torch hands it each call and takes it off the stack
 * while it answers, so that what the call does inside is not seen. An active mode would turn off the fast paths of some
 * modules (MultiheadAttention, TransformerEncoder) and so change results: torch's own modules run without it. */
#include "recorder.h"

#if PEL_CAN_RECORD

typedef struct event_mode {
    PyObject_HEAD pel_recorder *rec; /* borrowed: the recorder takes the mode off the stack before it goes */
} event_mode;

/* ---- the random number generator ---- */

/* The state of torch's default generator, as a new tensor; NULL if it can't be had. */
static PyObject *generator_state(const pel_torch *torch) {
    PyObject *state = torch->generator_state ? PyObject_CallNoArgs(torch->generator_state) : NULL;
    if (!state) PyErr_Clear();
    return state;
}

static const void *address_of(PyObject *tensor, size_t *size) {
    PyObject *address = PyObject_CallMethod(tensor, "data_ptr", NULL);
    PyObject *bytes = PyObject_CallMethod(tensor, "numel", NULL); /* of uint8 */
    const void *at = address ? PyLong_AsVoidPtr(address) : NULL;
    *size = bytes ? PyLong_AsSize_t(bytes) : 0;
    if (PyErr_Occurred()) {
        PyErr_Clear();
        at = NULL;
    }
    Py_XDECREF(address);
    Py_XDECREF(bytes);
    return at;
}

static bool is_other_state(PyObject *before, PyObject *after) {
    if (!before || !after) return false;
    size_t n_before, n_after;
    const void *a = address_of(before, &n_before), *b = address_of(after, &n_after);
    return a && b && (n_before != n_after || memcmp(a, b, n_before) != 0);
}

/* ---- one event ---- */

typedef struct call_event {
    PyObject *function, *args, *kwargs; /* args: tuple; kwargs: dict or NULL */
    PyObject *result;
    pel_event row;
} call_event;

static void record_arguments(pel_recorder *rec, void *arg) {
    call_event *call = arg;
    pel_event *row = &call->row;
    rec->moment++;
    row->activation = rec->top ? rec->top->id : 0;
    row->record = rec->top ? rec->top->records.n : 0;
    row->function = pel_record_value(rec, call->function);
    row->n_args = (uint32_t)PyTuple_GET_SIZE(call->args);
    row->args = pel_new_array(rec->ctx, row->n_args, pel_id);
    for (uint32_t i = 0; i < row->n_args; i++) row->args[i] = pel_record_value(rec, PyTuple_GET_ITEM(call->args, i));
    if (!call->kwargs) return;
    row->kwargs = pel_new_array(rec->ctx, (size_t)PyDict_GET_SIZE(call->kwargs), pel_log_attribute);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(call->kwargs, &at, &key, &value))
        if (PyUnicode_Check(key))
            row->kwargs[row->n_kwargs++] =
                (pel_log_attribute){ pel_ext_name(rec->ctx, key), pel_record_value(rec, value) };
}

static void record_result(pel_recorder *rec, void *arg) {
    call_event *call = arg;
    rec->moment++;
    call->row.result = pel_record_value(rec, call->result);
    pel_push(rec->ctx, &rec->log->events, call->row);
}

/* Arguments are looked at before the call, which may change them. A call that raises leaves no event. */
static PyObject *watch(pel_recorder *rec, call_event *call, PyObject *(*run)(void *arg), void *arg) {
    PyObject *before = generator_state(&rec->torch);
    bool fine = pel_record_attempt(rec, record_arguments, call);
    PyObject *result = run(arg);
    if (result && fine) {
        PyObject *after = generator_state(&rec->torch);
        call->row.draws_random = is_other_state(before, after);
        Py_XDECREF(after);
        call->result = result;
        pel_record_attempt(rec, record_result, call);
    }
    Py_XDECREF(before);
    return result;
}

/* ---- the mode ---- */

static PyObject *run_function(void *arg) {
    call_event *call = arg;
    return PyObject_Call(call->function, call->args, call->kwargs);
}

/* x.shape, x.dtype: reading a property that is no tensor is no event. */
static bool is_event(const pel_recorder *rec, PyObject *function, PyObject *result) {
    return strcmp(Py_TYPE(function)->tp_name, "method-wrapper") != 0 || pel_is_tensor(&rec->torch, result);
}

static PyObject *mode_torch_function(event_mode *mode, PyObject *arguments, PyObject *keywords) {
    static char *names[] = { "func", "types", "args", "kwargs", NULL };
    PyObject *function, *types, *args = NULL, *kwargs = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|OO", names, &function, &types, &args, &kwargs))
        return NULL;
    args = args && args != Py_None ? PySequence_Tuple(args) : PyTuple_New(0);
    if (!args) return NULL;
    call_event call = { .function = function, .args = args, .kwargs = kwargs && PyDict_Check(kwargs) ? kwargs : NULL };
    pel_recorder *rec = mode->rec;
    PyObject *result;
    bool is_watching = rec && !rec->busy && !rec->silent && !rec->failed && rec->thread == PyThreadState_Get();
    if (is_watching && strcmp(Py_TYPE(function)->tp_name, "method-wrapper") == 0) { /* known only by its result */
        result = run_function(&call);
        if (result && is_event(rec, function, result) && pel_record_attempt(rec, record_arguments, &call)) {
            call.result = result;
            pel_record_attempt(rec, record_result, &call);
        }
    } else {
        result = is_watching ? watch(rec, &call, run_function, &call) : run_function(&call);
    }
    Py_DECREF(args);
    return result;
}

static PyMethodDef mode_methods[] = {
    { "__torch_function__", (PyCFunction)(void (*)(void))mode_torch_function, METH_VARARGS | METH_KEYWORDS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyTypeObject mode_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "pellucid._pellucid._EventMode",
    .tp_basicsize = sizeof(event_mode),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = mode_methods,
};

bool pel_events_on(pel_recorder *rec) {
    if (!rec->wants_events || !rec->torch.push_mode || !rec->torch.pop_mode) return true;
    if (PyType_Ready(&mode_type) != 0) return false;
    event_mode *mode = PyObject_New(event_mode, &mode_type);
    if (!mode) return false;
    mode->rec = rec;
    PyObject *done = PyObject_CallOneArg(rec->torch.push_mode, (PyObject *)mode);
    rec->event_mode = (PyObject *)mode;
    if (!done) Py_CLEAR(rec->event_mode);
    Py_XDECREF(done);
    return done != NULL;
}

void pel_events_off(pel_recorder *rec) {
    if (!rec->event_mode) return;
    ((event_mode *)rec->event_mode)->rec = NULL;
    PyObject *popped = PyObject_CallNoArgs(rec->torch.pop_mode);
    if (!popped) PyErr_Clear();
    Py_XDECREF(popped);
    Py_CLEAR(rec->event_mode);
}

/* ---- torch's own modules ---- */

#define MAX_DEPTH 200

static bool is_plain_leaf(const pel_log *log, pel_id id, int depth) {
    const pel_log_module *row = pel_module_at(log, id);
    if (depth > MAX_DEPTH || row->has_hooks || pel_class_at(log, row->class)->kind != PEL_CLASS_TORCH_MODULE)
        return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && !is_plain_leaf(log, row->children[i], depth + 1)) return false;
    return true;
}

/* Containers have no fast path, and what they call is worth seeing. */
static bool is_container(pel_str path) {
    static const char *const names[] = { "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(path, names[i])) return true;
    return false;
}

static void look_up_leaf(pel_recorder *rec, void *arg) {
    PyObject **module = arg;
    pel_id id = pel_record_module(rec, *module);
    const pel_log_module *row = pel_module_at(rec->log, id);
    if (is_container(pel_class_at(rec->log, row->class)->path) || !is_plain_leaf(rec->log, id, 0)) *module = NULL;
}

/* Whether a frame is the call of a module of torch's that runs as one event. */
bool pel_is_leaf_call(pel_recorder *rec, PyCodeObject *code, PyObject *first) {
    if (!rec->event_mode || rec->in_leaf || (PyObject *)code != rec->torch.call_code || !first) return false;
    if (!pel_is_module(&rec->torch, first)) return false;
    PyObject *module = first;
    return pel_record_attempt(rec, look_up_leaf, &module) && module;
}

PyObject *pel_run_leaf(pel_recorder *rec, PyObject *const *slots, PyObject *(*run)(void *arg), void *arg) {
    bool has_kwargs = slots[2] && PyDict_Check(slots[2]);
    call_event call = { .function = slots[0], .args = Py_NewRef(slots[1]), .kwargs = has_kwargs ? slots[2] : NULL };
    Py_INCREF(call.function);
    Py_XINCREF(call.kwargs);
    PyObject *guard = pel_disable_torch_function(&rec->torch);
    rec->in_leaf = true;
    PyObject *result = watch(rec, &call, run, arg);
    rec->in_leaf = false;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    pel_enable_torch_function(guard);
    PyErr_Restore(type, value, traceback);
    Py_DECREF(call.args);
    Py_DECREF(call.function);
    Py_XDECREF(call.kwargs);
    return result;
}

/* ---- names ---- */

/* A list of str: the functions that were called, and the classes of the modules. */
PyObject *pel_event_names(const pel_log *log) {
    PyObject *list = PyList_New(0);
    for (pel_id id = 1; list && id < log->events.n; id++) {
        const pel_value *function = pel_value_at(log, log->events.at[id].function);
        pel_str name = PEL_STR("?");
        if (function->kind == PEL_V_MODULE)
            name = pel_class_at(log, pel_module_at(log, function->module)->class)->path;
        else if (pel_value_has_text(function->kind))
            name = function->text;
        else if (function->kind == PEL_V_FUNCTION)
            name = pel_name_str(log->codes.at[function->code].code->name);
        PyObject *text = PyUnicode_DecodeUTF8(name.ptr, (Py_ssize_t)name.len, "surrogatepass");
        if (!text || PyList_Append(list, text) != 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

#endif
