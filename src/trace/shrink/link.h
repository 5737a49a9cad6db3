/* From walked groups to a program: what the passes share that look at all functions and the calls between them.
 *
 * passes.def has their order. They change bodies, parameters and links of groups (synth.h) and repeat each other until
 * nothing changes; what is left is named and written into the program (program.h). */
#ifndef PEL_TRACE_SHRINK_LINK_H
#define PEL_TRACE_SHRINK_LINK_H

#include "trace/depends/notes.h"
#include "trace/depends/uses.h"

/* ---- link.c ---- */
pel_reach pel_find_reached(pel_synth *s);
/* The function that an activation was called from, over comprehensions and what is not written; NULL: none. */
pel_group *pel_caller_of(const pel_synth *s, pel_id activation);
/* Per group: how many calls lead to it; more than one, too, if the text has it as a value. */
uint32_t *pel_count_calls(pel_synth *s, const pel_reach *reached);
bool *pel_find_calling_back(pel_synth *s); /* per group: torch calls something back below it */

/* ---- dead.c ---- */
bool pel_body_has_effect(const pel_synth *s, pel_nodes body);

/* ---- copies.c ---- */
typedef struct pel_copies {
    pel_ctx *ctx;
    pel_function_text text;   /* the function that is looked at */
    const pel_map *constants; /* names of the file that nobody binds again -> 1; NULL: none are known */
} pel_copies;
/* Second names for what has one go from a block. is_top: nothing of the function runs after it. */
bool pel_drop_copies(const pel_copies *c, pel_nodes *block, bool is_top);

/* ---- wrappers.c ---- */
bool pel_is_literal(const pel_node *node);
/* The root is called by its author's names, whatever shorter text was made of it before, and by the keywords that its
 * **kwargs took, whatever its variables are called. */
void pel_give_back_names(pel_synth *s, pel_group *root);

/* ---- signature.c ---- */
/* Whether a parameter that nobody reads may go. */
bool pel_may_drop(const pel_synth *s, const pel_group *group, uint32_t param);
/* What a parameter is where nothing is passed for it; NULL: it has no default. */
pel_node *pel_default_text(pel_synth *s, const pel_group *group, uint32_t param);
bool pel_has_default_text(const pel_synth *s, const pel_group *group, uint32_t param); /* else None stands for it */
pel_node *pel_signature(pel_synth *s, const pel_group *group, const bool *active);
void pel_keep_rest(pel_synth *s, pel_group *group); /* **kwargs stays whole, where that is the only way */
void pel_keep_star(pel_synth *s, pel_group *group); /* so does *args */
/* Puts the arguments that are left into the call; signature: of the link's target. */
void pel_write_call(pel_synth *s, const pel_link *link, const pel_node *signature);

/* ---- definitions.c ---- */
pel_name pel_name_wish(const pel_synth *s, const pel_group *group);
void pel_name_classes(pel_synth *s);
bool pel_sets_mode(pel_ctx *ctx, const pel_group *group); /* or has no definition that could be looked at */

/* ---- root.c ---- */
void pel_cut_root(pel_synth *s, pel_group *root);   /* parameters that are of no use go */
void pel_guard_root(pel_synth *s, pel_group *root); /* assertions at its top: what it was not recorded with */

/* ---- key_order.c ---- */
void pel_refuse_key_order(pel_synth *s, pel_group *group);

/* ---- counting.c ---- */
bool pel_holds_by_counting(pel_synth *s, const pel_group *group, const pel_node *test); /* x.all(), of ranges */

/* ---- results.c ---- */
bool pel_is_none_by_default(const pel_log *log, const pel_log_class *record, pel_name field);

/* ---- outputs.c ---- */
/* What the texts do with dataclasses that are dicts, too. */
typedef struct pel_outputs {
    bool as_dict;     /* something may ask for keys, positions, truth */
    pel_map named;    /* fields that a text reads -> 1 */
    pel_map made;     /* classes -> how many calls make one; "Class.field" -> how many of them give the field */
    pel_map by_place; /* functions and classes that are called with arguments by place -> 1 */
} pel_outputs;
pel_outputs *pel_find_outputs(pel_synth *s);
bool pel_is_always_given(pel_synth *s, const pel_outputs *outputs, const pel_program_class *row, pel_name field);
bool pel_is_field_left_out(pel_synth *s, const pel_outputs *outputs, const pel_program_class *row, pel_name field);

#endif
