/* Synthesis: a trace file becomes the source of a skeleton. */
#include "skeleton.h"

typedef struct synthesis {
    pel_str bytes;
    pel_known known;
    pel_log *log;
    pel_skeleton skeleton;
} synthesis;

static void run_synthesis(pel_ctx *ctx, void *arg) {
    synthesis *job = arg;
    job->log = pel_log_read(ctx, job->bytes);
    pel_synthesise_knowing(ctx, job->log, &job->known, &job->skeleton);
}

typedef struct reading {
    PyObject *rows, *names;
    synthesis *job;
} reading;

static void read_known(pel_ctx *ctx, void *arg) {
    const reading *r = arg;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(r->names); i++) {
        Py_ssize_t len;
        const char *name = PyUnicode_AsUTF8AndSize(PySequence_Fast_GET_ITEM(r->names, i), &len);
        if (!name) return;
        pel_push(ctx, &r->job->known.class_facts, ((pel_str){ name, (size_t)len }));
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(r->rows); i++) {
        PyObject *row = PySequence_Fast_GET_ITEM(r->rows, i);
        const char *path;
        Py_ssize_t len;
        unsigned line;
        if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "s#I", &path, &len, &line)) return;
        pel_push(ctx, &r->job->known.retreats, ((pel_retreat){ { path, (size_t)len }, line }));
    }
}

static const char *const remark_kinds[] = {
    [PEL_REMARK_FALLBACK] = "fallback", [PEL_REMARK_REFUSED] = "refused", [PEL_REMARK_STEP] = "step"
};

static PyObject *str_of(pel_str s) {
    return PyUnicode_DecodeUTF8(s.ptr ? s.ptr : "", (Py_ssize_t)s.len, "surrogatepass");
}

/* {name in the output, with its class: (file, line) of the author's function} */
static PyObject *origins_of(const pel_program *program) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < program->functions.n; i++) {
        const pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def || !function->code) continue;
        const pel_log_code *row = &program->log->codes.at[function->code];
        const char *class = "", *dot = "";
        for (uint32_t k = 0; function->class && k < program->classes.n; k++)
            if (program->classes.at[k]->class == function->class) {
                class = program->classes.at[k]->name->text;
                dot = ".";
            }
        PyObject *name = PyUnicode_FromFormat("%s%s%s", class, dot, function->name->text);
        PyObject *origin =
            Py_BuildValue("(Ni)", str_of(program->log->files.at[row->file].path), row->code->firstlineno);
        if (!name || !origin || PyDict_SetItem(dict, name, origin) != 0) Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(origin);
    }
    return dict;
}

/* {name in the output: (module, qualified name) of the author's class} */
static PyObject *class_origins_of(const pel_program *program) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < program->classes.n; i++) {
        const pel_program_class *class = program->classes.at[i];
        const pel_log_class *row = pel_class_at(program->log, class->class);
        PyObject *origin = Py_BuildValue("(NN)", str_of(row->module), str_of(row->qualname));
        if (!origin || PyDict_SetItemString(dict, class->name->text, origin) != 0) Py_CLEAR(dict);
        Py_XDECREF(origin);
    }
    return dict;
}

/* [(file, line)] of functions of the author's */
static PyObject *places_of(const pel_log *log, const pel_id *codes, uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        const pel_log_code *row = &log->codes.at[codes[i]];
        PyObject *place = Py_BuildValue("(Ni)", str_of(log->files.at[row->file].path), row->code->firstlineno);
        if (!place || PyList_Append(list, place) != 0) Py_CLEAR(list);
        Py_XDECREF(place);
    }
    return list;
}

/* [(kind, text, file, line)] */
static PyObject *remarks_of(const pel_program *program) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < program->said.remarks.n; i++) {
        const pel_remark *remark = &program->said.remarks.at[i];
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
    PyObject *remarks = remarks_of(program), *origins = origins_of(program), *classes = class_origins_of(program),
             *roundabout = places_of(program->log, program->said.roundabout.at, program->said.roundabout.n);
    if (!remarks || !origins || !classes || !roundabout) {
        Py_XDECREF(remarks);
        Py_XDECREF(origins);
        Py_XDECREF(classes);
        Py_XDECREF(roundabout);
        return NULL;
    }
    return Py_BuildValue("(Ns#{s:I,s:I,s:I,s:I,s:N,s:N,s:N,s:N})", str_of(skeleton->source), program->root->text,
                         (Py_ssize_t)program->root->len, "functions", n_functions, "from_source", n_from_source,
                         "classes", program->classes.n, "embedded", program->embedded.n, "remarks", remarks, "origins",
                         origins, "class_origins", classes, "roundabout", roundabout);
}

PyDoc_STRVAR(synthesise_doc,
             "synthesise(trace, without=(), class_facts=())\n--\n\n"
             "The skeleton of what a trace file (bytes) holds: its source, the name of its root class,\n"
             "and a dict that tells how it was made. without: (file, line) of functions of the author's that are\n"
             "written as the calls of torch they made; of one that is given again, less is kept. class_facts:\n"
             "classes, as module.qualname, whose own train() does what nn.Module's does.");

static PyObject *synthesise(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer trace;
    PyObject *without = NULL, *plain = NULL;
    if (!PyArg_ParseTuple(args, "y*|OO:synthesise", &trace, &without, &plain)) return NULL;
    PyObject *rows = without ? PySequence_Fast(without, "without is a sequence") : PyTuple_New(0);
    PyObject *names = plain ? PySequence_Fast(plain, "class_facts is a sequence") : PyTuple_New(0);
    pel_ctx *ctx = rows && names ? pel_ext_open() : NULL;
    synthesis job = { .bytes = { trace.buf, (size_t)trace.len } };
    pel_err err;
    bool done = ctx && pel_attempt(ctx, read_known, &(reading){ rows, names, &job }, &err);
    if (!done || PyErr_Occurred()) {
        if (ctx) pellucid_close(ctx);
        Py_XDECREF(rows);
        Py_XDECREF(names);
        PyBuffer_Release(&trace);
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    Py_BEGIN_ALLOW_THREADS done = pel_attempt(ctx, run_synthesis, &job, &err);
    Py_END_ALLOW_THREADS if (!done) err.line = 0; /* of one of many files: the message names it */
    PyObject *result = done ? pel_ext_skeleton(&job.skeleton) : pel_ext_raise_err(&err, NULL);
    pellucid_close(ctx);
    Py_DECREF(rows);  /* the paths lived in it, */
    Py_DECREF(names); /* and the names in this one */
    PyBuffer_Release(&trace);
    return result;
}

PyMethodDef pel_ext_skeleton_methods[] = {
    { "synthesise", synthesise, METH_VARARGS, synthesise_doc },
    { NULL, NULL, 0, NULL },
};
