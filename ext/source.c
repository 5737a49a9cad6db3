/* Bindings of the Python language: parse, format. */
#include "ext.h"

/* A call on one source that gives one text. */
typedef bool source_function(pel_ctx *ctx, pel_text source, const void *options, pel_text *out, pel_error *error);

static PyObject *call_on_source(source_function *function, const pel_ext_source *source, const void *options,
                                const char *file) {
    pel_ctx *ctx = pel_ext_open();
    if (!ctx) return NULL;
    pel_text out;
    pel_error error;
    bool done;
    Py_BEGIN_ALLOW_THREADS done = function(ctx, source->text, options, &out, &error);
    Py_END_ALLOW_THREADS PyObject *result = done ? pel_ext_str(out) : pel_ext_raise(&error, file);
    pellucid_close(ctx);
    return result;
}

/* "3.11" or (3, 11) to 11; None to 0. */
static int get_python(PyObject *object, void *address) {
    int *minor = address;
    int major = 3;
    char extra;
    if (object == Py_None) {
        *minor = 0;
        return 1;
    }
    if (PyUnicode_Check(object)) {
        const char *text = PyUnicode_AsUTF8(object);
        if (!text) return 0;
        if (sscanf(text, "3.%d%c", minor, &extra) == 1 && *minor >= PEL_PYTHON_MIN && *minor <= PEL_PYTHON_MAX)
            return 1;
    } else if (PyTuple_Check(object)) {
        if (!PyArg_ParseTuple(object, "ii", &major, minor)) return 0;
        if (major == 3 && *minor >= PEL_PYTHON_MIN && *minor <= PEL_PYTHON_MAX) return 1;
    }
    PyErr_Format(PyExc_ValueError, "python_version must be \"3.%d\" to \"3.%d\", not %R", PEL_PYTHON_MIN,
                 PEL_PYTHON_MAX, object);
    return 0;
}

static bool run_ast(pel_ctx *ctx, pel_text source, const void *options, pel_text *out, pel_error *error) {
    return pellucid_ast(ctx, source, options, out, error);
}

PyDoc_STRVAR(parse_json_doc, "parse_json(source, *, python_version=None, filename=None)\n--\n\n"
                             "The syntax tree of Python source (str or bytes) as JSON.");

static PyObject *parse_json(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = { "source", "python_version", "filename", NULL };
    pel_ext_source source = { .has_buffer = false };
    pel_ast_options options = { .format = PEL_AST_JSON };
    const char *file = NULL;
    PyObject *result = NULL;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "O&|$O&z:parse_json", names, pel_ext_get_source, &source,
                                    get_python, &options.python, &file)) {
        options.is_utf8 = source.is_utf8;
        result = call_on_source(run_ast, &source, &options, file);
    }
    pel_ext_release_source(&source);
    return result;
}

static bool run_format(pel_ctx *ctx, pel_text source, const void *options, pel_text *out, pel_error *error) {
    return pellucid_format(ctx, source, options, out, error);
}

PyDoc_STRVAR(format_source_doc, "format_source(source, *, python_version=None, width=100, filename=None)\n--\n\n"
                                "Python source (str or bytes) laid out anew. Comments are lost.");

static PyObject *format_source(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = { "source", "python_version", "width", "filename", NULL };
    pel_ext_source source = { .has_buffer = false };
    pel_format_options options = { .width = 100 };
    const char *file = NULL;
    PyObject *result = NULL;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "O&|$O&iz:format_source", names, pel_ext_get_source, &source,
                                    get_python, &options.python, &options.width, &file)) {
        options.is_utf8 = source.is_utf8;
        result = call_on_source(run_format, &source, &options, file);
    }
    pel_ext_release_source(&source);
    return result;
}

PyMethodDef pel_ext_source_methods[] = {
    { "parse_json", (PyCFunction)(void (*)(void))parse_json, METH_VARARGS | METH_KEYWORDS, parse_json_doc },
    { "format_source", (PyCFunction)(void (*)(void))format_source, METH_VARARGS | METH_KEYWORDS, format_source_doc },
    { NULL, NULL, 0, NULL },
};
