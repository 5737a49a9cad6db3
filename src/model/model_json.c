/* The model tree as JSON, the same for every command that gives one. */
#include "model/model.h"
#include "python/print.h"

static void put_dim(pel_json *json, pel_dim dim) {
    if (dim.symbol.len)
        pel_json_str(json, dim.symbol);
    else
        pel_json_int(json, dim.size);
}

static void put_shape(pel_json *json, const pel_shape *shape) {
    if (!shape->is_known) {
        pel_json_null(json);
        return;
    }
    pel_json_array(json);
    for (uint32_t i = 0; i < shape->n; i++) put_dim(json, shape->dims[i]);
    pel_json_end_array(json);
}

/* A number, true, false, None or a string. */
static bool put_constant(pel_json *json, const pel_node *value) {
    bool negative = value->kind == PEL_UnaryOp && value->UnaryOp.op == PEL_USub;
    if (negative) value = value->UnaryOp.operand;
    if (value->kind != PEL_Constant) return false;
    const pel_const *c = value->Constant.value;
    if (c->kind == PEL_CONST_INT && !c->integer.digits.len)
        pel_json_int(json, negative ? -c->integer.small : c->integer.small);
    else if (c->kind == PEL_CONST_FLOAT)
        pel_json_double(json, negative ? -c->real : c->real);
    else if (negative)
        return false;
    else if (c->kind == PEL_CONST_TRUE || c->kind == PEL_CONST_FALSE)
        pel_json_bool(json, c->kind == PEL_CONST_TRUE);
    else if (c->kind == PEL_CONST_NONE)
        pel_json_null(json);
    else if (c->kind == PEL_CONST_STR)
        pel_json_str(json, c->text);
    else
        return false;
    return true;
}

static bool is_plain(const pel_node *value) {
    if (value->kind == PEL_UnaryOp && value->UnaryOp.op == PEL_USub) value = value->UnaryOp.operand;
    if (value->kind != PEL_Tuple && value->kind != PEL_List) return value->kind == PEL_Constant;
    pel_nodes items = value->kind == PEL_Tuple ? value->Tuple.elts : value->List.elts;
    for (uint32_t i = 0; i < items.n; i++)
        if (!is_plain(items.at[i])) return false;
    return true;
}

/* Plain values as JSON has them, all else as source text. */
static void put_value(pel_ctx *ctx, pel_json *json, pel_node *value) {
    if (put_constant(json, value)) return;
    if ((value->kind == PEL_Tuple || value->kind == PEL_List) && is_plain(value)) {
        pel_nodes items = value->kind == PEL_Tuple ? value->Tuple.elts : value->List.elts;
        pel_json_array(json);
        for (uint32_t i = 0; i < items.n; i++) put_value(ctx, json, items.at[i]);
        pel_json_end_array(json);
        return;
    }
    pel_buf text = pel_buf_in(ctx);
    const pel_print_options options = { .one_line = true };
    pel_print(ctx, value, &options, &text);
    pel_json_str(json, pel_buf_str(&text));
}

static void put_place(pel_json *json, const pel_place *place) {
    pel_json_object(json);
    if (place->file.len) pel_json_key(json, "file"), pel_json_str(json, place->file);
    if (place->line) pel_json_key(json, "line"), pel_json_int(json, place->line);
    if (place->size) {
        pel_json_key(json, "offset"), pel_json_int(json, (int64_t)place->offset);
        pel_json_key(json, "size"), pel_json_int(json, (int64_t)place->size);
    }
    pel_json_end_object(json);
}

static pel_str argument_name(pel_ctx *ctx, const pel_module *module, uint32_t i) {
    return module->args.at[i].name.len ? module->args.at[i].name : pel_format(ctx, "%u", i);
}

static void put_args(pel_ctx *ctx, pel_json *json, const pel_module *module) {
    pel_json_object(json);
    for (uint32_t i = 0; i < module->args.n; i++) {
        pel_json_key_str(json, argument_name(ctx, module, i));
        put_value(ctx, json, module->args.at[i].value);
    }
    pel_json_end_object(json);
}

/* The arguments whose strings are source text, not Python strings. */
static void put_source_args(pel_ctx *ctx, pel_json *json, const pel_module *module) {
    bool is_open = false;
    for (uint32_t i = 0; i < module->args.n; i++) {
        if (is_plain(module->args.at[i].value)) continue;
        if (!is_open) pel_json_key(json, "source_args"), pel_json_array(json);
        is_open = true;
        pel_json_str(json, argument_name(ctx, module, i));
    }
    if (is_open) pel_json_end_array(json);
}

static void put_tensors(pel_json *json, const pel_module *module, const char *key, bool parameters) {
    pel_json_key(json, key);
    pel_json_object(json);
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        if ((tensor->role == PEL_PARAMETER) != parameters) continue;
        pel_json_key_str(json, tensor->name);
        put_shape(json, &tensor->shape);
    }
    pel_json_end_object(json);
}

static bool is_frozen(const pel_model_tensor *tensor) { return tensor->frozen; }
static bool is_volatile(const pel_model_tensor *tensor) { return tensor->role == PEL_VOLATILE_BUFFER; }

static void put_names(pel_json *json, const pel_module *module, const char *key,
                      bool (*has)(const pel_model_tensor *)) {
    bool is_open = false;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        if (!has(&module->tensors.at[i])) continue;
        if (!is_open) pel_json_key(json, key), pel_json_array(json);
        is_open = true;
        pel_json_str(json, module->tensors.at[i].name);
    }
    if (is_open) pel_json_end_array(json);
}

static void put_ties(pel_json *json, const pel_module *module) {
    bool is_open = false;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        if (!module->tensors.at[i].tied_to.len) continue;
        if (!is_open) pel_json_key(json, "tied"), pel_json_object(json);
        is_open = true;
        pel_json_key_str(json, module->tensors.at[i].name);
        pel_json_str(json, module->tensors.at[i].tied_to);
    }
    if (is_open) pel_json_end_object(json);
}

static void put_full_names(pel_json *json, const pel_module *module) {
    bool is_open = false;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        if (!module->tensors.at[i].full.len) continue;
        if (!is_open) pel_json_key(json, "full_names"), pel_json_object(json);
        is_open = true;
        pel_json_key_str(json, module->tensors.at[i].name);
        pel_json_str(json, module->tensors.at[i].full);
    }
    if (is_open) pel_json_end_object(json);
}

static void put_conditions(pel_json *json, const pel_module *module) {
    bool is_open = false;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        if (!module->tensors.at[i].condition.len) continue;
        if (!is_open) pel_json_key(json, "tensor_conditions"), pel_json_object(json);
        is_open = true;
        pel_json_key_str(json, module->tensors.at[i].name);
        pel_json_str(json, module->tensors.at[i].condition);
    }
    if (is_open) pel_json_end_object(json);
}

/* model_read.c reads these keys back. `output` and `flops` are missing where they are not known: a zero would be a
 * claim. */
static void put_module(pel_ctx *ctx, pel_json *json, const pel_module *module) {
    pel_json_object(json);
    pel_json_key(json, "name"), pel_json_str(json, module->name);
    pel_json_key(json, "class"), pel_json_str(json, module->class);
    if (module->is_opaque) pel_json_key(json, "opaque"), pel_json_bool(json, true);
    pel_json_key(json, "args"), put_args(ctx, json, module);
    put_source_args(ctx, json, module);
    put_tensors(json, module, "parameters", true);
    put_tensors(json, module, "buffers", false);
    put_names(json, module, "frozen", is_frozen);
    put_names(json, module, "not_saved", is_volatile);
    put_ties(json, module);
    put_full_names(json, module);
    put_conditions(json, module);
    pel_json_key(json, "repeat"), put_dim(json, module->repeat);
    pel_json_key(json, "condition");
    if (module->condition.len)
        pel_json_str(json, module->condition);
    else
        pel_json_null(json);
    if (module->shared_with.len) pel_json_key(json, "shared_with"), pel_json_str(json, module->shared_with);
    if (module->output.is_known) pel_json_key(json, "output"), put_shape(json, &module->output);
    if (module->flops >= 0) pel_json_key(json, "flops"), pel_json_double(json, module->flops);
    pel_json_key(json, "origin"), put_place(json, &module->origin);
    pel_json_key(json, "children");
    pel_json_array(json);
    for (uint32_t i = 0; i < module->children.n; i++) put_module(ctx, json, module->children.at[i]);
    pel_json_end_array(json);
    pel_json_end_object(json);
}

/* ---- state: what a state_dict holds, in its order ---- */

typedef struct state_writer {
    pel_ctx *ctx;
    pel_json *json;
    const pel_network *network;
    void (*put)(struct state_writer *w, const pel_model_tensor *tensor, pel_str name);
} state_writer;

static void put_state_shape(state_writer *w, const pel_model_tensor *tensor, pel_str name) {
    pel_json_key_str(w->json, name);
    put_shape(w->json, &tensor->shape);
}

static void put_state_dtype(state_writer *w, const pel_model_tensor *tensor, pel_str name) {
    if (!tensor->dtype.len) return;
    pel_json_key_str(w->json, name);
    pel_json_str(w->json, tensor->dtype);
}

static void put_state_place(state_writer *w, const pel_model_tensor *tensor, pel_str name) {
    if (!tensor->place.size && !tensor->place.file.len) return;
    pel_json_key_str(w->json, name);
    put_place(w->json, &tensor->place);
}

static void put_state_tie(state_writer *w, const pel_model_tensor *tensor, pel_str name) {
    if (!tensor->tied_to.len) return;
    pel_json_key_str(w->json, name);
    pel_json_str(w->json, tensor->tied_to);
}

static void put_state_rows(void *arg, const pel_module *module, pel_str path) {
    state_writer *w = arg;
    for (int parameters = 1; parameters >= 0; parameters--) {
        for (uint32_t i = 0; i < module->tensors.n; i++) {
            const pel_model_tensor *tensor = &module->tensors.at[i];
            if ((tensor->role == PEL_PARAMETER) != parameters || tensor->role == PEL_VOLATILE_BUFFER) continue;
            w->put(w, tensor, pel_tensor_name(w->ctx, w->network, path, tensor));
        }
    }
}

static void put_state(pel_ctx *ctx, pel_json *json, const pel_network *network, const char *key,
                      void (*put)(state_writer *w, const pel_model_tensor *tensor, pel_str name)) {
    state_writer writer = { ctx, json, network, put };
    pel_json_key(json, key);
    pel_json_object(json);
    pel_each_state_module(ctx, network, put_state_rows, &writer);
    pel_json_end_object(json);
}

static void put_unknown(pel_json *json, const pel_unknown *row) {
    pel_json_object(json);
    pel_json_key(json, "what"), pel_json_str(json, row->what);
    pel_json_key(json, "file"), pel_json_str(json, row->place.file);
    pel_json_key(json, "line"), pel_json_int(json, row->place.line);
    pel_json_key(json, "why"), pel_json_str(json, row->why);
    if (row->is_lost) pel_json_key(json, "lost"), pel_json_bool(json, true);
    if (row->in_parts) pel_json_key(json, "in_parts"), pel_json_bool(json, true);
    if (row->also.line) {
        pel_json_key(json, "also");
        pel_json_object(json);
        pel_json_key(json, "file"), pel_json_str(json, row->also.file);
        pel_json_key(json, "line"), pel_json_int(json, row->also.line);
        pel_json_end_object(json);
    }
    pel_json_end_object(json);
}

static void put_facts(pel_json *json, const pel_facts *facts) {
    pel_json_key(json, "facts");
    pel_json_array(json);
    for (uint32_t i = 0; i < facts->n; i++) {
        pel_json_object(json);
        pel_json_key(json, "what"), pel_json_str(json, facts->at[i].what);
        pel_json_key(json, "value"), pel_json_str(json, facts->at[i].value);
        pel_json_key(json, "from"), pel_json_str(json, facts->at[i].from);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
}

static void put_values(pel_json *json, const pel_network *network) {
    pel_json_key(json, "values");
    pel_json_array(json);
    for (uint32_t i = 0; i < network->values.n; i++) {
        pel_json_object(json);
        pel_json_key(json, "name"), pel_json_str(json, network->values.at[i].name);
        pel_json_key(json, "value"), pel_json_str(json, network->values.at[i].value);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    if (network->values_left_out)
        pel_json_key(json, "values_left_out"), pel_json_int(json, (int64_t)network->values_left_out);
}

/* The fields of one network, without its braces. */
static void put_network_fields(pel_ctx *ctx, pel_json *json, const pel_network *network) {
    pel_json_key(json, "name"), pel_json_str(json, network->name);
    if (network->format.len) pel_json_key(json, "format"), pel_json_str(json, network->format);
    if (network->separator != '.')
        pel_json_key(json, "separator"), pel_json_str(json, (pel_str){ &network->separator, 1 });
    pel_json_key(json, "class"), pel_json_str(json, network->root ? network->root->class : (pel_str){ "", 0 });
    pel_json_key(json, "args");
    if (network->root) {
        put_args(ctx, json, network->root);
    } else {
        pel_json_object(json);
        pel_json_end_object(json);
    }
    pel_json_key(json, "tree");
    pel_json_array(json);
    if (network->root) put_module(ctx, json, network->root);
    pel_json_end_array(json);
    put_state(ctx, json, network, "state", put_state_shape);
    put_state(ctx, json, network, "dtypes", put_state_dtype);
    put_state(ctx, json, network, "ties", put_state_tie);
    if (network->format.len) put_state(ctx, json, network, "places", put_state_place);
    pel_json_key(json, "flow");
    pel_json_array(json);
    for (uint32_t i = 0; i < network->flow.n; i++) {
        pel_json_object(json);
        pel_json_key(json, "from"), pel_json_str(json, network->flow.at[i].from);
        pel_json_key(json, "to"), pel_json_str(json, network->flow.at[i].to);
        pel_json_key(json, "shape"), put_shape(json, &network->flow.at[i].shape);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_totals totals = pel_network_totals(ctx, network);
    pel_json_key(json, "totals");
    pel_json_object(json);
    pel_json_key(json, "modules"), pel_json_int(json, (int64_t)totals.modules);
    pel_json_key(json, "parameters"), pel_json_int(json, (int64_t)totals.parameters);
    pel_json_key(json, "trainable"), pel_json_int(json, (int64_t)totals.trainable);
    pel_json_key(json, "buffers"), pel_json_int(json, (int64_t)totals.buffers);
    pel_json_key(json, "bytes"), pel_json_int(json, (int64_t)totals.bytes);
    if (totals.flops >= 0) pel_json_key(json, "flops"), pel_json_double(json, totals.flops);
    pel_json_key(json, "exact"), pel_json_bool(json, totals.exact);
    if (network->roles_unknown) pel_json_key(json, "roles_known"), pel_json_bool(json, false);
    pel_json_end_object(json);
    if (network->values.n) put_values(json, network);
    if (network->facts.n) put_facts(json, &network->facts);
    if (network->premises.n) {
        pel_json_key(json, "assumed");
        pel_json_array(json);
        for (uint32_t i = 0; i < network->premises.n; i++) put_unknown(json, &network->premises.at[i]);
        pel_json_end_array(json);
    }
    pel_json_key(json, "unknown");
    pel_json_array(json);
    for (uint32_t i = 0; i < network->unknown.n; i++) put_unknown(json, &network->unknown.at[i]);
    pel_json_end_array(json);
    pel_json_key(json, "errors");
    pel_json_array(json);
    for (uint32_t i = 0; i < network->errors.n; i++) put_unknown(json, &network->errors.at[i]);
    pel_json_end_array(json);
}

void pel_networks_json(pel_ctx *ctx, const pel_networks *networks, pel_buf *out) {
    pel_json json = pel_json_to(out);
    pel_json_object(&json);
    pel_json_key(&json, "schema");
    pel_json_int(&json, PEL_NETWORKS_SCHEMA);
    pel_json_key(&json, "networks");
    pel_json_array(&json);
    for (uint32_t i = 0; i < networks->n; i++) {
        pel_json_object(&json);
        put_network_fields(ctx, &json, networks->at[i]);
        pel_json_end_object(&json);
    }
    pel_json_end_array(&json);
    pel_json_end_object(&json);
    pel_put_byte(out, '\n');
}
