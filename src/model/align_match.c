/* Which layer is which, in a stretch of both networks. A pair needs a reason: a name, a word, a place in a row of
 * numbers, or a shape that nothing else has there. What has none stays open. */
#include "model/align_inside.h"

#include <stdlib.h>

/* ---- rows ---- */

pel_align_row *pel_align_add(align_run *run, uint32_t tensor, pel_align_by by) {
    pel_push(run->ctx, &run->out->rows, (pel_align_row){ .tensor = tensor, .by = by });
    run->out->tensors[1].at[tensor].is_used = true;
    return &run->out->rows.at[run->out->rows.n - 1];
}

/* Both layers lie in the same block, as far as their numbers say it. */
void pel_align_vote(align_run *run, uint32_t of_a, uint32_t of_b) {
    const align_unit *a = &run->sides[0].units.at[of_a], *b = &run->sides[1].units.at[of_b];
    uint64_t from = PEL_KEY(pel_intern_str(run->ctx, a->scope)), to = PEL_KEY(pel_intern_str(run->ctx, b->scope)),
             known;
    if (!pel_map_get(&run->scopes, from, &known))
        pel_map_set(run->ctx, &run->scopes, from, to);
    else if (known != to)
        pel_map_set(run->ctx, &run->scopes, from, 0);
}

void pel_align_add_copy(align_run *run, uint32_t a, uint32_t b, pel_align_by by) {
    uint8_t order[PEL_ALIGN_DIMS];
    int n = 0;
    const align_tensor *x = &run->sides[0].tensors.at[a], *y = &run->sides[1].tensors.at[b];
    if (!pel_align_same_dims(x, y) && x->has_shape && y->has_shape)
        n = pel_align_order_of(&run->out->tensors[0].at[a], &run->out->tensors[1].at[b], order);
    if (n < 0) return;
    pel_align_row *row = pel_align_add(run, b, by);
    row->n_order = (uint8_t)n;
    if (n) memcpy(row->order, order, (size_t)n);
    pel_push(run->ctx, &row->pieces, (pel_align_piece){ .tensor = a, .at = -1 });
    run->out->tensors[0].at[a].is_used = true;
}

static bool kinds_fit(const align_tensor *a, const align_tensor *b) {
    if (a->kind == b->kind) return true;
    return (a->kind == ALIGN_WEIGHT || a->kind == ALIGN_OTHER) && (b->kind == ALIGN_WEIGHT || b->kind == ALIGN_OTHER);
}

void pel_align_pair(align_run *run, uint32_t a, uint32_t b, pel_align_by by) {
    align_unit *x = &run->sides[0].units.at[a], *y = &run->sides[1].units.at[b];
    for (uint32_t k = y->first; k < y->first + y->n; k++) {
        if (run->out->tensors[1].at[k].is_used) continue;
        for (uint32_t i = x->first; i < x->first + x->n; i++) {
            if (run->out->tensors[0].at[i].is_used) continue;
            if (!kinds_fit(&run->sides[0].tensors.at[i], &run->sides[1].tensors.at[k])) continue;
            pel_align_add_copy(
                run, i, k,
                pel_str_eq(run->out->tensors[0].at[i].name, run->out->tensors[1].at[k].name) ? PEL_BY_NAME : by);
            break;
        }
    }
    x->is_done = y->is_done = true;
    pel_align_vote(run, a, b);
}

/* ---- reasons ---- */

bool pel_align_roles_fit(uint8_t a, uint8_t b) {
    const uint8_t out = ROLE_OUT | ROLE_DOWN; /* one word for the end of both halves */
    if (!a || !b || a == b) return true;
    return (a & out) && (b & out) && !(a & ~out) && !(b & ~out);
}

bool pel_align_units_fit(const align_unit *a, const align_unit *b) {
    if (!pel_align_roles_fit(a->role, b->role)) return false;
    if (!a->is_flat || !b->is_flat) return true;
    int x = pel_align_place(a->path), y = pel_align_place(b->path);
    return !x || !y || x == y;
}

pel_str pel_align_last(pel_str path) {
    size_t start = path.len;
    while (start && path.ptr[start - 1] != '.' && path.ptr[start - 1] != '/') start--;
    return pel_str_from(path, start);
}

typedef bool align_reason(const align_unit *a, const align_unit *b);

static bool same_path(const align_unit *a, const align_unit *b) { return pel_str_eq(a->path, b->path); }
static bool same_role(const align_unit *a, const align_unit *b) { return a->role && a->role == b->role; }
static bool same_role_and_half(const align_unit *a, const align_unit *b) {
    int half = pel_align_half(a->path);
    return a->role && a->role == b->role && half && half == pel_align_half(b->path);
}
/* A parameter's own name: cls_token. */
static bool same_own_name(const align_unit *a, const align_unit *b) {
    return a->is_parameter && b->is_parameter && pel_align_units_fit(a, b) &&
           pel_str_eq(pel_align_last(a->path), pel_align_last(b->path));
}
static bool same_words(const align_unit *a, const align_unit *b) {
    return pel_align_roles_fit(a->role, b->role) && pel_align_same_words(a->path, b->path);
}

bool pel_align_is_named(const align_unit *a, const align_unit *b) { return same_own_name(a, b) || same_words(a, b); }

static uint32_t only_fit(const align_run *run, int which, uint32_t unit, const align_list *others, align_reason *fits) {
    uint32_t found = UINT32_MAX;
    const align_unit *own = &run->sides[which].units.at[unit];
    for (uint32_t i = 0; i < others->n; i++) {
        const align_unit *other = &run->sides[!which].units.at[others->at[i]];
        if (other->is_done || !fits(which ? other : own, which ? own : other)) continue;
        if (found != UINT32_MAX) return UINT32_MAX;
        found = others->at[i];
    }
    return found;
}

/* Pairs that fit each other and nobody else. */
static void pair_by(align_run *run, const align_list *a, const align_list *b, align_reason *fits, pel_align_by by) {
    uint32_t *found = pel_new_array(run->ctx, a->n + 1, uint32_t);
    for (uint32_t i = 0; i < a->n; i++) {
        found[i] = UINT32_MAX;
        if (run->sides[0].units.at[a->at[i]].is_done) continue;
        uint32_t other = only_fit(run, 0, a->at[i], b, fits);
        if (other != UINT32_MAX && only_fit(run, 1, other, a, fits) == a->at[i]) found[i] = other;
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (found[i] != UINT32_MAX) pel_align_pair(run, a->at[i], found[i], by);
}

static void pair_by_words(align_run *run, const align_list *a, const align_list *b) {
    static align_reason *const reasons[] = { same_role, same_role_and_half, same_own_name, same_words };
    for (size_t i = 0; i < PEL_COUNT(reasons); i++) pair_by(run, a, b, reasons[i], PEL_BY_WORDS);
}

static align_list left_of(align_run *run, int which, const align_list *units) {
    align_list left = { 0 };
    for (uint32_t i = 0; i < units->n; i++)
        if (!run->sides[which].units.at[units->at[i]].is_done) pel_push(run->ctx, &left, units->at[i]);
    return left;
}

/* Both sides number what is left, or say by words what comes first. */
static void pair_by_rank(align_run *run, const align_list *a, const align_list *b) {
    uint32_t *of_a = pel_new_array(run->ctx, a->n, uint32_t), *of_b = pel_new_array(run->ctx, b->n, uint32_t);
    if (!pel_align_ranks(run->ctx, &run->sides[0], a, of_a) || !pel_align_ranks(run->ctx, &run->sides[1], b, of_b))
        return;
    for (uint32_t i = 0; i < a->n; i++)
        if (!pel_align_roles_fit(run->sides[0].units.at[a->at[of_a[i]]].role,
                                 run->sides[1].units.at[b->at[of_b[i]]].role))
            return;
    for (uint32_t i = 0; i < a->n; i++) pel_align_pair(run, a->at[of_a[i]], b->at[of_b[i]], PEL_BY_WORDS);
}

/* Layers of one signature. Where each side has as many as the other, what is left over at the end are partners; and
 * numbers and places can be held against each other. */
static void match_alike(align_run *run, const align_list *a, const align_list *b, bool is_local) {
    pair_by(run, a, b, same_path, PEL_BY_NAME);
    pair_by_words(run, a, b);
    align_list x = left_of(run, 0, a), y = left_of(run, 1, b);
    if (x.n != y.n || !x.n) return;
    const align_unit *first = &run->sides[0].units.at[x.at[0]], *other = &run->sides[1].units.at[y.at[0]];
    if (x.n > 1)
        pair_by_rank(run, &x, &y);
    else if (a->n == b->n && pel_align_units_fit(first, other) && (is_local || !first->is_flat))
        pel_align_pair(run, x.at[0], y.at[0], a->n == 1 ? PEL_BY_SHAPE : PEL_BY_ELIMINATION);
}

static align_list with_signature(align_run *run, int which, const align_list *units, pel_name signature, bool turned) {
    align_list found = { 0 };
    for (uint32_t i = 0; i < units->n; i++) {
        const align_unit *unit = &run->sides[which].units.at[units->at[i]];
        if (!unit->is_done && (turned ? unit->turned : unit->signature) == signature)
            pel_push(run->ctx, &found, units->at[i]);
    }
    return found;
}

/* Of the first layer with this signature, and of the first with the same sizes in another order: is the former before
 * the latter? 0: there are not both. */
static int comes_first(const align_run *run, int which, const align_list *units, const align_unit *unit) {
    uint32_t own = UINT32_MAX, other = UINT32_MAX;
    for (uint32_t i = 0; i < units->n; i++) {
        const align_unit *one = &run->sides[which].units.at[units->at[i]];
        if (one->is_done || one->turned != unit->turned) continue;
        if (one->signature == unit->signature && own == UINT32_MAX) own = i;
        if (one->signature != unit->signature && other == UINT32_MAX) other = i;
    }
    return own == UINT32_MAX || other == UINT32_MAX ? 0 : own < other ? 1 : -1;
}

/* Two layers whose matrices are each other turned come in one order on one side and in the other on the other: either
 * they were exchanged or all are turned, and their shapes do not say which. */
static bool is_crossed(const align_run *run, const align_list *a, const align_list *b, const align_unit *unit) {
    int x = comes_first(run, 0, a, unit), y = comes_first(run, 1, b, unit);
    return x && y && x != y;
}

#define MOST_IN_GROUP 5000 /* layers that are held against each other; what is in more stays open */

/* First what has the same shape as it stands, then what has it in another order. */
void pel_align_group(align_run *run, const align_list *a, const align_list *b, bool is_local) {
    if (a->n > MOST_IN_GROUP || b->n > MOST_IN_GROUP) return;
    for (int turned = 0; turned < 2; turned++)
        for (uint32_t i = 0; i < a->n; i++) {
            const align_unit *unit = &run->sides[0].units.at[a->at[i]];
            if (unit->is_done) continue;
            pel_name signature = turned ? unit->turned : unit->signature;
            align_list x = with_signature(run, 0, a, signature, turned);
            align_list y = with_signature(run, 1, b, signature, turned);
            if (!turned && is_crossed(run, a, b, unit)) {
                pair_by(run, &x, &y, same_path, PEL_BY_NAME);
                pair_by_words(run, &x, &y);
                continue;
            }
            if (y.n) match_alike(run, &x, &y, is_local);
        }
}

/* ---- what is left ---- */

static bool in_same_scope(const align_run *run, const align_unit *a, const align_unit *b) {
    uint64_t to = 0;
    if (!pel_map_get(&run->scopes, PEL_KEY(pel_intern_str(run->ctx, a->scope)), &to) || !to) return false;
    return to == PEL_KEY(pel_intern_str(run->ctx, b->scope));
}

static bool may_be(const align_run *run, uint32_t a, uint32_t b) {
    const align_tensor *x = &run->sides[0].tensors.at[a], *y = &run->sides[1].tensors.at[b];
    const align_unit *of_a = &run->sides[0].units.at[x->unit], *of_b = &run->sides[1].units.at[y->unit];
    if (run->out->tensors[0].at[a].is_used || run->out->tensors[1].at[b].is_used) return false;
    if (x->kind != y->kind || !pel_align_same_dims(x, y)) return false;
    return in_same_scope(run, of_a, of_b) && (same_role(of_a, of_b) || pel_align_same_words(of_a->path, of_b->path));
}

typedef struct scoped {
    pel_name scope;
    uint32_t tensor;
} scoped;

static int by_scope(const void *a, const void *b) {
    const scoped *x = a, *y = b;
    if (x->scope != y->scope) return (uintptr_t)x->scope < (uintptr_t)y->scope ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

typedef struct scoped_list {
    scoped *at;
    uint32_t n;
} scoped_list;

/* What is left of a side, sorted by the block it is in (of the other side's numbers). */
static scoped_list left_by_scope(align_run *run, int which) {
    scoped_list list = { pel_new_array(run->ctx, run->out->tensors[which].n + 1, scoped), 0 };
    for (uint32_t i = 0; i < run->out->tensors[which].n; i++) {
        if (run->out->tensors[which].at[i].is_used) continue;
        const align_unit *unit = &run->sides[which].units.at[run->sides[which].tensors.at[i].unit];
        pel_name scope = pel_intern_str(run->ctx, unit->scope);
        if (!which) scope = pel_map_pointer(&run->scopes, PEL_KEY(scope));
        if (scope) list.at[list.n++] = (scoped){ scope, i };
    }
    qsort(list.at, list.n, sizeof *list.at, by_scope);
    return list;
}

static void rest_of_scope(align_run *run, const scoped *a, uint32_t n, const scoped *b, uint32_t m) {
    for (uint32_t k = 0; k < m; k++) {
        uint32_t found = UINT32_MAX, n_found = 0, n_back = 0;
        for (uint32_t i = 0; i < n; i++)
            if (may_be(run, a[i].tensor, b[k].tensor)) found = a[i].tensor, n_found++;
        if (n_found != 1) continue;
        for (uint32_t i = 0; i < m; i++) n_back += may_be(run, found, b[i].tensor);
        if (n_back == 1) pel_align_add_copy(run, found, b[k].tensor, PEL_BY_WORDS);
    }
}

#define MOST_IN_SCOPE 2000 /* tensors of one block that are held against each other */

void pel_align_rest(align_run *run) {
    scoped_list a = left_by_scope(run, 0), b = left_by_scope(run, 1);
    for (uint32_t i = 0, k = 0; i < a.n && k < b.n;) {
        uint32_t i_end = i, k_end = k;
        while (i_end < a.n && a.at[i_end].scope == a.at[i].scope) i_end++;
        while (k_end < b.n && b.at[k_end].scope == b.at[k].scope) k_end++;
        if (a.at[i].scope == b.at[k].scope) {
            if (i_end - i < MOST_IN_SCOPE && k_end - k < MOST_IN_SCOPE)
                rest_of_scope(run, a.at + i, i_end - i, b.at + k, k_end - k);
            i = i_end, k = k_end;
        } else if ((uintptr_t)a.at[i].scope < (uintptr_t)b.at[k].scope) {
            i = i_end;
        } else {
            k = k_end;
        }
    }
}

/* ---- what stays open ---- */

typedef struct open_row {
    uint64_t block, dims;
    int which;
    uint32_t tensor;
} open_row;

static int by_group(const void *a, const void *b) {
    const open_row *x = a, *y = b;
    if (x->block != y->block) return x->block < y->block ? -1 : 1;
    if (x->dims != y->dims) return x->dims < y->dims ? -1 : 1;
    if (x->which != y->which) return x->which - y->which;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* Sizes in any order, so that turned ones meet. */
static uint64_t key_of_dims(const align_tensor *own) {
    uint64_t sum = own->n, product = own->kind == ALIGN_BIAS ? 3 : own->kind == ALIGN_MEAN ? 5 : 7;
    for (uint32_t d = 0; d < own->n; d++) sum += (uint64_t)own->dims[d], product *= (uint64_t)own->dims[d] | 1;
    return sum * 0x9e3779b97f4a7c15u ^ product;
}

static uint64_t block_key(align_run *run, int which, uint32_t unit) {
    return PEL_KEY(pel_intern_str(run->ctx, run->sides[which].units.at[unit].block));
}

/* Blocks of A and the blocks of B that all their rows lead to. */
static void pair_blocks(align_run *run, pel_map *to, pel_map *reached) {
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        const pel_align_row *row = &run->out->rows.at[i];
        uint64_t a = block_key(run, 0, run->sides[0].tensors.at[row->pieces.at[0].tensor].unit);
        uint64_t b = block_key(run, 1, run->sides[1].tensors.at[row->tensor].unit), known;
        if (!pel_map_get(to, a, &known))
            pel_map_set(run->ctx, to, a, b);
        else if (known != b)
            pel_map_set(run->ctx, to, a, 0);
    }
    for (uint32_t i = 0; i < run->out->rows.n; i++) {
        uint64_t a = block_key(run, 0, run->sides[0].tensors.at[run->out->rows.at[i].pieces.at[0].tensor].unit);
        uint64_t b = pel_map_find(to, a, 0);
        if (b) pel_map_set(run->ctx, reached, b, 1);
    }
}

/* Tensors of one block and one shape that both sides still have. Blocks whose partner is not known are one. */
void pel_align_leave_open(align_run *run) {
    PEL_VEC(open_row) rows = { 0 };
    pel_map to = { 0 }, reached = { 0 };
    pair_blocks(run, &to, &reached);
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < run->out->tensors[which].n; i++) {
            const align_tensor *own = &run->sides[which].tensors.at[i];
            const pel_align_tensor *row = &run->out->tensors[which].at[i];
            if (row->is_used || !own->has_shape || row->is_whole_number) continue;
            uint64_t block = block_key(run, which, own->unit);
            block = !which ? pel_map_find(&to, block, 0) : pel_map_has(&reached, block) ? block : 0;
            pel_push(run->ctx, &rows, (open_row){ block, key_of_dims(own), which, i });
        }
    if (rows.n) qsort(rows.at, rows.n, sizeof *rows.at, by_group);
    for (uint32_t i = 0, end; i < rows.n; i = end) {
        end = i;
        while (end < rows.n && rows.at[end].block == rows.at[i].block && rows.at[end].dims == rows.at[i].dims) end++;
        if (rows.at[i].which || !rows.at[end - 1].which) continue; /* of one side alone */
        pel_align_open open = { .why = PEL_STR("equal shapes, and names that do not say which is which") };
        for (uint32_t k = i; k < end; k++) {
            run->out->tensors[rows.at[k].which].at[rows.at[k].tensor].is_open = true;
            if (rows.at[k].which)
                pel_push(run->ctx, &open.b, rows.at[k].tensor);
            else
                pel_push(run->ctx, &open.a, rows.at[k].tensor);
        }
        pel_push(run->ctx, &run->out->open, open);
    }
}
