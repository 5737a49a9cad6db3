/* What those who read an ONNX file for more than its tree need of its loader. */
#ifndef PEL_LOAD_FORMATS_ONNX_H
#define PEL_LOAD_FORMATS_ONNX_H

#include "io/protobuf.h"
#include "load/load.h"

/* "float32", of the number that the schema has for it. */
pel_str pel_onnx_dtype(pel_ctx *ctx, uint64_t number);
/* A TensorProto with its bytes, wherever they lie; no role. out: where files beside it are found. */
pel_model_tensor pel_onnx_tensor(pel_ctx *ctx, pel_loaded *out, pel_proto message, pel_str *name);

#endif
