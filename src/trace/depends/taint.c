/* Joining what is known of the parts of values. */
#include "trace/depends/taint.h"

const pel_taint pel_tainted = { 0 }, pel_tainted_some = { 0 }, pel_tainted_given = { 0 }, pel_tainted_holder = { 0 },
                pel_tainted_count = { 0 };

static bool is_number(const pel_taint *taint) { return taint == &pel_tainted_some || taint == &pel_tainted_given; }

/* Tuples in tuples: a loop that nests ever deeper must come to rest. */
#define NESTING 3

static uint32_t nesting(const pel_taint *taint) {
    uint32_t deepest = 0;
    for (uint32_t i = 0; taint && i < taint->n; i++) {
        uint32_t depth = nesting(taint->items[i]);
        if (depth > deepest) deepest = depth;
    }
    return taint && taint->n ? deepest + 1 : 0;
}

const pel_taint *pel_taint_tuple(pel_ctx *ctx, const pel_taint *const *items, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any |= items[i] != NULL;
        if (nesting(items[i]) >= NESTING) return &pel_tainted;
    }
    if (!any) return NULL;
    pel_taint *made = pel_alloc(ctx, sizeof *made + n * sizeof items[0]);
    made->n = n;
    for (uint32_t i = 0; i < n; i++) made->items[i] = items[i];
    return made;
}

const pel_taint *pel_taint_each(pel_ctx *ctx, const pel_taint *item) {
    if (!item) return NULL;
    pel_taint *made = pel_alloc(ctx, sizeof *made + sizeof item);
    made->n = 1;
    made->each = true;
    made->items[0] = item;
    return nesting(item) >= NESTING ? &pel_tainted : made;
}

const pel_taint *pel_taint_join(pel_ctx *ctx, const pel_taint *a, const pel_taint *b) {
    if (!a || a == b) return b;
    if (!b) return a;
    if (pel_taint_same(a, b)) return a;
    if (is_number(a) && is_number(b)) return &pel_tainted_given;
    if (a->n != b->n || a->each != b->each || a->n == 0) return &pel_tainted; /* two leaves that differ */
    pel_taint *made = pel_alloc(ctx, sizeof *made + a->n * sizeof a->items[0]);
    made->n = a->n;
    made->each = a->each;
    for (uint32_t i = 0; i < a->n; i++) made->items[i] = pel_taint_join(ctx, a->items[i], b->items[i]);
    return made;
}

const pel_taint *pel_taint_item(const pel_taint *taint, uint32_t i) {
    if (!taint || taint->n == 0) return pel_taint_any(taint);
    if (taint->each) return taint->items[0];
    return i < taint->n ? taint->items[i] : &pel_tainted;
}

const pel_taint *pel_taint_any(const pel_taint *taint) {
    if (taint == &pel_tainted_count) return NULL;
    if (taint && taint->each) return taint->items[0];
    return is_number(taint) || !taint ? taint : &pel_tainted;
}

const pel_taint *pel_taint_some_items(const pel_taint *taint) {
    return taint && taint->n && !taint->each ? &pel_tainted : taint;
}

bool pel_taint_maybe_other_type(const pel_taint *taint) {
    return taint == &pel_tainted || taint == &pel_tainted_given || taint == &pel_tainted_holder;
}

bool pel_taint_maybe_none(const pel_taint *taint) {
    return taint == &pel_tainted || (taint && taint->n && !taint->each);
}

bool pel_taint_holds_data(const pel_taint *taint) { return taint && taint != &pel_tainted_count; }

bool pel_taint_counts(const pel_taint *taint) { return taint && !taint->each; }

bool pel_taint_same(const pel_taint *a, const pel_taint *b) {
    if (a == b) return true;
    if (!a || !b || a->n != b->n || a->each != b->each || a->n == 0) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!pel_taint_same(a->items[i], b->items[i])) return false;
    return true;
}

bool pel_taint_grow(pel_ctx *ctx, const pel_taint **fact, const pel_taint *with) {
    const pel_taint *joined = pel_taint_join(ctx, *fact, with);
    if (pel_taint_same(joined, *fact)) return false;
    *fact = joined;
    return true;
}
