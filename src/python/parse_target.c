/* What may be assigned to or deleted. Targets are parsed as expressions; when it turns out that they are
 * targets, they are checked and their context is set. */
#include "python/parser.h"

/* The words are CPython's own: tests compare the messages that they are part of. */
const char *pel_expression_text(const pel_node *node) {
    switch (node->kind) {
    case PEL_Attribute: return "attribute";
    case PEL_Subscript: return "subscript";
    case PEL_Starred: return "starred";
    case PEL_Name: return "name";
    case PEL_List: return "list";
    case PEL_Tuple: return "tuple";
    case PEL_Lambda: return "lambda";
    case PEL_Call: return "function call";
    case PEL_BoolOp:
    case PEL_BinOp:
    case PEL_UnaryOp: return "expression";
    case PEL_GeneratorExp: return "generator expression";
    case PEL_Yield:
    case PEL_YieldFrom: return "yield expression";
    case PEL_Await: return "await expression";
    case PEL_ListComp: return "list comprehension";
    case PEL_SetComp: return "set comprehension";
    case PEL_DictComp: return "dict comprehension";
    case PEL_Dict: return "dict literal";
    case PEL_Set: return "set display";
    case PEL_JoinedStr:
    case PEL_FormattedValue: return "f-string expression";
    case PEL_TemplateStr:
    case PEL_Interpolation: return "t-string expression";
    case PEL_Compare: return "comparison";
    case PEL_IfExp: return "conditional expression";
    case PEL_NamedExpr: return "named expression";
    case PEL_Constant:
        switch (node->Constant.value->kind) {
        case PEL_CONST_NONE: return "None";
        case PEL_CONST_TRUE: return "True";
        case PEL_CONST_FALSE: return "False";
        case PEL_CONST_ELLIPSIS: return "ellipsis";
        default: return "literal";
        }
    default: return "expression";
    }
}

void pel_check_bound(pel_parser *p, pel_name name, pel_parse_place at) {
    if (p->lex.version == 8 && name == p->debug) pel_syntax_error(&p->lex, at, "cannot assign to __debug__");
}

static _Noreturn void refuse(pel_parser *p, const pel_node *node, pel_target_use use) {
    const char *text = pel_expression_text(node);
    pel_parse_place at = pel_start_of(node);
    switch (use) {
    case PEL_AUGASSIGN: pel_syntax_error(&p->lex, at, "'%s' is an illegal expression for augmented assignment", text);
    case PEL_ANNASSIGN:
        if (node->kind == PEL_List || node->kind == PEL_Tuple)
            pel_syntax_error(&p->lex, at, "only single target (not %s) can be annotated", text);
        pel_syntax_error(&p->lex, at, "illegal target for annotation");
    case PEL_DELETE: pel_syntax_error(&p->lex, at, "cannot delete %s", text);
    default: pel_syntax_error(&p->lex, at, "cannot assign to %s", text);
    }
}

static void make_targets(pel_parser *p, pel_nodes elements, pel_target_use use) {
    for (uint32_t i = 0; i < elements.n; i++) pel_make_target(p, elements.at[i], use);
}

void pel_make_target(pel_parser *p, pel_node *node, pel_target_use use) {
    bool is_single = use == PEL_AUGASSIGN || use == PEL_ANNASSIGN;
    pel_CTX context = use == PEL_DELETE ? PEL_Del : PEL_Store;
    switch (node->kind) {
    case PEL_Name:
        pel_check_bound(p, node->Name.id, pel_start_of(node));
        node->Name.ctx = context;
        return;
    case PEL_Attribute:
        pel_check_bound(p, node->Attribute.attr, pel_start_of(node));
        node->Attribute.ctx = context;
        return;
    case PEL_Subscript: node->Subscript.ctx = context; return;
    case PEL_Starred:
        if (is_single || (use == PEL_DELETE && p->lex.version > 8)) break; /* 3.8 leaves `del *x` to the compiler */
        node->Starred.ctx = context;
        pel_make_target(p, node->Starred.value, use);
        return;
    case PEL_List:
        if (is_single) break;
        node->List.ctx = context;
        make_targets(p, node->List.elts, use);
        return;
    case PEL_Tuple:
        if (is_single) break;
        node->Tuple.ctx = context;
        make_targets(p, node->Tuple.elts, use);
        return;
    default: break;
    }
    refuse(p, node, use);
}

/* star_target: '*' star_target | target; not checked yet */
pel_node *pel_star_target(pel_parser *p) { return pel_at(p, PEL_T_STAR) ? pel_starred(p) : pel_bitwise_or(p); }

/* star_targets: ','.star_target+ [','] */
pel_node *pel_star_targets(pel_parser *p) {
    pel_parse_place from = pel_here(p);
    pel_node *node = pel_star_target(p);
    if (pel_at(p, PEL_T_COMMA)) {
        uint32_t mark = pel_mark(p);
        pel_keep(p, node);
        while (pel_accept(p, PEL_T_COMMA) && (pel_starts_expression(pel_kind_now(p)) || pel_at(p, PEL_T_STAR)))
            pel_keep(p, pel_star_target(p));
        node = pel_begin(p, Tuple, from);
        node->Tuple.elts = pel_take(p, mark);
        pel_finish(p, node);
    }
    pel_make_target(p, node, PEL_ASSIGN);
    return node;
}
