#ifndef PEL_LOAD_AUDIT_REPORT_H
#define PEL_LOAD_AUDIT_REPORT_H

#include "load/audit.h"

/* rows: the audits of single files as pel_audit_json writes them. Throws PEL_E_FORMAT if one is no JSON. */
void pel_audit_report(pel_ctx *ctx, pel_audit_form form, const pel_text *rows, size_t n, pel_buf *out);

#endif
