/* Sizes, types and devices that are asked for once are asked where they are needed:
 *
 *     batch = x.shape[0]; ...; return torch.arange(batch)  ->  return torch.arange(x.shape[0])
 *
 * A line that needs several of them reads better with their names. */
#include "base/map.h"
#include "python/print.h"
#include "trace/passes.h"
#include "trace/depends/uses.h"

typedef struct mover {
    pel_ctx *ctx;
    pel_map written;     /* attributes that the program writes or computes, and methods it has */
    bool reshapes;       /* something changes the shape of a tensor in place */
    const pel_node *def; /* the function being looked at */
    int indent;
    bool changed;
} mover;

/* ---- what never changes ---- */

static bool reshapes_in_place(pel_name method) {
    static const char *const names[] = { "t_",         "transpose_", "swapaxes_",  "swapdims_",   "squeeze_",
                                         "unsqueeze_", "resize_",    "resize_as_", "as_strided_", "set_" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(method, names[i])) return true;
    return false;
}

static void see_changes(void *arg, pel_node **slot) {
    mover *m = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Attribute && node->Attribute.ctx != PEL_Load)
        pel_map_set(m->ctx, &m->written, PEL_KEY(node->Attribute.attr), 1);
    if (node->kind == PEL_Attribute && reshapes_in_place(node->Attribute.attr)) m->reshapes = true;
    if (node->kind == PEL_Attribute &&
        (pel_name_is(node->Attribute.attr, "eval") || pel_name_is(node->Attribute.attr, "train")))
        pel_map_set(m->ctx, &m->written, PEL_KEY(pel_intern_c(m->ctx, "training")), 1);
    pel_each_child(*slot, see_changes, m);
}

static void find_changes(mover *m, pel_program *program) {
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        see_changes(m, &function->def);
        if (function->class) pel_map_set(m->ctx, &m->written, PEL_KEY(function->name), 1);
    }
    for (uint32_t i = 0; i < program->classes.n; i++)
        if (program->classes.at[i]->def) see_changes(m, &program->classes.at[i]->def);
}

/* x.shape[0], x.size(1), x.device, self.training: the name before the first dot; NULL for anything else. */
static pel_name asked_of(const mover *m, const pel_node *node) {
    static const char *const settled[] = { "shape", "dtype", "device", "training", "ndim" };
    if (node->kind == PEL_Subscript && node->Subscript.slice->kind != PEL_Slice) {
        const pel_node *index = node->Subscript.slice;
        bool is_number =
            index->kind == PEL_Constant || (index->kind == PEL_UnaryOp && index->UnaryOp.operand->kind == PEL_Constant);
        node = node->Subscript.value;
        if (!is_number || node->kind != PEL_Attribute || !pel_name_is(node->Attribute.attr, "shape")) return NULL;
    }
    if (node->kind == PEL_Call) {
        if (node->Call.args.n != 1 || node->Call.keywords.n || node->Call.func->kind != PEL_Attribute ||
            !pel_name_is(node->Call.func->Attribute.attr, "size") || pel_is_none(node->Call.args.at[0]))
            return NULL;
        const pel_node *index = node->Call.args.at[0];
        if (index->kind != PEL_Constant &&
            !(index->kind == PEL_UnaryOp && index->UnaryOp.operand->kind == PEL_Constant))
            return NULL;
        node = node->Call.func;
    } else {
        bool is_settled = false;
        for (size_t i = 0; node->kind == PEL_Attribute && i < PEL_COUNT(settled); i++)
            is_settled |= pel_name_is(node->Attribute.attr, settled[i]);
        if (!is_settled) return NULL;
    }
    if (node->Attribute.value->kind != PEL_Name || pel_map_has(&m->written, PEL_KEY(node->Attribute.attr))) return NULL;
    return node->Attribute.value->Name.id;
}

/* ---- names that stand for one ---- */

/* name = x.shape[0], where nothing else binds the name and it is read once in all. */
static pel_name size_named(const mover *m, const pel_node *node) {
    pel_name name = pel_bound_name(node);
    if (!name || !asked_of(m, node->Assign.value)) return NULL;
    const pel_nodes args = m->def->FunctionDef.args->arguments.args;
    for (uint32_t i = 0; i < args.n; i++)
        if (args.at[i]->arg.arg == name) return NULL;
    pel_uses all = pel_uses_in(NULL, m->def->FunctionDef.body, name);
    return all.reads == 1 && all.binds == 1 && !all.scoped ? name : NULL;
}

static bool is_block(const pel_field *field) { return field->type == PEL_FIELD_LIST && field->of == PEL_STMT; }

/* What a statement evaluates once and first: all of it, or what stands before the colon. */
static pel_node **headline(pel_node *node) {
    switch (node->kind) {
    case PEL_Assign: return &node->Assign.value;
    case PEL_Return: return &node->Return.value;
    case PEL_Expr: return &node->Expr.value;
    case PEL_Assert: return &node->Assert.test;
    case PEL_If: return &node->If.test;
    case PEL_For: return &node->For.iter;
    default: return NULL;
    }
}

static size_t lines_of(const mover *m, const pel_node *expression, int indent) {
    pel_buf text = pel_buf_in(m->ctx);
    const pel_print_options options = { .width = PEL_LINE_LENGTH, .version = 10 };
    pel_node *statement = pel_make_return(m->ctx, (pel_node *)(uintptr_t)expression);
    pel_print_body(m->ctx, pel_nodes_one(m->ctx, statement), indent, &options, &text);
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) n += text.at[i] == '\n';
    return n;
}

/* The place of the one read of what statement `at` asks for, NULL if it is no good place to ask. */
static pel_node **place_of(const mover *m, pel_nodes body, uint32_t at, pel_name name, int indent) {
    pel_name of = asked_of(m, body.at[at]->Assign.value);
    for (uint32_t i = at + 1; i < body.n; i++) {
        pel_node **place = headline(body.at[i]);
        if (place && *place && pel_uses_at(NULL, *place, name).reads == 1) {
            pel_node *made = pel_copy(m->ctx, *place);
            pel_replace_name(&made, name, body.at[at]->Assign.value);
            return lines_of(m, made, indent) <= lines_of(m, *place, indent) ? place : NULL;
        }
        if (pel_uses_at(NULL, body.at[i], name).reads || pel_uses_at(NULL, body.at[i], of).binds) return NULL;
    }
    return NULL;
}

/* How many of the names that stand for one size an expression reads. */
static uint32_t sizes_in(const mover *m, pel_nodes body, const pel_node *expression) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < body.n; i++) {
        pel_name name = size_named(m, body.at[i]);
        n += name && pel_uses_at(NULL, expression, name).reads;
    }
    return n;
}

static void move_sizes(mover *m, pel_nodes *body, int indent) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
            if (is_block(field) && node->kind != PEL_FunctionDef && node->kind != PEL_ClassDef)
                move_sizes(m, pel_field_at(node, field, pel_nodes), indent + 1);
        pel_name name = size_named(m, node);
        pel_node **place = name ? place_of(m, *body, i, name, indent) : NULL;
        if (!place || sizes_in(m, *body, *place) > 1) {
            pel_nodes_push(m->ctx, &kept, node);
            continue;
        }
        pel_replace_name(place, name, node->Assign.value);
        m->changed = true;
    }
    *body = kept;
}

static bool move_all_sizes(pel_ctx *ctx, pel_program *program) {
    mover m = { .ctx = ctx };
    find_changes(&m, program);
    for (uint32_t i = 0; !m.reshapes && i < program->functions.n; i++) {
        pel_program_function *function = program->functions.at[i];
        if (function->dead || !function->def) continue;
        m.def = function->def;
        move_sizes(&m, &function->def->FunctionDef.body, function->class ? 2 : 1);
    }
    return m.changed;
}

bool pel_pass_sizes(pel_synth *s) { return move_all_sizes(s->ctx, s->program); }
