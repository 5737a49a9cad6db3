/* One logical line of Python, broken into as many lines as the width asks for.
 *
 * The printer writes a line as a row of tokens: texts, places where it may break, and groups of those.
 * A group is laid out flat if it fits up to the next place to break after it; otherwise all places
 * that belong to it break, and the groups inside decide for themselves. Widths are sums over the row,
 * so each decision takes constant time, and nothing here recurses. */
#ifndef PEL_PYTHON_LAYOUT_H
#define PEL_PYTHON_LAYOUT_H

#include "python/ast.h"

typedef enum pel_group {
    PEL_GROUP_BRACKETS, /* flat, or broken at all of its lines */
    PEL_GROUP_CHAIN,    /* the same, but only brackets around it make breaking legal */
    PEL_GROUP_FILL,     /* each of its lines breaks only where the next piece does not fit */
    /* Brackets that are only there if the group breaks. It may also stay without them and leave the
     * breaking to the last brackets inside (`x = f(` and so on): */
    PEL_GROUP_HUG,      /* … whenever the text up to there fits */
    PEL_GROUP_OPERATOR, /* … if the last operand is most of it */
    PEL_GROUP_INDEX,    /* … if it would break there even in parentheses */
    PEL_GROUP_PARENS,   /* … never */
} pel_group;

typedef struct pel_token pel_token;

typedef struct pel_layout {
    pel_ctx *ctx;
    pel_buf *out;
    uint32_t width;
    bool sets_positions;
    int nobreak; /* > 0: lines become plain text */
    PEL_VEC(pel_token) tokens;
    PEL_VEC(uint8_t) modes;                    /* of the groups around the token being laid out */
    uint32_t n_lines;                          /* places to break so far */
    uint32_t last_brackets, lines_at_brackets; /* the brackets closed last; what a HUG leaves the breaking to */
    uint32_t last_operator;                    /* set by the printer after the operands of an operation */
    bool has_multiline;
    uint32_t line;     /* of out, from 1 */
    size_t line_start; /* offset in out */
} pel_layout;

#define PEL_NO_GROUP UINT32_MAX

pel_layout pel_layout_to(pel_buf *out, uint32_t width, bool sets_positions);

/* text must live until the flush; newlines in it are kept as they are. */
void pel_lay(pel_layout *lay, pel_str text);
void pel_lay_c(pel_layout *lay, const char *text);
void pel_lay_name(pel_layout *lay, pel_name name);

/* Where the line may break: nothing or a space if it doesn't. */
void pel_lay_soft(pel_layout *lay);
void pel_lay_line(pel_layout *lay);
void pel_lay_backslash(pel_layout *lay); /* a space, or a backslash and a new line */
/* The group around does not stay flat, however short it is. */
void pel_lay_apart(pel_layout *lay);
void pel_lay_if_broken(pel_layout *lay, const char *text);
void pel_lay_indent(pel_layout *lay); /* of new lines, if the group around is broken */
void pel_lay_dedent(pel_layout *lay);

uint32_t pel_lay_open(pel_layout *lay, pel_group group);
void pel_lay_close(pel_layout *lay, uint32_t opened);
/* Optional parentheses with everything that belongs to them. The kind is known at the end. */
uint32_t pel_lay_open_parens(pel_layout *lay);
void pel_lay_close_parens(pel_layout *lay, uint32_t opened, pel_group group);

/* Undoing and measuring what was written since. */
uint32_t pel_lay_here(const pel_layout *lay);
void pel_lay_undo(pel_layout *lay, uint32_t since);
char pel_lay_first_byte(const pel_layout *lay, uint32_t since);            /* 0 if there is no text */
uint32_t pel_lay_width(const pel_layout *lay, uint32_t from, uint32_t to); /* flat */
void pel_lay_freeze(pel_layout *lay, uint32_t from, uint32_t to);          /* takes the places to break away */

/* A node's first and last character, for set_positions. */
void pel_lay_start(pel_layout *lay, pel_node *node);
void pel_lay_end(pel_layout *lay, pel_node *node);

/* Writes the line out, after indent spaces. */
void pel_lay_flush(pel_layout *lay, uint32_t indent);
void pel_lay_newline(pel_layout *lay);

#endif
