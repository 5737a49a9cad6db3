/* Dependence: what a value would be with other data, another caller, another call.
 *
 * Every value has one. It is a constant, with the reason that shows it (reasons.def), or it depends on something, or no
 * rule knows it (pel_taint_unknown), which is treated like what depends on everything. A value that nobody set a
 * dependence of has NULL, and that is no constant either. Tensors show by themselves that they are dynamic; dependence
 * is for the rest: a size, a dtype, a device, a truth, an .item(). It follows assignments, calls, returns, attributes
 * and closures until nothing changes. Parts of a tuple have their own. */
#ifndef PEL_TRACE_DEPENDS_TAINT_H
#define PEL_TRACE_DEPENDS_TAINT_H

#include "base/map.h"

typedef enum pel_why {
    PEL_WHY_NONE, /* no constant */
#define REASON(name, words) PEL_WHY_##name,
#include "trace/depends/reasons.def"
#undef REASON
    PEL_WHYS
} pel_why;

typedef struct pel_taint {
    pel_why why; /* the reason of a constant */
    uint32_t n;  /* 0: a leaf */
    bool each;   /* n is 1: a container of as many items as there are, and each is like that one */
    const struct pel_taint *const *items;
} pel_taint;

extern const pel_taint pel_taint_unknown; /* no rule says anything */
extern const pel_taint pel_tainted;
/* What is never None: */
extern const pel_taint pel_tainted_some; /* computed from data */
extern const pel_taint
    pel_tainted_given; /* a number of a caller's, or computed from one: it could be of another type */
extern const pel_taint pel_tainted_holder; /* a container that callers fill with whatever they like */
extern const pel_taint pel_tainted_count;  /* a container of tensors, as many as data say */

const pel_taint *pel_constant(pel_why why);
const char *pel_reason(pel_why why);
bool pel_is_constant(const pel_taint *taint); /* not if nobody set a dependence */
bool pel_varies(const pel_taint *taint);      /* the opposite */

/* Facts and sums begin with NULL, nothing so far, to which anything can be joined. Read while it is NULL, a fact that
 * walks still grow is that of a path which nobody went yet. */
const pel_taint *pel_taint_fact(const pel_taint *fact);
const pel_taint *pel_taint_sum(const pel_taint *sum, pel_why otherwise); /* what was joined, else that reason */

const pel_taint *pel_taint_join(pel_ctx *ctx, const pel_taint *a, const pel_taint *b);
const pel_taint *pel_taint_tuple(pel_ctx *ctx, const pel_taint *const *items, uint32_t n);
const pel_taint *pel_taint_each(pel_ctx *ctx, const pel_taint *item);
const pel_taint *pel_taint_item(const pel_taint *taint, uint32_t i);
const pel_taint *pel_taint_some_items(const pel_taint *taint); /* of a container of some of its items */
const pel_taint *pel_taint_any(const pel_taint *taint);        /* of some unknown part */
bool pel_taint_maybe_other_type(const pel_taint *taint);       /* with other arguments it could be of another type */
bool pel_taint_maybe_none(const pel_taint *taint);             /* with other data it could be None */
bool pel_taint_holds_data(const pel_taint *taint); /* more than tensors, which show it, and how many they are */
bool pel_taint_counts(const pel_taint *taint);     /* with other data it could have more or fewer items */
bool pel_taint_same(const pel_taint *a, const pel_taint *b); /* whatever the reasons of constants are */
/* Joins into a fact; true if it grew. */
bool pel_taint_grow(pel_ctx *ctx, const pel_taint **fact, const pel_taint *with);

#endif
