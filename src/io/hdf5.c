#include "io/hdf5.h"

#include "io/bytes.h"

#define MAX_OBJECTS 200000
#define MAX_DEPTH 64
#define MAX_MESSAGES 4096  /* of one object */
#define MAX_ELEMENTS 65536 /* of an attribute that is an array of texts */
#define MAX_DIMS 32
#define NOWHERE UINT64_MAX

/* Messages of object headers. */
enum {
    DATASPACE = 0x01,
    LINK_INFO = 0x02,
    DATATYPE = 0x03,
    LINK = 0x06,
    LAYOUT = 0x08,
    ATTRIBUTE = 0x0C,
    CONTINUATION = 0x10,
    SYMBOL_TABLE = 0x11,
    ATTRIBUTE_INFO = 0x15,
};

typedef struct reader {
    pel_ctx *ctx;
    pel_str bytes;
    pel_findings *findings;
    unsigned offset_size, length_size;
    uint32_t n_objects;
    uint64_t steps;
    pel_map seen; /* address of an object header -> 1: hard links may make cycles */
} reader;

_Noreturn static void fail(const reader *r, uint64_t at, const char *what) {
    pel_throw(r->ctx, PEL_E_FORMAT, at, "HDF5: %s", what);
}

/* ---- a window of the file ---- */

typedef struct cursor {
    reader *r;
    uint64_t at, end;
} cursor;

static cursor window(reader *r, uint64_t at, uint64_t size, const char *what) {
    if (++r->steps > 4 * MAX_OBJECTS) fail(r, at, "there is no end to its parts");
    if (!pel_within(r->bytes, at, size)) pel_throw(r->ctx, PEL_E_FORMAT, at, "HDF5: %s lies outside of the file", what);
    return (cursor){ r, at, at + size };
}

static const char *take(cursor *c, uint64_t size) {
    if (size > c->end - c->at) fail(c->r, c->at, "truncated: a part ends too early");
    const char *at = c->r->bytes.ptr + c->at;
    c->at += size;
    return at;
}

static uint64_t take_number(cursor *c, unsigned size) {
    const unsigned char *at = (const unsigned char *)take(c, size);
    uint64_t value = 0;
    for (unsigned i = size; i-- > 0;) value = value << 8 | at[i];
    return value;
}

/* All bits set: there is none. */
static uint64_t take_address(cursor *c) {
    uint64_t value = take_number(c, c->r->offset_size);
    return c->r->offset_size < 8 && value == ((uint64_t)1 << 8 * c->r->offset_size) - 1 ? NOWHERE : value;
}

static uint64_t take_length(cursor *c) { return take_number(c, c->r->length_size); }

static void expect(cursor *c, const char *signature) {
    if (memcmp(take(c, 4), signature, 4) != 0)
        pel_throw(c->r->ctx, PEL_E_FORMAT, c->at - 4, "HDF5: %s was expected here", signature);
}

/* ---- dataspace and datatype ---- */

typedef struct dataspace {
    int64_t dims[MAX_DIMS];
    uint32_t n;
    uint64_t count;
} dataspace;

static dataspace read_dataspace(cursor c) {
    dataspace space = { .count = 1 };
    unsigned version = (unsigned)take_number(&c, 1), rank = (unsigned)take_number(&c, 1);
    unsigned flags = (unsigned)take_number(&c, 1);
    if (version == 1)
        take(&c, 5);
    else if (version == 2)
        space.count = take_number(&c, 1) == 2 ? 0 : 1; /* 2: no elements at all */
    else
        fail(c.r, c.at, "an unknown version of dataspace");
    (void)flags; /* of largest sizes, which follow */
    if (rank > MAX_DIMS) fail(c.r, c.at, "more than 32 dimensions");
    for (space.n = 0; space.n < rank; space.n++) {
        uint64_t size = take_length(&c);
        if (size > INT64_MAX || __builtin_mul_overflow(space.count, size, &space.count))
            fail(c.r, c.at, "the sizes of a dataspace overflow");
        space.dims[space.n] = (int64_t)size;
    }
    return space;
}

typedef struct datatype {
    unsigned class;
    uint64_t size;
    bool is_vlen_text;
    pel_str dtype;
} datatype;

static datatype read_datatype(cursor c) {
    static const char *const others[] = {
        [2] = "time",      [3] = "string", [4] = "bitfield", [5] = "opaque", [6] = "compound",
        [7] = "reference", [8] = "enum",   [9] = "vlen",     [10] = "array"
    };
    unsigned class_version = (unsigned)take_number(&c, 1);
    uint32_t bits = (uint32_t)take_number(&c, 3);
    datatype type = { .class = class_version & 15, .size = take_number(&c, 4) };
    type.dtype =
        type.class < PEL_COUNT(others) && others[type.class] ? pel_str_of(others[type.class]) : PEL_STR("other");
    bool is_big = bits & 1;
    if (type.class == 0 && !is_big) {
        bool is_signed = bits & 8;
        static const char *const names[2][9] = { { [1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64" },
                                                 { [1] = "int8", [2] = "int16", [4] = "int32", [8] = "int64" } };
        if (type.size <= 8 && names[is_signed][type.size]) type.dtype = pel_str_of(names[is_signed][type.size]);
    } else if (type.class == 1 && !is_big) {
        take(&c, 4); /* bit offset, precision */
        unsigned exponent_at = (unsigned)take_number(&c, 1), exponent_size = (unsigned)take_number(&c, 1);
        (void)exponent_at;
        type.dtype = type.size == 4                         ? PEL_STR("float32")
                     : type.size == 8                       ? PEL_STR("float64")
                     : type.size == 2 && exponent_size == 8 ? PEL_STR("bfloat16")
                     : type.size == 2                       ? PEL_STR("float16")
                                                            : type.dtype;
    } else if (type.class == 8) { /* h5py writes booleans as an enumeration of FALSE and TRUE */
        if (type.size == 1) type.dtype = PEL_STR("bool");
    } else if (type.class == 9) {
        type.is_vlen_text = (bits & 15) == 1;
        if (type.is_vlen_text) type.dtype = PEL_STR("string");
    } else if (type.class < 2) {
        type.dtype = PEL_STR("big-endian");
    }
    return type;
}

/* ---- attributes ---- */

/* A text of variable length lies in a heap: its length, the heap's address, its number there. */
static pel_str read_heap_text(cursor *c) {
    reader *r = c->r;
    uint64_t length = take_number(c, 4), address = take_address(c), wanted = take_number(c, 4);
    if (!length || address == NOWHERE || !address) return (pel_str){ "", 0 };
    cursor heap = window(r, address, 8 + r->length_size, "a heap");
    expect(&heap, "GCOL");
    take(&heap, 4);
    uint64_t size = take_length(&heap);
    heap = window(r, address, size, "a heap");
    take(&heap, 8 + r->length_size);
    while (heap.end - heap.at >= 8 + r->length_size) {
        uint64_t number = take_number(&heap, 2);
        take(&heap, 6);
        uint64_t object_size = take_length(&heap);
        if (!number || ++r->steps > 4 * MAX_OBJECTS) break; /* the rest is free */
        if (number == wanted) {
            if (object_size < length) fail(r, heap.at, "a text is longer than its place in the heap");
            return (pel_str){ take(&heap, length), length };
        }
        take(&heap, (object_size + 7) & ~(uint64_t)7);
    }
    fail(r, address, "a heap has no object of that number");
}

/* A text of fixed length ends at its first NUL. */
static pel_str fixed_text(const char *at, uint64_t size) {
    const char *end = memchr(at, 0, size);
    return (pel_str){ at, end ? (size_t)(end - at) : size };
}

static void read_attribute(cursor c, pel_h5_object *object) {
    reader *r = c.r;
    unsigned version = (unsigned)take_number(&c, 1), flags = (unsigned)take_number(&c, 1);
    uint64_t name_size = take_number(&c, 2), type_size = take_number(&c, 2), space_size = take_number(&c, 2);
    if (version < 1 || version > 3) fail(r, c.at, "an unknown version of attribute");
    if (version == 3) take(&c, 1); /* the character set */
    if (flags) return;             /* its type or space is shared: never of text that Keras writes */
    uint64_t padding = version == 1 ? 7 : 0;
    pel_h5_attribute attribute = { .name = fixed_text(take(&c, (name_size + padding) & ~padding), name_size) };
    cursor type_at = { r, c.at, c.at + type_size };
    take(&c, (type_size + padding) & ~padding);
    cursor space_at = { r, c.at, c.at + space_size };
    take(&c, (space_size + padding) & ~padding);
    datatype type = read_datatype(type_at);
    dataspace space = read_dataspace(space_at);
    if ((type.class != 3 && !type.is_vlen_text) || space.count > MAX_ELEMENTS) return;
    for (uint64_t i = 0; i < space.count; i++) {
        pel_str text = type.class == 3 ? fixed_text(take(&c, type.size), type.size) : read_heap_text(&c);
        pel_push(r->ctx, &attribute.texts, text);
    }
    pel_push(r->ctx, &object->attributes, attribute);
}

/* ---- objects ---- */

typedef struct found {
    uint64_t tree, heap; /* of a group in the old style */
    bool has_space, has_type, is_dense;
    dataspace space;
    datatype type;
    uint64_t data, data_size;
    bool is_plain;
    PEL_VEC(uint64_t) links; /* addresses and names of a group in the new style */
    PEL_VEC(pel_str) link_names;
} found;

static void read_link(cursor c, found *f) {
    reader *r = c.r;
    unsigned version = (unsigned)take_number(&c, 1), flags = (unsigned)take_number(&c, 1);
    if (version != 1) fail(r, c.at, "an unknown version of link");
    unsigned type = flags & 8 ? (unsigned)take_number(&c, 1) : 0;
    if (flags & 4) take(&c, 8);
    if (flags & 16) take(&c, 1);
    uint64_t size = take_number(&c, 1u << (flags & 3));
    pel_str name = { take(&c, size), size };
    if (type != 0) { /* soft and external links lead elsewhere: nothing of ours */
        pel_find(r->ctx, r->findings, type == 64 ? PEL_DANGER : PEL_NOTE, "link", name, c.at,
                 type == 64 ? PEL_STR("a link to another file, which its reader would open")
                            : PEL_STR("a link that is not followed"));
        return;
    }
    pel_push(r->ctx, &f->links, take_address(&c));
    pel_push(r->ctx, &f->link_names, name);
}

static void read_layout(cursor c, found *f) {
    unsigned version = (unsigned)take_number(&c, 1);
    if (version == 3 || version == 4) {
        unsigned class = (unsigned)take_number(&c, 1);
        if (class == 0) { /* within this message */
            f->data_size = take_number(&c, 2);
            f->data = c.at;
            take(&c, f->data_size);
            f->is_plain = true;
        } else if (class == 1) {
            f->data = take_address(&c);
            f->data_size = take_length(&c);
            f->is_plain = f->data != NOWHERE;
        } else if (class == 3) {
            pel_find(c.r->ctx, c.r->findings, PEL_SUSPECT, "virtual", (pel_str){ "", 0 }, c.at,
                     PEL_STR("a dataset that takes its elements from other files"));
        }
    }
}

static void read_message(cursor c, unsigned type, unsigned flags, found *f, pel_h5_object *object) {
    if (flags & 2) return; /* shared: stored elsewhere; types that are named, never seen in model files */
    switch (type) {
    case DATASPACE: f->space = read_dataspace(c), f->has_space = true; break;
    case DATATYPE: f->type = read_datatype(c), f->has_type = true; break;
    case LAYOUT: read_layout(c, f); break;
    case ATTRIBUTE: read_attribute(c, object); break;
    case LINK: read_link(c, f); break;
    case SYMBOL_TABLE: f->tree = take_address(&c), f->heap = take_address(&c); break;
    case LINK_INFO:
    case ATTRIBUTE_INFO: {
        take(&c, 1);
        unsigned what = (unsigned)take_number(&c, 1);
        if (what & 1) take(&c, type == LINK_INFO ? 8 : 2);
        if (take_address(&c) != NOWHERE) f->is_dense = true;
        break;
    }
    default: break;
    }
}

/* Blocks of messages that are still to be read: the first, and where continuations lead. */
typedef struct blocks {
    PEL_VEC(cursor) list;
    uint32_t n_messages;
} blocks;

static void count_message(reader *r, blocks *todo, uint64_t at) {
    if (++todo->n_messages > MAX_MESSAGES) fail(r, at, "an object has too many messages");
}

static void read_header_1(reader *r, uint64_t at, found *f, pel_h5_object *object) {
    cursor c = window(r, at, 16, "an object");
    take(&c, 2);
    unsigned n = (unsigned)take_number(&c, 2);
    take(&c, 4);
    uint64_t size = take_number(&c, 4);
    blocks todo = { .n_messages = 0 };
    pel_push(r->ctx, &todo.list, window(r, at + 16, size, "an object"));
    for (uint32_t i = 0; i < todo.list.n; i++) {
        cursor block = todo.list.at[i];
        while (block.end - block.at >= 8 && todo.n_messages < n) {
            unsigned type = (unsigned)take_number(&block, 2);
            uint64_t message_size = take_number(&block, 2);
            unsigned flags = (unsigned)take_number(&block, 1);
            take(&block, 3);
            cursor message = { r, block.at, block.at + message_size };
            take(&block, message_size);
            count_message(r, &todo, block.at);
            if (type == CONTINUATION) {
                uint64_t where = take_address(&message), length = take_length(&message);
                pel_push(r->ctx, &todo.list, window(r, where, length, "the rest of an object"));
            } else {
                read_message(message, type, flags, f, object);
            }
        }
    }
}

static void read_header_2(reader *r, uint64_t at, found *f, pel_h5_object *object) {
    cursor c = window(r, at, r->bytes.len - at, "an object");
    expect(&c, "OHDR");
    take(&c, 1);
    unsigned header_flags = (unsigned)take_number(&c, 1);
    if (header_flags & 32) take(&c, 16);
    if (header_flags & 16) take(&c, 4);
    uint64_t size = take_number(&c, 1u << (header_flags & 3));
    blocks todo = { .n_messages = 0 };
    pel_push(r->ctx, &todo.list, window(r, c.at, size, "an object"));
    for (uint32_t i = 0; i < todo.list.n; i++) {
        cursor block = todo.list.at[i];
        if (i) { /* a continuation has a signature and a checksum */
            expect(&block, "OCHK");
            block.end -= block.end - block.at >= 4 ? 4 : 0;
        }
        while (block.end - block.at >= 4) {
            unsigned type = (unsigned)take_number(&block, 1);
            uint64_t message_size = take_number(&block, 2);
            unsigned flags = (unsigned)take_number(&block, 1);
            if (header_flags & 4) take(&block, 2);
            cursor message = { r, block.at, block.at + message_size };
            take(&block, message_size);
            count_message(r, &todo, block.at);
            if (type == CONTINUATION) {
                uint64_t where = take_address(&message), length = take_length(&message);
                pel_push(r->ctx, &todo.list, window(r, where, length, "the rest of an object"));
            } else {
                read_message(message, type, flags, f, object);
            }
        }
    }
}

static pel_h5_object *read_object(reader *r, pel_str name, uint64_t at, int depth);

static void add_child(reader *r, pel_h5_object *group, pel_str name, uint64_t at, int depth) {
    if (pel_map_set(r->ctx, &r->seen, at, 1)) {
        pel_h5_object *child = read_object(r, name, at, depth + 1);
        pel_push(r->ctx, &group->children, child);
        pel_map_set(r->ctx, &group->by_name, PEL_KEY(pel_intern(r->ctx, name.ptr, name.len)), PEL_KEY(child));
        return;
    }
    pel_find(r->ctx, r->findings, PEL_NOTE, "link", name, at,
             PEL_STR("an object that is there under another name, too"));
}

/* A group in the old style: a B-tree of nodes of symbols, whose names lie in a heap. */
static void read_symbols(reader *r, pel_h5_object *group, uint64_t tree, pel_str names, int depth, int tree_depth) {
    if (tree_depth > 16) fail(r, tree, "a B-tree nests too deep");
    cursor c = window(r, tree, 8 + 2 * r->offset_size, "a B-tree");
    expect(&c, "TREE");
    unsigned type = (unsigned)take_number(&c, 1), level = (unsigned)take_number(&c, 1);
    unsigned n = (unsigned)take_number(&c, 2);
    if (type != 0) fail(r, tree, "a B-tree of another kind");
    c = window(r, tree + 8 + 2 * r->offset_size, n * (uint64_t)(r->length_size + r->offset_size), "a B-tree");
    for (unsigned i = 0; i < n; i++) {
        take_length(&c);
        uint64_t child = take_address(&c);
        if (level) {
            read_symbols(r, group, child, names, depth, tree_depth + 1);
            continue;
        }
        cursor node = window(r, child, 8, "a node of symbols");
        expect(&node, "SNOD");
        take(&node, 2);
        unsigned n_symbols = (unsigned)take_number(&node, 2);
        node = window(r, child + 8, n_symbols * (uint64_t)(2 * r->offset_size + 24), "a node of symbols");
        for (unsigned k = 0; k < n_symbols; k++) {
            uint64_t name_at = take_address(&node), object = take_address(&node), kind = take_number(&node, 4);
            take(&node, 20);
            if (name_at >= names.len) fail(r, child, "the name of an object lies outside of its heap");
            pel_str name = fixed_text(names.ptr + name_at, names.len - name_at);
            if (kind == 2)
                pel_find(r->ctx, r->findings, PEL_NOTE, "link", name, child, PEL_STR("a link that is not followed"));
            else
                add_child(r, group, name, object, depth);
        }
    }
}

static pel_str read_name_heap(reader *r, uint64_t at) {
    cursor c = window(r, at, 8 + 2 * r->length_size + r->offset_size, "a heap of names");
    expect(&c, "HEAP");
    take(&c, 4);
    uint64_t size = take_length(&c);
    take_length(&c);
    uint64_t address = take_address(&c);
    window(r, address, size, "a heap of names");
    return (pel_str){ r->bytes.ptr + address, size };
}

static pel_h5_object *read_object(reader *r, pel_str name, uint64_t at, int depth) {
    if (depth > MAX_DEPTH) pel_throw(r->ctx, PEL_E_TOO_DEEP, at, "HDF5: groups nest deeper than %d", MAX_DEPTH);
    if (++r->n_objects > MAX_OBJECTS) pel_throw(r->ctx, PEL_E_TOO_BIG, at, "HDF5: more than %d objects", MAX_OBJECTS);
    pel_h5_object *object = pel_new(r->ctx, pel_h5_object);
    object->name = name;
    found *f = pel_new(r->ctx, found);
    f->tree = f->heap = NOWHERE;
    cursor c = window(r, at, 4, "an object");
    if (memcmp(take(&c, 4), "OHDR", 4) == 0)
        read_header_2(r, at, f, object);
    else
        read_header_1(r, at, f, object);
    if (f->has_space && f->has_type) {
        object->is_dataset = true;
        object->dtype = f->type.dtype;
        object->n_dims = f->space.n;
        object->dims = pel_new_array(r->ctx, f->space.n, int64_t);
        memcpy(object->dims, f->space.dims, f->space.n * sizeof *object->dims);
        uint64_t size;
        if (f->is_plain && !__builtin_mul_overflow(f->space.count, f->type.size, &size)) {
            object->has_place = pel_within(r->bytes, f->data, f->data_size) && size <= f->data_size;
            object->offset = f->data;
            object->size = size;
            if (!object->has_place)
                pel_find(r->ctx, r->findings, PEL_SUSPECT, "outside", name, f->data,
                         PEL_STR("the elements lie outside of the file, or are fewer than the shape says"));
        }
        return object;
    }
    if (f->is_dense)
        pel_find(r->ctx, r->findings, PEL_NOTE, "unread-group", name, at,
                 PEL_STR("a group or attributes in a dense form, which is not read"));
    if (f->tree != NOWHERE) read_symbols(r, object, f->tree, read_name_heap(r, f->heap), depth, 0);
    for (uint32_t i = 0; i < f->links.n; i++) add_child(r, object, f->link_names.at[i], f->links.at[i], depth);
    return object;
}

/* ---- the file ---- */

static const char signature[] = "\x89HDF\r\n\x1a\n";

bool pel_is_hdf5(pel_str bytes) { return pel_str_starts(bytes, (pel_str){ signature, 8 }); }

pel_h5_object *pel_h5_read(pel_ctx *ctx, pel_str bytes, pel_findings *findings) {
    reader r = { .ctx = ctx, .bytes = bytes, .findings = findings, .offset_size = 8, .length_size = 8 };
    cursor c = window(&r, 8, bytes.len > 8 ? bytes.len - 8 : 0, "the superblock");
    unsigned version = (unsigned)take_number(&c, 1);
    uint64_t root;
    if (version <= 1) {
        take(&c, 4);
        r.offset_size = (unsigned)take_number(&c, 1);
        r.length_size = (unsigned)take_number(&c, 1);
        take(&c, version == 1 ? 13 : 9); /* reserved, sizes of B-trees, flags */
    } else if (version <= 3) {
        r.offset_size = (unsigned)take_number(&c, 1);
        r.length_size = (unsigned)take_number(&c, 1);
        take(&c, 1);
    } else {
        fail(&r, 8, "an unknown version of superblock");
    }
    if ((r.offset_size != 4 && r.offset_size != 8) || (r.length_size != 4 && r.length_size != 8))
        fail(&r, 8, "odd sizes of addresses");
    if (take_address(&c) != 0) fail(&r, c.at, "addresses that do not count from the start of the file");
    take_address(&c); /* free space, or the superblock's extension */
    uint64_t end = take_address(&c);
    if (version <= 1) {
        take_address(&c);
        take_address(&c); /* the root's name */
    }
    root = take_address(&c);
    if (end > bytes.len) fail(&r, bytes.len, "truncated: the file is shorter than it says");
    if (end < bytes.len)
        pel_find(ctx, findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, end, PEL_STR("bytes behind the end"));
    pel_map_set(ctx, &r.seen, root, 1);
    return read_object(&r, (pel_str){ "", 0 }, root, 0);
}

const pel_h5_object *pel_h5_child(pel_ctx *ctx, const pel_h5_object *group, pel_str name) {
    uint64_t child = 0;
    if (group) pel_map_get(&group->by_name, PEL_KEY(pel_intern(ctx, name.ptr, name.len)), &child);
    return (const pel_h5_object *)(uintptr_t)child;
}

const pel_h5_attribute *pel_h5_attribute_of(const pel_h5_object *object, const char *name) {
    for (uint32_t i = 0; i < object->attributes.n; i++)
        if (pel_str_is(object->attributes.at[i].name, name)) return &object->attributes.at[i];
    return NULL;
}
