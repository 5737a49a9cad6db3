/* torch.save before 1.6: five pickles in a row (magic number, protocol, system, object, storage keys), then each
 * storage as its element count and its bytes. Any other pickle is read as well: it may hold tensors. */
#include "io/bytes.h"
#include "load/audit/audit.h"
#include "load/formats/torch_objects.h"

/* 0x1950a86a20f9469cfc6c, as the first pickle holds it. */
static const char magic[] = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

#define MAX_PICKLES 1000 /* in a row */

typedef struct legacy {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_str bytes;
    pel_input input; /* the same */
    uint64_t at;     /* after what was read */
    pel_map by_key;  /* interned key -> row */
    pel_map widths;  /* interned key -> bytes of an element */
    PEL_VEC(pel_torch_storage) rows;
} legacy;

static uint64_t interned(legacy *l, pel_str key) { return PEL_KEY(pel_intern_str(l->ctx, key)); }

static bool storage_of(void *arg, pel_str key, pel_torch_storage *storage) {
    legacy *l = arg;
    uint64_t row;
    if (!pel_map_get(&l->by_key, interned(l, key), &row)) return false;
    *storage = l->rows.at[row];
    return true;
}

static bool is_magic(const pel_pickled *object) {
    return object->kind == PEL_P_INT && object->is_big && !object->is_text &&
           pel_str_eq(object->text, (pel_str){ magic, sizeof magic - 1 });
}

/* The storages' types are in the persistent ids of the pickle: ("storage", class, key, location, count, view). */
static void note_widths(legacy *l, const pel_pickle *pickle) {
    for (uint32_t i = 0; i < pickle->persistents.n; i++) {
        const pel_pickled *id = pickle->persistents.at[i]->id;
        if (id->kind != PEL_P_TUPLE || id->items.n < 3 || id->items.at[1]->kind != PEL_P_GLOBAL ||
            id->items.at[2]->kind != PEL_P_STR)
            continue;
        uint32_t width = pel_dtype_size(pel_storage_dtype(id->items.at[1]->global->name));
        if (width) pel_map_set(l->ctx, &l->widths, interned(l, id->items.at[2]->text), width);
    }
}

static void read_storages(legacy *l, const pel_pickled *keys) {
    if (keys->kind != PEL_P_LIST) pel_throw(l->ctx, PEL_E_FORMAT, keys->at, "the list of storages is no list");
    for (uint32_t i = 0; i < keys->items.n; i++) {
        const pel_pickled *key = keys->items.at[i];
        if (key->kind != PEL_P_STR) pel_throw(l->ctx, PEL_E_FORMAT, key->at, "the key of a storage is no text");
        if (!pel_within(l->bytes, l->at, 8))
            pel_throw(l->ctx, PEL_E_FORMAT, l->bytes.len, "truncated: storage %u of %u is not there", i + 1,
                      keys->items.n);
        uint64_t size, width = pel_map_find(&l->widths, interned(l, key->text), 0);
        if (!width) { /* nobody refers to it, so its elements have no size: what follows can't be found */
            pel_find(l->ctx, &l->out->findings, PEL_SUSPECT, "unused-storage", key->text, l->at,
                     PEL_STR("a storage that no tensor uses; its bytes are not looked at"));
            return;
        }
        if (__builtin_mul_overflow(pel_le64(l->bytes.ptr + l->at), width, &size) ||
            !pel_within(l->bytes, l->at + 8, size))
            pel_throw(l->ctx, PEL_E_FORMAT, l->at, "truncated: storage %.*s goes beyond its end", PEL_FMT(key->text));
        pel_map_set(l->ctx, &l->by_key, interned(l, key->text), l->rows.n);
        pel_push(l->ctx, &l->rows, (pel_torch_storage){ .offset = l->at + 8, .size = size, .input = &l->input });
        l->at += 8 + size;
    }
    if (l->at != l->bytes.len)
        pel_find(l->ctx, &l->out->findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, l->at,
                 PEL_STR("bytes after the last storage"));
}

/* Whether a module of that name can be: letters of chance have others in them. */
static bool can_be_module(pel_str name) {
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '.' && c < 0x80) return false;
    }
    return name.len > 0;
}

/* A file for joblib that pickle.load would read otherwise: it takes arrays for opcodes, which mostly end in nonsense.
 * What would be imported or called before that is judged as everything else is. */
static void read_plainly(legacy *l, const pel_pickle *pickle) {
    uint64_t start = pickle->arrays.at[0].offset;
    pel_pickle *plainly = pickle->plainly;
    bool any = false;
    for (uint32_t i = 0; i < plainly->globals.n && !any; i++) {
        const pel_pickled *global = plainly->globals.at[i];
        any = global->at >= start && (global->global->is_computed || can_be_module(global->global->module));
    }
    for (uint32_t i = 0; i < plainly->calls.n && !any; i++) /* of names before the array */
        any = plainly->calls.at[i]->at >= start && plainly->calls.at[i]->call->callable->at < start;
    if (!any) return;
    pel_find(l->ctx, &l->out->findings, PEL_NOTE, "polyglot", (pel_str){ "", 0 }, start,
             PEL_STR("joblib reads an array where pickle reads opcodes that call something: both are judged"));
    plainly->failed = false; /* that it fails is no fault of the file */
    pel_push(l->ctx, &l->out->pickles, (pel_loaded_pickle){ plainly, PEL_STR("as pickle reads it"), false });
}

static pel_pickle *next_pickle(legacy *l, const char *what) {
    pel_str bytes = pel_str_from(l->bytes, l->at);
    pel_pickle *pickle = pel_pickle_read(l->ctx, bytes, l->at, pel_str_of(what), &l->out->findings);
    pel_push(l->ctx, &l->out->pickles, (pel_loaded_pickle){ pickle, pel_str_of(what), false });
    if (pickle->plainly) read_plainly(l, pickle);
    if (pickle->failed) pel_throw(l->ctx, pickle->fault.code, pickle->fault.at, "%s", pickle->fault.what);
    l->at += pickle->end;
    return pickle;
}

/* Somebody's pickle: what is after it may be more pickles, for a reader that calls load() again. */
static void read_plain(legacy *l, pel_str name, const pel_pickle *pickle) {
    const pel_pickled *root = pickle->root;
    l->out->format = PEL_STR("pickle");
    if (pel_is_dcp(root)) {
        pel_load_dcp(l->ctx, l->out, name, root);
    } else {
        pel_tree_builder builder = pel_build(l->ctx, l->out, name, '.');
        pel_torch_source source = { .storage = storage_of, .arg = l };
        pel_load_torch_objects(&builder, pickle, &source);
    }
    if (l->at == l->bytes.len) return;
    /* without the mark of a protocol, a few letters of anything are a pickle: then what follows must be one, too */
    bool is_marked = (unsigned char)l->bytes.ptr[0] == 0x80, is_followed = pel_is_pickle(pel_str_from(l->bytes, l->at));
    for (; l->at < l->bytes.len && (!l->bytes.ptr[l->at] || strchr("\n\r ", l->bytes.ptr[l->at])); l->at++) {}
    if (l->at == l->bytes.len) return;
    pel_find(l->ctx, &l->out->findings, is_marked || is_followed ? PEL_NOTE : PEL_SUSPECT, "trailing-data",
             (pel_str){ "", 0 }, l->at, PEL_STR("bytes after the end of the pickle"));
    for (int i = 0; i < MAX_PICKLES && pel_is_pickle(pel_str_from(l->bytes, l->at)); i++)
        next_pickle(l, "later pickle");
}

void pel_load_torch_legacy(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    legacy l = { .ctx = ctx, .out = out, .bytes = bytes, .input = pel_input_of(bytes) };
    out->format = PEL_STR("pickle");
    const pel_pickle *first = next_pickle(&l, "first pickle");
    if (!is_magic(first->root)) {
        read_plain(&l, name, first);
        return;
    }
    out->format = PEL_STR("PyTorch legacy file");
    out->is_torch = true;
    next_pickle(&l, "protocol");
    next_pickle(&l, "system");
    const pel_pickle *object = next_pickle(&l, "object");
    const pel_pickle *keys = next_pickle(&l, "storage keys");
    note_widths(&l, object);
    read_storages(&l, keys->root);
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_torch_source source = { .storage = storage_of, .arg = &l };
    pel_load_torch_objects(&builder, object, &source);
}
