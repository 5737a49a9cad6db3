/* Library models written in Python (src/interp/lib), embedded when the library is built. */
#ifndef PEL_INTERP_STUBS_H
#define PEL_INTERP_STUBS_H

#include "base/embedded.h"

extern const pel_embedded pel_stubs[];

#endif
