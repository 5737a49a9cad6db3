/* 7z: the names of what is in an archive. The contents are packed in ways that are not read. */
#ifndef PEL_IO_SEVEN_ZIP_H
#define PEL_IO_SEVEN_ZIP_H

#include "base/ctx.h"

typedef struct pel_7z {
    PEL_VEC(pel_str) names; /* in UTF-8, folders too; at most PEL_7Z_NAMES of them */
    uint64_t n;             /* how many there are */
} pel_7z;

#define PEL_7Z_NAMES 1000

bool pel_is_7z(pel_str bytes);
/* Throws PEL_E_FORMAT with an offset, in the file or in the unpacked header; PEL_E_UNSUPPORTED if the list itself is
 * encrypted, or packed otherwise than by LZMA. */
pel_7z *pel_7z_list(pel_ctx *ctx, pel_str bytes);

#endif
