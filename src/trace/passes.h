/* The driver of the passes. passes.def is the table; README.md says what each folder is for. */
#ifndef PEL_TRACE_PASSES_H
#define PEL_TRACE_PASSES_H

#include "trace/synth.h"

typedef enum pel_pass_group {
#define GROUP(name, when) PEL_PASSES_##name,
#define PASS(name, run, check, group)
#define LATE(name, run, check, group)
#include "trace/passes.def"
#undef GROUP
#undef PASS
#undef LATE
    PEL_PASS_GROUPS
} pel_pass_group;

typedef struct pel_pass {
    const char *name;
    bool (*run)(pel_synth *s);   /* true if it changed the program */
    void (*check)(pel_synth *s); /* throws if the program is not what the next pass may expect */
    pel_pass_group group;
    bool late; /* only in rounds in which nothing before it changed anything */
} pel_pass;

#define GROUP(name, when)
#define PASS(name, run, check, group)                                                                                  \
    bool run(pel_synth *s);                                                                                            \
    void check(pel_synth *s);
#define LATE(name, run, check, group) PASS(name, run, check, group)
#include "trace/passes.def"
#undef GROUP
#undef PASS
#undef LATE

/* Runs all passes over the program of s. Throws where a function has no text (program->said.refused), where a group of
 * passes never comes to rest, and where a checker finds a mistake of ours. */
void pel_run_passes(pel_synth *s);

bool pel_is_pass(pel_str name);
void pel_list_passes(pel_buf *out); /* all of them in order, a line each, by group */

/* Throws if the statements are not what Python would take: a node is missing, or of the wrong kind. */
void pel_check_statements(pel_ctx *ctx, pel_node **statements, uint32_t n);

/* Why a function of the program has no text to be checked or shown; NULL if it has one. From `functions` to `texts`. */
const char *pel_why_no_text(const pel_synth *s, const pel_program_function *function);

/* The program as text after a pass. */
void pel_dump_program(pel_synth *s, const pel_pass *pass, uint32_t round, pel_buf *out);

#endif
