#include "python/unicode.h"

#include "base/buf.h"

typedef struct pel_range {
    uint32_t first, last;
} pel_range;

typedef struct pel_decomposition {
    uint32_t point;
    uint16_t start, count;
} pel_decomposition;

typedef struct pel_valued_range {
    uint32_t first, last;
    uint8_t value;
} pel_valued_range;

typedef struct pel_composition {
    uint32_t first, second, whole;
} pel_composition;

#include "python/unicode_tables.inc"

/* ---- properties ---- */

static bool in_ranges(const pel_range *ranges, size_t n, uint32_t point) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point < ranges[middle].first)
            high = middle;
        else if (point > ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

/* The value of the range that holds point, 0 if none does. */
static uint8_t value_in(const pel_valued_range *ranges, size_t n, uint32_t point) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (point < ranges[middle].first)
            high = middle;
        else if (point > ranges[middle].last)
            low = middle + 1;
        else
            return ranges[middle].value;
    }
    return 0;
}

bool pel_is_xid_start(uint32_t point) { return in_ranges(xid_start_ranges, PEL_COUNT(xid_start_ranges), point); }

bool pel_is_xid_continue(uint32_t point) {
    return in_ranges(xid_continue_ranges, PEL_COUNT(xid_continue_ranges), point);
}

bool pel_is_printable(uint32_t point) {
    if (point < 0x7F) return point >= 0x20;
    return in_ranges(printable_ranges, PEL_COUNT(printable_ranges), point);
}

bool pel_is_printable_in(uint32_t point, int minor) {
    return pel_is_printable(point) && value_in(printable_since, PEL_COUNT(printable_since), point) <= minor;
}

/* ---- UTF-8 ---- */

uint32_t pel_utf8_point(const char *text, size_t *len) {
    const unsigned char *s = (const unsigned char *)text;
    *len = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    uint32_t point = *len == 1 ? s[0] : s[0] & (0xFFu >> (*len + 1));
    for (size_t i = 1; i < *len; i++) point = point << 6 | (s[i] & 0x3F);
    return point;
}

size_t pel_utf8_length(const unsigned char *s, size_t left) {
    static const uint32_t smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (!left) return 0;
    if (s[0] < 0x80) return 1;
    size_t n = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC2 ? 2 : 0;
    if (n == 0 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    size_t ignored;
    uint32_t point = pel_utf8_point((const char *)s, &ignored);
    return s[0] > 0xF4 || point < smallest[n] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? 0 : n;
}

/* ---- normalisation ---- */

enum { /* Hangul syllables are composed by arithmetic */
       HANGUL_S = 0xAC00,
       HANGUL_L = 0x1100,
       HANGUL_V = 0x1161,
       HANGUL_T = 0x11A7,
       HANGUL_LS = 19,
       HANGUL_VS = 21,
       HANGUL_TS = 28,
       HANGUL_COUNT = HANGUL_LS * HANGUL_VS * HANGUL_TS,
};

typedef PEL_VEC(uint32_t) pel_points;

static uint8_t combining_class(uint32_t point) {
    return value_in(combining_classes, PEL_COUNT(combining_classes), point);
}

static void decompose(pel_ctx *ctx, pel_points *out, uint32_t point) {
    if (point - HANGUL_S < HANGUL_COUNT) {
        uint32_t index = point - HANGUL_S, tail = index % HANGUL_TS;
        pel_push(ctx, out, HANGUL_L + index / (HANGUL_VS * HANGUL_TS));
        pel_push(ctx, out, HANGUL_V + index / HANGUL_TS % HANGUL_VS);
        if (tail) pel_push(ctx, out, HANGUL_T + tail);
        return;
    }
    size_t low = 0, high = PEL_COUNT(decompositions);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const pel_decomposition *row = &decompositions[middle];
        if (point < row->point) {
            high = middle;
        } else if (point > row->point) {
            low = middle + 1;
        } else {
            for (uint32_t i = 0; i < row->count; i++) pel_push(ctx, out, decomposition_pool[row->start + i]);
            return;
        }
    }
    pel_push(ctx, out, point);
}

#define MOST_MARKS 1000 /* after one letter; a text with more wants to keep us sorting */

/* Marks after a starter are in the order of their classes; those of one class keep theirs.
 * False if there are too many. */
static bool order_marks(pel_points *points) {
    uint32_t n_marks = 0;
    for (uint32_t i = 0; i < points->n; i++) {
        uint32_t point = points->at[i], j = i;
        uint8_t class = combining_class(point);
        n_marks = class ? n_marks + 1 : 0;
        if (!class) continue;
        if (n_marks > MOST_MARKS) return false;
        for (; j > 0 && combining_class(points->at[j - 1]) > class; j--) points->at[j] = points->at[j - 1];
        points->at[j] = point;
    }
    return true;
}

/* What a and b make together, 0 if nothing. */
static uint32_t compose(uint32_t a, uint32_t b) {
    if (a - HANGUL_L < HANGUL_LS && b - HANGUL_V < HANGUL_VS)
        return HANGUL_S + ((a - HANGUL_L) * HANGUL_VS + (b - HANGUL_V)) * HANGUL_TS;
    if (a - HANGUL_S < HANGUL_COUNT && (a - HANGUL_S) % HANGUL_TS == 0 && b > HANGUL_T && b < HANGUL_T + HANGUL_TS)
        return a + (b - HANGUL_T);
    size_t low = 0, high = PEL_COUNT(compositions);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const pel_composition *row = &compositions[middle];
        if (a < row->first || (a == row->first && b < row->second))
            high = middle;
        else if (a > row->first || b > row->second)
            low = middle + 1;
        else
            return row->whole;
    }
    return 0;
}

static void compose_all(pel_points *points) {
    uint32_t n = 0, starter = UINT32_MAX; /* UINT32_MAX: none yet */
    uint8_t last_class = 0;               /* of what was kept after the starter; 0 if nothing was */
    for (uint32_t i = 0; i < points->n; i++) {
        uint32_t point = points->at[i];
        uint8_t class = combining_class(point);
        bool blocked = starter == UINT32_MAX || (n > starter + 1 && (last_class == 0 || last_class >= class));
        uint32_t whole = blocked ? 0 : compose(points->at[starter], point);
        if (whole) {
            points->at[starter] = whole;
            continue;
        }
        if (!class) starter = n;
        last_class = class;
        points->at[n++] = point;
    }
    points->n = n;
}

pel_str pel_nfkc(pel_ctx *ctx, pel_str identifier) {
    pel_points points = { 0 };
    for (size_t i = 0, len; i < identifier.len; i += len)
        decompose(ctx, &points, pel_utf8_point(identifier.ptr + i, &len));
    if (!order_marks(&points)) return (pel_str){ 0 };
    compose_all(&points);
    pel_buf out = pel_buf_in(ctx);
    for (uint32_t i = 0; i < points.n; i++) pel_put_utf8(&out, points.at[i]);
    return pel_buf_str(&out);
}

/* ---- names ---- */

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

/* Whether name starts with prefix, which is in capitals. */
static bool starts(pel_str name, pel_str prefix) {
    if (name.len < prefix.len) return false;
    for (size_t i = 0; i < prefix.len; i++)
        if (upper(name.ptr[i]) != prefix.ptr[i]) return false;
    return true;
}

/* CJK UNIFIED IDEOGRAPH-4E00: the name says the code point, if it is one that is named so. */
static bool ideograph_named(pel_str digits, uint32_t *point) {
    static const pel_range ideographs[] = {
        { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0x20000, 0x2A6DF }, { 0x2A700, 0x2B739 }, { 0x2B740, 0x2B81D },
        { 0x2B820, 0x2CEA1 }, { 0x2CEB0, 0x2EBE0 }, { 0x2EBF0, 0x2EE5D }, { 0x30000, 0x3134A }, { 0x31350, 0x323AF },
    };
    if (digits.len != 4 && digits.len != 5) return false;
    uint32_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        char c = upper(digits.ptr[i]);
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'A' && c <= 'F')) return false;
        value = value * 16 + (uint32_t)(is_digit ? c - '0' : c - 'A' + 10);
    }
    *point = value;
    return in_ranges(ideographs, PEL_COUNT(ideographs), value);
}

/* Takes the longest of the syllable parts that rest starts with. An empty part fits always. */
static uint32_t take_part(pel_str *rest, const char *const *parts, uint32_t n) {
    uint32_t best = n;
    size_t best_len = 0;
    for (uint32_t i = 0; i < n; i++) {
        pel_str part = pel_str_of(parts[i]);
        if ((best == n || part.len > best_len) && starts(*rest, part)) {
            best = i;
            best_len = part.len;
        }
    }
    *rest = pel_str_from(*rest, best_len);
    return best;
}

static bool syllable_named(pel_str rest, uint32_t *point) {
    static const char *const leads[] = { "G",  "GG", "N", "D",  "DD", "R", "M", "B", "BB", "S",
                                         "SS", "",   "J", "JJ", "C",  "K", "T", "P", "H" };
    static const char *const vowels[] = { "A",  "AE", "YA", "YAE", "EO", "E",  "YEO", "YE", "O",  "WA", "WAE",
                                          "OE", "YO", "U",  "WEO", "WE", "WI", "YU",  "EU", "YI", "I" };
    static const char *const tails[] = { "",   "G",  "GG", "GS", "N",  "NJ", "NH", "D", "L",  "LG",
                                         "LM", "LB", "LS", "LT", "LP", "LH", "M",  "B", "BS", "S",
                                         "SS", "NG", "J",  "C",  "K",  "T",  "P",  "H" };
    uint32_t lead = take_part(&rest, leads, HANGUL_LS);
    uint32_t vowel = take_part(&rest, vowels, HANGUL_VS);
    uint32_t tail = take_part(&rest, tails, HANGUL_TS);
    *point = HANGUL_S + (lead * HANGUL_VS + vowel) * HANGUL_TS + tail;
    return rest.len == 0 && vowel < HANGUL_VS;
}

/* Writes what code stands for; returns the end. A pair's own codes are smaller, so this ends. */
static char *expand(char *out, const char *limit, uint8_t code) {
    if (code < 128) {
        if (out < limit) *out++ = (char)code;
        return out;
    }
    out = expand(out, limit, name_pairs[(code - 128) * 2]);
    return expand(out, limit, name_pairs[(code - 128) * 2 + 1]);
}

typedef struct pel_name_reader {
    const uint8_t *at;
    char text[LONGEST_NAME];
    size_t len;
    uint32_t point;
} pel_name_reader;

static void read_name(pel_name_reader *reader) {
    char *out = reader->text + *reader->at++;
    while (*reader->at) out = expand(out, reader->text + LONGEST_NAME, *reader->at++);
    reader->len = (size_t)(out - reader->text);
    reader->at++;
    uint32_t delta = 0, shift = 0;
    do {
        delta |= (uint32_t)(*reader->at & 127) << shift;
        shift += 7;
    } while (*reader->at++ & 128);
    reader->point += delta & 1 ? ~(delta >> 1) : delta >> 1;
}

static int compare_names(const pel_name_reader *reader, pel_str wanted) {
    return pel_str_cmp((pel_str){ reader->text, reader->len }, wanted);
}

bool pel_unicode_named(pel_str name, uint32_t *point) {
    const pel_str cjk = PEL_STR("CJK UNIFIED IDEOGRAPH-"), hangul = PEL_STR("HANGUL SYLLABLE ");
    if (starts(name, cjk)) return ideograph_named(pel_str_from(name, cjk.len), point);
    if (starts(name, hangul)) return syllable_named(pel_str_from(name, hangul.len), point);
    char capitals[LONGEST_NAME];
    if (name.len > LONGEST_NAME) return false;
    for (size_t i = 0; i < name.len; i++) capitals[i] = upper(name.ptr[i]);
    pel_str wanted = { capitals, name.len };

    /* the last block whose first name is not after the wanted one */
    size_t low = 0, high = PEL_COUNT(name_blocks);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        pel_name_reader first = { .at = name_data + name_blocks[middle] };
        read_name(&first);
        if (compare_names(&first, wanted) <= 0)
            low = middle;
        else
            high = middle;
    }
    pel_name_reader reader = { .at = name_data + name_blocks[low] };
    const uint8_t *end =
        low + 1 < PEL_COUNT(name_blocks) ? name_data + name_blocks[low + 1] : name_data + sizeof name_data;
    while (reader.at < end) {
        read_name(&reader);
        if (compare_names(&reader, wanted) == 0) {
            *point = reader.point;
            return true;
        }
    }
    return false;
}
