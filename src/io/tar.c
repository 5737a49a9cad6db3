#include "io/tar.h"

#include "base/map.h"
#include "io/bytes.h"

#define BLOCK 512
#define MAX_MEMBERS 100000

/* Octal digits, blanks around them; the rest of the field is NULs. */
static bool octal(const char *at, size_t size, uint64_t *value) {
    size_t i = 0;
    *value = 0;
    while (i < size && at[i] == ' ') i++;
    for (; i < size && at[i] >= '0' && at[i] <= '7'; i++) {
        if (*value >> 60) return false;
        *value = *value << 3 | (uint64_t)(at[i] - '0');
    }
    while (i < size && (at[i] == ' ' || !at[i])) i++;
    return i == size;
}

/* Octal, or as GNU writes what has too many digits: a byte of 0x80, and the number in bytes, the highest first. */
static bool read_size(const char *at, uint64_t *value) {
    if ((unsigned char)at[0] != 0x80) return octal(at, 12, value);
    *value = 0;
    for (size_t i = 1; i < 12; i++) {
        if (*value >> 55) return false;
        *value = *value << 8 | (unsigned char)at[i];
    }
    return true;
}

static bool has_checksum(const char *header) {
    uint64_t expected, sum = 0;
    if (!octal(header + 148, 8, &expected)) return false;
    for (size_t i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    return sum == expected;
}

static bool is_empty(const char *block) {
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i]) return false;
    return true;
}

bool pel_is_tar(pel_str bytes) { return bytes.len >= BLOCK && bytes.ptr[0] && has_checksum(bytes.ptr); }

static bool leads_out(pel_str name) {
    if (!name.len || name.ptr[0] == '/') return true;
    for (size_t i = 0; i + 1 < name.len; i++)
        if (name.ptr[i] == '.' && name.ptr[i + 1] == '.' && (!i || name.ptr[i - 1] == '/') &&
            (i + 2 == name.len || name.ptr[i + 2] == '/'))
            return true;
    return false;
}

typedef struct pax_values {
    pel_str path;    /* empty if there is none */
    const char *odd; /* a record that makes readers see other members than the headers have; NULL if there is none */
} pax_values;

/* "28 path=some/long/name\n", in the blocks before the member that it is of: how long it is, its key, its value. */
static pax_values read_pax(pel_str records) {
    pax_values found = { .path = { "", 0 } };
    while (records.len && records.ptr[0]) {
        size_t size = 0, at = 0;
        while (at < records.len && at < 9 && records.ptr[at] >= '0' && records.ptr[at] <= '9')
            size = size * 10 + (size_t)(records.ptr[at++] - '0');
        const char *equals = memchr(records.ptr, '=', size < records.len ? size : records.len);
        bool is_record = at && at < records.len && records.ptr[at] == ' ' && size <= records.len && equals &&
                         records.ptr[size - 1] == '\n';
        if (!is_record) {
            found.odd = "a record of the extended header that can't be read";
            return found;
        }
        pel_str key = pel_str_cut(records, at + 1, (size_t)(equals - records.ptr));
        if (pel_str_is(key, "path"))
            found.path = pel_str_cut(records, key.len + at + 2, size - 1); /* the last counts */
        if (pel_str_is(key, "size") || pel_str_starts(key, PEL_STR("GNU.sparse")))
            found.odd = "an extended header that gives the member another size, name or place";
        records = pel_str_from(records, size);
    }
    return found;
}

/* Names that are too long for a header stand in a member of their own before it. True: this is one. */
static bool read_long_name(pel_ctx *ctx, pel_str bytes, const pel_tar_member *member, char kind, pel_str *name,
                           pel_findings *findings) {
    pel_str content = pel_str_cut(bytes, member->offset, member->offset + member->size);
    if (kind == 'x' || kind == 'X' || kind == 'g') {
        pax_values values = read_pax(content);
        if (values.path.len) *name = values.path;
        if (kind == 'g' && values.path.len) values.odd = "one name for all members that follow";
        if (values.odd)
            pel_find(ctx, findings, PEL_SUSPECT, "headers-disagree", member->name, member->offset,
                     pel_format(ctx, "%s: readers see different archives", values.odd));
    }
    if (kind == 'L') {
        const char *end = content.len ? memchr(content.ptr, 0, content.len) : NULL;
        *name = pel_str_cut(content, 0, end ? (size_t)(end - content.ptr) : content.len);
    }
    return kind == 'x' || kind == 'X' || kind == 'g' || kind == 'L' || kind == 'K';
}

/* The name's beginning has a field of its own in ustar; GNU has other things there. */
static pel_str name_of(pel_ctx *ctx, const char *header) {
    const char *end = memchr(header, 0, 100), *prefix = header + 345;
    pel_str name = { header, end ? (size_t)(end - header) : 100 };
    if (memcmp(header + 257, "ustar\0", 6) != 0 || !prefix[0]) return name;
    end = memchr(prefix, 0, 155);
    return pel_format(ctx, "%.*s/%.*s", (int)(end ? end - prefix : 155), prefix, PEL_FMT(name));
}

static void judge_member(pel_ctx *ctx, const pel_tar_member *member, char kind, uint64_t at, pel_findings *findings) {
    if (leads_out(member->name) || kind == '1' || kind == '2')
        pel_find(ctx, findings, PEL_DANGER, "path", member->name, at,
                 PEL_STR("a name or a link that leads out of the folder that the archive is unpacked in"));
    else if (!member->is_file && kind != '5')
        pel_find(ctx, findings, PEL_SUSPECT, "link", member->name, at,
                 PEL_STR("neither a file nor a folder: a device, a pipe, or a kind that is not known"));
}

pel_tar *pel_tar_read(pel_ctx *ctx, pel_str bytes, pel_findings *findings) {
    pel_tar *tar = pel_new(ctx, pel_tar);
    pel_map names = { 0 };
    pel_str long_name = { "", 0 };
    uint64_t at = 0;
    while (pel_within(bytes, at, BLOCK)) {
        const char *header = bytes.ptr + at;
        uint64_t size;
        if (is_empty(header)) break; /* the end */
        if (!has_checksum(header)) pel_throw(ctx, PEL_E_FORMAT, at, "tar: the checksum of a header is wrong");
        if (!read_size(header + 124, &size)) pel_throw(ctx, PEL_E_UNSUPPORTED, at, "tar: a size that is no number");
        if (!pel_within(bytes, at + BLOCK, size))
            pel_throw(ctx, PEL_E_FORMAT, at, "tar: truncated: a member goes beyond the end of the file");
        pel_tar_member member = { .name = name_of(ctx, header),
                                  .offset = at + BLOCK,
                                  .size = size,
                                  .is_file = header[156] == '0' || header[156] == 0 };
        uint64_t next = at + BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        if (read_long_name(ctx, bytes, &member, header[156], &long_name, findings)) {
            at = next;
            continue;
        }
        if (long_name.len) member.name = long_name;
        long_name.len = 0;
        judge_member(ctx, &member, header[156], at, findings);
        if (!pel_map_set(ctx, &names, PEL_KEY(pel_intern_str(ctx, member.name)), 1))
            pel_find(ctx, findings, PEL_DANGER, "duplicate-member", member.name, at,
                     PEL_STR("two members of one name: which of them is read depends on the reader"));
        if (tar->members.n == MAX_MEMBERS) pel_throw(ctx, PEL_E_TOO_BIG, at, "tar: more than %d members", MAX_MEMBERS);
        pel_push(ctx, &tar->members, member);
        at = next;
    }
    tar->end = at < bytes.len ? at : bytes.len;
    return tar;
}

bool pel_tar_find(const pel_tar *tar, pel_str bytes, const char *name, pel_str *content, uint64_t *offset) {
    for (uint32_t i = 0; i < tar->members.n; i++) {
        const pel_tar_member *member = &tar->members.at[i];
        if (!member->is_file || !pel_str_is(member->name, name)) continue;
        *content = pel_str_cut(bytes, member->offset, member->offset + member->size);
        *offset = member->offset;
        return true;
    }
    return false;
}
