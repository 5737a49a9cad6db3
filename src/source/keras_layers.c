/* Layers of Keras without windows, and the table of all of them. */
#include "source/keras.h"

typedef pel_json_node json;
typedef pel_keras_value value;

static value *only(pel_keras *k) {
    if (k->in.n != 1) pel_keras_refuse(k, "it is called with several tensors");
    return k->in.at[0];
}

/* ---- activations ---- */

/* F.relu(x) and the like, where Keras and torch mean the same. In Keras 3 a sigmoid is hard by sixths, before by
 * fifths. */
value *pel_keras_activate(pel_keras *k, value *x, json *how) {
    static const struct {
        const char *name, *text;
    } rows[] = { { "relu", "aten.relu.default(_0)" },
                 { "relu6", "F.relu6(_0)" },
                 { "sigmoid", "torch.sigmoid(_0)" },
                 { "tanh", "torch.tanh(_0)" },
                 { "elu", "F.elu(_0)" },
                 { "selu", "F.selu(_0)" },
                 { "gelu", "F.gelu(_0)" },
                 { "swish", "F.silu(_0)" },
                 { "silu", "F.silu(_0)" },
                 { "softplus", "F.softplus(_0)" },
                 { "softsign", "F.softsign(_0)" },
                 { "exponential", "torch.exp(_0)" },
                 { "mish", "F.mish(_0)" },
                 { "log_sigmoid", "F.logsigmoid(_0)" } };
    if (!how || how->kind == PEL_J_NULL) return x;
    pel_str name = pel_json_text(how);
    if (!name.len) pel_keras_refuse(k, "its activation is no function of Keras's own");
    pel_node *node = pel_keras_read(k, x);
    if (pel_str_is(name, "linear")) return x;
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(name, rows[i].name))
            return pel_keras_bind(k, x, pel_keras_text(k, rows[i].text, node, NULL, NULL));
    bool is_hard = pel_str_is(name, "hard_sigmoid");
    if (k->major == 3 && is_hard) return pel_keras_bind(k, x, pel_keras_text(k, "F.hardsigmoid(_0)", node, NULL, NULL));
    if (k->major == 2 && is_hard)
        return pel_keras_bind(k, x, pel_keras_text(k, "(0.2 * _0 + 0.5).clamp(0, 1)", node, NULL, NULL));
    if (k->major == 3 && (pel_str_is(name, "hard_silu") || pel_str_is(name, "hard_swish")))
        return pel_keras_bind(k, x, pel_keras_text(k, "F.hardswish(_0)", node, NULL, NULL));
    if (k->major == 3 && pel_str_is(name, "leaky_relu"))
        return pel_keras_bind(k, x, pel_keras_text(k, "F.leaky_relu(_0, 0.2)", node, NULL, NULL));
    bool is_log = pel_str_is(name, "log_softmax");
    if (is_log || pel_str_is(name, "softmax"))
        return pel_keras_bind(k, x,
                              pel_keras_text(k, is_log ? "F.log_softmax(_0, dim=_1)" : "F.softmax(_0, dim=_1)", node,
                                             pel_make_int(k->ctx, x->is_first ? 1 : -1), NULL));
    pel_keras_refuse(k, pel_format(k->ctx, "the activation %.*s is not known%c", PEL_FMT(name), 0).ptr);
}

static value *form_activation(pel_keras *k) { return pel_keras_activate(k, only(k), pel_keras_given(k, "activation")); }

static value *form_relu(pel_keras *k) {
    value *x = only(k);
    double most = pel_keras_real(k, "max_value", -1), slope = pel_keras_real(k, "negative_slope", 0);
    pel_node *node = pel_keras_read(k, x);
    if (pel_keras_real(k, "threshold", 0) != 0 || (pel_keras_given(k, "max_value") && slope != 0)) return NULL;
    if (!pel_keras_given(k, "max_value") && slope != 0)
        node = pel_keras_text(k, "F.leaky_relu(_0, _1)", node, pel_keras_number(k, slope), NULL);
    else if (!pel_keras_given(k, "max_value"))
        node = pel_keras_text(k, "F.relu(_0)", node, NULL, NULL);
    else if (most >= 6 && most <= 6)
        node = pel_keras_text(k, "F.relu6(_0)", node, NULL, NULL);
    else
        node = pel_keras_text(k, "_0.clamp(0, _1)", node, pel_keras_number(k, most), NULL);
    return pel_keras_bind(k, x, node);
}

static value *form_leaky_relu(pel_keras *k) {
    double slope = pel_keras_real(k, "negative_slope", pel_keras_real(k, "alpha", 0.3));
    value *x = only(k);
    return pel_keras_bind(
        k, x, pel_keras_text(k, "F.leaky_relu(_0, _1)", pel_keras_read(k, x), pel_keras_number(k, slope), NULL));
}

static value *form_elu(pel_keras *k) {
    value *x = only(k);
    return pel_keras_bind(k, x,
                          pel_keras_text(k, "F.elu(_0, _1)", pel_keras_read(k, x),
                                         pel_keras_number(k, pel_keras_real(k, "alpha", 1)), NULL));
}

static value *form_prelu(pel_keras *k) {
    value *x = pel_keras_last(k, only(k));
    return pel_keras_bind_in(k, x,
                             pel_keras_text(k, "torch.where(_0 < 0, _0 * _1, _0)", pel_keras_read(k, x),
                                            pel_keras_plain(k, "weight", "alpha"), NULL),
                             "");
}

static value *form_softmax(pel_keras *k) {
    value *x = pel_keras_last(k, only(k));
    return pel_keras_bind(k, x,
                          pel_keras_text(k, "F.softmax(_0, dim=_1)", pel_keras_read(k, x),
                                         pel_make_int(k->ctx, pel_keras_int(k, "axis", -1)), NULL));
}

/* ---- what does nothing in eval mode ---- */
static value *form_nothing(pel_keras *k) { return only(k); }

/* ---- products ---- */

value *pel_keras_dense(pel_keras *k) {
    value *x = pel_keras_last(k, only(k)), like = *x;
    int64_t units = pel_keras_int(k, "units", 0);
    const pel_model_tensor *kernel = pel_keras_tensor(k, "kernel");
    if (kernel->shape.n != 2 || kernel->shape.dims[1].size != units || pel_keras_given(k, "lora_rank")) return NULL;
    pel_keras_order order = pel_keras_turned(kernel, units, kernel->shape.dims[0].size);
    pel_node *weight = pel_keras_weight(k, "", "weight", kernel, &order);
    pel_node *bias = pel_keras_flag(k, "use_bias", true) ? pel_keras_plain(k, "bias", "bias") : NULL;
    pel_node *call = bias ? pel_keras_text(k, "aten.linear.default(_0, _1, _2)", pel_keras_read(k, x), weight, bias)
                          : pel_keras_text(k, "aten.linear.default(_0, _1)", pel_keras_read(k, x), weight, NULL);
    like.sizes[like.n - 1] = units;
    return pel_keras_activate(k, pel_keras_bind_in(k, &like, call, ""), pel_keras_given(k, "activation"));
}

static value *form_embedding(pel_keras *k) {
    value *x = only(k), like = *x;
    const pel_model_tensor *table = pel_keras_tensor(k, "embeddings");
    if (pel_keras_flag(k, "mask_zero", false) || table->shape.n != 2 || like.n == PEL_KERAS_DIMS) return NULL;
    pel_node *ids = pel_keras_read(k, x);
    if (!x->is_whole) ids = pel_keras_read(k, pel_keras_bind(k, x, pel_keras_text(k, "_0.long()", ids, NULL, NULL)));
    like.sizes[like.n++] = table->shape.dims[1].size;
    like.is_whole = false;
    pel_node *call =
        pel_keras_text(k, "aten.embedding.default(_0, _1)", pel_keras_plain(k, "weight", "embeddings"), ids, NULL);
    return pel_keras_bind_in(k, &like, call, "");
}

/* ---- shapes ---- */

static int64_t product(const value *x, uint32_t from) {
    int64_t out = 1;
    for (uint32_t i = from; i < x->n; i++)
        if (x->sizes[i] < 0 || __builtin_mul_overflow(out, x->sizes[i], &out)) return -1;
    return out;
}

static value *form_flatten(pel_keras *k) {
    value *x = pel_keras_last(k, only(k)), like = *x;
    if (x->n < 3) return x->n == 2 ? x : NULL;
    like.n = 2;
    like.sizes[1] = product(x, 1);
    return pel_keras_bind(k, &like, pel_keras_text(k, "_0.flatten(1)", pel_keras_read(k, x), NULL, NULL));
}

/* The batch is what the sizes leave open, unless they leave another one open. */
static value *form_reshape(pel_keras *k) {
    value *x = pel_keras_last(k, only(k)), like = *x;
    json *target = pel_keras_given(k, "target_shape");
    if (!target || target->kind != PEL_J_ARRAY || target->items.n + 1 > PEL_KERAS_DIMS) return NULL;
    pel_node *sizes = pel_keras_ints(k, NULL, 0);
    bool is_open = false;
    like.n = target->items.n + 1;
    for (uint32_t i = 0; i < target->items.n; i++) {
        json *size = target->items.at[i];
        if (size->kind != PEL_J_NUMBER || !size->is_integer) return NULL;
        is_open |= size->integer < 0;
        like.sizes[i + 1] = size->integer;
        pel_nodes_push(k->ctx, &sizes->List.elts, pel_make_int(k->ctx, size->integer));
    }
    int64_t all = product(x, 1), known = 1;
    for (uint32_t i = 1; i < like.n; i++)
        if (like.sizes[i] > 0 && __builtin_mul_overflow(known, like.sizes[i], &known)) return NULL;
    for (uint32_t i = 1; i < like.n; i++)
        if (like.sizes[i] < 0) like.sizes[i] = all >= 0 && known ? all / known : -1;
    pel_node *batch =
        is_open ? pel_keras_text(k, "_0.size(0)", pel_keras_read(k, x), NULL, NULL) : pel_make_int(k->ctx, -1);
    pel_nodes row = pel_nodes_one(k->ctx, batch);
    for (uint32_t i = 0; i < sizes->List.elts.n; i++) pel_nodes_push(k->ctx, &row, sizes->List.elts.at[i]);
    sizes->List.elts = row;
    return pel_keras_bind(k, &like,
                          pel_keras_text(k, "aten.reshape.default(_0, _1)", pel_keras_read(k, x), sizes, NULL));
}

static value *form_permute(pel_keras *k) {
    value *x = pel_keras_last(k, only(k)), like = *x;
    json *dims = pel_keras_given(k, "dims");
    if (!dims || dims->kind != PEL_J_ARRAY || dims->items.n + 1 != x->n) return NULL;
    int64_t order[PEL_KERAS_DIMS] = { 0 };
    for (uint32_t i = 0; i < dims->items.n; i++) {
        json *dim = dims->items.at[i];
        if (dim->kind != PEL_J_NUMBER || dim->integer < 1 || dim->integer >= x->n) return NULL;
        order[i + 1] = dim->integer;
        like.sizes[i + 1] = x->sizes[dim->integer];
    }
    return pel_keras_bind(
        k, &like,
        pel_keras_text(k, "aten.permute.default(_0, _1)", pel_keras_read(k, x), pel_keras_ints(k, order, x->n), NULL));
}

static value *form_repeat(pel_keras *k) {
    value *x = only(k), like = *x;
    int64_t n = pel_keras_int(k, "n", 1);
    if (x->n != 2) return NULL;
    like.n = 3;
    like.sizes[2] = x->sizes[1];
    like.sizes[1] = n;
    return pel_keras_bind(
        k, &like,
        pel_keras_text(k, "_0.unsqueeze(1).expand(-1, _1, -1)", pel_keras_read(k, x), pel_make_int(k->ctx, n), NULL));
}

/* ---- several inputs ---- */

/* All in one order: channels first if they have as many dimensions, and one of them is. */
static bool align(pel_keras *k) {
    bool any = false, same = true;
    for (uint32_t i = 0; i < k->in.n; i++) {
        any |= k->in.at[i]->is_first;
        same &= k->in.at[i]->n == k->in.at[0]->n;
    }
    for (uint32_t i = 0; i < k->in.n; i++)
        k->in.at[i] = any && same ? pel_keras_first(k, k->in.at[i]) : pel_keras_last(k, k->in.at[i]);
    return same;
}

static value *merged(pel_keras *k, const char *text) {
    if (!align(k)) pel_keras_refuse(k, "its inputs have different numbers of dimensions");
    pel_node *node = pel_keras_read(k, k->in.at[0]);
    value like = *k->in.at[0];
    for (uint32_t i = 1; i < k->in.n; i++) {
        node = pel_keras_text(k, text, node, pel_keras_read(k, k->in.at[i]), NULL);
        for (uint32_t d = 0; d < like.n; d++)
            if (like.sizes[d] != k->in.at[i]->sizes[d])
                like.sizes[d] = like.sizes[d] == 1           ? k->in.at[i]->sizes[d]
                                : k->in.at[i]->sizes[d] == 1 ? like.sizes[d]
                                                             : -1;
    }
    return pel_keras_bind(k, &like, node);
}

/* Operations of keras.ops have the same names as layers, and may have numbers: those are another module's. */
static bool is_layer(pel_keras *k) {
    pel_str module = pel_json_text(pel_json_get(k->layer, "module"));
    return !pel_str_find(module, PEL_STR(".ops"));
}

/* An operation of keras.ops: a tensor with a tensor or a number. */
static value *operation(pel_keras *k, const char *text) {
    if (k->in.n != 2 || (!k->in.at[0]->name && !k->in.at[1]->name)) return NULL;
    if (k->in.at[0]->name && k->in.at[1]->name) return merged(k, text);
    value *tensor = k->in.at[k->in.at[0]->name ? 0 : 1];
    pel_node *args[2];
    if (tensor->is_whole) return NULL;
    for (int i = 0; i < 2; i++)
        args[i] = k->in.at[i]->name ? pel_keras_read(k, k->in.at[i]) : pel_keras_number(k, k->in.at[i]->number);
    return pel_keras_bind(k, tensor, pel_keras_text(k, text, args[0], args[1], NULL));
}

static value *form_add(pel_keras *k) { return is_layer(k) ? merged(k, "_0 + _1") : operation(k, "_0 + _1"); }
static value *form_multiply(pel_keras *k) { return is_layer(k) ? merged(k, "_0 * _1") : operation(k, "_0 * _1"); }
static value *form_subtract(pel_keras *k) {
    if (!is_layer(k)) return operation(k, "_0 - _1");
    return k->in.n == 2 ? merged(k, "_0 - _1") : NULL;
}
static value *form_divide(pel_keras *k) { return is_layer(k) ? NULL : operation(k, "_0 / _1"); }
static value *form_maximum(pel_keras *k) { return is_layer(k) ? merged(k, "torch.maximum(_0, _1)") : NULL; }
static value *form_minimum(pel_keras *k) { return is_layer(k) ? merged(k, "torch.minimum(_0, _1)") : NULL; }

static value *form_average(pel_keras *k) {
    if (!is_layer(k)) return NULL;
    value *sum = merged(k, "_0 + _1");
    return pel_keras_bind(k, sum,
                          pel_keras_text(k, "_0 / _1", pel_keras_read(k, sum), pel_make_int(k->ctx, k->in.n), NULL));
}

static value *form_concatenate(pel_keras *k) {
    if (!is_layer(k)) return NULL;
    int64_t axis = pel_keras_int(k, "axis", -1), n = k->in.at[0]->n;
    if (axis < 0) axis += n;
    if (axis < 1 || axis >= n || !align(k)) return NULL;
    value like = *k->in.at[0];
    pel_node *list = pel_keras_ints(k, NULL, 0);
    for (uint32_t i = 0; i < k->in.n; i++) {
        int64_t size = k->in.at[i]->sizes[axis];
        if (i) like.sizes[axis] = like.sizes[axis] < 0 || size < 0 ? -1 : like.sizes[axis] + size;
        pel_nodes_push(k->ctx, &list->List.elts, pel_keras_read(k, k->in.at[i]));
    }
    int64_t dim = !like.is_first ? axis : axis == n - 1 ? 1 : axis + 1;
    return pel_keras_bind(k, &like, pel_keras_text(k, "torch.cat(_0, dim=_1)", list, pel_make_int(k->ctx, dim), NULL));
}

/* ---- norms ---- */

/* The weight and the bias that a module of torch has together: what the file has not is ones or zeros. */
static void scale_and_shift(pel_keras *k, int64_t size, pel_node **weight, pel_node **bias) {
    bool has_scale = pel_keras_flag(k, "scale", true), has_center = pel_keras_flag(k, "center", true);
    *weight = *bias = NULL;
    if (!has_scale && !has_center) return;
    *weight = has_scale ? pel_keras_plain(k, "weight", "gamma") : pel_keras_filled(k, "", "weight", size, 1);
    *bias = has_center ? pel_keras_plain(k, "bias", "beta") : pel_keras_filled(k, "", "bias", size, 0);
}

static pel_node *or_none(pel_keras *k, pel_node *node) { return node ? node : pel_make_none(k->ctx); }

static bool is_last_axis(pel_keras *k, const value *x) {
    int64_t axis = pel_keras_int(k, "axis", -1);
    return axis == -1 || axis == (int64_t)x->n - 1;
}

value *pel_keras_batch_norm(pel_keras *k) {
    static const char *const classes[] = { "BatchNorm1d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d" };
    value *x = only(k);
    if (!is_last_axis(k, x) || x->n < 2 || x->n > 5 || pel_keras_flag(k, "renorm", false)) return NULL;
    x = pel_keras_first(k, x);
    const pel_model_tensor *mean = pel_keras_tensor(k, "moving_mean");
    pel_node *weight, *bias;
    if (mean->shape.n != 1) return NULL;
    scale_and_shift(k, mean->shape.dims[0].size, &weight, &bias);
    pel_node *call = pel_keras_text(k, "aten.batch_norm.default(_0, _1, _2)", pel_keras_read(k, x), or_none(k, weight),
                                    or_none(k, bias));
    int64_t momentum = (int64_t)((1 - pel_keras_real(k, "momentum", 0.99)) * 1e6 + 0.5);
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_plain(k, "running_mean", "moving_mean"));
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_plain(k, "running_var", "moving_variance"));
    pel_nodes_push(k->ctx, &call->Call.args, pel_make_constant(k->ctx, &pel_false));
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_number(k, (double)momentum / 1e6));
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_number(k, pel_keras_real(k, "epsilon", 1e-3)));
    pel_nodes_push(k->ctx, &call->Call.args, pel_make_constant(k->ctx, &pel_true));
    pel_keras_counter(k);
    pel_part *part = pel_part_make(k->r, k->here);
    part->class = pel_str_of(classes[x->n - 2]);
    part->origin = PEL_STR("torch.nn.modules.batchnorm");
    return pel_keras_bind_in(k, x, call, "");
}

static value *form_layer_norm(pel_keras *k) {
    value *x = pel_keras_last(k, only(k));
    if (!is_last_axis(k, x) || pel_keras_flag(k, "rms_scaling", false) || x->sizes[x->n - 1] < 0) return NULL;
    pel_node *weight, *bias;
    int64_t size = x->sizes[x->n - 1];
    scale_and_shift(k, size, &weight, &bias);
    pel_node *call = pel_keras_text(k, "aten.layer_norm.default(_0, _1, _2)", pel_keras_read(k, x),
                                    pel_keras_ints(k, &size, 1), or_none(k, weight));
    pel_nodes_push(k->ctx, &call->Call.args, or_none(k, bias));
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_number(k, pel_keras_real(k, "epsilon", 1e-3)));
    return pel_keras_bind_in(k, x, call, "");
}

static value *form_group_norm(pel_keras *k) {
    value *x = only(k);
    int64_t groups = pel_keras_int(k, "groups", 32), size = x->sizes[x->n - 1];
    if (!is_last_axis(k, x) || size < 1) return NULL;
    x = pel_keras_first(k, x);
    pel_node *weight, *bias;
    scale_and_shift(k, size, &weight, &bias);
    pel_node *call = pel_keras_text(k, "aten.group_norm.default(_0, _1, _2)", pel_keras_read(k, x),
                                    pel_make_int(k->ctx, groups == -1 ? size : groups), or_none(k, weight));
    pel_nodes_push(k->ctx, &call->Call.args, or_none(k, bias));
    pel_nodes_push(k->ctx, &call->Call.args, pel_keras_number(k, pel_keras_real(k, "epsilon", 1e-3)));
    return pel_keras_bind_in(k, x, call, "");
}

static value *form_unit_norm(pel_keras *k) {
    value *x = pel_keras_last(k, only(k));
    if (!is_last_axis(k, x)) return NULL;
    return pel_keras_bind(k, x,
                          pel_keras_text(k, "F.normalize(_0, dim=-1, eps=1e-06)", pel_keras_read(k, x), NULL, NULL));
}

/* x * scale + offset: numbers, or rows of them for the channels. */
static value *form_rescaling(pel_keras *k) {
    value *x = only(k);
    json *scale = pel_keras_given(k, "scale"), *offset = pel_keras_given(k, "offset");
    pel_node *node = pel_keras_read(k, x);
    bool is_row = (scale && scale->kind == PEL_J_ARRAY) || (offset && offset->kind == PEL_J_ARRAY);
    if (is_row) node = pel_keras_read(k, x = pel_keras_last(k, x));
    for (int i = 0; i < 2; i++) {
        json *given = i ? offset : scale;
        pel_node *number = given ? NULL : i ? pel_keras_number(k, 0) : NULL;
        if (given && given->kind == PEL_J_ARRAY) {
            pel_node *list = pel_keras_ints(k, NULL, 0);
            for (uint32_t n = 0; n < given->items.n && n < 64; n++) {
                json *item = given->items.at[n];
                if (item->kind != PEL_J_NUMBER) return NULL;
                pel_nodes_push(k->ctx, &list->List.elts,
                               pel_keras_number(k, item->is_integer ? (double)item->integer : item->number));
            }
            number = pel_keras_text(k, "torch.tensor(_0)", list, NULL, NULL);
        } else if (given) {
            number = pel_keras_number(k, pel_keras_real(k, i ? "offset" : "scale", 0));
        }
        if (!number) return NULL;
        if (i && !given) continue;
        bool is_zero = number->kind == PEL_Constant && i && !(number->Constant.value->real < 0) &&
                       !(number->Constant.value->real > 0);
        if (!is_zero) node = pel_keras_text(k, i ? "_0 + _1" : "_0 * _1", node, number, NULL);
    }
    return pel_keras_bind(k, x, node);
}

/* Means and variances are weights, or stand in the config, which is refused. */
static value *form_normalization(pel_keras *k) {
    value *x = pel_keras_last(k, only(k));
    const char *mean = pel_keras_has(k, "mean") ? "mean" : "0",
               *variance = pel_keras_has(k, "variance") ? "variance" : "1";
    if (pel_keras_given(k, "mean") || pel_keras_flag(k, "invert", false) || !is_last_axis(k, x) ||
        !pel_keras_has(k, mean))
        return NULL;
    pel_node *call =
        pel_keras_text(k, "(_0 - _1) / torch.sqrt(_2).clamp(min=1e-07)", pel_keras_read(k, x),
                       pel_keras_plain(k, "running_mean", mean), pel_keras_plain(k, "running_var", variance));
    return pel_keras_bind_in(k, x, call, "");
}

/* A layer on each step: what works on the last dimension alone needs no loop. */
static value *form_time_distributed(pel_keras *k) {
    json *inner = pel_keras_given(k, "layer");
    pel_str class = pel_json_text(pel_json_get(inner, "class_name"));
    static const char *const known[] = { "Dense", "Activation", "Dropout", "ReLU" };
    for (size_t i = 0; i < PEL_COUNT(known); i++) {
        if (!pel_str_is(class, known[i])) continue;
        pel_str name = pel_json_text(pel_json_get(pel_json_get(inner, "config"), "name"));
        return pel_keras_call(k, inner, pel_format(k->ctx, "%.*s/%.*s", PEL_FMT(k->path), PEL_FMT(name)), k->in);
    }
    return NULL;
}

/* Long because it is the table of all layers. */
pel_keras_form *pel_keras_form_of(pel_str class) {
    static const struct {
        const char *class;
        pel_keras_form *form;
    } rows[] = {
        { "Activation", form_activation },
        { "ActivityRegularization", form_nothing },
        { "Add", form_add },
        { "AlphaDropout", form_nothing },
        { "Average", form_average },
        { "AveragePooling1D", pel_keras_pool },
        { "AveragePooling2D", pel_keras_pool },
        { "AveragePooling3D", pel_keras_pool },
        { "BatchNormalization", pel_keras_batch_norm },
        { "Bidirectional", pel_keras_bidirectional },
        { "Concatenate", form_concatenate },
        { "Conv1D", pel_keras_conv },
        { "Conv1DTranspose", pel_keras_conv_transpose },
        { "Conv2D", pel_keras_conv },
        { "Conv2DTranspose", pel_keras_conv_transpose },
        { "Conv3D", pel_keras_conv },
        { "Conv3DTranspose", pel_keras_conv_transpose },
        { "Cropping1D", pel_keras_pad },
        { "Cropping2D", pel_keras_pad },
        { "Cropping3D", pel_keras_pad },
        { "Dense", pel_keras_dense },
        { "DepthwiseConv1D", pel_keras_depthwise },
        { "DepthwiseConv2D", pel_keras_depthwise },
        { "Divide", form_divide },
        { "Dropout", form_nothing },
        { "ELU", form_elu },
        { "Embedding", form_embedding },
        { "Flatten", form_flatten },
        { "GRU", pel_keras_recurrent },
        { "GaussianDropout", form_nothing },
        { "GaussianNoise", form_nothing },
        { "GlobalAveragePooling1D", pel_keras_global_pool },
        { "GlobalAveragePooling2D", pel_keras_global_pool },
        { "GlobalAveragePooling3D", pel_keras_global_pool },
        { "GlobalMaxPooling1D", pel_keras_global_pool },
        { "GlobalMaxPooling2D", pel_keras_global_pool },
        { "GlobalMaxPooling3D", pel_keras_global_pool },
        { "GroupNormalization", form_group_norm },
        { "LSTM", pel_keras_recurrent },
        { "LayerNormalization", form_layer_norm },
        { "LeakyReLU", form_leaky_relu },
        { "MaxPooling1D", pel_keras_pool },
        { "MaxPooling2D", pel_keras_pool },
        { "MaxPooling3D", pel_keras_pool },
        { "Maximum", form_maximum },
        { "Minimum", form_minimum },
        { "MultiHeadAttention", pel_keras_attention },
        { "Multiply", form_multiply },
        { "Normalization", form_normalization },
        { "PReLU", form_prelu },
        { "Permute", form_permute },
        { "ReLU", form_relu },
        { "RepeatVector", form_repeat },
        { "Rescaling", form_rescaling },
        { "Reshape", form_reshape },
        { "SeparableConv1D", pel_keras_separable },
        { "SeparableConv2D", pel_keras_separable },
        { "Softmax", form_softmax },
        { "SpatialDropout1D", form_nothing },
        { "SpatialDropout2D", form_nothing },
        { "SpatialDropout3D", form_nothing },
        { "Subtract", form_subtract },
        { "TimeDistributed", form_time_distributed },
        { "TrueDivide", form_divide },
        { "UnitNormalization", form_unit_norm },
        { "UpSampling1D", pel_keras_upsample },
        { "UpSampling2D", pel_keras_upsample },
        { "UpSampling3D", pel_keras_upsample },
        { "ZeroPadding1D", pel_keras_pad },
        { "ZeroPadding2D", pel_keras_pad },
        { "ZeroPadding3D", pel_keras_pad },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(class, rows[i].class)) return rows[i].form;
    return NULL;
}
