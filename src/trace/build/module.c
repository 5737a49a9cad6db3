/* The expression that builds a module of the tree: a call of torch's class or of the author's. */
#include "trace/build/init.h"

#include <stdio.h>

/* ---- small expressions ---- */

pel_node *pel_self_attribute(pel_ctx *ctx, pel_name name, pel_CTX use) {
    return pel_make_attribute(ctx, pel_make_name(ctx, pel_intern_c(ctx, "self"), PEL_Load), name, use);
}

pel_node *pel_call_of(pel_ctx *ctx, pel_node *func, pel_nodes args) {
    return pel_make_call(ctx, func, args, (pel_nodes){ 0 });
}

void pel_add_keyword(pel_ctx *ctx, pel_node *call, pel_name name, pel_node *value) {
    pel_nodes_push(ctx, &call->Call.keywords, pel_make_keyword(ctx, name, value));
}

void pel_add_noted(pel_builder *b, pel_node *call, pel_name name, pel_node *value, uint32_t notes) {
    pel_add_keyword(b->ctx, call, name, value);
    pel_set_notes(b->ctx, b->program->notes, call->Call.keywords.at[call->Call.keywords.n - 1], notes);
}

pel_node *pel_not_trained(pel_ctx *ctx, pel_node *of) {
    pel_node *method = pel_make_attribute(ctx, of, pel_intern_c(ctx, "requires_grad_"), PEL_Load);
    return pel_call_of(ctx, method, pel_nodes_one(ctx, pel_make_constant(ctx, &pel_false)));
}

/* What the module tree says about a module, whatever its code does. */

bool pel_are_numbered(pel_name_list names) {
    for (uint32_t i = 0; i < names.n; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%u", i);
        if (!pel_name_is(names.at[i], digits)) return false;
    }
    return true;
}

static bool owns_state(const pel_log *log, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(log, module);
    if (row->n_parameters) return true;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].persistent && row->buffers[i].tensor) return true;
    for (uint32_t i = 0; i < row->child_names.n && depth < PEL_DEEPEST_TREE; i++)
        if (row->children[i] && owns_state(log, row->children[i], depth + 1)) return true;
    return false;
}

bool pel_owns_state(const pel_log *log, pel_id module) { return owns_state(log, module, 0); }

static bool is_frozen(const pel_log *log, pel_id module, int depth) {
    const pel_log_module *row = pel_module_at(log, module);
    bool any = false;
    for (uint32_t i = 0; i < row->n_parameters; i++) {
        if (!row->parameters[i].tensor) continue;
        if (log->tensors.at[row->parameters[i].tensor].requires_grad) return false;
        any = true;
    }
    for (uint32_t i = 0; i < row->child_names.n && depth < PEL_DEEPEST_TREE; i++) {
        if (!row->children[i] || !pel_owns_state(log, row->children[i])) continue;
        if (!is_frozen(log, row->children[i], depth + 1)) return false;
        any = true;
    }
    return any;
}

bool pel_is_frozen(const pel_log *log, pel_id module) { return is_frozen(log, module, 0); }

bool pel_is_made_by_base(const pel_log_module *row, pel_name name) { return pel_names_have(row->made_by_base, name); }

bool pel_is_derived_by_torch(const pel_log *log, pel_id class) {
    const pel_log_class *row = pel_class_at(log, class);
    return row->kind == PEL_CLASS_MODULE && pel_str_is(row->module, "torch.nn.utils.parametrize");
}

bool pel_is_parametrization_list(const pel_log *log, pel_id module) {
    return module &&
           pel_str_ends(pel_class_at(log, pel_module_at(log, module)->class)->path, PEL_STR(".ParametrizationList"));
}

const pel_log_module *pel_parametrizations_of(const pel_log *log, const pel_log_module *row) {
    pel_id all = pel_child_named(row, "parametrizations");
    const pel_log_module *tensors = all ? pel_module_at(log, all) : NULL;
    return tensors && tensors->child_names.n && pel_is_parametrization_list(log, tensors->children[0]) ? tensors : NULL;
}

bool pel_is_plain_module(const pel_log *log, pel_id class) {
    const pel_id base = pel_torch_base(log, class);
    return base && pel_str_is(pel_class_at(log, base)->path, "torch.nn.Module");
}

bool pel_is_torch_module(const pel_log *log, pel_id module) {
    return pel_class_at(log, pel_module_at(log, module)->class)->kind == PEL_CLASS_TORCH_MODULE;
}

/* Parametrized modules: the calls that parametrize stand around what builds them. */

/* How torch's own parametrizations are asked for; attributes of the parametrization that are arguments. */
typedef struct known {
    const char *class, *function;
    const char *arguments[4]; /* ends with NULL */
} known;
static const known parametrizations[] = {
    { "torch.nn.utils.parametrizations._WeightNorm", "torch.nn.utils.parametrizations.weight_norm", { "dim" } },
    { "torch.nn.utils.parametrizations._SpectralNorm",
      "torch.nn.utils.parametrizations.spectral_norm",
      { "n_power_iterations", "eps", "dim" } },
    { "torch.nn.utils.parametrizations._Orthogonal", "torch.nn.utils.parametrizations.orthogonal", { NULL } },
};

static const known *known_parametrization(pel_str class) {
    for (size_t i = 0; i < PEL_COUNT(parametrizations); i++)
        if (pel_str_is(class, parametrizations[i].class)) return &parametrizations[i];
    return NULL;
}

static pel_node *parametrize(pel_builder *b, pel_node *made, pel_name tensor, pel_id parametrization) {
    pel_ctx *ctx = b->ctx;
    const known *how = known_parametrization(pel_class_at(b->log, pel_module_at(b->log, parametrization)->class)->path);
    pel_nodes args = pel_nodes_one(ctx, made);
    pel_node *name = pel_make_text(ctx, pel_name_str(tensor));
    if (!how) {
        pel_nodes_push(ctx, &args, name);
        pel_nodes_push(ctx, &args, pel_module_call(b, parametrization));
        return pel_building_call(b, PEL_STR("torch.nn.utils.parametrize.register_parametrization"), args);
    }
    pel_node *call = pel_building_call(b, pel_str_of(how->function), args);
    pel_add_noted(b, call, pel_intern_c(ctx, "name"), name, pel_name_is(tensor, "weight") ? PEL_NOTE_DEFAULT : 0u);
    for (const char *const *argument = how->arguments; *argument; argument++) {
        pel_name attribute = pel_intern_c(ctx, *argument);
        pel_id value = pel_module_attribute(b->log, parametrization, attribute);
        pel_node *text = value ? pel_value_expression(ctx, b->program, value) : NULL;
        if (text) pel_add_keyword(ctx, call, attribute, text);
    }
    return call;
}

pel_node *pel_with_parametrizations(pel_builder *b, pel_node *made, pel_id module) {
    const pel_log_module *tensors = pel_parametrizations_of(b->log, pel_module_at(b->log, module));
    for (uint32_t i = 0; tensors && i < tensors->child_names.n; i++) {
        const pel_log_module *list = pel_module_at(b->log, tensors->children[i]);
        for (uint32_t k = 0; k < list->child_names.n; k++)
            made = parametrize(b, made, tensors->child_names.at[i], list->children[k]);
    }
    return made;
}

/* The only one, or the direction of a weight norm, which comes behind the magnitude. */
pel_id pel_original_of(const pel_log_module *list) {
    return list->n_parameters ? list->parameters[list->n_parameters - 1].tensor : 0;
}

pel_node *pel_building_call(pel_builder *b, pel_str path, pel_nodes args) {
    if (!path.len) pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "a module is of no class that has a name");
    pel_node *made = pel_call_of(b->ctx, pel_library_expression(b->ctx, b->program, path), args);
    pel_set_notes(b->ctx, b->program->notes, made, PEL_NOTE_BUILDS);
    return made;
}

/* ---- tensors ---- */

/* made.permute(...), so that the dimensions lie in memory as the tensor's do. */
static pel_node *permuted(pel_builder *b, pel_node *made, const pel_log_tensor *tensor) {
    pel_ctx *ctx = b->ctx;
    bool is_matrix = tensor->n_dims == 2;
    pel_nodes places = { 0 };
    for (uint32_t i = 0; i < tensor->n_dims && !is_matrix; i++) {
        uint32_t at = 0;
        while (tensor->order[at] != i) at++;
        pel_nodes_push(ctx, &places, pel_make_int(ctx, at));
    }
    pel_node *method = pel_make_attribute(ctx, made, pel_intern_c(ctx, is_matrix ? "t" : "permute"), PEL_Load);
    pel_node *call = pel_call_of(ctx, method, places);
    pel_set_notes(b->ctx, b->program->notes, call, PEL_NOTE_BUILDS);
    return call;
}

/* torch.empty(...) of the tensor's shape, type and place of dimensions in memory. */
static pel_node *empty_call(pel_builder *b, const pel_log_tensor *tensor) {
    pel_ctx *ctx = b->ctx;
    pel_node *made = pel_building_call(b, PEL_STR("torch.empty"), (pel_nodes){ 0 });
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        int64_t size = tensor->shape[tensor->order ? tensor->order[i] : i];
        pel_add_noted(b, made, pel_intern_c(ctx, "dim"), pel_make_int(ctx, size), PEL_NOTE_POSITIONAL | PEL_NOTE_SIZE);
    }
    if (!tensor->n_dims) pel_nodes_push(ctx, &made->Call.args, pel_node_new(ctx, PEL_Tuple));
    if (tensor->dtype.len && !pel_str_is(tensor->dtype, "torch.float32"))
        pel_add_keyword(ctx, made, pel_intern_c(ctx, "dtype"), pel_library_expression(ctx, b->program, tensor->dtype));
    return tensor->order ? permuted(b, made, tensor) : made;
}

pel_node *pel_parameter_text(pel_builder *b, pel_id tensor) {
    if (!tensor) return pel_make_none(b->ctx);
    const pel_log_tensor *row = &b->log->tensors.at[tensor];
    pel_node *empty = empty_call(b, row);
    pel_node *made = pel_building_call(b, PEL_STR("torch.nn.Parameter"), pel_nodes_one(b->ctx, empty));
    if (!row->requires_grad)
        pel_add_keyword(b->ctx, made, pel_intern_c(b->ctx, "requires_grad"), pel_make_constant(b->ctx, &pel_false));
    return made;
}

pel_node *pel_buffer_text(pel_builder *b, pel_id module, const pel_log_slot *slot) {
    if (!slot->tensor) return pel_make_none(b->ctx);
    const pel_log_tensor *row = &b->log->tensors.at[slot->tensor];
    if (slot->persistent) return empty_call(b, row);
    pel_node *made = pel_tensor_expression(b->ctx, b->program, slot->tensor);
    if (!made)
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0,
                  "the buffer %.*s of %.*s is not in the state_dict, and its values are not known",
                  PEL_FMT(pel_name_str(slot->name)), PEL_FMT(pel_module_at(b->log, module)->path));
    return made;
}

/* ---- containers ---- */

static void add_pair(pel_builder *b, pel_node *list, pel_name name, pel_node *value) {
    pel_node *pair = pel_node_new(b->ctx, PEL_Tuple);
    pel_nodes_push(b->ctx, &pair->Tuple.elts, pel_make_text(b->ctx, pel_name_str(name)));
    pel_nodes_push(b->ctx, &pair->Tuple.elts, value);
    pel_nodes_push(b->ctx, &list->List.elts, pair);
}

/* A container of torch's whose modules are all frozen is frozen itself, and they with it. */
static bool is_frozen_with_all(const pel_builder *b, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && pel_owns_state(b->log, row->children[i]) && !pel_is_frozen(b->log, row->children[i]))
            return false;
    return pel_class_at(b->log, row->class)->kind == PEL_CLASS_TORCH_MODULE;
}

/* The children of a container as one list: [a, b, c], or [("name", a), ...]. */
static pel_node *children_list(pel_builder *b, const pel_log_module *row, bool with_names) {
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    pel_node *(*text)(pel_builder *, pel_id) = is_frozen_with_all(b, row) ? pel_module_call : pel_child_text;
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        pel_node *child = row->children[i] ? text(b, row->children[i]) : pel_make_none(b->ctx);
        if (with_names)
            add_pair(b, list, row->child_names.at[i], child);
        else
            pel_nodes_push(b->ctx, &list->List.elts, child);
    }
    return list;
}

static pel_node *parameters_dict(pel_builder *b, const pel_log_module *row) {
    pel_node *list = children_list(b, row, true);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        add_pair(b, list, row->parameters[i].name, pel_parameter_text(b, row->parameters[i].tensor));
    return list;
}

/* A list of parameters may have others among its elements: they are its children, numbered with the parameters. */
static pel_node *parameters_list(pel_builder *b, const pel_log_module *row) {
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    for (uint32_t i = 0, child = 0, parameter = 0; i < row->child_names.n + row->n_parameters; i++) {
        pel_str number = pel_format(b->ctx, "%u", i);
        bool is_child = child < row->child_names.n && pel_str_eq(pel_name_str(row->child_names.at[child]), number);
        if (!is_child && parameter == row->n_parameters) break;
        pel_node *item = is_child ? pel_module_call(b, row->children[child++])
                                  : pel_parameter_text(b, row->parameters[parameter++].tensor);
        pel_nodes_push(b->ctx, &list->List.elts, item);
    }
    return list;
}

pel_nodes pel_container_arguments(pel_builder *b, const pel_log_module *row, pel_container kind) {
    pel_ctx *ctx = b->ctx;
    if (kind == PEL_PARAMETER_LIST) return pel_nodes_one(ctx, parameters_list(b, row));
    if (kind == PEL_PARAMETER_DICT) return pel_nodes_one(ctx, parameters_dict(b, row));
    if (kind == PEL_MODULE_LIST) return pel_nodes_one(ctx, children_list(b, row, false));
    if (kind == PEL_MODULE_DICT)
        return row->child_names.n ? pel_nodes_one(ctx, children_list(b, row, true)) : (pel_nodes){ 0 };
    if (pel_are_numbered(row->child_names)) {
        return pel_nodes_one(ctx, pel_make_starred(ctx, children_list(b, row, false)));
    }
    pel_nodes named = pel_nodes_one(ctx, children_list(b, row, true));
    return pel_nodes_one(ctx, pel_building_call(b, PEL_STR("collections.OrderedDict"), named));
}

/* ---- modules of torch's ---- */

static bool is_size(pel_name argument) {
    static const char *const sizes[] = { "in_channels",      "out_channels", "in_features",    "out_features",
                                         "num_features",     "num_channels", "num_embeddings", "embedding_dim",
                                         "normalized_shape", "input_size",   "hidden_size",    "embed_dim" };
    for (size_t i = 0; i < PEL_COUNT(sizes); i++)
        if (pel_name_is(argument, sizes[i])) return true;
    return false;
}

void pel_add_torch_arguments(pel_builder *b, pel_node *call, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_log_argument *argument = &row->arguments[i];
        if (!argument->name->len) continue;                             /* what was done to the module then */
        const pel_value *given = pel_value_at(b->log, argument->value); /* nn.TransformerEncoder is given a layer */
        pel_node *value = given->kind == PEL_V_MODULE ? pel_module_call(b, given->module)
                                                      : pel_value_expression(b->ctx, b->program, argument->value);
        if (!value)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "argument %.*s of %.*s (%.*s) has no literal",
                      PEL_FMT(pel_name_str(argument->name)), PEL_FMT(pel_class_at(b->log, row->class)->path),
                      PEL_FMT(row->path));
        pel_add_noted(b, call, argument->name, value,
                      (argument->is_default ? PEL_NOTE_DEFAULT : 0u) |
                          (argument->positional ? PEL_NOTE_POSITIONAL : 0u) |
                          (is_size(argument->name) ? PEL_NOTE_SIZE : 0u));
    }
}

/* A module around one other: nn.DataParallel(module). What torch.compile gives back is one, too; run eagerly it
 * computes the same, and it keeps the name that it puts into the state_dict. */
static void wrap_child(pel_builder *b, pel_node *made, const pel_log_module *row) {
    made->Call.args = pel_nodes_one(b->ctx, pel_module_call(b, row->children[0]));
    if (!pel_name_is(row->child_names.at[0], "_orig_mod")) return;
    made->Call.func = pel_library_expression(b->ctx, b->program, PEL_STR("torch.compile"));
    pel_add_keyword(b->ctx, made, pel_intern_c(b->ctx, "backend"), pel_make_text(b->ctx, PEL_STR("eager")));
}

static pel_node *call_partial(pel_builder *b, const pel_value *partial, pel_node *of, const pel_log_module *row) {
    pel_node *func = pel_value_expression(b->ctx, b->program, partial->items[0]);
    if (!func) pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "what was done to %.*s has no name", PEL_FMT(row->path));
    pel_node *call = pel_call_of(b->ctx, func, pel_nodes_one(b->ctx, of));
    pel_set_notes(b->ctx, b->program->notes, call, PEL_NOTE_BUILDS);
    const pel_value *keywords = pel_value_at(b->log, partial->items[2]);
    for (uint32_t k = 0; k + 1 < keywords->n; k += 2) {
        const pel_value *name = pel_value_at(b->log, keywords->items[k]);
        pel_node *value = pel_value_expression(b->ctx, b->program, keywords->items[k + 1]);
        if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR && value)
            pel_add_keyword(b->ctx, call, pel_intern_str(b->ctx, name->constant->text), value);
    }
    return call;
}

/* weight_norm(module, dim=1): functions of torch's that replaced parameters of the module by others. */
static pel_node *normed(pel_builder *b, pel_node *made, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_value *partial = pel_value_at(b->log, row->arguments[i].value);
        if (!row->arguments[i].name->len && partial->kind == PEL_V_PARTIAL) made = call_partial(b, partial, made, row);
    }
    return made;
}

pel_node *pel_torch_module_call(pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    pel_str path = pel_class_at(b->log, row->class)->path;
    pel_node *made = pel_building_call(b, path, (pel_nodes){ 0 });
    const pel_program_class *hooked = pel_map_pointer(&b->program->hooks.hooked, module);
    if (hooked) made->Call.func = pel_make_name(b->ctx, hooked->name, PEL_Load);
    pel_container kind = pel_container_kind(b->log, row->class);
    if (kind)
        made->Call.args = pel_container_arguments(b, row, kind);
    else if (row->has_arguments)
        pel_add_torch_arguments(b, made, row);
    else if (row->child_names.n == 1 && row->children[0] && !row->n_parameters && !row->n_buffers)
        wrap_child(b, made, row);
    else
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "the arguments that made %.*s (a %.*s) could not be found",
                  PEL_FMT(row->path), PEL_FMT(path));
    return normed(b, made, row);
}

/* What the class of torch's makes that an author's inherits from, or that torch derived the module's own from. */
static pel_node *base_call(pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    pel_str path = pel_class_at(b->log, pel_torch_base(b->log, row->class))->path;
    pel_node *made = pel_building_call(b, path, (pel_nodes){ 0 });
    pel_add_torch_arguments(b, made, row);
    return made;
}

/* ---- modules of the author's ---- */

/* Of a class that needs no text: nn.ParameterDict registers what it is given as its own, modules too. */
static pel_node *idle_call(pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!pel_is_plain_module(b->log, row->class)) return base_call(b, module);
    pel_node *list = pel_node_new(b->ctx, PEL_List);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (row->parameters[i].tensor)
            add_pair(b, list, row->parameters[i].name, pel_parameter_text(b, row->parameters[i].tensor));
    bool holds_parameters = list->List.elts.n > 0;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && pel_is_needed(b, row, i))
            add_pair(b, list, row->child_names.at[i], pel_child_text(b, row->children[i]));
    if (!list->List.elts.n) return pel_building_call(b, PEL_STR("torch.nn.Module"), (pel_nodes){ 0 });
    pel_str kind = holds_parameters ? PEL_STR("torch.nn.ParameterDict") : PEL_STR("torch.nn.ModuleDict");
    return pel_building_call(b, kind, pel_nodes_one(b->ctx, list));
}

static pel_node *author_module_call(pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    pel_program_class *class = pel_map_pointer(&b->class_of, row->class);
    if (!class || !class->instances.n)
        pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%.*s is a module that no other is known to need", PEL_FMT(row->path));
    pel_progress state = (pel_progress)pel_map_find(&b->progress, row->class, PEL_NOT_YET);
    if (state == PEL_NOT_YET) pel_finish_class(b, class);
    pel_node *made = pel_map_pointer(&b->signed_call_of, module);
    if (made) return made;
    /* The class contains itself and is under way: pel_finish_class fills the arguments in. */
    pel_node *later = pel_call_of(b->ctx, pel_make_name(b->ctx, class->name, PEL_Load), (pel_nodes){ 0 });
    pel_set_notes(b->ctx, b->program->notes, later, PEL_NOTE_BUILDS | PEL_NOTE_OPAQUE);
    pel_map_set(b->ctx, &b->signed_call_of, module, PEL_KEY(later));
    return later;
}

static pel_node *plain_call(pel_builder *b, pel_id module) {
    pel_id class = pel_module_at(b->log, module)->class;
    if (pel_is_derived_by_torch(b->log, class)) return base_call(b, module);
    if (pel_is_torch_module(b->log, module)) return pel_torch_module_call(b, module);
    pel_node *made = pel_is_container_enough(b, class) ? idle_call(b, module) : author_module_call(b, module);
    return normed(b, made, pel_module_at(b->log, module));
}

pel_node *pel_module_call(pel_builder *b, pel_id module) {
    pel_node *made = pel_map_pointer(&b->call_of, module);
    if (made) return made;
    if (++b->depth > PEL_DEEPEST_TREE)
        pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_DEEPEST_TREE);
    made = pel_with_parametrizations(b, plain_call(b, module), module);
    pel_map_set(b->ctx, &b->call_of, module, PEL_KEY(made));
    b->depth--;
    return made;
}

pel_node *pel_child_text(pel_builder *b, pel_id child) {
    pel_node *made = pel_module_call(b, child);
    if (!pel_is_torch_module(b->log, child) || !pel_is_frozen(b->log, child)) return made;
    pel_node *frozen = pel_not_trained(b->ctx, made);
    pel_set_notes(b->ctx, b->program->notes, frozen, PEL_NOTE_BUILDS);
    return frozen;
}

/* The parts of a class's instances: parameters, buffers, children, and the attributes that methods read. */

typedef struct collector {
    pel_builder *b;
    const pel_program_class *class;
    pel_part_list parts;
    uint32_t place; /* where a part that is new stands: behind the last one of the same instance */
} collector;

/* The part of that name. A new one goes to c->place, which then is behind it: so the order of every instance is kept,
 * also that of parts which the first instances don't have. */
static pel_part *part_named(collector *c, pel_name name, pel_part_kind kind) {
    pel_ctx *ctx = c->b->ctx;
    pel_part_list *all = &c->parts;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->at[i].name == name) {
            c->place = i + 1;
            return &all->at[i];
        }
    uint32_t n_lanes = c->class->instances.n;
    pel_part added = { name, pel_new_array(ctx, n_lanes, pel_node *), kind };
    for (uint32_t i = 0; i < n_lanes; i++) added.lanes[i] = pel_make_none(ctx);
    pel_push(ctx, all, added);
    memmove(all->at + c->place + 1, all->at + c->place, (all->n - 1 - c->place) * sizeof *all->at);
    all->at[c->place] = added;
    return &all->at[c->place++];
}

/* ---- what modules register ---- */

static void collect_parameters(collector *c, uint32_t lane) {
    pel_builder *b = c->b;
    const pel_log_module *row = pel_module_at(b->log, c->class->instances.at[lane]);
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (!pel_is_made_by_base(row, row->parameters[i].name))
            part_named(c, row->parameters[i].name, PEL_PART_PARAMETER)->lanes[lane] =
                pel_parameter_text(b, row->parameters[i].tensor);
    const pel_log_module *computed = pel_parametrizations_of(b->log, row);
    for (uint32_t i = 0; computed && i < computed->child_names.n; i++)
        if (!pel_is_made_by_base(row, computed->child_names.at[i]))
            part_named(c, computed->child_names.at[i], PEL_PART_PARAMETER)->lanes[lane] =
                pel_parameter_text(b, pel_original_of(pel_module_at(b->log, computed->children[i])));
}

/* Buffers that no state_dict holds are for the code that reads them; a mere constructor has those that can be written.
 */
static bool is_wanted(const pel_builder *b, const pel_log_module *row, const pel_log_slot *slot) {
    if (slot->persistent || pel_is_read(b, row->class, slot->name)) return true;
    if (!b->program->only_construction || !slot->tensor) return false;
    const pel_log_tensor *tensor = &b->log->tensors.at[slot->tensor];
    return tensor->formula.len || tensor->data.len;
}

static void collect_buffers(collector *c, uint32_t lane) {
    pel_id module = c->class->instances.at[lane];
    const pel_log_module *row = pel_module_at(c->b->log, module);
    for (uint32_t i = 0; i < row->n_buffers; i++) {
        const pel_log_slot *slot = &row->buffers[i];
        if (pel_is_made_by_base(row, slot->name) || !is_wanted(c->b, row, slot)) continue;
        pel_part_kind kind = slot->persistent ? PEL_PART_BUFFER : PEL_PART_VOLATILE_BUFFER;
        part_named(c, slot->name, kind)->lanes[lane] = pel_buffer_text(c->b, module, slot);
    }
}

static void collect_children(collector *c, uint32_t lane) {
    pel_builder *b = c->b;
    const pel_log_module *row = pel_module_at(b->log, c->class->instances.at[lane]);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        bool is_made = pel_is_made_by_base(row, row->child_names.at[i]) ||
                       pel_module_at(b->log, row->children[i]) == pel_parametrizations_of(b->log, row);
        if (is_made || !pel_is_needed(b, row, i)) continue;
        part_named(c, row->child_names.at[i], PEL_PART_CHILD)->lanes[lane] =
            row->children[i] ? pel_child_text(b, row->children[i]) : pel_make_none(b->ctx);
    }
}

static void collect_registered(collector *c) {
    static void (*const collect[])(collector * c, uint32_t lane) = { collect_parameters, collect_buffers,
                                                                     collect_children };
    for (size_t k = 0; k < PEL_COUNT(collect); k++) {
        uint32_t first = c->parts.n;
        for (uint32_t lane = 0; lane < c->class->instances.n; lane++) {
            c->place = first;
            collect[k](c, lane);
        }
    }
}

/* ---- what attributes hold ---- */

/* All children of an instance, in order. */
static bool are_the_children(const pel_builder *b, const pel_log_module *instance, const pel_value *list) {
    if (list->kind != PEL_V_LIST || list->n != instance->child_names.n || list->truncated) return false;
    for (uint32_t i = 0; i < list->n; i++) {
        const pel_value *item = pel_value_at(b->log, list->items[i]);
        if (item->kind != PEL_V_MODULE || item->module != instance->children[i]) return false;
    }
    return list->n > 0;
}

/* A module that is held: one below the instance, or one of torch's without weights that no module has as a child. */
static pel_node *held_module(pel_builder *b, const pel_log_module *instance, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!row->in_tree)
        return pel_is_torch_module(b->log, module) && !pel_owns_state(b->log, module) ? pel_torch_module_call(b, module)
                                                                                      : NULL;
    pel_str path = row->path, own = instance->path;
    if (!pel_str_starts(path, own) || path.len <= own.len || (own.len && path.ptr[own.len] != '.')) return NULL;
    return pel_path_text(b->ctx, pel_str_from(path, own.len ? own.len + 1 : 0), PEL_Load);
}

/* A parameter or buffer of the instance, or of a module below it, that is held by a second name. */
static pel_node *held_slot(pel_builder *b, const pel_log_module *instance, pel_id id) {
    const pel_log_tensor *tensor = &b->log->tensors.at[id];
    const pel_log_module *owner = pel_module_at(b->log, tensor->owner);
    if (!tensor->owner) return NULL;
    pel_node *holder = owner == instance ? pel_make_name(b->ctx, pel_intern_c(b->ctx, "self"), PEL_Load)
                                         : held_module(b, instance, tensor->owner);
    return holder ? pel_make_attribute(b->ctx, holder, tensor->name, PEL_Load) : NULL;
}

static pel_node *held_dict(pel_builder *b, const pel_log_module *instance, const pel_value *dict, int depth) {
    pel_node *made = pel_node_new(b->ctx, PEL_Dict);
    for (uint32_t i = 0; i + 1 < dict->n; i += 2) {
        pel_node *key = pel_value_expression(b->ctx, b->program, dict->items[i]);
        pel_node *item = pel_held_text(b, instance, dict->items[i + 1], depth + 1);
        if (!key || !item) return NULL;
        pel_nodes_push(b->ctx, &made->Dict.keys, key);
        pel_nodes_push(b->ctx, &made->Dict.values, item);
    }
    return made;
}

/* For what has no literal: the constructor reaches it through self, so that a module or tensor of the tree stays the
 * same object. One part without a text makes the whole NULL, and so does a value that was cut short: a part of a list
 * is another list. */
pel_node *pel_held_text(pel_builder *b, const pel_log_module *instance, pel_id id, int depth) {
    const pel_value *value = pel_value_at(b->log, id);
    if (value->kind == PEL_V_MODULE) return held_module(b, instance, value->module);
    if (are_the_children(b, instance, value)) {
        pel_node *method = pel_self_attribute(b->ctx, pel_intern_c(b->ctx, "children"), PEL_Load);
        pel_nodes children = pel_nodes_one(b->ctx, pel_call_of(b->ctx, method, (pel_nodes){ 0 }));
        return pel_call_of(b->ctx, pel_make_name(b->ctx, pel_intern_c(b->ctx, "list"), PEL_Load), children);
    }
    if (value->kind == PEL_V_TENSOR) {
        pel_node *made = pel_tensor_expression(b->ctx, b->program, value->tensor);
        return made ? made : held_slot(b, instance, value->tensor);
    }
    if (value->kind == PEL_V_DICT && !value->class && !value->truncated && depth < PEL_DEEPEST_TREE)
        return held_dict(b, instance, value, depth);
    bool sequence = value->kind == PEL_V_LIST || (value->kind == PEL_V_TUPLE && !value->class);
    if (!sequence || value->truncated || depth > PEL_DEEPEST_TREE) {
        pel_node *plain = pel_value_expression(b->ctx, b->program, id);
        return plain || value->kind != PEL_V_OBJECT ? plain : pel_held_object(b, instance, id, depth);
    }
    pel_node *made = pel_node_new(b->ctx, value->kind == PEL_V_LIST ? PEL_List : PEL_Tuple);
    pel_nodes *items = value->kind == PEL_V_LIST ? &made->List.elts : &made->Tuple.elts;
    for (uint32_t i = 0; i < value->n; i++) {
        pel_node *item = pel_held_text(b, instance, value->items[i], depth + 1);
        if (!item) return NULL;
        pel_nodes_push(b->ctx, items, item);
    }
    return made;
}

/* ---- attributes that methods read ---- */

/* Whether the torch class sets an attribute by itself, in every instance. */
static bool base_makes(const pel_builder *b, const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->instances.n; i++)
        if (!pel_is_made_by_base(pel_module_at(b->log, class->instances.at[i]), name)) return false;
    return class->instances.n > 0;
}

/* Some text has the property itself, and others its value: there is one of them in the class. */
static bool is_computed(const pel_program_class *class, pel_name name) {
    for (uint32_t i = 0; i < class->methods.n; i++)
        if (class->methods.at[i]->is_property && !class->methods.at[i]->dead && class->methods.at[i]->name == name)
            return true;
    return false;
}

static bool is_registered(const collector *c, uint32_t n_registered, pel_name name) {
    for (uint32_t i = 0; i < n_registered; i++)
        if (c->parts.at[i].name == name) return true;
    return false;
}

/* A part that is a child of some instances and a function of others: self.act. */
static void add_to_child(collector *c, const pel_needed_attribute *need) {
    pel_part *part = part_named(c, need->name, PEL_PART_CHILD);
    for (uint32_t i = 0; i < c->class->instances.n && part->kind == PEL_PART_CHILD; i++) {
        uint64_t value;
        if (!pel_is_none(part->lanes[i]) || !pel_map_get(&need->values, c->class->instances.at[i], &value)) continue;
        pel_node *text = pel_value_expression(c->b->ctx, c->b->program, (pel_id)value);
        if (text) part->lanes[i] = text;
    }
}

static pel_node *attribute_text(collector *c, pel_id module, const pel_needed_attribute *need, pel_id value) {
    pel_builder *b = c->b;
    const pel_value *row = pel_value_at(b->log, value);
    pel_node *text = row->kind == PEL_V_TENSOR ? pel_tensor_expression(b->ctx, b->program, row->tensor)
                                               : pel_value_expression(b->ctx, b->program, value);
    if (!text) text = pel_held_text(b, pel_module_at(b->log, module), value, 0);
    if (text) return text;
    pel_refuse_users(b->ctx, b->program, c->class->class, value);
    const pel_log_class *of = row->kind == PEL_V_OBJECT ? pel_class_at(b->log, row->class) : NULL;
    pel_str kind = !of ? PEL_STR("object") : of->path.len ? of->path : pel_name_str(of->name);
    pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%s.%s holds an object that has no literal (%.*s)", c->class->name->text,
              need->name->text, PEL_FMT(kind));
}

static void collect_attributes(collector *c) {
    uint32_t n_registered = c->parts.n;
    for (uint32_t k = 0; k < c->class->needs.n; k++) {
        const pel_needed_attribute *need = &c->class->needs.at[k];
        if (is_registered(c, n_registered, need->name)) {
            add_to_child(c, need);
            continue;
        }
        if (!pel_is_read(c->b, c->class->class, need->name) || base_makes(c->b, c->class, need->name) ||
            is_computed(c->class, need->name))
            continue;
        c->place = c->parts.n;
        pel_part *part = part_named(c, need->name, PEL_PART_ATTRIBUTE);
        for (uint32_t i = 0; i < c->class->instances.n; i++) {
            pel_id module = c->class->instances.at[i], value = pel_needed_value(c->b->log, need, module);
            if (value) part->lanes[i] = attribute_text(c, module, need, value);
        }
    }
}

pel_part_list pel_parts_of(pel_builder *b, const pel_program_class *class) {
    collector c = { .b = b, .class = class };
    collect_registered(&c);
    collect_attributes(&c);
    return c.parts;
}
