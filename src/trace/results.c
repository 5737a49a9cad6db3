/* Parts of returned tuples that every caller throws away. */
#include "trace/lanes.h"

typedef struct use { /* of one function's result, over all its calls */
    uint32_t n;      /* parts of the tuple; 0: not known yet */
    bool blocked;
    uint32_t thrown;             /* calls that want no result at all */
    uint64_t used;               /* parts that somebody wants */
    PEL_VEC(pel_node *) assigns; /* a, b = f(x) */
    PEL_VEC(pel_node **) items;  /* f(x)[0] */
} use;

typedef struct survey {
    pel_synth *s;
    use *uses; /* per group */
    pel_name blank;
} survey;

#define PARTS_MAX 64

static use *use_of(const survey *v, const pel_node *call) {
    const pel_link *link = call->kind == PEL_Call ? pel_link_at(v->s, call) : NULL;
    return link ? &v->uses[link->target->number] : NULL;
}

static bool fits(use *u, uint32_t n) {
    if (u->n == 0) u->n = n;
    return u->n == n && n <= PARTS_MAX;
}

static void look(void *arg, pel_node **slot);

static void look_inside(survey *v, pel_node *call) { pel_each_part(v->s, call, look, v); }

static void look(void *arg, pel_node **slot) {
    survey *v = arg;
    pel_node *node = *slot;
    use *u;
    if (node->kind == PEL_Expr && (u = use_of(v, node->Expr.value))) {
        u->thrown++;
        look_inside(v, node->Expr.value);
        return;
    }
    if (node->kind == PEL_Assign && node->Assign.targets.n == 1 && (u = use_of(v, node->Assign.value))) {
        pel_node *target = node->Assign.targets.at[0];
        bool names = target->kind == PEL_Tuple && fits(u, target->Tuple.elts.n);
        for (uint32_t i = 0; names && i < target->Tuple.elts.n; i++) {
            const pel_node *part = target->Tuple.elts.at[i];
            if (part->kind == PEL_Starred)
                names = false;
            else if (part->kind != PEL_Name || part->Name.id != v->blank)
                u->used |= (uint64_t)1 << i;
        }
        if (!names) u->blocked = true;
        pel_push(v->s->ctx, &u->assigns, node);
        look_inside(v, node->Assign.value);
        if (target->kind != PEL_Tuple) look(v, &node->Assign.targets.at[0]);
        return;
    }
    if (node->kind == PEL_Subscript && (u = use_of(v, node->Subscript.value))) {
        const pel_node *index = node->Subscript.slice;
        const pel_const *value = index->kind == PEL_Constant ? index->Constant.value : NULL;
        if (value && value->kind == PEL_CONST_INT && !value->integer.digits.len && value->integer.small >= 0 &&
            value->integer.small < PARTS_MAX) {
            u->used |= (uint64_t)1 << value->integer.small;
            pel_push(v->s->ctx, &u->items, slot);
        } else
            u->blocked = true;
        look_inside(v, node->Subscript.value);
        return;
    }
    if ((u = use_of(v, node))) u->blocked = true;
    pel_each_part(v->s, node, look, v);
}

/* ---- what a function returns ---- */

typedef struct returning {
    pel_ctx *ctx;
    const pel_synth *s;
    uint32_t n;
    uint64_t kept;
    bool fine, cut;
} returning;

static void see_return(void *arg, pel_node **slot) {
    returning *r = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return) {
        pel_node *value = node->Return.value;
        if (!value || value->kind != PEL_Tuple || value->Tuple.elts.n != r->n) {
            r->fine = false;
            return;
        }
        pel_nodes left = { 0 };
        for (uint32_t i = 0; i < r->n; i++) {
            pel_node *part = value->Tuple.elts.at[i];
            if (r->kept >> i & 1)
                pel_nodes_push(r->ctx, &left, part);
            else if (!pel_pure(r->s, part))
                r->fine = false;
            if (part->kind == PEL_Starred) r->fine = false;
        }
        if (r->cut && left.n == 1)
            node->Return.value = left.at[0];
        else if (r->cut)
            value->Tuple.elts = left;
        return;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler) pel_each_child(node, see_return, r);
}

static void cut_assign(pel_synth *s, pel_node *node, uint64_t kept) {
    pel_node *target = node->Assign.targets.at[0];
    pel_nodes left = { 0 };
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (kept >> i & 1) pel_nodes_push(s->ctx, &left, target->Tuple.elts.at[i]);
    if (left.n == 1)
        node->Assign.targets = pel_nodes_one(s->ctx, left.at[0]);
    else
        target->Tuple.elts = left;
}

/* ---- parts that are the same thing twice ---- */

typedef struct doubles {
    uint32_t n;
    uint64_t differs[PARTS_MAX]; /* per part: others that are not always the same name */
    uint32_t returns;
    bool fine;
} doubles;

static void see_doubles(void *arg, pel_node **slot) {
    doubles *d = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return) {
        const pel_node *value = node->Return.value;
        if (!value || value->kind != PEL_Tuple || value->Tuple.elts.n != d->n) {
            d->fine = false;
            return;
        }
        d->returns++;
        for (uint32_t i = 0; i < d->n; i++)
            for (uint32_t k = 0; k < d->n; k++) {
                const pel_node *a = value->Tuple.elts.at[i], *b = value->Tuple.elts.at[k];
                if (a->kind != PEL_Name || b->kind != PEL_Name || a->Name.id != b->Name.id)
                    d->differs[i] |= (uint64_t)1 << k;
            }
        return;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler)
        pel_each_child(node, see_doubles, d);
}

/* f() returns (x, x): a, b = f() becomes a = b = f(). Only where nothing else is left: then it is one statement. */
static bool merge_doubles(pel_synth *s, pel_group *group, use *u) {
    doubles d = { .n = u->n, .fine = u->n == 2 && !u->items.n };
    for (uint32_t k = 0; d.fine && k < group->body.n; k++) see_doubles(&d, &group->body.at[k]);
    if (!d.fine || !d.returns || d.differs[0] & 2) return false;
    returning r = { s->ctx, s, u->n, 1, true, true };
    for (uint32_t k = 0; k < group->body.n; k++) see_return(&r, &group->body.at[k]);
    for (uint32_t k = 0; k < u->assigns.n; k++)
        u->assigns.at[k]->Assign.targets =
            pel_nodes_of(s->ctx, u->assigns.at[k]->Assign.targets.at[0]->Tuple.elts.at, 2);
    return true;
}

/* ---- results that nobody wants ---- */

typedef struct silencing {
    pel_synth *s;
    bool changed;
} silencing;

static void silence(void *arg, pel_node **slot) {
    silencing *q = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return && node->Return.value && pel_pure(q->s, node->Return.value)) {
        node->Return.value = NULL;
        q->changed = true;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler) pel_each_child(node, silence, q);
}

static bool return_nothing(pel_synth *s, pel_group *group) {
    silencing q = { s, false };
    for (uint32_t k = 0; k < group->body.n; k++) silence(&q, &group->body.at[k]);
    if (q.changed && group->body.n > 1) {
        const pel_node *last = group->body.at[group->body.n - 1];
        if (last->kind == PEL_Return && !last->Return.value) group->body.n--;
    }
    return q.changed;
}

static uint32_t count(uint64_t set) {
    uint32_t n = 0;
    for (; set; set &= set - 1) n++;
    return n;
}

bool pel_drop_results(pel_synth *s, const bool *reached) {
    survey v = { s, pel_new_array(s->ctx, s->groups.n + 1u, use), pel_intern_c(s->ctx, "_") };
    for (uint32_t i = 0; i < s->groups.n; i++)
        for (uint32_t k = 0; reached[i] && k < s->groups.at[i]->body.n; k++) look(&v, &s->groups.at[i]->body.at[k]);
    bool changed = false;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        use *u = &v.uses[i];
        if (!reached[i] || u->blocked || group->is_root || group->pinned || group->is_property || group->is_generator ||
            group->in_place || group->why)
            continue;
        if (u->thrown && !u->assigns.n && !u->items.n) changed |= return_nothing(s, group);
        if (u->n < 2 || u->thrown) continue;
        uint64_t all = u->n == 64 ? UINT64_MAX : ((uint64_t)1 << u->n) - 1, kept = u->used & all;
        if (u->used == all && merge_doubles(s, group, u)) {
            changed = true;
            continue;
        }
        if (u->used != kept || kept == all || kept == 0) continue;
        returning r = { s->ctx, s, u->n, kept, true, false };
        for (uint32_t k = 0; k < group->body.n; k++) see_return(&r, &group->body.at[k]);
        if (!r.fine) continue;
        r.cut = true;
        for (uint32_t k = 0; k < group->body.n; k++) see_return(&r, &group->body.at[k]);
        for (uint32_t k = 0; k < u->assigns.n; k++) cut_assign(s, u->assigns.at[k], kept);
        for (uint32_t k = 0; k < u->items.n; k++) {
            pel_node *item = *u->items.at[k];
            uint32_t index = (uint32_t)item->Subscript.slice->Constant.value->integer.small;
            if (count(kept) == 1)
                *u->items.at[k] = item->Subscript.value;
            else
                item->Subscript.slice =
                    pel_make_constant(s->ctx, pel_const_int(s->ctx, count(kept & (((uint64_t)1 << index) - 1))));
        }
        changed = true;
    }
    return changed;
}
