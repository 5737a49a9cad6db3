/* Runs a Python file in the interpreter and prints what it prints: interp_run FILE [ROOT...]. For the golden cases of
 * tests/golden/interp, whose output must be CPython's. */
#include "interp/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

static bool read_file(void *arg, pel_str path, pel_str *bytes) {
    pel_ctx *ctx = arg;
    FILE *in = fopen(pel_format(ctx, "%.*s", PEL_FMT(path)).ptr, "rb");
    if (!in) return false;
    struct stat info;
    if (fstat(fileno(in), &info) != 0 || !S_ISREG(info.st_mode)) {
        fclose(in);
        return false;
    }
    char *text = pel_alloc_raw(ctx, (size_t)info.st_size + 1);
    size_t len = fread(text, 1, (size_t)info.st_size, in);
    text[len] = 0;
    fclose(in);
    *bytes = (pel_str){ text, len };
    return true;
}

static enum pel_entry_kind kind_of(void *arg, pel_str path) {
    struct stat info;
    if (stat(pel_format(arg, "%.*s", PEL_FMT(path)).ptr, &info) != 0) return PEL_NOTHING;
    return S_ISDIR(info.st_mode) ? PEL_FOLDER : PEL_FILE;
}

typedef struct job {
    int argc;
    char **argv;
    pel_buf out;
    int result;
} job;

static void body(pel_ctx *ctx, void *arg) {
    job *j = arg;
    pel_vm *vm = pel_vm_new(ctx);
    vm->files = (pel_files){ ctx, read_file, kind_of, NULL };
    vm->out = &j->out;
    for (int i = 2; i < j->argc; i++) pel_push(ctx, &vm->roots, pel_str_of(j->argv[i]));
    pel_str text;
    if (!read_file(ctx, pel_str_of(j->argv[1]), &text)) exit(2);
    clock_t start = clock();
    pel_val module = pel_run_source(vm, PEL_STR("__main__"), pel_str_of(j->argv[1]), text);
    double spent = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (!module) {
        pel_exception *e = (pel_exception *)vm->raised;
        pel_putf(&j->out, "%.*s\n", PEL_FMT(pel_exception_text(vm, vm->raised)));
        for (uint32_t i = 0; i < e->trace.n && getenv("INTERP_TRACE"); i++)
            fprintf(stderr, "  %.*s:%u %s\n", PEL_FMT(e->trace.at[i].code->file), e->trace.at[i].line,
                    pel_string_at(e->trace.at[i].code->name)->text);
    }
    if (getenv("INTERP_STEPS"))
        fprintf(stderr, "%llu steps, %.3f s, %zu MB\n", (unsigned long long)vm->steps, spent, ctx->taken >> 20);
    j->result = module ? 0 : 1;
}

int main(int argc, char **argv) {
    pel_ctx *ctx = pel_ctx_new((size_t)512 << 20);
    if (argc < 2 || !ctx) return 2;
    job j = { argc, argv, pel_buf_in(ctx), 1 };
    pel_err err;
    bool done = pel_attempt(ctx, body, &j, &err);
    if (j.out.len) fwrite(j.out.at, 1, j.out.len, stdout);
    if (!done) printf("stopped: %s\n", err.what);
    pel_ctx_free(ctx);
    return done ? j.result : 3;
}
