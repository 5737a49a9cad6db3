#include "show/words.h"

#include "python/print.h"

void pel_put_grouped(pel_buf *out, uint64_t value) {
    char digits[32];
    int n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n) {
        pel_put_byte(out, digits[--n]);
        if (n && n % 3 == 0) pel_put_byte(out, ',');
    }
}

void pel_put_human(pel_buf *out, double value) {
    static const char *const units[] = { "", " K", " M", " G", " T", " P" };
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < PEL_COUNT(units)) {
        value /= 1000;
        unit++;
    }
    pel_putf(out, unit ? "%.2f%s" : "%.0f%s", value, units[unit]);
}

void pel_put_bytes(pel_buf *out, uint64_t bytes) {
    static const char *const units[] = { " bytes", " kB", " MB", " GB", " TB", " PB" };
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < PEL_COUNT(units)) {
        value /= 1000;
        unit++;
    }
    pel_putf(out, unit ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

static void put_counted(pel_buf *out, uint64_t elements, uint64_t n, const char *one, const char *many) {
    pel_put_grouped(out, elements);
    pel_put_c(out, " elements in ");
    pel_put_grouped(out, n);
    pel_putf(out, " %s", n == 1 ? one : many);
}

void pel_put_totals(pel_buf *out, const pel_network *network, const pel_totals *totals) {
    if (network->roles_unknown) {
        put_counted(out, totals->parameters, totals->n_parameters, "tensor", "tensors");
        if (!totals->exact) pel_put_c(out, ", and those of unknown size");
        if (totals->buffers)
            pel_put_c(out, "; "), put_counted(out, totals->buffers, totals->n_buffers, "buffer", "buffers");
        return;
    }
    pel_put_grouped(out, totals->parameters);
    pel_put_c(out, totals->exact ? " parameters" : " parameters and those of unknown size");
    if (totals->trainable != totals->parameters) {
        pel_put_c(out, ", ");
        pel_put_grouped(out, totals->trainable);
        pel_put_c(out, " of them trainable");
    }
    if (totals->buffers) {
        pel_put_c(out, "; ");
        pel_put_grouped(out, totals->buffers);
        pel_put_c(out, " in buffers");
    }
}

void pel_put_shape(pel_buf *out, const pel_shape *shape) {
    if (!shape->is_known) {
        pel_put_c(out, "?");
        return;
    }
    if (!shape->n) pel_put_c(out, "scalar");
    for (uint32_t i = 0; i < shape->n; i++) {
        if (i) pel_put_c(out, "×");
        if (shape->dims[i].symbol.len)
            pel_put_visible(out, shape->dims[i].symbol);
        else
            pel_put_int(out, shape->dims[i].size);
    }
}

void pel_put_arguments(pel_ctx *ctx, const pel_module *module, pel_buf *out) {
    const pel_print_options options = { .one_line = true };
    pel_put_byte(out, '(');
    for (uint32_t i = 0; i < module->args.n; i++) {
        if (i) pel_put_c(out, ", ");
        if (module->args.at[i].name.len) {
            pel_put_visible(out, module->args.at[i].name);
            pel_put_byte(out, '=');
        }
        const pel_node *value = module->args.at[i].value;
        bool is_tuple = value->kind == PEL_Tuple && value->Tuple.elts.n > 1; /* printed bare, as in `return 7, 7` */
        if (is_tuple) pel_put_byte(out, '(');
        pel_print(ctx, module->args.at[i].value, &options, out);
        if (is_tuple) pel_put_byte(out, ')');
    }
    pel_put_byte(out, ')');
}

void pel_put_label(pel_buf *out, const pel_module *module, const pel_module *last, uint32_t run) {
    if (module->name.len) {
        pel_put_visible(out, module->name);
        if (run > 1) {
            pel_put_c(out, " … ");
            pel_put_visible(out, last->name);
            pel_putf(out, " ×%u", run);
        }
        if (module->class.len) pel_put_c(out, ": ");
    }
    if (module->is_opaque) pel_put_c(out, "? ");
    pel_put_visible(out, module->class);
}

uint32_t pel_run_of(const pel_module *module, uint32_t first, const pel_tree_options *options) {
    uint32_t run = 1;
    if (options->unfolded) return run;
    while (first + run < module->children.n &&
           pel_module_alike(module->children.at[first], module->children.at[first + run]))
        run++;
    return run;
}
