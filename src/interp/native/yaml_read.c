/* YAML -> values, as PyYAML's safe loader gives them: configuration files that the program reads.
 *
 * Block and flow collections, plain, quoted and block scalars, anchors, merge keys, several documents. Left out, with
 * an error: `? key`, collections as keys, aliases of what is not complete, tags but for those of plain types. */
#include "interp/native/native.h"
#include "interp/native/yaml.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_DEPTH 200

typedef struct anchor {
    pel_str name;
    pel_val value;
} anchor;

typedef struct reader {
    pel_vm *vm;
    pel_str text;
    size_t at, line_start;
    uint32_t line, depth;
    bool plain_exponents; /* 1e-3 is a number, as OmegaConf reads it */
    PEL_VEC(anchor) anchors;
} reader;

typedef struct properties { /* before a node */
    pel_str anchor, tag;
    bool any;
} properties;

typedef struct place { /* where a block node may be */
    int min;           /* columns before it: fewer end what it is part of */
    bool is_inline;    /* after "key:": a collection would have to begin on the next line */
} place;

static pel_val read_block(reader *r, place where);
static pel_val read_flow(reader *r);

/* ---- characters ---- */

static pel_val bad(reader *r, const char *what) {
    if (r->vm->raised) return NULL;
    return pel_raise(r->vm, r->vm->types.ValueError, "%s: line %u, column %zu", what, r->line,
                     r->at - r->line_start + 1);
}

static int peek(const reader *r, size_t ahead) {
    return r->at + ahead < r->text.len ? (unsigned char)r->text.ptr[r->at + ahead] : -1;
}

static bool is_blank(int c) { return c == ' ' || c == '\t'; }
static bool is_break(int c) { return c == '\n' || c == '\r' || c < 0; }
static bool is_space(int c) { return is_blank(c) || is_break(c); }
static bool is_flow_mark(int c) { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'; }
static int column(const reader *r) { return (int)(r->at - r->line_start); }

static void next_line(reader *r) {
    if (peek(r, 0) == '\r' && peek(r, 1) == '\n') r->at++;
    r->at++;
    r->line_start = r->at;
    r->line++;
}

static void skip_blanks(reader *r) {
    while (is_blank(peek(r, 0))) r->at++;
}

/* To the next token; true if it is on another line. */
static bool skip(reader *r) {
    bool crossed = false;
    for (;;) {
        size_t before = r->at;
        skip_blanks(r);
        if (peek(r, 0) == '#' && (r->at == r->line_start || before < r->at || is_space(r->text.ptr[r->at - 1])))
            while (!is_break(peek(r, 0))) r->at++;
        if (peek(r, 0) != '\n' && peek(r, 0) != '\r') return crossed;
        next_line(r);
        crossed = true;
    }
}

static bool is_marker(const reader *r) {
    if (r->at != r->line_start || r->text.len - r->at < 3 || !is_space(peek(r, 3))) return false;
    return memcmp(r->text.ptr + r->at, "---", 3) == 0 || memcmp(r->text.ptr + r->at, "...", 3) == 0;
}

static bool is_over(const reader *r) { return r->at >= r->text.len || is_marker(r); }
static bool is_dash(const reader *r) { return peek(r, 0) == '-' && is_space(peek(r, 1)); }
static bool is_colon(const reader *r) { return peek(r, 0) == ':' && is_space(peek(r, 1)); }

/* ---- what a plain scalar is ---- */

static bool is_one_of(pel_str text, const char *words) {
    for (const char *at = words; *at;) {
        const char *end = strchr(at, ' ');
        size_t len = end ? (size_t)(end - at) : strlen(at);
        if (len == text.len && memcmp(at, text.ptr, len) == 0) return true;
        at += len + (end != NULL);
    }
    return false;
}

static size_t digits(pel_str text, size_t at, const char *which) {
    size_t n = 0;
    while (at + n < text.len && text.ptr[at + n] && strchr(which, text.ptr[at + n])) n++;
    return n;
}

static pel_str without_marks(reader *r, pel_str text) {
    pel_buf out = pel_buf_in(r->vm->ctx);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_') pel_put_byte(&out, text.ptr[i]);
    return pel_buf_str(&out);
}

static pel_val whole_number(reader *r, pel_str text) {
    size_t sign = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'), n = text.len - sign;
    const char *at = text.ptr + sign;
    int base = 0;
    size_t skipped = 0;
    if (n > 2 && at[0] == '0' && at[1] == 'x')
        base = digits(text, sign + 2, "0123456789abcdefABCDEF_") == n - 2 ? 16 : 0, skipped = 2;
    else if (n > 2 && at[0] == '0' && at[1] == 'b')
        base = digits(text, sign + 2, "01_") == n - 2 ? 2 : 0, skipped = 2;
    else if (n > 1 && at[0] == '0')
        base = digits(text, sign, "01234567_") == n ? 8 : 0, skipped = 1;
    else if (n && isdigit((unsigned char)at[0]))
        base = digits(text, sign, "0123456789_") == n ? 10 : 0;
    if (!base) return NULL;
    pel_str number = without_marks(r, pel_str_from(text, sign + skipped));
    if (!number.len) return NULL;
    pel_str all = pel_format(r->vm->ctx, "%s%.*s", text.ptr[0] == '-' ? "-" : "", PEL_FMT(number));
    return pel_int_from_text(r->vm, all, (unsigned)base);
}

/* PyYAML's rule: a point is needed, and an exponent has a sign. */
static bool is_real(const reader *r, pel_str text) {
    size_t at = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    size_t before = at < text.len && text.ptr[at] == '_' ? 0 : digits(text, at, "0123456789_");
    at += before;
    bool has_point = at < text.len && text.ptr[at] == '.';
    size_t after = has_point ? digits(text, at + 1, "0123456789_") : 0;
    if (has_point && !before && (!after || text.ptr[at + 1] == '_' || (text.len && text.ptr[0] != '.'))) return false;
    at += has_point + after;
    if (!before && !after) return false;
    if (at == text.len) return has_point;
    if ((text.ptr[at] != 'e' && text.ptr[at] != 'E') || (!has_point && !r->plain_exponents)) return false;
    at++;
    bool has_sign = at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+');
    if (!has_sign && !r->plain_exponents) return false;
    size_t exponent = digits(text, at + has_sign, "0123456789");
    return exponent && at + has_sign + exponent == text.len;
}

static pel_val real_number(reader *r, pel_str text) {
    size_t sign = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    pel_str rest = pel_str_from(text, sign);
    const char *word = is_one_of(rest, ".inf .Inf .INF")            ? "inf"
                       : !sign && is_one_of(rest, ".nan .NaN .NAN") ? "nan"
                                                                    : NULL;
    if (!word && !is_real(r, text)) return NULL;
    pel_str number = word ? pel_str_of(word) : without_marks(r, rest);
    double value = strtod(pel_format(r->vm->ctx, "%.*s", PEL_FMT(number)).ptr, NULL);
    return pel_float_of(r->vm, sign && text.ptr[0] == '-' ? -value : value);
}

static bool is_date(pel_str text) {
    size_t n = digits(text, 0, "0123456789");
    return n == 4 && text.len >= 8 && text.ptr[4] == '-' && digits(text, 4, "0123456789-:.TtZz +") == text.len - 4;
}

/* 1:30:00: PyYAML reads numbers of base 60. */
static pel_val base_sixty(reader *r, pel_str text) {
    size_t sign = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'), n = digits(text, sign, "0123456789_");
    size_t at = sign + n;
    pel_str first = without_marks(r, pel_str_cut(text, sign, at));
    if (!first.len || text.ptr[sign] == '_' || at >= text.len || text.ptr[at] != ':') return NULL;
    double sum = strtod(pel_format(r->vm->ctx, "%.*s", PEL_FMT(first)).ptr, NULL);
    while (at < text.len && text.ptr[at] == ':') {
        size_t two = digits(text, at + 1, "0123456789");
        if (!two || two > 2 || (two == 2 && text.ptr[at + 1] > '5')) return NULL;
        sum = sum * 60 + strtod(pel_format(r->vm->ctx, "%.*s", (int)two, text.ptr + at + 1).ptr, NULL);
        at += two + 1;
    }
    bool is_whole = at == text.len;
    if (is_whole && first.ptr[0] == '0' && text.ptr[sign] == '0') return NULL;
    if (!is_whole && (text.ptr[at] != '.' || digits(text, at + 1, "0123456789_") != text.len - at - 1)) return NULL;
    if (!is_whole) {
        pel_str rest = without_marks(r, pel_str_from(text, at));
        sum += strtod(pel_format(r->vm->ctx, "0%.*s", PEL_FMT(rest)).ptr, NULL);
    }
    if (sign && text.ptr[0] == '-') sum = -sum;
    if (sum > 9e15 || sum < -9e15) return NULL;
    return is_whole ? pel_int_of(r->vm, (int64_t)sum) : pel_float_of(r->vm, sum);
}

static pel_val plain_value(reader *r, pel_str text) {
    pel_vm *vm = r->vm;
    if (!text.len || is_one_of(text, "~ null Null NULL")) return vm->none;
    if (is_one_of(text, "true True TRUE yes Yes YES on On ON")) return vm->true_;
    if (is_one_of(text, "false False FALSE no No NO off Off OFF")) return vm->false_;
    pel_val number = whole_number(r, text);
    if (!number && !vm->raised) number = real_number(r, text);
    if (number || vm->raised) return number;
    if ((number = base_sixty(r, text))) return number;
    if (is_date(text)) return pel_symbol_of(vm, text, PEL_STR("dates and times of YAML are not read"));
    return pel_new_text(vm, text);
}

static pel_val tagged(reader *r, pel_str tag, pel_str text) {
    pel_vm *vm = r->vm;
    if (pel_str_is(tag, "!!str") || pel_str_is(tag, "!")) return pel_new_text(vm, text);
    pel_val v = plain_value(r, text);
    if (!v || !tag.len) return v;
    if (pel_str_is(tag, "!!float") && (pel_is_int(v) || pel_is_str(v)))
        return pel_float_of(vm, strtod(pel_format(vm->ctx, "%.*s", PEL_FMT(text)).ptr, NULL));
    if (is_one_of(tag, "!!int !!float !!bool !!null")) return v;
    return bad(r, "could not determine a constructor for the tag");
}

/* ---- scalars ---- */

static pel_str trimmed(pel_str text) {
    while (text.len && is_blank(text.ptr[text.len - 1])) text.len--;
    return text;
}

/* Line ends inside of a scalar: one is a space, n of them n - 1 line ends. The text ends before them. */
static uint32_t fold(reader *r, pel_buf *out) {
    uint32_t breaks = 0;
    for (skip_blanks(r); peek(r, 0) == '\n' || peek(r, 0) == '\r'; skip_blanks(r)) {
        next_line(r);
        breaks++;
    }
    for (uint32_t i = 1; i < breaks; i++) pel_put_byte(out, '\n');
    if (breaks == 1) pel_put_byte(out, ' ');
    return breaks;
}

static bool ends_plain(const reader *r, bool in_flow) {
    int c = peek(r, 0);
    if (is_break(c)) return true;
    if (c == '#' && r->at > 0 && is_space((unsigned char)r->text.ptr[r->at - 1])) return true;
    if (c == ':') return is_space(peek(r, 1)) || (in_flow && is_flow_mark(peek(r, 1)));
    return in_flow && is_flow_mark(c);
}

static pel_str plain_line(reader *r, bool in_flow) {
    size_t start = r->at;
    while (!ends_plain(r, in_flow)) r->at++;
    return trimmed(pel_str_cut(r->text, start, r->at));
}

/* The lines after the first one of a plain scalar. */
static pel_str plain_rest(reader *r, pel_str first, int min, bool in_flow) {
    pel_buf out = pel_buf_in(r->vm->ctx);
    pel_put(&out, first);
    for (;;) {
        reader before = *r;
        pel_buf gap = pel_buf_in(r->vm->ctx);
        if (peek(r, 0) == '#' || !fold(r, &gap) || is_over(r) || peek(r, 0) == '#' || (!in_flow && column(r) < min) ||
            ends_plain(r, in_flow)) {
            *r = before;
            return pel_buf_str(&out);
        }
        pel_str more = plain_line(r, in_flow);
        if (!in_flow && is_colon(r)) {
            *r = before;
            return pel_buf_str(&out);
        }
        pel_put(&out, pel_buf_str(&gap));
        pel_put(&out, more);
        pel_spend(r->vm, 2 + more.len / 16);
    }
}

static bool put_escape(reader *r, pel_buf *out) {
    static const char from[] = "0abtnvfre \"/\\\t", to[] = "\0\a\b\t\n\v\f\r\033 \"/\\\t";
    int c = peek(r, 0);
    const char *found = c > 0 ? memchr(from, c, sizeof from - 1) : NULL;
    r->at++;
    if (found) {
        pel_put_byte(out, to[found - from]);
        return true;
    }
    uint32_t n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0, point = 0;
    for (uint32_t i = 0; i < n; i++, r->at++) {
        int digit = tolower(peek(r, 0));
        if (peek(r, 0) < 0 || !isxdigit(digit)) return false;
        point = point * 16 + (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    if (c == 'N') point = 0x85, n = 1;
    if (c == '_') point = 0xA0, n = 1;
    if (c == 'L' || c == 'P') point = c == 'L' ? 0x2028 : 0x2029, n = 1;
    if (!n || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return false;
    pel_put_utf8(out, point);
    return true;
}

/* Blanks before a line end vanish, blanks inside a line stay: fold skips both, and the line count tells them apart. A
 * document marker at the start of a line is an error even inside quotes. An escaped line end joins two lines without a
 * space. */
static pel_val read_quoted(reader *r) {
    int quote = peek(r, 0);
    pel_buf out = pel_buf_in(r->vm->ctx);
    r->at++;
    for (;;) {
        int c = peek(r, 0);
        if (c < 0 || (r->at == r->line_start && is_marker(r))) return bad(r, "a quoted text does not end");
        if (c == quote && !(quote == '\'' && peek(r, 1) == '\'')) break;
        if (c == '\\' && quote == '"') {
            r->at++;
            if (peek(r, 0) == '\n' || peek(r, 0) == '\r') {
                next_line(r);
                skip_blanks(r);
            } else if (!put_escape(r, &out)) {
                return bad(r, "unknown escape");
            }
        } else if (is_blank(c) || is_break(c)) {
            size_t start = r->at;
            uint32_t line = r->line;
            pel_buf gap = pel_buf_in(r->vm->ctx);
            fold(r, &gap);
            pel_put(&out, line == r->line ? pel_str_cut(r->text, start, r->at) : pel_buf_str(&gap));
        } else {
            pel_put_byte(&out, (char)c);
            r->at += c == quote ? 2 : 1;
        }
    }
    r->at++;
    pel_str all = pel_buf_str(&out);
    pel_spend(r->vm, all.len / 16);
    return pel_new_text(r->vm, all);
}

typedef struct block_header {
    bool is_folded;
    int chomp;  /* '-', '+' or 0 */
    int indent; /* 0: that of the first line */
} block_header;

static bool read_header(reader *r, block_header *h) {
    h->is_folded = peek(r, 0) == '>';
    r->at++;
    for (;; r->at++) {
        int c = peek(r, 0);
        if (c == '-' || c == '+')
            h->chomp = c;
        else if (c >= '1' && c <= '9')
            h->indent = c - '0';
        else
            break;
    }
    skip_blanks(r);
    if (peek(r, 0) == '#')
        while (!is_break(peek(r, 0))) r->at++;
    if (!is_break(peek(r, 0))) return false;
    if (r->at < r->text.len) next_line(r);
    return true;
}

static int first_indent(reader *r) {
    reader ahead = *r;
    for (;;) {
        while (peek(&ahead, 0) == ' ') ahead.at++;
        if ((peek(&ahead, 0) != '\n' && peek(&ahead, 0) != '\r') || ahead.at >= ahead.text.len) return column(&ahead);
        next_line(&ahead);
    }
}

/* `|` keeps line ends, `>` makes spaces of those between lines that begin at the indent. */
static pel_val read_block_scalar(reader *r, int min) {
    block_header h = { 0 };
    if (!read_header(r, &h)) return bad(r, "expected a line end after | or >");
    int least = min < 1 ? 1 : min, indent = h.indent ? least + h.indent - 1 : first_indent(r);
    pel_buf out = pel_buf_in(r->vm->ctx);
    uint32_t pending = 0;
    bool any = false, was_indented = false;
    while (r->at < r->text.len) {
        reader start = *r;
        while (column(r) < indent && peek(r, 0) == ' ') r->at++;
        bool is_empty = peek(r, 0) == '\n' || peek(r, 0) == '\r';
        if (!is_empty && (column(r) < indent || indent < least || r->at >= r->text.len)) {
            *r = start;
            break;
        }
        size_t from = r->at;
        while (!is_break(peek(r, 0))) r->at++;
        pel_str line = pel_str_cut(r->text, from, r->at);
        if (r->at < r->text.len) next_line(r);
        pel_spend(r->vm, 1 + line.len / 16);
        if (is_empty) {
            pending++;
            continue;
        }
        bool is_indented = line.len && is_blank(line.ptr[0]);
        bool joins = h.is_folded && any && !is_indented && !was_indented;
        if (any && !joins) pel_put_byte(&out, '\n');
        if (joins && !pending) pel_put_byte(&out, ' ');
        for (; pending; pending--) pel_put_byte(&out, '\n');
        pel_put(&out, line);
        was_indented = is_indented;
        any = true;
    }
    if (any && h.chomp != '-') pel_put_byte(&out, '\n');
    for (; pending && h.chomp == '+'; pending--) pel_put_byte(&out, '\n');
    return pel_new_text(r->vm, pel_buf_str(&out));
}

/* ---- anchors, tags, pairs ---- */

static pel_str word(reader *r) {
    size_t start = r->at;
    while (!is_space(peek(r, 0)) && !is_flow_mark(peek(r, 0))) r->at++;
    return pel_str_cut(r->text, start, r->at);
}

static properties read_properties(reader *r, bool *crossed) {
    properties p = { 0 };
    *crossed = false;
    while (peek(r, 0) == '&' || peek(r, 0) == '!') {
        bool is_anchor = peek(r, 0) == '&';
        pel_str text = word(r);
        if (is_anchor)
            p.anchor = pel_str_from(text, 1);
        else
            p.tag = text;
        p.any = true;
        *crossed |= skip(r);
    }
    return p;
}

static pel_val finish(reader *r, const properties *p, pel_val v) {
    if (v && p->anchor.len) pel_push(r->vm->ctx, &r->anchors, ((anchor){ p->anchor, v }));
    return v;
}

static pel_val read_alias(reader *r) {
    r->at++;
    pel_str name = word(r);
    for (uint32_t i = r->anchors.n; i > 0; i--)
        if (pel_str_eq(r->anchors.at[i - 1].name, name)) return r->anchors.at[i - 1].value;
    return bad(r, "an alias of something that is not known, or not complete");
}

typedef struct pairs { /* merged ones are overridden by the others */
    pel_val own, merged;
} pairs;

static bool merge(reader *r, pairs *into, pel_val from) {
    pel_vm *vm = r->vm;
    uint32_t at = 0, n;
    if (pel_is_list(from)) {
        pel_val *items = pel_items(from, &n);
        for (uint32_t i = n; i > 0; i--)
            if (pel_is_list(items[i - 1]) || !merge(r, into, items[i - 1])) return bad(r, "<< takes mappings") != NULL;
        return true;
    }
    if (!pel_is_dict(from)) return bad(r, "<< takes mappings") != NULL;
    if (!into->merged) into->merged = pel_new_dict(vm);
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(from), &at));) {
        pel_spend(vm, 1);
        if (!pel_dict_set(vm, pel_dict_at(into->merged), entry->key, entry->value)) return false;
    }
    return true;
}

static bool put_pair(reader *r, pairs *into, pel_val key, pel_val value) {
    if (!value) return false;
    if (pel_is_str(key) && pel_str_is(pel_text_of(key), "<<")) return merge(r, into, value);
    if (pel_is_list(key) || pel_is_dict(key)) return bad(r, "a collection as key is not read") != NULL;
    return pel_dict_set(r->vm, pel_dict_at(into->own), key, value);
}

static pel_val all_pairs(reader *r, pairs *p) {
    if (!p->merged) return p->own;
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(p->own), &at));)
        if (!pel_dict_set(r->vm, pel_dict_at(p->merged), entry->key, entry->value)) return NULL;
    return p->merged;
}

/* ---- flow ---- */

static pel_val flow_scalar(reader *r, pel_str tag) {
    int c = peek(r, 0);
    if (c == '"' || c == '\'') return read_quoted(r);
    if (c == '*') return read_alias(r);
    if (c == '[' || c == '{') return read_flow(r);
    if (c == '-' && (is_space(peek(r, 1)) || is_flow_mark(peek(r, 1)))) return bad(r, "- inside of brackets");
    if (c == '%' || c == '@' || c == '`') return bad(r, "a character that can't begin a token");
    pel_str first = plain_line(r, true);
    return tagged(r, tag, plain_rest(r, first, 0, true));
}

static pel_val flow_node(reader *r) {
    bool crossed;
    skip(r);
    properties p = read_properties(r, &crossed);
    int c = peek(r, 0);
    if (c == ',' || c == ']' || c == '}' || (c == ':' && ends_plain(r, true)))
        return p.any ? finish(r, &p, tagged(r, p.tag, (pel_str){ "", 0 })) : r->vm->none;
    pel_val made = flow_scalar(r, p.tag);
    if (made && p.tag.len && (pel_is_list(made) || pel_is_dict(made)))
        return bad(r, "expected a scalar after that tag");
    return finish(r, &p, made);
}

static bool flow_colon(reader *r, bool was_quoted) {
    skip(r);
    if (peek(r, 0) != ':' || !(was_quoted || is_space(peek(r, 1)) || is_flow_mark(peek(r, 1)))) return false;
    r->at++;
    return true;
}

static bool flow_item(reader *r, bool is_list, pel_val list, pairs *all) {
    int c = peek(r, 0);
    bool was_quoted = c == '"' || c == '\'' || c == '[' || c == '{';
    pel_val key = flow_node(r);
    if (!key) return false;
    bool has_value = flow_colon(r, was_quoted);
    pel_val value = has_value ? flow_node(r) : r->vm->none;
    if (!value) return false;
    if (!is_list) return put_pair(r, all, key, value);
    if (has_value) {
        pairs one = { pel_new_dict(r->vm), NULL };
        if (!put_pair(r, &one, key, value) || !(key = all_pairs(r, &one))) return false;
    }
    pel_list_push(r->vm, list, key);
    return true;
}

static pel_val read_flow(reader *r) {
    pel_vm *vm = r->vm;
    bool is_list = peek(r, 0) == '[';
    int end = is_list ? ']' : '}';
    if (r->depth >= MAX_DEPTH) return bad(r, "nested too deep");
    r->depth++;
    r->at++;
    pel_val list = is_list ? pel_list_of(vm, NULL, 0) : NULL;
    pairs all = { is_list ? NULL : pel_new_dict(vm), NULL };
    for (skip(r); peek(r, 0) != end; skip(r)) {
        pel_spend(vm, 4);
        if (peek(r, 0) < 0 || peek(r, 0) == ',') return bad(r, "expected a value");
        if (!flow_item(r, is_list, list, &all)) return NULL;
        skip(r);
        if (peek(r, 0) == ',')
            r->at++;
        else if (peek(r, 0) != end)
            return bad(r, "expected ',' or the closing bracket");
    }
    r->at++;
    r->depth--;
    return is_list ? list : all_pairs(r, &all);
}

/* ---- blocks ---- */

/* After "- " or "key:"; at: the column of what it belongs to. */
static pel_val block_value(reader *r, int at, bool is_item) {
    if (!skip(r) && !is_over(r)) return read_block(r, (place){ at + 1, !is_item });
    if (is_over(r)) return r->vm->none;
    if (!is_item && column(r) == at && is_dash(r)) return read_block(r, (place){ at, false });
    return column(r) > at ? read_block(r, (place){ at + 1, false }) : r->vm->none;
}

static pel_val read_sequence(reader *r) {
    int at = column(r);
    pel_val list = pel_list_of(r->vm, NULL, 0);
    while (!is_over(r) && column(r) == at && is_dash(r)) {
        pel_spend(r->vm, 4);
        r->at++;
        pel_val item = block_value(r, at, true);
        if (!item) return NULL;
        pel_list_push(r->vm, list, item);
        skip(r);
    }
    if (!is_over(r) && column(r) > at) return bad(r, "a line that fits no level");
    return list;
}

static pel_val read_key(reader *r) {
    int c = peek(r, 0);
    bool crossed;
    if (c == '?' && is_space(peek(r, 1))) return bad(r, "? keys are not read");
    properties p = read_properties(r, &crossed);
    c = peek(r, 0);
    pel_val key = c == '"' || c == '\'' ? read_quoted(r)
                  : c == '*'            ? read_alias(r)
                                        : tagged(r, p.tag, plain_line(r, false));
    skip_blanks(r);
    if (!key || !is_colon(r)) return bad(r, "could not find expected ':'");
    r->at++;
    return finish(r, &p, key);
}

static pel_val read_mapping(reader *r) {
    int at = column(r);
    pairs all = { pel_new_dict(r->vm), NULL };
    while (!is_over(r) && column(r) == at && !is_dash(r)) {
        pel_spend(r->vm, 4);
        pel_val key = read_key(r);
        if (!key || !put_pair(r, &all, key, block_value(r, at, false))) return NULL;
        skip(r);
    }
    if (!is_over(r) && column(r) > at) return bad(r, "a line that fits no level");
    return all_pairs(r, &all);
}

/* Whether the line goes on with a key: "name:" or "'name':". */
static bool begins_mapping(const reader *r) {
    reader ahead = *r;
    int c = peek(&ahead, 0);
    if (c == '"' || c == '\'') {
        for (ahead.at++; !is_break(peek(&ahead, 0)) && peek(&ahead, 0) != c; ahead.at++)
            if (c == '"' && peek(&ahead, 0) == '\\') ahead.at++;
        while (c == '\'' && peek(&ahead, 0) == c && peek(&ahead, 1) == c)
            for (ahead.at += 2; !is_break(peek(&ahead, 0)) && peek(&ahead, 0) != c;) ahead.at++;
        ahead.at++;
    } else if (c == '*') {
        word(&ahead);
    } else {
        plain_line(&ahead, false);
    }
    skip_blanks(&ahead);
    return is_colon(&ahead);
}

static pel_val block_content(reader *r, place where, pel_str tag) {
    int c = peek(r, 0);
    if (is_dash(r)) return where.is_inline ? bad(r, "a sequence can't begin here") : read_sequence(r);
    if (c == '?' && is_space(peek(r, 1))) return bad(r, "? keys are not read");
    if (c == ',' || c == ']' || c == '}') return bad(r, "expected a value");
    if (c == '|' || c == '>') return read_block_scalar(r, where.min);
    if (c == '[' || c == '{') return read_flow(r);
    if (c == '%' || c == '@' || c == '`') return bad(r, "a character that can't begin a token");
    if (begins_mapping(r)) return where.is_inline ? bad(r, "mapping values are not allowed here") : read_mapping(r);
    if (c == '"' || c == '\'') return read_quoted(r);
    if (c == '*') return read_alias(r);
    pel_str first = plain_line(r, false);
    return tagged(r, tag, plain_rest(r, first, where.min, false));
}

static pel_val read_block(reader *r, place where) {
    bool crossed;
    if (r->depth >= MAX_DEPTH) return bad(r, "nested too deep");
    if (begins_mapping(r) && !where.is_inline && (peek(r, 0) == '&' || peek(r, 0) == '!')) {
        /* "&a key: value": the anchor is the key's */
        r->depth++;
        pel_val made = read_mapping(r);
        r->depth--;
        return made;
    }
    properties p = read_properties(r, &crossed);
    if (crossed) where.is_inline = false;
    if (is_over(r) || (crossed && column(r) < where.min && !(column(r) == where.min - 1 && is_dash(r))))
        return finish(r, &p, tagged(r, p.tag, (pel_str){ "", 0 }));
    bool is_ours = !p.tag.len || is_one_of(p.tag, "! !!str !!int !!float !!bool !!null !!map !!seq");
    if (!is_ours) return bad(r, "could not determine a constructor for the tag");
    if (p.any && !crossed && is_dash(r)) return bad(r, "a sequence can't begin here");
    if (is_one_of(p.tag, "!!map !!seq")) p.tag = (pel_str){ "", 0 };
    r->depth++;
    pel_val made = block_content(r, where, p.tag);
    r->depth--;
    if (made && p.tag.len && (pel_is_list(made) || pel_is_dict(made)))
        return bad(r, "expected a scalar after that tag");
    return finish(r, &p, made);
}

/* ---- documents ---- */

static pel_val read_document(reader *r) {
    r->anchors.n = 0;
    skip(r);
    while (peek(r, 0) == '%' && r->at == r->line_start) { /* %YAML, %TAG */
        while (!is_break(peek(r, 0))) r->at++;
        skip(r);
    }
    if (is_marker(r) && peek(r, 0) == '-') {
        r->at += 3;
        skip(r);
    }
    pel_val made = is_over(r) ? r->vm->none : read_block(r, (place){ 0, false });
    if (!made) return NULL;
    skip(r);
    if (!is_over(r)) return bad(r, "expected the end of the document");
    while (is_marker(r) && peek(r, 0) == '.') {
        r->at += 3;
        skip(r);
    }
    return made;
}

pel_val pel_yaml_documents(pel_vm *vm, pel_str text, bool plain_exponents) {
    reader r = { .vm = vm, .text = text, .line = 1, .plain_exponents = plain_exponents };
    if (pel_str_starts(text, PEL_STR("\xEF\xBB\xBF"))) r.at = r.line_start = 3;
    pel_val all = pel_list_of(vm, NULL, 0);
    pel_spend(vm, text.len / 16);
    for (skip(&r); r.at < text.len; skip(&r)) {
        pel_val one = read_document(&r);
        if (!one) return NULL;
        pel_list_push(vm, all, one);
    }
    return all;
}
