/* Little-endian numbers out of checked bytes. */
#ifndef PEL_IO_BYTES_H
#define PEL_IO_BYTES_H

#include "base/base.h"

static inline uint16_t pel_le16(const char *at) {
    const unsigned char *p = (const unsigned char *)at;
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t pel_le32(const char *at) { return pel_le16(at) | (uint32_t)pel_le16(at + 2) << 16; }
static inline uint64_t pel_le64(const char *at) { return pel_le32(at) | (uint64_t)pel_le32(at + 4) << 32; }

/* Whether bytes [offset, offset + size) lie within s. */
static inline bool pel_within(pel_str s, uint64_t offset, uint64_t size) {
    return offset <= s.len && size <= s.len - offset;
}

#endif
