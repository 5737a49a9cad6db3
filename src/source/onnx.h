/* A graph of ONNX, between its messages (onnx_read.c) and the steps that export_calls.c cuts into methods.
 *
 * onnx.c writes operators by the rows of onnx.def, onnx_ops.c those that need more than a row, onnx_sizes.c computes
 * with sizes, and onnx_weights.c says which module has which tensor. */
#ifndef PEL_SOURCE_ONNX_H
#define PEL_SOURCE_ONNX_H

#include "load/formats/onnx.h"
#include "source/export.h"

typedef struct pel_onnx_attribute {
    pel_str name;
    pel_node *value;                /* a constant, or a list of them; NULL: it is another */
    const pel_model_tensor *tensor; /* or a tensor */
} pel_onnx_attribute;

typedef struct pel_onnx_value {
    pel_name name;                   /* in steps; NULL: no step makes it */
    pel_str label;                   /* in the file */
    pel_str dtype;                   /* empty: not known */
    int rank;                        /* -1: not known */
    const pel_shape *shape;          /* that the file says; NULL: none */
    const pel_model_tensor *tensor;  /* an initializer, or a constant; NULL: it is none */
    bool is_known, is_list;          /* numbers: one, or a row of them */
    pel_nodes numbers;               /* constants, and expressions of sizes */
    struct pel_onnx_value *sizes_of; /* the sizes of this one, whose rank is not known */
    uint32_t n_uses;
    struct pel_onnx_node *user; /* the last one */
} pel_onnx_value;

typedef struct pel_onnx_node {
    pel_str name, op, domain;
    pel_str scopes, classes; /* metadata of torch's exporter: lists, as Python writes them */
    uint64_t at;
    PEL_VEC(pel_str) in;
    PEL_VEC(pel_str) out;
    PEL_VEC(pel_onnx_attribute) attributes;
    bool is_done; /* written with another one */
} pel_onnx_node;

typedef struct pel_onnx {
    pel_recovery *r;
    pel_ctx *ctx;
    pel_export e;
    pel_map values; /* interned label -> pel_onnx_value */
    pel_map taken;  /* full names of tensors, and names of inputs -> 1 */
    pel_map copies; /* "label\nfull name" -> pel_name of the value that it is in steps */
    int64_t opset;
    PEL_VEC(pel_onnx_node *) nodes;
    PEL_VEC(pel_onnx_value *) inputs;
    PEL_VEC(pel_str) outputs;
    pel_onnx_node *now;
    pel_step step; /* that is being made: its stack */
    uint32_t n_values;
    bool is_folding; /* sizes are computed where they can be */
} pel_onnx;

/* ---- onnx_read.c ---- */
/* Nodes, inputs, outputs, initializers and what the file says of values. */
void pel_onnx_read(pel_onnx *o, pel_str bytes);
pel_onnx_value *pel_onnx_value_of(pel_onnx *o, pel_str label); /* made if there is none */
_Noreturn void pel_onnx_refuse(pel_onnx *o, const char *why);

/* ---- onnx.c ---- */
/* The value of an input; NULL: it was left out. */
pel_onnx_value *pel_onnx_in(pel_onnx *o, uint32_t index);
/* The same in a text: a tensor, or with 's' also a number. */
pel_node *pel_onnx_arg(pel_onnx *o, uint32_t index, char how);
const pel_onnx_attribute *pel_onnx_attribute_of(pel_onnx *o, const char *name);
int64_t pel_onnx_int(pel_onnx *o, const char *name, int64_t otherwise);
double pel_onnx_real(pel_onnx *o, const char *name, double otherwise);
pel_str pel_onnx_text(pel_onnx *o, const char *name, const char *otherwise);
/* A row's text with arguments in it: "aten.add.Tensor(_0, _1)". Arguments that are NULL are left out. */
pel_node *pel_onnx_write(pel_onnx *o, const char *text, pel_node *first, pel_node *second, pel_node *third);
pel_node *pel_onnx_ints(pel_onnx *o, const int64_t *numbers, uint32_t n); /* a list */
pel_node *pel_onnx_number(pel_onnx *o, double value);
/* Sums of narrow whole numbers are int64 in torch, and ranges of none but whole numbers float32: the call says which
 * dtype it is. */
void pel_onnx_keep_dtype(pel_onnx *o, pel_node *call);
/* A step of its own, whose result others may read more than once. */
pel_node *pel_onnx_bind(pel_onnx *o, pel_node *value);

/* ---- onnx_ops.c: the operator that is being written, by the form of that name; NULL: there is no such form ---- */
typedef pel_node *pel_onnx_form(pel_onnx *o);
pel_onnx_form *pel_onnx_form_of(const char *name);

/* ---- onnx_pictures.c: forms of convolutions, pools and the like ---- */
pel_node *pel_onnx_conv(pel_onnx *o);
pel_node *pel_onnx_conv_transpose(pel_onnx *o);
pel_node *pel_onnx_max_pool(pel_onnx *o);
pel_node *pel_onnx_average_pool(pel_onnx *o);
pel_node *pel_onnx_global_pool(pel_onnx *o);
pel_node *pel_onnx_batch_norm(pel_onnx *o);
pel_node *pel_onnx_pad(pel_onnx *o);
pel_node *pel_onnx_resize(pel_onnx *o);
pel_node *pel_onnx_depth_to_space(pel_onnx *o);
pel_node *pel_onnx_space_to_depth(pel_onnx *o);

/* ---- onnx_sizes.c ---- */
/* Whether the node that is being written only computes with sizes: its result is known then, and no step is made. */
bool pel_onnx_fold(pel_onnx *o);
/* Whether the numbers of a value can be had; a constant's are read. */
bool pel_onnx_numbers(pel_onnx *o, pel_onnx_value *value);
/* The same, whole numbers that are constants alone; false: it has others. At most 64. */
bool pel_onnx_whole(pel_onnx *o, pel_onnx_value *value, int64_t *out, uint32_t *n);
pel_node *pel_onnx_known(pel_onnx *o, const pel_onnx_value *value, bool as_tensor);

/* ---- onnx_weights.c ---- */
/* The modules that the node belongs to, into the step that is being made. */
void pel_onnx_stack(pel_onnx *o);
pel_str pel_onnx_scope(const pel_onnx *o); /* the innermost of them */
/* A constant of the file as a tensor of a module; role: what its operator calls it. is_turned: with both sizes
 * exchanged, as torch has the weights of nn.Linear. */
pel_node *pel_onnx_weight(pel_onnx *o, const pel_onnx_value *value, const char *role, bool is_turned);
/* Whether the file has it under the name that a state dict would have. */
bool pel_onnx_is_named(pel_str label);
/* A tensor that torch wants beside the file's: of a BatchNorm, the number of batches. */
void pel_onnx_counter(pel_onnx *o, pel_str path);

#endif
