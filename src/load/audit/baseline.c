#include "load/audit/baseline.h"

#include "base/sha256.h"

#include <stdatomic.h>

#define MAX_ROWS 100000
#define BLOCK ((size_t)256 << 10)

typedef struct allowed {
    pel_str file, sha256, rule, member, text; /* file, member, text: patterns; without a ptr: any */
    atomic_bool is_used;                      /* threads share a baseline */
} allowed;

struct pel_baseline {
    allowed *rows;
    size_t n;
};

/* ---- reading ---- */

static bool is_digest(pel_str text) {
    if (text.len != PEL_SHA256_DIGITS) return false;
    for (size_t i = 0; i < text.len; i++)
        if (!(text.ptr[i] >= '0' && text.ptr[i] <= '9') && !(text.ptr[i] >= 'a' && text.ptr[i] <= 'f')) return false;
    return true;
}

/* A key that is misspelt must not be passed over: the entry would then allow more than its author meant. An empty text
 * gets a pointer that is not NULL, since NULL means that the key is not there. */
static void read_row(pel_ctx *ctx, const pel_json_value *from, allowed *row) {
    const struct {
        const char *key;
        pel_str *value;
    } keys[] = { { "file", &row->file },
                 { "sha256", &row->sha256 },
                 { "rule", &row->rule },
                 { "member", &row->member },
                 { "text", &row->text } };
    if (from->kind != PEL_J_OBJECT) pel_throw(ctx, PEL_E_FORMAT, from->at, "baseline: an entry is no object");
    for (uint32_t i = 0; i + 1 < from->items.n; i += 2) {
        const pel_json_value *key = from->items.at[i], *value = from->items.at[i + 1];
        size_t k = 0;
        while (k < PEL_COUNT(keys) && !pel_str_is(key->text, keys[k].key)) k++;
        if (k == PEL_COUNT(keys))
            pel_throw(ctx, PEL_E_FORMAT, key->at, "baseline: no such key: %.*s", PEL_FMT(key->text));
        if (value->kind != PEL_J_STR) pel_throw(ctx, PEL_E_FORMAT, value->at, "baseline: %s is no text", keys[k].key);
        *keys[k].value = value->text.len ? value->text : PEL_STR("");
    }
    if (!pel_rule_of(row->rule))
        pel_throw(ctx, PEL_E_FORMAT, from->at, "baseline: no such rule: '%.*s'", PEL_FMT(row->rule));
    if (row->sha256.ptr && !is_digest(row->sha256))
        pel_throw(ctx, PEL_E_FORMAT, from->at, "baseline: sha256 is 64 hexadecimal digits, in small letters");
    if (!row->sha256.ptr && !row->file.len)
        pel_throw(ctx, PEL_E_FORMAT, from->at, "baseline: an entry needs sha256 or file, else it allows any file");
}

const pel_baseline *pel_baseline_read(pel_ctx *ctx, pel_str json) {
    const pel_json_value *root = pel_json_read(ctx, json, 0), *version = pel_json_get(root, "baseline"),
                         *rows = pel_json_get(root, "allow");
    if (!version || !version->is_integer || version->integer != 1)
        pel_throw(ctx, PEL_E_FORMAT, 0, "baseline: it does not begin with \"baseline\": 1");
    if (!rows || rows->kind != PEL_J_ARRAY || root->items.n != 4)
        pel_throw(ctx, PEL_E_FORMAT, 0, "baseline: it has the keys \"baseline\" and \"allow\", a list, and no others");
    if (rows->items.n > MAX_ROWS) pel_throw(ctx, PEL_E_TOO_BIG, rows->at, "baseline: more than %d entries", MAX_ROWS);
    pel_baseline *made = pel_new(ctx, pel_baseline);
    made->n = rows->items.n;
    made->rows = pel_new_array(ctx, made->n + 1, allowed);
    for (uint32_t i = 0; i < made->n; i++) read_row(ctx, rows->items.at[i], &made->rows[i]);
    return made;
}

size_t pel_baseline_unused(const pel_baseline *baseline) {
    size_t n = 0;
    for (size_t i = 0; i < baseline->n; i++) n += !atomic_load(&baseline->rows[i].is_used);
    return n;
}

/* ---- applying ---- */

/* A pattern without a slash is for the last part of a path. */
static bool fits_file(pel_str path, pel_str pattern) {
    size_t start = path.len;
    if (!memchr(pattern.ptr, '/', pattern.len))
        while (start && path.ptr[start - 1] != '/') start--;
    else
        start = 0;
    return pel_fits(pel_str_from(path, start), pattern);
}

/* An entry with a digest is for that content, under any name; its text and member are what was written. */
static bool allows(const allowed *row, const pel_audit *audit, const pel_finding *finding, pel_str name) {
    if (!pel_str_is(row->rule, finding->kind)) return false;
    if (row->sha256.ptr)
        return pel_str_is(row->sha256, audit->sha256) && (!row->text.ptr || pel_str_eq(row->text, finding->text)) &&
               (!row->member.ptr || pel_str_eq(row->member, finding->member));
    return fits_file(name, row->file) && (!row->text.ptr || pel_fits(finding->text, row->text)) &&
           (!row->member.ptr || pel_fits(finding->member, row->member));
}

void pel_baseline_apply(const pel_baseline *baseline, pel_audit *audit, pel_str name) {
    bool all = audit->findings.dropped == 0; /* nobody has seen those */
    for (uint32_t i = 0; i < audit->findings.n; i++) {
        pel_finding *finding = &audit->findings.at[i];
        if (finding->severity < PEL_UNREAD) continue;
        for (size_t row = 0; row < baseline->n && !finding->is_allowed; row++) {
            finding->is_allowed = allows(&baseline->rows[row], audit, finding, name);
            if (finding->is_allowed) atomic_store(&baseline->rows[row].is_used, true);
        }
        all = all && finding->is_allowed;
    }
    audit->is_allowed = all && audit->verdict != PEL_HARMLESS;
}

void pel_audit_sum(pel_ctx *ctx, pel_audit *audit) {
    const pel_input *input = audit->loaded.input;
    pel_sha256 sum;
    if (!input) return; /* it was never opened */
    pel_sha256_begin(&sum);
    char *block = input->near ? NULL : pel_new_array(ctx, BLOCK, char);
    for (uint64_t at = 0; at < input->size;) {
        size_t size = input->size - at < BLOCK ? (size_t)(input->size - at) : BLOCK;
        if (block) pel_input_copy(ctx, input, at, block, size);
        pel_sha256_add(&sum, (pel_str){ block ? block : input->near + at, size });
        at += size;
    }
    pel_sha256_end(&sum, audit->sha256);
}
