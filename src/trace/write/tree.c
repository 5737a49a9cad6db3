/* The model tree of a recorded run: what the log says about the modules, for the views and comparisons. */
#include "trace/write/tree.h"

#include "base/map.h"

#define MAX_DEPTH 500

typedef struct maker {
    pel_ctx *ctx;
    const pel_log *log;
    pel_program program;                    /* only lends its imports to the expressions of arguments */
    pel_map path_of_module, path_of_tensor; /* -> pel_str: where it was met first */
} maker;

static pel_str join(maker *m, pel_str parent, pel_str name) {
    return parent.len ? pel_format(m->ctx, "%.*s.%.*s", PEL_FMT(parent), PEL_FMT(name)) : name;
}

/* The path under which the row was met first; empty if this is the first time. */
static pel_str first_path(maker *m, pel_map *map, pel_id row, pel_str here) {
    uint64_t found;
    if (pel_map_get(map, row, &found)) return *(const pel_str *)(uintptr_t)found;
    pel_str *kept = pel_new(m->ctx, pel_str);
    *kept = here;
    pel_map_set(m->ctx, map, row, PEL_KEY(kept));
    return (pel_str){ "", 0 };
}

static void add_slots(maker *m, pel_module *to, pel_str path, const pel_log_slot *slots, uint32_t n, bool parameters) {
    for (uint32_t i = 0; i < n; i++) {
        if (!slots[i].tensor) continue;
        const pel_log_tensor *row = &m->log->tensors.at[slots[i].tensor];
        pel_model_tensor tensor = {
            .name = pel_name_str(slots[i].name),
            .role = parameters            ? PEL_PARAMETER
                    : slots[i].persistent ? PEL_BUFFER
                                          : PEL_VOLATILE_BUFFER,
            .frozen = parameters && !row->requires_grad,
            .shape = pel_shape_of(m->ctx, row->shape, row->n_dims),
            .dtype = pel_str_starts(row->dtype, PEL_STR("torch.")) ? pel_str_from(row->dtype, 6) : row->dtype,
        };
        tensor.tied_to = first_path(m, &m->path_of_tensor, slots[i].tensor, join(m, path, tensor.name));
        pel_push(m->ctx, &to->tensors, tensor);
    }
}

static pel_module *make(maker *m, pel_id id, pel_str name, pel_str path, int depth) {
    if (depth > MAX_DEPTH) pel_throw(m->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    const pel_log_module *row = pel_module_at(m->log, id);
    const pel_log_class *class = pel_class_at(m->log, row->class);
    pel_module *module = pel_module_new(m->ctx, name, pel_name_str(class->name));
    if (class->file) module->origin.file = m->log->files.at[class->file].path;
    module->origin.line = class->line;
    module->shared_with = first_path(m, &m->path_of_module, id, path);
    if (module->shared_with.len) return module;
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_log_argument *argument = &row->arguments[i];
        pel_node *value = argument->is_default ? NULL : pel_value_expression(m->ctx, &m->program, argument->value);
        if (!value) continue;
        pel_str written = argument->positional ? (pel_str){ "", 0 } : pel_name_str(argument->name);
        pel_push(m->ctx, &module->args, (pel_model_argument){ written, value });
    }
    add_slots(m, module, path, row->parameters, row->n_parameters, true);
    add_slots(m, module, path, row->buffers, row->n_buffers, false);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        if (!row->children[i]) continue;
        pel_str child = pel_name_str(row->child_names.at[i]);
        pel_push(m->ctx, &module->children, make(m, row->children[i], child, join(m, path, child), depth + 1));
    }
    return module;
}

pel_network *pel_log_tree(pel_ctx *ctx, const pel_log *log) {
    maker m = { .ctx = ctx, .log = log, .program = { .log = log } };
    pel_network *network = pel_network_new(ctx, log->origin);
    if (log->root) network->root = make(&m, log->root, (pel_str){ "", 0 }, (pel_str){ "", 0 }, 0);
    return network;
}
