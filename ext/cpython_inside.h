/* CPython's own headers for its insides: code objects and frames. They are not as clean as ours. */
#ifndef PEL_EXT_CPYTHON_INSIDE_H
#define PEL_EXT_CPYTHON_INSIDE_H

#define Py_BUILD_CORE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_genobject.h>
#include <internal/pycore_instruments.h>
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#endif
