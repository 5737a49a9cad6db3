/* Making classes: bases, metaclass, namespace, MRO. */
#include "interp/vm.h"

/* ---- MRO ---- */

/* C3: the first head that is in no other tail. False: the bases can't be ordered. */
static bool linearise(pel_vm *vm, pel_type *type, pel_val bases) {
    uint32_t n = pel_tuple_at(bases)->n;
    uint32_t n_lists = n + 1, total = 1;
    pel_tuple **lists = pel_new_array(vm->ctx, n_lists, pel_tuple *);
    uint32_t *heads = pel_new_array(vm->ctx, n_lists, uint32_t);
    for (uint32_t i = 0; i < n; i++) {
        lists[i] = pel_tuple_at(pel_as_type(pel_tuple_at(bases)->at[i])->mro);
        total += lists[i]->n;
    }
    lists[n] = pel_tuple_at(bases);
    pel_spend(vm, (uint64_t)total * total / 4);
    pel_val *order = pel_new_array(vm->ctx, total + 1, pel_val);
    uint32_t found = 0;
    order[found++] = &type->head;
    for (;;) {
        pel_val next = NULL;
        bool left = false;
        for (uint32_t i = 0; i < n_lists && !next; i++) {
            if (heads[i] >= lists[i]->n) continue;
            left = true;
            pel_val candidate = lists[i]->at[heads[i]];
            bool blocked = false;
            for (uint32_t k = 0; k < n_lists && !blocked; k++)
                for (uint32_t t = heads[k] + 1; t < lists[k]->n && !blocked; t++)
                    blocked = lists[k]->at[t] == candidate;
            if (!blocked) next = candidate;
        }
        if (!left) break;
        if (!next) return false;
        order[found++] = next;
        for (uint32_t i = 0; i < n_lists; i++)
            if (heads[i] < lists[i]->n && lists[i]->at[heads[i]] == next) heads[i]++;
    }
    type->mro = pel_tuple_of(vm, order, found);
    return true;
}

pel_type *pel_new_native_type(pel_vm *vm, const char *name, pel_vm_layout layout, pel_type *base) {
    pel_type *type = pel_make_object(vm, vm->types.type, sizeof *type);
    type->layout = layout;
    type->is_native = true;
    type->base = base;
    if (vm->types.str) type->name = type->qualname = pel_interned_c(vm, name);
    if (vm->types.tuple) {
        pel_val one[] = { base ? &base->head : NULL };
        type->bases = pel_tuple_of(vm, one, base ? 1 : 0);
        linearise(vm, type, type->bases);
    }
    if (base) {
        type->has_getattr = base->has_getattr;
        type->has_setattr = base->has_setattr;
    }
    return type;
}

/* ---- type.__new__ ---- */

static pel_type *layout_base(pel_vm *vm, pel_val bases) {
    pel_type *best = vm->types.object;
    for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++) {
        pel_type *base = pel_as_type(pel_tuple_at(bases)->at[i]);
        if (best->layout == PEL_L_OBJECT && base->layout != PEL_L_OBJECT) best = base;
    }
    return best;
}

static void wrap_implicit(pel_vm *vm, pel_dict *attrs, pel_val name, pel_type *wrapper) {
    pel_val found = pel_dict_get_str(attrs, name);
    if (!found || !pel_is(found, PEL_L_FUNCTION)) return;
    pel_wrapper *made = pel_make_object(vm, wrapper, sizeof *made);
    made->func = found;
    pel_dict_set_str(vm, attrs, name, &made->head);
}

static bool set_names(pel_vm *vm, pel_type *type) {
    pel_dict *attrs = type->head.attrs;
    uint32_t n = attrs->n;
    for (uint32_t i = 0; i < n && i < attrs->n; i++) {
        pel_entry entry = attrs->entries[i];
        if (!entry.key || pel_is_small(entry.value) || entry.value->type->is_native) continue;
        pel_val found = pel_lookup(vm, entry.value->type, vm->names.s_set_name);
        if (!found) continue;
        if (!pel_call_special(vm, entry.value, vm->names.s_set_name, (pel_val[]){ &type->head, entry.key }, 2))
            return false;
    }
    return true;
}

static bool init_subclass(pel_vm *vm, pel_type *type, const pel_kw *kw) {
    pel_super super = { .type = type, .self = &type->head, .self_type = type };
    super.head.type = vm->types.super;
    pel_val hook = pel_super_getattr(vm, &super, vm->names.s_init_subclass);
    if (!hook) return false;
    return pel_call(vm, hook, NULL, 0, kw) != NULL;
}

static pel_val take(pel_vm *vm, pel_dict *dict, pel_val key) {
    pel_val found = pel_dict_get_str(dict, key);
    if (found) pel_dict_del_str(vm, dict, key);
    return found;
}

pel_val pel_type_new(pel_vm *vm, pel_type *meta, pel_val name, pel_val bases, pel_dict *namespace, const pel_kw *kw) {
    if (!pel_tuple_at(bases)->n) bases = pel_tuple_of(vm, (pel_val[]){ &vm->types.object->head }, 1);
    for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++) {
        pel_val base = pel_tuple_at(bases)->at[i];
        if (!pel_is_type(base)) return pel_raise(vm, vm->types.TypeError, "bases must be types");
        if (pel_as_type(base)->is_final)
            return pel_raise(vm, vm->types.TypeError, "type '%s' is not an acceptable base type",
                             pel_string_at(pel_as_type(base)->name)->text);
        /* the most derived metaclass wins */
        if (pel_is_subtype(base->type, meta)) meta = base->type;
    }
    pel_type *type = pel_make_object(vm, meta, sizeof *type);
    type->name = pel_intern_val(vm, name);
    type->bases = bases;
    type->base = layout_base(vm, bases);
    type->layout = type->base->layout;
    pel_dict *attrs = pel_attrs(vm, &type->head);
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(namespace, &at));) {
        if (!pel_is_str(entry->key)) continue;
        pel_dict_set_str(vm, attrs, pel_intern_val(vm, entry->key), entry->value);
    }
    pel_val qualname = take(vm, attrs, vm->names.s_qualname);
    type->qualname = qualname && pel_is_str(qualname) ? qualname : type->name;
    pel_val cell = take(vm, attrs, vm->names.s_classcell);
    if (!pel_dict_get_str(attrs, vm->names.s_module)) {
        pel_val module = vm->frame ? pel_dict_get_str(vm->frame->globals, vm->names.s_name) : NULL;
        if (module) pel_dict_set_str(vm, attrs, vm->names.s_module, module);
    }
    if (!pel_dict_get_str(attrs, vm->names.s_doc)) pel_dict_set_str(vm, attrs, vm->names.s_doc, vm->none);
    wrap_implicit(vm, attrs, vm->names.s_new, vm->types.staticmethod);
    wrap_implicit(vm, attrs, vm->names.s_init_subclass, vm->types.classmethod);
    wrap_implicit(vm, attrs, vm->names.s_class_getitem, vm->types.classmethod);
    if (pel_dict_get_str(attrs, vm->names.s_eq) && !pel_dict_get_str(attrs, vm->names.s_hash))
        pel_dict_set_str(vm, attrs, vm->names.s_hash, vm->none);
    if (!linearise(vm, type, bases))
        return pel_raise(vm, vm->types.TypeError,
                         "Cannot create a consistent method resolution order (MRO) for bases of %s",
                         pel_string_at(type->name)->text);
    for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++) {
        pel_type *base = pel_as_type(pel_tuple_at(bases)->at[i]);
        pel_push(vm->ctx, &base->derived, type);
        if (base->unknown_base) type->unknown_base = base->unknown_base;
    }
    pel_val attribute = pel_lookup(vm, type, vm->names.s_getattribute);
    type->has_attribute = attribute && !pel_is(attribute, PEL_L_NATIVE);
    type->has_getattr = type->has_attribute || pel_lookup(vm, type, vm->names.s_getattr);
    pel_val setter = pel_lookup(vm, type, vm->names.s_setattr), deleter = pel_lookup(vm, type, vm->names.s_delattr);
    type->has_setattr = (setter && !pel_is(setter, PEL_L_NATIVE)) || (deleter && !pel_is(deleter, PEL_L_NATIVE));
    if (cell && pel_is(cell, PEL_L_CELL)) ((pel_cell *)cell)->value = &type->head;
    if (!set_names(vm, type) || !init_subclass(vm, type, kw)) return NULL;
    return &type->head;
}

/* ---- the class statement ---- */

/* `self.x = nn.Y(...)` */
static bool is_layer_assignment(pel_vm *vm, const pel_node *node, const pel_dict *globals) {
    if (node->kind != PEL_Assign || node->Assign.targets.at[0]->kind != PEL_Attribute) return false;
    const pel_node *of = node->Assign.targets.at[0]->Attribute.value, *call = node->Assign.value;
    if (of->kind != PEL_Name || !pel_str_is(pel_name_str(of->Name.id), "self")) return false;
    if (call->kind != PEL_Call || call->Call.func->kind != PEL_Attribute) return false;
    const pel_node *from = call->Call.func->Attribute.value;
    pel_val module =
        from->kind == PEL_Name ? pel_dict_get_str(globals, pel_interned(vm, pel_name_str(from->Name.id))) : NULL;
    if (!module || !pel_is(module, PEL_L_MODULE) || !pel_is_str(((pel_module_object *)module)->name)) return false;
    return pel_text_is(((pel_module_object *)module)->name, "torch.nn");
}

/* Only a module keeps layers as its attributes. */
static bool keeps_layers(pel_vm *vm, const pel_function *body) {
    for (uint32_t i = 0; i < body->code->n_consts; i++) {
        if (!pel_is(body->code->consts[i], PEL_L_CODE)) continue;
        const pel_codeobj *code = (const pel_codeobj *)body->code->consts[i];
        for (uint32_t k = 0; k < code->n_statements; k++)
            if (is_layer_assignment(vm, code->statements[k].node, body->globals)) return true;
    }
    return false;
}

/* Does a class look like a module of torch's, by what its body defines or by the name of a base that is nowhere? */
static bool is_like_module(pel_vm *vm, const pel_function *body, const pel_symbol *base) {
    if (!pel_dict_get_str(vm->modules, pel_interned_c(vm, "torch"))) return false;
    for (uint32_t i = 0; i < body->code->n_names; i++)
        if (pel_text_is(body->code->names[i], "forward")) return true;
    return pel_str_ends(base->text, PEL_STR("Module")) || keeps_layers(vm, body);
}

/* nn.Module stands for a base that no root has (a LightningModule): what the class makes is seen then. */
static pel_val stand_in(pel_vm *vm, pel_val base) {
    pel_str text = ((pel_symbol *)base)->text;
    pel_val module = pel_import(vm, PEL_STR("_unknown_base"));
    pel_val make = module ? pel_getattr_c(vm, module, "like_module") : NULL;
    if (!make) return NULL;
    pel_note_lost(vm, text, PEL_STR("there is no such class in the roots; it is taken for a torch.nn.Module"));
    return pel_call1(vm, make, pel_new_text(vm, text));
}

static bool is_torch_module(pel_vm *vm, pel_val base) {
    if (!pel_is_type(base)) return false;
    const pel_tuple *mro = pel_tuple_at(pel_as_type(base)->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        pel_val of = mro->at[i]->attrs ? pel_dict_get_str(mro->at[i]->attrs, vm->names.s_module) : NULL;
        if (of && pel_is_str(of) && pel_text_is(of, "torch.nn.modules.module")) return true;
    }
    return false;
}

static bool any_torch_module(pel_vm *vm, pel_val bases) {
    for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++)
        if (is_torch_module(vm, pel_tuple_at(bases)->at[i])) return true;
    return false;
}

/* What stands for the given bases: __mro_entries__, aliases and symbols resolved. */
static pel_val resolve_bases(pel_vm *vm, pel_val bases, const pel_function *body, bool *changed, pel_val *unknown) {
    pel_val list = pel_list_of(vm, NULL, 0);
    *changed = false;
    for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++) {
        pel_val base = pel_tuple_at(bases)->at[i];
        if (pel_is_type(base)) {
            pel_list_push(vm, list, base);
            continue;
        }
        *changed = true;
        if (pel_is_symbol(base)) { /* a base that we know nothing of adds nothing that we know */
            if (!((pel_symbol *)base)->is_missing) continue;
            *unknown = base;
            if (!any_torch_module(vm, bases) && is_like_module(vm, body, (pel_symbol *)base)) {
                pel_val made = stand_in(vm, base);
                if (!made) return NULL;
                pel_list_push(vm, list, made);
            }
            continue;
        }
        if (pel_is(base, PEL_L_ALIAS) && ((pel_alias *)base)->origin) {
            pel_list_push(vm, list, ((pel_alias *)base)->origin);
            continue;
        }
        pel_val entries = pel_call_special(vm, base, vm->names.s_mro_entries, &bases, 1);
        if (!entries) {
            if (vm->raised) return NULL;
            /* any object whose type can be called like a metaclass */
            pel_list_push(vm, list, base);
            *changed = *changed && false;
            continue;
        }
        if (!pel_extend(vm, list, entries)) return NULL;
    }
    /* A base twice (two symbols, Generic through two aliases) is no mistake of the class. */
    pel_list *l = pel_list_at(list);
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        bool again = false;
        for (uint32_t k = 0; k < n; k++) again |= l->at[k] == l->at[i];
        if (!again || !*changed) l->at[n++] = l->at[i];
    }
    return pel_tuple_of(vm, l->at, n);
}

/* The order is Python's: bases, metaclass, __prepare__, body, call of the metaclass. An unknown metaclass counts as
 * none. unknown_base makes attributes that nobody found unknown and no error. A metaclass may give a class that exists
 * already, so made_by is set once. */
pel_val pel_build_class(pel_vm *vm, pel_val body, pel_val name, pel_val original, const pel_kw *kw) {
    pel_function *function = (pel_function *)body;
    bool changed;
    pel_val unknown = NULL, bases = resolve_bases(vm, original, function, &changed, &unknown);
    if (!bases) return NULL;
    pel_val meta = NULL;
    pel_kw rest = { 0 };
    pel_val names[32], values[32];
    for (uint32_t i = 0; kw && i < kw->n; i++) {
        if (pel_text_is(kw->names[i], "metaclass")) {
            meta = kw->values[i];
        } else if (rest.n < 32) {
            names[rest.n] = kw->names[i];
            values[rest.n++] = kw->values[i];
        }
    }
    rest.names = names;
    rest.values = values;
    if (meta && pel_is_symbol(meta)) meta = NULL;
    if (!meta || pel_is_type(meta)) {
        pel_type *winner = meta ? pel_as_type(meta) : vm->types.type;
        for (uint32_t i = 0; i < pel_tuple_at(bases)->n; i++) {
            pel_type *of = pel_type_of(vm, pel_tuple_at(bases)->at[i]);
            if (pel_is_subtype(of, winner))
                winner = of;
            else if (!pel_is_subtype(winner, of))
                return pel_raise(vm, vm->types.TypeError,
                                 "metaclass conflict: the metaclass of a derived class must be a "
                                 "(non-strict) subclass of the metaclasses of all its bases");
        }
        meta = &winner->head;
    }
    pel_val namespace = NULL;
    if (meta != &vm->types.type->head) {
        bool failed;
        pel_val prepare = pel_find_attr(vm, meta, vm->names.s_prepare, &failed);
        if (failed) return NULL;
        if (prepare && !(pel_is(prepare, PEL_L_METHOD) && pel_is(((pel_method *)prepare)->func, PEL_L_NATIVE))) {
            pel_val args[] = { name, bases };
            namespace = pel_call(vm, prepare, args, 2, rest.n ? &rest : NULL);
            if (!namespace) return NULL;
        }
    }
    if (!namespace) namespace = pel_new_dict(vm);
    bool is_plain = namespace->type == vm->types.dict;
    if (!pel_is_dict(namespace)) return pel_raise(vm, vm->types.TypeError, "__prepare__() must return a dict");
    pel_frame *frame = pel_new_frame(vm, function->code);
    frame->function = function;
    frame->globals = function->globals;
    frame->names = pel_dict_at(namespace);
    frame->names_object = is_plain ? NULL : namespace;
    for (uint32_t i = 0; i < function->code->n_cells; i++)
        frame->slots[function->code->n_locals + i] = pel_new_cell(vm, NULL);
    for (uint32_t i = 0; i < function->code->n_free; i++)
        frame->slots[function->code->n_locals + function->code->n_cells + i] = function->closure[i];
    if (!pel_run(vm, frame)) return NULL;
    if (changed) {
        pel_val key = pel_interned_c(vm, "__orig_bases__");
        if (!pel_setitem(vm, namespace, key, original)) return NULL;
    }
    pel_val made;
    if (meta == &vm->types.type->head) {
        made = pel_type_new(vm, vm->types.type, name, bases, pel_dict_at(namespace), rest.n ? &rest : NULL);
    } else {
        pel_val args[] = { name, bases, namespace };
        made = pel_call(vm, meta, args, 3, rest.n ? &rest : NULL);
    }
    if (made && pel_is_type(made) && unknown) pel_as_type(made)->unknown_base = unknown;
    if (made && pel_is_type(made) && !pel_as_type(made)->made_by) {
        pel_type *type = pel_as_type(made);
        type->made_by = function->code;
        type->first_line = function->code->first_line;
        type->last_line = function->code->last_line;
    }
    return made;
}
