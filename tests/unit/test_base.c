#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include "check.h"

#include <math.h>

/* ---- the arena ---- */

static void allocations_are_aligned_and_clear(pel_ctx *ctx) {
    for (size_t size = 1; size < 5000; size = size * 3 / 2 + 1) {
        char *at = pel_alloc(ctx, size);
        CHECK((uintptr_t)at % _Alignof(max_align_t) == 0);
        bool is_clear = true;
        for (size_t i = 0; i < size; i++) is_clear = is_clear && at[i] == 0;
        CHECK(is_clear);
        memset(at, 0xAA, size);
    }
}

static void nothing_has_an_address_too(pel_ctx *ctx) {
    void *first = pel_alloc(ctx, 0);
    void *second = pel_new_array(ctx, 0, int);
    CHECK(first && second && first != second);
}

static void large_allocation_keeps_the_current_block(pel_ctx *ctx) {
    char *first = pel_alloc_raw(ctx, 16);
    char *large = pel_alloc_raw(ctx, 1 << 20);
    char *second = pel_alloc_raw(ctx, 16);
    memset(large, 1, 1 << 20);
    memset(first, 2, 16);
    memset(second, 3, 16);
    CHECK(first[15] == 2 && large[0] == 1 && large[(1 << 20) - 1] == 1 && second[0] == 3);
}

static void ask_too_much(pel_ctx *ctx, void *arg) { pel_alloc(ctx, *(uint64_t *)arg); }

static void limits_are_kept(pel_ctx *unused) {
    (void)unused;
    pel_ctx *ctx = pel_ctx_new(1 << 20);
    pel_err err;
    uint64_t sizes[] = { (1 << 20) + 1, (uint64_t)1 << 40, SIZE_MAX, SIZE_MAX - 8 };
    for (size_t i = 0; i < PEL_COUNT(sizes); i++) {
        CHECK(!pel_attempt(ctx, ask_too_much, &sizes[i], &err));
        CHECK(err.code == PEL_E_MEMORY);
    }
    uint64_t fits = 1 << 16;
    CHECK(pel_attempt(ctx, ask_too_much, &fits, &err));
    pel_ctx_reset(ctx);
    uint64_t most = (1 << 20) - 64;
    CHECK(pel_attempt(ctx, ask_too_much, &most, &err));
    pel_ctx_free(ctx);
}

static void overflow_array(pel_ctx *ctx, void *arg) {
    (void)arg;
    pel_alloc_array(ctx, SIZE_MAX / 2, 4);
}

static void array_size_overflow_is_an_error(pel_ctx *ctx) {
    pel_err err;
    CHECK(!pel_attempt(ctx, overflow_array, NULL, &err));
    CHECK(err.code == PEL_E_MEMORY);
}

static void vectors_grow(pel_ctx *ctx) {
    PEL_VEC(int) numbers = { 0 };
    for (int i = 0; i < 1000; i++) pel_push(ctx, &numbers, i * i);
    CHECK(numbers.n == 1000 && numbers.at[0] == 0 && numbers.at[999] == 999 * 999);
    pel_reserve(ctx, &numbers, 5000);
    CHECK(numbers.cap - numbers.n >= 5000 && numbers.at[500] == 250000);
}

static void allocate_four(pel_ctx *ctx, void *arg) {
    (void)arg;
    for (int i = 0; i < 4; i++) pel_alloc(ctx, 8);
}

static void any_allocation_can_be_made_to_fail(pel_ctx *ctx) {
    pel_err err;
    for (long nth = 1; nth <= 6; nth++) {
        pel_fail_allocation(nth);
        bool done = pel_attempt(ctx, allocate_four, NULL, &err);
        CHECK(done == (nth > 4));
        CHECK(done || err.code == PEL_E_MEMORY);
        CHECK(pel_fail_allocation(0) == (nth > 4 ? nth - 4 : 0));
        pel_ctx_reset(ctx);
    }
}

/* ---- errors ---- */

static void throw_at(pel_ctx *ctx, void *arg) { pel_throw_at(ctx, PEL_E_SYNTAX, 7, 2, 3, "bad %s", (const char *)arg); }

static void throw_after_catching(pel_ctx *ctx, void *arg) {
    pel_err err;
    CHECK(!pel_attempt(ctx, throw_at, arg, &err));
    CHECK_STR(pel_str_of(err.what), "bad thing");
    CHECK(err.code == PEL_E_SYNTAX && err.at == 7 && err.line == 2 && err.column == 3);
    pel_throw(ctx, PEL_E_FORMAT, 1, "outer");
}

static void attempts_nest(pel_ctx *ctx) {
    pel_err err;
    char thing[] = "thing";
    CHECK(!pel_attempt(ctx, throw_after_catching, thing, &err));
    CHECK(err.code == PEL_E_FORMAT && err.line == 0);
    CHECK_STR(pel_str_of(err.what), "outer");
}

static void long_messages_are_cut(pel_ctx *ctx) {
    char text[2 * PEL_MESSAGE_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    pel_err err;
    CHECK(!pel_attempt(ctx, throw_at, text, &err));
    CHECK(strlen(err.what) == PEL_MESSAGE_MAX - 1);
}

/* ---- names ---- */

static void equal_text_is_one_name(pel_ctx *ctx) {
    pel_name first = pel_intern_c(ctx, "forward");
    char other[] = "forwardx";
    CHECK(pel_intern(ctx, other, 7) == first);
    CHECK(pel_intern(ctx, other, 8) != first);
    CHECK(pel_intern(ctx, "", 0) == pel_intern_c(ctx, ""));
    CHECK_STR(pel_name_str(first), "forward");
}

static void many_names(pel_ctx *ctx) {
    enum { N = 20000 };
    pel_name *names = pel_new_array(ctx, N, pel_name);
    for (int i = 0; i < N; i++) {
        pel_str text = pel_format(ctx, "name_%d", i);
        names[i] = pel_intern(ctx, text.ptr, text.len);
    }
    bool all_same = true;
    for (int i = 0; i < N; i++) {
        pel_str text = pel_format(ctx, "name_%d", i);
        all_same = all_same && pel_intern(ctx, text.ptr, text.len) == names[i];
    }
    CHECK(all_same && ctx->n_names == N);
}

static void names_hold_nul(pel_ctx *ctx) {
    CHECK(pel_intern(ctx, "a\0b", 3) != pel_intern(ctx, "a\0c", 3));
    CHECK(pel_intern(ctx, "a\0b", 3)->len == 3);
}

/* ---- slices ---- */

static void slices_stay_inside(pel_ctx *ctx) {
    (void)ctx;
    pel_str s = PEL_STR("hello");
    CHECK_STR(pel_str_cut(s, 1, 3), "el");
    CHECK_STR(pel_str_cut(s, 3, 99), "lo");
    CHECK_STR(pel_str_cut(s, 9, 2), "");
    CHECK_STR(pel_str_from(s, 4), "o");
    CHECK_STR(pel_str_from(s, 5), "");
    CHECK_STR(pel_str_from(s, 50), "");
    CHECK(pel_str_starts(s, PEL_STR("he")) && !pel_str_starts(s, PEL_STR("hello!")));
    CHECK(pel_str_ends(s, PEL_STR("llo")) && !pel_str_ends(s, PEL_STR("xhello")));
    CHECK(pel_str_cmp(PEL_STR("ab"), PEL_STR("abc")) < 0 && pel_str_cmp(PEL_STR("b"), PEL_STR("abc")) > 0);
    CHECK(pel_str_cmp(s, s) == 0);
}

/* ---- maps ---- */

static void maps_keep_their_keys(pel_ctx *ctx) {
    pel_map map = { 0 };
    uint64_t value = 0;
    CHECK(!pel_map_get(&map, 1, &value) && pel_map_find(&map, 1, 42) == 42);
    for (uint64_t i = 0; i < 5000; i++) CHECK(pel_map_set(ctx, &map, i * 0x100000001u, i));
    CHECK(map.n == 5000 && !pel_map_set(ctx, &map, 0, 77));
    CHECK(pel_map_find(&map, 0, 1) == 77 && map.n == 5000);
    bool all_there = true;
    for (uint64_t i = 1; i < 5000; i++) all_there = all_there && pel_map_find(&map, i * 0x100000001u, 0) == i;
    CHECK(all_there && !pel_map_has(&map, 5000 * 0x100000001u));
}

/* ---- output ---- */

static void buffers_grow(pel_ctx *ctx) {
    pel_buf buf = pel_buf_in(ctx);
    CHECK_STR(pel_buf_str(&buf), "");
    pel_put_c(&buf, "x=");
    pel_put_int(&buf, INT64_MIN);
    pel_put_spaces(&buf, 2);
    pel_putf(&buf, "%s-%d", "y", 5);
    pel_put_byte(&buf, '!');
    CHECK_STR(pel_buf_str(&buf), "x=-9223372036854775808  y-5!");
    for (int i = 0; i < 10000; i++) pel_put_c(&buf, "0123456789");
    CHECK(buf.len == 100000 + 28);
}

static void code_points_become_utf8(pel_ctx *ctx) {
    pel_buf buf = pel_buf_in(ctx);
    uint32_t points[] = { 'a', 0xE9, 0x20AC, 0x1F600, 0xDC80 };
    for (size_t i = 0; i < PEL_COUNT(points); i++) pel_put_utf8(&buf, points[i]);
    CHECK_STR(pel_buf_str(&buf), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xB2\x80");
}

static void json_puts_commas_and_escapes(pel_ctx *ctx) {
    pel_buf buf = pel_buf_in(ctx);
    pel_json json = pel_json_to(&buf);
    pel_json_object(&json);
    pel_json_key(&json, "list");
    pel_json_array(&json);
    pel_json_int(&json, -1);
    pel_json_array(&json);
    pel_json_end_array(&json);
    pel_json_double(&json, 0.5);
    pel_json_bool(&json, true);
    pel_json_null(&json);
    pel_json_end_array(&json);
    pel_json_key_str(&json, PEL_STR("a\"b"));
    pel_json_str(&json, PEL_STR("\x01\n\t\\\xC3\xA9\xFF\xED\xB2\x80"));
    pel_json_end_object(&json);
    CHECK_STR(pel_buf_str(&buf),
              "{\"list\":[-1,[],0.5,true,null],\"a\\\"b\":\"\\u0001\\n\\u0009\\\\\xC3\xA9\\udcff\\udc80\"}");
}

static void json_writes_infinity_as_text(pel_ctx *ctx) {
    pel_buf buf = pel_buf_in(ctx);
    pel_json json = pel_json_to(&buf);
    pel_json_array(&json);
    pel_json_double(&json, INFINITY);
    pel_json_double(&json, NAN);
    pel_json_end_array(&json);
    CHECK_STR(pel_buf_str(&buf), "[\"inf\",\"nan\"]");
}

int main(void) {
    static const test tests[] = {
        TEST(allocations_are_aligned_and_clear),
        TEST(nothing_has_an_address_too),
        TEST(large_allocation_keeps_the_current_block),
        TEST(limits_are_kept),
        TEST(array_size_overflow_is_an_error),
        TEST(vectors_grow),
        TEST(any_allocation_can_be_made_to_fail),
        TEST(attempts_nest),
        TEST(long_messages_are_cut),
        TEST(equal_text_is_one_name),
        TEST(many_names),
        TEST(names_hold_nul),
        TEST(slices_stay_inside),
        TEST(maps_keep_their_keys),
        TEST(buffers_grow),
        TEST(code_points_become_utf8),
        TEST(json_puts_commas_and_escapes),
        TEST(json_writes_infinity_as_text),
    };
    return RUN_TESTS(tests);
}
