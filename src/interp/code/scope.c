/* Which variable a name means, as Python's symtable has it. */
#include "interp/code/scope.h"

#define MAX_DEPTH 2000

typedef struct walker {
    pel_ctx *ctx;
    pel_vm *vm;
    pel_scopes *scopes;
    pel_scope *scope;
    uint32_t depth;
} walker;

pel_name pel_mangle(pel_ctx *ctx, pel_name class_name, pel_name name) {
    if (!class_name || name->len < 3 || name->text[0] != '_' || name->text[1] != '_') return name;
    pel_str text = pel_name_str(name), of = pel_name_str(class_name);
    if (pel_str_ends(text, PEL_STR("__")) || memchr(text.ptr, '.', text.len)) return name;
    while (of.len && of.ptr[0] == '_') of = pel_str_from(of, 1);
    if (!of.len) return name;
    pel_str made = pel_format(ctx, "_%.*s%.*s", PEL_FMT(of), PEL_FMT(text));
    return pel_intern_str(ctx, made);
}

static void use(walker *w, pel_scope *scope, pel_name name, uint32_t how) {
    name = pel_mangle(w->ctx, scope->class_name, name);
    uint64_t at = pel_map_find(&scope->index, PEL_KEY(name), UINT64_MAX);
    if (at == UINT64_MAX) {
        at = scope->names.n;
        pel_push(w->ctx, &scope->names, (pel_scope_name){ name, 0 });
        pel_map_set(w->ctx, &scope->index, PEL_KEY(name), at);
    }
    scope->names.at[at].uses |= how;
}

uint32_t pel_scope_uses(const pel_scope *scope, pel_name name) {
    uint64_t at = pel_map_find(&scope->index, PEL_KEY(name), UINT64_MAX);
    return at == UINT64_MAX ? 0 : scope->names.at[at].uses;
}

static pel_scope *open_scope(walker *w, pel_scope_kind kind, const pel_node *node) {
    pel_scope *scope = pel_new(w->ctx, pel_scope);
    scope->kind = kind;
    scope->parent = w->scope;
    if (w->scope) {
        scope->class_name = w->scope->class_name;
        pel_push(w->ctx, &w->scope->children, scope);
    }
    pel_map_set(w->ctx, &w->scopes->of, PEL_KEY(node), PEL_KEY(scope));
    w->scope = scope;
    return scope;
}

static void walk(walker *w, pel_node *node);
static void walk_list(walker *w, pel_nodes list) {
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i]) walk(w, list.at[i]);
}

static void bind_params(walker *w, const pel_node *args) {
    const pel_nodes lists[] = { args->arguments.posonlyargs, args->arguments.args };
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l].n; i++)
            use(w, w->scope, lists[l].at[i]->arg.arg, PEL_USE_BOUND | PEL_USE_PARAM);
    for (uint32_t i = 0; i < args->arguments.kwonlyargs.n; i++)
        use(w, w->scope, args->arguments.kwonlyargs.at[i]->arg.arg, PEL_USE_BOUND | PEL_USE_PARAM);
    if (args->arguments.vararg) use(w, w->scope, args->arguments.vararg->arg.arg, PEL_USE_BOUND | PEL_USE_PARAM);
    if (args->arguments.kwarg) use(w, w->scope, args->arguments.kwarg->arg.arg, PEL_USE_BOUND | PEL_USE_PARAM);
}

static void walk_annotation(walker *w, const pel_node *arg) {
    if (arg && arg->arg.annotation) walk(w, arg->arg.annotation);
}

static void walk_annotations(walker *w, const pel_node *args, pel_node *returns) {
    pel_scope *outer = w->scope;
    open_scope(w, PEL_SCOPE_ANNOTATION, args);
    for (uint32_t i = 0; i < args->arguments.posonlyargs.n; i++) walk_annotation(w, args->arguments.posonlyargs.at[i]);
    for (uint32_t i = 0; i < args->arguments.args.n; i++) walk_annotation(w, args->arguments.args.at[i]);
    walk_annotation(w, args->arguments.vararg);
    for (uint32_t i = 0; i < args->arguments.kwonlyargs.n; i++) walk_annotation(w, args->arguments.kwonlyargs.at[i]);
    walk_annotation(w, args->arguments.kwarg);
    if (returns) walk(w, returns);
    w->scope = outer;
}

static void walk_type_params(walker *w, pel_nodes params) {
    for (uint32_t i = 0; i < params.n; i++) use(w, w->scope, params.at[i]->TypeVar.name, PEL_USE_BOUND);
}

static void walk_function(walker *w, pel_node *node) {
    /* AsyncFunctionDef has the same fields in the same places. */
    walk_list(w, node->FunctionDef.decorator_list);
    pel_node *args = node->FunctionDef.args;
    walk_list(w, args->arguments.defaults);
    walk_list(w, args->arguments.kw_defaults);
    use(w, w->scope, node->FunctionDef.name, PEL_USE_BOUND);
    walk_type_params(w, node->FunctionDef.type_params);
    walk_annotations(w, args, node->FunctionDef.returns);
    pel_scope *outer = w->scope;
    pel_scope *scope = open_scope(w, PEL_SCOPE_FUNCTION, node);
    scope->is_coroutine = node->kind == PEL_AsyncFunctionDef;
    bind_params(w, args);
    walk_list(w, node->FunctionDef.body);
    w->scope = outer;
}

static void walk_lambda(walker *w, pel_node *node) {
    pel_node *args = node->Lambda.args;
    walk_list(w, args->arguments.defaults);
    walk_list(w, args->arguments.kw_defaults);
    pel_scope *outer = w->scope;
    open_scope(w, PEL_SCOPE_FUNCTION, node);
    bind_params(w, args);
    walk(w, node->Lambda.body);
    w->scope = outer;
}

static void walk_class(walker *w, pel_node *node) {
    walk_list(w, node->ClassDef.decorator_list);
    walk_type_params(w, node->ClassDef.type_params);
    walk_list(w, node->ClassDef.bases);
    walk_list(w, node->ClassDef.keywords);
    use(w, w->scope, node->ClassDef.name, PEL_USE_BOUND);
    pel_scope *outer = w->scope;
    pel_scope *scope = open_scope(w, PEL_SCOPE_CLASS, node);
    scope->class_name = node->ClassDef.name;
    walk_list(w, node->ClassDef.body);
    w->scope = outer;
}

static void walk_comprehension(walker *w, pel_node *node, pel_node *elt, pel_node *value, pel_nodes generators) {
    /* The first iterable is evaluated outside. */
    walk(w, generators.at[0]->comprehension.iter);
    pel_scope *outer = w->scope;
    pel_scope *scope = open_scope(w, PEL_SCOPE_COMPREHENSION, node);
    use(w, scope, pel_intern_c(w->ctx, ".0"), PEL_USE_BOUND | PEL_USE_PARAM);
    if (node->kind == PEL_GeneratorExp) scope->is_generator = true;
    for (uint32_t i = 0; i < generators.n; i++) {
        walk(w, generators.at[i]->comprehension.target);
        if (i) walk(w, generators.at[i]->comprehension.iter);
        walk_list(w, generators.at[i]->comprehension.ifs);
        if (generators.at[i]->comprehension.is_async) scope->has_async = true;
    }
    walk(w, elt);
    if (value) walk(w, value);
    w->scope = outer;
}

/* The scope that := in a comprehension binds in. */
static pel_scope *walrus_scope(pel_scope *scope) {
    while (scope->kind == PEL_SCOPE_COMPREHENSION || scope->kind == PEL_SCOPE_ANNOTATION) scope = scope->parent;
    return scope;
}

static void walk_child(void *arg, pel_node **slot) { walk(arg, *slot); }

static void walk_names(walker *w, pel_name_list names, uint32_t how) {
    for (uint32_t i = 0; i < names.n; i++) use(w, w->scope, names.at[i], how);
}

/* The order in which names appear decides the numbers of the cells. Annotations of local variables are skipped: Python
 * never evaluates them. `super` reads __class__ although no text says so. */
static void walk(walker *w, pel_node *node) {
    if (++w->depth > MAX_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "line %u: code nests too deep", node->lineno);
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: walk_function(w, node); break;
    case PEL_Lambda: walk_lambda(w, node); break;
    case PEL_ClassDef: walk_class(w, node); break;
    case PEL_ListComp: walk_comprehension(w, node, node->ListComp.elt, NULL, node->ListComp.generators); break;
    case PEL_SetComp: walk_comprehension(w, node, node->SetComp.elt, NULL, node->SetComp.generators); break;
    case PEL_GeneratorExp:
        walk_comprehension(w, node, node->GeneratorExp.elt, NULL, node->GeneratorExp.generators);
        break;
    case PEL_DictComp:
        walk_comprehension(w, node, node->DictComp.key, node->DictComp.value, node->DictComp.generators);
        break;
    case PEL_Name:
        use(w, w->scope, node->Name.id, node->Name.ctx == PEL_Load ? PEL_USE_READ : PEL_USE_BOUND);
        if (node->Name.ctx == PEL_Load && pel_name_is(node->Name.id, "super") && w->scope->kind != PEL_SCOPE_MODULE)
            use(w, w->scope, pel_intern_c(w->ctx, "__class__"), PEL_USE_READ);
        break;
    case PEL_NamedExpr: {
        walk(w, node->NamedExpr.value);
        pel_scope *target = walrus_scope(w->scope);
        pel_name name = node->NamedExpr.target->Name.id;
        use(w, target, name, PEL_USE_BOUND);
        for (pel_scope *s = w->scope; s != target; s = s->parent) use(w, s, name, PEL_USE_READ | PEL_USE_NONLOCAL);
        break;
    }
    case PEL_AnnAssign:
        walk(w, node->AnnAssign.target);
        if (node->AnnAssign.value) walk(w, node->AnnAssign.value);
        if (w->scope->kind == PEL_SCOPE_MODULE || w->scope->kind == PEL_SCOPE_CLASS) {
            use(w, w->scope, pel_intern_c(w->ctx, "__annotations__"), PEL_USE_BOUND | PEL_USE_READ);
            walk(w, node->AnnAssign.annotation);
        }
        break;
    case PEL_Global: walk_names(w, node->Global.names, PEL_USE_GLOBAL); break;
    case PEL_Nonlocal: walk_names(w, node->Nonlocal.names, PEL_USE_NONLOCAL); break;
    case PEL_Import:
    case PEL_ImportFrom: {
        pel_nodes names = node->kind == PEL_Import ? node->Import.names : node->ImportFrom.names;
        for (uint32_t i = 0; i < names.n; i++) {
            const pel_node *alias = names.at[i];
            pel_str text = pel_name_str(alias->alias.name);
            if (alias->alias.asname) {
                use(w, w->scope, alias->alias.asname, PEL_USE_BOUND);
            } else if (!pel_str_is(text, "*")) {
                const char *dot = memchr(text.ptr, '.', text.len);
                size_t len = dot ? (size_t)(dot - text.ptr) : text.len;
                use(w, w->scope, pel_intern(w->ctx, text.ptr, len), PEL_USE_BOUND);
            }
        }
        break;
    }
    case PEL_ExceptHandler:
        if (node->ExceptHandler.name) use(w, w->scope, node->ExceptHandler.name, PEL_USE_BOUND);
        pel_each_child(node, walk_child, w);
        break;
    case PEL_MatchStar:
        if (node->MatchStar.name) use(w, w->scope, node->MatchStar.name, PEL_USE_BOUND);
        break;
    case PEL_MatchAs:
        if (node->MatchAs.name) use(w, w->scope, node->MatchAs.name, PEL_USE_BOUND);
        pel_each_child(node, walk_child, w);
        break;
    case PEL_MatchMapping:
        if (node->MatchMapping.rest) use(w, w->scope, node->MatchMapping.rest, PEL_USE_BOUND);
        pel_each_child(node, walk_child, w);
        break;
    case PEL_TypeAlias:
        walk(w, node->TypeAlias.name);
        walk_type_params(w, node->TypeAlias.type_params);
        walk(w, node->TypeAlias.value);
        break;
    case PEL_Yield:
    case PEL_YieldFrom:
        w->scope->is_generator = true;
        pel_each_child(node, walk_child, w);
        break;
    case PEL_Await:
        w->scope->has_async = true;
        pel_each_child(node, walk_child, w);
        break;
    default: pel_each_child(node, walk_child, w);
    }
    w->depth--;
}

static bool holds_locals(const pel_scope *scope) {
    return scope->kind != PEL_SCOPE_MODULE && scope->kind != PEL_SCOPE_CLASS;
}

/* Whether name is a variable of an enclosing function; makes it a cell there and free in between. */
static bool capture(walker *w, pel_scope *scope, pel_name name) {
    for (pel_scope *outer = scope->parent; outer; outer = outer->parent) {
        uint32_t uses = pel_scope_uses(outer, name);
        if (outer->kind == PEL_SCOPE_CLASS) {
            /* Only __class__ is seen through a class from inside. */
            if (!pel_name_is(name, "__class__") || scope == outer) continue;
            use(w, outer, name, PEL_USE_CELL);
        } else if (!holds_locals(outer)) {
            return false;
        } else if (uses & PEL_USE_GLOBAL) {
            return false;
        } else if (!(uses & PEL_USE_BOUND) || (uses & PEL_USE_NONLOCAL)) {
            continue;
        } else {
            use(w, outer, name, PEL_USE_CELL);
        }
        for (pel_scope *between = scope; between != outer; between = between->parent)
            use(w, between, name, PEL_USE_FREE);
        return true;
    }
    return false;
}

static void resolve(walker *w, pel_scope *scope) {
    if (++w->depth > MAX_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "scopes nest too deep");
    uint32_t n = scope->names.n; /* capturing adds names that are resolved already */
    for (uint32_t i = 0; i < n; i++) {
        pel_scope_name *row = &scope->names.at[i];
        if (row->uses & (PEL_USE_GLOBAL | PEL_USE_FREE)) continue;
        if ((row->uses & PEL_USE_BOUND) && !(row->uses & PEL_USE_NONLOCAL)) continue;
        capture(w, scope, row->name);
    }
    for (uint32_t i = 0; i < scope->children.n; i++) resolve(w, scope->children.at[i]);
    w->depth--;
}

void pel_find_scopes(pel_vm *vm, pel_node *root, pel_scopes *scopes) {
    walker w = { .ctx = vm->ctx, .vm = vm, .scopes = scopes };
    scopes->module = open_scope(&w, PEL_SCOPE_MODULE, root);
    walk(&w, root);
    resolve(&w, scopes->module);
}
