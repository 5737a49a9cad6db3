/* Texts that Python's readers of JSON and YAML decode by their first bytes: UTF-16, UTF-32, and UTF-8 with a mark. */
#include "base/buf.h"
#include "load/load.h"

static uint32_t unit_at(pel_str bytes, size_t at, bool is_big) {
    uint32_t first = (unsigned char)bytes.ptr[at], second = (unsigned char)bytes.ptr[at + 1];
    return is_big ? first << 8 | second : second << 8 | first;
}

static void put_utf8(pel_buf *out, uint32_t code) {
    if (code < 0x80) {
        pel_put_byte(out, (char)code);
        return;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = { 0, 0xC0, 0xE0, 0xF0 };
    pel_put_byte(out, (char)(first[more] | code >> 6 * more));
    while (more--) pel_put_byte(out, (char)(0x80 | (code >> 6 * more & 0x3F)));
}

static bool from_utf16(pel_ctx *ctx, pel_str bytes, bool is_big, pel_str *text) {
    pel_buf out = pel_buf_in(ctx);
    if (bytes.len % 2) return false;
    for (size_t at = 0; at < bytes.len; at += 2) {
        uint32_t code = unit_at(bytes, at, is_big);
        bool is_high = code >= 0xD800 && code < 0xDC00;
        if (is_high && at + 2 < bytes.len) {
            uint32_t low = unit_at(bytes, at += 2, is_big);
            if (low < 0xDC00 || low > 0xDFFF) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        } else if (code >= 0xD800 && code <= 0xDFFF) {
            return false;
        }
        put_utf8(&out, code);
    }
    *text = pel_buf_str(&out);
    return true;
}

/* Python's reader of JSON takes it for UTF-32 by the zeros before or behind its first letter, or by a mark. */
static bool from_utf32(pel_ctx *ctx, pel_str bytes, pel_str *text) {
    pel_buf out = pel_buf_in(ctx);
    bool is_big = !bytes.ptr[0];
    if (bytes.len % 4) return false;
    for (size_t at = 0; at < bytes.len; at += 4) {
        uint32_t high = unit_at(bytes, at + (is_big ? 0 : 2), is_big),
                 low = unit_at(bytes, at + (is_big ? 2 : 0), is_big);
        uint32_t code = high << 16 | low;
        if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
        if (at || code != 0xFEFF) put_utf8(&out, code);
    }
    *text = pel_buf_str(&out);
    return text->len > 0;
}

/* A mark, or what JSON begins with, and a letter of ASCII after it. */
static bool is_of_utf32(pel_str head) {
    static const char zeros[3] = { 0 };
    if (head.len < 8) return false;
    bool is_big = !head.ptr[0];
    const char *first = head.ptr + (is_big ? 2 : 0);
    bool has_mark = memcmp(first, is_big ? "\xFE\xFF" : "\xFF\xFE", 2) == 0;
    char letter = is_big ? first[1] : first[0];
    bool is_json = letter && strchr("{[ \n\r\t\"", letter) && !(is_big ? first[0] : first[1]);
    return (has_mark || is_json) && !memcmp(is_big ? head.ptr : head.ptr + 2, zeros, 2) &&
           !memcmp(is_big ? head.ptr + 4 : head.ptr + 5, zeros, 3);
}

/* JSON needs no mark: its first letters are ASCII, so every second byte is zero. */
static bool is_json_of_units(pel_str head, bool is_big) {
    if (head.len < 8 || !strchr("{[ \n\r\t", (int)unit_at(head, 0, is_big))) return false;
    for (size_t at = 0; at < 8; at += 2)
        if (unit_at(head, at, is_big) < 9 || unit_at(head, at, is_big) > 126) return false;
    return true;
}

bool pel_decode_text(pel_ctx *ctx, const pel_input *input, pel_str head, pel_str *text) {
    if (is_of_utf32(head) && from_utf32(ctx, pel_input_whole(ctx, input), text)) return true;
    bool has_mark = pel_str_starts(head, PEL_STR("\xEF\xBB\xBF"));
    bool is_big = pel_str_starts(head, PEL_STR("\xFE\xFF")), is_little = pel_str_starts(head, PEL_STR("\xFF\xFE"));
    size_t mark = has_mark ? 3 : is_big || is_little ? 2 : 0;
    is_big = is_big || (!mark && is_json_of_units(head, true));
    is_little = is_little || (!mark && !is_big && is_json_of_units(head, false));
    if (!has_mark && !is_big && !is_little) return false;
    pel_str bytes = pel_str_from(pel_input_whole(ctx, input), mark);
    if (!has_mark) return from_utf16(ctx, bytes, is_big, text);
    *text = bytes;
    return bytes.len > 0;
}
