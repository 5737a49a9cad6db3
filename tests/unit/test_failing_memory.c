/* Every entry point of pellucid.h with its 1st, 2nd, 3rd … allocation failing, until one run needs no more:
 * each must end in PEL_E_MEMORY (or do without), leak nothing, and leave a ctx that works again. */
#include "check.h"

typedef struct entry_point {
    const char *name;
    bool (*call)(pel_ctx *ctx, pel_text input, pel_error *error);
    const char *inputs[8];
} entry_point;

static bool call_ast_json(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_ast(ctx, input, NULL, &out, error);
}

static bool call_ast_text(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_ast(ctx, input, &(pel_ast_options){ .format = PEL_AST_TEXT }, &out, error);
}

static bool call_format(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_format(ctx, input, &(pel_format_options){ .width = 40 }, &out, error);
}

static bool call_source_line(pel_ctx *ctx, pel_text input, pel_error *error) {
    (void)error;
    pellucid_source_line(ctx, input, 2);
    return true;
}

static bool call_error_json(pel_ctx *ctx, pel_text input, pel_error *error) {
    (void)error;
    return pellucid_error_json(ctx, input, &(pel_error){ .code = PEL_E_SYNTAX, .line = 3, .message = "x" }).len > 0;
}

static bool call_tree(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_tree(ctx, &(pel_model_file){ .name = { "x", 1 }, .bytes = input }, NULL, &out, error);
}

static bool call_audit(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_audit(ctx, &(pel_model_file){ .name = { "x", 1 }, .bytes = input }, NULL, &out, NULL, error);
}

static bool call_compare(pel_ctx *ctx, pel_text input, pel_error *error) {
    const pel_model_file file = { .name = { "x", 1 }, .bytes = input };
    pel_text out;
    return pellucid_compare(ctx, &file, &file, NULL, &out, NULL, error);
}

static bool call_align(pel_ctx *ctx, pel_text input, pel_error *error) {
    const pel_model_file file = { .name = { "x", 1 }, .bytes = input };
    pel_text out, python;
    return pellucid_align(ctx, &file, &file, &(pel_align_options){ .python = &python }, &out, NULL, error);
}

static bool call_recover(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_text out;
    return pellucid_recover(ctx, &(pel_model_file){ .name = { "x", 1 }, .bytes = input }, &out, error);
}

static bool drop(void *arg, pel_text bytes) {
    (void)arg, (void)bytes;
    return true;
}

static bool call_convert(pel_ctx *ctx, pel_text input, pel_error *error) {
    return pellucid_convert(ctx, &(pel_model_file){ .name = { "x", 1 }, .bytes = input }, NULL, drop, NULL, NULL,
                            error);
}

/* A session of the language server: one message, an analysis, its result. It has no ctx of its own to fail in. */
static bool call_lsp(pel_ctx *ctx, pel_text input, pel_error *error) {
    pel_lsp *server = pellucid_lsp_open();
    uint64_t wait, number;
    pel_text request;
    pel_lsp_job job;
    bool done = server != NULL;
    *error = (pel_error){ .code = PEL_E_MEMORY };
    if (server) pellucid_lsp_feed(server, input, 1);
    if (server && pellucid_lsp_due(server, 2, &wait, &request, &number)) {
        done = pellucid_lsp_job(ctx, request, &job, error);
        pellucid_lsp_done(server, number, (pel_text){ "{\"diagnostics\":[]}", 18 }, NULL);
    }
    pellucid_lsp_close(server);
    return done;
}

#define PICKLE "(dp0\nS'a'\np1\n(lp2\nI1\naF2.5\nasS'b'\ncposix\nsystem\n(S'id'\ntRs."
#define TREE "{\"networks\":[{\"tree\":[{\"parameters\":{\"w\":[2,3]}}],\"dtypes\":{\"w\":\"float32\"}}]}"

#define SESSION                                                                                                        \
    "Content-Length: 42\r\n\r\n{\"id\":1,\"method\":\"initialize\",\"params\":{}}"                                     \
    "Content-Length: 101\r\n\r\n{\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":"                    \
    "{\"uri\":\"file:///a.py\",\"text\":\"x = 1\\n\"}}}  "

#define PROGRAM                                                                                                        \
    "# coding: utf-8\n"                                                                                                \
    "@decorate(1, *a, k=2, **b)\n"                                                                                     \
    "async def f(a, /, b: int = 0x_ff, *args, c=1.5e3, **kw) -> 'T':\n"                                                \
    "    '''doc'''\n"                                                                                                  \
    "    async with x as y, z: await g(lambda q: q ** -1)\n"                                                           \
    "    for i, (j, *k) in [x async for x in y if x]: print(f'{i!r:>{j}} {{}}', b'\\x00' rb'raw')\n"                   \
    "    else: del a[1:2, ...], b.c\n"                                                                                 \
    "class C(B, metaclass=M):\n"                                                                                       \
    "    x: int\n"                                                                                                     \
    "    try: assert a < b <= c, 'm'\n"                                                                                \
    "    except (A, B) as e: raise X from e\n"                                                                         \
    "    finally: y = {**a, 1: 2} if not (n := 10) else {1, 2}\n"                                                      \
    "match p:\n"                                                                                                       \
    "    case [1, *_] | {'k': v, **r} | C(x=1) as z if z: pass\n"

static const entry_point entry_points[] = {
    { "ast as JSON", call_ast_json, { PROGRAM, "x = (", "def f(:\n", "\xff\n", "" } },
    { "ast as text", call_ast_text, { PROGRAM, "'" } },
    { "format", call_format, { PROGRAM, "x = 1 +\n" } },
    { "source line", call_source_line, { PROGRAM, "# coding: latin-1\n\xe9\n", "one line" } },
    { "error as JSON", call_error_json, { "file.py" } },
    { "tree", call_tree, { PICKLE, TREE, "what?" } },
    { "audit", call_audit, { PICKLE, "c__main__\nNet\n(tR.", "what?" } },
    { "compare", call_compare, { TREE, PICKLE } },
    { "align", call_align, { TREE, PICKLE } },
    { "convert", call_convert, { TREE, PICKLE } },
    { "recover", call_recover, { PICKLE } },
    { "language server", call_lsp, { SESSION, "Content-Length: 2\r\n\r\n{}" } },
};

static void walk(const entry_point *entry, const char *text) {
    pel_text input = { text, strlen(text) };
    pel_error plain = { 0 }, error;
    pel_ctx *ctx = pellucid_open(NULL);
    bool expected = entry->call(ctx, input, &plain);
    pellucid_close(ctx);
    if (strcmp(text, PROGRAM) == 0 && !expected) {
        printf("%s: the program is not valid: %u:%u: %s\n", entry->name, plain.line, plain.column, plain.message);
        failures++;
        return;
    }
    bool reached = true;
    for (long nth = 2; reached; nth++) { /* the first is the ctx itself */
        pel_fail_allocation(nth);
        ctx = pellucid_open(NULL);
        bool done = entry->call(ctx, input, &error);
        reached = pel_fail_allocation(0) == 0;
        if (!reached || done)
            CHECK(done == expected);
        else
            CHECK(error.code == PEL_E_MEMORY);
        CHECK(entry->call(ctx, input, &error) == expected && (expected || error.code == plain.code));
        pellucid_close(ctx);
        if (failures) {
            printf("%s, allocation %ld of \"%.30s\"\n", entry->name, nth, text);
            return;
        }
    }
}

static void every_entry_point_survives(pel_ctx *unused) {
    (void)unused;
    pel_fail_allocation(1);
    CHECK(pellucid_open(NULL) == NULL);
    pel_fail_allocation(0);
    for (size_t i = 0; i < PEL_COUNT(entry_points); i++)
        for (const char *const *input = entry_points[i].inputs; *input; input++) walk(&entry_points[i], *input);
}

int main(void) {
    static const test tests[] = { TEST(every_entry_point_survives) };
    return RUN_TESTS(tests);
}
