/* The printer: any source that parses is printed in several ways, and each of the texts must parse to the same tree,
 * print the same again, and stand where set_positions says. Any Python file is an input. */
#include "python/print.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct job {
    pel_str bytes;
    pel_print_options options;
    pel_node *tree;
} job;

_Noreturn static void fail(const job *j, const char *what, pel_str text) {
    fprintf(stderr, "Python 3.%d, width %d%s: %s\n%.*s\n", j->options.version, j->options.width,
            j->options.one_line ? ", one line" : "", what, PEL_FMT(text));
    abort();
}

static void parse(pel_ctx *ctx, void *arg) {
    job *j = arg;
    pel_source source = pel_source_decode(ctx, PEL_STR("input"), j->bytes);
    j->tree = pel_parse(ctx, &source, j->options.version);
}

typedef struct printing {
    const job *job;
    pel_node *tree;
    pel_buf out;
} printing;

static void print(pel_ctx *ctx, void *arg) {
    printing *p = arg;
    p->out = pel_buf_in(ctx);
    pel_print(ctx, p->tree, &p->job->options, &p->out);
}

/* What parses need not compile (`*a` alone): the checker may refuse, but not fall over. */
static void check_tree(pel_ctx *ctx, void *arg) { pel_ast_check(ctx, arg); }

static bool has_position(const job *j, const pel_node *node) {
    switch (pel_kinds[node->kind].class) {
    case PEL_MOD:
    case PEL_COMPREHENSION:
    case PEL_ARGUMENTS:
    case PEL_WITHITEM:
    case PEL_MATCH_CASE: return false;
    case PEL_ALIAS: return j->options.version >= 10;
    default: return true;
    }
}

static void compare_positions(const job *j, const pel_node *a, const pel_node *b, pel_str text);

static void compare_lists(const job *j, pel_nodes a, pel_nodes b, pel_str text) {
    for (uint32_t i = 0; i < a.n; i++)
        if (a.at[i]) compare_positions(j, a.at[i], b.at[i], text);
}

static void compare_positions(const job *j, const pel_node *a, const pel_node *b, pel_str text) {
    bool same = a->lineno == b->lineno && a->col_offset == b->col_offset && a->end_lineno == b->end_lineno &&
                a->end_col_offset == b->end_col_offset;
    if (has_position(j, a) && !same) {
        fprintf(stderr, "%s: printed at %u:%u to %u:%u, parsed at %u:%u to %u:%u\n", pel_kinds[a->kind].name, a->lineno,
                a->col_offset, a->end_lineno, a->end_col_offset, b->lineno, b->col_offset, b->end_lineno,
                b->end_col_offset);
        fail(j, "positions differ", text);
    }
    if (a->kind == PEL_JoinedStr) return; /* before 3.12 the positions inside are not those of the text */
    for (const pel_field *field = pel_kinds[a->kind].fields(); field->name; field++) {
        if (field->type == PEL_FIELD_ONE || field->type == PEL_FIELD_OPT) {
            const pel_node *child = *pel_field_at(a, field, pel_node *);
            if (child) compare_positions(j, child, *pel_field_at(b, field, pel_node *), text);
        } else if (field->type == PEL_FIELD_LIST || field->type == PEL_FIELD_HOLES) {
            compare_lists(j, *pel_field_at(a, field, pel_nodes), *pel_field_at(b, field, pel_nodes), text);
        }
    }
}

static void check(pel_ctx *ctx, job *j) {
    pel_err err;
    pel_attempt(ctx, check_tree, j->tree, &err);
    printing first = { j, j->tree, { 0 } };
    if (!pel_attempt(ctx, print, &first, &err)) {
        if (err.code != PEL_E_TOO_DEEP) fail(j, err.what, j->bytes);
        return;
    }
    pel_str text = pel_buf_str(&first.out);
    job again = { .bytes = text, .options = j->options };
    if (!pel_attempt(ctx, parse, &again, &err)) fail(j, err.what, text);
    if (!pel_same(j->tree, again.tree)) fail(j, "another tree", text);
    if (j->options.version > 8) compare_positions(j, j->tree, again.tree, text); /* 3.8 has some ends wrong */
    printing second = { j, again.tree, { 0 } };
    if (!pel_attempt(ctx, print, &second, &err)) fail(j, err.what, text);
    if (!pel_str_eq(text, pel_buf_str(&second.out))) fail(j, "printed again, it differs", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const pel_print_options ways[] = {
        { .width = 100 },
        { .width = 30 },
        { .width = 1 },
        { .width = 100, .one_line = true },
    };
    pel_ctx *ctx = pel_ctx_new((size_t)2 << 30);
    pel_err err;
    /* Every version in turn would be slow; the size picks one, and the newest is always tried. */
    int picked[] = { PEL_VERSION_MAX, PEL_VERSION_MIN + (int)(size % (PEL_VERSION_MAX - PEL_VERSION_MIN)) };
    for (size_t i = 0; i < PEL_COUNT(picked); i++)
        for (size_t k = 0; k < PEL_COUNT(ways); k++) {
            job j = { .bytes = { (const char *)data, size }, .options = ways[k] };
            j.options.version = picked[i];
            j.options.set_positions = true;
            if (pel_attempt(ctx, parse, &j, &err)) check(ctx, &j);
        }
    pel_ctx_free(ctx);
    return 0;
}
