/* The line itself: values as text, steps as statements. */
#include "trace/lines/line.h"

enum {
    MOST_STEPS = 400,
    LONGEST_CHAIN = 24,
    LONGEST_CALL = 90 /* nodes in one statement, in place of a call */,
    MOST_UNPACKED = 6
};

typedef struct step { /* an event, or the call of a module that stays one */
    const pel_event *event;
    pel_id call;
} step;
typedef PEL_VEC(step) step_list;

static _Noreturn void cannot(pel_straight *x, const char *what) { pel_lost(x->w, x->node, "%s", what); }

/* ---- which steps belong to a lane ---- */

/* The outermost call of a module that stays a call, from an activation up to the one that is written; 0: none. */
static pel_id kept_call(const pel_straight *x, pel_id id, pel_id above) {
    pel_id found = 0;
    for (; x->keeps_calls && id > above; id = x->log->activations.at[id].parent)
        if (x->w->s->group_of[id] && pel_runs_module(x->w->s, id)) found = id;
    return found;
}

/* Whether an activation belongs to a hook of a module whose call stays: its text calls the hook. */
static bool is_in_hook(const pel_straight *x, pel_id id, pel_id above) {
    for (; id > above; id = x->log->activations.at[id].parent) {
        const pel_hook *hook = pel_map_pointer(&x->w->s->hooks.of_activation, id);
        if (hook && hook->forward && kept_call(x, hook->forward, above)) return true;
    }
    return false;
}

/* Exceptions that tell what an object is, not what the data are. */
static bool is_harmless(const pel_value *exception, const pel_log *log) {
    static const char *const names[] = { "AttributeError", "KeyError",  "ImportError", "ModuleNotFoundError",
                                         "StopIteration",  "TypeError", "NameError" };
    if (exception->kind == PEL_V_CLASS) return pel_class_at(log, exception->class)->kind != PEL_CLASS_LIBRARY;
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (exception->kind == PEL_V_LIBRARY && pel_str_is(exception->text, names[i])) return true;
    return false;
}

static bool is_told(const pel_straight *x, pel_id id, pel_id above) {
    return pel_is_below(x->log, id, above) && !kept_call(x, id, above);
}

/* Which way an exception went may depend on sizes and data, and a line has one way only. */
static void check_exceptions(pel_straight *x, pel_id above) {
    for (pel_id id = above; id < x->w->s->extents[above].end; id++) {
        const pel_activation *activation = &x->log->activations.at[id];
        if (!is_told(x, id, above)) continue;
        for (uint32_t i = 0; i < activation->n_records; i++)
            if (activation->records[i].kind == PEL_R_RAISE &&
                !is_harmless(pel_straight_at(x, activation->records[i].value), x->log))
                cannot(x, "an exception is raised in it");
    }
}

static step_list steps_of(pel_straight *x, pel_id above) {
    step_list steps = { 0 };
    check_exceptions(x, above);
    pel_map seen = { 0 };
    const pel_extent *extent = &x->w->s->extents[above];
    for (uint32_t i = extent->first_event; i < extent->end_event; i++) {
        const pel_event *event = &x->log->events.at[i];
        if (!pel_is_below(x->log, event->activation, above) || is_in_hook(x, event->activation, above)) continue;
        pel_id call = kept_call(x, event->activation, above);
        if (call && !pel_map_set(x->ctx, &seen, call, 1)) continue;
        if (steps.n == MOST_STEPS) cannot(x, "too many calls of torch for a straight line");
        step made = { call ? NULL : event, call };
        pel_push(x->ctx, &steps, made);
    }
    return steps;
}

/* ---- values as text ---- */

static pel_node *text_of(pel_straight *x, const pel_id *values);

static bool is_same_object(const pel_value *a, const pel_value *b) {
    return a->kind == b->kind && a->object && a->object == b->object;
}

/* What the function was given and hands on. */
static pel_node *object_text(pel_straight *x, const pel_id *values) {
    for (uint32_t k = 0; k < x->known.objects.n; k++) {
        bool same = true;
        for (uint32_t i = 0; i < x->n_lanes && same; i++)
            same = is_same_object(pel_straight_at(x, values[i]), pel_straight_at(x, x->known.objects.at[k].values[i]));
        if (same) return pel_copy(x->ctx, x->known.objects.at[k].text);
    }
    return NULL;
}

/* A number or flag that some step gave, or that was passed. */
static pel_node *scalar_text(pel_straight *x, const pel_id *values) {
    for (uint32_t k = x->known.scalars.n; k--;) {
        bool same = true;
        for (uint32_t i = 0; i < x->n_lanes && same; i++)
            same = pel_value_same(x->log, values[i], x->known.scalars.at[k].values[i]);
        if (same) return pel_copy(x->ctx, x->known.scalars.at[k].text);
    }
    return NULL;
}

static pel_node *sequence_text(pel_straight *x, const pel_id *values, uint32_t n) {
    bool is_list = pel_straight_at(x, values[0])->kind == PEL_V_LIST;
    pel_node *made = pel_node_new(x->ctx, is_list ? PEL_List : PEL_Tuple);
    pel_nodes *items = is_list ? &made->List.elts : &made->Tuple.elts;
    for (uint32_t k = 0; k < n; k++) pel_nodes_push(x->ctx, items, text_of(x, pel_straight_items(x, values, k)));
    bool is_given_back = !x->now && pel_straight_at(x, values[0])->kind == PEL_V_SIZE; /* torch takes a tuple for one */
    if (is_given_back)
        return pel_make_call(x->ctx, pel_library_expression(x->ctx, x->w->s->program, PEL_STR("torch.Size")),
                             pel_nodes_one(x->ctx, made), (pel_nodes){ 0 });
    pel_id class = is_list ? 0 : pel_straight_at(x, values[0])->class;
    if (!class || pel_class_at(x->log, class)->kind != PEL_CLASS_NAMEDTUPLE) return made;
    return pel_make_call(x->ctx, pel_make_name(x->ctx, pel_class_row(x->ctx, x->w->s->program, class)->name, PEL_Load),
                         *items, (pel_nodes){ 0 });
}

/* {"a": x}, or Record(a=x): dicts and records with the same keys in all lanes. */
static pel_node *keyed_text(pel_straight *x, const pel_id *values) {
    const pel_value *first = pel_straight_at(x, values[0]);
    pel_class_kind kind = first->class ? pel_class_at(x->log, first->class)->kind : PEL_CLASS_LIBRARY;
    bool is_record = first->class && kind == PEL_CLASS_DATACLASS;
    bool is_library = first->class && kind == PEL_CLASS_LIBRARY; /* OrderedDict */
    if (first->kind == PEL_V_OBJECT ? !is_record : (first->class && !is_record && !is_library)) return NULL;
    pel_node *dict = pel_node_new(x->ctx, PEL_Dict);
    pel_nodes keywords = { 0 };
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        pel_id *items = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) {
            const pel_value *value = pel_straight_at(x, values[i]);
            if (value->n != first->n || value->truncated || !pel_value_same(x->log, value->items[k], first->items[k]))
                cannot(x, "it makes different dicts");
            items[i] = value->items[k + 1];
        }
        pel_node *item = text_of(x, items);
        if (!is_record) {
            pel_nodes_push(x->ctx, &dict->Dict.keys, pel_value_expression(x->ctx, x->w->s->program, first->items[k]));
            if (!dict->Dict.keys.at[dict->Dict.keys.n - 1]) return NULL;
            pel_nodes_push(x->ctx, &dict->Dict.values, item);
            continue;
        }
        const pel_value *key = pel_straight_at(x, first->items[k]);
        if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR)
            cannot(x, "it makes a record with a field that has no name");
        pel_name field = pel_intern_str(x->ctx, key->constant->text);
        pel_nodes_push(x->ctx, &keywords, pel_make_keyword(x->ctx, field, item));
    }
    if (is_library)
        return pel_make_call(x->ctx,
                             pel_library_expression(x->ctx, x->w->s->program, pel_class_at(x->log, first->class)->path),
                             pel_nodes_one(x->ctx, dict), (pel_nodes){ 0 });
    if (!is_record) return dict;
    return pel_make_call(x->ctx,
                         pel_make_name(x->ctx, pel_class_row(x->ctx, x->w->s->program, first->class)->name, PEL_Load),
                         (pel_nodes){ 0 }, keywords);
}

static pel_node *slice_text(pel_straight *x, const pel_id *values) {
    pel_nodes bounds = { 0 };
    for (uint32_t k = 0; k < 3; k++) pel_nodes_push(x->ctx, &bounds, text_of(x, pel_straight_items(x, values, k)));
    return pel_make_call(x->ctx, pel_make_name(x->ctx, pel_intern_c(x->ctx, "slice"), PEL_Load), bounds,
                         (pel_nodes){ 0 });
}

static pel_node *plain_text(pel_straight *x, const pel_id *values) {
    const pel_value *value = pel_straight_at(x, values[0]);
    /* where a tensor is stays its own business */
    if (value->kind == PEL_V_LITERAL && pel_str_starts(value->text, PEL_STR("torch.device(")) && x->known.tensors.n)
        return pel_make_attribute(x->ctx, pel_copy(x->ctx, x->known.tensors.at[0].text), pel_intern_c(x->ctx, "device"),
                                  PEL_Load);
    pel_node *type = value->kind == PEL_V_LIBRARY ? pel_straight_type(x, value->text) : NULL;
    return type ? type : pel_value_expression(x->ctx, x->w->s->program, values[0]);
}

int64_t *pel_straight_numbers(const pel_straight *x, const pel_id *values) {
    int64_t *out = pel_new_array(x->ctx, x->n_lanes, int64_t);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = pel_straight_at(x, values[i]);
        if (value->kind != PEL_V_CONST || value->constant->kind != PEL_CONST_INT || value->constant->integer.digits.len)
            return NULL;
        out[i] = value->constant->integer.small;
    }
    return out;
}

static pel_node *number_text(pel_straight *x, const pel_id *values) {
    int64_t *wanted = pel_straight_numbers(x, values);
    if (!wanted) return NULL;
    pel_node *text = pel_straight_number(x, wanted);
    if (text) return text;
    for (uint32_t i = 0; i < x->n_lanes; i++) { /* x[-n:] */
        if (wanted[i] >= 0 || wanted[i] == INT64_MIN) return NULL;
        wanted[i] = -wanted[i];
    }
    if (!(text = pel_straight_number(x, wanted))) return NULL;
    pel_node *negative = pel_node_new(x->ctx, PEL_UnaryOp);
    negative->UnaryOp.op = PEL_USub;
    negative->UnaryOp.operand = text;
    return negative;
}

/* The order counts. A tensor needs a name, and what is the same in all lanes is a literal; only then numbers are found
 * by example, which may fit by chance. In a shape number_text is asked alone: it uses each of equal sizes once. */
static pel_node *text_of(pel_straight *x, const pel_id *values) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (!values[i]) cannot(x, "a value in it is not known");
    pel_node *text = NULL;
    bool same = pel_straight_same(x, values);
    if (pel_straight_all(x, values, PEL_V_TENSOR)) {
        if (!(text = pel_straight_tensor(x, values))) cannot(x, "it uses a tensor that it was not given");
        return text;
    }
    if (pel_straight_all(x, values, PEL_V_MODULE)) {
        pel_id *modules = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) modules[i] = pel_straight_at(x, values[i])->module;
        text = pel_straight_module(x, modules);
    }
    if (!text && same && pel_plain(x->w->s, values[0])) text = plain_text(x, values);
    if (!text) text = object_text(x, values);
    if (!text && pel_straight_sequences(x, values, &n)) text = sequence_text(x, values, n);
    if (!text && pel_straight_all(x, values, PEL_V_SLICE)) text = slice_text(x, values);
    if (!text && (pel_straight_all(x, values, PEL_V_DICT) || pel_straight_all(x, values, PEL_V_OBJECT)))
        text = keyed_text(x, values);
    if (!text && pel_straight_all(x, values, PEL_V_CONST)) {
        if (!x->in_shape) text = scalar_text(x, values);
        if (!text) text = number_text(x, values);
        if (!text && same) text = plain_text(x, values);
        if (!text) text = pel_straight_setting(x, values);
    }
    if (!text && same) text = pel_value_expression(x->ctx, x->w->s->program, values[0]);
    if (!text)
        pel_lost(x->w, x->node, "it passes %s a %s that can't be written", x->now ? x->now : "its caller",
                 pel_value_kind_name((pel_value_kind)pel_straight_at(x, values[0])->kind));
    return text;
}

/* ---- events as text ---- */

typedef struct operation {
    const char *method;
    uint8_t op;
    bool swapped;
} operation;

static const operation operators[] = {
    { "__add__", PEL_Add, false },
    { "__radd__", PEL_Add, true },
    { "__sub__", PEL_Sub, false },
    { "__rsub__", PEL_Sub, true },
    { "__mul__", PEL_Mult, false },
    { "__rmul__", PEL_Mult, true },
    { "__truediv__", PEL_Div, false },
    { "__rtruediv__", PEL_Div, true },
    { "__rdiv__", PEL_Div, true },
    { "__floordiv__", PEL_FloorDiv, false },
    { "__matmul__", PEL_MatMult, false },
    { "__pow__", PEL_Pow, false },
    { "__rpow__", PEL_Pow, true },
    { "__mod__", PEL_Mod, false },
    { "__and__", PEL_BitAnd, false },
    { "__or__", PEL_BitOr, false },
    { "__xor__", PEL_BitXor, false },
    { "add", PEL_Add, false },
    { "sub", PEL_Sub, false },
    { "mul", PEL_Mult, false },
    { "div", PEL_Div, false },
    { "matmul", PEL_MatMult, false },
    { "pow", PEL_Pow, false },
};

static const operation comparisons[] = {
    { "__eq__", PEL_Eq, false },  { "__ne__", PEL_NotEq, false }, { "__lt__", PEL_Lt, false },
    { "__le__", PEL_LtE, false }, { "__gt__", PEL_Gt, false },    { "__ge__", PEL_GtE, false },
};

static const operation *operation_of(const operation *rows, size_t n, pel_str method) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(method, rows[i].method)) return &rows[i];
    return NULL;
}

/* x.reshape(2, 3) is x.reshape([2, 3]). */
static bool takes_many(pel_str method) {
    static const char *const names[] = { "reshape", "view", "permute", "expand", "repeat" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(method, names[i])) return true;
    return false;
}

/* What slice(a, b, None) is between brackets. */
static pel_node *as_index(pel_straight *x, pel_node *text) {
    bool is_slice = text->kind == PEL_Call && text->Call.func->kind == PEL_Name &&
                    pel_name_is(text->Call.func->Name.id, "slice") && text->Call.args.n == 3;
    if (text->kind == PEL_Tuple)
        for (uint32_t i = 0; i < text->Tuple.elts.n; i++) text->Tuple.elts.at[i] = as_index(x, text->Tuple.elts.at[i]);
    if (!is_slice) return text;
    pel_node *bounds[3];
    for (uint32_t i = 0; i < 3; i++) {
        pel_node *bound = text->Call.args.at[i];
        bool none = bound->kind == PEL_Constant && bound->Constant.value->kind == PEL_CONST_NONE;
        bounds[i] = none ? NULL : bound;
    }
    pel_node *made = pel_node_new(x->ctx, PEL_Slice);
    made->Slice.lower = bounds[0];
    made->Slice.upper = bounds[1];
    made->Slice.step = bounds[2];
    return made;
}

static pel_node *item_text(pel_straight *x, pel_node *whole, pel_node *index, pel_CTX use) {
    return pel_make_subscript(x->ctx, whole, as_index(x, index), use);
}

static pel_node *method_text(pel_straight *x, pel_str method, pel_nodes args, pel_nodes keywords) {
    pel_ctx *ctx = x->ctx;
    bool plain = !keywords.n;
    const operation *op = args.n == 2 && plain ? operation_of(operators, PEL_COUNT(operators), method) : NULL;
    if (op) return pel_make_binop(ctx, args.at[op->swapped], op->op, args.at[!op->swapped]);
    if (args.n == 1 && plain && (pel_str_is(method, "neg") || pel_str_is(method, "__neg__"))) {
        pel_node *made = pel_node_new(ctx, PEL_UnaryOp);
        made->UnaryOp.op = PEL_USub;
        made->UnaryOp.operand = args.at[0];
        return made;
    }
    op = args.n == 2 && plain ? operation_of(comparisons, PEL_COUNT(comparisons), method) : NULL;
    if (op) return pel_make_compare(ctx, args.at[0], (pel_CMPOP)op->op, args.at[1]);
    if (args.n == 2 && pel_str_is(method, "__getitem__")) return item_text(x, args.at[0], args.at[1], PEL_Load);
    static const char get[] = ".__get__"; /* of a property */
    bool is_property = pel_str_ends(method, PEL_STR(get));
    if (is_property) method = pel_str_cut(method, 0, method.len - (sizeof get - 1));
    pel_node *self = pel_make_attribute(ctx, args.at[0], pel_intern_str(ctx, method), PEL_Load);
    if (is_property) return self;
    pel_nodes rest = { args.at + 1, args.n - 1 };
    if (rest.n == 1 && takes_many(method) && (rest.at[0]->kind == PEL_List || rest.at[0]->kind == PEL_Tuple)) {
        pel_nodes items = rest.at[0]->kind == PEL_List ? rest.at[0]->List.elts : rest.at[0]->Tuple.elts;
        if (items.n) rest = items;
    }
    return pel_make_call(ctx, self, rest, keywords);
}

static pel_str function_name(const pel_straight *x, const step *row) {
    const pel_value *function = pel_straight_at(x, row->event->function);
    return function->kind == PEL_V_LIBRARY ? function->text : PEL_STR("");
}

/* What the events of one number passed in one place. */
static pel_id *passed(pel_straight *x, const step *row, uint32_t arg, bool by_keyword) {
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++)
        values[i] = by_keyword ? row[i].event->kwargs[arg].value : row[i].event->args[arg];
    return values;
}

static const char tensor_prefix[] = "torch.Tensor.";

/* The function of an event: of torch, or a module of torch's. */
static pel_node *function_text(pel_straight *x, const step *row) {
    if (pel_straight_at(x, row->event->function)->kind != PEL_V_MODULE)
        return pel_library_expression(x->ctx, x->w->s->program, function_name(x, row));
    pel_id *modules = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) modules[i] = pel_straight_at(x, row[i].event->function)->module;
    pel_node *text = pel_straight_module(x, modules);
    if (!text) cannot(x, "it calls a module that it was not given");
    return text;
}

/* Whether the numbers that a function gets are the sizes of one tensor. */
static bool is_shape(pel_str function) {
    static const char *const names[] = { "torch.Tensor.reshape", "torch.Tensor.view", "torch.Tensor.expand",
                                         "torch.reshape" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(function, names[i])) return true;
    return false;
}

static bool is_off(const pel_value *value) {
    return value->kind == PEL_V_CONST &&
           (value->constant->kind == PEL_CONST_NONE || value->constant->kind == PEL_CONST_FALSE);
}

/* Passed as an option that makes a function change what it gets: inplace=True, out=y. */
static bool changes_given(const pel_straight *x, const pel_event *event, pel_str name) {
    for (uint32_t k = 0; k < event->n_kwargs; k++)
        if (pel_is_option(event->kwargs[k].name) && !is_off(pel_straight_at(x, event->kwargs[k].value))) return true;
    int place = pel_library_option(name);
    return place >= 0 && (uint32_t)place < event->n_args && !is_off(pel_straight_at(x, event->args[place]));
}

static bool is_pure(pel_straight *x, const step *row) {
    pel_str name = function_name(x, row);
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (row[i].event->draws_random || changes_given(x, row[i].event, name)) return false;
    if (!name.len) return false; /* a module may have buffers */
    size_t dot = name.len;
    while (dot && name.ptr[dot - 1] != '.') dot--;
    pel_name method = pel_intern(x->ctx, name.ptr + dot, name.len - dot);
    bool of_tensor = pel_str_starts(name, PEL_STR(tensor_prefix));
    return of_tensor ? pel_method_pure(PEL_V_TENSOR, method) : pel_library_pure(name);
}

static pel_node *event_text(pel_straight *x, const step *row) {
    const pel_value *called = pel_straight_at(x, row->event->function);
    if (called->kind == PEL_V_LIBRARY && pel_is_foreign_operator(called->text))
        cannot(x, "it calls an operator that torch does not bring");
    const pel_event *first = row->event;
    pel_nodes args = { 0 }, keywords = { 0 };
    pel_str name = function_name(x, row);
    x->now = name.len ? pel_format(x->ctx, "%.*s", PEL_FMT(name)).ptr : "a module";
    x->in_shape = is_shape(name);
    x->used.n = 0;
    for (uint32_t k = 0; k < first->n_args; k++) pel_nodes_push(x->ctx, &args, text_of(x, passed(x, row, k, false)));
    x->in_shape = false;
    for (uint32_t k = 0; k < first->n_kwargs; k++) {
        pel_node *value = text_of(x, passed(x, row, k, true));
        if (pel_name_is(first->kwargs[k].name, "out") && pel_is_none(value)) continue; /* as torch passes it on */
        pel_nodes_push(x->ctx, &keywords, pel_make_keyword(x->ctx, first->kwargs[k].name, value));
    }
    pel_node *text = pel_str_starts(name, PEL_STR(tensor_prefix)) && args.n
                         ? method_text(x, pel_str_from(name, sizeof tensor_prefix - 1), args, keywords)
                         : pel_make_call(x->ctx, function_text(x, row), args, keywords);
    if (!is_pure(x, row)) {
        x->has_effect = true;
        if (text->kind == PEL_Call) pel_note_node(x->w->s, text, PEL_NOTE_EFFECT);
    }
    return text;
}

/* Whether the steps with one number are calls of one function in one form. */
static bool are_alike(const pel_straight *x, const step *row) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (!row[i].event != !row->event) return false;
        if (!row->event) continue;
        const pel_event *event = row[i].event, *first = row->event;
        const pel_value *function = pel_straight_at(x, event->function);
        bool is_module = function->kind == PEL_V_MODULE && pel_straight_at(x, first->function)->kind == PEL_V_MODULE;
        if (!is_module &&
            (function->kind != PEL_V_LIBRARY || !pel_value_same(x->log, event->function, first->function)))
            return false;
        if (event->n_args != first->n_args || event->n_kwargs != first->n_kwargs) return false;
        for (uint32_t k = 0; k < event->n_kwargs; k++)
            if (event->kwargs[k].name != first->kwargs[k].name) return false;
    }
    return true;
}

/* ---- calls of modules that stay ---- */

typedef struct trial { /* of one argument */
    pel_straight *x;
    const pel_id *values;
    pel_node *text;
} trial;

static void try_text(pel_ctx *ctx, void *arg) {
    trial *t = arg;
    (void)ctx;
    t->text = text_of(t->x, t->values);
}

/* An argument, or a name that must not be left in the end: perhaps nobody reads the parameter. */
static pel_node *argument_text(pel_straight *x, const pel_param *param, const pel_id *values) {
    trial t = { x, values, NULL };
    pel_err err;
    if (pel_attempt(x->ctx, try_text, &t, &err)) return t.text;
    pel_node *lost = pel_make_name(x->ctx, param->name, PEL_Load);
    pel_map_set(x->ctx, &x->w->s->notes.unwritable, PEL_KEY(lost), 1);
    return lost;
}

static bool bind_argument(pel_straight *x, pel_link *link, uint32_t p, const step *row) {
    pel_param *param = &link->target->params[p];
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n_lanes; i++) n += (values[i] = pel_argument(x->log, row[i].call, param)) != 0;
    if (n == 0) return true;
    if (n < x->n_lanes) return false;
    pel_node *text = argument_text(x, param, values);
    if (!pel_straight_same(x, values) || !pel_plain(x->w->s, values[0]))
        if (pel_taint_grow(x->ctx, &param->taint, &pel_tainted)) x->w->s->facts.changed = true;
    pel_taint_grow(x->ctx, &param->taint, pel_constant(PEL_WHY_LINE));
    if (param->fallback && pel_same(param->fallback, text)) return true;
    link->args[p] = text;
    link->by_keyword[p] = param->keyword_only || param->kind == PEL_PARAM_KEY_ITEM;
    return true;
}

static pel_node *call_text(pel_straight *x, const step *row) {
    pel_synth *s = x->w->s;
    if (x->is_helper) cannot(x, "it calls modules");
    pel_group *target = s->group_of[row->call];
    pel_id *modules = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        if (s->group_of[row[i].call] != target) cannot(x, "it calls different functions");
        modules[i] = pel_straight_at(x, pel_argument(x->log, row[i].call, &target->params[0]))->module;
    }
    pel_node *func = pel_straight_module(x, modules);
    if (!func || func->kind == PEL_Name) cannot(x, "it calls a module that it was not given");
    pel_link *link = pel_new(x->ctx, pel_link);
    *link = (pel_link){ .caller = x->w->group, .target = target, .receiver = true };
    link->args = pel_new_array(x->ctx, target->n_params + 1u, pel_node *);
    link->by_keyword = pel_new_array(x->ctx, target->n_params + 1u, bool);
    link->node = pel_make_call(x->ctx, func, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    for (uint32_t p = 1; p < target->n_params; p++)
        if (!bind_argument(x, link, p, row)) cannot(x, "its calls pass different arguments");
    for (uint32_t i = 0; i < x->n_lanes; i++) s->calls.linked[row[i].call] = true;
    target->hint = link->implied = pel_intern_c(x->ctx, "forward");
    x->has_effect |= target->facts.has_effect;
    pel_push(x->ctx, &s->calls.links, link);
    pel_map_set(x->ctx, &s->calls.link_of, PEL_KEY(link->node), PEL_KEY(link));
    return link->node;
}

static pel_id result_of(pel_straight *x, const step *row) {
    if (row->event) return row->event->result;
    pel_id result = pel_result_of(x->log, row->call);
    if (!result) cannot(x, "a module in it gives nothing");
    return result;
}

/* ---- steps as statements ---- */

static void push(pel_straight *x, pel_node *statement) { pel_nodes_push(x->ctx, &x->body, statement); }

/* A name that the author's code does not know, nor what **kwargs brought has. */
static pel_name result_name(pel_straight *x, pel_id result) {
    pel_name name, held = pel_straight_held_by(x, result);
    do {
        pel_str text = x->n_made ? pel_format(x->ctx, "x%u", x->n_made + 1) : PEL_STR("x");
        x->n_made++;
        name = pel_free_name(x->w->s, x->code, pel_intern_str(x->ctx, text));
    } while (pel_straight_is_given(x, name));
    if (held) pel_map_set(x->ctx, &x->wishes, PEL_KEY(name), PEL_KEY(held));
    return name;
}

/* x.size(0), x.dim(): sizes are found again, shapes are ours. */
static bool asks_shape(pel_str function) {
    static const char *const names[] = { "size", "dim", "numel", "ndimension", "__len__", "nelement", "__hash__" };
    size_t dot = function.len;
    while (dot && function.ptr[dot - 1] != '.') dot--;
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(pel_str_from(function, dot), names[i])) return true;
    return false;
}

/* An event that asks data for a plain value: x.item(), bool(x). If it is always the same, something may depend on it.
 */
static bool asks_data(pel_straight *x, const step *row) {
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *result = pel_straight_at(x, row[i].event->result);
        bool is_sequence = result->kind == PEL_V_LIST || (result->kind == PEL_V_TUPLE && !result->class);
        bool is_table = is_sequence && !pel_live(x->w->s, row[i].event->result); /* x.tolist(), x.stride() */
        if (!is_table && (result->kind != PEL_V_CONST || result->constant->kind == PEL_CONST_NONE)) return false;
    }
    return true;
}

static void assert_same(pel_straight *x, pel_node *text, pel_id value) {
    pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, value);
    if (!expected) cannot(x, "it asks its data for what has no literal");
    pel_node *test = pel_make_compare(x->ctx, text, PEL_Eq, expected);
    if (text->kind == PEL_Call && text->Call.func->kind == PEL_Attribute &&
        pel_name_is(text->Call.func->Attribute.attr, "__bool__")) {
        bool truth = pel_is_truth(expected, true);
        test = truth ? text->Call.func->Attribute.value : pel_not(x->w->s, text->Call.func->Attribute.value);
    }
    push(x, pel_make_assert(x->ctx, test, pel_make_text(x->ctx, PEL_STR("path not recorded"))));
}

static bool sets_item(const pel_straight *x, const step *row) {
    return row->event && pel_str_is(function_name(x, row), "torch.Tensor.__setitem__") && row->event->n_args == 3;
}

static void write_setitem(pel_straight *x, const step *row) {
    pel_node *whole = text_of(x, passed(x, row, 0, false)), *index = text_of(x, passed(x, row, 1, false));
    x->has_effect = true;
    push(x, pel_make_assign(x->ctx, item_text(x, whole, index, PEL_Store), text_of(x, passed(x, row, 2, false))));
}

/* Whether the author has variables for the parts of what a step gave: q, k, v = x.chunk(3). */
static bool is_unpacked(const pel_straight *x, const pel_id *made) {
    uint32_t n = 0, held = 0;
    if (!pel_straight_sequences(x, made, &n) || pel_straight_at(x, made[0])->kind == PEL_V_SIZE) return false;
    for (uint32_t k = 0; k < n; k++) held += pel_straight_held_by(x, pel_straight_at(x, made[0])->items[k]) != NULL;
    return n > 1 && n <= MOST_UNPACKED && held == n;
}

static void write_unpacked(pel_straight *x, pel_node *text, const pel_id *made) {
    pel_node *target = pel_node_new(x->ctx, PEL_Tuple);
    target->Tuple.ctx = PEL_Store;
    push(x, pel_make_assign(x->ctx, target, text));
    for (uint32_t k = 0; k < pel_straight_at(x, made[0])->n; k++) {
        pel_id *items = pel_straight_items(x, made, k);
        pel_name name = result_name(x, items[0]);
        pel_nodes_push(x->ctx, &target->Tuple.elts, pel_make_name(x->ctx, name, PEL_Store));
        pel_straight_make(x, pel_make_name(x->ctx, name, PEL_Load), items);
    }
}

/* Whether an activation reads a variable behind some record that it bound before, and finds the tensor there. */
static bool reads_old_name(const pel_straight *x, pel_id id, uint32_t from, pel_id tensor) {
    const pel_activation *activation = &x->log->activations.at[id];
    const pel_author *author = &x->w->s->authors[activation->code];
    if (!author->insns || from == 0) return false;
    uint32_t called = author->index[activation->records[from - 1].at];
    for (uint32_t r = from; r < activation->n_records; r++) {
        const pel_record *record = &activation->records[r];
        const pel_insn *load = record->kind == PEL_R_PUSH ? pel_author_insn(author, record) : NULL;
        if (!load || !pel_value_same(x->log, record->value, tensor)) continue;
        if (load->op != PEL_OP_LOAD_FAST && load->op != PEL_OP_LOAD_DEREF) continue;
        uint32_t at = (uint32_t)(load - author->insns->at), first = at > called ? called : 0;
        bool is_bound_anew = false;
        for (uint32_t i = first; i < (at > called ? at : author->insns->n); i++) {
            const pel_insn *insn = &author->insns->at[i];
            bool stores = insn->op == PEL_OP_STORE_FAST || insn->op == PEL_OP_STORE_DEREF;
            is_bound_anew |= stores && insn->name == load->name;
        }
        if (!is_bound_anew) return true;
    }
    return false;
}

/* y = self.drop(x) in eval mode, x.to(torch.float32), x.contiguous() that give x itself, and x is read again: calls
 * don't show which of the two a later one got, and in another mode, of another type or layout they differ. */
static bool gives_back(const pel_straight *x, const step *row, const pel_id *made) {
    pel_str name = function_name(x, row);
    bool is_old = false;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_event *event = row[i].event;
        if (pel_straight_at(x, made[i])->kind != PEL_V_TENSOR || pel_is_in_place(name) || changes_given(x, event, name))
            return false;
        bool is_given = false;
        for (uint32_t k = 0; k < event->n_args; k++) is_given |= pel_value_same(x->log, event->args[k], made[i]);
        for (uint32_t k = 0; k < event->n_kwargs; k++)
            is_given |= pel_value_same(x->log, event->kwargs[k].value, made[i]);
        if (!is_given) return false;
        uint32_t record = event->record;
        for (pel_id id = event->activation; id && !is_old; id = x->log->activations.at[id].parent) {
            is_old = reads_old_name(x, id, record, made[i]);
            record = x->log->activations.at[id].parent_at;
            if (id == x->above[i]) break;
        }
    }
    return is_old;
}

/* What data answered is no constant: an answer that is the same in all lanes is asserted, any other gets a name for
 * later steps. Questions about shapes leave no text, because sizes are found again where they are used. */
static void write_step(pel_straight *x, const step *row) {
    pel_id *made = pel_new_array(x->ctx, x->n_lanes, pel_id);
    for (uint32_t i = 0; i < x->n_lanes; i++) made[i] = result_of(x, &row[i]);
    if (sets_item(x, row)) {
        write_setitem(x, row);
        return;
    }
    if (row->event && asks_data(x, row)) {
        if (asks_shape(function_name(x, row))) return;
        pel_node *text = event_text(x, row);
        if (pel_straight_same(x, made)) {
            assert_same(x, text, made[0]);
            return;
        }
        pel_name name = result_name(x, made[0]);
        pel_node *asked = pel_make_assign(x->ctx, pel_make_name(x->ctx, name, PEL_Store), text);
        if (pel_value_is_number(pel_straight_at(x, made[0]))) pel_note_node(x->w->s, asked, PEL_NOTE_ASKS_DATA);
        push(x, asked);
        pel_straight_make(x, pel_make_name(x->ctx, name, PEL_Load), made);
        return;
    }
    if (row->event && pel_straight_all(x, made, PEL_V_SIZE)) return;
    pel_node *text = row->event ? event_text(x, row) : call_text(x, row);
    if (is_unpacked(x, made)) {
        write_unpacked(x, text, made);
        return;
    }
    pel_node *same = row->event && gives_back(x, row, made) ? pel_straight_tensor(x, made) : NULL;
    pel_name name = result_name(x, made[0]);
    push(x, pel_make_assign(x->ctx, pel_make_name(x->ctx, name, PEL_Store), text));
    if (same)
        push(x, pel_make_assert(x->ctx, pel_make_compare(x->ctx, pel_make_name(x->ctx, name, PEL_Load), PEL_Is, same),
                                pel_make_text(x->ctx, PEL_STR("path not recorded"))));
    pel_straight_make(x, pel_make_name(x->ctx, name, PEL_Load), made);
}

/* ---- one expression instead of two statements ---- */

typedef struct sizing {
    const pel_synth *s;
    uint32_t n;
} sizing;

static void count_node(void *arg, pel_node **slot) {
    sizing *z = arg;
    z->n++;
    pel_each_part(z->s, *slot, count_node, arg);
}

static uint32_t count_nodes(const pel_straight *x, pel_node *statement) {
    sizing z = { .s = x->w->s };
    pel_each_part(z.s, statement, count_node, &z);
    return z.n;
}

static pel_name bound_name(const pel_node *statement) {
    if (statement->kind != PEL_Assign || statement->Assign.targets.at[0]->kind != PEL_Name) return NULL;
    return statement->Assign.targets.at[0]->Name.id;
}

static uint32_t reads_behind(const pel_straight *x, uint32_t at, pel_name name) {
    return pel_uses_in(x->w->s, pel_nodes_from(x->body, at + 1), name).reads;
}

static bool is_impure(const pel_straight *x, const pel_node *value) {
    return pel_is_noted(x->w->s, value, PEL_NOTE_EFFECT) || pel_link_at(x->w->s, value);
}

/* x = a(t); x2 = b(x): what only the next statement uses stands there, t.a().b(). What nobody uses goes. */
static void chain(pel_straight *x) {
    uint32_t n = 0;
    for (uint32_t i = x->body.n; i--;) {
        pel_name name = bound_name(x->body.at[i]);
        if (!name || reads_behind(x, i, name)) continue;
        if (pel_is_noted(x->w->s, x->body.at[i], PEL_NOTE_ASKS_DATA))
            cannot(x, "it asks its data for a number that no call gets");
        if (!is_impure(x, x->body.at[i]->Assign.value))
            x->body.at[i] = pel_node_new(x->ctx, PEL_Pass);
        else
            x->body.at[i] = pel_make_expr(x->ctx, x->body.at[i]->Assign.value);
    }
    for (uint32_t i = 0; i < x->body.n; i++)
        if (x->body.at[i]->kind != PEL_Pass) x->body.at[n++] = x->body.at[i];
    x->body.n = n;
    n = 0;
    for (uint32_t i = 0; i < x->body.n; i++) {
        pel_node *statement = x->body.at[i], *next = i + 1 < x->body.n ? x->body.at[i + 1] : NULL;
        pel_name name = bound_name(statement);
        bool joins =
            name && next && pel_uses_at(x->w->s, next, name).reads == 1 && reads_behind(x, i, name) == 1 &&
            count_nodes(x, statement) + count_nodes(x, next) <= (x->is_helper ? LONGEST_CALL : LONGEST_CHAIN) &&
            next->kind != PEL_Assert;
        if (!joins) {
            x->body.at[n++] = statement;
            continue;
        }
        pel_put_value(x->w->s, next, name, statement->Assign.value);
    }
    x->body.n = n;
}

void pel_straight_write(pel_straight *x, const pel_id *results) {
    const char *why_not = pel_straight_state(x, is_told);
    if (why_not) cannot(x, why_not);
    pel_straight_find_reads(x, is_told);
    if (x->reads.other) cannot(x, pel_format(x->ctx, "it asks a tensor for its `%s`", x->reads.other->text).ptr);
    pel_straight_find_names(x);
    step_list *all = pel_new_array(x->ctx, x->n_lanes, step_list);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        all[i] = steps_of(x, x->above[i]);
        if (all[i].n != all[0].n) cannot(x, "calls of it do different things");
    }
    step *row = pel_new_array(x->ctx, x->n_lanes, step);
    for (uint32_t e = 0; e < all[0].n; e++) {
        for (uint32_t i = 0; i < x->n_lanes; i++) row[i] = all[i].at[e];
        if (!are_alike(x, row)) cannot(x, "calls of it do different things");
        write_step(x, row);
    }
    x->now = NULL;
    push(x, pel_make_return(x->ctx, text_of(x, results)));
    if (x->known.some_data && (x->reads.computes || x->reads.decides)) /* a number that fits by chance looks the same */
        cannot(x, "it computes numbers, and gets some that data or callers may change");
    chain(x);
    pel_straight_rename(x);
}
