/* Configuration files: what they describe by data is built by the registries that know it (lib/_described.py). */
#include "interp/scan.h"

/* ---- before the file runs: `_base_` and `with read_base():` ---- */

/* _described.NAME(first, more) */
static pel_node *call_of_ours(pel_ctx *ctx, const char *name, pel_node *first, pel_node *more) {
    pel_node *import = pel_make_name(ctx, pel_intern_c(ctx, "__import__"), PEL_Load);
    pel_node *module =
        pel_make_call(ctx, import, pel_nodes_one(ctx, pel_make_text(ctx, PEL_STR("_described"))), (pel_nodes){ 0 });
    pel_nodes args = pel_nodes_one(ctx, first);
    if (more) pel_nodes_push(ctx, &args, more);
    return pel_make_call(ctx, pel_make_attribute(ctx, module, pel_intern_c(ctx, name), PEL_Load), args,
                         (pel_nodes){ 0 });
}

/* `{{_base_.x}}` is written for `_base_.x`: a set of a set, which no program could make. */
static void unwrap(void *arg, pel_node **slot) {
    pel_node *node = *slot;
    if (node->kind == PEL_Set && node->Set.elts.n == 1 && node->Set.elts.at[0]->kind == PEL_Set &&
        node->Set.elts.at[0]->Set.elts.n == 1)
        *slot = node->Set.elts.at[0]->Set.elts.at[0];
    pel_each_child(*slot, unwrap, arg);
}

static bool is_base_of(const pel_node *stmt) {
    return stmt->kind == PEL_Assign && stmt->Assign.targets.n == 1 && stmt->Assign.targets.at[0]->kind == PEL_Name &&
           pel_name_is(stmt->Assign.targets.at[0]->Name.id, "_base_");
}

static bool reads_base(const pel_node *stmt) {
    if (stmt->kind != PEL_With || stmt->With.items.n != 1) return false;
    const pel_node *item = stmt->With.items.at[0]->withitem.context_expr;
    return item->kind == PEL_Call && item->Call.func->kind == PEL_Name &&
           pel_name_is(item->Call.func->Name.id, "read_base");
}

void pel_adapt_config(pel_ctx *ctx, pel_node *root) {
    bool inherits = false;
    for (uint32_t i = 0; i < root->Module.body.n; i++) {
        pel_node *stmt = root->Module.body.at[i];
        if (is_base_of(stmt)) {
            pel_node *file = pel_make_name(ctx, pel_intern_c(ctx, "__file__"), PEL_Load);
            stmt->Assign.value = call_of_ours(ctx, "bases", stmt->Assign.value, file);
            inherits = true;
        } else if (reads_base(stmt)) {
            pel_node *globals = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "globals"), PEL_Load),
                                              (pel_nodes){ 0 }, (pel_nodes){ 0 });
            pel_node *adopt = pel_make_expr(ctx, call_of_ours(ctx, "adopt", globals, NULL));
            adopt->lineno = stmt->lineno;
            pel_nodes_push(ctx, &stmt->With.body, adopt);
        }
    }
    if (inherits) pel_each_child(root, unwrap, NULL);
}

/* ---- after it ran ---- */

/* A file of assignments and imports; what defines something or is meant to be started is a program. */
static bool is_configuration(const pel_node *root) {
    for (uint32_t i = 0; i < root->Module.body.n; i++) switch (root->Module.body.at[i]->kind) {
        case PEL_ClassDef:
        case PEL_FunctionDef:
        case PEL_AsyncFunctionDef: return false;
        default: break;
        }
    return true;
}

/* The line that gives a name of the file its value; of what it inherits, the line of `_base_`. */
static uint32_t line_of(const pel_node *root, pel_str name) {
    uint32_t line = 0, base = 0;
    for (uint32_t i = 0; i < root->Module.body.n; i++) {
        const pel_node *stmt = root->Module.body.at[i];
        if (is_base_of(stmt) || reads_base(stmt)) base = stmt->lineno;
        if (stmt->kind != PEL_Assign) continue;
        for (uint32_t k = 0; k < stmt->Assign.targets.n; k++) {
            const pel_node *target = stmt->Assign.targets.at[k];
            if (target->kind == PEL_Name && pel_str_eq(pel_name_str(target->Name.id), name)) line = stmt->lineno;
        }
    }
    return line ? line : base ? base : 1;
}

void pel_build_described(pel_scanner *scanner, pel_val module, pel_node *root, pel_str path) {
    pel_vm *vm = scanner->vm;
    if (!module || !pel_is(module, PEL_L_MODULE) || scanner->order.n || !is_configuration(root)) return;
    pel_val ours = pel_import(vm, PEL_STR("_described"));
    pel_val networks = ours ? pel_getattr(vm, ours, pel_interned_c(vm, "networks")) : NULL;
    if (!networks) return;
    pel_val args[] = { &pel_attrs(vm, module)->head, pel_new_text(vm, path), pel_bool_of(vm, scanner->is_one_of_many) };
    pel_val rows = pel_call(vm, networks, args, PEL_COUNT(args), NULL);
    for (uint32_t i = 0; rows && pel_is_list(rows) && i < pel_list_at(rows)->n; i++) {
        const pel_tuple *row = pel_tuple_at(pel_list_at(rows)->at[i]);
        if (!pel_is_str(row->at[0]) || !pel_is_str(row->at[1]) || !pel_is_str(row->at[2])) continue;
        pel_note note = { .what = pel_text_of(row->at[1]),
                          .why = pel_text_of(row->at[2]),
                          .file = path,
                          .line = line_of(root, pel_text_of(row->at[0])),
                          .is_lost = true };
        pel_push(vm->ctx, &vm->unknown, note);
    }
}
