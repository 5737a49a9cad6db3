/* The layered order, in four steps: edges that close a cycle are turned around; each vertex gets the longest path to it
 * as its rank; edges over several ranks get a bend on each; and vertices change places in their ranks until fewer edges
 * cross. Nothing recurs, every loop has a bound. */
#include "show/layers.h"

#include <stdlib.h>

enum {
    BENDS_PER_VERTEX = 4, /* as many bends at most, and ... */
    BENDS_ANYHOW = 4096,  /* ... these */
    MOST_BENDS = 200000,  /* but never more: nobody could follow them */
    MOST_ROUNDS = 24,
    WORK = 30000000 /* edges looked at while vertices change places */
};

/* For each vertex, the vertices at the other ends of its edges. */
typedef struct nearby {
    uint32_t *start, *at;
} nearby;

typedef struct layering {
    pel_ctx *ctx;
    pel_layers *out;
    uint32_t *rank;    /* of every vertex, bends too */
    uint32_t n_pieces; /* edges from a rank to the next */
    uint32_t *piece_from, *piece_to;
    nearby above, below; /* by pieces */
    uint32_t *place;     /* of every vertex in its rank */
} layering;

static uint32_t *numbers(pel_ctx *ctx, uint64_t n) { return pel_alloc_array(ctx, n + 1, sizeof(uint32_t)); }

static nearby index_ends(pel_ctx *ctx, uint32_t n, uint32_t n_edges, const uint32_t *from, const uint32_t *to) {
    nearby made = { numbers(ctx, (uint64_t)n + 1), numbers(ctx, n_edges) };
    for (uint32_t i = 0; i < n_edges; i++) made.start[from[i] + 1]++;
    for (uint32_t v = 0; v < n; v++) made.start[v + 1] += made.start[v];
    uint32_t *next = numbers(ctx, n);
    memcpy(next, made.start, n * sizeof *next);
    for (uint32_t i = 0; i < n_edges; i++) made.at[next[from[i]]++] = to[i];
    return made;
}

/* The upper end of an edge, and the lower one. */
static uint32_t upper(const pel_layers_edge *e) { return e->is_back ? e->to : e->from; }
static uint32_t lower(const pel_layers_edge *e) { return e->is_back ? e->from : e->to; }

static nearby index_edges(pel_ctx *ctx, const pel_layers *g, bool is_up) {
    uint32_t *from = numbers(ctx, g->n_edges), *to = numbers(ctx, g->n_edges);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        from[i] = is_up ? lower(&g->edges[i]) : upper(&g->edges[i]);
        to[i] = is_up ? upper(&g->edges[i]) : lower(&g->edges[i]);
    }
    return index_ends(ctx, g->n_vertices, g->n_edges, from, to);
}

/* ---- cycles ---- */

enum { NEW, ON_WAY, DONE };

/* Depth first from v: an edge to a vertex that the way has passed closes a cycle. `out` has the numbers of the edges,
 * by where they begin. */
static void walk(layering *l, const nearby *out, uint32_t *state, uint32_t *next, uint32_t *way, uint32_t v) {
    uint32_t n = 0;
    if (state[v] != NEW) return;
    state[v] = ON_WAY;
    way[n++] = v;
    while (n) {
        uint32_t at = way[n - 1];
        if (next[at] == out->start[at + 1]) {
            state[at] = DONE;
            n--;
            continue;
        }
        pel_layers_edge *e = &l->out->edges[out->at[next[at]++]];
        if (state[e->to] == ON_WAY) {
            e->is_back = true;
            l->out->n_back++;
        } else if (state[e->to] == NEW) {
            state[e->to] = ON_WAY;
            way[n++] = e->to;
        }
    }
}

/* Begins where the network begins, then where nothing leads to, then anywhere, each in the order given. */
static void turn_cycles(layering *l) {
    pel_layers *g = l->out;
    uint32_t n = g->n_vertices;
    uint32_t *from = numbers(l->ctx, g->n_edges), *number = numbers(l->ctx, g->n_edges);
    uint32_t *state = numbers(l->ctx, n), *next = numbers(l->ctx, n), *way = numbers(l->ctx, n);
    bool *is_fed = pel_alloc_array(l->ctx, (uint64_t)n + 1, sizeof *is_fed);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        from[i] = g->edges[i].from;
        number[i] = i;
        is_fed[g->edges[i].to] = true;
    }
    nearby out = index_ends(l->ctx, n, g->n_edges, from, number);
    memcpy(next, out.start, n * sizeof *next);
    if (g->first != PEL_NO_VERTEX) walk(l, &out, state, next, way, g->first);
    for (uint32_t v = 0; v < n; v++)
        if (!is_fed[v]) walk(l, &out, state, next, way, v);
    for (uint32_t v = 0; v < n; v++) walk(l, &out, state, next, way, v);
}

/* ---- ranks ---- */

/* Every vertex after all that lead to it: the order in which they can be. */
static uint32_t *sorted(layering *l, const nearby *above, const nearby *below) {
    uint32_t n = l->out->n_vertices, end = 0;
    uint32_t *order = numbers(l->ctx, n), *waits = numbers(l->ctx, n);
    for (uint32_t v = 0; v < n; v++) {
        waits[v] = above->start[v + 1] - above->start[v];
        if (!waits[v]) order[end++] = v;
    }
    for (uint32_t i = 0; i < end; i++)
        for (uint32_t k = below->start[order[i]]; k < below->start[order[i] + 1]; k++)
            if (--waits[below->at[k]] == 0) order[end++] = below->at[k];
    PEL_ASSERT(end == n); /* else a cycle is left */
    return order;
}

static bool is_loose(const nearby *above, const nearby *below, uint32_t v) {
    return above->start[v] == above->start[v + 1] && below->start[v] == below->start[v + 1];
}

/* Longest path; then what has more edges down than up goes down as far as it can, so that a constant is where it is
 * used. The first vertex has rank 0 to itself, the last the last. */
static void choose_ranks(layering *l) {
    pel_layers *g = l->out;
    uint32_t n = g->n_vertices, most = 0;
    nearby above = index_edges(l->ctx, g, true), below = index_edges(l->ctx, g, false);
    uint32_t *order = sorted(l, &above, &below);
    bool is_headed = g->first != PEL_NO_VERTEX && !is_loose(&above, &below, g->first);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = order[i], rank = is_headed && v != g->first;
        for (uint32_t k = above.start[v]; k < above.start[v + 1]; k++)
            if (l->rank[above.at[k]] >= rank) rank = l->rank[above.at[k]] + 1;
        l->rank[v] = rank;
        if (v != g->last && !is_loose(&above, &below, v) && rank > most) most = rank;
    }
    for (uint32_t i = n; i--;) {
        uint32_t v = order[i], n_up = above.start[v + 1] - above.start[v], n_down = below.start[v + 1] - below.start[v];
        if (v == g->first || n_down <= n_up) continue;
        uint32_t least = UINT32_MAX;
        for (uint32_t k = below.start[v]; k < below.start[v + 1]; k++)
            if (below.at[k] != g->last && l->rank[below.at[k]] < least) least = l->rank[below.at[k]];
        if (least != UINT32_MAX && least - 1 > l->rank[v]) l->rank[v] = least - 1;
    }
    g->n_ranks = g->n_edges ? most + 1 : 0;
    if (g->last != PEL_NO_VERTEX && !is_loose(&above, &below, g->last)) l->rank[g->last] = g->n_ranks++;
    for (uint32_t v = 0; v < n; v++) {
        if (!is_loose(&above, &below, v)) continue;
        l->rank[v] = PEL_NO_VERTEX;
        g->n_loose++;
    }
}

/* ---- bends ---- */

static uint32_t span_of(const layering *l, const pel_layers_edge *e) { return l->rank[lower(e)] - l->rank[upper(e)]; }

typedef struct span {
    uint32_t edge, length;
} span;

static int by_length(const void *a, const void *b) {
    const span *first = a, *second = b;
    if (first->length != second->length) return first->length < second->length ? -1 : 1;
    return first->edge < second->edge ? -1 : first->edge > second->edge;
}

/* Short edges get their bends first: what is over the limit are the longest, which nobody could follow anyway. */
static void share_bends(layering *l) {
    pel_layers *g = l->out;
    uint64_t may = (uint64_t)BENDS_PER_VERTEX * ((uint64_t)g->n_vertices + g->n_edges) + BENDS_ANYHOW;
    if (may > MOST_BENDS) may = MOST_BENDS;
    span *spans = pel_new_array(l->ctx, (uint64_t)g->n_edges + 1, span);
    for (uint32_t i = 0; i < g->n_edges; i++) spans[i] = (span){ i, span_of(l, &g->edges[i]) };
    qsort(spans, g->n_edges, sizeof *spans, by_length);
    g->n_all = g->n_vertices;
    for (uint32_t i = 0; i < g->n_edges; i++) {
        pel_layers_edge *e = &g->edges[spans[i].edge];
        uint32_t wants = spans[i].length - 1;
        e->is_long = wants > may || wants > UINT32_MAX / 2 - g->n_all;
        g->n_long += e->is_long;
        if (e->is_long) continue;
        may -= wants;
        e->bend = g->n_all;
        e->n_bends = wants;
        g->n_all += wants;
    }
}

/* Ranks of the bends, and the pieces that edges are made of. */
static void make_pieces(layering *l) {
    pel_layers *g = l->out;
    uint64_t n = (uint64_t)g->n_edges + (g->n_all - g->n_vertices);
    uint32_t *rank = numbers(l->ctx, g->n_all);
    memcpy(rank, l->rank, g->n_vertices * sizeof *rank);
    l->rank = rank;
    l->piece_from = numbers(l->ctx, n);
    l->piece_to = numbers(l->ctx, n);
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const pel_layers_edge *e = &g->edges[i];
        uint32_t at = upper(e);
        for (uint32_t k = 0; k < e->n_bends; k++) {
            uint32_t bend = e->bend + (e->is_back ? e->n_bends - 1 - k : k);
            rank[bend] = rank[at] + 1;
            l->piece_from[l->n_pieces] = at;
            l->piece_to[l->n_pieces++] = bend;
            at = bend;
        }
        if (e->is_long) continue;
        l->piece_from[l->n_pieces] = at;
        l->piece_to[l->n_pieces++] = lower(e);
    }
    l->below = index_ends(l->ctx, g->n_all, l->n_pieces, l->piece_from, l->piece_to);
    l->above = index_ends(l->ctx, g->n_all, l->n_pieces, l->piece_to, l->piece_from);
}

/* ---- order ---- */

/* A first order: depth first from the top, so that what belongs together is together. */
static void first_order(layering *l) {
    pel_layers *g = l->out;
    uint32_t *way = numbers(l->ctx, (uint64_t)g->n_all + l->n_pieces), n = 0;
    bool *is_seen = pel_alloc_array(l->ctx, (uint64_t)g->n_all + 1, sizeof *is_seen);
    g->start = numbers(l->ctx, (uint64_t)g->n_ranks + 1);
    g->order = numbers(l->ctx, g->n_all);
    for (uint32_t v = 0; v < g->n_all; v++)
        if (l->rank[v] != PEL_NO_VERTEX) g->start[l->rank[v] + 1]++;
    for (uint32_t r = 0; r < g->n_ranks; r++) g->start[r + 1] += g->start[r];
    uint32_t *next = numbers(l->ctx, g->n_ranks);
    memcpy(next, g->start, g->n_ranks * sizeof *next);
    for (uint32_t round = 0; round < 2; round++) /* from the tops; then what only long edges lead to */
        for (uint32_t v = 0; v < g->n_all; v++) {
            if (l->rank[v] == PEL_NO_VERTEX || is_seen[v] || (!round && l->above.start[v + 1] > l->above.start[v]))
                continue;
            way[n++] = v;
            while (n) {
                uint32_t at = way[--n];
                if (is_seen[at]) continue;
                is_seen[at] = true;
                l->place[at] = next[l->rank[at]] - g->start[l->rank[at]];
                g->order[next[l->rank[at]]++] = at;
                for (uint32_t k = l->below.start[at + 1]; k-- > l->below.start[at];)
                    if (!is_seen[l->below.at[k]]) way[n++] = l->below.at[k];
            }
        }
}

static int by_number(const void *a, const void *b) {
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

/* Crossings between a rank and the next: for each piece, from left to right, how many before it end further right. A
 * Fenwick tree counts them. */
static uint64_t crossings_below(layering *l, uint32_t rank, uint32_t *tree, uint32_t *ends) {
    const pel_layers *g = l->out;
    uint32_t width = g->start[rank + 2] - g->start[rank + 1], so_far = 0;
    uint64_t found = 0;
    memset(tree, 0, (width + 1) * sizeof *tree);
    for (uint32_t i = g->start[rank]; i < g->start[rank + 1]; i++) {
        uint32_t v = g->order[i], n = 0;
        for (uint32_t k = l->below.start[v]; k < l->below.start[v + 1]; k++) ends[n++] = l->place[l->below.at[k]];
        qsort(ends, n, sizeof *ends, by_number);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t passed = 0;
            for (uint32_t at = ends[k] + 1; at; at &= at - 1) passed += tree[at];
            found += so_far - passed;
        }
        for (uint32_t k = 0; k < n; k++, so_far++)
            for (uint32_t at = ends[k] + 1; at <= width; at += at & -at) tree[at]++;
    }
    return found;
}

static uint64_t crossings(layering *l, uint32_t *tree, uint32_t *ends) {
    uint64_t found = 0;
    for (uint32_t r = 0; r + 1 < l->out->n_ranks; r++) found += crossings_below(l, r, tree, ends);
    return found;
}

typedef struct wish {
    double at;
    uint32_t vertex, place;
} wish;

static int by_wish(const void *a, const void *b) {
    const wish *first = a, *second = b;
    if (first->at != second->at) return first->at < second->at ? -1 : 1;
    return first->place < second->place ? -1 : first->place > second->place;
}

/* The middle of its neighbours; what has none stays where it is. */
static double middle_of(const layering *l, const nearby *near, uint32_t v, double own) {
    uint32_t n = near->start[v + 1] - near->start[v];
    double sum = 0;
    for (uint32_t k = near->start[v]; k < near->start[v + 1]; k++) sum += l->place[near->at[k]];
    return n ? sum / n : own;
}

static void sort_rank(layering *l, uint32_t rank, const nearby *near, wish *wishes) {
    pel_layers *g = l->out;
    uint32_t first = g->start[rank], n = g->start[rank + 1] - first;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = g->order[first + i];
        wishes[i] = (wish){ middle_of(l, near, v, i), v, i };
    }
    qsort(wishes, n, sizeof *wishes, by_wish);
    for (uint32_t i = 0; i < n; i++) {
        g->order[first + i] = wishes[i].vertex;
        l->place[wishes[i].vertex] = i;
    }
}

/* Goes down and up, and keeps the best order that it came by. */
static void lessen_crossings(layering *l) {
    pel_layers *g = l->out;
    uint32_t rounds = WORK / (l->n_pieces + g->n_all + 1), in_vain = 0;
    if (rounds > MOST_ROUNDS) rounds = MOST_ROUNDS;
    uint32_t *tree = numbers(l->ctx, g->n_all), *ends = numbers(l->ctx, l->n_pieces);
    uint32_t *best = numbers(l->ctx, g->n_all), n = g->start[g->n_ranks];
    wish *wishes = pel_new_array(l->ctx, (uint64_t)g->n_all + 1, wish);
    uint64_t least = crossings(l, tree, ends);
    memcpy(best, g->order, n * sizeof *best);
    for (uint32_t round = 0; least && round < rounds && in_vain < 6; round++) {
        for (uint32_t r = 1; r < g->n_ranks; r++)
            if (round % 2)
                sort_rank(l, g->n_ranks - 1 - r, &l->below, wishes);
            else
                sort_rank(l, r, &l->above, wishes);
        uint64_t now = crossings(l, tree, ends);
        in_vain = now < least ? 0 : in_vain + 1;
        if (now >= least) continue;
        least = now;
        memcpy(best, g->order, n * sizeof *best);
    }
    memcpy(g->order, best, n * sizeof *best);
}

void pel_layers_lay(pel_ctx *ctx, pel_layers *layers) {
    layering l = { .ctx = ctx, .out = layers, .rank = numbers(ctx, layers->n_vertices) };
    layers->n_loose = layers->n_long = layers->n_back = 0;
    turn_cycles(&l);
    choose_ranks(&l);
    share_bends(&l);
    make_pieces(&l);
    l.place = numbers(ctx, layers->n_all);
    first_order(&l);
    if (layers->n_ranks > 1) lessen_crossings(&l);
}

/* ---- the checker ---- */

/* That each vertex with an edge is on one rank, and once. */
static const char *check_order(const pel_layers *g, uint32_t *rank) {
    for (uint32_t v = 0; v < g->n_all; v++) rank[v] = PEL_NO_VERTEX;
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        if (g->start[r] >= g->start[r + 1]) return "a rank is empty";
        for (uint32_t i = g->start[r]; i < g->start[r + 1]; i++) {
            if (g->order[i] >= g->n_all) return "what is on a rank is no vertex";
            if (rank[g->order[i]] != PEL_NO_VERTEX) return "a vertex is there twice";
            rank[g->order[i]] = r;
        }
    }
    uint32_t n_loose = 0;
    for (uint32_t v = 0; v < g->n_all; v++) n_loose += rank[v] == PEL_NO_VERTEX;
    return n_loose == g->n_loose ? NULL : "a vertex is on no rank";
}

const char *pel_layers_check(pel_ctx *ctx, const pel_layers *g) {
    uint32_t *rank = numbers(ctx, g->n_all);
    const char *wrong = check_order(g, rank);
    for (uint32_t i = 0; !wrong && i < g->n_edges; i++) {
        const pel_layers_edge *e = &g->edges[i];
        uint32_t down = e->is_back ? UINT32_MAX : 1, at = rank[e->from]; /* one rank a step */
        if (at == PEL_NO_VERTEX || rank[e->to] == PEL_NO_VERTEX) return "an end of an edge is on no rank";
        if (e->is_back ? rank[e->to] >= at : rank[e->to] <= at) return "an edge goes the wrong way";
        if (e->is_long) continue;
        for (uint32_t k = 0; k < e->n_bends; k++)
            if (rank[e->bend + k] != (at += down)) return "a bend is on the wrong rank";
        if (rank[e->to] != at + down) return "an edge misses a rank";
    }
    if (wrong || !g->n_ranks) return wrong;
    if (g->first != PEL_NO_VERTEX && rank[g->first] != PEL_NO_VERTEX && (rank[g->first] != 0 || g->start[1] != 1))
        return "the first is not first";
    uint32_t last = g->n_ranks - 1;
    if (g->last != PEL_NO_VERTEX && rank[g->last] != PEL_NO_VERTEX &&
        (rank[g->last] != last || g->start[last + 1] - g->start[last] != 1))
        return "the last is not last";
    return NULL;
}
