/* What passes note of nodes, for those after them.
 *
 * A node has room for its origin alone (mark). In trace that is a row of the program's table of notes, 0 for none: a
 * copy of a node comes from where the node came from, so what was noted of the one holds for the other. */
#ifndef PEL_TRACE_DEPENDS_NOTES_H
#define PEL_TRACE_DEPENDS_NOTES_H

#include "trace/synth.h"

typedef enum pel_node_note {
    PEL_NOTE_EFFECT = 1,           /* it does more than give a value, or may raise where somebody catches it */
    PEL_NOTE_COMPARES_TENSORS = 2, /* of a Compare: its opposite would be another call of torch */
    PEL_NOTE_ASKS_DATA = 4,        /* of an Assign: x.item(), which is another number in every lane */
    /* of keywords in constructor calls (build/): all arguments are keywords until pel_unify_polish */
    PEL_NOTE_DEFAULT = 8,     /* the value is the signature's default: left out if it is so in all lanes */
    PEL_NOTE_POSITIONAL = 16, /* to be written without its name */
    PEL_NOTE_SIZE = 32,       /* how large a layer is, which nobody gives a default */
    /* of calls in constructors (build/) */
    PEL_NOTE_BUILDS = 64,    /* makes something that must not be made twice or shared: a module, a parameter */
    PEL_NOTE_OPAQUE = 128,   /* not to be looked into: differs by definition (a class that contains itself) */
    PEL_NOTE_GIVEN = 256,    /* of the author's: what is called is an argument of his constructor */
    PEL_NOTE_KEYWORDS = 512, /* of a Dict: keyword arguments, in the order that one caller wrote them in */
    PEL_NOTE_OUTPUT = 1024,  /* it gave an object of a dataclass that is a dict, too */
} pel_node_note;

uint32_t pel_node_notes(const pel_note_table *table, const pel_node *node);              /* a set of pel_node_note */
void pel_set_notes(pel_ctx *ctx, pel_note_table *table, pel_node *node, uint32_t notes); /* these and no others */
void pel_note_node(pel_synth *s, pel_node *node, pel_node_note note);
bool pel_is_noted(const pel_synth *s, const pel_node *node, uint32_t notes); /* any of them */
void pel_forget_notes(pel_node *node);

/* The opposite of a test, as people write it. */
pel_node *pel_not(const pel_synth *s, pel_node *test);
/* What certainly gives True or False: a comparison of tensors would give a tensor, but then it is not asked this. */
bool pel_gives_truth(const pel_node *node);

#endif
