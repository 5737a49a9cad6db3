/* Unifying: what its files share. unify.h says what it is for. */
#ifndef PEL_TRACE_BUILD_UNIFIER_H
#define PEL_TRACE_BUILD_UNIFIER_H

#include "trace/build/unify.h"

/* What stands at one place in each lane. */
typedef struct pel_column {
    pel_node *const *at;
    uint32_t n;
} pel_column;

/* ---- unify.c ---- */
pel_node *pel_unify_column(pel_unifier *unifier, pel_column l, pel_name hint);
pel_node *pel_unify_call(pel_unifier *unifier, pel_column l, pel_name hint); /* of calls that fit */
/* Calls of one function with the same arguments by name: only values may differ. */
bool pel_calls_fit(pel_column l);
/* A module that only some instances have, or a list of some: built here if a flag or another argument says so, instead
 * of being passed in. NULL if the instances that have one differ too much. */
pel_node *pel_make_optional(pel_unifier *unifier, pel_column l, pel_name hint, pel_name flag);
/* The lanes that have something. */
typedef struct pel_some {
    pel_node **at;
    uint32_t *lane_of, n;
} pel_some;
pel_some pel_some_lanes(pel_ctx *ctx, pel_column l, bool (*has_it)(const pel_node *));
/* One expression for these lanes alone: what differs between them is a name that may have any value in the others.
 * NULL if they differ too much, or in what is built. */
pel_node *pel_unify_some(pel_unifier *unifier, const pel_some *some, pel_name hint);
/* A unifier for other lanes, each of which lies in one lane outside: the names outside are known in it. */
pel_unifier pel_unifier_inside(pel_unifier *outside, const uint32_t *lane_of, uint32_t n);
/* Whether one of the holes from `first` on is for something that is built. */
bool pel_has_builder(const pel_unifier *unifier, uint32_t first);
/* Whether some of them has a call with the note, at any depth. */
bool pel_any_has_note(const pel_unifier *unifier, pel_column l, pel_node_note note);
bool pel_all_equal(pel_column l);
bool pel_all_of_kind(pel_column l, pel_kind kind);
/* The column of one part of each. */
pel_column pel_pick(pel_ctx *ctx, pel_column l, pel_node *(*part)(pel_node *, uint32_t), uint32_t index);

/* ---- unify_factory.c ---- */
/* Calls of different classes that take the same arguments; NULL if these are none. */
pel_node *pel_unify_factory(pel_unifier *unifier, pel_column l, pel_name hint);

/* ---- unify_names.c ---- */
/* A name for what differs; one that is there already where that has the same values, or values in one ratio to them. */
pel_node *pel_make_hole(pel_unifier *unifier, pel_column l, pel_name hint);
pel_hole *pel_hole_named(pel_unifier *unifier, pel_name name); /* NULL: none */
/* 4 * name, name // 4, where the values of l are so many times those of the hole; NULL if they are not. */
pel_node *pel_multiple_of(const pel_unifier *unifier, const pel_hole *hole, pel_column l);
bool pel_positive_int(const pel_node *node, int64_t *value);
pel_name pel_hole_name(const pel_unifier *unifier, pel_name hint); /* hint, or something like it that is free */

/* ---- unify_comp.c ---- */
/* [Block(dim) for _ in range(12)], if the elements of all lists are calls of one function; NULL if a plain list reads
 * better or nothing else is possible. */
pel_node *pel_unify_comprehension(pel_unifier *unifier, pel_column lists, pel_name hint);
pel_node *pel_make_loop(pel_ctx *ctx, pel_node *target, pel_node *iter); /* for target in iter */
const pel_node *pel_authors_element(const pel_node *author, uint32_t i); /* what he has for it in a list */

/* ---- unify_gaps.c ---- */
/* Lists that differ by a few parts, which then are built if a flag says so. NULL if they differ otherwise. */
pel_node *pel_unify_with_gaps(pel_unifier *unifier, pel_column l, pel_name hint);

/* ---- unify.c: lists ---- */
pel_node *pel_unify_list(pel_unifier *unifier, pel_column l, pel_name hint);

#endif
