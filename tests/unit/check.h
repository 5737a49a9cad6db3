/* Enough of a test framework: a test is a function in a table, a check that fails says where and goes on. */
#ifndef PEL_TESTS_CHECK_H
#define PEL_TESTS_CHECK_H

#include "base/ctx.h"

#include <stdio.h>

typedef struct test {
    const char *name;
    void (*run)(pel_ctx *ctx); /* inside pel_attempt: an error that it throws fails the test */
} test;

static int checks, failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                             \
        }                                                                                                              \
    } while (0)

#define CHECK_STR(got, expected)                                                                                       \
    do {                                                                                                               \
        pel_str got_ = (got);                                                                                          \
        checks++;                                                                                                      \
        if (!pel_str_is(got_, expected)) {                                                                             \
            failures++;                                                                                                \
            printf("%s:%d: got \"%.*s\", expected \"%s\"\n", __FILE__, __LINE__, PEL_FMT(got_), expected);             \
        }                                                                                                              \
    } while (0)

static void run_body(pel_ctx *ctx, void *arg) { ((const test *)arg)->run(ctx); }

static int run_tests(const test *tests, size_t n) {
    for (size_t i = 0; i < n; i++) {
        pel_ctx *ctx = pel_ctx_new(0);
        pel_err err;
        test one = tests[i];
        int before = failures;
        if (!pel_attempt(ctx, run_body, &one, &err)) {
            failures++;
            printf("%s threw: %s\n", one.name, err.what);
        }
        if (failures > before) printf("FAILED %s\n", one.name);
        pel_ctx_free(ctx);
    }
    printf("%zu tests, %d checks, %d failed\n", n, checks, failures);
    return failures != 0;
}

#define TEST(name)                                                                                                     \
    { #name, name }
#define RUN_TESTS(tests) run_tests(tests, PEL_COUNT(tests))

#endif
