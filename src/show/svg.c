/* The architecture as a picture. Modules are boxes in boxes, from top to bottom in the order in which they were
 * registered; where the flow is known, an arrow leads from a part to the next that it feeds, and what skips parts goes
 * around them on the right.
 *
 * Two walks: the first chooses what is shown and measures it, the second draws. */
#include "base/map.h"
#include "show/words.h"

enum { LINE = 24, GAP = 8, ARROW_GAP = 20, PAD = 12, LANE = 12, INNER_WIDTH = 380, ENOUGH_BOXES = 120 };

typedef struct edge { /* between two children of one module; OUTSIDE: what the module was given */
    uint32_t from, to;
} edge;
#define OUTSIDE UINT32_MAX

typedef PEL_VEC(edge) edge_list;

typedef struct box {
    const pel_module *module, *last;
    uint32_t run;
    PEL_VEC(struct box *) parts;
    edge_list edges;  /* between parts, by their number */
    uint32_t n_lanes; /* that edges take up on the right */
    int width, height;
    int y; /* inside of the box around it */
} box;

typedef struct artist {
    pel_ctx *ctx;
    const pel_network *network;
    const pel_tree_options *options;
    int depth; /* levels shown */
    uint32_t n_boxes;
    pel_map flow_in; /* path of a module, interned -> edge_list * of its children's numbers */
    pel_buf *out;
} artist;

/* ---- the flow, each edge at the innermost module that holds both ends ---- */

static uint64_t key_of(artist *a, pel_str path) { return PEL_KEY(pel_intern_str(a->ctx, path)); }

static void number_children(pel_ctx *ctx, const pel_network *network, const pel_module *module, pel_str path,
                            pel_map *numbers, int depth) {
    if (depth > PEL_SHOW_MAX_DEPTH)
        pel_throw(ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_SHOW_MAX_DEPTH);
    for (uint32_t i = 0; i < module->children.n; i++) {
        const pel_module *child = module->children.at[i];
        pel_str full = pel_full_name(ctx, network, path, child->name);
        pel_map_set(ctx, numbers, PEL_KEY(pel_intern_str(ctx, full)), i);
        number_children(ctx, network, child, full, numbers, depth + 1);
    }
}

/* End of the component of path that begins at `start`. */
static size_t component_end(const artist *a, pel_str path, size_t start) {
    while (start < path.len && path.ptr[start] != a->network->separator) start++;
    return start;
}

static void add_edge_in(artist *a, pel_str home, edge e) {
    edge_list *edges = pel_map_pointer(&a->flow_in, key_of(a, home));
    if (!edges) {
        edges = pel_alloc(a->ctx, sizeof *edges);
        pel_map_set(a->ctx, &a->flow_in, key_of(a, home), PEL_KEY(edges));
    }
    pel_push(a->ctx, edges, e);
}

/* An edge between children at the innermost module around both ends, and one from outside in each module below that
 * on the way to the end: what goes around the first parts of a block is seen there. */
static void add_flow(artist *a, const pel_map *numbers, pel_str from, pel_str to) {
    size_t start = 0, end;
    for (;; start = end + 1) {
        end = component_end(a, from, start);
        if (end != component_end(a, to, start) || memcmp(from.ptr + start, to.ptr + start, end - start) != 0) break;
        if (end == from.len || end == to.len) return; /* one inside the other, or the same */
    }
    uint64_t first = OUTSIDE, second;
    bool is_inside =
        pel_str_eq(from, PEL_STR("input")) || pel_map_get(numbers, key_of(a, pel_str_cut(from, 0, end)), &first);
    while (is_inside && start <= to.len) {
        end = component_end(a, to, start);
        if (!pel_map_get(numbers, key_of(a, pel_str_cut(to, 0, end)), &second)) return;
        add_edge_in(a, pel_str_cut(to, 0, start ? start - 1 : 0), (edge){ (uint32_t)first, (uint32_t)second });
        first = OUTSIDE;
        start = end + 1;
    }
}

static void sort_flow(artist *a, const pel_network *network) {
    pel_map numbers = { 0 };
    number_children(a->ctx, network, network->root, (pel_str){ "", 0 }, &numbers, 0);
    for (uint32_t i = 0; i < network->flow.n; i++)
        add_flow(a, &numbers, network->flow.at[i].from, network->flow.at[i].to);
}

/* ---- what is shown ---- */

static void add_edge(artist *a, box *b, uint32_t from, uint32_t to) {
    if (from == to || (from == OUTSIDE && to == 0)) return;
    for (uint32_t i = 0; i < b->edges.n; i++)
        if (b->edges.at[i].from == from && b->edges.at[i].to == to) return;
    pel_push(a->ctx, &b->edges, (edge){ from, to });
}

static box *choose(artist *a, const pel_module *module, const pel_module *last, uint32_t run, pel_str path, int depth) {
    box *b = pel_new(a->ctx, box);
    *b = (box){ .module = module, .last = last, .run = run };
    a->n_boxes++;
    if (depth >= a->depth || module->shared_with.len) return b;
    uint32_t n = module->children.n;
    uint32_t *part_of = pel_new_array(a->ctx, n, uint32_t);
    for (uint32_t i = 0; i < n;) {
        const pel_module *child = module->children.at[i];
        uint32_t inner = pel_run_of(module, i, a->options);
        for (uint32_t k = 0; k < inner; k++) part_of[i + k] = b->parts.n;
        pel_str full = pel_full_name(a->ctx, a->network, path, child->name);
        pel_push(a->ctx, &b->parts, choose(a, child, module->children.at[i + inner - 1], inner, full, depth + 1));
        i += inner;
    }
    const edge_list *edges = pel_map_pointer(&a->flow_in, key_of(a, path));
    for (uint32_t i = 0; edges && i < edges->n; i++)
        add_edge(a, b, edges->at[i].from == OUTSIDE ? OUTSIDE : part_of[edges->at[i].from], part_of[edges->at[i].to]);
    return b;
}

static bool is_next(edge e) { return e.from != OUTSIDE && e.to == e.from + 1; }

static void measure(box *b, int width) {
    b->width = width;
    b->n_lanes = 0;
    for (uint32_t i = 0; i < b->edges.n; i++) b->n_lanes += !is_next(b->edges.at[i]);
    if (b->n_lanes > 8) b->n_lanes = 8; /* the rest shares them */
    int y = LINE;
    for (uint32_t i = 0; i < b->parts.n; i++) {
        b->parts.at[i]->y = y;
        measure(b->parts.at[i], width - 2 * PAD - (int)b->n_lanes * LANE);
        bool feeds_next = false;
        for (uint32_t e = 0; e < b->edges.n; e++) feeds_next |= is_next(b->edges.at[e]) && b->edges.at[e].from == i;
        y += b->parts.at[i]->height + (feeds_next ? ARROW_GAP : GAP);
    }
    b->height = b->parts.n ? y + PAD - GAP : LINE + 4;
}

/* ---- drawing ---- */

static void put_escaped(pel_buf *out, pel_str s) {
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '<')
            pel_put_c(out, "&lt;");
        else if (c == '>')
            pel_put_c(out, "&gt;");
        else if (c == '&')
            pel_put_c(out, "&amp;");
        else if ((unsigned char)c >= 32 || c == '\n')
            pel_put_byte(out, c);
    }
}

/* As much of s as fits into so many pixels; letters of the system's font are about 7 wide. */
static pel_str fitting(artist *a, pel_str s, int pixels) {
    size_t may = pixels > 14 ? (size_t)pixels / 7 : 1, n = 0;
    for (size_t i = 0; i < s.len; i++)
        if (((unsigned char)s.ptr[i] & 0xC0) != 0x80 && n++ == may)
            return pel_format(a->ctx, "%.*s…", PEL_FMT(pel_str_cut(s, 0, i)));
    return s;
}

static void draw_edges(artist *a, const box *b, int x, int y) {
    uint32_t lane = 0;
    for (uint32_t i = 0; i < b->edges.n; i++) {
        const edge e = b->edges.at[i];
        const box *to = b->parts.at[e.to], *from = e.from == OUTSIDE ? NULL : b->parts.at[e.from];
        int y1 = from ? y + from->y + from->height : y + LINE + 8, y2 = y + to->y;
        if (is_next(e)) {
            int middle = x + PAD + to->width / 2;
            pel_putf(a->out, "<path d=\"M%d %dV%d\" marker-end=\"url(#tip)\"/>\n", middle, y1, y2 - 1);
            continue;
        }
        int right = x + PAD + to->width, far = right + LANE / 2 + (int)(lane++ % b->n_lanes) * LANE;
        pel_putf(a->out, "<path d=\"M%d %dH%dV%dH%d\" marker-end=\"url(#tip)\"/>\n", right, y1 - 10, far, y2 + 10,
                 right + 1);
    }
}

static void draw(artist *a, const box *b, int x, int y) {
    const pel_module *module = b->module;
    pel_put_c(a->out, "<g>");
    pel_putf(a->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>", x, y, b->width, b->height);
    pel_buf label = pel_buf_in(a->ctx), about = pel_buf_in(a->ctx), whole = pel_buf_in(a->ctx);
    pel_put_label(&label, module, b->last, b->run);
    if (module->output.is_known) pel_put_shape(&about, &module->output);
    pel_put(&whole, pel_buf_str(&label));
    pel_put_arguments(a->ctx, module, &whole);
    if (!b->parts.n && module->args.n) label = whole;
    int taken = (int)about.len * 7;
    pel_putf(a->out, "<text x=\"%d\" y=\"%d\">", x + 8, y + 17);
    put_escaped(a->out, fitting(a, pel_buf_str(&label), b->width - taken - 20));
    pel_put_c(a->out, "</text>");
    if (about.len) {
        pel_putf(a->out, "<text class=\"dim\" text-anchor=\"end\" x=\"%d\" y=\"%d\">", x + b->width - 8, y + 17);
        put_escaped(a->out, pel_buf_str(&about));
        pel_put_c(a->out, "</text>");
    }
    pel_put_c(a->out, "<title>");
    put_escaped(a->out, pel_buf_str(&whole));
    pel_put_c(a->out, "</title></g>\n");
    for (uint32_t i = 0; i < b->parts.n; i++) draw(a, b->parts.at[i], x + PAD, y + b->parts.at[i]->y);
    draw_edges(a, b, x, y);
}

static const char style[] =
    "<style>text{font:12px system-ui,sans-serif;fill:#1d2329}.dim{fill:#69737d}rect{fill:#3d85c6;fill-opacity:.07;"
    "stroke:#9db4c9}path{fill:none;stroke:#5b86b0;stroke-width:1.3}marker path{fill:#5b86b0;stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#dbe1e7}.dim{fill:#929da8}rect{stroke:#40566b}}</style>\n"
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
    "orient=\"auto\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n";

void pel_show_svg(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out) {
    artist a = { .ctx = ctx, .network = network, .options = options, .out = out };
    box *root = NULL;
    if (network->root) {
        sort_flow(&a, network);
        a.depth = options->depth ? options->depth : 1;
        root = choose(&a, network->root, network->root, 1, (pel_str){ "", 0 }, 0);
        /* as deep as the picture can still be looked at */
        for (uint32_t before = 0; !options->depth && a.n_boxes > before && a.depth < PEL_SHOW_MAX_DEPTH;) {
            before = a.n_boxes;
            a.n_boxes = 0;
            a.depth++;
            box *deeper = choose(&a, network->root, network->root, 1, (pel_str){ "", 0 }, 0);
            if (a.n_boxes > ENOUGH_BOXES) break;
            root = deeper;
        }
        measure(root, INNER_WIDTH + 2 * PAD * (a.depth < 8 ? a.depth : 8));
    }
    int width = root ? root->width + 2 : 2, height = root ? root->height + 2 : 2;
    pel_putf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"-1 -1 %d %d\" "
             "role=\"img\">\n<title>",
             width, height, width, height);
    put_escaped(out, network->name);
    pel_put_c(out, "</title>\n");
    pel_put_c(out, style);
    if (root) draw(&a, root, 0, 0);
    pel_put_c(out, "</svg>\n");
}
