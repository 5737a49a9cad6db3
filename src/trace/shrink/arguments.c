/* Arguments of which a single item is ever read: layer(x, masks), where the layer reads masks["full"] and nothing else
 * of them, becomes layer(x, masks["full"]). One function at a time; who called it may be next. */
#include "trace/shrink/link.h"

typedef struct item_use {
    pel_name name;
    const pel_node *key; /* of the reads seen so far */
    uint32_t by_key;
    bool blocked;  /* read by different keys, or as a whole, or bound again */
    bool rewrites; /* reads of the item become reads of the name */
} item_use;

static bool is_item(const pel_node *part) {
    return part->kind == PEL_Subscript && part->Subscript.slice->kind == PEL_Constant;
}

static void see_item(void *arg, const pel_use *use) {
    item_use *u = arg;
    if (use->name != u->name) return;
    if (!use->part || !is_item(*use->part)) {
        u->blocked = true;
        return;
    }
    const pel_node *key = (*use->part)->Subscript.slice;
    if (!u->key) u->key = key;
    u->blocked |= !pel_same(u->key, key);
    u->by_key++;
    if (u->rewrites) *use->part = *use->slot;
}

/* Whether a dict is passed there, by all that call. */
static bool is_dict(const pel_synth *s, const pel_group *group, const pel_param *param) {
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        pel_id value = s->log->activations.at[group->lanes[i]].locals[param->local];
        if (!value || pel_value_at(s->log, value)->kind != PEL_V_DICT) return false;
    }
    for (uint32_t i = 0; i < s->links.n; i++)
        if (s->links.at[i]->target == group && !s->links.at[i]->args[param - group->params]) return false;
    return group->n_lanes > 0;
}

/* The key of the one item that a function reads of a parameter, whatever happens in it; NULL if there is none. */
static const pel_node *only_key(const pel_synth *s, const pel_group *group, pel_name name) {
    item_use all = { .name = name }, certain = all;
    for (uint32_t i = 0; i < group->body.n; i++) {
        pel_each_use(s, &group->body.at[i], see_item, &all);
        uint8_t kind = group->body.at[i]->kind;
        if (kind == PEL_Assign || kind == PEL_Return || kind == PEL_Expr)
            pel_each_use(s, &group->body.at[i], see_item, &certain);
        if (kind == PEL_FunctionDef && all.by_key) return NULL;
    }
    return certain.by_key && !all.blocked ? all.key : NULL;
}

/* {"a": x, "b": y}["a"] is x, if making y does nothing. */
static pel_node *item_of(pel_synth *s, pel_node *dict, const pel_node *key) {
    pel_node *item = pel_make_subscript(s->ctx, dict, pel_copy(s->ctx, key), PEL_Load), *found = NULL;
    for (uint32_t i = 0; dict->kind == PEL_Dict && i < dict->Dict.keys.n; i++) {
        if (!dict->Dict.keys.at[i]) return item;
        if (pel_same(dict->Dict.keys.at[i], key))
            found = dict->Dict.values.at[i];
        else if (!pel_pure(s, dict->Dict.values.at[i]))
            return item;
    }
    return found ? found : item;
}

static void pass_item(pel_synth *s, const pel_group *group, uint32_t p, const pel_node *key) {
    item_use u = { .name = group->params[p].name, .rewrites = true };
    pel_each_use_in(s, group->body, see_item, &u);
    for (uint32_t i = 0; i < s->links.n; i++) {
        pel_link *link = s->links.at[i];
        if (link->target == group) link->args[p] = item_of(s, link->args[p], key);
    }
}

bool pel_pass_items(pel_synth *s, const bool *reached) {
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (!reached[i] || group->is.root || group->is.pinned || group->is.nested || group->is.generator ||
            group->why || group->rest || group->instead)
            continue;
        for (uint32_t p = group->class ? 1 : 0; p < group->n_params; p++) {
            const pel_param *param = &group->params[p];
            if (param->dead || param->kind != PEL_PARAM_PLAIN || !is_dict(s, group, param)) continue;
            const pel_node *key = only_key(s, group, param->name);
            if (!key) continue;
            pass_item(s, group, p, key);
            group->params[p].fallback = NULL; /* the author's default is no item */
            return true;
        }
    }
    return false;
}
