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

static bool has_checksum(const char *header) {
    uint64_t expected, sum = 0;
    if (!octal(header + 148, 8, &expected)) return false;
    for (size_t i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : (unsigned char)header[i];
    return sum == expected && header[0];
}

bool pel_is_tar(pel_str bytes) { return bytes.len >= BLOCK && has_checksum(bytes.ptr); }

static bool leads_out(pel_str name) {
    if (!name.len || name.ptr[0] == '/') return true;
    for (size_t i = 0; i + 1 < name.len; i++)
        if (name.ptr[i] == '.' && name.ptr[i + 1] == '.' && (!i || name.ptr[i - 1] == '/') &&
            (i + 2 == name.len || name.ptr[i + 2] == '/'))
            return true;
    return false;
}

/* "28 path=some/long/name\n", in the blocks before the member that it is of. */
static pel_str pax_path(pel_str records) {
    pel_str key = PEL_STR(" path="), found = { "", 0 };
    for (size_t i = 0; i + key.len < records.len; i++) {
        if (memcmp(records.ptr + i, key.ptr, key.len) != 0) continue;
        size_t start = i + key.len, end = start;
        while (end < records.len && records.ptr[end] != '\n') end++;
        found = pel_str_cut(records, start, end); /* the last one counts */
    }
    return found;
}

/* Names that are too long for a header stand in a member of their own before it. True: this is one. */
static bool read_long_name(pel_str bytes, const pel_tar_member *member, char kind, pel_str *name) {
    pel_str content = pel_str_cut(bytes, member->offset, member->offset + member->size);
    if (kind == 'x' || kind == 'X' || kind == 'g') {
        pel_str path = pax_path(content);
        if (path.len) *name = path;
    }
    if (kind == 'L') {
        const char *end = content.len ? memchr(content.ptr, 0, content.len) : NULL;
        *name = pel_str_cut(content, 0, end ? (size_t)(end - content.ptr) : content.len);
    }
    return kind == 'x' || kind == 'X' || kind == 'g' || kind == 'L' || kind == 'K';
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
    for (uint64_t at = 0; pel_within(bytes, at, BLOCK);) {
        const char *header = bytes.ptr + at;
        uint64_t size;
        if (!header[0]) break; /* the end: blocks of zeros */
        if (!has_checksum(header)) pel_throw(ctx, PEL_E_FORMAT, at, "tar: the checksum of a header is wrong");
        if (!octal(header + 124, 12, &size))
            pel_throw(ctx, PEL_E_UNSUPPORTED, at, "tar: a size that is no octal number");
        if (!pel_within(bytes, at + BLOCK, size))
            pel_throw(ctx, PEL_E_FORMAT, at, "tar: truncated: a member goes beyond the end of the file");
        const char *end = memchr(header, 0, 100);
        pel_tar_member member = { .name = { header, end ? (size_t)(end - header) : 100 },
                                  .offset = at + BLOCK,
                                  .size = size,
                                  .is_file = header[156] == '0' || header[156] == 0 };
        uint64_t next = at + BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
        if (read_long_name(bytes, &member, header[156], &long_name)) {
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
