/* SHA-256, piece by piece: what a file is, in 64 digits. */
#ifndef PEL_BASE_SHA256_H
#define PEL_BASE_SHA256_H

#include "base/base.h"

typedef struct pel_sha256 {
    uint32_t h[8];
    uint64_t size; /* bytes so far */
    unsigned char rest[64];
} pel_sha256;

#define PEL_SHA256_DIGITS 64

void pel_sha256_begin(pel_sha256 *sum);
void pel_sha256_add(pel_sha256 *sum, pel_str bytes);
/* The digest as hexadecimal digits, ended by a NUL. */
void pel_sha256_end(pel_sha256 *sum, char digits[PEL_SHA256_DIGITS + 1]);

#endif
