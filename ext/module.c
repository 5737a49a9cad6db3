/* The extension module: its functions, types and exceptions. */
#include "ext.h"

/* The functions of the module, a table per file. */
static PyMethodDef *const method_tables[] = { pel_ext_source_methods, pel_ext_code_methods,  pel_ext_line_methods,
                                              pel_ext_file_methods,   pel_ext_model_methods, pel_ext_skeleton_methods,
                                              pel_ext_trace_methods };
/* What else files add: types, constants. Each returns -1 with an exception set on failure. */
static int (*const additions[])(PyObject *module) = { pel_ext_add_recorder };

PyObject *pel_ext_error_type;

/* ---- errors ---- */

static int set_attribute(PyObject *object, const char *name, PyObject *value) {
    int result = value ? PyObject_SetAttrString(object, name, value) : -1;
    Py_XDECREF(value);
    return result;
}

static PyObject *number_or_none(unsigned long value) {
    if (value) return PyLong_FromUnsignedLong(value);
    Py_RETURN_NONE;
}

static PyObject *str_or_none(const char *text) {
    if (text) return PyUnicode_DecodeFSDefault(text);
    Py_RETURN_NONE;
}

PyObject *pel_ext_raise(const pel_error *error, const char *file) {
    if (error->code == PEL_E_MEMORY && !error->line) return PyErr_Format(PyExc_MemoryError, "%s", error->message);
    PyObject *text = error->line ? PyUnicode_FromFormat("%s:%u:%u: %s", file ? file : "<source>", error->line,
                                                        error->column, error->message)
                                 : PyUnicode_FromString(error->message);
    PyObject *raised = text ? PyObject_CallOneArg(pel_ext_error_type, text) : NULL;
    Py_XDECREF(text);
    if (!raised) return NULL;
    if (set_attribute(raised, "code", PyUnicode_FromString(pellucid_code_name(error->code))) == 0 &&
        set_attribute(raised, "message", PyUnicode_FromString(error->message)) == 0 &&
        set_attribute(raised, "file", str_or_none(file)) == 0 &&
        set_attribute(raised, "line", number_or_none(error->line)) == 0 &&
        set_attribute(raised, "column", number_or_none(error->column)) == 0 &&
        set_attribute(raised, "offset", PyLong_FromUnsignedLongLong(error->offset)) == 0)
        PyErr_SetObject(pel_ext_error_type, raised);
    Py_DECREF(raised);
    return NULL;
}

PyObject *pel_ext_raise_err(const pel_err *err, const char *file) {
    pel_error error = {
        .code = err->code, .offset = err->at, .line = err->line, .column = err->line ? err->column + 1 : 0
    };
    memcpy(error.message, err->what, sizeof error.message);
    return pel_ext_raise(&error, file);
}

/* ---- conversions ---- */

pel_ctx *pel_ext_open(void) {
    pel_ctx *ctx = pellucid_open(NULL);
    if (!ctx) PyErr_NoMemory();
    return ctx;
}

PyObject *pel_ext_str(pel_text text) { return PyUnicode_DecodeUTF8(text.ptr, (Py_ssize_t)text.len, "surrogatepass"); }

int pel_ext_get_source(PyObject *object, void *address) {
    pel_ext_source *source = address;
    *source = (pel_ext_source){ .has_buffer = false };
    if (PyUnicode_Check(object)) {
        Py_ssize_t len;
        source->text.ptr = PyUnicode_AsUTF8AndSize(object, &len);
        source->text.len = (size_t)len;
        source->is_utf8 = true;
        return source->text.ptr != NULL;
    }
    if (PyObject_GetBuffer(object, &source->buffer, PyBUF_SIMPLE) != 0) {
        PyErr_Format(PyExc_TypeError, "source must be str or bytes, not %.100s", Py_TYPE(object)->tp_name);
        return 0;
    }
    source->has_buffer = true;
    source->text = (pel_text){ source->buffer.buf, (size_t)source->buffer.len };
    return 1;
}

void pel_ext_release_source(pel_ext_source *source) {
    if (source->has_buffer) PyBuffer_Release(&source->buffer);
    source->has_buffer = false;
}

/* ---- the module ---- */

PyDoc_STRVAR(error_doc, "What pellucid can't read or do.\n\n"
                        "code is the kind of error (\"SYNTAX\", \"TOO_DEEP\"), message what is wrong, file, line and\n"
                        "column (from 1, in characters) where, offset the byte; file, line and column can be None.");

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pellucid._pellucid",
    .m_doc = "The C side of pellucid. Use the package pellucid instead.",
    .m_size = -1,
};

static int fill(PyObject *module) {
    pel_ext_error_type = PyErr_NewExceptionWithDoc("pellucid.Error", error_doc, PyExc_ValueError, NULL);
    if (!pel_ext_error_type || PyModule_AddObjectRef(module, "Error", pel_ext_error_type) != 0) return -1;
    if (PyModule_AddStringConstant(module, "__version__", pellucid_version()) != 0) return -1;
    for (size_t i = 0; i < PEL_COUNT(method_tables); i++)
        if (PyModule_AddFunctions(module, method_tables[i]) != 0) return -1;
    for (size_t i = 0; i < PEL_COUNT(additions); i++)
        if (additions[i] && additions[i](module) != 0) return -1;
    return 0;
}

/* A build may set it: tests do, where there is no free-threaded Python. */
#if defined(Py_GIL_DISABLED) || defined(PEL_FREE_THREADED)
#define NO_GIL 1
#else
#define NO_GIL 0
#endif

PyMODINIT_FUNC PyInit__pellucid(void) {
    if (NO_GIL) { /* its tables and its recorder rely on the GIL */
        PyErr_SetString(PyExc_ImportError, "pellucid does not run in free-threaded builds of CPython: install it for a "
                                           "Python with the GIL; the program `pellucid` needs none");
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module && fill(module) != 0) Py_CLEAR(module);
    return module;
}
