/* What the recorder asks of torch, by torch's own Python where there is no other way. */
#include "torch_compat.h"

/* ---- finding it ---- */

static PyObject *path_of(PyObject *start, const char *dotted) {
    Py_XINCREF(start);
    while (start && *dotted) {
        const char *dot = strchr(dotted, '.');
        size_t len = dot ? (size_t)(dot - dotted) : strlen(dotted);
        PyObject *name = PyUnicode_FromStringAndSize(dotted, (Py_ssize_t)len);
        PyObject *next = name ? PyObject_GetAttr(start, name) : NULL;
        Py_XDECREF(name);
        Py_DECREF(start);
        start = next;
        dotted += len + (dot != NULL);
    }
    return start;
}

static PyTypeObject *type_at(PyObject *torch, const char *dotted) {
    PyObject *type = path_of(torch, dotted);
    if (type && !PyType_Check(type)) {
        PyErr_Format(PyExc_TypeError, "torch.%s is not a class", dotted);
        Py_CLEAR(type);
    }
    return (PyTypeObject *)type;
}

/* What this torch may lack: NULL, and the recorder does without. */
static PyObject *optional(PyObject *torch, const char *dotted) {
    PyObject *found = path_of(torch, dotted);
    if (!found) PyErr_Clear();
    return found;
}

/* A property that is written in C: its getter can be called directly. */
static PyGetSetDef *property_of(PyTypeObject *type, const char *name) {
    PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
    if (!found) {
        PyErr_Clear();
        return NULL;
    }
    PyGetSetDef *property = NULL;
    if (Py_IS_TYPE(found, &PyGetSetDescr_Type)) property = ((PyGetSetDescrObject *)found)->d_getset;
    Py_DECREF(found); /* the type keeps it */
    return property;
}

static PyObject *own_fields_of(PyTypeObject *module) {
    PyObject *instance = PyObject_CallNoArgs((PyObject *)module);
    PyObject *dict = instance ? PyObject_GetAttrString(instance, "__dict__") : NULL;
    PyObject *names = dict ? PyFrozenSet_New(dict) : NULL;
    Py_XDECREF(dict);
    Py_XDECREF(instance);
    return names;
}

int pel_torch_find(pel_torch *torch) {
    memset(torch, 0, sizeof *torch);
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed; torch is never imported on our account */
    torch->torch = Py_XNewRef(PyDict_GetItemString(modules, "torch"));
    if (!torch->torch) return 0;
    torch->tensor = type_at(torch->torch, "Tensor");
    torch->parameter = torch->tensor ? type_at(torch->torch, "nn.Parameter") : NULL;
    torch->module = torch->parameter ? type_at(torch->torch, "nn.Module") : NULL;
    torch->size = torch->module ? type_at(torch->torch, "Size") : NULL;
    torch->device = torch->size ? type_at(torch->torch, "device") : NULL;
    torch->generator = torch->device ? type_at(torch->torch, "Generator") : NULL;
    torch->own_fields = torch->generator ? own_fields_of(torch->module) : NULL;
    if (!torch->own_fields) {
        pel_torch_release(torch);
        return -1;
    }
    torch->disable = optional(torch->torch, "_C.DisableTorchFunction");
    torch->count_modes = optional(torch->torch, "_C._len_torch_function_stack");
    torch->push_mode = optional(torch->torch, "_C._push_on_torch_function_stack");
    torch->pop_mode = optional(torch->torch, "_C._pop_torch_function_stack");
    torch->generator_state = optional(torch->torch, "default_generator.get_state");
    torch->call_code = optional(torch->torch, "nn.Module.__call__.__code__");
    torch->is_grad_enabled = optional(torch->torch, "is_grad_enabled");
    torch->shape = property_of(torch->tensor, "shape");
    torch->dtype = property_of(torch->tensor, "dtype");
    torch->requires_grad = property_of(torch->tensor, "requires_grad");
    torch->present = true;
    return 0;
}

/* clang-format off */
#define FIELDS(X)                                                                                                      \
    X(torch) X(tensor) X(parameter) X(module) X(size) X(device) X(generator) X(own_fields) X(disable) X(count_modes)   \
    X(is_grad_enabled) X(push_mode) X(pop_mode) X(generator_state) X(call_code)
/* clang-format on */

void pel_torch_release(pel_torch *torch) {
#define X(field) Py_CLEAR(torch->field);
    FIELDS(X)
#undef X
    torch->present = false;
}

int pel_torch_visit(pel_torch *torch, visitproc visit, void *arg) {
#define X(field) Py_VISIT(torch->field);
    FIELDS(X)
#undef X
    return 0;
}

/* ---- tensors ---- */

static PyObject *read_property(PyGetSetDef *property, PyObject *tensor, const char *name) {
    PyObject *value = property ? property->get(tensor, property->closure) : PyObject_GetAttrString(tensor, name);
    if (!value) PyErr_Clear();
    return value;
}

/* Whether reading a property could run Python code: a function mode, or a subclass with its own ideas. */
static bool is_watched(const pel_torch *torch, PyObject *tensor) {
    if (!Py_IS_TYPE(tensor, torch->tensor) && !Py_IS_TYPE(tensor, torch->parameter)) return true;
    PyObject *count = torch->count_modes ? PyObject_CallNoArgs(torch->count_modes) : NULL;
    bool watched = !count || PyObject_IsTrue(count) != 0;
    if (!count) PyErr_Clear();
    Py_XDECREF(count);
    return watched;
}

PyObject *pel_disable_torch_function(const pel_torch *torch) {
    PyObject *guard = torch->disable ? PyObject_CallNoArgs(torch->disable) : NULL;
    PyObject *entered = guard ? PyObject_CallMethod(guard, "__enter__", NULL) : NULL;
    if (!entered) {
        PyErr_Clear();
        Py_CLEAR(guard);
    }
    Py_XDECREF(entered);
    return guard;
}

void pel_enable_torch_function(PyObject *guard) {
    if (!guard) return;
    PyObject *left = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (!left) PyErr_Clear();
    Py_XDECREF(left);
    Py_DECREF(guard);
}

void pel_tensor_look(const pel_torch *torch, PyObject *tensor, pel_tensor_facts *facts) {
    PyObject *guard = is_watched(torch, tensor) ? pel_disable_torch_function(torch) : NULL;
    facts->shape = read_property(torch->shape, tensor, "shape");
    facts->dtype = read_property(torch->dtype, tensor, "dtype");
    PyObject *requires_grad = read_property(torch->requires_grad, tensor, "requires_grad");
    facts->requires_grad = requires_grad == Py_True;
    Py_XDECREF(requires_grad);
    facts->is_parameter = PyObject_TypeCheck(tensor, torch->parameter);
    pel_enable_torch_function(guard);
}

bool pel_grad_enabled(const pel_torch *torch) {
    PyObject *enabled = torch->is_grad_enabled ? PyObject_CallNoArgs(torch->is_grad_enabled) : NULL;
    if (!enabled) PyErr_Clear();
    bool is = enabled == Py_True;
    Py_XDECREF(enabled);
    return is;
}
