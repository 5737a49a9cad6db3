/* What a pickle does with the names that it imports, judged by evidence: the tables of effects, models of the helpers
 * that call what they are given, and nothing else. A name that neither has is not known. */
#ifndef PEL_LOAD_AUDIT_USE_H
#define PEL_LOAD_AUDIT_USE_H

#include "load/audit/audit.h"
#include "load/audit/effects.h"

typedef struct pel_judged {
    pel_severity severity;
    const char *kind; /* of the finding: "calls", "calls-unknown" ... */
    const char *why;  /* what is wrong with it; empty for notes */
    bool needs_quiet; /* it runs special methods of what it gets */
} pel_judged;

/* What an object of the file will be when it is there. */
typedef enum pel_made_kind {
    PEL_MADE_PLAIN,   /* Python's own values */
    PEL_MADE_VALUE,   /* a tensor, an array: native, and known */
    PEL_MADE_OBJECT,  /* of the class that is named */
    PEL_MADE_UNKNOWN, /* nobody knows */
} pel_made_kind;

typedef struct pel_made {
    pel_made_kind kind;
    pel_str module, name;
    const pel_pickled_global *global; /* the same; NULL if there are none */
} pel_made;

/* Looks every name of a pickle up, once. */
void pel_know_names(pel_ctx *ctx, const pel_pickle *pickle);

pel_made pel_made_of(const pel_pickled *object);
/* The effects of what made names; nothing if it is not an object. */
pel_effects pel_made_effects(const pel_made *made);

/* Whether all of an object is Python's own values, tensors and arrays. */
bool pel_is_plain_result(const pel_pickled *object);
/* Whether an object is of a library's code that only computes, and all in it is plain. */
bool pel_is_plain_value(const pel_pickled *object);
/* Whether a call gives what it unpickles from bytes. */
bool pel_is_unpickling(const pel_pickled *call);
pel_judged pel_judge_call(const pel_pickled *call, bool is_script);
pel_judged pel_judge_state(const pel_pickled *object);
pel_judged pel_judge_items(const pel_pickled *object);
pel_judged pel_judge_key(const pel_pickled *object);
/* Of the id that the file's reader makes an object of: torch's reads keys, places and counts. */
pel_judged pel_judge_persistent(const pel_pickled *object);
/* Of a name that is imported, and not called. */
pel_judged pel_judge_reference(const pel_pickled *global, bool is_script);

#endif
