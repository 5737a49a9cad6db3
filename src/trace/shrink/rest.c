/* *args and **kwargs that stay whole. Elsewhere their items have become parameters; but a function that only asks for
 * all of *args at once keeps it, and where some calls bring an item of **kwargs and others don't, and it goes on to
 * whatever module stands there, only **kwargs says that: fn(norm(x), **kwargs). */
#include "trace/shrink/link.h"

typedef struct search {
    const pel_synth *s;
    const pel_group *group;
    pel_name rest;
    uint32_t *passed_on; /* per parameter: how often it is passed on */
    bool has_fallback;   /* one that is passed on or not is also asked for with a default */
    bool rewrite;
} search;

static pel_param *forwarded_param(const pel_group *group, pel_name name, uint32_t *number) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (group->params[p].forwarded && group->params[p].name == name) {
            *number = p;
            return &group->params[p];
        }
    return NULL;
}

static pel_param *passed_by(const pel_group *group, const pel_node *keyword, uint32_t *number) {
    if (keyword->keyword.value->kind != PEL_Name || !keyword->keyword.arg) return NULL;
    pel_param *param = forwarded_param(group, keyword->keyword.value->Name.id, number);
    return param && param->key == keyword->keyword.arg ? param : NULL;
}

/* f(x, mask=mask) -> f(x, **kwargs) */
static void look_at_keywords(search *look, pel_node *call) {
    uint32_t n_kept = 0, n = call->Call.keywords.n, p;
    for (uint32_t i = 0; i < n; i++) {
        if (passed_by(look->group, call->Call.keywords.at[i], &p))
            look->passed_on[p]++;
        else if (look->rewrite)
            call->Call.keywords.at[n_kept++] = call->Call.keywords.at[i];
    }
    if (!look->rewrite || n_kept == n) return;
    call->Call.keywords.n = n_kept;
    pel_nodes_push(look->s->ctx, &call->Call.keywords,
                   pel_make_keyword(look->s->ctx, NULL, pel_make_name(look->s->ctx, look->rest, PEL_Load)));
}

/* mask = norm(mask) -> kwargs["mask"] = norm(kwargs["mask"]) */
static void look_at_name(search *look, pel_node **slot) {
    uint32_t p;
    const pel_param *param = forwarded_param(look->group, (*slot)->Name.id, &p);
    if (!param) return;
    look->has_fallback |= param->fallback != NULL;
    if (!look->rewrite) return;
    pel_ctx *ctx = look->s->ctx;
    *slot = pel_make_subscript(ctx, pel_make_name(ctx, look->rest, PEL_Load),
                               pel_make_text(ctx, pel_name_str(param->key)), (*slot)->Name.ctx);
}

static void look_at(void *arg, pel_node **slot) {
    search *look = arg;
    pel_node *node = *slot;
    uint32_t p;
    if (node->kind == PEL_keyword && passed_by(look->group, node, &p)) return;
    if (node->kind == PEL_Call) look_at_keywords(look, node);
    if (node->kind == PEL_Name)
        look_at_name(look, slot);
    else
        pel_each_part(look->s, node, look_at, arg);
}

static void look_through(search *look, pel_group *group) {
    for (uint32_t i = 0; i < group->body.n; i++) look_at(look, &group->body.at[i]);
}

/* Gives a group its **kwargs again if it needs it, and sets why if that can't be. */
void pel_keep_rest(pel_synth *s, pel_group *group) {
    bool is_wanted = false;
    for (uint32_t p = 0; p < group->n_params; p++) {
        if (group->params[p].dead) group->params[p].forwarded = false;
        is_wanted |= group->params[p].forwarded;
    }
    if (!is_wanted) return;
    const pel_code_object *code = s->log->codes.at[group->code].code;
    uint32_t at = code->argcount + code->kwonlyargcount + (code->flags & PEL_CO_VARARGS ? 1 : 0);
    search look = { .s = s, .group = group, .rest = code->varnames.at[at] };
    look.passed_on = pel_new_array(s->ctx, group->n_params, uint32_t);
    look_through(&look, group);
    uint32_t times = 0; /* every call that gets one item gets them all */
    for (uint32_t p = 0; p < group->n_params; p++) {
        if (!group->params[p].forwarded) continue;
        if (look.has_fallback || (times && look.passed_on[p] != times) || group->is.root) {
            group->why = pel_format(s->ctx, "`%s` is passed on by some calls only", group->params[p].name->text).ptr;
            return;
        }
        times = look.passed_on[p];
    }
    look.rewrite = true;
    look_through(&look, group);
    group->rest = look.rest;
}

/* ---- *args ---- */

/* Whether a statement is `masks = (masks_0, masks_1)`, of all the items that calls pass. */
static bool gathers_items(const pel_synth *s, const pel_group *group, const pel_node *statement, pel_name star) {
    if (statement->kind != PEL_Assign || statement->Assign.targets.n != 1) return false;
    const pel_node *target = statement->Assign.targets.at[0], *value = statement->Assign.value;
    if (target->kind != PEL_Name || target->Name.id != star || value->kind != PEL_Tuple) return false;
    uint32_t n = 0;
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        if (param->kind != PEL_PARAM_STAR_ITEM) {
            if (param->keyword_only && !param->dead) return false; /* it would have to stand behind the star */
            continue;
        }
        if (param->dead || n == value->Tuple.elts.n) return false;
        const pel_node *item = value->Tuple.elts.at[n++];
        if (item->kind != PEL_Name || item->Name.id != param->name) return false;
        pel_uses uses = pel_uses_in(s, group->body, param->name);
        if (uses.reads != 1 || uses.binds) return false;
    }
    return n > 0 && n == value->Tuple.elts.n;
}

/* Gives a group its *args again if it puts the items together and does nothing else with them. */
void pel_keep_star(pel_synth *s, pel_group *group) {
    const pel_code_object *code = s->log->codes.at[group->code].code;
    if (!(code->flags & PEL_CO_VARARGS) || group->is.root || group->is.pinned || group->rest || !group->body.n) return;
    pel_name star = code->varnames.at[code->argcount + code->kwonlyargcount];
    if (!gathers_items(s, group, group->body.at[0], star)) return;
    group->star = star;
    group->body.at++; /* the statement that gathers */
    group->body.n--;
}
