/* The end of a 7z archive lists its members: a header that is mostly packed itself, by LZMA. Numbers in it take as many
 * bytes as the leading ones of their first byte say. What comes before the list must be walked, since nothing says how
 * long it is. */
#include "io/seven_zip.h"

#include "base/buf.h"
#include "io/bytes.h"
#include "io/unpack.h"

#define START 32                      /* of what follows the signature */
#define MAX_LIST ((uint64_t)32 << 20) /* of the unpacked header */
#define MAX_PACKED 4                  /* headers that are packed in headers */
#define MAX_CODERS 32                 /* of one folder */
#define MAX_COUNT ((uint64_t)1 << 24) /* streams, folders, files */

enum {
    END,
    HEADER,
    PROPERTIES,
    MORE_STREAMS,
    STREAMS,
    FILES,
    PACKS,
    FOLDERS,
    PARTS,
    SIZES,
    SUMS,
    FOLDER,
    UNPACKED,
    COUNTS
};
enum { NAMES = 0x11, PACKED_HEADER = 0x17 };

/* How the first packed stream is packed: all that a packed header has. */
typedef struct packed {
    uint64_t at, size, unpacked;
    uint64_t method;
    pel_str settings;
    bool is_one; /* one coder that takes one stream */
} packed;

typedef struct reader {
    pel_ctx *ctx;
    pel_str in;
    uint64_t next;
} reader;

_Noreturn static void fail(reader *r, const char *what) { pel_throw(r->ctx, PEL_E_FORMAT, r->next, "7z: %s", what); }

static pel_str take(reader *r, uint64_t n) {
    if (!pel_within(r->in, r->next, n)) fail(r, "truncated");
    r->next += n;
    return pel_str_cut(r->in, r->next - n, r->next);
}

static unsigned take_byte(reader *r) { return (unsigned char)take(r, 1).ptr[0]; }

static uint64_t take_number(reader *r) {
    unsigned first = take_byte(r), mask = 0x80;
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++, mask >>= 1) {
        if (!(first & mask)) return value | (uint64_t)(first & (mask - 1)) << 8 * i;
        value |= (uint64_t)take_byte(r) << 8 * i;
    }
    return value;
}

/* Of things that take a byte each at least. */
static uint64_t take_count(reader *r) {
    uint64_t n = take_number(r);
    if (n > MAX_COUNT || n > r->in.len) fail(r, "a count is too large");
    return n;
}

static void expect(reader *r, unsigned id) {
    if (take_byte(r) != id) fail(r, "something else stands there");
}

static bool has(reader *r, unsigned id) {
    if (!pel_within(r->in, r->next, 1) || (unsigned char)r->in.ptr[r->next] != id) return false;
    r->next++;
    return true;
}

/* Checksums of n things: of all, or of those whose bit is set. *n_known: how many have one. */
static void skip_sums(reader *r, uint64_t n, uint64_t *n_known) {
    uint64_t known = n;
    if (!take_byte(r)) {
        pel_str bits = take(r, (n + 7) / 8);
        known = 0;
        for (uint64_t i = 0; i < n; i++) known += (unsigned char)bits.ptr[i / 8] >> (7 - i % 8) & 1;
    }
    take(r, known * 4);
    *n_known = known;
}

static void read_packs(reader *r, packed *first) {
    first->at = take_number(r);
    uint64_t n = take_count(r), ignored;
    if (has(r, SIZES))
        for (uint64_t i = 0; i < n; i++) {
            uint64_t size = take_number(r);
            if (!i) first->size = size;
        }
    if (has(r, SUMS)) skip_sums(r, n, &ignored);
    expect(r, END);
}

/* How one folder is packed: coders and how they are joined. Returns how many streams come out of them. */
static uint64_t read_folder(reader *r, packed *first) {
    uint64_t n = take_count(r), in = 0, out = 0;
    if (!n || n > MAX_CODERS) fail(r, "a folder of too many coders");
    for (uint64_t i = 0; i < n; i++) {
        unsigned flags = take_byte(r);
        pel_str id = take(r, flags & 15);
        uint64_t takes = flags & 0x10 ? take_count(r) : 1, gives = flags & 0x10 ? take_count(r) : 1;
        pel_str settings = flags & 0x20 ? take(r, take_number(r)) : (pel_str){ "", 0 };
        first->method = 0;
        for (size_t k = 0; k < id.len && k < 8; k++) first->method = first->method << 8 | (unsigned char)id.ptr[k];
        first->settings = settings;
        in += takes, out += gives;
        if (in > MAX_COUNT || out > MAX_COUNT || !gives) fail(r, "a coder of too many streams");
    }
    for (uint64_t i = 1; i < out; i++) take_number(r), take_number(r);
    uint64_t n_packed = in >= out - 1 ? in - (out - 1) : 0;
    for (uint64_t i = 0; n_packed > 1 && i < n_packed; i++) take_number(r);
    first->is_one = n == 1 && in == 1 && out == 1;
    return out;
}

/* Folders, the sizes of what they give, their checksums. *n_sums: of folders that have one. */
static uint64_t read_folders(reader *r, packed *first, uint64_t *n_sums) {
    expect(r, FOLDER);
    uint64_t n = take_count(r), out = 0;
    if (take_byte(r)) pel_throw(r->ctx, PEL_E_UNSUPPORTED, r->next, "7z: folders that stand elsewhere");
    for (uint64_t i = 0; i < n; i++) {
        packed ignored;
        out += read_folder(r, i ? &ignored : first);
        if (out > MAX_COUNT) fail(r, "too many streams");
    }
    expect(r, UNPACKED);
    for (uint64_t i = 0; i < out; i++) {
        uint64_t size = take_number(r);
        if (!i) first->unpacked = size;
    }
    *n_sums = 0;
    if (has(r, SUMS)) skip_sums(r, n, n_sums);
    expect(r, END);
    return n;
}

/* What lies in the folders: how many, their sizes, their checksums. */
static void skip_parts(reader *r, uint64_t n_folders, uint64_t n_sums) {
    uint64_t n_parts = n_folders, n_sizes = 0, n_single = n_folders, ignored;
    if (has(r, COUNTS)) {
        n_parts = n_single = 0;
        for (uint64_t i = 0; i < n_folders; i++) {
            uint64_t n = take_count(r);
            n_parts += n, n_single += n == 1, n_sizes += n ? n - 1 : 0;
            if (n_parts > MAX_COUNT) fail(r, "too many parts");
        }
    }
    if (has(r, SIZES))
        for (uint64_t i = 0; i < n_sizes; i++) take_number(r);
    /* a folder of one part that has a checksum needs no other; here all of them have one, or none */
    uint64_t n_known = n_sums == n_folders ? n_single : 0;
    if (has(r, SUMS)) skip_sums(r, n_parts - n_known, &ignored);
    expect(r, END);
}

static packed read_streams(reader *r) {
    packed first = { 0 };
    uint64_t n_folders = 0, n_sums = 0;
    if (has(r, PACKS)) read_packs(r, &first);
    if (has(r, FOLDERS)) n_folders = read_folders(r, &first, &n_sums);
    if (has(r, PARTS)) skip_parts(r, n_folders, n_sums);
    expect(r, END);
    return first;
}

/* The names of all files, in UTF-16, each ended by a zero. */
static void read_names(reader *r, pel_7z *list, pel_str names) {
    pel_buf name = pel_buf_in(r->ctx);
    for (size_t at = 0; at + 1 < names.len; at += 2) {
        uint32_t unit = pel_le16(names.ptr + at);
        if (!unit) {
            list->n++;
            if (list->names.n < PEL_7Z_NAMES) pel_push(r->ctx, &list->names, pel_buf_str(&name));
            name = pel_buf_in(r->ctx);
        } else if (unit < 0x80) {
            pel_put_byte(&name, (char)unit);
        } else {
            pel_put_c(&name, "?"); /* the name is there to be read by people */
        }
    }
}

static void read_files(reader *r, pel_7z *list) {
    take_number(r); /* how many: the names say it again */
    for (;;) {
        uint64_t kind = take_number(r);
        if (kind == END) return;
        pel_str content = take(r, take_number(r));
        if (kind != NAMES || !content.len) continue;
        if (content.ptr[0]) pel_throw(r->ctx, PEL_E_UNSUPPORTED, r->next, "7z: names that stand elsewhere");
        read_names(r, list, pel_str_from(content, 1));
    }
}

static void read_header(reader *r, pel_7z *list) {
    if (has(r, PROPERTIES))
        while (take_number(r) != END) take(r, take_number(r));
    if (has(r, MORE_STREAMS)) read_streams(r);
    if (has(r, STREAMS)) read_streams(r);
    if (has(r, FILES)) read_files(r, list);
}

/* The header that a packed one gives. LZMA's settings are those of its older format, whose reader takes a size, too. */
static pel_str unpack_header(reader *r, pel_str bytes, const packed *header) {
    enum { COPY = 0, LZMA2 = 0x21, LZMA = 0x030101, AES = 0x06F10701 };
    uint64_t at;
    if (header->method == AES)
        pel_throw(r->ctx, PEL_E_UNSUPPORTED, r->next, "7z: the list of its members is encrypted");
    if (__builtin_add_overflow(header->at, START, &at) || !pel_within(bytes, at, header->size) ||
        header->unpacked > MAX_LIST)
        fail(r, "the packed header lies outside");
    pel_str content = pel_str_cut(bytes, at, at + header->size);
    if (!header->is_one || (header->method != LZMA && header->method != LZMA2 && header->method != COPY))
        pel_throw(r->ctx, PEL_E_UNSUPPORTED, r->next, "7z: the list of its members is packed by an unknown method");
    if (header->method == COPY) return content;
    pel_sink sink = { .ctx = r->ctx, .limit = MAX_LIST };
    if (header->method == LZMA2) {
        pel_unlzma2(r->ctx, content, &sink);
        return pel_str_at(sink.at ? sink.at : "", sink.n);
    }
    if (header->settings.len != 5) fail(r, "wrong settings of LZMA");
    pel_buf alone = pel_buf_in(r->ctx);
    pel_put(&alone, header->settings);
    for (unsigned i = 0; i < 8; i++) pel_put_byte(&alone, (char)(header->unpacked >> 8 * i & 255));
    pel_put(&alone, content);
    pel_unlzma(r->ctx, pel_buf_str(&alone), &sink);
    return pel_str_at(sink.at ? sink.at : "", sink.n);
}

bool pel_is_7z(pel_str bytes) { return pel_str_starts(bytes, PEL_STR("7z\xbc\xaf\x27\x1c")) && bytes.len >= START; }

pel_7z *pel_7z_list(pel_ctx *ctx, pel_str bytes) {
    pel_7z *list = pel_new(ctx, pel_7z);
    uint64_t offset = pel_le64(bytes.ptr + 12), size = pel_le64(bytes.ptr + 20), at;
    if (!size) return list; /* an archive of nothing */
    if (__builtin_add_overflow(offset, START, &at) || !pel_within(bytes, at, size))
        pel_throw(ctx, PEL_E_FORMAT, 12, "7z: the list of its members lies outside of the file");
    reader r = { ctx, pel_str_cut(bytes, at, at + size), 0 };
    for (int depth = 0; has(&r, PACKED_HEADER); depth++) {
        if (depth == MAX_PACKED) fail(&r, "headers are packed in headers");
        packed header = read_streams(&r);
        r = (reader){ ctx, unpack_header(&r, bytes, &header), 0 };
    }
    expect(&r, HEADER);
    read_header(&r, list);
    return list;
}
