/* Operators become what people write: rows of spelling.def, and modules of torch.nn by rows of modules.def. */
#include "source/source.h"

typedef struct spelling {
    const char *operator, * text, *defaults;
} spelling;
static const spelling spellings[] = {
#define SPELL(operator, text, defaults) { operator, text, defaults },
#include "source/spelling.def"
#undef SPELL
};

typedef struct module_row {
    const char *class, *operator, * roles, *text, *defaults, *names;
} module_row;
static const module_row module_rows[] = {
#define MODULE(class, operator, roles, text, defaults, names) { class, operator, roles, text, defaults, names },
#include "source/modules.def"
#undef MODULE
};

typedef struct script_row {
    const char *class, *tensors, *text, *defaults;
} script_row;
static const script_row script_rows[] = {
#define SCRIPT_MODULE(class, tensors, text, defaults) { class, tensors, text, defaults },
#include "source/script_modules.def"
#undef SCRIPT_MODULE
};

/* One attempt to write a call by a row. */
typedef struct filling {
    pel_ctx *ctx;
    const pel_node *call;
    const char *defaults;
    const pel_part *part; /* of a constructor; NULL: an operator */
    bool is_inplace;
    bool has_attributes; /* names are those of the part's attributes */
    uint64_t used;       /* bits of the positional arguments */
    uint64_t used_kws;   /* … and of the keywords */
    bool fails;
} filling;

static pel_node *parsed(pel_ctx *ctx, pel_str text) {
    pel_source source = pel_source_text(ctx, PEL_STR("a row"), text);
    return pel_parse_newest_expression(ctx, &source)->Expression.body;
}

/* The operator's name without namespace and overload: "aten.view.default" is "view"; "operator.add" stays. */
static pel_str base_of(pel_str operator) {
    pel_str aten = PEL_STR("aten.");
    if (!pel_str_starts(operator, aten)) return operator;
    pel_str rest = pel_str_from(operator, aten.len);
    const char *dot = memchr(rest.ptr, '.', rest.len);
    return dot ? pel_str_cut(rest, 0, (size_t)(dot - rest.ptr)) : rest;
}

static bool is_operator_call(const pel_node *node) {
    return node->kind == PEL_Call && node->Call.func->kind == PEL_Name &&
           memchr(node->Call.func->Name.id->text, '.', node->Call.func->Name.id->len);
}

/* -1 is one constant in a graph, and a sign before another in a row. */
static bool same_number(const pel_node *a, const pel_node *b) {
    bool is_minus = b->kind == PEL_UnaryOp && b->UnaryOp.op == PEL_USub;
    if (a->kind != PEL_Constant || !is_minus || b->UnaryOp.operand->kind != PEL_Constant) return false;
    const pel_const *x = a->Constant.value, *y = b->UnaryOp.operand->Constant.value;
    if (x->kind != y->kind) return false;
    if (x->kind == PEL_CONST_INT)
        return !x->integer.digits.len && !y->integer.digits.len && x->integer.small == -y->integer.small;
    return x->kind == PEL_CONST_FLOAT && x->real <= -y->real && x->real >= -y->real;
}

/* [3, 3] is 3 to everything that takes one number for each dimension. */
static bool equals(const pel_node *value, const pel_node *wanted) {
    if (pel_same(value, wanted) || same_number(value, wanted)) return true;
    const pel_nodes *elts = value->kind == PEL_List    ? &value->List.elts
                            : value->kind == PEL_Tuple ? &value->Tuple.elts
                                                       : NULL;
    for (uint32_t i = 0; elts && i < elts->n; i++)
        if (!pel_same(elts->at[i], wanted)) return false;
    return elts && elts->n;
}

/* Whether the defaults, "3=1 has_bias=True", have this value for that key. */
static bool is_default(filling *f, pel_str key, const pel_node *value) {
    pel_str rest = pel_str_of(f->defaults);
    for (size_t start = 0; start < rest.len;) {
        size_t end = start;
        while (end < rest.len && rest.ptr[end] != ' ') end++;
        pel_str row = pel_str_cut(rest, start, end);
        size_t at = 0;
        while (at < row.len && row.ptr[at] != '=' && row.ptr[at] != '!' && row.ptr[at] != ':') at++;
        if (at < row.len && row.ptr[at] != ':' && pel_str_eq(pel_str_cut(row, 0, at), key) &&
            equals(value, parsed(f->ctx, pel_str_from(row, at + 1))))
            return true;
        start = end + 1;
    }
    return false;
}

static pel_node *keyword_of(filling *f, pel_str name) {
    for (uint32_t i = 0; i < f->call->Call.keywords.n; i++) {
        pel_node *keyword = f->call->Call.keywords.at[i];
        if (!pel_str_eq(pel_name_str(keyword->keyword.arg), name)) continue;
        f->used_kws |= (uint64_t)1 << i;
        return keyword->keyword.value;
    }
    return NULL;
}

/* A list of equal numbers is one number in a constructor, other lists are tuples. */
static pel_node *as_argument(pel_ctx *ctx, pel_node *value, bool is_whole) {
    if (value->kind != PEL_List && value->kind != PEL_Tuple) return value;
    pel_nodes elts = value->kind == PEL_List ? value->List.elts : value->Tuple.elts;
    if (!elts.n) return value;
    if ((!is_whole || elts.n == 1) && equals(value, elts.at[0])) return elts.at[0];
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    row->Tuple.elts = elts;
    return row;
}

static const pel_model_tensor *tensor_of(const pel_part *part, pel_str name) {
    for (uint32_t i = 0; i < part->held.n; i++)
        if (pel_str_eq(pel_name_str(part->held.at[i].name), name)) return part->held.at[i].tensor;
    return NULL;
}

/* What a placeholder of a constructor is, beside the arguments: NULL: it is none, or can't be had. */
static pel_node *fact_of(filling *f, pel_str name) {
    pel_ctx *ctx = f->ctx;
    const pel_model_tensor *weight = tensor_of(f->part, PEL_STR("weight"));
    for (uint32_t i = 0; f->has_attributes && i < f->part->attributes.n; i++)
        if (pel_str_eq(pel_name_str(f->part->attributes.at[i].name), name)) return f->part->attributes.at[i].value;
    if (pel_str_is(name, "inplace")) return pel_make_constant(ctx, pel_const_bool(f->is_inplace));
    if (pel_str_starts(name, PEL_STR("has_")))
        return pel_make_constant(ctx, pel_const_bool(tensor_of(f->part, pel_str_from(name, 4)) != NULL));
    bool is_in = pel_str_is(name, "in_channels");
    if (is_in || pel_str_is(name, "out_channels")) {
        int64_t groups = 1;
        if (f->call->Call.args.n > 6) {
            const pel_node *given = f->call->Call.args.at[6];
            if (given->kind != PEL_Constant || given->Constant.value->kind != PEL_CONST_INT) return NULL;
            groups = given->Constant.value->integer.small;
        }
        return weight && weight->shape.n > 1 ? pel_make_int(ctx, weight->shape.dims[1].size * groups) : NULL;
    }
    if (pel_str_is(name, "kernel")) {
        pel_node *sizes = pel_node_new(ctx, PEL_List);
        for (uint32_t i = 2; weight && i < weight->shape.n; i++)
            pel_nodes_push(ctx, &sizes->List.elts, pel_make_int(ctx, weight->shape.dims[i].size));
        return as_argument(ctx, sizes, false);
    }
    if (f->has_attributes || name.len < 3 || name.ptr[name.len - 2] != '_') return NULL;
    const pel_model_tensor *tensor = tensor_of(f->part, pel_str_cut(name, 0, name.len - 2));
    uint32_t dim = (uint32_t)(name.ptr[name.len - 1] - '0');
    return tensor && dim < tensor->shape.n && !tensor->shape.dims[dim].symbol.len
               ? pel_make_int(ctx, tensor->shape.dims[dim].size)
               : NULL;
}

/* The value of a placeholder; NULL: not given, or a default (which *left says). Other names are themselves. */
static pel_node *placed(filling *f, pel_node *name, pel_node **left) {
    pel_str text = pel_name_str(name->Name.id), whole = PEL_STR("whole");
    *left = NULL;
    bool is_whole = f->part && pel_str_starts(text, whole);
    if (is_whole) text = pel_str_from(text, whole.len + f->has_attributes);
    bool is_argument = text.len > 1 && text.ptr[0] == '_';
    if (!is_argument && (!f->part || pel_str_is(text, "nn"))) return name;
    pel_node *value = NULL;
    pel_str key = is_argument ? pel_str_from(text, 1) : text;
    if (is_argument && key.ptr[0] >= '0' && key.ptr[0] <= '9') {
        uint32_t index = (uint32_t)(key.ptr[0] - '0');
        if (index < f->call->Call.args.n) value = f->call->Call.args.at[index];
        f->used |= (uint64_t)1 << index;
    } else if (is_argument) {
        value = keyword_of(f, key);
    } else {
        value = fact_of(f, key);
        if (!value) f->fails = true;
    }
    if (value && f->part) value = as_argument(f->ctx, value, is_whole);
    if (!value || !is_default(f, key, value)) return value;
    *left = value;
    return NULL;
}

static pel_node *fill(filling *f, pel_node *text);

static void fill_arguments(filling *f, const pel_node *text, pel_node *call) {
    pel_nodes left = { 0 };
    for (uint32_t i = 0; i < text->Call.args.n && !f->fails; i++) {
        pel_node *arg = text->Call.args.at[i], *out = NULL, *value;
        bool is_star = arg->kind == PEL_Starred;
        pel_node *name = is_star ? arg->Starred.value : arg;
        if (name->kind == PEL_Name) {
            value = placed(f, name, &out);
        } else {
            value = fill(f, name);
        }
        if (!value) {
            pel_nodes_push(f->ctx, &left, out ? out : NULL);
            continue;
        }
        for (uint32_t k = 0; k < left.n; k++) { /* something after it is given, so it must be, too */
            if (!left.at[k]) f->fails = true;
            pel_nodes_push(f->ctx, &call->Call.args, left.at[k]);
        }
        left.n = 0;
        if (is_star && value->kind == PEL_List && !value->List.elts.n) f->fails = true; /* torch.zeros() */
        if (is_star && value->kind == PEL_List)
            for (uint32_t k = 0; k < value->List.elts.n; k++)
                pel_nodes_push(f->ctx, &call->Call.args, value->List.elts.at[k]);
        else
            pel_nodes_push(f->ctx, &call->Call.args, is_star ? pel_make_starred(f->ctx, value) : value);
    }
    for (uint32_t i = 0; i < text->Call.keywords.n && !f->fails; i++) {
        pel_node *keyword = text->Call.keywords.at[i], *out = NULL;
        pel_node *value =
            keyword->keyword.value->kind == PEL_Name ? placed(f, keyword->keyword.value, &out) : keyword->keyword.value;
        if (value) pel_nodes_push(f->ctx, &call->Call.keywords, pel_make_keyword(f->ctx, keyword->keyword.arg, value));
    }
}

static void fill_child(void *arg, pel_node **slot) {
    filling *f = arg;
    *slot = fill(f, *slot);
}

/* A copy of a row's text with the arguments in it. */
static pel_node *fill(filling *f, pel_node *text) {
    if (text->kind == PEL_Name) {
        pel_node *left, *value = placed(f, text, &left);
        if (!value && !left) f->fails = true;
        return value ? value : left ? left : text;
    }
    pel_node *copy = pel_copy_node(f->ctx, text);
    if (text->kind == PEL_Call) {
        copy->Call.func = fill(f, text->Call.func);
        copy->Call.args = copy->Call.keywords = (pel_nodes){ 0 };
        fill_arguments(f, text, copy);
        return copy;
    }
    if (text->kind == PEL_Compare)
        copy->Compare.comparators = pel_nodes_of(f->ctx, text->Compare.comparators.at, text->Compare.comparators.n);
    pel_each_child(copy, fill_child, f);
    return copy;
}

/* Whether every argument that was given is written, or is a default. */
static bool uses_all(filling *f) {
    for (uint32_t i = 0; i < f->call->Call.args.n; i++)
        if (!(f->used >> i & 1) && !is_default(f, pel_format(f->ctx, "%u", i), f->call->Call.args.at[i])) return false;
    for (uint32_t i = 0; i < f->call->Call.keywords.n; i++) {
        const pel_node *keyword = f->call->Call.keywords.at[i];
        if (!(f->used_kws >> i & 1) && !is_default(f, pel_name_str(keyword->keyword.arg), keyword->keyword.value))
            return false;
    }
    return true;
}

/* aten.view.default(...) of a row's text is a call of one name. */
static void join_operators(void *arg, pel_node **slot) {
    pel_ctx *ctx = arg;
    const pel_node *node = *slot, *base = node;
    while (base->kind == PEL_Attribute) base = base->Attribute.value;
    if (node->kind != PEL_Attribute || base->kind != PEL_Name || !pel_name_is(base->Name.id, "aten")) {
        pel_each_child(*slot, join_operators, ctx);
        return;
    }
    pel_str text = { "", 0 };
    for (; node->kind == PEL_Attribute; node = node->Attribute.value)
        text = pel_format(ctx, ".%s%.*s", node->Attribute.attr->text, PEL_FMT(text));
    *slot = pel_make_name(ctx, pel_intern_str(ctx, pel_format(ctx, "aten%.*s", PEL_FMT(text))), PEL_Load);
}

pel_node *pel_fill_row(pel_ctx *ctx, const char *text, const pel_node *call, const char *defaults) {
    filling f = { .ctx = ctx, .call = call, .defaults = defaults };
    pel_node *node = parsed(ctx, pel_str_of(text));
    join_operators(ctx, &node);
    node = fill(&f, node);
    return f.fails || !uses_all(&f) ? NULL : node;
}

/* ---- indexing ---- */

static bool small_number(const pel_node *node, int64_t *value) {
    bool is_minus = node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_USub;
    if (is_minus) node = node->UnaryOp.operand;
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT) return false;
    *value = node->Constant.value->integer.small * (is_minus ? -1 : 1);
    return true;
}

static pel_node *indexed(pel_ctx *ctx, pel_node *value, int64_t dim, pel_node *index) {
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    if (dim < 0) pel_nodes_push(ctx, &row->Tuple.elts, pel_make_constant(ctx, &pel_ellipsis));
    for (int64_t i = 0; i < dim; i++) pel_nodes_push(ctx, &row->Tuple.elts, pel_node_new(ctx, PEL_Slice));
    pel_nodes_push(ctx, &row->Tuple.elts, index);
    for (int64_t i = dim; i < -1; i++) pel_nodes_push(ctx, &row->Tuple.elts, pel_node_new(ctx, PEL_Slice));
    return pel_make_subscript(ctx, value, row->Tuple.elts.n == 1 ? index : row, PEL_Load);
}

/* x[:, a:b] of slice(x, 1, a, b); NULL: it can't be written so. */
static pel_node *slice_form(pel_ctx *ctx, const pel_nodes *args) {
    int64_t dim = 0, number;
    if (args->n > 1 && (!small_number(args->at[1], &dim) || dim > 8 || dim < -8)) return NULL;
    pel_node *slice = pel_node_new(ctx, PEL_Slice);
    if (args->n > 2 && !pel_is_none(args->at[2]) && !pel_is_number(args->at[2], 0)) slice->Slice.lower = args->at[2];
    if (args->n > 3 && !pel_is_none(args->at[3]) && !(small_number(args->at[3], &number) && number == INT64_MAX))
        slice->Slice.upper = args->at[3];
    if (args->n > 4 && !pel_is_number(args->at[4], 1)) slice->Slice.step = args->at[4];
    if (!slice->Slice.lower && !slice->Slice.upper && !slice->Slice.step) return args->at[0];
    return indexed(ctx, args->at[0], dim, slice);
}

static pel_node *index_form(pel_ctx *ctx, const pel_nodes *args) {
    if (args->n != 2 || args->at[1]->kind != PEL_List) return NULL;
    pel_node *row = pel_node_new(ctx, PEL_Tuple);
    for (uint32_t i = 0; i < args->at[1]->List.elts.n; i++) {
        pel_node *index = args->at[1]->List.elts.at[i];
        pel_nodes_push(ctx, &row->Tuple.elts, pel_is_none(index) ? pel_node_new(ctx, PEL_Slice) : index);
    }
    return pel_make_subscript(ctx, args->at[0], row->Tuple.elts.n == 1 ? row->Tuple.elts.at[0] : row, PEL_Load);
}

static pel_node *made_form(pel_ctx *ctx, const char *form, const pel_node *call) {
    const pel_nodes *args = &call->Call.args;
    int64_t dim, index;
    if (call->Call.keywords.n) return NULL;
    if (strcmp(form, "@slice") == 0) return slice_form(ctx, args);
    if (strcmp(form, "@index") == 0) return index_form(ctx, args);
    if (args->n != 3 || !small_number(args->at[1], &dim) || !small_number(args->at[2], &index) || dim > 8 || dim < -8)
        return NULL;
    return indexed(ctx, args->at[0], dim, args->at[2]);
}

/* ---- operators ---- */

bool pel_is_spelled(pel_str operator) {
    for (size_t i = 0; i < PEL_COUNT(spellings); i++)
        if (pel_str_is(base_of(operator), spellings[i].operator)) return true;
    return false;
}

static pel_node *as_torch_ops(pel_recovery *r, pel_node *call) {
    pel_str operator= pel_name_str(call->Call.func->Name.id);
    if (!pel_str_starts(operator, PEL_STR("aten.")))
        pel_throw(r->ctx, PEL_E_UNSUPPORTED, 0, "source from a file: an operator that no row knows: %.*s",
                  PEL_FMT(operator));
    r->unspelled++;
    pel_node *copy = pel_copy_node(r->ctx, call);
    copy->Call.func = pel_dotted(r->ctx, pel_format(r->ctx, "torch.ops.%.*s%c", PEL_FMT(operator), 0).ptr);
    return copy;
}

static pel_node *spelled(pel_recovery *r, pel_node *call) {
    pel_str base = base_of(pel_name_str(call->Call.func->Name.id));
    r->operators++;
    if (call->Call.args.n > 9) return as_torch_ops(r, call);
    for (size_t i = 0; i < PEL_COUNT(spellings); i++) {
        if (!pel_str_is(base, spellings[i].operator)) continue;
        if (spellings[i].text[0] == '@') {
            pel_node *form = made_form(r->ctx, spellings[i].text, call);
            if (form) return form;
            continue;
        }
        filling f = { .ctx = r->ctx, .call = call, .defaults = spellings[i].defaults };
        pel_node *node = fill(&f, parsed(r->ctx, pel_str_of(spellings[i].text)));
        if (!f.fails && uses_all(&f)) return node;
    }
    return as_torch_ops(r, call);
}

static void spell_below(void *arg, pel_node **slot) {
    pel_recovery *r = arg;
    pel_each_child(*slot, spell_below, r);
    if (is_operator_call(*slot)) *slot = spelled(r, *slot);
}

void pel_spell(pel_recovery *r, pel_part *part) {
    for (uint32_t i = 0; i < part->methods.n; i++) spell_below(r, &part->methods.at[i]);
}

/* ---- modules ---- */

static pel_str word_of(pel_str text, size_t *at) {
    size_t start = *at;
    while (*at < text.len && text.ptr[*at] != ' ') ++*at;
    pel_str word = pel_str_cut(text, start, *at);
    if (*at < text.len) ++*at;
    return word;
}

/* Whether the arguments are what the row's roles say, and no tensor of the module is left. */
static bool fits_roles(pel_ctx *ctx, const pel_part *part, const pel_node *call, pel_name input, const char *roles) {
    pel_str text = pel_str_of(roles);
    size_t at = 0;
    uint32_t n_held = 0;
    for (uint32_t i = 0; i < call->Call.args.n || at < text.len; i++) {
        const pel_node *arg = i < call->Call.args.n ? call->Call.args.at[i] : NULL;
        if (at >= text.len) {
            if (arg->kind != PEL_Constant && arg->kind != PEL_List && arg->kind != PEL_UnaryOp) return false;
            continue;
        }
        pel_str role = word_of(text, &at);
        bool is_literal = role.ptr[0] == 'F' || (role.ptr[0] >= '0' && role.ptr[0] <= '9');
        if (pel_str_is(role, "_")) {
            if (!arg || (arg->kind != PEL_Constant && arg->kind != PEL_List && arg->kind != PEL_UnaryOp)) return false;
        } else if (is_literal) {
            if (!arg || !pel_same(arg, parsed(ctx, role))) return false;
        } else if (pel_str_is(role, "x")) {
            if (!arg || arg->kind != PEL_Name || arg->Name.id != input) return false;
        } else if (!tensor_of(part, role)) {
            if (arg && !pel_is_none(arg)) return false;
        } else {
            if (!arg || arg->kind != PEL_Attribute || arg->Attribute.value->kind != PEL_Name ||
                !pel_str_eq(pel_name_str(arg->Attribute.attr), role))
                return false;
            n_held++;
        }
    }
    return part->held.n == n_held + (tensor_of(part, PEL_STR("num_batches_tracked")) != NULL);
}

/* The one operator of a method that has no other; NULL: it has others. */
static const pel_node *only_call(const pel_node *method) {
    const pel_nodes *body = &method->FunctionDef.body;
    const pel_node *last = body->n ? body->at[body->n - 1] : NULL;
    if (!last || last->kind != PEL_Return || !last->Return.value) return NULL;
    if (body->n == 1) return last->Return.value;
    if (body->n != 2 || last->Return.value->kind != PEL_Name) return NULL;
    return pel_bound_name(body->at[0]) == last->Return.value->Name.id ? body->at[0]->Assign.value : NULL;
}

/* A row counts only if it has a place for every argument and every tensor: else the module is written out as a class.
 */
static void recover_module(pel_recovery *r, pel_part *part) {
    pel_node *method = part->methods.n == 1 ? part->methods.at[0] : NULL;
    const pel_node *call = method ? only_call(method) : NULL;
    if (!call || !is_operator_call(call) || method->FunctionDef.args->arguments.args.n != 2 || part->children.n ||
        !part->parent || call->Call.args.n > 9)
        return;
    bool is_free = r->finds_modules && !part->class.len;
    if (!is_free && !pel_str_starts(part->origin, PEL_STR("torch.nn."))) return;
    pel_str base = base_of(pel_name_str(call->Call.func->Name.id));
    bool is_inplace = base.len && base.ptr[base.len - 1] == '_';
    if (is_inplace) base.len--;
    for (size_t i = 0; i < PEL_COUNT(module_rows); i++) {
        const module_row *row = &module_rows[i];
        if ((!is_free && !pel_str_is(part->class, row->class)) || !pel_str_is(base, row->operator)) continue;
        pel_name input = method->FunctionDef.args->arguments.args.at[1]->arg.arg;
        if (!fits_roles(r->ctx, part, call, input, row->roles)) continue;
        filling f = { .ctx = r->ctx, .call = call, .defaults = row->defaults, .part = part, .is_inplace = is_inplace };
        pel_str roles = pel_str_of(row->roles);
        uint32_t n = 0;
        for (size_t at = 0; at < roles.len; n++) {
            pel_str role = word_of(roles, &at);
            if (!pel_str_is(role, "_")) f.used |= (uint64_t)1 << n;
        }
        pel_node *made = fill(&f, parsed(r->ctx, pel_str_of(row->text)));
        if (f.fails || !uses_all(&f)) continue;
        if (is_inplace && !pel_str_find(pel_str_of(row->text), PEL_STR("inplace"))) continue;
        part->made = made;
        part->made->mark = (uint32_t)i + 1;
        part->mutates = is_inplace;
        r->operators++;
        return;
    }
}

void pel_recover_modules(pel_recovery *r) {
    for (uint32_t i = 0; i < r->parts.n; i++) recover_module(r, r->parts.at[i]);
}

static bool may_hold(const script_row *row, pel_str name) {
    pel_str tensors = pel_str_of(row->tensors);
    for (size_t at = 0; at < tensors.len;) {
        pel_str word = word_of(tensors, &at);
        bool is_open = word.ptr[word.len - 1] == '*';
        if (is_open ? pel_str_starts(name, pel_str_cut(word, 0, word.len - 1)) : pel_str_eq(word, name)) return true;
    }
    return false;
}

pel_node *pel_module_by_attributes(pel_recovery *r, const pel_part *part) {
    const pel_node *nothing = pel_make_call(r->ctx, pel_name_node(r->ctx, "_"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    for (size_t i = 0; i < PEL_COUNT(script_rows); i++) {
        const script_row *row = &script_rows[i];
        if (!pel_str_is(part->class, row->class)) continue;
        bool fits = true;
        for (uint32_t k = 0; k < part->held.n; k++) fits &= may_hold(row, pel_name_str(part->held.at[k].name));
        if (!fits) continue;
        filling f = { .ctx = r->ctx, .call = nothing, .defaults = row->defaults, .part = part, .has_attributes = true };
        pel_node *made = fill(&f, parsed(r->ctx, pel_str_of(row->text)));
        if (f.fails) continue;
        made->mark = (uint32_t)(PEL_COUNT(module_rows) + i) + 1;
        return made;
    }
    return NULL;
}

/* "out_features" of "nn.Linear(in_features, out_features, ...": the row's own names. */
static pel_str named_in(const char *text, uint32_t index) {
    pel_str rest = pel_str_of(strchr(text, '(') + 1);
    for (size_t start = 0, end; start < rest.len; start = end + 2, index--) {
        for (end = start; end < rest.len && rest.ptr[end] != ',' && rest.ptr[end] != ')';) end++;
        pel_str word = pel_str_cut(rest, start, end);
        if (!index && pel_str_starts(word, PEL_STR("whole_"))) word = pel_str_from(word, 6);
        if (!index) return memchr(word.ptr, '=', word.len) ? PEL_STR("size") : word;
    }
    return PEL_STR("size");
}

/* The name of a constructor's positional argument, for those who pass it on. */
pel_str pel_module_argument(const pel_node *made, uint32_t index) {
    uint32_t row = made->mark - 1;
    if (made->mark > PEL_COUNT(module_rows)) return named_in(script_rows[row - PEL_COUNT(module_rows)].text, index);
    pel_str names = pel_str_of(made->mark ? module_rows[row].names : "");
    for (size_t at = 0; at < names.len; index--) {
        pel_str word = word_of(names, &at);
        if (!index) return word;
    }
    return PEL_STR("size");
}
