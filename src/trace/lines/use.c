/* Where straight lines stand: as a small function for one place that calls, as the text of a whole function; and which
 * functions are tried that way. */
#include "trace/passes.h"
#include "trace/lines/line.h"

/* ---- whom an object without a literal concerns ---- */

static void note_objects(pel_ctx *ctx, const pel_log *log, pel_id id, pel_map *objects, int depth) {
    const pel_value *value = pel_value_at(log, id);
    if (value->object) pel_map_set(ctx, objects, value->object, 1);
    if (depth > 4 || !pel_value_has_items((pel_value_kind)value->kind)) return;
    for (uint32_t i = 0; i < value->n; i++) note_objects(ctx, log, value->items[i], objects, depth + 1);
}

void pel_refuse_users(pel_ctx *ctx, pel_program *program, pel_id class, pel_id value) {
    const pel_log *log = program->log;
    pel_map objects = { 0 };
    const pel_str why = PEL_STR("it is given an object without a literal");
    uint32_t n_before = program->said.refused.n;
    note_objects(ctx, log, value, &objects, 0);
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_log_code *row = &log->codes.at[activation->code];
        if (row->class && pel_class_at(log, row->class)->kind == PEL_CLASS_MODULE) continue;
        uint32_t n = row->code->argcount + row->code->kwonlyargcount;
        for (uint32_t p = 0; p < n; p++)
            if (pel_map_has(&objects, pel_value_at(log, activation->locals[p])->object)) {
                pel_push(ctx, &program->said.refused, ((pel_refused){ activation->code, why }));
                break;
            }
    }
    for (uint32_t i = 0; i < program->functions.n && program->said.refused.n == n_before; i++)
        if (program->functions.at[i]->class == class && program->functions.at[i]->from_source)
            pel_push(ctx, &program->said.refused, ((pel_refused){ program->functions.at[i]->code, why }));
}

/* ---- a function for one place that calls ---- */

/* A function with this text, made now or before. Its name can't be another's; write_straight gives it a better one
 * when it is known which other functions there are. */
static pel_program_function *helper_for(pel_synth *s, pel_id code, pel_node *def, pel_name wish) {
    for (uint32_t i = 0; i < s->helpers.n; i++) {
        const pel_helper *other = &s->helpers.at[i];
        if (other->wish == wish && pel_same_list(other->function->def->FunctionDef.body, def->FunctionDef.body) &&
            pel_same(other->function->def->FunctionDef.args, def->FunctionDef.args))
            return other->function;
    }
    pel_str text = pel_format(s->ctx, "%s %u", wish->text, s->helpers.n);
    pel_program_function *made = pel_new(s->ctx, pel_program_function);
    *made = (pel_program_function){ .code = code, .name = pel_intern_str(s->ctx, text), .def = def };
    pel_push(s->ctx, &s->helpers, (pel_helper){ made, wish });
    return made;
}

static bool is_given(const pel_straight *x, const pel_id *values) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (values[i] && pel_live(x->w->s, values[i])) return true;
    return pel_straight_all(x, values, PEL_V_MODULE) ||
           (pel_straight_all(x, values, PEL_V_CONST) && !pel_straight_same(x, values));
}

/* ---- one expression in the place of a call ---- */

typedef struct substitution {
    const pel_synth *s;
    pel_nodes params, given;
    uint32_t *n_uses; /* per parameter */
    bool replaces;    /* or only counts */
} substitution;

static void substitute(void *arg, pel_node **slot) {
    substitution *sub = arg;
    for (uint32_t k = 0; (*slot)->kind == PEL_Name && k < sub->params.n; k++) {
        if (sub->params.at[k]->arg.arg != (*slot)->Name.id) continue;
        sub->n_uses[k]++;
        if (sub->replaces) *slot = sub->n_uses[k] > 1 ? pel_copy(sub->s->ctx, sub->given.at[k]) : sub->given.at[k];
        return;
    }
    pel_each_child(*slot, substitute, arg);
}

static bool is_short(const pel_node *text) {
    while (text->kind == PEL_Attribute) text = text->Attribute.value;
    return text->kind == PEL_Name || text->kind == PEL_Constant;
}

/* A line that is one expression stands where the call stood, if that does not write or do anything twice. */
static pel_node *in_place(const pel_straight *x, pel_nodes params, pel_nodes given) {
    if (x->body.n != 1 || x->body.at[0]->kind != PEL_Return || x->has_effect) return NULL;
    substitution sub = { x->w->s, params, given, pel_new_array(x->ctx, params.n + 1u, uint32_t), false };
    substitute(&sub, &x->body.at[0]->Return.value);
    for (uint32_t k = 0; k < params.n; k++)
        if (sub.n_uses[k] != 1 && !is_short(given.at[k])) return NULL;
    memset(sub.n_uses, 0, params.n * sizeof *sub.n_uses);
    sub.replaces = true;
    substitute(&sub, &x->body.at[0]->Return.value);
    return x->body.at[0]->Return.value;
}

/* ---- a function for one place that calls, as a whole ---- */

/* The call of such a function in the place of a call. args, names: what the call passes, and what the function calls it
 * (NULL where it has no name for it: then a tensor in it can't be used). */
/* What a function computes of numbers that depend on data would be a constant in its line. */
static void refuse_numbers(const pel_straight *x, pel_val **args, uint32_t n_args, const pel_val *val) {
    bool by_data = false, live = true;
    for (uint32_t k = 0; k < n_args; k++) by_data |= pel_varies(args[k]->taint);
    for (uint32_t i = 0; i < x->n_lanes; i++) live &= val->at[i] && pel_live(x->w->s, val->at[i]);
    if (by_data && !live && pel_straight_same(x, val->at))
        pel_lost(x->w, x->node, "it computes something that depends on data");
}

/* Of numbers that depend on nothing it makes the same number in every call. */
static const pel_taint *depends_of_line(const pel_straight *x, const pel_id *results) {
    bool live = true;
    for (uint32_t i = 0; i < x->n_lanes; i++) live &= results[i] && pel_live(x->w->s, results[i]);
    if (live) return pel_constant(PEL_WHY_TENSOR);
    return pel_straight_same(x, results) ? pel_constant(PEL_WHY_LINE) : &pel_tainted;
}

/* What it asked of its tensors is asserted before the call if they have short names there, else in a function of its
 * own.
 */
static void guard_reads(pel_straight *x, const pel_straight_args *args) {
    pel_nodes tests = { 0 };
    pel_straight_expect_reads(x, &tests);
    if (!tests.n) return;
    pel_node *all = tests.n == 1 ? tests.at[0] : pel_make_boolop(x->ctx, PEL_And, tests);
    substitution sub = { x->w->s, args->params, args->given, pel_new_array(x->ctx, args->params.n + 1u, uint32_t),
                         false };
    substitute(&sub, &all);
    bool is_simple = !x->w->in_expression;
    for (uint32_t k = 0; k < args->params.n; k++) is_simple &= !sub.n_uses[k] || is_short(args->given.at[k]);
    if (is_simple) {
        memset(sub.n_uses, 1, args->params.n * sizeof *sub.n_uses); /* each use is a copy */
        sub.replaces = true;
        substitute(&sub, &all);
        pel_guard(x->w, x->node, all, true, "path not recorded");
        return;
    }
    pel_nodes body =
        pel_nodes_one(x->ctx, pel_make_assert(x->ctx, all, pel_make_text(x->ctx, PEL_STR("path not recorded"))));
    for (uint32_t i = 0; i < x->body.n; i++) pel_nodes_push(x->ctx, &body, x->body.at[i]);
    x->body = body;
    x->has_effect = true;
}

/* What its lanes did, with parameters for whatever is not the same everywhere. */
static void write_call(pel_straight *x, pel_straight_args *args, const pel_id *results) {
    x->body.n = 0;
    for (uint32_t k = 0; k < args->n; k++) {
        pel_straight_guard(x, args->at[k]);
        bool is_open = pel_straight_is_open(x, args->at[k]->taint, args->at[k]->at[0]);
        if (!args->names[k] || !is_given(x, args->at[k]->at)) {
            if (is_open) pel_straight_note(x, args->at[k]->at);
            continue;
        }
        pel_node *param = pel_node_new(x->ctx, PEL_arg);
        param->arg.arg = args->names[k];
        pel_nodes_push(x->ctx, &args->params, param);
        pel_nodes_push(x->ctx, &args->given, args->at[k]->text);
        pel_straight_give(x, pel_make_name(x->ctx, args->names[k], PEL_Load), args->at[k]->at, is_open);
    }
    pel_straight_write(x, results);
    guard_reads(x, args);
}

pel_val *pel_straight_call(pel_walk *w, uint32_t n_lanes, const pel_node *node, const pel_id *children,
                           const pel_passed *passed, pel_val *val) {
    const pel_code_object *code = w->log->codes.at[w->log->activations.at[children[0]].code].code;
    pel_straight x = { .w = w,
                       .ctx = w->ctx,
                       .log = w->log,
                       .node = node,
                       .code = code,
                       .n_lanes = n_lanes,
                       .above = children,
                       .keeps_calls = true,
                       .is_helper = true };
    w->s->asked.rank = true; /* what it asked before each step is gone */
    refuse_numbers(&x, passed->at, passed->n, val);
    val->taint = depends_of_line(&x, val->at);
    pel_straight_args args = { passed->at, passed->names, passed->n, { 0 }, { 0 } };
    if (!pel_straight_call_of_pattern(&x, &args, val->at)) write_call(&x, &args, val->at);
    pel_nodes given = args.given, params = args.params;
    pel_node *text = in_place(&x, params, given);
    if (text) {
        val->text = text;
        return val;
    }
    pel_node *def = pel_node_new(w->ctx, PEL_FunctionDef);
    def->FunctionDef.args = pel_node_new(w->ctx, PEL_arguments);
    def->FunctionDef.args->arguments.args = params;
    def->FunctionDef.body = x.body;
    pel_name wish = code->name->text[0] == '<' ? pel_intern_c(w->ctx, "function") : code->name; /* lambdas have none */
    const pel_program_function *helper = helper_for(w->s, w->log->activations.at[children[0]].code, def, wish);
    val->text = pel_make_call(w->ctx, pel_make_name(w->ctx, helper->name, PEL_Load), given, (pel_nodes){ 0 });
    val->effect |= x.has_effect;
    if (x.has_effect) pel_note_node(w->s, val->text, PEL_NOTE_EFFECT);
    return val;
}

/* ---- the text of a whole function ---- */

/* Lanes that do different things are told apart by what the function can ask: each kind gets a branch. */
typedef struct question {
    pel_node *text;
    bool *answers;  /* per lane */
    pel_node *size; /* that it asks for, if it does: no other is known to be right */
    int64_t *sizes; /* per lane */
    uint32_t param; /* one more than that of the parameter whose value it asks for; 0: it does not */
    bool is_training;
} question;

typedef struct body_job {
    pel_walk *w;
    const pel_id *lanes;
    uint32_t n;
    int depth;
    bool *asked; /* parameters whose values questions have told */
    pel_nodes body;
    bool has_effect;
} body_job;

enum { MOST_QUESTIONS = 16, MOST_SAID = 3 };

static pel_id result_of(pel_walk *w, pel_id activation) {
    pel_id result = pel_result_of(w->log, activation);
    if (!result) pel_lost(w, w->group->author->node, "it does not return");
    return result;
}

static void give_params(pel_straight *x, const pel_group *group) {
    const pel_code_object *code = x->code;
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t p = 0; p < group->n_params; p++) {
        for (uint32_t i = 0; i < x->n_lanes; i++) values[i] = pel_argument(x->log, x->above[i], &group->params[p]);
        bool is_open = group->is.root || pel_straight_is_open(x, pel_taint_fact(group->params[p].taint), values[0]);
        pel_straight_give(x, pel_make_name(x->ctx, group->params[p].name, PEL_Load), values, is_open);
    }
    for (uint32_t c = 0; group->is.nested && c < code->freevars.n; c++) {
        for (uint32_t i = 0; i < x->n_lanes; i++)
            values[i] = x->log->activations.at[x->above[i]].cells[code->cellvars.n + c];
        pel_straight_give(x, pel_make_name(x->ctx, code->freevars.at[c], PEL_Load), values, true);
    }
}

/* A throw means that these lanes have no line in common: write_body then splits them by a question and tries the
 * halves. A result that is neither live nor one constant may depend on data, whatever the parameters were. */
static void write_line(pel_ctx *ctx, void *arg) {
    body_job *job = arg;
    pel_walk *w = job->w;
    const pel_group *group = w->group;
    pel_straight x = { .w = w,
                       .ctx = ctx,
                       .log = w->log,
                       .node = group->author->node,
                       .code = w->log->codes.at[group->code].code,
                       .n_lanes = job->n,
                       .above = job->lanes,
                       .keeps_calls = pel_map_find(&w->s->program->straight, group->code, 0) == PEL_STRAIGHT_CALLS };
    if (group->facts.chosen && group->class && pel_class_at(w->log, group->class)->kind == PEL_CLASS_MODULE)
        pel_lost(w, x.node, "data say which module is called, and what the others of its class do is not in its calls");
    give_params(&x, group);
    pel_id *results = pel_new_array(ctx, job->n, pel_id);
    for (uint32_t i = 0; i < job->n; i++) results[i] = result_of(w, job->lanes[i]);
    if (!pel_straight_module_of_pattern(&x, results)) {
        x.body.n = 0;
        pel_straight_write(&x, results);
        pel_straight_expect(&x, group, job->asked);
    }
    job->body = x.body;
    job->has_effect = x.has_effect;
    bool live = true;
    for (uint32_t i = 0; i < job->n; i++) live &= pel_live(w->s, results[i]);
    bool fixed = pel_straight_same(&x, results) && pel_plain(w->s, results[0]);
    if (!live && !fixed && pel_taint_grow(ctx, &w->group->facts.result, &pel_tainted)) w->s->facts.changed = true;
    pel_taint_grow(ctx, &w->group->facts.result, pel_constant(live ? PEL_WHY_TENSOR : PEL_WHY_LINE));
}

static bool is_useful(const question *q, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        if (q->answers[i] != q->answers[0]) return true;
    return false;
}

static const pel_value *self_at(const body_job *job, uint32_t lane) {
    const pel_group *group = job->w->group;
    if (!group->n_params) return pel_value_at(job->w->log, 0);
    return pel_value_at(job->w->log, pel_argument(job->w->log, job->lanes[lane], &group->params[0]));
}

static bool has_module(const body_job *job) {
    const pel_group *group = job->w->group;
    return group->class && pel_class_at(job->w->log, group->class)->kind == PEL_CLASS_MODULE &&
           self_at(job, 0)->kind == PEL_V_MODULE;
}

static pel_node *of_self(const body_job *job, pel_name name) {
    pel_ctx *ctx = job->w->ctx;
    return pel_make_attribute(ctx, pel_make_name(ctx, job->w->group->params[0].name, PEL_Load), name, PEL_Load);
}

static bool asks_training(body_job *job, question *q) {
    if (!has_module(job)) return false;
    const pel_log *log = job->w->log;
    for (uint32_t i = 0; i < job->n; i++) q->answers[i] = log->runs.at[log->activations.at[job->lanes[i]].run].training;
    q->text = of_self(job, pel_intern_c(job->w->ctx, "training"));
    q->is_training = true;
    return is_useful(q, job->n);
}

/* Whether gradients are wanted: what is kept for them then, or may be changed in place if not. */
static bool asks_grad(body_job *job, question *q) {
    const pel_log *log = job->w->log;
    for (uint32_t i = 0; i < job->n; i++)
        q->answers[i] = log->runs.at[log->activations.at[job->lanes[i]].run].grad_enabled;
    pel_ctx *ctx = job->w->ctx;
    pel_node *asked = pel_library_expression(ctx, job->w->s->program, PEL_STR("torch.is_grad_enabled"));
    q->text = pel_make_call(ctx, asked, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    return is_useful(q, job->n);
}

static bool is_none(const pel_value *value) {
    return value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE;
}

static bool is_flag(const pel_value *value) {
    if (value->kind != PEL_V_CONST) return false;
    pel_const_kind kind = value->constant->kind;
    return kind == PEL_CONST_TRUE || kind == PEL_CONST_FALSE || kind == PEL_CONST_STR;
}

/* `value is None`, `value == constant`: whatever of the lanes' values tells some of them from the others. Numbers that
 * calls pass are no question: what was recorded with one of them is meant for others as well. */
static bool asks_value(body_job *job, const pel_id *values, pel_node *text, bool is_fixed, question *q) {
    pel_ctx *ctx = job->w->ctx;
    const pel_log *log = job->w->log;
    for (uint32_t i = 0; i < job->n; i++) q->answers[i] = is_none(pel_value_at(log, values[i]));
    if (is_useful(q, job->n)) {
        q->text = pel_make_compare(ctx, text, PEL_Is, pel_make_none(ctx));
        return true;
    }
    for (uint32_t i = 0; i < job->n; i++) {
        if (!is_fixed && !is_flag(pel_value_at(log, values[i]))) return false;
        q->answers[i] = pel_value_same(log, values[i], values[0]);
    }
    if (!is_useful(q, job->n)) return false;
    q->text = pel_make_compare(ctx, text, PEL_Eq, pel_value_expression(ctx, job->w->s->program, values[0]));
    return true;
}

static bool asks_argument(body_job *job, question *q) {
    const pel_group *group = job->w->group;
    pel_id *values = pel_new_array(job->w->ctx, job->n, pel_id);
    for (uint32_t p = group->class ? 1 : 0; p < group->n_params; p++) {
        for (uint32_t i = 0; i < job->n; i++) values[i] = pel_argument(job->w->log, job->lanes[i], &group->params[p]);
        q->param = p + 1;
        if (asks_value(job, values, pel_make_name(job->w->ctx, group->params[p].name, PEL_Load), false, q)) return true;
    }
    q->param = 0;
    return false;
}

/* How many dimensions a tensor has. */
static bool asks_rank(body_job *job, question *q) {
    const pel_group *group = job->w->group;
    const pel_log *log = job->w->log;
    pel_ctx *ctx = job->w->ctx;
    for (uint32_t p = 0; p < group->n_params; p++) {
        uint32_t rank = 0, n = 0;
        for (; n < job->n; n++) {
            const pel_value *value = pel_value_at(log, pel_argument(log, job->lanes[n], &group->params[p]));
            if (value->kind != PEL_V_TENSOR) break;
            uint32_t own = log->tensors.at[value->tensor].n_dims;
            if (!n) rank = own;
            q->answers[n] = own == rank;
        }
        if (n < job->n || !is_useful(q, job->n)) continue;
        pel_node *ndim = pel_make_attribute(ctx, pel_make_name(ctx, group->params[p].name, PEL_Load),
                                            pel_intern_c(ctx, "ndim"), PEL_Load);
        q->text = pel_make_compare(ctx, ndim, PEL_Eq, pel_make_int(ctx, rank));
        return true;
    }
    return false;
}

static pel_node *size_of(pel_ctx *ctx, pel_name name, uint32_t dim) {
    pel_node *shape = pel_make_attribute(ctx, pel_make_name(ctx, name, PEL_Load), pel_intern_c(ctx, "shape"), PEL_Load);
    return pel_make_subscript(ctx, shape, pel_make_int(ctx, dim), PEL_Load);
}

/* How long a lane's argument is in one dimension; false: it is no such tensor. */
static bool get_size(const body_job *job, uint32_t lane, const pel_param *param, uint32_t dim, int64_t *out) {
    const pel_log *log = job->w->log;
    const pel_value *value = pel_value_at(log, pel_argument(log, job->lanes[lane], param));
    if (value->kind != PEL_V_TENSOR || log->tensors.at[value->tensor].n_dims <= dim) return false;
    *out = log->tensors.at[value->tensor].shape[dim];
    return true;
}

enum { MOST_DIMS = 4 };

/* Whether there is one of something: what spares a repetition then is done for any other number. */
static bool asks_single(body_job *job, question *q) {
    const pel_group *group = job->w->group;
    pel_ctx *ctx = job->w->ctx;
    for (uint32_t p = 0; p < group->n_params; p++)
        for (uint32_t d = 0; d < MOST_DIMS; d++) {
            uint32_t n = 0;
            int64_t size;
            for (; n < job->n && get_size(job, n, &group->params[p], d, &size); n++) q->answers[n] = size == 1;
            if (n < job->n || !is_useful(q, job->n)) continue;
            q->text = pel_make_compare(ctx, size_of(ctx, group->params[p].name, d), PEL_Eq, pel_make_int(ctx, 1));
            return true;
        }
    return false;
}

/* The last resort: what was done depends on how long something is, and each length gets its own line. */
static bool asks_size(body_job *job, question *q) {
    const pel_group *group = job->w->group;
    pel_ctx *ctx = job->w->ctx;
    q->sizes = pel_new_array(ctx, job->n, int64_t);
    for (uint32_t p = 0; p < group->n_params; p++)
        for (uint32_t d = 1; d < MOST_DIMS; d++) { /* the first is the batch: no reason to do something else */
            uint32_t n = 0;
            for (; n < job->n && get_size(job, n, &group->params[p], d, &q->sizes[n]); n++)
                q->answers[n] = q->sizes[n] == q->sizes[0];
            if (n < job->n || !is_useful(q, job->n)) continue;
            q->size = size_of(ctx, group->params[p].name, d);
            q->text = pel_make_compare(ctx, pel_copy(ctx, q->size), PEL_Eq, pel_make_int(ctx, q->sizes[0]));
            return true;
        }
    return false;
}

/* Of the lanes that a question about a size leaves: if they have one size, it is the only other that is known. */
static void guard_size(body_job *job, const question *q, pel_nodes *body) {
    pel_ctx *ctx = job->w->ctx;
    int64_t size = -1;
    for (uint32_t i = 0; i < job->n; i++) {
        if (q->answers[i]) continue;
        if (size >= 0 && q->sizes[i] != size) return;
        size = q->sizes[i];
    }
    pel_node *test = pel_make_compare(ctx, pel_copy(ctx, q->size), PEL_Eq, pel_make_int(ctx, size));
    pel_nodes_push(ctx, body, pel_make_assert(ctx, test, pel_make_text(ctx, PEL_STR("path not recorded"))));
}

static bool asks_attribute(body_job *job, question *q) {
    if (!has_module(job)) return false;
    const pel_log *log = job->w->log;
    pel_id *values = pel_new_array(job->w->ctx, job->n, pel_id), *modules = pel_new_array(job->w->ctx, job->n, pel_id);
    for (uint32_t i = 0; i < job->n; i++) modules[i] = self_at(job, i)->module;
    const pel_log_module *first = pel_module_at(log, modules[0]);
    for (uint32_t a = 0; a < first->n_attributes; a++) {
        pel_name name = first->attributes[a].name;
        if (pel_map_has(&job->w->s->objects.written, pel_key2(first->class, PEL_KEY(name)))) continue;
        bool known = true;
        for (uint32_t i = 0; i < job->n && known; i++) {
            values[i] = pel_module_attribute(log, modules[i], name);
            known = values[i] && pel_plain(job->w->s, values[i]);
        }
        if (!known || !asks_value(job, values, of_self(job, name), true, q)) continue;
        pel_need(job->w, (pel_front){ NULL, job->n }, modules, name, NULL);
        return true;
    }
    return false;
}

static void write_body(pel_ctx *ctx, body_job *job);

static bool is_truth(const pel_value *value) {
    return value->kind == PEL_V_CONST &&
           (value->constant->kind == PEL_CONST_TRUE || value->constant->kind == PEL_CONST_FALSE);
}

/* Whether an answer leaves one value of a parameter: the one that was asked for, or the other truth. */
static bool tells_value(const body_job *job, const question *q, bool answer) {
    const pel_log *log = job->w->log;
    if (!q->param || answer) return q->param;
    for (uint32_t i = 0; i < job->n; i++)
        if (!is_truth(pel_value_at(log, pel_argument(log, job->lanes[i], &job->w->group->params[q->param - 1]))))
            return false;
    return true;
}

/* The lanes that give one answer. */
static body_job part_of(pel_ctx *ctx, const body_job *job, const question *q, bool answer) {
    uint32_t n_params = job->w->group->n_params;
    pel_id *lanes = pel_new_array(ctx, job->n, pel_id);
    body_job part = { .w = job->w, .lanes = lanes, .depth = job->depth + 1 };
    part.asked = pel_new_array(ctx, n_params + 1u, bool);
    memcpy(part.asked, job->asked, n_params * sizeof *part.asked);
    if (tells_value(job, q, answer)) part.asked[q->param - 1] = true;
    for (uint32_t i = 0; i < job->n; i++)
        if (q->answers[i] == answer) lanes[part.n++] = job->lanes[i];
    return part;
}

static void write_branch(pel_ctx *ctx, body_job *job, const question *q, bool answer, pel_nodes *out) {
    body_job part = part_of(ctx, job, q, answer);
    write_body(ctx, &part);
    *out = part.body;
    job->has_effect |= part.has_effect;
}

/* Whether the lanes that give one answer did the same. */
static bool settles(pel_ctx *ctx, const body_job *job, const question *q) {
    for (int answer = 0; answer < 2; answer++) {
        body_job part = part_of(ctx, job, q, answer);
        pel_err err;
        if (!pel_attempt(ctx, write_line, &part, &err)) return false;
    }
    return true;
}

/* The question that tells all lanes apart which did different things; if there is none, the first that tells any. What
 * says nothing about the lanes is asked only if it settles the matter: each example that a line loses is one less to
 * tell its sizes by. */
static bool find_question(pel_ctx *ctx, body_job *job, question *out) {
    static const struct {
        bool (*ask)(body_job *, question *);
        bool must_settle;
    } rows[] = {
        { asks_training, false }, { asks_argument, false }, { asks_rank, false }, { asks_attribute, false },
        { asks_grad, true },      { asks_single, true },    { asks_size, false },
    };
    bool found = false;
    for (size_t k = 0; k < PEL_COUNT(rows) && job->depth < MOST_QUESTIONS; k++) {
        question q = { NULL, pel_new_array(ctx, job->n, bool) };
        if (!rows[k].ask(job, &q)) continue;
        bool is_last = settles(ctx, job, &q);
        if (is_last || (!found && !rows[k].must_settle)) {
            *out = q;
            found = true;
        }
        if (is_last) break;
    }
    return found;
}

static void write_body(pel_ctx *ctx, body_job *job) {
    pel_err err;
    if (pel_attempt(ctx, write_line, job, &err)) return;
    question q;
    if (!find_question(ctx, job, &q)) pel_lost(job->w, job->w->group->author->node, "%s", err.what);
    if (q.is_training) job->w->s->asked.training = true;
    pel_node *branch = pel_node_new(ctx, PEL_If);
    branch->If.test = q.text;
    write_branch(ctx, job, &q, true, &branch->If.body);
    write_branch(ctx, job, &q, false, &job->body);
    pel_nodes all = pel_nodes_one(ctx, branch);
    if (q.size) guard_size(job, &q, &all);
    for (uint32_t i = 0; i < job->body.n; i++) pel_nodes_push(ctx, &all, job->body.at[i]);
    job->body = all;
}

static void write_group(pel_ctx *ctx, void *arg) {
    pel_walk *w = arg;
    pel_group *group = w->group;
    if (group->is.generator || group->is.init) pel_lost(w, group->author->node, "it is no plain function");
    body_job job = { .w = w, .lanes = group->lanes, .n = group->n_lanes };
    job.asked = pel_new_array(ctx, group->n_params + 1u, bool);
    write_body(ctx, &job);
    group->body = job.body;
    if (job.has_effect && !group->facts.has_effect) group->facts.has_effect = w->s->facts.changed = true;
}

void pel_walk_straight(pel_synth *s, pel_group *group) {
    pel_walk w = { .ctx = s->ctx, .s = s, .log = s->log, .group = group, .author = group->author };
    pel_err err;
    s->asked.rank = s->asked.type = true; /* what it asked before each step is gone */
    if (pel_attempt(s->ctx, write_group, &w, &err)) return;
    group->why = pel_format(s->ctx, "%s", err.what).ptr;
    group->why_line = s->log->codes.at[group->code].code->firstlineno;
}

/* ---- what is left of them in the end ---- */

typedef struct naming {
    const pel_synth *s;
    pel_map number_of; /* name that a helper was made with -> its number */
    bool *used;
    bool rename;
} naming;

static void see_helper(void *arg, pel_node **slot) {
    naming *look = arg;
    uint64_t number;
    pel_node *node = *slot;
    if (node->kind == PEL_Name && pel_map_get(&look->number_of, PEL_KEY(node->Name.id), &number)) {
        look->used[number] = true;
        if (look->rename) node->Name.id = look->s->helpers.at[number].function->name;
    }
    pel_each_child(node, see_helper, arg);
}

static void see_helpers(naming *look) {
    for (uint32_t i = 0; i < look->s->program->functions.n; i++)
        if (look->s->program->functions.at[i]->def) see_helper(look, &look->s->program->functions.at[i]->def);
}

/* Later passes may have dropped calls, so the first look finds the helpers that are still called. Only these are
 * written and get their final names; the second look renames the calls, those inside of helpers included. */
static void write_straight(pel_synth *s) {
    naming look = { .s = s, .used = pel_new_array(s->ctx, s->helpers.n + 1u, bool) };
    for (uint32_t i = 0; i < s->helpers.n; i++)
        pel_map_set(s->ctx, &look.number_of, PEL_KEY(s->helpers.at[i].function->name), i);
    see_helpers(&look);
    for (uint32_t i = 0; i < s->helpers.n; i++) {
        if (!look.used[i]) continue;
        pel_program_function *function = s->helpers.at[i].function;
        pel_name name = pel_unused_name(s->ctx, s->program, s->helpers.at[i].wish);
        function->name = function->def->FunctionDef.name = name;
        pel_push(s->ctx, &s->program->functions, function);
    }
    look.rename = true;
    see_helpers(&look);
    pel_buf names = pel_buf_in(s->ctx);
    uint32_t n_said = 0;
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        const pel_program_function *function = s->program->functions.at[i];
        if (function->from_source || n_said++ >= MOST_SAID) continue;
        if (names.len) pel_put_c(&names, ", ");
        if (function->class) {
            pel_put_name(&names, pel_class_at(s->log, function->class)->name);
            pel_put_c(&names, ".");
        }
        pel_put_name(&names, function->name);
    }
    if (!names.len) return;
    if (n_said > MOST_SAID) pel_putf(&names, " and %u more", n_said - MOST_SAID);
    pel_remark remark = { .kind = PEL_REMARK_FALLBACK, .text = pel_buf_str(&names) };
    pel_push(s->ctx, &s->program->said.remarks, remark);
}

bool pel_pass_lines(pel_synth *s) {
    write_straight(s);
    s->program->root = pel_class_row(s->ctx, s->program, pel_module_at(s->log, s->log->root)->class)->name;
    return true;
}
