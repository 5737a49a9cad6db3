/* Attributes: the MRO, descriptors, instances, types, modules. */
#include "interp/vm.h"

bool pel_is_subtype(const pel_type *type, const pel_type *base) {
    if (type == base) return true;
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++)
        if (mro->at[i] == &base->head) return true;
    return false;
}

void pel_types_changed(pel_vm *vm) { vm->version++; }

pel_val pel_lookup(pel_vm *vm, pel_type *type, pel_val name) {
    uint64_t key = (PEL_KEY(type) >> 4) * 31 ^ (PEL_KEY(name) >> 4);
    pel_cache_row *row = &vm->cache[key % PEL_CACHE_SIZE];
    if (row->type == type && row->name == name && row->version == vm->version) return row->found;
    pel_val found = NULL;
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n && !found; i++)
        if (mro->at[i]->attrs) found = pel_dict_get_str(mro->at[i]->attrs, name);
    *row = (pel_cache_row){ type, name, found, vm->version };
    return found;
}

/* ---- descriptors ---- */

static bool is_data_descriptor(pel_vm *vm, pel_val found) {
    if (pel_is_small(found)) return false;
    switch (found->type->layout) {
    case PEL_L_PROPERTY:
    case PEL_L_GETSET: return true;
    case PEL_L_OBJECT:
    case PEL_L_DICT:
    case PEL_L_LIST:
        return !found->type->is_native &&
               (pel_lookup(vm, found->type, vm->names.s_set) || pel_lookup(vm, found->type, vm->names.s_delete));
    default: return false;
    }
}

/* self is NULL where the class itself was asked: a function stays plain then, and a property gives itself. Native
 * classes have no __get__ that could matter. A subclass of property may have one: lazy attributes of libraries do. */
pel_val pel_bind(pel_vm *vm, pel_val found, pel_val self, pel_type *type) {
    if (pel_is_small(found)) return found;
    switch (found->type->layout) {
    case PEL_L_FUNCTION: return self ? pel_new_method(vm, found, self) : found;
    case PEL_L_NATIVE: return self && ((pel_native *)found)->is_method ? pel_new_method(vm, found, self) : found;
    case PEL_L_WRAPPER: {
        pel_val func = ((pel_wrapper *)found)->func;
        if (!pel_is_subtype(found->type, vm->types.classmethod)) return func;
        if (pel_is(func, PEL_L_PROPERTY) || (pel_is(func, PEL_L_OBJECT) && pel_lookup(vm, func->type, vm->names.s_get)))
            return pel_bind(vm, func, &type->head, type->head.type);
        return pel_new_method(vm, func, &type->head);
    }
    case PEL_L_PROPERTY: {
        pel_property *property = (pel_property *)found;
        if (found->type != vm->types.property) {
            pel_val get = pel_lookup(vm, found->type, vm->names.s_get);
            if (get && pel_is(get, PEL_L_FUNCTION))
                return pel_call(vm, get, (pel_val[]){ found, self ? self : vm->none, &type->head }, 3, NULL);
        }
        if (!self) return found;
        if (!property->get || property->get == vm->none)
            return pel_raise(vm, vm->types.AttributeError, "property of '%s' object has no getter",
                             pel_type_text(vm, self));
        return pel_call1(vm, property->get, self);
    }
    case PEL_L_GETSET: return self ? ((pel_getset *)found)->get(vm, self) : found;
    case PEL_L_TYPE:
    case PEL_L_SYMBOL:
    case PEL_L_STR:
    case PEL_L_TUPLE: return found;
    default: {
        if (found->type->is_native) return found;
        pel_val get = pel_lookup(vm, found->type, vm->names.s_get);
        if (!get) return found;
        return pel_call(vm, get, (pel_val[]){ found, self ? self : vm->none, &type->head }, 3, NULL);
    }
    }
}

/* ---- reading ---- */

static pel_val no_attribute(pel_vm *vm, pel_val v, pel_val name) {
    pel_raise(vm, vm->types.AttributeError, "'%s' object has no attribute '%s'", pel_type_text(vm, v),
              pel_string_at(name)->text);
    pel_dict *attrs = pel_attrs(vm, vm->raised);
    pel_dict_set_c(vm, attrs, "name", name);
    pel_dict_set_c(vm, attrs, "obj", v);
    return NULL;
}

static pel_val type_getattr(pel_vm *vm, pel_type *self, pel_val name, bool raise) {
    pel_type *meta = self->head.type;
    pel_val of_meta = pel_lookup(vm, meta, name);
    if (of_meta && is_data_descriptor(vm, of_meta)) return pel_bind(vm, of_meta, &self->head, meta);
    pel_val found = pel_lookup(vm, self, name);
    if (found) return pel_bind(vm, found, NULL, self);
    if (of_meta) return pel_bind(vm, of_meta, &self->head, meta);
    if (raise)
        pel_raise(vm, vm->types.AttributeError, "type object '%s' has no attribute '%s'",
                  pel_string_at(self->name)->text, pel_string_at(name)->text);
    return NULL;
}

/* Dunders of a symbolic module stay absent: a symbol as __path__ or __all__ would pass for a package or a list of
 * names. Other names become symbols that the module keeps, so that each read gives the same object. A read of sys.argv
 * is a premise, since nobody knows the command line. */
static pel_val module_getattr(pel_vm *vm, pel_val v, pel_val name, bool raise) {
    pel_module_object *module = (pel_module_object *)v;
    pel_val found = v->attrs ? pel_dict_get_str(v->attrs, name) : NULL;
    if (found && found == vm->argv)
        pel_note_premise(vm, PEL_STR("the command line"), PEL_STR("taken to be empty: arguments have their defaults"));
    if (found) return found;
    pel_val of_type = pel_lookup(vm, v->type, name);
    if (of_type) return pel_bind(vm, of_type, v, v->type);
    pel_str text = pel_text_of(name);
    bool is_dunder = pel_str_starts(text, PEL_STR("__")) && pel_str_ends(text, PEL_STR("__"));
    if (module->is_symbolic && !is_dunder) {
        pel_str of = pel_is_str(module->name) ? pel_text_of(module->name) : PEL_STR("module");
        pel_val symbol = pel_symbol_of(vm, pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(text)),
                                       pel_format(vm->ctx, "%.*s is not interpreted", PEL_FMT(of)));
        if (pel_is_symbol(symbol)) {
            ((pel_symbol *)symbol)->is_named = true;
            ((pel_symbol *)symbol)->is_missing = module->is_missing;
        }
        pel_dict_set_str(vm, pel_attrs(vm, v), name, symbol);
        return symbol;
    }
    pel_val getter = v->attrs ? pel_dict_get_str(v->attrs, vm->names.s_getattr) : NULL;
    if (getter) return pel_call1(vm, getter, name);
    if (raise && module->is_leaky && !is_dunder) return pel_lost_name(vm, v, name);
    if (raise) {
        pel_str of = pel_is_str(module->name) ? pel_text_of(module->name) : PEL_STR("?");
        pel_raise(vm, vm->types.AttributeError, "module '%.*s' has no attribute '%.*s'", PEL_FMT(of), PEL_FMT(text));
    }
    return NULL;
}

pel_val pel_super_getattr(pel_vm *vm, pel_super *super, pel_val name) {
    const pel_tuple *mro = pel_tuple_at(super->self_type->mro);
    uint32_t i = 0;
    while (i < mro->n && mro->at[i] != &super->type->head) i++;
    for (i++; i < mro->n; i++) {
        pel_val found = mro->at[i]->attrs ? pel_dict_get_str(mro->at[i]->attrs, name) : NULL;
        if (!found) continue;
        bool of_class = super->self == &super->self_type->head;
        if (of_class && pel_is(found, PEL_L_FUNCTION)) return found;
        return pel_bind(vm, found, of_class ? NULL : super->self, super->self_type);
    }
    if (name == vm->names.s_class) return &vm->types.super->head;
    return pel_raise(vm, vm->types.AttributeError, "'super' object has no attribute '%s'", pel_string_at(name)->text);
}

static pel_val symbol_getattr(pel_vm *vm, pel_val v, pel_val name, bool raise) {
    pel_val found = pel_lookup(vm, v->type, name);
    if (found) return pel_bind(vm, found, v, v->type);
    pel_str text = pel_text_of(name);
    if (pel_str_starts(text, PEL_STR("__"))) {
        if (raise) no_attribute(vm, v, name);
        return NULL;
    }
    pel_symbol *symbol = (pel_symbol *)v;
    if (v->attrs) {
        pel_val set = pel_dict_get_str(v->attrs, name);
        if (set) return set;
    }
    pel_str of = symbol->level ? pel_format(vm->ctx, "(%.*s)", PEL_FMT(symbol->text)) : symbol->text;
    pel_val made = pel_symbol_from(vm, pel_format(vm->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(text)), v);
    if (pel_is_symbol(made)) ((pel_symbol *)made)->is_named = symbol->is_named;
    if (pel_is_symbol(made)) ((pel_symbol *)made)->is_unmodelled = symbol->is_unmodelled;
    return made;
}

pel_val pel_generic_getattr(pel_vm *vm, pel_val v, pel_val name, bool raise) {
    pel_type *type = pel_type_of(vm, v);
    switch (type->layout) {
    case PEL_L_TYPE: return type_getattr(vm, pel_as_type(v), name, raise);
    case PEL_L_MODULE: return module_getattr(vm, v, name, raise);
    case PEL_L_SUPER: return pel_super_getattr(vm, (pel_super *)v, name);
    case PEL_L_SYMBOL: return symbol_getattr(vm, v, name, raise);
    default: break;
    }
    pel_val found = pel_lookup(vm, type, name);
    if (found && is_data_descriptor(vm, found)) return pel_bind(vm, found, v, type);
    if (!pel_is_small(v) && v->attrs) {
        pel_val own = pel_dict_get_str(v->attrs, name);
        if (own) return own;
    }
    if (found) return pel_bind(vm, found, v, type);
    if (type->layout == PEL_L_METHOD) return pel_generic_getattr(vm, ((pel_method *)v)->func, name, raise);
    if (type->layout == PEL_L_ALIAS && ((pel_alias *)v)->origin) {
        pel_str text = pel_text_of(name);
        if (!pel_str_starts(text, PEL_STR("__"))) return pel_getattr(vm, ((pel_alias *)v)->origin, name);
    }
    if (type->layout == PEL_L_WRAPPER) return pel_generic_getattr(vm, ((pel_wrapper *)v)->func, name, raise);
    if (raise) no_attribute(vm, v, name);
    return NULL;
}

static pel_val try_getattr(pel_vm *vm, pel_val v, pel_val name, bool raise) {
    pel_type *type = pel_type_of(vm, v);
    if (!type->has_getattr) return pel_generic_getattr(vm, v, name, raise);
    pel_val found;
    vm->catching++;
    if (type->has_attribute) {
        pel_val get = pel_lookup(vm, type, vm->names.s_getattribute);
        found = pel_call2(vm, get, v, name);
    } else {
        found = pel_generic_getattr(vm, v, name, false);
    }
    vm->catching--;
    if (found) return found;
    if (vm->raised && !pel_raised_is(vm, vm->types.AttributeError)) return NULL;
    pel_val getter = pel_lookup(vm, type, vm->names.s_getattr);
    if (getter && !pel_is_small(getter)) {
        pel_forget(vm);
        if (pel_is(getter, PEL_L_FUNCTION) || pel_is(getter, PEL_L_NATIVE)) return pel_call2(vm, getter, v, name);
        getter = pel_bind(vm, getter, v, type);
        return getter ? pel_call1(vm, getter, name) : NULL;
    }
    if (!vm->raised && raise) no_attribute(vm, v, name);
    return NULL;
}

/* What a class whose base is nowhere in the roots does not have, that base may have. */
static pel_val inherited_unknown(pel_vm *vm, pel_type *type, pel_val name) {
    if (!pel_raised_is(vm, vm->types.AttributeError) || pel_str_starts(pel_text_of(name), PEL_STR("__"))) return NULL;
    pel_str base = ((pel_symbol *)type->unknown_base)->text;
    pel_str what = pel_format(vm->ctx, "%s.%s", pel_string_at(type->name)->text, pel_string_at(name)->text);
    pel_forget(vm);
    return pel_symbol_of(vm, what, pel_format(vm->ctx, "%.*s is not in the roots", PEL_FMT(base)));
}

pel_val pel_getattr(pel_vm *vm, pel_val v, pel_val name) {
    bool may_inherit = !pel_is_small(v) && v->type->unknown_base;
    vm->catching += may_inherit;
    pel_val found = try_getattr(vm, v, name, true);
    vm->catching -= may_inherit;
    return found || !may_inherit ? found : inherited_unknown(vm, v->type, name);
}
pel_val pel_getattr_c(pel_vm *vm, pel_val v, const char *name) { return pel_getattr(vm, v, pel_interned_c(vm, name)); }

pel_val pel_find_attr(pel_vm *vm, pel_val v, pel_val name, bool *failed) {
    vm->catching++;
    pel_val found = try_getattr(vm, v, name, false);
    vm->catching--;
    *failed = false;
    if (!found && vm->raised) {
        if (pel_raised_is(vm, vm->types.AttributeError))
            pel_forget(vm);
        else
            *failed = true;
    }
    return found;
}

pel_val pel_special(pel_vm *vm, pel_val v, pel_val name) { return pel_lookup(vm, pel_type_of(vm, v), name); }

pel_val pel_call_special(pel_vm *vm, pel_val v, pel_val name, pel_val *args, uint32_t n) {
    pel_type *type = pel_type_of(vm, v);
    pel_val found = pel_lookup(vm, type, name);
    if (!found) return NULL;
    if (pel_is(found, PEL_L_FUNCTION) || (pel_is(found, PEL_L_NATIVE) && ((pel_native *)found)->is_method)) {
        pel_val all[8];
        PEL_ASSERT(n < 8);
        all[0] = v;
        for (uint32_t i = 0; i < n; i++) all[i + 1] = args[i];
        return pel_call(vm, found, all, n + 1, NULL);
    }
    found = pel_bind(vm, found, v, type);
    return found ? pel_call(vm, found, args, n, NULL) : NULL;
}

/* ---- writing ---- */

static void refresh_hints(pel_vm *vm, pel_type *type, uint32_t depth) {
    pel_val attribute = pel_lookup(vm, type, vm->names.s_getattribute);
    type->has_attribute = attribute && !pel_is(attribute, PEL_L_NATIVE);
    type->has_getattr = type->has_attribute || pel_lookup(vm, type, vm->names.s_getattr);
    pel_val setter = pel_lookup(vm, type, vm->names.s_setattr), deleter = pel_lookup(vm, type, vm->names.s_delattr);
    type->has_setattr = (setter && !pel_is(setter, PEL_L_NATIVE)) || (deleter && !pel_is(deleter, PEL_L_NATIVE));
    if (depth < 100)
        for (uint32_t i = 0; i < type->derived.n; i++) refresh_hints(vm, type->derived.at[i], depth + 1);
}

static bool type_setattr(pel_vm *vm, pel_type *self, pel_val name, pel_val value) {
    if (self->is_native && pel_text_of(name).len) {
        /* Libraries hang attributes on builtins only by mistake; types of ours are shared by nobody else. */
        pel_raise(vm, vm->types.TypeError, "cannot set '%s' attribute of immutable type '%s'",
                  pel_string_at(name)->text, pel_string_at(self->name)->text);
        return false;
    }
    pel_val of_meta = pel_lookup(vm, self->head.type, name);
    if (of_meta && pel_is(of_meta, PEL_L_GETSET) && ((pel_getset *)of_meta)->set)
        return ((pel_getset *)of_meta)->set(vm, &self->head, value);
    if (of_meta && pel_is(of_meta, PEL_L_PROPERTY) && value) {
        pel_property *property = (pel_property *)of_meta;
        if (property->set) return pel_call2(vm, property->set, &self->head, value) != NULL;
    }
    pel_types_changed(vm);
    pel_dict *attrs = pel_attrs(vm, &self->head);
    if (vm->repeating.n) pel_run_loop_writes(vm, &self->head, name);
    if (value) {
        pel_dict_set_str(vm, attrs, name, value);
    } else if (!pel_dict_del_str(vm, attrs, name)) {
        pel_raise(vm, vm->types.AttributeError, "type object '%s' has no attribute '%s'",
                  pel_string_at(self->name)->text, pel_string_at(name)->text);
        return false;
    }
    if (pel_str_starts(pel_text_of(name), PEL_STR("__"))) refresh_hints(vm, self, 0);
    return true;
}

/* A value of NULL means deletion. A descriptor that has only the other of __set__ and __delete__ leaves *done false:
 * the caller writes to the object itself, where CPython raises an AttributeError. */
static bool set_through(pel_vm *vm, pel_val descriptor, pel_val v, pel_val name, pel_val value, bool *done) {
    *done = true;
    if (pel_is(descriptor, PEL_L_PROPERTY)) {
        pel_property *property = (pel_property *)descriptor;
        pel_val call = value ? property->set : property->del;
        if (!call || call == vm->none) {
            pel_raise(vm, vm->types.AttributeError, "property '%s' of '%s' object has no %s", pel_string_at(name)->text,
                      pel_type_text(vm, v), value ? "setter" : "deleter");
            return false;
        }
        return (value ? pel_call2(vm, call, v, value) : pel_call1(vm, call, v)) != NULL;
    }
    if (pel_is(descriptor, PEL_L_GETSET)) {
        pel_getset *getset = (pel_getset *)descriptor;
        if (!getset->set) {
            pel_raise(vm, vm->types.AttributeError, "attribute '%s' of '%s' objects is not writable",
                      pel_string_at(name)->text, pel_type_text(vm, v));
            return false;
        }
        return getset->set(vm, v, value);
    }
    pel_val set = pel_lookup(vm, descriptor->type, value ? vm->names.s_set : vm->names.s_delete);
    if (!set) {
        *done = false;
        return true;
    }
    pel_val args[] = { descriptor, v, value };
    return pel_call(vm, set, args, value ? 3 : 2, NULL) != NULL;
}

/* A value of NULL means deletion. pel_run_loop_writes comes before the write because it keeps the old value; an object
 * without attributes has none that one pass could hand to the next. */
bool pel_generic_setattr(pel_vm *vm, pel_val v, pel_val name, pel_val value) {
    pel_type *type = pel_type_of(vm, v);
    if (type->layout == PEL_L_TYPE) return type_setattr(vm, pel_as_type(v), name, value);
    pel_val found = pel_lookup(vm, type, name);
    if (found && is_data_descriptor(vm, found)) {
        bool done;
        bool fine = set_through(vm, found, v, name, value, &done);
        if (!fine || done) return fine;
    }
    pel_vm_layout layout = type->layout;
    bool has_dict = !pel_is_small(v) && (!type->is_native || layout == PEL_L_FUNCTION || layout == PEL_L_MODULE ||
                                         layout == PEL_L_EXCEPTION || layout == PEL_L_SYMBOL ||
                                         layout == PEL_L_NATIVE || layout == PEL_L_WRAPPER || layout == PEL_L_PROPERTY);
    if (!has_dict || type == vm->types.object) {
        no_attribute(vm, v, name);
        return false;
    }
    if (value) {
        if (vm->repeating.n && v->attrs) pel_run_loop_writes(vm, v, name);
        pel_dict_set_str(vm, pel_attrs(vm, v), name, value);
        return true;
    }
    if (v->attrs && pel_dict_del_str(vm, v->attrs, name)) return true;
    no_attribute(vm, v, name);
    return false;
}

bool pel_setattr(pel_vm *vm, pel_val v, pel_val name, pel_val value) {
    pel_type *type = pel_type_of(vm, v);
    if (type->has_setattr) {
        pel_val args[] = { v, name, value };
        pel_val setter = pel_lookup(vm, type, value ? vm->names.s_setattr : vm->names.s_delattr);
        if (setter && !pel_is(setter, PEL_L_NATIVE)) return pel_call(vm, setter, args, value ? 3 : 2, NULL) != NULL;
    }
    return pel_generic_setattr(vm, v, name, value);
}

/* ---- isinstance ---- */

static int check_class(pel_vm *vm, pel_val v, pel_val type, bool is_class, uint32_t depth);

/* PIL.Image.Image is a class, huggingface_hub.constants.HF_HOME is none. */
static bool is_named_as_class(const pel_symbol *symbol) {
    size_t at = symbol->text.len;
    bool has_small = false;
    while (at > 0 && symbol->text.ptr[at - 1] != '.') {
        at--;
        has_small |= symbol->text.ptr[at] >= 'a' && symbol->text.ptr[at] <= 'z';
    }
    return symbol->is_named && has_small && symbol->text.ptr[at] >= 'A' && symbol->text.ptr[at] <= 'Z';
}

/* A parameter is what its annotation says: an `int` is no tuple, a `BertConfig` is a `Config`. Of other classes
 * (numbers.Number, one that derives from it) that tells nothing. */
static bool is_declared(const pel_symbol *symbol, const pel_type *type, int *result) {
    *result = symbol->declared && pel_is_subtype(symbol->declared, type);
    return symbol->declared && (type->is_native || *result);
}

static int check_each(pel_vm *vm, pel_val v, pel_val types, bool is_class, uint32_t depth) {
    for (uint32_t i = 0; i < pel_tuple_at(types)->n; i++) {
        int result = check_class(vm, v, pel_tuple_at(types)->at[i], is_class, depth + 1);
        if (result) return result;
    }
    return 0;
}

static int check_class(pel_vm *vm, pel_val v, pel_val type, bool is_class, uint32_t depth) {
    if (depth > 50) return pel_raise(vm, vm->types.RecursionError, "isinstance nests too deep"), -1;
    if (pel_is_type(type)) {
        pel_type *t = pel_as_type(type);
        if (is_class ? pel_is_type(v) && v == type : pel_type_of(vm, v) == t) return 1;
        if (t->head.type != vm->types.type) {
            pel_val name = is_class ? vm->names.s_subclasscheck : vm->names.s_instancecheck;
            pel_val check = pel_lookup(vm, t->head.type, name);
            if (check && !pel_is(check, PEL_L_NATIVE)) {
                pel_val result = pel_call2(vm, check, type, v);
                return result ? pel_truth(vm, result) : -1;
            }
        }
        if (is_class) {
            if (pel_is_type(v)) return pel_is_subtype(pel_as_type(v), t);
            if (pel_is(v, PEL_L_ALIAS) || pel_is_symbol(v)) return 0;
            return pel_raise(vm, vm->types.TypeError, "issubclass() arg 1 must be a class"), -1;
        }
        if (pel_is_subtype(pel_type_of(vm, v), t)) return 1;
        if (pel_is_symbol(v) && is_named_as_class((pel_symbol *)v)) return t == vm->types.type || t == vm->types.object;
        int known;
        if (pel_is_symbol(v) && is_declared((pel_symbol *)v, t, &known)) return known;
        if (pel_is_symbol(v)) {
            pel_str text = pel_format(vm->ctx, "isinstance(%.*s, %s)", PEL_FMT(((pel_symbol *)v)->text),
                                      pel_string_at(t->name)->text);
            pel_val question = pel_symbol_of(vm, text, ((pel_symbol *)v)->why);
            if (pel_is_symbol(question)) {
                ((pel_symbol *)question)->if_number = t == vm->types.int_ ? 1 : -1;
                ((pel_symbol *)question)->about = ((pel_symbol *)v)->text;
            }
            return pel_truth(vm, question);
        }
        /* An object may claim another class by a property __class__. */
        pel_val claim = pel_is_small(v) || v->type->is_native ? NULL : pel_lookup(vm, v->type, vm->names.s_class);
        if (claim && pel_is(claim, PEL_L_PROPERTY)) {
            pel_val said = pel_bind(vm, claim, v, v->type);
            if (!said) return -1;
            return pel_is_type(said) && pel_is_subtype(pel_as_type(said), t);
        }
        return 0;
    }
    if (pel_is_tuple(type)) return check_each(vm, v, type, is_class, depth);
    if (pel_is(type, PEL_L_ALIAS)) {
        pel_alias *alias = (pel_alias *)type;
        if (!alias->origin) return check_each(vm, v, alias->args, is_class, depth);
        return pel_raise(vm, vm->types.TypeError, "isinstance() argument 2 cannot be a parameterized generic"), -1;
    }
    if (type == vm->none) return !is_class && v == vm->none;
    if (pel_is_symbol(type)) return 0; /* nothing that we know is an instance of a class that we don't */
    pel_val name = is_class ? vm->names.s_subclasscheck : vm->names.s_instancecheck;
    pel_val result = pel_call_special(vm, type, name, &v, 1);
    if (result) return pel_truth(vm, result);
    if (!vm->raised)
        pel_raise(vm, vm->types.TypeError, "%s() arg 2 must be a type, a tuple of types, or a union",
                  is_class ? "issubclass" : "isinstance");
    return -1;
}

int pel_isinstance(pel_vm *vm, pel_val v, pel_val type) { return check_class(vm, v, type, false, 0); }
int pel_issubclass(pel_vm *vm, pel_val v, pel_val type) { return check_class(vm, v, type, true, 0); }
