/* What the walk notes of nodes, for the passes after it.
 *
 * A node has room for its origin alone (mark). In trace that is a row of the table of notes, 0 for none: a copy of a
 * node comes from where the node came from, so what was noted of the one holds for the other. */
#ifndef PEL_TRACE_DEPENDS_NOTES_H
#define PEL_TRACE_DEPENDS_NOTES_H

#include "trace/synth.h"

typedef enum pel_node_note {
    PEL_NOTE_EFFECT = 1,           /* it does more than give a value, or may raise where somebody catches it */
    PEL_NOTE_COMPARES_TENSORS = 2, /* of a Compare: its opposite would be another call of torch */
    PEL_NOTE_ASKS_DATA = 4,        /* of an Assign: x.item(), which is another number in every lane */
} pel_node_note;

void pel_note_node(pel_synth *s, pel_node *node, pel_node_note note);
bool pel_is_noted(const pel_synth *s, const pel_node *node, uint8_t notes); /* any of them */
void pel_forget_notes(pel_node *node);

/* The opposite of a test, as people write it. */
pel_node *pel_not(const pel_synth *s, pel_node *test);
/* What certainly gives True or False: a comparison of tensors would give a tensor, but then it is not asked this. */
bool pel_gives_truth(const pel_node *node);

#endif
