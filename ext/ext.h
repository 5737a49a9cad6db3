/* What the files of the extension share. Only here is Python.h included.
 *
 * A binding converts, unlocks, calls, converts. A file with bindings defines one PyMethodDef table (and,
 * if it has types or constants, one function that adds them) and is named in the two lists of module.c. */
#ifndef PEL_EXT_H
#define PEL_EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/ctx.h"
#include "pellucid.h"

/* pellucid.Error, with the attributes code, message, file, line, column and offset. */
extern PyObject *pel_ext_error_type;

/* Raises it; file may be NULL. Return NULL, for return statements. */
PyObject *pel_ext_raise(const pel_error *error, const char *file);
PyObject *pel_ext_raise_err(const pel_err *err, const char *file); /* for bindings on the internals */

/* Opens an analysis or raises MemoryError. */
pel_ctx *pel_ext_open(void);
/* UTF-8 (lone surrogates as three bytes) to str. */
PyObject *pel_ext_str(pel_text text);

/* Source as a str or as bytes. Release it with pel_ext_release_source. */
typedef struct pel_ext_source {
    pel_text text;
    bool is_utf8; /* it was a str */
    Py_buffer buffer;
    bool has_buffer;
} pel_ext_source;
int pel_ext_get_source(PyObject *object, void *source); /* a converter, for "O&" */
void pel_ext_release_source(pel_ext_source *source);

/* ---- what the files add to the module ---- */
extern PyMethodDef pel_ext_source_methods[];
extern PyMethodDef pel_ext_code_methods[];
extern PyMethodDef pel_ext_line_methods[];
extern PyMethodDef pel_ext_file_methods[];
extern PyMethodDef pel_ext_model_methods[];
extern PyMethodDef pel_ext_skeleton_methods[];
extern PyMethodDef pel_ext_trace_methods[];
int pel_ext_add_recorder(PyObject *module);

#endif
