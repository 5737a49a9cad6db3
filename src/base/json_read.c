#include "base/json_read.h"

#include "base/buf.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_DEPTH 200

typedef struct reader {
    pel_ctx *ctx;
    pel_str text;
    uint64_t base, at;
    int depth;
} reader;

_Noreturn static void fail(reader *r, const char *what) {
    pel_throw(r->ctx, PEL_E_FORMAT, r->base + r->at, "JSON: %s", what);
}

static int peek(const reader *r) { return r->at < r->text.len ? (unsigned char)r->text.ptr[r->at] : -1; }

static void skip_space(reader *r) {
    while (r->at < r->text.len && memchr(" \t\r\n", r->text.ptr[r->at], 4)) r->at++;
}

static pel_json_value *make(reader *r, pel_json_kind kind) {
    pel_json_value *value = pel_new(r->ctx, pel_json_value);
    value->kind = (uint8_t)kind;
    value->at = r->base + r->at;
    return value;
}

static void expect(reader *r, const char *word) {
    size_t len = strlen(word);
    if (r->text.len - r->at < len || memcmp(r->text.ptr + r->at, word, len) != 0) fail(r, "a value was expected");
    r->at += len;
}

static uint32_t hex4(reader *r) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int c = peek(r);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) fail(r, "\\u needs four hexadecimal digits");
        value = value << 4 | (uint32_t)digit;
    }
    return value;
}

static void put_escape(reader *r, pel_buf *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = peek(r);
    const char *known = c > 0 ? strchr(from, c) : NULL;
    r->at++;
    if (known) {
        pel_put_byte(out, to[known - from]);
        return;
    }
    if (c != 'u') fail(r, "an unknown escape");
    uint32_t point = hex4(r);
    if (point >= 0xD800 && point < 0xDC00 && r->text.len - r->at >= 6 && r->text.ptr[r->at] == '\\' &&
        r->text.ptr[r->at + 1] == 'u') {
        r->at += 2;
        uint32_t low = hex4(r);
        if (low < 0xDC00 || low >= 0xE000) fail(r, "half of a surrogate pair");
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    pel_put_utf8(out, point);
}

static pel_str read_string(reader *r) {
    if (peek(r) != '"') fail(r, "a string was expected");
    uint64_t start = ++r->at;
    while (r->at < r->text.len && r->text.ptr[r->at] != '"' && r->text.ptr[r->at] != '\\') r->at++;
    if (peek(r) == '"') return pel_str_cut(r->text, start, r->at++); /* without escapes: as it stands */
    pel_buf out = pel_buf_in(r->ctx);
    pel_put(&out, pel_str_cut(r->text, start, r->at));
    for (;;) {
        int c = peek(r);
        if (c < 0) fail(r, "a string does not end");
        r->at++;
        if (c == '"') return pel_buf_str(&out);
        if (c == '\\')
            put_escape(r, &out);
        else
            pel_put_byte(&out, (char)c);
    }
}

static pel_json_value *read_number(reader *r) {
    pel_json_value *value = make(r, PEL_J_NUMBER);
    char digits[64], *end;
    size_t n = 0;
    bool is_integer = true;
    while (r->at < r->text.len && strchr("+-0123456789.eE", r->text.ptr[r->at]) && r->text.ptr[r->at]) {
        if (n + 1 == sizeof digits) fail(r, "a number is too long");
        is_integer &= !strchr(".eE", r->text.ptr[r->at]);
        digits[n++] = r->text.ptr[r->at++];
    }
    digits[n] = 0;
    value->number = strtod(digits, &end);
    if (!n || *end) fail(r, "a number was expected");
    errno = 0;
    int64_t integer = is_integer ? strtoll(digits, NULL, 10) : 0;
    value->is_integer = is_integer && errno != ERANGE;
    if (value->is_integer) value->integer = integer;
    return value;
}

static pel_json_value *read_value(reader *r);

/* Small objects are many, and a map for each would be larger than the object. */
#define FEW_KEYS 8

static bool is_new_key(reader *r, const pel_json_value *object, pel_map *keys, pel_str key) {
    uint32_t n = object->items.n / 2;
    for (uint32_t i = 0; n < FEW_KEYS && i < n; i++)
        if (pel_str_eq(object->items.at[2 * i]->text, key)) return false;
    for (uint32_t i = 0; n == FEW_KEYS && i < n; i++) {
        pel_str before = object->items.at[2 * i]->text;
        pel_map_set(r->ctx, keys, PEL_KEY(pel_intern_str(r->ctx, before)), 1);
    }
    return n < FEW_KEYS || pel_map_set(r->ctx, keys, PEL_KEY(pel_intern_str(r->ctx, key)), 1);
}

/* Readers of JSON disagree on which of two equal keys wins. The second one is an error here, because an audit must see
 * the value that a loader would see. Keys and values of an object take turns in one list. */
static void read_items(reader *r, pel_json_value *into, int close) {
    pel_map keys = { 0 };
    r->at++;
    skip_space(r);
    if (peek(r) == close) {
        r->at++;
        return;
    }
    for (;;) {
        skip_space(r);
        if (into->kind == PEL_J_OBJECT) {
            pel_json_value *key = make(r, PEL_J_STR);
            key->text = read_string(r);
            if (!is_new_key(r, into, &keys, key->text)) fail(r, "an object has the same key twice");
            pel_push(r->ctx, &into->items, key);
            skip_space(r);
            if (peek(r) != ':') fail(r, "a colon was expected");
            r->at++;
        }
        pel_push(r->ctx, &into->items, read_value(r));
        skip_space(r);
        int c = peek(r);
        if (c != ',' && c != close) fail(r, "a comma or the end of the list was expected");
        r->at++;
        if (c == close) return;
    }
}

static pel_json_value *read_value(reader *r) {
    if (++r->depth > MAX_DEPTH)
        pel_throw(r->ctx, PEL_E_TOO_DEEP, r->base + r->at, "JSON nests deeper than %d", MAX_DEPTH);
    skip_space(r);
    pel_json_value *value;
    switch (peek(r)) {
    case '{':
        value = make(r, PEL_J_OBJECT);
        read_items(r, value, '}');
        break;
    case '[':
        value = make(r, PEL_J_ARRAY);
        read_items(r, value, ']');
        break;
    case '"':
        value = make(r, PEL_J_STR);
        value->text = read_string(r);
        break;
    case 't':
    case 'f':
        value = make(r, PEL_J_BOOL);
        value->boolean = peek(r) == 't';
        expect(r, value->boolean ? "true" : "false");
        break;
    case 'n':
        value = make(r, PEL_J_NULL);
        expect(r, "null");
        break;
    case 'N': /* Python writes these */
    case 'I':
        value = make(r, PEL_J_NUMBER);
        value->number = peek(r) == 'N' ? strtod("nan", NULL) : strtod("inf", NULL);
        expect(r, peek(r) == 'N' ? "NaN" : "Infinity");
        break;
    default: value = read_number(r);
    }
    r->depth--;
    return value;
}

pel_json_value *pel_json_read(pel_ctx *ctx, pel_str text, uint64_t base) {
    reader r = { .ctx = ctx, .text = text, .base = base };
    pel_json_value *value = read_value(&r);
    skip_space(&r);
    if (r.at != text.len) fail(&r, "something comes after the value");
    return value;
}

pel_json_value *pel_json_get(const pel_json_value *object, const char *key) {
    if (!object || object->kind != PEL_J_OBJECT) return NULL;
    for (uint32_t i = 0; i + 1 < object->items.n; i += 2)
        if (pel_str_is(object->items.at[i]->text, key)) return object->items.at[i + 1];
    return NULL;
}

pel_str pel_json_text(const pel_json_value *value) {
    return value && value->kind == PEL_J_STR ? value->text : (pel_str){ "", 0 };
}
