/* Flax: dicts of arrays as MessagePack. An array is an extension: its shape, the name of its dtype, its bytes. */
#include "io/msgpack.h"
#include "load/load.h"

#define MAX_DEPTH 60
#define MAX_DIMS 64
#define MAX_VALUES 4000000 /* of a file: those are arrays of numbers, not of tensors */

enum { EXT_ARRAY = 1, EXT_COMPLEX = 2, EXT_SCALAR = 3 };

typedef struct flax_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_input input;
    pel_tree_builder builder;
    uint64_t n_values;
} flax_file;

/* [shape, dtype, bytes], packed once more. */
static void add_array(flax_file *f, pel_str path, const pel_msgpack_value *ext) {
    pel_msgpack inner = { .bytes = ext->bytes, .base = (uint64_t)(ext->bytes.ptr - f->input.near) };
    int64_t dims[MAX_DIMS];
    pel_msgpack_value head = pel_msgpack_next(f->ctx, &inner);
    if (head.kind != PEL_MSGPACK_ARRAY || head.n != 3)
        pel_throw(f->ctx, PEL_E_FORMAT, head.at, "Flax: an array of %.*s is no list of three", PEL_FMT(path));
    pel_msgpack_value shape = pel_msgpack_next(f->ctx, &inner);
    if (shape.kind != PEL_MSGPACK_ARRAY || shape.n > MAX_DIMS)
        pel_throw(f->ctx, PEL_E_FORMAT, shape.at, "Flax: the shape of %.*s is no list", PEL_FMT(path));
    uint64_t count = 1, size;
    for (uint32_t i = 0; i < shape.n; i++) {
        pel_msgpack_value dim = pel_msgpack_next(f->ctx, &inner);
        if (dim.kind != PEL_MSGPACK_INT || dim.integer < 0 ||
            __builtin_mul_overflow(count, (uint64_t)dim.integer, &count))
            pel_throw(f->ctx, PEL_E_FORMAT, dim.at, "Flax: the shape of %.*s is wrong", PEL_FMT(path));
        dims[i] = dim.integer;
    }
    pel_msgpack_value dtype = pel_msgpack_next(f->ctx, &inner), data = pel_msgpack_next(f->ctx, &inner);
    if (dtype.kind != PEL_MSGPACK_TEXT || data.kind != PEL_MSGPACK_BYTES)
        pel_throw(f->ctx, PEL_E_FORMAT, dtype.at, "Flax: an array without dtype or bytes: %.*s", PEL_FMT(path));
    pel_model_tensor tensor = { .dtype = dtype.bytes, .shape = pel_shape_of(f->ctx, dims, (uint32_t)shape.n) };
    uint64_t width = pel_dtype_size(dtype.bytes), at = (uint64_t)(data.bytes.ptr - f->input.near);
    bool fits = width && !__builtin_mul_overflow(count, width, &size) && size == data.bytes.len;
    if (fits)
        pel_build_place(f->ctx, &tensor, &f->input, (pel_str){ "", 0 }, at, data.bytes.len);
    else if (width)
        pel_find(f->ctx, &f->out->findings, PEL_SUSPECT, "outside", path, at,
                 PEL_STR("the bytes of the tensor do not fit its shape"));
    pel_build_tensor(&f->builder, path, tensor);
}

/* Other libraries keep pickles among the bytes. */
static void look_at_bytes(flax_file *f, pel_str path, pel_str bytes) {
    if (!pel_is_pickle(bytes)) return;
    uint64_t at = (uint64_t)(bytes.ptr - f->input.near);
    pel_pickle *pickle = pel_pickle_read(f->ctx, bytes, at, path, &f->out->findings);
    if (!pickle->calls.n && !pickle->globals.n) return;
    pel_push(f->ctx, &f->out->pickles, (pel_loaded_pickle){ pickle, path, false });
}

static void read_value(flax_file *f, pel_msgpack *from, pel_str path, int depth);

static void read_map(flax_file *f, pel_msgpack *from, uint64_t n, pel_str path, int depth) {
    for (uint64_t i = 0; i < n; i++) {
        pel_msgpack_value key = pel_msgpack_next(f->ctx, from);
        if (key.kind != PEL_MSGPACK_TEXT && key.kind != PEL_MSGPACK_INT && key.kind != PEL_MSGPACK_BYTES)
            pel_throw(f->ctx, PEL_E_FORMAT, key.at, "MessagePack: a key that is neither a text nor a number");
        pel_str name = key.kind == PEL_MSGPACK_INT ? pel_format(f->ctx, "%lld", (long long)key.integer) : key.bytes;
        if (pel_str_is(name, "__msgpack_chunked_array__"))
            pel_push(f->ctx, &f->builder.network->unknown,
                     (pel_unknown){ .what = path,
                                    .why = PEL_STR("an array in pieces: they are listed, it is not put together"),
                                    .is_lost = true });
        read_value(f, from, pel_full_name(f->ctx, f->builder.network, path, name), depth + 1);
    }
}

/* Bytes of any kind may hold a pickle, so even extensions that are understood are looked into. The limit on values
 * bounds the time, since a value may take a single byte. */
static void read_value(flax_file *f, pel_msgpack *from, pel_str path, int depth) {
    if (depth > MAX_DEPTH)
        pel_throw(f->ctx, PEL_E_TOO_DEEP, from->at, "MessagePack: values nest deeper than %d", MAX_DEPTH);
    if (++f->n_values > MAX_VALUES)
        pel_throw(f->ctx, PEL_E_TOO_BIG, from->at, "MessagePack: more than %d values", MAX_VALUES);
    pel_msgpack_value value = pel_msgpack_next(f->ctx, from);
    switch (value.kind) {
    case PEL_MSGPACK_MAP: read_map(f, from, value.n, path, depth); break;
    case PEL_MSGPACK_ARRAY:
        for (uint64_t i = 0; i < value.n; i++)
            read_value(
                f, from,
                pel_full_name(f->ctx, f->builder.network, path, pel_format(f->ctx, "%llu", (unsigned long long)i)),
                depth + 1);
        break;
    case PEL_MSGPACK_EXT:
        if (value.type == EXT_ARRAY || value.type == EXT_SCALAR)
            add_array(f, path, &value);
        else if (value.type == EXT_COMPLEX)
            pel_build_value(&f->builder, path, PEL_STR("a complex number"));
        else
            pel_find(f->ctx, &f->out->findings, PEL_UNREAD, "extension", path, value.at,
                     pel_format(f->ctx, "an extension of type %d, which only its own reader knows", value.type));
        look_at_bytes(f, path, value.bytes);
        break;
    case PEL_MSGPACK_BYTES: look_at_bytes(f, path, value.bytes); break;
    case PEL_MSGPACK_TEXT: pel_build_value(&f->builder, path, pel_str_cut(value.bytes, 0, 200)); break;
    case PEL_MSGPACK_INT:
        pel_build_value(&f->builder, path, pel_format(f->ctx, "%lld", (long long)value.integer));
        break;
    case PEL_MSGPACK_REAL: pel_build_value(&f->builder, path, pel_format(f->ctx, "%g", value.real)); break;
    case PEL_MSGPACK_BOOL: pel_build_value(&f->builder, path, pel_str_of(value.integer ? "True" : "False")); break;
    case PEL_MSGPACK_NIL: break;
    }
}

void pel_load_flax(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("Flax MessagePack");
    flax_file f = { .ctx = ctx, .out = out, .input = pel_input_of(bytes), .builder = pel_build(ctx, out, name, '/') };
    pel_msgpack from = { .bytes = bytes };
    read_value(&f, &from, (pel_str){ "", 0 }, 0);
    if (from.at < bytes.len)
        pel_find(ctx, &out->findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, from.at,
                 PEL_STR("bytes after the end of the value"));
}
