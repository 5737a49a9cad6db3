/* The table that people know from other tools, with the numbers right. */
#include "show/words.h"

#define MAX_LABEL 60 /* columns; longer ones are clipped */

typedef struct row {
    pel_str label; /* with the lines of the tree before it */
    const pel_module *module;
    uint64_t parameters;
    uint32_t run;
} row;

typedef struct table {
    pel_ctx *ctx;
    const pel_tree_options *options;
    PEL_VEC(row) rows;
} table;

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

static uint64_t own_parameters(const pel_module *module) {
    uint64_t sum = 0, count;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        if (tensor->role == PEL_PARAMETER && !tensor->tied_to.len && pel_shape_count(&tensor->shape, &count))
            sum += count;
    }
    return sum;
}

/* Rows of a module and all below it; the sum of its parameters. Rows deeper than asked for count and are left out. */
static uint64_t add_rows(table *t, const pel_module *module, const pel_module *last, uint32_t run, pel_str head,
                         pel_str indent, int depth) {
    if (depth > PEL_SHOW_MAX_DEPTH)
        pel_throw(t->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_SHOW_MAX_DEPTH);
    uint32_t at = t->rows.n;
    bool is_shown = !t->options->depth || depth < t->options->depth;
    if (is_shown) {
        pel_buf label = pel_buf_in(t->ctx);
        pel_put(&label, head);
        pel_put_label(&label, module, last, run);
        pel_push(t->ctx, &t->rows, (row){ clipped(t->ctx, pel_buf_str(&label), MAX_LABEL), module, 0, run });
    }
    uint64_t sum = module->shared_with.len ? 0 : own_parameters(module);
    uint32_t n = module->children.n;
    for (uint32_t i = 0; i < n;) {
        uint32_t inner = pel_run_of(module, i, t->options);
        bool is_last = i + inner == n;
        pel_str below = pel_format(t->ctx, "%.*s%s", PEL_FMT(indent), is_last ? "└─ " : "├─ ");
        pel_str deeper = pel_format(t->ctx, "%.*s%s", PEL_FMT(indent), is_last ? "   " : "│  ");
        sum += inner *
               add_rows(t, module->children.at[i], module->children.at[i + inner - 1], inner, below, deeper, depth + 1);
        i += inner;
    }
    if (is_shown) t->rows.at[at].parameters = sum;
    return sum;
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

static void put_sum(pel_buf *out, const char *what, pel_str value) {
    put_left(out, pel_str_of(what), 22);
    put_right(out, value, 18);
    pel_put_byte(out, '\n');
}

void pel_show_table(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out) {
    const pel_str names = PEL_STR("Module");
    table t = { .ctx = ctx, .options = options };
    if (network->root) add_rows(&t, network->root, network->root, 1, (pel_str){ "", 0 }, (pel_str){ "", 0 }, 0);
    if (t.rows.n && !t.rows.at[0].label.len) t.rows.at[0].label = network->name; /* files need not name a class */
    size_t label = width_of(names), shape = strlen("Output");
    bool has_output = false, has_flops = false;
    for (uint32_t i = 0; i < t.rows.n; i++) {
        const row *r = &t.rows.at[i];
        pel_buf text = pel_buf_in(ctx);
        pel_put_shape(&text, &r->module->output);
        if (width_of(r->label) > label) label = width_of(r->label);
        if (r->module->output.is_known && width_of(pel_buf_str(&text)) > shape) shape = width_of(pel_buf_str(&text));
        has_output |= r->module->output.is_known;
        has_flops |= r->module->flops >= 0;
    }
    put_left(out, names, label + 2);
    if (has_output) put_left(out, PEL_STR("Output"), shape + 2);
    put_right(out, PEL_STR("Parameters"), 15);
    if (has_flops) put_right(out, PEL_STR("Mult-adds"), 13);
    pel_put_byte(out, '\n');
    for (uint32_t i = 0; i < t.rows.n; i++) {
        const row *r = &t.rows.at[i];
        put_left(out, r->label, label + 2);
        pel_buf text = pel_buf_in(ctx);
        if (r->module->output.is_known) pel_put_shape(&text, &r->module->output);
        if (has_output) put_left(out, pel_buf_str(&text), shape + 2);
        put_right(out, r->parameters ? grouped(ctx, r->parameters * r->run) : (pel_str){ "–", 3 }, 15);
        pel_buf flops = pel_buf_in(ctx);
        if (r->module->flops > 0)
            pel_put_human(&flops, r->module->flops * r->run);
        else
            pel_put_c(&flops, "–");
        if (has_flops) put_right(out, pel_buf_str(&flops), 13);
        pel_put_byte(out, '\n');
    }
    pel_totals totals = pel_network_totals(ctx, network);
    pel_put_byte(out, '\n');
    put_sum(out, totals.exact ? "parameters" : "parameters, at least", grouped(ctx, totals.parameters));
    put_sum(out, "trainable", grouped(ctx, totals.trainable));
    put_sum(out, "bytes", grouped(ctx, totals.bytes));
    if (totals.flops >= 0) {
        pel_buf flops = pel_buf_in(ctx);
        pel_put_human(&flops, totals.flops);
        put_sum(out, "mult-adds", pel_buf_str(&flops));
    }
}
