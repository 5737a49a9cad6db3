/* Regular expressions as Python's `re` has them, for interpreted programs.
 *
 * Patterns and texts are hostile: a match that goes back too often ends with an error instead of running for years, and
 * matching needs no C stack. No library is used because what is wanted is Python's own dialect and a budget of steps.
 */
#ifndef PEL_PYTHON_REGEX_H
#define PEL_PYTHON_REGEX_H

#include "base/ctx.h"

/* re's numbers; others are ignored (LOCALE, UNICODE, DEBUG) */
enum { PEL_RE_IGNORECASE = 2, PEL_RE_MULTILINE = 8, PEL_RE_DOTALL = 16, PEL_RE_VERBOSE = 64, PEL_RE_ASCII = 256 };

typedef struct pel_regex_name {
    pel_name name;
    uint32_t group;
} pel_regex_name;

typedef struct pel_regex {
    uint32_t n_groups; /* without the whole match */
    PEL_VEC(pel_regex_name) names;
    uint32_t flags; /* with those that the pattern itself sets */
    struct pel_regex_program *program;
} pel_regex;

/* Throws PEL_E_SYNTAX with the offset in the pattern, or PEL_E_TOO_BIG. is_bytes: every byte is a character. */
pel_regex *pel_regex_new(pel_ctx *ctx, pel_str pattern, uint32_t flags, bool is_bytes);

typedef enum pel_regex_mode { PEL_RE_SEARCH, PEL_RE_MATCH, PEL_RE_FULLMATCH } pel_regex_mode;

/* Looks in text[start, end), all in bytes. spans: 2 * (n_groups + 1) offsets, -1 for groups that took no part.
 * steps: how many may be taken; what is left is put back. Throws PEL_E_TOO_BIG when none are left. */
bool pel_regex_run(pel_ctx *ctx, const pel_regex *regex, pel_str text, size_t start, size_t end, pel_regex_mode mode,
                   int64_t *spans, uint64_t *steps);

#endif
