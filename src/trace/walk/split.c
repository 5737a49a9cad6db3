/* Functions that get several texts: what their calls are given differs in a way that one text can't say. */
#include "trace/synth.h"

#define MOST_PARTS 16 /* of one function, by one argument */

/* Which object a lane's parameter holds, if it was there before the run and can't be written; else 0. */
static uint64_t object_in(const pel_synth *s, pel_id activation, const pel_param *param) {
    pel_id id = s->log->activations.at[activation].locals[param->local];
    const pel_value *value = pel_value_at(s->log, id);
    bool is_old = pel_map_has(&s->objects.old, value->object);
    return is_old && pel_is_static_object(s, id) && value->class ? value->object : 0;
}

static uint64_t keys_in(const pel_synth *s, pel_id activation, const pel_param *param) {
    const pel_value *dict = pel_value_at(s->log, s->log->activations.at[activation].locals[param->local]);
    uint64_t sum = 1; /* the order of the keys does not matter */
    for (uint32_t i = 0; dict->kind == PEL_V_DICT && i + 1 < dict->n; i += 2) {
        const pel_value *name = pel_value_at(s->log, dict->items[i]);
        if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR)
            sum += pel_hash(name->constant->text.ptr, name->constant->text.len);
    }
    return sum;
}

static bool split_lanes(pel_synth *s, const pel_group *group, const uint64_t *parts) {
    pel_map seen = { 0 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < group->n_lanes; i++) n += pel_map_set(s->ctx, &seen, parts[i], 1);
    if (n < 2 || n > MOST_PARTS) return false;
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        uint64_t old = pel_map_find(&s->split, group->lanes[i], 0);
        pel_map_set(s->ctx, &s->split, group->lanes[i], pel_key2(old, parts[i]) | 1);
    }
    return true;
}

bool pel_split_group(pel_synth *s, const pel_group *group) {
    if (group->is.nested || group->is.root || group->n_lanes < 2) return false;
    uint64_t *parts = pel_new_array(s->ctx, group->n_lanes, uint64_t);
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        bool fits = !param->dead && param->kind != PEL_PARAM_STAR_ITEM;
        bool by_keys = param->kind == PEL_PARAM_KEY_ITEM;
        if (by_keys && (!group->why || !param->optional)) continue;
        for (uint32_t i = 0; i < group->n_lanes && fits; i++) {
            parts[i] = by_keys ? keys_in(s, group->lanes[i], param) : object_in(s, group->lanes[i], param);
            fits = parts[i] != 0;
        }
        if (fits && split_lanes(s, group, parts)) return true;
    }
    return false;
}
