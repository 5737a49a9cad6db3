/* The author's own functions, which a scripted archive keeps for messages: code/NAME.py.debug_pkl has a table of
 * strings, and for each range of the code the numbers of those that make up the function it was compiled from. */
#include "load/audit/source_effects.h"
#include "source/script.h"

#define MOST_LINES 2000
#define MAX_DEPTH 500

/* ---- ranges ---- */

static int64_t number_of(const pel_pickled *value) {
    return value && value->kind == PEL_P_INT && !value->is_big ? value->integer : -1;
}

static const pel_pickled *item(const pel_pickled *row, uint32_t index) {
    bool is_row = row && (row->kind == PEL_P_TUPLE || row->kind == PEL_P_LIST);
    return is_row && index < row->items.n ? row->items.at[index] : NULL;
}

/* ("FORMAT_WITH_STRING_TABLE", strings, ((offset, ((lines, file, line), start, end), tag), ...)) */
static void read_ranges(pel_script *s, pel_script_file *file) {
    pel_ctx *ctx = s->r->ctx;
    char *path = pel_alloc_raw(ctx, file->module.len + 1);
    for (size_t i = 0; i < file->module.len; i++) path[i] = file->module.ptr[i] == '.' ? '/' : file->module.ptr[i];
    pel_str name = pel_format(ctx, "%.*scode/%.*s.py.debug_pkl", PEL_FMT(s->folder), (int)file->module.len, path);
    const pel_pickled *root = NULL;
    file->has_ranges = true;
    for (uint32_t i = 0; i < s->r->loaded->pickles.n && !root; i++)
        if (pel_str_eq(s->r->loaded->pickles.at[i].member, name) && !s->r->loaded->pickles.at[i].pickle->failed)
            root = s->r->loaded->pickles.at[i].pickle->root;
    const pel_pickled *format = item(root, 0), *rows = item(root, 2);
    if (!format || format->kind != PEL_P_STR || !pel_str_is(format->text, "FORMAT_WITH_STRING_TABLE") || !rows) return;
    file->strings = item(root, 1);
    for (uint32_t i = 0; i < rows->items.n; i++) {
        const pel_pickled *row = rows->items.at[i], *source = item(item(row, 1), 0),
                          *lines = pel_script_untagged(item(source, 0));
        int64_t start = number_of(item(row, 0));
        if (start >= 0 && lines && lines->kind == PEL_P_LIST)
            pel_push(
                ctx, &file->ranges,
                (pel_script_range){ (uint64_t)start, lines, number_of(item(source, 1)), number_of(item(source, 2)) });
    }
}

static pel_str string_at(const pel_script_file *file, int64_t index) {
    const pel_pickled *text = index >= 0 && index < UINT32_MAX ? item(file->strings, (uint32_t)index) : NULL;
    return text && text->kind == PEL_P_STR ? text->text : (pel_str){ "", 0 };
}

/* The text without the blanks that all of its lines begin with. */
static pel_str joined(pel_ctx *ctx, const pel_script_file *file, const pel_pickled *lines) {
    pel_buf out = pel_buf_in(ctx);
    pel_str first = string_at(file, number_of(item(lines, 0)));
    size_t indent = 0;
    while (indent < first.len && first.ptr[indent] == ' ') indent++;
    for (uint32_t i = 0; i < lines->items.n; i++) {
        pel_str line = string_at(file, number_of(lines->items.at[i]));
        size_t skip = 0;
        while (skip < indent && skip < line.len && line.ptr[skip] == ' ') skip++;
        pel_put(&out, pel_str_from(line, skip));
    }
    return pel_buf_str(&out);
}

typedef struct parse_job {
    pel_str text;
    pel_node *root;
} parse_job;

static void parse_text(pel_ctx *ctx, void *arg) {
    parse_job *job = arg;
    pel_source source = pel_source_text(ctx, PEL_STR("the author's text"), job->text);
    job->root = pel_parse(ctx, &source, PEL_VERSION_MAX);
}

/* The one function that these lines are; NULL: they are something else. */
static pel_author_text *text_of(pel_script *s, const pel_script_file *file, const pel_script_range *range) {
    pel_ctx *ctx = s->r->ctx;
    uint64_t known;
    if (pel_map_get(&s->texts, PEL_KEY(range->lines), &known)) return (pel_author_text *)(uintptr_t)known;
    parse_job job = { 0 };
    pel_err why;
    pel_author_text *made = NULL;
    if (range->lines->items.n && range->lines->items.n < MOST_LINES) {
        job.text = joined(ctx, file, range->lines);
        if (!pel_attempt(ctx, parse_text, &job, &why) && why.code == PEL_E_MEMORY)
            pel_throw(ctx, why.code, why.at, "%s", why.what);
    }
    if (job.root && job.root->Module.body.n == 1 && job.root->Module.body.at[0]->kind == PEL_FunctionDef) {
        made = pel_new(ctx, pel_author_text);
        *made = (pel_author_text){ job.root->Module.body.at[0], string_at(file, range->file), range->line };
    }
    pel_map_set(ctx, &s->texts, PEL_KEY(range->lines), PEL_KEY(made));
    return made;
}

static bool same_arguments(const pel_node *a, const pel_node *b) {
    const pel_nodes *one = &a->FunctionDef.args->arguments.args, *two = &b->FunctionDef.args->arguments.args;
    if (one->n + a->FunctionDef.args->arguments.kwonlyargs.n != two->n + b->FunctionDef.args->arguments.kwonlyargs.n)
        return false;
    for (uint32_t i = 0; i < one->n && i < two->n; i++)
        if (one->at[i]->arg.arg != two->at[i]->arg.arg) return false;
    return !a->FunctionDef.args->arguments.vararg && !a->FunctionDef.args->arguments.kwarg;
}

/* The text of a function of the code: of all that its ranges name, the one of its name and arguments. */
static const pel_author_text *author_of(pel_script *s, pel_script_file *file, const pel_node *function) {
    if (!file->has_ranges) read_ranges(s, file);
    uint64_t start = file->lines.at[function->lineno - 1];
    uint64_t end = function->end_lineno < file->lines.n ? file->lines.at[function->end_lineno] : file->text.len;
    const pel_author_text *found = NULL;
    for (uint32_t i = 0; i < file->ranges.n; i++) {
        const pel_script_range *range = &file->ranges.at[i];
        if (range->start < start || range->start >= end) continue;
        const pel_author_text *text = text_of(s, file, range);
        if (!text || text->function->FunctionDef.name != function->FunctionDef.name ||
            !same_arguments(text->function, function))
            continue;
        if (found && found != text && !pel_same(found->function, text->function)) return NULL;
        found = text;
    }
    return found;
}

/* ---- what TorchScript decides when it compiles ---- */

static pel_str dotted_name(pel_ctx *ctx, const pel_node *node) {
    if (node->kind == PEL_Name) return pel_name_str(node->Name.id);
    if (node->kind != PEL_Attribute) return (pel_str){ "", 0 };
    pel_str owner = dotted_name(ctx, node->Attribute.value);
    return owner.len ? pel_format(ctx, "%.*s.%s", PEL_FMT(owner), node->Attribute.attr->text) : owner;
}

static pel_node *a_bool(pel_ctx *ctx, bool value) { return pel_make_constant(ctx, pel_const_bool(value)); }

static pel_node *folded_boolop(pel_ctx *ctx, pel_node *node) {
    bool is_or = node->BoolOp.op == PEL_Or;
    pel_nodes rest = { 0 };
    for (uint32_t i = 0; i < node->BoolOp.values.n; i++) {
        pel_node *value = node->BoolOp.values.at[i];
        if (pel_is_truth(value, !is_or)) continue;
        pel_nodes_push(ctx, &rest, value);
        if (pel_is_truth(value, is_or)) break;
    }
    if (!rest.n) return a_bool(ctx, !is_or);
    if (rest.n == 1 || (pel_is_truth(rest.at[0], is_or))) return rest.at[0];
    node->BoolOp.values = rest;
    return node;
}

/* torch.jit.is_scripting() is True to what was compiled, and what depends on it is not there. */
static void fold(void *arg, pel_node **slot) {
    pel_ctx *ctx = arg;
    pel_node *node = *slot;
    pel_each_child(node, fold, ctx);
    if (node->kind == PEL_Call && !node->Call.args.n) {
        pel_str name = dotted_name(ctx, node->Call.func);
        if (pel_str_is(name, "torch.jit.is_scripting")) *slot = a_bool(ctx, true);
        if (pel_str_is(name, "torch.jit.is_tracing")) *slot = a_bool(ctx, false);
    } else if (node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_Not) {
        const pel_node *operand = node->UnaryOp.operand;
        if (pel_is_truth(operand, true) || pel_is_truth(operand, false))
            *slot = a_bool(ctx, pel_is_truth(operand, false));
    } else if (node->kind == PEL_BoolOp) {
        *slot = folded_boolop(ctx, node);
    } else if (node->kind == PEL_IfExp) {
        if (pel_is_truth(node->IfExp.test, true)) *slot = node->IfExp.body;
        if (pel_is_truth(node->IfExp.test, false)) *slot = node->IfExp.orelse;
    }
}

static pel_nodes pruned(pel_ctx *ctx, pel_nodes body);

static void prune_below(pel_ctx *ctx, pel_node *node) {
    if (node->kind == PEL_If) {
        node->If.body = pruned(ctx, node->If.body);
        if (node->If.orelse.n) node->If.orelse = pruned(ctx, node->If.orelse);
        if (node->If.orelse.n == 1 && node->If.orelse.at[0]->kind == PEL_Pass) node->If.orelse = (pel_nodes){ 0 };
    }
    if (node->kind == PEL_For) node->For.body = pruned(ctx, node->For.body);
    if (node->kind == PEL_While) node->While.body = pruned(ctx, node->While.body);
    if (node->kind == PEL_With) node->With.body = pruned(ctx, node->With.body);
}

/* Branches whose test is decided are their body, or nothing. */
static pel_nodes pruned(pel_ctx *ctx, pel_nodes body) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < body.n; i++) {
        pel_node *line = body.at[i];
        bool is_true = line->kind == PEL_If && pel_is_truth(line->If.test, true),
             is_false = line->kind == PEL_If && pel_is_truth(line->If.test, false);
        if (!is_true && !is_false) {
            prune_below(ctx, line);
            pel_nodes_push(ctx, &out, line);
            continue;
        }
        pel_nodes taken = is_true ? line->If.body : line->If.orelse;
        if (taken.n) taken = pruned(ctx, taken);
        for (uint32_t k = 0; k < taken.n; k++)
            if (taken.at[k]->kind != PEL_Pass) pel_nodes_push(ctx, &out, taken.at[k]);
    }
    if (!out.n) pel_nodes_push(ctx, &out, pel_node_new(ctx, PEL_Pass));
    return out;
}

/* ---- names that the text takes from its module ---- */

typedef struct import_row {
    const char *name, *module;
} import_row;
static const import_row imports[] = {
#define IMPORT(name, module) { name, module },
#include "source/imports.def"
#undef IMPORT
};

typedef struct resolver {
    pel_script *s;
    pel_ctx *ctx;
    pel_script_part *p;
    pel_script_file *file;
    const pel_node *code; /* what the text became */
    pel_map bound;
    pel_str why; /* why the text can't stand alone */
    bool in_annotation;
    int depth;
} resolver;

static void find_bound(void *arg, pel_node **slot) {
    resolver *f = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Name && node->Name.ctx != PEL_Load) pel_map_set(f->ctx, &f->bound, PEL_KEY(node->Name.id), 1);
    if (node->kind == PEL_arg) pel_map_set(f->ctx, &f->bound, PEL_KEY(node->arg.arg), 1);
    if (node->kind == PEL_ExceptHandler && node->ExceptHandler.name)
        pel_map_set(f->ctx, &f->bound, PEL_KEY(node->ExceptHandler.name), 1);
    if (node->kind == PEL_FunctionDef) pel_map_set(f->ctx, &f->bound, PEL_KEY(node->FunctionDef.name), 1);
    pel_each_child(node, find_bound, f);
}

typedef struct callee {
    pel_ctx *ctx;
    pel_str last;
    pel_str found;
} callee;

/* __torch__.package.name in the code, called there or bound to a name first. */
static void find_callee(void *arg, pel_node **slot) {
    callee *c = arg;
    pel_node *node = *slot;
    pel_str name = node->kind == PEL_Attribute ? dotted_name(c->ctx, node) : (pel_str){ "", 0 };
    bool is_of_file = pel_str_starts(name, PEL_STR("__torch__."));
    if (is_of_file && pel_str_eq(pel_name_str(node->Attribute.attr), c->last)) c->found = name;
    if (!is_of_file) pel_each_child(node, find_callee, c); /* what the name begins with is no function */
}

static bool is_import(pel_name name) {
    for (size_t i = 0; i < PEL_COUNT(imports); i++)
        if (pel_name_is(name, imports[i].name)) return true;
    return false;
}

/* Long because it is a list of names. */
static bool is_builtin(pel_name name) {
    static const char *const names[] = { "abs",          "all",
                                         "any",          "bool",
                                         "dict",         "divmod",
                                         "enumerate",    "float",
                                         "getattr",      "hasattr",
                                         "int",          "isinstance",
                                         "len",          "list",
                                         "max",          "min",
                                         "print",        "range",
                                         "reversed",     "round",
                                         "set",          "sorted",
                                         "str",          "sum",
                                         "tuple",        "type",
                                         "zip",          "AssertionError",
                                         "Exception",    "NotImplementedError",
                                         "RuntimeError", "TypeError",
                                         "ValueError",   "IndexError",
                                         "KeyError",     "super",
                                         "object",       "bytes",
                                         "complex",      "id",
                                         "map",          "filter",
                                         "property",     "None",
                                         "True",         "False" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return !pel_name_is(name, "super");
    return false;
}

/* What a function of the file is called here; NULL: the code calls none of that name. */
static pel_node *function_named(resolver *f, pel_str last) {
    callee c = { f->ctx, last, { "", 0 } };
    pel_node *code = (pel_node *)f->code;
    pel_each_child(code, find_callee, &c);
    return c.found.len ? pel_script_needs(f->s, c.found, f->file, f->code) : NULL;
}

static void fail(resolver *f, const char *what, pel_str name) {
    if (!f->why.len) f->why = pel_format(f->ctx, "%s %.*s", what, PEL_FMT(name));
}

/* nn.Sequential and nn.ModuleDict are what a class that runs over itself can be. */
static bool base_has(resolver *f, pel_str name) {
    pel_part *part = f->p->part;
    bool is_dict = pel_str_is(name, "items") || pel_str_is(name, "keys") || pel_str_is(name, "values");
    if (is_dict && (!part->base.len || pel_str_is(part->base, "nn.ModuleDict"))) {
        part->base = PEL_STR("nn.ModuleDict");
        return true;
    }
    return false;
}

static bool class_has(const pel_script_part *p, pel_name name) {
    for (uint32_t i = 0; p->class && i < p->class->node->ClassDef.body.n; i++) {
        const pel_node *line = p->class->node->ClassDef.body.at[i];
        if (line->kind == PEL_FunctionDef && line->FunctionDef.name == name) return true;
    }
    return false;
}

static bool part_has(resolver *f, pel_name name) {
    static const char *const everyone[] = { "training",       "modules",       "children",
                                            "named_children", "parameters",    "named_parameters",
                                            "buffers",        "named_buffers", "forward" };
    const pel_part *part = f->p->part;
    pel_str text = pel_name_str(name);
    for (uint32_t i = 0; i < part->children.n; i++)
        if (pel_str_eq(part->children.at[i]->name, text)) return true;
    for (uint32_t i = 0; i < part->held.n; i++)
        if (part->held.at[i].name == name) return true;
    for (uint32_t i = 0; i < part->attributes.n; i++)
        if (part->attributes.at[i].name == name) return true;
    for (size_t i = 0; i < PEL_COUNT(everyone); i++)
        if (pel_str_is(text, everyone[i])) return true;
    return class_has(f->p, name) || base_has(f, text);
}

/* `for module in self`, enumerate(self), self[0]: what nn.Sequential can. */
static bool is_self(const resolver *f, const pel_node *node) {
    return f->p && node && node->kind == PEL_Name && pel_name_is(node->Name.id, "self");
}

/* Where self itself may stand; NULL: nowhere in this node. */
static pel_node **place_of_self(pel_node *node) {
    static const char *const takers[] = { "enumerate", "len", "reversed" };
    if (node->kind == PEL_For) return &node->For.iter;
    if (node->kind == PEL_comprehension) return &node->comprehension.iter;
    if (node->kind == PEL_Subscript) return &node->Subscript.value;
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Name || node->Call.args.n != 1) return NULL;
    for (size_t i = 0; i < PEL_COUNT(takers); i++)
        if (pel_name_is(node->Call.func->Name.id, takers[i])) return &node->Call.args.at[0];
    return NULL;
}

static void take_self_off(resolver *f, pel_node *node) {
    pel_node **place = place_of_self(node);
    if (!place || !is_self(f, *place)) return;
    if (!f->p->part->base.len) f->p->part->base = PEL_STR("nn.Sequential");
    *place = pel_make_constant(f->ctx, &pel_ellipsis);
}

static void put_self_back(resolver *f, pel_node *node) {
    pel_node **place = place_of_self(node);
    bool was_self = place && (*place)->kind == PEL_Constant && (*place)->Constant.value == &pel_ellipsis;
    if (was_self) *place = pel_name_node(f->ctx, "self");
}

static void resolve(void *arg, pel_node **slot);

static void resolve_name(resolver *f, pel_node **slot) {
    pel_name name = (*slot)->Name.id;
    if ((*slot)->Name.ctx != PEL_Load || pel_map_has(&f->bound, PEL_KEY(name)) || is_builtin(name)) return;
    if (is_import(name)) {
        pel_map_set(f->ctx, &f->s->r->imports, PEL_KEY(name), 1);
        return;
    }
    pel_node *function = f->in_annotation ? NULL : function_named(f, pel_name_str(name));
    if (function)
        *slot = function;
    else
        fail(f, "it uses", pel_name_str(name));
}

static void resolve_attribute(resolver *f, pel_node **slot) {
    pel_node *node = *slot, *owner = node->Attribute.value;
    if (is_self(f, owner)) {
        if (!part_has(f, node->Attribute.attr))
            fail(f, "the file has no value of self.", pel_name_str(node->Attribute.attr));
        return;
    }
    bool is_foreign = owner->kind == PEL_Name && !pel_map_has(&f->bound, PEL_KEY(owner->Name.id)) &&
                      !is_builtin(owner->Name.id) && !is_import(owner->Name.id);
    pel_node *function = is_foreign ? function_named(f, pel_name_str(node->Attribute.attr)) : NULL;
    if (function)
        *slot = function;
    else
        pel_each_child(node, resolve, f);
}

/* An annotation that names what is not known here is left out. */
static void resolve_annotation(resolver *f, pel_node **slot) {
    if (!*slot) return;
    pel_str before = f->why;
    bool was = f->in_annotation;
    f->why = (pel_str){ "", 0 };
    f->in_annotation = true;
    resolve(f, slot);
    if (f->why.len) *slot = NULL;
    f->why = before;
    f->in_annotation = was;
}

/* Long because it is a list of kinds. */
static void resolve(void *arg, pel_node **slot) {
    resolver *f = arg;
    pel_node *node = *slot;
    if (f->why.len) return;
    if (++f->depth > MAX_DEPTH) {
        fail(f, "it nests too deep", PEL_STR(""));
        return;
    }
    if (node->kind == PEL_Name) {
        if (is_self(f, node)) fail(f, "it hands on", PEL_STR("self"));
        resolve_name(f, slot);
    } else if (node->kind == PEL_Attribute) {
        resolve_attribute(f, slot);
    } else if (node->kind == PEL_arg) {
        resolve_annotation(f, &node->arg.annotation);
    } else if (node->kind == PEL_AnnAssign) {
        pel_node *note = node->AnnAssign.annotation;
        resolve_annotation(f, &note);
        if (node->AnnAssign.value) resolve(f, &node->AnnAssign.value);
        if (!note && node->AnnAssign.value && node->AnnAssign.target->kind == PEL_Name)
            *slot = pel_make_assign(f->ctx, node->AnnAssign.target, node->AnnAssign.value);
        else if (!note)
            fail(f, "it annotates a", PEL_STR("name"));
    } else {
        if (f->p) take_self_off(f, node);
        pel_each_child(node, resolve, f);
        if (f->p) put_self_back(f, node);
    }
    f->depth--;
}

/* ---- all of it ---- */

static bool is_of_script(pel_ctx *ctx, const pel_node *decorator) {
    const pel_node *name = decorator->kind == PEL_Call ? decorator->Call.func : decorator;
    pel_str text = dotted_name(ctx, name);
    return pel_str_starts(text, PEL_STR("torch.jit."));
}

static bool cleared_decorators(pel_ctx *ctx, pel_node *function) {
    for (uint32_t i = 0; i < function->FunctionDef.decorator_list.n; i++)
        if (!is_of_script(ctx, function->FunctionDef.decorator_list.at[i])) return false;
    function->FunctionDef.decorator_list = (pel_nodes){ 0 };
    return true;
}

static bool no_sibling(void *arg, pel_str module) {
    (void)arg, (void)module;
    return false;
}

/* The text is not what torch runs, so nobody else looks at it: whatever may do more than compute is not taken. */
static bool only_computes(pel_ctx *ctx, pel_node *function) {
    static const char usual[] = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
                                "import warnings\nfrom torch import Tensor\nfrom typing import *\n";
    pel_source source = pel_source_text(ctx, PEL_STR("the usual imports"), PEL_STR(usual));
    pel_node *module = pel_parse(ctx, &source, PEL_VERSION_MAX);
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i + 1 < module->Module.body.n; i++) pel_nodes_push(ctx, &body, module->Module.body.at[i]);
    pel_nodes_push(ctx, &body, function);
    module->Module.body = body;
    pel_source_effects effects = { 0 };
    pel_source_effects_of(ctx, module, no_sibling, NULL, &effects);
    for (uint32_t i = 0; i < effects.rows.n; i++) { /* methods of modules and tensors are found by their names alone */
        bool is_method = effects.rows.at[i].effect == PEL_EFFECT_UNKNOWN && effects.rows.at[i].what.ptr[0] == '.';
        if (!is_method) return false;
    }
    return true;
}

pel_node *pel_script_text(pel_script *s, pel_script_part *p, pel_script_file *file, const pel_node *function) {
    pel_ctx *ctx = s->r->ctx;
    const pel_author_text *text = author_of(s, file, function);
    if (!text) return NULL;
    pel_node *made = pel_copy(ctx, text->function);
    if (!cleared_decorators(ctx, made)) return NULL;
    pel_each_child(made, fold, ctx);
    made->FunctionDef.body = pruned(ctx, made->FunctionDef.body);
    resolver f = { .s = s, .ctx = ctx, .p = p, .file = file, .code = function };
    pel_str base = p ? p->part->base : (pel_str){ "", 0 };
    pel_each_child(made, find_bound, &f);
    resolve_annotation(&f, &made->FunctionDef.returns);
    pel_node *returns = made->FunctionDef.returns;
    made->FunctionDef.returns = NULL;
    pel_each_child(made, resolve, &f);
    made->FunctionDef.returns = returns;
    bool is_usable = !f.why.len && only_computes(ctx, made);
    if (!is_usable && p) p->part->base = base;
    if (!is_usable) return NULL;
    made->mark = PEL_AUTHORS;
    return made;
}
