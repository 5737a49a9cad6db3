/* Functions of a TorchScript archive's code, translated: calls of modules, operators and plain Python. A function
 * without branches becomes one call a line, so that loops and modules of torch.nn are found in it. */
#include "source/script.h"

#include "load/audit/torch_ops.h"

#define MAX_DEPTH 200

typedef struct translator {
    pel_script *s;
    pel_ctx *ctx;
    pel_script_part *p; /* NULL: a free function */
    pel_script_file *file;
    bool is_flat;
    pel_map paths;   /* name -> pel_str *: the module that it is */
    pel_map callees; /* name -> pel_str *: the function of the file that it is */
    pel_map values;  /* name -> pel_node *: what is written for it */
    pel_map kinds;   /* name -> enum value_kind */
    pel_map taken;   /* names that variables may not have */
    pel_nodes out;
    uint32_t n_values;
    int depth;
} translator;

static pel_node *expr(translator *t, pel_node *node);

/* torch.slice(x, -2) is x[-2:] of a list, and all of x of a tensor. */
typedef enum value_kind { KIND_UNKNOWN, KIND_LIST, KIND_TENSOR } value_kind;

static _Noreturn void refuse(translator *t, const pel_node *where, const char *what, pel_str name) {
    pel_script_refuse(t->s, t->file, where, what, name);
}

static pel_str text_of(const pel_node *node) {
    bool is_text = node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR;
    return is_text ? node->Constant.value->text : (pel_str){ "", 0 };
}

/* "torch.add" of a dotted name; empty: it is none. */
static bool put_dotted(pel_buf *out, const pel_node *node) {
    if (node->kind == PEL_Name) {
        pel_put_name(out, node->Name.id);
        return true;
    }
    if (node->kind != PEL_Attribute || !put_dotted(out, node->Attribute.value)) return false;
    pel_put_byte(out, '.');
    pel_put_name(out, node->Attribute.attr);
    return true;
}

static pel_str dotted_name(pel_ctx *ctx, const pel_node *node) {
    pel_buf out = pel_buf_in(ctx);
    return put_dotted(&out, node) ? pel_buf_str(&out) : (pel_str){ "", 0 };
}

static bool is_call_of(const pel_node *node, const char *name, uint32_t n_args) {
    return node->kind == PEL_Call && node->Call.func->kind == PEL_Name && pel_name_is(node->Call.func->Name.id, name) &&
           node->Call.args.n == n_args;
}

/* ---- modules and their attributes ---- */

static pel_str below(translator *t, pel_str path, pel_str name) {
    return path.len ? pel_format(t->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
}

/* self.x, getattr(self.x, "0"): the owner and the name; NULL: it is neither. */
static const pel_node *owner_of(const pel_node *node, pel_str *name) {
    if (node->kind == PEL_Attribute) {
        *name = pel_name_str(node->Attribute.attr);
        return node->Attribute.value;
    }
    if (!is_call_of(node, "getattr", 2)) return NULL;
    *name = text_of(node->Call.args.at[1]);
    return node->Call.args.at[0];
}

/* The module that an expression is; false: it is none. */
static bool module_of(translator *t, const pel_node *node, pel_str *path) {
    pel_str name;
    if (node->kind == PEL_Name && t->p && pel_name_is(node->Name.id, "self")) {
        *path = t->p->part->path;
        return true;
    }
    if (node->kind == PEL_Name) {
        const pel_str *known = pel_map_pointer(&t->paths, PEL_KEY(node->Name.id));
        if (known) *path = *known;
        return known != NULL;
    }
    const pel_node *owner = owner_of(node, &name);
    pel_str inner;
    if (!owner || !module_of(t, owner, &inner)) return false;
    *path = below(t, inner, name);
    pel_part *part = pel_part_at(t->s->r, *path);
    return part && pel_map_has(&t->s->by_part, PEL_KEY(part));
}

static bool has_value(const pel_part *part, pel_str name) {
    for (uint32_t i = 0; i < part->held.n; i++)
        if (pel_str_eq(pel_name_str(part->held.at[i].name), name)) return true;
    for (uint32_t i = 0; i < part->attributes.n; i++)
        if (pel_str_eq(pel_name_str(part->attributes.at[i].name), name)) return true;
    return pel_str_is(name, "training");
}

/* A tensor or a plain value of a module; NULL: the expression is none. */
static pel_node *attribute_of(translator *t, const pel_node *node) {
    pel_str name, path;
    const pel_node *owner = owner_of(node, &name);
    if (!owner || !module_of(t, owner, &path)) return NULL;
    const pel_part *part = pel_part_at(t->s->r, path);
    if (!has_value(part, name)) refuse(t, node, "an attribute whose value can't be written", name);
    return pel_part_access(t->ctx, t->p->part->path, below(t, path, name));
}

/* ---- values ---- */

/* A name that people can read is kept behind a dot, for tidy.c; the code's own begin with _ or are input, x0. */
static pel_name new_value(translator *t, pel_name old) {
    pel_str hint = old ? pel_name_str(old) : (pel_str){ "", 0 };
    while (hint.len && hint.ptr[hint.len - 1] >= '0' && hint.ptr[hint.len - 1] <= '9') hint.len--;
    bool is_plain = hint.len && hint.ptr[0] != '_' && !pel_str_is(hint, "input") && !pel_str_is(hint, "argument_");
    pel_str text = is_plain ? pel_format(t->ctx, "v.%u.%.*s", t->n_values, PEL_FMT(hint))
                            : pel_format(t->ctx, "v.%u", t->n_values);
    t->n_values++;
    return pel_intern_str(t->ctx, text);
}

static pel_node *load(translator *t, pel_name name) { return pel_make_name(t->ctx, name, PEL_Load); }

/* In a flat function every call has a line of its own. */
static pel_node *emitted(translator *t, pel_node *call, pel_name old) {
    if (!t->is_flat) return call;
    pel_name name = new_value(t, old);
    pel_nodes_push(t->ctx, &t->out, pel_make_assign(t->ctx, pel_make_name(t->ctx, name, PEL_Store), call));
    return load(t, name);
}

/* ---- operators ---- */

static const char *const dtypes[] = { "uint8",   "int8",    "int16",  "int32",     "int64",      "float16",
                                      "float32", "float64", NULL,     "complex64", "complex128", "bool",
                                      "qint8",   "quint8",  "qint32", "bfloat16" };
static const char *const formats[] = { "contiguous_format", "preserve_format", "channels_last", "channels_last_3d" };

static pel_node *enumerated(translator *t, pel_node *value, const char *const *names, size_t n, const char *what) {
    bool is_number = value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_INT;
    if (!is_number) return value;
    int64_t number = value->Constant.value->integer.small;
    if (number < 0 || number >= (int64_t)n || !names[number])
        refuse(t, value, "a number that is not known", pel_str_of(what));
    return pel_dotted(t->ctx, pel_format(t->ctx, "torch.%s%c", names[number], 0).ptr);
}

static pel_node *keyword_value(translator *t, pel_name name, pel_node *value) {
    if (pel_name_is(name, "dtype")) return enumerated(t, value, dtypes, PEL_COUNT(dtypes), "dtype");
    if (pel_name_is(name, "memory_format")) return enumerated(t, value, formats, PEL_COUNT(formats), "memory_format");
    if (pel_name_is(name, "layout") && pel_is_number(value, 0)) return pel_dotted(t->ctx, "torch.strided");
    return value;
}

/* Which argument of these is a dtype, or a memory format. */
static void enumerate_arguments(translator *t, pel_str operator, pel_nodes * args) {
    static const struct {
        const char *operator;
        uint32_t dtype, format;
    } rows[] = { { "aten.to", 1, 4 },
                 { "aten.to", 2, 5 },
                 { "aten.softmax", 2, 99 },
                 { "aten.log_softmax", 2, 99 },
                 { "aten._softmax", 99, 99 } };
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        if (!pel_str_is(operator, rows[i].operator)) continue;
        if (rows[i].dtype < args->n)
            args->at[rows[i].dtype] = enumerated(t, args->at[rows[i].dtype], dtypes, PEL_COUNT(dtypes), "dtype");
        if (rows[i].format < args->n)
            args->at[rows[i].format] = enumerated(t, args->at[rows[i].format], formats, PEL_COUNT(formats), "format");
    }
}

/* _convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, ...) */
static pel_str plain_convolution(translator *t, const pel_node *where, pel_nodes *args) {
    pel_ctx *ctx = t->ctx;
    if (args->n < 9 || args->at[3]->kind != PEL_List || !args->at[3]->List.elts.n || args->at[3]->List.elts.n > 3)
        refuse(t, where, "a convolution of a form that is not known", PEL_STR("_convolution"));
    unsigned dims = args->at[3]->List.elts.n;
    bool is_transposed = pel_is_truth(args->at[6], true);
    pel_node *const straight[] = { args->at[0], args->at[1], args->at[2], args->at[3],
                                   args->at[4], args->at[5], args->at[8] };
    pel_node *const across[] = { args->at[0], args->at[1], args->at[2], args->at[3],
                                 args->at[4], args->at[7], args->at[8], args->at[5] };
    *args = is_transposed ? pel_nodes_of(ctx, across, 8) : pel_nodes_of(ctx, straight, 7);
    return pel_format(ctx, is_transposed ? "aten.conv_transpose%ud" : "aten.conv%ud", dims);
}

static pel_str operator_of(translator *t, const pel_node *where, pel_str name) {
    pel_str torch = PEL_STR("torch."), ops = PEL_STR("ops.");
    pel_str operator= pel_str_starts(name, torch)
        ? pel_format(t->ctx, "aten.%.*s", PEL_FMT(pel_str_from(name, torch.len)))
        : pel_str_from(name, ops.len);
    bool is_aten = pel_str_starts(operator, PEL_STR("aten."));
    if (is_aten && !pel_is_spelled(operator) &&
        pel_judge_torch_target(t->ctx, pel_format(t->ctx, "torch.ops.%.*s", PEL_FMT(operator))) > PEL_NOTE)
        refuse(t, where, "an operator that has no place in a source", name);
    if (!is_aten && !pel_is_spelled(operator) && !pel_str_is(operator, "prim.NumToTensor"))
        refuse(t, where, "an operator that no row knows", name);
    return operator;
}

static value_kind kind_of_type(const pel_node *type) {
    if (!type) return KIND_UNKNOWN;
    if (type->kind == PEL_Name && pel_name_is(type->Name.id, "Tensor")) return KIND_TENSOR;
    bool is_list = type->kind == PEL_Subscript && type->Subscript.value->kind == PEL_Name &&
                   pel_name_is(type->Subscript.value->Name.id, "List");
    return is_list ? KIND_LIST : KIND_UNKNOWN;
}

/* What an expression of the code is, as far as that is certain. */
static value_kind kind_of(translator *t, const pel_node *node) {
    static const char *const tensors[] = { "torch.slice",   "torch.select", "torch.index",    "torch.add",
                                           "torch.mul",     "torch.view",   "torch.permute",  "torch.reshape",
                                           "torch.flatten", "torch.cat",    "torch.unsqueeze" };
    if (node->kind == PEL_List) return KIND_LIST;
    if (node->kind == PEL_Name) return (value_kind)pel_map_find(&t->kinds, PEL_KEY(node->Name.id), KIND_UNKNOWN);
    if (node->kind != PEL_Call) return KIND_UNKNOWN;
    if (is_call_of(node, "annotate", 2)) return kind_of_type(node->Call.args.at[0]);
    pel_str name = dotted_name(t->ctx, node->Call.func), path;
    if (pel_str_is(name, "torch.size") && node->Call.args.n == 1) return KIND_LIST;
    if (t->s->is_traced && node->Call.func->kind == PEL_Attribute &&
        module_of(t, node->Call.func->Attribute.value, &path))
        return KIND_TENSOR; /* a trace hands tensors on, one by one */
    for (size_t i = 0; i < PEL_COUNT(tensors) && node->Call.args.n; i++)
        if (pel_str_is(name, tensors[i])) return i < 5 ? kind_of(t, node->Call.args.at[0]) : KIND_TENSOR;
    return t->s->is_traced && pel_str_starts(name, PEL_STR("torch.")) ? KIND_TENSOR : KIND_UNKNOWN;
}

/* A list's part in Python's form; of what may be either, torch decides when it runs. */
static pel_node *sliced(translator *t, pel_node *node) {
    value_kind kind = kind_of(t, node->Call.args.at[0]);
    pel_nodes args = { 0 };
    if (kind == KIND_TENSOR || node->Call.keywords.n) return NULL;
    for (uint32_t i = 0; i < node->Call.args.n; i++) pel_nodes_push(t->ctx, &args, expr(t, node->Call.args.at[i]));
    if (kind == KIND_UNKNOWN)
        return pel_make_call(t->ctx, pel_dotted(t->ctx, "torch.ops.aten.slice"), args, (pel_nodes){ 0 });
    pel_node *slice = pel_node_new(t->ctx, PEL_Slice);
    if (args.n > 1 && !pel_is_none(args.at[1])) slice->Slice.lower = args.at[1];
    if (args.n > 2 && !pel_is_none(args.at[2]) && !pel_is_number(args.at[2], INT64_MAX))
        slice->Slice.upper = args.at[2];
    if (args.n > 3 && !pel_is_number(args.at[3], 1)) slice->Slice.step = args.at[3];
    return pel_make_subscript(t->ctx, args.at[0], slice, PEL_Load);
}

static pel_node *operator_call(translator *t, pel_node *node, pel_str name) {
    pel_ctx *ctx = t->ctx;
    pel_nodes args = { 0 }, keywords = { 0 };
    pel_str operator= operator_of(t, node, name);
    pel_node *part = pel_str_is(operator, "aten.slice") && node->Call.args.n ? sliced(t, node) : NULL;
    if (part) return part;
    for (uint32_t i = 0; i < node->Call.args.n; i++) pel_nodes_push(ctx, &args, expr(t, node->Call.args.at[i]));
    for (uint32_t i = 0; i < node->Call.keywords.n; i++) {
        pel_name key = node->Call.keywords.at[i]->keyword.arg;
        pel_node *value = keyword_value(t, key, expr(t, node->Call.keywords.at[i]->keyword.value));
        pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, key, value));
    }
    if (pel_str_is(operator, "aten.format") && args.n) {
        pel_node *method = pel_make_attribute(ctx, args.at[0], pel_intern_c(ctx, "format"), PEL_Load);
        return pel_make_call(ctx, method, pel_nodes_of(ctx, args.at + 1, args.n - 1), keywords);
    }
    enumerate_arguments(t, operator, & args);
    if (pel_str_is(operator, "aten._convolution") || pel_str_is(operator, "aten.convolution"))
        operator= plain_convolution(t, node, &args);
    if (pel_str_is(operator, "aten._convolution_mode") && args.n == 7 && args.at[3]->kind == PEL_List)
        operator= pel_format(ctx, "aten.conv%ud", args.at[3]->List.elts.n);
    pel_node *call = pel_make_call(ctx, load(t, pel_intern_str(ctx, operator)), args, keywords);
    call->lineno = node->lineno;
    return call;
}

/* ---- calls ---- */

static pel_nodes arguments(translator *t, const pel_nodes *given) {
    pel_nodes args = { 0 };
    for (uint32_t i = 0; i < given->n; i++) pel_nodes_push(t->ctx, &args, expr(t, given->at[i]));
    return args;
}

static pel_nodes keywords(translator *t, const pel_nodes *given) {
    pel_nodes list = { 0 };
    for (uint32_t i = 0; i < given->n; i++)
        pel_nodes_push(t->ctx, &list,
                       pel_make_keyword(t->ctx, given->at[i]->keyword.arg, expr(t, given->at[i]->keyword.value)));
    return list;
}

static pel_node *module_call(translator *t, pel_node *node, pel_str path) {
    pel_name method = node->Call.func->Attribute.attr;
    const pel_script_part *callee = pel_map_pointer(&t->s->by_part, PEL_KEY(pel_part_at(t->s->r, path)));
    pel_name name = pel_map_pointer(&callee->methods, PEL_KEY(method));
    pel_node *function = pel_part_access(t->ctx, t->p->part->path, path);
    if (name) method = name;
    if (!pel_name_is(method, "forward")) function = pel_make_attribute(t->ctx, function, method, PEL_Load);
    return pel_make_call(t->ctx, function, arguments(t, &node->Call.args), keywords(t, &node->Call.keywords));
}

/* isinstance(x, List[Tensor]): Python asks for the list alone. */
static pel_node *type_test(translator *t, pel_node *node) {
    static const char *const types[][2] = { { "Tensor", "torch.Tensor" }, { "List", "list" }, { "Tuple", "tuple" },
                                            { "Dict", "dict" },           { "int", "int" },   { "float", "float" },
                                            { "bool", "bool" },           { "str", "str" } };
    const pel_node *type = node->Call.args.at[1];
    if (type->kind == PEL_Subscript) type = type->Subscript.value;
    for (size_t i = 0; i < PEL_COUNT(types) && type->kind == PEL_Name; i++) {
        if (!pel_name_is(type->Name.id, types[i][0])) continue;
        pel_nodes args = { 0 };
        pel_nodes_push(t->ctx, &args, expr(t, node->Call.args.at[0]));
        pel_nodes_push(t->ctx, &args, pel_dotted(t->ctx, types[i][1]));
        return pel_make_call(t->ctx, node->Call.func, args, (pel_nodes){ 0 });
    }
    refuse(t, node, "a test of a type that is not known", PEL_STR("isinstance"));
}

static pel_node *builtin_call(translator *t, pel_node *node) {
    static const char *const plain[] = { "int", "float", "bool", "str", "range", "len" };
    if (is_call_of(node, "annotate", 2) || is_call_of(node, "unchecked_cast", 2)) return expr(t, node->Call.args.at[1]);
    if (is_call_of(node, "isinstance", 2)) return emitted(t, type_test(t, node), NULL);
    if (is_call_of(node, "uninitialized", 1)) return pel_make_none(t->ctx);
    for (size_t i = 0; i < PEL_COUNT(plain); i++)
        if (pel_name_is(node->Call.func->Name.id, plain[i]))
            return emitted(t, pel_make_call(t->ctx, node->Call.func, arguments(t, &node->Call.args), (pel_nodes){ 0 }),
                           NULL);
    refuse(t, node, "a call of something that is not known", pel_name_str(node->Call.func->Name.id));
}

/* The call itself, not yet on a line of its own; NULL: it is no call in Python. */
static pel_node *raw_call(translator *t, pel_node *node) {
    pel_str path, name = dotted_name(t->ctx, node->Call.func);
    const pel_str *callee = NULL;
    if (node->Call.func->kind == PEL_Name) callee = pel_map_pointer(&t->callees, PEL_KEY(node->Call.func->Name.id));
    if (callee) name = *callee;
    if (node->Call.func->kind == PEL_Attribute && module_of(t, node->Call.func->Attribute.value, &path))
        return module_call(t, node, path);
    if (pel_str_is(name, "torch.device")) return NULL;
    if (pel_str_starts(name, PEL_STR("torch.")) || pel_str_starts(name, PEL_STR("ops.")))
        return operator_call(t, node, name);
    if (pel_str_starts(name, PEL_STR("__torch__."))) {
        return pel_make_call(t->ctx, pel_script_needs(t->s, name, t->file, node), arguments(t, &node->Call.args),
                             keywords(t, &node->Call.keywords));
    }
    return NULL;
}

/* A member that a trace called for nothing: nn.Identity, and what it left of a dropout. Its method was left out. */
static bool is_nothing(translator *t, const pel_node *node) {
    pel_str path;
    if (!t->s->is_traced || node->kind != PEL_Call || node->Call.args.n || node->Call.func->kind != PEL_Attribute ||
        !module_of(t, node->Call.func->Attribute.value, &path))
        return false;
    const pel_script_part *callee = pel_map_pointer(&t->s->by_part, PEL_KEY(pel_part_at(t->s->r, path)));
    return !pel_map_has(&callee->methods, PEL_KEY(node->Call.func->Attribute.attr));
}

static pel_node *call(translator *t, pel_node *node, pel_name old) {
    if (is_nothing(t, node)) return pel_make_none(t->ctx);
    if (is_call_of(node, "getattr", 2)) {
        pel_node *value = attribute_of(t, node);
        if (!value) refuse(t, node, "an attribute of something that is no module", PEL_STR("getattr"));
        return value;
    }
    pel_node *made = raw_call(t, node);
    if (made) return emitted(t, made, old);
    if (node->Call.func->kind == PEL_Name) return builtin_call(t, node);
    if (pel_str_is(dotted_name(t->ctx, node->Call.func), "torch.device") && node->Call.args.n == 1)
        return expr(t, node->Call.args.at[0]);
    refuse(t, node, "a call of something that is not known", dotted_name(t->ctx, node->Call.func));
}

/* ---- expressions ---- */

static void expr_slot(void *arg, pel_node **slot) {
    translator *t = arg;
    bool is_expression = pel_kinds[(*slot)->kind].class == PEL_EXPR;
    if (is_expression)
        *slot = expr(t, *slot);
    else
        pel_each_child(*slot, expr_slot, t);
}

static pel_node *constant_of(translator *t, const pel_node *node) {
    pel_str name = pel_name_str(node->Attribute.attr);
    int64_t index = 0;
    for (size_t i = 1; i < name.len && i < 9; i++) index = index * 10 + (name.ptr[i] - '0');
    pel_node *value = pel_script_constant(t->s, index);
    if (!value) refuse(t, node, "a constant tensor whose values can't be written", name);
    return value;
}

/* Long because it is a list of kinds. */
static pel_node *expr_of(translator *t, pel_node *node) {
    pel_ctx *ctx = t->ctx;
    pel_str path;
    switch ((pel_kind)node->kind) {
    case PEL_Constant: return node;
    case PEL_Name: {
        pel_node *value = pel_map_pointer(&t->values, PEL_KEY(node->Name.id));
        if (!value) refuse(t, node, "a value that nothing makes", pel_name_str(node->Name.id));
        return value;
    }
    case PEL_Attribute: {
        bool is_name = node->Attribute.value->kind == PEL_Name;
        if (is_name && pel_name_is(node->Attribute.value->Name.id, "CONSTANTS")) return constant_of(t, node);
        if (module_of(t, node, &path)) refuse(t, node, "a module as a value", path);
        pel_node *value = attribute_of(t, node);
        return value ? value : pel_make_attribute(ctx, expr(t, node->Attribute.value), node->Attribute.attr, PEL_Load);
    }
    case PEL_Call: return call(t, node, NULL);
    case PEL_List:
    case PEL_Tuple:
    case PEL_Dict:
    case PEL_Subscript:
    case PEL_Slice:
    case PEL_UnaryOp:
    case PEL_BinOp:
    case PEL_Compare:
    case PEL_BoolOp:
    case PEL_IfExp: {
        pel_node *copy = pel_copy_node(ctx, node);
        if (node->kind == PEL_List) copy->List.elts = pel_nodes_of(ctx, node->List.elts.at, node->List.elts.n);
        if (node->kind == PEL_Tuple) copy->Tuple.elts = pel_nodes_of(ctx, node->Tuple.elts.at, node->Tuple.elts.n);
        if (node->kind == PEL_Dict) {
            copy->Dict.keys = pel_nodes_of(ctx, node->Dict.keys.at, node->Dict.keys.n);
            copy->Dict.values = pel_nodes_of(ctx, node->Dict.values.at, node->Dict.values.n);
        }
        if (node->kind == PEL_Compare)
            copy->Compare.comparators = pel_nodes_of(ctx, node->Compare.comparators.at, node->Compare.comparators.n);
        if (node->kind == PEL_BoolOp)
            copy->BoolOp.values = pel_nodes_of(ctx, node->BoolOp.values.at, node->BoolOp.values.n);
        pel_each_child(copy, expr_slot, t);
        return copy;
    }
    default: refuse(t, node, "an expression that is not known", pel_str_of(pel_kinds[node->kind].name));
    }
}

static pel_node *expr(translator *t, pel_node *node) {
    if (++t->depth > MAX_DEPTH) refuse(t, node, "expressions nest too deep", PEL_STR("expression"));
    pel_node *made = expr_of(t, node);
    t->depth--;
    return made;
}

/* ---- statements ---- */

static void statement(translator *t, pel_node *node);

/* A variable of a function with branches keeps its name, unless that would hide another. */
static pel_node *variable(translator *t, pel_name name) {
    pel_node *known = pel_map_pointer(&t->values, PEL_KEY(name));
    if (known && known->kind == PEL_Name) return known;
    pel_str text = pel_name_str(name);
    while (pel_map_has(&t->taken, PEL_KEY(pel_intern_str(t->ctx, text))))
        text = pel_format(t->ctx, "%.*s_", PEL_FMT(text));
    pel_name final = pel_intern_str(t->ctx, text);
    pel_map_set(t->ctx, &t->taken, PEL_KEY(final), 1);
    pel_map_set(t->ctx, &t->values, PEL_KEY(name), PEL_KEY(load(t, final)));
    return load(t, final);
}

static void push(translator *t, pel_node *line) { pel_nodes_push(t->ctx, &t->out, line); }

/* `_0 = __torch__.package.function`: the code names what it calls first. */
static bool is_function_alias(translator *t, pel_name name, const pel_node *value) {
    pel_str full = value->kind == PEL_Attribute ? dotted_name(t->ctx, value) : (pel_str){ "", 0 };
    if (!pel_str_starts(full, PEL_STR("__torch__."))) return false;
    pel_str *kept = pel_new(t->ctx, pel_str);
    *kept = full;
    pel_map_set(t->ctx, &t->callees, PEL_KEY(name), PEL_KEY(kept));
    return true;
}

static void assign_name(translator *t, pel_name name, pel_node *value, pel_node *where) {
    pel_str path;
    if (is_function_alias(t, name, value)) return;
    if (module_of(t, value, &path)) {
        const pel_str *before = pel_map_pointer(&t->paths, PEL_KEY(name));
        if (before && !pel_str_eq(*before, path)) refuse(t, where, "a variable that is one module or another", path);
        pel_str *kept = pel_new(t->ctx, pel_str);
        *kept = path;
        pel_map_set(t->ctx, &t->paths, PEL_KEY(name), PEL_KEY(kept));
        return;
    }
    pel_map_set(t->ctx, &t->kinds, PEL_KEY(name), kind_of(t, value));
    pel_node *made = value->kind == PEL_Call ? call(t, value, name) : expr(t, value);
    if (!t->is_flat) {
        push(t, pel_make_assign(t->ctx, pel_make_name(t->ctx, variable(t, name)->Name.id, PEL_Store), made));
        return;
    }
    bool is_short = made->kind == PEL_Name || made->kind == PEL_Constant || made->kind == PEL_Attribute;
    if (!is_short) {
        pel_name kept = new_value(t, name);
        push(t, pel_make_assign(t->ctx, pel_make_name(t->ctx, kept, PEL_Store), made));
        made = load(t, kept);
    }
    pel_map_set(t->ctx, &t->values, PEL_KEY(name), PEL_KEY(made));
}

static void assign(translator *t, pel_node *node) {
    pel_node *target = node->Assign.targets.at[0];
    if (node->Assign.targets.n != 1) refuse(t, node, "an assignment of several targets", PEL_STR("="));
    if (target->kind == PEL_Name) {
        assign_name(t, target->Name.id, node->Assign.value, node);
        return;
    }
    if (target->kind != PEL_Tuple) refuse(t, node, "a module changes its attribute", PEL_STR("="));
    pel_node *made = node->Assign.value->kind == PEL_Call ? raw_call(t, node->Assign.value) : NULL;
    if (!made) made = expr(t, node->Assign.value);
    pel_node *row = pel_node_new(t->ctx, PEL_Tuple);
    row->Tuple.ctx = PEL_Store;
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++) {
        const pel_node *item = target->Tuple.elts.at[i];
        if (item->kind != PEL_Name) refuse(t, node, "an assignment of a form that is not known", PEL_STR("="));
        pel_name name = t->is_flat ? new_value(t, item->Name.id) : variable(t, item->Name.id)->Name.id;
        if (t->is_flat) pel_map_set(t->ctx, &t->values, PEL_KEY(item->Name.id), PEL_KEY(load(t, name)));
        pel_nodes_push(t->ctx, &row->Tuple.elts, pel_make_name(t->ctx, name, PEL_Store));
    }
    push(t, pel_make_assign(t->ctx, row, made));
}

static pel_nodes block(translator *t, const pel_nodes *body) {
    pel_nodes outer = t->out;
    t->out = (pel_nodes){ 0 };
    for (uint32_t i = 0; i < body->n; i++) statement(t, body->at[i]);
    pel_nodes made = t->out;
    if (!made.n) pel_nodes_push(t->ctx, &made, pel_node_new(t->ctx, PEL_Pass));
    t->out = outer;
    return made;
}

/* raise RuntimeError("...") */
static pel_node *raised(translator *t, pel_node *call) {
    pel_node *raise = pel_node_new(t->ctx, PEL_Raise);
    pel_nodes args = { 0 };
    if (call->Call.args.n) pel_nodes_push(t->ctx, &args, expr(t, call->Call.args.at[0]));
    raise->Raise.exc = pel_make_call(t->ctx, pel_name_node(t->ctx, "RuntimeError"), args, (pel_nodes){ 0 });
    return raise;
}

static void expression(translator *t, pel_node *value) {
    pel_str name = value->kind == PEL_Call ? dotted_name(t->ctx, value->Call.func) : (pel_str){ "", 0 };
    if (value->kind != PEL_Call) refuse(t, value, "a line that does nothing", pel_str_of(pel_kinds[value->kind].name));
    if (pel_str_is(name, "ops.prim.RaiseException")) {
        push(t, raised(t, value));
    } else if (pel_str_is(name, "torch._set_item") && value->Call.args.n == 3) {
        pel_node *place =
            pel_make_subscript(t->ctx, expr(t, value->Call.args.at[0]), expr(t, value->Call.args.at[1]), PEL_Store);
        push(t, pel_make_assign(t->ctx, place, expr(t, value->Call.args.at[2])));
    } else if (!is_nothing(t, value) && !pel_str_is(name, "torch.warn")) {
        pel_node *made = raw_call(t, value);
        push(t, pel_make_expr(t->ctx, made ? made : expr(t, value)));
    }
}

static void branch(translator *t, pel_node *node) {
    pel_node *made = pel_node_new(t->ctx, PEL_If);
    made->If.test = expr(t, node->If.test);
    made->If.body = block(t, &node->If.body);
    if (node->If.orelse.n) made->If.orelse = block(t, &node->If.orelse);
    if (made->If.orelse.n == 1 && made->If.orelse.at[0]->kind == PEL_Pass) made->If.orelse = (pel_nodes){ 0 };
    push(t, made);
}

static void loop(translator *t, pel_node *node) {
    pel_node *made = pel_node_new(t->ctx, node->kind);
    if (node->kind == PEL_While) {
        made->While.test = expr(t, node->While.test);
        made->While.body = block(t, &node->While.body);
    } else {
        if (node->For.target->kind != PEL_Name) refuse(t, node, "a loop of a form that is not known", PEL_STR("for"));
        made->For.iter = expr(t, node->For.iter);
        made->For.target = pel_make_name(t->ctx, variable(t, node->For.target->Name.id)->Name.id, PEL_Store);
        made->For.body = block(t, &node->For.body);
    }
    push(t, made);
}

static void statement(translator *t, pel_node *node) {
    if (++t->depth > MAX_DEPTH) refuse(t, node, "statements nest too deep", PEL_STR("statement"));
    switch ((pel_kind)node->kind) {
    case PEL_Assign: assign(t, node); break;
    case PEL_AnnAssign:
        if (node->AnnAssign.target->kind != PEL_Name) refuse(t, node, "a module changes its attribute", PEL_STR("="));
        if (node->AnnAssign.value) assign_name(t, node->AnnAssign.target->Name.id, node->AnnAssign.value, node);
        break;
    case PEL_Expr: expression(t, node->Expr.value); break;
    case PEL_Return: push(t, pel_make_return(t->ctx, node->Return.value ? expr(t, node->Return.value) : NULL)); break;
    case PEL_If: branch(t, node); break;
    case PEL_While:
    case PEL_For: loop(t, node); break;
    case PEL_Pass:
    case PEL_Break:
    case PEL_Continue: push(t, node); break;
    default: refuse(t, node, "a statement that is not known", pel_str_of(pel_kinds[node->kind].name));
    }
    t->depth--;
}

/* ---- functions ---- */

static bool is_straight(const pel_nodes *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        pel_kind kind = (pel_kind)body->at[i]->kind;
        if (kind == PEL_Return ? i + 1 < body->n : kind != PEL_Assign && kind != PEL_AnnAssign && kind != PEL_Expr)
            return false;
    }
    return body->n > 0;
}

static pel_node *arguments_of(translator *t, const pel_node *function) {
    pel_ctx *ctx = t->ctx;
    const pel_node *given = function->FunctionDef.args;
    pel_node *made = pel_node_new(ctx, PEL_arguments);
    for (uint32_t i = 0; i < given->arguments.args.n; i++) {
        pel_name name = given->arguments.args.at[i]->arg.arg;
        pel_node *arg = pel_node_new(ctx, PEL_arg);
        bool is_self = !i && t->p;
        arg->arg.arg = is_self ? name : t->is_flat ? new_value(t, name) : variable(t, name)->Name.id;
        pel_map_set(ctx, &t->kinds, PEL_KEY(name), kind_of_type(given->arguments.args.at[i]->arg.annotation));
        if (!is_self) pel_map_set(ctx, &t->values, PEL_KEY(name), PEL_KEY(load(t, arg->arg.arg)));
        pel_nodes_push(ctx, &made->arguments.args, arg);
    }
    for (uint32_t i = 0; i < given->arguments.defaults.n; i++)
        pel_nodes_push(ctx, &made->arguments.defaults, expr(t, given->arguments.defaults.at[i]));
    return made;
}

pel_node *pel_script_translate(pel_script *s, pel_script_part *p, pel_script_file *file, const pel_node *function) {
    static const char *const reserved[] = { "self", "torch", "nn",   "F",    "float", "getattr", "range", "int",
                                            "math", "len",   "list", "dict", "str",   "bool",    "max",   "min" };
    translator t = { .s = s, .ctx = s->r->ctx, .p = p, .file = file };
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        pel_map_set(t.ctx, &t.taken, PEL_KEY(pel_intern_c(t.ctx, reserved[i])), 1);
    t.is_flat = is_straight(&function->FunctionDef.body);
    pel_node *made = pel_node_new(t.ctx, PEL_FunctionDef);
    made->FunctionDef.name = function->FunctionDef.name;
    made->FunctionDef.args = arguments_of(&t, function);
    for (uint32_t i = 0; i < function->FunctionDef.body.n; i++) statement(&t, function->FunctionDef.body.at[i]);
    if (t.is_flat) pel_script_sizes(t.ctx, &t.out);
    made->FunctionDef.body = t.out;
    made->mark = t.is_flat ? PEL_FROM_GRAPH : PEL_WITH_BRANCHES;
    if (!t.out.n) pel_nodes_push(t.ctx, &made->FunctionDef.body, pel_node_new(t.ctx, PEL_Pass));
    s->n_translated++;
    return made;
}

/* torch's own functions are called as everybody does; the others are written before the classes. */
pel_node *pel_script_needs(pel_script *s, pel_str full, const pel_script_file *caller, const pel_node *where) {
    pel_ctx *ctx = s->r->ctx;
    pel_str functional = PEL_STR("torch.nn.functional."), plain = pel_script_plain(ctx, full);
    if (pel_str_starts(plain, functional))
        return pel_dotted(ctx, pel_format(ctx, "F.%.*s%c", PEL_FMT(pel_str_from(plain, functional.len)), 0).ptr);
    if (pel_str_starts(plain, PEL_STR("torch.")))
        return pel_dotted(ctx, pel_format(ctx, "%.*s%c", PEL_FMT(plain), 0).ptr);
    pel_name key = pel_intern_str(ctx, full);
    pel_name known = pel_map_pointer(&s->functions, PEL_KEY(key));
    if (known) return pel_make_name(ctx, known, PEL_Load);
    pel_script_file *file = NULL;
    const pel_node *function = pel_script_function(s, full, &file);
    if (!function) pel_script_refuse(s, caller, where, "a function that the file does not have", full);
    pel_name name = function->FunctionDef.name;
    for (unsigned i = 2; !pel_map_set(ctx, &s->function_names, PEL_KEY(name), 1); i++)
        name = pel_intern_str(ctx, pel_format(ctx, "%s_%u", function->FunctionDef.name->text, i));
    pel_map_set(ctx, &s->functions, PEL_KEY(key), PEL_KEY(name)); /* TorchScript has no recursion */
    pel_node *made = pel_script_text(s, NULL, file, function);
    if (made)
        s->n_texts++;
    else
        made = pel_script_translate(s, NULL, file, function);
    made->FunctionDef.name = name;
    pel_nodes_push(ctx, &s->r->functions, made);
    return pel_make_name(ctx, name, PEL_Load);
}
