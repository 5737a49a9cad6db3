/* Python's marshal format: a tree of typed values, where a value may be marked and referred to again.
 *
 * The format allows more than a compiler writes. Lists, dicts and sets, which no code object holds, become
 * PEL_CONST_OBJECT with their repr. A value that contains itself is refused, and so is one that references blow up
 * beyond all measure (each value has a weight: its size with every reference written out). */
#include "bytecode/code.h"

#include <stdlib.h>

#define MAX_DEPTH 400
#define FREE_WEIGHT (16u << 20)
#define WEIGHT_PER_BYTE 16

enum { FLAG_REF = 0x80 };

typedef struct value {
    const pel_const *konst; /* NULL: the end of a dict */
    uint64_t weight;
} value;

typedef struct unmarshal {
    pel_ctx *ctx;
    pel_str bytes;
    size_t at;
    pel_version version;
    int depth;
    PEL_VEC(value) refs; /* konst NULL while the value is still being read */
} unmarshal;

static _Noreturn void bad(unmarshal *u, const char *what) {
    pel_throw(u->ctx, PEL_E_FORMAT, u->at, "offset %zu: %s", u->at, what);
}

/* ---- bytes ---- */

static pel_str take(unmarshal *u, size_t size) {
    if (size > u->bytes.len - u->at) bad(u, "truncated: the data ends inside a value");
    pel_str taken = { u->bytes.ptr + u->at, size };
    u->at += size;
    return taken;
}

static uint8_t take_byte(unmarshal *u) { return (uint8_t)*take(u, 1).ptr; }

static uint32_t take_u16(unmarshal *u) {
    pel_str b = take(u, 2);
    return (uint32_t)(uint8_t)b.ptr[0] | (uint32_t)(uint8_t)b.ptr[1] << 8;
}

static int32_t take_i32(unmarshal *u) {
    uint32_t low = take_u16(u);
    return (int32_t)(low | take_u16(u) << 16);
}

static uint32_t take_count(unmarshal *u) {
    int32_t count = take_i32(u);
    if (count < 0) bad(u, "a negative size");
    return (uint32_t)count;
}

/* Items take at least a byte each, so a count larger than the rest is refused before memory is asked for. */
static uint32_t take_item_count(unmarshal *u) {
    uint32_t count = take_count(u);
    if (count > u->bytes.len - u->at) bad(u, "truncated: a collection has more items than bytes are left");
    return count;
}

/* ---- values ---- */

static pel_const *make(unmarshal *u, pel_const_kind kind) {
    pel_const *konst = pel_new(u->ctx, pel_const);
    konst->kind = kind;
    return konst;
}

static value weigh(const pel_const *konst, uint64_t weight) { return (value){ konst, weight }; }

static value make_text(unmarshal *u, pel_const_kind kind, pel_str text) {
    pel_const *konst = make(u, kind);
    konst->text = text;
    return weigh(konst, 1 + text.len);
}

static value make_object(unmarshal *u, pel_str repr) {
    pel_const *konst = make(u, PEL_CONST_OBJECT);
    konst->repr = repr;
    return weigh(konst, 1 + repr.len);
}

static value make_small_int(unmarshal *u, int64_t number) {
    pel_const *konst = make(u, PEL_CONST_INT);
    konst->integer.small = number;
    return weigh(konst, 1);
}

/* UTF-8 as Python's surrogatepass has it. */
static bool is_utf8(pel_str s) {
    const uint8_t *at = (const uint8_t *)s.ptr, *end = at + s.len;
    while (at < end) {
        uint8_t lead = *at++;
        if (lead < 0x80) continue;
        int more = lead >= 0xf0 && lead <= 0xf4  ? 3
                   : lead >= 0xe0 && lead < 0xf0 ? 2
                   : lead >= 0xc2 && lead < 0xe0 ? 1
                                                 : 0;
        if (!more || end - at < more) return false;
        uint32_t point = lead & (0x3fu >> more);
        for (int i = 0; i < more; i++, at++) {
            if ((*at & 0xc0) != 0x80) return false;
            point = point << 6 | (*at & 0x3f);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10ffff))) return false;
    }
    return true;
}

/* "ASCII" strings are one byte a character; CPython takes what is not ASCII for Latin-1. */
static pel_str from_latin1(unmarshal *u, pel_str s) {
    size_t i = 0;
    while (i < s.len && !((uint8_t)s.ptr[i] & 0x80)) i++;
    if (i == s.len) return s;
    pel_buf text = pel_buf_in(u->ctx);
    for (i = 0; i < s.len; i++) pel_put_utf8(&text, (uint8_t)s.ptr[i]);
    return pel_buf_str(&text);
}

static double take_double(unmarshal *u) {
    pel_str b = take(u, 8);
    uint64_t bits = 0;
    for (int i = 8; i-- > 0;) bits = bits << 8 | (uint8_t)b.ptr[i];
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static double take_decimal(unmarshal *u) {
    pel_str s = take(u, take_byte(u));
    char text[256];
    memcpy(text, s.ptr, s.len);
    text[s.len] = 0;
    char *end;
    double number = strtod(text, &end);
    if (!s.len || end != text + s.len) bad(u, "not a number");
    return number;
}

static value make_float(unmarshal *u, pel_const_kind kind, double real, double imag) {
    pel_const *konst = make(u, kind);
    konst->real = real;
    konst->imag = imag;
    return weigh(konst, 1);
}

/* A signed count of 15-bit digits, then the digits, least significant first. */
static value take_long(unmarshal *u) {
    int32_t signed_count = take_i32(u);
    uint32_t count = signed_count < 0 ? 0u - (uint32_t)signed_count : (uint32_t)signed_count;
    if (count > PEL_INT_BITS_MAX / 15)
        pel_throw(u->ctx, PEL_E_TOO_BIG, u->at, "offset %zu: an integer of more than %u bits", u->at, PEL_INT_BITS_MAX);
    uint32_t *limbs = pel_new_array(u->ctx, count / 2 + 2, uint32_t), n = 0, held = 0;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t digit = take_u16(u);
        if (digit >> 15 || (i + 1 == count && !digit)) bad(u, "a digit of an integer is out of range");
        bits |= (uint64_t)digit << held;
        held += 15;
        if (held >= 32) {
            limbs[n++] = (uint32_t)bits;
            bits >>= 32;
            held -= 32;
        }
    }
    if (bits) limbs[n++] = (uint32_t)bits;
    const pel_const *konst = pel_const_of_limbs(u->ctx, limbs, n, signed_count < 0);
    return weigh(konst, 1 + konst->integer.digits.len);
}

static value take_value(unmarshal *u);

static value heavier(unmarshal *u, value v, uint64_t more) {
    v.weight += more; /* both below the limit: no overflow */
    if (v.weight > FREE_WEIGHT + (uint64_t)u->bytes.len * WEIGHT_PER_BYTE)
        pel_throw(u->ctx, PEL_E_TOO_BIG, u->at, "offset %zu: references blow the value up beyond measure", u->at);
    return v;
}

static value take_items(unmarshal *u, pel_const_kind kind, uint32_t n) {
    pel_const *konst = make(u, kind);
    value out = { konst, 1 };
    konst->items = pel_new_array(u->ctx, n, const pel_const *);
    konst->n = n;
    for (uint32_t i = 0; i < n; i++) {
        value item = take_value(u);
        if (!item.konst) bad(u, "an item is missing");
        konst->items[i] = item.konst;
        out = heavier(u, out, item.weight);
    }
    return out;
}

/* What has no literal constant: shown, but opaque. */
static value take_shown(unmarshal *u, char open, char close) {
    value items = take_items(u, PEL_CONST_TUPLE, take_item_count(u));
    pel_buf repr = pel_buf_in(u->ctx);
    pel_put_byte(&repr, open);
    for (uint32_t i = 0; i < items.konst->n; i++) {
        if (i) pel_put_c(&repr, ", ");
        pel_put_repr(&repr, items.konst->items[i]);
    }
    pel_put_byte(&repr, close);
    return make_object(u, pel_buf_str(&repr));
}

static value take_dict(unmarshal *u) {
    pel_buf repr = pel_buf_in(u->ctx);
    value total = { NULL, 1 };
    pel_put_byte(&repr, '{');
    for (bool first = true;; first = false) {
        value key = take_value(u);
        if (!key.konst) break;
        value item = take_value(u);
        if (!item.konst) bad(u, "a dict ends after a key");
        total = heavier(u, heavier(u, total, key.weight), item.weight);
        if (!first) pel_put_c(&repr, ", ");
        pel_put_repr(&repr, key.konst);
        pel_put_c(&repr, ": ");
        pel_put_repr(&repr, item.konst);
    }
    pel_put_byte(&repr, '}');
    return make_object(u, pel_buf_str(&repr));
}

/* ---- code objects ---- */

static const pel_const *take_kind(unmarshal *u, pel_const_kind kind, const char *what) {
    size_t start = u->at;
    const pel_const *konst = take_value(u).konst;
    if (!konst || konst->kind != kind) {
        u->at = start;
        bad(u, what);
    }
    return konst;
}

static pel_name to_name(unmarshal *u, pel_str text) {
    if (text.len > UINT32_MAX) bad(u, "a name of more than 4 GiB");
    return pel_intern_str(u->ctx, text);
}

static pel_name take_name(unmarshal *u, const char *what) {
    return to_name(u, take_kind(u, PEL_CONST_STR, what)->text);
}

static pel_name_list take_names(unmarshal *u, const char *what) {
    size_t start = u->at;
    const pel_const *tuple = take_kind(u, PEL_CONST_TUPLE, what);
    pel_name_list list = { pel_new_array(u->ctx, tuple->n, pel_name), tuple->n };
    for (uint32_t i = 0; i < list.n; i++) {
        if (tuple->items[i]->kind != PEL_CONST_STR) {
            u->at = start;
            bad(u, what);
        }
        list.at[i] = to_name(u, tuple->items[i]->text);
    }
    return list;
}

/* Since 3.11 all variables are in one list, and a byte for each says what it is. */
static void take_localsplus(unmarshal *u, pel_code_object *code) {
    enum { IS_LOCAL = 0x20, IS_CELL = 0x40, IS_FREE = 0x80 };
    pel_name_list all = take_names(u, "the names of the variables are not a tuple of strings");
    pel_str kinds = take_kind(u, PEL_CONST_BYTES, "the kinds of the variables are not bytes")->text;
    if (kinds.len != all.n) bad(u, "there are not as many kinds as variables");
    struct {
        uint8_t bit;
        pel_name_list *list;
    } lists[] = { { IS_LOCAL, &code->varnames }, { IS_CELL, &code->cellvars }, { IS_FREE, &code->freevars } };
    for (size_t k = 0; k < PEL_COUNT(lists); k++) {
        lists[k].list->at = pel_new_array(u->ctx, all.n, pel_name);
        for (uint32_t i = 0; i < all.n; i++)
            if ((uint8_t)kinds.ptr[i] & lists[k].bit) lists[k].list->at[lists[k].list->n++] = all.at[i];
    }
    code->localsplus = all;
}

static uint32_t take_field(unmarshal *u) { return (uint32_t)take_i32(u); }

static value take_code(unmarshal *u) {
    pel_code_object *code = pel_new(u->ctx, pel_code_object);
    const size_t start = u->at;
    bool has_localsplus = u->version >= 11;
    code->version = u->version;
    code->argcount = take_field(u);
    code->posonlyargcount = take_field(u);
    code->kwonlyargcount = take_field(u);
    if (!has_localsplus) take_field(u); /* nlocals: the number of varnames */
    code->stacksize = take_field(u);
    code->flags = take_field(u);
    code->code = take_kind(u, PEL_CONST_BYTES, "the instructions are not bytes")->text;
    size_t consts_at = u->at;
    value consts = take_value(u);
    if (!consts.konst || consts.konst->kind != PEL_CONST_TUPLE) {
        u->at = consts_at;
        bad(u, "the constants are not a tuple");
    }
    code->consts = consts.konst->items;
    code->n_consts = consts.konst->n;
    code->names = take_names(u, "the names are not a tuple of strings");
    if (has_localsplus) {
        take_localsplus(u, code);
    } else {
        code->varnames = take_names(u, "the local variables are not a tuple of strings");
        code->freevars = take_names(u, "the free variables are not a tuple of strings");
        code->cellvars = take_names(u, "the cell variables are not a tuple of strings");
    }
    code->filename = take_kind(u, PEL_CONST_STR, "the file name is not a string")->text;
    code->name = take_name(u, "the name is not a string");
    if (has_localsplus) code->qualname = take_name(u, "the qualified name is not a string");
    code->firstlineno = take_field(u);
    code->linetable = take_kind(u, PEL_CONST_BYTES, "the line table is not bytes")->text;
    if (has_localsplus) code->exceptiontable = take_kind(u, PEL_CONST_BYTES, "the exception table is not bytes")->text;
    pel_code_finish(u->ctx, code, start);
    pel_const *konst = make(u, PEL_CONST_CODE);
    konst->code = code;
    return heavier(u, weigh(konst, consts.weight), code->code.len + 1);
}

/* ---- the tree ---- */

static value take_string(unmarshal *u, uint32_t size) {
    return make_text(u, PEL_CONST_STR, from_latin1(u, take(u, size)));
}

static value take_unicode(unmarshal *u) {
    pel_str text = take(u, take_count(u));
    if (!is_utf8(text)) bad(u, "a string that is not UTF-8");
    return make_text(u, PEL_CONST_STR, text);
}

static value take_complex(unmarshal *u, double (*part)(unmarshal *)) {
    double real = part(u);
    return make_float(u, PEL_CONST_COMPLEX, real, part(u));
}

static value take_typed(unmarshal *u, char type) {
    switch (type) {
    case 'N': return weigh(&pel_none, 1);
    case 'F': return weigh(&pel_false, 1);
    case 'T': return weigh(&pel_true, 1);
    case '.': return weigh(&pel_ellipsis, 1);
    case 'S': return make_object(u, PEL_STR("StopIteration"));
    case '?': return make_object(u, PEL_STR("<what marshal could not write>"));
    case 'i': return make_small_int(u, take_i32(u));
    case 'l': return take_long(u);
    case 'f': return make_float(u, PEL_CONST_FLOAT, take_decimal(u), 0);
    case 'g': return make_float(u, PEL_CONST_FLOAT, take_double(u), 0);
    case 'x': return take_complex(u, take_decimal);
    case 'y': return take_complex(u, take_double);
    case 's': return make_text(u, PEL_CONST_BYTES, take(u, take_count(u)));
    case 'u':
    case 't': return take_unicode(u);
    case 'a':
    case 'A': return take_string(u, take_count(u));
    case 'z':
    case 'Z': return take_string(u, take_byte(u));
    case ')': {
        uint32_t n = take_byte(u);
        return take_items(u, PEL_CONST_TUPLE, n);
    }
    case '(': return take_items(u, PEL_CONST_TUPLE, take_item_count(u));
    case '>': return take_items(u, PEL_CONST_FROZENSET, take_item_count(u));
    case '[': return take_shown(u, '[', ']');
    case '<': return take_shown(u, '{', '}');
    case '{': return take_dict(u);
    case '}':
        if (u->version < 15) break;
        return take_dict(u); /* a frozendict: no code object holds one */
    case ':':
        if (u->version < 14) break;
        return take_items(u, PEL_CONST_SLICE, 3);
    case 'c': return take_code(u);
    default: break;
    }
    u->at--;
    bad(u, "no value begins with this byte");
}

static value take_ref(unmarshal *u) {
    uint32_t index = take_count(u);
    if (index >= u->refs.n) bad(u, "a reference to a value that was not there yet");
    value referred = u->refs.at[index];
    if (!referred.konst) bad(u, "a value that contains itself");
    return referred;
}

static value take_value(unmarshal *u) {
    if (++u->depth > MAX_DEPTH)
        pel_throw(u->ctx, PEL_E_TOO_DEEP, u->at, "offset %zu: values nest deeper than %d", u->at, MAX_DEPTH);
    uint8_t byte = take_byte(u);
    char type = (char)(byte & ~FLAG_REF);
    value out = { 0 };
    if (type == 'r') {
        out = take_ref(u);
    } else if (type != '0') {
        uint32_t index = u->refs.n;
        if (byte & FLAG_REF) pel_push(u->ctx, &u->refs, (value){ 0 });
        out = take_typed(u, type);
        if (byte & FLAG_REF) u->refs.at[index] = out;
    }
    u->depth--;
    return out;
}

pel_code_object *pel_unmarshal_code_at(pel_ctx *ctx, pel_str bytes, size_t start, pel_version version) {
    unmarshal u = { .ctx = ctx, .bytes = bytes, .at = start, .version = version };
    return take_kind(&u, PEL_CONST_CODE, "this is not a code object")->code;
}

pel_code_object *pel_unmarshal_code(pel_ctx *ctx, pel_str bytes, pel_version version) {
    return pel_unmarshal_code_at(ctx, bytes, 0, version);
}
