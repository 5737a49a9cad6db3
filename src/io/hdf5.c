#include "io/hdf5.h"

#include "io/hdf5_cursor.h"

#include <stdlib.h>

#define MAX_DEPTH 64
#define MAX_MESSAGES 4096  /* of one object */
#define MAX_ELEMENTS 65536 /* of an attribute that is an array of texts */
#define MAX_DIMS 32

/* Messages of object headers. */
enum {
    DATASPACE = 0x01,
    LINK_INFO = 0x02,
    DATATYPE = 0x03,
    LINK = 0x06,
    EXTERNAL = 0x07,
    LAYOUT = 0x08,
    ATTRIBUTE = 0x0C,
    CONTINUATION = 0x10,
    SYMBOL_TABLE = 0x11,
    ATTRIBUTE_INFO = 0x15,
};

/* ---- dataspace and datatype ---- */

typedef struct dataspace {
    int64_t dims[MAX_DIMS];
    uint32_t n;
    uint64_t count;
} dataspace;

static dataspace read_dataspace(pel_h5_cursor c) {
    dataspace space = { .count = 1 };
    unsigned version = (unsigned)pel_h5_number(&c, 1), rank = (unsigned)pel_h5_number(&c, 1);
    unsigned flags = (unsigned)pel_h5_number(&c, 1);
    if (version == 1)
        pel_h5_take(&c, 5);
    else if (version == 2)
        space.count = pel_h5_number(&c, 1) == 2 ? 0 : 1; /* 2: no elements at all */
    else
        pel_h5_fail(c.r, c.at, "an unknown version of dataspace");
    (void)flags; /* of largest sizes, which follow */
    if (rank > MAX_DIMS) pel_h5_fail(c.r, c.at, "more than 32 dimensions");
    for (space.n = 0; space.n < rank; space.n++) {
        uint64_t size = pel_h5_length(&c);
        if (size > INT64_MAX || __builtin_mul_overflow(space.count, size, &space.count))
            pel_h5_fail(c.r, c.at, "the sizes of a dataspace overflow");
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

static datatype read_datatype(pel_h5_cursor c) {
    static const char *const others[] = {
        [2] = "time",      [3] = "string", [4] = "bitfield", [5] = "opaque", [6] = "compound",
        [7] = "reference", [8] = "enum",   [9] = "vlen",     [10] = "array"
    };
    unsigned class_version = (unsigned)pel_h5_number(&c, 1);
    uint32_t bits = (uint32_t)pel_h5_number(&c, 3);
    datatype type = { .class = class_version & 15, .size = pel_h5_number(&c, 4) };
    type.dtype =
        type.class < PEL_COUNT(others) && others[type.class] ? pel_str_of(others[type.class]) : PEL_STR("other");
    bool is_big = bits & 1;
    if (type.class == 0 && !is_big) {
        bool is_signed = bits & 8;
        static const char *const names[2][9] = { { [1] = "uint8", [2] = "uint16", [4] = "uint32", [8] = "uint64" },
                                                 { [1] = "int8", [2] = "int16", [4] = "int32", [8] = "int64" } };
        if (type.size <= 8 && names[is_signed][type.size]) type.dtype = pel_str_of(names[is_signed][type.size]);
    } else if (type.class == 1 && !is_big) {
        pel_h5_take(&c, 4); /* bit offset, precision */
        unsigned exponent_at = (unsigned)pel_h5_number(&c, 1), exponent_size = (unsigned)pel_h5_number(&c, 1);
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
static pel_str read_heap_text(pel_h5_cursor *c) {
    pel_h5_reader *r = c->r;
    uint64_t length = pel_h5_number(c, 4), address = pel_h5_address(c), wanted = pel_h5_number(c, 4);
    if (!length || address == PEL_H5_NOWHERE || !address) return (pel_str){ "", 0 };
    pel_h5_cursor heap = pel_h5_window(r, address, 8 + r->length_size, "a heap");
    pel_h5_expect(&heap, "GCOL");
    pel_h5_take(&heap, 4);
    uint64_t size = pel_h5_length(&heap);
    heap = pel_h5_window(r, address, size, "a heap");
    pel_h5_take(&heap, 8 + r->length_size);
    while (heap.end - heap.at >= 8 + r->length_size) {
        uint64_t number = pel_h5_number(&heap, 2);
        pel_h5_take(&heap, 6);
        uint64_t object_size = pel_h5_length(&heap);
        if (!number || ++r->steps > 4 * PEL_H5_MAX_OBJECTS) break; /* the rest is free */
        if (number == wanted) {
            if (object_size < length) pel_h5_fail(r, heap.at, "a text is longer than its place in the heap");
            return pel_str_at(pel_h5_take(&heap, length), length);
        }
        pel_h5_take(&heap, (object_size + 7) & ~(uint64_t)7);
    }
    pel_h5_fail(r, address, "a heap has no object of that number");
}

/* A text of fixed length ends at its first NUL. */
static pel_str fixed_text(const char *at, uint64_t size) {
    const char *end = memchr(at, 0, (size_t)size);
    return pel_str_at(at, end ? (size_t)(end - at) : size);
}

static void read_attribute(pel_h5_cursor c, pel_h5_object *object) {
    pel_h5_reader *r = c.r;
    unsigned version = (unsigned)pel_h5_number(&c, 1), flags = (unsigned)pel_h5_number(&c, 1);
    uint64_t name_size = pel_h5_number(&c, 2), type_size = pel_h5_number(&c, 2), space_size = pel_h5_number(&c, 2);
    if (version < 1 || version > 3) pel_h5_fail(r, c.at, "an unknown version of attribute");
    if (version == 3) pel_h5_take(&c, 1); /* the character set */
    if (flags) return;                    /* its type or space is shared: never of text that Keras writes */
    uint64_t padding = version == 1 ? 7 : 0;
    pel_h5_attribute attribute = { .name = fixed_text(pel_h5_take(&c, (name_size + padding) & ~padding), name_size) };
    pel_h5_cursor type_at = { r, c.at, c.at + type_size };
    pel_h5_take(&c, (type_size + padding) & ~padding);
    pel_h5_cursor space_at = { r, c.at, c.at + space_size };
    pel_h5_take(&c, (space_size + padding) & ~padding);
    datatype type = read_datatype(type_at);
    dataspace space = read_dataspace(space_at);
    if ((type.class != 3 && !type.is_vlen_text) || space.count > MAX_ELEMENTS) return;
    for (uint64_t i = 0; i < space.count; i++) {
        pel_str text = type.class == 3 ? fixed_text(pel_h5_take(&c, type.size), type.size) : read_heap_text(&c);
        pel_push(r->ctx, &attribute.texts, text);
    }
    pel_push(r->ctx, &object->attributes, attribute);
}

/* ---- objects ---- */

typedef struct child_link {
    pel_str name;
    uint64_t at;
} child_link;

typedef struct found {
    uint64_t tree, heap; /* of a group in the old style */
    bool has_space, has_type;
    uint64_t link_heap, link_tree, attribute_heap, attribute_tree; /* of an object that has many */
    dataspace space;
    datatype type;
    uint64_t data, data_size;
    bool is_plain, is_elsewhere;
    PEL_VEC(child_link) links; /* of a group in the new style */
} found;

static void read_link(pel_h5_cursor c, found *f) {
    pel_h5_reader *r = c.r;
    unsigned version = (unsigned)pel_h5_number(&c, 1), flags = (unsigned)pel_h5_number(&c, 1);
    if (version != 1) pel_h5_fail(r, c.at, "an unknown version of link");
    unsigned type = flags & 8 ? (unsigned)pel_h5_number(&c, 1) : 0;
    if (flags & 4) pel_h5_take(&c, 8);
    if (flags & 16) pel_h5_take(&c, 1);
    uint64_t size = pel_h5_number(&c, 1u << (flags & 3));
    pel_str name = pel_str_at(pel_h5_take(&c, size), size);
    if (type != 0) { /* soft and external links lead elsewhere: nothing of ours */
        pel_find(r->ctx, r->findings, type == 64 ? PEL_DANGER : PEL_NOTE, "link", name, c.at,
                 type == 64 ? PEL_STR("a link to another file, which its pel_h5_reader would open")
                            : PEL_STR("a link that is not followed"));
        return;
    }
    pel_push(r->ctx, &f->links, ((child_link){ name, pel_h5_address(&c) }));
}

static void read_layout(pel_h5_cursor c, found *f) {
    unsigned version = (unsigned)pel_h5_number(&c, 1);
    if (version == 3 || version == 4) {
        unsigned class = (unsigned)pel_h5_number(&c, 1);
        if (class == 0) { /* within this message */
            f->data_size = pel_h5_number(&c, 2);
            f->data = c.at;
            pel_h5_take(&c, f->data_size);
            f->is_plain = true;
        } else if (class == 1) {
            f->data = pel_h5_address(&c);
            f->data_size = pel_h5_length(&c);
            f->is_plain = f->data != PEL_H5_NOWHERE;
        } else if (class == 3) {
            pel_find(c.r->ctx, c.r->findings, PEL_SUSPECT, "virtual", (pel_str){ "", 0 }, c.at,
                     PEL_STR("a dataset that takes its elements from other files"));
        }
    }
}

/* Where links or attributes lie that do not fit the object's header. */
static void read_dense(pel_h5_cursor c, unsigned order_size, uint64_t *heap, uint64_t *tree) {
    pel_h5_take(&c, 1);
    if (pel_h5_number(&c, 1) & 1) pel_h5_take(&c, order_size);
    *heap = pel_h5_address(&c);
    *tree = pel_h5_address(&c);
}

static void visit_link(void *arg, pel_h5_cursor message) { read_link(message, arg); }
static void visit_attribute(void *arg, pel_h5_cursor message) { read_attribute(message, arg); }

/* As libhdf5 lists them. */
static int by_name(const void *a, const void *b) {
    const child_link *x = a, *y = b;
    size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
    int order = n ? memcmp(x->name.ptr, y->name.ptr, n) : 0;
    return order ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static void read_message(pel_h5_cursor c, unsigned type, unsigned flags, found *f, pel_h5_object *object) {
    if (flags & 2) return; /* shared: stored elsewhere; types that are named, never seen in model files */
    switch (type) {
    case DATASPACE: f->space = read_dataspace(c), f->has_space = true; break;
    case DATATYPE: f->type = read_datatype(c), f->has_type = true; break;
    case LAYOUT: read_layout(c, f); break;
    case ATTRIBUTE: read_attribute(c, object); break;
    case LINK: read_link(c, f); break;
    case SYMBOL_TABLE: f->tree = pel_h5_address(&c), f->heap = pel_h5_address(&c); break;
    case LINK_INFO: read_dense(c, 8, &f->link_heap, &f->link_tree); break;
    case ATTRIBUTE_INFO: read_dense(c, 2, &f->attribute_heap, &f->attribute_tree); break;
    case EXTERNAL:
        pel_find(c.r->ctx, c.r->findings, PEL_DANGER, "external", object->name, c.at,
                 PEL_STR("its elements are read from other files"));
        f->is_elsewhere = true;
        break;
    default: break;
    }
}

/* Blocks of messages that are still to be read: the first, and where continuations lead. */
typedef struct blocks {
    PEL_VEC(pel_h5_cursor) list;
    uint32_t n_messages;
} blocks;

static void count_message(pel_h5_reader *r, blocks *todo, uint64_t at) {
    if (++todo->n_messages > MAX_MESSAGES) pel_h5_fail(r, at, "an object has too many messages");
}

/* Continuations wait in a list instead of being followed at once: a block that leads to itself would never end. The
 * header's own count and MAX_MESSAGES bound the list. */
static void read_header_1(pel_h5_reader *r, uint64_t at, found *f, pel_h5_object *object) {
    pel_h5_cursor c = pel_h5_window(r, at, 16, "an object");
    pel_h5_take(&c, 2);
    unsigned n = (unsigned)pel_h5_number(&c, 2);
    pel_h5_take(&c, 4);
    uint64_t size = pel_h5_number(&c, 4);
    blocks todo = { .n_messages = 0 };
    pel_push(r->ctx, &todo.list, pel_h5_window(r, at + 16, size, "an object"));
    for (uint32_t i = 0; i < todo.list.n; i++) {
        pel_h5_cursor block = todo.list.at[i];
        while (block.end - block.at >= 8 && todo.n_messages < n) {
            unsigned type = (unsigned)pel_h5_number(&block, 2);
            uint64_t message_size = pel_h5_number(&block, 2);
            unsigned flags = (unsigned)pel_h5_number(&block, 1);
            pel_h5_take(&block, 3);
            pel_h5_cursor message = { r, block.at, block.at + message_size };
            pel_h5_take(&block, message_size);
            count_message(r, &todo, block.at);
            if (type == CONTINUATION) {
                uint64_t where = pel_h5_address(&message), length = pel_h5_length(&message);
                pel_push(r->ctx, &todo.list, pel_h5_window(r, where, length, "the rest of an object"));
            } else {
                read_message(message, type, flags, f, object);
            }
        }
    }
}

static void read_header_2(pel_h5_reader *r, uint64_t at, found *f, pel_h5_object *object) {
    pel_h5_cursor c = pel_h5_window(r, at, r->input.size - at, "an object");
    pel_h5_expect(&c, "OHDR");
    pel_h5_take(&c, 1);
    unsigned header_flags = (unsigned)pel_h5_number(&c, 1);
    if (header_flags & 32) pel_h5_take(&c, 16);
    if (header_flags & 16) pel_h5_take(&c, 4);
    uint64_t size = pel_h5_number(&c, 1u << (header_flags & 3));
    blocks todo = { .n_messages = 0 };
    pel_push(r->ctx, &todo.list, pel_h5_window(r, c.at, size, "an object"));
    for (uint32_t i = 0; i < todo.list.n; i++) {
        pel_h5_cursor block = todo.list.at[i];
        if (i) { /* a continuation has a signature and a checksum */
            pel_h5_expect(&block, "OCHK");
            block.end -= block.end - block.at >= 4 ? 4 : 0;
        }
        while (block.end - block.at >= 4) {
            unsigned type = (unsigned)pel_h5_number(&block, 1);
            uint64_t message_size = pel_h5_number(&block, 2);
            unsigned flags = (unsigned)pel_h5_number(&block, 1);
            if (header_flags & 4) pel_h5_take(&block, 2);
            pel_h5_cursor message = { r, block.at, block.at + message_size };
            pel_h5_take(&block, message_size);
            count_message(r, &todo, block.at);
            if (type == CONTINUATION) {
                uint64_t where = pel_h5_address(&message), length = pel_h5_length(&message);
                pel_push(r->ctx, &todo.list, pel_h5_window(r, where, length, "the rest of an object"));
            } else {
                read_message(message, type, flags, f, object);
            }
        }
    }
}

static pel_h5_object *read_object(pel_h5_reader *r, pel_str name, uint64_t at, int depth);

static void add_child(pel_h5_reader *r, pel_h5_object *group, pel_str name, uint64_t at, int depth) {
    if (pel_map_set(r->ctx, &r->seen, at, 1)) {
        pel_h5_object *child = read_object(r, name, at, depth + 1);
        pel_push(r->ctx, &group->children, child);
        pel_map_set(r->ctx, &group->by_name, PEL_KEY(pel_intern_str(r->ctx, name)), PEL_KEY(child));
        return;
    }
    pel_find(r->ctx, r->findings, PEL_NOTE, "link", name, at,
             PEL_STR("an object that is there under another name, too"));
}

/* A group in the old style: a B-tree of nodes of symbols, whose names lie in a heap. */
static void read_symbols(pel_h5_reader *r, pel_h5_object *group, uint64_t tree, pel_str names, int depth,
                         int tree_depth) {
    if (tree_depth > 16) pel_h5_fail(r, tree, "a B-tree nests too deep");
    pel_h5_cursor c = pel_h5_window(r, tree, 8 + 2 * r->offset_size, "a B-tree");
    pel_h5_expect(&c, "TREE");
    unsigned type = (unsigned)pel_h5_number(&c, 1), level = (unsigned)pel_h5_number(&c, 1);
    unsigned n = (unsigned)pel_h5_number(&c, 2);
    if (type != 0) pel_h5_fail(r, tree, "a B-tree of another kind");
    c = pel_h5_window(r, tree + 8 + 2 * r->offset_size, n * (uint64_t)(r->length_size + r->offset_size), "a B-tree");
    for (unsigned i = 0; i < n; i++) {
        pel_h5_length(&c);
        uint64_t child = pel_h5_address(&c);
        if (level) {
            read_symbols(r, group, child, names, depth, tree_depth + 1);
            continue;
        }
        pel_h5_cursor node = pel_h5_window(r, child, 8, "a node of symbols");
        pel_h5_expect(&node, "SNOD");
        pel_h5_take(&node, 2);
        unsigned n_symbols = (unsigned)pel_h5_number(&node, 2);
        node = pel_h5_window(r, child + 8, n_symbols * (uint64_t)(2 * r->offset_size + 24), "a node of symbols");
        for (unsigned k = 0; k < n_symbols; k++) {
            uint64_t name_at = pel_h5_address(&node), object = pel_h5_address(&node), kind = pel_h5_number(&node, 4);
            pel_h5_take(&node, 20);
            if (name_at >= names.len) pel_h5_fail(r, child, "the name of an object lies outside of its heap");
            pel_str name = fixed_text(names.ptr + name_at, names.len - name_at);
            if (kind == 2)
                pel_find(r->ctx, r->findings, PEL_NOTE, "link", name, child, PEL_STR("a link that is not followed"));
            else
                add_child(r, group, name, object, depth);
        }
    }
}

static pel_str read_name_heap(pel_h5_reader *r, uint64_t at) {
    pel_h5_cursor c = pel_h5_window(r, at, 8 + 2 * r->length_size + r->offset_size, "a heap of names");
    pel_h5_expect(&c, "HEAP");
    pel_h5_take(&c, 4);
    uint64_t size = pel_h5_length(&c);
    pel_h5_length(&c);
    uint64_t address = pel_h5_address(&c);
    pel_h5_cursor heap = pel_h5_window(r, address, size, "a heap of names");
    return pel_str_at(pel_h5_take(&heap, size), size);
}

/* What has a shape and a type is a dataset, all else is a group: no message names the kind. Old files list children in
 * a tree of symbols, new ones as links, and both are read. Elements in chunks get no place, since they are not one run
 * of bytes. */
static pel_h5_object *read_object(pel_h5_reader *r, pel_str name, uint64_t at, int depth) {
    if (depth > MAX_DEPTH) pel_throw(r->ctx, PEL_E_TOO_DEEP, at, "HDF5: groups nest deeper than %d", MAX_DEPTH);
    if (++r->n_objects > PEL_H5_MAX_OBJECTS)
        pel_throw(r->ctx, PEL_E_TOO_BIG, at, "HDF5: more than %d objects", PEL_H5_MAX_OBJECTS);
    pel_h5_object *object = pel_new(r->ctx, pel_h5_object);
    object->name = name;
    found *f = pel_new(r->ctx, found);
    f->tree = f->heap = f->link_heap = f->link_tree = f->attribute_heap = f->attribute_tree = PEL_H5_NOWHERE;
    pel_h5_cursor c = pel_h5_window(r, at, 4, "an object");
    if (memcmp(pel_h5_take(&c, 4), "OHDR", 4) == 0)
        read_header_2(r, at, f, object);
    else
        read_header_1(r, at, f, object);
    if (f->attribute_heap != PEL_H5_NOWHERE && f->attribute_tree != PEL_H5_NOWHERE)
        pel_h5_each_dense(r, PEL_H5_DENSE_ATTRIBUTES, f->attribute_heap, f->attribute_tree, visit_attribute, object);
    if (f->has_space && f->has_type) {
        object->is_dataset = true;
        object->dtype = f->type.dtype;
        object->n_dims = f->space.n;
        object->dims = pel_new_array(r->ctx, f->space.n, int64_t);
        memcpy(object->dims, f->space.dims, f->space.n * sizeof *object->dims);
        uint64_t size;
        if (f->is_plain && !f->is_elsewhere && !__builtin_mul_overflow(f->space.count, f->type.size, &size)) {
            object->has_place = pel_input_has(&r->input, f->data, f->data_size) && size <= f->data_size;
            object->offset = r->start + f->data;
            object->size = size;
            if (!object->has_place)
                pel_find(r->ctx, r->findings, PEL_SUSPECT, "outside", name, f->data,
                         PEL_STR("the elements lie outside of the file, or are fewer than the shape says"));
        }
        return object;
    }
    if (f->link_heap != PEL_H5_NOWHERE && f->link_tree != PEL_H5_NOWHERE)
        pel_h5_each_dense(r, PEL_H5_DENSE_LINKS, f->link_heap, f->link_tree, visit_link, f);
    if (f->links.n) qsort(f->links.at, f->links.n, sizeof *f->links.at, by_name);
    if (f->tree != PEL_H5_NOWHERE) read_symbols(r, object, f->tree, read_name_heap(r, f->heap), depth, 0);
    for (uint32_t i = 0; i < f->links.n; i++) add_child(r, object, f->links.at[i].name, f->links.at[i].at, depth);
    return object;
}

/* ---- the file ---- */

static const char signature[] = "\x89HDF\r\n\x1a\n";

/* A block of somebody's own may come first: of 512 bytes, 1024, 2048 ... */
static uint64_t find_start(pel_ctx *ctx, const pel_input *input) {
    for (uint64_t at = 0; pel_input_has(input, at, 8); at = at ? 2 * at : 512)
        if (memcmp(pel_input_view(ctx, input, at, 8).ptr, signature, 8) == 0) return at;
    return PEL_H5_NOWHERE;
}

bool pel_is_hdf5(pel_str bytes) { return bytes.len >= 8 && memcmp(bytes.ptr, signature, 8) == 0; }

bool pel_is_hdf5_behind(pel_ctx *ctx, const pel_input *input) { return find_start(ctx, input) != PEL_H5_NOWHERE; }

pel_h5_object *pel_h5_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings) {
    uint64_t start = find_start(ctx, input);
    if (start == PEL_H5_NOWHERE) start = 0;
    pel_h5_reader r = { .ctx = ctx, .start = start, .findings = findings, .offset_size = 8, .length_size = 8 };
    r.input = pel_input_part(ctx, input, start, input->size - start); /* which all addresses count from */
    uint64_t size = r.input.size;
    if (start)
        pel_find(ctx, findings, PEL_NOTE, "user-block", (pel_str){ "", 0 }, 0,
                 PEL_STR("something else stands before the HDF5 data"));
    pel_h5_cursor c = pel_h5_window(&r, 8, size > 8 ? size - 8 : 0, "the superblock");
    unsigned version = (unsigned)pel_h5_number(&c, 1);
    uint64_t root;
    if (version <= 1) {
        pel_h5_take(&c, 4);
        r.offset_size = (unsigned)pel_h5_number(&c, 1);
        r.length_size = (unsigned)pel_h5_number(&c, 1);
        pel_h5_take(&c, version == 1 ? 13 : 9); /* reserved, sizes of B-trees, flags */
    } else if (version <= 3) {
        r.offset_size = (unsigned)pel_h5_number(&c, 1);
        r.length_size = (unsigned)pel_h5_number(&c, 1);
        pel_h5_take(&c, 1);
    } else {
        pel_h5_fail(&r, 8, "an unknown version of superblock");
    }
    if ((r.offset_size != 4 && r.offset_size != 8) || (r.length_size != 4 && r.length_size != 8))
        pel_h5_fail(&r, 8, "odd sizes of addresses");
    if (pel_h5_address(&c) != start) pel_h5_fail(&r, c.at, "addresses that do not count from its signature");
    pel_h5_address(&c); /* free space, or the superblock's extension */
    uint64_t end = pel_h5_address(&c);
    if (version <= 1) {
        pel_h5_address(&c);
        pel_h5_address(&c); /* the root's name */
    }
    root = pel_h5_address(&c);
    end = end >= start ? end - start : 0;
    if (end > size) pel_h5_fail(&r, size, "truncated: the file is shorter than it says");
    if (end < size)
        pel_find(ctx, findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, end, PEL_STR("bytes after the end"));
    pel_map_set(ctx, &r.seen, root, 1);
    return read_object(&r, (pel_str){ "", 0 }, root, 0);
}

const pel_h5_object *pel_h5_child(pel_ctx *ctx, const pel_h5_object *group, pel_str name) {
    uint64_t child = 0;
    if (group) pel_map_get(&group->by_name, PEL_KEY(pel_intern_str(ctx, name)), &child);
    return (const pel_h5_object *)(uintptr_t)child;
}

const pel_h5_attribute *pel_h5_attribute_of(const pel_h5_object *object, const char *name) {
    for (uint32_t i = 0; i < object->attributes.n; i++)
        if (pel_str_is(object->attributes.at[i].name, name)) return &object->attributes.at[i];
    return NULL;
}
