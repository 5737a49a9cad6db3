/* GGUF: metadata as typed pairs, a table of tensors, then their bytes. */
#ifndef PEL_IO_GGUF_H
#define PEL_IO_GGUF_H

#include "io/finding.h"
#include "io/source.h"

typedef enum pel_gguf_kind {
    PEL_GGUF_NUMBER,
    PEL_GGUF_REAL,
    PEL_GGUF_BOOL,
    PEL_GGUF_TEXT,
    PEL_GGUF_ARRAY
} pel_gguf_kind;

typedef struct pel_gguf_pair {
    pel_str key;
    pel_gguf_kind kind;
    int64_t number; /* BOOL too; ARRAY: how many elements */
    double real;
    pel_str text;     /* ARRAY: of few texts, all of them */
    uint64_t text_at; /* offset in the file */
} pel_gguf_pair;

typedef struct pel_gguf_tensor {
    pel_str name;
    int64_t dims[4]; /* as torch has them: the last is the fastest; the file has it first */
    uint32_t n_dims;
    pel_str dtype;         /* "float32", or the name of a quantised form: "q4_k" */
    uint64_t offset, size; /* in the file; size 0: unknown form */
} pel_gguf_tensor;

typedef struct pel_gguf {
    PEL_VEC(pel_gguf_pair) pairs;
    PEL_VEC(pel_gguf_tensor) tensors;
    bool is_big; /* the tensors' numbers begin with the high byte */
} pel_gguf;

bool pel_is_gguf(pel_str bytes);
pel_gguf *pel_gguf_read(pel_ctx *ctx, const pel_input *input, pel_findings *findings);

#endif
