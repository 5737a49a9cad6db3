/* ONNX: a graph of operators, whose initializers are the tensors. */
#include "io/protobuf.h"
#include "load/load.h"

#define MAX_DIMS 64
#define MAX_NODES 1000000
#define MAX_ARGUMENTS 64

typedef struct onnx_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_map makers; /* interned name of a value -> pel_str *, full name of the module that makes it */
    pel_map shapes; /* interned name of a value -> pel_shape * */
    pel_map files;  /* interned name of a file beside -> pel_str *, its bytes; 0: there is none */
    uint32_t n_nodes;
} onnx_file;

static uint64_t key_of(onnx_file *f, pel_str name) { return PEL_KEY(pel_intern_str(f->ctx, name)); }

static pel_str *kept(onnx_file *f, pel_str s) {
    pel_str *copy = pel_new(f->ctx, pel_str);
    *copy = s;
    return copy;
}

static pel_str dtype_of(uint64_t number) {
    static const char *const names[] = {
        "",          "float32",    "uint8",    "int8",          "uint16",          "int16",       "int32",
        "int64",     "string",     "bool",     "float16",       "float64",         "uint32",      "uint64",
        "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "uint4",     "int4",       "float4"
    };
    return pel_str_of(number < PEL_COUNT(names) ? names[number] : "");
}

/* ---- tensors ---- */

/* A name that stays in the folder of the model. */
static bool is_safe_path(pel_str path) {
    if (!path.len || path.ptr[0] == '/' || memchr(path.ptr, '\\', path.len) || memchr(path.ptr, ':', path.len) ||
        memchr(path.ptr, 0, path.len))
        return false;
    for (size_t start = 0; start < path.len;) {
        size_t end = start;
        while (end < path.len && path.ptr[end] != '/') end++;
        if (pel_str_is(pel_str_cut(path, start, end), "..")) return false;
        start = end + 1;
    }
    return true;
}

static uint64_t decimal(pel_str text) {
    uint64_t value = 0;
    for (size_t i = 0; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && value < UINT64_MAX / 10 - 9; i++)
        value = value * 10 + (uint64_t)(text.ptr[i] - '0');
    return value;
}

static void place_outside(onnx_file *f, pel_model_tensor *tensor, pel_str name, pel_str location, uint64_t offset,
                          uint64_t size) {
    if (!is_safe_path(location)) {
        pel_find(
            f->ctx, &f->out->findings, PEL_DANGER, "path", name, 0,
            pel_format(f->ctx, "its data is read from %.*s, which leads out of the model's folder", PEL_FMT(location)));
        return;
    }
    uint64_t known, key = key_of(f, location);
    if (!pel_map_get(&f->files, key, &known)) {
        pel_text bytes = { "", 0 };
        const pel_model_file *file = f->out->file;
        bool is_there = file->beside && file->beside(file->arg, (pel_text){ location.ptr, location.len }, &bytes);
        known = is_there ? PEL_KEY(kept(f, (pel_str){ bytes.ptr, bytes.len })) : 0;
        pel_map_set(f->ctx, &f->files, key, known);
    }
    tensor->place.file = location;
    if (known && !pel_build_place(f->ctx, tensor, *(const pel_str *)(uintptr_t)known, location, offset, size))
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, offset,
                 PEL_STR("its data lies outside of the file beside"));
}

static void read_tensor(onnx_file *f, pel_proto message, pel_str fallback_name) {
    pel_proto_field field;
    pel_str name = fallback_name, location = { "", 0 };
    int64_t dims[MAX_DIMS];
    uint32_t n_dims = 0;
    uint64_t type = 0, at, value, offset = 0, length = 0, count;
    pel_str raw = { NULL, 0 };
    uint64_t raw_at = 0;
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 1) {
            for (at = 0; pel_proto_packed(f->ctx, &field, &at, &value);) {
                if (n_dims == MAX_DIMS)
                    pel_throw(f->ctx, PEL_E_TOO_BIG, field.at, "ONNX: more than %d dimensions", MAX_DIMS);
                dims[n_dims++] = (int64_t)value;
            }
        }
        if (field.number == 2) type = field.value;
        if (field.number == 8) name = field.bytes;
        if (field.wire == PEL_WIRE_BYTES && (field.number == 9 || field.number == 4 || field.number == 10))
            raw = field.bytes, raw_at = field.at; /* raw, or packed floats, which look the same */
        if (field.number == 13) {
            pel_proto_field key, text;
            if (!pel_proto_find(f->ctx, pel_proto_of(&field), 1, &key) ||
                !pel_proto_find(f->ctx, pel_proto_of(&field), 2, &text))
                continue;
            if (pel_str_is(key.bytes, "location")) location = text.bytes;
            if (pel_str_is(key.bytes, "offset")) offset = decimal(text.bytes);
            if (pel_str_is(key.bytes, "length")) length = decimal(text.bytes);
        }
    }
    if (!name.len) return;
    pel_model_tensor tensor = { .dtype = dtype_of(type), .shape = pel_shape_of(f->ctx, dims, n_dims) };
    uint64_t size, width = pel_dtype_size(tensor.dtype);
    bool has_size = pel_shape_count(&tensor.shape, &count) && width && !__builtin_mul_overflow(count, width, &size);
    if (location.len && has_size)
        place_outside(f, &tensor, name, location, offset, length ? length : size);
    else if (raw.ptr && has_size && raw.len == size) {
        pel_stored *stored = pel_new(f->ctx, pel_stored);
        stored->bytes = raw;
        tensor.stored = stored;
        tensor.place = (pel_place){ .offset = raw_at, .size = size };
    } else if (raw.ptr && has_size && raw.len != size)
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", name, raw_at,
                 PEL_STR("the bytes of the tensor do not fit its shape"));
    pel_build_tensor(&f->builder, name, tensor);
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

static void read_attribute(onnx_file *f, pel_module *module, pel_proto message) {
    pel_proto_field field;
    pel_str name = { "", 0 };
    pel_node *value = NULL, *list = NULL;
    uint64_t at, number;
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 1) name = field.bytes;
        if (field.number == 2 && field.wire == PEL_WIRE_32) {
            float real;
            uint32_t bits = (uint32_t)field.value;
            memcpy(&real, &bits, sizeof real);
            value = pel_make_constant(f->ctx, pel_const_float(f->ctx, (double)real));
        }
        if (field.number == 3) value = pel_make_int(f->ctx, (int64_t)field.value);
        if (field.number == 4 && field.bytes.len < 200) value = pel_make_text(f->ctx, field.bytes);
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
static pel_str node_path(onnx_file *f, pel_str name, pel_str op) {
    while (name.len && name.ptr[0] == '/') name = pel_str_from(name, 1);
    if (!name.len) return pel_format(f->ctx, "%.*s_%u", PEL_FMT(op), f->n_nodes);
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

static void read_node(onnx_file *f, pel_proto message) {
    pel_proto_field field;
    pel_proto again = message;
    pel_str name = { "", 0 }, op = { "", 0 }, domain = { "", 0 };
    while (pel_proto_next(f->ctx, &message, &field)) {
        if (field.number == 3) name = field.bytes;
        if (field.number == 4) op = field.bytes;
        if (field.number == 7) domain = field.bytes;
    }
    if (++f->n_nodes > MAX_NODES) pel_throw(f->ctx, PEL_E_TOO_BIG, message.base, "ONNX: more than %d nodes", MAX_NODES);
    pel_str path = node_path(f, name, op);
    pel_module *module = pel_build_module(&f->builder, path);
    module->class = op;
    if (domain.len && !pel_str_is(domain, "ai.onnx") && !pel_str_is(domain, "ai.onnx.ml")) {
        bool is_python = pel_str_starts(op, PEL_STR("PyOp")) || pel_str_starts(op, PEL_STR("PythonOp"));
        pel_find(f->ctx, &f->out->findings, is_python ? PEL_DANGER : PEL_NOTE, is_python ? "calls" : "operator", path,
                 message.base, pel_format(f->ctx, "needs the operator %.*s of %.*s", PEL_FMT(op), PEL_FMT(domain)));
    }
    pel_str *kept_path = kept(f, path);
    while (pel_proto_next(f->ctx, &again, &field)) {
        if (field.number == 1 && field.bytes.len) add_flow(f, field.bytes, path);
        if (field.number == 2 && field.bytes.len) {
            uint64_t key = key_of(f, field.bytes);
            pel_map_set(f->ctx, &f->makers, key, PEL_KEY(kept_path));
            const pel_shape *shape = pel_map_pointer(&f->shapes, key);
            if (shape && !module->output.is_known) module->output = *shape;
        }
        if (field.number == 5) read_attribute(f, module, pel_proto_of(&field));
    }
}

static void read_graph(onnx_file *f, pel_proto graph) {
    pel_proto_field field;
    pel_str *input = kept(f, PEL_STR("input"));
    for (int pass = 0; pass < 3; pass++) { /* values, then what they flow through, then the results */
        pel_proto message = graph;
        while (pel_proto_next(f->ctx, &message, &field)) {
            if (field.wire != PEL_WIRE_BYTES) continue;
            if (pass == 0 && (field.number == 11 || field.number == 12 || field.number == 13)) {
                pel_proto_field name;
                read_value(f, &field);
                if (field.number == 11 && pel_proto_find(f->ctx, pel_proto_of(&field), 1, &name))
                    pel_map_set(f->ctx, &f->makers, key_of(f, name.bytes), PEL_KEY(input));
            }
            if (pass == 1 && field.number == 1) read_node(f, pel_proto_of(&field));
            if (pass == 1 && field.number == 5) read_tensor(f, pel_proto_of(&field), (pel_str){ "", 0 });
            pel_proto_field name;
            if (pass == 2 && field.number == 12 && pel_proto_find(f->ctx, pel_proto_of(&field), 1, &name))
                add_flow(f, name.bytes, PEL_STR("output"));
        }
    }
}

void pel_load_onnx(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("ONNX");
    onnx_file f = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '.') };
    pel_proto model = { .bytes = bytes };
    pel_proto_field field, graph_name;
    while (pel_proto_next(ctx, &model, &field)) {
        if (field.number != 7 || field.wire != PEL_WIRE_BYTES) continue;
        if (pel_proto_find(ctx, pel_proto_of(&field), 2, &graph_name))
            f.builder.network->root->class = graph_name.bytes;
        read_graph(&f, pel_proto_of(&field));
    }
}
