/* Which tree an author's function has, and where in it each of its instructions lies. */
#ifndef PEL_TRACE_LOG_ALIGN_H
#define PEL_TRACE_LOG_ALIGN_H

#include "bytecode/decode.h"
#include "trace/log/log.h"

typedef struct pel_author {
    pel_id code;
    const pel_insns *insns;
    const pel_position *positions; /* one per instruction */
    const uint32_t *index;         /* code unit -> instruction; PEL_NO_TARGET inside of caches */
    uint32_t n_units;              /* with those behind the code, for second halves */
    const bool *is_second;         /* by instruction: half of one that does two things; NULL: there is none */
    pel_node *node;                /* FunctionDef, AsyncFunctionDef, Lambda or a comprehension; NULL: `why` says why */
    pel_node *within;              /* the class or function whose body holds it, NULL for the file's */
    pel_node *file;                /* the Module it stands in */
    const char *why;
} pel_author;

/* One row per code of the log, for those that have activations; node is NULL for the others. */
pel_author *pel_align(pel_ctx *ctx, const pel_log *log);

/* align_later.c: instructions that do two things become two, the second one at a unit behind the code; then, when the
 * node is known, the second ones get their positions, and the compiler's own instructions lose theirs. */
void pel_split_fused(pel_ctx *ctx, pel_author *author);
void pel_align_later(pel_ctx *ctx, pel_author *author);

/* The instruction that left a record; NULL: it lies between two. */
const pel_insn *pel_author_insn(const pel_author *author, const pel_record *record);

/* Whether an instruction's source lies inside of a node. */
bool pel_inside(const pel_position *at, const pel_node *node);

#endif
