/* Views of the model tree. Equal neighbours are folded into one. */
#ifndef PEL_SHOW_SHOW_H
#define PEL_SHOW_SHOW_H

#include "model/model.h"

typedef struct pel_tree_options {
    int depth;     /* levels to show below the root; 0: all, of a picture as many as can be looked at */
    bool unfolded; /* every repeated block, not one for all */
    bool coloured; /* for terminals */
    int width;     /* of a table, in columns; 0: any */
} pel_tree_options;

/* The hierarchy, a line for each module: name, class, arguments, tensors. */
void pel_show_tree(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out);
/* A row for each module: output shape, parameters, multiply-adds; then the sums. */
void pel_show_table(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out);
/* The architecture as a picture: boxes in boxes, and what flows between them. */
void pel_show_svg(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out);
/* One page that needs nothing else: the tree to open and search, with source (Python, may be empty) beside it. */
/* audit: what opening the file would do, if that is worth saying; else empty. */
void pel_show_page(pel_ctx *ctx, const pel_networks *networks, pel_str source, pel_str audit, pel_buf *out);

#endif
