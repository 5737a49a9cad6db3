/* What a line takes for granted of what its function was given: it is right for no other flags, names of things,
 * numbers of items and numbers than it was recorded with. Numbers that differed are told by example, as sizes are. A
 * value of which nothing can be asserted has no line: a constant in a line has a proof, or an assertion. */
#include "trace/lines/line.h"

#pragma GCC diagnostic error "-Wswitch-enum" /* each kind of value has its rule */

enum { DEEPEST = 6, MOST_TESTS = 48 };

static void expect(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth);

static _Noreturn void cannot(pel_straight *x, const char *what) { pel_lost(x->w, x->node, "%s", what); }

static void add_test(pel_straight *x, pel_nodes *tests, pel_node *test) {
    if (tests->n >= MOST_TESTS) cannot(x, "it was given too many things that calls may change");
    pel_nodes_push(x->ctx, tests, test);
}

/* The text of a part: of a display the part itself, else an item or attribute of what has a name. */
static pel_node *part(pel_straight *x, const pel_node *text, uint32_t item, pel_node *key) {
    const pel_nodes *items = text->kind == PEL_Tuple  ? &text->Tuple.elts
                             : text->kind == PEL_List ? &text->List.elts
                                                      : NULL;
    for (uint32_t i = 0; items && i < items->n; i++)
        if (items->at[i]->kind == PEL_Starred) items = NULL;
    if (items && item < items->n) return pel_copy(x->ctx, items->at[item]);
    return pel_make_subscript(x->ctx, pel_copy(x->ctx, text), key, PEL_Load);
}

static void expect_value(pel_straight *x, pel_nodes *tests, pel_node *text, pel_id value) {
    pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, value);
    if (!expected) cannot(x, "it was given something without a literal");
    if (text->kind == PEL_Constant) return;
    if (!pel_pure(x->w->s, text)) cannot(x, "it was given what a call made that can't be made again");
    add_test(x, tests, pel_is_as_recorded(x->w->s, pel_copy(x->ctx, text), expected));
}

/* text in ("relu", "gelu"): the line did not ask which. */
static void expect_one_of(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values) {
    pel_node *known = pel_node_new(x->ctx, PEL_Tuple);
    pel_nodes *items = &known->Tuple.elts;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++) seen = pel_value_same(x->log, values[i], values[k]);
        pel_node *item = seen ? NULL : pel_value_expression(x->ctx, x->w->s->program, values[i]);
        if (item) pel_nodes_push(x->ctx, items, item);
        if (!seen && !item) cannot(x, "it was given different things without a literal");
    }
    add_test(x, tests, pel_make_compare(x->ctx, pel_copy(x->ctx, text), PEL_In, known));
}

static pel_node *call_of(pel_straight *x, const char *function, const pel_node *text) {
    pel_node *name = pel_make_name(x->ctx, pel_intern_c(x->ctx, function), PEL_Load);
    return pel_make_call(x->ctx, name, pel_nodes_one(x->ctx, pel_copy(x->ctx, text)), (pel_nodes){ 0 });
}

static void expect_items(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth) {
    const pel_value *first = pel_straight_at(x, values[0]);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (pel_straight_at(x, values[i])->truncated) cannot(x, "it was given a sequence that is too long to look at");
    if (!pel_straight_sequences(x, values, &n)) return; /* the lanes show that it may have another length */
    bool is_display = text->kind == PEL_Tuple || text->kind == PEL_List;
    if (!first->class && !is_display) /* a named tuple has as many as ever */
        add_test(x, tests, pel_make_compare(x->ctx, call_of(x, "len", text), PEL_Eq, pel_make_int(x->ctx, n)));
    for (uint32_t k = 0; k < n; k++)
        expect(x, tests, part(x, text, k, pel_make_int(x->ctx, (int64_t)k)), pel_straight_items(x, values, k),
               depth + 1);
}

/* What the values hold under the k-th key; NULL: not all have it there. */
static pel_id *items_under(pel_straight *x, const pel_id *values, uint32_t k) {
    const pel_value *first = pel_straight_at(x, values[0]);
    pel_id *items = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = pel_straight_at(x, values[i]);
        if (value->truncated) cannot(x, "it was given more than can be looked at");
        if (value->n != first->n || !pel_value_same(x->log, value->items[k], first->items[k])) return NULL;
        items[i] = value->items[k + 1];
    }
    return items;
}

/* list(d) == ["a", "b"]: a walk over it sees their order. And what is under each. */
static void expect_dict(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth) {
    const pel_value *first = pel_straight_at(x, values[0]);
    pel_node *known = pel_node_new(x->ctx, PEL_List);
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        if (!items_under(x, values, k)) return; /* the lanes show that it may have other keys */
        pel_node *key = pel_value_expression(x->ctx, x->w->s->program, first->items[k]);
        if (!key) cannot(x, "it was given a dict with a key that has no literal");
        pel_nodes_push(x->ctx, &known->List.elts, key);
    }
    pel_node *of_dict = call_of(x, "isinstance", text);
    pel_nodes_push(x->ctx, &of_dict->Call.args, pel_make_name(x->ctx, pel_intern_c(x->ctx, "dict"), PEL_Load));
    if (depth == 0) add_test(x, tests, of_dict);
    if (known->List.elts.n)
        add_test(x, tests, pel_make_compare(x->ctx, call_of(x, "list", text), PEL_Eq, known));
    else
        add_test(x, tests, pel_not(x->w->s, pel_copy(x->ctx, text)));
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        pel_node *key = pel_copy(x->ctx, known->List.elts.at[k / 2]);
        pel_node *item = pel_make_subscript(x->ctx, pel_copy(x->ctx, text), key, PEL_Load);
        expect(x, tests, item, items_under(x, values, k), depth + 1);
    }
}

/* type(batch).__name__ == "Batch" */
static void expect_class(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values) {
    pel_id class = pel_straight_at(x, values[0])->class;
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (pel_straight_at(x, values[i])->class != class) return; /* the lanes show that it may be another */
    pel_node *name = pel_make_attribute(x->ctx, call_of(x, "type", text), pel_intern_c(x->ctx, "__name__"), PEL_Load);
    pel_str known = pel_name_str(pel_class_at(x->log, class)->name);
    add_test(x, tests, pel_make_compare(x->ctx, name, PEL_Eq, pel_make_text(x->ctx, known)));
}

/* What the attributes of an object are that a call brought: those of others were there before any call. */
static void expect_object(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth) {
    const pel_value *first = pel_straight_at(x, values[0]);
    if (pel_straight_same(x, values) && pel_plain(x->w->s, values[0])) {
        expect_value(x, tests, text, values[0]);
        return;
    }
    if (!pel_map_has(&x->w->s->objects.given, first->object)) return;
    expect_class(x, tests, text, values);
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        const pel_value *key = pel_straight_at(x, first->items[k]);
        pel_id *items = items_under(x, values, k);
        if (!items) return; /* the lanes show that it may have others */
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR)
            cannot(x, "it was given an object with an attribute that has no name");
        pel_name name = pel_intern_str(x->ctx, key->constant->text);
        expect(x, tests, pel_make_attribute(x->ctx, pel_copy(x->ctx, text), name, PEL_Load), items, depth + 1);
    }
}

static void expect_constant(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values) {
    uint32_t n_numbers = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++) n_numbers += pel_value_is_number(pel_straight_at(x, values[i]));
    if (pel_straight_same(x, values))
        expect_value(x, tests, text, values[0]);
    else if (n_numbers < x->n_lanes)
        expect_one_of(x, tests, text, values);
}

/* isinstance(x, torch.Tensor): it may have asked, and then have gone another way. */
static void expect_tensor(pel_straight *x, pel_nodes *tests, pel_node *text) {
    pel_node *asked = call_of(x, "isinstance", text);
    pel_nodes_push(x->ctx, &asked->Call.args,
                   pel_library_expression(x->ctx, x->w->s->program, PEL_STR("torch.Tensor")));
    add_test(x, tests, asked);
}

/* Lanes that were given different kinds of things: flags and names are one of these; else a test around the line asks.
 */
static void expect_mixed(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (!pel_plain(x->w->s, values[i])) return;
    expect_one_of(x, tests, text, values);
}

static void expect(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (!values[i]) return; /* it was not given in some calls */
    pel_value_kind kind = (pel_value_kind)pel_straight_at(x, values[0])->kind;
    if (depth > DEEPEST) cannot(x, "it was given containers in containers, too deep to look at");
    if (!pel_straight_all(x, values, kind)) {
        expect_mixed(x, tests, text, values);
        return;
    }
    switch (kind) {
    case PEL_V_TENSOR:                            /* what was read of it: lines/reads.c */
        if (depth) expect_tensor(x, tests, text); /* of others the root asserts it */
        return;
    case PEL_V_NONE_YET:
    case PEL_V_MODULE: return;
    case PEL_V_CONST:
    case PEL_V_LIBRARY:
    case PEL_V_CLASS:
    case PEL_V_LITERAL:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_SLICE:
    case PEL_V_RANGE: expect_constant(x, tests, text, values); return;
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST: expect_items(x, tests, text, values, depth); return;
    case PEL_V_DICT: expect_dict(x, tests, text, values, depth); return;
    case PEL_V_OBJECT: expect_object(x, tests, text, values, depth); return;
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL: cannot(x, "it was given a function that another call may change");
    case PEL_V_OPAQUE: cannot(x, "it was given something that can't be looked into");
    }
}

/* ---- where the line stands for a call ---- */

static bool holds_given(const pel_straight *x, pel_id id, int depth) {
    const pel_value *value = pel_straight_at(x, id);
    if (value->kind == PEL_V_OBJECT && pel_map_has(&x->w->s->objects.given, value->object)) return true;
    for (uint32_t i = 0; depth < DEEPEST && pel_value_has_items((pel_value_kind)value->kind) && i < value->n; i++)
        if (holds_given(x, value->items[i], depth + 1)) return true;
    return false;
}

static pel_node *all_of(pel_ctx *ctx, pel_nodes tests) {
    return tests.n == 1 ? tests.at[0] : pel_make_boolop(ctx, PEL_And, tests);
}

bool pel_straight_is_open(const pel_straight *x, const pel_taint *taint, pel_id value) {
    return pel_varies(taint) || (value && holds_given(x, value, 0));
}

void pel_straight_guard(pel_straight *x, const pel_val *argument) {
    if (!pel_straight_is_open(x, argument->taint, argument->at[0])) return;
    pel_nodes tests = { 0 };
    expect(x, &tests, argument->text, argument->at, 0);
    if (tests.n) pel_guard(x->w, x->node, all_of(x->ctx, tests), true, "path not recorded");
}

/* ---- where it is the text of a function ---- */

/* What all calls of the model agree on is asserted at its top. */
static bool is_asserted_elsewhere(const pel_straight *x, const pel_group *group, const pel_param *param) {
    pel_id first = pel_argument(x->log, group->lanes[0], param);
    for (uint32_t i = 0; i < group->n_lanes && group->is.root; i++) {
        pel_id value = pel_argument(x->log, group->lanes[i], param);
        if (!value || !pel_plain(x->w->s, value) || !pel_value_same(x->log, value, first)) return false;
    }
    return group->is.root;
}

void pel_straight_expect(pel_straight *x, const pel_group *group, const bool *asked) {
    pel_nodes tests = { 0 };
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        for (uint32_t i = 0; i < x->n_lanes; i++) values[i] = pel_argument(x->log, x->above[i], param);
        bool may_change = group->is.root || pel_straight_is_open(x, pel_taint_fact(param->taint), values[0]);
        if (!may_change || asked[p] || is_asserted_elsewhere(x, group, param)) continue;
        expect(x, &tests, pel_make_name(x->ctx, param->name, PEL_Load), values, 0);
    }
    pel_straight_expect_reads(x, &tests);
    if (!tests.n) return;
    pel_nodes body =
        pel_nodes_one(x->ctx, pel_make_assert(x->ctx, all_of(x->ctx, tests),
                                              pel_make_text(x->ctx, PEL_STR("not recorded with these arguments"))));
    for (uint32_t i = 0; i < x->body.n; i++) pel_nodes_push(x->ctx, &body, x->body.at[i]);
    x->body = body;
    x->has_effect = true;
}
