/* Statements as the walk made them -> as somebody would have written them. Nothing here changes what the compiler
 * makes of them. */
#include "decompile/flat.h"

static bool is_none(const pel_node *e) {
    return e && e->kind == PEL_Constant && e->Constant.value->kind == PEL_CONST_NONE;
}

static bool is_return_none(const pel_node *stmt) {
    return stmt->kind == PEL_Return && (!stmt->Return.value || is_none(stmt->Return.value));
}

static bool stores_name(const pel_node *stmt, const char *name) {
    return stmt->kind == PEL_Assign && stmt->Assign.targets.n == 1 && stmt->Assign.targets.at[0]->kind == PEL_Name &&
           pel_name_is(stmt->Assign.targets.at[0]->Name.id, name);
}

static void remove_at(pel_nodes *list, uint32_t i) {
    memmove(&list->at[i], &list->at[i + 1], (list->n - i - 1) * sizeof *list->at);
    list->n--;
}

static void insert_at(pel_lift *l, pel_nodes *list, uint32_t i, pel_node *node) {
    pel_nodes_push(l->ctx, list, node);
    memmove(&list->at[i + 1], &list->at[i], (list->n - i - 1) * sizeof *list->at);
    list->at[i] = node;
}

/* `return None` is written `return` in a function that returns nothing else. */
typedef struct returns {
    bool gives_values, make_bare;
} returns;

static void look_at_returns(void *arg, pel_node **slot) {
    returns *r = arg;
    pel_node *node = *slot;
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef: return;
    case PEL_Return:
        if (!node->Return.value) return;
        if (!is_none(node->Return.value))
            r->gives_values = true;
        else if (r->make_bare)
            node->Return.value = NULL;
        return;
    default: break;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || pel_kinds[node->kind].class == PEL_EXCEPTHANDLER ||
        pel_kinds[node->kind].class == PEL_MATCH_CASE)
        pel_each_child(node, look_at_returns, arg);
}

static void bare_returns(pel_nodes *body) {
    returns r = { 0 };
    for (uint32_t i = 0; i < body->n; i++) look_at_returns(&r, &body->at[i]);
    r.make_bare = !r.gives_values;
    for (uint32_t i = 0; i < body->n && r.make_bare; i++) look_at_returns(&r, &body->at[i]);
}

/* Paths that come to the end of the function need no `return`. */
static void drop_ends(pel_lift *l, pel_nodes *body, bool needed);

/* Outside of functions nobody can write `return`: where a path ends early, the rest is an else. */
static void rest_to_else(pel_lift *l, pel_nodes *body) {
    for (uint32_t i = 0; i + 1 < body->n; i++) {
        pel_node *stmt = body->at[i];
        pel_nodes *into = NULL;
        if (stmt->kind == PEL_If && !stmt->If.orelse.n && is_return_none(stmt->If.body.at[stmt->If.body.n - 1]))
            into = &stmt->If.orelse;
        if (stmt->kind == PEL_Try && !stmt->Try.orelse.n && !stmt->Try.finalbody.n && stmt->Try.handlers.n) {
            pel_nodes handler = stmt->Try.handlers.at[0]->ExceptHandler.body;
            if (is_return_none(handler.at[handler.n - 1])) into = &stmt->Try.orelse;
        }
        if (!into) continue;
        *into = pel_nodes_of(l->ctx, body->at + i + 1, body->n - i - 1);
        body->n = i + 1;
        return;
    }
}

/* In a function only a return with parens 2 is the compiler's own; modules and classes can't have any other. needed:
 * the block must not become empty, so `pass` takes the place of its last statement. */
static void drop_ends(pel_lift *l, pel_nodes *body, bool needed) {
    bool is_function = l->code->flags & PEL_CO_NEWLOCALS;
    if (!is_function) rest_to_else(l, body);
    if (!body->n) return;
    pel_node *last = body->at[body->n - 1];
    switch (last->kind) {
    case PEL_Return:
        if (is_return_none(last) && (last->parens == 2 || !is_function)) body->n--;
        break;
    case PEL_If:
        drop_ends(l, &last->If.body, true);
        drop_ends(l, &last->If.orelse, false);
        break;
    case PEL_With:
    case PEL_AsyncWith: drop_ends(l, &last->With.body, true); break;
    case PEL_Try:
        drop_ends(l, &last->Try.orelse, false);
        if (!is_function) drop_ends(l, &last->Try.finalbody, last->Try.finalbody.n > 0);
        if (!last->Try.orelse.n) drop_ends(l, &last->Try.body, true);
        for (uint32_t i = 0; i < last->Try.handlers.n; i++)
            drop_ends(l, &last->Try.handlers.at[i]->ExceptHandler.body, true);
        break;
    default: break;
    }
    if (needed && !body->n) pel_nodes_push(l->ctx, body, pel_node_new(l->ctx, PEL_Pass));
}

/* The lists of statements that a statement holds; NULL after the last. */
static void bodies_of(pel_node *node, pel_nodes *out[4]) {
    out[0] = out[1] = out[2] = out[3] = NULL;
    switch (node->kind) {
    case PEL_For:
    case PEL_AsyncFor: out[0] = &node->For.body, out[1] = &node->For.orelse; break;
    case PEL_While: out[0] = &node->While.body, out[1] = &node->While.orelse; break;
    case PEL_If: out[0] = &node->If.body, out[1] = &node->If.orelse; break;
    case PEL_With:
    case PEL_AsyncWith: out[0] = &node->With.body; break;
    case PEL_Try:
    case PEL_TryStar: out[0] = &node->Try.body, out[1] = &node->Try.orelse, out[2] = &node->Try.finalbody; break;
    case PEL_ExceptHandler: out[0] = &node->ExceptHandler.body; break;
    case PEL_match_case: out[0] = &node->match_case.body; break;
    default: break;
    }
}

/* Behind a statement that leaves nothing runs: an end that the compiler put there is no statement. */
static void drop_unreached(void *arg, pel_node **slot) {
    pel_node *node = *slot;
    pel_nodes *lists[4];
    bodies_of(node, lists);
    for (int k = 0; k < 3 && lists[k]; k++)
        for (uint32_t i = 0; i + 1 < lists[k]->n; i++) {
            pel_kind kind = lists[k]->at[i]->kind;
            if ((kind == PEL_Continue || kind == PEL_Break || kind == PEL_Raise) && is_return_none(lists[k]->at[i + 1]))
                lists[k]->n = i + 1;
        }
    pel_class class = pel_kinds[node->kind].class;
    bool is_def = node->kind == PEL_FunctionDef || node->kind == PEL_AsyncFunctionDef || node->kind == PEL_ClassDef;
    if (!is_def && (class == PEL_STMT || class == PEL_EXCEPTHANDLER || class == PEL_MATCH_CASE))
        pel_each_child(node, drop_unreached, arg);
}

static void find_return(void *arg, pel_node **slot) {
    bool *found = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_AsyncFunctionDef || node->kind == PEL_ClassDef) return;
    *found = *found || node->kind == PEL_Return;
    pel_class class = pel_kinds[node->kind].class;
    if (class == PEL_STMT || class == PEL_EXCEPTHANDLER || class == PEL_MATCH_CASE)
        pel_each_child(node, find_return, arg);
}

/* A `return` that is left outside of a function is not Python. */
static void refuse_returns(pel_lift *l, pel_nodes *body) {
    bool found = false;
    for (uint32_t i = 0; i < body->n; i++) find_return(&found, &body->at[i]);
    if (found) pel_lift_fail(l, 0, "a path that ends early, outside of a function");
}

/* What the compiler adds at both ends of a class body. */
static void class_ends(pel_nodes *body) {
    static const char *const first[] = { "__module__", "__qualname__", "__firstlineno__", "__type_params__" };
    for (uint32_t k = 0; k < PEL_COUNT(first); k++)
        if (body->n && stores_name(body->at[0], first[k])) remove_at(body, 0);
    while (body->n) {
        const pel_node *last = body->at[body->n - 1];
        bool ours = is_return_none(last) || last->kind == PEL_Return || stores_name(last, "__static_attributes__") ||
                    stores_name(last, "__classcell__") || stores_name(last, "__classdictcell__");
        if (!ours) break;
        body->n--;
    }
}

typedef struct nested {
    pel_lift *l;
    bool found;
} nested;

/* x = value; __annotations__["x"] = type  ->  x: type = value */
static void annotations_of(pel_lift *l, pel_nodes *body) {
    if (l->notes) pel_place_numbered(l, body);
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *stmt = body->at[i];
        if (stmt->kind != PEL_Assign || stmt->Assign.targets.n != 1 ||
            stmt->Assign.targets.at[0]->kind != PEL_Subscript)
            continue;
        pel_node *target = stmt->Assign.targets.at[0];
        if (target->Subscript.value->kind != PEL_Name ||
            !pel_name_is(target->Subscript.value->Name.id, "__annotations__"))
            continue;
        pel_node *key = target->Subscript.slice;
        if (key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) continue;
        pel_name name = pel_unmangle(l, pel_intern_str(l->ctx, key->Constant.value->text));
        pel_node *made = pel_node_new(l->ctx, PEL_AnnAssign);
        made->mark = stmt->mark;
        made->AnnAssign.target = pel_make_name(l->ctx, name, PEL_Store);
        made->AnnAssign.annotation = stmt->Assign.value;
        made->AnnAssign.simple = 1;
        pel_node *before = i ? body->at[i - 1] : NULL;
        if (before && before->kind == PEL_Assign && before->Assign.targets.n == 1 &&
            before->Assign.targets.at[0]->kind == PEL_Name && before->Assign.targets.at[0]->Name.id == name) {
            made->AnnAssign.value = before->Assign.value;
            made->mark = before->mark;
            body->at[i - 1] = made;
            remove_at(body, i--);
        } else
            body->at[i] = made;
    }
}

static void annotate_nested(void *arg, pel_node **slot) {
    nested *n = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_AsyncFunctionDef || node->kind == PEL_ClassDef) return;
    pel_nodes *lists[4];
    bodies_of(node, lists);
    for (int i = 0; i < 3 && lists[i]; i++) annotations_of(n->l, lists[i]);
    if (node->kind == PEL_AnnAssign) n->found = true;
    pel_class class = pel_kinds[node->kind].class;
    if (class == PEL_STMT || class == PEL_EXCEPTHANDLER || class == PEL_MATCH_CASE)
        pel_each_child(node, annotate_nested, arg);
}

/* In a module or class with annotations the compiler makes room for them first: without that, somebody stored in the
 * dict by hand. Where nothing that is left has an annotation, one stood where the compiler saw that nothing leads. */
static void annotations(pel_lift *l, pel_nodes *body) {
    bool sets_up = false;
    for (uint32_t i = 0; i < l->c->n && !sets_up; i++) sets_up = l->c->at[i].op == PEL_I_SETUP_ANNOTATIONS;
    if (!sets_up && !l->notes) return;
    annotations_of(l, body);
    nested n = { .l = l };
    for (uint32_t i = 0; i < body->n; i++) annotate_nested(&n, &body->at[i]);
    if (l->notes) pel_place_notes(l, body);
    if (n.found || !sets_up) return;
    pel_node *made = pel_node_new(l->ctx, PEL_AnnAssign), *never = pel_node_new(l->ctx, PEL_If);
    made->AnnAssign.target = pel_make_name(l->ctx, pel_intern_c(l->ctx, "_"), PEL_Store);
    made->AnnAssign.annotation = pel_make_none(l->ctx);
    made->AnnAssign.simple = 1;
    never->If.test = pel_make_constant(l->ctx, &pel_false);
    never->If.body = pel_nodes_one(l->ctx, made);
    pel_nodes_push(l->ctx, body, never);
}

/* Whether a compiler that takes indentation away from docstrings would leave this text as it is. */
static bool is_clean(pel_str text) {
    if (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) return false;
    bool any = false, indented = true;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\t') return false; /* becomes spaces */
        if (text.ptr[i] != '\n') continue;
        size_t first = i + 1;
        while (first < text.len && text.ptr[first] == ' ') first++;
        bool is_blank = first >= text.len || text.ptr[first] == '\n';
        if (is_blank) continue;
        any = true;
        indented = indented && first > i + 1;
    }
    return !any || !indented;
}

static void docstring(pel_lift *l, pel_nodes *body) {
    if (l->code->flags & PEL_CO_NEWLOCALS) {
        bool is_def = !pel_str_starts(pel_name_str(l->code->name), PEL_STR("<")); /* and no lambda */
        if (is_def && l->c->has_docstring)
            insert_at(l, body, 0, pel_make_expr(l->ctx, pel_make_constant(l->ctx, l->code->consts[0])));
        return;
    }
    if (body->n && stores_name(body->at[0], "__doc__") && body->at[0]->Assign.value->kind == PEL_Constant &&
        body->at[0]->Assign.value->Constant.value->kind == PEL_CONST_STR &&
        (!l->c->cleans_docs || is_clean(body->at[0]->Assign.value->Constant.value->text)))
        body->at[0] = pel_make_expr(l->ctx, body->at[0]->Assign.value);
}

/* Python has no `nonlocal` for type parameters. */
static bool is_type_parameter(const pel_lift *l, pel_name name) {
    for (const pel_lift *around = l->outer; around; around = around->outer)
        for (uint32_t i = 0; i < around->code->cellvars.n; i++)
            if (around->code->cellvars.at[i] == name) return pel_is_generic(around->code);
    return false;
}

static bool is_future_import(const pel_node *node) {
    return node->kind == PEL_ImportFrom && node->ImportFrom.module &&
           pel_name_is(node->ImportFrom.module, "__future__");
}

static void declarations(pel_lift *l, pel_nodes *body) {
    uint32_t at = body->n && body->at[0]->kind == PEL_Expr && body->at[0]->Expr.value->kind == PEL_Constant &&
                  body->at[0]->Expr.value->Constant.value->kind == PEL_CONST_STR;
    while (at < body->n && is_future_import(body->at[at])) at++; /* nothing may be before them */
    bool is_module = !(l->code->flags & PEL_CO_NEWLOCALS) && pel_name_is(l->code->name, "<module>");
    for (uint32_t i = 0; i < l->declared.n; i++) {
        pel_name name = l->declared.at[i];
        bool is_free = false;
        for (uint32_t k = 0; k < l->code->freevars.n; k++) is_free |= l->code->freevars.at[k] == name;
        if (is_module && is_free) continue;
        if (is_free && is_type_parameter(l, name))
            pel_lift_fail(l, 0, "a type parameter that only nonlocal could name");
        pel_node *node = pel_node_new(l->ctx, is_free ? PEL_Nonlocal : PEL_Global);
        pel_name *one = pel_alloc(l->ctx, sizeof *one);
        *one = pel_unmangle(l, name);
        node->Global.names = (pel_name_list){ one, 1 };
        insert_at(l, body, at++, node);
    }
}

/* Names from around that nothing here uses are there because somebody wrote `nonlocal`, or used them in code that the
 * compiler removed. A call of super() may take `__class__` without an instruction that says so. */
static void unused_names(pel_lift *l) {
    for (uint32_t k = 0; k < l->code->freevars.n; k++) {
        pel_name name = l->code->freevars.at[k];
        bool is_class = pel_name_is(name, "__class__");
        bool used = pel_name_is(name, "__classdict__") || name->text[0] == '.';
        for (uint32_t i = 0; i < l->c->n && !used; i++) {
            uint8_t op = l->c->at[i].op;
            used = (op == PEL_I_LOAD || op == PEL_I_STORE || op == PEL_I_DELETE || op == PEL_I_CELL) &&
                   (l->c->at[i].name == name || (is_class && pel_name_is(l->c->at[i].name, "super")));
            used |= op == PEL_I_SUPER && is_class;
        }
        if (!used) pel_push(l->ctx, &l->declared, name);
    }
}

static bool has_yield(const pel_node *node);
static void look_for_yield(void *arg, pel_node **slot) {
    bool *found = arg;
    *found = *found || has_yield(*slot);
}
static bool has_yield(const pel_node *node) {
    switch (node->kind) {
    case PEL_Yield:
    case PEL_YieldFrom: return true;
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef:
    case PEL_Lambda: return false;
    default: break;
    }
    bool found = false;
    pel_each_child((pel_node *)(uintptr_t)node, look_for_yield, &found);
    return found;
}

/* A generator needs a yield even if none can be reached. */
static void keep_generator(pel_lift *l, pel_nodes *body) {
    if (!(l->code->flags & (PEL_CO_GENERATOR | PEL_CO_ASYNC_GENERATOR)) || l->is_comp) return;
    for (uint32_t i = 0; i < body->n; i++)
        if (has_yield(body->at[i])) return;
    pel_node *yield = pel_make_expr(l->ctx, pel_node_new(l->ctx, PEL_Yield));
    pel_node *last = body->n ? body->at[body->n - 1] : NULL;
    if (last && (last->kind == PEL_Raise || last->kind == PEL_Return)) {
        pel_nodes_push(l->ctx, body, yield);
        return;
    }
    pel_node *never = pel_node_new(l->ctx, PEL_If);
    never->If.test = pel_make_constant(l->ctx, &pel_false);
    never->If.body = pel_nodes_one(l->ctx, yield);
    pel_nodes_push(l->ctx, body, never);
}

static bool has_name(pel_name_list list, pel_name name) {
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i] == name) return true;
    return false;
}

typedef struct name_search {
    pel_name name;
    bool is_bound;
} name_search;

/* Does some statement give the name a value, or take it away? Other scopes have names of their own. */
static void look_for_binding(void *arg, pel_node **slot) {
    name_search *search = arg;
    const pel_node *node = *slot;
    pel_name bound = NULL;
    bool is_scope = false;
    switch (node->kind) {
    case PEL_Name: bound = node->Name.ctx == PEL_Load ? NULL : node->Name.id; break;
    case PEL_alias: bound = node->alias.asname ? node->alias.asname : node->alias.name; break;
    case PEL_ExceptHandler: bound = node->ExceptHandler.name; break;
    case PEL_MatchAs: bound = node->MatchAs.name; break;
    case PEL_MatchStar: bound = node->MatchStar.name; break;
    case PEL_MatchMapping: bound = node->MatchMapping.rest; break;
    case PEL_FunctionDef: bound = node->FunctionDef.name, is_scope = true; break;
    case PEL_AsyncFunctionDef: bound = node->AsyncFunctionDef.name, is_scope = true; break;
    case PEL_ClassDef: bound = node->ClassDef.name, is_scope = true; break;
    case PEL_Lambda: is_scope = true; break;
    default: break;
    }
    search->is_bound |= bound == search->name;
    if (!is_scope && !search->is_bound) pel_each_child(*slot, look_for_binding, arg);
}

static bool is_bound_in(const pel_nodes *body, pel_name name) {
    name_search search = { .name = name };
    for (uint32_t i = 0; i < body->n && !search.is_bound; i++) look_for_binding(&search, &body->at[i]);
    return search.is_bound;
}

/* Whether a variable of a function is used, and no statement gives it a value. States of a loop leave out what nothing
 * reaches: there the text is asked, not the instructions. */
static bool is_never_bound(pel_lift *l, const pel_nodes *body, pel_name name) {
    bool is_used = false, is_written = l->is_states && is_bound_in(body, pel_unmangle(l, name));
    for (uint32_t i = 0; i < l->c->n; i++) {
        const pel_ins *ins = &l->c->at[i];
        bool is_variable = ins->op == PEL_I_CELL || ins->sub == PEL_FAST || ins->sub == PEL_DEREF;
        bool names = ins->op == PEL_I_CELL || ins->op == PEL_I_LOAD || ins->op == PEL_I_STORE ||
                     ins->op == PEL_I_DELETE || ins->op == PEL_I_LOAD_CLEAR;
        if (!names || !is_variable || ins->name != name || ins->dead) continue;
        if (ins->op != PEL_I_CELL && ins->op != PEL_I_LOAD && !l->is_states) return false;
        is_used |= ins->op == PEL_I_CELL || ins->op == PEL_I_LOAD || ins->op == PEL_I_LOAD_CLEAR;
    }
    return is_used && !is_written;
}

/* A variable that only code which nothing reaches gave a value: without a statement that does, it would be a global. */
static void keep_variables(pel_lift *l, pel_nodes *body) {
    const pel_code_object *code = l->code;
    if (!(code->flags & PEL_CO_OPTIMIZED)) return;
    uint32_t n_args =
        code->argcount + code->kwonlyargcount + !!(code->flags & PEL_CO_VARARGS) + !!(code->flags & PEL_CO_VARKEYWORDS);
    pel_name_list args = { .at = code->varnames.at, .n = n_args < code->varnames.n ? n_args : code->varnames.n };
    pel_nodes stores = { 0 };
    for (uint32_t i = args.n; i < code->varnames.n + code->cellvars.n; i++) {
        bool is_cell = i >= code->varnames.n;
        pel_name name = is_cell ? code->cellvars.at[i - code->varnames.n] : code->varnames.at[i];
        bool was_seen = has_name(args, name) || (is_cell && has_name(code->varnames, name));
        if (was_seen || !pel_is_identifier(pel_name_str(name)) || !is_never_bound(l, body, name)) continue;
        pel_node *target = pel_make_name(l->ctx, pel_unmangle(l, name), PEL_Store);
        pel_nodes_push(l->ctx, &stores, pel_make_assign(l->ctx, target, pel_make_none(l->ctx)));
    }
    if (!stores.n) return;
    pel_node *never = pel_node_new(l->ctx, PEL_If);
    never->If.test = pel_make_constant(l->ctx, &pel_false);
    never->If.body = stores;
    pel_nodes old = *body;
    uint32_t from = old.n && old.at[0]->kind == PEL_Expr && old.at[0]->Expr.value->kind == PEL_Constant;
    *body = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < from; i++) pel_nodes_push(l->ctx, body, old.at[i]);
    pel_nodes_push(l->ctx, body, never);
    for (uint32_t i = from; i < old.n; i++) pel_nodes_push(l->ctx, body, old.at[i]);
}

/* Each of these takes the tree as the one before left it. */
void pel_decompile_tidy(pel_lift *l, pel_nodes *body) {
    bool is_lambda = pel_name_is(l->code->name, "<lambda>") && !pel_is_juggled(l->c);
    bool is_class = !(l->code->flags & PEL_CO_OPTIMIZED) && !pel_name_is(l->code->name, "<module>");
    if (is_lambda || l->is_comp || l->is_lazy) {
        pel_reread_templates(l, body);
        return;
    }
    if (is_class)
        class_ends(body);
    else if (body->n && is_return_none(body->at[body->n - 1]) && body->at[body->n - 1]->parens != 1)
        body->n--;
    if (!(l->code->flags & PEL_CO_NEWLOCALS) || is_class)
        for (uint32_t i = 0; i < body->n; i++) drop_unreached(NULL, &body->at[i]);
    drop_ends(l, body, false);
    if (!(l->code->flags & PEL_CO_OPTIMIZED)) refuse_returns(l, body);
    if (!is_class && !l->is_states && pel_name_is(l->code->name, "<module>")) pel_put_in_place(l, body);
    annotations(l, body);
    bare_returns(body);
    docstring(l, body);
    unused_names(l);
    declarations(l, body);
    keep_generator(l, body);
    keep_variables(l, body);
    pel_reread_templates(l, body);
    if (!body->n) pel_nodes_push(l->ctx, body, pel_node_new(l->ctx, PEL_Pass));
}
