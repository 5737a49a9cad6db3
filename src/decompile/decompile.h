/* Bytecode -> Python AST: the passes in their order, for a code object and all that it holds. */
#ifndef PEL_DECOMPILE_DECOMPILE_H
#define PEL_DECOMPILE_DECOMPILE_H

#include "base/map.h"
#include "bytecode/code.h"
#include "python/ast.h"
#include "python/print.h"

/* A code object that could not be given a structure. Its place in the tree says so in a comment that begins with
 * PEL_INCOMPLETE, and shows its instructions. */
typedef struct pel_incomplete {
    const pel_code_object *code;
    pel_err why;
} pel_incomplete;

#define PEL_INCOMPLETE "pellucid: incomplete"

/* An annotation that is computed when it is asked for, as its function says. */
typedef struct pel_late_note {
    int64_t index; /* the statement adds this number; -1: none does */
    pel_name name;
    pel_node *value;
    bool written;
} pel_late_note;
typedef PEL_VEC(pel_late_note) pel_late_notes;

/* A function whose annotations are written when everything has been checked. */
typedef struct pel_late {
    struct pel_lift *l;
    pel_node *def;
    const pel_late_notes *notes;
} pel_late;

typedef struct pel_decompiled {
    pel_node *tree; /* a Module; of a function, one that holds its def */
    /* Marks of nodes (offset + 1) count in the code of the innermost node around them that is a key here:
     * PEL_KEY(node) -> pel_code_object *. Module, FunctionDef, Lambda, ClassDef, comprehensions. */
    pel_map code_of;
    PEL_VEC(pel_incomplete) incomplete;
    PEL_VEC(pel_late) late;
    bool as_states; /* every function that can be, is written as states: for the tests of that reader */
} pel_decompiled;

/* Never throws for want of structure; throws PEL_E_FORMAT and others where the bytecode itself is broken. */
pel_decompiled *pel_decompile(pel_ctx *ctx, const pel_code_object *code);

/* What one pass makes of every code object, as text: pel_passes names them. Throws PEL_E_USAGE for another name. */
void pel_decompile_dump(pel_ctx *ctx, const pel_code_object *code, pel_str pass, const pel_print_options *print,
                        pel_buf *out);
extern const char *const pel_passes[]; /* ends with NULL */

#endif
