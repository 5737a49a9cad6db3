/* What calls pass that are written as they stand: parameters, functions that somebody else calls then, whose signatures
 * stay, and lists, dicts and sets that may be changed there. */
#include "trace/walk/call.h"
#include "trace/walk/expr.h"

static void mark_param(pel_walk *w, pel_param *param, const pel_val *given, pel_map *here) {
    param->passed = true;
    pel_map_set(w->ctx, here, PEL_KEY(param), 1);
    if (pel_taint_grow(w->ctx, &param->taint, given->taint)) w->s->facts.changed = true;
}

/* The arguments from one on are passed to a function; next: the parameter that the first positional one means. */
static void mark_from(pel_walk *w, const pel_call_site *c, uint32_t first, pel_group *group, uint32_t next) {
    pel_map here = { 0 };
    for (uint32_t a = first; a < c->n_args; a++) {
        const pel_call_argument *arg = &c->args[a];
        pel_param *param =
            arg->keyword ? pel_param_for(group, arg->keyword)
            : !arg->star && !arg->stars && next < group->n_params && group->params[next].kind != PEL_PARAM_STAR
                ? &group->params[next++]
                : NULL;
        if (param) mark_param(w, param, arg->val, &here);
        const pel_parts *parts = arg->stars ? arg->val->parts : NULL;
        for (uint32_t k = 0; parts && parts->keys && k < parts->n; k++)
            if ((param = pel_param_for(group, parts->keys[k]))) mark_param(w, param, parts->items[k], &here);
    }
    for (uint32_t p = 0; p < group->n_params; p++)
        group->params[p].left_out |= !pel_map_has(&here, PEL_KEY(&group->params[p]));
}

void pel_mark_passed(pel_walk *w, const pel_call_site *c, pel_group *group, uint32_t next) {
    mark_from(w, c, 0, group, next);
}

static void mark_given(pel_walk *w, pel_param *param) {
    param->passed = true;
    if (pel_taint_grow(w->ctx, &param->taint, &pel_tainted)) w->s->facts.changed = true;
}

void pel_mark_bound(pel_walk *w, pel_id callee, pel_group *group) {
    const pel_value *partial = pel_value_at(w->log, callee);
    if (partial->kind != PEL_V_PARTIAL) return;
    const pel_value *named = pel_value_at(w->log, partial->items[2]);
    uint32_t own = pel_value_at(w->log, partial->items[0])->kind == PEL_V_METHOD; /* self comes with the method */
    for (uint32_t p = 0; p < pel_value_at(w->log, partial->items[1])->n && own + p < group->n_params; p++)
        mark_given(w, &group->params[own + p]);
    for (uint32_t k = 0; k + 1 < named->n; k += 2) {
        const pel_value *key = pel_value_at(w->log, named->items[k]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) continue;
        pel_str text = key->constant->text;
        pel_param *param = pel_param_for(group, pel_intern_str(w->ctx, text));
        if (param) mark_given(w, param);
    }
}

/* functools.partial(f, scale=x), made by the run: whoever calls it, here or from a library, passes that to f. */
void pel_mark_bound_here(pel_walk *w, pel_front front, const pel_call_site *c) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *made = pel_value_at(w->log, c->val->at[i]);
        pel_id code = made->kind == PEL_V_PARTIAL ? pel_function_code(w->log, made->items[0]) : 0;
        for (uint32_t g = 0; code && g < w->s->groups.n; g++)
            if (w->s->groups.at[g]->code == code) pel_mark_bound(w, c->val->at[i], w->s->groups.at[g]);
    }
}

/* Whether a value is what runs in an activation, as a library that calls it back gets it: a module, a function. */
static bool is_run_by(const pel_log *log, pel_id value, const pel_group *group, pel_id activation) {
    const pel_value *row = pel_value_at(log, value);
    if (row->kind == PEL_V_FUNCTION) return row->code == group->code;
    const pel_value *self = row->kind == PEL_V_METHOD ? pel_value_at(log, row->items[0]) : row;
    if (self->kind != PEL_V_MODULE || !group->class || !group->n_params) return false;
    const pel_value *own = pel_value_at(log, log->activations.at[activation].locals[group->params[0].local]);
    return own->kind == PEL_V_MODULE && own->module == self->module;
}

/* checkpoint(block, x, mask): the library hands what stands behind the block on to it. */
static void mark_handed_on(pel_walk *w, const pel_call_site *c, const pel_child *kid, pel_group *group) {
    for (uint32_t a = 0; a < c->n_args; a++) {
        if (c->args[a].keyword || c->args[a].star || c->args[a].stars) return;
        if (!is_run_by(w->log, c->args[a].val->at[kid->lane], group, kid->activation)) continue;
        mark_from(w, c, a + 1, group, group->class != 0);
        return;
    }
}

/* max(items, key=f), reduce(f, items): what comes to f is made of the other arguments. torch's functions hand them on
 * as they are. */
static void mark_called_back(pel_walk *w, const pel_call_site *c, const pel_value *callee, pel_group *group) {
    const pel_taint *given = NULL;
    if (callee->kind == PEL_V_LIBRARY && pel_str_starts(callee->text, PEL_STR("torch."))) return;
    if (c->base && c->base->taint && callee->kind != PEL_V_LIBRARY)
        given = pel_taint_join(w->ctx, given, pel_taint_any(c->base->taint));
    for (uint32_t a = 0; a < c->n_args; a++)
        given = pel_taint_join(w->ctx, given, pel_taint_any(c->args[a].val->taint));
    for (uint32_t p = group->class != 0; p < group->n_params; p++)
        if (pel_taint_grow(w->ctx, &group->params[p].taint, given)) w->s->facts.changed = true;
}

void pel_mark_pinned(pel_walk *w, const pel_call_site *c, pel_front front, const pel_id *children) {
    for (uint32_t i = 0; i < c->kids.n; i++) {
        pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group) continue;
        group->is.pinned = true;
        const pel_value *callee = pel_value_at(w->log, c->callee[c->kids.at[i].lane]);
        if (callee->kind == PEL_V_PARTIAL && callee->n > 1) /* it hands on what it is given, behind its own */
            pel_mark_passed(w, c, group, (group->class != 0) + pel_value_at(w->log, callee->items[1])->n);
        else if (callee->kind == PEL_V_LIBRARY) {
            mark_handed_on(w, c, &c->kids.at[i], group);
            mark_called_back(w, c, callee, group);
        } else if (children[c->kids.at[i].lane] != c->kids.at[i].activation) { /* super().get(key): __getitem__ */
            mark_called_back(w, c, callee, group);
        }
    }
    for (uint32_t i = 0; i < front.n; i++) {
        pel_group *group = children[i] ? w->s->group_of[children[i]] : NULL;
        if (group) pel_mark_passed(w, c, group, pel_has_receiver(w, c, children[i]));
    }
}

/* ---- containers ---- */

/* Methods of Python's own values change the value, never what they are given: others.extend(items). */
static bool is_of_plain_value(const pel_walk *w, pel_id receiver) {
    const pel_value *value = pel_value_at(w->log, receiver);
    uint8_t kind = value->kind;
    /* a context variable keeps what it is given; whoever takes it out of there says what becomes of it */
    if (kind == PEL_V_LITERAL && pel_str_starts(value->text, PEL_STR("contextvars.ContextVar("))) return true;
    return kind == PEL_V_CONST || kind == PEL_V_TUPLE || kind == PEL_V_SIZE || kind == PEL_V_LIST ||
           kind == PEL_V_SET || kind == PEL_V_FROZENSET || kind == PEL_V_DICT || kind == PEL_V_RANGE ||
           kind == PEL_V_TENSOR || kind == PEL_V_MODULE;
}

/* What gives a value and does nothing else, or hands on what is in its arguments. torch's functions look into lists. */
static bool is_reader(pel_str path) {
    return pel_library_pure(path) || pel_library_hands_on(path) || pel_str_starts(path, PEL_STR("torch.")) ||
           pel_str_is(path, "setattr") || pel_str_is(path, "print");
}

/* Functions of the library that are not known only to read, and objects that are called. */
static bool may_change_arguments(const pel_walk *w, const pel_call_site *c, pel_id callee) {
    const pel_value *value = pel_value_at(w->log, callee);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_LIBRARY: return !is_reader(value->text);
    case PEL_V_OBJECT:
    case PEL_V_OPAQUE:
    case PEL_V_LITERAL:
    case PEL_V_PARTIAL: return !c->kids.n;
    case PEL_V_METHOD:
        return value->n > 1 && !c->kids.n && pel_value_at(w->log, value->items[1])->kind == PEL_V_LIBRARY &&
               !is_of_plain_value(w, value->items[0]);
    case PEL_V_NONE_YET:
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_TENSOR:
    case PEL_V_MODULE:
    case PEL_V_FUNCTION:
    case PEL_V_CLASS: return false; /* the author's text says what happens; methods are asked by what they belong to */
    }
    return true;
}

void pel_note_given_away(pel_walk *w, pel_front front, const pel_call_site *c) {
    bool may_change = false;
    for (uint32_t i = 0; i < front.n; i++) may_change |= may_change_arguments(w, c, c->callee[i]);
    for (uint32_t k = 0; may_change && k < c->n_args; k++) {
        const pel_val *arg = c->args[k].val;
        uint8_t kind = front.n ? pel_value_at(w->log, arg->at[0])->kind : PEL_V_NONE_YET;
        if (kind != PEL_V_LIST && kind != PEL_V_DICT && kind != PEL_V_SET) continue;
        pel_fill(w, front, arg->text, arg->at, true);
        if (arg->text->kind == PEL_Name && pel_is_local(w, arg->text->Name.id))
            pel_env_slot(w, arg->text->Name.id)->taint = &pel_tainted;
    }
}

/* ---- what library functions choose ---- */

/* max(scores), where scores are objects of the author's that the run made: which of them it is hangs on what they hold.
 */
static bool chooses_object(const pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee) {
    if (callee->kind != PEL_V_LIBRARY) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, c->val->at[i]);
        bool is_record = value->class && (value->kind == PEL_V_OBJECT || value->kind == PEL_V_TUPLE);
        if (is_record && pel_class_at(w->log, value->class)->kind != PEL_CLASS_LIBRARY) return true;
    }
    return false;
}

#define DEEPEST_ASKED 6 /* of containers in containers; what lies deeper may be anything */

/* A tuple, list or dict with something in it that is no tensor. */
static bool holds_plain(const pel_walk *w, pel_id id, uint32_t depth) {
    const pel_value *value = pel_value_at(w->log, id);
    bool is_container = value->kind == PEL_V_TUPLE || value->kind == PEL_V_LIST || value->kind == PEL_V_DICT;
    if (!is_container || depth > DEEPEST_ASKED) return !pel_live(w->s, id) || depth > DEEPEST_ASKED;
    for (uint32_t i = 0; i < value->n; i++)
        if (holds_plain(w, value->items[i], depth + 1)) return true;
    return false;
}

/* next(pieces, (0, x)), max(pairs): tensors in what it gives show that it depends on them; the numbers beside them do
 * not. Torch's functions say of themselves what they give. */
static bool gives_some_of_many(const pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee) {
    if (callee->kind != PEL_V_LIBRARY || pel_str_starts(callee->text, PEL_STR("torch."))) return false;
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_value_has_items(pel_value_at(w->log, c->val->at[i])->kind) && holds_plain(w, c->val->at[i], 0))
            return true;
    return false;
}

bool pel_gives_chosen(const pel_walk *w, pel_front front, const pel_call_site *c, bool live) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    return chooses_object(w, front, c, callee) || (live && gives_some_of_many(w, front, c, callee));
}
