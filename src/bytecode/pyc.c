/* .pyc files: which Python wrote it, and the header before the marshalled code. */
#include "bytecode/code.h"

#define HEADER_SIZE 16 /* magic, flags, then time stamp and size, or a hash of the source */

/* The magic numbers each Python used while it was developed; its releases have the last one. */
typedef struct magic_range {
    uint16_t first, last;
    const char *python;
} magic_range;

static const magic_range magics[] = {
    { 20121, 20121, "1.5" }, { 50428, 50428, "1.6" }, { 50823, 50824, "2.0" }, { 60202, 60203, "2.1" },
    { 60717, 60718, "2.2" }, { 62011, 62022, "2.3" }, { 62041, 62062, "2.4" }, { 62071, 62132, "2.5" },
    { 62151, 62162, "2.6" }, { 62171, 62212, "2.7" }, { 3000, 3131, "3.0" },   { 3132, 3151, "3.1" },
    { 3160, 3180, "3.2" },   { 3190, 3230, "3.3" },   { 3250, 3310, "3.4" },   { 3320, 3351, "3.5" },
    { 3360, 3379, "3.6" },   { 3390, 3394, "3.7" },   { 3400, 3413, "3.8" },   { 3420, 3425, "3.9" },
    { 3430, 3439, "3.10" },  { 3450, 3495, "3.11" },  { 3500, 3531, "3.12" },  { 3550, 3571, "3.13" },
    { 3600, 3649, "3.14" },  { 3650, 3699, "3.15" },  { 3700, 3749, "3.16" },
};

static const uint16_t supported[PEL_VERSION_MAX + 1] = {
    [8] = 3413, [9] = 3425, [10] = 3439, [11] = 3495, [12] = 3531, [13] = 3571, [14] = 3627, [15] = 3666,
};

static uint32_t little_endian(pel_str bytes, size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | (uint8_t)bytes.ptr[at + i];
    return value;
}

static bool has_magic(pel_str bytes) { return bytes.len >= 4 && bytes.ptr[2] == '\r' && bytes.ptr[3] == '\n'; }

pel_version pel_pyc_version(pel_str bytes) {
    if (!has_magic(bytes)) return 0;
    uint32_t magic = little_endian(bytes, 0, 2);
    for (pel_version version = PEL_VERSION_MIN; version <= PEL_VERSION_MAX; version++)
        if (supported[version] == magic) return version;
    return 0;
}

static _Noreturn void unsupported(pel_ctx *ctx, uint32_t magic) {
    const char *reads = "supported are " PEL_VERSIONS_TEXT;
    for (size_t i = 0; i < PEL_COUNT(magics); i++) {
        if (magic < magics[i].first || magic > magics[i].last) continue;
        bool is_preview = magics[i].first >= supported[8] && magics[i].last <= supported[PEL_VERSION_MAX];
        pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "compiled by %sPython %s (magic number %u); %s",
                  is_preview ? "a preview release of " : "", magics[i].python, magic, reads);
    }
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "compiled by an unknown Python (magic number %u); %s", magic, reads);
}

pel_code_object *pel_read_pyc(pel_ctx *ctx, pel_str bytes) {
    if (bytes.len < 4) pel_throw(ctx, PEL_E_FORMAT, bytes.len, "not a .pyc file: it has only %zu bytes", bytes.len);
    if (!has_magic(bytes)) pel_throw(ctx, PEL_E_FORMAT, 2, "not a .pyc file: no magic number at its start");
    pel_version version = pel_pyc_version(bytes);
    if (!version) unsupported(ctx, little_endian(bytes, 0, 2));
    if (bytes.len < HEADER_SIZE)
        pel_throw(ctx, PEL_E_FORMAT, bytes.len, "truncated: the file ends inside its header of %d bytes", HEADER_SIZE);
    uint32_t flags = little_endian(bytes, 4, 4);
    if (flags > 3) pel_throw(ctx, PEL_E_FORMAT, 4, "unknown flags 0x%x in the header", flags);
    return pel_unmarshal_code_at(ctx, bytes, HEADER_SIZE, version);
}
