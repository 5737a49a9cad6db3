/* Second names for one thing: a = b, where neither is bound again, goes, and b is read instead. Where a is bound again
 * and b is never read after that, b gets the name a from the start. */
#include "trace/shrink/link.h"

typedef struct look {
    const pel_synth *s;
    pel_name name;
    pel_name_use found;
} look;

static void see_use(void *arg, pel_node **slot) {
    look *l = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Name && node->Name.id == l->name) {
        l->found.reads += node->Name.ctx == PEL_Load;
        l->found.stores += node->Name.ctx != PEL_Load;
    }
    if (node->kind == PEL_FunctionDef && node->FunctionDef.name == l->name) l->found.stores++;
    if (node->kind == PEL_AugAssign && node->AugAssign.target->kind == PEL_Name &&
        node->AugAssign.target->Name.id == l->name)
        l->found.reads++;
    pel_each_part(l->s, *slot, see_use, l);
}

pel_name_use pel_uses_of(const pel_synth *s, pel_nodes body, uint32_t from, pel_name name) {
    look l = { .s = s, .name = name };
    for (uint32_t i = from; i < body.n; i++) see_use(&l, &body.at[i]);
    return l.found;
}

typedef struct bindings {
    const pel_synth *s;
    pel_name name;
    uint32_t stores;
    bool captured; /* read or bound in a function inside */
    uint32_t inside;
} bindings;

static void see_binding(void *arg, pel_node **slot) {
    bindings *b = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Name && node->Name.id == b->name) {
        b->stores += node->Name.ctx != PEL_Load;
        b->captured |= b->inside > 0;
    }
    bool scope = node->kind == PEL_FunctionDef || node->kind == PEL_Lambda;
    if (node->kind == PEL_FunctionDef && node->FunctionDef.name == b->name) b->stores++;
    if (node->kind == PEL_Global) /* others bind it, too */
        for (uint32_t i = 0; i < node->Global.names.n; i++) b->captured |= node->Global.names.at[i] == b->name;
    b->inside += scope;
    pel_each_part(b->s, *slot, see_binding, b);
    b->inside -= scope;
}

/* A parameter that is bound again before anything reads it: what it was called with does not matter. */
static bool is_overwritten(const pel_synth *s, const pel_group *group, pel_name name) {
    for (uint32_t i = 0; i < group->body.n; i++) {
        pel_name_use use = pel_uses_of(s, (pel_nodes){ group->body.at, i + 1 }, i, name);
        if (use.reads || use.stores) return group->body.at[i]->kind == PEL_Assign && !use.reads;
    }
    return false;
}

bool pel_is_bound_once(const pel_synth *s, const pel_group *group, pel_name name) {
    bindings b = { .s = s, .name = name };
    for (uint32_t i = 0; i < group->body.n; i++) see_binding(&b, &group->body.at[i]);
    return !b.captured && b.stores + (pel_param_named(group, name) && !is_overwritten(s, group, name)) == 1;
}

typedef struct renaming {
    const pel_synth *s;
    pel_name from, to;
} renaming;

static void rename_reads(void *arg, pel_node **slot) {
    const renaming *r = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == r->from && (*slot)->Name.ctx == PEL_Load) {
        *slot = pel_make_name(r->s->ctx, r->to, PEL_Load);
        return;
    }
    pel_each_part(r->s, *slot, rename_reads, arg);
}

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

static pel_name_use uses_between(const pel_synth *s, pel_nodes body, uint32_t from, uint32_t to, pel_name name) {
    return pel_uses_of(s, (pel_nodes){ body.at, to }, from, name);
}

static bool is_simple(const pel_node *node) {
    return node->kind == PEL_Assign || node->kind == PEL_Return || node->kind == PEL_Expr || node->kind == PEL_Assert;
}

static bool is_captured(const pel_synth *s, const pel_group *group, pel_name name) {
    bindings b = { .s = s, .name = name };
    for (uint32_t i = 0; i < group->body.n; i++) see_binding(&b, &group->body.at[i]);
    return b.captured;
}

/* From where on the name that a copy reads means what it is about to mean. */
static bool find_web(const pel_synth *s, pel_group *group, uint32_t copy, pel_name name, web *out) {
    const pel_nodes body = group->body;
    uint32_t stores = pel_uses_of(s, body, 0, name).stores, at = 0;
    *out = (web){ .name = name, .param = pel_param_named(group, name) };
    if (stores == 0) { /* a parameter, then: its name is its callers', too */
        const pel_param *param = out->param;
        return param && !group->is_root && !group->pinned && !group->rest && param->kind == PEL_PARAM_PLAIN &&
               !(group->class && param == group->params);
    }
    while (at < copy && !uses_between(s, body, at, at + 1, name).stores) at++;
    for (uint32_t i = at; i < copy; i++) /* from the first one on, or from behind those that need not happen */
        if (uses_between(s, body, i, i + 1, name).stores && body.at[i]->kind != PEL_Assign) at = i + 1;
    while (at < copy && !uses_between(s, body, at, at + 1, name).stores) at++;
    if (at == copy || pel_uses_of(s, body, copy, name).stores) return false;
    out->from = at;
    out->param = NULL;
    return true;
}

/* Whether the second name can stand for the first one all along: it means nothing else before the copy, and is not
 * bound again before the last read of the first. */
static bool may_become(const pel_synth *s, const pel_group *group, uint32_t copy, const web *first, pel_name second) {
    const pel_nodes body = group->body;
    uint32_t from = first->param ? 0 : first->from + 1, at = copy + 1;
    pel_name_use before = uses_between(s, body, from, copy, second);
    if (before.reads || before.stores) return false;
    while (at < body.n && !uses_between(s, body, at, at + 1, second).stores) at++;
    if (at == body.n) return false;   /* not what comes next, but a name for what was */
    if (is_simple(body.at[at])) at++; /* what it reads, it reads before it binds */
    return !pel_uses_of(s, body, at, first->name).reads;
}

static void rename_all(void *arg, pel_node **slot) {
    const renaming *r = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == r->from)
        *slot = pel_make_name(r->s->ctx, r->to, (*slot)->Name.ctx);
    else
        pel_each_part(r->s, *slot, rename_all, arg);
}

static bool coalesce(pel_synth *s, pel_group *group, uint32_t copy) {
    const pel_node *node = group->body.at[copy];
    web first;
    pel_name to = pel_bound_name(node);
    if (!to || node->Assign.value->kind != PEL_Name) return false;
    pel_name from = node->Assign.value->Name.id;
    if (from == to || pel_param_named(group, to) || pel_is_bound_once(s, group, to) || is_captured(s, group, from) ||
        is_captured(s, group, to) || !find_web(s, group, copy, from, &first) || !may_become(s, group, copy, &first, to))
        return false;
    renaming r = { s, from, to };
    if (!first.param) {
        pel_nodes targets = group->body.at[first.from]->Assign.targets;
        for (uint32_t i = 0; i < targets.n; i++) rename_all(&r, &targets.at[i]);
    }
    for (uint32_t i = first.param ? 0 : first.from + 1; i < group->body.n; i++) rename_all(&r, &group->body.at[i]);
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
        renaming r = { s, name, other };
        for (uint32_t k = i + 1; k < group->body.n; k++) rename_reads(&r, &group->body.at[k]);
        if (node->Assign.targets.n == 2) {
            node->Assign.targets = pel_nodes_one(s->ctx, node->Assign.targets.at[0]);
            pel_nodes_push(s->ctx, &kept, node);
        }
        changed = true;
    }
    group->body = kept;
    return changed;
}
