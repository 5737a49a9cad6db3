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
