/* Regular expressions beside Python's: what `re` of Python 3.11 says to each row (spans in bytes). */
#include "check.h"
#include "python/regex.h"

typedef enum answer { NONE, FOUND, ERROR } answer;

typedef struct row {
    const char *pattern;
    size_t pattern_len;
    const char *text;
    size_t text_len;
    uint32_t flags;
    pel_regex_mode mode;
    answer expected;
    int64_t spans[10];
} row;

/* clang-format off */
static const row rows[] = {
    { "abc", 3, "xabcx", 5, 0, PEL_RE_SEARCH, FOUND, { 1, 4 } },
    { "abc", 3, "ab", 2, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a.c", 3, "a\012c", 3, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a.c", 3, "abc", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "a.c", 3, "a\012c", 3, 16, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "(a+)(b*)\077", 9, "aaab", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 4, 0, 3, 3, 4 } },
    { "(a+)(b*)\077", 9, "b", 1, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(a+)(b*)\077", 9, "a", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 1, 0, 1, 1, 1 } },
    { "(\077P<x>\\d+)-(\077P=x)", 17, "12-12", 5, 0, PEL_RE_SEARCH, FOUND, { 0, 5, 0, 2 } },
    { "(\077P<x>\\d+)-(\077P=x)", 17, "12-13", 5, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "^blocks\\.(\\d+)\\.(\\w+)$", 22, "blocks.12.attn", 14, 0, PEL_RE_SEARCH, FOUND, { 0, 14, 7, 9, 10, 14 } },
    { "^blocks\\.(\\d+)\\.(\\w+)$", 22, "blocks.x.attn", 13, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(a|ab)(c|bcd)(d*)", 17, "abcd", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 4, 0, 1, 1, 4, 4, 4 } },
    { "(\077:a|b)*\077c", 10, "ababc", 5, 0, PEL_RE_SEARCH, FOUND, { 0, 5 } },
    { "a{2,3}", 6, "aaaa", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "a{2,3}", 6, "a", 1, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a{2,}\077", 6, "aaaa", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "a{,2}b", 6, "aaab", 4, 0, PEL_RE_SEARCH, FOUND, { 1, 4 } },
    { "a{x}", 4, "a{x}", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 4 } },
    { "[^a-c\\d]+", 9, "abcxyz1", 7, 0, PEL_RE_SEARCH, FOUND, { 3, 6 } },
    { "[]x]+", 5, "]x]", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "[\\w.-]+@[\\w-]+\\.\\w+", 19, "me.you@some-host.org!", 21, 0, PEL_RE_SEARCH, FOUND, { 0, 20 } },
    { "[a\\-z]+", 7, "-az", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "\\bfoo\\b", 7, "a foo b", 7, 0, PEL_RE_SEARCH, FOUND, { 2, 5 } },
    { "\\bfoo\\b", 7, "afoob", 5, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "\\Bo", 3, "foo", 3, 0, PEL_RE_SEARCH, FOUND, { 1, 2 } },
    { "\\Aab\\Z", 6, "ab", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "\\Aab\\Z", 6, "ab\012", 3, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "ab$", 3, "ab\012", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "ab$", 3, "ab\012x", 4, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "^b", 2, "a\012b", 3, 8, PEL_RE_SEARCH, FOUND, { 2, 3 } },
    { "a$", 2, "a\012b", 3, 8, PEL_RE_SEARCH, FOUND, { 0, 1 } },
    { "(\077=foo)f", 8, "foo", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 1 } },
    { "(\077=foo)f", 8, "fao", 3, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a(\077!b)", 6, "ab", 2, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a(\077!b)", 6, "ac", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 1 } },
    { "(\077<=ab)c", 8, "abc", 3, 0, PEL_RE_SEARCH, FOUND, { 2, 3 } },
    { "(\077<=ab)c", 8, "xbc", 3, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(\077<!a)b", 7, "ab", 2, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(\077<!a)b", 7, "cb", 2, 0, PEL_RE_SEARCH, FOUND, { 1, 2 } },
    { "(\077<!a)b", 7, "b", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 1 } },
    { "(\077i)HeLLo", 9, "say hello", 9, 0, PEL_RE_SEARCH, FOUND, { 4, 9 } },
    { "hello", 5, "HELLO", 5, 2, PEL_RE_SEARCH, FOUND, { 0, 5 } },
    { "[a-c]+", 6, "ABC", 3, 2, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "\303\211", 2, "\303\251", 2, 2, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "(\077i:a)b", 7, "Ab", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "(\077i:a)b", 7, "AB", 2, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(a*)*", 5, "aaa", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3, 3, 3 } },
    { "(a*)*", 5, "b", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 0, 0, 0 } },
    { "(a|b*)*c", 8, "abbc", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 4, 3, 3 } },
    { "(a|b*)*c", 8, "d", 1, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "(\077:a\077)*\077b", 9, "aab", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "(x+x+)+y", 8, "xxxxy", 5, 0, PEL_RE_SEARCH, FOUND, { 0, 5, 0, 4 } },
    { "(\\w+)\\s(\\w+)", 12, "hello world  x", 14, 0, PEL_RE_SEARCH, FOUND, { 0, 11, 0, 5, 6, 11 } },
    { "\303\251+", 3, "caf\303\251\303\251", 7, 0, PEL_RE_SEARCH, FOUND, { 3, 7 } },
    { ".", 1, "\346\227\245\346\234\254", 6, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "\\w+", 3, "\346\227\245\346\234\254 x", 8, 0, PEL_RE_SEARCH, FOUND, { 0, 6 } },
    { "\\w+", 3, "\346\227\245\346\234\254 x", 8, 256, PEL_RE_SEARCH, FOUND, { 7, 8 } },
    { "\\s+", 3, "a\343\200\200\011b", 6, 0, PEL_RE_SEARCH, FOUND, { 1, 5 } },
    { "[\346\227\245-\346\234\254]", 9, "\346\234\254", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "(\077x) a b  # comment\012 c", 22, "abc", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3 } },
    { "(\077P<a>x)\077(\077(a)y|z)", 18, "xy", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 2, 0, 1 } },
    { "(\077P<a>x)\077(\077(a)y|z)", 18, "z", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 1, -1, -1 } },
    { "(\077P<a>x)\077(\077(a)y|z)", 18, "xz", 2, 0, PEL_RE_SEARCH, FOUND, { 1, 2, -1, -1 } },
    { "(\077#note)a", 9, "a", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 1 } },
    { "(\077>a+)ab", 8, "aaab", 4, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "a++b", 4, "aaab", 4, 0, PEL_RE_SEARCH, FOUND, { 0, 4 } },
    { "a*+a", 4, "aaa", 3, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "\\x41\\u00e9\\n\\t\\\\\\.", 18, "A\303\251\012\011\\.", 7, 0, PEL_RE_SEARCH, FOUND, { 0, 7 } },
    { "\\0\\07", 5, "\000\007", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "(a)(b)\077(c)\077", 11, "ac", 2, 0, PEL_RE_SEARCH, FOUND, { 0, 2, 0, 1, -1, -1, 1, 2 } },
    { "(a)|(b)", 7, "b", 1, 0, PEL_RE_SEARCH, FOUND, { 0, 1, -1, -1, 0, 1 } },
    { "", 0, "abc", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 0 } },
    { "", 0, "abc", 3, 0, PEL_RE_MATCH, FOUND, { 0, 0 } },
    { "", 0, "abc", 3, 0, PEL_RE_FULLMATCH, NONE, { 0 } },
    { "a*", 2, "aab", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 2 } },
    { "a*", 2, "aab", 3, 0, PEL_RE_MATCH, FOUND, { 0, 2 } },
    { "a*", 2, "aab", 3, 0, PEL_RE_FULLMATCH, NONE, { 0 } },
    { "b", 1, "ab", 2, 0, PEL_RE_SEARCH, FOUND, { 1, 2 } },
    { "b", 1, "ab", 2, 0, PEL_RE_MATCH, NONE, { 0 } },
    { "b", 1, "ab", 2, 0, PEL_RE_FULLMATCH, NONE, { 0 } },
    { "layers\077\\.(\\d+)(\077:\\.|$)", 22, "layer.3", 7, 0, PEL_RE_SEARCH, FOUND, { 0, 7, 6, 7 } },
    { "layers\077\\.(\\d+)(\077:\\.|$)", 22, "layers.11.x", 11, 0, PEL_RE_SEARCH, FOUND, { 0, 10, 7, 9 } },
    { "^(\077!.*head)(.+)\\.weight$", 24, "a.head.weight", 13, 0, PEL_RE_SEARCH, NONE, { 0 } },
    { "^(\077!.*head)(.+)\\.weight$", 24, "a.b.weight", 10, 0, PEL_RE_SEARCH, FOUND, { 0, 10, 0, 3 } },
    { "((a)(b)\077)+", 10, "aba", 3, 0, PEL_RE_SEARCH, FOUND, { 0, 3, 2, 3, 2, 3, 1, 2 } },
    { "(\077<=(a))b", 9, "ab", 2, 0, PEL_RE_SEARCH, FOUND, { 1, 2, 0, 1 } },
    { "(", 1, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "a)", 2, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "[a", 2, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "*a", 2, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "a**", 3, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "(\077P<x", 5, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "(\077P=y)", 6, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "\\", 1, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "[b-a]", 5, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "a{3,2}", 6, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "(\077<=a+)b", 8, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "\\1", 2, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "(\077z)", 4, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "(\077(2)a)", 7, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "\\q", 2, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
    { "x{1,2}{3}", 9, "", 0, 0, PEL_RE_SEARCH, ERROR, { 0 } },
};
/* clang-format on */

typedef struct job {
    const row *row;
    bool found;
    uint32_t n_groups;
    int64_t spans[10];
} job;

static void run_row(pel_ctx *ctx, void *arg) {
    job *j = arg;
    const row *r = j->row;
    uint64_t steps = 100000;
    const pel_regex *regex = pel_regex_new(ctx, (pel_str){ r->pattern, r->pattern_len }, r->flags, false);
    j->n_groups = regex->n_groups;
    j->found = pel_regex_run(ctx, regex, (pel_str){ r->text, r->text_len }, 0, r->text_len, r->mode, j->spans, &steps);
}

static void as_python_does(pel_ctx *ctx) {
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        job j = { .row = &rows[i] };
        pel_err err;
        bool done = pel_attempt(ctx, run_row, &j, &err);
        answer got = !done ? ERROR : j.found ? FOUND : NONE;
        bool same = got == rows[i].expected;
        for (uint32_t k = 0; same && got == FOUND && k < 2 * (j.n_groups + 1); k++)
            same = j.spans[k] == rows[i].spans[k];
        if (!same) printf("row %zu: %s on \"%s\": %s\n", i, rows[i].pattern, rows[i].text, done ? "" : err.what);
        CHECK(same);
    }
}

static void evil(pel_ctx *ctx, void *arg) {
    (void)arg;
    uint64_t steps = 1000000;
    int64_t spans[4];
    const pel_regex *regex = pel_regex_new(ctx, PEL_STR("(x+x+)+y"), 0, false);
    pel_regex_run(ctx, regex, PEL_STR("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), 0, 56, PEL_RE_SEARCH,
                  spans, &steps);
}

static void steps_run_out(pel_ctx *ctx) {
    pel_err err;
    CHECK(!pel_attempt(ctx, evil, NULL, &err) && err.code == PEL_E_TOO_BIG);
}

static void deep(pel_ctx *ctx, void *arg) { pel_regex_new(ctx, *(const pel_str *)arg, 0, false); }

static void patterns_have_limits(pel_ctx *ctx) {
    static char open[5000];
    memset(open, '(', sizeof open);
    pel_str patterns[] = { { open, sizeof open }, PEL_STR("(((a{1000}){1000}){1000}){1000}"), PEL_STR("a{100000}") };
    for (size_t i = 0; i < PEL_COUNT(patterns); i++) {
        pel_err err;
        CHECK(!pel_attempt(ctx, deep, &patterns[i], &err));
    }
}

static void names_of_groups(pel_ctx *ctx) {
    const pel_regex *regex = pel_regex_new(ctx, PEL_STR("(a)(?P<second>b)"), 0, false);
    CHECK(regex->names.n == 1 && regex->names.at[0].group == 2 && pel_name_is(regex->names.at[0].name, "second"));
}

static const test tests[] = {
    TEST(as_python_does),
    TEST(steps_run_out),
    TEST(patterns_have_limits),
    TEST(names_of_groups),
};

int main(void) { return RUN_TESTS(tests); }
