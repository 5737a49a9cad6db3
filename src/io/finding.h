/* What a reader noticed about a file that it could still read: trouble is a finding, never a guess. */
#ifndef PEL_IO_FINDING_H
#define PEL_IO_FINDING_H

#include "base/buf.h"

typedef enum pel_severity {
    PEL_NOTE,    /* worth knowing: needs somebody's class */
    PEL_UNREAD,  /* a part that could not be read: what it would do is not known */
    PEL_SUSPECT, /* readers may disagree about the file, or nobody writes files like this */
    PEL_DANGER,  /* opening the file with its usual reader runs code or does harm */
} pel_severity;

typedef struct pel_finding {
    pel_severity severity;
    const char *kind; /* stable: "duplicate-member", "calls" */
    pel_str member;   /* of an archive, or the tensor concerned; empty: the file itself */
    uint64_t offset;
    pel_str text;
    bool is_allowed; /* by a baseline */
} pel_finding;

#define PEL_MAX_FINDINGS 1000 /* kept; hostile files can have millions */

typedef struct pel_findings {
    pel_finding *at;
    uint32_t n, cap;
    uint64_t dropped; /* more of the same: found after there were enough */
    pel_severity worst;
} pel_findings;

static inline void pel_find(pel_ctx *ctx, pel_findings *findings, pel_severity severity, const char *kind,
                            pel_str member, uint64_t offset, pel_str text) {
    bool is_worse = severity > findings->worst;
    if (is_worse) findings->worst = severity;
    if (findings->n >= PEL_MAX_FINDINGS && !is_worse) {
        findings->dropped++;
        return;
    }
    pel_push(ctx, findings, (pel_finding){ severity, kind, member, offset, text, false });
}

#endif
