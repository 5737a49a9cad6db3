/* Names: what is known of each where paths part and meet, and reading them. */
#include "trace/walk/walk.h"
#include "trace/walk/expr.h"

/* What is known of local names, and what is left of that where paths meet. */

pel_slot *pel_env_slot(pel_walk *w, pel_name name) {
    for (uint32_t i = 0; i < w->env.n; i++)
        if (w->env.at[i].name == name) return &w->env.at[i];
    pel_slot *moved = pel_new_array(w->ctx, w->env.n + 8u, pel_slot);
    if (w->env.n) memcpy(moved, w->env.at, w->env.n * sizeof *moved);
    w->env.at = moved;
    moved[w->env.n].name = name;
    return &moved[w->env.n++];
}

pel_env pel_env_copy(pel_walk *w, const pel_env *env) {
    pel_env copy = { pel_new_array(w->ctx, env->n + 8u, pel_slot), env->n };
    if (env->n) memcpy(copy.at, env->at, env->n * sizeof *env->at);
    return copy;
}

static const pel_slot *find_slot(const pel_env *env, pel_name name) {
    for (uint32_t i = 0; i < env->n; i++)
        if (env->at[i].name == name) return &env->at[i];
    return NULL;
}

static const pel_parts *join_parts(pel_walk *w, const pel_parts *a, const pel_parts *b) {
    if (a == b) return a;
    if (!a || !b || a->n != b->n || !a->keys != !b->keys) return NULL;
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ a->n, a->keys, pel_new_array(w->ctx, a->n + 1u, pel_val *) };
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->keys && a->keys[i] != b->keys[i]) return NULL;
        if (!pel_same(a->items[i]->text, b->items[i]->text)) return NULL;
        pel_val *item = pel_new(w->ctx, pel_val);
        *item = *a->items[i];
        item->taint = pel_taint_join(w->ctx, item->taint, b->items[i]->taint);
        if (!item->optional) item->optional = b->items[i]->optional;
        made->items[i] = item;
    }
    return made;
}

static bool same_parts(const pel_parts *a, const pel_parts *b) {
    if (a == b) return true;
    if (!a || !b || a->n != b->n || !a->keys != !b->keys) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if ((a->keys && a->keys[i] != b->keys[i]) || !pel_taint_same(a->items[i]->taint, b->items[i]->taint) ||
            !pel_same(a->items[i]->text, b->items[i]->text))
            return false;
    return true;
}

void pel_env_join(pel_walk *w, pel_env *into, const pel_env *from) {
    pel_env saved = w->env, with = *from; /* from may be the walk's own */
    w->env = *into;
    for (uint32_t i = 0; i < with.n; i++) {
        bool known = find_slot(&w->env, with.at[i].name) != NULL;
        pel_slot *slot = pel_env_slot(w, with.at[i].name);
        if (!known) {
            *slot = with.at[i];
            continue;
        }
        slot->taint = pel_taint_join(w->ctx, slot->taint, with.at[i].taint);
        slot->parts = join_parts(w, slot->parts, with.at[i].parts);
        slot->own &= with.at[i].own;
        slot->is_size &= with.at[i].is_size;
        slot->gone |= with.at[i].gone;
        pel_join_bindings(slot, &with.at[i]);
    }
    for (uint32_t i = 0; i < w->env.n; i++)
        if (!find_slot(&with, w->env.at[i].name)) w->env.at[i].parts = NULL;
    *into = w->env;
    if (into != &w->env) w->env = saved;
}

static void taint_name(pel_walk *w, const pel_node *target) {
    switch (target->kind) {
    case PEL_Name: pel_env_slot(w, target->Name.id)->taint = &pel_tainted; break;
    case PEL_Starred: taint_name(w, target->Starred.value); break;
    case PEL_Subscript: taint_name(w, target->Subscript.value); break;
    case PEL_Tuple:
    case PEL_List:
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) taint_name(w, target->Tuple.elts.at[i]);
        break;
    default: break;
    }
}

static void taint_stores(void *arg, pel_node **slot) {
    pel_walk *w = arg;
    pel_node *node = *slot;
    switch (node->kind) {
    case PEL_Assign:
        for (uint32_t i = 0; i < node->Assign.targets.n; i++) taint_name(w, node->Assign.targets.at[i]);
        break;
    case PEL_AugAssign: taint_name(w, node->AugAssign.target); break;
    case PEL_For: taint_name(w, node->For.target); break;
    case PEL_NamedExpr: taint_name(w, node->NamedExpr.target); break;
    case PEL_Expr: /* lst.append(x) */
        if (node->Expr.value->kind == PEL_Call && node->Expr.value->Call.func->kind == PEL_Attribute)
            taint_name(w, node->Expr.value->Call.func->Attribute.value);
        break;
    case PEL_FunctionDef:
    case PEL_Lambda: return;
    default: break;
    }
    pel_each_child(node, taint_stores, w);
}

void pel_taint_stored(pel_walk *w, pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++) taint_stores(w, &body.at[i]);
}

bool pel_env_same(const pel_env *a, const pel_env *b) {
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        const pel_slot *other = find_slot(b, a->at[i].name);
        if (!other || !pel_taint_same(other->taint, a->at[i].taint) || !same_parts(other->parts, a->at[i].parts) ||
            other->own != a->at[i].own)
            return false;
    }
    return true;
}

/* Code that data lead some lanes to, and not others. That all who came by saw one value means little there: with other
 * data others come, another round of the loop or another instance of the class. So a name or an attribute that lanes
 * elsewhere have another value of depends on data here, although no data is in it. Levels count the tests on data that
 * chose the lanes; a name remembers at which level it was bound. */

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

/* Names: local ones, those of cells, of the file and of libraries. */

/* One record that must be there: the load or store of a name. */
static void eat_one(pel_walk *w, pel_front front, const pel_node *node, pel_id *values) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        if (!record || !pel_inside(pel_position_of(w, record), node))
            pel_lost(w, node, "the log of activation %u does not come by here", lane->activation);
        if (record->kind == PEL_R_RAISE) pel_lost(w, node, "an exception is raised here");
        if (record->kind == PEL_R_PUSH) values[i] = record->value;
        lane->at++;
    }
}

bool pel_is_local(const pel_walk *w, pel_name name) {
    const pel_code_object *code = w->log->codes.at[w->author->code].code;
    return pel_names_have(code->varnames, name) || pel_names_have(code->cellvars, name) ||
           pel_names_have(code->freevars, name);
}

/* A free variable of a function that was made before the run: nothing in the output binds it. */
static bool is_outside_cell(const pel_walk *w, pel_name name) {
    return !w->group->is.nested && pel_names_have(w->log->codes.at[w->group->code].code->freevars, name);
}

void pel_refer(pel_walk *w, pel_node **text, pel_id code) {
    if (pel_ran(w->s, code))
        pel_push(w->ctx, &w->s->references, ((pel_reference){ *text, code, NULL, false }));
    else
        *text = pel_stub_name(w->s);
}

/* A name of the file that the run binds anew. */
static bool is_written_global(pel_walk *w, pel_name name, pel_val *val) {
    uint64_t key = pel_key2(w->log->codes.at[w->author->code].file, PEL_KEY(name)), first;
    if (pel_is_local(w, name) || !pel_map_get(&w->s->objects.written_globals, key, &first)) return false;
    pel_node *text = first ? pel_global_expression(w->ctx, w->s->program, (pel_id)first, key, name) : NULL;
    if (!text) pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "the global variable `%s` has no literal", name->text);
    if (text->Name.id != name) pel_throw(w->ctx, PEL_E_UNSUPPORTED, 0, "two files bind a global `%s`", name->text);
    if (val) {
        val->text = text;
        val->taint = &pel_tainted; /* what calls before this one did */
    }
    return true;
}

static bool binds_free_name(const pel_author *author, const pel_code_object *code, pel_name name) {
    if (!author->insns || !pel_names_have(code->freevars, name)) return false;
    for (uint32_t i = 0; i < author->insns->n; i++)
        if (author->insns->at[i].op == PEL_OP_STORE_DEREF && author->insns->at[i].name == name) return true;
    return false;
}

/* Whether a function within another binds a variable of that one: `nonlocal n`. When it runs is not followed. */
static bool is_bound_by_others(const pel_walk *w, pel_name name) {
    const pel_code_object *own = w->log->codes.at[w->author->code].code;
    if (!pel_names_have(own->cellvars, name) && !pel_names_have(own->freevars, name)) return false;
    for (pel_id code = 1; code < w->log->codes.n; code++)
        if (binds_free_name(&w->s->authors[code], w->log->codes.at[code].code, name)) return true;
    return false;
}

/* What a name of the file means that no run binds: a function, a class or a module has no other value anyway. */
static const pel_taint *of_file(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, val->at[i])->kind;
        if (kind != PEL_V_LIBRARY && kind != PEL_V_CLASS && kind != PEL_V_FUNCTION) return pel_constant(PEL_WHY_FILE);
    }
    return pel_constant(PEL_WHY_LIBRARY);
}

pel_val *pel_eval_name(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_new(w, front, pel_shallow(w, node));
    eat_one(w, front, node, val->at);
    if (is_written_global(w, node->Name.id, val)) return val;
    if (pel_is_local(w, node->Name.id)) {
        pel_slot *slot = pel_env_slot(w, node->Name.id);
        val->taint = slot->taint ? slot->taint : &pel_taint_unknown; /* bound by what no rule knows */
        val->parts = slot->parts;
        pel_taint_chosen_name(w, front, slot, val);
        if (is_bound_by_others(w, node->Name.id)) val->taint = &pel_tainted;
    }
    bool in_cell = is_outside_cell(w, node->Name.id), from_outside = !pel_is_local(w, node->Name.id) || in_cell;
    if (from_outside) val->taint = in_cell ? pel_constant(PEL_WHY_CELL) : of_file(w, front, val);
    pel_node *known = in_cell ? pel_cell_text(w, front, node->Name.id, val->at) : NULL;
    if (known) {
        val->text = known;
        return pel_finish(w, front, node, val);
    }
    val->lost = in_cell && !pel_all_same(w, front, val->at);
    for (uint32_t i = 0; i < front.n && !val->lost; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (pel_is_static_object(w->s, val->at[i]))
            val->lost = true;
        else if (from_outside && value->kind == PEL_V_FUNCTION) {
            if (pel_all_same(w, front, val->at))
                pel_refer(w, &val->text, value->code);
            else
                val->lost = true;
            break;
        } else if (from_outside && !pel_plain(w->s, val->at[i]))
            val->lost = true;
    }
    if (val->lost && from_outside) pel_map_set(w->ctx, &w->s->notes.unwritable, PEL_KEY(val->text), 1);
    val = pel_finish(w, front, node, val);
    bool is_gone = pel_is_local(w, node->Name.id) && pel_env_slot(w, node->Name.id)->gone;
    if (val->parts && !is_gone && pel_filled_taint(w, front, val)) val->parts = NULL; /* by another name, too */
    if (is_gone && val->text->kind == PEL_Name) {
        if (!val->parts) pel_lost(w, node, "what `%s` holds differs from path to path", node->Name.id->text);
        val->text = pel_parts_text(w, val->parts);
        if (val->parts->keys) pel_note_node(w->s, val->text, PEL_NOTE_KEYWORDS);
        for (uint32_t i = 0; i < val->parts->n; i++) val->lost |= val->parts->items[i]->lost;
    }
    return val;
}
