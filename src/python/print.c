#include "python/print.h"

#include "python/printer.h"

#define INDENT 4
#define DEFAULT_WIDTH 100

/* Deeper trees are refused, so that the stack lasts even under a sanitizer. The parser stops earlier. */
#define MOST_DEPTH 2500

void pel_print_enter(pel_printer *p) {
    if (++p->depth > MOST_DEPTH) pel_throw(p->ctx, PEL_E_TOO_DEEP, 0, "the code nests too deep to be printed");
}

void pel_print_leave(pel_printer *p) { p->depth--; }

/* ---- lines ---- */

/* The end of what was printed so far, which is the end of the statements that it belongs to. */
typedef struct place {
    uint32_t line, column;
} place;

static place end_of_line(pel_printer *p, uint32_t indent) {
    pel_lay_flush(&p->lay, indent);
    place end = { p->lay.line, (uint32_t)(p->lay.out->len - p->lay.line_start) };
    pel_lay_newline(&p->lay);
    return end;
}

static void set_end(pel_printer *p, pel_node *node, place end) {
    if (!p->lay.sets_positions) return;
    node->end_lineno = end.line;
    node->end_col_offset = end.column;
}

static place print_block(pel_printer *p, pel_nodes body, uint32_t indent, bool is_def, bool is_class);

/* `header:` and the statements under it. */
static place print_suite(pel_printer *p, pel_nodes body, uint32_t indent) {
    pel_lay_c(&p->lay, ":");
    end_of_line(p, indent);
    return print_block(p, body, indent + INDENT, false, false);
}

/* ---- simple statements ---- */

/* The right side of `=`: tuples go without parentheses only beside another tuple. */
static void print_assigned(pel_printer *p, pel_node *value, bool is_unpacked) {
    if (value->kind == PEL_Yield || value->kind == PEL_YieldFrom)
        pel_print_expr(p, value, PEL_LEVEL_YIELD);
    else if (is_unpacked)
        pel_print_values(p, value);
    else
        pel_print_value(p, value);
}

static void print_assign(pel_printer *p, pel_node *node) {
    bool is_unpacked = false;
    for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
        pel_node *target = node->Assign.targets.at[i];
        pel_print_target(p, target);
        pel_lay_c(&p->lay, " = ");
        is_unpacked |= target->kind == PEL_Tuple;
    }
    print_assigned(p, node->Assign.value, is_unpacked);
}

static void print_annassign(pel_printer *p, pel_node *node) {
    bool parens = !node->AnnAssign.simple && node->AnnAssign.target->kind == PEL_Name;
    if (parens) pel_lay_c(&p->lay, "(");
    pel_print_expr(p, node->AnnAssign.target, PEL_LEVEL_ATOM);
    pel_lay_c(&p->lay, parens ? "): " : ": ");
    pel_print_loose(p, node->AnnAssign.annotation, PEL_LEVEL_TEST);
    if (!node->AnnAssign.value) return;
    pel_lay_c(&p->lay, " = ");
    print_assigned(p, node->AnnAssign.value, false);
}

static void print_augassign(pel_printer *p, pel_node *node) {
    pel_print_expr(p, node->AugAssign.target, PEL_LEVEL_ATOM);
    pel_lay_c(&p->lay, " ");
    pel_lay_c(&p->lay, pel_operator_text(node->AugAssign.op));
    pel_lay_c(&p->lay, "= ");
    print_assigned(p, node->AugAssign.value, false);
}

static void print_alias(pel_printer *p, pel_node *alias) {
    pel_lay_start(&p->lay, alias);
    pel_lay_name(&p->lay, alias->alias.name);
    if (alias->alias.asname) {
        pel_lay_c(&p->lay, " as ");
        pel_lay_name(&p->lay, alias->alias.asname);
    }
    pel_lay_end(&p->lay, alias);
}

/* Where the grammar knows no brackets, a backslash at the end of the line must do. */
static uint32_t open_unbracketed(pel_printer *p) {
    uint32_t group = pel_lay_open(&p->lay, PEL_GROUP_FILL);
    pel_lay_indent(&p->lay);
    return group;
}

static void next_unbracketed(pel_printer *p, uint32_t i) {
    if (!i) return;
    pel_lay_c(&p->lay, ",");
    pel_lay_backslash(&p->lay);
}

static void close_unbracketed(pel_printer *p, uint32_t group) {
    pel_lay_dedent(&p->lay);
    pel_lay_close(&p->lay, group);
}

static void print_import(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, node->Import.is_lazy ? "lazy import " : "import ");
    uint32_t group = open_unbracketed(p);
    for (uint32_t i = 0; i < node->Import.names.n; i++) {
        next_unbracketed(p, i);
        print_alias(p, node->Import.names.at[i]);
    }
    close_unbracketed(p, group);
}

static void print_import_from(pel_printer *p, pel_node *node) {
    pel_nodes names = node->ImportFrom.names;
    pel_lay_c(&p->lay, node->ImportFrom.is_lazy ? "lazy from " : "from ");
    for (int i = 0; i < node->ImportFrom.level; i++) pel_lay_c(&p->lay, ".");
    if (node->ImportFrom.module) pel_lay_name(&p->lay, node->ImportFrom.module);
    pel_lay_c(&p->lay, " import ");
    bool is_star = names.n == 1 && pel_name_is(names.at[0]->alias.name, "*");
    uint32_t parens = is_star ? PEL_NO_GROUP : pel_lay_open_parens(&p->lay);
    for (uint32_t i = 0; i < names.n; i++) {
        if (i) {
            pel_lay_c(&p->lay, ",");
            pel_lay_line(&p->lay);
        }
        print_alias(p, names.at[i]);
    }
    if (names.n > 1) pel_lay_if_broken(&p->lay, ",");
    pel_lay_close_parens(&p->lay, parens, PEL_GROUP_PARENS);
}

static void print_names(pel_printer *p, const char *keyword, pel_name_list names) {
    pel_lay_c(&p->lay, keyword);
    uint32_t group = open_unbracketed(p);
    for (uint32_t i = 0; i < names.n; i++) {
        next_unbracketed(p, i);
        pel_lay_name(&p->lay, names.at[i]);
    }
    close_unbracketed(p, group);
}

static void print_delete(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, "del ");
    uint32_t group = open_unbracketed(p);
    for (uint32_t i = 0; i < node->Delete.targets.n; i++) {
        next_unbracketed(p, i);
        pel_print_expr(p, node->Delete.targets.at[i], PEL_LEVEL_ATOM);
    }
    close_unbracketed(p, group);
}

static void print_raise(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, "raise");
    if (!node->Raise.exc) return;
    pel_lay_c(&p->lay, " ");
    pel_print_loose(p, node->Raise.exc, PEL_LEVEL_TEST);
    if (!node->Raise.cause) return;
    pel_lay_c(&p->lay, " from ");
    pel_print_loose(p, node->Raise.cause, PEL_LEVEL_TEST);
}

static void print_assert(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, "assert ");
    pel_print_loose(p, node->Assert.test, PEL_LEVEL_TEST);
    if (!node->Assert.msg) return;
    pel_lay_c(&p->lay, ", ");
    pel_print_loose(p, node->Assert.msg, PEL_LEVEL_TEST);
}

static void print_expr_statement(pel_printer *p, pel_node *value) {
    if (value->kind == PEL_Yield || value->kind == PEL_YieldFrom)
        pel_print_expr(p, value, PEL_LEVEL_YIELD);
    else if (value->kind == PEL_Tuple)
        pel_print_values(p, value);
    else
        pel_print_loose(p, value, PEL_LEVEL_TEST);
}

/* Empty brackets are a syntax error, so an empty list prints nothing. Only a TypeVar has a bound, and the grammar wants
 * it before the default. */
static void print_type_params(pel_printer *p, pel_nodes params) {
    if (!params.n) return;
    pel_row row = pel_row_open(p, "[", false);
    for (uint32_t i = 0; i < params.n; i++) {
        pel_node *param = params.at[i], *bound = NULL, *fallback;
        pel_row_next(p, &row);
        pel_lay_start(&p->lay, param);
        if (param->kind == PEL_TypeVar) {
            bound = param->TypeVar.bound;
            fallback = param->TypeVar.default_value;
            pel_lay_name(&p->lay, param->TypeVar.name);
        } else if (param->kind == PEL_ParamSpec) {
            fallback = param->ParamSpec.default_value;
            pel_lay_c(&p->lay, "**");
            pel_lay_name(&p->lay, param->ParamSpec.name);
        } else {
            fallback = param->TypeVarTuple.default_value;
            pel_lay_c(&p->lay, "*");
            pel_lay_name(&p->lay, param->TypeVarTuple.name);
        }
        if (bound) {
            pel_lay_c(&p->lay, ": ");
            pel_print_expr(p, bound, PEL_LEVEL_TEST);
        }
        if (fallback) {
            pel_lay_c(&p->lay, " = ");
            pel_print_expr(p, fallback, PEL_LEVEL_TEST);
        }
        pel_lay_end(&p->lay, param);
    }
    pel_row_close(p, &row, "]");
}

static void print_type_alias(pel_printer *p, pel_node *node) {
    pel_lay_c(&p->lay, "type ");
    pel_print_expr(p, node->TypeAlias.name, PEL_LEVEL_ATOM);
    print_type_params(p, node->TypeAlias.type_params);
    pel_lay_c(&p->lay, " = ");
    pel_print_value(p, node->TypeAlias.value);
}

static void print_simple(pel_printer *p, pel_node *node) {
    switch (node->kind) {
    case PEL_Return:
        pel_lay_c(&p->lay, node->Return.value ? "return " : "return");
        if (node->Return.value) pel_print_values(p, node->Return.value);
        break;
    case PEL_Delete: print_delete(p, node); break;
    case PEL_Assign: print_assign(p, node); break;
    case PEL_TypeAlias: print_type_alias(p, node); break;
    case PEL_AugAssign: print_augassign(p, node); break;
    case PEL_AnnAssign: print_annassign(p, node); break;
    case PEL_Raise: print_raise(p, node); break;
    case PEL_Assert: print_assert(p, node); break;
    case PEL_Import: print_import(p, node); break;
    case PEL_ImportFrom: print_import_from(p, node); break;
    case PEL_Global: print_names(p, "global ", node->Global.names); break;
    case PEL_Nonlocal: print_names(p, "nonlocal ", node->Nonlocal.names); break;
    case PEL_Expr: print_expr_statement(p, node->Expr.value); break;
    case PEL_Pass: pel_lay_c(&p->lay, "pass"); break;
    case PEL_Break: pel_lay_c(&p->lay, "break"); break;
    case PEL_Continue: pel_lay_c(&p->lay, "continue"); break;
    default: PEL_BUG("not a statement");
    }
}

/* ---- compound statements ---- */

static void print_decorators(pel_printer *p, pel_nodes decorators, uint32_t indent) {
    for (uint32_t i = 0; i < decorators.n; i++) {
        pel_lay_c(&p->lay, "@");
        pel_print_expr(p, decorators.at[i], PEL_LEVEL_NAMED);
        end_of_line(p, indent);
    }
}

static place print_function(pel_printer *p, pel_node *node, uint32_t indent) {
    /* FunctionDef and AsyncFunctionDef have the same fields. */
    bool is_async = node->kind == PEL_AsyncFunctionDef;
    print_decorators(p, node->FunctionDef.decorator_list, indent);
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, is_async ? "async def " : "def ");
    pel_lay_name(&p->lay, node->FunctionDef.name);
    print_type_params(p, node->FunctionDef.type_params);
    const pel_node *args = node->FunctionDef.args;
    bool has_parameters = args->arguments.posonlyargs.n || args->arguments.args.n || args->arguments.vararg ||
                          args->arguments.kwonlyargs.n || args->arguments.kwarg;
    if (has_parameters)
        pel_print_parameters(p, node->FunctionDef.args, false);
    else
        pel_lay_c(&p->lay, "()");
    if (node->FunctionDef.returns) {
        pel_lay_c(&p->lay, " -> ");
        if (has_parameters) p->lay.nobreak++; /* the parameters break first */
        pel_print_loose(p, node->FunctionDef.returns, PEL_LEVEL_TEST);
        if (has_parameters) p->lay.nobreak--;
    }
    pel_lay_c(&p->lay, ":");
    end_of_line(p, indent);
    return print_block(p, node->FunctionDef.body, indent + INDENT, true, false);
}

static place print_class(pel_printer *p, pel_node *node, uint32_t indent) {
    print_decorators(p, node->ClassDef.decorator_list, indent);
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, "class ");
    pel_lay_name(&p->lay, node->ClassDef.name);
    print_type_params(p, node->ClassDef.type_params);
    if (node->ClassDef.bases.n || node->ClassDef.keywords.n)
        pel_print_arguments(p, node->ClassDef.bases, node->ClassDef.keywords);
    pel_lay_c(&p->lay, ":");
    end_of_line(p, indent);
    return print_block(p, node->ClassDef.body, indent + INDENT, true, true);
}

static place print_else(pel_printer *p, const char *keyword, pel_nodes body, uint32_t indent, place end) {
    if (!body.n) return end;
    pel_lay_c(&p->lay, keyword);
    return print_suite(p, body, indent);
}

static place print_for(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, node->kind == PEL_AsyncFor ? "async for " : "for ");
    pel_print_target(p, node->For.target);
    pel_lay_c(&p->lay, " in ");
    pel_print_loose(p, node->For.iter, PEL_LEVEL_TEST);
    place end = print_suite(p, node->For.body, indent);
    return print_else(p, "else", node->For.orelse, indent, end);
}

/* The test of `if` and `while`, where a walrus needs no parentheses. */
static void print_test(pel_printer *p, pel_node *test) { pel_print_loose(p, test, PEL_LEVEL_NAMED); }

static place print_while(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, "while ");
    print_test(p, node->While.test);
    place end = print_suite(p, node->While.body, indent);
    return print_else(p, "else", node->While.orelse, indent, end);
}

static place print_if(pel_printer *p, pel_node *node, uint32_t indent) {
    PEL_VEC(pel_node *) chain = { 0 };
    place end;
    for (const char *keyword = "if ";; keyword = "elif ") {
        pel_lay_start(&p->lay, node);
        pel_lay_c(&p->lay, keyword);
        print_test(p, node->If.test);
        end = print_suite(p, node->If.body, indent);
        pel_push(p->ctx, &chain, node);
        if (node->If.orelse.n != 1 || node->If.orelse.at[0]->kind != PEL_If) break;
        node = node->If.orelse.at[0];
    }
    end = print_else(p, "else", node->If.orelse, indent, end);
    for (uint32_t i = 1; i < chain.n; i++) set_end(p, chain.at[i], end);
    return end;
}

static void print_with_item(pel_printer *p, pel_node *item, bool is_sole) {
    pel_lay_start(&p->lay, item);
    pel_node *value = item->withitem.context_expr;
    bool tuple_alone = is_sole && value->kind == PEL_Tuple && !item->withitem.optional_vars;
    if (tuple_alone) { /* (a, b) would be two items */
        pel_lay_c(&p->lay, "(");
        pel_print_expr(p, value, PEL_LEVEL_TEST);
        pel_lay_c(&p->lay, ")");
    } else {
        pel_print_loose(p, value, PEL_LEVEL_TEST);
    }
    if (item->withitem.optional_vars) {
        pel_lay_c(&p->lay, " as ");
        pel_print_expr(p, item->withitem.optional_vars, PEL_LEVEL_ATOM);
    }
    pel_lay_end(&p->lay, item);
}

/* Brackets around the items: since 3.9. */
static void print_with_items(pel_printer *p, pel_nodes items) {
    bool has_parens = p->version >= 9 && items.n > 1;
    uint32_t group = has_parens ? pel_lay_open_parens(&p->lay) : pel_lay_open(&p->lay, PEL_GROUP_BRACKETS);
    if (!has_parens) {
        pel_lay_indent(&p->lay);
        pel_lay_indent(&p->lay);
    }
    for (uint32_t i = 0; i < items.n; i++) {
        if (i) pel_lay_c(&p->lay, ",");
        if (i && has_parens) pel_lay_line(&p->lay);
        if (i && !has_parens) pel_lay_backslash(&p->lay);
        print_with_item(p, items.at[i], items.n == 1);
    }
    if (has_parens) {
        pel_lay_if_broken(&p->lay, ",");
        pel_lay_close_parens(&p->lay, group, PEL_GROUP_PARENS);
    } else {
        pel_lay_dedent(&p->lay);
        pel_lay_dedent(&p->lay);
        pel_lay_close(&p->lay, group);
    }
}

static place print_with(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, node->kind == PEL_AsyncWith ? "async with " : "with ");
    if (node->With.items.n == 1)
        print_with_item(p, node->With.items.at[0], true);
    else
        print_with_items(p, node->With.items);
    return print_suite(p, node->With.body, indent);
}

static place print_handler(pel_printer *p, pel_node *node, bool is_star, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, is_star ? "except*" : "except");
    if (node->ExceptHandler.type) {
        pel_lay_c(&p->lay, " ");
        pel_print_loose(p, node->ExceptHandler.type, PEL_LEVEL_TEST);
    }
    if (node->ExceptHandler.name) {
        pel_lay_c(&p->lay, " as ");
        pel_lay_name(&p->lay, node->ExceptHandler.name);
    }
    place end = print_suite(p, node->ExceptHandler.body, indent);
    set_end(p, node, end);
    return end;
}

static place print_try(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, "try");
    place end = print_suite(p, node->Try.body, indent);
    for (uint32_t i = 0; i < node->Try.handlers.n; i++)
        end = print_handler(p, node->Try.handlers.at[i], node->kind == PEL_TryStar, indent);
    end = print_else(p, "else", node->Try.orelse, indent, end);
    return print_else(p, "finally", node->Try.finalbody, indent, end);
}

/* ---- match ---- */

static void print_pattern(pel_printer *p, pel_node *node);

static void print_pattern_in_parens(pel_printer *p, pel_node *node, bool parens) {
    if (parens) pel_lay_c(&p->lay, "(");
    print_pattern(p, node);
    if (parens) pel_lay_c(&p->lay, ")");
}

static bool is_as(const pel_node *node) { return node->kind == PEL_MatchAs && node->MatchAs.pattern; }

static void print_capture(pel_printer *p, pel_name name) {
    if (name)
        pel_lay_name(&p->lay, name);
    else
        pel_lay_c(&p->lay, "_");
}

static void print_mapping_pattern(pel_printer *p, pel_node *node) {
    pel_row row = pel_row_open(p, "{", true);
    for (uint32_t i = 0; i < node->MatchMapping.keys.n; i++) {
        pel_row_next(p, &row);
        pel_print_expr(p, node->MatchMapping.keys.at[i], PEL_LEVEL_TEST);
        pel_lay_c(&p->lay, ": ");
        print_pattern(p, node->MatchMapping.patterns.at[i]);
    }
    if (node->MatchMapping.rest) {
        pel_row_next(p, &row);
        pel_lay_c(&p->lay, "**");
        pel_lay_name(&p->lay, node->MatchMapping.rest);
    }
    pel_row_close(p, &row, "}");
}

static void print_class_pattern(pel_printer *p, pel_node *node) {
    pel_print_expr(p, node->MatchClass.cls, PEL_LEVEL_ATOM);
    if (!node->MatchClass.patterns.n && !node->MatchClass.kwd_attrs.n) {
        pel_lay_c(&p->lay, "()");
        return;
    }
    pel_row row = pel_row_open(p, "(", false);
    for (uint32_t i = 0; i < node->MatchClass.patterns.n; i++) {
        pel_row_next(p, &row);
        print_pattern(p, node->MatchClass.patterns.at[i]);
    }
    for (uint32_t i = 0; i < node->MatchClass.kwd_attrs.n; i++) {
        pel_row_next(p, &row);
        pel_lay_name(&p->lay, node->MatchClass.kwd_attrs.at[i]);
        pel_lay_c(&p->lay, "=");
        print_pattern(p, node->MatchClass.kwd_patterns.at[i]);
    }
    pel_row_close(p, &row, ")");
}

static void print_or_pattern(pel_printer *p, pel_node *node) {
    for (uint32_t i = 0; i < node->MatchOr.patterns.n; i++) {
        pel_node *pattern = node->MatchOr.patterns.at[i];
        if (i) {
            pel_lay_line(&p->lay);
            pel_lay_c(&p->lay, "| ");
        }
        print_pattern_in_parens(p, pattern, is_as(pattern) || pattern->kind == PEL_MatchOr);
    }
}

static void print_sequence_pattern(pel_printer *p, pel_node *node) {
    if (!node->MatchSequence.patterns.n) {
        pel_lay_c(&p->lay, "[]");
        return;
    }
    pel_row row = pel_row_open(p, "[", true);
    for (uint32_t i = 0; i < node->MatchSequence.patterns.n; i++) {
        pel_row_next(p, &row);
        print_pattern(p, node->MatchSequence.patterns.at[i]);
    }
    pel_row_close(p, &row, "]");
}

/* Optional parentheses open before the node starts, since CPython's positions leave them out. They let alternatives
 * break over lines; parentheses that the grammar needs come from print_pattern_in_parens. */
static void print_pattern(pel_printer *p, pel_node *node) {
    pel_print_enter(p);
    uint32_t parens = node->kind == PEL_MatchOr ? pel_lay_open_parens(&p->lay) : PEL_NO_GROUP;
    pel_lay_start(&p->lay, node);
    switch (node->kind) {
    case PEL_MatchValue: pel_print_expr(p, node->MatchValue.value, PEL_LEVEL_ARITH); break;
    case PEL_MatchSingleton: pel_print_constant(p, node->MatchSingleton.value, (pel_str){ 0 }, false); break;
    case PEL_MatchSequence: print_sequence_pattern(p, node); break;
    case PEL_MatchMapping:
        if (node->MatchMapping.keys.n || node->MatchMapping.rest)
            print_mapping_pattern(p, node);
        else
            pel_lay_c(&p->lay, "{}");
        break;
    case PEL_MatchClass: print_class_pattern(p, node); break;
    case PEL_MatchStar:
        pel_lay_c(&p->lay, "*");
        print_capture(p, node->MatchStar.name);
        break;
    case PEL_MatchAs:
        if (node->MatchAs.pattern) {
            print_pattern_in_parens(p, node->MatchAs.pattern, is_as(node->MatchAs.pattern));
            pel_lay_c(&p->lay, " as ");
        }
        print_capture(p, node->MatchAs.name);
        break;
    case PEL_MatchOr: print_or_pattern(p, node); break;
    default: PEL_BUG("not a pattern");
    }
    pel_lay_end(&p->lay, node);
    pel_lay_close_parens(&p->lay, parens, PEL_GROUP_PARENS);
    pel_print_leave(p);
}

static place print_case(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, "case ");
    print_pattern(p, node->match_case.pattern);
    if (node->match_case.guard) {
        pel_lay_c(&p->lay, " if ");
        print_test(p, node->match_case.guard);
    }
    place end = print_suite(p, node->match_case.body, indent);
    set_end(p, node, end);
    return end;
}

static place print_match(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_lay_start(&p->lay, node);
    pel_lay_c(&p->lay, "match ");
    if (node->Match.subject->kind == PEL_Tuple)
        pel_print_values(p, node->Match.subject);
    else
        print_test(p, node->Match.subject);
    pel_lay_c(&p->lay, ":");
    place end = end_of_line(p, indent);
    for (uint32_t i = 0; i < node->Match.cases.n; i++) end = print_case(p, node->Match.cases.at[i], indent + INDENT);
    return end;
}

/* ---- comments ---- */

static place print_comment(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_str text = node->Comment.text;
    place end = { 0 };
    pel_lay_start(&p->lay, node);
    for (size_t at = 0; at <= text.len;) {
        const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
        size_t stop = newline ? (size_t)(newline - text.ptr) : text.len;
        pel_lay_c(&p->lay, stop > at ? "# " : "#");
        pel_lay(&p->lay, pel_str_cut(text, at, stop));
        end = end_of_line(p, indent);
        at = stop + 1;
    }
    return end;
}

/* ---- blocks ---- */

/* A compound statement ends with its last line, whose end is known only after it is laid out. So ends go up as return
 * values, and each is set last. */
static place print_statement(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_print_enter(p);
    place end;
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: end = print_function(p, node, indent); break;
    case PEL_ClassDef: end = print_class(p, node, indent); break;
    case PEL_For:
    case PEL_AsyncFor: end = print_for(p, node, indent); break;
    case PEL_While: end = print_while(p, node, indent); break;
    case PEL_If: end = print_if(p, node, indent); break;
    case PEL_With:
    case PEL_AsyncWith: end = print_with(p, node, indent); break;
    case PEL_Match: end = print_match(p, node, indent); break;
    case PEL_Try:
    case PEL_TryStar: end = print_try(p, node, indent); break;
    case PEL_Comment: end = print_comment(p, node, indent); break;
    default:
        pel_lay_start(&p->lay, node);
        print_simple(p, node);
        pel_lay_end(&p->lay, node);
        end = end_of_line(p, indent);
    }
    set_end(p, node, end);
    pel_print_leave(p);
    return end;
}

static bool is_docstring(const pel_node *node) {
    return node->kind == PEL_Expr && node->Expr.value->kind == PEL_Constant &&
           node->Expr.value->Constant.value->kind == PEL_CONST_STR;
}

/* Whether stripping text the way 3.13's compiler does leaves it as it is, and would undo an indentation: the first line
 * starts with no space, and the least indented of the others, which is the margin, neither. */
static bool is_stripped(pel_str text) {
    if (!text.len || text.ptr[0] == ' ' || memchr(text.ptr, '\t', text.len)) return false;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i - 1] == '\n' && text.ptr[i] != ' ' && text.ptr[i] != '\n') return true;
    return false;
}

static pel_str indent_lines(pel_printer *p, pel_str text, uint32_t indent) {
    pel_buf out = pel_buf_in(p->ctx);
    for (size_t i = 0; i < text.len; i++) {
        pel_put_byte(&out, text.ptr[i]);
        bool is_empty_line = i + 1 < text.len && text.ptr[i + 1] == '\n';
        if (text.ptr[i] == '\n' && !is_empty_line) pel_put_spaces(&out, indent);
    }
    return pel_buf_str(&out);
}

static place print_docstring(pel_printer *p, pel_node *node, uint32_t indent) {
    pel_node *text = node->Expr.value;
    const pel_const *value = text->Constant.value;
    if (p->indents_docstrings && is_stripped(value->text))
        value = pel_const_str(p->ctx, indent_lines(p, value->text, indent));
    pel_lay_start(&p->lay, node);
    pel_lay_start(&p->lay, text);
    pel_print_constant(p, value, text->Constant.kind, true);
    pel_lay_end(&p->lay, text);
    pel_lay_end(&p->lay, node);
    return end_of_line(p, indent);
}

static bool is_definition(const pel_node *node) {
    return node->kind == PEL_FunctionDef || node->kind == PEL_AsyncFunctionDef || node->kind == PEL_ClassDef;
}

/* Comments go with the statement below them. */
static const pel_node *under_comments(pel_nodes body, uint32_t i) {
    while (i + 1 < body.n && body.at[i]->kind == PEL_Comment) i++;
    return body.at[i];
}

static bool is_import(const pel_node *node) { return node->kind == PEL_Import || node->kind == PEL_ImportFrom; }

static bool is_compound(const pel_node *node) {
    switch (node->kind) {
    case PEL_For:
    case PEL_AsyncFor:
    case PEL_While:
    case PEL_If:
    case PEL_With:
    case PEL_AsyncWith:
    case PEL_Match:
    case PEL_Try:
    case PEL_TryStar: return true;
    default: return false;
    }
}

/* Whether the last line printed for the statement belongs to a function or class. */
static bool ends_with_definition(const pel_node *node) {
    for (;;) {
        pel_nodes body;
        if (is_definition(node)) return true;
        switch (node->kind) {
        case PEL_For:
        case PEL_AsyncFor: body = node->For.orelse.n ? node->For.orelse : node->For.body; break;
        case PEL_While: body = node->While.orelse.n ? node->While.orelse : node->While.body; break;
        case PEL_If: body = node->If.orelse.n ? node->If.orelse : node->If.body; break;
        case PEL_With:
        case PEL_AsyncWith: body = node->With.body; break;
        case PEL_Try:
        case PEL_TryStar:
            body = node->Try.finalbody.n  ? node->Try.finalbody
                   : node->Try.orelse.n   ? node->Try.orelse
                   : node->Try.handlers.n ? node->Try.handlers.at[node->Try.handlers.n - 1]->ExceptHandler.body
                                          : node->Try.body;
            break;
        default: return false;
        }
        if (!body.n) return false;
        node = body.at[body.n - 1];
    }
}

/* Empty lines before statement i of a block. */
static int blank_lines(pel_nodes body, uint32_t i, bool is_top, bool after_docstring) {
    if (i == 0) return 0;
    const pel_node *before = body.at[i - 1], *here = under_comments(body, i);
    int around_definition = is_top ? 2 : 1;
    if (before->kind == PEL_Comment) return 0;
    if (is_definition(here) || ends_with_definition(before)) return around_definition;
    if (after_docstring) return 1;
    /* Paragraphs of a module: its imports, and each compound statement. */
    return is_top && (is_import(before) != is_import(here) || is_compound(before) || is_compound(here));
}

static place print_block(pel_printer *p, pel_nodes body, uint32_t indent, bool is_def, bool is_class) {
    place end = { 0 };
    bool is_top = indent == 0, at_start = true, after_docstring = false, has_statement = false;
    for (uint32_t i = 0; i < body.n; i++) {
        pel_node *node = body.at[i];
        for (int k = blank_lines(body, i, is_top, after_docstring); k > 0; k--) pel_lay_newline(&p->lay);
        bool has_docstring = at_start && is_def && is_docstring(node);
        if (has_docstring) {
            end = print_docstring(p, node, indent);
            set_end(p, node, end);
        } else {
            end = print_statement(p, node, indent);
        }
        after_docstring = has_docstring && (is_class || is_top);
        if (node->kind != PEL_Comment) {
            at_start = false;
            has_statement = true;
        }
    }
    if (!has_statement && !is_top) { /* comments alone are no body */
        pel_lay_c(&p->lay, "pass");
        end = end_of_line(p, indent);
    }
    return end;
}

/* ---- from outside ---- */

static pel_printer printer_for(const pel_print_options *options, pel_buf *out) {
    int width = options->width > 0 ? options->width : DEFAULT_WIDTH;
    pel_printer p = { .ctx = out->ctx, .lay = pel_layout_to(out, (uint32_t)width, options->set_positions) };
    p.version = options->version ? options->version : PEL_VERSION_MAX;
    p.one_line = options->one_line;
    p.indents_docstrings = options->indent_docstrings;
    p.lay.nobreak = p.one_line;
    return p;
}

void pel_print_body(pel_ctx *ctx, pel_nodes body, int indent, const pel_print_options *options, pel_buf *out) {
    (void)ctx;
    pel_printer p = printer_for(options, out);
    print_block(&p, body, (uint32_t)indent * INDENT, false, false);
}

void pel_print(pel_ctx *ctx, pel_node *node, const pel_print_options *options, pel_buf *out) {
    (void)ctx;
    pel_printer p = printer_for(options, out);
    pel_node *expression = node;
    switch (pel_kinds[node->kind].class) {
    case PEL_STMT: print_statement(&p, node, 0); return;
    case PEL_EXPR: break;
    case PEL_MOD:
        if (node->kind != PEL_Expression) {
            print_block(&p, node->Module.body, 0, node->kind == PEL_Module, false);
            return;
        }
        expression = node->Expression.body;
        break;
    default: pel_throw(out->ctx, PEL_E_USAGE, 0, "a %s can't be printed by itself", pel_kinds[node->kind].name);
    }
    pel_print_values(&p, expression);
    pel_lay_flush(&p.lay, 0);
}
