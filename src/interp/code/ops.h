/* The instructions of the machine; ops.def has the list. */
#ifndef PEL_INTERP_OPS_H
#define PEL_INTERP_OPS_H

typedef enum pel_vm_op {
#define OP(name, effect, jump) PEL_I_##name,
#include "interp/code/ops.def"
#undef OP
    PEL_OP_COUNT_INTERP
} pel_vm_op;

#endif
