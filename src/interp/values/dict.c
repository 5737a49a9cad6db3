/* Dicts and sets: entries in the order of insertion, and an index once there are more than a few. */
#include "interp/vm.h"

#define FEW 8
#define EMPTY (-1)

static bool same_text(pel_val a, pel_val b) {
    if (a == b) return true;
    const pel_string *s = pel_string_at(a), *t = pel_string_at(b);
    return s->hash == t->hash && s->len == t->len && memcmp(s->text, t->text, s->len) == 0;
}

static uint32_t mix(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15ull;
    return (uint32_t)(hash >> 32);
}

static void index_put(pel_dict *dict, uint64_t hash, int32_t at) {
    uint32_t slot = mix(hash) & dict->index_mask;
    while (dict->index[slot] != EMPTY) slot = (slot + 1) & dict->index_mask;
    dict->index[slot] = at;
}

/* Closes the holes and makes an index that fits. */
static void rebuild(pel_vm *vm, pel_dict *dict) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < dict->n; i++)
        if (dict->entries[i].key) dict->entries[n++] = dict->entries[i];
    dict->n = n;
    if (n < FEW) {
        dict->index = NULL;
        return;
    }
    uint32_t size = 16;
    while (size < n * 3) size *= 2;
    if (!dict->index || dict->index_mask + 1 < size)
        dict->index = pel_alloc_raw(vm->ctx, size * sizeof *dict->index);
    else
        size = dict->index_mask + 1;
    dict->index_mask = size - 1;
    for (uint32_t i = 0; i < size; i++) dict->index[i] = EMPTY;
    for (uint32_t i = 0; i < n; i++) index_put(dict, dict->entries[i].hash, (int32_t)i);
}

static void append(pel_vm *vm, pel_dict *dict, pel_val key, pel_val value, uint64_t hash) {
    if (dict->n == dict->cap) {
        if (dict->live < dict->n / 2) rebuild(vm, dict);
        if (dict->n == dict->cap) {
            uint32_t cap = dict->cap ? dict->cap * 2 : 4;
            if (cap < dict->cap || cap > INT32_MAX / 2) pel_throw(vm->ctx, PEL_E_TOO_BIG, 0, "a dict of that size");
            pel_entry *entries = pel_alloc_raw(vm->ctx, cap * sizeof *entries);
            if (dict->n) memcpy(entries, dict->entries, dict->n * sizeof *entries);
            dict->entries = entries;
            dict->cap = cap;
        }
    }
    dict->entries[dict->n++] = (pel_entry){ key, value, hash };
    dict->live++;
    if (dict->index && dict->n * 2 <= dict->index_mask)
        index_put(dict, hash, (int32_t)dict->n - 1);
    else if (dict->n >= FEW)
        rebuild(vm, dict);
}

/* ---- str keys ---- */

static bool is_text_key(pel_val key) { return !pel_is_small(key) && key->type->layout == PEL_L_STR; }

static pel_entry *find_str(const pel_dict *dict, pel_val key) {
    uint64_t hash = pel_string_at(key)->hash;
    if (!dict->index) {
        for (uint32_t i = 0; i < dict->n; i++) {
            pel_entry *entry = &dict->entries[i];
            if (entry->hash == hash && entry->key &&
                (entry->key == key || (is_text_key(entry->key) && same_text(entry->key, key))))
                return entry;
        }
        return NULL;
    }
    for (uint32_t slot = mix(hash) & dict->index_mask; dict->index[slot] != EMPTY;
         slot = (slot + 1) & dict->index_mask) {
        pel_entry *entry = &dict->entries[dict->index[slot]];
        if (entry->key == key ||
            (entry->key && entry->hash == hash && is_text_key(entry->key) && same_text(entry->key, key)))
            return entry;
    }
    return NULL;
}

pel_val pel_dict_get_str(const pel_dict *dict, pel_val key) {
    const pel_entry *entry = find_str(dict, key);
    return entry ? entry->value : NULL;
}

void pel_dict_set_str(pel_vm *vm, pel_dict *dict, pel_val key, pel_val value) {
    pel_entry *entry = find_str(dict, key);
    if (entry)
        entry->value = value;
    else
        append(vm, dict, key, value, pel_string_at(key)->hash);
}

static pel_val remove_entry(pel_dict *dict, pel_entry *entry) {
    pel_val value = entry->value;
    entry->key = entry->value = NULL;
    dict->live--;
    if (!dict->index && entry == &dict->entries[dict->n - 1]) dict->n--;
    if (!dict->live && !dict->index) dict->n = 0;
    return value;
}

bool pel_dict_del_str(pel_vm *vm, pel_dict *dict, pel_val key) {
    (void)vm;
    pel_entry *entry = find_str(dict, key);
    if (entry) remove_entry(dict, entry);
    return entry != NULL;
}

pel_val pel_dict_get_c(pel_vm *vm, const pel_dict *dict, const char *key) {
    return pel_dict_get_str(dict, pel_interned_c(vm, key));
}

void pel_dict_set_c(pel_vm *vm, pel_dict *dict, const char *key, pel_val value) {
    pel_dict_set_str(vm, dict, pel_interned_c(vm, key), value);
}

/* ---- any key ---- */

/* False: hashing or comparing raised. */
static bool find(pel_vm *vm, pel_dict *dict, pel_val key, uint64_t *hash, pel_entry **found) {
    *found = NULL;
    if (is_text_key(key) && key->type == vm->types.str) {
        *hash = pel_string_at(key)->hash;
        *found = find_str(dict, key);
        return true;
    }
    if (!pel_hash_of(vm, key, hash)) return false;
    if (!dict->index) {
        for (uint32_t i = 0; i < dict->n; i++) {
            pel_val there = dict->entries[i].key;
            if (!there || dict->entries[i].hash != *hash) continue;
            int equal = there == key ? 1 : pel_equal(vm, there, key);
            if (equal < 0) return false;
            if (equal) {
                *found = i < dict->n ? &dict->entries[i] : NULL;
                return true;
            }
        }
        return true;
    }
    for (uint32_t slot = mix(*hash) & dict->index_mask; dict->index && dict->index[slot] != EMPTY;
         slot = (slot + 1) & dict->index_mask) {
        int32_t at = dict->index[slot];
        pel_val there = dict->entries[at].key;
        if (!there || dict->entries[at].hash != *hash) continue;
        int equal = there == key ? 1 : pel_equal(vm, there, key);
        if (equal < 0) return false;
        if (equal) {
            *found = &dict->entries[at];
            return true;
        }
    }
    return true;
}

bool pel_dict_get(pel_vm *vm, pel_dict *dict, pel_val key, pel_val *value) {
    uint64_t hash;
    pel_entry *entry;
    if (!find(vm, dict, key, &hash, &entry)) return false;
    *value = entry ? entry->value : NULL;
    return true;
}

bool pel_dict_set(pel_vm *vm, pel_dict *dict, pel_val key, pel_val value) {
    uint64_t hash;
    pel_entry *entry;
    if (!find(vm, dict, key, &hash, &entry)) return false;
    if (entry)
        entry->value = value;
    else
        append(vm, dict, key, value, hash);
    return true;
}

bool pel_dict_del(pel_vm *vm, pel_dict *dict, pel_val key, pel_val *value) {
    uint64_t hash;
    pel_entry *entry;
    if (!find(vm, dict, key, &hash, &entry)) return false;
    *value = entry ? remove_entry(dict, entry) : NULL;
    return true;
}

void pel_dict_clear(pel_dict *dict) {
    dict->n = dict->live = 0;
    dict->index = NULL;
}

/* A dict is copied entry by entry; anything with keys() is a mapping; all else is pairs. */
bool pel_dict_update(pel_vm *vm, pel_dict *into, pel_val from) {
    if (pel_is_dict(from) || pel_is(from, PEL_L_VIEW)) {
        bool is_view = !pel_is_dict(from);
        if (!is_view || from->type == vm->types.mappingproxy) {
            pel_dict *dict = is_view ? ((pel_dict_view *)from)->dict : pel_dict_at(from);
            uint32_t at = 0;
            for (pel_entry *entry; (entry = pel_dict_next(dict, &at));)
                if (!pel_dict_set(vm, into, entry->key, entry->value)) return false;
            return true;
        }
    }
    bool failed = false;
    pel_val keys = pel_find_attr(vm, from, pel_interned_c(vm, "keys"), &failed);
    if (failed) return false;
    if (keys) {
        pel_val names = pel_call0(vm, keys);
        pel_val *at;
        uint32_t n;
        if (!names || !pel_collect(vm, names, &at, &n)) return false;
        for (uint32_t i = 0; i < n; i++) {
            pel_val value = pel_getitem(vm, from, at[i]);
            if (!value || !pel_dict_set(vm, into, at[i], value)) return false;
        }
        return true;
    }
    pel_val *pairs;
    uint32_t n;
    if (!pel_collect(vm, from, &pairs, &n)) return false;
    for (uint32_t i = 0; i < n; i++) {
        pel_val *pair;
        uint32_t two;
        if (!pel_collect(vm, pairs[i], &pair, &two)) return false;
        if (two != 2) {
            pel_raise(vm, vm->types.ValueError, "dictionary update sequence element #%u has length %u; 2 is required",
                      i, two);
            return false;
        }
        if (!pel_dict_set(vm, into, pair[0], pair[1])) return false;
    }
    return true;
}

/* ---- hashing ---- */

static uint64_t hash_double(double d) {
    if (d == (double)(int64_t)d && d > -9e18 && d < 9e18) return (uint64_t)(int64_t)d;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits ^ (bits >> 31);
}

/* What is equal must have the same hash: True, 1 and 1.0; frozensets in any order. The values are not those of Python.
 * A class with an __eq__ but no __hash__ has None there, which must be seen before the layout. */
bool pel_hash_of(pel_vm *vm, pel_val v, uint64_t *hash) {
    if (pel_is_small(v)) {
        *hash = (uint64_t)pel_small(v);
        return true;
    }
    pel_val special = pel_lookup(vm, v->type, vm->names.s_hash);
    if (special && !pel_is(special, PEL_L_NATIVE)) {
        if (special == vm->none) {
            pel_raise(vm, vm->types.TypeError, "unhashable type: '%s'", pel_type_text(vm, v));
            return false;
        }
        pel_val made = pel_call_special(vm, v, vm->names.s_hash, NULL, 0);
        if (!made) return false;
        if (!pel_is_int(made)) {
            pel_raise(vm, vm->types.TypeError, "__hash__ method should return an integer");
            return false;
        }
        *hash = pel_int_hash(made);
        return true;
    }
    switch (v->type->layout) {
    case PEL_L_STR:
    case PEL_L_BYTES: *hash = pel_string_at(v)->hash; return true;
    case PEL_L_INT:
    case PEL_L_BOOL: *hash = pel_int_hash(v); return true;
    case PEL_L_FLOAT: *hash = hash_double(((pel_float *)v)->value); return true;
    case PEL_L_COMPLEX:
        *hash = hash_double(((pel_float *)v)->value) + 1000003 * hash_double(((pel_float *)v)->imag);
        return true;
    case PEL_L_TUPLE: {
        uint64_t sum = 0x345678, one;
        bool fine = pel_enter_c(vm);
        if (!fine) return false;
        for (uint32_t i = 0; i < pel_tuple_at(v)->n && fine; i++) {
            fine = pel_hash_of(vm, pel_tuple_at(v)->at[i], &one);
            if (fine) sum = (sum ^ (one + (one >> 29))) * 1000003;
        }
        pel_leave_c(vm);
        *hash = sum;
        return fine;
    }
    case PEL_L_SET: {
        if (!pel_is_subtype(v->type, vm->types.frozenset)) break;
        uint64_t sum = 1927868237;
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(v), &at));)
            sum ^= entry->hash * 0x9E3779B97F4A7C15ull;
        *hash = sum;
        return true;
    }
    case PEL_L_RANGE: {
        const pel_vm_range *r = (pel_vm_range *)v;
        *hash = (uint64_t)(r->start * 31 + r->stop * 17 + r->step);
        return true;
    }
    case PEL_L_ALIAS: {
        uint64_t a = 7, b;
        if ((((pel_alias *)v)->origin && !pel_hash_of(vm, ((pel_alias *)v)->origin, &a)) ||
            !pel_hash_of(vm, ((pel_alias *)v)->args, &b))
            return false;
        *hash = a * 31 + b;
        return true;
    }
    case PEL_L_METHOD: *hash = PEL_KEY(((pel_method *)v)->func) * 31 + PEL_KEY(((pel_method *)v)->self); return true;
    case PEL_L_SYMBOL: *hash = pel_hash(((pel_symbol *)v)->text.ptr, ((pel_symbol *)v)->text.len); return true;
    case PEL_L_LIST:
    case PEL_L_DICT:
    case PEL_L_SLICE: break;
    default: *hash = PEL_KEY(v) >> 4; return true;
    }
    pel_raise(vm, vm->types.TypeError, "unhashable type: '%s'", pel_type_text(vm, v));
    return false;
}
