/* The straight-line way out. A function whose text can't be told from its runs (it takes strings apart, fills tables,
 * does something else at every place that calls it) still did something to tensors: the calls of torch that were
 * recorded below it. Where all runs of one place that calls it did the same, these calls are written instead, as a
 * small function of its own for that place; sizes among them are told by the shapes of what it was given.
 *
 * Needs a log with events. Says why it can't where it can't: then the function around it is tried the same way. */
#include "trace/lanes.h"

#include "python/print.h"

enum { MAX_EVENTS = 64, MAX_SIZES = 64, MAX_SAID = 3 };

typedef struct source { /* a tensor that can be named: given to the call, or made by one of its events */
    pel_node *text;
    pel_id *tensors; /* per lane */
    int event;       /* that made it; -1: given */
} source;

typedef struct size { /* a number that can be named */
    pel_node *text;
    int64_t *values; /* per lane */
} size;

typedef struct writer {
    pel_walk *w;
    pel_ctx *ctx;
    const pel_log *log;
    const pel_node *node;
    uint32_t n_lanes;
    PEL_VEC(source) sources;
    PEL_VEC(size) sizes;
    uint32_t uses[MAX_EVENTS];
    pel_nodes params;
} writer;

_Noreturn static void cannot(writer *x, const char *what) { pel_lost(x->w, x->node, "%s", what); }

/* ---- whom an object without a literal concerns ---- */

static void note_objects(pel_ctx *ctx, const pel_log *log, pel_id id, pel_map *objects, int depth) {
    const pel_value *value = pel_value_at(log, id);
    if (value->object) pel_map_set(ctx, objects, value->object, 1);
    if (depth > 4 || !pel_value_has_items((pel_value_kind)value->kind)) return;
    for (uint32_t i = 0; i < value->n; i++) note_objects(ctx, log, value->items[i], objects, depth + 1);
}

void pel_refuse_users(pel_ctx *ctx, pel_program *program, pel_id value) {
    const pel_log *log = program->log;
    pel_map objects = { 0 };
    note_objects(ctx, log, value, &objects, 0);
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_log_code *row = &log->codes.at[activation->code];
        if (row->class && pel_class_at(log, row->class)->kind == PEL_CLASS_MODULE) continue;
        uint32_t n = row->code->argcount + row->code->kwonlyargcount;
        for (uint32_t p = 0; p < n; p++)
            if (pel_map_has(&objects, pel_value_at(log, activation->locals[p])->object)) {
                pel_push(ctx, &program->refused, activation->code);
                break;
            }
    }
}

/* ---- which events belong to a call ---- */

bool pel_is_below(const pel_log *log, pel_id activation, pel_id above) {
    while (activation > above) activation = log->activations.at[activation].parent;
    return activation == above;
}

/* Of an activation and all below it, in their order; those of a generator may come late. */
static uint32_t events_of(writer *x, pel_id activation, const pel_event **out) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < x->log->events.n; i++) {
        const pel_event *event = &x->log->events.at[i];
        if (!pel_is_below(x->log, event->activation, activation)) continue;
        if (n == MAX_EVENTS) cannot(x, "too many calls of torch for a straight line");
        out[n++] = event;
    }
    return n;
}

/* ---- names for tensors and sizes ---- */

static const pel_value *value_at(const writer *x, pel_id id) { return pel_value_at(x->log, id); }

static void add_sizes(writer *x, const source *from) {
    const pel_log_tensor *first = &x->log->tensors.at[from->tensors[0]];
    for (uint32_t d = 0; d < first->n_dims && x->sizes.n < MAX_SIZES; d++) {
        int64_t *values = pel_new_array(x->ctx, x->n_lanes, int64_t);
        for (uint32_t i = 0; i < x->n_lanes; i++) {
            const pel_log_tensor *row = &x->log->tensors.at[from->tensors[i]];
            if (row->n_dims != first->n_dims) return;
            values[i] = row->shape[d];
        }
        pel_node *text = pel_node_new(x->ctx, PEL_Subscript);
        text->Subscript.value =
            pel_make_attribute(x->ctx, pel_copy(x->ctx, from->text), pel_intern_c(x->ctx, "shape"), PEL_Load);
        text->Subscript.slice = pel_make_constant(x->ctx, pel_const_int(x->ctx, d));
        pel_push(x->ctx, &x->sizes, (size){ text, values });
    }
}

static void add_source(writer *x, pel_node *text, const pel_id *values, int event) {
    source made = { text, pel_new_array(x->ctx, x->n_lanes, pel_id), event };
    for (uint32_t i = 0; i < x->n_lanes; i++) made.tensors[i] = value_at(x, values[i])->tensor;
    pel_push(x->ctx, &x->sources, made);
    if (event < 0) add_sizes(x, &made);
}

static bool all_of_kind(const writer *x, const pel_id *values, pel_value_kind kind) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (!values[i] || value_at(x, values[i])->kind != kind) return false;
    return true;
}

/* Whether all are sequences of one length, which is *n. */
static bool all_sequences(const writer *x, const pel_id *values, uint32_t *n) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = value_at(x, values[i]);
        if (value->kind != PEL_V_TUPLE && value->kind != PEL_V_LIST && value->kind != PEL_V_SIZE) return false;
        if (value->truncated || (i && value->n != *n)) return false;
        *n = value->n;
    }
    return true;
}

static pel_id *items_at(writer *x, const pel_id *values, uint32_t item) {
    pel_id *out = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) out[i] = value_at(x, values[i])->items[item];
    return out;
}

static pel_node *item_of(writer *x, const pel_node *whole, uint32_t item) {
    pel_node *text = pel_node_new(x->ctx, PEL_Subscript);
    text->Subscript.value = pel_copy(x->ctx, whole);
    text->Subscript.slice = pel_make_constant(x->ctx, pel_const_int(x->ctx, item));
    return text;
}

/* Tensors in what a call got or gave. */
static void add_tensors(writer *x, const pel_node *text, const pel_id *values, int event) {
    uint32_t n = 0;
    if (all_of_kind(x, values, PEL_V_TENSOR)) {
        add_source(x, pel_copy(x->ctx, text), values, event);
    } else if (all_sequences(x, values, &n) && n <= 16) {
        for (uint32_t k = 0; k < n; k++) add_tensors(x, item_of(x, text, k), items_at(x, values, k), event);
    }
}

static bool is_int(const pel_value *value) {
    return value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_INT && !value->constant->integer.digits.len;
}

static bool is_varying_size(const writer *x, const pel_id *values) {
    bool varies = false;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (!values[i] || !is_int(value_at(x, values[i]))) return false;
        varies |= value_at(x, values[i])->constant->integer.small != value_at(x, values[0])->constant->integer.small;
    }
    return varies;
}

static void add_given_size(writer *x, pel_name name, const pel_id *values) {
    size made = { pel_make_name(x->ctx, name, PEL_Load), pel_new_array(x->ctx, x->n_lanes, int64_t) };
    for (uint32_t i = 0; i < x->n_lanes; i++) made.values[i] = value_at(x, values[i])->constant->integer.small;
    pel_push(x->ctx, &x->sizes, made);
}

/* ---- sizes by example ---- */

static bool fits(const writer *x, const int64_t *wanted, const size *a, const size *b, int64_t times, int64_t by) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        int64_t value;
        if (__builtin_mul_overflow(a->values[i], b ? b->values[i] : 1, &value)) return false;
        if (__builtin_mul_overflow(value, times, &value) || value % by || value / by != wanted[i]) return false;
    }
    return true;
}

static pel_node *binary(writer *x, pel_node *left, uint8_t op, pel_node *right) {
    pel_node *made = pel_node_new(x->ctx, PEL_BinOp);
    made->BinOp.left = left;
    made->BinOp.op = op;
    made->BinOp.right = right;
    return made;
}

static pel_node *number(writer *x, int64_t value) { return pel_make_constant(x->ctx, pel_const_int(x->ctx, value)); }

static pel_node *size_text(writer *x, const size *a, const size *b, int64_t times, int64_t by) {
    pel_node *text = pel_copy(x->ctx, a->text);
    if (b) text = binary(x, text, PEL_Mult, pel_copy(x->ctx, b->text));
    if (times > 1) text = binary(x, text, PEL_Mult, number(x, times));
    if (by > 1) text = binary(x, text, PEL_FloorDiv, number(x, by));
    return text;
}

/* The simplest product or quotient of known sizes that gives these numbers in all lanes. */
static pel_node *explain(writer *x, const int64_t *wanted) {
    for (uint32_t i = 0; i < x->sizes.n; i++)
        if (fits(x, wanted, &x->sizes.at[i], NULL, 1, 1)) return size_text(x, &x->sizes.at[i], NULL, 1, 1);
    for (uint32_t i = 0; i < x->sizes.n; i++) {
        int64_t own = x->sizes.at[i].values[0];
        if (own > 0 && wanted[0] % own == 0 && fits(x, wanted, &x->sizes.at[i], NULL, wanted[0] / own, 1))
            return size_text(x, &x->sizes.at[i], NULL, wanted[0] / own, 1);
        if (wanted[0] > 0 && own % wanted[0] == 0 && fits(x, wanted, &x->sizes.at[i], NULL, 1, own / wanted[0]))
            return size_text(x, &x->sizes.at[i], NULL, 1, own / wanted[0]);
    }
    for (uint32_t i = 0; i < x->sizes.n; i++)
        for (uint32_t k = i + 1; k < x->sizes.n; k++) {
            int64_t own = x->sizes.at[i].values[0] * x->sizes.at[k].values[0];
            if (own > 0 && wanted[0] % own == 0 &&
                fits(x, wanted, &x->sizes.at[i], &x->sizes.at[k], wanted[0] / own, 1))
                return size_text(x, &x->sizes.at[i], &x->sizes.at[k], wanted[0] / own, 1);
            if (wanted[0] > 0 && own % wanted[0] == 0 &&
                fits(x, wanted, &x->sizes.at[i], &x->sizes.at[k], 1, own / wanted[0]))
                return size_text(x, &x->sizes.at[i], &x->sizes.at[k], 1, own / wanted[0]);
        }
    return NULL;
}

/* ---- values as text ---- */

static pel_node *tensor_text(writer *x, const pel_id *values, bool count) {
    for (uint32_t k = x->sources.n; k--;) { /* the newest: in-place operations give what they got */
        const source *from = &x->sources.at[k];
        bool same = true;
        for (uint32_t i = 0; i < x->n_lanes && same; i++) same = value_at(x, values[i])->tensor == from->tensors[i];
        if (!same) continue;
        if (count && from->event >= 0) x->uses[from->event]++;
        return pel_copy(x->ctx, from->text);
    }
    cannot(x, "it uses a tensor that it was not given");
}

static bool all_same(const writer *x, const pel_id *values) {
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (!pel_value_same(x->log, values[i], values[0])) return false;
    return true;
}

static pel_node *text_of(writer *x, const pel_id *values) {
    uint32_t n = 0;
    if (all_of_kind(x, values, PEL_V_TENSOR)) return tensor_text(x, values, true);
    if (all_sequences(x, values, &n)) {
        bool is_list = value_at(x, values[0])->kind == PEL_V_LIST;
        pel_node *made = pel_node_new(x->ctx, is_list ? PEL_List : PEL_Tuple);
        pel_nodes *items = is_list ? &made->List.elts : &made->Tuple.elts;
        for (uint32_t k = 0; k < n; k++) pel_nodes_push(x->ctx, items, text_of(x, items_at(x, values, k)));
        return made;
    }
    if (all_same(x, values) && pel_plain(x->w->s, values[0])) {
        const pel_value *value = value_at(x, values[0]);
        /* where a tensor is stays its own business */
        if (value->kind == PEL_V_LITERAL && pel_str_starts(value->text, PEL_STR("torch.device(")) && x->sources.n)
            return pel_make_attribute(x->ctx, pel_copy(x->ctx, x->sources.at[0].text), pel_intern_c(x->ctx, "device"),
                                      PEL_Load);
        pel_node *text = pel_value_expression(x->ctx, x->w->s->program, values[0]);
        if (text) return text;
    }
    int64_t *wanted = pel_new_array(x->ctx, x->n_lanes, int64_t);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (!is_int(value_at(x, values[i]))) cannot(x, "it passes torch what can't be written");
        wanted[i] = value_at(x, values[i])->constant->integer.small;
    }
    pel_node *text = explain(x, wanted);
    if (!text) cannot(x, "a size in it can't be told from the shapes it was given");
    return text;
}

/* ---- events as text ---- */

static const struct {
    const char *method;
    uint8_t op;
    bool swapped;
} operators[] = {
    { "__add__", PEL_Add, false },        { "__radd__", PEL_Add, true },     { "__sub__", PEL_Sub, false },
    { "__rsub__", PEL_Sub, true },        { "__mul__", PEL_Mult, false },    { "__rmul__", PEL_Mult, true },
    { "__truediv__", PEL_Div, false },    { "__rtruediv__", PEL_Div, true }, { "__floordiv__", PEL_FloorDiv, false },
    { "__matmul__", PEL_MatMult, false }, { "__pow__", PEL_Pow, false },     { "__mod__", PEL_Mod, false },
};

/* x.reshape(2, 3) is x.reshape([2, 3]). */
static bool takes_many(pel_str method) {
    static const char *const names[] = { "reshape", "view", "permute", "expand", "repeat" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(method, names[i])) return true;
    return false;
}

static pel_node *event_text(writer *x, const pel_event *const *events) {
    const pel_event *first = events[0];
    const pel_str name = value_at(x, first->function)->text;
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t k = 0; k < first->n_args; k++) {
        pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) values[i] = events[i]->args[k];
        pel_nodes_push(x->ctx, &args, text_of(x, values));
    }
    for (uint32_t k = 0; k < first->n_kwargs; k++) {
        pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) values[i] = events[i]->kwargs[k].value;
        pel_node *keyword = pel_node_new(x->ctx, PEL_keyword);
        keyword->keyword.arg = first->kwargs[k].name;
        keyword->keyword.value = text_of(x, values);
        pel_nodes_push(x->ctx, &keywords, keyword);
    }
    static const char tensor[] = "torch.Tensor.";
    if (!pel_str_starts(name, PEL_STR(tensor)) || !args.n)
        return pel_make_call(x->ctx, pel_library_expression(x->ctx, x->w->s->program, name), args, keywords);
    pel_str method = pel_str_from(name, sizeof tensor - 1);
    for (size_t i = 0; i < PEL_COUNT(operators); i++)
        if (args.n == 2 && pel_str_is(method, operators[i].method)) {
            bool swapped = operators[i].swapped;
            return binary(x, args.at[swapped], operators[i].op, args.at[!swapped]);
        }
    if (args.n == 2 && pel_str_is(method, "__getitem__")) {
        pel_node *item = pel_node_new(x->ctx, PEL_Subscript);
        item->Subscript.value = args.at[0];
        item->Subscript.slice = args.at[1];
        return item;
    }
    pel_node *self = pel_make_attribute(x->ctx, args.at[0], pel_intern(x->ctx, method.ptr, method.len), PEL_Load);
    pel_nodes rest = { args.at + 1, args.n - 1 };
    if (rest.n == 1 && takes_many(method) && (rest.at[0]->kind == PEL_List || rest.at[0]->kind == PEL_Tuple)) {
        pel_nodes items = rest.at[0]->kind == PEL_List ? rest.at[0]->List.elts : rest.at[0]->Tuple.elts;
        if (items.n) rest = items;
    }
    return pel_make_call(x->ctx, self, rest, keywords);
}

/* Whether the events with one number are calls of one function in one form. */
static bool are_alike(const writer *x, const pel_event *const *events) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *function = value_at(x, events[i]->function);
        if (function->kind != PEL_V_LIBRARY || !pel_value_same(x->log, events[i]->function, events[0]->function) ||
            events[i]->n_args != events[0]->n_args || events[i]->n_kwargs != events[0]->n_kwargs)
            return false;
        for (uint32_t k = 0; k < events[i]->n_kwargs; k++)
            if (events[i]->kwargs[k].name != events[0]->kwargs[k].name) return false;
    }
    return true;
}

static bool gives_nothing_to_write(const writer *x, const pel_event *const *events) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *result = value_at(x, events[i]->result);
        bool asks = result->kind == PEL_V_CONST ? result->constant->kind != PEL_CONST_NONE : result->kind == PEL_V_SIZE;
        if (!asks) return false; /* x.size(0), x.dim(): sizes are found again, shapes are ours */
    }
    return true;
}

/* ---- the function ---- */

static pel_name result_name(writer *x, const pel_code_object *code, uint32_t number) {
    pel_str text = number ? pel_format(x->ctx, "x%u", number + 1) : PEL_STR("x");
    return pel_free_name(x->w->s, code, pel_intern(x->ctx, text.ptr, text.len));
}

static void assign(writer *x, pel_nodes *body, pel_name name, pel_node *value) {
    pel_nodes_push(x->ctx, body, pel_make_assign(x->ctx, pel_make_name(x->ctx, name, PEL_Store), value));
}

typedef struct replacing {
    pel_ctx *ctx;
    pel_name name;
    const pel_node *by;
} replacing;

static void replace_name(void *arg, pel_node **slot) {
    const replacing *r = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == r->name)
        *slot = pel_copy(r->ctx, r->by);
    else
        pel_each_child(*slot, replace_name, arg);
}

/* x = a(t); x = b(x): what only the next statement uses stands there, t.a().b(). */
static void chain(writer *x, pel_nodes *body, const uint32_t *event_of) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *statement = body->at[i], *next = i + 1 < body->n ? body->at[i + 1] : NULL;
        bool is_next_only = next && statement->kind == PEL_Assign && x->uses[event_of[i]] == 1;
        if (!is_next_only) {
            body->at[n++] = statement;
            continue;
        }
        replacing r = { x->ctx, statement->Assign.targets.at[0]->Name.id, statement->Assign.value };
        pel_node *before = pel_copy(x->ctx, next);
        pel_each_child(next, replace_name, &r);
        if (pel_same(before, next)) body->at[n++] = statement; /* used further down */
    }
    body->n = n;
}

static pel_node *write_def(writer *x, const pel_code_object *code, const pel_id *children, const pel_id *results,
                           bool *has_effect) {
    const pel_event **all = pel_new_array(x->ctx, (size_t)x->n_lanes * MAX_EVENTS, const pel_event *);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        uint32_t own = events_of(x, children[i], all + (size_t)i * MAX_EVENTS);
        if (i && own != n) cannot(x, "calls of it do different things");
        n = own;
    }
    pel_nodes body = { 0 };
    uint32_t event_of[MAX_EVENTS + 1] = { 0 }, n_made = 0;
    const pel_event **row = pel_new_array(x->ctx, x->n_lanes, const pel_event *);
    for (uint32_t e = 0; e < n; e++) {
        for (uint32_t i = 0; i < x->n_lanes; i++) row[i] = all[(size_t)i * MAX_EVENTS + e];
        if (!are_alike(x, row)) cannot(x, "calls of it do different things");
        if (gives_nothing_to_write(x, row)) continue;
        pel_node *text = event_text(x, row);
        pel_str function = value_at(x, row[0]->function)->text;
        size_t dot = function.len;
        while (dot && function.ptr[dot - 1] != '.') dot--;
        pel_name method = pel_intern(x->ctx, function.ptr + dot, function.len - dot);
        *has_effect |= row[0]->draws_random ||
                       !(pel_library_pure(function) ||
                         (pel_str_starts(function, PEL_STR("torch.Tensor.")) && pel_method_pure(PEL_V_TENSOR, method)));
        pel_id *made = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) made[i] = row[i]->result;
        event_of[body.n] = e;
        pel_name name = result_name(x, code, n_made++);
        assign(x, &body, name, text);
        add_tensors(x, pel_make_name(x->ctx, name, PEL_Load), made, (int)e);
    }
    pel_nodes_push(x->ctx, &body, pel_make_return(x->ctx, text_of(x, results)));
    chain(x, &body, event_of);
    pel_node *def = pel_node_new(x->ctx, PEL_FunctionDef);
    def->FunctionDef.args = pel_node_new(x->ctx, PEL_arguments);
    def->FunctionDef.args->arguments.args = x->params;
    def->FunctionDef.body = body;
    return def;
}

/* A function with this text, made now or before. Its name can't be another's; pel_write_straight gives it a better one
 * when it is known which other functions there are. */
static pel_program_function *helper_for(pel_synth *s, pel_node *def, pel_name wish) {
    for (uint32_t i = 0; i < s->helpers.n; i++) {
        const pel_helper *other = &s->helpers.at[i];
        if (other->wish == wish && pel_same_list(other->function->def->FunctionDef.body, def->FunctionDef.body) &&
            pel_same(other->function->def->FunctionDef.args, def->FunctionDef.args))
            return other->function;
    }
    pel_str text = pel_format(s->ctx, "%s %u", wish->text, s->helpers.n);
    pel_program_function *made = pel_new(s->ctx, pel_program_function);
    *made = (pel_program_function){ .name = pel_intern(s->ctx, text.ptr, text.len), .def = def };
    pel_push(s->ctx, &s->helpers, (pel_helper){ made, wish });
    return made;
}

/* The call of such a function in the place of a call. args, names: what the call passes, and what the function calls it
 * (NULL where it has no name for it: then a tensor in it can't be used). */
pel_val *pel_straight_call(pel_walk *w, pel_front front, const pel_node *node, const pel_id *children, pel_val **args,
                           const pel_name *names, uint32_t n_args, pel_val *val) {
    writer x = { .w = w, .ctx = w->ctx, .log = w->log, .node = node, .n_lanes = front.n };
    const pel_code_object *code = w->log->codes.at[w->log->activations.at[children[0]].code].code;
    pel_nodes passed = { 0 };
    for (uint32_t k = 0; k < n_args; k++) {
        bool live = false;
        for (uint32_t i = 0; i < front.n; i++) live |= args[k]->at[i] && pel_live(w->s, args[k]->at[i]);
        bool varies = is_varying_size(&x, args[k]->at);
        if (!names[k] || (!live && !varies)) continue;
        pel_node *param = pel_node_new(w->ctx, PEL_arg);
        param->arg.arg = names[k];
        pel_nodes_push(w->ctx, &x.params, param);
        pel_nodes_push(w->ctx, &passed, args[k]->text);
        if (varies) add_given_size(&x, names[k], args[k]->at);
        add_tensors(&x, pel_make_name(w->ctx, names[k], PEL_Load), args[k]->at, -1);
    }
    bool has_effect = false;
    pel_node *def = write_def(&x, code, children, val->at, &has_effect);
    const pel_program_function *helper = helper_for(w->s, def, code->name);
    val->text = pel_make_call(w->ctx, pel_make_name(w->ctx, helper->name, PEL_Load), passed, (pel_nodes){ 0 });
    val->effect |= has_effect;
    val->text->mark = has_effect;
    return val;
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

void pel_write_straight(pel_synth *s) {
    if (!s->helpers.n) return;
    naming look = { .s = s, .used = pel_new_array(s->ctx, s->helpers.n, bool) };
    for (uint32_t i = 0; i < s->helpers.n; i++)
        pel_map_set(s->ctx, &look.number_of, PEL_KEY(s->helpers.at[i].function->name), i);
    see_helpers(&look);
    pel_buf names = pel_buf_in(s->ctx);
    uint32_t n_before = s->program->functions.n, n_said = 0;
    for (uint32_t i = 0; i < s->helpers.n; i++) {
        if (!look.used[i]) continue;
        pel_program_function *function = s->helpers.at[i].function;
        pel_name name = pel_unused_name(s->ctx, s->program, s->helpers.at[i].wish);
        function->name = function->def->FunctionDef.name = name;
        pel_push(s->ctx, &s->program->functions, function);
        if (n_said++ >= MAX_SAID) continue;
        if (names.len) pel_put_c(&names, ", ");
        pel_put_name(&names, name);
    }
    if (n_said > MAX_SAID) pel_putf(&names, " and %u more", n_said - MAX_SAID);
    look.rename = true;
    see_helpers(&look);
    if (s->program->functions.n == n_before) return;
    pel_remark remark = { .kind = PEL_REMARK_FALLBACK, .text = pel_buf_str(&names) };
    pel_push(s->ctx, &s->program->remarks, remark);
}
