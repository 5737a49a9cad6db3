#ifndef PEL_LOAD_AUDIT_REPORT_H
#define PEL_LOAD_AUDIT_REPORT_H

#include "load/audit/audit.h"

/* rows: the audits of single files as pel_audit_json writes them. Throws PEL_E_FORMAT if one is no JSON. */
void pel_audit_report(pel_ctx *ctx, pel_audit_form form, const pel_text *rows, size_t n, pel_buf *out);
/* SARIF of rows like those, with rules of their own. A finding with a line is one in source: "file", "line", and
 * "related" places with "file", "line" and "text". */
void pel_sarif(pel_ctx *ctx, const pel_text *rows, size_t n, const pel_rule *(*rule_at)(size_t i), pel_buf *out);

#endif
