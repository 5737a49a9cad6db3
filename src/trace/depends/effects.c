/* What is known about torch and the standard library: which calls do more than give a value. Of torch that is read off
 * its own schemas (tools/gen_effects.py); what is in no table may do anything. */
#include <stdlib.h>

#include "trace/synth.h"

static bool among(pel_str text, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(text, list[i])) return true;
    return false;
}
#define AMONG(text, list) among(text, list, PEL_COUNT(list))

typedef struct option { /* a parameter that makes a function change what it gets, by its place */
    const char *function;
    uint32_t place;
} option;

#include "trace/depends/effects_torch.inc"

static int compare(const void *text, const void *row) {
    const pel_str *wanted = text;
    const char *own = *(const char *const *)row;
    int order = strncmp(wanted->ptr, own, wanted->len);
    return order ? order : -(int)(own[wanted->len] != 0);
}
#define LISTED(text, list) (bsearch(&(text), list, PEL_COUNT(list), sizeof list[0], compare) != NULL)

/* clang-format off */
/* Functions of the standard library and numpy that set something, draw at random or change what they get. */
static const char *const impure[] = {
    "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "lru_cache", "cache", "shuffle", "setitem", "delitem",
    "fill_diagonal", "copyto", "put", "place", "putmask", "put_along_axis", "seterr", "seterrcall", "setbufsize", "save",
    "savez", "savetxt", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor",
    "ilshift", "irshift", "iconcat",
};

/* Functions whose plain result says nothing of the data. */
static const char *const settled[] = {
    "isinstance", "hasattr", "callable", "type", "issubclass", "super", "getattr", "id", "is_tensor",
    "is_scripting", "is_tracing", "is_compiling", "is_dynamo_compiling", "is_in_onnx_export",
    "is_torchdynamo_compiling", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
    "is_fx_tracing", "_is_tracing", "signature",
};

/* What these give is what is in their arguments. */
static const char *const hands_on[] = {
    "iter", "enumerate", "zip", "list", "tuple", "dict", "reversed",
};

/* Namespaces of torch.ops that torch fills itself. */
static const char *const own_operators[] = {
    "aten", "prim", "prims", "rngprims", "quantized", "_quantized", "mkl", "mkldnn", "onednn", "xnnpack", "sparse",
    "inductor", "higher_order", "profiler", "c10d", "_c10d_functional",
};

/* Layers of torch's that compute something of their inputs and weights, and nothing else. */
static const char *const function_layers[] = {
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "Bilinear", "CELU", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "ELU", "Flatten", "GELU", "GLU", "GroupNorm", "Hardsigmoid",
    "Hardswish", "Hardtanh", "Identity", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "Mish", "PReLU", "PixelShuffle", "RMSNorm", "ReLU", "ReLU6", "SELU",
    "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh", "Unflatten", "Upsample",
};
/* clang-format on */

static pel_str last_part(pel_str path) {
    size_t i = path.len;
    while (i > 0 && path.ptr[i - 1] != '.') i--;
    return pel_str_from(path, i);
}

bool pel_is_in_place(pel_str name) {
    return name.len > 1 && name.ptr[name.len - 1] == '_' && name.ptr[name.len - 2] != '_';
}

/* What the process was started with: settings, as fixed as the author's defaults; and what is installed there. */
bool pel_library_asks_settings(pel_str path) {
    return pel_str_is(path, "os.getenv") || pel_str_starts(path, PEL_STR("os.environ")) ||
           pel_str_is(path, "importlib.util.find_spec") || pel_str_starts(path, PEL_STR("importlib.metadata."));
}

bool pel_is_foreign_operator(pel_str path) {
    pel_str prefix = PEL_STR("torch.ops.");
    if (!pel_str_starts(path, prefix)) return false;
    pel_str rest = pel_str_from(path, prefix.len);
    size_t dot = 0;
    while (dot < rest.len && rest.ptr[dot] != '.') dot++;
    return !AMONG(pel_str_cut(rest, 0, dot), own_operators);
}

/* torch.ops.aten.relu.default is relu. */
static bool is_pure_of_torch(pel_str path) {
    pel_str aten = PEL_STR("torch.ops.aten."), name = last_part(path);
    if (pel_str_starts(path, aten)) {
        name = pel_str_from(path, aten.len);
        for (size_t i = 0; i < name.len; i++)
            if (name.ptr[i] == '.') name = pel_str_cut(name, 0, i);
    }
    return pel_str_starts(path, PEL_STR("torch.Tensor.")) ? LISTED(name, torch_methods) : LISTED(name, torch_functions);
}

int pel_library_option(pel_str path) {
    pel_str name = last_part(path);
    for (size_t i = 0; i < PEL_COUNT(torch_options) && pel_str_starts(path, PEL_STR("torch.")); i++)
        if (pel_str_is(name, torch_options[i].function)) return (int)torch_options[i].place;
    return -1;
}

bool pel_is_option(pel_name name) {
    return pel_name_is(name, "inplace") || pel_name_is(name, "out") || pel_name_is(name, "max_norm");
}

bool pel_library_pure(pel_str path) {
    static const char *const builtins[] = {
        "abs",   "all",       "any",     "bool",    "callable", "complex", "dict", "divmod",     "enumerate",  "filter",
        "float", "frozenset", "getattr", "hasattr", "hash",     "id",      "int",  "isinstance", "issubclass", "len",
        "list",  "map",       "max",     "min",     "pow",      "range",   "repr", "reversed",   "round",      "set",
        "slice", "sorted",    "str",     "sum",     "super",    "tuple",   "type", "zip",
    };
    static const char *const modules[] = {
        "math.", "operator.", "itertools.", "functools.", "collections.", "copy.", "inspect.", "numpy.",
    };
    if (AMONG(path, builtins) || pel_library_asks_settings(path)) return true;
    if (pel_library_ambient(path) && pel_str_starts(path, PEL_STR("numpy."))) return false;
    pel_str name = last_part(path);
    if (pel_str_starts(path, PEL_STR("torch."))) return is_pure_of_torch(path);
    if (pel_is_in_place(name) || AMONG(name, impure)) return false;
    for (size_t i = 0; i < PEL_COUNT(modules); i++)
        if (pel_str_starts(path, pel_str_of(modules[i]))) return true;
    return false;
}

bool pel_library_settled(pel_str path) { return AMONG(last_part(path), settled); }

bool pel_library_hands_on(pel_str path) { return AMONG(last_part(path), hands_on); }

/* What torch answers without being given anything hangs on settings that programs change (the default dtype, whether
 * algorithms are deterministic), but for what says how the program is run, and on which machine. */
bool pel_library_asks_torch(pel_str path) {
    static const char *const fixed[] = {
        "is_scripting",
        "is_tracing",
        "is_compiling",
        "is_dynamo_compiling",
        "is_in_onnx_export",
        "is_exporting",
        "is_available",
        "is_initialized",
        "device_count",
        "is_built",
        "is_torch_function_enabled",
        "_get_tracing_state",
        "_is_tracing",
        "is_fx_tracing",
        "is_fx_symbolic_tracing",
        "current_device",
        "is_bf16_supported",
        "_is_functorch_transforming",
    };
    return pel_str_starts(path, PEL_STR("torch.")) && !AMONG(last_part(path), fixed);
}

bool pel_library_ambient(pel_str path) {
    static const char *const names[] = {
        "is_grad_enabled",        "is_inference_mode_enabled", "is_autocast_enabled",    "get_autocast_dtype",
        "get_autocast_gpu_dtype", "is_autocast_cpu_enabled",   "get_autocast_cpu_dtype",
    };
    static const char *const elsewhere[] = {
        "numpy.random.", "random.", "time.", "os.", "datetime.", "uuid.",
    };
    if (pel_library_asks_settings(path)) return false;
    for (size_t i = 0; i < PEL_COUNT(elsewhere); i++)
        if (pel_str_starts(path, pel_str_of(elsewhere[i]))) return true;
    return pel_str_starts(path, PEL_STR("torch.")) && AMONG(last_part(path), names);
}

bool pel_method_pure(uint8_t kind, pel_name name) {
    static const char *const of_containers[] = {
        "get",        "keys",          "values",     "items",          "copy",       "index",      "count",
        "union",      "intersection",  "difference", "issubset",       "issuperset", "numel",      "startswith",
        "endswith",   "lower",         "upper",      "split",          "join",       "format",     "strip",
        "replace",    "rsplit",        "title",      "isdigit",        "find",       "is_integer", "as_tuple",
        "bit_length", "_asdict",       "_replace",   "named_children", "children",   "parameters", "named_parameters",
        "buffers",    "named_buffers", "modules",    "named_modules",  "state_dict",
    };
    pel_str text = pel_name_str(name);
    if (kind == PEL_V_TENSOR) return LISTED(text, torch_methods);
    return AMONG(text, of_containers);
}

static bool is_function_layer(pel_str path) {
    return pel_str_starts(path, PEL_STR("torch.nn.")) && AMONG(last_part(path), function_layers);
}

#define DEEPEST 8

static bool is_pure_module(const pel_log *log, pel_id id, int depth) {
    const pel_log_module *module = pel_module_at(log, id);
    const pel_log_class *class = pel_class_at(log, module->class);
    if (module->has_hooks || class->kind != PEL_CLASS_TORCH_MODULE || depth > DEEPEST) return false;
    for (uint32_t i = 0; i < module->n_arguments; i++) { /* inplace=True */
        const pel_value *value = pel_value_at(log, module->arguments[i].value);
        if (pel_name_is(module->arguments[i].name, "inplace") && value->kind == PEL_V_CONST &&
            value->constant->kind != PEL_CONST_FALSE)
            return false;
    }
    if (!pel_str_is(class->path, "torch.nn.Sequential")) return is_function_layer(class->path);
    for (uint32_t i = 0; i < module->child_names.n; i++)
        if (!module->children[i] || !is_pure_module(log, module->children[i], depth + 1)) return false;
    return true;
}

bool pel_module_pure(const pel_log *log, pel_id module) { return is_pure_module(log, module, 0); }

/* A view is its owner's memory, a cast may be what it casts, times one makes integers of flags, and outside of
 * gradients a result wants none: only these are new numbers with a point, whatever they get. */
bool pel_makes_floats(const pel_node *text) {
    static const char *const functions[] = { "cos",  "sin",   "tan",     "exp",  "log",
                                             "sqrt", "rsqrt", "sigmoid", "tanh", "erf" };
    if (text->kind == PEL_BinOp) return text->BinOp.op == PEL_Div;
    if (text->kind != PEL_Call || text->Call.func->kind != PEL_Attribute || text->Call.keywords.n) return false;
    const pel_node *func = text->Call.func;
    if (func->Attribute.value->kind == PEL_Name && pel_name_is(func->Attribute.value->Name.id, "self")) return false;
    for (size_t i = 0; i < PEL_COUNT(functions); i++)
        if (pel_name_is(func->Attribute.attr, functions[i])) return true;
    return false;
}
