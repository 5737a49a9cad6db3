#ifndef PEL_LOAD_TENSORFLOW_OPS_H
#define PEL_LOAD_TENSORFLOW_OPS_H

#include "io/protobuf.h"
#include "load/load.h"

/* Whether an operator of TensorFlow is known to reach nothing but its inputs, variables and functions. */
bool pel_is_computing_op(pel_str op);
/* Judges the operators of a GraphDef and of its functions. */
void pel_audit_graphdef(pel_ctx *ctx, pel_loaded *out, pel_proto graph);
/* Protocol buffers as text: graphs of TensorFlow, networks of Caffe. They are not read, only what stands under the keys
 * that name code. Throws PEL_E_UNSUPPORTED. */
_Noreturn void pel_load_graph_text(pel_ctx *ctx, pel_loaded *out, pel_str text);

#endif
