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
        bool is_made = pel_str_is(f->code->file, "<string>") && !(f->code->source && f->code->source->is_target);
        if (f->code->is_stub || is_made) continue; /* made: by exec() */
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

/* ---- libraries ---- */

pel_module_kind pel_kind_of_class(pel_vm *vm, const pel_type *type) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        pel_type *base = pel_as_type(mro->at[i]);
        if (base->is_native || !base->head.attrs) continue;
        pel_val module = pel_dict_get_str(base->head.attrs, vm->names.s_module);
        if (!module || !pel_is_str(module)) continue;
        if (pel_text_is(base->name, "Module") && pel_text_is(module, "torch.nn.modules.module"))
            return PEL_TORCH_MODULE;
        if (pel_text_is(base->name, "Layer") && pel_str_starts(pel_text_of(module), PEL_STR("keras")))
            return PEL_KERAS_LAYER;
    }
    return PEL_NO_MODULE;
}

static bool is_data(pel_val v) {
    if (pel_is_small(v)) return true;
    switch (v->type->layout) {
    case PEL_L_TYPE:
    case PEL_L_FUNCTION:
    case PEL_L_NATIVE:
    case PEL_L_MODULE:
    case PEL_L_SYMBOL:
    case PEL_L_NONE: return false;
    default: return true;
    }
}

static bool is_part_of(pel_val name, pel_str library) {
    pel_str text = pel_text_of(name);
    return pel_str_starts(text, library) && (text.len == library.len || text.ptr[library.len] == '.');
}

static bool has_layers(pel_vm *vm, const pel_dict *names) {
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(names, &at));)
        if (pel_is_type(entry->value) && pel_kind_of_class(vm, pel_as_type(entry->value))) return true;
    return false;
}

static void forget_data(pel_vm *vm, pel_val name, pel_dict *names) {
    uint32_t at = 0;
    pel_str library = pel_text_of(name);
    pel_str why = pel_format(vm->ctx, "some lines of %.*s can't be run", PEL_FMT(library));
    for (pel_entry *entry; (entry = pel_dict_next(names, &at));) {
        if (!pel_is_str(entry->key) || pel_str_starts(pel_text_of(entry->key), PEL_STR("__"))) continue;
        if (!is_data(entry->value)) continue;
        pel_str text = pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(library), PEL_FMT(pel_text_of(entry->key)));
        pel_val symbol = pel_symbol_of(vm, text, why);
        if (pel_is_symbol(symbol)) ((pel_symbol *)symbol)->is_missing = true;
        entry->value = symbol;
    }
}

/* What a statement would have changed that was left while a library was imported is data of the library: all its data
 * become symbols, so that no network can be made of stale ones. A library with layers would be of no use then: its row
 * says that something is unknown. */
static void contain(pel_vm *vm, pel_note *note) {
    pel_str library = note->what;
    if (pel_str_ends(library, PEL_STR(".py"))) library = pel_str_cut(library, 0, library.len - 3);
    uint32_t at = 0;
    for (pel_entry *entry; note->library.len && (entry = pel_dict_next(vm->modules, &at));) {
        bool is_module = pel_is_str(entry->key) && pel_is(entry->value, PEL_L_MODULE) && entry->value->attrs;
        if (is_module && is_part_of(entry->key, library) && has_layers(vm, entry->value->attrs))
            note->library = PEL_STR("");
    }
    at = 0;
    for (pel_entry *entry; note->library.len && (entry = pel_dict_next(vm->modules, &at));)
        if (pel_is_str(entry->key) && pel_is(entry->value, PEL_L_MODULE) && entry->value->attrs &&
            !((pel_module_object *)entry->value)->is_model && is_part_of(entry->key, library))
            forget_data(vm, entry->key, entry->value->attrs);
}

void pel_contain_library(pel_vm *vm, pel_str file) {
    pel_str library = pel_library_of(vm, file);
    for (uint32_t i = 0; i < vm->unknown.n && library.len; i++) {
        pel_note *note = &vm->unknown.at[i];
        if (note->may_change && pel_str_eq(note->library, library)) contain(vm, note);
    }
}
