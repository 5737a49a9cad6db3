/* Modules: natives, embedded stubs, then the source roots, read as text. */
#include "interp/stubs.h"
#include "interp/vm.h"
#include "python/parse.h"

#define MAX_SOURCE ((size_t)64 << 20)
#define MAX_IMPORTS 200

/* ---- reading ---- */

/* The path without ".", "//" and "a/.."; empty if it leads above where it begins. */
static pel_str plain_path(pel_vm *vm, pel_str path) {
    pel_buf out = pel_buf_in(vm->ctx);
    size_t first = path.len && path.ptr[0] == '/';
    if (first) pel_put_byte(&out, '/');
    for (size_t at = 0, end; at < path.len; at = end + 1) {
        const char *slash = memchr(path.ptr + at, '/', path.len - at);
        end = slash ? (size_t)(slash - path.ptr) : path.len;
        pel_str part = pel_str_cut(path, at, end);
        if (!part.len || pel_str_is(part, ".")) continue;
        if (pel_str_is(part, "..")) {
            if (out.len == first) return (pel_str){ "", 0 };
            while (out.len > first && out.at[out.len - 1] != '/') out.len--;
            if (out.len > first) out.len--;
            continue;
        }
        if (out.len > first) pel_put_byte(&out, '/');
        pel_put(&out, part);
    }
    return out.len ? pel_buf_str(&out) : PEL_STR(".");
}

static bool is_below(pel_str path, pel_str root) {
    bool is_relative = path.len && path.ptr[0] != '/';
    if (pel_str_is(root, ".")) return is_relative;
    if (pel_str_starts(root, PEL_STR("./"))) root = pel_str_from(root, 2);
    return pel_str_starts(path, root) &&
           (path.len == root.len || path.ptr[root.len] == '/' || (root.len && root.ptr[root.len - 1] == '/'));
}

static pel_str inside(pel_vm *vm, pel_str path) {
    pel_str plain = plain_path(vm, path);
    for (uint32_t i = 0; plain.len && vm->files.kind && i < vm->roots.n; i++)
        if (is_below(plain, vm->roots.at[i])) return plain;
    return (pel_str){ "", 0 };
}

pel_str pel_path_of_program(pel_vm *vm, pel_str path) {
    if ((path.len && path.ptr[0] == '/') || pel_kind_inside(vm, path) != PEL_NOTHING) return path;
    for (uint32_t i = 0; i < vm->roots.n; i++) {
        pel_str beside = pel_format(vm->ctx, "%.*s/%.*s", PEL_FMT(vm->roots.at[i]), PEL_FMT(path));
        if (pel_kind_inside(vm, beside) != PEL_NOTHING) return beside;
    }
    return path;
}

bool pel_read_inside(pel_vm *vm, pel_str path, pel_str *bytes) {
    pel_str found = inside(vm, path);
    return found.len && vm->files.read && vm->files.read(vm->files.arg, found, bytes);
}

enum pel_entry_kind pel_kind_inside(pel_vm *vm, pel_str path) {
    pel_str found = inside(vm, path);
    return found.len ? vm->files.kind(vm->files.arg, found) : PEL_NOTHING;
}

bool pel_list_inside(pel_vm *vm, pel_str path, pel_str *names) {
    pel_str found = inside(vm, path);
    return found.len && vm->files.list && vm->files.list(vm->files.arg, found, names);
}

static const pel_embedded *find_stub(pel_str path) {
    for (const pel_embedded *stub = pel_stubs; stub->path; stub++)
        if (pel_str_is(path, stub->path)) return stub;
    return NULL;
}

/* ---- compiling ---- */

typedef struct compile_job {
    pel_vm *vm;
    pel_module_source *source;
    pel_str bytes;
    bool is_stub, is_expression;
    pel_codeobj *code;
} compile_job;

static void compile_body(pel_ctx *ctx, void *arg) {
    compile_job *job = arg;
    pel_source source = pel_source_decode(ctx, job->source->path, job->bytes);
    job->source->text = source.text;
    pel_node *root = job->is_expression ? pel_parse_expression(ctx, &source, PEL_VERSION_MAX)
                                        : pel_parse(ctx, &source, PEL_VERSION_MAX);
    if (!job->is_stub && !job->is_expression) pel_adapt_config(ctx, root);
    job->code = pel_compile(job->vm, root, job->source, job->is_stub);
}

pel_codeobj *pel_compile_source(pel_vm *vm, pel_str path, pel_str text, bool is_stub, bool is_expression) {
    pel_module_source *source = pel_new(vm->ctx, pel_module_source);
    source->path = pel_str_copy(vm->ctx, path);
    compile_job job = { vm, source, text, is_stub, is_expression, NULL };
    pel_err err;
    if (text.len > MAX_SOURCE) {
        pel_raise(vm, vm->types.SyntaxError, "%.*s: %zu bytes of source are too many", PEL_FMT(path), text.len);
        return NULL;
    }
    if (pel_attempt(vm->ctx, compile_body, &job, &err)) return job.code;
    if (err.code == PEL_E_MEMORY) pel_throw(vm->ctx, err.code, 0, "%s", err.what);
    pel_raise(vm, vm->types.SyntaxError, "%s (%.*s, line %u)", err.what, PEL_FMT(path), err.line);
    return NULL;
}

/* ---- finding ---- */

typedef struct found_module {
    pel_str path;   /* of the file; stubs: below "<pellucid>/" */
    pel_str folder; /* of a package */
    pel_val more;   /* of a namespace package: the other folders, a list; NULL: none */
    pel_str text;
    bool is_package, is_stub, is_namespace;
    bool is_native; /* machine code: its names are symbols */
} found_module;

/* "name.cpython-311-x86_64-linux-gnu.so", "name.abi3.so", "name.pyd" */
static bool is_native_file(pel_str entry, pel_str part) {
    bool is_code = pel_str_ends(entry, PEL_STR(".so")) || pel_str_ends(entry, PEL_STR(".pyd"));
    return is_code && pel_str_starts(entry, part) && entry.len > part.len && entry.ptr[part.len] == '.';
}

static bool has_native(pel_vm *vm, pel_str folder, pel_str part) {
    pel_str names;
    if (!pel_list_inside(vm, folder, &names)) return false;
    for (size_t at = 0, end; at < names.len; at = end + 1) {
        const char *line = memchr(names.ptr + at, '\n', names.len - at);
        end = line ? (size_t)(line - names.ptr) : names.len;
        if (is_native_file(pel_str_cut(names, at, end), part)) return true;
    }
    return false;
}

/* CPython prefers an extension module to a .py file. Here the source wins, since machine code gives only symbols. A
 * folder without __init__.py comes last, and a later root may still have a better one (find_in_folder). */
static bool find_in(pel_vm *vm, pel_str folder, pel_str part, found_module *out) {
    pel_str base = folder.len ? pel_format(vm->ctx, "%.*s/%.*s", PEL_FMT(folder), PEL_FMT(part)) : part;
    pel_str init = pel_format(vm->ctx, "%.*s/__init__.py", PEL_FMT(base));
    if (pel_kind_inside(vm, base) == PEL_FOLDER) {
        if (pel_read_inside(vm, init, &out->text)) {
            out->path = init;
            out->folder = base;
            out->is_package = true;
            return true;
        }
    }
    pel_str file = pel_format(vm->ctx, "%.*s.py", PEL_FMT(base));
    if (pel_read_inside(vm, file, &out->text)) {
        out->path = file;
        return true;
    }
    if (has_native(vm, folder.len ? folder : PEL_STR("."), part)) {
        out->path = base;
        out->is_native = true;
        return true;
    }
    if (pel_kind_inside(vm, base) == PEL_FOLDER) {
        out->folder = base;
        out->is_package = out->is_namespace = true;
        return true;
    }
    return false;
}

/* A folder without __init__.py is a package only if no later folder has a module of that name; all such folders are
 * parts of it then. */
static bool find_in_folder(pel_vm *vm, pel_str folder, pel_str part, found_module *out) {
    found_module here = { 0 };
    if (!find_in(vm, folder, part, &here)) return false;
    if (!here.is_namespace) {
        *out = here;
        return true;
    }
    if (!out->is_namespace) {
        *out = here;
        return false;
    }
    if (!out->more) out->more = pel_list_of(vm, NULL, 0);
    pel_list_push(vm, out->more, pel_new_text(vm, here.folder));
    return false;
}

/* Modules that only lend names: symbols.txt has a line for each. */
static bool only_lends_names(pel_str name) {
    const pel_embedded *list = find_stub(PEL_STR("symbols.txt"));
    for (const char *at = list ? list->text : ""; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, name.ptr, name.len) == 0 && at[name.len] == '\n') return true;
    return false;
}

static bool find_stub_module(pel_vm *vm, pel_str name, found_module *out) {
    char *slashed = pel_alloc(vm->ctx, name.len + 1);
    for (size_t i = 0; i < name.len; i++) slashed[i] = name.ptr[i] == '.' ? '/' : name.ptr[i];
    const pel_embedded *stub = find_stub(pel_format(vm->ctx, "%s/__init__.py", slashed));
    out->is_package = stub != NULL;
    if (!stub) stub = find_stub(pel_format(vm->ctx, "%s.py", slashed));
    if (!stub && only_lends_names(name)) {
        out->is_stub = true;
        out->path = pel_format(vm->ctx, "<pellucid>/%.*s", PEL_FMT(name));
        out->text = PEL_STR("import sys, _pellucid\nsys.modules[__name__] = _pellucid.symbol_module(__name__)\n");
        return true;
    }
    if (!stub) return false;
    out->is_stub = true;
    out->text = pel_str_of(stub->text);
    out->path = pel_format(vm->ctx, "<pellucid>/%s", stub->path);
    return true;
}

/* The folders that a package's submodules lie in: its __path__, or the roots. */
static bool find(pel_vm *vm, pel_str name, pel_val parent, found_module *out) {
    *out = (found_module){ 0 };
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    pel_str part = pel_str_from(name, dot);
    bool is_stub = find_stub_module(vm, name, out);
    pel_str stub_path = out->path, stub_text = out->text;
    if (is_stub && !out->is_package) return true;
    found_module real = { 0 };
    bool is_real = false;
    if (vm->files.kind) {
        if (!dot) {
            for (uint32_t i = 0; i < vm->roots.n && !is_real; i++)
                is_real = find_in_folder(vm, vm->roots.at[i], part, &real);
        } else if (parent && parent->attrs) {
            pel_val path = pel_dict_get_str(parent->attrs, vm->names.s_path), *items;
            uint32_t n;
            if (path && pel_collect(vm, path, &items, &n))
                for (uint32_t i = 0; i < n && !is_real; i++)
                    if (pel_is_str(items[i]) && inside(vm, pel_text_of(items[i])).len)
                        is_real = find_in_folder(vm, pel_text_of(items[i]), part, &real);
            pel_forget(vm);
        }
        is_real |= real.is_namespace;
    }
    if (is_stub) { /* the package's other submodules are still found in the roots */
        out->folder = is_real && real.is_package ? real.folder : (pel_str){ "", 0 };
        out->path = stub_path;
        out->text = stub_text;
        return true;
    }
    *out = real;
    return is_real;
}

bool pel_find_module(pel_vm *vm, pel_str name, pel_str *path, bool *is_package) {
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    pel_val parent = dot ? pel_import(vm, pel_str_cut(name, 0, dot - 1)) : NULL;
    if (dot && !parent) return false;
    found_module found;
    if (pel_dict_get_str(vm->modules, pel_interned(vm, name)) || find(vm, name, parent, &found)) {
        *path = find(vm, name, parent, &found) ? found.path : (pel_str){ "", 0 };
        *is_package = found.is_package;
        return true;
    }
    return false;
}

/* ---- importing ---- */

/* An import that must succeed, or the program would end: most of what a script imports has nothing to do with its
 * networks. It is not kept: code that asks whether there is such a module still hears that there is none. */
static pel_val missing_module(pel_vm *vm, pel_str name) {
    pel_val module = pel_new_module(vm, pel_interned(vm, name));
    ((pel_module_object *)module)->is_symbolic = ((pel_module_object *)module)->is_missing = true;
    pel_note_unknown(vm, name, PEL_WHY_MISSING);
    return module;
}

/* Where a module is. False: nowhere, and what takes its place is in *instead; NULL there: an exception was raised. */
static bool locate(pel_vm *vm, pel_str name, pel_val parent, found_module *found, pel_val *instead) {
    pel_val key = pel_interned(vm, name);
    bool is_symbolic = parent && pel_is(parent, PEL_L_MODULE) && ((pel_module_object *)parent)->is_symbolic;
    if (is_symbolic ? find_stub_module(vm, name, found) : find(vm, name, parent, found)) return true;
    *instead = NULL;
    if (is_symbolic) {
        *instead = pel_new_module(vm, key);
        ((pel_module_object *)*instead)->is_symbolic = true;
        ((pel_module_object *)*instead)->is_missing = ((pel_module_object *)parent)->is_missing;
        pel_dict_set_str(vm, vm->modules, key, *instead);
        return false;
    }
    if (vm->raised) return false;
    pel_raise(vm, vm->types.ModuleNotFoundError, "No module named '%.*s'", PEL_FMT(name));
    /* what our own models import is there, or is meant to be absent */
    bool is_author = !parent && vm->frame && !vm->frame->code->is_stub;
    if (is_author && !pel_is_caught(vm, vm->frame)) {
        pel_forget(vm);
        *instead = missing_module(vm, name);
        return false;
    }
    if (is_author) pel_note_premise(vm, name, PEL_STR("not in the roots: the program goes on without it"));
    pel_dict_set_c(vm, pel_attrs(vm, vm->raised), "name", key);
    return false;
}

static pel_val load(pel_vm *vm, pel_str name, const found_module *at) {
    found_module found = *at;
    pel_val key = pel_interned(vm, name);
    pel_val module = pel_new_module(vm, key);
    pel_dict *attrs = module->attrs;
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    pel_str package = found.is_package ? name : dot ? pel_str_cut(name, 0, dot - 1) : (pel_str){ "", 0 };
    pel_dict_set_str(vm, attrs, vm->names.s_package, pel_interned(vm, package));
    if (!found.is_namespace) pel_dict_set_str(vm, attrs, vm->names.s_file, pel_new_text(vm, found.path));
    if (found.is_package) {
        pel_val path = pel_list_of(vm, NULL, 0);
        if (found.folder.len) pel_list_push(vm, path, pel_new_text(vm, found.folder));
        if (found.more && !pel_extend(vm, path, found.more)) return NULL;
        pel_dict_set_str(vm, attrs, vm->names.s_path, path);
    }
    pel_dict_set_str(vm, attrs, vm->names.s_builtins, &vm->builtins->head);
    pel_dict_set_str(vm, vm->modules, key, module);
    ((pel_module_object *)module)->is_model = found.is_stub;
    if (found.is_native) ((pel_module_object *)module)->is_symbolic = ((pel_module_object *)module)->is_missing = true;
    if (found.is_namespace || found.is_native) return module;
    pel_push(vm->ctx, &vm->loading, module);
    uint32_t depth = vm->loading.n;
    pel_codeobj *code = pel_compile_source(vm, found.path, found.text, found.is_stub, false);
    bool is_run = code && pel_run_code(vm, code, attrs, NULL, NULL);
    vm->loading.n = depth - 1;
    if (!is_run) {
        pel_dict_del_str(vm, vm->modules, key);
        return NULL;
    }
    pel_val now = pel_dict_get_str(vm->modules, key); /* a module may put another in its place */
    return now ? now : module;
}

/* ---- libraries: what one may cost ---- */

#define LIBRARY_ASKS 100                 /* questions that importing one may ask */
#define LIBRARY_LEAST ((size_t)96 << 20) /* bytes that one may take at least, */
#define LIBRARY_STEPS 100000000u         /* and steps at most, */
#define LIBRARY_LEAST_STEPS 20000000u    /* however deep libraries import each other: torch.nn takes 4 million */

typedef struct library_job {
    pel_vm *vm;
    pel_str name;
    const found_module *found;
    pel_val module;
} library_job;

static void library_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    library_job *job = arg;
    job->module = load(job->vm, job->name, job->found);
}

/* What a file is part of: an installed library, else the root that it lies in. */
static pel_str part_of(pel_vm *vm, pel_str file) {
    pel_str found = pel_library_of(vm, file);
    for (uint32_t i = 0; i < vm->roots.n && !pel_library_of(vm, file).len; i++)
        if (is_below(file, vm->roots.at[i]) && vm->roots.at[i].len > found.len) found = vm->roots.at[i];
    return found;
}

/* Whether the import leads from somewhere else into a library. Packages of one root are parts of one program. */
static bool enters_library(pel_vm *vm, const found_module *found) {
    if (!vm->recovers || !vm->frame || found->is_stub) return false;
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub) f = f->back;
    return f && !pel_str_eq(part_of(vm, f->code->file), part_of(vm, found->path.len ? found->path : found->folder));
}

/* Half of what is left, but not less than is needed to be of use, and never all of it: who imports it goes on. Halves
 * alone would leave nothing to the tenth library of a chain. */
static uint64_t share_of(uint64_t left, uint64_t least) {
    uint64_t share = left / 2 > least ? left / 2 : least, kept = left / 4 < least / 16 ? left / 4 : least / 16;
    return share < left - kept ? share : left - kept;
}

/* Modules that were cut off in the middle: what they do not have yet is a symbol. */
static pel_val leave_unfinished(pel_vm *vm, uint32_t from, pel_str name) {
    for (uint32_t i = from; i < vm->loading.n; i++) {
        pel_module_object *module = (pel_module_object *)vm->loading.at[i];
        module->is_symbolic = module->is_missing = true;
    }
    vm->loading.n = from;
    pel_val key = pel_interned(vm, name), module = pel_dict_get_str(vm->modules, key);
    if (module && !pel_is_small(module)) return module;
    module = pel_new_module(vm, key);
    ((pel_module_object *)module)->is_symbolic = ((pel_module_object *)module)->is_missing = true;
    pel_dict_set_str(vm, vm->modules, key, module);
    return module;
}

/* A library that the program imports may be larger than all that is scanned: statistics, plots. It gets half of what is
 * left, at most; beyond that it is one of symbols, and the program goes on. */
static pel_val load_library(pel_vm *vm, pel_str name, const found_module *found) {
    pel_ctx *ctx = vm->ctx;
    const pel_vm before = *vm;
    size_t whole = ctx->may_take, left = whole > ctx->taken ? whole - ctx->taken : 0;
    uint64_t steps = share_of(vm->max_steps - vm->steps, LIBRARY_LEAST_STEPS);
    library_job job = { .vm = vm, .name = name, .found = found };
    pel_err err;
    ctx->may_take = ctx->taken + (size_t)share_of(left, LIBRARY_LEAST);
    vm->max_steps = vm->steps + (steps < LIBRARY_STEPS ? steps : LIBRARY_STEPS);
    vm->max_asked = vm->asked.n + LIBRARY_ASKS;
    vm->catching = 0; /* who asks hasattr() far above does not ask whether we know all of the library */
    bool done = pel_attempt(ctx, library_body, &job, &err);
    vm->catching = before.catching;
    ctx->may_take = whole;
    vm->max_steps = before.max_steps;
    vm->max_asked = before.max_asked;
    if (done) pel_contain_library(vm, found->path.len ? found->path : found->folder);
    if (done) return job.module;
    if (err.code != PEL_E_TOO_BIG && err.code != PEL_E_MEMORY && err.code != PEL_E_TOO_DEEP)
        pel_throw(ctx, err.code, err.at, "%s", err.what);
    vm->frame = before.frame;
    vm->depth = before.depth;
    vm->c_depth = before.c_depth;
    vm->raised = before.raised;
    vm->handled = before.handled;
    vm->asked.n = vm->decided.n = before.asked.n;
    vm->loops.n = before.loops.n;
    vm->repeating.n = before.repeating.n;
    pel_note_costly(vm, name);
    pel_val unfinished = leave_unfinished(vm, before.loading.n, name);
    pel_contain_library(vm, found->path.len ? found->path : found->folder);
    return unfinished;
}

/* A library that the program itself asks for by name: what it lacks is no premise. */
static void ask_by_name(pel_vm *vm, pel_str name) {
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub) f = f->back;
    if (!f || pel_library_of(vm, f->code->file).len) return;
    const char *dot = memchr(name.ptr, '.', name.len);
    pel_str top = dot ? pel_str_cut(name, 0, (size_t)(dot - name.ptr)) : name;
    for (uint32_t i = 0; i < vm->unknown.n; i++)
        if (pel_str_starts(vm->unknown.at[i].library, top)) vm->unknown.at[i].library = PEL_STR("");
}

/* The table of modules is asked again once the parent is loaded: the parent's body may have imported the submodule.
 * None in that table means that the program forbids the import. The parent gets the attribute only after the submodule
 * ran, as in CPython. */
pel_val pel_import(pel_vm *vm, pel_str name) {
    pel_val found = pel_dict_get_str(vm->modules, pel_interned(vm, name));
    if (found == vm->none)
        return pel_raise(vm, vm->types.ModuleNotFoundError, "import of %.*s halted; None in sys.modules",
                         PEL_FMT(name));
    if (found) ask_by_name(vm, name);
    if (found) return found;
    if (!name.len) return pel_raise(vm, vm->types.ValueError, "Empty module name");
    if (vm->c_depth > 500) return pel_raise(vm, vm->types.RecursionError, "imports nest too deep");
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    pel_val parent = NULL;
    if (dot) {
        vm->c_depth++;
        parent = pel_import(vm, pel_str_cut(name, 0, dot - 1));
        vm->c_depth--;
        if (!parent) return NULL;
        found = pel_dict_get_str(vm->modules, pel_interned(vm, name));
        if (found) return found;
    }
    vm->c_depth++;
    found_module at = { 0 };
    pel_val module;
    if (locate(vm, name, parent, &at, &module))
        module = enters_library(vm, &at) ? load_library(vm, name, &at) : load(vm, name, &at);
    vm->c_depth--;
    ask_by_name(vm, name);
    if (module && parent && !pel_is_small(parent) && pel_is(parent, PEL_L_MODULE))
        pel_dict_set_str(vm, pel_attrs(vm, parent), pel_interned(vm, pel_str_from(name, dot)), module);
    return module;
}

/* The package that a file lies in whose folders have no __init__.py: Python gives it a name when something imports it,
 * and nothing has. The nearest root that is `level` folders above says which. Empty: none is. */
static pel_str package_by_place(pel_vm *vm, pel_dict *globals, uint32_t level) {
    pel_val file = pel_dict_get_str(globals, vm->names.s_file);
    pel_str path = file && pel_is_str(file) ? plain_path(vm, pel_text_of(file)) : (pel_str){ "", 0 }, best = { "", 0 };
    while (path.len && path.ptr[path.len - 1] != '/') path.len--;
    if (path.len) path.len--; /* the folder */
    for (uint32_t i = 0; i < vm->roots.n; i++) {
        pel_str root = plain_path(vm, vm->roots.at[i]);
        bool is_here = pel_str_is(root, ".");
        if (!is_below(path, root) || (!is_here && path.len == root.len)) continue;
        pel_str inside = is_here ? path : pel_str_from(path, root.len + 1);
        uint32_t parts = 1;
        for (size_t k = 0; k < inside.len; k++) parts += inside.ptr[k] == '/';
        if (parts >= level && (!best.len || inside.len < best.len)) best = inside;
    }
    pel_buf out = pel_buf_in(vm->ctx);
    for (size_t k = 0; k < best.len; k++) pel_put_byte(&out, best.ptr[k] == '/' ? '.' : best.ptr[k]);
    if (best.len) pel_note_premise(vm, pel_buf_str(&out), PEL_STR("taken for the package of the file"));
    return pel_buf_str(&out);
}

/* Whether the file's folder is a root: what lies beside it is found by its plain name. */
static bool lies_in_root(pel_vm *vm, pel_dict *globals) {
    pel_val file = pel_dict_get_str(globals, vm->names.s_file);
    pel_str path = file && pel_is_str(file) ? plain_path(vm, pel_text_of(file)) : (pel_str){ "", 0 };
    while (path.len && path.ptr[path.len - 1] != '/') path.len--;
    pel_str folder = path.len > 1 ? pel_str_cut(path, 0, path.len - 1) : PEL_STR(".");
    bool found = false;
    for (uint32_t i = 0; i < vm->roots.n; i++) found |= pel_str_eq(plain_path(vm, vm->roots.at[i]), folder);
    if (found && file) pel_note_premise(vm, folder, PEL_STR("taken for the package of the file"));
    return found && file;
}

pel_val pel_import_relative(pel_vm *vm, pel_dict *globals, pel_str name, uint32_t level) {
    pel_val package = pel_dict_get_str(globals, vm->names.s_package);
    pel_str base = package && pel_is_str(package) ? pel_text_of(package) : (pel_str){ "", 0 };
    if (!base.len) {
        pel_val own = pel_dict_get_str(globals, vm->names.s_name);
        if (own && pel_is_str(own) && pel_dict_get_str(globals, vm->names.s_path)) base = pel_text_of(own);
    }
    if (!base.len) base = package_by_place(vm, globals, level);
    if (!base.len && level == 1 && name.len && lies_in_root(vm, globals)) return pel_import(vm, name);
    if (!base.len)
        return pel_raise(vm, vm->types.ImportError, "attempted relative import with no known parent package");
    for (uint32_t i = 1; i < level; i++) {
        while (base.len && base.ptr[base.len - 1] != '.') base.len--;
        if (!base.len)
            return pel_raise(vm, vm->types.ImportError, "attempted relative import beyond top-level package");
        base.len--;
    }
    return pel_import(vm, name.len ? pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(base), PEL_FMT(name)) : base);
}

/* A name that our model of a library lacks. The library itself may well have it (a newer release does), so the file
 * that imports it is not lost: the name becomes a symbol, whose reason is reported where a network depends on it. Code
 * that is ready for the name's absence hears of it, and our models may only import what is there. */
static pel_val not_in_model(pel_vm *vm, pel_val module, pel_val name) {
    const pel_frame *f = vm->frame;
    if (!pel_is(module, PEL_L_MODULE) || !((pel_module_object *)module)->is_model) return NULL;
    if (!f || f->n_blocks || f->code->is_stub) return NULL;
    pel_val own = ((pel_module_object *)module)->name;
    pel_str of = pel_is_str(own) ? pel_text_of(own) : PEL_STR("module");
    pel_str path = pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(pel_text_of(name)));
    pel_str why = pel_format(vm->ctx, "pellucid's model of %.*s has no such name", PEL_FMT(of));
    pel_val symbol = pel_symbol_of(vm, path, why);
    if (!pel_is_symbol(symbol)) return symbol; /* what the user says that it is */
    ((pel_symbol *)symbol)->is_named = true;
    ((pel_symbol *)symbol)->is_missing = ((pel_symbol *)symbol)->is_unmodelled = true;
    return symbol;
}

/* In a circular import the submodule is in the table of modules before its package has the attribute. Only the absence
 * of the submodule itself is forgiven: if it is there and imports something missing, that is the error. */
pel_val pel_import_from(pel_vm *vm, pel_val module, pel_val name) {
    bool failed;
    pel_val found = pel_find_attr(vm, module, name, &failed);
    if (found || failed) return found;
    if (pel_is(module, PEL_L_MODULE) && module->attrs) {
        pel_val own = pel_dict_get_str(module->attrs, vm->names.s_name);
        if (own && pel_is_str(own)) {
            pel_str full = pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(pel_text_of(own)), PEL_FMT(pel_text_of(name)));
            pel_val submodule = pel_dict_get_str(vm->modules, pel_interned(vm, full));
            if (submodule) return submodule;
            if (pel_dict_get_str(module->attrs, vm->names.s_path)) {
                submodule = pel_import(vm, full);
                if (submodule) return submodule;
                if (!pel_raised_is(vm, vm->types.ModuleNotFoundError)) return NULL;
                pel_val missing = vm->raised->attrs ? pel_dict_get_c(vm, vm->raised->attrs, "name") : NULL;
                if (!missing || !pel_is_str(missing) || !pel_str_eq(pel_text_of(missing), full)) return NULL;
                pel_forget(vm);
            }
        }
    }
    pel_val symbol = not_in_model(vm, module, name);
    if (symbol) return symbol;
    pel_val own = pel_is_small(module) || !module->attrs ? NULL : pel_dict_get_str(module->attrs, vm->names.s_name);
    if (pel_is(module, PEL_L_MODULE) && ((pel_module_object *)module)->is_leaky) return pel_lost_name(vm, module, name);
    pel_raise(vm, vm->types.ImportError, "cannot import name '%s' from '%s'", pel_string_at(name)->text,
              own && pel_is_str(own) ? pel_string_at(own)->text : "?");
    pel_dict_set_c(vm, pel_attrs(vm, vm->raised), "name", own ? own : vm->none);
    return NULL;
}

pel_val pel_run_source(pel_vm *vm, pel_str name, pel_str path, pel_str text) {
    pel_val key = pel_interned(vm, name);
    pel_val module = pel_new_module(vm, key);
    pel_dict_set_str(vm, module->attrs, vm->names.s_file, pel_new_text(vm, path));
    pel_dict_set_str(vm, module->attrs, vm->names.s_builtins, &vm->builtins->head);
    pel_dict_set_str(vm, vm->modules, key, module);
    pel_codeobj *code = pel_compile_source(vm, path, text, false, false);
    if (!code || !pel_run_code(vm, code, module->attrs, NULL, NULL)) return NULL;
    return module;
}
