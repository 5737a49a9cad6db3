/* Lists of what is built of which some lanes lack elements.
 *
 * All lists are merged into one that has the elements of each in their order. What all lanes have there is unified
 * place by place; places that the same lanes lack, one behind the other, are built together if a flag or another
 * argument says so: *([nn.ReLU(), Conv(dim, dim)] if deep else []). */
#include "trace/build/unifier.h"

#define MAX_PARTS 3      /* that only some lanes have */
#define MAX_PART_SIZE 60 /* nodes of one that is built if a flag says so */
#define MAX_LENGTH 40

static void count_nodes(void *arg, pel_node **slot) {
    ++*(uint32_t *)arg;
    pel_each_child(*slot, count_nodes, arg);
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
static bool takes_place(const pel_node *list, pel_node *here, const pel_node *merged, pel_node *wanted) {
    if (here->kind != PEL_Call || wanted->kind != PEL_Call) return false;
    if (pel_calls_fit((pel_column){ (pel_node *[]){ wanted, here }, 2 })) return true;
    bool are_torchs = here->Call.func->kind == PEL_Attribute && wanted->Call.func->kind == PEL_Attribute;
    return are_torchs && !has_call_like(merged, here) && !has_call_like(list, wanted);
}

/* ---- merging ---- */

/* A list beside another: how many elements of the first i and the first j of them are in both, in their order. */
typedef struct alignment {
    const pel_node *merged, *list;
    uint32_t *common; /* (i, j) */
} alignment;

static uint32_t *common_at(const alignment *a, uint32_t i, uint32_t j) {
    return &a->common[(size_t)i * (a->list->List.elts.n + 1) + j];
}

static bool have_one_place(const alignment *a, uint32_t i, uint32_t j) {
    return takes_place(a->list, a->list->List.elts.at[j], a->merged, a->merged->List.elts.at[i]);
}

static alignment align(pel_ctx *ctx, const pel_node *merged, const pel_node *list) {
    const uint32_t n = merged->List.elts.n, m = list->List.elts.n;
    alignment a = { merged, list, pel_new_array(ctx, (size_t)(n + 1) * (m + 1), uint32_t) };
    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t best = *common_at(&a, i - 1, j), other = *common_at(&a, i, j - 1);
            if (other > best) best = other;
            if (have_one_place(&a, i - 1, j - 1) && *common_at(&a, i - 1, j - 1) + 1 > best)
                best = *common_at(&a, i - 1, j - 1) + 1;
            *common_at(&a, i, j) = best;
        }
    return a;
}

typedef enum step { IN_BOTH, IN_LIST, IN_MERGED } step;

/* Seen from the end, because what only some have mostly comes first. */
static step step_back(const alignment *a, uint32_t i, uint32_t j) {
    if (!j) return IN_MERGED;
    if (!i) return IN_LIST;
    if (have_one_place(a, i - 1, j - 1) && *common_at(a, i, j) == *common_at(a, i - 1, j - 1) + 1) return IN_BOTH;
    return *common_at(a, i, j) == *common_at(a, i, j - 1) ? IN_LIST : IN_MERGED;
}

/* All elements of both, in their order. */
static pel_node *merge(pel_ctx *ctx, const pel_node *merged, const pel_node *list) {
    alignment a = align(ctx, merged, list);
    pel_nodes reversed = { 0 };
    for (uint32_t i = merged->List.elts.n, j = list->List.elts.n; i || j;) {
        step s = step_back(&a, i, j);
        pel_nodes_push(ctx, &reversed, s == IN_LIST ? list->List.elts.at[j - 1] : merged->List.elts.at[i - 1]);
        i -= s != IN_LIST;
        j -= s != IN_MERGED;
    }
    pel_node *made = pel_node_new(ctx, PEL_List);
    for (uint32_t i = reversed.n; i-- > 0;) pel_nodes_push(ctx, &made->List.elts, reversed.at[i]);
    return made;
}

/* Where the elements of a list stand in the merged one: row[place] is the element or None. False: some nowhere. */
static bool spread(pel_ctx *ctx, const pel_node *list, const pel_node *merged, pel_node **row) {
    alignment a = align(ctx, merged, list);
    uint32_t j = list->List.elts.n;
    for (uint32_t i = merged->List.elts.n; i-- > 0;) {
        step s = step_back(&a, i + 1, j);
        if (s == IN_LIST) return false;
        row[i] = s == IN_BOTH ? list->List.elts.at[--j] : pel_make_none(ctx);
    }
    return j == 0;
}

/* Lists beside each other, place by place. */
typedef struct table {
    const pel_node *merged;
    uint32_t n, n_lanes;
    pel_node **rows; /* place by place, in each the elements of all lists; None: it has none there */
} table;

static pel_column at_place(const table *t, uint32_t place) {
    return (pel_column){ t->rows + (size_t)place * t->n_lanes, t->n_lanes };
}

static bool is_gap(const table *t, uint32_t place) {
    for (uint32_t i = 0; i < t->n_lanes; i++)
        if (pel_is_none(at_place(t, place).at[i])) return true;
    return false;
}

/* Whether the same lanes have something at both places. */
static bool go_together(const table *t, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < t->n_lanes; i++)
        if (pel_is_none(at_place(t, a).at[i]) != pel_is_none(at_place(t, b).at[i])) return false;
    return true;
}

static uint32_t end_of_part(const table *t, uint32_t start) {
    uint32_t end = start + 1;
    while (end < t->n && go_together(t, start, end)) end++;
    return end;
}

/* Worth a flag: several lanes have it, and it is no large thing that would stand better where it is passed. */
static bool is_fair_part(const table *t, uint32_t start, uint32_t end) {
    uint32_t n = 0, size = 0;
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        if (pel_is_none(at_place(t, start).at[i])) continue;
        for (uint32_t k = start; k < end && n == 0; k++) {
            pel_node *element = at_place(t, k).at[i];
            count_nodes(&size, &element);
        }
        n++;
    }
    return n > 1 && size <= MAX_PART_SIZE;
}

/* False if the lists differ by more than a few parts. */
static bool find_places(pel_ctx *ctx, pel_column l, table *t) {
    const pel_node *longest = l.at[0];
    for (uint32_t i = 1; i < l.n; i++)
        if (l.at[i]->List.elts.n > longest->List.elts.n) longest = l.at[i];
    t->merged = longest;
    for (uint32_t i = 0; i < l.n; i++) {
        if (!l.at[i]->List.elts.n || t->merged->List.elts.n > MAX_LENGTH) return false;
        t->merged = merge(ctx, t->merged, l.at[i]);
    }
    t->n = t->merged->List.elts.n;
    t->n_lanes = l.n;
    t->rows = pel_new_array(ctx, (size_t)t->n * l.n, pel_node *);
    pel_node **row = pel_new_array(ctx, t->n, pel_node *);
    for (uint32_t i = 0; i < l.n; i++) {
        if (!spread(ctx, l.at[i], t->merged, row)) return false;
        for (uint32_t k = 0; k < t->n; k++) t->rows[(size_t)k * l.n + i] = row[k];
    }
    uint32_t n_parts = 0, n_common = 0;
    for (uint32_t k = 0, end; k < t->n; k = end) {
        end = is_gap(t, k) ? end_of_part(t, k) : k + 1;
        n_common += !is_gap(t, k);
        n_parts += is_gap(t, k);
        if (is_gap(t, k) && !is_fair_part(t, k, end)) return false;
    }
    return n_parts <= MAX_PARTS && n_parts <= n_common;
}

/* ---- what they are called ---- */

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

/* ---- the list ---- */

/* *([element] if flag else []) */
static pel_node *optional_element(pel_ctx *ctx, pel_node *choice) {
    pel_node *there = pel_node_new(ctx, PEL_List);
    there->List.elts = pel_nodes_one(ctx, choice->IfExp.body);
    choice->IfExp.body = there;
    choice->IfExp.orelse = pel_node_new(ctx, PEL_List);
    return pel_make_starred(ctx, choice);
}

/* Several places that the same lanes have: one list of them. NULL if it can't be said. */
static pel_node *unify_part(pel_unifier *unifier, const table *t, uint32_t start, uint32_t end) {
    pel_ctx *ctx = unifier->ctx;
    pel_name hint = pel_intern_c(ctx, "layer"), flag = gap_name(ctx, t->merged->List.elts.at[start]);
    if (end == start + 1) {
        pel_node *made = pel_make_optional(unifier, at_place(t, start), hint, flag);
        return optional_element(ctx, made ? made : element_or_none(unifier, at_place(t, start)));
    }
    pel_node **lists = pel_new_array(ctx, t->n_lanes, pel_node *);
    for (uint32_t i = 0; i < t->n_lanes; i++) {
        lists[i] = pel_node_new(ctx, PEL_List);
        for (uint32_t k = start; k < end && !pel_is_none(at_place(t, start).at[i]); k++)
            pel_nodes_push(ctx, &lists[i]->List.elts, at_place(t, k).at[i]);
    }
    pel_node *choice = pel_make_optional(unifier, (pel_column){ lists, t->n_lanes }, hint, flag);
    return choice ? pel_make_starred(ctx, choice) : NULL;
}

pel_node *pel_unify_with_gaps(pel_unifier *unifier, pel_column l, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    table t;
    if (!find_places(ctx, l, &t)) return NULL;
    const uint32_t n_holes = unifier->holes.n, n_busy = unifier->busy.n;
    const pel_node *author = unifier->author;
    bool he_has_all = author && author->kind == PEL_List && author->List.elts.n == t.n;
    pel_node **elements = pel_new_array(ctx, t.n, pel_node *);
    for (int of_gaps = 0; of_gaps < 2; of_gaps++) /* what all have gives its names to what some have */
        for (uint32_t k = 0, end; k < t.n; k = end) {
            end = is_gap(&t, k) ? end_of_part(&t, k) : k + 1;
            if (is_gap(&t, k) != of_gaps) continue;
            unifier->author = he_has_all && end == k + 1 ? author->List.elts.at[k] : NULL;
            elements[k] = of_gaps ? unify_part(unifier, &t, k, end) : pel_unify_column(unifier, at_place(&t, k), hint);
            unifier->author = author;
            if (elements[k]) continue;
            unifier->holes.n = n_holes;
            unifier->busy.n = n_busy;
            return NULL;
        }
    pel_node *list = pel_node_new(ctx, PEL_List);
    for (uint32_t k = 0; k < t.n; k++)
        if (elements[k]) pel_nodes_push(ctx, &list->List.elts, elements[k]);
    return list;
}
