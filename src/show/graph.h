/* The data flow of a network as nested graphs, one for each module that has parts, each in layers. */
#ifndef PEL_SHOW_GRAPH_H
#define PEL_SHOW_GRAPH_H

#include "base/json.h"
#include "show/layers.h"
#include "show/show.h"

/* One module's graph. Vertices: its parts, then what it gets from outside, then what it gives, then bends. */
typedef struct pel_graph {
    uint32_t module; /* its number: parents first, in the order of the tree */
    uint32_t n_parts;
    uint32_t *part_first, *part_n; /* numbers of children: equal neighbours are one part */
    uint32_t *flow;                /* for each edge of layers: the first of the network's flow that it is made of */
    uint32_t *times;               /* and of how many */
    pel_layers layers;
} pel_graph;

typedef struct pel_graphs {
    PEL_VEC(pel_graph) folded; /* in the order of the modules; those without flow between their parts are not there */
    PEL_VEC(pel_graph) whole;  /* no neighbours are one; only of modules where that is another graph */
    uint64_t left_out;         /* rows of the flow that lead from or to what is no module here */
} pel_graphs;

void pel_graphs_of(pel_ctx *ctx, const pel_network *network, pel_graphs *out);

/* {"left_out": 0, "folded": {"0": GRAPH, ...}, "whole": {...}}; null for a network without flow. GRAPH: {"parts":
 * [first, n, ...] unless each is one child, "ranks": [[vertex, ...], ...], "edges": [[from, to, row of the flow, how
 * many rows, 0 or 1: back or 2: long, first bend, bends], ...]}. */
void pel_graphs_json(pel_ctx *ctx, const pel_network *network, pel_json *json);

#endif
