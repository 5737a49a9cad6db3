/* What the files of align share. */
#ifndef PEL_MODEL_ALIGN_INSIDE_H
#define PEL_MODEL_ALIGN_INSIDE_H

#include "model/align.h"

#define ALIGN_WORDS 24 /* of a name, that are looked at */

/* What a tensor is to its layer. */
typedef enum align_kind { ALIGN_WEIGHT, ALIGN_BIAS, ALIGN_MEAN, ALIGN_VARIANCE, ALIGN_COUNT, ALIGN_OTHER } align_kind;

/* What a layer is to its block, by its name: bits, since one may be several at once. */
enum {
    ROLE_Q = 1,
    ROLE_K = 2,
    ROLE_V = 4,
    ROLE_OUT = 8,
    ROLE_GATE = 16,
    ROLE_UP = 32,
    ROLE_DOWN = 64,
    ROLE_UNORDERED = 128, /* several at once, and the name does not say in which order */
};

typedef struct align_tensor { /* beside a pel_align_tensor */
    align_kind kind;
    uint32_t unit;
    uint8_t n;                    /* dimensions without those of size 1 */
    int64_t dims[PEL_ALIGN_DIMS]; /* of these */
    bool has_shape;
    uint64_t hash; /* of its bytes */
    bool has_hash, is_constant;
    bool is_tied; /* it is another tensor of its side, under a second name */
    pel_str bytes;
} align_tensor;

/* A layer: the tensors that belong together (weight and bias, statistics). */
typedef struct align_unit {
    pel_str path;
    uint32_t first, n; /* tensors of the side */
    uint64_t sums[5];  /* elements: matrices, vectors, biases, means, variances */
    uint64_t total;
    uint8_t role;
    pel_str holder;             /* the path of what holds the part that says the role */
    pel_name signature, turned; /* kinds and sizes of its tensors; the same with the sizes sorted */
    bool is_done;               /* nothing of it is left to be matched */
    bool is_flat;               /* vectors alone */
    bool is_parameter;          /* one tensor with a name of its own */
    pel_str block;              /* its path up to the first part with a number; empty: there is none */
    pel_str scope;              /* the numbers in its path, "3.1" */
    pel_str shape;              /* its path with "#" for numbers */
} align_unit;

typedef struct align_side {
    PEL_VEC(align_tensor) tensors;
    PEL_VEC(align_unit) units;
    const pel_network *network;
} align_side;

typedef PEL_VEC(uint32_t) align_list;

typedef struct align_run {
    pel_ctx *ctx;
    pel_alignment *out;
    align_side sides[2];
    pel_align_bytes *bytes;
    void *arg;
    pel_map scopes; /* interned numbers of A -> interned numbers of B, where all rows agree; else 0 */
} align_run;

/* ---- align_words.c ---- */
align_kind pel_align_kind(pel_str last, bool has_beta);
uint8_t pel_align_role(pel_str path, pel_str *holder);
/* The path with "#" for each number in it, and the numbers. */
pel_str pel_align_shape_of(pel_ctx *ctx, pel_str path, pel_str *numbers);
int pel_align_by_numbers(pel_str a, pel_str b);
/* The places of units of one shape in the order of a block; false where names do not say it. */
bool pel_align_ranks(pel_ctx *ctx, const align_side *side, const align_list *units, uint32_t *ranks);
/* 1: what comes first of its kind ("norm1", "before"), 2: what does not, 0: the name does not say. */
int pel_align_place(pel_str path);
/* The half of a block that a path is in: 1 attention, 2 attention to another sequence, 3 the rest; 0: it is not said.
 */
int pel_align_half(pel_str path);
/* Whether two paths have the same words after their last number. */
bool pel_align_same_words(pel_str a, pel_str b);

/* ---- align_units.c ---- */
void pel_align_collect(align_run *run, int which, const pel_network *network);
bool pel_align_same_dims(const align_tensor *a, const align_tensor *b);
/* The order in which a's dimensions are b's; 0: they are as they stand; -1: they do not fit. */
int pel_align_order_of(const pel_align_tensor *a, const pel_align_tensor *b, uint8_t *order);

/* ---- align_order.c ---- */
typedef struct align_segment {
    uint32_t a, na, b, nb; /* units */
} align_segment;
typedef PEL_VEC(align_segment) align_segments;
/* Cuts both lists of units where what came before has the same sizes. */
void pel_align_cut(align_run *run, const align_list *a, const align_list *b, align_segments *out);

/* ---- align_match.c ---- */
void pel_align_vote(align_run *run, uint32_t a, uint32_t b);
void pel_align_pair(align_run *run, uint32_t a, uint32_t b, pel_align_by by);
/* Layers of one stretch (is_local), or what is left of all. */
void pel_align_group(align_run *run, const align_list *a, const align_list *b, bool is_local);
/* Single tensors whose layers were not alike: a bias that the other side keeps elsewhere. */
void pel_align_rest(align_run *run);
void pel_align_leave_open(align_run *run);
pel_align_row *pel_align_add(align_run *run, uint32_t tensor, pel_align_by by);
void pel_align_add_copy(align_run *run, uint32_t a, uint32_t b, pel_align_by by);
bool pel_align_roles_fit(uint8_t a, uint8_t b);

pel_str pel_align_last(pel_str path); /* part of a path */
/* Whether their names alone make them a pair, if nothing else has these. */
bool pel_align_is_named(const align_unit *a, const align_unit *b);
/* By their roles, and by the words for first and last. */
bool pel_align_units_fit(const align_unit *a, const align_unit *b);

/* ---- align_parts.c ---- */
void pel_align_fused(align_run *run, const align_list *a, const align_list *b);
void pel_align_experts(align_run *run, const align_list *a, const align_list *b);

/* ---- align_values.c ---- */
void pel_align_read_values(align_run *run);
void pel_align_by_values(align_run *run);
/* Several tensors that are one, and the other way round, by their bytes. */
void pel_align_parts_by_values(align_run *run);
pel_align_values pel_align_check(align_run *run, const pel_align_row *row);
/* Rows against their bytes: squares that are turned, rows that were shapes alone and are not so. */
void pel_align_check_all(align_run *run);

/* ---- align_families.c ---- */
#define ALIGN_NUMBERS 32        /* in the names of a row, that a loop can count */
typedef struct align_numbered { /* a row with the numbers of all of its names, one after the other */
    const pel_align_row *row;
    uint32_t numbers[ALIGN_NUMBERS];
    uint32_t n;
    bool is_plain; /* no number begins with a zero or is too large, and there are not too many */
} align_numbered;
typedef struct align_family { /* rows that are alike but for numbers */
    PEL_VEC(align_numbered) rows;
    pel_name loop;                 /* the head of the loop over them in Python; NULL: each stands for itself */
    const char *of[ALIGN_NUMBERS]; /* the counter of each number; NULL: it is the same in all rows */
    bool is_written;
} align_family;
typedef PEL_VEC(align_family *) align_families;
align_families pel_align_families_of(pel_ctx *ctx, const pel_alignment *found);
/* Whether B's shape is another than what the pieces give as they are. */
bool pel_align_is_reshaped(const pel_alignment *found, const pel_align_row *row);

#endif
