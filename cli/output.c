#include "cli.h"

#include "base/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_is_terminal(FILE *stream) {
    const char *term = getenv("TERM");
    return isatty(fileno(stream)) && !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

int cli_worse(int a, int b) {
    static const int severity[] = {
        [CLI_FINE] = 0, [CLI_INCOMPLETE] = 1, [CLI_FOUND] = 2, [CLI_BAD_INPUT] = 3, [CLI_BAD_USAGE] = 4
    };
    return severity[a] >= severity[b] ? a : b;
}

int cli_write(const char *path, pel_text text) {
    FILE *out = path ? fopen(path, "wb") : stdout;
    bool done = out && fwrite(text.ptr, 1, text.len, out) == text.len;
    if (out && path) done = fclose(out) == 0 && done;
    if (done) return CLI_FINE;
    fprintf(stderr, "pellucid: cannot write %s: %s\n", path ? path : "the output", strerror(errno));
    return CLI_BAD_INPUT;
}

/* ---- terminals ---- */

size_t cli_columns(void) { return pel_os_columns(); }

/* The bytes of a line's first characters that fit; what colours them takes no columns. */
static size_t fitting(const char *line, size_t len, size_t width) {
    size_t used = 0, at = 0;
    while (at < len) {
        if (line[at] == '\033') { /* ESC [ digits m */
            while (at < len && line[at] != 'm') at++;
            at++;
            continue;
        }
        if (used == width) return at;
        for (at++; at < len && ((unsigned char)line[at] & 0xC0) == 0x80;) at++;
        used++;
    }
    return len;
}

/* Where to break a line so that it fits: after its last space, or in a long word. */
static size_t breaking(const char *line, size_t len, size_t width) {
    size_t end = fitting(line, len, width);
    if (end == len) return len;
    for (size_t at = end; at > end / 2; at--)
        if (line[at] == ' ') return at;
    return end;
}

void cli_put_wrapped(pel_text line, size_t indent, const char *colour) {
    size_t width = cli_columns();
    if (!cli_is_terminal(stdout)) colour = "";
    if (!width) width = SIZE_MAX;
    if (indent + 20 > width) indent = 0;
    for (size_t at = 0, room = width; at < line.len || !at; room = width - indent) {
        size_t n = breaking(line.ptr + at, line.len - at, room);
        if (at) printf("%*s", (int)indent, "");
        printf("%s%.*s%s\n", colour, (int)n, line.ptr + at, *colour ? "\033[0m" : "");
        at += n;
        while (at < line.len && line.ptr[at] == ' ') at++;
        if (!line.len) break;
    }
}

int cli_write_fitted(pel_text text, bool coloured) {
    size_t width = cli_columns();
    if (!width) return cli_write(NULL, text);
    for (size_t start = 0; start < text.len;) {
        const char *line = text.ptr + start, *end = memchr(line, '\n', text.len - start);
        size_t len = end ? (size_t)(end - line) : text.len - start;
        bool fits = fitting(line, len, width) == len;
        fwrite(line, 1, fits ? len : fitting(line, len, width - 1), stdout);
        if (!fits) fputs(coloured ? "\033[0m…" : "…", stdout);
        if (end) putchar('\n');
        start += len + 1;
    }
    return ferror(stdout) ? CLI_BAD_INPUT : CLI_FINE;
}

/* ---- the line and the caret ---- */

#define SHOWN 100 /* columns of a long line that are shown around the error */

/* Length of the UTF-8 character at text[at]; 1 for bytes that are none. */
static size_t character_length(pel_text text, size_t at) {
    unsigned char first = (unsigned char)text.ptr[at];
    size_t n = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
    if (at + n > text.len) return 1;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)text.ptr[at + i] & 0xC0) != 0x80) return 1;
    return n;
}

/* Terminals obey control bytes: what the input holds must not reach them as such. */
static void put_character(FILE *out, const char *at, size_t n) {
    unsigned char byte = (unsigned char)*at;
    if (n == 1 && (byte < 0x20 || byte >= 0x7F))
        fputc(byte == '\t' ? ' ' : '?', out);
    else if (n == 2 && byte == 0xC2 && (unsigned char)at[1] < 0xA0) /* C1 controls */
        fputc('?', out);
    else
        fwrite(at, 1, n, out);
}

static void draw_line(FILE *out, pel_text line, uint32_t column, bool coloured) {
    uint32_t first = column > SHOWN * 3 / 4 ? column - SHOWN * 3 / 4 : 1;
    uint32_t at_column = 1;
    fprintf(out, "    %s", first > 1 ? "..." : "");
    for (size_t at = 0; at < line.len; at_column++) {
        size_t n = character_length(line, at);
        if (at_column >= first + SHOWN) {
            fputs("...", out);
            break;
        }
        if (at_column >= first) put_character(out, line.ptr + at, n);
        at += n;
    }
    fprintf(out, "\n    %s%*s%s^%s\n", first > 1 ? "   " : "", (int)(column - first), "", coloured ? "\033[1;32m" : "",
            coloured ? "\033[0m" : "");
}

int cli_report(pel_ctx *ctx, const cli_input *input, const pel_error *error, bool as_json) {
    bool coloured = cli_is_terminal(stderr);
    fprintf(stderr, "%s%s:%u:%llu:%s %s", coloured ? "\033[1m" : "", input->name, error->line ? error->line : 1,
            error->line ? error->column : (unsigned long long)error->offset + 1, coloured ? "\033[0m" : "",
            error->message);
    if (!error->line) fprintf(stderr, " (at byte %llu)", (unsigned long long)error->offset);
    fputc('\n', stderr);
    if (error->line && input->bytes.len) {
        pel_text line = pellucid_source_line(ctx, input->bytes, error->line);
        if (line.len) draw_line(stderr, line, error->column, coloured);
    }
    if (as_json) {
        pel_text json = pellucid_error_json(ctx, (pel_text){ input->name, strlen(input->name) }, error);
        fwrite(json.ptr, 1, json.len, stdout);
        putchar('\n');
    }
    return CLI_BAD_INPUT;
}
