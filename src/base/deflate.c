/* One block with the fixed codes of RFC 1951, matches found by a table of the last place of each three bytes. Masks and
 * tables of indices shrink to a few per cent; a better compressor would be longer than what it saves. */
#include "base/deflate.h"

#include "base/buf.h"

#define WINDOW 32768u
#define HASH_BITS 15
#define SHORTEST 3u
#define LONGEST 258u
#define END_OF_BLOCK 256u

typedef struct writer {
    pel_buf out;
    uint32_t held; /* bits that don't fill a byte yet, the first lowest */
    unsigned n_held;
} writer;

static void put_bits(writer *w, uint32_t bits, unsigned n) {
    w->held |= bits << w->n_held;
    w->n_held += n;
    for (; w->n_held >= 8; w->n_held -= 8, w->held >>= 8) pel_put_byte(&w->out, (char)(w->held & 0xFF));
}

/* Codes begin with their highest bit, numbers with their lowest. */
static void put_code(writer *w, uint32_t code, unsigned n) {
    uint32_t turned = 0;
    for (unsigned i = 0; i < n; i++) turned |= (code >> i & 1) << (n - 1 - i);
    put_bits(w, turned, n);
}

static void put_symbol(writer *w, uint32_t symbol) {
    if (symbol < 144)
        put_code(w, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(w, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(w, symbol - 256, 7);
    else
        put_code(w, 0xC0 + symbol - 280, 8);
}

const uint16_t pel_length_base[PEL_LENGTHS] = { 3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
const uint8_t pel_length_bits[PEL_LENGTHS] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                               2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
const uint16_t pel_distance_base[PEL_DISTANCES] = { 1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                    33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                    1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 };
const uint8_t pel_distance_bits[PEL_DISTANCES] = { 0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                   6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13 };

/* The last row that begins at or before the value. */
static uint32_t row_of(const uint16_t *base, uint32_t n, uint32_t value) {
    uint32_t row = 0;
    while (row + 1 < n && base[row + 1] <= value) row++;
    return row;
}

static void put_match(writer *w, uint32_t length, uint32_t distance) {
    uint32_t row = row_of(pel_length_base, PEL_LENGTHS, length);
    put_symbol(w, 257 + row);
    put_bits(w, length - pel_length_base[row], pel_length_bits[row]);
    row = row_of(pel_distance_base, PEL_DISTANCES, distance);
    put_code(w, row, 5);
    put_bits(w, distance - pel_distance_base[row], pel_distance_bits[row]);
}

static uint32_t hash_of(const unsigned char *at) {
    return (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16) * 2654435761u >> (32 - HASH_BITS);
}

static void deflate(pel_ctx *ctx, writer *w, const unsigned char *bytes, size_t n) {
    size_t *last = pel_new_array(ctx, (size_t)1 << HASH_BITS, size_t); /* place + 1; 0: none */
    put_bits(w, 1, 1);                                                 /* the last block */
    put_bits(w, 1, 2);                                                 /* fixed codes */
    for (size_t at = 0; at < n;) {
        uint32_t length = 0;
        size_t before = 0;
        if (n - at >= SHORTEST) {
            size_t *slot = &last[hash_of(bytes + at)];
            before = *slot;
            *slot = at + 1;
        }
        if (before && at - (before - 1) <= WINDOW)
            while (length < LONGEST && at + length < n && bytes[before - 1 + length] == bytes[at + length]) length++;
        if (length < SHORTEST) {
            put_symbol(w, bytes[at++]);
        } else {
            put_match(w, length, (uint32_t)(at - (before - 1)));
            at += length;
        }
    }
    put_symbol(w, END_OF_BLOCK);
    put_bits(w, 0, (8 - w->n_held) & 7);
}

static uint32_t adler32(const unsigned char *bytes, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + bytes[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static pel_str base64(pel_ctx *ctx, pel_str bytes) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++) group = group << 8 | (k < n ? (unsigned char)bytes.ptr[i + k] : 0u);
        for (size_t k = 0; k < 4; k++) pel_put_byte(&out, k <= n ? letters[group >> (18 - 6 * k) & 63] : '=');
    }
    return pel_buf_str(&out);
}

pel_str pel_zlib_base64(pel_ctx *ctx, pel_str bytes) {
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    writer w = { .out = pel_buf_in(ctx) };
    pel_put_byte(&w.out, 0x78);
    pel_put_byte(&w.out, 0x01);
    deflate(ctx, &w, at, bytes.len);
    uint32_t check = adler32(at, bytes.len);
    for (int shift = 24; shift >= 0; shift -= 8) pel_put_byte(&w.out, (char)(check >> shift & 0xFF));
    return base64(ctx, pel_buf_str(&w.out));
}
