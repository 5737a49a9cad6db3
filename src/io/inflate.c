/* Our own, not zlib: what is packed in model files is small (a pickle, a config), so speed is no argument for
 * a dependency; and this one is short enough to be read by somebody who has to trust it with hostile bytes. */
#include "io/inflate.h"

#include "base/deflate.h"
#include "io/bytes.h"

#define MAX_BITS 15
#define N_LITERALS 288
#define N_DISTANCES 32

typedef struct stream {
    pel_ctx *ctx;
    pel_str in;
    uint64_t at;   /* of in, in its file */
    uint64_t next; /* next byte of in */
    uint64_t bits; /* those that were read and not used, the next one lowest */
    unsigned n_bits;
    char *out;
    uint64_t done, size;
    pel_sink *sink; /* out grows as this does; NULL: it has its size */
} stream;

/* Canonical Huffman code: how many codes there are of each length, and their symbols in order. */
typedef struct huffman {
    uint16_t count[MAX_BITS + 1];
    uint16_t symbols[N_LITERALS];
} huffman;

_Noreturn static void fail(const stream *s, const char *what) {
    pel_throw(s->ctx, PEL_E_FORMAT, s->at + s->next, "deflated data: %s", what);
}

static unsigned take_bits(stream *s, unsigned n) {
    while (s->n_bits < n) {
        if (s->next == s->in.len) fail(s, "truncated");
        s->bits |= (uint64_t)(unsigned char)s->in.ptr[s->next++] << s->n_bits;
        s->n_bits += 8;
    }
    unsigned value = (unsigned)(s->bits & ((1u << n) - 1));
    s->bits >>= n;
    s->n_bits -= n;
    return value;
}

static void build(const stream *s, huffman *code, const uint8_t *lengths, unsigned n) {
    uint16_t start[MAX_BITS + 2] = { 0 };
    int left = 1;
    memset(code->count, 0, sizeof code->count);
    for (unsigned i = 0; i < n; i++) code->count[lengths[i]]++;
    code->count[0] = 0;
    for (unsigned bits = 1; bits <= MAX_BITS; bits++) {
        left = left * 2 - code->count[bits];
        if (left < 0) fail(s, "a code has more symbols than fit");
        start[bits + 1] = (uint16_t)(start[bits] + code->count[bits]);
    }
    for (unsigned i = 0; i < n; i++)
        if (lengths[i]) code->symbols[start[lengths[i]]++] = (uint16_t)i;
}

static unsigned take_symbol(stream *s, const huffman *code) {
    int value = 0, first = 0, index = 0;
    for (unsigned bits = 1; bits <= MAX_BITS; bits++) {
        value |= (int)take_bits(s, 1);
        int count = code->count[bits];
        if (value - count < first) return code->symbols[index + value - first];
        index += count;
        first = (first + count) * 2;
        value *= 2;
    }
    fail(s, "a code that has no meaning");
}

static void need_room(stream *s, uint64_t n) {
    if (s->size - s->done >= n) return;
    if (!s->sink) fail(s, "it gives more bytes than it should");
    s->sink->n = s->done;
    pel_sink_room(s->sink, n, s->at + s->next);
    s->out = s->sink->at;
    s->size = s->sink->cap;
}

static void copy_stored(stream *s) {
    s->bits = 0; /* the block begins at a byte */
    s->next -= s->n_bits / 8;
    s->n_bits = 0;
    if (!pel_within(s->in, s->next, 4)) fail(s, "truncated");
    uint16_t len = pel_le16(s->in.ptr + s->next), check = pel_le16(s->in.ptr + s->next + 2);
    s->next += 4;
    if ((len ^ check) != 0xFFFF) fail(s, "the length of a stored block is wrong");
    uint64_t left = s->in.len - s->next, n = left < len ? left : len;
    need_room(s, n);
    if (n) memcpy(s->out + s->done, s->in.ptr + s->next, (size_t)n);
    s->next += n;
    s->done += n;
    if (n < len) fail(s, "truncated");
}

static void expand(stream *s, const huffman *literals, const huffman *distances) {
    for (;;) {
        unsigned symbol = take_symbol(s, literals);
        if (symbol < 256) {
            need_room(s, 1);
            s->out[s->done++] = (char)symbol;
            continue;
        }
        if (symbol == 256) return;
        symbol -= 257;
        if (symbol >= PEL_LENGTHS) fail(s, "an unknown length");
        unsigned length = pel_length_base[symbol] + take_bits(s, pel_length_bits[symbol]);
        symbol = take_symbol(s, distances);
        if (symbol >= PEL_DISTANCES) fail(s, "an unknown distance");
        unsigned distance = pel_distance_base[symbol] + take_bits(s, pel_distance_bits[symbol]);
        if (distance > s->done) fail(s, "a distance goes back before the start");
        need_room(s, length);
        for (unsigned i = 0; i < length; i++, s->done++) s->out[s->done] = s->out[s->done - distance];
    }
}

static void expand_fixed(stream *s) {
    uint8_t lengths[N_LITERALS];
    huffman literals, distances;
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    build(s, &literals, lengths, N_LITERALS);
    memset(lengths, 5, 30);
    build(s, &distances, lengths, 30);
    expand(s, &literals, &distances);
}

/* A run of equal lengths may go on from the literals into the distances, so both share one array and are split
 * afterwards. The lengths of the first code are cleared before, since they use the same bytes. */
static void expand_dynamic(stream *s) {
    static const uint8_t order[] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[N_LITERALS + N_DISTANCES] = { 0 };
    huffman of_lengths, literals, distances;
    unsigned n_literals = take_bits(s, 5) + 257, n_distances = take_bits(s, 5) + 1, n_lengths = take_bits(s, 4) + 4;
    if (n_literals > 286 || n_distances > 30) fail(s, "too many codes");
    for (unsigned i = 0; i < n_lengths; i++) lengths[order[i]] = (uint8_t)take_bits(s, 3);
    build(s, &of_lengths, lengths, 19);
    memset(lengths, 0, 19);
    for (unsigned i = 0; i < n_literals + n_distances;) {
        unsigned symbol = take_symbol(s, &of_lengths);
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && !i) fail(s, "the first length repeats one before it");
        uint8_t repeated = symbol == 16 ? lengths[i - 1] : 0;
        unsigned n = symbol == 16 ? 3 + take_bits(s, 2) : symbol == 17 ? 3 + take_bits(s, 3) : 11 + take_bits(s, 7);
        if (i + n > n_literals + n_distances) fail(s, "more lengths than codes");
        memset(lengths + i, repeated, n);
        i += n;
    }
    build(s, &literals, lengths, n_literals);
    build(s, &distances, lengths + n_literals, n_distances);
    expand(s, &literals, &distances);
}

static void inflate_blocks(stream *s) {
    bool is_last;
    do {
        is_last = take_bits(s, 1);
        switch (take_bits(s, 2)) {
        case 0: copy_stored(s); break;
        case 1: expand_fixed(s); break;
        case 2: expand_dynamic(s); break;
        default: fail(s, "an unknown kind of block");
        }
    } while (!is_last);
}

void pel_inflate(pel_ctx *ctx, pel_str packed, uint64_t at, char *out, uint64_t size) {
    stream s = { .ctx = ctx, .in = packed, .at = at, .out = out, .size = size };
    inflate_blocks(&s);
    if (s.done != size) fail(&s, "it gives fewer bytes than it should");
    if (s.next - s.n_bits / 8 != packed.len)
        pel_throw(ctx, PEL_E_FORMAT, at, "deflated data: something comes after its end");
}

/* ---- streams that do not say how large they become: gzip (RFC 1952) and zlib (RFC 1950) ---- */

bool pel_is_gzip(pel_str bytes) { return bytes.len >= 18 && memcmp(bytes.ptr, "\x1f\x8b\x08", 3) == 0; }

bool pel_is_zlib(pel_str bytes) {
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    return bytes.len >= 6 && p[0] == 0x78 && (p[0] << 8 | p[1]) % 31 == 0 && !(p[1] & 32);
}

/* What is before the deflated data of a gzip stream: at least 18 bytes are there. */
static uint64_t gzip_header(pel_str bytes) {
    enum { HAS_SUM = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16 };
    unsigned flags = (unsigned char)bytes.ptr[3];
    uint64_t at = 10;
    if (flags & HAS_EXTRA) at += 2 + (uint64_t)pel_le16(bytes.ptr + at);
    for (unsigned text = HAS_NAME; text <= HAS_COMMENT; text *= 2) {
        if (!(flags & text)) continue;
        while (at < bytes.len && bytes.ptr[at]) at++;
        at++;
    }
    if (flags & HAS_SUM) at += 2;
    return at < bytes.len ? at : bytes.len;
}

static void inflate_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    inflate_blocks(arg);
}

void pel_gunzip(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    bool is_gzip = pel_is_gzip(packed);
    for (uint64_t at = 0;;) { /* members in a row are one file */
        pel_str member = pel_str_from(packed, at);
        at += is_gzip ? gzip_header(member) : 2;
        stream s = { .ctx = ctx, .in = pel_str_from(packed, at), .at = at, .out = out->at, .sink = out };
        s.done = out->n, s.size = out->cap;
        pel_err why;
        bool is_whole = pel_attempt(ctx, inflate_body, &s, &why);
        out->n = s.done; /* what is before the fault */
        if (!is_whole) pel_throw(ctx, why.code, why.at, "%s", why.what);
        at += s.next - s.n_bits / 8 + (is_gzip ? 8 : 4);
        out->end = at;
        uint64_t next = at;
        while (is_gzip && next < packed.len && !packed.ptr[next]) next++; /* as Python's reader does */
        if (!is_gzip || next >= packed.len || !pel_is_gzip(pel_str_from(packed, next))) return;
        at = next;
    }
}

/* ---- checksums ---- */

/* Four bits at a time: the tables are two lines, and what is checked is small. */
static uint32_t crc(pel_str s, const uint32_t *table) {
    uint32_t sum = ~0u;
    for (size_t i = 0; i < s.len; i++) {
        sum ^= (unsigned char)s.ptr[i];
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return ~sum;
}

uint32_t pel_crc32(pel_str s) {
    static const uint32_t table[16] = { 0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
                                        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C };
    return crc(s, table);
}

uint32_t pel_crc32c(pel_str s) {
    static const uint32_t table[16] = { 0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3,
                                        0x61C69362, 0x7198540D, 0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9,
                                        0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75 };
    return crc(s, table);
}
