/* What the bytes say. Two tensors of the same bytes are one, if no other has them. */
#include "model/align_inside.h"

static uint64_t hash_of(pel_str bytes) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ bytes.len, word = 0;
    size_t i = 0;
    for (; i + 8 <= bytes.len; i += 8) {
        memcpy(&word, bytes.ptr + i, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    if (i < bytes.len) memcpy(&word, bytes.ptr + i, bytes.len - i);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 29;
}

static bool is_constant(pel_str bytes, uint32_t width) {
    return bytes.len >= width && memcmp(bytes.ptr, bytes.ptr + width, bytes.len - width) == 0;
}

void pel_align_read_values(align_run *run) {
    if (!run->bytes) return;
    uint32_t n[2] = { 0 };
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < run->out->tensors[which].n; i++) {
            const pel_align_tensor *row = &run->out->tensors[which].at[i];
            align_tensor *own = &run->sides[which].tensors.at[i];
            uint32_t width = pel_dtype_size(row->tensor->dtype);
            if (!width || !row->count || !own->has_shape) continue;
            if (!run->bytes(run->ctx, run->arg, row->tensor, &own->bytes) || own->bytes.len != row->count * width)
                continue;
            own->has_hash = true;
            own->hash = hash_of(own->bytes);
            own->is_constant = is_constant(own->bytes, width);
            n[which]++;
        }
    run->out->has_values = n[0] && n[1];
}

/* Tensors with bytes that no other tensor of their side has, by hash. */
static void index_side(align_run *run, int which, pel_map *map) {
    for (uint32_t i = 0; i < run->out->tensors[which].n; i++) {
        const align_tensor *own = &run->sides[which].tensors.at[i];
        if (!own->has_hash || own->is_constant || own->is_tied) continue;
        if (!pel_map_set(run->ctx, map, own->hash, i)) pel_map_set(run->ctx, map, own->hash, UINT32_MAX);
    }
}

static bool same_bytes(const align_run *run, uint32_t a, uint32_t b) {
    const align_tensor *x = &run->sides[0].tensors.at[a], *y = &run->sides[1].tensors.at[b];
    return pel_str_eq(run->out->tensors[0].at[a].tensor->dtype, run->out->tensors[1].at[b].tensor->dtype) &&
           pel_str_eq(x->bytes, y->bytes);
}

/* Pairs of tensors that are the only ones with their bytes. Another shape is a view of the same elements. */
void pel_align_by_values(align_run *run) {
    pel_map of_a = { 0 }, of_b = { 0 };
    if (!run->out->has_values) return;
    index_side(run, 0, &of_a);
    index_side(run, 1, &of_b);
    for (uint32_t k = 0; k < run->out->tensors[1].n; k++) {
        const align_tensor *own = &run->sides[1].tensors.at[k];
        uint64_t a;
        if (!own->has_hash || own->is_tied || pel_map_find(&of_b, own->hash, UINT32_MAX) != k) continue;
        if (!pel_map_get(&of_a, own->hash, &a) || a == UINT32_MAX || !same_bytes(run, (uint32_t)a, k)) continue;
        pel_align_row *row = pel_align_add(run, k, PEL_BY_VALUES);
        pel_push(run->ctx, &row->pieces, (pel_align_piece){ .tensor = (uint32_t)a, .at = -1 });
        row->values = PEL_VALUES_EQUAL;
        run->out->tensors[0].at[a].is_used = true;
    }
}

/* ---- parts ---- */

static int64_t rows_of(const pel_align_tensor *row) {
    return row->tensor->shape.n ? row->tensor->shape.dims[0].size : 1;
}

/* Where the bytes of the part are in the whole, at the beginning of a row from `from` on; -1: nowhere. */
static int64_t row_in(const align_tensor *whole, int64_t n, const align_tensor *part, int64_t from, int64_t last) {
    size_t step = whole->bytes.len / (size_t)n;
    for (int64_t i = from; i <= last && (size_t)i * step + part->bytes.len <= whole->bytes.len; i++)
        if (memcmp(whole->bytes.ptr + (size_t)i * step, part->bytes.ptr, part->bytes.len) == 0) return i;
    return -1;
}

/* May b's bytes be rows of a's, by their shapes? */
static bool may_hold(const align_run *run, int which, uint32_t whole, uint32_t part) {
    const pel_align_tensor *x = &run->out->tensors[which].at[whole], *y = &run->out->tensors[!which].at[part];
    const align_tensor *own = &run->sides[which].tensors.at[whole], *other = &run->sides[!which].tensors.at[part];
    if (!own->has_hash || !other->has_hash || own->is_constant || other->is_constant) return false;
    if (!pel_str_eq(x->tensor->dtype, y->tensor->dtype) || y->is_used) return false;
    const pel_shape *a = &x->tensor->shape, *b = &y->tensor->shape;
    if (!a->n || a->n != b->n || b->dims[0].size >= a->dims[0].size) return false;
    for (uint32_t d = 1; d < a->n; d++)
        if (a->dims[d].size != b->dims[d].size) return false;
    return true;
}

#define MOST_TRIED 4000 /* tensors of a side that are left, to be looked for in each other */

static align_list left_with_values(align_run *run, int which) {
    align_list left = { 0 };
    for (uint32_t i = 0; i < run->out->tensors[which].n; i++)
        if (!run->out->tensors[which].at[i].is_used && run->sides[which].tensors.at[i].has_hash &&
            !run->sides[which].tensors.at[i].is_constant)
            pel_push(run->ctx, &left, i);
    if (left.n > MOST_TRIED) left.n = 0;
    return left;
}

static void cut_out(align_run *run, uint32_t whole, const align_list *parts) {
    const pel_align_tensor *row = &run->out->tensors[0].at[whole];
    int64_t n = rows_of(row);
    for (uint32_t k = 0; k < parts->n; k++) {
        uint32_t part = parts->at[k];
        if (!may_hold(run, 0, whole, part)) continue;
        int64_t at = row_in(&run->sides[0].tensors.at[whole], n, &run->sides[1].tensors.at[part], 0, n);
        if (at < 0) continue;
        pel_align_row *made = pel_align_add(run, part, PEL_BY_VALUES);
        made->values = PEL_VALUES_EQUAL;
        pel_push(run->ctx, &made->pieces,
                 (pel_align_piece){ whole, -1, at, at + rows_of(&run->out->tensors[1].at[part]) });
        run->out->tensors[0].at[whole].is_used = true;
    }
}

/* The whole is put together from its beginning: what comes next must be one of the parts. */
static void put_together(align_run *run, uint32_t whole, const align_list *parts) {
    PEL_VEC(pel_align_piece) pieces = { 0 };
    int64_t at = 0, n = rows_of(&run->out->tensors[1].at[whole]);
    while (at < n) {
        uint32_t found = UINT32_MAX;
        for (uint32_t k = 0; k < parts->n && found == UINT32_MAX; k++)
            if (may_hold(run, 1, whole, parts->at[k]) &&
                row_in(&run->sides[1].tensors.at[whole], n, &run->sides[0].tensors.at[parts->at[k]], at, at) == at)
                found = parts->at[k];
        if (found == UINT32_MAX) return;
        pel_push(run->ctx, &pieces, (pel_align_piece){ .tensor = found, .at = -1 });
        at += rows_of(&run->out->tensors[0].at[found]);
    }
    pel_align_row *made = pel_align_add(run, whole, PEL_BY_VALUES);
    made->values = PEL_VALUES_EQUAL;
    for (uint32_t i = 0; i < pieces.n; i++) {
        pel_push(run->ctx, &made->pieces, pieces.at[i]);
        run->out->tensors[0].at[pieces.at[i].tensor].is_used = true;
    }
}

/* What one side has in one tensor and the other in several. */
void pel_align_parts_by_values(align_run *run) {
    if (!run->out->has_values) return;
    align_list a = left_with_values(run, 0), b = left_with_values(run, 1);
    for (uint32_t i = 0; i < a.n; i++) cut_out(run, a.at[i], &b);
    a = left_with_values(run, 0), b = left_with_values(run, 1);
    for (uint32_t k = 0; k < b.n; k++) put_together(run, b.at[k], &a);
}

/* ---- rows against bytes ---- */

/* The elements of a piece in their order: contiguous, or one by one. Compares them with `to`; n: how many there are. */
static bool piece_equals(const align_run *run, const pel_align_row *row, const pel_align_piece *piece, const char *to,
                         uint64_t most, uint64_t *n) {
    const pel_align_tensor *a = &run->out->tensors[0].at[piece->tensor];
    const align_tensor *own = &run->sides[0].tensors.at[piece->tensor];
    uint32_t width = pel_dtype_size(a->tensor->dtype);
    pel_align_view view;
    if (!pel_align_view_of(row, piece, &a->tensor->shape, &view)) return false;
    *n = view.count;
    if (view.count > most) return false;
    if (view.is_contiguous) return memcmp(own->bytes.ptr + view.start * width, to, (size_t)(view.count * width)) == 0;
    int64_t index[PEL_ALIGN_DIMS] = { 0 };
    uint64_t at = view.start;
    for (uint64_t i = 0; i < view.count; i++) {
        if (memcmp(own->bytes.ptr + at * width, to + i * width, width) != 0) return false;
        for (uint32_t d = view.n; d-- > 0;) {
            at += (uint64_t)view.strides[d];
            if (++index[d] < view.sizes[d]) break;
            at -= (uint64_t)(index[d] * view.strides[d]);
            index[d] = 0;
        }
    }
    return true;
}

pel_align_values pel_align_check(align_run *run, const pel_align_row *row) {
    const align_tensor *own = &run->sides[1].tensors.at[row->tensor];
    const pel_model_tensor *to = run->out->tensors[1].at[row->tensor].tensor;
    uint64_t done = 0, count = run->out->tensors[1].at[row->tensor].count;
    bool is_constant = own->is_constant;
    if (!own->has_hash) return PEL_NOT_COMPARED;
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        const pel_align_piece *piece = &row->pieces.at[p];
        const pel_align_tensor *a = &run->out->tensors[0].at[piece->tensor];
        if (!run->sides[0].tensors.at[piece->tensor].has_hash || !pel_str_eq(a->tensor->dtype, to->dtype))
            return PEL_NOT_COMPARED;
    }
    for (uint32_t p = 0; p < row->pieces.n; p++) {
        uint64_t n;
        if (!piece_equals(run, row, &row->pieces.at[p], own->bytes.ptr + done * pel_dtype_size(to->dtype), count - done,
                          &n))
            return PEL_VALUES_DIFFER;
        done += n;
    }
    return done != count ? PEL_VALUES_DIFFER : is_constant ? PEL_VALUES_ALIKE : PEL_VALUES_EQUAL;
}

/* A square matrix may be turned without anybody seeing it. */
static bool is_square(const align_run *run, const pel_align_row *row) {
    const pel_shape *shape = &run->out->tensors[1].at[row->tensor].tensor->shape;
    return row->pieces.n == 1 && !row->is_stacked && shape->n == 2 && shape->dims[0].size == shape->dims[1].size &&
           shape->dims[0].size > 1;
}

static bool is_embedding(pel_str name) {
    return pel_str_find(name, PEL_STR("embed")) || pel_str_find(name, PEL_STR("wte"));
}

/* Rows of matrices that stand as they are, and rows of turned ones, among those whose shape shows it. */
static void count_turned(const align_run *run, uint32_t *plain, uint32_t *turned) {
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        const pel_align_row *row = &run->out->rows.at[i];
        const pel_align_tensor *to = &run->out->tensors[1].at[row->tensor];
        if (to->tensor->shape.n != 2 || is_square(run, row) || is_embedding(to->name)) continue;
        *turned += row->n_order == 2;
        *plain += !row->n_order && run->sides[1].units.at[run->sides[1].tensors.at[row->tensor].unit].scope.len > 0;
    }
}

static void turn(pel_align_row *row) {
    row->n_order = row->n_order ? 0 : 2;
    row->order[0] = 1;
    row->order[1] = 0;
}

/* Without values, a square is turned if all other matrices are; if some are, nobody knows: false. */
static bool settle_square(align_run *run, pel_align_row *row, uint32_t plain, uint32_t turned) {
    if (row->values == PEL_VALUES_DIFFER) {
        turn(row);
        pel_align_values other = pel_align_check(run, row);
        if (other == PEL_VALUES_EQUAL) {
            row->values = other;
            return true;
        }
        turn(row);
    }
    if (!turned || row->values == PEL_VALUES_EQUAL || is_embedding(run->out->tensors[1].at[row->tensor].name))
        return true;
    if (plain) return false;
    turn(row);
    row->values = pel_align_check(run, row);
    return true;
}

static void take_back(align_run *run, uint32_t at) {
    const pel_align_row *row = &run->out->rows.at[at];
    run->out->tensors[1].at[row->tensor].is_used = false;
    for (uint32_t p = 0; p < row->pieces.n; p++) run->out->tensors[0].at[row->pieces.at[p].tensor].is_used = false;
}

/* Holds each row against the bytes. If most of them are the same, the two have the same weights, and a row that says
 * otherwise and has no name for it is taken back. */
void pel_align_check_all(align_run *run) {
    uint32_t plain = 0, turned = 0, equal = 0, differ = 0, kept = 0;
    count_turned(run, &plain, &turned);
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        pel_align_row *row = &run->out->rows.at[i];
        if (row->by != PEL_BY_VALUES && run->out->has_values) row->values = pel_align_check(run, row);
        bool is_sure = row->by == PEL_BY_VALUES || !is_square(run, row) || settle_square(run, row, plain, turned);
        if (!is_sure) row->pieces.n = 0;
        equal += row->values == PEL_VALUES_EQUAL;
        differ += row->values == PEL_VALUES_DIFFER;
    }
    run->out->is_same = equal > differ;
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        const pel_align_row *row = &run->out->rows.at[i];
        bool is_wrong = run->out->is_same && row->values == PEL_VALUES_DIFFER && row->by != PEL_BY_NAME;
        if (is_wrong || !row->pieces.n) {
            take_back(run, i);
            continue;
        }
        run->out->rows.at[kept++] = *row;
    }
    run->out->rows.n = kept;
}
