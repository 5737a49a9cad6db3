#include "show/words.h"

typedef struct viewer {
    pel_ctx *ctx;
    const pel_tree_options *options;
    pel_buf *out;
} viewer;

#define MAX_VALUES 20 /* that are shown; the JSON has them all */
#define MAX_DTYPES 32

static void paint(const viewer *v, const char *colour) {
    if (v->options->coloured) pel_put_c(v->out, colour);
}

static void put_same(pel_buf *out, pel_str name) {
    pel_put_c(out, " (= ");
    pel_put_visible(out, name);
    pel_put_byte(out, ')');
}

static void put_tensors(viewer *v, const pel_module *module) {
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        pel_put_c(v->out, i ? ", " : "  ");
        pel_put_visible(v->out, tensor->name);
        pel_put_byte(v->out, ' ');
        paint(v, PEL_TEAL);
        pel_put_shape(v->out, &tensor->shape);
        paint(v, PEL_PLAIN);
        if (tensor->dtype.len && !pel_str_is(tensor->dtype, "float32"))
            pel_put_byte(v->out, ' '), pel_put_visible(v->out, tensor->dtype);
        if (tensor->tied_to.len) put_same(v->out, tensor->tied_to);
        if (tensor->frozen) pel_put_c(v->out, " frozen");
        if (tensor->condition.len) pel_put_c(v->out, " if "), pel_put_visible(v->out, tensor->condition);
    }
}

/* One line; last: the last of a run of equal modules, of which only the first is shown. */
static void put_line(viewer *v, const pel_module *module, const pel_module *last, uint32_t run) {
    paint(v, PEL_BOLD);
    pel_put_label(v->out, module, last, run);
    paint(v, PEL_PLAIN);
    if (module->class.len) pel_put_arguments(v->ctx, module, v->out);
    if (module->repeat.symbol.len) pel_putf(v->out, " × %.*s", PEL_FMT(module->repeat.symbol));
    if (!module->repeat.symbol.len && module->repeat.size != 1)
        pel_putf(v->out, " × %lld", (long long)module->repeat.size);
    if (module->shared_with.len) put_same(v->out, module->shared_with);
    put_tensors(v, module);
    if (module->output.is_known) {
        pel_put_c(v->out, "  → ");
        paint(v, PEL_TEAL);
        pel_put_shape(v->out, &module->output);
        paint(v, PEL_PLAIN);
    }
    if (module->condition.len) pel_put_c(v->out, "  if "), pel_put_visible(v->out, module->condition);
    pel_put_byte(v->out, '\n');
}

static void put_children(viewer *v, const pel_module *module, pel_str indent, int depth) {
    if (depth > PEL_SHOW_MAX_DEPTH)
        pel_throw(v->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_SHOW_MAX_DEPTH);
    if (v->options->depth && depth > v->options->depth) return;
    uint32_t n = module->children.n;
    for (uint32_t i = 0; i < n;) {
        const pel_module *child = module->children.at[i];
        uint32_t run = pel_run_of(module, i, v->options);
        bool is_last = i + run == n;
        paint(v, PEL_DIM);
        pel_put(v->out, indent);
        pel_put_c(v->out, is_last ? "└─ " : "├─ ");
        paint(v, PEL_PLAIN);
        put_line(v, child, module->children.at[i + run - 1], run);
        pel_str deeper = pel_format(v->ctx, "%.*s%s", PEL_FMT(indent), is_last ? "   " : "│  ");
        put_children(v, child, deeper, depth + 1);
        i += run;
    }
}

/* ---- what a file holds ---- */

typedef struct dtype_sums {
    struct {
        pel_str dtype;
        uint64_t bytes;
    } at[MAX_DTYPES];
    uint32_t n;
} dtype_sums;

static void add_dtypes(void *arg, const pel_module *module, pel_str path) {
    dtype_sums *sums = arg;
    (void)path;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        uint64_t count;
        if (tensor->tied_to.len || !tensor->dtype.len || !pel_shape_count(&tensor->shape, &count)) continue;
        uint32_t k = 0;
        while (k < sums->n && !pel_str_eq(sums->at[k].dtype, tensor->dtype)) k++;
        if (k == MAX_DTYPES) continue;
        if (k == sums->n) sums->at[sums->n++].dtype = tensor->dtype;
        sums->at[k].bytes += count * pel_dtype_size(tensor->dtype);
    }
}

/* float32 46.8 MB, int64 160 bytes */
static void put_dtypes(viewer *v, const pel_network *network) {
    dtype_sums sums = { .n = 0 };
    pel_each_module(v->ctx, network, add_dtypes, &sums);
    for (uint32_t i = 0; i < sums.n; i++) {
        pel_put_c(v->out, i ? ", " : "");
        pel_put_visible(v->out, sums.at[i].dtype);
        if (!sums.at[i].bytes) continue; /* of packed types the size is not known */
        pel_put_byte(v->out, ' ');
        pel_put_bytes(v->out, sums.at[i].bytes);
    }
    if (sums.n) pel_put_byte(v->out, '\n');
}

/* Epoch, learning rate, configuration: what is no tensor. */
static void put_values(viewer *v, const pel_network *network) {
    if (network->values.n) pel_put_c(v->out, "also in the file:\n");
    for (uint32_t i = 0; i < network->values.n && i < MAX_VALUES; i++) {
        pel_put_c(v->out, "  ");
        pel_put_visible(v->out, network->values.at[i].name);
        pel_put_c(v->out, " = ");
        pel_put_visible(v->out, network->values.at[i].value);
        pel_put_byte(v->out, '\n');
    }
    uint64_t more = network->values_left_out + (network->values.n > MAX_VALUES ? network->values.n - MAX_VALUES : 0);
    if (more) {
        pel_put_c(v->out, "  and ");
        pel_put_grouped(v->out, more);
        pel_put_c(v->out, network->values_left_out ? " more\n" : " more, which --json lists\n");
    }
}

static void put_rows(pel_buf *out, const char *title, const pel_unknown *rows, uint32_t n) {
    if (n) pel_putf(out, "%s:\n", title);
    for (uint32_t i = 0; i < n; i++) {
        pel_put_c(out, "  ");
        pel_put_visible(out, rows[i].what);
        pel_put_c(out, ": ");
        pel_put_visible(out, rows[i].why);
        if (rows[i].place.line) pel_putf(out, " (%.*s:%u)", PEL_FMT(rows[i].place.file), rows[i].place.line);
        pel_put_byte(out, '\n');
    }
}

/* Unknown parts and errors come last, where a long tree can't hide them. Names and values of the file go through
 * pel_put_visible, since they may hold escape codes. Fewer than zero flops means that nobody knows. */
void pel_show_tree(pel_ctx *ctx, const pel_network *network, const pel_tree_options *options, pel_buf *out) {
    viewer v = { ctx, options, out };
    if (network->name.len) {
        pel_put_visible(out, network->name);
        if (network->format.len) pel_putf(out, " (%.*s)", PEL_FMT(network->format));
        pel_put_c(out, network->root && network->root->class.len ? ": " : "");
    }
    if (network->root) {
        put_line(&v, network->root, network->root, 1);
        put_children(&v, network->root, (pel_str){ "", 0 }, 1);
    }
    pel_totals totals = pel_network_totals(ctx, network);
    paint(&v, PEL_BOLD);
    pel_put_totals(out, network, &totals);
    if (totals.flops > 0) {
        pel_put_c(out, "; ");
        pel_put_human(out, totals.flops);
        pel_put_c(out, " multiply-adds");
    }
    paint(&v, PEL_PLAIN);
    pel_put_byte(out, '\n');
    if (network->format.len && totals.bytes) put_dtypes(&v, network);
    put_values(&v, network);
    if (network->facts.n) pel_put_c(out, "found in the file:\n");
    for (uint32_t i = 0; i < network->facts.n; i++) {
        pel_put_c(out, "  ");
        pel_put_visible(out, network->facts.at[i].what);
        pel_put_c(out, " = ");
        pel_put_visible(out, network->facts.at[i].value);
        pel_put_c(out, " (");
        pel_put_visible(out, network->facts.at[i].from);
        pel_put_c(out, ")\n");
    }
    put_rows(out, "assumed", network->premises.at, network->premises.n);
    put_rows(out, "unknown", network->unknown.at, network->unknown.n);
    put_rows(out, "errors", network->errors.at, network->errors.n);
}
