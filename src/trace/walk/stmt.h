/* Statements in the lock-step walk: what the files that walk them share.
 *
 * Each pel_walk_<kind> eats the records of one statement in all lanes of the front, writes what is left of it, and
 * returns the lanes that go on behind it. */
#ifndef PEL_TRACE_WALK_STMT_H
#define PEL_TRACE_WALK_STMT_H

#include "trace/walk/walk.h"

/* A try statement with a finally around what is walked. */
typedef struct pel_finally {
    const struct pel_finally *outer;
    pel_nodes body;
} pel_finally;

/* ---- walk/stmt.c ---- */
pel_front pel_walk_statement(pel_walk *w, pel_front front, pel_node *node);
void pel_write_statement(pel_walk *w, pel_node *statement);
/* Walks statements that stand inside of another one: what is written for them. rest: the lanes that go on. */
pel_nodes pel_walk_side(pel_walk *w, pel_front front, pel_nodes body, pel_front *rest);
/* Steps over all that a statement without a text of its own did. */
void pel_skip(pel_walk *w, pel_front front, const pel_node *node);
/* Lanes that data made leave a loop, or the function: the rounds, or the calls, could have been more. */
void pel_note_exits(pel_walk *w, pel_front front);
void pel_stop_lanes(pel_walk *w, pel_front front, pel_lane_state state);
pel_front pel_running(pel_walk *w, pel_front front); /* those that still run */
typedef struct pel_sides {
    pel_front yes, no;
} pel_sides;
pel_sides pel_part(pel_walk *w, pel_front front, const bool *truth);
pel_front pel_both(pel_walk *w, pel_front a, pel_front b); /* in the order of the lanes */

/* ---- walk/loop.c ---- */
pel_front pel_walk_for(pel_walk *w, pel_front front, pel_node *node);
pel_front pel_walk_while(pel_walk *w, pel_front front, pel_node *node);
pel_front pel_walk_jump(pel_walk *w, pel_front front, pel_node *node); /* break, continue */
/* Where lanes stand, to walk from there again. */
uint32_t *pel_save_places(pel_walk *w, pel_front front);
void pel_restore_places(pel_walk *w, pel_front front, const uint32_t *places);

/* ---- walk/unroll.c ---- */
/* Tries the loop as its rounds one after the other, and takes that if nothing but names of constants is left of it, or
 * if there is but one round. False: nothing has happened. */
bool pel_unroll(pel_walk *w, pel_front front, pel_node *node, const pel_rounds *rounds);
/* Where a walk stands, to try something and come back. */
typedef struct pel_lane_place {
    pel_walk walk;
    pel_env env;
    pel_front front;
    uint32_t *places; /* of its lanes */
    bool changed, regroup;
    uint32_t n_folds;
} pel_lane_place;
pel_lane_place pel_remember(pel_walk *w, pel_front front);
void pel_go_back(pel_walk *w, const pel_lane_place *to);
/* A list comprehension over constants, as a list of its elements; false where they can't be written that way. */
bool pel_list_rounds(pel_walk *w, pel_front front, pel_node *node, pel_val *val);

/* ---- walk/with.c, walk/try.c ---- */
pel_front pel_walk_with(pel_walk *w, pel_front front, pel_node *node);
pel_front pel_walk_try(pel_walk *w, pel_front front, pel_node *node);
/* Statements of which no run raised anything, where somebody would catch it. */
typedef struct pel_untried {
    const pel_node *at;
    pel_nodes source;
    const uint32_t *places; /* of the lanes, before they were walked */
} pel_untried;
/* Whether what lanes did from there to where they stand is the same in every call. */
bool pel_is_settled_body(pel_walk *w, pel_front front, const pel_untried *body);
/* What is written for them: itself, or, if data could raise something, with a handler that says so: an exception is a
 * path that was not recorded, and one that went on could be caught further out, by who has another answer to it. */
pel_nodes pel_refuse_raising(pel_walk *w, pel_front front, const pel_untried *body, pel_nodes written);

#endif
