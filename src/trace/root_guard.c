/* Assertions at the top of the root: what it was not recorded with. */
#include "trace/link.h"

static pel_node *as_recorded(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    const pel_log *log = s->log;
    const pel_group *taker = param->of ? param->of : root;
    pel_id first = pel_argument(log, taker->lanes[0], param);
    for (uint32_t i = 0; i < taker->n_lanes; i++) {
        pel_id value = pel_argument(log, taker->lanes[i], param);
        if (!value || !pel_plain(s, value) || !pel_value_same(log, value, first)) return NULL;
    }
    pel_node *name = pel_make_name(s->ctx, param->name, PEL_Load),
             *value = pel_value_expression(s->ctx, s->program, first);
    if (!value) return NULL;
    if (value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_TRUE) return name;
    if (value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_FALSE) return pel_not(s->ctx, name);
    return pel_make_compare(s->ctx, name, pel_is_none(value) ? PEL_Is : PEL_Eq, value);
}

static void guard(pel_synth *s, pel_nodes *body, pel_node *test, const char *message) {
    pel_node *made = pel_node_new(s->ctx, PEL_Assert);
    made->Assert.test = test;
    made->Assert.msg = pel_make_text(s->ctx, pel_str_of(message));
    pel_nodes_push(s->ctx, body, made);
}

/* a is None and b is None  ->  a is b is None: a root may have many that were not given. */
static void chain_nones(pel_synth *s, pel_nodes *tests) {
    pel_nodes names = { 0 }, others = { 0 };
    for (uint32_t i = 0; i < tests->n; i++) {
        pel_node *test = tests->at[i];
        bool none = test->kind == PEL_Compare && test->Compare.ops.at[0] == PEL_Is;
        pel_nodes_push(s->ctx, none ? &names : &others, none ? test->Compare.left : test);
    }
    if (names.n < 3) return;
    pel_node *chain = pel_node_new(s->ctx, PEL_Compare);
    chain->Compare.left = names.at[0];
    chain->Compare.ops = (pel_cmpops){ pel_new_array(s->ctx, names.n, uint8_t), names.n };
    for (uint32_t i = 0; i < names.n; i++) {
        chain->Compare.ops.at[i] = PEL_Is;
        pel_nodes_push(s->ctx, &chain->Compare.comparators, i + 1 < names.n ? names.at[i + 1] : pel_make_none(s->ctx));
    }
    *tests = pel_nodes_one(s->ctx, chain);
    for (uint32_t i = 0; i < others.n; i++) pel_nodes_push(s->ctx, tests, others.at[i]);
}

/* Arguments that the text never looks at have the values they were recorded with, and so has the mode. */
void pel_guard_root(pel_synth *s, pel_group *root) {
    pel_nodes body = { 0 }, tests = { 0 };
    for (uint32_t p = 1; p < root->n_params; p++) {
        if (!root->params[p].unread || root->params[p].dead) continue;
        pel_node *test = as_recorded(s, root, p);
        if (test) pel_nodes_push(s->ctx, &tests, test);
    }
    const char *message = tests.n == 1 ? "not recorded with this argument" : "not recorded with these arguments";
    chain_nones(s, &tests);
    if (tests.n == 1)
        guard(s, &body, tests.at[0], message);
    else if (tests.n) {
        pel_node *all = pel_node_new(s->ctx, PEL_BoolOp);
        all->BoolOp.op = PEL_And;
        all->BoolOp.values = tests;
        guard(s, &body, all, message);
    }
    if (s->asked_training && s->trained != s->evaluated) {
        pel_node *mode = pel_make_attribute(s->ctx, pel_make_name(s->ctx, root->params[0].name, PEL_Load),
                                            pel_intern_c(s->ctx, "training"), PEL_Load);
        guard(s, &body, s->trained ? mode : pel_not(s->ctx, mode),
              s->trained ? "recorded in train mode only" : "recorded in eval mode only");
    }
    for (uint32_t i = 0; i < root->body.n; i++) pel_nodes_push(s->ctx, &body, root->body.at[i]);
    root->body = body;
}
