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

/* Variables of our own: the values that a text needs names for. */
typedef struct pel_own_names {
    pel_map taken; /* PEL_KEY(name): names that the code and all code in it mention */
    pel_map ours;
    uint32_t n;
} pel_own_names;

pel_name pel_own_name(pel_ctx *ctx, pel_own_names *names, const char *prefix); /* another one */

/* ---- fold.c ---- */
/* Lists that values only pass through are not written, nor variables that only wait. */
void pel_fold_lists(pel_lift *l, pel_nodes *body, pel_own_names *names);

#endif
