/* Code that no compiler laid out: see flat.c. */
#ifndef PEL_DECOMPILE_FLAT_H
#define PEL_DECOMPILE_FLAT_H

#include "decompile/lift.h"

/* Whether the stack is used as no compiler uses it: values wait there while something is deleted or thrown away, cells
 * and code objects are values like others. */
bool pel_is_juggled(const pel_canon *canon);

/* The statements of l->c, whatever its layout; they do the same in the same order, but are not what somebody wrote.
 * Throws PEL_E_INCOMPLETE where there are loops or handlers that do more than clean up. */
pel_nodes pel_read_flat(pel_lift *l);

#endif
