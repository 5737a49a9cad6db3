/* What a statement that could not be run may have changed.
 *
 * recover.c leaves such a statement: what it would have assigned becomes a symbol. That is all that is lost if the
 * statement could do nothing else. A call might have: added a layer, set a global, filled a list. So a statement is
 * contained only if each name in its calls is of a kind that is known to be harmless; else the sums of the run's
 * networks are not exact. */
#include "interp/vm.h"

/* ---- what a name stands for ---- */

static pel_val value_named(pel_vm *vm, const pel_frame *f, pel_name id) {
    pel_val name = pel_interned(vm, pel_name_str(id));
    const pel_codeobj *code = f->code;
    for (uint32_t i = 0; i < code->n_locals; i++)
        if (code->locals[i] == name && f->slots[i]) return f->slots[i];
    for (uint32_t i = 0; i < code->n_cells + code->n_free; i++) {
        pel_val cell = f->slots[code->n_locals + i];
        if (code->cells[i] == name && cell) return ((pel_cell *)cell)->value;
    }
    pel_val found = f->names && !f->names_object ? pel_dict_get_str(f->names, name) : NULL;
    if (!found) found = pel_dict_get_str(f->globals, name);
    return found ? found : pel_dict_get_str(vm->builtins, name);
}

static bool is_ours(pel_vm *vm, const pel_codeobj *code) {
    return code && !code->is_stub && !pel_library_of(vm, code->file).len;
}

/* Calling it, or one of its methods, can't change what a network is made of. */
static bool is_harmless(pel_vm *vm, pel_val v) {
    if (!v || pel_is_small(v)) return true; /* a name that nothing has: whatever it was, a symbol stands for it */
    switch (v->type->layout) {
    case PEL_L_NONE:
    case PEL_L_BOOL:
    case PEL_L_INT:
    case PEL_L_FLOAT:
    case PEL_L_STR:
    case PEL_L_BYTES:
    case PEL_L_TUPLE:
    case PEL_L_SYMBOL:
    case PEL_L_NATIVE:
    case PEL_L_TYPE:
    case PEL_L_ALIAS:
    case PEL_L_MODULE: return true;
    case PEL_L_FUNCTION: return !is_ours(vm, ((pel_function *)v)->code);
    case PEL_L_OBJECT: /* a logger or a parser of a model of ours */
        return v->type->made_by && v->type->made_by->is_stub && !(vm->is_network && vm->is_network(vm, v));
    default: return false;
    }
}

/* ---- expressions ---- */

typedef struct looker {
    pel_vm *vm;
    const pel_frame *frame;
    bool has_call, has_harm, is_bad;
    uint32_t depth;
} looker;

static void look(void *arg, pel_node **slot);

static void look_into(looker *l, pel_node *node) {
    if (!node || l->is_bad) return;
    if (l->depth > 200) {
        l->is_bad = true;
        return;
    }
    l->has_call |= node->kind == PEL_Call;
    l->is_bad |= node->kind == PEL_Yield || node->kind == PEL_YieldFrom || node->kind == PEL_Await;
    if (node->kind == PEL_Name && !is_harmless(l->vm, value_named(l->vm, l->frame, node->Name.id))) l->has_harm = true;
    l->depth++;
    pel_each_child(node, look, l);
    l->depth--;
}

static void look(void *arg, pel_node **slot) { look_into(arg, *slot); }

/* Without a call nothing is changed; with one, everything it names must be harmless. */
static bool changes_nothing(pel_vm *vm, const pel_frame *f, pel_node *expression) {
    looker l = { .vm = vm, .frame = f };
    look_into(&l, expression);
    return !l.is_bad && !(l.has_call && l.has_harm);
}

static bool are_names(const pel_nodes *targets) {
    for (uint32_t i = 0; i < targets->n; i++) {
        const pel_node *target = targets->at[i];
        const pel_nodes *inner = target->kind == PEL_Tuple  ? &target->Tuple.elts
                                 : target->kind == PEL_List ? &target->List.elts
                                                            : NULL;
        if (inner ? !are_names(inner) : target->kind != PEL_Name) return false;
    }
    return true;
}

static bool is_builtin_call(const pel_node *call) {
    static const char *const names[] = { "int",   "float", "str",  "bool",  "len",    "min",  "max",  "abs",
                                         "round", "range", "list", "tuple", "dict",   "set",  "sum",  "sorted",
                                         "any",   "all",   "repr", "hash",  "divmod", "open", "bytes" };
    if (call->Call.func->kind != PEL_Name) return false;
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(pel_name_str(call->Call.func->Name.id), names[i])) return true;
    return false;
}

bool pel_may_give_module(const pel_node *expression) {
    switch ((int)expression->kind) {
    case PEL_Call: return !is_builtin_call(expression);
    case PEL_Subscript:
    case PEL_Attribute:
    case PEL_IfExp:
    case PEL_BoolOp:
    case PEL_NamedExpr:
    case PEL_Name:
    case PEL_Await: return true;
    default: return false; /* numbers, texts, containers: nn.Module registers none of them */
    }
}

/* ---- statements ---- */

bool pel_is_importing(pel_vm *vm, const pel_frame *f) {
    for (; f; f = f->back) {
        if (f->code->is_stub) continue;
        if (!pel_library_of(vm, f->code->file).len) return false;
        if (!f->function && !f->code->is_class) return true;
    }
    return false;
}

/* in_value: it failed before its value was there; what it would have been stored in gets a symbol. */
bool pel_is_contained(pel_vm *vm, const pel_frame *f, const pel_node *statement, bool in_value) {
    if (pel_is_importing(vm, f)) return true; /* names of a library become symbols */
    switch ((int)statement->kind) {
    case PEL_Import:
    case PEL_ImportFrom:
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef:
    case PEL_Raise: return true;
    case PEL_Assign:
        return (in_value || are_names(&statement->Assign.targets)) && changes_nothing(vm, f, statement->Assign.value);
    case PEL_AnnAssign:
        return (in_value || statement->AnnAssign.target->kind == PEL_Name) && statement->AnnAssign.value &&
               changes_nothing(vm, f, statement->AnnAssign.value);
    case PEL_AugAssign:
        return statement->AugAssign.target->kind == PEL_Name && changes_nothing(vm, f, statement->AugAssign.value);
    case PEL_Expr: return changes_nothing(vm, f, statement->Expr.value);
    case PEL_Return: return !statement->Return.value || changes_nothing(vm, f, statement->Return.value);
    case PEL_If: return changes_nothing(vm, f, statement->If.test);
    case PEL_For:
    case PEL_AsyncFor: return in_value && changes_nothing(vm, f, statement->For.iter);
    case PEL_With:
    case PEL_AsyncWith: return in_value && changes_nothing(vm, f, statement->With.items.at[0]->withitem.context_expr);
    case PEL_Assert: return changes_nothing(vm, f, statement->Assert.test);
    case PEL_Delete: return are_names(&statement->Delete.targets);
    default: return false;
    }
}
