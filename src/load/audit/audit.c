#include "load/audit/audit.h"

#include "io/bytes.h"
#include "load/audit/audit_source.h"
#include "load/audit/audit_use.h"
#include "load/audit/weights_only.h"

#include <stdio.h>

#define MAX_CALLS 200    /* kept of a file; a checkpoint has one per tensor, and those are plain */
#define MAX_NESTING 4    /* pickles inside of pickles */
#define MAX_GLOBALS 1000 /* different ones */
#define MAX_USES 4000    /* different ones */
#define MAX_KEY_DEPTH 32
#define MANY_LEAVES 1e7 /* of a tree that sharing keeps small */
#define MANY_LEVELS 1000
#define MAX_MADE ((uint64_t)64 << 20) /* bytes that detours to nested pickles may make */

typedef struct auditor {
    pel_ctx *ctx;
    pel_audit *audit;
    pel_findings *findings;
    pel_map known; /* interned "module name" -> 1: reported */
    pel_map uses;  /* interned "use module.name" -> row of audit->uses */
    pel_str member;
    const pel_pickled *needs_quiet,
        *loud; /* the first of the pickle that runs special methods; that has unknown ones */
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

/* Names may hold NULs, and must not be cut there. */
static void put_name(pel_buf *text, pel_str module, pel_str name) {
    pel_put(text, module);
    pel_put_byte(text, '.');
    pel_put(text, name);
}

static bool is_new(auditor *a, const pel_pickled_global *global) {
    pel_buf text = pel_buf_in(a->ctx);
    put_name(&text, global->module, global->name);
    if (!pel_map_set(a->ctx, &a->known, PEL_KEY(pel_intern_str(a->ctx, pel_buf_str(&text))), 1)) return false;
    if (a->audit->globals.n < MAX_GLOBALS) pel_push(a->ctx, &a->audit->globals, global);
    return true;
}

/* Every use of a name is kept once, with how often: what the audit says would run is all that would. */
static void count_use(auditor *a, const char *use, const pel_pickled *object, pel_severity severity) {
    pel_buf text = pel_buf_in(a->ctx);
    if (object->kind == PEL_P_GLOBAL) {
        put_name(&text, object->global->module, object->global->name);
    } else {
        pel_made made = pel_made_of(object);
        if (made.name.len) put_name(&text, made.module, made.name);
    }
    pel_str name = pel_buf_str(&text);
    pel_buf key = pel_buf_in(a->ctx);
    pel_put_c(&key, use);
    pel_put(&key, name);
    uint64_t at, id = PEL_KEY(pel_intern_str(a->ctx, pel_buf_str(&key)));
    if (pel_map_get(&a->uses, id, &at)) {
        a->audit->uses.at[at].n++;
        if (severity > a->audit->uses.at[at].severity) a->audit->uses.at[at].severity = severity;
    } else if (a->audit->uses.n < MAX_USES) {
        pel_map_set(a->ctx, &a->uses, id, a->audit->uses.n);
        pel_push(a->ctx, &a->audit->uses, (pel_audited_use){ use, name, 1, severity });
    } else {
        a->audit->dropped_uses++;
    }
}

/* The name that an unknown object leads to, once: what its source does, if there is one. */
static void look_at_source(auditor *a, const pel_pickled *object, pel_str member) {
    if (!a->audit->source) return;
    const pel_pickled *name = object->kind == PEL_P_CALL || object->kind == PEL_P_NEW ? object->call->callable : object;
    if (name->kind != PEL_P_GLOBAL) return;
    pel_buf text = pel_buf_in(a->ctx);
    pel_put_c(&text, "source of ");
    put_name(&text, name->global->module, name->global->name);
    if (pel_map_set(a->ctx, &a->known, PEL_KEY(pel_intern_str(a->ctx, pel_buf_str(&text))), 1))
        pel_audit_source(a->ctx, a->audit, member, object->at, name->global);
}

static void find_judged(auditor *a, const pel_judged *judged, const char *verb, const pel_pickled *object,
                        pel_str member) {
    if (judged->severity == PEL_NOTE) return;
    pel_find(
        a->ctx, a->findings, judged->severity, judged->kind, member, object->at,
        pel_format(a->ctx, "%s %.*s%s%s", verb, PEL_FMT(shown(a, object)), judged->why[0] ? ": " : "", judged->why));
    look_at_source(a, object, member);
}

/* Code that runs special methods of what it gets needs a file without classes whose special methods are not known. */
static void note_quiet(auditor *a, const pel_judged *judged, const pel_pickled *object) {
    if (judged->severity == PEL_NOTE && judged->needs_quiet && !a->needs_quiet) a->needs_quiet = object;
    pel_made made = pel_made_of(object);
    if (a->loud || pel_is_plain_value(object)) return;
    bool is_lost = made.kind == PEL_MADE_UNKNOWN && !pel_is_unpickling(object); /* what that gives was looked at */
    if (is_lost && object->kind != PEL_P_GLOBAL && !a->loud) a->loud = object;
    if (made.kind != PEL_MADE_OBJECT || a->loud) return;
    pel_effects effects = pel_made_effects(&made);
    if (!pel_is_pure(&effects, PEL_USE_SPECIAL) && !pel_is_plain_name(made.module, made.name)) a->loud = object;
}

static void audit_global(auditor *a, const pel_pickled *object, const pel_loaded_pickle *row, bool is_called) {
    bool is_first = is_new(a, object->global);
    pel_judged judged = pel_judge_reference(object, row->is_script);
    count_use(a, "import", object, judged.severity);
    if (is_called && !object->global->is_computed) return;
    if (object->global->is_computed)
        pel_find(a->ctx, a->findings, judged.severity, judged.kind, a->member, object->at, pel_str_of(judged.why));
    else if (judged.severity > PEL_NOTE)
        find_judged(a, &judged, "imports", object, a->member);
    else if (is_first && !pel_is_plain_name(object->global->module, object->global->name))
        pel_find(a->ctx, a->findings, PEL_NOTE, "refers", a->member, object->at,
                 pel_format(a->ctx, "refers to %.*s", PEL_FMT(shown(a, object))));
}

/* ---- what is inside of arguments ---- */

typedef struct nested_job {
    auditor *a;
    pel_str bytes, member;
    bool is_plain; /* all that it gives is */
} nested_job;

static void read_nested(pel_ctx *ctx, void *arg) {
    nested_job *job = arg;
    pel_loaded *loaded = pel_new(ctx, pel_loaded);
    loaded->depth = 1;
    pel_model_file file = { .bytes = { job->bytes.ptr, job->bytes.len } };
    pel_load(ctx, &file, loaded);
    audit_loaded(job->a, loaded, job->member);
    job->is_plain = loaded->pickles.n > 0;
    for (uint32_t i = 0; i < loaded->pickles.n; i++) {
        const pel_pickled *root = loaded->pickles.at[i].pickle->root;
        if (!root || !pel_is_plain_result(root)) job->is_plain = false;
    }
}

/* Bytes that the call would unpickle, or run: loads(b"..."), _load_from_bytes(b"..."), exec(marshal.loads(b"...")). */
static void audit_nested(auditor *a, pel_str bytes, pel_str inside, pel_pickled *call) {
    nested_job job = { a, bytes, inside, false };
    pel_err why;
    if (a->nesting >= MAX_NESTING) {
        pel_find(a->ctx, a->findings, PEL_DANGER, "nesting", inside, call->at,
                 pel_format(a->ctx, "pickles inside of pickles, more than %d deep", MAX_NESTING));
        return;
    }
    a->nesting++;
    if (!pel_attempt(a->ctx, read_nested, &job, &why))
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "unread-pickle", inside, why.at,
                 pel_str_copy(a->ctx, pel_str_of(why.what)));
    a->nesting--;
    if (job.is_plain && pel_is_unpickling(call)) call->is_known = true;
}

static void audit_argument_bytes(auditor *a, pel_pickled *call, pel_str member) {
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
    if (unpickles || pel_is_pickle(bytes) || pel_is_zip(bytes)) audit_nested(a, bytes, inside, call);
}

/* joblib reads an array from the stream behind whatever object of this class gets a state. That is followed where the
 * class itself is called, as joblib writes it; helpers that make the object could move where opcodes begin. */
static void audit_array_class(auditor *a, const pel_pickled *call) {
    const pel_pickled *args = call->call->args;
    bool is_usual = pel_pickled_is_global(call->call->callable, "copy_reg", "_reconstructor") ||
                    pel_pickled_is_global(call->call->callable, "copyreg", "_reconstructor");
    for (uint32_t i = is_usual ? 1 : 0; args->kind == PEL_P_TUPLE && i < args->items.n; i++)
        if (pel_pickled_is_global(args->items.at[i], "joblib.numpy_pickle", "NumpyArrayWrapper"))
            pel_find(a->ctx, a->findings, PEL_SUSPECT, "calls-given", a->member, call->at,
                     pel_format(a->ctx, "%.*s is given the class behind whose objects joblib reads arrays",
                                PEL_FMT(shown(a, call->call->callable))));
}

static void audit_call(auditor *a, pel_pickled *call, const pel_loaded_pickle *row) {
    a->n_calls++;
    pel_judged judged = pel_judge_call(call, row->is_script);
    const pel_pickled *callable = call->call->callable;
    find_judged(a, &judged, "calls", call, a->member);
    count_use(a, call->kind == PEL_P_NEW ? "new" : "call", callable, judged.severity);
    if (call->call->may_be_new) count_use(a, "new", callable, judged.severity);
    note_quiet(a, &judged, call);
    bool is_plain =
        callable->kind == PEL_P_GLOBAL && pel_is_plain_name(callable->global->module, callable->global->name);
    if (judged.severity > PEL_NOTE || !is_plain) add_call(a, judged.severity, a->member, call);
    audit_argument_bytes(a, call, a->member);
    audit_array_class(a, call);
}

static void audit_state(auditor *a, const pel_pickled *object) {
    pel_judged judged = pel_judge_state(object);
    find_judged(a, &judged, object->kind == PEL_P_GLOBAL ? "changes" : "gives a state to", object, a->member);
    count_use(a, "state", object, judged.severity);
    note_quiet(a, &judged, object);
}

static void audit_items(auditor *a, const pel_pickled *object) {
    pel_judged judged = pel_judge_items(object);
    find_judged(a, &judged, object->kind == PEL_P_GLOBAL ? "changes" : "puts things into", object, a->member);
    count_use(a, "items", object, judged.severity);
    note_quiet(a, &judged, object);
}

static void audit_persistent(auditor *a, const pel_pickled *object) {
    pel_judged judged = pel_judge_persistent(object);
    find_judged(a, &judged, "has", object, a->member);
}

/* A tuple's hash is that of what it holds. */
static void audit_key(auditor *a, const pel_pickled *object, int depth) {
    if (depth > MAX_KEY_DEPTH) {
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "key-unknown", a->member, object->at,
                 PEL_STR("a key nests too deep to be judged"));
        return;
    }
    for (uint32_t i = 0; object->kind == PEL_P_TUPLE && i < object->items.n; i++)
        audit_key(a, object->items.at[i], depth + 1);
    if (object->kind < PEL_P_GLOBAL) return;
    pel_judged judged = pel_judge_key(object);
    find_judged(a, &judged, "has a key", object, a->member);
    count_use(a, "key", object, judged.severity);
    note_quiet(a, &judged, object);
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

/* Everything that unpickling does with names: imports, calls, states, items, keys. */
static void audit_uses(auditor *a, const pel_loaded_pickle *row) {
    const pel_pickle *pickle = row->pickle;
    const pel_pickled *outer = a->loud, *outer_quiet = a->needs_quiet;
    pel_map called = { 0 };
    a->needs_quiet = a->loud = NULL;
    pel_know_names(a->ctx, pickle);
    for (uint32_t i = 0; i < pickle->calls.n; i++)
        pel_map_set(a->ctx, &called, PEL_KEY(pickle->calls.at[i]->call->callable), 1);
    for (uint32_t i = 0; i < pickle->globals.n; i++)
        audit_global(a, pickle->globals.at[i], row, pel_map_has(&called, PEL_KEY(pickle->globals.at[i])));
    for (uint32_t i = 0; i < pickle->calls.n; i++) audit_call(a, pickle->calls.at[i], row);
    for (uint32_t i = 0; i < pickle->persistents.n; i++) audit_persistent(a, pickle->persistents.at[i]);
    if (row->is_script) return; /* its reader runs no Python */
    for (uint32_t i = 0; i < pickle->builds.n; i++) audit_state(a, pickle->builds.at[i]);
    for (uint32_t i = 0; i < pickle->filled.n; i++) audit_items(a, pickle->filled.at[i]);
    for (uint32_t i = 0; i < pickle->keys.n; i++) audit_key(a, pickle->keys.at[i], 0);
    if (a->needs_quiet && a->loud)
        pel_find(a->ctx, a->findings, PEL_SUSPECT, "special-methods", a->member, a->needs_quiet->at,
                 pel_format(a->ctx,
                            "%.*s compares, counts or prints what it gets, and nobody knows what that does to %.*s",
                            PEL_FMT(shown(a, a->needs_quiet)), PEL_FMT(shown(a, a->loud))));
    a->needs_quiet = outer_quiet; /* of the pickle that this one is in: its objects come into that */
    if (outer || a->nesting == 0) a->loud = outer;
}

/* Settings that a checkpoint carries along: opening it calls nothing of them, but hydra, Lightning and their like do
 * when they make the model again. */
static void audit_settings(auditor *a, const pel_pickle *pickle) {
    for (uint32_t i = 0; i < pickle->dicts.n; i++) {
        const pel_pickled *dict = pickle->dicts.at[i];
        for (uint32_t j = 0; j + 1 < dict->items.n; j += 2) {
            const pel_pickled *key = dict->items.at[j], *value = dict->items.at[j + 1];
            if (key->kind != PEL_P_STR || value->kind != PEL_P_STR || !pel_is_call_key(key->text)) continue;
            if (pel_leaves_memory(value->text))
                pel_find(a->ctx, a->findings, PEL_SUSPECT, "target", a->member, dict->at,
                         pel_format(a->ctx, "settings name %.*s under %.*s, which a loader of settings calls",
                                    PEL_FMT(value->text), PEL_FMT(key->text)));
        }
    }
}

static void audit_pickle(auditor *a, const pel_loaded_pickle *row, pel_str inside) {
    const pel_pickle *pickle = row->pickle;
    pel_str member = !inside.len       ? row->member
                     : row->member.len ? pel_format(a->ctx, "%.*s, %.*s", PEL_FMT(inside), PEL_FMT(row->member))
                                       : inside;
    pel_str outer = a->member;
    a->member = member;
    audit_uses(a, row);
    audit_settings(a, pickle);
    a->member = outer;
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
        /* no library nests that deep: what lies below was put where readers with a limit do not look */
        bool is_hidden = audit->fault.code == PEL_E_TOO_DEEP;
        pel_find(ctx, &audit->findings, is_hidden ? PEL_SUSPECT : PEL_UNREAD, is_hidden ? "too-deep" : kind,
                 (pel_str){ "", 0 }, audit->fault.at, pel_str_copy(ctx, pel_str_of(audit->fault.what)));
    }
    audit->verdict = verdict_of(audit);
    audit->answer = answer_of(ctx, audit, a.n_calls);
    pel_weights_only(ctx, audit);
}

void pel_audit_unopened(pel_ctx *ctx, pel_str why, bool is_broken, pel_audit *audit) {
    audit->is_broken = true;
    audit->fault = (pel_err){ .code = is_broken ? PEL_E_FORMAT : PEL_E_UNSUPPORTED };
    snprintf(audit->fault.what, sizeof audit->fault.what, "%.*s", PEL_FMT(why));
    pel_audit_loaded(ctx, audit);
}
