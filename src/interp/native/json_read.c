/* JSON -> values, for configuration files that the program reads; and digests, which libraries compute of texts. */
#include "base/sha256.h"
#include "interp/native/native.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_DEPTH 200

typedef struct reader {
    pel_vm *vm;
    pel_str text;
    size_t at;
    uint32_t depth;
} reader;

static pel_val bad(reader *r, const char *what) {
    return r->vm->raised ? NULL : pel_raise(r->vm, r->vm->types.ValueError, "%s: char %zu", what, r->at);
}
static void skip(reader *r) {
    while (r->at < r->text.len && strchr(" \t\r\n", r->text.ptr[r->at])) r->at++;
}
static bool take(reader *r, const char *word) {
    if (!pel_str_starts(pel_str_from(r->text, r->at), pel_str_of(word))) return false;
    r->at += strlen(word);
    return true;
}
static bool read_hex(reader *r, uint32_t *out) {
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int c = r->at < r->text.len ? tolower((unsigned char)r->text.ptr[r->at]) : 0;
        if (!isxdigit(c)) return false;
        *out = *out * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return true;
}

/* A high surrogate without its low half stays, as in Python's json; the escape after it is then read on its own. Raw
 * control characters pass, which Python's json refuses. A zero byte is tested: strchr would find the end of `from`. */
static pel_val read_string(reader *r) {
    pel_buf out = pel_buf_in(r->vm->ctx);
    while (r->at < r->text.len && r->text.ptr[r->at] != '"') {
        char c = r->text.ptr[r->at++];
        if (c != '\\') {
            pel_put_byte(&out, c);
            continue;
        }
        if (r->at >= r->text.len) break;
        c = r->text.ptr[r->at++];
        static const char from[] = "bfnrt\"\\/", to[] = "\b\f\n\r\t\"\\/";
        const char *found = c ? strchr(from, c) : NULL;
        if (found) {
            pel_put_byte(&out, to[found - from]);
        } else if (c == 'u') {
            uint32_t point, low;
            if (!read_hex(r, &point)) return bad(r, "Invalid \\uXXXX escape");
            size_t saved = r->at;
            if (point >= 0xD800 && point < 0xDC00 && take(r, "\\u") && read_hex(r, &low) && low >= 0xDC00 &&
                low < 0xE000)
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            else if (point >= 0xD800 && point < 0xDC00)
                r->at = saved;
            pel_put_utf8(&out, point);
        } else {
            return bad(r, "Invalid \\escape");
        }
    }
    if (r->at >= r->text.len) return bad(r, "Unterminated string");
    r->at++;
    return pel_new_text(r->vm, pel_buf_str(&out));
}

static pel_val read_number(reader *r) {
    size_t start = r->at;
    bool is_float = false;
    if (r->text.ptr[r->at] == '-') r->at++;
    while (r->at < r->text.len && (isdigit((unsigned char)r->text.ptr[r->at]) || strchr(".eE+-", r->text.ptr[r->at]))) {
        is_float |= strchr(".eE", r->text.ptr[r->at]) != NULL;
        r->at++;
    }
    pel_str text = pel_str_cut(r->text, start, r->at);
    if (!text.len || (text.len == 1 && text.ptr[0] == '-')) return bad(r, "Expecting value");
    if (!is_float) return pel_int_from_text(r->vm, text, 10);
    return pel_float_of(r->vm, strtod(pel_format(r->vm->ctx, "%.*s", PEL_FMT(text)).ptr, NULL));
}

/* The text may be hostile, so depth limits the recursion in C. An error leaves depth as it is: no caller reads on after
 * NULL. NaN and the infinities are no JSON, but Python's json reads them. */
static pel_val read_value(reader *r) {
    pel_vm *vm = r->vm;
    skip(r);
    if (r->at >= r->text.len) return bad(r, "Expecting value");
    if (r->depth >= MAX_DEPTH) return bad(r, "nested too deep");
    if (take(r, "null")) return vm->none;
    if (take(r, "true")) return vm->true_;
    if (take(r, "false")) return vm->false_;
    if (take(r, "NaN")) return pel_float_of(vm, strtod("nan", NULL));
    if (take(r, "Infinity")) return pel_float_of(vm, strtod("inf", NULL));
    if (take(r, "-Infinity")) return pel_float_of(vm, strtod("-inf", NULL));
    if (take(r, "\"")) return read_string(r);
    bool is_list = r->text.ptr[r->at] == '[';
    if (!is_list && r->text.ptr[r->at] != '{') return read_number(r);
    r->at++;
    r->depth++;
    pel_val made = is_list ? pel_list_of(vm, NULL, 0) : pel_new_dict(vm);
    const char *end = is_list ? "]" : "}";
    skip(r);
    if (!take(r, end)) {
        do {
            pel_val key = NULL;
            skip(r);
            if (!is_list) {
                if (!take(r, "\"")) return bad(r, "Expecting property name enclosed in double quotes");
                key = read_string(r);
                skip(r);
                if (!key || !take(r, ":")) return bad(r, "Expecting ':' delimiter");
            }
            pel_val value = read_value(r);
            if (!value) return NULL;
            if (is_list)
                pel_list_push(vm, made, value);
            else
                pel_dict_set_str(vm, pel_dict_at(made), key, value);
            skip(r);
        } while (take(r, ","));
        if (!take(r, end)) return bad(r, "Expecting ',' delimiter");
    }
    r->depth--;
    return made;
}

pel_val pel_json_value(pel_vm *vm, pel_str text) {
    reader r = { .vm = vm, .text = text };
    pel_val v = read_value(&r);
    if (!v) return NULL;
    skip(&r);
    return r.at == text.len ? v : bad(&r, "Extra data");
}

/* ---- digests ---- */

static uint32_t rotate(uint32_t x, uint32_t by) { return x << by | x >> (32 - by); }

static pel_str padded(pel_vm *vm, pel_str text, bool big) {
    size_t len = (text.len + 8) / 64 * 64 + 64;
    unsigned char *block = pel_alloc(vm->ctx, len);
    if (text.len) memcpy(block, text.ptr, text.len);
    block[text.len] = 0x80;
    uint64_t bits = (uint64_t)text.len * 8;
    for (int i = 0; i < 8; i++) block[len - 8 + (size_t)i] = (unsigned char)(bits >> (big ? 56 - 8 * i : 8 * i));
    return (pel_str){ (char *)block, len };
}

/* A program may branch on a digest or make a name of it, so it must equal that of hashlib. memcpy reads the words: the
 * machine has to be little-endian. The last line swaps bytes because the caller prints words. */
static void md5(pel_str data, uint32_t h[4]) {
    static const uint8_t shifts[] = { 7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21 };
    uint32_t k[64];
    for (int i = 0; i < 64; i++) {
        double s = __builtin_fabs(__builtin_sin((double)i + 1));
        k[i] = (uint32_t)(s * 4294967296.0);
    }
    const uint32_t start[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    memcpy(h, start, sizeof start);
    for (size_t at = 0; at < data.len; at += 64) {
        uint32_t w[16], a = h[0], b = h[1], c = h[2], d = h[3];
        memcpy(w, data.ptr + at, 64);
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t f, g;
            if (i < 16)
                f = (b & c) | (~b & d), g = i;
            else if (i < 32)
                f = (d & b) | (~d & c), g = (5 * i + 1) % 16;
            else if (i < 48)
                f = b ^ c ^ d, g = (3 * i + 5) % 16;
            else
                f = c ^ (b | ~d), g = 7 * i % 16;
            uint32_t next = d;
            d = c;
            c = b;
            b = b + rotate(a + f + k[i] + w[g], shifts[i / 16 * 4 + i % 4]);
            a = next;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d;
    }
    for (int i = 0; i < 4; i++) h[i] = __builtin_bswap32(h[i]);
}

static void sha1(pel_str data, uint32_t h[5]) {
    const uint32_t start[] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
    memcpy(h, start, sizeof start);
    for (size_t at = 0; at < data.len; at += 64) {
        uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
        memcpy(w, data.ptr + at, 64);
        for (int i = 0; i < 16; i++) w[i] = __builtin_bswap32(w[i]);
        for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        for (int i = 0; i < 80; i++) {
            uint32_t f, k;
            if (i < 20)
                f = (b & c) | (~b & d), k = 0x5a827999;
            else if (i < 40)
                f = b ^ c ^ d, k = 0x6ed9eba1;
            else if (i < 60)
                f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
            else
                f = b ^ c ^ d, k = 0xca62c1d6;
            uint32_t next = rotate(a, 5) + f + e + k + w[i];
            e = d, d = c, c = rotate(b, 30), b = a, a = next;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
    }
}

static pel_val sha256(pel_vm *vm, pel_str text) {
    char digits[PEL_SHA256_DIGITS + 1];
    pel_sha256 sum;
    pel_sha256_begin(&sum);
    pel_sha256_add(&sum, text);
    pel_sha256_end(&sum, digits);
    return pel_new_text(vm, pel_str_copy(vm->ctx, pel_str_of(digits)));
}

pel_val pel_hash_text(pel_vm *vm, pel_str text, pel_str name) {
    uint32_t h[5], words;
    vm->steps += text.len / 8;
    if (pel_str_is(name, "md5"))
        md5(padded(vm, text, false), h), words = 4;
    else if (pel_str_is(name, "sha1"))
        sha1(padded(vm, text, true), h), words = 5;
    else if (pel_str_is(name, "sha256"))
        return sha256(vm, text);
    else
        return pel_raise(vm, vm->types.ValueError, "unsupported hash type %.*s", PEL_FMT(name));
    pel_buf out = pel_buf_in(vm->ctx);
    for (uint32_t i = 0; i < words; i++) pel_putf(&out, "%08x", h[i]);
    return pel_new_text(vm, pel_buf_str(&out));
}
