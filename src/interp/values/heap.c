/* Making values. Everything lives in the arena of the analysis. */
#include "interp/vm.h"

#include <stdio.h>

void *pel_make_object(pel_vm *vm, pel_type *type, size_t size) {
    pel_object *object = pel_alloc(vm->ctx, size);
    object->type = type;
    if (vm->repeating.n) pel_map_set(vm->ctx, &vm->born, PEL_KEY(object), vm->loop_serial);
    return object;
}

pel_val pel_float_of(pel_vm *vm, double value) {
    pel_float *f = pel_make_object(vm, vm->types.float_, sizeof *f);
    f->value = value;
    return &f->head;
}

pel_val pel_complex_of(pel_vm *vm, double real, double imag) {
    pel_float *f = pel_make_object(vm, vm->types.complex, sizeof *f);
    f->value = real;
    f->imag = imag;
    return &f->head;
}

/* ---- text ---- */

#define LONG_TEXT 256u

/* Long texts (libraries read whole files) are taken by eight bytes at once. All of them count: keys of a dict may
 * differ in a few letters in the middle. */
static uint32_t hash_text(pel_str text) {
    uint64_t mixed = PEL_HASH_START;
    size_t i = 0;
    for (uint64_t word; text.len > LONG_TEXT && i + sizeof word <= text.len; i += sizeof word) {
        memcpy(&word, text.ptr + i, sizeof word);
        mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u;
        mixed ^= mixed >> 32;
    }
    uint32_t hash = (uint32_t)mixed;
    for (; i < text.len; i++) hash = pel_hash_step(hash, (unsigned char)text.ptr[i]);
    return hash;
}

/* Bytes that begin a code point. */
static size_t count_chars(pel_str text) {
    size_t n = 0, i = 0;
    for (uint64_t word; i + sizeof word <= text.len; i += sizeof word) {
        memcpy(&word, text.ptr + i, sizeof word);
        if (!(word & 0x8080808080808080u))
            n += sizeof word;
        else
            for (size_t k = i; k < i + sizeof word; k++) n += ((unsigned char)text.ptr[k] & 0xC0) != 0x80;
    }
    for (; i < text.len; i++) n += ((unsigned char)text.ptr[i] & 0xC0) != 0x80;
    return n;
}

static bool is_ascii(pel_str text) {
    size_t i = 0;
    for (uint64_t word; i + sizeof word <= text.len; i += sizeof word) {
        memcpy(&word, text.ptr + i, sizeof word);
        if (word & 0x8080808080808080u) return false;
    }
    for (; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 128) return false;
    return true;
}

static pel_val make_string(pel_vm *vm, pel_type *type, pel_str text) {
    if (text.len >= UINT32_MAX) pel_throw(vm->ctx, PEL_E_TOO_BIG, 0, "a string of %zu bytes", text.len);
    if (text.len > 64) pel_spend(vm, text.len / 2);
    pel_string *s = pel_make_object(vm, type, sizeof *s);
    bool is_text = type->layout == PEL_L_STR;
    s->text = text.ptr;
    s->len = (uint32_t)text.len;
    s->hash = hash_text(text);
    s->chars = is_text ? (uint32_t)count_chars(text) : s->len;
    s->is_ascii = s->chars == s->len && (!is_text || is_ascii(text));
    return &s->head;
}

pel_val pel_new_text_own(pel_vm *vm, pel_str text) {
    if (!text.len && vm->empty_str) return vm->empty_str;
    if (text.len == 1 && (unsigned char)text.ptr[0] < 128 && vm->chars[(unsigned char)text.ptr[0]])
        return vm->chars[(unsigned char)text.ptr[0]];
    return make_string(vm, vm->types.str, text);
}

pel_val pel_new_text(pel_vm *vm, pel_str text) {
    if (text.len <= 1) return pel_new_text_own(vm, text.len ? pel_str_copy(vm->ctx, text) : text);
    return make_string(vm, vm->types.str, pel_str_copy(vm->ctx, text));
}

pel_val pel_new_text_buf(pel_vm *vm, pel_buf *text) {
    pel_buf_reserve(text, 1);
    text->at[text->len] = 0;
    return pel_new_text_own(vm, pel_buf_str(text));
}

pel_val pel_new_text_c(pel_vm *vm, const char *text) { return pel_new_text_own(vm, pel_str_of(text)); }

pel_val pel_textf(pel_vm *vm, const char *format, ...) {
    char room[512];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(room, sizeof room, format, args);
    va_end(args);
    if (len < 0) len = 0;
    if ((size_t)len >= sizeof room) len = (int)sizeof room - 1;
    return pel_new_text(vm, (pel_str){ room, (size_t)len });
}

pel_val pel_bytes_of(pel_vm *vm, pel_str bytes) {
    return make_string(vm, vm->types.bytes, pel_str_copy(vm->ctx, bytes));
}

bool pel_text_is(pel_val v, const char *text) { return pel_is_str(v) && pel_str_is(pel_text_of(v), text); }

/* Chains of equal hash, by index: the table only grows. */
static pel_val intern_with(pel_vm *vm, pel_str text, pel_val known) {
    uint32_t hash = pel_hash(text.ptr, text.len);
    uint64_t first = pel_map_find(&vm->interned, hash, 0);
    for (uint64_t i = first; i; i = vm->string_next[i - 1])
        if (pel_str_eq(pel_text_of(vm->strings[i - 1]), text)) return vm->strings[i - 1];
    pel_val made = known ? known : pel_new_text(vm, text);
    pel_string_at(made)->is_interned = true;
    if (vm->n_strings == vm->strings_cap) {
        uint32_t cap = vm->strings_cap ? vm->strings_cap * 2 : 4096;
        pel_val *strings = pel_new_array(vm->ctx, cap, pel_val);
        uint32_t *nexts = pel_new_array(vm->ctx, cap, uint32_t);
        if (vm->n_strings) {
            memcpy(strings, vm->strings, vm->n_strings * sizeof *strings);
            memcpy(nexts, vm->string_next, vm->n_strings * sizeof *nexts);
        }
        vm->strings = strings;
        vm->string_next = nexts;
        vm->strings_cap = cap;
    }
    vm->strings[vm->n_strings] = made;
    vm->string_next[vm->n_strings++] = (uint32_t)first;
    pel_map_set(vm->ctx, &vm->interned, hash, vm->n_strings);
    return made;
}

pel_val pel_interned(pel_vm *vm, pel_str text) { return intern_with(vm, text, NULL); }
pel_val pel_interned_c(pel_vm *vm, const char *text) { return intern_with(vm, pel_str_of(text), NULL); }

pel_val pel_intern_val(pel_vm *vm, pel_val text) {
    if (pel_string_at(text)->is_interned) return text;
    return intern_with(vm, pel_text_of(text), text->type == vm->types.str ? text : NULL);
}

pel_val pel_name_val(pel_vm *vm, pel_name name) {
    uint64_t found = pel_map_find(&vm->names_of, PEL_KEY(name), 0);
    if (found) return (pel_val)(uintptr_t)found;
    pel_val v = pel_interned(vm, pel_name_str(name));
    pel_map_set(vm->ctx, &vm->names_of, PEL_KEY(name), PEL_KEY(v));
    return v;
}

/* ---- containers ---- */

pel_val pel_tuple_of(pel_vm *vm, const pel_val *at, uint32_t n) {
    if (!n && vm->empty_tuple) return vm->empty_tuple;
    pel_tuple *tuple = pel_make_object(vm, vm->types.tuple, sizeof *tuple + n * sizeof(pel_val));
    tuple->n = n;
    if (at && n) memcpy(tuple->at, at, n * sizeof *at);
    return &tuple->head;
}

pel_val pel_tuple2(pel_vm *vm, pel_val a, pel_val b) { return pel_tuple_of(vm, (pel_val[]){ a, b }, 2); }

/* Tables of positions make millions of pairs with few values, and nothing is freed: an equal pair is made once. Where a
 * tuple is a thing of its own (how often it is there, which line gave it), each is. */
pel_val pel_pair_of(pel_vm *vm, const pel_val *at) {
    if (!pel_is_small(at[0]) || !pel_is_small(at[1]) || vm->loops.n || vm->repeating.n || vm->on_step)
        return pel_tuple_of(vm, at, 2);
    uint64_t key = (uint64_t)pel_small(at[0]) * 0x9E3779B97F4A7C15u + (uint64_t)pel_small(at[1]);
    pel_val *slot = &vm->pairs[(key ^ key >> 32) % PEL_PAIRS];
    if (*slot && pel_tuple_at(*slot)->at[0] == at[0] && pel_tuple_at(*slot)->at[1] == at[1]) return *slot;
    return *slot = pel_tuple_of(vm, at, 2);
}

pel_val pel_list_of(pel_vm *vm, const pel_val *at, uint32_t n) {
    pel_list *list = pel_make_object(vm, vm->types.list, sizeof *list);
    if (n) {
        list->at = pel_alloc_raw(vm->ctx, n * sizeof(pel_val));
        list->n = list->cap = n;
        if (at)
            memcpy(list->at, at, n * sizeof *at);
        else
            memset(list->at, 0, n * sizeof *at);
    }
    return &list->head;
}

void pel_list_append(pel_vm *vm, pel_list *list, pel_val item) {
    if (list->n == list->cap) list->at = pel_grow(vm->ctx, list->at, list->n, &list->cap, sizeof *list->at);
    list->at[list->n++] = item;
}

void pel_list_push(pel_vm *vm, pel_val list, pel_val item) {
    pel_list_append(vm, pel_list_at(list), item);
    if (vm->loop_serial) pel_pushed(vm, list, NULL);
}

pel_val pel_new_dict(pel_vm *vm) { return pel_make_object(vm, vm->types.dict, sizeof(pel_dict)); }
pel_val pel_new_set(pel_vm *vm, pel_type *type) { return pel_make_object(vm, type, sizeof(pel_dict)); }

pel_val pel_new_slice(pel_vm *vm, pel_val start, pel_val stop, pel_val step) {
    pel_slice *slice = pel_make_object(vm, vm->types.slice, sizeof *slice);
    slice->start = start;
    slice->stop = stop;
    slice->step = step;
    return &slice->head;
}

/* ---- the rest ---- */

pel_val pel_new_cell(pel_vm *vm, pel_val value) {
    pel_cell *cell = pel_make_object(vm, vm->types.cell, sizeof *cell);
    cell->value = value;
    return &cell->head;
}

pel_val pel_new_method(pel_vm *vm, pel_val func, pel_val self) {
    pel_method *method = pel_make_object(vm, vm->types.method, sizeof *method);
    method->func = func;
    method->self = self;
    return &method->head;
}

pel_val pel_new_native(pel_vm *vm, const char *name, pel_native_fn *fn, int min, int max, bool keywords) {
    pel_native *native = pel_make_object(vm, vm->types.native, sizeof *native);
    native->fn = fn;
    native->name = name;
    native->min = (int16_t)min;
    native->max = (int16_t)max;
    native->keywords = keywords;
    return &native->head;
}

pel_val pel_new_iter(pel_vm *vm, pel_type *type, pel_next_fn *next, pel_val a, int64_t i) {
    pel_iter *iter = pel_make_object(vm, type, sizeof *iter);
    iter->next = next;
    iter->a = a;
    iter->i = i;
    return &iter->head;
}

pel_val pel_new_module(pel_vm *vm, pel_val name) {
    pel_module_object *module = pel_make_object(vm, vm->types.module, sizeof *module);
    module->name = name;
    pel_dict *attrs = pel_attrs(vm, &module->head);
    pel_dict_set_str(vm, attrs, vm->names.s_name, name);
    pel_dict_set_str(vm, attrs, vm->names.s_doc, vm->none);
    pel_dict_set_str(vm, attrs, vm->names.s_package, vm->none);
    pel_dict_set_str(vm, attrs, vm->names.s_loader, vm->none);
    pel_dict_set_str(vm, attrs, vm->names.s_spec, vm->none);
    return &module->head;
}

pel_dict *pel_attrs(pel_vm *vm, pel_val v) {
    if (!v->attrs) v->attrs = pel_dict_at(pel_new_dict(vm));
    return v->attrs;
}

const char *pel_type_text(pel_vm *vm, pel_val v) { return pel_string_at(pel_type_of(vm, v)->name)->text; }

/* ---- tables of natives ---- */

void pel_add_methods(pel_vm *vm, pel_type *type, const pel_native_row *rows) {
    for (; rows->name; rows++) {
        pel_val made = pel_new_native(vm, rows->name, rows->fn, rows->min, rows->max, rows->keywords);
        ((pel_native *)made)->owner = type;
        ((pel_native *)made)->is_method = true;
        pel_dict_set_c(vm, pel_attrs(vm, &type->head), rows->name, made);
    }
}

void pel_add_functions(pel_vm *vm, pel_dict *into, const pel_native_row *rows) {
    for (; rows->name; rows++)
        pel_dict_set_c(vm, into, rows->name,
                       pel_new_native(vm, rows->name, rows->fn, rows->min, rows->max, rows->keywords));
}

void pel_add_getset(pel_vm *vm, pel_type *type, const char *name, pel_val (*get)(pel_vm *, pel_val),
                    bool (*set)(pel_vm *, pel_val, pel_val)) {
    pel_getset *getset = pel_make_object(vm, vm->types.getset, sizeof *getset);
    getset->name = name;
    getset->get = get;
    getset->set = set;
    pel_dict_set_c(vm, pel_attrs(vm, &type->head), name, &getset->head);
}
