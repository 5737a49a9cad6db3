/* Sizes that a graph computes one by one (Shape, Gather, Concat ...) are numbers and expressions of numbers here: what
 * Reshape takes is x.reshape(x.size(0), 8, -1). Nothing is guessed: what is no such computation stays an operator. */
#include "source/onnx.h"

#include "io/bytes.h"

#define MOST_NUMBERS 64

static pel_node *copied(pel_onnx *o, pel_node *node) { return pel_copy(o->ctx, node); }

/* ---- constants ---- */

static pel_str bytes_of(pel_onnx *o, const pel_model_tensor *tensor) {
    const pel_stored *stored = tensor->stored;
    if (!stored || stored->strides) return (pel_str){ "", 0 };
    if (stored->unpack) return stored->unpack(o->ctx, stored);
    if (stored->far && stored->far->size > 4096) return (pel_str){ "", 0 };
    return stored->far ? pel_input_whole(o->ctx, stored->far) : stored->bytes;
}

static pel_node *element(pel_onnx *o, pel_str dtype, const char *at) {
    if (pel_str_is(dtype, "int64")) return pel_make_int(o->ctx, (int64_t)pel_le64(at));
    if (pel_str_is(dtype, "int32")) return pel_make_int(o->ctx, (int32_t)pel_le32(at));
    if (pel_str_is(dtype, "bool")) return pel_make_constant(o->ctx, pel_const_bool(*at != 0));
    if (pel_str_is(dtype, "float32")) {
        float real;
        uint32_t bits = pel_le32(at);
        memcpy(&real, &bits, sizeof real);
        return pel_make_constant(o->ctx, pel_const_float(o->ctx, (double)real));
    }
    double real;
    uint64_t bits = pel_le64(at);
    memcpy(&real, &bits, sizeof real);
    return pel_str_is(dtype, "float64") ? pel_make_constant(o->ctx, pel_const_float(o->ctx, real)) : NULL;
}

bool pel_onnx_numbers(pel_onnx *o, pel_onnx_value *value) {
    const pel_model_tensor *tensor = value->tensor;
    uint64_t count;
    if (value->is_known || !tensor) return value->is_known;
    unsigned width = pel_dtype_size(tensor->dtype);
    if (tensor->shape.n > 1 || !pel_shape_count(&tensor->shape, &count) || count > MOST_NUMBERS || !width) return false;
    if (pel_str_is(tensor->dtype, "float16") || pel_str_is(tensor->dtype, "bfloat16")) return false;
    pel_str bytes = bytes_of(o, tensor);
    if (bytes.len < count * width) return false;
    pel_nodes numbers = { 0 };
    for (uint64_t i = 0; i < count; i++) {
        char room[8] = { 0 };
        memcpy(room, bytes.ptr + i * width, width < 8 ? width : 8);
        pel_node *node = element(o, tensor->dtype, room);
        if (!node) return false;
        pel_nodes_push(o->ctx, &numbers, node);
    }
    value->numbers = numbers;
    value->is_list = tensor->shape.n == 1;
    return value->is_known = true;
}

static bool whole(const pel_node *node, int64_t *out) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT ||
        node->Constant.value->integer.digits.len)
        return false;
    *out = node->Constant.value->integer.small;
    return true;
}

bool pel_onnx_whole(pel_onnx *o, pel_onnx_value *value, int64_t *out, uint32_t *n) {
    if (!value || !pel_onnx_numbers(o, value) || value->numbers.n > MOST_NUMBERS) return false;
    for (uint32_t i = 0; i < value->numbers.n; i++)
        if (!whole(value->numbers.at[i], &out[i])) return false;
    *n = value->numbers.n;
    return true;
}

pel_node *pel_onnx_known(pel_onnx *o, const pel_onnx_value *value, bool as_tensor) {
    if (value->sizes_of) {
        pel_node *shape = pel_make_attribute(o->ctx, pel_make_name(o->ctx, value->sizes_of->name, PEL_Load),
                                             pel_intern_c(o->ctx, "shape"), PEL_Load);
        return as_tensor ? pel_onnx_write(o, "torch.tensor(_0)", shape, NULL, NULL) : shape;
    }
    pel_node *node = pel_node_new(o->ctx, PEL_List);
    for (uint32_t i = 0; i < value->numbers.n; i++)
        pel_nodes_push(o->ctx, &node->List.elts, copied(o, value->numbers.at[i]));
    if (!value->is_list) node = node->List.elts.at[0];
    if (!as_tensor) return node;
    pel_node *dtype = pel_dotted(o->ctx, pel_format(o->ctx, "torch.%.*s%c", PEL_FMT(value->dtype), 0).ptr);
    return pel_onnx_write(o, "torch.tensor(_0, dtype=_1)", node, dtype, NULL);
}

/* ---- computing ---- */

static void set_known(pel_onnx *o, pel_nodes numbers, bool is_list, pel_str dtype) {
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]);
    result->numbers = numbers;
    result->is_known = true;
    result->is_list = is_list;
    result->dtype = dtype;
    result->rank = is_list;
}

static pel_node *size_of(pel_onnx *o, const pel_onnx_value *value, int64_t dim) {
    return pel_make_call(o->ctx,
                         pel_make_attribute(o->ctx, pel_make_name(o->ctx, value->name, PEL_Load),
                                            pel_intern_c(o->ctx, "size"), PEL_Load),
                         pel_nodes_one(o->ctx, pel_make_int(o->ctx, dim)), (pel_nodes){ 0 });
}

/* Shape: of a constant, or of a value with a name; start and end since opset 15. */
static bool fold_shape(pel_onnx *o, pel_onnx_value *value) {
    int64_t start = pel_onnx_int(o, "start", 0), end = pel_onnx_int(o, "end", INT64_MAX);
    pel_nodes sizes = { 0 };
    if (!value->tensor && !value->name) return false;
    if (value->rank < 0 && !value->tensor) {
        if (start < 0 || end < 0 || end > 16) {
            if (start || end != INT64_MAX) return false;
            pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]);
            result->sizes_of = value;
            result->dtype = PEL_STR("int64");
            result->rank = 1;
            return true;
        }
    } else {
        int64_t rank = value->rank;
        if (start < 0) start = start + rank < 0 ? 0 : start + rank;
        if (end < 0) end += rank;
        if (end > rank) end = rank;
    }
    for (int64_t i = start; i < end; i++)
        pel_nodes_push(o->ctx, &sizes,
                       value->tensor ? pel_make_int(o->ctx, value->tensor->shape.dims[i].size) : size_of(o, value, i));
    set_known(o, sizes, true, PEL_STR("int64"));
    return true;
}

static bool fold_gather(pel_onnx *o, pel_onnx_value *value, pel_onnx_value *index) {
    int64_t at[MOST_NUMBERS];
    uint32_t n;
    pel_nodes out = { 0 };
    if (!index || pel_onnx_int(o, "axis", 0) != 0 || !pel_onnx_whole(o, index, at, &n)) return false;
    if (!value->sizes_of && (!pel_onnx_numbers(o, value) || !value->is_list)) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (value->sizes_of) {
            pel_nodes_push(o->ctx, &out, size_of(o, value->sizes_of, at[i]));
            continue;
        }
        if (at[i] < 0) at[i] += value->numbers.n;
        if (at[i] < 0 || at[i] >= value->numbers.n) pel_onnx_refuse(o, "an index that is out of range");
        pel_nodes_push(o->ctx, &out, copied(o, value->numbers.at[at[i]]));
    }
    set_known(o, out, index->is_list, value->dtype);
    return true;
}

/* Of a list along its only dimension; sizes of an unknown rank can be cut where both ends count from the start. */
static bool fold_slice(pel_onnx *o, pel_onnx_value *value) {
    int64_t start[MOST_NUMBERS], end[MOST_NUMBERS], axis[MOST_NUMBERS] = { 0 }, step[MOST_NUMBERS] = { 1 };
    uint32_t n[4] = { 0, 0, 1, 1 };
    if (!pel_onnx_whole(o, pel_onnx_in(o, 1), start, &n[0]) || !pel_onnx_whole(o, pel_onnx_in(o, 2), end, &n[1]))
        return false;
    if (pel_onnx_in(o, 3) && !pel_onnx_whole(o, pel_onnx_in(o, 3), axis, &n[2])) return false;
    if (pel_onnx_in(o, 4) && !pel_onnx_whole(o, pel_onnx_in(o, 4), step, &n[3])) return false;
    if (n[0] != 1 || n[1] != 1 || n[2] != 1 || n[3] != 1 || (axis[0] != 0 && axis[0] != -1) || step[0] != 1)
        return false;
    pel_nodes out = { 0 };
    if (value->sizes_of) {
        if (start[0] < 0 || end[0] < 0 || end[0] > 16) return false;
        for (int64_t i = start[0]; i < end[0]; i++) pel_nodes_push(o->ctx, &out, size_of(o, value->sizes_of, i));
    } else {
        int64_t count = value->numbers.n;
        if (start[0] < 0) start[0] = start[0] + count < 0 ? 0 : start[0] + count;
        if (end[0] < 0) end[0] += count;
        for (int64_t i = start[0]; i < end[0] && i < count; i++)
            pel_nodes_push(o->ctx, &out, copied(o, value->numbers.at[i]));
    }
    set_known(o, out, true, value->dtype);
    return true;
}

static bool fold_concat(pel_onnx *o) {
    pel_nodes out = { 0 };
    int64_t axis = pel_onnx_int(o, "axis", 0);
    if (axis != 0 && axis != -1) return false;
    pel_str dtype = { "", 0 };
    for (uint32_t i = 0; i < o->now->in.n; i++) {
        pel_onnx_value *value = pel_onnx_in(o, i);
        if (!value || !pel_str_is(value->dtype, "int64") || !pel_onnx_numbers(o, value) || !value->is_list)
            return false;
        dtype = value->dtype;
        for (uint32_t k = 0; k < value->numbers.n; k++) pel_nodes_push(o->ctx, &out, copied(o, value->numbers.at[k]));
    }
    if (out.n > MOST_NUMBERS) return false;
    set_known(o, out, true, dtype);
    return true;
}

/* Whether a size can't be negative: sizes of tensors, their sums, products and quotients. */
static bool is_natural(const pel_node *node) {
    int64_t number;
    if (whole(node, &number)) return number >= 0;
    if (node->kind == PEL_Call) return true;
    return node->kind == PEL_BinOp && node->BinOp.op != PEL_Sub && is_natural(node->BinOp.left) &&
           is_natural(node->BinOp.right);
}

/* NULL: it can't be written so that it is the same for all sizes. */
static pel_node *computed(pel_onnx *o, pel_OPERATOR op, pel_node *a, pel_node *b) {
    int64_t x = 0, y = 0, out = 0;
    bool is_x = whole(a, &x), is_y = whole(b, &y);
    if (op == PEL_FloorDiv && is_y && y == 0) pel_onnx_refuse(o, "a division by zero");
    if (is_x && is_y) {
        bool is_lost = op == PEL_Add    ? __builtin_add_overflow(x, y, &out)
                       : op == PEL_Sub  ? __builtin_sub_overflow(x, y, &out)
                       : op == PEL_Mult ? __builtin_mul_overflow(x, y, &out)
                                        : y == -1;
        if (is_lost) return NULL;
        if (op == PEL_FloorDiv) out = x / y;
        return pel_make_int(o->ctx, out);
    }
    bool is_size = (is_x || is_natural(a) || a->kind == PEL_BinOp) && (is_y || is_natural(b) || b->kind == PEL_BinOp);
    if (!is_size || (op == PEL_FloorDiv && !(is_natural(a) && is_natural(b)))) return NULL;
    if (is_y && y == (op == PEL_Add || op == PEL_Sub ? 0 : 1)) return copied(o, a);
    if (is_x && ((op == PEL_Add && !x) || (op == PEL_Mult && x == 1))) return copied(o, b);
    return pel_make_binop(o->ctx, copied(o, a), op, copied(o, b));
}

static bool fold_arithmetic(pel_onnx *o, pel_OPERATOR op) {
    pel_onnx_value *a = pel_onnx_in(o, 0), *b = pel_onnx_in(o, 1);
    if (!a || !b || !pel_onnx_numbers(o, a) || !pel_onnx_numbers(o, b) || !pel_str_is(a->dtype, "int64")) return false;
    uint32_t n = a->numbers.n > b->numbers.n ? a->numbers.n : b->numbers.n;
    if ((a->numbers.n != n && a->numbers.n != 1) || (b->numbers.n != n && b->numbers.n != 1)) return false;
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        pel_node *node =
            computed(o, op, a->numbers.at[a->numbers.n > 1 ? i : 0], b->numbers.at[b->numbers.n > 1 ? i : 0]);
        if (!node) return false;
        pel_nodes_push(o->ctx, &out, node);
    }
    set_known(o, out, a->is_list || b->is_list, a->dtype);
    return true;
}

/* ConstantOfShape, Equal and Where of whole numbers: what exporters write for expand(-1, 4). */
static bool fold_filled(pel_onnx *o) {
    int64_t sizes[MOST_NUMBERS];
    uint32_t n;
    const pel_onnx_attribute *row = pel_onnx_attribute_of(o, "value");
    if (!pel_onnx_whole(o, pel_onnx_in(o, 0), sizes, &n) || n != 1 || sizes[0] < 0 || sizes[0] > MOST_NUMBERS)
        return false;
    if (!row || !row->tensor) return false;
    pel_onnx_value value = { .tensor = row->tensor, .dtype = row->tensor->dtype };
    if (!pel_onnx_numbers(o, &value) || value.numbers.n != 1 || !pel_str_is(value.dtype, "int64")) return false;
    pel_nodes out = { 0 };
    for (int64_t i = 0; i < sizes[0]; i++) pel_nodes_push(o->ctx, &out, copied(o, value.numbers.at[0]));
    set_known(o, out, true, value.dtype);
    return true;
}

static bool fold_equal(pel_onnx *o) {
    pel_onnx_value *a = pel_onnx_in(o, 0), *b = pel_onnx_in(o, 1);
    if (!a || !b || !pel_onnx_numbers(o, a) || !pel_onnx_numbers(o, b) || a->numbers.n != b->numbers.n) return false;
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < a->numbers.n; i++) {
        int64_t x = 0, y = 0;
        bool is_x = whole(a->numbers.at[i], &x), is_y = whole(b->numbers.at[i], &y);
        bool is_never =
            (is_x && x < 0 && is_natural(b->numbers.at[i])) || (is_y && y < 0 && is_natural(a->numbers.at[i]));
        if (!(is_x && is_y) && !is_never) return false;
        pel_nodes_push(o->ctx, &out, pel_make_constant(o->ctx, pel_const_bool(!is_never && x == y)));
    }
    set_known(o, out, a->is_list || b->is_list, PEL_STR("bool"));
    return true;
}

static bool fold_where(pel_onnx *o) {
    pel_onnx_value *test = pel_onnx_in(o, 0), *a = pel_onnx_in(o, 1), *b = pel_onnx_in(o, 2);
    if (!test || !a || !b || !pel_onnx_numbers(o, test) || !pel_onnx_numbers(o, a) || !pel_onnx_numbers(o, b))
        return false;
    if (test->numbers.n != a->numbers.n || a->numbers.n != b->numbers.n || !pel_str_is(a->dtype, "int64")) return false;
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < a->numbers.n; i++) {
        const pel_node *flag = test->numbers.at[i];
        if (flag->kind != PEL_Constant) return false;
        bool holds = flag->Constant.value->kind == PEL_CONST_TRUE;
        pel_nodes_push(o->ctx, &out, copied(o, (holds ? a : b)->numbers.at[i]));
    }
    set_known(o, out, a->is_list, a->dtype);
    return true;
}

/* A number becomes a row of one, or a row of one a number: Unsqueeze, Squeeze, Reshape to [-1] or []. */
static bool fold_rank(pel_onnx *o, pel_onnx_value *value) {
    int64_t sizes[MOST_NUMBERS];
    uint32_t n;
    if (!pel_str_is(value->dtype, "int64") || !pel_onnx_numbers(o, value)) return false;
    pel_str op = o->now->op;
    bool is_list = pel_str_is(op, "Unsqueeze");
    if (is_list && value->is_list) return false;
    if (pel_str_is(op, "Squeeze") && (!value->is_list || value->numbers.n != 1)) return false;
    if (pel_str_is(op, "Reshape")) {
        if (!pel_onnx_whole(o, pel_onnx_in(o, 1), sizes, &n) || n > 1) return false;
        if (n && sizes[0] != -1 && sizes[0] != (int64_t)value->numbers.n) return false;
        if (!n && value->numbers.n != 1) return false;
        is_list = n == 1;
    }
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < value->numbers.n; i++) pel_nodes_push(o->ctx, &out, copied(o, value->numbers.at[i]));
    set_known(o, out, is_list, value->dtype);
    return true;
}

static bool fold_cast(pel_onnx *o, pel_onnx_value *value) {
    pel_str to = pel_onnx_dtype(o->ctx, (uint64_t)pel_onnx_int(o, "to", 0));
    if (!pel_onnx_numbers(o, value)) return false;
    bool is_whole = pel_str_is(value->dtype, "int64") && pel_str_is(to, "int64");
    bool is_real = pel_str_is(value->dtype, "int64") && pel_str_is(to, "float32");
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < value->numbers.n; i++) {
        int64_t number = 0;
        if (is_real && (!whole(value->numbers.at[i], &number) || number > 1 << 24 || number < -(1 << 24))) return false;
        pel_nodes_push(o->ctx, &out, is_real ? pel_onnx_number(o, (double)number) : copied(o, value->numbers.at[i]));
    }
    if (!is_whole && !is_real) return false;
    set_known(o, out, value->is_list, to);
    return true;
}

/* Shapes are folded wherever they are; other operators only if all that they read is known. */
bool pel_onnx_fold(pel_onnx *o) {
    static const struct {
        const char *op;
        pel_OPERATOR operator;
    } arithmetic[] = { { "Add", PEL_Add }, { "Sub", PEL_Sub }, { "Mul", PEL_Mult }, { "Div", PEL_FloorDiv } };
    pel_str op = o->now->op;
    pel_onnx_value *value = o->now->in.n ? pel_onnx_in(o, 0) : NULL;
    if (!value || o->now->domain.len || o->now->out.n != 1) return false;
    if (pel_str_is(op, "Shape")) return fold_shape(o, value);
    if (pel_str_is(op, "Gather")) return fold_gather(o, value, pel_onnx_in(o, 1));
    if (pel_str_is(op, "Concat")) return fold_concat(o);
    if (pel_str_is(op, "ConstantOfShape")) return fold_filled(o);
    if (pel_str_is(op, "Where")) return fold_where(o);
    if (!pel_onnx_numbers(o, value) && !value->sizes_of) return false;
    if (pel_str_is(op, "Slice") && o->now->in.n > 2) return fold_slice(o, value);
    for (size_t i = 0; i < PEL_COUNT(arithmetic); i++)
        if (pel_str_is(op, arithmetic[i].op)) return fold_arithmetic(o, arithmetic[i].operator);
    if (pel_str_is(op, "Equal")) return fold_equal(o);
    if (pel_str_is(op, "Cast")) return fold_cast(o, value);
    if (pel_str_is(op, "Unsqueeze") || pel_str_is(op, "Squeeze") || pel_str_is(op, "Reshape"))
        return fold_rank(o, value);
    return false;
}
