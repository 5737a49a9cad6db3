/* Which tensor of one network is which of another: by their values where both have some, by names, shapes and order
 * else. What these leave open is said to be open. */
#ifndef PEL_MODEL_ALIGN_H
#define PEL_MODEL_ALIGN_H

#include "base/map.h"
#include "model/model.h"

#define PEL_ALIGN_DIMS 8 /* tensors of more dimensions are matched by their names alone */

/* What shows that a row is right, the strongest first. */
typedef enum pel_align_by {
    PEL_BY_VALUES,     /* no other tensor has these bytes */
    PEL_BY_NAME,       /* the same name */
    PEL_BY_WORDS,      /* words that mean the same, numbers in the same order */
    PEL_BY_SHAPE,      /* no other tensor of this part of the network has the shape */
    PEL_BY_ORDER,      /* the shapes around it come in the same order */
    PEL_BY_ELIMINATION /* the only one of its shape that is left on either side */
} pel_align_by;

typedef enum pel_align_values {
    PEL_NOT_COMPARED, /* a side has none, or of another dtype */
    PEL_VALUES_EQUAL, /* bit by bit */
    PEL_VALUES_ALIKE, /* equal, but so are others: all ones, tied */
    PEL_VALUES_DIFFER,
} pel_align_values;

typedef struct pel_align_piece {
    uint32_t tensor;  /* of A */
    int64_t at;       /* of its first dimension; -1: all of it */
    int64_t from, to; /* rows of what is then its first dimension, after `order`; to 0: all */
} pel_align_piece;

/* One tensor of B. Its pieces are put one after the other along the first dimension, `joined` of them at a time;
 * the groups are stacked. */
typedef struct pel_align_row {
    uint32_t tensor; /* of B */
    PEL_VEC(pel_align_piece) pieces;
    uint32_t joined; /* 0: all */
    bool is_stacked;
    uint8_t order[PEL_ALIGN_DIMS]; /* of a piece's dimensions; n_order 0: as they are */
    uint8_t n_order;
    pel_align_by by;
    pel_align_values values;
} pel_align_row;

typedef struct pel_align_open { /* tensors that fit each other in more than one way */
    PEL_VEC(uint32_t) a, b;
    pel_str why;
} pel_align_open;

typedef struct pel_align_tensor {
    pel_str name;
    const pel_model_tensor *tensor;
    uint64_t count; /* elements; 0: not known */
    bool is_whole_number;
    bool is_used; /* by a row, or (B) made by one */
    bool is_open; /* in one of `open` */
} pel_align_tensor;

typedef struct pel_alignment {
    pel_str names[2]; /* of the files */
    PEL_VEC(pel_align_tensor) tensors[2];
    PEL_VEC(pel_align_row) rows; /* in the order of B */
    PEL_VEC(pel_align_open) open;
    bool has_values;  /* of both; false: nothing was compared */
    bool is_same;     /* most of the values of B are A's: the two have the same weights */
    uint32_t lost[2]; /* tensors that could not be read */
} pel_alignment;

/* The bytes of a tensor in the order of its indices; false if they can't be had. */
typedef bool pel_align_bytes(pel_ctx *ctx, void *arg, const pel_model_tensor *tensor, pel_str *bytes);

/* bytes: NULL, by names and shapes alone. */
void pel_network_align(pel_ctx *ctx, const pel_network *a, const pel_network *b, pel_align_bytes *bytes, void *arg,
                       pel_alignment *out);

/* Rows whose tensors are the same by their bytes; whether all that B needs has a row; what is left out of A. */
typedef struct pel_align_counts {
    uint32_t rows, equal, alike, differ, by_names, open, only_a, only_b;
} pel_align_counts;
pel_align_counts pel_alignment_count(const pel_alignment *found);

void pel_alignment_text(pel_ctx *ctx, const pel_alignment *found, pel_buf *out);
void pel_alignment_json(pel_ctx *ctx, const pel_alignment *found, pel_buf *out);
/* A Python module with `convert(state_dict)`. */
pel_str pel_alignment_python(pel_ctx *ctx, const pel_alignment *found);

/* Where the elements of a piece lie in its tensor, in the order in which the row has them. */
typedef struct pel_align_view {
    uint64_t start, count; /* elements */
    uint32_t n;
    int64_t sizes[PEL_ALIGN_DIMS], strides[PEL_ALIGN_DIMS];
    bool is_contiguous;
} pel_align_view;
/* False: the piece does not lie in a tensor of that shape. */
bool pel_align_view_of(const pel_align_row *row, const pel_align_piece *piece, const pel_shape *shape,
                       pel_align_view *out);

/* Makes of a network the one that a map (the JSON above) describes. Throws PEL_E_USAGE where the map does not fit. */
pel_network *pel_network_mapped(pel_ctx *ctx, const pel_networks *from, pel_str map, pel_align_bytes *bytes, void *arg);

#endif
