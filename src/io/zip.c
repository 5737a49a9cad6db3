#include "io/zip.h"

#include "base/map.h"

#include "io/bytes.h"
#include "io/inflate.h"

#include <ctype.h>
#include <stdlib.h>

#define END_SIZE 22 /* of the end of central directory record, without its comment */
#define END_SIGNATURE 0x06054B50u
#define END64_SIZE 56
#define LOCATOR64_SIZE 20
#define END64_SIGNATURE 0x06064B50u
#define LOCATOR64_SIGNATURE 0x07064B50u
#define ENTRY_SIGNATURE 0x02014B50u
#define LOCAL_SIGNATURE 0x04034B50u
#define ENTRY_SIZE 46
#define LOCAL_SIZE 30
#define MAX_MEMBERS 1000000u
#define BOMB_RATIO 100                 /* inflated to packed; honest data stays far below */
#define BOMB_SIZE ((uint64_t)64 << 20) /* what is smaller harms nobody */

bool pel_is_zip(pel_str bytes) { return bytes.len >= END_SIZE && pel_le32(bytes.ptr) == LOCAL_SIGNATURE; }

typedef struct directory {
    uint64_t count, size, offset;
    uint64_t end;  /* where the end record begins */
    uint64_t ends; /* where the directory should end: at this record, or at the one of 64 bits before it */
    bool has_second, ends_exactly;
    uint64_t second; /* another end record before that */
} directory;

/* The part of a file that its end record must lie in. */
typedef struct tail {
    pel_ctx *ctx;
    const pel_input *input;
    pel_str bytes;
    uint64_t start; /* of bytes in the file */
} tail;

/* The file has at least END_SIZE bytes. */
static tail view_tail(pel_ctx *ctx, const pel_input *input) {
    uint64_t start = input->size > END_SIZE + 0xFFFF ? input->size - END_SIZE - 0xFFFF : 0;
    return (tail){ ctx, input, pel_input_view(ctx, input, start, input->size - start), start };
}

static bool has_signature(pel_ctx *ctx, const pel_input *input, uint64_t at, uint32_t signature) {
    return pel_input_has(input, at, 4) && pel_le32(pel_input_view(ctx, input, at, 4).ptr) == signature;
}

/* Whether an end record at `at` has a directory before it, where it says or right before itself. */
static bool is_end(const tail *t, uint64_t at) {
    const char *record = t->bytes.ptr + (at - t->start);
    if (pel_le32(record) != END_SIGNATURE) return false;
    uint64_t size = pel_le32(record + 12), offset = pel_le32(record + 16);
    if (size == 0xFFFFFFFFu || offset == 0xFFFFFFFFu) return true;
    if (size < ENTRY_SIZE) return size == 0;
    return has_signature(t->ctx, t->input, offset, ENTRY_SIGNATURE) ||
           (size <= at && has_signature(t->ctx, t->input, at - size, ENTRY_SIGNATURE));
}

/* Several end records: which one counts depends on the reader. The last one is ours. */
static bool find_end(pel_ctx *ctx, const pel_input *input, directory *d, pel_findings *findings) {
    tail t = view_tail(ctx, input);
    bool any = false;
    for (uint64_t at = input->size - END_SIZE + 1; at-- > t.start;) {
        if (!is_end(&t, at)) continue;
        if (any) {
            d->has_second = true;
            d->second = at;
            break;
        }
        d->ends_exactly = at + END_SIZE + pel_le16(t.bytes.ptr + (at - t.start) + 20) == input->size;
        if (!d->ends_exactly)
            pel_find(ctx, findings, PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 }, at,
                     PEL_STR("the archive does not end where its end record says"));
        d->end = at;
        any = true;
    }
    return any;
}

/* An archive as a member of this one is no second directory: every reader finds the last end record, if that is
 * well-formed. */
static void check_second_end(pel_ctx *ctx, const pel_zip *zip, const directory *d, pel_findings *findings) {
    if (!d->has_second) return;
    for (uint32_t i = 0; i < zip->members.n && d->ends_exactly; i++) {
        const pel_zip_member *member = &zip->members.at[i];
        if (member->readable && d->second >= member->offset && d->second - member->offset < member->packed) return;
    }
    pel_find(ctx, findings, PEL_DANGER, "several-directories", (pel_str){ "", 0 }, d->second,
             PEL_STR("a second end of central directory: readers may choose another archive"));
}

bool pel_has_zip_inside(pel_ctx *ctx, const pel_input *input, uint64_t *start) {
    if (input->size < END_SIZE) return false;
    tail t = view_tail(ctx, input);
    for (uint64_t at = input->size - END_SIZE + 1; at-- > t.start;) {
        if (!is_end(&t, at)) continue;
        const char *record = t.bytes.ptr + (at - t.start);
        uint64_t before = (uint64_t)pel_le32(record + 12) + pel_le32(record + 16);
        *start = before <= at ? at - before : 0; /* offsets may count from where the archive begins */
        return true;
    }
    return false;
}

_Noreturn static void fail_directory(pel_ctx *ctx, const pel_zip *zip, const directory *d, pel_findings *findings,
                                     uint64_t at, const char *what) {
    check_second_end(ctx, zip, d, findings);
    pel_throw(ctx, PEL_E_FORMAT, at, "%s", what);
}

/* Readers take the record of 64 bits wherever there is one, torch's and Python's among them, even if the other record
 * needs none. Torch's believes where its locator says it is, Python's looks right before the locator. So all of these
 * must agree. */
static void read_end64(pel_ctx *ctx, const pel_input *input, directory *d, pel_findings *findings) {
    bool is_needed = d->count == 0xFFFF || d->size == 0xFFFFFFFFu || d->offset == 0xFFFFFFFFu;
    uint64_t locator = d->end - LOCATOR64_SIZE;
    if (d->end < LOCATOR64_SIZE || !has_signature(ctx, input, locator, LOCATOR64_SIGNATURE)) {
        if (is_needed) pel_throw(ctx, PEL_E_FORMAT, d->end, "the zip64 locator is missing");
        return;
    }
    uint64_t at = pel_le64(pel_input_view(ctx, input, locator + 8, 8).ptr);
    if (!pel_input_has(input, at, END64_SIZE) || !has_signature(ctx, input, at, END64_SIGNATURE))
        pel_throw(ctx, PEL_E_FORMAT, at, "the zip64 end record is not where the locator says");
    const char *end64 = pel_input_view(ctx, input, at, END64_SIZE).ptr;
    directory wide = *d;
    wide.count = pel_le64(end64 + 32);
    wide.size = pel_le64(end64 + 40);
    wide.offset = pel_le64(end64 + 48);
    bool is_same = (d->count == 0xFFFF || d->count == wide.count) && (d->size == 0xFFFFFFFFu || d->size == wide.size) &&
                   (d->offset == 0xFFFFFFFFu || d->offset == wide.offset);
    if (!is_same || at + END64_SIZE != locator)
        pel_find(ctx, findings, PEL_DANGER, "several-directories", (pel_str){ "", 0 }, at,
                 PEL_STR("the two end records of the archive do not belong together: readers may choose another"));
    *d = wide;
    d->ends = at;
}

/* Python's reader takes the directory to be right before the end record, others believe the offset. */
static void check_place(pel_ctx *ctx, const pel_input *input, const directory *d, pel_findings *findings) {
    if (d->offset + d->size == d->ends) return;
    bool is_other = d->size <= d->ends && has_signature(ctx, input, d->ends - d->size, ENTRY_SIGNATURE);
    pel_find(ctx, findings, is_other ? PEL_DANGER : PEL_SUSPECT, is_other ? "several-directories" : "gap",
             (pel_str){ "", 0 }, d->offset + d->size,
             is_other ? PEL_STR("a directory where the end record says, and another right before it")
                      : PEL_STR("bytes between the directory and its end record belong to nothing"));
}

static directory read_end(pel_ctx *ctx, const pel_input *input, pel_findings *findings) {
    directory d = { 0 };
    if (input->size < END_SIZE || !find_end(ctx, input, &d, findings))
        pel_throw(ctx, PEL_E_FORMAT, input->size, "truncated: the archive has no end of central directory");
    const char *end = pel_input_view(ctx, input, d.end, END_SIZE).ptr;
    d.ends = d.end;
    d.count = pel_le16(end + 10);
    d.size = pel_le32(end + 12);
    d.offset = pel_le32(end + 16);
    if (pel_le16(end + 4) || pel_le16(end + 6))
        pel_throw(ctx, PEL_E_UNSUPPORTED, d.end, "an archive of several volumes");
    read_end64(ctx, input, &d, findings);
    if (d.count > MAX_MEMBERS) pel_throw(ctx, PEL_E_TOO_BIG, d.end, "more than %u members", MAX_MEMBERS);
    return d;
}

/* Sizes and offset that do not fit 32 bits are in an extra field, in this order, only those that are needed. */
static void read_zip64(const char *extra, size_t len, uint64_t *const *fields, int n_fields) {
    for (size_t at = 0; at + 4 <= len;) {
        uint16_t id = pel_le16(extra + at), size = pel_le16(extra + at + 2);
        at += 4;
        if (size > len - at) return;
        if (id == 1) {
            size_t used = 0;
            for (int i = 0; i < n_fields; i++) {
                if (*fields[i] != 0xFFFFFFFFu || used + 8 > size) continue;
                *fields[i] = pel_le64(extra + at + used);
                used += 8;
            }
            return;
        }
        at += size;
    }
}

static bool is_ascii(pel_str text) {
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 128) return false;
    return true;
}

/* Info-ZIP's field with the name in UTF-8: newer Pythons take that name, other readers the one of the entry. Honest
 * writers have it for letters that the entry's name can't hold. */
static bool has_other_name(const char *extra, size_t len, pel_str name) {
    for (size_t at = 0; at + 4 <= len;) {
        uint16_t id = pel_le16(extra + at), size = pel_le16(extra + at + 2);
        at += 4;
        if (size > len - at) return false;
        pel_str other = { extra + at + 5, size > 5 ? size - 5u : 0 };
        if (id == 0x7075 && other.len && is_ascii(other) && !pel_str_eq(other, name)) return true;
        at += size;
    }
    return false;
}

static bool has_tricks(pel_str name) {
    if (!name.len || name.ptr[0] == '/' || memchr(name.ptr, '\\', name.len) || memchr(name.ptr, 0, name.len))
        return true;
    if (name.len > 1 && name.ptr[1] == ':') return true;
    for (size_t start = 0; start < name.len;) {
        size_t end = start;
        while (end < name.len && name.ptr[end] != '/') end++;
        if (end - start == 2 && name.ptr[start] == '.' && name.ptr[start + 1] == '.') return true;
        start = end + 1;
    }
    return false;
}

/* The local header repeats the entry: where they differ, a reader that trusts one sees another file. */
static void check_local(pel_ctx *ctx, const pel_input *input, pel_zip_member *member, pel_findings *findings) {
    const char *why = NULL;
    uint16_t flags = member->flags;
    if (!pel_input_has(input, member->header, LOCAL_SIZE) ||
        !has_signature(ctx, input, member->header, LOCAL_SIGNATURE)) {
        pel_find(ctx, findings, PEL_SUSPECT, "no-local-header", member->name, member->header,
                 PEL_STR("the directory points to what is no member"));
        return;
    }
    const char *local = pel_input_view(ctx, input, member->header, LOCAL_SIZE).ptr;
    uint16_t name_len = pel_le16(local + 26), extra_len = pel_le16(local + 28);
    member->offset = member->header + LOCAL_SIZE + name_len + extra_len;
    if (!pel_input_has(input, member->offset, member->packed)) {
        pel_find(ctx, findings, PEL_SUSPECT, "outside", member->name, member->header,
                 PEL_STR("the data goes beyond the end of the file"));
        return;
    }
    member->in_file = true;
    local = pel_input_view(ctx, input, member->header, (uint64_t)LOCAL_SIZE + name_len + extra_len).ptr;
    uint64_t size = pel_le32(local + 22), packed = pel_le32(local + 18);
    uint64_t *const fields[] = { &size, &packed };
    read_zip64(local + LOCAL_SIZE + name_len, extra_len, fields, 2);
    bool sizes_later = pel_le16(local + 6) & 8; /* in a descriptor after the data */
    if (!pel_str_eq((pel_str){ local + LOCAL_SIZE, name_len }, member->name))
        why = "the name";
    else if (pel_le16(local + 8) != member->method)
        why = "the method";
    else if ((pel_le16(local + 6) ^ flags) & 1)
        why = "the encryption flag";
    else if (sizes_later && !(flags & 8))
        why = "where the sizes stand";
    else if (!sizes_later && (size != member->size || packed != member->packed))
        why = "the size";
    else if (!sizes_later && pel_le32(local + 14) != member->crc)
        why = "the checksum";
    if (why)
        pel_find(ctx, findings, PEL_SUSPECT, "headers-disagree", member->name, member->header,
                 pel_format(ctx, "directory and local header disagree about %s", why));
    if (flags & 1)
        pel_find(ctx, findings, PEL_SUSPECT, "encrypted", member->name, member->header, PEL_STR("marked as encrypted"));
    member->readable = !why && !(flags & 1);
}

/* "archive/data/17": torch keeps the bytes of tensors so. Whatever else has such a name is settled before its bytes are
 * looked at. */
static bool is_raw(pel_str name) {
    static const char folder[] = "/data/";
    size_t at = name.len;
    while (at && name.ptr[at - 1] >= '0' && name.ptr[at - 1] <= '9') at--;
    size_t before = sizeof folder - 1;
    return at < name.len && at >= before && memcmp(name.ptr + at - before, folder, before) == 0;
}

/* What the directory alone says of a stored member. False: its local header must be read. */
static bool leave_rough(const pel_input *input, pel_zip_member *member) {
    if (!pel_input_without_places(input) || member->method != 0 || member->packed != member->size || !member->size ||
        (member->flags & 1) || !is_raw(member->name))
        return false;
    uint64_t least = LOCAL_SIZE + member->name.len;
    if (!pel_input_has(input, member->header, least) || !pel_input_has(input, member->header + least, member->packed))
        return false;
    member->offset = member->header + least;
    member->in_file = member->readable = member->is_rough = true;
    return true;
}

void pel_zip_settle(pel_ctx *ctx, const pel_zip *zip, const pel_zip_member *member, pel_findings *findings) {
    if (!member->is_rough) return;
    pel_zip_member *row = &zip->members.at[member - zip->members.at];
    row->in_file = row->readable = row->is_rough = false;
    check_local(ctx, zip->input, row, findings);
}

static void say_rough(pel_ctx *ctx, const pel_zip *zip, pel_findings *findings) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < zip->members.n; i++) n += zip->members.at[i].is_rough;
    if (n)
        pel_find(ctx, findings, PEL_NOTE, "headers-unread", (pel_str){ "", 0 }, 0,
                 pel_format(
                     ctx, "the local headers of %u tensors were not read: the directory alone says where they are", n));
}

/* In the directory's order where several lie at one place: qsort keeps no order of its own. */
static int by_header(const void *a, const void *b) {
    const pel_zip_member *x = *(const pel_zip_member *const *)a, *y = *(const pel_zip_member *const *)b;
    int order = (x->header > y->header) - (x->header < y->header);
    return order ? order : (x > y) - (x < y);
}

/* Some readers do not tell small letters from capitals, torch's among them. */
static int compare_folded(pel_str a, pel_str b) {
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        int x = tolower((unsigned char)a.ptr[i]), y = tolower((unsigned char)b.ptr[i]);
        if (x != y) return x - y;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool pel_ends_folded(pel_str name, const char *ending) {
    pel_str end = pel_str_of(ending);
    return name.len >= end.len && compare_folded(pel_str_from(name, name.len - end.len), end) == 0;
}

static int by_name(const void *a, const void *b) {
    const pel_zip_member *x = *(const pel_zip_member *const *)a, *y = *(const pel_zip_member *const *)b;
    int order = compare_folded(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

/* Some faults show only between members. Names are compared without case, as torch's reader does. Writers pad their
 * data, so a gap counts from 64 KiB on. A member that overlaps another is not read. */
static void check_together(pel_ctx *ctx, pel_zip *zip, const directory *d, pel_findings *findings) {
    uint32_t n = zip->members.n;
    if (!n) return;
    pel_zip_member **sorted = pel_new_array(ctx, n, pel_zip_member *);
    for (uint32_t i = 0; i < n; i++) sorted[i] = &zip->members.at[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (uint32_t i = 1; i < n; i++)
        if (compare_folded(sorted[i]->name, sorted[i - 1]->name) == 0)
            pel_find(ctx, findings, PEL_DANGER, "duplicate-member", sorted[i]->name, sorted[i]->header,
                     PEL_STR("two members of one name: which of them is read depends on the reader"));
    qsort(sorted, n, sizeof *sorted, by_header);
    if (sorted[0]->header)
        pel_find(ctx, findings, PEL_SUSPECT, "leading-data", (pel_str){ "", 0 }, 0,
                 pel_format(ctx, "%llu bytes before the first member", (unsigned long long)sorted[0]->header));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t end = sorted[i]->offset + sorted[i]->packed;
        uint64_t next = i + 1 < n ? sorted[i + 1]->header : d->offset;
        if (sorted[i]->in_file && end > next) {
            pel_find(ctx, findings, PEL_DANGER, "overlap", sorted[i]->name, sorted[i]->header,
                     i + 1 < n ? pel_format(ctx, "its bytes are also bytes of %.*s", PEL_FMT(sorted[i + 1]->name))
                               : PEL_STR("its bytes reach into the directory"));
            sorted[i]->readable = false;
        }
        if (sorted[i]->in_file && end + 64 * 1024 < next)
            pel_find(ctx, findings, PEL_SUSPECT, "gap", sorted[i]->name, end,
                     pel_format(ctx, "%llu bytes after it belong to no member", (unsigned long long)(next - end)));
    }
}

/* The central directory decides, as it does in Python's zipfile, and local headers are only compared with it. All
 * members are collected before they are compared with each other. Even a broken directory is searched for a second end
 * record, in fail_directory. */
pel_zip *pel_zip_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings) {
    pel_zip *zip = pel_new(ctx, pel_zip);
    zip->input = input;
    directory d = read_end(ctx, input, findings);
    if (!pel_input_has(input, d.offset, d.size) || d.offset + d.size > d.end)
        fail_directory(ctx, zip, &d, findings, d.end, "the central directory lies outside of the file");
    check_place(ctx, input, &d, findings);
    pel_str bytes = pel_input_view(ctx, input, d.offset, d.size);
    uint64_t at = d.offset, limit = d.offset + d.size;
    for (uint64_t i = 0; i < d.count; i++) {
        const char *entry = bytes.ptr + (at - d.offset);
        if (limit - at < ENTRY_SIZE || pel_le32(entry) != ENTRY_SIGNATURE)
            fail_directory(ctx, zip, &d, findings, at, "an entry of the central directory is broken");
        uint16_t name_len = pel_le16(entry + 28), extra_len = pel_le16(entry + 30), comment_len = pel_le16(entry + 32);
        uint64_t whole = (uint64_t)ENTRY_SIZE + name_len + extra_len + comment_len;
        if (whole > limit - at)
            fail_directory(ctx, zip, &d, findings, at, "an entry is longer than the central directory");
        pel_zip_member member = {
            .name = { entry + ENTRY_SIZE, name_len },
            .method = pel_le16(entry + 10),
            .flags = pel_le16(entry + 8),
            .crc = pel_le32(entry + 16),
            .packed = pel_le32(entry + 20),
            .size = pel_le32(entry + 24),
            .header = pel_le32(entry + 42),
        };
        uint64_t *const fields[] = { &member.size, &member.packed, &member.header };
        read_zip64(entry + ENTRY_SIZE + name_len, extra_len, fields, 3);
        if (!leave_rough(input, &member)) check_local(ctx, input, &member, findings);
        if (has_tricks(member.name))
            pel_find(ctx, findings, PEL_DANGER, "path", member.name, at,
                     PEL_STR("the name leads out of the folder that the archive is unpacked in"));
        if (has_other_name(entry + ENTRY_SIZE + name_len, extra_len, member.name))
            pel_find(ctx, findings, PEL_DANGER, "headers-disagree", member.name, at,
                     PEL_STR("the entry has two names: which of them counts depends on the reader"));
        bool is_unix = (unsigned char)entry[5] == 3, is_link = (pel_le32(entry + 38) >> 28) == 0xA;
        if (is_unix && is_link)
            pel_find(ctx, findings, PEL_DANGER, "link", member.name, at,
                     PEL_STR("a symbolic link: who unpacks the archive may write or read elsewhere"));
        if (member.method == 0 && member.packed != member.size) member.readable = false;
        if (member.size >= BOMB_SIZE && member.size / BOMB_RATIO > member.packed)
            pel_find(ctx, findings, PEL_DANGER, "zip-bomb", member.name, member.header,
                     pel_format(ctx, "%llu bytes grow to %llu", (unsigned long long)member.packed,
                                (unsigned long long)member.size));
        pel_push(ctx, &zip->members, member);
        at += whole;
    }
    if (at != limit)
        pel_find(ctx, findings, PEL_SUSPECT, "directory-size", (pel_str){ "", 0 }, at,
                 PEL_STR("the central directory has bytes after its last entry"));
    check_together(ctx, zip, &d, findings);
    check_second_end(ctx, zip, &d, findings);
    say_rough(ctx, zip, findings);
    return zip;
}

const pel_zip_member *pel_zip_find(const pel_zip *zip, pel_str name) {
    for (uint32_t i = 0; i < zip->members.n; i++)
        if (pel_str_eq(zip->members.at[i].name, name)) return &zip->members.at[i];
    return NULL;
}

/* ---- content ---- */

/* Methods as the format numbers them. Python's zipfile reads these, and others say that they can't. */
enum { STORED = 0, DEFLATED = 8, BZIP2 = 12, LZMA = 14 };

/* A version of two bytes, the size of the properties, these, and the stream: what the older format has with the size of
 * the content in between. */
static void unpack_lzma(pel_ctx *ctx, pel_str packed, pel_sink *out) {
    if (packed.len < 9 || pel_le16(packed.ptr + 2) != 5)
        pel_throw(ctx, PEL_E_FORMAT, 0, "zip: properties of lzma are broken");
    char *alone = pel_alloc_raw(ctx, packed.len + 4);
    memcpy(alone, packed.ptr + 4, 5);
    for (unsigned i = 0; i < 8; i++) alone[5 + i] = (char)(out->limit >> 8 * i & 255);
    memcpy(alone + 13, packed.ptr + 9, packed.len - 9);
    pel_unlzma(ctx, (pel_str){ alone, packed.len + 4 }, out);
}

typedef struct unpack_job {
    const pel_zip_member *member;
    pel_str packed;
    pel_sink sink; /* its limit is the size that the directory says */
} unpack_job;

static void unpack_body(pel_ctx *ctx, void *arg) {
    unpack_job *job = arg;
    pel_sink *sink = &job->sink;
    if (job->member->method == DEFLATED) {
        sink->at = pel_alloc_raw(ctx, sink->limit + 1);
        pel_inflate(ctx, job->packed, job->member->offset, sink->at, sink->limit);
        sink->n = sink->limit;
    } else {
        (job->member->method == BZIP2 ? pel_bunzip2 : unpack_lzma)(ctx, job->packed, sink);
    }
    if (sink->n != sink->limit) pel_throw(ctx, PEL_E_FORMAT, 0, "zip: a member gives fewer bytes than it should");
}

/* A stream that breaks is a finding besides: who reads from it bit by bit has run what comes before the fault. */
static pel_str unpack_member(pel_ctx *ctx, const pel_zip_member *member, pel_str packed, pel_findings *findings) {
    unpack_job job = { member, packed, { .ctx = ctx, .limit = member->size } };
    pel_err why;
    if (!pel_attempt(ctx, unpack_body, &job, &why)) {
        if (why.code != PEL_E_MEMORY)
            pel_find(ctx, findings, PEL_SUSPECT, "broken-stream", member->name, why.at,
                     pel_str_copy(ctx, pel_str_of(why.what)));
        pel_throw(ctx, why.code, why.at, "%s", why.what);
    }
    return pel_str_at(job.sink.at ? job.sink.at : "", job.sink.n);
}

pel_str pel_zip_content(pel_ctx *ctx, const pel_zip *zip, const pel_zip_member *member, uint64_t limit,
                        pel_findings *findings) {
    pel_zip_settle(ctx, zip, member, findings);
    if (!member->in_file)
        pel_throw(ctx, PEL_E_FORMAT, member->header, "the member %.*s is not in the file", PEL_FMT(member->name));
    if (member->method != STORED && member->method != DEFLATED && member->method != BZIP2 && member->method != LZMA)
        pel_throw(ctx, PEL_E_UNSUPPORTED, member->header,
                  "%.*s is packed by method %u; stored, deflated, bzip2 and lzma can be read", PEL_FMT(member->name),
                  member->method);
    uint64_t size = member->method == STORED ? member->packed : member->size;
    if (size > limit)
        pel_throw(ctx, PEL_E_TOO_BIG, member->header, "%.*s would take %llu bytes; at most %llu are read here",
                  PEL_FMT(member->name), (unsigned long long)size, (unsigned long long)limit);
    pel_str content = pel_input_view(ctx, zip->input, member->offset, member->packed);
    if (member->method != STORED) content = unpack_member(ctx, member, content, findings);
    if (pel_crc32(content) != member->crc)
        pel_find(ctx, findings, PEL_DANGER, "checksum", member->name, member->offset,
                 PEL_STR("the checksum is wrong: the content was changed, and not every reader looks"));
    return content;
}

/* ---- archives in a row ---- */

#define END_SIZE 22
#define WIDE_END 76 /* the end record of 64 bits, and the record that says where it is */
#define MAX_ROW 1000000

/* Where the directory of an archive begins whose end record is at `end`; false if it is none. */
static bool directory_before(pel_str bytes, uint64_t start, uint64_t end, uint64_t *directory_at) {
    if (!pel_within(bytes, end, END_SIZE) || pel_le16(bytes.ptr + end + 20)) return false;
    uint64_t size = pel_le32(bytes.ptr + end + 12), offset = pel_le32(bytes.ptr + end + 16);
    bool has_wide = end - start >= WIDE_END && memcmp(bytes.ptr + end - 20, "PK\6\7", 4) == 0 &&
                    memcmp(bytes.ptr + end - WIDE_END, "PK\6\6", 4) == 0;
    uint64_t limit = has_wide ? end - WIDE_END : end;
    if (has_wide && (offset == UINT32_MAX || size == UINT32_MAX)) {
        size = pel_le64(bytes.ptr + limit + 40);
        offset = pel_le64(bytes.ptr + limit + 48);
    }
    *directory_at = start + offset;
    return offset <= limit - start && size == limit - start - offset && size >= ENTRY_SIZE &&
           pel_le32(bytes.ptr + *directory_at) == ENTRY_SIGNATURE;
}

uint32_t pel_zip_row(pel_ctx *ctx, pel_str bytes, uint64_t **ends) {
    PEL_VEC(uint64_t) found = { 0 };
    pel_map directories = { 0 };
    uint64_t start = 0, directory_at = 0, last = 0, own_start;
    if (bytes.len < 2 * END_SIZE || memcmp(bytes.ptr + bytes.len - END_SIZE, "PK\5\6", 4) != 0 ||
        directory_before(bytes, 0, bytes.len - END_SIZE, &directory_at))
        return 0; /* one archive: the usual case, and nothing is searched for */
    while (start < bytes.len && found.n < MAX_ROW) {
        own_start = start;
        if (!pel_is_zip(pel_str_from(bytes, start))) return 0;
        for (uint64_t at = start;;) {
            const char *mark = pel_str_find(pel_str_from(bytes, at), PEL_STR("PK\5\6"));
            if (!mark) return 0;
            at = (uint64_t)(mark - bytes.ptr);
            if (directory_before(bytes, start, at, &directory_at)) {
                pel_map_set(ctx, &directories, directory_at, 1);
                last = directory_at - own_start;
                start = at + END_SIZE;
                break;
            }
            at += 4;
        }
        pel_push(ctx, &found, start);
    }
    /* a reader that takes the last offset as one of the whole file must not find a directory that nobody has read */
    bool is_entry = pel_within(bytes, last, 4) && pel_le32(bytes.ptr + last) == ENTRY_SIGNATURE;
    *ends = found.at;
    return start == bytes.len && (!is_entry || pel_map_has(&directories, last)) ? found.n : 0;
}
