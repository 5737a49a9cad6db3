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

/* The statements of any code, as states: see states.c. l->c is as pel_normalise_as_laid makes it. */
pel_nodes pel_read_states(pel_lift *l);

/* Variables of our own: the values that a text needs names for. */
typedef struct pel_own_names {
    pel_map taken; /* PEL_KEY(name): names that the code and all code in it mention */
    pel_map ours;
    uint32_t n;
} pel_own_names;

pel_name pel_own_name(pel_ctx *ctx, pel_own_names *names, const char *prefix); /* another one */

/* The walk over one run of instructions, which flat.c and states.c share. */
typedef struct pel_flat_walk {
    pel_lift *l;
    bool *open; /* by guard */
    pel_own_names names;
    pel_map deleted; /* PEL_KEY(name): variables that may lose their value */
    pel_map bound;   /* PEL_KEY(name): variables of the code, and what it stores anywhere */
    int depth;
    uint32_t limit;  /* instructions from here on are of another run */
    bool is_careful; /* nothing is known of the code: variables may have no value, items may be no values */
} pel_flat_walk;

void pel_flat_begin(pel_flat_walk *f, pel_lift *l);
/* One instruction that is no jump. Returns how many after it are done, too. */
uint32_t pel_flat_step(pel_flat_walk *f, stack *s, uint32_t at);
/* The n deepest items can wait from here on, whatever is done. */
void pel_flat_spill(pel_flat_walk *f, stack *s, uint32_t n, uint32_t at);
/* A name of the language's own; fails where it has another meaning. */
pel_node *pel_flat_builtin(pel_flat_walk *f, const char *name);
/* The condition under which a jump is not taken. */
pel_node *pel_flat_stays(pel_lift *l, const pel_ins *ins, pel_node *value, uint32_t at);

/* ---- fold.c ---- */
/* Lists that values only pass through are not written, nor variables that only wait. */
void pel_fold_lists(pel_lift *l, pel_nodes *body, pel_own_names *names);

#endif
