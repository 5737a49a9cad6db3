/* The model tree: the second of the two hubs. The recorder, the interpreter and every file loader make
 * it; every view and every comparison reads it.
 *
 * A network is a tree of modules. A module has a class, the arguments it was made with, tensors of its own
 * and children. What is not known is said, never guessed: a size may be a symbol, a module may stand
 * under a condition or stand for `repeat` equal ones, and what could not be found out is a row of `unknown`. */
#ifndef PEL_MODEL_MODEL_H
#define PEL_MODEL_MODEL_H

#include "base/json.h"
#include "python/ast.h"

/* What is lost somewhere in a file, nobody knows under which name. */
#define PEL_SOMEWHERE "tensors"

/* A size: a number, or a symbol with the expression that names it. */
typedef struct pel_dim {
    int64_t size;
    pel_str symbol; /* empty: size counts */
} pel_dim;

typedef struct pel_shape {
    pel_dim *dims;
    uint32_t n;
    bool is_known; /* false: not even the rank */
} pel_shape;

typedef struct pel_place {
    pel_str file; /* source file, or member of an archive */
    uint32_t line;
    uint64_t offset, size; /* bytes in a model file; size 0 where it has no place there */
} pel_place;

typedef enum pel_tensor_role {
    PEL_PARAMETER,
    PEL_BUFFER,
    PEL_VOLATILE_BUFFER /* not in the state_dict */
} pel_tensor_role;

typedef struct pel_model_tensor {
    pel_str name;
    pel_str full; /* full name, where it is not the module's and this one: a graph's weights belong to operators */
    pel_tensor_role role;
    bool frozen; /* takes no gradient */
    pel_shape shape;
    pel_str dtype;     /* "float32"; empty: unknown */
    pel_str tied_to;   /* full name of the tensor that it shares its storage with */
    pel_str condition; /* exists only if this holds */
    pel_place place;
    const struct pel_stored *stored; /* its bytes, if a file has them; NULL else */
} pel_model_tensor;

/* Where the bytes of a tensor are. They belong to the file: nothing is copied until somebody asks. */
typedef struct pel_stored {
    pel_str bytes;               /* from the first element on; a view may have more bytes than elements */
    const struct pel_input *far; /* instead of bytes, where they are not in memory (io/source.h); NULL: they are */
    const int64_t *strides;      /* in elements; NULL: contiguous, C order */
    /* For bytes that are packed or scattered: gives them as they should be; NULL: bytes is it. */
    pel_str (*unpack)(pel_ctx *ctx, const struct pel_stored *stored);
    /* For those of many pieces, which need no copy: hands them to write one after the other; false if it stopped. */
    bool (*stream)(pel_ctx *ctx, const struct pel_stored *stored, pel_write *write, void *to);
    const void *arg; /* of unpack and stream */
} pel_stored;

typedef struct pel_model_argument {
    pel_str name;    /* empty: positional */
    pel_node *value; /* an expression */
} pel_model_argument;

typedef struct pel_module {
    pel_str name;  /* in its parent; empty for the root */
    pel_str class; /* "Conv2d", empty: unknown */
    PEL_VEC(pel_model_argument) args;
    PEL_VEC(pel_model_tensor) tensors;
    PEL_VEC(struct pel_module *) children;
    pel_dim repeat;      /* stands for so many equal ones in a row; 1 or a symbol */
    pel_str condition;   /* exists only if this holds */
    bool is_opaque;      /* what made it is not known: neither its tensors nor its children */
    pel_str shared_with; /* full name of the module that this one is */
    pel_shape output;    /* of the run or the abstract run */
    double flops;        /* multiply-adds of one call, its children's included; negative: unknown */
    pel_place origin;    /* of the class or the call */
    pel_str class_file;  /* where its class is defined; empty: not known */
} pel_module;

typedef struct pel_flow { /* the output of one module is the input of another */
    pel_str from, to;     /* full names; "input" and "output" for the network's own */
    pel_shape shape;
} pel_flow;

typedef struct pel_unknown {
    pel_str what, why;
    pel_place place;
    pel_place also; /* of shapes that disagree: where the other one comes from; line 0: none */
    pel_place made; /* and where the module was made that does not fit it; line 0: none */
    bool is_lost;   /* a tensor that the network has not, or only in parts: sums are not exact */
    bool in_parts;  /* lost as a whole, but all its parts are there */
} pel_unknown;

typedef struct pel_fact { /* something that the source leaves open, and what says how it is */
    pel_str what, value, from;
} pel_fact;
typedef PEL_VEC(pel_fact) pel_facts;

typedef struct pel_file_value { /* what a file holds beside its tensors: epoch, learning rate, configuration */
    pel_str name, value;        /* full name; the value as Python would write it, shortened */
} pel_file_value;

typedef struct pel_network {
    pel_str name;   /* the variable that it is bound to, or the file's name */
    pel_str format; /* of a file: "safetensors"; empty else */
    char separator; /* between the parts of full names: '.', in files of TensorFlow and Keras '/' */
    pel_module *root;
    PEL_VEC(pel_flow) flow;
    PEL_VEC(pel_unknown) unknown;
    PEL_VEC(pel_unknown) premises; /* what was taken for given: the machine has no such environment variable */
    PEL_VEC(pel_unknown) errors;   /* what can't work: shapes that disagree */
    pel_facts facts;               /* from a file that was given with the source */
    /* The file does not say which of its tensors are parameters: those with that role are tensors of either kind. */
    bool roles_unknown;
    PEL_VEC(pel_file_value) values;
    uint64_t values_left_out; /* beyond a limit */
    bool is_class;            /* of a source: nothing builds it there; its parameters are symbols or have defaults */
    uint32_t n_open;          /* of such a class: arguments that nobody gave */
    PEL_VEC(pel_str) reads;   /* data files that the source read before it was built */
    pel_str source;           /* a program that builds it, where one was asked for and could be written */
} pel_network;

typedef struct pel_networks {
    pel_network **at;
    uint32_t n, cap;
} pel_networks;

/* ---- making ---- */

pel_network *pel_network_new(pel_ctx *ctx, pel_str name);
pel_module *pel_module_new(pel_ctx *ctx, pel_str name, pel_str class);
pel_shape pel_shape_of(pel_ctx *ctx, const int64_t *sizes, uint32_t n);

/* Keeps the tensors whose full names fit a pattern of *, ? and [a-z], and the modules that have some. */
void pel_network_filter(pel_ctx *ctx, pel_network *network, pel_str pattern);
/* Of a network whose file does not say what is a parameter: what is known to be a buffer by what is beside it. */
void pel_network_settle_roles(pel_ctx *ctx, pel_network *network);
/* Whether a name fits such a pattern. */
bool pel_fits(pel_str name, pel_str pattern);

/* ---- reading ---- */

pel_str pel_full_name(pel_ctx *ctx, const pel_network *network, pel_str path, pel_str name);
/* Of a tensor of the module at path. */
pel_str pel_tensor_name(pel_ctx *ctx, const pel_network *network, pel_str path, const pel_model_tensor *tensor);

/* Calls visit for every module, parents first. path: full name; the root's is empty. */
typedef void pel_visit_module(void *arg, const pel_module *module, pel_str path);
void pel_each_module(pel_ctx *ctx, const pel_network *network, pel_visit_module *visit, void *arg);

/* The same, but a module that is another one is visited as that one, with all below it, under its own full name: in
 * this order a state_dict lists the tensors. */
void pel_each_state_module(pel_ctx *ctx, const pel_network *network, pel_visit_module *visit, void *arg);

typedef struct pel_totals {
    uint64_t modules, parameters, trainable, buffers, bytes; /* elements; tied tensors count once */
    uint64_t n_parameters, n_buffers;                        /* tensors */
    double flops;
    bool exact; /* false: a symbol or an unknown shape is not in the sums */
} pel_totals;
pel_totals pel_network_totals(pel_ctx *ctx, const pel_network *network);

/* Elements of a shape; false if a size is a symbol, unknown, or the product overflows. */
bool pel_shape_count(const pel_shape *shape, uint64_t *count);
uint32_t pel_dtype_size(pel_str dtype); /* bytes; 0: unknown */

/* Whether two modules look the same to a reader: everything but their names and places. */
bool pel_module_alike(const pel_module *a, const pel_module *b);

/* ---- comparing ---- */

typedef enum pel_difference_kind { PEL_ONLY_A, PEL_ONLY_B, PEL_OTHER_SHAPE, PEL_OTHER_DTYPE } pel_difference_kind;

typedef struct pel_difference {
    pel_difference_kind kind;
    pel_str name;
    const pel_model_tensor *a, *b; /* NULL where there is none */
} pel_difference;

typedef struct pel_comparison {
    PEL_VEC(pel_difference) differences;
    uint32_t equal;
    pel_str prefix_a, prefix_b; /* taken off the names of one side, where that makes them the other's */
    uint32_t apart_a, apart_b;  /* tensors without that prefix: passed over */
    uint32_t lost_a, lost_b;    /* what could not be read of each: what is equal may not be all */
    uint32_t
        open; /* of those that are equal: a size is a symbol; and what is not known of the model that a source makes */
} pel_comparison;

void pel_network_compare(pel_ctx *ctx, const pel_network *first, const pel_network *second, bool ignore_dtype,
                         pel_comparison *out);
struct pel_load_verdict;
void pel_comparison_text(const pel_comparison *found, pel_str a, pel_str b, pel_buf *out);
/* verdict: NULL where neither side is a model. */
void pel_comparison_json(pel_ctx *ctx, const pel_comparison *found, pel_str a, pel_str b,
                         const struct pel_load_verdict *verdict, pel_buf *out);

/* ---- load_verdict.c ---- */

typedef struct pel_load_verdict {
    const pel_comparison *found;
    const pel_network *model, *checkpoint;
    bool is_swapped; /* b is the model, a the checkpoint */
    pel_str file;    /* of the checkpoint */
} pel_load_verdict;
/* What load_state_dict(strict=True) would say, which renames would help, and the line that loads the file. */
void pel_load_verdict_text(pel_ctx *ctx, const pel_load_verdict *verdict, pel_buf *out);
/* The same as an object. */
void pel_load_verdict_json(pel_ctx *ctx, const pel_load_verdict *verdict, pel_json *json);

/* What a network from source leaves open (sizes, counts, conditions), as another one has it. Facts that are already
 * there stay. */
void pel_network_resolve(pel_ctx *ctx, const pel_network *open, const pel_network *known, pel_facts *facts);

/* ---- JSON: docs/model-json.md ---- */
#define PEL_NETWORKS_SCHEMA 2 /* a field that goes, or means something else, gives the next number */
/* {"schema": 2, "networks": [...]} */
void pel_networks_json(pel_ctx *ctx, const pel_networks *networks, pel_buf *out);
/* Throws PEL_E_FORMAT with the offset. */
pel_networks pel_networks_read(pel_ctx *ctx, pel_str text);

#endif
