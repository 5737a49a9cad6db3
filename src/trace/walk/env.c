/* What is known of local names, and what is left of that where paths meet. */
#include "trace/walk/walk.h"

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
