/* Model files that a Python function reads. */
#include "ext.h"

PyDoc_STRVAR(
    look_doc,
    "look(read_at, size, *, name='', what='tree', etag='', max_bytes=0, memory=0, beside=None,\n"
    "     places=True)\n--\n\n"
    "The model tree ('tree') or the audit ('audit') of a file as JSON, and how many bytes and requests that\n"
    "took. read_at(offset, length) gives exactly that many bytes. beside(name) gives (read_at, size) of a file\n"
    "that lies beside it, or None. An exception of either is raised again. memory: bytes it may take; 0: 128 MiB.\n"
    "places=False: the tree need not say where tensors lie, which may save most of the requests.");

#define DEFAULT_MEMORY ((size_t)128 << 20) /* as the program has it */
#define MAX_BESIDE 4096                    /* shards of one model */

/* One file: its function, and the list of the files that were opened beside it. */
typedef struct python_source {
    pel_model_source source;
    PyObject *read_at; /* owned */
    struct python_source *next;
} python_source;

typedef struct python_file {
    python_source first;
    PyObject *beside; /* borrowed; may be None */
    python_source *others;
    unsigned n_others;
} python_file;

static bool read_python(void *arg, uint64_t offset, char *to, size_t length) {
    const python_source *from = arg;
    bool is_whole = false;
    PyObject *got = PyObject_CallFunction(from->read_at, "KK", (unsigned long long)offset, (unsigned long long)length);
    Py_buffer bytes;
    if (got && PyObject_GetBuffer(got, &bytes, PyBUF_SIMPLE) == 0) {
        is_whole = (size_t)bytes.len == length;
        if (is_whole)
            memcpy(to, bytes.buf, length);
        else
            PyErr_Format(PyExc_ValueError, "read_at(%llu, %zu) gave %zd bytes", (unsigned long long)offset, length,
                         bytes.len);
        PyBuffer_Release(&bytes);
    }
    Py_XDECREF(got);
    return is_whole;
}

static bool open_python(void *arg, pel_text name, pel_model_source **source) {
    python_file *file = arg;
    PyObject *read_at;
    unsigned long long size;
    if (file->beside == Py_None || PyErr_Occurred() || file->n_others == MAX_BESIDE) return false;
    PyObject *pair = PyObject_CallFunction(file->beside, "s#", name.ptr, (Py_ssize_t)name.len);
    if (!pair || pair == Py_None || !PyArg_ParseTuple(pair, "OK;beside must give (read_at, size)", &read_at, &size)) {
        Py_XDECREF(pair);
        return false;
    }
    python_source *made = PyMem_Calloc(1, sizeof *made);
    if (made) {
        *made = (python_source){ .read_at = Py_NewRef(read_at), .next = file->others };
        made->source = (pel_model_source){ .size = size, .read_at = read_python, .arg = made };
        file->others = made;
        file->n_others++;
        *source = &made->source;
    } else
        PyErr_NoMemory();
    Py_DECREF(pair);
    return made != NULL;
}

static void release(python_file *file, uint64_t *bytes, uint64_t *requests) {
    *bytes = file->first.source.n_bytes;
    *requests = file->first.source.n_requests;
    for (python_source *other = file->others, *next; other; other = next) {
        next = other->next;
        *bytes += other->source.n_bytes;
        *requests += other->source.n_requests;
        Py_DECREF(other->read_at);
        PyMem_Free(other);
    }
}

static PyObject *look(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = {
        "read_at", "size", "name", "what", "etag", "max_bytes", "memory", "beside", "places", NULL
    };
    python_file file = { .beside = Py_None };
    const char *name = "", *what = "tree", *etag = "";
    unsigned long long size, max_bytes = 0;
    Py_ssize_t memory = 0;
    int places = 1;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OK|$sssKnOp:look", names, &file.first.read_at, &size, &name,
                                     &what, &etag, &max_bytes, &memory, &file.beside, &places))
        return NULL;
    bool is_audit = strcmp(what, "audit") == 0;
    if (!is_audit && strcmp(what, "tree") != 0)
        return PyErr_Format(PyExc_ValueError, "what must be 'tree' or 'audit', not '%s'", what);
    pel_ctx *ctx = pellucid_open(&(pel_limits){ .memory = memory > 0 ? (size_t)memory : DEFAULT_MEMORY });
    if (!ctx) return PyErr_NoMemory();
    file.first.source = (pel_model_source){ .size = size,
                                            .read_at = read_python,
                                            .arg = &file.first,
                                            .etag = { etag, strlen(etag) },
                                            .max_bytes = max_bytes,
                                            .without_places = !places };
    pel_model_file model = {
        .name = { name, strlen(name) }, .source = &file.first.source, .source_beside = open_python, .arg = &file
    };
    pel_text out;
    pel_error error;
    /* The lock stays taken: the library calls back all the time. */
    bool done = is_audit ? pellucid_audit(ctx, &model, &(pel_audit_options){ .as_json = true }, &out, NULL, &error)
                         : pellucid_tree(ctx, &model, &(pel_view_options){ .view = PEL_VIEW_JSON }, &out, &error);
    uint64_t n_bytes, n_requests;
    release(&file, &n_bytes, &n_requests);
    PyObject *result = NULL;
    if (!PyErr_Occurred()) {
        PyObject *text = done ? pel_ext_str(out) : pel_ext_raise(&error, *name ? name : NULL);
        if (text) result = Py_BuildValue("NKK", text, (unsigned long long)n_bytes, (unsigned long long)n_requests);
    }
    pellucid_close(ctx);
    return result;
}

PyMethodDef pel_ext_file_methods[] = {
    { "look", (PyCFunction)(void (*)(void))look, METH_VARARGS | METH_KEYWORDS, look_doc },
    { NULL, NULL, 0, NULL },
};
