/* What programs of torch may call: TorchScript's source and torch.export's graphs. */
#ifndef PEL_LOAD_TORCH_OPS_H
#define PEL_LOAD_TORCH_OPS_H

#include "io/finding.h"
#include "python/parse.h"

/* How bad it is to call an operator, "aten::relu"; a note: it is known to compute and nothing else. */
pel_severity pel_judge_torch_op(pel_str name);
/* Of a graph: "torch.ops.aten.relu.default", "_operator.add". torch.export looks the name up, attribute by attribute,
 * and calls what it finds. */
pel_severity pel_judge_torch_target(pel_ctx *ctx, pel_str target);
/* A size as sympy writes it, "2*s0 + Mod(s1, 8)". torch.export evaluates it. */
bool pel_is_torch_size(pel_str text);

/* Source of TorchScript: every operator that it names, called or not, every call of something else. */
void pel_judge_script(pel_ctx *ctx, pel_node *tree, pel_str member, uint64_t at, pel_findings *findings);

#endif
