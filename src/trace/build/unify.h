/* One expression for many: what is equal in all of them stays, what differs becomes a name.
 *
 * The constructors of a class's instances are compared this way: nn.Linear(64, 128) and
 * nn.Linear(128, 256) give nn.Linear(in_features, out_features) and the values that each instance has
 * for the two names. Lists of calls become comprehensions by the same comparison, their elements
 * being compared with each other. */
#ifndef PEL_TRACE_BUILD_UNIFY_H
#define PEL_TRACE_BUILD_UNIFY_H

#include "base/map.h"
#include "trace/depends/notes.h"

typedef struct pel_hole {
    pel_name name;
    pel_node **values; /* one for each lane */
    bool *open;        /* lanes that have no use for it: any value would do there; NULL: none */
    bool is_size;      /* stands where PEL_NOTE_SIZE is */
} pel_hole;

typedef struct pel_unifier {
    pel_ctx *ctx;
    pel_note_table *notes;
    uint32_t n_lanes;
    PEL_VEC(pel_hole) holes;
    const char *prefix;               /* tells two holes apart that want the same name: "conv1" */
    const struct pel_unifier *around; /* a comprehension's variables must not hide the names outside */
    PEL_VEC(pel_name) busy;           /* names that comprehensions use for their variables */
    PEL_VEC(pel_hole) known;          /* names that the author has for such values, to be preferred */
    bool is_size;                     /* what is unified is an argument with PEL_NOTE_SIZE */
    bool is_part;                     /* of what only some lanes have */
    bool begins_part;                 /* what is unified is the size that such a thing begins with */
    const pel_node *author;           /* what stands in the author's constructor where this is unified, or NULL */
    const pel_map *parameters;        /* class by name -> the parameters of the author's constructor */
} pel_unifier;

/* lanes: as many expressions as the unifier has lanes. hint: the name that a hole would like to have. */
pel_node *pel_unify(pel_unifier *unifier, pel_node *const *lanes, pel_name hint);

/* Holes whose values follow from those of others go; body: all that names them. */
void pel_derive_holes(pel_unifier *unifier, pel_nodes *body);

bool pel_is_no_identity(const pel_node *node); /* anything but nn.Identity() */

/* Constructor calls as people write them: no defaults, the first arguments without their names. */
void pel_unify_polish(pel_ctx *ctx, const pel_note_table *notes, pel_node **slot);

#endif
