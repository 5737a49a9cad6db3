/* What the files of the printer share: print.c has the statements, print_expr.c the expressions,
 * print_text.c the literals, layout.c breaks the lines. */
#ifndef PEL_PYTHON_PRINTER_H
#define PEL_PYTHON_PRINTER_H

#include "python/layout.h"
#include "python/print.h"

/* How tightly expressions bind, loosest first. An expression that binds looser than its place asks
 * for is in parentheses. */
typedef enum pel_level {
    PEL_LEVEL_YIELD,
    PEL_LEVEL_NAMED,
    PEL_LEVEL_TEST,
    PEL_LEVEL_OR,
    PEL_LEVEL_AND,
    PEL_LEVEL_NOT,
    PEL_LEVEL_COMPARE,
    PEL_LEVEL_BITOR,
    PEL_LEVEL_BITXOR,
    PEL_LEVEL_BITAND,
    PEL_LEVEL_SHIFT,
    PEL_LEVEL_ARITH,
    PEL_LEVEL_TERM,
    PEL_LEVEL_FACTOR,
    PEL_LEVEL_POWER,
    PEL_LEVEL_AWAIT,
    PEL_LEVEL_ATOM,
} pel_level;

/* Inside the replacement field of an f-string. */
typedef struct pel_field_limits {
    uint8_t taken;     /* quotes that the strings around use; bits of print_text.c */
    bool no_backslash; /* before 3.12 */
    bool impossible;   /* set when something could not be written so */
} pel_field_limits;

typedef struct pel_printer {
    pel_ctx *ctx;
    pel_layout lay;
    pel_version version;
    bool one_line, indents_docstrings;
    int depth;
    pel_field_limits field;
} pel_printer;

/* A list in brackets. */
typedef struct pel_row {
    uint32_t brackets, inner, n;
} pel_row;

/* Everything that recurses over the tree counts its depth here. */
void pel_print_enter(pel_printer *p);
void pel_print_leave(pel_printer *p);

/* print_expr.c */
void pel_print_expr(pel_printer *p, pel_node *node, pel_level level);
/* An expression that gets parentheses if that lets it break: the value of a statement, an argument. */
void pel_print_loose(pel_printer *p, pel_node *node, pel_level level);
/* The same at the level of a statement, where long chains of calls are broken at their dots. */
void pel_print_value(pel_printer *p, pel_node *node);
/* A tuple without its parentheses, if it looks well so; anything else as a value. */
void pel_print_values(pel_printer *p, pel_node *node);
/* What may stand left of `=` or `in`. */
void pel_print_target(pel_printer *p, pel_node *node);
void pel_print_parameters(pel_printer *p, pel_node *arguments, bool in_lambda);
void pel_print_arguments(pel_printer *p, pel_nodes args, pel_nodes keywords);
/* (a, b): opens brackets, separates elements, closes. With display, the elements go on lines of their own as
 * soon as they don't fit on that of the brackets; without, they may share a second line. */
pel_row pel_row_open(pel_printer *p, const char *bracket, bool display);
void pel_row_next(pel_printer *p, pel_row *row); /* before each element */
void pel_row_close(pel_printer *p, pel_row *row, const char *bracket);

/* print_text.c */
void pel_print_constant(pel_printer *p, const pel_const *value, pel_str kind, bool is_docstring);
pel_level pel_constant_level(const pel_const *value);
void pel_print_fstring(pel_printer *p, pel_node *node);

#endif
