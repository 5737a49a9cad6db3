#include "io/msgpack.h"

#include "base/json.h"
#include "io/bytes.h"

static uint64_t take(pel_ctx *ctx, pel_msgpack *from, unsigned width) {
    uint64_t value = 0;
    if (!pel_within(from->bytes, from->at, width))
        pel_throw(ctx, PEL_E_FORMAT, from->base + from->at, "MessagePack: truncated");
    for (unsigned i = 0; i < width; i++) value = value << 8 | (unsigned char)from->bytes.ptr[from->at++];
    return value;
}

static pel_str take_bytes(pel_ctx *ctx, pel_msgpack *from, uint64_t size) {
    if (!pel_within(from->bytes, from->at, size))
        pel_throw(ctx, PEL_E_FORMAT, from->base + from->at, "MessagePack: truncated, or a length is wrong");
    pel_str bytes = pel_str_cut(from->bytes, from->at, from->at + size);
    from->at += size;
    return bytes;
}

static void take_real(pel_ctx *ctx, pel_msgpack *from, pel_msgpack_value *value, bool is_short) {
    uint64_t bits = take(ctx, from, is_short ? 4 : 8);
    uint32_t half = (uint32_t)bits;
    float narrow;
    value->kind = PEL_MSGPACK_REAL;
    memcpy(&narrow, &half, sizeof narrow);
    memcpy(&value->real, &bits, sizeof bits);
    if (is_short) value->real = (double)narrow;
}

/* Values whose first byte is 0xc0 to 0xdf. */
static void take_marked(pel_ctx *ctx, pel_msgpack *from, unsigned mark, pel_msgpack_value *value) {
    static const unsigned char widths[] = { 1, 2, 4, 8 };
    if (mark == 0xc0) {
        value->kind = PEL_MSGPACK_NIL;
    } else if (mark == 0xc2 || mark == 0xc3) {
        value->kind = PEL_MSGPACK_BOOL, value->integer = mark & 1;
    } else if (mark >= 0xc4 && mark <= 0xc6) {
        value->kind = PEL_MSGPACK_BYTES;
        value->bytes = take_bytes(ctx, from, take(ctx, from, widths[mark - 0xc4]));
    } else if ((mark >= 0xc7 && mark <= 0xc9) || (mark >= 0xd4 && mark <= 0xd8)) {
        uint64_t size = mark < 0xd0 ? take(ctx, from, widths[mark - 0xc7]) : (uint64_t)1 << (mark - 0xd4);
        value->kind = PEL_MSGPACK_EXT;
        value->type = (int8_t)take(ctx, from, 1);
        value->bytes = take_bytes(ctx, from, size);
    } else if (mark == 0xca || mark == 0xcb) {
        take_real(ctx, from, value, mark == 0xca);
    } else if (mark >= 0xcc && mark <= 0xcf) {
        uint64_t number = take(ctx, from, widths[mark - 0xcc]);
        value->kind = PEL_MSGPACK_INT;
        value->integer = number > INT64_MAX ? INT64_MAX : (int64_t)number;
    } else if (mark >= 0xd0 && mark <= 0xd3) {
        unsigned width = widths[mark - 0xd0], shift = 64 - 8 * width;
        value->kind = PEL_MSGPACK_INT;
        value->integer = (int64_t)(take(ctx, from, width) << shift) >> shift;
    } else if (mark >= 0xd9 && mark <= 0xdb) {
        value->kind = PEL_MSGPACK_TEXT;
        value->bytes = take_bytes(ctx, from, take(ctx, from, widths[mark - 0xd9]));
    } else if (mark >= 0xdc) {
        value->kind = mark < 0xde ? PEL_MSGPACK_ARRAY : PEL_MSGPACK_MAP;
        value->n = take(ctx, from, mark & 1 ? 4 : 2);
    } else {
        pel_throw(ctx, PEL_E_FORMAT, value->at, "MessagePack: no value begins with 0x%02x", mark);
    }
}

pel_msgpack_value pel_msgpack_next(pel_ctx *ctx, pel_msgpack *from) {
    pel_msgpack_value value = { .at = from->base + from->at, .bytes = { "", 0 } };
    unsigned mark = (unsigned)take(ctx, from, 1);
    if (mark < 0x80 || mark >= 0xe0)
        value.kind = PEL_MSGPACK_INT, value.integer = (int8_t)mark;
    else if (mark < 0x90)
        value.kind = PEL_MSGPACK_MAP, value.n = mark & 15;
    else if (mark < 0xa0)
        value.kind = PEL_MSGPACK_ARRAY, value.n = mark & 15;
    else if (mark < 0xc0)
        value.kind = PEL_MSGPACK_TEXT, value.bytes = take_bytes(ctx, from, mark & 31);
    else
        take_marked(ctx, from, mark, &value);
    return value;
}

bool pel_is_msgpack(pel_str bytes) {
    if (bytes.len < 3) return false;
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    size_t key = at[0] > 0x80 && at[0] < 0x90 ? 1 : at[0] == 0xde ? 3 : at[0] == 0xdf ? 5 : 0;
    if (!key || key + 2 > bytes.len) return false;
    size_t start = at[key] > 0xa0 && at[key] < 0xc0 ? key + 1 : at[key] == 0xd9 ? key + 2 : 0;
    size_t len = at[key] == 0xd9 ? at[key + 1] : at[key] & 31u;
    return start && start + len <= bytes.len && pel_is_utf8(pel_str_cut(bytes, start, start + len));
}
