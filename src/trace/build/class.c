/* The constructor of one class: the parts of its instances, unified. */
#include "trace/passes.h"
#include "trace/build/init.h"
#include "trace/synth.h"

/* Methods that a module registers as forward hooks of others: self.net[3].register_forward_hook(self.keep). */

static pel_node *statement(pel_builder *b, const pel_registration *row, pel_node *module, pel_node *owner) {
    pel_ctx *ctx = b->ctx;
    const char *name = row->before ? "register_forward_pre_hook" : "register_forward_hook";
    pel_node *method = pel_make_attribute(ctx, owner, row->method, PEL_Load);
    pel_node *call = pel_call_of(ctx, pel_make_attribute(ctx, module, pel_intern_c(ctx, name), PEL_Load),
                                 pel_nodes_one(ctx, method));
    if (row->with_kwargs)
        pel_add_keyword(ctx, call, pel_intern_c(ctx, "with_kwargs"), pel_make_constant(ctx, &pel_true));
    return pel_make_expr(ctx, call);
}

/* The number-th hook that a module registers; NULL: it has less. */
static const pel_registration *registration_of(const pel_builder *b, pel_id owner, uint32_t number) {
    for (uint32_t i = 0; i < b->program->hooks.registrations.n; i++)
        if (b->program->hooks.registrations.at[i].owner == owner && !number--)
            return &b->program->hooks.registrations.at[i];
    return NULL;
}

/* The statement for the number-th hook of every instance; NULL if they differ, or it is none of their parts. */
static pel_node *common_statement(pel_builder *b, const pel_program_class *class, uint32_t number) {
    const pel_registration *first = registration_of(b, class->instances.at[0], number);
    pel_id *wanted = pel_new_array(b->ctx, class->instances.n, pel_id);
    for (uint32_t i = 0; i < class->instances.n; i++) {
        const pel_registration *row = registration_of(b, class->instances.at[i], number);
        if (!row || row->method != first->method || row->before != first->before) return NULL;
        wanted[i] = row->module;
    }
    pel_node *self = pel_make_name(b->ctx, pel_intern_c(b->ctx, "self"), PEL_Load);
    pel_node *module = pel_module_text(b->ctx, b->log, self, class->instances.at, wanted, class->instances.n);
    return module ? statement(b, first, module, self) : NULL;
}

/* What the constructor of a class does for all its instances; empty if the root has to do it. */
static pel_nodes common_statements(pel_builder *b, const pel_program_class *class) {
    pel_nodes made = { 0 };
    for (uint32_t number = 0, any = 1; any; number++) {
        any = 0;
        for (uint32_t i = 0; i < class->instances.n; i++)
            any |= registration_of(b, class->instances.at[i], number) != NULL;
        pel_node *one =
            any && registration_of(b, class->instances.at[0], number) ? common_statement(b, class, number) : NULL;
        if (any && !one) return (pel_nodes){ 0 };
        if (one) pel_nodes_push(b->ctx, &made, one);
    }
    return made;
}

void pel_register_hooks(pel_builder *b, const pel_program_class *class, pel_nodes *body) {
    pel_nodes made = b->program->hooks.registrations.n ? common_statements(b, class) : (pel_nodes){ 0 };
    for (uint32_t i = 0; i < made.n; i++) pel_nodes_push(b->ctx, body, made.at[i]);
}

void pel_register_other_hooks(pel_builder *b, pel_nodes *body) {
    for (uint32_t i = 0; i < b->program->hooks.registrations.n; i++) {
        const pel_registration *row = &b->program->hooks.registrations.at[i];
        const pel_log_module *owner = pel_module_at(b->log, row->owner), *module = pel_module_at(b->log, row->module);
        const pel_program_class *class = pel_map_pointer(&b->class_of, owner->class);
        if (class && common_statements(b, class).n) continue;
        pel_nodes_push(b->ctx, body,
                       statement(b, row, pel_path_text(b->ctx, module->path, PEL_Load),
                                 pel_path_text(b->ctx, owner->path, PEL_Load)));
    }
}

/* ---- statements ---- */

/* self.<method>("name", value) */
static pel_node *register_call(pel_ctx *ctx, const char *method, pel_name name, pel_node *value) {
    pel_nodes args = pel_nodes_one(ctx, pel_make_text(ctx, pel_name_str(name)));
    pel_nodes_push(ctx, &args, value);
    return pel_call_of(ctx, pel_self_attribute(ctx, pel_intern_c(ctx, method), PEL_Load), args);
}

static pel_node *plain_statement(pel_ctx *ctx, const pel_part *p, pel_node *value) {
    const char *method = NULL;
    bool has_attribute = pel_is_identifier(pel_name_str(p->name));
    switch (p->kind) {
    case PEL_PART_BUFFER:
    case PEL_PART_VOLATILE_BUFFER: method = "register_buffer"; break;
    case PEL_PART_PARAMETER: method = pel_is_none(value) || !has_attribute ? "register_parameter" : NULL; break;
    case PEL_PART_CHILD: method = has_attribute ? NULL : "add_module"; break;
    case PEL_PART_ATTRIBUTE: break;
    }
    if (!method) return pel_make_assign(ctx, pel_self_attribute(ctx, p->name, PEL_Store), value);
    pel_node *call = register_call(ctx, method, p->name, value);
    if (p->kind == PEL_PART_VOLATILE_BUFFER)
        pel_add_keyword(ctx, call, pel_intern_c(ctx, "persistent"), pel_make_constant(ctx, &pel_false));
    return pel_make_expr(ctx, call);
}

/* in_container: the class inherits from one of torch's containers, which would hand on a child that is None. */
static pel_node *part_statement(pel_builder *b, pel_unifier *unifier, const pel_program_class *class, const pel_part *p,
                                bool in_container) {
    unifier->prefix = p->name->text;
    unifier->author = pel_author_builds(b->ctx, b->program, class->class, p->name, p->lanes[0]);
    pel_node *value = pel_unify(unifier, p->lanes, p->name);
    unifier->author = NULL;
    bool may_lack = false;
    for (uint32_t i = 0; i < unifier->n_lanes; i++) may_lack |= pel_is_none(p->lanes[i]);
    if (!in_container || p->kind != PEL_PART_CHILD || !may_lack) return plain_statement(b->ctx, p, value);
    pel_node *choice = pel_node_new(b->ctx, PEL_If);
    if (value->kind == PEL_IfExp) {
        choice->If.test = value->IfExp.test;
        value = value->IfExp.body;
    } else {
        choice->If.test = pel_make_compare(b->ctx, value, PEL_IsNot, pel_make_none(b->ctx));
    }
    choice->If.body = pel_nodes_one(b->ctx, plain_statement(b->ctx, p, value));
    return choice;
}

pel_node *pel_super_init(pel_ctx *ctx) {
    pel_node *super = pel_call_of(ctx, pel_make_name(ctx, pel_intern_c(ctx, "super"), PEL_Load), (pel_nodes){ 0 });
    return pel_make_attribute(ctx, super, pel_intern_c(ctx, "__init__"), PEL_Load);
}

static bool have_same_children(const pel_builder *b, const pel_program_class *class) {
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t i = 1; i < class->instances.n; i++) {
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        if (row->child_names.n != first->child_names.n) return false;
        for (uint32_t k = 0; k < row->child_names.n; k++)
            if (row->child_names.at[k] != first->child_names.at[k]) return false;
    }
    return true;
}

/* Whether the constructor of the container that a class inherits from is given all children. Those of a Sequential may
 * have names: they are attributes, unless each instance has names of its own. */
static bool takes_children(const pel_builder *b, const pel_program_class *class, pel_container kind) {
    if (kind == PEL_MODULE_DICT) return true;
    if (kind != PEL_SEQUENTIAL && kind != PEL_MODULE_LIST) return false;
    bool are_numbered = true;
    for (uint32_t i = 0; i < class->instances.n && are_numbered; i++)
        are_numbered = pel_are_numbered(pel_module_at(b->log, class->instances.at[i])->child_names);
    return are_numbered || (kind == PEL_SEQUENTIAL && !have_same_children(b, class));
}

/* super().__init__(...): the arguments of the torch class that the author's class inherits from. */
static pel_node *super_statement(pel_builder *b, pel_unifier *unifier, const pel_program_class *class) {
    pel_ctx *ctx = b->ctx;
    pel_node *init = pel_super_init(ctx);
    pel_container kind = pel_container_kind(b->log, class->class);
    bool with_children = takes_children(b, class, kind);
    pel_node **lanes = pel_new_array(ctx, class->instances.n, pel_node *);
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t i = 0; i < class->instances.n; i++) {
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        lanes[i] = pel_call_of(ctx, init, with_children ? pel_container_arguments(b, row, kind) : (pel_nodes){ 0 });
        pel_set_notes(ctx, b->program->notes, lanes[i], PEL_NOTE_BUILDS);
        if (kind) continue;
        if (row->has_arguments) pel_add_torch_arguments(b, lanes[i], row);
        if (row->has_arguments != first->has_arguments)
            pel_throw(ctx, PEL_E_INCOMPLETE, 0, "the arguments that made %.*s (a %s) could not be found",
                      PEL_FMT(row->has_arguments ? first->path : row->path), class->name->text);
    }
    unifier->author = with_children ? pel_author_inherits(ctx, b->program, class->class) : NULL;
    pel_node *made = pel_unify(unifier, lanes, pel_intern_c(ctx, "blocks"));
    unifier->author = NULL;
    return pel_make_expr(ctx, made);
}

/* ---- the signature ---- */

#define MAX_POSITIONAL 3 /* arguments that are written without their names, sizes aside */
#define MAX_TRIED 64     /* values that may become a default */

static bool is_plain(const pel_node *node) {
    if (node->kind == PEL_UnaryOp) return is_plain(node->UnaryOp.operand);
    if (node->kind == PEL_Attribute) return node->Attribute.value->kind == PEL_Name; /* nn.ReLU */
    return node->kind == PEL_Constant;
}

static pel_node *none_among(const pel_hole *hole, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (pel_is_none(hole->values[i])) return hole->values[i];
    return NULL;
}

/* The plain value that most instances take, None before others. */
static pel_node *most_usual(const pel_hole *hole, uint32_t n, uint32_t *most) {
    pel_node *best = NULL;
    *most = 0;
    for (uint32_t i = 0; i < n && i < MAX_TRIED; i++) {
        if (!is_plain(hole->values[i]) || (hole->open && hole->open[i])) continue;
        uint32_t count = 0;
        for (uint32_t k = 0; k < n; k++) count += pel_same(hole->values[i], hole->values[k]);
        bool better = count > *most || (pel_is_none(hole->values[i]) && best && !pel_is_none(best) && count == *most);
        if (better) {
            best = hole->values[i];
            *most = count;
        }
    }
    return best;
}

/* The value that is worth being the argument's default, or NULL. */
static pel_node *default_of(const pel_hole *hole, uint32_t n) {
    uint32_t most;
    pel_node *usual = most_usual(hole, n, &most), *none = none_among(hole, n);
    return none || hole->is_size ? none : most * 2 > n ? usual : NULL;
}

/* Instances that have no use for an argument need not be told apart by it: they take what most of the others do. */
static void close_open(const pel_hole *hole, uint32_t n) {
    uint32_t most, n_open = 0;
    pel_node *usual = most_usual(hole, n, &most);
    for (uint32_t i = 0; hole->open && i < n; i++) n_open += hole->open[i];
    if (!usual || hole->is_size || !n_open || (most + n_open) * 2 <= n) return;
    for (uint32_t i = 0; i < n; i++)
        if (hole->open[i]) hole->values[i] = usual;
}

/* In the order of the signature. */
typedef enum rank { SIZE, REQUIRED, WITH_DEFAULT, N_RANKS } rank;

static rank rank_of(const pel_hole *hole, const pel_node *usual) {
    return usual ? WITH_DEFAULT : hole->is_size ? SIZE : REQUIRED;
}

void pel_add_argument(pel_ctx *ctx, pel_node *arguments, pel_name name, pel_node *fallback) {
    pel_node *arg = pel_node_new(ctx, PEL_arg);
    arg->arg.arg = name;
    pel_nodes_push(ctx, &arguments->arguments.args, arg);
    if (fallback) pel_nodes_push(ctx, &arguments->arguments.defaults, fallback);
}

typedef struct ordering {
    pel_unifier *unifier;
    uint32_t n; /* holes in their place */
} ordering;

static void order_by_use(void *arg, pel_node **slot) {
    ordering *o = arg;
    if ((*slot)->kind == PEL_Name)
        for (uint32_t h = o->n; h < o->unifier->holes.n; h++) {
            pel_hole *holes = o->unifier->holes.at, found = holes[h];
            if (found.name != (*slot)->Name.id) continue;
            memmove(holes + o->n + 1, holes + o->n, (h - o->n) * sizeof *holes);
            holes[o->n++] = found;
            break;
        }
    pel_each_child(*slot, order_by_use, arg);
}

/* The call that builds an instance; one that was needed before the class was done waits for its arguments. */
static pel_node *instance_call(pel_builder *b, const pel_program_class *class, pel_id module) {
    pel_node *call = pel_map_pointer(&b->signed_call_of, module);
    if (!call) call = pel_call_of(b->ctx, pel_make_name(b->ctx, class->name, PEL_Load), (pel_nodes){ 0 });
    pel_set_notes(b->ctx, b->program->notes, call, PEL_NOTE_BUILDS);
    pel_map_set(b->ctx, &b->signed_call_of, module, PEL_KEY(call));
    return call;
}

/* The signature, and with it the call that builds each instance. */
static pel_node *sign(pel_builder *b, const pel_program_class *class, const pel_unifier *unifier) {
    pel_ctx *ctx = b->ctx;
    uint32_t n = class->instances.n, n_positional = 0;
    pel_node *arguments = pel_node_new(ctx, PEL_arguments);
    pel_add_argument(ctx, arguments, pel_intern_c(ctx, "self"), NULL);
    pel_node **calls = pel_new_array(ctx, n, pel_node *);
    for (uint32_t i = 0; i < n; i++) calls[i] = instance_call(b, class, class->instances.at[i]);
    for (uint32_t h = 0; h < unifier->holes.n; h++) close_open(&unifier->holes.at[h], n);
    for (rank r = 0; r < N_RANKS; r++)
        for (uint32_t h = 0; h < unifier->holes.n; h++) {
            const pel_hole *hole = &unifier->holes.at[h];
            pel_node *usual = default_of(hole, n);
            if (rank_of(hole, usual) != r) continue;
            pel_add_argument(ctx, arguments, hole->name, usual);
            uint32_t notes = hole->is_size ? PEL_NOTE_SIZE : 0u;
            if (r == SIZE || (r == REQUIRED && n_positional < MAX_POSITIONAL)) notes |= PEL_NOTE_POSITIONAL;
            n_positional++;
            for (uint32_t i = 0; i < n; i++) {
                bool is_default = usual && pel_same(usual, hole->values[i]);
                pel_add_noted(b, calls[i], hole->name, hole->values[i], notes | (is_default ? PEL_NOTE_DEFAULT : 0u));
            }
        }
    return arguments;
}

/* ---- the whole ---- */

bool pel_is_frozen_in_all(const pel_builder *b, const pel_program_class *class, pel_name parameter) {
    for (uint32_t i = 0; i < class->instances.n; i++) {
        const pel_log_module *row = pel_module_at(b->log, class->instances.at[i]);
        for (uint32_t p = 0; p < row->n_parameters; p++)
            if (row->parameters[p].name == parameter && row->parameters[p].tensor &&
                b->log->tensors.at[row->parameters[p].tensor].requires_grad)
                return false;
    }
    return true;
}

/* Parameters that the torch class makes and the author froze in all instances: self.weight.requires_grad_(False). */
static void add_freezing(const pel_builder *b, const pel_program_class *class, pel_nodes *body) {
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t k = 0; k < first->n_parameters; k++) {
        pel_name name = first->parameters[k].name;
        if (!first->parameters[k].tensor || !pel_is_made_by_base(first, name) || !pel_is_frozen_in_all(b, class, name))
            continue;
        pel_node *freeze = pel_not_trained(b->ctx, pel_self_attribute(b->ctx, name, PEL_Load));
        pel_nodes_push(b->ctx, body, pel_make_expr(b->ctx, freeze));
    }
}

/* Attributes of the instances whose values differ: their names are the author's for these values. */
static void collect_known_names(pel_builder *b, const pel_program_class *class, pel_unifier *unifier) {
    uint32_t n = class->instances.n;
    const pel_log_module *first = pel_module_at(b->log, class->instances.at[0]);
    for (uint32_t k = 0; k < first->n_attributes && n > 1; k++) {
        pel_hole known = { .name = first->attributes[k].name, .values = pel_new_array(b->ctx, n, pel_node *) };
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

static bool is_optional(const pel_part *part, uint32_t n_lanes) {
    for (uint32_t i = 0; i < n_lanes; i++)
        if (pel_is_none(part->lanes[i]) || !pel_is_no_identity(part->lanes[i])) return true;
    return false;
}

/* What all instances have gives its names to what only some have; then each stands in its place. */
static pel_nodes part_statements(pel_builder *b, pel_unifier *unifier, const pel_program_class *class) {
    pel_ctx *ctx = b->ctx;
    pel_part_list parts = pel_parts_of(b, class);
    pel_container container = pel_container_kind(b->log, class->class);
    pel_node **made = pel_new_array(ctx, parts.n, pel_node *);
    for (int optional = 0; optional < 2; optional++)
        for (uint32_t i = 0; i < parts.n; i++) {
            const pel_part *part = &parts.at[i];
            if (part->kind == PEL_PART_CHILD && takes_children(b, class, container)) continue;
            if (is_optional(part, unifier->n_lanes) == optional)
                made[i] = part_statement(b, unifier, class, part, container != PEL_NO_CONTAINER);
        }
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < parts.n; i++) {
        if (!made[i]) continue;
        pel_id child = pel_child_named(pel_module_at(b->log, class->instances.at[0]), parts.at[i].name->text);
        if (parts.at[i].kind == PEL_PART_CHILD && child && pel_is_here_for_weights(b, child) &&
            !pel_is_read(b, class->class, parts.at[i].name))
            pel_nodes_push(ctx, &body, pel_make_comment(ctx, PEL_STR("here for its weights alone")));
        pel_nodes_push(ctx, &body, made[i]);
    }
    return body;
}

void pel_finish_class(pel_builder *b, pel_program_class *class) {
    pel_ctx *ctx = b->ctx;
    pel_map_set(ctx, &b->progress, class->class, PEL_UNDER_WAY);
    pel_unifier unifier = {
        .ctx = ctx, .notes = b->program->notes, .n_lanes = class->instances.n, .parameters = &b->parameters
    };
    collect_known_names(b, class, &unifier);
    pel_node *super_call = super_statement(b, &unifier, class);
    pel_nodes body = pel_nodes_one(ctx, super_call), parts = part_statements(b, &unifier, class);
    for (uint32_t i = 0; i < parts.n; i++) pel_nodes_push(ctx, &body, parts.at[i]);
    add_freezing(b, class, &body);
    pel_register_hooks(b, class, &body);
    ordering order = { &unifier, 0 };
    for (uint32_t i = 0; i < body.n; i++) order_by_use(&order, &body.at[i]);
    pel_derive_holes(&unifier, &body);
    pel_node *arguments = sign(b, class, &unifier);
    pel_map_set(ctx, &b->parameters, PEL_KEY(class->name),
                PEL_KEY(pel_author_parameters(ctx, b->program, class->class)));
    pel_map_set(ctx, &b->progress, class->class, PEL_DONE);
    pel_write_modes(b, class);
    if (body.n == 1 && !super_call->Expr.value->Call.args.n && !super_call->Expr.value->Call.keywords.n)
        return; /* Python does that by itself */
    class->init = pel_node_new(ctx, PEL_FunctionDef);
    class->init->FunctionDef.name = pel_intern_c(ctx, "__init__");
    class->init->FunctionDef.args = arguments;
    class->init->FunctionDef.body = body;
}

/* Constructors, from the module tree as it was before the first run.
 *
 * Every module of the tree has an expression that builds it. For a class of the author's the expressions
 * of all instances are unified part by part: what they share stands in `__init__`, what differs becomes
 * an argument. Classes are done children first, because the expression for a module of the author's is a
 * call of its class with the arguments that this instance needs. */

pel_program_class *pel_class_for(pel_builder *b, pel_id class) {
    pel_program_class *known = pel_map_pointer(&b->class_of, class);
    if (known) return known;
    pel_program_class *added = pel_new(b->ctx, pel_program_class);
    added->class = class;
    added->name = pel_unused_name(b->ctx, b->program, pel_class_at(b->log, class)->name);
    pel_push(b->ctx, &b->program->classes, added);
    pel_map_set(b->ctx, &b->class_of, class, PEL_KEY(added));
    return added;
}

static void collect_instances(pel_builder *b, pel_id module, pel_map *seen, int depth) {
    if (!pel_map_set(b->ctx, seen, module, 1)) return;
    if (depth > PEL_DEEPEST_TREE) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_DEEPEST_TREE);
    const pel_log_module *row = pel_module_at(b->log, module);
    bool has_class = !pel_is_torch_module(b->log, module) && !pel_is_derived_by_torch(b->log, row->class) &&
                     !pel_is_container_enough(b, row->class);
    if (has_class) pel_push(b->ctx, &pel_class_for(b, row->class)->instances, module);
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (row->children[i] && pel_is_needed(b, row, i)) collect_instances(b, row->children[i], seen, depth + 1);
}

static void polish_all(pel_builder *b) {
    for (uint32_t i = 0; i < b->program->classes.n; i++)
        if (b->program->classes.at[i]->init)
            pel_unify_polish(b->ctx, b->program->notes, &b->program->classes.at[i]->init);
}

/* A class around the root that takes no arguments, where the root's own takes some or is torch's: it inherits, so
 * that the names in the state_dict stay. */
static pel_program_class *add_root(pel_builder *b, pel_node *made, const pel_program_class *of) {
    pel_ctx *ctx = b->ctx;
    pel_unifier single = { .ctx = ctx, .notes = b->program->notes, .n_lanes = 1 };
    pel_node *unified = pel_unify(&single, &made, pel_intern_c(ctx, "layers"));
    pel_program_class *class = pel_new(ctx, pel_program_class);
    pel_str name = of ? pel_format(ctx, "%sRoot", of->name->text) : PEL_STR("Model");
    class->name = pel_intern_str(ctx, name);
    class->def = pel_node_new(ctx, PEL_ClassDef);
    class->def->ClassDef.name = class->name;
    class->def->ClassDef.bases = pel_nodes_one(ctx, unified->Call.func);
    unified->Call.func = pel_super_init(ctx);
    class->init = pel_node_new(ctx, PEL_FunctionDef);
    class->init->FunctionDef.name = pel_intern_c(ctx, "__init__");
    class->init->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    pel_add_argument(ctx, class->init->FunctionDef.args, pel_intern_c(ctx, "self"), NULL);
    pel_nodes_push(ctx, &class->init->FunctionDef.body, pel_make_expr(ctx, unified));
    class->def->ClassDef.body = pel_nodes_one(ctx, class->init);
    pel_push(ctx, &b->program->classes, class);
    return class;
}

void pel_init(pel_ctx *ctx, pel_program *program) {
    pel_builder b = { .ctx = ctx, .program = program, .log = program->log };
    pel_id root = program->log->root;
    if (!root) pel_throw(ctx, PEL_E_FORMAT, 0, "the log has no root module");
    for (uint32_t i = 0; i < program->classes.n; i++) {
        program->classes.at[i]->instances.n = 0;
        pel_map_set(ctx, &b.class_of, program->classes.at[i]->class, PEL_KEY(program->classes.at[i]));
    }
    pel_find_wanted(&b);
    pel_map seen = { 0 };
    collect_instances(&b, root, &seen, 0);

    pel_node *made = pel_module_call(&b, root);
    pel_program_class *class =
        pel_is_torch_module(program->log, root) ? NULL : pel_class_for(&b, pel_module_at(program->log, root)->class);
    if (!class || made->Call.keywords.n) class = add_root(&b, made, class);
    program->root = class->name;
    pel_add_ties(&b, class);
    polish_all(&b);
}

bool pel_pass_init(pel_synth *s) {
    pel_init(s->ctx, s->program);
    return true;
}
