/* The audit for people and for programs. */
#include "base/json.h"
#include "load/audit/audit.h"
#include "load/audit/weights_only.h"

static const char *const severities[] = {
    [PEL_NOTE] = "note", [PEL_UNREAD] = "unread", [PEL_SUSPECT] = "suspect", [PEL_DANGER] = "danger"
};
static const struct {
    const char *name;
    int exit_code;
} verdicts[] = {
    [PEL_HARMLESS] = { "harmless", 0 },     [PEL_UNREADABLE] = { "unknown", 2 },  [PEL_BROKEN] = { "broken", 2 },
    [PEL_SUSPICIOUS] = { "suspicious", 4 }, [PEL_DANGEROUS] = { "dangerous", 4 },
};

/* A number that is no verdict is one that nobody proved harmless. */
const char *pel_verdict_name(pel_verdict verdict) {
    return (size_t)verdict < PEL_COUNT(verdicts) ? verdicts[verdict].name : "unknown";
}

int pel_verdict_exit(pel_verdict verdict) {
    return (size_t)verdict < PEL_COUNT(verdicts) ? verdicts[verdict].exit_code : 2;
}

static void put_source(pel_buf *out, pel_str source) {
    for (size_t start = 0; start < source.len;) {
        size_t end = start;
        while (end < source.len && source.ptr[end] != '\n') end++;
        pel_put_c(out, "      | ");
        pel_put_visible(out, pel_str_cut(source, start, end));
        pel_put_byte(out, '\n');
        start = end + 1;
    }
}

void pel_audit_line(const pel_audit *audit, pel_buf *out) {
    const pel_findings *all = &audit->findings;
    if (all->worst < PEL_UNREAD) return;
    const pel_finding *first = NULL;
    uint64_t more = all->dropped;
    for (uint32_t i = 0; i < all->n; i++) {
        if (!first && all->at[i].severity == all->worst)
            first = &all->at[i];
        else
            more += all->at[i].severity >= PEL_UNREAD;
    }
    pel_putf(out, "audit: %s: ", pel_verdict_name(audit->verdict));
    pel_put_visible(out, first->text);
    if (more) pel_putf(out, "; %llu more", (unsigned long long)more);
    pel_put_byte(out, '\n');
}

void pel_audit_text(const pel_audit *audit, pel_str name, pel_buf *out) {
    pel_put_visible(out, name);
    pel_putf(out, ": %s", pel_verdict_name(audit->verdict));
    if (audit->is_allowed) pel_put_c(out, ", allowed");
    if (audit->loaded.format.len) pel_putf(out, " (%.*s)", PEL_FMT(audit->loaded.format));
    pel_put_byte(out, '\n');
    for (const char *const *also = audit->also; also && *also; also++) {
        pel_put_c(out, "  the same file: ");
        pel_put_visible(out, pel_str_of(*also));
        pel_put_byte(out, '\n');
    }
    for (int severity = PEL_DANGER; severity >= PEL_NOTE; severity--) { /* the worst first */
        for (uint32_t i = 0; i < audit->findings.n; i++) {
            const pel_finding *row = &audit->findings.at[i];
            if ((int)row->severity != severity) continue;
            pel_putf(out, "  %-7s  %s%s: ", severities[severity], row->kind, row->is_allowed ? " (allowed)" : "");
            pel_put_visible(out, row->text);
            if (row->member.len) {
                pel_put_c(out, " (");
                pel_put_visible(out, row->member);
                pel_put_byte(out, ')');
            }
            if (row->offset) pel_putf(out, " at byte %llu", (unsigned long long)row->offset);
            pel_put_byte(out, '\n');
        }
    }
    if (audit->findings.dropped) pel_putf(out, "  and %llu more\n", (unsigned long long)audit->findings.dropped);
    pel_weights_only_text(audit, out);
    for (uint32_t i = 0; i < audit->codes.n; i++) {
        if (!audit->codes.at[i].source.len) continue;
        pel_put_c(out, "  bytecode of ");
        pel_put_visible(out, audit->codes.at[i].name);
        pel_put_c(out, ", as source:\n");
        put_source(out, audit->codes.at[i].source);
    }
}

static void put_findings(pel_json *json, const pel_findings *findings) {
    pel_json_key(json, "findings");
    pel_json_array(json);
    for (uint32_t i = 0; i < findings->n; i++) {
        const pel_finding *row = &findings->at[i];
        pel_json_object(json);
        pel_json_key(json, "severity"), pel_json_c(json, severities[row->severity]);
        pel_json_key(json, "kind"), pel_json_c(json, row->kind);
        pel_json_key(json, "member"), pel_json_str(json, row->member);
        pel_json_key(json, "offset"), pel_json_int(json, (int64_t)row->offset);
        pel_json_key(json, "text"), pel_json_str(json, row->text);
        if (row->is_allowed) pel_json_key(json, "allowed"), pel_json_bool(json, true);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_key(json, "dropped"), pel_json_int(json, (int64_t)findings->dropped);
}

static void put_calls(pel_json *json, const pel_audit *audit) {
    pel_json_key(json, "calls");
    pel_json_array(json);
    for (uint32_t i = 0; i < audit->calls.n; i++) {
        const pel_audited_call *row = &audit->calls.at[i];
        pel_json_object(json);
        pel_json_key(json, "severity"), pel_json_c(json, severities[row->severity]);
        pel_json_key(json, "member"), pel_json_str(json, row->member);
        pel_json_key(json, "offset"), pel_json_int(json, (int64_t)row->offset);
        pel_json_key(json, "text"), pel_json_str(json, row->text);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
}

static void put_uses(pel_json *json, const pel_audit *audit) {
    pel_json_key(json, "uses");
    pel_json_array(json);
    for (uint32_t i = 0; i < audit->uses.n; i++) {
        const pel_audited_use *row = &audit->uses.at[i];
        pel_json_object(json);
        pel_json_key(json, "use"), pel_json_c(json, row->use);
        pel_json_key(json, "name"), pel_json_str(json, row->name);
        pel_json_key(json, "n"), pel_json_int(json, (int64_t)row->n);
        pel_json_key(json, "severity"), pel_json_c(json, severities[row->severity]);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_key(json, "dropped_uses"), pel_json_int(json, (int64_t)audit->dropped_uses);
}

/* What bills of materials want to know. */
static void put_sizes(pel_ctx *ctx, pel_json *json, const pel_audit *audit) {
    uint64_t tensors = 0, elements = 0;
    for (uint32_t i = 0; i < audit->loaded.networks.n; i++) {
        pel_totals totals = pel_network_totals(ctx, audit->loaded.networks.at[i]);
        tensors += totals.n_parameters + totals.n_buffers;
        elements += totals.parameters + totals.buffers;
    }
    pel_json_key(json, "sha256"), pel_json_c(json, audit->sha256);
    pel_json_key(json, "bytes"), pel_json_int(json, (int64_t)audit->loaded.input->size);
    pel_json_key(json, "tensors"), pel_json_int(json, (int64_t)tensors);
    pel_json_key(json, "elements"), pel_json_int(json, (int64_t)elements);
}

/* audit_report.c reads these lines back, so a key that is renamed here must be renamed there. Lists of what was found
 * are there even if they are empty. Sizes come with the digest only, for callers who asked for it. */
void pel_audit_json(const pel_audit *audit, pel_str name, pel_buf *out) {
    pel_json writer = pel_json_to(out), *json = &writer;
    pel_json_object(json);
    pel_json_key(json, "schema"), pel_json_int(json, PEL_AUDIT_SCHEMA);
    pel_json_key(json, "file"), pel_json_str(json, name);
    pel_json_key(json, "format"), pel_json_str(json, audit->loaded.format);
    pel_json_key(json, "verdict"), pel_json_c(json, pel_verdict_name(audit->verdict));
    pel_json_key(json, "answer"), pel_answer_json(json, &audit->answer);
    if (audit->is_allowed) pel_json_key(json, "allowed"), pel_json_bool(json, true);
    if (audit->sha256[0]) put_sizes(out->ctx, json, audit);
    if (audit->also) {
        pel_json_key(json, "also");
        pel_json_array(json);
        for (const char *const *also = audit->also; *also; also++) pel_json_c(json, *also);
        pel_json_end_array(json);
    }
    put_findings(json, &audit->findings);
    put_calls(json, audit);
    put_uses(json, audit);
    pel_json_key(json, "globals");
    pel_json_array(json);
    for (uint32_t i = 0; i < audit->globals.n; i++) {
        pel_json_object(json);
        pel_json_key(json, "module"), pel_json_str(json, audit->globals.at[i]->module);
        pel_json_key(json, "name"), pel_json_str(json, audit->globals.at[i]->name);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_weights_only_json(audit, json);
    pel_json_key(json, "code");
    pel_json_array(json);
    for (uint32_t i = 0; i < audit->codes.n; i++) {
        pel_json_object(json);
        pel_json_key(json, "member"), pel_json_str(json, audit->codes.at[i].member);
        pel_json_key(json, "name"), pel_json_str(json, audit->codes.at[i].name);
        pel_json_key(json, "severity"), pel_json_c(json, severities[audit->codes.at[i].severity]);
        pel_json_key(json, "source"), pel_json_str(json, audit->codes.at[i].source);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    if (audit->is_broken) {
        pel_json_key(json, "error");
        pel_json_object(json);
        pel_json_key(json, "offset"), pel_json_int(json, (int64_t)audit->fault.at);
        pel_json_key(json, "message"), pel_json_c(json, audit->fault.what);
        pel_json_end_object(json);
    }
    pel_json_end_object(json);
    pel_put_byte(out, '\n');
}

/* ---- several files ---- */

static void put_summary_json(const pel_audited *rows, size_t n, const size_t *counts, pel_verdict worst, pel_buf *out) {
    pel_json writer = pel_json_to(out), *json = &writer;
    pel_json_object(json);
    pel_json_key(json, "schema"), pel_json_int(json, PEL_AUDIT_SCHEMA);
    pel_json_key(json, "summary");
    pel_json_object(json);
    pel_json_key(json, "verdict"), pel_json_c(json, pel_verdict_name(worst));
    pel_json_key(json, "files"), pel_json_int(json, (int64_t)n);
    for (size_t i = PEL_COUNT(verdicts); i-- > 0;)
        pel_json_key(json, verdicts[i].name), pel_json_int(json, (int64_t)counts[i]);
    size_t n_allowed = 0;
    for (size_t i = 0; i < n; i++) n_allowed += rows[i].is_allowed;
    pel_json_key(json, "allowed"), pel_json_int(json, (int64_t)n_allowed);
    pel_json_key(json, "not_understood");
    pel_json_array(json);
    for (size_t i = 0; i < n; i++)
        if (rows[i].verdict == PEL_UNREADABLE) pel_json_str(json, (pel_str){ rows[i].name.ptr, rows[i].name.len });
    pel_json_end_array(json);
    pel_json_end_object(json);
    pel_json_end_object(json);
    pel_put_byte(out, '\n');
}

pel_verdict pel_audit_summary(const pel_audited *rows, size_t n, const pel_audit_options *options, pel_buf *out) {
    size_t counts[PEL_COUNT(verdicts)] = { 0 }, n_allowed = 0;
    pel_verdict worst = n ? PEL_HARMLESS : PEL_UNREADABLE, decides = worst;
    for (size_t i = 0; i < n; i++) {
        counts[rows[i].verdict]++;
        n_allowed += rows[i].is_allowed;
        if (rows[i].verdict > worst) worst = rows[i].verdict;
        if (rows[i].verdict > decides && !rows[i].is_allowed) decides = rows[i].verdict;
    }
    if (decides == PEL_UNREADABLE && options->allows_unknown) decides = PEL_HARMLESS;
    if (options->as_json) {
        put_summary_json(rows, n, counts, worst, out);
        return decides;
    }
    pel_putf(out, "%zu files, %zu of them not harmless", n, n - counts[PEL_HARMLESS]);
    const char *comma = ": ";
    for (size_t i = PEL_COUNT(verdicts); i-- > PEL_UNREADABLE; comma = counts[i] ? ", " : comma)
        if (counts[i]) pel_putf(out, "%s%zu %s", comma, counts[i], verdicts[i].name);
    if (n_allowed) pel_putf(out, "; %zu allowed by the baseline", n_allowed);
    pel_put_byte(out, '\n');
    return decides;
}
