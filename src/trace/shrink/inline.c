/* Calls on objects that nothing in the output stands for: what the callee returns is written in their place. */
#include "trace/shrink/link.h"

typedef struct inlining {
    pel_synth *s;
    const pel_link *link; /* while its result is copied */
    bool changed, has_link;
} inlining;

static void see_link(void *arg, pel_node **slot) {
    inlining *in = arg;
    if (pel_link_at(in->s, *slot)) in->has_link = true;
    pel_each_child(*slot, see_link, in);
}

static void put_arguments(void *arg, pel_node **slot) {
    inlining *in = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Name) {
        const pel_param *param = pel_param_named(in->link->target, node->Name.id);
        if (!param) return;
        uint32_t p = (uint32_t)(param - in->link->target->params);
        pel_node *given = in->link->args[p] ? in->link->args[p] : pel_default_text(in->s, in->link->target, p);
        if (given) *slot = given->kind == PEL_Name || given->kind == PEL_Constant ? pel_copy(in->s->ctx, given) : given;
        return;
    }
    pel_each_child(node, put_arguments, in);
}

static void inline_calls(void *arg, pel_node **slot) {
    inlining *in = arg;
    pel_each_part(in->s, *slot, inline_calls, in);
    const pel_link *link = (*slot)->kind == PEL_Call ? pel_link_at(in->s, *slot) : NULL;
    if (!link || link->callee != PEL_CALLEE_INLINE) return;
    const pel_group *target = link->target;
    if (target->body.n != 1 || target->body.at[0]->kind != PEL_Return || !target->body.at[0]->Return.value) return;
    const pel_node *result = target->body.at[0]->Return.value;
    in->has_link = false;
    pel_node *root = (pel_node *)(uintptr_t)result;
    see_link(in, &root);
    if (in->has_link || (target->n_params && !target->params[0].unread)) return;
    for (uint32_t p = 1; p < target->n_params; p++) {
        const pel_node *given = link->args[p];
        bool simple = !given || given->kind == PEL_Name || given->kind == PEL_Constant;
        if (!simple && pel_uses_at(in->s, result, target->params[p].name).reads > 1) return;
    }
    pel_node *copy = pel_copy(in->s->ctx, result);
    in->link = link;
    put_arguments(in, &copy);
    *slot = copy;
    in->changed = true;
}

bool pel_inline_results(pel_synth *s) {
    inlining in = { .s = s };
    for (uint32_t i = 0; i < s->groups.n; i++)
        for (uint32_t k = 0; k < s->groups.at[i]->body.n; k++) inline_calls(&in, &s->groups.at[i]->body.at[k]);
    return in.changed;
}
