/* The parts of a class's instances: parameters, buffers, children, and the attributes that methods read. */
#include "trace/build/init.h"

typedef struct collector {
    pel_builder *b;
    const pel_program_class *class;
    pel_part_list parts;
    uint32_t place; /* where a part that is new stands: behind the last one of the same instance */
} collector;

/* The part of that name. A new one goes to c->place, which then is behind it: so the order of every instance is kept,
 * also that of parts which the first instances don't have. */
static pel_part *part_named(collector *c, pel_name name, pel_part_kind kind) {
    pel_ctx *ctx = c->b->ctx;
    pel_part_list *all = &c->parts;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].name == name) {
            c->place = i + 1;
            return &all->at[i];
        }
    uint32_t n_lanes = c->class->instances.n;
    pel_part added = { name, pel_new_array(ctx, n_lanes, pel_node *), kind };
    for (uint32_t i = 0; i < n_lanes; i++) added.lanes[i] = pel_make_none(ctx);
    pel_push(ctx, all, added);
    memmove(all->at + c->place + 1, all->at + c->place, (all->n - 1 - c->place) * sizeof *all->at);
    all->at[c->place] = added;
    return &all->at[c->place++];
}

/* ---- what modules register ---- */

static void collect_parameters(collector *c, uint32_t lane) {
    pel_builder *b = c->b;
    const pel_log_module *row = pel_module_at(b->log, c->class->instances.at[lane]);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (!pel_is_made_by_base(row, row->parameters[i].name))
            part_named(c, row->parameters[i].name, PEL_PART_PARAMETER)->lanes[lane] =
                pel_parameter_text(b, row->parameters[i].tensor);
    const pel_log_module *computed = pel_parametrizations_of(b->log, row);
    for (uint32_t i = 0; computed && i < computed->child_names.n; i++)
        if (!pel_is_made_by_base(row, computed->child_names.at[i]))
            part_named(c, computed->child_names.at[i], PEL_PART_PARAMETER)->lanes[lane] =
                pel_parameter_text(b, pel_original_of(pel_module_at(b->log, computed->children[i])));
}

/* Buffers that no state_dict holds are for the code that reads them; a mere constructor has those that can be written.
 */
static bool is_wanted(const pel_builder *b, const pel_log_module *row, const pel_log_slot *slot) {
    if (slot->persistent || pel_is_read(b, row->class, slot->name)) return true;
    if (!b->program->only_construction || !slot->tensor) return false;
    const pel_log_tensor *tensor = &b->log->tensors.at[slot->tensor];
    return tensor->formula.len || tensor->data.len;
}

static void collect_buffers(collector *c, uint32_t lane) {
    pel_id module = c->class->instances.at[lane];
    const pel_log_module *row = pel_module_at(c->b->log, module);
    for (uint32_t i = 0; i < row->n_buffers; i++) {
        const pel_log_slot *slot = &row->buffers[i];
        if (pel_is_made_by_base(row, slot->name) || !is_wanted(c->b, row, slot)) continue;
        pel_part_kind kind = slot->persistent ? PEL_PART_BUFFER : PEL_PART_VOLATILE_BUFFER;
        part_named(c, slot->name, kind)->lanes[lane] = pel_buffer_text(c->b, module, slot);
    }
}

static void collect_children(collector *c, uint32_t lane) {
    pel_builder *b = c->b;
    const pel_log_module *row = pel_module_at(b->log, c->class->instances.at[lane]);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        bool is_made = pel_is_made_by_base(row, row->child_names.at[i]) ||
                       pel_module_at(b->log, row->children[i]) == pel_parametrizations_of(b->log, row);
        if (is_made || !pel_is_needed(b, row, i)) continue;
        part_named(c, row->child_names.at[i], PEL_PART_CHILD)->lanes[lane] =
            row->children[i] ? pel_child_text(b, row->children[i]) : pel_make_none(b->ctx);
    }
}

static void collect_registered(collector *c) {
    static void (*const collect[])(collector * c, uint32_t lane) = { collect_parameters, collect_buffers,
                                                                     collect_children };
    for (size_t k = 0; k < PEL_COUNT(collect); k++) {
        uint32_t first = c->parts.n;
        for (uint32_t lane = 0; lane < c->class->instances.n; lane++) {
            c->place = first;
            collect[k](c, lane);
        }
    }
}

/* ---- what attributes hold ---- */

/* All children of an instance, in order. */
static bool are_the_children(const pel_builder *b, const pel_log_module *instance, const pel_value *list) {
    if (list->kind != PEL_V_LIST || list->n != instance->child_names.n || list->truncated) return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const pel_value *item = pel_value_at(b->log, list->items[i]);
        if (item->kind != PEL_V_MODULE || item->module != instance->children[i]) return false;
    }
    return list->n > 0;
}

/* A module that is held: one below the instance, or one of torch's without weights that no module has as a child. */
static pel_node *held_module(pel_builder *b, const pel_log_module *instance, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!row->in_tree)
        return pel_is_torch_module(b->log, module) && !pel_owns_state(b->log, module) ? pel_torch_module_call(b, module)
                                                                                      : NULL;
    pel_str path = row->path, own = instance->path;
    if (!pel_str_starts(path, own) || path.len <= own.len || (own.len && path.ptr[own.len] != '.')) return NULL;
    return pel_path_text(b->ctx, pel_str_from(path, own.len ? own.len + 1 : 0), PEL_Load);
}

/* A parameter or buffer of the instance, or of a module below it, that is held by a second name. */
static pel_node *held_slot(pel_builder *b, const pel_log_module *instance, pel_id id) {
    const pel_log_tensor *tensor = &b->log->tensors.at[id];
    const pel_log_module *owner = pel_module_at(b->log, tensor->owner);
    if (!tensor->owner) return NULL;
    pel_node *holder = owner == instance ? pel_make_name(b->ctx, pel_intern_c(b->ctx, "self"), PEL_Load)
                                         : held_module(b, instance, tensor->owner);
    return holder ? pel_make_attribute(b->ctx, holder, tensor->name, PEL_Load) : NULL;
}

static pel_node *held_dict(pel_builder *b, const pel_log_module *instance, const pel_value *dict, int depth) {
    pel_node *made = pel_node_new(b->ctx, PEL_Dict);
    for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
        pel_node *key = pel_value_expression(b->ctx, b->program, dict->items[i]);
        pel_node *item = pel_held_text(b, instance, dict->items[i + 1], depth + 1);
        if (!key || !item) return NULL;
        pel_nodes_push(b->ctx, &made->Dict.keys, key);
        pel_nodes_push(b->ctx, &made->Dict.values, item);
    }
    return made;
}

pel_node *pel_held_text(pel_builder *b, const pel_log_module *instance, pel_id id, int depth) {
    const pel_value *value = pel_value_at(b->log, id);
    if (value->kind == PEL_V_MODULE) return held_module(b, instance, value->module);
    if (are_the_children(b, instance, value)) {
        pel_node *method = pel_self_attribute(b->ctx, pel_intern_c(b->ctx, "children"), PEL_Load);
        pel_nodes children = pel_nodes_one(b->ctx, pel_call_of(b->ctx, method, (pel_nodes){ 0 }));
        return pel_call_of(b->ctx, pel_make_name(b->ctx, pel_intern_c(b->ctx, "list"), PEL_Load), children);
    }
    if (value->kind == PEL_V_TENSOR) {
        pel_node *made = pel_tensor_expression(b->ctx, b->program, value->tensor);
        return made ? made : held_slot(b, instance, value->tensor);
    }
    if (value->kind == PEL_V_DICT && !value->class && !value->truncated && depth < PEL_DEEPEST_TREE)
        return held_dict(b, instance, value, depth);
    bool sequence = value->kind == PEL_V_LIST || (value->kind == PEL_V_TUPLE && !value->class);
    if (!sequence || value->truncated || depth > PEL_DEEPEST_TREE) {
        pel_node *plain = pel_value_expression(b->ctx, b->program, id);
        return plain || value->kind != PEL_V_OBJECT ? plain : pel_held_object(b, instance, id, depth);
    }
    pel_node *made = pel_node_new(b->ctx, value->kind == PEL_V_LIST ? PEL_List : PEL_Tuple);
    pel_nodes *items = value->kind == PEL_V_LIST ? &made->List.elts : &made->Tuple.elts;
    for (uint32_t i = 0; i < value->n; i++) {
        pel_node *item = pel_held_text(b, instance, value->items[i], depth + 1);
        if (!item) return NULL;
        pel_nodes_push(b->ctx, items, item);
    }
    return made;
}

/* ---- attributes that methods read ---- */

/* Whether the torch class sets an attribute by itself, in every instance. */
static bool base_makes(const pel_builder *b, const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->instances.n; i++)
        if (!pel_is_made_by_base(pel_module_at(b->log, class->instances.at[i]), name)) return false;
    return class->instances.n > 0;
}

/* Some text has the property itself, and others its value: there is one of them in the class. */
static bool is_computed(const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->methods.n; i++)
        if (class->methods.at[i]->is_property && !class->methods.at[i]->dead && class->methods.at[i]->name == name)
            return true;
    return false;
}

static bool is_registered(const collector *c, uint32_t n_registered, pel_name name) {
    for (uint32_t i = 0; i < n_registered; i++)
        if (c->parts.at[i].name == name) return true;
    return false;
}

/* A part that is a child of some instances and a function of others: self.act. */
static void add_to_child(collector *c, const pel_needed_attribute *need) {
    pel_part *part = part_named(c, need->name, PEL_PART_CHILD);
    for (uint32_t i = 0; i < c->class->instances.n && part->kind == PEL_PART_CHILD; i++) {
        uint64_t value;
        if (!pel_is_none(part->lanes[i]) || !pel_map_get(&need->values, c->class->instances.at[i], &value)) continue;
        pel_node *text = pel_value_expression(c->b->ctx, c->b->program, (pel_id)value);
        if (text) part->lanes[i] = text;
    }
}

static pel_node *attribute_text(collector *c, pel_id module, const pel_needed_attribute *need, pel_id value) {
    pel_builder *b = c->b;
    const pel_value *row = pel_value_at(b->log, value);
    pel_node *text = row->kind == PEL_V_TENSOR ? pel_tensor_expression(b->ctx, b->program, row->tensor)
                                               : pel_value_expression(b->ctx, b->program, value);
    if (!text) text = pel_held_text(b, pel_module_at(b->log, module), value, 0);
    if (text) return text;
    pel_refuse_users(b->ctx, b->program, c->class->class, value);
    pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%s.%s holds an object that has no literal", c->class->name->text,
              need->name->text);
}

static void collect_attributes(collector *c) {
    uint32_t n_registered = c->parts.n;
    for (uint32_t k = 0; k < c->class->needs.n; k++) {
        const pel_needed_attribute *need = &c->class->needs.at[k];
        if (is_registered(c, n_registered, need->name)) {
            add_to_child(c, need);
            continue;
        }
        if (!pel_is_read(c->b, c->class->class, need->name) || base_makes(c->b, c->class, need->name) ||
            is_computed(c->class, need->name))
            continue;
        c->place = c->parts.n;
        pel_part *part = part_named(c, need->name, PEL_PART_ATTRIBUTE);
        for (uint32_t i = 0; i < c->class->instances.n; i++) {
            pel_id module = c->class->instances.at[i], value = pel_needed_value(c->b->log, need, module);
            if (value) part->lanes[i] = attribute_text(c, module, need, value);
        }
    }
}

pel_part_list pel_parts_of(pel_builder *b, const pel_program_class *class) {
    collector c = { .b = b, .class = class };
    collect_registered(&c);
    collect_attributes(&c);
    return c.parts;
}
