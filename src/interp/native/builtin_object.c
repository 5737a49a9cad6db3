/* object, type, property, classmethod, staticmethod, super, functions and what hangs at them. */
#include "interp/vm.h"

static void add_new(pel_vm *vm, pel_type *type, pel_native_fn *fn) {
    pel_dict_set_str(vm, pel_attrs(vm, &type->head), vm->names.s_new, pel_new_native(vm, "__new__", fn, 1, -1, true));
}

/* ---- object ---- */

static size_t size_of(pel_vm_layout layout) {
    switch (layout) {
    case PEL_L_LIST: return sizeof(pel_list);
    case PEL_L_DICT:
    case PEL_L_SET: return sizeof(pel_dict);
    case PEL_L_EXCEPTION: return sizeof(pel_exception);
    case PEL_L_PROPERTY: return sizeof(pel_property);
    case PEL_L_WRAPPER: return sizeof(pel_wrapper);
    case PEL_L_SUPER: return sizeof(pel_super);
    case PEL_L_MODULE: return sizeof(pel_module_object);
    case PEL_L_INT: return sizeof(pel_int);
    case PEL_L_FLOAT:
    case PEL_L_COMPLEX: return sizeof(pel_float);
    case PEL_L_TUPLE: return sizeof(pel_tuple);
    case PEL_L_OBJECT: return sizeof(pel_object);
    default: return 0;
    }
}

static pel_val object_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_type(args[0])) return pel_raise(vm, vm->types.TypeError, "object.__new__(X): X is not a type object");
    pel_type *type = pel_as_type(args[0]);
    size_t size = size_of(type->layout);
    if (!size)
        return pel_raise(vm, vm->types.TypeError, "cannot create '%s' instances", pel_string_at(type->name)->text);
    if (!type->is_native && type->layout == PEL_L_OBJECT) {
        pel_val left = pel_lookup(vm, type, vm->names.s_abstractmethods);
        if (left && pel_is_set(left) && pel_dict_at(left)->live) {
            uint32_t at = 0;
            pel_entry *first = pel_dict_next(pel_dict_at(left), &at);
            return pel_raise(vm, vm->types.TypeError,
                             "Can't instantiate abstract class %s without an implementation for abstract method '%s'",
                             pel_string_at(type->name)->text,
                             pel_is_str(first->key) ? pel_string_at(first->key)->text : "?");
        }
    }
    pel_val made = pel_make_object(vm, type, size);
    if (type->layout == PEL_L_EXCEPTION) ((pel_exception *)made)->args = vm->empty_tuple;
    if (type->layout == PEL_L_MODULE) ((pel_module_object *)made)->name = vm->none;
    return made;
}

static pel_val object_init(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (n > 1 || kw) {
        pel_type *type = pel_type_of(vm, args[0]);
        pel_val init = pel_lookup(vm, type, vm->names.s_init), new = pel_lookup(vm, type, vm->names.s_new);
        bool own_init = !pel_is(init, PEL_L_NATIVE), own_new = !pel_is(new, PEL_L_NATIVE);
        if (own_init || (!own_new && type->layout == PEL_L_OBJECT))
            return pel_raise(vm, vm->types.TypeError,
                             own_init ? "object.__init__() takes exactly one argument (the instance to initialize)"
                                      : "%s() takes no arguments",
                             pel_string_at(type->name)->text);
    }
    return vm->none;
}

static pel_val object_getattribute(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_str(args[1])) return pel_raise(vm, vm->types.TypeError, "attribute name must be string");
    return pel_generic_getattr(vm, args[0], pel_intern_val(vm, args[1]), true);
}

static pel_val object_setattr(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_str(args[1])) return pel_raise(vm, vm->types.TypeError, "attribute name must be string");
    return pel_generic_setattr(vm, args[0], pel_intern_val(vm, args[1]), args[2]) ? vm->none : NULL;
}

static pel_val object_delattr(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_str(args[1])) return pel_raise(vm, vm->types.TypeError, "attribute name must be string");
    return pel_generic_setattr(vm, args[0], pel_intern_val(vm, args[1]), NULL) ? vm->none : NULL;
}

static pel_val object_repr(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_textf(vm, "<%s object>", pel_type_text(vm, args[0]));
}

static pel_val object_str(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_repr(vm, args[0]);
}

static pel_val object_hash(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    uint64_t hash = PEL_KEY(args[0]) >> 4;
    if (pel_type_of(vm, args[0])->layout != PEL_L_OBJECT && pel_type_of(vm, args[0])->layout != PEL_L_DICT &&
        !pel_hash_of(vm, args[0], &hash))
        return NULL;
    return pel_int_of(vm, (int64_t)(hash >> 2));
}

static pel_val object_eq(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_vm_layout layout = pel_type_of(vm, args[0])->layout;
    if (layout != PEL_L_OBJECT && layout == pel_type_of(vm, args[1])->layout && layout != PEL_L_TYPE) {
        /* int.__eq__(a, b) and the like: as natives compare */
        pel_val plain[2] = { args[0], args[1] };
        if (pel_type_of(vm, plain[0])->is_native || pel_is_str(plain[0]) || pel_is_tuple(plain[0]) ||
            pel_is_int(plain[0])) {
            if (pel_is_int(plain[0])) return pel_bool_of(vm, pel_int_compare(plain[0], plain[1]) == 0);
            if (pel_is_str(plain[0])) return pel_bool_of(vm, pel_str_eq(pel_text_of(plain[0]), pel_text_of(plain[1])));
            if (pel_is_tuple(plain[0])) {
                if (pel_tuple_at(plain[0])->n != pel_tuple_at(plain[1])->n) return vm->false_;
                for (uint32_t i = 0; i < pel_tuple_at(plain[0])->n; i++) {
                    int equal = pel_equal(vm, pel_tuple_at(plain[0])->at[i], pel_tuple_at(plain[1])->at[i]);
                    if (equal < 0) return NULL;
                    if (!equal) return vm->false_;
                }
                return vm->true_;
            }
            int equal = pel_equal(vm, plain[0], plain[1]);
            return equal < 0 ? NULL : pel_bool_of(vm, equal);
        }
    }
    return args[0] == args[1] ? vm->true_ : vm->not_implemented;
}

static pel_val object_ne(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    int equal = pel_equal(vm, args[0], args[1]);
    return equal < 0 ? NULL : pel_bool_of(vm, !equal);
}

static pel_val object_format(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_str(args[1])) return pel_raise(vm, vm->types.TypeError, "__format__() argument must be str");
    if (!pel_text_of(args[1]).len) return pel_str_val(vm, args[0]);
    /* as the native value formats, whatever the subclass says */
    pel_val v = args[0];
    if (pel_is_int(v)) v = pel_int_plain(vm, v);
    if (pel_is_str(v)) v = pel_new_text_own(vm, pel_text_of(v));
    if (pel_is_float(v)) v = pel_float_of(vm, ((pel_float *)v)->value);
    return pel_format_val(vm, v, pel_text_of(args[1]));
}

static pel_val none_native(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)args, (void)n, (void)kw;
    return vm->none;
}

pel_val pel_false_native(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)args, (void)n, (void)kw;
    return vm->false_;
}

static void add_names(pel_vm *vm, pel_dict *into, pel_dict *from) {
    uint32_t at = 0;
    for (pel_entry *entry; from && (entry = pel_dict_next(from, &at));)
        if (pel_is_str(entry->key)) pel_dict_set_str(vm, into, entry->key, vm->none);
}

static pel_val object_dir(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_val names = pel_new_dict(vm), v = args[0];
    pel_tuple *mro = pel_tuple_at(pel_is_type(v) ? pel_as_type(v)->mro : pel_type_of(vm, v)->mro);
    if (!pel_is_small(v) && !pel_is_type(v)) add_names(vm, pel_dict_at(names), v->attrs);
    if (!pel_is(v, PEL_L_MODULE))
        for (uint32_t i = 0; i < mro->n; i++) add_names(vm, pel_dict_at(names), mro->at[i]->attrs);
    pel_val list = pel_list_of(vm, NULL, 0);
    return pel_extend(vm, list, names) ? list : NULL;
}

static pel_val object_sizeof(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)vm, (void)args, (void)n, (void)kw;
    return pel_from_small(64);
}

static pel_val get_class(pel_vm *vm, pel_val self) { return &pel_type_of(vm, self)->head; }
static bool set_class(pel_vm *vm, pel_val self, pel_val value) {
    if (!value || !pel_is_type(value) || pel_is_small(self) || pel_as_type(value)->layout != self->type->layout) {
        pel_raise(vm, vm->types.TypeError, "__class__ assignment: layouts differ");
        return false;
    }
    self->type = pel_as_type(value);
    return true;
}

static pel_val get_dict(pel_vm *vm, pel_val self) {
    if (pel_is_small(self)) return pel_raise(vm, vm->types.AttributeError, "'int' object has no attribute '__dict__'");
    if (pel_is_type(self)) {
        pel_dict_view *view = pel_make_object(vm, vm->types.mappingproxy, sizeof *view);
        view->dict = pel_attrs(vm, self);
        return &view->head;
    }
    pel_vm_layout layout = self->type->layout;
    if (self->type->is_native && layout != PEL_L_FUNCTION && layout != PEL_L_MODULE && layout != PEL_L_EXCEPTION)
        return pel_raise(vm, vm->types.AttributeError, "'%s' object has no attribute '__dict__'",
                         pel_type_text(vm, self));
    return &pel_attrs(vm, self)->head;
}

static bool set_dict(pel_vm *vm, pel_val self, pel_val value) {
    if (!value || !pel_is_dict(value) || pel_is_small(self) || pel_is_type(self)) {
        pel_raise(vm, vm->types.TypeError, "__dict__ must be set to a dictionary");
        return false;
    }
    self->attrs = pel_dict_at(value);
    return true;
}

/* ---- type ---- */

static pel_val type_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (n == 2 && !kw && args[0] == &vm->types.type->head) return &pel_type_of(vm, args[1])->head;
    if (n != 4 || !pel_is_str(args[1]) || !pel_is_tuple(args[2]) || !pel_is_dict(args[3]) || !pel_is_type(args[0]))
        return pel_raise(vm, vm->types.TypeError, "type.__new__() takes a name, bases and a namespace");
    pel_val rest_names[32], rest_values[32];
    pel_kw rest = { 0, rest_names, rest_values };
    for (uint32_t i = 0; kw && i < kw->n && rest.n < 32; i++) {
        if (pel_text_is(kw->names[i], "metaclass")) continue;
        rest_names[rest.n] = kw->names[i];
        rest_values[rest.n++] = kw->values[i];
    }
    return pel_type_new(vm, pel_as_type(args[0]), args[1], args[2], pel_dict_at(args[3]), rest.n ? &rest : NULL);
}

static pel_val type_call(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (!pel_is_type(args[0])) return pel_raise(vm, vm->types.TypeError, "not a type");
    return pel_type_call(vm, pel_as_type(args[0]), args + 1, n - 1, kw);
}

static pel_val type_mro_method(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_tuple *mro = pel_tuple_at(pel_as_type(args[0])->mro);
    return pel_list_of(vm, mro->at, mro->n);
}

static pel_val type_subclasses(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_type *type = pel_as_type(args[0]);
    pel_val list = pel_list_of(vm, NULL, 0);
    for (uint32_t i = 0; i < type->derived.n; i++) pel_list_push(vm, list, &type->derived.at[i]->head);
    return list;
}

static pel_val type_instancecheck(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_type(args[0])) return vm->false_;
    return pel_bool_of(vm, pel_is_subtype(pel_type_of(vm, args[1]), pel_as_type(args[0])));
}

static pel_val type_subclasscheck(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    if (!pel_is_type(args[0]) || !pel_is_type(args[1])) return vm->false_;
    return pel_bool_of(vm, pel_is_subtype(pel_as_type(args[1]), pel_as_type(args[0])));
}

static pel_val type_prepare(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)args, (void)n, (void)kw;
    return pel_new_dict(vm);
}

static pel_val type_or(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_binary(vm, PEL_BitOr, args[0], args[1]);
}

static pel_val get_type_name(pel_vm *vm, pel_val self) {
    (void)vm;
    return pel_as_type(self)->name;
}
static bool set_type_name(pel_vm *vm, pel_val self, pel_val value) {
    if (value && pel_is_str(value)) pel_as_type(self)->name = pel_intern_val(vm, value);
    return true;
}
static pel_val get_type_qualname(pel_vm *vm, pel_val self) {
    (void)vm;
    return pel_as_type(self)->qualname;
}
static bool set_type_qualname(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm;
    if (value && pel_is_str(value)) pel_as_type(self)->qualname = value;
    return true;
}
static pel_val get_type_mro(pel_vm *vm, pel_val self) {
    (void)vm;
    return pel_as_type(self)->mro;
}
static pel_val get_type_bases(pel_vm *vm, pel_val self) {
    (void)vm;
    return pel_as_type(self)->bases;
}
static pel_val get_type_base(pel_vm *vm, pel_val self) {
    pel_tuple *bases = pel_tuple_at(pel_as_type(self)->bases);
    return bases->n ? bases->at[0] : vm->none;
}
static pel_val get_type_module(pel_vm *vm, pel_val self) {
    pel_val module = self->attrs ? pel_dict_get_str(self->attrs, vm->names.s_module) : NULL;
    return module ? module : pel_interned_c(vm, "builtins");
}
static bool set_type_module(pel_vm *vm, pel_val self, pel_val value) {
    if (value) pel_dict_set_str(vm, pel_attrs(vm, self), vm->names.s_module, value);
    pel_types_changed(vm);
    return true;
}
static pel_val get_type_doc(pel_vm *vm, pel_val self) {
    pel_val doc = self->attrs ? pel_dict_get_str(self->attrs, vm->names.s_doc) : NULL;
    return doc ? pel_bind(vm, doc, NULL, pel_as_type(self)) : vm->none;
}
static bool set_type_doc(pel_vm *vm, pel_val self, pel_val value) {
    pel_dict_set_str(vm, pel_attrs(vm, self), vm->names.s_doc, value ? value : vm->none);
    pel_types_changed(vm);
    return true;
}
static pel_val get_type_annotations(pel_vm *vm, pel_val self) {
    pel_val own = self->attrs ? pel_dict_get_str(self->attrs, vm->names.s_annotations) : NULL;
    if (own) return own;
    own = pel_new_dict(vm);
    if (!pel_as_type(self)->is_native) pel_dict_set_str(vm, pel_attrs(vm, self), vm->names.s_annotations, own);
    return own;
}
static bool set_type_annotations(pel_vm *vm, pel_val self, pel_val value) {
    if (value) pel_dict_set_str(vm, pel_attrs(vm, self), vm->names.s_annotations, value);
    pel_types_changed(vm);
    return true;
}

/* ---- property ---- */

static pel_val property_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return pel_make_object(vm, pel_as_type(args[0]), sizeof(pel_property));
}

static pel_val property_init(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val parts[4];
    if (!pel_args(vm, "property", "fget,fset,fdel,doc", args + 1, n - 1, kw, 0, parts)) return NULL;
    pel_property *p = (pel_property *)args[0];
    p->get = parts[0];
    p->set = parts[1];
    p->del = parts[2];
    p->doc = parts[3];
    return vm->none;
}

static pel_val property_with(pel_vm *vm, pel_val *args, int which) {
    pel_property *from = (pel_property *)args[0];
    pel_property *made = pel_make_object(vm, args[0]->type, sizeof *made);
    made->get = which == 0 ? args[1] : from->get;
    made->set = which == 1 ? args[1] : from->set;
    made->del = which == 2 ? args[1] : from->del;
    made->doc = from->doc;
    made->head.attrs = from->head.attrs;
    return &made->head;
}
static pel_val property_getter(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return property_with(vm, args, 0);
}
static pel_val property_setter(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return property_with(vm, args, 1);
}
static pel_val property_deleter(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return property_with(vm, args, 2);
}
static pel_val property_get(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_property *p = (pel_property *)args[0];
    if (n < 2 || args[1] == vm->none) return args[0];
    if (!p->get || p->get == vm->none) return pel_raise(vm, vm->types.AttributeError, "property has no getter");
    return pel_call1(vm, p->get, args[1]);
}
static pel_val property_set(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_property *p = (pel_property *)args[0];
    if (!p->set || p->set == vm->none) return pel_raise(vm, vm->types.AttributeError, "property has no setter");
    return pel_call2(vm, p->set, args[1], args[2]);
}
static pel_val or_none(pel_vm *vm, pel_val v) { return v ? v : vm->none; }
static pel_val get_fget(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_property *)self)->get); }
static pel_val get_fset(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_property *)self)->set); }
static pel_val get_fdel(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_property *)self)->del); }
static pel_val get_property_doc(pel_vm *vm, pel_val self) {
    pel_property *p = (pel_property *)self;
    if (p->doc) return p->doc;
    if (p->get && pel_is(p->get, PEL_L_FUNCTION)) return ((pel_function *)p->get)->doc;
    return vm->none;
}
static bool set_property_doc(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm;
    ((pel_property *)self)->doc = value;
    return true;
}

/* ---- classmethod, staticmethod ---- */

static pel_val wrapper_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_wrapper *w = pel_make_object(vm, pel_as_type(args[0]), sizeof *w);
    w->func = n > 1 ? args[1] : vm->none;
    return &w->head;
}
static pel_val get_wrapped(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_wrapper *)self)->func;
}
static pel_val wrapper_get(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_type *type = n > 2 && pel_is_type(args[2]) ? pel_as_type(args[2]) : pel_type_of(vm, args[1]);
    return pel_bind(vm, args[0], args[1] == vm->none ? NULL : args[1], type);
}

/* ---- super ---- */

static pel_val super_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_super *s = pel_make_object(vm, pel_as_type(args[0]), sizeof *s);
    if (n == 1) {
        /* super(): the first argument of the calling function, and its __class__ cell */
        pel_frame *frame = vm->frame;
        if (!frame || !frame->function || !frame->code->n_args)
            return pel_raise(vm, vm->types.RuntimeError, "super(): no arguments");
        const pel_codeobj *code = frame->code;
        pel_val self = frame->slots[0];
        for (uint32_t i = 0; i < code->n_cells; i++)
            if (code->cell_of_arg[i] == 0) self = ((pel_cell *)frame->slots[code->n_locals + i])->value;
        for (uint32_t i = 0; i < code->n_cells + code->n_free; i++)
            if (code->cells[i] == vm->names.s_class) {
                pel_val type = ((pel_cell *)frame->slots[code->n_locals + i])->value;
                if (type && pel_is_type(type)) s->type = pel_as_type(type);
            }
        if (!s->type) return pel_raise(vm, vm->types.RuntimeError, "super(): __class__ cell not found");
        s->self = self;
    } else {
        if (!pel_is_type(args[1])) return pel_raise(vm, vm->types.TypeError, "super() argument 1 must be a type");
        s->type = pel_as_type(args[1]);
        s->self = n > 2 ? args[2] : NULL;
    }
    if (!s->self) return pel_raise(vm, vm->types.RuntimeError, "super(): no arguments");
    s->self_type = pel_type_of(vm, s->self);
    if (pel_is_type(s->self) && pel_is_subtype(pel_as_type(s->self), s->type)) s->self_type = pel_as_type(s->self);
    if (!pel_is_subtype(s->self_type, s->type))
        return pel_raise(vm, vm->types.TypeError, "super(type, obj): obj must be an instance or subtype of type");
    return &s->head;
}

/* ---- functions ---- */

#define FIELD(name, type, field)                                                                                       \
    static pel_val get_##name(pel_vm *vm, pel_val self) { return or_none(vm, ((type *)self)->field); }                 \
    static bool set_##name(pel_vm *vm, pel_val self, pel_val value) {                                                  \
        ((type *)self)->field = value ? value : vm->none;                                                              \
        return true;                                                                                                   \
    }
FIELD(fn_name, pel_function, name)
FIELD(fn_qualname, pel_function, qualname)
FIELD(fn_doc, pel_function, doc)
FIELD(fn_module, pel_function, module)
FIELD(method_func, pel_method, func)
FIELD(method_self, pel_method, self)

static pel_val get_fn_defaults(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_function *)self)->defaults); }
static bool set_fn_defaults(pel_vm *vm, pel_val self, pel_val value) {
    ((pel_function *)self)->defaults = value && value != vm->none && pel_is_tuple(value) ? value : NULL;
    return true;
}
static pel_val get_fn_kwdefaults(pel_vm *vm, pel_val self) {
    pel_dict *dict = ((pel_function *)self)->kwdefaults;
    return dict ? &dict->head : vm->none;
}
static bool set_fn_kwdefaults(pel_vm *vm, pel_val self, pel_val value) {
    ((pel_function *)self)->kwdefaults = value && value != vm->none && pel_is_dict(value) ? pel_dict_at(value) : NULL;
    return true;
}
static pel_val get_fn_code(pel_vm *vm, pel_val self) {
    (void)vm;
    return &((pel_function *)self)->code->head;
}
static bool set_fn_code(pel_vm *vm, pel_val self, pel_val value) {
    pel_function *f = (pel_function *)self;
    if (!value || !pel_is(value, PEL_L_CODE) || ((pel_codeobj *)value)->n_free != f->code->n_free) {
        pel_raise(vm, vm->types.ValueError, "__code__ with other free variables");
        return false;
    }
    f->code = (pel_codeobj *)value;
    return true;
}
static pel_val get_fn_globals(pel_vm *vm, pel_val self) {
    (void)vm;
    return &((pel_function *)self)->globals->head;
}
static pel_val get_fn_closure(pel_vm *vm, pel_val self) {
    pel_function *f = (pel_function *)self;
    return f->code->n_free ? pel_tuple_of(vm, f->closure, f->code->n_free) : vm->none;
}
static pel_val get_fn_annotations(pel_vm *vm, pel_val self) { return pel_annotations_of(vm, (pel_function *)self); }
static bool set_fn_annotations(pel_vm *vm, pel_val self, pel_val value) {
    ((pel_function *)self)->annotations = value ? value : pel_new_dict(vm);
    return true;
}
static pel_val empty_tuple_getter(pel_vm *vm, pel_val self) {
    (void)self;
    return vm->empty_tuple;
}
static bool ignore_set(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm, (void)self, (void)value;
    return true;
}

static pel_val function_get(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    return args[1] == vm->none ? args[0] : pel_new_method(vm, args[0], args[1]);
}
static pel_val function_call(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    return pel_call(vm, args[0], args + 1, n - 1, kw);
}
static pel_val function_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val p[5];
    if (!pel_args(vm, "function", "code,globals,name,argdefs,closure", args + 1, n - 1, kw, 2, p)) return NULL;
    if (!pel_is(p[0], PEL_L_CODE) || !pel_is_dict(p[1]))
        return pel_raise(vm, vm->types.TypeError, "function() needs code and globals");
    pel_function *f = pel_make_object(vm, vm->types.function, sizeof *f);
    f->code = (pel_codeobj *)p[0];
    f->globals = pel_dict_at(p[1]);
    f->name = p[2] && pel_is_str(p[2]) ? p[2] : f->code->name;
    f->qualname = f->name;
    f->doc = f->code->has_docstring ? f->code->consts[0] : vm->none;
    f->module = or_none(vm, pel_dict_get_str(f->globals, vm->names.s_name));
    f->defaults = p[3] && pel_is_tuple(p[3]) ? p[3] : NULL;
    uint32_t given = p[4] && pel_is_tuple(p[4]) ? pel_tuple_at(p[4])->n : 0;
    if (given != f->code->n_free)
        return pel_raise(vm, vm->types.ValueError, "function() needs a closure of %u cells", f->code->n_free);
    for (uint32_t i = 0; i < given; i++)
        if (!pel_is(pel_tuple_at(p[4])->at[i], PEL_L_CELL))
            return pel_raise(vm, vm->types.TypeError, "a closure is made of cells");
    f->closure = given ? pel_tuple_at(p[4])->at : NULL;
    return &f->head;
}
static pel_val method_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    if (n != 3) return pel_raise(vm, vm->types.TypeError, "method expected 2 arguments");
    return pel_new_method(vm, args[1], args[2]);
}
static pel_val get_method_name(pel_vm *vm, pel_val self) {
    return pel_getattr(vm, ((pel_method *)self)->func, vm->names.s_name);
}
static pel_val get_method_doc(pel_vm *vm, pel_val self) {
    return pel_getattr(vm, ((pel_method *)self)->func, vm->names.s_doc);
}
static pel_val method_eq(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    int equal = pel_equal(vm, args[0], args[1]);
    return equal < 0 ? NULL : pel_bool_of(vm, equal);
}

static pel_val get_native_name(pel_vm *vm, pel_val self) { return pel_interned_c(vm, ((pel_native *)self)->name); }
static pel_val get_native_module(pel_vm *vm, pel_val self) {
    (void)self;
    return pel_interned_c(vm, "builtins");
}
static pel_val get_none(pel_vm *vm, pel_val self) {
    (void)self;
    return vm->none;
}

/* ---- code ---- */

static pel_val get_co_name(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_codeobj *)self)->name); }
static pel_val get_co_qualname(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_codeobj *)self)->qualname); }
static pel_val get_co_argcount(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_codeobj *)self)->n_args); }
static pel_val get_co_posonly(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_codeobj *)self)->n_posonly); }
static pel_val get_co_kwonly(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_codeobj *)self)->n_kwonly); }
static pel_val get_co_nlocals(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_codeobj *)self)->n_locals); }
static pel_val get_co_varnames(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    return pel_tuple_of(vm, code->locals, code->n_locals);
}
static pel_val get_co_names(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    return pel_tuple_of(vm, code->names, code->n_names);
}
static pel_val get_co_consts(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    return pel_tuple_of(vm, code->consts, code->n_consts);
}
static pel_val get_co_freevars(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    return pel_tuple_of(vm, code->cells + code->n_cells, code->n_free);
}
static pel_val get_co_cellvars(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    return pel_tuple_of(vm, code->cells, code->n_cells);
}
static pel_val get_co_filename(pel_vm *vm, pel_val self) { return pel_new_text(vm, ((pel_codeobj *)self)->file); }
static pel_val get_co_firstlineno(pel_vm *vm, pel_val self) {
    return pel_int_of(vm, ((pel_codeobj *)self)->first_line);
}
static pel_val get_co_flags(pel_vm *vm, pel_val self) {
    pel_codeobj *code = (pel_codeobj *)self;
    int flags = 3 | (code->has_varargs ? 4 : 0) | (code->has_varkw ? 8 : 0);
    if (code->is_coroutine)
        flags |= code->is_generator ? 0x200 : 0x80;
    else if (code->is_generator)
        flags |= 0x20;
    return pel_int_of(vm, flags);
}

/* ---- cells, frames, aliases ---- */

static pel_val cell_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    return pel_new_cell(vm, n > 1 ? args[1] : NULL);
}
static pel_val get_cell(pel_vm *vm, pel_val self) {
    pel_val v = ((pel_cell *)self)->value;
    return v ? v : pel_raise(vm, vm->types.ValueError, "Cell is empty");
}
static bool set_cell(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm;
    ((pel_cell *)self)->value = value;
    return true;
}
static pel_val get_f_globals(pel_vm *vm, pel_val self) {
    (void)vm;
    return &((pel_frame_object *)self)->globals->head;
}
static pel_val get_f_locals(pel_vm *vm, pel_val self) {
    (void)vm;
    return &((pel_frame_object *)self)->locals->head;
}
static pel_val get_f_code(pel_vm *vm, pel_val self) {
    (void)vm;
    return &((pel_frame_object *)self)->code->head;
}
static pel_val get_f_lineno(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_frame_object *)self)->line); }
static pel_val get_f_back(pel_vm *vm, pel_val self) { return or_none(vm, ((pel_frame_object *)self)->back); }
static pel_val get_origin(pel_vm *vm, pel_val self) {
    pel_alias *alias = (pel_alias *)self;
    return alias->origin ? alias->origin : &vm->types.union_->head;
}
static pel_val get_alias_args(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_alias *)self)->args;
}
static pel_val alias_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    if (n != 3) return pel_raise(vm, vm->types.TypeError, "GenericAlias expected 2 arguments");
    pel_alias *alias = pel_make_object(vm, vm->types.alias, sizeof *alias);
    alias->origin = args[1];
    alias->args = pel_is_tuple(args[2]) ? args[2] : pel_tuple_of(vm, &args[2], 1);
    return &alias->head;
}
static pel_val alias_mro_entries(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_val origin = ((pel_alias *)args[0])->origin;
    return origin ? pel_tuple_of(vm, &origin, 1) : vm->empty_tuple;
}
static pel_val module_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_val made = pel_new_module(vm, n > 1 ? args[1] : vm->none);
    made->type = pel_as_type(args[0]);
    return made;
}
static pel_val module_init(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    pel_module_object *module = (pel_module_object *)args[0];
    if (n > 1) {
        module->name = args[1];
        pel_dict_set_str(vm, pel_attrs(vm, args[0]), vm->names.s_name, args[1]);
    }
    if (n > 2) pel_dict_set_str(vm, pel_attrs(vm, args[0]), vm->names.s_doc, args[2]);
    return vm->none;
}

typedef struct getset_row {
    const char *name;
    pel_val (*get)(pel_vm *, pel_val);
    bool (*set)(pel_vm *, pel_val, pel_val);
} getset_row;

static void add_getsets(pel_vm *vm, pel_type *type, const getset_row *rows) {
    for (; rows->name; rows++) pel_add_getset(vm, type, rows->name, rows->get, rows->set);
}

/* It runs before the other tables, because all types inherit from object. type, super and the two wrappers do their
 * work in __new__; their __init__ does nothing, because that of object would refuse the arguments of a subclass. */
void pel_init_object(pel_vm *vm) {
    static const pel_native_row object_rows[] = {
        { "__init__", object_init, 1, -1, true },
        { "__getattribute__", object_getattribute, 2, 2 },
        { "__setattr__", object_setattr, 3, 3 },
        { "__delattr__", object_delattr, 2, 2 },
        { "__repr__", object_repr, 1, 1 },
        { "__str__", object_str, 1, 1 },
        { "__hash__", object_hash, 1, 1 },
        { "__eq__", object_eq, 2, 2 },
        { "__ne__", object_ne, 2, 2 },
        { "__format__", object_format, 2, 2 },
        { "__dir__", object_dir, 1, 1 },
        { "__sizeof__", object_sizeof, 1, 1 },
        { NULL },
    };
    static const getset_row object_getsets[] = { { "__class__", get_class, set_class },
                                                 { "__dict__", get_dict, set_dict },
                                                 { NULL } };
    pel_type *object = vm->types.object;
    pel_add_methods(vm, object, object_rows);
    add_new(vm, object, object_new);
    add_getsets(vm, object, object_getsets);
    pel_val hook = pel_new_native(vm, "__init_subclass__", none_native, 0, -1, false);
    pel_wrapper *hook_method = pel_make_object(vm, vm->types.classmethod, sizeof *hook_method);
    hook_method->func = hook;
    pel_dict_set_str(vm, object->head.attrs, vm->names.s_init_subclass, &hook_method->head);
    pel_dict_set_str(vm, object->head.attrs, vm->names.s_doc, vm->none);

    static const pel_native_row type_rows[] = {
        { "__call__", type_call, 1, -1, true },
        { "mro", type_mro_method, 1, 1 },
        { "__subclasses__", type_subclasses, 1, 1 },
        { "__instancecheck__", type_instancecheck, 2, 2 },
        { "__subclasscheck__", type_subclasscheck, 2, 2 },
        { "__or__", type_or, 2, 2 },
        { "__init__", none_native, 1, -1, true },
        { NULL },
    };
    static const getset_row type_getsets[] = {
        { "__name__", get_type_name, set_type_name },
        { "__qualname__", get_type_qualname, set_type_qualname },
        { "__mro__", get_type_mro },
        { "__bases__", get_type_bases },
        { "__base__", get_type_base },
        { "__module__", get_type_module, set_type_module },
        { "__doc__", get_type_doc, set_type_doc },
        { "__annotations__", get_type_annotations, set_type_annotations },
        { "__type_params__", empty_tuple_getter, ignore_set },
        { "__dict__", get_dict },
        { NULL },
    };
    pel_add_methods(vm, vm->types.type, type_rows);
    add_new(vm, vm->types.type, type_new);
    add_getsets(vm, vm->types.type, type_getsets);
    pel_wrapper *prepare = pel_make_object(vm, vm->types.classmethod, sizeof *prepare);
    prepare->func = pel_new_native(vm, "__prepare__", type_prepare, 0, -1, true);
    pel_dict_set_str(vm, vm->types.type->head.attrs, vm->names.s_prepare, &prepare->head);

    static const pel_native_row property_rows[] = {
        { "__init__", property_init, 1, -1, true },
        { "getter", property_getter, 2, 2 },
        { "setter", property_setter, 2, 2 },
        { "deleter", property_deleter, 2, 2 },
        { "__get__", property_get, 2, 3 },
        { "__set__", property_set, 3, 3 },
        { NULL },
    };
    static const getset_row property_getsets[] = {
        { "fget", get_fget },
        { "fset", get_fset },
        { "fdel", get_fdel },
        { "__doc__", get_property_doc, set_property_doc },
        { NULL },
    };
    pel_add_methods(vm, vm->types.property, property_rows);
    add_new(vm, vm->types.property, property_new);
    add_getsets(vm, vm->types.property, property_getsets);

    static const pel_native_row wrapper_rows[] = { { "__get__", wrapper_get, 2, 3 },
                                                   { "__init__", none_native, 1, -1, true },
                                                   { NULL } };
    static const getset_row wrapper_getsets[] = { { "__func__", get_wrapped },
                                                  { "__wrapped__", get_wrapped },
                                                  { NULL } };
    pel_type *wrappers[] = { vm->types.classmethod, vm->types.staticmethod };
    for (int i = 0; i < 2; i++) {
        add_new(vm, wrappers[i], wrapper_new);
        pel_add_methods(vm, wrappers[i], wrapper_rows);
        add_getsets(vm, wrappers[i], wrapper_getsets);
    }
    add_new(vm, vm->types.super, super_new);
    static const pel_native_row super_rows[] = { { "__init__", none_native, 1, -1, true }, { NULL } };
    pel_add_methods(vm, vm->types.super, super_rows);

    static const pel_native_row function_rows[] = { { "__get__", function_get, 2, 3 },
                                                    { "__call__", function_call, 1, -1, true },
                                                    { NULL } };
    static const getset_row function_getsets[] = {
        { "__name__", get_fn_name, set_fn_name },
        { "__qualname__", get_fn_qualname, set_fn_qualname },
        { "__doc__", get_fn_doc, set_fn_doc },
        { "__module__", get_fn_module, set_fn_module },
        { "__defaults__", get_fn_defaults, set_fn_defaults },
        { "__kwdefaults__", get_fn_kwdefaults, set_fn_kwdefaults },
        { "__code__", get_fn_code, set_fn_code },
        { "__globals__", get_fn_globals },
        { "__closure__", get_fn_closure },
        { "__annotations__", get_fn_annotations, set_fn_annotations },
        { "__type_params__", empty_tuple_getter, ignore_set },
        { NULL },
    };
    pel_add_methods(vm, vm->types.function, function_rows);
    add_new(vm, vm->types.function, function_new);
    add_getsets(vm, vm->types.function, function_getsets);
    static const pel_native_row method_rows[] = { { "__eq__", method_eq, 2, 2 },
                                                  { "__call__", function_call, 1, -1, true },
                                                  { NULL } };
    static const getset_row method_getsets[] = {
        { "__func__", get_method_func, set_method_func },
        { "__self__", get_method_self, set_method_self },
        { "__name__", get_method_name },
        { "__doc__", get_method_doc },
        { NULL },
    };
    pel_add_methods(vm, vm->types.method, method_rows);
    add_new(vm, vm->types.method, method_new);
    add_getsets(vm, vm->types.method, method_getsets);
    static const getset_row native_getsets[] = {
        { "__name__", get_native_name }, { "__qualname__", get_native_name }, { "__module__", get_native_module },
        { "__doc__", get_none },         { "__text_signature__", get_none },  { NULL },
    };
    add_getsets(vm, vm->types.native, native_getsets);
    static const pel_native_row native_rows[] = { { "__call__", function_call, 1, -1, true }, { NULL } };
    pel_add_methods(vm, vm->types.native, native_rows);
    static const getset_row code_getsets[] = {
        { "co_name", get_co_name },
        { "co_qualname", get_co_qualname },
        { "co_argcount", get_co_argcount },
        { "co_posonlyargcount", get_co_posonly },
        { "co_kwonlyargcount", get_co_kwonly },
        { "co_nlocals", get_co_nlocals },
        { "co_varnames", get_co_varnames },
        { "co_names", get_co_names },
        { "co_consts", get_co_consts },
        { "co_freevars", get_co_freevars },
        { "co_cellvars", get_co_cellvars },
        { "co_filename", get_co_filename },
        { "co_firstlineno", get_co_firstlineno },
        { "co_flags", get_co_flags },
        { NULL },
    };
    add_getsets(vm, vm->types.code, code_getsets);
    pel_add_getset(vm, vm->types.cell, "cell_contents", get_cell, set_cell);
    add_new(vm, vm->types.cell, cell_new);
    static const getset_row frame_getsets[] = {
        { "f_globals", get_f_globals }, { "f_locals", get_f_locals }, { "f_code", get_f_code },
        { "f_lineno", get_f_lineno },   { "f_back", get_f_back },     { NULL },
    };
    add_getsets(vm, vm->types.frame, frame_getsets);
    static const getset_row alias_getsets[] = {
        { "__origin__", get_origin },
        { "__args__", get_alias_args },
        { "__parameters__", empty_tuple_getter },
        { NULL },
    };
    static const pel_native_row alias_rows[] = { { "__mro_entries__", alias_mro_entries, 2, 2 }, { NULL } };
    add_getsets(vm, vm->types.alias, alias_getsets);
    add_getsets(vm, vm->types.union_, alias_getsets);
    pel_add_methods(vm, vm->types.alias, alias_rows);
    add_new(vm, vm->types.alias, alias_new);
    static const pel_native_row module_rows[] = { { "__init__", module_init, 1, 3 }, { NULL } };
    pel_add_methods(vm, vm->types.module, module_rows);
    add_new(vm, vm->types.module, module_new);
}
