/* Layers of Keras with windows. 'same' pads so that a stride of s gives one result for every s places, more of it at
 * the end: torch's padding has two equal ends, so what is uneven is padded before. */
#include "source/keras.h"

typedef pel_keras_value value;

typedef struct window {
    uint32_t n;
    int64_t kernel[3], strides[3], dilations[3], begins[3], ends[3];
    bool is_same, is_even;
} window;

static value *only(pel_keras *k) {
    if (k->in.n != 1) pel_keras_refuse(k, "it is called with several tensors");
    return k->in.at[0];
}

/* Conv2D has two dimensions: the number in its name. */
static uint32_t dimensions(pel_keras *k) {
    for (size_t i = 0; i + 1 < k->class.len; i++)
        if (k->class.ptr[i + 1] == 'D' && k->class.ptr[i] >= '1' && k->class.ptr[i] <= '3')
            return (uint32_t)(k->class.ptr[i] - '0');
    pel_keras_refuse(k, "a number of dimensions that is not known");
}

/* How much is padded at both ends, and the sizes of the result. */
static void settle(pel_keras *k, window *w, value *x) {
    pel_str padding = pel_keras_word(k, "padding", "valid");
    bool is_causal = pel_str_is(padding, "causal");
    w->is_same = pel_str_is(padding, "same");
    if (!w->is_same && !is_causal && !pel_str_is(padding, "valid")) pel_keras_refuse(k, "a padding that is not known");
    w->is_even = true;
    for (uint32_t i = 0; i < w->n; i++) {
        int64_t size = x->sizes[i + 1], reach = (w->kernel[i] - 1) * w->dilations[i] + 1, total = 0;
        int64_t count = size < 0 ? -1 : (size + w->strides[i] - 1) / w->strides[i];
        if (w->is_same) {
            if (w->strides[i] != 1 && size < 0) pel_keras_refuse(k, "its padding depends on a size that is not known");
            total = w->strides[i] == 1 ? reach - 1 : (count - 1) * w->strides[i] + reach - size;
            if (total < 0) total = 0;
        }
        w->begins[i] = is_causal ? reach - 1 : total / 2;
        w->ends[i] = is_causal ? 0 : total - total / 2;
        w->is_even &= w->begins[i] == w->ends[i];
        int64_t whole = size + w->begins[i] + w->ends[i];
        x->sizes[i + 1] = size < 0 ? -1 : whole < reach ? 0 : (whole - reach) / w->strides[i] + 1;
    }
}

static pel_node *padding_list(pel_keras *k, const window *w) {
    int64_t pads[6];
    for (uint32_t i = 0; i < w->n; i++) {
        pads[2 * i] = w->begins[w->n - 1 - i];
        pads[2 * i + 1] = w->ends[w->n - 1 - i];
    }
    return pel_keras_ints(k, pads, 2 * w->n);
}

static value *padded(pel_keras *k, value *x, const window *w, bool with_least) {
    const char *text = with_least ? "F.pad(_0, _1, value=float('-inf'))" : "F.pad(_0, _1)";
    return pel_keras_bind(k, x, pel_keras_text(k, text, pel_keras_read(k, x), padding_list(k, w), NULL));
}

static window window_of(pel_keras *k, const char *kernel) {
    window w = { .n = dimensions(k) };
    pel_keras_sizes(k, kernel, 1, w.kernel, w.n);
    pel_keras_sizes(k, "strides", 1, w.strides, w.n);
    pel_keras_sizes(k, "dilation_rate", 1, w.dilations, w.n);
    return w;
}

static void push(pel_keras *k, pel_node *call, const int64_t *numbers, uint32_t n) {
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_ints(k, numbers, n));
}

static pel_node *convolution(pel_keras *k, const window *w, value *x, pel_node *weight, pel_node *bias,
                             int64_t groups) {
    static const char *const texts[] = { "aten.conv1d.default(_0, _1, _2)", "aten.conv2d.default(_0, _1, _2)",
                                         "aten.conv3d.default(_0, _1, _2)" };
    static const int64_t none[3];
    pel_node *call =
        pel_keras_text(k, texts[w->n - 1], pel_keras_read(k, x), weight, bias ? bias : pel_make_none(k->ctx));
    push(k, call, w->strides, w->n);
    push(k, call, w->is_even ? w->begins : none, w->n);
    push(k, call, w->dilations, w->n);
    pel_nodes_push(k->ctx, &call->Call.args, pel_make_int(k->ctx, groups));
    return call;
}

/* The sizes of a kernel must be those of its layer: else the result is not what is thought here. */
static const pel_model_tensor *kernel_of(pel_keras *k, const char *name, const window *w) {
    const pel_model_tensor *kernel = pel_keras_tensor(k, name);
    bool fits = kernel->shape.n == w->n + 2;
    for (uint32_t i = 0; fits && i < w->n; i++) fits = kernel->shape.dims[i].size == w->kernel[i];
    if (!fits) pel_keras_refuse(k, "its kernel is not of the shape that it should have");
    return kernel;
}

/* [k, k, inputs, outputs] as [outputs, inputs, k, k]; the other way round for what is transposed. */
static pel_keras_order order_of(const pel_model_tensor *kernel, uint32_t n) {
    pel_keras_order order = { .n = n + 2 };
    int64_t inner = kernel->shape.dims[n].size, outer = kernel->shape.dims[n + 1].size, stride = inner * outer;
    order.sizes[0] = outer, order.strides[0] = 1;
    order.sizes[1] = inner, order.strides[1] = outer;
    for (uint32_t i = n; i-- > 0;) {
        order.sizes[i + 2] = kernel->shape.dims[i].size;
        order.strides[i + 2] = stride;
        stride *= kernel->shape.dims[i].size;
    }
    return order;
}

value *pel_keras_conv(pel_keras *k) {
    window w = window_of(k, "kernel_size");
    value like = *only(k), *x = pel_keras_first(k, only(k));
    if (like.n != w.n + 2) return NULL;
    const pel_model_tensor *kernel = kernel_of(k, "kernel", &w);
    settle(k, &w, &like);
    if (!w.is_even) x = padded(k, x, &w, false);
    pel_keras_order order = order_of(kernel, w.n);
    pel_node *weight = pel_keras_weight(k, "", "weight", kernel, &order);
    pel_node *bias = pel_keras_flag(k, "use_bias", true) ? pel_keras_plain(k, "bias", "bias") : NULL;
    like.is_first = true;
    like.sizes[w.n + 1] = kernel->shape.dims[w.n + 1].size;
    pel_node *call = convolution(k, &w, x, weight, bias, pel_keras_int(k, "groups", 1));
    return pel_keras_activate(k, pel_keras_bind_in(k, &like, call, ""), pel_keras_given(k, "activation"));
}

/* [k, k, inputs, multiplier]: a group for each input. */
static pel_node *depthwise(pel_keras *k, window *w, value *x, const char *name, const char *below, bool has_bias) {
    const pel_model_tensor *kernel = kernel_of(k, name, w);
    int64_t inputs = kernel->shape.dims[w->n].size, outputs = inputs * kernel->shape.dims[w->n + 1].size,
            stride = outputs;
    pel_keras_order order = { .n = w->n + 2, .sizes = { outputs, 1 }, .strides = { 1, 0 } };
    for (uint32_t i = w->n; i-- > 0;) {
        order.sizes[i + 2] = kernel->shape.dims[i].size;
        order.strides[i + 2] = stride;
        stride *= kernel->shape.dims[i].size;
    }
    pel_node *weight = pel_keras_weight(k, below, "weight", kernel, &order);
    return convolution(k, w, x, weight, has_bias ? pel_keras_plain(k, "bias", "bias") : NULL, inputs);
}

value *pel_keras_depthwise(pel_keras *k) {
    window w = window_of(k, "kernel_size");
    value like = *only(k), *x = pel_keras_first(k, only(k));
    if (like.n != w.n + 2) return NULL;
    settle(k, &w, &like);
    if (!w.is_even) x = padded(k, x, &w, false);
    const char *name = pel_keras_has(k, "depthwise_kernel") ? "depthwise_kernel" : "kernel";
    pel_node *call = depthwise(k, &w, x, name, "", pel_keras_flag(k, "use_bias", true));
    like.is_first = true;
    if (like.sizes[w.n + 1] > 0) like.sizes[w.n + 1] *= pel_keras_int(k, "depth_multiplier", 1);
    return pel_keras_activate(k, pel_keras_bind_in(k, &like, call, ""), pel_keras_given(k, "activation"));
}

value *pel_keras_separable(pel_keras *k) {
    window w = window_of(k, "kernel_size"),
           one = { .n = w.n, .kernel = { 1, 1, 1 }, .strides = { 1, 1, 1 }, .dilations = { 1, 1, 1 }, .is_even = true };
    value like = *only(k), *x = pel_keras_first(k, only(k));
    if (like.n != w.n + 2) return NULL;
    settle(k, &w, &like);
    if (!w.is_even) x = padded(k, x, &w, false);
    like.is_first = true;
    value *middle =
        pel_keras_bind_in(k, &like, depthwise(k, &w, x, "depthwise_kernel", "depthwise", false), "depthwise");
    const pel_model_tensor *kernel = kernel_of(k, "pointwise_kernel", &one);
    pel_keras_order order = order_of(kernel, w.n);
    pel_node *weight = pel_keras_weight(k, "pointwise", "weight", kernel, &order), *bias = NULL;
    if (pel_keras_flag(k, "use_bias", true))
        bias = pel_keras_weight(k, "pointwise", "bias", pel_keras_tensor(k, "bias"), NULL);
    like.sizes[w.n + 1] = kernel->shape.dims[w.n + 1].size;
    value *y = pel_keras_bind_in(k, &like, convolution(k, &one, middle, weight, bias, 1), "pointwise");
    return pel_keras_activate(k, y, pel_keras_given(k, "activation"));
}

/* 'same' gives strides times the size: what a transposed convolution has beyond that is cut, less of it at the start.
 */
value *pel_keras_conv_transpose(pel_keras *k) {
    static const char *const texts[] = { "aten.conv_transpose1d.default(_0, _1, _2)",
                                         "aten.conv_transpose2d.default(_0, _1, _2)",
                                         "aten.conv_transpose3d.default(_0, _1, _2)" };
    window w = window_of(k, "kernel_size");
    value like = *only(k), *x = pel_keras_first(k, only(k));
    int64_t more[3] = { 0 }, crops[6] = { 0 };
    bool is_cut = false, is_same = pel_str_is(pel_keras_word(k, "padding", "valid"), "same");
    if (like.n != w.n + 2 || pel_keras_given(k, "output_padding") || pel_keras_int(k, "groups", 1) != 1) return NULL;
    const pel_model_tensor *kernel = kernel_of(k, "kernel", &w);
    for (uint32_t i = 0; i < w.n; i++) {
        int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1,
                total = is_same && reach > w.strides[i] ? reach - w.strides[i] : 0;
        w.begins[i] = total / 2;
        more[i] = reach < w.strides[i] ? w.strides[i] - reach : 0;
        crops[2 * (w.n - 1 - i) + 1] = -(total % 2);
        is_cut |= total % 2 != 0;
        int64_t rest = is_same ? 0 : reach > w.strides[i] ? reach - w.strides[i] : 0;
        if (like.sizes[i + 1] >= 0) like.sizes[i + 1] = like.sizes[i + 1] * w.strides[i] + rest;
    }
    pel_keras_order order = order_of(kernel, w.n);
    pel_node *weight = pel_keras_weight(k, "", "weight", kernel, &order);
    pel_node *bias = pel_keras_flag(k, "use_bias", true) ? pel_keras_plain(k, "bias", "bias") : pel_make_none(k->ctx);
    pel_node *call = pel_keras_text(k, texts[w.n - 1], pel_keras_read(k, x), weight, bias);
    push(k, call, w.strides, w.n);
    push(k, call, w.begins, w.n);
    push(k, call, more, w.n);
    pel_nodes_push(k->ctx, &call->Call.args, pel_make_int(k->ctx, 1));
    push(k, call, w.dilations, w.n);
    like.is_first = true;
    like.sizes[w.n + 1] = kernel->shape.dims[w.n].size;
    value *y = pel_keras_bind_in(k, &like, call, "");
    if (is_cut)
        y = pel_keras_bind(
            k, &like,
            pel_keras_text(k, "F.pad(_0, _1)", pel_keras_read(k, y), pel_keras_ints(k, crops, 2 * w.n), NULL));
    return pel_keras_activate(k, y, pel_keras_given(k, "activation"));
}

/* An average counts only what is there: torch can leave out equal ends, else the sum of ones says how many there were.
 */
static pel_node *average(pel_keras *k, const window *w, value *x) {
    static const char *const texts[] = { "F.avg_pool1d(_0, _1, stride=_2)", "F.avg_pool2d(_0, _1, stride=_2)",
                                         "F.avg_pool3d(_0, _1, stride=_2)" };
    pel_node *kernel = pel_keras_ints(k, w->kernel, w->n), *strides = pel_keras_ints(k, w->strides, w->n);
    bool any = false;
    for (uint32_t i = 0; i < w->n; i++) any |= w->begins[i] || w->ends[i];
    if (!any) return pel_keras_text(k, texts[w->n - 1], pel_keras_read(k, x), kernel, strides);
    pel_node *ones = pel_keras_text(k, "torch.ones_like(_0)", pel_keras_read(k, x), NULL, NULL);
    pel_node *sum = pel_keras_text(k, "F.pad(_0, _1)", pel_keras_read(k, x), padding_list(k, w), NULL);
    pel_node *count = pel_keras_text(k, "F.pad(_0, _1)", ones, padding_list(k, w), NULL);
    return pel_keras_text(
        k, "_0 / _1", pel_keras_text(k, texts[w->n - 1], sum, kernel, strides),
        pel_keras_text(k, texts[w->n - 1], count, pel_copy(k->ctx, kernel), pel_copy(k->ctx, strides)), NULL);
}

value *pel_keras_pool(pel_keras *k) {
    static const char *const texts[] = { "aten.max_pool1d.default(_0, _1, _2)", "aten.max_pool2d.default(_0, _1, _2)",
                                         "aten.max_pool3d.default(_0, _1, _2)" };
    window w = { .n = dimensions(k), .dilations = { 1, 1, 1 } };
    static const int64_t none[3];
    value like = *only(k), *x = pel_keras_first(k, only(k));
    if (like.n != w.n + 2) return NULL;
    pel_keras_sizes(k, "pool_size", 2, w.kernel, w.n);
    memcpy(w.strides, w.kernel, sizeof w.strides);
    if (pel_keras_given(k, "strides")) pel_keras_sizes(k, "strides", 1, w.strides, w.n);
    settle(k, &w, &like);
    like.is_first = true;
    if (k->class.ptr[0] == 'A') return pel_keras_bind(k, &like, average(k, &w, x));
    bool fits = w.is_even;
    for (uint32_t i = 0; i < w.n; i++) fits &= 2 * w.begins[i] <= w.kernel[i];
    if (!fits) x = padded(k, x, &w, true);
    pel_node *call = pel_keras_text(k, texts[w.n - 1], pel_keras_read(k, x), pel_keras_ints(k, w.kernel, w.n),
                                    pel_keras_ints(k, w.strides, w.n));
    push(k, call, fits ? w.begins : none, w.n);
    return pel_keras_bind_in(k, &like, call, "");
}

value *pel_keras_global_pool(pel_keras *k) {
    uint32_t n = dimensions(k);
    value *x = only(k), like = *x;
    bool keeps = pel_keras_flag(k, "keepdims", false), is_max = pel_str_find(k->class, PEL_STR("Max")) != NULL;
    if (x->n != n + 2) return NULL;
    int64_t dims[3];
    for (uint32_t i = 0; i < n; i++) dims[i] = i + 1 + x->is_first, like.sizes[i + 1] = 1;
    if (!keeps) {
        like.sizes[1] = x->sizes[n + 1];
        like.n = 2;
        like.is_first = false;
    }
    const char *text = is_max ? (keeps ? "_0.amax(_1, keepdim=True)" : "_0.amax(_1)")
                              : (keeps ? "_0.mean(_1, keepdim=True)" : "_0.mean(_1)");
    return pel_keras_bind(k, &like, pel_keras_text(k, text, pel_keras_read(k, x), pel_keras_ints(k, dims, n), NULL));
}

/* ZeroPadding and Cropping: ((top, bottom), (left, right)), (both, both), or one number. */
value *pel_keras_pad(pel_keras *k) {
    uint32_t n = dimensions(k), at = 0;
    bool is_crop = k->class.ptr[0] == 'C';
    pel_json_node *given = pel_keras_given(k, is_crop ? "cropping" : "padding");
    value *x = only(k), like = *x;
    int64_t pads[8] = { 0 };
    if (x->n != n + 2) return NULL;
    if (!x->is_first) at = 2;
    for (uint32_t i = 0; i < n; i++) {
        pel_json_node *row = given && given->kind == PEL_J_ARRAY &&
                                     (n > 1 || (given->items.n && given->items.at[0]->kind == PEL_J_ARRAY))
                                 ? (i < given->items.n ? given->items.at[i] : NULL)
                                 : given;
        for (uint32_t end = 0; end < 2; end++) {
            pel_json_node *number =
                row && row->kind == PEL_J_ARRAY ? (end < row->items.n ? row->items.at[end] : NULL) : row;
            if (given && (!number || number->kind != PEL_J_NUMBER || number->integer < 0 || number->integer > 1 << 20))
                return NULL;
            int64_t size = (given ? number->integer : 1) * (is_crop ? -1 : 1);
            pads[at + 2 * (n - 1 - i) + end] = size;
            if (like.sizes[i + 1] >= 0) like.sizes[i + 1] += size;
        }
    }
    return pel_keras_bind(
        k, &like, pel_keras_text(k, "F.pad(_0, _1)", pel_keras_read(k, x), pel_keras_ints(k, pads, at + 2 * n), NULL));
}

value *pel_keras_upsample(pel_keras *k) {
    uint32_t n = dimensions(k);
    int64_t sizes[3];
    value *x = pel_keras_first(k, only(k)), like = *x;
    pel_str how = pel_keras_word(k, "interpolation", "nearest");
    if (x->n != n + 2) return NULL;
    pel_keras_sizes(k, "size", 2, sizes, n);
    for (uint32_t i = 0; i < n; i++)
        if (like.sizes[i + 1] >= 0) like.sizes[i + 1] *= sizes[i];
    pel_node *scale = pel_node_new(k->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(k->ctx, &scale->Tuple.elts, pel_keras_number(k, (double)sizes[i]));
    bool is_nearest = pel_str_is(how, "nearest");
    if (!is_nearest && !(n == 2 && pel_str_is(how, "bilinear"))) return NULL;
    return pel_keras_bind(
        k, &like,
        pel_keras_text(k,
                       is_nearest ? "F.interpolate(_0, scale_factor=_1, mode='nearest')"
                                  : "F.interpolate(_0, scale_factor=_1, mode='bilinear', align_corners=False)",
                       pel_keras_read(k, x), scale, NULL));
}
