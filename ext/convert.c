/* Python's texts, names and constants as the library's. */
#include "convert.h"

/* ---- text ---- */

/* The UTF-8 of a str, valid while *holder lives. Most strings have theirs cached by Python; those with lone
 * surrogates have none and are encoded anew. */
static pel_str utf8_of(pel_ctx *ctx, PyObject *text, PyObject **holder) {
    Py_ssize_t len;
    const char *ptr = PyUnicode_AsUTF8AndSize(text, &len);
    *holder = NULL;
    if (ptr) return (pel_str){ ptr, (size_t)len };
    PyErr_Clear();
    *holder = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (!*holder) {
        PyErr_Clear();
        pel_throw(ctx, PEL_E_ENCODING, 0, "a str that can't be encoded");
    }
    return (pel_str){ PyBytes_AS_STRING(*holder), (size_t)PyBytes_GET_SIZE(*holder) };
}

pel_str pel_ext_text(pel_ctx *ctx, PyObject *text) {
    PyObject *holder;
    pel_str copy = pel_str_copy(ctx, utf8_of(ctx, text, &holder));
    Py_XDECREF(holder);
    return copy;
}

pel_name pel_ext_name(pel_ctx *ctx, PyObject *text) {
    PyObject *holder;
    pel_str s = utf8_of(ctx, text, &holder);
    pel_name name = pel_intern_str(ctx, s);
    Py_XDECREF(holder);
    return name;
}

/* ---- constants ---- */

static void set_integer(pel_ctx *ctx, pel_const *made, PyObject *object) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    made->kind = PEL_CONST_INT;
    if (!overflow) {
        made->integer.small = value;
        return;
    }
    PyObject *text = PyNumber_ToBase(object, 10);
    if (!text) {
        PyErr_Clear();
        pel_throw(ctx, PEL_E_TOO_BIG, 0, "an int with too many digits");
    }
    made->integer.digits = pel_ext_text(ctx, text);
    Py_DECREF(text);
}

const pel_const *pel_ext_const(pel_ctx *ctx, PyObject *object) {
    pel_const *made = pel_new(ctx, pel_const);
    if (PyLong_CheckExact(object)) {
        set_integer(ctx, made, object);
    } else if (PyFloat_CheckExact(object)) {
        made->kind = PEL_CONST_FLOAT;
        made->real = PyFloat_AS_DOUBLE(object);
    } else if (PyComplex_CheckExact(object)) {
        made->kind = PEL_CONST_COMPLEX;
        made->real = PyComplex_RealAsDouble(object);
        made->imag = PyComplex_ImagAsDouble(object);
    } else if (PyUnicode_CheckExact(object)) {
        made->kind = PEL_CONST_STR;
        made->text = pel_ext_text(ctx, object);
    } else if (PyBytes_CheckExact(object)) {
        made->kind = PEL_CONST_BYTES;
        made->text = pel_str_copy(ctx, (pel_str){ PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object) });
    } else {
        PEL_BUG("not a plain constant");
    }
    return made;
}
