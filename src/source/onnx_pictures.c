/* Operators of ONNX with windows: their padding has two ends, torch's one. */
#include "source/onnx.h"

#define MOST 16

typedef struct window {
    uint32_t n; /* dimensions */
    int64_t kernel[MOST], strides[MOST], dilations[MOST], begins[MOST], ends[MOST];
    bool is_even; /* both ends are padded alike */
} window;

static uint32_t list_of(pel_onnx *o, const char *name, int64_t *out) {
    const pel_onnx_attribute *row = pel_onnx_attribute_of(o, name);
    uint32_t n = 0;
    if (!row) return 0;
    pel_onnx_value value = { .is_known = true };
    if (!row->value || row->value->kind != PEL_List || row->value->List.elts.n > 2 * MOST)
        pel_onnx_refuse(o, pel_format(o->ctx, "its attribute %s is no list of a few numbers%c", name, 0).ptr);
    value.numbers = row->value->List.elts;
    int64_t numbers[64];
    if (!pel_onnx_whole(o, &value, numbers, &n)) pel_onnx_refuse(o, "an attribute is no list of whole numbers");
    memcpy(out, numbers, n * sizeof *out);
    return n;
}

/* SAME_UPPER and SAME_LOWER pad so that the result has a size for each stride: that depends on the input's size, unless
 * the stride is 1. */
static void pad_to_same(pel_onnx *o, window *w, bool is_upper) {
    const pel_shape *shape = pel_onnx_in(o, 0)->shape;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1, total = reach - 1;
        if (w->strides[i] != 1) {
            if (!shape || shape->n != w->n + 2 || shape->dims[i + 2].symbol.len)
                pel_onnx_refuse(o, "its padding depends on a size that is not known");
            int64_t size = shape->dims[i + 2].size, steps = (size + w->strides[i] - 1) / w->strides[i];
            total = (steps - 1) * w->strides[i] + reach - size;
            if (total < 0) total = 0;
        }
        w->begins[i] = is_upper ? total / 2 : total - total / 2;
        w->ends[i] = total - w->begins[i];
    }
}

/* n: dimensions, 0 if only kernel_shape says how many. */
static window window_of(pel_onnx *o, uint32_t n) {
    window w = { .n = n };
    int64_t pads[2 * MOST] = { 0 }, row[2 * MOST];
    uint32_t n_kernel = list_of(o, "kernel_shape", row);
    if (!w.n) w.n = n_kernel;
    if (!w.n || w.n > 3 || (n_kernel && n_kernel != w.n)) pel_onnx_refuse(o, "a window of that many dimensions");
    for (uint32_t i = 0; i < w.n; i++) w.strides[i] = w.dilations[i] = 1, w.kernel[i] = n_kernel ? row[i] : 0;
    uint32_t n_strides = list_of(o, "strides", row);
    for (uint32_t i = 0; i < w.n && n_strides; i++) w.strides[i] = row[i];
    uint32_t n_dilations = list_of(o, "dilations", row);
    for (uint32_t i = 0; i < w.n && n_dilations; i++) w.dilations[i] = row[i];
    uint32_t n_pads = list_of(o, "pads", pads);
    if ((n_strides && n_strides != w.n) || (n_dilations && n_dilations != w.n) || (n_pads && n_pads != 2 * w.n))
        pel_onnx_refuse(o, "its lists differ in length");
    for (uint32_t i = 0; i < w.n; i++) w.begins[i] = pads[i], w.ends[i] = pads[w.n + i];
    for (uint32_t i = 0; i < w.n; i++)
        if (w.strides[i] < 1 || w.dilations[i] < 1 || w.strides[i] > INT32_MAX || w.dilations[i] > INT32_MAX ||
            w.kernel[i] < 0 || w.kernel[i] > INT32_MAX)
            pel_onnx_refuse(o, "a window with sizes that are none");
    return w;
}

static void settle_pads(pel_onnx *o, window *w) {
    pel_str how = pel_onnx_text(o, "auto_pad", "NOTSET");
    if (pel_str_is(how, "SAME_UPPER") || pel_str_is(how, "SAME_LOWER"))
        pad_to_same(o, w, pel_str_is(how, "SAME_UPPER"));
    else if (pel_str_is(how, "VALID"))
        for (uint32_t i = 0; i < w->n; i++) w->begins[i] = w->ends[i] = 0;
    else if (!pel_str_is(how, "NOTSET"))
        pel_onnx_refuse(o, "its auto_pad is not known");
    w->is_even = true;
    for (uint32_t i = 0; i < w->n; i++) w->is_even &= w->begins[i] == w->ends[i] && w->begins[i] >= 0;
}

/* F.pad counts from the last dimension. */
static pel_node *padded(pel_onnx *o, window *w, pel_node *x, pel_node *fill) {
    int64_t pads[2 * MOST];
    for (uint32_t i = 0; i < w->n; i++) {
        pads[2 * i] = w->begins[w->n - 1 - i];
        pads[2 * i + 1] = w->ends[w->n - 1 - i];
    }
    for (uint32_t i = 0; i < w->n; i++) w->begins[i] = w->ends[i] = 0;
    pel_node *sizes = pel_onnx_ints(o, pads, 2 * w->n);
    return fill ? pel_onnx_write(o, "F.pad(_0, _1, value=_2)", x, sizes, fill)
                : pel_onnx_write(o, "F.pad(_0, _1)", x, sizes, NULL);
}

static void allow_window(pel_onnx *o, const char *also) {
    static const char *const names[] = { "kernel_shape", "strides", "dilations", "pads", "auto_pad" };
    for (uint32_t i = 0; i < o->now->attributes.n; i++) {
        pel_str name = o->now->attributes.at[i].name;
        bool found = name.len && pel_str_find(pel_str_of(also), pel_format(o->ctx, " %.*s ", PEL_FMT(name)));
        for (size_t k = 0; k < PEL_COUNT(names); k++) found |= pel_str_is(name, names[k]);
        if (!found) pel_onnx_refuse(o, pel_format(o->ctx, "its attribute %.*s is not known%c", PEL_FMT(name), 0).ptr);
    }
}

static const pel_model_tensor *weight_of(pel_onnx *o) {
    const pel_onnx_value *weight = pel_onnx_in(o, 1);
    if (!pel_onnx_in(o, 0) || !weight || !weight->tensor || weight->tensor->shape.n < 3 || weight->tensor->shape.n > 5)
        pel_onnx_refuse(o, "its weight is computed, or not of a convolution's shape");
    return weight->tensor;
}

static void push_all(pel_onnx *o, pel_node *call, const window *w) {
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, w->strides, w->n));
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, w->begins, w->n));
}

static pel_node *bias_of(pel_onnx *o) {
    pel_node *bias = pel_onnx_in(o, 2) ? pel_onnx_arg(o, 2, 'b') : NULL;
    return bias ? bias : pel_make_none(o->ctx);
}

pel_node *pel_onnx_conv(pel_onnx *o) {
    static const char *const texts[] = { "aten.conv1d.default(_0, _1, _2)", "aten.conv2d.default(_0, _1, _2)",
                                         "aten.conv3d.default(_0, _1, _2)" };
    allow_window(o, " group ");
    const pel_model_tensor *weight = weight_of(o);
    window w = window_of(o, weight->shape.n - 2);
    for (uint32_t i = 0; i < w.n; i++) w.kernel[i] = weight->shape.dims[i + 2].size;
    settle_pads(o, &w);
    pel_node *x = pel_onnx_arg(o, 0, 't');
    if (!w.is_even) x = pel_onnx_bind(o, padded(o, &w, x, NULL));
    pel_node *call = pel_onnx_write(o, texts[w.n - 1], x, pel_onnx_arg(o, 1, 'w'), bias_of(o));
    push_all(o, call, &w);
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, w.dilations, w.n));
    pel_nodes_push(o->ctx, &call->Call.args, pel_make_int(o->ctx, pel_onnx_int(o, "group", 1)));
    pel_onnx_value_of(o, o->now->out.at[0])->rank = (int)w.n + 2;
    return call;
}

pel_node *pel_onnx_conv_transpose(pel_onnx *o) {
    static const char *const texts[] = { "aten.conv_transpose1d.default(_0, _1, _2)",
                                         "aten.conv_transpose2d.default(_0, _1, _2)",
                                         "aten.conv_transpose3d.default(_0, _1, _2)" };
    allow_window(o, " group output_padding ");
    const pel_model_tensor *weight = weight_of(o);
    window w = window_of(o, weight->shape.n - 2);
    int64_t more[2 * MOST] = { 0 };
    pel_str how = pel_onnx_text(o, "auto_pad", "NOTSET");
    uint32_t n_more = list_of(o, "output_padding", more);
    if (!pel_str_is(how, "NOTSET") && !pel_str_is(how, "VALID")) return NULL;
    settle_pads(o, &w);
    if (!w.is_even || (n_more && n_more != w.n)) return NULL;
    pel_node *call = pel_onnx_write(o, texts[w.n - 1], pel_onnx_arg(o, 0, 't'), pel_onnx_arg(o, 1, 'w'), bias_of(o));
    push_all(o, call, &w);
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, more, w.n));
    pel_nodes_push(o->ctx, &call->Call.args, pel_make_int(o->ctx, pel_onnx_int(o, "group", 1)));
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, w.dilations, w.n));
    pel_onnx_value_of(o, o->now->out.at[0])->rank = (int)w.n + 2;
    return call;
}

/* torch pads at most half a window; more of it, or ends that differ, are padded before. */
static bool fits_window(const window *w) {
    bool fits = w->is_even;
    for (uint32_t i = 0; i < w->n; i++) fits &= 2 * w->begins[i] <= w->kernel[i];
    return fits;
}

static pel_node *bool_of(pel_onnx *o, bool value) { return pel_make_constant(o->ctx, pel_const_bool(value)); }

/* The last window may not begin in the padding behind: torch knows what is padding only where it pads itself. */
static void refuse_ceil(pel_onnx *o) {
    if (pel_onnx_int(o, "ceil_mode", 0))
        pel_onnx_refuse(o, "sizes rounded up, with padding that torch's pools don't take");
}

pel_node *pel_onnx_max_pool(pel_onnx *o) {
    static const char *const texts[] = { "aten.max_pool1d.default(_0, _1)", "aten.max_pool2d.default(_0, _1)",
                                         "aten.max_pool3d.default(_0, _1)" };
    allow_window(o, " ceil_mode storage_order ");
    window w = window_of(o, 0);
    settle_pads(o, &w);
    pel_node *x = pel_onnx_arg(o, 0, 't'), *least = NULL;
    if (!x || pel_onnx_int(o, "storage_order", 0)) return NULL;
    if (!fits_window(&w)) {
        refuse_ceil(o);
        least = pel_onnx_write(o, "float('-inf')", NULL, NULL, NULL);
        x = pel_onnx_bind(o, padded(o, &w, x, least));
    }
    pel_node *call = pel_onnx_write(o, texts[w.n - 1], x, pel_onnx_ints(o, w.kernel, w.n), NULL);
    push_all(o, call, &w);
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_ints(o, w.dilations, w.n));
    pel_nodes_push(o->ctx, &call->Call.args, bool_of(o, pel_onnx_int(o, "ceil_mode", 0) != 0));
    return call;
}

pel_node *pel_onnx_average_pool(pel_onnx *o) {
    static const char *const texts[] = { "aten.avg_pool1d.default(_0, _1)", "aten.avg_pool2d.default(_0, _1)",
                                         "aten.avg_pool3d.default(_0, _1)" };
    allow_window(o, " ceil_mode count_include_pad ");
    window w = window_of(o, 0);
    settle_pads(o, &w);
    bool counts_pad = pel_onnx_int(o, "count_include_pad", 0) != 0, any = false;
    for (uint32_t i = 0; i < w.n; i++) {
        if (w.dilations[i] != 1) return NULL;
        any |= w.begins[i] || w.ends[i];
    }
    pel_node *x = pel_onnx_arg(o, 0, 't');
    if (!x) return NULL;
    if (!fits_window(&w)) {
        refuse_ceil(o);
        if (!counts_pad) pel_onnx_refuse(o, "padding that is not counted, with two ends that differ");
        x = pel_onnx_bind(o, padded(o, &w, x, NULL));
    }
    pel_node *call = pel_onnx_write(o, texts[w.n - 1], x, pel_onnx_ints(o, w.kernel, w.n), NULL);
    push_all(o, call, &w);
    pel_nodes_push(o->ctx, &call->Call.args, bool_of(o, pel_onnx_int(o, "ceil_mode", 0) != 0));
    pel_nodes_push(o->ctx, &call->Call.args, bool_of(o, counts_pad || !any));
    return call;
}

pel_node *pel_onnx_global_pool(pel_onnx *o) {
    static const char *const texts[] = { "aten.adaptive_avg_pool1d.default(_0, _1)",
                                         "aten.adaptive_avg_pool2d.default(_0, _1)",
                                         "aten.adaptive_avg_pool3d.default(_0, _1)" };
    int rank = pel_onnx_in(o, 0) ? pel_onnx_in(o, 0)->rank : -1;
    if (rank < 3 || rank > 5) pel_onnx_refuse(o, "how many dimensions it reduces is not known");
    int64_t ones[3] = { 1, 1, 1 }, dims[3] = { 2, 3, 4 };
    uint32_t n = (uint32_t)rank - 2;
    pel_node *x = pel_onnx_arg(o, 0, 't');
    if (pel_str_is(o->now->op, "GlobalMaxPool"))
        return pel_onnx_write(o, "_0.amax(_1, keepdim=True)", x, pel_onnx_ints(o, dims, n), NULL);
    return pel_onnx_write(o, texts[n - 1], x, pel_onnx_ints(o, ones, n), NULL);
}

/* In eval mode; a class of torch.nn needs the number of dimensions. */
pel_node *pel_onnx_batch_norm(pel_onnx *o) {
    static const char *const classes[] = { "BatchNorm1d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d" };
    if (pel_onnx_int(o, "training_mode", 0) || pel_onnx_int(o, "spatial", 1) != 1 || o->now->in.n != 5) return NULL;
    for (uint32_t i = 0; i < o->now->attributes.n; i++) {
        static const char *const known[] = { "epsilon", "momentum", "training_mode", "spatial" };
        bool found = false;
        for (size_t k = 0; k < PEL_COUNT(known); k++) found |= pel_str_is(o->now->attributes.at[i].name, known[k]);
        if (!found) return NULL;
    }
    const pel_onnx_attribute *eps = pel_onnx_attribute_of(o, "epsilon");
    pel_node *call = pel_onnx_write(o, "aten.batch_norm.default(_0, _1, _2)", pel_onnx_arg(o, 0, 't'),
                                    pel_onnx_arg(o, 1, 'w'), pel_onnx_arg(o, 2, 'b'));
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_arg(o, 3, 'm'));
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_arg(o, 4, 'v'));
    pel_nodes_push(o->ctx, &call->Call.args, bool_of(o, false));
    pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_number(o, 0.1));
    pel_nodes_push(o->ctx, &call->Call.args, eps && eps->value ? eps->value : pel_onnx_number(o, 1e-5));
    pel_nodes_push(o->ctx, &call->Call.args, bool_of(o, true));
    int rank = pel_onnx_in(o, 0)->rank;
    pel_part *part = pel_part_at(o->r, pel_onnx_scope(o));
    if (rank >= 2 && rank <= 5 && part && part->path.len && !part->class.len) {
        part->class = pel_str_of(classes[rank - 2]);
        part->origin = PEL_STR("torch.nn.modules.batchnorm");
    }
    return call;
}

/* Modes: constant, reflect, edge (torch says replicate), wrap (circular). */
pel_node *pel_onnx_pad(pel_onnx *o) {
    static const struct {
        const char *mode, *name;
    } modes[] = {
        { "constant", "constant" }, { "reflect", "reflect" }, { "edge", "replicate" }, { "wrap", "circular" }
    };
    pel_str mode = pel_onnx_text(o, "mode", "constant");
    const char *name = NULL;
    int64_t pads[64], axes[64], row[2 * MOST];
    uint32_t n = 0, n_axes = 0;
    for (size_t i = 0; i < PEL_COUNT(modes); i++)
        if (pel_str_is(mode, modes[i].mode)) name = modes[i].name;
    if (!name || !pel_onnx_in(o, 0)) return NULL;
    if (o->opset < 11)
        n = list_of(o, "pads", pads);
    else if (!pel_onnx_in(o, 1) || !pel_onnx_whole(o, pel_onnx_in(o, 1), pads, &n))
        pel_onnx_refuse(o, "its padding is computed");
    if (n % 2 || n > 2 * MOST) return NULL;
    int rank = pel_onnx_in(o, 0)->rank;
    bool has_axes = pel_onnx_in(o, 3) != NULL;
    if (has_axes &&
        (!pel_onnx_whole(o, pel_onnx_in(o, 3), axes, &n_axes) || n_axes != n / 2 || rank < 0 || rank > MOST))
        return NULL;
    if (has_axes) {
        int64_t all[2 * MOST] = { 0 };
        for (uint32_t i = 0; i < n_axes; i++) {
            int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
            if (axis < 0 || axis >= rank) pel_onnx_refuse(o, "an axis that is out of range");
            all[axis] = pads[i];
            all[rank + axis] = pads[n_axes + i];
        }
        n = 2 * (uint32_t)rank;
        memcpy(pads, all, n * sizeof *pads);
    }
    uint32_t n_kept = n / 2;
    while (n_kept && !pads[n / 2 - n_kept] && !pads[n - n_kept])
        n_kept--; /* the first dimensions that are not padded */
    bool is_constant = strcmp(name, "constant") == 0;
    if (n_kept && !is_constant && rank > 2 && (int)n_kept < rank - 2) n_kept = (uint32_t)rank - 2;
    if (!is_constant && (n_kept > 3 || (rank > 0 && (int)n_kept >= rank)))
        pel_onnx_refuse(o, "torch pads the last three dimensions in this mode, and not the first");
    for (uint32_t i = 0; i < n_kept; i++) {
        row[2 * i] = pads[n / 2 - 1 - i];
        row[2 * i + 1] = pads[n - 1 - i];
    }
    pel_node *x = pel_onnx_arg(o, 0, 't'), *sizes = pel_onnx_ints(o, row, 2 * n_kept), *fill = NULL;
    if (!n_kept) return x;
    if (!is_constant)
        return pel_onnx_write(o, "F.pad(_0, _1, mode=_2)", x, sizes, pel_make_text(o->ctx, pel_str_of(name)));
    if (o->opset < 11)
        fill = pel_onnx_number(o, pel_onnx_real(o, "value", 0));
    else if (pel_onnx_in(o, 2))
        fill = pel_onnx_arg(o, 2, 'n');
    return fill ? pel_onnx_write(o, "F.pad(_0, _1, value=_2)", x, sizes, fill)
                : pel_onnx_write(o, "F.pad(_0, _1)", x, sizes, NULL);
}

/* Which of torch's modes is ONNX's, by how places are counted and rounded; NULL: none is. */
static const char *resize_mode(pel_onnx *o, uint32_t n, bool *is_aligned) {
    pel_str mode = pel_onnx_text(o, "mode", "nearest"),
            places = pel_onnx_text(o, "coordinate_transformation_mode", "half_pixel");
    pel_str rounding = pel_onnx_text(o, "nearest_mode", "round_prefer_floor");
    bool is_half = pel_str_is(places, "half_pixel") || pel_str_is(places, "pytorch_half_pixel");
    *is_aligned = pel_str_is(places, "align_corners");
    if (pel_str_is(mode, "nearest")) {
        if (pel_str_is(places, "asymmetric") && pel_str_is(rounding, "floor")) return "nearest";
        bool is_round = pel_str_is(rounding, "round_prefer_floor") || pel_str_is(rounding, "round_prefer_ceil");
        return is_half && is_round ? "nearest-exact" : NULL;
    }
    if (!is_half && !*is_aligned) return NULL;
    if (pel_str_is(mode, "linear")) return n == 1 ? "linear" : n == 2 ? "bilinear" : "trilinear";
    double a = pel_onnx_real(o, "cubic_coeff_a", -0.75);
    return pel_str_is(mode, "cubic") && n == 2 && a >= -0.75 && a <= -0.75 ? "bicubic" : NULL;
}

/* Whether a place may lie in the middle between two: of sizes a to b, without common factors, where a is even. */
static bool has_middle(int64_t from, double scale, int64_t to) {
    if (scale > 0) return scale < 1 || scale > 1 << 20 || scale > (double)(int64_t)scale;
    if (from < 1 || to < 1) return true;
    while (from % 2 == 0 && to % 2 == 0) {
        from /= 2;
        to /= 2;
    }
    return from % 2 == 0;
}

/* One dimension, where ONNX's rules are not torch's: nearest-exact takes the higher one of two that are as near, and
 * pytorch_half_pixel means the first place where one is left. Sizes that are not known are 0. */
static void check_resize(pel_onnx *o, uint32_t axis, const pel_node *given, bool is_scaled) {
    const pel_const *value = given->kind == PEL_Constant ? given->Constant.value : NULL;
    const pel_shape *shape = pel_onnx_in(o, 0)->shape;
    bool has_size = shape && shape->is_known && axis < shape->n && !shape->dims[axis].symbol.len;
    int64_t from = has_size ? shape->dims[axis].size : 0, to = 0;
    double scale = is_scaled && value && value->kind == PEL_CONST_FLOAT ? value->real : 0;
    if (!is_scaled && value && value->kind == PEL_CONST_INT && !value->integer.digits.len) to = value->integer.small;
    if (scale > 0 && scale < 1 && from > 0 && from < INT32_MAX) to = (int64_t)((double)from * scale);
    if (to == 1 && from != 1 &&
        pel_str_is(pel_onnx_text(o, "coordinate_transformation_mode", "half_pixel"), "pytorch_half_pixel"))
        pel_onnx_refuse(o, "one place is left, which is the first in ONNX and the middle in torch");
    bool is_half = !pel_str_is(pel_onnx_text(o, "coordinate_transformation_mode", "half_pixel"), "asymmetric");
    if (is_half && pel_str_is(pel_onnx_text(o, "mode", "nearest"), "nearest") &&
        pel_str_is(pel_onnx_text(o, "nearest_mode", "round_prefer_floor"), "round_prefer_floor") &&
        has_middle(from, scale, to))
        pel_onnx_refuse(o, "places in the middle of two, of which torch takes the other one");
}

/* Inputs: the picture, a region (unused), scales, sizes; one of the two for all dimensions, the first two unchanged. */
pel_node *pel_onnx_resize(pel_onnx *o) {
    pel_onnx_value *scales = pel_onnx_in(o, 2), *sizes = pel_onnx_in(o, 3);
    bool is_scaled = scales && pel_onnx_numbers(o, scales) && scales->numbers.n > 2;
    if (pel_onnx_int(o, "antialias", 0) || pel_onnx_int(o, "exclude_outside", 0) || pel_onnx_attribute_of(o, "axes") ||
        !pel_str_is(pel_onnx_text(o, "keep_aspect_ratio_policy", "stretch"), "stretch") || !pel_onnx_in(o, 0))
        return NULL;
    if (!is_scaled && (!sizes || !pel_onnx_numbers(o, sizes) || sizes->numbers.n < 3)) return NULL;
    const pel_nodes *given = is_scaled ? &scales->numbers : &sizes->numbers;
    uint32_t n = given->n - 2;
    bool is_aligned;
    const char *mode = n <= 3 ? resize_mode(o, n, &is_aligned) : NULL;
    if (!mode) pel_onnx_refuse(o, "a way of resizing that torch does not have");
    for (uint32_t i = 0; is_scaled && i < 2; i++) {
        const pel_const *scale = given->at[i]->kind == PEL_Constant ? given->at[i]->Constant.value : NULL;
        if (!scale || scale->kind != PEL_CONST_FLOAT || scale->real < 1 || scale->real > 1)
            pel_onnx_refuse(o, "batch or channels are resized, too");
    }
    pel_node *row = pel_node_new(o->ctx, PEL_Tuple);
    for (uint32_t i = 2; i < given->n; i++) check_resize(o, i, given->at[i], is_scaled);
    for (uint32_t i = 2; i < given->n; i++) pel_nodes_push(o->ctx, &row->Tuple.elts, pel_copy(o->ctx, given->at[i]));
    pel_node *text = pel_make_text(o->ctx, pel_str_of(mode)), *x = pel_onnx_arg(o, 0, 't');
    bool is_plain = strncmp(mode, "nearest", 7) == 0;
    pel_node *call = pel_onnx_write(
        o, is_scaled ? "F.interpolate(_0, scale_factor=_1, mode=_2)" : "F.interpolate(_0, size=_1, mode=_2)", x, row,
        text);
    if (!is_plain)
        pel_nodes_push(o->ctx, &call->Call.keywords,
                       pel_make_keyword(o->ctx, pel_intern_c(o->ctx, "align_corners"), bool_of(o, is_aligned)));
    return call;
}

/* CRD is torch's own order; DCR has the block before the channels. */
pel_node *pel_onnx_depth_to_space(pel_onnx *o) {
    int64_t block = pel_onnx_int(o, "blocksize", 0);
    pel_str mode = pel_onnx_text(o, "mode", "DCR");
    if (block < 1 || block > 1 << 20 || !pel_onnx_in(o, 0)) return NULL;
    pel_node *x = pel_onnx_arg(o, 0, 't'), *size = pel_make_int(o->ctx, block);
    if (pel_str_is(mode, "CRD")) return pel_onnx_write(o, "aten.pixel_shuffle.default(_0, _1)", x, size, NULL);
    if (!pel_str_is(mode, "DCR")) return NULL;
    pel_node *turned = pel_onnx_write(o, "_0.unflatten(1, (_1, -1)).transpose(1, 2).flatten(1, 2)", x,
                                      pel_make_int(o->ctx, block * block), NULL);
    return pel_onnx_write(o, "F.pixel_shuffle(_0, _1)", turned, size, NULL);
}

pel_node *pel_onnx_space_to_depth(pel_onnx *o) {
    int64_t block = pel_onnx_int(o, "blocksize", 0);
    if (block < 1 || block > 1 << 20 || !pel_onnx_in(o, 0)) return NULL;
    pel_node *parts =
        pel_onnx_write(o, "F.pixel_unshuffle(_0, _1)", pel_onnx_arg(o, 0, 't'), pel_make_int(o->ctx, block), NULL);
    return pel_onnx_write(o, "_0.unflatten(1, (-1, _1)).transpose(1, 2).flatten(1, 2)", parts,
                          pel_make_int(o->ctx, block * block), NULL);
}
