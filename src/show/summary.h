/* What a folder of sources builds, in one view. */
#ifndef PEL_SHOW_SUMMARY_H
#define PEL_SHOW_SUMMARY_H

#include "model/model.h"

/* The rows of one source, for pel_show_summary: text that processes can hand over. */
void pel_summary_rows(pel_ctx *ctx, const pel_networks *networks, pel_str path, pel_buf *out);
/* The rows of all sources, one after the other, as text or as an object of JSON. */
void pel_show_summary(pel_ctx *ctx, pel_str rows, bool as_json, pel_buf *out);

#endif
