/* Rows of blocks that are alike, and how their numbers go together: what a table shows as one line, and Python as a
 * loop. */
#include "model/align_inside.h"

#define MOST_COUNTERS 8
#define MOST_PIECES 8 /* of a row in a loop */
static const char *const counters[MOST_COUNTERS] = { "i", "j", "k", "l", "m", "n", "o", "p" };

static void add_numbers(align_numbered *row, pel_str name) {
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9') continue;
        uint32_t value = 0;
        size_t start = i;
        for (; i < name.len && name.ptr[i] >= '0' && name.ptr[i] <= '9'; i++)
            value = value * 10 + (uint32_t)(name.ptr[i] - '0');
        if (i - start > 8 || (i - start > 1 && name.ptr[start] == '0') || row->n == PEL_COUNT(row->numbers))
            row->is_plain = false;
        else
            row->numbers[row->n++] = value;
    }
}

static align_numbered numbers_of(const pel_alignment *found, const pel_align_row *row) {
    align_numbered made = { .row = row, .is_plain = row->pieces.n <= MOST_PIECES };
    add_numbers(&made, found->tensors[1].at[row->tensor].name);
    for (uint32_t p = 0; p < row->pieces.n && p < MOST_PIECES; p++)
        add_numbers(&made, found->tensors[0].at[row->pieces.at[p].tensor].name);
    return made;
}

/* Whether B's shape is another than what the pieces give as they are. */
bool pel_align_is_reshaped(const pel_alignment *found, const pel_align_row *row) {
    const pel_shape *to = &found->tensors[1].at[row->tensor].tensor->shape;
    const pel_align_piece *piece = &row->pieces.at[0];
    const pel_shape *from = &found->tensors[0].at[piece->tensor].tensor->shape;
    uint32_t skip = piece->at >= 0, more = row->is_stacked;
    if (!to->is_known || !from->is_known) return false;
    if (from->n + more != to->n + skip) return true;
    for (uint32_t d = !row->is_stacked && (piece->to || row->pieces.n > 1); d + more < to->n; d++) {
        uint32_t source = skip + (row->n_order ? row->order[d] : d);
        if (row->is_stacked && !d) continue;
        if (from->dims[source].size != to->dims[d + more].size) return true;
    }
    return false;
}

/* What rows of one family share: all names with "#" for numbers, and what is done with the pieces. */
static pel_name key_of(pel_ctx *ctx, const pel_alignment *found, const pel_align_row *row) {
    pel_buf key = pel_buf_in(ctx);
    pel_str numbers;
    pel_put(&key, pel_align_shape_of(ctx, found->tensors[1].at[row->tensor].name, &numbers));
    const pel_shape *shape = &found->tensors[1].at[row->tensor].tensor->shape;
    for (uint32_t d = 0; d < shape->n; d++) pel_putf(&key, "|%lld", (long long)shape->dims[d].size);
    pel_putf(&key, "|%u %u|%d|%u|%u", (unsigned)row->by, (unsigned)row->values, row->is_stacked, row->joined,
             row->n_order);
    for (uint32_t d = 0; d < row->n_order; d++) pel_putf(&key, ",%u", row->order[d]);
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        const pel_align_piece *piece = &row->pieces.at[p];
        pel_put_byte(&key, '|');
        pel_put(&key, pel_align_shape_of(ctx, found->tensors[0].at[piece->tensor].name, &numbers));
        pel_putf(&key, "%lld:%lld:%lld", (long long)piece->at, (long long)piece->from, (long long)piece->to);
    }
    return pel_intern_str(ctx, pel_buf_str(&key));
}

static bool is_count(const align_family *f, uint32_t at) {
    for (uint32_t r = 1; r < f->rows.n; r++)
        if (f->rows.at[r].numbers[at] != f->rows.at[0].numbers[at] + r) return false;
    return true;
}

static bool is_same_column(const align_family *f, uint32_t a, uint32_t b) {
    for (uint32_t r = 0; r < f->rows.n; r++)
        if (f->rows.at[r].numbers[a] != f->rows.at[r].numbers[b]) return false;
    return true;
}

/* Numbers that change get a counter; those that change together share one. */
static void find_loop(pel_ctx *ctx, align_family *f) {
    uint32_t columns[MOST_COUNTERS], n = 0, width = f->rows.at[0].n;
    for (uint32_t r = 0; r < f->rows.n; r++)
        if (!f->rows.at[r].is_plain || f->rows.at[r].n != width) return;
    for (uint32_t c = 0; c < width; c++) {
        bool is_constant = true;
        for (uint32_t r = 1; r < f->rows.n; r++) is_constant &= f->rows.at[r].numbers[c] == f->rows.at[0].numbers[c];
        if (is_constant) continue;
        uint32_t k = 0;
        while (k < n && !is_same_column(f, columns[k], c)) k++;
        if (k == MOST_COUNTERS) return;
        if (k == n) columns[n++] = c;
        f->of[c] = counters[k];
    }
    if (!n || f->rows.n < 2) return;
    pel_buf head = pel_buf_in(ctx);
    pel_put_c(&head, "    for ");
    for (uint32_t k = 0; k < n; k++) pel_putf(&head, "%s%s", k ? ", " : "", counters[k]);
    if (n == 1 && is_count(f, columns[0])) {
        uint32_t first = f->rows.at[0].numbers[columns[0]];
        pel_put_c(&head, " in range(");
        if (first) pel_putf(&head, "%u, ", first);
        pel_putf(&head, "%u):\n", first + f->rows.n);
    } else {
        pel_put_c(&head, " in [");
        for (uint32_t r = 0; r < f->rows.n; r++) {
            pel_put_c(&head, r ? ", " : "");
            for (uint32_t k = 0; k < n; k++)
                pel_putf(&head, "%s%u", k ? ", " : n > 1 ? "(" : "", f->rows.at[r].numbers[columns[k]]);
            if (n > 1) pel_put_byte(&head, ')');
        }
        pel_put_c(&head, "]:\n");
    }
    f->loop = pel_intern_str(ctx, pel_buf_str(&head));
}

align_families pel_align_families_of(pel_ctx *ctx, const pel_alignment *found) {
    align_families all = { 0 };
    pel_map known = { 0 };
    for (uint32_t i = 0; i < found->rows.n; i++) {
        pel_name key = key_of(ctx, found, &found->rows.at[i]);
        align_family *f = pel_map_pointer(&known, PEL_KEY(key));
        if (!f) {
            f = pel_new(ctx, align_family);
            pel_map_set(ctx, &known, PEL_KEY(key), PEL_KEY(f));
            pel_push(ctx, &all, f);
        }
        pel_push(ctx, &f->rows, numbers_of(found, &found->rows.at[i]));
    }
    for (uint32_t i = 0; i < all.n; i++) find_loop(ctx, all.at[i]);
    return all;
}
