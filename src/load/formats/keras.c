/* Keras: whole models and weights in HDF5, and .keras archives (a config in JSON, the weights in HDF5).
 *
 * The config tells names, classes and arguments of the layers. Old files name their weights; new ones number them
 * below names made from the layers' classes, so the config's order says whose they are. */
#include "base/json_read.h"
#include "io/bytes.h"
#include "io/hdf5.h"
#include "load/formats/keras_config.h"

#include <ctype.h>
#include <stdlib.h>

#define MAX_DEPTH 50
#define MAX_CONFIG ((uint64_t)64 << 20)
#define MAX_WEIGHTS ((uint64_t)1 << 40)

typedef struct keras_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder *builder;
    pel_input file; /* that offsets count in */
    uint64_t h5_at; /* where the HDF5 begins in them */
    pel_tensor_role role;
    bool h5_is_in_file; /* false: it was unpacked, its tensors have no place */
} keras_file;

/* ---- layers ---- */

static void add_config_arguments(keras_file *k, pel_module *module, const pel_json_value *config) {
    for (uint32_t i = 0; config && config->kind == PEL_J_OBJECT && i + 1 < config->items.n; i += 2) {
        pel_str key = config->items.at[i]->text;
        const pel_json_value *value = config->items.at[i + 1];
        if (pel_str_is(key, "name") || pel_str_is(key, "trainable") || pel_str_is(key, "dtype")) continue;
        if (value->kind == PEL_J_NUMBER)
            pel_build_argument(k->builder, module, key,
                               value->is_integer ? pel_const_int(k->ctx, value->integer)
                                                 : pel_const_float(k->ctx, value->number));
        if (value->kind == PEL_J_BOOL) pel_build_argument(k->builder, module, key, pel_const_bool(value->boolean));
        if (value->kind == PEL_J_STR && value->text.len < 200)
            pel_build_argument(k->builder, module, key, pel_const_str(k->ctx, value->text));
        if (value->kind == PEL_J_ARRAY && value->items.n <= 8) {
            pel_node *tuple = pel_node_new(k->ctx, PEL_Tuple);
            bool is_plain = value->items.n > 0;
            for (uint32_t j = 0; j < value->items.n; j++) {
                const pel_json_value *item = value->items.at[j];
                is_plain &= item->kind == PEL_J_NULL || (item->kind == PEL_J_NUMBER && item->is_integer);
                const pel_const *constant = item->kind == PEL_J_NULL ? &pel_none : pel_const_int(k->ctx, item->integer);
                pel_nodes_push(k->ctx, &tuple->Tuple.elts, pel_make_constant(k->ctx, constant));
            }
            if (is_plain) pel_push(k->ctx, &module->args, (pel_model_argument){ key, tuple });
        }
    }
}

static pel_str layer_name(const pel_json_value *layer) {
    pel_str name = pel_json_text(pel_json_get(pel_json_get(layer, "config"), "name"));
    return name.len ? name : pel_json_text(pel_json_get(layer, "name"));
}

static const pel_json_value *layers_of(const pel_json_value *model) {
    const pel_json_value *config = pel_json_get(model, "config");
    const pel_json_value *layers = config && config->kind == PEL_J_ARRAY ? config : pel_json_get(config, "layers");
    return layers && layers->kind == PEL_J_ARRAY ? layers : NULL;
}

static void add_layers(keras_file *k, const pel_json_value *model, pel_str path, int depth) {
    pel_module *module = pel_build_module(k->builder, path);
    module->class = pel_json_text(pel_json_get(model, "class_name"));
    const pel_json_value *layers = layers_of(model);
    if (!layers) add_config_arguments(k, module, pel_json_get(model, "config"));
    if (layers && depth >= MAX_DEPTH) {
        pel_build_unknown(k->builder, path, pel_format(k->ctx, "layers nest deeper than %d", MAX_DEPTH));
        return;
    }
    if (layers) pel_keras_flow(k->ctx, k->builder->network, model, path);
    for (uint32_t i = 0; layers && i < layers->items.n; i++) {
        pel_str name = layer_name(layers->items.at[i]);
        if (name.len)
            add_layers(k, layers->items.at[i], pel_full_name(k->ctx, k->builder->network, path, name), depth + 1);
    }
}

/* ---- weights ---- */

static void add_dataset(keras_file *k, const pel_h5_object *dataset, pel_str name) {
    pel_model_tensor tensor = { .role = k->role,
                                .dtype = dataset->dtype,
                                .shape = pel_shape_of(k->ctx, dataset->dims, dataset->n_dims) };
    if (dataset->has_place && k->h5_is_in_file)
        pel_build_place(k->ctx, &tensor, &k->file, (pel_str){ "", 0 }, k->h5_at + dataset->offset, dataset->size);
    pel_build_tensor(k->builder, name, tensor);
}

static pel_str join(keras_file *k, pel_str path, pel_str name) {
    return pel_full_name(k->ctx, k->builder->network, path, name);
}

static bool is_number(pel_str name) {
    for (size_t i = 0; i < name.len; i++)
        if (!isdigit((unsigned char)name.ptr[i])) return false;
    return name.len > 0;
}

static int by_number(const void *a, const void *b) {
    pel_str x = (*(pel_h5_object *const *)a)->name, y = (*(pel_h5_object *const *)b)->name;
    if (x.len != y.len) return x.len < y.len ? -1 : 1;
    return memcmp(x.ptr, y.ptr, x.len);
}

/* The children of a group. HDF5 sorts them as texts: variables are numbered, and 10 comes after 9. */
static pel_h5_object **in_order(keras_file *k, const pel_h5_object *group) {
    pel_h5_object **rows = pel_new_array(k->ctx, group->children.n + 1, pel_h5_object *);
    bool are_numbers = true;
    for (uint32_t i = 0; i < group->children.n; i++) {
        rows[i] = group->children.at[i];
        are_numbers &= is_number(rows[i]->name);
    }
    if (are_numbers) qsort(rows, group->children.n, sizeof *rows, by_number);
    return rows;
}

static void add_datasets(keras_file *k, const pel_h5_object *group, pel_str path) {
    pel_h5_object **children = in_order(k, group);
    for (uint32_t i = 0; i < group->children.n; i++) { /* the reader bounds the depth */
        const pel_h5_object *child = children[i];
        if (child->is_dataset)
            add_dataset(k, child, join(k, path, child->name));
        else
            add_datasets(k, child, join(k, path, child->name));
    }
}

/* "net/fc1/kernel:0" of the layer fc1: its name is fc1/kernel. */
static pel_str weight_name(keras_file *k, pel_str layer, pel_str path) {
    size_t len = path.len;
    if (len > 2 && path.ptr[len - 2] == ':' && isdigit((unsigned char)path.ptr[len - 1])) len -= 2;
    for (size_t start = 0; start < len;) {
        size_t end = start;
        while (end < len && path.ptr[end] != '/') end++;
        if (end < len && pel_str_eq(pel_str_cut(path, start, end), layer)) return pel_str_cut(path, start, len);
        start = end + 1;
    }
    return join(k, layer, pel_str_cut(path, 0, len));
}

static void add_named_weights(keras_file *k, const pel_h5_object *layer, const pel_h5_object *group, pel_str path) {
    for (uint32_t i = 0; i < group->children.n; i++) {
        const pel_h5_object *child = group->children.at[i];
        pel_str below = join(k, path, child->name);
        if (child->is_dataset)
            add_dataset(k, child, weight_name(k, layer->name, below));
        else
            add_named_weights(k, layer, child, below);
    }
}

/* Layers in the order that the file lists them, each with the weights in theirs; datasets alone are sorted. */
static void add_listed_layers(keras_file *k, const pel_h5_object *group) {
    const pel_h5_attribute *names = pel_h5_attribute_of(group, "layer_names");
    for (uint32_t i = 0; names && i < names->texts.n; i++) {
        const pel_h5_object *layer = pel_h5_child(k->ctx, group, names->texts.at[i]);
        const pel_h5_attribute *weights = layer ? pel_h5_attribute_of(layer, "weight_names") : NULL;
        for (uint32_t w = 0; weights && w < weights->texts.n; w++) {
            const pel_h5_object *at = layer;
            pel_str path = weights->texts.at[w];
            for (size_t start = 0; at && start < path.len;) {
                size_t end = start;
                while (end < path.len && path.ptr[end] != '/') end++;
                at = pel_h5_child(k->ctx, at, pel_str_cut(path, start, end));
                start = end + 1;
            }
            if (at && at->is_dataset) add_dataset(k, at, weight_name(k, layer->name, path));
        }
        if (layer && !weights) add_named_weights(k, layer, layer, (pel_str){ "", 0 });
    }
}

/* "BatchNormalization" -> "batch_normalization", as Keras has it: Conv2DTranspose becomes conv2d_transpose. */
static pel_str snake_case(pel_ctx *ctx, pel_str name) {
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        unsigned char before = i ? (unsigned char)name.ptr[i - 1] : 0,
                      after = i + 1 < name.len ? (unsigned char)name.ptr[i + 1] : 0;
        if (i && isupper(c) && (islower(before) || (islower(after) && (isupper(before) || isdigit(before)))))
            pel_put_byte(&out, '_');
        pel_put_byte(&out, (char)tolower(c));
    }
    return pel_buf_str(&out);
}

/* What the variables of a layer are called, in the order that it makes them; a flag of the config drops one. */
static pel_str variable_name(pel_str class, const pel_json_value *layer, uint32_t index) {
    static const struct {
        const char *class, *names[6], *flags[6];
    } rows[] = {
        { "Dense", { "kernel", "bias" }, { NULL } },
        { "EinsumDense", { "kernel", "bias" }, { NULL } },
        { "Conv1D", { "kernel", "bias" }, { NULL } },
        { "Conv2D", { "kernel", "bias" }, { NULL } },
        { "Conv3D", { "kernel", "bias" }, { NULL } },
        { "Conv1DTranspose", { "kernel", "bias" }, { NULL } },
        { "Conv2DTranspose", { "kernel", "bias" }, { NULL } },
        { "Conv3DTranspose", { "kernel", "bias" }, { NULL } },
        { "DepthwiseConv1D", { "kernel", "bias" }, { NULL } },
        { "DepthwiseConv2D", { "kernel", "bias" }, { NULL } },
        { "SeparableConv1D", { "depthwise_kernel", "pointwise_kernel", "bias" }, { NULL } },
        { "SeparableConv2D", { "depthwise_kernel", "pointwise_kernel", "bias" }, { NULL } },
        { "Embedding", { "embeddings" }, { NULL } },
        { "PReLU", { "alpha" }, { NULL } },
        { "BatchNormalization", { "gamma", "beta", "moving_mean", "moving_variance" }, { "scale", "center" } },
        { "LayerNormalization", { "gamma", "beta" }, { "scale", "center" } },
        { "GroupNormalization", { "gamma", "beta" }, { "scale", "center" } },
        { "RMSNormalization", { "scale" }, { NULL } },
        { "LSTMCell", { "kernel", "recurrent_kernel", "bias" }, { NULL } },
        { "GRUCell", { "kernel", "recurrent_kernel", "bias" }, { NULL } },
        { "SimpleRNNCell", { "kernel", "recurrent_kernel", "bias" }, { NULL } },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        if (!pel_str_is(class, rows[i].class)) continue;
        for (uint32_t n = 0; n < PEL_COUNT(rows[i].names) && rows[i].names[n]; n++) {
            const pel_json_value *flag =
                rows[i].flags[n] ? pel_json_get(pel_json_get(layer, "config"), rows[i].flags[n]) : NULL;
            if (flag && flag->kind == PEL_J_BOOL && !flag->boolean) continue;
            if (!index--) return pel_str_of(rows[i].names[n]);
        }
    }
    return (pel_str){ "", 0 };
}

/* The file has parts of a layer by the attributes that hold them; Keras knows them by their own names. */
static pel_str part_of(pel_str class, pel_str attribute, pel_str *part_class) {
    static const struct {
        const char *class, *attribute, *name, *part_class;
    } rows[] = {
        { "MultiHeadAttention", "query_dense", "query", "EinsumDense" },
        { "MultiHeadAttention", "key_dense", "key", "EinsumDense" },
        { "MultiHeadAttention", "value_dense", "value", "EinsumDense" },
        { "MultiHeadAttention", "output_dense", "attention_output", "EinsumDense" },
        { "GroupQueryAttention", "query_dense", "query", "EinsumDense" },
        { "GroupQueryAttention", "key_dense", "key", "EinsumDense" },
        { "GroupQueryAttention", "value_dense", "value", "EinsumDense" },
        { "GroupQueryAttention", "output_dense", "attention_output", "EinsumDense" },
        { "LSTM", "cell", "lstm_cell", "LSTMCell" },
        { "GRU", "cell", "gru_cell", "GRUCell" },
        { "SimpleRNN", "cell", "simple_rnn_cell", "SimpleRNNCell" },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        if (!pel_str_is(class, rows[i].class) || !pel_str_is(attribute, rows[i].attribute)) continue;
        *part_class = pel_str_of(rows[i].part_class);
        return pel_str_of(rows[i].name);
    }
    *part_class = (pel_str){ "", 0 };
    return attribute;
}

static void add_numbered_layers(keras_file *k, const pel_h5_object *group, const pel_json_value *model, pel_str path,
                                int depth);

/* A layer that wraps another one has its config below the attribute's name; both directions of a Bidirectional have
 * one, and the backward one may have its own. NULL: the attribute is no layer of the config. */
static const pel_json_value *wrapped_layer(keras_file *k, const pel_json_value *layer, pel_str attribute,
                                           pel_str *name) {
    const pel_json_value *config = pel_json_get(layer, "config"), *inner = NULL;
    bool is_forward = pel_str_is(attribute, "forward_layer"), is_backward = pel_str_is(attribute, "backward_layer");
    for (uint32_t i = 0; config && config->kind == PEL_J_OBJECT && i + 1 < config->items.n; i += 2)
        if (pel_str_eq(config->items.at[i]->text, attribute)) inner = config->items.at[i + 1];
    if ((is_forward || is_backward) && !pel_json_text(pel_json_get(inner, "class_name")).len)
        inner = pel_json_get(config, "layer");
    if (!pel_json_text(pel_json_get(inner, "class_name")).len) return NULL;
    *name = layer_name(inner);
    for (int i = 0; (is_forward || is_backward) && i < 2; i++) {
        pel_str prefix = i ? PEL_STR("backward_") : PEL_STR("forward_");
        if (pel_str_starts(*name, prefix)) *name = pel_str_from(*name, prefix.len);
    }
    if (is_forward || is_backward)
        *name = pel_format(k->ctx, "%s_%.*s", is_forward ? "forward" : "backward", PEL_FMT(*name));
    return name->len ? inner : NULL;
}

static void add_variables(keras_file *k, const pel_h5_object *group, pel_str class, const pel_json_value *layer,
                          pel_str path) {
    pel_h5_object **children = in_order(k, group);
    for (uint32_t v = 0; v < group->children.n; v++) {
        const pel_h5_object *variable = children[v];
        if (!variable->is_dataset) continue;
        uint32_t index = 0;
        for (size_t d = 0; d < variable->name.len && d < 6; d++)
            index = index * 10 + (uint32_t)(variable->name.ptr[d] - '0') % 10;
        pel_str name = variable_name(class, layer, index);
        add_dataset(k, variable, join(k, path, name.len ? name : variable->name));
    }
}

/* The weights of one part of a layer, of that class: vars/0, vars/1 ...; below other names, those of its parts. */
static void add_part(keras_file *k, const pel_h5_object *group, pel_str class, const pel_json_value *layer,
                     pel_str path, int depth) {
    for (uint32_t i = 0; i < group->children.n; i++) {
        const pel_h5_object *child = group->children.at[i];
        if (child->is_dataset) {
            add_dataset(k, child, join(k, path, child->name));
        } else if (pel_str_is(child->name, "vars")) {
            add_variables(k, child, class, layer, path);
        } else if (pel_str_is(child->name, "layers") && layer && layers_of(layer)) {
            add_numbered_layers(k, child, layer, path, depth);
        } else {
            pel_str part_class, name = part_of(class, child->name, &part_class);
            const pel_json_value *inner = part_class.len ? NULL : wrapped_layer(k, layer, child->name, &name);
            if (inner) part_class = pel_json_text(pel_json_get(inner, "class_name"));
            add_part(k, child, part_class, inner, join(k, path, name), depth + 1);
        }
    }
}

static void add_numbered_weights(keras_file *k, const pel_h5_object *group, const pel_json_value *layer, pel_str path,
                                 int depth) {
    add_part(k, group, pel_json_text(pel_json_get(layer, "class_name")), layer, path, depth);
}

/* The file has the layers as dense, dense_1 ... in the order of the config. */
static void add_numbered_layers(keras_file *k, const pel_h5_object *group, const pel_json_value *model, pel_str path,
                                int depth) {
    const pel_json_value *layers = layers_of(model);
    pel_map counts = { 0 }, done = { 0 };
    for (uint32_t i = 0; layers && i < layers->items.n && depth < MAX_DEPTH; i++) {
        const pel_json_value *layer = layers->items.at[i];
        pel_str class = snake_case(k->ctx, pel_json_text(pel_json_get(layer, "class_name")));
        uint64_t key = PEL_KEY(pel_intern_str(k->ctx, class)), count = pel_map_find(&counts, key, 0);
        pel_map_set(k->ctx, &counts, key, count + 1);
        pel_str name = count ? pel_format(k->ctx, "%.*s_%llu", PEL_FMT(class), (unsigned long long)count) : class;
        const pel_h5_object *found = pel_h5_child(k->ctx, group, name);
        if (!found) found = pel_h5_child(k->ctx, group, layer_name(layer));
        if (!found || !pel_map_set(k->ctx, &done, PEL_KEY(found), 1)) continue;
        add_numbered_weights(k, found, layer, join(k, path, layer_name(layer)), depth + 1);
    }
    for (uint32_t i = 0; i < group->children.n; i++) /* what the config does not tell */
        if (!pel_map_has(&done, PEL_KEY(group->children.at[i])))
            add_numbered_weights(k, group->children.at[i], NULL, join(k, path, group->children.at[i]->name), depth + 1);
}

/* ---- files ---- */

typedef struct config_job {
    pel_str text;
    const pel_json_value *root;
} config_job;

static void config_body(pel_ctx *ctx, void *arg) {
    config_job *job = arg;
    job->root = pel_json_read(ctx, job->text, 0);
}

/* Keras reads bytes: they may be UTF-16. Of a key that stands twice Python takes the last one, and others the first. */
static const pel_json_value *read_config(pel_ctx *ctx, pel_loaded *out, pel_str member, pel_str text) {
    pel_input input = pel_input_of(text);
    pel_decode_text(ctx, &input, pel_input_head(ctx, &input), &text);
    config_job job = { .text = text };
    pel_err why;
    if (pel_attempt(ctx, config_body, &job, &why)) return job.root;
    if (why.code == PEL_E_FORMAT && pel_str_find(pel_str_of(why.what), PEL_STR("same key twice")))
        pel_find(ctx, &out->findings, PEL_SUSPECT, "duplicate-key", member, why.at,
                 PEL_STR("an object of the config has one key twice: which of them counts depends on the reader"));
    pel_throw(ctx, why.code, why.at, "%s", why.what);
}

void pel_load_hdf5(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input) {
    out->format = PEL_STR("HDF5");
    const pel_h5_object *root = pel_h5_read(ctx, input, &out->findings);
    const pel_h5_attribute *config = pel_h5_attribute_of(root, "model_config");
    const pel_h5_object *weights = pel_h5_child(ctx, root, PEL_STR("model_weights"));
    if (!weights && pel_h5_attribute_of(root, "layer_names")) weights = root;
    if (weights) out->format = config ? PEL_STR("Keras model in HDF5") : PEL_STR("Keras weights in HDF5");
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    keras_file k = { .ctx = ctx, .out = out, .builder = &builder, .file = *input, .h5_is_in_file = true };
    const pel_h5_attribute *training = pel_h5_attribute_of(root, "training_config");
    if (training && training->texts.n)
        pel_judge_keras(ctx, out, PEL_STR("training_config"),
                        read_config(ctx, out, PEL_STR("training_config"), training->texts.at[0]));
    if (config && config->texts.n) {
        const pel_json_value *model = read_config(ctx, out, PEL_STR("model_config"), config->texts.at[0]);
        pel_judge_keras(ctx, out, PEL_STR("model_config"), model);
        add_layers(&k, model, (pel_str){ "", 0 }, 0);
        const pel_h5_attribute *version = pel_h5_attribute_of(root, "keras_version");
        out->keras_config = model;
        if (version && version->texts.n) out->keras_version = version->texts.at[0];
    }
    if (!weights) {
        add_datasets(&k, root, (pel_str){ "", 0 });
        return;
    }
    add_listed_layers(&k, weights);
    k.role = PEL_BUFFER; /* an optimizer's state: no parameters, but tensors all the same */
    for (uint32_t i = 0; i < root->children.n && weights != root; i++)
        if (root->children.at[i] != weights && !root->children.at[i]->is_dataset)
            add_datasets(&k, root->children.at[i], root->children.at[i]->name);
}

/* What model.to_json() writes. */
bool pel_is_keras_config(const pel_json_value *root) {
    const pel_json_value *config = pel_json_get(root, "config");
    return pel_json_text(pel_json_get(root, "class_name")).len && config &&
           (config->kind == PEL_J_OBJECT || config->kind == PEL_J_ARRAY);
}

void pel_load_keras_config(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *root) {
    out->format = PEL_STR("Keras config");
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    keras_file k = { .ctx = ctx, .out = out, .builder = &builder };
    pel_judge_keras(ctx, out, (pel_str){ "", 0 }, root);
    add_layers(&k, root, (pel_str){ "", 0 }, 0);
    pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("a config has none"));
}

bool pel_load_keras_zip(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    const pel_zip_member *config = pel_zip_find(zip, PEL_STR("config.json"));
    const pel_zip_member *weights = pel_zip_find(zip, PEL_STR("model.weights.h5"));
    if (!config) return false;
    out->format = PEL_STR("Keras archive");
    pel_map_set(ctx, &out->read, config->offset, 1);
    pel_str text = pel_zip_content(ctx, zip, config, MAX_CONFIG, &out->findings);
    const pel_json_value *model = read_config(ctx, out, config->name, text);
    if (!pel_is_keras_config(model)) pel_judge_settings(ctx, out, model); /* another library's */
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    keras_file k = { .ctx = ctx, .out = out, .builder = &builder, .file = *zip->input };
    pel_judge_keras(ctx, out, config->name, model);
    add_layers(&k, model, (pel_str){ "", 0 }, 0);
    out->keras_config = model;
    const pel_zip_member *about = pel_zip_find(zip, PEL_STR("metadata.json"));
    if (about)
        out->keras_version = pel_json_text(pel_json_get(
            pel_json_read(ctx, pel_zip_content(ctx, zip, about, MAX_CONFIG, &out->findings), 0), "keras_version"));
    if (!weights) {
        pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("the archive has no model.weights.h5"));
        return true;
    }
    k.h5_is_in_file = weights->method == 0;
    k.h5_at = weights->offset;
    pel_input h5 = k.h5_is_in_file && weights->in_file
                       ? pel_input_part(ctx, zip->input, weights->offset, weights->packed) /* not summed: large */
                       : pel_input_of(pel_zip_content(ctx, zip, weights, MAX_WEIGHTS, &out->findings));
    const pel_h5_object *root = pel_h5_read(ctx, &h5, &out->findings);
    pel_map_set(ctx, &out->read, weights->offset, 1); /* if it is none, it is looked into as other members are */
    const pel_h5_object *layers = pel_h5_child(ctx, root, PEL_STR("layers"));
    if (!layers) layers = pel_h5_child(ctx, root, PEL_STR("_layer_checkpoint_dependencies")); /* before 3.0 */
    if (layers) add_numbered_layers(&k, layers, model, (pel_str){ "", 0 }, 0);
    for (uint32_t i = 0; i < root->children.n; i++) {
        const pel_h5_object *child = root->children.at[i];
        /* an optimizer's state: no parameters, but tensors all the same */
        k.role = pel_str_is(child->name, "optimizer") ? PEL_BUFFER : PEL_PARAMETER;
        if (child != layers && !child->is_dataset)
            add_numbered_weights(&k, child, NULL, pel_str_is(child->name, "vars") ? (pel_str){ "", 0 } : child->name,
                                 0);
    }
    return true;
}
