/* The bytes of a source file -> UTF-8 text: byte order mark, coding comment (PEP 263), checked UTF-8. */
#include "python/parse.h"
#include "python/unicode.h"

#include <errno.h>
#ifdef _WIN32 /* no iconv: only what is UTF-8 or ASCII is decoded, and source in another encoding is refused */
typedef int iconv_t;
static iconv_t iconv_open(const char *to, const char *from) {
    (void)to, (void)from;
    return -1;
}
static size_t iconv(iconv_t how, char **from, size_t *left, char **to, size_t *room) {
    (void)how, (void)from, (void)left, (void)to, (void)room;
    return (size_t)-1;
}
static int iconv_close(iconv_t how) { return how; }
#else
#include <iconv.h>
#endif

#define MAX_SOURCE ((size_t)256 << 20)

/* ---- the coding comment ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

static bool is_encoding_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

/* `coding[:=]\s*([-\w.]+)` in a comment that is alone on its line. Empty if the line has none. */
static pel_str encoding_in_line(pel_str line) {
    size_t i = 0;
    while (i < line.len && is_blank(line.ptr[i])) i++;
    if (i == line.len || line.ptr[i] != '#') return (pel_str){ 0 };
    const pel_str word = PEL_STR("coding");
    for (; i + word.len < line.len; i++) {
        if (!pel_str_starts(pel_str_from(line, i), word)) continue;
        size_t start = i + word.len;
        if (line.ptr[start] != ':' && line.ptr[start] != '=') continue;
        do start++;
        while (start < line.len && (line.ptr[start] == ' ' || line.ptr[start] == '\t'));
        size_t end = start;
        while (end < line.len && is_encoding_char(line.ptr[end])) end++;
        if (end > start) return pel_str_cut(line, start, end);
    }
    return (pel_str){ 0 };
}

static bool is_blank_or_comment(pel_str line) {
    size_t i = 0;
    while (i < line.len && is_blank(line.ptr[i])) i++;
    return i == line.len || line.ptr[i] == '#';
}

/* The first two lines may name the encoding, the second only if the first holds nothing else. */
static pel_str find_encoding(pel_str text, uint32_t *line_number) {
    size_t start = 0;
    for (*line_number = 1; *line_number <= 2; ++*line_number) {
        size_t end = start;
        while (end < text.len && text.ptr[end] != '\n' && text.ptr[end] != '\r') end++;
        pel_str line = pel_str_cut(text, start, end), found = encoding_in_line(line);
        if (found.len) return found;
        if (!is_blank_or_comment(line)) break;
        start = end + (end + 1 < text.len && text.ptr[end] == '\r' && text.ptr[end + 1] == '\n' ? 2 : 1);
        if (start >= text.len) break;
    }
    return (pel_str){ 0 };
}

/* Lower case, '_' as '-'. */
static pel_str normal_name(pel_ctx *ctx, pel_str name) {
    char *copy = pel_alloc_raw(ctx, name.len + 1);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        copy[i] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    copy[name.len] = 0;
    return (pel_str){ copy, name.len };
}

/* The only names that CPython accepts together with a byte order mark. */
static bool is_plain_utf8_name(pel_str name) {
    return pel_str_is(name, "utf-8") || pel_str_starts(name, PEL_STR("utf-8-"));
}

static bool is_utf8_name(pel_str name) {
    return is_plain_utf8_name(name) || pel_str_is(name, "utf8") || pel_str_is(name, "u8") ||
           pel_str_is(name, "cp65001");
}

/* ---- UTF-8 ---- */

static void place_of(pel_str text, size_t at, uint32_t *line, uint32_t *column) {
    size_t start = 0;
    *line = 1;
    for (size_t i = 0; i < at; i++) {
        bool is_end = text.ptr[i] == '\n' || (text.ptr[i] == '\r' && !(i + 1 < text.len && text.ptr[i + 1] == '\n'));
        if (!is_end) continue;
        ++*line;
        start = i + 1;
    }
    *column = (uint32_t)(at - start);
}

/* Where the first byte is that is no part of well-formed UTF-8; text.len if there is none. */
static size_t first_invalid(pel_str text) {
    const unsigned char *s = (const unsigned char *)text.ptr;
    size_t i = 0;
    while (i < text.len) {
        uint64_t eight;
        while (text.len - i >= sizeof eight) { /* ASCII, eight bytes at a time */
            memcpy(&eight, s + i, sizeof eight);
            if (eight & 0x8080808080808080u) break;
            i += sizeof eight;
        }
        if (i == text.len) break;
        size_t n = pel_utf8_length(s + i, text.len - i);
        if (!n) return i;
        i += n;
    }
    return i;
}

static void check_utf8(pel_ctx *ctx, pel_str text) {
    size_t bad = first_invalid(text);
    if (bad == text.len) return;
    uint32_t line, column;
    place_of(text, bad, &line, &column);
    pel_throw_at(ctx, PEL_E_ENCODING, bad, line, column,
                 "byte 0x%02x is not valid UTF-8, and no other encoding is declared", (unsigned char)text.ptr[bad]);
}

/* ---- other encodings ---- */

/* Where Python's name of an encoding is not one that iconv knows. */
static pel_str iconv_name(pel_str name) {
    static const char *const rows[][2] = {
        { "latin-1", "iso-8859-1" },
        { "latin", "iso-8859-1" },
        { "l1", "iso-8859-1" },
        { "iso-latin-1", "iso-8859-1" },
        { "us-ascii", "ascii" },
        { "646", "ascii" },
        { "mac-roman", "macintosh" },
        { "macroman", "macintosh" },
        { "iso8859-1", "iso-8859-1" },
        { "8859", "iso-8859-1" },
        { "windows-1252", "cp1252" },
        { "euc-jis-2004", "euc-jisx0213" },
        { "shift-jis", "shift_jis" },
        { "sjis", "shift_jis" },
        { "shift-jis-2004", "shift_jisx0213" },
        { "ujis", "euc-jp" },
        { "eucjp", "euc-jp" },
        { "iso2022-jp", "iso-2022-jp" },
        { "iso2022-kr", "iso-2022-kr" },
        { "euckr", "euc-kr" },
        { "gb2312", "euc-cn" },
        { "big5-tw", "big5" },
        { "big5hkscs", "big5-hkscs" },
        { "cp949", "uhc" },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(name, rows[i][0])) return pel_str_of(rows[i][1]);
    return name;
}

typedef struct pel_conversion {
    iconv_t how;
    pel_str bytes, text;
    size_t bad; /* where the first byte is that does not fit; SIZE_MAX if all do */
} pel_conversion;

static void convert(pel_ctx *ctx, void *arg) {
    pel_conversion *job = arg;
    pel_buf out = pel_buf_in(ctx);
    char *from = (char *)(uintptr_t)job->bytes.ptr; /* iconv does not write there */
    size_t left = job->bytes.len;
    job->bad = SIZE_MAX;
    for (;;) {
        pel_buf_reserve(&out, left + 64);
        char *to = out.at + out.len;
        size_t room = out.cap - out.len;
        /* the last call, without input, writes what a stateful encoding holds back */
        size_t result = left ? iconv(job->how, &from, &left, &to, &room) : iconv(job->how, NULL, NULL, &to, &room);
        bool was_last = !left && result != (size_t)-1 && to == out.at + out.len;
        out.len = (size_t)(to - out.at);
        if (was_last) break;
        if (result == (size_t)-1 && errno != E2BIG) {
            job->bad = job->bytes.len - left;
            return;
        }
    }
    job->text = pel_buf_str(&out);
}

static pel_str decode_by(pel_ctx *ctx, pel_str bytes, pel_str encoding, uint32_t line) {
    pel_str name = normal_name(ctx, encoding);
    pel_str known = iconv_name(name);
    /* UTF-16 and UTF-32 cannot hold the comment that names them */
    bool is_wide = pel_str_starts(name, PEL_STR("utf-16")) || pel_str_starts(name, PEL_STR("utf-32")) ||
                   pel_str_starts(name, PEL_STR("utf16")) || pel_str_starts(name, PEL_STR("utf32"));
    pel_conversion job = { .bytes = bytes, .how = (iconv_t)-1 };
    if (!is_wide) job.how = iconv_open("UTF-8", pel_str_copy(ctx, known).ptr);
    if (job.how == (iconv_t)-1)
        pel_throw_at(ctx, PEL_E_SYNTAX, 0, line, 0, "unknown encoding '%.*s'", PEL_FMT(encoding));
    pel_err err;
    bool done = pel_attempt(ctx, convert, &job, &err);
    iconv_close(job.how);
    if (!done) pel_throw_at(ctx, err.code, err.at, err.line, err.column, "%s", err.what);
    if (job.bad != SIZE_MAX) {
        uint32_t bad_line, bad_column;
        place_of(bytes, job.bad, &bad_line, &bad_column);
        pel_throw_at(ctx, PEL_E_ENCODING, job.bad, bad_line, bad_column, "byte 0x%02x does not fit the encoding '%.*s'",
                     (unsigned char)bytes.ptr[job.bad < bytes.len ? job.bad : bytes.len - 1], PEL_FMT(encoding));
    }
    return job.text;
}

/* ---- all ---- */

pel_source pel_source_text(pel_ctx *ctx, pel_str name, pel_str text) {
    check_utf8(ctx, text);
    return (pel_source){ name, text };
}

pel_source pel_source_decode(pel_ctx *ctx, pel_str name, pel_str bytes) {
    if (bytes.len > MAX_SOURCE)
        pel_throw(ctx, PEL_E_TOO_BIG, 0, "a source file of %zu bytes, over the limit of %zu", bytes.len, MAX_SOURCE);
    const pel_str mark = PEL_STR("\xEF\xBB\xBF");
    bool has_mark = pel_str_starts(bytes, mark);
    if (has_mark) bytes = pel_str_from(bytes, mark.len);
    uint32_t line;
    pel_str encoding = find_encoding(bytes, &line);
    pel_str normal = normal_name(ctx, encoding);
    bool is_utf8 = !encoding.len || is_utf8_name(normal);
    if (has_mark && encoding.len && !is_plain_utf8_name(normal))
        pel_throw_at(ctx, PEL_E_SYNTAX, 0, line, 0, "the encoding '%.*s' contradicts the byte order mark of UTF-8",
                     PEL_FMT(encoding));
    pel_str text = is_utf8 ? bytes : decode_by(ctx, bytes, encoding, line);
    check_utf8(ctx, text);
    return (pel_source){ name, text };
}
