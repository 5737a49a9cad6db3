#include "trace/unify.h"

/* What constructors use by these names. */
static const char *const reserved[] = { "self", "nn", "torch", "F", "math", "super", "range", "functools", "np" };

typedef struct lanes {
    pel_node *const *at;
    uint32_t n;
} lanes;

typedef struct search {
    uint32_t mark;
    bool found;
} search;

static void look_for_mark(void *arg, pel_node **slot) {
    search *s = arg;
    if (s->found) return;
    if ((*slot)->kind == PEL_Call && (*slot)->mark & s->mark)
        s->found = true;
    else
        pel_each_child(*slot, look_for_mark, arg);
}

static bool has_mark(pel_node *node, uint32_t mark) {
    search s = { mark, false };
    look_for_mark(&s, &node);
    return s.found;
}

static void look_for_self(void *arg, pel_node **slot) {
    bool *found = arg;
    if ((*slot)->kind == PEL_Name && pel_name_is((*slot)->Name.id, "self")) *found = true;
    if (!*found) pel_each_child(*slot, look_for_self, arg);
}

/* Whether a lane names parts of the instance itself, which nobody outside of its constructor can. */
static bool any_names_self(lanes l) {
    bool found = false;
    for (uint32_t i = 0; i < l.n && !found; i++) {
        pel_node *node = l.at[i];
        look_for_self(&found, &node);
    }
    return found;
}

static bool any_has_mark(lanes l, uint32_t mark) {
    for (uint32_t i = 0; i < l.n; i++)
        if (has_mark(l.at[i], mark)) return true;
    return false;
}

/* ---- names of holes ---- */

/* Variables of comprehensions are theirs alone: others may be called the same, but not what is named in them from
 * outside, which is of their own level. */
static bool is_taken(const pel_unifier *unifier, pel_name name) {
    for (const pel_unifier *u = unifier; u; u = u->around)
        for (uint32_t i = 0; i < u->holes.n; i++)
            if (u->holes.at[i].name == name) return true;
    for (uint32_t i = 0; i < unifier->busy.n; i++)
        if (unifier->busy.at[i] == name) return true;
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        if (pel_name_is(name, reserved[i])) return true;
    return pel_is_keyword(pel_name_str(name));
}

/* Whether a name can be made of it: a keyword becomes one with something added. */
static bool is_wordlike(pel_str s) { return pel_is_identifier(s) || pel_is_keyword(s); }

/* Some of torch's names say little outside of their constructor. */
static const struct {
    const char *torch, *better;
} better_names[] = {
    { "normalized_shape", "dim" },
    { "embedding_dim", "dim" },
    { "num_channels", "channels" },
    { "num_features", "channels" },
};

static pel_name free_name(const pel_unifier *unifier, pel_name hint) {
    for (size_t i = 0; i < PEL_COUNT(better_names); i++)
        if (pel_name_is(hint, better_names[i].torch)) hint = pel_intern_c(unifier->ctx, better_names[i].better);
    if (!hint || !is_wordlike(pel_name_str(hint))) hint = pel_intern_c(unifier->ctx, "value");
    if (!is_taken(unifier, hint)) return hint;
    if (unifier->prefix && is_wordlike(pel_str_of(unifier->prefix)) && !pel_name_is(hint, unifier->prefix)) {
        pel_str longer = pel_format(unifier->ctx, "%s_%.*s", unifier->prefix, PEL_FMT(pel_name_str(hint)));
        pel_name name = pel_intern_str(unifier->ctx, longer);
        if (!is_taken(unifier, name)) return name;
    }
    for (int i = 2;; i++) {
        pel_str numbered = pel_format(unifier->ctx, "%.*s_%d", PEL_FMT(pel_name_str(hint)), i);
        pel_name name = pel_intern_str(unifier->ctx, numbered);
        if (!is_taken(unifier, name)) return name;
    }
}

static bool all_same(lanes l) {
    for (uint32_t i = 1; i < l.n; i++)
        if (!pel_same(l.at[0], l.at[i])) return false;
    return true;
}

static bool is_open(const pel_hole *hole, uint32_t lane) { return hole->open && hole->open[lane]; }

static bool same_values(const pel_hole *hole, lanes l) {
    for (uint32_t i = 0; i < l.n; i++)
        if (!is_open(hole, i) && !pel_same(l.at[i], hole->values[i])) return false;
    return true;
}

/* The values of l are those of the hole wherever it has some: it takes the others. */
static void fill_open(pel_hole *hole, lanes l) {
    for (uint32_t i = 0; i < l.n; i++)
        if (is_open(hole, i)) {
            hole->values[i] = l.at[i];
            hole->open[i] = false;
        }
}

static bool small_int(const pel_node *node, int64_t *value) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT ||
        node->Constant.value->integer.digits.len)
        return false;
    *value = node->Constant.value->integer.small;
    return *value > 0;
}

/* How often the values of l are those of the hole: k with l = k * hole, -k with l = hole // k; 0 if neither.
 * Two sizes are in some ratio by accident; three in the same one are not. */
static int64_t ratio_to(const pel_hole *hole, lanes l) {
    int64_t ratio = 0, distinct = 0, last = -1;
    for (uint32_t i = 0; i < l.n; i++) {
        int64_t whole, part;
        if (!small_int(l.at[i], &whole) || !small_int(hole->values[i], &part)) return 0;
        int64_t here = whole >= part && whole % part == 0 ? whole / part : part % whole == 0 ? -(part / whole) : 0;
        if (!here || (ratio && here != ratio)) return 0;
        ratio = here;
        distinct += whole != last;
        last = whole;
    }
    int64_t size = ratio < 0 ? -ratio : ratio;
    return size >= 2 && (size <= 4 || distinct >= 3) ? ratio : 0;
}

static pel_node *multiple_of(pel_ctx *ctx, pel_name name, int64_t ratio) {
    pel_node *product = pel_node_new(ctx, PEL_BinOp), *base = pel_make_name(ctx, name, PEL_Load);
    pel_node *factor = pel_make_int(ctx, ratio < 0 ? -ratio : ratio);
    product->BinOp.op = ratio < 0 ? PEL_FloorDiv : PEL_Mult;
    product->BinOp.left = ratio < 0 ? base : factor;
    product->BinOp.right = ratio < 0 ? factor : base;
    return product;
}

/* (dim, dim), where the hole is dim in every lane; NULL if l is something else. */
static pel_node *pair_of(pel_ctx *ctx, const pel_hole *hole, lanes l) {
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.at[i]->kind != PEL_Tuple || l.at[i]->Tuple.elts.n != 2) return NULL;
        for (uint32_t e = 0; e < 2; e++)
            if (!pel_same(l.at[i]->Tuple.elts.at[e], hole->values[i])) return NULL;
    }
    pel_node *pair = pel_node_new(ctx, PEL_Tuple);
    for (uint32_t e = 0; e < 2; e++) pel_nodes_push(ctx, &pair->Tuple.elts, pel_make_name(ctx, hole->name, PEL_Load));
    return pair;
}

/* dim, config.dim, config["dim"]: the author's name for what differs. */
static pel_name name_in(pel_ctx *ctx, const pel_node *author) {
    if (!author) return NULL;
    switch (author->kind) {
    case PEL_Name: return author->Name.id;
    case PEL_Attribute: return author->Attribute.attr;
    case PEL_Subscript: {
        const pel_node *key = author->Subscript.slice;
        if (key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) return NULL;
        pel_str text = key->Constant.value->text;
        return is_wordlike(text) ? pel_intern_str(ctx, text) : NULL;
    }
    default: return NULL;
    }
}

static pel_node *make_hole(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    if (!any_has_mark(l, PEL_CALL_BUILDS)) { /* a module must not be shared: two would become one */
        for (uint32_t h = 0; h < unifier->holes.n; h++)
            if (same_values(&unifier->holes.at[h], l)) {
                fill_open(&unifier->holes.at[h], l);
                return pel_make_name(ctx, unifier->holes.at[h].name, PEL_Load);
            }
        for (uint32_t h = 0; h < unifier->holes.n; h++) {
            int64_t ratio = ratio_to(&unifier->holes.at[h], l);
            if (ratio) return multiple_of(ctx, unifier->holes.at[h].name, ratio);
            pel_node *pair = pair_of(ctx, &unifier->holes.at[h], l);
            if (pair) return pair;
        }
        for (uint32_t k = 0; k < unifier->known.n; k++)
            if (same_values(&unifier->known.at[k], l)) {
                hint = unifier->known.at[k].name;
                break;
            }
        pel_name authors = name_in(ctx, unifier->author);
        if (authors) hint = authors;
    }
    pel_hole hole = { free_name(unifier, hint), pel_nodes_of(ctx, l.at, l.n).at, NULL };
    pel_push(ctx, &unifier->holes, hole);
    return pel_make_name(ctx, hole.name, PEL_Load);
}

/* Whether one of the holes from `first` on is for something that is built. */
static bool has_builder(const pel_unifier *unifier, uint32_t first) {
    for (uint32_t h = first; h < unifier->holes.n; h++)
        if (any_has_mark((lanes){ unifier->holes.at[h].values, unifier->n_lanes }, PEL_CALL_BUILDS)) return true;
    return false;
}

/* ---- optional parts ---- */

static pel_node *unify(pel_unifier *unifier, lanes l, pel_name hint);

/* A unifier for other lanes, each of which lies in one lane outside: the names outside are known in it. */
static pel_unifier unifier_inside(pel_unifier *outside, const uint32_t *lane_of, uint32_t n) {
    pel_unifier inner = {
        .ctx = outside->ctx, .n_lanes = n, .prefix = outside->prefix, .around = outside, .author = outside->author
    };
    for (uint32_t h = 0; h < outside->holes.n; h++) {
        pel_hole seen = { outside->holes.at[h].name, pel_new_array(inner.ctx, n, pel_node *), NULL };
        for (uint32_t i = 0; i < n; i++) seen.values[i] = outside->holes.at[h].values[lane_of[i]];
        pel_push(inner.ctx, &inner.holes, seen);
    }
    return inner;
}

/* A hole of the lanes that have the part, as a name outside: it is None in the others. */
static pel_node *name_outside(pel_unifier *unifier, const pel_hole *hole, const uint32_t *lane_of, uint32_t n) {
    pel_ctx *ctx = unifier->ctx;
    pel_hole added = { free_name(unifier, hole->name), pel_new_array(ctx, unifier->n_lanes, pel_node *),
                       pel_new_array(ctx, unifier->n_lanes, bool) };
    for (uint32_t i = 0; i < unifier->n_lanes; i++) {
        added.values[i] = pel_make_none(ctx);
        added.open[i] = true;
    }
    for (uint32_t i = 0; i < n; i++) {
        added.values[lane_of[i]] = hole->values[i];
        added.open[lane_of[i]] = false;
    }
    pel_push(ctx, &unifier->holes, added);
    return pel_make_name(ctx, added.name, PEL_Load);
}

/* No module, or an empty list of them. */
static bool is_absent(const pel_node *node) {
    return pel_is_none(node) || (node->kind == PEL_List && !node->List.elts.n);
}

/* A module that only some instances have, or a list of some: built here if a flag says so, instead of being passed in.
 * NULL if the instances that have one differ too much. */
static pel_node *make_optional(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    pel_node **present = pel_new_array(ctx, l.n, pel_node *);
    uint32_t *lane_of = pel_new_array(ctx, l.n, uint32_t), n = 0;
    pel_node **flags = pel_new_array(ctx, l.n, pel_node *), *absent = NULL;
    for (uint32_t i = 0; i < l.n; i++) {
        bool is_there = !is_absent(l.at[i]);
        flags[i] = pel_make_constant(ctx, pel_const_bool(is_there));
        if (!is_there) absent = l.at[i];
        if (!is_there) continue;
        if (l.at[i]->kind != PEL_Call && l.at[i]->kind != PEL_List) return NULL;
        present[n] = l.at[i];
        lane_of[n++] = i;
    }
    if (n == 0 || n == l.n || l.n != unifier->n_lanes) return NULL;
    pel_unifier inner = unifier_inside(unifier, lane_of, n);
    const uint32_t n_outside = inner.holes.n;
    pel_node *body = unify(&inner, (lanes){ present, n }, hint);
    bool is_list = present[0]->kind == PEL_List;
    if ((is_list ? body->kind != PEL_List : body->kind != PEL_Call) || (absent->kind == PEL_List) != is_list)
        return NULL;
    if (has_builder(&inner, n_outside)) return NULL;
    for (uint32_t h = n_outside; h < inner.holes.n; h++) {
        pel_node *outside = name_outside(unifier, &inner.holes.at[h], lane_of, n);
        pel_replace_name(&body, inner.holes.at[h].name, outside);
    }
    pel_node *choice = pel_node_new(ctx, PEL_IfExp);
    choice->IfExp.test = make_hole(unifier, (lanes){ flags, l.n }, hint);
    choice->IfExp.body = body;
    choice->IfExp.orelse = absent;
    return choice;
}

/* ---- shapes ---- */

static bool all_of_kind(lanes l, pel_kind kind) {
    for (uint32_t i = 0; i < l.n; i++)
        if (l.at[i]->kind != kind) return false;
    return true;
}

/* float("inf"): a number that has no literal. */
static bool is_number(const pel_node *call) {
    const pel_node *function = call->Call.func;
    return function->kind == PEL_Name && pel_name_is(function->Name.id, "float") && call->Call.args.n == 1 &&
           call->Call.args.at[0]->kind == PEL_Constant;
}

/* Calls of one function with the same arguments by name: only values may differ. */
static bool calls_fit(lanes l) {
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

static lanes pick(pel_ctx *ctx, lanes l, pel_node *(*part)(pel_node *, uint32_t), uint32_t index) {
    pel_node **at = pel_alloc_array(ctx, l.n, sizeof *at);
    for (uint32_t i = 0; i < l.n; i++) at[i] = part(l.at[i], index);
    return (lanes){ at, l.n };
}

static pel_node *call_argument(pel_node *call, uint32_t i) { return call->Call.args.at[i]; }
static pel_node *call_keyword(pel_node *call, uint32_t i) { return call->Call.keywords.at[i]; }
static pel_node *keyword_value(pel_node *keyword, uint32_t i) { return (void)i, keyword->keyword.value; }
static pel_node *starred_value(pel_node *starred, uint32_t i) { return (void)i, starred->Starred.value; }
static pel_node *list_element(pel_node *list, uint32_t i) { return list->List.elts.at[i]; }
static pel_node *tuple_element(pel_node *tuple, uint32_t i) { return tuple->Tuple.elts.at[i]; }

/* Whether the author calls the same function of torch's, or one that fills a tensor where we leave it empty: then the
 * arguments have the same order. A helper of his own may have another. */
static bool have_one_order(const pel_node *author, const pel_node *call) {
    static const char *const fillers[] = { "empty", "zeros", "ones", "rand", "randn" };
    pel_name his = pel_last_name(author->Call.func), ours = pel_last_name(call->Call.func);
    if (call->Call.func->kind != PEL_Attribute || !his) return false;
    for (size_t i = 0; pel_name_is(ours, "empty") && i < PEL_COUNT(fillers); i++)
        if (pel_name_is(his, fillers[i])) return true;
    return his == ours;
}

/* What the author passes for an argument of a call: by its name, or by its place. */
static const pel_node *authors_argument(const pel_node *author, const pel_node *call, pel_name name, uint32_t place) {
    if (!author || author->kind != PEL_Call) return NULL;
    for (uint32_t i = 0; i < author->Call.keywords.n; i++)
        if (name && author->Call.keywords.at[i]->keyword.arg == name) return author->Call.keywords.at[i]->keyword.value;
    if (place >= author->Call.args.n || !have_one_order(author, call)) return NULL;
    for (uint32_t i = 0; i <= place; i++)
        if (author->Call.args.at[i]->kind == PEL_Starred) return NULL;
    return author->Call.args.at[place];
}

static pel_node *unify_call(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    pel_node *first = l.at[0], *call = pel_node_new(ctx, PEL_Call);
    call->mark = first->mark;
    call->Call.func = first->Call.func;
    for (uint32_t i = 0; i < first->Call.args.n; i++) {
        lanes args = pick(ctx, l, call_argument, i);
        pel_node *arg;
        unifier->author = authors_argument(author, first, NULL, i);
        if (args.at[0]->kind == PEL_Starred) {
            arg = pel_node_new(ctx, PEL_Starred);
            arg->Starred.value = unify(unifier, pick(ctx, args, starred_value, 0), hint);
        } else {
            arg = unify(unifier, args, hint);
        }
        pel_nodes_push(ctx, &call->Call.args, arg);
    }
    for (uint32_t i = 0; i < first->Call.keywords.n; i++) {
        lanes keywords = pick(ctx, l, call_keyword, i);
        bool always_default = true;
        for (uint32_t k = 0; k < l.n; k++) always_default &= (keywords.at[k]->mark & PEL_ARG_DEFAULT) != 0;
        pel_node *keyword = pel_node_new(ctx, PEL_keyword);
        keyword->mark = (keywords.at[0]->mark & PEL_ARG_POSITIONAL) | (always_default ? PEL_ARG_DEFAULT : 0);
        keyword->keyword.arg = keywords.at[0]->keyword.arg;
        pel_name name = keyword->keyword.arg;
        unifier->author = authors_argument(author, first, name, first->Call.args.n + i);
        keyword->keyword.value = unify(unifier, pick(ctx, keywords, keyword_value, 0), name ? name : hint);
        pel_nodes_push(ctx, &call->Call.keywords, keyword);
    }
    unifier->author = author;
    return call;
}

/* ---- lists: comprehensions ---- */

static pel_node *number(pel_ctx *ctx, int64_t value) { return pel_make_int(ctx, value); }

/* Where each list's elements begin among all elements. */
static uint32_t *starts_of(pel_ctx *ctx, lanes lists) {
    uint32_t *starts = pel_new_array(ctx, lists.n + 1, uint32_t);
    for (uint32_t i = 0; i < lists.n; i++) starts[i + 1] = starts[i] + lists.at[i]->List.elts.n;
    return starts;
}

static bool varies_within_a_list(const pel_hole *hole, const uint32_t *starts, uint32_t n_lists) {
    for (uint32_t i = 0; i < n_lists; i++)
        for (uint32_t e = starts[i] + 1; e < starts[i + 1]; e++)
            if (!pel_same(hole->values[starts[i]], hole->values[e])) return true;
    return false;
}

static bool counts_up(const pel_hole *hole, const uint32_t *starts, uint32_t n_lists) {
    for (uint32_t i = 0; i < n_lists; i++)
        for (uint32_t e = starts[i]; e < starts[i + 1]; e++)
            if (!pel_is_number(hole->values[e], e - starts[i])) return false;
    return true;
}

/* What a comprehension runs over: range(n), the values of the one hole, or rows of values. */
static pel_node *loop_source(pel_unifier *unifier, lanes lists, const uint32_t *starts, pel_hole *const *holes,
                             uint32_t n_holes, bool counts, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    pel_node **sources = pel_alloc_array(ctx, lists.n, sizeof *sources);
    for (uint32_t i = 0; i < lists.n; i++) {
        if (!n_holes || counts) {
            sources[i] = number(ctx, starts[i + 1] - starts[i]);
            continue;
        }
        sources[i] = pel_node_new(ctx, PEL_Tuple);
        for (uint32_t e = starts[i]; e < starts[i + 1]; e++) {
            pel_node *row = holes[0]->values[e];
            if (n_holes > 1) {
                row = pel_node_new(ctx, PEL_Tuple);
                for (uint32_t h = 0; h < n_holes; h++) pel_nodes_push(ctx, &row->Tuple.elts, holes[h]->values[e]);
            }
            pel_nodes_push(ctx, &sources[i]->Tuple.elts, row);
        }
    }
    bool lists_values = n_holes && !counts;
    pel_str one = pel_name_str(lists_values && n_holes == 1 ? holes[0]->name : hint);
    const char *many = !lists_values ? "num_%.*s" : pel_str_ends(one, PEL_STR("s")) ? "%.*s_list" : "%.*ss";
    pel_str text = pel_format(ctx, many, PEL_FMT(one));
    pel_name name = pel_intern_str(ctx, text);
    lanes all = { sources, lists.n };
    pel_node *source = all_same(all) ? sources[0] : make_hole(unifier, all, name);
    if (lists_values) return source;
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "range"), PEL_Load), pel_nodes_one(ctx, source),
                         (pel_nodes){ 0 });
}

/* What the author has for an element of a list. */
static const pel_node *authors_element(const pel_node *author, uint32_t i) {
    if (author && author->kind == PEL_ListComp) return author->ListComp.elt;
    return author && author->kind == PEL_List && i < author->List.elts.n ? author->List.elts.at[i] : NULL;
}

/* [Block(dim) for _ in range(12)], if the elements of all lists are calls of one function; NULL if a plain list
 * reads better or nothing else is possible. */
static pel_node *unify_as_comprehension(pel_unifier *unifier, lanes lists, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    uint32_t *starts = starts_of(ctx, lists), total = starts[lists.n], longest = 0;
    bool equally_long = true;
    for (uint32_t i = 0; i < lists.n; i++) {
        uint32_t n = lists.at[i]->List.elts.n;
        if (n > longest) longest = n;
        equally_long &= n == lists.at[0]->List.elts.n;
    }
    if (longest < 2) return NULL;
    pel_node **elements = pel_alloc_array(ctx, total, sizeof *elements);
    uint32_t *list_of = pel_new_array(ctx, total, uint32_t);
    for (uint32_t i = 0; i < lists.n; i++)
        for (uint32_t e = starts[i]; e < starts[i + 1]; e++) {
            elements[e] = lists.at[i]->List.elts.at[e - starts[i]];
            list_of[e] = i;
        }
    lanes all = { elements, total };
    if (!all_of_kind(all, PEL_Call) || !calls_fit(all)) return NULL;

    pel_unifier inner = unifier_inside(unifier, list_of, total);
    const uint32_t n_outside = inner.holes.n;
    inner.author = authors_element(unifier->author, 0);
    pel_node *element = unify_call(&inner, all, hint);
    /* A module is built where it stands: one that came in by a name would be shared by all elements. */
    if (has_builder(&inner, n_outside)) return NULL;
    PEL_VEC(pel_hole *) running = { 0 };
    for (uint32_t h = n_outside; h < inner.holes.n; h++) {
        pel_hole *hole = &inner.holes.at[h];
        if (varies_within_a_list(hole, starts, lists.n)) pel_push(ctx, &running, hole);
    }
    bool few = longest <= 4 || (running.n > 1 && longest <= 6);
    if (running.n && equally_long && few && !(running.n == 1 && longest > 2)) return NULL;

    for (uint32_t h = 0; h < running.n; h++) pel_push(ctx, &unifier->busy, running.at[h]->name);
    bool counts = running.n == 1 && counts_up(running.at[0], starts, lists.n);
    unifier->author = NULL; /* what the author says of the list says nothing of its elements' arguments */
    for (uint32_t h = n_outside; h < inner.holes.n; h++) { /* what is one value for each list belongs to the outside */
        pel_hole *hole = &inner.holes.at[h];
        if (varies_within_a_list(hole, starts, lists.n)) continue;
        pel_node **values = pel_alloc_array(ctx, lists.n, sizeof *values), *some = NULL;
        for (uint32_t i = 0; i < lists.n; i++)
            if (starts[i] < starts[i + 1]) some = values[i] = hole->values[starts[i]];
        for (uint32_t i = 0; i < lists.n; i++)
            if (!values[i]) values[i] = some; /* an empty list does not care */
        lanes outer = { values, lists.n };
        pel_replace_name(&element, hole->name, unify(unifier, outer, hole->name));
    }
    pel_node *generator = pel_node_new(ctx, PEL_comprehension), *target;
    if (running.n > 1) {
        target = pel_node_new(ctx, PEL_Tuple);
        target->Tuple.ctx = PEL_Store;
        for (uint32_t h = 0; h < running.n; h++)
            pel_nodes_push(ctx, &target->Tuple.elts, pel_make_name(ctx, running.at[h]->name, PEL_Store));
    } else {
        pel_name name = running.n ? running.at[0]->name : pel_intern_c(ctx, "_");
        target = pel_make_name(ctx, name, PEL_Store);
    }
    generator->comprehension.target = target;
    generator->comprehension.iter = loop_source(unifier, lists, starts, running.at, running.n, counts, hint);
    pel_node *list = pel_node_new(ctx, PEL_ListComp);
    list->ListComp.elt = element;
    list->ListComp.generators = pel_nodes_one(ctx, generator);
    return list;
}

/* ---- elements that come again ---- */

#define MAX_PERIOD 4

/* How often the `period` elements from i on stand there in a row, in every lane. */
static uint32_t rounds_of(lanes l, uint32_t i, uint32_t period) {
    for (uint32_t n = 1;; n++)
        for (uint32_t k = 0; k < l.n; k++)
            for (uint32_t e = 0; e < period; e++) {
                const pel_nodes elements = l.at[k]->List.elts;
                uint32_t next = i + n * period + e;
                if (next >= elements.n || !pel_same(elements.at[i + e], elements.at[next])) return n;
            }
}

/* The shortest period with which the elements from i on are worth a loop; 0 if there is none. */
static uint32_t period_at(lanes l, uint32_t i, uint32_t *rounds) {
    for (uint32_t period = 1; period <= MAX_PERIOD; period++) {
        *rounds = rounds_of(l, i, period);
        if (*rounds >= 3) return period;
    }
    return 0;
}

static pel_node *generator_of(pel_ctx *ctx, pel_name target, pel_node *iter) {
    pel_node *generator = pel_node_new(ctx, PEL_comprehension);
    generator->comprehension.target = pel_make_name(ctx, target, PEL_Store);
    generator->comprehension.iter = iter;
    return generator;
}

/* [element for _ in range(n)], or [block for _ in range(n) for block in (one, other)] */
static pel_node *repeated(pel_unifier *unifier, pel_nodes elements, uint32_t n) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *list = pel_node_new(ctx, PEL_ListComp);
    pel_node *range = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "range"), PEL_Load),
                                    pel_nodes_one(ctx, number(ctx, n)), (pel_nodes){ 0 });
    pel_nodes_push(ctx, &list->ListComp.generators, generator_of(ctx, pel_intern_c(ctx, "_"), range));
    list->ListComp.elt = elements.at[0];
    if (elements.n == 1) return list;
    pel_name each = free_name(unifier, pel_intern_c(ctx, "block"));
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    row->Tuple.elts = elements;
    pel_nodes_push(ctx, &list->ListComp.generators, generator_of(ctx, each, row));
    list->ListComp.elt = pel_make_name(ctx, each, PEL_Load);
    return list;
}

/* ---- lists of which some lanes lack an element ---- */

#define MAX_GAPS 2
#define MAX_GAP_SIZE 60 /* nodes of what is built if a flag says so */

static void count_nodes(void *arg, pel_node **slot) {
    ++*(uint32_t *)arg;
    pel_each_child(*slot, count_nodes, arg);
}

/* Worth a flag: several lanes have it, and it is no large thing that would stand better where it is passed. */
static bool is_fair_gap(lanes l) {
    uint32_t n = 0, size = 0;
    for (uint32_t i = 0; i < l.n; i++) {
        if (pel_is_none(l.at[i])) continue;
        pel_node *element = l.at[i];
        if (n++ == 0) count_nodes(&size, &element);
    }
    return n > 1 && size <= MAX_GAP_SIZE;
}

static bool has_call_like(const pel_node *list, const pel_node *call) {
    for (uint32_t i = 0; i < list->List.elts.n; i++) {
        pel_node *pair[] = { list->List.elts.at[i], (pel_node *)(uintptr_t)call };
        if (pair[0]->kind == PEL_Call && calls_fit((lanes){ pair, 2 })) return true;
    }
    return false;
}

/* A part of one list that has the place of a part of another: a call of the same function, or a layer of torch's that
 * the other list has nowhere in the place of another (one activation for another). */
static bool takes_place(const pel_node *list, pel_node *here, const pel_node *longest, pel_node *wanted) {
    if (here->kind != PEL_Call || wanted->kind != PEL_Call) return false;
    if (calls_fit((lanes){ (pel_node *[]){ wanted, here }, 2 })) return true;
    bool are_torchs = here->Call.func->kind == PEL_Attribute && wanted->Call.func->kind == PEL_Attribute;
    return are_torchs && !has_call_like(longest, here) && !has_call_like(list, wanted);
}

/* Where the elements of a list stand in a longer one that has calls of the same functions in the same order, and some
 * in between: rows[place of the longer one] is the element or None. False if it is no such list. Seen from the end,
 * because what only some have mostly comes first. */
static bool spread(pel_ctx *ctx, const pel_node *list, const pel_node *longest, pel_node **row) {
    uint32_t left = list->List.elts.n;
    for (uint32_t i = longest->List.elts.n; i-- > 0;) {
        pel_node *here = left ? list->List.elts.at[left - 1] : NULL;
        bool fits = here && takes_place(list, here, longest, longest->List.elts.at[i]);
        row[i] = fits ? here : pel_make_none(ctx);
        left -= fits;
    }
    return left == 0;
}

static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/* Where a word of a CamelCase name begins; ReLU is one. */
static bool begins_word(pel_str name, size_t i, size_t previous) {
    if (i == 0) return true;
    if (!is_upper(name.ptr[i]) || is_upper(name.ptr[i - 1])) return false;
    size_t capitals = i;
    while (capitals < name.len && is_upper(name.ptr[capitals])) capitals++;
    return i - previous > 2 || capitals < name.len;
}

/* with_layer_norm, for LayerNorm(...) that only some have */
static pel_name gap_name(pel_ctx *ctx, const pel_node *call) {
    const pel_node *func = call->Call.func;
    pel_str name = pel_name_str(func->kind == PEL_Attribute ? func->Attribute.attr
                                : func->kind == PEL_Name    ? func->Name.id
                                                            : pel_intern_c(ctx, "part"));
    pel_buf text = pel_buf_in(ctx);
    pel_put_c(&text, "with");
    for (size_t i = 0, word = 0; i < name.len; i++) {
        if (begins_word(name, i, word)) {
            word = i;
            pel_put_byte(&text, '_');
        }
        pel_put_byte(&text, is_upper(name.ptr[i]) ? (char)(name.ptr[i] + ('a' - 'A')) : name.ptr[i]);
    }
    return pel_intern(ctx, text.at, text.len);
}

/* What is passed in: modules of different kinds, None in the lanes that have none. */
static pel_node *element_or_none(pel_unifier *unifier, lanes l) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *name = make_hole(unifier, l, pel_intern_c(ctx, "layer"));
    pel_node *choice = pel_node_new(ctx, PEL_IfExp);
    choice->IfExp.test = pel_make_compare(ctx, name, PEL_IsNot, pel_make_none(ctx));
    choice->IfExp.body = name;
    return choice;
}

static bool are_of_one_kind(pel_ctx *ctx, lanes l) {
    pel_node **present = pel_new_array(ctx, l.n, pel_node *);
    uint32_t n = 0;
    for (uint32_t i = 0; i < l.n; i++)
        if (!pel_is_none(l.at[i])) present[n++] = l.at[i];
    return calls_fit((lanes){ present, n });
}

/* *([element] if flag else []) */
static pel_node *optional_element(pel_ctx *ctx, pel_node *choice) {
    pel_node *starred = pel_node_new(ctx, PEL_Starred), *there = pel_node_new(ctx, PEL_List);
    there->List.elts = pel_nodes_one(ctx, choice->IfExp.body);
    choice->IfExp.body = there;
    choice->IfExp.orelse = pel_node_new(ctx, PEL_List);
    starred->Starred.value = choice;
    return starred;
}

/* Lists that differ by an element or two, which then are built if a flag says so. NULL if they differ otherwise. */
static pel_node *unify_with_gaps(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *longest = l.at[0];
    for (uint32_t i = 1; i < l.n; i++)
        if (l.at[i]->List.elts.n > longest->List.elts.n) longest = l.at[i];
    uint32_t n = longest->List.elts.n, n_gaps = 0, n_holes = unifier->holes.n, n_busy = unifier->busy.n;
    pel_node **rows = pel_new_array(ctx, (size_t)n * l.n, pel_node *), **row = pel_new_array(ctx, n, pel_node *);
    bool *has_gap = pel_new_array(ctx, n, bool);
    for (uint32_t i = 0; i < l.n; i++) {
        if (!l.at[i]->List.elts.n || !spread(ctx, l.at[i], longest, row)) return NULL;
        for (uint32_t k = 0; k < n; k++) {
            rows[k * l.n + i] = row[k];
            has_gap[k] |= pel_is_none(row[k]);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        n_gaps += has_gap[k];
        if (has_gap[k] && !is_fair_gap((lanes){ rows + k * l.n, l.n })) return NULL;
    }
    if (n_gaps > MAX_GAPS || n_gaps == n) return NULL;
    pel_node **elements = pel_new_array(ctx, n, pel_node *);
    for (int gaps = 0; gaps < 2; gaps++) /* what all have gives its names to what some have */
        for (uint32_t k = 0; k < n; k++) {
            if (has_gap[k] != gaps) continue;
            lanes here = { rows + k * l.n, l.n };
            elements[k] = !gaps ? unify(unifier, here, hint)
                          : are_of_one_kind(ctx, here)
                              ? make_optional(unifier, here, gap_name(ctx, longest->List.elts.at[k]))
                              : element_or_none(unifier, here);
            if (elements[k]) continue;
            unifier->holes.n = n_holes;
            unifier->busy.n = n_busy;
            return NULL;
        }
    pel_node *list = pel_node_new(ctx, PEL_List);
    for (uint32_t k = 0; k < n; k++)
        pel_nodes_push(ctx, &list->List.elts, has_gap[k] ? optional_element(ctx, elements[k]) : elements[k]);
    return list;
}

static pel_node *unify_list(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    pel_node *comprehension = unify_as_comprehension(unifier, l, hint);
    if (comprehension) return comprehension;
    for (uint32_t i = 1; i < l.n; i++) {
        if (l.at[i]->List.elts.n == l.at[0]->List.elts.n) continue;
        pel_node *made = unify_with_gaps(unifier, l, hint);
        if (!made) made = make_optional(unifier, l, hint);
        return made ? made : make_hole(unifier, l, hint);
    }
    pel_node *list = pel_node_new(ctx, PEL_List);
    const uint32_t n_holes = unifier->holes.n;
    for (uint32_t i = 0, rounds; i < l.at[0]->List.elts.n;) {
        const uint32_t n_before = unifier->holes.n;
        uint32_t period = period_at(l, i, &rounds);
        pel_nodes elements = { 0 };
        for (uint32_t e = 0; e < (period ? period : 1); e++) {
            unifier->author = authors_element(author, i + e);
            pel_nodes_push(ctx, &elements, unify(unifier, pick(ctx, l, list_element, i + e), hint));
        }
        unifier->author = author;
        if (!period) {
            pel_nodes_push(ctx, &list->List.elts, elements.at[0]);
            i++;
            continue;
        }
        if (has_builder(unifier, n_before)) { /* one that came in by a name would be shared: the list comes in whole */
            unifier->holes.n = n_holes;
            return make_hole(unifier, l, hint);
        }
        pel_node *loop = repeated(unifier, elements, rounds), *starred = pel_node_new(ctx, PEL_Starred);
        if (period * rounds == l.at[0]->List.elts.n) return loop;
        starred->Starred.value = loop;
        pel_nodes_push(ctx, &list->List.elts, starred);
        i += period * rounds;
    }
    return list;
}

static pel_node *unify_tuple(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_node *tuple = pel_node_new(unifier->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < l.at[0]->Tuple.elts.n; i++)
        pel_nodes_push(unifier->ctx, &tuple->Tuple.elts, unify(unifier, pick(unifier->ctx, l, tuple_element, i), hint));
    return tuple;
}

static pel_node *unify(pel_unifier *unifier, lanes l, pel_name hint) {
    pel_node *first = l.at[0];
    if (l.n > 1 && any_has_mark(l, PEL_CALL_OPAQUE)) return make_hole(unifier, l, hint);
    if (all_of_kind(l, PEL_Call) && calls_fit(l)) return unify_call(unifier, l, hint);
    bool builds = any_has_mark(l, PEL_CALL_BUILDS);
    bool in_parts = builds || any_names_self(l);
    if (all_of_kind(l, PEL_List) && in_parts) return unify_list(unifier, l, hint);
    if (all_of_kind(l, PEL_Tuple) && in_parts) { /* a tuple of plain values is better passed whole */
        bool fits = true;
        for (uint32_t i = 1; i < l.n; i++) fits &= l.at[i]->Tuple.elts.n == first->Tuple.elts.n;
        if (fits) return unify_tuple(unifier, l, hint);
    }
    if (all_same(l)) return first;
    if (builds) {
        pel_node *optional = make_optional(unifier, l, hint);
        if (optional) return optional;
    }
    return make_hole(unifier, l, hint);
}

pel_node *pel_unify(pel_unifier *unifier, pel_node *const *at, pel_name hint) {
    if (!hint) hint = pel_intern_c(unifier->ctx, "value"); /* arguments by place of a class that has no source */
    return unify(unifier, (lanes){ at, unifier->n_lanes }, hint);
}

/* ---- the last touch ---- */

static bool is_list_of_pairs(const pel_node *node) {
    if (node->kind != PEL_List || !node->List.elts.n) return false;
    for (uint32_t i = 0; i < node->List.elts.n; i++) {
        const pel_node *pair = node->List.elts.at[i];
        if (pair->kind != PEL_Tuple || pair->Tuple.elts.n != 2) return false;
    }
    return true;
}

/* nn.ParameterDict sorts what it gets as a dict; a list of pairs it leaves in its order. */
static bool would_be_sorted(const pel_node *call, const pel_node *list) {
    if (call->Call.func->kind != PEL_Attribute || !pel_name_is(call->Call.func->Attribute.attr, "ParameterDict"))
        return false;
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

static void polish_call(pel_ctx *ctx, pel_node *call) {
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t i = 0; i < call->Call.args.n; i++) {
        pel_node *arg = call->Call.args.at[i];
        if (arg->kind == PEL_Starred && arg->Starred.value->kind == PEL_List) {
            const pel_nodes elements = arg->Starred.value->List.elts;
            for (uint32_t k = 0; k < elements.n; k++) pel_nodes_push(ctx, &args, elements.at[k]);
        } else if (call->mark & PEL_CALL_BUILDS && arg->kind == PEL_List && !arg->List.elts.n) {
            continue; /* nn.ModuleList() */
        } else if (call->mark & PEL_CALL_BUILDS && is_list_of_pairs(arg) && !would_be_sorted(call, arg)) {
            pel_nodes_push(ctx, &args, dict_of_pairs(ctx, arg));
        } else {
            pel_nodes_push(ctx, &args, arg);
        }
    }
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i];
        uint32_t mark = keyword->mark;
        keyword->mark = 0;
        if (mark & PEL_ARG_DEFAULT) continue;
        if (mark & PEL_ARG_POSITIONAL && !keywords.n)
            pel_nodes_push(ctx, &args, keyword->keyword.value);
        else
            pel_nodes_push(ctx, &keywords, keyword);
    }
    call->Call.args = args;
    call->Call.keywords = keywords;
    call->mark = 0;
}

typedef struct polisher {
    pel_ctx *ctx;
} polisher;

static void polish(void *arg, pel_node **slot) {
    const polisher *p = arg;
    pel_each_child(*slot, polish, arg);
    if ((*slot)->kind == PEL_Call && (*slot)->mark) polish_call(p->ctx, *slot);
}

void pel_unify_polish(pel_ctx *ctx, pel_node **slot) {
    polisher p = { ctx };
    polish(&p, slot);
}
