#include "io/safetensors.h"

#include "base/json.h"
#include "base/json_read.h"
#include "io/bytes.h"
#include "io/pickle.h"

#include <stdlib.h>

#define MAX_HEADER (100u << 20) /* as the format's own reader has it */
#define MAX_DIMS 64

static const struct {
    const char *name;
    unsigned bits;
} dtypes[] = {
    { "F32", 32 },    { "F16", 16 },    { "BF16", 16 },       { "F64", 64 },        { "I64", 64 },    { "I32", 32 },
    { "I16", 16 },    { "I8", 8 },      { "U8", 8 },          { "BOOL", 8 },        { "U16", 16 },    { "U32", 32 },
    { "U64", 64 },    { "F8_E4M3", 8 }, { "F8_E5M2", 8 },     { "C64", 64 },        { "F8_E8M0", 8 }, { "F4", 4 },
    { "F6_E2M3", 6 }, { "F6_E3M2", 6 }, { "F8_E4M3FNUZ", 8 }, { "F8_E5M2FNUZ", 8 },
};

bool pel_is_safetensors(pel_ctx *ctx, const pel_input *input) {
    if (input->size < 9) return false;
    const char *start = pel_input_view(ctx, input, 0, 9).ptr;
    return start[8] == '{' && (pel_le64(start) <= MAX_HEADER || !pel_is_pickle_in(ctx, input));
}

static unsigned bits_of(pel_ctx *ctx, pel_str dtype, uint64_t at) {
    for (size_t i = 0; i < PEL_COUNT(dtypes); i++)
        if (pel_str_is(dtype, dtypes[i].name)) return dtypes[i].bits;
    pel_throw(ctx, PEL_E_UNSUPPORTED, at, "safetensors: unknown dtype %.*s", PEL_FMT(dtype));
}

static int64_t natural(pel_ctx *ctx, const pel_json_value *value, const char *what) {
    if (value->kind != PEL_J_NUMBER || !value->is_integer || value->integer < 0)
        pel_throw(ctx, PEL_E_FORMAT, value->at, "safetensors: %s must be a whole number", what);
    return value->integer;
}

static pel_safetensor read_row(pel_ctx *ctx, pel_str name, const pel_json_value *row, uint64_t data, uint64_t room) {
    const pel_json_value *dtype = pel_json_get(row, "dtype"), *shape = pel_json_get(row, "shape"),
                         *offsets = pel_json_get(row, "data_offsets");
    if (!dtype || dtype->kind != PEL_J_STR || !shape || shape->kind != PEL_J_ARRAY || !offsets ||
        offsets->kind != PEL_J_ARRAY || offsets->items.n != 2)
        pel_throw(ctx, PEL_E_FORMAT, row->at, "safetensors: a tensor needs dtype, shape and data_offsets");
    if (shape->items.n > MAX_DIMS)
        pel_throw(ctx, PEL_E_TOO_BIG, shape->at, "safetensors: more than %d dimensions", MAX_DIMS);
    pel_safetensor tensor = { .name = name, .dtype = dtype->text, .n_dims = shape->items.n };
    tensor.shape = pel_new_array(ctx, tensor.n_dims, int64_t);
    uint64_t bits = bits_of(ctx, dtype->text, dtype->at);
    for (uint32_t i = 0; i < tensor.n_dims; i++) {
        tensor.shape[i] = natural(ctx, shape->items.at[i], "a size");
        if (__builtin_mul_overflow(bits, (uint64_t)tensor.shape[i], &bits))
            pel_throw(ctx, PEL_E_FORMAT, shape->at, "safetensors: shape times dtype overflows");
    }
    uint64_t begin = (uint64_t)natural(ctx, offsets->items.at[0], "an offset");
    uint64_t end = (uint64_t)natural(ctx, offsets->items.at[1], "an offset");
    if (end < begin || end > room || bits % 8 || end - begin != bits / 8)
        pel_throw(ctx, PEL_E_FORMAT, offsets->at, "safetensors: the bytes of %.*s do not fit its shape, or lie outside",
                  PEL_FMT(name));
    tensor.offset = data + begin;
    tensor.size = end - begin;
    return tensor;
}

static int by_offset(const void *a, const void *b) {
    const pel_safetensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->size > y->size) - (x->size < y->size);
}

static void check_layout(pel_ctx *ctx, const pel_safetensors *file, uint64_t data, uint64_t end,
                         pel_findings *findings) {
    pel_safetensor *sorted = pel_new_array(ctx, file->tensors.n, pel_safetensor);
    if (file->tensors.n) memcpy(sorted, file->tensors.at, file->tensors.n * sizeof *sorted);
    if (file->tensors.n) qsort(sorted, file->tensors.n, sizeof *sorted, by_offset);
    uint64_t cursor = data;
    for (uint32_t i = 0; i < file->tensors.n; i++) {
        if (sorted[i].offset < cursor)
            pel_throw(ctx, PEL_E_FORMAT, sorted[i].offset, "safetensors: %.*s overlaps another tensor",
                      PEL_FMT(sorted[i].name));
        if (sorted[i].offset > cursor)
            pel_find(ctx, findings, PEL_SUSPECT, "gap", sorted[i].name, cursor,
                     PEL_STR("bytes before it belong to no tensor"));
        cursor = sorted[i].offset + sorted[i].size;
    }
    if (cursor < end)
        pel_find(ctx, findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, cursor,
                 PEL_STR("bytes after the last tensor"));
}

/* A header that no reader could use throws; one that readers may understand in different ways becomes a finding.
 * check_layout needs every row, so overlaps show only at the end. */
pel_safetensors *pel_safetensors_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings) {
    if (input->size < 8) pel_throw(ctx, PEL_E_FORMAT, input->size, "safetensors: no header length");
    uint64_t length = pel_le64(pel_input_view(ctx, input, 0, 8).ptr);
    if (length > MAX_HEADER || length > input->size - 8)
        pel_throw(ctx, PEL_E_FORMAT, 0, "safetensors: a header of %llu bytes does not fit the file",
                  (unsigned long long)length);
    pel_str text = pel_input_view(ctx, input, 8, length);
    pel_json_value *header = pel_json_read(ctx, text, 8);
    if (!pel_is_utf8(text))
        pel_find(ctx, findings, PEL_SUSPECT, "encoding", (pel_str){ "", 0 }, 8,
                 PEL_STR("the header is no UTF-8: readers may refuse it, or see other names"));
    if (header->kind != PEL_J_OBJECT) pel_throw(ctx, PEL_E_FORMAT, 8, "safetensors: the header is no object");
    pel_safetensors *file = pel_new(ctx, pel_safetensors);
    for (uint32_t i = 0; i + 1 < header->items.n; i += 2) {
        pel_str name = header->items.at[i]->text;
        const pel_json_value *row = header->items.at[i + 1];
        if (!pel_str_is(name, "__metadata__")) {
            pel_push(ctx, &file->tensors, read_row(ctx, name, row, 8 + length, input->size - 8 - length));
            continue;
        }
        if (row->kind != PEL_J_OBJECT) pel_throw(ctx, PEL_E_FORMAT, row->at, "safetensors: __metadata__ is no object");
        for (uint32_t k = 0; k < row->items.n; k++) {
            if (row->items.at[k]->kind != PEL_J_STR)
                pel_throw(ctx, PEL_E_FORMAT, row->items.at[k]->at, "safetensors: a value of __metadata__ is no text");
            pel_push(ctx, &file->metadata, pel_json_text(row->items.at[k]));
        }
    }
    check_layout(ctx, file, 8 + length, input->size, findings);
    return file;
}
