/* Storing: names, attributes, items, and what is left of **kwargs. */
#include "trace/walk/walk.h"

/* ---- names ---- */

static bool only_names(const pel_node *target) {
    if (target->kind == PEL_Name) return true;
    if (target->kind == PEL_Starred) return only_names(target->Starred.value);
    if (target->kind != PEL_Tuple && target->kind != PEL_List) return false;
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (!only_names(target->Tuple.elts.at[i])) return false;
    return true;
}

static bool is_star_name(const pel_walk *w, pel_name name) {
    const pel_code_object *code = w->log->codes.at[w->group->code].code;
    uint32_t first = code->argcount + code->kwonlyargcount;
    uint32_t n = (code->flags & PEL_CO_VARARGS ? 1u : 0u) + (code->flags & PEL_CO_VARKEYWORDS ? 1u : 0u);
    for (uint32_t i = first; i < first + n; i++)
        if (code->varnames.at[i] == name) return true;
    return false;
}

/* A value that depends on data is stored where other functions find it: they learn of it by a map of such facts. */
static void spread_taint(pel_walk *w, pel_map *facts, uint64_t key, const pel_taint *taint) {
    const pel_taint *fact = pel_map_pointer(facts, key), *before = fact;
    if (pel_taint_grow(w->ctx, &fact, taint)) w->s->facts.changed = true;
    if (fact != before) pel_map_set(w->ctx, facts, key, PEL_KEY(fact));
}

void pel_tell_closures(pel_walk *w, pel_name name, const pel_taint *taint) {
    const pel_code_object *code = w->log->codes.at[w->author->code].code;
    for (uint32_t i = 0; i < code->cellvars.n; i++) {
        if (code->cellvars.at[i] != name) continue;
        for (uint32_t k = 0; k < w->s->groups.n; k++) {
            const pel_group *group = w->s->groups.at[k];
            if (group->is.nested) spread_taint(w, &w->s->facts.cells, pel_key2(group->code, PEL_KEY(name)), taint);
        }
    }
}

/* What is bound: its taint, what is known of its parts, and its value in each lane, as far as these are known. */
typedef struct {
    const pel_taint *taint;
    const pel_parts *parts;
    const pel_id *values;
} bound;

static void bind_name(pel_walk *w, pel_front front, pel_name name, bound b) {
    pel_slot *slot = pel_env_slot(w, name);
    pel_bind_lanes(w, front, slot, b.values);
    slot->taint = b.taint;
    slot->parts = b.parts;
    slot->own = slot->is_size = false;
    /* kwargs = what is left of kwargs: still nothing but names */
    slot->gone = slot->gone && b.parts && b.parts->keys && is_star_name(w, name);
    pel_tell_closures(w, name, b.taint);
}

/* One item of sequences; NULL if some lane's is none, or not of that length. */
static const pel_id *items_at(pel_walk *w, pel_front front, const pel_id *values, uint32_t item, uint32_t length) {
    if (!values) return NULL;
    pel_id *items = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, values[i]);
        bool is_sequence = value->kind == PEL_V_TUPLE || value->kind == PEL_V_LIST || value->kind == PEL_V_SIZE;
        if (!is_sequence || value->truncated || value->n != length) return NULL;
        items[i] = value->items[item];
    }
    return items;
}

static void bind_names(pel_walk *w, pel_front front, const pel_node *target, bound b) {
    if (target->kind == PEL_Name) return bind_name(w, front, target->Name.id, b);
    if (target->kind == PEL_Starred) return bind_names(w, front, target->Starred.value, (bound){ .taint = b.taint });
    bool starred = false;
    uint32_t n = target->Tuple.elts.n;
    for (uint32_t i = 0; i < n; i++) {
        bool is_rest = target->Tuple.elts.at[i]->kind == PEL_Starred;
        starred |= is_rest;
        bool known = b.parts && !b.parts->keys && b.parts->n == n && !starred;
        bound item = { is_rest   ? pel_taint_some_items(b.taint)
                       : starred ? pel_taint_any(b.taint)
                                 : pel_taint_item(b.taint, i),
                       known ? b.parts->items[i]->parts : NULL, starred ? NULL : items_at(w, front, b.values, i, n) };
        bind_names(w, front, target->Tuple.elts.at[i], item);
    }
}

/* The records of binding names. In which order they are bound is the compiler's affair: a, b = b, a has no tuple. */
static void eat_bindings(pel_walk *w, pel_front front, const pel_node *target) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane)) && pel_inside(pel_position_of(w, record), target)) {
            if (record->kind == PEL_R_RAISE) pel_lost(w, target, "unpacking raises here");
            if (record->kind == PEL_R_RETURN) break;
            uint16_t op = pel_insn_of(w, record)->op;
            lane->at++;
            if (target->kind == PEL_Name &&
                (op == PEL_OP_STORE_FAST || op == PEL_OP_STORE_DEREF || op == PEL_OP_STORE_GLOBAL))
                break;
        }
    }
}

/* ---- attributes ---- */

void pel_tell_readers(pel_walk *w, pel_front front, pel_name attribute, const pel_id *objects, const pel_taint *taint) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, objects[i]);
        pel_id class = pel_class_with_attributes(w->log, objects[i]);
        if (!class) continue;
        spread_taint(w, &w->s->facts.attributes, pel_key2(class, PEL_KEY(attribute)), taint);
        if (pel_is_constant(taint) || value->kind != PEL_V_OBJECT || pel_live(w->s, objects[i]) ||
            pel_map_has(&w->s->objects.old, value->object))
            continue;
        pel_make_live(w->s, class); /* what it was seen to hold says nothing about other data */
        w->s->facts.changed = true;
    }
}

void pel_refuse_class_store(pel_walk *w, pel_front front, const pel_node *target, const pel_id *objects) {
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, objects[i])->kind;
        if (kind == PEL_V_CLASS || kind == PEL_V_FUNCTION)
            pel_lost(w, target, "an attribute of a class or a function is stored, which the output does not keep");
    }
}

/* self.run = self.later: the output has the methods that ran, and this one may never have. */
static void refuse_stored_method(pel_walk *w, pel_front front, const pel_node *target, const pel_val *value) {
    for (uint32_t i = 0; value && i < front.n; i++) {
        const pel_value *stored = pel_value_at(w->log, value->at[i]);
        const pel_value *function = stored->kind == PEL_V_METHOD ? pel_value_at(w->log, stored->items[1]) : stored;
        if (stored->kind == PEL_V_METHOD && function->kind == PEL_V_FUNCTION && !pel_ran(w->s, function->code))
            pel_lost(w, target, "a method is stored in `%s` that never ran", target->Attribute.attr->text);
    }
}

static pel_node *store_attribute(pel_walk *w, pel_front front, const pel_node *target, const pel_taint *taint,
                                 const pel_val *value) {
    pel_val *base = pel_eval(w, front, target->Attribute.value);
    pel_kids kids = { 0 };
    pel_own(w, front, target, NULL, NULL, &kids);
    if (kids.n && !pel_on_records(w, &kids))
        pel_lost(w, target, "storing `%s` runs code of the author's", target->Attribute.attr->text);
    refuse_stored_method(w, front, target, value);
    bool settled = value && !pel_dynamic(w, front, value);
    for (uint32_t i = 0; i < front.n; i++) settled &= pel_is_static_object(w->s, base->at[i]);
    if (settled) return pel_make_name(w->ctx, pel_intern_c(w->ctx, "_"), PEL_Store); /* who reads it is known */
    pel_refuse_class_store(w, front, target, base->at);
    w->effect = true;
    pel_tell_readers(w, front, target->Attribute.attr, base->at, taint);
    pel_node *made = pel_shallow(w, target);
    made->Attribute.value = base->text;
    return made;
}

/* ---- items ---- */

/* Containers of classes of their own, as model outputs are, tell by their attributes. */
static bool is_plain_container(const pel_value *value) {
    return value->object && !value->class &&
           (value->kind == PEL_V_LIST || value->kind == PEL_V_DICT || value->kind == PEL_V_SET);
}

/* A container of the function's own, where no test of the function's led: whoever makes it fills it. */
static bool is_always_filled(pel_walk *w, const pel_node *container) {
    return w->level == w->group->facts.chosen && container->kind == PEL_Name &&
           pel_env_slot(w, container->Name.id)->own;
}

void pel_fill(pel_walk *w, pel_front front, const pel_node *container, const pel_id *containers, bool with_data) {
    bool by_data = w->level && !is_always_filled(w, container);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, containers[i]);
        bool is_kept = pel_map_has(&w->s->objects.old, value->object); /* from call to call */
        if (!is_plain_container(value) || (!with_data && !by_data && !is_kept)) continue;
        uint64_t before = pel_map_find(&w->s->facts.filled, value->object, 0),
                 now = before | (with_data || is_kept ? PEL_FILLED_WITH_DATA : PEL_FILLED_BY_DATA);
        if (now == before) continue;
        pel_map_set(w->ctx, &w->s->facts.filled, value->object, now);
        w->s->facts.changed = true;
    }
}

const pel_taint *pel_filled_taint(pel_walk *w, pel_front front, const pel_val *val) {
    uint64_t found = 0;
    if (!w->s->facts.filled.n) return NULL;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (is_plain_container(value)) found |= pel_map_find(&w->s->facts.filled, value->object, 0);
    }
    return found & PEL_FILLED_WITH_DATA ? &pel_tainted_holder : found ? &pel_tainted_count : NULL;
}

/* d["key"] = constant, where all that d holds is known. */
static const pel_parts *with_key(pel_walk *w, const pel_parts *old, const pel_node *key, const pel_val *value) {
    if (!old || !old->keys || !value || value->text->kind != PEL_Constant || key->kind != PEL_Constant ||
        key->Constant.value->kind != PEL_CONST_STR)
        return NULL;
    pel_name name = pel_intern_str(w->ctx, key->Constant.value->text);
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made =
        (pel_parts){ 0, pel_new_array(w->ctx, old->n + 1u, pel_name), pel_new_array(w->ctx, old->n + 1u, pel_val *) };
    for (uint32_t i = 0; i < old->n; i++) {
        if (old->keys[i] == name) continue;
        made->keys[made->n] = old->keys[i];
        made->items[made->n++] = old->items[i];
    }
    pel_val *item = pel_new(w->ctx, pel_val);
    item->text = value->text;
    item->taint = value->taint;
    made->keys[made->n] = name;
    made->items[made->n++] = item;
    return made;
}

/* kwargs["key"] = value, where kwargs is gone: key becomes a local name. */
pel_node *pel_store_key(pel_walk *w, pel_front front, pel_slot *slot, pel_name key, const pel_val *value) {
    const pel_parts *old = slot->parts;
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ old->n, pel_new_array(w->ctx, old->n + 1u, pel_name),
                         pel_new_array(w->ctx, old->n + 1u, pel_val *) };
    uint32_t at = old->n;
    for (uint32_t i = 0; i < old->n; i++) {
        made->keys[i] = old->keys[i];
        made->items[i] = old->items[i];
        if (old->keys[i] == key) at = i;
    }
    if (at == old->n) made->n++;
    pel_name local = at < old->n && old->items[at]->text->kind == PEL_Name
                         ? old->items[at]->text->Name.id
                         : pel_free_name(w->s, w->log->codes.at[w->group->code].code, key);
    pel_val *item = pel_val_new(w, front, pel_make_name(w->ctx, local, PEL_Load));
    item->taint = value->taint;
    item->lost = value->lost;
    item->optional = at < old->n ? old->items[at]->optional : NULL; /* calls that don't come by here may not have it */
    bool negative = value->text->kind == PEL_UnaryOp && value->text->UnaryOp.operand->kind == PEL_Constant;
    if (value->text->kind == PEL_Constant || negative) item->text = value->text;
    made->keys[at] = key;
    made->items[at] = item;
    slot->parts = made;
    pel_env_slot(w, local)->taint = value->taint;
    return pel_make_name(w->ctx, local, PEL_Store);
}

static pel_node *store_gone_item(pel_walk *w, pel_front front, const pel_node *target, const pel_val *slice,
                                 const pel_val *value) {
    pel_slot *slot = pel_env_slot(w, target->Subscript.value->Name.id);
    const pel_const *key = slice->text->kind == PEL_Constant ? slice->text->Constant.value : NULL;
    if (!slot->parts || !slot->parts->keys || !value || !key || key->kind != PEL_CONST_STR)
        pel_lost(w, target, "`%s` is changed in a way that has no names", slot->name->text);
    return pel_store_key(w, front, slot, pel_intern_str(w->ctx, key->text), value);
}

static pel_node *store_item(pel_walk *w, pel_front front, const pel_node *target, const pel_taint *taint,
                            const pel_val *value) {
    pel_val *base = pel_eval(w, front, target->Subscript.value), *slice = pel_eval(w, front, target->Subscript.slice);
    pel_own(w, front, target, NULL, NULL, NULL);
    const pel_node *holder = target->Subscript.value;
    pel_slot *slot = holder->kind == PEL_Name ? pel_env_slot(w, holder->Name.id) : NULL;
    if (slot && slot->gone) return store_gone_item(w, front, target, slice, value);
    pel_refuse_item_of_modules(w, front, target, base->at);
    w->effect = true;
    uint8_t kind = pel_value_at(w->log, base->at[0])->kind;
    bool is_where_data_say = (kind == PEL_V_LIST || kind == PEL_V_DICT) && pel_dynamic(w, front, slice);
    if (slot && (pel_taint_holds_data(taint) || is_where_data_say)) slot->taint = &pel_tainted;
    pel_fill(w, front, holder, base->at, pel_taint_holds_data(taint) || is_where_data_say);
    if (slot) slot->parts = with_key(w, slot->parts, slice->text, value);
    pel_node *made = pel_shallow(w, target);
    made->Subscript.value = base->text;
    made->Subscript.slice = slice->text;
    return made;
}

/* ---- any target ---- */

/* UNPACK_SEQUENCE ends expressions, but stands among the targets. */
static void eat_unpacking(pel_walk *w, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        if (!record || record->kind == PEL_R_RETURN) continue;
        uint16_t op = pel_insn_of(w, record)->op;
        if (op == PEL_OP_UNPACK_SEQUENCE || op == PEL_OP_UNPACK_EX) lane->at++;
    }
}

void pel_store(pel_walk *w, pel_front front, pel_node *target, const pel_lane_stored *stored, pel_node **text) {
    const pel_taint *taint = stored->taint;
    const pel_val *value = stored->value;
    if (only_names(target)) {
        *text = pel_copy(w->ctx, target); /* later passes strike names out */
        eat_bindings(w, front, target);
        bind_names(w, front, target, (bound){ taint, stored->parts, value ? value->at : NULL });
        return;
    }
    switch (target->kind) {
    case PEL_Attribute: *text = store_attribute(w, front, target, taint, value); return;
    case PEL_Subscript: *text = store_item(w, front, target, taint, value); return;
    case PEL_Tuple:
    case PEL_List:
        *text = pel_shallow(w, target);
        (*text)->Tuple.elts = (pel_nodes){ 0 };
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) {
            pel_node *item;
            pel_own(w, front, target, target->Tuple.elts.at[i], NULL, NULL);
            eat_unpacking(w, front);
            bool is_rest = target->Tuple.elts.at[i]->kind == PEL_Starred;
            const pel_taint *part = is_rest ? pel_taint_some_items(taint) : pel_taint_item(taint, i);
            pel_store(w, front, target->Tuple.elts.at[i], &(pel_lane_stored){ .taint = part }, &item);
            pel_nodes_push(w->ctx, &(*text)->Tuple.elts, item);
        }
        return;
    case PEL_Starred:
        *text = pel_shallow(w, target);
        pel_store(w, front, target->Starred.value, &(pel_lane_stored){ .taint = taint }, &(*text)->Starred.value);
        return;
    default: pel_lost(w, target, "%s cannot be assigned to", pel_kinds[target->kind].name);
    }
}
