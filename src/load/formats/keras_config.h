#ifndef PEL_LOAD_KERAS_CONFIG_H
#define PEL_LOAD_KERAS_CONFIG_H

#include "base/json_read.h"
#include "load/load.h"

/* What Keras would import, run or read to make a model from a config, at any depth of it. */
void pel_judge_keras(pel_ctx *ctx, pel_loaded *out, pel_str member, const pel_json_value *config);

/* Edges between the layers of one model: models inside of it are layers there, and have edges of their own. */
void pel_keras_flow(pel_ctx *ctx, pel_network *network, const pel_json_value *model, pel_str path);

#endif
