/* What the root's constructor does when all is built: modules and tensors that stand in two places of the tree are
 * tied, attributes of torch's modules are set, and parameters are frozen that no class freezes. */
#include "trace/build/init.h"

typedef struct tie {
    pel_str later, first; /* paths in the tree: later = first */
} tie;

typedef struct setting { /* an attribute that the author gives a module of torch's from outside */
    pel_str path;
    pel_node *value;
} setting;

typedef struct ties {
    pel_builder *b;
    pel_map module_path; /* module -> where it stands first, a pel_str */
    pel_map slot_path;   /* tensor -> the same */
    PEL_VEC(tie) ties;
    PEL_VEC(setting) settings;
    PEL_VEC(pel_str) frozen; /* paths of parameters that no class freezes by itself */
} ties;

#define MAX_DIGITS 9 /* of the number of a child */

static pel_node *step_text(pel_ctx *ctx, pel_node *from, pel_str name, pel_CTX use) {
    bool is_number = name.len && name.len <= MAX_DIGITS;
    int64_t number = 0;
    for (size_t i = 0; i < name.len && is_number; i++) {
        is_number = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        number = number * 10 + (name.ptr[i] - '0');
    }
    if (is_number) return pel_make_subscript(ctx, from, pel_make_int(ctx, number), use);
    if (pel_is_identifier(name)) return pel_make_attribute(ctx, from, pel_intern_str(ctx, name), use);
    pel_node *method = pel_make_attribute(ctx, from, pel_intern_c(ctx, "get_submodule"), PEL_Load);
    return pel_call_of(ctx, method, pel_nodes_one(ctx, pel_make_text(ctx, name)));
}

pel_node *pel_path_text(pel_ctx *ctx, pel_str path, pel_CTX use) {
    pel_node *node = pel_make_name(ctx, pel_intern_c(ctx, "self"), PEL_Load);
    for (size_t start = 0, end; start < path.len; start = end + 1) {
        for (end = start; end < path.len && path.ptr[end] != '.';) end++;
        node = step_text(ctx, node, pel_str_cut(path, start, end), end == path.len ? use : PEL_Load);
    }
    return node;
}

/* ---- what there is to do ---- */

static const pel_str *join_path(pel_ctx *ctx, pel_str parent, pel_name name) {
    pel_str *path = pel_new(ctx, pel_str);
    *path = pel_format(ctx, "%.*s%s%s", PEL_FMT(parent), parent.len ? "." : "", name->text);
    return path;
}

/* True if something stands in the tree for the first time; else it is tied to where it stood first. */
static bool note_place(pel_ctx *ctx, pel_map *places, pel_id id, const pel_str *path, const pel_str **first) {
    *first = pel_map_pointer(places, id);
    if (*first) return false;
    pel_map_set(ctx, places, id, PEL_KEY(path));
    return true;
}

static void note_slots(ties *t, pel_str path, const pel_log_slot *slots, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!slots[i].tensor) continue;
        const pel_str *here = join_path(t->b->ctx, path, slots[i].name), *first;
        if (!note_place(t->b->ctx, &t->slot_path, slots[i].tensor, here, &first))
            pel_push(t->b->ctx, &t->ties, (tie){ *here, *first });
    }
}

/* A parameter that the torch class of an author's module makes, and that only some of its instances have frozen. */
static bool is_frozen_here_alone(const pel_builder *b, const pel_log_module *row, pel_name parameter) {
    const pel_program_class *class = pel_map_pointer(&b->class_of, row->class);
    return class && pel_is_made_by_base(row, parameter) && !pel_is_frozen_in_all(b, class, parameter);
}

/* A module of torch's is frozen as a whole where it is made (pel_child_text); a part of one, or what is left of one
 * that is parametrized, from outside. */
static void note_frozen(ties *t, pel_id module, pel_str path) {
    const pel_log *log = t->b->log;
    const pel_log_module *row = pel_module_at(log, module);
    bool in_parts = pel_is_derived_by_torch(log, row->class) || pel_is_parametrization_list(log, module) ||
                    (pel_is_torch_module(log, module) && !pel_is_frozen(log, module));
    for (uint32_t i = 0; i < row->n_parameters && path.len; i++) {
        const pel_log_slot *slot = &row->parameters[i];
        if (!slot->tensor || log->tensors.at[slot->tensor].requires_grad) continue;
        if (in_parts || is_frozen_here_alone(t->b, row, slot->name))
            pel_push(t->b->ctx, &t->frozen, *join_path(t->b->ctx, path, slot->name));
    }
}

/* m.i = 3, where m may be a layer of torch's: its class has no constructor of ours that could set it. */
static void note_settings(ties *t, pel_id module, pel_str path) {
    const pel_builder *b = t->b;
    const pel_log_module *row = pel_module_at(b->log, module);
    const pel_program_class *class = pel_map_pointer(&b->class_of, row->class);
    if (!class || !path.len || !pel_is_torch_module(b->log, module)) return;
    for (uint32_t i = 0; i < class->needs.n; i++) {
        const pel_needed_attribute *need = &class->needs.at[i];
        pel_id value = need->of ? pel_module_attribute(b->log, module, need->of) : 0;
        if (!value || pel_is_made_by_base(row, need->name) || !pel_is_read(b, row->class, need->name)) continue;
        pel_node *text = pel_value_expression(b->ctx, b->program, value);
        if (text) pel_push(b->ctx, &t->settings, ((setting){ *join_path(b->ctx, path, need->name), text }));
    }
}

static void find_ties(ties *t, pel_id module, pel_str path, int depth) {
    const pel_builder *b = t->b;
    const pel_log_module *row = pel_module_at(b->log, module);
    if (depth > PEL_DEEPEST_TREE) pel_throw(b->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", PEL_DEEPEST_TREE);
    note_slots(t, path, row->parameters, row->n_parameters);
    note_slots(t, path, row->buffers, row->n_buffers);
    note_frozen(t, module, path);
    note_settings(t, module, path);
    for (uint32_t i = 0; i < row->child_names.n; i++) {
        pel_id child = row->children[i];
        if (!child || !pel_is_needed(b, row, i)) continue;
        const pel_str *here = join_path(b->ctx, path, row->child_names.at[i]), *first;
        if (note_place(b->ctx, &t->module_path, child, here, &first))
            find_ties(t, child, *here, depth + 1);
        else if (pel_owns_state(b->log, child))
            pel_push(b->ctx, &t->ties, (tie){ *here, *first });
    }
}

void pel_add_ties(pel_builder *b, const pel_program_class *root) {
    if (!root->init) return; /* no parts, nothing to tie */
    pel_ctx *ctx = b->ctx;
    pel_nodes *body = &root->init->FunctionDef.body;
    ties t = { .b = b };
    find_ties(&t, b->log->root, PEL_STR(""), 0);
    for (uint32_t i = 0; i < t.ties.n; i++) {
        pel_node *first = pel_path_text(ctx, t.ties.at[i].first, PEL_Load);
        pel_nodes_push(ctx, body, pel_make_assign(ctx, pel_path_text(ctx, t.ties.at[i].later, PEL_Store), first));
    }
    for (uint32_t i = 0; i < t.settings.n; i++) {
        pel_node *place = pel_path_text(ctx, t.settings.at[i].path, PEL_Store);
        pel_nodes_push(ctx, body, pel_make_assign(ctx, place, t.settings.at[i].value));
    }
    for (uint32_t i = 0; i < t.frozen.n; i++) {
        pel_node *freeze = pel_not_trained(ctx, pel_path_text(ctx, t.frozen.at[i], PEL_Load));
        pel_nodes_push(ctx, body, pel_make_expr(ctx, freeze));
    }
    pel_register_other_hooks(b, body);
}
