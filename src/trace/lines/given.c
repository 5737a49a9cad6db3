/* What a line takes for granted of what its function was given: it is right for no other flags, names of things, and
 * numbers of items than it was recorded with. Numbers that differed are told by example, as sizes are. */
#include "trace/lines/line.h"

static bool is_flag(const pel_value *value) {
    return value->kind == PEL_V_LIBRARY || (value->kind == PEL_V_CONST && !pel_value_is_number(value));
}

static void expect(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth);

static void expect_value(pel_straight *x, pel_nodes *tests, pel_node *text, pel_id value) {
    pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, value);
    if (expected) pel_nodes_push(x->ctx, tests, pel_is_as_recorded(x->ctx, text, expected));
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
    }
    pel_nodes_push(x->ctx, tests, pel_make_compare(x->ctx, text, PEL_In, known));
}

static void expect_items(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, uint32_t n,
                         int depth) {
    const pel_value *first = pel_straight_at(x, values[0]);
    if (!first->class) { /* a named tuple has as many as ever */
        pel_node *len = pel_make_name(x->ctx, pel_intern_c(x->ctx, "len"), PEL_Load);
        pel_node *count = pel_make_call(x->ctx, len, pel_nodes_one(x->ctx, text), (pel_nodes){ 0 });
        pel_nodes_push(x->ctx, tests, pel_make_compare(x->ctx, count, PEL_Eq, pel_make_int(x->ctx, n)));
    }
    for (uint32_t k = 0; k < n; k++) {
        pel_node *item = pel_make_subscript(x->ctx, pel_copy(x->ctx, text), pel_make_int(x->ctx, (int64_t)k), PEL_Load);
        expect(x, tests, item, pel_straight_items(x, values, k), depth + 1);
    }
}

static void expect(pel_straight *x, pel_nodes *tests, pel_node *text, const pel_id *values, int depth) {
    uint32_t n = 0, n_flags = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (!values[i]) return; /* it was not given in some calls */
        n_flags += is_flag(pel_straight_at(x, values[i]));
    }
    if (pel_straight_same(x, values) && pel_plain(x->w->s, values[0]))
        expect_value(x, tests, text, values[0]);
    else if (n_flags == x->n_lanes)
        expect_one_of(x, tests, text, values);
    else if (depth < 4 && pel_straight_sequences(x, values, &n))
        expect_items(x, tests, text, values, n, depth);
}

void pel_straight_guard(pel_straight *x, const pel_val *argument) {
    if (!pel_straight_same(x, argument->at) || !is_flag(pel_straight_at(x, argument->at[0]))) return;
    pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, argument->at[0]);
    if (expected)
        pel_guard(x->w, x->node, pel_is_as_recorded(x->ctx, pel_copy(x->ctx, argument->text), expected), true,
                  "path not recorded");
}

/* What all calls of the model agree on is asserted at its top. */
static bool is_asserted_elsewhere(const pel_straight *x, const pel_group *group, const pel_param *param) {
    pel_id first = pel_argument(x->log, group->lanes[0], param);
    for (uint32_t i = 0; i < group->n_lanes && group->is_root; i++) {
        pel_id value = pel_argument(x->log, group->lanes[i], param);
        if (!value || !pel_plain(x->w->s, value) || !pel_value_same(x->log, value, first)) return false;
    }
    return group->is_root;
}

void pel_straight_expect(pel_straight *x, const pel_group *group, const bool *asked) {
    pel_nodes tests = { 0 };
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t p = 0; p < group->n_params; p++) {
        const pel_param *param = &group->params[p];
        if (!param->taint || asked[p] || is_asserted_elsewhere(x, group, param)) continue;
        for (uint32_t i = 0; i < x->n_lanes; i++) values[i] = pel_argument(x->log, x->above[i], param);
        expect(x, &tests, pel_make_name(x->ctx, param->name, PEL_Load), values, 0);
    }
    if (!tests.n) return;
    pel_node *all = tests.n == 1 ? tests.at[0] : pel_make_boolop(x->ctx, PEL_And, tests);
    pel_nodes body = pel_nodes_one(
        x->ctx, pel_make_assert(x->ctx, all, pel_make_text(x->ctx, PEL_STR("not recorded with these arguments"))));
    for (uint32_t i = 0; i < x->body.n; i++) pel_nodes_push(x->ctx, &body, x->body.at[i]);
    x->body = body;
    x->has_effect = true;
}
