/* AST -> code: expressions. */
#include "interp/code/compile.h"

#include "python/print.h"

static void compile_list(pel_compiler *c, pel_nodes list) {
    for (uint32_t i = 0; i < list.n; i++) pel_compile_expr(c, list.at[i]);
}

static bool has_star(pel_nodes list) {
    for (uint32_t i = 0; i < list.n; i++)
        if (list.at[i]->kind == PEL_Starred) return true;
    return false;
}

/* ---- constants ---- */

/* The value of an expression that is a literal through and through; NULL if it is none. */
static pel_val literal(pel_compiler *c, const pel_node *node) {
    if (node->kind == PEL_Constant) return pel_const_val(c, node->Constant.value);
    if (node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_USub && node->UnaryOp.operand->kind == PEL_Constant) {
        const pel_const *value = node->UnaryOp.operand->Constant.value;
        if (value->kind == PEL_CONST_INT) return pel_int_negate(c->vm, pel_const_val(c, value));
        if (value->kind == PEL_CONST_FLOAT) return pel_float_of(c->vm, -value->real);
    }
    if (node->kind == PEL_Tuple && node->Tuple.elts.n <= 64) {
        pel_val items[64];
        for (uint32_t i = 0; i < node->Tuple.elts.n; i++) {
            pel_enter(c);
            items[i] = literal(c, node->Tuple.elts.at[i]);
            pel_leave(c);
            if (!items[i]) return NULL;
        }
        return pel_tuple_of(c->vm, items, node->Tuple.elts.n);
    }
    return NULL;
}

/* ---- displays ---- */

static void compile_starred(pel_compiler *c, pel_nodes list, pel_vm_op build, pel_vm_op add, pel_vm_op extend) {
    uint32_t plain = 0;
    while (plain < list.n && list.at[plain]->kind != PEL_Starred) pel_compile_expr(c, list.at[plain++]);
    pel_emit(c, build, plain);
    for (uint32_t i = plain; i < list.n; i++) {
        if (list.at[i]->kind == PEL_Starred) {
            pel_compile_expr(c, list.at[i]->Starred.value);
            pel_emit(c, extend, 1);
        } else {
            pel_compile_expr(c, list.at[i]);
            pel_emit(c, add, 1);
        }
    }
}

static void compile_sequence(pel_compiler *c, pel_nodes list, pel_vm_op build) {
    if (build == PEL_I_BUILD_SET && has_star(list)) {
        compile_starred(c, list, PEL_I_BUILD_SET, PEL_I_SET_ADD, PEL_I_SET_UPDATE);
    } else if (has_star(list)) {
        compile_starred(c, list, PEL_I_BUILD_LIST, PEL_I_LIST_APPEND, PEL_I_LIST_EXTEND);
        if (build == PEL_I_BUILD_TUPLE) pel_emit(c, PEL_I_LIST_TO_TUPLE, 0);
    } else {
        compile_list(c, list);
        pel_emit(c, build, list.n);
    }
}

static void compile_dict(pel_compiler *c, const pel_node *node) {
    uint32_t pairs = 0;
    bool started = false;
    for (uint32_t i = 0; i < node->Dict.keys.n; i++) {
        if (node->Dict.keys.at[i]) {
            pel_compile_expr(c, node->Dict.keys.at[i]);
            pel_compile_expr(c, node->Dict.values.at[i]);
            if (started)
                pel_emit(c, PEL_I_MAP_ADD, 1);
            else if (++pairs == 32) /* keeps the stack small for tables */
                pel_emit(c, PEL_I_BUILD_MAP, pairs), started = true;
            continue;
        }
        if (!started) pel_emit(c, PEL_I_BUILD_MAP, pairs), started = true;
        pel_compile_expr(c, node->Dict.values.at[i]);
        pel_emit(c, PEL_I_DICT_UPDATE, 1);
    }
    if (!started) pel_emit(c, PEL_I_BUILD_MAP, pairs);
}

/* ---- operators and tests ---- */

static void compile_compare(pel_compiler *c, const pel_node *node) {
    pel_compile_expr(c, node->Compare.left);
    uint32_t n = node->Compare.comparators.n;
    pel_label fail = 0, end = 0;
    if (n > 1) fail = pel_new_label(c), end = pel_new_label(c);
    for (uint32_t i = 0; i < n; i++) {
        pel_compile_expr(c, node->Compare.comparators.at[i]);
        if (i + 1 < n) { /* a, b -> b, a, b */
            pel_emit(c, PEL_I_SWAP, 2);
            pel_emit(c, PEL_I_COPY, 2);
        }
        pel_emit(c, PEL_I_COMPARE, node->Compare.ops.at[i]);
        if (i + 1 < n) pel_emit(c, PEL_I_JUMP_IF_FALSE_OR_POP, fail);
    }
    if (n > 1) {
        pel_emit(c, PEL_I_JUMP, end);
        pel_place(c, fail);
        pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, PEL_I_POP, 0);
        pel_place(c, end);
    }
}

static void jump_if(pel_compiler *c, pel_node *test, bool when, pel_label target, uint32_t mark) {
    pel_enter(c);
    if (test->kind == PEL_UnaryOp && test->UnaryOp.op == PEL_Not) {
        jump_if(c, test->UnaryOp.operand, !when, target, mark);
    } else if (test->kind == PEL_BoolOp) {
        bool is_or = test->BoolOp.op == PEL_Or;
        pel_label skip = pel_new_label(c);
        uint32_t n = test->BoolOp.values.n;
        for (uint32_t i = 0; i + 1 < n; i++)
            jump_if(c, test->BoolOp.values.at[i], is_or, is_or == when ? target : skip, mark);
        jump_if(c, test->BoolOp.values.at[n - 1], when, target, mark);
        pel_place(c, skip);
    } else {
        pel_compile_expr(c, test);
        pel_emit_ab(c, when ? PEL_I_POP_JUMP_IF_TRUE : PEL_I_POP_JUMP_IF_FALSE, mark, target);
    }
    pel_leave(c);
}

void pel_compile_jump_if(pel_compiler *c, pel_node *test, bool when, pel_label target) {
    jump_if(c, test, when, target, 0);
}

void pel_compile_while_test(pel_compiler *c, pel_node *test, pel_label done) { jump_if(c, test, false, done, 1); }

static void compile_bool(pel_compiler *c, const pel_node *node) {
    pel_label end = pel_new_label(c);
    for (uint32_t i = 0; i < node->BoolOp.values.n; i++) {
        pel_compile_expr(c, node->BoolOp.values.at[i]);
        if (i + 1 < node->BoolOp.values.n)
            pel_emit(c, node->BoolOp.op == PEL_Or ? PEL_I_JUMP_IF_TRUE_OR_POP : PEL_I_JUMP_IF_FALSE_OR_POP, end);
    }
    pel_place(c, end);
}

static void compile_if(pel_compiler *c, const pel_node *node) {
    pel_label other = pel_new_label(c), end = pel_new_label(c);
    pel_compile_jump_if(c, node->IfExp.test, false, other);
    pel_compile_expr(c, node->IfExp.body);
    pel_emit(c, PEL_I_JUMP, end);
    pel_place(c, other);
    pel_compile_expr(c, node->IfExp.orelse);
    pel_place(c, end);
}

/* ---- calls ---- */

static bool has_double_star(pel_nodes keywords) {
    for (uint32_t i = 0; i < keywords.n; i++)
        if (!keywords.at[i]->keyword.arg) return true;
    return false;
}

static void compile_keyword_dict(pel_compiler *c, pel_nodes keywords) {
    uint32_t pairs = 0;
    bool started = false;
    for (uint32_t i = 0; i < keywords.n; i++) {
        pel_node *keyword = keywords.at[i];
        if (keyword->keyword.arg) {
            pel_emit_const(c, pel_name_val(c->vm, keyword->keyword.arg));
            pel_compile_expr(c, keyword->keyword.value);
            if (started) {
                pel_emit(c, PEL_I_BUILD_MAP, 1);
                pel_emit(c, PEL_I_DICT_MERGE, 1);
            } else {
                pairs++;
            }
            continue;
        }
        if (!started) pel_emit(c, PEL_I_BUILD_MAP, pairs), started = true;
        pel_compile_expr(c, keyword->keyword.value);
        pel_emit(c, PEL_I_DICT_MERGE, 1);
    }
    if (!started) pel_emit(c, PEL_I_BUILD_MAP, pairs);
}

/* The callee and its self slot are on the stack already. */
void pel_compile_args(pel_compiler *c, pel_nodes args, pel_nodes keywords) {
    if (has_star(args) || has_double_star(keywords) || args.n + keywords.n > 200) {
        if (args.n == 1 && args.at[0]->kind == PEL_Starred)
            pel_compile_expr(c, args.at[0]->Starred.value);
        else
            compile_sequence(c, args, PEL_I_BUILD_LIST);
        if (keywords.n) compile_keyword_dict(c, keywords);
        pel_emit(c, PEL_I_CALL_EX, keywords.n ? 1 : 0);
        return;
    }
    compile_list(c, args);
    if (!keywords.n) {
        pel_emit(c, PEL_I_CALL, args.n);
        return;
    }
    pel_val names = pel_tuple_of(c->vm, NULL, keywords.n);
    for (uint32_t i = 0; i < keywords.n; i++) {
        pel_tuple_at(names)->at[i] = pel_name_val(c->vm, keywords.at[i]->keyword.arg);
        pel_compile_expr(c, keywords.at[i]->keyword.value);
    }
    pel_emit_ab(c, PEL_I_CALL_KW, pel_add_const(c, names), args.n + keywords.n);
}

static void compile_call(pel_compiler *c, const pel_node *node) {
    pel_node *func = node->Call.func;
    if (func->kind == PEL_Attribute) {
        pel_compile_expr(c, func->Attribute.value);
        c->unit->node = func;
        pel_emit(c, PEL_I_LOAD_METHOD,
                 pel_add_name(c, pel_mangle(c->ctx, c->unit->scope->class_name, func->Attribute.attr)));
        c->unit->node = node;
    } else {
        pel_compile_expr(c, func);
        pel_emit(c, PEL_I_PUSH_NULL, 0);
    }
    uint32_t line = c->unit->line;
    /* as CPython: a call in a chain over several lines is where its method is named */
    c->unit->line = func->kind == PEL_Attribute && func->end_lineno ? func->end_lineno : node->lineno;
    pel_compile_args(c, node->Call.args, node->Call.keywords);
    c->unit->line = line;
}

uint32_t pel_compile_defaults(pel_compiler *c, const pel_node *args) {
    uint32_t flags = 0;
    if (args->arguments.defaults.n) {
        compile_list(c, args->arguments.defaults);
        pel_emit(c, PEL_I_BUILD_TUPLE, args->arguments.defaults.n);
        flags |= 1;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->arguments.kwonlyargs.n; i++) {
        if (!args->arguments.kw_defaults.at[i]) continue;
        pel_emit_const(c, pel_name_val(c->vm, pel_mangle(c->ctx, c->unit->scope->class_name,
                                                         args->arguments.kwonlyargs.at[i]->arg.arg)));
        pel_compile_expr(c, args->arguments.kw_defaults.at[i]);
        n++;
    }
    if (n) {
        pel_emit(c, PEL_I_BUILD_MAP, n);
        flags |= 2;
    }
    return flags;
}

static void compile_lambda(pel_compiler *c, pel_node *node) {
    uint32_t flags = pel_compile_defaults(c, node->Lambda.args);
    pel_open_unit(c, node, PEL_STR("<lambda>"), node->lineno);
    pel_declare_params(c, node->Lambda.args);
    pel_compile_expr(c, node->Lambda.body);
    pel_emit(c, PEL_I_RETURN, 0);
    pel_codeobj *code = pel_close_unit(c);
    pel_emit_function(c, code, flags);
}

/* ---- comprehensions ---- */

pel_label pel_compile_next(pel_compiler *c, bool is_async, pel_label done) {
    if (!is_async) {
        pel_emit(c, PEL_I_FOR_ITER, done);
        return 0;
    }
    pel_label handler = pel_new_label(c);
    pel_emit(c, PEL_I_SETUP_TRY, handler);
    pel_emit(c, PEL_I_GET_ANEXT, 0);
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_YIELD_FROM, 0);
    pel_emit(c, PEL_I_POP_TRY, 0);
    return handler;
}

void pel_compile_no_next(pel_compiler *c, bool is_async, pel_label handler, pel_label done) {
    if (is_async) {
        pel_place(c, handler);
        pel_emit(c, PEL_I_END_ASYNC_FOR, 0);
    }
    pel_place(c, done);
}

typedef struct comp {
    pel_node *elt, *value;
    pel_nodes generators;
    pel_vm_op add; /* NOP: a generator expression */
} comp;

/* What each round adds; [*x for x in xs] and {**x for x in xs} (3.15) add all of x. */
static void compile_element(pel_compiler *c, const comp *k) {
    bool is_unpacked = k->elt->kind == PEL_Starred;
    pel_vm_op add = k->add;
    if (add == PEL_I_LIST_APPEND && is_unpacked) add = PEL_I_LIST_EXTEND;
    if (add == PEL_I_SET_ADD && is_unpacked) add = PEL_I_SET_UPDATE;
    if (add == PEL_I_MAP_ADD && !k->value) add = PEL_I_DICT_UPDATE;
    pel_compile_expr(c, is_unpacked ? k->elt->Starred.value : k->elt);
    if (k->value) pel_compile_expr(c, k->value);
    if (add != PEL_I_NOP) {
        pel_emit(c, add, k->generators.n + 1);
        return;
    }
    if (is_unpacked) {
        pel_emit(c, PEL_I_GET_YIELD_FROM, 0);
        pel_emit_const(c, c->vm->none);
        pel_emit(c, PEL_I_YIELD_FROM, 0);
    } else {
        pel_emit(c, PEL_I_YIELD, 0);
    }
    pel_emit(c, PEL_I_POP, 0);
}

static void compile_level(pel_compiler *c, const comp *k, uint32_t i) {
    pel_enter(c);
    const pel_node *gen = k->generators.at[i];
    pel_label start = pel_new_label(c), end = pel_new_label(c), next = pel_new_label(c);
    if (i == 0) {
        pel_emit(c, PEL_I_LOAD_FAST, 0);
    } else {
        pel_compile_expr(c, gen->comprehension.iter);
        pel_emit(c, gen->comprehension.is_async ? PEL_I_GET_AITER : PEL_I_GET_ITER, 0);
    }
    pel_place(c, start);
    pel_label handler = pel_compile_next(c, gen->comprehension.is_async, end);
    pel_compile_store(c, gen->comprehension.target);
    for (uint32_t f = 0; f < gen->comprehension.ifs.n; f++)
        pel_compile_jump_if(c, gen->comprehension.ifs.at[f], false, next);
    if (i + 1 < k->generators.n) {
        compile_level(c, k, i + 1);
    } else {
        compile_element(c, k);
    }
    pel_place(c, next);
    pel_emit(c, PEL_I_JUMP_BACK, start);
    pel_compile_no_next(c, gen->comprehension.is_async, handler, end);
    pel_leave(c);
}

static void compile_comp(pel_compiler *c, pel_node *node, const char *name, pel_vm_op build, const comp *k) {
    pel_open_unit(c, node, pel_str_of(name), node->lineno);
    pel_declare_params(c, NULL);
    if (build != PEL_I_NOP) pel_emit(c, build, 0);
    compile_level(c, k, 0);
    if (build == PEL_I_NOP) pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_RETURN, 0);
    if (c->unit->scope->has_async && build != PEL_I_NOP) c->unit->code->is_coroutine = true;
    bool awaits = c->unit->code->is_coroutine;
    pel_codeobj *code = pel_close_unit(c);
    pel_emit_function(c, code, 0);
    pel_emit(c, PEL_I_PUSH_NULL, 0);
    pel_compile_expr(c, k->generators.at[0]->comprehension.iter);
    pel_emit(c, k->generators.at[0]->comprehension.is_async ? PEL_I_GET_AITER : PEL_I_GET_ITER, 0);
    pel_emit(c, PEL_I_CALL, 1);
    if (awaits) {
        pel_emit(c, PEL_I_GET_AWAITABLE, 0);
        pel_emit_const(c, c->vm->none);
        pel_emit(c, PEL_I_YIELD_FROM, 0);
    }
}

/* ---- text ---- */

static void compile_joined(pel_compiler *c, const pel_node *node) {
    compile_list(c, node->JoinedStr.values);
    pel_emit(c, PEL_I_BUILD_STRING, node->JoinedStr.values.n);
}

static void compile_formatted(pel_compiler *c, const pel_node *node) {
    pel_compile_expr(c, node->FormattedValue.value);
    bool has_spec = node->FormattedValue.format_spec != NULL;
    if (has_spec) pel_compile_expr(c, node->FormattedValue.format_spec);
    int conversion = node->FormattedValue.conversion;
    pel_emit_ab(c, PEL_I_FORMAT, conversion > 0 ? (uint32_t)conversion : 0, has_spec);
}

/* Pushes a class of string.templatelib, ready to be called. */
static void load_template_class(pel_compiler *c, const char *name) {
    pel_emit(c, PEL_I_IMPORT_NAME, pel_add_name(c, pel_intern_c(c->ctx, "string.templatelib")));
    c->unit->insns.at[c->unit->insns.n - 1].small = 1;
    pel_emit(c, PEL_I_LOAD_ATTR, pel_add_name(c, pel_intern_c(c->ctx, name)));
    pel_emit(c, PEL_I_PUSH_NULL, 0);
}

/* A t-string is a call of its class with its parts. */
static void compile_template(pel_compiler *c, const pel_node *node) {
    load_template_class(c, "Template");
    compile_list(c, node->TemplateStr.values);
    pel_emit(c, PEL_I_CALL, node->TemplateStr.values.n);
}

static void compile_interpolation(pel_compiler *c, const pel_node *node) {
    load_template_class(c, "Interpolation");
    pel_compile_expr(c, node->Interpolation.value);
    pel_emit_const(c, pel_new_text(c->vm, node->Interpolation.str->text));
    const char conversion = (char)node->Interpolation.conversion;
    pel_emit_const(c, conversion > 0 ? pel_new_text(c->vm, (pel_str){ &conversion, 1 }) : c->vm->none);
    if (node->Interpolation.format_spec)
        pel_compile_expr(c, node->Interpolation.format_spec);
    else
        pel_emit_const(c, pel_new_text(c->vm, PEL_STR("")));
    pel_emit(c, PEL_I_CALL, 4);
}

void pel_compile_text_of(pel_compiler *c, pel_node *node) {
    pel_buf text = pel_buf_in(c->ctx);
    pel_print(c->ctx, node, &(pel_print_options){ .one_line = true }, &text);
    pel_emit_const(c, pel_new_text_buf(c->vm, &text));
}

/* ---- targets ---- */

void pel_compile_attribute(pel_compiler *c, pel_node *node, pel_vm_op op) {
    pel_compile_expr(c, node->Attribute.value);
    pel_emit(c, op, pel_add_name(c, pel_mangle(c->ctx, c->unit->scope->class_name, node->Attribute.attr)));
}

void pel_compile_subscript(pel_compiler *c, pel_node *node, pel_vm_op op) {
    pel_compile_expr(c, node->Subscript.value);
    pel_compile_expr(c, node->Subscript.slice);
    pel_emit(c, op, 0);
}

/* UNPACK leaves the first value on top, so targets are stored from left to right, as Python does. UNPACK_EX has already
 * made the list for a starred one. Each instruction carries its node, hence the exchange around the switch. */
void pel_compile_store(pel_compiler *c, pel_node *target) {
    pel_enter(c);
    const pel_node *outer = c->unit->node;
    c->unit->node = target;
    switch (target->kind) {
    case PEL_Name: pel_emit_name(c, target->Name.id, PEL_Store); break;
    case PEL_Attribute: pel_compile_attribute(c, target, PEL_I_STORE_ATTR); break;
    case PEL_Subscript: pel_compile_subscript(c, target, PEL_I_STORE_SUBSCR); break;
    case PEL_Starred: pel_compile_store(c, target->Starred.value); break;
    case PEL_Tuple:
    case PEL_List: {
        pel_nodes elts = target->kind == PEL_Tuple ? target->Tuple.elts : target->List.elts;
        uint32_t star = 0;
        while (star < elts.n && elts.at[star]->kind != PEL_Starred) star++;
        if (star < elts.n)
            pel_emit_ab(c, PEL_I_UNPACK_EX, star, elts.n - star - 1);
        else
            pel_emit(c, PEL_I_UNPACK, elts.n);
        for (uint32_t i = 0; i < elts.n; i++) pel_compile_store(c, elts.at[i]);
        break;
    }
    default:
        pel_throw(c->ctx, PEL_E_UNSUPPORTED, 0, "%.*s:%u: can't assign to that", PEL_FMT(c->source->path),
                  target->lineno);
    }
    c->unit->node = outer;
    pel_leave(c);
}

/* ---- all ---- */

static void compile_slice(pel_compiler *c, const pel_node *node) {
    pel_node *parts[] = { node->Slice.lower, node->Slice.upper, node->Slice.step };
    for (uint32_t i = 0; i < 2u + (parts[2] != NULL); i++) {
        if (parts[i])
            pel_compile_expr(c, parts[i]);
        else
            pel_emit_const(c, c->vm->none);
    }
    pel_emit(c, PEL_I_BUILD_SLICE, parts[2] ? 3 : 2);
}

void pel_compile_expr(pel_compiler *c, pel_node *node) {
    pel_enter(c);
    uint32_t line = c->unit->line;
    const pel_node *outer = c->unit->node;
    if (node->lineno) c->unit->line = node->lineno;
    c->unit->node = node;
    pel_val value =
        node->kind == PEL_Constant || node->kind == PEL_UnaryOp || node->kind == PEL_Tuple ? literal(c, node) : NULL;
    if (value) {
        pel_emit_const(c, value);
    } else {
        switch (node->kind) {
        case PEL_Name: pel_emit_name(c, node->Name.id, PEL_Load); break;
        case PEL_Attribute: pel_compile_attribute(c, node, PEL_I_LOAD_ATTR); break;
        case PEL_Subscript: pel_compile_subscript(c, node, PEL_I_LOAD_SUBSCR); break;
        case PEL_Call: compile_call(c, node); break;
        case PEL_BinOp:
            pel_compile_expr(c, node->BinOp.left);
            pel_compile_expr(c, node->BinOp.right);
            pel_emit(c, PEL_I_BINARY, node->BinOp.op);
            break;
        case PEL_UnaryOp:
            pel_compile_expr(c, node->UnaryOp.operand);
            pel_emit(c, PEL_I_UNARY, node->UnaryOp.op);
            break;
        case PEL_Compare: compile_compare(c, node); break;
        case PEL_BoolOp: compile_bool(c, node); break;
        case PEL_IfExp: compile_if(c, node); break;
        case PEL_NamedExpr:
            pel_compile_expr(c, node->NamedExpr.value);
            pel_emit(c, PEL_I_COPY, 1);
            pel_compile_store(c, node->NamedExpr.target);
            break;
        case PEL_Lambda: compile_lambda(c, node); break;
        case PEL_Tuple: compile_sequence(c, node->Tuple.elts, PEL_I_BUILD_TUPLE); break;
        case PEL_List: compile_sequence(c, node->List.elts, PEL_I_BUILD_LIST); break;
        case PEL_Set: compile_sequence(c, node->Set.elts, PEL_I_BUILD_SET); break;
        case PEL_Dict: compile_dict(c, node); break;
        case PEL_ListComp:
            compile_comp(c, node, "<listcomp>", PEL_I_BUILD_LIST,
                         &(comp){ node->ListComp.elt, NULL, node->ListComp.generators, PEL_I_LIST_APPEND });
            break;
        case PEL_SetComp:
            compile_comp(c, node, "<setcomp>", PEL_I_BUILD_SET,
                         &(comp){ node->SetComp.elt, NULL, node->SetComp.generators, PEL_I_SET_ADD });
            break;
        case PEL_DictComp:
            compile_comp(c, node, "<dictcomp>", PEL_I_BUILD_MAP,
                         &(comp){ node->DictComp.key, node->DictComp.value, node->DictComp.generators, PEL_I_MAP_ADD });
            break;
        case PEL_GeneratorExp:
            compile_comp(c, node, "<genexpr>", PEL_I_NOP,
                         &(comp){ node->GeneratorExp.elt, NULL, node->GeneratorExp.generators, PEL_I_NOP });
            break;
        case PEL_JoinedStr: compile_joined(c, node); break;
        case PEL_FormattedValue: compile_formatted(c, node); break;
        case PEL_TemplateStr: compile_template(c, node); break;
        case PEL_Interpolation: compile_interpolation(c, node); break;
        case PEL_Slice: compile_slice(c, node); break;
        case PEL_Starred: /* a[*b]: only inside a tuple of indices, which compile_sequence treats */
            pel_compile_expr(c, node->Starred.value);
            break;
        case PEL_Yield:
            if (node->Yield.value)
                pel_compile_expr(c, node->Yield.value);
            else
                pel_emit_const(c, c->vm->none);
            pel_emit(c, PEL_I_YIELD, 0);
            break;
        case PEL_YieldFrom:
            pel_compile_expr(c, node->YieldFrom.value);
            pel_emit(c, PEL_I_GET_YIELD_FROM, 0);
            pel_emit_const(c, c->vm->none);
            pel_emit(c, PEL_I_YIELD_FROM, 0);
            break;
        case PEL_Await:
            pel_compile_expr(c, node->Await.value);
            pel_emit(c, PEL_I_GET_AWAITABLE, 0);
            pel_emit_const(c, c->vm->none);
            pel_emit(c, PEL_I_YIELD_FROM, 0);
            break;
        default:
            pel_throw(c->ctx, PEL_E_UNSUPPORTED, 0, "%.*s:%u: an expression of an unknown kind",
                      PEL_FMT(c->source->path), node->lineno);
        }
    }
    c->unit->line = line;
    c->unit->node = outer;
    pel_leave(c);
}
