/* The program as one file: header, imports, then functions and classes, parts before wholes.
 *
 * What the root does not reach is not written: reaching is being named. */
#include "python/parse.h"
#include "trace/program.h"
#include "base/map.h"
#include "python/print.h"
#include "trace/passes.h"
#include "trace/depends/uses.h"

#include <stdlib.h>

/* Tensors that neither the state_dict nor a formula gives: their elements at the end of the file. */

#define LINE 120 /* characters of data on a line */

static bool same_tensor(const pel_log_tensor *a, const pel_log_tensor *b) {
    return pel_str_eq(a->dtype, b->dtype) && a->n_dims == b->n_dims && pel_str_eq(a->data, b->data) &&
           (a->n_dims == 0 || memcmp(a->shape, b->shape, a->n_dims * sizeof *a->shape) == 0);
}

/* Equal tensors stand once. */
static uint32_t place_of(pel_ctx *ctx, pel_program *program, pel_id tensor) {
    const pel_log_tensor *rows = program->log->tensors.at;
    for (uint32_t i = 0; i < program->embedded.n; i++)
        if (same_tensor(&rows[program->embedded.at[i]], &rows[tensor])) return i;
    pel_push(ctx, &program->embedded, tensor);
    return program->embedded.n - 1;
}

static pel_str key_of(pel_ctx *ctx, const pel_program *program, uint32_t place) {
    const pel_log_tensor *row = &program->log->tensors.at[program->embedded.at[place]];
    return pel_format(ctx, "%s_%u", row->name ? row->name->text : "tensor", place);
}

bool pel_is_constant_tensor(const pel_log *log, const pel_value *value) {
    if (value->kind != PEL_V_TENSOR) return false;
    const pel_log_tensor *row = &log->tensors.at[value->tensor];
    return (row->formula.len || row->data.len) && !row->owner && !row->is_parameter;
}

pel_node *pel_tensor_expression(pel_ctx *ctx, pel_program *program, pel_id tensor) {
    const pel_log_tensor *row = &program->log->tensors.at[tensor];
    if (row->formula.len) {
        pel_source source = { PEL_STR("formula"), row->formula };
        pel_library_expression(ctx, program, PEL_STR("torch"));
        return pel_parse_expression(ctx, &source, PEL_VERSION_MAX)->Expression.body;
    }
    if (!row->data.len) return NULL;
    pel_str key = key_of(ctx, program, place_of(ctx, program, tensor));
    pel_node *name = pel_make_name(ctx, pel_intern_c(ctx, PEL_EMBEDDED), PEL_Load);
    pel_nodes args = pel_nodes_one(ctx, pel_make_text(ctx, key));
    return pel_make_call(ctx, name, args, (pel_nodes){ 0 });
}

/* Written as text: the printer would put a constant of a megabyte on one line. */
static void emit_embedded(pel_ctx *ctx, pel_program *program, pel_buf *out) {
    if (!program->embedded.n) return;
    pel_put_c(out, "\n\n# Constant tensors that no formula was found for: dtype, shape, elements (zlib, base64).\n"
                   "def " PEL_EMBEDDED "(name):\n"
                   "    dtype, shape, text = _EMBEDDED[name]\n"
                   "    data = bytearray(zlib.decompress(base64.b64decode(text)))\n"
                   "    return torch.frombuffer(data, dtype=dtype).reshape(shape)\n\n\n"
                   "_EMBEDDED = {\n");
    for (uint32_t i = 0; i < program->embedded.n; i++) {
        const pel_log_tensor *row = &program->log->tensors.at[program->embedded.at[i]];
        pel_putf(out, "    \"%.*s\": (%.*s, (", PEL_FMT(key_of(ctx, program, i)), PEL_FMT(row->dtype));
        for (uint32_t d = 0; d < row->n_dims; d++)
            pel_putf(out,
                     d + 1 < row->n_dims ? "%lld, "
                     : row->n_dims == 1  ? "%lld,"
                                         : "%lld",
                     (long long)row->shape[d]);
        pel_put_c(out, "), \"\"\"\n");
        for (size_t at = 0; at < row->data.len; at += LINE) {
            pel_put(out, pel_str_cut(row->data, at, at + LINE));
            pel_put_byte(out, '\n');
        }
        pel_put_c(out, "\"\"\"),\n");
    }
    pel_put_c(out, "}\n");
}

#define MAX_DEPTH 1000 /* of classes and functions that name each other */

typedef struct writer {
    pel_ctx *ctx;
    pel_program *program;
    pel_map class_named, function_named, global_named; /* name -> row of the program's table */
    pel_map written;                                   /* names that are done or under way */
    pel_map used;                                      /* names and dotted names that the text has */
    pel_nodes body, late;                              /* late: behind the embedded tensors */
    int depth;
} writer;

static void reach(writer *w, pel_name name);

/* The dotted name that an expression is, NULL if it is none. */
static pel_name dotted_name(pel_ctx *ctx, const pel_node *node) {
    if (node->kind == PEL_Name) return node->Name.id;
    pel_name base = node->kind == PEL_Attribute ? dotted_name(ctx, node->Attribute.value) : NULL;
    if (!base) return NULL;
    pel_str path = pel_format(ctx, "%s.%s", base->text, node->Attribute.attr->text);
    return pel_intern_str(ctx, path);
}

static void reach_names(void *arg, pel_node **slot) {
    writer *w = arg;
    if ((*slot)->kind == PEL_Name) reach(w, (*slot)->Name.id);
    pel_name dotted = dotted_name(w->ctx, *slot);
    if (dotted) pel_map_set(w->ctx, &w->used, PEL_KEY(dotted), 1);
    pel_each_child(*slot, reach_names, w);
}

/* A constructor comes first, from whichever class and file it is. */
static int compare_methods(const void *a, const void *b) {
    const pel_program_function *x = *(pel_program_function *const *)a, *y = *(pel_program_function *const *)b;
    bool makes_x = pel_name_is(x->name, "__init__"), makes_y = pel_name_is(y->name, "__init__");
    if (makes_x != makes_y) return makes_x ? -1 : 1;
    uint32_t line_x = x->def->lineno, line_y = y->def->lineno;
    if (line_x != line_y) return line_x < line_y ? -1 : 1;
    return pel_str_cmp(pel_name_str(x->name), pel_name_str(y->name));
}

static void decorate(writer *w, pel_node *def, const char *decorator) {
    for (uint32_t i = 0; i < def->FunctionDef.decorator_list.n; i++) {
        const pel_node *node = def->FunctionDef.decorator_list.at[i];
        if (node->kind == PEL_Name && pel_name_is(node->Name.id, decorator)) return;
    }
    pel_node *name = pel_make_name(w->ctx, pel_intern_c(w->ctx, decorator), PEL_Load);
    pel_nodes_push(w->ctx, &def->FunctionDef.decorator_list, name);
}

static pel_node *class_definition(writer *w, pel_program_class *class) {
    pel_ctx *ctx = w->ctx;
    if (class->def) return class->def;
    pel_node *def = pel_node_new(ctx, PEL_ClassDef);
    def->ClassDef.name = class->name;
    const pel_log_class *author = pel_class_at(w->program->log, class->class);
    bool is_module = author->kind != PEL_CLASS_AUTHOR;
    pel_id base = (is_module ? pel_torch_base : pel_library_base)(w->program->log, class->class);
    pel_str path = base ? pel_class_at(w->program->log, base)->path : PEL_STR("torch.nn.Module");
    if (is_module || base) def->ClassDef.bases = pel_nodes_one(ctx, pel_library_expression(ctx, w->program, path));
    if (class->init) pel_nodes_push(ctx, &def->ClassDef.body, class->init);
    for (uint32_t i = 0; i < class->modes.n; i++) pel_nodes_push(ctx, &def->ClassDef.body, class->modes.at[i]);
    if (class->methods.n) qsort(class->methods.at, class->methods.n, sizeof *class->methods.at, compare_methods);
    for (uint32_t i = 0; i < class->methods.n; i++) {
        const pel_program_function *method = class->methods.at[i];
        if (method->dead && !class->is_given) continue; /* callers may ask what they pass anything */
        if (method->is_property) decorate(w, method->def, "property");
        if (method->is_static) decorate(w, method->def, "staticmethod");
        if (method->is_classmethod) decorate(w, method->def, "classmethod");
        pel_nodes_push(ctx, &def->ClassDef.body, method->def);
    }
    if (!def->ClassDef.body.n) pel_nodes_push(ctx, &def->ClassDef.body, pel_node_new(ctx, PEL_Pass));
    return def;
}

/* torch.export.register_dataclass(Output), where the author's class is known to torch's trees of values, too: what a
 * model returns could not be exported otherwise. */
static void register_record(writer *w, const pel_program_class *class) {
    const pel_known *known = w->program->known;
    const pel_log_class *row = pel_class_at(w->program->log, class->class);
    pel_str name = pel_format(w->ctx, "pytree %.*s.%.*s", PEL_FMT(row->module), PEL_FMT(row->qualname));
    bool found = false;
    for (uint32_t i = 0; known && i < known->class_facts.n; i++) found |= pel_str_eq(known->class_facts.at[i], name);
    if (!found || !class->def) return;
    pel_node *function = pel_library_expression(w->ctx, w->program, PEL_STR("torch.export.register_dataclass"));
    pel_map_set(w->ctx, &w->used, PEL_KEY(pel_intern_c(w->ctx, "torch")), 1);
    pel_node *statement = pel_node_new(w->ctx, PEL_Expr);
    statement->Expr.value = pel_make_call(
        w->ctx, function, pel_nodes_one(w->ctx, pel_make_name(w->ctx, class->name, PEL_Load)), (pel_nodes){ 0 });
    pel_nodes_push(w->ctx, &w->body, statement);
}

/* Writes what name stands for, after all that it needs. */
static void reach(writer *w, pel_name name) {
    uint64_t row;
    pel_node *def = NULL;
    bool is_class = pel_map_get(&w->class_named, PEL_KEY(name), &row);
    bool is_global = !is_class && pel_map_get(&w->global_named, PEL_KEY(name), &row);
    if (!is_class && !is_global && !pel_map_get(&w->function_named, PEL_KEY(name), &row)) return;
    if (!pel_map_set(w->ctx, &w->written, PEL_KEY(name), 1)) return;
    if (++w->depth > MAX_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "classes nest deeper than %d", MAX_DEPTH);
    def = is_class ? class_definition(w, w->program->classes.at[row])
          : is_global
              ? pel_make_assign(w->ctx, pel_make_name(w->ctx, name, PEL_Store), w->program->globals.at[row].value)
              : w->program->functions.at[row]->def;
    reach_names(w, &def);
    bool late = is_global &&
                pel_uses_at(NULL, def, pel_intern_c(w->ctx, PEL_EMBEDDED)).reads; /* it calls what stands at the end */
    pel_nodes_push(w->ctx, late ? &w->late : &w->body, def);
    if (is_class) register_record(w, w->program->classes.at[row]);
    pel_nodes after = is_class || is_global ? (pel_nodes){ 0 } : w->program->functions.at[row]->after;
    for (uint32_t i = 0; i < after.n; i++) {
        reach_names(w, &after.at[i]);
        pel_nodes_push(w->ctx, &w->body, after.at[i]);
    }
    w->depth--;
}

/* ---- assertions about data ---- */

/* x[:, [-1, 0]]: no container of Python's takes a slice among several indices. */
static bool is_part_of_tensor(const pel_node *node) {
    if (node->kind != PEL_Subscript || node->Subscript.slice->kind != PEL_Tuple) return false;
    const pel_nodes *indices = &node->Subscript.slice->Tuple.elts;
    for (uint32_t i = 0; i < indices->n; i++)
        if (indices->at[i]->kind == PEL_Slice) return true;
    return false;
}

/* Whether a test asks the elements of a tensor. */
static void find_question(void *arg, pel_node **slot) {
    static const char *const names[] = { "all", "any",  "item", "tolist", "equal", "allclose", "is_nonzero",
                                         "sum", "mean", "max",  "min",    "amax",  "amin",     "count_nonzero" };
    bool *asks = arg;
    const pel_node *node = *slot;
    const pel_node *function = node->kind == PEL_Call ? node->Call.func : NULL;
    for (size_t i = 0; function && function->kind == PEL_Attribute && i < PEL_COUNT(names); i++)
        *asks |= pel_name_is(function->Attribute.attr, names[i]);
    for (uint32_t i = 0; node->kind == PEL_Compare && i < node->Compare.comparators.n; i++)
        *asks |= is_part_of_tensor(node->Compare.comparators.at[i]);
    pel_each_child(*slot, find_question, arg);
}

/* Whether a test asks by itself who runs it. */
static void find_tracer(void *arg, pel_node **slot) {
    *(bool *)arg |= (*slot)->kind == PEL_Attribute && pel_name_is((*slot)->Attribute.attr, "is_compiling");
    pel_each_child(*slot, find_tracer, arg);
}

static pel_node *unless_traced(writer *w, pel_node *test) {
    if (test->kind == PEL_BoolOp && test->BoolOp.op == PEL_And) {
        for (uint32_t i = 0; i < test->BoolOp.values.n; i++)
            test->BoolOp.values.at[i] = unless_traced(w, test->BoolOp.values.at[i]);
        return test;
    }
    bool asks = false, asks_tracer = false;
    find_question(&asks, &test);
    find_tracer(&asks_tracer, &test);
    if (!asks || asks_tracer) return test;
    pel_node *function = pel_library_expression(w->ctx, w->program, PEL_STR("torch.compiler.is_compiling"));
    pel_map_set(w->ctx, &w->used, PEL_KEY(pel_intern_c(w->ctx, "torch")), 1);
    pel_nodes either = pel_nodes_one(w->ctx, pel_make_call(w->ctx, function, (pel_nodes){ 0 }, (pel_nodes){ 0 }));
    pel_nodes_push(w->ctx, &either, test);
    return pel_make_boolop(w->ctx, PEL_Or, either);
}

/* torch.export and torch.compile see no elements: an assertion about them would keep a skeleton from what its original
 * can do. There it is left out, as authors leave such tests out themselves. */
static void spare_tracers(void *arg, pel_node **slot) {
    writer *w = arg;
    if ((*slot)->kind == PEL_Assert) (*slot)->Assert.test = unless_traced(w, (*slot)->Assert.test);
    pel_each_child(*slot, spare_tracers, arg);
}

/* ---- imports ---- */

static const struct {
    const char *module, *as;   /* import module as as */
    const char *from, *import; /* or from from import import */
} import_forms[] = {
    { "torch.nn.functional", "F", NULL, NULL },
    { "torch.nn", NULL, "torch", "nn" },
    { "numpy", "np", NULL, NULL },
    { "collections.OrderedDict", NULL, "collections", "OrderedDict" },
    { "contextlib.contextmanager", NULL, "contextlib", "contextmanager" },
    { "dataclasses.dataclass", NULL, "dataclasses", "dataclass" },
    { "typing.NamedTuple", NULL, "typing", "NamedTuple" },
};

static pel_node *import_statement(writer *w, pel_name module) {
    pel_ctx *ctx = w->ctx;
    pel_node *alias = pel_node_new(ctx, PEL_alias), *node;
    alias->alias.name = module;
    for (size_t i = 0; i < PEL_COUNT(import_forms); i++) {
        if (!pel_name_is(module, import_forms[i].module)) continue;
        if (import_forms[i].as) alias->alias.asname = pel_intern_c(ctx, import_forms[i].as);
        if (!import_forms[i].from) break;
        alias->alias.name = pel_intern_c(ctx, import_forms[i].import);
        node = pel_node_new(ctx, PEL_ImportFrom);
        node->ImportFrom.module = pel_intern_c(ctx, import_forms[i].from);
        node->ImportFrom.names = pel_nodes_one(ctx, alias);
        return node;
    }
    node = pel_node_new(ctx, PEL_Import);
    node->Import.names = pel_nodes_one(ctx, alias);
    return node;
}

/* Passes that were done again, or struck something out, leave imports that nothing needs. */
static bool is_used(const writer *w, pel_name module) {
    for (size_t i = 0; i < PEL_COUNT(import_forms); i++)
        if (pel_name_is(module, import_forms[i].module))
            return pel_map_has(&w->used, PEL_KEY(pel_intern_c(w->ctx, import_forms[i].as ? import_forms[i].as
                                                                                         : import_forms[i].import)));
    return pel_map_has(&w->used, PEL_KEY(module));
}

static bool is_third_party(pel_name module) {
    pel_str s = pel_name_str(module);
    return pel_str_starts(s, PEL_STR("torch")) || pel_str_starts(s, PEL_STR("numpy"));
}

static bool is_from(pel_name module) {
    for (size_t i = 0; i < PEL_COUNT(import_forms); i++)
        if (pel_name_is(module, import_forms[i].module)) return import_forms[i].from != NULL;
    return false;
}

static int compare_imports(const void *a, const void *b) {
    const pel_name *x = a, *y = b;
    bool from_x = is_from(*x), from_y = is_from(*y);
    if (from_x != from_y) return from_x ? 1 : -1; /* `from` after `import` */
    return pel_str_cmp(pel_name_str(*x), pel_name_str(*y));
}

static void put_imports(writer *w, const pel_print_options *options, pel_buf *out) {
    pel_program *program = w->program;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < program->imports.n; i++)
        if (is_used(w, program->imports.at[i])) program->imports.at[kept++] = program->imports.at[i];
    program->imports.n = kept;
    if (program->embedded.n) {
        pel_push(w->ctx, &program->imports, pel_intern_c(w->ctx, "base64"));
        pel_push(w->ctx, &program->imports, pel_intern_c(w->ctx, "zlib"));
        pel_library_expression(w->ctx, program, PEL_STR("torch"));
    }
    if (program->imports.n) qsort(program->imports.at, program->imports.n, sizeof(pel_name), compare_imports);
    for (int third_party = 0; third_party < 2; third_party++) {
        pel_nodes group = { 0 };
        for (uint32_t i = 0; i < program->imports.n; i++)
            if (is_third_party(program->imports.at[i]) == third_party)
                pel_nodes_push(w->ctx, &group, import_statement(w, program->imports.at[i]));
        if (!group.n) continue;
        pel_print_body(w->ctx, group, 0, options, out);
        pel_put_byte(out, '\n');
    }
}

/* ---- header ---- */

static void put_fallbacks(const pel_program *program, pel_buf *out) {
    for (uint32_t i = 0; i < program->said.remarks.n; i++)
        if (program->said.remarks.at[i].kind == PEL_REMARK_FALLBACK)
            pel_putf(out, "# Written as the calls that ran, not as their source: %.*s.\n",
                     PEL_FMT(program->said.remarks.at[i].text));
}

/* Whether an item of the list of versions, "timm 1.0.30", says something of this model: that of Python, of torch, or of
 * a package that a class of its modules comes from. */
static bool is_version_said(const pel_log *log, pel_str item) {
    size_t end = 0;
    while (end < item.len && item.ptr[end] != ' ') end++;
    pel_str name = pel_str_cut(item, 0, end);
    if (pel_str_is(name, "Python") || pel_str_is(name, "torch")) return true;
    for (pel_id i = 1; i < log->modules.n; i++) {
        pel_str module = pel_class_at(log, log->modules.at[i].class)->module;
        if (pel_str_starts(module, name) && (module.len == name.len || module.ptr[name.len] == '.')) return true;
    }
    return false;
}

static void put_versions(const pel_log *log, pel_buf *out) {
    const char *between = " with ";
    for (size_t start = 0; start < log->versions.len;) {
        size_t end = start;
        while (end < log->versions.len && log->versions.ptr[end] != ',') end++;
        pel_str item = pel_str_cut(log->versions, start, end);
        if (is_version_said(log, item)) {
            pel_putf(out, "%s%.*s", between, PEL_FMT(item));
            between = ", ";
        }
        for (start = end + 1; start < log->versions.len && log->versions.ptr[start] == ' ';) start++;
    }
}

/* nn.Parameter(torch.empty(...)) */
static void look_for_unfilled(void *arg, pel_node **slot) {
    bool *found = arg;
    const pel_node *node = *slot;
    if (!node || *found) return;
    if (node->kind == PEL_Call && node->Call.args.n && node->Call.args.at[0]->kind == PEL_Call) {
        const pel_node *outer = node->Call.func, *inner = node->Call.args.at[0]->Call.func;
        *found = outer->kind == PEL_Attribute && pel_name_is(outer->Attribute.attr, "Parameter") &&
                 inner->kind == PEL_Attribute && pel_name_is(inner->Attribute.attr, "empty");
    }
    if (!*found) pel_each_child(*slot, look_for_unfilled, found);
}

/* The author's initialisation is not written: who trains from the beginning must know. */
static void put_unfilled(const pel_log *log, pel_nodes body, pel_buf *out) {
    bool found = false;
    for (uint32_t i = 0; i < body.n; i++) look_for_unfilled(&found, &body.at[i]);
    if (!found && log->from_source) return;
    pel_put_c(out, "# Load weights before training: the author's initialisation is not in this file");
    pel_put_c(out, found ? ", torch.empty has no values.\n" : ".\n");
}

static void put_header(const pel_program *program, pel_nodes body, pel_buf *out) {
    const pel_log *log = program->log;
    pel_putf(out, "# %s of %.*s, made by pellucid", program->only_construction ? "The constructors" : "A skeleton",
             PEL_FMT(log->origin.len ? log->origin : pel_name_str(program->root)));
    put_versions(log, out);
    pel_put_c(out, log->from_source ? " from source alone: not executed, not verified.\n" : ".\n");
    for (uint32_t i = 0; i < log->assumed.n; i++) pel_putf(out, "# Assumed: %.*s\n", PEL_FMT(log->assumed.at[i]));
    pel_putf(out, "# Use: model = %s(); model.load_state_dict(original.state_dict())\n", program->root->text);
    put_unfilled(log, body, out);
    if (!log->from_source) pel_put_c(out, "# " PEL_VERDICT_LINE "\n");
    if (program->embedded.n)
        pel_putf(out, "# %u constant tensor%s without a formula stand%s at the end of the file.\n", program->embedded.n,
                 program->embedded.n == 1 ? "" : "s", program->embedded.n == 1 ? "s" : "");
    put_fallbacks(program, out);
    pel_put_byte(out, '\n');
}

void pel_write_file(pel_ctx *ctx, pel_program *program) {
    pel_buf text = pel_buf_in(ctx), *out = &text;
    writer w = { .ctx = ctx, .program = program };
    for (uint32_t i = 0; i < program->classes.n; i++)
        pel_map_set(ctx, &w.class_named, PEL_KEY(program->classes.at[i]->name), i);
    for (uint32_t i = 0; i < program->functions.n; i++) {
        const pel_program_function *function = program->functions.at[i];
        if (!function->class && !function->dead && function->def)
            pel_map_set(ctx, &w.function_named, PEL_KEY(function->name), i);
    }
    for (uint32_t i = 0; i < program->globals.n; i++)
        pel_map_set(ctx, &w.global_named, PEL_KEY(program->globals.at[i].name), i);
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->is_given) reach(&w, program->classes.at[i]->name);
    reach(&w, program->root);
    for (uint32_t i = 0; i < w.body.n; i++) spare_tracers(&w, &w.body.at[i]);
    pel_node *module = pel_node_new(ctx, PEL_Module);
    module->Module.body = w.body;
    pel_ast_check(ctx, module); /* a hole in the tree is a refusal, not a crash of the printer */
    const pel_print_options options = { .width = 120, .version = 10 };
    put_header(program, w.body, out);
    put_imports(&w, &options, out);
    pel_put_byte(out, '\n');
    pel_print_body(ctx, w.body, 0, &options, out);
    emit_embedded(ctx, program, out);
    if (w.late.n) pel_put_byte(out, '\n');
    pel_print_body(ctx, w.late, 0, &options, out);
    program->text = pel_buf_str(out);
}

bool pel_pass_emit(pel_synth *s) {
    pel_write_file(s->ctx, s->program);
    return true;
}
