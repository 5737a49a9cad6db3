/* Live code objects and constants, for the library. */
#ifndef PEL_EXT_CODE_OBJECT_H
#define PEL_EXT_CODE_OBJECT_H

#include "bytecode/code.h"
#include "ext.h"

/* The code object as the library knows it, nested ones included. Throws through ctx on errors of size or
 * depth; the Python error indicator is clear afterwards. `code` must be a PyCodeObject. */
pel_code_object *pel_ext_code(pel_ctx *ctx, PyObject *code);

/* A constant: None, bool, int, float, complex, str, bytes, Ellipsis and their exact types only; in co_consts also
 * tuples, frozensets and code. Anything else is a PEL_CONST_OBJECT whose number is its address. */
const pel_const *pel_ext_const(pel_ctx *ctx, PyObject *object);

/* UTF-8 with lone surrogates as three bytes, copied into the arena. */
pel_str pel_ext_text(pel_ctx *ctx, PyObject *text);
pel_name pel_ext_name(pel_ctx *ctx, PyObject *text);

#endif
