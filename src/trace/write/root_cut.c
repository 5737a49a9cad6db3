/* The root's signature is cut to what can be used. Libraries give their models ten or thirty parameters; those that no
 * call gave and that nothing reads any more would be a wall of names, and an assertion of as many lines. Without them a
 * call that gives one is a TypeError that names it. */
#include "trace/shrink/link.h"

enum {
    MANY = 3, /* fewer stay, with the assertion that they are what they were */
    DEEP = 8, /* calls that are looked into */
};

static bool was_given(const pel_synth *s, const pel_param *param, uint32_t p) {
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        if (pel_given_in(&s->log->runs.at[r], param, p)) return true;
    return false;
}

static bool is_of_no_use(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    if (param->dead || !param->unread || !param->fallback || param->kind != PEL_PARAM_PLAIN) return false;
    return !was_given(s, param, p) && pel_is_asserted(s, root, p);
}

/* Whether each run is one call of it, nothing in the text calls it, and it takes no *args. */
static bool is_called_from_outside_alone(const pel_synth *s, const pel_group *root) {
    for (uint32_t p = 1; p < root->n_params; p++)
        if (root->params[p].kind == PEL_PARAM_STAR || root->params[p].kind == PEL_PARAM_STAR_ITEM) return false;
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->target == root && s->reached.active[i]) return false;
    return !root->rest && !root->star && root->n_lanes <= s->log->runs.n && !s->log->from_source;
}

/* What stands behind one that is gone must be named: its place would be taken for that of another. What every call gave
 * needs no default before that. */
void pel_cut_root(pel_synth *s, pel_group *root) {
    if (!is_called_from_outside_alone(s, root)) return;
    uint32_t n_cut = 0;
    for (uint32_t p = 1; p < root->n_params; p++) n_cut += is_of_no_use(s, root, p);
    if (n_cut < MANY) return;
    bool has_gap = false, may_be_required = true;
    for (uint32_t p = 1; p < root->n_params; p++) {
        pel_param *param = &root->params[p];
        if (is_of_no_use(s, root, p)) {
            param->dead = has_gap = true;
            continue;
        }
        if (param->dead || param->kind != PEL_PARAM_PLAIN) continue;
        may_be_required &= !param->fallback || pel_may_be_left_out(s, root, p);
        if (has_gap)
            param->keyword_only = true;
        else
            param->required = may_be_required && param->fallback;
    }
}

/* ---- what raises by itself where None is given ---- */

typedef struct {
    const pel_synth *s;
    pel_name name;
    int depth;
    bool found;
} need;

static bool is_it(const need *n, const pel_node *node) {
    return node && node->kind == PEL_Name && node->Name.id == n->name;
}

static bool is_needed_in(const pel_synth *s, const pel_group *group, pel_name name, int depth);

static bool is_passed_to_need(const need *n, const pel_node *call) {
    for (uint32_t i = 0; i < n->s->calls.links.n; i++) {
        const pel_link *link = n->s->calls.links.at[i];
        if (link->node != call || link->target->why) continue;
        for (uint32_t p = 0; p < link->target->n_params; p++)
            if (is_it(n, link->args[p]) && !link->target->params[p].dead &&
                is_needed_in(n->s, link->target, link->target->params[p].name, n->depth + 1))
                return true;
    }
    return false;
}

/* Only what is evaluated in any case is looked at. */
static void look_for_need(void *arg, pel_node **slot) {
    need *n = arg;
    pel_node *node = *slot;
    if (!node || n->found) return;
    switch ((int)node->kind) {
    case PEL_Lambda:
    case PEL_GeneratorExp:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp: return;
    case PEL_IfExp: look_for_need(n, &node->IfExp.test); return;
    case PEL_BoolOp: look_for_need(n, &node->BoolOp.values.at[0]); return;
    case PEL_Attribute: n->found = is_it(n, node->Attribute.value) && node->Attribute.attr->text[0] != '_'; break;
    case PEL_Subscript: n->found = is_it(n, node->Subscript.value); break;
    case PEL_Call: n->found = is_passed_to_need(n, node); break;
    default: break;
    }
    if (!n->found) pel_each_child(node, look_for_need, n);
}

static bool is_needed_in(const pel_synth *s, const pel_group *group, pel_name name, int depth) {
    need n = { .s = s, .name = name, .depth = depth };
    for (uint32_t i = 0; i < group->body.n && !n.found && depth < DEEP; i++) {
        pel_node *node = group->body.at[i];
        bool is_simple = node->kind == PEL_Assign || node->kind == PEL_Expr || node->kind == PEL_Return;
        if (!is_simple) return false;
        look_for_need(&n, &group->body.at[i]);
        if (node->kind == PEL_Assign)
            n.found |= is_it(&n, node->Assign.value) && node->Assign.targets.at[0]->kind == PEL_Tuple;
        if (!n.found && pel_uses_in(s, pel_nodes_one(s->ctx, node), name).binds) return false;
    }
    return n.found;
}

bool pel_raises_without(const pel_synth *s, const pel_group *root, uint32_t p) {
    return root->params[p].required && is_needed_in(s, root, root->params[p].name, 0);
}
