/* LZMA: copies and literals, all of whose choices are coded by a range coder that learns; alone (the old format), and
 * in the blocks of xz (LZMA2, which begins anew now and then). */
#include "io/bytes.h"
#include "io/unpack.h"

#define STATES 12
#define MAX_POSITIONS 16 /* 2 to the power of 4 position bits */
#define PROB_START 1024
#define MAX_LITERALS 4 /* bits of context in LZMA2, lc + lp */

typedef uint16_t prob;

typedef struct lengths {
    prob choice, choice_2;
    prob low[MAX_POSITIONS][8], mid[MAX_POSITIONS][8], high[256];
} lengths;

typedef struct decoder {
    pel_ctx *ctx;
    pel_str in;
    uint64_t next, end; /* end: of the chunk at hand */
    uint32_t range, code;
    pel_sink *out;
    uint64_t first; /* where in the output copies may begin */
    unsigned lc, lp, pb;
    unsigned state;
    uint32_t rep[4];
    prob *literals;
    unsigned literal_bits; /* that literals has room for: lc + lp */
    prob is_match[STATES][MAX_POSITIONS], is_rep[STATES], is_rep_0[STATES], is_rep_1[STATES], is_rep_2[STATES];
    prob is_rep_0_long[STATES][MAX_POSITIONS];
    prob slots[4][64], special[115], align[16];
    lengths match, repeated;
} decoder;

_Noreturn static void fail(const decoder *d, const char *what) {
    pel_throw(d->ctx, PEL_E_FORMAT, d->next, "lzma: %s", what);
}

/* ---- the range coder ---- */

static unsigned char take_byte(decoder *d) {
    if (d->next >= d->end) fail(d, "truncated");
    return (unsigned char)d->in.ptr[d->next++];
}

static void start_range(decoder *d) {
    d->range = UINT32_MAX;
    d->code = 0;
    if (take_byte(d)) fail(d, "the range coder does not begin with zero");
    for (int i = 0; i < 4; i++) d->code = d->code << 8 | take_byte(d);
}

static inline void normalize(decoder *d) {
    if (d->range >= 1u << 24) return;
    d->range <<= 8;
    d->code = d->code << 8 | take_byte(d);
}

static unsigned bit(decoder *d, prob *p) {
    normalize(d);
    uint32_t bound = (d->range >> 11) * *p;
    if (d->code < bound) {
        d->range = bound;
        *p = (prob)(*p + ((2048 - *p) >> 5));
        return 0;
    }
    d->range -= bound;
    d->code -= bound;
    *p = (prob)(*p - (*p >> 5));
    return 1;
}

static unsigned tree(decoder *d, prob *probs, unsigned n) {
    unsigned m = 1;
    for (unsigned i = 0; i < n; i++) m = m << 1 | bit(d, &probs[m]);
    return m - (1u << n);
}

static unsigned reverse_tree(decoder *d, prob *probs, unsigned n) {
    unsigned m = 1, value = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned b = bit(d, &probs[m]);
        m = m << 1 | b;
        value |= b << i;
    }
    return value;
}

static uint32_t direct(decoder *d, unsigned n) {
    uint32_t value = 0;
    while (n--) {
        normalize(d);
        d->range >>= 1;
        uint32_t is_below = d->code < d->range;
        if (!is_below) d->code -= d->range;
        value = value << 1 | !is_below;
    }
    return value;
}

/* ---- the state ---- */

static void reset_probs(prob *at, size_t n) {
    for (size_t i = 0; i < n; i++) at[i] = PROB_START;
}
#define RESET(array) reset_probs((prob *)(array), sizeof(array) / sizeof(prob))

static void reset_state(decoder *d) {
    d->state = 0;
    memset(d->rep, 0, sizeof d->rep);
    RESET(d->is_match), RESET(d->is_rep), RESET(d->is_rep_0), RESET(d->is_rep_1), RESET(d->is_rep_2);
    RESET(d->is_rep_0_long), RESET(d->slots), RESET(d->special), RESET(d->align);
    reset_probs((prob *)&d->match, sizeof d->match / sizeof(prob));
    reset_probs((prob *)&d->repeated, sizeof d->repeated / sizeof(prob));
    unsigned bits = d->lc + d->lp;
    if (!d->literals || bits > d->literal_bits) {
        d->literals = pel_alloc_raw(d->ctx, ((size_t)0x300 << bits) * sizeof(prob));
        d->literal_bits = bits;
    }
    reset_probs(d->literals, (size_t)0x300 << bits);
}

static void set_properties(decoder *d, unsigned byte) {
    if (byte >= 9 * 5 * 5) fail(d, "wrong properties");
    d->lc = byte % 9;
    d->lp = byte / 9 % 5;
    d->pb = byte / 45;
}

/* ---- literals and copies ---- */

static void literal(decoder *d) {
    pel_sink *out = d->out;
    unsigned before = out->n > d->first ? (unsigned char)out->at[out->n - 1] : 0;
    uint64_t position = out->n - d->first;
    size_t place = ((size_t)(position & ((1u << d->lp) - 1)) << d->lc) + (before >> (8 - d->lc));
    prob *probs = d->literals + 0x300 * place;
    unsigned symbol = 1;
    if (d->state >= 7) { /* after a copy, the byte that it would have gone on with is a hint */
        unsigned hint = (unsigned char)out->at[out->n - d->rep[0] - 1];
        do {
            unsigned hinted = hint >> 7 & 1;
            hint <<= 1;
            unsigned b = bit(d, &probs[((1 + hinted) << 8) + symbol]);
            symbol = symbol << 1 | b;
            if (hinted != b) break;
        } while (symbol < 0x100);
    }
    while (symbol < 0x100) symbol = symbol << 1 | bit(d, &probs[symbol]);
    pel_sink_byte(out, (char)(symbol & 255), d->next);
    d->state = d->state < 4 ? 0 : d->state < 10 ? d->state - 3 : d->state - 6;
}

static unsigned length(decoder *d, lengths *l, unsigned position) {
    if (!bit(d, &l->choice)) return 2 + tree(d, l->low[position], 3);
    if (!bit(d, &l->choice_2)) return 10 + tree(d, l->mid[position], 3);
    return 18 + tree(d, l->high, 8);
}

static uint32_t distance(decoder *d, unsigned len) {
    unsigned slot = tree(d, d->slots[len - 2 < 3 ? len - 2 : 3], 6);
    if (slot < 4) return slot;
    unsigned n = slot / 2 - 1;
    uint32_t value = (2 | (slot & 1)) << n;
    if (slot < 14) return value + reverse_tree(d, d->special + value - slot, n);
    value += direct(d, n - 4) << 4;
    return value + reverse_tree(d, d->align, 4);
}

/* Which of the four distances before this one; moves it to the front. False: one byte, and it is done. */
static bool take_repeated(decoder *d, unsigned position) {
    if (!bit(d, &d->is_rep_0[d->state])) {
        if (bit(d, &d->is_rep_0_long[d->state][position])) return true;
        d->state = d->state < 7 ? 9 : 11;
        return false;
    }
    unsigned which = !bit(d, &d->is_rep_1[d->state]) ? 1 : !bit(d, &d->is_rep_2[d->state]) ? 2 : 3;
    uint32_t moved = d->rep[which];
    for (; which; which--) d->rep[which] = d->rep[which - 1];
    d->rep[0] = moved;
    return true;
}

static void copy(decoder *d, uint64_t n, uint64_t limit) {
    uint64_t have = d->out->n - d->first;
    if (d->rep[0] >= have) fail(d, "a copy from before the start");
    if (n > limit - d->out->n) fail(d, "a copy goes beyond the end");
    pel_sink_repeat(d->out, (uint64_t)d->rep[0] + 1, n, d->next);
}

/* Until the output has limit bytes, or a mark ends the stream: then true. */
static bool run(decoder *d, uint64_t limit, bool may_end) {
    while (d->out->n < limit) {
        unsigned position = (unsigned)(d->out->n - d->first) & ((1u << d->pb) - 1), len;
        if (!bit(d, &d->is_match[d->state][position])) {
            if (d->state >= 7 && d->rep[0] >= d->out->n - d->first) fail(d, "a copy from before the start");
            literal(d);
            continue;
        }
        if (bit(d, &d->is_rep[d->state])) {
            if (d->out->n == d->first) fail(d, "a copy from before the start");
            if (!take_repeated(d, position)) {
                copy(d, 1, limit);
                continue;
            }
            len = length(d, &d->repeated, position);
            d->state = d->state < 7 ? 8 : 11;
        } else {
            memmove(d->rep + 1, d->rep, 3 * sizeof *d->rep);
            len = length(d, &d->match, position);
            d->state = d->state < 7 ? 7 : 10;
            d->rep[0] = distance(d, len);
            if (d->rep[0] == UINT32_MAX) {
                if (!may_end) fail(d, "a mark of the end where there is none");
                return true;
            }
        }
        copy(d, len, limit);
    }
    return false;
}

static decoder *new_decoder(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    decoder *d = pel_new(ctx, decoder);
    d->ctx = ctx;
    d->in = packed;
    d->end = packed.len;
    d->out = out;
    d->first = out->n;
    return d;
}

void pel_unlzma(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    decoder *d = new_decoder(ctx, packed, out);
    if (packed.len < 14) fail(d, "truncated");
    uint64_t size = pel_le64(packed.ptr + 5), most = out->limit == UINT64_MAX ? UINT64_MAX : out->limit + 1;
    bool has_size = size != UINT64_MAX;
    set_properties(d, (unsigned char)packed.ptr[0]);
    d->next = 13;
    reset_state(d);
    start_range(d);
    run(d, has_size && size < most ? size : most, true);
    out->end = packed.len; /* the decoder reads ahead: where the stream ends is not known */
}

/* ---- LZMA2 ---- */

/* Chunks until a zero; each may begin anew: the state, the properties, what copies may reach. */
static void unpack_chunks(decoder *d) {
    bool needs_properties = true, needs_start = true;
    for (;;) {
        unsigned control = take_byte(d);
        if (!control) return;
        bool is_stored = control < 0x80, starts = is_stored ? control == 1 : control >= 0xE0;
        if (is_stored && control > 2) fail(d, "a chunk of an unknown kind");
        if (starts)
            d->first = d->out->n;
        else if (needs_start)
            fail(d, "the first chunk does not begin anew");
        needs_start = false;
        uint64_t size = is_stored ? 0 : (uint64_t)(control & 31) << 16;
        size += (uint64_t)take_byte(d) << 8;
        size += take_byte(d) + (uint64_t)1;
        if (is_stored) {
            uint64_t have = d->end - d->next, n = size < have ? size : have;
            pel_sink_put(d->out, pel_str_cut(d->in, d->next, d->next + n), d->next);
            d->next += n;
            if (n < size) fail(d, "truncated");
            continue;
        }
        uint64_t packed = (uint64_t)take_byte(d) << 8, end = d->end;
        packed += take_byte(d) + (uint64_t)1;
        unsigned anew = control >> 5 & 3;
        if (anew >= 2) {
            set_properties(d, take_byte(d));
            if (d->lc + d->lp > MAX_LITERALS) fail(d, "wrong properties");
            needs_properties = false;
        } else if (needs_properties) {
            fail(d, "the first chunk has no properties");
        }
        if (anew) reset_state(d);
        d->end = packed < end - d->next ? d->next + packed : end;
        start_range(d);
        run(d, d->out->n + size, false);
        d->next = d->end;
        d->end = end;
    }
}

void pel_unlzma2(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    decoder *d = new_decoder(ctx, packed, out);
    unpack_chunks(d);
    out->end = d->next;
}

/* ---- xz ---- */

static uint64_t take_varint(decoder *d) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        unsigned char byte = take_byte(d);
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    fail(d, "a number is too long");
}

/* Flags, sizes that may be there, filters: only LZMA2 alone is read. */
static void unpack_block(decoder *d, unsigned sum_size) {
    uint64_t start = d->next, header = (uint64_t)(take_byte(d) + 1) * 4;
    unsigned flags = take_byte(d);
    if (flags & 0x40) take_varint(d);
    if (flags & 0x80) take_varint(d);
    uint64_t filter = take_varint(d);
    if (flags & 3 || filter != 0x21)
        pel_throw(d->ctx, PEL_E_UNSUPPORTED, start, "xz: a filter other than LZMA2 (%llu)", (unsigned long long)filter);
    if (!pel_within(d->in, start, header)) fail(d, "truncated");
    d->next = start + header;
    uint64_t content = d->next;
    unpack_chunks(d);
    d->next += (4 - (d->next - content) % 4) % 4 + sum_size;
    if (d->next > d->end) fail(d, "truncated");
}

static void skip_index(decoder *d) {
    uint64_t start = d->next - 1, n = take_varint(d);
    for (uint64_t i = 0; i < n; i++) take_varint(d), take_varint(d); /* two bytes each at least: the end bounds it */
    d->next += (4 - (d->next - start) % 4) % 4 + 4 + 12;             /* its sum, and the stream's footer */
}

void pel_unxz(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    static const uint8_t sizes[16] = { 0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64 };
    decoder *d = new_decoder(ctx, packed, out);
    while (pel_within(packed, d->next, 12) && memcmp(packed.ptr + d->next,
                                                     "\xfd"
                                                     "7zXZ\0",
                                                     6) == 0) {
        unsigned sum_size = sizes[packed.ptr[d->next + 7] & 15];
        d->next += 12;
        for (;;) {
            if (d->next >= packed.len) fail(d, "truncated");
            if (!packed.ptr[d->next]) break;
            unpack_block(d, sum_size);
        }
        d->next++;
        skip_index(d);
        while (pel_within(packed, d->next, 4) && !pel_le32(packed.ptr + d->next)) d->next += 4; /* padding */
    }
    out->end = d->next;
}
