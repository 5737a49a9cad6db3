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

pel_tar *pel_tar_read(pel_ctx *ctx, pel_str bytes, pel_findings *findings) {
    pel_tar *tar = pel_new(ctx, pel_tar);
    pel_map names = { 0 };
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
        if (leads_out(member.name) || header[156] == '1' || header[156] == '2')
            pel_find(ctx, findings, PEL_DANGER, "path", member.name, at,
                     PEL_STR("a name or a link that leads out of the folder that the archive is unpacked in"));
        if (!pel_map_set(ctx, &names, PEL_KEY(pel_intern_str(ctx, member.name)), 1))
            pel_find(ctx, findings, PEL_DANGER, "duplicate-member", member.name, at,
                     PEL_STR("two members of one name: which of them is read depends on the reader"));
        if (tar->members.n == MAX_MEMBERS) pel_throw(ctx, PEL_E_TOO_BIG, at, "tar: more than %d members", MAX_MEMBERS);
        pel_push(ctx, &tar->members, member);
        at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
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
