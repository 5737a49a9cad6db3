/* list, tuple, range, slice, and the iterators that builtins give. */
#include "interp/vm.h"

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

/* ---- making ---- */

METHOD(list_new) {
    IGNORE();
    return pel_make_object(vm, pel_as_type(args[0]), sizeof(pel_list));
}
METHOD(list_init) {
    IGNORE();
    pel_list_at(args[0])->n = 0;
    if (n > 1 && !pel_extend(vm, args[0], args[1])) return NULL;
    return vm->none;
}
METHOD(tuple_new) {
    IGNORE();
    pel_val *items = NULL;
    uint32_t count = 0;
    if (n > 1 && args[0] == &vm->types.tuple->head && !pel_is_small(args[1]) && args[1]->type == vm->types.tuple)
        return args[1];
    if (n > 1 && !pel_collect(vm, args[1], &items, &count)) return NULL;
    if (args[0] == &vm->types.tuple->head) {
        pel_val made = pel_tuple_of(vm, items, count);
        if (n > 1 && vm->collected) pel_copy_times(vm, vm->collected, made);
        return made;
    }
    pel_tuple *made = pel_make_object(vm, pel_as_type(args[0]), sizeof *made + count * sizeof(pel_val));
    made->n = count;
    if (count) memcpy(made->at, items, count * sizeof *items);
    return &made->head;
}

/* ---- list ---- */

METHOD(list_append) {
    IGNORE();
    pel_list_push(vm, args[0], args[1]);
    return vm->none;
}
METHOD(list_extend) {
    IGNORE();
    return pel_extend(vm, args[0], args[1]) ? vm->none : NULL;
}
METHOD(list_insert) {
    IGNORE();
    int64_t at;
    if (!pel_index(vm, args[1], &at)) return NULL;
    pel_list *list = pel_list_at(args[0]);
    if (at < 0) at += list->n;
    if (at < 0) at = 0;
    if (at > list->n) at = list->n;
    pel_list_push(vm, args[0], vm->none);
    pel_spend(vm, (list->n - (size_t)at) / 16);
    memmove(list->at + at + 1, list->at + at, (list->n - 1 - (size_t)at) * sizeof *list->at);
    list->at[at] = args[2];
    pel_resized(vm, args[0]);
    return vm->none;
}
METHOD(list_pop) {
    IGNORE();
    pel_list *list = pel_list_at(args[0]);
    int64_t at = -1;
    if (n > 1 && !pel_index(vm, args[1], &at)) return NULL;
    if (!list->n) return pel_raise(vm, vm->types.IndexError, "pop from empty list");
    if (at < 0) at += list->n;
    if (at < 0 || at >= list->n) return pel_raise(vm, vm->types.IndexError, "pop index out of range");
    pel_val v = list->at[at];
    pel_spend(vm, (list->n - (size_t)at) / 16);
    memmove(list->at + at, list->at + at + 1, (list->n - (size_t)at - 1) * sizeof *list->at);
    list->n--;
    pel_resized(vm, args[0]);
    return vm->repeating.n ? pel_run_loop_takes(vm, args[0], v) : v;
}
static pel_val find_index(pel_vm *vm, pel_val *args, uint32_t n, int64_t *found) {
    uint32_t count;
    pel_items(args[0], &count);
    int64_t start = 0, stop = count;
    if (n > 2 && !pel_index(vm, args[2], &start)) return NULL;
    if (n > 3 && !pel_index(vm, args[3], &stop)) return NULL;
    if (start < 0) start = start + count < 0 ? 0 : start + count;
    if (stop < 0) stop += count;
    *found = -1;
    for (int64_t i = start; i < stop; i++) {
        pel_val *items = pel_items(args[0], &count);
        if (i >= count) break;
        int equal = items[i] == args[1] ? 1 : pel_equal(vm, items[i], args[1]);
        if (equal < 0) return NULL;
        if (equal) {
            *found = i;
            break;
        }
    }
    return vm->none;
}
METHOD(seq_index) {
    (void)kw;
    int64_t found;
    if (!find_index(vm, args, n, &found)) return NULL;
    if (found >= 0) return pel_int_of(vm, found);
    pel_val repr = pel_repr(vm, args[1]);
    return pel_raise(vm, vm->types.ValueError, "%s is not in %s", repr ? pel_string_at(repr)->text : "?",
                     pel_is_list(args[0]) ? "list" : "tuple");
}
METHOD(list_remove) {
    IGNORE();
    int64_t found;
    if (!find_index(vm, args, 2, &found)) return NULL;
    if (found < 0) return pel_raise(vm, vm->types.ValueError, "list.remove(x): x not in list");
    pel_list *list = pel_list_at(args[0]);
    pel_spend(vm, list->n / 16);
    memmove(list->at + found, list->at + found + 1, (list->n - (size_t)found - 1) * sizeof *list->at);
    list->n--;
    pel_resized(vm, args[0]);
    return vm->none;
}
METHOD(seq_count) {
    IGNORE();
    uint32_t count;
    int64_t same = 0;
    pel_items(args[0], &count);
    for (uint32_t i = 0; i < count; i++) {
        pel_val *items = pel_items(args[0], &count);
        int equal = items[i] == args[1] ? 1 : pel_equal(vm, items[i], args[1]);
        if (equal < 0) return NULL;
        same += equal;
    }
    return pel_int_of(vm, same);
}
METHOD(list_reverse) {
    IGNORE();
    pel_list *list = pel_list_at(args[0]);
    for (uint32_t i = 0; i < list->n / 2; i++) {
        pel_val v = list->at[i];
        list->at[i] = list->at[list->n - 1 - i];
        list->at[list->n - 1 - i] = v;
    }
    return vm->none;
}
METHOD(list_clear) {
    IGNORE();
    pel_list_at(args[0])->n = 0;
    return vm->none;
}
METHOD(list_copy) {
    IGNORE();
    pel_val made = pel_list_of(vm, pel_list_at(args[0])->at, pel_list_at(args[0])->n);
    pel_copy_times(vm, args[0], made);
    return made;
}

/* Merge sort: stable, and a comparison that raises leaves the list as it was. keys move with values. */
static bool merge_sort(pel_vm *vm, pel_val *keys, pel_val *values, pel_val *room, uint32_t n, bool reverse) {
    if (n < 2) return true;
    uint32_t half = n / 2;
    if (!merge_sort(vm, keys, values, room, half, reverse) ||
        !merge_sort(vm, keys + half, values + half, room, n - half, reverse))
        return false;
    uint32_t a = 0, b = half, at = 0;
    while (a < half && b < n) {
        int take_b = reverse ? pel_less(vm, keys[a], keys[b]) : pel_less(vm, keys[b], keys[a]);
        if (take_b < 0) return false;
        uint32_t from = take_b ? b++ : a++;
        room[2 * at] = keys[from];
        room[2 * at++ + 1] = values[from];
    }
    while (a < half) room[2 * at] = keys[a], room[2 * at++ + 1] = values[a++];
    for (uint32_t i = 0; i < at; i++) keys[i] = room[2 * i], values[i] = room[2 * i + 1];
    return true;
}

static bool sort_list(pel_vm *vm, pel_val list, pel_val key, pel_val reverse) {
    pel_list *l = pel_list_at(list);
    uint32_t n = l->n;
    if (n < 2) return true;
    pel_val *values = pel_alloc_raw(vm->ctx, n * sizeof *values), *keys = values;
    memcpy(values, l->at, n * sizeof *values);
    int backwards = reverse ? pel_truth(vm, reverse) : 0;
    if (backwards < 0) return false;
    keys = pel_alloc_raw(vm->ctx, n * sizeof *keys);
    for (uint32_t i = 0; i < n; i++) {
        keys[i] = key && key != vm->none ? pel_call1(vm, key, values[i]) : values[i];
        if (!keys[i]) return false;
    }
    pel_val *room = pel_alloc_raw(vm->ctx, 2 * (size_t)n * sizeof *room);
    if (!merge_sort(vm, keys, values, room, n, backwards)) return false;
    l->at = values;
    l->n = l->cap = n;
    return true;
}
METHOD(list_sort) {
    pel_val p[2];
    if (!pel_args(vm, "sort", "key,reverse", args + 1, n - 1, kw, 0, p)) return NULL;
    return sort_list(vm, args[0], p[0], p[1]) ? vm->none : NULL;
}
METHOD(sorted_native) {
    pel_val p[3];
    if (!pel_args(vm, "sorted", "iterable,key,reverse", args, n, kw, 1, p)) return NULL;
    pel_val list = pel_list_of(vm, NULL, 0);
    if (!pel_extend(vm, list, p[0]) || !sort_list(vm, list, p[1], p[2])) return NULL;
    return list;
}

/* ---- shared dunders ---- */

METHOD(seq_len) {
    IGNORE();
    uint32_t count;
    pel_items(args[0], &count);
    return pel_int_of(vm, count);
}
static pel_val plain_copy(pel_vm *vm, pel_val v) { /* of a subclass, so that its own dunders are not asked */
    uint32_t n;
    pel_val *items = pel_items(v, &n);
    return pel_is_tuple(v) ? pel_tuple_of(vm, items, n) : pel_list_of(vm, items, n);
}
METHOD(seq_getitem) {
    IGNORE();
    return pel_getitem(vm, args[0]->type->is_native ? args[0] : plain_copy(vm, args[0]), args[1]);
}
METHOD(seq_setitem) {
    IGNORE();
    pel_type *type = args[0]->type;
    args[0]->type = vm->types.list;
    bool fine = pel_setitem(vm, args[0], args[1], n > 2 ? args[2] : NULL);
    args[0]->type = type;
    return fine ? vm->none : NULL;
}
METHOD(seq_contains) {
    IGNORE();
    int found = pel_contains(vm, args[0]->type->is_native ? args[0] : plain_copy(vm, args[0]), args[1]);
    return found < 0 ? NULL : pel_bool_of(vm, found);
}
METHOD(seq_iter) {
    IGNORE();
    if (args[0]->type->is_native) return pel_iter_of(vm, args[0]);
    pel_type *type = args[0]->type;
    args[0]->type = pel_is_tuple(args[0]) ? vm->types.tuple : vm->types.list;
    pel_val iter = pel_iter_of(vm, args[0]);
    args[0]->type = type;
    return iter;
}
METHOD(seq_add) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    return pel_binary(vm, PEL_Add, plain_copy(vm, args[0]), plain_copy(vm, args[1]));
}
METHOD(seq_mul) {
    IGNORE();
    return pel_binary(vm, PEL_Mult, plain_copy(vm, args[0]), args[1]);
}
METHOD(seq_eq) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    int equal = pel_equal(vm, plain_copy(vm, args[0]), plain_copy(vm, args[1]));
    return equal < 0 ? NULL : pel_bool_of(vm, equal);
}
METHOD(seq_lt) {
    IGNORE();
    if (pel_type_of(vm, args[1])->layout != args[0]->type->layout) return vm->not_implemented;
    return pel_compare(vm, PEL_Lt, plain_copy(vm, args[0]), plain_copy(vm, args[1]));
}
METHOD(seq_hash) {
    IGNORE();
    uint64_t hash;
    return pel_hash_of(vm, plain_copy(vm, args[0]), &hash) ? pel_int_of(vm, (int64_t)(hash >> 2)) : NULL;
}
METHOD(seq_repr) {
    IGNORE();
    return pel_repr(vm, plain_copy(vm, args[0]));
}
METHOD(list_iadd) {
    IGNORE();
    return pel_extend(vm, args[0], args[1]) ? args[0] : NULL;
}

/* ---- range, slice ---- */

METHOD(range_new) {
    (void)kw;
    pel_vm_range *range = pel_make_object(vm, vm->types.range, sizeof *range);
    range->step = 1;
    if (n < 2 || n > 4) return pel_raise(vm, vm->types.TypeError, "range expected 1 to 3 arguments, got %u", n - 1);
    pel_val start = n > 2 ? args[1] : pel_from_small(0), stop = n > 2 ? args[2] : args[1];
    if (pel_is_symbol(start) || pel_is_symbol(stop) || (n > 3 && pel_is_symbol(args[3]))) {
        pel_val count = pel_binary(vm, PEL_Sub, stop, start);
        if (!count) return NULL;
        if (n > 3) { /* rounded up */
            pel_val rest = pel_binary(vm, PEL_Sub, args[3], pel_from_small(1));
            count = rest ? pel_binary(vm, PEL_Add, count, rest) : NULL;
            count = count ? pel_binary(vm, PEL_FloorDiv, count, args[3]) : NULL;
        }
        if (!count) return NULL;
        if (pel_is_symbol(count)) {
            range->count = count;
            bool is_known = pel_is_int(start) && pel_to_i64(start, &range->start) &&
                            (n <= 3 || (pel_is_int(args[3]) && pel_to_i64(args[3], &range->step)));
            if (!is_known) range->step = 0;
            return &range->head;
        }
    }
    if (!pel_index(vm, start, &range->start) || !pel_index(vm, stop, &range->stop)) return NULL;
    if (n > 3 && !pel_index(vm, args[3], &range->step)) return NULL;
    if (!range->step) return pel_raise(vm, vm->types.ValueError, "range() arg 3 must not be zero");
    return &range->head;
}
static pel_val get_start(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_vm_range *)self)->start); }
static pel_val get_stop(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_vm_range *)self)->stop); }
static pel_val get_step(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_vm_range *)self)->step); }
METHOD(range_index) {
    IGNORE();
    int found = pel_contains(vm, args[0], args[1]);
    if (found < 0) return NULL;
    int64_t i;
    if (!found || !pel_index(vm, args[1], &i)) return pel_raise(vm, vm->types.ValueError, "value is not in range");
    return pel_int_of(vm, (i - ((pel_vm_range *)args[0])->start) / ((pel_vm_range *)args[0])->step);
}
METHOD(slice_new) {
    (void)kw;
    if (n == 2) return pel_new_slice(vm, vm->none, args[1], vm->none);
    return pel_new_slice(vm, args[1], args[2], n > 3 ? args[3] : vm->none);
}
static pel_val get_slice_start(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_slice *)self)->start;
}
static pel_val get_slice_stop(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_slice *)self)->stop;
}
static pel_val get_slice_step(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_slice *)self)->step;
}
METHOD(slice_indices) {
    IGNORE();
    int64_t len, start, step, count;
    if (!pel_index(vm, args[1], &len) || !pel_slice_range(vm, args[0], len, &start, &step, &count)) return NULL;
    /* the end itself, clipped as the start was */
    int64_t stop, ignored;
    pel_val end = pel_new_slice(vm, ((pel_slice *)args[0])->stop, vm->none, ((pel_slice *)args[0])->step);
    if (((pel_slice *)args[0])->stop == vm->none)
        stop = step < 0 ? -1 : len;
    else if (!pel_slice_range(vm, end, len, &stop, &ignored, &count))
        return NULL;
    return pel_tuple_of(vm, (pel_val[]){ pel_int_of(vm, start), pel_int_of(vm, stop), pel_int_of(vm, step) }, 3);
}

/* ---- iterators ---- */

static pel_val next_enumerate(pel_vm *vm, pel_iter *iter) {
    uint32_t outside = vm->repeating.n;
    pel_val v = pel_next_of(vm, iter->a);
    if (!v) return NULL;
    if (vm->repeating.n > outside) iter->b = pel_index_symbol(vm, PEL_STR("i"));
    if (pel_is_symbol(iter->b)) return pel_tuple2(vm, iter->b, v);
    pel_val at = iter->b;
    iter->b = pel_binary(vm, PEL_Add, at, pel_from_small(1));
    return iter->b ? pel_tuple2(vm, at, v) : NULL;
}
METHOD(enumerate_new) {
    pel_val p[2];
    if (!pel_args(vm, "enumerate", "iterable,start", args + 1, n - 1, kw, 1, p)) return NULL;
    pel_val inner = pel_iter_of(vm, p[0]);
    if (!inner) return NULL;
    pel_val iter = pel_new_iter(vm, vm->types.enumerate, next_enumerate, inner, 0);
    ((pel_iter *)iter)->b = p[1] ? p[1] : pel_from_small(0);
    return iter;
}

static pel_val next_zip(pel_vm *vm, pel_iter *iter) {
    pel_tuple *inner = pel_tuple_at(iter->a);
    if (!inner->n) return NULL;
    pel_val row = pel_tuple_of(vm, NULL, inner->n);
    uint32_t outside = vm->repeating.n;
    for (uint32_t i = 0; i < inner->n; i++) {
        pel_val v = pel_next_beside(vm, inner->at[i], iter->j ? iter->k : -1);
        if (vm->repeating.n > outside + 1) vm->repeating.n = outside + 1; /* side by side, not one inside the other */
        if (!v) {
            if (vm->raised || !iter->i) return NULL;
            if (i) return pel_raise(vm, vm->types.ValueError, "zip() argument %u is shorter than argument 1", i + 1);
            for (uint32_t k = 1; k < inner->n; k++)
                if (pel_next_of(vm, inner->at[k]))
                    return pel_raise(vm, vm->types.ValueError, "zip() argument %u is longer than argument 1", k + 1);
            return NULL;
        }
        pel_tuple_at(row)->at[i] = v;
    }
    iter->k++;
    return row;
}
METHOD(zip_new) {
    pel_val inner = pel_tuple_of(vm, NULL, n - 1);
    for (uint32_t i = 1; i < n; i++) {
        pel_val iter = pel_iter_of(vm, args[i]);
        if (!iter) return NULL;
        pel_tuple_at(inner)->at[i - 1] = iter;
    }
    pel_val made = pel_new_iter(vm, vm->types.zip, next_zip, inner, 0);
    for (uint32_t i = 0; i < n - 1; i++) /* j: the length of some argument is known */
        ((pel_iter *)made)->j |= !pel_is_symbolic_iter(pel_tuple_at(inner)->at[i]);
    if (kw && kw->n) {
        int strict = pel_truth(vm, kw->values[0]);
        if (strict < 0) return NULL;
        ((pel_iter *)made)->i = strict;
    }
    return made;
}

static pel_val next_map(pel_vm *vm, pel_iter *iter) {
    pel_tuple *inner = pel_tuple_at(iter->b);
    pel_val row[16];
    for (uint32_t i = 0; i < inner->n; i++) {
        row[i] = pel_next_of(vm, inner->at[i]);
        if (!row[i]) return NULL;
    }
    return pel_call(vm, iter->a, row, inner->n, NULL);
}
METHOD(map_new) {
    (void)kw;
    if (n < 3 || n > 18) return pel_raise(vm, vm->types.TypeError, "map() must have at least two arguments.");
    pel_val inner = pel_tuple_of(vm, NULL, n - 2);
    for (uint32_t i = 2; i < n; i++) {
        pel_val iter = pel_iter_of(vm, args[i]);
        if (!iter) return NULL;
        pel_tuple_at(inner)->at[i - 2] = iter;
    }
    pel_val made = pel_new_iter(vm, vm->types.map, next_map, args[1], 0);
    ((pel_iter *)made)->b = inner;
    return made;
}

static pel_val next_filter(pel_vm *vm, pel_iter *iter) {
    for (pel_val v; (v = pel_next_of(vm, iter->b));) {
        pel_val test = iter->a == vm->none ? v : pel_call1(vm, iter->a, v);
        int truth = test ? pel_truth(vm, test) : -1;
        if (truth < 0) return NULL;
        if (truth) return v;
    }
    return NULL;
}
METHOD(filter_new) {
    (void)kw;
    if (n != 3) return pel_raise(vm, vm->types.TypeError, "filter expected 2 arguments");
    pel_val inner = pel_iter_of(vm, args[2]);
    if (!inner) return NULL;
    pel_val made = pel_new_iter(vm, vm->types.filter, next_filter, args[1], 0);
    ((pel_iter *)made)->b = inner;
    return made;
}

static pel_val next_reversed(pel_vm *vm, pel_iter *iter) {
    if (iter->i < 0) return NULL;
    return pel_getitem(vm, iter->a, pel_int_of(vm, iter->i--));
}
METHOD(reversed_new) {
    IGNORE();
    pel_val v = args[1];
    pel_val special = pel_special(vm, v, vm->names.s_reversed);
    if (special && !pel_is(special, PEL_L_NATIVE)) return pel_call_special(vm, v, vm->names.s_reversed, NULL, 0);
    if (pel_is_symbol(v)) return pel_iter_of(vm, v);
    if (pel_is(v, PEL_L_RANGE) && ((pel_vm_range *)v)->count) return pel_iter_of(vm, v);
    if (pel_is_dict(v) || pel_is(v, PEL_L_VIEW)) {
        pel_val list = pel_list_of(vm, NULL, 0);
        if (!pel_extend(vm, list, v)) return NULL;
        v = list;
    }
    int64_t len = pel_len(vm, v);
    return len < 0 ? NULL : pel_new_iter(vm, vm->types.reversed, next_reversed, v, len - 1);
}

METHOD(iter_self) {
    IGNORE();
    (void)vm;
    return args[0];
}
METHOD(iter_next) {
    IGNORE();
    pel_val v = pel_next_of(vm, args[0]);
    if (!v && !vm->raised) pel_raise_with(vm, vm->types.StopIteration, NULL);
    return v;
}

static void add_new(pel_vm *vm, pel_type *type, pel_native_fn *fn, int min, int max) {
    pel_dict_set_str(vm, pel_attrs(vm, &type->head), vm->names.s_new,
                     pel_new_native(vm, "__new__", fn, min, max, true));
}

/* Counts of arguments include self or the class. seq_setitem serves __delitem__ too: it deletes if there is no third
 * argument. list needs a __hash__ of None: else it would inherit that of object. */
void pel_init_sequences(pel_vm *vm) {
    static const pel_native_row lists[] = {
        { "__init__", list_init, 1, 2 },
        { "append", list_append, 2, 2 },
        { "extend", list_extend, 2, 2 },
        { "insert", list_insert, 3, 3 },
        { "pop", list_pop, 1, 2 },
        { "remove", list_remove, 2, 2 },
        { "reverse", list_reverse, 1, 1 },
        { "clear", list_clear, 1, 1 },
        { "copy", list_copy, 1, 1 },
        { "sort", list_sort, 1, 1, true },
        { "__setitem__", seq_setitem, 3, 3 },
        { "__delitem__", seq_setitem, 2, 2 },
        { "__iadd__", list_iadd, 2, 2 },
        { NULL },
    };
    static const pel_native_row both[] = {
        { "index", seq_index, 2, 4 },         { "count", seq_count, 2, 2 },           { "__len__", seq_len, 1, 1 },
        { "__getitem__", seq_getitem, 2, 2 }, { "__contains__", seq_contains, 2, 2 }, { "__iter__", seq_iter, 1, 1 },
        { "__add__", seq_add, 2, 2 },         { "__mul__", seq_mul, 2, 2 },           { "__eq__", seq_eq, 2, 2 },
        { "__lt__", seq_lt, 2, 2 },           { "__repr__", seq_repr, 1, 1 },         { NULL },
    };
    static const pel_native_row tuples[] = { { "__hash__", seq_hash, 1, 1 }, { NULL } };
    pel_add_methods(vm, vm->types.list, lists);
    pel_add_methods(vm, vm->types.list, both);
    pel_add_methods(vm, vm->types.tuple, both);
    pel_add_methods(vm, vm->types.tuple, tuples);
    pel_dict_set_str(vm, pel_attrs(vm, &vm->types.list->head), vm->names.s_hash, vm->none);
    add_new(vm, vm->types.list, list_new, 1, -1);
    add_new(vm, vm->types.tuple, tuple_new, 1, 2);
    add_new(vm, vm->types.range, range_new, 2, 4);
    add_new(vm, vm->types.slice, slice_new, 2, 4);
    add_new(vm, vm->types.enumerate, enumerate_new, 1, 3);
    add_new(vm, vm->types.zip, zip_new, 1, -1);
    add_new(vm, vm->types.map, map_new, 1, -1);
    add_new(vm, vm->types.filter, filter_new, 1, -1);
    add_new(vm, vm->types.reversed, reversed_new, 2, 2);
    pel_add_getset(vm, vm->types.range, "start", get_start, NULL);
    pel_add_getset(vm, vm->types.range, "stop", get_stop, NULL);
    pel_add_getset(vm, vm->types.range, "step", get_step, NULL);
    static const pel_native_row ranges[] = { { "index", range_index, 2, 2 }, { NULL } };
    pel_add_methods(vm, vm->types.range, ranges);
    pel_add_getset(vm, vm->types.slice, "start", get_slice_start, NULL);
    pel_add_getset(vm, vm->types.slice, "stop", get_slice_stop, NULL);
    pel_add_getset(vm, vm->types.slice, "step", get_slice_step, NULL);
    static const pel_native_row slices[] = { { "indices", slice_indices, 2, 2 }, { NULL } };
    pel_add_methods(vm, vm->types.slice, slices);
    static const pel_native_row iters[] = { { "__iter__", iter_self, 1, 1 },
                                            { "__next__", iter_next, 1, 1 },
                                            { NULL } };
    pel_type *types[] = { vm->types.iter, vm->types.enumerate, vm->types.zip,
                          vm->types.map,  vm->types.filter,    vm->types.reversed };
    for (size_t i = 0; i < PEL_COUNT(types); i++) pel_add_methods(vm, types[i], iters);
    static const pel_native_row functions[] = { { "sorted", sorted_native, 1, 1, true }, { NULL } };
    pel_add_functions(vm, vm->builtins, functions);
}
