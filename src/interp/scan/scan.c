/* Networks from source: runs the source in the machine, finds what it made, and explores decisions on what is unknown.
 */
#include "interp/scan.h"

#include "python/parse.h"

#include <stdio.h>

#define MAX_RUNS 16
#define MAX_AGAIN 5
#define DEFAULT_STEPS 600000000u      /* some seconds; a language model of 32 layers takes 3 million */
#define MAX_BYTES ((size_t)720 << 20) /* of one file, all its runs together */
#define LEAST_BYTES ((size_t)24 << 20)
#define LEAST_STEPS 2000000u

pel_scanner *pel_scanner_new(pel_ctx *ctx, const pel_files *files, uint64_t max_steps) {
    pel_scanner *scanner = pel_new(ctx, pel_scanner);
    scanner->vm = pel_vm_new(ctx);
    scanner->vm->files = *files;
    scanner->may_take = ctx->may_take;
    scanner->vm->max_steps = max_steps ? max_steps : DEFAULT_STEPS;
    pel_watch_births(scanner);
    return scanner;
}

void pel_scanner_root(pel_scanner *scanner, pel_str folder) {
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/') folder.len--;
    for (uint32_t i = 0; i < scanner->vm->roots.n; i++)
        if (pel_str_eq(scanner->vm->roots.at[i], folder)) return;
    pel_push(scanner->vm->ctx, &scanner->vm->roots, pel_str_copy(scanner->vm->ctx, folder));
}

/* The folder that a file's package lies in is looked through first: another root may have a package of that name. */
static void first_root(pel_scanner *scanner, pel_str folder) {
    pel_scanner_root(scanner, folder);
    pel_vm *vm = scanner->vm;
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/') folder.len--;
    uint32_t at = 0;
    while (!pel_str_eq(vm->roots.at[at], folder)) at++;
    pel_str kept = vm->roots.at[at];
    memmove(vm->roots.at + 1, vm->roots.at, at * sizeof *vm->roots.at);
    vm->roots.at[0] = kept;
}

/* Forgets a package that was imported from somewhere else than where the file's own lies. */
static void forget_namesake(pel_vm *vm, pel_str name, pel_str path) {
    const char *dot = memchr(name.ptr, '.', name.len);
    pel_str top = dot ? pel_str_cut(name, 0, (size_t)(dot - name.ptr)) : name;
    pel_val module = pel_dict_get_str(vm->modules, pel_interned(vm, top));
    pel_val file =
        module && !pel_is_small(module) && module->attrs ? pel_dict_get_str(module->attrs, vm->names.s_file) : NULL;
    if (!file || !pel_is_str(file) || !pel_str_ends(pel_text_of(file), PEL_STR("__init__.py"))) return;
    pel_str folder = pel_str_cut(pel_text_of(file), 0, pel_text_of(file).len - 11);
    if (pel_str_starts(path, folder)) return;
    pel_str prefix = pel_format(vm->ctx, "%.*s.", PEL_FMT(top));
    PEL_VEC(pel_val) names = { 0 };
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(vm->modules, &at));)
        if (pel_is_str(entry->key) &&
            (pel_str_eq(pel_text_of(entry->key), top) || pel_str_starts(pel_text_of(entry->key), prefix)))
            pel_push(vm->ctx, &names, entry->key);
    for (uint32_t i = 0; i < names.n; i++) pel_dict_del_str(vm, vm->modules, names.at[i]);
}

void pel_scanner_set(pel_scanner *scanner, pel_str name, pel_str value) {
    pel_vm *vm = scanner->vm;
    pel_codeobj *code = pel_compile_source(vm, PEL_STR("<--set>"), value, false, true);
    pel_dict *globals = pel_dict_at(pel_new_dict(vm));
    pel_val made = code ? pel_run_code(vm, code, globals, NULL, NULL) : NULL;
    if (!made) pel_throw(vm->ctx, PEL_E_USAGE, 0, "--set %.*s: '%.*s' is no value", PEL_FMT(name), PEL_FMT(value));
    if (!vm->assigned) vm->assigned = pel_dict_at(pel_new_dict(vm));
    pel_dict_set_str(vm, vm->assigned, pel_interned(vm, name), made);
}

void pel_scanner_push(pel_scanner *scanner) {
    pel_vm *vm = scanner->vm;
    scanner->assigned_before = vm->assigned;
    vm->assigned = pel_dict_at(pel_new_dict(vm));
    uint32_t at = 0;
    for (pel_entry *entry; scanner->assigned_before && (entry = pel_dict_next(scanner->assigned_before, &at));)
        pel_dict_set_str(vm, vm->assigned, entry->key, entry->value);
}

void pel_scanner_pop(pel_scanner *scanner) { scanner->vm->assigned = scanner->assigned_before; }

/* ---- one run ---- */

void pel_start_over(pel_scanner *scanner) {
    pel_vm *vm = scanner->vm;
    vm->frame = NULL;
    vm->raised = vm->handled = NULL;
    vm->depth = vm->c_depth = 0;
    vm->steps = 0;
    vm->asked.n = vm->decided.n = vm->repeating.n = vm->loops.n = 0;
    vm->loop_serial = 0;
    vm->born = vm->times = (pel_map){ 0 };
    vm->on_call = NULL;
    vm->on_shape = NULL;
    vm->catching = vm->n_recovered = vm->asked_before = vm->max_asked = 0;
    vm->loading.n = vm->reads.n = 0;
    scanner->births = (pel_map){ 0 };
    scanner->order.n = scanner->locals.n = 0;
}

/* The last expression of a snippet is bound to "_". */
static void bind_last(pel_ctx *ctx, pel_node *root) {
    pel_nodes *body = &root->Module.body;
    if (!body->n || body->at[body->n - 1]->kind != PEL_Expr) return;
    pel_node *stmt = body->at[body->n - 1];
    pel_node *assign = pel_make_assign(ctx, pel_make_name(ctx, pel_intern_c(ctx, "_"), PEL_Store), stmt->Expr.value);
    assign->lineno = stmt->lineno;
    body->at[body->n - 1] = assign;
}

typedef struct run_job {
    pel_scanner *scanner;
    const pel_scan_request *request;
    pel_str name;    /* of the module */
    pel_str package; /* of a file that is started as `python -m package.file` would; empty: of none */
    bool is_inside_package;
    pel_val module;
    pel_type *class;           /* to make an instance of; NULL: run the file */
    bool by_annotation;        /* parameters are instances of what annotates them */
    bool wants_forward;        /* of classes: nothing else is there to be run */
    bool forward;              /* run it as well, if its arguments are known */
    uint32_t n_open;           /* arguments that nobody gave */
    uint32_t recovered;        /* statements that the run left out which made the instance */
    PEL_VEC(pel_note) imports; /* of a file without networks: what libraries lack since it imported them */
    pel_val made;
} run_job;

/* The dotted name of a file: below a root, through folders that are packages. */
static pel_str module_name(pel_scanner *scanner, pel_str path, bool *in_package) {
    pel_vm *vm = scanner->vm;
    *in_package = false;
    pel_str file = path;
    while (file.len && memchr(file.ptr, '/', file.len))
        file = pel_str_from(file, (size_t)((const char *)memchr(file.ptr, '/', file.len) - file.ptr) + 1);
    pel_str stem = pel_str_ends(file, PEL_STR(".py")) ? pel_str_cut(file, 0, file.len - 3) : file;
    pel_str folder = pel_str_cut(path, 0, path.len - file.len ? path.len - file.len - 1 : 0);
    while (folder.len > 1 && folder.ptr[folder.len - 1] == '/') folder.len--; /* "folder//file.py" */
    pel_str name = stem;
    bool is_init = pel_str_is(stem, "__init__");
    for (int levels = 0; levels < 30 && folder.len && vm->files.kind; levels++) {
        if (vm->files.kind(vm->files.arg, pel_format(vm->ctx, "%.*s/__init__.py", PEL_FMT(folder))) != PEL_FILE) break;
        size_t cut = folder.len;
        while (cut > 0 && folder.ptr[cut - 1] != '/') cut--;
        pel_str part = pel_str_from(folder, cut);
        name = is_init && levels == 0 ? part : pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(part), PEL_FMT(name));
        folder = pel_str_cut(folder, 0, cut ? cut - 1 : 0);
        *in_package = true;
    }
    bool is_absolute = path.len && path.ptr[0] == '/';
    if (*in_package) first_root(scanner, folder.len ? folder : is_absolute ? PEL_STR("/") : PEL_STR("."));
    return name;
}

pel_str pel_package_of(pel_scanner *scanner, pel_str path) {
    bool in_package;
    pel_str name = module_name(scanner, path, &in_package);
    if (!in_package) return (pel_str){ "", 0 };
    if (pel_str_ends(path, PEL_STR("/__init__.py"))) return name;
    while (name.len && name.ptr[name.len - 1] != '.') name.len--;
    return pel_str_cut(name, 0, name.len ? name.len - 1 : 0);
}

static void describe(pel_ctx *ctx, run_job *job) {
    pel_str path = job->request->path;
    pel_source decoded = pel_source_decode(ctx, path, job->request->text);
    pel_build_described(job->scanner, job->module, pel_parse(ctx, &decoded, PEL_VERSION_MAX), path);
}

static void run_body(pel_ctx *ctx, void *arg) {
    run_job *job = arg;
    pel_vm *vm = job->scanner->vm;
    const pel_scan_request *request = job->request;
    if (job->is_inside_package) {
        forget_namesake(vm, job->name, request->path);
        pel_dict_del_str(vm, vm->modules, pel_interned(vm, job->name));
        job->module = pel_import(vm, job->name);
        if (job->module && !vm->raised) describe(ctx, job);
        return;
    }
    pel_val key = pel_interned(vm, job->name); /* of a file: "__main__", as if it were started */
    pel_val module = pel_new_module(vm, key);
    pel_dict_set_str(vm, module->attrs, vm->names.s_file, pel_new_text(vm, request->path));
    if (job->package.len) pel_dict_set_str(vm, module->attrs, vm->names.s_package, pel_interned(vm, job->package));
    pel_dict_set_str(vm, module->attrs, vm->names.s_builtins, &vm->builtins->head);
    pel_dict_set_str(vm, vm->modules, key, module);
    job->module = module;
    pel_module_source *source = pel_new(ctx, pel_module_source);
    source->path = request->path;
    pel_source decoded = pel_source_decode(ctx, request->path, request->text);
    source->text = decoded.text;
    source->is_target = true;
    pel_node *root = pel_parse(ctx, &decoded, PEL_VERSION_MAX);
    if (request->is_snippet) bind_last(ctx, root);
    pel_adapt_config(ctx, root);
    pel_codeobj *code = pel_compile(vm, root, source, false);
    if (pel_run_code(vm, code, module->attrs, NULL, NULL) && !request->is_snippet) describe(ctx, job);
}

/* A class that nothing makes an instance of. */
static void instance_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    run_job *job = arg;
    pel_vm *vm = job->scanner->vm;
    pel_class_call call;
    bool any_assumed = pel_class_args(job->scanner, job->class, job->by_annotation, &call);
    job->n_open = call.n_open;
    if (job->by_annotation && !any_assumed) return; /* as before */
    job->made = pel_call(vm, &job->class->head, call.args, call.n, call.kw.n ? &call.kw : NULL);
}

/* ---- what stopped a run ---- */

static void put_problem(pel_scanner *scanner, pel_network *network, const pel_err *err, pel_str path) {
    pel_vm *vm = scanner->vm;
    pel_unknown row = { .place = { .file = path } };
    if (err) {
        row.what = pel_str_copy(vm->ctx, pel_str_of(err->what));
        row.why = pel_str_of(pel_code_text(err->code));
        if (err->line)
            row.place.line = err->line;
        else if (scanner->stopped.line)
            row.place = scanner->stopped;
    } else if (vm->raised) {
        pel_exception *e = (pel_exception *)vm->raised;
        row.what = pel_exception_text(vm, vm->raised);
        row.why = PEL_STR("the run stopped there");
        for (uint32_t i = 0; i < e->trace.n; i++)
            if (!e->trace.at[i].code->is_stub) {
                row.place = (pel_place){ .file = e->trace.at[i].code->file, .line = e->trace.at[i].line };
                break;
            }
    } else {
        return;
    }
    pel_push(vm->ctx, &network->unknown, row);
}

static pel_unknown row_of(const pel_note *note) {
    return (pel_unknown){ .what = note->what,
                          .why = note->why,
                          .place = { .file = note->file, .line = note->line },
                          .is_lost = note->is_lost };
}

static void put_notes(pel_scanner *scanner, pel_network *network) {
    pel_vm *vm = scanner->vm;
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        const pel_note *note = &vm->unknown.at[i];
        pel_unknown row = row_of(note);
        if (note->is_premise || (note->library.len && !note->is_lost && network->root))
            pel_push(vm->ctx, &network->premises, row);
        else
            pel_push(vm->ctx, &network->unknown, row);
    }
    for (uint32_t i = 0; i < vm->reads.n; i++) pel_push(vm->ctx, &network->reads, vm->reads.at[i]);
    for (uint32_t i = 0; i < vm->errors.n; i++) {
        const pel_note *note = &vm->errors.at[i];
        pel_push(vm->ctx, &network->errors, row_of(note));
    }
}

/* ---- decisions ---- */

typedef struct answers {
    bool *decided;
    uint32_t from, n;
} answers;

typedef struct plans {
    PEL_VEC(bool *) at;
    PEL_VEC(uint32_t) lengths;
    bool is_cut;            /* there were more than are tried */
    bool any_clean;         /* a run left no statement out */
    PEL_VEC(answers) later; /* of runs that left some: what they asked afterwards */
} plans;

static void plan_flips(pel_vm *vm, plans *p, const answers *given) {
    for (uint32_t i = given->from; i < given->n; i++) {
        if (p->at.n == MAX_RUNS) {
            p->is_cut = true;
            return;
        }
        bool *plan = pel_new_array(vm->ctx, i + 1, bool);
        memcpy(plan, given->decided, i * sizeof *plan);
        plan[i] = !given->decided[i];
        pel_push(vm->ctx, &p->at, plan);
        pel_push(vm->ctx, &p->lengths, i + 1);
    }
}

/* For every question that this run answered on its own: another run with the other answer. What is asked after a
 * statement that can't be run may be asked because of a wrong answer: it waits until no other answer helped. */
static void plan_others(pel_vm *vm, plans *p, uint32_t given, bool failed) {
    uint32_t n = vm->decided.n, first = vm->n_recovered && vm->asked_before < n ? vm->asked_before : n;
    answers all = { pel_new_array(vm->ctx, n ? n : 1, bool), given, first };
    if (n) memcpy(all.decided, vm->decided.at, n * sizeof *all.decided);
    plan_flips(vm, p, &all);
    p->any_clean |= !failed && !vm->n_recovered;
    if (first < n) pel_push(vm->ctx, &p->later, ((answers){ all.decided, first > given ? first : given, n }));
}

/* All plans are done: what waited is planned if every run left something out. */
static void plan_rest(pel_vm *vm, plans *p) {
    for (uint32_t i = 0; i < p->later.n && !p->any_clean; i++) plan_flips(vm, p, &p->later.at[i]);
    p->later.n = 0;
}

/* Runs that left statements out don't count where another did without. */
static void prefer_clean(pel_scan_run *runs, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) any |= runs[i].root && !runs[i].failed && !runs[i].recovered;
    for (uint32_t i = 0; i < n && any; i++)
        if (runs[i].recovered) runs[i].root = NULL, runs[i].failed = true;
}

static void follow(pel_vm *vm, const plans *p, uint32_t which) {
    vm->planned.n = 0;
    for (uint32_t i = 0; i < p->lengths.at[which]; i++) pel_push(vm->ctx, &vm->planned, p->at.at[which][i]);
}

static pel_scan_run record(pel_vm *vm, pel_module *root, bool failed) {
    pel_scan_run run = { .root = root, .failed = failed, .recovered = vm->n_recovered, .n = vm->asked.n };
    pel_note *asked = pel_new_array(vm->ctx, run.n ? run.n : 1, pel_note);
    bool *decided = pel_new_array(vm->ctx, run.n ? run.n : 1, bool);
    if (run.n) {
        memcpy(asked, vm->asked.at, run.n * sizeof *asked);
        memcpy(decided, vm->decided.at, run.n * sizeof *decided);
    }
    run.asked = asked;
    run.decided = decided;
    return run;
}

static size_t bytes_left(const pel_scanner *scanner) {
    const pel_ctx *ctx = scanner->vm->ctx;
    size_t limit = ctx->may_take;
    if (scanner->class_may_take && scanner->class_may_take < limit) limit = scanner->class_may_take;
    return limit > ctx->taken ? limit - ctx->taken : 0;
}

/* What one file may cost is spent: the rest of its runs is not made, and that is said. */
static bool is_spent(const pel_scanner *scanner) {
    return bytes_left(scanner) < LEAST_BYTES || scanner->steps_left < LEAST_STEPS;
}

/* A run may take three quarters of what is left: the report of what it made needs memory, too. */
static bool within_memory(pel_scanner *scanner, void (*body)(pel_ctx *, void *), void *job, pel_err *err) {
    pel_vm *vm = scanner->vm;
    size_t whole = vm->ctx->may_take;
    vm->ctx->may_take = vm->ctx->taken + bytes_left(scanner) / 4 * 3;
    bool done = pel_attempt(vm->ctx, body, job, err);
    vm->ctx->may_take = whole;
    for (const pel_frame *f = done ? NULL : vm->frame; f; f = f->back)
        if (f->code->source && f->code->source->is_target) pel_leave_function(vm, f);
    if (!done) pel_here(vm, true, &scanner->stopped.file, &scanner->stopped.line);
    if (!done && err->code == PEL_E_MEMORY) {
        err->code = PEL_E_TOO_BIG;
        snprintf(err->what, sizeof err->what, "over the budget of memory");
    }
    return done;
}

/* All but what libraries lack, or just that. It stays when a run is made again: they are not imported again. */
static void forget_notes(pel_vm *vm, uint32_t from, bool keeps_imports) {
    uint32_t n = from;
    for (uint32_t i = from; i < vm->unknown.n; i++)
        if ((vm->unknown.at[i].library.len > 0) == keeps_imports) vm->unknown.at[n++] = vm->unknown.at[i];
    vm->unknown.n = n;
}

/* A run that finds out that the passes of a loop change something is made again, knowing it from the start. */
static bool attempt(pel_scanner *scanner, void (*body)(pel_ctx *, void *), run_job *job, pel_err *err) {
    pel_vm *vm = scanner->vm;
    uint32_t unknown = vm->unknown.n, errors = vm->errors.n, known;
    uint64_t whole = vm->max_steps;
    bool done;
    for (int again = 0; again < MAX_AGAIN; again++) {
        known = vm->changing.n;
        if (again) forget_notes(vm, unknown, true);
        vm->errors.n = errors;
        pel_forget(vm);
        pel_start_over(scanner);
        vm->recovers = true;
        vm->recovers_imports_only = scanner->wants_source; /* a program of a part would not be the network's */
        vm->max_steps = scanner->steps_left;
        done = within_memory(scanner, body, job, err);
        vm->recovers = false;
        vm->max_steps = whole;
        scanner->steps_left -= vm->steps < scanner->steps_left ? vm->steps : scanner->steps_left;
        vm->frame = NULL;
        vm->depth = vm->c_depth = 0;
        if (!done || vm->changing.n == known || is_spent(scanner)) break;
    }
    return done;
}

typedef struct tree_job {
    pel_scanner *scanner;
    pel_val self;
    pel_module *root;
    pel_network *network;
    pel_str forward;
} tree_job;

static void tree_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    tree_job *job = arg;
    if (job->forward.len) pel_read_module(job->scanner, job->self, (pel_str){ "", 0 }); /* names, for the flow */
    if (job->scanner->wants_source && !pel_is_symbol(job->self))
        pel_scan_source(job->scanner, job->network, job->self, job->forward);
    else if (job->forward.len && !pel_is_symbol(job->self))
        pel_scan_forward(job->scanner, job->network, job->self, job->forward, NULL);
    job->root = pel_read_module(job->scanner, job->self, (pel_str){ "", 0 });
}

static void probe_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    tree_job *job = arg;
    pel_scan_probe(job->scanner, job->network, job->self);
}

/* Without an input: errors that are there whatever it is. What the probing itself can't do is not said. */
static void probe(pel_scanner *scanner, pel_network *network, pel_val self) {
    tree_job job = { .scanner = scanner, .self = self, .network = network };
    pel_err err;
    pel_vm *vm = scanner->vm;
    if (scanner->is_one_of_many || scanner->wants_source || is_spent(scanner)) return;
    uint64_t whole = vm->max_steps, before = vm->steps;
    bool recovers = vm->recovers;
    within_memory(scanner, probe_body, &job, &err);
    scanner->steps_left -= vm->steps - before < scanner->steps_left ? vm->steps - before : scanner->steps_left;
    vm->on_call = NULL;
    vm->on_shape = NULL;
    vm->on_step = NULL;
    vm->frame = NULL;
    vm->depth = vm->c_depth = vm->catching = 0;
    vm->max_steps = whole;
    vm->recovers = recovers;
    scanner->wants_certain = false;
    pel_forget(vm);
}

static pel_network *read_network(pel_scanner *scanner, pel_str name, pel_val self, pel_str forward, pel_str path) {
    pel_network *network = pel_network_new(scanner->vm->ctx, name);
    tree_job job = { scanner, self, NULL, network, forward };
    pel_err err;
    if (!within_memory(scanner, tree_body, &job, &err)) put_problem(scanner, network, &err, path);
    network->root = job.root;
    scanner->vm->frame = NULL;
    scanner->vm->depth = scanner->vm->c_depth = 0;
    return network;
}

/* Of a network that the source makes with its arguments, sizes that stay symbols are something not found out. */
static void list_symbols(pel_ctx *ctx, pel_network *network, const pel_module *module) {
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        if (!tensor->shape.is_known && network->unknown.n < 1000) {
            pel_str what = pel_format(ctx, "%.*s of %.*s", PEL_FMT(tensor->name), PEL_FMT(module->name));
            pel_push(ctx, &network->unknown, (pel_unknown){ what, PEL_STR("it has no shape yet"), module->origin });
        }
        for (uint32_t k = 0; k < tensor->shape.n; k++) {
            pel_str what = tensor->shape.dims[k].symbol;
            bool is_listed = !what.len;
            for (uint32_t u = 0; u < network->unknown.n && !is_listed; u++)
                is_listed = pel_str_eq(network->unknown.at[u].what, what);
            if (is_listed || network->unknown.n >= 1000) continue;
            pel_str why = pel_format(ctx, "a size of %.*s", PEL_FMT(tensor->name));
            pel_push(ctx, &network->unknown, (pel_unknown){ .what = what, .why = why, .place = module->origin });
        }
    }
    for (uint32_t i = 0; i < module->children.n; i++) list_symbols(ctx, network, module->children.at[i]);
}

/* ---- a file, with all answers ---- */

typedef struct variant { /* a network by its name and what its constructor was given: runs may differ in that */
    pel_network *network;
    pel_module *roots[MAX_RUNS + 1];
} variant;

typedef struct file_runs {
    PEL_VEC(variant) variants;
    pel_scan_run runs[MAX_RUNS + 1];
    uint32_t n;
    pel_map made; /* classes that have instances */
} file_runs;

static void add_variant(pel_vm *vm, file_runs *all, pel_network *network) {
    for (uint32_t i = 0; i < all->variants.n; i++) {
        variant *v = &all->variants.at[i];
        if (v->roots[all->n] || !pel_str_eq(v->network->name, network->name)) continue;
        if (!network->root || !v->network->root) continue;
        if (!pel_same_but_children(v->network->root, network->root)) continue;
        v->roots[all->n] = network->root;
        return;
    }
    variant v = { .network = network };
    v.roots[all->n] = network->root;
    pel_push(vm->ctx, &all->variants, v);
}

static void read_networks(pel_scanner *scanner, run_job *job, file_runs *all, bool failed) {
    pel_vm *vm = scanner->vm;
    pel_found_list now = { 0 };
    pel_find_networks(scanner, job->module, &now);
    for (uint32_t i = 0; i < scanner->order.n; i++)
        pel_map_set(vm->ctx, &all->made, PEL_KEY(scanner->order.at[i]->self->type), 1);
    for (uint32_t i = 0; i < now.n; i++) {
        pel_network *network =
            read_network(scanner, now.at[i].name, now.at[i].self, job->request->forward, job->request->path);
        put_notes(scanner, network);
        if (network->root) list_symbols(vm->ctx, network, network->root);
        add_variant(vm, all, network);
    }
    for (uint32_t i = 0; i < now.n && !all->n && !job->request->forward.len; i++)
        if (i < all->variants.n) probe(scanner, all->variants.at[i].network, now.at[i].self);
    all->runs[all->n++] = record(vm, NULL, failed);
}

/* Whether a question was asked by the file's own lines: another answer may build what this one did not. */
static bool asks_itself(const pel_vm *vm, pel_str path) {
    for (uint32_t i = 0; i < vm->asked.n; i++)
        if (pel_str_eq(vm->asked.at[i].file, path)) return true;
    return false;
}

/* Prepares run k of those that are planned; the first is planned by nobody. False: there is nothing left for it. */
static bool begins(pel_scanner *scanner, plans *p, uint32_t k) {
    if (k && is_spent(scanner)) {
        p->is_cut = true;
        return false;
    }
    if (k) follow(scanner->vm, p, k - 1);
    scanner->vm->unknown.n = scanner->vm->errors.n = 0;
    return true;
}

/* What libraries lack is asked of each class of the file: it may not matter to it. */
static void put_problem_notes(pel_scanner *scanner, run_job *job, pel_network *problems) {
    pel_vm *vm = scanner->vm;
    for (uint32_t i = 0; i < vm->unknown.n; i++)
        if (vm->unknown.at[i].library.len) pel_push(vm->ctx, &job->imports, vm->unknown.at[i]);
    forget_notes(vm, 0, false);
    put_notes(scanner, problems);
}

/* The file is run again for the other answers to its questions; what the runs made is joined. */
static void scan_file(pel_scanner *scanner, run_job *job, pel_networks *networks, pel_network *problems,
                      file_runs *all) {
    pel_vm *vm = scanner->vm;
    plans p = { 0 };
    for (uint32_t k = 0; k <= p.at.n && k <= MAX_RUNS; k++) {
        pel_err err;
        if (!begins(scanner, &p, k)) break;
        job->module = NULL;
        bool done = attempt(scanner, run_body, job, &err), failed = !done || vm->raised;
        if (failed && !k) put_problem(scanner, problems, done ? NULL : &err, job->request->path);
        pel_forget(vm);
        read_networks(scanner, job, all, failed);
        if (!k && !all->variants.n) put_problem_notes(scanner, job, problems);
        if (!all->variants.n && !asks_itself(vm, job->request->path)) break; /* nothing to join */
        plan_others(vm, &p, k ? p.lengths.at[k - 1] : 0, failed);
        if (k == p.at.n) plan_rest(vm, &p);
    }
    vm->planned.n = 0;
    for (uint32_t i = 0; i < all->variants.n; i++) {
        variant *v = &all->variants.at[i];
        pel_scan_run runs[MAX_RUNS + 1];
        memcpy(runs, all->runs, sizeof runs);
        for (uint32_t r = 0; r < all->n; r++) runs[r].root = v->roots[r];
        prefer_clean(runs, all->n);
        pel_module *joined = pel_join_runs(vm->ctx, runs, all->n);
        if (joined) v->network->root = joined;
        pel_drop_conditional_source(vm->ctx, v->network);
        pel_put_questions(vm->ctx, v->network, runs, all->n, !p.is_cut);
        pel_push(vm->ctx, networks, v->network);
    }
    if (!all->variants.n) pel_put_questions(vm->ctx, problems, all->runs, all->n, !p.is_cut && p.at.n);
}

/* An instance of job->class, and of what the other answers to its questions make; once: only of the first answers. */
static pel_network *scan_instance(pel_scanner *scanner, run_job *job, bool once) {
    pel_vm *vm = scanner->vm;
    plans p = { 0 };
    pel_scan_run runs[MAX_RUNS + 1];
    uint32_t n_runs = 0, network_recovered = 0;
    pel_network *network = NULL;
    pel_str name = pel_text_of(job->class->name);
    for (uint32_t k = 0; k <= p.at.n && k <= MAX_RUNS; k++) {
        pel_err err;
        if (!begins(scanner, &p, k)) break;
        for (uint32_t i = 0; i < job->imports.n; i++) pel_push(vm->ctx, &vm->unknown, job->imports.at[i]);
        job->made = NULL;
        bool done = attempt(scanner, instance_body, job, &err);
        pel_network *now = pel_network_new(vm->ctx, name);
        if (done && job->made) {
            pel_str forward = job->forward && !job->n_open && !k ? job->request->forward : (pel_str){ "", 0 };
            now = read_network(scanner, name, job->made, forward, job->request->path);
        } else {
            put_problem(scanner, now, done ? NULL : &err, job->request->path);
            pel_forget(vm);
        }
        put_notes(scanner, now);
        if (now->root && !k && !job->request->forward.len) probe(scanner, now, job->made);
        runs[n_runs++] = record(vm, now->root, !now->root);
        bool is_better = network && network->root && network_recovered && now->root && !vm->n_recovered;
        if (!network || (!network->root && now->root) || is_better) network = now, network_recovered = vm->n_recovered;
        job->recovered = network_recovered;
        if (once && (!network->root || network_recovered)) return network;
        plan_others(vm, &p, k ? p.lengths.at[k - 1] : 0, !now->root);
        if (k == p.at.n) plan_rest(vm, &p);
    }
    vm->planned.n = 0;
    job->recovered = network_recovered;
    prefer_clean(runs, n_runs);
    pel_module *joined = pel_join_runs(vm->ctx, runs, n_runs);
    if (joined) network->root = joined;
    pel_drop_conditional_source(vm->ctx, network);
    pel_put_questions(vm->ctx, network, runs, n_runs, !p.is_cut);
    return network;
}

static void arguments_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    run_job *job = arg;
    pel_class_call call;
    pel_class_args(job->scanner, job->class, true, &call);
}

static void put_untried(pel_scanner *scanner, run_job *job, pel_network *network) {
    pel_vm *vm = scanner->vm;
    pel_err err;
    vm->unknown.n = 0;
    if (!attempt(scanner, arguments_body, job, &err)) return;
    for (uint32_t i = 0; i < vm->unknown.n; i++)
        pel_push(vm->ctx, &network->unknown,
                 (pel_unknown){ .what = vm->unknown.at[i].what,
                                .why = PEL_STR("not tried, one of many sources: scan this one alone"),
                                .place = { .file = vm->unknown.at[i].file, .line = vm->unknown.at[i].line } });
}

/* With its parameters as symbols; if they lead nowhere, as its annotations say; if these do not either, as symbols
 * whatever the answers. */
static pel_network *scan_somehow(pel_scanner *scanner, run_job *job) {
    if (scanner->watch) { /* an editor shows sizes rather than symbols, and says what was assumed */
        job->by_annotation = true;
        pel_network *sized = scan_instance(scanner, job, false);
        if (sized->root && !job->recovered) return sized;
    }
    job->by_annotation = false;
    pel_network *network = scan_instance(scanner, job, true);
    if (network->root && !job->recovered) return network;
    job->by_annotation = true;
    pel_network *assumed = !scanner->is_one_of_many ? scan_instance(scanner, job, false) : NULL;
    if (assumed && assumed->root && !job->recovered) return assumed;
    uint32_t recovered = job->recovered;
    job->by_annotation = false;
    network = scan_instance(scanner, job, false);
    if (assumed && assumed->root && (!network->root || recovered < job->recovered)) return assumed;
    if (!assumed && (!network->root || job->recovered)) put_untried(scanner, job, network);
    return network->root || !assumed || !assumed->unknown.n ? network : assumed;
}

/* One class may spend half of what is left on its runs: the others are wanted, too. What its runs made is joined with
 * all the memory that the file has left: to run out there would lose the file. */
static pel_network *scan_within(pel_scanner *scanner, run_job *job) {
    uint64_t rest = scanner->steps_left / 2;
    scanner->class_may_take = scanner->vm->ctx->taken + bytes_left(scanner) / 2;
    scanner->steps_left -= rest;
    pel_network *network = scan_somehow(scanner, job);
    scanner->steps_left += rest;
    scanner->class_may_take = 0;
    return network;
}

static void scan_class(pel_scanner *scanner, run_job *job, pel_type *type, pel_networks *networks) {
    pel_vm *vm = scanner->vm;
    job->class = type;
    vm->planned.n = 0;
    vm->own_file = job->request->path;
    pel_network *network = is_spent(scanner) ? NULL : scan_within(scanner, job);
    vm->own_file = (pel_str){ "", 0 };
    if (!network) {
        network = pel_network_new(vm->ctx, pel_text_of(type->name));
        pel_unknown row = { pel_text_of(type->name), PEL_WHY_SPENT };
        row.place.file = job->request->path;
        pel_push(vm->ctx, &network->unknown, row);
    }
    network->is_class = true;
    network->n_open = job->n_open;
    pel_push(vm->ctx, networks, network);
}

static bool has_class(const pel_module *module, pel_str class, uint32_t depth) {
    for (uint32_t i = 0; i < module->children.n && depth < 100; i++)
        if (pel_str_eq(module->children.at[i]->class, class) || has_class(module->children.at[i], class, depth + 1))
            return true;
    return false;
}

/* Whether another of the file's classes has one of this class inside: then it is that one that is run. */
static bool is_part(const pel_networks *networks, uint32_t first, uint32_t n, pel_str class) {
    for (uint32_t i = first; i < first + n; i++)
        if (networks->at[i]->root && has_class(networks->at[i]->root, class, 0)) return true;
    return false;
}

/* --forward of a class that nothing makes an instance of. */
static void run_class(pel_scanner *scanner, run_job *job, pel_type *type, pel_network **place) {
    pel_networks again = { 0 };
    job->n_open = 0;
    scan_class(scanner, job, type, &again);
    *place = again.at[0];
    if (!job->n_open) return;
    pel_unknown row = { PEL_STR("--forward"),
                        PEL_STR("not run: arguments of the class have no value, --set gives them") };
    row.place.file = job->request->path;
    pel_push(scanner->vm->ctx, &(*place)->unknown, row);
}

static void scan_classes(pel_scanner *scanner, run_job *job, const pel_map *made, pel_networks *networks) {
    pel_vm *vm = scanner->vm;
    if (!job->module || !pel_is(job->module, PEL_L_MODULE)) return;
    PEL_VEC(pel_type *) types = { 0 };
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(job->module->attrs, &at));) {
        if (!pel_is_type(entry->value)) continue;
        pel_type *type = pel_as_type(entry->value);
        pel_val of = type->head.attrs ? pel_dict_get_str(type->head.attrs, vm->names.s_module) : NULL;
        if (!of || !pel_is_str(of) || !pel_str_eq(pel_text_of(of), job->name)) continue;
        if (!pel_text_is(entry->key, pel_string_at(type->name)->text)) continue;
        if (pel_module_kind_of(scanner, type) && !pel_map_has(made, PEL_KEY(type))) pel_push(vm->ctx, &types, type);
    }
    uint32_t first = networks->n;
    for (uint32_t i = 0; i < types.n; i++) scan_class(scanner, job, types.at[i], networks);
    job->forward = true;
    for (uint32_t i = 0; i < types.n && job->wants_forward; i++) {
        pel_network **place = &networks->at[first + i];
        if (!(*place)->root || is_part(networks, first, types.n, pel_text_of(types.at[i]->name))) continue;
        run_class(scanner, job, types.at[i], place);
    }
}

/* Whether a line is `if __name__ == "__main__":`. A file of a package that has one is meant to be started, too. */
static bool has_main_guard(pel_str text) {
    static const char guard[] = "if __name__ ==";
    for (size_t at = 0; at + sizeof guard <= text.len; at++) {
        if (at && text.ptr[at - 1] != '\n') continue;
        if (memcmp(text.ptr + at, guard, sizeof guard - 1) == 0) return true;
    }
    return false;
}

static void name_module(pel_scanner *scanner, run_job *job) {
    pel_vm *vm = scanner->vm;
    const pel_scan_request *request = job->request;
    if (request->is_snippet) {
        job->name = pel_format(vm->ctx, "snippet%u", ++scanner->n_requests);
        return;
    }
    job->name = module_name(scanner, request->path, &job->is_inside_package);
    bool is_started = has_main_guard(request->text) && !pel_str_ends(request->path, PEL_STR("__init__.py"));
    if (job->is_inside_package && is_started) job->package = pel_package_of(scanner, request->path);
    if (pel_str_ends(request->path, PEL_STR(".ipynb")) || is_started) job->is_inside_package = false;
    if (!job->is_inside_package) job->name = PEL_STR("__main__");
}

static void scan_request(pel_scanner *scanner, const pel_scan_request *request, pel_networks *networks,
                         pel_network **problems) {
    pel_vm *vm = scanner->vm;
    run_job job = { .scanner = scanner, .request = request };
    name_module(scanner, &job);
    vm->planned.n = 0;
    *problems = pel_network_new(vm->ctx, request->path);
    file_runs *all = pel_new(vm->ctx, file_runs);
    scan_file(scanner, &job, networks, *problems, all);
    bool want_classes = request->classes && (!scanner->wants_source || !all->variants.n);
    job.wants_forward = request->forward.len && !all->variants.n;
    if (want_classes) scan_classes(scanner, &job, &all->made, networks);
    for (uint32_t i = 0; i < job.imports.n && !networks->n; i++)
        pel_push(vm->ctx, &(*problems)->unknown, row_of(&job.imports.at[i]));
    if (request->forward.len && !networks->n) {
        pel_unknown row = { PEL_STR("--forward"), PEL_STR("not run: there is no network") };
        row.place.file = request->path;
        pel_push(vm->ctx, &(*problems)->unknown, row);
    }
}

void pel_scan(pel_scanner *scanner, const pel_scan_request *request, pel_networks *networks, pel_network **problems) {
    pel_ctx *ctx = scanner->vm->ctx;
    size_t whole = scanner->may_take;
    ctx->may_take = whole > ctx->taken + MAX_BYTES ? ctx->taken + MAX_BYTES : whole;
    scanner->steps_left = scanner->vm->max_steps;
    scanner->class_may_take = 0; /* the scan before may have been left by an error */
    scan_request(scanner, request, networks, problems);
    ctx->may_take = whole;
}
