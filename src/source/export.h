/* A program of torch.export, between its JSON (export.c) and the methods of its modules (export_calls.c). */
#ifndef PEL_SOURCE_EXPORT_H
#define PEL_SOURCE_EXPORT_H

#include "source/source.h"

typedef PEL_VEC(pel_name) pel_values;

typedef struct pel_frame { /* one row of nn_module_stack */
    pel_name key;          /* names the call: a second one of a module has `@1` */
    pel_str path;
} pel_frame;

typedef struct pel_step { /* a node of the graph */
    pel_node *call;       /* of a Name "aten.linear.default" */
    pel_values results;   /* NULL: a result that nobody names */
    bool is_list;         /* one result, a list of these */
    uint64_t at;
    PEL_VEC(pel_frame) stack;
} pel_step;

typedef struct pel_steps {
    pel_step *at;
    uint32_t n, cap;
} pel_steps;

/* Inside of a graph that a node holds: what its names are outside. */
typedef struct pel_inner {
    pel_map names; /* inner -> pel_name */
    bool no_grad;
    struct pel_inner *outer;
} pel_inner;

typedef struct pel_export {
    pel_recovery *r;
    pel_inner *scope; /* NULL: the outermost graph */
    uint32_t n_inner; /* graphs that were read, for names */
    uint32_t n_assertions;
    pel_steps steps;
    pel_values inputs;  /* of the user's, in order */
    pel_node *output;   /* an expression of values */
    pel_map weights;    /* value -> pel_str *: its full name */
    pel_map weight_ids; /* full name -> number of its storage, where two names share one */
    pel_map names_of;   /* number of a storage -> pel_values *: full names */
} pel_export;

/* Cuts the steps into calls of modules, and gives each module its methods. */
void pel_export_methods(pel_export *e);

#endif
