/* Bytecode inside of model files: shown as source, and judged by what it reaches. */
#include "bytecode/code.h"
#include "decompile/decompile.h"
#include "load/audit/audit.h"
#include "load/audit/compute_names.h"
#include "python/print.h"

typedef struct decompile_job {
    pel_str marshalled;
    pel_version version;
    const pel_decompiled *made;
    pel_str source;
} decompile_job;

static void decompile(pel_ctx *ctx, void *arg) {
    decompile_job *job = arg;
    const pel_code_object *code = pel_unmarshal_code(ctx, job->marshalled, job->version);
    job->made = pel_decompile(ctx, code);
    pel_buf source = pel_buf_in(ctx);
    pel_print(ctx, job->made->tree, &(pel_print_options){ .version = job->version }, &source);
    job->source = pel_buf_str(&source);
}

/* Marshalled code does not say which Python wrote it: the first that makes whole sense of it did. */
static bool decompile_any(pel_ctx *ctx, pel_str marshalled, decompile_job *best) {
    static const pel_version order[] = { 11, 12, 13, 10, 9, 8 };
    bool any = false;
    for (size_t i = 0; i < PEL_COUNT(order); i++) {
        decompile_job job = { .marshalled = marshalled, .version = order[i] };
        pel_err why;
        if (!pel_attempt(ctx, decompile, &job, &why)) {
            if (why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
            continue;
        }
        if (!any || (best->made->incomplete.n && !job.made->incomplete.n)) *best = job;
        any = true;
        if (!job.made->incomplete.n) return true;
    }
    return any;
}

/* ---- what the source reaches ---- */

typedef struct reach {
    pel_ctx *ctx;
    pel_map own;     /* names that the code itself binds */
    pel_str why;     /* the first thing that a layer has no business with; empty: none */
    bool is_unknown; /* why: nobody knows what it does; else it is known to lead out */
} reach;

static bool is_one_of(pel_str word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(word, words[i])) return true;
    return false;
}

static void note_own(void *arg, pel_node **slot) {
    reach *r = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_arg) pel_map_set(r->ctx, &r->own, PEL_KEY(node->arg.arg), 1);
    if (node->kind == PEL_Name && node->Name.ctx != PEL_Load) pel_map_set(r->ctx, &r->own, PEL_KEY(node->Name.id), 1);
    if (node->kind == PEL_FunctionDef) pel_map_set(r->ctx, &r->own, PEL_KEY(node->FunctionDef.name), 1);
    pel_each_child(node, note_own, r);
}

/* An unknown attribute makes code suspect, a way out makes it dangerous. So the search goes on after the first, and a
 * way out replaces it. note_own must run before: names that the code binds are its own. */
static void look(void *arg, pel_node **slot) {
    static const char *const known[] = { "tf",   "keras", "K",    "ops", "np",        "numpy", "tensorflow", "backend",
                                         "len",  "range", "abs",  "min", "max",       "sum",   "int",        "float",
                                         "bool", "tuple", "list", "zip", "enumerate", "round", "isinstance", "slice",
                                         "math", "torch", "F",    "nn",  "jnp",       "jax",   "layers",     "super" };
    static const char *const far[] = {
        "io",       "py_function", "numpy_function", "load_library", "load_op_library", "load_model", "get_file",
        "raw_ops",  "saved_model", "load",           "system",       "popen",           "eval",       "exec",
        "fromfile", "tofile",      "save",           "hub",          "gfile",           "py_func"
    };
    reach *r = arg;
    pel_node *node = *slot;
    if (r->why.len && !r->is_unknown) return;
    if (node->kind == PEL_Attribute && !r->why.len && !pel_is_computing(pel_name_str(node->Attribute.attr))) {
        r->why = pel_format(r->ctx, "it uses .%s, which is not known to compute and nothing else",
                            node->Attribute.attr->text);
        r->is_unknown = true;
    }
    pel_str before = r->why;
    if (node->kind == PEL_Import || node->kind == PEL_ImportFrom) r->why = PEL_STR("it imports");
    if (node->kind == PEL_Name && !pel_map_has(&r->own, PEL_KEY(node->Name.id)) &&
        !is_one_of(pel_name_str(node->Name.id), known, PEL_COUNT(known)))
        r->why = pel_format(r->ctx, "it uses %s", node->Name.id->text);
    if (node->kind == PEL_Attribute && (pel_str_starts(pel_name_str(node->Attribute.attr), PEL_STR("_")) ||
                                        is_one_of(pel_name_str(node->Attribute.attr), far, PEL_COUNT(far))))
        r->why = pel_format(r->ctx, "it uses .%s", node->Attribute.attr->text);
    if (r->why.ptr != before.ptr) r->is_unknown = false;
    pel_each_child(node, look, r);
}

void pel_audit_code(pel_ctx *ctx, pel_audit *audit, const pel_loaded_code *code) {
    decompile_job job = { .version = 0 };
    pel_audited_code row = { code->member, code->name, PEL_DANGER, { "", 0 } };
    if (!decompile_any(ctx, code->marshalled, &job)) {
        pel_find(ctx, &audit->findings, PEL_DANGER, "bytecode", code->member, 0,
                 pel_format(ctx, "%.*s holds bytecode that can't be read", PEL_FMT(code->name)));
        pel_push(ctx, &audit->codes, row);
        return;
    }
    reach r = { .ctx = ctx };
    pel_node *tree = job.made->tree;
    note_own(&r, &tree);
    look(&r, &tree);
    if (job.made->incomplete.n) {
        r.why = PEL_STR("a part of it can't be shown as source");
        r.is_unknown = false;
    }
    row.source = job.source;
    row.severity = !r.why.len ? PEL_NOTE : r.is_unknown ? PEL_SUSPECT : PEL_DANGER;
    pel_find(ctx, &audit->findings, row.severity, "bytecode", code->member, 0,
             r.why.len
                 ? pel_format(ctx, "%.*s runs bytecode: %.*s", PEL_FMT(code->name), PEL_FMT(r.why))
                 : pel_format(ctx, "%.*s runs bytecode that only computes with its arguments", PEL_FMT(code->name)));
    pel_push(ctx, &audit->codes, row);
}
