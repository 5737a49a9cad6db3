/* Names: local ones, those of cells, of the file and of libraries. */
#include "trace/walk/expr.h"

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
    if (pel_is_local(w, node->Name.id) && pel_env_slot(w, node->Name.id)->gone && val->text->kind == PEL_Name) {
        if (!val->parts) pel_lost(w, node, "what `%s` holds differs from path to path", node->Name.id->text);
        val->text = pel_parts_text(w, val->parts);
        for (uint32_t i = 0; i < val->parts->n; i++) val->lost |= val->parts->items[i]->lost;
    }
    return val;
}
