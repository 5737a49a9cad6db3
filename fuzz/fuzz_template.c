/* Chat templates: any bytes are judged, and judging them ends. */
#include "fuzz_reader.h"

#include "load/audit/template.h"

static void read_all(pel_ctx *ctx, void *arg) {
    pel_findings findings = { 0 };
    pel_audit_template(ctx, &findings, PEL_STR("x"), *(pel_str *)arg, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return fuzz_reader(read_all, data, size); }
