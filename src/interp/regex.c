/* Regular expressions as Python's re has them: compiled to a small program, run with a stack of places to go back to.
 * Steps count against the machine's budget, so a pattern that explodes ends in an error. */
#include "interp/native.h"

#include <ctype.h>

enum { FLAG_I = 2, FLAG_L = 4, FLAG_M = 8, FLAG_S = 16, FLAG_U = 32, FLAG_X = 64, FLAG_A = 256 };

typedef enum re_op {
    RE_CHAR, RE_ANY, RE_SET, RE_SPLIT, RE_JUMP, RE_SAVE, RE_BOL, RE_EOL, RE_BOS, RE_EOS, RE_WORD, RE_NOT_WORD, RE_BACK,
    RE_LOOK, RE_MARK, RE_PROGRESS, RE_IF, RE_FAIL, RE_ATOMIC, RE_MATCH,
} re_op;

typedef struct re_insn {
    uint8_t op;
    bool fold, negate, behind, newline;
    uint32_t a, b; /* characters, targets, slots; SPLIT prefers a */
} re_insn;

typedef struct re_range {
    uint32_t low, high;
} re_range;

typedef struct re_set {
    PEL_VEC(re_range) ranges;
    PEL_VEC(char) classes; /* d D w W s S */
    bool negate;
} re_set;

typedef struct pel_regex {
    PEL_VEC(re_insn) code;
    PEL_VEC(re_set *) sets;
    uint32_t n_groups, n_slots;
} pel_regex;

typedef struct re_parser {
    pel_vm *vm;
    pel_regex *out;
    pel_str text;
    size_t at;
    int64_t flags;
    pel_val names;
    uint32_t depth;
    bool failed;
} re_parser;

static void fail(re_parser *p, const char *what) {
    if (p->failed) return;
    p->failed = true;
    pel_raise(p->vm, p->vm->types.ValueError, "%s at position %zu", what, p->at);
}

static uint32_t emit(re_parser *p, re_insn insn) {
    if (p->out->code.n > 200000) {
        fail(p, "pattern too large");
        return 0;
    }
    pel_push(p->vm->ctx, &p->out->code, insn);
    return p->out->code.n - 1;
}

static bool more(const re_parser *p) { return !p->failed && p->at < p->text.len; }
static char peek(const re_parser *p) { return p->at < p->text.len ? p->text.ptr[p->at] : 0; }
static bool accept(re_parser *p, const char *text) {
    if (!pel_str_starts(pel_str_from(p->text, p->at), pel_str_of(text))) return false;
    p->at += strlen(text);
    return true;
}

static void parse_alternatives(re_parser *p);

static uint32_t hex_digits(re_parser *p, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) {
        int c = tolower((unsigned char)peek(p));
        if (!isxdigit(c)) {
            fail(p, "incomplete escape");
            return 0;
        }
        value = value * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        p->at++;
    }
    return value;
}

/* Behind a backslash: a plain character, or 0 with *class set. */
static uint32_t parse_escape(re_parser *p, char *class) {
    *class = 0;
    size_t at = p->at;
    uint32_t c = pel_text_next(p->text, &at);
    p->at = at;
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return 7;
    case '0': return 0;
    case 'x': return hex_digits(p, 2);
    case 'u': return hex_digits(p, 4);
    case 'U': return hex_digits(p, 8);
    case 'd':
    case 'D':
    case 'w':
    case 'W':
    case 's':
    case 'S': *class = (char)c; return 0;
    default: return c;
    }
}

static void emit_set(re_parser *p, re_set *set) {
    pel_push(p->vm->ctx, &p->out->sets, set);
    emit(p, (re_insn){ .op = RE_SET, .a = p->out->sets.n - 1, .fold = (p->flags & FLAG_I) != 0 });
}

static void parse_set(re_parser *p) {
    re_set *set = pel_new(p->vm->ctx, re_set);
    set->negate = accept(p, "^");
    bool first = true;
    while (more(p) && (first || peek(p) != ']')) {
        first = false;
        char class = 0;
        uint32_t low;
        if (accept(p, "\\")) {
            if (peek(p) == 'b')
                p->at++, low = 8;
            else
                low = parse_escape(p, &class);
        } else {
            size_t at = p->at;
            low = pel_text_next(p->text, &at);
            p->at = at;
        }
        if (class) {
            pel_push(p->vm->ctx, &set->classes, class);
            continue;
        }
        uint32_t high = low;
        if (peek(p) == '-' && p->at + 1 < p->text.len && p->text.ptr[p->at + 1] != ']') {
            p->at++;
            if (accept(p, "\\")) {
                high = parse_escape(p, &class);
            } else {
                size_t at = p->at;
                high = pel_text_next(p->text, &at);
                p->at = at;
            }
            if (high < low) fail(p, "bad character range");
        }
        pel_push(p->vm->ctx, &set->ranges, (re_range){ low, high });
    }
    if (!accept(p, "]")) fail(p, "unterminated character set");
    emit_set(p, set);
}

static pel_str parse_name(re_parser *p, char end) {
    size_t start = p->at;
    while (more(p) && peek(p) != end) p->at++;
    pel_str name = pel_str_cut(p->text, start, p->at);
    if (!more(p)) fail(p, "missing group name");
    p->at++;
    return name;
}

static void set_flag(re_parser *p, char c, bool on) {
    static const struct { char letter; int flag; } letters[] = {
        { 'i', FLAG_I }, { 'm', FLAG_M }, { 's', FLAG_S }, { 'x', FLAG_X }, { 'a', FLAG_A }, { 'u', FLAG_U }, { 'L', FLAG_L },
    };
    for (size_t i = 0; i < PEL_COUNT(letters); i++)
        if (letters[i].letter == c) p->flags = on ? p->flags | letters[i].flag : p->flags & ~(int64_t)letters[i].flag;
}

static void parse_look(re_parser *p, bool negate, bool behind) {
    uint32_t at = emit(p, (re_insn){ .op = RE_LOOK, .negate = negate, .behind = behind });
    parse_alternatives(p);
    emit(p, (re_insn){ .op = RE_MATCH });
    if (!p->failed) p->out->code.at[at].b = p->out->code.n;
}

static void parse_group(re_parser *p) {
    int64_t flags = p->flags;
    if (accept(p, "?:")) {
        parse_alternatives(p);
    } else if (accept(p, "?=")) {
        parse_look(p, false, false);
    } else if (accept(p, "?!")) {
        parse_look(p, true, false);
    } else if (accept(p, "?<=")) {
        parse_look(p, false, true);
    } else if (accept(p, "?<!")) {
        parse_look(p, true, true);
    } else if (accept(p, "?#")) {
        while (more(p) && peek(p) != ')') p->at++;
    } else if (accept(p, "?>")) {
        uint32_t at = emit(p, (re_insn){ .op = RE_ATOMIC });
        parse_alternatives(p);
        emit(p, (re_insn){ .op = RE_MATCH });
        if (!p->failed) p->out->code.at[at].b = p->out->code.n;
    } else if (accept(p, "?P=")) {
        pel_val number = pel_dict_get_str(pel_dict_at(p->names), pel_interned(p->vm, parse_name(p, ')')));
        p->at--;
        if (!number)
            fail(p, "unknown group name");
        else
            emit(p, (re_insn){ .op = RE_BACK, .a = (uint32_t)pel_small(number), .fold = (p->flags & FLAG_I) != 0 });
    } else if (accept(p, "?(")) {
        pel_str name = parse_name(p, ')');
        pel_val number = pel_dict_get_str(pel_dict_at(p->names), pel_interned(p->vm, name));
        uint32_t group = number ? (uint32_t)pel_small(number) : 0;
        for (size_t i = 0; !number && i < name.len; i++) group = group * 10 + (uint32_t)(name.ptr[i] - '0') % 10;
        uint32_t at = emit(p, (re_insn){ .op = RE_IF, .a = group });
        /* one branch is a sequence: alternatives would eat the bar */
        p->depth++;
        parse_alternatives(p);
        p->depth--;
        if (!p->failed) p->out->code.at[at].b = p->out->code.n;
    } else if (peek(p) == '?' && !pel_str_starts(pel_str_from(p->text, p->at), PEL_STR("?P<"))) {
        p->at++;
        bool on = true;
        while (more(p) && peek(p) != ')' && peek(p) != ':') {
            if (peek(p) == '-') on = false;
            else if (!isalpha((unsigned char)peek(p))) fail(p, "unknown extension");
            else set_flag(p, peek(p), on);
            p->at++;
        }
        if (accept(p, ")")) return; /* flags for the rest */
        p->at++;
        parse_alternatives(p);
    } else {
        pel_str name = { "", 0 };
        if (accept(p, "?P<")) name = parse_name(p, '>');
        uint32_t number = ++p->out->n_groups;
        if (name.len) pel_dict_set_str(p->vm, pel_dict_at(p->names), pel_interned(p->vm, name), pel_from_small(number));
        emit(p, (re_insn){ .op = RE_SAVE, .a = number * 2 });
        parse_alternatives(p);
        emit(p, (re_insn){ .op = RE_SAVE, .a = number * 2 + 1 });
    }
    if (!accept(p, ")")) fail(p, "missing ), unterminated subpattern");
    p->flags = flags;
}

static void parse_atom(re_parser *p) {
    size_t at = p->at;
    uint32_t c = pel_text_next(p->text, &at);
    p->at = at;
    bool fold = (p->flags & FLAG_I) != 0;
    switch (c) {
    case '.': emit(p, (re_insn){ .op = RE_ANY, .newline = (p->flags & FLAG_S) != 0 }); return;
    case '^': emit(p, (re_insn){ .op = p->flags & FLAG_M ? RE_BOL : RE_BOS }); return;
    case '$': emit(p, (re_insn){ .op = RE_EOL, .newline = (p->flags & FLAG_M) != 0 }); return;
    case '[': parse_set(p); return;
    case '(':
        if (++p->depth > 100) fail(p, "groups nest too deep");
        if (!p->failed) parse_group(p);
        p->depth--;
        return;
    case '\\': break;
    default: emit(p, (re_insn){ .op = RE_CHAR, .a = c, .fold = fold }); return;
    }
    char next = peek(p);
    if (next >= '1' && next <= '9') {
        uint32_t number = 0;
        while (isdigit((unsigned char)peek(p)) && number < 100) number = number * 10 + (uint32_t)(p->text.ptr[p->at++] - '0');
        emit(p, (re_insn){ .op = RE_BACK, .a = number, .fold = fold });
        return;
    }
    static const struct { char letter; re_op op; } places[] = { { 'A', RE_BOS }, { 'Z', RE_EOS }, { 'b', RE_WORD }, { 'B', RE_NOT_WORD } };
    for (size_t i = 0; i < PEL_COUNT(places); i++)
        if (next == places[i].letter) {
            p->at++;
            emit(p, (re_insn){ .op = (uint8_t)places[i].op });
            return;
        }
    if (!next) {
        fail(p, "bad escape (end of pattern)");
        return;
    }
    char class;
    c = parse_escape(p, &class);
    if (!class) {
        emit(p, (re_insn){ .op = RE_CHAR, .a = c, .fold = fold });
        return;
    }
    re_set *set = pel_new(p->vm->ctx, re_set);
    pel_push(p->vm->ctx, &set->classes, class);
    emit_set(p, set);
}

static void parse_repeat(re_parser *p, uint32_t start) {
    uint32_t least, most;
    if (accept(p, "*")) least = 0, most = UINT32_MAX;
    else if (accept(p, "+")) least = 1, most = UINT32_MAX;
    else if (accept(p, "?")) least = 0, most = 1;
    else {
        size_t saved = p->at++;
        least = 0;
        bool any = false, comma = false;
        while (isdigit((unsigned char)peek(p)) && least < 10000) least = least * 10 + (uint32_t)(p->text.ptr[p->at++] - '0'), any = true;
        most = least;
        if (accept(p, ",")) {
            comma = true;
            most = UINT32_MAX;
            if (isdigit((unsigned char)peek(p))) most = 0;
            while (isdigit((unsigned char)peek(p)) && most < 10000) most = most * 10 + (uint32_t)(p->text.ptr[p->at++] - '0');
        }
        if (!accept(p, "}") || (!any && !comma)) { /* a brace that is only a brace */
            p->at = saved + 1;
            emit(p, (re_insn){ .op = RE_CHAR, .a = '{' });
            return;
        }
    }
    bool lazy = accept(p, "?"), possessive = !lazy && accept(p, "+");
    if (p->failed) return;
    /* the body once, kept aside */
    uint32_t n = p->out->code.n - start;
    re_insn *body = pel_new_array(p->vm->ctx, n + 1, re_insn);
    memcpy(body, p->out->code.at + start, n * sizeof *body);
    p->out->code.n = start;
    uint32_t atomic = possessive ? emit(p, (re_insn){ .op = RE_ATOMIC }) : 0;
#define BODY()                                                                                                         \
    do {                                                                                                               \
        uint32_t by_ = p->out->code.n - start;                                                                         \
        for (uint32_t i_ = 0; i_ < n; i_++) {                                                                          \
            re_insn insn_ = body[i_];                                                                                  \
            if (insn_.op == RE_SPLIT) insn_.a += by_, insn_.b += by_;                                                  \
            if (insn_.op == RE_JUMP || insn_.op == RE_LOOK || insn_.op == RE_IF || insn_.op == RE_ATOMIC) insn_.b += by_; \
            emit(p, insn_);                                                                                            \
        }                                                                                                              \
    } while (0)
    if (least * (uint64_t)n > 100000) fail(p, "repeat too large");
    for (uint32_t i = 0; i < least && !p->failed; i++) BODY();
    if (most == UINT32_MAX) {
        uint32_t slot = p->out->n_slots++;
        uint32_t split = emit(p, (re_insn){ .op = RE_SPLIT });
        emit(p, (re_insn){ .op = RE_MARK, .a = slot });
        BODY();
        emit(p, (re_insn){ .op = RE_PROGRESS, .a = slot });
        emit(p, (re_insn){ .op = RE_JUMP, .b = split });
        if (!p->failed) p->out->code.at[split].a = lazy ? p->out->code.n : split + 1, p->out->code.at[split].b = lazy ? split + 1 : p->out->code.n;
    } else {
        if ((most - least) * (uint64_t)n > 100000) fail(p, "repeat too large");
        PEL_VEC(uint32_t) splits = { 0 };
        for (uint32_t i = least; i < most && !p->failed; i++) {
            pel_push(p->vm->ctx, &splits, emit(p, (re_insn){ .op = RE_SPLIT }));
            BODY();
        }
        for (uint32_t i = 0; i < splits.n && !p->failed; i++) {
            re_insn *split = &p->out->code.at[splits.at[i]];
            split->a = lazy ? p->out->code.n : splits.at[i] + 1;
            split->b = lazy ? splits.at[i] + 1 : p->out->code.n;
        }
    }
#undef BODY
    if (possessive && !p->failed) {
        emit(p, (re_insn){ .op = RE_MATCH });
        p->out->code.at[atomic].b = p->out->code.n;
    }
}

static void parse_sequence(re_parser *p) {
    while (more(p) && peek(p) != '|' && peek(p) != ')') {
        if (p->flags & FLAG_X) {
            if (isspace((unsigned char)peek(p))) {
                p->at++;
                continue;
            }
            if (peek(p) == '#') {
                while (more(p) && peek(p) != '\n') p->at++;
                continue;
            }
        }
        uint32_t start = p->out->code.n;
        parse_atom(p);
        while (more(p) && strchr("*+?{", peek(p))) {
            uint32_t before = p->out->code.n;
            size_t at = p->at;
            parse_repeat(p, start);
            if (p->at == at + 1 && p->out->code.n == before + 1) start = before;
        }
    }
}

static void parse_alternatives(re_parser *p) {
    uint32_t start = p->out->code.n;
    parse_sequence(p);
    if (peek(p) != '|' || p->failed) return;
    /* each alternative is put behind a split, which has to stand before it */
    PEL_VEC(uint32_t) ends = { 0 };
    while (more(p) && accept(p, "|")) {
        uint32_t n = p->out->code.n - start;
        re_insn *body = pel_new_array(p->vm->ctx, n + 1, re_insn);
        memcpy(body, p->out->code.at + start, n * sizeof *body);
        p->out->code.n = start;
        uint32_t split = emit(p, (re_insn){ .op = RE_SPLIT });
        for (uint32_t i = 0; i < n; i++) {
            re_insn insn = body[i];
            if (insn.op == RE_SPLIT) insn.a++, insn.b++;
            if (insn.op == RE_JUMP || insn.op == RE_LOOK || insn.op == RE_IF || insn.op == RE_ATOMIC) insn.b++;
            emit(p, insn);
        }
        pel_push(p->vm->ctx, &ends, emit(p, (re_insn){ .op = RE_JUMP }));
        if (p->failed) return;
        p->out->code.at[split].a = split + 1;
        p->out->code.at[split].b = p->out->code.n;
        start = p->out->code.n;
        parse_sequence(p);
    }
    for (uint32_t i = 0; i < ends.n && !p->failed; i++) p->out->code.at[ends.at[i]].b = p->out->code.n;
}

/* ---- running ---- */

typedef struct re_back {
    uint32_t pc; /* UINT32_MAX: restore a slot */
    uint32_t slot;
    int64_t at;
} re_back;

typedef struct re_run {
    pel_vm *vm;
    const pel_regex *regex;
    const uint32_t *text;
    int64_t len;
    int64_t *slots; /* groups, then marks */
    PEL_VEC(re_back) back;
    uint32_t depth;
} re_run;

static bool is_word(uint32_t c) { return c < 128 ? isalnum((int)c) || c == '_' : c != 0xA0 && c != 0x2028; }
static uint32_t fold(uint32_t c) { return c < 128 ? (uint32_t)tolower((int)c) : c; }

static bool in_class(char class, uint32_t c) {
    switch (class) {
    case 'd': return c < 128 && isdigit((int)c);
    case 'D': return !(c < 128 && isdigit((int)c));
    case 'w': return is_word(c);
    case 'W': return !is_word(c);
    case 's': return (c < 128 && isspace((int)c)) || c == 0xA0 || c == 0x2028 || c == 0x3000;
    default: return !((c < 128 && isspace((int)c)) || c == 0xA0);
    }
}

static bool in_set(const re_set *set, uint32_t c, bool folds) {
    bool found = false;
    for (uint32_t i = 0; i < set->ranges.n && !found; i++) {
        found = c >= set->ranges.at[i].low && c <= set->ranges.at[i].high;
        if (folds && !found && c < 128) {
            uint32_t lower = (uint32_t)tolower((int)c), upper = (uint32_t)toupper((int)c);
            found = (lower >= set->ranges.at[i].low && lower <= set->ranges.at[i].high) ||
                    (upper >= set->ranges.at[i].low && upper <= set->ranges.at[i].high);
        }
    }
    for (uint32_t i = 0; i < set->classes.n && !found; i++) found = in_class(set->classes.at[i], c);
    return found != set->negate;
}

static bool at_word(const re_run *r, int64_t at) {
    bool before = at > 0 && is_word(r->text[at - 1]), after = at < r->len && is_word(r->text[at]);
    return before != after;
}

static void set_slot(re_run *r, uint32_t slot, int64_t at) {
    pel_push(r->vm->ctx, &r->back, (re_back){ UINT32_MAX, slot, r->slots[slot] });
    r->slots[slot] = at;
}

static bool run(re_run *r, uint32_t pc, int64_t at, int64_t *end) {
    uint32_t bottom = r->back.n;
    if (++r->depth > 200) pel_over_budget(r->vm, "depth in a regular expression");
    for (;;) {
        if (++r->vm->steps > r->vm->max_steps) pel_over_budget(r->vm, "steps");
        const re_insn *insn = &r->regex->code.at[pc];
        bool fine = true;
        switch ((re_op)insn->op) {
        case RE_CHAR:
            fine = at < r->len && (r->text[at] == insn->a || (insn->fold && fold(r->text[at]) == fold(insn->a)));
            at++;
            break;
        case RE_ANY:
            fine = at < r->len && (insn->newline || r->text[at] != '\n');
            at++;
            break;
        case RE_SET:
            fine = at < r->len && in_set(r->regex->sets.at[insn->a], r->text[at], insn->fold);
            at++;
            break;
        case RE_SPLIT:
            pel_push(r->vm->ctx, &r->back, (re_back){ insn->b, 0, at });
            if (r->back.n > 1000000) pel_over_budget(r->vm, "memory in a regular expression");
            pc = insn->a;
            continue;
        case RE_JUMP: pc = insn->b; continue;
        case RE_SAVE: set_slot(r, insn->a, at); break;
        case RE_MARK: set_slot(r, insn->a, at); break;
        case RE_PROGRESS: fine = r->slots[insn->a] != at; break;
        case RE_BOS: fine = at == 0; break;
        case RE_EOS: fine = at == r->len; break;
        case RE_BOL: fine = at == 0 || r->text[at - 1] == '\n'; break;
        case RE_EOL:
            fine = at == r->len || (r->text[at] == '\n' && (insn->newline || at + 1 == r->len));
            break;
        case RE_WORD: fine = at_word(r, at); break;
        case RE_NOT_WORD: fine = !at_word(r, at); break;
        case RE_BACK: {
            int64_t from = insn->a <= r->regex->n_groups ? r->slots[insn->a * 2] : -1, to = from < 0 ? -1 : r->slots[insn->a * 2 + 1];
            fine = from >= 0 && to >= from && at + (to - from) <= r->len;
            for (int64_t i = from; fine && i < to; i++, at++)
                fine = r->text[i] == r->text[at] || (insn->fold && fold(r->text[i]) == fold(r->text[at]));
            break;
        }
        case RE_LOOK: {
            int64_t inner_end;
            bool found = false;
            if (!insn->behind) {
                found = run(r, pc + 1, at, &inner_end);
            } else {
                for (int64_t from = at; from >= 0 && !found; from--) found = run(r, pc + 1, from, &inner_end) && inner_end == at;
            }
            fine = found != insn->negate;
            pc = insn->b;
            if (fine) continue;
            break;
        }
        case RE_ATOMIC: {
            int64_t inner_end;
            fine = run(r, pc + 1, at, &inner_end);
            pc = insn->b;
            if (!fine) break;
            at = inner_end;
            continue;
        }
        case RE_IF:
            if (insn->a <= r->regex->n_groups && r->slots[insn->a * 2 + 1] >= 0) break;
            pc = insn->b;
            continue;
        case RE_FAIL: fine = false; break;
        case RE_MATCH:
            *end = at;
            /* what could still be tried is dropped; what the groups were is kept for whoever goes back further */
            {
                uint32_t kept = bottom;
                for (uint32_t i = bottom; i < r->back.n; i++)
                    if (r->back.at[i].pc == UINT32_MAX) r->back.at[kept++] = r->back.at[i];
                r->back.n = kept;
            }
            r->depth--;
            return true;
        }
        if (fine) {
            pc++;
            continue;
        }
        for (;;) {
            if (r->back.n == bottom) {
                r->depth--;
                return false;
            }
            re_back back = r->back.at[--r->back.n];
            if (back.pc == UINT32_MAX) {
                r->slots[back.slot] = back.at;
                continue;
            }
            pc = back.pc;
            at = back.at;
            break;
        }
    }
}

/* ---- Python's side ---- */

pel_val pel_regex_compile(pel_vm *vm, pel_val pattern, int64_t flags) {
    pel_regex *regex = pel_new(vm->ctx, pel_regex);
    re_parser p = { .vm = vm, .out = regex, .text = pel_text_of(pattern), .flags = flags, .names = pel_new_dict(vm) };
    regex->n_slots = 0;
    parse_alternatives(&p);
    if (!p.failed && p.at < p.text.len) fail(&p, "unbalanced parenthesis");
    if (p.failed) return NULL;
    emit(&p, (re_insn){ .op = RE_MATCH });
    /* marks come behind the groups */
    for (uint32_t i = 0; i < regex->code.n; i++)
        if (regex->code.at[i].op == RE_MARK || regex->code.at[i].op == RE_PROGRESS) regex->code.at[i].a += 2 * (regex->n_groups + 1);
    regex->n_slots += 2 * (regex->n_groups + 1);
    pel_regex_object *object = pel_make_object(vm, vm->types.regex, sizeof *object);
    object->program = regex;
    object->pattern = pattern;
    object->flags = pel_int_of(vm, flags);
    object->groupindex = p.names;
    return &object->head;
}

static pel_val match(pel_vm *vm, pel_val *args, uint32_t n, int how) {
    pel_regex_object *self = (pel_regex_object *)args[0];
    if (!pel_is_str(args[1]) && !pel_is(args[1], PEL_L_BYTES))
        return pel_raise(vm, vm->types.TypeError, "expected string or bytes-like object, got '%s'", pel_type_text(vm, args[1]));
    pel_string *s = pel_string_at(args[1]);
    int64_t pos = 0, end = s->chars;
    if (n > 2 && !pel_index(vm, args[2], &pos)) return NULL;
    if (n > 3 && args[3] != vm->none && !pel_index(vm, args[3], &end)) return NULL;
    if (pos < 0) pos = 0;
    if (end > s->chars) end = s->chars;
    uint32_t *text = pel_alloc_raw(vm->ctx, (s->chars + 1) * sizeof *text);
    pel_str bytes = pel_text_of(args[1]);
    for (size_t at = 0, i = 0; i < s->chars; i++) text[i] = s->is_ascii ? (unsigned char)bytes.ptr[i] : pel_text_next(bytes, &at);
    re_run r = { .vm = vm, .regex = self->program, .text = text, .len = end };
    r.slots = pel_new_array(vm->ctx, self->program->n_slots + 2, int64_t);
    int64_t stop;
    for (int64_t start = pos; start <= end; start++) {
        for (uint32_t i = 0; i < self->program->n_slots; i++) r.slots[i] = -1;
        r.back.n = 0;
        bool found = run(&r, 0, start, &stop);
        if (found) {
            uint32_t groups = self->program->n_groups;
            pel_val spans = pel_tuple_of(vm, NULL, 2 * (groups + 1));
            r.slots[0] = start;
            r.slots[1] = stop;
            for (uint32_t i = 0; i <= 2 * groups + 1; i++) pel_tuple_at(spans)->at[i] = pel_int_of(vm, r.slots[i]);
            return spans;
        }
        if (how) break;
    }
    return vm->none;
}
static pel_val regex_search(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) { (void)kw; return match(vm, args, n, 0); }
static pel_val regex_match(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) { (void)kw; return match(vm, args, n, 1); }
static pel_val regex_fullmatch(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    /* as (?:pattern)\Z, compiled when first asked for */
    pel_regex_object *self = (pel_regex_object *)args[0];
    pel_val whole = self->head.attrs ? pel_dict_get_c(vm, self->head.attrs, "whole") : NULL;
    if (!whole) {
        pel_str text = pel_format(vm->ctx, "(?:%.*s)\\Z", PEL_FMT(pel_text_of(self->pattern)));
        int64_t flags = 0;
        pel_to_i64(self->flags, &flags);
        whole = pel_regex_compile(vm, pel_new_text(vm, text), flags);
        if (!whole) return NULL;
        pel_dict_set_c(vm, pel_attrs(vm, args[0]), "whole", whole);
    }
    args[0] = whole;
    return match(vm, args, n, 1);
}
static pel_val get_groups(pel_vm *vm, pel_val self) { return pel_int_of(vm, ((pel_regex_object *)self)->program->n_groups); }
static pel_val get_groupindex(pel_vm *vm, pel_val self) { (void)vm; return ((pel_regex_object *)self)->groupindex; }
static pel_val get_pattern(pel_vm *vm, pel_val self) { (void)vm; return ((pel_regex_object *)self)->pattern; }
static pel_val get_flags(pel_vm *vm, pel_val self) { (void)vm; return ((pel_regex_object *)self)->flags; }

void pel_init_regex(pel_vm *vm) {
    static const pel_native_row rows[] = { { "search", regex_search, 2, 4 }, { "match", regex_match, 2, 4 }, { "fullmatch", regex_fullmatch, 2, 4 }, { NULL } };
    pel_add_methods(vm, vm->types.regex, rows);
    pel_add_getset(vm, vm->types.regex, "groups", get_groups, NULL);
    pel_add_getset(vm, vm->types.regex, "groupindex", get_groupindex, NULL);
    pel_add_getset(vm, vm->types.regex, "pattern", get_pattern, NULL);
    pel_add_getset(vm, vm->types.regex, "flags", get_flags, NULL);
}
