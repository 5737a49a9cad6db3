/* One expression for many: calls, tuples, and parts that only some lanes have. */
#include "trace/build/unifier.h"
#include "trace/build/unify.h"

bool pel_all_equal(pel_column l) {
    for (uint32_t i = 1; i < l.n; i++)
        if (!pel_same(l.at[0], l.at[i])) return false;
    return true;
}

bool pel_all_of_kind(pel_column l, pel_kind kind) {
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i]->kind != kind) return false;
    return true;
}

pel_column pel_pick(pel_ctx *ctx, pel_column l, pel_node *(*part)(pel_node *, uint32_t), uint32_t index) {
    pel_node **at = pel_alloc_array(ctx, l.n, sizeof *at);
    for (uint32_t i = 0; i < l.n; i++) at[i] = part(l.at[i], index);
    return (pel_column){ at, l.n };
}

typedef struct search {
    const pel_note_table *notes;
    pel_node_note note;
    bool found;
} search;

static void look_for_note(void *arg, pel_node **slot) {
    search *s = arg;
    if (s->found) return;
    if ((*slot)->kind == PEL_Call && pel_node_notes(s->notes, *slot) & s->note)
        s->found = true;
    else
        pel_each_child(*slot, look_for_note, arg);
}

bool pel_any_has_note(const pel_unifier *unifier, pel_column l, pel_node_note note) {
    search s = { unifier->notes, note, false };
    for (uint32_t i = 0; i < l.n && !s.found; i++) {
        pel_node *node = l.at[i];
        look_for_note(&s, &node);
    }
    return s.found;
}

bool pel_has_builder(const pel_unifier *unifier, uint32_t first) {
    for (uint32_t h = first; h < unifier->holes.n; h++)
        if (pel_any_has_note(unifier, (pel_column){ unifier->holes.at[h].values, unifier->n_lanes }, PEL_NOTE_BUILDS))
            return true;
    return false;
}

static void look_for_self(void *arg, pel_node **slot) {
    bool *found = arg;
    if ((*slot)->kind == PEL_Name && pel_name_is((*slot)->Name.id, "self")) *found = true;
    if (!*found) pel_each_child(*slot, look_for_self, arg);
}

/* Whether a lane names parts of the instance itself, which nobody outside of its constructor can. */
static bool any_names_self(pel_column l) {
    bool found = false;
    for (uint32_t i = 0; i < l.n && !found; i++) {
        pel_node *node = l.at[i];
        look_for_self(&found, &node);
    }
    return found;
}

/* ---- calls ---- */

/* float("inf"): a number that has no literal. */
static bool is_number(const pel_node *call) {
    const pel_node *function = call->Call.func;
    return function->kind == PEL_Name && pel_name_is(function->Name.id, "float") && call->Call.args.n == 1 &&
           call->Call.args.at[0]->kind == PEL_Constant;
}

bool pel_calls_fit(pel_column l) {
    if (is_number(l.at[0])) return false;
    for (uint32_t i = 0; i < l.n; i++) {
        const pel_node *a = l.at[0], *b = l.at[i];
        if (!pel_same(a->Call.func, b->Call.func) || a->Call.args.n != b->Call.args.n ||
            a->Call.keywords.n != b->Call.keywords.n)
            return false;
        for (uint32_t k = 0; k < a->Call.keywords.n; k++)
            if (a->Call.keywords.at[k]->keyword.arg != b->Call.keywords.at[k]->keyword.arg) return false;
        for (uint32_t k = 0; k < a->Call.args.n; k++)
            if ((a->Call.args.at[k]->kind == PEL_Starred) != (b->Call.args.at[k]->kind == PEL_Starred)) return false;
    }
    return true;
}

static pel_node *call_argument(pel_node *call, uint32_t i) { return call->Call.args.at[i]; }
static pel_node *call_keyword(pel_node *call, uint32_t i) { return call->Call.keywords.at[i]; }
static pel_node *keyword_value(pel_node *keyword, uint32_t i) { return (void)i, keyword->keyword.value; }
static pel_node *starred_value(pel_node *starred, uint32_t i) { return (void)i, starred->Starred.value; }
static pel_node *tuple_element(pel_node *tuple, uint32_t i) { return tuple->Tuple.elts.at[i]; }

/* Whether the author calls the same function of torch's, or one that fills a tensor where we leave it empty: then the
 * arguments have the same order. A helper of his own may have another. */
static bool have_one_order(const pel_unifier *unifier, const pel_node *author, const pel_node *call) {
    static const char *const fillers[] = { "empty", "zeros", "ones", "rand", "randn" };
    if (pel_node_notes(unifier->notes, author) & PEL_NOTE_GIVEN) return true;
    pel_name his = pel_last_name(author->Call.func), ours = pel_last_name(call->Call.func);
    if (call->Call.func->kind != PEL_Attribute || !his) return false;
    for (size_t i = 0; pel_name_is(ours, "empty") && i < PEL_COUNT(fillers); i++)
        if (pel_name_is(his, fillers[i])) return true;
    return his == ours;
}

/* The place that the author's constructor of the class which is called gives to an argument of that name. If that is
 * not known: sizes come first, the one of what goes in before the one of what comes out. */
static bool find_place(const pel_unifier *unifier, const pel_node *author, const pel_node *call, pel_name name,
                       uint32_t *place) {
    const pel_node *func = call->Call.func;
    const pel_node *parameters = unifier->parameters && func->kind == PEL_Name
                                     ? pel_map_pointer(unifier->parameters, PEL_KEY(func->Name.id))
                                     : NULL;
    if (!parameters) return unifier->is_size && *place < 2 && pel_last_name(author->Call.func) == func->Name.id;
    for (uint32_t i = 1; i < parameters->arguments.args.n; i++)
        if (parameters->arguments.args.at[i]->arg.arg == name) return *place = i - 1, true;
    return false;
}

/* create_conv2d(in_chs, out_chs, 3): a helper of another file. Sizes come first, what goes in before what comes out. */
static bool are_sizes_first(const pel_unifier *unifier, const pel_node *author, uint32_t place) {
    const pel_node *func = author->Call.func;
    return unifier->is_size && place < 2 && author->Call.args.n >= 2 && func->kind == PEL_Name &&
           func->Name.id->text[0] >= 'a' && func->Name.id->text[0] <= 'z';
}

/* What the author passes for an argument of a call: by its name, or by its place. */
static const pel_node *authors_argument(const pel_unifier *unifier, const pel_node *author, const pel_node *call,
                                        pel_name name, uint32_t place) {
    if (!author || author->kind != PEL_Call) return NULL;
    for (uint32_t i = 0; i < author->Call.keywords.n; i++)
        if (name && author->Call.keywords.at[i]->keyword.arg == name) return author->Call.keywords.at[i]->keyword.value;
    bool has_place = call->Call.func->kind == PEL_Name
                         ? find_place(unifier, author, call, name, &place)
                         : have_one_order(unifier, author, call) || are_sizes_first(unifier, author, place);
    if (!has_place || place >= author->Call.args.n) return NULL;
    for (uint32_t i = 0; i <= place; i++)
        if (author->Call.args.at[i]->kind == PEL_Starred) return NULL;
    return author->Call.args.at[place];
}

/* What the author passes where we pass `*[a, b]`: nn.Sequential(a, b), or a list of his own. */
static const pel_node *authors_list(const pel_unifier *unifier, const pel_node *author, const pel_node *call) {
    if (!author || author->kind != PEL_Call || call->Call.args.n != 1 || !have_one_order(unifier, author, call))
        return NULL;
    const pel_nodes his = author->Call.args;
    for (uint32_t i = 0; i < his.n; i++)
        if (his.at[i]->kind == PEL_Starred) { /* *[a for ...]; *layers has the name of the whole */
            const pel_node *list = his.at[i]->Starred.value;
            return his.n == 1 && (list->kind == PEL_List || list->kind == PEL_ListComp) ? list : NULL;
        }
    pel_node *list = pel_node_new(unifier->ctx, PEL_List);
    list->List.elts = his;
    return list;
}

/* Linear(in_features, out_features) */
static bool leads_to_size(const pel_unifier *unifier, const pel_node *call) {
    const pel_nodes keywords = call->Call.keywords;
    return keywords.n > 1 && pel_node_notes(unifier->notes, keywords.at[0]) &
                                 pel_node_notes(unifier->notes, keywords.at[1]) & PEL_NOTE_SIZE;
}

/* The unifier's author, is_size and begins_part describe the argument that comes next, and calls inside of it change
 * them: each argument sets what it needs, and the end puts them back. A keyword is a default only if it is one in all
 * lanes. */
pel_node *pel_unify_call(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    pel_node *first = l.at[0], *call = pel_node_new(ctx, PEL_Call);
    pel_set_notes(ctx, unifier->notes, call, pel_node_notes(unifier->notes, first));
    call->Call.func = first->Call.func;
    for (uint32_t i = 0; i < first->Call.args.n; i++) {
        pel_column args = pel_pick(ctx, l, call_argument, i);
        pel_node *arg;
        unifier->author = authors_argument(unifier, author, first, NULL, i);
        if (args.at[0]->kind == PEL_Starred) {
            unifier->author = authors_list(unifier, author, first);
            arg = pel_node_new(ctx, PEL_Starred);
            arg->Starred.value = pel_unify_column(unifier, pel_pick(ctx, args, starred_value, 0), hint);
        } else {
            arg = pel_unify_column(unifier, args, hint);
        }
        pel_nodes_push(ctx, &call->Call.args, arg);
    }
    for (uint32_t i = 0; i < first->Call.keywords.n; i++) {
        pel_column keywords = pel_pick(ctx, l, call_keyword, i);
        bool always_default = true;
        for (uint32_t k = 0; k < l.n; k++)
            always_default &= (pel_node_notes(unifier->notes, keywords.at[k]) & PEL_NOTE_DEFAULT) != 0;
        pel_node *keyword = pel_node_new(ctx, PEL_keyword);
        uint32_t notes = pel_node_notes(unifier->notes, keywords.at[0]) & ~(uint32_t)PEL_NOTE_DEFAULT;
        pel_set_notes(ctx, unifier->notes, keyword, notes | (always_default ? PEL_NOTE_DEFAULT : 0u));
        keyword->keyword.arg = keywords.at[0]->keyword.arg;
        pel_name name = keyword->keyword.arg;
        unifier->is_size = notes & PEL_NOTE_SIZE;
        unifier->author = authors_argument(unifier, author, first, name, first->Call.args.n + i);
        unifier->begins_part = unifier->is_part && i == 0 && leads_to_size(unifier, first);
        keyword->keyword.value =
            pel_unify_column(unifier, pel_pick(ctx, keywords, keyword_value, 0), name ? name : hint);
        pel_nodes_push(ctx, &call->Call.keywords, keyword);
    }
    unifier->author = author;
    unifier->is_size = unifier->begins_part = false;
    return call;
}

/* ---- parts that only some lanes have ---- */

pel_unifier pel_unifier_inside(pel_unifier *outside, const uint32_t *lane_of, uint32_t n) {
    pel_unifier inner = { .ctx = outside->ctx,
                          .notes = outside->notes,
                          .n_lanes = n,
                          .prefix = outside->prefix,
                          .around = outside,
                          .author = outside->author,
                          .parameters = outside->parameters };
    for (uint32_t h = 0; h < outside->holes.n; h++) {
        pel_hole seen = { .name = outside->holes.at[h].name, .values = pel_new_array(inner.ctx, n, pel_node *) };
        for (uint32_t i = 0; i < n; i++) seen.values[i] = outside->holes.at[h].values[lane_of[i]];
        pel_push(inner.ctx, &inner.holes, seen);
    }
    return inner;
}

/* A hole of the lanes that have the part, as a name outside: it is None in the others. */
static pel_node *name_outside(pel_unifier *unifier, const pel_hole *hole, const pel_some *some) {
    pel_ctx *ctx = unifier->ctx;
    pel_hole added = { pel_hole_name(unifier, hole->name), pel_new_array(ctx, unifier->n_lanes, pel_node *),
                       pel_new_array(ctx, unifier->n_lanes, bool), hole->is_size };
    for (uint32_t i = 0; i < unifier->n_lanes; i++) {
        added.values[i] = pel_make_none(ctx);
        added.open[i] = true;
    }
    for (uint32_t i = 0; i < some->n; i++) {
        added.values[some->lane_of[i]] = hole->values[i];
        added.open[some->lane_of[i]] = false;
    }
    pel_push(ctx, &unifier->holes, added);
    return pel_make_name(ctx, added.name, PEL_Load);
}

pel_some pel_some_lanes(pel_ctx *ctx, pel_column l, bool (*has_it)(const pel_node *)) {
    pel_some some = { pel_new_array(ctx, l.n, pel_node *), pel_new_array(ctx, l.n, uint32_t), 0 };
    for (uint32_t i = 0; i < l.n; i++)
        if (has_it(l.at[i])) {
            some.at[some.n] = l.at[i];
            some.lane_of[some.n++] = i;
        }
    return some;
}

pel_node *pel_unify_some(pel_unifier *unifier, const pel_some *some, pel_name hint) {
    pel_unifier inner = pel_unifier_inside(unifier, some->lane_of, some->n);
    const uint32_t n_outside = inner.holes.n;
    inner.is_part = true;
    pel_node *body = pel_unify_column(&inner, (pel_column){ some->at, some->n }, hint);
    if (body->kind != some->at[0]->kind || pel_has_builder(&inner, n_outside)) return NULL;
    for (uint32_t h = n_outside; h < inner.holes.n; h++)
        pel_replace_name(&body, inner.holes.at[h].name, name_outside(unifier, &inner.holes.at[h], some));
    return body;
}

/* Not None, nor an empty list. */
static bool is_there(const pel_node *node) {
    return !pel_is_none(node) && (node->kind != PEL_List || node->List.elts.n);
}

bool pel_is_no_identity(const pel_node *node) {
    const pel_node *func = node->kind == PEL_Call ? node->Call.func : NULL;
    return !func || func->kind != PEL_Attribute || !pel_name_is(func->Attribute.attr, "Identity");
}

/* The lanes that have a part which others lack, or have nn.Identity() in the place of. */
static pel_some lanes_that_have(pel_ctx *ctx, pel_column l) {
    pel_some some = pel_some_lanes(ctx, l, is_there);
    if (some.n < l.n || !pel_all_of_kind(l, PEL_Call)) return some;
    some = pel_some_lanes(ctx, l, pel_is_no_identity);
    if (some.n && !pel_calls_fit((pel_column){ some.at, some.n }))
        some.n = 0; /* several classes: see unify_factory.c */
    return some;
}

static pel_node *what_the_others_have(pel_column l, const pel_some *some) {
    uint32_t i = 0;
    while (i < some->n && some->lane_of[i] == i) i++;
    return l.at[i];
}

/* Whether a name has a value in just the lanes that have the part; `opposite`: in just those that have not. */
static bool tells(const pel_hole *hole, const pel_some *some, uint32_t n_lanes, bool opposite) {
    uint32_t n = 0; /* lanes that have the part, so far */
    for (uint32_t i = 0; i < n_lanes; i++) {
        bool has_part = n < some->n && some->lane_of[n] == i;
        if (pel_is_none(hole->values[i]) != (has_part == opposite)) return false;
        n += has_part;
    }
    return true;
}

/* NULL if no name says whether the part is there. */
static pel_node *told_by_value(pel_unifier *unifier, const pel_some *some) {
    for (int opposite = 0; opposite < 2; opposite++)
        for (uint32_t h = 0; h < unifier->holes.n; h++) {
            pel_hole *hole = &unifier->holes.at[h];
            if (!tells(hole, some, unifier->n_lanes, opposite)) continue;
            hole->open = NULL; /* None means something now */
            return pel_make_compare(unifier->ctx, pel_make_name(unifier->ctx, hole->name, PEL_Load),
                                    opposite ? PEL_Is : PEL_IsNot, pel_make_none(unifier->ctx));
        }
    return NULL;
}

typedef struct size_pair {
    const pel_unifier *unifier;
    pel_name in, out;
} size_pair;

/* Conv(in_channels, out_channels, ...): the names of the first two arguments. */
static void find_sizes(void *arg, pel_node **slot) {
    size_pair *pair = arg;
    const pel_node *node = *slot;
    if (pair->in) return;
    if (node->kind == PEL_Call && leads_to_size(pair->unifier, node)) {
        const pel_node *in = node->Call.keywords.at[0]->keyword.value, *out = node->Call.keywords.at[1]->keyword.value;
        if (in->kind == PEL_Name && out->kind == PEL_Name) pair->in = in->Name.id, pair->out = out->Name.id;
    }
    pel_each_child(*slot, find_sizes, arg);
}

/* What leads to a size from another is there if they differ: where it is not, the one that it would begin with, and
 * that nothing else needs, is the other. NULL if the part is no such thing. */
static pel_node *told_by_sizes(pel_unifier *unifier, uint32_t first, const pel_some *some, pel_node *body) {
    size_pair pair = { .unifier = unifier };
    find_sizes(&pair, &body);
    pel_hole *own = pel_hole_named(unifier, pair.in), *other = pel_hole_named(unifier, pair.out);
    if (!own || own < unifier->holes.at + first || !other || other >= own || other->open) return NULL;
    for (uint32_t i = 0; i < some->n; i++)
        if (pel_same(own->values[some->lane_of[i]], other->values[some->lane_of[i]])) return NULL;
    for (uint32_t i = 0; i < unifier->n_lanes; i++)
        if (own->open[i]) own->values[i] = other->values[i];
    own->open = NULL;
    return pel_make_compare(unifier->ctx, pel_make_name(unifier->ctx, pair.in, PEL_Load), PEL_NotEq,
                            pel_make_name(unifier->ctx, pair.out, PEL_Load));
}

static pel_node *flag_for(pel_unifier *unifier, const pel_some *some, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    pel_node **flags = pel_new_array(ctx, unifier->n_lanes, pel_node *);
    for (uint32_t i = 0; i < unifier->n_lanes; i++) flags[i] = pel_make_constant(ctx, &pel_false);
    for (uint32_t i = 0; i < some->n; i++) flags[some->lane_of[i]] = pel_make_constant(ctx, &pel_true);
    return pel_make_hole(unifier, (pel_column){ flags, unifier->n_lanes }, hint);
}

pel_node *pel_make_optional(pel_unifier *unifier, pel_column l, pel_name hint, pel_name flag) {
    pel_some some = lanes_that_have(unifier->ctx, l);
    if (some.n == 0 || some.n == l.n || l.n != unifier->n_lanes) return NULL;
    pel_node *absent = what_the_others_have(l, &some);
    for (uint32_t i = 0; i < some.n; i++)
        if (some.at[i]->kind != (absent->kind == PEL_List ? PEL_List : PEL_Call)) return NULL;
    const uint32_t first = unifier->holes.n;
    pel_node *body = pel_unify_some(unifier, &some, hint);
    if (!body) return NULL;
    pel_node *choice = pel_node_new(unifier->ctx, PEL_IfExp), *told = told_by_sizes(unifier, first, &some, body);
    if (!told) told = told_by_value(unifier, &some);
    choice->IfExp.test = told ? told : flag_for(unifier, &some, flag);
    choice->IfExp.body = body;
    choice->IfExp.orelse = absent;
    return choice;
}

/* ---- all kinds of expressions ---- */

static pel_node *unify_tuple(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_node *tuple = pel_node_new(unifier->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < l.at[0]->Tuple.elts.n; i++)
        pel_nodes_push(unifier->ctx, &tuple->Tuple.elts,
                       pel_unify_column(unifier, pel_pick(unifier->ctx, l, tuple_element, i), hint));
    return tuple;
}

pel_node *pel_unify_column(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_node *first = l.at[0];
    if (l.n > 1 && pel_any_has_note(unifier, l, PEL_NOTE_OPAQUE)) return pel_make_hole(unifier, l, hint);
    if (pel_all_of_kind(l, PEL_Call) && pel_calls_fit(l)) return pel_unify_call(unifier, l, hint);
    bool builds = pel_any_has_note(unifier, l, PEL_NOTE_BUILDS);
    bool in_parts = builds || any_names_self(l);
    if (pel_all_of_kind(l, PEL_List) && in_parts) return pel_unify_list(unifier, l, hint);
    if (pel_all_of_kind(l, PEL_Tuple) && in_parts) { /* a tuple of plain values is better passed whole */
        bool fits = true;
        for (uint32_t i = 1; i < l.n; i++) fits &= l.at[i]->Tuple.elts.n == first->Tuple.elts.n;
        if (fits) return unify_tuple(unifier, l, hint);
    }
    if (pel_all_equal(l)) return first;
    if (builds) {
        pel_node *made = pel_make_optional(unifier, l, hint, hint);
        if (!made) made = pel_unify_factory(unifier, l, hint);
        if (made) return made;
    }
    return pel_make_hole(unifier, l, hint);
}

pel_node *pel_unify(pel_unifier *unifier, pel_node *const *at, pel_name hint) {
    if (!hint) hint = pel_intern_c(unifier->ctx, "value"); /* arguments by place of a class that has no source */
    return pel_unify_column(unifier, (pel_column){ at, unifier->n_lanes }, hint);
}

/* Constructor calls as people write them: no defaults, the first arguments without their names. */

static bool is_list_of_pairs(const pel_node *node) {
    if (node->kind != PEL_List || !node->List.elts.n) return false;
    for (uint32_t i = 0; i < node->List.elts.n; i++) {
        const pel_node *pair = node->List.elts.at[i];
        if (pair->kind != PEL_Tuple || pair->Tuple.elts.n != 2) return false;
    }
    return true;
}

static bool is_parameter_dict(const pel_node *call) {
    return call->Call.func->kind == PEL_Attribute && pel_name_is(call->Call.func->Attribute.attr, "ParameterDict");
}

/* nn.ParameterDict sorts what it gets as a dict; a list of pairs it leaves in its order. */
static bool would_be_sorted(const pel_node *call, const pel_node *list) {
    if (!is_parameter_dict(call)) return false;
    for (uint32_t i = 1; i < list->List.elts.n; i++) {
        const pel_node *before = list->List.elts.at[i - 1]->Tuple.elts.at[0],
                       *key = list->List.elts.at[i]->Tuple.elts.at[0];
        if (pel_str_cmp(before->Constant.value->text, key->Constant.value->text) > 0) return true;
    }
    return false;
}

static pel_node *dict_of_pairs(pel_ctx *ctx, const pel_node *list) {
    pel_node *dict = pel_node_new(ctx, PEL_Dict);
    for (uint32_t i = 0; i < list->List.elts.n; i++) {
        const pel_nodes pair = list->List.elts.at[i]->Tuple.elts;
        pel_nodes_push(ctx, &dict->Dict.keys, pair.at[0]);
        pel_nodes_push(ctx, &dict->Dict.values, pair.at[1]);
    }
    return dict;
}

/* {name: module for ...}, of (name, module) for ... */
static pel_node *dict_of_comprehension(pel_ctx *ctx, const pel_node *list) {
    const pel_nodes pair = list->ListComp.elt->Tuple.elts;
    pel_node *dict = pel_node_new(ctx, PEL_DictComp);
    dict->DictComp.key = pair.at[0];
    dict->DictComp.value = pair.at[1];
    dict->DictComp.generators = list->ListComp.generators;
    return dict;
}

static bool makes_names(const pel_node *node) {
    return node->kind == PEL_ListComp && node->ListComp.elt->kind == PEL_Tuple &&
           node->ListComp.elt->Tuple.elts.n == 2 && node->ListComp.elt->Tuple.elts.at[0]->kind == PEL_JoinedStr;
}

static void polish_call(pel_ctx *ctx, const pel_note_table *table, pel_node *call) {
    bool builds = pel_node_notes(table, call) & PEL_NOTE_BUILDS;
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t i = 0; i < call->Call.args.n; i++) {
        pel_node *arg = call->Call.args.at[i];
        if (arg->kind == PEL_Starred && arg->Starred.value->kind == PEL_List) {
            const pel_nodes elements = arg->Starred.value->List.elts;
            for (uint32_t k = 0; k < elements.n; k++) pel_nodes_push(ctx, &args, elements.at[k]);
        } else if (builds && arg->kind == PEL_List && !arg->List.elts.n) {
            continue; /* nn.ModuleList() */
        } else if (builds && is_list_of_pairs(arg) && !would_be_sorted(call, arg)) {
            pel_nodes_push(ctx, &args, dict_of_pairs(ctx, arg));
        } else if (builds && makes_names(arg) && !is_parameter_dict(call)) {
            pel_nodes_push(ctx, &args, dict_of_comprehension(ctx, arg));
        } else {
            pel_nodes_push(ctx, &args, arg);
        }
    }
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i];
        uint32_t notes = pel_node_notes(table, keyword);
        pel_forget_notes(keyword);
        if (notes & PEL_NOTE_DEFAULT) continue;
        if (notes & PEL_NOTE_POSITIONAL && !keywords.n)
            pel_nodes_push(ctx, &args, keyword->keyword.value);
        else
            pel_nodes_push(ctx, &keywords, keyword);
    }
    call->Call.args = args;
    call->Call.keywords = keywords;
    pel_forget_notes(call);
}

typedef struct polishing {
    pel_ctx *ctx;
    const pel_note_table *notes;
} polishing;

static void polish(void *arg, pel_node **slot) {
    const polishing *p = arg;
    pel_each_child(*slot, polish, arg);
    if ((*slot)->kind == PEL_Call && pel_node_notes(p->notes, *slot)) polish_call(p->ctx, p->notes, *slot);
}

void pel_unify_polish(pel_ctx *ctx, const pel_note_table *notes, pel_node **slot) {
    polish(&(polishing){ ctx, notes }, slot);
}

/* Lists of what is built, among them elements that come again. */

static pel_node *list_element(pel_node *list, uint32_t i) { return list->List.elts.at[i]; }

/* ---- elements that come again ---- */

#define MAX_PERIOD 4

/* How often the `period` elements from i on stand there in a row, in every lane. */
static uint32_t rounds_of(pel_column l, uint32_t i, uint32_t period) {
    for (uint32_t n = 1;; n++)
        for (uint32_t k = 0; k < l.n; k++)
            for (uint32_t e = 0; e < period; e++) {
                const pel_nodes elements = l.at[k]->List.elts;
                uint32_t next = i + n * period + e;
                if (next >= elements.n || !pel_same(elements.at[i + e], elements.at[next])) return n;
            }
}

/* The shortest period with which the elements from i on are worth a loop; 0 if there is none. */
static uint32_t period_at(pel_column l, uint32_t i, uint32_t *rounds) {
    for (uint32_t period = 1; period <= MAX_PERIOD; period++) {
        *rounds = rounds_of(l, i, period);
        if (*rounds >= 3) return period;
    }
    return 0;
}

/* [element for _ in range(n)], or [block for _ in range(n) for block in (one, other)] */
static pel_node *repeated(pel_unifier *unifier, pel_nodes elements, uint32_t n) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *list = pel_node_new(ctx, PEL_ListComp);
    pel_node *range = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "range"), PEL_Load),
                                    pel_nodes_one(ctx, pel_make_int(ctx, n)), (pel_nodes){ 0 });
    pel_nodes_push(ctx, &list->ListComp.generators,
                   pel_make_loop(ctx, pel_make_name(ctx, pel_intern_c(ctx, "_"), PEL_Store), range));
    list->ListComp.elt = elements.at[0];
    if (elements.n == 1) return list;
    pel_name each = pel_hole_name(unifier, pel_intern_c(ctx, "block"));
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    row->Tuple.elts = elements;
    pel_nodes_push(ctx, &list->ListComp.generators, pel_make_loop(ctx, pel_make_name(ctx, each, PEL_Store), row));
    list->ListComp.elt = pel_make_name(ctx, each, PEL_Load);
    return list;
}

/* ---- all of them ---- */

#define SHORT_LIST 3 /* whose elements are told one by one, if that can be */

/* Lists of different lengths. */
static pel_node *unify_unequal(pel_unifier *unifier, pel_column l, pel_name hint, uint32_t longest) {
    pel_node *made = longest <= SHORT_LIST ? pel_unify_with_gaps(unifier, l, hint) : NULL;
    if (!made) made = pel_unify_comprehension(unifier, l, hint);
    if (!made && longest > SHORT_LIST) made = pel_unify_with_gaps(unifier, l, hint);
    if (!made) made = pel_make_optional(unifier, l, hint, hint);
    return made ? made : pel_make_hole(unifier, l, hint);
}

pel_node *pel_unify_list(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    uint32_t longest = 0, shortest = UINT32_MAX;
    for (uint32_t i = 0; i < l.n; i++) {
        uint32_t n = l.at[i]->List.elts.n;
        longest = n > longest ? n : longest;
        shortest = n < shortest ? n : shortest;
    }
    if (longest != shortest) return unify_unequal(unifier, l, hint, longest);
    pel_node *comprehension = pel_unify_comprehension(unifier, l, hint);
    if (comprehension) return comprehension;
    pel_node *list = pel_node_new(ctx, PEL_List);
    const uint32_t n_holes = unifier->holes.n;
    for (uint32_t i = 0, rounds; i < l.at[0]->List.elts.n;) {
        const uint32_t n_before = unifier->holes.n;
        uint32_t period = period_at(l, i, &rounds);
        pel_nodes elements = { 0 };
        for (uint32_t e = 0; e < (period ? period : 1); e++) {
            unifier->author = pel_authors_element(author, i + e);
            pel_nodes_push(ctx, &elements, pel_unify_column(unifier, pel_pick(ctx, l, list_element, i + e), hint));
        }
        unifier->author = author;
        if (!period) {
            pel_nodes_push(ctx, &list->List.elts, elements.at[0]);
            i++;
            continue;
        }
        if (pel_has_builder(unifier,
                            n_before)) { /* one that came in by a name would be shared: the list comes in whole */
            unifier->holes.n = n_holes;
            return pel_make_hole(unifier, l, hint);
        }
        pel_node *loop = repeated(unifier, elements, rounds), *starred = pel_node_new(ctx, PEL_Starred);
        if (period * rounds == l.at[0]->List.elts.n) return loop;
        starred->Starred.value = loop;
        pel_nodes_push(ctx, &list->List.elts, starred);
        i += period * rounds;
    }
    return list;
}
