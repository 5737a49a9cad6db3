/* Comments of YAML become spaces, so that what is looked for in a text is looked for in its values alone. Offsets stay.
 *
 * A comment is a '#' at the start of a line or after white space, outside of quotes and of block scalars. Whether a
 * quote opens depends on where a value may begin, so the scan follows plain scalars, flow collections and the lines
 * that scalars go on over. Where it is not certain, nothing more of the text counts as a comment: a value that is taken
 * for a comment would be a way around the audit, a comment that is taken for a value is a false alarm. */
#include "load/load.h"

#include <string.h>

typedef enum place {
    PLACE_START, /* a value may begin */
    PLACE_PLAIN, /* in a plain scalar */
    PLACE_AFTER, /* after a quoted scalar or a flow collection */
    PLACE_QUOTE, /* in quotes */
} place;

#define NEVER (-2) /* no scalar goes on */

typedef struct scan {
    pel_str text;
    char *out;
    size_t at, stop; /* in the line, which ends at stop */
    place place;
    char quote;
    int depth;       /* of flow collections */
    int indent;      /* of the line */
    int plain_under; /* a plain scalar goes on over lines that are indented deeper than this; NEVER */
    int block_under; /* the same for a block scalar */
    bool has_parent; /* the line has a key or a dash before the place */
    bool goes_on;    /* the line may belong to the plain scalar of the lines before */
    bool is_lost;
} scan;

static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool is_one_of(char c, const char *set) { return c && strchr(set, c); }

/* The byte that many places on; a space at the end of the line. */
static char ahead(const scan *s, size_t n) { return s->at + n < s->stop ? s->text.ptr[s->at + n] : ' '; }

/* YAML has line breaks that are no '\n': after them the text is a value again. */
static bool has_other_break(pel_str text) {
    for (size_t i = 0; i < text.len; i++) {
        bool is_last = i + 1 == text.len;
        if (text.ptr[i] == '\r' && !is_last) return true;
        if (i + 1 < text.len && memcmp(text.ptr + i, "\xC2\x85", 2) == 0) return true;
        if (i + 2 < text.len &&
            (memcmp(text.ptr + i, "\xE2\x80\xA8", 3) == 0 || memcmp(text.ptr + i, "\xE2\x80\xA9", 3) == 0))
            return true;
    }
    return false;
}

static void drop_comment(scan *s) {
    memset(s->out + s->at, ' ', s->stop - s->at);
    s->at = s->stop;
    if (s->place == PLACE_PLAIN) s->place = PLACE_AFTER; /* a comment ends a plain scalar */
    s->plain_under = NEVER;
}

static void in_quotes(scan *s) {
    char c = ahead(s, 0);
    bool is_pair = s->quote == '\'' && c == '\'' && ahead(s, 1) == '\'';
    if ((s->quote == '"' && c == '\\') || is_pair)
        s->at++;
    else if (c == s->quote)
        s->place = PLACE_AFTER;
    s->at++;
}

/* "|", ">-", "|2": the lines that are indented deeper are text. */
static void open_block(scan *s) {
    do s->at++;
    while (is_one_of(ahead(s, 0), "+-0123456789"));
    while (s->at < s->stop && is_white(ahead(s, 0))) s->at++;
    bool is_comment = ahead(s, 0) == '#' && is_white(s->text.ptr[s->at - 1]);
    s->is_lost = s->depth || !s->has_parent || s->goes_on || (s->at < s->stop && !is_comment);
    s->block_under = s->indent;
}

static void close_flow(scan *s) {
    if (s->depth) s->depth--;
    if (!s->depth && !s->goes_on) s->plain_under = NEVER;
    s->place = PLACE_AFTER;
    s->at++;
}

/* Tags and anchors: a value may still begin after them. */
static void skip_property(scan *s) {
    for (; s->at < s->stop && !is_white(ahead(s, 0)); s->at++)
        if (is_one_of(ahead(s, 0), "\"',[]{}")) s->is_lost = true;
}

/* "key:" at depth 0, which no plain scalar goes on with. */
static void end_key(scan *s) {
    s->place = PLACE_START;
    s->has_parent = true;
    s->goes_on = s->goes_on && s->depth;
    s->plain_under = NEVER;
}

static void start(scan *s) {
    char c = ahead(s, 0);
    if (s->depth && is_one_of(c, "?:-") && is_one_of(ahead(s, 1), "\"',[]{}")) s->is_lost = true; /* readers differ */
    if (is_one_of(c, "-?:") && is_white(ahead(s, 1))) {
        s->has_parent = true;
        s->at++;
    } else if (c == '"' || c == '\'') {
        s->quote = c;
        s->place = PLACE_QUOTE;
        s->at++;
    } else if (c == '[' || c == '{') {
        s->depth++;
        s->at++;
    } else if (c == ']' || c == '}') {
        close_flow(s);
    } else if (c == ',') {
        s->at++;
    } else if (c == '!' || c == '&') {
        skip_property(s);
    } else if (c == '|' || c == '>') {
        open_block(s);
    } else {
        s->place = PLACE_PLAIN;
        if (!s->goes_on) s->plain_under = s->has_parent ? s->indent : -1;
    }
}

static void in_plain(scan *s) {
    char c = ahead(s, 0);
    if (c == ':' && is_white(ahead(s, 1))) {
        end_key(s);
    } else if (s->depth && (is_one_of(c, "[{?") || (c == ':' && is_one_of(ahead(s, 1), "\"',[]{}")))) {
        s->is_lost = true; /* readers differ */
    } else if (s->depth && c == ',') {
        s->place = PLACE_START;
    } else if (s->depth && (c == ']' || c == '}')) {
        close_flow(s);
        return;
    }
    s->at++;
}

static void after(scan *s) {
    char c = ahead(s, 0);
    if (c == ']' || c == '}') {
        close_flow(s);
        return;
    }
    s->is_lost = c != ':' && !(c == ',' && s->depth);
    s->place = PLACE_START;
    if (c == ':') end_key(s);
    s->at++;
}

static void step(scan *s) {
    bool is_first = !s->at || s->text.ptr[s->at - 1] == '\n' || is_white(s->text.ptr[s->at - 1]);
    if (s->place == PLACE_QUOTE)
        in_quotes(s);
    else if (is_white(ahead(s, 0)))
        s->at++;
    else if (is_first && ahead(s, 0) == '#')
        drop_comment(s);
    else if (s->place == PLACE_START)
        start(s);
    else if (s->place == PLACE_PLAIN)
        in_plain(s);
    else
        after(s);
}

/* At depth 0 each line begins anew. If it might as well belong to the plain scalar before it, a quote that it leaves
 * open may be none. */
static void read_line(scan *s) {
    pel_str line = pel_str_cut(s->text, s->at, s->stop);
    size_t n = 0;
    while (n < line.len && line.ptr[n] == ' ') n++;
    s->indent = n < 10000 ? (int)n : 10000;
    bool is_blank = n == line.len || (line.ptr[n] == '\r' && n + 1 == line.len);
    s->is_lost = has_other_break(line);
    if (is_blank || s->is_lost) return;
    if (s->place != PLACE_QUOTE && s->block_under != NEVER && s->indent > s->block_under) return;
    s->block_under = NEVER;
    bool is_fresh = s->place != PLACE_QUOTE && !s->depth;
    s->goes_on = is_fresh && s->plain_under != NEVER && s->indent > s->plain_under;
    if (is_fresh) {
        s->place = PLACE_START;
        s->has_parent = false;
        if (!s->goes_on) s->plain_under = NEVER;
    }
    if (is_fresh && pel_str_starts(line, PEL_STR("---")) && is_white(line.len > 3 ? line.ptr[3] : ' '))
        s->at += 3; /* a block scalar after it is text without an indent: has_parent is false */
    while (s->at < s->stop && !s->is_lost) step(s);
    if (s->goes_on && (s->place == PLACE_QUOTE || s->depth)) s->is_lost = true;
}

pel_str pel_yaml_without_comments(pel_ctx *ctx, pel_str text) {
    if (!text.len) return text;
    scan s = { .text = text, .plain_under = NEVER, .block_under = NEVER };
    s.out = pel_alloc_raw(ctx, text.len);
    memcpy(s.out, text.ptr, text.len);
    if (pel_str_starts(text, PEL_STR("\xEF\xBB\xBF"))) s.at = 3;
    while (s.at < text.len && !s.is_lost) {
        const char *end = memchr(text.ptr + s.at, '\n', text.len - s.at);
        s.stop = end ? (size_t)(end - text.ptr) : text.len;
        read_line(&s);
        s.at = s.stop + 1;
    }
    return (pel_str){ s.out, text.len };
}
