/* The config of a Keras model becomes steps: each layer is written as what torch has for it, with Keras's semantics. A
 * layer that no form knows, and a setting that a form does not know, are refused by name. */
#include "source/keras.h"

#define MAX_LEVELS 30
#define MAX_LAYERS 20000
#define MAX_PASSES 200

typedef pel_json_node json;

_Noreturn void pel_keras_refuse(pel_keras *k, const char *why) {
    pel_throw(k->ctx, PEL_E_UNSUPPORTED, 0, "source from a file: Keras layer %.*s%s%.*s: %s",
              (int)(k->class.len < 80 ? k->class.len : 80), k->class.ptr, k->path.len ? " " : "",
              (int)(k->path.len < 100 ? k->path.len : 100), k->path.ptr, why);
}

/* ---- the config of a layer ---- */

json *pel_keras_given(pel_keras *k, const char *name) {
    json *value = pel_json_get(k->config, name);
    return value && value->kind != PEL_J_NULL ? value : NULL;
}

int64_t pel_keras_int(pel_keras *k, const char *name, int64_t otherwise) {
    json *value = pel_keras_given(k, name);
    if (!value) return otherwise;
    if (value->kind == PEL_J_ARRAY && value->items.n == 1) value = value->items.at[0];
    if (value->kind != PEL_J_NUMBER || !value->is_integer || value->integer > INT32_MAX || value->integer < -INT32_MAX)
        pel_keras_refuse(k, pel_format(k->ctx, "its %s is no number of a plain size%c", name, 0).ptr);
    return value->integer;
}

double pel_keras_real(pel_keras *k, const char *name, double otherwise) {
    json *value = pel_keras_given(k, name);
    if (!value) return otherwise;
    if (value->kind != PEL_J_NUMBER) pel_keras_refuse(k, pel_format(k->ctx, "its %s is no number%c", name, 0).ptr);
    return value->is_integer ? (double)value->integer : value->number;
}

bool pel_keras_flag(pel_keras *k, const char *name, bool otherwise) {
    json *value = pel_keras_given(k, name);
    if (!value) return otherwise;
    if (value->kind != PEL_J_BOOL) pel_keras_refuse(k, pel_format(k->ctx, "its %s is no bool%c", name, 0).ptr);
    return value->boolean;
}

pel_str pel_keras_word(pel_keras *k, const char *name, const char *otherwise) {
    json *value = pel_keras_given(k, name);
    if (!value) return pel_str_of(otherwise);
    if (value->kind != PEL_J_STR) pel_keras_refuse(k, pel_format(k->ctx, "its %s is no text%c", name, 0).ptr);
    return value->text;
}

void pel_keras_sizes(pel_keras *k, const char *name, int64_t otherwise, int64_t *out, uint32_t n) {
    json *value = pel_keras_given(k, name);
    for (uint32_t i = 0; i < n; i++) {
        json *item = value && value->kind == PEL_J_ARRAY ? (value->items.n == n ? value->items.at[i] : NULL) : value;
        bool is_number =
            item && item->kind == PEL_J_NUMBER && item->is_integer && item->integer > 0 && item->integer < INT32_MAX;
        if (value && !is_number)
            pel_keras_refuse(k, pel_format(k->ctx, "its %s is not a size for each dimension%c", name, 0).ptr);
        out[i] = value ? item->integer : otherwise;
    }
}

/* ---- writing ---- */

pel_node *pel_keras_ints(pel_keras *k, const int64_t *numbers, uint32_t n) {
    pel_node *list = pel_node_new(k->ctx, PEL_List);
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(k->ctx, &list->List.elts, pel_make_int(k->ctx, numbers[i]));
    return list;
}

pel_node *pel_keras_number(pel_keras *k, double value) {
    return pel_make_constant(k->ctx, pel_const_float(k->ctx, value));
}

pel_node *pel_keras_text(pel_keras *k, const char *text, pel_node *first, pel_node *second, pel_node *third) {
    pel_node *given[] = { first, second, third };
    pel_node *call = pel_make_call(k->ctx, pel_name_node(k->ctx, "_"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    for (uint32_t i = 0; i < 3 && given[i]; i++) pel_nodes_push(k->ctx, &call->Call.args, given[i]);
    pel_node *node = pel_fill_row(k->ctx, text, call, "");
    if (!node) pel_keras_refuse(k, "its arguments do not fit");
    return node;
}

pel_node *pel_keras_read(pel_keras *k, const pel_keras_value *value) {
    return pel_make_name(k->ctx, value->name, PEL_Load);
}

static pel_keras_value *bind_step(pel_keras *k, const pel_keras_value *like, pel_node *value, pel_step step) {
    pel_keras_value *out = pel_new(k->ctx, pel_keras_value);
    *out = *like;
    out->other = NULL;
    if (value->kind == PEL_Name) { /* it does nothing */
        out->name = value->Name.id;
        return out;
    }
    out->name = pel_intern_str(k->ctx, pel_format(k->ctx, "%u", ++k->n_values));
    step.call = value;
    step.results = (pel_values){ 0 };
    pel_push(k->ctx, &step.results, out->name);
    pel_push(k->ctx, &k->e.steps, step);
    return out;
}

pel_keras_value *pel_keras_bind(pel_keras *k, const pel_keras_value *like, pel_node *value) {
    return bind_step(k, like, value, k->step);
}

static void push_frame(pel_keras *k, pel_step *step, pel_str path) {
    uint64_t key = PEL_KEY(pel_intern_str(k->ctx, path)), count = pel_map_find(&k->calls, key, 0);
    pel_map_set(k->ctx, &k->calls, key, count + 1);
    pel_str name = pel_format(k->ctx, "%.*s@%llu", PEL_FMT(path), (unsigned long long)count);
    pel_push(k->ctx, &step->stack, (pel_frame){ pel_intern_str(k->ctx, name), path });
}

static pel_step copied(pel_keras *k, const pel_step *step) {
    pel_step out = { .at = step->at };
    for (uint32_t i = 0; i < step->stack.n; i++) pel_push(k->ctx, &out.stack, step->stack.at[i]);
    return out;
}

pel_keras_value *pel_keras_bind_in(pel_keras *k, const pel_keras_value *like, pel_node *value, const char *below) {
    pel_step step = copied(k, &k->step);
    push_frame(k, &step, *below ? pel_format(k->ctx, "%.*s.%s", PEL_FMT(k->here), below) : k->here);
    return bind_step(k, like, value, step);
}

static pel_keras_value *turned(pel_keras *k, pel_keras_value *value, bool to_first) {
    if (value->n < 3 || value->is_first == to_first) return value;
    pel_keras_value like = *value;
    like.is_first = to_first;
    if (value->other) {
        pel_keras_value *out = pel_new(k->ctx, pel_keras_value);
        *out = like;
        out->name = value->other;
        out->other = value->name;
        return out;
    }
    int64_t order[PEL_KERAS_DIMS] = { 0, to_first ? (int64_t)value->n - 1 : 2 };
    for (uint32_t i = 1; i < value->n; i++)
        order[i] =
            to_first ? (i == 1 ? (int64_t)value->n - 1 : (int64_t)i - 1) : (i + 1 == value->n ? 1 : (int64_t)i + 1);
    pel_node *node = pel_keras_text(k, "aten.permute.default(_0, _1)", pel_keras_read(k, value),
                                    pel_keras_ints(k, order, value->n), NULL);
    pel_keras_value *out = pel_keras_bind(k, &like, node);
    value->other = out->name;
    out->other = value->name;
    return out;
}

pel_keras_value *pel_keras_first(pel_keras *k, pel_keras_value *value) { return turned(k, value, true); }
pel_keras_value *pel_keras_last(pel_keras *k, pel_keras_value *value) { return turned(k, value, false); }

/* ---- names ---- */

/* "block1/conv 1" is block1_conv_1 here: a name that Python has, below its model's. */
static pel_str place_of(pel_keras *k, pel_str parent, pel_str path, pel_str name) {
    uint64_t key = PEL_KEY(pel_intern_str(k->ctx, path));
    pel_str *known = pel_map_pointer(&k->paths, key);
    if (known) return *known;
    char *text = pel_alloc_raw(k->ctx, name.len + 2);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i);
        text[i] = is_letter ? c : '_';
    }
    pel_str word = { text, name.len };
    static const char *const own[] = { "forward",    "training", "type",  "to",     "half",     "float",
                                       "double",     "eval",     "train", "apply",  "children", "modules",
                                       "parameters", "buffers",  "cpu",   "compile" };
    for (size_t i = 0; i < PEL_COUNT(own); i++)
        if (pel_str_is(word, own[i])) word = pel_format(k->ctx, "%s_layer", own[i]);
    if (!pel_is_identifier(word)) word = pel_format(k->ctx, "layer_%.*s", PEL_FMT(word));
    pel_str full = parent.len ? pel_format(k->ctx, "%.*s.%.*s", PEL_FMT(parent), PEL_FMT(word)) : word, base = full;
    for (unsigned i = 2; !pel_map_set(k->ctx, &k->taken, PEL_KEY(pel_intern_str(k->ctx, full)), 1); i++)
        full = pel_format(k->ctx, "%.*s_%u", PEL_FMT(base), i);
    known = pel_new(k->ctx, pel_str);
    *known = full;
    pel_map_set(k->ctx, &k->paths, key, PEL_KEY(known));
    return full;
}

static pel_str name_of(json *layer) {
    pel_str name = pel_json_text(pel_json_get(pel_json_get(layer, "config"), "name"));
    return name.len ? name : pel_json_text(pel_json_get(layer, "name"));
}

static pel_str join(pel_keras *k, pel_str path, pel_str name) {
    return path.len ? pel_format(k->ctx, "%.*s/%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
}

static json *layers_of(json *model) {
    json *config = pel_json_get(model, "config");
    json *layers = config && config->kind == PEL_J_ARRAY ? config : pel_json_get(config, "layers");
    return layers && layers->kind == PEL_J_ARRAY && layers->items.n <= MAX_LAYERS ? layers : NULL;
}

/* ---- inputs ---- */

/* Sizes of an InputLayer; a Sequential may have them in its first layer, or nowhere. */
static void read_sizes(pel_keras *k, json *config, pel_keras_value *value) {
    json *shape = pel_json_get(config, "batch_shape");
    if (!shape || shape->kind != PEL_J_ARRAY) shape = pel_json_get(config, "batch_input_shape");
    if (!shape || shape->kind != PEL_J_ARRAY || !shape->items.n || shape->items.n > PEL_KERAS_DIMS)
        pel_keras_refuse(k, "the model does not say what its inputs are");
    value->n = shape->items.n;
    for (uint32_t i = 0; i < value->n; i++) {
        json *size = shape->items.at[i];
        value->sizes[i] = i && size->kind == PEL_J_NUMBER && size->is_integer ? size->integer : -1;
    }
    pel_str dtype = pel_json_text(pel_json_get(config, "dtype"));
    value->is_whole = pel_str_starts(dtype, PEL_STR("int")) || pel_str_starts(dtype, PEL_STR("uint"));
    if (dtype.len && !value->is_whole && !pel_str_is(dtype, "float32"))
        pel_keras_refuse(k, "an input that is neither float32 nor whole");
}

static bool is_input(json *layer) { return pel_str_is(pel_json_text(pel_json_get(layer, "class_name")), "InputLayer"); }

static pel_keras_value *new_input(pel_keras *k, pel_str name, json *config) {
    pel_keras_value *value = pel_new(k->ctx, pel_keras_value);
    read_sizes(k, config, value);
    pel_str place = place_of(k, (pel_str){ "", 0 }, pel_format(k->ctx, "(input) %.*s", PEL_FMT(name)), name);
    static const char *const reserved[] = { "self", "torch", "nn", "F", "float", "math", "getattr" };
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        if (pel_str_is(place, reserved[i])) place = pel_format(k->ctx, "%s_input", reserved[i]);
    value->name = pel_intern_str(k->ctx, place);
    pel_push(k->ctx, &k->e.inputs, value->name);
    return value;
}

/* ---- models ---- */

static pel_keras_value *call_sequential(pel_keras *k, json *model, pel_str path, pel_keras_values in) {
    json *layers = layers_of(model);
    pel_keras_value *value = in.n == 1 ? in.at[0] : NULL;
    for (uint32_t i = 0; layers && i < layers->items.n; i++) {
        json *layer = layers->items.at[i];
        if (is_input(layer) && !i) continue;
        if (!value) break;
        pel_keras_values one = { 0 };
        pel_push(k->ctx, &one, value);
        value = pel_keras_call(k, layer, join(k, path, name_of(layer)), one);
    }
    if (!layers || !value) pel_keras_refuse(k, "a Sequential that does not take one input");
    return value;
}

typedef struct graph {
    pel_map values; /* "layer 0 0" -> pel_keras_value */
    pel_map done;   /* "layer 0" -> 1 */
    json *layers;
} graph;

static uint64_t node_key(pel_keras *k, pel_str layer, int64_t node, int64_t result) {
    return PEL_KEY(pel_intern_str(
        k->ctx, pel_format(k->ctx, "%.*s %lld %lld", PEL_FMT(layer), (long long)node, (long long)result)));
}

/* ["dense", 0, 0] of a list of results, or of older files' nodes. */
static bool is_reference(json *row) {
    return row && row->kind == PEL_J_ARRAY && row->items.n >= 3 && row->items.at[0]->kind == PEL_J_STR &&
           row->items.at[1]->kind == PEL_J_NUMBER && row->items.at[2]->kind == PEL_J_NUMBER;
}

static pel_keras_value *value_at(pel_keras *k, graph *g, json *row) {
    if (row->items.at[2]->integer != 0) pel_keras_refuse(k, "another result than its first is used");
    return pel_map_pointer(&g->values, node_key(k, row->items.at[0]->text, row->items.at[1]->integer, 0));
}

/* Tensors among the arguments of a call, in order. False: one of them is not there yet. */
static bool collect(pel_keras *k, graph *g, json *item, pel_keras_values *out, int depth) {
    if (depth > 8) pel_keras_refuse(k, "arguments nest too deep");
    json *history = pel_json_get(pel_json_get(item, "config"), "keras_history");
    if (pel_str_is(pel_json_text(pel_json_get(item, "class_name")), "__keras_tensor__") || is_reference(item)) {
        json *row = history ? history : item;
        if (!is_reference(row)) pel_keras_refuse(k, "a tensor of no known form");
        pel_keras_value *value = value_at(k, g, row);
        if (value) pel_push(k->ctx, out, value);
        return value != NULL;
    }
    bool is_operation = pel_str_find(pel_json_text(pel_json_get(k->layer, "module")), PEL_STR(".ops")) != NULL;
    if (item->kind == PEL_J_NUMBER && is_operation) {
        pel_keras_value *number = pel_new(k->ctx, pel_keras_value);
        number->number = item->is_integer ? (double)item->integer : item->number;
        pel_push(k->ctx, out, number);
        return true;
    }
    if (item->kind != PEL_J_ARRAY) pel_keras_refuse(k, "an argument that is no tensor");
    for (uint32_t i = 0; i < item->items.n; i++)
        if (!collect(k, g, item->items.at[i], out, depth + 1)) return false;
    return true;
}

/* Arguments by name that change nothing; MultiHeadAttention's value and key are tensors by name in many files. */
static bool collect_named(pel_keras *k, graph *g, json *named, pel_keras_values *out) {
    for (uint32_t i = 0; named && named->kind == PEL_J_OBJECT && i + 1 < named->items.n; i += 2) {
        pel_str name = named->items.at[i]->text;
        json *value = named->items.at[i + 1];
        bool is_off = value->kind == PEL_J_NULL || (value->kind == PEL_J_BOOL && !value->boolean);
        if (is_off) continue;
        bool is_value = pel_str_is(name, "value") && out->n == 1;
        if (!is_value) pel_keras_refuse(k, pel_format(k->ctx, "it is called with %.*s%c", PEL_FMT(name), 0).ptr);
        if (!collect(k, g, value, out, 0)) return false;
    }
    return true;
}

/* One call of a layer: {"args": [...], "kwargs": {...}}, or rows [name, node, result, {...}] before Keras 3. */
static bool read_call(pel_keras *k, graph *g, json *node, pel_keras_values *in) {
    json *args = pel_json_get(node, "args");
    if (node->kind == PEL_J_OBJECT) {
        for (uint32_t i = 0; args && args->kind == PEL_J_ARRAY && i < args->items.n; i++)
            if (args->items.at[i]->kind != PEL_J_NULL && !collect(k, g, args->items.at[i], in, 0)) return false;
        return collect_named(k, g, pel_json_get(node, "kwargs"), in);
    }
    for (uint32_t i = 0; node->kind == PEL_J_ARRAY && i < node->items.n; i++) {
        json *row = node->items.at[i];
        if (!is_reference(row)) pel_keras_refuse(k, "a call of no known form");
        if (!collect(k, g, row, in, 0)) return false;
        if (row->items.n > 3 && !collect_named(k, g, row->items.at[3], in)) return false;
    }
    return true;
}

static void enter(pel_keras *k, json *layer, pel_str path) {
    k->layer = layer;
    k->config = pel_json_get(layer, "config");
    k->class = pel_json_text(pel_json_get(layer, "class_name"));
    k->path = path;
}

/* Whether a call that was not possible before was made. */
static bool call_layer(pel_keras *k, graph *g, json *layer, pel_str path) {
    json *nodes = pel_json_get(layer, "inbound_nodes");
    pel_str name = name_of(layer);
    bool any = false;
    for (uint32_t i = 0; nodes && nodes->kind == PEL_J_ARRAY && i < nodes->items.n && !is_input(layer); i++) {
        uint64_t key = node_key(k, name, i, 0);
        if (pel_map_has(&g->values, key)) continue;
        pel_keras_values in = { 0 };
        enter(k, layer, join(k, path, name));
        if (!read_call(k, g, nodes->items.at[i], &in)) continue;
        pel_map_set(k->ctx, &g->values, key, PEL_KEY(pel_keras_call(k, layer, join(k, path, name), in)));
        any = true;
    }
    return any;
}

static void bind_inputs(pel_keras *k, graph *g, json *rows, pel_keras_values in) {
    if (is_reference(rows) && in.n == 1) {
        pel_map_set(k->ctx, &g->values, node_key(k, rows->items.at[0]->text, 0, 0), PEL_KEY(in.at[0]));
        return;
    }
    if (!rows || rows->kind != PEL_J_ARRAY || rows->items.n != in.n)
        pel_keras_refuse(k, "a model that is called with another number of inputs");
    for (uint32_t i = 0; i < in.n; i++) {
        if (!is_reference(rows->items.at[i])) pel_keras_refuse(k, "an input of no known form");
        pel_map_set(k->ctx, &g->values, node_key(k, rows->items.at[i]->items.at[0]->text, 0, 0), PEL_KEY(in.at[i]));
    }
}

/* Layers stand in no order that their calls follow where one is shared, so passes are made until none can be called. */
static pel_keras_values call_functional(pel_keras *k, json *model, pel_str path, pel_keras_values in) {
    json *config = pel_json_get(model, "config"), *outputs = pel_json_get(config, "output_layers");
    graph g = { .layers = layers_of(model) };
    if (!g.layers) pel_keras_refuse(k, "a model without layers");
    bind_inputs(k, &g, pel_json_get(config, "input_layers"), in);
    bool any = true;
    for (int pass = 0; any; pass++) {
        if (pass == MAX_PASSES) pel_keras_refuse(k, "its layers are in no order that ends");
        any = false;
        for (uint32_t i = 0; i < g.layers->items.n; i++) any |= call_layer(k, &g, g.layers->items.at[i], path);
    }
    pel_keras_values out = { 0 };
    enter(k, model, path);
    for (uint32_t i = 0; outputs && outputs->kind == PEL_J_ARRAY && i < (is_reference(outputs) ? 1 : outputs->items.n);
         i++) {
        json *row = is_reference(outputs) ? outputs : outputs->items.at[i];
        pel_keras_value *value = is_reference(row) ? value_at(k, &g, row) : NULL;
        if (!value) pel_keras_refuse(k, "a result that no layer gives");
        pel_push(k->ctx, &out, value);
    }
    if (!out.n) pel_keras_refuse(k, "a model without results");
    return out;
}

static bool is_model(pel_str class) {
    return pel_str_is(class, "Functional") || pel_str_is(class, "Model") || pel_str_is(class, "Sequential");
}

static pel_keras_values call_model(pel_keras *k, json *model, pel_str path, pel_keras_values in) {
    if (++k->depth > MAX_LEVELS) pel_keras_refuse(k, "models nest too deep");
    pel_keras_values out = { 0 };
    if (pel_str_is(pel_json_text(pel_json_get(model, "class_name")), "Sequential"))
        pel_push(k->ctx, &out, call_sequential(k, model, path, in));
    else
        out = call_functional(k, model, path, in);
    k->depth--;
    return out;
}

/* float32, or a policy of that name; nothing that is quantised or of two precisions. */
static void check_dtype(pel_keras *k) {
    json *dtype = pel_keras_given(k, "dtype");
    pel_str name = pel_json_text(dtype);
    if (!name.len) name = pel_json_text(pel_json_get(pel_json_get(dtype, "config"), "name"));
    if (dtype && !pel_str_is(name, "float32")) pel_keras_refuse(k, "a dtype other than float32");
    if (pel_keras_given(k, "quantization_config")) pel_keras_refuse(k, "it is quantised");
    pel_str order = pel_keras_word(k, "data_format", "channels_last");
    if (!pel_str_is(order, "channels_last")) pel_keras_refuse(k, "its channels are not last");
}

/* Numbers may stand where operations take them, and nowhere else. */
static void refuse_numbers(pel_keras *k) {
    static const char *const takers[] = { "Add", "Subtract", "Multiply", "Divide", "TrueDivide" };
    bool takes = false;
    for (size_t i = 0; i < PEL_COUNT(takers); i++) takes |= pel_str_is(k->class, takers[i]);
    for (uint32_t i = 0; i < k->in.n; i++)
        if (!k->in.at[i]->name && !takes) pel_keras_refuse(k, "it is called with a number");
}

/* What is written is the layer that k says, so what it said before is put back. Models that are called here have a part
 * of their own. */
pel_keras_value *pel_keras_call(pel_keras *k, json *layer, pel_str path, pel_keras_values in) {
    pel_json_node *outer = k->layer, *outer_config = k->config;
    pel_str outer_class = k->class, outer_path = k->path, outer_here = k->here;
    pel_keras_values outer_in = k->in;
    pel_step outer_step = k->step;
    enter(k, layer, path);
    pel_str parent = k->step.stack.at[k->step.stack.n - 1].path;
    k->here = place_of(k, parent, path, name_of(layer));
    k->in = in;
    pel_keras_value *value = NULL;
    refuse_numbers(k);
    if (is_model(k->class)) {
        k->step = copied(k, &outer_step);
        push_frame(k, &k->step, k->here);
        for (uint32_t i = 0; i < in.n; i++) in.at[i] = pel_keras_last(k, in.at[i]);
        pel_keras_values out = call_model(k, layer, path, in);
        if (out.n != 1) pel_keras_refuse(k, "a model inside of another has more than one result");
        value = pel_keras_last(k, out.at[0]);
    } else {
        pel_keras_form *form = pel_keras_form_of(k->class);
        if (!form) pel_keras_refuse(k, "no rule writes it");
        if (!in.n) pel_keras_refuse(k, "it is called without a tensor");
        check_dtype(k);
        value = form(k);
        if (!value) pel_keras_refuse(k, "its settings are of a form that no rule writes");
    }
    k->layer = outer;
    k->config = outer_config;
    k->class = outer_class;
    k->path = outer_path;
    k->here = outer_here;
    k->in = outer_in;
    k->step = outer_step;
    return value;
}

/* ---- the file ---- */

static pel_keras_values inputs_of(pel_keras *k, json *model) {
    json *layers = layers_of(model), *rows = pel_json_get(pel_json_get(model, "config"), "input_layers");
    pel_keras_values in = { 0 };
    if (!layers || !layers->items.n) pel_keras_refuse(k, "a model without layers");
    bool is_row = pel_str_is(k->class, "Sequential");
    if (is_row) {
        pel_push(k->ctx, &in, new_input(k, PEL_STR("x"), pel_json_get(layers->items.at[0], "config")));
        return in;
    }
    for (uint32_t r = 0; rows && rows->kind == PEL_J_ARRAY && r < (is_reference(rows) ? 1 : rows->items.n); r++) {
        json *row = is_reference(rows) ? rows : rows->items.at[r], *found = NULL;
        for (uint32_t i = 0; is_reference(row) && i < layers->items.n; i++)
            if (pel_str_eq(name_of(layers->items.at[i]), row->items.at[0]->text)) found = layers->items.at[i];
        if (!found) pel_keras_refuse(k, "an input that is no layer");
        pel_push(k->ctx, &in, new_input(k, name_of(found), pel_json_get(found, "config")));
    }
    return in;
}

bool pel_recover_keras(pel_recovery *r) {
    json *model = r->loaded->keras_config;
    if (!model) return false;
    pel_keras k = { .ctx = r->ctx, .r = r, .e = { .r = r } };
    pel_str version = r->loaded->keras_version;
    k.major = version.len ? version.ptr[0] - '0' : 0;
    r->root = pel_part_make(r, (pel_str){ "", 0 });
    r->finds_modules = r->needs_conversion = true;
    r->producer = version.len ? pel_format(r->ctx, "Keras %.*s", PEL_FMT(version)) : PEL_STR("Keras");
    enter(&k, model, (pel_str){ "", 0 });
    if (!is_model(k.class)) pel_keras_refuse(&k, "a class of its own: the config does not say what it computes");
    pel_keras_find_tensors(&k);
    pel_push(r->ctx, &k.step.stack, (pel_frame){ pel_intern_c(r->ctx, ""), { "", 0 } });
    pel_keras_values out = call_model(&k, model, (pel_str){ "", 0 }, inputs_of(&k, model));
    pel_node *row = pel_node_new(r->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < out.n; i++)
        pel_nodes_push(r->ctx, &row->Tuple.elts, pel_keras_read(&k, pel_keras_last(&k, out.at[i])));
    k.e.output = out.n == 1 ? row->Tuple.elts.at[0] : row;
    pel_push(r->ctx, &r->notes, PEL_STR("Inputs and results have their channels last, as in Keras"));
    pel_export_methods(&k.e);
    return true;
}
