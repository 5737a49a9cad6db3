/* Forward hooks: torch calls them around a module's forward, from where no text of the author's stands. What they do is
 * written into the forward of a class of the author's; a module of torch's gets a class of its own that inherits. What
 * is a method of another module is registered by the constructor, as the author did (build/class.c). */
#include "trace/walk/call.h"

/* ---- which activations are hooks ---- */

static uint32_t positional(const pel_log *log, const pel_activation *activation, pel_id *out, uint32_t max) {
    const pel_code_object *code = log->codes.at[activation->code].code;
    uint32_t n = 0;
    for (uint32_t i = 0; i < code->argcount && n < max; i++)
        if (activation->locals[i]) out[n++] = activation->locals[i];
    if (code->flags & PEL_CO_VARARGS) {
        const pel_value *star = pel_value_at(log, activation->locals[code->argcount + code->kwonlyargcount]);
        for (uint32_t i = 0; i < star->n && n < max; i++) out[n++] = star->items[i];
    }
    return n;
}

#define MOST_ARGUMENTS 5 /* self, module, args, kwargs, output */

/* hook(module, args), hook(module, args, output), with kwargs before output if it asked for them; of a module that has
 * hooks, called by torch. */
static bool look_at(const pel_log *log, pel_id id, pel_hook *hook) {
    const pel_activation *activation = &log->activations.at[id];
    if (activation->direct) return false;
    pel_id args[MOST_ARGUMENTS + 1];
    uint32_t n = positional(log, activation, args, MOST_ARGUMENTS + 1), first = 0;
    if (n > 2 && pel_value_at(log, args[1])->kind == PEL_V_MODULE) first = 1; /* a bound method */
    if (n < first + 2 || n > first + 4) return false;
    const pel_value *module = pel_value_at(log, args[first]);
    if (module->kind != PEL_V_MODULE || pel_value_at(log, args[first + 1])->kind != PEL_V_TUPLE) return false;
    const pel_log_module *row = pel_module_at(log, module->module);
    pel_id class = log->codes.at[activation->code].class;
    if (!row->has_hooks || (!first && class && pel_inherits(log, row->class, class))) return false;
    *hook = (pel_hook){ .activation = id, .module = module->module, .first = first, .args = args[first + 1] };
    const pel_value *owner = pel_value_at(log, args[0]);
    if (first && owner->kind == PEL_V_MODULE && owner->module != hook->module &&
        pel_module_at(log, owner->module)->in_tree)
        hook->owner = owner->module;
    uint32_t left = n - first;
    bool dict = left > 2 && pel_value_at(log, args[first + 2])->kind == PEL_V_DICT;
    hook->kwargs = left == 4 && dict ? args[first + 2] : 0;
    hook->dict = left == 3 && dict ? args[first + 2] : 0;
    hook->before = left == 2;
    if (left == 4 && !dict) return false;
    return true;
}

/* functools.partial(keep, "name") as a hook: what it binds by itself stands before the module, or behind it by name. */
static void refuse_bound_hook(pel_synth *s, pel_id id) {
    const pel_log *log = s->log;
    const pel_activation *activation = &log->activations.at[id];
    pel_id args[2 * MOST_ARGUMENTS];
    uint32_t n = activation->direct ? 0 : positional(log, activation, args, PEL_COUNT(args));
    for (uint32_t i = 1; i + 1 < n; i++) {
        const pel_value *module = pel_value_at(log, args[i]);
        if (module->kind != PEL_V_MODULE || pel_value_at(log, args[i + 1])->kind != PEL_V_TUPLE) continue;
        const pel_log_module *row = pel_module_at(log, module->module);
        if (!row->has_hooks) continue;
        const pel_log_code *code = &log->codes.at[activation->code];
        pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0,
                  "%.*s:%u: a forward hook of %.*s binds arguments of its own, which no text can give it",
                  PEL_FMT(log->files.at[code->file].path), code->code->firstlineno, PEL_FMT(row->path));
    }
}

/* The forward that a hook stands before or behind: of the same module, called by torch for the same caller. */
static pel_id forward_of(pel_synth *s, const pel_hook *hook) {
    const pel_log *log = s->log;
    pel_id parent = log->activations.at[hook->activation].parent, found = 0;
    for (pel_id id = parent + 1; id < s->extents[parent].end; id++) {
        const pel_activation *other = &log->activations.at[id];
        if (other->parent != parent || other->direct || pel_map_has(&s->hooks.of_activation, id)) continue;
        if (other->run != log->activations.at[hook->activation].run) continue;
        pel_id self;
        if (!positional(log, other, &self, 1)) continue;
        const pel_value *value = pel_value_at(log, self);
        if (value->kind != PEL_V_MODULE || value->module != hook->module) continue;
        if (hook->before && id > hook->activation) return id;
        if (!hook->before && id < hook->activation) found = id;
    }
    return found;
}

/* hook(module, args, dict): before the forward if it asked for keywords, else behind one that gave a dict. Behind,
 * there was a forward for every call of the hook. */
static bool stands_before(const pel_synth *s, const pel_hook *hook) {
    const pel_log *log = s->log;
    const pel_activation *own = &log->activations.at[hook->activation];
    uint32_t calls = 0, forwards = 0;
    for (pel_id id = own->parent + 1; id <= hook->activation; id++) {
        const pel_activation *other = &log->activations.at[id];
        if (other->parent != own->parent || other->direct) continue;
        const pel_hook *same = pel_map_pointer(&s->hooks.of_activation, id);
        pel_id self;
        if (same)
            calls += same->module == hook->module && other->code == own->code;
        else if (positional(log, other, &self, 1))
            forwards +=
                pel_value_at(log, self)->kind == PEL_V_MODULE && pel_value_at(log, self)->module == hook->module;
    }
    return forwards < calls;
}

/* A forward is found among the activations that are no hooks, so all hooks must be known before the first search. One
 * with an owner gets no place around a forward: the constructor registers it. */
void pel_find_hooks(pel_synth *s) {
    const pel_log *log = s->log;
    bool any = false;
    for (uint32_t m = 1; m < log->modules.n && !any; m++) any = log->modules.at[m].has_hooks;
    for (pel_id id = 1; any && id < log->activations.n; id++) {
        pel_hook hook;
        if (!look_at(log, id, &hook)) {
            refuse_bound_hook(s, id);
            continue;
        }
        pel_hook *kept = pel_new(s->ctx, pel_hook);
        *kept = hook;
        pel_push(s->ctx, &s->hooks.all, kept);
        pel_map_set(s->ctx, &s->hooks.of_activation, id, PEL_KEY(kept));
    }
    for (uint32_t i = 0; i < s->hooks.all.n; i++) {
        pel_hook *hook = s->hooks.all.at[i];
        if (hook->dict && stands_before(s, hook)) {
            hook->before = true;
            hook->kwargs = hook->dict;
        }
        hook->forward = forward_of(s, hook);
        if (!hook->forward || hook->owner) continue;
        uint64_t list;
        if (!pel_map_get(&s->hooks.of_forward, hook->forward, &list)) {
            list = PEL_KEY(pel_new(s->ctx, pel_hook_list));
            pel_map_set(s->ctx, &s->hooks.of_forward, hook->forward, list);
        }
        pel_push(s->ctx, (pel_hook_list *)(uintptr_t)list, hook);
    }
}

/* What a hook gives: nothing, something that takes the place of what it got, or the one here and the other there. */
typedef enum gift { GIVES_NOTHING, GIVES_SOMETHING, MAY_GIVE } gift;

static gift gift_of(const pel_synth *s, const pel_hook *hook) {
    const pel_group *group = s->group_of[hook->activation];
    uint32_t n_none = 0;
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_value *value = pel_value_at(s->log, pel_result_of(s->log, group->lanes[i]));
        n_none += value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE;
    }
    return n_none == group->n_lanes ? GIVES_NOTHING : n_none ? MAY_GIVE : GIVES_SOMETHING;
}

/* A call of the hook that gave something, if there is one. */
static const pel_value *given_by(const pel_synth *s, const pel_hook *hook) {
    const pel_group *group = s->group_of[hook->activation];
    const pel_value *value = pel_value_at(s->log, 0);
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        value = pel_value_at(s->log, pel_result_of(s->log, group->lanes[i]));
        if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_NONE) break;
    }
    return value;
}

/* changed = hook(...); if changed is not None: target = changed */
static void take_if_given(pel_synth *s, pel_name changed, pel_node *call, pel_node *target, pel_nodes *out) {
    pel_ctx *ctx = s->ctx;
    pel_node *taken = pel_node_new(ctx, PEL_If);
    taken->If.test = pel_make_compare(ctx, pel_make_name(ctx, changed, PEL_Load), PEL_IsNot, pel_make_none(ctx));
    taken->If.body = pel_nodes_one(ctx, pel_make_assign(ctx, target, pel_make_name(ctx, changed, PEL_Load)));
    pel_nodes_push(ctx, out, pel_make_assign(ctx, pel_make_name(ctx, changed, PEL_Store), call));
    pel_nodes_push(ctx, out, taken);
}

/* ---- classes of the author's ---- */

typedef struct insertion {
    pel_synth *s;
    pel_group *group;          /* the forward */
    const pel_hook_list *list; /* hooks of one of its calls: those of all are alike */
    pel_nodes args, keys;      /* what the forward was called with, by its parameters' names */
    pel_name output, changed;
    pel_name self;
    pel_name kept_args, kept_keys; /* names of what it was called with, where the forward changes its parameters */
} insertion;

static pel_node *load(const insertion *in, pel_name name) { return pel_make_name(in->s->ctx, name, PEL_Load); }

static pel_node *tuple_of(const insertion *in, pel_CTX use) {
    pel_node *tuple = pel_node_new(in->s->ctx, PEL_Tuple);
    tuple->Tuple.ctx = use;
    for (uint32_t i = 0; i < in->args.n; i++)
        pel_nodes_push(in->s->ctx, &tuple->Tuple.elts, pel_make_name(in->s->ctx, in->args.at[i]->Name.id, use));
    return tuple;
}

static void give(const insertion *in, pel_link *link, uint32_t place, pel_node *text, const pel_taint *taint) {
    pel_group *target = link->target;
    uint32_t at = 0;
    for (uint32_t p = 0; p < target->n_params; p++) {
        if (target->params[p].keyword_only) continue;
        if (at++ != place) continue;
        link->args[p] = text;
        if (pel_taint_grow(in->s->ctx, &target->params[p].taint, taint)) in->s->facts.changed = true;
        return;
    }
}

static pel_node *dict_of(const insertion *in) {
    pel_node *dict = pel_node_new(in->s->ctx, PEL_Dict);
    for (uint32_t i = 0; i < in->keys.n; i++) {
        const pel_const *key = pel_const_str(in->s->ctx, pel_name_str(in->keys.at[i]->Name.id));
        pel_nodes_push(in->s->ctx, &dict->Dict.keys, pel_make_constant(in->s->ctx, key));
        pel_nodes_push(in->s->ctx, &dict->Dict.values, load(in, in->keys.at[i]->Name.id));
    }
    return dict;
}

/* The call of a hook, as the text of the forward has it. output: NULL before the forward. */
static pel_node *hook_call(const insertion *in, const pel_hook *hook, pel_node *output) {
    pel_ctx *ctx = in->s->ctx;
    pel_group *target = in->s->group_of[hook->activation];
    pel_link *link = pel_new(ctx, pel_link);
    *link = (pel_link){ .caller = in->group, .target = target, .callee = PEL_CALLEE_NAME };
    link->args = pel_new_array(ctx, target->n_params + 1u, pel_node *);
    link->by_keyword = pel_new_array(ctx, target->n_params + 1u, bool);
    pel_node *func = load(in, in->s->log->codes.at[target->code].code->name);
    if (hook->first) { /* a method: of this very module, or of something that the output has not */
        link->receiver = true;
        link->callee = PEL_CALLEE_METHOD;
        func = pel_make_attribute(ctx, load(in, in->self), in->s->log->codes.at[target->code].code->name, PEL_Load);
    }
    uint32_t place = hook->first;
    const pel_taint **taints = pel_new_array(ctx, in->args.n + 1u, const pel_taint *);
    for (uint32_t i = 0; i < in->args.n; i++)
        for (uint32_t p = 0; p < in->group->n_params; p++)
            if (in->group->params[p].name == in->args.at[i]->Name.id)
                taints[i] = pel_taint_fact(in->group->params[p].taint);
    give(in, link, place++, load(in, in->self), pel_constant(PEL_WHY_MODULE));
    pel_node *args = output && in->kept_args ? load(in, in->kept_args) : tuple_of(in, PEL_Load);
    give(in, link, place++, args, pel_taint_tuple(ctx, taints, in->args.n));
    if (hook->kwargs) {
        pel_node *dict = output && in->kept_keys ? load(in, in->kept_keys) : dict_of(in);
        give(in, link, place++, dict, &pel_tainted);
    }
    if (output) give(in, link, place++, output, pel_taint_fact(in->group->facts.result));
    if (in->s->log->codes.at[target->code].code->name->text[0] == '<')
        target->hint = pel_intern_c(ctx, output ? "forward_hook" : "forward_pre_hook");
    link->node = pel_make_call(ctx, func, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    pel_push(ctx, &in->s->calls.links, link);
    pel_map_set(ctx, &in->s->calls.link_of, PEL_KEY(link->node), PEL_KEY(link));
    return link->node;
}

/* output = E; hook(self, args, output); return output */
static void put_behind(const insertion *in, pel_node *value, pel_nodes *out) {
    pel_ctx *ctx = in->s->ctx;
    pel_nodes_push(ctx, out, pel_make_assign(ctx, pel_make_name(ctx, in->output, PEL_Store), value));
    for (uint32_t i = 0; i < in->list->n; i++) {
        const pel_hook *hook = in->list->at[i];
        if (hook->before) continue;
        pel_node *call = hook_call(in, hook, load(in, in->output));
        pel_node *target = pel_make_name(ctx, in->output, PEL_Store);
        switch (gift_of(in->s, hook)) {
        case GIVES_NOTHING: pel_nodes_push(ctx, out, pel_make_expr(ctx, call)); break;
        case GIVES_SOMETHING: pel_nodes_push(ctx, out, pel_make_assign(ctx, target, call)); break;
        case MAY_GIVE: take_if_given(in->s, in->changed, call, target, out); break;
        }
    }
    pel_nodes_push(ctx, out, pel_make_return(ctx, load(in, in->output)));
}

static void rewrite_returns(const insertion *in, pel_nodes *body) {
    pel_nodes made = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        if (node->kind == PEL_Return) {
            put_behind(in, node->Return.value ? node->Return.value : pel_make_none(in->s->ctx), &made);
            continue;
        }
        pel_nodes *block;
        for (uint32_t k = 0; node->kind != PEL_FunctionDef && (block = pel_block_at(node, k)); k++)
            rewrite_returns(in, block);
        pel_nodes_push(in->s->ctx, &made, node);
    }
    *body = made;
}

/* (x,), kwargs = hook(self, (x,), {"mask": mask}); mask = kwargs["mask"] */
static void put_before_with_keywords(const insertion *in, pel_node *call, const pel_value *result, pel_nodes *out) {
    pel_ctx *ctx = in->s->ctx;
    const pel_value *dict = result->n == 2 ? pel_value_at(in->s->log, result->items[1]) : result;
    if (dict->kind != PEL_V_DICT || pel_value_at(in->s->log, result->items[0])->n != in->args.n) {
        in->group->why = "a hook gives it other arguments";
        return;
    }
    pel_name kwargs = pel_free_name(in->s, in->s->log->codes.at[in->group->code].code, pel_intern_c(ctx, "kwargs"));
    pel_node *target = pel_node_new(ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    pel_nodes_push(ctx, &target->Tuple.elts, tuple_of(in, PEL_Store));
    pel_nodes_push(ctx, &target->Tuple.elts, pel_make_name(ctx, kwargs, PEL_Store));
    pel_nodes_push(ctx, out, pel_make_assign(ctx, target, call));
    for (uint32_t i = 0; i < in->keys.n; i++) {
        pel_name name = in->keys.at[i]->Name.id;
        if (!pel_item_named(in->s->log, dict, name)) continue;
        pel_node *key = pel_make_text(ctx, pel_name_str(name));
        pel_node *item = pel_make_subscript(ctx, load(in, kwargs), key, PEL_Load);
        pel_nodes_push(ctx, out, pel_make_assign(ctx, pel_make_name(ctx, name, PEL_Store), item));
    }
}

/* x, y = hook(self, (x, y)): or hook(self, (x, y)) if it changes nothing. */
static void put_before(const insertion *in, const pel_hook *hook, pel_nodes *out) {
    pel_ctx *ctx = in->s->ctx;
    pel_node *call = hook_call(in, hook, NULL);
    gift gives = gift_of(in->s, hook);
    if (gives == GIVES_NOTHING) {
        pel_nodes_push(ctx, out, pel_make_expr(ctx, call));
        return;
    }
    const pel_value *result = given_by(in->s, hook);
    bool tuple = result->kind == PEL_V_TUPLE;
    if (hook->kwargs) {
        if (gives == MAY_GIVE) in->group->why = "a hook changes its arguments in some calls only";
        put_before_with_keywords(in, call, result, out);
        return;
    }
    if (tuple ? result->n != in->args.n : in->args.n != 1) {
        in->group->why = "a hook gives it another number of arguments";
        return;
    }
    pel_node *target = tuple ? tuple_of(in, PEL_Store) : pel_make_name(ctx, in->args.at[0]->Name.id, PEL_Store);
    if (gives == MAY_GIVE)
        take_if_given(in->s, in->changed, call, target, out);
    else
        pel_nodes_push(ctx, out, pel_make_assign(ctx, target, call));
}

typedef struct rebinding {
    const insertion *in;
    bool found;
} rebinding;

static void see_rebinding(void *arg, pel_node **slot) {
    rebinding *r = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Name && node->Name.ctx != PEL_Load)
        for (uint32_t p = 0; p < r->in->group->n_params; p++) r->found |= r->in->group->params[p].name == node->Name.id;
    if (!r->found) pel_each_child(*slot, see_rebinding, r);
}

/* args = (x, y): before the forward binds x to something else. */
static void keep_arguments(insertion *in, pel_nodes *out) {
    rebinding r = { in, false };
    for (uint32_t i = 0; i < in->group->body.n; i++) see_rebinding(&r, &in->group->body.at[i]);
    if (!r.found) return;
    pel_ctx *ctx = in->s->ctx;
    const pel_code_object *code = in->s->log->codes.at[in->group->code].code;
    in->kept_args = pel_free_name(in->s, code, pel_intern_c(ctx, "args"));
    in->kept_keys = pel_free_name(in->s, code, pel_intern_c(ctx, "kwargs"));
    pel_node *args = pel_make_name(ctx, in->kept_args, PEL_Store), *keys = pel_make_name(ctx, in->kept_keys, PEL_Store);
    pel_nodes_push(ctx, out, pel_make_assign(ctx, args, tuple_of(in, PEL_Load)));
    pel_nodes_push(ctx, out, pel_make_assign(ctx, keys, dict_of(in)));
}

static bool same_hooks(const pel_synth *s, const pel_hook_list *a, const pel_hook_list *b) {
    if (!a || !b || a->n != b->n) return a == b;
    for (uint32_t i = 0; i < a->n; i++)
        if (s->group_of[a->at[i]->activation] != s->group_of[b->at[i]->activation] ||
            a->at[i]->before != b->at[i]->before)
            return false;
    return true;
}

static const pel_hook_list *hooks_around(const pel_synth *s, pel_id forward) {
    return pel_map_pointer(&s->hooks.of_forward, forward);
}

/* What torch gives a hook that the text registers: all but the module is data. */
static void taint_registered(pel_synth *s, pel_group *group) {
    const pel_hook *hook = pel_map_pointer(&s->hooks.of_activation, group->lanes[0]);
    for (uint32_t p = 2; hook && hook->owner && p < group->n_params; p++)
        if (pel_taint_grow(s->ctx, &group->params[p].taint, &pel_tainted)) s->facts.changed = true;
}

/* A hook after the forward gets the arguments as the hooks before it left them: they are kept between these hooks and
 * the author's text, which may bind their names anew. The text is one for all calls, so all need the same hooks. */
void pel_insert_hooks(pel_synth *s, pel_group *group) {
    taint_registered(s, group);
    const pel_hook_list *list = hooks_around(s, group->lanes[0]);
    for (uint32_t i = 1; i < group->n_lanes; i++)
        if (!same_hooks(s, list, hooks_around(s, group->lanes[i]))) {
            group->why = "some of its calls have hooks that others have not";
            return;
        }
    if (!list || !group->n_params) return;
    insertion in = { .s = s, .group = group, .list = list, .self = group->params[0].name };
    in.output = pel_free_name(s, s->log->codes.at[group->code].code, pel_intern_c(s->ctx, "output"));
    in.changed = pel_free_name(s, s->log->codes.at[group->code].code, pel_intern_c(s->ctx, "changed"));
    uint32_t n_args = pel_value_at(s->log, list->at[0]->args)->n;
    for (uint32_t p = 1; p < group->n_params; p++) {
        bool by_position = !group->params[p].keyword_only && in.args.n < n_args;
        pel_nodes_push(s->ctx, by_position ? &in.args : &in.keys, load(&in, group->params[p].name));
    }
    if (in.args.n < n_args) {
        group->why = "its hooks get arguments that it has no names for";
        return;
    }
    bool any_behind = false;
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < list->n; i++) {
        const pel_hook *hook = list->at[i];
        pel_group *target = s->group_of[hook->activation];
        if (!target || (hook->first && target->class != group->class)) {
            group->why = "a hook of it is a method of something that is not written";
            return;
        }
        any_behind |= !hook->before;
        if (hook->before) put_before(&in, hook, &body);
        group->facts.has_effect |= target->facts.has_effect;
    }
    if (any_behind) keep_arguments(&in, &body);
    if (any_behind) rewrite_returns(&in, &group->body);
    for (uint32_t i = 0; i < group->body.n; i++) pel_nodes_push(s->ctx, &body, group->body.at[i]);
    if (any_behind && (!body.n || body.at[body.n - 1]->kind != PEL_Return) && group->facts.falls_off)
        put_behind(&in, pel_make_none(s->ctx), &body);
    group->body = body;
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_hook_list *mine = hooks_around(s, group->lanes[i]);
        for (uint32_t k = 0; k < mine->n; k++) s->calls.linked[mine->at[k]->activation] = true;
    }
}

/* ---- modules of torch's ---- */

typedef struct replacing {
    pel_ctx *ctx;
    const pel_group *group;
    pel_node *texts[MOST_ARGUMENTS];
    uint32_t first, counts[MOST_ARGUMENTS];
} replacing;

static uint32_t place_of(const replacing *r, pel_name name) {
    uint32_t at = 0;
    for (uint32_t p = 0; p < r->group->n_params; p++) {
        if (r->group->params[p].keyword_only) continue;
        if (r->group->params[p].name == name) return at < MOST_ARGUMENTS ? at : UINT32_MAX;
        at++;
    }
    return UINT32_MAX;
}

static void count_names(void *arg, pel_node **slot) {
    replacing *r = arg;
    if ((*slot)->kind == PEL_Name) {
        uint32_t place = place_of(r, (*slot)->Name.id);
        if (place != UINT32_MAX) r->counts[place]++;
    }
    pel_each_child(*slot, count_names, r);
}

/* Parameters by what is given for them; (x, y)[0] is x. */
static void replace_names(void *arg, pel_node **slot) {
    replacing *r = arg;
    pel_node *node = *slot;
    pel_each_child(node, replace_names, r);
    if (node->kind == PEL_Name) {
        uint32_t place = place_of(r, node->Name.id);
        if (place != UINT32_MAX && r->texts[place]) *slot = pel_copy(r->ctx, r->texts[place]);
    } else if (node->kind == PEL_Subscript && node->Subscript.value->kind == PEL_Tuple &&
               node->Subscript.slice->kind == PEL_Constant &&
               node->Subscript.slice->Constant.value->kind == PEL_CONST_INT) {
        int64_t index = node->Subscript.slice->Constant.value->integer.small;
        pel_nodes elts = node->Subscript.value->Tuple.elts;
        if (index >= 0 && index < elts.n && elts.at[index]->kind != PEL_Starred) *slot = elts.at[index];
    }
}

/* What a hook is called with. */
static replacing arguments_of(pel_synth *s, const pel_hook *hook, pel_node *self, pel_node *args, pel_node *output) {
    replacing r = { .ctx = s->ctx, .group = s->group_of[hook->activation], .texts = { self, args } };
    uint32_t n = 2;
    if (hook->kwargs) r.texts[n++] = pel_node_new(s->ctx, PEL_Dict); /* torch's modules were given none */
    r.texts[n] = output;
    return r;
}

/* What a hook gives: the expression that it returns, or a call of it. */
static pel_node *applied(pel_synth *s, const pel_hook *hook, pel_node *self, pel_node *args, pel_node *output) {
    pel_group *target = s->group_of[hook->activation];
    replacing r = arguments_of(s, hook, self, args, output);
    if (target->body.n == 1 && target->body.at[0]->kind == PEL_Return && target->body.at[0]->Return.value) {
        pel_node *copy = pel_copy(s->ctx, target->body.at[0]->Return.value);
        count_names(&r, &copy);
        if (!output || r.counts[hook->kwargs ? 3 : 2] <= 1 || output->kind == PEL_Name) {
            replace_names(&r, &copy);
            return copy;
        }
    }
    pel_nodes given = { 0 };
    for (uint32_t i = 0; i < MOST_ARGUMENTS && r.texts[i]; i++) pel_nodes_push(s->ctx, &given, r.texts[i]);
    return pel_make_call(s->ctx, pel_make_name(s->ctx, target->function->name, PEL_Load), given, (pel_nodes){ 0 });
}

/* What a hook does that gives nothing: its only statement, if that binds no name, or a call of it. */
static void apply_for_effect(pel_synth *s, const pel_hook *hook, pel_node *self, pel_node *args, pel_node *output,
                             pel_nodes *out) {
    const pel_group *target = s->group_of[hook->activation];
    const pel_node *only = target->body.n == 1 ? target->body.at[0] : NULL;
    bool stores =
        only && only->kind == PEL_Assign && only->Assign.targets.n == 1 &&
        (only->Assign.targets.at[0]->kind == PEL_Subscript || only->Assign.targets.at[0]->kind == PEL_Attribute);
    bool plain = args->kind != PEL_Tuple || args->Tuple.elts.n == 1;
    pel_node *done;
    if (!plain || !only || (only->kind != PEL_Expr && !stores)) {
        done = pel_make_expr(s->ctx, applied(s, hook, self, args, output));
    } else {
        replacing r = arguments_of(s, hook, self, args, output);
        done = pel_copy(s->ctx, only);
        replace_names(&r, &done);
    }
    if (done->kind != PEL_Expr || done->Expr.value->kind != PEL_Constant) pel_nodes_push(s->ctx, out, done);
}

static pel_node *tuple_of_one(pel_ctx *ctx, pel_node *item) {
    pel_node *tuple = pel_node_new(ctx, PEL_Tuple);
    tuple->Tuple.elts = pel_nodes_one(ctx, item);
    return tuple;
}

/* The forward of a class that stands for a module of torch's with hooks, while it is written. */
typedef struct hooked_forward {
    pel_synth *s;
    const pel_hook_list *hooks;
    pel_node *self;
    pel_node *args;  /* the tuple of inputs, as hooks get it */
    pel_name input;  /* the parameter's name */
    bool takes_one;  /* input; else *inputs */
    pel_nodes *body; /* where statements go */
} hooked_forward;

static pel_node *forward_arguments(const hooked_forward *f) {
    pel_ctx *ctx = f->s->ctx;
    pel_node *args = pel_node_new(ctx, PEL_arguments), *self = pel_node_new(ctx, PEL_arg),
             *input = pel_node_new(ctx, PEL_arg);
    self->arg.arg = f->self->Name.id;
    input->arg.arg = f->input;
    pel_nodes_push(ctx, &args->arguments.args, self);
    if (f->takes_one)
        pel_nodes_push(ctx, &args->arguments.args, input);
    else
        args->arguments.vararg = input;
    return args;
}

/* What a hook gave are the inputs from now on, by their name: somebody else wants to see them, too. */
static void rebind_inputs(const hooked_forward *f, pel_node *given) {
    pel_ctx *ctx = f->s->ctx;
    pel_node *target = pel_make_name(ctx, f->input, PEL_Store);
    if (f->takes_one && given->kind == PEL_Tuple && given->Tuple.elts.n == 1)
        given = given->Tuple.elts.at[0];
    else if (f->takes_one)
        target = tuple_of_one(ctx, target);
    pel_nodes_push(ctx, f->body, pel_make_assign(ctx, target, given));
}

static void write_hooks_before(hooked_forward *f) {
    pel_synth *s = f->s;
    for (uint32_t i = 0; i < f->hooks->n; i++) {
        const pel_hook *hook = f->hooks->at[i];
        if (!hook->before) continue;
        gift gives = gift_of(s, hook);
        if (gives == GIVES_NOTHING) {
            apply_for_effect(s, hook, f->self, f->args, NULL, f->body);
            continue;
        }
        pel_node *given = applied(s, hook, f->self, f->args, NULL);
        bool is_tuple = given_by(s, hook)->kind == PEL_V_TUPLE;
        if (gives == MAY_GIVE) {
            pel_node *target = pel_make_name(s->ctx, f->input, PEL_Store);
            if (f->takes_one == is_tuple) target = tuple_of_one(s->ctx, target);
            take_if_given(s, pel_intern_c(s->ctx, "changed"), given, target, f->body);
            continue;
        }
        if (!is_tuple) given = tuple_of_one(s->ctx, given);
        if (f->hooks->n > 1)
            rebind_inputs(f, given);
        else
            f->args = given;
    }
}

/* super().forward(...) */
static pel_node *call_of_super(const hooked_forward *f) {
    pel_ctx *ctx = f->s->ctx;
    pel_node *super = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "super"), PEL_Load), (pel_nodes){ 0 },
                                    (pel_nodes){ 0 });
    pel_nodes passed =
        f->args->kind == PEL_Tuple ? f->args->Tuple.elts : pel_nodes_one(ctx, pel_make_starred(ctx, f->args));
    pel_node *method = pel_make_attribute(ctx, super, pel_intern_c(ctx, "forward"), PEL_Load);
    return pel_make_call(ctx, method, passed, (pel_nodes){ 0 });
}

/* Returns the expression that is the module's result in the end. */
static pel_node *write_hooks_after(const hooked_forward *f, pel_node *result) {
    pel_synth *s = f->s;
    pel_name output = pel_intern_c(s->ctx, "output");
    uint32_t n_after = 0;
    for (uint32_t i = 0; i < f->hooks->n; i++) n_after += !f->hooks->at[i]->before;
    for (uint32_t i = 0; i < f->hooks->n; i++) {
        const pel_hook *hook = f->hooks->at[i];
        if (hook->before) continue;
        gift gives = gift_of(s, hook);
        if (result->kind != PEL_Name && (gives != GIVES_SOMETHING || n_after > 1)) {
            pel_nodes_push(s->ctx, f->body, pel_make_assign(s->ctx, pel_make_name(s->ctx, output, PEL_Store), result));
            result = pel_make_name(s->ctx, output, PEL_Load);
        }
        if (gives == GIVES_SOMETHING)
            result = applied(s, hook, f->self, f->args, result);
        else if (gives == GIVES_NOTHING)
            apply_for_effect(s, hook, f->self, f->args, result, f->body);
        else
            take_if_given(s, pel_intern_c(s->ctx, "changed"), applied(s, hook, f->self, f->args, result),
                          pel_make_name(s->ctx, output, PEL_Store), f->body);
    }
    return result;
}

/* The class that stands for a module of torch's with these hooks; NULL if they leave nothing to do. */
static pel_node *hooked_class(pel_synth *s, pel_id module, const pel_hook_list *list) {
    pel_ctx *ctx = s->ctx;
    pel_node *def = pel_node_new(ctx, PEL_FunctionDef), *class = pel_node_new(ctx, PEL_ClassDef);
    bool takes_one = pel_value_at(s->log, list->at[0]->args)->n == 1;
    pel_name input = pel_intern_c(ctx, takes_one ? "input" : "inputs");
    pel_node *args = pel_make_name(ctx, input, PEL_Load);
    hooked_forward f = { s,
                         list,
                         pel_make_name(ctx, pel_intern_c(ctx, "self"), PEL_Load),
                         takes_one ? tuple_of_one(ctx, args) : args,
                         input,
                         takes_one,
                         &def->FunctionDef.body };
    def->FunctionDef.name = pel_intern_c(ctx, "forward");
    def->FunctionDef.args = forward_arguments(&f);
    const pel_node *as_given = f.args;
    write_hooks_before(&f);
    pel_node *forward = call_of_super(&f), *result = write_hooks_after(&f, forward);
    if (!f.body->n && f.args == as_given && pel_same(result, forward)) return NULL;
    pel_nodes_push(ctx, f.body, pel_make_return(ctx, result));
    pel_str path = pel_class_at(s->log, pel_module_at(s->log, module)->class)->path;
    class->ClassDef.bases = pel_nodes_one(ctx, pel_library_expression(ctx, s->program, path));
    class->ClassDef.body = pel_nodes_one(ctx, def);
    return class;
}

static void cannot(pel_synth *s, const pel_hook *hook, const char *why) {
    const pel_log_code *code = &s->log->codes.at[s->log->activations.at[hook->activation].code];
    pel_throw_at(s->ctx, PEL_E_UNSUPPORTED, 0, code->code->firstlineno, 0, "%.*s:%u: a forward hook of %.*s: %s",
                 PEL_FMT(code->file ? s->log->files.at[code->file].path : PEL_STR("?")), code->code->firstlineno,
                 PEL_FMT(pel_module_at(s->log, hook->module)->path), why);
}

static bool same_hook(const pel_synth *s, const pel_hook *a, const pel_hook *b) {
    return s->group_of[a->activation] == s->group_of[b->activation] && a->before == b->before;
}

/* The hooks of one call of a module of torch's; every call has the same. */
static pel_hook_list *hooks_of_module(pel_synth *s, pel_id module) {
    pel_hook_list all = { 0 }, *list = pel_new(s->ctx, pel_hook_list);
    for (uint32_t i = 0; i < s->hooks.all.n; i++)
        if (s->hooks.all.at[i]->module == module && !s->hooks.all.at[i]->owner &&
            s->group_of[s->hooks.all.at[i]->activation])
            pel_push(s->ctx, &all, s->hooks.all.at[i]);
    for (uint32_t i = 0; i < all.n; i++) {
        if (!list->n || (list->n == i && !same_hook(s, all.at[i], list->at[0])))
            pel_push(s->ctx, list, all.at[i]);
        else if (!same_hook(s, all.at[i], list->at[i % list->n]))
            cannot(s, all.at[i], "its calls have different hooks");
        if (all.at[i]->first) cannot(s, all.at[i], "it is a method of something else");
        if (all.at[i]->kwargs && pel_value_at(s->log, all.at[i]->kwargs)->n)
            cannot(s, all.at[i], "it is given keywords");
    }
    return list;
}

static void note_registration(pel_synth *s, const pel_hook *hook) {
    const pel_group *group = s->group_of[hook->activation];
    while (group && group->instead) group = group->instead;
    if (!group || !group->function) return;
    pel_registration made = { hook->owner, hook->module, group->function->name, hook->before, hook->kwargs != 0 };
    for (uint32_t i = 0; i < s->program->hooks.registrations.n; i++) {
        const pel_registration *other = &s->program->hooks.registrations.at[i];
        if (other->owner == made.owner && other->module == made.module && other->method == made.method &&
            other->before == made.before)
            return;
    }
    pel_push(s->ctx, &s->program->hooks.registrations, made);
}

/* The log has no forward of torch's own classes, so a hook without a forward belongs to such a module; any other one is
 * refused. Modules of one class with the same hooks share what is written. */
void pel_write_hooked(pel_synth *s) {
    s->program->hooks.registrations.n = 0;
    for (uint32_t i = 0; i < s->hooks.all.n; i++)
        if (s->hooks.all.at[i]->owner) note_registration(s, s->hooks.all.at[i]);
    typedef struct made {
        const pel_hook_list *list;
        pel_program_class *row;
        pel_id class;
    } made;
    PEL_VEC(made) done = { 0 };
    for (uint32_t i = 0; i < s->hooks.all.n; i++) {
        const pel_hook *hook = s->hooks.all.at[i];
        const pel_log_module *module = pel_module_at(s->log, hook->module);
        if (hook->forward || hook->owner || !s->group_of[hook->activation] ||
            pel_map_has(&s->program->hooks.hooked, hook->module))
            continue;
        if (pel_class_at(s->log, module->class)->kind != PEL_CLASS_TORCH_MODULE)
            cannot(s, hook, "the forward that it belongs to was not seen");
        const pel_hook_list *list = hooks_of_module(s, hook->module);
        pel_program_class *row = NULL;
        for (uint32_t k = 0; k < done.n && !row; k++) {
            bool same = done.at[k].class == module->class && done.at[k].list->n == list->n;
            for (uint32_t h = 0; h < list->n && same; h++) same = same_hook(s, done.at[k].list->at[h], list->at[h]);
            if (same) row = done.at[k].row;
        }
        if (!row) {
            pel_node *def = hooked_class(s, hook->module, list);
            if (!def) continue;
            row = pel_new(s->ctx, pel_program_class);
            pel_str name = pel_format(s->ctx, "Hooked%s", pel_class_at(s->log, module->class)->name->text);
            row->name = pel_unused_name(s->ctx, s->program, pel_intern_str(s->ctx, name));
            row->def = def;
            row->def->ClassDef.name = row->name;
            pel_push(s->ctx, &s->program->classes, row);
            pel_push(s->ctx, &done, ((made){ list, row, module->class }));
        }
        pel_map_set(s->ctx, &s->program->hooks.hooked, hook->module, PEL_KEY(row));
    }
}

/* ---- what a run may not do to hooks ---- */

static bool registers_hook(pel_walk *w, const pel_call_site *c, pel_front front) {
    if (!c->base || !pel_str_starts(pel_name_str(c->node->Call.func->Attribute.attr), PEL_STR("register_")))
        return false;
    if (!pel_str_ends(pel_name_str(c->node->Call.func->Attribute.attr), PEL_STR("_hook"))) return false;
    return pel_value_at(w->log, c->base->at[front.n - 1])->kind == PEL_V_MODULE;
}

/* handle.remove(): the module's hooks are others from then on. */
bool pel_is_hook_s_handle(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    return value->kind == PEL_V_OBJECT && value->class &&
           pel_name_is(pel_class_at(log, value->class)->name, "RemovableHandle");
}

/* What changes something that the output does not have, or has under other names. */
void pel_refuse_callee(pel_walk *w, const pel_call_site *c, pel_front front) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (registers_hook(w, c, front)) pel_lost(w, c->node, "a hook is registered while the model runs");
    if (c->base && front.n && pel_is_hook_s_handle(w->log, c->base->at[0]))
        pel_lost(w, c->node, "a hook is removed while the model runs");
    if (callee->kind == PEL_V_LIBRARY && (pel_str_is(callee->text, "globals") || pel_str_is(callee->text, "locals")))
        pel_lost(w, c->node, "it asks for the names of the file or the function");
}
