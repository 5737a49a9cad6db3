/* Recurrent layers and attention of Keras: gates and heads in torch's order. */
#include "source/keras.h"

typedef pel_keras_value value;

/* Gates as torch has them: of an LSTM the same (input, forget, cell, output), of a GRU reset before update. */
static void write_weights(pel_keras *k, const char *cell, const char *suffix, int64_t units, bool is_gru) {
    int64_t gates = is_gru ? 3 : 4, rows = gates * units;
    const pel_model_tensor *kernel = pel_keras_tensor(k, pel_format(k->ctx, "%s/kernel%c", cell, 0).ptr);
    const pel_model_tensor *recurrent = pel_keras_tensor(k, pel_format(k->ctx, "%s/recurrent_kernel%c", cell, 0).ptr);
    bool fits = kernel->shape.n == 2 && recurrent->shape.n == 2 && kernel->shape.dims[1].size == rows &&
                recurrent->shape.dims[0].size == units && recurrent->shape.dims[1].size == rows;
    if (!fits) pel_keras_refuse(k, "its kernels are not of the shapes that they should have");
    for (int i = 0; i < 2; i++) {
        const pel_model_tensor *from = i ? recurrent : kernel;
        pel_keras_order order = pel_keras_turned(from, rows, from->shape.dims[0].size);
        if (is_gru) order.unit = units, order.order[0] = 1, order.order[1] = 0, order.order[2] = 2;
        pel_keras_weight(k, "", pel_format(k->ctx, "weight_%s_l0%s%c", i ? "hh" : "ih", suffix, 0).ptr, from, &order);
    }
    bool has_bias = pel_keras_flag(k, "use_bias", true);
    const pel_model_tensor *bias = has_bias ? pel_keras_tensor(k, pel_format(k->ctx, "%s/bias%c", cell, 0).ptr) : NULL;
    for (int i = 0; i < 2 && has_bias; i++) {
        const char *name = pel_format(k->ctx, "bias_%s_l0%s%c", i ? "hh" : "ih", suffix, 0).ptr;
        if (i && !is_gru) {
            pel_keras_filled(k, "", name, rows, 0);
            continue;
        }
        if (bias->shape.n != (is_gru ? 2u : 1u) || bias->shape.dims[bias->shape.n - 1].size != rows)
            pel_keras_refuse(k, "its bias is not of the shape that it should have");
        pel_keras_order order = { .n = 1, .sizes = { rows }, .strides = { 1 }, .start = is_gru ? i * rows : 0 };
        if (is_gru) order.unit = units, order.order[0] = 1, order.order[1] = 0, order.order[2] = 2;
        pel_keras_weight(k, "", name, bias, &order);
    }
}

/* What cuDNN's layers compute, which are torch's: other settings have no module there. */
static bool is_plain(pel_keras *k, bool is_gru) {
    return pel_str_is(pel_keras_word(k, "activation", "tanh"), "tanh") &&
           pel_str_is(pel_keras_word(k, "recurrent_activation", "sigmoid"), "sigmoid") &&
           !pel_keras_flag(k, "go_backwards", false) && !pel_keras_flag(k, "stateful", false) &&
           !pel_keras_flag(k, "return_state", false) && !pel_keras_flag(k, "time_major", false) &&
           (!is_gru || pel_keras_flag(k, "reset_after", true));
}

static value *recurrent(pel_keras *k, int64_t inputs, int64_t units, bool is_gru, bool is_both) {
    pel_part *part = pel_part_make(k->r, k->here);
    pel_node *made =
        pel_keras_text(k, is_gru ? "nn.GRU(_0, _1, batch_first=True)" : "nn.LSTM(_0, _1, batch_first=True)",
                       pel_make_int(k->ctx, inputs), pel_make_int(k->ctx, units), NULL);
    if (!pel_keras_flag(k, "use_bias", true))
        pel_nodes_push(k->ctx, &made->Call.keywords,
                       pel_make_keyword(k->ctx, pel_intern_c(k->ctx, "bias"), pel_make_constant(k->ctx, &pel_false)));
    if (is_both)
        pel_nodes_push(
            k->ctx, &made->Call.keywords,
            pel_make_keyword(k->ctx, pel_intern_c(k->ctx, "bidirectional"), pel_make_constant(k->ctx, &pel_true)));
    part->made = made;
    value *x = pel_keras_last(k, k->in.at[0]), like = *x;
    pel_str parent = k->step.stack.at[k->step.stack.n - 1].path;
    pel_node *call = pel_make_call(k->ctx, pel_part_access(k->ctx, parent, k->here),
                                   pel_nodes_one(k->ctx, pel_keras_read(k, x)), (pel_nodes){ 0 });
    like.sizes[2] = is_both ? 2 * units : units;
    call = pel_keras_text(k, "_0[0]", call, NULL, NULL);
    return pel_keras_bind(k, &like, call);
}

value *pel_keras_recurrent(pel_keras *k) {
    bool is_gru = pel_str_is(k->class, "GRU");
    int64_t units = pel_keras_int(k, "units", 0);
    if (k->in.n != 1 || k->in.at[0]->n != 3 || units < 1 || !is_plain(k, is_gru)) return NULL;
    const char *cell = is_gru ? "gru_cell" : "lstm_cell";
    if (!pel_keras_has(k, pel_format(k->ctx, "%s/kernel%c", cell, 0).ptr)) cell = "cell";
    write_weights(k, cell, "", units, is_gru);
    int64_t inputs = pel_keras_tensor(k, pel_format(k->ctx, "%s/kernel%c", cell, 0).ptr)->shape.dims[0].size;
    value *y = recurrent(k, inputs, units, is_gru, false);
    if (pel_keras_flag(k, "return_sequences", false)) return y;
    value like = *y;
    like.n = 2;
    like.sizes[1] = units;
    return pel_keras_bind(k, &like, pel_keras_text(k, "_0[:, -1]", pel_keras_read(k, y), NULL, NULL));
}

/* Both directions of one layer; where one step is wanted it is the last of one and the first of the other. */
value *pel_keras_bidirectional(pel_keras *k) {
    pel_json_node *inner = pel_keras_given(k, "layer"), *outer = k->config;
    pel_str class = pel_json_text(pel_json_get(inner, "class_name"));
    bool is_gru = pel_str_is(class, "GRU");
    if (k->in.n != 1 || k->in.at[0]->n != 3 || (!is_gru && !pel_str_is(class, "LSTM"))) return NULL;
    pel_json_node *merge = pel_json_get(k->config, "merge_mode");
    bool is_pair = merge && merge->kind == PEL_J_NULL; /* null is no default: two results */
    if (pel_keras_given(k, "backward_layer")) pel_keras_refuse(k, "its way back has settings of its own");
    if (is_pair || !pel_str_is(pel_keras_word(k, "merge_mode", "concat"), "concat")) return NULL;
    pel_str name = pel_json_text(pel_json_get(pel_json_get(inner, "config"), "name"));
    if (pel_str_starts(name, PEL_STR("forward_"))) name = pel_str_from(name, 8);
    k->config = pel_json_get(inner, "config");
    int64_t units = pel_keras_int(k, "units", 0), inputs = 0;
    bool all = pel_keras_flag(k, "return_sequences", false);
    if (units < 1 || !is_plain(k, is_gru)) return NULL;
    for (int i = 0; i < 2; i++) {
        const char *cell = pel_format(k->ctx, "%s_%.*s/%s%c", i ? "backward" : "forward", PEL_FMT(name),
                                      is_gru ? "gru_cell" : "lstm_cell", 0)
                               .ptr;
        write_weights(k, cell, i ? "_reverse" : "", units, is_gru);
        inputs = pel_keras_tensor(k, pel_format(k->ctx, "%s/kernel%c", cell, 0).ptr)->shape.dims[0].size;
    }
    value *y = recurrent(k, inputs, units, is_gru, true), like = *y;
    k->config = outer;
    if (all) return y;
    like.n = 2;
    like.sizes[1] = 2 * units;
    return pel_keras_bind(k, &like,
                          pel_keras_text(k, "torch.cat((_0[:, -1, :_1], _0[:, 0, _1:]), dim=-1)", pel_keras_read(k, y),
                                         pel_make_int(k->ctx, units), NULL));
}

/* One projection: [inputs, heads, size] is a matrix for torch. */
static value *project(pel_keras *k, value *x, const char *name, int64_t heads, int64_t size) {
    const pel_model_tensor *kernel = pel_keras_tensor(k, pel_format(k->ctx, "%s/kernel%c", name, 0).ptr);
    if (kernel->shape.n != 3 || kernel->shape.dims[1].size != heads || kernel->shape.dims[2].size != size)
        pel_keras_refuse(k, "a projection is not of the shape that it should have");
    pel_keras_order order = pel_keras_turned(kernel, heads * size, kernel->shape.dims[0].size);
    pel_node *weight = pel_keras_weight(k, name, "weight", kernel, &order);
    pel_node *bias = pel_make_none(k->ctx);
    if (pel_keras_flag(k, "use_bias", true)) {
        pel_keras_order flat = { .n = 1, .sizes = { heads * size }, .strides = { 1 } };
        bias =
            pel_keras_weight(k, name, "bias", pel_keras_tensor(k, pel_format(k->ctx, "%s/bias%c", name, 0).ptr), &flat);
    }
    value *y = pel_keras_bind_in(
        k, x, pel_keras_text(k, "aten.linear.default(_0, _1, _2)", pel_keras_read(k, x), weight, bias), name);
    return pel_keras_bind(k, y,
                          pel_keras_text(k, "_0.unflatten(-1, (_1, _2)).transpose(1, 2)", pel_keras_read(k, y),
                                         pel_make_int(k->ctx, heads), pel_make_int(k->ctx, size)));
}

/* Called with (query, value): keys are of the values. */
value *pel_keras_attention(pel_keras *k) {
    int64_t heads = pel_keras_int(k, "num_heads", 0), size = pel_keras_int(k, "key_dim", 0);
    int64_t value_size = pel_keras_int(k, "value_dim", size);
    bool is_odd = k->in.n != 2 || pel_keras_given(k, "output_shape") || pel_keras_flag(k, "use_gate", false) ||
                  pel_keras_given(k, "sliding_window") || pel_keras_int(k, "attention_axes", 1) != 1;
    if (is_odd || heads < 1 || size < 1 || k->in.at[0]->n != 3 || k->in.at[1]->n != 3) return NULL;
    value *x = pel_keras_last(k, k->in.at[0]), *memory = pel_keras_last(k, k->in.at[1]);
    value *query = project(k, x, "query", heads, size), *key = project(k, memory, "key", heads, size);
    value *values = project(k, memory, "value", heads, value_size);
    pel_node *y = pel_keras_text(k, "F.scaled_dot_product_attention(_0, _1, _2).transpose(1, 2).flatten(2)",
                                 pel_keras_read(k, query), pel_keras_read(k, key), pel_keras_read(k, values));
    const pel_model_tensor *kernel = pel_keras_tensor(k, "attention_output/kernel");
    if (kernel->shape.n != 3 || kernel->shape.dims[0].size != heads || kernel->shape.dims[1].size != value_size)
        return NULL;
    int64_t outputs = kernel->shape.dims[2].size;
    pel_keras_order order = pel_keras_turned(kernel, outputs, heads * value_size);
    pel_node *weight = pel_keras_weight(k, "attention_output", "weight", kernel, &order), *bias = pel_make_none(k->ctx);
    if (pel_keras_flag(k, "use_bias", true))
        bias = pel_keras_weight(k, "attention_output", "bias", pel_keras_tensor(k, "attention_output/bias"), NULL);
    value like = *x;
    like.sizes[2] = outputs;
    value *merged = pel_keras_bind(k, &like, y);
    return pel_keras_bind_in(
        k, &like, pel_keras_text(k, "aten.linear.default(_0, _1, _2)", pel_keras_read(k, merged), weight, bias),
        "attention_output");
}
