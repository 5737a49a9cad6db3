/* The table that people know from other tools, with the numbers right. */
#include "show/words.h"

#define MAX_LABEL 60 /* columns; longer ones are clipped */
#define MIN_LABEL 12 /* where the output has few columns */

typedef struct row {
    pel_str label; /* with the lines of the tree before it */
    const pel_shape *output;
    uint64_t elements, bytes;
    double flops; /* negative: unknown */
} row;

typedef struct table {
    pel_ctx *ctx;
    const pel_tree_options *options;
    PEL_VEC(row) rows;
    bool has_runs; /* a row stands for several modules */
} table;

/* Modules that one row stands for: they look alike, but each counts what it counts. */
typedef struct members {
    const pel_module **at;
    uint32_t n;
} members;

/* Characters, which all are one column wide here but for those of names in other scripts. */
static size_t width_of(pel_str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) n += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    return n;
}

static pel_str clipped(pel_ctx *ctx, pel_str s, size_t columns) {
    if (width_of(s) <= columns) return s;
    size_t end = 0;
    for (size_t n = 0; end < s.len; end++)
        if (((unsigned char)s.ptr[end] & 0xC0) != 0x80 && n++ == columns - 1) break;
    return pel_format(ctx, "%.*s…", PEL_FMT(pel_str_cut(s, 0, end)));
}

static void add_own(row *sums, const pel_module *module) {
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        uint64_t count;
        if (tensor->tied_to.len || !pel_shape_count(&tensor->shape, &count)) continue;
        sums->bytes += count * pel_dtype_size(tensor->dtype);
        if (tensor->role == PEL_PARAMETER) sums->elements += count;
    }
}

static members members_below(pel_ctx *ctx, members of, uint32_t first, uint32_t run) {
    members below = { pel_new_array(ctx, (size_t)of.n * run, const pel_module *), 0 };
    for (uint32_t i = 0; i < of.n; i++)
        for (uint32_t k = first; k < first + run; k++) below.at[below.n++] = of.at[i]->children.at[k];
    return below;
}

/* Rows of some modules that look alike and of all below them; what they come to. So a row is the sum of those below it
 * and what its modules do themselves, whether or not rows are folded. Rows deeper than asked for count and are left
 * out. A container that is never called itself computes what its parts compute. */
static row add_rows(table *t, members of, uint32_t run, pel_str head, pel_str indent, int depth) {
    if (depth > PEL_SHOW_MAX_DEPTH)
        pel_throw(t->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_SHOW_MAX_DEPTH);
    const pel_module *module = of.at[0];
    row sums = { .output = &module->output, .flops = -1 };
    uint32_t at = t->rows.n;
    bool is_shown = !t->options->depth || depth <= t->options->depth;
    if (is_shown) {
        pel_buf label = pel_buf_in(t->ctx);
        pel_put(&label, head);
        pel_put_label(&label, module, of.at[run - 1], run);
        sums.label = clipped(t->ctx, pel_buf_str(&label), MAX_LABEL);
        pel_push(t->ctx, &t->rows, sums);
        t->has_runs |= of.n > 1;
    }
    for (uint32_t i = 0; i < of.n; i++) {
        if (!of.at[i]->shared_with.len) add_own(&sums, of.at[i]);
        if (of.at[i]->flops >= 0) sums.flops = (sums.flops < 0 ? 0 : sums.flops) + of.at[i]->flops;
    }
    double inside = -1;
    uint32_t n = module->children.n;
    for (uint32_t i = 0; i < n;) {
        uint32_t inner = pel_run_of(module, i, t->options);
        bool is_last = i + inner == n;
        pel_str below = pel_format(t->ctx, "%.*s%s", PEL_FMT(indent), is_last ? "└─ " : "├─ ");
        pel_str deeper = pel_format(t->ctx, "%.*s%s", PEL_FMT(indent), is_last ? "   " : "│  ");
        row part = add_rows(t, members_below(t->ctx, of, i, inner), inner, below, deeper, depth + 1);
        sums.elements += part.elements;
        sums.bytes += part.bytes;
        if (part.flops >= 0) inside = (inside < 0 ? 0 : inside) + part.flops;
        i += inner;
    }
    if (sums.flops < 0) sums.flops = inside;
    if (is_shown) t->rows.at[at] = sums;
    return sums;
}

static void put_left(pel_buf *out, pel_str s, size_t width) {
    pel_put(out, s);
    pel_put_spaces(out, width - width_of(s));
}

static void put_right(pel_buf *out, pel_str s, size_t width) {
    size_t own = width_of(s);
    pel_put_spaces(out, width > own ? width - own : 0);
    pel_put(out, s);
}

static pel_str grouped(pel_ctx *ctx, uint64_t value) {
    pel_buf text = pel_buf_in(ctx);
    pel_put_grouped(&text, value);
    return pel_buf_str(&text);
}

static void put_sum(pel_buf *out, pel_str what, pel_str value) {
    put_left(out, what, 22);
    put_right(out, value, 18);
    pel_put_byte(out, '\n');
}

/* What the columns are, and how wide. */
typedef struct columns {
    size_t label, shape;
    bool has_output, has_flops, has_bytes;
} columns;

static columns measure(const table *t, pel_str title, bool of_file) {
    columns c = { .label = width_of(title), .shape = strlen("Output"), .has_bytes = of_file };
    for (uint32_t i = 0; i < t->rows.n; i++) {
        const row *r = &t->rows.at[i];
        pel_buf text = pel_buf_in(t->ctx);
        pel_put_shape(&text, r->output);
        if (width_of(r->label) > c.label) c.label = width_of(r->label);
        if (r->output->is_known && width_of(pel_buf_str(&text)) > c.shape) c.shape = width_of(pel_buf_str(&text));
        c.has_output |= r->output->is_known;
        c.has_flops |= r->flops >= 0;
    }
    size_t others = 2 + (c.has_output ? c.shape + 2 : 0) + 15 + (c.has_flops ? 13 : 0) + (c.has_bytes ? 17 : 0);
    size_t width = (size_t)t->options->width;
    if (width && c.label + others > width) c.label = width > others + MIN_LABEL ? width - others : MIN_LABEL;
    return c;
}

static void put_row(const table *t, const columns *c, const row *r, pel_buf *out) {
    pel_ctx *ctx = t->ctx;
    put_left(out, clipped(ctx, r->label, c->label), c->label + 2);
    pel_buf text = pel_buf_in(ctx);
    if (r->output->is_known) pel_put_shape(&text, r->output);
    if (c->has_output) put_left(out, pel_buf_str(&text), c->shape + 2);
    put_right(out, r->elements ? grouped(ctx, r->elements) : PEL_STR("–"), 15);
    pel_buf flops = pel_buf_in(ctx);
    if (r->flops > 0)
        pel_put_human(&flops, r->flops);
    else
        pel_put_c(&flops, "–");
    if (c->has_flops) put_right(out, pel_buf_str(&flops), 13);
    if (c->has_bytes) put_right(out, r->bytes ? grouped(ctx, r->bytes) : PEL_STR("–"), 17);
    pel_put_byte(out, '\n');
}

static void put_sums(pel_ctx *ctx, const pel_network *network, const table *t, pel_buf *out) {
    pel_totals totals = pel_network_totals(ctx, network);
    const char *what = network->roles_unknown ? "elements" : "parameters";
    pel_str least = pel_format(ctx, "%s%s", what, totals.exact ? "" : ", at least");
    put_sum(out, least, grouped(ctx, totals.parameters));
    if (!network->roles_unknown) put_sum(out, PEL_STR("trainable"), grouped(ctx, totals.trainable));
    if (totals.buffers) put_sum(out, PEL_STR("in buffers"), grouped(ctx, totals.buffers));
    put_sum(out, PEL_STR("bytes"), grouped(ctx, totals.bytes));
    if (totals.flops >= 0) {
        pel_buf flops = pel_buf_in(ctx);
        pel_put_human(&flops, totals.flops);
        put_sum(out, PEL_STR("mult-adds"), pel_buf_str(&flops));
    }
    if (t->has_runs) pel_put_c(out, "Rows with ×N, and those below them, count all N.\n");
}

void pel_show_table(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out) {
    const pel_str title = PEL_STR("Module");
    table t = { .ctx = ctx, .options = options };
    if (network->root) {
        const pel_module *root = network->root;
        add_rows(&t, (members){ &root, 1 }, 1, (pel_str){ "", 0 }, (pel_str){ "", 0 }, 0);
    }
    if (t.rows.n && !t.rows.at[0].label.len) t.rows.at[0].label = network->name; /* files need not name a class */
    columns c = measure(&t, title, network->format.len != 0);
    if (options->coloured) pel_put_c(out, PEL_BOLD);
    put_left(out, title, c.label + 2);
    if (c.has_output) put_left(out, PEL_STR("Output"), c.shape + 2);
    put_right(out, network->roles_unknown ? PEL_STR("Elements") : PEL_STR("Parameters"), 15);
    if (c.has_flops) put_right(out, PEL_STR("Mult-adds"), 13);
    if (c.has_bytes) put_right(out, PEL_STR("Bytes"), 17);
    if (options->coloured) pel_put_c(out, PEL_PLAIN);
    pel_put_byte(out, '\n');
    for (uint32_t i = 0; i < t.rows.n; i++) put_row(&t, &c, &t.rows.at[i], out);
    pel_put_byte(out, '\n');
    put_sums(ctx, network, &t, out);
}
