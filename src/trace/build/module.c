/* The expression that builds a module of the tree: a call of torch's class or of the author's. */
#include "trace/build/init.h"

pel_node *pel_building_call(pel_builder *b, pel_str path, pel_nodes args) {
    if (!path.len) pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "a module is of no class that has a name");
    pel_node *made = pel_call_of(b->ctx, pel_library_expression(b->ctx, b->program, path), args);
    made->mark = PEL_CALL_BUILDS;
    return made;
}

/* ---- tensors ---- */

/* made.permute(...), so that the dimensions lie in memory as the tensor's do. */
static pel_node *permuted(pel_ctx *ctx, pel_node *made, const pel_log_tensor *tensor) {
    bool is_matrix = tensor->n_dims == 2;
    pel_nodes places = { 0 };
    for (uint32_t i = 0; i < tensor->n_dims && !is_matrix; i++) {
        uint32_t at = 0;
        while (tensor->order[at] != i) at++;
        pel_nodes_push(ctx, &places, pel_make_int(ctx, at));
    }
    pel_node *method = pel_make_attribute(ctx, made, pel_intern_c(ctx, is_matrix ? "t" : "permute"), PEL_Load);
    pel_node *call = pel_call_of(ctx, method, places);
    call->mark = PEL_CALL_BUILDS;
    return call;
}

/* torch.empty(...) of the tensor's shape, type and place of dimensions in memory. */
static pel_node *empty_call(pel_builder *b, const pel_log_tensor *tensor) {
    pel_ctx *ctx = b->ctx;
    pel_node *made = pel_building_call(b, PEL_STR("torch.empty"), (pel_nodes){ 0 });
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        int64_t size = tensor->shape[tensor->order ? tensor->order[i] : i];
        pel_add_keyword(ctx, made, pel_intern_c(ctx, "dim"), pel_make_int(ctx, size),
                        PEL_ARG_POSITIONAL | PEL_ARG_SIZE);
    }
    if (!tensor->n_dims) pel_nodes_push(ctx, &made->Call.args, pel_node_new(ctx, PEL_Tuple));
    if (tensor->dtype.len && !pel_str_is(tensor->dtype, "torch.float32"))
        pel_add_keyword(ctx, made, pel_intern_c(ctx, "dtype"), pel_library_expression(ctx, b->program, tensor->dtype),
                        0);
    return tensor->order ? permuted(ctx, made, tensor) : made;
}

pel_node *pel_parameter_text(pel_builder *b, pel_id tensor) {
    if (!tensor) return pel_make_none(b->ctx);
    const pel_log_tensor *row = &b->log->tensors.at[tensor];
    pel_node *empty = empty_call(b, row);
    pel_node *made = pel_building_call(b, PEL_STR("torch.nn.Parameter"), pel_nodes_one(b->ctx, empty));
    if (!row->requires_grad)
        pel_add_keyword(b->ctx, made, pel_intern_c(b->ctx, "requires_grad"), pel_make_constant(b->ctx, &pel_false), 0);
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
        pel_add_keyword(b->ctx, call, argument->name, value,
                        (argument->is_default ? PEL_ARG_DEFAULT : 0u) |
                            (argument->positional ? PEL_ARG_POSITIONAL : 0u) |
                            (is_size(argument->name) ? PEL_ARG_SIZE : 0u));
    }
}

/* A module around one other: nn.DataParallel(module). What torch.compile gives back is one, too; run eagerly it
 * computes the same, and it keeps the name that it puts into the state_dict. */
static void wrap_child(pel_builder *b, pel_node *made, const pel_log_module *row) {
    made->Call.args = pel_nodes_one(b->ctx, pel_module_call(b, row->children[0]));
    if (!pel_name_is(row->child_names.at[0], "_orig_mod")) return;
    made->Call.func = pel_library_expression(b->ctx, b->program, PEL_STR("torch.compile"));
    pel_add_keyword(b->ctx, made, pel_intern_c(b->ctx, "backend"), pel_make_text(b->ctx, PEL_STR("eager")), 0);
}

static pel_node *call_partial(pel_builder *b, const pel_value *partial, pel_node *of, const pel_log_module *row) {
    pel_node *func = pel_value_expression(b->ctx, b->program, partial->items[0]);
    if (!func) pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "what was done to %.*s has no name", PEL_FMT(row->path));
    pel_node *call = pel_call_of(b->ctx, func, pel_nodes_one(b->ctx, of));
    call->mark = PEL_CALL_BUILDS;
    const pel_value *keywords = pel_value_at(b->log, partial->items[2]);
    for (uint32_t k = 0; k + 1 < keywords->n; k += 2) {
        const pel_value *name = pel_value_at(b->log, keywords->items[k]);
        pel_node *value = pel_value_expression(b->ctx, b->program, keywords->items[k + 1]);
        if (name->kind == PEL_V_CONST && name->constant->kind == PEL_CONST_STR && value)
            pel_add_keyword(b->ctx, call, pel_intern_str(b->ctx, name->constant->text), value, 0);
    }
    return call;
}

/* weight_norm(module, dim=1): a function of torch's that replaced a parameter of the module by others. */
static pel_node *normed(pel_builder *b, pel_node *made, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_arguments; i++) {
        const pel_value *partial = pel_value_at(b->log, row->arguments[i].value);
        if (!row->arguments[i].name->len && partial->kind == PEL_V_PARTIAL) return call_partial(b, partial, made, row);
    }
    return made;
}

pel_node *pel_torch_module_call(pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    pel_str path = pel_class_at(b->log, row->class)->path;
    pel_node *made = pel_building_call(b, path, (pel_nodes){ 0 });
    const pel_program_class *hooked = pel_map_pointer(&b->program->hooked, module);
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
    later->mark = PEL_CALL_BUILDS | PEL_CALL_OPAQUE;
    pel_map_set(b->ctx, &b->signed_call_of, module, PEL_KEY(later));
    return later;
}

static pel_node *plain_call(pel_builder *b, pel_id module) {
    pel_id class = pel_module_at(b->log, module)->class;
    if (pel_is_derived_by_torch(b->log, class)) return base_call(b, module);
    if (pel_is_torch_module(b->log, module)) return pel_torch_module_call(b, module);
    return pel_is_container_enough(b, class) ? idle_call(b, module) : author_module_call(b, module);
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
    frozen->mark = PEL_CALL_BUILDS;
    return frozen;
}
