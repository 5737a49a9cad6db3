/* Plain values as Python expressions. */
#include "python/parse.h"
#include "trace/program.h"

#define DEEPEST_GIVEN 6 /* of members in what callers give */

#include <math.h>

#define MAX_DEPTH 64

/* ---- library names ---- */

/* How programmers usually write a library's names. The first row whose prefix fits decides. */
static const struct {
    const char *prefix; /* of the dotted path, with its dot */
    const char *written;
    const char *module; /* what must be imported */
} usual_names[] = {
    { "torch.nn.functional.", "F", "torch.nn.functional" },
    { "torch.nn.attention.flex_attention.", "torch.nn.attention.flex_attention", "torch.nn.attention.flex_attention" },
    { "torch.nn.attention.", "torch.nn.attention", "torch.nn.attention" },
    { "torch.nn.utils.prune.", "torch.nn.utils.prune", "torch.nn.utils.prune" },
    { "torch.nn.", "nn", "torch.nn" },
    { "torch.utils.checkpoint.", "torch.utils.checkpoint", "torch.utils.checkpoint" },
    { "torch.", "torch", "torch" },
    { "numpy.", "np", "numpy" },
    { "os.path.", "os.path", "os.path" },
    { "collections.OrderedDict.", "OrderedDict", "collections.OrderedDict" },
    { "contextlib.contextmanager.", "contextmanager", "contextlib.contextmanager" },
    { "dataclasses.dataclass.", "dataclass", "dataclasses.dataclass" },
    { "typing.NamedTuple.", "NamedTuple", "typing.NamedTuple" },
};

/* Top-level modules: a path without a dot is one of these, or a builtin. */
static const char *const modules[] = {
    "torch",  "math",   "numpy",       "operator",   "functools", "itertools",   "collections", "copy",
    "re",     "random", "types",       "typing",     "enum",      "dataclasses", "contextlib",  "string",
    "bisect", "heapq",  "contextvars", "statistics", "cmath",     "numbers",     "inspect",     "warnings",
    "os",     "sys",    "abc",         "fractions",  "decimal",   "time",        "weakref",     "threading",
};

static void add_import(pel_ctx *ctx, pel_program *program, pel_str module) {
    pel_name name = pel_intern_str(ctx, module);
    for (uint32_t i = 0; i < program->imports.n; i++)
        if (program->imports.at[i] == name) return;
    pel_push(ctx, &program->imports, name);
}

/* a.b.c, as attributes of attributes */
static pel_node *dotted(pel_ctx *ctx, pel_str path) {
    pel_node *node = NULL;
    for (size_t start = 0; start <= path.len;) {
        size_t end = start;
        while (end < path.len && path.ptr[end] != '.') end++;
        pel_name part = pel_intern(ctx, path.ptr + start, end - start);
        node = node ? pel_make_attribute(ctx, node, part, PEL_Load) : pel_make_name(ctx, part, PEL_Load);
        start = end + 1;
    }
    return node;
}

pel_node *pel_library_expression(pel_ctx *ctx, pel_program *program, pel_str path) {
    for (size_t i = 0; i < PEL_COUNT(usual_names); i++) {
        pel_str prefix = pel_str_of(usual_names[i].prefix), module = pel_str_of(usual_names[i].module);
        bool is_module_itself = pel_str_eq(path, module);
        if (!is_module_itself && !pel_str_starts(path, prefix)) continue;
        add_import(ctx, program, module);
        pel_str written = pel_str_of(usual_names[i].written);
        if (is_module_itself) return dotted(ctx, written);
        return dotted(ctx, pel_format(ctx, "%.*s.%.*s", PEL_FMT(written), PEL_FMT(pel_str_from(path, prefix.len))));
    }
    size_t dot = 0;
    while (dot < path.len && path.ptr[dot] != '.') dot++;
    pel_str first = pel_str_cut(path, 0, dot);
    if (pel_str_is(first, "builtins")) return dotted(ctx, pel_str_from(path, dot + 1));
    bool needs_import = dot < path.len && !pel_is_builtin(first); /* str.strip */
    for (size_t i = 0; i < PEL_COUNT(modules) && !needs_import; i++) needs_import = pel_str_is(first, modules[i]);
    if (needs_import) add_import(ctx, program, first);
    return dotted(ctx, path);
}

/* ---- values ---- */

static pel_node *call_builtin(pel_ctx *ctx, const char *name, pel_node *argument) {
    pel_nodes args = argument ? pel_nodes_one(ctx, argument) : (pel_nodes){ 0 };
    return pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, name), PEL_Load), args, (pel_nodes){ 0 });
}

static pel_node *negated(pel_ctx *ctx, const pel_const *magnitude) {
    pel_node *node = pel_node_new(ctx, PEL_UnaryOp);
    node->UnaryOp.op = PEL_USub;
    node->UnaryOp.operand = pel_make_constant(ctx, magnitude);
    return node;
}

/* Literals have no sign and no infinity: those are expressions. */
static pel_node *constant_expression(pel_ctx *ctx, const pel_const *value) {
    if (value->kind == PEL_CONST_INT && value->integer.digits.len && value->integer.digits.ptr[0] == '-') {
        pel_const *magnitude = pel_new(ctx, pel_const);
        *magnitude = *value;
        magnitude->integer.digits = pel_str_from(value->integer.digits, 1);
        return negated(ctx, magnitude);
    }
    if (value->kind == PEL_CONST_INT && !value->integer.digits.len && value->integer.small < 0) {
        if (value->integer.small == INT64_MIN) { /* its magnitude does not fit */
            pel_const *magnitude = pel_new(ctx, pel_const);
            magnitude->kind = PEL_CONST_INT;
            magnitude->integer.digits = PEL_STR("9223372036854775808");
            return negated(ctx, magnitude);
        }
        return negated(ctx, pel_const_int(ctx, -value->integer.small));
    }
    if (value->kind == PEL_CONST_FLOAT && !isfinite(value->real)) {
        const char *text = isnan(value->real) ? "nan" : value->real > 0 ? "inf" : "-inf";
        return call_builtin(ctx, "float", pel_make_text(ctx, pel_str_of(text)));
    }
    if (value->kind == PEL_CONST_COMPLEX && !(isfinite(value->real) && isfinite(value->imag))) {
        pel_buf text = pel_buf_in(ctx);
        pel_put_repr(&text, value);
        return call_builtin(ctx, "complex", pel_make_text(ctx, pel_buf_str(&text)));
    }
    if (value->kind == PEL_CONST_FLOAT && signbit(value->real)) return negated(ctx, pel_const_float(ctx, -value->real));
    if (value->kind == PEL_CONST_OBJECT || value->kind == PEL_CONST_CODE) return NULL;
    return pel_make_constant(ctx, value);
}

static pel_node *expression_of(pel_ctx *ctx, pel_program *program, pel_id id, int depth);

static bool expressions_of(pel_ctx *ctx, pel_program *program, const pel_value *value, int depth, pel_nodes *out) {
    *out = (pel_nodes){ value->n ? pel_new_array(ctx, value->n, pel_node *) : NULL, value->n };
    for (uint32_t i = 0; i < value->n; i++)
        if (!(out->at[i] = expression_of(ctx, program, value->items[i], depth + 1))) return false;
    return true;
}

static pel_node *collection(pel_ctx *ctx, pel_kind kind, pel_nodes items) {
    pel_node *node = pel_node_new(ctx, kind);
    if (kind == PEL_Tuple) node->Tuple.elts = items;
    if (kind == PEL_List) node->List.elts = items;
    if (kind == PEL_Set) node->Set.elts = items;
    return node;
}

static pel_node *dict_expression(pel_ctx *ctx, pel_nodes items) {
    pel_node *node = pel_node_new(ctx, PEL_Dict);
    node->Dict.keys = node->Dict.values = (pel_nodes){ NULL, items.n / 2 };
    node->Dict.keys.at = pel_new_array(ctx, items.n / 2, pel_node *);
    node->Dict.values.at = pel_new_array(ctx, items.n / 2, pel_node *);
    for (uint32_t i = 0; i < items.n / 2; i++) {
        node->Dict.keys.at[i] = items.at[2 * i];
        node->Dict.values.at[i] = items.at[2 * i + 1];
    }
    return node;
}

static pel_node *class_expression(pel_ctx *ctx, pel_program *program, pel_id id) {
    const pel_log_class *class = pel_class_at(program->log, id);
    if (class->kind == PEL_CLASS_TORCH_MODULE || class->kind == PEL_CLASS_LIBRARY)
        return class->path.len ? pel_library_expression(ctx, program, class->path) : NULL;
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->class == id) return pel_make_name(ctx, program->classes.at[i]->name, PEL_Load);
    return NULL;
}

static bool holds_member(const pel_log *log, pel_id id, pel_id class, int depth) {
    const pel_value *value = pel_value_at(log, id);
    if (value->kind == PEL_V_OBJECT && value->class == class) return true;
    for (uint32_t i = 0; depth < DEEPEST_GIVEN && pel_value_has_items(value->kind) && i < value->n; i++)
        if (holds_member(log, value->items[i], class, depth + 1)) return true;
    return false;
}

static bool is_given_member(const pel_log *log, pel_id class) {
    for (uint32_t r = 0; r < log->runs.n; r++) {
        const pel_log_run *run = &log->runs.at[r];
        for (uint32_t i = 0; i < run->n_args; i++)
            if (holds_member(log, run->args[i], class, 0)) return true;
        for (uint32_t i = 0; i < run->n_kwargs; i++)
            if (holds_member(log, run->kwargs[i].value, class, 0)) return true;
    }
    return false;
}

/* An enum as the file defines it. Callers who give members have the author's class: the same names are equal. */
static pel_node *enum_definition(pel_ctx *ctx, pel_program *program, pel_id id, pel_name name) {
    const pel_log_class *class = pel_class_at(program->log, id);
    pel_node *def = pel_node_new(ctx, PEL_ClassDef);
    def->ClassDef.name = name;
    for (uint32_t i = 0; i < class->n_bases; i++) {
        pel_str path = pel_class_at(program->log, class->bases[i])->path;
        if (!path.len) return NULL;
        pel_nodes_push(ctx, &def->ClassDef.bases, pel_library_expression(ctx, program, path));
    }
    bool is_plain = class->n_bases == 1 && pel_str_is(pel_class_at(program->log, class->bases[0])->path, "enum.Enum");
    if (!is_plain || !is_given_member(program->log, id)) return def;
    pel_str text = pel_format(ctx,
                              "class Members(enum.Enum):\n"
                              "    def __eq__(self, other):\n"
                              "        return type(other).__name__ == \"%s\" and other.name == self.name\n"
                              "    __hash__ = enum.Enum.__hash__\n",
                              class->name->text);
    const pel_source source = { PEL_STR("<enum>"), text };
    def->ClassDef.body = pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body.at[0]->ClassDef.body;
    return def;
}

/* A member is put before the methods. */
static void add_member(pel_ctx *ctx, pel_nodes *body, pel_name name, pel_node *value) {
    pel_nodes with = { 0 };
    uint32_t i = 0;
    for (; i < body->n && body->at[i]->kind == PEL_Assign; i++) {
        if (body->at[i]->Assign.targets.at[0]->Name.id == name) return;
        pel_nodes_push(ctx, &with, body->at[i]);
    }
    pel_nodes_push(ctx, &with, pel_make_assign(ctx, pel_make_name(ctx, name, PEL_Store), value));
    for (; i < body->n; i++) pel_nodes_push(ctx, &with, body->at[i]);
    *body = with;
}

/* Mode.FAST; the class gets the members that are mentioned. */
static pel_node *member_expression(pel_ctx *ctx, pel_program *program, const pel_value *value) {
    const pel_log *log = program->log;
    const pel_log_class *class = pel_class_at(log, value->class);
    pel_id name_id, content;
    if (!pel_is_member(log, value, &name_id, &content) || !class->n_bases) return NULL;
    const pel_value *named = pel_value_at(log, name_id);
    if (named->kind != PEL_V_CONST || named->constant->kind != PEL_CONST_STR) return NULL;
    pel_str text = named->constant->text;
    pel_name name = pel_intern_str(ctx, text);
    pel_program_class *row = pel_class_row(ctx, program, value->class);
    if (!row->def) row->def = enum_definition(ctx, program, value->class, row->name);
    if (!row->def) return NULL;
    add_member(ctx, &row->def->ClassDef.body, name, constant_expression(ctx, pel_value_at(log, content)->constant));
    return pel_make_attribute(ctx, pel_make_name(ctx, row->name, PEL_Load), name, PEL_Load);
}

static pel_node *partial_expression(pel_ctx *ctx, pel_program *program, const pel_value *value, int depth) {
    pel_node *function = expression_of(ctx, program, value->items[0], depth + 1);
    pel_nodes args, named;
    if (!function || !expressions_of(ctx, program, pel_value_at(program->log, value->items[1]), depth, &args) ||
        !expressions_of(ctx, program, pel_value_at(program->log, value->items[2]), depth, &named))
        return NULL;
    pel_nodes all = { 0 }, keywords = { 0 };
    pel_nodes_push(ctx, &all, function);
    for (uint32_t i = 0; i < args.n; i++) pel_nodes_push(ctx, &all, args.at[i]);
    for (uint32_t i = 0; i + 1 < named.n; i += 2) {
        pel_str key = named.at[i]->Constant.value->text;
        pel_name name = pel_intern_str(ctx, key);
        pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, name, named.at[i + 1]));
    }
    return pel_make_call(ctx, pel_library_expression(ctx, program, PEL_STR("functools.partial")), all, keywords);
}

/* The dotted name that a tree of attributes is; empty if it is something else. */
static pel_str path_of(pel_ctx *ctx, const pel_node *node) {
    if (node->kind == PEL_Name) return pel_name_str(node->Name.id);
    if (node->kind != PEL_Attribute) return PEL_STR("");
    pel_str base = path_of(ctx, node->Attribute.value);
    return base.len ? pel_format(ctx, "%.*s.%s", PEL_FMT(base), node->Attribute.attr->text) : base;
}

typedef struct spelling {
    pel_ctx *ctx;
    pel_program *program;
} spelling;

/* Library names in a literal, as they are written everywhere, with their imports: np.float64(8.0). */
static void spell_names(void *arg, pel_node **slot) {
    const spelling *sp = arg;
    pel_str path = path_of(sp->ctx, *slot);
    if (path.len)
        *slot = pel_library_expression(sp->ctx, sp->program, path);
    else
        pel_each_child(*slot, spell_names, arg);
}

static pel_node *literal_expression(pel_ctx *ctx, pel_program *program, pel_str text) {
    pel_str scalar = PEL_STR("numpy.float64("); /* which is a float: no reason to import numpy */
    if (pel_str_starts(text, scalar) && pel_str_ends(text, PEL_STR(")")))
        text = pel_str_cut(text, scalar.len, text.len - 1);
    pel_source source = { PEL_STR("literal"), text };
    pel_node *literal = pel_parse_expression(ctx, &source, PEL_VERSION_MAX)->Expression.body;
    spell_names(&(spelling){ ctx, program }, &literal);
    return literal;
}

static bool is_global(const pel_program *program, pel_name name) {
    for (uint32_t i = 0; i < program->globals.n; i++)
        if (program->globals.at[i].name == name) return true;
    return false;
}

/* A list or dict, tensors among its items. */
static pel_node *container_expression(pel_ctx *ctx, pel_program *program, const pel_value *value) {
    pel_nodes items = { 0 };
    for (uint32_t i = 0; i < value->n && pel_value_has_items(value->kind); i++) {
        const pel_value *part = pel_value_at(program->log, value->items[i]);
        pel_node *text = part->kind == PEL_V_TENSOR ? pel_tensor_expression(ctx, program, part->tensor)
                                                    : pel_value_expression(ctx, program, value->items[i]);
        if (!text) return NULL;
        pel_nodes_push(ctx, &items, text);
    }
    if (value->truncated) return NULL;
    return value->kind == PEL_V_DICT   ? dict_expression(ctx, items)
           : value->kind == PEL_V_LIST ? collection(ctx, PEL_List, items)
                                       : NULL;
}

/* Table(first, second), where a file has one. */
static pel_node *named_tuple_expression(pel_ctx *ctx, pel_program *program, const pel_value *value) {
    pel_nodes items = { 0 };
    if (value->kind != PEL_V_TUPLE || pel_class_at(program->log, value->class)->kind != PEL_CLASS_NAMEDTUPLE)
        return NULL;
    if (!expressions_of(ctx, program, value, 0, &items)) return NULL;
    pel_node *name = pel_make_name(ctx, pel_class_row(ctx, program, value->class)->name, PEL_Load);
    return pel_make_call(ctx, name, items, (pel_nodes){ 0 });
}

pel_node *pel_global_expression(pel_ctx *ctx, pel_program *program, pel_id id, uint64_t key, pel_name wish) {
    const pel_value *value = pel_value_at(program->log, id);
    for (uint32_t i = 0; i < program->globals.n; i++)
        if (program->globals.at[i].object == key) return pel_make_name(ctx, program->globals.at[i].name, PEL_Load);
    if (!wish) wish = pel_intern_c(ctx, "shared");
    pel_global made = { key, wish, NULL };
    for (unsigned n = 2; is_global(program, made.name); n++) {
        pel_str numbered = pel_format(ctx, "%s_%u", wish->text, n);
        made.name = pel_intern_str(ctx, numbered);
    }
    made.value = value->kind == PEL_V_LITERAL ? literal_expression(ctx, program, value->text)
                                              : container_expression(ctx, program, value);
    if (!made.value) made.value = pel_value_expression(ctx, program, id);
    if (!made.value) made.value = named_tuple_expression(ctx, program, value);
    if (!made.value) return NULL;
    pel_push(ctx, &program->globals, made);
    return pel_make_name(ctx, made.name, PEL_Load);
}

/* What is made of its items: (1, 2), {3}, range(4, 5, 6). */
#define MAX_REPEATED 16 /* equal items that are written one by one */

/* [x] * n: a constant for each of many layers. Of what can be changed in place each item would be the same one. */
static bool is_repeated(const pel_log *log, const pel_value *value) {
    if (value->n <= MAX_REPEATED || pel_value_at(log, value->items[0])->kind != PEL_V_CONST) return false;
    for (uint32_t i = 1; i < value->n; i++)
        if (!pel_value_same(log, value->items[0], value->items[i])) return false;
    return true;
}

static pel_node *items_expression(pel_ctx *ctx, pel_program *program, const pel_value *value, int depth) {
    bool is_subclass = value->class && (value->kind == PEL_V_TUPLE || value->kind == PEL_V_DICT);
    pel_nodes items;
    if (is_subclass || !expressions_of(ctx, program, value, depth, &items)) return NULL;
    switch (value->kind) {
    case PEL_V_LIST:
        if (is_repeated(program->log, value)) {
            pel_node *one = collection(ctx, PEL_List, pel_nodes_one(ctx, items.at[0]));
            return pel_make_binop(ctx, one, PEL_Mult, pel_make_int(ctx, value->n));
        }
        return collection(ctx, PEL_List, items);
    case PEL_V_SET: return items.n ? collection(ctx, PEL_Set, items) : call_builtin(ctx, "set", NULL);
    case PEL_V_FROZENSET: return call_builtin(ctx, "frozenset", items.n ? collection(ctx, PEL_Set, items) : NULL);
    case PEL_V_DICT: return dict_expression(ctx, items);
    case PEL_V_SLICE:
    case PEL_V_RANGE: {
        pel_node *call = call_builtin(ctx, value->kind == PEL_V_SLICE ? "slice" : "range", NULL);
        call->Call.args = items;
        return call;
    }
    default: return collection(ctx, PEL_Tuple, items);
    }
}

/* NULL: no expression makes the value, and the caller must reach it by a path or refuse. A value that was cut short is
 * unknown. Modules, methods and most objects have an identity, which an expression would not bring back. */
static pel_node *expression_of(pel_ctx *ctx, pel_program *program, pel_id id, int depth) {
    const pel_value *value = pel_value_at(program->log, id);
    if (value->truncated || depth > MAX_DEPTH) return NULL;
    switch ((pel_value_kind)value->kind) {
    case PEL_V_CONST: return constant_expression(ctx, value->constant);
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE: return items_expression(ctx, program, value, depth);
    case PEL_V_CLASS: return class_expression(ctx, program, value->class);
    case PEL_V_LIBRARY: return value->text.len ? pel_library_expression(ctx, program, value->text) : NULL;
    case PEL_V_LITERAL:
        if (value->object) return pel_global_expression(ctx, program, id, value->object, NULL);
        return literal_expression(ctx, program, value->text);
    case PEL_V_PARTIAL: return partial_expression(ctx, program, value, depth);
    case PEL_V_FUNCTION: {
        const pel_node *name = pel_map_pointer(&program->held, value->code);
        return name ? pel_make_name(ctx, name->Name.id, PEL_Load) : NULL;
    }
    case PEL_V_TENSOR:
        return pel_is_constant_tensor(program->log, value) ? pel_tensor_expression(ctx, program, value->tensor) : NULL;
    case PEL_V_OBJECT: return member_expression(ctx, program, value);
    case PEL_V_NONE_YET:
    case PEL_V_MODULE:
    case PEL_V_METHOD:
    case PEL_V_OPAQUE: return NULL;
    }
    return NULL;
}

pel_node *pel_value_expression(pel_ctx *ctx, pel_program *program, pel_id value) {
    return expression_of(ctx, program, value, 0);
}
