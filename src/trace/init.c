/* Constructors, from the module tree as it was before the first run.
 *
 * Every module of the tree has an expression that builds it. For a class of the author's the expressions
 * of all instances are unified part by part: what they share stands in `__init__`, what differs becomes
 * an argument. Classes are done children first, because the expression for a module of the author's is a
 * call of its class with the arguments that this instance needs. */
#include "base/map.h"
#include "python/parse.h"
#include "trace/program.h"
#include "trace/unify.h"

#include <stdio.h>

#define MAX_DEPTH 200 /* of the module tree */

typedef struct tie {
    pel_str later, first; /* paths in the tree: later = first */
} tie;

typedef struct setting { /* an attribute that the author gives a module of torch's from outside */
    pel_str path;
    pel_node *value;
} setting;

typedef enum progress { NOT_YET, UNDER_WAY, DONE } progress;

typedef struct builder {
    pel_ctx *ctx;
    pel_program *program;
    const pel_log *log;
    pel_map class_of;        /* class -> its pel_program_class */
    pel_map progress;        /* class -> enum progress */
    pel_map call_of;         /* module -> the call that builds it */
    pel_map signed_call_of;  /* module of an author's class -> the call of that class */
    pel_map slot_of;         /* tensor -> index of its first slot */
    pel_map attributes;      /* names that any code reads as an attribute or as text */
    pel_map self_attributes; /* class and name: attributes of self, which only that class's methods read */
    pel_map names;           /* that any code mentions */
    pel_map idle;            /* class -> 1: none of its instances ran, only their weights are wanted */
    pel_id noting_class;     /* whose method note_attributes is in, and what it calls itself */
    pel_name noting_self;
    PEL_VEC(tie) ties;
    PEL_VEC(setting) settings;
    PEL_VEC(pel_str) frozen; /* paths of parameters that no class freezes by itself */
    PEL_VEC(pel_str) slot_paths;
    int depth;
} builder;

static pel_name name_c(builder *b, const char *text) { return pel_intern_c(b->ctx, text); }

static pel_node *text_constant(builder *b, pel_str text) { return pel_make_text(b->ctx, text); }

static pel_node *none(builder *b) { return pel_make_none(b->ctx); }

static pel_node *library(builder *b, const char *path) {
    return pel_library_expression(b->ctx, b->program, pel_str_of(path));
}

static pel_node *self_attribute(builder *b, pel_name name, pel_CTX use) {
    return pel_make_attribute(b->ctx, pel_make_name(b->ctx, name_c(b, "self"), PEL_Load), name, use);
}

static pel_node *call(builder *b, pel_node *func, pel_nodes args) {
    return pel_make_call(b->ctx, func, args, (pel_nodes){ 0 });
}

static void add_keyword(builder *b, pel_node *to, pel_name name, pel_node *value, uint32_t mark) {
    pel_node *keyword = pel_make_keyword(b->ctx, name, value);
    keyword->mark = mark;
    pel_nodes_push(b->ctx, &to->Call.keywords, keyword);
}

/* ---- torch's containers ---- */

typedef enum container { NO_CONTAINER, SEQUENTIAL, MODULE_LIST, MODULE_DICT, PARAMETER_LIST, PARAMETER_DICT } container;

static container container_kind(const pel_log_class *class) {
    static const struct {
        const char *path;
        container kind;
    } rows[] = {
        { "torch.nn.Sequential", SEQUENTIAL },        { "torch.nn.ModuleList", MODULE_LIST },
        { "torch.nn.ModuleDict", MODULE_DICT },       { "torch.nn.ParameterList", PARAMETER_LIST },
        { "torch.nn.ParameterDict", PARAMETER_DICT },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(class->path, rows[i].path)) return rows[i].kind;
    return NO_CONTAINER;
}

static pel_id find_torch_base(const pel_log *log, pel_id class, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    if (row->kind == PEL_CLASS_TORCH_MODULE) return class;
    pel_id plain = 0;
    for (uint32_t i = 0; i < row->n_bases && depth < MAX_DEPTH; i++) {
        pel_id found = find_torch_base(log, row->bases[i], depth + 1);
        if (found && !pel_str_is(pel_class_at(log, found)->path, "torch.nn.Module")) return found;
        if (found) plain = found;
    }
    return plain;
}

pel_id pel_torch_base(const pel_log *log, pel_id class) { return find_torch_base(log, class, 0); }

static bool are_numbered(pel_name_list names) {
    for (uint32_t i = 0; i < names.n; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%u", i);
        if (!pel_name_is(names.at[i], digits)) return false;
    }
    return true;
}

/* ---- what a module is made of ---- */

static bool owns_state(builder *b, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (row->n_parameters) return true;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].persistent && row->buffers[i].tensor) return true;
    for (uint32_t i = 0; i < row->child_names.n && depth < MAX_DEPTH; i++)
        if (row->children[i] && owns_state(b, row->children[i], depth + 1)) return true;
    return false;
}

static bool is_made_by_base(const pel_log_module *row, pel_name name) {
    for (uint32_t i = 0; i < row->made_by_base.n; i++)
        if (row->made_by_base.at[i] == name) return true;
    return false;
}

static pel_map *self_attributes_of(builder *b, pel_id class) {
    uint64_t found;
    if (pel_map_get(&b->self_attributes, class, &found)) return (pel_map *)(uintptr_t)found;
    pel_map *made = pel_new(b->ctx, pel_map);
    pel_map_set(b->ctx, &b->self_attributes, class, PEL_KEY(made));
    return made;
}

#define COMPUTED_NAMES 0 /* key of self_attributes: getattr(self, f"block_{i}") may read any of them */

static bool is_read(builder *b, pel_id class, pel_name name) {
    const pel_map *own = self_attributes_of(b, class);
    return pel_map_has(&b->attributes, PEL_KEY(name)) || pel_map_has(own, PEL_KEY(name)) ||
           pel_map_has(own, COMPUTED_NAMES);
}

static bool is_computed_read(const pel_node *node) {
    return node->kind == PEL_Call && node->Call.func->kind == PEL_Name &&
           pel_name_is(node->Call.func->Name.id, "getattr") && node->Call.args.n >= 2 &&
           node->Call.args.at[1]->kind != PEL_Constant;
}

static void note_attributes(void *arg, pel_node **slot) {
    builder *b = arg;
    pel_node *node = *slot;
    if (b->noting_class && is_computed_read(node))
        pel_map_set(b->ctx, self_attributes_of(b, b->noting_class), COMPUTED_NAMES, 1);
    if (node->kind == PEL_Name) pel_map_set(b->ctx, &b->names, PEL_KEY(node->Name.id), 1);
    if (node->kind == PEL_Attribute) {
        const pel_node *of = node->Attribute.value;
        bool of_self = b->noting_self && of->kind == PEL_Name && of->Name.id == b->noting_self;
        if (of_self)
            pel_map_set(b->ctx, self_attributes_of(b, b->noting_class), PEL_KEY(node->Attribute.attr), 1);
        else
            pel_map_set(b->ctx, &b->attributes, PEL_KEY(node->Attribute.attr), 1);
    }
    if (node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR) {
        pel_str text = node->Constant.value->text;
        pel_map_set(b->ctx, &b->attributes, PEL_KEY(pel_intern_str(b->ctx, text)), 1);
    }
    pel_each_child(node, note_attributes, b);
}

/* A child that no code reads and that no state_dict knows of is left out. */
static bool is_needed(builder *b, const pel_log_module *parent, uint32_t child) {
    if (b->program->only_construction) return true;
    if (parent->children[child] && owns_state(b, parent->children[child], 0)) return true;
    pel_id base = pel_torch_base(b->log, parent->class);
    if (base && container_kind(pel_class_at(b->log, base))) return true;
    if (base && pel_str_is(pel_class_at(b->log, base)->path, "torch.nn.utils.parametrize.ParametrizationList"))
        return true; /* they are made with the tensor */
    return is_read(b, parent->class, parent->child_names.at[child]);
}

static bool is_frozen(builder *b, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(b->log, module);
    bool any = false;
    for (uint32_t i = 0; i < row->n_parameters; i++) {
        if (!row->parameters[i].tensor) continue;
        if (b->log->tensors.at[row->parameters[i].tensor].requires_grad) return false;
        any = true;
    }
    for (uint32_t i = 0; i < row->child_names.n && depth < MAX_DEPTH; i++) {
        if (!row->children[i] || !owns_state(b, row->children[i], 0)) continue;
        if (!is_frozen(b, row->children[i], depth + 1)) return false;
        any = true;
    }
    return any;
}

/* ---- expressions that build ---- */

static pel_node *module_call(builder *b, pel_id module);

/* torch.empty(...) of the tensor's shape, type and place of dimensions in memory. */
static pel_node *empty_call(builder *b, const pel_log_tensor *tensor) {
    pel_node *made = call(b, library(b, "torch.empty"), (pel_nodes){ 0 });
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        int64_t size = tensor->shape[tensor->order ? tensor->order[i] : i];
        add_keyword(b, made, name_c(b, "dim"), pel_make_int(b->ctx, size), PEL_ARG_POSITIONAL);
    }
    if (!tensor->n_dims) pel_nodes_push(b->ctx, &made->Call.args, pel_node_new(b->ctx, PEL_Tuple));
    if (tensor->dtype.len && !pel_str_is(tensor->dtype, "torch.float32"))
        add_keyword(b, made, name_c(b, "dtype"), pel_library_expression(b->ctx, b->program, tensor->dtype), 0);
    made->mark = PEL_CALL_BUILDS;
    if (!tensor->order) return made;
    bool is_matrix = tensor->n_dims == 2;
    pel_nodes places = { 0 };
    for (uint32_t i = 0; i < tensor->n_dims && !is_matrix; i++) {
        uint32_t at = 0;
        while (tensor->order[at] != i) at++;
        pel_nodes_push(b->ctx, &places, pel_make_int(b->ctx, at));
    }
    pel_node *permute = pel_make_attribute(b->ctx, made, name_c(b, is_matrix ? "t" : "permute"), PEL_Load);
    pel_node *permuted = call(b, permute, places);
    permuted->mark = PEL_CALL_BUILDS;
    return permuted;
}

static pel_node *parameter_expression(builder *b, pel_id tensor) {
    if (!tensor) return none(b);
    const pel_log_tensor *row = &b->log->tensors.at[tensor];
    pel_node *empty = empty_call(b, row);
    pel_node *made = call(b, library(b, "torch.nn.Parameter"), pel_nodes_one(b->ctx, empty));
    made->mark = PEL_CALL_BUILDS;
    if (!row->requires_grad) add_keyword(b, made, name_c(b, "requires_grad"), pel_make_constant(b->ctx, &pel_false), 0);
    return made;
}

static pel_node *buffer_expression(builder *b, pel_id module, const pel_log_slot *slot) {
    if (!slot->tensor) return none(b);
    const pel_log_tensor *row = &b->log->tensors.at[slot->tensor];
    if (slot->persistent) return empty_call(b, row);
    pel_node *made = pel_tensor_expression(b->ctx, b->program, slot->tensor);
    if (!made)
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0,
                  "the buffer %.*s of %.*s is not in the state_dict, and its values are "
                  "not known",
                  PEL_FMT(pel_name_str(slot->name)), PEL_FMT(pel_module_at(b->log, module)->path));
    return made;
}

static void add_pair(builder *b, pel_node *list, pel_name name, pel_node *value) {
    pel_node *pair = pel_node_new(b->ctx, PEL_Tuple);
    pel_nodes_push(b->ctx, &pair->Tuple.elts, text_constant(b, pel_name_str(name)));
    pel_nodes_push(b->ctx, &pair->Tuple.elts, value);
    pel_nodes_push(b->ctx, &list->List.elts, pair);
}

/* The children of a container as one list: [a, b, c], or [("name", a), ...]. */
static pel_node *children_list(builder *b, const pel_log_module *row, bool with_names) {
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        pel_node *child = row->children[i] ? module_call(b, row->children[i]) : none(b);
        if (with_names)
            add_pair(b, list, row->child_names.at[i], child);
        else
            pel_nodes_push(b->ctx, &list->List.elts, child);
    }
    return list;
}

static pel_node *parameters_dict(builder *b, const pel_log_module *row) {
    pel_node *list = children_list(b, row, true);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        add_pair(b, list, row->parameters[i].name, parameter_expression(b, row->parameters[i].tensor));
    return list;
}

/* A list of parameters may have others among its elements: they are its children, numbered with the parameters. */
static pel_node *parameters_list(builder *b, const pel_log_module *row) {
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    for (uint32_t i = 0, child = 0, parameter = 0; i < row->child_names.n + row->n_parameters; i++) {
        pel_str number = pel_format(b->ctx, "%u", i);
        bool is_child = child < row->child_names.n && pel_str_eq(pel_name_str(row->child_names.at[child]), number);
        if (!is_child && parameter == row->n_parameters) break;
        pel_node *item = is_child ? module_call(b, row->children[child++])
                                  : parameter_expression(b, row->parameters[parameter++].tensor);
        pel_nodes_push(b->ctx, &list->List.elts, item);
    }
    return list;
}

/* The arguments of a container's constructor. */
static pel_nodes container_arguments(builder *b, const pel_log_module *row, container kind) {
    pel_ctx *ctx = b->ctx;
    if (kind == PARAMETER_LIST) return pel_nodes_one(ctx, parameters_list(b, row));
    if (kind == PARAMETER_DICT) return pel_nodes_one(ctx, parameters_dict(b, row));
    if (!row->child_names.n && kind == MODULE_DICT) return (pel_nodes){ 0 };
    if (kind == MODULE_LIST) return pel_nodes_one(ctx, children_list(b, row, false));
    if (kind == MODULE_DICT) return pel_nodes_one(ctx, children_list(b, row, true));
    if (are_numbered(row->child_names)) {
        pel_node *starred = pel_node_new(ctx, PEL_Starred);
        starred->Starred.value = children_list(b, row, false);
        return pel_nodes_one(ctx, starred);
    }
    pel_node *ordered = call(b, library(b, "collections.OrderedDict"), pel_nodes_one(ctx, children_list(b, row, true)));
    ordered->mark = PEL_CALL_BUILDS;
    return pel_nodes_one(ctx, ordered);
}

static void add_torch_arguments(builder *b, pel_node *to, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_log_argument *argument = &row->arguments[i];
        if (!argument->name->len) continue;                             /* what was done to the module then */
        const pel_value *given = pel_value_at(b->log, argument->value); /* nn.TransformerEncoder is given a layer */
        pel_node *value = given->kind == PEL_V_MODULE ? module_call(b, given->module)
                                                      : pel_value_expression(b->ctx, b->program, argument->value);
        if (!value)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "argument %.*s of %.*s (%.*s) has no literal",
                      PEL_FMT(pel_name_str(argument->name)), PEL_FMT(pel_class_at(b->log, row->class)->path),
                      PEL_FMT(row->path));
        add_keyword(b, to, argument->name, value,
                    (argument->is_default ? PEL_ARG_DEFAULT : 0u) | (argument->positional ? PEL_ARG_POSITIONAL : 0u));
    }
}

/* A module around one other: nn.DataParallel(module). What torch.compile gives back is one, too; run eagerly it
 * computes the same, and it keeps the name that it puts into the state_dict. */
static void wrap_child(builder *b, pel_node *made, const pel_log_module *row) {
    made->Call.args = pel_nodes_one(b->ctx, module_call(b, row->children[0]));
    if (!pel_name_is(row->child_names.at[0], "_orig_mod")) return;
    made->Call.func = library(b, "torch.compile");
    add_keyword(b, made, name_c(b, "backend"), text_constant(b, PEL_STR("eager")), 0);
}

/* weight_norm(module, dim=1): a function of torch's that replaced a parameter of the module by others. */
static pel_node *normed(builder *b, pel_node *made, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_value *partial = pel_value_at(b->log, row->arguments[i].value);
        if (row->arguments[i].name->len || partial->kind != PEL_V_PARTIAL || partial->n != 3) continue;
        pel_node *outer =
            call(b, pel_value_expression(b->ctx, b->program, partial->items[0]), pel_nodes_one(b->ctx, made));
        if (!outer->Call.func)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "what was done to %.*s has no name", PEL_FMT(row->path));
        const pel_value *keywords = pel_value_at(b->log, partial->items[2]);
        for (uint32_t k = 0; k + 1 < keywords->n; k += 2) {
            const pel_value *name = pel_value_at(b->log, keywords->items[k]);
            pel_node *value = pel_value_expression(b->ctx, b->program, keywords->items[k + 1]);
            if (name->kind != PEL_V_CONST || name->constant->kind != PEL_CONST_STR || !value) continue;
            add_keyword(b, outer, pel_intern_str(b->ctx, name->constant->text), value, 0);
        }
        outer->mark = PEL_CALL_BUILDS;
        return outer;
    }
    return made;
}

static pel_node *torch_module_call(builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    const pel_log_class *class = pel_class_at(b->log, row->class);
    pel_node *made = call(b, pel_library_expression(b->ctx, b->program, class->path), (pel_nodes){ 0 });
    made->mark = PEL_CALL_BUILDS;
    const pel_program_class *hooked = pel_map_pointer(&b->program->hooked, module);
    if (hooked) made->Call.func = pel_make_name(b->ctx, hooked->name, PEL_Load);
    container kind = container_kind(class);
    if (kind)
        made->Call.args = container_arguments(b, row, kind);
    else if (row->has_arguments)
        add_torch_arguments(b, made, row);
    else if (row->child_names.n == 1 && row->children[0] && !row->n_parameters && !row->n_buffers)
        wrap_child(b, made, row);
    else
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "the arguments that made %.*s (a %.*s) could not be found",
                  PEL_FMT(row->path), PEL_FMT(class->path));
    return normed(b, made, row);
}

/* ---- parametrized modules ---- */

/* Whether the class is one that torch derived from one of its own for a single module. */
static bool is_derived_by_torch(const pel_log *log, pel_id class) {
    const pel_log_class *row = pel_class_at(log, class);
    return row->kind == PEL_CLASS_MODULE && pel_str_is(row->module, "torch.nn.utils.parametrize");
}

static pel_id child_named(const pel_log_module *row, const char *name) {
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (pel_name_is(row->child_names.at[i], name)) return row->children[i];
    return 0;
}

static bool is_parametrization_list(const pel_log *log, pel_id module) {
    return module &&
           pel_str_ends(pel_class_at(log, pel_module_at(log, module)->class)->path, PEL_STR(".ParametrizationList"));
}

/* The child in which torch keeps a module's parametrizations, one list for each tensor; NULL if it has none. */
static const pel_log_module *parametrizations_of(const pel_log *log, const pel_log_module *row) {
    pel_id all = child_named(row, "parametrizations");
    const pel_log_module *tensors = all ? pel_module_at(log, all) : NULL;
    return tensors && tensors->child_names.n && is_parametrization_list(log, tensors->children[0]) ? tensors : NULL;
}

/* How torch's own parametrizations are asked for; attributes of the parametrization that are arguments. */
static const struct {
    const char *class, *function;
    const char *arguments[3];
} parametrizations[] = {
    { "torch.nn.utils.parametrizations._WeightNorm", "torch.nn.utils.parametrizations.weight_norm", { "dim" } },
    { "torch.nn.utils.parametrizations._SpectralNorm",
      "torch.nn.utils.parametrizations.spectral_norm",
      { "n_power_iterations", "eps", "dim" } },
    { "torch.nn.utils.parametrizations._Orthogonal", "torch.nn.utils.parametrizations.orthogonal", { NULL } },
};

static pel_node *parametrize(builder *b, pel_node *made, pel_name tensor, pel_id parametrization) {
    const pel_log_module *row = pel_module_at(b->log, parametrization);
    const pel_log_class *class = pel_class_at(b->log, row->class);
    pel_nodes args = pel_nodes_one(b->ctx, made);
    for (size_t i = 0; i < PEL_COUNT(parametrizations); i++) {
        if (!pel_str_is(class->path, parametrizations[i].class)) continue;
        pel_node *wrapped = call(b, library(b, parametrizations[i].function), args);
        add_keyword(b, wrapped, name_c(b, "name"), text_constant(b, pel_name_str(tensor)),
                    pel_name_is(tensor, "weight") ? PEL_ARG_DEFAULT : 0u);
        for (size_t k = 0; k < PEL_COUNT(parametrizations[i].arguments) && parametrizations[i].arguments[k]; k++) {
            pel_name name = name_c(b, parametrizations[i].arguments[k]);
            pel_id value = pel_module_attribute(b->log, parametrization, name);
            pel_node *written = value ? pel_value_expression(b->ctx, b->program, value) : NULL;
            if (written) add_keyword(b, wrapped, name, written, 0);
        }
        return wrapped;
    }
    pel_nodes_push(b->ctx, &args, text_constant(b, pel_name_str(tensor)));
    pel_nodes_push(b->ctx, &args, module_call(b, parametrization));
    return call(b, library(b, "torch.nn.utils.parametrize.register_parametrization"), args);
}

/* What a class of torch's makes, of which torch derived the module's own. */
static pel_node *underived_call(builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    const pel_log_class *base = pel_class_at(b->log, pel_torch_base(b->log, row->class));
    pel_node *made = call(b, pel_library_expression(b->ctx, b->program, base->path), (pel_nodes){ 0 });
    made->mark = PEL_CALL_BUILDS;
    add_torch_arguments(b, made, row);
    return made;
}

static pel_node *with_parametrizations(builder *b, pel_node *made, pel_id module) {
    const pel_log_module *tensors = parametrizations_of(b->log, pel_module_at(b->log, module));
    for (uint32_t i = 0; tensors && i < tensors->child_names.n; i++) {
        const pel_log_module *list = pel_module_at(b->log, tensors->children[i]);
        for (uint32_t k = 0; k < list->child_names.n; k++) {
            made = parametrize(b, made, tensors->child_names.at[i], list->children[k]);
            made->mark = PEL_CALL_BUILDS;
        }
    }
    return made;
}

/* The tensor of a parametrization list that has the shape of what it makes: the only one, or the direction of a
 * weight norm, which comes behind the magnitude. */
static pel_id original_of(const pel_log_module *list) {
    return list->n_parameters ? list->parameters[list->n_parameters - 1].tensor : 0;
}

/* ---- modules that never ran ----
 *
 * A class without a method left would be a constructor and nothing else. What is wanted of its instances are the names
 * in the state_dict, and torch's own containers have those as well. */

/* Names that nn.ModuleDict and nn.ParameterDict can't have as keys. */
static bool is_reserved(pel_name name) {
    static const char *const names[] = {
        "add_module", "apply",    "bfloat16", "buffers",      "children",   "clear",   "compile",    "copy",
        "cpu",        "cuda",     "double",   "eval",         "float",      "forward", "fromkeys",   "get",
        "half",       "items",    "keys",     "modules",      "parameters", "pop",     "popitem",    "to",
        "train",      "training", "type",     "update",       "xpu",        "values",  "setdefault", "state_dict",
        "to_empty",   "mtia",     "ipu",      "T_destination"
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    pel_str text = pel_name_str(name);
    static const char *const beginnings[] = {
        "_",      "get_",  "named_", "register_",       "set_",  "load_state_",
        "share_", "zero_", "extra_", "call_super_init", "dump_", "requires_grad"
    };
    for (size_t i = 0; i < PEL_COUNT(beginnings); i++)
        if (pel_str_starts(text, pel_str_of(beginnings[i]))) return true;
    return false;
}

static bool has_plain_state(builder *b, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].persistent || is_read(b, row->class, row->buffers[i].name)) return false;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (is_reserved(row->parameters[i].name)) return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (is_reserved(row->child_names.at[i])) return false;
    return true;
}

/* Whether a torch class with the same arguments has all that a module of a class derived from it has. */
static bool is_like_its_base(const pel_log_module *row) {
    if (!row->has_arguments) return false;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (!is_made_by_base(row, row->parameters[i].name)) return false;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (!is_made_by_base(row, row->buffers[i].name)) return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (!is_made_by_base(row, row->child_names.at[i])) return false;
    return true;
}

static bool is_plain_module(const pel_log *log, pel_id class) {
    const pel_id base = pel_torch_base(log, class);
    return base && pel_str_is(pel_class_at(log, base)->path, "torch.nn.Module");
}

static void find_idle(builder *b) {
    const pel_log *log = b->log;
    pel_map busy = { 0 };
    pel_map_set(b->ctx, &busy, pel_module_at(log, log->root)->class, 1);
    for (uint32_t i = 0; i < b->program->functions.n; i++) {
        const pel_program_function *function = b->program->functions.at[i];
        if (!function->dead && function->def && function->class) pel_map_set(b->ctx, &busy, function->class, 1);
    }
    for (uint32_t i = 0; i < b->program->classes.n; i++) {
        const pel_program_class *class = b->program->classes.at[i];
        for (uint32_t k = 0; k < class->needs.n; k++)
            if (is_read(b, class->class, class->needs.at[k].name)) pel_map_set(b->ctx, &busy, class->class, 1);
        if (pel_map_has(&b->names, PEL_KEY(class->name))) pel_map_set(b->ctx, &busy, class->class, 1);
    }
    for (pel_id m = 1; m < log->modules.n; m++) {
        const pel_log_module *row = pel_module_at(log, m);
        bool plain = is_plain_module(log, row->class) ? has_plain_state(b, row) : is_like_its_base(row);
        if (pel_class_at(log, row->class)->kind != PEL_CLASS_MODULE || row->has_hooks || !plain)
            pel_map_set(b->ctx, &busy, row->class, 1);
    }
    for (pel_id m = 1; m < log->modules.n; m++) {
        pel_id class = pel_module_at(log, m)->class;
        if (!pel_map_has(&busy, class)) pel_map_set(b->ctx, &b->idle, class, 1);
    }
}

/* Whether nothing in a part of the tree ran: no code reaches into it. */
static bool never_ran(const builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!pel_map_has(&b->idle, row->class)) return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (pel_map_has(&b->attributes, PEL_KEY(row->child_names.at[i]))) return false;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (pel_map_has(&b->attributes, PEL_KEY(row->parameters[i].name))) return false;
    return true;
}

static pel_node *child_expression(builder *b, pel_id child);

/* nn.ParameterDict registers what it is given as its own, modules too. */
static pel_node *idle_call(builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!is_plain_module(b->log, row->class)) {
        const pel_log_class *base = pel_class_at(b->log, pel_torch_base(b->log, row->class));
        pel_node *made = call(b, pel_library_expression(b->ctx, b->program, base->path), (pel_nodes){ 0 });
        made->mark = PEL_CALL_BUILDS;
        add_torch_arguments(b, made, row);
        return made;
    }
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (row->parameters[i].tensor)
            add_pair(b, list, row->parameters[i].name, parameter_expression(b, row->parameters[i].tensor));
    bool holds_parameters = list->List.elts.n > 0;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && is_needed(b, row, i))
            add_pair(b, list, row->child_names.at[i], child_expression(b, row->children[i]));
    const char *kind = !list->List.elts.n ? "torch.nn.Module"
                       : holds_parameters ? "torch.nn.ParameterDict"
                                          : "torch.nn.ModuleDict";
    pel_node *made = call(b, library(b, kind), (pel_nodes){ 0 });
    if (list->List.elts.n) made->Call.args = pel_nodes_one(b->ctx, list);
    made->mark = PEL_CALL_BUILDS;
    return made;
}

static void finish_class(builder *b, pel_program_class *class);

static pel_node *author_module_call(builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    pel_program_class *class = pel_map_pointer(&b->class_of, row->class);
    if (!class || !class->instances.n)
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%.*s is a module that no other is known to need", PEL_FMT(row->path));
    progress state = (progress)pel_map_find(&b->progress, row->class, NOT_YET);
    if (state == NOT_YET) finish_class(b, class);
    uint64_t made;
    if (pel_map_get(&b->signed_call_of, module, &made)) return (pel_node *)(uintptr_t)made;
    /* The class contains itself and is under way: finish_class fills the arguments in. */
    pel_node *later = call(b, pel_make_name(b->ctx, class->name, PEL_Load), (pel_nodes){ 0 });
    later->mark = PEL_CALL_BUILDS | PEL_CALL_OPAQUE;
    pel_map_set(b->ctx, &b->signed_call_of, module, PEL_KEY(later));
    return later;
}

static pel_node *module_call(builder *b, pel_id module) {
    uint64_t made;
    if (pel_map_get(&b->call_of, module, &made)) return (pel_node *)(uintptr_t)made;
    if (++b->depth > MAX_DEPTH) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    pel_id class = pel_module_at(b->log, module)->class;
    pel_node *node = is_derived_by_torch(b->log, class)                            ? underived_call(b, module)
                     : pel_class_at(b->log, class)->kind == PEL_CLASS_TORCH_MODULE ? torch_module_call(b, module)
                     : pel_map_has(&b->idle, class)                                ? idle_call(b, module)
                                                                                   : author_module_call(b, module);
    node = with_parametrizations(b, node, module);
    pel_map_set(b->ctx, &b->call_of, module, PEL_KEY(node));
    b->depth--;
    return node;
}

/* A module of torch's whose parameters take no gradient. */
static pel_node *child_expression(builder *b, pel_id child) {
    pel_node *made = module_call(b, child);
    bool is_torch = pel_class_at(b->log, pel_module_at(b->log, child)->class)->kind == PEL_CLASS_TORCH_MODULE;
    if (!is_torch || !is_frozen(b, child, 0)) return made;
    pel_node *freeze = pel_make_attribute(b->ctx, made, name_c(b, "requires_grad_"), PEL_Load);
    pel_node *frozen = call(b, freeze, pel_nodes_one(b->ctx, pel_make_constant(b->ctx, &pel_false)));
    frozen->mark = PEL_CALL_BUILDS;
    return frozen;
}

/* ---- one class ---- */

typedef enum part_kind { PART_ATTRIBUTE, PART_PARAMETER, PART_CHILD, PART_BUFFER, PART_VOLATILE_BUFFER } part_kind;

/* The expressions of one part (a parameter, a child ...) in all instances, unified to a statement. */
typedef struct part {
    pel_name name;
    pel_node **lanes;
    part_kind kind;
} part;

typedef PEL_VEC(part) parts;

/* The part of that name. A new one goes to *place, which then is behind it: so the order of every instance is kept,
 * also that of parts which the first instances don't have. */
static part *part_named(builder *b, parts *all, pel_name name, uint32_t n_lanes, part_kind kind, uint32_t *place) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].name == name) {
            *place = i + 1;
            return &all->at[i];
        }
    part added = { name, pel_new_array(b->ctx, n_lanes, pel_node *), kind };
    for (uint32_t i = 0; i < n_lanes; i++) added.lanes[i] = none(b);
    pel_push(b->ctx, all, added);
    memmove(all->at + *place + 1, all->at + *place, (all->n - 1 - *place) * sizeof *all->at);
    all->at[*place] = added;
    return &all->at[(*place)++];
}

/* Buffers that no state_dict holds are for the code that reads them; a mere constructor has those that can be written.
 */
static bool is_wanted(builder *b, const pel_log_module *row, const pel_log_slot *slot) {
    if (slot->persistent || is_read(b, row->class, slot->name)) return true;
    if (!b->program->only_construction || !slot->tensor) return false;
    const pel_log_tensor *tensor = &b->log->tensors.at[slot->tensor];
    return tensor->formula.len || tensor->data.len;
}

static void collect_parts(builder *b, const pel_program_class *class, parts *out) {
    uint32_t n = class->instances.n, first = out->n;
    for (uint32_t i = 0; i < n; i++) {
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        uint32_t place = first;
        for (uint32_t k = 0; k < row->n_parameters; k++)
            if (!is_made_by_base(row, row->parameters[k].name))
                part_named(b, out, row->parameters[k].name, n, PART_PARAMETER, &place)->lanes[i] =
                    parameter_expression(b, row->parameters[k].tensor);
        const pel_log_module *computed = parametrizations_of(b->log, row);
        for (uint32_t k = 0; computed && k < computed->child_names.n; k++)
            if (!is_made_by_base(row, computed->child_names.at[k]))
                part_named(b, out, computed->child_names.at[k], n, PART_PARAMETER, &place)->lanes[i] =
                    parameter_expression(b, original_of(pel_module_at(b->log, computed->children[k])));
    }
    first = out->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = first;
        pel_id module = class->instances.at[i];
        const pel_log_module *row = pel_module_at(b->log, module);
        for (uint32_t k = 0; k < row->n_buffers; k++) {
            const pel_log_slot *slot = &row->buffers[k];
            if (is_made_by_base(row, slot->name) || !is_wanted(b, row, slot)) continue;
            part_kind kind = slot->persistent ? PART_BUFFER : PART_VOLATILE_BUFFER;
            pel_node *buffer = buffer_expression(b, module, slot);
            part_named(b, out, slot->name, n, kind, &place)->lanes[i] = buffer;
        }
    }
    first = out->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = first;
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        for (uint32_t k = 0; k < row->child_names.n; k++) {
            bool is_made = is_made_by_base(row, row->child_names.at[k]) ||
                           pel_module_at(b->log, row->children[k]) == parametrizations_of(b->log, row);
            if (is_made || !is_needed(b, row, k)) continue;
            pel_node *child = row->children[k] ? child_expression(b, row->children[k]) : none(b);
            part_named(b, out, row->child_names.at[k], n, PART_CHILD, &place)->lanes[i] = child;
        }
    }
}

static bool is_registered(const parts *all, pel_name name) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].name == name) return true;
    return false;
}

/* Whether the torch class sets an attribute by itself, in every instance. */
static bool base_makes(const builder *b, const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->instances.n; i++)
        if (!is_made_by_base(pel_module_at(b->log, class->instances.at[i]), name)) return false;
    return class->instances.n > 0;
}

static pel_node *path_expression(builder *b, pel_str path, pel_CTX use);

/* All children of an instance, in order. */
static bool are_the_children(builder *b, const pel_log_module *instance, const pel_value *list) {
    if (list->kind != PEL_V_LIST || list->n != instance->child_names.n || list->truncated) return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const pel_value *item = pel_value_at(b->log, list->items[i]);
        if (item->kind != PEL_V_MODULE || item->module != instance->children[i]) return false;
    }
    return list->n > 0;
}

/* A module that is held: one below the instance, or one of torch's without weights that no module has as a child. */
static pel_node *held_module(builder *b, const pel_log_module *instance, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!row->in_tree) {
        bool is_torch = pel_class_at(b->log, row->class)->kind == PEL_CLASS_TORCH_MODULE;
        return is_torch && !owns_state(b, module, 0) ? torch_module_call(b, module) : NULL;
    }
    pel_str path = row->path, own = instance->path;
    if (!pel_str_starts(path, own) || path.len <= own.len || (own.len && path.ptr[own.len] != '.')) return NULL;
    return path_expression(b, pel_str_from(path, own.len ? own.len + 1 : 0), PEL_Load);
}

static pel_node *parts_expression(builder *b, const pel_log_module *instance, pel_id id, int depth);

static pel_node *dict_of_parts(builder *b, const pel_log_module *instance, const pel_value *dict, int depth) {
    pel_node *made = pel_node_new(b->ctx, PEL_Dict);
    for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
        pel_node *key = pel_value_expression(b->ctx, b->program, dict->items[i]);
        pel_node *item = parts_expression(b, instance, dict->items[i + 1], depth + 1);
        if (!key || !item) return NULL;
        pel_nodes_push(b->ctx, &made->Dict.keys, key);
        pel_nodes_push(b->ctx, &made->Dict.values, item);
    }
    return made;
}

/* What an attribute holds, where that is made of modules: [self.conv, self.norm]. */
static pel_node *parts_expression(builder *b, const pel_log_module *instance, pel_id id, int depth) {
    const pel_value *value = pel_value_at(b->log, id);
    if (value->kind == PEL_V_MODULE) return held_module(b, instance, value->module);
    if (are_the_children(b, instance, value)) {
        pel_node *children = call(b, self_attribute(b, name_c(b, "children"), PEL_Load), (pel_nodes){ 0 });
        return call(b, pel_make_name(b->ctx, name_c(b, "list"), PEL_Load), pel_nodes_one(b->ctx, children));
    }
    if (value->kind == PEL_V_TENSOR) return pel_tensor_expression(b->ctx, b->program, value->tensor);
    if (value->kind == PEL_V_DICT && !value->class && !value->truncated && depth < MAX_DEPTH)
        return dict_of_parts(b, instance, value, depth);
    bool sequence = value->kind == PEL_V_LIST || (value->kind == PEL_V_TUPLE && !value->class);
    if (!sequence || value->truncated || depth > MAX_DEPTH) return pel_value_expression(b->ctx, b->program, id);
    pel_node *made = pel_node_new(b->ctx, value->kind == PEL_V_LIST ? PEL_List : PEL_Tuple);
    pel_nodes *items = value->kind == PEL_V_LIST ? &made->List.elts : &made->Tuple.elts;
    for (uint32_t i = 0; i < value->n; i++) {
        pel_node *item = parts_expression(b, instance, value->items[i], depth + 1);
        if (!item) return NULL;
        pel_nodes_push(b->ctx, items, item);
    }
    return made;
}

/* Some text has the property itself, and others its value: there is one of them in the class. */
static bool is_computed(const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->methods.n; i++)
        if (class->methods.at[i]->is_property && !class->methods.at[i]->dead && class->methods.at[i]->name == name)
            return true;
    return false;
}

/* A part that is a child of some instances and a function of others: self.act. */
static void add_held(builder *b, const pel_program_class *class, const pel_needed_attribute *need, parts *out) {
    uint32_t place = 0;
    part *p = part_named(b, out, need->name, class->instances.n, PART_CHILD, &place);
    for (uint32_t i = 0; i < class->instances.n; i++) {
        uint64_t value;
        if (p->kind != PART_CHILD || !pel_is_none(p->lanes[i]) ||
            !pel_map_get(&need->values, class->instances.at[i], &value))
            continue;
        pel_node *text = pel_value_expression(b->ctx, b->program, (pel_id)value);
        if (text) p->lanes[i] = text;
    }
}

static void collect_needs(builder *b, const pel_program_class *class, parts *out) {
    parts registered = *out;
    for (uint32_t k = 0; k < class->needs.n; k++) {
        const pel_needed_attribute *need = &class->needs.at[k];
        if (is_registered(&registered, need->name)) {
            add_held(b, class, need, out);
            continue;
        }
        if (!is_read(b, class->class, need->name) || base_makes(b, class, need->name) || is_computed(class, need->name))
            continue;
        uint32_t place = out->n;
        part *p = part_named(b, out, need->name, class->instances.n, PART_ATTRIBUTE, &place);
        for (uint32_t i = 0; i < class->instances.n; i++) {
            pel_id module = class->instances.at[i], value = 0;
            uint64_t given;
            if (pel_map_get(&need->values, module, &given))
                value = (pel_id)given;
            else if (need->of)
                value = pel_module_attribute(b->log, module, need->of);
            if (!value) continue;
            const pel_value *row = pel_value_at(b->log, value);
            p->lanes[i] = row->kind == PEL_V_TENSOR ? pel_tensor_expression(b->ctx, b->program, row->tensor)
                                                    : pel_value_expression(b->ctx, b->program, value);
            if (!p->lanes[i]) p->lanes[i] = parts_expression(b, pel_module_at(b->log, module), value, 0);
            if (!p->lanes[i]) {
                pel_refuse_users(b->ctx, b->program, class->class, value);
                pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%s.%s holds an object that has no literal", class->name->text,
                          need->name->text);
            }
        }
    }
}

static pel_node *register_call(builder *b, const char *method, pel_name name, pel_node *value) {
    pel_nodes args = { 0 };
    pel_nodes_push(b->ctx, &args, text_constant(b, pel_name_str(name)));
    pel_nodes_push(b->ctx, &args, value);
    return call(b, self_attribute(b, name_c(b, method), PEL_Load), args);
}

static pel_node *plain_statement(builder *b, const part *p, pel_node *value) {
    switch (p->kind) {
    case PART_BUFFER: return pel_make_expr(b->ctx, register_call(b, "register_buffer", p->name, value));
    case PART_VOLATILE_BUFFER: {
        pel_node *made = register_call(b, "register_buffer", p->name, value);
        add_keyword(b, made, name_c(b, "persistent"), pel_make_constant(b->ctx, &pel_false), 0);
        return pel_make_expr(b->ctx, made);
    }
    case PART_PARAMETER:
        if (pel_is_none(value) || !pel_is_identifier(pel_name_str(p->name)))
            return pel_make_expr(b->ctx, register_call(b, "register_parameter", p->name, value));
        break;
    case PART_CHILD:
        if (!pel_is_identifier(pel_name_str(p->name)))
            return pel_make_expr(b->ctx, register_call(b, "add_module", p->name, value));
        break;
    case PART_ATTRIBUTE: break;
    }
    return pel_make_assign(b->ctx, self_attribute(b, p->name, PEL_Store), value);
}

/* in_container: the class inherits from one of torch's containers, which would hand on a child that is None. */
static pel_node *part_statement(builder *b, pel_unifier *unifier, const pel_program_class *class, const part *p,
                                bool in_container) {
    unifier->prefix = p->name->text;
    unifier->author = pel_author_builds(b->ctx, b->program, class->class, p->name, p->lanes[0]);
    pel_node *value = pel_unify(unifier, p->lanes, p->name);
    unifier->author = NULL;
    bool may_be_absent = false;
    for (uint32_t i = 0; i < unifier->n_lanes; i++) may_be_absent |= pel_is_none(p->lanes[i]);
    if (!in_container || p->kind != PART_CHILD || !may_be_absent) return plain_statement(b, p, value);
    pel_node *choice = pel_node_new(b->ctx, PEL_If);
    if (value->kind == PEL_IfExp) {
        choice->If.test = value->IfExp.test;
        value = value->IfExp.body;
    } else {
        choice->If.test = pel_make_compare(b->ctx, value, PEL_IsNot, none(b));
    }
    choice->If.body = pel_nodes_one(b->ctx, plain_statement(b, p, value));
    return choice;
}

/* super().__init__(...): the arguments of the torch class that the author's class inherits from. */
static pel_node *super_init(builder *b, pel_unifier *unifier, const pel_program_class *class, bool *takes_children) {
    pel_ctx *ctx = b->ctx;
    pel_node *super = call(b, pel_make_name(ctx, name_c(b, "super"), PEL_Load), (pel_nodes){ 0 });
    pel_node *init = pel_make_attribute(ctx, super, name_c(b, "__init__"), PEL_Load);
    pel_id base = pel_torch_base(b->log, class->class);
    container kind = base ? container_kind(pel_class_at(b->log, base)) : NO_CONTAINER;
    pel_node **lanes = pel_new_array(ctx, class->instances.n, pel_node *);
    *takes_children = kind == MODULE_LIST || kind == MODULE_DICT || kind == SEQUENTIAL;
    for (uint32_t i = 0; i < class->instances.n && kind == SEQUENTIAL; i++)
        *takes_children &= are_numbered(pel_module_at(b->log, class->instances.at[i])->child_names);
    for (uint32_t i = 0; i < class->instances.n; i++) {
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        lanes[i] = call(b, init, *takes_children ? container_arguments(b, row, kind) : (pel_nodes){ 0 });
        lanes[i]->mark = PEL_CALL_BUILDS;
        if (!kind && row->has_arguments) add_torch_arguments(b, lanes[i], row);
        if (!kind && row->has_arguments != pel_module_at(b->log, class->instances.at[0])->has_arguments)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "the arguments that made %.*s (a %s) could not be found",
                      PEL_FMT(row->has_arguments ? pel_module_at(b->log, class->instances.at[0])->path : row->path),
                      class->name->text);
    }
    return pel_make_expr(ctx, pel_unify(unifier, lanes, name_c(b, "blocks")));
}

static bool is_plain(const pel_node *node) {
    if (node->kind == PEL_UnaryOp) return is_plain(node->UnaryOp.operand);
    return node->kind == PEL_Constant;
}

/* The value that most instances take, if it is worth being the argument's default; else NULL. */
static pel_node *default_of(const pel_hole *hole, uint32_t n) {
    pel_node *best = NULL;
    uint32_t best_count = 0;
    for (uint32_t i = 0; i < n && i < 64; i++) {
        if (!is_plain(hole->values[i])) continue;
        uint32_t count = 0;
        for (uint32_t k = 0; k < n; k++) count += pel_same(hole->values[i], hole->values[k]);
        bool better =
            count > best_count || (pel_is_none(hole->values[i]) && best && !pel_is_none(best) && count == best_count);
        if (better) {
            best = hole->values[i];
            best_count = count;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        if (pel_is_none(hole->values[i])) return hole->values[i];
    return best_count * 2 > n ? best : NULL;
}

static void add_argument(builder *b, pel_node *arguments, pel_name name, pel_node *value) {
    pel_node *arg = pel_node_new(b->ctx, PEL_arg);
    arg->arg.arg = name;
    pel_nodes_push(b->ctx, &arguments->arguments.args, arg);
    if (value) pel_nodes_push(b->ctx, &arguments->arguments.defaults, value);
}

/* The signature, and with it the call that builds each instance. */
static pel_node *sign(builder *b, pel_program_class *class, const pel_unifier *unifier) {
    pel_ctx *ctx = b->ctx;
    uint32_t n = class->instances.n, n_positional = 0;
    pel_node *arguments = pel_node_new(ctx, PEL_arguments);
    add_argument(b, arguments, name_c(b, "self"), NULL);
    pel_node **calls = pel_new_array(ctx, n, pel_node *);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t early;
        calls[i] = pel_map_get(&b->signed_call_of, class->instances.at[i], &early)
                       ? (pel_node *)(uintptr_t)early
                       : call(b, pel_make_name(ctx, class->name, PEL_Load), (pel_nodes){ 0 });
        calls[i]->mark = PEL_CALL_BUILDS;
        pel_map_set(ctx, &b->signed_call_of, class->instances.at[i], PEL_KEY(calls[i]));
    }
    for (int with_default = 0; with_default < 2; with_default++) {
        for (uint32_t h = 0; h < unifier->holes.n; h++) {
            const pel_hole *hole = &unifier->holes.at[h];
            pel_node *usual = default_of(hole, n);
            if ((usual != NULL) != with_default) continue;
            add_argument(b, arguments, hole->name, usual);
            bool positional = !usual && n_positional++ < 3;
            for (uint32_t i = 0; i < n; i++) {
                bool is_default = usual && pel_same(usual, hole->values[i]);
                add_keyword(b, calls[i], hole->name, hole->values[i],
                            (is_default ? PEL_ARG_DEFAULT : 0u) | (positional ? PEL_ARG_POSITIONAL : 0u));
            }
        }
    }
    return arguments;
}

/* Parameters that the torch class makes and the author froze: self.weight.requires_grad_(False). */
static void add_freezing(builder *b, const pel_program_class *class, pel_nodes *body) {
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t k = 0; k < first->n_parameters; k++) {
        pel_name name = first->parameters[k].name;
        if (!first->parameters[k].tensor || !is_made_by_base(first, name)) continue;
        bool frozen = true;
        for (uint32_t i = 0; i < class->instances.n && frozen; i++) {
            const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
            for (uint32_t p = 0; p < row->n_parameters; p++)
                if (row->parameters[p].name == name && row->parameters[p].tensor)
                    frozen &= !b->log->tensors.at[row->parameters[p].tensor].requires_grad;
        }
        if (!frozen) continue;
        pel_node *parameter = self_attribute(b, name, PEL_Load);
        pel_node *freeze = pel_make_attribute(b->ctx, parameter, name_c(b, "requires_grad_"), PEL_Load);
        pel_nodes args = pel_nodes_one(b->ctx, pel_make_constant(b->ctx, &pel_false));
        pel_nodes_push(b->ctx, body, pel_make_expr(b->ctx, call(b, freeze, args)));
    }
}

/* Attributes of the instances whose values differ: their names are the author's for these values. */
static void collect_known_names(builder *b, const pel_program_class *class, pel_unifier *unifier) {
    uint32_t n = class->instances.n;
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t k = 0; k < first->n_attributes && n > 1; k++) {
        pel_hole known = { first->attributes[k].name, pel_new_array(b->ctx, n, pel_node *), NULL };
        bool usable = known.name->len && known.name->text[0] != '_', differs = false;
        for (uint32_t i = 0; i < n && usable; i++) {
            pel_id value = pel_module_attribute(b->log, class->instances.at[i], known.name);
            pel_value_kind kind = value ? (pel_value_kind)pel_value_at(b->log, value)->kind : PEL_V_NONE_YET;
            usable = kind == PEL_V_CONST || kind == PEL_V_TUPLE;
            if (usable) usable = (known.values[i] = pel_value_expression(b->ctx, b->program, value)) != NULL;
            differs |= usable && i && !pel_same(known.values[0], known.values[i]);
        }
        if (usable && differs) pel_push(b->ctx, &unifier->known, known);
    }
}

static void finish_class(builder *b, pel_program_class *class) {
    pel_ctx *ctx = b->ctx;
    pel_map_set(ctx, &b->progress, class->class, UNDER_WAY);
    pel_unifier unifier = { .ctx = ctx, .n_lanes = class->instances.n };
    collect_known_names(b, class, &unifier);
    pel_nodes body = { 0 };
    bool takes_children;
    pel_nodes_push(ctx, &body, super_init(b, &unifier, class, &takes_children));
    parts all = { 0 };
    collect_parts(b, class, &all);
    collect_needs(b, class, &all);
    pel_id base = pel_torch_base(b->log, class->class);
    bool in_container = base && container_kind(pel_class_at(b->log, base)) != NO_CONTAINER;
    for (uint32_t i = 0; i < all.n; i++) {
        if (takes_children && all.at[i].kind == PART_CHILD) continue;
        pel_id child = child_named(pel_module_at(b->log, class->instances.at[0]), all.at[i].name->text);
        if (all.at[i].kind == PART_CHILD && child && never_ran(b, child))
            pel_nodes_push(ctx, &body, pel_make_comment(ctx, PEL_STR("here for its weights alone")));
        pel_nodes_push(ctx, &body, part_statement(b, &unifier, class, &all.at[i], in_container));
    }

    add_freezing(b, class, &body);
    pel_node *arguments = sign(b, class, &unifier);
    pel_node *plain_super = body.at[0]->Expr.value;
    pel_map_set(ctx, &b->progress, class->class, DONE);
    if (body.n == 1 && !plain_super->Call.args.n && !plain_super->Call.keywords.n) return;
    class->init = pel_node_new(ctx, PEL_FunctionDef);
    class->init->FunctionDef.name = name_c(b, "__init__");
    class->init->FunctionDef.args = arguments;
    class->init->FunctionDef.body = body;
}

/* ---- ties: modules and tensors that stand in two places of the tree; what is done to modules from outside ---- */

static pel_node *path_expression(builder *b, pel_str path, pel_CTX use) {
    pel_node *node = pel_make_name(b->ctx, name_c(b, "self"), PEL_Load);
    for (size_t start = 0; start < path.len;) {
        size_t end = start;
        bool is_number = true;
        for (; end < path.len && path.ptr[end] != '.'; end++) is_number &= path.ptr[end] >= '0' && path.ptr[end] <= '9';
        pel_CTX here = end == path.len ? use : PEL_Load;
        pel_name name = pel_intern(b->ctx, path.ptr + start, end - start);
        if (is_number) {
            pel_node *subscript = pel_node_new(b->ctx, PEL_Subscript);
            int64_t index = 0;
            for (size_t i = start; i < end; i++) index = index * 10 + (path.ptr[i] - '0');
            subscript->Subscript.value = node;
            subscript->Subscript.slice = pel_make_int(b->ctx, index);
            subscript->Subscript.ctx = here;
            node = subscript;
        } else if (pel_is_identifier(pel_name_str(name))) {
            node = pel_make_attribute(b->ctx, node, name, here);
        } else {
            pel_nodes args = pel_nodes_one(b->ctx, text_constant(b, pel_name_str(name)));
            node = call(b, pel_make_attribute(b->ctx, node, name_c(b, "get_submodule"), PEL_Load), args);
        }
        start = end + 1;
    }
    return node;
}

static pel_str join_path(builder *b, pel_str parent, pel_name name) {
    return parent.len ? pel_format(b->ctx, "%.*s.%s", PEL_FMT(parent), name->text)
                      : pel_format(b->ctx, "%s", name->text);
}

static void note_slots(builder *b, pel_str path, const pel_log_slot *slots, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!slots[i].tensor) continue;
        pel_str here = join_path(b, path, slots[i].name);
        uint64_t first;
        if (pel_map_get(&b->slot_of, slots[i].tensor, &first)) {
            pel_push(b->ctx, &b->ties, (tie){ here, b->slot_paths.at[first] });
            continue;
        }
        pel_map_set(b->ctx, &b->slot_of, slots[i].tensor, b->slot_paths.n);
        pel_push(b->ctx, &b->slot_paths, here);
    }
}

/* A module of torch's is frozen as a whole where it is made (child_expression); a part of one, or what is left of one
 * that is parametrized, from outside. */
static void note_frozen(builder *b, pel_id module, pel_str path) {
    const pel_log_module *row = pel_module_at(b->log, module);
    bool is_torch = pel_class_at(b->log, row->class)->kind == PEL_CLASS_TORCH_MODULE;
    bool in_parts = is_derived_by_torch(b->log, row->class) || is_parametrization_list(b->log, module) ||
                    (is_torch && !is_frozen(b, module, 0));
    if (!in_parts || !path.len) return;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (row->parameters[i].tensor && !b->log->tensors.at[row->parameters[i].tensor].requires_grad)
            pel_push(b->ctx, &b->frozen, join_path(b, path, row->parameters[i].name));
}

/* m.i = 3, where m may be a layer of torch's: its class has no constructor of ours that could set it. */
static void note_settings(builder *b, pel_id module, pel_str path) {
    const pel_log_module *row = pel_module_at(b->log, module);
    const pel_program_class *class = pel_map_pointer(&b->class_of, row->class);
    if (!class || !path.len || pel_class_at(b->log, row->class)->kind != PEL_CLASS_TORCH_MODULE) return;
    for (uint32_t i = 0; i < class->needs.n; i++) {
        const pel_needed_attribute *need = &class->needs.at[i];
        pel_id value = need->of ? pel_module_attribute(b->log, module, need->of) : 0;
        if (!value || is_made_by_base(row, need->name) || !is_read(b, row->class, need->name)) continue;
        pel_node *text = pel_value_expression(b->ctx, b->program, value);
        if (text) pel_push(b->ctx, &b->settings, ((setting){ join_path(b, path, need->name), text }));
    }
}

static void find_ties(builder *b, pel_id module, pel_str path, pel_map *paths, int depth) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (depth > MAX_DEPTH) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    note_slots(b, path, row->parameters, row->n_parameters);
    note_slots(b, path, row->buffers, row->n_buffers);
    note_frozen(b, module, path);
    note_settings(b, module, path);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        pel_id child = row->children[i];
        if (!child || !is_needed(b, row, i)) continue;
        pel_str here = join_path(b, path, row->child_names.at[i]);
        uint64_t first;
        if (pel_map_get(paths, child, &first)) {
            if (owns_state(b, child, 0)) pel_push(b->ctx, &b->ties, (tie){ here, *(pel_str *)(uintptr_t)first });
            continue;
        }
        pel_str *kept = pel_new(b->ctx, pel_str);
        *kept = here;
        pel_map_set(b->ctx, paths, child, PEL_KEY(kept));
        find_ties(b, child, here, paths, depth + 1);
    }
}

static void add_ties(builder *b, const pel_program_class *root) {
    pel_map paths = { 0 };
    if (!root->init) return; /* no parts, nothing to tie */
    find_ties(b, b->log->root, (pel_str){ "", 0 }, &paths, 0);
    for (uint32_t i = 0; i < b->ties.n; i++) {
        pel_node *to = path_expression(b, b->ties.at[i].later, PEL_Store);
        pel_node *from = path_expression(b, b->ties.at[i].first, PEL_Load);
        pel_nodes_push(b->ctx, &root->init->FunctionDef.body, pel_make_assign(b->ctx, to, from));
    }
    for (uint32_t i = 0; i < b->settings.n; i++) {
        pel_node *to = path_expression(b, b->settings.at[i].path, PEL_Store);
        pel_node *set = pel_make_assign(b->ctx, to, b->settings.at[i].value);
        pel_nodes_push(b->ctx, &root->init->FunctionDef.body, set);
    }
    for (uint32_t i = 0; i < b->frozen.n; i++) {
        pel_node *freeze = pel_make_attribute(b->ctx, path_expression(b, b->frozen.at[i], PEL_Load),
                                              name_c(b, "requires_grad_"), PEL_Load);
        pel_nodes args = pel_nodes_one(b->ctx, pel_make_constant(b->ctx, &pel_false));
        pel_nodes_push(b->ctx, &root->init->FunctionDef.body, pel_make_expr(b->ctx, call(b, freeze, args)));
    }
}

/* ---- all classes ---- */

static bool is_name_taken(const pel_program *program, pel_name name) {
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->name == name) return true;
    for (uint32_t i = 0; i < program->functions.n; i++)
        if (!program->functions.at[i]->class && program->functions.at[i]->name == name) return true;
    return false;
}

static pel_program_class *class_for(builder *b, pel_id class) {
    uint64_t found;
    if (pel_map_get(&b->class_of, class, &found)) return (pel_program_class *)(uintptr_t)found;
    pel_program_class *added = pel_new(b->ctx, pel_program_class);
    added->class = class;
    added->name = pel_class_at(b->log, class)->name;
    for (int i = 2; is_name_taken(b->program, added->name); i++) {
        pel_str numbered = pel_format(b->ctx, "%s%d", pel_class_at(b->log, class)->name->text, i);
        added->name = pel_intern_str(b->ctx, numbered);
    }
    pel_push(b->ctx, &b->program->classes, added);
    pel_map_set(b->ctx, &b->class_of, class, PEL_KEY(added));
    return added;
}

static void collect_instances(builder *b, pel_id module, pel_map *seen, int depth) {
    if (!pel_map_set(b->ctx, seen, module, 1)) return;
    if (depth > MAX_DEPTH) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    const pel_log_module *row = pel_module_at(b->log, module);
    if (pel_class_at(b->log, row->class)->kind != PEL_CLASS_TORCH_MODULE && !is_derived_by_torch(b->log, row->class) &&
        !pel_map_has(&b->idle, row->class)) {
        pel_program_class *class = class_for(b, row->class);
        pel_push(b->ctx, &class->instances, module);
    }
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && is_needed(b, row, i)) collect_instances(b, row->children[i], seen, depth + 1);
}

static void polish_all(builder *b) {
    for (uint32_t i = 0; i < b->program->classes.n; i++)
        if (b->program->classes.at[i]->init) pel_unify_polish(b->ctx, &b->program->classes.at[i]->init);
}

/* A class around the root that takes no arguments, where the root's own takes some or is torch's: it inherits, so
 * that the names in the state_dict stay. */
static pel_program_class *add_root(builder *b, pel_node *made, const pel_program_class *of) {
    pel_ctx *ctx = b->ctx;
    pel_unifier single = { .ctx = ctx, .n_lanes = 1 };
    pel_node *unified = pel_unify(&single, &made, name_c(b, "layers"));
    pel_program_class *class = pel_new(ctx, pel_program_class);
    pel_str name = of ? pel_format(ctx, "%sRoot", of->name->text) : PEL_STR("Model");
    class->name = pel_intern_str(ctx, name);
    class->def = pel_node_new(ctx, PEL_ClassDef);
    class->def->ClassDef.name = class->name;
    class->def->ClassDef.bases = pel_nodes_one(ctx, unified->Call.func);
    pel_node *super = call(b, pel_make_name(ctx, name_c(b, "super"), PEL_Load), (pel_nodes){ 0 });
    unified->Call.func = pel_make_attribute(ctx, super, name_c(b, "__init__"), PEL_Load);
    class->init = pel_node_new(ctx, PEL_FunctionDef);
    class->init->FunctionDef.name = name_c(b, "__init__");
    class->init->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    add_argument(b, class->init->FunctionDef.args, name_c(b, "self"), NULL);
    pel_nodes_push(ctx, &class->init->FunctionDef.body, pel_make_expr(ctx, unified));
    class->def->ClassDef.body = pel_nodes_one(ctx, class->init);
    pel_push(ctx, &b->program->classes, class);
    return class;
}

/* Modules that a list which is needed holds: they are read, by whatever names they have. */
static void note_held(builder *b, pel_id id, int depth) {
    const pel_value *value = pel_value_at(b->log, id);
    if (value->kind == PEL_V_MODULE) {
        pel_str path = pel_module_at(b->log, value->module)->path;
        for (size_t start = 0; start < path.len;) {
            size_t end = start;
            while (end < path.len && path.ptr[end] != '.') end++;
            pel_map_set(b->ctx, &b->attributes, PEL_KEY(pel_intern(b->ctx, path.ptr + start, end - start)), 1);
            start = end + 1;
        }
    }
    if (value->kind != PEL_V_LIST && value->kind != PEL_V_TUPLE && value->kind != PEL_V_DICT) return;
    for (uint32_t i = 0; i < value->n && depth < MAX_DEPTH; i++) note_held(b, value->items[i], depth + 1);
}

static void note_needs(builder *b) {
    for (uint32_t m = 1; m < b->log->modules.n; m++) {
        const pel_program_class *class = pel_map_pointer(&b->class_of, b->log->modules.at[m].class);
        for (uint32_t k = 0; class && k < class->needs.n; k++) {
            const pel_needed_attribute *need = &class->needs.at[k];
            uint64_t given;
            if (pel_map_get(&need->values, m, &given))
                note_held(b, (pel_id)given, 0);
            else if (need->of)
                note_held(b, pel_module_attribute(b->log, m, need->of), 0);
        }
    }
}

void pel_init(pel_ctx *ctx, pel_program *program) {
    builder b = { .ctx = ctx, .program = program, .log = program->log };
    pel_id root = program->log->root;
    if (!root) pel_throw(ctx, PEL_E_FORMAT, 0, "the log has no root module");
    for (uint32_t i = 0; i < program->classes.n; i++) {
        program->classes.at[i]->instances.n = 0;
        pel_map_set(ctx, &b.class_of, program->classes.at[i]->class, PEL_KEY(program->classes.at[i]));
        if (program->classes.at[i]->def) note_attributes(&b, &program->classes.at[i]->def);
    }
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        const pel_nodes args = function->def->FunctionDef.args->arguments.args;
        b.noting_class = function->class;
        b.noting_self = function->class && !function->is_static && args.n ? args.at[0]->arg.arg : NULL;
        note_attributes(&b, &function->def);
    }
    if (!program->only_construction) find_idle(&b);
    note_needs(&b);
    pel_map seen = { 0 };
    collect_instances(&b, root, &seen, 0);

    pel_node *made = module_call(&b, root);
    pel_program_class *class = NULL;
    if (pel_class_at(program->log, pel_module_at(program->log, root)->class)->kind != PEL_CLASS_TORCH_MODULE)
        class = class_for(&b, pel_module_at(program->log, root)->class);
    if (!class || made->Call.keywords.n) class = add_root(&b, made, class);
    program->root = class->name;
    add_ties(&b, class);
    polish_all(&b);
}
