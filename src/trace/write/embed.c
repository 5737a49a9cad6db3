/* Tensors that neither the state_dict nor a formula gives: their elements at the end of the file. */
#include "python/parse.h"
#include "trace/program.h"

#define LINE 120 /* characters of data on a line */

static bool same_tensor(const pel_log_tensor *a, const pel_log_tensor *b) {
    return pel_str_eq(a->dtype, b->dtype) && a->n_dims == b->n_dims && pel_str_eq(a->data, b->data) &&
           (a->n_dims == 0 || memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape) == 0);
}

/* Equal tensors stand once. */
static uint32_t place_of(pel_ctx *ctx, pel_program *program, pel_id tensor) {
    const pel_log_tensor *rows = program->log->tensors.at;
    for (uint32_t i = 0; i < program->embedded.n; i++)
        if (same_tensor(&rows[program->embedded.at[i]], &rows[tensor])) return i;
    pel_push(ctx, &program->embedded, tensor);
    return program->embedded.n - 1;
}

static pel_str key_of(pel_ctx *ctx, const pel_program *program, uint32_t place) {
    const pel_log_tensor *row = &program->log->tensors.at[program->embedded.at[place]];
    return pel_format(ctx, "%s_%u", row->name ? row->name->text : "tensor", place);
}

bool pel_is_constant_tensor(const pel_log *log, const pel_value *value) {
    if (value->kind != PEL_V_TENSOR) return false;
    const pel_log_tensor *row = &log->tensors.at[value->tensor];
    return (row->formula.len || row->data.len) && !row->owner && !row->is_parameter;
}

pel_node *pel_tensor_expression(pel_ctx *ctx, pel_program *program, pel_id tensor) {
    const pel_log_tensor *row = &program->log->tensors.at[tensor];
    if (row->formula.len) {
        pel_source source = { PEL_STR("formula"), row->formula };
        pel_library_expression(ctx, program, PEL_STR("torch"));
        return pel_parse_expression(ctx, &source, PEL_VERSION_MAX)->Expression.body;
    }
    if (!row->data.len) return NULL;
    pel_str key = key_of(ctx, program, place_of(ctx, program, tensor));
    pel_node *name = pel_make_name(ctx, pel_intern_c(ctx, PEL_EMBEDDED), PEL_Load);
    pel_nodes args = pel_nodes_one(ctx, pel_make_text(ctx, key));
    return pel_make_call(ctx, name, args, (pel_nodes){ 0 });
}

/* Written as text: the printer would put a constant of a megabyte on one line. */
void pel_emit_embedded(pel_ctx *ctx, pel_program *program, pel_buf *out) {
    if (!program->embedded.n) return;
    pel_put_c(out, "\n\n# Constant tensors that no formula was found for: dtype, shape, elements (zlib, base64).\n"
                   "def " PEL_EMBEDDED "(name):\n"
                   "    dtype, shape, text = _EMBEDDED[name]\n"
                   "    data = bytearray(zlib.decompress(base64.b64decode(text)))\n"
                   "    return torch.frombuffer(data, dtype=dtype).reshape(shape)\n\n\n"
                   "_EMBEDDED = {\n");
    for (uint32_t i = 0; i < program->embedded.n; i++) {
        const pel_log_tensor *row = &program->log->tensors.at[program->embedded.at[i]];
        pel_putf(out, "    \"%.*s\": (%.*s, (", PEL_FMT(key_of(ctx, program, i)), PEL_FMT(row->dtype));
        for (uint32_t d = 0; d < row->n_dims; d++)
            pel_putf(out,
                     d + 1 < row->n_dims ? "%lld, "
                     : row->n_dims == 1  ? "%lld,"
                                         : "%lld",
                     (long long)row->shape[d]);
        pel_put_c(out, "), \"\"\"\n");
        for (size_t at = 0; at < row->data.len; at += LINE) {
            pel_put(out, pel_str_cut(row->data, at, at + LINE));
            pel_put_byte(out, '\n');
        }
        pel_put_c(out, "\"\"\"),\n");
    }
    pel_put_c(out, "}\n");
}
