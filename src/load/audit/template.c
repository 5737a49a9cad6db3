/* A small parser of Jinja that keeps no tree: it follows which values may hold text that the template wrote itself.
 *
 * Templates walk the data that the program gives them, by keys that are constants. From that data nothing leads to
 * Python's insides but names with underscores and a few names of frames; so a constant key is looked at, and a key
 * that is computed must not hold text in which the template could have built such a name. "Dirty" is a value that may:
 * letters like '_' and '%' make a literal dirty, and dirt spreads through variables, lists and calls. */
#include "load/audit/template.h"

#include "base/map.h"

#include <ctype.h>

#define MAX_TEMPLATE ((size_t)1 << 20)
#define MAX_DEPTH 100 /* of brackets */
#define MAX_PASSES 8  /* until dirt has spread */
#define MAX_SAID 20   /* findings of one template */

typedef enum token_kind { NAME, NUMBER, TEXT, SIGN, END } token_kind;

typedef struct token {
    token_kind kind;
    pel_str text; /* without quotes */
    size_t at;
    bool is_odd; /* TEXT with escapes that can hide letters */
} token;

typedef struct value {
    bool is_dirty;
    bool is_keyed; /* dirty only to those who list or print it: dict(a_b=1), whose constant keys lead to clean values */
    bool is_text;  /* one literal: constant holds it */
    bool is_function; /* a name that must be called at once */
    bool is_odd;
    pel_str constant, name, root; /* name: of a plain variable; root: the one that a chain of attributes starts from */
} value;

typedef struct reader {
    pel_ctx *ctx;
    pel_findings *findings;
    pel_str member, text;
    uint64_t base;
    size_t at;
    bool in_statement; /* the tag ends with %}, else with }} */
    unsigned braces;   /* that are open in the tag */
    token token;
    int depth;
    pel_map dirty;  /* interned names of variables and attributes */
    pel_map macros; /* interned names -> bit sets: places that are given something dirty, and (from bit 32) something
                       keyed */
    bool has_changed, all_dirty, says;
    uint32_t n_said;
} reader;

_Noreturn static void fail(reader *r, const char *what) {
    pel_throw(r->ctx, PEL_E_FORMAT, r->base + r->token.at, "%s", what);
}

/* ---- lists ---- */

static const char functions[] = " range dict namespace raise_exception strftime_now caller loop ";
static const char methods[] =
    " get items keys values split rsplit splitlines strip lstrip rstrip startswith endswith replace upper lower title "
    "capitalize join append extend insert pop index count find rfind isdigit isalpha isalnum isnumeric isspace isupper "
    "islower partition rpartition removeprefix removesuffix zfill ljust rjust center update setdefault copy reverse "
    "cycle changed ";
static const char mutators[] = " append extend insert update setdefault ";
static const char filters[] =
    " tojson length count trim string default d join items upper lower title capitalize safe e escape dictsort list "
    "replace selectattr rejectattr select reject map first last int float abs round sum min max sort unique reverse "
    "indent from_json wordcount wordwrap truncate batch slice center striptags groupby format ";
static const char numbers[] = " length count int float abs round wordcount ";
static const char by_name[] = " selectattr rejectattr select reject map sum min max sort unique groupby ";
static const char tests[] =
    " defined undefined none string number mapping iterable sequence boolean true false integer float in eq equalto ne "
    "lt gt le ge lessthan greaterthan odd even divisibleby sameas callable lower upper == != < > <= >= ";
static const char plain_statements[] = " else endif endfor endmacro endcall endset endfilter endwith endgeneration "
                                       "generation break continue endraw endautoescape ";

static bool has_word(const char *words, pel_str word) {
    if (!word.len || memchr(word.ptr, ' ', word.len)) return false;
    for (const char *at = words; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, word.ptr, word.len) == 0 && at[1 + word.len] == ' ') return true;
    return false;
}

/* ---- what is said ---- */

static void say(reader *r, pel_severity severity, size_t at, const char *what, pel_str name) {
    if (!r->says || ++r->n_said > MAX_SAID) return;
    pel_buf text = pel_buf_in(r->ctx);
    pel_putf(&text, "the chat template %s", what);
    if (name.len) pel_put_byte(&text, ' ');
    pel_put_visible(&text, name.len > 80 ? pel_str_cut(name, 0, 80) : name);
    pel_find(r->ctx, r->findings, severity, "template", r->member, r->base + at, pel_buf_str(&text));
}

/* A key or an attribute that is a constant. */
static void judge_key(reader *r, pel_str name, bool is_odd, size_t at) {
    static const char *const frames[] = { "gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "im_", "mro" };
    if (is_odd) {
        say(r, PEL_SUSPECT, at, "hides a name behind escapes:", name);
        return;
    }
    for (size_t start = 0; start <= name.len;) { /* filters take "a.b" */
        size_t end = start;
        while (end < name.len && name.ptr[end] != '.') end++;
        pel_str part = pel_str_cut(name, start, end);
        if (pel_str_starts(part, PEL_STR("_")))
            say(r, pel_str_starts(part, PEL_STR("__")) ? PEL_DANGER : PEL_SUSPECT, at, "reaches for", part);
        for (size_t i = 0; i < PEL_COUNT(frames); i++)
            if (pel_str_starts(part, pel_str_of(frames[i])))
                say(r, PEL_SUSPECT, at, "reaches for a frame, code or class of Python:", part);
        start = end + 1;
    }
}

static uint64_t key_of(reader *r, pel_str name) { return PEL_KEY(pel_intern_str(r->ctx, name)); }

enum { DIRTY = 1, KEYED = 2 };

static void soil(reader *r, pel_str name, uint64_t how) {
    uint64_t before = name.len ? pel_map_find(&r->dirty, key_of(r, name), 0) : how;
    if ((before | how) == before) return;
    pel_map_set(r->ctx, &r->dirty, key_of(r, name), before | how);
    r->has_changed = true;
}

static bool is_soiled(reader *r, pel_str name, uint64_t how) {
    return r->all_dirty || pel_map_find(&r->dirty, key_of(r, name), 0) & how;
}

/* To those who list it, print it or join it to something. */
static bool is_dirty_whole(value of) { return of.is_dirty || of.is_keyed || of.is_function; }
static uint64_t dirt_of(value of) { return (of.is_dirty || of.is_function ? DIRTY : 0) | (of.is_keyed ? KEYED : 0); }

/* ---- tokens ---- */

static bool is_at(const reader *r, const char *sign) {
    return pel_str_starts(pel_str_from(r->text, r->at), pel_str_of(sign));
}

static void read_quoted(reader *r) {
    char quote = r->text.ptr[r->at++];
    size_t start = r->at;
    for (; r->at < r->text.len && r->text.ptr[r->at] != quote; r->at++) {
        if (r->text.ptr[r->at] != '\\') continue;
        if (++r->at == r->text.len) break;
        if (!memchr("ntr\\'\"", r->text.ptr[r->at], 6)) r->token.is_odd = true;
    }
    if (r->at >= r->text.len) fail(r, "a string does not end");
    r->token.kind = TEXT;
    r->token.text = pel_str_cut(r->text, start, r->at++);
}

/* `}}` may also close two dicts, so a tag ends only where no brace is open. A sign before the end belongs to the end.
 * Bytes from 0x80 on count as letters, because Jinja takes names in Unicode. */
static void next(reader *r) {
    static const char *const signs[] = { "**", "//", "==", "!=", "<=", ">=" };
    while (r->at < r->text.len && isspace((unsigned char)r->text.ptr[r->at])) r->at++;
    r->token = (token){ .kind = END, .at = r->at };
    if (r->at == r->text.len) fail(r, "a tag does not end");
    const char *end = r->in_statement ? "%}" : "}}";
    size_t skipped = r->text.ptr[r->at] == '-' || r->text.ptr[r->at] == '+';
    if (!r->braces && pel_str_starts(pel_str_from(r->text, r->at + skipped), pel_str_of(end))) {
        r->at += skipped + 2;
        return;
    }
    unsigned char c = (unsigned char)r->text.ptr[r->at];
    size_t start = r->at;
    if (c == '\'' || c == '"') {
        read_quoted(r);
        return;
    }
    if (isalpha(c) || c == '_' || c >= 0x80) {
        while (r->at < r->text.len) {
            c = (unsigned char)r->text.ptr[r->at];
            if (!isalnum(c) && c != '_' && c < 0x80) break;
            r->at++;
        }
        r->token.kind = NAME;
    } else if (isdigit(c)) {
        while (r->at < r->text.len && (isalnum((unsigned char)r->text.ptr[r->at]) || r->text.ptr[r->at] == '_' ||
                                       (r->text.ptr[r->at] == '.' && r->at + 1 < r->text.len &&
                                        isdigit((unsigned char)r->text.ptr[r->at + 1]))))
            r->at++;
        r->token.kind = NUMBER;
    } else {
        size_t len = 1;
        for (size_t i = 0; i < PEL_COUNT(signs); i++)
            if (is_at(r, signs[i])) len = 2;
        r->at += len;
        r->token.kind = SIGN;
        if (c == '{' || c == '[' || c == '(') r->braces++;
        if ((c == '}' || c == ']' || c == ')') && r->braces) r->braces--;
    }
    r->token.text = pel_str_cut(r->text, start, r->at);
}

static bool is_sign(const reader *r, const char *sign) {
    return r->token.kind == SIGN && pel_str_is(r->token.text, sign);
}
static bool is_word(const reader *r, const char *word) {
    return r->token.kind == NAME && pel_str_is(r->token.text, word);
}
static bool take(reader *r, const char *sign) {
    if (!is_sign(r, sign)) return false;
    next(r);
    return true;
}
static bool take_word(reader *r, const char *word) {
    if (!is_word(r, word)) return false;
    next(r);
    return true;
}
static void need(reader *r, const char *sign) {
    if (!take(r, sign)) fail(r, "something else was expected here");
}
static pel_str need_name(reader *r) {
    if (r->token.kind != NAME) fail(r, "a name was expected here");
    pel_str name = r->token.text;
    next(r);
    return name;
}

/* ---- expressions ---- */

static value expression(reader *r);
static value choice(reader *r);

static bool is_dirty_text(pel_str text) {
    for (size_t i = 0; i < text.len; i++)
        if (memchr("_%{\\", text.ptr[i], 4)) return true;
    return false;
}

typedef struct arguments {
    bool is_dirty, is_keyed; /* is_keyed: a keyword or its value is dirty */
    value first;             /* by its place */
    uint32_t n;              /* those given by their places */
    uint64_t places;         /* bit sets as in macros; bit 31 stands for all places beyond */
} arguments;

/* What is between the parentheses of a call. by_key: the texts are attributes and names of filters or tests. */
static arguments read_arguments(reader *r, bool by_key) {
    arguments found = { .n = 0 };
    while (!is_sign(r, ")")) {
        bool is_spread = false;
        while (take(r, "*") || take(r, "**")) is_spread = true;
        size_t at = r->token.at;
        token name = r->token;
        bool is_keyword = false;
        value given = expression(r);
        if (is_sign(r, "=") && name.kind == NAME) {
            next(r);
            at = r->token.at;
            given = expression(r);
            found.is_keyed |= is_dirty_text(name.text) || is_dirty_whole(given);
            is_keyword = true;
        }
        if (by_key && given.is_text) judge_key(r, given.constant, given.is_odd, at);
        if (by_key && !given.is_text && is_dirty_whole(given))
            say(r, PEL_SUSPECT, at, "computes an attribute", (pel_str){ "", 0 });
        if (is_keyword && is_dirty_whole(given)) soil(r, name.text, DIRTY);
        if (is_keyword) {
            if (!take(r, ",") && !is_sign(r, ")")) fail(r, "a call does not end");
            continue;
        }
        if (!found.n) found.first = given;
        uint64_t place = is_spread ? UINT32_MAX : (uint64_t)1 << (found.n < 31 ? found.n : 31);
        if (given.is_dirty || given.is_function) found.places |= place;
        if (given.is_keyed) found.places |= place << 32;
        found.is_dirty |= is_dirty_whole(given);
        found.n++;
        if (!take(r, ",") && !is_sign(r, ")")) fail(r, "a call does not end");
    }
    next(r);
    return found;
}

/* |name or |name(...) */
static value filtered(reader *r, value of) {
    size_t at = r->token.at;
    pel_str name = need_name(r);
    arguments given = { 0 };
    if (!has_word(filters, name)) say(r, PEL_SUSPECT, at, "uses the filter", name);
    bool is_by_name = has_word(by_name, name);
    if (take(r, "(")) given = read_arguments(r, is_by_name);
    if (pel_str_is(name, "map") && given.n && given.first.is_text && !has_word(filters, given.first.constant))
        say(r, PEL_SUSPECT, at, "maps the filter", given.first.constant);
    bool is_dirty = is_dirty_whole(of) || given.is_dirty || given.is_keyed || pel_str_is(name, "format");
    return (value){ .is_dirty = is_dirty && !has_word(numbers, name) };
}

/* is name, is not name, is name(...), is name operand */
static value tested(reader *r) {
    take_word(r, "not");
    size_t at = r->token.at;
    pel_str name = need_name(r);
    if (!has_word(tests, name)) say(r, PEL_SUSPECT, at, "uses the test", name);
    if (take(r, "("))
        read_arguments(r, false);
    else if (r->token.kind == TEXT || r->token.kind == NUMBER ||
             (r->token.kind == NAME && !has_word(" and or not in is if else recursive ", r->token.text)))
        next(r);
    return (value){ 0 };
}

/* '{}'.format(x): fields with attributes in them are a way to Python's insides. */
static bool is_plain_format(pel_str text) {
    bool in_field = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '{') in_field = true;
        if (text.ptr[i] == '}') in_field = false;
        if (in_field && (text.ptr[i] == '.' || text.ptr[i] == '[')) return false;
    }
    return true;
}

static value called_method(reader *r, value of, pel_str name, size_t at) {
    bool is_format = pel_str_is(name, "format") && of.is_text && !of.is_odd && is_plain_format(of.constant);
    if (!is_format && !has_word(methods, name)) say(r, PEL_SUSPECT, at, "calls the method", name);
    arguments given = read_arguments(r, false);
    if ((given.is_dirty || given.is_keyed) && has_word(mutators, name)) soil(r, of.root, DIRTY);
    bool gives_number = has_word(" index count find rfind startswith endswith isdigit ", name);
    if (gives_number) return (value){ 0 };
    if (pel_str_is(name, "get")) return (value){ .is_dirty = of.is_dirty || given.is_dirty };
    bool is_cut =
        has_word(" split rsplit strip lstrip rstrip removeprefix removesuffix ", name); /* by what it is given */
    return (value){ .is_dirty = is_dirty_whole(of) || ((given.is_dirty || given.is_keyed) && !is_cut) };
}

static value called(reader *r, value of, size_t at) {
    bool is_macro = of.name.len && pel_map_has(&r->macros, key_of(r, of.name));
    if (!of.name.len)
        say(r, PEL_SUSPECT, at, "calls the result of an expression", (pel_str){ "", 0 });
    else if (!is_macro && !has_word(functions, of.name))
        say(r, PEL_SUSPECT, at, "calls", of.name);
    arguments given = read_arguments(r, false);
    if (is_macro) {
        uint64_t before = pel_map_find(&r->macros, key_of(r, of.name), 0), places = before | given.places;
        if (places != before) r->has_changed = true;
        pel_map_set(r->ctx, &r->macros, key_of(r, of.name), places);
    }
    return (value){ .is_dirty = is_macro || given.is_dirty || pel_str_is(of.name, "caller"),
                    .is_keyed = given.is_keyed };
}

/* [key] or [from:to:step] */
static value subscripted(reader *r, value of) {
    size_t at = r->token.at;
    value key = { 0 };
    bool is_slice = false;
    while (!is_sign(r, "]")) {
        if (take(r, ":")) {
            is_slice = true;
            continue;
        }
        key = expression(r);
        if (!take(r, ",") && !is_sign(r, ":") && !is_sign(r, "]")) fail(r, "a subscript does not end");
    }
    next(r);
    if (!is_slice && key.is_text) judge_key(r, key.constant, key.is_odd, at);
    if (!is_slice && !key.is_text && is_dirty_whole(key)) say(r, PEL_SUSPECT, at, "computes a key", (pel_str){ "", 0 });
    bool is_dirty = of.is_dirty || of.is_function || (key.is_text && is_soiled(r, key.constant, DIRTY));
    return (value){ .is_dirty = is_dirty, .root = of.root };
}

static value attribute(reader *r, value of) {
    size_t at = r->token.at;
    if (r->token.kind == NUMBER) { /* x.0 */
        next(r);
        return (value){ .is_dirty = of.is_dirty };
    }
    pel_str name = need_name(r);
    judge_key(r, name, false, at);
    if (take(r, "(")) return called_method(r, of, name, at);
    return (value){ .is_dirty = of.is_dirty || of.is_function || is_soiled(r, name, DIRTY), .root = of.root };
}

static value collection(reader *r, const char *close) {
    value made = { 0 };
    while (!is_sign(r, close)) {
        made.is_dirty |= is_dirty_whole(expression(r));
        if (!take(r, ",") && !take(r, ":") && !is_sign(r, close)) fail(r, "a bracket does not close");
    }
    next(r);
    return made;
}

static value primary(reader *r) {
    token first = r->token;
    value made = { 0 };
    if (first.kind == TEXT) {
        made = (value){ .is_text = true,
                        .constant = first.text,
                        .is_odd = first.is_odd,
                        .is_dirty = first.is_odd || is_dirty_text(first.text) };
        for (next(r); r->token.kind == TEXT; next(r)) { /* "a" "b" is one text */
            made.is_text = false;
            made.is_dirty = true;
        }
        return made;
    }
    if (first.kind == NUMBER) {
        next(r);
        return made;
    }
    if (first.kind == NAME) {
        next(r);
        if (has_word(" true false none True False None ", first.text)) return made;
        if (has_word(" self super lipsum cycler joiner ", first.text))
            say(r, PEL_SUSPECT, first.at, "uses a part of the engine:", first.text);
        made.root = made.name = first.text;
        made.is_dirty = is_soiled(r, first.text, DIRTY);
        made.is_keyed = is_soiled(r, first.text, KEYED);
        made.is_function = !pel_str_is(first.text, "loop") &&
                           (has_word(functions, first.text) || pel_map_has(&r->macros, key_of(r, first.text)));
        return made;
    }
    if (take(r, "(")) {
        bool is_group = !is_sign(r, ")");
        value inner = is_group ? expression(r) : made;
        if (is_group && take(r, ")")) {
            inner.is_function = false; /* (name)(...) is no call by name */
            inner.name = (pel_str){ "", 0 };
            return inner;
        }
        take(r, ",");
        value rest = collection(r, ")");
        return (value){ .is_dirty = is_dirty_whole(inner) || rest.is_dirty };
    }
    if (take(r, "[")) return collection(r, "]");
    if (take(r, "{")) return collection(r, "}");
    fail(r, "an expression was expected here");
}

static value postfix(reader *r) {
    if (++r->depth > MAX_DEPTH) fail(r, "expressions nest too deep");
    while (take(r, "-") || take(r, "+")) {}
    value made = primary(r);
    for (;;) {
        size_t at = r->token.at;
        if (take(r, "."))
            made = attribute(r, made);
        else if (take(r, "["))
            made = subscripted(r, made), made.is_function = false;
        else if (take(r, "("))
            made = called(r, made, at);
        else if (take(r, "|"))
            made = filtered(r, made);
        else if (take_word(r, "is"))
            made = tested(r);
        else
            break;
    }
    r->depth--;
    return made;
}

static value sum(reader *r) {
    value made = postfix(r);
    while (is_sign(r, "+") || is_sign(r, "-") || is_sign(r, "~") || is_sign(r, "*") || is_sign(r, "/") ||
           is_sign(r, "//") || is_sign(r, "%") || is_sign(r, "**")) {
        next(r);
        value other = postfix(r);
        made = (value){ .is_dirty = is_dirty_whole(made) || is_dirty_whole(other) };
    }
    return made;
}

static value comparison(reader *r) {
    if (take_word(r, "not")) {
        comparison(r);
        return (value){ 0 };
    }
    value made = sum(r);
    for (;;) {
        bool compares = is_sign(r, "==") || is_sign(r, "!=") || is_sign(r, "<") || is_sign(r, ">") ||
                        is_sign(r, "<=") || is_sign(r, ">=") || is_word(r, "in");
        if (take_word(r, "not")) {
            if (!is_word(r, "in")) fail(r, "'in' was expected here");
            compares = true;
        }
        if (!compares) return made;
        next(r);
        sum(r);
        made = (value){ 0 };
    }
}

/* a or b and c: any of them may be the value */
static value choice(reader *r) {
    value made = comparison(r);
    while (take_word(r, "and") || take_word(r, "or")) {
        value other = comparison(r);
        made = (value){ .is_dirty = is_dirty_whole(made) || is_dirty_whole(other) };
    }
    return made;
}

static value expression(reader *r) {
    if (++r->depth > MAX_DEPTH) fail(r, "expressions nest too deep");
    value made = choice(r);
    while (take_word(r, "if")) {
        choice(r);
        value other = take_word(r, "else") ? expression(r) : (value){ 0 };
        made = (value){ .is_dirty = is_dirty_whole(made) || is_dirty_whole(other) };
    }
    r->depth--;
    return made;
}

/* a, b, c: the dirt of one, or of any of several */
static uint64_t tuple_dirt(reader *r, value (*part)(reader *r)) {
    uint64_t dirt = dirt_of(part(r));
    while (take(r, ",")) {
        if (r->token.kind == END) break;
        dirt |= dirt_of(part(r)) ? DIRTY : 0;
    }
    return dirt;
}

/* ---- statements ---- */

#define MAX_TARGETS 16

typedef struct targets {
    pel_str names[MAX_TARGETS];
    uint32_t n;
} targets;

/* The variables that something is assigned to; of ns.name, the attribute. */
static targets read_targets(reader *r) {
    targets found = { .n = 0 };
    take(r, "(");
    do {
        pel_str name = need_name(r);
        while (take(r, ".")) name = need_name(r);
        if (found.n == MAX_TARGETS) fail(r, "too many variables");
        found.names[found.n++] = name;
    } while (take(r, ","));
    take(r, ")");
    return found;
}

static void soil_all(reader *r, const targets *to, uint64_t how) {
    for (uint32_t i = 0; i < to->n; i++) soil(r, to->names[i], how);
}

static void read_for(reader *r) {
    targets to = read_targets(r);
    if (!take_word(r, "in")) fail(r, "'in' was expected here");
    if (tuple_dirt(r, choice)) soil_all(r, &to, DIRTY);
    if (take_word(r, "if")) expression(r);
    take_word(r, "recursive");
}

static void read_set(reader *r) {
    targets to = read_targets(r);
    if (take(r, "=")) {
        soil_all(r, &to, tuple_dirt(r, expression));
        return;
    }
    soil_all(r, &to, DIRTY); /* the text up to endset */
    while (take(r, "|")) filtered(r, (value){ .is_dirty = true });
}

/* (a, b=1) of a macro */
static void read_parameters(reader *r, uint64_t places) {
    if (!take(r, "(")) return;
    for (uint32_t place = 0; !take(r, ")"); place++) {
        pel_str name = need_name(r);
        uint64_t given = places >> (place < 31 ? place : 31);
        soil(r, name, (given & 1 ? DIRTY : 0) | (given >> 32 & 1 ? KEYED : 0));
        if (take(r, "=") && is_dirty_whole(expression(r))) soil(r, name, DIRTY);
        if (!take(r, ",") && !is_sign(r, ")")) fail(r, "the parameters of a macro do not end");
    }
}

static void read_macro(reader *r) {
    pel_str name = need_name(r);
    uint64_t places = 0;
    if (!pel_map_get(&r->macros, key_of(r, name), &places)) {
        pel_map_set(r->ctx, &r->macros, key_of(r, name), 0);
        r->has_changed = true;
    }
    read_parameters(r, places);
}

static void read_with(reader *r) {
    while (r->token.kind != END) {
        targets to = read_targets(r);
        need(r, "=");
        soil_all(r, &to, dirt_of(expression(r)));
        if (!take(r, ",")) break;
    }
}

static void skip_raw(reader *r) {
    for (; r->at < r->text.len; r->at++) {
        if (!is_at(r, "{%")) continue;
        size_t at = r->at + 2;
        while (at < r->text.len && (isspace((unsigned char)r->text.ptr[at]) || r->text.ptr[at] == '-')) at++;
        if (pel_str_starts(pel_str_from(r->text, at), PEL_STR("endraw"))) return;
    }
    fail(r, "raw text does not end");
}

static void statement(reader *r) {
    size_t at = r->token.at;
    pel_str word = need_name(r);
    bool is_raw = pel_str_is(word, "raw");
    if (pel_str_is(word, "for"))
        read_for(r);
    else if (pel_str_is(word, "if") || pel_str_is(word, "elif"))
        tuple_dirt(r, expression);
    else if (pel_str_is(word, "set"))
        read_set(r);
    else if (pel_str_is(word, "macro"))
        read_macro(r);
    else if (pel_str_is(word, "call"))
        read_parameters(r, UINT64_MAX), expression(r);
    else if (pel_str_is(word, "filter")) {
        filtered(r, (value){ .is_dirty = true });
        while (take(r, "|")) filtered(r, (value){ .is_dirty = true });
    } else if (pel_str_is(word, "with"))
        read_with(r);
    else if (pel_str_is(word, "do") || pel_str_is(word, "autoescape"))
        tuple_dirt(r, expression);
    else if (!is_raw && !has_word(plain_statements, word)) {
        say(r, PEL_SUSPECT, at, "uses the statement", word);
        fail(r, "a statement that is not known");
    }
    if (pel_str_is(word, "endset") || pel_str_is(word, "endmacro"))
        while (r->token.kind == NAME) next(r); /* its name, again */
    if (r->token.kind != END) fail(r, "a statement does not end where it should");
    if (is_raw) skip_raw(r);
}

/* pel_audit_template calls it until no more names turn dirty, so each pass begins at the start of the text. The token
 * gets its place before the first one is read: errors report that place. */
static void read_template(pel_ctx *ctx, void *arg) {
    reader *r = arg;
    (void)ctx;
    r->at = 0;
    while (r->at < r->text.len) {
        const char *brace = memchr(r->text.ptr + r->at, '{', r->text.len - r->at);
        if (!brace) return;
        r->at = (size_t)(brace - r->text.ptr);
        bool is_comment = is_at(r, "{#");
        r->in_statement = is_at(r, "{%");
        if (!is_comment && !r->in_statement && !is_at(r, "{{")) {
            r->at++;
            continue;
        }
        r->token = (token){ .at = r->at };
        r->at += 2;
        if (is_comment) {
            const char *end = pel_str_find(pel_str_from(r->text, r->at), PEL_STR("#}"));
            if (!end) fail(r, "a comment does not end");
            r->at = (size_t)(end - r->text.ptr) + 2;
            continue;
        }
        if (r->at < r->text.len && (r->text.ptr[r->at] == '-' || r->text.ptr[r->at] == '+')) r->at++;
        r->braces = 0;
        r->depth = 0;
        next(r);
        if (r->in_statement) {
            statement(r);
            continue;
        }
        tuple_dirt(r, expression);
        if (r->token.kind != END) fail(r, "an expression does not end where it should");
    }
}

bool pel_is_template(pel_str text) {
    return text.len >= 4 && (pel_str_find(text, PEL_STR("{{")) || pel_str_find(text, PEL_STR("{%")));
}

void pel_audit_template(pel_ctx *ctx, pel_findings *findings, pel_str member, pel_str text, uint64_t at) {
    reader r = { .ctx = ctx, .findings = findings, .member = member, .text = text, .base = at };
    pel_err why;
    bool is_read = true;
    if (text.len > MAX_TEMPLATE) {
        pel_find(ctx, findings, PEL_SUSPECT, "template", member, at,
                 pel_format(ctx, "the chat template is longer than %zu KiB: it is not read", MAX_TEMPLATE >> 10));
        return;
    }
    for (int pass = 0; is_read && (!pass || r.has_changed); pass++) { /* until dirt has spread */
        r.has_changed = false;
        r.all_dirty = pass >= MAX_PASSES;
        if (pass > MAX_PASSES) break;
        is_read = pel_attempt(ctx, read_template, &r, &why);
    }
    r.says = true;
    is_read = pel_attempt(ctx, read_template, &r, &why);
    if (!is_read && why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
    if (!is_read)
        pel_find(ctx, findings, PEL_SUSPECT, "template", member, why.at,
                 pel_format(ctx, "the chat template is not read to its end: %s", why.what));
    if (r.n_said > MAX_SAID)
        pel_find(ctx, findings, PEL_SUSPECT, "template", member, at,
                 pel_format(ctx, "the chat template has %u more of these", r.n_said - MAX_SAID));
}
