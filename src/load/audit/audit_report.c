/* Audits as other programs want them: SARIF for code scanning, CycloneDX for bills of materials, baselines. Made from
 * the JSON of the single files, so that what was kept can be turned into each of them later. */
#include "load/audit/audit_report.h"

#include "base/json.h"
#include "base/json_read.h"

typedef struct report {
    pel_ctx *ctx;
    pel_json json;
    const pel_json_value *const *rows;
    size_t n;
    const pel_rule *(*rule_at)(size_t i); /* of SARIF; NULL: no more */
} report;

/* ---- what rows say ---- */

static pel_str text_at(const pel_json_value *row, const char *key) {
    const pel_json_value *value = pel_json_get(row, key);
    return value && value->kind == PEL_J_STR ? value->text : (pel_str){ "", 0 };
}

static int64_t number_at(const pel_json_value *row, const char *key) {
    const pel_json_value *value = pel_json_get(row, key);
    return value && value->kind == PEL_J_NUMBER && value->is_integer ? value->integer : 0;
}

static bool flag_at(const pel_json_value *row, const char *key) {
    const pel_json_value *value = pel_json_get(row, key);
    return value && value->kind == PEL_J_BOOL && value->boolean;
}

static uint32_t n_findings(const pel_json_value *row) {
    const pel_json_value *list = pel_json_get(row, "findings");
    return list && list->kind == PEL_J_ARRAY ? list->items.n : 0;
}

static const pel_json_value *finding_at(const pel_json_value *row, uint32_t i) {
    return pel_json_get(row, "findings")->items.at[i];
}

static bool is_note(const pel_json_value *finding) { return pel_str_is(text_at(finding, "severity"), "note"); }

static void put(report *r, const char *key, const char *value) {
    pel_json_key(&r->json, key), pel_json_c(&r->json, value);
}

static void put_str(report *r, const char *key, pel_str value) {
    pel_json_key(&r->json, key), pel_json_str(&r->json, value);
}

static void open_object(report *r, const char *key) { pel_json_key(&r->json, key), pel_json_object(&r->json); }
static void open_array(report *r, const char *key) { pel_json_key(&r->json, key), pel_json_array(&r->json); }

/* ---- SARIF ---- */

/* A path as a URI reference: what is no letter of one is escaped; a colon in the first part would be a scheme. */
static pel_str uri_of(report *r, pel_str path) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    pel_buf out = pel_buf_in(r->ctx);
    if (path.len && path.ptr[0] == '/') pel_put_c(&out, "file://");
    for (size_t i = 0; i < path.len; i++) {
        if (memchr(plain, path.ptr[i], sizeof plain - 1))
            pel_put_byte(&out, path.ptr[i]);
        else
            pel_putf(&out, "%%%02X", (unsigned char)path.ptr[i]);
    }
    return pel_buf_str(&out);
}

static int64_t rule_index(const report *r, pel_str id) {
    for (size_t i = 0; r->rule_at(i); i++)
        if (pel_str_is(id, r->rule_at(i)->id)) return (int64_t)i;
    return -1;
}

static const char *level_of(pel_str severity) {
    return pel_str_is(severity, "danger") ? "error" : pel_str_is(severity, "note") ? "note" : "warning";
}

static void put_sarif_rules(report *r) {
    open_array(r, "rules");
    for (size_t i = 0; r->rule_at(i); i++) {
        const pel_rule *rule = r->rule_at(i);
        pel_json_object(&r->json);
        put(r, "id", rule->id);
        open_object(r, "shortDescription"), put(r, "text", rule->title), pel_json_end_object(&r->json);
        open_object(r, "fullDescription"), put(r, "text", rule->text), pel_json_end_object(&r->json);
        open_object(r, "help"), put(r, "text", rule->text), pel_json_end_object(&r->json);
        pel_json_end_object(&r->json);
    }
    pel_json_end_array(&r->json);
}

/* A place in source: a whole line. */
static void put_sarif_place(report *r, pel_str file, int64_t line) {
    pel_json *json = &r->json;
    open_object(r, "physicalLocation");
    open_object(r, "artifactLocation"), put_str(r, "uri", uri_of(r, file)), pel_json_end_object(json);
    open_object(r, "region");
    pel_json_key(json, "startLine"), pel_json_int(json, line);
    pel_json_end_object(json);
    pel_json_end_object(json);
}

/* The places of a finding in source: its own, and others that explain it. */
static void put_sarif_lines(report *r, const pel_json_value *finding) {
    pel_json *json = &r->json;
    const pel_json_value *related = pel_json_get(finding, "related");
    open_array(r, "locations");
    pel_json_object(json);
    put_sarif_place(r, text_at(finding, "file"), number_at(finding, "line"));
    pel_json_end_object(json);
    pel_json_end_array(json);
    if (!related || related->kind != PEL_J_ARRAY || !related->items.n) return;
    open_array(r, "relatedLocations");
    for (uint32_t i = 0; i < related->items.n; i++) {
        const pel_json_value *place = related->items.at[i];
        pel_json_object(json);
        pel_json_key(json, "id"), pel_json_int(json, i);
        put_sarif_place(r, text_at(place, "file"), number_at(place, "line"));
        open_object(r, "message"), put_str(r, "text", text_at(place, "text")), pel_json_end_object(json);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
}

/* A file without lines counts as one line, whose column is the byte, as in the messages of the program. */
static void put_sarif_location(report *r, const pel_json_value *row, const pel_json_value *finding, size_t file) {
    pel_json *json = &r->json;
    pel_str member = text_at(finding, "member");
    int64_t offset = number_at(finding, "offset");
    if (offset < 0) offset = 0;
    open_array(r, "locations");
    pel_json_object(json);
    open_object(r, "physicalLocation");
    open_object(r, "artifactLocation");
    put_str(r, "uri", uri_of(r, text_at(row, "file")));
    pel_json_key(json, "index"), pel_json_int(json, (int64_t)file);
    pel_json_end_object(json);
    open_object(r, "region");
    pel_json_key(json, "startLine"), pel_json_int(json, 1);
    pel_json_key(json, "startColumn"), pel_json_int(json, offset < INT32_MAX ? offset + 1 : INT32_MAX);
    pel_json_key(json, "byteOffset"), pel_json_int(json, offset);
    pel_json_end_object(json);
    pel_json_end_object(json);
    if (member.len) {
        open_array(r, "logicalLocations");
        pel_json_object(json), put_str(r, "fullyQualifiedName", member), put(r, "kind", "member");
        pel_json_end_object(json);
        pel_json_end_array(json);
    }
    pel_json_end_object(json);
    pel_json_end_array(json);
}

static void put_sarif_result(report *r, const pel_json_value *row, const pel_json_value *finding, size_t file) {
    pel_json *json = &r->json;
    pel_str kind = text_at(finding, "kind"), severity = text_at(finding, "severity");
    int64_t index = rule_index(r, kind);
    pel_json_object(json);
    put_str(r, "ruleId", kind);
    if (index >= 0) pel_json_key(json, "ruleIndex"), pel_json_int(json, index);
    put(r, "level", level_of(severity));
    open_object(r, "message"), put_str(r, "text", text_at(finding, "text")), pel_json_end_object(json);
    if (number_at(finding, "line"))
        put_sarif_lines(r, finding);
    else
        put_sarif_location(r, row, finding, file);
    if (flag_at(finding, "allowed")) {
        open_array(r, "suppressions");
        pel_json_object(json), put(r, "kind", "external"), put(r, "justification", "the baseline has it");
        pel_json_end_object(json);
        pel_json_end_array(json);
    }
    open_object(r, "properties"), put_str(r, "severity", severity), pel_json_end_object(json);
    pel_json_end_object(json);
}

static void put_sarif_artifact(report *r, const pel_json_value *row) {
    pel_json *json = &r->json;
    pel_str digest = text_at(row, "sha256");
    pel_json_object(json);
    open_object(r, "location"), put_str(r, "uri", uri_of(r, text_at(row, "file"))), pel_json_end_object(json);
    if (digest.len) {
        pel_json_key(json, "length"), pel_json_int(json, number_at(row, "bytes"));
        open_object(r, "hashes"), put_str(r, "sha-256", digest), pel_json_end_object(json);
    }
    open_object(r, "properties");
    put_str(r, "verdict", text_at(row, "verdict"));
    put_str(r, "format", text_at(row, "format"));
    pel_json_key(json, "findingsLeftOut"), pel_json_int(json, number_at(row, "dropped"));
    pel_json_end_object(json);
    pel_json_end_object(json);
}

/* A result names its file by the index in `artifacts`, so both loops must go over the rows in the same order. Files
 * without findings are artifacts, too: the report shows that they were audited. */
static void write_sarif(report *r) {
    pel_json *json = &r->json;
    pel_json_object(json);
    put(r, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    put(r, "version", "2.1.0");
    open_array(r, "runs");
    pel_json_object(json);
    open_object(r, "tool");
    open_object(r, "driver");
    put(r, "name", "pellucid");
    put(r, "version", PELLUCID_VERSION);
    put_sarif_rules(r);
    pel_json_end_object(json);
    pel_json_end_object(json);
    put(r, "columnKind", "unicodeCodePoints");
    open_array(r, "artifacts");
    for (size_t i = 0; i < r->n; i++) put_sarif_artifact(r, r->rows[i]);
    pel_json_end_array(json);
    open_array(r, "results");
    for (size_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < n_findings(r->rows[i]); k++)
            put_sarif_result(r, r->rows[i], finding_at(r->rows[i], k), i);
    pel_json_end_array(json);
    pel_json_end_object(json);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

/* ---- CycloneDX ---- */

static void put_property(report *r, const char *name, pel_str value) {
    pel_json_object(&r->json);
    put(r, "name", name), put_str(r, "value", value);
    pel_json_end_object(&r->json);
}

static pel_str reference_of(report *r, size_t i) { return pel_format(r->ctx, "file-%zu", i + 1); }

/* What a reader knows is a model; the rest are files. */
static void put_component(report *r, const pel_json_value *row, size_t i) {
    pel_json *json = &r->json;
    pel_str path = text_at(row, "file"), digest = text_at(row, "sha256"), format = text_at(row, "format");
    size_t start = path.len;
    while (start && path.ptr[start - 1] != '/') start--;
    bool is_model = number_at(row, "tensors") > 0 && format.len;
    pel_json_object(json);
    put(r, "type", is_model ? "machine-learning-model" : "file");
    put_str(r, "bom-ref", reference_of(r, i));
    put_str(r, "name", pel_str_from(path, start));
    if (digest.len) {
        open_array(r, "hashes");
        pel_json_object(json), put(r, "alg", "SHA-256"), put_str(r, "content", digest), pel_json_end_object(json);
        pel_json_end_array(json);
    }
    open_array(r, "properties");
    put_property(r, "pellucid:path", path);
    put_property(r, "pellucid:verdict", text_at(row, "verdict"));
    if (format.len) put_property(r, "pellucid:format", format);
    if (digest.len) put_property(r, "pellucid:bytes", pel_format(r->ctx, "%lld", (long long)number_at(row, "bytes")));
    if (is_model) {
        put_property(r, "pellucid:tensors", pel_format(r->ctx, "%lld", (long long)number_at(row, "tensors")));
        put_property(r, "pellucid:elements", pel_format(r->ctx, "%lld", (long long)number_at(row, "elements")));
    }
    pel_json_end_array(json);
    pel_json_end_object(json);
}

static const char *rating_of(pel_str severity) {
    return pel_str_is(severity, "danger") ? "high" : pel_str_is(severity, "suspect") ? "medium" : "unknown";
}

/* Findings are weaknesses of one component; what the baseline allows is known and accepted. */
static void put_weakness(report *r, const pel_json_value *finding, size_t file, uint32_t i) {
    pel_json *json = &r->json;
    const pel_rule *rule = pel_rule_of(text_at(finding, "kind"));
    pel_json_object(json);
    put_str(r, "bom-ref", pel_format(r->ctx, "finding-%zu-%u", file + 1, i + 1)); /* no two rows may be the same */
    put_str(r, "id", pel_format(r->ctx, "pellucid:%.*s", PEL_FMT(text_at(finding, "kind"))));
    open_object(r, "source"), put(r, "name", "pellucid"), pel_json_end_object(json);
    open_array(r, "ratings");
    pel_json_object(json), put(r, "severity", rating_of(text_at(finding, "severity"))), pel_json_end_object(json);
    pel_json_end_array(json);
    put_str(r, "description", text_at(finding, "text"));
    if (rule) put(r, "detail", rule->text);
    if (flag_at(finding, "allowed")) {
        open_object(r, "analysis");
        put(r, "state", "not_affected"), put(r, "detail", "the baseline has it");
        pel_json_end_object(json);
    }
    open_array(r, "affects");
    pel_json_object(json), put_str(r, "ref", reference_of(r, file)), pel_json_end_object(json);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

/* The document has neither a time nor a serial number, which the format allows: equal files give equal bytes. Notes are
 * left out, since a scanner would count each of them as a vulnerability. */
static void write_cyclonedx(report *r) {
    pel_json *json = &r->json;
    pel_json_object(json);
    put(r, "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
    put(r, "bomFormat", "CycloneDX");
    put(r, "specVersion", "1.6");
    pel_json_key(json, "version"), pel_json_int(json, 1);
    open_object(r, "metadata");
    open_object(r, "tools");
    open_array(r, "components");
    pel_json_object(json);
    put(r, "type", "application"), put(r, "name", "pellucid"), put(r, "version", PELLUCID_VERSION);
    pel_json_end_object(json);
    pel_json_end_array(json);
    pel_json_end_object(json);
    pel_json_end_object(json);
    open_array(r, "components");
    for (size_t i = 0; i < r->n; i++) put_component(r, r->rows[i], i);
    pel_json_end_array(json);
    open_array(r, "vulnerabilities");
    for (size_t i = 0; i < r->n; i++)
        for (uint32_t k = 0; k < n_findings(r->rows[i]); k++)
            if (!is_note(finding_at(r->rows[i], k))) put_weakness(r, finding_at(r->rows[i], k), i, k);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

/* ---- baselines ---- */

/* Without a digest an entry holds patterns: letters that mean something there stand for themselves. */
static pel_str quoted(report *r, pel_str text, bool is_pattern) {
    pel_buf out = pel_buf_in(r->ctx);
    for (size_t i = 0; i < text.len; i++) {
        bool is_special = is_pattern && memchr("*?[", text.ptr[i], 3);
        if (is_special) pel_put_byte(&out, '[');
        pel_put_byte(&out, text.ptr[i]);
        if (is_special) pel_put_byte(&out, ']');
    }
    return pel_buf_str(&out);
}

/* A line for each entry: they are for people, too, and for version control. */
static void write_baseline(report *r) {
    pel_buf *out = r->json.out;
    const char *comma = "";
    pel_put_c(out, "{\"baseline\": 1, \"allow\": [");
    for (size_t i = 0; i < r->n; i++) {
        pel_str digest = text_at(r->rows[i], "sha256");
        for (uint32_t k = 0; k < n_findings(r->rows[i]); k++) {
            const pel_json_value *finding = finding_at(r->rows[i], k);
            if (is_note(finding)) continue;
            pel_putf(out, "%s\n  ", comma);
            comma = ",";
            r->json = pel_json_to(out);
            pel_json_object(&r->json);
            put_str(r, "file", quoted(r, text_at(r->rows[i], "file"), !digest.len));
            if (digest.len) put_str(r, "sha256", digest);
            put_str(r, "rule", text_at(finding, "kind"));
            put_str(r, "member", quoted(r, text_at(finding, "member"), !digest.len));
            put_str(r, "text", quoted(r, text_at(finding, "text"), !digest.len));
            pel_json_end_object(&r->json);
        }
    }
    pel_put_c(out, "\n]}");
}

static report new_report(pel_ctx *ctx, const pel_text *rows, size_t n, pel_buf *out) {
    const pel_json_value **read = pel_new_array(ctx, n + 1, const pel_json_value *);
    for (size_t i = 0; i < n; i++) read[i] = pel_json_read(ctx, (pel_str){ rows[i].ptr, rows[i].len }, 0);
    return (report){ .ctx = ctx, .json = pel_json_to(out), .rows = read, .n = n, .rule_at = pel_rule_at };
}

void pel_audit_report(pel_ctx *ctx, pel_audit_form form, const pel_text *rows, size_t n, pel_buf *out) {
    report r = new_report(ctx, rows, n, out);
    switch (form) {
    case PEL_FORM_SARIF: write_sarif(&r); break;
    case PEL_FORM_CYCLONEDX: write_cyclonedx(&r); break;
    case PEL_FORM_BASELINE: write_baseline(&r); break;
    }
    pel_put_byte(out, '\n');
}

void pel_sarif(pel_ctx *ctx, const pel_text *rows, size_t n, const pel_rule *(*rule_at)(size_t i), pel_buf *out) {
    report r = new_report(ctx, rows, n, out);
    r.rule_at = rule_at;
    write_sarif(&r);
    pel_put_byte(out, '\n');
}
