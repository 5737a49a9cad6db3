/* dict, set, frozenset, and the views of dicts. */
#include "interp/vm.h"

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

/* ---- dict ---- */

METHOD(dict_new) {
    (void)kw;
    if (n > 1 && pel_is_symbol(args[1]) && args[0] == &vm->types.dict->head) /* which keys it has is not known */
        return pel_symbol_from(vm, pel_format(vm->ctx, "dict(%.*s)", PEL_FMT(pel_symbol_arg(vm, args[1]))), args[1]);
    return pel_make_object(vm, pel_as_type(args[0]), sizeof(pel_dict));
}
static pel_val update_from(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_dict *dict = pel_dict_at(args[0]);
    if (n > 1 && !pel_dict_update(vm, dict, args[1])) return NULL;
    for (uint32_t i = 0; kw && i < kw->n; i++) pel_dict_set_str(vm, dict, kw->names[i], kw->values[i]);
    return vm->none;
}
METHOD(dict_init) { return update_from(vm, args, n, kw); }
METHOD(dict_update) { return update_from(vm, args, n, kw); }

METHOD(dict_get) {
    IGNORE();
    pel_val found;
    if (pel_is_symbol(args[1]) && !pel_is_apart(args[1])) {
        pel_val item = pel_getitem(vm, args[0], args[1]);
        return item;
    }
    if (!pel_dict_get(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    return found ? found : n > 2 ? args[2] : vm->none;
}
METHOD(dict_setdefault) {
    IGNORE();
    pel_val found;
    if (!pel_dict_get(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    if (found) return found;
    found = n > 2 ? args[2] : vm->none;
    return pel_dict_set(vm, pel_dict_at(args[0]), args[1], found) ? found : NULL;
}
METHOD(dict_pop) {
    IGNORE();
    pel_val found;
    if (!pel_dict_del(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    if (found) return found;
    return n > 2 ? args[2] : pel_raise_with(vm, vm->types.KeyError, args[1]);
}
METHOD(dict_popitem) {
    pel_val p[1];
    if (!pel_args(vm, "popitem", "last", args + 1, n - 1, kw, 0, p)) return NULL;
    pel_dict *dict = pel_dict_at(args[0]);
    if (!dict->live) return pel_raise(vm, vm->types.KeyError, "popitem(): dictionary is empty");
    uint32_t at = 0;
    pel_entry *entry = NULL;
    if (p[0] && pel_truth(vm, p[0]) == 0) {
        entry = pel_dict_next(dict, &at);
    } else {
        at = dict->n;
        while (!dict->entries[--at].key) continue;
        entry = &dict->entries[at];
    }
    pel_val pair = pel_tuple2(vm, entry->key, entry->value), ignored;
    return pel_dict_del(vm, dict, entry->key, &ignored) ? pair : NULL;
}
METHOD(dict_clear) {
    IGNORE();
    pel_dict_clear(pel_dict_at(args[0]));
    return vm->none;
}
METHOD(dict_copy) {
    IGNORE();
    pel_val made = pel_is_set(args[0]) ? pel_new_set(vm, args[0]->type) : pel_new_dict(vm);
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(args[0]), &at));)
        if (!pel_dict_set(vm, pel_dict_at(made), entry->key, entry->value)) return NULL;
    return made;
}
METHOD(dict_fromkeys) {
    (void)kw;
    pel_val made = pel_call0(vm, args[0]), *keys;
    uint32_t count;
    if (!made || !pel_collect(vm, args[1], &keys, &count)) return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (!pel_setitem(vm, made, keys[i], n > 2 ? args[2] : vm->none)) return NULL;
    return made;
}

static pel_val view_of(pel_vm *vm, pel_type *type, pel_val dict) {
    pel_dict_view *view = pel_make_object(vm, type, sizeof *view);
    view->dict = pel_dict_at(dict);
    return &view->head;
}
METHOD(dict_keys) {
    IGNORE();
    return view_of(vm, vm->types.dict_keys, args[0]);
}
METHOD(dict_values) {
    IGNORE();
    return view_of(vm, vm->types.dict_values, args[0]);
}
METHOD(dict_items) {
    IGNORE();
    return view_of(vm, vm->types.dict_items, args[0]);
}
METHOD(dict_len) {
    IGNORE();
    return pel_int_of(vm, pel_dict_at(args[0])->live);
}
METHOD(dict_contains) {
    IGNORE();
    pel_val found;
    return pel_dict_get(vm, pel_dict_at(args[0]), args[1], &found) ? pel_bool_of(vm, found != NULL) : NULL;
}
METHOD(dict_getitem) {
    IGNORE();
    pel_val found;
    if (!pel_dict_get(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    if (found) return found;
    if (pel_lookup(vm, args[0]->type, vm->names.s_missing))
        return pel_call_special(vm, args[0], vm->names.s_missing, &args[1], 1);
    if (pel_is_symbol(args[1]) && !pel_is_apart(args[1]))
        return pel_symbol_from(vm, pel_format(vm->ctx, "{…}[%.*s]", PEL_FMT(((pel_symbol *)args[1])->text)), args[1]);
    return pel_raise_with(vm, vm->types.KeyError, args[1]);
}
METHOD(dict_setitem) {
    IGNORE();
    return pel_dict_set(vm, pel_dict_at(args[0]), args[1], args[2]) ? vm->none : NULL;
}
METHOD(dict_delitem) {
    IGNORE();
    pel_val found;
    if (!pel_dict_del(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    return found ? vm->none : pel_raise_with(vm, vm->types.KeyError, args[1]);
}
static pel_val as_plain(pel_vm *vm, pel_val v, pel_type *type) { /* the same entries, seen as the builtin type */
    pel_dict *copy = pel_make_object(vm, type, sizeof *copy);
    pel_object head = copy->head;
    *copy = *pel_dict_at(v);
    copy->head = head;
    return &copy->head;
}
METHOD(dict_iter) {
    IGNORE();
    pel_type *type = args[0]->type;
    args[0]->type = pel_is_set(args[0]) ? vm->types.set : vm->types.dict;
    pel_val iter = pel_iter_of(vm, args[0]);
    args[0]->type = type;
    return iter;
}
METHOD(dict_reversed) {
    IGNORE();
    pel_val list = pel_list_of(vm, NULL, 0);
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(args[0]), &at));) pel_list_push(vm, list, entry->key);
    return pel_call1(vm, &vm->types.reversed->head, list);
}
METHOD(dict_eq) {
    IGNORE();
    if (!pel_is_dict(args[1])) return vm->not_implemented;
    int equal = pel_equal(vm, as_plain(vm, args[0], vm->types.dict), as_plain(vm, args[1], vm->types.dict));
    return equal < 0 ? NULL : pel_bool_of(vm, equal);
}
METHOD(dict_repr) {
    IGNORE();
    return pel_repr(vm, as_plain(vm, args[0], vm->types.dict));
}
METHOD(dict_or) {
    IGNORE();
    if (!pel_is_dict(args[1])) return vm->not_implemented;
    return pel_binary(vm, PEL_BitOr, as_plain(vm, args[0], vm->types.dict), as_plain(vm, args[1], vm->types.dict));
}
/* OrderedDict derives from dict, so this lives here. */
METHOD(dict_move_to_end) {
    pel_val p[2];
    if (!pel_args(vm, "move_to_end", "key,last", args + 1, n - 1, kw, 1, p)) return NULL;
    pel_val found;
    if (!pel_dict_del(vm, pel_dict_at(args[0]), p[0], &found)) return NULL;
    if (!found) return pel_raise_with(vm, vm->types.KeyError, p[0]);
    pel_val rest = NULL;
    if (p[1] && pel_truth(vm, p[1]) == 0) {
        rest = pel_call_native(vm, (pel_native *)pel_new_native(vm, "copy", dict_copy, 1, 1, false), args, 1, NULL);
        pel_dict_clear(pel_dict_at(args[0]));
    }
    if (!pel_dict_set(vm, pel_dict_at(args[0]), p[0], found)) return NULL;
    return !rest || pel_dict_update(vm, pel_dict_at(args[0]), rest) ? vm->none : NULL;
}

/* ---- set ---- */

static bool add_all(pel_vm *vm, pel_dict *set, pel_val from) {
    if (pel_is_set(from) || (pel_is_dict(from) && from->type->is_native)) {
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(from), &at));)
            if (!pel_dict_set(vm, set, entry->key, vm->none)) return false;
        return true;
    }
    pel_val *items;
    uint32_t n;
    if (!pel_collect(vm, from, &items, &n)) return false;
    pel_fill_set(vm, &set->head, vm->collected);
    for (uint32_t i = 0; i < n; i++)
        if (!pel_dict_set(vm, set, items[i], vm->none)) return false;
    return true;
}
METHOD(set_new) {
    IGNORE();
    return pel_make_object(vm, pel_as_type(args[0]), sizeof(pel_dict));
}
METHOD(frozenset_new) {
    IGNORE();
    if (n > 1 && args[0] == &vm->types.frozenset->head && pel_is(args[1], PEL_L_SET) &&
        args[1]->type == vm->types.frozenset)
        return args[1];
    pel_val made = pel_make_object(vm, pel_as_type(args[0]), sizeof(pel_dict));
    return n < 2 || add_all(vm, pel_dict_at(made), args[1]) ? made : NULL;
}
METHOD(set_init) {
    IGNORE();
    pel_dict_clear(pel_dict_at(args[0]));
    return n < 2 || add_all(vm, pel_dict_at(args[0]), args[1]) ? vm->none : NULL;
}
METHOD(set_add) {
    IGNORE();
    return pel_dict_set(vm, pel_dict_at(args[0]), args[1], vm->none) ? vm->none : NULL;
}
METHOD(set_discard) {
    IGNORE();
    pel_val found;
    return pel_dict_del(vm, pel_dict_at(args[0]), args[1], &found) ? vm->none : NULL;
}
METHOD(set_remove) {
    IGNORE();
    pel_val found;
    if (!pel_dict_del(vm, pel_dict_at(args[0]), args[1], &found)) return NULL;
    return found ? vm->none : pel_raise_with(vm, vm->types.KeyError, args[1]);
}
METHOD(set_pop) {
    IGNORE();
    uint32_t at = 0;
    pel_entry *entry = pel_dict_next(pel_dict_at(args[0]), &at);
    if (!entry) return pel_raise(vm, vm->types.KeyError, "pop from an empty set");
    pel_val key = entry->key, ignored;
    return pel_dict_del(vm, pel_dict_at(args[0]), key, &ignored) ? key : NULL;
}
METHOD(set_update) {
    (void)kw;
    for (uint32_t i = 1; i < n; i++)
        if (!add_all(vm, pel_dict_at(args[0]), args[i])) return NULL;
    return vm->none;
}

/* With each argument in turn, which may be any iterable. */
static pel_val combine(pel_vm *vm, pel_val *args, uint32_t n, pel_OPERATOR op, bool in_place) {
    pel_val made =
        as_plain(vm, args[0], pel_is_subtype(args[0]->type, vm->types.frozenset) ? vm->types.frozenset : vm->types.set);
    if (n == 1) return dict_copy(vm, &made, 1, NULL);
    for (uint32_t i = 1; i < n; i++) {
        pel_val other = args[i];
        if (!pel_is_set(other)) {
            other = pel_new_set(vm, vm->types.set);
            if (!add_all(vm, pel_dict_at(other), args[i])) return NULL;
        } else {
            other = as_plain(vm, other, vm->types.set);
        }
        made = pel_binary(vm, op, made, other);
        if (!made) return NULL;
    }
    if (!in_place) return made;
    pel_object head = *args[0];
    *pel_dict_at(args[0]) = *pel_dict_at(made);
    *args[0] = head;
    return vm->none;
}
METHOD(set_union) {
    (void)kw;
    return combine(vm, args, n, PEL_BitOr, false);
}
METHOD(set_intersection) {
    (void)kw;
    return combine(vm, args, n, PEL_BitAnd, false);
}
METHOD(set_difference) {
    (void)kw;
    return combine(vm, args, n, PEL_Sub, false);
}
METHOD(set_symmetric) {
    (void)kw;
    return combine(vm, args, n, PEL_BitXor, false);
}
METHOD(set_difference_update) {
    (void)kw;
    return combine(vm, args, n, PEL_Sub, true);
}
METHOD(set_intersection_update) {
    (void)kw;
    return combine(vm, args, n, PEL_BitAnd, true);
}

static pel_val contains_all(pel_vm *vm, pel_val small, pel_val large) {
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(small), &at));) {
        pel_val found;
        if (!pel_dict_get(vm, pel_dict_at(large), entry->key, &found)) return NULL;
        if (!found) return vm->false_;
    }
    return vm->true_;
}
static pel_val as_set(pel_vm *vm, pel_val v) {
    if (pel_is_set(v)) return v;
    pel_val made = pel_new_set(vm, vm->types.set);
    return add_all(vm, pel_dict_at(made), v) ? made : NULL;
}
METHOD(set_issubset) {
    IGNORE();
    pel_val other = as_set(vm, args[1]);
    return other ? contains_all(vm, args[0], other) : NULL;
}
METHOD(set_issuperset) {
    IGNORE();
    pel_val other = as_set(vm, args[1]);
    return other ? contains_all(vm, other, args[0]) : NULL;
}
METHOD(set_isdisjoint) {
    IGNORE();
    pel_val other = as_set(vm, args[1]);
    if (!other) return NULL;
    pel_val both = combine(vm, (pel_val[]){ args[0], other }, 2, PEL_BitAnd, false);
    return both ? pel_bool_of(vm, !pel_dict_at(both)->live) : NULL;
}
METHOD(set_hash) {
    IGNORE();
    uint64_t hash;
    return pel_hash_of(vm, as_plain(vm, args[0], vm->types.frozenset), &hash) ? pel_int_of(vm, (int64_t)(hash >> 2))
                                                                              : NULL;
}

/* ---- views ---- */

METHOD(view_get) {
    IGNORE();
    pel_val found;
    if (!pel_dict_get(vm, ((pel_dict_view *)args[0])->dict, args[1], &found)) return NULL;
    return found ? found : n > 2 ? args[2] : vm->none;
}
static pel_val view_dict(pel_val self) { return &((pel_dict_view *)self)->dict->head; }
METHOD(proxy_new) {
    IGNORE();
    if (n < 2 || !pel_is_dict(args[1])) return pel_raise(vm, vm->types.TypeError, "mappingproxy() needs a dict");
    return view_of(vm, vm->types.mappingproxy, args[1]);
}
METHOD(proxy_keys) {
    IGNORE();
    return view_of(vm, vm->types.dict_keys, view_dict(args[0]));
}
METHOD(proxy_values) {
    IGNORE();
    return view_of(vm, vm->types.dict_values, view_dict(args[0]));
}
METHOD(proxy_items) {
    IGNORE();
    return view_of(vm, vm->types.dict_items, view_dict(args[0]));
}
METHOD(proxy_copy) {
    IGNORE();
    pel_val dict = view_dict(args[0]);
    return dict_copy(vm, &dict, 1, NULL);
}
METHOD(view_iter) {
    IGNORE();
    return pel_iter_of(vm, args[0]);
}
METHOD(view_len) {
    IGNORE();
    return pel_int_of(vm, ((pel_dict_view *)args[0])->dict->live);
}
METHOD(view_contains) {
    IGNORE();
    int found = pel_contains(vm, args[0], args[1]);
    return found < 0 ? NULL : pel_bool_of(vm, found);
}
METHOD(view_getitem) {
    IGNORE();
    return pel_getitem(vm, args[0], args[1]);
}
METHOD(view_isdisjoint) {
    IGNORE();
    pel_val mine = pel_new_set(vm, vm->types.set);
    if (!add_all(vm, pel_dict_at(mine), args[0])) return NULL;
    return set_isdisjoint(vm, (pel_val[]){ mine, args[1] }, 2, NULL);
}

static void add_new(pel_vm *vm, pel_type *type, pel_native_fn *fn) {
    pel_dict_set_str(vm, pel_attrs(vm, &type->head), vm->names.s_new, pel_new_native(vm, "__new__", fn, 1, -1, true));
}

/* A set keeps its items as a dict keeps its keys, so the rows of `both` serve the two. dict and set need a __hash__ of
 * None: else they would inherit that of object. move_to_end is here because OrderedDict is a plain subclass. */
void pel_init_dict(pel_vm *vm) {
    static const pel_native_row dicts[] = {
        { "__init__", dict_init, 1, 2, true },
        { "update", dict_update, 1, 2, true },
        { "get", dict_get, 2, 3 },
        { "setdefault", dict_setdefault, 2, 3 },
        { "pop", dict_pop, 2, 3 },
        { "popitem", dict_popitem, 1, 2, true },
        { "keys", dict_keys, 1, 1 },
        { "values", dict_values, 1, 1 },
        { "items", dict_items, 1, 1 },
        { "__getitem__", dict_getitem, 2, 2 },
        { "__setitem__", dict_setitem, 3, 3 },
        { "__delitem__", dict_delitem, 2, 2 },
        { "__eq__", dict_eq, 2, 2 },
        { "__repr__", dict_repr, 1, 1 },
        { "__or__", dict_or, 2, 2 },
        { "__reversed__", dict_reversed, 1, 1 },
        { "move_to_end", dict_move_to_end, 2, 3, true },
        { NULL },
    };
    static const pel_native_row both[] = {
        { "clear", dict_clear, 1, 1 },           { "copy", dict_copy, 1, 1 },     { "__len__", dict_len, 1, 1 },
        { "__contains__", dict_contains, 2, 2 }, { "__iter__", dict_iter, 1, 1 }, { NULL },
    };
    static const pel_native_row mutable_sets[] = {
        { "__init__", set_init, 1, 2 },
        { "add", set_add, 2, 2 },
        { "discard", set_discard, 2, 2 },
        { "remove", set_remove, 2, 2 },
        { "pop", set_pop, 1, 1 },
        { "update", set_update, 1, -1 },
        { "difference_update", set_difference_update, 1, -1 },
        { "intersection_update", set_intersection_update, 1, -1 },
        { NULL },
    };
    static const pel_native_row sets[] = {
        { "union", set_union, 1, -1 },           { "intersection", set_intersection, 1, -1 },
        { "difference", set_difference, 1, -1 }, { "symmetric_difference", set_symmetric, 2, 2 },
        { "issubset", set_issubset, 2, 2 },      { "issuperset", set_issuperset, 2, 2 },
        { "isdisjoint", set_isdisjoint, 2, 2 },  { NULL },
    };
    static const pel_native_row hashed[] = { { "__hash__", set_hash, 1, 1 }, { NULL } };
    static const pel_native_row views[] = {
        { "__iter__", view_iter, 1, 1 },
        { "__len__", view_len, 1, 1 },
        { "__contains__", view_contains, 2, 2 },
        { "isdisjoint", view_isdisjoint, 2, 2 },
        { NULL },
    };
    static const pel_native_row proxies[] = {
        { "get", view_get, 2, 3 },
        { "keys", proxy_keys, 1, 1 },
        { "values", proxy_values, 1, 1 },
        { "items", proxy_items, 1, 1 },
        { "copy", proxy_copy, 1, 1 },
        { "__getitem__", view_getitem, 2, 2 },
        { NULL },
    };
    pel_add_methods(vm, vm->types.dict, dicts);
    pel_add_methods(vm, vm->types.dict, both);
    pel_type *set_types[] = { vm->types.set, vm->types.frozenset };
    for (int i = 0; i < 2; i++) {
        pel_add_methods(vm, set_types[i], both);
        pel_add_methods(vm, set_types[i], sets);
    }
    pel_add_methods(vm, vm->types.set, mutable_sets);
    pel_add_methods(vm, vm->types.frozenset, hashed);
    pel_dict_set_str(vm, pel_attrs(vm, &vm->types.dict->head), vm->names.s_hash, vm->none);
    pel_dict_set_str(vm, pel_attrs(vm, &vm->types.set->head), vm->names.s_hash, vm->none);
    add_new(vm, vm->types.dict, dict_new);
    add_new(vm, vm->types.set, set_new);
    add_new(vm, vm->types.frozenset, frozenset_new);
    add_new(vm, vm->types.mappingproxy, proxy_new);
    pel_wrapper *fromkeys = pel_make_object(vm, vm->types.classmethod, sizeof *fromkeys);
    fromkeys->func = pel_new_native(vm, "fromkeys", dict_fromkeys, 2, 3, false);
    pel_dict_set_c(vm, vm->types.dict->head.attrs, "fromkeys", &fromkeys->head);
    pel_type *view_types[] = { vm->types.dict_keys, vm->types.dict_values, vm->types.dict_items,
                               vm->types.mappingproxy };
    for (int i = 0; i < 4; i++) pel_add_methods(vm, view_types[i], views);
    pel_add_methods(vm, vm->types.mappingproxy, proxies);
}
