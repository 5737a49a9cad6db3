/* What the files of the public functions share. */
#ifndef PEL_API_INTERNAL_H
#define PEL_API_INTERNAL_H

#include "load/load.h"

/* A model file, or the trace of a run, which has a model tree as well. */
void pel_load_any(pel_ctx *ctx, const pel_model_file *file, pel_loaded *out);

#endif
