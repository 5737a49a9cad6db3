#include "bytecode/line_table.h"

enum {
    UNIT = 2,        /* bytes of an instruction */
    UNITS_MAX = 8,   /* of an entry since 3.11 */
    BYTES_MAX = 254, /* of an entry of 3.10: even, and it is one byte */
    DELTA_MAX = 127, /* lines that an entry of 3.10 can go on */
    NO_LINE = -128,  /* in an entry of 3.10 */
    NO_COLUMNS = 13, /* codes of entries since 3.11 */
    NO_LOCATION = 15,
};

static void put_signed(pel_buf *out, int64_t value) {
    uint64_t rest = value < 0 ? (uint64_t)-value << 1 | 1 : (uint64_t)value << 1;
    for (; rest > 63; rest >>= 6) pel_put_byte(out, (char)(64 | (rest & 63)));
    pel_put_byte(out, (char)rest);
}

/* A run of instructions, as entries of 3.11 and later. */
static void put_locations(pel_buf *out, uint32_t size, int64_t delta, bool has_line) {
    for (uint32_t left = size / UNIT; left;) {
        uint32_t units = left < UNITS_MAX ? left : UNITS_MAX;
        uint32_t code = has_line ? NO_COLUMNS : NO_LOCATION;
        pel_put_byte(out, (char)(128 | code << 3 | (units - 1)));
        if (has_line) put_signed(out, delta);
        delta = 0;
        left -= units;
    }
}

/* The same as pairs (bytes, lines to add before them) of 3.10. A pair of no bytes only moves on. */
static void put_pairs(pel_buf *out, uint32_t size, int64_t delta, bool has_line) {
    for (; delta > DELTA_MAX || delta < -DELTA_MAX;) {
        int64_t step = delta > 0 ? DELTA_MAX : -DELTA_MAX;
        pel_put_byte(out, 0);
        pel_put_byte(out, (char)step);
        delta -= step;
    }
    for (uint32_t left = size; left;) {
        uint32_t bytes = left < BYTES_MAX ? left : BYTES_MAX;
        pel_put_byte(out, (char)bytes);
        pel_put_byte(out, (char)(has_line ? delta : NO_LINE));
        delta = 0;
        left -= bytes;
    }
}

static void put_run(pel_buf *out, pel_version version, uint32_t size, int64_t delta, bool has_line) {
    if (version >= 11)
        put_locations(out, size, delta, has_line);
    else
        put_pairs(out, size, delta, has_line);
}

void pel_put_line_table(pel_buf *out, pel_version version, uint32_t firstlineno, uint32_t code_size,
                        const pel_line_row *rows, uint32_t n) {
    if (version < 10) pel_throw(out->ctx, PEL_E_USAGE, 0, "line tables before Python 3.10 are not written");
    int64_t line = firstlineno;
    uint32_t begin = 0, here = 0; /* of the run that is open, and its line */
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t offset = i < n ? rows[i].offset : code_size;
        if (offset < begin || offset > code_size || offset % UNIT)
            pel_throw(out->ctx, PEL_E_USAGE, 0, "a line begins at byte %u of %u, behind %u", offset, code_size, begin);
        if (i < n && rows[i].line == here) continue;
        if (offset > begin) {
            put_run(out, version, offset - begin, here ? here - line : 0, here);
            if (here) line = here;
        }
        begin = offset;
        here = i < n ? rows[i].line : 0;
    }
}
