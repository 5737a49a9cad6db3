/* Expressions in the lock-step walk: what the files that evaluate them share.
 *
 * Each pel_eval_<kind> eats the records of one kind of expression in all lanes of the front and gives what they saw,
 * with the text that is written for it. */
#ifndef PEL_TRACE_WALK_EXPR_H
#define PEL_TRACE_WALK_EXPR_H

#include "trace/walk/walk.h"

/* ---- walk/text.c ---- */
/* What a plain result takes over from the operands that it was computed from. */
const pel_taint *pel_computed_taint(pel_walk *w, pel_front front, const pel_val *result, bool from_dynamic);
void pel_take_over(pel_val *into, const pel_val *from); /* effects, and objects that can't be written */
/* An object of which there is one in the process: a variable of the file. key: what tells it from others. */
void pel_write_as_global(pel_walk *w, pel_val *val, uint64_t key, pel_name name);
bool pel_holds_constant_tensors(const pel_walk *w, pel_id value); /* it is one, or a table of some */

/* ---- walk/name.c ---- */
bool pel_is_local(const pel_walk *w, pel_name name);       /* or in a cell */
void pel_refer(pel_walk *w, pel_node **text, pel_id code); /* the text names a function of the author's */
pel_val *pel_eval_name(pel_walk *w, pel_front front, pel_node *node);

/* ---- walk/attribute.c ---- */
pel_val *pel_eval_attribute(pel_walk *w, pel_front front, pel_node *node);

/* ---- walk/operator.c ---- */
pel_val *pel_eval_subscript(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_binop(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_unary(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_compare(pel_walk *w, pel_front front, pel_node *node);

/* ---- walk/display.c ---- */
pel_val *pel_eval_sequence(pel_walk *w, pel_front front, pel_node *node); /* Tuple, List, Set */
pel_val *pel_eval_dict(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_slice(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_joined(pel_walk *w, pel_front front, pel_node *node);

/* ---- walk/test.c ---- */
/* Lanes of an expression that are still going, and where they stand in the front that it began with. */
typedef struct pel_going {
    pel_front front;
    uint32_t *places;
} pel_going;
pel_going pel_going_all(pel_walk *w, pel_front front);
pel_going pel_going_on(pel_walk *w, pel_going from, const bool *truth, bool want); /* those with that truth */

/* ---- walk/choice.c ---- */
pel_val *pel_eval_ifexp(pel_walk *w, pel_front front, pel_node *node);
pel_val *pel_eval_boolop(pel_walk *w, pel_front front, pel_node *node);

#endif
