/* Live code objects -> pel_code_object, without a trip through marshal; and the decompiler on them.
 *
 * Only attributes of code objects are used, so instructions come as the compiler wrote them, whatever the interpreter
 * has made of them since. A constant that no literal can express stays the object that it is: the source names it
 * __pellucid_const_N__, N being its index in a list that is handed back. */
#include "convert.h"

#include "decompile/decompile.h"
#include "decompile/line_map.h"
#include "python/print.h"

#define MAX_DEPTH 400

typedef struct importer {
    pel_ctx *ctx;
    PyObject *keep;    /* list: what was fetched stays alive until the end, however the import ends */
    PyObject *objects; /* list: constants without a literal */
    PyObject *spell;   /* called for the text of each of these; None: it gets a name */
    PyObject *root;
    pel_code_object *code;
    int depth;
} importer;

/* A Python exception is set: leave as an error, the caller looks at PyErr_Occurred() first. */
static _Noreturn void python_failed(importer *in) { pel_throw(in->ctx, PEL_E_READ, 0, "a Python exception"); }

static PyObject *kept(importer *in, PyObject *object) {
    if (!object) python_failed(in);
    int failed = PyList_Append(in->keep, object);
    Py_DECREF(object);
    if (failed) python_failed(in);
    return object;
}

static PyObject *get(importer *in, PyObject *object, const char *name) {
    return kept(in, PyObject_GetAttrString(object, name));
}

static uint32_t get_count(importer *in, PyObject *object, const char *name) {
    long value = PyLong_AsLong(get(in, object, name));
    if (value == -1 && PyErr_Occurred()) python_failed(in);
    return (uint32_t)value;
}

static pel_str bytes_of(importer *in, PyObject *object) {
    char *ptr;
    Py_ssize_t len;
    if (PyBytes_AsStringAndSize(object, &ptr, &len) != 0) python_failed(in);
    return pel_str_copy(in->ctx, (pel_str){ ptr, (size_t)len });
}

static pel_str text_of(importer *in, PyObject *object) {
    return bytes_of(in, kept(in, PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass")));
}

static pel_name name_of(importer *in, PyObject *object) {
    pel_str text = text_of(in, object);
    return pel_intern_str(in->ctx, text);
}

static pel_name_list names_of(importer *in, PyObject *tuple) {
    if (!PyTuple_Check(tuple)) pel_throw(in->ctx, PEL_E_FORMAT, 0, "the names of a code object are not a tuple");
    pel_name_list list = { NULL, (uint32_t)PyTuple_GET_SIZE(tuple) };
    list.at = pel_new_array(in->ctx, list.n, pel_name);
    for (uint32_t i = 0; i < list.n; i++) list.at[i] = name_of(in, PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
    return list;
}

/* ---- constants ---- */

static pel_code_object *import_code(importer *in, PyObject *code);
static const pel_const *import_const(importer *in, PyObject *object);

static pel_const *make(importer *in, pel_const_kind kind) {
    pel_const *konst = pel_new(in->ctx, pel_const);
    konst->kind = kind;
    return konst;
}

static const pel_const *import_object(importer *in, PyObject *object) {
    pel_const *konst = make(in, PEL_CONST_OBJECT);
    Py_ssize_t index = PyList_GET_SIZE(in->objects);
    for (Py_ssize_t i = 0; i < index; i++)
        if (PyList_GET_ITEM(in->objects, i) == object) index = i;
    if (index == PyList_GET_SIZE(in->objects) && PyList_Append(in->objects, object) != 0) python_failed(in);
    konst->object = (uint64_t)index;
    PyObject *text = in->spell ? kept(in, PyObject_CallOneArg(in->spell, object)) : Py_None;
    konst->repr = text == Py_None ? pel_format(in->ctx, "__pellucid_const_%zd__", index) : text_of(in, text);
    return konst;
}

static const pel_const *import_large_int(importer *in, PyObject *object) {
    bool negative = PyObject_RichCompareBool(object, kept(in, PyLong_FromLong(0)), Py_LT) == 1;
    PyObject *magnitude = kept(in, PyNumber_Absolute(object));
    uint32_t bits = (uint32_t)PyLong_AsLong(kept(in, PyObject_CallMethod(magnitude, "bit_length", NULL)));
    if (bits > PEL_INT_BITS_MAX) return import_object(in, object);
    uint32_t n = bits / 32 + 1;
    pel_str bytes = bytes_of(in, kept(in, PyObject_CallMethod(magnitude, "to_bytes", "Is", n * 4, "little")));
    uint32_t *limbs = pel_new_array(in->ctx, n, uint32_t);
    for (size_t i = 0; i < bytes.len; i++) limbs[i / 4] |= (uint32_t)(uint8_t)bytes.ptr[i] << i % 4 * 8;
    return pel_const_of_limbs(in->ctx, limbs, n, negative);
}

static const pel_const *import_int(importer *in, PyObject *object) {
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? import_large_int(in, object) : pel_const_int(in->ctx, value);
}

static const pel_const *import_items(importer *in, pel_const_kind kind, PyObject *object) {
    pel_const *konst = make(in, kind);
    PyObject *items = kept(in, PySequence_Tuple(object));
    konst->n = (uint32_t)PyTuple_GET_SIZE(items);
    konst->items = pel_new_array(in->ctx, konst->n, const pel_const *);
    for (uint32_t i = 0; i < konst->n; i++) konst->items[i] = import_const(in, PyTuple_GET_ITEM(items, (Py_ssize_t)i));
    return konst;
}

/* Exact types only: an enum member is an int to CPython, but not to who reads the source. */
static const pel_const *import_plain(importer *in, PyObject *object) {
    if (object == Py_None) return &pel_none;
    if (object == Py_Ellipsis) return &pel_ellipsis;
    if (PyBool_Check(object)) return pel_const_bool(object == Py_True);
    if (PyLong_CheckExact(object)) return import_int(in, object);
    if (PyFloat_CheckExact(object)) return pel_const_float(in->ctx, PyFloat_AS_DOUBLE(object));
    if (PyUnicode_CheckExact(object)) return pel_const_str(in->ctx, text_of(in, object));
    if (PyBytes_CheckExact(object)) return pel_const_bytes(in->ctx, bytes_of(in, object));
    if (PyTuple_CheckExact(object)) return import_items(in, PEL_CONST_TUPLE, object);
    if (PyFrozenSet_CheckExact(object)) return import_items(in, PEL_CONST_FROZENSET, object);
    if (PySlice_Check(object)) {
        PyObject *parts = kept(in, PyObject_CallMethod(object, "__reduce__", NULL)); /* slice, (start, stop, step) */
        return import_items(in, PEL_CONST_SLICE, PyTuple_GET_ITEM(parts, 1));
    }
    if (PyComplex_CheckExact(object)) {
        pel_const *konst = make(in, PEL_CONST_COMPLEX);
        konst->real = PyComplex_RealAsDouble(object);
        konst->imag = PyComplex_ImagAsDouble(object);
        return konst;
    }
    if (PyCode_Check(object)) {
        pel_const *konst = make(in, PEL_CONST_CODE);
        konst->code = import_code(in, object);
        return konst;
    }
    return import_object(in, object);
}

static const pel_const *import_const(importer *in, PyObject *object) {
    if (++in->depth > MAX_DEPTH) pel_throw(in->ctx, PEL_E_TOO_DEEP, 0, "constants nest deeper than %d", MAX_DEPTH);
    const pel_const *konst = import_plain(in, object);
    in->depth--;
    return konst;
}

/* ---- code objects ---- */

/* The attributes are asked for, not the fields of the C struct: co_code gives the plain instructions, while the
 * object's own memory has those that the interpreter specialised. A throw skips every DECREF, so get() puts what it
 * fetches on a list. */
static pel_code_object *import_code(importer *in, PyObject *object) {
    pel_code_object *code = pel_new(in->ctx, pel_code_object);
    code->version = PY_MINOR_VERSION;
    code->argcount = get_count(in, object, "co_argcount");
    code->posonlyargcount = get_count(in, object, "co_posonlyargcount");
    code->kwonlyargcount = get_count(in, object, "co_kwonlyargcount");
    code->stacksize = get_count(in, object, "co_stacksize");
    code->flags = get_count(in, object, "co_flags");
    code->firstlineno = get_count(in, object, "co_firstlineno");
    code->name = name_of(in, get(in, object, "co_name"));
    code->filename = text_of(in, get(in, object, "co_filename"));
    code->code = bytes_of(in, get(in, object, "co_code"));
    code->names = names_of(in, get(in, object, "co_names"));
    code->varnames = names_of(in, get(in, object, "co_varnames"));
    code->cellvars = names_of(in, get(in, object, "co_cellvars"));
    code->freevars = names_of(in, get(in, object, "co_freevars"));
    code->linetable = bytes_of(in, get(in, object, "co_linetable"));
    if (PY_MINOR_VERSION >= 11) {
        code->qualname = name_of(in, get(in, object, "co_qualname"));
        code->exceptiontable = bytes_of(in, get(in, object, "co_exceptiontable"));
    }
    const pel_const *consts = import_items(in, PEL_CONST_TUPLE, get(in, object, "co_consts"));
    code->consts = consts->items;
    code->n_consts = consts->n;
    pel_code_finish(in->ctx, code, 0);
    return code;
}

pel_code_object *pel_ext_import_code(pel_ctx *ctx, PyObject *code, PyObject *keep, PyObject *objects) {
    importer in = { .ctx = ctx, .keep = keep, .objects = objects };
    return import_code(&in, code);
}

static void import_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    importer *in = arg;
    in->code = import_code(in, in->root);
}

/* ---- decompiling ---- */

typedef struct decompile_call {
    const pel_code_object *code;
    pel_print_options print;
    const pel_decompiled *made;
    const pel_line_map *map; /* if positions were asked for */
    pel_buf source;
} decompile_call;

static void decompile_body(pel_ctx *ctx, void *arg) {
    decompile_call *call = arg;
    call->made = pel_decompile(ctx, call->code);
    call->source = pel_buf_in(ctx);
    pel_print(ctx, call->made->tree, &call->print, &call->source);
    if (call->print.set_positions) call->map = pel_map_lines(ctx, call->made, call->code);
}

/* [(name, why)] */
static PyObject *incomplete_list(const pel_decompiled *made) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < made->incomplete.n; i++) {
        const pel_incomplete *row = &made->incomplete.at[i];
        pel_str name = pel_name_str(row->code->name);
        PyObject *pair = Py_BuildValue("(Ns)", pel_ext_str((pel_text){ name.ptr, name.len }), row->why.what);
        if (!pair || PyList_Append(list, pair) != 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

/* By code object, in the order of a walk over constants: [(offset, line)] */
static PyObject *line_lists(const pel_line_map *map) {
    PyObject *all = PyList_New(0);
    for (uint32_t c = 0; all && c < map->codes.n; c++) {
        const pel_mapped_code *code = &map->codes.at[c];
        PyObject *rows = PyList_New((Py_ssize_t)code->insns->n);
        for (uint32_t i = 0; rows && i < code->insns->n; i++) {
            PyObject *pair = Py_BuildValue("(II)", code->insns->at[i].offset, code->line_of[i]);
            if (pair)
                PyList_SET_ITEM(rows, (Py_ssize_t)i, pair);
            else
                Py_CLEAR(rows);
        }
        if (!rows || PyList_Append(all, rows) != 0) Py_CLEAR(all);
        Py_XDECREF(rows);
    }
    return all;
}

static PyObject *give_result(const decompile_call *call, PyObject *objects) {
    PyObject *incomplete = incomplete_list(call->made);
    PyObject *lines = call->map ? line_lists(call->map) : Py_NewRef(Py_None);
    pel_str source = pel_buf_str(&call->source);
    PyObject *text = pel_ext_str((pel_text){ source.ptr, source.len });
    if (incomplete && lines && text) return Py_BuildValue("(NNON)", text, incomplete, objects, lines);
    Py_XDECREF(incomplete);
    Py_XDECREF(lines);
    Py_XDECREF(text);
    return NULL;
}

static PyObject *decompile_imported(importer *in, const pel_print_options *print) {
    pel_err err;
    if (!pel_attempt(in->ctx, import_body, in, &err)) return PyErr_Occurred() ? NULL : pel_ext_raise_err(&err, NULL);
    decompile_call call = { .code = in->code, .print = *print };
    bool done;
    Py_BEGIN_ALLOW_THREADS done = pel_attempt(in->ctx, decompile_body, &call, &err);
    Py_END_ALLOW_THREADS return done ? give_result(&call, in->objects) : pel_ext_raise_err(&err, NULL);
}

PyDoc_STRVAR(decompile_code_doc,
             "decompile_code(code, *, width=100, lines=False, one_line=False, spell=None)\n--\n\n"
             "(source, incomplete, objects, lines) of a code object of this Python: its source, the\n"
             "(name, reason) of each code object without structure, the constants that the source\n"
             "names __pellucid_const_N__, and, if asked for, per code object (in the order of a walk\n"
             "over constants) the (offset, line) of each instruction. With one_line a simple statement\n"
             "takes one line, however long. spell(object) may return an expression for a constant\n"
             "without a literal, to be written in place of its name.");

static PyObject *decompile_code(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = { "code", "width", "lines", "one_line", "spell", NULL };
    pel_print_options print = { .width = 100, .version = PY_MINOR_VERSION };
    int lines = 0, one_line = 0;
    importer in = { 0 };
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|$ippO:decompile_code", names, &PyCode_Type, &in.root,
                                     &print.width, &lines, &one_line, &in.spell))
        return NULL;
    print.set_positions = lines;
    print.one_line = one_line;
    if (in.spell == Py_None) in.spell = NULL;
    PyObject *result = NULL;
    in.keep = PyList_New(0);
    in.objects = PyList_New(0);
    in.ctx = in.keep && in.objects ? pel_ext_open() : NULL;
    if (in.ctx) result = decompile_imported(&in, &print);
    pellucid_close(in.ctx);
    Py_XDECREF(in.keep);
    Py_XDECREF(in.objects);
    return result;
}

PyDoc_STRVAR(decompile_bytes_doc,
             "decompile_bytes(data, *, marshal=None, width=100, json=False, filename=None)\n--\n\n"
             "Source for a .pyc file, or for marshalled code of the Python 3.X that marshal names\n"
             "by its minor number; as JSON with the line map if asked for.");

/* Other threads run while the bytes are read. The buffer is held until the end, so none of them can resize a bytearray
 * meanwhile. */
static PyObject *decompile_bytes(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = { "data", "marshal", "width", "json", "filename", NULL };
    Py_buffer data;
    int python = 0, json = 0;
    pel_decompile_options options = { .width = 100 };
    const char *file = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y*|$iipz:decompile_bytes", names, &data, &python, &options.width,
                                     &json, &file))
        return NULL;
    options.python = python;
    options.as_json = json;
    PyObject *result = NULL;
    pel_ctx *ctx = pel_ext_open();
    if (ctx) {
        pel_text text;
        pel_error error;
        bool done;
        Py_BEGIN_ALLOW_THREADS done =
            pellucid_decompile(ctx, (pel_text){ data.buf, (size_t)data.len }, &options, &text, NULL, &error);
        Py_END_ALLOW_THREADS result = done ? pel_ext_str(text) : pel_ext_raise(&error, file);
        pellucid_close(ctx);
    }
    PyBuffer_Release(&data);
    return result;
}

PyMethodDef pel_ext_code_methods[] = {
    { "decompile_code", (PyCFunction)(void (*)(void))decompile_code, METH_VARARGS | METH_KEYWORDS, decompile_code_doc },
    { "decompile_bytes", (PyCFunction)(void (*)(void))decompile_bytes, METH_VARARGS | METH_KEYWORDS,
      decompile_bytes_doc },
    { NULL, NULL, 0, NULL },
};
