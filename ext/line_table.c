/* Which file and lines a code object says its instructions come from. The instructions stay as they are. */
#include "ext.h"

#include "base/buf.h"
#include "bytecode/line_table.h"
#if PY_VERSION_HEX >= 0x030e0000
#include "cpython_inside.h" /* what a code object keeps for monitors */
#endif

typedef struct encode_call {
    uint32_t firstlineno, code_size;
    pel_line_row *rows;
    uint32_t n;
    pel_buf table;
} encode_call;

static void encode_body(pel_ctx *ctx, void *arg) {
    encode_call *call = arg;
    call->table = pel_buf_in(ctx);
    pel_put_line_table(&call->table, PY_MINOR_VERSION, call->firstlineno, call->code_size, call->rows, call->n);
}

/* Fills rows from a sequence of (offset, line); -1 with an exception set. */
static int get_rows(pel_line_row *rows, PyObject *fast) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); i++) {
        PyObject *row = PySequence_Fast_GET_ITEM(fast, i);
        if (!PyTuple_Check(row)) {
            PyErr_SetString(PyExc_TypeError, "rows must be tuples (offset, line)");
            return -1;
        }
        if (!PyArg_ParseTuple(row, "II:rows", &rows[i].offset, &rows[i].line)) return -1;
    }
    return 0;
}

PyDoc_STRVAR(encode_lines_doc, "encode_lines(firstlineno, code_size, rows)\n--\n\n"
                               "The co_linetable of this Python for code of code_size bytes: from each (offset, line)\n"
                               "of rows on, instructions belong to that line; 0 means none.");

/* ctx stays NULL after a Python exception, so all ways share one clean-up. get_rows runs before pel_attempt: it may
 * fail as Python does, while encode_body may only throw. */
static PyObject *encode_lines(PyObject *module, PyObject *args) {
    (void)module;
    encode_call call = { 0 };
    PyObject *sequence;
    if (!PyArg_ParseTuple(args, "IIO:encode_lines", &call.firstlineno, &call.code_size, &sequence)) return NULL;
    PyObject *fast = PySequence_Fast(sequence, "rows must be a sequence");
    if (!fast) return NULL;
    call.n = (uint32_t)PySequence_Fast_GET_SIZE(fast);
    call.rows = PyMem_New(pel_line_row, call.n + 1);
    PyObject *result = NULL;
    pel_ctx *ctx = NULL;
    if (!call.rows)
        PyErr_NoMemory();
    else if (get_rows(call.rows, fast) == 0)
        ctx = pel_ext_open();
    if (ctx) {
        pel_err err;
        if (pel_attempt(ctx, encode_body, &call, &err))
            result = PyBytes_FromStringAndSize(call.table.at, (Py_ssize_t)call.table.len);
        else
            pel_ext_raise_err(&err, NULL);
        pellucid_close(ctx);
    }
    PyMem_Free(call.rows);
    Py_DECREF(fast);
    return result;
}

/* Whether the interpreter keeps a table that it made from the old lines, for a tracer or a monitor. */
static bool has_line_cache(const PyCodeObject *code) {
#if PY_MINOR_VERSION >= 12
    return code->_co_monitoring && code->_co_monitoring->lines;
#elif PY_MINOR_VERSION == 11
    return code->_co_linearray != NULL;
#else
    (void)code;
    return false;
#endif
}

PyDoc_STRVAR(set_lines_doc,
             "set_lines(code, filename, firstlineno, linetable)\n--\n\n"
             "Changes these three of a code object in place, for one that is in use already and can't be\n"
             "exchanged. False, and nothing is changed, if a tracer has seen its lines before.");

static PyObject *set_lines(PyObject *module, PyObject *args) {
    (void)module;
    PyCodeObject *code;
    PyObject *filename, *linetable;
    int firstlineno;
    if (!PyArg_ParseTuple(args, "O!UiS:set_lines", &PyCode_Type, &code, &filename, &firstlineno, &linetable))
        return NULL;
    if (has_line_cache(code)) Py_RETURN_FALSE;
    PyObject *old_filename = code->co_filename, *old_linetable = code->co_linetable;
    Py_INCREF(filename);
    Py_INCREF(linetable);
    code->co_filename = filename;
    code->co_firstlineno = firstlineno;
    code->co_linetable = linetable;
    Py_DECREF(old_filename);
    Py_DECREF(old_linetable);
    Py_RETURN_TRUE;
}

PyMethodDef pel_ext_line_methods[] = {
    { "encode_lines", encode_lines, METH_VARARGS, encode_lines_doc },
    { "set_lines", set_lines, METH_VARARGS, set_lines_doc },
    { NULL, NULL, 0, NULL },
};
