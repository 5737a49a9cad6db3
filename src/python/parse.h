/* Python source -> AST. */
#ifndef PEL_PYTHON_PARSE_H
#define PEL_PYTHON_PARSE_H

#include "python/ast.h"

/* The minor version of Python 3: 8 to 15. */
typedef int pel_version;
#define PEL_VERSION_MIN 8
#define PEL_VERSION_MAX 15
#define PEL_VERSIONS_TEXT "3.8 to 3.15" /* for messages and help */

typedef struct pel_source {
    pel_str name; /* for messages */
    pel_str text; /* UTF-8, without byte order mark, line ends as they were */
} pel_source;

/* Decodes raw bytes by byte order mark or coding comment. Throws PEL_E_ENCODING or PEL_E_SYNTAX. */
pel_source pel_source_decode(pel_ctx *ctx, pel_str name, pel_str bytes);
/* Text that is UTF-8 already, whatever a coding comment says. Throws PEL_E_ENCODING if it is not. */
pel_source pel_source_text(pel_ctx *ctx, pel_str name, pel_str text);

/* Parses a whole file. Throws PEL_E_SYNTAX and others with line and column. */
pel_node *pel_parse(pel_ctx *ctx, const pel_source *source, pel_version version);
/* Parses one expression, as ast.parse(mode="eval"). */
pel_node *pel_parse_expression(pel_ctx *ctx, const pel_source *source, pel_version version);
/* The same in the grammar of the newest version. */
static inline pel_node *pel_parse_newest_expression(pel_ctx *ctx, const pel_source *source) {
    return pel_parse_expression(ctx, source, PEL_VERSION_MAX);
}

/* The tree as JSON, as CPython's `ast` of that version has it (docs/ast-json.md). */
void pel_ast_json(pel_ctx *ctx, const pel_node *root, pel_version version, pel_buf *out);

#endif
