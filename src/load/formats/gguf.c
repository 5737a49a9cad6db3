#include "io/gguf.h"

#include "load/load.h"
#include "load/audit/template.h"

void pel_load_gguf(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input) {
    out->format = PEL_STR("GGUF");
    const pel_gguf *file = pel_gguf_read(ctx, input, &out->findings);
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_module *root = builder.network->root;
    for (uint32_t i = 0; i < file->pairs.n; i++) {
        const pel_gguf_pair *pair = &file->pairs.at[i];
        if (pel_str_is(pair->key, "general.architecture")) root->class = pair->text;
        bool is_list = pair->kind == PEL_GGUF_ARRAY; /* a vocabulary may have the marks of templates, too */
        bool may_be = pair->kind == PEL_GGUF_TEXT || (is_list && pel_str_find(pair->key, PEL_STR("template")));
        if (may_be && pel_is_template(pair->text)) /* by whatever key a program may ask for */
            pel_audit_template(ctx, &out->findings, pair->key, pair->text, pair->text_at);
        if (pair->kind == PEL_GGUF_NUMBER)
            pel_build_argument(&builder, root, pair->key, pel_const_int(ctx, pair->number));
        if (pair->kind == PEL_GGUF_REAL)
            pel_build_argument(&builder, root, pair->key, pel_const_float(ctx, pair->real));
        if (pair->kind == PEL_GGUF_BOOL)
            pel_build_argument(&builder, root, pair->key, pel_const_bool(pair->number != 0));
        if (pair->kind == PEL_GGUF_TEXT && pair->text.len < 200)
            pel_build_argument(&builder, root, pair->key, pel_const_str(ctx, pair->text));
    }
    if (file->is_big)
        pel_find(ctx, &out->findings, PEL_NOTE, "big-endian", (pel_str){ "", 0 }, 4,
                 PEL_STR("the tensors are big-endian: they are listed, their bytes are not read"));
    for (uint32_t i = 0; i < file->tensors.n; i++) {
        const pel_gguf_tensor *row = &file->tensors.at[i];
        pel_model_tensor tensor = { .dtype = row->dtype, .shape = pel_shape_of(ctx, row->dims, row->n_dims) };
        if (!file->is_big && (row->size || !row->n_dims))
            pel_build_place(ctx, &tensor, input, (pel_str){ "", 0 }, row->offset, row->size);
        pel_build_tensor(&builder, row->name, tensor);
    }
}
