/* A pattern becomes a tree, the tree a program, and the program is run by a machine that keeps what it may go back to
 * on a stack of its own. */
#include "python/regex.h"

#include "python/unicode.h"

#include <stdlib.h>

enum { MAX_DEPTH = 200, MAX_REPEAT_COPIES = 1000, MAX_PROGRAM = 200000, MAX_GROUPS = 1000, UNLIMITED = UINT32_MAX };

/* ---- the tree ---- */

typedef enum node_kind {
    N_EMPTY,
    N_CHAR,
    N_ANY,
    N_CLASS,
    N_CAT,    /* left, right */
    N_ALT,    /* left, right */
    N_REPEAT, /* left; min, max, lazy, possessive */
    N_GROUP,  /* left; number */
    N_ATOMIC, /* left */
    N_BACK,   /* number */
    N_WHERE,  /* number: enum where */
    N_LOOK,   /* left; behind, negative */
    N_IF,     /* number: group; left, right */
} node_kind;

typedef enum where {
    AT_START,
    AT_END,
    AT_END_ONLY,
    AT_LINE_START,
    AT_LINE_END,
    AT_WORD,
    AT_NO_WORD,
    AT_TEXT_START
} where;

typedef struct range {
    uint32_t first, last;
} range;

typedef struct class {
    PEL_VEC(range) ranges;
    uint32_t kinds; /* bits of 'd', 'w', 's' and of their opposites */
    bool is_negated;
} class;

enum { KIND_D = 1, KIND_W = 2, KIND_S = 4, KIND_NOT_D = 8, KIND_NOT_W = 16, KIND_NOT_S = 32 };

typedef struct node {
    node_kind kind;
    struct node *left, *right;
    uint32_t min, max;
    uint32_t value; /* character, number of a group or class, enum where */
    uint32_t flags; /* those in force here */
    bool lazy, possessive, behind, negative;
} node;

/* ---- the program ---- */

typedef enum op {
    OP_CHAR,
    OP_ANY,
    OP_CLASS,
    OP_WHERE,
    OP_BACK,
    OP_SAVE,  /* a: slot */
    OP_SPLIT, /* first a, then b */
    OP_JUMP,  /* a */
    OP_MARK,  /* a: slot that takes the position, to tell whether a round of a loop took anything */
    OP_MOVED, /* skips the jump back that follows if the position is still that of slot a */
    OP_LOOK,  /* what follows is matched for itself; then on at a. flags: negative, behind (b: how far back) */
    OP_ATOM,  /* the same, but what it took is kept */
    OP_DONE,  /* end of what LOOK, ATOM or the whole program match */
    OP_HAS,   /* group a took part: go on, else jump to b */
} op;

typedef struct instruction {
    uint8_t op;
    bool negative, behind;
    uint32_t flags;
    uint32_t a, b;
} instruction;

typedef struct pel_regex_program {
    PEL_VEC(instruction) code;
    PEL_VEC(class) classes;
    uint32_t n_slots; /* two for each group, then the marks */
    bool is_bytes;
    struct machine *machine; /* kept from one run to the next for the sake of its memory */
} program;

/* ---- reading a pattern ---- */

typedef struct parser {
    pel_ctx *ctx;
    pel_str text;
    size_t at;
    uint32_t flags;
    int depth;
    pel_regex *regex;
    program *out;
} parser;

_Noreturn static void fail(parser *p, const char *what) {
    pel_throw(p->ctx, PEL_E_SYNTAX, p->at, "regular expression: %s", what);
}

/* The character at *at of text, and *at after it. Bytes that are no UTF-8 count as characters of their own. */
static uint32_t decode(bool is_bytes, pel_str text, size_t *at) {
    unsigned char first = (unsigned char)text.ptr[(*at)++];
    if (is_bytes || first < 0xC0) return first;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    uint32_t point = first & (0x3Fu >> more);
    for (; more && *at < text.len && ((unsigned char)text.ptr[*at] & 0xC0) == 0x80; more--)
        point = point << 6 | ((unsigned char)text.ptr[(*at)++] & 0x3Fu);
    return point;
}

static int peek(const parser *p) { return p->at < p->text.len ? (unsigned char)p->text.ptr[p->at] : -1; }

static bool take(parser *p, const char *word) {
    size_t len = strlen(word);
    if (p->text.len - p->at < len || memcmp(p->text.ptr + p->at, word, len) != 0) return false;
    p->at += len;
    return true;
}

static node *make(parser *p, node_kind kind) {
    node *n = pel_new(p->ctx, node);
    n->kind = kind;
    n->flags = p->flags;
    return n;
}

static node *pair(parser *p, node_kind kind, node *left, node *right) {
    node *n = make(p, kind);
    n->left = left;
    n->right = right;
    return n;
}

static node *character(parser *p, uint32_t value) {
    node *n = make(p, N_CHAR);
    n->value = value;
    return n;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static int hex_digit(int c) {
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static uint32_t read_hex(parser *p, int digits) {
    uint32_t value = 0;
    for (; digits; digits--) {
        int digit = hex_digit(peek(p));
        if (digit < 0) fail(p, "an escape needs more hexadecimal digits");
        value = value << 4 | (uint32_t)digit;
        p->at++;
    }
    return value;
}

static uint32_t read_number(parser *p) {
    uint64_t value = 0;
    while (is_digit(peek(p)) && value < UNLIMITED) value = value * 10 + (uint64_t)(p->text.ptr[p->at++] - '0');
    if (value >= UNLIMITED) fail(p, "a number is too large");
    return (uint32_t)value;
}

/* Escapes that mean one character, inside of a class and outside; the backslash is taken. */
static bool read_escaped_character(parser *p, uint32_t *value) {
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    int c = peek(p);
    if (c < 0) fail(p, "a backslash ends the pattern");
    const char *known = strchr(names, c);
    if (known && c != 'b') {
        p->at++;
        *value = (unsigned char)values[known - names];
        return true;
    }
    if (c == 'x' || c == 'u' || c == 'U') {
        p->at++;
        *value = read_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        return true;
    }
    if (c == '0') {
        *value = 0;
        for (int i = 0; i < 3 && peek(p) >= '0' && peek(p) <= '7'; i++)
            *value = *value * 8 + (uint32_t)(p->text.ptr[p->at++] - '0');
        return true;
    }
    if (is_digit(c)) return false;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return false;
    *value = decode(p->out->is_bytes, p->text, &p->at);
    return true;
}

static uint32_t class_kind(int c) {
    static const char letters[] = "dwsDWS";
    const char *found = c > 0 ? strchr(letters, c) : NULL;
    return found ? 1u << (found - letters) : 0;
}

static node *class_node(parser *p, class made) {
    node *n = make(p, N_CLASS);
    n->value = p->out->classes.n;
    pel_push(p->ctx, &p->out->classes, made);
    return n;
}

/* One end of a range, or a kind such as \d: then *kind is set. */
static uint32_t read_class_item(parser *p, uint32_t *kind) {
    uint32_t value;
    *kind = 0;
    if (peek(p) != '\\') return decode(p->out->is_bytes, p->text, &p->at);
    p->at++;
    if ((*kind = class_kind(peek(p)))) {
        p->at++;
        return 0;
    }
    if (peek(p) == 'b') {
        p->at++;
        return '\b';
    }
    if (is_digit(peek(p))) { /* octal */
        value = 0;
        for (int i = 0; i < 3 && peek(p) >= '0' && peek(p) <= '7'; i++)
            value = value * 8 + (uint32_t)(p->text.ptr[p->at++] - '0');
        return value;
    }
    if (!read_escaped_character(p, &value)) fail(p, "an unknown escape in a class");
    return value;
}

static node *parse_class(parser *p) {
    class made = { .is_negated = take(p, "^") };
    for (bool first = true; first || peek(p) != ']'; first = false) {
        uint32_t kind, other;
        if (peek(p) < 0) fail(p, "a class does not end");
        uint32_t from = read_class_item(p, &kind);
        if (kind) {
            made.kinds |= kind;
            continue;
        }
        uint32_t to = from;
        if (peek(p) == '-' && p->at + 1 < p->text.len && p->text.ptr[p->at + 1] != ']') {
            p->at++;
            to = read_class_item(p, &other);
            if (other || to < from) fail(p, "a range goes backwards");
        }
        pel_push(p->ctx, &made.ranges, (range){ from, to });
    }
    p->at++;
    return class_node(p, made);
}

static node *at_place(parser *p, where value) {
    node *n = make(p, N_WHERE);
    n->value = value;
    return n;
}

static node *back_reference(parser *p, uint32_t group) {
    if (group > p->regex->n_groups) fail(p, "a reference to a group that is not there");
    node *n = make(p, N_BACK);
    n->value = group;
    return n;
}

static node *parse_escape(parser *p) {
    uint32_t value, kind;
    int c = peek(p);
    if ((kind = class_kind(c))) {
        p->at++;
        return class_node(p, (class){ .kinds = kind });
    }
    static const struct {
        char letter;
        uint8_t place;
    } places[] = { { 'b', AT_WORD }, { 'B', AT_NO_WORD }, { 'A', AT_TEXT_START }, { 'Z', AT_END_ONLY } };
    for (size_t i = 0; i < PEL_COUNT(places); i++)
        if (c == places[i].letter) {
            p->at++;
            return at_place(p, places[i].place);
        }
    if (c > '0' && c <= '9') {
        uint32_t group = (uint32_t)(p->text.ptr[p->at++] - '0');
        if (is_digit(peek(p))) group = group * 10 + (uint32_t)(p->text.ptr[p->at++] - '0');
        return back_reference(p, group);
    }
    if (!read_escaped_character(p, &value)) fail(p, "an unknown escape");
    return character(p, value);
}

static node *parse_choice(parser *p);

static uint32_t flag_of(int c) {
    switch (c) {
    case 'i': return PEL_RE_IGNORECASE;
    case 'm': return PEL_RE_MULTILINE;
    case 's': return PEL_RE_DOTALL;
    case 'x': return PEL_RE_VERBOSE;
    case 'a': return PEL_RE_ASCII;
    default: return 0;
    }
}

static void expect_close(parser *p) {
    if (!take(p, ")")) fail(p, "a parenthesis does not close");
}

static pel_name read_group_name(parser *p, int close) {
    size_t start = p->at;
    while (peek(p) >= 0 && peek(p) != close) p->at++;
    if (peek(p) < 0 || p->at == start) fail(p, "a group has no name");
    pel_name name = pel_intern(p->ctx, p->text.ptr + start, p->at - start);
    p->at++;
    return name;
}

static uint32_t group_named(parser *p, pel_name name) {
    for (uint32_t i = 0; i < p->regex->names.n; i++)
        if (p->regex->names.at[i].name == name) return p->regex->names.at[i].group;
    fail(p, "a reference to a group that is not there");
}

static node *parse_group(parser *p, pel_name name) {
    if (p->regex->n_groups == MAX_GROUPS) fail(p, "too many groups");
    node *n = make(p, N_GROUP);
    n->value = ++p->regex->n_groups;
    if (name) pel_push(p->ctx, &p->regex->names, (pel_regex_name){ name, n->value });
    n->left = parse_choice(p);
    expect_close(p);
    return n;
}

/* (?(1)yes|no) */
static node *parse_condition(parser *p) {
    node *n = make(p, N_IF);
    if (is_digit(peek(p))) {
        n->value = read_number(p);
        expect_close(p);
    } else {
        n->value = group_named(p, read_group_name(p, ')'));
    }
    if (n->value > p->regex->n_groups) fail(p, "a reference to a group that is not there");
    node *both = parse_choice(p);
    expect_close(p);
    n->left = both->kind == N_ALT ? both->left : both;
    n->right = both->kind == N_ALT ? both->right : make(p, N_EMPTY);
    return n;
}

/* (?i) for all that follows, (?i-s:...) for what is inside. */
static node *parse_flags(parser *p) {
    uint32_t on = 0, off = 0, *set = &on, flag;
    uint32_t before = p->flags;
    for (;; p->at++) {
        int c = peek(p);
        if (c == '-' && set == &on)
            set = &off;
        else if ((flag = flag_of(c)))
            *set |= flag;
        else if (c != 'u' && c != 'L')
            break;
    }
    p->flags = (p->flags | on) & ~off;
    if (take(p, ")")) {
        p->regex->flags |= on;
        return make(p, N_EMPTY);
    }
    if (!take(p, ":")) fail(p, "unknown extension after (?");
    node *inner = parse_choice(p);
    expect_close(p);
    p->flags = before;
    return inner;
}

/* The order counts: longer beginnings come before `?` alone, which leaves all others to parse_flags to read or refuse.
 * Flags that are set inside of `(?:` end with it. */
static node *parse_parenthesis(parser *p) {
    static const struct {
        const char *begin;
        bool behind, negative;
    } looks[] = { { "?=", false, false }, { "?!", false, true }, { "?<=", true, false }, { "?<!", true, true } };
    for (size_t i = 0; i < PEL_COUNT(looks); i++) {
        if (!take(p, looks[i].begin)) continue;
        node *n = make(p, N_LOOK);
        n->behind = looks[i].behind;
        n->negative = looks[i].negative;
        n->left = parse_choice(p);
        expect_close(p);
        return n;
    }
    if (take(p, "?:") || take(p, "?>")) {
        bool is_atomic = p->text.ptr[p->at - 1] == '>';
        uint32_t before = p->flags;
        node *inner = parse_choice(p);
        expect_close(p);
        p->flags = before;
        return is_atomic ? pair(p, N_ATOMIC, inner, NULL) : inner;
    }
    if (take(p, "?#")) {
        while (peek(p) >= 0 && peek(p) != ')') p->at++;
        expect_close(p);
        return make(p, N_EMPTY);
    }
    if (take(p, "?P<")) return parse_group(p, read_group_name(p, '>'));
    if (take(p, "?P=")) return back_reference(p, group_named(p, read_group_name(p, ')')));
    if (take(p, "?(")) return parse_condition(p);
    if (take(p, "?")) return parse_flags(p);
    return parse_group(p, NULL);
}

static void skip_verbose(parser *p) {
    while (p->flags & PEL_RE_VERBOSE && p->at < p->text.len) {
        if (peek(p) == '#')
            while (peek(p) >= 0 && peek(p) != '\n') p->at++;
        else if (memchr(" \t\n\r\f\v", peek(p), 6))
            p->at++;
        else
            break;
    }
}

static node *parse_atom(parser *p) {
    int c = peek(p);
    switch (c) {
    case '(': {
        p->at++;
        if (++p->depth > (int)MAX_DEPTH)
            pel_throw(p->ctx, PEL_E_TOO_DEEP, p->at, "parentheses nest deeper than %d", MAX_DEPTH);
        node *n = parse_parenthesis(p);
        p->depth--;
        return n;
    }
    case '[': p->at++; return parse_class(p);
    case '.': p->at++; return make(p, N_ANY);
    case '^': p->at++; return at_place(p, p->flags & PEL_RE_MULTILINE ? AT_LINE_START : AT_START);
    case '$': p->at++; return at_place(p, p->flags & PEL_RE_MULTILINE ? AT_LINE_END : AT_END);
    case '\\': p->at++; return parse_escape(p);
    case '*':
    case '+':
    case '?': fail(p, "nothing to repeat");
    default: return character(p, decode(p->out->is_bytes, p->text, &p->at));
    }
}

/* {2,5}: false if the braces are just characters. */
static bool read_counts(parser *p, uint32_t *min, uint32_t *max) {
    size_t start = p->at++;
    bool has_min = is_digit(peek(p));
    *min = has_min ? read_number(p) : 0;
    *max = *min;
    bool has_comma = take(p, ",");
    if (has_comma) *max = is_digit(peek(p)) ? read_number(p) : UNLIMITED;
    if (!(has_min || has_comma) || !take(p, "}")) {
        p->at = start;
        return false;
    }
    if (*max < *min) fail(p, "a repeat's maximum is less than its minimum");
    return true;
}

static bool is_repeat(int c) { return c == '*' || c == '+' || c == '?'; }

static node *parse_repeat(parser *p) {
    node *n = parse_atom(p);
    skip_verbose(p);
    uint32_t min = 0, max = UNLIMITED;
    if (take(p, "+"))
        min = 1;
    else if (take(p, "?"))
        max = 1;
    else if (!take(p, "*") && (peek(p) != '{' || !read_counts(p, &min, &max)))
        return n;
    if (n->kind == N_WHERE) fail(p, "nothing to repeat");
    node *repeat = pair(p, N_REPEAT, n, NULL);
    repeat->min = min;
    repeat->max = max;
    repeat->lazy = take(p, "?");
    repeat->possessive = !repeat->lazy && take(p, "+");
    skip_verbose(p);
    if (is_repeat(peek(p)) || (peek(p) == '{' && read_counts(p, &min, &max))) fail(p, "a repeat of a repeat");
    return repeat;
}

static node *parse_sequence(parser *p) {
    node *all = NULL;
    for (;;) {
        skip_verbose(p);
        int c = peek(p);
        if (c < 0 || c == '|' || c == ')') return all ? all : make(p, N_EMPTY);
        node *one = parse_repeat(p);
        all = all ? pair(p, N_CAT, all, one) : one;
    }
}

static node *parse_choice(parser *p) {
    node *all = parse_sequence(p);
    while (take(p, "|")) all = pair(p, N_ALT, all, parse_sequence(p));
    return all;
}

/* ---- writing the program ---- */

static uint32_t put(parser *p, instruction made) {
    if (p->out->code.n >= MAX_PROGRAM) pel_throw(p->ctx, PEL_E_TOO_BIG, p->at, "a regular expression is too large");
    pel_push(p->ctx, &p->out->code, made);
    return p->out->code.n - 1;
}

static bool may_be_empty(const node *n) {
    switch (n->kind) {
    case N_CHAR:
    case N_ANY:
    case N_CLASS: return false;
    case N_CAT: return may_be_empty(n->left) && may_be_empty(n->right);
    case N_ALT:
    case N_IF: return may_be_empty(n->left) || may_be_empty(n->right);
    case N_REPEAT: return !n->min || may_be_empty(n->left);
    case N_GROUP:
    case N_ATOMIC: return may_be_empty(n->left);
    default: return true;
    }
}

/* Characters that a node always takes; false if that is not one number. */
static bool fixed_width(const node *n, uint32_t *width) {
    uint32_t left, right;
    switch (n->kind) {
    case N_CHAR:
    case N_ANY:
    case N_CLASS: *width = 1; return true;
    case N_EMPTY:
    case N_WHERE:
    case N_LOOK: *width = 0; return true;
    case N_CAT:
        if (!fixed_width(n->left, &left) || !fixed_width(n->right, &right)) return false;
        return !__builtin_add_overflow(left, right, width);
    case N_ALT:
        if (!fixed_width(n->left, width) || !fixed_width(n->right, &right)) return false;
        return *width == right;
    case N_REPEAT:
        if (n->min != n->max || !fixed_width(n->left, &left)) return false;
        return !__builtin_mul_overflow(left, n->min, width);
    case N_GROUP:
    case N_ATOMIC: return fixed_width(n->left, width);
    default: return false;
    }
}

static void emit(parser *p, const node *n, int depth);

/* split over one more round; `skip` is where the instruction goes that must learn the end. */
static uint32_t put_split(parser *p, bool lazy) {
    uint32_t at = put(p, (instruction){ .op = OP_SPLIT });
    p->out->code.at[at].a = p->out->code.at[at].b = at + 1;
    p->out->code.at[at].negative = lazy;
    return at;
}

static void set_exit(parser *p, uint32_t split) {
    instruction *i = &p->out->code.at[split];
    *(i->negative ? &i->a : &i->b) = p->out->code.n;
    i->negative = false;
}

static void emit_repeat(parser *p, const node *n, int depth) {
    if (n->min > MAX_REPEAT_COPIES || (n->max != UNLIMITED && n->max > MAX_REPEAT_COPIES))
        pel_throw(p->ctx, PEL_E_TOO_BIG, p->at, "a repeat of more than %d times", MAX_REPEAT_COPIES);
    for (uint32_t i = 0; i < n->min; i++) emit(p, n->left, depth);
    if (n->max == UNLIMITED) {
        bool may_stand = may_be_empty(n->left);
        uint32_t split = put_split(p, n->lazy), mark = 0;
        if (may_stand) put(p, (instruction){ .op = OP_MARK, .a = mark = p->out->n_slots++ });
        emit(p, n->left, depth);
        if (may_stand) put(p, (instruction){ .op = OP_MOVED, .a = mark });
        put(p, (instruction){ .op = OP_JUMP, .a = split });
        set_exit(p, split);
        return;
    }
    PEL_VEC(uint32_t) splits = { 0 };
    for (uint32_t i = n->min; i < n->max; i++) {
        pel_push(p->ctx, &splits, put_split(p, n->lazy));
        emit(p, n->left, depth);
    }
    for (uint32_t i = 0; i < splits.n; i++) set_exit(p, splits.at[i]);
}

static void emit_choice(parser *p, const node *n, int depth) {
    uint32_t split = put_split(p, false);
    emit(p, n->left, depth);
    uint32_t jump = put(p, (instruction){ .op = OP_JUMP });
    set_exit(p, split);
    emit(p, n->right, depth);
    p->out->code.at[jump].a = p->out->code.n;
}

static void emit_inside(parser *p, instruction begin, const node *inner, int depth) {
    uint32_t at = put(p, begin);
    emit(p, inner, depth);
    put(p, (instruction){ .op = OP_DONE });
    p->out->code.at[at].a = p->out->code.n;
}

static void emit(parser *p, const node *n, int depth) {
    /* a sequence leans to the left and is as deep as it is long: walk down it */
    const node *spine[64];
    size_t n_spine = 0;
    while (n->kind == N_CAT && n_spine < PEL_COUNT(spine)) {
        spine[n_spine++] = n;
        n = n->left;
    }
    if (++depth > 5000) pel_throw(p->ctx, PEL_E_TOO_DEEP, p->at, "a regular expression nests too deep");
    switch (n->kind) {
    case N_EMPTY: break;
    case N_CHAR: put(p, (instruction){ .op = OP_CHAR, .a = n->value, .flags = n->flags }); break;
    case N_ANY: put(p, (instruction){ .op = OP_ANY, .flags = n->flags }); break;
    case N_CLASS: put(p, (instruction){ .op = OP_CLASS, .a = n->value, .flags = n->flags }); break;
    case N_CAT:
        emit(p, n->left, depth);
        emit(p, n->right, depth);
        break;
    case N_ALT: emit_choice(p, n, depth); break;
    case N_REPEAT:
        if (n->possessive) {
            node greedy = *n;
            greedy.possessive = false;
            emit_inside(p, (instruction){ .op = OP_ATOM }, &greedy, depth);
        } else {
            emit_repeat(p, n, depth);
        }
        break;
    case N_GROUP:
        put(p, (instruction){ .op = OP_SAVE, .a = 2 * n->value });
        emit(p, n->left, depth);
        put(p, (instruction){ .op = OP_SAVE, .a = 2 * n->value + 1 });
        break;
    case N_ATOMIC: emit_inside(p, (instruction){ .op = OP_ATOM }, n->left, depth); break;
    case N_BACK: put(p, (instruction){ .op = OP_BACK, .a = n->value, .flags = n->flags }); break;
    case N_WHERE: put(p, (instruction){ .op = OP_WHERE, .a = n->value, .flags = n->flags }); break;
    case N_LOOK: {
        uint32_t width = 0;
        if (n->behind && !fixed_width(n->left, &width)) fail(p, "look-behind needs a pattern of fixed width");
        emit_inside(p, (instruction){ .op = OP_LOOK, .negative = n->negative, .behind = n->behind, .b = width },
                    n->left, depth);
        break;
    }
    case N_IF: {
        uint32_t has = put(p, (instruction){ .op = OP_HAS, .a = n->value });
        emit(p, n->left, depth);
        uint32_t jump = put(p, (instruction){ .op = OP_JUMP });
        p->out->code.at[has].b = p->out->code.n;
        emit(p, n->right, depth);
        p->out->code.at[jump].a = p->out->code.n;
        break;
    }
    }
    while (n_spine) emit(p, spine[--n_spine]->right, depth);
}

/* ---- matching ---- */

/* What to go back to: go on at `pc` from `position`; or, pc == RESTORE, give slot `slot` its old value again; or,
 * pc == FENCE, the bottom of what a LOOK or ATOM may go back to. */
typedef struct choice {
    uint32_t pc, slot;
    int64_t position;
} choice;
#define RESTORE UINT32_MAX
#define FENCE (UINT32_MAX - 1)

/* A LOOK or ATOM that is under way. */
typedef struct pending {
    uint32_t pc;      /* of the instruction */
    uint32_t n_stack; /* when it began */
    size_t position;
} pending;

typedef struct machine {
    pel_ctx *ctx;
    const program *program;
    pel_str text; /* up to the end that counts */
    int64_t *slots;
    PEL_VEC(choice) stack;
    PEL_VEC(pending) inside;
    uint64_t steps;
} machine;

static uint32_t folded(uint32_t c) {
    if (c >= 'A' && c <= 'Z') return c + 32;
    if ((c >= 0xC0 && c <= 0xDE && c != 0xD7) || (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F))
        return c + 32;
    if (c >= 0x400 && c <= 0x40F) return c + 80;
    return c;
}

static bool is_space(uint32_t c, bool ascii) {
    if (c == ' ' || (c >= 9 && c <= 13)) return true;
    if (ascii) return false;
    return (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_word(uint32_t c, bool ascii) {
    if (c < 128) return is_digit((int)c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return !ascii && pel_is_xid_continue(c);
}

static bool fits_class(const class *set, uint32_t c, uint32_t flags, bool is_bytes) {
    bool ascii = is_bytes || flags & PEL_RE_ASCII;
    uint32_t kinds = set->kinds;
    bool in = (kinds & KIND_D && c < 128 && is_digit((int)c)) ||
              (kinds & KIND_NOT_D && !(c < 128 && is_digit((int)c))) || (kinds & KIND_W && is_word(c, ascii)) ||
              (kinds & KIND_NOT_W && !is_word(c, ascii)) || (kinds & KIND_S && is_space(c, ascii)) ||
              (kinds & KIND_NOT_S && !is_space(c, ascii));
    uint32_t lower = flags & PEL_RE_IGNORECASE ? folded(c) : c;
    for (uint32_t i = 0; !in && i < set->ranges.n; i++) {
        const range *r = &set->ranges.at[i];
        in = (c >= r->first && c <= r->last);
        if (in || !(flags & PEL_RE_IGNORECASE)) continue;
        uint32_t upper = lower >= 'a' && lower <= 'z' ? lower - 32 : c;
        in = (lower >= r->first && lower <= r->last) || (upper >= r->first && upper <= r->last);
    }
    return in != set->is_negated;
}

static bool word_at(const machine *m, size_t at, uint32_t flags) {
    if (at >= m->text.len) return false;
    size_t next = at;
    return is_word(decode(m->program->is_bytes, m->text, &next), m->program->is_bytes || flags & PEL_RE_ASCII);
}

static size_t step_back(const machine *m, size_t at) {
    do at--;
    while (at && !m->program->is_bytes && ((unsigned char)m->text.ptr[at] & 0xC0) == 0x80);
    return at;
}

static bool is_at(const machine *m, where place, size_t at, uint32_t flags) {
    switch (place) {
    case AT_TEXT_START:
    case AT_START: return at == 0;
    case AT_LINE_START: return at == 0 || m->text.ptr[at - 1] == '\n';
    case AT_END_ONLY: return at == m->text.len;
    case AT_END: return at == m->text.len || (at + 1 == m->text.len && m->text.ptr[at] == '\n');
    case AT_LINE_END: return at == m->text.len || m->text.ptr[at] == '\n';
    case AT_WORD:
    case AT_NO_WORD: {
        bool before = at && word_at(m, step_back(m, at), flags);
        return (before != word_at(m, at, flags)) == (place == AT_WORD);
    }
    }
    return false;
}

static void set_slot(machine *m, uint32_t slot, int64_t value) {
    pel_push(m->ctx, &m->stack, (choice){ RESTORE, slot, m->slots[slot] });
    m->slots[slot] = value;
}

static bool takes_group_again(const machine *m, const instruction *i, size_t *at) {
    int64_t from = m->slots[2 * i->a], to = m->slots[2 * i->a + 1];
    if (from < 0 || to < from) return false;
    size_t read = (size_t)from;
    while (read < (size_t)to) {
        if (*at >= m->text.len) return false;
        uint32_t a = decode(m->program->is_bytes, m->text, &read), b = decode(m->program->is_bytes, m->text, at);
        if (a != b && !(i->flags & PEL_RE_IGNORECASE && folded(a) == folded(b))) return false;
    }
    return true;
}

/* Back to the last choice. False if there is none above `bottom`: then a LOOK or ATOM, or the whole, has failed. */
static bool go_back(machine *m, uint32_t *pc, size_t *at) {
    while (m->stack.n) {
        const choice last = m->stack.at[--m->stack.n];
        if (last.pc == RESTORE) {
            m->slots[last.slot] = last.position;
        } else if (last.pc == FENCE) {
            const pending ended = m->inside.at[--m->inside.n];
            const instruction *i = &m->program->code.at[ended.pc];
            if (i->op == OP_LOOK && i->negative) { /* what must not be there is not there */
                *pc = i->a;
                *at = ended.position;
                return true;
            }
        } else {
            *pc = last.pc;
            *at = (size_t)last.position;
            return true;
        }
    }
    return false;
}

/* Drops the choices made since the stack was `bottom` high, but not how to undo what was saved. */
static void forget_choices(machine *m, uint32_t bottom) {
    uint32_t kept = bottom;
    for (uint32_t i = bottom; i < m->stack.n; i++)
        if (m->stack.at[i].pc == RESTORE) m->stack.at[kept++] = m->stack.at[i];
    m->stack.n = kept;
}

static void undo_since(machine *m, uint32_t bottom) {
    while (m->stack.n > bottom) {
        const choice last = m->stack.at[--m->stack.n];
        if (last.pc == RESTORE) m->slots[last.slot] = last.position;
    }
}

static bool enter(machine *m, uint32_t pc, size_t *at) {
    const instruction *i = &m->program->code.at[pc];
    pel_push(m->ctx, &m->inside, (pending){ pc, m->stack.n, *at });
    pel_push(m->ctx, &m->stack, (choice){ FENCE, 0, 0 });
    for (uint32_t back = i->behind ? i->b : 0; back; back--) {
        if (!*at) return false;
        *at = step_back(m, *at);
    }
    return true;
}

/* Backtracking has a stack of its own, so that no text exhausts the C stack, and a budget of steps for all starts
 * together, since a pattern may take exponential time. set_slot leaves old values on that stack, for go_back. */
static bool match_from(machine *m, size_t start, pel_regex_mode mode) {
    const program *run = m->program;
    uint32_t pc = 0;
    size_t at = start;
    for (uint32_t i = 0; i < run->n_slots; i++) m->slots[i] = -1;
    m->stack.n = m->inside.n = 0;
    for (;;) {
        if (!m->steps) pel_throw(m->ctx, PEL_E_TOO_BIG, 0, "a regular expression takes too many steps");
        m->steps--;
        const instruction *i = &run->code.at[pc];
        bool fine = true;
        switch ((op)i->op) {
        case OP_CHAR: {
            fine = at < m->text.len;
            if (!fine) break;
            uint32_t c = decode(run->is_bytes, m->text, &at);
            fine = c == i->a || (i->flags & PEL_RE_IGNORECASE && folded(c) == folded(i->a));
            pc++;
            break;
        }
        case OP_ANY: {
            fine = at < m->text.len && (i->flags & PEL_RE_DOTALL || m->text.ptr[at] != '\n');
            if (fine) decode(run->is_bytes, m->text, &at);
            pc++;
            break;
        }
        case OP_CLASS: {
            fine = at < m->text.len &&
                   fits_class(&run->classes.at[i->a], decode(run->is_bytes, m->text, &at), i->flags, run->is_bytes);
            pc++;
            break;
        }
        case OP_WHERE:
            fine = is_at(m, (where)i->a, at, i->flags);
            pc++;
            break;
        case OP_BACK:
            fine = takes_group_again(m, i, &at);
            pc++;
            break;
        case OP_SAVE:
        case OP_MARK:
            set_slot(m, i->a, (int64_t)at);
            pc++;
            break;
        case OP_MOVED: pc += m->slots[i->a] != (int64_t)at ? 1 : 2; break;
        case OP_SPLIT:
            pel_push(m->ctx, &m->stack, (choice){ i->b, 0, (int64_t)at });
            pc = i->a;
            break;
        case OP_JUMP: pc = i->a; break;
        case OP_HAS: pc = m->slots[2 * i->a + 1] >= 0 ? pc + 1 : i->b; break;
        case OP_LOOK:
        case OP_ATOM:
            fine = enter(m, pc, &at);
            pc++;
            break;
        case OP_DONE: {
            if (!m->inside.n) {
                fine = mode != PEL_RE_FULLMATCH || at == m->text.len;
                if (!fine) break;
                m->slots[0] = (int64_t)start;
                m->slots[1] = (int64_t)at;
                return true;
            }
            const pending ended = m->inside.at[--m->inside.n];
            const instruction *begin = &run->code.at[ended.pc];
            if (begin->op == OP_LOOK && begin->negative) {
                undo_since(m, ended.n_stack);
                fine = false;
                break;
            }
            forget_choices(m, ended.n_stack);
            if (begin->op == OP_LOOK) at = ended.position;
            pc = begin->a;
            break;
        }
        }
        if (!fine && !go_back(m, &pc, &at)) return false;
    }
}

/* ---- from outside ---- */

static machine *new_machine(pel_ctx *ctx, const program *of) {
    machine *m = pel_new(ctx, machine);
    *m = (machine){ .ctx = ctx, .program = of, .slots = pel_new_array(ctx, of->n_slots, int64_t) };
    return m;
}

pel_regex *pel_regex_new(pel_ctx *ctx, pel_str pattern, uint32_t flags, bool is_bytes) {
    pel_regex *regex = pel_new(ctx, pel_regex);
    regex->program = pel_new(ctx, program);
    regex->program->is_bytes = is_bytes;
    regex->flags = flags;
    parser p = { .ctx = ctx, .text = pattern, .flags = flags, .regex = regex, .out = regex->program };
    const node *tree = parse_choice(&p);
    if (p.at < pattern.len) fail(&p, "a parenthesis closes that was not opened");
    regex->program->n_slots = 2 * (regex->n_groups + 1);
    emit(&p, tree, 0);
    put(&p, (instruction){ .op = OP_DONE });
    regex->program->machine = new_machine(ctx, regex->program);
    return regex;
}

bool pel_regex_run(pel_ctx *ctx, const pel_regex *regex, pel_str text, size_t start, size_t end, pel_regex_mode mode,
                   int64_t *spans, uint64_t *steps) {
    if (end > text.len) end = text.len;
    if (start > end) return false;
    machine *m = regex->program->machine;
    m->ctx = ctx;
    m->text = (pel_str){ text.ptr, end };
    m->steps = *steps;
    bool found = false;
    for (size_t at = start;;) {
        found = match_from(m, at, mode);
        if (found || mode != PEL_RE_SEARCH || at >= end) break;
        decode(regex->program->is_bytes, m->text, &at);
    }
    *steps = m->steps;
    if (found) memcpy(spans, m->slots, 2 * (regex->n_groups + 1) * sizeof *spans);
    return found;
}
