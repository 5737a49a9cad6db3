/* Code that data lead some lanes to, and not others. That all who came by saw one value means little there: with other
 * data others come, another round of the loop or another instance of the class. So a name or an attribute that lanes
 * elsewhere have another value of depends on data here, although no data is in it. Levels count the tests on data that
 * chose the lanes; a name remembers at which level it was bound. */
#include "trace/walk/expr.h"

static bool is_none(const pel_walk *w, pel_id value) {
    const pel_value *row = pel_value_at(w->log, value);
    return row->kind == PEL_V_CONST && row->constant->kind == PEL_CONST_NONE;
}

void pel_bind_lanes(pel_walk *w, pel_front front, pel_slot *slot, const pel_id *values) {
    slot->level = w->level;
    slot->binding = ++w->bindings;
    slot->varies = !values || !pel_all_same(w, front, values);
    slot->none = slot->some = false;
    for (uint32_t i = 0; i < front.n; i++) *(values && is_none(w, values[i]) ? &slot->none : &slot->some) = true;
}

void pel_join_bindings(pel_slot *slot, const pel_slot *with) {
    slot->varies |= with->varies || slot->binding != with->binding;
    slot->none |= with->none;
    slot->some |= with->some;
    if (slot->level > with->level) slot->level = with->level;
}

static bool is_chosen_name(const pel_walk *w, const pel_slot *slot) { return slot->varies && w->level > slot->level; }

static bool are_plain_and_same(pel_walk *w, pel_front front, const pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!values[i] || !pel_plain(w->s, values[i])) return false;
    return front.n && pel_all_same(w, front, values);
}

void pel_taint_chosen_name(pel_walk *w, pel_front front, const pel_slot *slot, pel_val *val) {
    if (pel_varies(val->taint) || !is_chosen_name(w, slot)) return;
    if ((slot->none && slot->some) || are_plain_and_same(w, front, val->at)) val->taint = &pel_tainted;
}

/* ---- attributes ---- */

/* What stands in a path from `self`: self.stages.first. */
static pel_id follow(const pel_log *log, pel_id module, const pel_node *path) {
    if (path->kind != PEL_Attribute) return module;
    module = follow(log, module, path->Attribute.value);
    const pel_log_module *row = module ? pel_module_at(log, module) : NULL;
    for (uint32_t i = 0; row && i < row->child_names.n; i++)
        if (row->child_names.at[i] == path->Attribute.attr) return row->children[i];
    return 0;
}

/* Of modules only the kind counts: each has its own. */
static bool is_other_kind(const pel_log *log, const pel_log_module *row, pel_name name, const pel_value *value) {
    pel_id child = pel_child_named(row, name->text);
    return !child || pel_module_at(log, child)->class != pel_module_at(log, value->module)->class;
}

static bool has_another(const pel_walk *w, pel_id self, const pel_node *path, pel_name name, pel_id value) {
    pel_id module = follow(w->log, self, path);
    if (!module) return false;
    const pel_log_module *row = pel_module_at(w->log, module);
    if (pel_value_at(w->log, value)->kind == PEL_V_MODULE)
        return is_other_kind(w->log, row, name, pel_value_at(w->log, value));
    pel_id other = pel_module_attribute(w->log, module, name);
    if (!other) return pel_has_slot(row, name);
    return !pel_value_same(w->log, other, value);
}

/* Whether some instance that may come here with other data has another value of an attribute: one that called the
 * function, or any of its class if data chose who called it. */
static bool differs_elsewhere(const pel_walk *w, const pel_node *path, pel_name name, pel_id value) {
    const pel_group *group = w->group;
    for (uint32_t i = 0; i < group->n_lanes && !group->facts.chosen; i++) {
        pel_id id = w->log->activations.at[group->lanes[i]].locals[group->params[0].local];
        const pel_value *self = pel_value_at(w->log, id);
        if (self->kind == PEL_V_MODULE && has_another(w, self->module, path, name, value)) return true;
    }
    for (pel_id module = 1; module < w->log->modules.n && group->facts.chosen; module++)
        if (pel_module_at(w->log, module)->class == group->class && has_another(w, module, path, name, value))
            return true;
    return false;
}

static bool begins_with_self(const pel_group *group, const pel_node *path) {
    while (path->kind == PEL_Attribute) path = path->Attribute.value;
    return group->class && group->n_params && group->params[0].kind == PEL_PARAM_PLAIN && path->kind == PEL_Name &&
           path->Name.id == group->params[0].name;
}

bool pel_is_chosen(pel_walk *w, const pel_node *node, pel_id value) {
    if (!w->level) return false;
    if (node->kind == PEL_Name)
        return pel_is_local(w, node->Name.id) && is_chosen_name(w, pel_env_slot(w, node->Name.id));
    if (node->kind != PEL_Attribute) return false;
    const pel_node *path = node->Attribute.value;
    if (begins_with_self(w->group, path)) return differs_elsewhere(w, path, node->Attribute.attr, value);
    return path->kind == PEL_Name && pel_is_chosen(w, path, 0);
}

void pel_taint_chosen_attribute(pel_walk *w, pel_front front, const pel_node *node, pel_val *val) {
    if (!w->level || pel_varies(val->taint) || !pel_is_chosen(w, node, val->at[0])) return;
    if (are_plain_and_same(w, front, val->at) || pel_is_table(w, val->at[0])) val->taint = &pel_tainted;
}

/* Other runs were in the other mode, and with other data they could have come here. */
void pel_taint_chosen_mode(pel_walk *w, pel_front front, pel_val *val) {
    if (w->level && w->s->asked.trained && w->s->asked.evaluated && are_plain_and_same(w, front, val->at))
        val->taint = &pel_tainted_some;
}

void pel_choose_callees(pel_walk *w, const pel_kids *kids, bool by_data) {
    for (uint32_t i = 0; (w->level || by_data) && i < kids->n; i++) {
        pel_group *group = w->s->group_of[kids->at[i].activation];
        if (!group || group->facts.chosen) continue;
        group->facts.chosen = w->s->facts.changed = true;
    }
}
