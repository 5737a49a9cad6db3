/* Notebooks -> programs: the code cells in their order, without what only a notebook understands. */
#include "interp/scan.h"

#include "base/json_read.h"
#include "python/parse.h"

/* Cells of these are Python all the same; cells of other magics are not. */
static const char *const python_magics[] = { "%%time", "%%timeit", "%%capture", "%%prun" };

static bool is_python_magic(pel_str line) {
    for (size_t i = 0; i < PEL_COUNT(python_magics); i++)
        if (pel_str_starts(line, pel_str_of(python_magics[i]))) return true;
    return false;
}

static pel_str cell_text(pel_ctx *ctx, const pel_json_value *cell) {
    const pel_json_value *source = pel_json_get(cell, "source");
    if (!source || source->kind != PEL_J_ARRAY) return pel_json_text(source);
    pel_buf text = pel_buf_in(ctx);
    for (uint32_t i = 0; i < source->items.n; i++) pel_put(&text, pel_json_text(source->items.at[i]));
    return pel_buf_str(&text);
}

/* "%matplotlib inline", "!pip install x", "?help", "files = !ls" */
static bool is_for_notebook(pel_str line) {
    if (!line.len) return false;
    if (line.ptr[0] == '%' || line.ptr[0] == '!' || line.ptr[0] == '?') return true;
    for (size_t i = 0; i + 2 < line.len && line.ptr[i] != '#' && line.ptr[i] != '"' && line.ptr[i] != '\''; i++)
        if (line.ptr[i] == '=' && line.ptr[i + 1] == ' ' && (line.ptr[i + 2] == '!' || line.ptr[i + 2] == '%'))
            return true;
    return false;
}

static pel_str without_magics(pel_ctx *ctx, pel_str cell) {
    pel_buf out = pel_buf_in(ctx);
    for (size_t at = 0, end; at < cell.len; at = end + 1) {
        const char *newline = memchr(cell.ptr + at, '\n', cell.len - at);
        end = newline ? (size_t)(newline - cell.ptr) : cell.len;
        size_t first = at;
        while (first < end && (cell.ptr[first] == ' ' || cell.ptr[first] == '\t')) first++;
        pel_str line = pel_str_cut(cell, first, end);
        pel_put(&out, pel_str_cut(cell, at, first));
        pel_put(&out, is_for_notebook(line) ? PEL_STR("pass") : line);
        pel_put_byte(&out, '\n');
    }
    return pel_buf_str(&out);
}

static void parse_body(pel_ctx *ctx, void *arg) {
    const pel_str *text = arg;
    pel_source source = pel_source_decode(ctx, PEL_STR("<cell>"), *text);
    pel_parse(ctx, &source, PEL_VERSION_MAX);
}

static bool is_python(pel_ctx *ctx, pel_str text) {
    pel_err err;
    if (pel_attempt(ctx, parse_body, &text, &err)) return true;
    if (err.code == PEL_E_MEMORY) pel_throw(ctx, err.code, 0, "%s", err.what);
    return false;
}

/* Only a cell that is no Python has lines for the notebook: a line may begin with % in a longer expression. One that is
 * none without them either is a statement that can't be run, not the end of the notebook. */
static void put_cell(pel_ctx *ctx, pel_buf *out, pel_str cell, uint32_t number) {
    if (pel_str_starts(cell, PEL_STR("%%"))) {
        const char *newline = is_python_magic(cell) ? memchr(cell.ptr, '\n', cell.len) : NULL;
        if (!newline) return;
        cell = pel_str_from(cell, (size_t)(newline - cell.ptr) + 1);
    }
    if (!is_python(ctx, cell)) cell = without_magics(ctx, cell);
    if (is_python(ctx, cell))
        pel_put(out, cell), pel_put_byte(out, '\n');
    else
        pel_putf(out, "raise SyntaxError('cell %u is no Python')\n", number);
}

pel_str pel_notebook_program(pel_ctx *ctx, pel_str text) {
    const pel_json_value *cells = pel_json_get(pel_json_read(ctx, text, 0), "cells");
    if (!cells || cells->kind != PEL_J_ARRAY) pel_throw(ctx, PEL_E_FORMAT, 0, "a notebook has a list of cells");
    pel_buf out = pel_buf_in(ctx);
    for (uint32_t i = 0; i < cells->items.n; i++) {
        const pel_json_value *cell = cells->items.at[i];
        if (!pel_str_is(pel_json_text(pel_json_get(cell, "cell_type")), "code")) continue;
        pel_putf(&out, "# cell %u\n", i + 1);
        put_cell(ctx, &out, cell_text(ctx, cell), i + 1);
    }
    return pel_buf_str(&out);
}
