/* Places in text as the protocol counts them: lines and UTF-16 units, from 0. */
#include "lsp/lsp.h"

/* A line ends with \n, \r\n or \r. Returns the start of the next one; text.len: there is none. */
static size_t line_end(pel_str text, size_t start, size_t *next) {
    size_t at = start;
    while (at < text.len && text.ptr[at] != '\n' && text.ptr[at] != '\r') at++;
    *next = at;
    if (at < text.len) *next = at + (text.ptr[at] == '\r' && at + 1 < text.len && text.ptr[at + 1] == '\n' ? 2 : 1);
    return at;
}

pel_str pel_line_at(pel_str text, uint32_t line, size_t *start) {
    size_t at = 0, next, end = line_end(text, 0, &next);
    for (uint32_t i = 0; i < line; i++) {
        if (next == end) { /* the last line */
            *start = text.len;
            return pel_str_from(text, text.len);
        }
        at = next;
        end = line_end(text, at, &next);
    }
    *start = at;
    return pel_str_cut(text, at, end);
}

static size_t bytes_of(unsigned char first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

size_t pel_offset_at(pel_str text, pel_text_position position) {
    size_t start, at = 0;
    pel_str line = pel_line_at(text, position.line, &start);
    for (uint32_t units = 0; at < line.len;) {
        size_t size = bytes_of((unsigned char)line.ptr[at]);
        units += size == 4 ? 2 : 1;
        if (units > position.character) break; /* also in the middle of a pair */
        at += size;
    }
    return start + (at < line.len ? at : line.len);
}

pel_text_position pel_position_at(pel_str text, size_t offset) {
    pel_text_position out = { 0, 0 };
    size_t at = 0, next, end = line_end(text, 0, &next);
    while (next != end && next <= offset) {
        at = next;
        end = line_end(text, at, &next);
        out.line++;
    }
    for (; at < offset && at < end; at += bytes_of((unsigned char)text.ptr[at]))
        out.character += bytes_of((unsigned char)text.ptr[at]) == 4 ? 2 : 1;
    return out;
}

/* ---- addresses ---- */

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

pel_str pel_path_of_uri(pel_ctx *ctx, pel_str uri) {
    if (!pel_str_starts(uri, PEL_STR("file://"))) return (pel_str){ "", 0 };
    uri = pel_str_from(uri, 7);
    while (uri.len && uri.ptr[0] != '/') uri = pel_str_from(uri, 1); /* a host */
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < uri.len; i++) {
        bool is_escape = uri.ptr[i] == '%' && i + 2 < uri.len && hex(uri.ptr[i + 1]) >= 0 && hex(uri.ptr[i + 2]) >= 0;
        char c = is_escape ? (char)(hex(uri.ptr[i + 1]) * 16 + hex(uri.ptr[i + 2])) : uri.ptr[i];
        if (!c) return (pel_str){ "", 0 };
        pel_put_byte(&out, c);
        i += is_escape ? 2 : 0;
    }
    pel_str path = pel_buf_str(&out);
    bool has_drive = path.len > 2 && path.ptr[2] == ':' && path.ptr[0] == '/';
    return has_drive ? pel_str_from(path, 1) : path;
}

pel_str pel_uri_of_path(pel_ctx *ctx, pel_str path) {
    static const char digits[] = "0123456789ABCDEF";
    pel_buf out = pel_buf_in(ctx);
    pel_put_c(&out, path.len && path.ptr[0] == '/' ? "file://" : "file:///");
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        bool is_plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c && strchr("/-_.~", c));
        if (is_plain) {
            pel_put_byte(&out, (char)c);
            continue;
        }
        pel_put_byte(&out, '%');
        pel_put_byte(&out, digits[c >> 4]);
        pel_put_byte(&out, digits[c & 15]);
    }
    return pel_buf_str(&out);
}
