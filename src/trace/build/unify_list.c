/* Lists of what is built, among them elements that come again. */
#include "trace/build/unifier.h"

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
