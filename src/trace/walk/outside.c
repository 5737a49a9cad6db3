/* Calls of what we don't write: of torch, libraries and classes, of what can't be followed. They are written as they
 * stand; what is known of them says whether they may go, and whether data decide their result. */
#include "trace/walk/call.h"

/* ---- the text ---- */

static bool all_constants(const pel_parts *parts) {
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->items[i]->text->kind != PEL_Constant) return false;
    return true;
}

static uint32_t how_many_have(const pel_walk *w, pel_front front, const pel_val *dict, pel_name key) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, dict->at[i]);
        n += value->kind == PEL_V_DICT && pel_item_named(w->log, value, key);
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
    if (val->text->kind == PEL_Tuple && (val->parts || !val->text->Tuple.elts.n)) {
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
            item->optional->forwarded = true; /* signature.c says how, or that it can't be */
            item->text = pel_make_name(w->ctx, item->optional->name, PEL_Load);
        }
        add_keyword(w, text, parts->keys[k], item->text);
    }
}

/* Fields that the call leaves to their defaults, which the output's classes don't have, but for None. */
static void add_defaults(pel_walk *w, pel_front front, const pel_call_site *c, const pel_log_class *class,
                         pel_node *text) {
    for (uint32_t i = 0; i < c->n_args; i++)
        if (c->args[i].star || c->args[i].stars) return;
    for (uint32_t f = text->Call.args.n; f < class->fields.n; f++) {
        bool is_given = false;
        for (uint32_t i = 0; i < c->n_args; i++) is_given |= c->args[i].keyword == class->fields.at[f];
        pel_id first = pel_item_named(w->log, pel_value_at(w->log, c->val->at[0]), class->fields.at[f]);
        bool same = first && pel_plain(w->s, first);
        for (uint32_t i = 0; i < front.n && same; i++) {
            pel_id one = pel_item_named(w->log, pel_value_at(w->log, c->val->at[i]), class->fields.at[f]);
            same = one && pel_value_same(w->log, one, first);
        }
        pel_node *value = same && !is_given ? pel_value_expression(w->ctx, w->s->program, first) : NULL;
        if (value && !pel_is_none(value)) add_keyword(w, text, class->fields.at[f], value);
    }
}

static pel_node *plain_call_text(pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee) {
    bool is_record = callee->kind == PEL_V_CLASS && pel_class_at(w->log, callee->class)->kind == PEL_CLASS_DATACLASS;
    pel_node *text = pel_shallow(w, c->node);
    text->Call.func = c->func->text;
    text->Call.args = text->Call.keywords = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < c->n_args; i++) {
        const pel_call_argument *arg = &c->args[i];
        if (arg->star)
            add_starred(w, text, arg->val);
        else if (arg->stars)
            add_double_starred(w, front, text, arg->val);
        else if (!arg->keyword)
            pel_nodes_push(w->ctx, &text->Call.args, arg->val->text);
        else if (!is_record || !pel_is_none(arg->val->text)) /* None is the default of every field */
            add_keyword(w, text, arg->keyword, arg->val->text);
    }
    if (is_record) add_defaults(w, front, c, pel_class_at(w->log, callee->class), text);
    return text;
}

/* ---- what it does ---- */

/* What is known of a call that is written as it stands. */
typedef struct {
    bool dynamic;  /* asked by, or about, what differs from call to call */
    bool pure;     /* changes nothing: it may be left out where nobody reads its result */
    bool settled;  /* gives the same for all data, even where data is asked */
    bool hands_on; /* gives what is in its arguments */
    bool ambient;  /* gives what the surroundings say: the default dtype, a random number */
    bool calls;    /* functions of the author's, which give what depends on data */
} nature;

/* np.put_along_axis(...): who returns nothing does something */
static bool returned_none(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *result = pel_value_at(w->log, val->at[i]);
        if (result->kind == PEL_V_CONST && result->constant->kind == PEL_CONST_NONE) return true;
    }
    return false;
}

static bool is_fixed_length(pel_walk *w, pel_front front, const pel_val *of) {
    bool asks_rank = false;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, of->at[i])->kind;
        if (kind != PEL_V_SIZE && (kind == PEL_V_TENSOR || pel_taint_counts(of->taint))) return false;
        asks_rank |= kind == PEL_V_SIZE;
    }
    return !asks_rank || pel_ask_rank(w, front, of);
}

/* What is asked of x's type is answered for good. Where lanes have different answers the question stays in the text and
 * nothing is asserted; but if with other arguments a lane could have another answer, the answer is no constant of it:
 * what is folded behind the question would go with the calls that came that way. */
static bool is_settled_type(pel_walk *w, pel_front front, const pel_call_site *c) {
    const pel_val *of = c->args[0].val;
    return pel_all_same(w, front, c->val->at) ? pel_ask_type(w, front, of) : !pel_taint_maybe_other_type(of->taint);
}

/* getattr(x, "name"), hasattr(x, "name"): as settled as x.name is. */
static bool is_settled_attribute(pel_walk *w, pel_front front, const pel_call_site *c) {
    if (c->n_args < 2 || c->args[0].star || c->args[1].star) return false;
    bool asks_value = pel_value_at(w->log, c->callee[0])->text.ptr[0] == 'g';
    for (uint32_t i = 1; i < c->n_args; i++)
        if (pel_dynamic(w, front, c->args[i].val)) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *key = pel_value_at(w->log, c->args[1].val->at[i]);
        pel_id holder = c->args[0].val->at[i];
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) return false;
        pel_name name = pel_intern_str(w->ctx, key->constant->text);
        if (pel_is_written(w->s, holder, name) || (asks_value && pel_name_is(name, "training"))) return false;
        if (pel_map_has(&w->s->objects.given, pel_value_at(w->log, holder)->object)) return false; /* another has it */
        const pel_taint *held = pel_attribute_depends(w->s, holder, name, c->args[0].val->taint);
        if (asks_value && pel_varies(held)) return false;
    }
    return is_settled_type(w, front, c);
}

/* isinstance(x, ...): what is asked about x, and what it is otherwise, may hang on data still.
 * And of a number that callers give another one may be of another type. */
static bool is_settled(pel_walk *w, pel_front front, const pel_call_site *c, pel_str path) {
    if (!pel_library_settled(path)) return false;
    if (pel_str_is(path, "getattr") || pel_str_is(path, "hasattr")) return is_settled_attribute(w, front, c);
    if (pel_asks_kind_of_tensor(w, front, c, path)) return false;
    for (uint32_t i = 1; i < c->n_args; i++)
        if (pel_dynamic(w, front, c->args[i].val)) return false;
    return !c->n_args || is_settled_type(w, front, c);
}

static void ask_library(pel_walk *w, pel_front front, const pel_call_site *c, pel_str path, nature *out) {
    bool is_dotted = path.len && memchr(path.ptr, '.', path.len);
    out->settled = is_settled(w, front, c, path);
    if (out->dynamic && !out->settled) pel_refuse_author_s_class(w, front, c, path);
    bool asks_attribute = pel_str_is(path, "getattr") || pel_str_is(path, "hasattr");
    out->dynamic |= asks_attribute && !out->settled;
    out->hands_on = pel_library_hands_on(path);
    out->ambient = pel_library_ambient(path) || (!c->n_args && pel_library_asks_torch(path));
    bool for_effect = is_dotted && returned_none(w, front, c->val) && !pel_library_asks_settings(path);
    out->pure = pel_library_pure(path) && !for_effect;
    if (pel_str_is(path, "torch.squeeze") && c->n_args == 1) pel_note_squeeze(w);
    if (pel_str_is(path, "len") && c->n_args == 1) out->settled = is_fixed_length(w, front, c->args[0].val);
}

static void ask_class(pel_walk *w, const pel_call_site *c, pel_id which, nature *out) {
    pel_class_kind kind = pel_class_at(w->log, which)->kind;
    out->pure = kind == PEL_CLASS_LIBRARY || kind == PEL_CLASS_DATACLASS || kind == PEL_CLASS_NAMEDTUPLE;
    /* those who fill objects of the author's say what is in them; of the others nobody does */
    out->settled = kind != PEL_CLASS_LIBRARY && kind != PEL_CLASS_ENUM && (kind != PEL_CLASS_AUTHOR || c->kids.n);
    if (kind != PEL_CLASS_LIBRARY && kind != PEL_CLASS_TORCH_MODULE) pel_class_row(w->ctx, w->s->program, which);
}

static void ask_modules(pel_walk *w, pel_front front, const pel_call_site *c, nature *out) {
    out->pure = !c->kids.n;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        out->pure &= callee->kind == PEL_V_MODULE && pel_module_pure(w->log, callee->module);
    }
}

static void ask_method(pel_walk *w, pel_front front, const pel_call_site *c, nature *out) {
    pel_name name = c->node->Call.func->Attribute.attr;
    bool is_asked_by_data = false, is_rank = pel_name_is(name, "dim") || pel_name_is(name, "ndimension");
    for (uint32_t i = 0; i < c->n_args; i++) is_asked_by_data |= pel_dynamic(w, front, c->args[i].val);
    out->pure = out->settled = true;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, c->base->at[i])->kind;
        bool is_container =
            kind == PEL_V_DICT || kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_SET || kind == PEL_V_CONST;
        out->pure &= pel_method_pure(kind, name);
        out->settled &=
            (kind == PEL_V_TENSOR && is_rank) || (is_container && pel_is_constant(c->base->taint) && !is_asked_by_data);
    }
    if (is_rank && out->settled) out->settled = pel_ask_rank(w, front, c->base);
    if (pel_name_is(name, "squeeze") && !c->n_args) pel_note_squeeze(w);
}

/* np.random.rand is a method of an object that the module holds. */
static void ask_owner(const pel_walk *w, const pel_call_site *c, const pel_value *callee, nature *out) {
    if (callee->kind == PEL_V_METHOD && callee->n > 1 && pel_value_at(w->log, callee->items[1])->kind == PEL_V_LIBRARY)
        out->ambient |= pel_library_ambient(pel_value_at(w->log, callee->items[1])->text);
    const pel_value *owner = c->base ? pel_value_at(w->log, c->base->at[0]) : NULL;
    if (!owner || owner->kind != PEL_V_LIBRARY) return;
    pel_str path = pel_format(w->ctx, "%.*s.%s", PEL_FMT(owner->text), c->node->Call.func->Attribute.attr->text);
    out->ambient |= pel_library_ambient(path);
    if (pel_str_starts(path, PEL_STR("numpy.random."))) out->pure = false;
}

/* A call is as pure as the functions of the author's that it calls back, and gives what depends on data if these do;
 * getattr, len, isinstance ask a fixed object. */
static void ask_callbacks(pel_walk *w, const pel_call_site *c, const pel_value *callee, nature *out) {
    for (uint32_t i = 0; i < c->kids.n && callee->kind == PEL_V_LIBRARY; i++) {
        const pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group || pel_is_constant(pel_taint_fact(group->facts.result))) continue;
        out->dynamic = out->calls = true;
        out->settled = false;
    }
    for (uint32_t i = 0; i < c->kids.n; i++) {
        if (!out->dynamic && out->pure && callee->kind == PEL_V_LIBRARY) {
            w->s->calls.linked[c->kids.at[i].activation] = true;
            continue;
        }
        const pel_group *group = w->s->group_of[c->kids.at[i].activation];
        if (!group || group->facts.has_effect) out->pure = false;
    }
}

/* An object of a library's class that the run itself made: contextlib.ExitStack() */
static bool is_tool_of_the_run(const pel_walk *w, pel_id id) {
    const pel_value *value = pel_value_at(w->log, id);
    return value->kind == PEL_V_OBJECT && value->class &&
           pel_class_at(w->log, value->class)->kind == PEL_CLASS_LIBRARY &&
           !pel_map_has(&w->s->objects.old, value->object);
}

static nature nature_of(pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee) {
    nature out = { .dynamic = c->base && pel_dynamic(w, front, c->base) };
    for (uint32_t i = 0; i < c->n_args; i++) out.dynamic |= pel_dynamic(w, front, c->args[i].val);
    if (callee->kind == PEL_V_LIBRARY)
        ask_library(w, front, c, callee->text, &out);
    else if (callee->kind == PEL_V_CLASS)
        ask_class(w, c, callee->class, &out);
    else if (callee->kind == PEL_V_MODULE)
        ask_modules(w, front, c, &out);
    if (c->base && !out.pure && callee->kind != PEL_V_MODULE) ask_method(w, front, c, &out);
    ask_owner(w, c, callee, &out);
    if (pel_is_autograd(w, c)) out.pure = true;
    ask_callbacks(w, c, callee, &out);
    out.calls |= callee->kind == PEL_V_LIBRARY && pel_is_lazy_data(w, front, c, callee->text);
    if (callee->kind == PEL_V_FUNCTION && !pel_ran(w->s, callee->code)) {
        if (out.dynamic) pel_lost(w, c->node, "a cache answered here, and the function behind it never ran");
        out.pure = true;
    }
    /* What was there before the run and can't be written changes for nobody: all that is read from it is known. */
    const pel_val *asked = c->base ? c->base : c->func;
    if (asked->lost && !out.dynamic && !asked->effect && !is_tool_of_the_run(w, asked->at[0])) out.pure = true;
    return out;
}

/* torch.mul(a, b, out=c), F.relu(x, True): it changes what it is given. */
static bool changes_given(const pel_call_site *c, const pel_value *callee) {
    int place = callee->kind == PEL_V_LIBRARY ? pel_library_option(callee->text) : -1;
    for (uint32_t i = 0; i < c->n_args; i++) {
        const pel_node *text = c->args[i].val->text;
        bool asked = c->args[i].keyword ? pel_is_option(c->args[i].keyword) : (int)i == place;
        asked |= c->args[i].star && place >= (int)i;
        if (asked && !pel_is_none(text) && !pel_is_truth(text, false)) return true;
    }
    return false;
}

/* The object whose method changes it: others may hold it, and lst.append(x.dtype) makes it depend on data. */
static void note_changed(pel_walk *w, pel_front front, const pel_call_site *c) {
    if (pel_value_at(w->log, c->base->at[0])->kind == PEL_V_LITERAL) pel_note_sharing(w);
    bool with_data = false;
    for (uint32_t i = 0; i < c->n_args; i++) with_data |= pel_taint_holds_data(c->args[i].val->taint);
    const pel_node *object = c->node->Call.func->Attribute.value;
    pel_fill(w, front, object, c->base->at, with_data);
    if (with_data && object->kind == PEL_Name && !c->base->lost) pel_env_slot(w, object->Name.id)->taint = &pel_tainted;
}

/* What one round gets of an iterable, and whether data say how many rounds there are. */
static const pel_taint *taint_of_round(const pel_walk *w, const pel_val *iterable, bool *counts) {
    bool is_size = pel_value_at(w->log, iterable->at[0])->kind == PEL_V_SIZE;
    bool is_tensor = pel_value_at(w->log, iterable->at[0])->kind == PEL_V_TENSOR; /* as many as its first size says */
    *counts = is_tensor || (pel_taint_counts(iterable->taint) && !is_size);
    return pel_taint_any(iterable->taint);
}

static const pel_taint *taint_of_zip(pel_walk *w, const pel_call_site *c) {
    const pel_taint **parts = pel_new_array(w->ctx, c->n_args, const pel_taint *);
    for (uint32_t i = 0; i < c->n_args; i++) {
        bool counts;
        parts[i] = taint_of_round(w, c->args[i].val, &counts);
        if (counts || c->args[i].star) return &pel_tainted; /* rounds that were not seen have other constants */
    }
    return pel_taint_each(w->ctx, pel_taint_tuple(w->ctx, parts, c->n_args));
}

/* What it hands on is what the arguments hold, not that they do: a dict of tensors has keys that depend on nothing. */
static const pel_taint *taint_of_content(pel_walk *w, const pel_call_site *c, pel_str path) {
    bool any = false, counts;
    for (uint32_t i = 0; i < c->n_args; i++)
        any |= pel_varies(c->args[i].val->taint) || pel_value_at(w->log, c->args[i].val->at[0])->kind == PEL_V_TENSOR;
    if (!any) return pel_constant(PEL_WHY_COMPUTED);
    if (pel_str_is(path, "zip")) return taint_of_zip(w, c);
    if (pel_str_is(path, "dict")) return pel_taint_each(w->ctx, &pel_tainted);
    const pel_taint *item = taint_of_round(w, c->args[0].val, &counts),
                    *numbered[] = { pel_constant(PEL_WHY_COMPUTED), item };
    if (counts && pel_is_constant(c->args[0].val->taint))
        return pel_str_is(path, "enumerate") ? &pel_tainted : &pel_tainted_count;
    if (counts) return c->args[0].val->taint;
    return pel_taint_each(w->ctx, pel_str_is(path, "enumerate") ? pel_taint_tuple(w->ctx, numbered, 2) : item);
}

/* x.chunk(3): how many there are is a question of sizes. */
static bool is_cut_by_torch(const pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee) {
    bool is_torch = callee->kind == PEL_V_LIBRARY && pel_str_starts(callee->text, PEL_STR("torch."));
    if (!is_torch && !(c->base && pel_value_at(w->log, c->base->at[0])->kind == PEL_V_TENSOR)) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *made = pel_value_at(w->log, c->val->at[i]);
        if ((made->kind != PEL_V_TUPLE && made->kind != PEL_V_LIST) || made->class) return false;
        for (uint32_t k = 0; k < made->n; k++)
            if (pel_value_at(w->log, made->items[k])->kind != PEL_V_TENSOR) return false;
    }
    return true;
}

/* Box(n, width=w): a record that the author declares, and no function of the author's fills. */
static void note_record(pel_walk *w, pel_front front, const pel_call_site *c, pel_id which) {
    const pel_log_class *class = pel_class_at(w->log, which);
    if (class->kind != PEL_CLASS_DATACLASS && class->kind != PEL_CLASS_NAMEDTUPLE) return;
    for (uint32_t i = 0; i < c->n_args; i++) {
        const pel_call_argument *arg = &c->args[i];
        bool is_one = !arg->star && !arg->stars;
        for (uint32_t f = 0; f < class->fields.n; f++)
            if (!is_one || (arg->keyword ? arg->keyword == class->fields.at[f] : f == i))
                pel_tell_readers(w, front, class->fields.at[f], c->val->at, arg->val->taint);
        if (pel_varies(arg->val->taint) && class->kind == PEL_CLASS_NAMEDTUPLE)
            c->val->taint = pel_taint_each(w->ctx, &pel_tainted);
    }
}

/* What functions of the author's gave that ran while a call did. */
static const pel_taint *of_kids(pel_walk *w, const pel_call_site *c) {
    const pel_taint *all = NULL;
    for (uint32_t i = 0; i < c->kids.n; i++) {
        const pel_group *group = w->s->group_of[c->kids.at[i].activation];
        all = pel_taint_join(w->ctx, all, group ? pel_taint_fact(group->facts.result) : &pel_taint_unknown);
    }
    return all;
}

/* What stands before the dot; super() is the function's own first argument. */
static pel_id object_asked(const pel_walk *w, const pel_lane *lane, pel_id base) {
    const pel_value *value = pel_value_at(w->log, base);
    if (value->kind != PEL_V_OPAQUE || !pel_str_is(value->text, "super") || !w->group->n_params) return base;
    pel_id self = w->log->activations.at[lane->owner].locals[w->group->params[0].local];
    uint64_t object = pel_value_at(w->log, self)->object;
    return pel_map_has(&w->s->objects.old, object) && !pel_map_has(&w->s->facts.filled, object) ? self : base;
}

static const pel_taint *of_method(pel_walk *w, pel_front front, const pel_call_site *c) {
    const pel_taint *all = NULL;
    for (uint32_t i = 0; c->base && i < front.n; i++) {
        pel_id object = object_asked(w, pel_lane_at(w, front, i), c->base->at[i]);
        all = pel_taint_join(w->ctx, all, pel_method_depends(w->s, object, c->node->Call.func->Attribute.attr));
        if (object != c->base->at[i]) all = pel_taint_join(w->ctx, all, pel_taint_fact(w->group->params[0].taint));
    }
    return all ? all : &pel_taint_unknown;
}

/* What a call gives that no data came by, and that is no tensor. */
static const pel_taint *of_constants(pel_walk *w, pel_front front, const pel_call_site *c, const pel_value *callee,
                                     const nature *known) {
    if (known->dynamic) return known->settled ? pel_constant(PEL_WHY_ASKED) : &pel_tainted;
    switch ((pel_value_kind)callee->kind) {
    case PEL_V_LIBRARY: return known->pure ? pel_constant(PEL_WHY_COMPUTED) : &pel_taint_unknown;
    case PEL_V_CLASS: return pel_constant(PEL_WHY_PARTS);
    case PEL_V_FUNCTION: /* a cache answered what was asked by constants */
        if (!c->kids.n && known->pure) return pel_constant(PEL_WHY_COMPUTED);
        return of_kids(w, c);
    case PEL_V_METHOD:
        if (c->kids.n) return of_kids(w, c);
        return of_method(w, front, c);
    case PEL_V_NONE_YET: return c->kids.n ? of_kids(w, c) : of_method(w, front, c);
    case PEL_V_MODULE:
    case PEL_V_PARTIAL:
    case PEL_V_OBJECT: return c->kids.n ? of_kids(w, c) : &pel_taint_unknown;
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
    case PEL_V_LITERAL:
    case PEL_V_OPAQUE: return &pel_taint_unknown;
    }
    return &pel_taint_unknown;
}

/* x.sum(-1, keepdim=flag), x.sum(-1, flag) */
static bool keeps_dims(const pel_walk *w, const pel_call_site *c, uint32_t i) {
    const pel_call_argument *arg = &c->args[i];
    if (arg->keyword) return pel_name_is(arg->keyword, "keepdim") || pel_name_is(arg->keyword, "keepdims");
    const pel_value *value = pel_value_at(w->log, arg->val->at[0]);
    bool is_flag = value->kind == PEL_V_CONST &&
                   (value->constant->kind == PEL_CONST_TRUE || value->constant->kind == PEL_CONST_FALSE);
    return is_flag && i > 0;
}

void pel_plain_call(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    pel_val *val = c->val;
    if (callee->kind == PEL_V_LIBRARY && pel_is_foreign_operator(callee->text) && c->func->text->kind != PEL_Name)
        pel_lost(w, c->node,
                 "%.*s is an operator that torch does not bring, without a Python function that the file could have "
                 "(torch.library.custom_op); module= takes a part that does not call it",
                 PEL_FMT(callee->text));
    val->text = plain_call_text(w, front, c, callee);
    val->lost = c->func->lost;
    for (uint32_t i = 0; i < c->n_args; i++) val->lost |= c->args[i].val->lost;
    pel_refuse_changed_holder(w, front, c);
    nature known = nature_of(w, front, c, callee);
    bool gives_tensor = false;
    for (uint32_t i = 0; i < front.n; i++) gives_tensor |= pel_value_at(w->log, val->at[i])->kind == PEL_V_TENSOR;
    for (uint32_t i = 0; i < c->n_args && gives_tensor; i++) {
        pel_note_rank_given(w, front, c->args[i].val);
        if (keeps_dims(w, c, i) && pel_varies(c->args[i].val->taint)) pel_note_squeeze(w);
    }
    if (callee->kind == PEL_V_FUNCTION && !pel_ran(w->s, callee->code)) /* a cache answered: nobody knows how */
        pel_map_set(w->ctx, &w->s->notes.unwritable, PEL_KEY(val->text), 1);
    if (!known.pure && c->base) note_changed(w, front, c);
    if (!known.pure) pel_note_given_away(w, front, c);
    if (!known.pure || changes_given(c, callee) || (w->tried && known.dynamic && !known.settled)) {
        pel_note_node(w->s, val->text, PEL_NOTE_EFFECT);
        val->effect = true;
    }
    bool live = true;
    for (uint32_t i = 0; i < front.n; i++) live &= val->at[i] && pel_live(w->s, val->at[i]);
    if (known.calls || (!live && ((known.dynamic && !known.settled && !known.hands_on) || known.ambient)))
        val->taint = &pel_tainted;
    else if (known.hands_on)
        val->taint = taint_of_content(w, c, callee->text);
    else if (known.dynamic && pel_gives_chosen(w, front, c, live))
        val->taint = &pel_tainted;
    else if (live && is_cut_by_torch(w, front, c, callee))
        val->taint = &pel_tainted_count;
    else if (live)
        val->taint = pel_taint_sum(c->base ? pel_taint_of_part(w, front, c->base, val) : NULL,
                                   pel_is_taken_out(w, front, c->base) ? PEL_WHY_HELD : PEL_WHY_TENSOR);
    else
        val->taint = of_constants(w, front, c, callee, &known);
    if (callee->kind == PEL_V_CLASS) note_record(w, front, c, callee->class);
    for (uint32_t i = 0; i < front.n; i++) val->lost |= pel_is_static_object(w->s, val->at[i]);
}

/* ---- what modules are asked for ---- */

/* Whether a module has something under a name, and not None. */
static bool has_some(const pel_walk *w, pel_id module, pel_name attribute) {
    const pel_log_module *row = pel_module_at(w->log, module);
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->child_names.at[i] == attribute) return row->children[i] != 0;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (row->parameters[i].name == attribute) return row->parameters[i].tensor != 0;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].name == attribute) return row->buffers[i].tensor != 0;
    const pel_value *value = pel_value_at(w->log, pel_module_attribute(w->log, module, attribute));
    return value->kind != PEL_V_NONE_YET && !(value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE);
}

/* Some instances of a class have it and others not. In the output all do: those that had it not have None. */
static void ask_for_none(pel_walk *w, pel_front front, const pel_call_site *c, pel_name attribute) {
    pel_id *modules = pel_new_array(w->ctx, front.n, pel_id);
    if (pel_map_has(&w->s->objects.written, pel_key2(PEL_DELETED, PEL_KEY(attribute))))
        pel_lost(w, c->node, "whether there is a `%s` is asked, which some run deletes", attribute->text);
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, c->args[0].val->at[i]);
        const pel_value *answer = pel_value_at(w->log, c->val->at[i]);
        bool has = answer->kind == PEL_V_CONST && answer->constant->kind == PEL_CONST_TRUE;
        if (object->kind != PEL_V_MODULE || (has && !has_some(w, object->module, attribute)))
            pel_lost(w, c->node, "some instances of one class have the attribute `%s` and others not", attribute->text);
        modules[i] = object->module;
    }
    pel_need(w, front, modules, attribute, NULL);
    pel_node *value = pel_make_attribute(w->ctx, c->args[0].val->text, attribute, PEL_Load);
    c->val->text = pel_make_compare(w->ctx, value, PEL_IsNot, pel_make_none(w->ctx));
}

/* hasattr that stays in the text: the modules that have it must have it in the output as well, and the others not. */
static void note_hasattr(pel_walk *w, pel_front front, const pel_call_site *c, pel_name attribute) {
    pel_front one = pel_front_new(w, 1);
    pel_map having = { 0 }; /* class -> whether its instances have it */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *object = pel_value_at(w->log, c->args[0].val->at[i]);
        const pel_value *answer = pel_value_at(w->log, c->val->at[i]);
        if (object->kind != PEL_V_MODULE || answer->kind != PEL_V_CONST) continue;
        bool has = answer->constant->kind == PEL_CONST_TRUE;
        pel_id class = pel_module_at(w->log, object->module)->class, module = object->module;
        uint64_t before;
        if (pel_map_get(&having, class, &before) && before != has) {
            ask_for_none(w, front, c, attribute);
            return;
        }
        pel_map_set(w->ctx, &having, class, has);
        one.at[0] = front.at[i];
        if (has && pel_module_attribute(w->log, module, attribute)) pel_need(w, one, &module, attribute, NULL);
    }
}

/* An attribute by getattr or hasattr with a constant name, on a module: it must be set there. */
static void note_getattr(pel_walk *w, pel_front front, const pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || c->n_args < 2) return;
    const pel_node *name = c->args[1].val->text;
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR) return;
    pel_name attribute = pel_intern_str(w->ctx, name->Constant.value->text);
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
static void name_instances(pel_walk *w, pel_front front, pel_call_site *c) {
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
        pel_nodes_push(w->ctx, &classes,
                       pel_make_name(w->ctx, pel_class_row(w->ctx, w->s->program, class)->name, PEL_Load));
    }
    if (!classes.n) return;
    pel_node *all = pel_node_new(w->ctx, PEL_Tuple);
    all->Tuple.elts = classes;
    c->val->lost = c->args[0].val->lost;
    c->val->text->Call.args.at[1] = classes.n == 1 ? classes.at[0] : all;
}

/* Whether it is the getter of this name of the module, or of the author's object. */
static bool is_getter(const pel_walk *w, pel_id activation, pel_id of, pel_name name) {
    const pel_activation *child = &w->log->activations.at[activation];
    const pel_group *group = w->s->group_of[activation];
    if (!child->direct || !group || w->log->codes.at[child->code].code->name != name) return false;
    uint8_t kind = pel_value_at(w->log, of)->kind;
    if (kind == PEL_V_MODULE) return group->class;
    return kind == PEL_V_OBJECT && group->n_params == 1 &&
           pel_same_object(w->log, child->locals[group->params[0].local], of);
}

/* getattr(module, "name", None) where the name is a property's: module.name. */
static bool asks_property(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || !pel_str_is(callee->text, "getattr") || c->n_args < 2 || c->kids.n != front.n)
        return false;
    const pel_node *name = c->args[1].val->text;
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR || c->args[0].val->lost) return false;
    pel_name attribute = pel_intern_str(w->ctx, name->Constant.value->text);
    for (uint32_t i = 0; i < c->kids.n; i++)
        if (!is_getter(w, c->kids.at[i].activation, c->args[0].val->at[c->kids.at[i].lane], attribute)) return false;
    c->val->text = pel_make_attribute(w->ctx, c->args[0].val->text, attribute, PEL_Load);
    pel_link_property(w, &c->kids, c->args[0].val, c->val, attribute);
    return true;
}

/* ---- callees that the output has under another name ---- */

/* A bound method of torch's in a cell or under another name, of the caller's own module: old = self.forward and
 * self.old = self.forward are super().forward. */
static void name_super(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_node *func = c->node->Call.func;
    bool is_renamed = func->kind == PEL_Attribute && !pel_name_is(func->Attribute.attr, "forward");
    const pel_node *self = is_renamed || (c->func->lost && func->kind == PEL_Name) ? pel_bound_to(w, front, c) : NULL;
    if (!self || self->kind != PEL_Name) return;
    const pel_value *method = pel_value_at(w->log, pel_value_at(w->log, c->callee[0])->items[1]);
    if (method->kind != PEL_V_LIBRARY || !pel_str_ends(method->text, PEL_STR(".forward"))) return;
    pel_node *super = pel_make_name(w->ctx, pel_intern_c(w->ctx, "super"), PEL_Load);
    super = pel_make_call(w->ctx, super, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    c->func->text = pel_make_attribute(w->ctx, super, pel_intern_c(w->ctx, "forward"), PEL_Load);
    c->func->lost = false;
}

/* A module of torch's that is not in the tree and has nothing to learn: made where it is called, nn.SiLU()(x). */
static void build_module(pel_walk *w, pel_front front, pel_call_site *c) {
    if (!c->func->lost || !pel_calls_modules(w, front, c)) return;
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
static void expand_partial(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_value *partial = pel_value_at(w->log, c->callee[0]);
    if (partial->kind != PEL_V_PARTIAL || partial->n != 3 ||
        pel_value_at(w->log, partial->items[0])->kind != PEL_V_LIBRARY)
        return;
    if (pel_varies(c->func->taint)) return; /* what it binds depends on data */
    for (uint32_t i = 1; i < front.n; i++)
        if (c->callee[i] != c->callee[0] && !pel_value_same(w->log, c->callee[i], c->callee[0])) return;
    const pel_value *args = pel_value_at(w->log, partial->items[1]),
                    *keywords = pel_value_at(w->log, partial->items[2]);
    pel_call_argument *all = pel_new_array(w->ctx, c->n_args + args->n + keywords->n / 2 + 1u, pel_call_argument);
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->n; i++) {
        pel_node *text = pel_value_expression(w->ctx, w->s->program, args->items[i]);
        if (!text) return;
        all[n++].val = pel_val_constant(w, front, text, PEL_WHY_OBJECT);
    }
    for (uint32_t i = 0; i < c->n_args; i++) all[n++] = c->args[i];
    for (uint32_t i = 0; i + 1 < keywords->n; i += 2) {
        const pel_value *key = pel_value_at(w->log, keywords->items[i]);
        pel_node *text = pel_value_expression(w->ctx, w->s->program, keywords->items[i + 1]);
        if (!text || key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) return;
        pel_name name = pel_intern_str(w->ctx, key->constant->text);
        bool given = false;
        for (uint32_t k = 0; k < c->n_args; k++) given |= c->args[k].keyword == name;
        if (given) continue;
        all[n].keyword = name;
        all[n++].val = pel_val_constant(w, front, text, PEL_WHY_OBJECT);
    }
    c->args = all;
    c->n_args = n;
    for (uint32_t i = 0; i < front.n; i++) c->callee[i] = partial->items[0];
    pel_node *function = pel_library_expression(w->ctx, w->s->program, pel_value_at(w->log, partial->items[0])->text);
    c->func = pel_val_constant(w, front, function, PEL_WHY_LIBRARY);
    c->base = NULL;
}

/* ---- the call ---- */

void pel_call_outside(pel_walk *w, pel_front front, pel_call_site *c, const pel_id *children) {
    if (asks_property(w, front, c)) return;
    expand_partial(w, front, c);
    name_super(w, front, c);
    pel_mark_pinned(w, c, front, children);
    pel_mark_bound_here(w, front, c);
    build_module(w, front, c);
    pel_plain_call(w, front, c);
    note_getattr(w, front, c);
    name_instances(w, front, c);
    pel_ask_class_by_name(w, front, c);
}
