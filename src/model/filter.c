/* A part of a network, by the names of its tensors. */
#include "model/model.h"

/* [a-z], [!a-z] at the start of pattern: its length, 0 if it does not end; *fits: whether c is among them. */
static size_t read_set(pel_str pattern, char c, bool *fits) {
    size_t i = 1;
    bool negated = pattern.len > 1 && (pattern.ptr[1] == '!' || pattern.ptr[1] == '^');
    if (negated) i++;
    *fits = negated;
    for (size_t start = i; i < pattern.len; i++) {
        if (pattern.ptr[i] == ']' && i > start) return i + 1;
        bool is_range = i + 2 < pattern.len && pattern.ptr[i + 1] == '-' && pattern.ptr[i + 2] != ']';
        unsigned char low = (unsigned char)pattern.ptr[i], high = is_range ? (unsigned char)pattern.ptr[i + 2] : low;
        if ((unsigned char)c >= low && (unsigned char)c <= high) *fits = !negated;
        if (is_range) i += 2;
    }
    return 0;
}

bool pel_fits(pel_str name, pel_str pattern) {
    size_t n = 0, p = 0, star = SIZE_MAX, after_star = 0; /* where to go on when what follows the last * did not fit */
    while (n < name.len) {
        size_t step = 0;
        bool fits = false;
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            after_star = n;
            continue;
        }
        if (p < pattern.len && pattern.ptr[p] == '[') step = read_set(pel_str_from(pattern, p), name.ptr[n], &fits);
        if (p < pattern.len && !step) {
            fits = pattern.ptr[p] == '?' || pattern.ptr[p] == name.ptr[n];
            step = 1;
        }
        if (p < pattern.len && fits) {
            n++;
            p += step;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++after_star;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*') p++;
    return p == pattern.len;
}

/* Whether anything of the module is left. */
static bool filter(pel_ctx *ctx, const pel_network *network, pel_module *module, pel_str path, pel_str pattern) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_model_tensor tensor = module->tensors.at[i];
        if (pel_fits(pel_tensor_name(ctx, network, path, &tensor), pattern)) module->tensors.at[kept++] = tensor;
    }
    module->tensors.n = kept;
    kept = 0;
    for (uint32_t i = 0; i < module->children.n; i++) { /* loaders and the recorder bound the depth */
        pel_module *child = module->children.at[i];
        if (filter(ctx, network, child, pel_full_name(ctx, network, path, child->name), pattern))
            module->children.at[kept++] = child;
    }
    module->children.n = kept;
    return module->tensors.n || kept;
}

void pel_network_filter(pel_ctx *ctx, pel_network *network, pel_str pattern) {
    if (network->root) filter(ctx, network, network->root, (pel_str){ "", 0 }, pattern);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < network->values.n; i++)
        if (pel_fits(network->values.at[i].name, pattern)) network->values.at[kept++] = network->values.at[i];
    network->values.n = kept;
}
