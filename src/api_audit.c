/* pellucid.h: audits. */
#include "api.h"

#include "load/audit/audit_report.h"
#include "load/audit/baseline.h"

static pel_str str_of(pel_text text) { return (pel_str){ text.ptr ? text.ptr : "", text.len }; }
static pel_text text_of(pel_str s) { return (pel_text){ s.ptr, s.len }; }

/* ---- audits ---- */

typedef struct audit_call {
    const pel_model_file *file;
    const pel_audit_options *options;
    pel_audit audit;
    pel_buf out;
} audit_call;

static void audit_body(pel_ctx *ctx, void *arg) {
    audit_call *call = arg;
    const pel_audit_options *options = call->options;
    const char *unread = options->unread ? options->unread : options->unopened;
    call->audit.source = options->source;
    call->audit.source_arg = options->source_arg;
    if (unread)
        pel_audit_unopened(ctx, pel_str_of(unread), options->unopened != NULL, &call->audit);
    else
        pel_audit_file(ctx, call->file, &call->audit);
    if (call->audit.loaded.input) pel_input_check(ctx, call->audit.loaded.input); /* no verdict on what was not read */
    if (call->audit.is_broken && call->audit.fault.code == PEL_E_READ)            /* nor on a shard that was not */
        pel_throw(ctx, PEL_E_READ, call->audit.fault.at, "%s", call->audit.fault.what);
    pel_str name = str_of(call->file->name);
    call->audit.also = options->also;
    if (options->for_report || options->baseline) pel_audit_sum(ctx, &call->audit);
    if (options->baseline) pel_baseline_apply(options->baseline, &call->audit, name);
    if (options->as_json)
        pel_audit_json(&call->audit, name, &call->out);
    else
        pel_audit_text(&call->audit, name, &call->out);
}

bool pellucid_audit(pel_ctx *ctx, const pel_model_file *file, const pel_audit_options *options, pel_text *out,
                    pel_verdict *verdict, pel_error *error) {
    static const pel_audit_options usual = { 0 };
    audit_call call = { .file = file, .options = options ? options : &usual, .out = pel_buf_in(ctx) };
    pel_err err;
    bool done = pel_attempt(ctx, audit_body, &call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call.out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    if (verdict) *verdict = done ? call.audit.verdict : PEL_BROKEN;
    if (call.options->allowed) *call.options->allowed = done && call.audit.is_allowed;
    return done;
}

typedef struct summary_call {
    const pel_audited *rows;
    size_t n;
    const pel_audit_options *options;
    pel_verdict worst;
    pel_buf out;
} summary_call;

static void summary_body(pel_ctx *ctx, void *arg) {
    summary_call *call = arg;
    call->out = pel_buf_in(ctx);
    call->worst = pel_audit_summary(call->rows, call->n, call->options, &call->out);
}

bool pellucid_audit_summary(pel_ctx *ctx, const pel_audited *rows, size_t n, const pel_audit_options *options,
                            pel_text *out, pel_verdict *worst, pel_error *error) {
    static const pel_audit_options usual = { 0 };
    summary_call call = { .rows = rows, .n = n, .options = options ? options : &usual, .worst = PEL_BROKEN };
    pel_err err;
    bool done = pel_attempt(ctx, summary_body, &call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call.out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    if (worst) *worst = call.worst;
    return done;
}

const char *pellucid_verdict_name(pel_verdict verdict) { return pel_verdict_name(verdict); }

int pellucid_verdict_exit(pel_verdict verdict) { return pel_verdict_exit(verdict); }

/* ---- reports ---- */

typedef struct report_call {
    pel_audit_form form;
    const pel_text *rows;
    size_t n;
    pel_buf out;
} report_call;

static void report_body(pel_ctx *ctx, void *arg) {
    report_call *call = arg;
    call->out = pel_buf_in(ctx);
    pel_audit_report(ctx, call->form, call->rows, call->n, &call->out);
}

bool pellucid_audit_report(pel_ctx *ctx, pel_audit_form form, const pel_text *rows, size_t n, pel_text *out,
                           pel_error *error) {
    report_call call = { .form = form, .rows = rows, .n = n };
    pel_err err;
    bool done = pel_attempt(ctx, report_body, &call, &err);
    if (done)
        *out = text_of(pel_buf_str(&call.out));
    else
        pel_give_error(&err, (pel_str){ "", 0 }, error);
    return done;
}

/* ---- baselines and rules ---- */

typedef struct baseline_call {
    pel_str json;
    const pel_baseline *made;
} baseline_call;

static void baseline_body(pel_ctx *ctx, void *arg) {
    baseline_call *call = arg;
    call->made = pel_baseline_read(ctx, pel_str_copy(ctx, call->json));
}

bool pellucid_baseline(pel_ctx *ctx, pel_text json, const pel_baseline **out, pel_error *error) {
    baseline_call call = { .json = str_of(json) };
    pel_err err;
    bool done = pel_attempt(ctx, baseline_body, &call, &err);
    if (done)
        *out = call.made;
    else
        pel_give_error(&err, call.json, error);
    return done;
}

size_t pellucid_baseline_unused(const pel_baseline *baseline) { return pel_baseline_unused(baseline); }

const char *pellucid_rule(size_t i, const char **title, const char **text) {
    const pel_rule *rule = pel_rule_at(i);
    if (rule && title) *title = rule->title;
    if (rule && text) *text = rule->text;
    return rule ? rule->id : NULL;
}
