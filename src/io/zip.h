/* Zip archives, read strictly: the central directory says what there is, every local header must agree with
 * it, and whatever would let two readers see two different archives is a finding. */
#ifndef PEL_IO_ZIP_H
#define PEL_IO_ZIP_H

#include "io/finding.h"
#include "io/source.h"

typedef struct pel_zip_member {
    pel_str name;
    uint16_t method; /* 0 stored, 8 deflated, 12 bzip2, 14 lzma */
    uint16_t flags;  /* of the directory: 1 encrypted, 8 the sizes follow the data */
    uint64_t header; /* offset of the local header */
    uint64_t offset; /* of the data */
    uint64_t packed, size;
    uint32_t crc;
    bool in_file;  /* the data lies within the file: offset counts */
    bool readable; /* and is not encrypted, overlaps nothing, and its headers agree */
    bool is_rough; /* its local header was not read: offset is the least that it can be */
} pel_zip_member;

typedef struct pel_zip {
    const pel_input *input;
    PEL_VEC(pel_zip_member) members; /* in the order of the central directory */
} pel_zip;

/* Whether the bytes begin as a zip archive. */
bool pel_is_zip(pel_str bytes);
/* Whether an archive's directory is at the end of a file that begins as something else, and where it starts. */
bool pel_has_zip_inside(pel_ctx *ctx, const pel_input *input, uint64_t *start);
/* Throws PEL_E_FORMAT if there is no directory that can be read at all. */
pel_zip *pel_zip_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings);
/* Archives one after the other, each with offsets of its own, that make up all of the bytes: where each ends. Returns
 * how many there are; 0 if it is one archive, or a reader of the whole might see another directory than theirs. */
uint32_t pel_zip_row(pel_ctx *ctx, pel_str bytes, uint64_t **ends);
/* Reads the local header of a member that was left rough: before anybody looks at its bytes. */
void pel_zip_settle(pel_ctx *ctx, const pel_zip *zip, const pel_zip_member *member, pel_findings *findings);
/* The first member of that name; NULL if there is none. */
const pel_zip_member *pel_zip_find(const pel_zip *zip, pel_str name);
bool pel_ends_folded(pel_str name, const char *ending); /* capitals count as small letters */
/* The member's content: a slice of the file if stored, else unpacked. Throws if it can't be had or is larger than
 * limit. A wrong checksum, and trouble that other readers ignore, are findings: somebody would read it. */
pel_str pel_zip_content(pel_ctx *ctx, const pel_zip *zip, const pel_zip_member *member, uint64_t limit,
                        pel_findings *findings);

#endif
