/* Links: which parameter of a specialisation each argument of a call is, and how the text calls it. */
#include "trace/walk/call.h"

/* ---- binding arguments to parameters ---- */

typedef struct binding {
    pel_walk *w;
    pel_front front;
    const pel_call_site *c;
    const pel_id *children; /* per lane: the activation that is called */
    pel_link *link;
    const pel_taint **taints; /* per parameter */
    uint32_t next;            /* positional parameter */
    bool failed;
} binding;

static void bind(binding *b, uint32_t p, pel_node *text, const pel_taint *taint, bool by_keyword) {
    b->link->args[p] = text;
    b->link->by_keyword[p] = by_keyword;
    b->taints[p] = taint;
}

static void bind_positional(binding *b, pel_node *text, const pel_taint *taint) {
    const pel_group *target = b->link->target;
    while (b->next < target->n_params &&
           (target->params[b->next].keyword_only || target->params[b->next].kind == PEL_PARAM_KEY_ITEM))
        b->next++;
    if (b->next >= target->n_params)
        b->failed = true;
    else
        bind(b, b->next++, text, taint, false);
}

pel_param *pel_param_for(const pel_group *target, pel_name key) {
    for (uint32_t p = 0; p < target->n_params; p++) {
        pel_param *param = &target->params[p];
        if (param->kind == PEL_PARAM_PLAIN ? param->name == key
                                           : param->kind == PEL_PARAM_KEY_ITEM && param->key == key)
            return param;
    }
    return NULL;
}

static void bind_keyword(binding *b, pel_name name, pel_node *text, const pel_taint *taint) {
    const pel_group *target = b->link->target;
    const pel_param *param = pel_param_for(target, name);
    if (param)
        bind(b, (uint32_t)(param - target->params), text, taint, true);
    else
        b->failed = true;
}

static pel_link *new_link(pel_walk *w, pel_group *target, pel_node *text) {
    pel_link *link = pel_new(w->ctx, pel_link);
    *link = (pel_link){ .node = text, .caller = w->group, .target = target };
    link->args = pel_new_array(w->ctx, target->n_params + 1u, pel_node *);
    link->by_keyword = pel_new_array(w->ctx, target->n_params + 1u, bool);
    return link;
}

static void keep_link(pel_walk *w, pel_link *link) {
    pel_push(w->ctx, &w->s->calls.links, link);
    pel_map_set(w->ctx, &w->s->calls.link_of, PEL_KEY(link->node), PEL_KEY(link));
}

/* A second text for a value. If a property gave it, that is asked again. */
static pel_node *text_again(pel_walk *w, const pel_val *val) {
    pel_node *text = pel_copy(w->ctx, val->text);
    const pel_link *link = pel_link_at(w->s, val->text);
    if (!link || !link->target->is.property) return text;
    pel_link *again = new_link(w, link->target, text);
    again->receiver = true;
    keep_link(w, again);
    return text;
}

static pel_node *item_text(pel_walk *w, const pel_val *whole, const pel_const *index) {
    return pel_make_subscript(w->ctx, text_again(w, whole), pel_make_constant(w->ctx, index), PEL_Load);
}

/* One of the n items of `*whole`. */
static pel_node *star_item_text(pel_walk *w, const pel_val *whole, uint32_t index, uint32_t n) {
    pel_node *node = item_text(w, whole, pel_const_int(w->ctx, index));
    pel_map_set(w->ctx, &w->s->notes.star_items, PEL_KEY(node), n);
    return node;
}

bool pel_settle_default(pel_walk *w, pel_param *mine, const pel_node *theirs) {
    if (!theirs) return true; /* not known yet, or not needed */
    bool negative = theirs->kind == PEL_UnaryOp && theirs->UnaryOp.operand->kind == PEL_Constant;
    if (theirs->kind != PEL_Constant && !negative) return false;
    if (mine->fallback) return pel_same(mine->fallback, theirs);
    mine->fallback = pel_copy(w->ctx, theirs);
    w->s->facts.changed = true;
    return true;
}

/* How many items a starred argument has in every lane, or -1. */
static int64_t common_length(pel_walk *w, pel_front front, const pel_val *val) {
    int64_t n = -1;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        bool sequence = value->kind == PEL_V_TUPLE || value->kind == PEL_V_LIST || value->kind == PEL_V_SIZE;
        if (!sequence || value->truncated || (n >= 0 && n != value->n)) return -1;
        n = value->n;
    }
    return n;
}

/* f(*g(x)): a, b = g(x) first, with the names that f has for them; then f(a, b). */
static void unpack_first(binding *b, const pel_val *val, uint32_t n) {
    pel_walk *w = b->w;
    if (w->in_expression) {
        b->failed = true;
        return;
    }
    pel_node *target = pel_node_new(w->ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        const pel_group *callee = b->link->target;
        while (b->next < callee->n_params && callee->params[b->next].keyword_only) b->next++;
        if (b->next >= callee->n_params) {
            b->failed = true;
            return;
        }
        pel_name name = pel_free_name(w->s, w->log->codes.at[w->group->code].code, callee->params[b->next].name);
        pel_nodes_push(w->ctx, &target->Tuple.elts, pel_make_name(w->ctx, name, PEL_Store));
        bind_positional(b, pel_make_name(w->ctx, name, PEL_Load), pel_taint_item(val->taint, i));
    }
    if (!b->failed && n) pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, target, val->text));
}

/* f(*sizes), where data say how many there are: the items become arguments of their own. */
static bool assert_length(binding *b, const pel_val *val, int64_t n) {
    pel_walk *w = b->w;
    bool is_size = pel_value_at(w->log, val->at[0])->kind == PEL_V_SIZE;
    if (is_size || pel_is_constant(val->taint) || (val->taint && val->taint->n)) return true;
    b->failed = w->in_expression > 0;
    if (b->failed) return false;
    pel_node *length = pel_make_call(w->ctx, pel_make_name(w->ctx, pel_intern_c(w->ctx, "len"), PEL_Load),
                                     pel_nodes_one(w->ctx, text_again(w, val)), (pel_nodes){ 0 });
    pel_node *test = pel_make_compare(w->ctx, length, PEL_Eq, pel_make_constant(w->ctx, pel_const_int(w->ctx, n)));
    pel_guard(w, w->now, test, true, "path not recorded");
    return true;
}

static void bind_star(binding *b, const pel_val *val) {
    pel_walk *w = b->w;
    if (val->parts && !val->parts->keys) {
        for (uint32_t k = 0; k < val->parts->n; k++) {
            const pel_val *item = val->parts->items[k];
            pel_node *text = val->text->kind == PEL_Name ? star_item_text(w, val, k, val->parts->n) : item->text;
            bind_positional(b, text, item->taint);
        }
        return;
    }
    int64_t n = common_length(w, b->front, val);
    if (n < 0 || val->effect) {
        b->failed = true;
        return;
    }
    if (val->text->kind != PEL_Name && val->text->kind != PEL_Attribute) {
        unpack_first(b, val, (uint32_t)n);
        return;
    }
    if (!assert_length(b, val, n)) return;
    for (uint32_t k = 0; k < n && !b->failed; k++)
        bind_positional(b, star_item_text(w, val, k, (uint32_t)n), pel_taint_item(val->taint, k));
}

/* **kwargs whose items are known by their keys. */
static void bind_parts(binding *b, const pel_val *val) {
    pel_walk *w = b->w;
    for (uint32_t k = 0; k < val->parts->n; k++) {
        const pel_val *item = val->parts->items[k];
        pel_name key = val->parts->keys[k];
        pel_node *text = val->text->kind != PEL_Name || item->text->kind == PEL_Constant
                             ? item->text
                             : item_text(w, val, pel_const_str(w->ctx, pel_name_str(key)));
        const pel_param *theirs = pel_param_for(b->link->target, key);
        if (item->optional && theirs && !pel_settle_default(w, item->optional, theirs->fallback)) b->failed = true;
        if (item->optional && !theirs) continue; /* no lane that comes by here has it */
        bind_keyword(b, key, text, item->taint);
    }
}

static bool is_assigned(const pel_walk *w, pel_name name) {
    for (uint32_t i = 0; i < w->out->n; i++) {
        const pel_node *node = w->out->at[i];
        if (node->kind == PEL_Assign && node->Assign.targets.at[0]->kind == PEL_Name &&
            node->Assign.targets.at[0]->Name.id == name)
            return true;
    }
    return false;
}

/* f(**g(x)): f_kwargs = g(x) first, since it is asked for each item. */
static pel_val *name_first(binding *b, const pel_val *val) {
    pel_walk *w = b->w;
    pel_val *named = pel_new(w->ctx, pel_val);
    *named = *val;
    if (val->text->kind == PEL_Name || val->text->kind == PEL_Attribute) return named;
    b->failed |= w->in_expression > 0;
    const pel_code_object *code = w->log->codes.at[w->group->code].code;
    const char *of = w->log->codes.at[b->link->target->code].code->name->text;
    pel_name name = NULL;
    for (int i = 1; !name || is_assigned(w, name); i++) { /* a call within this one may have asked for the same */
        pel_str wish = i == 1 ? pel_format(w->ctx, "%s_kwargs", of) : pel_format(w->ctx, "%s_kwargs_%d", of, i);
        name = pel_free_name(w->s, code, pel_intern_str(w->ctx, wish));
    }
    pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, pel_make_name(w->ctx, name, PEL_Store), val->text));
    named->text = pel_make_name(w->ctx, name, PEL_Load);
    return named;
}

/* A dict of a caller's may come with other keys, which would be other arguments. */
static void guard_keys(binding *b, const pel_val *val, const pel_value *dict) {
    pel_walk *w = b->w;
    /* and one that is made of data may have any */
    if (!pel_is_given_container(w->s, val->at[0]) && !(pel_taint_counts(val->taint) && !val->parts)) return;
    pel_node *known = pel_node_new(w->ctx, PEL_Set);
    for (uint32_t k = 0; k + 1 < dict->n; k += 2)
        pel_nodes_push(w->ctx, &known->Set.elts, pel_value_expression(w->ctx, w->s->program, dict->items[k]));
    pel_node *keys = pel_make_attribute(w->ctx, text_again(w, val), pel_intern_c(w->ctx, "keys"), PEL_Load);
    pel_node *asked = pel_make_call(w->ctx, keys, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    pel_node *test = dict->n ? pel_make_compare(w->ctx, asked, PEL_Eq, known) : pel_not(w->s, text_again(w, val));
    pel_guard(w, b->c->node, test, true, "not recorded with these keys");
}

/* A dict of which nothing is known but what it was in the run: it must have had one size in every lane. */
static void bind_dict(binding *b, const pel_val *given) {
    pel_walk *w = b->w;
    const pel_value *dict = pel_value_at(w->log, given->at[0]);
    if (dict->kind != PEL_V_DICT || given->effect) b->failed = true;
    const pel_val *val = b->failed ? given : name_first(b, given);
    for (uint32_t k = 0; !b->failed && k + 1 < dict->n; k += 2) {
        const pel_value *key = pel_value_at(w->log, dict->items[k]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) {
            b->failed = true;
            break;
        }
        pel_name name = pel_intern_str(w->ctx, key->constant->text);
        bind_keyword(b, name, item_text(w, val, key->constant), pel_taint_any(val->taint));
    }
    for (uint32_t l = 1; l < b->front.n; l++)
        if (pel_value_at(w->log, val->at[l])->n != dict->n) b->failed = true;
    if (!b->failed) guard_keys(b, val, dict);
}

static void bind_all(binding *b) {
    for (uint32_t i = 0; i < b->c->n_args && !b->failed; i++) {
        const pel_call_argument *arg = &b->c->args[i];
        b->link->by_stars |= arg->stars;
        if (arg->star)
            bind_star(b, arg->val);
        else if (arg->stars && arg->val->parts && arg->val->parts->keys)
            bind_parts(b, arg->val);
        else if (arg->stars)
            bind_dict(b, arg->val);
        else if (arg->keyword)
            bind_keyword(b, arg->keyword, arg->val->text, arg->val->taint);
        else
            bind_positional(b, arg->val->text, arg->val->taint);
    }
}

/* ---- what was in the cells of functions ---- */

/* A module that the text names, in each lane. */
typedef struct {
    const pel_node *text; /* NULL: none */
    pel_id *modules;
} holder;

static holder before_dot(pel_walk *w, pel_front front, const pel_call_site *c) {
    holder out = { c->base ? c->base->text : NULL, pel_new_array(w->ctx, front.n, pel_id) };
    for (uint32_t i = 0; i < front.n && out.text; i++) {
        const pel_value *base = pel_value_at(w->log, c->base->at[i]);
        if (base->kind != PEL_V_MODULE) out.text = NULL;
        out.modules[i] = base->module;
    }
    return out;
}

static pel_node *own_self(const pel_walk *w) { return pel_make_name(w->ctx, w->group->params[0].name, PEL_Load); }

static holder caller_itself(pel_walk *w, pel_front front) {
    holder out = { NULL, pel_new_array(w->ctx, front.n, pel_id) };
    for (uint32_t i = 0; i < front.n; i++)
        if (!(out.modules[i] = pel_self_of(w, pel_lane_at(w, front, i)))) return out;
    out.text = own_self(w);
    return out;
}

static pel_node *part_of(pel_walk *w, pel_front front, const holder *from, const pel_id *values) {
    pel_id *wanted = pel_new_array(w->ctx, front.n, pel_id);
    for (uint32_t i = 0; i < front.n; i++) wanted[i] = pel_value_at(w->log, values[i])->module;
    return from->text ? pel_module_text(w->ctx, w->log, from->text, from->modules, wanted, front.n) : NULL;
}

/* Constants by instance: an attribute that the constructor sets. */
static pel_node *new_attribute(pel_walk *w, pel_front front, const holder *of, pel_name name, const pel_id *values) {
    if (!of->text) return NULL;
    pel_map seen = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_log_module *row = pel_module_at(w->log, of->modules[i]);
        pel_id there = pel_module_attribute(w->log, of->modules[i], name);
        uint64_t before = pel_map_find(&seen, of->modules[i], values[i]);
        if (pel_has_slot(row, name) || (there && !pel_value_same(w->log, there, values[i])) ||
            !pel_value_same(w->log, (pel_id)before, values[i]))
            return NULL;
        pel_map_set(w->ctx, &seen, of->modules[i], values[i]);
    }
    pel_need(w, front, of->modules, name, values);
    return pel_make_attribute(w->ctx, pel_copy(w->ctx, of->text), name, PEL_Load);
}

pel_node *pel_cell_text(pel_walk *w, pel_front front, pel_name name, const pel_id *values) {
    bool modules = true, constants = true;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, values[i]);
        modules &= value->kind == PEL_V_MODULE;
        constants &= value->kind == PEL_V_CONST || value->kind == PEL_V_LIBRARY;
    }
    const holder self = caller_itself(w, front);
    if (modules) return part_of(w, front, &self, values);
    return constants && !pel_all_same(w, front, values) ? new_attribute(w, front, &self, name, values) : NULL;
}

/* What was in the callee's cells. */
static void bind_lifted(binding *b) {
    pel_walk *w = b->w;
    const pel_group *target = b->link->target;
    uint32_t n = (uint32_t)pel_map_find(&w->s->lifted, target->code, 0);
    if (b->next >= n) return;
    const holder owners[] = { before_dot(w, b->front, b->c), caller_itself(w, b->front) };
    pel_id *values = pel_new_array(w->ctx, b->front.n, pel_id);
    for (; b->next < n && !b->failed; b->next++) {
        for (uint32_t i = 0; i < b->front.n; i++) values[i] = w->log->activations.at[b->children[i]].locals[b->next];
        pel_node *text = NULL;
        bool modules = pel_value_at(w->log, values[0])->kind == PEL_V_MODULE;
        for (uint32_t k = 0; k < PEL_COUNT(owners) && !text; k++)
            text = modules ? part_of(w, b->front, &owners[k], values)
                           : new_attribute(w, b->front, &owners[k], target->params[b->next].name, values);
        if (text)
            bind(b, b->next, text, pel_constant(PEL_WHY_CELL), false);
        else
            b->failed = true;
    }
}

/* Whether two calls that left a parameter to its default found the same there. */
static bool same_default(const pel_walk *w, const pel_param *param, pel_id a, pel_id b) {
    pel_id x = pel_argument(w->log, a, param), y = pel_argument(w->log, b, param);
    return pel_value_same(w->log, x, y) || pel_same_object(w->log, x, y);
}

/* lambda x, i=i: x * i, made several times: one text, and each function has a default of its own. What differs from the
 * default that the text has is passed, as what is in cells is. */
static void bind_own_defaults(binding *b) {
    pel_walk *w = b->w;
    pel_group *target = b->link->target;
    for (uint32_t p = b->link->receiver; p < target->n_params && !b->failed; p++) {
        pel_param *param = &target->params[p];
        if (b->link->args[p] || param->kind != PEL_PARAM_PLAIN || target->is.nested || !param->author_default ||
            param->author_default->kind == PEL_Constant)
            continue;
        if (!param->without) param->without = b->children[0];
        bool same = true;
        for (uint32_t i = 0; i < b->front.n; i++) same &= same_default(w, param, param->without, b->children[i]);
        if (same) continue;
        const holder owners[] = { before_dot(w, b->front, b->c), caller_itself(w, b->front) };
        pel_id *values = pel_new_array(w->ctx, b->front.n, pel_id);
        for (uint32_t i = 0; i < b->front.n; i++) values[i] = pel_argument(w->log, b->children[i], param);
        pel_node *text = NULL;
        for (uint32_t k = 0; k < PEL_COUNT(owners) && !text; k++)
            text = new_attribute(w, b->front, &owners[k], param->name, values);
        if (text)
            bind(b, p, text, pel_constant(PEL_WHY_CELL), true);
        else
            b->failed = true;
    }
}

pel_node *pel_bound_to(pel_walk *w, pel_front front, const pel_call_site *c) {
    pel_id *selves = pel_new_array(w->ctx, front.n, pel_id);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        if (callee->kind != PEL_V_METHOD || callee->n < 2) return NULL;
        selves[i] = callee->items[0];
        if (pel_value_at(w->log, selves[i])->kind != PEL_V_MODULE) return NULL;
    }
    const holder self = caller_itself(w, front);
    return part_of(w, front, &self, selves);
}

/* ---- receivers ---- */

bool pel_same_object(const pel_log *log, pel_id a, pel_id b) {
    const pel_value *x = pel_value_at(log, a), *y = pel_value_at(log, b);
    if (x->kind != y->kind) return false;
    if (x->kind == PEL_V_MODULE) return x->module == y->module;
    return x->object && x->object == y->object;
}

/* An object of the author's with a __call__ of its own. */
static bool calls_object(const pel_walk *w, const pel_call_site *c, pel_id activation) {
    const pel_group *group = w->s->group_of[activation];
    if (pel_value_at(w->log, c->callee[0])->kind != PEL_V_OBJECT || !group->n_params) return false;
    return group->params[0].kind == PEL_PARAM_PLAIN &&
           pel_same_object(w->log, w->log->activations.at[activation].locals[group->params[0].local], c->callee[0]);
}

static bool is_super(const pel_walk *w, const pel_val *base) {
    const pel_value *value = pel_value_at(w->log, base->at[0]);
    return value->kind == PEL_V_OPAQUE && pel_str_is(value->text, "super");
}

bool pel_has_receiver(const pel_walk *w, const pel_call_site *c, pel_id activation) {
    if (calls_object(w, c, activation)) return true;
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind == PEL_V_MODULE || callee->kind == PEL_V_METHOD || callee->kind == PEL_V_CLASS) return true;
    if (!c->base) return false;
    const pel_group *group = w->s->group_of[activation];
    if (!group->n_params) return false;
    pel_id first = w->log->activations.at[activation].locals[group->params[0].local];
    const pel_value *value = pel_value_at(w->log, first);
    if (group->params[0].kind == PEL_PARAM_STAR_ITEM) first = value->n ? value->items[0] : 0;
    if (is_super(w, c->base) || pel_same_object(w->log, first, c->base->at[0])) return true;
    /* a class method: the class stands before the dot, or its instance */
    return pel_value_at(w->log, c->base->at[0])->kind == PEL_V_CLASS &&
           pel_value_at(w->log, first)->kind == PEL_V_CLASS;
}

/* It was there before the run, so its methods are functions of the output. */
static bool is_old_object(const pel_walk *w, pel_front front, const pel_val *base) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!pel_is_static_object(w->s, base->at[i])) return false;
    return true;
}

static bool gets_class(const pel_walk *w, const pel_group *target, pel_id activation) {
    if (!target->n_params || target->class || target->params[0].kind != PEL_PARAM_PLAIN) return false;
    const pel_value *first = pel_value_at(w->log, w->log->activations.at[activation].locals[target->params[0].local]);
    return first->kind == PEL_V_CLASS;
}

/* ---- how the text names the callee ---- */

static pel_name code_name(const pel_walk *w, const pel_group *group) {
    return w->log->codes.at[group->code].code->name;
}

static void write_callee(pel_link *link, pel_callee callee, pel_node *func) {
    link->callee = callee;
    link->node->Call.func = func;
}

/* A module, or super().__call__(x): its forward. */
static bool name_forward(const binding *b) {
    pel_walk *w = b->w;
    const pel_call_site *c = b->c;
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind == PEL_V_MODULE && c->func->lost && !pel_module_at(w->log, callee->module)->in_tree) {
        write_callee(b->link, PEL_CALLEE_INLINE, pel_make_none(w->ctx));
        return true;
    }
    pel_name forward = pel_intern_c(w->ctx, "forward");
    if (callee->kind == PEL_V_MODULE) {
        b->link->implied = forward;
    } else if (pel_called_module(w, c, 0)) {
        pel_node *self = c->base && !is_super(w, c->base) ? c->base->text : own_self(w);
        write_callee(b->link, PEL_CALLEE_METHOD, pel_make_attribute(w->ctx, self, forward, PEL_Load));
    } else {
        return false;
    }
    b->link->target->hint = forward;
    return true;
}

/* A method of what stands before the dot, or of what a cell holds. */
static bool name_method(const binding *b) {
    pel_walk *w = b->w;
    const pel_call_site *c = b->c;
    pel_link *link = b->link;
    pel_group *target = link->target;
    const pel_node *func = c->node->Call.func;
    pel_name attribute = func->kind == PEL_Attribute ? func->Attribute.attr : NULL;
    pel_node *self = c->func->lost && func->kind == PEL_Name && target->class ? pel_bound_to(w, b->front, c) : NULL;
    if (self) {
        target->hint = func->Name.id;
        write_callee(link, PEL_CALLEE_METHOD, pel_make_attribute(w->ctx, self, target->hint, PEL_Load));
    } else if (c->base && is_super(w, c->base)) {
        write_callee(link, PEL_CALLEE_METHOD, pel_make_attribute(w->ctx, own_self(w), attribute, PEL_Load));
    } else if (calls_object(w, c, b->children[0]) && !pel_is_static_object(w->s, c->callee[0])) { /* the run made it */
        target->hint = link->implied = code_name(w, target);
    } else if (calls_object(w, c, b->children[0])) { /* it was there before the run: a function */
        if (attribute) target->hint = attribute;
        pel_name name = target->hint ? target->hint : code_name(w, target);
        write_callee(link, PEL_CALLEE_STATIC, pel_make_name(w->ctx, name, PEL_Load));
    } else if (link->receiver && attribute && target->class && c->base->lost && is_old_object(w, b->front, c->base)) {
        target->hint = attribute;
        write_callee(link, PEL_CALLEE_STATIC, pel_make_name(w->ctx, attribute, PEL_Load));
    } else if (link->receiver && attribute && target->class) {
        target->hint = attribute;
        pel_node *text = pel_shallow(w, func);
        text->Attribute.value = c->base->text;
        write_callee(link, PEL_CALLEE_METHOD, text);
    } else {
        return false;
    }
    return true;
}

/* A function of the file, or a method that is called as one. */
static void name_function(const binding *b) {
    pel_walk *w = b->w;
    const pel_call_site *c = b->c;
    pel_link *link = b->link;
    pel_group *target = link->target;
    pel_name name = code_name(w, target);
    if (!link->receiver && target->class && link->args[0]) {
        if (c->n_args && is_old_object(w, b->front, c->args[0].val))
            write_callee(link, PEL_CALLEE_STATIC, pel_make_name(w->ctx, name, PEL_Load));
        else /* what a wrapper does with what it wraps */
            write_callee(link, PEL_CALLEE_METHOD, pel_make_attribute(w->ctx, link->args[0], name, PEL_Load));
        link->receiver = true;
        link->args[0] = NULL;
        return;
    }
    if (link->receiver && !gets_class(w, target, b->children[0])) return;
    if (link->receiver) { /* a class method: the output has no class to pass, it must do without */
        link->args[0] = pel_make_name(w->ctx, target->params[0].name, PEL_Load);
        pel_map_set(w->ctx, &w->s->notes.unwritable, PEL_KEY(link->args[0]), 1);
        link->receiver = false;
    }
    write_callee(link, PEL_CALLEE_NAME, pel_make_name(w->ctx, name, PEL_Load));
    const pel_node *func = c->node->Call.func; /* a lambda has no name but that of what holds it */
    if (func->kind == PEL_Attribute) target->hint = func->Attribute.attr;
    if (func->kind == PEL_Name) target->hint = func->Name.id;
}

static bool makes_object(const pel_walk *w, const pel_call_site *c, const pel_group *target) {
    return target->is.init && pel_value_at(w->log, c->callee[0])->kind == PEL_V_CLASS;
}

/* How the text calls the target; and the name by which the call knows it, which it may get in the end. */
static void name_callee(const binding *b) {
    if (makes_object(b->w, b->c, b->link->target))
        pel_class_row(b->w->ctx, b->w->s->program, pel_value_at(b->w->log, b->c->callee[0])->class);
    else if (!name_forward(b) && !name_method(b) && !b->link->target->is.nested)
        name_function(b);
}

/* ---- the link ---- */

void pel_note_sharing(pel_walk *w) {
    if (w->group->facts.shares) return;
    w->group->facts.shares = true;
    w->s->facts.changed = true;
}

static bool is_parameter(const pel_group *group, pel_name name) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (group->params[p].name == name) return true;
    return false;
}

/* Made of its parameters and constants by comparisons alone. */
static bool is_mere_test(const pel_group *target, const pel_node *node) {
    switch (node->kind) {
    case PEL_Constant: return true;
    case PEL_Name: return is_parameter(target, node->Name.id);
    case PEL_UnaryOp: return is_mere_test(target, node->UnaryOp.operand);
    case PEL_Compare:
    case PEL_BoolOp: {
        const pel_nodes parts = node->kind == PEL_BoolOp ? node->BoolOp.values : node->Compare.comparators;
        for (uint32_t i = 0; i < parts.n; i++)
            if (!is_mere_test(target, parts.at[i])) return false;
        return node->kind == PEL_BoolOp || is_mere_test(target, node->Compare.left);
    }
    default: return false;
    }
}

/* def exists(x): return x is not None. What it says of one thing has nothing to do with the other things it is asked.
 */
static bool tells_arguments_apart(const pel_group *target) {
    const pel_node *def = target->author->node;
    if (!def || def->kind != PEL_FunctionDef || def->FunctionDef.body.n != 1) return false;
    const pel_node *body = def->FunctionDef.body.at[0];
    return body->kind == PEL_Return && body->Return.value && is_mere_test(target, body->Return.value);
}

/* Given nothing that it could change: plain values, and objects that were there before the run, at least one. */
static bool only_looks_up(pel_walk *w, pel_front front, const pel_call_site *c) {
    bool some = c->base && c->base->lost;
    for (uint32_t i = 0; i < c->n_args; i++) {
        const pel_val *val = c->args[i].val;
        some |= val->lost;
        for (uint32_t l = 0; l < front.n && !val->lost; l++)
            if (!pel_plain(w->s, val->at[l])) return false;
    }
    return some && (!c->base || c->base->lost);
}

/* What the call does and gives, as far as the target's facts tell. */
static void note_result(pel_walk *w, pel_front front, pel_call_site *c, pel_link *link) {
    const pel_group *target = link->target;
    bool dynamic = false;
    for (uint32_t i = 0; i < c->n_args; i++) dynamic |= pel_dynamic(w, front, c->args[i].val);
    if (target->facts.shares) pel_note_sharing(w);
    /* asks an object that was there before the run */
    bool looks_up = c->base && c->base->lost && !dynamic && !target->facts.shares;
    link->looks_up = !dynamic && !target->facts.shares && !target->is.init && only_looks_up(w, front, c);
    looks_up |= link->looks_up;
    c->val->taint =
        dynamic || !tells_arguments_apart(target) ? pel_taint_fact(target->facts.result) : pel_constant(PEL_WHY_CALLED);
    for (uint32_t i = 0; i < front.n && c->base; i++)
        if (pel_is_content_of_given(w, c->base->at[i], c->val->at[i]))
            c->val->taint = pel_taint_join(w->ctx, c->val->taint, &pel_tainted);
    c->val->effect = c->val->effect || (target->facts.has_effect && !looks_up) || makes_object(w, c, target);
    c->val->lost = link->callee == PEL_CALLEE_AS_WRITTEN && c->func->lost;
}

/* A function that calls itself until its data say otherwise: the numbers that it counts with depend on data, too. */
static void taint_counters(binding *b) {
    const pel_group *target = b->link->target;
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_node *text = b->link->args[p];
        if (pel_varies(b->taints[p]) || !text || (text->kind == PEL_Name && text->Name.id == target->params[p].name))
            continue;
        bool counts = true;
        for (uint32_t i = 0; i < b->front.n && counts; i++) {
            const pel_value *value =
                pel_value_at(b->w->log, pel_argument(b->w->log, b->children[i], &target->params[p]));
            counts = value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_INT;
        }
        if (counts) b->taints[p] = &pel_tainted_some;
    }
}

bool pel_link_call(pel_walk *w, pel_front front, pel_call_site *c, pel_group *target, const pel_id *children) {
    for (uint32_t p = 0; p < target->n_params; p++)
        if (target->params[p].kind == PEL_PARAM_STAR) return false; /* calls pass what they pass */
    pel_node *text = pel_shallow(w, c->node);
    text->Call.func = c->func->text;
    text->Call.args = text->Call.keywords = (pel_nodes){ 0 };
    pel_link *link = new_link(w, target, text);
    link->receiver = pel_has_receiver(w, c, children[0]);
    binding b = { .w = w, .front = front, .c = c, .children = children, .link = link, .next = link->receiver };
    b.taints = pel_new_array(w->ctx, target->n_params + 1u, const pel_taint *);
    bind_lifted(&b);
    bind_all(&b);
    bind_own_defaults(&b);
    if (b.failed) return false;
    if (target == w->group && target->facts.left_by_data) taint_counters(&b);
    for (uint32_t p = 0; p < target->n_params; p++) {
        bool is_receiver = p == 0 && link->receiver; /* what is read off it has its own dependence */
        if (is_receiver)
            b.taints[p] = pel_constant(PEL_WHY_MODULE);
        else if (!link->args[p] && !target->is.nested) /* left to its default, which was there before the run */
            b.taints[p] = pel_constant(PEL_WHY_LITERAL);
        if (pel_taint_grow(w->ctx, &target->params[p].taint, b.taints[p])) w->s->facts.changed = true;
    }
    name_callee(&b);
    c->val->text = text;
    note_result(w, front, c, link);
    keep_link(w, link);
    return true;
}

/* ---- activations that are no calls of the text ---- */

/* What records that the run makes, or callers give, do beside holding their fields is not written: __post_init__,
 * __call__, __mul__ of the author's. Those of model outputs are (write/records.c). */
void pel_refuse_own_protocol(pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_group *group = w->s->group_of[kids->at[i].activation];
        if (!group || !group->class || pel_is_mapping(w->log, group->class)) continue;
        const pel_activation *child = &w->log->activations.at[kids->at[i].activation];
        uint64_t self = pel_value_at(w->log, group->n_params ? child->locals[0] : 0)->object;
        if (pel_map_has(&w->s->objects.old, self) && !pel_map_has(&w->s->objects.given, self)) continue;
        pel_lost(w, w->now, "a record's own `%s` runs", code_name(w, group)->text);
    }
}

bool pel_on_records(const pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_group *group = w->s->group_of[kids->at[i].activation];
        if (!group || !group->class) return false;
        pel_class_kind kind = pel_class_at(w->log, group->class)->kind;
        if (kind != PEL_CLASS_DATACLASS && kind != PEL_CLASS_NAMEDTUPLE) return false;
        pel_str name = pel_name_str(code_name(w, group));
        bool is_protocol = pel_str_starts(name, PEL_STR("__")) && pel_str_ends(name, PEL_STR("__"));
        if (!is_protocol && !pel_is_mapping(w->log, group->class)) return false;
    }
    return kids->n > 0;
}

bool pel_looks_up(const pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_activation *child = &w->log->activations.at[kids->at[i].activation];
        pel_name code = w->log->codes.at[child->code].code->name;
        if (pel_name_is(code, "__getattr__") || pel_name_is(code, "__getattribute__")) return true;
    }
    return false;
}

void pel_forget_kids(pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) w->s->calls.linked[kids->at[i].activation] = true;
}

/* Whether a library's descriptor asked a method of the object itself, as functools.cached_property does, which keeps
 * the answer. Torch's for a parametrized tensor asks other modules, each time. */
static bool asks_itself(const pel_walk *w, const pel_child *kid, const pel_val *object) {
    const pel_activation *child = &w->log->activations.at[kid->activation];
    pel_id self = w->log->codes.at[child->code].code->argcount ? child->locals[0] : 0;
    return !child->direct && (!self || self == object->at[kid->lane]);
}

/* A property is a method of the object; a descriptor of the author's is an object of its own, which the output has not.
 */
static bool is_descriptor(const pel_walk *w, const pel_child *kid, const pel_val *object) {
    const pel_activation *child = &w->log->activations.at[kid->activation];
    pel_id self = w->log->codes.at[child->code].code->argcount ? child->locals[0] : 0, asked = object->at[kid->lane];
    return child->direct && self && self != asked && !pel_same_object(w->log, self, asked) &&
           pel_value_at(w->log, asked)->kind == PEL_V_MODULE && pel_value_at(w->log, self)->kind == PEL_V_OBJECT;
}

/* Reading an attribute may run the author's code. A property stays one, linked to its function; a cached answer that
 * depends on no data is lost as text, so that its value is written. Code that differs by lane, or that a library ran,
 * is an effect. */
void pel_link_property(pel_walk *w, const pel_kids *kids, const pel_val *object, pel_val *val, pel_name name) {
    pel_group *target = NULL;
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_activation *child = &w->log->activations.at[kids->at[i].activation];
        pel_group *group = w->s->group_of[kids->at[i].activation];
        bool is_plain =
            group && !group->facts.has_effect && pel_is_constant(pel_taint_fact(group->facts.result)) && !val->effect;
        if (is_plain && asks_itself(w, &kids->at[i], object)) {
            pel_forget_kids(w, kids);
            val->lost = true;
            return;
        }
        if (asks_itself(w, &kids->at[i], object) || is_descriptor(w, &kids->at[i], object))
            pel_lost(w, w->now, "an object that stands behind `%s` runs code when it is asked", name->text);
        if (!child->direct || !group || (target && group != target)) {
            val->effect = true;
            return;
        }
        target = group;
        w->s->calls.linked[kids->at[i].activation] = true;
    }
    target->is.property = true;
    target->hint = name;
    val->taint = pel_taint_fact(target->facts.result);
    val->effect |= target->facts.has_effect;
    pel_link *link = new_link(w, target, val->text);
    link->receiver = true;
    keep_link(w, link);
}
