/* What would happen if a file were opened by its usual reader: every name that it imports, every call that it makes,
 * everything about its container that two readers may see differently. */
#ifndef PEL_LOAD_AUDIT_H
#define PEL_LOAD_AUDIT_H

#include "base/answer.h"
#include "load/load.h"

#define PEL_AUDIT_SCHEMA 1 /* of the JSON: docs/audit-json.schema.json */

typedef struct pel_audited_call {
    pel_severity severity;
    pel_str member;
    uint64_t offset;
    pel_str text; /* "posix.system('id')" */
} pel_audited_call;

/* "collections.OrderedDict" is called 3 times. */
typedef struct pel_audited_use {
    const char *use; /* "import", "call", "new", "state", "items", "key" */
    pel_str name;
    uint64_t n;
    pel_severity severity;
} pel_audited_use;

typedef struct pel_audited_code {
    pel_str member, name;
    pel_severity severity;
    pel_str source; /* decompiled; empty if it could not be */
} pel_audited_code;

/* A name that torch.load(weights_only=True) refuses, and the worst that the file does with it. */
typedef struct pel_weights_name {
    pel_str name;
    pel_severity severity;
} pel_weights_name;

typedef struct pel_weights_refused {
    PEL_VEC(pel_weights_name) names;
    uint64_t n_left_out;      /* more names */
    PEL_VEC(pel_str) reasons; /* why it would refuse the file even if all names were allowed */
    pel_str advice;           /* a line of Python or of the shell that helps */
} pel_weights_refused;

typedef struct pel_audit {
    bool (*source)(void *arg, pel_text path, pel_text *bytes); /* see pel_audit_options; NULL: there is none */
    void *source_arg;
    pel_loaded loaded;
    pel_findings findings; /* all: the loader's and the audit's */
    PEL_VEC(pel_audited_call) calls;
    PEL_VEC(pel_audited_code) codes;
    PEL_VEC(const pel_pickled_global *) globals; /* each once */
    PEL_VEC(pel_audited_use) uses;               /* each once: all that opening the file does with names */
    uint64_t dropped_uses;
    bool is_broken; /* the file could not be read to its end: fault says why */
    pel_err fault;
    pel_verdict verdict;
    pel_answer answer;                       /* whether opening it stays in memory, with the evidence */
    const pel_weights_refused *weights_only; /* NULL: not a file for torch.load */
    char sha256[65];                         /* of the file; empty: nobody asked */
    bool is_allowed;                         /* a baseline allows all that was found */
    const char *const *also;                 /* other names of the same file, ended by NULL; NULL: none */
} pel_audit;

/* Throws only if memory runs out. */
void pel_audit_file(pel_ctx *ctx, const pel_model_file *file, pel_audit *audit);
/* The audit of a file that was not opened: broken, or else unknown. */
void pel_audit_unopened(pel_ctx *ctx, pel_str why, bool is_broken, pel_audit *audit);
/* The same for what was loaded into audit->loaded already. */
void pel_audit_loaded(pel_ctx *ctx, pel_audit *audit);

/* A kind of finding, explained (rules.def). NULL: there is none. */
typedef struct pel_rule {
    const char *id, *title, *text;
} pel_rule;
const pel_rule *pel_rule_at(size_t i);
const pel_rule *pel_rule_of(pel_str id);

/* The verdicts' names and exit codes are written here and nowhere else. */
const char *pel_verdict_name(pel_verdict verdict);
int pel_verdict_exit(pel_verdict verdict);

/* Bytecode that a file brings along, as source and judged. */
void pel_audit_code(pel_ctx *ctx, pel_audit *audit, const pel_loaded_code *code);

/* "audit: dangerous: calls posix.system('id')" and how much more there is to say; nothing about harmless files. */
void pel_audit_line(const pel_audit *audit, pel_buf *out);
void pel_audit_text(const pel_audit *audit, pel_str name, pel_buf *out);
void pel_audit_json(const pel_audit *audit, pel_str name, pel_buf *out);
/* Of several files; returns the worst. */
pel_verdict pel_audit_summary(const pel_audited *rows, size_t n, const pel_audit_options *options, pel_buf *out);

/* ---- names ---- */

/* A key under which configs have the name of what their loader calls; and whether a dotted name is one of those that
 * are known to leave memory. */
bool pel_is_call_key(pel_str key);
bool pel_leaves_memory(pel_str dotted);

typedef enum pel_name_kind {
    PEL_NAME_PLAIN,   /* native, and makes plain values whatever it is given: OrderedDict, a tensor */
    PEL_NAME_SCRIPT,  /* a type of TorchScript, which its reader makes without Python */
    PEL_NAME_OTHER,   /* the tables of effects know, or nobody does */
    PEL_NAME_LIBRARY, /* the same, of the standard library, torch or numpy */
    PEL_NAME_HOT,     /* runs commands, code or imports; reads or writes files: nothing to keep in a model file */
} pel_name_kind;

/* is_foreign: it takes more than torch and numpy to have that name. */
pel_name_kind pel_judge_name(pel_str module, pel_str name, bool *is_foreign);
/* A value of a native type that libraries define: torch.float32. */
bool pel_is_constant_name(pel_str module, pel_str name);
static inline bool pel_is_plain_name(pel_str module, pel_str name) {
    bool ignored;
    return pel_judge_name(module, name, &ignored) == PEL_NAME_PLAIN;
}

#endif
