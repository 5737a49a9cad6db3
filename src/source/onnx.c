/* A graph of ONNX becomes steps: sizes are computed, operators written by the rows of onnx.def or by a form, constants
 * given to modules. An operator, an attribute or a version that no row has is refused with its place. */
#include "source/onnx.h"

#define LAST_OPSET 24

typedef struct onnx_row {
    const char *op;
    int first, last;
    const char *inputs, *text, *defaults, *type;
} onnx_row;
static const onnx_row rows[] = {
#define ONNX(op, first, last, inputs, text, defaults, type) { op, first, last, inputs, text, defaults, type },
#include "source/onnx.def"
#undef ONNX
};

/* ---- arguments ---- */

pel_onnx_value *pel_onnx_in(pel_onnx *o, uint32_t index) {
    if (index >= o->now->in.n || !o->now->in.at[index].len) return NULL;
    return pel_onnx_value_of(o, o->now->in.at[index]);
}

/* What letters of a row want: s a number, too; l a list of numbers; n one number; else a tensor, with the name that
 * its letter has. */
static const char *role_of(char how) {
    static const struct {
        char letter;
        const char *role;
    } roles[] = { { 'w', "weight" }, { 'b', "bias" }, { 'm', "running_mean" }, { 'v', "running_var" } };
    for (size_t i = 0; i < PEL_COUNT(roles); i++)
        if (roles[i].letter == how) return roles[i].role;
    return "";
}

pel_node *pel_onnx_arg(pel_onnx *o, uint32_t index, char how) {
    pel_onnx_value *value = pel_onnx_in(o, index);
    if (!value) return NULL;
    bool wants_list = how == 'l', wants_number = how == 'n' || how == 's';
    if (wants_list && value->sizes_of) return pel_onnx_known(o, value, false);
    if ((wants_list || wants_number) && pel_onnx_numbers(o, value)) {
        bool is_one = !value->is_list || (how == 'n' && value->numbers.n == 1);
        if (wants_list == value->is_list || (wants_number && is_one)) {
            pel_onnx_value one = *value;
            if (wants_number && value->is_list) one.is_list = false;
            return pel_onnx_known(o, &one, false);
        }
    }
    if (wants_list || how == 'n') pel_onnx_refuse(o, "an input that must be constant is computed");
    if (value->tensor) return pel_onnx_weight(o, value, role_of(how), false);
    if (value->is_known || value->sizes_of) return pel_onnx_known(o, value, true);
    if (!value->name) pel_onnx_refuse(o, "it reads a value that nothing before it makes");
    return pel_make_name(o->ctx, value->name, PEL_Load);
}

const pel_onnx_attribute *pel_onnx_attribute_of(pel_onnx *o, const char *name) {
    for (uint32_t i = 0; i < o->now->attributes.n; i++)
        if (pel_str_is(o->now->attributes.at[i].name, name)) return &o->now->attributes.at[i];
    return NULL;
}

static const pel_const *constant_of(pel_onnx *o, const char *name, pel_const_kind kind) {
    const pel_onnx_attribute *row = pel_onnx_attribute_of(o, name);
    if (!row) return NULL;
    if (!row->value || row->value->kind != PEL_Constant || row->value->Constant.value->kind != kind)
        pel_onnx_refuse(o, pel_format(o->ctx, "its attribute %s is of another type%c", name, 0).ptr);
    return row->value->Constant.value;
}

int64_t pel_onnx_int(pel_onnx *o, const char *name, int64_t otherwise) {
    const pel_const *value = constant_of(o, name, PEL_CONST_INT);
    return value ? value->integer.small : otherwise;
}

double pel_onnx_real(pel_onnx *o, const char *name, double otherwise) {
    const pel_const *value = constant_of(o, name, PEL_CONST_FLOAT);
    return value ? value->real : otherwise;
}

pel_str pel_onnx_text(pel_onnx *o, const char *name, const char *otherwise) {
    const pel_const *value = constant_of(o, name, PEL_CONST_STR);
    return value ? value->text : pel_str_of(otherwise);
}

pel_node *pel_onnx_ints(pel_onnx *o, const int64_t *numbers, uint32_t n) {
    pel_node *list = pel_node_new(o->ctx, PEL_List);
    for (uint32_t i = 0; i < n; i++) pel_nodes_push(o->ctx, &list->List.elts, pel_make_int(o->ctx, numbers[i]));
    return list;
}

pel_node *pel_onnx_number(pel_onnx *o, double value) {
    return pel_make_constant(o->ctx, pel_const_float(o->ctx, value));
}

/* ---- writing ---- */

pel_node *pel_onnx_write(pel_onnx *o, const char *text, pel_node *first, pel_node *second, pel_node *third) {
    pel_node *given[] = { first, second, third };
    pel_node *call = pel_make_call(o->ctx, pel_name_node(o->ctx, "_"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    uint32_t n = third ? 3 : second ? 2 : first ? 1 : 0;
    for (uint32_t i = 0; i < n; i++)
        pel_nodes_push(o->ctx, &call->Call.args, given[i] ? given[i] : pel_make_none(o->ctx));
    pel_node *node = pel_fill_row(o->ctx, text, call, "");
    if (!node) pel_onnx_refuse(o, "its arguments do not fit");
    return node;
}

static pel_name new_name(pel_onnx *o) { return pel_intern_str(o->ctx, pel_format(o->ctx, "%u", ++o->n_values)); }

pel_node *pel_onnx_bind(pel_onnx *o, pel_node *value) {
    pel_step step = { .call = value, .at = o->now->at, .stack = o->step.stack };
    pel_name name = new_name(o);
    pel_push(o->ctx, &step.results, name);
    pel_push(o->ctx, &o->e.steps, step);
    return pel_make_name(o->ctx, name, PEL_Load);
}

/* The node as a call that a row's text can be filled with: attributes are keywords, those that are not given have
 * their defaults. */
static pel_node *call_of(pel_onnx *o, const onnx_row *row) {
    pel_ctx *ctx = o->ctx;
    pel_node *call = pel_make_call(ctx, pel_name_node(ctx, "_"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    size_t n_letters = strlen(row->inputs);
    if (o->now->in.n > n_letters) return NULL;
    for (uint32_t i = 0; i < o->now->in.n; i++) {
        pel_onnx_value *value = pel_onnx_in(o, i);
        bool is_wanted = row->inputs[i] == 'l' || row->inputs[i] == 'n';
        if (value && is_wanted && !pel_onnx_numbers(o, value) && !(row->inputs[i] == 'l' && value->sizes_of))
            return NULL;
        pel_node *arg = pel_onnx_arg(o, i, row->inputs[i]);
        pel_nodes_push(ctx, &call->Call.args, arg ? arg : pel_make_none(ctx));
    }
    for (uint32_t i = 0; i < o->now->attributes.n; i++) {
        const pel_onnx_attribute *attribute = &o->now->attributes.at[i];
        if (!attribute->value || !pel_is_identifier(attribute->name)) return NULL;
        pel_nodes_push(ctx, &call->Call.keywords,
                       pel_make_keyword(ctx, pel_intern_str(ctx, attribute->name), attribute->value));
    }
    pel_str defaults = pel_str_of(row->defaults);
    for (size_t start = 0, end, sign; start < defaults.len; start = end + 1) {
        for (end = start; end < defaults.len && defaults.ptr[end] != ' ';) end++;
        for (sign = start;
             sign < end && defaults.ptr[sign] != '=' && defaults.ptr[sign] != ':' && defaults.ptr[sign] != '!';)
            sign++;

        pel_str key = pel_str_cut(defaults, start, sign);
        if (!pel_is_identifier(key) || pel_onnx_attribute_of(o, pel_format(ctx, "%.*s%c", PEL_FMT(key), 0).ptr))
            continue;
        if (defaults.ptr[sign] == '!') return NULL;
        pel_source source = pel_source_text(ctx, PEL_STR("a row"), pel_str_cut(defaults, sign + 1, end));
        pel_nodes_push(ctx, &call->Call.keywords,
                       pel_make_keyword(ctx, pel_intern_str(ctx, key),
                                        pel_parse_newest_expression(ctx, &source)->Expression.body));
    }
    return call;
}

void pel_onnx_keep_dtype(pel_onnx *o, pel_node *call) {
    pel_str dtype = pel_onnx_in(o, 0) ? pel_onnx_in(o, 0)->dtype : PEL_STR("");
    if (!dtype.len || pel_str_is(dtype, "int64") || pel_str_is(dtype, "float32")) return;
    pel_nodes_push(o->ctx, &call->Call.keywords,
                   pel_make_keyword(o->ctx, pel_intern_c(o->ctx, "dtype"),
                                    pel_dotted(o->ctx, pel_format(o->ctx, "torch.%.*s%c", PEL_FMT(dtype), 0).ptr)));
}

/* "0m": the dtype is that of input 0, the rank the largest of all; @ of all inputs; b bool, i int64, t what
 * `to` says, k of input 0, - not known. */
static void set_type(pel_onnx *o, pel_onnx_value *result, const char *type) {
    pel_onnx_value *like = type[0] >= '0' && type[0] <= '9' ? pel_onnx_in(o, (uint32_t)(type[0] - '0')) : NULL;
    if (type[0] == 'k') like = pel_onnx_in(o, 0);
    for (uint32_t i = 0; type[0] == '@' && i < o->now->in.n && !like; i++)
        if (pel_onnx_in(o, i) && pel_onnx_in(o, i)->dtype.len) like = pel_onnx_in(o, i);
    pel_str dtype = like             ? like->dtype
                    : type[0] == 'b' ? PEL_STR("bool")
                    : type[0] == 'i' ? PEL_STR("int64")
                    : type[0] == 't' ? pel_onnx_dtype(o->ctx, (uint64_t)pel_onnx_int(o, "to", 0))
                                     : (pel_str){ "", 0 };
    if (dtype.len) result->dtype = dtype;
    int rank = -1;
    if (type[1] >= '0' && type[1] <= '9') {
        like = pel_onnx_in(o, (uint32_t)(type[1] - '0'));
        rank = like ? like->rank : -1;
    }
    for (uint32_t i = 0; type[1] == 'm' && i < o->now->in.n; i++) {
        like = pel_onnx_in(o, i);
        if (!like || like->rank < 0) {
            rank = -1;
            break;
        }
        if (like->rank > rank) rank = like->rank;
    }
    if (rank >= 0) result->rank = rank;
}

/* Results beside the first are refused where somebody reads them, but for operators that give a list. */
static void finish(pel_onnx *o, pel_node *value, const char *type, bool is_list) {
    pel_onnx_node *node = o->now;
    pel_onnx_value *first = pel_onnx_value_of(o, node->out.at[0]);
    for (uint32_t i = 1; !is_list && i < node->out.n; i++)
        if (node->out.at[i].len && pel_onnx_value_of(o, node->out.at[i])->n_uses)
            pel_onnx_refuse(o, "another result than its first is used");
    if (!is_list && value->kind == PEL_Name) { /* it does nothing */
        first->name = value->Name.id;
        set_type(o, first, type);
        return;
    }
    o->step.call = value;
    o->step.is_list = is_list && node->out.n == 1;
    for (uint32_t i = 0; i < (is_list ? node->out.n : 1); i++) {
        pel_onnx_value *result = pel_onnx_value_of(o, node->out.at[i]);
        if (result->name || result->tensor || result->is_known) pel_onnx_refuse(o, "two nodes make one value");
        result->name = new_name(o);
        set_type(o, result, type);
        pel_push(o->ctx, &o->step.results, result->name);
    }
    pel_push(o->ctx, &o->e.steps, o->step);
}

/* MatMul and then Add of a bias is nn.Linear. */
static bool fuse_bias(pel_onnx *o, pel_node *product, int64_t out_features) {
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]);
    pel_onnx_node *add = result->user, *node = o->now;
    if (result->n_uses != 1 || !add || !pel_str_is(add->op, "Add") || add->domain.len || add->in.n != 2) return false;
    bool is_first = pel_str_eq(add->in.at[0], result->label);
    pel_onnx_value *bias = pel_onnx_value_of(o, add->in.at[is_first]);
    if (!bias->tensor || bias->tensor->shape.n != 1 || bias->tensor->shape.dims[0].size != out_features) return false;
    pel_nodes_push(o->ctx, &product->Call.args, pel_onnx_weight(o, bias, "bias", false));
    add->is_done = true;
    pel_onnx_value *sum = pel_onnx_value_of(o, add->out.at[0]);
    sum->dtype = result->dtype;
    o->now = add;
    finish(o, product, "--", false);
    o->now = node;
    return true;
}

/* A product with a matrix of the file whose name is the exporter's own was nn.Linear, whose weight it turned. */
static bool write_linear(pel_onnx *o) {
    pel_onnx_value *left = pel_onnx_in(o, 0), *right = pel_onnx_in(o, 1);
    if (!pel_str_is(o->now->op, "MatMul") || o->now->domain.len || o->now->in.n != 2 || !left || !right) return false;
    if (!right->tensor || right->tensor->shape.n != 2 || left->tensor || pel_onnx_is_named(right->label)) return false;
    pel_node *x = pel_onnx_arg(o, 0, 't');
    pel_node *call =
        pel_onnx_write(o, "aten.linear.default(_0, _1)", x, pel_onnx_weight(o, right, "weight", true), NULL);
    pel_onnx_value *result = pel_onnx_value_of(o, o->now->out.at[0]), *sum = NULL;
    result->dtype = left->dtype;
    if (left->rank >= 0) result->rank = left->rank;
    if (result->user && result->user->out.n) sum = pel_onnx_value_of(o, result->user->out.at[0]);
    if (!fuse_bias(o, call, right->tensor->shape.dims[1].size))
        finish(o, call, "00", false);
    else if (sum && left->rank >= 0)
        sum->rank = left->rank;
    return true;
}

/* Another name for a value. Of a constant it is the one that the module has: exporters merge equal weights, and keep
 * the names of the others so. */
static bool write_identity(pel_onnx *o) {
    pel_onnx_value *value = pel_onnx_in(o, 0), *result = pel_onnx_value_of(o, o->now->out.at[0]);
    if (!pel_str_is(o->now->op, "Identity") || o->now->domain.len || o->now->in.n != 1 || o->now->out.n != 1 || !value)
        return false;
    if (result->name || result->tensor || result->is_known) pel_onnx_refuse(o, "two nodes make one value");
    if (!value->name && !value->tensor && !value->is_known && !value->sizes_of)
        pel_onnx_refuse(o, "it reads a value that nothing before it makes");
    pel_onnx_value copy = *value;
    copy.label = value->tensor && !pel_onnx_is_named(result->label) ? value->label : result->label;
    copy.n_uses = result->n_uses;
    copy.user = result->user;
    *result = copy;
    return true;
}

/* One node by the first row that fits: rows differ by version, inputs and attributes. */
static void write_node(pel_onnx *o) {
    bool any = false, any_version = false;
    for (uint32_t i = 0; i < o->now->out.n; i++) any |= o->now->out.at[i].len > 0;
    if (!any || !o->now->out.at[0].len) pel_onnx_refuse(o, "its first result has no name");
    if (o->now->domain.len) pel_onnx_refuse(o, "an operator of another domain than ONNX's own");
    if (write_identity(o)) return;
    pel_onnx_stack(o);
    if (pel_onnx_fold(o) || write_linear(o)) return;
    any = false;
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        const onnx_row *row = &rows[i];
        if (!pel_str_is(o->now->op, row->op)) continue;
        any = true;
        if (o->opset < row->first || o->opset > row->last) continue;
        any_version = true;
        pel_node *value = NULL;
        bool is_list = row->type[0] == '[';
        if (row->text[0] == '@') {
            value = pel_onnx_form_of(row->text)(o);
        } else {
            pel_node *call = call_of(o, row);
            value = call ? pel_fill_row(o->ctx, row->text, call, row->defaults) : NULL;
        }
        if (!value) continue;
        if (row->type[0] == 'k') pel_onnx_keep_dtype(o, value);
        finish(o, value, is_list ? row->type + 1 : row->type, is_list);
        return;
    }
    pel_onnx_refuse(o, any_version ? "its inputs or attributes are of a form that no rule writes"
                       : any       ? "this version of it is not known"
                                   : "no rule writes it");
}

/* ---- the graph ---- */

/* Inputs get names that Python has: "input.1" is input_1. */
static void name_inputs(pel_onnx *o) {
    static const char *const reserved[] = { "self", "torch", "nn", "F", "float", "math", "getattr" };
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        pel_map_set(o->ctx, &o->taken, PEL_KEY(pel_intern_str(o->ctx, pel_format(o->ctx, "(%s", reserved[i]))), 1);
    for (uint32_t i = 0; i < o->inputs.n; i++) {
        pel_onnx_value *value = o->inputs.at[i];
        char *text = pel_alloc_raw(o->ctx, value->label.len + 1);
        for (size_t k = 0; k < value->label.len; k++) {
            char c = value->label.ptr[k];
            bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && k);
            text[k] = is_letter ? c : '_';
        }
        pel_str name = { text, value->label.len }, base;
        if (!pel_is_identifier(name) || name.len > 60) name = PEL_STR("x");
        base = name;
        for (unsigned n = 2; !pel_map_set(
                 o->ctx, &o->taken, PEL_KEY(pel_intern_str(o->ctx, pel_format(o->ctx, "(%.*s", PEL_FMT(name)))), 1);
             n++)
            name = pel_format(o->ctx, "%.*s_%u", PEL_FMT(base), n);
        if (value->name) pel_onnx_refuse(o, "two inputs of the graph have one name");
        value->name = pel_intern_str(o->ctx, name);
        pel_push(o->ctx, &o->e.inputs, value->name);
    }
}

static pel_node *output_of(pel_onnx *o, pel_str label) {
    pel_onnx_value *value = pel_onnx_value_of(o, label);
    if (value->tensor) return pel_onnx_weight(o, value, "", false);
    if (value->is_known || value->sizes_of) return pel_onnx_known(o, value, true);
    if (!value->name) pel_onnx_refuse(o, "nothing makes a result of the graph");
    return pel_make_name(o->ctx, value->name, PEL_Load);
}

/* Everything in order: a node reads what is made before it, so one pass over them is enough. */
bool pel_recover_onnx(pel_recovery *r) {
    if (!pel_str_is(r->loaded->format, "ONNX")) return false;
    pel_onnx o = { .r = r, .ctx = r->ctx, .e = { .r = r } };
    pel_onnx_read(&o, pel_input_whole(r->ctx, r->loaded->input));
    if (!o.outputs.n) pel_onnx_refuse(&o, "the file has no graph with results");
    if (o.opset < 7 || o.opset > LAST_OPSET)
        pel_onnx_refuse(&o, pel_format(r->ctx, "its operators are of opset %lld; 7 to %d are known%c",
                                       (long long)o.opset, LAST_OPSET, 0)
                                .ptr);
    r->root = pel_part_make(r, (pel_str){ "", 0 });
    r->finds_modules = r->needs_conversion = r->is_fixed = true;
    name_inputs(&o);
    for (uint32_t i = 0; i < o.inputs.n; i++)
        for (uint32_t d = 0; o.inputs.at[i]->shape && d < o.inputs.at[i]->shape->n; d++)
            r->is_fixed &= !o.inputs.at[i]->shape->dims[d].symbol.len;
    for (uint32_t i = 0; i < o.nodes.n; i++) {
        o.now = o.nodes.at[i];
        if (!o.now->is_done) write_node(&o);
    }
    o.now = NULL;
    o.step = (pel_step){ 0 };
    pel_push(r->ctx, &o.step.stack, (pel_frame){ pel_intern_c(r->ctx, ""), { "", 0 } });
    pel_node *row = pel_node_new(r->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < o.outputs.n; i++) pel_nodes_push(r->ctx, &row->Tuple.elts, output_of(&o, o.outputs.at[i]));
    o.e.output = o.outputs.n == 1 ? row->Tuple.elts.at[0] : row;
    pel_export_methods(&o.e);
    return true;
}
