/* Objects with many links or attributes: a fractal heap holds the messages, a B-tree (version 2) says which there are.
 */
#include "io/hdf5_cursor.h"

#define MAX_TREE_DEPTH 16
#define MAX_HEAP_BITS 64

/* ---- the heap: blocks of growing size in one space of addresses ---- */

typedef struct heap {
    pel_h5_reader *r;
    uint64_t at;
    unsigned id_size, offset_size, size_size; /* of an object's id, and of the offset and the size in it */
    bool is_filtered;
    uint64_t huge_tree, root, start_size, max_direct;
    unsigned width, n_rows; /* n_rows 0: the root is a direct block */
} heap;

static unsigned log2_of(uint64_t value) { return value ? 63u - (unsigned)__builtin_clzll(value) : 0; }

/* Bytes that hold numbers up to value. */
static unsigned bytes_for(uint64_t value) { return log2_of(value) / 8 + 1; }

static heap read_heap(pel_h5_reader *r, uint64_t at) {
    pel_h5_cursor c = pel_h5_window(r, at, 26 + 12 * (uint64_t)r->length_size + 3 * (uint64_t)r->offset_size, "a heap");
    heap h = { .r = r, .at = at };
    pel_h5_expect(&c, "FRHP");
    if (pel_h5_number(&c, 1) != 0) pel_h5_fail(r, at, "an unknown version of heap");
    h.id_size = (unsigned)pel_h5_number(&c, 2);
    h.is_filtered = pel_h5_number(&c, 2) != 0;
    pel_h5_take(&c, 1);
    uint64_t max_managed = pel_h5_number(&c, 4);
    pel_h5_length(&c);
    h.huge_tree = pel_h5_address(&c);
    pel_h5_length(&c);
    pel_h5_address(&c);
    for (int i = 0; i < 8; i++) pel_h5_length(&c); /* of free space, and how many objects there are */
    h.width = (unsigned)pel_h5_number(&c, 2);
    h.start_size = pel_h5_length(&c);
    h.max_direct = pel_h5_length(&c);
    unsigned bits = (unsigned)pel_h5_number(&c, 2);
    pel_h5_number(&c, 2);
    h.root = pel_h5_address(&c);
    h.n_rows = (unsigned)pel_h5_number(&c, 2);
    if (!h.width || !h.start_size || h.max_direct < h.start_size || !bits || bits > MAX_HEAP_BITS)
        pel_h5_fail(r, at, "a heap of odd sizes");
    h.offset_size = (bits + 7) / 8;
    unsigned by_block = (log2_of(h.max_direct) + 7) / 8, by_limit = bytes_for(max_managed);
    h.size_size = by_block < by_limit ? by_block : by_limit;
    if (!h.size_size || h.id_size < 1 + h.offset_size + h.size_size) pel_h5_fail(r, at, "ids of a heap are too short");
    return h;
}

static uint64_t row_size(const heap *h, unsigned row) {
    unsigned doubled = row ? row - 1 : 0;
    return doubled > 40 || h->start_size > UINT64_MAX >> 41 ? 0 : h->start_size << doubled;
}

/* Where the byte of that offset in the heap's space lies in the file, with at least size bytes of its block after it.
 */
static uint64_t find_in_heap(const heap *h, uint64_t offset, uint64_t size) {
    uint64_t block = h->root, base = 0, block_size = h->start_size;
    unsigned n_rows = h->n_rows;
    for (int depth = 0; n_rows; depth++) {
        if (depth > MAX_TREE_DEPTH) pel_h5_fail(h->r, block, "a heap nests too deep");
        unsigned row = 0;
        while (row < n_rows && row_size(h, row) && offset - base >= row_size(h, row) * h->width)
            base += row_size(h, row++) * h->width;
        block_size = row < n_rows ? row_size(h, row) : 0;
        if (!block_size) pel_h5_fail(h->r, block, "an object lies outside of its heap");
        uint64_t column = (offset - base) / block_size, header = 5 + h->r->offset_size + h->offset_size;
        base += column * block_size;
        pel_h5_cursor c = pel_h5_window(h->r, block, 4, "a block of a heap");
        pel_h5_expect(&c, "FHIB");
        c = pel_h5_window(h->r, block + header + (row * (uint64_t)h->width + column) * h->r->offset_size,
                          h->r->offset_size, "a block of a heap");
        block = pel_h5_address(&c);
        n_rows = 0;
        if (block_size > h->max_direct) /* an indirect block: as many rows as make up that size */
            n_rows = log2_of(block_size / h->width / h->start_size) + 1;
    }
    pel_h5_cursor c = pel_h5_window(h->r, block, 4, "a block of a heap");
    pel_h5_expect(&c, "FHDB");
    if (offset - base > block_size || size > block_size - (offset - base))
        pel_h5_fail(h->r, block, "an object reaches beyond its block");
    return block + (offset - base);
}

static void each_record(pel_h5_reader *r, uint64_t at, unsigned type, pel_h5_visit *visit, void *arg);

typedef struct huge_search {
    uint64_t wanted, address, size;
} huge_search;

static void match_huge(void *arg, pel_h5_cursor record) {
    huge_search *search = arg;
    uint64_t address = pel_h5_address(&record), size = pel_h5_length(&record), id = pel_h5_length(&record);
    if (id == search->wanted) search->address = address, search->size = size;
}

static pel_h5_cursor read_object(const heap *h, pel_h5_cursor id) {
    enum { MANAGED, HUGE, TINY };
    unsigned flags = (unsigned)pel_h5_number(&id, 1), type = flags >> 4 & 3;
    if (type == TINY) { /* within the id */
        bool is_long = h->id_size > 18;
        uint64_t size = 1 + (is_long ? (flags & 15) << 8 | pel_h5_number(&id, 1) : flags & 15);
        uint64_t at = id.at;
        pel_h5_take(&id, size);
        return (pel_h5_cursor){ h->r, at, at + size };
    }
    if (type == HUGE) { /* alone in the file: the id is its place, or its key in a B-tree */
        huge_search search = { .address = PEL_H5_NOWHERE };
        if (h->id_size > h->r->offset_size + h->r->length_size) {
            search.address = pel_h5_address(&id);
            search.size = pel_h5_length(&id);
        } else {
            search.wanted = pel_h5_number(&id, h->id_size - 1 < 8 ? h->id_size - 1 : 8);
            each_record(h->r, h->huge_tree, 1, match_huge, &search);
        }
        return pel_h5_window(h->r, search.address, search.size, "a huge object");
    }
    uint64_t offset = pel_h5_number(&id, h->offset_size), size = pel_h5_number(&id, h->size_size);
    return pel_h5_window(h->r, find_in_heap(h, offset, size), size, "an object of a heap");
}

/* ---- the tree ---- */

typedef struct tree {
    pel_h5_reader *r;
    unsigned type, record_size, depth;
    uint32_t node_size;
    unsigned count_size;                      /* of how many records a child has */
    unsigned total_sizes[MAX_TREE_DEPTH + 1]; /* of how many there are below a node of that depth */
    pel_h5_visit *visit;
    void *arg;
} tree;

#define NODE_OVERHEAD 10 /* signature, version, type, checksum */

static void measure_tree(tree *t) {
    uint64_t most = (t->node_size - NODE_OVERHEAD) / t->record_size, total = most;
    t->count_size = bytes_for(most);
    for (unsigned depth = 1; depth <= t->depth; depth++) {
        uint64_t pointer = t->r->offset_size + t->count_size + t->total_sizes[depth - 1];
        if (t->node_size < NODE_OVERHEAD + pointer) pel_h5_fail(t->r, 0, "nodes of a B-tree are too small");
        most = (t->node_size - NODE_OVERHEAD - pointer) / (t->record_size + pointer);
        if (__builtin_mul_overflow(most + 1, total, &total) || __builtin_add_overflow(total, most, &total))
            total = UINT64_MAX;
        t->total_sizes[depth] = bytes_for(total);
    }
}

static void walk_tree(tree *t, uint64_t at, uint64_t n, unsigned depth) {
    pel_h5_cursor c = pel_h5_window(t->r, at, 6, "a node of a B-tree");
    pel_h5_expect(&c, depth ? "BTIN" : "BTLF");
    c = pel_h5_window(t->r, at + 6, n * t->record_size, "a node of a B-tree");
    for (uint64_t i = 0; i < n; i++) {
        if (++t->r->steps > 4 * PEL_H5_MAX_OBJECTS) pel_h5_fail(t->r, at, "there is no end to its parts");
        uint64_t start = c.at;
        pel_h5_take(&c, t->record_size);
        t->visit(t->arg, (pel_h5_cursor){ t->r, start, c.at });
    }
    if (!depth) return;
    unsigned pointer = t->r->offset_size + t->count_size + t->total_sizes[depth - 1];
    pel_h5_cursor children = pel_h5_window(t->r, c.at, (n + 1) * pointer, "a node of a B-tree");
    for (uint64_t i = 0; i <= n; i++) {
        uint64_t child = pel_h5_address(&children), count = pel_h5_number(&children, t->count_size);
        pel_h5_take(&children, t->total_sizes[depth - 1]);
        walk_tree(t, child, count, depth - 1);
    }
}

static void each_record(pel_h5_reader *r, uint64_t at, unsigned type, pel_h5_visit *visit, void *arg) {
    tree t = { .r = r, .type = type, .visit = visit, .arg = arg };
    pel_h5_cursor c = pel_h5_window(r, at, 18 + (uint64_t)r->offset_size, "a B-tree");
    pel_h5_expect(&c, "BTHD");
    pel_h5_take(&c, 1);
    if (pel_h5_number(&c, 1) != type) pel_h5_fail(r, at, "a B-tree of another kind");
    t.node_size = (uint32_t)pel_h5_number(&c, 4);
    t.record_size = (unsigned)pel_h5_number(&c, 2);
    t.depth = (unsigned)pel_h5_number(&c, 2);
    pel_h5_take(&c, 2);
    uint64_t root = pel_h5_address(&c), n = pel_h5_number(&c, 2);
    if (!t.record_size || t.node_size < NODE_OVERHEAD + t.record_size || t.depth > MAX_TREE_DEPTH)
        pel_h5_fail(r, at, "a B-tree of odd sizes");
    if (root == PEL_H5_NOWHERE || !n) return;
    measure_tree(&t);
    walk_tree(&t, root, n, t.depth);
}

typedef struct dense {
    const heap *h;
    pel_h5_dense_kind kind;
    pel_h5_visit *visit;
    void *arg;
} dense;

static void visit_record(void *arg, pel_h5_cursor record) {
    dense *d = arg;
    if (d->kind == PEL_H5_DENSE_LINKS) pel_h5_take(&record, 4); /* the hash of the name */
    uint64_t start = record.at;
    pel_h5_take(&record, d->h->id_size);
    d->visit(d->arg, read_object(d->h, (pel_h5_cursor){ record.r, start, record.at }));
}

void pel_h5_each_dense(pel_h5_reader *r, pel_h5_dense_kind kind, uint64_t heap_at, uint64_t tree_at,
                       pel_h5_visit *visit, void *arg) {
    heap h = read_heap(r, heap_at);
    if (h.is_filtered) {
        pel_find(r->ctx, r->findings, PEL_SUSPECT, "unread-group", (pel_str){ "", 0 }, heap_at,
                 PEL_STR("links or attributes that are packed, which are not read"));
        return;
    }
    dense d = { &h, kind, visit, arg };
    each_record(r, tree_at, kind, visit_record, &d);
}
