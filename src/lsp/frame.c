/* Content-Length framing of hostile bytes, and pieces of memory that are replaced as a whole. */
#include "lsp/lsp.h"

/* ---- pieces ---- */

typedef struct room {
    char *at;
    size_t cap;
} room;

static void make_room(pel_ctx *ctx, void *arg) {
    room *r = arg;
    r->at = pel_alloc_raw(ctx, r->cap);
}

static bool reserve(pel_piece *p, size_t extra) {
    if (p->ctx && p->cap - p->len >= extra) return true;
    size_t needed = p->len + extra, cap = p->cap < 512 ? 1024 : 2 * p->cap;
    room r = { NULL, needed > cap ? needed : cap };
    if (needed < extra) return false;
    pel_ctx *ctx = pel_ctx_new(0);
    pel_err ignored;
    if (!ctx || !pel_attempt(ctx, make_room, &r, &ignored)) {
        pel_ctx_free(ctx);
        return false;
    }
    if (p->len) memcpy(r.at, p->at, p->len);
    pel_ctx_free(p->ctx);
    *p = (pel_piece){ ctx, r.at, p->len, r.cap };
    return true;
}

bool pel_piece_put(pel_piece *p, pel_str text) {
    if (!reserve(p, text.len)) return false;
    if (text.len) memcpy(p->at + p->len, text.ptr, text.len);
    p->len += text.len;
    return true;
}

/* The text may be a part of the piece itself. */
bool pel_piece_set(pel_piece *p, pel_str text) {
    pel_piece made = { 0 };
    if (!pel_piece_put(&made, text)) return false;
    pel_piece_free(p);
    *p = made;
    return true;
}

void pel_piece_drop(pel_piece *p, size_t n) {
    if (n >= p->len) {
        if (p->cap > ((size_t)1 << 20)) pel_piece_free(p); /* one long message is no reason to keep its room */
        p->len = 0;
        return;
    }
    if (n) memmove(p->at, p->at + n, p->len - n);
    p->len -= n;
}

void pel_piece_free(pel_piece *p) {
    pel_ctx_free(p->ctx);
    *p = (pel_piece){ 0 };
}

/* ---- framing ---- */

#define MAX_HEADER 4096

bool pel_framing_feed(pel_framing *f, pel_str bytes) {
    pel_piece_drop(&f->bytes, f->at);
    f->at = 0;
    size_t passed = f->skip < bytes.len ? (size_t)f->skip : bytes.len;
    f->skip -= passed;
    return pel_piece_put(&f->bytes, pel_str_from(bytes, passed));
}

/* The end of the headers, after their empty line; 0: not there yet. */
static size_t headers_end(pel_str text) {
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != '\n') continue;
        if (text.ptr[i + 1] == '\n') return i + 2;
        if (i + 2 < text.len && text.ptr[i + 1] == '\r' && text.ptr[i + 2] == '\n') return i + 3;
    }
    return 0;
}

static bool starts_with_length(pel_str line, pel_str *value) {
    static const char name[] = "content-length:";
    const size_t len = sizeof name - 1;
    if (line.len < len) return false;
    for (size_t i = 0; i < len; i++) {
        char c = line.ptr[i] >= 'A' && line.ptr[i] <= 'Z' ? (char)(line.ptr[i] + 32) : line.ptr[i];
        if (c != name[i]) return false;
    }
    *value = pel_str_from(line, len);
    return true;
}

static bool read_number(pel_str text, uint64_t *out) {
    while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text = pel_str_from(text, 1);
    while (text.len && strchr(" \t\r", text.ptr[text.len - 1])) text.len--;
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || *out > UINT64_C(1) << 53) return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

static bool read_headers(pel_str headers, uint64_t *length) {
    bool found = false;
    while (headers.len) {
        const char *newline = memchr(headers.ptr, '\n', headers.len);
        size_t len = newline ? (size_t)(newline - headers.ptr) : headers.len;
        pel_str value;
        if (starts_with_length(pel_str_cut(headers, 0, len), &value)) {
            if (found || !read_number(value, length)) return false;
            found = true;
        }
        headers = pel_str_from(headers, newline ? len + 1 : len);
    }
    return found;
}

/* After a header that is none: goes to where the next message begins. False: that has not come yet; what may be the
 * first letters of it stays. */
static bool find_again(pel_framing *f, pel_str rest) {
    pel_str ignored;
    for (size_t i = 0; i < rest.len; i++) {
        if (!starts_with_length(pel_str_from(rest, i), &ignored)) continue;
        f->at += i;
        f->is_lost = false;
        return true;
    }
    f->at += rest.len > 15 ? rest.len - 15 : 0;
    return false;
}

/* A broken or oversized message must not end the session: each is reported once, and reading goes on after it. The rest
 * of an oversized one is left to pel_framing_feed. MAX_HEADER bytes without an empty line are no headers. */
pel_frame_kind pel_framing_next(pel_framing *f, pel_str *body) {
    pel_str rest = pel_str_from(pel_piece_str(&f->bytes), f->at);
    if (f->skip || !rest.len) return PEL_FRAME_NONE;
    if (f->is_lost) {
        if (!find_again(f, rest)) return PEL_FRAME_NONE;
        rest = pel_str_from(pel_piece_str(&f->bytes), f->at);
    }
    size_t end = headers_end(pel_str_cut(rest, 0, MAX_HEADER));
    uint64_t length;
    if (!end && rest.len < MAX_HEADER) return PEL_FRAME_NONE;
    if (!end || !read_headers(pel_str_cut(rest, 0, end), &length)) {
        f->at += end ? end : rest.len;
        f->is_lost = true;
        return PEL_FRAME_BROKEN;
    }
    size_t there = rest.len - end;
    if (length > PEL_LSP_MAX_MESSAGE) {
        f->skip = length > there ? length - there : 0;
        f->at += end + (length > there ? there : (size_t)length);
        return PEL_FRAME_TOO_LONG;
    }
    if (there < length) return PEL_FRAME_NONE;
    *body = pel_str_cut(rest, end, end + length);
    f->at += end + (size_t)length;
    return PEL_FRAME_MESSAGE;
}
