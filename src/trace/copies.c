/* Second names for one thing: a = b, where neither is bound again, goes, and b is read instead. What compares a thing
 * with itself then is decided. */
#include "trace/lanes.h"

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
    b->inside += scope;
    pel_each_part(b->s, *slot, see_binding, b);
    b->inside -= scope;
}

static bool is_param(const pel_group *group, pel_name name) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (group->params[p].name == name) return true;
    return false;
}

bool pel_is_bound_once(const pel_synth *s, const pel_group *group, pel_name name) {
    bindings b = { .s = s, .name = name };
    for (uint32_t i = 0; i < group->body.n; i++) see_binding(&b, &group->body.at[i]);
    return !b.captured && b.stores + is_param(group, name) == 1;
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

bool pel_drop_copies(pel_synth *s, pel_group *group) {
    bool changed = false;
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < group->body.n; i++) { /* not inside of loops: there the next round binds them again */
        pel_node *node = group->body.at[i];
        pel_name name, other;
        if (!second_name(node, &name, &other) || is_param(group, name) || !pel_is_bound_once(s, group, name) ||
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

/* ---- comparisons of a number with itself ---- */

static const pel_const *truth_of(const pel_node *node) {
    if (node->kind != PEL_Constant) return NULL;
    const pel_const *value = node->Constant.value;
    return value->kind == PEL_CONST_TRUE || value->kind == PEL_CONST_FALSE ? value : NULL;
}

static bool is_equality(uint8_t op) { return op == PEL_Eq || op == PEL_LtE || op == PEL_GtE; }

static void decide(void *arg, pel_node **slot) {
    pel_synth *s = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef) return;
    pel_each_part(s, node, decide, s);
    if (node->kind == PEL_Compare && pel_map_has(&s->whole_numbers, PEL_KEY(node))) {
        const pel_node *left = node->Compare.left, *right = node->Compare.comparators.at[0];
        if (node->Compare.ops.n == 1 && left->kind == PEL_Name && pel_same(left, right))
            *slot = pel_make_constant(s->ctx, pel_const_bool(is_equality(node->Compare.ops.at[0])));
    } else if (node->kind == PEL_BoolOp) { /* `a or True`, where asking a does nothing */
        bool is_and = node->BoolOp.op == PEL_And;
        for (uint32_t i = 0; i < node->BoolOp.values.n; i++) {
            const pel_const *value = truth_of(node->BoolOp.values.at[i]);
            if (value && (value->kind == PEL_CONST_TRUE) != is_and) {
                *slot = pel_make_constant(s->ctx, value);
                return;
            }
            if (!pel_pure(s, node->BoolOp.values.at[i])) return;
        }
    }
}

/* Assertions that can't fail. Only tests are decided: elsewhere `a or True` is a, if a is true. */
static void decide_assertions(pel_synth *s, pel_nodes *body, bool *changed) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        if (node->kind == PEL_Assert) decide(s, &node->Assert.test);
        const pel_const *truth = node->kind == PEL_Assert ? truth_of(node->Assert.test) : NULL;
        if (truth && truth->kind == PEL_CONST_TRUE) {
            *changed = true;
            continue;
        }
        if (node->kind != PEL_FunctionDef)
            for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
                if (field->type == PEL_FIELD_LIST && field->of == PEL_STMT)
                    decide_assertions(s, pel_field_at(node, field, pel_nodes), changed);
        pel_nodes_push(s->ctx, &kept, node);
    }
    if (!kept.n && body->n) pel_nodes_push(s->ctx, &kept, pel_node_new(s->ctx, PEL_Pass));
    *body = kept;
}

bool pel_decide_assertions(pel_synth *s, pel_group *group) {
    bool changed = false;
    decide_assertions(s, &group->body, &changed);
    return changed;
}
