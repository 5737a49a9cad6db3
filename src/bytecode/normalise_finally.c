#include "bytecode/normalise_internal.h"
void pel_norm_finally(pel_ctx *ctx, pel_canon *canon) { (void)ctx; (void)canon; }
