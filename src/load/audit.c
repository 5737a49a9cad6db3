#include "load/audit.h"

#include "io/bytes.h"

#include <stdio.h>

#define MAX_CALLS 200    /* kept of a file; a checkpoint has one per tensor, and those are plain */
#define MAX_NESTING 4    /* pickles inside of pickles */
#define MAX_GLOBALS 1000 /* different ones */
#define MANY_LEAVES 1e7  /* of a tree that sharing keeps small */
#define MANY_LEVELS 1000
#define MAX_MADE ((uint64_t)64 << 20) /* bytes that detours to nested pickles may make */

typedef struct auditor {
    pel_ctx *ctx;
    pel_audit *audit;
    pel_findings *findings;
    pel_map known; /* interned "module name" -> 1: reported */
    int nesting;
    uint64_t budget; /* bytes that may be made to look at what calls unpickle */
    uint64_t n_calls;
} auditor;

static void audit_loaded(auditor *a, pel_loaded *loaded, pel_str inside);

/* ---- names and calls ---- */

static pel_str shown(auditor *a, const pel_pickled *object) {
    pel_buf text = pel_buf_in(a->ctx);
    pel_pickled_show(&text, object);
    return pel_buf_str(&text);
}

static void add_call(auditor *a, pel_severity severity, pel_str member, const pel_pickled *call) {
    if (a->audit->calls.n >= MAX_CALLS && severity < PEL_DANGER) return;
    if (a->audit->calls.n >= 2 * MAX_CALLS) return;
    pel_push(a->ctx, &a->audit->calls, (pel_audited_call){ severity, member, call->at, shown(a, call) });
}

static bool is_new(auditor *a, const pel_pickled_global *global) {
    pel_str text = pel_format(a->ctx, "%.*s %.*s", PEL_FMT(global->module), PEL_FMT(global->name));
    if (!pel_map_set(a->ctx, &a->known, PEL_KEY(pel_intern_str(a->ctx, text)), 1)) return false;
    if (a->audit->globals.n < MAX_GLOBALS) pel_push(a->ctx, &a->audit->globals, global);
    return true;
}

static void audit_global(auditor *a, const pel_pickled *object, pel_str member, bool is_called) {
    const pel_pickled_global *global = object->global;
    bool is_first = is_new(a, global), is_foreign;
    if (global->is_computed) {
        pel_find(a->ctx, a->findings, PEL_DANGER, "computed-name", member, object->at,
                 PEL_STR("imports a name that is computed while the file is opened"));
        return;
    }
    pel_name_kind kind = pel_judge_name(global->module, global->name, &is_foreign);
    if (kind == PEL_NAME_HOT && !is_called)
        pel_find(a->ctx, a->findings, PEL_DANGER, "imports", member, object->at,
                 pel_format(a->ctx, "imports %.*s", PEL_FMT(shown(a, object))));
    else if (kind == PEL_NAME_LIBRARY && !is_called && is_first)
        pel_find(a->ctx, a->findings, PEL_NOTE, "refers", member, object->at,
                 pel_format(a->ctx, "refers to %.*s", PEL_FMT(shown(a, object))));
    else if (is_foreign && is_first)
        pel_find(a->ctx, a->findings, PEL_NOTE, "class", member, object->at,
                 pel_format(a->ctx, "needs %.*s, which somebody's code must provide", PEL_FMT(shown(a, object))));
}

/* getattr(x, "name"): a bound method of an object that the file makes is harmless as long as nobody calls it. */
static pel_severity judge_getattr(const pel_pickled *call) {
    const pel_pickled *of = pel_pickled_argument(call, 0), *name = pel_pickled_argument(call, 1);
    bool ignored;
    if (!of || !name || name->kind != PEL_P_STR || pel_str_starts(name->text, PEL_STR("__"))) return PEL_DANGER;
    if (of->kind == PEL_P_NEW) return PEL_NOTE;
    if (of->kind != PEL_P_GLOBAL || of->global->is_computed) return PEL_DANGER;
    return pel_judge_name(of->global->module, of->global->name, &ignored) <= PEL_NAME_CLASS ? PEL_NOTE : PEL_DANGER;
}

static pel_severity judge_call(const pel_pickled *call) {
    const pel_pickled *callable = call->call->callable;
    bool ignored;
    if (callable->kind != PEL_P_GLOBAL || callable->global->is_computed) return PEL_DANGER;
    if (pel_pickled_is_global(callable, "builtins", "getattr") ||
        pel_pickled_is_global(callable, "__builtin__", "getattr"))
        return judge_getattr(call);
    if (pel_pickled_is_global(callable, "functools", "partial")) return PEL_NOTE; /* calls nothing by itself */
    switch (pel_judge_name(callable->global->module, callable->global->name, &ignored)) {
    case PEL_NAME_HOT:
    case PEL_NAME_LIBRARY: return PEL_DANGER;
    case PEL_NAME_FUNCTION: return call->kind == PEL_P_NEW ? PEL_NOTE : PEL_SUSPECT;
    default: return PEL_NOTE;
    }
}

/* ---- what is inside of arguments ---- */

typedef struct nested_job {
    auditor *a;
    pel_str bytes, member;
} nested_job;

static void read_nested(pel_ctx *ctx, void *arg) {
    nested_job *job = arg;
    pel_loaded *loaded = pel_new(ctx, pel_loaded);
    loaded->depth = 1;
    pel_model_file file = { .bytes = { job->bytes.ptr, job->bytes.len } };
    pel_load(ctx, &file, loaded);
    audit_loaded(job->a, loaded, job->member);
}

/* Bytes that the call would unpickle, or run: loads(b"..."), _load_from_bytes(b"..."), exec(marshal.loads(b"...")). */
static void audit_nested(auditor *a, pel_str bytes, pel_str inside, uint64_t at) {
    nested_job job = { a, bytes, inside };
    pel_err why;
    if (a->nesting >= MAX_NESTING) {
        pel_find(a->ctx, a->findings, PEL_DANGER, "nesting", inside, at,
                 pel_format(a->ctx, "pickles inside of pickles, more than %d deep", MAX_NESTING));
        return;
    }
    a->nesting++;
    if (!pel_attempt(a->ctx, read_nested, &job, &why))
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "unread-pickle", inside, why.at,
                 pel_str_copy(a->ctx, pel_str_of(why.what)));
    a->nesting--;
}

static void audit_argument_bytes(auditor *a, const pel_pickled *call, pel_str member) {
    const pel_pickled *callable = call->call->callable, *from = pel_pickled_argument(call, 0);
    pel_str bytes;
    if (callable->kind != PEL_P_GLOBAL || !from) return;
    bool unpickles = pel_pickled_is_global(callable, "torch.storage", "_load_from_bytes");
    if (!pel_pickled_bytes(a->ctx, from, &a->budget, &bytes)) {
        if (unpickles)
            pel_find(a->ctx, a->findings, PEL_SUSPECT, "unread-pickle", member, from->at,
                     pel_format(a->ctx, "%.*s unpickles bytes that can't be computed here", PEL_FMT(shown(a, call))));
        return;
    }
    pel_str inside = pel_format(a->ctx, "%.*s%sbytes at %llu", PEL_FMT(member), member.len ? ", " : "",
                                (unsigned long long)from->at);
    if (pel_str_is(callable->global->module, "marshal")) {
        pel_loaded_code code = { inside, shown(a, callable), bytes };
        pel_audit_code(a->ctx, a->audit, &code);
        return;
    }
    if (unpickles || pel_is_pickle(bytes) || pel_is_zip(bytes)) audit_nested(a, bytes, inside, from->at);
}

static void audit_call(auditor *a, const pel_pickled *call, pel_str member) {
    a->n_calls++;
    pel_severity severity = judge_call(call);
    const pel_pickled *callable = call->call->callable;
    bool is_plain = severity == PEL_NOTE && callable->kind == PEL_P_GLOBAL;
    if (severity == PEL_DANGER) {
        const char *kind = callable->kind == PEL_P_GLOBAL ? "calls" : "calls-result";
        pel_find(a->ctx, a->findings, PEL_DANGER, kind, member, call->at,
                 pel_format(a->ctx, "calls %.*s", PEL_FMT(shown(a, call))));
    } else if (severity == PEL_SUSPECT) {
        pel_find(
            a->ctx, a->findings, PEL_SUSPECT, "calls-unknown", member, call->at,
            pel_format(a->ctx, "calls %.*s: somebody's function, nobody knows what it does", PEL_FMT(shown(a, call))));
    }
    bool ignored;
    if (!is_plain || pel_judge_name(callable->global->module, callable->global->name, &ignored) != PEL_NAME_PLAIN)
        add_call(a, severity, member, call);
    audit_argument_bytes(a, call, member);
}

/* ---- what grows ---- */

typedef struct expansion {
    double leaves; /* of the tree that a reader without sharing walks */
    uint32_t levels;
    bool open; /* being computed: met again, it is a cycle */
} expansion;

static uint32_t n_parts(const pel_pickled *object) {
    bool is_call = object->kind == PEL_P_CALL || object->kind == PEL_P_NEW;
    return object->items.n + (is_call ? 1 : 0) + (object->states ? object->states->list.n : 0);
}

static pel_pickled *part(const pel_pickled *object, uint32_t i) {
    if (i < object->items.n) return object->items.at[i];
    i -= object->items.n;
    if (object->kind == PEL_P_CALL || object->kind == PEL_P_NEW) {
        if (i == 0) return object->call->args;
        i--;
    }
    return object->states->list.at[i];
}

typedef struct frame {
    const pel_pickled *object;
    expansion *sum;
    uint32_t next;
} frame;

/* Billion laughs: lists that hold one list twice, which holds one list twice ... */
static void audit_growth(auditor *a, const pel_pickled *root, pel_str member) {
    pel_map sums = { 0 };
    PEL_VEC(frame) stack = { 0 };
    expansion *total = pel_new(a->ctx, expansion);
    total->open = true;
    pel_push(a->ctx, &stack, (frame){ root, total, 0 });
    pel_map_set(a->ctx, &sums, PEL_KEY(root), PEL_KEY(total));
    while (stack.n) {
        frame *top = &stack.at[stack.n - 1];
        if (top->next == n_parts(top->object)) {
            expansion *sum = top->sum;
            sum->open = false;
            sum->leaves += 1;
            sum->levels += 1;
            stack.n--;
            if (!stack.n) break;
            expansion *parent = stack.at[stack.n - 1].sum;
            parent->leaves += sum->leaves;
            if (sum->levels > parent->levels) parent->levels = sum->levels;
            continue;
        }
        const pel_pickled *child = part(top->object, top->next++);
        uint64_t found;
        if (!n_parts(child)) {
            top->sum->leaves += 1;
        } else if (pel_map_get(&sums, PEL_KEY(child), &found)) {
            const expansion *sum = (const expansion *)(uintptr_t)found;
            if (sum->open) continue;
            top->sum->leaves += sum->leaves;
            if (sum->levels > top->sum->levels) top->sum->levels = sum->levels;
        } else {
            expansion *sum = pel_new(a->ctx, expansion);
            sum->open = true;
            pel_map_set(a->ctx, &sums, PEL_KEY(child), PEL_KEY(sum));
            pel_push(a->ctx, &stack, (frame){ child, sum, 0 });
        }
    }
    if (total->leaves > MANY_LEAVES && total->leaves > 1000.0 * sums.n)
        pel_find(a->ctx, a->findings, PEL_DANGER, "exponential", member, root->at,
                 pel_format(a->ctx,
                            "%u objects that are %.3g when they are printed, copied or walked: they share their "
                            "parts over and over (billion laughs)",
                            sums.n, total->leaves));
    if (total->levels > MANY_LEVELS)
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "deep", member, root->at,
                 pel_format(a->ctx, "objects nest %u deep: readers that recurse will fail", total->levels));
}

/* ---- a pickle ---- */

static void audit_pickle(auditor *a, const pel_loaded_pickle *row, pel_str inside) {
    const pel_pickle *pickle = row->pickle;
    pel_str member = !inside.len       ? row->member
                     : row->member.len ? pel_format(a->ctx, "%.*s, %.*s", PEL_FMT(inside), PEL_FMT(row->member))
                                       : inside;
    pel_map called = { 0 };
    for (uint32_t i = 0; i < pickle->calls.n; i++)
        pel_map_set(a->ctx, &called, PEL_KEY(pickle->calls.at[i]->call->callable), 1);
    for (uint32_t i = 0; i < pickle->globals.n; i++)
        audit_global(a, pickle->globals.at[i], member, pel_map_has(&called, PEL_KEY(pickle->globals.at[i])));
    for (uint32_t i = 0; i < pickle->calls.n; i++) audit_call(a, pickle->calls.at[i], member);
    for (uint32_t i = 0; i < pickle->builds.n; i++) {
        const pel_pickled *object = pickle->builds.at[i];
        if (object->kind == PEL_P_GLOBAL)
            pel_find(a->ctx, a->findings, PEL_DANGER, "changes", member, object->at,
                     pel_format(a->ctx, "changes %.*s, which other code uses", PEL_FMT(shown(a, object))));
    }
    if (pickle->protocol > 5)
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "protocol", member, 0,
                 pel_format(a->ctx, "there is no pickle protocol %d", pickle->protocol));
    if (pickle->root) audit_growth(a, pickle->root, member);
    if (pickle->failed)
        pel_find(a->ctx, a->findings, PEL_UNREAD, "broken-pickle", member, pickle->fault.at,
                 pel_format(a->ctx, "%s; %u calls stand before that", pickle->fault.what, pickle->calls.n));
}

static void audit_loaded(auditor *a, pel_loaded *loaded, pel_str inside) {
    for (uint32_t i = 0; i < loaded->findings.n; i++) {
        const pel_finding *row = &loaded->findings.at[i];
        pel_find(a->ctx, a->findings, row->severity, row->kind, row->member, row->offset, row->text);
    }
    a->findings->dropped += loaded->findings.dropped;
    for (uint32_t i = 0; i < loaded->pickles.n; i++) audit_pickle(a, &loaded->pickles.at[i], inside);
    for (uint32_t i = 0; i < loaded->codes.n; i++) pel_audit_code(a->ctx, a->audit, &loaded->codes.at[i]);
}

typedef struct load_job {
    const pel_model_file *file;
    pel_loaded *loaded;
} load_job;

static void load_body(pel_ctx *ctx, void *arg) {
    load_job *job = arg;
    pel_load(ctx, job->file, job->loaded);
}

void pel_audit_file(pel_ctx *ctx, const pel_model_file *file, pel_audit *audit) {
    load_job job = { file, &audit->loaded };
    audit->is_broken = !pel_attempt(ctx, load_body, &job, &audit->fault);
    pel_audit_loaded(ctx, audit);
}

/* By the worst that was found; that the file could not be read to its end hides nothing of it. */
static pel_verdict verdict_of(const pel_audit *audit) {
    bool is_unknown = !audit->is_broken || audit->fault.code == PEL_E_UNSUPPORTED;
    switch (audit->findings.worst) {
    case PEL_DANGER: return PEL_DANGEROUS;
    case PEL_SUSPECT: return PEL_SUSPICIOUS;
    case PEL_UNREAD: return is_unknown ? PEL_UNREADABLE : PEL_BROKEN;
    case PEL_NOTE: return PEL_HARMLESS;
    }
    return PEL_UNREADABLE;
}

/* The claim: "opening it stays in memory". */
static pel_answer answer_of(pel_ctx *ctx, const pel_audit *audit, uint64_t n_calls) {
    pel_evidence all = { .what = pel_format(ctx, "read to its end as %.*s; %llu calls, each of a name that is known",
                                            PEL_FMT(audit->loaded.format), (unsigned long long)n_calls) };
    if (audit->verdict == PEL_HARMLESS) return pel_proved(ctx, all);
    const pel_finding *worst = audit->findings.at;
    while (worst->severity != audit->findings.worst) worst++;
    pel_evidence why = { pel_format(ctx, "%s: %.*s", worst->kind, PEL_FMT(worst->text)), worst->member, worst->offset };
    return audit->verdict == PEL_DANGEROUS ? pel_contradicted(ctx, why) : pel_undecided(ctx, why);
}

void pel_audit_loaded(pel_ctx *ctx, pel_audit *audit) {
    auditor a = { .ctx = ctx, .audit = audit, .findings = &audit->findings, .budget = MAX_MADE };
    audit_loaded(&a, &audit->loaded, (pel_str){ "", 0 });
    if (audit->is_broken) {
        bool is_big = audit->fault.code == PEL_E_MEMORY || audit->fault.code == PEL_E_TOO_BIG ||
                      audit->fault.code == PEL_E_TOO_DEEP;
        const char *kind = is_big ? "too-big" : audit->fault.code == PEL_E_UNSUPPORTED ? "unknown-format" : "broken";
        pel_find(ctx, &audit->findings, PEL_UNREAD, kind, (pel_str){ "", 0 }, audit->fault.at,
                 pel_str_copy(ctx, pel_str_of(audit->fault.what)));
    }
    audit->verdict = verdict_of(audit);
    audit->answer = answer_of(ctx, audit, a.n_calls);
}

void pel_audit_unopened(pel_ctx *ctx, pel_str why, bool is_broken, pel_audit *audit) {
    audit->is_broken = true;
    audit->fault = (pel_err){ .code = is_broken ? PEL_E_FORMAT : PEL_E_UNSUPPORTED };
    snprintf(audit->fault.what, sizeof audit->fault.what, "%.*s", PEL_FMT(why));
    pel_audit_loaded(ctx, audit);
}
