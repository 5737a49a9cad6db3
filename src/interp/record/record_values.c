/* Values of the machine -> values of the log. Plain ones are interned: equal content, one row. Objects with an identity
 * have a number; each state in which they are seen is a row of its own. */
#include "interp/record/record.h"
#include <math.h>

#define MAX_ITEMS 256
#define MAX_DEPTH 6

bool pel_is_shaped(pel_vm *vm, pel_val v) {
    return !pel_is_small(v) && v->attrs && v->type->layout == PEL_L_OBJECT &&
           pel_dict_get_c(vm, v->attrs, "_shape") != NULL;
}

/* ---- interning ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_const(uint64_t hash, const pel_const *c) {
    hash = mix(hash, (uint64_t)c->kind);
    uint64_t bits;
    switch (c->kind) {
    case PEL_CONST_INT:
        return mix(mix(hash, (uint64_t)c->integer.small), pel_hash(c->integer.digits.ptr, c->integer.digits.len));
    case PEL_CONST_COMPLEX:
    case PEL_CONST_FLOAT: memcpy(&bits, &c->real, sizeof bits); return mix(hash, bits);
    case PEL_CONST_STR:
    case PEL_CONST_BYTES: return mix(hash, pel_hash(c->text.ptr, c->text.len));
    default: return hash;
    }
}

static uint64_t hash_value(const pel_value *v) {
    uint64_t hash = mix(v->kind, v->object + v->truncated);
    if (v->kind == PEL_V_CONST) return hash_const(hash, v->constant);
    if (pel_value_has_text(v->kind)) return mix(hash, pel_hash(v->text.ptr, v->text.len));
    hash = mix(hash, v->class);
    if (pel_value_has_items(v->kind))
        for (uint32_t i = 0; i < v->n; i++) hash = mix(hash, v->items[i]);
    return hash;
}

static bool is_same_row(const pel_value *a, const pel_value *b) {
    if (a->kind != b->kind || a->object != b->object || a->truncated != b->truncated) return false;
    if (a->kind == PEL_V_CONST) return pel_const_same(a->constant, b->constant);
    if (pel_value_has_text(a->kind)) return pel_str_eq(a->text, b->text);
    if (a->class != b->class) return false;
    if (!pel_value_has_items(a->kind)) return true;
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof *a->items) == 0);
}

static pel_id intern(pel_recording *rec, const pel_value *value) {
    uint64_t hash = hash_value(value);
    pel_id last = (pel_id)pel_map_find(&rec->values, hash, 0);
    for (pel_id id = last; id; id = rec->same_hash.at[id])
        if (is_same_row(pel_value_at(rec->log, id), value)) return id;
    pel_push(rec->ctx, &rec->log->values, *value);
    pel_id id = rec->log->values.n - 1;
    while (rec->same_hash.n <= id) pel_push(rec->ctx, &rec->same_hash, 0);
    rec->same_hash.at[id] = last;
    pel_map_set(rec->ctx, &rec->values, hash, id);
    return id;
}

pel_id pel_logged_const(pel_recording *rec, const pel_const *constant) {
    return intern(rec, &(pel_value){ .kind = PEL_V_CONST, .constant = constant });
}

static pel_id text_value(pel_recording *rec, pel_value_kind kind, pel_str text) {
    return intern(rec, &(pel_value){ .kind = (uint8_t)kind, .text = text });
}

static uint64_t number_of(pel_recording *rec, pel_val v) {
    uint64_t known = pel_map_find(&rec->numbers, PEL_KEY(v), 0);
    if (known) return known;
    pel_map_set(rec->ctx, &rec->numbers, PEL_KEY(v), ++rec->n_objects);
    return rec->n_objects;
}

/* ---- names of the library ---- */

/* In this order: the first that gives an object names it. */
static const char *const namespaces[] = {
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.fft",
    "torch.linalg",
    "torch.special",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.parametrizations",
    "torch.nn.attention",
    "torch.autograd",
    "torch.utils.checkpoint",
    "torch.func",
    "torch.sparse",
    "torch.nested",
    "torch.cuda",
    "torch.amp",
    "torch.jit",
    "torch.overrides",
    "math",
    "operator",
    "functools",
    "itertools",
    "collections",
    "copy",
    "re",
    "random",
    "types",
    "typing",
    "enum",
    "dataclasses",
    "contextlib",
    "string",
    "bisect",
    "heapq",
    "contextvars",
    "cmath",
    "numbers",
    "inspect",
    "warnings",
    "os",
    "sys",
    "abc",
    "time",
    "weakref",
    "collections.abc",
    "os.path",
};

bool pel_is_author_module(pel_str module) {
    size_t dot = 0;
    while (dot < module.len && module.ptr[dot] != '.') dot++;
    pel_str first = pel_str_cut(module, 0, dot);
    if (pel_str_is(first, "numpy") || pel_str_is(first, "builtins")) return false;
    for (size_t i = 0; i < PEL_COUNT(namespaces); i++)
        if (pel_str_is(first, namespaces[i])) return false;
    return true;
}

static pel_str module_of(pel_recording *rec, pel_val v) {
    pel_val name = NULL;
    if (pel_is(v, PEL_L_FUNCTION)) name = ((pel_function *)v)->module;
    if (pel_is(v, PEL_L_TYPE) && v->attrs) name = pel_dict_get_str(v->attrs, rec->vm->names.s_module);
    return name && pel_is_str(name) ? pel_text_of(name) : (pel_str){ "", 0 };
}

static pel_str last_part(pel_str path) {
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '.') at--;
    return pel_str_from(path, at);
}

typedef PEL_VEC(pel_name) names;

static void name_it(pel_recording *rec, pel_val v, pel_str path) {
    pel_name name = pel_intern_str(rec->ctx, path);
    uint64_t known;
    if (!pel_map_get(&rec->library, PEL_KEY(v), &known)) {
        pel_map_set(rec->ctx, &rec->library, PEL_KEY(v), PEL_KEY(name));
    } else if (pel_is(v, PEL_L_FUNCTION) &&
               !pel_str_eq(last_part(path), last_part(pel_name_str((pel_name)(uintptr_t)known)))) {
        names *all = pel_map_pointer(&rec->doubtful, PEL_KEY(v));
        if (!all) {
            all = pel_new(rec->ctx, names);
            pel_push(rec->ctx, all, (pel_name)(uintptr_t)known);
            pel_map_set(rec->ctx, &rec->doubtful, PEL_KEY(v), PEL_KEY(all));
        }
        pel_push(rec->ctx, all, name);
    }
}

/* Of a function with several names, the one it was asked for by; empty: nobody can tell. */
static pel_str doubtful_name(const pel_recording *rec, const names *all) {
    for (uint32_t i = 0; i < all->n; i++)
        if (pel_str_eq(last_part(pel_name_str(all->at[i])), rec->hint)) return pel_name_str(all->at[i]);
    return (pel_str){ "", 0 };
}

static bool may_have_name(pel_recording *rec, pel_val v) {
    if (pel_is_small(v)) return false;
    switch (v->type->layout) {
    case PEL_L_FUNCTION:
    case PEL_L_TYPE: {
        pel_str module = module_of(rec, v);
        return !module.len || !pel_is_author_module(module);
    }
    case PEL_L_NATIVE: return true;
    case PEL_L_OBJECT: return v->attrs != NULL; /* torch.float32, torch.strided */
    default: return false;
    }
}

static void name_members(pel_recording *rec, const pel_dict *members, pel_str prefix, bool private_too) {
    uint32_t at = 0;
    for (pel_entry *entry; members && (entry = pel_dict_next(members, &at));) {
        if (!pel_is_str(entry->key) || !may_have_name(rec, entry->value)) continue;
        pel_str name = pel_text_of(entry->key);
        if (!private_too && pel_str_starts(name, PEL_STR("_"))) continue;
        name_it(rec, entry->value,
                prefix.len ? pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(prefix), PEL_FMT(name)) : name);
    }
}

static void name_functions(pel_recording *rec, pel_val module, pel_str path) {
    uint32_t at = 0;
    for (pel_entry *entry; module && module->attrs && (entry = pel_dict_next(module->attrs, &at));) {
        bool is_function = pel_is(entry->value, PEL_L_FUNCTION) || pel_is(entry->value, PEL_L_NATIVE);
        if (!pel_is_str(entry->key) || !is_function || !may_have_name(rec, entry->value)) continue;
        pel_str name = pel_text_of(entry->key);
        if (name.len && name.ptr[0] != '_')
            name_it(rec, entry->value, pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name)));
    }
}

static void name_methods(pel_recording *rec, const pel_type *type, pel_str path) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i + 1 < mro->n; i++) name_members(rec, mro->at[i]->attrs, path, true);
}

void pel_name_library(pel_recording *rec) {
    pel_vm *vm = rec->vm;
    name_members(rec, vm->builtins, (pel_str){ "", 0 }, false);
    /* our model of torch gives some of these too, where the real one does not */
    name_functions(rec, pel_dict_get_c(vm, vm->modules, "torch.nn.functional"), PEL_STR("torch.nn.functional"));
    for (size_t i = 0; i < PEL_COUNT(namespaces); i++) {
        pel_val module = pel_dict_get_c(vm, vm->modules, namespaces[i]);
        if (module && pel_is(module, PEL_L_MODULE)) name_members(rec, module->attrs, pel_str_of(namespaces[i]), false);
    }
    pel_val torch = pel_dict_get_c(vm, vm->modules, "torch");
    pel_val tensor = torch && torch->attrs ? pel_dict_get_c(vm, torch->attrs, "Tensor") : NULL;
    if (tensor && pel_is_type(tensor)) name_methods(rec, pel_as_type(tensor), PEL_STR("torch.Tensor"));
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(vm->builtins, &at));)
        if (pel_is_type(entry->value) && pel_is_str(entry->key))
            name_members(rec, entry->value->attrs, pel_text_of(entry->key), true);
}

/* What no public namespace has: by the module and the qualified name that it says of itself. */
static pel_str own_name(pel_recording *rec, pel_val v) {
    pel_str module = module_of(rec, v), none = { "", 0 };
    if (!module.len || pel_is_author_module(module)) return none;
    pel_val qualname = pel_is(v, PEL_L_TYPE) ? pel_as_type(v)->qualname : ((pel_function *)v)->qualname;
    pel_val holder = pel_dict_get_str(rec->vm->modules, pel_interned(rec->vm, module)), owner = NULL;
    pel_str rest = pel_text_of(qualname), last = rest;
    while (rest.len && holder) {
        size_t dot = 0;
        while (dot < rest.len && rest.ptr[dot] != '.') dot++;
        last = pel_str_cut(rest, 0, dot);
        owner = holder;
        holder = owner->attrs ? pel_dict_get_str(owner->attrs, pel_interned(rec->vm, last)) : NULL;
        if (holder && pel_is(holder, PEL_L_WRAPPER)) holder = ((pel_wrapper *)holder)->func;
        if (holder && pel_is_small(holder)) holder = NULL;
        rest = pel_str_from(rest, dot + 1);
    }
    if (holder != v) return none;
    pel_str of = owner && pel_is(owner, PEL_L_TYPE) ? pel_logged_name(rec, owner) : none;
    if (of.len) return pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(last));
    return pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(module), PEL_FMT(pel_text_of(qualname)));
}

pel_str pel_logged_name(pel_recording *rec, pel_val v) {
    uint64_t known;
    if (pel_map_get(&rec->doubtful, PEL_KEY(v), &known)) return doubtful_name(rec, (const names *)(uintptr_t)known);
    if (pel_map_get(&rec->library, PEL_KEY(v), &known)) return pel_name_str((pel_name)(uintptr_t)known);
    if (pel_is(v, PEL_L_MODULE)) {
        pel_str name = pel_text_of(((pel_module_object *)v)->name);
        return pel_is_author_module(name) ? (pel_str){ "", 0 } : name;
    }
    if (!pel_is(v, PEL_L_TYPE) && !pel_is(v, PEL_L_FUNCTION)) return (pel_str){ "", 0 };
    pel_str path = own_name(rec, v);
    if (path.len) name_it(rec, v, path);
    return path;
}

/* ---- tensors ---- */

/* The log has room for numbers only: one unknown size ends the recording, and no program is written. A tensor whose
 * requires_grad raises counts as one without a gradient. */
pel_id pel_logged_tensor(pel_recording *rec, pel_val tensor) {
    uint64_t known;
    if (pel_map_get(&rec->tensors, PEL_KEY(tensor), &known)) return (pel_id)known;
    pel_vm *vm = rec->vm;
    pel_log_tensor row = { .serial = rec->log->tensors.n };
    pel_shape shape = pel_shape_of_val(rec->scanner, tensor);
    if (!shape.is_known) pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "the shape of a tensor is not known");
    row.n_dims = shape.n;
    row.shape = pel_new_array(rec->ctx, shape.n, int64_t);
    for (uint32_t i = 0; i < shape.n; i++) {
        if (shape.dims[i].symbol.len)
            pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "the size %.*s of a tensor is not known",
                      PEL_FMT(shape.dims[i].symbol));
        row.shape[i] = shape.dims[i].size;
    }
    pel_val dtype = pel_dict_get_c(vm, tensor->attrs, "_dtype"), grad = pel_getattr_c(vm, tensor, "requires_grad");
    if (!grad) pel_forget(vm);
    pel_val name = dtype && !pel_is_small(dtype) && dtype->attrs ? pel_dict_get_c(vm, dtype->attrs, "_name") : NULL;
    row.dtype =
        name && pel_is_str(name) ? pel_format(rec->ctx, "torch.%.*s", PEL_FMT(pel_text_of(name))) : (pel_str){ "", 0 };
    row.requires_grad = grad == vm->true_;
    row.is_parameter = pel_text_is(tensor->type->name, "Parameter");
    pel_push(rec->ctx, &rec->log->tensors, row);
    pel_map_set(rec->ctx, &rec->tensors, PEL_KEY(tensor), rec->log->tensors.n - 1);
    return rec->log->tensors.n - 1;
}

/* ---- values ---- */

static pel_id value_at(pel_recording *rec, pel_val v, int depth);

typedef struct gathered {
    PEL_VEC(pel_id) at;
    bool truncated;
} gathered;

static void gather(pel_recording *rec, gathered *to, pel_val v, int depth) {
    if (to->at.n >= MAX_ITEMS)
        to->truncated = true;
    else {
        pel_id id = value_at(rec, v, depth + 1);
        pel_push(rec->ctx, &to->at, id);
    }
}

static pel_id container(pel_recording *rec, pel_value_kind kind, const gathered *items, pel_id class, uint64_t object) {
    return intern(rec, &(pel_value){ .kind = (uint8_t)kind,
                                     .truncated = items->truncated,
                                     .n = items->at.n,
                                     .class = class,
                                     .items = items->at.at,
                                     .object = object });
}

static pel_id sequence_value(pel_recording *rec, pel_val v, int depth) {
    gathered items = { 0 };
    uint32_t n;
    pel_val *at = pel_items(v, &n);
    items.truncated = depth >= MAX_DEPTH && n;
    for (uint32_t i = 0; i < n && !items.truncated; i++) gather(rec, &items, at[i], depth);
    pel_type *type = v->type;
    if (pel_is_list(v)) return container(rec, PEL_V_LIST, &items, 0, number_of(rec, v));
    if (type->is_native) return container(rec, PEL_V_TUPLE, &items, 0, 0);
    if (pel_str_is(pel_logged_name(rec, &type->head), "torch.Size")) return container(rec, PEL_V_SIZE, &items, 0, 0);
    return container(rec, PEL_V_TUPLE, &items, pel_logged_class(rec, type), 0);
}

static pel_id dict_value(pel_recording *rec, pel_val v, int depth) {
    gathered items = { 0 };
    uint32_t at = 0;
    bool is_set = pel_is_set(v);
    items.truncated = depth >= MAX_DEPTH && pel_dict_at(v)->live;
    for (pel_entry *entry; !items.truncated && (entry = pel_dict_next(pel_dict_at(v), &at));) {
        gather(rec, &items, entry->key, depth);
        if (!is_set) gather(rec, &items, entry->value, depth);
    }
    if (is_set && pel_is_subtype(v->type, rec->vm->types.frozenset))
        return container(rec, PEL_V_FROZENSET, &items, 0, 0);
    if (is_set) return container(rec, PEL_V_SET, &items, 0, number_of(rec, v));
    return container(rec, PEL_V_DICT, &items, v->type->is_native ? 0 : pel_logged_class(rec, v->type),
                     number_of(rec, v));
}

static pel_id three(pel_recording *rec, pel_value_kind kind, pel_val a, pel_val b, pel_val c, int depth) {
    gathered items = { 0 };
    gather(rec, &items, a, depth);
    gather(rec, &items, b, depth);
    gather(rec, &items, c, depth);
    return container(rec, kind, &items, 0, 0);
}

static pel_id int_value(pel_recording *rec, pel_val v) {
    int64_t small;
    if (pel_to_i64(v, &small)) return pel_logged_const(rec, pel_const_int(rec->ctx, small));
    pel_buf digits = pel_buf_in(rec->ctx);
    pel_put_int_val(rec->vm, &digits, v, 10);
    pel_const *made = pel_new(rec->ctx, pel_const);
    made->kind = PEL_CONST_INT;
    made->integer.digits = pel_buf_str(&digits);
    return pel_logged_const(rec, made);
}

static pel_id opaque(pel_recording *rec, pel_val v) {
    return text_value(rec, PEL_V_OPAQUE, pel_str_of(pel_type_text(rec->vm, v)));
}

static pel_id library_value(pel_recording *rec, pel_val v) {
    pel_str path = pel_logged_name(rec, v);
    return path.len ? text_value(rec, PEL_V_LIBRARY, path) : opaque(rec, v);
}

static pel_id function_value(pel_recording *rec, pel_val v, int depth) {
    pel_str path = pel_logged_name(rec, v);
    if (path.len) return text_value(rec, PEL_V_LIBRARY, path);
    pel_function *f = (pel_function *)v;
    if (f->code->is_stub || !f->code->nodes) return opaque(rec, v);
    pel_id code = pel_logged_codeobj(rec, f->code, f->globals, 0)->row;
    gathered cells = { 0 };
    cells.truncated = depth >= MAX_DEPTH && f->code->n_free;
    for (uint32_t i = 0; i < f->code->n_free && !cells.truncated; i++) {
        pel_val content = f->closure ? ((pel_cell *)f->closure[i])->value : NULL;
        if (content)
            gather(rec, &cells, content, depth);
        else
            pel_push(rec->ctx, &cells.at, 0);
    }
    return container(rec, PEL_V_FUNCTION, &cells, code, f->code->n_free ? number_of(rec, v) : 0);
}

static pel_id class_value(pel_recording *rec, pel_type *type) {
    pel_str path = pel_logged_name(rec, &type->head);
    if (path.len) return text_value(rec, PEL_V_LIBRARY, path);
    return intern(rec, &(pel_value){ .kind = PEL_V_CLASS, .class = pel_logged_class(rec, type) });
}

static pel_id partial_value(pel_recording *rec, pel_val v, int depth) {
    pel_val func = pel_dict_get_c(rec->vm, v->attrs, "func"), args = pel_dict_get_c(rec->vm, v->attrs, "args"),
            keywords = pel_dict_get_c(rec->vm, v->attrs, "keywords");
    return func && args && keywords ? three(rec, PEL_V_PARTIAL, func, args, keywords, depth) : opaque(rec, v);
}

/* Whether what repr() gives is an expression that makes it: inf and nan are names. */
static bool has_plain_literal(pel_vm *vm, pel_val v) {
    if (pel_is_small(v) || v == vm->none || v == vm->true_ || v == vm->false_) return true;
    if (!v->type->is_native) return false;
    if (v->type->layout == PEL_L_FLOAT) return isfinite(((pel_float *)v)->value) != 0;
    return v->type->layout == PEL_L_INT || (pel_is_str(v) && !pel_text_has_symbol(v));
}

/* contextvars.ContextVar('name', default=1); what it holds now is no part of it. Empty: its default has no literal. */
static pel_str context_variable(pel_recording *rec, pel_val v) {
    pel_vm *vm = rec->vm;
    pel_val module = pel_dict_get_c(vm, vm->modules, "contextvars"), name = pel_dict_get_c(vm, v->attrs, "name"),
            initial = pel_dict_get_c(vm, v->attrs, "_default");
    if (!module || !module->attrs || !name || !pel_is_str(name) || !initial) return (pel_str){ "", 0 };
    bool has_default = initial != pel_dict_get_c(vm, module->attrs, "_missing");
    if (has_default && !has_plain_literal(vm, initial)) return (pel_str){ "", 0 };
    pel_str spelled = pel_text_of(pel_repr(vm, name));
    if (!has_default) return pel_format(rec->ctx, "contextvars.ContextVar(%.*s)", PEL_FMT(spelled));
    return pel_format(rec->ctx, "contextvars.ContextVar(%.*s, default=%.*s)", PEL_FMT(spelled),
                      PEL_FMT(pel_text_of(pel_repr(vm, initial))));
}

/* An expression of torch and the standard library that makes an equal object, as the recorder of runs has it
 * (literal_of in python/pellucid/_library.py): the rules of the synthesis know these by their texts. Empty: there is
 * none. */
static pel_str literal_of(pel_recording *rec, pel_val v, pel_str of) {
    pel_str none = { "", 0 };
    if (pel_str_is(of, "contextvars.ContextVar")) return v->attrs ? context_variable(rec, v) : none;
    if (pel_str_is(of, "torch.device")) {
        pel_val text = pel_str_val(rec->vm, v);
        if (text) return pel_format(rec->ctx, "torch.device('%.*s')", PEL_FMT(pel_text_of(text)));
        pel_forget(rec->vm);
        return none;
    }
    if (!v->attrs || (!pel_str_is(of, "torch.finfo") && !pel_str_is(of, "torch.iinfo"))) return none;
    pel_val dtype = pel_dict_get_c(rec->vm, v->attrs, "dtype");
    if (!dtype || !pel_is_str(dtype)) return none;
    return pel_format(rec->ctx, "%.*s(torch.%.*s)", PEL_FMT(of), PEL_FMT(pel_text_of(dtype)));
}

static pel_id object_value(pel_recording *rec, pel_val v, int depth) {
    pel_str path = pel_logged_name(rec, v), of = pel_logged_name(rec, &v->type->head);
    if (path.len) return text_value(rec, PEL_V_LIBRARY, path);
    if (pel_str_is(of, "functools.partial") && v->attrs) return partial_value(rec, v, depth);
    pel_str literal = literal_of(rec, v, of);
    if (literal.len) { /* what one function sets another one gets: a context variable is an object */
        uint64_t object = pel_str_is(of, "contextvars.ContextVar") ? number_of(rec, v) : 0;
        return intern(rec, &(pel_value){ .kind = PEL_V_LITERAL, .text = literal, .object = object });
    }
    /* what it holds may lead back to it: one row that grows, not one for each state */
    uint64_t known;
    if (pel_map_get(&rec->objects, PEL_KEY(v), &known)) return (pel_id)known;
    pel_value row = { .kind = PEL_V_OBJECT, .class = pel_logged_class(rec, v->type), .object = number_of(rec, v) };
    pel_push(rec->ctx, &rec->log->values, row);
    pel_id id = rec->log->values.n - 1;
    pel_map_set(rec->ctx, &rec->objects, PEL_KEY(v), id);
    gathered items = { 0 };
    uint32_t at = 0;
    items.truncated = depth >= MAX_DEPTH && v->attrs;
    for (pel_entry *entry; v->attrs && !items.truncated && (entry = pel_dict_next(v->attrs, &at));) {
        gather(rec, &items, entry->key, depth);
        gather(rec, &items, entry->value, depth);
    }
    rec->log->values.at[id].items = items.at.at;
    rec->log->values.at[id].n = items.at.n;
    rec->log->values.at[id].truncated = items.truncated;
    return id;
}

static pel_id constant_value(pel_recording *rec, pel_val v) {
    pel_ctx *ctx = rec->ctx;
    switch (v->type->layout) {
    case PEL_L_FLOAT: return pel_logged_const(rec, pel_const_float(ctx, ((pel_float *)v)->value));
    case PEL_L_STR: return pel_logged_const(rec, pel_const_str(ctx, pel_text_of(v)));
    case PEL_L_BYTES: return pel_logged_const(rec, pel_const_bytes(ctx, pel_text_of(v)));
    case PEL_L_COMPLEX: {
        pel_const *made = pel_new(ctx, pel_const);
        made->kind = PEL_CONST_COMPLEX;
        made->real = ((pel_float *)v)->value;
        made->imag = ((pel_float *)v)->imag;
        return pel_logged_const(rec, made);
    }
    default: return opaque(rec, v);
    }
}

/* A subclass of int, float or str may hold attributes that a constant would lose, so it becomes an object. Symbols and
 * ranges of unknown length are opaque: the log says their type and nothing else. */
static pel_id value_at(pel_recording *rec, pel_val v, int depth) {
    pel_vm *vm = rec->vm;
    if (pel_is_small(v)) return int_value(rec, v);
    if (v == vm->none) return pel_logged_const(rec, &pel_none);
    if (v == vm->true_ || v == vm->false_) return pel_logged_const(rec, pel_const_bool(v == vm->true_));
    if (v == vm->ellipsis) return pel_logged_const(rec, &pel_ellipsis);
    switch (v->type->layout) {
    case PEL_L_INT: return v->type->is_native ? int_value(rec, v) : object_value(rec, v, depth);
    case PEL_L_FLOAT:
    case PEL_L_STR:
    case PEL_L_BYTES:
    case PEL_L_COMPLEX: return v->type->is_native ? constant_value(rec, v) : object_value(rec, v, depth);
    case PEL_L_TUPLE:
    case PEL_L_LIST: return sequence_value(rec, v, depth);
    case PEL_L_DICT:
    case PEL_L_SET: return dict_value(rec, v, depth);
    case PEL_L_SLICE: {
        const pel_slice *slice = (pel_slice *)v;
        return three(rec, PEL_V_SLICE, slice->start, slice->stop, slice->step, depth);
    }
    case PEL_L_RANGE: {
        const pel_vm_range *range = (pel_vm_range *)v;
        if (range->count) return opaque(rec, v);
        return three(rec, PEL_V_RANGE, pel_int_of(vm, range->start), pel_int_of(vm, range->stop),
                     pel_int_of(vm, range->step), depth);
    }
    case PEL_L_METHOD: {
        gathered both = { 0 };
        gather(rec, &both, ((pel_method *)v)->self, depth);
        gather(rec, &both, ((pel_method *)v)->func, depth);
        return container(rec, PEL_V_METHOD, &both, 0, 0);
    }
    case PEL_L_TYPE: return class_value(rec, pel_as_type(v));
    case PEL_L_FUNCTION: return function_value(rec, v, depth);
    case PEL_L_NATIVE:
    case PEL_L_MODULE: return library_value(rec, v);
    case PEL_L_OBJECT:
        if (pel_is_shaped(vm, v))
            return intern(rec, &(pel_value){ .kind = PEL_V_TENSOR, .tensor = pel_logged_tensor(rec, v) });
        if (pel_module_kind_of(rec->scanner, v->type) == PEL_TORCH_MODULE)
            return intern(rec, &(pel_value){ .kind = PEL_V_MODULE, .module = pel_logged_module(rec, v) });
        return object_value(rec, v, depth);
    default: return opaque(rec, v);
    }
}

pel_id pel_logged_value(pel_recording *rec, pel_val v) { return v ? value_at(rec, v, 0) : 0; }
