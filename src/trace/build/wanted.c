/* What of the module tree the skeleton needs: what its text reads, and which classes only have weights. */
#include "trace/build/init.h"

/* ---- what any code reads ---- */

/* Keys that are no names. */
#define COMPUTED_NAMES 0 /* getattr(self, f"block_{i}") may read any of them */
#define ALL_CHILDREN 1   /* for layer in self.children() reads each of them */

typedef struct noting {
    pel_builder *b;
    pel_map *own;  /* self_attributes of the class whose method is looked at, or NULL */
    pel_name self; /* what the method calls its object, or NULL */
} noting;

static pel_map *self_attributes_of(pel_builder *b, pel_id class) {
    pel_map *known = pel_map_pointer(&b->self_attributes, class);
    if (known) return known;
    pel_map *made = pel_new(b->ctx, pel_map);
    pel_map_set(b->ctx, &b->self_attributes, class, PEL_KEY(made));
    return made;
}

bool pel_is_read(const pel_builder *b, pel_id class, pel_name attribute) {
    const pel_map *own = pel_map_pointer(&b->self_attributes, class);
    return pel_map_has(&b->attributes, PEL_KEY(attribute)) ||
           (own && (pel_map_has(own, PEL_KEY(attribute)) || pel_map_has(own, COMPUTED_NAMES)));
}

static bool is_computed_read(const pel_node *node) {
    return node->kind == PEL_Call && node->Call.func->kind == PEL_Name &&
           pel_name_is(node->Call.func->Name.id, "getattr") && node->Call.args.n >= 2 &&
           node->Call.args.at[1]->kind != PEL_Constant;
}

/* Who asks a module for all that it holds reads children whatever their names are. modules() goes to theirs, too. */
static void note_children(noting *n, pel_name name, bool of_self) {
    bool all = pel_name_is(name, "modules") || pel_name_is(name, "named_modules");
    if (!all && !pel_name_is(name, "children") && !pel_name_is(name, "named_children") &&
        !pel_name_is(name, "_modules"))
        return;
    pel_map_set(n->b->ctx, of_self && !all ? n->own : &n->b->attributes, ALL_CHILDREN, 1);
}

static void note_reads(void *arg, pel_node **slot) {
    noting *n = arg;
    pel_ctx *ctx = n->b->ctx;
    pel_node *node = *slot;
    if (n->own && is_computed_read(node)) pel_map_set(ctx, n->own, COMPUTED_NAMES, 1);
    if (node->kind == PEL_Name) pel_map_set(ctx, &n->b->names, PEL_KEY(node->Name.id), 1);
    if (node->kind == PEL_Attribute) {
        const pel_node *of = node->Attribute.value;
        bool of_self = n->self && of->kind == PEL_Name && of->Name.id == n->self;
        pel_map_set(ctx, of_self ? n->own : &n->b->attributes, PEL_KEY(node->Attribute.attr), 1);
        note_children(n, node->Attribute.attr, of_self);
    }
    if (node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR)
        pel_map_set(ctx, &n->b->attributes, PEL_KEY(pel_intern_str(ctx, node->Constant.value->text)), 1);
    pel_each_child(node, note_reads, n);
}

static void note_function(pel_builder *b, pel_program_function *function) {
    if (function->dead || !function->def) return;
    const pel_nodes args = function->def->FunctionDef.args->arguments.args;
    noting n = { .b = b, .own = function->class ? self_attributes_of(b, function->class) : NULL };
    if (n.own && !function->is_static && args.n) n.self = args.at[0]->arg.arg;
    note_reads(&n, &function->def);
}

/* What an author's train() reads is kept, too, though no run came by it. */
static void note_modes(pel_builder *b, pel_program_class *class) {
    pel_nodes modes = pel_modes_of(b, class);
    for (uint32_t i = 0; i < modes.n; i++) {
        const pel_nodes args = modes.at[i]->FunctionDef.args->arguments.args;
        noting n = { .b = b, .own = self_attributes_of(b, class->class) };
        if (args.n) n.self = args.at[0]->arg.arg;
        note_reads(&n, &modes.at[i]);
    }
}

/* A child that no code reads and that no state_dict knows of is left out. */
bool pel_is_needed(const pel_builder *b, const pel_log_module *parent, uint32_t child) {
    if (b->program->only_construction) return true;
    if (parent->children[child] && pel_owns_state(b->log, parent->children[child])) return true;
    if (pel_container_kind(b->log, parent->class)) return true;
    pel_str base = pel_class_at(b->log, pel_torch_base(b->log, parent->class))->path;
    if (pel_str_is(base, "torch.nn.utils.parametrize.ParametrizationList"))
        return true; /* they are made with the tensor */
    const pel_map *own = pel_map_pointer(&b->self_attributes, parent->class);
    return (own && pel_map_has(own, ALL_CHILDREN)) || pel_map_has(&b->attributes, ALL_CHILDREN) ||
           pel_is_read(b, parent->class, parent->child_names.at[child]);
}

/* Modules that a list which is needed holds: they are read, by whatever names they have. */
static void note_modules(pel_builder *b, pel_id id, int depth) {
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
    for (uint32_t i = 0; i < value->n && depth < PEL_DEEPEST_TREE; i++) note_modules(b, value->items[i], depth + 1);
}

pel_id pel_needed_value(const pel_log *log, const pel_needed_attribute *need, pel_id module) {
    uint64_t given;
    if (pel_map_get(&need->values, module, &given)) return (pel_id)given;
    return need->of ? pel_module_attribute(log, module, need->of) : 0;
}

static void note_needs(pel_builder *b) {
    for (uint32_t m = 1; m < b->log->modules.n; m++) {
        const pel_program_class *class = pel_map_pointer(&b->class_of, b->log->modules.at[m].class);
        for (uint32_t k = 0; class && k < class->needs.n; k++)
            note_modules(b, pel_needed_value(b->log, &class->needs.at[k], m), 0);
    }
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

static bool has_plain_state(const pel_builder *b, const pel_log_module *row) {
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (row->buffers[i].persistent || pel_is_read(b, row->class, row->buffers[i].name)) return false;
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
        if (!pel_is_made_by_base(row, row->parameters[i].name)) return false;
    for (uint32_t i = 0; i < row->n_buffers; i++)
        if (!pel_is_made_by_base(row, row->buffers[i].name)) return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (!pel_is_made_by_base(row, row->child_names.at[i])) return false;
    return true;
}

static void find_idle(pel_builder *b) {
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
            if (pel_is_read(b, class->class, class->needs.at[k].name)) pel_map_set(b->ctx, &busy, class->class, 1);
        if (pel_map_has(&b->names, PEL_KEY(class->name))) pel_map_set(b->ctx, &busy, class->class, 1);
    }
    for (pel_id m = 1; m < log->modules.n; m++) {
        const pel_log_module *row = pel_module_at(log, m);
        bool plain = pel_is_plain_module(log, row->class) ? has_plain_state(b, row) : is_like_its_base(row);
        if (pel_class_at(log, row->class)->kind != PEL_CLASS_MODULE || row->has_hooks || !plain)
            pel_map_set(b->ctx, &busy, row->class, 1);
    }
    for (pel_id m = 1; m < log->modules.n; m++) {
        pel_id class = pel_module_at(log, m)->class;
        if (!pel_map_has(&busy, class)) pel_map_set(b->ctx, &b->idle, class, 1);
    }
}

/* What ran keeps its class, though nobody reads what it gave: readers look for it. */
static void find_ran(pel_builder *b) {
    const pel_log *log = b->log;
    for (pel_id id = 1; id < log->activations.n; id++) {
        const pel_activation *activation = &log->activations.at[id];
        const pel_code_object *code = log->codes.at[activation->code].code;
        const pel_value *self = pel_value_at(log, code->argcount ? activation->locals[0] : 0);
        if (self->kind == PEL_V_MODULE) pel_map_set(b->ctx, &b->ran, pel_module_at(log, self->module)->class, 1);
    }
}

bool pel_is_container_enough(const pel_builder *b, pel_id class) {
    return pel_map_has(&b->idle, class) && !pel_map_has(&b->ran, class);
}

bool pel_is_here_for_weights(const pel_builder *b, pel_id module) {
    const pel_log_module *row = pel_module_at(b->log, module);
    if (!pel_map_has(&b->idle, row->class)) return false;
    for (uint32_t i = 0; i < row->child_names.n; i++)
        if (pel_map_has(&b->attributes, PEL_KEY(row->child_names.at[i]))) return false;
    for (uint32_t i = 0; i < row->n_parameters; i++)
        if (pel_map_has(&b->attributes, PEL_KEY(row->parameters[i].name))) return false;
    return true;
}

void pel_find_wanted(pel_builder *b) {
    noting n = { .b = b };
    for (uint32_t i = 0; i < b->program->classes.n; i++)
        if (b->program->classes.at[i]->def) note_reads(&n, &b->program->classes.at[i]->def);
    for (uint32_t i = 0; i < b->program->classes.n; i++) note_modes(b, b->program->classes.at[i]);
    for (uint32_t i = 0; i < b->program->functions.n; i++) note_function(b, b->program->functions.at[i]);
    if (!b->program->only_construction) {
        find_idle(b);
        find_ran(b);
    }
    note_needs(b);
}
