/* Aligning two networks: the passes in their order. */
#include "model/align.h"

#include "model/align_inside.h"

#include <stdlib.h>

/* ---- pieces ---- */

bool pel_align_view_of(const pel_align_row *row, const pel_align_piece *piece, const pel_shape *shape,
                       pel_align_view *out) {
    *out = (pel_align_view){ .is_contiguous = true };
    if (!pel_shape_count(shape, &out->count)) return false;
    bool is_whole = piece->at < 0 && !piece->to && !row->n_order;
    if (is_whole) return true;
    if (shape->n > PEL_ALIGN_DIMS || !shape->n) return false;
    int64_t sizes[PEL_ALIGN_DIMS], strides[PEL_ALIGN_DIMS], stride = 1;
    for (uint32_t d = shape->n; d-- > 0; stride *= shape->dims[d].size) {
        sizes[d] = shape->dims[d].size;
        strides[d] = stride;
    }
    uint32_t skip = piece->at >= 0;
    if (skip && piece->at >= sizes[0]) return false;
    if (skip) out->start = (uint64_t)(piece->at * strides[0]);
    out->n = shape->n - skip;
    if (row->n_order && row->n_order != out->n) return false;
    for (uint32_t d = 0; d < out->n; d++) {
        uint32_t from = row->n_order ? row->order[d] : d;
        if (from >= out->n) return false;
        out->sizes[d] = sizes[skip + from];
        out->strides[d] = strides[skip + from];
    }
    if (piece->to) {
        if (!out->n || piece->from < 0 || piece->from >= piece->to || piece->to > out->sizes[0]) return false;
        out->start += (uint64_t)(piece->from * out->strides[0]);
        out->sizes[0] = piece->to - piece->from;
    }
    out->count = 1;
    for (uint32_t d = out->n; d-- > 0;) {
        out->is_contiguous &= out->sizes[d] == 1 || out->strides[d] == (int64_t)out->count;
        out->count *= (uint64_t)out->sizes[d];
    }
    return true;
}

/* ---- lists ---- */

/* Layers with something left, and with elements: what has none says nothing of where it is. */
static align_list left_units(align_run *run, int which) {
    align_list list = { 0 };
    for (uint32_t u = 0; u < run->sides[which].units.n; u++) {
        align_unit *unit = &run->sides[which].units.at[u];
        bool any = false;
        for (uint32_t i = unit->first; i < unit->first + unit->n; i++) any |= !run->out->tensors[which].at[i].is_used;
        if (!any) unit->is_done = true;
        if (!unit->is_done && unit->total) pel_push(run->ctx, &list, u);
    }
    return list;
}

static align_list part_of(const align_list *list, uint32_t first, uint32_t n) {
    return (align_list){ .at = list->at + first, .n = n, .cap = n };
}

/* ---- names that are the same ---- */

static int32_t same_name(const pel_map *names, align_run *run, const pel_align_tensor *row) {
    return (int32_t)pel_map_find(names, PEL_KEY(pel_intern_str(run->ctx, row->name)), UINT32_MAX);
}

/* Numbers are the same in any two networks, so names with one count only where most names are. */
static void by_equal_names(align_run *run) {
    pel_map names = { 0 };
    pel_alignment *out = run->out;
    uint32_t n_same = 0, n_least = out->tensors[0].n < out->tensors[1].n ? out->tensors[0].n : out->tensors[1].n;
    for (uint32_t i = 0; i < out->tensors[0].n; i++)
        pel_map_set(run->ctx, &names, PEL_KEY(pel_intern_str(run->ctx, out->tensors[0].at[i].name)), i);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < out->tensors[1].n; k++) {
            const pel_align_tensor *row = &out->tensors[1].at[k];
            int32_t i = same_name(&names, run, row);
            if (i < 0 || row->is_used || out->tensors[0].at[i].is_used) continue;
            const align_tensor *x = &run->sides[0].tensors.at[i], *y = &run->sides[1].tensors.at[k];
            bool unknown = !x->has_shape || !y->has_shape;
            if (unknown ? out->tensors[0].at[i].count != row->count : !pel_align_same_dims(x, y)) continue;
            n_same += !pass;
            bool has_number = run->sides[1].units.at[y->unit].scope.len > 0;
            if (pass && (!has_number || n_same * 2 >= n_least)) pel_align_add_copy(run, (uint32_t)i, k, PEL_BY_NAME);
        }
}

/* ---- stretches ---- */

static bool is_pair(const align_segment *s) { return s->na == 1 && s->nb == 1; }

static bool touches(const align_segment *s, const align_segment *next) {
    return s->a + s->na == next->a && s->b + s->nb == next->b;
}

/* Pairs that follow each other and have one signature could be exchanged: their names must say which is which. A pair
 * of vectors alone between layers that were passed over proves nothing. */
static void match_pairs(align_run *run, const align_list *a, const align_list *b, const align_segments *all,
                        uint32_t from, uint32_t to) {
    const align_segment *first = &all->at[from], *last = &all->at[to - 1];
    align_list x = part_of(a, first->a, last->a + 1 - first->a), y = part_of(b, first->b, last->b + 1 - first->b);
    if (to - from > 1) {
        pel_align_group(run, &x, &y, true);
        return;
    }
    bool is_near = (from && touches(&all->at[from - 1], first)) || (to < all->n && touches(last, &all->at[to])) ||
                   (a->n == 1 && b->n == 1);
    const align_unit *unit = &run->sides[0].units.at[x.at[0]], *other = &run->sides[1].units.at[y.at[0]];
    bool is_named = pel_align_is_named(unit, other);
    if (unit->is_flat && !is_near && !is_named) return;
    pel_align_pair(run, x.at[0], y.at[0], is_named ? PEL_BY_WORDS : PEL_BY_ORDER);
}

/* The path that layers share, up to a whole part. */
static pel_str shared_path(const align_run *run, int which, const align_list *list, uint32_t first, uint32_t n) {
    pel_str shared = run->sides[which].units.at[list->at[first]].path;
    for (uint32_t i = 1; i < n; i++) {
        pel_str path = run->sides[which].units.at[list->at[first + i]].path;
        size_t same = 0;
        while (same < path.len && same < shared.len && path.ptr[same] == shared.ptr[same]) same++;
        while (same && shared.ptr[same - 1] != '.' && shared.ptr[same - 1] != '/') same--;
        shared = pel_str_cut(shared, 0, same);
    }
    return shared;
}

/* Whether the layers of a stretch lie below the path, and in the same block or in none. */
static bool lies_below(const align_run *run, int which, const align_list *list, uint32_t first, uint32_t n,
                       pel_str path, pel_str block) {
    for (uint32_t i = 0; i < n; i++) {
        const align_unit *unit = &run->sides[which].units.at[list->at[first + i]];
        if (!pel_str_starts(unit->path, path) || !pel_str_eq(unit->block, block)) return false;
    }
    return true;
}

/* Where layers come in another order, a stretch that ends early has its ends by chance: a shortcut that is first on one
 * side is as large as the convolution that is last on the other. So it takes in what touches it in its block. */
static uint32_t rest_of_block(const align_run *run, const align_list *a, const align_list *b, const align_segments *all,
                              uint32_t at, uint32_t step) {
    const align_segment *s = &all->at[at];
    pel_str of_a = shared_path(run, 0, a, s->a, s->na), of_b = shared_path(run, 1, b, s->b, s->nb);
    pel_str block_a = run->sides[0].units.at[a->at[s->a]].block, block_b = run->sides[1].units.at[b->at[s->b]].block;
    for (;;) {
        uint32_t next = at + step; /* going back, 0 - 1 is beyond the end */
        if (next >= all->n) return at;
        const align_segment *n = &all->at[next];
        bool is_near = step == 1 ? touches(&all->at[at], n) : touches(n, &all->at[at]);
        if (!is_near ||
            (!lies_below(run, 0, a, n->a, n->na, of_a, block_a) && !lies_below(run, 1, b, n->b, n->nb, of_b, block_b)))
            return at;
        at = next;
    }
}

/* In how many lists of blocks a layer is. */
static uint32_t levels(const align_unit *unit) {
    uint32_t n = 0;
    for (size_t i = 0; i < unit->path.len; i++)
        n += unit->path.ptr[i] >= '0' && unit->path.ptr[i] <= '9' &&
             (!i || unit->path.ptr[i - 1] == '.' || unit->path.ptr[i - 1] == '/');
    return n;
}

/* Neighbours of one signature in one block. Where both sides go on to another block, or into one, nothing is
 * exchanged. */
static bool may_be_exchanged(const align_run *run, const align_list *a, const align_list *b, const align_segment *s,
                             const align_segment *next) {
    const align_unit *x = &run->sides[0].units.at[a->at[s->a]], *y = &run->sides[0].units.at[a->at[next->a]];
    const align_unit *u = &run->sides[1].units.at[b->at[s->b]], *v = &run->sides[1].units.at[b->at[next->b]];
    if (levels(x) != levels(y) && levels(u) != levels(v)) return false;
    return is_pair(next) && touches(s, next) && x->turned == y->turned &&
           (pel_str_eq(x->block, y->block) || pel_str_eq(u->block, v->block));
}

static void match_stretches(align_run *run) {
    align_list a = left_units(run, 0), b = left_units(run, 1);
    align_segments all = { 0 };
    if (!a.n || !b.n) return;
    pel_align_cut(run, &a, &b, &all);
    bool *is_matched = pel_new_array(run->ctx, all.n + 1, bool);
    for (uint32_t i = 0; i < all.n; i++) {
        if (is_pair(&all.at[i]) || is_matched[i]) continue;
        uint32_t first = rest_of_block(run, &a, &b, &all, i, UINT32_MAX), last = rest_of_block(run, &a, &b, &all, i, 1);
        const align_segment *s = &all.at[first], *e = &all.at[last];
        align_list x = part_of(&a, s->a, e->a + e->na - s->a), y = part_of(&b, s->b, e->b + e->nb - s->b);
        for (uint32_t k = first; k <= last; k++) is_matched[k] = true;
        pel_align_fused(run, &x, &y);
        pel_align_experts(run, &x, &y);
        pel_align_group(run, &x, &y, true);
    }
    for (uint32_t i = 0, end; i < all.n; i = end) {
        end = i + 1;
        if (is_matched[i]) continue;
        while (end < all.n && !is_matched[end] && may_be_exchanged(run, &a, &b, &all.at[end - 1], &all.at[end])) end++;
        match_pairs(run, &a, &b, &all, i, end);
    }
}

/* ---- ties ---- */

/* A tensor that is another one of its file needs no partner of its own. */
static void settle_ties(align_run *run) {
    pel_map rows = { 0 }, names = { 0 };
    pel_alignment *out = run->out;
    for (uint32_t i = 0; i < out->rows.n; i++)
        pel_map_set(run->ctx, &rows, PEL_KEY(pel_intern_str(run->ctx, out->tensors[1].at[out->rows.at[i].tensor].name)),
                    i);
    for (uint32_t i = 0; i < out->tensors[0].n; i++)
        pel_map_set(run->ctx, &names, PEL_KEY(pel_intern_str(run->ctx, out->tensors[0].at[i].name)), i);
    for (uint32_t k = 0; k < out->tensors[1].n; k++) {
        pel_align_tensor *row = &out->tensors[1].at[k];
        if (row->is_used || !row->tensor->tied_to.len) continue;
        uint64_t at;
        if (!pel_map_get(&rows, PEL_KEY(pel_intern_str(run->ctx, row->tensor->tied_to)), &at)) continue;
        pel_align_row same = out->rows.at[at];
        same.tensor = k;
        pel_push(run->ctx, &out->rows, same);
        row->is_used = true;
    }
    for (uint32_t i = 0; i < out->tensors[0].n; i++) {
        pel_align_tensor *row = &out->tensors[0].at[i];
        uint64_t at;
        if (row->is_used || !row->tensor->tied_to.len) continue;
        if (pel_map_get(&names, PEL_KEY(pel_intern_str(run->ctx, row->tensor->tied_to)), &at))
            row->is_used = out->tensors[0].at[at].is_used;
    }
}

/* Bytes that a tensor of A has that is in a row already: a head that is tied in one file and not in the other. */
static void settle_copies(align_run *run) {
    pel_map of_a = { 0 };
    pel_alignment *out = run->out;
    for (int pass = 0; pass < 2 && out->has_values; pass++)
        for (uint32_t i = 0; i < out->tensors[0].n; i++) {
            align_tensor *own = &run->sides[0].tensors.at[i];
            uint64_t same;
            if (!own->has_hash || own->is_constant) continue;
            if (!pass && out->tensors[0].at[i].is_used) pel_map_set(run->ctx, &of_a, own->hash, i);
            if (pass && !out->tensors[0].at[i].is_used && pel_map_get(&of_a, own->hash, &same))
                out->tensors[0].at[i].is_used = pel_str_eq(own->bytes, run->sides[0].tensors.at[same].bytes);
        }
    for (uint32_t k = 0; k < out->tensors[1].n && out->has_values; k++) {
        const align_tensor *own = &run->sides[1].tensors.at[k];
        uint64_t same;
        if (out->tensors[1].at[k].is_used || !own->has_hash || own->is_constant) continue;
        if (!pel_map_get(&of_a, own->hash, &same)) continue;
        const align_tensor *from = &run->sides[0].tensors.at[same];
        if (!pel_str_eq(from->bytes, own->bytes) ||
            !pel_str_eq(out->tensors[0].at[same].tensor->dtype, out->tensors[1].at[k].tensor->dtype))
            continue;
        pel_align_row *row = pel_align_add(run, k, PEL_BY_VALUES);
        row->values = PEL_VALUES_EQUAL;
        pel_push(run->ctx, &row->pieces, (pel_align_piece){ .tensor = (uint32_t)same, .at = -1 });
    }
}

/* ---- too little in common ---- */

/* In two networks that have little in common, shapes and order fit somewhere by chance. */
static void doubt(align_run *run) {
    uint64_t fits = 0, least = UINT64_MAX;
    pel_alignment *out = run->out;
    for (int which = 0; which < 2; which++) {
        uint64_t all = 0;
        for (uint32_t i = 0; i < out->tensors[which].n; i++) all += out->tensors[which].at[i].count;
        if (all < least) least = all;
    }
    for (uint32_t i = 0; i < out->rows.n; i++) fits += out->tensors[1].at[out->rows.at[i].tensor].count;
    if (fits >= least / 2 || out->is_same) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < out->rows.n; i++) {
        pel_align_row row = out->rows.at[i];
        bool is_chance = row.by >= PEL_BY_SHAPE && row.values != PEL_VALUES_EQUAL;
        if (!is_chance) {
            out->rows.at[kept++] = row;
            continue;
        }
        out->tensors[1].at[row.tensor].is_used = false;
        for (uint32_t p = 0; p < row.pieces.n; p++) out->tensors[0].at[row.pieces.at[p].tensor].is_used = false;
    }
    out->rows.n = kept;
}

/* ---- all of it ---- */

static int by_tensor(const void *a, const void *b) {
    const pel_align_row *x = a, *y = b;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static int by_first(const void *a, const void *b) {
    const pel_align_open *x = a, *y = b;
    return (x->b.at[0] > y->b.at[0]) - (x->b.at[0] < y->b.at[0]);
}

static void vote_all(align_run *run) {
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        const pel_align_row *row = &run->out->rows.at[i];
        pel_align_vote(run, run->sides[0].tensors.at[row->pieces.at[0].tensor].unit,
                       run->sides[1].tensors.at[row->tensor].unit);
    }
}

void pel_network_align(pel_ctx *ctx, const pel_network *a, const pel_network *b, pel_align_bytes *bytes, void *arg,
                       pel_alignment *out) {
    align_run run = { .ctx = ctx, .out = out, .bytes = bytes, .arg = arg };
    pel_align_collect(&run, 0, a);
    pel_align_collect(&run, 1, b);
    pel_align_read_values(&run);
    pel_align_by_values(&run);
    pel_align_parts_by_values(&run);
    by_equal_names(&run);
    vote_all(&run);
    match_stretches(&run);
    pel_align_rest(&run);
    align_list x = left_units(&run, 0), y = left_units(&run, 1);
    pel_align_group(&run, &x, &y, false);
    pel_align_check_all(&run);
    settle_ties(&run);
    settle_copies(&run);
    doubt(&run);
    pel_align_leave_open(&run);
    if (out->rows.n) qsort(out->rows.at, out->rows.n, sizeof *out->rows.at, by_tensor);
    if (out->open.n) qsort(out->open.at, out->open.n, sizeof *out->open.at, by_first);
}

pel_align_counts pel_alignment_count(const pel_alignment *found) {
    pel_align_counts n = { .rows = found->rows.n };
    for (uint32_t i = 0; i < found->rows.n; i++) {
        pel_align_values values = found->rows.at[i].values;
        n.equal += values == PEL_VALUES_EQUAL;
        n.alike += values == PEL_VALUES_ALIKE;
        n.differ += values == PEL_VALUES_DIFFER;
        n.by_names += values == PEL_NOT_COMPARED;
    }
    for (uint32_t i = 0; i < found->tensors[0].n; i++)
        n.only_a += !found->tensors[0].at[i].is_used && !found->tensors[0].at[i].is_open;
    for (uint32_t i = 0; i < found->tensors[1].n; i++) {
        n.only_b += !found->tensors[1].at[i].is_used && !found->tensors[1].at[i].is_open;
        n.open += found->tensors[1].at[i].is_open;
    }
    return n;
}
