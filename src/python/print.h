/* AST -> Python source, as a good Python programmer would write it. */
#ifndef PEL_PYTHON_PRINT_H
#define PEL_PYTHON_PRINT_H

#include "python/ast.h"
#include "python/parse.h"

typedef struct pel_print_options {
    int width;           /* lines are broken to fit; 0 for 100 */
    pel_version version; /* which Python must read the text (f-string quotes, parenthesised with); 0 for the newest */
    bool one_line;       /* a statement never takes more than one line (but compound ones): for debuggers */
    bool set_positions;  /* write the printed line and column into the nodes */
    bool indent_docstrings; /* the reader is a compiler that strips docstrings (3.13): lines of them are indented like
                               the code around, and the parsed tree differs by that */
} pel_print_options;

/* Prints a Module, Interactive, Expression, statement or expression. Parsing the result gives the same tree. */
void pel_print(pel_ctx *ctx, pel_node *node, const pel_print_options *options, pel_buf *out);
void pel_print_body(pel_ctx *ctx, pel_nodes body, int indent, const pel_print_options *options, pel_buf *out);

#endif
