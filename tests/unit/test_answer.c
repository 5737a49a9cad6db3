#include "base/answer.h"
#include "check.h"

static pel_evidence because(const char *what) { return (pel_evidence){ .what = pel_str_of(what) }; }

static pel_answer make(pel_ctx *ctx, int kind) {
    switch ((pel_answer_kind)kind) {
    case PEL_PROVED: return pel_proved(ctx, because("a condition"));
    case PEL_CHECKED: return pel_checked(ctx, because("a run"));
    case PEL_UNDECIDED: return pel_undecided(ctx, because("a reason"));
    case PEL_CONTRADICTED: return pel_contradicted(ctx, because("a difference"));
    }
    return (pel_answer){ .kind = PEL_CONTRADICTED };
}

static void the_worst_decides(pel_ctx *ctx) {
    for (int a = PEL_PROVED; a <= PEL_CONTRADICTED; a++)
        for (int b = PEL_PROVED; b <= PEL_CONTRADICTED; b++) {
            pel_answer left = make(ctx, a), right = make(ctx, b), both = pel_answer_join(ctx, &left, &right);
            CHECK((int)both.kind == (a > b ? a : b));
            CHECK(both.evidence.n == (a == b ? 2 : 1));
            CHECK(pel_answer_exit(both.kind) >= pel_answer_exit(left.kind));
            CHECK(pel_answer_exit(both.kind) >= pel_answer_exit(right.kind));
        }
}

static void no_evidence_is_unknown(pel_ctx *ctx) {
    CHECK(pel_proved(ctx, because("")).kind == PEL_UNDECIDED);
    CHECK(pel_checked(ctx, because("")).kind == PEL_UNDECIDED);
    CHECK(pel_undecided(ctx, because("")).kind == PEL_UNDECIDED);
    CHECK(pel_contradicted(ctx, because("")).kind == PEL_CONTRADICTED);
    CHECK(pel_proved(ctx, because("")).evidence.n == 1);
}

static void json_has_the_evidence(pel_ctx *ctx) {
    pel_buf out = pel_buf_in(ctx);
    pel_json json = pel_json_to(&out);
    pel_answer made = pel_undecided(ctx, (pel_evidence){ PEL_STR("too deep"), PEL_STR("a.pkl"), 7 });
    pel_answer_json(&json, &made);
    CHECK(pel_str_is(pel_buf_str(&out),
                     "{\"answer\":\"unknown\",\"evidence\":[{\"what\":\"too deep\",\"where\":\"a.pkl\",\"at\":7}]}"));
}

int main(void) {
    static const test tests[] = { TEST(the_worst_decides), TEST(no_evidence_is_unknown), TEST(json_has_the_evidence) };
    return RUN_TESTS(tests);
}
