/* Names that no table knows, with their source at hand. */
#ifndef PEL_LOAD_AUDIT_SOURCE_H
#define PEL_LOAD_AUDIT_SOURCE_H

#include "load/audit/audit.h"

/* Adds what the source of module.name does to the findings: "calling foo.Bar opens ...: foo/bar.py:31". It adds only: a
 * name that no table knows stays unknown, since what a file gives it may be called, too. */
void pel_audit_source(pel_ctx *ctx, pel_audit *audit, pel_str member, uint64_t at, const pel_pickled_global *name);

#endif
