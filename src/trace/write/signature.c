/* Signatures of the functions of the output, and the calls of them: which parameters may go, what their defaults are,
 * and which arguments are left. */
#include "trace/shrink/link.h"

/* Signatures of the functions of the output: which parameters may go, which have defaults and what these are. */

/* Whether a keyword of the root was put there by wrappers, and not by who called the model. */
static bool is_of_wrappers(const pel_synth *s, const pel_param *param) {
    if (param->kind != PEL_PARAM_KEY_ITEM) return false;
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        for (uint32_t i = 0; i < s->log->runs.at[r].n_kwargs; i++)
            if (s->log->runs.at[r].kwargs[i].name == param->key) return false;
    return true;
}

bool pel_may_drop(const pel_synth *s, const pel_group *group, uint32_t param) {
    if (param == 0 && group->class) return group->is.without_self;
    if (group->is.root) return is_of_wrappers(s, &group->params[param]);
    if (!group->is.pinned) return true;
    /* called by torch with what it was recorded with: only what was never passed may go, from the end */
    for (uint32_t p = param; p < group->n_params; p++) {
        if (!group->params[p].fallback || group->params[p].passed || (p > param && !group->params[p].dead))
            return false;
        for (uint32_t i = 0; i < group->n_lanes; i++) {
            const pel_value *value =
                pel_value_at(s->log, s->log->activations.at[group->lanes[i]].locals[group->params[p].local]);
            if (value->kind != PEL_V_CONST) return false;
        }
    }
    return true;
}

/* [], {}, dict(): the same in any file. */
static bool is_empty_container(const pel_node *node) {
    static const char *const makers[] = { "dict", "list", "tuple", "set" };
    if (node->kind == PEL_Dict) return !node->Dict.values.n;
    if (node->kind == PEL_List || node->kind == PEL_Tuple) return !node->Tuple.elts.n;
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Name || node->Call.args.n || node->Call.keywords.n)
        return false;
    for (size_t i = 0; i < PEL_COUNT(makers); i++)
        if (pel_name_is(node->Call.func->Name.id, makers[i])) return true;
    return false;
}

/* Made of constants alone. */
static bool is_constant_text(const pel_node *node) {
    if (node->kind == PEL_UnaryOp) return is_constant_text(node->UnaryOp.operand);
    if (node->kind != PEL_List && node->kind != PEL_Tuple)
        return node->kind == PEL_Constant || is_empty_container(node);
    for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
        if (!is_constant_text(node->Tuple.elts.at[i])) return false;
    return true;
}

static bool is_passed(const pel_log_run *run, const pel_param *param, uint32_t place) {
    if (place < run->n_args) return true;
    for (uint32_t k = 0; k < run->n_kwargs; k++)
        if (run->kwargs[k].name == param->name) return true;
    return false;
}

/* A call that left this parameter to its default; 0: there is none. Of the model's own forward it is a run. Of others
 * links know it; what a library calls has no links, and shows its default only where all calls found the same. */
static pel_id lane_with_default(const pel_synth *s, const pel_group *group, uint32_t p) {
    if (!group->is.root && group->params[p].without) return group->params[p].without;
    if (!group->is.root) {
        pel_id first = pel_argument(s->log, group->lanes[0], &group->params[p]);
        for (uint32_t i = 1; i < group->n_lanes; i++)
            if (!pel_value_same(s->log, first, pel_argument(s->log, group->lanes[i], &group->params[p]))) return 0;
        return group->lanes[0];
    }
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_log_run *run = &s->log->runs.at[s->log->activations.at[group->lanes[i]].run];
        if (run->activation != group->lanes[i] || !is_passed(run, &group->params[p], p - 1)) return group->lanes[i];
    }
    return 0;
}

/* Plain, or slices and ranges of such, also in tuples. */
static bool is_unchangeable(const pel_synth *s, pel_id id, int depth) {
    const pel_value *value = pel_value_at(s->log, id);
    if (pel_plain(s, id)) return true;
    bool is_made = value->kind == PEL_V_SLICE || value->kind == PEL_V_RANGE;
    is_made |= value->kind == PEL_V_TUPLE && !value->class;
    for (uint32_t i = 0; i < value->n && is_made; i++)
        if (depth > 6 || !is_unchangeable(s, value->items[i], depth + 1)) return false;
    return is_made && !value->truncated;
}

bool pel_has_default_text(const pel_synth *s, const pel_group *group, uint32_t p) {
    const pel_node *fallback = group->params[p].fallback;
    return !fallback || is_constant_text(fallback) || lane_with_default(s, group, p);
}

pel_node *pel_default_text(pel_synth *s, const pel_group *group, uint32_t p) {
    pel_node *fallback = group->params[p].fallback;
    if (!fallback) return NULL;
    if (group->is.nested || is_constant_text(fallback)) return pel_copy(s->ctx, fallback);
    /* an expression of the author's file: its value is what lanes that got no argument began with */
    pel_id lane = lane_with_default(s, group, p);
    pel_id value = lane ? s->log->activations.at[lane].locals[group->params[p].local] : 0;
    bool has_text = lane && is_unchangeable(s, value, 0);
    has_text |= lane && pel_is_constant_tensor(s->log, pel_value_at(s->log, value));
    pel_node *text = has_text ? pel_value_expression(s->ctx, s->program, value) : NULL;
    if (!text && lane && group->is.root && !group->params[p].unread)
        pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0, "the default of `%s`, which the recorded call takes, has no literal",
                  group->params[p].name->text);
    return text ? text : pel_make_none(s->ctx);
}

/* Whether some link leaves a parameter to its default. */
static bool *left_out(pel_synth *s, const pel_group *group, const bool *active) {
    bool *left = pel_new_array(s->ctx, group->n_params + 1u, bool);
    for (uint32_t i = 0; i < s->calls.links.n; i++) {
        const pel_link *link = s->calls.links.at[i];
        if (link->target != group || !active[i]) continue;
        for (uint32_t p = link->receiver ? 1 : 0; p < group->n_params; p++) left[p] |= !link->args[p];
    }
    return left;
}

static bool needs_default_before(const pel_group *group, const pel_param *param) {
    for (const pel_param *p = group->params; p < param; p++)
        if (p->fallback && !p->dead && (p->left_out || !p->passed)) return true;
    return false;
}

/* Callers that we don't write say its name; of the others we see what they say. */
static bool stands_behind_star(const pel_group *group, const pel_param *param) {
    if (group->is.root || group->is.nested) return param->keyword_only;
    if (!group->is.pinned) return false;
    return param->kind == PEL_PARAM_KEY_ITEM ? needs_default_before(group, param) : param->keyword_only;
}

pel_node *pel_signature(pel_synth *s, const pel_group *group, const bool *active) {
    pel_node *args = pel_node_new(s->ctx, PEL_arguments);
    bool *left = left_out(s, group, active);
    uint32_t first_default = group->n_params; /* from here on every parameter has a default */
    while (first_default > 0) {
        const pel_param *param = &group->params[first_default - 1];
        bool open = group->is.root || group->is.pinned || group->is.nested;
        if (stands_behind_star(group, param) || param->kind == PEL_PARAM_STAR) { /* with a default or without */
            first_default--;
            continue;
        }
        bool is_gone = param->dead || (group->rest && param->forwarded);
        bool has_default = param->fallback && !param->required;
        if (!is_gone && !(has_default && (open || left[first_default - 1]))) break;
        first_default--;
    }
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        if (param->kind == PEL_PARAM_STAR) {
            args->arguments.vararg = pel_node_new(s->ctx, PEL_arg);
            args->arguments.vararg->arg.arg = param->name;
            continue;
        }
        if (param->dead || (group->rest && param->forwarded)) continue;
        if (group->star && param->kind == PEL_PARAM_STAR_ITEM) continue;
        pel_node *arg = pel_node_new(s->ctx, PEL_arg);
        arg->arg.arg = param->name;
        pel_node *fallback = p >= first_default ? pel_default_text(s, group, p) : NULL;
        if (stands_behind_star(group, param)) {
            pel_nodes_push(s->ctx, &args->arguments.kwonlyargs, arg);
            pel_nodes_push(s->ctx, &args->arguments.kw_defaults, fallback ? fallback : pel_default_text(s, group, p));
        } else {
            pel_nodes_push(s->ctx, &args->arguments.args, arg);
            if (fallback) pel_nodes_push(s->ctx, &args->arguments.defaults, fallback);
        }
    }
    if (group->star) {
        args->arguments.vararg = pel_node_new(s->ctx, PEL_arg);
        args->arguments.vararg->arg.arg = group->star;
    }
    if (group->rest) {
        args->arguments.kwarg = pel_node_new(s->ctx, PEL_arg);
        args->arguments.kwarg->arg.arg = group->rest;
    }
    return args;
}

/* *args and **kwargs that stay whole. Elsewhere their items have become parameters; but a function that only asks for
 * all of *args at once keeps it, and where some calls bring an item of **kwargs and others don't, and it goes on to
 * whatever module stands there, only **kwargs says that: fn(norm(x), **kwargs). */

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

/* The text of calls of functions of the output: which arguments are left, and which of them need their keywords. */

/* Of how many items of `*whole` the text of an argument is one; 0 if it is not one. */
static uint32_t star_length(const pel_synth *s, const pel_node *text) {
    uint64_t n = 0;
    pel_map_get(&s->notes.star_items, PEL_KEY(text), &n);
    return (uint32_t)n;
}

/* f(x, pair[0], pair[1]) was f(x, *pair), and is that again if none of the items went. */
static void restore_stars(const pel_synth *s, pel_nodes *positional) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < positional->n;) {
        pel_node *first = positional->at[i];
        uint32_t n = star_length(s, first), k = 0;
        for (; k < n && i + k < positional->n; k++) {
            const pel_node *item = positional->at[i + k];
            if (star_length(s, item) != n || !pel_is_number(item->Subscript.slice, k) ||
                !pel_same(item->Subscript.value, first->Subscript.value))
                break;
        }
        bool whole = n > 1 && k == n;
        if (whole) {
            pel_node *star = pel_node_new(s->ctx, PEL_Starred);
            star->Starred.value = first->Subscript.value;
            first = star;
        }
        pel_nodes_push(s->ctx, &out, first);
        i += whole ? n : 1;
    }
    *positional = out;
}

/* An argument whose keyword says nothing that is not seen: the first one, or attention_mask=attention_mask. */
static bool speaks_for_itself(const pel_group *target, uint32_t param, uint32_t place, const pel_node *text) {
    bool is_first = place == (target->class && !target->is.without_self);
    return is_first || (text->kind == PEL_Name && text->Name.id == target->params[param].name);
}

static bool does_something(const pel_node *node) {
    if (node->kind == PEL_Attribute) return does_something(node->Attribute.value);
    return node->kind != PEL_Name && node->kind != PEL_Constant;
}

static bool comes_before(const pel_node *a, const pel_node *b) {
    if (!a->lineno || !b->lineno) return false;
    return a->lineno < b->lineno || (a->lineno == b->lineno && a->col_offset < b->col_offset);
}

/* f(b=g(x), a=h(x)): the order in which the author has the arguments is one in which something happens. */
static bool has_order(const pel_link *link) {
    const pel_node *last = NULL;
    for (uint32_t p = link->receiver; p < link->target->n_params; p++) {
        const pel_node *text = link->args[p];
        if (!text || link->target->params[p].dead || !link->by_keyword[p] || !does_something(text)) continue;
        if (last && comes_before(text, last)) return true;
        last = text;
    }
    return false;
}

static void sort_by_place(pel_nodes *keywords) {
    for (uint32_t i = 1; i < keywords->n; i++)
        for (uint32_t k = i; k > 0; k--) {
            pel_node **pair = &keywords->at[k - 1];
            if (!comes_before(pair[1]->keyword.value, pair[0]->keyword.value)) break;
            pel_node *later = pair[0];
            pair[0] = pair[1];
            pair[1] = later;
        }
}

/* What a call passes that the author's leaves out, where the signature has no default for it. */
static pel_node *left_out_argument(pel_synth *s, pel_group *target, uint32_t p) {
    pel_node *text = pel_default_text(s, target, p);
    if (text) return text;
    target->why = pel_format(s->ctx, "a call leaves out `%s`, which has no default", target->params[p].name->text).ptr;
    return pel_make_none(s->ctx);
}

static void write_callee(pel_synth *s, const pel_link *link) {
    pel_node *call = link->node;
    const pel_program_function *function = link->target->function; /* none if it is written in place */
    if (link->callee == PEL_CALLEE_NAME || link->callee == PEL_CALLEE_STATIC)
        call->Call.func = pel_make_name(s->ctx, function->name, PEL_Load);
    else if (link->callee == PEL_CALLEE_METHOD)
        call->Call.func->Attribute.attr = function->name;
    else if (link->implied && function->name != link->implied) /* one of several */
        call->Call.func = pel_make_attribute(s->ctx, call->Call.func, function->name, PEL_Load);
}

void pel_write_call(pel_synth *s, const pel_link *link, const pel_node *args) {
    if (link->node->kind != PEL_Call) return; /* a property */
    pel_group *target = link->target;
    pel_nodes positional = { 0 }, keywords = { 0 };
    uint32_t n_defaults = args->arguments.defaults.n, n_args = args->arguments.args.n, at = 0;
    bool by_name = false, ordered = has_order(link);
    for (uint32_t p = 0; p < target->n_params; p++) {
        if (target->params[p].dead) continue;
        if (target->rest && target->params[p].forwarded) {
            if (!link->args[p]) continue;
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].key, link->args[p]));
            by_name = true;
            continue;
        }
        uint32_t place = at++;
        if (p == 0 && link->receiver) continue;
        pel_node *text = link->args[p];
        if (!text && (place >= n_args - n_defaults || place >= n_args)) { /* its default serves */
            by_name = true;
            continue;
        }
        if (!text) text = left_out_argument(s, target, p);
        bool plain =
            !link->by_keyword[p] || (!target->is.root && !ordered && speaks_for_itself(target, p, place, text));
        if (by_name || !plain) {
            pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, target->params[p].name, text));
            by_name = true;
        } else {
            pel_nodes_push(s->ctx, &positional, text);
        }
    }
    restore_stars(s, &positional);
    if (ordered) sort_by_place(&keywords);
    link->node->Call.args = positional;
    link->node->Call.keywords = keywords;
    write_callee(s, link);
}
