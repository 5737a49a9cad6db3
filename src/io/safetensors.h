/* safetensors: a JSON header of names, dtypes, shapes and offsets, then the bytes. */
#ifndef PEL_IO_SAFETENSORS_H
#define PEL_IO_SAFETENSORS_H

#include "io/finding.h"
#include "io/source.h"

typedef struct pel_safetensor {
    pel_str name, dtype; /* dtype as the file says: "F32" */
    int64_t *shape;
    uint32_t n_dims;
    uint64_t offset, size; /* in the file */
} pel_safetensor;

typedef struct pel_safetensors {
    PEL_VEC(pel_safetensor) tensors; /* in the order of the header */
    PEL_VEC(pel_str) metadata;       /* key, value, key, value */
} pel_safetensors;

bool pel_is_safetensors(pel_ctx *ctx, const pel_input *input);
/* The whole table is checked before a row is believed: no overlap, no hole, sizes that fit dtype and shape. */
pel_safetensors *pel_safetensors_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings);

#endif
