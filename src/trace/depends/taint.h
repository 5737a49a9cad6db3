/* Taint: which plain values would be others if the data were.
 *
 * Tensors show by themselves that they are dynamic. Taint is for the rest: a size, a dtype, a device, a truth, an
 * .item(). It follows assignments, calls, returns,
 * attributes and closures until nothing changes. Parts of a tuple have their own. */
#ifndef PEL_TRACE_DEPENDS_TAINT_H
#define PEL_TRACE_DEPENDS_TAINT_H

#include "base/map.h"

typedef struct pel_taint {
    uint32_t n; /* 0: all of it is tainted */
    bool each;  /* n is 1: a container of as many items as there are, and each is like that one */
    const struct pel_taint *items[];
} pel_taint;

extern const pel_taint pel_tainted; /* NULL is the clean one */
/* What is never None: */
extern const pel_taint pel_tainted_some; /* computed from data */
extern const pel_taint
    pel_tainted_given; /* a number of a caller's, or computed from one: it could be of another type */
extern const pel_taint pel_tainted_holder; /* a container that callers fill with whatever they like */
extern const pel_taint pel_tainted_count;  /* a container of tensors, as many as data say */

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
bool pel_taint_same(const pel_taint *a, const pel_taint *b);
/* Joins into a fact; true if it grew. */
bool pel_taint_grow(pel_ctx *ctx, const pel_taint **fact, const pel_taint *with);

#endif
