/* Classes that are no modules: dataclasses, model outputs and named tuples become small classes of the same name and
 * fields; autograd functions are written as the author has them. */
#include "python/parse.h"
#include "trace/build/init.h"
#include "trace/passes.h"
#include "trace/shrink/link.h"

/* The author's class from which a record has its way of answering to keys and positions: the last that is no record. */
static pel_id mapping_base(const pel_log *log, pel_id class) {
    const pel_log_class *row = pel_class_at(log, class);
    for (uint32_t i = 0; i < row->n_bases; i++) {
        const pel_log_class *base = pel_class_at(log, row->bases[i]);
        if (base->kind == PEL_CLASS_LIBRARY || !pel_is_mapping(log, row->bases[i])) continue;
        pel_id further = mapping_base(log, row->bases[i]);
        return further ? further : row->bases[i];
    }
    return 0;
}

static pel_node *parse_class(pel_ctx *ctx, const char *text) {
    pel_source source = { PEL_STR("<record>"), pel_str_of(text) };
    return pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body.at[0];
}

static pel_node *library(pel_synth *s, const char *path) {
    return pel_library_expression(s->ctx, s->program, pel_str_of(path));
}

/* Whether some function that is no method of a record's fills one in by its keys: output["key"] = value. */
static bool sets_items(const pel_synth *s) {
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (!group->class || !pel_is_mapping(s->log, group->class)) continue;
        if (!pel_name_is(s->log->codes.at[group->code].code->name, "__setitem__")) continue;
        for (uint32_t l = 0; l < group->n_lanes; l++) {
            pel_id parent = s->log->activations.at[group->lanes[l]].parent;
            const pel_group *caller = s->group_of[parent];
            if (caller && !(caller->class && pel_is_mapping(s->log, caller->class))) return true;
        }
    }
    return false;
}

typedef struct search {
    const pel_synth *s;
    pel_name self;
    bool found;
} search;

static void see_attribute_set(void *arg, pel_node **slot) {
    search *look = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Attribute && node->Attribute.ctx == PEL_Store) {
        const pel_node *of = node->Attribute.value;
        bool is_own = of->kind == PEL_Name && of->Name.id == look->self;
        look->found |= !is_own && pel_is_field(look->s->log, node->Attribute.attr);
    }
    pel_each_part(look->s, *slot, see_attribute_set, arg);
}

/* Whether some text sets an attribute of what may be a record: output.key = value. */
static bool sets_attributes(const pel_synth *s) {
    search look = { .s = s };
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (!group->function) continue; /* not written */
        look.self = group->class && group->n_params ? group->params[0].name : NULL;
        for (uint32_t k = 0; k < group->body.n; k++) see_attribute_set(&look, &group->body.at[k]);
    }
    return look.found;
}

/* What a record answers to keys and positions. Its items are its fields as they were made, or whatever is set. */
static void write_mapping_base(pel_synth *s, pel_id class) {
    pel_program_class *row = pel_class_row(s->ctx, s->program, class);
    if (row->def) return;
    bool items = sets_items(s);
    const char *filled = !items && !sets_attributes(s)
                             ? "    def __post_init__(self):\n"
                               "        self.update((k, v) for k, v in vars(self).items() if v is not None)\n"
                             : "    def __setattr__(self, name, value):\n"
                               "        super().__setattr__(name, value)\n"
                               "        if value is not None:\n"
                               "            super().__setitem__(name, value)\n";
    pel_str text =
        pel_format(s->ctx,
                   "class Base(dict):\n%s"
                   "    def __getitem__(self, key):\n"
                   "        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]\n"
                   "    def to_tuple(self):\n"
                   "        return tuple(self.values())\n%s",
                   filled,
                   items ? "    def __setitem__(self, key, value):\n" /* which __setattr__ of the author's may call */
                           "        super().__setitem__(key, value)\n"
                           "        super().__setattr__(key, value)\n"
                         : "");
    row->def = parse_class(s->ctx, text.ptr);
    row->def->ClassDef.name = row->name;
}

/* ---- fields ---- */

/* What a field was seen to hold. */
typedef struct content {
    bool seen, none, tensor;
    pel_id record;    /* its class; UINT32_MAX: several */
    const char *type; /* of the builtin ones; "": several, or no such */
} content;

static const char *builtin_type(const pel_value *value) {
    switch (value->kind) {
    case PEL_V_TUPLE: return "tuple";
    case PEL_V_LIST: return "list";
    case PEL_V_DICT: return "dict";
    case PEL_V_SET: return "set";
    case PEL_V_CONST: break;
    default: return "";
    }
    switch (value->constant->kind) {
    case PEL_CONST_TRUE:
    case PEL_CONST_FALSE: return "bool";
    case PEL_CONST_INT: return "int";
    case PEL_CONST_FLOAT: return "float";
    case PEL_CONST_STR: return "str";
    default: return "";
    }
}

static void note_content(const pel_log *log, pel_id id, content *out) {
    const pel_value *value = pel_value_at(log, id);
    out->seen = true;
    bool is_record = (value->kind == PEL_V_TUPLE || value->kind == PEL_V_OBJECT) && value->class;
    if (value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE)
        out->none = true;
    else if (value->kind == PEL_V_TENSOR)
        out->tensor = true;
    else if (is_record)
        out->record = out->record && out->record != value->class ? UINT32_MAX : value->class;
    else
        out->type = !out->type || strcmp(out->type, builtin_type(value)) == 0 ? builtin_type(value) : "";
}

static content *contents_of(pel_synth *s, pel_id class) {
    const pel_log *log = s->log;
    const pel_name_list *fields = &pel_class_at(log, class)->fields;
    content *out = pel_new_array(s->ctx, fields->n + 1u, content);
    for (pel_id id = 1; id < log->values.n; id++) {
        const pel_value *value = pel_value_at(log, id);
        if (value->class != class) continue;
        if (value->kind == PEL_V_TUPLE)
            for (uint32_t k = 0; k < fields->n && k < value->n; k++) note_content(log, value->items[k], &out[k]);
        bool has_keys = value->kind == PEL_V_OBJECT || value->kind == PEL_V_DICT;
        for (uint32_t i = 0; has_keys && i + 1 < value->n; i += 2) {
            const pel_value *key = pel_value_at(log, value->items[i]);
            if (key->kind != PEL_V_CONST || key->constant->kind != PEL_CONST_STR) continue;
            for (uint32_t k = 0; k < fields->n; k++)
                if (pel_str_eq(key->constant->text, pel_name_str(fields->at[k])))
                    note_content(log, value->items[i + 1], &out[k]);
        }
    }
    return out;
}

/* The one kind of things that a field held; where there are several, what most fields are. */
static pel_node *type_of(pel_synth *s, const content *held) {
    if (held->type && held->type[0] && !held->record && !held->tensor)
        return pel_make_name(s->ctx, pel_intern_c(s->ctx, held->type), PEL_Load);
    for (uint32_t i = 0; i < s->program->classes.n && held->record && !held->tensor && !held->type; i++)
        if (s->program->classes.at[i]->class == held->record)
            return pel_make_name(s->ctx, s->program->classes.at[i]->name, PEL_Load);
    return library(s, "torch.Tensor");
}

static bool is_container(const pel_value *value) {
    return value->kind == PEL_V_LIBRARY &&
           (pel_str_is(value->text, "list") || pel_str_is(value->text, "dict") || pel_str_is(value->text, "set"));
}

static bool is_display(const pel_value *value) {
    return value->kind == PEL_V_LIST || value->kind == PEL_V_DICT || value->kind == PEL_V_SET;
}

static pel_node *lambda_of(pel_synth *s, pel_node *value) {
    pel_node *lambda = pel_node_new(s->ctx, PEL_Lambda);
    lambda->Lambda.args = pel_node_new(s->ctx, PEL_arguments);
    lambda->Lambda.body = value;
    return lambda;
}

/* What the author's class fills in where the field is not given: n: int = 0, items: list = field(default_factory=list),
 * default_factory=lambda: [1, 2]. NULL: nothing, or None. A factory that can't be written is no None: where the text
 * may make such objects, it is refused. */
static pel_node *default_of(pel_synth *s, const pel_program_class *row, const pel_log_class *class, pel_name name) {
    pel_id id = 0;
    for (uint32_t i = 0; i < class->n_constants; i++)
        if (class->constants[i].name == name) id = class->constants[i].value;
    const pel_value *held = id ? pel_value_at(s->log, id) : NULL;
    bool is_record = class->kind != PEL_CLASS_NAMEDTUPLE;
    pel_node *value = id ? pel_value_expression(s->ctx, s->program, id) : NULL;
    bool is_made = id && is_record && (is_container(held) || is_display(held));
    bool is_unknown = id && is_record && held->kind == PEL_V_LIBRARY && pel_str_is(held->text, "dataclasses.field");
    if (!row->is_given && (is_unknown || (is_made && !value)))
        pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0, "what `%s.%s` is where it is not given has no literal",
                  class->name->text, name->text);
    if (!value || is_unknown || pel_is_none(value)) return NULL;
    if (!is_made) return value;
    if (is_display(held)) value = lambda_of(s, value);
    pel_nodes keywords =
        pel_nodes_one(s->ctx, pel_make_keyword(s->ctx, pel_intern_c(s->ctx, "default_factory"), value));
    return pel_make_call(s->ctx, library(s, "dataclasses.field"), (pel_nodes){ 0 }, keywords);
}

/* A field that always held something must be given, if the author's has no default but None; not so behind one that
 * need not. */
static pel_node *field(pel_synth *s, const pel_program_class *row, pel_name name, const content *held, bool *required) {
    pel_node *made = pel_node_new(s->ctx, PEL_AnnAssign), *annotation = type_of(s, held);
    pel_node *fallback = default_of(s, row, pel_class_at(s->log, row->class), name);
    *required &= held->seen && !held->none && !fallback;
    if (fallback) {
        made->AnnAssign.value = fallback;
    } else if (!*required) {
        annotation = pel_make_binop(s->ctx, annotation, PEL_BitOr, pel_make_none(s->ctx));
        made->AnnAssign.value = pel_make_none(s->ctx);
    }
    made->AnnAssign.target = pel_make_name(s->ctx, name, PEL_Store);
    made->AnnAssign.annotation = annotation;
    made->AnnAssign.simple = 1;
    return made;
}

/* ---- autograd functions ---- */

typedef struct imports { /* what the names of a file mean: name -> path */
    pel_synth *s;
    pel_map path;
    const pel_node *file;
    pel_map kept; /* function of the file -> its name in the output */
} imports;

static void note_imports(imports *im, pel_nodes body) {
    pel_ctx *ctx = im->s->ctx;
    for (uint32_t i = 0; i < body.n; i++) {
        pel_node *node = body.at[i];
        bool from = node->kind == PEL_ImportFrom;
        if (node->kind != PEL_Import && (!from || node->ImportFrom.level || !node->ImportFrom.module)) continue;
        pel_nodes names = from ? node->ImportFrom.names : node->Import.names;
        for (uint32_t k = 0; k < names.n; k++) {
            pel_name name = names.at[k]->alias.name, as = names.at[k]->alias.asname ? names.at[k]->alias.asname : name;
            pel_str path =
                from ? pel_format(ctx, "%s.%s", node->ImportFrom.module->text, name->text) : pel_name_str(name);
            if (!from && !names.at[k]->alias.asname) { /* import a.b binds a */
                size_t dot = 0;
                while (dot < path.len && path.ptr[dot] != '.') dot++;
                path.len = dot;
                as = pel_intern_str(ctx, path);
            }
            pel_map_set(ctx, &im->path, PEL_KEY(as), PEL_KEY(pel_intern_str(ctx, path)));
        }
    }
}

static void keep_helper(imports *im, pel_node *name);

static bool put_dotted(pel_buf *out, const pel_node *node) {
    if (node->kind == PEL_Name) return pel_put_c(out, node->Name.id->text), true;
    if (node->kind != PEL_Attribute || !put_dotted(out, node->Attribute.value)) return false;
    return pel_putf(out, ".%s", node->Attribute.attr->text), true;
}
static bool keep_constant(imports *im, const pel_node *name);

/* torch.ops.library.name, of an operator that the output has as a function. */
static pel_node *operator_meant(const imports *im, const pel_node *node) {
    pel_buf text = pel_buf_in(im->s->ctx);
    if (node->kind != PEL_Attribute || !put_dotted(&text, node)) return NULL;
    pel_str path = pel_buf_str(&text), plain = PEL_STR(".default");
    if (pel_str_ends(path, plain)) path = pel_str_cut(path, 0, path.len - plain.len);
    for (uint32_t i = 0; i < im->s->program->operators.n; i++) {
        const pel_operator *row = &im->s->program->operators.at[i];
        if (pel_str_eq(row->path, path)) return pel_make_name(im->s->ctx, row->name, PEL_Load);
    }
    return NULL;
}

static void write_imported(void *arg, pel_node **slot) {
    imports *im = arg;
    uint64_t path;
    pel_node *own = operator_meant(im, *slot);
    if (own) {
        *slot = own;
        return;
    }
    if ((*slot)->kind == PEL_Name && (*slot)->Name.ctx == PEL_Load &&
        pel_map_get(&im->path, PEL_KEY((*slot)->Name.id), &path)) {
        pel_node *made = pel_library_expression(im->s->ctx, im->s->program, pel_name_str((pel_name)(uintptr_t)path));
        if (made) *slot = made;
        return;
    }
    if ((*slot)->kind == PEL_Name && (*slot)->Name.ctx == PEL_Load && !keep_constant(im, *slot)) keep_helper(im, *slot);
    pel_each_child(*slot, write_imported, im);
}

/* Without what says something only to readers of the original: annotations and docstrings. */
static void strip(void *arg, pel_node **slot) {
    pel_node *node = *slot;
    if (node->kind == PEL_arg) node->arg.annotation = NULL;
    if (node->kind == PEL_FunctionDef) node->FunctionDef.returns = NULL;
    pel_nodes *body = node->kind == PEL_FunctionDef ? &node->FunctionDef.body
                      : node->kind == PEL_ClassDef  ? &node->ClassDef.body
                                                    : NULL;
    if (body && body->n > 1 && body->at[0]->kind == PEL_Expr && body->at[0]->Expr.value->kind == PEL_Constant) {
        body->at++;
        body->n--;
    }
    pel_each_child(node, strip, arg);
}

/* A copy of the author's, as it is written. */
static pel_node *finished(imports *im, pel_node *copy) {
    strip(NULL, &copy);
    write_imported(im, &copy);
    return copy;
}

static pel_program_function *keep_as(imports *im, const pel_node *def, pel_name name) {
    pel_synth *s = im->s;
    pel_program_function *function = pel_new(s->ctx, pel_program_function);
    *function = (pel_program_function){ .name = name, .from_source = true };
    pel_push(s->ctx, &s->program->functions, function);
    pel_map_set(s->ctx, &im->kept, PEL_KEY(def->FunctionDef.name), PEL_KEY(function->name));
    function->def = finished(im, pel_copy(s->ctx, def));
    function->def->FunctionDef.name = function->name;
    return function;
}

static pel_name keep_function(imports *im, const pel_node *def) {
    return keep_as(im, def, pel_unused_name(im->s->ctx, im->s->program, def->FunctionDef.name))->name;
}

static pel_name keep_class(imports *im, const pel_node *def) {
    pel_synth *s = im->s;
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        const pel_program_class *row = s->program->classes.at[i];
        if (row->class && pel_class_at(s->log, row->class)->name == def->ClassDef.name) return row->name;
    }
    pel_program_class *row = pel_new(s->ctx, pel_program_class);
    row->name = pel_unused_name(s->ctx, s->program, def->ClassDef.name);
    pel_push(s->ctx, &s->program->classes, row);
    pel_map_set(s->ctx, &im->kept, PEL_KEY(def->ClassDef.name), PEL_KEY(row->name));
    row->def = finished(im, pel_copy(s->ctx, def));
    row->def->ClassDef.name = row->name;
    return row->name;
}

/* A function or a class of the same file that a class which is written whole names is written whole, too. */
static void keep_helper(imports *im, pel_node *name) {
    uint64_t known;
    if (pel_map_get(&im->kept, PEL_KEY(name->Name.id), &known)) {
        name->Name.id = (pel_name)(uintptr_t)known;
        return;
    }
    for (uint32_t i = 0; i < im->file->Module.body.n; i++) {
        const pel_node *def = im->file->Module.body.at[i];
        bool function = def->kind == PEL_FunctionDef && def->FunctionDef.name == name->Name.id;
        bool class = def->kind == PEL_ClassDef && def->ClassDef.name == name->Name.id;
        if (!function && !class) continue;
        name->Name.id = function ? keep_function(im, def) : keep_class(im, def);
        return;
    }
}

static bool is_constant(const pel_node *value) {
    switch (value->kind) {
    case PEL_Constant: return true;
    case PEL_UnaryOp: return is_constant(value->UnaryOp.operand);
    case PEL_BinOp: return is_constant(value->BinOp.left) && is_constant(value->BinOp.right);
    default: return false;
    }
}

/* LIMIT = 1000.0, in the same file: a variable of ours as well. */
static bool keep_constant(imports *im, const pel_node *name) {
    const pel_node *found = NULL;
    for (uint32_t i = 0; i < im->file->Module.body.n; i++) {
        const pel_node *node = im->file->Module.body.at[i];
        if (pel_bound_name(node) != name->Name.id) continue;
        if (found || !is_constant(node->Assign.value)) return false;
        found = node;
    }
    if (!found) return false;
    pel_program *program = im->s->program;
    for (uint32_t i = 0; i < program->globals.n; i++)
        if (program->globals.at[i].name == name->Name.id) return true;
    pel_push(im->s->ctx, &program->globals,
             (pel_global){ .name = name->Name.id, .value = pel_copy(im->s->ctx, found->Assign.value) });
    return true;
}

typedef struct mention {
    pel_name name;
    bool found;
} mention;

static void see_mention(void *arg, pel_node **slot) {
    mention *m = arg;
    m->found |= (*slot)->kind == PEL_Attribute && (*slot)->Attribute.attr == m->name;
    if (!m->found) pel_each_child(*slot, see_mention, m);
}

/* Methods that neither torch.autograd nor another method calls: what exporters look for, for instance. */
static bool is_idle(pel_node *class, const pel_node *method) {
    static const char *const protocol[] = { "forward", "backward", "setup_context", "jvp", "vjp", "vmap" };
    if (method->kind != PEL_FunctionDef) return false;
    for (size_t i = 0; i < PEL_COUNT(protocol); i++)
        if (pel_name_is(method->FunctionDef.name, protocol[i])) return false;
    mention m = { .name = method->FunctionDef.name };
    see_mention(&m, &class);
    return !m.found;
}

static pel_node *author_class(pel_synth *s, pel_id class) {
    const pel_author *author = pel_author_of_class(s->program, class);
    if (!author) return NULL;
    imports im = { .s = s, .file = author->file };
    note_imports(&im, author->file->Module.body);
    pel_node *def = pel_copy(s->ctx, author->within);
    pel_nodes *body = &def->ClassDef.body;
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n; i++)
        if (!is_idle(author->within, body->at[i])) body->at[n++] = body->at[i];
    body->n = n;
    return finished(&im, def);
}

/* ---- operators ---- */

static uint32_t first_line(const pel_node *def) {
    pel_nodes decorators = def->FunctionDef.decorator_list;
    return decorators.n ? decorators.at[0]->lineno : def->lineno;
}

/* The function of a file that begins in a line. */
static const pel_node *function_at(pel_nodes body, uint32_t line) {
    for (uint32_t i = 0; i < body.n; i++) {
        const pel_node *node = body.at[i];
        if (node->kind == PEL_FunctionDef && first_line(node) == line) return node;
        const pel_node *inside = node->kind == PEL_If ? function_at(node->If.body, line) : NULL;
        if (inside) return inside;
    }
    return NULL;
}

/* One of the functions that an operator is made of; NULL: it has none, or it is not where it should be. */
static pel_program_function *keep_part(imports *im, const pel_operator *row, pel_operator_part part) {
    static const char *const names[] = { [PEL_OPERATOR_KERNEL] = "",
                                         [PEL_OPERATOR_FAKE] = "_fake",
                                         [PEL_OPERATOR_SETUP] = "_setup_context",
                                         [PEL_OPERATOR_BACKWARD] = "_backward" };
    const pel_node *def = row->lines[part] ? function_at(im->file->Module.body, row->lines[part]) : NULL;
    if (!def) return NULL;
    pel_ctx *ctx = im->s->ctx;
    pel_str wish = pel_format(ctx, "%s%s", row->name->text, names[part]);
    pel_name name =
        part == PEL_OPERATOR_KERNEL ? row->name : pel_unused_name(ctx, im->s->program, pel_intern_str(ctx, wish));
    pel_program_function *function = keep_as(im, def, name);
    function->def->FunctionDef.decorator_list = (pel_nodes){ 0 };
    return function;
}

/* @torch.library.custom_op(__name__.replace(".", "_") + "::name", mutates_args=(), schema="...") */
static pel_node *registered(pel_synth *s, const pel_operator *row) {
    pel_ctx *ctx = s->ctx;
    pel_node *module = pel_make_name(ctx, pel_intern_c(ctx, "__name__"), PEL_Load);
    pel_nodes dots = pel_nodes_one(ctx, pel_make_text(ctx, PEL_STR(".")));
    pel_nodes_push(ctx, &dots, pel_make_text(ctx, PEL_STR("_")));
    module = pel_make_call(ctx, pel_make_attribute(ctx, module, pel_intern_c(ctx, "replace"), PEL_Load), dots,
                           (pel_nodes){ 0 });
    pel_node *own = pel_make_text(ctx, pel_format(ctx, "::%s", row->name->text));
    pel_nodes args = pel_nodes_one(ctx, pel_make_binop(ctx, module, PEL_Add, own)), keywords = { 0 };
    pel_node *nothing = pel_node_new(ctx, PEL_Tuple);
    pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, pel_intern_c(ctx, "mutates_args"), nothing));
    pel_node *schema = pel_make_text(ctx, row->schema);
    pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, pel_intern_c(ctx, "schema"), schema));
    return pel_make_call(ctx, library(s, "torch.library.custom_op"), args, keywords);
}

/* name.register_fake(...), and its likes, behind the function. */
static pel_node *registers(pel_synth *s, const pel_operator *row, const char *method, const pel_program_function *given,
                           const pel_program_function *setup) {
    pel_ctx *ctx = s->ctx;
    pel_node *function = pel_make_name(ctx, row->name, PEL_Load), *statement = pel_node_new(ctx, PEL_Expr);
    pel_nodes args = pel_nodes_one(ctx, pel_make_name(ctx, given->name, PEL_Load)), keywords = { 0 };
    if (setup) {
        pel_node *name = pel_make_name(ctx, setup->name, PEL_Load);
        pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, pel_intern_c(ctx, "setup_context"), name));
    }
    function = pel_make_attribute(ctx, function, pel_intern_c(ctx, method), PEL_Load);
    statement->Expr.value = pel_make_call(ctx, function, args, keywords);
    return statement;
}

static void write_operators(pel_synth *s) {
    for (uint32_t i = 0; i < s->program->operators.n; i++) {
        pel_operator *row = &s->program->operators.at[i];
        imports im = { .s = s, .file = s->program->authors[row->code].file };
        if (!im.file) continue; /* the text names what is not there, and is refused */
        note_imports(&im, im.file->Module.body);
        pel_program_function *parts[PEL_N_OPERATOR_PARTS];
        for (int part = 0; part < PEL_N_OPERATOR_PARTS; part++) {
            im.kept = (pel_map){ 0 };
            parts[part] = keep_part(&im, row, (pel_operator_part)part);
        }
        pel_program_function *kernel = parts[PEL_OPERATOR_KERNEL];
        if (!kernel) continue;
        kernel->def->FunctionDef.decorator_list = pel_nodes_one(s->ctx, registered(s, row));
        const pel_program_function *fake = parts[PEL_OPERATOR_FAKE], *backward = parts[PEL_OPERATOR_BACKWARD];
        if (fake) pel_nodes_push(s->ctx, &kernel->after, registers(s, row, "register_fake", fake, NULL));
        if (backward)
            pel_nodes_push(s->ctx, &kernel->after,
                           registers(s, row, "register_autograd", backward, parts[PEL_OPERATOR_SETUP]));
    }
}

/* ---- records that are named ---- */

/* Whether a result has an object of a class in it. */
static bool holds(const pel_log *log, pel_id id, pel_id class, int depth) {
    const pel_value *value = pel_value_at(log, id);
    if (depth > 50 || !pel_value_has_items(value->kind)) return false;
    if (value->kind == PEL_V_OBJECT && value->class == class) return true;
    for (uint32_t i = 0; i < value->n; i++)
        if (holds(log, value->items[i], class, depth + 1)) return true;
    return false;
}

/* Classes of objects that callers pass: no text names them, but their methods are called, or they are returned. */
static void keep_given(pel_synth *s) {
    for (pel_id class = 1; class < s->log->classes.n; class ++) {
        if (!pel_map_has(&s->objects.given, pel_given_class(class))) continue;
        bool wanted = false;
        for (uint32_t i = 0; i < s->program->classes.n; i++)
            wanted |= s->program->classes.at[i]->class == class && s->program->classes.at[i]->methods.n;
        for (uint32_t r = 0; r < s->log->runs.n; r++) wanted |= holds(s->log, s->log->runs.at[r].result, class, 0);
        if (wanted) pel_class_row(s->ctx, s->program, class)->is_given = true;
    }
}

/* @dataclass(frozen=True), @dataclasses.dataclass(order=True): the options that say how its objects compare. */
static pel_node *record_decorator(pel_synth *s, pel_id class) {
    static const char *const kept[] = { "frozen", "order", "eq", "unsafe_hash", "kw_only" };
    pel_node *plain = library(s, "dataclasses.dataclass");
    const pel_node *def = pel_is_mapping(s->log, class) ? NULL : pel_author_class(s->program, class);
    pel_nodes options = { 0 };
    for (uint32_t i = 0; def && i < def->ClassDef.decorator_list.n; i++) {
        const pel_node *decorator = def->ClassDef.decorator_list.at[i];
        if (decorator->kind != PEL_Call || !pel_name_is(pel_last_name(decorator->Call.func), "dataclass")) continue;
        for (uint32_t k = 0; k < decorator->Call.keywords.n; k++) {
            const pel_node *keyword = decorator->Call.keywords.at[k];
            for (size_t o = 0; keyword->keyword.arg && o < PEL_COUNT(kept); o++)
                if (pel_name_is(keyword->keyword.arg, kept[o]) && keyword->keyword.value->kind == PEL_Constant)
                    pel_nodes_push(s->ctx, &options, pel_copy(s->ctx, keyword));
        }
    }
    return options.n ? pel_make_call(s->ctx, plain, (pel_nodes){ 0 }, options) : plain;
}

/* Fills def of the classes that the texts name. */
static void write_records(pel_synth *s) {
    keep_given(s);
    const pel_outputs *outputs = NULL;
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        pel_program_class *row = s->program->classes.at[i];
        const pel_log_class *class = pel_class_at(s->log, row->class);
        if (class->kind == PEL_CLASS_AUTOGRAD && (row->def = author_class(s, row->class)) != NULL)
            row->def->ClassDef.name = row->name;
        bool named = class->kind == PEL_CLASS_NAMEDTUPLE;
        if (row->def || (class->kind != PEL_CLASS_DATACLASS && !named)) continue;
        pel_node *def = pel_node_new(s->ctx, PEL_ClassDef);
        def->ClassDef.name = row->name;
        def->lineno = class->line;
        content *held = contents_of(s, row->class);
        bool is_mapping = pel_is_mapping(s->log, row->class);
        if (is_mapping && !outputs) outputs = pel_find_outputs(s);
        bool as_dict = is_mapping && (outputs->as_dict || row->is_given || row->methods.n), required = !as_dict;
        for (uint32_t k = 0; k < class->fields.n; k++) {
            pel_name name = class->fields.at[k];
            if (is_mapping && !as_dict) {
                if (pel_is_none_by_default(s->log, class, name) && pel_is_field_left_out(s, outputs, row, name))
                    continue;
                held[k].none = !pel_is_always_given(s, outputs, row, name);
            }
            pel_nodes_push(s->ctx, &def->ClassDef.body, field(s, row, name, &held[k], &required));
        }
        for (uint32_t k = 0; k < row->methods.n; k++)
            pel_nodes_push(s->ctx, &def->ClassDef.body, row->methods.at[k]->def);
        if (def->ClassDef.body.n == 0) pel_nodes_push(s->ctx, &def->ClassDef.body, pel_node_new(s->ctx, PEL_Pass));
        row->def = def;
        if (named) {
            def->ClassDef.bases = pel_nodes_one(s->ctx, library(s, "typing.NamedTuple"));
            continue;
        }
        def->ClassDef.decorator_list = pel_nodes_one(s->ctx, record_decorator(s, row->class));
        pel_id base = as_dict ? mapping_base(s->log, row->class) : 0;
        if (base) {
            write_mapping_base(s, base);
            def->ClassDef.bases =
                pel_nodes_one(s->ctx, pel_make_name(s->ctx, pel_class_row(s->ctx, s->program, base)->name, PEL_Load));
        }
    }
}

static void find_instances(pel_synth *s) {
    for (uint32_t m = 1; m < s->log->modules.n; m++) {
        const pel_log_module *module = pel_module_at(s->log, m);
        if (pel_class_at(s->log, module->class)->kind != PEL_CLASS_MODULE) continue;
        pel_push(s->ctx, &pel_class_row(s->ctx, s->program, module->class)->instances, m);
    }
}

bool pel_pass_classes(pel_synth *s) {
    pel_write_hooked(s);
    find_instances(s);
    pel_name_classes(s);
    write_records(s);
    write_operators(s);
    pel_write_stub(s);
    return true;
}
