/* Calls: what is called with what, and which of the ways to write it holds: as a value, as a straight line, as a link
 * to another specialisation (walk/call_link.c), as it stands (walk/outside.c). */
#include "trace/walk/call.h"
#include "trace/walk/expr.h"

/* ---- what is called with what ---- */

/* Hooks are no business of whoever calls the module. */
static void forget_hooks(pel_walk *w, pel_kids *kids) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < kids->n; i++)
        if (!pel_map_has(&w->s->hooks.of_activation, kids->at[i].activation)) kids->at[n++] = kids->at[i];
    kids->n = n;
}

/* self.act(x), where each instance holds another function of torch's: the constructor sets it. is_chosen: those that
 * came by hold one, and others another. */
static void need_functions(pel_walk *w, pel_front front, const pel_call_site *c, bool is_chosen) {
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, c->base->at[i])->kind != PEL_V_MODULE ||
            pel_value_at(w->log, c->callee[i])->kind != PEL_V_LIBRARY)
            return;
    if (pel_all_same(w, front, c->callee) && !is_chosen) return;
    pel_id *modules = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) modules[i] = pel_value_at(w->log, c->base->at[i])->module;
    pel_need(w, front, modules, c->node->Call.func->Attribute.attr, c->callee);
}

/* A method is known by its name and by what it is asked of, which the text has. What an attribute holds is another
 * matter. */
static const pel_taint *what_is_called(const pel_walk *w, pel_front front, const pel_call_site *c) {
    const pel_taint *all = NULL;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, c->base->at[i])->kind;
        bool self_on_top = c->callee[i] == c->base->at[i] || pel_same_object(w->log, c->callee[i], c->base->at[i]);
        bool is_held = (kind == PEL_V_MODULE || kind == PEL_V_OBJECT || kind == PEL_V_CLASS) && !self_on_top;
        pel_name name = c->node->Call.func->Attribute.attr;
        if (is_held && pel_is_written(w->s, c->base->at[i], name)) return &pel_tainted;
        all = pel_taint_join(w->ctx, all,
                             is_held ? pel_attribute_depends(w->s, c->base->at[i], name, c->base->taint)
                                     : pel_constant(PEL_WHY_LIBRARY));
    }
    return all;
}

static void eval_callee(pel_walk *w, pel_front front, pel_call_site *c) {
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
    c->func->taint = what_is_called(w, front, c);
    if (c->base->lost || pel_looks_up(w, &kids))
        pel_forget_kids(w, &kids);
    else if (kids.n)
        pel_link_property(w, &kids, c->base, c->func, func->Attribute.attr);
    bool on_value =
        false; /* methods of values stay as they are; functions of modules and classes, and classes, are folded */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *base = pel_value_at(w->log, c->base->at[i]);
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        on_value |= base->kind != PEL_V_LIBRARY && base->kind != PEL_V_CLASS && base->kind != PEL_V_MODULE &&
                    base->kind != PEL_V_OBJECT && callee->kind != PEL_V_CLASS;
        /* LOAD_METHOD leaves the object on top: then what is called is known by its name alone */
        bool self_on_top = c->callee[i] == c->base->at[i] || pel_same_object(w->log, c->callee[i], c->base->at[i]);
        if (self_on_top && callee->kind != PEL_V_LIBRARY) c->callee[i] = 0;
    }
    if (!on_value && !c->func->effect) {
        memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
        bool is_chosen = front.n && c->callee[0] && pel_is_chosen(w, func, c->callee[0]);
        if (!is_chosen) c->func = pel_finish(w, front, func, c->func);
        need_functions(w, front, c, is_chosen);
    }
}

/* f(0.0, "mean", **more): of positional arguments that are constants the compiler makes one, where the call stands. */
static bool are_one_constant(pel_walk *w, pel_front front, const pel_node *call) {
    if (!call->Call.args.n || !front.n) return false;
    const pel_record *record = pel_next_record(w, pel_lane_at(w, front, 0));
    if (!record || record->kind != PEL_R_PUSH || pel_insn_of(w, record)->op != PEL_OP_LOAD_CONST) return false;
    const pel_value *value = pel_value_at(w->log, record->value);
    return value->kind == PEL_V_TUPLE && value->n == call->Call.args.n &&
           !pel_inside(pel_position_of(w, record), call->Call.args.at[0]);
}

static void eval_arguments(pel_walk *w, pel_front front, pel_call_site *c) {
    pel_node *node = c->node;
    bool folded = are_one_constant(w, front, node);
    c->args = pel_new_array(w->ctx, node->Call.args.n + node->Call.keywords.n + 1u, pel_call_argument);
    for (uint32_t i = 0; i < node->Call.args.n; i++) {
        pel_node *arg = node->Call.args.at[i];
        pel_call_argument *row = &c->args[c->n_args++];
        row->star = arg->kind == PEL_Starred;
        pel_node *value = row->star ? arg->Starred.value : arg;
        if (!folded) pel_own(w, front, node, value, NULL, NULL);
        row->val = pel_eval(w, front, value);
    }
    for (uint32_t i = 0; i < node->Call.keywords.n; i++) {
        pel_node *keyword = node->Call.keywords.at[i];
        pel_call_argument *row = &c->args[c->n_args++];
        row->keyword = keyword->keyword.arg;
        row->stars = !keyword->keyword.arg;
        pel_own(w, front, node, keyword->keyword.value, NULL, NULL);
        row->val = pel_eval(w, front, keyword->keyword.value);
    }
}

static void eval_result(pel_walk *w, pel_front front, pel_call_site *c) {
    c->val = pel_val_new(w, front, NULL);
    pel_own(w, front, c->node, NULL, c->val->at, &c->kids);
    forget_hooks(w, &c->kids);
    c->val->effect = c->func->effect;
    for (uint32_t i = 0; i < c->n_args; i++) c->val->effect |= c->args[i].val->effect;
}

/* ---- **kwargs that has become parameters ---- */

/* d.copy() of a dict whose items are known: {"a": d["a"], ...}, so that whoever takes it apart later finds them. */
static pel_val *copy_of_parts(pel_walk *w, pel_front front, const pel_call_site *c) {
    const pel_val *base = c->base;
    if (c->n_args) return NULL;
    for (uint32_t i = 0; i < base->parts->n; i++)
        if (base->parts->items[i]->optional) return NULL;
    pel_val *val = pel_val_new(w, front, NULL);
    memcpy(val->at, c->val->at, front.n * sizeof *val->at);
    val->parts = pel_parts_by_key(w, base);
    val->text = pel_parts_text(w, val->parts);
    if (pel_is_noted(w->s, base->text, PEL_NOTE_KEYWORDS)) pel_note_node(w->s, val->text, PEL_NOTE_KEYWORDS);
    val->taint = base->taint;
    for (uint32_t i = 0; i < val->parts->n; i++) val->lost |= val->parts->items[i]->lost;
    return val;
}

static const pel_parts *parts_without(pel_walk *w, const pel_parts *parts, const pel_val *item) {
    pel_parts *rest = pel_new(w->ctx, pel_parts);
    rest->keys = pel_new_array(w->ctx, parts->n + 1u, pel_name);
    rest->items = pel_new_array(w->ctx, parts->n + 1u, pel_val *);
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->items[i] != item) {
            rest->keys[rest->n] = parts->keys[i];
            rest->items[rest->n++] = parts->items[i];
        }
    return rest;
}

static pel_val *part_of(const pel_parts *parts, pel_str key) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (pel_str_eq(pel_name_str(parts->keys[i]), key)) return parts->items[i];
    return NULL;
}

/* kwargs.get(f"output_{name}", default): whatever the key is, nobody passed it. */
static bool has_no_such_part(pel_walk *w, pel_front front, const pel_call_site *c) {
    if (pel_dynamic(w, front, c->args[0].val)) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *key = pel_value_at(w->log, c->args[0].val->at[i]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR ||
            part_of(c->base->parts, key->constant->text))
            return false;
    }
    return front.n > 0;
}

/* kwargs.pop("key", default), kwargs.get("key", default): the parameter that it has become, or the default. */
static pel_val *take_part(pel_walk *w, pel_front front, pel_call_site *c, bool pop) {
    if (c->n_args < 1 || c->args[0].keyword || c->args[0].star) return NULL;
    bool stays = pop && c->base->text->kind == PEL_Name && !pel_env_slot(w, c->base->text->Name.id)->gone;
    if (stays && !has_no_such_part(w, front, c))
        return NULL; /* the dict stays in the text, and so must what takes something out of it */
    const pel_node *key = c->args[0].val->text;
    bool is_one = key->kind == PEL_Constant && key->Constant.value->kind == PEL_CONST_STR;
    if (!is_one && !has_no_such_part(w, front, c)) return NULL;
    const pel_parts *parts = c->base->parts;
    pel_val *found = is_one ? part_of(parts, key->Constant.value->text) : NULL;
    pel_val *val = pel_val_new(w, front, NULL);
    memcpy(val->at, c->val->at, front.n * sizeof *val->at);
    if (found && found->optional) {
        const pel_node *other = c->n_args > 1 ? c->args[1].val->text : pel_make_none(w->ctx);
        if (!pel_settle_default(w, found->optional, other))
            pel_lost(w, c->node, "`%s` has several defaults", key->Constant.value->text.ptr);
    }
    if (found) {
        val->text = found->text;
        val->taint = found->taint;
        val->parts = found->parts;
        val->lost = found->lost;
        if (pop) pel_env_slot(w, c->node->Call.func->Attribute.value->Name.id)->parts = parts_without(w, parts, found);
    } else if (c->n_args > 1) {
        *val = *c->args[1].val;
    } else {
        val->text = pel_make_none(w->ctx);
        val->taint = pel_constant(PEL_WHY_PARTS); /* no call passed it, and the signature has no such parameter */
    }
    return pel_finish(w, front, c->node, val);
}

/* What an argument of update gives, by its keys; NULL: that is not known. */
static const pel_parts *updated_parts(pel_walk *w, const pel_call_argument *arg) {
    if (!arg->keyword)
        return arg->star || arg->stars || !arg->val->parts || !arg->val->parts->keys ? NULL : arg->val->parts;
    pel_parts *one = pel_new(w->ctx, pel_parts);
    *one = (pel_parts){ 1, pel_new(w->ctx, pel_name), pel_new(w->ctx, pel_val *) };
    one->keys[0] = arg->keyword;
    one->items[0] = arg->val;
    return one;
}

/* kwargs.update({"a": x}, key=value): the parameters are bound again. */
static pel_val *update_parts(pel_walk *w, pel_front front, pel_call_site *c) {
    pel_slot *slot = pel_env_slot(w, c->node->Call.func->Attribute.value->Name.id);
    if (!slot->gone || w->in_expression || !c->n_args) return NULL;
    for (uint32_t i = 0; i < c->n_args; i++) {
        const pel_parts *parts = updated_parts(w, &c->args[i]);
        if (!parts) return NULL;
        for (uint32_t k = 0; k < parts->n; k++)
            if (parts->items[k]->optional) return NULL;
    }
    pel_node *target = pel_node_new(w->ctx, PEL_Tuple), *value = pel_node_new(w->ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    for (uint32_t i = 0; i < c->n_args; i++) { /* all values are there before the first name is bound */
        const pel_parts *parts = updated_parts(w, &c->args[i]);
        for (uint32_t k = 0; k < parts->n; k++) {
            const pel_val *item = parts->items[k];
            pel_nodes_push(w->ctx, &target->Tuple.elts, pel_store_key(w, front, slot, parts->keys[k], item));
            pel_nodes_push(w->ctx, &value->Tuple.elts, item->text);
            w->effect |= item->effect;
        }
    }
    bool is_one = target->Tuple.elts.n == 1;
    pel_node *statement =
        pel_make_assign(w->ctx, is_one ? target->Tuple.elts.at[0] : target, is_one ? value->Tuple.elts.at[0] : value);
    statement->lineno = c->node->lineno;
    if (target->Tuple.elts.n) pel_nodes_push(w->ctx, w->out, statement);
    pel_val *val = pel_val_constant(w, front, pel_make_none(w->ctx), PEL_WHY_LITERAL);
    memcpy(val->at, c->val->at, front.n * sizeof *val->at);
    return val;
}

/* A method of such a dict: what it gives, NULL where it is called as it stands. */
static pel_val *call_on_parts(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_node *func = c->node->Call.func;
    if (!c->base || !c->base->parts || !c->base->parts->keys || func->Attribute.value->kind != PEL_Name) return NULL;
    pel_name name = func->Attribute.attr;
    pel_val *val = NULL;
    if (pel_name_is(name, "copy"))
        val = copy_of_parts(w, front, c);
    else if (pel_name_is(name, "pop") || pel_name_is(name, "get"))
        val = take_part(w, front, c, pel_name_is(name, "pop"));
    else if (pel_name_is(name, "update"))
        val = update_parts(w, front, c);
    if (val || pel_method_pure(PEL_V_DICT, name)) return val;
    /* what it holds now is not known by name */
    if (c->base->text->kind != PEL_Name) pel_lost(w, c->node, "keyword arguments are changed here");
    pel_env_slot(w, func->Attribute.value->Name.id)->parts = NULL;
    return NULL;
}

/* ---- who was called ---- */

pel_id pel_function_code(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    if (value->kind == PEL_V_METHOD && value->n > 1) value = pel_value_at(log, value->items[1]);
    return value->kind == PEL_V_FUNCTION ? value->code : 0;
}

pel_id pel_called_module(const pel_walk *w, const pel_call_site *c, uint32_t lane) {
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

bool pel_calls_modules(const pel_walk *w, pel_front front, const pel_call_site *c) {
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, c->callee[i])->kind != PEL_V_MODULE) return false;
    return true;
}

/* What a generator of the author's behind contextlib.contextmanager gives. */
static bool is_context(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    return value->kind == PEL_V_OBJECT &&
           pel_name_is(pel_class_at(log, value->class)->name, "_GeneratorContextManager");
}

/* The activation that a lane's call means, among those that began while it ran; 0 if it means none of them. */
static pel_id meant(pel_walk *w, const pel_call_site *c, uint32_t lane) {
    const pel_value *callee = pel_value_at(w->log, c->callee[lane]);
    pel_id only = 0, module = pel_called_module(w, c, lane);
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
        bool is_callee =
            pel_function_code(w->log, c->callee[lane]) == child->code; /* maybe behind a decorator of torch's */
        if (is_callee && is_context(w->log, c->val->at[lane])) return id;
        if ((!child->direct && !is_callee) || callee->kind == PEL_V_LIBRARY) continue; /* called back by it */
        if (callee->kind == PEL_V_CLASS && !pel_name_is(code->name, "__init__")) continue;
        direct++;
        if (!only) only = id;
    }
    return direct == 1 ? only : 0;
}

/* The functions of the output that the lanes mean. */
typedef struct {
    pel_id *children;  /* per lane: the activation that is called, 0 if there is none */
    pel_id *numbers;   /* per lane: one more than that of the group, 0 if there is none */
    uint32_t found;    /* in how many lanes */
    pel_group *target; /* of the last lane that has one */
    bool one;          /* they all mean that one */
} meaning;

static meaning who_is_meant(pel_walk *w, pel_front front, const pel_call_site *c) {
    meaning m = { .one = true };
    m.children = pel_new_array(w->ctx, front.n + 1u, pel_id);
    m.numbers = pel_new_array(w->ctx, front.n + 1u, pel_id);
    for (uint32_t i = 0; i < front.n; i++) {
        m.children[i] = c->calls_back ? 0 : meant(w, c, i);
        pel_group *group = m.children[i] ? w->s->group_of[m.children[i]] : NULL;
        if (!group) continue;
        m.found++;
        m.numbers[i] = group->number + 1;
        if (m.target && m.target != group) m.one = false;
        m.target = group;
    }
    pel_id example = 0;
    for (uint32_t i = 0; i < front.n && !example; i++) example = m.children[i];
    for (uint32_t i = 0; i < front.n && m.one && m.found && m.found < front.n; i++)
        if (!m.children[i] && pel_function_code(w->log, c->callee[i]) == m.target->code) { /* a cache answered */
            m.children[i] = example;
            m.found++;
        }
    return m;
}

/* ---- lanes that mean different functions ---- */

/* Lanes that call different functions by a name that the output can't have: each kind gets a text of its own. */
static _Noreturn void split_by(pel_walk *w, pel_front front, const pel_node *node, const pel_id *numbers) {
    /* it has the text of the function that it stands in, and would be split without end */
    if (w->group->is.nested) pel_lost(w, node, "a function within another calls different functions here");
    pel_map part = { 0 };
    for (uint32_t i = 0; i < front.n; i++) {
        pel_id owner = pel_lane_at(w, front, i)->owner;
        uint64_t before;
        if (pel_map_get(&part, owner, &before) && before != numbers[i])
            pel_lost(w, node, "one call of the function calls different functions here");
        pel_map_set(w->ctx, &part, owner, numbers[i]);
    }
    for (uint32_t i = 0; i < front.n; i++) {
        pel_id owner = pel_lane_at(w, front, i)->owner;
        uint64_t old = pel_map_find(&w->s->split, owner, 0);
        pel_map_set(w->ctx, &w->s->split, owner, pel_key2(old, numbers[i]) | 1);
    }
    w->s->regroup = true;
    pel_lost(w, node, "its calls reach different functions here");
}

/* Variants of one function, by what it is given. */
static bool are_variants(const pel_walk *w, pel_front front, const meaning *m) {
    if (m->found < front.n) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_group *group = w->s->group_of[m->children[i]];
        if (group->code != m->target->code || group->class != m->target->class) return false;
    }
    return true;
}

/* Functions that an expression chose, as from a dict. Lambdas in one are there, under its keys. */
static bool are_chosen(const pel_walk *w, pel_front front, const pel_call_site *c, const meaning *m) {
    if (c->base || c->func->text->kind == PEL_Name) return false;
    bool in_place = true;
    for (uint32_t i = 0; i < front.n; i++) {
        if (!pel_function_code(w->log, c->callee[i])) return false;
        in_place &= m->children[i] && w->s->group_of[m->children[i]]->is.nested;
    }
    return !in_place;
}

/* Objects of the author's that can be called are not written, also those that hold nothing. */
static bool are_objects(const pel_walk *w, pel_front front, const pel_call_site *c) {
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_at(w->log, c->callee[i])->kind == PEL_V_OBJECT) return true;
    return false;
}

static bool must_split(const pel_walk *w, pel_front front, const pel_call_site *c, const meaning *m) {
    if (!m->found || m->one) return false;
    if (are_variants(w, front, m)) return true;
    if (pel_calls_modules(w, front, c)) return false;
    return c->func->lost || are_objects(w, front, c) || are_chosen(w, front, c, m);
}

/* ---- straight lines ---- */

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
    if (group->is.root || (group->class && pel_class_at(log, group->class)->kind == PEL_CLASS_MODULE)) return false;
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
    const pel_call_site *c;
    const pel_id *children;
    pel_val *val;
} straight_job;

/* What **kwargs brings, if its parts are known, has names of its own. */
static const pel_parts *named_parts(const pel_call_argument *arg) {
    return arg->stars && arg->val->parts && arg->val->parts->keys ? arg->val->parts : NULL;
}

static pel_val *straight_call(pel_walk *w, pel_front front, const pel_call_site *c, const pel_id *children) {
    const pel_code_object *code = w->log->codes.at[w->log->activations.at[children[0]].code].code;
    uint32_t next = pel_has_receiver(w, c, children[0]), most = 1, n = 0;
    for (uint32_t k = 0; k < c->n_args; k++) most += 1 + (named_parts(&c->args[k]) ? named_parts(&c->args[k])->n : 0);
    pel_val **args = pel_new_array(w->ctx, most, pel_val *);
    pel_name *names = pel_new_array(w->ctx, most, pel_name);
    for (uint32_t k = 0; k < c->n_args; k++) {
        const pel_call_argument *arg = &c->args[k];
        const pel_parts *parts = named_parts(arg);
        for (uint32_t i = 0; parts && i < parts->n; i++) {
            args[n] = parts->items[i];
            names[n++] = parts->keys[i];
        }
        if (parts) continue;
        args[n] = arg->val;
        if (arg->keyword)
            names[n] = arg->keyword;
        else if (!arg->star && !arg->stars && next < code->argcount)
            names[n] = code->varnames.at[next++];
        else
            next = UINT32_MAX; /* behind *args nothing has a number */
        n++;
    }
    /* what ran inside is told by the straight line */
    for (uint32_t i = 0; i < front.n; i++)
        for (pel_id id = children[i]; id < w->log->activations.n && pel_is_below(w->log, id, children[i]); id++)
            w->s->calls.linked[id] = true;
    const pel_passed passed = { args, names, n };
    return pel_finish(w, front, c->node, pel_straight_call(w, front.n, c->node, children, &passed, c->val));
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
        if (group->is.nested || group->class) return false;
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
static bool calls_held(pel_walk *w, pel_front front, pel_call_site *c) {
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

/* Calls by a name that instances have for different functions; or a decorator of torch's calls the function. */
static bool may_be_held(const pel_walk *w, pel_front front, const pel_call_site *c, const meaning *m) {
    if (!m->found) return c->kids.n > 0;
    for (uint32_t i = 1; i < front.n; i++)
        if (!pel_value_same(w->log, c->callee[i], c->callee[0])) return true;
    return false;
}

static void call_held(pel_walk *w, pel_front front, pel_call_site *c, const pel_id *children) {
    pel_mark_pinned(w, c, front, children);
    for (uint32_t i = 0; i < c->kids.n; i++) {
        pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group) continue;
        pel_id callee = c->callee[c->kids.at[i].lane];
        pel_mark_bound(w, callee, group);
        if (group->code == pel_function_code(w->log, callee)) pel_mark_passed(w, c, group, 0);
    }
    pel_plain_call(w, front, c);
}

/* functools.partial(f, scale=x), made by the run: what it passes by itself stands where it was made. */
static bool calls_made_partial(pel_walk *w, pel_front front, const pel_call_site *c) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *partial = pel_value_at(w->log, c->callee[i]);
        if (partial->kind != PEL_V_PARTIAL || !pel_function_code(w->log, partial->items[0])) return false;
    }
    return c->kids.n && pel_dynamic(w, front, c->func);
}

/* ---- the call ---- */

/* Whether all that a call depends on was there before the run, and some of it can't be written. */
static bool asks_fixed_objects(pel_walk *w, pel_front front, const pel_call_site *c) {
    bool lost = false;
    if (c->val->effect || pel_varies(c->val->taint) || (c->base && pel_dynamic(w, front, c->base))) return false;
    for (uint32_t i = 0; i < c->n_args; i++) {
        if (pel_dynamic(w, front, c->args[i].val)) return false;
        lost |= c->args[i].val->lost;
    }
    return lost;
}

static bool call_linked(pel_walk *w, pel_front front, pel_call_site *c, const meaning *m) {
    if (m->found < front.n || !m->one || !pel_link_call(w, front, c, m->target, m->children)) return false;
    for (uint32_t i = 0; i < front.n; i++) w->s->calls.linked[m->children[i]] = true;
    m->target->is.context = is_context(w->log, c->val->at[0]);
    for (uint32_t i = 0; i < front.n && !m->target->is.context; i++)
        c->val->lost |= pel_is_static_object(w->s, c->val->at[i]);
    if (asks_fixed_objects(w, front, c)) pel_write_table(w, front, c->val);
    return true;
}

pel_val *pel_eval_call(pel_walk *w, pel_front front, pel_node *node) {
    pel_call_site c = { .node = node };
    eval_callee(w, front, &c);
    eval_arguments(w, front, &c);
    eval_result(w, front, &c);
    pel_choose_callees(w, &c.kids, pel_varies(c.func->taint));
    if (front.n == 0) pel_lost(w, node, "no lane comes by here");
    pel_val *known = pel_drop_call(w, front, &c);
    if (!known) known = call_on_parts(w, front, &c);
    if (known) return known;
    pel_call_autograd(w, front, &c);
    pel_call_operator(w, front, &c);
    if (pel_on_records(w, &c.kids)) { /* they are written whole: what their methods do is not looked at */
        if (!c.func->lost && !asks_fixed_objects(w, front, &c)) pel_refuse_own_protocol(w, &c.kids);
        pel_forget_kids(w, &c.kids);
        c.kids.n = 0;
    }
    const meaning m = who_is_meant(w, front, &c);
    w->diverged |= m.found && !m.one;
    if (m.found == front.n && are_straight(w, front, m.children)) {
        straight_job job = { w, front, &c, m.children, NULL };
        pel_err err;
        if (pel_attempt(w->ctx, try_straight, &job, &err)) return job.val;
        if (only_passes_on(w)) pel_lost(w, node, "%s", err.what); /* whoever called it knows more */
    }
    if (calls_made_partial(w, front, &c)) {
        call_held(w, front, &c, m.children);
        c.val->taint = pel_computed_taint(w, front, c.val, true);
    } else if (!call_linked(w, front, &c, &m)) {
        if (may_be_held(w, front, &c, &m) && calls_held(w, front, &c)) {
            call_held(w, front, &c, m.children);
        } else {
            if (must_split(w, front, &c, &m)) split_by(w, front, node, m.numbers);
            pel_call_outside(w, front, &c, m.children);
        }
    }
    return pel_finish(w, front, node, c.val);
}
