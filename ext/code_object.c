#include "code_object.h"

#define MAX_DEPTH 100

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
    pel_name name = pel_intern(ctx, s.ptr, s.len);
    Py_XDECREF(holder);
    return name;
}

/* ---- constants ---- */

static const pel_const *const_at(pel_ctx *ctx, PyObject *object, int depth);
static pel_code_object *code_at(pel_ctx *ctx, PyObject *code, int depth);

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

static void set_items(pel_ctx *ctx, pel_const *made, PyObject *sequence, int depth) {
    PyObject *list = PySequence_List(sequence);
    if (!list) {
        PyErr_Clear();
        pel_throw(ctx, PEL_E_MEMORY, 0, "out of memory");
    }
    made->n = (uint32_t)PyList_GET_SIZE(list);
    made->items = pel_new_array(ctx, made->n, const pel_const *);
    for (uint32_t i = 0; i < made->n; i++) made->items[i] = const_at(ctx, PyList_GET_ITEM(list, i), depth + 1);
    Py_DECREF(list);
}

static void set_object(pel_ctx *ctx, pel_const *made, PyObject *object) {
    made->kind = PEL_CONST_OBJECT;
    made->object = (uint64_t)(uintptr_t)object;
    made->repr = pel_format(ctx, "<%s>", Py_TYPE(object)->tp_name); /* its own repr could run anything */
}

static const pel_const *const_at(pel_ctx *ctx, PyObject *object, int depth) {
    if (object == Py_None) return &pel_none;
    if (object == Py_False) return &pel_false;
    if (object == Py_True) return &pel_true;
    if (object == Py_Ellipsis) return &pel_ellipsis;
    if (depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, 0, "constants nest too deep");
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
    } else if (PyTuple_CheckExact(object) || PyFrozenSet_CheckExact(object)) {
        made->kind = PyTuple_CheckExact(object) ? PEL_CONST_TUPLE : PEL_CONST_FROZENSET;
        set_items(ctx, made, object, depth);
    } else if (PyCode_Check(object)) {
        made->kind = PEL_CONST_CODE;
        made->code = code_at(ctx, object, depth + 1);
    } else {
        set_object(ctx, made, object);
    }
    return made;
}

const pel_const *pel_ext_const(pel_ctx *ctx, PyObject *object) { return const_at(ctx, object, 0); }

/* ---- code objects ---- */

/* A field by name, so that one text serves all versions. NULL where the version has none. */
static PyObject *field(PyObject *code, const char *name) {
    PyObject *value = PyObject_GetAttrString(code, name);
    if (!value) PyErr_Clear();
    return value;
}

static uint32_t number_field(PyObject *code, const char *name) {
    PyObject *value = field(code, name);
    unsigned long number = value ? PyLong_AsUnsignedLong(value) : 0;
    if (PyErr_Occurred()) PyErr_Clear();
    Py_XDECREF(value);
    return (uint32_t)number;
}

static pel_name name_field(pel_ctx *ctx, PyObject *code, const char *name) {
    PyObject *value = field(code, name);
    pel_name made = value && PyUnicode_Check(value) ? pel_ext_name(ctx, value) : NULL;
    Py_XDECREF(value);
    return made;
}

static pel_str bytes_field(pel_ctx *ctx, PyObject *code, const char *name) {
    PyObject *value = field(code, name);
    pel_str made = { "", 0 };
    if (value && PyBytes_Check(value))
        made = pel_str_copy(ctx, (pel_str){ PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value) });
    Py_XDECREF(value);
    return made;
}

static pel_name_list names_field(pel_ctx *ctx, PyObject *code, const char *name) {
    PyObject *value = field(code, name);
    pel_name_list made = { NULL, 0 };
    if (value && PyTuple_Check(value)) {
        made.n = (uint32_t)PyTuple_GET_SIZE(value);
        made.at = pel_new_array(ctx, made.n, pel_name);
        for (uint32_t i = 0; i < made.n; i++) made.at[i] = pel_ext_name(ctx, PyTuple_GET_ITEM(value, i));
    }
    Py_XDECREF(value);
    return made;
}

static pel_code_object *code_at(pel_ctx *ctx, PyObject *code, int depth) {
    pel_code_object *made = pel_new(ctx, pel_code_object);
    made->version = PY_MINOR_VERSION;
    made->argcount = number_field(code, "co_argcount");
    made->posonlyargcount = number_field(code, "co_posonlyargcount");
    made->kwonlyargcount = number_field(code, "co_kwonlyargcount");
    made->stacksize = number_field(code, "co_stacksize");
    made->flags = number_field(code, "co_flags");
    made->firstlineno = number_field(code, "co_firstlineno");
    made->name = name_field(ctx, code, "co_name");
    made->qualname = name_field(ctx, code, "co_qualname");
    pel_name filename = name_field(ctx, code, "co_filename");
    made->filename = filename ? pel_name_str(filename) : PEL_STR("");
    made->code = bytes_field(ctx, code, "co_code");
    made->names = names_field(ctx, code, "co_names");
    made->varnames = names_field(ctx, code, "co_varnames");
    made->cellvars = names_field(ctx, code, "co_cellvars");
    made->freevars = names_field(ctx, code, "co_freevars");
    made->linetable = bytes_field(ctx, code, "co_linetable");
    made->exceptiontable = bytes_field(ctx, code, "co_exceptiontable");
    PyObject *consts = field(code, "co_consts");
    if (consts && PyTuple_Check(consts)) {
        made->n_consts = (uint32_t)PyTuple_GET_SIZE(consts);
        made->consts = pel_new_array(ctx, made->n_consts, const pel_const *);
        for (uint32_t i = 0; i < made->n_consts; i++)
            made->consts[i] = const_at(ctx, PyTuple_GET_ITEM(consts, i), depth + 1);
    }
    Py_XDECREF(consts);
    return made;
}

pel_code_object *pel_ext_code(pel_ctx *ctx, PyObject *code) { return code_at(ctx, code, 0); }
