/* Subscripts, membership, iteration. */
#include "interp/vm.h"

/* ---- slices ---- */

static bool slice_part(pel_vm *vm, pel_val part, int64_t len, int64_t fallback, int64_t low, int64_t high,
                       int64_t *out) {
    if (part == vm->none) {
        *out = fallback;
        return true;
    }
    if (!pel_index(vm, part, out)) return false;
    if (*out < 0) *out += len;
    if (*out < low) *out = low;
    if (*out > high) *out = high;
    return true;
}

bool pel_slice_range(pel_vm *vm, pel_val v, int64_t len, int64_t *start, int64_t *step, int64_t *count) {
    pel_slice *slice = (pel_slice *)v;
    *step = 1;
    if (slice->step != vm->none && !pel_index(vm, slice->step, step)) return false;
    if (*step == INT64_MIN) *step = -INT64_MAX; /* its negative must be a number, too */
    if (*step == 0) {
        pel_raise(vm, vm->types.ValueError, "slice step cannot be zero");
        return false;
    }
    int64_t stop;
    bool back = *step < 0;
    if (!slice_part(vm, slice->start, len, back ? len - 1 : 0, back ? -1 : 0, back ? len - 1 : len, start))
        return false;
    if (!slice_part(vm, slice->stop, len, back ? -1 : len, back ? -1 : 0, back ? len - 1 : len, &stop)) return false;
    if (back)
        *count = stop < *start ? (*start - stop - 1) / -*step + 1 : 0;
    else
        *count = *start < stop ? (stop - *start - 1) / *step + 1 : 0;
    return true;
}

/* The byte where a character begins. */
static size_t byte_of(pel_val text, int64_t character) {
    if (pel_string_at(text)->is_ascii) return (size_t)character;
    pel_str s = pel_text_of(text);
    size_t at = 0;
    while (character > 0 && at < s.len) {
        at++;
        while (at < s.len && ((unsigned char)s.ptr[at] & 0xC0) == 0x80) at++;
        character--;
    }
    return at;
}

static pel_val slice_text(pel_vm *vm, pel_val v, pel_val slice) {
    bool is_bytes = pel_is(v, PEL_L_BYTES);
    int64_t start, step, count;
    if (!pel_slice_range(vm, slice, pel_string_at(v)->chars, &start, &step, &count)) return NULL;
    pel_str text = pel_text_of(v);
    if (step == 1) {
        size_t from = is_bytes ? (size_t)start : byte_of(v, start);
        size_t to = is_bytes ? (size_t)(start + count) : byte_of(v, start + count);
        pel_str cut = pel_str_cut(text, from, to);
        return is_bytes ? pel_bytes_of(vm, cut) : pel_new_text(vm, cut);
    }
    pel_buf out = pel_buf_in(vm->ctx);
    for (int64_t i = 0; i < count; i++, start += step) {
        size_t from = is_bytes ? (size_t)start : byte_of(v, start);
        size_t to = is_bytes ? from + 1 : byte_of(v, start + 1);
        pel_put(&out, pel_str_cut(text, from, to));
    }
    return is_bytes ? pel_bytes_of(vm, pel_buf_str(&out)) : pel_new_text_buf(vm, &out);
}

/* An index may be an object whose __index__ changes the list that it is for. */
static pel_val raise_resized(pel_vm *vm) {
    return pel_raise(vm, vm->types.ValueError, "the list changed its size while its index was computed");
}

static pel_val slice_items(pel_vm *vm, pel_val v, pel_val slice) {
    uint32_t n;
    pel_items(v, &n);
    int64_t start, step, count;
    if (!pel_slice_range(vm, slice, n, &start, &step, &count)) return NULL;
    uint32_t now;
    pel_val *items = pel_items(v, &now);
    if (now != n) return raise_resized(vm);
    pel_spend(vm, (uint64_t)count / 4);
    pel_val made = pel_is_tuple(v) ? pel_tuple_of(vm, NULL, (uint32_t)count) : pel_list_of(vm, NULL, (uint32_t)count);
    uint32_t ignored;
    pel_val *out = pel_items(made, &ignored);
    for (int64_t i = 0; i < count; i++, start += step) out[i] = items[start];
    pel_copy_times(vm, v, made);
    return made;
}

static pel_val slice_range(pel_vm *vm, pel_val v, pel_val slice) {
    int64_t len = pel_len(vm, v), start, step, count;
    if (len < 0 || !pel_slice_range(vm, slice, len, &start, &step, &count)) return NULL;
    pel_vm_range *from = (pel_vm_range *)v, *made = pel_make_object(vm, vm->types.range, sizeof *made);
    made->start = from->start + start * from->step;
    made->step = from->step * step;
    made->stop = made->start + count * made->step;
    return &made->head;
}

/* ---- getting ---- */

static bool item_index(pel_vm *vm, pel_val key, int64_t len, const char *what, int64_t *out) {
    if (!pel_is_int(key) && !pel_is_symbol(key) && !pel_special(vm, key, vm->names.s_index)) {
        pel_raise(vm, vm->types.TypeError, "%s indices must be integers or slices, not %s", what,
                  pel_type_text(vm, key));
        return false;
    }
    if (!pel_index(vm, key, out)) return false;
    if (*out < 0) *out += len;
    if (*out >= 0 && *out < len) return true;
    pel_raise(vm, vm->types.IndexError, "%s index out of range", what);
    return false;
}

static pel_str key_text(pel_vm *vm, pel_val key) {
    if (!pel_is(key, PEL_L_SLICE)) return pel_symbol_arg(vm, key);
    const pel_slice *slice = (const pel_slice *)key;
    pel_str start = slice->start == vm->none ? (pel_str){ "", 0 } : pel_symbol_arg(vm, slice->start);
    pel_str stop = slice->stop == vm->none ? (pel_str){ "", 0 } : pel_symbol_arg(vm, slice->stop);
    if (slice->step == vm->none) return pel_format(vm->ctx, "%.*s:%.*s", PEL_FMT(start), PEL_FMT(stop));
    return pel_format(vm->ctx, "%.*s:%.*s:%.*s", PEL_FMT(start), PEL_FMT(stop),
                      PEL_FMT(pel_symbol_arg(vm, slice->step)));
}

/* Which item of a list it is nobody knows; but a layer may be among them, or what makes one. */
static void look_over(pel_vm *vm, pel_symbol *made, pel_val container) {
    uint32_t n = 0, at = 0;
    bool is_dict = pel_is_dict(container), is_list = pel_is_list(container) || pel_is_tuple(container);
    pel_val *items = is_list ? pel_items(container, &n) : NULL;
    if (is_dict) n = pel_dict_at(container)->live;
    for (uint32_t i = 0; i < n && i < 200; i++) {
        pel_entry *entry = is_dict ? pel_dict_next(pel_dict_at(container), &at) : NULL;
        pel_val item = entry ? entry->value : items ? items[i] : NULL;
        if (!item || pel_is_small(item)) continue;
        made->may_be_module |= vm->is_network && !item->type->is_native && vm->is_network(vm, item);
        made->is_missing |= pel_is_type(item) || pel_is(item, PEL_L_FUNCTION);
    }
}

static pel_val symbol_item(pel_vm *vm, pel_val v, pel_val key) {
    pel_str of = pel_is_symbol(v) && ((pel_symbol *)v)->level
                     ? pel_format(vm->ctx, "(%.*s)", PEL_FMT(((pel_symbol *)v)->text))
                     : pel_symbol_arg(vm, v);
    pel_str text = pel_format(vm->ctx, "%.*s[%.*s]", PEL_FMT(of), PEL_FMT(key_text(vm, key)));
    pel_val made = pel_symbol_from(vm, text, pel_is_symbol(v) ? v : key);
    if (pel_is_symbol(made) && made != v && made != key) look_over(vm, (pel_symbol *)made, v);
    return made;
}

static pel_val class_getitem(pel_vm *vm, pel_val v, pel_val key) {
    pel_type *type = pel_as_type(v);
    if (v->type != vm->types.type) {
        pel_val found = pel_lookup(vm, v->type, vm->names.s_getitem);
        if (found) return pel_call2(vm, found, v, key);
    }
    pel_val hook = pel_lookup(vm, type, vm->names.s_class_getitem);
    if (hook) {
        hook = pel_bind(vm, hook, NULL, type);
        return hook ? pel_call1(vm, hook, key) : NULL;
    }
    if (type->is_native || type->layout != PEL_L_OBJECT) {
        pel_alias *alias = pel_make_object(vm, vm->types.alias, sizeof *alias);
        alias->origin = v;
        alias->args = pel_is_tuple(key) ? key : pel_tuple_of(vm, &key, 1);
        return &alias->head;
    }
    return pel_raise(vm, vm->types.TypeError, "type '%s' is not subscriptable", pel_string_at(type->name)->text);
}

pel_val pel_getitem(pel_vm *vm, pel_val v, pel_val key) {
    pel_type *type = pel_type_of(vm, v);
    if (!type->is_native && type->layout != PEL_L_TYPE) {
        pel_val found = pel_lookup(vm, type, vm->names.s_getitem);
        if (found && !pel_is(found, PEL_L_NATIVE)) return pel_call_special(vm, v, vm->names.s_getitem, &key, 1);
    }
    int64_t at;
    switch (type->layout) {
    case PEL_L_TUPLE:
    case PEL_L_LIST: {
        if (pel_is(key, PEL_L_SLICE)) return slice_items(vm, v, key);
        if (pel_is_symbol(key)) return symbol_item(vm, v, key);
        uint32_t n;
        pel_items(v, &n);
        if (pel_times_of(vm, v) && pel_index(vm, key, &at) && (at >= n || at < -(int64_t)n))
            return pel_symbol_of(vm, pel_format(vm->ctx, "<%s>[%lld]", pel_type_text(vm, v), (long long)at),
                                 PEL_WHY_LOOP);
        if (!item_index(vm, key, n, pel_is_tuple(v) ? "tuple" : "list", &at)) return NULL;
        pel_val *items = pel_items(v, &n);
        return at < n ? items[at] : raise_resized(vm);
    }
    case PEL_L_DICT: {
        pel_val found;
        if (!pel_dict_get(vm, pel_dict_at(v), key, &found)) return NULL;
        if (found) return found;
        if (!type->is_native && pel_lookup(vm, type, vm->names.s_missing))
            return pel_call_special(vm, v, vm->names.s_missing, &key, 1);
        if (pel_is_symbol(key) && !pel_is_apart(key)) return symbol_item(vm, v, key);
        return pel_raise_with(vm, vm->types.KeyError, key == vm->none ? pel_interned_c(vm, "None") : key);
    }
    case PEL_L_VIEW: {
        if (type != vm->types.mappingproxy) break;
        pel_val found;
        if (!pel_dict_get(vm, ((pel_dict_view *)v)->dict, key, &found)) return NULL;
        return found ? found : pel_raise_with(vm, vm->types.KeyError, key);
    }
    case PEL_L_STR:
    case PEL_L_BYTES: {
        if (pel_is(key, PEL_L_SLICE)) return slice_text(vm, v, key);
        if (!item_index(vm, key, pel_string_at(v)->chars, pel_is_str(v) ? "string" : "index", &at)) return NULL;
        if (!pel_is_str(v)) return pel_from_small((unsigned char)pel_string_at(v)->text[at]);
        return pel_new_text(vm, pel_str_cut(pel_text_of(v), byte_of(v, at), byte_of(v, at + 1)));
    }
    case PEL_L_RANGE: {
        if (pel_is(key, PEL_L_SLICE)) return slice_range(vm, v, key);
        int64_t len = pel_len(vm, v);
        if (len < 0 || !item_index(vm, key, len, "range object", &at)) return NULL;
        return pel_int_of(vm, ((pel_vm_range *)v)->start + at * ((pel_vm_range *)v)->step);
    }
    case PEL_L_TYPE: return class_getitem(vm, v, key);
    case PEL_L_SYMBOL: return symbol_item(vm, v, key);
    case PEL_L_ALIAS: { /* X[T][int] */
        pel_alias *alias = (pel_alias *)v, *made = pel_make_object(vm, type, sizeof *made);
        made->origin = alias->origin;
        made->args = pel_is_tuple(key) ? key : pel_tuple_of(vm, &key, 1);
        return &made->head;
    }
    default: break;
    }
    pel_val result = pel_call_special(vm, v, vm->names.s_getitem, &key, 1);
    if (!result && !vm->raised)
        pel_raise(vm, vm->types.TypeError, "'%s' object is not subscriptable", pel_type_text(vm, v));
    return result;
}

/* ---- setting ---- */

/* The new items are gathered before the list changes, so `a[1:1] = a` works. How often each item is there
 * is unknown afterwards (pel_resized). */
static bool set_slice(pel_vm *vm, pel_val v, pel_val slice, pel_val value) {
    pel_list *list = pel_list_at(v);
    pel_resized(vm, v);
    int64_t start, step, count;
    pel_val *items = NULL;
    uint32_t n = 0;
    /* Both may run code that changes the list: sizes count only after them. */
    if (value && !pel_collect(vm, value, &items, &n)) return false;
    uint32_t before = list->n;
    if (!pel_slice_range(vm, slice, before, &start, &step, &count)) return false;
    if (list->n != before) return raise_resized(vm) != NULL;
    if (step != 1) {
        if (value && n != count) {
            pel_raise(vm, vm->types.ValueError, "attempt to assign sequence of size %u to extended slice of size %lld",
                      n, (long long)count);
            return false;
        }
        if (value) {
            for (int64_t i = 0; i < count; i++) list->at[start + i * step] = items[i];
            return true;
        }
        for (int64_t i = 0; i < count; i++) list->at[start + i * step] = NULL;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < list->n; i++)
            if (list->at[i]) list->at[kept++] = list->at[i];
        list->n = kept;
        return true;
    }
    uint32_t rest = list->n - (uint32_t)(start + count);
    uint32_t total = (uint32_t)start + n + rest;
    pel_spend(vm, total / 8);
    pel_val *copy = pel_alloc_raw(vm->ctx, (total + 1) * sizeof *copy);
    if (start) memcpy(copy, list->at, (size_t)start * sizeof *copy);
    if (n) memcpy(copy + start, items, n * sizeof *copy);
    if (rest) memcpy(copy + start + n, list->at + start + count, rest * sizeof *copy);
    list->at = copy;
    list->n = total;
    list->cap = total + 1;
    return true;
}

bool pel_setitem(pel_vm *vm, pel_val v, pel_val key, pel_val value) {
    pel_type *type = pel_type_of(vm, v);
    pel_val name = value ? vm->names.s_setitem : vm->names.s_delitem;
    if (!type->is_native) {
        pel_val found = pel_lookup(vm, type, name);
        if (found && !pel_is(found, PEL_L_NATIVE))
            return pel_call_special(vm, v, name, (pel_val[]){ key, value }, value ? 2 : 1) != NULL;
    }
    switch (type->layout) {
    case PEL_L_DICT: {
        if (vm->repeating.n) pel_run_loop_writes(vm, v, key);
        if (value) return pel_dict_set(vm, pel_dict_at(v), key, value);
        pel_val had;
        if (!pel_dict_del(vm, pel_dict_at(v), key, &had)) return false;
        if (!had) pel_raise_with(vm, vm->types.KeyError, key);
        return had != NULL;
    }
    case PEL_L_LIST: {
        if (pel_is(key, PEL_L_SLICE)) return set_slice(vm, v, key, value);
        int64_t at;
        pel_list *list = pel_list_at(v);
        if (!item_index(vm, key, list->n, value ? "list assignment" : "list", &at)) return false;
        if (at >= list->n) return raise_resized(vm) != NULL;
        if (vm->repeating.n) pel_run_loop_writes(vm, v, pel_int_of(vm, at));
        if (value) {
            list->at[at] = value;
        } else {
            pel_resized(vm, v);
            pel_spend(vm, (list->n - (size_t)at) / 16);
            memmove(list->at + at, list->at + at + 1, (list->n - (size_t)at - 1) * sizeof *list->at);
            list->n--;
        }
        return true;
    }
    case PEL_L_SYMBOL: return true; /* a part of something unknown stays unknown */
    default: break;
    }
    if (pel_call_special(vm, v, name, (pel_val[]){ key, value }, value ? 2 : 1)) return true;
    if (!vm->raised)
        pel_raise(vm, vm->types.TypeError, "'%s' object does not support item %s", pel_type_text(vm, v),
                  value ? "assignment" : "deletion");
    return false;
}

/* ---- iterating ---- */

static void enter_repeat(pel_vm *vm, pel_val count) {
    pel_push(vm->ctx, &vm->repeating, (pel_repeat){ count, ++vm->loop_serial });
}

static void leave_repeat(pel_vm *vm, pel_val count) {
    if (vm->repeating.n && vm->repeating.at[vm->repeating.n - 1].count == count) vm->repeating.n--;
}

pel_val pel_repeating_counts(pel_vm *vm) {
    pel_val counts = pel_tuple_of(vm, NULL, vm->repeating.n);
    for (uint32_t i = 0; i < vm->repeating.n; i++) pel_tuple_at(counts)->at[i] = vm->repeating.at[i].count;
    return counts;
}

static pel_val next_item(pel_vm *vm, pel_iter *iter) {
    (void)vm;
    uint32_t n;
    pel_val *items = pel_items(iter->a, &n);
    return iter->i < n ? items[iter->i++] : NULL;
}

/* Items that stand for several: what is done with one is done so often. */
static pel_val next_repeated_item(pel_vm *vm, pel_iter *iter) {
    uint32_t n;
    if (iter->b) leave_repeat(vm, iter->b);
    iter->b = pel_item_times(vm, iter->a, (uint32_t)iter->i);
    pel_val *items = pel_items(iter->a, &n);
    if (iter->i >= n) return NULL;
    if (iter->b) enter_repeat(vm, iter->b);
    return items[iter->i++];
}

static pel_val next_entry(pel_vm *vm, pel_iter *iter) {
    pel_dict *dict = pel_dict_at(iter->a);
    if (iter->k != dict->live) return pel_raise(vm, vm->types.RuntimeError, "dictionary changed size during iteration");
    uint32_t at = (uint32_t)iter->i;
    pel_entry *entry = pel_dict_next(dict, &at);
    iter->i = at;
    if (!entry) return NULL;
    return iter->j == 0 ? entry->key : iter->j == 1 ? entry->value : pel_tuple2(vm, entry->key, entry->value);
}

static pel_val next_char(pel_vm *vm, pel_iter *iter) {
    pel_str text = pel_text_of(iter->a);
    size_t at = (size_t)iter->i, end = at + 1;
    if (at >= text.len) return NULL;
    if (!pel_is_str(iter->a)) {
        iter->i++;
        return pel_from_small((unsigned char)text.ptr[at]);
    }
    while (end < text.len && ((unsigned char)text.ptr[end] & 0xC0) == 0x80) end++;
    iter->i = (int64_t)end;
    return pel_new_text(vm, pel_str_cut(text, at, end));
}

static pel_val next_number(pel_vm *vm, pel_iter *iter) {
    if (iter->k <= 0) return NULL;
    iter->k--;
    pel_val v = pel_int_of(vm, iter->i);
    iter->i += iter->j;
    return v;
}

/* A loop whose count is not known: its body runs once, and what it makes is marked "× n". */
static pel_val next_of_symbol(pel_vm *vm, pel_iter *iter) {
    if (iter->i++ == 0) {
        enter_repeat(vm, iter->a);
        return iter->b;
    }
    leave_repeat(vm, iter->a);
    return NULL;
}

bool pel_is_symbolic_iter(pel_val iter) {
    return pel_is(iter, PEL_L_ITER) && ((pel_iter *)iter)->next == next_of_symbol;
}

pel_val pel_next_beside(pel_vm *vm, pel_val iter, int64_t at) {
    if (at < 0 || !pel_is_symbolic_iter(iter)) return pel_next_of(vm, iter);
    pel_val of = ((pel_iter *)iter)->c;
    if (pel_is_symbol(of)) return symbol_item(vm, of, pel_int_of(vm, at));
    pel_val index = pel_symbol_of(vm, PEL_STR("range"), PEL_STR("where it begins is not known"));
    return ((pel_vm_range *)of)->step ? pel_int_of(vm, ((pel_vm_range *)of)->start + at * ((pel_vm_range *)of)->step)
                                      : symbol_item(vm, index, pel_int_of(vm, at));
}

static pel_val next_sequence(pel_vm *vm, pel_iter *iter) {
    vm->catching++;
    pel_val v = pel_getitem(vm, iter->a, pel_int_of(vm, iter->i++));
    vm->catching--;
    if (v) return v;
    if (pel_raised_is(vm, vm->types.IndexError) || pel_raised_is(vm, vm->types.StopIteration)) pel_forget(vm);
    return NULL;
}

static pel_val iter_dict(pel_vm *vm, pel_dict *dict, int what) {
    pel_val made = pel_new_iter(vm, vm->types.iter, next_entry, &dict->head, 0);
    ((pel_iter *)made)->j = what;
    ((pel_iter *)made)->k = dict->live;
    return made;
}

static pel_val iter_symbol(pel_vm *vm, pel_val count, pel_val item, pel_val of) {
    pel_val made = pel_new_iter(vm, vm->types.iter, next_of_symbol, count, 0);
    ((pel_iter *)made)->b = item;
    ((pel_iter *)made)->c = of;
    return made;
}

/* An __iter__ of a class's own comes before the layout: a subclass of list may have one. Something unknown, or a range
 * of unknown length, gives one item for all of them (`x[i]`): the body of the loop runs once. */
pel_val pel_iter_of(pel_vm *vm, pel_val v) {
    pel_type *type = pel_type_of(vm, v);
    pel_val found = type->is_native && type->layout != PEL_L_TYPE ? NULL : pel_lookup(vm, type, vm->names.s_iter);
    if (found && !pel_is(found, PEL_L_NATIVE)) {
        if (found == vm->none)
            return pel_raise(vm, vm->types.TypeError, "'%s' object is not iterable", pel_type_text(vm, v));
        return pel_call_special(vm, v, vm->names.s_iter, NULL, 0);
    }
    switch (type->layout) {
    case PEL_L_TUPLE:
    case PEL_L_LIST:
        return pel_new_iter(vm, vm->types.iter, pel_times_of(vm, v) ? next_repeated_item : next_item, v, 0);
    case PEL_L_DICT:
    case PEL_L_SET: return iter_dict(vm, pel_dict_at(v), 0);
    case PEL_L_VIEW:
        return iter_dict(vm, ((pel_dict_view *)v)->dict,
                         type == vm->types.dict_values  ? 1
                         : type == vm->types.dict_items ? 2
                                                        : 0);
    case PEL_L_STR:
    case PEL_L_BYTES: return pel_new_iter(vm, vm->types.iter, next_char, v, 0);
    case PEL_L_RANGE: {
        pel_vm_range *r = (pel_vm_range *)v;
        if (r->count) {
            pel_val index = pel_index_symbol(vm, PEL_STR("i"));
            return iter_symbol(vm, r->count, index, v);
        }
        int64_t len = pel_len(vm, v);
        if (len < 0) return NULL;
        pel_val made = pel_new_iter(vm, vm->types.iter, next_number, NULL, r->start);
        ((pel_iter *)made)->j = r->step;
        ((pel_iter *)made)->k = len;
        return made;
    }
    case PEL_L_ITER:
    case PEL_L_GENERATOR: return v;
    case PEL_L_SYMBOL: {
        pel_symbol *s = (pel_symbol *)v;
        pel_str of = s->level ? pel_format(vm->ctx, "(%.*s)", PEL_FMT(s->text)) : s->text;
        pel_val count = pel_symbol_of(vm, pel_format(vm->ctx, "len(%.*s)", PEL_FMT(s->text)), s->why);
        pel_val item = pel_symbol_from(vm, pel_format(vm->ctx, "%.*s[i]", PEL_FMT(of)), v);
        return iter_symbol(vm, count, item, v);
    }
    default: break;
    }
    found = pel_lookup(vm, type, vm->names.s_iter);
    if (found && found != vm->none) return pel_call_special(vm, v, vm->names.s_iter, NULL, 0);
    if (!type->is_native && pel_lookup(vm, type, vm->names.s_getitem))
        return pel_new_iter(vm, vm->types.iter, next_sequence, v, 0);
    return pel_raise(vm, vm->types.TypeError, "'%s' object is not iterable", pel_type_text(vm, v));
}

pel_val pel_next_of(pel_vm *vm, pel_val iter) {
    vm->stop_value = NULL;
    pel_spend(vm, 1);
    if (pel_is(iter, PEL_L_ITER)) return ((pel_iter *)iter)->next(vm, (pel_iter *)iter);
    if (pel_is(iter, PEL_L_GENERATOR)) {
        bool ended;
        return pel_generator_resume(vm, (pel_generator *)iter, vm->none, &ended);
    }
    vm->catching++;
    pel_val value = pel_call_special(vm, iter, vm->names.s_next, NULL, 0);
    vm->catching--;
    if (value) return value;
    if (!vm->raised)
        return pel_raise(vm, vm->types.TypeError, "'%s' object is not an iterator", pel_type_text(vm, iter));
    if (pel_raised_is(vm, vm->types.StopIteration)) {
        pel_tuple *args = pel_tuple_at(((pel_exception *)vm->raised)->args);
        vm->stop_value = args->n ? args->at[0] : NULL;
        pel_forget(vm);
    }
    return NULL;
}

bool pel_extend(pel_vm *vm, pel_val list, pel_val iterable) {
    if ((pel_is_tuple(iterable) || pel_is_list(iterable)) && iterable->type->is_native) {
        uint32_t n;
        pel_items(iterable, &n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t now;
            pel_list_append(vm, pel_list_at(list), pel_items(iterable, &now)[i]);
            if (vm->loop_serial) pel_pushed(vm, list, pel_item_times(vm, iterable, i));
        }
        return true;
    }
    pel_val iter = pel_iter_of(vm, iterable);
    if (!iter) return false;
    for (pel_val item; (item = pel_next_of(vm, iter));) {
        pel_list_push(vm, list, item);
    }
    return !vm->raised;
}

bool pel_collect(pel_vm *vm, pel_val iterable, pel_val **at, uint32_t *n) {
    if (pel_is_tuple(iterable) && iterable->type == vm->types.tuple) {
        *at = pel_items(iterable, n);
        vm->collected = iterable;
        return true;
    }
    pel_val list = pel_list_of(vm, NULL, 0);
    if (!pel_extend(vm, list, iterable)) return false;
    *at = pel_list_at(list)->at;
    *n = pel_list_at(list)->n;
    vm->collected = list;
    return true;
}

/* ---- membership ---- */

/* -1 is an exception. Identity comes before equality, as in Python: nan is in [nan]. If the container is unknown,
 * the answer is settled like any condition. A set is never found in a set, while Python would look for an equal
 * frozenset. */
int pel_contains(pel_vm *vm, pel_val container, pel_val item) {
    pel_type *type = pel_type_of(vm, container);
    if (!type->is_native || type->layout == PEL_L_TYPE) {
        pel_val found = pel_lookup(vm, type, vm->names.s_contains);
        if (found && !pel_is(found, PEL_L_NATIVE)) {
            pel_val result = pel_call_special(vm, container, vm->names.s_contains, &item, 1);
            return result ? pel_truth(vm, result) : -1;
        }
    }
    switch (type->layout) {
    case PEL_L_DICT:
    case PEL_L_SET: {
        pel_val found;
        if (type->layout == PEL_L_SET && pel_is_set(item) && item->type == vm->types.set) return 0;
        return pel_dict_get(vm, pel_dict_at(container), item, &found) ? found != NULL : -1;
    }
    case PEL_L_VIEW: {
        pel_val found;
        if (type == vm->types.dict_values || type == vm->types.dict_items) break;
        return pel_dict_get(vm, ((pel_dict_view *)container)->dict, item, &found) ? found != NULL : -1;
    }
    case PEL_L_STR: {
        if (!pel_is_str(item)) {
            pel_raise(vm, vm->types.TypeError, "'in <string>' requires string as left operand, not %s",
                      pel_type_text(vm, item));
            return -1;
        }
        pel_str text = pel_text_of(container), part = pel_text_of(item);
        return !part.len || pel_str_find(text, part) != NULL;
    }
    case PEL_L_BYTES:
        if (pel_is(item, PEL_L_BYTES)) {
            pel_str text = pel_text_of(container), part = pel_text_of(item);
            return !part.len || pel_str_find(text, part) != NULL;
        }
        break;
    case PEL_L_RANGE: {
        pel_vm_range *r = (pel_vm_range *)container;
        int64_t i;
        if (r->count || !pel_is_int(item) || !pel_to_i64(item, &i)) break;
        if (r->step > 0 ? i < r->start || i >= r->stop : i > r->start || i <= r->stop) return 0;
        return (i - r->start) % r->step == 0;
    }
    case PEL_L_SYMBOL: {
        pel_val symbol = pel_symbol_binary(vm, "in", item, container);
        return symbol ? pel_truth(vm, symbol) : -1;
    }
    default: break;
    }
    pel_val iter = pel_iter_of(vm, container);
    if (!iter) return -1;
    for (pel_val v; (v = pel_next_of(vm, iter));) {
        pel_spend(vm, 16);
        int equal = v == item ? 1 : pel_equal(vm, v, item);
        if (equal) return equal;
    }
    return vm->raised ? -1 : 0;
}
