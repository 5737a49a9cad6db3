/* Flow leads from module to module, wherever they are in the tree. Each row of it is one edge between parts of the
 * innermost module around both ends, and in every module on the way to an end one from outside or to outside. So every
 * module has a graph of its own, and whoever opens a module sees its graph in its box. */
#include "show/graph.h"

#include "base/map.h"
#include "show/words.h"

#include <stdlib.h>

#define FROM_OUTSIDE UINT32_MAX
#define TO_OUTSIDE (UINT32_MAX - 1)

typedef struct place { /* of a module in the tree */
    const pel_module *module;
    uint32_t parent, number; /* of its parent; its own in there */
    uint32_t depth;
    bool is_fed, gives; /* it has its edge from outside of its parent already, to there */
} place;

typedef struct raw { /* an edge between children of one module */
    uint32_t home, from, to, flow;
} raw;

typedef struct lifting {
    pel_ctx *ctx;
    const pel_network *network;
    PEL_VEC(place) places;
    pel_map numbers; /* full name, interned -> number of the module */
    PEL_VEC(raw) rows;
    uint32_t *start; /* of each module's rows, once they are in order */
    pel_graphs *out;
} lifting;

static void number_modules(lifting *l, const pel_module *module, pel_str path, uint32_t parent, uint32_t number,
                           uint32_t depth) {
    if (depth > PEL_SHOW_MAX_DEPTH)
        pel_throw(l->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_SHOW_MAX_DEPTH);
    uint32_t own = l->places.n;
    pel_push(l->ctx, &l->places, (place){ module, parent, number, depth, false, false });
    if (own) pel_map_set(l->ctx, &l->numbers, PEL_KEY(pel_intern_str(l->ctx, path)), own);
    for (uint32_t i = 0; i < module->children.n; i++) {
        pel_str full = pel_full_name(l->ctx, l->network, path, module->children.at[i]->name);
        number_modules(l, module->children.at[i], full, own, i, depth + 1);
    }
}

/* ---- lifting ---- */

static bool find(const lifting *l, pel_str path, bool is_port, uint32_t *number) {
    uint64_t found;
    if (pel_map_get(&l->numbers, PEL_KEY(pel_intern_str(l->ctx, path)), &found)) {
        *number = (uint32_t)found;
        return true;
    }
    *number = 0; /* the network's own input and output lie outside of its root */
    return is_port;
}

/* The edges in the modules between an end and the one around both, which is at `depth`: one from outside to a part or
 * from a part to outside, once. Gives the part of the one around both. */
static uint32_t climb(lifting *l, uint32_t at, uint32_t depth, uint32_t flow, bool is_end) {
    while (l->places.at[at].depth > depth + 1) {
        place *p = &l->places.at[at];
        bool *has = is_end ? &p->is_fed : &p->gives;
        if (!*has) {
            *has = true;
            raw row = { p->parent, is_end ? FROM_OUTSIDE : p->number, is_end ? p->number : TO_OUTSIDE, flow };
            pel_push(l->ctx, &l->rows, row);
        }
        at = p->parent;
    }
    return at;
}

static void lift_row(lifting *l, uint32_t flow) {
    const pel_flow *row = &l->network->flow.at[flow];
    bool is_input = pel_str_is(row->from, "input"), is_output = pel_str_is(row->to, "output");
    uint32_t a, b;
    if (!find(l, row->from, is_input, &a) || !find(l, row->to, is_output, &b)) {
        l->out->left_out++;
        return;
    }
    if (a == b) return; /* what a module gives itself */
    uint32_t x = a, y = b;
    while (x != y) { /* the innermost module around both */
        if (l->places.at[x].depth >= l->places.at[y].depth)
            x = l->places.at[x].parent;
        else
            y = l->places.at[y].parent;
    }
    uint32_t depth = l->places.at[x].depth;
    if (a != x) a = climb(l, a, depth, flow, false);
    if (b != x) b = climb(l, b, depth, flow, true);
    raw made = { x, a == x ? FROM_OUTSIDE : l->places.at[a].number, b == x ? TO_OUTSIDE : l->places.at[b].number,
                 flow };
    pel_push(l->ctx, &l->rows, made);
}

/* By module, in the order in which they came. */
static void sort_rows(lifting *l) {
    uint32_t n = l->places.n;
    l->start = pel_new_array(l->ctx, (uint64_t)n + 2, uint32_t);
    raw *sorted = pel_new_array(l->ctx, (uint64_t)l->rows.n + 1, raw);
    for (uint32_t i = 0; i < l->rows.n; i++) l->start[l->rows.at[i].home + 2]++;
    for (uint32_t m = 0; m < n; m++) l->start[m + 2] += l->start[m + 1];
    for (uint32_t i = 0; i < l->rows.n; i++) sorted[l->start[l->rows.at[i].home + 1]++] = l->rows.at[i];
    l->rows.at = sorted;
}

/* ---- one module's graph ---- */

/* For each child of a module, the children that feed it, or that it feeds: in order, each once. */
typedef struct ends {
    uint32_t *start, *n, *at;
} ends;

static int by_number(const void *a, const void *b) {
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

static ends index_rows(lifting *l, uint32_t number, bool is_fed) {
    uint32_t first = l->start[number], end = l->start[number + 1], n = l->places.at[number].module->children.n;
    ends made = { pel_new_array(l->ctx, (uint64_t)n + 2, uint32_t), pel_new_array(l->ctx, (uint64_t)n + 1, uint32_t),
                  pel_new_array(l->ctx, (uint64_t)(end - first) + 1, uint32_t) };
    for (int round = 0; round < 2; round++) { /* counts, then fills */
        for (uint32_t i = first; i < end; i++) {
            const raw *row = &l->rows.at[i];
            uint32_t own = is_fed ? row->to : row->from, other = is_fed ? row->from : row->to;
            if (own >= n) continue; /* outside */
            if (round)
                made.at[made.start[own] + made.n[own]++] = other;
            else
                made.start[own + 1]++;
        }
        for (uint32_t i = 0; !round && i < n; i++) made.start[i + 1] += made.start[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *list = made.at + made.start[i], kept = 0;
        if (made.n[i]) qsort(list, made.n[i], sizeof *list, by_number);
        for (uint32_t k = 0; k < made.n[i]; k++)
            if (!k || list[k] != list[k - 1]) list[kept++] = list[k];
        made.n[i] = kept;
    }
    return made;
}

/* Whether each end of a, but for `but`, is one of b. */
static bool all_in(const ends *of, uint32_t a, uint32_t b, uint32_t but) {
    const uint32_t *first = of->at + of->start[a], *second = of->at + of->start[b];
    uint32_t k = 0;
    for (uint32_t i = 0; i < of->n[a]; i++) {
        if (first[i] == but) continue;
        while (k < of->n[b] && second[k] < first[i]) k++;
        if (k == of->n[b] || second[k] != first[i]) return false;
    }
    return true;
}

static bool feeds(const ends *fed, uint32_t a, uint32_t b) {
    uint32_t n = fed->n[b];
    return n && bsearch(&a, fed->at + fed->start[b], n, sizeof a, by_number);
}

/* Equal neighbours may be one in a picture of the flow if they are links of a chain, with all else in common, or all is
 * common. Two that are merely equal stay two: one box for both would have the edges of both. */
static bool flows_alike(const ends *fed, const ends *gives, uint32_t a, uint32_t b) {
    if (feeds(fed, a, b)) return all_in(fed, b, a, a) && all_in(gives, a, b, b);
    return fed->n[a] == fed->n[b] && gives->n[a] == gives->n[b] && all_in(fed, a, b, TO_OUTSIDE) &&
           all_in(gives, a, b, FROM_OUTSIDE);
}

/* Children as parts; whole: each is one. Says whether some are folded. */
static bool make_parts(lifting *l, uint32_t number, bool is_whole, pel_graph *g, uint32_t *part_of) {
    const pel_module *module = l->places.at[number].module;
    const pel_tree_options options = { .unfolded = is_whole };
    const ends fed = index_rows(l, number, true), gives = index_rows(l, number, false);
    uint32_t n = module->children.n, run = 0;
    g->part_first = pel_new_array(l->ctx, (uint64_t)n + 1, uint32_t);
    g->part_n = pel_new_array(l->ctx, (uint64_t)n + 1, uint32_t);
    for (uint32_t i = 0; i < n; i++) { /* run: how many more are equal to the one before */
        bool is_more = run && flows_alike(&fed, &gives, i - 1, i);
        run = run ? run - 1 : pel_run_of(module, i, &options) - 1;
        if (!is_more) g->part_first[g->n_parts++] = i;
        part_of[i] = g->n_parts - 1;
        g->part_n[g->n_parts - 1]++;
    }
    return g->n_parts != n;
}

/* Edges between parts: each pair once. */
static void make_edges(lifting *l, uint32_t number, const uint32_t *part_of, pel_graph *g) {
    uint32_t first = l->start[number], n = l->start[number + 1] - first;
    pel_map known = { 0 };
    g->layers.edges = pel_new_array(l->ctx, (uint64_t)n + 1, pel_layers_edge);
    g->flow = pel_new_array(l->ctx, (uint64_t)n + 1, uint32_t);
    g->times = pel_new_array(l->ctx, (uint64_t)n + 1, uint32_t);
    for (uint32_t i = 0; i < n; i++) {
        const raw *row = &l->rows.at[first + i];
        uint32_t from = row->from == FROM_OUTSIDE ? g->n_parts : part_of[row->from];
        uint32_t to = row->to == TO_OUTSIDE ? g->n_parts + 1 : part_of[row->to];
        if (from == to) continue; /* between equal neighbours that are one */
        uint64_t key = (uint64_t)from << 32 | to;
        uint32_t at = (uint32_t)pel_map_find(&known, key, g->layers.n_edges);
        if (at == g->layers.n_edges) {
            pel_map_set(l->ctx, &known, key, at);
            g->layers.edges[g->layers.n_edges++] = (pel_layers_edge){ .from = from, .to = to };
            g->flow[at] = row->flow;
        }
        g->times[at]++;
    }
}

static bool make_graph(lifting *l, uint32_t number, bool is_whole, pel_graph *g) {
    const pel_module *module = l->places.at[number].module;
    uint32_t *part_of = pel_new_array(l->ctx, (uint64_t)module->children.n + 1, uint32_t);
    *g = (pel_graph){ .module = number };
    bool is_folded = make_parts(l, number, is_whole, g, part_of);
    make_edges(l, number, part_of, g);
    g->layers.n_vertices = g->n_parts + 2;
    g->layers.first = g->n_parts;
    g->layers.last = g->n_parts + 1;
    pel_layers_lay(l->ctx, &g->layers);
    return is_folded;
}

void pel_graphs_of(pel_ctx *ctx, const pel_network *network, pel_graphs *out) {
    lifting l = { .ctx = ctx, .network = network, .out = out };
    *out = (pel_graphs){ 0 };
    if (!network->root || !network->flow.n) return;
    number_modules(&l, network->root, (pel_str){ "", 0 }, 0, 0, 0);
    for (uint32_t i = 0; i < network->flow.n; i++) lift_row(&l, i);
    sort_rows(&l);
    for (uint32_t m = 0; m < l.places.n; m++) {
        pel_graph folded, whole;
        if (l.start[m] == l.start[m + 1]) continue;
        bool is_folded = make_graph(&l, m, false, &folded);
        pel_push(ctx, &out->folded, folded);
        if (!is_folded) continue;
        make_graph(&l, m, true, &whole);
        pel_push(ctx, &out->whole, whole);
    }
}

/* ---- JSON ---- */

static void put_graph(const pel_graph *g, pel_json *json) {
    const pel_layers *layers = &g->layers;
    pel_json_object(json);
    pel_json_key(json, "parts");
    pel_json_array(json);
    bool is_plain = true;
    for (uint32_t i = 0; i < g->n_parts; i++) is_plain &= g->part_n[i] == 1;
    for (uint32_t i = 0; !is_plain && i < g->n_parts; i++)
        pel_json_int(json, g->part_first[i]), pel_json_int(json, g->part_n[i]);
    pel_json_end_array(json);
    pel_json_key(json, "ranks");
    pel_json_array(json);
    for (uint32_t r = 0; r < layers->n_ranks; r++) {
        pel_json_array(json);
        for (uint32_t i = layers->start[r]; i < layers->start[r + 1]; i++) pel_json_int(json, layers->order[i]);
        pel_json_end_array(json);
    }
    pel_json_end_array(json);
    pel_json_key(json, "edges");
    pel_json_array(json);
    for (uint32_t i = 0; i < layers->n_edges; i++) {
        const pel_layers_edge *e = &layers->edges[i];
        const int64_t row[] = { e->from, e->to,     g->flow[i], g->times[i], e->is_long ? 2 : e->is_back,
                                e->bend, e->n_bends };
        pel_json_array(json);
        for (size_t k = 0; k < PEL_COUNT(row) - (e->n_bends ? 0 : 2); k++) pel_json_int(json, row[k]);
        pel_json_end_array(json);
    }
    pel_json_end_array(json);
    pel_json_end_object(json);
}

static void put_graphs(pel_ctx *ctx, const pel_graph *at, uint32_t n, pel_json *json) {
    pel_json_object(json);
    for (uint32_t i = 0; i < n; i++) {
        pel_json_key_str(json, pel_format(ctx, "%u", at[i].module));
        put_graph(&at[i], json);
    }
    pel_json_end_object(json);
}

void pel_graphs_json(pel_ctx *ctx, const pel_network *network, pel_json *json) {
    pel_graphs graphs;
    pel_graphs_of(ctx, network, &graphs);
    if (!graphs.folded.n) {
        pel_json_null(json);
        return;
    }
    pel_json_object(json);
    pel_json_key(json, "left_out"), pel_json_int(json, (int64_t)graphs.left_out);
    pel_json_key(json, "folded"), put_graphs(ctx, graphs.folded.at, graphs.folded.n, json);
    pel_json_key(json, "whole"), put_graphs(ctx, graphs.whole.at, graphs.whole.n, json);
    pel_json_end_object(json);
}
