/* The language server: any bytes of a client, in two pieces, give answers, and every analysis that it asks for can be
 * read. What the analyses find is made up: the bytes themselves, or a result with one row of each kind. */
#include "fuzz_reader.h"

#include "pellucid.h"

static const char found[] =
    "{\"diagnostics\":[],\"hints\":[{\"line\":0,\"character\":1,\"label\":\"x\",\"tooltip\":\"y\"}],"
    "\"hovers\":[{\"line\":0,\"from\":0,\"to\":2,\"text\":\"z\"}],"
    "\"lenses\":[{\"line\":0,\"from\":0,\"to\":1,\"title\":\"t\"}]}";

static void run_due(pel_lsp *server, pel_text bytes, uint64_t now) {
    uint64_t wait, number;
    pel_text request;
    pel_lsp_job job;
    pel_error error;
    for (int i = 0; i < 4 && pellucid_lsp_due(server, now, &wait, &request, &number); i++) {
        pel_ctx *ctx = pel_ctx_new((size_t)256 << 20);
        if (!pellucid_lsp_job(ctx, request, &job, &error)) __builtin_trap(); /* it is our own */
        pel_ctx_free(ctx);
        pel_text results[] = { { found, sizeof found - 1 }, bytes };
        pellucid_lsp_done(server, number, results[number % 2], number % 5 ? NULL : "made up");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pel_lsp *server = pellucid_lsp_open();
    pel_text bytes = { (const char *)data, size };
    size_t half = size / 2;
    int code;
    if (!server) return 0;
    pellucid_lsp_feed(server, (pel_text){ bytes.ptr, half }, 1);
    run_due(server, bytes, 1000);
    pellucid_lsp_feed(server, (pel_text){ bytes.ptr + half, size - half }, 2000);
    run_due(server, bytes, 9000);
    pellucid_lsp_sent(server, pellucid_lsp_output(server).len / 2);
    pellucid_lsp_is_over(server, &code);
    pellucid_lsp_close(server);
    return 0;
}
