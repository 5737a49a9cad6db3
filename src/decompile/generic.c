/* Type parameters: def f[T], class C[T], type X[T] = ...
 *
 * The compiler puts the parameters into a function of their own, which makes the def, class or alias and is called at
 * once; bounds, defaults and the values of aliases are functions that return them. Names that begin with a dot are the
 * compiler's. */
#include "decompile/lift.h"

bool pel_is_generic(const pel_code_object *code) {
    return pel_str_starts(pel_name_str(code->name), PEL_STR("<generic parameters of "));
}

/* Whether the function made here is the value of an alias, or the bound or the default of a parameter. */
bool pel_is_lazy(const pel_lift *l, uint32_t at) {
    uint32_t i = at + 1;
    while (i < l->c->n && l->c->at[i].op == PEL_I_FUNCTION_PART) i++;
    if (i + 1 >= l->c->n) return false;
    const pel_ins *ins = &l->c->at[i];
    if (ins->op == PEL_I_INTRINSIC2)
        return ins->arg == PEL_X2_BOUND || ins->arg == PEL_X2_CONSTRAINTS || ins->arg == PEL_X2_DEFAULT;
    return ins->op == PEL_I_BUILD && ins[1].op == PEL_I_INTRINSIC && ins[1].arg == PEL_X_ALIAS;
}

static _Noreturn void fail(pel_lift *l, uint32_t at) {
    pel_lift_fail(l, at, "type parameters of a shape that no compiler makes");
}

static pel_name name_of(pel_lift *l, const pel_node *node, uint32_t at) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_STR) fail(l, at);
    pel_str text = node->Constant.value->text;
    return pel_unmangle(l, pel_intern_str(l->ctx, text));
}

static bool is_param(const pel_node *node) { return pel_kinds[node->kind].class == PEL_TYPE_PARAM; }

static pel_nodes params_of(pel_lift *l, const pel_node *tuple, uint32_t at) {
    if (tuple->kind != PEL_Tuple) fail(l, at);
    for (uint32_t i = 0; i < tuple->Tuple.elts.n; i++)
        if (!is_param(tuple->Tuple.elts.at[i])) fail(l, at);
    return tuple->Tuple.elts;
}

static pel_node *param(pel_lift *l, stack *s, pel_kind kind, uint32_t at) {
    pel_node *node = pel_node_new(l->ctx, kind); /* without mark: it is no part of the code around */
    pel_name name = name_of(l, pel_pop_expr(l, s, at), at);
    if (kind == PEL_TypeVar)
        node->TypeVar.name = name;
    else if (kind == PEL_ParamSpec)
        node->ParamSpec.name = name;
    else
        node->TypeVarTuple.name = name;
    return node;
}

static pel_node *alias(pel_lift *l, stack *s, uint32_t at) {
    const pel_node *given = pel_pop_expr(l, s, at);
    if (given->kind != PEL_Tuple || given->Tuple.elts.n != 3) fail(l, at);
    pel_node *node = pel_node_new(l->ctx, PEL_TypeAlias), *params = given->Tuple.elts.at[1];
    node->TypeAlias.name = pel_make_name(l->ctx, name_of(l, given->Tuple.elts.at[0], at), PEL_Store);
    if (!pel_is_none(params)) node->TypeAlias.type_params = params_of(l, params, at);
    node->TypeAlias.value = given->Tuple.elts.at[2];
    return node;
}

static void add_default(pel_lift *l, pel_node *node, pel_node *value, uint32_t at) {
    switch (node->kind) {
    case PEL_TypeVar: node->TypeVar.default_value = value; break;
    case PEL_ParamSpec: node->ParamSpec.default_value = value; break;
    case PEL_TypeVarTuple: node->TypeVarTuple.default_value = value; break;
    default: fail(l, at);
    }
}

void pel_intrinsic(pel_lift *l, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    pel_node *node;
    if (ins->op == PEL_I_INTRINSIC) {
        switch (ins->arg) {
        case PEL_X_TYPEVAR: node = param(l, s, PEL_TypeVar, at); break;
        case PEL_X_PARAMSPEC: node = param(l, s, PEL_ParamSpec, at); break;
        case PEL_X_TYPEVARTUPLE: node = param(l, s, PEL_TypeVarTuple, at); break;
        case PEL_X_GENERIC: node = pel_pop_expr(l, s, at); break; /* the last base of a generic class */
        case PEL_X_ALIAS: node = alias(l, s, at); break;
        default: pel_lift_fail(l, at, "an instruction that has no meaning here");
        }
        pel_push_expr(l, s, at, node);
        return;
    }
    pel_node *second = pel_pop_expr(l, s, at);
    switch (ins->arg) {
    case PEL_X2_BOUND:
    case PEL_X2_CONSTRAINTS:
        node = param(l, s, PEL_TypeVar, at);
        node->TypeVar.bound = second;
        break;
    case PEL_X2_DEFAULT:
        node = pel_pop_expr(l, s, at);
        add_default(l, node, second, at);
        break;
    case PEL_X2_FUNCTION:
        node = pel_pop_expr(l, s, at);
        if (node->kind != PEL_FunctionDef && node->kind != PEL_AsyncFunctionDef) fail(l, at);
        node->FunctionDef.type_params = params_of(l, second, at);
        break;
    default: pel_lift_fail(l, at, "an instruction that has no meaning here");
    }
    pel_push_expr(l, s, at, node);
}

/* Stores that the compiler adds: true if this is one of them. */
bool pel_store_hidden(pel_lift *l, const item *it, const pel_node *target, uint32_t at) {
    if (target->kind != PEL_Name || target->Name.id->text[0] != '.') return false;
    if (pel_name_is(target->Name.id, ".type_params")) l->type_params = params_of(l, it->node, at);
    l->unseen[at] = true;
    return true;
}

/* class C[T](bases): the parameters belong to it, and the last base is not written. */
void pel_finish_generic_class(pel_lift *l, pel_node *def) {
    if (!pel_is_generic(l->code)) return;
    def->ClassDef.type_params = l->type_params;
    pel_nodes bases = { 0 };
    for (uint32_t i = 0; i < def->ClassDef.bases.n; i++) {
        pel_node *base = def->ClassDef.bases.at[i];
        if (base->kind != PEL_Name || !pel_name_is(base->Name.id, ".generic_base"))
            pel_nodes_push(l->ctx, &bases, base);
    }
    def->ClassDef.bases = bases;
}

static void forget_mark(void *arg, pel_node **slot) {
    if ((*slot)->kind == PEL_Lambda || pel_kinds[(*slot)->kind].class == PEL_STMT) return;
    (*slot)->mark = 0;
    pel_each_child(*slot, forget_mark, arg);
}

/* Offsets in code that no node of the tree stands for say nothing. */
void pel_forget_marks(pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
        forget_mark(NULL, &node->FunctionDef.args);
        if (node->FunctionDef.returns) forget_mark(NULL, &node->FunctionDef.returns);
        break;
    case PEL_ClassDef:
        for (uint32_t i = 0; i < node->ClassDef.bases.n; i++) forget_mark(NULL, &node->ClassDef.bases.at[i]);
        for (uint32_t i = 0; i < node->ClassDef.keywords.n; i++) forget_mark(NULL, &node->ClassDef.keywords.at[i]);
        break;
    case PEL_TypeAlias: break;
    default: forget_mark(NULL, &node); break;
    }
}
