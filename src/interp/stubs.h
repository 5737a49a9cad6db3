/* Library models written in Python (src/interp/lib), embedded when the library is built. */
#ifndef PEL_INTERP_STUBS_H
#define PEL_INTERP_STUBS_H

#include <stddef.h>

typedef struct pel_stub {
    const char *path; /* "torch/__init__.py" */
    const char *text;
} pel_stub;

extern const pel_stub pel_stubs[]; /* ends with a row of NULL */

#endif
