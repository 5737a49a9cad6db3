/* Which tensors of a checkpoint are buffers. A state_dict does not say, so only what is known counts: all else stays
 * "tensors", which may be either. */
#include "model/model.h"

static pel_model_tensor *tensor_of(const pel_module *module, const char *name) {
    for (uint32_t i = 0; i < module->tensors.n; i++)
        if (pel_str_is(module->tensors.at[i].name, name)) return &module->tensors.at[i];
    return NULL;
}

static bool is_vector_of(const pel_model_tensor *tensor, int64_t size) {
    return tensor->shape.is_known && tensor->shape.n == 1 && !tensor->shape.dims[0].symbol.len &&
           tensor->shape.dims[0].size == size && pel_str_starts(tensor->dtype, PEL_STR("float"));
}

/* The running statistics of torch's normalisation: two vectors of one size beside an integer that counts batches. An
 * integer takes no gradient, and no other module of torch counts under this name. */
static void settle_statistics(pel_module *module) {
    pel_model_tensor *count = tensor_of(module, "num_batches_tracked"), *mean = tensor_of(module, "running_mean"),
                     *variance = tensor_of(module, "running_var");
    uint64_t elements;
    if (!count || !mean || !variance || mean->shape.n != 1 || !mean->shape.is_known) return;
    if (!pel_str_is(count->dtype, "int64") || !pel_shape_count(&count->shape, &elements) || elements != 1) return;
    int64_t size = mean->shape.dims[0].size;
    if (!is_vector_of(mean, size) || !is_vector_of(variance, size)) return;
    count->role = mean->role = variance->role = PEL_BUFFER;
}

static void settle(pel_ctx *ctx, pel_module *module, int depth) {
    if (depth > 1000) return; /* loaders bound the depth; beyond it nothing is claimed */
    settle_statistics(module);
    for (uint32_t i = 0; i < module->children.n; i++) settle(ctx, module->children.at[i], depth + 1);
}

void pel_network_settle_roles(pel_ctx *ctx, pel_network *network) {
    if (network->roles_unknown && network->root) settle(ctx, network->root, 0);
}
