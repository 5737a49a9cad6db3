/* One expression for many: what is equal in all of them stays, what differs becomes a name.
 *
 * The constructors of a class's instances are compared this way: nn.Linear(64, 128) and
 * nn.Linear(128, 256) give nn.Linear(in_features, out_features) and the values that each instance has
 * for the two names. Lists of calls become comprehensions by the same comparison, their elements
 * being compared with each other. */
#ifndef PEL_TRACE_UNIFY_H
#define PEL_TRACE_UNIFY_H

#include "python/ast.h"

/* Marks on keyword nodes of constructor calls. All arguments are keywords until pel_unify_polish. */
enum {
    PEL_ARG_DEFAULT = 1,    /* the value is the signature's default: left out if it is so in all lanes */
    PEL_ARG_POSITIONAL = 2, /* to be written without its name */
};

/* Marks on calls. */
enum {
    PEL_CALL_BUILDS = 1, /* makes something that must not be made twice or shared: a module, a parameter */
    PEL_CALL_OPAQUE = 2, /* not to be looked into: differs by definition (a class that contains itself) */
};

typedef struct pel_hole {
    pel_name name;
    pel_node **values; /* one for each lane */
    bool *open;        /* lanes that have no use for it: any value would do there; NULL: none */
} pel_hole;

typedef struct pel_unifier {
    pel_ctx *ctx;
    uint32_t n_lanes;
    PEL_VEC(pel_hole) holes;
    const char *prefix;               /* tells two holes apart that want the same name: "conv1" */
    const struct pel_unifier *around; /* a comprehension's variables must not hide the names outside */
    PEL_VEC(pel_name) busy;           /* names that comprehensions use for their variables */
    PEL_VEC(pel_hole) known;          /* names that the author has for such values, to be preferred */
    const pel_node *author;           /* what stands in the author's constructor where this is unified, or NULL */
} pel_unifier;

/* lanes: as many expressions as the unifier has lanes. hint: the name that a hole would like to have. */
pel_node *pel_unify(pel_unifier *unifier, pel_node *const *lanes, pel_name hint);

/* Constructor calls as people write them: no defaults, the first arguments without their names. */
void pel_unify_polish(pel_ctx *ctx, pel_node **slot);

#endif
