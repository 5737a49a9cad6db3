/* A torch.export archive: its JSON becomes steps, each with the modules whose call it belongs to. */
#include "base/json_read.h"
#include "load/audit/torch_ops.h"
#include "source/export.h"

#define MAX_JSON ((uint64_t)256 << 20)
#define MAX_LEVELS 100

typedef const pel_json_value json;

static _Noreturn void refuse(pel_export *e, json *where, const char *what, pel_str name) {
    pel_throw(e->r->ctx, PEL_E_UNSUPPORTED, where ? where->at : 0, "source from a file: %s: %.*s", what,
              (int)(name.len < 100 ? name.len : 100), name.ptr);
}

static pel_name value_name(pel_export *e, json *where, pel_str text) {
    if (!pel_is_identifier(text)) refuse(e, where, "a value has no name that Python could use", text);
    return pel_intern_str(e->r->ctx, text);
}

static pel_node *value_of(pel_export *e, json *where, pel_str text) {
    pel_name name = value_name(e, where, text);
    if (e->scope) {
        name = pel_map_pointer(&e->scope->names, PEL_KEY(name));
        if (!name) refuse(e, where, "a graph inside of a node uses a value that it does not have", text);
    }
    return pel_make_name(e->r->ctx, name, PEL_Load);
}

/* A value that a node makes: inside of an inner graph its name may be one of the outer graph's, too. */
static pel_name made_name(pel_export *e, json *where, pel_str text) {
    pel_name name = value_name(e, where, text);
    if (!e->scope) return name;
    pel_name outer = pel_intern_str(e->r->ctx, pel_format(e->r->ctx, "%.*s__%u", PEL_FMT(text), e->n_inner));
    pel_map_set(e->r->ctx, &e->scope->names, PEL_KEY(name), PEL_KEY(outer));
    return outer;
}

/* ---- arguments ---- */

static pel_node *argument(pel_export *e, json *arg, int depth);

static pel_node *list_of(pel_export *e, json *items, json *(*wrap)(json *), int depth) {
    pel_node *list = pel_node_new(e->r->ctx, PEL_List);
    for (uint32_t i = 0; items && items->kind == PEL_J_ARRAY && i < items->items.n; i++) {
        json *item = items->items.at[i];
        pel_node *node = NULL;
        if (item->kind == PEL_J_OBJECT && pel_json_get(item, "name"))
            node = value_of(e, item, pel_json_text(pel_json_get(item, "name")));
        else
            node = argument(e, wrap ? wrap(item) : item, depth + 1);
        pel_nodes_push(e->r->ctx, &list->List.elts, node);
    }
    return list;
}

static pel_node *number(pel_export *e, json *value) {
    pel_ctx *ctx = e->r->ctx;
    if (value->kind == PEL_J_STR) { /* "Infinity" */
        pel_node *text = pel_make_text(ctx, value->text);
        return pel_make_call(ctx, pel_name_node(ctx, "float"), pel_nodes_one(ctx, text), (pel_nodes){ 0 });
    }
    return pel_make_constant(ctx, value->is_integer ? pel_const_int(ctx, value->integer)
                                                    : pel_const_float(ctx, value->number));
}

static pel_node *a_float(pel_export *e, json *value) {
    if (value->kind == PEL_J_STR) return number(e, value);
    return pel_make_constant(e->r->ctx,
                             pel_const_float(e->r->ctx, value->is_integer ? (double)value->integer : value->number));
}

static pel_node *device(pel_export *e, json *value) {
    pel_ctx *ctx = e->r->ctx;
    json *index = pel_json_get(value, "index");
    pel_str type = pel_json_text(pel_json_get(value, "type"));
    if (index && index->kind == PEL_J_NUMBER) type = pel_format(ctx, "%.*s:%d", PEL_FMT(type), (int)index->integer);
    return pel_make_text(ctx, type);
}

static pel_node *enumerated(pel_export *e, json *value, const char *const *names, size_t n, const char *what) {
    if (value->kind != PEL_J_NUMBER || value->integer < 0 || value->integer >= (int64_t)n || !names[value->integer])
        refuse(e, value, "a number of the schema that is not known", pel_str_of(what));
    return pel_dotted(e->r->ctx, names[value->integer]);
}

/* One value of the schema's union: {"as_int": 3}. Bare numbers are the items of as_ints and as_floats. */
static pel_node *argument(pel_export *e, json *arg, int depth) {
    static const char *const formats[] = { NULL, "torch.contiguous_format", "torch.channels_last",
                                           "torch.channels_last_3d", "torch.preserve_format" };
    static const char *const layouts[] = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, "torch.strided" };
    pel_ctx *ctx = e->r->ctx;
    if (depth > MAX_LEVELS) refuse(e, arg, "arguments nest too deep", PEL_STR("inputs"));
    if (arg->kind == PEL_J_NUMBER) return number(e, arg);
    if (arg->kind == PEL_J_BOOL) return pel_make_constant(ctx, pel_const_bool(arg->boolean));
    if (arg->kind == PEL_J_STR) return pel_make_text(ctx, arg->text);
    if (arg->kind == PEL_J_ARRAY) return list_of(e, arg, NULL, depth);
    if (arg->kind != PEL_J_OBJECT || arg->items.n < 2) refuse(e, arg, "an argument", PEL_STR("of no known form"));
    pel_str kind = arg->items.at[0]->text;
    json *value = arg->items.at[1];
    if (pel_str_is(kind, "as_none")) return pel_make_none(ctx);
    if (pel_str_is(kind, "as_tensor") || pel_str_is(kind, "as_name"))
        return value_of(e, value, value->kind == PEL_J_STR ? value->text : pel_json_text(pel_json_get(value, "name")));
    if (pel_str_is(kind, "as_sym_int") || pel_str_is(kind, "as_sym_float") || pel_str_is(kind, "as_sym_bool") ||
        pel_str_is(kind, "as_optional_tensor"))
        return argument(e, value, depth + 1);
    if (pel_str_is(kind, "as_float")) return a_float(e, value);
    if (pel_str_is(kind, "as_floats")) {
        pel_node *list = pel_node_new(ctx, PEL_List);
        for (uint32_t i = 0; i < value->items.n; i++)
            pel_nodes_push(ctx, &list->List.elts, a_float(e, value->items.at[i]));
        return list;
    }
    if (pel_str_is(kind, "as_int") || pel_str_is(kind, "as_bool") || pel_str_is(kind, "as_string"))
        return argument(e, value, depth + 1);
    if (pel_str_is(kind, "as_ints") || pel_str_is(kind, "as_bools") || pel_str_is(kind, "as_strings") ||
        pel_str_is(kind, "as_tensors") || pel_str_is(kind, "as_sym_ints") || pel_str_is(kind, "as_optional_tensors") ||
        pel_str_is(kind, "as_int_lists"))
        return list_of(e, value, NULL, depth);
    if (pel_str_is(kind, "as_scalar_type")) {
        pel_str dtype = pel_export_dtype(value);
        if (!dtype.len) refuse(e, value, "a dtype that is not known", kind);
        return pel_dotted(ctx, pel_format(ctx, "torch.%.*s%c", PEL_FMT(dtype), 0).ptr);
    }
    if (pel_str_is(kind, "as_memory_format")) return enumerated(e, value, formats, PEL_COUNT(formats), "memory format");
    if (pel_str_is(kind, "as_layout")) return enumerated(e, value, layouts, PEL_COUNT(layouts), "layout");
    if (pel_str_is(kind, "as_device")) return device(e, value);
    refuse(e, arg, "an argument of a kind that is not known", kind);
}

/* ---- nodes ---- */

/* "L__self__fc1,fc1,torch.nn.modules.linear.Linear;...": key, path, class. */
static void read_stack(pel_export *e, pel_step *step, pel_str stack) {
    for (size_t start = 0; start < stack.len;) {
        size_t end = start, comma[2] = { 0, 0 }, n = 0;
        for (; end < stack.len && stack.ptr[end] != ';'; end++)
            if (stack.ptr[end] == ',' && n < 2) comma[n++] = end;
        pel_str path = n == 2 ? pel_str_cut(stack, comma[0] + 1, comma[1]) : (pel_str){ "", 0 };
        bool is_below = n == 2 && (!step->stack.n || pel_part_holds(step->stack.at[step->stack.n - 1].path, path));
        if (is_below && step->stack.n < MAX_LEVELS && (path.len || !step->stack.n))
            pel_push(e->r->ctx, &step->stack,
                     (pel_frame){ pel_intern_str(e->r->ctx, pel_str_cut(stack, start, comma[0])), path });
        start = end + 1;
    }
}

static void read_results(pel_export *e, pel_step *step, json *outputs) {
    for (uint32_t i = 0; outputs && outputs->kind == PEL_J_ARRAY && i < outputs->items.n; i++) {
        json *output = outputs->items.at[i], *many = pel_json_get(output, "as_tensors");
        if (many) {
            if (outputs->items.n != 1) refuse(e, output, "a result", PEL_STR("lists beside other results"));
            step->is_list = true;
            for (uint32_t k = 0; k < many->items.n; k++)
                pel_push(e->r->ctx, &step->results,
                         made_name(e, output, pel_json_text(pel_json_get(many->items.at[k], "name"))));
            continue;
        }
        json *value = output->items.n > 1 ? output->items.at[1] : NULL;
        pel_str name = pel_json_text(pel_json_get(value, "name"));
        if (!name.len) name = pel_json_text(pel_json_get(value, "as_name"));
        bool is_none = pel_json_get(output, "as_none") != NULL;
        pel_push(e->r->ctx, &step->results, is_none ? NULL : made_name(e, output, name));
    }
}

/* Operators of the graph: torch's own that only compute, and Python's of numbers. */
static pel_str operator_of(pel_export *e, json *target) {
    pel_str text = pel_json_text(target), ops = PEL_STR("torch.ops."), python = PEL_STR("_operator.");
    bool is_plain = pel_str_starts(text, PEL_STR("torch.ops.aten."));
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        is_plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    }
    if (is_plain && pel_judge_torch_target(e->r->ctx, text) <= PEL_NOTE) return pel_str_from(text, ops.len);
    if (pel_str_starts(text, python) && pel_is_spelled(pel_str_from(text, 1))) return pel_str_from(text, 1);
    bool is_size = pel_str_starts(text, PEL_STR("torch.sym_")) || pel_str_starts(text, PEL_STR("math."));
    if (is_size && pel_is_spelled(text)) return text; /* of sizes, which are numbers in the text */
    refuse(e, target, "an operator that has no place in a source", text);
}

/* Checks that torch.export put in: they compute nothing. */
static bool is_assertion(pel_str target) {
    static const char *const names[] = { "_assert_tensor_metadata.", "_assert_scalar.", "_assert_async.",
                                         "sym_constrain_range.", "sym_constrain_range_for_size." };
    pel_str aten = PEL_STR("torch.ops.aten.");
    for (size_t i = 0; i < PEL_COUNT(names) && pel_str_starts(target, aten); i++)
        if (pel_str_starts(pel_str_from(target, aten.len), pel_str_of(names[i]))) return true;
    return false;
}

static void read_nodes(pel_export *e, json *nodes);

/* The name of a value that an inner graph takes or gives: {"as_tensor": {"name": "x"}}. */
static pel_str name_in(json *arg) {
    json *value = arg && arg->kind == PEL_J_OBJECT && arg->items.n > 1 ? arg->items.at[1] : NULL;
    pel_str name = pel_json_text(pel_json_get(value, "name"));
    return name.len ? name : pel_json_text(pel_json_get(value, "as_name"));
}

/* What is computed without gradients is written among the rest; its results are detached, which is the same to all who
 * use them. Names are the inner graph's own, so what goes in and comes out is bound one by one. */
static void read_without_gradients(pel_export *e, json *node, json *inputs, pel_step like) {
    pel_ctx *ctx = e->r->ctx;
    json *flag = pel_json_get(pel_json_get(inputs->items.at[0], "arg"), "as_bool");
    json *graph = pel_json_get(pel_json_get(pel_json_get(inputs->items.at[1], "arg"), "as_graph"), "graph");
    json *takes = pel_json_get(graph, "inputs"), *gives = pel_json_get(graph, "outputs"),
         *outputs = pel_json_get(node, "outputs");
    pel_str target = pel_json_text(pel_json_get(node, "target"));
    bool is_fit = flag && takes && gives && outputs && takes->kind == PEL_J_ARRAY && gives->kind == PEL_J_ARRAY &&
                  outputs->kind == PEL_J_ARRAY && takes->items.n + 2 == inputs->items.n &&
                  gives->items.n == outputs->items.n;
    if (!is_fit || (flag->boolean && e->scope && e->scope->no_grad))
        refuse(e, node, "a graph inside of a node of a form that is not known", target);
    pel_inner *inner = pel_new(ctx, pel_inner);
    inner->no_grad = !flag->boolean;
    inner->outer = e->scope;
    for (uint32_t i = 0; i < takes->items.n; i++) {
        pel_node *given = argument(e, pel_json_get(inputs->items.at[i + 2], "arg"), 0);
        pel_str name = name_in(takes->items.at[i]);
        if (given->kind != PEL_Name || !name.len) refuse(e, node, "an inner graph takes what is no value", target);
        pel_map_set(ctx, &inner->names, PEL_KEY(value_name(e, node, name)), PEL_KEY(given->Name.id));
    }
    e->scope = inner;
    e->n_inner++;
    read_nodes(e, pel_json_get(graph, "nodes"));
    for (uint32_t i = 0; i < gives->items.n; i++) {
        pel_node *given = value_of(e, gives->items.at[i], name_in(gives->items.at[i]));
        e->scope = inner->outer;
        pel_step step = { .at = node->at, .stack = like.stack };
        pel_push(ctx, &step.results, made_name(e, node, name_in(outputs->items.at[i])));
        step.call =
            pel_make_call(ctx, pel_name_node(ctx, inner->no_grad ? "aten.detach.default" : "aten.alias.default"),
                          pel_nodes_one(ctx, given), (pel_nodes){ 0 });
        pel_push(ctx, &e->steps, step);
        e->scope = inner;
    }
    e->scope = inner->outer;
}

/* One node is one step, but for checks, which are left out, and graphs inside of nodes, whose steps are read here. The
 * node's modules are read first: a graph inside has them, too. */
static void read_node(pel_export *e, json *node) {
    pel_ctx *ctx = e->r->ctx;
    pel_str target = pel_json_text(pel_json_get(node, "target"));
    if (is_assertion(target)) {
        e->n_assertions++;
        return;
    }
    pel_step step = { .at = node->at };
    json *inputs = pel_json_get(node, "inputs");
    read_stack(e, &step, pel_json_text(pel_json_get(pel_json_get(node, "metadata"), "nn_module_stack")));
    if (pel_str_is(target, "torch.ops.higher_order.wrap_with_set_grad_enabled") && inputs &&
        inputs->kind == PEL_J_ARRAY && inputs->items.n >= 2) {
        read_without_gradients(e, node, inputs, step);
        return;
    }
    pel_node *call = pel_make_call(
        ctx, pel_make_name(ctx, pel_intern_str(ctx, operator_of(e, pel_json_get(node, "target"))), PEL_Load),
        (pel_nodes){ 0 }, (pel_nodes){ 0 });
    for (uint32_t i = 0; inputs && inputs->kind == PEL_J_ARRAY && i < inputs->items.n; i++) {
        json *input = inputs->items.at[i], *kind = pel_json_get(input, "kind"), *arg = pel_json_get(input, "arg");
        if (!arg) refuse(e, input, "an argument", PEL_STR("without a value"));
        pel_node *value = argument(e, arg, 0);
        if (kind && kind->kind == PEL_J_NUMBER && kind->integer == 2)
            pel_nodes_push(
                ctx, &call->Call.keywords,
                pel_make_keyword(ctx, value_name(e, input, pel_json_text(pel_json_get(input, "name"))), value));
        else
            pel_nodes_push(ctx, &call->Call.args, value);
    }
    step.call = call;
    read_results(e, &step, pel_json_get(node, "outputs"));
    pel_push(ctx, &e->steps, step);
}

static void read_nodes(pel_export *e, json *nodes) {
    if (e->n_inner > MAX_LEVELS * 100) refuse(e, nodes, "too many graphs inside of nodes", PEL_STR("nodes"));
    for (uint32_t i = 0; nodes && nodes->kind == PEL_J_ARRAY && i < nodes->items.n; i++)
        read_node(e, nodes->items.at[i]);
}

/* ---- the signature ---- */

static void read_inputs(pel_export *e, json *specs) {
    static const char *const kinds[][2] = { { "parameter", "parameter_name" },
                                            { "buffer", "buffer_name" },
                                            { "tensor_constant", "tensor_constant_name" } };
    for (uint32_t i = 0; specs && specs->kind == PEL_J_ARRAY && i < specs->items.n; i++) {
        json *spec = specs->items.at[i], *user = pel_json_get(pel_json_get(spec, "user_input"), "arg");
        bool is_known = user != NULL;
        for (size_t k = 0; k < PEL_COUNT(kinds); k++) {
            json *weight = pel_json_get(spec, kinds[k][0]);
            if (!weight) continue;
            pel_str *full = pel_new(e->r->ctx, pel_str);
            *full = pel_json_text(pel_json_get(weight, kinds[k][1]));
            pel_name value = value_name(e, weight, pel_json_text(pel_json_get(pel_json_get(weight, "arg"), "name")));
            pel_map_set(e->r->ctx, &e->weights, PEL_KEY(value), PEL_KEY(full));
            is_known = true;
        }
        if (!is_known)
            refuse(e, spec, "an input of a kind that is not known",
                   spec->items.n ? spec->items.at[0]->text : PEL_STR("?"));
        json *value = user && user->items.n > 1 ? user->items.at[1] : NULL;
        pel_str name = pel_json_text(pel_json_get(value, "name"));
        if (!name.len) name = pel_json_text(pel_json_get(value, "as_name"));
        if (name.len) pel_push(e->r->ctx, &e->inputs, value_name(e, spec, name));
    }
}

/* The structure of the result: {"type": "builtins.dict", "context": "[\"y\"]", "children_spec": [...]}. Leaves are
 * taken in order. What is neither list, tuple nor dict (a dataclass) is written as a dict of its fields. */
static pel_node *structured(pel_export *e, json *spec, pel_nodes *leaves, uint32_t *next, int depth) {
    pel_ctx *ctx = e->r->ctx;
    pel_str type = pel_json_text(pel_json_get(spec, "type"));
    json *children = pel_json_get(spec, "children_spec");
    if (depth > MAX_LEVELS) refuse(e, spec, "results nest too deep", type);
    if (!type.len) return *next < leaves->n ? leaves->at[(*next)++] : pel_make_none(ctx);
    pel_nodes items = { 0 };
    for (uint32_t i = 0; children && i < children->items.n; i++)
        pel_nodes_push(ctx, &items, structured(e, children->items.at[i], leaves, next, depth + 1));
    if (pel_str_is(type, "builtins.tuple") || pel_str_is(type, "builtins.list")) {
        pel_node *row = pel_node_new(ctx, pel_str_is(type, "builtins.tuple") ? PEL_Tuple : PEL_List);
        if (row->kind == PEL_Tuple)
            row->Tuple.elts = items;
        else
            row->List.elts = items;
        return row;
    }
    pel_str context = pel_json_text(pel_json_get(spec, "context"));
    json *keys = context.len ? pel_json_read(ctx, context, 0) : NULL;
    if (keys && keys->kind == PEL_J_ARRAY && keys->items.n == 2 && keys->items.at[0]->kind == PEL_J_ARRAY)
        keys = keys->items.at[0]; /* of a dataclass: its fields, and those that are None */
    if (!keys || keys->kind != PEL_J_ARRAY || keys->items.n != items.n)
        refuse(e, spec, "a result of a type whose fields the file does not name", type);
    pel_node *dict = pel_node_new(ctx, PEL_Dict);
    dict->Dict.values = items;
    for (uint32_t i = 0; i < keys->items.n; i++) {
        if (keys->items.at[i]->kind != PEL_J_STR) refuse(e, spec, "a key that is no text", type);
        pel_nodes_push(ctx, &dict->Dict.keys, pel_make_text(ctx, keys->items.at[i]->text));
    }
    if (!pel_str_starts(type, PEL_STR("builtins.")))
        pel_push(ctx, &e->r->notes,
                 pel_format(ctx, "the result was a %.*s; it is a dict of its fields here", PEL_FMT(type)));
    return dict;
}

static void read_output(pel_export *e, json *graph_module) {
    pel_ctx *ctx = e->r->ctx;
    json *specs = pel_json_get(pel_json_get(graph_module, "signature"), "output_specs");
    json *calls = pel_json_get(graph_module, "module_call_graph");
    json *first = calls && calls->kind == PEL_J_ARRAY && calls->items.n ? calls->items.at[0] : NULL;
    pel_nodes leaves = { 0 };
    for (uint32_t i = 0; specs && specs->kind == PEL_J_ARRAY && i < specs->items.n; i++) {
        json *spec = specs->items.at[i], *user = pel_json_get(spec, "user_output");
        if (!user)
            refuse(e, spec, "the program changes its state by a result",
                   spec->items.n ? spec->items.at[0]->text : PEL_STR("?"));
        pel_nodes_push(ctx, &leaves, argument(e, pel_json_get(user, "arg"), 0));
    }
    pel_str text = pel_json_text(pel_json_get(pel_json_get(first, "signature"), "out_spec"));
    json *spec = text.len ? pel_json_read(ctx, text, 0) : NULL;
    if (!spec || spec->kind != PEL_J_ARRAY || spec->items.n != 2) refuse(e, first, "no structure of the result", text);
    uint32_t next = 0;
    e->output = structured(e, spec->items.at[1], &leaves, &next, 0);
    if (next != leaves.n) refuse(e, first, "the structure of the result has another number of leaves", text);
}

/* Names of one storage: both users of a tied weight read the same value, whatever they call it. */
static void read_ties(pel_export *e, json *rows) {
    pel_ctx *ctx = e->r->ctx;
    for (uint32_t i = 0; rows && rows->kind == PEL_J_OBJECT && i + 1 < rows->items.n; i += 2) {
        pel_name storage = pel_intern_str(ctx, pel_json_text(pel_json_get(rows->items.at[i + 1], "path_name")));
        pel_name full = pel_intern_str(ctx, rows->items.at[i]->text);
        pel_values *names = pel_map_pointer(&e->names_of, PEL_KEY(storage));
        if (!names) {
            names = pel_new(ctx, pel_values);
            pel_map_set(ctx, &e->names_of, PEL_KEY(storage), PEL_KEY(names));
        }
        pel_push(ctx, names, full);
        pel_map_set(ctx, &e->weight_ids, PEL_KEY(full), PEL_KEY(storage));
    }
}

static json *json_member(pel_recovery *r, const pel_zip *zip, const char *ending) {
    for (uint32_t i = 0; i < zip->members.n; i++)
        if (pel_str_ends(zip->members.at[i].name, pel_str_of(ending)))
            return pel_json_read(r->ctx,
                                 pel_zip_content(r->ctx, zip, &zip->members.at[i], MAX_JSON, &r->loaded->findings), 0);
    return NULL;
}

bool pel_recover_export(pel_recovery *r, const pel_zip *zip) {
    json *model = json_member(r, zip, "models/model.json");
    if (!model) return false;
    pel_export e = { .r = r };
    json *graph_module = pel_json_get(model, "graph_module");
    json *graph = pel_json_get(graph_module, "graph"), *nodes = pel_json_get(graph, "nodes");
    json *ranges = pel_json_get(model, "range_constraints");
    r->producer = pel_format(r->ctx, "torch %.*s", PEL_FMT(pel_json_text(pel_json_get(model, "torch_version"))));
    r->is_fixed = !ranges || ranges->kind != PEL_J_OBJECT || !ranges->items.n;
    read_ties(&e, pel_json_get(json_member(r, zip, "model_weights_config.json"), "config"));
    read_inputs(&e, pel_json_get(pel_json_get(graph_module, "signature"), "input_specs"));
    read_nodes(&e, nodes);
    read_output(&e, graph_module);
    if (e.n_assertions)
        pel_push(
            r->ctx, &r->notes,
            pel_format(r->ctx, "%u checks of dtypes and sizes that torch.export put in are left out", e.n_assertions));
    pel_export_methods(&e);
    return true;
}
