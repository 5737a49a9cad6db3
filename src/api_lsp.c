/* pellucid_lsp_*: what an analysis needs of the interpreter; the session itself is in lsp/. */
#include "api.h"
#include "lsp/lsp.h"
#include "pellucid.h"

typedef struct read_call {
    pel_text bytes;
    pel_lsp_job *job;
} read_call;

static void read_body(pel_ctx *ctx, void *arg) {
    read_call *call = arg;
    pel_job_read(ctx, (pel_str){ call->bytes.ptr, call->bytes.len }, call->job);
}

bool pellucid_lsp_job(pel_ctx *ctx, pel_text bytes, pel_lsp_job *job, pel_error *error) {
    read_call call = { bytes, job };
    pel_err err;
    if (pel_attempt(ctx, read_body, &call, &err)) return true;
    pel_give_error(&err, (pel_str){ "", 0 }, error);
    return false;
}

typedef struct analyse_call {
    pel_scanner *scanner;
    const pel_lsp_job *job;
    pel_buf out;
} analyse_call;

static void analyse_body(pel_ctx *ctx, void *arg) {
    (void)ctx;
    analyse_call *call = arg;
    pel_lsp_analyse(call->scanner, call->job, &call->out);
}

bool pellucid_lsp_analyse(pel_scanner *scanner, const pel_lsp_job *job, pel_text *out, pel_error *error) {
    analyse_call call = { scanner, job, pel_buf_in(scanner->vm->ctx) };
    pel_err err;
    if (!pel_attempt(scanner->vm->ctx, analyse_body, &call, &err)) {
        pel_give_error(&err, (pel_str){ "", 0 }, error);
        return false;
    }
    pel_str made = pel_buf_str(&call.out);
    *out = (pel_text){ made.ptr, made.len };
    return true;
}
