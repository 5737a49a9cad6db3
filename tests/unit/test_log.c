/* Logs that hold themselves, or unfold to more than anyone could walk, are refused. */
#include "check.h"
#include "trace/log/log.h"

static pel_id add_class(pel_ctx *ctx, pel_log *log, const char *name, pel_id base, uint32_t times) {
    pel_log_class row = { .kind = PEL_CLASS_AUTHOR, .name = pel_intern_c(ctx, name), .n_bases = times };
    row.bases = pel_new_array(ctx, times, pel_id);
    for (uint32_t i = 0; i < times; i++) row.bases[i] = base;
    pel_push(ctx, &log->classes, row);
    return log->classes.n - 1;
}

static pel_id add_module(pel_ctx *ctx, pel_log *log, pel_id class, pel_id child, uint32_t times) {
    pel_log_module row = { .class = class };
    row.child_names = (pel_name_list){ pel_new_array(ctx, times, pel_name), times };
    row.children = pel_new_array(ctx, times, pel_id);
    for (uint32_t i = 0; i < times; i++) {
        row.child_names.at[i] = pel_intern_c(ctx, "part");
        row.children[i] = child;
    }
    pel_push(ctx, &log->modules, row);
    return log->modules.n - 1;
}

static pel_id add_tuple(pel_ctx *ctx, pel_log *log, pel_id item, uint32_t times) {
    pel_value row = { .kind = PEL_V_TUPLE, .n = times, .items = pel_new_array(ctx, times, pel_id) };
    for (uint32_t i = 0; i < times; i++) row.items[i] = item;
    pel_push(ctx, &log->values, row);
    return log->values.n - 1;
}

static void check_body(pel_ctx *ctx, void *log) { pel_log_check(ctx, log); }

static bool is_fine(pel_ctx *ctx, pel_log *log) {
    pel_err err;
    bool fine = pel_attempt(ctx, check_body, log, &err);
    CHECK(fine || err.code == PEL_E_FORMAT);
    return fine;
}

static void what_is_shared_is_fine(pel_ctx *ctx) {
    pel_log *log = pel_log_new(ctx);
    pel_id class = add_class(ctx, log, "Part", 0, 0), module = 0, value = 0;
    for (int i = 0; i < 20; i++) {
        module = add_module(ctx, log, class, module, 2);
        value = add_tuple(ctx, log, value, 2);
        class = add_class(ctx, log, "Part", class, 2);
    }
    CHECK(is_fine(ctx, log));
}

static void what_doubles_without_end_is_not(pel_ctx *ctx) {
    for (int table = 0; table < 3; table++) {
        pel_log *log = pel_log_new(ctx);
        pel_id class = add_class(ctx, log, "Part", 0, 0), of = class, module = 0, value = 0;
        for (int i = 0; i < 40; i++) {
            if (table == 0) of = add_class(ctx, log, "Part", of, 2);
            if (table == 1) module = add_module(ctx, log, class, module, 2);
            if (table == 2) value = add_tuple(ctx, log, value, 2);
        }
        CHECK(!is_fine(ctx, log));
    }
}

static void what_holds_itself_is_not(pel_ctx *ctx) {
    pel_log *log = pel_log_new(ctx);
    add_class(ctx, log, "Part", 1, 1);
    CHECK(!is_fine(ctx, log));
    log = pel_log_new(ctx);
    pel_id class = add_class(ctx, log, "Part", 0, 0);
    add_module(ctx, log, class, 2, 1);
    add_module(ctx, log, class, 1, 1);
    CHECK(!is_fine(ctx, log));
}

static void what_nests_too_deep_is_not(pel_ctx *ctx) {
    pel_log *log = pel_log_new(ctx);
    pel_id value = 0;
    for (int i = 0; i < 1000; i++) value = add_tuple(ctx, log, value, 1);
    CHECK(!is_fine(ctx, log));
}

static const test tests[] = {
    TEST(what_is_shared_is_fine),
    TEST(what_doubles_without_end_is_not),
    TEST(what_holds_itself_is_not),
    TEST(what_nests_too_deep_is_not),
};

int main(void) { return RUN_TESTS(tests); }
