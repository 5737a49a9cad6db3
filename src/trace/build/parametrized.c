/* Parametrized modules: the calls that parametrize stand around what builds them. */
#include "trace/build/init.h"

/* How torch's own parametrizations are asked for; attributes of the parametrization that are arguments. */
typedef struct known {
    const char *class, *function;
    const char *arguments[4]; /* ends with NULL */
} known;
static const known parametrizations[] = {
    { "torch.nn.utils.parametrizations._WeightNorm", "torch.nn.utils.parametrizations.weight_norm", { "dim" } },
    { "torch.nn.utils.parametrizations._SpectralNorm",
      "torch.nn.utils.parametrizations.spectral_norm",
      { "n_power_iterations", "eps", "dim" } },
    { "torch.nn.utils.parametrizations._Orthogonal", "torch.nn.utils.parametrizations.orthogonal", { NULL } },
};

static const known *known_parametrization(pel_str class) {
    for (size_t i = 0; i < PEL_COUNT(parametrizations); i++)
        if (pel_str_is(class, parametrizations[i].class)) return &parametrizations[i];
    return NULL;
}

static pel_node *parametrize(pel_builder *b, pel_node *made, pel_name tensor, pel_id parametrization) {
    pel_ctx *ctx = b->ctx;
    const known *how = known_parametrization(pel_class_at(b->log, pel_module_at(b->log, parametrization)->class)->path);
    pel_nodes args = pel_nodes_one(ctx, made);
    pel_node *name = pel_make_text(ctx, pel_name_str(tensor));
    if (!how) {
        pel_nodes_push(ctx, &args, name);
        pel_nodes_push(ctx, &args, pel_module_call(b, parametrization));
        return pel_building_call(b, PEL_STR("torch.nn.utils.parametrize.register_parametrization"), args);
    }
    pel_node *call = pel_building_call(b, pel_str_of(how->function), args);
    pel_add_keyword(ctx, call, pel_intern_c(ctx, "name"), name, pel_name_is(tensor, "weight") ? PEL_ARG_DEFAULT : 0u);
    for (const char *const *argument = how->arguments; *argument; argument++) {
        pel_name attribute = pel_intern_c(ctx, *argument);
        pel_id value = pel_module_attribute(b->log, parametrization, attribute);
        pel_node *text = value ? pel_value_expression(ctx, b->program, value) : NULL;
        if (text) pel_add_keyword(ctx, call, attribute, text, 0);
    }
    return call;
}

pel_node *pel_with_parametrizations(pel_builder *b, pel_node *made, pel_id module) {
    const pel_log_module *tensors = pel_parametrizations_of(b->log, pel_module_at(b->log, module));
    for (uint32_t i = 0; tensors && i < tensors->child_names.n; i++) {
        const pel_log_module *list = pel_module_at(b->log, tensors->children[i]);
        for (uint32_t k = 0; k < list->child_names.n; k++)
            made = parametrize(b, made, tensors->child_names.at[i], list->children[k]);
    }
    return made;
}

/* The only one, or the direction of a weight norm, which comes behind the magnitude. */
pel_id pel_original_of(const pel_log_module *list) {
    return list->n_parameters ? list->parameters[list->n_parameters - 1].tensor : 0;
}
