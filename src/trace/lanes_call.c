/* Calls: to other specialisations, to torch and the standard library; and what they pass. */
#include "trace/lanes.h"

typedef struct argument {
    pel_val *val;
    pel_name keyword;
    bool star, stars; /* *value, **value */
} argument;

typedef struct call {
    pel_node *node;
    pel_val *func;
    pel_val *base;  /* before the dot, if there is one */
    pel_id *callee; /* per lane: the value that is called, as far as known */
    argument *args;
    uint32_t n_args;
    pel_kids kids;
    pel_val *val;
} call;

/* ---- who was called ---- */

static pel_id function_code(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    if (value->kind == PEL_V_METHOD && value->n > 1) value = pel_value_at(log, value->items[1]);
    return value->kind == PEL_V_FUNCTION ? value->code : 0;
}

/* The module that a call means to run, if it goes through nn.Module.__call__: self.layer(x), super().__call__(x). */
static pel_id called_module(pel_walk *w, const call *c, uint32_t lane) {
    const pel_value *callee = pel_value_at(w->log, c->callee[lane]);
    if (callee->kind == PEL_V_MODULE) return callee->module;
    if (callee->kind != PEL_V_METHOD || callee->n < 2) return 0;
    const pel_value *self = pel_value_at(w->log, callee->items[0]), *function = pel_value_at(w->log, callee->items[1]);
    if (self->kind != PEL_V_MODULE || function->kind != PEL_V_LIBRARY) return 0;
    bool calls = pel_str_ends(function->text, PEL_STR("._wrapped_call_impl")) ||
                 pel_str_ends(function->text, PEL_STR(".__call__")) ||
                 pel_str_ends(function->text, PEL_STR("._call_impl"));
    return calls ? self->module : 0;
}

/* What a generator of the author's behind contextlib.contextmanager gives. */
static bool is_context(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    return value->kind == PEL_V_OBJECT &&
           pel_name_is(pel_class_at(log, value->class)->name, "_GeneratorContextManager");
}

/* The activation that a lane's call means, among those that began while it ran; 0 if it means none of them. */
static pel_id meant(pel_walk *w, const call *c, uint32_t lane) {
    const pel_value *callee = pel_value_at(w->log, c->callee[lane]);
    pel_id only = 0, module = called_module(w, c, lane);
    uint32_t direct = 0;
    for (uint32_t i = 0; i < c->kids.n; i++) {
        if (c->kids.at[i].lane != lane) continue;
        pel_id id = c->kids.at[i].activation;
        const pel_activation *child = &w->log->activations.at[id];
        const pel_code_object *code = w->log->codes.at[child->code].code;
        if (module) {
            const pel_group *group = w->s->group_of[id];
            if (!group || !group->class) continue;
            const pel_value *self = pel_value_at(w->log, child->locals[group->params[0].local]);
            if (self->kind == PEL_V_TUPLE && self->n) self = pel_value_at(w->log, self->items[0]);
            /* the outermost one: hooks that run before it have other names */
            if (self->kind == PEL_V_MODULE && self->module == module) return id;
            continue;
        }
        if (function_code(w->log, c->callee[lane]) == child->code && is_context(w->log, c->val->at[lane])) return id;
        if (!child->direct || callee->kind == PEL_V_LIBRARY) continue; /* called back by it */
        if (callee->kind == PEL_V_CLASS && !pel_name_is(code->name, "__init__")) continue;
        direct++;
        if (!only) only = id;
    }
    return direct == 1 ? only : 0;
}

/* ---- binding arguments to parameters ---- */

typedef struct binding {
    pel_walk *w;
    pel_front front;
    const call *c;
    pel_link *link;
    const pel_taint **taints;
    uint32_t next; /* positional parameter */
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

static void bind_keyword(binding *b, pel_name name, pel_node *text, const pel_taint *taint) {
    const pel_group *target = b->link->target;
    for (uint32_t p = 0; p < target->n_params; p++) {
        const pel_param *param = &target->params[p];
        bool hit = param->kind == PEL_PARAM_PLAIN ? param->name == name
                                                  : param->kind == PEL_PARAM_KEY_ITEM && param->key == name;
        if (hit) {
            bind(b, p, text, taint, true);
            return;
        }
    }
    b->failed = true;
}

static pel_node *item_text(pel_walk *w, const pel_val *whole, const pel_const *index) {
    pel_node *node = pel_node_new(w->ctx, PEL_Subscript);
    node->Subscript.value = pel_copy(w->ctx, whole->text);
    node->Subscript.slice = pel_make_constant(w->ctx, index);
    return node;
}

/* One of the n items of `*whole`. */
static pel_node *star_item_text(pel_walk *w, const pel_val *whole, uint32_t index, uint32_t n) {
    pel_node *node = item_text(w, whole, pel_const_int(w->ctx, index));
    pel_map_set(w->ctx, &w->s->star_items, PEL_KEY(node), n);
    return node;
}

/* An item of **kwargs that some calls don't have is passed on: without it the default of whoever gets it holds, so that
 * must be the default here too. */
static bool settle_default(pel_walk *w, pel_param *mine, const pel_node *theirs) {
    if (!theirs) return true; /* not known yet, or not needed */
    bool negative = theirs->kind == PEL_UnaryOp && theirs->UnaryOp.operand->kind == PEL_Constant;
    if (theirs->kind != PEL_Constant && !negative) return false;
    if (mine->fallback) return pel_same(mine->fallback, theirs);
    mine->fallback = pel_copy(w->ctx, theirs);
    w->s->changed = true;
    return true;
}

static pel_param *param_for(const pel_group *target, pel_name key) {
    for (uint32_t p = 0; p < target->n_params; p++) {
        pel_param *param = &target->params[p];
        if (param->kind == PEL_PARAM_PLAIN ? param->name == key
                                           : param->kind == PEL_PARAM_KEY_ITEM && param->key == key)
            return param;
    }
    return NULL;
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

static void bind_all(binding *b) {
    pel_walk *w = b->w;
    for (uint32_t i = 0; i < b->c->n_args && !b->failed; i++) {
        const argument *arg = &b->c->args[i];
        const pel_val *val = arg->val;
        if (arg->star && val->parts && !val->parts->keys) {
            for (uint32_t k = 0; k < val->parts->n; k++) {
                const pel_val *item = val->parts->items[k];
                pel_node *text = val->text->kind == PEL_Name ? star_item_text(w, val, k, val->parts->n) : item->text;
                bind_positional(b, text, item->taint);
            }
        } else if (arg->star) {
            int64_t n = common_length(w, b->front, val);
            if (n < 0 || val->effect) b->failed = true;
            if (!b->failed && val->text->kind != PEL_Name && val->text->kind != PEL_Attribute) {
                unpack_first(b, val, (uint32_t)n);
                continue;
            }
            for (uint32_t k = 0; k < n && !b->failed; k++)
                bind_positional(b, star_item_text(w, val, k, (uint32_t)n), pel_taint_item(val->taint, k));
        } else if (arg->stars && val->parts && val->parts->keys) {
            for (uint32_t k = 0; k < val->parts->n; k++) {
                const pel_val *item = val->parts->items[k];
                pel_node *text = val->text->kind != PEL_Name || item->text->kind == PEL_Constant
                                     ? item->text
                                     : item_text(w, val, pel_const_str(w->ctx, pel_name_str(val->parts->keys[k])));
                const pel_param *theirs = param_for(b->link->target, val->parts->keys[k]);
                if (item->optional && theirs && !settle_default(w, item->optional, theirs->fallback)) b->failed = true;
                if (item->optional && !theirs) continue; /* no lane that comes by here has it */
                bind_keyword(b, val->parts->keys[k], text, item->taint);
            }
        } else if (arg->stars) {
            const pel_value *dict = pel_value_at(w->log, val->at[0]);
            if (dict->kind != PEL_V_DICT || val->effect) b->failed = true;
            for (uint32_t k = 0; !b->failed && k + 1 < dict->n; k += 2) {
                const pel_value *key = pel_value_at(w->log, dict->items[k]);
                if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) {
                    b->failed = true;
                    break;
                }
                pel_name name = pel_intern(w->ctx, key->constant->text.ptr, key->constant->text.len);
                bind_keyword(b, name, item_text(w, val, key->constant), pel_taint_any(val->taint));
            }
            for (uint32_t l = 1; l < b->front.n; l++)
                if (pel_value_at(w->log, val->at[l])->n != dict->n) b->failed = true;
        } else if (arg->keyword) {
            bind_keyword(b, arg->keyword, val->text, val->taint);
        } else {
            bind_positional(b, val->text, val->taint);
        }
    }
}

/* ---- linking ---- */

static bool same_object(const pel_log *log, pel_id a, pel_id b) {
    const pel_value *x = pel_value_at(log, a), *y = pel_value_at(log, b);
    if (x->kind != y->kind) return false;
    if (x->kind == PEL_V_MODULE) return x->module == y->module;
    return x->object && x->object == y->object;
}

/* Whether the callee got what stands before the dot (or what is called, or a new object) as its first argument. */
/* An object of the author's with a __call__ of its own. */
static bool calls_object(pel_walk *w, const call *c, pel_id activation) {
    const pel_group *group = w->s->group_of[activation];
    if (pel_value_at(w->log, c->callee[0])->kind != PEL_V_OBJECT || !group->n_params) return false;
    return group->params[0].kind == PEL_PARAM_PLAIN &&
           same_object(w->log, w->log->activations.at[activation].locals[group->params[0].local], c->callee[0]);
}

static bool has_receiver(pel_walk *w, const call *c, pel_id activation) {
    if (calls_object(w, c, activation)) return true;
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind == PEL_V_MODULE || callee->kind == PEL_V_METHOD || callee->kind == PEL_V_CLASS) return true;
    if (!c->base) return false;
    const pel_group *group = w->s->group_of[activation];
    if (!group->n_params) return false;
    pel_id first = w->log->activations.at[activation].locals[group->params[0].local];
    const pel_value *value = pel_value_at(w->log, first);
    if (group->params[0].kind == PEL_PARAM_STAR_ITEM) first = value->n ? value->items[0] : 0;
    const pel_value *base = pel_value_at(w->log, c->base->at[0]);
    if (base->kind == PEL_V_OPAQUE && pel_str_is(base->text, "super")) return true;
    if (same_object(w->log, first, c->base->at[0])) return true;
    /* a class method: the class stands before the dot, or its instance */
    return base->kind == PEL_V_CLASS && pel_value_at(w->log, first)->kind == PEL_V_CLASS;
}

static bool is_super(pel_walk *w, const pel_val *base) {
    const pel_value *value = pel_value_at(w->log, base->at[0]);
    return value->kind == PEL_V_OPAQUE && pel_str_is(value->text, "super");
}

static bool is_old_object(const pel_walk *w, pel_front front, const pel_val *base) {
    for (uint32_t i = 0; i < front.n; i++)
        if (!pel_is_static_object(w->s, base->at[i])) return false;
    return true;
}

/* What the function does, or a function that it calls, concerns a variable of the file. */
static void note_sharing(pel_walk *w) {
    if (w->group->shares) return;
    w->group->shares = true;
    w->s->changed = true;
}

static bool gets_class(const pel_walk *w, const pel_group *target, pel_id activation) {
    if (!target->n_params || target->class || target->params[0].kind != PEL_PARAM_PLAIN) return false;
    const pel_value *first = pel_value_at(w->log, w->log->activations.at[activation].locals[target->params[0].local]);
    return first->kind == PEL_V_CLASS;
}

/* A module that the text names, in each lane. */
typedef struct {
    const pel_node *text; /* NULL: none */
    pel_id *modules;
} holder;

static holder before_dot(pel_walk *w, pel_front front, const call *c) {
    holder out = { c->base ? c->base->text : NULL, pel_new_array(w->ctx, front.n, pel_id) };
    for (uint32_t i = 0; i < front.n && out.text; i++) {
        const pel_value *base = pel_value_at(w->log, c->base->at[i]);
        if (base->kind != PEL_V_MODULE) out.text = NULL;
        out.modules[i] = base->module;
    }
    return out;
}

static holder caller_itself(pel_walk *w, pel_front front) {
    holder out = { NULL, pel_new_array(w->ctx, front.n, pel_id) };
    for (uint32_t i = 0; i < front.n; i++)
        if (!(out.modules[i] = pel_self_of(w, pel_lane_at(w, front, i)))) return out;
    out.text = pel_make_name(w->ctx, w->group->params[0].name, PEL_Load);
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
static void bind_lifted(binding *b, const pel_id *children) {
    pel_walk *w = b->w;
    const pel_group *target = b->link->target;
    uint32_t n = (uint32_t)pel_map_find(&w->s->lifted, target->code, 0);
    if (b->next >= n) return;
    const holder owners[] = { before_dot(w, b->front, b->c), caller_itself(w, b->front) };
    pel_id *values = pel_new_array(w->ctx, b->front.n, pel_id);
    for (; b->next < n && !b->failed; b->next++) {
        for (uint32_t i = 0; i < b->front.n; i++) values[i] = w->log->activations.at[children[i]].locals[b->next];
        pel_node *text = NULL;
        bool modules = pel_value_at(w->log, values[0])->kind == PEL_V_MODULE;
        for (uint32_t k = 0; k < PEL_COUNT(owners) && !text; k++)
            text = modules ? part_of(w, b->front, &owners[k], values)
                           : new_attribute(w, b->front, &owners[k], target->params[b->next].name, values);
        if (text)
            bind(b, b->next, text, NULL, false);
        else
            b->failed = true;
    }
}

/* The module that a bound method in a cell belongs to, as the caller knows it: old = module.forward. NULL if it
 * doesn't. */
static pel_node *bound_to(pel_walk *w, pel_front front, const call *c) {
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

/* The same where the method is torch's, and the module the caller's own. */
static void call_base(pel_walk *w, pel_front front, call *c) {
    const pel_node *self = c->func->lost && c->node->Call.func->kind == PEL_Name ? bound_to(w, front, c) : NULL;
    if (!self || self->kind != PEL_Name) return;
    const pel_value *method = pel_value_at(w->log, pel_value_at(w->log, c->callee[0])->items[1]);
    if (method->kind != PEL_V_LIBRARY || !pel_str_ends(method->text, PEL_STR(".forward"))) return;
    pel_node *super = pel_make_name(w->ctx, pel_intern_c(w->ctx, "super"), PEL_Load);
    super = pel_make_call(w->ctx, super, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    c->func->text = pel_make_attribute(w->ctx, super, pel_intern_c(w->ctx, "forward"), PEL_Load);
    c->func->lost = false;
}

static bool link_call(pel_walk *w, pel_front front, call *c, pel_group *target, const pel_id *children) {
    pel_id first = children[0];
    pel_link *link = pel_new(w->ctx, pel_link);
    *link = (pel_link){ .caller = w->group, .target = target, .receiver = has_receiver(w, c, first) };
    link->args = pel_new_array(w->ctx, target->n_params + 1u, pel_node *);
    link->by_keyword = pel_new_array(w->ctx, target->n_params + 1u, bool);
    binding b = { w,    front, c, link, pel_new_array(w->ctx, target->n_params + 1u, const pel_taint *), link->receiver,
                  false };
    bind_lifted(&b, children);
    bind_all(&b);
    if (b.failed) return false;
    for (uint32_t p = 0; p < target->n_params; p++)
        if (pel_taint_grow(w->ctx, &target->params[p].taint, b.taints[p])) w->s->changed = true;
    pel_node *text = pel_shallow(w, c->node);
    text->Call.func = c->func->text;
    text->Call.args = text->Call.keywords = (pel_nodes){ 0 };
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    bool attribute = c->node->Call.func->kind == PEL_Attribute;
    if (callee->kind == PEL_V_MODULE && c->func->lost && !pel_module_at(w->log, callee->module)->in_tree) {
        link->callee = PEL_CALLEE_INLINE;
        text->Call.func = pel_make_constant(w->ctx, &pel_none);
    } else if (callee->kind == PEL_V_MODULE) {
        target->hint = pel_intern_c(w->ctx, "forward");
        link->runs_module = true;
    } else if (called_module(w, c, 0)) { /* super().__call__(x) */
        link->callee = PEL_CALLEE_METHOD;
        pel_node *self = c->base && !is_super(w, c->base) ? c->base->text
                                                          : pel_make_name(w->ctx, w->group->params[0].name, PEL_Load);
        text->Call.func = pel_make_attribute(w->ctx, self, pel_intern_c(w->ctx, "forward"), PEL_Load);
        target->hint = pel_intern_c(w->ctx, "forward");
    } else if (c->func->lost && c->node->Call.func->kind == PEL_Name && target->class && bound_to(w, front, c)) {
        link->callee = PEL_CALLEE_METHOD;
        target->hint = c->node->Call.func->Name.id;
        text->Call.func = pel_make_attribute(w->ctx, bound_to(w, front, c), target->hint, PEL_Load);
    } else if (target->is_init && callee->kind == PEL_V_CLASS) {
        pel_class_row(w, callee->class);
    } else if (c->base && is_super(w, c->base)) {
        link->callee = PEL_CALLEE_METHOD;
        text->Call.func = pel_make_attribute(w->ctx, pel_make_name(w->ctx, w->group->params[0].name, PEL_Load),
                                             c->node->Call.func->Attribute.attr, PEL_Load);
    } else if (calls_object(w, c, first)) { /* what it is was there before the run: a function */
        pel_name name = attribute ? c->node->Call.func->Attribute.attr : target->hint;
        link->callee = PEL_CALLEE_STATIC;
        text->Call.func = pel_make_name(w->ctx, name ? name : w->log->codes.at[target->code].code->name, PEL_Load);
        target->hint = name;
    } else if (link->receiver && attribute && target->class && c->base->lost && is_old_object(w, front, c->base)) {
        link->callee = PEL_CALLEE_STATIC;
        text->Call.func = pel_make_name(w->ctx, c->node->Call.func->Attribute.attr, PEL_Load);
        target->hint = c->node->Call.func->Attribute.attr;
    } else if (link->receiver && attribute && target->class) {
        link->callee = PEL_CALLEE_METHOD;
        pel_node *func = pel_shallow(w, c->node->Call.func);
        func->Attribute.value = c->base->text;
        text->Call.func = func;
        target->hint = c->node->Call.func->Attribute.attr;
    } else if (!target->in_place && !link->receiver && target->class && link->args[0] && c->n_args &&
               is_old_object(w, front, c->args[0].val)) { /* a function with such an object */
        link->callee = PEL_CALLEE_STATIC;
        link->receiver = true;
        text->Call.func = pel_make_name(w->ctx, w->log->codes.at[target->code].code->name, PEL_Load);
        link->args[0] = NULL;
    } else if (!target->in_place && !link->receiver && target->class && link->args[0]) {
        /* a method called as a function: what a wrapper does with what it wraps */
        link->callee = PEL_CALLEE_METHOD;
        link->receiver = true;
        text->Call.func =
            pel_make_attribute(w->ctx, link->args[0], w->log->codes.at[target->code].code->name, PEL_Load);
        link->args[0] = NULL;
    } else if (!target->in_place && (!link->receiver || gets_class(w, target, first))) {
        if (link->receiver) { /* a class method: the output has no class to pass, it must do without */
            link->args[0] = pel_make_name(w->ctx, target->params[0].name, PEL_Load);
            pel_map_set(w->ctx, &w->s->unwritable, PEL_KEY(link->args[0]), 1);
            link->receiver = false;
        }
        link->callee = PEL_CALLEE_NAME;
        text->Call.func = pel_make_name(w->ctx, w->log->codes.at[target->code].code->name, PEL_Load);
        const pel_node *func = c->node->Call.func; /* a lambda has no name but that of what holds it */
        target->hint = func->kind == PEL_Attribute ? func->Attribute.attr
                       : func->kind == PEL_Name    ? func->Name.id
                                                   : target->hint;
    }
    link->node = text;
    c->val->text = text;
    c->val->taint = target->result_taint;
    bool dynamic = false;
    for (uint32_t i = 0; i < c->n_args; i++) dynamic |= pel_dynamic(w, front, c->args[i].val);
    if (target->shares) note_sharing(w);
    bool looks_up =
        c->base && c->base->lost && !dynamic && !target->shares; /* asks an object that was there before the run */
    bool makes = target->is_init && callee->kind == PEL_V_CLASS;
    c->val->effect = c->val->effect || (target->has_effect && !looks_up) || makes;
    c->val->lost = link->callee == PEL_CALLEE_AS_WRITTEN && c->func->lost;
    pel_push(w->ctx, &w->s->links, link);
    pel_map_set(w->ctx, &w->s->link_of, PEL_KEY(text), PEL_KEY(link));
    return true;
}

bool pel_on_records(const pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_group *group = w->s->group_of[kids->at[i].activation];
        if (!group || !group->class) return false;
        pel_class_kind kind = pel_class_at(w->log, group->class)->kind;
        if (kind != PEL_CLASS_DATACLASS && kind != PEL_CLASS_NAMEDTUPLE) return false;
        pel_str name = pel_name_str(w->log->codes.at[group->code].code->name);
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
    for (uint32_t i = 0; i < kids->n; i++) w->s->linked[kids->at[i].activation] = true;
}

void pel_link_property(pel_walk *w, pel_front front, const pel_kids *kids, pel_val *val, pel_name name) {
    pel_group *target = NULL;
    for (uint32_t i = 0; i < kids->n; i++) {
        const pel_activation *child = &w->log->activations.at[kids->at[i].activation];
        pel_group *group = w->s->group_of[kids->at[i].activation];
        if (group && !child->direct && !group->has_effect && !group->result_taint && !val->effect) {
            /* a library's descriptor asked it once and keeps the answer, as functools.cached_property does */
            pel_forget_kids(w, kids);
            val->lost = true;
            return;
        }
        if (!child->direct || !group || (target && group != target)) {
            val->effect = true;
            return;
        }
        target = group;
        w->s->linked[kids->at[i].activation] = true;
    }
    (void)front;
    target->is_property = true;
    target->hint = name;
    val->taint = target->result_taint;
    val->effect |= target->has_effect;
    pel_link *link = pel_new(w->ctx, pel_link);
    *link = (pel_link){ .node = val->text, .caller = w->group, .target = target, .receiver = true };
    link->args = pel_new_array(w->ctx, target->n_params + 1u, pel_node *);
    link->by_keyword = pel_new_array(w->ctx, target->n_params + 1u, bool);
    pel_push(w->ctx, &w->s->links, link);
    pel_map_set(w->ctx, &w->s->link_of, PEL_KEY(val->text), PEL_KEY(link));
}

/* Lanes that call different functions by a name that the output can't have: each kind gets a text of its own. */
static void split_by(pel_walk *w, pel_front front, const pel_node *node, const pel_id *codes) {
    pel_map part = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        pel_id owner = pel_lane_at(w, front, i)->owner;
        uint64_t before;
        if (pel_map_get(&part, owner, &before) && before != codes[i])
            pel_lost(w, node, "one call of the function calls different functions here");
        pel_map_set(w->ctx, &part, owner, codes[i]);
    }
    for (uint32_t i = 0; i < front.n; i++) {
        pel_id owner = pel_lane_at(w, front, i)->owner;
        uint64_t old = pel_map_find(&w->s->split, owner, 0);
        pel_map_set(w->ctx, &w->s->split, owner, pel_key2(old, codes[i]) | 1);
    }
    w->s->regroup = true;
    pel_lost(w, node, "its calls reach different functions here");
}

/* ---- **kwargs that has become parameters ---- */

/* d.copy() of a dict whose items are known: {"a": d["a"], ...}, so that whoever takes it apart later finds them. */
static pel_val *copy_of_parts(pel_walk *w, pel_front front, const call *c) {
    const pel_val *base = c->base;
    if (c->n_args) return NULL;
    for (uint32_t i = 0; i < base->parts->n; i++)
        if (base->parts->items[i]->optional) return NULL;
    pel_val *val = pel_val_new(w, front, NULL);
    memcpy(val->at, c->val->at, front.n * sizeof *val->at);
    val->parts = pel_parts_by_key(w, base);
    val->text = pel_parts_text(w, val->parts);
    val->taint = base->taint;
    for (uint32_t i = 0; i < val->parts->n; i++) val->lost |= val->parts->items[i]->lost;
    return val;
}

static pel_val *virtual_method(pel_walk *w, pel_front front, call *c) {
    const pel_parts *parts = c->base->parts;
    pel_name name = c->node->Call.func->Attribute.attr;
    bool pop = pel_name_is(name, "pop"), get = pel_name_is(name, "get");
    if (pel_name_is(name, "copy")) return copy_of_parts(w, front, c);
    if ((!pop && !get) || c->n_args < 1 || c->args[0].keyword || c->args[0].star) return NULL;
    const pel_node *key = c->args[0].val->text;
    if (key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) return NULL;
    pel_val *found = NULL;
    for (uint32_t i = 0; i < parts->n; i++)
        if (pel_str_eq(pel_name_str(parts->keys[i]), key->Constant.value->text)) found = parts->items[i];
    pel_val *val = pel_val_new(w, front, NULL);
    memcpy(val->at, c->val->at, front.n * sizeof *val->at);
    if (found && found->optional) {
        const pel_node *other = c->n_args > 1 ? c->args[1].val->text : pel_make_constant(w->ctx, &pel_none);
        if (!settle_default(w, found->optional, other))
            pel_lost(w, c->node, "`%s` has several defaults", key->Constant.value->text.ptr);
    }
    if (found) {
        val->text = found->text;
        val->taint = found->taint;
        val->parts = found->parts;
        val->lost = found->lost;
        if (pop) {
            pel_parts *rest = pel_new(w->ctx, pel_parts);
            rest->keys = pel_new_array(w->ctx, parts->n + 1u, pel_name);
            rest->items = pel_new_array(w->ctx, parts->n + 1u, pel_val *);
            for (uint32_t i = 0; i < parts->n; i++)
                if (parts->items[i] != found) {
                    rest->keys[rest->n] = parts->keys[i];
                    rest->items[rest->n++] = parts->items[i];
                }
            pel_env_slot(w, c->node->Call.func->Attribute.value->Name.id)->parts = rest;
        }
    } else if (c->n_args > 1) {
        *val = *c->args[1].val;
    } else {
        val->text = pel_make_constant(w->ctx, &pel_none);
    }
    return pel_finish(w, front, c->node, val);
}

/* ---- calls of what we don't write ---- */

static bool is_logging(pel_walk *w, const call *c, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        if (callee->kind == PEL_V_LIBRARY && pel_str_starts(callee->text, PEL_STR("warnings."))) continue;
        const pel_value *base = c->base ? pel_value_at(w->log, c->base->at[i]) : NULL;
        pel_id class = base && base->kind == PEL_V_OBJECT ? base->class : 0;
        if (!class) return false;
        const pel_log_class *row = pel_class_at(w->log, class);
        if (!pel_str_starts(row->path, PEL_STR("logging.")) && !pel_str_is(row->module, "logging")) return false;
    }
    return front.n > 0;
}

/* typing.cast(type, value) is the value. */
static bool is_cast(const pel_walk *w, const call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    return callee->kind == PEL_V_LIBRARY && pel_str_is(callee->text, "typing.cast") && c->n_args == 2 &&
           !c->args[0].star && !c->args[1].star && !c->args[1].stars;
}

static bool registers_hook(pel_walk *w, const call *c, pel_front front) {
    if (!c->base || !pel_str_starts(pel_name_str(c->node->Call.func->Attribute.attr), PEL_STR("register_")))
        return false;
    if (!pel_str_ends(pel_name_str(c->node->Call.func->Attribute.attr), PEL_STR("_hook"))) return false;
    return pel_value_at(w->log, c->base->at[front.n - 1])->kind == PEL_V_MODULE;
}

static bool is_identity_module(pel_walk *w, const call *c, pel_front front) {
    if (c->n_args != 1 || c->args[0].keyword || c->args[0].star || c->args[0].stars || c->kids.n || c->func->effect)
        return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        if (callee->kind != PEL_V_MODULE || pel_module_at(w->log, callee->module)->has_hooks) return false;
        const pel_log_class *class = pel_class_at(w->log, pel_module_at(w->log, callee->module)->class);
        if (!pel_str_is(class->path, "torch.nn.Identity")) return false;
    }
    return true;
}

/* Function.apply(x): the class is written as the author has it, with its backward. */
static bool is_autograd(const pel_walk *w, const call *c) {
    if (!c->base) return false;
    const pel_value *base = pel_value_at(w->log, c->base->at[0]);
    return base->kind == PEL_V_CLASS && pel_class_at(w->log, base->class)->kind == PEL_CLASS_AUTOGRAD;
}

/* scan = Scan.apply, and then scan(x): Scan.apply(x), whatever held it. */
static void name_apply(pel_walk *w, pel_front front, call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_METHOD || !pel_all_same(w, front, c->callee)) return;
    const pel_value *class = pel_value_at(w->log, callee->items[0]), *function = pel_value_at(w->log, callee->items[1]);
    if (class->kind != PEL_V_CLASS || pel_class_at(w->log, class->class)->kind != PEL_CLASS_AUTOGRAD) return;
    if (function->kind != PEL_V_LIBRARY || !pel_str_ends(function->text, PEL_STR(".apply"))) return;
    pel_val *base = pel_val_new(w, front, pel_make_name(w->ctx, pel_class_row(w, class->class)->name, PEL_Load));
    for (uint32_t i = 0; i < front.n; i++) base->at[i] = callee->items[0];
    c->base = base;
    c->func = pel_val_new(w, front, pel_make_attribute(w->ctx, base->text, pel_intern_c(w->ctx, "apply"), PEL_Load));
    memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
    c->node = pel_shallow(w, c->node);
    c->node->Call.func = c->func->text;
}

/* What runs here is called by a text that names no function of ours: what it passes is passed. */
static void mark_passed(const call *c, pel_group *group, uint32_t next) {
    for (uint32_t a = 0; a < c->n_args; a++) {
        const argument *arg = &c->args[a];
        pel_param *param = arg->keyword                                          ? param_for(group, arg->keyword)
                           : !arg->star && !arg->stars && next < group->n_params ? &group->params[next++]
                                                                                 : NULL;
        if (param) param->passed = true;
        const pel_parts *parts = arg->stars ? arg->val->parts : NULL;
        for (uint32_t k = 0; parts && parts->keys && k < parts->n; k++)
            if ((param = param_for(group, parts->keys[k]))) param->passed = true;
    }
}

static void mark_pinned(pel_walk *w, const call *c, pel_front front, const pel_id *children) {
    for (uint32_t i = 0; i < c->kids.n; i++) {
        pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group) continue;
        group->pinned = true;
        const pel_value *callee = pel_value_at(w->log, c->callee[c->kids.at[i].lane]);
        if (callee->kind == PEL_V_PARTIAL && callee->n > 1) /* it hands on what it is given, behind its own */
            mark_passed(c, group, (group->class != 0) + pel_value_at(w->log, callee->items[1])->n);
    }
    for (uint32_t i = 0; i < front.n; i++) {
        pel_group *group = children[i] ? w->s->group_of[children[i]] : NULL;
        if (group) mark_passed(c, group, has_receiver(w, c, children[i]));
    }
}

static bool all_constants(const pel_parts *parts) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->items[i]->text->kind != PEL_Constant) return false;
    return true;
}

static uint32_t how_many_have(const pel_walk *w, pel_front front, const pel_val *dict, pel_name key) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, dict->at[i]);
        for (uint32_t k = 0; value->kind == PEL_V_DICT && k + 1 < value->n; k += 2) {
            const pel_value *text = pel_value_at(w->log, value->items[k]);
            if (text->kind == PEL_V_CONST && text->constant->kind == PEL_CONST_STR &&
                pel_str_eq(text->constant->text, pel_name_str(key)))
                n++;
        }
    }
    return n;
}

static bool all_have(const pel_walk *w, pel_front front, const pel_val *dict, pel_name key) {
    return how_many_have(w, front, dict, key) == front.n;
}

static bool any_has(const pel_walk *w, pel_front front, const pel_val *dict, pel_name key) {
    return how_many_have(w, front, dict, key) > 0;
}

static void add_keyword(pel_walk *w, pel_node *text, pel_name name, pel_node *value) {
    pel_nodes_push(w->ctx, &text->Call.keywords, pel_make_keyword(w->ctx, name, value));
}

/* f(*(a, b)) is f(a, b) */
static void add_starred(pel_walk *w, pel_node *text, const pel_val *val) {
    if (val->text->kind == PEL_Tuple && val->parts) {
        for (uint32_t k = 0; k < val->text->Tuple.elts.n; k++)
            pel_nodes_push(w->ctx, &text->Call.args, val->text->Tuple.elts.at[k]);
        return;
    }
    pel_node *star = pel_node_new(w->ctx, PEL_Starred);
    star->Starred.value = val->text;
    pel_nodes_push(w->ctx, &text->Call.args, star);
}

/* f(**{"a": x}) is f(a=x) */
static void add_double_starred(pel_walk *w, pel_front front, pel_node *text, const pel_val *val) {
    const pel_parts *parts = val->parts;
    if (!parts || !parts->keys || (val->text->kind != PEL_Dict && !all_constants(parts))) {
        add_keyword(w, text, NULL, val->text);
        return;
    }
    for (uint32_t k = 0; k < parts->n; k++) {
        pel_val *item = parts->items[k];
        if (item->optional && !all_have(w, front, val, parts->keys[k])) {
            if (!any_has(w, front, val, parts->keys[k])) continue;
            item->optional->forwarded = true; /* rest.c says how, or that it can't be */
            item->text = pel_make_name(w->ctx, item->optional->name, PEL_Load);
        }
        add_keyword(w, text, parts->keys[k], item->text);
    }
}

static pel_node *plain_call_text(pel_walk *w, pel_front front, const call *c, const pel_value *callee) {
    bool is_record = callee->kind == PEL_V_CLASS && pel_class_at(w->log, callee->class)->kind == PEL_CLASS_DATACLASS;
    pel_node *text = pel_shallow(w, c->node);
    text->Call.func = c->func->text;
    text->Call.args = text->Call.keywords = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < c->n_args; i++) {
        const argument *arg = &c->args[i];
        if (arg->star)
            add_starred(w, text, arg->val);
        else if (arg->stars)
            add_double_starred(w, front, text, arg->val);
        else if (!arg->keyword)
            pel_nodes_push(w->ctx, &text->Call.args, arg->val->text);
        else if (!is_record || !pel_is_none(arg->val->text)) /* None is the default of every field */
            add_keyword(w, text, arg->keyword, arg->val->text);
    }
    return text;
}

/* What is known of a call that is written as it stands. */
typedef struct {
    bool dynamic; /* asked by, or about, what differs from call to call */
    bool pure;    /* changes nothing: it may be left out where nobody reads its result */
    bool settled; /* gives the same for all data, even where data is asked */
    bool ambient; /* gives what the surroundings say: the default dtype, a random number */
} nature;

/* np.put_along_axis(...): who returns nothing does something */
static bool returned_none(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *result = pel_value_at(w->log, val->at[i]);
        if (result->kind == PEL_V_CONST && result->constant->kind == PEL_CONST_NONE) return true;
    }
    return false;
}

/* How many dimensions there are is as fixed as ndim. */
static bool is_fixed_length(const pel_walk *w, pel_front front, const pel_val *of) {
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, of->at[i])->kind;
        if (kind != PEL_V_SIZE && (kind == PEL_V_TENSOR || of->taint)) return false;
    }
    return true;
}

static void ask_library(const pel_walk *w, pel_front front, const call *c, pel_str path, nature *out) {
    bool is_dotted = path.len && memchr(path.ptr, '.', path.len);
    out->settled = pel_library_settled(path);
    out->ambient = pel_library_ambient(path);
    out->pure = pel_library_pure(path) && !(is_dotted && returned_none(w, front, c->val));
    if (pel_str_is(path, "len") && c->n_args == 1) out->settled = is_fixed_length(w, front, c->args[0].val);
}

static void ask_class(pel_walk *w, pel_id which, nature *out) {
    pel_class_kind kind = pel_class_at(w->log, which)->kind;
    out->pure = kind == PEL_CLASS_LIBRARY || kind == PEL_CLASS_DATACLASS || kind == PEL_CLASS_NAMEDTUPLE;
    out->settled = true;
    if (kind != PEL_CLASS_LIBRARY && kind != PEL_CLASS_TORCH_MODULE) pel_class_row(w, which);
}

static void ask_modules(pel_walk *w, pel_front front, const call *c, nature *out) {
    out->pure = !c->kids.n;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        out->pure &= callee->kind == PEL_V_MODULE && pel_module_pure(w->log, callee->module);
    }
}

static void ask_method(pel_walk *w, pel_front front, const call *c, nature *out) {
    pel_name name = c->node->Call.func->Attribute.attr;
    bool is_asked_by_data = false, is_rank = pel_name_is(name, "dim") || pel_name_is(name, "ndimension");
    for (uint32_t i = 0; i < c->n_args; i++) is_asked_by_data |= pel_dynamic(w, front, c->args[i].val);
    out->pure = out->settled = true;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, c->base->at[i])->kind;
        bool is_container =
            kind == PEL_V_DICT || kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_SET || kind == PEL_V_CONST;
        out->pure &= pel_method_pure(kind, name);
        out->settled &= (kind == PEL_V_TENSOR && is_rank) || (is_container && !c->base->taint && !is_asked_by_data);
    }
}

/* np.random.rand is a method of an object that the module holds. */
static void ask_owner(const pel_walk *w, const call *c, const pel_value *callee, nature *out) {
    if (callee->kind == PEL_V_METHOD && callee->n > 1 && pel_value_at(w->log, callee->items[1])->kind == PEL_V_LIBRARY)
        out->ambient |= pel_library_ambient(pel_value_at(w->log, callee->items[1])->text);
    const pel_value *owner = c->base ? pel_value_at(w->log, c->base->at[0]) : NULL;
    if (!owner || owner->kind != PEL_V_LIBRARY) return;
    pel_str path = pel_format(w->ctx, "%.*s.%s", PEL_FMT(owner->text), c->node->Call.func->Attribute.attr->text);
    out->ambient |= pel_library_ambient(path);
    if (pel_str_starts(path, PEL_STR("numpy.random."))) out->pure = false;
}

/* A call is as pure as the functions of the author's that it calls back; getattr, len, isinstance ask a fixed object.
 */
static void ask_callbacks(pel_walk *w, const call *c, const pel_value *callee, nature *out) {
    for (uint32_t i = 0; i < c->kids.n; i++) {
        if (!out->dynamic && out->pure && callee->kind == PEL_V_LIBRARY) {
            w->s->linked[c->kids.at[i].activation] = true;
            continue;
        }
        const pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group || group->has_effect) out->pure = false;
    }
}

static nature nature_of(pel_walk *w, pel_front front, const call *c, const pel_value *callee) {
    nature out = { .dynamic = c->base && pel_dynamic(w, front, c->base) };
    for (uint32_t i = 0; i < c->n_args; i++) out.dynamic |= pel_dynamic(w, front, c->args[i].val);
    if (callee->kind == PEL_V_LIBRARY)
        ask_library(w, front, c, callee->text, &out);
    else if (callee->kind == PEL_V_CLASS)
        ask_class(w, callee->class, &out);
    else if (callee->kind == PEL_V_MODULE)
        ask_modules(w, front, c, &out);
    if (c->base && !out.pure && callee->kind != PEL_V_MODULE) ask_method(w, front, c, &out);
    ask_owner(w, c, callee, &out);
    if (is_autograd(w, c)) out.pure = true;
    ask_callbacks(w, c, callee, &out);
    if (callee->kind == PEL_V_FUNCTION && !pel_ran(w->s, callee->code)) {
        if (out.dynamic) pel_lost(w, c->node, "a cache answered here, and the function behind it never ran");
        out.pure = true;
    }
    /* What was there before the run and can't be written changes for nobody: all that is read from it is known. */
    const pel_val *asked = c->base ? c->base : c->func;
    if (asked->lost && !out.dynamic && !asked->effect) out.pure = true;
    return out;
}

static bool has_out(const pel_node *node) {
    for (uint32_t i = 0; i < node->Call.keywords.n; i++)
        if (pel_name_is(node->Call.keywords.at[i]->keyword.arg, "out")) return true;
    return false;
}

/* The object whose method changes it: others may hold it, and lst.append(x.dtype) makes it depend on data. */
static void note_changed(pel_walk *w, const call *c) {
    if (pel_value_at(w->log, c->base->at[0])->kind == PEL_V_LITERAL) note_sharing(w);
    const pel_node *object = c->node->Call.func->Attribute.value;
    if (object->kind != PEL_Name || c->base->lost) return;
    for (uint32_t i = 0; i < c->n_args; i++)
        if (c->args[i].val->taint) pel_env_slot(w, object->Name.id)->taint = &pel_tainted;
}

/* A call that is written as it stands: of torch, of a library, of a class, of what can't be followed. */
static void plain_call(pel_walk *w, pel_front front, call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    pel_val *val = c->val;
    val->text = plain_call_text(w, front, c, callee);
    val->lost = c->func->lost;
    for (uint32_t i = 0; i < c->n_args; i++) val->lost |= c->args[i].val->lost;
    nature known = nature_of(w, front, c, callee);
    if (!known.pure && c->base) note_changed(w, c);
    val->text->mark = !known.pure || has_out(c->node);
    if (val->text->mark) val->effect = true;
    bool live = true;
    for (uint32_t i = 0; i < front.n; i++) live &= val->at[i] && pel_live(w->s, val->at[i]);
    if (!live && ((known.dynamic && !known.settled) || known.ambient)) val->taint = &pel_tainted;
    for (uint32_t i = 0; i < front.n; i++) val->lost |= pel_is_static_object(w->s, val->at[i]);
}

/* hasattr that stays in the text: the modules that have it must have it in the output as well, and the others not. */
static void note_hasattr(pel_walk *w, pel_front front, const call *c, pel_name attribute) {
    pel_front one = pel_front_new(w, 1);
    pel_map having = { 0 }; /* class -> whether its instances have it */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, c->args[0].val->at[i]);
        const pel_value *answer = pel_value_at(w->log, c->val->at[i]);
        if (object->kind != PEL_V_MODULE || answer->kind != PEL_V_CONST) continue;
        bool has = answer->constant->kind == PEL_CONST_TRUE;
        pel_id class = pel_module_at(w->log, object->module)->class, module = object->module;
        uint64_t before;
        if (pel_map_get(&having, class, &before) && before != has)
            pel_lost(w, c->node, "some instances of one class have the attribute `%s` and others not", attribute->text);
        pel_map_set(w->ctx, &having, class, has);
        one.at[0] = front.at[i];
        if (has && pel_module_attribute(w->log, module, attribute)) pel_need(w, one, &module, attribute, NULL);
    }
}

/* An attribute by getattr or hasattr with a constant name, on a module: it must be set there. */
static void note_getattr(pel_walk *w, pel_front front, const call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || c->n_args < 2) return;
    const pel_node *name = c->args[1].val->text;
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR) return;
    pel_name attribute = pel_intern(w->ctx, name->Constant.value->text.ptr, name->Constant.value->text.len);
    if (pel_str_is(callee->text, "hasattr") && !pel_all_same(w, front, c->val->at))
        note_hasattr(w, front, c, attribute);
    if (!pel_str_is(callee->text, "getattr")) return;
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, c->args[0].val->at[i]);
        if (object->kind != PEL_V_MODULE || !c->val->at[i] || !pel_plain(w->s, c->val->at[i])) return;
        modules[i] = object->module;
    }
    if (pel_all_same(w, front, c->val->at)) return;
    pel_need(w, front, modules, attribute, c->val->at);
    c->val->text = pel_make_attribute(w->ctx, c->args[0].val->text, attribute, PEL_Load);
}

/* Adds the classes among those asked for that torch or the standard library have; false: all are of that kind, or one
 * can't be named. */
static bool keep_library_classes(pel_walk *w, const pel_id *asked, uint32_t n, pel_nodes *kept) {
    bool has_author = false;
    for (uint32_t i = 0; i < n; i++) {
        const pel_value *class = pel_value_at(w->log, asked[i]);
        if (class->kind == PEL_V_CLASS && pel_class_at(w->log, class->class)->kind == PEL_CLASS_MODULE) {
            has_author = true;
            continue;
        }
        pel_node *name = pel_value_expression(w->ctx, w->s->program, asked[i]);
        if (!name) return false;
        pel_nodes_push(w->ctx, kept, name);
    }
    return has_author;
}

/* isinstance(layer, Block) that stays in the text. Classes of the output inherit from torch's alone, so it names those
 * for which the answer was yes. */
static void name_instances(pel_walk *w, pel_front front, call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || !pel_str_is(callee->text, "isinstance") || c->n_args != 2) return;
    if (pel_all_same(w, front, c->val->at) || !pel_all_same(w, front, c->args[1].val->at)) return;
    pel_nodes classes = { 0 };
    const pel_value *asked = pel_value_at(w->log, c->args[1].val->at[0]);
    bool several = asked->kind == PEL_V_TUPLE;
    if (!keep_library_classes(w, several ? asked->items : c->args[1].val->at, several ? asked->n : 1, &classes)) return;
    pel_map named = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, c->args[0].val->at[i]);
        const pel_value *answer = pel_value_at(w->log, c->val->at[i]);
        if (object->kind != PEL_V_MODULE || answer->kind != PEL_V_CONST) return;
        pel_id class = pel_module_at(w->log, object->module)->class;
        if (answer->constant->kind != PEL_CONST_TRUE || pel_map_has(&named, class) ||
            pel_class_at(w->log, class)->kind != PEL_CLASS_MODULE)
            continue;
        pel_map_set(w->ctx, &named, class, 1);
        pel_nodes_push(w->ctx, &classes, pel_make_name(w->ctx, pel_class_row(w, class)->name, PEL_Load));
    }
    if (!classes.n) return;
    pel_node *all = pel_node_new(w->ctx, PEL_Tuple);
    all->Tuple.elts = classes;
    c->val->lost = c->args[0].val->lost;
    c->val->text->Call.args.at[1] = classes.n == 1 ? classes.at[0] : all;
}

/* A module of torch's that is not in the tree and has nothing to learn: made where it is called, nn.SiLU()(x). */
static void build_module(pel_walk *w, pel_front front, call *c) {
    const pel_log_module *first = pel_module_at(w->log, pel_value_at(w->log, c->callee[0])->module);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_log_module *module = pel_module_at(w->log, pel_value_at(w->log, c->callee[i])->module);
        if (module->in_tree || module->class != first->class || !module->has_arguments || module->n_parameters ||
            module->n_buffers || module->child_names.n || module->n_arguments != first->n_arguments)
            return;
        for (uint32_t k = 0; k < module->n_arguments; k++)
            if (!pel_value_same(w->log, module->arguments[k].value, first->arguments[k].value)) return;
    }
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t k = 0; k < first->n_arguments; k++) {
        const pel_log_argument *given = &first->arguments[k];
        if (given->is_default) continue;
        pel_node *value = pel_value_expression(w->ctx, w->s->program, given->value);
        if (!value) return;
        if (given->positional && !keywords.n) {
            pel_nodes_push(w->ctx, &args, value);
            continue;
        }
        pel_nodes_push(w->ctx, &keywords, pel_make_keyword(w->ctx, given->name, value));
    }
    pel_node *class = pel_library_expression(w->ctx, w->s->program, pel_class_at(w->log, first->class)->path);
    if (!class) return;
    c->func->text = pel_make_call(w->ctx, class, args, keywords);
    c->func->lost = false;
}

/* functools.partial of a library function, held by something that the output has not: F.gelu(x, approximate="tanh"). */
static void expand_partial(pel_walk *w, pel_front front, call *c) {
    const pel_value *partial = pel_value_at(w->log, c->callee[0]);
    if (partial->kind != PEL_V_PARTIAL || partial->n != 3 ||
        pel_value_at(w->log, partial->items[0])->kind != PEL_V_LIBRARY)
        return;
    for (uint32_t i = 1; i < front.n; i++)
        if (c->callee[i] != c->callee[0] && !pel_value_same(w->log, c->callee[i], c->callee[0])) return;
    const pel_value *args = pel_value_at(w->log, partial->items[1]),
                    *keywords = pel_value_at(w->log, partial->items[2]);
    argument *all = pel_new_array(w->ctx, c->n_args + args->n + keywords->n / 2 + 1u, argument);
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->n; i++) {
        pel_node *text = pel_value_expression(w->ctx, w->s->program, args->items[i]);
        if (!text) return;
        all[n++].val = pel_val_new(w, front, text);
    }
    for (uint32_t i = 0; i < c->n_args; i++) all[n++] = c->args[i];
    for (uint32_t i = 0; i + 1 < keywords->n; i += 2) {
        const pel_value *key = pel_value_at(w->log, keywords->items[i]);
        pel_node *text = pel_value_expression(w->ctx, w->s->program, keywords->items[i + 1]);
        if (!text || key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) return;
        pel_name name = pel_intern(w->ctx, key->constant->text.ptr, key->constant->text.len);
        bool given = false;
        for (uint32_t k = 0; k < c->n_args; k++) given |= c->args[k].keyword == name;
        if (given) continue;
        all[n].keyword = name;
        all[n++].val = pel_val_new(w, front, text);
    }
    c->args = all;
    c->n_args = n;
    for (uint32_t i = 0; i < front.n; i++) c->callee[i] = partial->items[0];
    c->func = pel_val_new(w, front,
                          pel_library_expression(w->ctx, w->s->program, pel_value_at(w->log, partial->items[0])->text));
    c->base = NULL;
}

/* getattr(module, "name", None) where the name is a property's: module.name. */
static bool asks_property(pel_walk *w, pel_front front, call *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || !pel_str_is(callee->text, "getattr") || c->n_args < 2 || c->kids.n != front.n)
        return false;
    const pel_node *name = c->args[1].val->text;
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR || c->args[0].val->lost) return false;
    pel_name attribute = pel_intern(w->ctx, name->Constant.value->text.ptr, name->Constant.value->text.len);
    for (uint32_t i = 0; i < c->kids.n; i++) {
        const pel_activation *child = &w->log->activations.at[c->kids.at[i].activation];
        const pel_group *group = w->s->group_of[c->kids.at[i].activation];
        bool of_module = pel_value_at(w->log, c->args[0].val->at[c->kids.at[i].lane])->kind == PEL_V_MODULE;
        if (!child->direct || !group || !group->class || !of_module ||
            w->log->codes.at[child->code].code->name != attribute)
            return false;
    }
    c->val->text = pel_make_attribute(w->ctx, c->args[0].val->text, attribute, PEL_Load);
    pel_link_property(w, front, &c->kids, c->val, attribute);
    return true;
}

/* ---- the call ---- */

/* Hooks are no business of whoever calls the module. */
static void forget_hooks(pel_walk *w, pel_kids *kids) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < kids->n; i++)
        if (!pel_map_has(&w->s->hook_of, kids->at[i].activation)) kids->at[n++] = kids->at[i];
    kids->n = n;
}

/* self.act(x), where each instance holds another function of torch's: the constructor sets it. */
static void need_functions(pel_walk *w, pel_front front, const call *c) {
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, c->base->at[i])->kind != PEL_V_MODULE ||
            pel_value_at(w->log, c->callee[i])->kind != PEL_V_LIBRARY)
            return;
    if (pel_all_same(w, front, c->callee)) return;
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) modules[i] = pel_value_at(w->log, c->base->at[i])->module;
    pel_need(w, front, modules, c->node->Call.func->Attribute.attr, c->callee);
}

static void eval_callee(pel_walk *w, pel_front front, call *c) {
    pel_node *func = c->node->Call.func;
    c->callee = pel_new_array(w->ctx, front.n + 1u, pel_id);
    if (func->kind != PEL_Attribute) {
        c->func = pel_eval(w, front, func);
        memcpy(c->callee, c->func->at, front.n * sizeof *c->callee);
        return;
    }
    c->base = pel_eval(w, front, func->Attribute.value);
    pel_kids kids = { 0 };
    pel_own(w, front, func, NULL, c->callee, &kids);
    pel_node *text = pel_shallow(w, func);
    text->Attribute.value = c->base->text;
    c->func = pel_val_new(w, front, text);
    memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
    c->func->lost = c->base->lost;
    c->func->effect = c->base->effect;
    if (c->base->lost || pel_looks_up(w, &kids))
        pel_forget_kids(w, &kids);
    else if (kids.n)
        pel_link_property(w, front, &kids, c->func, func->Attribute.attr);
    bool on_value = false; /* methods of values stay as they are; functions of modules and classes are folded */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *base = pel_value_at(w->log, c->base->at[i]);
        on_value |= base->kind == PEL_V_TENSOR || (base->kind != PEL_V_LIBRARY && base->kind != PEL_V_CLASS &&
                                                   base->kind != PEL_V_MODULE && base->kind != PEL_V_OBJECT);
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        /* LOAD_METHOD leaves the object on top: then what is called is known by its name alone */
        bool self_on_top = c->callee[i] == c->base->at[i] || same_object(w->log, c->callee[i], c->base->at[i]);
        if (self_on_top && callee->kind != PEL_V_LIBRARY) c->callee[i] = 0;
    }
    if (!on_value && !c->func->effect) {
        memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
        c->func = pel_finish(w, front, func, c->func);
        need_functions(w, front, c);
    }
}

static void eval_arguments(pel_walk *w, pel_front front, call *c) {
    pel_node *node = c->node;
    c->args = pel_new_array(w->ctx, node->Call.args.n + node->Call.keywords.n + 1u, argument);
    for (uint32_t i = 0; i < node->Call.args.n; i++) {
        pel_node *arg = node->Call.args.at[i];
        argument *row = &c->args[c->n_args++];
        row->star = arg->kind == PEL_Starred;
        pel_node *value = row->star ? arg->Starred.value : arg;
        pel_own(w, front, node, value, NULL, NULL);
        row->val = pel_eval(w, front, value);
    }
    for (uint32_t i = 0; i < node->Call.keywords.n; i++) {
        pel_node *keyword = node->Call.keywords.at[i];
        argument *row = &c->args[c->n_args++];
        row->keyword = keyword->keyword.arg;
        row->stars = !keyword->keyword.arg;
        pel_own(w, front, node, keyword->keyword.value, NULL, NULL);
        row->val = pel_eval(w, front, keyword->keyword.value);
    }
}

/* Whether all that a call depends on was there before the run, and some of it can't be written. */
static bool asks_fixed_objects(pel_walk *w, pel_front front, const call *c) {
    bool lost = false;
    if (c->val->effect || c->val->taint || (c->base && pel_dynamic(w, front, c->base))) return false;
    for (uint32_t i = 0; i < c->n_args; i++) {
        if (pel_dynamic(w, front, c->args[i].val)) return false;
        lost |= c->args[i].val->lost;
    }
    return lost;
}

static bool are_straight(const pel_walk *w, pel_front front, const pel_id *children) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_group *group = w->s->group_of[children[i]];
        if (!pel_map_has(&w->s->program->straight, group->code)) return false;
        /* methods of modules can ask them for their weights: their own text is a straight line */
        if (group->class && pel_class_at(w->log, group->class)->kind == PEL_CLASS_MODULE) return false;
    }
    return true;
}

/* Whether the function does nothing to tensors but by functions that are straight lines: rearrange() calls reduce(),
 * and each place that calls it means something else. */
static bool only_passes_on(const pel_walk *w) {
    const pel_log *log = w->log;
    const pel_group *group = w->group;
    if (group->is_root || (group->class && pel_class_at(log, group->class)->kind == PEL_CLASS_MODULE)) return false;
    for (uint32_t i = 1; i < log->events.n; i++)
        for (pel_id id = log->events.at[i].activation; id; id = log->activations.at[id].parent) {
            if (w->s->group_of[id] == group) return false;
            if (pel_map_has(&w->s->program->straight, log->activations.at[id].code)) break;
        }
    return true;
}

typedef struct straight_job {
    pel_walk *w;
    pel_front front;
    const call *c;
    const pel_id *children;
    pel_val *val;
} straight_job;

static pel_val *straight_call(pel_walk *w, pel_front front, const call *c, const pel_id *children) {
    const pel_code_object *code = w->log->codes.at[w->log->activations.at[children[0]].code].code;
    uint32_t next = has_receiver(w, c, children[0]);
    pel_val **args = pel_new_array(w->ctx, c->n_args + 1u, pel_val *);
    pel_name *names = pel_new_array(w->ctx, c->n_args + 1u, pel_name);
    for (uint32_t k = 0; k < c->n_args; k++) {
        const argument *arg = &c->args[k];
        args[k] = arg->val;
        if (arg->keyword)
            names[k] = arg->keyword;
        else if (!arg->star && !arg->stars && next < code->argcount)
            names[k] = code->varnames.at[next++];
        else
            next = UINT32_MAX; /* behind *args nothing has a number */
    }
    /* what ran inside is told by the straight line */
    for (uint32_t i = 0; i < front.n; i++)
        for (pel_id id = children[i]; id < w->log->activations.n && pel_is_below(w->log, id, children[i]); id++)
            w->s->linked[id] = true;
    return pel_finish(w, front, c->node,
                      pel_straight_call(w, front, c->node, children, args, names, c->n_args, c->val));
}

static void try_straight(pel_ctx *ctx, void *arg) {
    straight_job *job = arg;
    (void)ctx;
    job->val = straight_call(job->w, job->front, job->c, job->children);
}

/* ---- functions that instances hold ---- */

/* The code of a function that a constructor can name: one text, and nothing around it. */
static bool can_hold(pel_walk *w, const pel_value *value) {
    if (value->kind == PEL_V_LIBRARY) return value->text.len != 0;
    if (value->kind == PEL_V_PARTIAL)
        return value->n == 3 && can_hold(w, pel_value_at(w->log, value->items[0])) &&
               pel_value_expression(w->ctx, w->s->program, value->items[1]) &&
               pel_value_expression(w->ctx, w->s->program, value->items[2]);
    if (value->kind != PEL_V_FUNCTION || value->n) return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->s->groups.n; i++) {
        const pel_group *group = w->s->groups.at[i];
        if (group->code != value->code) continue;
        if (group->in_place || group->class) return false;
        n++;
    }
    return n == 1;
}

static void hold(pel_walk *w, const pel_value *value) {
    if (value->kind == PEL_V_PARTIAL) value = pel_value_at(w->log, value->items[0]);
    if (value->kind != PEL_V_FUNCTION || pel_map_has(&w->s->program->held, value->code)) return;
    pel_node *name = pel_make_name(w->ctx, w->log->codes.at[value->code].code->name, PEL_Load);
    pel_map_set(w->ctx, &w->s->program->held, value->code, PEL_KEY(name));
    pel_push(w->ctx, &w->s->references, ((pel_reference){ name, value->code, NULL, true }));
}

/* self.act(x), where instances were given different functions: the constructor sets them, and the call stays. */
static bool calls_held(pel_walk *w, pel_front front, call *c) {
    if (c->node->Call.func->kind != PEL_Attribute || c->func->lost) return false;
    pel_name name = c->node->Call.func->Attribute.attr;
    pel_id *modules = pel_new_array(w->ctx, front.n, pel_id), *values = pel_new_array(w->ctx, front.n, pel_id);
    uint32_t n_functions = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *base = pel_value_at(w->log, c->base->at[i]), *callee = pel_value_at(w->log, c->callee[i]);
        if (base->kind != PEL_V_MODULE) return false;
        modules[i] = base->module;
        if (callee->kind == PEL_V_MODULE && pel_has_slot(pel_module_at(w->log, modules[i]), name)) continue;
        values[i] = pel_module_attribute(w->log, modules[i], name);
        if (!values[i] || !can_hold(w, pel_value_at(w->log, values[i]))) return false;
        n_functions += callee->kind == PEL_V_FUNCTION || callee->kind == PEL_V_PARTIAL;
    }
    if (!n_functions) return false;
    pel_need(w, front, modules, name, values);
    for (uint32_t i = 0; i < front.n; i++) hold(w, pel_value_at(w->log, values[i]));
    return true;
}

static void mark_given(pel_walk *w, pel_param *param) {
    param->passed = true;
    if (pel_taint_grow(w->ctx, &param->taint, &pel_tainted)) w->s->changed = true;
}

/* What a partial that the constructor makes passes by itself. */
static void mark_held(pel_walk *w, pel_id held, pel_group *group) {
    const pel_value *partial = pel_value_at(w->log, held);
    if (partial->kind != PEL_V_PARTIAL) return;
    const pel_value *named = pel_value_at(w->log, partial->items[2]);
    for (uint32_t p = 0; p < pel_value_at(w->log, partial->items[1])->n && p < group->n_params; p++)
        mark_given(w, &group->params[p]);
    for (uint32_t k = 0; k + 1 < named->n; k += 2) {
        pel_str key = pel_value_at(w->log, named->items[k])->constant->text;
        pel_param *param = param_for(group, pel_intern(w->ctx, key.ptr, key.len));
        if (param) mark_given(w, param);
    }
}

static bool differ(pel_walk *w, pel_front front, const call *c) {
    for (uint32_t i = 1; i < front.n; i++)
        if (!pel_value_same(w->log, c->callee[i], c->callee[0])) return true;
    return false;
}

pel_val *pel_eval_call(pel_walk *w, pel_front front, pel_node *node) {
    call c = { .node = node };
    eval_callee(w, front, &c);
    eval_arguments(w, front, &c);
    c.val = pel_val_new(w, front, NULL);
    pel_own(w, front, node, NULL, c.val->at, &c.kids);
    forget_hooks(w, &c.kids);
    c.val->effect = c.func->effect;
    for (uint32_t i = 0; i < c.n_args; i++) c.val->effect |= c.args[i].val->effect;
    if (front.n == 0) pel_lost(w, node, "no lane comes by here");
    if (registers_hook(w, &c, front)) pel_lost(w, node, "a hook is registered while the model runs");
    if (is_logging(w, &c, front)) {
        c.val->text = pel_make_constant(w->ctx, &pel_none);
        for (uint32_t i = 0; i < c.kids.n; i++) w->s->linked[c.kids.at[i].activation] = true;
        return c.val;
    }
    if (is_cast(w, &c)) return c.args[1].val;
    if (is_identity_module(w, &c, front)) {
        memcpy(c.args[0].val->at, c.val->at, front.n * sizeof *c.val->at);
        return c.args[0].val;
    }
    if (c.base && c.base->parts && c.base->parts->keys && node->Call.func->Attribute.value->kind == PEL_Name) {
        pel_val *val = virtual_method(w, front, &c);
        if (val) return val;
        if (!pel_method_pure(PEL_V_DICT,
                             node->Call.func->Attribute.attr)) { /* what it holds now is not known by name */
            if (c.base->text->kind != PEL_Name) pel_lost(w, node, "keyword arguments are changed here");
            pel_env_slot(w, node->Call.func->Attribute.value->Name.id)->parts = NULL;
        }
    }
    name_apply(w, front, &c);
    if (is_autograd(w, &c)) {
        pel_forget_kids(w, &c.kids);
        c.kids.n = 0;
        pel_class_row(w, pel_value_at(w->log, c.base->at[0])->class);
    }
    if (pel_on_records(w, &c.kids)) { /* they are written whole: what their methods do is not looked at */
        pel_forget_kids(w, &c.kids);
        c.kids.n = 0;
    }
    /* does every lane mean the same function? */
    pel_id *codes = pel_new_array(w->ctx, front.n + 1u, pel_id),
           *children = pel_new_array(w->ctx, front.n + 1u, pel_id);
    uint32_t found = 0;
    pel_group *target = NULL;
    bool one = true;
    for (uint32_t i = 0; i < front.n; i++) {
        children[i] = meant(w, &c, i);
        pel_group *group = children[i] ? w->s->group_of[children[i]] : NULL;
        if (!group) continue;
        found++;
        codes[i] = group->number + 1;
        if (target && target != group) one = false;
        target = group;
    }
    pel_id example = 0;
    for (uint32_t i = 0; i < front.n && !example; i++) example = children[i];
    for (uint32_t i = 0; i < front.n && one && found && found < front.n; i++)
        if (!children[i] && function_code(w->log, c.callee[i]) == target->code) { /* a cache answered */
            children[i] = example;
            found++;
        }
    if (found == front.n && are_straight(w, front, children)) {
        straight_job job = { w, front, &c, children, NULL };
        pel_err err;
        if (pel_attempt(w->ctx, try_straight, &job, &err)) return job.val;
        if (only_passes_on(w)) pel_lost(w, node, "%s", err.what); /* whoever called it knows more */
    }
    if (found == front.n && one && link_call(w, front, &c, target, children)) {
        for (uint32_t i = 0; i < front.n; i++) w->s->linked[children[i]] = true;
        target->is_context = is_context(w->log, c.val->at[0]);
        for (uint32_t i = 0; i < front.n && !target->is_context; i++)
            c.val->lost |= pel_is_static_object(w->s, c.val->at[i]);
        if (asks_fixed_objects(w, front, &c)) pel_write_table(w, front, c.val);
        return pel_finish(w, front, node, c.val);
    }
    bool held = found ? differ(w, front, &c) : c.kids.n > 0; /* or a decorator of torch's calls it */
    if (held && calls_held(w, front, &c)) {
        mark_pinned(w, &c, front, children);
        for (uint32_t i = 0; i < c.kids.n; i++) {
            pel_group *group = w->s->group_of[c.kids.at[i].activation];
            if (!group) continue;
            pel_id callee = c.callee[c.kids.at[i].lane];
            mark_held(w, callee, group);
            if (group->code == function_code(w->log, callee)) mark_passed(&c, group, 0);
        }
        plain_call(w, front, &c);
        return pel_finish(w, front, node, c.val);
    }
    bool variants = found == front.n && !one; /* of one function, by what it is given */
    for (uint32_t i = 0; i < front.n && variants; i++)
        variants =
            w->s->group_of[children[i]]->code == target->code && w->s->group_of[children[i]]->class == target->class;
    if (variants) split_by(w, front, node, codes);
    bool modules = true;
    for (uint32_t i = 0; i < front.n; i++) modules &= pel_value_at(w->log, c.callee[i])->kind == PEL_V_MODULE;
    if (found && !one && !modules && c.func->lost) split_by(w, front, node, codes);
    if (found && !one && !modules && !c.base) {
        bool functions = true, in_place = true; /* lambdas in a dict are there, under its keys */
        for (uint32_t i = 0; i < front.n; i++) {
            functions &= function_code(w->log, c.callee[i]) != 0;
            in_place &= children[i] && w->s->group_of[children[i]]->in_place;
        }
        if (functions && !in_place && c.func->text->kind != PEL_Name) split_by(w, front, node, codes);
    }
    if (asks_property(w, front, &c)) return pel_finish(w, front, node, c.val);
    expand_partial(w, front, &c);
    call_base(w, front, &c);
    mark_pinned(w, &c, front, children);
    if (c.func->lost && modules) build_module(w, front, &c);
    plain_call(w, front, &c);
    note_getattr(w, front, &c);
    name_instances(w, front, &c);
    return pel_finish(w, front, node, c.val);
}
