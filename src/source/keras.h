/* A model of Keras: its config (keras.c), its layers as torch has them (keras_layers.c, keras_pictures.c,
 * keras_sequences.c), its weights in torch's order (keras_weights.c).
 *
 * A value keeps the sizes that Keras gives it, channels last; is_first says that the tensor here has its channels
 * first, as torch's convolutions want. Layers that don't mind take either. */
#ifndef PEL_SOURCE_KERAS_H
#define PEL_SOURCE_KERAS_H

#include "source/export.h"

typedef const pel_json_value pel_json_node;

#define PEL_KERAS_DIMS 8

typedef struct pel_keras_value {
    pel_name name;
    uint32_t n;                    /* dimensions, the batch among them */
    int64_t sizes[PEL_KERAS_DIMS]; /* -1: not known */
    bool is_first, is_whole;       /* channels first; whole numbers */
    double number;                 /* where it has no name: a number that an operation is called with */
    pel_name other;                /* the same in the other order, once somebody wanted it */
} pel_keras_value;

typedef PEL_VEC(pel_keras_value *) pel_keras_values;

typedef struct pel_keras {
    pel_recovery *r;
    pel_ctx *ctx;
    pel_export e;
    pel_step step;   /* the modules that steps belong to */
    pel_map tensors; /* "dense/kernel" -> pel_model_tensor */
    pel_map paths;   /* path in the file -> its path here */
    pel_map taken;   /* paths and names of tensors here -> 1 */
    pel_map calls;   /* path here -> how often it was called */
    pel_map helpers; /* functions that were written -> 1 */
    uint32_t n_values, n_weights;
    int depth;
    int major; /* version of Keras; 0: not known */
    /* the layer that is being written */
    pel_json_node *layer, *config;
    pel_str class, path, here; /* its path in the file, and here */
    pel_keras_values in;
} pel_keras;

/* ---- keras.c ---- */
_Noreturn void pel_keras_refuse(pel_keras *k, const char *why);
/* One model or layer: what it gives for these inputs. */
pel_keras_value *pel_keras_call(pel_keras *k, pel_json_node *layer, pel_str path, pel_keras_values in);
pel_node *pel_keras_text(pel_keras *k, const char *text, pel_node *first, pel_node *second, pel_node *third);
pel_node *pel_keras_read(pel_keras *k, const pel_keras_value *value);
/* A step of the model that the layer is in; of the layer's own module; of one below it. */
pel_keras_value *pel_keras_bind(pel_keras *k, const pel_keras_value *like, pel_node *value);
pel_keras_value *pel_keras_bind_in(pel_keras *k, const pel_keras_value *like, pel_node *value, const char *below);
pel_keras_value *pel_keras_first(pel_keras *k, pel_keras_value *value); /* with its channels first */
pel_keras_value *pel_keras_last(pel_keras *k, pel_keras_value *value);

/* of the layer's config */
int64_t pel_keras_int(pel_keras *k, const char *name, int64_t otherwise);
double pel_keras_real(pel_keras *k, const char *name, double otherwise);
bool pel_keras_flag(pel_keras *k, const char *name, bool otherwise);
pel_str pel_keras_word(pel_keras *k, const char *name, const char *otherwise);
/* A number for each of n dimensions, or one for all. */
void pel_keras_sizes(pel_keras *k, const char *name, int64_t otherwise, int64_t *out, uint32_t n);
pel_json_node *pel_keras_given(pel_keras *k, const char *name); /* NULL: null, or not there */
pel_node *pel_keras_ints(pel_keras *k, const int64_t *numbers, uint32_t n);
pel_node *pel_keras_number(pel_keras *k, double value);

/* ---- keras_weights.c ---- */
void pel_keras_find_tensors(pel_keras *k);
const pel_model_tensor *pel_keras_tensor(pel_keras *k, const char *name); /* of the layer; refused if there is none */
bool pel_keras_has(pel_keras *k, const char *name);
/* How a tensor of the file becomes one of torch: its elements by strides, in rows that may be exchanged. */
typedef struct pel_keras_order {
    uint32_t n;
    int64_t sizes[PEL_KERAS_DIMS], strides[PEL_KERAS_DIMS]; /* in elements of the file's */
    int64_t start;
    int64_t unit;     /* rows of the first dimension that stay together; 0: all */
    int64_t order[4]; /* of these groups: where each is in the file */
} pel_keras_order;
/* A tensor of the module `below` the layer; the expression that names it in steps. */
pel_node *pel_keras_weight(pel_keras *k, const char *below, const char *name, const pel_model_tensor *tensor,
                           const pel_keras_order *order);
/* The same without a change; with every element one number, if the file has none; batches that were counted. */
pel_node *pel_keras_plain(pel_keras *k, const char *name, const char *of);
pel_node *pel_keras_filled(pel_keras *k, const char *below, const char *name, int64_t size, float value);
void pel_keras_counter(pel_keras *k);
pel_keras_order pel_keras_turned(const pel_model_tensor *tensor, int64_t rows, int64_t columns);

/* ---- the layers: the value of the one that is being written ---- */
typedef pel_keras_value *pel_keras_form(pel_keras *k);
pel_keras_form *pel_keras_form_of(pel_str class); /* NULL: not known */
pel_keras_value *pel_keras_activate(pel_keras *k, pel_keras_value *value, pel_json_node *how);
pel_keras_value *pel_keras_dense(pel_keras *k);
pel_keras_value *pel_keras_conv(pel_keras *k);
pel_keras_value *pel_keras_depthwise(pel_keras *k);
pel_keras_value *pel_keras_separable(pel_keras *k);
pel_keras_value *pel_keras_conv_transpose(pel_keras *k);
pel_keras_value *pel_keras_pool(pel_keras *k);
pel_keras_value *pel_keras_global_pool(pel_keras *k);
pel_keras_value *pel_keras_pad(pel_keras *k);
pel_keras_value *pel_keras_upsample(pel_keras *k);
pel_keras_value *pel_keras_batch_norm(pel_keras *k);
pel_keras_value *pel_keras_recurrent(pel_keras *k);
pel_keras_value *pel_keras_bidirectional(pel_keras *k);
pel_keras_value *pel_keras_attention(pel_keras *k);

#endif
