/* Joining what is known of the parts of values. */
#include "trace/depends/taint.h"

const pel_taint pel_taint_unknown = { 0 }, pel_tainted = { 0 }, pel_tainted_some = { 0 }, pel_tainted_given = { 0 },
                pel_tainted_holder = { 0 }, pel_tainted_count = { 0 };

static const pel_taint constants[PEL_WHYS] = {
#define REASON(name, words) [PEL_WHY_##name] = { .why = PEL_WHY_##name },
#include "trace/depends/reasons.def"
#undef REASON
};

bool pel_is_constant(const pel_taint *taint) { return taint && taint->why != PEL_WHY_NONE; }
bool pel_varies(const pel_taint *taint) { return !pel_is_constant(taint); }

const pel_taint *pel_constant(pel_why why) { return why > PEL_WHY_NONE && why < PEL_WHYS ? &constants[why] : NULL; }

const char *pel_reason(pel_why why) {
    switch (why) {
#define REASON(name, words)                                                                                            \
    case PEL_WHY_##name:                                                                                               \
        return words;
#include "trace/depends/reasons.def"
#undef REASON
    case PEL_WHY_NONE:
    case PEL_WHYS: break;
    }
    return "no reason is known";
}

const pel_taint *pel_taint_fact(const pel_taint *fact) { return fact ? fact : &constants[PEL_WHY_NO_PATH]; }

const pel_taint *pel_taint_sum(const pel_taint *sum, pel_why otherwise) { return sum ? sum : pel_constant(otherwise); }

static bool is_number(const pel_taint *taint) { return taint == &pel_tainted_some || taint == &pel_tainted_given; }

/* How much is open of a constant: its type, or whether there is any. Where constants are joined, the most stays. */
static int openness(const pel_taint *taint) {
    return taint->why == PEL_WHY_HELD ? 2 : taint->why == PEL_WHY_BROUGHT ? 1 : 0;
}

static bool is_open(const pel_taint *taint) { return !taint || taint == &pel_tainted || taint == &pel_taint_unknown; }

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

static const pel_taint *made_of(pel_ctx *ctx, const pel_taint **items, uint32_t n, bool each) {
    pel_taint *made = pel_new(ctx, pel_taint);
    *made = (pel_taint){ .n = n, .each = each, .items = items };
    return made;
}

const pel_taint *pel_taint_tuple(pel_ctx *ctx, const pel_taint *const *items, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        any |= pel_varies(items[i]);
        if (nesting(items[i]) >= NESTING) return &pel_tainted;
    }
    if (!any) return pel_constant(PEL_WHY_PARTS);
    const pel_taint **own = pel_new_array(ctx, n, const pel_taint *);
    for (uint32_t i = 0; i < n; i++) own[i] = items[i] ? items[i] : &pel_taint_unknown;
    return made_of(ctx, own, n, false);
}

const pel_taint *pel_taint_each(pel_ctx *ctx, const pel_taint *item) {
    if (pel_is_constant(item)) return pel_constant(PEL_WHY_PARTS);
    if (nesting(item) >= NESTING) return &pel_tainted;
    const pel_taint **own = pel_new_array(ctx, 1, const pel_taint *);
    own[0] = item ? item : &pel_taint_unknown;
    return made_of(ctx, own, 1, true);
}

const pel_taint *pel_taint_join(pel_ctx *ctx, const pel_taint *a, const pel_taint *b) {
    if (!a || a == b) return b;
    if (pel_is_constant(b) && a->why == PEL_WHY_NO_PATH) return b;
    if (pel_is_constant(b) && pel_is_constant(a)) return openness(b) > openness(a) ? b : a;
    if (!b || pel_is_constant(b)) return a;
    if (pel_is_constant(a)) return b;
    if (a == &pel_taint_unknown || b == &pel_taint_unknown) return &pel_taint_unknown;
    if (pel_taint_same(a, b)) return a;
    if (is_number(a) && is_number(b)) return &pel_tainted_given;
    if (a->n != b->n || a->each != b->each || a->n == 0) return &pel_tainted; /* two leaves that differ */
    const pel_taint **own = pel_new_array(ctx, a->n, const pel_taint *);
    for (uint32_t i = 0; i < a->n; i++) own[i] = pel_taint_join(ctx, a->items[i], b->items[i]);
    return made_of(ctx, own, a->n, a->each);
}

const pel_taint *pel_taint_item(const pel_taint *taint, uint32_t i) {
    if (!taint || taint->n == 0) return pel_taint_any(taint);
    if (taint->each) return taint->items[0];
    return i < taint->n ? taint->items[i] : &pel_tainted;
}

const pel_taint *pel_taint_any(const pel_taint *taint) {
    if (!taint) return &pel_taint_unknown;
    if (taint == &pel_tainted_count) return pel_constant(PEL_WHY_TENSOR);
    if (taint->each) return taint->items[0];
    return is_number(taint) || pel_is_constant(taint) || taint == &pel_taint_unknown ? taint : &pel_tainted;
}

const pel_taint *pel_taint_some_items(const pel_taint *taint) {
    return taint && taint->n && !taint->each ? &pel_tainted : taint;
}

bool pel_taint_maybe_other_type(const pel_taint *taint) {
    return is_open(taint) || taint == &pel_tainted_given || taint == &pel_tainted_holder || openness(taint);
}

bool pel_taint_maybe_none(const pel_taint *taint) {
    return is_open(taint) || (taint->n && !taint->each) || taint->why == PEL_WHY_HELD;
}

bool pel_taint_holds_data(const pel_taint *taint) { return pel_varies(taint) && taint != &pel_tainted_count; }

bool pel_taint_counts(const pel_taint *taint) { return pel_varies(taint) && !(taint && taint->each); }

bool pel_taint_same(const pel_taint *a, const pel_taint *b) {
    if (a == b) return true;
    if (pel_is_constant(a) && pel_is_constant(b)) return openness(a) == openness(b);
    if (!a || !b || a->n != b->n || a->each != b->each || a->n == 0) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!pel_taint_same(a->items[i], b->items[i])) return false;
    return true;
}

/* A path that nobody went is read as a constant, so that one which brings a constant is no news. */
bool pel_taint_grow(pel_ctx *ctx, const pel_taint **fact, const pel_taint *with) {
    const pel_taint *joined = pel_taint_join(ctx, *fact, with);
    bool grew = !pel_taint_same(pel_taint_fact(joined), pel_taint_fact(*fact));
    *fact = joined;
    return grew;
}
