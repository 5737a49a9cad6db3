/* Imports ahead: what several sources import runs once, before the processes that scan them are forked. */
#include "interp/scan.h"

#include "python/parse.h"

typedef struct wish { /* an import statement, with the module's whole name */
    pel_str text;
    size_t wanted_by, last; /* sources; the last of them */
} wish;

typedef struct ahead {
    pel_scanner *scanner;
    PEL_VEC(wish) wishes;
    pel_map known; /* interned text -> index into wishes, from 1 */
    size_t source; /* whose wishes are being read, from 1 */
} ahead;

static void add_wish(ahead *a, pel_str text) {
    pel_ctx *ctx = a->scanner->vm->ctx;
    uint64_t key = PEL_KEY(pel_intern_str(ctx, text));
    uint64_t at = pel_map_find(&a->known, key, 0);
    if (!at) {
        pel_push(ctx, &a->wishes, (wish){ .text = pel_str_copy(ctx, text) });
        pel_map_set(ctx, &a->known, key, at = a->wishes.n);
    }
    wish *w = &a->wishes.at[at - 1];
    w->wanted_by += w->last != a->source;
    w->last = a->source;
}

/* The module that `from ..name import` names in a module of that package; empty: there is none. */
static pel_str whole_name(pel_ctx *ctx, pel_str package, const pel_node *from) {
    pel_str name = from->ImportFrom.module ? pel_name_str(from->ImportFrom.module) : (pel_str){ "", 0 };
    if (!from->ImportFrom.level) return name;
    for (int64_t up = 1; up < from->ImportFrom.level && package.len; up++) {
        while (package.len && package.ptr[package.len - 1] != '.') package.len--;
        if (package.len) package.len--;
    }
    if (!package.len || !name.len) return package;
    return pel_format(ctx, "%.*s.%.*s", PEL_FMT(package), PEL_FMT(name));
}

typedef struct source_job {
    ahead *a;
    pel_str package, text;
    pel_ctx *scratch; /* of the trees nothing is needed afterwards */
} source_job;

static void read_wishes(pel_ctx *ctx, void *arg) {
    source_job *job = arg;
    pel_source source = pel_source_decode(ctx, PEL_STR("<imports>"), job->text);
    const pel_nodes *body = &pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body;
    for (uint32_t i = 0; i < body->n; i++) {
        const pel_node *stmt = body->at[i];
        bool is_from = stmt->kind == PEL_ImportFrom;
        if (!is_from && stmt->kind != PEL_Import) continue;
        pel_str module = is_from ? whole_name(ctx, job->package, stmt) : (pel_str){ "", 0 };
        if (is_from && !module.len) continue;
        const pel_nodes *names = is_from ? &stmt->ImportFrom.names : &stmt->Import.names;
        for (uint32_t k = 0; k < names->n; k++) {
            pel_str name = pel_name_str(names->at[k]->alias.name);
            add_wish(job->a, !is_from ? pel_format(ctx, "import %.*s", PEL_FMT(name))
                             : pel_str_is(name, "*")
                                 ? pel_format(ctx, "import %.*s", PEL_FMT(module))
                                 : pel_format(ctx, "from %.*s import %.*s", PEL_FMT(module), PEL_FMT(name)));
        }
    }
}

static void read_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    source_job *job = arg;
    pel_err ignored;
    pel_attempt(job->scratch, read_wishes, job, &ignored);
}

static void import_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    const source_job *job = arg;
    pel_vm *vm = job->a->scanner->vm;
    pel_codeobj *code = pel_compile_source(vm, PEL_STR("<imports>"), job->text, true, false);
    pel_val module = pel_new_module(vm, pel_interned_c(vm, "imports"));
    if (code) pel_run_code(vm, code, module->attrs, NULL, NULL);
}

void pel_scanner_imports(pel_scanner *scanner, const pel_scan_target *target, pel_buf *out) {
    ahead a = { .scanner = scanner, .source = 1 };
    source_job job = { .a = &a, .text = { target->source.ptr, target->source.len } };
    if (target->path) job.package = pel_package_of(scanner, pel_str_of(target->path));
    read_wishes(scanner->vm->ctx, &job);
    for (uint32_t i = 0; i < a.wishes.n; i++) {
        pel_put(out, a.wishes.at[i].text);
        pel_put_byte(out, '\n');
    }
}

void pel_scanner_import(pel_scanner *scanner, const pel_scan_target *targets, size_t n, size_t wanted_by) {
    ahead a = { .scanner = scanner };
    pel_err ignored; /* what fails here fails again where it is reported */
    for (size_t i = 0; i < n; i++) {
        a.source = i + 1;
        source_job job = { .a = &a, .text = { targets[i].source.ptr, targets[i].source.len } };
        if (targets[i].path) job.package = pel_package_of(scanner, pel_str_of(targets[i].path));
        job.scratch = pel_ctx_new(scanner->vm->ctx->may_take);
        if (job.scratch) pel_attempt(scanner->vm->ctx, read_body, &job, &ignored);
        pel_ctx_free(job.scratch);
    }
    for (uint32_t i = 0; i < a.wishes.n; i++) {
        source_job job = { .a = &a, .text = a.wishes.at[i].text };
        if (a.wishes.at[i].wanted_by < wanted_by) continue;
        pel_start_over(scanner);
        pel_attempt(scanner->vm->ctx, import_body, &job, &ignored);
        pel_forget(scanner->vm);
    }
    pel_start_over(scanner);
}
