/* Lists of what is built: elements that come again, elements that some lanes lack. */
#include "trace/unifier.h"

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
    pel_node *comprehension = pel_unify_comprehension(unifier, l, hint);
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
