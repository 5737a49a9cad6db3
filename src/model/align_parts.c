/* One tensor that is several of the other side: queries, keys and values in one matrix, gate and up, experts in a
 * stack. */
#include "model/align_inside.h"

/* ---- one after the other ---- */

typedef struct fusion {
    align_run *run;
    int which;      /* the side of the fused layer */
    uint32_t fused; /* unit */
    uint32_t parts[3], n;
} fusion;

static align_unit *unit_of(align_run *run, int which, uint32_t unit) { return &run->sides[which].units.at[unit]; }

/* The tensor of a unit that has this kind and is not in a row yet. */
static uint32_t of_kind(const align_run *run, int which, uint32_t unit, align_kind kind) {
    const align_unit *own = &run->sides[which].units.at[unit];
    for (uint32_t i = own->first; i < own->first + own->n; i++) {
        align_kind has = run->sides[which].tensors.at[i].kind;
        if (has == ALIGN_OTHER) has = ALIGN_WEIGHT;
        if (has == kind && run->out->tensors[which].at[i].count && !run->out->tensors[which].at[i].is_used) return i;
    }
    return UINT32_MAX;
}

/* Whether the parts, one after the other, have the shape of the whole; is_turned: of the whole turned. */
static bool adds_up(const align_run *run, const fusion *f, uint32_t whole, const uint32_t *parts, bool is_turned) {
    const pel_shape *of_whole = &run->out->tensors[f->which].at[whole].tensor->shape;
    int64_t rows = 0, wanted = of_whole->n ? of_whole->dims[is_turned ? of_whole->n - 1 : 0].size : 0;
    for (uint32_t p = 0; p < f->n; p++) {
        const pel_shape *part = &run->out->tensors[!f->which].at[parts[p]].tensor->shape;
        if (!part->is_known || !of_whole->is_known || part->n != of_whole->n || !part->n) return false;
        if (is_turned && part->n != 2) return false;
        for (uint32_t d = 1; d < part->n; d++)
            if (part->dims[d].symbol.len || part->dims[d].size != of_whole->dims[is_turned ? 0 : d].size) return false;
        if (part->dims[0].symbol.len || __builtin_add_overflow(rows, part->dims[0].size, &rows)) return false;
    }
    return rows == wanted && (!of_whole->n || !of_whole->dims[0].symbol.len);
}

static void add_parts(align_run *run, const fusion *f, uint32_t whole, const uint32_t *parts, bool is_turned) {
    int64_t from = 0;
    pel_align_row *joined = f->which ? pel_align_add(run, whole, PEL_BY_WORDS) : NULL;
    for (uint32_t p = 0; p < f->n; p++) {
        int64_t rows = run->out->tensors[!f->which].at[parts[p]].tensor->shape.dims[0].size;
        if (joined) {
            pel_push(run->ctx, &joined->pieces, (pel_align_piece){ .tensor = parts[p], .at = -1 });
            run->out->tensors[0].at[parts[p]].is_used = true;
        } else {
            pel_align_row *row = pel_align_add(run, parts[p], PEL_BY_WORDS);
            pel_push(run->ctx, &row->pieces,
                     (pel_align_piece){ .tensor = whole, .at = -1, .from = from, .to = from + rows });
            if (is_turned) row->n_order = 2, row->order[0] = 1, row->order[1] = 0;
            run->out->tensors[0].at[whole].is_used = true;
        }
        from += rows;
    }
}

/* Weights, then biases. A fused bias may be missing where the parts have some, and the other way round: what is left
 * of the layers is looked at later. A turned whole can be cut, but not yet be put together. */
static bool fuse(align_run *run, const fusion *f) {
    static const align_kind kinds[] = { ALIGN_WEIGHT, ALIGN_BIAS };
    bool any = false;
    for (int k = 0; k < 2; k++) {
        uint32_t whole = of_kind(run, f->which, f->fused, kinds[k]), parts[3];
        bool is_full = whole != UINT32_MAX;
        for (uint32_t p = 0; p < f->n; p++) {
            parts[p] = of_kind(run, !f->which, f->parts[p], kinds[k]);
            is_full &= parts[p] != UINT32_MAX;
        }
        if (!is_full) continue;
        bool is_turned = !adds_up(run, f, whole, parts, false);
        if (is_turned && (f->which || !adds_up(run, f, whole, parts, true))) continue;
        add_parts(run, f, whole, parts, is_turned);
        any = true;
    }
    if (!any) return false;
    unit_of(run, f->which, f->fused)->is_done = true;
    for (uint32_t p = 0; p < f->n; p++) {
        uint32_t at = f->parts[p];
        const align_unit *part = unit_of(run, !f->which, at);
        bool is_left = false;
        for (uint32_t i = part->first; i < part->first + part->n; i++)
            is_left |= !run->out->tensors[!f->which].at[i].is_used;
        unit_of(run, !f->which, at)->is_done = !is_left;
    }
    return true;
}

/* The layers beside each other that have the roles of the fused one, each once. More than one such place: none. */
static bool find_parts(align_run *run, fusion *f, const align_list *others, uint8_t role) {
    bool found = false;
    for (uint32_t i = 0; i < others->n; i++) {
        const align_unit *first = unit_of(run, !f->which, others->at[i]);
        if (first->is_done || !first->role || first->role != (role & -role)) continue;
        uint32_t parts[3] = { others->at[i] }, n = 1;
        for (uint8_t bit = (uint8_t)(first->role << 1); bit && bit < ROLE_UNORDERED; bit = (uint8_t)(bit << 1)) {
            if (!(role & bit)) continue;
            uint32_t n_fit = 0;
            for (uint32_t k = 0; k < others->n; k++) {
                const align_unit *other = unit_of(run, !f->which, others->at[k]);
                if (other->is_done || other->role != bit || !pel_str_eq(other->holder, first->holder)) continue;
                parts[n < 3 ? n : 2] = others->at[k];
                n_fit++;
            }
            if (n_fit == 1)
                n++;
            else
                n = 4;
        }
        if (n > 3 || n != (uint32_t)__builtin_popcount(role)) continue;
        if (found) return false;
        found = true;
        memcpy(f->parts, parts, sizeof parts);
        f->n = n;
    }
    return found;
}

/* Two fused layers of one stretch with the same role (of two attentions) would need to know which is whose. */
static bool is_only_one(align_run *run, int which, const align_list *units, uint8_t role) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < units->n; i++) {
        const align_unit *unit = unit_of(run, which, units->at[i]);
        n += !unit->is_done && unit->role == role;
    }
    return n == 1;
}

void pel_align_fused(align_run *run, const align_list *a, const align_list *b) {
    const align_list *lists[2] = { a, b };
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < lists[which]->n; i++) {
            const align_unit *unit = unit_of(run, which, lists[which]->at[i]);
            if (unit->is_done || __builtin_popcount(unit->role) < 2 || unit->role & ROLE_UNORDERED) continue;
            fusion f = { .run = run, .which = which, .fused = lists[which]->at[i] };
            if (is_only_one(run, which, lists[which], unit->role) && find_parts(run, &f, lists[!which], unit->role))
                fuse(run, &f);
        }
}

/* ---- stacked ---- */

typedef struct stack {
    int which;
    uint32_t whole;       /* tensor of that side */
    align_list groups[2]; /* of the other side, in the order of their numbers: experts; with two lists, gate and up */
    uint32_t n;
} stack;

static int64_t size_at(const align_run *run, int which, uint32_t tensor, uint32_t d) {
    const pel_shape *shape = &run->out->tensors[which].at[tensor].tensor->shape;
    return shape->is_known && d < shape->n && !shape->dims[d].symbol.len ? shape->dims[d].size : -1;
}

/* Single weights with this role whose names are alike but for numbers, as many as the stack is high. Other layers may
 * have the role, too: a router is a gate. */
static bool find_experts(align_run *run, int which, const align_list *units, uint8_t role, int64_t height,
                         align_list *out) {
    for (uint32_t i = 0; i < units->n; i++) {
        const align_unit *first = unit_of(run, which, units->at[i]);
        if (first->is_done || first->role != role || first->n != 1 || !first->scope.len) continue;
        align_list found = { 0 };
        for (uint32_t k = 0; k < units->n; k++) {
            const align_unit *unit = unit_of(run, which, units->at[k]);
            if (!unit->is_done && unit->role == role && unit->n == 1 && unit->total &&
                pel_str_eq(unit->shape, first->shape))
                pel_push(run->ctx, &found, units->at[k]);
        }
        if (found.n != height || height < 2) continue;
        uint32_t *ranks = pel_new_array(run->ctx, found.n, uint32_t);
        if (!pel_align_ranks(run->ctx, &run->sides[which], &found, ranks)) return false;
        out->n = 0;
        for (uint32_t k = 0; k < found.n; k++) pel_push(run->ctx, out, found.at[ranks[k]]);
        return true;
    }
    return false;
}

/* Whether each expert has the shape of a layer of the stack, of its rows where there are two lists; order: turned. */
static bool stack_fits(align_run *run, const stack *s, bool is_turned) {
    int64_t rows = size_at(run, s->which, s->whole, 1), columns = size_at(run, s->which, s->whole, 2);
    if (is_turned && s->n != 1) return false; /* rows would be columns */
    for (uint32_t e = 0; e < s->groups[0].n; e++) {
        int64_t n = 0;
        for (uint32_t g = 0; g < s->n; g++) {
            uint32_t tensor = unit_of(run, !s->which, s->groups[g].at[e])->first;
            if (run->out->tensors[!s->which].at[tensor].tensor->shape.n != 2) return false;
            if (size_at(run, !s->which, tensor, is_turned ? 0 : 1) != columns) return false;
            n += size_at(run, !s->which, tensor, is_turned ? 1 : 0);
        }
        if (n != rows) return false;
    }
    return rows > 0 && columns > 0;
}

static void add_stack(align_run *run, const stack *s, bool is_turned) {
    pel_align_row *stacked = s->which ? pel_align_add(run, s->whole, PEL_BY_WORDS) : NULL;
    if (stacked) stacked->is_stacked = true, stacked->joined = s->n;
    for (uint32_t e = 0; e < s->groups[0].n; e++) {
        int64_t from = 0;
        for (uint32_t g = 0; g < s->n; g++) {
            align_unit *unit = unit_of(run, !s->which, s->groups[g].at[e]);
            int64_t rows = size_at(run, !s->which, unit->first, 0);
            pel_align_row *row = stacked ? stacked : pel_align_add(run, unit->first, PEL_BY_WORDS);
            pel_align_piece piece = { .tensor = stacked ? unit->first : s->whole, .at = stacked ? -1 : (int64_t)e };
            if (!stacked && s->n > 1) piece.from = from, piece.to = from + rows;
            pel_push(run->ctx, &row->pieces, piece);
            if (is_turned) row->n_order = 2, row->order[0] = 1, row->order[1] = 0;
            run->out->tensors[!s->which].at[unit->first].is_used = true;
            unit->is_done = true;
            from += rows;
        }
    }
    run->out->tensors[s->which].at[s->whole].is_used = true;
    unit_of(run, s->which, run->sides[s->which].tensors.at[s->whole].unit)->is_done = true;
}

#define MOST_STACKS 16 /* of one stretch */

/* Square experts may be turned or not: by their shapes nobody knows, values say it later. */
void pel_align_experts(align_run *run, const align_list *a, const align_list *b) {
    const align_list *lists[2] = { a, b };
    uint32_t n_tried = 0;
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; i < lists[which]->n; i++) {
            const align_unit *unit = unit_of(run, which, lists[which]->at[i]);
            if (unit->is_done || unit->n != 1 || !unit->role || unit->role & ROLE_UNORDERED) continue;
            if (run->out->tensors[which].at[unit->first].tensor->shape.n != 3) continue;
            if (++n_tried > MOST_STACKS) return;
            stack s = { .which = which, .whole = unit->first };
            int64_t height = size_at(run, which, unit->first, 0);
            uint8_t first = unit->role & (uint8_t)-unit->role, second = unit->role & (uint8_t)~first;
            bool found = find_experts(run, !which, lists[!which], first, height, &s.groups[s.n++]);
            if (found && second) found = find_experts(run, !which, lists[!which], second, height, &s.groups[s.n++]);
            if (!found) continue;
            if (stack_fits(run, &s, false))
                add_stack(run, &s, false);
            else if (stack_fits(run, &s, true))
                add_stack(run, &s, true);
        }
}
