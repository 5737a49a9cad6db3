/* Python objects, for the library. */
#ifndef PEL_EXT_CONVERT_H
#define PEL_EXT_CONVERT_H

#include "ext.h"

#include "bytecode/code.h"

/* UTF-8 with lone surrogates as three bytes, copied into the arena. Throws; leaves no Python error behind. */
pel_str pel_ext_text(pel_ctx *ctx, PyObject *text);
pel_name pel_ext_name(pel_ctx *ctx, PyObject *text);

/* An int, float, complex, str or bytes of exactly that type. Throws; leaves no Python error behind. */
const pel_const *pel_ext_const(pel_ctx *ctx, PyObject *object);

/* A code object as the library knows it, nested ones included. Throws; a Python exception may be set then. What is
 * fetched on the way is appended to the list keep; constants without a literal go to the list objects, and their number
 * is the index there. */
pel_code_object *pel_ext_import_code(pel_ctx *ctx, PyObject *code, PyObject *keep, PyObject *objects);

#endif
