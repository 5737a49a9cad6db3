/* Comprehensions: lists of calls of one function, or of such calls with numbered names.
 *
 * What is the same in all elements of a list is named outside; what differs from element to element is counted
 * (i, 64 + 32 * i), is one thing for the first and another for the rest, or stands in a row of a table. */
#include "trace/build/unifier.h"

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

pel_node *pel_make_loop(pel_ctx *ctx, pel_node *target, pel_node *iter) {
    pel_node *generator = pel_node_new(ctx, PEL_comprehension);
    generator->comprehension.target = target;
    generator->comprehension.iter = iter;
    return generator;
}

const pel_node *pel_authors_element(const pel_node *author, uint32_t i) {
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

/* A few elements with values of their own read better one by one; so do those of which the first or the last alone
 * differs from its equal neighbours, and many that are all but equal. */
static bool reads_as_list(const element_list *all, variables running, uint32_t n_in_rows) {
    if (running.n && all->equally_long) {
        if (n_in_rows > MAX_VARIABLES && all->n_lists == 1) return true;
        if (all->longest > 2 && count_runs(all, running) == 2) return true;
        if (all->longest > 8 && count_runs(all, running) <= MAX_RUNS) return true;
    }
    if (!running.n || !all->equally_long || (running.n == 1 && all->longest > 2)) return false;
    return all->longest <= 4 || (running.n > 1 && all->longest <= 6);
}

/* ---- how a value goes with the place of its element ---- */

typedef enum manner {
    FIXED,       /* one value for each list */
    INDEX,       /* the place itself */
    STEPPED,     /* base + step * i */
    FIRST_APART, /* first if i == 0 else rest */
    IN_ROWS
} manner;

#define LONG_LIST 6

static bool whole_number(const pel_node *node, int64_t *value) {
    *value = 0;
    return pel_is_number(node, 0) || pel_positive_int(node, value);
}

/* The difference between one value and the next, if it is one in all lists; else 0. */
static int64_t step_of(const element_list *all, const pel_hole *hole) {
    int64_t step = 0, before = 0, value;
    for (uint32_t e = 0; e < all->n; e++, before = value) {
        if (!whole_number(hole->values[e], &value)) return 0;
        if (e == all->starts[all->list_of[e]]) continue;
        if (value == before || (step && value - before != step)) return 0;
        step = value - before;
    }
    return step;
}

static bool has_first_apart(const element_list *all, const pel_hole *hole) {
    for (uint32_t e = 2; e < all->n; e++)
        if (e > all->starts[all->list_of[e]] + 1 && !pel_same(hole->values[e - 1], hole->values[e])) return false;
    return true;
}

static manner manner_of(const element_list *all, const pel_hole *hole) {
    if (!varies_within_a_list(all, hole)) return FIXED;
    if (counts_up(all, hole)) return INDEX;
    if (all->longest > LONG_LIST && step_of(all, hole)) return STEPPED;
    return !all->equally_long && all->longest > 2 && has_first_apart(all, hole) ? FIRST_APART : IN_ROWS;
}

/* What the elements at a place of each list have, as one expression outside. Lists that end before it don't care: they
 * have what the others have, or what would be there if the list went on as it begins. */
static pel_node *value_outside(pel_unifier *unifier, const element_list *all, const pel_hole *hole, uint32_t place) {
    pel_node **values = pel_new_array(unifier->ctx, all->n_lists, pel_node *), *some = NULL;
    bool agree = true;
    for (uint32_t i = 0; i < all->n_lists; i++) {
        if (all->starts[i] + place >= all->starts[i + 1]) continue;
        values[i] = hole->values[all->starts[i] + place];
        agree &= !some || pel_same(some, values[i]);
        some = values[i];
    }
    for (uint32_t i = 0; i < all->n_lists; i++) {
        bool is_empty = all->starts[i] == all->starts[i + 1];
        if (!values[i]) values[i] = agree || is_empty ? some : hole->values[all->starts[i]];
    }
    unifier->is_size = hole->is_size;
    pel_node *value = pel_unify_column(unifier, (pel_column){ values, all->n_lists }, hole->name);
    unifier->is_size = false;
    return value;
}

static pel_node *stepped(pel_unifier *unifier, const element_list *all, const pel_hole *hole, pel_name index) {
    pel_ctx *ctx = unifier->ctx;
    int64_t step = step_of(all, hole);
    pel_node *base = value_outside(unifier, all, hole, 0), *times = pel_make_name(ctx, index, PEL_Load);
    pel_node *size = pel_make_int(ctx, step < 0 ? -step : step);
    if (step != 1 && step != -1) times = pel_make_binop(ctx, size, PEL_Mult, times);
    return pel_make_binop(ctx, base, step < 0 ? PEL_Sub : PEL_Add, times);
}

static pel_node *first_apart(pel_unifier *unifier, const element_list *all, const pel_hole *hole, pel_name index) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *choice = pel_node_new(ctx, PEL_IfExp);
    choice->IfExp.orelse = value_outside(unifier, all, hole, 1);
    choice->IfExp.body = value_outside(unifier, all, hole, 0);
    choice->IfExp.test = pel_make_compare(ctx, pel_make_name(ctx, index, PEL_Load), PEL_Eq, pel_make_int(ctx, 0));
    return choice;
}

/* ---- numbered names ---- */

/* layer12: layer, 12; false: no number */
static bool split_number(pel_str text, pel_str *prefix, int64_t *number) {
    size_t digits = text.len;
    while (digits && text.ptr[digits - 1] >= '0' && text.ptr[digits - 1] <= '9') digits--;
    if (digits == text.len || text.len - digits > 6 || (text.ptr[digits] == '0' && text.len - digits > 1)) return false;
    *prefix = (pel_str){ text.ptr, digits };
    *number = 0;
    for (size_t i = digits; i < text.len; i++) *number = *number * 10 + (text.ptr[i] - '0');
    return true;
}

static bool is_named(const pel_node *pair) {
    const pel_nodes both = pair->kind == PEL_Tuple ? pair->Tuple.elts : (pel_nodes){ 0 };
    return both.n == 2 && both.at[0]->kind == PEL_Constant && both.at[0]->Constant.value->kind == PEL_CONST_STR;
}

/* The elements without their names, ("layer0", a), ("layer1", b): each list has a prefix of its own. NULL if they have
 * no names; false if they have some that are not numbered. */
static bool take_names(pel_ctx *ctx, element_list *all, pel_node ***prefixes, int64_t *first) {
    *prefixes = NULL;
    uint32_t n_named = 0;
    for (uint32_t e = 0; e < all->n; e++) n_named += is_named(all->at[e]);
    if (!n_named) return true;
    if (n_named < all->n || all->longest <= 2) return false;
    *prefixes = pel_new_array(ctx, all->n_lists, pel_node *);
    for (uint32_t e = 0; e < all->n; e++) {
        pel_str prefix;
        int64_t number, place = e - all->starts[all->list_of[e]];
        if (!split_number(all->at[e]->Tuple.elts.at[0]->Constant.value->text, &prefix, &number)) return false;
        if (e == 0) *first = number;
        pel_node **known = &(*prefixes)[all->list_of[e]];
        if (!*known) *known = pel_make_text(ctx, prefix);
        if (number != *first + place || !pel_str_eq((*known)->Constant.value->text, prefix)) return false;
        all->at[e] = all->at[e]->Tuple.elts.at[1];
    }
    for (uint32_t i = 0; i < all->n_lists; i++)
        if (!(*prefixes)[i]) return false;
    return true;
}

/* (f"{prefix}{i}", element) */
static pel_node *with_name(pel_unifier *unifier, pel_column prefixes, int64_t first, pel_name index,
                           pel_node *element) {
    pel_ctx *ctx = unifier->ctx;
    pel_node *name = pel_node_new(ctx, PEL_JoinedStr), *number = pel_node_new(ctx, PEL_FormattedValue);
    pel_node *prefix = pel_unify_column(unifier, prefixes, pel_intern_c(ctx, "prefix"));
    if (prefix->kind != PEL_Constant) {
        pel_node *given = pel_node_new(ctx, PEL_FormattedValue);
        given->FormattedValue.value = prefix;
        given->FormattedValue.conversion = -1;
        prefix = given;
    }
    number->FormattedValue.value = pel_make_name(ctx, index, PEL_Load);
    if (first)
        number->FormattedValue.value =
            pel_make_binop(ctx, number->FormattedValue.value, PEL_Add, pel_make_int(ctx, first));
    number->FormattedValue.conversion = -1;
    pel_nodes_push(ctx, &name->JoinedStr.values, prefix);
    pel_nodes_push(ctx, &name->JoinedStr.values, number);
    pel_node *pair = pel_node_new(ctx, PEL_Tuple);
    pel_nodes_push(ctx, &pair->Tuple.elts, name);
    pel_nodes_push(ctx, &pair->Tuple.elts, element);
    return pair;
}

/* ---- what a comprehension runs over ---- */

static pel_node *call_builtin(pel_ctx *ctx, const char *name, pel_node *of) {
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, name), PEL_Load), pel_nodes_one(ctx, of),
                         (pel_nodes){ 0 });
}

/* One thing for each list: how many elements it has, or the rows of what they have. */
static pel_node *loop_source(pel_unifier *unifier, const element_list *all, variables rows, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    pel_node **sources = pel_new_array(ctx, all->n_lists, pel_node *);
    for (uint32_t i = 0; i < all->n_lists; i++) {
        sources[i] = pel_make_int(ctx, all->starts[i + 1] - all->starts[i]);
        if (!rows.n) continue;
        sources[i] = pel_node_new(ctx, PEL_Tuple);
        for (uint32_t e = all->starts[i]; e < all->starts[i + 1]; e++)
            pel_nodes_push(ctx, &sources[i]->Tuple.elts, row_of(ctx, rows, e));
    }
    pel_str one = pel_name_str(rows.n == 1 ? rows.at[0]->name : hint);
    const char *many = !rows.n ? "num_%.*s" : pel_str_ends(one, PEL_STR("s")) ? "%.*s_list" : "%.*ss";
    pel_name name = pel_intern_str(ctx, pel_format(ctx, many, PEL_FMT(one)));
    pel_column column = { sources, all->n_lists };
    return pel_all_equal(column) ? sources[0] : pel_make_hole(unifier, column, name);
}

static pel_node *tuple_target(pel_ctx *ctx, pel_node *first, pel_node *second) {
    pel_node *target = pel_node_new(ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    target->Tuple.elts = pel_nodes_one(ctx, first);
    if (second) pel_nodes_push(ctx, &target->Tuple.elts, second);
    return target;
}

static pel_node *rows_target(pel_ctx *ctx, variables rows) {
    pel_node *target = pel_make_name(ctx, rows.at[0]->name, PEL_Store);
    if (rows.n == 1) return target;
    target = tuple_target(ctx, target, NULL);
    for (uint32_t h = 1; h < rows.n; h++)
        pel_nodes_push(ctx, &target->Tuple.elts, pel_make_name(ctx, rows.at[h]->name, PEL_Store));
    return target;
}

/* for _ in range(n), for i in range(n), for a, b in rows, for i, (a, b) in enumerate(rows); index: NULL if not needed
 */
static pel_node *loop_over(pel_ctx *ctx, pel_node *source, variables rows, pel_name index) {
    pel_node *place = pel_make_name(ctx, index ? index : pel_intern_c(ctx, "_"), PEL_Store);
    if (!rows.n) return pel_make_loop(ctx, place, call_builtin(ctx, "range", source));
    if (!index) return pel_make_loop(ctx, rows_target(ctx, rows), source);
    return pel_make_loop(ctx, tuple_target(ctx, place, rows_target(ctx, rows)), call_builtin(ctx, "enumerate", source));
}

/* ---- the whole ---- */

/* The variables of a comprehension, by what becomes of them. */
typedef struct sorted {
    variables varying, in_rows;
    pel_name index; /* NULL: nothing needs it */
} sorted;

static sorted sort_variables(const pel_unifier *inner, uint32_t first, const element_list *all) {
    sorted s = { 0 };
    bool counts = false;
    for (uint32_t h = first; h < inner->holes.n; h++) {
        const pel_hole *hole = &inner->holes.at[h];
        manner how = manner_of(all, hole);
        if (how != FIXED) pel_push(inner->ctx, &s.varying, hole);
        if (how == IN_ROWS) pel_push(inner->ctx, &s.in_rows, hole);
        if (how == INDEX) s.index = hole->name;
        counts |= how == STEPPED || how == FIRST_APART;
    }
    if (counts && !s.index) s.index = pel_hole_name(inner, pel_intern_c(inner->ctx, "i"));
    return s;
}

/* What stands for a variable that is not in the rows. */
static pel_node *said_outside(pel_unifier *unifier, const element_list *all, const pel_hole *hole, pel_name index) {
    switch (manner_of(all, hole)) {
    case FIXED: return value_outside(unifier, all, hole, 0);
    case STEPPED: return stepped(unifier, all, hole, index);
    case FIRST_APART: return first_apart(unifier, all, hole, index);
    case INDEX:
    case IN_ROWS: break;
    }
    return NULL;
}

pel_node *pel_unify_comprehension(pel_unifier *unifier, pel_column lists, pel_name hint) {
    pel_ctx *ctx = unifier->ctx;
    element_list all = elements_of(ctx, lists);
    pel_node **prefixes;
    int64_t first_number = 0;
    if (all.longest < 2 || !take_names(ctx, &all, &prefixes, &first_number)) return NULL;
    pel_column column = { all.at, all.n };
    if (!pel_all_of_kind(column, PEL_Call) || !pel_calls_fit(column)) return NULL;

    pel_unifier inner = pel_unifier_inside(unifier, all.list_of, all.n);
    const uint32_t n_outside = inner.holes.n;
    inner.author = pel_authors_element(unifier->author, 0);
    pel_node *element = pel_unify_call(&inner, column, hint);
    /* A module is built where it stands: one that came in by a name would be shared by all elements. */
    if (pel_has_builder(&inner, n_outside)) return NULL;
    sorted s = sort_variables(&inner, n_outside, &all);
    if (reads_as_list(&all, s.varying, s.in_rows.n)) return NULL;
    if (prefixes && !s.index) s.index = pel_hole_name(&inner, pel_intern_c(ctx, "i"));

    for (uint32_t h = 0; h < s.in_rows.n; h++) pel_push(ctx, &unifier->busy, s.in_rows.at[h]->name);
    if (s.index) pel_push(ctx, &unifier->busy, s.index);
    unifier->author = NULL; /* what the author says of the list says nothing of its elements' arguments */
    for (int varying = 0; varying < 2; varying++) /* what is fixed gives its names to what is not */
        for (uint32_t h = n_outside; h < inner.holes.n; h++) {
            const pel_hole *hole = &inner.holes.at[h];
            if ((manner_of(&all, hole) != FIXED) != varying) continue;
            pel_node *said = said_outside(unifier, &all, hole, s.index);
            if (said) pel_replace_name(&element, hole->name, said);
        }
    if (prefixes) element = with_name(unifier, (pel_column){ prefixes, all.n_lists }, first_number, s.index, element);
    pel_node *list = pel_node_new(ctx, PEL_ListComp), *source = loop_source(unifier, &all, s.in_rows, hint);
    list->ListComp.elt = element;
    list->ListComp.generators = pel_nodes_one(ctx, loop_over(ctx, source, s.in_rows, s.index));
    return list;
}
