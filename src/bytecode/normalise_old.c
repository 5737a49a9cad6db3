#include "bytecode/normalise_internal.h"
void pel_norm_translate_old(pel_norm *n, const pel_insn *in) {
    pel_throw(n->ctx, PEL_E_UNSUPPORTED, in->offset, "instruction %s is not supported", pel_op_name(in->op));
}
void pel_norm_blocks(pel_norm *n) { (void)n; }
