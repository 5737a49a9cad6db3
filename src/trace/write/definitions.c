/* The functions that are reached: what they and the classes are called, and their definitions. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

/* What functions and classes are called in the file. */

/* Names of Python's own that a text may mean: no function or class of the file hides them. */
bool pel_is_builtin(pel_str name) {
    static const char *const names[] = {
        "abs",     "all",     "any",      "bool",  "callable", "dict",    "enumerate",  "filter",    "float",
        "getattr", "hasattr", "hash",     "id",    "input",    "int",     "isinstance", "iter",      "len",
        "list",    "map",     "max",      "min",   "next",     "open",    "pow",        "print",     "property",
        "range",   "repr",    "reversed", "round", "set",      "setattr", "slice",      "sorted",    "str",
        "sum",     "super",   "tuple",    "type",  "zip",      "object",  "frozenset",  "bytes",     "complex",
        "divmod",  "vars",    "delattr",  "ord",   "chr",      "format",  "issubclass", "bytearray",
    };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(name, names[i])) return true;
    return false;
}

static pel_name unique(pel_synth *s, pel_map *taken, pel_id class, pel_name wish) {
    pel_name name = wish;
    for (unsigned i = 2;
         pel_map_has(taken, pel_key2(class, PEL_KEY(name))) ||
         (!class && (pel_is_builtin(pel_name_str(name)) || pel_is_bound_by_imports(pel_name_str(name))));
         i++) {
        pel_str text = pel_format(s->ctx, "%s_%u", wish->text, i);
        name = pel_intern_str(s->ctx, text);
    }
    pel_map_set(s->ctx, taken, pel_key2(class, PEL_KEY(name)), 1);
    return name;
}

static bool is_local_somewhere(const pel_synth *s, pel_name name) {
    for (uint32_t c = 1; c < s->log->codes.n; c++)
        if (pel_names_have(s->log->codes.at[c].code->localsplus, name)) return true;
    return false;
}

pel_name pel_name_wish(const pel_synth *s, const pel_group *group) {
    if (group->is.root) return pel_intern_c(s->ctx, "forward");
    pel_name own = s->log->codes.at[group->code].code->name;
    pel_name wish = (group->class || own->text[0] == '<') && group->hint ? group->hint : own;
    return wish->text[0] == '<' ? pel_intern_c(s->ctx, "function") : wish; /* <lambda> */
}

/* A method without self becomes a function of the file, where its name may mean something else. */
static pel_name name_of_static(const pel_synth *s, pel_id class, pel_name wish) {
    if (!pel_is_builtin(pel_name_str(wish)) && !is_local_somewhere(s, wish)) return wish;
    pel_str text = pel_format(s->ctx, "%s_%s", pel_class_at(s->log, class)->name->text, wish->text);
    return pel_intern_str(s->ctx, text);
}

/* mask = masks.mask(x): a function of another file, whose name is a variable where it is called. */
static bool is_local_of_a_caller(const pel_synth *s, const pel_reach *r, const pel_group *group, pel_name name) {
    for (uint32_t i = 0; i < s->calls.links.n; i++) {
        const pel_group *target = s->calls.links.at[i]->target;
        while (target->instead) target = target->instead;
        const pel_group *caller = s->calls.links.at[i]->caller;
        if (!r->active[i] || target != group) continue;
        if (pel_is_own_name(pel_group_text(s, caller), name)) return true;
    }
    return false;
}

/* Called by its author's name: by torch, by users of the model, or by texts that say it. */
static bool has_plain_name(const pel_synth *s, const pel_group *group) {
    return group->is.root || group->is.pinned || group->is.property || group->is.init ||
           (group->hint && group->hint == s->log->codes.at[group->code].code->name);
}

static void name_function(pel_synth *s, const pel_reach *r, pel_map *taken, pel_group *group) {
    pel_name wish = pel_name_wish(s, group);
    pel_id class = group->class ? group->class : s->log->codes.at[group->code].class;
    bool of_file = !group->class || group->is.without_self;
    if (of_file && class) wish = name_of_static(s, class, wish);
    if (of_file && is_local_of_a_caller(s, r, group, wish)) pel_map_set(s->ctx, taken, pel_key2(0, PEL_KEY(wish)), 1);
    pel_program_function *function = group->function = pel_new(s->ctx, pel_program_function);
    function->code = group->code;
    function->class = group->is.without_self ? 0 : group->class;
    function->from_source = !pel_map_has(&s->program->straight, group->code);
    function->is_property = group->is.property;
    function->name = unique(s, taken, function->class, wish);
}

static void name_functions(pel_synth *s, const pel_reach *r) {
    pel_map taken = { 0 };
    for (int first = 1; first >= 0; first--) /* the plain names go to those that are called by them */
        for (uint32_t i = 0; i < s->groups.n; i++) {
            pel_group *group = s->groups.at[i];
            if (!r->seen[i] || group->is.nested || group->function) continue;
            if (!first || has_plain_name(s, group)) name_function(s, r, &taken, group);
        }
}

void pel_name_classes(pel_synth *s) { /* two files may have classes of one name */
    pel_map taken = { 0 };
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        pel_program_class *row = s->program->classes.at[i];
        if (row->methods.n || row->instances.n) row->name = unique(s, &taken, 0, row->name);
    }
}

/* Definitions of the functions that are reached, with signatures, decorators and the calls between them. */

/* ---- decorators that set a mode of torch's ----
 *
 * They leave no activation of their own: what they set is known by how the author wrote them. */

static pel_name name_of_decorator(const pel_node *decorator) {
    return pel_last_name(decorator->kind == PEL_Call ? decorator->Call.func : decorator);
}

/* quiet = torch.no_grad(), and then @quiet. */
static const pel_node *decorator_meant(const pel_author *author, const pel_node *decorator) {
    for (uint32_t i = 0; author->file && decorator->kind == PEL_Name && i < author->file->Module.body.n; i++) {
        const pel_node *node = author->file->Module.body.at[i];
        if (pel_bound_name(node) == decorator->Name.id && node->Assign.value->kind == PEL_Call)
            return node->Assign.value;
    }
    return decorator;
}

static bool is_dtype(pel_name name) {
    static const char *const names[] = { "bfloat16", "float16", "half", "float32", "float" };
    for (size_t i = 0; name && i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    return false;
}

/* An argument as the output has it: a constant, or torch.bfloat16. NULL if it is neither. */
static pel_node *argument_text(pel_synth *s, pel_node *argument) {
    if (argument->kind == PEL_Constant) return argument;
    pel_name last = argument->kind == PEL_Attribute ? argument->Attribute.attr : NULL;
    return is_dtype(last) ? pel_library_expression(s->ctx, s->program, pel_format(s->ctx, "torch.%s", last->text))
                          : NULL;
}

/* The decorator's call with the arguments that it has; NULL if some of them can't be written. */
static pel_node *call_of_mode(pel_synth *s, pel_str path, const pel_node *decorator) {
    pel_nodes args = { 0 }, keywords = { 0 };
    for (uint32_t i = 0; decorator->kind == PEL_Call && i < decorator->Call.args.n; i++) {
        pel_node *value = argument_text(s, decorator->Call.args.at[i]);
        if (!value) return NULL;
        pel_nodes_push(s->ctx, &args, value);
    }
    for (uint32_t i = 0; decorator->kind == PEL_Call && i < decorator->Call.keywords.n; i++) {
        const pel_node *keyword = decorator->Call.keywords.at[i];
        pel_node *value = keyword->keyword.arg ? argument_text(s, keyword->keyword.value) : NULL;
        if (!value) return NULL;
        pel_nodes_push(s->ctx, &keywords, pel_make_keyword(s->ctx, keyword->keyword.arg, value));
    }
    return pel_make_call(s->ctx, pel_library_expression(s->ctx, s->program, path), args, keywords);
}

/* autocast("cuda", enabled=False): torch.amp's names the kind of device, torch.cuda.amp's does not. */
static bool names_device(const pel_node *call) {
    const pel_node *first = call->Call.args.n ? call->Call.args.at[0] : NULL;
    if (first && first->kind == PEL_Constant && first->Constant.value->kind == PEL_CONST_STR) return true;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_name name = call->Call.keywords.at[i]->keyword.arg;
        if (name && pel_name_is(name, "device_type")) return true;
    }
    return false;
}

/* Where the mode that a decorator sets around the function is found; empty if it sets none. */
static pel_str path_of_mode(pel_ctx *ctx, const pel_node *decorator) {
    static const char *const modes[] = { "no_grad", "enable_grad", "inference_mode", "set_grad_enabled" };
    pel_name last = name_of_decorator(decorator);
    for (size_t k = 0; k < PEL_COUNT(modes); k++)
        if (pel_name_is(last, modes[k])) return pel_format(ctx, "torch.%s", modes[k]);
    if (decorator->kind != PEL_Call || !pel_name_is(last, "autocast")) return PEL_STR("");
    return names_device(decorator) ? PEL_STR("torch.amp.autocast") : PEL_STR("torch.cuda.amp.autocast");
}

bool pel_sets_mode(pel_ctx *ctx, const pel_group *group) {
    const pel_node *node = group->author->node;
    if (!node || node->kind != PEL_FunctionDef) return true;
    for (uint32_t i = 0; i < node->FunctionDef.decorator_list.n; i++)
        if (path_of_mode(ctx, decorator_meant(group->author, node->FunctionDef.decorator_list.at[i])).len) return true;
    return false;
}

static void keep_modes(pel_synth *s, const pel_author *author, pel_node *def) {
    if (!author->node || author->node->kind != PEL_FunctionDef) return;
    for (uint32_t i = 0; i < author->node->FunctionDef.decorator_list.n; i++) {
        const pel_node *decorator = decorator_meant(author, author->node->FunctionDef.decorator_list.at[i]);
        pel_str path = path_of_mode(s->ctx, decorator);
        if (!path.len) continue;
        pel_node *mode = call_of_mode(s, path, decorator);
        if (!mode)
            pel_throw_at(s->ctx, PEL_E_UNSUPPORTED, 0, def->lineno, 0,
                         "%s: the arguments of the decorator `%s` can't be written", def->FunctionDef.name->text,
                         name_of_decorator(decorator)->text);
        pel_nodes_push(s->ctx, &def->FunctionDef.decorator_list, mode);
    }
}

/* Whether a tensor is changed where it lies: t += x, t.add_(x), t[i] = x, wherever it is held. */
static bool is_changed_in_place(const pel_synth *s, pel_id tensor) {
    for (uint32_t a = 1; a < s->log->activations.n; a++) {
        const pel_activation *activation = &s->log->activations.at[a];
        const pel_author *author = &s->authors[activation->code];
        pel_id below = 0;
        for (uint32_t i = 0; author->insns && i < activation->n_records; i++) {
            const pel_record *record = &activation->records[i];
            const pel_insn *insn = pel_author_insn(author, record);
            if (!insn) continue;
            bool is_read = insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_METHOD;
            pel_id changed = insn->op == PEL_OP_STORE_SUBSCR ? pel_container_of_store(author, activation, i)
                             : is_read && pel_is_in_place(pel_name_str(insn->name))       ? below
                             : insn->op == PEL_OP_BINARY_OP && record->kind == PEL_R_PUSH ? record->value
                                                                                          : 0;
            if (changed && pel_value_same(s->log, changed, tensor)) return true;
            if (record->kind == PEL_R_PUSH) below = record->value;
        }
    }
    return false;
}

/* Why a function whose results are kept may not run in every call instead; NULL: it may. */
static const char *needs_its_cache(pel_synth *s, const pel_group *group) {
    if (group->facts.has_effect) return "does something in the first";
    for (uint32_t l = 0; l < group->n_lanes; l++) {
        const pel_activation *activation = &s->log->activations.at[group->lanes[l]];
        if (pel_reads_stored(s, activation, 0, activation->n_records)) return "computes it from what calls change";
        pel_id result = pel_result_of(s->log, group->lanes[l]);
        if (pel_value_at(s->log, result)->kind == PEL_V_TENSOR && is_changed_in_place(s, result))
            return "they are changed where they lie";
    }
    return NULL;
}

/* @functools.lru_cache: the output's function runs in every call. It may, unless it does something, or draws, or would
 * give something else in a later call. */
static void refuse_cached(pel_synth *s, const pel_group *group) {
    const pel_node *node = group->author->node;
    if (group->why || !node || node->kind != PEL_FunctionDef) return;
    for (uint32_t i = 0; i < node->FunctionDef.decorator_list.n; i++) {
        pel_name name = name_of_decorator(node->FunctionDef.decorator_list.at[i]);
        if (!pel_name_is(name, "lru_cache") && !pel_name_is(name, "cache")) continue;
        const char *why = needs_its_cache(s, group);
        if (why)
            pel_throw(s->ctx, PEL_E_UNSUPPORTED, 0, "`%s` keeps its results from call to call, and %s",
                      node->FunctionDef.name->text, why);
    }
}

/* Shrinking may leave nothing of a function that somebody calls or mentions; a definition needs a statement. */
static pel_nodes body_of_definition(pel_ctx *ctx, pel_nodes body) {
    return body.n ? body : pel_nodes_one(ctx, pel_node_new(ctx, PEL_Pass));
}

static void write_function(pel_synth *s, pel_group *group, pel_node *args) {
    pel_program_function *function = group->function;
    pel_node *def = pel_node_new(s->ctx, PEL_FunctionDef);
    def->FunctionDef.name = function->name;
    def->FunctionDef.args = args;
    def->FunctionDef.body = group->why ? group->body : body_of_definition(s->ctx, group->body);
    def->lineno = group->author->node ? group->author->node->lineno : 0;
    if (group->is.property)
        def->FunctionDef.decorator_list =
            pel_nodes_one(s->ctx, pel_make_name(s->ctx, pel_intern_c(s->ctx, "property"), PEL_Load));
    if (group->is.context)
        def->FunctionDef.decorator_list =
            pel_nodes_one(s->ctx, pel_library_expression(s->ctx, s->program, PEL_STR("contextlib.contextmanager")));
    keep_modes(s, group->author, def);
    function->def = def;
    for (uint32_t i = 0; i < group->n_lanes; i++) pel_push(s->ctx, &function->activations, group->lanes[i]);
    pel_push(s->ctx, &s->program->functions, function);
    if (function->class) {
        pel_program_class *class = pel_class_row(s->ctx, s->program, function->class);
        pel_push(s->ctx, &class->methods, function);
    }
}

/* Names and arguments where a function is mentioned, not called. */
static void write_references(pel_synth *s, const pel_reach *r, pel_node *const *args) {
    for (uint32_t i = 0; i < s->references.n; i++) {
        pel_node *node = s->references.at[i].node;
        const pel_group *group = s->references.at[i].group;
        if (!group || !r->seen[group->number]) continue;
        if (node->kind == PEL_FunctionDef) {
            node->FunctionDef.args = args[group->number];
            node->FunctionDef.body = body_of_definition(s->ctx, node->FunctionDef.body);
        } else if (node->kind == PEL_Lambda) {
            node->Lambda.args = args[group->number];
        } else if (node->kind == PEL_Name && group->function) {
            node->Name.id = group->function->name;
        }
    }
}

static void write_functions(pel_synth *s, const pel_reach *r) {
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) {
            pel_refuse_key_order(s, s->groups.at[i]);
            refuse_cached(s, s->groups.at[i]);
            pel_keep_rest(s, s->groups.at[i]);
            pel_keep_star(s, s->groups.at[i]);
            if (s->groups.at[i]->is.root) {
                pel_give_back_names(s, s->groups.at[i]);
                pel_cut_root(s, s->groups.at[i]);
            }
        }
    pel_node **args = pel_new_array(s->ctx, s->groups.n + 1u, pel_node *);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i]) args[i] = pel_signature(s, s->groups.at[i], r->active);
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (r->active[i]) pel_write_call(s, s->calls.links.at[i], args[s->calls.links.at[i]->target->number]);
    write_references(s, r, args);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->is.root && s->groups.at[i]->n_params) pel_guard_root(s, s->groups.at[i]);
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && s->groups.at[i]->function) write_function(s, s->groups.at[i], args[i]);
}

bool pel_pass_names(pel_synth *s) {
    s->reached = pel_find_reached(s);
    name_functions(s, &s->reached);
    return true;
}

bool pel_pass_functions(pel_synth *s) {
    write_functions(s, &s->reached);
    return true;
}
