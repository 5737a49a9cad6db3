/* Cuts two networks into stretches that correspond, by sizes alone.
 *
 * Both lists are in the order of a state_dict. Whatever implementations rename, fuse, turn or exchange inside of a
 * block, the block has the same number of elements in matrices, vectors, biases and statistics. So where these sums
 * meet, a stretch ends on both sides. What only one side has is passed over: of all ways the one that passes over the
 * fewest layers, as a diff of lines does. */
#include "model/align_inside.h"

#include <stdlib.h>

#define MAX_STRETCH 400   /* layers of one side in a stretch */
#define MAX_STATES 200000 /* that are looked at */

typedef struct state {
    uint32_t i, k;    /* layers before it */
    uint32_t before;  /* index of the state it comes from; UINT32_MAX: none */
    align_segment by; /* the stretches between: the last one */
} state;

typedef struct cutting {
    align_run *run;
    const align_list *lists[2];
    PEL_VEC(state) states;
    pel_map seen;
} cutting;

static const align_unit *unit_at(const cutting *c, int which, uint32_t i) {
    return &c->run->sides[which].units.at[c->lists[which]->at[i]];
}

/* A query that comes where the other side has a key is no pair, however equal their shapes are. */
static bool may_be_pair(const align_unit *a, const align_unit *b) {
    return a->turned == b->turned && pel_align_units_fit(a, b);
}

/* Roles of a stretch: those that both sides name must be the same. */
static bool roles_meet(const cutting *c, uint32_t i, uint32_t i_end, uint32_t k, uint32_t k_end) {
    uint8_t of_a = 0, of_b = 0;
    for (; i < i_end; i++) of_a |= unit_at(c, 0, i)->role;
    for (; k < k_end; k++) of_b |= unit_at(c, 1, k)->role;
    const uint8_t core = ROLE_Q | ROLE_K | ROLE_V;
    return !(of_a & core) || !(of_b & core) || (of_a & core) == (of_b & core);
}

/* Several layers correspond to several others inside of one block alone: what leaves a block without filling it is a
 * sum that fits by chance. */
static bool in_block(const cutting *c, int which, uint32_t first, uint32_t end) {
    for (uint32_t i = first + 1; i < end; i++)
        if (!pel_str_eq(unit_at(c, which, i)->block, unit_at(c, which, first)->block)) return false;
    return true;
}

/* The shortest stretch from here on both sides; false: there is none. */
static bool next_stretch(const cutting *c, uint32_t i, uint32_t k, align_segment *out) {
    uint32_t n = c->lists[0]->n, m = c->lists[1]->n, i_end = i, k_end = k;
    uint64_t a[5] = { 0 }, b[5] = { 0 }, of_a = 0, of_b = 0;
    while (i_end - i < MAX_STRETCH && k_end - k < MAX_STRETCH) {
        bool is_start = i_end == i && k_end == k;
        int which = is_start || of_a <= of_b ? 0 : 1;
        if (is_start || of_a == of_b) { /* both go on */
            if (i_end >= n || k_end >= m) return false;
            const align_unit *other = unit_at(c, 1, k_end++);
            for (int s = 0; s < 5; s++) b[s] += other->sums[s];
            of_b += other->total;
        } else if (which ? k_end >= m : i_end >= n) {
            return false;
        }
        if (!which || is_start) {
            const align_unit *unit = unit_at(c, 0, i_end++);
            for (int s = 0; s < 5; s++) a[s] += unit->sums[s];
            of_a += unit->total;
        } else {
            const align_unit *unit = unit_at(c, 1, k_end++);
            for (int s = 0; s < 5; s++) b[s] += unit->sums[s];
            of_b += unit->total;
        }
        if (!in_block(c, 0, i, i_end) || !in_block(c, 1, k, k_end)) return false;
        if (of_a != of_b || memcmp(a, b, sizeof a) != 0) continue;
        bool is_pair = i_end - i == 1 && k_end - k == 1;
        if (is_pair && !may_be_pair(unit_at(c, 0, i), unit_at(c, 1, k))) continue;
        if (!is_pair && !roles_meet(c, i, i_end, k, k_end)) continue;
        *out = (align_segment){ i, i_end - i, k, k_end - k };
        return true;
    }
    return false;
}

/* Goes on from a state as far as stretches lead, and remembers where that is. UINT32_MAX: somebody was there. */
static uint32_t follow(cutting *c, uint32_t before, uint32_t i, uint32_t k) {
    align_segment stretch;
    for (;;) {
        if (!pel_map_set(c->run->ctx, &c->seen, (uint64_t)i << 32 | k, 1)) return UINT32_MAX;
        bool found = next_stretch(c, i, k, &stretch);
        if (!found) stretch = (align_segment){ 0 };
        pel_push(c->run->ctx, &c->states, (state){ i, k, before, { 0 } });
        before = c->states.n - 1;
        if (!found) return before;
        c->states.at[before].by = stretch; /* that leaves it */
        i += stretch.na;
        k += stretch.nb;
    }
}

static void write_back(cutting *c, uint32_t at, align_segments *out) {
    for (; at != UINT32_MAX; at = c->states.at[at].before) {
        const state *s = &c->states.at[at];
        if (s->by.na) pel_push(c->run->ctx, out, s->by);
    }
    for (uint32_t i = 0; i < out->n / 2; i++) {
        align_segment other = out->at[i];
        out->at[i] = out->at[out->n - 1 - i];
        out->at[out->n - 1 - i] = other;
    }
}

/* Rounds: all states that pass over one layer more than the round before. Gives up after MAX_STATES: what was cut on
 * the way that led furthest stays, the rest is matched without stretches. */
void pel_align_cut(align_run *run, const align_list *a, const align_list *b, align_segments *out) {
    cutting c = { .run = run, .lists = { a, b } };
    align_list round = { 0 }, next = { 0 };
    uint32_t first = follow(&c, UINT32_MAX, 0, 0), best = first;
    pel_push(run->ctx, &round, first);
    while (round.n && c.states.n < MAX_STATES) {
        next.n = 0;
        for (uint32_t r = 0; r < round.n; r++) {
            state s = c.states.at[round.at[r]];
            if (s.i + s.k > c.states.at[best].i + c.states.at[best].k) best = round.at[r];
            if (s.i >= a->n || s.k >= b->n) {
                write_back(&c, round.at[r], out);
                return;
            }
            uint32_t one = follow(&c, round.at[r], s.i + 1, s.k), two = follow(&c, round.at[r], s.i, s.k + 1);
            if (one != UINT32_MAX) pel_push(run->ctx, &next, one);
            if (two != UINT32_MAX) pel_push(run->ctx, &next, two);
        }
        align_list other = round;
        round = next;
        next = other;
    }
    write_back(&c, best, out);
}
