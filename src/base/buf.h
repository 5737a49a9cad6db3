/* Output text: grows in the arena, handed out as one slice. */
#ifndef PEL_BASE_BUF_H
#define PEL_BASE_BUF_H

#include "base/ctx.h"

typedef struct pel_buf {
    pel_ctx *ctx;
    char *at;
    size_t len, cap;
} pel_buf;

static inline pel_buf pel_buf_in(pel_ctx *ctx) { return (pel_buf){ .ctx = ctx }; }
static inline pel_str pel_buf_str(const pel_buf *buf) { return (pel_str){ buf->at ? buf->at : "", buf->len }; }

void pel_buf_reserve(pel_buf *buf, size_t extra);
void pel_put(pel_buf *buf, pel_str s);
void pel_put_c(pel_buf *buf, const char *text);
void pel_put_byte(pel_buf *buf, char byte);
/* Text of unknown origin for people: control characters, which terminals obey, become '?', broken UTF-8 too. */
void pel_put_visible(pel_buf *buf, pel_str s);
void pel_put_spaces(pel_buf *buf, size_t count);
void pel_put_name(pel_buf *buf, pel_name name);
void pel_put_int(pel_buf *buf, int64_t value);
void pel_put_utf8(pel_buf *buf, uint32_t point); /* lone surrogates too, as Python's surrogatepass */
void pel_putf(pel_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
