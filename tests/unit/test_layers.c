/* Layers of graphs: what is on a rank, what crosses, and what hostile graphs cost. */
#include "base/buf.h"
#include "check.h"
#include "show/graph.h"
#include "show/layers.h"

#include <time.h>

typedef struct pair {
    uint32_t from, to;
} pair;

static pel_layers lay(pel_ctx *ctx, uint32_t n, uint32_t first, uint32_t last, const pair *edges, uint32_t n_edges) {
    pel_layers made = { .n_vertices = n, .first = first, .last = last, .n_edges = n_edges };
    made.edges = pel_new_array(ctx, (uint64_t)n_edges + 1, pel_layers_edge);
    for (uint32_t i = 0; i < n_edges; i++)
        made.edges[i] = (pel_layers_edge){ .from = edges[i].from, .to = edges[i].to };
    pel_layers_lay(ctx, &made);
    const char *wrong = pel_layers_check(ctx, &made);
    CHECK_STR(pel_str_of(wrong ? wrong : "nothing"), "nothing");
    return made;
}

#define LAY(n, first, last, edges) lay(ctx, n, first, last, edges, PEL_COUNT(edges))

static pel_str text_of(pel_ctx *ctx, const pel_layers *g) {
    pel_buf out = pel_buf_in(ctx);
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        if (r) pel_put_c(&out, " | ");
        for (uint32_t i = g->start[r]; i < g->start[r + 1]; i++)
            pel_putf(&out, "%s%u", i > g->start[r] ? " " : "", g->order[i]);
    }
    return pel_buf_str(&out);
}

static void chain_and_residual(pel_ctx *ctx) {
    static const pair chain[] = { { 3, 0 }, { 0, 1 }, { 1, 2 }, { 2, 4 } };
    pel_layers g = LAY(5, 3, 4, chain);
    CHECK_STR(text_of(ctx, &g), "3 | 0 | 1 | 2 | 4");
    static const pair residual[] = { { 3, 0 }, { 0, 1 }, { 1, 2 }, { 2, 4 }, { 0, 2 } };
    g = LAY(5, 3, 4, residual);
    CHECK_STR(text_of(ctx, &g), "3 | 0 | 1 5 | 2 | 4"); /* 5: the bend */
    CHECK(g.edges[4].n_bends == 1 && g.edges[4].bend == 5);
}

/* A constant is beside what uses it, not at the top; what has no edge is on no rank. */
static void constants_go_down(pel_ctx *ctx) {
    static const pair edges[] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 4, 3 } };
    pel_layers g = LAY(6, PEL_NO_VERTEX, PEL_NO_VERTEX, edges);
    CHECK_STR(text_of(ctx, &g), "0 | 1 | 2 4 | 3");
    CHECK(g.n_loose == 1);
}

static void cycles_are_turned(pel_ctx *ctx) {
    static const pair edges[] = { { 0, 1 }, { 1, 2 }, { 2, 0 }, { 2, 3 } };
    pel_layers g = LAY(4, PEL_NO_VERTEX, PEL_NO_VERTEX, edges);
    CHECK_STR(text_of(ctx, &g), "0 | 1 4 | 2 | 3");
    CHECK(g.n_back == 1 && g.edges[2].is_back && !g.edges[0].is_back);
    static const pair both[] = { { 0, 1 }, { 1, 0 } };
    g = LAY(2, PEL_NO_VERTEX, PEL_NO_VERTEX, both);
    CHECK(g.n_back == 1 && g.n_ranks == 2);
}

/* Two chains that are named crosswise come out beside each other. */
static void crossings_go(pel_ctx *ctx) {
    static const pair edges[] = { { 0, 3 }, { 1, 2 }, { 2, 5 }, { 3, 4 }, { 6, 0 }, { 6, 1 } };
    pel_layers g = LAY(7, 6, PEL_NO_VERTEX, edges);
    CHECK_STR(text_of(ctx, &g), "6 | 0 1 | 3 2 | 4 5");
    /* K2,2 has a crossing in any order; a grid of 3 by 3 whose middle rank is turned has none */
    static const pair turned[] = { { 0, 5 }, { 1, 4 }, { 2, 3 }, { 5, 6 }, { 4, 7 }, { 3, 8 }, { 0, 4 }, { 1, 3 } };
    g = LAY(9, PEL_NO_VERTEX, PEL_NO_VERTEX, turned);
    CHECK_STR(text_of(ctx, &g), "0 1 2 | 5 4 3 | 6 7 8");
}

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void any_graph_twice_the_same(pel_ctx *ctx) {
    uint32_t state = 12345;
    for (int round = 0; round < 300; round++) {
        uint32_t n = 2 + next_random(&state) % 40, n_edges = 0;
        bool is_there[42][42] = { { false } };
        pair edges[400];
        for (int i = 0; i < 3 * (int)n; i++) {
            uint32_t a = next_random(&state) % n, b = next_random(&state) % n;
            if (a == b || is_there[a][b]) continue;
            is_there[a][b] = true;
            edges[n_edges++] = (pair){ a, b };
        }
        pel_layers one = lay(ctx, n, PEL_NO_VERTEX, PEL_NO_VERTEX, edges, n_edges);
        pel_layers other = lay(ctx, n, PEL_NO_VERTEX, PEL_NO_VERTEX, edges, n_edges);
        CHECK(pel_str_eq(text_of(ctx, &one), text_of(ctx, &other)));
    }
}

static void nothing_is_a_graph(pel_ctx *ctx) {
    pel_layers g = lay(ctx, 0, PEL_NO_VERTEX, PEL_NO_VERTEX, NULL, 0);
    CHECK(g.n_ranks == 0);
    g = lay(ctx, 3, 1, 2, NULL, 0);
    CHECK(g.n_ranks == 0 && g.n_loose == 3);
}

/* What would need n²/2 bends gets some of them, and says which edges have none. */
static void bends_have_a_limit(pel_ctx *ctx) {
    enum { N = 20000 };
    pair *edges = pel_new_array(ctx, 2 * N, pair);
    uint32_t n = 0;
    for (uint32_t i = 0; i + 1 < N; i++) edges[n++] = (pair){ i, i + 1 };
    for (uint32_t i = 0; i + 2 < N; i++) edges[n++] = (pair){ i, N - 1 };
    pel_layers g = lay(ctx, N, PEL_NO_VERTEX, PEL_NO_VERTEX, edges, n);
    CHECK(g.n_long > 0 && g.n_ranks == N);
    CHECK(g.n_all <= N + 200000);
}

static void a_million_edges_take_seconds(pel_ctx *ctx) {
    enum { N = 200000, EDGES = 1000000 };
    pair *edges = pel_new_array(ctx, EDGES, pair);
    uint32_t state = 99;
    for (uint32_t i = 0; i < EDGES; i++) {
        uint32_t a = next_random(&state) % N;
        edges[i] = (pair){ a, (a + 1 + i / N * 7 + next_random(&state) % 1000) % N }; /* many cycles */
        if (edges[i].to == a) edges[i].to = (a + 1) % N;
    }
    clock_t begun = clock();
    lay(ctx, N, PEL_NO_VERTEX, PEL_NO_VERTEX, edges, EDGES);
    CHECK((double)(clock() - begun) / CLOCKS_PER_SEC < 60); /* 3 s here without sanitizers */
}

/* ---- the flow of a network ---- */

static const pel_network *network_of(pel_ctx *ctx, const char *json) {
    return pel_networks_read(ctx, pel_str_of(json)).at[0];
}

static pel_str graphs_text(pel_ctx *ctx, const char *json) {
    pel_buf out = pel_buf_in(ctx);
    pel_json to = pel_json_to(&out);
    pel_graphs_json(ctx, network_of(ctx, json), &to);
    return pel_buf_str(&out);
}

#define MODULE(name, class, children) "{\"name\":\"" name "\",\"class\":\"" class "\",\"children\":[" children "]}"
#define FLOW(from, to) "{\"from\":\"" from "\",\"to\":\"" to "\",\"shape\":[1]}"
#define NET(modules, flow)                                                                                             \
    "{\"networks\":[{\"name\":\"net\",\"tree\":[" MODULE("", "Net", modules) "],\"flow\":[" flow "]}]}"

static void each_module_has_its_graph(pel_ctx *ctx) {
    CHECK_STR(
        graphs_text(ctx, NET(MODULE("a", "A", MODULE("x", "X", "") "," MODULE("y", "Y", "")) "," MODULE("b", "B", ""),
                             FLOW("input", "a.x") "," FLOW("a.x", "a.y") "," FLOW("a.y", "b") "," FLOW("b", "output"))),
        "{\"left_out\":0,\"folded\":{\"0\":{\"parts\":[],\"ranks\":[[2],[0],[1],[3]],\"edges\":[[2,0,0,1,0],"
        "[0,1,2,1,0],[1,3,3,1,0]]},\"1\":{\"parts\":[],\"ranks\":[[2],[0],[1],[3]],\"edges\":[[2,0,0,1,0],"
        "[0,1,1,1,0],[1,3,2,1,0]]}},\"whole\":{}}");
    CHECK_STR(graphs_text(ctx, NET(MODULE("a", "A", ""), "")), "null");
}

/* A chain of equal neighbours is one part, and parallel ones are; those at different places stay apart. */
static void repeats_fold_where_the_flow_does(pel_ctx *ctx) {
#define THREE MODULE("0", "B", "") "," MODULE("1", "B", "") "," MODULE("2", "B", "")
    pel_graphs graphs;
    const pel_network *chain =
        network_of(ctx, NET(THREE, FLOW("input", "0") "," FLOW("0", "1") "," FLOW("1", "2") "," FLOW("2", "output")));
    pel_graphs_of(ctx, chain, &graphs);
    CHECK(graphs.folded.n == 1 && graphs.folded.at[0].n_parts == 1 && graphs.folded.at[0].part_n[0] == 3);
    CHECK(graphs.whole.n == 1 && graphs.whole.at[0].n_parts == 3 && graphs.whole.at[0].layers.n_ranks == 5);
    const pel_network *beside =
        network_of(ctx, NET(THREE, FLOW("input", "0") "," FLOW("input", "1") "," FLOW("input", "2") "," FLOW(
                                       "0", "output") "," FLOW("1", "output") "," FLOW("2", "output")));
    pel_graphs_of(ctx, beside, &graphs);
    CHECK(graphs.folded.at[0].n_parts == 1 && graphs.folded.at[0].times[0] == 3);
    const pel_network *apart =
        network_of(ctx, NET(THREE, FLOW("input", "0") "," FLOW("0", "2") "," FLOW("1", "output") "," FLOW("2", "1")));
    pel_graphs_of(ctx, apart, &graphs);
    CHECK(graphs.folded.at[0].n_parts == 3 && graphs.whole.n == 0);
}

static void what_is_no_module_is_counted(pel_ctx *ctx) {
    pel_graphs graphs;
    const pel_network *net = network_of(
        ctx, NET(MODULE("a", "A", "") "," MODULE("b", "B", ""),
                 FLOW("a", "b") "," FLOW("a", "nobody") "," FLOW("x", "b") "," FLOW("output", "a") "," FLOW("a", "a")));
    pel_graphs_of(ctx, net, &graphs);
    CHECK(graphs.left_out == 3 && graphs.folded.at[0].layers.n_edges == 1);
}

int main(void) {
    static const test tests[] = {
        TEST(chain_and_residual),
        TEST(constants_go_down),
        TEST(cycles_are_turned),
        TEST(crossings_go),
        TEST(any_graph_twice_the_same),
        TEST(nothing_is_a_graph),
        TEST(bends_have_a_limit),
        TEST(a_million_edges_take_seconds),
        TEST(each_module_has_its_graph),
        TEST(repeats_fold_where_the_flow_does),
        TEST(what_is_no_module_is_counted),
    };
    return RUN_TESTS(tests);
}
