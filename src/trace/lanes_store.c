/* Storing: names, attributes, items, and what is left of **kwargs. */
#include "trace/lanes.h"

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

static void bind_names(pel_walk *w, const pel_node *target, const pel_taint *taint, const pel_parts *parts) {
    if (target->kind == PEL_Name) {
        pel_slot *slot = pel_env_slot(w, target->Name.id);
        slot->taint = taint;
        slot->parts = parts;
        slot->own = false;
        /* kwargs = what is left of kwargs: still nothing but names */
        slot->gone = slot->gone && parts && parts->keys && is_star_name(w, target->Name.id);
        const pel_code_object *code = w->log->codes.at[w->author->code].code;
        for (uint32_t i = 0; i < code->cellvars.n; i++)
            if (code->cellvars.at[i] == target->Name.id && taint) {
                /* closures see it, whichever code reads it there */
                for (uint32_t k = 0; k < w->s->groups.n; k++) {
                    pel_group *group = w->s->groups.at[k];
                    if (!group->in_place) continue;
                    uint64_t key = pel_key2(group->code, PEL_KEY(target->Name.id));
                    const pel_taint *fact = (const pel_taint *)(uintptr_t)pel_map_find(&w->s->cell_taint, key, 0);
                    if (pel_taint_grow(w->ctx, &fact, taint)) {
                        pel_map_set(w->ctx, &w->s->cell_taint, key, PEL_KEY(fact));
                        w->s->changed = true;
                    }
                }
            }
    } else if (target->kind == PEL_Starred) {
        bind_names(w, target->Starred.value, pel_taint_any(taint), NULL);
    } else {
        bool starred = false;
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) {
            starred |= target->Tuple.elts.at[i]->kind == PEL_Starred;
            bool known = parts && !parts->keys && parts->n == target->Tuple.elts.n && !starred;
            bind_names(w, target->Tuple.elts.at[i], starred ? pel_taint_any(taint) : pel_taint_item(taint, i),
                       known ? parts->items[i]->parts : NULL);
        }
    }
}

static void store_attribute(pel_walk *w, pel_front front, const pel_node *target, const pel_val *base,
                            const pel_taint *taint) {
    w->effect = true;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, base->at[i]);
        pel_id class = value->kind == PEL_V_MODULE   ? pel_module_at(w->log, value->module)->class
                       : value->kind == PEL_V_OBJECT ? value->class
                                                     : 0;
        if (!class || !taint) continue;
        uint64_t key = pel_key2(class, PEL_KEY(target->Attribute.attr));
        const pel_taint *fact = (const pel_taint *)(uintptr_t)pel_map_find(&w->s->attribute_taint, key, 0);
        if (pel_taint_grow(w->ctx, &fact, taint)) {
            pel_map_set(w->ctx, &w->s->attribute_taint, key, PEL_KEY(fact));
            w->s->changed = true;
        }
    }
}

/* d["key"] = constant, where all that d holds is known. */
static const pel_parts *with_key(pel_walk *w, const pel_parts *old, const pel_node *key, const pel_val *value) {
    if (!old || !old->keys || !value || value->text->kind != PEL_Constant || key->kind != PEL_Constant ||
        key->Constant.value->kind != PEL_CONST_STR)
        return NULL;
    pel_name name = pel_intern(w->ctx, key->Constant.value->text.ptr, key->Constant.value->text.len);
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
static pel_node *store_key(pel_walk *w, pel_front front, const pel_node *target, const pel_val *slice,
                           const pel_val *value) {
    pel_slot *slot = pel_env_slot(w, target->Subscript.value->Name.id);
    const pel_parts *old = slot->parts;
    const pel_const *key = slice->text->kind == PEL_Constant ? slice->text->Constant.value : NULL;
    if (!old || !old->keys || !value || !key || key->kind != PEL_CONST_STR)
        pel_lost(w, target, "`%s` is changed in a way that has no names", slot->name->text);
    pel_name name = pel_intern(w->ctx, key->text.ptr, key->text.len);
    pel_parts *made = pel_new(w->ctx, pel_parts);
    *made = (pel_parts){ old->n, pel_new_array(w->ctx, old->n + 1u, pel_name),
                         pel_new_array(w->ctx, old->n + 1u, pel_val *) };
    uint32_t at = old->n;
    for (uint32_t i = 0; i < old->n; i++) {
        made->keys[i] = old->keys[i];
        made->items[i] = old->items[i];
        if (old->keys[i] == name) at = i;
    }
    if (at == old->n) made->n++;
    pel_name local = at < old->n && old->items[at]->text->kind == PEL_Name
                         ? old->items[at]->text->Name.id
                         : pel_free_name(w->s, w->log->codes.at[w->group->code].code, name);
    pel_val *item = pel_val_new(w, front, pel_make_name(w->ctx, local, PEL_Load));
    item->taint = value->taint;
    item->lost = value->lost;
    bool negative = value->text->kind == PEL_UnaryOp && value->text->UnaryOp.operand->kind == PEL_Constant;
    if (value->text->kind == PEL_Constant || negative) item->text = value->text;
    made->keys[at] = name;
    made->items[at] = item;
    slot->parts = made;
    pel_env_slot(w, local)->taint = value->taint;
    return pel_make_name(w->ctx, local, PEL_Store);
}

void pel_store(pel_walk *w, pel_front front, pel_node *target, const pel_taint *taint, const pel_parts *parts,
               const pel_val *value, pel_node **text) {
    bool names = only_names(target);
    pel_node *made = names ? pel_copy(w->ctx, target) : pel_shallow(w, target); /* later passes strike names out */
    *text = made;
    if (names) {
        /* in which order the names are bound is the compiler's affair: a, b = b, a has no tuple at all */
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
        bind_names(w, target, taint, parts);
        return;
    }
    switch (target->kind) {
    case PEL_Attribute: {
        pel_val *base = pel_eval(w, front, target->Attribute.value);
        made->Attribute.value = base->text;
        pel_own(w, front, target, NULL, NULL, NULL);
        bool settled = value && !pel_dynamic(w, front, value);
        for (uint32_t i = 0; i < front.n; i++) settled &= pel_is_static_object(w->s, base->at[i]);
        if (settled)
            *text = pel_make_name(w->ctx, pel_intern_c(w->ctx, "_"), PEL_Store); /* who reads it is known */
        else
            store_attribute(w, front, target, base, taint);
        break;
    }
    case PEL_Subscript: {
        pel_val *base = pel_eval(w, front, target->Subscript.value),
                *slice = pel_eval(w, front, target->Subscript.slice);
        made->Subscript.value = base->text;
        made->Subscript.slice = slice->text;
        pel_own(w, front, target, NULL, NULL, NULL);
        if (target->Subscript.value->kind == PEL_Name && pel_env_slot(w, target->Subscript.value->Name.id)->gone) {
            *text = store_key(w, front, target, slice, value);
            break;
        }
        w->effect = true;
        if (taint && target->Subscript.value->kind == PEL_Name) {
            pel_slot *slot = pel_env_slot(w, target->Subscript.value->Name.id);
            slot->taint = &pel_tainted;
        }
        if (target->Subscript.value->kind == PEL_Name) {
            pel_slot *slot = pel_env_slot(w, target->Subscript.value->Name.id);
            slot->parts = with_key(w, slot->parts, slice->text, value);
        }
        break;
    }
    case PEL_Tuple:
    case PEL_List:
        made->Tuple.elts = (pel_nodes){ 0 };
        for (uint32_t i = 0; i < target->Tuple.elts.n; i++) {
            pel_node *item;
            pel_own(w, front, target, target->Tuple.elts.at[i], NULL, NULL);
            for (uint32_t k = 0; k < front.n; k++) { /* UNPACK_SEQUENCE ends expressions, but stands here */
                pel_lane *lane = pel_lane_at(w, front, k);
                const pel_record *record = pel_next_record(w, lane);
                if (record && record->kind != PEL_R_RETURN &&
                    (pel_insn_of(w, record)->op == PEL_OP_UNPACK_SEQUENCE ||
                     pel_insn_of(w, record)->op == PEL_OP_UNPACK_EX))
                    lane->at++;
            }
            pel_store(w, front, target->Tuple.elts.at[i], pel_taint_item(taint, i), NULL, NULL, &item);
            pel_nodes_push(w->ctx, &made->Tuple.elts, item);
        }
        break;
    case PEL_Starred:
        pel_store(w, front, target->Starred.value, pel_taint_any(taint), NULL, NULL, &made->Starred.value);
        break;
    default: pel_lost(w, target, "%s cannot be assigned to", pel_kinds[target->kind].name);
    }
}
