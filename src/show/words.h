/* How the views write what they all show. */
#ifndef PEL_SHOW_WORDS_H
#define PEL_SHOW_WORDS_H

#include "model/model.h"
#include "show/show.h"

#define PEL_SHOW_MAX_DEPTH 500

/* Colours of terminals. */
#define PEL_BOLD "\033[1m"
#define PEL_DIM "\033[90m"
#define PEL_TEAL "\033[36m"
#define PEL_PLAIN "\033[0m"

void pel_put_grouped(pel_buf *out, uint64_t value);                           /* 86,567,656 */
void pel_put_human(pel_buf *out, double value);                               /* 1.81 G */
void pel_put_shape(pel_buf *out, const pel_shape *shape);                     /* 1×3×224×224 */
void pel_put_arguments(pel_ctx *ctx, const pel_module *module, pel_buf *out); /* (3, 64, kernel_size=7) */
/* "layers.0 … layers.11 ×12: Block"; run: how many equal modules, the last of which is `last`. */
void pel_put_label(pel_buf *out, const pel_module *module, const pel_module *last, uint32_t run);
/* 12.4 MB */
void pel_put_bytes(pel_buf *out, uint64_t bytes);
/* "11,689,512 parameters; 9,620 in buffers", or tensors where the file does not say which they are. */
void pel_put_totals(pel_buf *out, const pel_network *network, const pel_totals *totals);
/* How many children from number `first` on are to be shown as one. */
uint32_t pel_run_of(const pel_module *module, uint32_t first, const pel_tree_options *options);

#endif
