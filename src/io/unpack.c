#include "io/unpack.h"

#include "io/inflate.h"

#define FIRST_ROOM ((uint64_t)64 << 10)

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
static bool is_lz4(pel_str bytes) { return bytes.len >= 7 && memcmp(bytes.ptr, "\x04\x22\x4d\x18", 4) == 0; }

static const struct {
    const char *name;
    bool (*is)(pel_str bytes);
    void (*unpack)(pel_ctx *ctx, pel_str packed, pel_sink *out);
} packings[] = {
    { "gzip", pel_is_gzip, pel_gunzip }, { "zlib", pel_is_zlib, pel_gunzip }, { "bzip2", is_bzip2, pel_bunzip2 },
    { "xz", is_xz, pel_unxz },           { "lzma", is_lzma, pel_unlzma },     { "lz4", is_lz4, pel_unlz4 },
};

const char *pel_packing(pel_str bytes) {
    for (size_t i = 0; i < PEL_COUNT(packings); i++)
        if (packings[i].is(bytes)) return packings[i].name;
    return NULL;
}

typedef struct job {
    pel_str packed;
    pel_sink sink;
} job;

static void unpack_body(pel_ctx *ctx, void *arg) {
    job *j = arg;
    size_t i = 0;
    while (i < PEL_COUNT(packings) && !packings[i].is(j->packed)) i++;
    if (i == PEL_COUNT(packings)) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "packed data: of no known kind");
    packings[i].unpack(ctx, j->packed, &j->sink);
}

pel_str pel_unpack(pel_ctx *ctx, pel_str packed, uint64_t limit, uint64_t *end, bool *failed, pel_err *why) {
    job j = { packed, { .ctx = ctx, .limit = limit } };
    *failed = !pel_attempt(ctx, unpack_body, &j, why);
    if (*failed && why->code == PEL_E_MEMORY) pel_throw(ctx, why->code, why->at, "%s", why->what);
    *end = *failed || j.sink.end > packed.len ? packed.len : j.sink.end;
    return pel_str_at(j.sink.at ? j.sink.at : "", j.sink.n);
}
