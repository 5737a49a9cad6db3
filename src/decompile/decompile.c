#include "decompile/decompile.h"

#include "bytecode/normalise.h"
#include "decompile/lift.h"

#define MAX_DEPTH 200

static pel_decompiled *decompile(pel_ctx *ctx, const pel_code_object *code, bool as_states) {
    pel_normalise_knows(ctx, code);
    pel_decompiled *result = pel_new(ctx, pel_decompiled);
    result->as_states = as_states;
    result->tree = pel_read_root(ctx, result, code);
    pel_annotate_functions(result);
    pel_reread_annotations(ctx, result, code);
    pel_ast_check(ctx, result->tree); /* names of functions and arguments; statements have been checked */
    return result;
}

pel_decompiled *pel_decompile(pel_ctx *ctx, const pel_code_object *code) { return decompile(ctx, code, false); }

/* ---- dumps ---- */

const char *const pel_passes[] = { "normalise", "states", "tree", NULL };

typedef struct dumping {
    const pel_code_object *code;
    pel_buf *out;
} dumping;

static void dump_normalised(pel_ctx *ctx, void *arg) {
    dumping *d = arg;
    pel_canon *canon = pel_normalise(ctx, pel_decode(ctx, d->code), false);
    pel_canon_dump(canon, d->out);
    pel_canon_check(ctx, canon);
}

static void dump_codes(pel_ctx *ctx, const pel_code_object *code, int depth, pel_buf *out) {
    if (depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, 0, "code objects nest deeper than %d", MAX_DEPTH);
    pel_putf(out, "%.*s:\n", PEL_FMT(pel_name_str(code->name)));
    dumping d = { code, out };
    pel_err why;
    if (!pel_attempt(ctx, dump_normalised, &d, &why)) pel_putf(out, "incomplete: %s\n", why.what);
    pel_put_byte(out, '\n');
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (code->consts[i]->kind == PEL_CONST_CODE) dump_codes(ctx, code->consts[i]->code, depth + 1, out);
}

void pel_decompile_dump(pel_ctx *ctx, const pel_code_object *code, pel_str pass, const pel_print_options *print,
                        pel_buf *out) {
    if (pel_str_is(pass, "normalise")) {
        dump_codes(ctx, code, 0, out);
        return;
    }
    bool as_states = pel_str_is(pass, "states");
    if (as_states || pel_str_is(pass, "tree")) {
        pel_print(ctx, decompile(ctx, code, as_states)->tree, print, out);
        return;
    }
    pel_throw(ctx, PEL_E_USAGE, 0, "there is no pass %.*s", PEL_FMT(pass));
}
