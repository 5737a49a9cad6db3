/* Second names for one thing: a = b goes, and b is read instead, as long as b means the same. Where a is bound again
 * and b is never read after that, b gets the name a from the start. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

/* ---- how far a copy reaches ---- */

typedef struct alias { /* name = other, or other = name = f(x) */
    pel_name name, other;
    pel_nodes block; /* that it stands in */
    uint32_t at;
    bool is_top; /* nothing of the function runs after the block */
} alias;

static bool is_copy(const pel_node *node, alias *out) {
    if (node->kind != PEL_Assign) return false;
    const pel_nodes targets = node->Assign.targets;
    for (uint32_t i = 0; i < targets.n; i++)
        if (targets.at[i]->kind != PEL_Name) return false;
    bool of_name = targets.n == 1 && node->Assign.value->kind == PEL_Name;
    if (!of_name && targets.n != 2) return false;
    out->other = of_name ? node->Assign.value->Name.id : targets.at[0]->Name.id;
    out->name = targets.at[targets.n - 1]->Name.id;
    return out->name != out->other;
}

/* A name of the file: functions that are called may bind it. */
static bool is_global(const pel_copies *c, pel_name name) {
    return !pel_is_own_name(c->text, name) && !(c->constants && pel_map_has(c->constants, PEL_KEY(name)));
}

/* Neither name is bound again, so both mean the same from the copy on. Not inside of loops: there the next round binds
 * them again. */
static bool is_settled(const pel_copies *c, const alias *of) {
    return of->is_top && !pel_has_param(c->text, of->name) && pel_is_bound_once(c->text, of->name) &&
           pel_is_bound_once(c->text, of->other);
}

/* The last statement of the block in which the name may be read as the other one; 0: the copy stays.
 *
 * residual = x; x = residual + self.mlp(self.norm(x)): nothing binds x between the copy and the last read of it. */
static uint32_t reach_of_copy(const pel_copies *c, const alias *of) {
    uint32_t last = of->at, reads = 0;
    bool changed = false, bound_again = false;
    if (is_settled(c, of)) return of->block.n;
    if (of->block.at[of->at]->Assign.targets.n > 1) return 0; /* two names that their author wants */
    if (pel_uses_in_all(c->text, of->other).scoped || is_global(c, of->other)) return 0;
    for (uint32_t i = of->at + 1; i < of->block.n && !bound_again; i++) {
        const pel_node *node = of->block.at[i];
        pel_uses of_name = pel_uses_at(c->text.s, node, of->name), of_other = pel_uses_at(c->text.s, node, of->other);
        bool is_simple = node->kind == PEL_Assign || node->kind == PEL_Return || node->kind == PEL_Expr;
        if (of_name.scoped || (of_name.reads && changed)) return 0;
        if (of_name.reads && !is_simple && of_other.binds + of_name.binds) return 0; /* which of them comes first? */
        if (of_name.reads) last = i;
        reads += of_name.reads;
        changed |= of_other.binds > 0;
        if (of_name.binds && !is_simple) return 0; /* perhaps */
        bound_again = of_name.binds > 0;
    }
    if (bound_again || of->is_top) return last;
    return reads == pel_uses_in_all(c->text, of->name).reads ? last : 0; /* around a loop, or behind the block */
}

bool pel_drop_copies(const pel_copies *c, pel_nodes *block, bool is_top) {
    pel_nodes kept = { 0 };
    bool changed = false;
    for (uint32_t i = 0; i < block->n; i++) {
        pel_node *node = block->at[i];
        alias of = { .block = *block, .at = i, .is_top = is_top };
        uint32_t last = is_copy(node, &of) ? reach_of_copy(c, &of) : 0;
        bool is_whole = last && node->Assign.targets.n == 1; /* nothing is left of the statement */
        if (last) {
            pel_renaming r = { .from = of.name, .to = of.other, .reads_only = true };
            pel_nodes reached = pel_nodes_until(*block, last < block->n ? last + 1 : last);
            pel_rename(c->ctx, c->text.s, pel_nodes_from(reached, i + 1), r);
            if (!is_whole) node->Assign.targets = pel_nodes_one(c->ctx, node->Assign.targets.at[0]);
            changed = true;
        }
        if (!is_whole) pel_nodes_push(c->ctx, &kept, node);
    }
    *block = kept;
    return changed;
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
        return param && !group->is.root && !group->is.pinned && !group->rest && param->kind == PEL_PARAM_PLAIN &&
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
    if (from == to || pel_param_named(group, to) || pel_is_bound_once(pel_group_text(s, group), to) ||
        pel_uses_in(s, group->body, from).captured || pel_uses_in(s, group->body, to).captured ||
        !find_web(s, group, copy, from, &first) || !may_become(s, group, copy, &first, to))
        return false;
    pel_renaming r = { .from = from, .to = to };
    if (!first.param) pel_rename(s->ctx, s, group->body.at[first.from]->Assign.targets, r);
    pel_rename(s->ctx, s, pel_nodes_from(group->body, first.param ? 0 : first.from + 1), r);
    if (first.param) first.param->name = to;
    return true; /* and what is left is a name for itself */
}

static bool join_names(pel_synth *s, pel_group *group) {
    bool changed = false;
    for (uint32_t i = 0; i < group->body.n; i++) changed |= coalesce(s, group, i);
    pel_copies c = { .ctx = s->ctx, .text = pel_group_text(s, group) };
    return pel_drop_copies(&c, &group->body, true) || changed;
}

bool pel_pass_copies(pel_synth *s) {
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (!s->groups.at[i]->is.nested) changed |= join_names(s, s->groups.at[i]);
    return changed;
}
