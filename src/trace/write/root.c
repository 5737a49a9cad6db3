/* The root, as its callers see it: what its signature takes, and assertions at its top of what it was not recorded
 * with. */
#include "trace/shrink/link.h"

enum {
    MANY = 3, /* fewer stay, with the assertion that they are what they were */
    DEEP = 8, /* calls that are looked into */
};

/* What a call of the model gave for a parameter, whatever a decorator made of it; 0: nothing. */
static pel_id given_in(const pel_log_run *run, const pel_param *param, uint32_t p) {
    pel_name name = param->kind == PEL_PARAM_KEY_ITEM ? param->key : param->name;
    for (uint32_t i = 0; i < run->n_kwargs; i++)
        if (run->kwargs[i].name == name) return run->kwargs[i].value;
    bool has_place = param->kind == PEL_PARAM_PLAIN && !param->keyword_only;
    return has_place && p <= run->n_args ? run->args[p - 1] : 0;
}

/* The value of a parameter that all calls of the model agree on. */
static pel_node *value_given(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    const pel_log *log = s->log;
    const pel_group *taker = param->of ? param->of : root;
    pel_id first = pel_argument(log, taker->lanes[0], param);
    uint32_t n_given = 0;
    for (uint32_t r = 0; r < log->runs.n; r++) n_given += given_in(&log->runs.at[r], param, p) != 0;
    if (!n_given && param->fallback && param->kind == PEL_PARAM_PLAIN) return pel_default_text(s, root, p);
    for (uint32_t i = 0; i < taker->n_lanes; i++) {
        pel_id value = pel_argument(log, taker->lanes[i], param);
        if (!value || !pel_plain(s, value) || !pel_value_same(log, value, first)) return NULL;
    }
    return pel_value_expression(s->ctx, s->program, first);
}

static pel_node *as_recorded(pel_synth *s, const pel_group *root, uint32_t p) {
    pel_node *value = value_given(s, root, p);
    return value ? pel_is_as_recorded(s, pel_make_name(s->ctx, root->params[p].name, PEL_Load), value) : NULL;
}

static bool is_asserted(pel_synth *s, const pel_group *root, uint32_t p) { return value_given(s, root, p) != NULL; }

static pel_node *all_of(pel_ctx *ctx, pel_nodes tests) {
    return tests.n == 1 ? tests.at[0] : pel_make_boolop(ctx, PEL_And, tests);
}

static void guard(pel_synth *s, pel_nodes *body, pel_node *test, const char *message) {
    pel_nodes_push(s->ctx, body, pel_make_assert(s->ctx, test, pel_make_text(s->ctx, pel_str_of(message))));
}

/* Whether a caller may leave something out that every recorded call gave: it is None then. */
static bool may_be_left_out(const pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    const pel_node *fallback = param->author_default ? param->author_default : param->fallback;
    if (!fallback || param->unread || param->of) return false;
    bool is_none = pel_is_none(fallback) || !pel_has_default_text(s, root, p); /* None stands for it in the output */
    if (!is_none) return false;
    for (uint32_t i = 0; i < root->n_lanes; i++) {
        pel_id id = pel_argument(s->log, root->lanes[i], param);
        if (!id || pel_plain(s, id)) return false; /* asserted, or of a type that is */
    }
    return true;
}

/* ---- what raises by itself where None is given ---- */

typedef struct {
    const pel_synth *s;
    pel_name name;
    int depth;
    bool found;
} need;

static bool is_it(const need *n, const pel_node *node) {
    return node && node->kind == PEL_Name && node->Name.id == n->name;
}

static bool is_needed_in(const pel_synth *s, const pel_group *group, pel_name name, int depth);

static bool is_passed_to_need(const need *n, const pel_node *call) {
    for (uint32_t i = 0; i < n->s->calls.links.n; i++) {
        const pel_link *link = n->s->calls.links.at[i];
        if (link->node != call || link->target->why) continue;
        for (uint32_t p = 0; p < link->target->n_params; p++)
            if (is_it(n, link->args[p]) && !link->target->params[p].dead &&
                is_needed_in(n->s, link->target, link->target->params[p].name, n->depth + 1))
                return true;
    }
    return false;
}

/* Only what is evaluated in any case is looked at. */
static void look_for_need(void *arg, pel_node **slot) {
    need *n = arg;
    pel_node *node = *slot;
    if (!node || n->found) return;
    switch ((int)node->kind) {
    case PEL_Lambda:
    case PEL_GeneratorExp:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp: return;
    case PEL_IfExp: look_for_need(n, &node->IfExp.test); return;
    case PEL_BoolOp: look_for_need(n, &node->BoolOp.values.at[0]); return;
    case PEL_Attribute: n->found = is_it(n, node->Attribute.value) && node->Attribute.attr->text[0] != '_'; break;
    case PEL_Subscript: n->found = is_it(n, node->Subscript.value); break;
    case PEL_Call: n->found = is_passed_to_need(n, node); break;
    default: break;
    }
    if (!n->found) pel_each_child(node, look_for_need, n);
}

static bool is_needed_in(const pel_synth *s, const pel_group *group, pel_name name, int depth) {
    need n = { .s = s, .name = name, .depth = depth };
    for (uint32_t i = 0; i < group->body.n && !n.found && depth < DEEP; i++) {
        pel_node *node = group->body.at[i];
        bool is_simple = node->kind == PEL_Assign || node->kind == PEL_Expr || node->kind == PEL_Return;
        if (!is_simple) return false;
        look_for_need(&n, &group->body.at[i]);
        if (node->kind == PEL_Assign)
            n.found |= is_it(&n, node->Assign.value) && node->Assign.targets.at[0]->kind == PEL_Tuple;
        if (!n.found && pel_uses_in(s, pel_nodes_one(s->ctx, node), name).binds) return false;
    }
    return n.found;
}

static bool raises_without(const pel_synth *s, const pel_group *root, uint32_t p) {
    return root->params[p].required && is_needed_in(s, root, root->params[p].name, 0);
}

/* ---- assertions ---- */

static pel_node *is_there(pel_ctx *ctx, pel_name name) {
    return pel_make_compare(ctx, pel_make_name(ctx, name, PEL_Load), PEL_IsNot, pel_make_none(ctx));
}

/* a is None and b is None  ->  a is b is None: a root may have many that were not given. */
static void chain_nones(pel_synth *s, pel_nodes *tests) {
    pel_nodes names = { 0 }, others = { 0 };
    for (uint32_t i = 0; i < tests->n; i++) {
        pel_node *test = tests->at[i];
        bool none = test->kind == PEL_Compare && test->Compare.ops.at[0] == PEL_Is &&
                    pel_is_none(test->Compare.comparators.at[0]);
        pel_nodes_push(s->ctx, none ? &names : &others, none ? test->Compare.left : test);
    }
    if (names.n < 3) return;
    pel_nodes_push(s->ctx, &names, pel_make_none(s->ctx));
    *tests = pel_nodes_one(s->ctx, pel_make_chain(s->ctx, names, PEL_Is));
    for (uint32_t i = 0; i < others.n; i++) pel_nodes_push(s->ctx, tests, others.at[i]);
}

/* ---- numbers of dimensions, where the text was settled by one ---- */

static pel_node *rank_of(pel_ctx *ctx, pel_name tensor) {
    return pel_make_attribute(ctx, pel_make_name(ctx, tensor, PEL_Load), pel_intern_c(ctx, "ndim"), PEL_Load);
}

static pel_node *rank_is(pel_ctx *ctx, pel_name tensor, uint32_t rank) {
    return pel_make_compare(ctx, rank_of(ctx, tensor), PEL_Eq, pel_make_int(ctx, rank));
}

/* all(tensor.ndim == 3 for tensor in images) */
static pel_node *ranks_are(pel_ctx *ctx, const pel_param *param, bool is_dict, uint32_t rank) {
    pel_name item = pel_intern_c(ctx, "tensor");
    pel_node *holder = pel_make_name(ctx, param->name, PEL_Load);
    if (is_dict) {
        pel_node *values = pel_make_attribute(ctx, holder, pel_intern_c(ctx, "values"), PEL_Load);
        holder = pel_make_call(ctx, values, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    }
    pel_node *clause = pel_node_new(ctx, PEL_comprehension);
    clause->comprehension.target = pel_make_name(ctx, item, PEL_Store);
    clause->comprehension.iter = holder;
    pel_node *each = pel_node_new(ctx, PEL_GeneratorExp);
    each->GeneratorExp.elt = rank_is(ctx, item, rank);
    each->GeneratorExp.generators = pel_nodes_one(ctx, clause);
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "all"), PEL_Load), pel_nodes_one(ctx, each),
                         (pel_nodes){ 0 });
}

/* What is asserted of the tensors that a parameter brings. */
typedef struct {
    pel_rank_form form;
    uint32_t rank;
    bool or_none;
} asserted;

static asserted rank_asserted(const pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    asserted out = { .form = PEL_RANK_NONE };
    if (!param->unread && !param->dead) out.form = pel_given_rank(s, root, param, &out.rank, &out.or_none);
    return out;
}

/* a.ndim == b.ndim == 2, for all tensors of that rank from a parameter on. */
static pel_node *ranks_from(pel_synth *s, const pel_group *root, uint32_t first, uint32_t rank) {
    pel_nodes operands = { 0 };
    for (uint32_t p = first; p < root->n_params; p++) {
        asserted one = rank_asserted(s, root, p);
        if (one.form == PEL_RANK_OWN && !one.or_none && one.rank == rank)
            pel_nodes_push(s->ctx, &operands, rank_of(s->ctx, root->params[p].name));
    }
    pel_nodes_push(s->ctx, &operands, pel_make_int(s->ctx, rank));
    return pel_make_chain(s->ctx, operands, PEL_Eq);
}

/* x is None or ... */
static pel_node *none_or(pel_ctx *ctx, pel_name name, pel_node *test) {
    pel_nodes either = { 0 };
    pel_nodes_push(ctx, &either, pel_make_compare(ctx, pel_make_name(ctx, name, PEL_Load), PEL_Is, pel_make_none(ctx)));
    pel_nodes_push(ctx, &either, test);
    return pel_make_boolop(ctx, PEL_Or, either);
}

static void guard_ranks(pel_synth *s, const pel_group *root, pel_nodes *body) {
    pel_ctx *ctx = s->ctx;
    pel_nodes tests = { 0 };
    pel_map seen = { 0 }; /* ranks */
    for (uint32_t p = 1; p < root->n_params; p++) {
        const pel_param *param = &root->params[p];
        asserted one = rank_asserted(s, root, p);
        if (one.form == PEL_RANK_NONE || one.form == PEL_RANK_OPEN) continue;
        bool is_own = one.form == PEL_RANK_OWN;
        if (is_own && !one.or_none) {
            if (pel_map_set(ctx, &seen, one.rank, 1)) pel_nodes_push(ctx, &tests, ranks_from(s, root, p, one.rank));
            continue;
        }
        pel_node *test = is_own ? rank_is(ctx, param->name, one.rank)
                                : ranks_are(ctx, param, one.form == PEL_RANK_OF_VALUES, one.rank);
        pel_nodes_push(ctx, &tests, one.or_none ? none_or(ctx, param->name, test) : test);
    }
    if (tests.n) guard(s, body, all_of(ctx, tests), "not recorded with this number of dimensions");
}

/* ---- types, where the text was settled by those ---- */

static const char *type_of(const pel_value *value) {
    if (pel_value_is_number(value)) return value->constant->kind == PEL_CONST_INT ? "int" : "float";
    if (value->class) return NULL;
    return value->kind == PEL_V_LIST    ? "list"
           : value->kind == PEL_V_TUPLE ? "tuple"
           : value->kind == PEL_V_DICT  ? "dict"
                                        : NULL;
}

/* The one type that a number or a container had in all calls; NULL: it was none of these, or not always, or is asserted
 * to be equal to what it was, which numbers are to those of another type. */
static const char *type_given(const pel_synth *s, const pel_group *root, const pel_param *param) {
    const char *all = NULL;
    for (uint32_t i = 0; i < root->n_lanes && !param->dead; i++) {
        pel_id id = pel_argument(s->log, root->lanes[i], param);
        const pel_value *value = pel_value_at(s->log, id);
        bool is_asserted = param->unread && pel_plain(s, id) && !pel_value_is_number(value);
        const char *one = is_asserted ? NULL : type_of(value);
        if (!one || (all && strcmp(all, one))) return NULL;
        all = one;
    }
    return all;
}

/* Whether it was a tensor in all calls. */
static bool is_tensor_given(const pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    for (uint32_t i = 0; i < root->n_lanes; i++)
        if (pel_value_at(s->log, pel_argument(s->log, root->lanes[i], param))->kind != PEL_V_TENSOR) return false;
    return root->n_lanes && !param->of;
}

/* isinstance(x, torch.Tensor) */
static pel_node *is_tensor(pel_synth *s, pel_name name) {
    pel_nodes args = pel_nodes_one(s->ctx, pel_make_name(s->ctx, name, PEL_Load));
    pel_nodes_push(s->ctx, &args, pel_library_expression(s->ctx, s->program, PEL_STR("torch.Tensor")));
    return pel_make_call(s->ctx, pel_make_name(s->ctx, pel_intern_c(s->ctx, "isinstance"), PEL_Load), args,
                         (pel_nodes){ 0 });
}

static pel_node *type_of_name(pel_ctx *ctx, pel_name name) {
    pel_nodes of = pel_nodes_one(ctx, pel_make_name(ctx, name, PEL_Load));
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "type"), PEL_Load), of, (pel_nodes){ 0 });
}

/* type(x).__name__ == "Batch": the class itself is the author's, or the output's. NULL: it was no object. */
static pel_node *is_object(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    const pel_value *first = pel_value_at(s->log, pel_argument(s->log, root->lanes[0], param));
    if (first->kind != PEL_V_OBJECT || !first->class || param->of) return NULL;
    if (pel_plain(s, pel_argument(s->log, root->lanes[0], param))) return NULL;
    pel_node *name =
        pel_make_attribute(s->ctx, type_of_name(s->ctx, param->name), pel_intern_c(s->ctx, "__name__"), PEL_Load);
    pel_name class = pel_class_at(s->log, first->class)->name;
    return pel_make_compare(s->ctx, name, PEL_Eq, pel_make_text(s->ctx, pel_name_str(class)));
}

/* A bool is an int, and is another thing. */
static pel_node *type_is(pel_ctx *ctx, pel_name name, const char *type) {
    pel_node *known = pel_make_name(ctx, pel_intern_c(ctx, type), PEL_Load);
    return pel_make_compare(ctx, type_of_name(ctx, name), PEL_Is, known);
}

static void guard_types(pel_synth *s, const pel_group *root, pel_nodes *body) {
    pel_nodes tests = { 0 };
    for (uint32_t p = 1; p < root->n_params; p++) {
        const char *type = s->asked.type ? type_given(s, root, &root->params[p]) : NULL;
        if (s->asked.tensors && is_tensor_given(s, root, p))
            pel_nodes_push(s->ctx, &tests, is_tensor(s, root->params[p].name));
        pel_node *object = s->asked.objects ? is_object(s, root, p) : NULL;
        if (object) pel_nodes_push(s->ctx, &tests, object);
        if (type) pel_nodes_push(s->ctx, &tests, type_is(s->ctx, root->params[p].name, type));
    }
    const char *message = tests.n == 1 ? "not recorded with this type" : "not recorded with these types";
    if (tests.n) guard(s, body, all_of(s->ctx, tests), message);
}

static bool is_data(const pel_synth *s, const pel_group *root, const pel_param *param) {
    return pel_varies(pel_taint_fact(param->taint)) || !pel_plain(s, pel_argument(s->log, root->lanes[0], param));
}

/* Arguments that are no data have the values they were recorded with, also where the text binds their names to
 * something else, and so has the mode. */
void pel_guard_root(pel_synth *s, pel_group *root) {
    pel_nodes body = { 0 }, tests = { 0 };
    for (uint32_t p = 1; p < root->n_params; p++) {
        const pel_param *param = &root->params[p];
        bool is_asked = s->asked.there && !s->asked.tensors && is_tensor_given(s, root, p);
        if (!param->dead && (is_asked || may_be_left_out(s, root, p)) && !raises_without(s, root, p))
            pel_nodes_push(s->ctx, &tests, is_there(s->ctx, param->name));
        if (param->dead || (!param->unread && is_data(s, root, param))) continue;
        pel_node *test = as_recorded(s, root, p);
        if (test) pel_nodes_push(s->ctx, &tests, test);
    }
    const char *message = tests.n == 1 ? "not recorded with this argument" : "not recorded with these arguments";
    chain_nones(s, &tests);
    /* types first: a tensor can't be compared with a number */
    if (s->asked.type || s->asked.tensors || s->asked.objects) guard_types(s, root, &body);
    if (tests.n) guard(s, &body, all_of(s->ctx, tests), message);
    if (s->asked.rank && !s->asked.is_rank_open && !s->log->from_source) guard_ranks(s, root, &body);
    if (s->asked.training && s->asked.trained != s->asked.evaluated) {
        pel_node *mode = pel_make_attribute(s->ctx, pel_make_name(s->ctx, root->params[0].name, PEL_Load),
                                            pel_intern_c(s->ctx, "training"), PEL_Load);
        guard(s, &body, s->asked.trained ? mode : pel_not(s, mode),
              s->asked.trained ? "recorded in train mode only" : "recorded in eval mode only");
    }
    for (uint32_t i = 0; i < root->body.n; i++) pel_nodes_push(s->ctx, &body, root->body.at[i]);
    root->body = body;
}

/* ---- the signature ---- */

/* Libraries give their models ten or thirty parameters; those that no call gave and that nothing reads any more would
 * be a wall of names, and an assertion of as many lines. Without them a call that gives one is a TypeError that names
 * it. */
static bool was_given(const pel_synth *s, const pel_param *param, uint32_t p) {
    for (uint32_t r = 0; r < s->log->runs.n; r++)
        if (given_in(&s->log->runs.at[r], param, p)) return true;
    return false;
}

static bool is_of_no_use(pel_synth *s, const pel_group *root, uint32_t p) {
    const pel_param *param = &root->params[p];
    if (param->dead || !param->unread || !param->fallback || param->kind != PEL_PARAM_PLAIN) return false;
    return !was_given(s, param, p) && is_asserted(s, root, p);
}

/* Whether each run is one call of it, nothing in the text calls it, and it takes no *args. */
static bool is_called_from_outside_alone(const pel_synth *s, const pel_group *root) {
    for (uint32_t p = 1; p < root->n_params; p++)
        if (root->params[p].kind == PEL_PARAM_STAR || root->params[p].kind == PEL_PARAM_STAR_ITEM) return false;
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->target == root && s->reached.active[i]) return false;
    return !root->rest && !root->star && root->n_lanes <= s->log->runs.n && !s->log->from_source;
}

/* What stands behind one that is gone must be named: its place would be taken for that of another. What every call gave
 * needs no default before that. */
void pel_cut_root(pel_synth *s, pel_group *root) {
    if (!is_called_from_outside_alone(s, root)) return;
    uint32_t n_cut = 0;
    for (uint32_t p = 1; p < root->n_params; p++) n_cut += is_of_no_use(s, root, p);
    if (n_cut < MANY) return;
    bool has_gap = false, may_be_required = true;
    for (uint32_t p = 1; p < root->n_params; p++) {
        pel_param *param = &root->params[p];
        if (is_of_no_use(s, root, p)) {
            param->dead = has_gap = true;
            continue;
        }
        if (param->dead || param->kind != PEL_PARAM_PLAIN) continue;
        may_be_required &= !param->fallback || may_be_left_out(s, root, p);
        if (has_gap)
            param->keyword_only = true;
        else
            param->required = may_be_required && param->fallback;
    }
}
