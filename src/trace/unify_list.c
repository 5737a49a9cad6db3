/* Lists of what is built: comprehensions over equal calls, elements that come again, elements that some lanes lack. */
#include "trace/unifier.h"

static pel_node *list_element(pel_node *list, uint32_t i) { return list->List.elts.at[i]; }

/* ---- comprehensions ---- */

/* The elements of all lists, one behind the other. */
typedef struct element_list {
    pel_node **at;
    uint32_t n;
    uint32_t n_lists, longest;
    uint32_t *starts;  /* per list, and behind the last: where its elements begin */
    uint32_t *list_of; /* per element */
    bool equally_long;
} element_list;

static element_list elements_of(pel_ctx *ctx, pel_column lists) {
    element_list all = { .n_lists = lists.n,
                         .starts = pel_new_array(ctx, lists.n + 1, uint32_t),
                         .equally_long = true };
    for (uint32_t i = 0; i < lists.n; i++) {
        uint32_t n = lists.at[i]->List.elts.n;
        all.starts[i + 1] = all.starts[i] + n;
        if (n > all.longest) all.longest = n;
        all.equally_long &= n == lists.at[0]->List.elts.n;
    }
    all.n = all.starts[lists.n];
    all.at = pel_new_array(ctx, all.n, pel_node *);
    all.list_of = pel_new_array(ctx, all.n, uint32_t);
    for (uint32_t i = 0; i < lists.n; i++)
        for (uint32_t e = all.starts[i]; e < all.starts[i + 1]; e++) {
            all.at[e] = lists.at[i]->List.elts.at[e - all.starts[i]];
            all.list_of[e] = i;
        }
    return all;
}

static bool varies_within_a_list(const element_list *all, const pel_hole *hole) {
    for (uint32_t e = 1; e < all->n; e++)
        if (all->list_of[e] == all->list_of[e - 1] && !pel_same(hole->values[e - 1], hole->values[e])) return true;
    return false;
}

static bool counts_up(const element_list *all, const pel_hole *hole) {
    for (uint32_t e = 0; e < all->n; e++)
        if (!pel_is_number(hole->values[e], e - all->starts[all->list_of[e]])) return false;
    return true;
}

/* What differs from element to element of a list: the variables of the comprehension. */
typedef PEL_VEC(const pel_hole *) variables;

static pel_node *row_of(pel_ctx *ctx, variables running, uint32_t element) {
    if (running.n == 1) return running.at[0]->values[element];
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    for (uint32_t h = 0; h < running.n; h++) pel_nodes_push(ctx, &row->Tuple.elts, running.at[h]->values[element]);
    return row;
}

/* What a comprehension runs over: range(n), the values of the one variable, or rows of values. */
static pel_node *loop_source(pel_unifier *unifier, const element_list *all, variables running, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    bool counts = !running.n || (running.n == 1 && counts_up(all, running.at[0]));
    pel_node **sources = pel_new_array(ctx, all->n_lists, pel_node *);
    for (uint32_t i = 0; i < all->n_lists; i++) {
        if (counts) {
            sources[i] = pel_make_int(ctx, all->starts[i + 1] - all->starts[i]);
            continue;
        }
        sources[i] = pel_node_new(ctx, PEL_Tuple);
        for (uint32_t e = all->starts[i]; e < all->starts[i + 1]; e++)
            pel_nodes_push(ctx, &sources[i]->Tuple.elts, row_of(ctx, running, e));
    }
    pel_str one = pel_name_str(!counts && running.n == 1 ? running.at[0]->name : hint);
    const char *many = counts ? "num_%.*s" : pel_str_ends(one, PEL_STR("s")) ? "%.*s_list" : "%.*ss";
    pel_name name = pel_intern_str(ctx, pel_format(ctx, many, PEL_FMT(one)));
    pel_column column = { sources, all->n_lists };
    pel_node *source = pel_all_equal(column) ? sources[0] : pel_make_hole(unifier, column, name);
    if (!counts) return source;
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "range"), PEL_Load), pel_nodes_one(ctx, source),
                         (pel_nodes){ 0 });
}

static pel_node *loop_target(pel_ctx *ctx, variables running) {
    if (running.n < 2) return pel_make_name(ctx, running.n ? running.at[0]->name : pel_intern_c(ctx, "_"), PEL_Store);
    pel_node *target = pel_node_new(ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    for (uint32_t h = 0; h < running.n; h++)
        pel_nodes_push(ctx, &target->Tuple.elts, pel_make_name(ctx, running.at[h]->name, PEL_Store));
    return target;
}

static pel_node *generator_of(pel_ctx *ctx, pel_node *target, pel_node *iter) {
    pel_node *generator = pel_node_new(ctx, PEL_comprehension);
    generator->comprehension.target = target;
    generator->comprehension.iter = iter;
    return generator;
}

/* What the author has for an element of a list. */
static const pel_node *authors_element(const pel_node *author, uint32_t i) {
    if (author && author->kind == PEL_ListComp) return author->ListComp.elt;
    return author && author->kind == PEL_List && i < author->List.elts.n ? author->List.elts.at[i] : NULL;
}

#define MAX_VARIABLES 4 /* of one comprehension, before its table is harder to read than calls with names */
#define MAX_RUNS 3

/* How often the elements of a list, all of one length, become others. */
static uint32_t count_runs(const element_list *all, variables running) {
    uint32_t n = 1;
    for (uint32_t e = 1; e < all->longest; e++) {
        bool changes = false;
        for (uint32_t i = 0; i < all->n_lists; i++)
            for (uint32_t h = 0; h < running.n; h++) {
                pel_node **values = running.at[h]->values + all->starts[i];
                changes |= !pel_same(values[e - 1], values[e]);
            }
        n += changes;
    }
    return n;
}

/* A few elements with values of their own read better one by one; so do many that are all but equal. */
static bool reads_as_list(const element_list *all, variables running) {
    if (running.n && all->equally_long) {
        if (running.n > MAX_VARIABLES && all->n_lists == 1) return true;
        if (all->longest > 8 && count_runs(all, running) <= MAX_RUNS) return true;
    }
    if (!running.n || !all->equally_long || (running.n == 1 && all->longest > 2)) return false;
    return all->longest <= 4 || (running.n > 1 && all->longest <= 6);
}

/* What is one value for each list belongs to the outside. */
static pel_node *value_outside(pel_unifier *unifier, const element_list *all, const pel_hole *hole) {
    pel_node **values = pel_new_array(unifier->ctx, all->n_lists, pel_node *), *some = NULL;
    for (uint32_t i = 0; i < all->n_lists; i++)
        if (all->starts[i] < all->starts[i + 1]) some = values[i] = hole->values[all->starts[i]];
    for (uint32_t i = 0; i < all->n_lists; i++)
        if (!values[i]) values[i] = some; /* an empty list does not care */
    unifier->is_size = hole->is_size;
    pel_node *value = pel_unify_column(unifier, (pel_column){ values, all->n_lists }, hole->name);
    unifier->is_size = false;
    return value;
}

/* [Block(dim) for _ in range(12)], if the elements of all lists are calls of one function; NULL if a plain list
 * reads better or nothing else is possible. */
static pel_node *unify_as_comprehension(pel_unifier *unifier, pel_column lists, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    element_list all = elements_of(ctx, lists);
    pel_column column = { all.at, all.n };
    if (all.longest < 2 || !pel_all_of_kind(column, PEL_Call) || !pel_calls_fit(column)) return NULL;

    pel_unifier inner = pel_unifier_inside(unifier, all.list_of, all.n);
    const uint32_t n_outside = inner.holes.n;
    inner.author = authors_element(unifier->author, 0);
    pel_node *element = pel_unify_call(&inner, column, hint);
    /* A module is built where it stands: one that came in by a name would be shared by all elements. */
    if (pel_has_builder(&inner, n_outside)) return NULL;
    variables running = { 0 };
    for (uint32_t h = n_outside; h < inner.holes.n; h++)
        if (varies_within_a_list(&all, &inner.holes.at[h])) pel_push(ctx, &running, &inner.holes.at[h]);
    if (reads_as_list(&all, running)) return NULL;

    for (uint32_t h = 0; h < running.n; h++) pel_push(ctx, &unifier->busy, running.at[h]->name);
    unifier->author = NULL; /* what the author says of the list says nothing of its elements' arguments */
    for (uint32_t h = n_outside; h < inner.holes.n; h++) {
        const pel_hole *hole = &inner.holes.at[h];
        if (!varies_within_a_list(&all, hole))
            pel_replace_name(&element, hole->name, value_outside(unifier, &all, hole));
    }
    pel_node *list = pel_node_new(ctx, PEL_ListComp), *source = loop_source(unifier, &all, running, hint);
    list->ListComp.elt = element;
    list->ListComp.generators = pel_nodes_one(ctx, generator_of(ctx, loop_target(ctx, running), source));
    return list;
}

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
                   generator_of(ctx, pel_make_name(ctx, pel_intern_c(ctx, "_"), PEL_Store), range));
    list->ListComp.elt = elements.at[0];
    if (elements.n == 1) return list;
    pel_name each = pel_hole_name(unifier, pel_intern_c(ctx, "block"));
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    row->Tuple.elts = elements;
    pel_nodes_push(ctx, &list->ListComp.generators, generator_of(ctx, pel_make_name(ctx, each, PEL_Store), row));
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
static bool is_fair_gap(pel_column l) {
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
        if (pair[0]->kind == PEL_Call && pel_calls_fit((pel_column){ pair, 2 })) return true;
    }
    return false;
}

/* A part of one list that has the place of a part of another: a call of the same function, or a layer of torch's that
 * the other list has nowhere in the place of another (one activation for another). */
static bool takes_place(const pel_node *list, pel_node *here, const pel_node *longest, pel_node *wanted) {
    if (here->kind != PEL_Call || wanted->kind != PEL_Call) return false;
    if (pel_calls_fit((pel_column){ (pel_node *[]){ wanted, here }, 2 })) return true;
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
    pel_name last = pel_last_name(call->Call.func);
    pel_str name = last ? pel_name_str(last) : PEL_STR("part");
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
static pel_node *element_or_none(pel_unifier *unifier, pel_column l) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *name = pel_make_hole(unifier, l, pel_intern_c(ctx, "layer"));
    pel_node *choice = pel_node_new(ctx, PEL_IfExp);
    choice->IfExp.test = pel_make_compare(ctx, name, PEL_IsNot, pel_make_none(ctx));
    choice->IfExp.body = name;
    return choice;
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

/* Lists beside the longest of them, place by place. */
typedef struct gaps {
    const pel_node *longest;
    uint32_t n;      /* places */
    pel_node **rows; /* place by place, in each the elements of all lists; None: it has none there */
    bool *has_gap;   /* per place */
} gaps;

/* False if the lists differ by more than an element or two. */
static bool find_gaps(pel_ctx *ctx, pel_column l, gaps *g) {
    g->longest = l.at[0];
    for (uint32_t i = 1; i < l.n; i++)
        if (l.at[i]->List.elts.n > g->longest->List.elts.n) g->longest = l.at[i];
    g->n = g->longest->List.elts.n;
    g->rows = pel_new_array(ctx, (size_t)g->n * l.n, pel_node *);
    g->has_gap = pel_new_array(ctx, g->n, bool);
    pel_node **row = pel_new_array(ctx, g->n, pel_node *);
    for (uint32_t i = 0; i < l.n; i++) {
        if (!l.at[i]->List.elts.n || !spread(ctx, l.at[i], g->longest, row)) return false;
        for (uint32_t k = 0; k < g->n; k++) {
            g->rows[(size_t)k * l.n + i] = row[k];
            g->has_gap[k] |= pel_is_none(row[k]);
        }
    }
    uint32_t n_gaps = 0;
    for (uint32_t k = 0; k < g->n; k++) {
        n_gaps += g->has_gap[k];
        if (g->has_gap[k] && !is_fair_gap((pel_column){ g->rows + (size_t)k * l.n, l.n })) return false;
    }
    return n_gaps <= MAX_GAPS && n_gaps < g->n;
}

static pel_node *unify_gap(pel_unifier *unifier, pel_column here, const pel_node *element) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *made = pel_make_optional(unifier, here, pel_intern_c(ctx, "layer"), gap_name(ctx, element));
    return made ? made : element_or_none(unifier, here);
}

/* Lists that differ by an element or two, which then are built if a flag says so. NULL if they differ otherwise. */
static pel_node *unify_with_gaps(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    gaps g;
    if (!find_gaps(ctx, l, &g)) return NULL;
    const uint32_t n_holes = unifier->holes.n, n_busy = unifier->busy.n;
    const pel_node *author = unifier->author;
    bool he_has_all = author && author->kind == PEL_List && author->List.elts.n == g.n;
    pel_node **elements = pel_new_array(ctx, g.n, pel_node *);
    for (int of_gaps = 0; of_gaps < 2; of_gaps++) /* what all have gives its names to what some have */
        for (uint32_t k = 0; k < g.n; k++) {
            if (g.has_gap[k] != of_gaps) continue;
            pel_column here = { g.rows + (size_t)k * l.n, l.n };
            unifier->author = he_has_all ? author->List.elts.at[k] : NULL;
            elements[k] =
                of_gaps ? unify_gap(unifier, here, g.longest->List.elts.at[k]) : pel_unify_column(unifier, here, hint);
            unifier->author = author;
            if (elements[k]) continue;
            unifier->holes.n = n_holes;
            unifier->busy.n = n_busy;
            return NULL;
        }
    pel_node *list = pel_node_new(ctx, PEL_List);
    for (uint32_t k = 0; k < g.n; k++)
        pel_nodes_push(ctx, &list->List.elts, g.has_gap[k] ? optional_element(ctx, elements[k]) : elements[k]);
    return list;
}

/* ---- all of them ---- */

pel_node *pel_unify_list(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    const pel_node *author = unifier->author;
    pel_node *comprehension = unify_as_comprehension(unifier, l, hint);
    if (comprehension) return comprehension;
    for (uint32_t i = 1; i < l.n; i++) {
        if (l.at[i]->List.elts.n == l.at[0]->List.elts.n) continue;
        pel_node *made = unify_with_gaps(unifier, l, hint);
        if (!made) made = pel_make_optional(unifier, l, hint, hint);
        return made ? made : pel_make_hole(unifier, l, hint);
    }
    pel_node *list = pel_node_new(ctx, PEL_List);
    const uint32_t n_holes = unifier->holes.n;
    for (uint32_t i = 0, rounds; i < l.at[0]->List.elts.n;) {
        const uint32_t n_before = unifier->holes.n;
        uint32_t period = period_at(l, i, &rounds);
        pel_nodes elements = { 0 };
        for (uint32_t e = 0; e < (period ? period : 1); e++) {
            unifier->author = authors_element(author, i + e);
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
