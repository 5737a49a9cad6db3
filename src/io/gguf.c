#include "io/gguf.h"

#include "base/buf.h"

#include "io/bytes.h"

#define MAX_TENSORS 1000000
#define MAX_PAIRS 100000

#define MAX_KEPT_TEXTS 64 /* of an array */

typedef struct cursor {
    pel_ctx *ctx;
    const pel_input *input;
    uint64_t at;
    bool is_big; /* its numbers begin with the high byte */
} cursor;

static const char *take(cursor *c, uint64_t size) {
    if (!pel_input_has(c->input, c->at, size))
        pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: truncated, or a length is wrong");
    const char *at = pel_input_view(c->ctx, c->input, c->at, size).ptr;
    c->at += size;
    return at;
}

/* Nobody needs these bytes: they are not asked for. */
static void skip(cursor *c, uint64_t size) {
    if (!pel_input_has(c->input, c->at, size))
        pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: truncated, or a length is wrong");
    c->at += size;
}

static uint16_t take16(cursor *c) {
    uint16_t value = pel_le16(take(c, 2));
    return c->is_big ? __builtin_bswap16(value) : value;
}
static uint32_t take32(cursor *c) {
    uint32_t value = pel_le32(take(c, 4));
    return c->is_big ? __builtin_bswap32(value) : value;
}
static uint64_t take64(cursor *c) {
    uint64_t value = pel_le64(take(c, 8));
    return c->is_big ? __builtin_bswap64(value) : value;
}

static pel_str take_text(cursor *c) {
    uint64_t size = take64(c);
    const char *at = take(c, size);
    return pel_str_at(at, size);
}

/* Types of values, by their numbers. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64, N_TYPES };
static const unsigned char widths[N_TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/* Few texts are kept, one below the other: templates among them. Vocabularies are passed over. */
static void take_texts(cursor *c, pel_gguf_pair *pair, uint64_t n) {
    pel_buf kept = pel_buf_in(c->ctx);
    pair->text_at = c->at;
    for (uint64_t i = 0; i < n; i++) { /* at least eight bytes each: the file's end bounds it */
        if (n > MAX_KEPT_TEXTS) {
            skip(c, take64(c));
            continue;
        }
        pel_put(&kept, take_text(c));
        pel_put_byte(&kept, '\n');
    }
    pair->text = pel_buf_str(&kept);
}

static void take_array(cursor *c, pel_gguf_pair *pair) {
    uint32_t type = take32(c);
    uint64_t n = take64(c), size;
    pair->kind = PEL_GGUF_ARRAY;
    pair->number = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    if (type >= N_TYPES || type == ARRAY) pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: an array of unknown type");
    if (type == TEXT) {
        take_texts(c, pair, n);
        return;
    }
    if (__builtin_mul_overflow(n, widths[type], &size))
        pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: an array overflows");
    skip(c, size);
}

/* A value of unknown type has an unknown size, so nothing after it can be found: the file is refused. A U64 beyond
 * INT64_MAX turns negative, which users of a count must expect. */
static pel_gguf_pair take_pair(cursor *c) {
    pel_gguf_pair pair = { .key = take_text(c), .kind = PEL_GGUF_NUMBER };
    uint32_t type = take32(c), bits;
    uint64_t wide;
    switch (type) {
    case U8: pair.number = (unsigned char)*take(c, 1); break;
    case I8: pair.number = (signed char)*take(c, 1); break;
    case U16: pair.number = take16(c); break;
    case I16: pair.number = (int16_t)take16(c); break;
    case U32: pair.number = take32(c); break;
    case I32: pair.number = (int32_t)take32(c); break;
    case U64:
    case I64: pair.number = (int64_t)take64(c); break;
    case BOOL: pair.kind = PEL_GGUF_BOOL, pair.number = *take(c, 1) != 0; break;
    case TEXT:
        pair.kind = PEL_GGUF_TEXT, pair.text = take_text(c);
        pair.text_at = c->at - pair.text.len;
        break;
    case ARRAY: take_array(c, &pair); break;
    case F32: {
        float real;
        bits = take32(c);
        memcpy(&real, &bits, sizeof real);
        pair.kind = PEL_GGUF_REAL, pair.real = (double)real;
        break;
    }
    case F64:
        wide = take64(c);
        memcpy(&pair.real, &wide, sizeof wide);
        pair.kind = PEL_GGUF_REAL;
        break;
    default: pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: a value of unknown type %u", type);
    }
    return pair;
}

/* Forms of tensors: elements of a block and its bytes. */
static const struct {
    uint32_t number;
    const char *name;
    uint32_t elements, bytes;
} forms[] = {
    { 0, "float32", 1, 4 },     { 1, "float16", 1, 2 },     { 2, "q4_0", 32, 18 },      { 3, "q4_1", 32, 20 },
    { 6, "q5_0", 32, 22 },      { 7, "q5_1", 32, 24 },      { 8, "q8_0", 32, 34 },      { 9, "q8_1", 32, 36 },
    { 10, "q2_k", 256, 84 },    { 11, "q3_k", 256, 110 },   { 12, "q4_k", 256, 144 },   { 13, "q5_k", 256, 176 },
    { 14, "q6_k", 256, 210 },   { 15, "q8_k", 256, 292 },   { 16, "iq2_xxs", 256, 66 }, { 17, "iq2_xs", 256, 74 },
    { 18, "iq3_xxs", 256, 98 }, { 19, "iq1_s", 256, 50 },   { 20, "iq4_nl", 32, 18 },   { 21, "iq3_s", 256, 110 },
    { 22, "iq2_s", 256, 82 },   { 23, "iq4_xs", 256, 136 }, { 24, "int8", 1, 1 },       { 25, "int16", 1, 2 },
    { 26, "int32", 1, 4 },      { 27, "int64", 1, 8 },      { 28, "float64", 1, 8 },    { 29, "iq1_m", 256, 56 },
    { 30, "bfloat16", 1, 2 },   { 34, "tq1_0", 256, 54 },   { 35, "tq2_0", 256, 66 },   { 39, "mxfp4", 32, 17 },
    { 40, "nvfp4", 64, 36 },    { 41, "q1_0", 128, 18 },    { 42, "q2_0", 64, 18 },
};

static pel_gguf_tensor take_tensor(cursor *c) {
    pel_gguf_tensor tensor = { .name = take_text(c), .n_dims = take32(c) };
    uint64_t count = 1;
    if (tensor.n_dims > 4) pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: a tensor of %u dimensions", tensor.n_dims);
    for (uint32_t i = 0; i < tensor.n_dims; i++) {
        uint64_t size = take64(c);
        if (size > INT64_MAX || __builtin_mul_overflow(count, size, &count))
            pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: the sizes of a tensor overflow");
        tensor.dims[tensor.n_dims - 1 - i] = (int64_t)size;
    }
    uint32_t form = take32(c);
    tensor.offset = take64(c);
    tensor.dtype = pel_format(c->ctx, "ggml_%u", form);
    for (size_t i = 0; i < PEL_COUNT(forms); i++) {
        if (forms[i].number != form) continue;
        tensor.dtype = pel_str_of(forms[i].name);
        if (count % forms[i].elements ||
            __builtin_mul_overflow(count / forms[i].elements, forms[i].bytes, &tensor.size))
            pel_throw(c->ctx, PEL_E_FORMAT, c->at, "GGUF: the size of %.*s does not fit its form",
                      PEL_FMT(tensor.name));
    }
    return tensor;
}

bool pel_is_gguf(pel_str bytes) { return bytes.len >= 8 && memcmp(bytes.ptr, "GGUF", 4) == 0; }

pel_gguf *pel_gguf_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings) {
    cursor c = { ctx, input, 4, false };
    uint32_t version = take32(&c);
    c.is_big = version && !(version & 0xFFFF); /* versions are small: those bytes are in the other order */
    if (c.is_big) version = __builtin_bswap32(version);
    if (version < 2 || version > 3)
        pel_throw(ctx, PEL_E_UNSUPPORTED, 4, "GGUF: version %u; 2 and 3 can be read", version);
    pel_gguf *file = pel_new(ctx, pel_gguf);
    file->is_big = c.is_big;
    uint64_t n_tensors = take64(&c), n_pairs = take64(&c), alignment = 32;
    if (n_tensors > MAX_TENSORS || n_pairs > MAX_PAIRS) pel_throw(ctx, PEL_E_FORMAT, 8, "GGUF: absurd counts");
    for (uint64_t i = 0; i < n_pairs; i++) {
        pel_gguf_pair pair = take_pair(&c);
        if (pel_str_is(pair.key, "general.alignment") && pair.kind == PEL_GGUF_NUMBER)
            alignment = (uint64_t)pair.number;
        pel_push(ctx, &file->pairs, pair);
    }
    for (uint64_t i = 0; i < n_tensors; i++) {
        pel_gguf_tensor tensor = take_tensor(&c);
        pel_push(ctx, &file->tensors, tensor);
    }
    if (!alignment || alignment > 1 << 20 || alignment & (alignment - 1))
        pel_throw(ctx, PEL_E_FORMAT, 8, "GGUF: an alignment that is no power of two");
    uint64_t data = (c.at + alignment - 1) & ~(alignment - 1);
    for (uint32_t i = 0; i < file->tensors.n; i++) {
        pel_gguf_tensor *tensor = &file->tensors.at[i];
        if (tensor->offset % alignment)
            pel_find(ctx, findings, PEL_SUSPECT, "alignment", tensor->name, tensor->offset,
                     PEL_STR("the tensor does not begin where the file's alignment says"));
        if (__builtin_add_overflow(tensor->offset, data, &tensor->offset) ||
            !pel_input_has(input, tensor->offset, tensor->size))
            pel_throw(ctx, PEL_E_FORMAT, 8, "GGUF: truncated: %.*s lies outside of the file", PEL_FMT(tensor->name));
    }
    return file;
}
