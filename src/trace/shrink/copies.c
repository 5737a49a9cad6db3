/* Second names for one thing: a = b, where neither is bound again, goes, and b is read instead. Where a is bound again
 * and b is never read after that, b gets the name a from the start. */
#include "trace/shrink/link.h"

/* The two names that a statement makes one thing of: a = b, or b = a = f(x). */
static bool second_name(const pel_node *node, pel_name *name, pel_name *other) {
    if (node->kind != PEL_Assign) return false;
    const pel_nodes targets = node->Assign.targets;
    for (uint32_t i = 0; i < targets.n; i++)
        if (targets.at[i]->kind != PEL_Name) return false;
    bool copy = targets.n == 1 && node->Assign.value->kind == PEL_Name;
    if (!copy && targets.n != 2) return false;
    *other = copy ? node->Assign.value->Name.id : targets.at[0]->Name.id;
    *name = targets.at[targets.n - 1]->Name.id;
    return *name != *other;
}

/* ---- a name for what is about to get another one ----
 *
 * inputs = self.embed(ids); ...; states = inputs; for layer in self.layers: states = layer(states): inputs are the
 * first states. */

typedef struct web { /* a name from where it is bound to its last read */
    pel_name name;
    uint32_t from; /* statement that binds it; 0 for a parameter */
    pel_param *param;
} web;

static bool is_simple(const pel_node *node) {
    return node->kind == PEL_Assign || node->kind == PEL_Return || node->kind == PEL_Expr || node->kind == PEL_Assert;
}

/* From where on the name that a copy reads means what it is about to mean. */
static bool find_web(const pel_synth *s, pel_group *group, uint32_t copy, pel_name name, web *out) {
    const pel_nodes body = group->body;
    uint32_t stores = pel_uses_in(s, body, name).binds, at = 0;
    *out = (web){ .name = name, .param = pel_param_named(group, name) };
    if (stores == 0) { /* a parameter, then: its name is its callers', too */
        const pel_param *param = out->param;
        return param && !group->is_root && !group->pinned && !group->rest && param->kind == PEL_PARAM_PLAIN &&
               !(group->class && param == group->params);
    }
    while (at < copy && !pel_uses_at(s, body.at[at], name).binds) at++;
    for (uint32_t i = at; i < copy; i++) /* from the first one on, or from behind those that need not happen */
        if (pel_uses_at(s, body.at[i], name).binds && body.at[i]->kind != PEL_Assign) at = i + 1;
    while (at < copy && !pel_uses_at(s, body.at[at], name).binds) at++;
    if (at == copy || pel_uses_in(s, pel_nodes_from(body, copy), name).binds) return false;
    out->from = at;
    out->param = NULL;
    return true;
}

/* Whether the second name can stand for the first one all along: it means nothing else before the copy, and is not
 * bound again before the last read of the first. */
static bool may_become(const pel_synth *s, const pel_group *group, uint32_t copy, const web *first, pel_name second) {
    const pel_nodes body = group->body;
    uint32_t from = first->param ? 0 : first->from + 1, at = copy + 1;
    if (pel_is_used(pel_uses_in(s, pel_nodes_from(pel_nodes_until(body, copy), from), second))) return false;
    while (at < body.n && !pel_uses_at(s, body.at[at], second).binds) at++;
    if (at == body.n) return false;   /* not what comes next, but a name for what was */
    if (is_simple(body.at[at])) at++; /* what it reads, it reads before it binds */
    return !pel_uses_in(s, pel_nodes_from(body, at), first->name).reads;
}

static bool coalesce(pel_synth *s, pel_group *group, uint32_t copy) {
    const pel_node *node = group->body.at[copy];
    web first;
    pel_name to = pel_bound_name(node);
    if (!to || node->Assign.value->kind != PEL_Name) return false;
    pel_name from = node->Assign.value->Name.id;
    if (from == to || pel_param_named(group, to) || pel_is_bound_once(s, group, to) ||
        pel_uses_in(s, group->body, from).captured || pel_uses_in(s, group->body, to).captured ||
        !find_web(s, group, copy, from, &first) || !may_become(s, group, copy, &first, to))
        return false;
    pel_renaming r = { .from = from, .to = to };
    if (!first.param) pel_rename(s->ctx, s, group->body.at[first.from]->Assign.targets, r);
    pel_rename(s->ctx, s, pel_nodes_from(group->body, first.param ? 0 : first.from + 1), r);
    if (first.param) first.param->name = to;
    return true; /* and what is left is a name for itself */
}

bool pel_drop_copies(pel_synth *s, pel_group *group) {
    bool changed = false;
    for (uint32_t i = 0; i < group->body.n; i++) changed |= coalesce(s, group, i);
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < group->body.n; i++) { /* not inside of loops: there the next round binds them again */
        pel_node *node = group->body.at[i];
        pel_name name, other;
        if (!second_name(node, &name, &other) || pel_param_named(group, name) || !pel_is_bound_once(s, group, name) ||
            !pel_is_bound_once(s, group, other)) {
            pel_nodes_push(s->ctx, &kept, node);
            continue;
        }
        pel_renaming r = { .from = name, .to = other, .reads_only = true };
        pel_rename(s->ctx, s, pel_nodes_from(group->body, i + 1), r);
        if (node->Assign.targets.n == 2) {
            node->Assign.targets = pel_nodes_one(s->ctx, node->Assign.targets.at[0]);
            pel_nodes_push(s->ctx, &kept, node);
        }
        changed = true;
    }
    group->body = kept;
    return changed;
}
