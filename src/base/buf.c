#include "base/buf.h"

#include <stdio.h>

void pel_buf_reserve(pel_buf *buf, size_t extra) {
    if (extra <= buf->cap - buf->len) return;
    size_t cap = buf->cap ? buf->cap : 256;
    while (cap - buf->len < extra) {
        if (cap > SIZE_MAX / 2) pel_throw(buf->ctx, PEL_E_MEMORY, 0, "output too long");
        cap *= 2;
    }
    char *moved = pel_alloc_raw(buf->ctx, cap);
    if (buf->len) memcpy(moved, buf->at, buf->len);
    buf->at = moved;
    buf->cap = cap;
}

void pel_put(pel_buf *buf, pel_str s) {
    if (!s.len) return;
    pel_buf_reserve(buf, s.len);
    memcpy(buf->at + buf->len, s.ptr, s.len);
    buf->len += s.len;
}

void pel_put_c(pel_buf *buf, const char *text) { pel_put(buf, pel_str_of(text)); }

void pel_put_byte(pel_buf *buf, char byte) {
    pel_buf_reserve(buf, 1);
    buf->at[buf->len++] = byte;
}

void pel_put_spaces(pel_buf *buf, size_t count) {
    if (!count) return;
    pel_buf_reserve(buf, count);
    memset(buf->at + buf->len, ' ', count);
    buf->len += count;
}

void pel_put_name(pel_buf *buf, pel_name name) { pel_put(buf, pel_name_str(name)); }

void pel_put_int(pel_buf *buf, int64_t value) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)value);
    pel_put(buf, (pel_str){ digits, (size_t)n });
}

void pel_put_utf8(pel_buf *buf, uint32_t point) {
    pel_buf_reserve(buf, 4);
    unsigned char *out = (unsigned char *)buf->at + buf->len;
    if (point < 0x80) {
        out[0] = (unsigned char)point;
        buf->len += 1;
    } else if (point < 0x800) {
        out[0] = (unsigned char)(0xC0 | point >> 6);
        out[1] = (unsigned char)(0x80 | (point & 0x3F));
        buf->len += 2;
    } else if (point < 0x10000) {
        out[0] = (unsigned char)(0xE0 | point >> 12);
        out[1] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        out[2] = (unsigned char)(0x80 | (point & 0x3F));
        buf->len += 3;
    } else {
        out[0] = (unsigned char)(0xF0 | (point >> 18 & 0x07));
        out[1] = (unsigned char)(0x80 | (point >> 12 & 0x3F));
        out[2] = (unsigned char)(0x80 | (point >> 6 & 0x3F));
        out[3] = (unsigned char)(0x80 | (point & 0x3F));
        buf->len += 4;
    }
}

void pel_putf(pel_buf *buf, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) pel_throw(buf->ctx, PEL_E_TOO_BIG, 0, "text too long to format");
    pel_buf_reserve(buf, (size_t)len + 1);
    vsnprintf(buf->at + buf->len, (size_t)len + 1, format, again);
    va_end(again);
    buf->len += (size_t)len;
}

/* The length of the UTF-8 character at s[at] that may be shown; 0 if what is there is none. */
static size_t visible_length(pel_str s, size_t at) {
    unsigned char first = (unsigned char)s.ptr[at];
    if (first < 0x80) return first >= 0x20 && first != 0x7F;
    size_t n = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (!n || s.len - at < n) return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s.ptr[at + i] & 0xC0) != 0x80) return 0;
    unsigned char second = (unsigned char)s.ptr[at + 1];
    bool is_control = n == 2 && first == 0xC2 && second < 0xA0;
    bool turns = n == 3 && first == 0xE2 && second == 0x80 && /* marks that reverse the order of what follows */
                 (((unsigned char)s.ptr[at + 2] >= 0xAA && (unsigned char)s.ptr[at + 2] <= 0xAE) ||
                  (unsigned char)s.ptr[at + 2] <= 0x8F);
    bool isolates = n == 3 && first == 0xE2 && second == 0x81 && (unsigned char)s.ptr[at + 2] >= 0xA6 &&
                    (unsigned char)s.ptr[at + 2] <= 0xA9;
    return is_control || turns || isolates ? 0 : n;
}

void pel_put_visible(pel_buf *buf, pel_str s) {
    for (size_t at = 0; at < s.len;) {
        size_t n = visible_length(s, at);
        if (n)
            pel_put(buf, (pel_str){ s.ptr + at, n });
        else
            pel_put_byte(buf, '?');
        at += n ? n : 1;
    }
}
