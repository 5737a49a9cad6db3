/* What is known about a claim that somebody may rely on: "the skeleton is equal", "the file is harmless".
 *
 * An answer can't be made without its evidence: every constructor takes some, and an answer whose evidence is empty
 * is unknown. Answers combine by the worst; nothing turns unknown into checked. */
#ifndef PEL_BASE_ANSWER_H
#define PEL_BASE_ANSWER_H

#include "base/buf.h"
#include "base/json.h"

/* In the order of the worst. */
typedef enum pel_answer_kind {
    PEL_PROVED,      /* holds for all inputs that meet the conditions that the evidence states */
    PEL_CHECKED,     /* held on the runs that the evidence lists */
    PEL_UNDECIDED,   /* unknown: the evidence says why, and where */
    PEL_CONTRADICTED /* wrong: the evidence says what differs */
} pel_answer_kind;

typedef struct pel_evidence {
    pel_str what;  /* a condition, a run, a reason, a difference; not empty */
    pel_str where; /* file, member, function; empty: the thing asked about as a whole */
    uint64_t at;   /* byte or line in it; 0: none */
} pel_evidence;

typedef struct pel_answer {
    pel_answer_kind kind;
    PEL_VEC(pel_evidence)
    evidence; /* never empty; of the worst kind only: what a better answer rests on is no reason
                 for a worse one */
} pel_answer;

pel_answer pel_proved(pel_ctx *ctx, pel_evidence condition);
pel_answer pel_checked(pel_ctx *ctx, pel_evidence run);
pel_answer pel_undecided(pel_ctx *ctx, pel_evidence reason);
pel_answer pel_contradicted(pel_ctx *ctx, pel_evidence difference);

/* The worse of both; of equal ones both pieces of evidence. */
pel_answer pel_answer_join(pel_ctx *ctx, const pel_answer *a, const pel_answer *b);

/* "proved", "checked", "unknown", "wrong". */
const char *pel_answer_name(pel_answer_kind kind);
/* 0, 0, 3 (incomplete), 4 (found). */
int pel_answer_exit(pel_answer_kind kind);
/* {"answer": "unknown", "evidence": [{"what", "where", "at"}]} */
void pel_answer_json(pel_json *json, const pel_answer *answer);

#endif
