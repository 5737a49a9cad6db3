/* Chat templates: Jinja that programs render with a model's file at hand, which is a known way to run code. */
#ifndef PEL_LOAD_TEMPLATE_H
#define PEL_LOAD_TEMPLATE_H

#include "io/finding.h"

/* Adds a finding for everything in a template that is not on the lists of what templates need: names that are called,
 * methods, filters, tests, statements; attributes that begin with an underscore or belong to Python's frames; keys that
 * the template computes. member: where it lies; at: its offset. Throws only if memory runs out. */
void pel_audit_template(pel_ctx *ctx, pel_findings *findings, pel_str member, pel_str text, uint64_t at);
/* Whether text has a tag of Jinja. */
bool pel_is_template(pel_str text);

#endif
