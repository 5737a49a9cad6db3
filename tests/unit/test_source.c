/* Inputs: ranges out of memory and out of a callback, and what a callback is asked for. */
#include "check.h"

#include "io/source.h"

#define BLOCK PEL_INPUT_BLOCK

/* A file of `size` bytes, most of them made up: byte i is i * 7; `head` and `tail` lie at its ends. */
typedef struct made_file {
    uint64_t size;
    pel_str head, tail;
    uint64_t fail_at;           /* a read that reaches this byte fails; 0: none */
    pel_model_source *changing; /* its etag changes with the second read */
} made_file;

static bool read_made(void *arg, uint64_t offset, char *to, size_t length) {
    made_file *file = arg;
    if (offset + length > file->size) return false;
    if (file->fail_at && offset + length > file->fail_at) return false;
    if (file->changing && file->changing->n_requests > 1) file->changing->etag = (pel_text){ "v2", 2 };
    for (size_t i = 0; i < length; i++) {
        uint64_t at = offset + i, tail = file->size - file->tail.len;
        to[i] = at < file->head.len ? file->head.ptr[at]
                : at >= tail        ? file->tail.ptr[at - tail]
                                    : (char)(unsigned char)(at * 7 & 255);
    }
    return true;
}

static bool is_made(pel_str view, uint64_t offset) {
    for (size_t i = 0; i < view.len; i++)
        if ((unsigned char)view.ptr[i] != ((offset + i) * 7 & 255)) return false;
    return true;
}

static void views_of_memory_are_not_copied(pel_ctx *ctx) {
    const char text[] = "0123456789";
    pel_input input = pel_input_of((pel_str){ text, 10 });
    CHECK(pel_input_view(ctx, &input, 3, 4).ptr == text + 3);
    pel_input part = pel_input_part(ctx, &input, 2, 5);
    CHECK(pel_input_whole(ctx, &part).ptr == text + 2 && part.size == 5);
    CHECK(pel_input_has(&input, 10, 0) && !pel_input_has(&input, 10, 1) && !pel_input_has(&input, 1, UINT64_MAX));
}

static void blocks_are_asked_for_once(pel_ctx *ctx) {
    made_file file = { .size = 10 * BLOCK + 5 };
    pel_model_source source = { .size = file.size, .read_at = read_made, .arg = &file };
    pel_input input = pel_input_from(ctx, &source);
    CHECK(is_made(pel_input_view(ctx, &input, 10, 20), 10));
    CHECK(is_made(pel_input_view(ctx, &input, BLOCK - 1, 1), BLOCK - 1));
    CHECK(source.n_requests == 1 && source.n_bytes == BLOCK);
    CHECK(is_made(pel_input_view(ctx, &input, 5 * BLOCK - 3, 7), 5 * BLOCK - 3)); /* over an edge: two blocks at once */
    CHECK(source.n_requests == 2 && source.n_bytes == 3 * BLOCK);
    CHECK(is_made(pel_input_view(ctx, &input, 10 * BLOCK, 5), 10 * BLOCK)); /* the last one is shorter */
    CHECK(source.n_requests == 3 && source.n_bytes == 3 * BLOCK + 5);
    CHECK(is_made(pel_input_view(ctx, &input, 0, 6 * BLOCK), 0)); /* what is known is not asked for again */
    CHECK(source.n_requests == 4 && source.n_bytes == 6 * BLOCK + 5);
    pel_input part = pel_input_part(ctx, &input, BLOCK + 1, 100);
    CHECK(is_made(pel_input_whole(ctx, &part), BLOCK + 1));
    CHECK(source.n_requests == 4);
}

static void who_reads_on_gets_more(pel_ctx *ctx) {
    made_file file = { .size = 100 * BLOCK };
    pel_model_source source = { .size = file.size, .read_at = read_made, .arg = &file };
    pel_input input = pel_input_from(ctx, &source);
    for (uint64_t at = 0; at + 1000 <= file.size; at += 1000) CHECK(is_made(pel_input_view(ctx, &input, at, 1000), at));
    CHECK(source.n_requests < 20);
    CHECK(source.n_bytes == file.size);
}

typedef struct view_job {
    const pel_input *input;
    uint64_t offset, size;
} view_job;

static void view_body(pel_ctx *ctx, void *arg) {
    const view_job *job = arg;
    pel_input_view(ctx, job->input, job->offset, job->size);
}

static pel_code code_of(pel_ctx *ctx, const pel_input *input, uint64_t offset, uint64_t size) {
    pel_err err = { .code = PEL_E_OK };
    view_job job = { input, offset, size };
    return pel_attempt(ctx, view_body, &job, &err) ? PEL_E_OK : err.code;
}

static void check_body(pel_ctx *ctx, void *arg) { pel_input_check(ctx, arg); }

static void failures_stay(pel_ctx *ctx) {
    made_file file = { .size = 10 * BLOCK, .fail_at = 3 * BLOCK };
    pel_model_source source = { .size = file.size, .read_at = read_made, .arg = &file };
    pel_input input = pel_input_from(ctx, &source);
    pel_err err;
    CHECK(code_of(ctx, &input, 0, 10) == PEL_E_OK);
    CHECK(code_of(ctx, &input, 4 * BLOCK, 10) == PEL_E_READ);
    CHECK(code_of(ctx, &input, 20 * BLOCK, 10) == PEL_E_FORMAT);
    CHECK(code_of(ctx, &input, 0, 10) == PEL_E_OK);                               /* that is known */
    CHECK(code_of(ctx, &input, BLOCK, 10) == PEL_E_READ);                         /* nothing new after a failure */
    CHECK(!pel_attempt(ctx, check_body, &input, &err) && err.code == PEL_E_READ); /* whoever caught it */
}

static void a_limit_holds(pel_ctx *ctx) {
    made_file file = { .size = 10 * BLOCK };
    pel_model_source source = { .size = file.size, .read_at = read_made, .arg = &file, .max_bytes = 2 * BLOCK };
    pel_input input = pel_input_from(ctx, &source);
    CHECK(code_of(ctx, &input, 0, 2 * BLOCK) == PEL_E_OK);
    CHECK(code_of(ctx, &input, 5 * BLOCK, 1) == PEL_E_TOO_BIG);
    CHECK(source.n_bytes == 2 * BLOCK);
    pel_model_source absurd = { .size = UINT64_MAX, .read_at = read_made, .arg = &file };
    pel_model_file model = { .source = &absurd };
    pel_text out;
    pel_error error;
    CHECK(!pellucid_tree(ctx, &model, NULL, &out, &error) && error.code == PEL_E_TOO_BIG);
}

static void a_changed_file_is_refused(pel_ctx *ctx) {
    made_file file = { .size = 10 * BLOCK };
    pel_model_source source = { .size = file.size, .read_at = read_made, .arg = &file, .etag = { "v1", 2 } };
    file.changing = &source;
    pel_input input = pel_input_from(ctx, &source);
    CHECK(code_of(ctx, &input, 0, 1) == PEL_E_OK);
    CHECK(code_of(ctx, &input, 5 * BLOCK, 1) == PEL_E_READ);
}

/* ---- large files: only their ends are read ---- */

#define GIANT ((uint64_t)7 << 30)

static void put_le(char *to, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++) to[i] = (char)(unsigned char)(value >> 8 * i & 255);
}

static void a_giant_safetensors(pel_ctx *ctx) {
    char head[200];
    uint64_t data = GIANT - 8 - 120;
    int n = snprintf(head + 8, sizeof head - 8, "{\"w\":{\"dtype\":\"U8\",\"shape\":[%llu],\"data_offsets\":[0,%llu]}}",
                     (unsigned long long)data, (unsigned long long)data);
    memset(head + 8 + n, ' ', 120 - (size_t)n);
    put_le(head, 120, 8);
    made_file file = { .size = GIANT, .head = { head, 128 } };
    pel_model_source source = { .size = GIANT, .read_at = read_made, .arg = &file };
    pel_text out;
    pel_error error;
    pel_verdict verdict;
    pel_model_file model = { .name = { "m", 1 }, .source = &source };
    CHECK(pellucid_tree(ctx, &model, &(pel_view_options){ .view = PEL_VIEW_JSON }, &out, &error));
    CHECK(source.n_requests <= 4 && source.n_bytes <= 300000);
    CHECK(pellucid_audit(ctx, &model, NULL, &out, &verdict, &error) && verdict == PEL_HARMLESS);
}

static void a_read_error_is_no_verdict(pel_ctx *ctx) {
    char head[16] = "\x02\0\0\0\0\0\0\0{}";
    made_file file = { .size = GIANT, .head = { head, 10 }, .fail_at = GIANT - 1 };
    pel_model_source source = { .size = GIANT, .read_at = read_made, .arg = &file };
    pel_model_file model = { .name = { "m", 1 }, .source = &source };
    pel_text out;
    pel_error error;
    pel_verdict verdict = PEL_HARMLESS;
    CHECK(!pellucid_audit(ctx, &model, NULL, &out, &verdict, &error));
    CHECK(error.code == PEL_E_READ && verdict != PEL_HARMLESS);
}

int main(void) {
    static const test tests[] = {
        TEST(views_of_memory_are_not_copied),
        TEST(blocks_are_asked_for_once),
        TEST(who_reads_on_gets_more),
        TEST(failures_stay),
        TEST(a_limit_holds),
        TEST(a_changed_file_is_refused),
        TEST(a_giant_safetensors),
        TEST(a_read_error_is_no_verdict),
    };
    return RUN_TESTS(tests);
}
