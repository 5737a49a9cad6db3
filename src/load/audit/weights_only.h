/* What torch.load(weights_only=True) makes of a file: it unpickles by a list of names, and stops at the first that is
 * not on it. */
#ifndef PEL_LOAD_WEIGHTS_ONLY_H
#define PEL_LOAD_WEIGHTS_ONLY_H

#include "load/audit/audit.h"

void pel_weights_only(pel_ctx *ctx, pel_audit *audit);
void pel_weights_only_text(const pel_audit *audit, pel_buf *out);
void pel_weights_only_json(const pel_audit *audit, pel_json *json);

#endif
