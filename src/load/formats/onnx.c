/* ONNX: a graph of operators, whose initializers are the tensors. */
#include "io/bytes.h"
#include "load/audit/onnx_ops.h"
#include "load/formats/onnx.h"

#include <stdlib.h>

#define MAX_DIMS 64
#define MAX_NODES 1000000
#define MAX_ARGUMENTS 64
#define MAX_FUNCTIONS 10000
#define MAX_DEPTH 64                     /* graphs inside of graphs */
#define MAX_NUMBERS ((uint64_t)16 << 20) /* of a tensor that holds them one by one */

/* One function of the file uses another. */
typedef struct call_edge {
    uint32_t from, to;
} call_edge;

/* An initializer belongs to the first operator that reads it; what no operator of its graph reads stays where its name
 * says. */
typedef struct whose_weight {
    pel_str path;   /* of the operator; empty: none reads it */
    uint32_t input; /* which of its inputs it is, from 0 */
} whose_weight;

typedef struct onnx_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_map makers;    /* interned name of a value -> pel_str *, full name of the module that makes it */
    pel_map shapes;    /* interned name of a value -> pel_shape * */
    pel_map weights;   /* interned name of an initializer, with its graph -> whose_weight * */
    pel_map files;     /* interned name of a file beside -> pel_input *; 0: there is none */
    pel_map functions; /* interned "domain name" of those that the file itself defines -> number, from 1 */
    PEL_VEC(call_edge) calls;
    uint32_t n_functions, inside; /* the number of the one that is being read; 0: none */
    uint32_t n_nodes;
    int depth;
} onnx_file;

static void read_graph(onnx_file *f, pel_proto graph, pel_str path);

static uint64_t key_of(onnx_file *f, pel_str name) { return PEL_KEY(pel_intern_str(f->ctx, name)); }

static pel_str *kept(onnx_file *f, pel_str s) {
    pel_str *copy = pel_new(f->ctx, pel_str);
    *copy = s;
    return copy;
}

static pel_str dtype_of(pel_ctx *ctx, uint64_t number) {
    static const char *const names[] = {
        "",           "float32",    "uint8",    "int8",           "uint16",          "int16",       "int32",
        "int64",      "string",     "bool",     "float16",        "float64",         "uint32",      "uint64",
        "complex64",  "complex128", "bfloat16", "float8_e4m3fn",  "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "uint4",      "int4",       "float4",   "float8_e8m0fnu", "uint2",           "int2",        "float6_e2m3",
        "float6_e3m2"
    };
    return number < PEL_COUNT(names) ? pel_str_of(names[number])
                                     : pel_format(ctx, "onnx_%llu", (unsigned long long)number);
}

/* ---- tensors ---- */

/* False: it is no number, or too large for one. */
static bool decimal(pel_str text, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *value > UINT64_MAX / 10 - 9) return false;
        *value = *value * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

/* Of one element, in bits; 0: texts, or a type that is not known. */
static unsigned bits_of(pel_str dtype) {
    if (pel_str_is(dtype, "uint4") || pel_str_is(dtype, "int4") || pel_str_is(dtype, "float4")) return 4;
    if (pel_str_is(dtype, "uint2") || pel_str_is(dtype, "int2")) return 2;
    if (pel_str_is(dtype, "float6_e2m3") || pel_str_is(dtype, "float6_e3m2")) return 6;
    return 8 * pel_dtype_size(dtype);
}

static void place_outside(onnx_file *f, pel_model_tensor *tensor, pel_str name, pel_str location, uint64_t offset,
                          uint64_t size) {
    /* onnxruntime takes a name with stars for an address in its own memory */
    if (memchr(location.ptr, '*', location.len)) {
        pel_find(f->ctx, &f->out->findings, PEL_DANGER, "external", name, 0,
                 pel_format(f->ctx, "its data is read from %.*s, which is no file: a reader may take it for an address",
                            PEL_FMT(location)));
        return;
    }
    if (!pel_is_safe_path(location)) {
        pel_find(
            f->ctx, &f->out->findings, PEL_DANGER, "path", name, 0,
            pel_format(f->ctx, "its data is read from %.*s, which leads out of the model's folder", PEL_FMT(location)));
        return;
    }
    uint64_t known, key = key_of(f, location);
    if (!pel_map_get(&f->files, key, &known)) {
        pel_input *data = pel_new(f->ctx, pel_input);
        known = pel_open_beside(f->ctx, f->out, location, data) ? PEL_KEY(data) : 0;
        pel_map_set(f->ctx, &f->files, key, known);
    }
    tensor->place.file = location;
    if (known && !pel_build_place(f->ctx, tensor, (const pel_input *)(uintptr_t)known, location, offset, size))
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, offset,
                 PEL_STR("its data lies outside of the file beside"));
}

typedef struct tensor_fields {
    pel_str name, location, raw;
    int64_t dims[MAX_DIMS];
    uint32_t n_dims;
    uint64_t type, offset, length, raw_at;
    bool is_outside, is_odd; /* its data is said to lie elsewhere; and at a place that is none */
    bool has_raw;            /* bytes, and not packed floats */
    pel_proto numbers;       /* the message again, if it holds numbers one by one */
    uint32_t number_field;
} tensor_fields;

static void read_outside(onnx_file *f, const pel_proto_field *entry, tensor_fields *t) {
    pel_proto_field key, text;
    if (!pel_proto_find(f->ctx, pel_proto_of(entry), 1, &key) || !pel_proto_find(f->ctx, pel_proto_of(entry), 2, &text))
        return;
    if (pel_str_is(key.bytes, "location")) {
        t->is_odd |= t->location.len > 0;
        if (pel_is_safe_path(t->location) || !t->location.len) t->location = text.bytes; /* of two, the worse */
    }
    if (pel_str_is(key.bytes, "offset")) t->is_odd |= !decimal(text.bytes, &t->offset);
    if (pel_str_is(key.bytes, "length")) t->is_odd |= !decimal(text.bytes, &t->length);
}

static void read_tensor_fields(onnx_file *f, pel_proto message, tensor_fields *t) {
    pel_proto_field field;
    pel_proto again = message;
    uint64_t at, value;
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 1) {
            for (at = 0; pel_proto_packed(f->ctx, &field, &at, &value);) {
                if (t->n_dims == MAX_DIMS)
                    pel_throw(f->ctx, PEL_E_TOO_BIG, field.at, "ONNX: more than %d dimensions", MAX_DIMS);
                t->dims[t->n_dims++] = (int64_t)value;
            }
        }
        if (field.number == 2) t->type = field.value;
        if (field.number == 8) t->name = field.bytes;
        if (field.wire == PEL_WIRE_BYTES && (field.number == 9 || field.number == 4 || field.number == 10))
            t->raw = field.bytes, t->raw_at = field.at; /* raw, or packed floats, which look the same */
        t->has_raw |= field.number == 9;
        t->is_outside |= field.number == 14 && field.value == 1;
        bool is_float = (field.number == 4 || field.number == 10) && field.wire != PEL_WIRE_BYTES;
        if (field.number == 5 || field.number == 7 || field.number == 11 || is_float)
            t->numbers = again, t->number_field = field.number, t->raw_at = field.at;
        if (field.number == 13 && field.wire == PEL_WIRE_BYTES) read_outside(f, &field, t);
    }
}

/* Numbers that stand one by one, in the width of their dtype: int32_data holds bytes, bools, half floats and pairs of
 * small integers, too. */
static pel_str gather_numbers(onnx_file *f, const tensor_fields *t, uint64_t count, unsigned width) {
    pel_proto message = t->numbers;
    pel_proto_field field;
    uint64_t n = 0, at, value;
    char *out = pel_alloc_raw(f->ctx, count * width + 1);
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number != t->number_field) continue;
        for (at = 0; pel_proto_packed(f->ctx, &field, &at, &value); n++) {
            if (n == count) return (pel_str){ NULL, 0 };
            for (unsigned i = 0; i < width; i++) out[n * width + i] = (char)(value >> 8 * i & 255);
        }
    }
    return n == count ? (pel_str){ out, (size_t)count * width } : (pel_str){ NULL, 0 };
}

/* Of six bits each: one number holds one element; as bytes, four are packed into three. */
static pel_str gather_six_bits(onnx_file *f, const tensor_fields *t, uint64_t count) {
    pel_str single = gather_numbers(f, t, count, 1);
    if (!single.ptr) return single;
    size_t size = (size_t)(count * 6 + 7) / 8;
    unsigned char *out = pel_new_array(f->ctx, size + 2, unsigned char);
    for (size_t i = 0; i < count; i++) {
        unsigned bits = ((unsigned)single.ptr[i] & 63) << i * 6 % 8;
        out[i * 6 / 8] |= (unsigned char)(bits & 255);
        out[i * 6 / 8 + 1] |= (unsigned char)(bits >> 8);
    }
    return (pel_str){ (const char *)out, size };
}

static void place_inside(onnx_file *f, tensor_fields *t, pel_str name, uint64_t size, pel_model_tensor *tensor) {
    unsigned width = bits_of(tensor->dtype) < 8 ? 1 : pel_dtype_size(tensor->dtype);
    bool is_pair = t->number_field == 4 || t->number_field == 10; /* complex numbers are two reals */
    if (is_pair && (pel_str_is(tensor->dtype, "complex64") || pel_str_is(tensor->dtype, "complex128"))) width /= 2;
    uint64_t count = size / width;
    if (t->has_raw && t->number_field)
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "headers-disagree", name, t->raw_at,
                 PEL_STR("the tensor has its numbers twice, as bytes and one by one: readers take either"));
    if (t->number_field && count > MAX_NUMBERS) {
        pel_build_unknown(&f->builder, name, PEL_STR("its numbers stand one by one, and there are too many to gather"));
        return;
    }
    uint64_t elements = 0;
    if (t->number_field && !t->raw.ptr && bits_of(tensor->dtype) == 6 && pel_shape_count(&tensor->shape, &elements))
        t->raw = gather_six_bits(f, t, elements);
    else if (t->number_field && !t->raw.ptr && width <= 8)
        t->raw = gather_numbers(f, t, count, width);
    if (!t->raw.ptr && !t->number_field && !size) return;
    if (!t->raw.ptr || t->raw.len != size) {
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, t->raw_at,
                 PEL_STR("the bytes of the tensor do not fit its shape"));
        return;
    }
    pel_stored *stored = pel_new(f->ctx, pel_stored);
    stored->bytes = t->raw;
    tensor->stored = stored;
    tensor->place = (pel_place){ .offset = t->raw_at, .size = size };
}

/* Names within graphs inside of graphs may repeat: each looks in its own, then in those around it. */
static whose_weight *weight_of(onnx_file *f, pel_str value, pel_str graph) {
    for (;;) {
        pel_str key = pel_format(f->ctx, "%.*s\n%.*s", PEL_FMT(graph), PEL_FMT(value));
        whose_weight *found = pel_map_pointer(&f->weights, key_of(f, key));
        if (found || !graph.len) return found;
        while (graph.len && graph.ptr[graph.len - 1] != '.') graph.len--;
        if (graph.len) graph.len--;
    }
}

/* How an operator calls a weight: by the last word of its name if that is one ("weight" of conv1.weight), else by its
 * place among the inputs. */
static pel_str weight_name(onnx_file *f, const pel_module *module, pel_str value, uint32_t input) {
    size_t start = value.len;
    bool is_word = true;
    while (start && !strchr("./:", value.ptr[start - 1])) start--;
    pel_str word = pel_str_from(value, start);
    for (size_t i = 0; i < word.len; i++)
        is_word &= (word.ptr[i] >= 'a' && word.ptr[i] <= 'z') || (word.ptr[i] >= 'A' && word.ptr[i] <= 'Z') ||
                   word.ptr[i] == '_';
    for (uint32_t i = 0; i < module->tensors.n; i++) is_word &= !pel_str_eq(module->tensors.at[i].name, word);
    return is_word && word.len ? word : pel_format(f->ctx, "input%u", input);
}

/* A tensor as its message says it, with its bytes. */
static pel_model_tensor tensor_of(onnx_file *f, tensor_fields *t, pel_str name, uint64_t at) {
    pel_model_tensor tensor = { .dtype = dtype_of(f->ctx, t->type) };
    tensor.shape = pel_shape_of(f->ctx, t->dims, t->n_dims);
    uint64_t size = 0, count = 0, bits = bits_of(tensor.dtype);
    bool has_size = pel_shape_count(&tensor.shape, &count) && bits && !__builtin_mul_overflow(count, bits, &size);
    size = size / 8 + (size % 8 != 0);
    if (!has_size && !pel_str_is(tensor.dtype, "string"))
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, at,
                 PEL_STR("the tensor is of a type that is not known, or its sizes are none"));
    if (t->is_odd || (t->is_outside && !t->location.len) || (t->location.len && t->raw.ptr))
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "external", name, at,
                 PEL_STR("where the data of the tensor lies is said twice, or not at all, or is no place"));
    if (t->location.len)
        place_outside(f, &tensor, name, t->location, t->offset, t->length ? t->length : size);
    else if (has_size)
        place_inside(f, t, name, size, &tensor);
    return tensor;
}

/* prefix: of the graph or operator that it belongs to; fallback: its name there if it has none. */
static void read_tensor(onnx_file *f, pel_proto message, pel_str prefix, pel_str fallback, pel_tensor_role role) {
    tensor_fields t = { .name = fallback };
    read_tensor_fields(f, message, &t);
    if (!t.name.len) t.name = fallback;
    pel_str name = prefix.len ? pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(prefix), PEL_FMT(t.name)) : t.name;
    pel_model_tensor tensor = tensor_of(f, &t, name, message.base);
    tensor.role = role;
    const whose_weight *owner = role == PEL_PARAMETER && !f->inside ? weight_of(f, t.name, prefix) : NULL;
    if (owner && owner->path.len) {
        tensor.name = weight_name(f, pel_build_module(&f->builder, owner->path), t.name, owner->input);
        pel_build_tensor_at(&f->builder, owner->path, name, tensor);
    } else if (name.len) {
        pel_build_tensor(&f->builder, name, tensor);
    }
}

/* SparseTensor: values, indices, dims; its parts are all that the file names. */
static void read_sparse(onnx_file *f, pel_proto message, pel_str prefix) {
    pel_proto_field field;
    pel_str name = { "", 0 };
    for (int part = 1; part <= 2; part++) {
        if (!pel_proto_find(f->ctx, message, (uint32_t)part, &field)) continue;
        tensor_fields t = { .n_dims = 0 };
        if (part == 1) { /* the values have the name of the whole */
            read_tensor_fields(f, pel_proto_of(&field), &t);
            name = t.name.len ? t.name : pel_format(f->ctx, "sparse_%llu", (unsigned long long)field.at);
        }
        pel_str whole = prefix.len ? pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(prefix), PEL_FMT(name)) : name;
        if (part == 1)
            read_tensor(f, pel_proto_of(&field), prefix, name, PEL_PARAMETER);
        else
            read_tensor(f, pel_proto_of(&field), pel_format(f->ctx, "%.*s.sparse", PEL_FMT(whole)), PEL_STR("indices"),
                        PEL_BUFFER);
    }
}

/* ---- values and operators ---- */

/* ValueInfo -> type -> tensor type -> shape -> dims, each a number or a symbol. */
static void read_value(onnx_file *f, const pel_proto_field *info) {
    pel_proto_field name, type, tensor, shape, dim;
    if (!pel_proto_find(f->ctx, pel_proto_of(info), 1, &name) ||
        !pel_proto_find(f->ctx, pel_proto_of(info), 2, &type) ||
        !pel_proto_find(f->ctx, pel_proto_of(&type), 1, &tensor) ||
        !pel_proto_find(f->ctx, pel_proto_of(&tensor), 2, &shape))
        return;
    pel_dim sizes[MAX_DIMS];
    uint32_t n = 0;
    pel_proto dims = pel_proto_of(&shape);
    while (pel_proto_next(f->ctx, &dims, &dim)) {
        if (dim.number != 1 || dim.wire != PEL_WIRE_BYTES || n == MAX_DIMS) continue;
        pel_proto_field value;
        pel_dim size = { .symbol = PEL_STR("?") };
        if (pel_proto_find(f->ctx, pel_proto_of(&dim), 1, &value))
            size = (pel_dim){ .size = (int64_t)value.value };
        else if (pel_proto_find(f->ctx, pel_proto_of(&dim), 2, &value) && value.bytes.len)
            size.symbol = value.bytes;
        sizes[n++] = size;
    }
    pel_shape *made = pel_new(f->ctx, pel_shape);
    *made = (pel_shape){ pel_new_array(f->ctx, n, pel_dim), n, true };
    memcpy(made->dims, sizes, n * sizeof *sizes);
    pel_map_set(f->ctx, &f->shapes, key_of(f, name.bytes), PEL_KEY(made));
}

/* Of a list, as many as people read. */
static void add_floats(onnx_file *f, const pel_proto_field *field, pel_node *list) {
    pel_str bytes = field->bytes;
    uint32_t bits = (uint32_t)field->value;
    bool is_one = field->wire == PEL_WIRE_32;
    for (size_t at = 0;
         (is_one ? !at : field->wire == PEL_WIRE_BYTES && at + 4 <= bytes.len) && list->List.elts.n < MAX_ARGUMENTS;
         at += 4) {
        float real;
        if (!is_one) bits = pel_le32(bytes.ptr + at);
        memcpy(&real, &bits, sizeof real);
        pel_nodes_push(f->ctx, &list->List.elts, pel_make_constant(f->ctx, pel_const_float(f->ctx, (double)real)));
    }
}

/* Protobuf allows any order of fields, so the name is found before the tensors and graphs that are called by it. Lists
 * of floats or texts, and long texts, are left out: arguments are shown to people. */
static void read_attribute(onnx_file *f, pel_module *module, pel_str path, pel_proto message) {
    pel_proto_field field;
    pel_str name = { "", 0 };
    pel_node *value = NULL, *list = NULL;
    uint64_t at, number;
    if (pel_proto_find(f->ctx, message, 1, &field)) name = field.bytes;
    pel_str inside = pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name));
    while (pel_proto_next(f->ctx, &message, &field)) {
        bool is_message = field.wire == PEL_WIRE_BYTES;
        if (is_message && (field.number == 5 || field.number == 10))
            read_tensor(f, pel_proto_of(&field), path, name, PEL_BUFFER);
        if (is_message && (field.number == 22 || field.number == 23)) read_sparse(f, pel_proto_of(&field), inside);
        if (is_message && (field.number == 6 || field.number == 11)) read_graph(f, pel_proto_of(&field), inside);
        if (field.number == 2 && field.wire == PEL_WIRE_32) {
            float real;
            uint32_t bits = (uint32_t)field.value;
            memcpy(&real, &bits, sizeof real);
            value = pel_make_constant(f->ctx, pel_const_float(f->ctx, (double)real));
        }
        if (field.number == 3) value = pel_make_int(f->ctx, (int64_t)field.value);
        if (field.number == 4 && field.bytes.len < 200) value = pel_make_text(f->ctx, field.bytes);
        if (field.number == 7) {
            if (!list) list = pel_node_new(f->ctx, PEL_List);
            add_floats(f, &field, list);
        }
        if (field.number == 8) {
            if (!list) list = pel_node_new(f->ctx, PEL_List);
            for (at = 0; list->List.elts.n < MAX_ARGUMENTS && pel_proto_packed(f->ctx, &field, &at, &number);)
                pel_nodes_push(f->ctx, &list->List.elts, pel_make_int(f->ctx, (int64_t)number));
        }
    }
    if (list) value = list;
    if (value && name.len && module->args.n < MAX_ARGUMENTS)
        pel_push(f->ctx, &module->args, (pel_model_argument){ name, value });
}

/* "/layer1/conv/Conv" becomes the module layer1.conv.Conv; a node without a name is called by its operator. */
static pel_str node_path(onnx_file *f, pel_str prefix, pel_str name, pel_str op) {
    while (name.len && name.ptr[0] == '/') name = pel_str_from(name, 1);
    if (!name.len) name = pel_format(f->ctx, "%.*s_%u", PEL_FMT(op), f->n_nodes);
    if (prefix.len) name = pel_format(f->ctx, "%.*s.%.*s", PEL_FMT(prefix), PEL_FMT(name));
    char *path = pel_alloc_raw(f->ctx, name.len);
    for (size_t i = 0; i < name.len; i++) path[i] = name.ptr[i] == '/' ? '.' : name.ptr[i];
    return (pel_str){ path, name.len };
}

static void add_flow(onnx_file *f, pel_str value, pel_str to) {
    uint64_t from;
    if (!pel_map_get(&f->makers, key_of(f, value), &from)) return;
    pel_flow flow = { .from = *(const pel_str *)(uintptr_t)from, .to = to };
    const pel_shape *shape = pel_map_pointer(&f->shapes, key_of(f, value));
    if (shape) flow.shape = *shape;
    pel_push(f->ctx, &f->builder.network->flow, flow);
}

static bool is_own_function(onnx_file *f, pel_str domain, pel_str op) {
    uint64_t number;
    pel_str name = pel_format(f->ctx, "%.*s %.*s", PEL_FMT(domain), PEL_FMT(op));
    if (!pel_map_get(&f->functions, key_of(f, name), &number)) return false;
    if (f->inside) pel_push(f->ctx, &f->calls, (call_edge){ f->inside, (uint32_t)number });
    return true;
}

static int by_callee(const void *a, const void *b) {
    const call_edge *x = a, *y = b;
    return (x->to > y->to) - (x->to < y->to);
}

/* Functions are put in the place of their calls: what calls itself never ends. Those that call nothing that is left are
 * taken away until none is; what is left then is a cycle, or leads to one. */
static void check_recursion(onnx_file *f) {
    uint32_t n = f->n_functions, n_done = 0, n_queued = 0;
    uint32_t *left = pel_new_array(f->ctx, n + 1, uint32_t), *start = pel_new_array(f->ctx, n + 2, uint32_t),
             *queue = pel_new_array(f->ctx, n + 1, uint32_t);
    if (f->calls.n) qsort(f->calls.at, f->calls.n, sizeof *f->calls.at, by_callee);
    for (uint32_t i = 0; i < f->calls.n; i++) left[f->calls.at[i].from]++, start[f->calls.at[i].to + 1]++;
    for (uint32_t k = 1; k <= n; k++) {
        start[k + 1] += start[k];
        if (!left[k]) queue[n_queued++] = k;
    }
    for (; n_done < n_queued; n_done++)
        for (uint32_t i = start[queue[n_done]]; i < start[queue[n_done] + 1]; i++)
            if (!--left[f->calls.at[i].from]) queue[n_queued++] = f->calls.at[i].from;
    if (n_done < n)
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "too-deep", (pel_str){ "", 0 }, 0,
                 PEL_STR("functions of the graph call themselves, or each other in a circle"));
}

static void judge_op(onnx_file *f, pel_str path, pel_str domain, pel_str op, uint64_t at) {
    pel_onnx_op kind = pel_judge_onnx_op(domain, op);
    if (is_own_function(f, domain, op) || kind == PEL_OP_COMPUTES) return;
    bool runs = kind == PEL_OP_RUNS;
    pel_find(f->ctx, &f->out->findings,
             runs                     ? PEL_DANGER
             : kind == PEL_OP_UNKNOWN ? PEL_SUSPECT
                                      : PEL_NOTE,
             runs ? "calls" : "operator", path, at,
             pel_format(f->ctx, "needs the operator %.*s of %.*s%s", PEL_FMT(op), PEL_FMT(domain),
                        runs                     ? ", which runs Python"
                        : kind == PEL_OP_UNKNOWN ? ": not one that is known to compute and nothing else"
                                                 : ""));
}

/* The operator that is the first to read a weight has it; the others say which it is. A function sees no weights. */
static void note_weight(onnx_file *f, pel_str value, pel_str graph, pel_node **list, whose_weight reader) {
    whose_weight *weight = f->inside ? NULL : weight_of(f, value, graph);
    if (!weight) return;
    if (!weight->path.len) {
        *weight = reader;
        return;
    }
    if (!*list) *list = pel_node_new(f->ctx, PEL_List);
    if ((*list)->List.elts.n < MAX_ARGUMENTS) pel_nodes_push(f->ctx, &(*list)->List.elts, pel_make_text(f->ctx, value));
}

/* Protobuf allows any order of fields, so the first pass finds the name that the second one needs. ONNX wants nodes
 * sorted: the makers of all inputs have been read. An empty name is an input that was left out. */
static void read_node(onnx_file *f, pel_proto message, pel_str prefix) {
    pel_proto_field field;
    pel_proto again = message;
    pel_str name = { "", 0 }, op = { "", 0 }, domain = { "", 0 };
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 3) name = field.bytes;
        if (field.number == 4) op = field.bytes;
        if (field.number == 7) domain = field.bytes;
    }
    if (++f->n_nodes > MAX_NODES) pel_throw(f->ctx, PEL_E_TOO_BIG, message.base, "ONNX: more than %d nodes", MAX_NODES);
    pel_str path = node_path(f, prefix, name, op);
    pel_module *module = pel_build_module(&f->builder, path);
    module->class = op;
    judge_op(f, path, domain, op, message.base);
    pel_str *kept_path = kept(f, path);
    pel_node *weights = NULL;
    uint32_t input = 0;
    while (pel_proto_next(f->ctx, &again, &field)) {
        if (field.number == 1 && field.bytes.len) {
            add_flow(f, field.bytes, path);
            note_weight(f, field.bytes, prefix, &weights, (whose_weight){ path, input });
        }
        input += field.number == 1;
        if (field.number == 2 && field.bytes.len) {
            uint64_t key = key_of(f, field.bytes);
            pel_map_set(f->ctx, &f->makers, key, PEL_KEY(kept_path));
            const pel_shape *shape = pel_map_pointer(&f->shapes, key);
            if (shape && !module->output.is_known) module->output = *shape;
        }
        if (field.number == 5 && field.wire == PEL_WIRE_BYTES) read_attribute(f, module, path, pel_proto_of(&field));
    }
    if (weights && module->args.n < MAX_ARGUMENTS)
        pel_push(f->ctx, &module->args, (pel_model_argument){ PEL_STR("weights"), weights });
}

/* The parts of a graph, pass by pass: values, then what they flow through, then the tensors, then the results. */
static void read_part(onnx_file *f, const pel_proto_field *field, pel_str path, int pass, pel_str *input) {
    pel_proto_field name;
    if (pass == 0 && (field->number == 11 || field->number == 12 || field->number == 13)) {
        read_value(f, field);
        if (field->number == 11 && pel_proto_find(f->ctx, pel_proto_of(field), 1, &name))
            pel_map_set(f->ctx, &f->makers, key_of(f, name.bytes), PEL_KEY(input));
    }
    bool is_sparse = field->number == 15;
    pel_proto_field values;
    if (pass == 0 && (field->number == 5 || (is_sparse && pel_proto_find(f->ctx, pel_proto_of(field), 1, &values))) &&
        pel_proto_find(f->ctx, pel_proto_of(is_sparse ? &values : field), 8, &name)) {
        pel_str key = pel_format(f->ctx, "%.*s\n%.*s", PEL_FMT(path), PEL_FMT(name.bytes));
        pel_map_set(f->ctx, &f->weights, key_of(f, key), PEL_KEY(pel_new(f->ctx, whose_weight)));
    }
    if (pass == 1 && field->number == 1) read_node(f, pel_proto_of(field), path);
    if (pass == 2 && field->number == 5) read_tensor(f, pel_proto_of(field), path, (pel_str){ "", 0 }, PEL_PARAMETER);
    if (pass == 2 && is_sparse) read_sparse(f, pel_proto_of(field), path);
    if (pass == 3 && field->number == 12 && pel_proto_find(f->ctx, pel_proto_of(field), 1, &name))
        add_flow(f, name.bytes, path.len ? path : PEL_STR("output"));
}

/* path: of the operator and attribute that has it, for branches and bodies of loops. */
static void read_graph(onnx_file *f, pel_proto graph, pel_str path) {
    pel_proto_field field;
    if (f->depth >= MAX_DEPTH) {
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "too-deep", path, graph.base,
                 pel_format(f->ctx, "graphs nest deeper than %d: those below are not read", MAX_DEPTH));
        return;
    }
    f->depth++;
    pel_str *input = kept(f, path.len ? path : PEL_STR("input"));
    for (int pass = 0; pass < 4; pass++) {
        pel_proto message = graph;
        while (pel_proto_next(f->ctx, &message, &field))
            if (field.wire == PEL_WIRE_BYTES) read_part(f, &field, path, pass, input);
    }
    f->depth--;
}

/* Function: name, inputs, outputs, attributes with defaults, nodes, domain. */
static void read_function(onnx_file *f, pel_proto message, bool is_named_only) {
    pel_proto_field field;
    pel_proto again = message;
    pel_str name = { "", 0 }, domain = { "", 0 };
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 1) name = field.bytes;
        if (field.number == 10) domain = field.bytes;
    }
    if (is_named_only) {
        pel_str key = pel_format(f->ctx, "%.*s %.*s", PEL_FMT(domain), PEL_FMT(name));
        if (f->n_functions == MAX_FUNCTIONS)
            pel_throw(f->ctx, PEL_E_TOO_BIG, message.base, "ONNX: more than %d functions", MAX_FUNCTIONS);
        if (pel_map_has(&f->functions, key_of(f, key)))
            pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "duplicate-name", name, message.base,
                     PEL_STR("two functions of one name: which of them is called depends on the reader"));
        else
            pel_map_set(f->ctx, &f->functions, key_of(f, key), ++f->n_functions);
        return;
    }
    pel_str key = pel_format(f->ctx, "%.*s %.*s", PEL_FMT(domain), PEL_FMT(name));
    f->inside = (uint32_t)pel_map_find(&f->functions, key_of(f, key), 0);
    pel_str path = pel_format(f->ctx, "function %.*s", PEL_FMT(name));
    pel_module *module = pel_build_module(&f->builder, path);
    module->class = name;
    while (pel_proto_next(f->ctx, &again, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 7) read_node(f, pel_proto_of(&field), path);
        if (field.number == 11) read_attribute(f, module, path, pel_proto_of(&field));
    }
    f->inside = 0;
}

static void read_model(onnx_file *f, pel_str bytes) {
    pel_proto_field field, part;
    for (int pass = 0; pass < 2; pass++) {
        pel_proto model = { .bytes = bytes };
        while (pel_proto_next(f->ctx, &model, &field)) {
            if (field.wire != PEL_WIRE_BYTES) continue;
            if (field.number == 25) read_function(f, pel_proto_of(&field), pass == 0);
            if (pass == 0) continue;
            if (field.number == 7 && pel_proto_find(f->ctx, pel_proto_of(&field), 2, &part))
                f->builder.network->root->class = part.bytes;
            if (field.number == 7) read_graph(f, pel_proto_of(&field), (pel_str){ "", 0 });
            for (uint32_t graph = 1; field.number == 20 && graph <= 2; graph++) /* how it was trained */
                if (pel_proto_find(f->ctx, pel_proto_of(&field), graph, &part))
                    read_graph(f, pel_proto_of(&part), graph == 1 ? PEL_STR("initialization") : PEL_STR("training"));
        }
    }
    check_recursion(f);
}

pel_str pel_onnx_dtype(pel_ctx *ctx, uint64_t number) { return dtype_of(ctx, number); }

pel_model_tensor pel_onnx_tensor(pel_ctx *ctx, pel_loaded *out, pel_proto message, pel_str *name) {
    pel_loaded spare = { .file = out->file, .input = out->input };
    onnx_file f = { .ctx = ctx, .out = &spare, .builder = pel_build(ctx, &spare, PEL_STR("tensor"), '.') };
    tensor_fields t = { .name = { "", 0 } };
    read_tensor_fields(&f, message, &t);
    *name = t.name;
    pel_model_tensor tensor = tensor_of(&f, &t, t.name, message.base);
    tensor.name = t.name;
    return tensor;
}

void pel_load_onnx(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("ONNX");
    onnx_file f = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '.') };
    read_model(&f, bytes);
}

/* ---- the numbers beside a model ---- */

typedef struct beside_job {
    onnx_file f;
    pel_loaded model;
    pel_str name; /* of the model */
    bool is_there;
} beside_job;

static void beside_body(pel_ctx *ctx, void *arg) {
    beside_job *job = arg;
    pel_input input;
    if (!pel_open_beside(ctx, &job->model, job->name, &input)) return;
    job->f = (onnx_file){ .ctx = ctx, .out = &job->model, .builder = pel_build(ctx, &job->model, job->name, '.') };
    read_model(&job->f, pel_input_whole(ctx, &input));
    job->is_there = true;
}

/* The model whose numbers a file may have, by its name: model.onnx_data and model.onnx.data are of model.onnx. */
static pel_str model_of(pel_ctx *ctx, pel_str data) {
    static const char *const endings[] = { "_data", ".data" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++) {
        if (!pel_str_ends(data, pel_str_of(endings[i]))) continue;
        pel_str stem = pel_str_cut(data, 0, data.len - strlen(endings[i]));
        return pel_str_ends(stem, PEL_STR(".onnx")) ? stem : pel_format(ctx, "%.*s.onnx", PEL_FMT(stem));
    }
    return (pel_str){ "", 0 };
}

bool pel_is_onnx_data(pel_ctx *ctx, const pel_loaded *out, pel_str name) {
    size_t start = name.len;
    pel_err ignored;
    while (start && name.ptr[start - 1] != '/' && name.ptr[start - 1] != '\\') start--;
    pel_str base = pel_str_from(name, start);
    beside_job job = { .model = { .file = out->file, .input = out->input }, .name = model_of(ctx, base) };
    if (!job.name.len || !pel_attempt(ctx, beside_body, &job, &ignored) || !job.is_there) return false;
    return pel_map_has(&job.f.files, key_of(&job.f, base));
}

void pel_load_onnx_data(pel_ctx *ctx, pel_loaded *out, pel_str name) {
    out->format = PEL_STR("ONNX data");
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    pel_build_unknown(&builder, PEL_STR("tensors"), PEL_STR("the model beside it lists them"));
}
