/* Which layer of a Keras model feeds which: the calls that a config lists. */
#include "load/formats/keras_config.h"

#define MAX_DEPTH 8
#define MAX_EDGES 1000000

typedef struct flow_job {
    pel_ctx *ctx;
    pel_network *network;
    pel_str path; /* of the model */
} flow_job;

static const pel_json_value *layers_of(const pel_json_value *model) {
    const pel_json_value *config = pel_json_get(model, "config");
    const pel_json_value *layers = config && config->kind == PEL_J_ARRAY ? config : pel_json_get(config, "layers");
    return layers && layers->kind == PEL_J_ARRAY ? layers : NULL;
}

static pel_str name_of(const pel_json_value *layer) {
    pel_str name = pel_json_text(pel_json_get(pel_json_get(layer, "config"), "name"));
    return name.len ? name : pel_json_text(pel_json_get(layer, "name"));
}

static void add(flow_job *j, pel_str from, pel_str to, const pel_json_value *sizes) {
    if (!from.len || !to.len || j->network->flow.n >= MAX_EDGES) return;
    pel_flow flow = { .from = from, .to = to };
    if (sizes && sizes->kind == PEL_J_ARRAY) {
        flow.shape = (pel_shape){ pel_new_array(j->ctx, sizes->items.n + 1, pel_dim), sizes->items.n, true };
        for (uint32_t i = 0; i < sizes->items.n; i++) {
            const pel_json_value *size = sizes->items.at[i];
            bool is_known = size->kind == PEL_J_NUMBER && size->is_integer && size->integer >= 0;
            flow.shape.dims[i] = is_known ? (pel_dim){ .size = size->integer } : (pel_dim){ .symbol = PEL_STR("?") };
        }
    }
    pel_push(j->ctx, &j->network->flow, flow);
}

static pel_str below(flow_job *j, pel_str name) { return pel_full_name(j->ctx, j->network, j->path, name); }

/* ["dense", 0, 0], as older files list tensors; newer ones have it as the history of a tensor with its shape. */
static bool is_reference(const pel_json_value *row) {
    return row && row->kind == PEL_J_ARRAY && row->items.n >= 3 && row->items.at[0]->kind == PEL_J_STR &&
           row->items.at[1]->kind == PEL_J_NUMBER && row->items.at[2]->kind == PEL_J_NUMBER;
}

/* An edge for every tensor among the arguments of a call, at any depth of lists and of arguments by name. */
static void add_tensors(flow_job *j, const pel_json_value *item, pel_str to, int depth) {
    if (depth > MAX_DEPTH || (item->kind != PEL_J_ARRAY && item->kind != PEL_J_OBJECT)) return;
    const pel_json_value *config = pel_json_get(item, "config"), *history = pel_json_get(config, "keras_history");
    if (is_reference(history) || is_reference(item)) {
        const pel_json_value *row = is_reference(history) ? history : item;
        add(j, below(j, row->items.at[0]->text), to, pel_json_get(config, "shape"));
        if (history || row->items.n < 4) return;
        item = row->items.at[3]; /* arguments by name */
    }
    for (uint32_t i = 0; i < item->items.n; i++)
        if (item->kind == PEL_J_ARRAY || i % 2) add_tensors(j, item->items.at[i], to, depth + 1);
}

static void add_ends(flow_job *j, const pel_json_value *rows, bool is_input) {
    if (!rows || rows->kind != PEL_J_ARRAY) return;
    for (uint32_t i = 0; i < (is_reference(rows) ? 1 : rows->items.n); i++) {
        const pel_json_value *row = is_reference(rows) ? rows : rows->items.at[i];
        if (!is_reference(row)) continue;
        pel_str layer = below(j, row->items.at[0]->text);
        add(j, is_input ? PEL_STR("input") : layer, is_input ? layer : PEL_STR("output"), NULL);
    }
}

/* Layers of a Sequential follow each other; those of a graph name the tensors of each call. Only the outermost model
 * has inputs and results of the network. */
void pel_keras_flow(pel_ctx *ctx, pel_network *network, const pel_json_value *model, pel_str path) {
    flow_job j = { ctx, network, path };
    const pel_json_value *layers = layers_of(model), *config = pel_json_get(model, "config");
    bool is_row = pel_str_is(pel_json_text(pel_json_get(model, "class_name")), "Sequential");
    pel_str before = path.len ? (pel_str){ "", 0 } : PEL_STR("input");
    for (uint32_t i = 0; layers && i < layers->items.n; i++) {
        const pel_json_value *nodes = pel_json_get(layers->items.at[i], "inbound_nodes");
        pel_str layer = below(&j, name_of(layers->items.at[i]));
        if (is_row) {
            add(&j, before, layer, NULL);
            before = layer;
        } else if (nodes && nodes->kind == PEL_J_ARRAY) {
            for (uint32_t n = 0; n < nodes->items.n; n++) {
                const pel_json_value *node = nodes->items.at[n], *args = pel_json_get(node, "args"),
                                     *named = pel_json_get(node, "kwargs");
                if (!args) add_tensors(&j, node, layer, 0);
                if (args) add_tensors(&j, args, layer, 0);
                if (named) add_tensors(&j, named, layer, 0);
            }
        }
    }
    if (path.len) return;
    if (is_row && layers && layers->items.n) add(&j, before, PEL_STR("output"), NULL);
    if (!is_row) add_ends(&j, pel_json_get(config, "input_layers"), true);
    if (!is_row) add_ends(&j, pel_json_get(config, "output_layers"), false);
}
