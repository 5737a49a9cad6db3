/* The model tree out of its own JSON (docs/model-json.md): what `--json` wrote, or what the recorder found in a live
 * model.
 *
 * Sums are not read but made again. Fields that are absent are unknown; fields that nobody knows are passed over, so
 * that newer files can be read. */
#include "base/json_read.h"
#include "base/map.h"
#include "model/model.h"
#include "python/parse.h"

#define MAX_DEPTH 500

typedef struct reader {
    pel_ctx *ctx;
    pel_network *network;
    pel_map dtype_of; /* full name of a tensor, interned -> pel_str * */
} reader;

_Noreturn static void fail(reader *r, const pel_json_value *value, const char *what) {
    pel_throw(r->ctx, PEL_E_FORMAT, value->at, "model tree: %s", what);
}

static pel_str text_of(reader *r, const pel_json_value *object, const char *key) {
    const pel_json_value *value = pel_json_get(object, key);
    if (!value || value->kind == PEL_J_NULL) return (pel_str){ "", 0 };
    if (value->kind != PEL_J_STR) fail(r, value, pel_format(r->ctx, "\"%s\" must be a string", key).ptr);
    return value->text;
}

static const pel_json_value *list_of(reader *r, const pel_json_value *object, const char *key, pel_json_kind kind) {
    static const pel_json_value nothing = { .kind = PEL_J_ARRAY };
    const pel_json_value *value = pel_json_get(object, key);
    if (!value || value->kind == PEL_J_NULL) return &nothing;
    if (value->kind != kind)
        fail(r, value, pel_format(r->ctx, "\"%s\" must be an %s", key, kind == PEL_J_ARRAY ? "array" : "object").ptr);
    return value;
}

static pel_dim read_dim(reader *r, const pel_json_value *value) {
    if (value->kind == PEL_J_STR && value->text.len) return (pel_dim){ .symbol = value->text };
    if (value->kind != PEL_J_NUMBER || !value->is_integer) fail(r, value, "a size is a number or a symbol");
    return (pel_dim){ .size = value->integer };
}

static pel_shape read_shape(reader *r, const pel_json_value *value) {
    pel_shape shape = { 0 };
    if (!value || value->kind == PEL_J_NULL) return shape;
    if (value->kind != PEL_J_ARRAY) fail(r, value, "a shape is an array of sizes, or null");
    shape.is_known = true;
    shape.n = value->items.n;
    shape.dims = pel_new_array(r->ctx, shape.n, pel_dim);
    for (uint32_t i = 0; i < shape.n; i++) shape.dims[i] = read_dim(r, value->items.at[i]);
    return shape;
}

static uint64_t read_count(reader *r, const pel_json_value *object, const char *key) {
    const pel_json_value *value = pel_json_get(object, key);
    if (!value || value->kind == PEL_J_NULL) return 0;
    if (value->kind != PEL_J_NUMBER || !value->is_integer || value->integer < 0)
        fail(r, value, pel_format(r->ctx, "\"%s\" must be a count", key).ptr);
    return (uint64_t)value->integer;
}

static pel_place read_place(reader *r, const pel_json_value *object) {
    uint64_t line = read_count(r, object, "line");
    return (pel_place){ .file = text_of(r, object, "file"),
                        .line = line > UINT32_MAX ? 0 : (uint32_t)line,
                        .offset = read_count(r, object, "offset"),
                        .size = read_count(r, object, "size") };
}

/* ---- arguments ---- */

static pel_node *constant_node(reader *r, pel_const made) {
    pel_const *kept = pel_new(r->ctx, pel_const);
    *kept = made;
    return pel_make_constant(r->ctx, kept);
}

static pel_node *read_value(reader *r, const pel_json_value *value) {
    switch ((pel_json_kind)value->kind) {
    case PEL_J_NULL: return pel_make_none(r->ctx);
    case PEL_J_BOOL: return pel_make_constant(r->ctx, value->boolean ? &pel_true : &pel_false);
    case PEL_J_STR: return constant_node(r, (pel_const){ .kind = PEL_CONST_STR, .text = value->text });
    case PEL_J_NUMBER: {
        if (!value->is_integer) return constant_node(r, (pel_const){ .kind = PEL_CONST_FLOAT, .real = value->number });
        pel_const made = { .kind = PEL_CONST_INT };
        made.integer.small = value->integer;
        return constant_node(r, made);
    }
    case PEL_J_ARRAY: {
        pel_node *node = pel_node_new(r->ctx, PEL_Tuple);
        node->Tuple.elts = (pel_nodes){ pel_new_array(r->ctx, value->items.n, pel_node *), value->items.n };
        for (uint32_t i = 0; i < value->items.n; i++) node->Tuple.elts.at[i] = read_value(r, value->items.at[i]);
        return node;
    }
    case PEL_J_OBJECT: break;
    }
    fail(r, value, "an argument is a number, a string, a list, true, false or null");
}

static bool lists_name(const pel_json_value *names, pel_str name) {
    for (uint32_t i = 0; i < names->items.n; i++)
        if (pel_str_eq(pel_json_text(names->items.at[i]), name)) return true;
    return false;
}

typedef struct argument {
    pel_str text;
    pel_node *node;
} argument;

static void parse_argument(pel_ctx *ctx, void *arg) {
    argument *a = arg;
    pel_source source = pel_source_text(ctx, PEL_STR("argument"), a->text);
    a->node = pel_parse_expression(ctx, &source, PEL_VERSION_MAX)->Expression.body;
}

/* Source text; what is none, as <Block> for an object that has no expression, stays as it is. */
static pel_node *read_source(reader *r, pel_str text) {
    argument a = { text, NULL };
    pel_err ignored;
    if (pel_attempt(r->ctx, parse_argument, &a, &ignored)) return a.node;
    return pel_make_name(r->ctx, pel_intern_str(r->ctx, text), PEL_Load);
}

static void read_args(reader *r, const pel_json_value *from, pel_module *module) {
    const pel_json_value *args = list_of(r, from, "args", PEL_J_OBJECT);
    const pel_json_value *as_source = list_of(r, from, "source_args", PEL_J_ARRAY);
    for (uint32_t i = 0; i + 1 < args->items.n; i += 2) {
        pel_str name = args->items.at[i]->text;
        const pel_json_value *value = args->items.at[i + 1];
        pel_node *node;
        if (value->kind == PEL_J_STR && lists_name(as_source, name))
            node = read_source(r, value->text);
        else
            node = read_value(r, value);
        bool is_positional = name.len && name.ptr[0] >= '0' && name.ptr[0] <= '9';
        pel_push(r->ctx, &module->args, (pel_model_argument){ is_positional ? (pel_str){ "", 0 } : name, node });
    }
}

/* ---- modules ---- */

static void read_tensors(reader *r, const pel_json_value *from, pel_module *module, pel_str path, const char *key) {
    const pel_json_value *rows = list_of(r, from, key, PEL_J_OBJECT);
    const pel_json_value *frozen = list_of(r, from, "frozen", PEL_J_ARRAY);
    const pel_json_value *not_saved = list_of(r, from, "not_saved", PEL_J_ARRAY);
    const pel_json_value *tied = pel_json_get(from, "tied"), *full_names = pel_json_get(from, "full_names");
    const pel_json_value *only_if = pel_json_get(from, "tensor_conditions");
    bool is_parameter = key[0] == 'p';
    for (uint32_t i = 0; i + 1 < rows->items.n; i += 2) {
        pel_model_tensor tensor = { .name = rows->items.at[i]->text };
        tensor.shape = read_shape(r, rows->items.at[i + 1]);
        for (uint32_t t = 0; full_names && full_names->kind == PEL_J_OBJECT && t + 1 < full_names->items.n; t += 2)
            if (pel_str_eq(full_names->items.at[t]->text, tensor.name))
                tensor.full = pel_json_text(full_names->items.at[t + 1]);
        pel_str name = tensor.name, full = pel_tensor_name(r->ctx, r->network, path, &tensor);
        tensor.frozen = lists_name(frozen, name);
        tensor.role = is_parameter ? PEL_PARAMETER : lists_name(not_saved, name) ? PEL_VOLATILE_BUFFER : PEL_BUFFER;
        pel_str *dtype = pel_map_pointer(&r->dtype_of, PEL_KEY(pel_intern_str(r->ctx, full)));
        if (dtype) tensor.dtype = *dtype;
        for (uint32_t t = 0; tied && tied->kind == PEL_J_OBJECT && t + 1 < tied->items.n; t += 2)
            if (pel_str_eq(tied->items.at[t]->text, name)) tensor.tied_to = pel_json_text(tied->items.at[t + 1]);
        for (uint32_t t = 0; only_if && only_if->kind == PEL_J_OBJECT && t + 1 < only_if->items.n; t += 2)
            if (pel_str_eq(only_if->items.at[t]->text, name))
                tensor.condition = pel_json_text(only_if->items.at[t + 1]);
        pel_push(r->ctx, &module->tensors, tensor);
    }
}

static pel_module *read_module(reader *r, const pel_json_value *from, pel_str parent, int depth) {
    if (depth > MAX_DEPTH) pel_throw(r->ctx, PEL_E_TOO_DEEP, from->at, "modules nest deeper than %d", MAX_DEPTH);
    if (from->kind != PEL_J_OBJECT) fail(r, from, "a module is an object");
    pel_module *module = pel_module_new(r->ctx, text_of(r, from, "name"), text_of(r, from, "class"));
    pel_str path = depth ? pel_full_name(r->ctx, r->network, parent, module->name) : (pel_str){ "", 0 };
    read_args(r, from, module);
    read_tensors(r, from, module, path, "parameters");
    read_tensors(r, from, module, path, "buffers");
    const pel_json_value *repeat = pel_json_get(from, "repeat");
    if (repeat && repeat->kind != PEL_J_NULL) module->repeat = read_dim(r, repeat);
    module->condition = text_of(r, from, "condition");
    const pel_json_value *opaque = pel_json_get(from, "opaque");
    module->is_opaque = opaque && opaque->kind == PEL_J_BOOL;
    module->shared_with = text_of(r, from, "shared_with");
    module->output = read_shape(r, pel_json_get(from, "output"));
    const pel_json_value *flops = pel_json_get(from, "flops");
    if (flops && flops->kind == PEL_J_NUMBER) module->flops = flops->number;
    module->origin = read_place(r, pel_json_get(from, "origin"));
    const pel_json_value *children = list_of(r, from, "children", PEL_J_ARRAY);
    for (uint32_t i = 0; i < children->items.n; i++)
        pel_push(r->ctx, &module->children, read_module(r, children->items.at[i], path, depth + 1));
    return module;
}

static void read_dtypes(reader *r, const pel_json_value *network) {
    const pel_json_value *rows = list_of(r, network, "dtypes", PEL_J_OBJECT);
    r->dtype_of = (pel_map){ 0 };
    for (uint32_t i = 0; i + 1 < rows->items.n; i += 2) {
        pel_str name = rows->items.at[i]->text;
        pel_str *kept = pel_new(r->ctx, pel_str);
        *kept = pel_json_text(rows->items.at[i + 1]);
        pel_map_set(r->ctx, &r->dtype_of, PEL_KEY(pel_intern_str(r->ctx, name)), PEL_KEY(kept));
    }
}

static pel_unknown read_unknown(reader *r, const pel_json_value *from) {
    pel_unknown row = { .what = text_of(r, from, "what"),
                        .why = text_of(r, from, "why"),
                        .place = read_place(r, from) };
    const pel_json_value *also = pel_json_get(from, "also");
    if (also && also->kind == PEL_J_OBJECT) row.also = read_place(r, also);
    const pel_json_value *lost = pel_json_get(from, "lost");
    row.is_lost = lost && lost->kind == PEL_J_BOOL && lost->boolean;
    const pel_json_value *in_parts = pel_json_get(from, "in_parts");
    row.in_parts = in_parts && in_parts->kind == PEL_J_BOOL && in_parts->boolean;
    return row;
}

/* Separator and dtypes come before the tree: modules build the full names of tensors with the one, and look up the
 * other by these names. Totals are computed again, but for roles_known: the tree does not have it. */
static pel_network *read_network(reader *r, const pel_json_value *from) {
    if (from->kind != PEL_J_OBJECT) fail(r, from, "a network is an object");
    pel_network *network = pel_network_new(r->ctx, text_of(r, from, "name"));
    network->format = text_of(r, from, "format");
    r->network = network;
    pel_str separator = text_of(r, from, "separator");
    if (separator.len) network->separator = separator.ptr[0];
    read_dtypes(r, from);
    const pel_json_value *tree = list_of(r, from, "tree", PEL_J_ARRAY);
    if (tree->items.n > 1) fail(r, tree, "a network has one root");
    if (tree->items.n) network->root = read_module(r, tree->items.at[0], (pel_str){ "", 0 }, 0);
    const pel_json_value *flow = list_of(r, from, "flow", PEL_J_ARRAY);
    for (uint32_t i = 0; i < flow->items.n; i++) {
        const pel_json_value *row = flow->items.at[i];
        pel_push(
            r->ctx, &network->flow,
            (pel_flow){ text_of(r, row, "from"), text_of(r, row, "to"), read_shape(r, pel_json_get(row, "shape")) });
    }
    const pel_json_value *totals = pel_json_get(from, "totals");
    const pel_json_value *roles = totals && totals->kind == PEL_J_OBJECT ? pel_json_get(totals, "roles_known") : NULL;
    network->roles_unknown = roles && roles->kind == PEL_J_BOOL && !roles->boolean;
    const pel_json_value *values = list_of(r, from, "values", PEL_J_ARRAY);
    for (uint32_t i = 0; i < values->items.n; i++) {
        const pel_json_value *row = values->items.at[i];
        pel_push(r->ctx, &network->values, (pel_file_value){ text_of(r, row, "name"), text_of(r, row, "value") });
    }
    const pel_json_value *facts = list_of(r, from, "facts", PEL_J_ARRAY);
    for (uint32_t i = 0; i < facts->items.n; i++) {
        const pel_json_value *row = facts->items.at[i];
        pel_push(r->ctx, &network->facts,
                 (pel_fact){ text_of(r, row, "what"), text_of(r, row, "value"), text_of(r, row, "from") });
    }
    const pel_json_value *unknown = list_of(r, from, "unknown", PEL_J_ARRAY);
    for (uint32_t i = 0; i < unknown->items.n; i++)
        pel_push(r->ctx, &network->unknown, read_unknown(r, unknown->items.at[i]));
    const pel_json_value *assumed = list_of(r, from, "assumed", PEL_J_ARRAY);
    for (uint32_t i = 0; i < assumed->items.n; i++)
        pel_push(r->ctx, &network->premises, read_unknown(r, assumed->items.at[i]));
    const pel_json_value *errors = list_of(r, from, "errors", PEL_J_ARRAY);
    for (uint32_t i = 0; i < errors->items.n; i++)
        pel_push(r->ctx, &network->errors, read_unknown(r, errors->items.at[i]));
    return network;
}

pel_networks pel_networks_read(pel_ctx *ctx, pel_str text) {
    reader r = { .ctx = ctx };
    pel_networks networks = { 0 };
    const pel_json_value *file = pel_json_read(ctx, text, 0);
    const pel_json_value *rows = pel_json_get(file, "networks");
    if (!rows || rows->kind != PEL_J_ARRAY) fail(&r, file, "there is no list \"networks\"");
    for (uint32_t i = 0; i < rows->items.n; i++) pel_push(ctx, &networks, read_network(&r, rows->items.at[i]));
    return networks;
}
