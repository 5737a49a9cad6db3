#include "load/content.h"

#include "base/json.h"

#include <stdlib.h>

#define FAR_CHUNK ((size_t)4 << 20)
#define CHUNK ((size_t)64 << 10) /* bytes of scattered elements that are gathered before they are written */

typedef struct found_tensor {
    pel_str name;
    const pel_model_tensor *tensor;
    uint64_t size;
    unsigned width;
    uint32_t order; /* in the file */
} found_tensor;

typedef struct collection {
    pel_ctx *ctx;
    const pel_network *network;
    pel_str prefix;
    bool with_constants;
    size_t n_left;
    PEL_VEC(found_tensor) list;
} collection;

static void collect(void *arg, const pel_module *module, pel_str path) {
    collection *c = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        pel_str name = pel_tensor_name(c->ctx, c->network, path, tensor);
        if (!pel_str_starts(name, c->prefix)) continue;
        if (tensor->role == PEL_VOLATILE_BUFFER && !c->with_constants) {
            c->n_left++;
            continue;
        }
        pel_push(c->ctx, &c->list,
                 (found_tensor){ .name = pel_str_from(name, c->prefix.len), .tensor = tensor, .order = c->list.n });
    }
}

static void collect_all(collection *c, const pel_loaded *loaded) {
    for (uint32_t i = 0; i < loaded->networks.n; i++) {
        c->network = loaded->networks.at[i];
        pel_each_module(c->ctx, c->network, collect, c);
    }
}

/* A file without one of the tensors must not pass for all of them. */
static void refuse_lost(const collection *c, const pel_loaded *loaded) {
    for (uint32_t i = 0; i < loaded->networks.n; i++) {
        const pel_network *network = loaded->networks.at[i];
        for (uint32_t k = 0; k < network->unknown.n; k++) {
            const pel_unknown *row = &network->unknown.at[k];
            bool is_here = pel_str_starts(row->what, c->prefix) || pel_str_is(row->what, PEL_SOMEWHERE);
            if (row->is_lost && !row->in_parts && is_here)
                pel_throw(c->ctx, PEL_E_UNSUPPORTED, row->place.offset, "%.*s: %.*s", PEL_FMT(row->what),
                          PEL_FMT(row->why));
        }
    }
}

/* Elements times width, after which its bytes are known to be there. */
static void measure(pel_ctx *ctx, found_tensor *row) {
    const pel_model_tensor *tensor = row->tensor;
    uint64_t count;
    row->width = pel_dtype_size(tensor->dtype);
    if (!row->width || !pel_shape_count(&tensor->shape, &count) ||
        __builtin_mul_overflow(count, (uint64_t)row->width, &row->size))
        pel_throw(ctx, PEL_E_UNSUPPORTED, tensor->place.offset, "%.*s is of dtype %.*s, whose bytes mean nothing here",
                  PEL_FMT(row->name), PEL_FMT(tensor->dtype));
    if (!tensor->stored && row->size)
        pel_throw(ctx, PEL_E_UNSUPPORTED, tensor->place.offset,
                  "the bytes of %.*s are not in the file, or packed in a way that is not read", PEL_FMT(row->name));
}

/* ---- writing ---- */

static void write_bytes(pel_ctx *ctx, const pel_writer *writer, const char *bytes, size_t size) {
    if (size && !writer->write(writer->arg, (pel_text){ bytes, size }))
        pel_throw(ctx, PEL_E_READ, 0, "the output can't be written");
}

_Noreturn static void fail_short(pel_ctx *ctx, const found_tensor *row) {
    pel_throw(ctx, PEL_E_FORMAT, row->tensor->place.offset, "%.*s has fewer bytes than its shape needs",
              PEL_FMT(row->name));
}

/* The elements of a view in the order of its indices. */
static void write_scattered(pel_ctx *ctx, const found_tensor *row, pel_str bytes, const pel_writer *writer) {
    const pel_shape *shape = &row->tensor->shape;
    const int64_t *strides = row->tensor->stored->strides;
    uint64_t count = row->size / row->width, offset = 0;
    int64_t *index = pel_new_array(ctx, shape->n, int64_t);
    char *chunk = pel_alloc_raw(ctx, CHUNK);
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        if ((offset + 1) * row->width > bytes.len) pel_throw(ctx, PEL_E_FORMAT, 0, "a view leaves its storage");
        memcpy(chunk + used, bytes.ptr + offset * row->width, row->width);
        used += row->width;
        if (used + row->width > CHUNK) {
            write_bytes(ctx, writer, chunk, used);
            used = 0;
        }
        for (uint32_t d = shape->n; d-- > 0;) { /* the next index, like an odometer */
            offset += (uint64_t)strides[d];
            if (++index[d] < shape->dims[d].size) break;
            offset -= (uint64_t)index[d] * (uint64_t)strides[d];
            index[d] = 0;
        }
    }
    write_bytes(ctx, writer, chunk, used);
}

/* Piece by piece: the tensor may be larger than the memory. */
static void write_far(pel_ctx *ctx, const found_tensor *row, const pel_writer *writer) {
    const pel_input *far = row->tensor->stored->far;
    if (far->size < row->size) fail_short(ctx, row);
    size_t most = row->size < FAR_CHUNK ? (size_t)row->size : FAR_CHUNK;
    char *chunk = pel_alloc_raw(ctx, most);
    for (uint64_t at = 0; at < row->size;) {
        size_t size = row->size - at < most ? (size_t)(row->size - at) : most;
        pel_input_copy(ctx, far, at, chunk, size);
        write_bytes(ctx, writer, chunk, size);
        at += size;
    }
}

static void write_tensor(pel_ctx *ctx, const found_tensor *row, const pel_writer *writer) {
    const pel_stored *stored = row->tensor->stored;
    if (!row->size) return;
    if (stored->stream) {
        if (!stored->stream(ctx, stored, writer->write, writer->arg))
            pel_throw(ctx, PEL_E_READ, 0, "the output can't be written");
        return;
    }
    if (stored->far && !stored->strides) {
        write_far(ctx, row, writer);
        return;
    }
    pel_str bytes = stored->unpack ? stored->unpack(ctx, stored)
                    : stored->far  ? pel_input_whole(ctx, stored->far)
                                   : stored->bytes;
    if (stored->strides) {
        write_scattered(ctx, row, bytes, writer);
        return;
    }
    if (bytes.len < row->size) fail_short(ctx, row);
    write_bytes(ctx, writer, bytes.ptr, (size_t)row->size);
}

/* ---- in memory ---- */

typedef struct filling {
    char *at;
    size_t n, size;
} filling;

static bool fill(void *arg, pel_text bytes) {
    filling *f = arg;
    if (bytes.len > f->size - f->n) return false;
    memcpy(f->at + f->n, bytes.ptr, bytes.len);
    f->n += bytes.len;
    return true;
}

typedef struct reading {
    const found_tensor *row;
    pel_str bytes;
} reading;

static void read_body(pel_ctx *ctx, void *arg) {
    reading *r = arg;
    const pel_stored *stored = r->row->tensor->stored;
    if (!stored->strides) {
        r->bytes = stored->unpack ? stored->unpack(ctx, stored)
                   : stored->far  ? pel_input_whole(ctx, stored->far)
                                  : stored->bytes;
        if (r->bytes.len < r->row->size) fail_short(ctx, r->row);
        r->bytes.len = (size_t)r->row->size;
        return;
    }
    filling f = { .at = pel_alloc_raw(ctx, r->row->size + 1), .size = (size_t)r->row->size };
    write_tensor(ctx, r->row, &(pel_writer){ fill, &f });
    r->bytes = (pel_str){ f.at, f.n };
}

bool pel_tensor_bytes(pel_ctx *ctx, void *most, const pel_model_tensor *tensor, pel_str *bytes) {
    found_tensor row = { .name = tensor->name, .tensor = tensor, .width = pel_dtype_size(tensor->dtype) };
    uint64_t count;
    pel_err ignored;
    if (!tensor->stored || !row.width || !pel_shape_count(&tensor->shape, &count) ||
        __builtin_mul_overflow(count, (uint64_t)row.width, &row.size))
        return false;
    bool is_made = tensor->stored->strides || tensor->stored->unpack || tensor->stored->far;
    if (is_made && row.size > *(const uint64_t *)most) return false;
    reading r = { .row = &row };
    if (!pel_attempt(ctx, read_body, &r, &ignored)) return false;
    *bytes = r.bytes;
    return true;
}

/* ---- npy ---- */

static const struct {
    const char *dtype, *type;
} npy_types[] = {
    { "float32", "<f4" },     { "float64", "<f8" },     { "float16", "<f2" },  { "int64", "<i8" },
    { "int32", "<i4" },       { "int16", "<i2" },       { "int8", "|i1" },     { "uint8", "|u1" },
    { "uint16", "<u2" },      { "uint32", "<u4" },      { "uint64", "<u8" },   { "bool", "|b1" },
    { "complex64", "<c8" },   { "complex128", "<c16" }, { "bfloat16", "<V2" }, { "float8_e4m3fn", "|V1" },
    { "float8_e5m2", "|V1" }, /* as numpy writes ml_dtypes' */
};

static const char *npy_type(pel_str dtype) {
    for (size_t i = 0; i < PEL_COUNT(npy_types); i++)
        if (pel_str_is(dtype, npy_types[i].dtype)) return npy_types[i].type;
    return NULL;
}

pel_str pel_npy_dtype(pel_str type) {
    for (size_t i = 0; i < PEL_COUNT(npy_types); i++)
        if (pel_str_is(type, npy_types[i].type)) return pel_str_of(npy_types[i].dtype);
    return type;
}

/* The writer can't take bytes back, so name and dtype are checked before the first one. numpy wants the data at a
 * multiple of 64 bytes, and a comma in a shape of one dimension. */
void pel_write_npy(pel_ctx *ctx, const pel_loaded *loaded, pel_str name, const pel_writer *writer) {
    collection c = { .ctx = ctx, .with_constants = true };
    collect_all(&c, loaded);
    found_tensor *found = NULL;
    for (uint32_t i = 0; i < c.list.n && !found; i++)
        if (pel_str_eq(c.list.at[i].name, name)) found = &c.list.at[i];
    if (!found) pel_throw(ctx, PEL_E_USAGE, 0, "there is no tensor '%.*s'", PEL_FMT(name));
    measure(ctx, found);
    const char *type = npy_type(found->tensor->dtype);
    if (!type) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "numpy has no dtype for %.*s", PEL_FMT(found->tensor->dtype));
    pel_buf header = pel_buf_in(ctx);
    pel_putf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (uint32_t i = 0; i < found->tensor->shape.n; i++)
        pel_putf(&header, "%lld%s", (long long)found->tensor->shape.dims[i].size,
                 found->tensor->shape.n == 1      ? ","
                 : i + 1 < found->tensor->shape.n ? ", "
                                                  : "");
    pel_put_c(&header, "), }");
    while ((10 + header.len + 1) % 64) pel_put_byte(&header, ' ');
    pel_put_byte(&header, '\n');
    char start[10] = "\x93NUMPY\x01\x00";
    start[8] = (char)(header.len & 255);
    start[9] = (char)(header.len >> 8);
    write_bytes(ctx, writer, start, sizeof start);
    write_bytes(ctx, writer, header.at, header.len);
    write_tensor(ctx, found, writer);
}

/* ---- safetensors ---- */

static const char *safetensors_type(pel_str dtype) {
    static const struct {
        const char *dtype, *type;
    } rows[] = {
        { "float32", "F32" },
        { "float16", "F16" },
        { "bfloat16", "BF16" },
        { "float64", "F64" },
        { "int64", "I64" },
        { "int32", "I32" },
        { "int16", "I16" },
        { "int8", "I8" },
        { "uint8", "U8" },
        { "bool", "BOOL" },
        { "uint16", "U16" },
        { "uint32", "U32" },
        { "uint64", "U64" },
        { "float8_e4m3fn", "F8_E4M3" },
        { "float8_e5m2", "F8_E5M2" },
        { "complex64", "C64" },
        { "float8_e8m0fnu", "F8_E8M0" },
        { "float8_e4m3fnuz", "F8_E4M3FNUZ" },
        { "float8_e5m2fnuz", "F8_E5M2FNUZ" },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(dtype, rows[i].dtype)) return rows[i].type;
    return NULL;
}

/* Wide elements first: then all lie where their width wants them. */
static int by_width(const void *a, const void *b) {
    const found_tensor *x = a, *y = b;
    if (x->width != y->width) return x->width > y->width ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The header needs the size of every tensor, and the writer can't take bytes back: all checks come before the first
 * byte. transformers refuses a file whose metadata has no "format". */
size_t pel_write_safetensors(pel_ctx *ctx, const pel_loaded *loaded, pel_str prefix, bool with_constants,
                             const pel_writer *writer) {
    collection c = { .ctx = ctx, .prefix = prefix, .with_constants = with_constants };
    collect_all(&c, loaded);
    refuse_lost(&c, loaded);
    if (!c.list.n) pel_throw(ctx, PEL_E_USAGE, 0, "there are no tensors to convert");
    pel_map names = { 0 };
    for (uint32_t i = 0; i < c.list.n; i++) {
        pel_str name = c.list.at[i].name;
        measure(ctx, &c.list.at[i]);
        if (!safetensors_type(c.list.at[i].tensor->dtype))
            pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "safetensors has no dtype for %.*s, which is %.*s", PEL_FMT(name),
                      PEL_FMT(c.list.at[i].tensor->dtype));
        if (!pel_map_set(ctx, &names, PEL_KEY(pel_intern_str(ctx, name)), 1))
            pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "two tensors are called %.*s", PEL_FMT(name));
    }
    qsort(c.list.at, c.list.n, sizeof *c.list.at, by_width);
    pel_buf header = pel_buf_in(ctx);
    pel_json writer_json = pel_json_to(&header), *json = &writer_json;
    uint64_t at = 0;
    pel_json_object(json);
    pel_json_key(json, "__metadata__");
    pel_json_object(json);
    pel_json_key(json, "format"), pel_json_c(json, "pt");
    pel_json_end_object(json);
    for (uint32_t i = 0; i < c.list.n; i++) {
        const found_tensor *row = &c.list.at[i];
        pel_json_key_str(json, row->name);
        pel_json_object(json);
        pel_json_key(json, "dtype"), pel_json_c(json, safetensors_type(row->tensor->dtype));
        pel_json_key(json, "shape");
        pel_json_array(json);
        for (uint32_t d = 0; d < row->tensor->shape.n; d++) pel_json_int(json, row->tensor->shape.dims[d].size);
        pel_json_end_array(json);
        pel_json_key(json, "data_offsets");
        pel_json_array(json);
        pel_json_int(json, (int64_t)at), pel_json_int(json, (int64_t)(at + row->size));
        pel_json_end_array(json);
        pel_json_end_object(json);
        at += row->size;
    }
    pel_json_end_object(json);
    while (header.len % 8) pel_put_byte(&header, ' ');
    char length[8];
    for (unsigned i = 0; i < 8; i++) length[i] = (char)((uint64_t)header.len >> 8 * i & 255);
    write_bytes(ctx, writer, length, sizeof length);
    write_bytes(ctx, writer, header.at, header.len);
    for (uint32_t i = 0; i < c.list.n; i++) write_tensor(ctx, &c.list.at[i], writer);
    return c.n_left;
}
