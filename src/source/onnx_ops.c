/* Operators of ONNX that a row's text can't write: lists of axes, defaults that depend on the rank, any number of
 * inputs. Each form says exactly what ONNX defines, or gives NULL, or refuses. */
#include "source/onnx.h"

#define MOST 64

static pel_onnx_value *first_of(pel_onnx *o) {
    pel_onnx_value *value = pel_onnx_in(o, 0);
    if (!value) pel_onnx_refuse(o, "its first input is missing");
    return value;
}

/* Only these attributes may be there: another one may change what the operator does. */
static void allow(pel_onnx *o, const char *names) {
    pel_str list = pel_str_of(names);
    for (uint32_t i = 0; i < o->now->attributes.n; i++) {
        pel_str name = o->now->attributes.at[i].name;
        bool found = false;
        for (size_t start = 0, end; start < list.len; start = end + 1) {
            for (end = start; end < list.len && list.ptr[end] != ' ';) end++;
            found |= pel_str_eq(pel_str_cut(list, start, end), name);
        }
        if (!found) pel_onnx_refuse(o, pel_format(o->ctx, "its attribute %.*s is not known%c", PEL_FMT(name), 0).ptr);
    }
}

/* Whole numbers of an attribute, or, where later versions have it, of an input. False: neither is there. */
static bool numbers_of(pel_onnx *o, const char *name, uint32_t input, int64_t *out, uint32_t *n) {
    const pel_onnx_attribute *row = name ? pel_onnx_attribute_of(o, name) : NULL;
    if (row && row->value) {
        pel_onnx_value value = { .is_known = true, .is_list = true };
        value.numbers = row->value->kind == PEL_List ? row->value->List.elts : pel_nodes_one(o->ctx, row->value);
        if (!pel_onnx_whole(o, &value, out, n)) pel_onnx_refuse(o, "an attribute is no list of whole numbers");
        return true;
    }
    pel_onnx_value *value = input ? pel_onnx_in(o, input) : NULL;
    if (!value) return false;
    if (!pel_onnx_whole(o, value, out, n)) pel_onnx_refuse(o, "an input that must be constant is computed");
    return true;
}

static pel_node *x_of(pel_onnx *o) {
    first_of(o);
    return pel_onnx_arg(o, 0, 't');
}

static pel_node *integer(pel_onnx *o, int64_t value) { return pel_make_int(o->ctx, value); }

static bool is_whole_dtype(pel_str dtype) {
    return pel_str_starts(dtype, PEL_STR("int")) || pel_str_starts(dtype, PEL_STR("uint"));
}

/* ---- arithmetic ---- */

static pel_node *form_div(pel_onnx *o) {
    pel_onnx_value *a = first_of(o), *b = pel_onnx_in(o, 1);
    if (!b) return NULL;
    pel_str dtype = a->dtype.len ? a->dtype : b->dtype;
    if (!dtype.len) pel_onnx_refuse(o, "whether its numbers are whole is not known");
    pel_node *x = pel_onnx_arg(o, 0, 's'), *y = pel_onnx_arg(o, 1, 's');
    if (!is_whole_dtype(dtype)) return pel_onnx_write(o, "aten.div.Tensor(_0, _1)", x, y, NULL);
    if (x->kind == PEL_Constant) x = pel_onnx_arg(o, 0, 't');
    return pel_onnx_write(o, "torch.div(_0, _1, rounding_mode='trunc')", x, y, NULL);
}

static pel_node *form_pow(pel_onnx *o) {
    pel_onnx_value *a = first_of(o), *b = pel_onnx_in(o, 1);
    if (!b) return NULL;
    pel_node *x = pel_onnx_arg(o, 0, 's'), *y = pel_onnx_arg(o, 1, 's');
    pel_node *power = pel_onnx_write(o, "aten.pow.Tensor_Scalar(_0, _1)", x, y, NULL);
    bool is_same = pel_str_eq(a->dtype, b->dtype) && a->dtype.len;
    if (is_same || (!is_whole_dtype(a->dtype) && a->dtype.len)) return power;
    pel_onnx_refuse(o, "its inputs are of different types");
}

/* Min, Max, Sum, Mean of any number of inputs. */
static pel_node *folded(pel_onnx *o, const char *text) {
    pel_node *out = x_of(o);
    for (uint32_t i = 1; i < o->now->in.n; i++) out = pel_onnx_write(o, text, out, pel_onnx_arg(o, i, 't'), NULL);
    return out;
}
static pel_node *form_min(pel_onnx *o) { return folded(o, "torch.minimum(_0, _1)"); }
static pel_node *form_max(pel_onnx *o) { return folded(o, "torch.maximum(_0, _1)"); }
static pel_node *form_sum(pel_onnx *o) { return folded(o, "_0 + _1"); }
static pel_node *form_mean(pel_onnx *o) {
    return pel_onnx_write(o, "_0 / _1", folded(o, "_0 + _1"), integer(o, o->now->in.n), NULL);
}

static pel_node *form_clip(pel_onnx *o) {
    pel_node *x = x_of(o), *low = NULL, *high = NULL;
    allow(o, o->opset < 11 ? "min max" : "");
    if (o->opset < 11) {
        const pel_onnx_attribute *min = pel_onnx_attribute_of(o, "min"), *max = pel_onnx_attribute_of(o, "max");
        low = min ? min->value : NULL;
        high = max ? max->value : NULL;
    } else {
        low = pel_onnx_in(o, 1) ? pel_onnx_arg(o, 1, 's') : NULL;
        high = pel_onnx_in(o, 2) ? pel_onnx_arg(o, 2, 's') : NULL;
    }
    bool is_real = low && high && low->kind == PEL_Constant && high->kind == PEL_Constant &&
                   low->Constant.value->kind == PEL_CONST_FLOAT && high->Constant.value->kind == PEL_CONST_FLOAT;
    if (!low && !high) return x;
    if (is_real && low->Constant.value->real == 0 && high->Constant.value->real == 6)
        return pel_onnx_write(o, "aten.hardtanh.default(_0, 0.0, 6.0)", x, NULL, NULL);
    if (!high) return pel_onnx_write(o, "_0.clamp(min=_1)", x, low, NULL);
    if (!low) return pel_onnx_write(o, "_0.clamp(max=_1)", x, high, NULL);
    return pel_onnx_write(o, "_0.clamp(_1, _2)", x, low, high);
}

static pel_node *form_cast(pel_onnx *o) {
    allow(o, "to saturate round_mode");
    pel_str to = pel_onnx_dtype(o->ctx, (uint64_t)pel_onnx_int(o, "to", 0)), from = first_of(o)->dtype;
    if (!pel_dtype_size(to) || pel_str_starts(to, PEL_STR("float8")) || pel_str_is(from, "string"))
        pel_onnx_refuse(o, "a dtype that torch does not have, or rounds in another way");
    if (pel_str_eq(from, to)) return x_of(o);
    return pel_onnx_write(o, "_0.to(_1)", x_of(o),
                          pel_dotted(o->ctx, pel_format(o->ctx, "torch.%.*s%c", PEL_FMT(to), 0).ptr), NULL);
}

/* In eval mode it does nothing; one that trains would need random numbers. */
static pel_node *form_dropout(pel_onnx *o) {
    pel_onnx_value *trains = pel_onnx_in(o, 2);
    if (trains && (!pel_onnx_numbers(o, trains) || trains->numbers.at[0]->Constant.value->kind != PEL_CONST_FALSE))
        pel_onnx_refuse(o, "it drops numbers, as in training");
    return x_of(o);
}

/* ---- products ---- */

static pel_node *form_gemm(pel_onnx *o) {
    allow(o, "alpha beta transA transB");
    pel_onnx_value *b = pel_onnx_in(o, 1), *c = pel_onnx_in(o, 2);
    if (!b) return NULL;
    bool turns_a = pel_onnx_int(o, "transA", 0) != 0, turns_b = pel_onnx_int(o, "transB", 0) != 0;
    double alpha = pel_onnx_real(o, "alpha", 1), beta = pel_onnx_real(o, "beta", 1);
    bool is_matrix = b->tensor && b->tensor->shape.n == 2;
    int64_t n = is_matrix ? b->tensor->shape.dims[turns_b ? 0 : 1].size : -1;
    bool is_bias = !c || (c->tensor && c->tensor->shape.n == 1 && c->tensor->shape.dims[0].size == n);
    pel_node *x = x_of(o);
    if (is_matrix && is_bias && !turns_a && alpha == 1 && beta == 1 && (turns_b || !pel_onnx_is_named(b->label))) {
        pel_node *weight = pel_onnx_weight(o, b, "weight", !turns_b);
        return pel_onnx_write(o, "aten.linear.default(_0, _1, _2)", x, weight, c ? pel_onnx_arg(o, 2, 'b') : NULL);
    }
    if (turns_a) x = pel_onnx_write(o, "_0.t()", x, NULL, NULL);
    pel_node *y = pel_onnx_arg(o, 1, 't');
    if (turns_b) y = pel_onnx_write(o, "_0.t()", y, NULL, NULL);
    pel_node *out = pel_onnx_write(o, "_0 @ _1", x, y, NULL);
    if (alpha != 1) out = pel_onnx_write(o, "_0 * _1", out, pel_onnx_number(o, alpha), NULL);
    if (!c) return out;
    pel_node *bias = pel_onnx_arg(o, 2, 's');
    if (beta != 1) bias = pel_onnx_write(o, "_0 * _1", bias, pel_onnx_number(o, beta), NULL);
    return pel_onnx_write(o, "_0 + _1", out, bias, NULL);
}

static pel_node *form_einsum(pel_onnx *o) {
    allow(o, "equation");
    pel_node *call =
        pel_onnx_write(o, "torch.einsum(_0)", pel_make_text(o->ctx, pel_onnx_text(o, "equation", "")), NULL, NULL);
    for (uint32_t i = 0; i < o->now->in.n; i++) pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_arg(o, i, 't'));
    return call;
}

/* Before opset 13 all dimensions from the axis on were one. */
static pel_node *form_softmax(pel_onnx *o) {
    allow(o, "axis");
    int64_t axis = pel_onnx_int(o, "axis", 1);
    int rank = first_of(o)->rank;
    if (axis != -1 && (rank < 0 || axis + 1 != rank)) pel_onnx_refuse(o, "an axis that is not known to be the last");
    return pel_onnx_write(
        o, pel_str_is(o->now->op, "Softmax") ? "aten.softmax.int(_0, -1)" : "aten.log_softmax.int(_0, -1)", x_of(o),
        NULL, NULL);
}

/* The weight must have all sizes of what is normed, so that it broadcasts as torch's. */
static pel_node *form_layer_norm(pel_onnx *o) {
    allow(o, "axis epsilon stash_type");
    pel_onnx_value *weight = pel_onnx_in(o, 1);
    bool is_rms = pel_str_is(o->now->op, "RMSNormalization");
    int64_t axis = pel_onnx_int(o, "axis", -1);
    if (!weight || !weight->tensor) pel_onnx_refuse(o, "its weight is computed");
    uint32_t n = weight->tensor->shape.n;
    int rank = first_of(o)->rank;
    bool is_last = axis == -(int64_t)n || (rank >= 0 && axis == rank - (int64_t)n);
    if (!n || !is_last || pel_onnx_int(o, "stash_type", 1) != 1) return NULL;
    pel_node *sizes = pel_node_new(o->ctx, PEL_List);
    for (uint32_t i = 0; i < n; i++)
        pel_nodes_push(o->ctx, &sizes->List.elts, integer(o, weight->tensor->shape.dims[i].size));
    pel_node *call =
        pel_onnx_write(o, is_rms ? "aten.rms_norm.default(_0, _1, _2)" : "aten.layer_norm.default(_0, _1, _2)", x_of(o),
                       sizes, pel_onnx_arg(o, 1, 'w'));
    if (!is_rms) {
        pel_node *bias = pel_onnx_in(o, 2) ? pel_onnx_arg(o, 2, 'b') : NULL;
        pel_nodes_push(o->ctx, &call->Call.args, bias ? bias : pel_make_none(o->ctx));
    }
    const pel_onnx_attribute *eps = pel_onnx_attribute_of(o, "epsilon");
    pel_nodes_push(o->ctx, &call->Call.args, eps && eps->value ? eps->value : pel_onnx_number(o, 1e-5));
    return call;
}

/* ---- shapes ---- */

/* 0 is the size that is there, unless allowzero says that it is 0. */
static pel_node *form_reshape(pel_onnx *o) {
    allow(o, "allowzero");
    pel_onnx_value *value = first_of(o), *to = pel_onnx_in(o, 1);
    if (!to) return NULL;
    if (to->sizes_of) return pel_onnx_write(o, "aten.reshape.default(_0, _1)", x_of(o), pel_onnx_arg(o, 1, 'l'), NULL);
    if (!pel_onnx_numbers(o, to)) { /* torch needs numbers: a tensor of them is read when it runs */
        pel_node *sizes = pel_onnx_arg(o, 1, 't');
        return pel_onnx_write(o, "_0.reshape(_1.tolist())", x_of(o), sizes, NULL);
    }
    pel_node *x = x_of(o), *sizes = pel_node_new(o->ctx, PEL_List);
    int64_t size;
    uint32_t n;
    for (uint32_t i = 0; i < to->numbers.n; i++) {
        pel_onnx_value one = { .is_known = true, .numbers = pel_nodes_one(o->ctx, to->numbers.at[i]) };
        bool is_zero = pel_onnx_whole(o, &one, &size, &n) && size == 0 && !pel_onnx_int(o, "allowzero", 0);
        if (is_zero && value->tensor) pel_onnx_refuse(o, "a constant is reshaped to sizes of its own");
        pel_node *item = is_zero ? pel_onnx_write(o, "_0.size(_1)", pel_copy(o->ctx, x), integer(o, i), NULL)
                                 : pel_copy(o->ctx, to->numbers.at[i]);
        pel_nodes_push(o->ctx, &sizes->List.elts, item);
    }
    pel_onnx_value_of(o, o->now->out.at[0])->rank = (int)to->numbers.n;
    if (!to->numbers.n) return pel_onnx_write(o, "_0.reshape(())", x, NULL, NULL);
    return pel_onnx_write(o, "aten.reshape.default(_0, _1)", x, sizes, NULL);
}

static pel_node *form_flatten(pel_onnx *o) {
    allow(o, "axis");
    int64_t axis = pel_onnx_int(o, "axis", 1);
    int rank = first_of(o)->rank;
    if (axis < 0 && rank >= 0) axis += rank;
    if (axis < 0) pel_onnx_refuse(o, "its axis counts from the end of a shape that is not known");
    pel_onnx_value_of(o, o->now->out.at[0])->rank = 2;
    if (axis == 0) return pel_onnx_write(o, "_0.reshape(1, -1)", x_of(o), NULL, NULL);
    if (axis == 1 && rank == 1) return pel_onnx_write(o, "_0.unsqueeze(1)", x_of(o), NULL, NULL);
    if (axis == 1 && rank == 2) return x_of(o);
    if (rank >= 0 && axis >= rank) pel_onnx_refuse(o, "its axis is beyond the last");
    pel_node *out = pel_onnx_write(o, "aten.flatten.using_ints(_0, _1)", x_of(o), integer(o, axis), NULL);
    return axis == 1 ? out : pel_onnx_write(o, "_0.flatten(0, _1)", out, integer(o, axis - 1), NULL);
}

static pel_node *form_transpose(pel_onnx *o) {
    allow(o, "perm");
    int64_t perm[MOST];
    uint32_t n = 0;
    if (!numbers_of(o, "perm", 0, perm, &n)) {
        if (first_of(o)->rank < 0 || first_of(o)->rank > MOST) pel_onnx_refuse(o, "it turns a shape that is not known");
        n = (uint32_t)first_of(o)->rank;
        for (uint32_t i = 0; i < n; i++) perm[i] = n - 1 - i;
    }
    uint32_t moved[2] = { 0, 0 }, n_moved = 0;
    for (uint32_t i = 0; i < n; i++)
        if (perm[i] != i && n_moved++ < 2) moved[n_moved - 1] = i;
    if (n_moved == 2)
        return pel_onnx_write(o, "aten.transpose.int(_0, _1, _2)", x_of(o), integer(o, moved[0]), integer(o, moved[1]));
    return pel_onnx_write(o, "aten.permute.default(_0, _1)", x_of(o), pel_onnx_ints(o, perm, n), NULL);
}

static pel_node *form_squeeze(pel_onnx *o) {
    allow(o, o->opset < 13 ? "axes" : "");
    int64_t axes[MOST];
    uint32_t n;
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]);
    if (!numbers_of(o, "axes", 1, axes, &n)) return pel_onnx_write(o, "_0.squeeze()", x_of(o), NULL, NULL);
    if (first_of(o)->rank >= (int)n) result->rank = first_of(o)->rank - (int)n;
    return n == 1 ? pel_onnx_write(o, "_0.squeeze(_1)", x_of(o), integer(o, axes[0]), NULL)
                  : pel_onnx_write(o, "_0.squeeze(_1)", x_of(o), pel_onnx_ints(o, axes, n), NULL);
}

/* Axes count in the result: from the first on, each is right when those before it are there. */
static pel_node *form_unsqueeze(pel_onnx *o) {
    allow(o, o->opset < 13 ? "axes" : "");
    int64_t axes[MOST];
    uint32_t n;
    int rank = first_of(o)->rank;
    if (!numbers_of(o, "axes", 1, axes, &n)) return NULL;
    for (uint32_t i = 0; n > 1 && i < n; i++) {
        if (axes[i] < 0 && rank < 0) pel_onnx_refuse(o, "axes that count from the end of a shape that is not known");
        if (axes[i] < 0) axes[i] += rank + (int)n;
        for (uint32_t k = i; k && axes[k - 1] > axes[k]; k--) {
            int64_t swap = axes[k];
            axes[k] = axes[k - 1];
            axes[k - 1] = swap;
        }
    }
    pel_node *out = x_of(o);
    for (uint32_t i = 0; i < n; i++)
        out = pel_onnx_write(o, "aten.unsqueeze.default(_0, _1)", out, integer(o, axes[i]), NULL);
    if (rank >= 0) pel_onnx_value_of(o, o->now->out.at[0])->rank = rank + (int)n;
    return out;
}

/* Both broadcast: a size of the input may be the larger one. */
static pel_node *form_expand(pel_onnx *o) {
    pel_onnx_value *to = pel_onnx_in(o, 1);
    if (!to) return NULL;
    pel_node *x = x_of(o), *sizes;
    if (pel_onnx_numbers(o, to) || to->sizes_of)
        sizes = pel_onnx_arg(o, 1, 'l');
    else
        sizes = pel_onnx_write(o, "_0.tolist()", pel_onnx_arg(o, 1, 't'), NULL, NULL);
    if (pel_onnx_numbers(o, to) && first_of(o)->rank >= 0 && first_of(o)->rank <= (int)to->numbers.n)
        pel_onnx_value_of(o, o->now->out.at[0])->rank = (int)to->numbers.n;
    return pel_onnx_write(o, "_0.expand(torch.broadcast_shapes(_1.shape, _2))", x, pel_copy(o->ctx, x), sizes);
}

static pel_node *form_concat(pel_onnx *o) {
    allow(o, "axis");
    pel_node *list = pel_node_new(o->ctx, PEL_List);
    if (!pel_onnx_attribute_of(o, "axis")) return NULL;
    for (uint32_t i = 0; i < o->now->in.n; i++) pel_nodes_push(o->ctx, &list->List.elts, pel_onnx_arg(o, i, 't'));
    return pel_onnx_write(o, "aten.cat.default(_0, _1)", list, integer(o, pel_onnx_int(o, "axis", 0)), NULL);
}

/* Sizes, or, where there are none, equal parts of which the last may be smaller. */
static pel_node *form_split(pel_onnx *o) {
    allow(o, "axis split num_outputs");
    int64_t sizes[MOST], axis = pel_onnx_int(o, "axis", 0);
    uint32_t n;
    if (numbers_of(o, "split", 1, sizes, &n)) {
        if (n != o->now->out.n) pel_onnx_refuse(o, "its sizes are not as many as its results");
        return pel_onnx_write(o, "aten.split_with_sizes.default(_0, _1, _2)", x_of(o), pel_onnx_ints(o, sizes, n),
                              integer(o, axis));
    }
    /* as torch.chunk: what does not divide leaves the last one smaller */
    return pel_onnx_write(o, "torch.chunk(_0, _1, dim=_2)", x_of(o), integer(o, o->now->out.n), integer(o, axis));
}

/* One aten.slice for each axis; steps backwards are refused, but for a whole axis that is turned round. */
static pel_node *form_slice(pel_onnx *o) {
    bool is_old = o->opset < 10;
    allow(o, is_old ? "starts ends axes" : "");
    int64_t starts[MOST], ends[MOST], axes[MOST], steps[MOST];
    uint32_t n = 0, n_ends = 0, n_axes = 0, n_steps = 0;
    pel_onnx_value *at[2] = { pel_onnx_in(o, 1), pel_onnx_in(o, 2) };
    bool is_open = !is_old && at[0] && at[1] && pel_onnx_numbers(o, at[0]) && pel_onnx_numbers(o, at[1]);
    if (is_open) {
        n = at[0]->numbers.n;
        n_ends = at[1]->numbers.n;
    } else if (!numbers_of(o, is_old ? "starts" : NULL, 1, starts, &n) ||
               !numbers_of(o, is_old ? "ends" : NULL, 2, ends, &n_ends)) {
        return NULL;
    }
    if (!numbers_of(o, is_old ? "axes" : NULL, 3, axes, &n_axes))
        for (; n_axes < n; n_axes++) axes[n_axes] = n_axes;
    if (!numbers_of(o, NULL, 4, steps, &n_steps))
        for (; n_steps < n; n_steps++) steps[n_steps] = 1;
    if (n_ends != n || n_axes != n || n_steps != n) pel_onnx_refuse(o, "its lists differ in length");
    pel_node *out = x_of(o);
    for (uint32_t i = 0; i < n; i++) {
        int64_t first = 0, last = 0;
        pel_onnx_value one[2] = { { .is_known = true }, { .is_known = true } };
        pel_node *from = is_open ? pel_copy(o->ctx, at[0]->numbers.at[i]) : integer(o, starts[i]);
        pel_node *to = is_open ? pel_copy(o->ctx, at[1]->numbers.at[i]) : integer(o, ends[i]);
        one[0].numbers = pel_nodes_one(o->ctx, from);
        one[1].numbers = pel_nodes_one(o->ctx, to);
        uint32_t ignored;
        bool is_first = pel_onnx_whole(o, &one[0], &first, &ignored),
             is_last = pel_onnx_whole(o, &one[1], &last, &ignored);
        if (steps[i] == -1 && is_first && is_last && first == -1 && last < -INT32_MAX) {
            out = pel_onnx_write(o, "_0.flip(_1)", out, integer(o, axes[i]), NULL);
            continue;
        }
        if (steps[i] < 1) pel_onnx_refuse(o, "a step backwards");
        if (is_last && last >= INT32_MAX) to = integer(o, INT64_MAX);
        if (is_first && first < -INT32_MAX) from = integer(o, 0);
        out = pel_onnx_write(o, "aten.slice.Tensor(_0, _1, _2)", out, integer(o, axes[i]), from);
        pel_nodes_push(o->ctx, &out->Call.args, to);
        pel_nodes_push(o->ctx, &out->Call.args, integer(o, steps[i]));
    }
    return out;
}

/* One index is x[:, 2], a tensor of them x[:, index]; rows of a matrix of the file are an embedding. */
static pel_node *form_gather(pel_onnx *o) {
    allow(o, "axis");
    pel_onnx_value *data = first_of(o), *index = pel_onnx_in(o, 1);
    int64_t axis = pel_onnx_int(o, "axis", 0);
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]);
    if (!index) return NULL;
    if (data->rank >= 0 && index->rank >= 0) result->rank = data->rank - 1 + index->rank;
    if (data->tensor && data->rank == 2 && axis == 0 && !index->is_known && !index->tensor)
        return pel_onnx_write(o, "aten.embedding.default(_0, _1)", pel_onnx_arg(o, 0, 'w'), pel_onnx_arg(o, 1, 't'),
                              NULL);
    if (axis < 0 && data->rank >= 0) axis += data->rank;
    if (pel_onnx_numbers(o, index) && !index->is_list) {
        pel_node *call = pel_onnx_write(o, "aten.select.int(_0, _1)", x_of(o), integer(o, axis), NULL);
        pel_nodes_push(o->ctx, &call->Call.args, pel_onnx_arg(o, 1, 's'));
        return call;
    }
    if (axis < 0) pel_onnx_refuse(o, "its axis counts from the end of a shape that is not known");
    pel_node *list = pel_node_new(o->ctx, PEL_List);
    for (int64_t i = 0; i < axis; i++) pel_nodes_push(o->ctx, &list->List.elts, pel_make_none(o->ctx));
    pel_nodes_push(o->ctx, &list->List.elts, pel_onnx_arg(o, 1, 't'));
    return pel_onnx_write(o, "aten.index.Tensor(_0, _1)", x_of(o), list, NULL);
}

static pel_node *form_filled(pel_onnx *o) {
    allow(o, "value");
    const pel_onnx_attribute *row = pel_onnx_attribute_of(o, "value");
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]), *shape = first_of(o);
    pel_onnx_value value = { .dtype = PEL_STR("float32"),
                             .is_known = true,
                             .numbers = pel_nodes_one(o->ctx, pel_onnx_number(o, 0)) };
    if (row && row->tensor) value = (pel_onnx_value){ .tensor = row->tensor, .dtype = row->tensor->dtype };
    if (!pel_onnx_numbers(o, &value) || value.numbers.n != 1) pel_onnx_refuse(o, "its value is not one number");
    result->dtype = value.dtype;
    pel_node *dtype = pel_dotted(o->ctx, pel_format(o->ctx, "torch.%.*s%c", PEL_FMT(value.dtype), 0).ptr);
    pel_node *sizes = pel_onnx_numbers(o, shape) || shape->sizes_of
                          ? pel_onnx_arg(o, 0, 'l')
                          : pel_onnx_write(o, "_0.tolist()", pel_onnx_arg(o, 0, 't'), NULL, NULL);
    return pel_onnx_write(o, "torch.full(_0, _1, dtype=_2)", sizes, value.numbers.at[0], dtype);
}

static pel_node *form_one_hot(pel_onnx *o) {
    allow(o, "axis");
    pel_onnx_value *depth = pel_onnx_in(o, 1), *values = pel_onnx_in(o, 2);
    int64_t n, ends[2];
    uint32_t count = 0;
    bool is_known = depth && values && pel_onnx_whole(o, depth, &n, &count) && count == 1;
    if (!is_known || !pel_onnx_whole(o, values, ends, &count) || count != 2 || ends[0] != 0 || ends[1] != 1 ||
        pel_onnx_int(o, "axis", -1) != -1)
        return NULL;
    return pel_onnx_write(o, "F.one_hot(_0, _1)", x_of(o), integer(o, n), NULL);
}

/* ---- reductions ---- */

static pel_node *form_arg(pel_onnx *o) {
    allow(o, "axis keepdims select_last_index");
    if (pel_onnx_int(o, "select_last_index", 0)) return NULL;
    pel_node *keeps = pel_make_constant(o->ctx, pel_const_bool(pel_onnx_int(o, "keepdims", 1) != 0));
    return pel_onnx_write(o,
                          pel_str_is(o->now->op, "ArgMax") ? "_0.argmax(_1, keepdim=_2)" : "_0.argmin(_1, keepdim=_2)",
                          x_of(o), integer(o, pel_onnx_int(o, "axis", 0)), keeps);
}

/* Axes are an attribute until opset 17 (12 for the sum), then an input; none are all. */
static pel_node *form_reduce(pel_onnx *o) {
    static const struct {
        const char *op, *text;
    } forms[] = { { "ReduceMean", "_0.mean(_1, keepdim=_2)" },
                  { "ReduceSum", "_0.sum(_1, keepdim=_2)" },
                  { "ReduceMax", "_0.amax(_1, keepdim=_2)" },
                  { "ReduceMin", "_0.amin(_1, keepdim=_2)" },
                  { "ReduceL1", "_0.abs().sum(_1, keepdim=_2)" },
                  { "ReduceL2", "_0.norm(2, _1, keepdim=_2)" },
                  { "ReduceSumSquare", "_0.square().sum(_1, keepdim=_2)" },
                  { "ReduceLogSumExp", "_0.logsumexp(_1, keepdim=_2)" },
                  { "ReduceProd", "_0.prod(_1, keepdim=_2)" } };
    bool is_sum = pel_str_is(o->now->op, "ReduceSum");
    bool has_input = o->opset >= (is_sum ? 13 : 18);
    allow(o, has_input ? "keepdims noop_with_empty_axes" : "axes keepdims");
    if (!has_input && o->now->in.n > 1) return NULL;
    int64_t axes[MOST];
    uint32_t n = 0;
    int rank = first_of(o)->rank;
    bool keeps = pel_onnx_int(o, "keepdims", 1) != 0;
    bool has_axes = numbers_of(o, "axes", has_input ? 1 : 0, axes, &n) && n;
    if (!has_axes && pel_onnx_int(o, "noop_with_empty_axes", 0)) {
        bool changes = pel_str_starts(o->now->op, PEL_STR("ReduceL")) || pel_str_is(o->now->op, "ReduceSumSquare");
        if (changes) pel_onnx_refuse(o, "without axes, engines differ in what it does to each number");
        return x_of(o);
    }
    if (!has_axes) {
        if (rank < 0 || rank > MOST) pel_onnx_refuse(o, "it reduces all dimensions of a shape that is not known");
        for (n = 0; n < (uint32_t)rank; n++) axes[n] = n;
    }
    if (rank >= (int)n) pel_onnx_value_of(o, o->now->out.at[0])->rank = keeps ? rank : rank - (int)n;
    bool is_product = pel_str_is(o->now->op, "ReduceProd");
    if (is_product && n != 1) return NULL;
    bool has_whole = is_whole_dtype(first_of(o)->dtype), is_max = pel_str_starts(o->now->op, PEL_STR("ReduceM"));
    if (has_whole && (pel_str_is(o->now->op, "ReduceMean") || pel_str_is(o->now->op, "ReduceL2")))
        pel_onnx_refuse(o, "torch has it of fractions alone");
    pel_node *dims = n == 1 ? integer(o, axes[0]) : pel_onnx_ints(o, axes, n), *x = x_of(o);
    for (size_t i = 0; i < PEL_COUNT(forms); i++) {
        if (!pel_str_is(o->now->op, forms[i].op)) continue;
        pel_node *out = pel_onnx_write(o, forms[i].text, x, dims, pel_make_constant(o->ctx, pel_const_bool(keeps)));
        if (!keeps) out->Call.keywords.n = 0;
        if (has_whole && !is_max) pel_onnx_keep_dtype(o, out);
        return out;
    }
    return NULL;
}

/* x - bias above lambd, x + bias below -lambd, 0 between. */
static pel_node *form_shrink(pel_onnx *o) {
    allow(o, "bias lambd");
    double bias = pel_onnx_real(o, "bias", 0), lambd = pel_onnx_real(o, "lambd", 0.5);
    if (bias != lambd) return NULL;
    return pel_onnx_write(o, "F.softshrink(_0, _1)", x_of(o), pel_onnx_number(o, lambd), NULL);
}

/* The window of an even size has one channel more before in torch, and behind in ONNX. */
static pel_node *form_lrn(pel_onnx *o) {
    allow(o, "alpha beta bias size");
    int64_t size = pel_onnx_int(o, "size", 0);
    if (size < 1) return NULL;
    if (size % 2 == 0) pel_onnx_refuse(o, "an even size, whose window lies elsewhere in torch");
    pel_node *call = pel_onnx_write(o, "F.local_response_norm(_0, _1, alpha=_2)", x_of(o), integer(o, size),
                                    pel_onnx_number(o, pel_onnx_real(o, "alpha", 0.0001)));
    pel_node *beta = pel_onnx_number(o, pel_onnx_real(o, "beta", 0.75));
    pel_node *bias = pel_onnx_number(o, pel_onnx_real(o, "bias", 1));
    pel_nodes_push(o->ctx, &call->Call.keywords, pel_make_keyword(o->ctx, pel_intern_c(o->ctx, "beta"), beta));
    pel_nodes_push(o->ctx, &call->Call.keywords, pel_make_keyword(o->ctx, pel_intern_c(o->ctx, "k"), bias));
    return call;
}

/* Long because it is the table of all forms. */
pel_onnx_form *pel_onnx_form_of(const char *name) {
    static const struct {
        const char *name;
        pel_onnx_form *form;
    } forms[] = {
        { "@arg", form_arg },
        { "@average_pool", pel_onnx_average_pool },
        { "@batch_norm", pel_onnx_batch_norm },
        { "@cast", form_cast },
        { "@clip", form_clip },
        { "@concat", form_concat },
        { "@conv", pel_onnx_conv },
        { "@conv_transpose", pel_onnx_conv_transpose },
        { "@depth_to_space", pel_onnx_depth_to_space },
        { "@div", form_div },
        { "@dropout", form_dropout },
        { "@einsum", form_einsum },
        { "@expand", form_expand },
        { "@filled", form_filled },
        { "@flatten", form_flatten },
        { "@gather", form_gather },
        { "@gemm", form_gemm },
        { "@global_pool", pel_onnx_global_pool },
        { "@layer_norm", form_layer_norm },
        { "@max", form_max },
        { "@lrn", form_lrn },
        { "@max_pool", pel_onnx_max_pool },
        { "@mean", form_mean },
        { "@min", form_min },
        { "@one_hot", form_one_hot },
        { "@pad", pel_onnx_pad },
        { "@pow", form_pow },
        { "@reduce", form_reduce },
        { "@reshape", form_reshape },
        { "@resize", pel_onnx_resize },
        { "@shrink", form_shrink },
        { "@slice", form_slice },
        { "@softmax", form_softmax },
        { "@space_to_depth", pel_onnx_space_to_depth },
        { "@split", form_split },
        { "@squeeze", form_squeeze },
        { "@sum", form_sum },
        { "@transpose", form_transpose },
        { "@unsqueeze", form_unsqueeze },
    };
    for (size_t i = 0; i < PEL_COUNT(forms); i++)
        if (strcmp(forms[i].name, name) == 0) return forms[i].form;
    return NULL;
}
