/* Numbers that need more bits than the pointers of a 32-bit machine have. The same must come out on every machine. */
#include "check.h"

#include "io/zip.h"
#include "load/content.h"

#include <stdio.h>

static void there_is_memory_by_default(pel_ctx *unused) {
    (void)unused;
    pel_ctx *ctx = pel_ctx_new(0);
    CHECK(ctx->may_take >= (size_t)1 << 30);
    pel_ctx_free(ctx);
}

static void ask(pel_ctx *ctx, void *size) { pel_alloc_raw(ctx, *(uint64_t *)size); }

static void sizes_are_refused_not_narrowed(pel_ctx *ctx) {
    uint64_t sizes[] = { ((uint64_t)1 << 32) + 1, (uint64_t)1 << 40, UINT64_MAX, UINT64_MAX - 8 };
    pel_ctx *small = pel_ctx_new(1 << 20);
    pel_err err;
    (void)ctx;
    for (size_t i = 0; i < PEL_COUNT(sizes); i++)
        CHECK(!pel_attempt(small, ask, &sizes[i], &err) && err.code == PEL_E_MEMORY);
    pel_ctx_free(small);
}

static void offsets_are_cut_not_narrowed(pel_ctx *ctx) {
    (void)ctx;
    pel_str s = PEL_STR("0123456789");
    uint64_t wide = ((uint64_t)1 << 32) + 2;
    CHECK_STR(pel_str_from(s, wide), "");
    CHECK_STR(pel_str_cut(s, 3, wide), "3456789");
    CHECK_STR(pel_str_cut(s, wide, wide + 2), "");
}

/* ---- converting ---- */

typedef struct written {
    char bytes[4096];
    size_t n;
} written;

static bool write_on(void *arg, pel_text bytes) {
    written *to = arg;
    if (bytes.len > sizeof to->bytes - to->n) return false;
    memcpy(to->bytes + to->n, bytes.ptr, bytes.len);
    to->n += bytes.len;
    return true;
}

static void a_converted_file_can_be_converted_again(pel_ctx *ctx) {
    static const char header[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}";
    char file[8 + sizeof header + 2] = { (char)(sizeof header - 1) };
    memcpy(file + 8, header, sizeof header - 1);
    memcpy(file + 8 + sizeof header - 1, "xyz", 3);
    written *once = pel_new(ctx, written), *twice = pel_new(ctx, written);
    pel_error error;
    CHECK(
        pellucid_convert(ctx, &(pel_model_file){ .bytes = { file, sizeof file } }, NULL, write_on, once, NULL, &error));
    CHECK(once->n > 16 && !once->bytes[4] && !once->bytes[5] && !once->bytes[6] && !once->bytes[7]);
    CHECK(pellucid_convert(ctx, &(pel_model_file){ .bytes = { once->bytes, once->n } }, NULL, write_on, twice, NULL,
                           &error));
    CHECK(once->n == twice->n && memcmp(once->bytes, twice->bytes, once->n) == 0);
}

/* ---- archives ---- */

static void put(pel_buf *out, uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; i++) pel_put_byte(out, (char)(unsigned char)(value >> 8 * i & 255));
}

/* The fields that the local header and the directory share. method 8: deflated. size: over 32 bits, in zip64 extras. */
static void put_common(pel_buf *out, unsigned method, uint64_t size, uint32_t packed) {
    put(out, 45, 2), put(out, 0, 2), put(out, method, 2), put(out, 0, 4), put(out, 0, 4);
    put(out, packed, 4), put(out, size > UINT32_MAX ? UINT32_MAX : size, 4);
}

static void put_zip64(pel_buf *out, uint64_t size) {
    if (size <= UINT32_MAX) return;
    put(out, 1, 2), put(out, 8, 2), put(out, size, 8);
}

static unsigned extra_of(uint64_t size) { return size > UINT32_MAX ? 12 : 0; }

static void put_local(pel_buf *out, pel_str name, unsigned method, uint64_t size, pel_str data) {
    put(out, 0x04034B50, 4), put_common(out, method, size, (uint32_t)data.len);
    put(out, name.len, 2), put(out, extra_of(size), 2);
    pel_put(out, name), put_zip64(out, size), pel_put(out, data);
}

static void put_entry(pel_buf *out, pel_str name, unsigned method, uint64_t size, size_t packed) {
    put(out, 0x02014B50, 4), put(out, 45, 2), put_common(out, method, size, (uint32_t)packed);
    put(out, name.len, 2), put(out, extra_of(size), 2);
    put(out, 0, 2), put(out, 0, 2), put(out, 0, 2), put(out, 0, 4), put(out, 0, 4); /* ... header at 0 */
    pel_put(out, name), put_zip64(out, size);
}

static pel_input finish(pel_buf *out, pel_buf *directory, unsigned count) {
    size_t at = out->len;
    pel_put(out, pel_buf_str(directory));
    put(out, 0x06054B50, 4), put(out, 0, 4), put(out, count, 2), put(out, count, 2);
    put(out, directory->len, 4), put(out, at, 4), put(out, 0, 2);
    return pel_input_of(pel_buf_str(out));
}

typedef struct content_job {
    const pel_zip *zip;
    pel_findings *findings;
} content_job;

static void content_body(pel_ctx *ctx, void *arg) {
    content_job *job = arg;
    pel_zip_content(ctx, job->zip, &job->zip->members.at[0], (uint64_t)1 << 40, job->findings);
}

/* A stored block of 64 KiB, deflated; its member claims 2^32 bytes, for which a 32-bit machine would allocate one. */
static void a_member_of_four_gigabytes(pel_ctx *unused) {
    (void)unused;
    pel_ctx *ctx = pel_ctx_new((size_t)64 << 20);
    uint64_t size = (uint64_t)1 << 32;
    pel_buf out = pel_buf_in(ctx), directory = pel_buf_in(ctx), data = pel_buf_in(ctx);
    for (int i = 0; i < 5; i++) {
        put(&data, 0, 1), put(&data, 0xFFFF, 2), put(&data, 0, 2);
        for (int k = 0; k < 0xFFFF; k++) pel_put_byte(&data, 'A');
    }
    put_local(&out, PEL_STR("m"), 8, size, pel_buf_str(&data));
    put_entry(&directory, PEL_STR("m"), 8, size, data.len);
    pel_input input = finish(&out, &directory, 1);
    pel_findings findings = { 0 };
    content_job job = { pel_zip_read(ctx, &input, &findings), &findings };
    CHECK(job.zip->members.n == 1 && job.zip->members.at[0].size == size && job.zip->members.at[0].in_file);
    pel_err err;
    CHECK(!pel_attempt(ctx, content_body, &job, &err) && err.code == PEL_E_MEMORY);
    pel_ctx_free(ctx);
}

#define MANY 60

/* Members at one place are found in the directory's order: whatever order the C library's qsort leaves them in. */
static void findings_have_one_order(pel_ctx *ctx) {
    pel_buf out = pel_buf_in(ctx), directory = pel_buf_in(ctx);
    put_local(&out, PEL_STR("m00"), 0, 3, PEL_STR("abc"));
    for (unsigned i = 0; i < MANY; i++) {
        char name[4] = { 'm', (char)('0' + i / 10), (char)('0' + i % 10) };
        put_entry(&directory, (pel_str){ name, 3 }, 0, 3, 3);
    }
    pel_input input = finish(&out, &directory, MANY);
    pel_findings findings = { 0 };
    pel_zip_read(ctx, &input, &findings);
    unsigned n = 0;
    for (uint32_t i = 0; i < findings.n; i++) {
        if (strcmp(findings.at[i].kind, "overlap") != 0) continue;
        char name[4] = { 'm', (char)('0' + n / 10), (char)('0' + n % 10) };
        CHECK(pel_str_eq(findings.at[i].member, (pel_str){ name, 3 }));
        n++;
    }
    CHECK(n == MANY - 1);
}

int main(void) {
    static const test tests[] = {
        TEST(there_is_memory_by_default),   TEST(sizes_are_refused_not_narrowed),
        TEST(offsets_are_cut_not_narrowed), TEST(a_converted_file_can_be_converted_again),
        TEST(a_member_of_four_gigabytes),   TEST(findings_have_one_order),
    };
    return RUN_TESTS(tests);
}
