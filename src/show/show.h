/* Views of the model tree. */
#ifndef PEL_SHOW_SHOW_H
#define PEL_SHOW_SHOW_H

#include "model/model.h"

typedef struct pel_tree_options {
    int depth;     /* levels to show; 0: all */
    bool unfolded; /* every repeated block, not one for all */
} pel_tree_options;

/* The hierarchy, a line for each module: name, class, arguments, tensors. Equal neighbours are folded. */
void pel_show_tree(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out);

#endif
