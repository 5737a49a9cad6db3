/* What a config of Keras would import, run or read. Keras takes modules and names from it, and bytecode: what is not
 * known to make layers, initializers, activations and the like is suspicious, whichever library has it. */
#include "load/formats/keras_config.h"

#include "load/audit/audit.h"
#include "load/audit/compute_names.h"
#include "load/audit/tensorflow_ops.h"

typedef struct judge {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_str member;
    pel_map seen; /* texts whose code was added */
} judge;

static void find(judge *j, pel_severity severity, const char *kind, uint64_t at, pel_str text) {
    pel_find(j->ctx, &j->out->findings, severity, kind, j->member, at, text);
}

/* ---- bytecode ---- */

static void add_code(judge *j, pel_str layer, pel_str code) {
    if (!pel_map_set(j->ctx, &j->seen, PEL_KEY(code.ptr), 1)) return;
    pel_str name = layer.len ? pel_format(j->ctx, "Lambda layer %.*s", PEL_FMT(layer)) : PEL_STR("a Lambda layer");
    pel_push(j->ctx, &j->out->codes, (pel_loaded_code){ j->member, name, pel_base64(j->ctx, code) });
}

/* Code is the text, or the first of a list: [code, defaults, closure]. */
static void judge_code(judge *j, pel_str layer, const pel_json_value *code, uint64_t at) {
    if (code && code->kind == PEL_J_ARRAY && code->items.n) code = code->items.at[0];
    if (code && code->kind == PEL_J_STR)
        add_code(j, layer, code->text);
    else
        find(j, PEL_SUSPECT, "bytecode", at, PEL_STR("a lambda whose code is no text"));
}

/* Marshalled code, wherever it stands: its first letter, then how many arguments it takes. */
static bool is_code(judge *j, pel_str text) {
    if (text.len < 80) return false;
    pel_str start = pel_base64(j->ctx, pel_str_cut(text, 0, 12));
    return start.len > 5 && (start.ptr[0] & 0x7F) == 'c' && !start.ptr[2] && !start.ptr[3] && !start.ptr[4];
}

/* ---- names ---- */

static bool is_one_of(pel_str word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(word, words[i])) return true;
    return false;
}

static bool is_keras(pel_str module) {
    static const char *const own[] = { "keras", "tf_keras", "keras_core", "tensorflow.python.keras",
                                       "tensorflow.keras" };
    for (size_t i = 0; i < PEL_COUNT(own); i++) {
        size_t n = strlen(own[i]);
        if (pel_str_starts(module, pel_str_of(own[i])) && (module.len == n || module.ptr[n] == '.')) return true;
    }
    return false;
}

/* The part of a module's name that says what is in it: layers of keras.src.layers.core.dense. */
static pel_str part_of(pel_str module) {
    static const char *const shells[] = { "keras", "tf_keras", "keras_core", "tensorflow", "python",
                                          "src",   "api",      "_tf_keras",  "_v2",        "v2" };
    for (size_t start = 0; start < module.len;) {
        size_t end = start;
        while (end < module.len && module.ptr[end] != '.') end++;
        pel_str part = pel_str_cut(module, start, end);
        if (!is_one_of(part, shells, PEL_COUNT(shells))) return part;
        start = end + 1;
    }
    return (pel_str){ "", 0 };
}

/* keras.src.backend.torch.optimizers.torch_adamw: what compile() wrote is of the backend that it ran on. */
static bool is_backend_optimizer(pel_str module) {
    static const char *const backends[] = { "torch", "tensorflow", "jax", "numpy", "openvino" };
    pel_str start = PEL_STR("keras.src.backend.");
    if (!pel_str_starts(module, start)) return false;
    for (size_t i = 0; i < PEL_COUNT(backends); i++) {
        pel_str rest = pel_str_from(module, start.len);
        size_t n = strlen(backends[i]);
        if (pel_str_starts(rest, pel_str_of(backends[i])) &&
            pel_str_starts(pel_str_from(rest, n), PEL_STR(".optimizers.")))
            return true;
    }
    return false;
}

/* Classes begin with a capital letter; functions must be known to compute. */
static bool is_known_of_keras(pel_str module, pel_str name) {
    static const char *const parts[] = {
        "",           "layers",         "activations", "initializers",   "regularizers", "constraints",
        "optimizers", "losses",         "metrics",     "models",         "engine",       "ops",
        "random",     "dtype_policies", "quantizers",  "mixed_precision"
    };
    static const char *const other[] = { "get", "deserialize", "serialize", "pop", "insert", "data", "device" };
    bool is_class = name.len && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z' && !memchr(name.ptr, '.', name.len);
    if (is_class && is_backend_optimizer(module)) return true;
    if (!name.len || !is_one_of(part_of(module), parts, PEL_COUNT(parts))) return false;
    if (memchr(name.ptr, '.', name.len)) return false;
    if (is_class) return true;
    return pel_is_computing(name) && !is_one_of(name, other, PEL_COUNT(other));
}

/* Keras imports module and takes the name from it, be it a class or a function. */
static void judge_reference(judge *j, pel_str module, pel_str name, uint64_t at) {
    static const char *const far[] = { "get_file",           "load_model", "load_weights",
                                       "TorchModuleWrapper", "load_img",   "enable_unsafe_deserialization",
                                       "TFSMLayer",          "JaxLayer",   "FlaxLayer" };
    bool is_foreign, is_far = is_one_of(name, far, PEL_COUNT(far));
    if (!module.len && !is_far) return; /* looked up among Keras' own and registered classes */
    pel_str what = pel_format(j->ctx, "%.*s.%.*s", PEL_FMT(module), PEL_FMT(name));
    if (is_keras(module) && !is_far) {
        if (!is_known_of_keras(module, name))
            find(j, PEL_SUSPECT, "imports-unknown", at,
                 pel_format(j->ctx, "the config uses %.*s, which is not known to make a part of a network",
                            PEL_FMT(what)));
        return;
    }
    pel_name_kind kind = pel_judge_name(module, name, &is_foreign);
    if (is_far || kind >= PEL_NAME_LIBRARY)
        find(j, PEL_DANGER, "imports", at, pel_format(j->ctx, "the config uses %.*s", PEL_FMT(what)));
    else if (is_foreign) /* versions of Keras import any module that the config names */
        find(j, PEL_SUSPECT, "imports-unknown", at,
             pel_format(j->ctx, "imports %.*s, which is somebody's code", PEL_FMT(what)));
}

/* ---- files ---- */

static bool is_address(pel_str text) {
    static const char *const starts[] = { "http://", "https://", "ftp://", "file://", "gs://", "s3://", "hdfs://" };
    for (size_t i = 0; i < PEL_COUNT(starts); i++)
        if (pel_str_starts(text, pel_str_of(starts[i]))) return true;
    return false;
}

/* A vocabulary that is a text is a file that Keras reads while it makes the layer, from wherever it lies. */
static void judge_text(judge *j, pel_str key, const pel_json_value *value) {
    bool is_vocabulary = pel_str_is(key, "vocabulary") && value->text.len;
    if (is_address(value->text))
        find(j, PEL_DANGER, "address", value->at,
             pel_format(j->ctx, "the config leads to %.*s", (int)(value->text.len > 200 ? 200 : value->text.len),
                        value->text.ptr));
    else if (is_vocabulary)
        find(j, value->text.ptr[0] == '/' || pel_str_find(value->text, PEL_STR("..")) ? PEL_DANGER : PEL_SUSPECT,
             "path", value->at,
             pel_format(j->ctx, "a layer reads its vocabulary from the file %.*s",
                        (int)(value->text.len > 200 ? 200 : value->text.len), value->text.ptr));
}

/* ---- objects ---- */

/* "function_type": "lambda" says what "function" is; likewise output_shape, mask and whatever else has a type. */
static void judge_typed(judge *j, const pel_json_value *object, uint32_t i, pel_str layer) {
    pel_str key = object->items.at[i]->text, type = pel_json_text(object->items.at[i + 1]);
    if (key.len <= 5 || !pel_str_ends(key, PEL_STR("_type"))) return;
    pel_str base = pel_str_cut(key, 0, key.len - 5);
    const pel_json_value *value = NULL, *module = NULL;
    for (uint32_t k = 0; k + 1 < object->items.n; k += 2) {
        pel_str other = object->items.at[k]->text;
        if (pel_str_eq(other, base)) value = object->items.at[k + 1];
        if (pel_str_starts(other, base) && pel_str_is(pel_str_from(other, base.len), "_module"))
            module = object->items.at[k + 1];
    }
    if (!module) module = pel_json_get(object, "module");
    if (pel_str_is(type, "lambda") && value) judge_code(j, layer, value, value->at);
    if (pel_str_is(type, "function") && value && value->kind == PEL_J_STR && pel_json_text(module).len)
        judge_reference(j, pel_json_text(module), value->text, value->at);
}

/* ---- layers that call TensorFlow ---- */

/* "getitem" of __operators__, "__add__" of a tensor. */
static bool is_operator(pel_str name) {
    static const char *const names[] = { "getitem", "eq",        "ne",   "lt",     "le",      "gt",
                                         "ge",      "and_",      "or_",  "xor",    "truediv", "rtruediv",
                                         "radd",    "rsub",      "rmul", "rpow",   "matmul",  "rmatmul",
                                         "rmod",    "rfloordiv", "rdiv", "invert", "stack",   "assert_rank" };
    if (name.len > 4 && pel_str_starts(name, PEL_STR("__")) && pel_str_ends(name, PEL_STR("__")))
        name = pel_str_cut(name, 2, name.len - 2);
    return is_one_of(name, names, PEL_COUNT(names)) || pel_is_computing(name);
}

/* "math.multiply", "nn.relu", "reshape", "__operators__.add": functions of TensorFlow that only compute. */
static bool is_computing_symbol(pel_str symbol) {
    static const char *const spaces[] = {
        "math",         "nn",      "linalg",  "image",       "signal",       "sparse",        "random",     "ragged",
        "bitwise",      "keras",   "strings", "sets",        "quantization", "compat",        "v1",         "v2",
        "experimental", "backend", "numpy",   "activations", "dtypes",       "__operators__", "_operators", "tf"
    };
    size_t start = 0;
    for (size_t i = 0; i <= symbol.len; i++) {
        if (i < symbol.len && symbol.ptr[i] != '.') continue;
        pel_str part = pel_str_cut(symbol, start, i);
        if (i == symbol.len) return is_operator(part);
        if (!is_one_of(part, spaces, PEL_COUNT(spaces))) return false;
        start = i + 1;
    }
    return false;
}

/* What Keras 2 wrote for calls of TensorFlow between layers: names that its reader looks up and calls. */
static void judge_tensorflow_layer(judge *j, pel_str class, const pel_json_value *config, uint64_t at) {
    static const char *const named[] = { "TFOpLambda", "SlicingOpLambda" };
    static const char *const methods[] = { "ClassMethod", "InstanceMethod", "InstanceProperty" };
    if (is_one_of(class, named, PEL_COUNT(named))) {
        pel_str symbol = pel_json_text(pel_json_get(config, "function"));
        if (!is_computing_symbol(symbol))
            find(j, PEL_SUSPECT, "operator", at,
                 pel_format(j->ctx, "a layer calls tf.%.*s, which is not known to compute and nothing else",
                            PEL_FMT(symbol)));
    } else if (is_one_of(class, methods, PEL_COUNT(methods))) {
        pel_str name = pel_json_text(pel_json_get(config, "method_name"));
        if (!name.len) name = pel_json_text(pel_json_get(config, "attr_name"));
        pel_str symbol = pel_json_text(pel_json_get(config, "cls_symbol"));
        if (!is_operator(name) || (symbol.len && !is_computing_symbol(symbol)))
            find(j, PEL_SUSPECT, "operator", at,
                 pel_format(j->ctx, "a layer uses %.*s of what it gets, which is not known to compute and nothing else",
                            PEL_FMT(name)));
    } else if (pel_str_is(class, "TensorFlowOpLayer")) {
        pel_str op = pel_json_text(pel_json_get(pel_json_get(config, "node_def"), "op"));
        if (!pel_is_computing_op(op)) /* as a text it is packed, and not read */
            find(j, PEL_SUSPECT, "operator", at,
                 pel_format(j->ctx, "a layer is the operator %.*s, which is not known to compute and nothing else",
                            PEL_FMT(op)));
    }
}

static pel_str judge_object(judge *j, const pel_json_value *object, pel_str layer) {
    pel_str class = pel_json_text(pel_json_get(object, "class_name")),
            module = pel_json_text(pel_json_get(object, "module"));
    const pel_json_value *config = pel_json_get(object, "config");
    pel_str name = pel_json_text(pel_json_get(object, "name"));
    if (name.len) layer = name;
    bool has_type = pel_json_get(object, "function_type") || pel_json_get(object, "spec_name");
    if (pel_str_is(class, "__lambda__"))
        judge_code(j, layer, config && config->kind == PEL_J_OBJECT ? pel_json_get(config, "code") : config,
                   object->at);
    else if (pel_str_is(class, "function") && config && config->kind == PEL_J_STR && module.len)
        judge_reference(j, module, config->text, object->at);
    else if (class.len)
        judge_reference(j, module, class, object->at);
    else if (module.len && !has_type && !is_keras(module)) /* it may be joined to a name elsewhere */
        judge_reference(j, module, PEL_STR("?"), object->at);
    judge_tensorflow_layer(j, class, config, object->at);
    pel_str registered = pel_json_text(pel_json_get(object, "registered_name"));
    if (!module.len && registered.len && memchr(registered.ptr, '>', registered.len))
        find(j, PEL_NOTE, "class", object->at,
             pel_format(j->ctx, "needs %.*s, which the program that loads it must have registered",
                        PEL_FMT(registered)));
    const pel_json_value *function = pel_json_get(config, "function");
    if (pel_str_is(class, "Lambda") && function && function->kind == PEL_J_ARRAY &&
        !pel_json_get(config, "function_type"))
        judge_code(j, layer, function, function->at); /* as Keras 2 wrote it */
    if (pel_str_is(class, "Lambda") && config && config->kind == PEL_J_OBJECT &&
        !pel_json_get(config, "function_type") && pel_json_text(pel_json_get(config, "function")).len)
        find(j, PEL_SUSPECT, "imports-unknown", object->at,
             PEL_STR("a Lambda layer whose function is a name that the program that loads it looks up"));
    if (pel_json_text(pel_json_get(object, "spec_name")).len && module.len)
        judge_reference(j, module, pel_json_text(pel_json_get(object, "spec_name")), object->at);
    for (uint32_t i = 0; i + 1 < object->items.n; i += 2) {
        judge_typed(j, object, i, layer);
        if (object->items.at[i + 1]->kind == PEL_J_STR)
            judge_text(j, object->items.at[i]->text, object->items.at[i + 1]);
    }
    return layer;
}

/* The reader of JSON bounds the depth, and says so. */
static void judge_value(judge *j, const pel_json_value *value, pel_str layer) {
    if (value->kind == PEL_J_OBJECT) layer = judge_object(j, value, layer);
    if (value->kind != PEL_J_OBJECT && value->kind != PEL_J_ARRAY) return;
    for (uint32_t i = 0; i < value->items.n; i++) {
        const pel_json_value *item = value->items.at[i];
        bool is_key = value->kind == PEL_J_OBJECT && i % 2 == 0;
        if (item->kind == PEL_J_STR && !is_key && is_code(j, item->text)) add_code(j, layer, item->text);
        judge_value(j, item, layer);
    }
}

void pel_judge_keras(pel_ctx *ctx, pel_loaded *out, pel_str member, const pel_json_value *config) {
    judge j = { .ctx = ctx, .out = out, .member = member };
    judge_value(&j, config, (pel_str){ "", 0 });
}
