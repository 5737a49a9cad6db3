#include "load/audit/audit_source.h"

#include "load/audit/source_effects.h"

typedef struct source_job {
    pel_audit *audit;
    pel_str member, path;
    uint64_t at;
    pel_text bytes;
    const pel_pickled_global *name;
} source_job;

/* Paths are put together of names: nothing else may be in them. */
static bool is_plain_module(pel_str module) {
    for (size_t i = 0; i < module.len; i++) {
        unsigned char c = (unsigned char)module.ptr[i];
        bool is_letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_';
        if (!is_letter && (c != '.' || i == 0 || module.ptr[i - 1] == '.')) return false;
    }
    return module.len > 0 && module.ptr[module.len - 1] != '.';
}

/* foo.bar is foo/bar.py or foo/bar/__init__.py. */
static bool find_source(pel_ctx *ctx, source_job *job) {
    static const char *const endings[] = { ".py", "/__init__.py" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++) {
        pel_buf path = pel_buf_in(ctx);
        pel_str module = job->name->module;
        for (size_t j = 0; j < module.len; j++) pel_put_byte(&path, module.ptr[j] == '.' ? '/' : module.ptr[j]);
        pel_put_c(&path, endings[i]);
        job->path = pel_buf_str(&path);
        pel_text asked = { job->path.ptr, job->path.len };
        if (job->audit->source(job->audit->source_arg, asked, &job->bytes)) return true;
    }
    return false;
}

static bool no_sibling(void *arg, pel_str module) {
    (void)arg, (void)module;
    return false;
}

static void read_source(pel_ctx *ctx, void *arg) {
    source_job *job = arg;
    pel_findings *findings = &job->audit->findings;
    pel_source source = pel_source_decode(ctx, job->path, (pel_str){ job->bytes.ptr, job->bytes.len });
    pel_node *tree = pel_parse(ctx, &source, PEL_VERSION_MAX);
    pel_source_effects all = { 0 }, reached = { 0 };
    pel_source_effects_of(ctx, tree, no_sibling, NULL, &all);
    pel_source_reached(ctx, &all, job->name->name, &reached);
    for (uint32_t i = 0; i < reached.rows.n; i++) {
        const pel_source_effect *row = &reached.rows.at[i];
        bool is_import = !row->where.len;
        pel_find(ctx, findings, row->effect > PEL_EFFECT_UNKNOWN ? PEL_DANGER : PEL_SUSPECT,
                 pel_effect_kind(row->effect), job->member, job->at,
                 pel_format(ctx, "%s %.*s%s%.*s %s: %.*s, %.*s:%u", is_import ? "importing" : "calling",
                            PEL_FMT(job->name->module), is_import ? "" : ".",
                            PEL_FMT(is_import ? PEL_STR("") : job->name->name), pel_effect_verb(row->effect),
                            PEL_FMT(row->what), PEL_FMT(job->path), row->line));
    }
    if (!reached.rows.n)
        pel_find(ctx, findings, PEL_NOTE, "source-computes", job->member, job->at,
                 pel_format(ctx, "%.*s: nothing that %.*s mentions leaves memory; what the file gives it is not known",
                            PEL_FMT(job->path), PEL_FMT(job->name->name)));
}

void pel_audit_source(pel_ctx *ctx, pel_audit *audit, pel_str member, uint64_t at, const pel_pickled_global *name) {
    source_job job = { .audit = audit, .member = member, .at = at, .name = name };
    pel_err why;
    if (!audit->source || name->is_computed || !is_plain_module(name->module) || !find_source(ctx, &job)) return;
    if (!pel_attempt(ctx, read_source, &job, &why))
        pel_find(ctx, &audit->findings, PEL_SUSPECT, "source-unread", member, at,
                 pel_format(ctx, "%.*s can't be read as Python: %s", PEL_FMT(job.path), why.what));
}
