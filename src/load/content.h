/* The bytes of tensors, out of the files that have them. */
#ifndef PEL_LOAD_CONTENT_H
#define PEL_LOAD_CONTENT_H

#include "load/load.h"

typedef struct pel_writer {
    pel_write *write;
    void *arg;
} pel_writer;

/* One tensor as a .npy file. Throws PEL_E_USAGE if there is no tensor of that full name, PEL_E_UNSUPPORTED if its
 * bytes can't be had. */
void pel_write_npy(pel_ctx *ctx, const pel_loaded *loaded, pel_str name, const pel_writer *writer);
/* The dtype that .npy files write so; what has none stays as it is. */
pel_str pel_npy_dtype(pel_str type);
/* All tensors as a safetensors file; with a prefix only those below it, without it. Returns how many were left out
 * because no state dict has them; with_constants writes these, too. */
size_t pel_write_safetensors(pel_ctx *ctx, const pel_loaded *loaded, pel_str prefix, bool with_constants,
                             const pel_writer *writer);
/* The bytes of one tensor in the order of its indices (a pel_align_bytes). most: a uint64_t, how many may be gathered
 * or fetched for it; false if it would take more, or they can't be had. */
bool pel_tensor_bytes(pel_ctx *ctx, void *most, const pel_model_tensor *tensor, pel_str *bytes);

#endif
