/* An alignment as a Python function. Rows of blocks that are alike become a loop over their numbers. */
#include "model/align_inside.h"
#include "python/constant.h"
#include "python/print.h"

#include <stdlib.h>

typedef struct writing {
    pel_ctx *ctx;
    const pel_alignment *found;
    pel_buf out;
} writing;

/* ---- expressions ---- */

/* A name as a literal; loops: what stands for its numbers, from *at on, NULL for itself. */
static void put_name(writing *w, pel_str name, const char *const *loops, uint32_t *at) {
    pel_buf text = pel_buf_in(w->ctx);
    bool is_formatted = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_number = c >= '0' && c <= '9';
        const char *counter = is_number && loops ? loops[(*at)++] : NULL;
        if (counter) {
            pel_putf(&text, "{%s}", counter);
            is_formatted = true;
        }
        size_t start = i;
        while (is_number && i + 1 < name.len && name.ptr[i + 1] >= '0' && name.ptr[i + 1] <= '9') i++;
        if (!counter) pel_put(&text, pel_str_cut(name, start, i + 1));
    }
    if (!pel_is_utf8(name)) pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "a name of a tensor is no UTF-8");
    if (is_formatted && (memchr(name.ptr, '{', name.len) || memchr(name.ptr, '}', name.len)))
        pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "a name of a tensor has braces");
    if (is_formatted) pel_put_byte(&w->out, 'f');
    pel_put_str_repr(&w->out, pel_buf_str(&text));
}

static void put_piece(writing *w, const pel_align_row *row, const pel_align_piece *piece, const char *const *loops,
                      uint32_t *at) {
    pel_put_c(&w->out, "state_dict[");
    put_name(w, w->found->tensors[0].at[piece->tensor].name, loops, at);
    pel_put_byte(&w->out, ']');
    if (piece->at >= 0) pel_putf(&w->out, "[%lld]", (long long)piece->at);
    if (row->n_order == 2) {
        pel_put_c(&w->out, ".T");
    } else if (row->n_order) {
        pel_put_c(&w->out, ".permute(");
        for (uint32_t d = 0; d < row->n_order; d++) pel_putf(&w->out, "%s%u", d ? ", " : "", row->order[d]);
        pel_put_byte(&w->out, ')');
    }
    if (piece->to) pel_putf(&w->out, "[%lld:%lld]", (long long)piece->from, (long long)piece->to);
}

static void put_value(writing *w, const pel_align_row *row, const char *const *loops, uint32_t *at) {
    uint32_t joined = row->joined ? row->joined : row->pieces.n;
    if (row->is_stacked) pel_put_c(&w->out, "torch.stack([");
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        if (p % joined == 0)
            pel_put_c(&w->out, joined == 1 ? (p ? ", " : "") : p ? ", torch.cat([" : "torch.cat([");
        else
            pel_put_c(&w->out, ", ");
        put_piece(w, row, &row->pieces.at[p], loops, at);
        if (p % joined == joined - 1 && joined > 1) pel_put_c(&w->out, "])");
    }
    if (row->is_stacked) pel_put_c(&w->out, "])");
    if (!pel_align_is_reshaped(w->found, row)) return;
    const pel_shape *to = &w->found->tensors[1].at[row->tensor].tensor->shape;
    pel_put_c(&w->out, ".reshape(");
    for (uint32_t d = 0; d < to->n; d++) pel_putf(&w->out, "%s%lld", d ? ", " : "", (long long)to->dims[d].size);
    pel_put_c(&w->out, to->n ? ")" : "())");
}

static void put_row(writing *w, const pel_align_row *row, const char *const *loops, const char *indent) {
    uint32_t at = 0;
    pel_put_c(&w->out, indent);
    pel_put_c(&w->out, "converted[");
    put_name(w, w->found->tensors[1].at[row->tensor].name, loops, &at);
    pel_put_c(&w->out, "] = ");
    put_value(w, row, loops, &at);
    pel_put_byte(&w->out, '\n');
}

static void put_families(writing *w, const align_families *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        align_family *f = all->at[i];
        if (f->is_written) continue;
        if (!f->loop) {
            for (uint32_t r = 0; r < f->rows.n; r++) put_row(w, f->rows.at[r].row, NULL, "    ");
            continue;
        }
        pel_put(&w->out, pel_name_str(f->loop));
        for (uint32_t k = i; k < all->n; k++) {
            if (all->at[k]->loop != f->loop) continue;
            put_row(w, all->at[k]->rows.at[0].row, all->at[k]->of, "        ");
            all->at[k]->is_written = true;
        }
    }
}

/* ---- the module ---- */

static void put_docstring(writing *w) {
    pel_buf text = pel_buf_in(w->ctx);
    pel_align_counts n = pel_alignment_count(w->found);
    pel_putf(&text, "Tensors of %.*s as %.*s has them.\n\n", PEL_FMT(w->found->names[0]), PEL_FMT(w->found->names[1]));
    if (w->found->has_values)
        pel_putf(&text, "%u of %u were compared and are bit-equal, %u more are equal constants.", n.equal, n.rows,
                 n.alike);
    else
        pel_put_c(&text, "By names and shapes only: no values were compared.");
    if (n.open) pel_putf(&text, "\n%u are ambiguous and left out.", n.open);
    if (n.only_b) pel_putf(&text, "\n%u have no source.", n.only_b);
    if (n.only_a) pel_putf(&text, "\n%u of the source are not used.", n.only_a);
    pel_put_byte(&text, '\n');
    pel_buf literal = pel_buf_in(w->ctx);
    pel_buf shown = pel_buf_in(w->ctx); /* line by line, since control characters of names become '?' */
    for (size_t i = 0; i < text.len; i++) {
        size_t end = i;
        while (end < text.len && text.at[end] != '\n') end++;
        pel_put_visible(&shown, pel_str_cut(pel_buf_str(&text), i, end));
        pel_put_byte(&shown, '\n');
        i = end;
    }
    pel_put_str_repr(&literal, pel_buf_str(&shown));
    pel_put(&w->out, pel_buf_str(&literal));
    pel_put_byte(&w->out, '\n');
}

pel_str pel_alignment_python(pel_ctx *ctx, const pel_alignment *found) {
    writing w = { .ctx = ctx, .found = found, .out = pel_buf_in(ctx) };
    align_families all = pel_align_families_of(ctx, found);
    bool needs_torch = false;
    for (uint32_t i = 0; i < found->rows.n; i++) needs_torch |= found->rows.at[i].pieces.n > 1;
    put_docstring(&w);
    if (needs_torch) pel_put_c(&w.out, "import torch\n");
    pel_put_c(&w.out, "def convert(state_dict):\n    converted = {}\n");
    put_families(&w, &all);
    pel_put_c(&w.out, "    return converted\n");
    pel_source source = pel_source_text(ctx, PEL_STR("map.py"), pel_buf_str(&w.out));
    pel_buf printed = pel_buf_in(ctx);
    pel_print(ctx, pel_parse(ctx, &source, 8), &(pel_print_options){ .version = 8 }, &printed);
    return pel_buf_str(&printed);
}
