/* Weights of Keras in torch's order: kernels have their outputs last there. Nothing is copied until they are written:
 * a kernel is a view with other strides, or rows of it that are exchanged. */
#include "source/keras.h"

#include "io/bytes.h"

#define MOST_FILLED ((int64_t)1 << 24)

static uint64_t key_of(pel_keras *k, pel_str text) { return PEL_KEY(pel_intern_str(k->ctx, text)); }

static void add_tensors(void *arg, const pel_module *module, pel_str path) {
    pel_keras *k = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_str name = module->tensors.at[i].name;
        pel_str full = path.len ? pel_format(k->ctx, "%.*s/%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
        pel_map_set(k->ctx, &k->tensors, key_of(k, pel_str_copy(k->ctx, full)), PEL_KEY(&module->tensors.at[i]));
    }
}

void pel_keras_find_tensors(pel_keras *k) {
    if (k->r->loaded->networks.n != 1) pel_keras_refuse(k, "the file holds more than one network");
    pel_each_module(k->ctx, k->r->loaded->networks.at[0], add_tensors, k);
}

static const pel_model_tensor *find(pel_keras *k, const char *name) {
    return pel_map_pointer(&k->tensors, key_of(k, pel_format(k->ctx, "%.*s/%s", PEL_FMT(k->path), name)));
}

bool pel_keras_has(pel_keras *k, const char *name) { return find(k, name) != NULL; }

const pel_model_tensor *pel_keras_tensor(pel_keras *k, const char *name) {
    const pel_model_tensor *tensor = find(k, name);
    if (!tensor) pel_keras_refuse(k, pel_format(k->ctx, "the file has no weight %s of it%c", name, 0).ptr);
    if (!tensor->shape.is_known || !pel_str_is(tensor->dtype, "float32") || tensor->shape.n > PEL_KERAS_DIMS)
        pel_keras_refuse(k, pel_format(k->ctx, "its weight %s is not of float32%c", name, 0).ptr);
    return tensor;
}

/* ---- other orders ---- */

typedef struct gather {
    const pel_stored *from;
    pel_keras_order order;
} gather;

/* Elements of four bytes, gathered once when they are written. */
static pel_str gathered(pel_ctx *ctx, const pel_stored *stored) {
    const gather *g = stored->arg;
    const pel_keras_order *o = &g->order;
    pel_str bytes = g->from->far ? pel_input_whole(ctx, g->from->far) : g->from->bytes;
    uint64_t count = 1;
    for (uint32_t d = 0; d < o->n; d++)
        if (__builtin_mul_overflow(count, (uint64_t)o->sizes[d], &count)) count = UINT64_MAX / 8;
    if (count > bytes.len / 4) pel_throw(ctx, PEL_E_FORMAT, 0, "a weight has fewer bytes than its shape needs");
    char *out = pel_alloc_raw(ctx, (size_t)count * 4 + 1);
    int64_t index[PEL_KERAS_DIMS] = { 0 };
    for (uint64_t i = 0; i < count; i++) {
        int64_t at = o->start;
        for (uint32_t d = 0; d < o->n; d++) {
            int64_t row = index[d];
            if (!d && o->unit) row = o->order[row / o->unit] * o->unit + row % o->unit;
            at += row * o->strides[d];
        }
        if (at < 0 || (uint64_t)at >= bytes.len / 4) pel_throw(ctx, PEL_E_FORMAT, 0, "a weight leaves its bytes");
        memcpy(out + i * 4, bytes.ptr + (uint64_t)at * 4, 4);
        for (uint32_t d = o->n; d-- > 0;) {
            if (++index[d] < o->sizes[d]) break;
            index[d] = 0;
        }
    }
    return (pel_str){ out, (size_t)count * 4 };
}

static void hold(pel_keras *k, pel_str path, const char *name, pel_model_tensor *tensor) {
    pel_part *part = pel_part_make(k->r, path);
    tensor->name = pel_str_of(name);
    tensor->full = path.len ? pel_format(k->ctx, "%.*s.%s", PEL_FMT(path), name) : tensor->name;
    pel_push(k->ctx, &part->held, (pel_held){ pel_intern_c(k->ctx, name), tensor });
}

/* The path of the module below the layer. */
static pel_str path_of(pel_keras *k, const char *below) {
    return *below ? pel_format(k->ctx, "%.*s.%s", PEL_FMT(k->here), below) : k->here;
}

/* A value for steps; the second call of a layer has the same. */
static pel_node *named(pel_keras *k, pel_str path, const char *name, bool *is_new) {
    pel_str *full = pel_new(k->ctx, pel_str);
    *full = path.len ? pel_format(k->ctx, "%.*s.%s", PEL_FMT(path), name) : pel_str_of(name);
    pel_str key = pel_format(k->ctx, "(%.*s", PEL_FMT(*full));
    pel_name known = pel_map_pointer(&k->taken, key_of(k, key));
    *is_new = !known;
    if (!known) {
        known = pel_intern_str(k->ctx, pel_format(k->ctx, "w%u", ++k->n_weights));
        pel_map_set(k->ctx, &k->taken, key_of(k, key), PEL_KEY(known));
        pel_map_set(k->ctx, &k->e.weights, PEL_KEY(known), PEL_KEY(full));
    }
    return pel_make_name(k->ctx, known, PEL_Load);
}

pel_node *pel_keras_weight(pel_keras *k, const char *below, const char *name, const pel_model_tensor *tensor,
                           const pel_keras_order *order) {
    bool is_new;
    pel_str path = path_of(k, below);
    pel_node *node = named(k, path, name, &is_new);
    if (!is_new) return node;
    pel_model_tensor *own = pel_new(k->ctx, pel_model_tensor);
    *own = *tensor;
    bool is_buffer = strncmp(name, "running_", 8) == 0;
    own->role = is_buffer ? PEL_BUFFER : PEL_PARAMETER;
    if (order) {
        own->shape = pel_shape_of(k->ctx, order->sizes, order->n);
        if (tensor->stored) {
            pel_stored *stored = pel_new(k->ctx, pel_stored);
            gather *g = pel_new(k->ctx, gather);
            *g = (gather){ tensor->stored, *order };
            *stored = (pel_stored){ .unpack = gathered, .arg = g };
            own->stored = stored;
        }
    }
    hold(k, path, name, own);
    return node;
}

pel_node *pel_keras_plain(pel_keras *k, const char *name, const char *of) {
    return pel_keras_weight(k, "", name, pel_keras_tensor(k, of), NULL);
}

pel_node *pel_keras_filled(pel_keras *k, const char *below, const char *name, int64_t size, float value) {
    bool is_new;
    pel_str path = path_of(k, below);
    pel_node *node = named(k, path, name, &is_new);
    if (!is_new) return node;
    if (size < 0 || size > MOST_FILLED) pel_keras_refuse(k, "a weight of that many elements");
    pel_model_tensor *own = pel_new(k->ctx, pel_model_tensor);
    pel_stored *stored = pel_new(k->ctx, pel_stored);
    char *bytes = pel_alloc_raw(k->ctx, (size_t)size * 4 + 1);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int64_t i = 0; i < size; i++)
        for (unsigned b = 0; b < 4; b++) bytes[i * 4 + b] = (char)(bits >> 8 * b & 255);
    stored->bytes = (pel_str){ bytes, (size_t)size * 4 };
    *own = (pel_model_tensor){
        .role = PEL_PARAMETER, .dtype = PEL_STR("float32"), .shape = pel_shape_of(k->ctx, &size, 1), .stored = stored
    };
    hold(k, path, name, own);
    return node;
}

void pel_keras_counter(pel_keras *k) {
    static const char zeros[8];
    bool is_new;
    named(k, k->here, "num_batches_tracked", &is_new);
    if (!is_new) return;
    pel_model_tensor *own = pel_new(k->ctx, pel_model_tensor);
    pel_stored *stored = pel_new(k->ctx, pel_stored);
    stored->bytes = (pel_str){ zeros, sizeof zeros };
    *own = (pel_model_tensor){
        .role = PEL_BUFFER, .dtype = PEL_STR("int64"), .shape = pel_shape_of(k->ctx, NULL, 0), .stored = stored
    };
    hold(k, k->here, "num_batches_tracked", own);
}

/* [inputs, outputs] as rows of outputs. */
pel_keras_order pel_keras_turned(const pel_model_tensor *tensor, int64_t rows, int64_t columns) {
    (void)tensor;
    return (pel_keras_order){ .n = 2, .sizes = { rows, columns }, .strides = { 1, rows } };
}
