/* Which instructions each printed line came from. */
#ifndef PEL_DECOMPILE_LINE_MAP_H
#define PEL_DECOMPILE_LINE_MAP_H

#include "base/json.h"
#include "bytecode/decode.h"
#include "decompile/decompile.h"

typedef struct pel_mapped_code {
    const pel_code_object *code;
    const pel_insns *insns;
    uint32_t *line_of;                                 /* by instruction; 0: nothing of this code was printed */
    const struct pel_printed_statement **statement_of; /* by instruction; NULL: no node names it */
} pel_mapped_code;

/* The code objects in the order of a walk over constants: the root, then each code object among its constants and
 * all that is in it. Whoever has the code object in another form numbers it the same way. */
typedef struct pel_line_map {
    PEL_VEC(pel_mapped_code) codes;
} pel_line_map;

/* The tree must carry the positions that it was printed with (pel_print_options.set_positions). */
pel_line_map *pel_map_lines(pel_ctx *ctx, const pel_decompiled *decompiled, const pel_code_object *root);

/* "codes": [{"name", "firstlineno"}], "lines": [[line, code, [offsets]]], sorted by line. */
void pel_line_map_json(pel_ctx *ctx, const pel_line_map *map, pel_json *json);

#endif
