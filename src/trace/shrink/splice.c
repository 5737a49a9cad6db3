/* Calls that are written out: what a function returns, or what it does, stands where it is called. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

/* Functions that are called from one place, for what they assert or change and not for a result: their statements are
 * written there. What specialisation leaves of checks and of masks that nobody needs reads as a few assertions then,
 * and not as a chain of functions that return None. */

typedef struct splicer {
    pel_synth *s;
    const uint32_t *n_calls; /* per group: reached links that lead to it */
    const bool *calls_back;  /* per group: torch calls something back below it */
    pel_group *caller;
    bool changed;
} splicer;

/* ---- whether a function may be spliced ---- */

typedef struct fitness {
    splicer *sp;
    const pel_group *target;
    const pel_link *link;
    bool fits;
} fitness;

static bool is_given(const fitness *f, pel_name name) { return pel_param_named(f->target, name) != NULL; }

/* No returns but the last statement, no scopes of their own, no name that means something else at the call. */
static void see_statement(void *arg, pel_node **slot) {
    fitness *f = arg;
    const pel_node *node = *slot;
    const pel_group *caller = f->sp->caller;
    switch (node->kind) {
    case PEL_Return:
    case PEL_FunctionDef:
    case PEL_Lambda:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp:
    case PEL_GeneratorExp:
    case PEL_NamedExpr:
    case PEL_Yield:
    case PEL_YieldFrom:
    case PEL_Global:
    case PEL_Nonlocal: f->fits = false; return;
    case PEL_Name: {
        bool stored = node->Name.ctx != PEL_Load, given = is_given(f, node->Name.id);
        if (stored && given) f->fits = false; /* a parameter that is bound again */
        if (given) break;
        pel_uses there = pel_uses_in(f->sp->s, caller->body, node->Name.id);
        bool known = pel_param_named(caller, node->Name.id) || there.binds;
        if (known || (stored && there.reads)) f->fits = false;
        break;
    }
    default: break;
    }
    if (f->fits) pel_each_part(f->sp->s, *slot, see_statement, f);
}

static bool arguments_fit(const fitness *f) {
    const pel_group *target = f->target;
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_param *param = &target->params[p];
        if (param->dead) continue;
        if (p == 0 && f->link->receiver) {
            const pel_node *func = f->link->node->Call.func;
            if (func->kind != PEL_Attribute || func->Attribute.value->kind != PEL_Name) return false;
            if (!param->unread && func->Attribute.value->Name.id != param->name) return false;
            continue;
        }
        const pel_node *arg = f->link->args[p];
        if (!arg || (arg->kind != PEL_Name && arg->kind != PEL_Constant)) return false;
        /* a name of the caller's that the function uses for something else */
        if (arg->kind == PEL_Name && arg->Name.id != param->name &&
            pel_uses_in(f->sp->s, target->body, arg->Name.id).binds)
            return false;
    }
    return true;
}

static bool may_splice(splicer *sp, const pel_link *link) {
    const pel_group *target = link->target;
    if (sp->n_calls[target->number] != 1 || target == sp->caller || target->is.root || target->is.pinned ||
        target->is.nested || target->is.property || target->is.generator || target->why || target->instead ||
        (target->is.init && !sp->caller->is.init) || /* super().__init__(...) may go, what makes an object not */
        sp->calls_back[target->number] || pel_sets_mode(sp->s->ctx, target) ||
        (link->callee != PEL_CALLEE_NAME && link->callee != PEL_CALLEE_METHOD) ||
        (link->receiver && target->class != sp->caller->class))
        return false;
    fitness f = { sp, target, link, true };
    for (uint32_t i = 0; i < target->body.n && f.fits; i++) {
        pel_node *node = target->body.at[i];
        if (i + 1 == target->body.n && node->kind == PEL_Return) {
            if (node->Return.value) see_statement(&f, &node->Return.value);
            continue;
        }
        see_statement(&f, &node);
    }
    return f.fits && arguments_fit(&f);
}

/* ---- splicing ---- */

typedef struct handing {
    const pel_synth *s;
    const pel_link *link;
} handing;

static void hand_arguments(void *arg, pel_node **slot) {
    const handing *h = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Name) {
        const pel_group *target = h->link->target;
        for (uint32_t p = h->link->receiver; p < target->n_params; p++)
            if (!target->params[p].dead && target->params[p].name == node->Name.id) {
                *slot = pel_copy(h->s->ctx, h->link->args[p]);
                return;
            }
        return;
    }
    pel_each_part(h->s, node, hand_arguments, arg);
}

static void splice_into(splicer *sp, pel_nodes *out, const pel_link *link) {
    pel_group *target = link->target;
    handing h = { sp->s, link };
    for (uint32_t i = 0; i < target->body.n; i++) {
        pel_node *node = target->body.at[i];
        if (node->kind == PEL_Return) {
            if (!node->Return.value || pel_pure(sp->s, node->Return.value)) continue;
            node = pel_make_expr(sp->s->ctx, node->Return.value);
        }
        hand_arguments(&h, &node);
        pel_nodes_push(sp->s->ctx, out, node);
    }
    for (uint32_t i = 0; i < sp->s->calls.links.n; i++)
        if (sp->s->calls.links.at[i]->caller == target) sp->s->calls.links.at[i]->caller = sp->caller;
    target->body = (pel_nodes){ 0 };
    sp->changed = true;
}

static void splice_body(splicer *sp, pel_nodes *body) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        const pel_link *link =
            node->kind == PEL_Expr && node->Expr.value->kind == PEL_Call ? pel_link_at(sp->s, node->Expr.value) : NULL;
        if (link && !sp->changed && may_splice(sp, link)) {
            splice_into(sp, &kept, link);
            continue;
        }
        pel_nodes *block;
        for (uint32_t k = 0; node->kind != PEL_FunctionDef && (block = pel_block_at(node, k)); k++)
            splice_body(sp, block);
        pel_nodes_push(sp->s->ctx, &kept, node);
    }
    *body = kept;
}

/* One at a time: what is called how often has changed then. */
bool pel_pass_splice(pel_synth *s) {
    const pel_reach reached = pel_find_reached(s);
    splicer sp = { .s = s, .n_calls = pel_count_calls(s, &reached), .calls_back = pel_find_calling_back(s) };
    for (uint32_t i = 0; i < s->groups.n && !sp.changed; i++) {
        sp.caller = s->groups.at[i];
        if (reached.seen[i] && !sp.caller->why && !sp.caller->is.nested) splice_body(&sp, &sp.caller->body);
    }
    return sp.changed;
}

/* Calls on objects that nothing in the output stands for: what the callee returns is written in their place. */

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

bool pel_pass_inline(pel_synth *s) {
    inlining in = { .s = s };
    for (uint32_t i = 0; i < s->groups.n; i++)
        for (uint32_t k = 0; k < s->groups.at[i]->body.n; k++) inline_calls(&in, &s->groups.at[i]->body.at[k]);
    return in.changed;
}
