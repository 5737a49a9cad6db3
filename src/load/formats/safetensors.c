#include "io/safetensors.h"

#include "load/load.h"

/* A name that the table lacks stays as it is: people still see it, and pel_dtype_size knows no size for it. */
static pel_str dtype_of(pel_str name) {
    static const struct {
        const char *name, *dtype;
    } rows[] = {
        { "F32", "float32" },
        { "F16", "float16" },
        { "BF16", "bfloat16" },
        { "F64", "float64" },
        { "I64", "int64" },
        { "I32", "int32" },
        { "I16", "int16" },
        { "I8", "int8" },
        { "U8", "uint8" },
        { "BOOL", "bool" },
        { "U16", "uint16" },
        { "U32", "uint32" },
        { "U64", "uint64" },
        { "F8_E4M3", "float8_e4m3fn" },
        { "F8_E5M2", "float8_e5m2" },
        { "C64", "complex64" },
        { "F8_E8M0", "float8_e8m0fnu" },
        { "F8_E4M3FNUZ", "float8_e4m3fnuz" },
        { "F8_E5M2FNUZ", "float8_e5m2fnuz" },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(name, rows[i].name)) return pel_str_of(rows[i].dtype);
    return name;
}

/* Text in quotes, shortened: metadata may hold whole configurations. */
static pel_str shown_text(pel_ctx *ctx, pel_str text) {
    pel_buf out = pel_buf_in(ctx);
    pel_pickled object = { .kind = PEL_P_STR, .text = text };
    pel_pickled_show(&out, &object);
    return pel_buf_str(&out);
}

void pel_load_safetensors(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input) {
    out->format = PEL_STR("safetensors");
    const pel_safetensors *file = pel_safetensors_read(ctx, input, &out->findings);
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    for (uint32_t i = 0; i + 1 < file->metadata.n; i += 2) {
        pel_str key = file->metadata.at[i];
        if (!pel_str_is(key, "format")) /* the one that loaders read */
            pel_find(ctx, &out->findings, PEL_NOTE, "metadata", (pel_str){ "", 0 }, 8,
                     pel_format(ctx, "has a text that no loader of tensors reads: %.*s", PEL_FMT(key)));
        pel_build_value(&builder, pel_full_name(ctx, builder.network, PEL_STR("__metadata__"), key),
                        shown_text(ctx, file->metadata.at[i + 1]));
    }
    for (uint32_t i = 0; i < file->tensors.n; i++) {
        const pel_safetensor *row = &file->tensors.at[i];
        pel_model_tensor tensor = { .role = PEL_PARAMETER, .dtype = dtype_of(row->dtype) };
        tensor.shape = pel_shape_of(ctx, row->shape, row->n_dims);
        pel_build_place(ctx, &tensor, input, (pel_str){ "", 0 }, row->offset, row->size);
        pel_build_tensor(&builder, row->name, tensor);
    }
}
