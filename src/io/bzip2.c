/* bzip2: blocks that were sorted (Burrows-Wheeler), moved to the front, run-length and Huffman coded. */
#include "io/unpack.h"

#define MAX_GROUPS 6
#define MAX_SYMBOLS 258
#define MAX_BITS 20
#define GROUP 50 /* symbols that one selector stands for */

typedef struct huffman {
    int32_t limit[MAX_BITS + 2]; /* the last code of each length; -1: none */
    int32_t base[MAX_BITS + 2];  /* what to take from a code for its place among the symbols */
    uint16_t symbols[MAX_SYMBOLS];
    unsigned shortest;
} huffman;

typedef struct stream {
    pel_ctx *ctx;
    pel_str in;
    uint64_t next;
    uint64_t bits;
    unsigned n_bits;
    pel_sink *out;
    uint32_t *sorted; /* of a block: which letter follows which, and the letter */
    uint32_t block_size;
    huffman codes[MAX_GROUPS];
    unsigned n_codes, n_selectors, n_symbols;
    uint8_t *selectors;
    uint8_t used[256]; /* the letters of the block */
} stream;

_Noreturn static void fail(const stream *s, const char *what) {
    pel_throw(s->ctx, PEL_E_FORMAT, s->next, "bzip2: %s", what);
}

static uint32_t take(stream *s, unsigned n) {
    while (s->n_bits < n) {
        if (s->next == s->in.len) fail(s, "truncated");
        s->bits = s->bits << 8 | (unsigned char)s->in.ptr[s->next++];
        s->n_bits += 8;
    }
    s->n_bits -= n;
    return (uint32_t)(s->bits >> s->n_bits & (((uint64_t)1 << n) - 1));
}

/* ---- codes ---- */

static void build(stream *s, huffman *code, const uint8_t *lengths) {
    unsigned count[MAX_BITS + 2] = { 0 }, at = 0;
    code->shortest = MAX_BITS;
    for (unsigned length = 1; length <= MAX_BITS; length++)
        for (unsigned i = 0; i < s->n_symbols; i++)
            if (lengths[i] == length) {
                code->symbols[at++] = (uint16_t)i;
                count[length]++;
                if (length < code->shortest) code->shortest = length;
            }
    int32_t next = 0, placed = 0;
    for (unsigned length = 1; length <= MAX_BITS; length++) {
        code->base[length] = next - placed;
        next += (int32_t)count[length];
        placed += (int32_t)count[length];
        code->limit[length] = count[length] ? next - 1 : -1;
        if (next > (int32_t)1 << length) fail(s, "a code has more symbols than fit");
        next *= 2;
    }
}

static unsigned take_symbol(stream *s, const huffman *code) {
    int32_t value = (int32_t)take(s, code->shortest);
    for (unsigned length = code->shortest; length <= MAX_BITS; length++) {
        if (code->limit[length] >= 0 && value <= code->limit[length]) {
            int32_t place = value - code->base[length];
            if (place < 0 || place >= (int32_t)s->n_symbols) break;
            return code->symbols[place];
        }
        value = value << 1 | (int32_t)take(s, 1);
    }
    fail(s, "a code that has no meaning");
}

static void read_letters(stream *s) {
    uint32_t ranges = take(s, 16);
    unsigned n = 0;
    for (unsigned i = 0; i < 16; i++) {
        uint32_t letters = ranges >> (15 - i) & 1 ? take(s, 16) : 0;
        for (unsigned k = 0; k < 16; k++)
            if (letters >> (15 - k) & 1) s->used[n++] = (uint8_t)(16 * i + k);
    }
    if (!n) fail(s, "a block without letters");
    s->n_symbols = n + 2;
}

static void read_selectors(stream *s) {
    uint8_t order[MAX_GROUPS] = { 0, 1, 2, 3, 4, 5 };
    s->n_codes = take(s, 3);
    unsigned n = take(s, 15);
    if (s->n_codes < 2 || s->n_codes > MAX_GROUPS || !n) fail(s, "a wrong number of codes");
    s->n_selectors = n < 18002 ? n : 18002; /* more are never used; writers have put them there */
    for (unsigned i = 0; i < n; i++) {
        unsigned place = 0;
        while (take(s, 1))
            if (++place >= s->n_codes) fail(s, "a selector that there is not");
        uint8_t moved = order[place];
        for (; place; place--) order[place] = order[place - 1];
        order[0] = moved;
        if (i < s->n_selectors) s->selectors[i] = moved;
    }
}

static void read_codes(stream *s) {
    uint8_t lengths[MAX_SYMBOLS];
    for (unsigned c = 0; c < s->n_codes; c++) {
        unsigned length = take(s, 5);
        for (unsigned i = 0; i < s->n_symbols; i++) {
            while (length >= 1 && length <= MAX_BITS && take(s, 1)) length += take(s, 1) ? -1u : 1u;
            if (length < 1 || length > MAX_BITS) fail(s, "a code of a wrong length");
            lengths[i] = (uint8_t)length;
        }
        build(s, &s->codes[c], lengths);
    }
}

/* ---- blocks ---- */

/* The letters of the block in sorted order, which is how many there are of each: counts. Returns the block's size. */
static uint32_t read_block(stream *s, uint32_t counts[256]) {
    uint8_t order[256];
    uint32_t n = 0, run = 0, step = 1;
    unsigned left = 0, selector = 0;
    const huffman *code = NULL;
    memcpy(order, s->used, sizeof order);
    memset(counts, 0, 256 * sizeof *counts);
    for (;;) {
        if (!left) {
            if (selector == s->n_selectors) fail(s, "more symbols than selectors");
            code = &s->codes[s->selectors[selector++]];
            left = GROUP;
        }
        left--;
        unsigned symbol = take_symbol(s, code);
        if (symbol <= 1) { /* digits of a run's length, the lowest first, each 1 or 2 */
            if (run > s->block_size) fail(s, "a run is longer than its block");
            run += step << symbol;
            step *= 2;
            continue;
        }
        if (run) {
            if (run > s->block_size - n) fail(s, "a block is larger than it may be");
            counts[order[0]] += run;
            while (run) s->sorted[n++] = order[0], run--;
            step = 1;
        }
        if (symbol == s->n_symbols - 1) return n;
        if (n == s->block_size) fail(s, "a block is larger than it may be");
        unsigned place = symbol - 1;
        uint8_t moved = order[place];
        memmove(order + 1, order, place);
        order[0] = moved;
        counts[moved]++;
        s->sorted[n++] = moved;
    }
}

/* Letters four times in a row are followed by how many more there are. */
static void write_block(stream *s, uint32_t n, uint32_t first) {
    uint32_t at = s->sorted[first] >> 8, same = 0;
    int last = -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t entry = s->sorted[at];
        uint8_t letter = (uint8_t)(entry & 255);
        at = entry >> 8;
        if (same == 4) {
            if (letter) {
                pel_sink_room(s->out, letter, s->next);
                memset(s->out->at + s->out->n, last, letter);
                s->out->n += letter;
            }
            same = 0;
            last = -1;
            continue;
        }
        same = letter == last ? same + 1 : 1;
        last = letter;
        pel_sink_byte(s->out, (char)letter, s->next);
    }
}

static void unpack_block(stream *s) {
    uint32_t counts[256], starts[256], sum = 0;
    take(s, 16), take(s, 16); /* the block's sum */
    if (take(s, 1)) pel_throw(s->ctx, PEL_E_UNSUPPORTED, s->next, "bzip2: a block of a version before 0.9.5");
    uint32_t first = take(s, 24);
    read_letters(s);
    read_selectors(s);
    read_codes(s);
    uint32_t n = read_block(s, counts);
    if (!n || first >= n) fail(s, "a block begins outside of itself");
    for (unsigned i = 0; i < 256; i++) {
        starts[i] = sum;
        sum += counts[i];
    }
    for (uint32_t i = 0; i < n; i++) s->sorted[starts[s->sorted[i] & 255]++] |= i << 8;
    write_block(s, n, first);
}

static bool at_mark(pel_str bytes, uint64_t at) {
    return at + 10 <= bytes.len && memcmp(bytes.ptr + at, "BZh", 3) == 0 && bytes.ptr[at + 3] >= '1' &&
           bytes.ptr[at + 3] <= '9';
}

static void unpack_stream(stream *s) {
    s->block_size = 100000u * (uint32_t)(s->in.ptr[s->next + 3] - '0');
    s->next += 4;
    s->n_bits = 0;
    for (;;) {
        uint64_t mark = (uint64_t)take(s, 24) << 24;
        mark |= take(s, 24);
        if (mark == 0x177245385090) break;
        if (mark != 0x314159265359) fail(s, "a block does not begin where it should");
        unpack_block(s);
    }
    take(s, 16), take(s, 16); /* the sum of all */
}

void pel_bunzip2(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    stream *s = pel_new(ctx, stream);
    *s = (stream){ .ctx = ctx, .in = packed, .out = out };
    s->sorted = pel_alloc_raw(ctx, 900000 * sizeof *s->sorted);
    s->selectors = pel_alloc_raw(ctx, 18002);
    do unpack_stream(s);
    while (at_mark(packed, s->next));
    out->end = s->next;
}
