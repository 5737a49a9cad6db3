#include "io/tfrecord.h"

#include "io/bytes.h"
#include "io/inflate.h"

#define FOOTER 48
#define MAX_ROWS 1000000

static uint32_t masked(pel_str s) {
    uint32_t crc = pel_crc32c(s);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

bool pel_is_tfrecord(pel_str bytes) {
    return bytes.len >= 12 && masked(pel_str_cut(bytes, 0, 8)) == pel_le32(bytes.ptr + 8);
}

bool pel_tfrecord_next(pel_ctx *ctx, pel_str bytes, uint64_t *at, pel_str *record, pel_findings *findings) {
    if (*at == bytes.len) return false;
    uint64_t size = pel_within(bytes, *at, 12) ? pel_le64(bytes.ptr + *at) : 0;
    if (!pel_within(bytes, *at, 12) || size > bytes.len || !pel_within(bytes, *at + 12, size + 4)) {
        pel_find(ctx, findings, PEL_NOTE, "truncated", (pel_str){ "", 0 }, *at,
                 PEL_STR("the last record is not whole"));
        *at = bytes.len;
        return false;
    }
    if (masked(pel_str_cut(bytes, *at, *at + 8)) != pel_le32(bytes.ptr + *at + 8))
        pel_throw(ctx, PEL_E_FORMAT, *at, "records: the checksum of a length is wrong");
    *record = pel_str_cut(bytes, *at + 12, *at + 12 + size);
    if (masked(*record) != pel_le32(bytes.ptr + *at + 12 + size))
        pel_find(ctx, findings, PEL_SUSPECT, "checksum", (pel_str){ "", 0 }, *at,
                 PEL_STR("the checksum of a record is wrong"));
    *at += 16 + size;
    return true;
}

/* ---- the table: blocks of keys that share their beginnings, an index of the blocks, a footer ---- */

static uint64_t take_varint(pel_ctx *ctx, pel_str bytes, uint64_t *at) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*at >= bytes.len) pel_throw(ctx, PEL_E_FORMAT, *at, "table: truncated");
        unsigned char byte = (unsigned char)bytes.ptr[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    pel_throw(ctx, PEL_E_FORMAT, *at, "table: a number is too long");
}

static pel_str block_at(pel_ctx *ctx, pel_str bytes, uint64_t offset, uint64_t size) {
    if (!pel_within(bytes, offset, size) || !pel_within(bytes, offset + size, 5) || size < 4)
        pel_throw(ctx, PEL_E_FORMAT, offset, "table: a block lies outside of the file");
    if (bytes.ptr[offset + size]) pel_throw(ctx, PEL_E_UNSUPPORTED, offset, "table: a packed block");
    pel_str block = pel_str_cut(bytes, offset, offset + size);
    uint64_t restarts = pel_le32(block.ptr + size - 4);
    if (restarts > (size - 4) / 4) pel_throw(ctx, PEL_E_FORMAT, offset, "table: a block is broken");
    return pel_str_cut(block, 0, size - 4 - 4 * restarts);
}

static void read_block(pel_ctx *ctx, pel_str block, pel_table *into) {
    pel_str before = { "", 0 };
    for (uint64_t at = 0; at < block.len;) {
        uint64_t shared = take_varint(ctx, block, &at), own = take_varint(ctx, block, &at);
        uint64_t size = take_varint(ctx, block, &at);
        if (shared > before.len || own > block.len || !pel_within(block, at, own) || size > block.len ||
            !pel_within(block, at + own, size))
            pel_throw(ctx, PEL_E_FORMAT, at, "table: an entry goes beyond its block");
        char *key = pel_alloc_raw(ctx, shared + own + 1);
        memcpy(key, before.ptr, (size_t)shared);
        memcpy(key + shared, block.ptr + at, (size_t)own);
        before = pel_str_at(key, shared + own);
        if (into->rows.n == MAX_ROWS) pel_throw(ctx, PEL_E_TOO_BIG, at, "table: more than %d rows", MAX_ROWS);
        pel_push(ctx, &into->rows, (pel_table_row){ before, pel_str_cut(block, at + own, at + own + size) });
        at += own + size;
    }
}

pel_table *pel_table_read(pel_ctx *ctx, pel_str bytes) {
    static const char magic[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
    if (bytes.len < FOOTER || memcmp(bytes.ptr + bytes.len - 8, magic, 8) != 0)
        pel_throw(ctx, PEL_E_FORMAT, bytes.len, "table: truncated, or no table");
    pel_str footer = pel_str_from(bytes, bytes.len - FOOTER);
    uint64_t at = 0;
    take_varint(ctx, footer, &at); /* the index of metadata: its place and size */
    take_varint(ctx, footer, &at);
    uint64_t offset = take_varint(ctx, footer, &at), size = take_varint(ctx, footer, &at);
    pel_table index = { 0 }, *table = pel_new(ctx, pel_table);
    read_block(ctx, block_at(ctx, bytes, offset, size), &index);
    for (uint32_t i = 0; i < index.rows.n; i++) {
        pel_str handle = index.rows.at[i].value;
        at = 0;
        offset = take_varint(ctx, handle, &at);
        size = take_varint(ctx, handle, &at);
        read_block(ctx, block_at(ctx, bytes, offset, size), table);
    }
    return table;
}
