/* Skeletons as Python objects. */
#ifndef PEL_EXT_SKELETON_H
#define PEL_EXT_SKELETON_H

#include "ext.h"

#include "trace/program.h"

/* (source, name of the root class, a dict that tells how it was made) */
PyObject *pel_ext_skeleton(const pel_skeleton *skeleton);

#endif
