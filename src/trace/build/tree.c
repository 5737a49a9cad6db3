/* What the module tree says about a module, whatever its code does. */
#include "trace/build/init.h"

#include <stdio.h>

bool pel_are_numbered(pel_name_list names) {
    for (uint32_t i = 0; i < names.n; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%u", i);
        if (!pel_name_is(names.at[i], digits)) return false;
    }
    return true;
}

static bool owns_state(const pel_log *log, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(log, module);
    if (row->n_parameters) return true;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].persistent && row->buffers[i].tensor) return true;
    for (uint32_t i = 0; i < row->child_names.n && depth < PEL_DEEPEST_TREE; i++)
        if (row->children[i] && owns_state(log, row->children[i], depth + 1)) return true;
    return false;
}

bool pel_owns_state(const pel_log *log, pel_id module) { return owns_state(log, module, 0); }

static bool is_frozen(const pel_log *log, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(log, module);
    bool any = false;
    for (uint32_t i = 0; i < row->n_parameters; i++) {
        if (!row->parameters[i].tensor) continue;
        if (log->tensors.at[row->parameters[i].tensor].requires_grad) return false;
        any = true;
    }
    for (uint32_t i = 0; i < row->child_names.n && depth < PEL_DEEPEST_TREE; i++) {
        if (!row->children[i] || !pel_owns_state(log, row->children[i])) continue;
        if (!is_frozen(log, row->children[i], depth + 1)) return false;
        any = true;
    }
    return any;
}

bool pel_is_frozen(const pel_log *log, pel_id module) { return is_frozen(log, module, 0); }

bool pel_is_made_by_base(const pel_log_module *row, pel_name name) { return pel_names_have(row->made_by_base, name); }

bool pel_is_derived_by_torch(const pel_log *log, pel_id class) {
    const pel_log_class *row = pel_class_at(log, class);
    return row->kind == PEL_CLASS_MODULE && pel_str_is(row->module, "torch.nn.utils.parametrize");
}

bool pel_is_parametrization_list(const pel_log *log, pel_id module) {
    return module &&
           pel_str_ends(pel_class_at(log, pel_module_at(log, module)->class)->path, PEL_STR(".ParametrizationList"));
}

const pel_log_module *pel_parametrizations_of(const pel_log *log, const pel_log_module *row) {
    pel_id all = pel_child_named(row, "parametrizations");
    const pel_log_module *tensors = all ? pel_module_at(log, all) : NULL;
    return tensors && tensors->child_names.n && pel_is_parametrization_list(log, tensors->children[0]) ? tensors : NULL;
}

bool pel_is_plain_module(const pel_log *log, pel_id class) {
    const pel_id base = pel_torch_base(log, class);
    return base && pel_str_is(pel_class_at(log, base)->path, "torch.nn.Module");
}

bool pel_is_torch_module(const pel_log *log, pel_id module) {
    return pel_class_at(log, pel_module_at(log, module)->class)->kind == PEL_CLASS_TORCH_MODULE;
}
