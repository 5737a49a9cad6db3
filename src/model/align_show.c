/* An alignment as a table, and as JSON. Blocks that are alike are one line. */
#include "base/json.h"
#include "model/align_inside.h"

#include <stdlib.h>

static const char *const by_names[] = {
    [PEL_BY_VALUES] = "values", [PEL_BY_NAME] = "name",   [PEL_BY_WORDS] = "words",
    [PEL_BY_SHAPE] = "shape",   [PEL_BY_ORDER] = "order", [PEL_BY_ELIMINATION] = "elimination",
};

static const char *const value_names[] = {
    [PEL_NOT_COMPARED] = "not compared",
    [PEL_VALUES_EQUAL] = "equal",
    [PEL_VALUES_ALIKE] = "constant",
    [PEL_VALUES_DIFFER] = "differ",
};

/* ---- text ---- */

static void put_shape(pel_buf *out, const pel_shape *shape) {
    if (!shape->is_known) pel_put_byte(out, '?');
    if (shape->is_known && !shape->n) pel_put_c(out, "scalar");
    for (uint32_t d = 0; d < shape->n; d++) {
        if (d) pel_put_c(out, "×");
        if (shape->dims[d].symbol.len)
            pel_put_visible(out, shape->dims[d].symbol);
        else
            pel_put_int(out, shape->dims[d].size);
    }
}

/* The name, with "*" for the numbers in which the rows of a family differ. */
static void put_name(const pel_align_tensor *tensor, const align_family *family, uint32_t *at, pel_buf *out) {
    pel_str name = tensor->name;
    for (size_t i = 0; i < name.len;) {
        size_t start = i;
        bool is_number = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        while (i < name.len && (name.ptr[i] >= '0' && name.ptr[i] <= '9') == is_number) i++;
        if (is_number && family->loop && family->of[(*at)++])
            pel_put_byte(out, '*');
        else
            pel_put_visible(out, pel_str_cut(name, start, i));
    }
}

static void put_piece(const pel_alignment *found, const pel_align_row *row, const pel_align_piece *piece,
                      const align_family *family, uint32_t *at, pel_buf *out) {
    put_name(&found->tensors[0].at[piece->tensor], family, at, out);
    if (piece->at >= 0) pel_putf(out, "[%lld]", (long long)piece->at);
    for (uint32_t d = 0; d < row->n_order; d++) pel_putf(out, "%s%u", d ? "," : " turned ", row->order[d]);
    if (piece->to) pel_putf(out, "[%lld:%lld]", (long long)piece->from, (long long)piece->to);
}

#define SHOWN_PIECES 4 /* of a row; a stack may have hundreds */

static void put_source(const pel_alignment *found, const pel_align_row *row, const align_family *family, uint32_t *at,
                       pel_buf *out) {
    if (row->is_stacked) pel_put_c(out, "stack of ");
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        if (p) pel_put_c(out, row->is_stacked && row->joined && p % row->joined == 0 ? ", " : " + ");
        if (p == SHOWN_PIECES) {
            pel_putf(out, "... %u more", row->pieces.n - p);
            break;
        }
        put_piece(found, row, &row->pieces.at[p], family, at, out);
    }
}

static void put_row(const pel_alignment *found, const pel_align_row *row, const align_family *family, pel_buf *out) {
    uint32_t at = 0;
    pel_put_c(out, "  ");
    put_name(&found->tensors[1].at[row->tensor], family, &at, out);
    pel_put_c(out, "  ");
    put_shape(out, &found->tensors[1].at[row->tensor].tensor->shape);
    pel_put_c(out, "  <-  ");
    put_source(found, row, family, &at, out);
    pel_putf(out, "  (%s", by_names[row->by]);
    if (row->values != PEL_NOT_COMPARED && row->by != PEL_BY_VALUES)
        pel_putf(out, "; values %s", value_names[row->values]);
    pel_put_byte(out, ')');
    if (family->loop) pel_putf(out, " ×%u", family->rows.n);
    pel_put_byte(out, '\n');
}

static void put_rows(pel_ctx *ctx, const pel_alignment *found, pel_buf *out) {
    align_families all = pel_align_families_of(ctx, found);
    for (uint32_t i = 0; i < all.n; i++)
        for (uint32_t r = 0; r < (all.at[i]->loop ? 1 : all.at[i]->rows.n); r++)
            put_row(found, all.at[i]->rows.at[r].row, all.at[i], out);
}

static void put_names(const pel_alignment *found, int which, const uint32_t *tensors, uint32_t n, pel_buf *out) {
    for (uint32_t i = 0; i < n; i++) {
        pel_put_c(out, i ? ", " : "");
        pel_put_visible(out, found->tensors[which].at[tensors[i]].name);
    }
}

static void put_open(const pel_alignment *found, pel_buf *out) {
    if (!found->open.n) return;
    pel_put_c(out, "ambiguous:\n");
    for (uint32_t i = 0; i < found->open.n; i++) {
        const pel_align_open *open = &found->open.at[i];
        pel_put_c(out, "  ");
        put_names(found, 1, open->b.at, open->b.n, out);
        pel_put_c(out, "\n    may be  ");
        put_names(found, 0, open->a.at, open->a.n, out);
        pel_put_c(out, "\n    ");
        pel_put(out, open->why);
        pel_put_byte(out, '\n');
    }
}

static void put_alone(const pel_alignment *found, int which, pel_buf *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < found->tensors[which].n; i++) {
        const pel_align_tensor *row = &found->tensors[which].at[i];
        if (row->is_used || row->is_open) continue;
        if (!n++) {
            pel_put_c(out, "only in ");
            pel_put_visible(out, found->names[which]);
            pel_put_c(out, ":\n");
        }
        pel_put_c(out, "  ");
        pel_put_visible(out, row->name);
        pel_put_c(out, "  ");
        put_shape(out, &row->tensor->shape);
        pel_put_byte(out, '\n');
    }
}

/* What was proved, and what was not. */
static void put_answer(const pel_alignment *found, pel_buf *out) {
    pel_align_counts n = pel_alignment_count(found);
    uint32_t of_b = found->tensors[1].n;
    pel_putf(out, "%u of %u tensors of ", n.rows, of_b);
    pel_put_visible(out, found->names[1]);
    pel_put_c(out, " have their source");
    if (found->has_values) {
        pel_putf(out, ": %u bit-equal", n.equal);
        if (n.alike) pel_putf(out, ", %u equal constants, which names and shapes assign", n.alike);
        if (n.differ) pel_putf(out, ", %u with other values, by names and shapes", n.differ);
        if (n.by_names) pel_putf(out, ", %u by names and shapes, values not compared", n.by_names);
    } else if (n.rows) {
        pel_put_c(out, ", by names and shapes only");
    }
    if (n.open) pel_putf(out, "; %u ambiguous", n.open);
    if (n.only_b) pel_putf(out, "; %u without a source", n.only_b);
    if (n.only_a) {
        pel_putf(out, "; %u of ", n.only_a);
        pel_put_visible(out, found->names[0]);
        pel_put_c(out, " not used");
    }
    pel_put_byte(out, '\n');
    for (int which = 0; which < 2; which++)
        if (found->lost[which]) {
            pel_put_visible(out, found->names[which]);
            pel_put_c(out, ": not all of its tensors could be read: see pellucid tree\n");
        }
}

void pel_alignment_text(pel_ctx *ctx, const pel_alignment *found, pel_buf *out) {
    put_rows(ctx, found, out);
    put_open(found, out);
    put_alone(found, 1, out);
    put_alone(found, 0, out);
    put_answer(found, out);
}

/* ---- JSON ---- */

static void put_sizes(pel_json *json, const pel_shape *shape) {
    if (!shape->is_known) {
        pel_json_null(json);
        return;
    }
    pel_json_array(json);
    for (uint32_t d = 0; d < shape->n; d++)
        if (shape->dims[d].symbol.len)
            pel_json_str(json, shape->dims[d].symbol);
        else
            pel_json_int(json, shape->dims[d].size);
    pel_json_end_array(json);
}

/* Fields that say nothing of a row are left out: no order, no index, no stack. */
static void put_json_row(const pel_alignment *found, const pel_align_row *row, pel_json *json) {
    const pel_align_tensor *to = &found->tensors[1].at[row->tensor];
    pel_json_object(json);
    pel_json_key(json, "to"), pel_json_str(json, to->name);
    pel_json_key(json, "shape"), put_sizes(json, &to->tensor->shape);
    pel_json_key(json, "from");
    pel_json_array(json);
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        const pel_align_piece *piece = &row->pieces.at[p];
        pel_json_object(json);
        pel_json_key(json, "name"), pel_json_str(json, found->tensors[0].at[piece->tensor].name);
        if (piece->at >= 0) pel_json_key(json, "index"), pel_json_int(json, piece->at);
        if (piece->to) {
            pel_json_key(json, "rows");
            pel_json_array(json);
            pel_json_int(json, piece->from), pel_json_int(json, piece->to);
            pel_json_end_array(json);
        }
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    if (row->n_order) {
        pel_json_key(json, "order");
        pel_json_array(json);
        for (uint32_t d = 0; d < row->n_order; d++) pel_json_int(json, row->order[d]);
        pel_json_end_array(json);
    }
    if (row->is_stacked) pel_json_key(json, "stacked"), pel_json_int(json, row->joined ? row->joined : 1);
    pel_json_key(json, "by"), pel_json_c(json, by_names[row->by]);
    pel_json_key(json, "values"), pel_json_c(json, value_names[row->values]);
    pel_json_end_object(json);
}

static void put_json_names(const pel_alignment *found, int which, const char *key, const uint32_t *tensors, uint32_t n,
                           pel_json *json) {
    pel_json_key(json, key);
    pel_json_array(json);
    for (uint32_t i = 0; i < n; i++) pel_json_str(json, found->tensors[which].at[tensors[i]].name);
    pel_json_end_array(json);
}

static void put_json_alone(const pel_alignment *found, int which, const char *key, pel_json *json) {
    pel_json_key(json, key);
    pel_json_array(json);
    for (uint32_t i = 0; i < found->tensors[which].n; i++)
        if (!found->tensors[which].at[i].is_used && !found->tensors[which].at[i].is_open)
            pel_json_str(json, found->tensors[which].at[i].name);
    pel_json_end_array(json);
}

/* One line. It is also the map that convert takes. */
void pel_alignment_json(pel_ctx *ctx, const pel_alignment *found, pel_buf *out) {
    (void)ctx;
    pel_json writer = pel_json_to(out), *json = &writer;
    pel_align_counts n = pel_alignment_count(found);
    pel_json_object(json);
    pel_json_key(json, "schema"), pel_json_int(json, 1);
    pel_json_key(json, "a"), pel_json_str(json, found->names[0]);
    pel_json_key(json, "b"), pel_json_str(json, found->names[1]);
    pel_json_key(json, "values"), pel_json_bool(json, found->has_values);
    pel_json_key(json, "equal"), pel_json_int(json, n.equal);
    pel_json_key(json, "constant"), pel_json_int(json, n.alike);
    pel_json_key(json, "differ"), pel_json_int(json, n.differ);
    pel_json_key(json, "by_names"), pel_json_int(json, n.by_names);
    pel_json_key(json, "lost_a"), pel_json_int(json, found->lost[0]);
    pel_json_key(json, "lost_b"), pel_json_int(json, found->lost[1]);
    pel_json_key(json, "rows");
    pel_json_array(json);
    for (uint32_t i = 0; i < found->rows.n; i++) put_json_row(found, &found->rows.at[i], json);
    pel_json_end_array(json);
    pel_json_key(json, "ambiguous");
    pel_json_array(json);
    for (uint32_t i = 0; i < found->open.n; i++) {
        const pel_align_open *open = &found->open.at[i];
        pel_json_object(json);
        put_json_names(found, 1, "to", open->b.at, open->b.n, json);
        put_json_names(found, 0, "candidates", open->a.at, open->a.n, json);
        pel_json_key(json, "why"), pel_json_str(json, open->why);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    put_json_alone(found, 0, "only_a", json);
    put_json_alone(found, 1, "only_b", json);
    pel_json_end_object(json);
    pel_put_byte(out, '\n');
}
