/* torch.export.save: a zip archive with the program as JSON and one member for each weight.
 *
 * The program's nodes say which module they came from, so the tree has the author's modules and classes. */
#include "base/json_read.h"
#include "io/bytes.h"
#include "load/load.h"
#include "load/audit/audit.h"
#include "load/audit/effects.h"
#include "load/audit/torch_ops.h"

#define MAX_JSON ((uint64_t)256 << 20)
#define MAX_DIMS 64
#define MAX_LEVELS 200 /* of the program as JSON */
#define MAX_TEXTS 4    /* of JSON inside of texts of JSON */

typedef struct program {
    pel_ctx *ctx;
    pel_loaded *out;
    const pel_zip *zip;
    pel_map by_name; /* interned -> index of a member */
    pel_str folder;  /* "net/" */
    pel_tree_builder builder;
    pel_map roles; /* interned full name -> enum pel_tensor_role + 1 */
} program;

static uint64_t key_of(program *p, pel_str name) { return PEL_KEY(pel_intern_str(p->ctx, name)); }

static const pel_zip_member *find(program *p, pel_str name) {
    uint64_t index;
    return pel_map_get(&p->by_name, key_of(p, name), &index) ? &p->zip->members.at[index] : NULL;
}

static const pel_json_value *read_json(program *p, const pel_zip_member *member) {
    pel_map_set(p->ctx, &p->out->read, member->offset, 1);
    return pel_json_read(p->ctx, pel_zip_content(p->ctx, p->zip, member, MAX_JSON, &p->out->findings), member->offset);
}

/* ---- tensors ---- */

/* Of the schema's ScalarType. */
pel_str pel_export_dtype(const pel_json_value *number) {
    static const char *const names[] = { "",          "uint8",      "int8",    "int16",    "int32",
                                         "int64",     "float16",    "float32", "float64",  "complex32",
                                         "complex64", "complex128", "bool",    "bfloat16", "uint16" };
    bool is_known = number && number->kind == PEL_J_NUMBER && number->is_integer && number->integer >= 0 &&
                    number->integer < (int64_t)PEL_COUNT(names);
    return pel_str_of(is_known ? names[number->integer] : "");
}

/* [{"as_int": 2}, {"as_expr": {"expr_str": "s0"}}] */
static pel_shape shape_of(program *p, const pel_json_value *sizes) {
    pel_shape shape = { .is_known = false };
    if (!sizes || sizes->kind != PEL_J_ARRAY || sizes->items.n > MAX_DIMS) return shape;
    shape = (pel_shape){ pel_new_array(p->ctx, sizes->items.n, pel_dim), sizes->items.n, true };
    for (uint32_t i = 0; i < sizes->items.n; i++) {
        const pel_json_value *number = pel_json_get(sizes->items.at[i], "as_int");
        pel_str symbol = pel_json_text(pel_json_get(pel_json_get(sizes->items.at[i], "as_expr"), "expr_str"));
        if (number && number->kind == PEL_J_NUMBER && number->is_integer)
            shape.dims[i].size = number->integer;
        else
            shape.dims[i].symbol = symbol.len ? symbol : PEL_STR("?");
    }
    return shape;
}

static bool is_contiguous(program *p, const pel_json_value *meta, const pel_shape *shape) {
    pel_shape strides = shape_of(p, pel_json_get(meta, "strides"));
    int64_t expected = 1;
    if (strides.n != shape->n) return false;
    for (uint32_t i = shape->n; i-- > 0;) {
        if (shape->dims[i].size != 1 && strides.dims[i].size != expected) return false;
        if (__builtin_mul_overflow(expected, shape->dims[i].size, &expected)) return false;
    }
    return true;
}

static void add_weight(program *p, pel_str name, const pel_json_value *row, const char *folder) {
    const pel_json_value *meta = pel_json_get(row, "tensor_meta"), *grad = pel_json_get(meta, "requires_grad"),
                         *start = pel_json_get(pel_json_get(meta, "storage_offset"), "as_int"),
                         *pickled = pel_json_get(row, "use_pickle");
    if (!meta) return;
    uint64_t role = pel_map_find(&p->roles, key_of(p, name), PEL_PARAMETER + 1), count, size, begin;
    pel_model_tensor tensor = { .role = (pel_tensor_role)(role - 1),
                                .dtype = pel_export_dtype(pel_json_get(meta, "dtype")),
                                .shape = shape_of(p, pel_json_get(meta, "sizes")) };
    tensor.frozen = tensor.role == PEL_PARAMETER && grad && grad->kind == PEL_J_BOOL && !grad->boolean;
    pel_str path = pel_json_text(pel_json_get(row, "path_name"));
    const pel_zip_member *member = find(p, pel_format(p->ctx, "%.*s%s%.*s", PEL_FMT(p->folder), folder, PEL_FMT(path)));
    uint64_t width = pel_dtype_size(tensor.dtype), offset = start && start->is_integer ? (uint64_t)start->integer : 0;
    if (member && !(pickled && pickled->boolean)) pel_map_set(p->ctx, &p->out->read, member->offset, 1);
    bool is_plain = member && member->readable && member->method == 0 && !(pickled && pickled->boolean);
    if (is_plain && pel_shape_count(&tensor.shape, &count) && is_contiguous(p, meta, &tensor.shape) &&
        !__builtin_mul_overflow(count, width, &size) && !__builtin_mul_overflow(offset, width, &begin)) {
        if (begin <= member->size && size <= member->size - begin)
            pel_build_place(p->ctx, &tensor, p->zip->input, member->name, member->offset + begin, size);
        else
            pel_find(p->ctx, &p->out->findings, PEL_SUSPECT, "outside", name, member->offset,
                     PEL_STR("the tensor reaches beyond its storage"));
    }
    pel_build_tensor(&p->builder, name, tensor);
}

/* {"config": {name: {"path_name", "tensor_meta", ...}}} */
static void add_weights(program *p, const char *config, const char *folder) {
    const pel_zip_member *member = find(p, pel_format(p->ctx, "%.*s%s%s", PEL_FMT(p->folder), folder, config));
    const pel_json_value *rows = member ? pel_json_get(read_json(p, member), "config") : NULL;
    for (uint32_t i = 0; rows && rows->kind == PEL_J_OBJECT && i + 1 < rows->items.n; i += 2)
        add_weight(p, rows->items.at[i]->text, rows->items.at[i + 1], folder);
}

/* ---- the program ---- */

static void note_roles(program *p, const pel_json_value *signature) {
    const pel_json_value *specs = pel_json_get(signature, "input_specs");
    for (uint32_t i = 0; specs && specs->kind == PEL_J_ARRAY && i < specs->items.n; i++) {
        const pel_json_value *buffer = pel_json_get(specs->items.at[i], "buffer");
        const pel_json_value *stays = pel_json_get(buffer, "persistent");
        pel_str name = pel_json_text(pel_json_get(buffer, "buffer_name"));
        bool is_passing = stays && stays->kind == PEL_J_BOOL && !stays->boolean;
        if (name.len)
            pel_map_set(p->ctx, &p->roles, key_of(p, name), (is_passing ? PEL_VOLATILE_BUFFER : PEL_BUFFER) + 1);
        const pel_json_value *constant = pel_json_get(specs->items.at[i], "tensor_constant");
        name = pel_json_text(pel_json_get(constant, "tensor_constant_name"));
        if (name.len) pel_map_set(p->ctx, &p->roles, key_of(p, name), PEL_VOLATILE_BUFFER + 1);
    }
}

/* "L__self__,,__main__.Net;L__self__fc1,fc1,torch.nn.modules.linear.Linear": key, path, class; parents first. */
static pel_str name_modules(program *p, pel_str stack) {
    pel_str innermost = { "", 0 };
    for (size_t start = 0; start < stack.len;) {
        size_t end = start, comma[2] = { 0, 0 }, n = 0;
        for (; end < stack.len && stack.ptr[end] != ';'; end++)
            if (stack.ptr[end] == ',' && n < 2) comma[n++] = end;
        if (n == 2) {
            pel_str path = pel_str_cut(stack, comma[0] + 1, comma[1]), class = pel_str_cut(stack, comma[1] + 1, end);
            size_t dot = class.len;
            while (dot && class.ptr[dot - 1] != '.') dot--;
            pel_module *module = pel_build_module(&p->builder, path);
            module->class = pel_str_from(class, dot);
            if (dot) module->origin.file = pel_str_cut(class, 0, dot - 1);
            innermost = path;
        }
        start = end + 1;
    }
    return innermost;
}

/* ---- trees of arguments ---- */

typedef struct spec {
    program *p;
    pel_str text;
    uint64_t at; /* of the text in the program */
    int texts;   /* in how many other texts it lies */
} spec;

static void say_import(program *p, uint64_t at, pel_str module, pel_str name) {
    bool is_foreign, is_hot = pel_judge_name(module, name, &is_foreign) == PEL_NAME_HOT;
    pel_find(p->ctx, &p->out->findings, is_hot ? PEL_DANGER : PEL_SUSPECT, is_hot ? "imports" : "imports-unknown",
             (pel_str){ "", 0 }, at,
             pel_format(p->ctx, "a tree of arguments imports %.*s.%.*s", PEL_FMT(module), PEL_FMT(name)));
}

static void judge_spec(const spec *s);

/* torch imports the factory of a defaultdict, and the class of an enumeration: {"__enum__": true, "fqn":
 * "module:Class", ...}. A context may be JSON in a text of its own. */
static void judge_spec_value(const spec *s, const pel_json_value *value, int depth) {
    if (depth > MAX_LEVELS)
        pel_throw(s->p->ctx, PEL_E_TOO_DEEP, s->at, "torch.export: a tree nests deeper than %d", MAX_LEVELS);
    pel_str factory = pel_json_text(pel_json_get(value, "default_factory_module")),
            name = pel_json_text(pel_json_get(value, "default_factory_name"));
    if (factory.len && !(pel_str_is(factory, "builtins") && pel_is_plain_name(factory, name)))
        say_import(s->p, s->at, factory, name);
    pel_str fqn = pel_json_get(value, "__enum__") ? pel_json_text(pel_json_get(value, "fqn")) : (pel_str){ "", 0 };
    if (fqn.len) {
        const char *colon = memchr(fqn.ptr, ':', fqn.len);
        pel_str module = colon ? pel_str_cut(fqn, 0, (size_t)(colon - fqn.ptr)) : fqn;
        pel_str class = pel_str_from(fqn, module.len + (colon ? 1 : 0));
        if (!pel_effects_of(module, class).is_enum) say_import(s->p, s->at, module, class);
    }
    bool is_object = value->kind == PEL_J_OBJECT;
    for (uint32_t i = 0; (is_object || value->kind == PEL_J_ARRAY) && i < value->items.n; i += is_object ? 2 : 1) {
        const pel_json_value *item = value->items.at[is_object ? i + 1 : i];
        bool is_context = is_object && pel_str_is(value->items.at[i]->text, "context");
        if (is_context && item->kind == PEL_J_STR) {
            spec inner = { s->p, item->text, s->at, s->texts + 1 };
            judge_spec(&inner);
        }
        judge_spec_value(s, item, depth + 1);
    }
}

static void read_spec(pel_ctx *ctx, void *arg) {
    const spec *s = arg;
    judge_spec_value(s, pel_json_read(ctx, s->text, 0), 0);
}

/* What is no JSON torch refuses, before it imports anything of it. */
static void judge_spec(const spec *s) {
    pel_err why;
    spec job = *s;
    bool is_read = !s->text.len || (s->texts <= MAX_TEXTS && pel_attempt(s->p->ctx, read_spec, &job, &why));
    if (is_read) return;
    if (s->texts <= MAX_TEXTS && why.code == PEL_E_MEMORY) pel_throw(s->p->ctx, why.code, s->at, "%s", why.what);
    pel_find(s->p->ctx, &s->p->out->findings, PEL_SUSPECT, "unread-code", (pel_str){ "", 0 }, s->at,
             PEL_STR("a tree of arguments that can't be read: torch imports what it names"));
}

/* ---- what runs ---- */

/* Every node's target, every operator that is an argument, every size that is an expression, wherever they stand:
 * graphs hold graphs. torch.export calls, looks up and evaluates them. */
static void judge_program(program *p, const pel_json_value *value, int depth) {
    if (depth > MAX_LEVELS)
        pel_throw(p->ctx, PEL_E_TOO_DEEP, value->at, "torch.export: the program nests deeper than %d", MAX_LEVELS);
    bool is_object = value->kind == PEL_J_OBJECT;
    for (uint32_t i = 0; (is_object || value->kind == PEL_J_ARRAY) && i < value->items.n; i += is_object ? 2 : 1) {
        const pel_json_value *item = value->items.at[is_object ? i + 1 : i];
        pel_str key = is_object ? pel_json_text(value->items.at[i]) : (pel_str){ "", 0 }, text = pel_json_text(item);
        bool is_called = item->kind == PEL_J_STR && (pel_str_is(key, "as_operator") ||
                                                     (pel_str_is(key, "target") && pel_json_get(value, "inputs")));
        pel_severity severity = is_called ? pel_judge_torch_target(p->ctx, text) : PEL_NOTE;
        if (severity > PEL_NOTE)
            pel_find(p->ctx, &p->out->findings, severity, "operator", (pel_str){ "", 0 }, item->at,
                     pel_format(p->ctx, "the program calls %.*s, which is not known to compute and nothing else",
                                PEL_FMT(text)));
        bool is_size = pel_str_is(key, "expr_str") && item->kind == PEL_J_STR;
        if (is_size && !pel_is_torch_size(text))
            pel_find(p->ctx, &p->out->findings, PEL_DANGER, "calls", (pel_str){ "", 0 }, item->at,
                     pel_format(p->ctx, "a size is an expression that is evaluated: %.*s",
                                (int)(text.len < 100 ? text.len : 100), text.ptr));
        if (pel_str_is(key, "range_constraints"))
            for (uint32_t k = 0; item->kind == PEL_J_OBJECT && k < item->items.n; k += 2)
                if (!pel_is_torch_size(item->items.at[k]->text))
                    pel_find(p->ctx, &p->out->findings, PEL_DANGER, "calls", (pel_str){ "", 0 }, item->at,
                             PEL_STR("the name of a size is an expression that is evaluated"));
        if ((pel_str_is(key, "in_spec") || pel_str_is(key, "out_spec")) && item->kind == PEL_J_STR)
            judge_spec(&(spec){ p, item->text, item->at, 0 });
        judge_program(p, item, depth + 1);
    }
}

static void read_program(program *p, const pel_json_value *model) {
    judge_program(p, model, 0);
    const pel_json_value *graph_module = pel_json_get(model, "graph_module");
    const pel_json_value *nodes = pel_json_get(pel_json_get(graph_module, "graph"), "nodes");
    note_roles(p, pel_json_get(graph_module, "signature"));
    for (uint32_t i = 0; nodes && nodes->kind == PEL_J_ARRAY && i < nodes->items.n; i++)
        name_modules(p, pel_json_text(pel_json_get(pel_json_get(nodes->items.at[i], "metadata"), "nn_module_stack")));
}

/* ---- files inside: sample inputs, and the weights of older archives ---- */

typedef struct inner_file {
    program *p;
    const pel_zip_member *member;
    pel_loaded *loaded;
    pel_input *input;
} inner_file;

static void load_inner(pel_ctx *ctx, void *arg) {
    inner_file *inner = arg;
    pel_str bytes = pel_zip_content(ctx, inner->p->zip, inner->member, MAX_JSON, &inner->p->out->findings);
    inner->input = pel_new(ctx, pel_input); /* an archive in it keeps it */
    *inner->input = pel_input_of(bytes);
    pel_load_input(ctx, inner->member->name, inner->input, inner->loaded);
}

static void add_inner_tensors(void *arg, const pel_module *module, pel_str path) {
    program *p = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_model_tensor tensor = module->tensors.at[i];
        pel_str name = pel_full_name(p->ctx, p->builder.network, path, tensor.name);
        tensor.role = (pel_tensor_role)(pel_map_find(&p->roles, key_of(p, name), PEL_PARAMETER + 1) - 1);
        tensor.place = (pel_place){ .file = tensor.place.file };
        pel_build_tensor(&p->builder, name, tensor);
    }
}

static void read_inner_files(program *p) {
    for (uint32_t i = 0; i < p->zip->members.n; i++) {
        const pel_zip_member *member = &p->zip->members.at[i];
        if (!pel_str_ends(member->name, PEL_STR(".pt"))) continue;
        pel_map_set(p->ctx, &p->out->read, member->offset, 1);
        inner_file inner = { .p = p, .member = member, .loaded = pel_new(p->ctx, pel_loaded) };
        inner.loaded->depth = p->out->depth + 1;
        pel_err why;
        bool is_read = pel_attempt(p->ctx, load_inner, &inner, &why);
        if (!is_read && why.code == PEL_E_MEMORY) pel_throw(p->ctx, why.code, why.at, "%s", why.what);
        if (!is_read)
            pel_find(p->ctx, &p->out->findings, PEL_SUSPECT, "unread-pickle", member->name, why.at,
                     pel_str_copy(p->ctx, pel_str_of(why.what)));
        pel_adopt(p->ctx, p->out, inner.loaded, member->name, member->offset);
        bool is_state = pel_str_ends(member->name, PEL_STR("serialized_state_dict.pt"));
        for (uint32_t k = 0; is_state && k < inner.loaded->networks.n; k++)
            pel_each_module(p->ctx, inner.loaded->networks.at[k], add_inner_tensors, p);
    }
}

bool pel_load_torch_export(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    program p = { .ctx = ctx, .out = out, .zip = zip };
    const pel_zip_member *model = NULL;
    pel_str suffix = PEL_STR("models/model.json"), old = PEL_STR("serialized_exported_program.json");
    for (uint32_t i = zip->members.n; i-- > 0;) {
        pel_str member = zip->members.at[i].name;
        pel_map_set(ctx, &p.by_name, key_of(&p, member), i);
        pel_str end = pel_str_ends(member, suffix) ? suffix : old;
        if (!pel_str_ends(member, end)) continue;
        model = &zip->members.at[i];
        p.folder = pel_str_cut(member, 0, member.len - end.len);
    }
    if (!model) return false;
    out->format = PEL_STR("torch.export archive");
    p.builder = pel_build(ctx, out, name, '.');
    p.builder.network->roles_unknown = false; /* the signature of the program has them */
    read_program(&p, read_json(&p, model));
    add_weights(&p, "model_weights_config.json", "data/weights/");
    add_weights(&p, "model_constants_config.json", "data/constants/");
    read_inner_files(&p);
    return true;
}
