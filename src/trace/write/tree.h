/* The model tree that the views read, of the modules that a log has. */
#ifndef PEL_TRACE_WRITE_TREE_H
#define PEL_TRACE_WRITE_TREE_H

#include "model/model.h"
#include "trace/program.h"

/* The model tree of the log's root module. */
pel_network *pel_log_tree(pel_ctx *ctx, const pel_log *log);

#endif
