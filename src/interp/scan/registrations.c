/* Which sources of the roots register a class or a function under a name: `@MODELS.register_module()` over a class,
 * `MODELS.register(name="x", module=X)` alone. The texts are read, nothing is run. */
#include "interp/vm.h"
#include "python/parse.h"

#define MAX_FILES 20000
#define MAX_FOLDERS 30 /* inside of each other */

typedef struct search {
    pel_vm *vm;
    pel_val names, scopes, rows; /* lists */
    pel_str root;
    uint32_t n_files;
    bool is_cut;
} search;

static bool has_text(pel_val list, pel_str text) {
    for (uint32_t i = 0; i < pel_list_at(list)->n; i++) {
        pel_val item = pel_list_at(list)->at[i];
        if (pel_is_str(item) && pel_str_eq(pel_text_of(item), text)) return true;
    }
    return false;
}

/* ---- one source ---- */

typedef struct source_job {
    search *s;
    pel_ctx *scratch; /* for the syntax tree: of most files nothing is kept */
    pel_str path, text;
} source_job;

/* "a.b" of such an expression; empty: it is another. */
static pel_str dotted(pel_ctx *ctx, const pel_node *node) {
    if (node->kind == PEL_Name) return pel_name_str(node->Name.id);
    if (node->kind != PEL_Attribute) return (pel_str){ "", 0 };
    pel_str base = dotted(ctx, node->Attribute.value);
    return base.len ? pel_format(ctx, "%.*s.%.*s", PEL_FMT(base), PEL_FMT(pel_name_str(node->Attribute.attr))) : base;
}

static bool says_register(pel_str name) {
    static const char word[] = "register";
    for (size_t i = 0; i + sizeof word - 1 <= name.len; i++)
        if (memcmp(name.ptr + i, word, sizeof word - 1) == 0) return true;
    return false;
}

/* The function of a decorator or call that registers; *registry: whose method it is, or empty. */
static bool registers(pel_ctx *ctx, const pel_node *func, pel_str *registry) {
    *registry = (pel_str){ "", 0 };
    if (func->kind == PEL_Attribute && says_register(pel_name_str(func->Attribute.attr))) {
        *registry = dotted(ctx, func->Attribute.value);
        return registry->len != 0;
    }
    return func->kind == PEL_Name && says_register(pel_name_str(func->Name.id));
}

/* The dotted name that importing a file has: below its root, whether its folders are packages or not. */
static pel_str module_of(pel_vm *vm, pel_str path, pel_str root) {
    size_t from = pel_str_is(root, ".") && !pel_str_starts(path, PEL_STR("./")) ? 0 : root.len + 1;
    pel_str inside = pel_str_cut(path, from, path.len - 3);
    if (pel_str_ends(inside, PEL_STR("/__init__"))) inside.len -= 9;
    pel_buf out = pel_buf_in(vm->ctx);
    for (size_t i = 0; i < inside.len; i++) pel_put_byte(&out, inside.ptr[i] == '/' ? '.' : inside.ptr[i]);
    return pel_buf_str(&out);
}

static void put_row(source_job *job, pel_str defined, pel_str registry, pel_str name) {
    search *s = job->s;
    pel_vm *vm = s->vm;
    if (!has_text(s->names, name)) return;
    pel_val row[] = {
        pel_new_text(vm, job->path), pel_new_text(vm, s->root),  pel_new_text(vm, module_of(vm, job->path, s->root)),
        pel_new_text(vm, defined),   pel_new_text(vm, registry), pel_new_text(vm, name)
    };
    pel_list_push(vm, s->rows, pel_tuple_of(vm, row, PEL_COUNT(row)));
}

static bool is_text(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR;
}

/* The names that an expression gives: a text or a list of texts. */
static uint32_t put_names(source_job *job, const pel_node *node, pel_str defined, pel_str registry) {
    const pel_nodes *items = node->kind == PEL_List    ? &node->List.elts
                             : node->kind == PEL_Tuple ? &node->Tuple.elts
                                                       : NULL;
    uint32_t n = 0;
    if (is_text(node)) put_row(job, defined, registry, node->Constant.value->text), n = 1;
    for (uint32_t i = 0; items && i < items->n; i++) n += put_names(job, items->at[i], defined, registry);
    return n;
}

/* Names that a call gives, by `name=` or in its place. */
static uint32_t put_given(source_job *job, const pel_node *call, pel_str defined, pel_str registry) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < call->Call.args.n; i++) n += put_names(job, call->Call.args.at[i], defined, registry);
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i];
        if (pel_name_is(keyword->keyword.arg, "name") || pel_name_is(keyword->keyword.arg, "alias"))
            n += put_names(job, keyword->keyword.value, defined, registry);
    }
    return n;
}

/* `@MODELS.register_module()` and its like, over `class X` or `def x`. */
static void read_decorators(source_job *job, const pel_nodes *decorators, pel_str defined) {
    for (uint32_t i = 0; i < decorators->n; i++) {
        const pel_node *decorator = decorators->at[i];
        bool is_call = decorator->kind == PEL_Call;
        pel_str registry;
        if (!registers(job->s->vm->ctx, is_call ? decorator->Call.func : decorator, &registry)) continue;
        if (!is_call || !put_given(job, decorator, defined, registry)) put_row(job, defined, registry, defined);
    }
}

/* `MODELS.register_module(name="x", module=X)`, `MODELS.register_module("x")(X)`, `MODELS.register(X)` */
static void read_call(source_job *job, const pel_node *call) {
    pel_ctx *ctx = job->s->vm->ctx;
    const pel_node *inner = call->Call.func->kind == PEL_Call ? call->Call.func : call;
    pel_str registry, defined = { "", 0 };
    if (!registers(ctx, inner->Call.func, &registry)) return;
    for (uint32_t i = 0; i < call->Call.args.n && !defined.len; i++) defined = dotted(ctx, call->Call.args.at[i]);
    for (uint32_t i = 0; i < call->Call.keywords.n && !defined.len; i++)
        defined = dotted(ctx, call->Call.keywords.at[i]->keyword.value);
    if (!defined.len || put_given(job, inner, defined, registry)) return;
    const char *dot = defined.ptr + defined.len;
    while (dot > defined.ptr && dot[-1] != '.') dot--;
    put_row(job, defined, registry, pel_str_from(defined, (size_t)(dot - defined.ptr)));
}

static void read_source(pel_ctx *scratch, void *arg) {
    source_job *job = arg;
    pel_source source = pel_source_decode(scratch, job->path, job->text);
    const pel_node *root = pel_parse(scratch, &source, PEL_VERSION_MAX);
    for (uint32_t i = 0; i < root->Module.body.n; i++) {
        const pel_node *stmt = root->Module.body.at[i];
        if (stmt->kind == PEL_ClassDef)
            read_decorators(job, &stmt->ClassDef.decorator_list, pel_name_str(stmt->ClassDef.name));
        else if (stmt->kind == PEL_FunctionDef)
            read_decorators(job, &stmt->FunctionDef.decorator_list, pel_name_str(stmt->FunctionDef.name));
        else if (stmt->kind == PEL_Expr && stmt->Expr.value->kind == PEL_Call)
            read_call(job, stmt->Expr.value);
    }
}

/* ---- the roots ---- */

static bool mentions(pel_str text, pel_str word) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    while (word.len && (size_t)(end - at) >= word.len) {
        at = memchr(at, word.ptr[0], (size_t)(end - at) - word.len + 1);
        if (!at) return false;
        if (memcmp(at, word.ptr, word.len) == 0) return true;
        at++;
    }
    return false;
}

/* A source is parsed only if it registers something and has one of the names. One that can't be parsed could not be
 * imported either. */
static void search_file(search *s, pel_str path) {
    pel_str text;
    bool is_wanted = false;
    if (s->n_files++ >= MAX_FILES) s->is_cut = true;
    if (s->is_cut || !pel_read_inside(s->vm, path, &text)) return;
    pel_spend(s->vm, text.len / 64 + 1);
    if (!mentions(text, PEL_STR("register"))) return;
    for (uint32_t i = 0; i < pel_list_at(s->names)->n && !is_wanted; i++)
        is_wanted = mentions(text, pel_text_of(pel_list_at(s->names)->at[i]));
    if (!is_wanted) return;
    source_job job = { .s = s, .path = path, .text = text, .scratch = pel_ctx_new(s->vm->ctx->may_take) };
    pel_err ignored;
    if (job.scratch) pel_attempt(job.scratch, read_source, &job, &ignored);
    pel_ctx_free(job.scratch);
}

static void search_folder(search *s, pel_str folder, uint32_t depth, bool is_library) {
    pel_vm *vm = s->vm;
    pel_str names;
    if (depth > MAX_FOLDERS) s->is_cut = true;
    if (s->is_cut || !pel_list_inside(vm, folder, &names)) return;
    for (size_t at = 0, end; at < names.len; at = end + 1) {
        const char *line = memchr(names.ptr + at, '\n', names.len - at);
        end = line ? (size_t)(line - names.ptr) : names.len;
        pel_str name = pel_str_cut(names, at, end);
        pel_str path = pel_format(vm->ctx, "%.*s/%.*s", PEL_FMT(folder), PEL_FMT(name));
        if (is_library && !has_text(s->scopes, name)) continue;
        if (pel_str_ends(name, PEL_STR(".py")))
            search_file(s, path);
        else if (!memchr(name.ptr, '.', name.len) && pel_kind_inside(vm, path) == PEL_FOLDER)
            search_folder(s, path, depth + 1, false);
    }
}

/* Whether a root lies in another, whose search finds its files as well. */
static bool is_searched(const pel_vm *vm, uint32_t which) {
    pel_str root = vm->roots.at[which];
    for (uint32_t i = 0; i < vm->roots.n; i++) {
        pel_str other = vm->roots.at[i];
        if (i != which && other.len < root.len && pel_str_starts(root, other) && root.ptr[other.len] == '/')
            return true;
    }
    return false;
}

pel_val pel_registrations(pel_vm *vm, pel_val names, pel_val scopes) {
    search s = { .vm = vm, .names = names, .scopes = scopes, .rows = pel_list_of(vm, NULL, 0) };
    for (uint32_t i = 0; i < vm->roots.n; i++) {
        s.root = vm->roots.at[i];
        bool is_library =
            pel_str_ends(s.root, PEL_STR("/site-packages")) || pel_str_ends(s.root, PEL_STR("/dist-packages"));
        if (is_library || !is_searched(vm, i)) search_folder(&s, s.root, 0, is_library);
    }
    return pel_tuple2(vm, s.rows, pel_bool_of(vm, s.is_cut));
}
