/* Who gets a pattern: functions that are called with one, and modules that hold one. */
#include "trace/lines/line.h"

enum { MOST_GIVEN = 16 };

static bool is_text(const pel_value *value) {
    return value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_STR;
}

static bool same_text(const pel_straight *x, const pel_id *values, pel_str *out) {
    if (!values[0] || !pel_straight_same(x, values) || !is_text(pel_straight_at(x, values[0]))) return false;
    *out = pel_straight_at(x, values[0])->constant->text;
    return true;
}

/* The shapes of the tensors, or of lists of them, which are stacked. */
static bool take_tensor(pel_straight *x, pel_node *name, const pel_id *values, pel_straight_pattern *call) {
    const int64_t **shapes = pel_new_array(x->ctx, x->n_lanes, const int64_t *);
    bool is_list = pel_straight_all(x, values, PEL_V_LIST);
    if (!is_list && !pel_straight_all(x, values, PEL_V_TENSOR)) return false;
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        const pel_value *value = pel_straight_at(x, values[i]);
        if (is_list && (!value->n || value->truncated)) return false;
        const pel_value *tensor = is_list ? pel_straight_at(x, value->items[0]) : value;
        if (tensor->kind != PEL_V_TENSOR) return false;
        const pel_log_tensor *row = &x->log->tensors.at[tensor->tensor];
        int64_t *shape = pel_new_array(x->ctx, row->n_dims + 1u, int64_t);
        if (is_list) shape[0] = value->n;
        for (uint32_t k = 0; k < row->n_dims; k++) shape[k + is_list] = row->shape[k];
        if (i && call->rank != row->n_dims + is_list) return false;
        call->rank = row->n_dims + is_list;
        shapes[i] = shape;
    }
    call->shapes = shapes;
    call->tensor = name;
    if (is_list)
        call->tensor = pel_make_call(x->ctx, pel_library_expression(x->ctx, x->w->s->program, PEL_STR("torch.stack")),
                                     pel_nodes_one(x->ctx, name), (pel_nodes){ 0 });
    return true;
}

static bool is_patterned(const pel_code_object *code) {
    bool is_known =
        pel_name_is(code->name, "rearrange") || pel_name_is(code->name, "repeat") || pel_name_is(code->name, "reduce");
    return is_known && code->argcount >= 2 && pel_name_is(code->varnames.at[1], "pattern");
}

static pel_node *parameter(pel_straight *x, pel_straight_args *args, uint32_t k) {
    pel_node *made = pel_node_new(x->ctx, PEL_arg);
    made->arg.arg = args->names[k];
    pel_nodes_push(x->ctx, &args->params, made);
    pel_nodes_push(x->ctx, &args->given, args->at[k]->text);
    return pel_make_name(x->ctx, args->names[k], PEL_Load);
}

/* A length that is no matter of data, and the same in all lanes, is a number. */
static bool take_axis(pel_straight *x, pel_straight_args *args, uint32_t k, pel_straight_axis *out) {
    const pel_val *val = args->at[k];
    *out = (pel_straight_axis){ .name = args->names[k], .values = pel_straight_numbers(x, val->at) };
    if (!out->values) return false;
    bool fixed = pel_is_constant(val->taint) && pel_straight_same(x, val->at);
    out->length = fixed ? pel_make_int(x->ctx, out->values[0]) : parameter(x, args, k);
    return true;
}

/* False must leave args as they were, because write_call starts from them: a copy gets the parameters. The line takes
 * the pattern and the reduction for granted, so both are guarded. */
bool pel_straight_call_of_pattern(pel_straight *x, pel_straight_args *args, const pel_id *results) {
    if (!is_patterned(x->code) || args->n > MOST_GIVEN) return false;
    pel_straight_axis axes[MOST_GIVEN];
    pel_straight_pattern call = { .axes = axes, .results = results, .reduction = pel_name_str(x->code->name) };
    pel_straight_args own = *args;
    bool has_text = false;
    for (uint32_t k = 0; k < args->n; k++) {
        pel_name name = args->names[k];
        if (!name) return false;
        if (name == x->code->varnames.at[0]) {
            if (!take_tensor(x, parameter(x, &own, k), args->at[k]->at, &call)) return false;
        } else if (name == x->code->varnames.at[1]) {
            has_text = same_text(x, args->at[k]->at, &call.text);
        } else if (pel_name_is(x->code->name, "reduce") && pel_name_is(name, "reduction")) {
            if (!same_text(x, args->at[k]->at, &call.reduction)) return false;
        } else if (!take_axis(x, &own, k, &axes[call.n_axes++])) {
            return false;
        }
    }
    if (!has_text || !call.tensor || !pel_straight_from_pattern(x, &call)) return false;
    for (uint32_t k = 0; k < args->n; k++) {
        pel_name name = args->names[k];
        if (name == x->code->varnames.at[1] || pel_name_is(name, "reduction")) pel_straight_guard(x, args->at[k]);
    }
    *args = own;
    return true;
}

/* ---- modules ---- */

static bool take_attribute(pel_straight *x, const char *name, pel_id *values) {
    const pel_straight_named *self = x->known.modules.n ? &x->known.modules.at[0] : NULL;
    for (uint32_t i = 0; i < x->n_lanes && self; i++)
        values[i] = pel_module_attribute(x->log, self->values[i], pel_intern_c(x->ctx, name));
    return self && values[0];
}

/* What a module holds identifies it, as einops' layers hold it, and not its class. One text serves all instances, so
 * lengths that differ between them leave the module to the plain line. */
bool pel_straight_module_of_pattern(pel_straight *x, const pel_id *results) {
    pel_id *values = pel_new_array(x->ctx, x->n_lanes, pel_id), *tensors = pel_new_array(x->ctx, x->n_lanes, pel_id);
    pel_straight_axis axes[MOST_GIVEN];
    pel_straight_pattern call = { .axes = axes, .results = results, .reduction = PEL_STR("rearrange") };
    if (!pel_name_is(x->code->name, "forward") || x->code->argcount != 2) return false;
    if (!take_attribute(x, "pattern", values) || !same_text(x, values, &call.text)) return false;
    if (take_attribute(x, "reduction", values) && !same_text(x, values, &call.reduction)) return false;
    if (!take_attribute(x, "axes_lengths", values) || !pel_straight_all(x, values, PEL_V_DICT)) return false;
    const pel_value *first = pel_straight_at(x, values[0]);
    if (first->n / 2 > MOST_GIVEN) return false;
    for (uint32_t k = 0; k + 1 < first->n; k += 2) {
        pel_id *items = pel_new_array(x->ctx, x->n_lanes, pel_id);
        for (uint32_t i = 0; i < x->n_lanes; i++) {
            const pel_value *own = pel_straight_at(x, values[i]);
            if (own->n != first->n || !pel_value_same(x->log, own->items[k], first->items[k])) return false;
            items[i] = own->items[k + 1];
        }
        const pel_value *key = pel_straight_at(x, first->items[k]);
        const int64_t *lengths = pel_straight_numbers(x, items);
        if (!is_text(key) || !lengths || !pel_straight_same(x, items)) return false;
        axes[call.n_axes++] = (pel_straight_axis){ pel_intern_str(x->ctx, key->constant->text),
                                                   pel_make_int(x->ctx, lengths[0]), lengths };
    }
    for (uint32_t i = 0; i < x->n_lanes; i++) tensors[i] = x->log->activations.at[x->above[i]].locals[1];
    pel_node *name = pel_make_name(x->ctx, x->code->varnames.at[1], PEL_Load);
    return take_tensor(x, name, tensors, &call) && pel_straight_from_pattern(x, &call);
}
