#ifndef PEL_LOAD_COMPUTE_NAMES_H
#define PEL_LOAD_COMPUTE_NAMES_H

#include "base/base.h"

/* Whether an attribute of TensorFlow, Keras, NumPy, torch or JAX, of their arrays or of Python's own values, by that
 * name computes with its arguments and does nothing else; or is a module of such functions. */
bool pel_is_computing(pel_str attribute);

#endif
