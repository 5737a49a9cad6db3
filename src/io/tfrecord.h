/* Two containers of TensorFlow: records with checksums (event files), and the sorted table of a checkpoint's index. */
#ifndef PEL_IO_TFRECORD_H
#define PEL_IO_TFRECORD_H

#include "io/finding.h"

/* Whether the first record's length has the right checksum. */
bool pel_is_tfrecord(pel_str bytes);
/* The record at *at, which moves after it; false at the end. A record that is cut off ends a file that is still
 * being written: a finding. */
bool pel_tfrecord_next(pel_ctx *ctx, pel_str bytes, uint64_t *at, pel_str *record, pel_findings *findings);

typedef struct pel_table_row {
    pel_str key, value;
} pel_table_row;

typedef struct pel_table {
    PEL_VEC(pel_table_row) rows; /* by key */
} pel_table;

/* Throws PEL_E_FORMAT, or PEL_E_UNSUPPORTED if its blocks are packed. */
pel_table *pel_table_read(pel_ctx *ctx, pel_str bytes);

#endif
