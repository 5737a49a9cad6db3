/* A layered order of a graph: which vertex is on which rank, and where in it. How large the vertices are is not asked,
 * so that whoever draws may open and close them. */
#ifndef PEL_SHOW_LAYERS_H
#define PEL_SHOW_LAYERS_H

#include "base/ctx.h"

#define PEL_NO_VERTEX UINT32_MAX

typedef struct pel_layers_edge {
    uint32_t from, to;
    bool is_back;           /* it leads up: the graph has a cycle */
    bool is_long;           /* it leads over so many ranks that it has no bends: it goes around */
    uint32_t bend, n_bends; /* vertices of its own on the ranks between its ends, from `from` to `to` */
} pel_layers_edge;

typedef struct pel_layers {
    uint32_t n_vertices; /* as given; from there on up to n_all are bends */
    uint32_t n_all;
    pel_layers_edge *edges;
    uint32_t n_edges;
    uint32_t first, last; /* a vertex that is alone on the first rank, on the last; PEL_NO_VERTEX: none */
    uint32_t n_ranks;
    uint32_t *start;  /* of each rank in order, and the end of the last */
    uint32_t *order;  /* every vertex that has an edge, rank by rank, from left to right */
    uint32_t n_loose; /* vertices without an edge are on no rank */
    uint32_t n_long, n_back;
} pel_layers;

/* Given: n_vertices, edges with from and to, n_edges, first, last. Loops and doubles must be gone. The same input gives
 * the same order, in time and memory that grow with vertices and edges: bends and rounds have limits. */
void pel_layers_lay(pel_ctx *ctx, pel_layers *layers);
/* What is wrong with it; NULL: nothing. */
const char *pel_layers_check(pel_ctx *ctx, const pel_layers *layers);

#endif
