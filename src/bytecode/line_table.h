/* Writing line tables: the other direction of what decode.c reads. */
#ifndef PEL_BYTECODE_LINE_TABLE_H
#define PEL_BYTECODE_LINE_TABLE_H

#include "base/buf.h"
#include "bytecode/code.h"

/* From this byte of the code on, up to the next row's, instructions belong to this line; 0: to none. */
typedef struct pel_line_row {
    uint32_t offset, line;
} pel_line_row;

/* Appends a co_linetable for Python 3.10 and later. Rows are sorted by offset; what is before the first has no
 * line. The table covers code_size bytes, caches included. Throws PEL_E_USAGE for rows that don't fit. */
void pel_put_line_table(pel_buf *out, pel_version version, uint32_t firstlineno, uint32_t code_size,
                        const pel_line_row *rows, uint32_t n);

#endif
