#ifndef PEL_LOAD_ONNX_OPS_H
#define PEL_LOAD_ONNX_OPS_H

#include "base/base.h"

typedef enum pel_onnx_op {
    PEL_OP_COMPUTES, /* with its inputs, and nothing else */
    PEL_OP_FOREIGN,  /* of a library that the runtime must have been given before the file is opened */
    PEL_OP_UNKNOWN,  /* a runtime may know it without being asked, and nobody knows what it does */
    PEL_OP_RUNS,     /* Python */
} pel_onnx_op;

pel_onnx_op pel_judge_onnx_op(pel_str domain, pel_str op);

#endif
