/* TensorFlow Lite: operators and tensors in a flatbuffer; tensors that have a buffer are the weights. */
#include "io/bytes.h"
#include "io/flatbuffer.h"
#include "load/load.h"
#include "load/audit/tensorflow_ops.h"

#define MAX_DIMS 64

/* Fields of the tables, by their numbers in the schema. */
enum { MODEL_OPERATOR_CODES = 1, MODEL_SUBGRAPHS = 2, MODEL_BUFFERS = 4 };
enum { CODE_OLD = 0, CODE_CUSTOM = 1, CODE_NEW = 3 };
enum { GRAPH_TENSORS = 0, GRAPH_INPUTS = 1, GRAPH_OUTPUTS = 2, GRAPH_OPERATORS = 3, GRAPH_NAME = 4 };
enum { TENSOR_SHAPE = 0, TENSOR_TYPE = 1, TENSOR_BUFFER = 2, TENSOR_NAME = 3 };
enum { OPERATOR_CODE = 0, OPERATOR_INPUTS = 1, OPERATOR_OUTPUTS = 2 };
enum { BUFFER_DATA = 0, BUFFER_OFFSET = 1, BUFFER_SIZE = 2 };

#define CUSTOM 32

static const char *const operator_names[] = {
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "DEQUANTIZE",
    "EMBEDDING_LOOKUP",
    "FLOOR",
    "FULLY_CONNECTED",
    "HASHTABLE_LOOKUP",
    "L2_NORMALIZATION",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "LOGISTIC",
    "LSH_PROJECTION",
    "LSTM",
    "MAX_POOL_2D",
    "MUL",
    "RELU",
    "RELU_N1_TO_1",
    "RELU6",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RNN",
    "SOFTMAX",
    "SPACE_TO_DEPTH",
    "SVDF",
    "TANH",
    "CONCAT_EMBEDDINGS",
    "SKIP_GRAM",
    "CALL",
    "CUSTOM",
    "EMBEDDING_LOOKUP_SPARSE",
    "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "GATHER",
    "BATCH_TO_SPACE_ND",
    "SPACE_TO_BATCH_ND",
    "TRANSPOSE",
    "MEAN",
    "SUB",
    "DIV",
    "SQUEEZE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "STRIDED_SLICE",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "EXP",
    "TOPK_V2",
    "SPLIT",
    "LOG_SOFTMAX",
    "DELEGATE",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "CAST",
    "PRELU",
    "MAXIMUM",
    "ARG_MAX",
    "MINIMUM",
    "LESS",
    "NEG",
    "PADV2",
    "GREATER",
    "GREATER_EQUAL",
    "LESS_EQUAL",
    "SELECT",
    "SLICE",
    "SIN",
    "TRANSPOSE_CONV",
    "SPARSE_TO_DENSE",
    "TILE",
    "EXPAND_DIMS",
    "EQUAL",
    "NOT_EQUAL",
    "LOG",
    "SUM",
    "SQRT",
    "RSQRT",
    "SHAPE",
    "POW",
    "ARG_MIN",
    "FAKE_QUANT",
    "REDUCE_PROD",
    "REDUCE_MAX",
    "PACK",
    "LOGICAL_OR",
    "ONE_HOT",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "UNPACK",
    "REDUCE_MIN",
    "FLOOR_DIV",
    "REDUCE_ANY",
    "SQUARE",
    "ZEROS_LIKE",
    "FILL",
    "FLOOR_MOD",
    "RANGE",
    "RESIZE_NEAREST_NEIGHBOR",
    "LEAKY_RELU",
    "SQUARED_DIFFERENCE",
    "MIRROR_PAD",
    "ABS",
    "SPLIT_V",
    "UNIQUE",
    "CEIL",
    "REVERSE_V2",
    "ADD_N",
    "GATHER_ND",
    "COS",
    "WHERE",
    "RANK",
    "ELU",
    "REVERSE_SEQUENCE",
    "MATRIX_DIAG",
    "QUANTIZE",
    "MATRIX_SET_DIAG",
    "ROUND",
    "HARD_SWISH",
    "IF",
    "WHILE",
    "NON_MAX_SUPPRESSION_V4",
    "NON_MAX_SUPPRESSION_V5",
    "SCATTER_ND",
    "SELECT_V2",
    "DENSIFY",
    "SEGMENT_SUM",
    "BATCH_MATMUL",
    "PLACEHOLDER_FOR_GREATER_OP_CODES",
    "CUMSUM",
    "CALL_ONCE",
    "BROADCAST_TO",
    "RFFT2D",
    "CONV_3D",
    "IMAG",
    "REAL",
    "COMPLEX_ABS",
    "HASHTABLE",
    "HASHTABLE_FIND",
    "HASHTABLE_IMPORT",
    "HASHTABLE_SIZE",
    "REDUCE_ALL",
    "CONV_3D_TRANSPOSE",
    "VAR_HANDLE",
    "READ_VARIABLE",
    "ASSIGN_VARIABLE",
    "BROADCAST_ARGS",
    "RANDOM_STANDARD_NORMAL",
    "BUCKETIZE",
    "RANDOM_UNIFORM",
    "MULTINOMIAL",
    "GELU",
    "DYNAMIC_UPDATE_SLICE",
    "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD",
    "UNSORTED_SEGMENT_MAX",
    "UNSORTED_SEGMENT_SUM",
    "ATAN2",
    "UNSORTED_SEGMENT_MIN",
    "SIGN",
    "BITCAST",
    "BITWISE_XOR",
    "RIGHT_SHIFT",
    "STABLEHLO_LOGISTIC",
    "STABLEHLO_ADD",
    "STABLEHLO_DIVIDE",
    "STABLEHLO_MULTIPLY",
    "STABLEHLO_MAXIMUM",
    "STABLEHLO_RESHAPE",
    "STABLEHLO_CLAMP",
    "STABLEHLO_CONCATENATE",
    "STABLEHLO_BROADCAST_IN_DIM",
    "STABLEHLO_CONVOLUTION",
    "STABLEHLO_SLICE",
    "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_REDUCE",
    "STABLEHLO_ABS",
    "STABLEHLO_AND",
    "STABLEHLO_COSINE",
    "STABLEHLO_EXPONENTIAL",
    "STABLEHLO_FLOOR",
    "STABLEHLO_LOG",
    "STABLEHLO_MINIMUM",
    "STABLEHLO_NEGATE",
    "STABLEHLO_OR",
    "STABLEHLO_POWER",
    "STABLEHLO_REMAINDER",
    "STABLEHLO_RSQRT",
    "STABLEHLO_SELECT",
    "STABLEHLO_SUBTRACT",
    "STABLEHLO_TANH",
    "STABLEHLO_SCATTER",
    "STABLEHLO_COMPARE",
    "STABLEHLO_CONVERT",
    "STABLEHLO_DYNAMIC_SLICE",
    "STABLEHLO_DYNAMIC_UPDATE_SLICE",
    "STABLEHLO_PAD",
    "STABLEHLO_IOTA",
    "STABLEHLO_DOT_GENERAL",
    "STABLEHLO_REDUCE_WINDOW",
    "STABLEHLO_SORT",
    "STABLEHLO_WHILE",
    "STABLEHLO_GATHER",
    "STABLEHLO_TRANSPOSE",
    "DILATE",
    "STABLEHLO_RNG_BIT_GENERATOR",
    "REDUCE_WINDOW",
    "STABLEHLO_COMPOSITE",
    "STABLEHLO_SHIFT_LEFT",
    "STABLEHLO_CBRT",
    "STABLEHLO_CASE",
};

static pel_str operator_name(pel_ctx *ctx, uint64_t number) {
    return number < PEL_COUNT(operator_names) ? pel_str_of(operator_names[number])
                                              : pel_format(ctx, "OPERATOR_%llu", (unsigned long long)number);
}

static pel_str dtype_of(uint64_t number) {
    static const char *const names[] = { "float32",  "float16",  "int32",     "uint8",  "int64",   "string",
                                         "bool",     "int16",    "complex64", "int8",   "float64", "complex128",
                                         "uint64",   "resource", "variant",   "uint32", "uint16",  "int4",
                                         "bfloat16", "int2",     "uint4" };
    return pel_str_of(number < PEL_COUNT(names) ? names[number] : "");
}

typedef struct lite_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_flat model;
    pel_flat_list codes, buffers;
    pel_map makers; /* index of a tensor -> pel_str *, the operator that makes it */
} lite_file;

static pel_shape shape_of(lite_file *f, const pel_flat *tensor) {
    pel_flat_list list = pel_flat_items(tensor, TENSOR_SHAPE, 4);
    int64_t dims[MAX_DIMS];
    if (list.n > MAX_DIMS) pel_throw(f->ctx, PEL_E_TOO_BIG, list.at, "TFLite: more than %d dimensions", MAX_DIMS);
    for (uint32_t i = 0; i < list.n; i++) dims[i] = (int32_t)pel_le32(f->model.bytes.ptr + list.at + 4 * (uint64_t)i);
    return pel_shape_of(f->ctx, dims, list.n);
}

static void add_tensor(lite_file *f, const pel_flat *tensor, uint32_t index) {
    uint64_t number = pel_flat_number(tensor, TENSOR_BUFFER, 4, 0), count, size;
    if (!number || number >= f->buffers.n) return; /* buffer 0 is always empty */
    pel_flat buffer = pel_flat_item(&f->model, f->buffers, (uint32_t)number);
    pel_flat_list data = pel_flat_items(&buffer, BUFFER_DATA, 1);
    uint64_t offset = data.at, length = data.n;
    if (!length) { /* of files over 2 GB: after the flatbuffer */
        offset = pel_flat_number(&buffer, BUFFER_OFFSET, 8, 0);
        length = pel_flat_number(&buffer, BUFFER_SIZE, 8, 0);
    }
    if (!length) return;
    pel_str name = pel_flat_text(tensor, TENSOR_NAME);
    pel_model_tensor made = { .dtype = dtype_of(pel_flat_number(tensor, TENSOR_TYPE, 1, 0)),
                              .shape = shape_of(f, tensor) };
    if (!name.len) name = pel_format(f->ctx, "tensor_%u", index);
    bool fits = pel_shape_count(&made.shape, &count) &&
                !__builtin_mul_overflow(count, pel_dtype_size(made.dtype), &size) && size == length;
    pel_input file = pel_input_of(f->model.bytes);
    if (!pel_build_place(f->ctx, &made, &file, (pel_str){ "", 0 }, offset, length))
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, offset,
                 PEL_STR("its buffer lies outside of the file"));
    else if (!fits && pel_dtype_size(made.dtype)) {
        made.stored = NULL;
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, offset,
                 PEL_STR("its buffer does not fit its shape"));
    }
    pel_build_tensor(&f->builder, name, made);
}

/* Flex operators are TensorFlow's own, which every runtime with its delegate has. Others somebody must register. */
static void judge_code(lite_file *f, const pel_flat *code) {
    uint64_t old = pel_flat_number(code, CODE_OLD, 1, 0), new = pel_flat_number(code, CODE_NEW, 4, 0);
    uint64_t number = new > old ? new : old;
    pel_str name = pel_flat_text(code, CODE_CUSTOM);
    if (number != CUSTOM) {
        if (number >= PEL_COUNT(operator_names))
            pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "operator", (pel_str){ "", 0 }, code->at,
                     pel_format(f->ctx, "the operator %llu is not known", (unsigned long long)number));
        return;
    }
    bool is_flex = pel_str_starts(name, PEL_STR("Flex"));
    if (is_flex && pel_is_computing_op(pel_str_from(name, 4))) return;
    pel_find(f->ctx, &f->out->findings, is_flex ? PEL_SUSPECT : PEL_NOTE, "operator", name, code->at,
             is_flex ? pel_format(f->ctx, "the operator %.*s of TensorFlow is not known to compute and nothing else",
                                  PEL_FMT(pel_str_from(name, 4)))
                     : PEL_STR("needs an operator of somebody's own"));
}

/* Operators are stored in the order in which they run, so the makers of inputs are known. The old field of one byte
 * ends at 127 and newer operators use the new one: the larger number counts. */
static void add_operator(lite_file *f, pel_flat graph, pel_flat_list tensors, const pel_flat *op, uint32_t index) {
    uint64_t code_index = pel_flat_number(op, OPERATOR_CODE, 4, 0);
    pel_flat code = { f->ctx, f->model.bytes, 0 };
    if (code_index < f->codes.n) code = pel_flat_item(&f->model, f->codes, (uint32_t)code_index);
    uint64_t old = pel_flat_number(&code, CODE_OLD, 1, 0), new = pel_flat_number(&code, CODE_NEW, 4, 0);
    uint64_t number = new > old ? new : old;
    pel_str class = number == CUSTOM ? pel_flat_text(&code, CODE_CUSTOM) : operator_name(f->ctx, number);
    pel_flat_list inputs = pel_flat_items(op, OPERATOR_INPUTS, 4), outputs = pel_flat_items(op, OPERATOR_OUTPUTS, 4);
    pel_str name = pel_format(f->ctx, "%u", index);
    pel_module *module = pel_build_module(&f->builder, name);
    module->class = class;
    pel_str *kept = pel_new(f->ctx, pel_str);
    *kept = name;
    const char *bytes = f->model.bytes.ptr;
    for (uint32_t i = 0; i < inputs.n; i++) {
        uint64_t from;
        if (pel_map_get(&f->makers, pel_le32(bytes + inputs.at + 4 * (uint64_t)i), &from))
            pel_push(f->ctx, &f->builder.network->flow,
                     (pel_flow){ .from = *(const pel_str *)(uintptr_t)from, .to = name });
    }
    for (uint32_t i = 0; i < outputs.n; i++) {
        uint32_t tensor = pel_le32(bytes + outputs.at + 4 * (uint64_t)i);
        pel_map_set(f->ctx, &f->makers, tensor, PEL_KEY(kept));
        if (i || tensor >= tensors.n) continue;
        pel_flat made = pel_flat_item(&graph, tensors, tensor);
        module->output = shape_of(f, &made);
    }
}

/* A flatbuffer has the offset of its root in the first four bytes, and its identifier after them. */
bool pel_is_tflite(pel_str bytes) { return bytes.len >= 16 && memcmp(bytes.ptr + 4, "TFL3", 4) == 0; }

/* Operator codes belong to the whole file: each is judged once, even if no graph uses it. Every graph gets a builder
 * and a map of makers of its own, since tensors are numbered from 0 in each. */
void pel_load_tflite(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("TensorFlow Lite");
    pel_flat model = pel_flat_root(ctx, bytes);
    pel_flat_list graphs = pel_flat_items(&model, MODEL_SUBGRAPHS, 4);
    lite_file whole = { .ctx = ctx, .out = out };
    pel_flat_list codes = pel_flat_items(&model, MODEL_OPERATOR_CODES, 4);
    for (uint32_t i = 0; i < codes.n; i++) {
        pel_flat code = pel_flat_item(&model, codes, i);
        judge_code(&whole, &code);
    }
    for (uint32_t g = 0; g < graphs.n; g++) {
        pel_flat graph = pel_flat_item(&model, graphs, g);
        lite_file f = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '/'), .model = model };
        f.codes = pel_flat_items(&model, MODEL_OPERATOR_CODES, 4);
        f.buffers = pel_flat_items(&model, MODEL_BUFFERS, 4);
        f.builder.network->root->class = pel_flat_text(&graph, GRAPH_NAME);
        pel_flat_list tensors = pel_flat_items(&graph, GRAPH_TENSORS, 4);
        pel_flat_list operators = pel_flat_items(&graph, GRAPH_OPERATORS, 4);
        for (uint32_t i = 0; i < operators.n; i++) {
            pel_flat op = pel_flat_item(&graph, operators, i);
            add_operator(&f, graph, tensors, &op, i);
        }
        for (uint32_t i = 0; i < tensors.n; i++) {
            pel_flat tensor = pel_flat_item(&graph, tensors, i);
            add_tensor(&f, &tensor, i);
        }
    }
}
