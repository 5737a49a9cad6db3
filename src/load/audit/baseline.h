/* What somebody has looked at and allows: findings of a file with that content, or of files of that name. */
#ifndef PEL_LOAD_BASELINE_H
#define PEL_LOAD_BASELINE_H

#include "load/audit/audit.h"

/* Throws PEL_E_FORMAT with the place if it is not what `--write-baseline` writes, or people may write: a rule that does
 * not exist, a key that is not known or an entry for any file is a mistake, never a wider permission. */
const pel_baseline *pel_baseline_read(pel_ctx *ctx, pel_str json);
size_t pel_baseline_unused(const pel_baseline *baseline);
/* Marks the findings that it allows, and audit->is_allowed if these are all that there are. */
void pel_baseline_apply(const pel_baseline *baseline, pel_audit *audit, pel_str name);

/* Fills audit->sha256. */
void pel_audit_sum(pel_ctx *ctx, pel_audit *audit);

#endif
