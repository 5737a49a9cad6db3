/* Views of model trees. */
#include "ext.h"

PyDoc_STRVAR(view_doc, "view(json, view='tree', *, depth=0, unfolded=False, source='', coloured=False, width=0)\n--\n\n"
                       "A model tree (docs/model-json.md, str or bytes) as 'tree', 'table', 'svg', 'html' or 'json'.");

static int get_view(PyObject *object, void *address) {
    static const char *const names[] = { [PEL_VIEW_TREE] = "tree",
                                         [PEL_VIEW_TABLE] = "table",
                                         [PEL_VIEW_SVG] = "svg",
                                         [PEL_VIEW_HTML] = "html",
                                         [PEL_VIEW_JSON] = "json" };
    for (size_t i = 0; PyUnicode_Check(object) && i < PEL_COUNT(names); i++) {
        if (PyUnicode_CompareWithASCIIString(object, names[i]) != 0) continue;
        *(pel_view *)address = (pel_view)i;
        return 1;
    }
    PyErr_Format(PyExc_ValueError, "view must be 'tree', 'table', 'svg', 'html' or 'json', not %R", object);
    return 0;
}

/* A later argument may be wrong after an earlier one has taken its buffer, so both sources are released even where
 * parsing fails. The GIL is free while the view is made. */
static PyObject *view(PyObject *module, PyObject *args, PyObject *keywords) {
    (void)module;
    static char *names[] = { "json", "view", "depth", "unfolded", "source", "coloured", "width", NULL };
    pel_ext_source json = { .has_buffer = false }, source = { .has_buffer = false };
    pel_view_options options = { .view = PEL_VIEW_TREE };
    int unfolded = 0, coloured = 0;
    PyObject *result = NULL;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "O&|O&$ipO&pi:view", names, pel_ext_get_source, &json, get_view,
                                    &options.view, &options.depth, &unfolded, pel_ext_get_source, &source, &coloured,
                                    &options.width)) {
        pel_ctx *ctx = pel_ext_open();
        pel_text out;
        pel_error error;
        bool done = false;
        options.unfolded = unfolded != 0;
        options.coloured = coloured != 0;
        options.source = source.text;
        if (ctx) {
            Py_BEGIN_ALLOW_THREADS done = pellucid_view(ctx, json.text, &options, &out, &error);
            Py_END_ALLOW_THREADS result = done ? pel_ext_str(out) : pel_ext_raise(&error, NULL);
            pellucid_close(ctx);
        }
    }
    pel_ext_release_source(&json);
    pel_ext_release_source(&source);
    return result;
}

PyMethodDef pel_ext_model_methods[] = {
    { "view", (PyCFunction)(void (*)(void))view, METH_VARARGS | METH_KEYWORDS, view_doc },
    { NULL, NULL, 0, NULL },
};
