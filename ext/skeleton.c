/* Synthesis: a trace file becomes the source of a skeleton. */
#include "skeleton.h"

typedef struct synthesis {
    pel_str bytes;
    pel_log *log;
    pel_skeleton skeleton;
} synthesis;

static void run_synthesis(pel_ctx *ctx, void *arg) {
    synthesis *job = arg;
    job->log = pel_log_read(ctx, job->bytes);
    pel_synthesise(ctx, job->log, &job->skeleton);
}

static const char *const remark_kinds[] = { [PEL_REMARK_FALLBACK] = "fallback", [PEL_REMARK_REFUSED] = "refused" };

static PyObject *str_of(pel_str s) {
    return PyUnicode_DecodeUTF8(s.ptr ? s.ptr : "", (Py_ssize_t)s.len, "surrogatepass");
}

/* [(kind, text, file, line)] */
static PyObject *remarks_of(const pel_program *program) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < program->remarks.n; i++) {
        const pel_remark *remark = &program->remarks.at[i];
        PyObject *row = Py_BuildValue("(sNNI)", remark_kinds[remark->kind], str_of(remark->text),
                                      str_of(program->log->files.at[remark->file].path), remark->line);
        if (!row || PyList_Append(list, row) != 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

PyObject *pel_ext_skeleton(const pel_skeleton *skeleton) {
    const pel_program *program = skeleton->program;
    unsigned n_functions = 0, n_from_source = 0;
    for (uint32_t i = 0; i < program->functions.n; i++) {
        const pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        n_functions++;
        n_from_source += function->from_source;
    }
    PyObject *remarks = remarks_of(program);
    if (!remarks) return NULL;
    return Py_BuildValue("(Ns#{s:I,s:I,s:I,s:I,s:N})", str_of(skeleton->source), program->root->text,
                         (Py_ssize_t)program->root->len, "functions", n_functions, "from_source", n_from_source,
                         "classes", program->classes.n, "embedded", program->embedded.n, "remarks", remarks);
}

PyDoc_STRVAR(synthesise_doc,
             "synthesise(trace)\n--\n\n"
             "The skeleton of what a trace file (bytes) holds: its source, the name of its root class,\n"
             "and a dict that tells how it was made.");

static PyObject *synthesise(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer trace;
    if (!PyArg_ParseTuple(args, "y*:synthesise", &trace)) return NULL;
    pel_ctx *ctx = pel_ext_open();
    if (!ctx) {
        PyBuffer_Release(&trace);
        return NULL;
    }
    synthesis job = { .bytes = { trace.buf, (size_t)trace.len } };
    pel_err err;
    bool done;
    Py_BEGIN_ALLOW_THREADS done = pel_attempt(ctx, run_synthesis, &job, &err);
    Py_END_ALLOW_THREADS if (!done) err.line = 0; /* of one of many files: the message names it */
    PyObject *result = done ? pel_ext_skeleton(&job.skeleton) : pel_ext_raise_err(&err, NULL);
    pellucid_close(ctx);
    PyBuffer_Release(&trace);
    return result;
}

PyMethodDef pel_ext_skeleton_methods[] = {
    { "synthesise", synthesise, METH_VARARGS, synthesise_doc },
    { NULL, NULL, 0, NULL },
};
