/* Tar archives: names, sizes, places. */
#ifndef PEL_IO_TAR_H
#define PEL_IO_TAR_H

#include "io/finding.h"

typedef struct pel_tar_member {
    pel_str name;
    uint64_t offset, size;
    bool is_file; /* no folder, link or device */
} pel_tar_member;

typedef struct pel_tar {
    PEL_VEC(pel_tar_member) members;
    uint64_t end; /* behind the last member; padding follows, if anything */
} pel_tar;

/* Whether the first header's checksum is right. */
bool pel_is_tar(pel_str bytes);
pel_tar *pel_tar_read(pel_ctx *ctx, pel_str bytes, pel_findings *findings);
/* The content of the first file of that name; false if there is none. */
bool pel_tar_find(const pel_tar *tar, pel_str bytes, const char *name, pel_str *content, uint64_t *offset);

#endif
