#include "base/json.h"

#include <math.h>

static void before_value(pel_json *json) {
    if (json->needs_comma) pel_put_byte(json->out, ',');
    json->needs_comma = true;
}

void pel_json_object(pel_json *json) {
    before_value(json);
    pel_put_byte(json->out, '{');
    json->needs_comma = false;
}

void pel_json_end_object(pel_json *json) {
    pel_put_byte(json->out, '}');
    json->needs_comma = true;
}

void pel_json_array(pel_json *json) {
    before_value(json);
    pel_put_byte(json->out, '[');
    json->needs_comma = false;
}

void pel_json_end_array(pel_json *json) {
    pel_put_byte(json->out, ']');
    json->needs_comma = true;
}

/* Length of the well-formed UTF-8 sequence at s, 0 if there is none. */
static size_t utf8_length(const unsigned char *s, size_t left) {
    static const uint32_t smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : s[0] >= 0xC2 ? 2 : 0;
    if (n < 2) return n;
    if (n > left) return 0;
    uint32_t point = s[0] & (0xFFu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) return 0;
        point = point << 6 | (s[i] & 0x3F);
    }
    return point < smallest[n] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000) ? 0 : n;
}

bool pel_is_utf8(pel_str s) {
    for (size_t i = 0; i < s.len;) {
        size_t n = utf8_length((const unsigned char *)s.ptr + i, s.len - i);
        if (!n) return false;
        i += n;
    }
    return true;
}

static bool is_surrogate(const unsigned char *s, size_t left) {
    return left >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] < 0xC0 && (s[2] & 0xC0) == 0x80;
}

/* How many of the next characters stand for themselves, and are one byte each. */
static size_t plain_run(const unsigned char *p, size_t left) {
    size_t n = 0;
    while (n < left && p[n] >= 0x20 && p[n] < 0x7F && p[n] != '"' && p[n] != '\\') n++;
    return n;
}

static void put_quoted(pel_buf *out, pel_str s) {
    pel_put_byte(out, '"');
    const unsigned char *p = (const unsigned char *)s.ptr;
    for (size_t i = 0; i < s.len;) {
        size_t run = plain_run(p + i, s.len - i);
        pel_put(out, (pel_str){ s.ptr + i, run });
        i += run;
        if (i == s.len) break;
        unsigned char c = p[i];
        size_t n = utf8_length(p + i, s.len - i);
        if (c == '"' || c == '\\') {
            pel_put_byte(out, '\\');
            pel_put_byte(out, (char)c);
        } else if (c == '\n') {
            pel_put_c(out, "\\n");
        } else if (c < 0x20 || c == 0x7F) {
            pel_putf(out, "\\u%04x", c);
        } else if (n) {
            pel_put(out, (pel_str){ s.ptr + i, n });
        } else if (is_surrogate(p + i, s.len - i)) {
            n = 3;
            pel_putf(out, "\\u%04x", 0xD000u | (unsigned)(p[i + 1] & 0x3F) << 6 | (p[i + 2] & 0x3Fu));
        } else { /* as Python's surrogateescape */
            pel_putf(out, "\\udc%02x", c);
        }
        i += n ? n : 1;
    }
    pel_put_byte(out, '"');
}

void pel_json_key_str(pel_json *json, pel_str key) {
    before_value(json);
    put_quoted(json->out, key);
    pel_put_byte(json->out, ':');
    json->needs_comma = false;
}

void pel_json_key(pel_json *json, const char *key) { pel_json_key_str(json, pel_str_of(key)); }

void pel_json_str(pel_json *json, pel_str s) {
    before_value(json);
    put_quoted(json->out, s);
}

void pel_json_c(pel_json *json, const char *text) { pel_json_str(json, pel_str_of(text)); }

void pel_json_int(pel_json *json, int64_t value) {
    before_value(json);
    pel_put_int(json->out, value);
}

void pel_json_double(pel_json *json, double value) {
    before_value(json);
    if (isfinite(value))
        pel_putf(json->out, "%.17g", value);
    else
        put_quoted(json->out, pel_str_of(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"));
}

void pel_json_bool(pel_json *json, bool value) {
    before_value(json);
    pel_put_c(json->out, value ? "true" : "false");
}

void pel_json_null(pel_json *json) {
    before_value(json);
    pel_put_c(json->out, "null");
}
