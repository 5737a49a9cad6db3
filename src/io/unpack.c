#include "io/unpack.h"

#include "io/bytes.h"
#include "io/inflate.h"

#define FIRST_ROOM ((uint64_t)64 << 10)
#define MAX_TRIED ((uint64_t)32 << 20) /* of what may be no stream at all */

void pel_sink_room(pel_sink *sink, uint64_t n, uint64_t where) {
    if (sink->cap - sink->n >= n) return;
    if (n > sink->limit || sink->n > sink->limit - n)
        pel_throw(sink->ctx, PEL_E_TOO_BIG, where, "packed data: it gives more than %llu MiB",
                  (unsigned long long)(sink->limit >> 20));
    uint64_t cap = sink->cap ? sink->cap : FIRST_ROOM;
    while (cap - sink->n < n) cap *= 2; /* the limit is far below where this overflows */
    char *moved = pel_alloc_raw(sink->ctx, (size_t)cap);
    if (sink->n) memcpy(moved, sink->at, (size_t)sink->n);
    sink->at = moved;
    sink->cap = cap;
}

void pel_sink_repeat(pel_sink *sink, uint64_t distance, uint64_t n, uint64_t where) {
    pel_sink_room(sink, n, where);
    for (uint64_t i = 0; i < n; i++, sink->n++) sink->at[sink->n] = sink->at[sink->n - distance];
}

void pel_sink_put(pel_sink *sink, pel_str bytes, uint64_t where) {
    pel_sink_room(sink, bytes.len, where);
    if (bytes.len) memcpy(sink->at + sink->n, bytes.ptr, bytes.len);
    sink->n += bytes.len;
}

/* ---- which ---- */

static bool is_bzip2(pel_str bytes) {
    return bytes.len >= 10 && memcmp(bytes.ptr, "BZh", 3) == 0 && bytes.ptr[3] >= '1' && bytes.ptr[3] <= '9';
}
static bool is_xz(pel_str bytes) {
    return bytes.len >= 12 && memcmp(bytes.ptr,
                                     "\xfd"
                                     "7zXZ\0",
                                     6) == 0;
}
/* It has no mark: properties that its writers use, and a dictionary whose size ends in zeros. */
static bool is_lzma(pel_str bytes) {
    return bytes.len >= 14 && bytes.ptr[0] == 0x5d && !bytes.ptr[1] && !bytes.ptr[2] && !bytes.ptr[13];
}
/* Frames that mean nothing may stand first. */
static bool is_lz4(pel_str bytes) {
    while (bytes.len >= 8 && (pel_le32(bytes.ptr) & ~15u) == 0x184D2A50u) {
        uint64_t size = 8 + (uint64_t)pel_le32(bytes.ptr + 4);
        if (size >= bytes.len) return false;
        bytes = pel_str_from(bytes, (size_t)size);
    }
    return bytes.len >= 7 && memcmp(bytes.ptr, "\x04\x22\x4d\x18", 4) == 0;
}

/* Windows that zlib writes if it is asked for smaller ones. */
static bool is_any_zlib(pel_str bytes) {
    if (bytes.len < 8) return false;
    unsigned first = (unsigned char)bytes.ptr[0], second = (unsigned char)bytes.ptr[1];
    return (first & 15) == 8 && first >> 4 < 8 && (first << 8 | second) % 31 == 0 && !(second & 32);
}
/* Properties that lzma writes if it is asked for others; dictionaries are 2^n or 2^n + 2^(n - 1) bytes. */
static bool is_any_lzma(pel_str bytes) {
    if (bytes.len < 14 || (unsigned char)bytes.ptr[0] >= 9 * 5 * 5 || bytes.ptr[13]) return false;
    uint32_t size = pel_le32(bytes.ptr + 1), high = 1;
    while (high <= size / 2) high *= 2;
    uint64_t content = pel_le64(bytes.ptr + 5);
    return size >= 4096 && (size == high || size == high + high / 2) &&
           (content == UINT64_MAX || content < (uint64_t)1 << 38);
}

typedef struct packing {
    const char *name;
    bool (*is)(pel_str bytes);
    void (*unpack)(pel_ctx *ctx, pel_str packed, pel_sink *out);
    bool is_weak; /* two bytes are no mark: it is one if all of it can be unpacked */
} packing;

static const packing packings[] = {
    { "gzip", pel_is_gzip, pel_gunzip, false }, { "zlib", pel_is_zlib, pel_gunzip, false },
    { "bzip2", is_bzip2, pel_bunzip2, false },  { "xz", is_xz, pel_unxz, false },
    { "lzma", is_lzma, pel_unlzma, false },     { "lz4", is_lz4, pel_unlz4, false },
    { "zlib", is_any_zlib, pel_gunzip, true },  { "lzma", is_any_lzma, pel_unlzma, true },
};

static const packing *find_packing(pel_str bytes, bool is_weak) {
    for (size_t i = 0; i < PEL_COUNT(packings); i++)
        if (packings[i].is_weak == is_weak && packings[i].is(bytes)) return &packings[i];
    return NULL;
}

const char *pel_packing(pel_str bytes) {
    const packing *found = find_packing(bytes, false);
    return found ? found->name : NULL;
}

typedef struct job {
    pel_str packed;
    pel_sink sink;
} job;

static void unpack_body(pel_ctx *ctx, void *arg) {
    job *j = arg;
    const packing *found = find_packing(j->packed, false);
    if (!found) found = find_packing(j->packed, true);
    if (!found) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "packed data: of no known kind");
    found->unpack(ctx, j->packed, &j->sink);
}

bool pel_may_be_packed(pel_str head) { return find_packing(head, true) != NULL; }

static uint32_t adler32(pel_str bytes) {
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        low = (low + (unsigned char)bytes.ptr[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

const char *pel_packing_of_whole(pel_ctx *ctx, pel_str packed) {
    const packing *found = find_packing(packed, true);
    job j = { packed, { .ctx = ctx, .limit = MAX_TRIED } };
    pel_err why;
    if (!found) return NULL;
    bool is_whole = pel_attempt(ctx, unpack_body, &j, &why);
    if (!is_whole && why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
    if (!is_whole || !j.sink.n || j.sink.end != packed.len) return NULL;
    if (found->unpack != pel_gunzip) return found->name;
    uint32_t sum = 0;
    for (size_t i = packed.len - 4; i < packed.len; i++) sum = sum << 8 | (unsigned char)packed.ptr[i];
    return sum == adler32(pel_str_at(j.sink.at, j.sink.n)) ? found->name : NULL;
}

pel_str pel_unpack(pel_ctx *ctx, pel_str packed, uint64_t limit, uint64_t *end, bool *failed, pel_err *why) {
    job j = { packed, { .ctx = ctx, .limit = limit } };
    *failed = !pel_attempt(ctx, unpack_body, &j, why);
    if (*failed && why->code == PEL_E_MEMORY) pel_throw(ctx, why->code, why->at, "%s", why->what);
    *end = *failed || j.sink.end > packed.len ? packed.len : j.sink.end;
    return pel_str_at(j.sink.at ? j.sink.at : "", j.sink.n);
}
