/* Bytes that a pickle computes from constants. Pickles inside of pickles take detours: protocol 2 itself writes bytes
 * as _codecs.encode(text, "latin1"), and what hides takes longer ones. Anything that is not in these tables stays
 * unread, and the caller says so. */
#include "io/pickle.h"
#include "io/unpack.h"

#define MAX_DEPTH 16

typedef enum way {
    SAME,   /* the first argument's bytes */
    DIGITS, /* base64 */
    HEX,    /* hexadecimal digits */
    UNPACK, /* zlib, gzip, bzip2, xz */
    CODEC,  /* the second argument names the codec */
    SUM,    /* both arguments, one after the other */
} way;

static const struct {
    const char *module, *names;
    way way;
} ways[] = {
    { "builtins", " bytes bytearray memoryview ", SAME },
    { "__builtin__", " bytes bytearray buffer memoryview ", SAME },
    { "io", " BytesIO ", SAME },
    { "_io", " BytesIO ", SAME },
    { "builtins", " bytes.fromhex bytearray.fromhex ", HEX },
    { "binascii", " unhexlify a2b_hex ", HEX },
    { "base64", " b16decode ", HEX },
    { "base64", " b64decode standard_b64decode urlsafe_b64decode decodebytes decodestring ", DIGITS },
    { "binascii", " a2b_base64 ", DIGITS },
    { "zlib", " decompress ", UNPACK },
    { "gzip", " decompress ", UNPACK },
    { "bz2", " decompress ", UNPACK },
    { "lzma", " decompress ", UNPACK },
    { "_codecs", " encode decode ", CODEC },
    { "codecs", " encode decode ", CODEC },
    { "operator", " add concat iadd iconcat ", SUM },
    { "_operator", " add concat iadd iconcat ", SUM },
};

static bool has_word(const char *words, pel_str word) {
    if (!word.len || memchr(word.ptr, ' ', word.len)) return false;
    for (const char *at = words; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, word.ptr, word.len) == 0 && at[1 + word.len] == ' ') return true;
    return false;
}

typedef struct maker {
    pel_ctx *ctx;
    uint64_t *budget; /* bytes that may yet be made: sharing must not multiply them without end */
} maker;

static bool may_make(maker *m, uint64_t n) {
    if (n > *m->budget) return false;
    *m->budget -= n;
    return true;
}

/* ---- texts and digits ---- */

/* Text whose letters are the bytes: false if there is one beyond 255. */
static bool latin1(pel_ctx *ctx, pel_str text, pel_str *bytes) {
    char *out = pel_alloc_raw(ctx, text.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c >= 0x80) {
            if ((c & 0xFE) != 0xC2 || i + 1 == text.len) return false;
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text.ptr[++i] & 0x3F));
        }
        out[n++] = (char)c;
    }
    *bytes = (pel_str){ out, n };
    return true;
}

static pel_str rot13(pel_ctx *ctx, pel_str text) {
    char *out = pel_alloc_raw(ctx, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        char first = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : 0;
        if (first) c = (char)(first + (c - first + 13) % 26);
        out[i] = c;
    }
    return (pel_str){ out, text.len };
}

/* Each digit stands for `bits` bits; what is no digit is passed over, as Python's decoders do. */
static pel_str digits(pel_ctx *ctx, pel_str text, unsigned bits) {
    char *out = pel_alloc_raw(ctx, text.len + 1);
    size_t n = 0;
    uint32_t held = 0;
    unsigned have = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        int value = -1;
        if (bits == 4)
            value = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        else if (c >= 'A' && c <= 'Z')
            value = c - 'A';
        else if (c >= 'a' && c <= 'z')
            value = c - 'a' + 26;
        else if (c >= '0' && c <= '9')
            value = c - '0' + 52;
        else if (c == '+' || c == '-')
            value = 62;
        else if (c == '/' || c == '_')
            value = 63;
        if (value < 0) continue;
        held = held << bits | (uint32_t)value;
        have += bits;
        if (have < 8) continue;
        have -= 8;
        out[n++] = (char)(held >> have & 255);
    }
    return (pel_str){ out, n };
}

pel_str pel_base64(pel_ctx *ctx, pel_str text) { return digits(ctx, text, 6); }

static bool unpack(pel_ctx *ctx, pel_str packed, uint64_t limit, pel_str *bytes) {
    uint64_t end;
    bool failed;
    pel_err why;
    if (!pel_packing(packed)) return false;
    *bytes = pel_unpack(ctx, packed, limit, &end, &failed, &why);
    return !failed;
}

/* "Latin-1", "latin_1" and "LATIN1" are one codec. */
static bool by_codec(maker *m, pel_str name, pel_str from, bool is_encoding, pel_str *bytes) {
    pel_ctx *ctx = m->ctx;
    char plain[24];
    size_t n = 0;
    for (size_t i = 0; i < name.len && n + 1 < sizeof plain; i++)
        if (name.ptr[i] != '-' && name.ptr[i] != '_' && name.ptr[i] != ' ')
            plain[n++] = (char)(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' ? name.ptr[i] + 32 : name.ptr[i]);
    pel_str codec = { plain, n };
    if (has_word(" latin1 latin l1 iso88591 iso8859 8859 cp819 ascii rawunicodeescape ", codec))
        return is_encoding && latin1(ctx, from, bytes);
    if (has_word(" utf8 u8 utf cp65001 ", codec)) {
        *bytes = from;
        return true;
    }
    if (pel_str_is(codec, "rot13")) {
        *bytes = rot13(ctx, from);
        return true;
    }
    if (is_encoding) return false;
    if (has_word(" hex hexcodec ", codec)) {
        *bytes = digits(ctx, from, 4);
        return true;
    }
    if (has_word(" base64 base64codec ", codec)) {
        *bytes = digits(ctx, from, 6);
        return true;
    }
    return has_word(" zlib zlibcodec zip bz2 bz2codec ", codec) && unpack(ctx, from, *m->budget, bytes);
}

/* ---- objects ---- */

/* Text is kept as UTF-8: what takes text and what takes bytes must not be mixed up, or a letter beyond ASCII has one
 * byte for us and two for Python. */
typedef struct value {
    pel_str bytes;
    bool is_text;
} value;

static bool bytes_of(maker *m, const pel_pickled *object, value *out, int depth);

static bool list_bytes(maker *m, const pel_pickled *list, pel_str *bytes) {
    if (!may_make(m, list->items.n)) return false;
    char *out = pel_alloc_raw(m->ctx, list->items.n + 1);
    for (uint32_t i = 0; i < list->items.n; i++) {
        const pel_pickled *item = list->items.at[i];
        bool is_number = (item->kind == PEL_P_INT && !item->is_big) || item->kind == PEL_P_BOOL;
        if (!is_number || item->integer < 0 || item->integer > 255) return false;
        out[i] = (char)item->integer;
    }
    *bytes = (pel_str){ out, list->items.n };
    return true;
}

static bool codec_bytes(maker *m, const pel_pickled *codec, value from, bool is_encoding, value *out) {
    pel_str name = codec ? codec->text : PEL_STR("utf8");
    if (codec && codec->kind != PEL_P_STR) return false;
    if (is_encoding && !from.is_text) return false;
    out->is_text =
        pel_str_is(name, "rot13") || pel_str_is(name, "rot_13") || (!is_encoding && pel_str_is(name, "utf8"));
    return by_codec(m, name, from.bytes, is_encoding, &out->bytes);
}

static bool call_bytes(maker *m, const pel_pickled *call, way how, bool is_encoding, value *out, int depth) {
    const pel_pickled *first = pel_pickled_argument(call, 0), *second = pel_pickled_argument(call, 1);
    value from, more;
    *out = (value){ { "", 0 }, false };
    if (!first) return how == SAME; /* bytes() */
    if (!bytes_of(m, first, &from, depth + 1) || !may_make(m, from.bytes.len)) return false;
    switch (how) {
    case SAME: /* bytes(text, codec) is an encoding */
        if (second) return codec_bytes(m, second, from, true, out);
        *out = from;
        return !from.is_text;
    case DIGITS: out->bytes = digits(m->ctx, from.bytes, 6); return true;
    case HEX: out->bytes = digits(m->ctx, from.bytes, 4); return true;
    case UNPACK: return !from.is_text && unpack(m->ctx, from.bytes, *m->budget, &out->bytes);
    case CODEC: return codec_bytes(m, second, from, is_encoding, out);
    case SUM: {
        if (!second || !bytes_of(m, second, &more, depth + 1) || !may_make(m, more.bytes.len)) return false;
        if (from.is_text != more.is_text) return false;
        pel_buf sum = pel_buf_in(m->ctx);
        pel_put(&sum, from.bytes);
        pel_put(&sum, more.bytes);
        *out = (value){ pel_buf_str(&sum), from.is_text };
        return true;
    }
    }
    return false;
}

static bool bytes_of(maker *m, const pel_pickled *object, value *out, int depth) {
    if (depth > MAX_DEPTH || object->is_changed) return false;
    if (object->kind == PEL_P_BYTES || object->kind == PEL_P_STR) {
        *out = (value){ object->text, object->kind == PEL_P_STR };
        return true;
    }
    out->is_text = false;
    if (object->kind == PEL_P_LIST || object->kind == PEL_P_TUPLE) return list_bytes(m, object, &out->bytes);
    if (object->kind != PEL_P_CALL || object->items.n || object->states) return false;
    const pel_pickled *callable = object->call->callable;
    if (callable->kind != PEL_P_GLOBAL || callable->global->is_computed) return false;
    for (size_t i = 0; i < PEL_COUNT(ways); i++)
        if (pel_str_is(callable->global->module, ways[i].module) && has_word(ways[i].names, callable->global->name))
            return call_bytes(m, object, ways[i].way, pel_str_is(callable->global->name, "encode"), out, depth);
    return false;
}

bool pel_pickled_bytes(pel_ctx *ctx, const pel_pickled *object, uint64_t *budget, pel_str *bytes) {
    maker m = { ctx, budget };
    value made;
    if (!bytes_of(&m, object, &made, 0)) return false;
    *bytes = made.bytes;
    return true;
}
