/* What the files of the public functions share. */
#ifndef PEL_API_INTERNAL_H
#define PEL_API_INTERNAL_H

#include "load/load.h"

/* A model file, or the trace of a run, which has a model tree as well. */
void pel_load_any(pel_ctx *ctx, const pel_model_file *file, pel_loaded *out);

/* text: what the offset counts in, for line and column; empty: it has no lines. */
void pel_give_error(const pel_err *err, pel_str text, pel_error *error);

#endif
