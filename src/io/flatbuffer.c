#include "io/flatbuffer.h"

#include "io/bytes.h"

_Noreturn static void fail(const pel_flat *table, uint64_t at) {
    pel_throw(table->ctx, PEL_E_FORMAT, at, "flatbuffer: truncated, or an offset leads out of the file");
}

static const char *need(const pel_flat *table, uint64_t at, uint64_t size) {
    if (!pel_within(table->bytes, at, size)) fail(table, at);
    return table->bytes.ptr + at;
}

/* Offsets count from where they stand. */
static uint64_t follow(const pel_flat *table, uint64_t at) { return at + pel_le32(need(table, at, 4)); }

pel_flat pel_flat_root(pel_ctx *ctx, pel_str bytes) {
    pel_flat root = { ctx, bytes, 0 };
    root.at = follow(&root, 0);
    need(&root, root.at, 4);
    return root;
}

/* Where a field stands; 0 if it is absent. */
static uint64_t place(const pel_flat *table, unsigned field) {
    if (!table->at) return 0;
    int64_t back = (int32_t)pel_le32(need(table, table->at, 4));
    int64_t offsets = (int64_t)table->at - back;
    if (offsets < 0) fail(table, table->at);
    uint64_t slot = 4 + 2 * (uint64_t)field;
    if (slot + 2 > pel_le16(need(table, (uint64_t)offsets, 2))) return 0;
    uint64_t offset = pel_le16(need(table, (uint64_t)offsets + slot, 2));
    return offset ? table->at + offset : 0;
}

uint64_t pel_flat_number(const pel_flat *table, unsigned field, unsigned size, uint64_t fallback) {
    uint64_t at = place(table, field);
    if (!at) return fallback;
    const char *bytes = need(table, at, size);
    return size == 1   ? (unsigned char)*bytes
           : size == 2 ? pel_le16(bytes)
           : size == 4 ? pel_le32(bytes)
                       : pel_le64(bytes);
}

pel_flat_list pel_flat_items(const pel_flat *table, unsigned field, unsigned size) {
    uint64_t at = place(table, field);
    if (!at) return (pel_flat_list){ 0, 0 };
    at = follow(table, at);
    pel_flat_list list = { at + 4, pel_le32(need(table, at, 4)) };
    need(table, list.at, (uint64_t)list.n * size);
    return list;
}

pel_str pel_flat_text(const pel_flat *table, unsigned field) {
    pel_flat_list text = pel_flat_items(table, field, 1);
    return text.n ? (pel_str){ table->bytes.ptr + text.at, text.n } : (pel_str){ "", 0 };
}

pel_flat pel_flat_item(const pel_flat *table, pel_flat_list list, uint32_t i) {
    pel_flat item = { table->ctx, table->bytes, follow(table, list.at + 4 * (uint64_t)i) };
    need(&item, item.at, 4);
    return item;
}
