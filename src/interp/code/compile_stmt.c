/* AST -> code: statements. */
#include "interp/code/compile.h"

static void compile_stmt(pel_compiler *c, pel_node *node);

void pel_compile_body(pel_compiler *c, pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++) compile_stmt(c, body.at[i]);
}

void pel_mark_value(pel_compiler *c) { c->unit->value = c->unit->insns.n; }

static void push_block(pel_compiler *c, pel_fblock block) { pel_push(c->ctx, &c->unit->blocks, block); }
static void pop_block(pel_compiler *c) { c->unit->blocks.n--; }

/* ---- leaving blocks ---- */

static void forget_name(pel_compiler *c, pel_name name) {
    pel_emit_const(c, c->vm->none);
    pel_emit_name(c, name, PEL_Store);
    pel_emit_name(c, name, PEL_Del);
}

static void emit_await(pel_compiler *c) {
    pel_emit(c, PEL_I_GET_AWAITABLE, 0);
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_YIELD_FROM, 0);
}

/* What it takes to leave one block on the way out of it; keeps: the value to return is on top of the stack. */
static void unwind_one(pel_compiler *c, const pel_fblock *block, bool keeps) {
    switch (block->kind) {
    case PEL_BLOCK_WHILE: pel_emit(c, PEL_I_LEAVE_WHILE, block->start); break;
    case PEL_BLOCK_FOR:
        if (keeps) pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, PEL_I_LEAVE_FOR, 0);
        break;
    case PEL_BLOCK_TRY: pel_emit(c, PEL_I_POP_TRY, 0); break;
    case PEL_BLOCK_FINALLY:
        pel_emit(c, PEL_I_POP_TRY, 0);
        pel_compile_body(c, block->final);
        break;
    case PEL_BLOCK_FINAL_BODY:
        if (keeps) pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, PEL_I_POP, 0);
        if (keeps) pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, PEL_I_POP_EXCEPT, 0);
        break;
    case PEL_BLOCK_HANDLER:
        if (keeps) pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, PEL_I_POP_EXCEPT, 0);
        break;
    case PEL_BLOCK_NAMED:
        pel_emit(c, PEL_I_POP_TRY, 0);
        forget_name(c, block->name);
        break;
    case PEL_BLOCK_WITH:
        pel_emit(c, PEL_I_POP_TRY, 0);
        if (keeps) { /* exit, NULL, value -> value, exit, NULL */
            pel_emit(c, PEL_I_SWAP, 3);
            pel_emit(c, PEL_I_SWAP, 2);
        }
        for (int i = 0; i < 3; i++) pel_emit_const(c, c->vm->none);
        pel_emit(c, PEL_I_CALL, 3);
        if (block->is_async) emit_await(c);
        pel_emit(c, PEL_I_POP, 0);
        break;
    }
}

/* Leaves all blocks, or those inside the innermost loop; the list is as it was afterwards. */
static const pel_fblock *unwind(pel_compiler *c, bool to_loop, bool keeps) {
    pel_unit *u = c->unit;
    uint32_t n = u->blocks.n;
    if (!n) return NULL;
    /* The body of a finally is compiled among the blocks around it, and may push others over those inside. */
    pel_fblock *saved = pel_new_array(c->ctx, n, pel_fblock);
    memcpy(saved, u->blocks.at, n * sizeof *saved);
    const pel_fblock *loop = NULL;
    for (uint32_t i = n; i > 0 && !loop; i--) {
        if (to_loop && (saved[i - 1].kind == PEL_BLOCK_FOR || saved[i - 1].kind == PEL_BLOCK_WHILE)) {
            loop = &saved[i - 1];
        } else {
            u->blocks.n = i - 1;
            unwind_one(c, &saved[i - 1], keeps);
        }
    }
    memcpy(u->blocks.at, saved, n * sizeof *saved);
    u->blocks.n = n;
    return loop;
}

static void compile_return(pel_compiler *c, const pel_node *node) {
    pel_node *value = node->Return.value;
    bool is_plain = !value || value->kind == PEL_Constant;
    if (!is_plain) pel_compile_expr(c, value), pel_mark_value(c);
    unwind(c, false, !is_plain);
    if (value && is_plain)
        pel_compile_expr(c, value);
    else if (is_plain)
        pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_RETURN, 0);
}

static void compile_break(pel_compiler *c, bool is_break) {
    const pel_fblock *loop = unwind(c, true, false);
    if (!loop) pel_throw(c->ctx, PEL_E_SYNTAX, 0, "%.*s:%u: no loop here", PEL_FMT(c->source->path), c->unit->line);
    if (is_break) unwind_one(c, loop, false);
    pel_emit(c, is_break ? PEL_I_JUMP : PEL_I_JUMP_BACK, is_break ? loop->end : loop->start);
}

/* ---- loops and branches ---- */

static void compile_for(pel_compiler *c, const pel_node *node) {
    bool is_async = node->kind == PEL_AsyncFor;
    pel_label start = pel_new_label(c), done = pel_new_label(c), end = pel_new_label(c);
    pel_compile_expr(c, node->For.iter);
    pel_mark_value(c);
    pel_emit(c, is_async ? PEL_I_GET_AITER : PEL_I_GET_ITER, 0);
    pel_place(c, start);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_FOR, .start = start, .end = end });
    pel_label handler = pel_compile_next(c, is_async, done);
    pel_compile_store(c, node->For.target);
    pel_compile_body(c, node->For.body);
    pel_emit(c, PEL_I_JUMP_BACK, start);
    pop_block(c);
    pel_compile_no_next(c, is_async, handler, done);
    pel_compile_body(c, node->For.orelse);
    pel_place(c, end);
}

static void compile_while(pel_compiler *c, const pel_node *node) {
    pel_label start = pel_new_label(c), done = pel_new_label(c), end = pel_new_label(c);
    pel_place(c, start);
    pel_emit(c, PEL_I_WHILE, done);
    pel_compile_while_test(c, node->While.test, done);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_WHILE, .start = start, .end = end });
    pel_compile_body(c, node->While.body);
    pel_emit(c, PEL_I_JUMP_BACK, start);
    pop_block(c);
    pel_place(c, done);
    c->unit->line = node->lineno;
    pel_emit(c, PEL_I_LEAVE_WHILE, start);
    pel_compile_body(c, node->While.orelse);
    pel_place(c, end);
}

static void compile_if(pel_compiler *c, const pel_node *node) {
    pel_label other = pel_new_label(c), end = pel_new_label(c);
    pel_compile_jump_if(c, node->If.test, false, other);
    pel_mark_value(c);
    c->unit->other = other;
    pel_compile_body(c, node->If.body);
    if (node->If.orelse.n) pel_emit(c, PEL_I_JUMP, end);
    pel_place(c, other);
    pel_compile_body(c, node->If.orelse);
    pel_place(c, end);
}

/* ---- exceptions ---- */

/* The name is deleted however the body ends: at its end, by a jump out (PEL_BLOCK_NAMED) or by an exception (cleanup).
 * The cleanup catches nothing; its mark says so to recover.c. except* does its one POP_EXCEPT after all handlers. */
static void compile_handler(pel_compiler *c, const pel_node *handler, bool is_star, pel_label end) {
    pel_name name = handler->ExceptHandler.name;
    if (name)
        pel_emit_name(c, name, PEL_Store);
    else
        pel_emit(c, PEL_I_POP, 0);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_HANDLER });
    pel_label cleanup = 0;
    if (name) {
        cleanup = pel_new_label(c);
        pel_emit_ab(c, PEL_I_SETUP_TRY, PEL_SETS_CLEANUP, cleanup);
        push_block(c, (pel_fblock){ .kind = PEL_BLOCK_NAMED, .name = name });
    }
    pel_compile_body(c, handler->ExceptHandler.body);
    if (name) {
        pel_emit(c, PEL_I_POP_TRY, 0);
        pop_block(c);
        forget_name(c, name);
    }
    pop_block(c);
    if (!is_star) pel_emit(c, PEL_I_POP_EXCEPT, 0);
    pel_emit(c, PEL_I_JUMP, end);
    if (name) {
        pel_place(c, cleanup);
        forget_name(c, name);
        pel_emit(c, PEL_I_RERAISE, 0);
    }
}

/* What is tried, up to where its handlers begin. */
static void compile_tried(pel_compiler *c, pel_nodes body, pel_nodes orelse, pel_label handlers, pel_label end) {
    pel_emit(c, PEL_I_SETUP_TRY, handlers);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_TRY });
    pel_compile_body(c, body);
    pel_emit(c, PEL_I_POP_TRY, 0);
    pop_block(c);
    pel_compile_body(c, orelse);
    pel_emit(c, PEL_I_JUMP, end);
    pel_place(c, handlers);
}

/* Stack of a handler: what was handled before, the exception. */
static void compile_except(pel_compiler *c, const pel_node *node) {
    pel_label handlers = pel_new_label(c), end = pel_new_label(c);
    compile_tried(c, node->Try.body, node->Try.orelse, handlers, end);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_FINAL_BODY }); /* while types are evaluated */
    for (uint32_t i = 0; i < node->Try.handlers.n; i++) {
        pel_node *handler = node->Try.handlers.at[i];
        pel_label next = pel_new_label(c);
        c->unit->line = handler->lineno;
        if (handler->ExceptHandler.type) {
            pel_compile_expr(c, handler->ExceptHandler.type);
            pel_emit(c, PEL_I_MATCH_EXCEPTION, 0);
            pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, next);
        }
        pop_block(c);
        compile_handler(c, handler, false, end);
        push_block(c, (pel_fblock){ .kind = PEL_BLOCK_FINAL_BODY });
        pel_place(c, next);
    }
    pop_block(c);
    pel_emit(c, PEL_I_RERAISE, 0);
    pel_place(c, end);
}

/* except*: each handler takes its part of the group; what is left is raised again.
 * Stack between handlers: what was handled before, the rest (None: nothing is left). */
static void compile_except_star(pel_compiler *c, const pel_node *node) {
    pel_label handlers = pel_new_label(c), end = pel_new_label(c), nothing = pel_new_label(c);
    compile_tried(c, node->TryStar.body, node->TryStar.orelse, handlers, end);
    for (uint32_t i = 0; i < node->TryStar.handlers.n; i++) {
        pel_node *handler = node->TryStar.handlers.at[i];
        pel_label next = pel_new_label(c), after = pel_new_label(c);
        pel_compile_expr(c, handler->ExceptHandler.type);
        pel_emit(c, PEL_I_MATCH_GROUP, 0); /* rest, match */
        pel_emit(c, PEL_I_COPY, 1);
        pel_emit(c, PEL_I_POP_JUMP_IF_NOT_NONE, after);
        pel_emit(c, PEL_I_POP, 0);
        pel_emit(c, PEL_I_JUMP, next);
        pel_place(c, after);
        compile_handler(c, handler, true, next);
        pel_place(c, next);
    }
    pel_label rest = pel_new_label(c);
    pel_emit(c, PEL_I_COPY, 1);
    pel_emit(c, PEL_I_POP_JUMP_IF_NOT_NONE, rest);
    pel_emit(c, PEL_I_JUMP, nothing);
    pel_place(c, rest);
    pel_emit(c, PEL_I_RERAISE, 0);
    pel_place(c, nothing);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP_EXCEPT, 0);
    pel_place(c, end);
}

static void compile_try(pel_compiler *c, const pel_node *node) {
    void (*inner)(pel_compiler *, const pel_node *) = node->kind == PEL_TryStar ? compile_except_star : compile_except;
    if (!node->Try.finalbody.n) {
        inner(c, node);
        return;
    }
    pel_label handler = pel_new_label(c), end = pel_new_label(c);
    pel_emit_ab(c, PEL_I_SETUP_TRY, PEL_SETS_CLEANUP, handler);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_FINALLY, .final = node->Try.finalbody });
    if (node->Try.handlers.n)
        inner(c, node);
    else
        pel_compile_body(c, node->Try.body);
    pel_emit(c, PEL_I_POP_TRY, 0);
    pop_block(c);
    pel_compile_body(c, node->Try.finalbody);
    pel_emit(c, PEL_I_JUMP, end);
    pel_place(c, handler);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_FINAL_BODY });
    pel_compile_body(c, node->Try.finalbody);
    pop_block(c);
    pel_emit(c, PEL_I_RERAISE, 0);
    pel_place(c, end);
}

static void compile_with(pel_compiler *c, const pel_node *node, uint32_t i) {
    if (i == node->With.items.n) {
        pel_compile_body(c, node->With.body);
        return;
    }
    pel_enter(c);
    bool is_async = node->kind == PEL_AsyncWith;
    const pel_node *item = node->With.items.at[i];
    pel_label handler = pel_new_label(c), end = pel_new_label(c), suppress = pel_new_label(c);
    pel_compile_expr(c, item->withitem.context_expr);
    if (!i) pel_mark_value(c);
    pel_emit_ab(c, PEL_I_BEFORE_WITH, is_async, 0);
    if (is_async) emit_await(c);
    /* The handler must find the stack without what enter gave: it goes into a variable first. */
    pel_name temp = NULL;
    if (item->withitem.optional_vars) {
        temp = pel_new_temp(c);
        pel_emit_name(c, temp, PEL_Store);
    } else {
        pel_emit(c, PEL_I_POP, 0);
    }
    pel_emit_ab(c, PEL_I_SETUP_TRY, PEL_SETS_WITH, handler);
    push_block(c, (pel_fblock){ .kind = PEL_BLOCK_WITH, .is_async = is_async });
    if (temp) {
        pel_emit_name(c, temp, PEL_Load);
        pel_compile_store(c, item->withitem.optional_vars);
    }
    compile_with(c, node, i + 1);
    pel_emit(c, PEL_I_POP_TRY, 0);
    pop_block(c);
    for (int k = 0; k < 3; k++) pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_CALL, 3);
    if (is_async) emit_await(c);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_JUMP, end);
    pel_place(c, handler); /* exit, NULL, handled before, exception */
    pel_emit(c, PEL_I_WITH_EXCEPT, 0);
    if (is_async) emit_await(c);
    pel_emit(c, PEL_I_POP_JUMP_IF_TRUE, suppress);
    pel_emit(c, PEL_I_RERAISE, 0);
    pel_place(c, suppress);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP_EXCEPT, 0);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP, 0);
    pel_place(c, end);
    pel_leave(c);
}

/* ---- definitions ---- */

static void emit_type_params(pel_compiler *c, pel_nodes params) {
    for (uint32_t i = 0; i < params.n; i++) {
        uint32_t kind = (uint32_t)params.at[i]->kind - PEL_TypeVar;
        pel_emit_ab(c, PEL_I_LOAD_TYPE_PARAM, kind, pel_add_name(c, params.at[i]->TypeVar.name));
        pel_emit_name(c, params.at[i]->TypeVar.name, PEL_Store);
    }
}

static uint32_t emit_annotation(pel_compiler *c, const pel_node *arg) {
    if (!arg || !arg->arg.annotation) return 0;
    pel_emit_const(c, pel_name_val(c->vm, pel_mangle(c->ctx, c->unit->scope->class_name, arg->arg.arg)));
    if (c->future_annotations)
        pel_compile_text_of(c, arg->arg.annotation);
    else if (arg->arg.annotation->kind == PEL_Starred)
        pel_compile_expr(c, arg->arg.annotation->Starred.value);
    else
        pel_compile_expr(c, arg->arg.annotation);
    return 1;
}

/* Code that gives the dict of a function's annotations; it runs when somebody asks for them. */
static pel_codeobj *compile_annotations(pel_compiler *c, const pel_node *node) {
    const pel_node *args = node->FunctionDef.args;
    pel_open_unit(c, args, PEL_STR("<annotations>"), node->lineno);
    pel_declare_params(c, NULL);
    uint32_t n = 0;
    for (uint32_t i = 0; i < args->arguments.posonlyargs.n; i++)
        n += emit_annotation(c, args->arguments.posonlyargs.at[i]);
    for (uint32_t i = 0; i < args->arguments.args.n; i++) n += emit_annotation(c, args->arguments.args.at[i]);
    n += emit_annotation(c, args->arguments.vararg);
    for (uint32_t i = 0; i < args->arguments.kwonlyargs.n; i++)
        n += emit_annotation(c, args->arguments.kwonlyargs.at[i]);
    n += emit_annotation(c, args->arguments.kwarg);
    if (node->FunctionDef.returns) {
        pel_emit_const(c, pel_interned_c(c->vm, "return"));
        if (c->future_annotations)
            pel_compile_text_of(c, node->FunctionDef.returns);
        else
            pel_compile_expr(c, node->FunctionDef.returns);
        n++;
    }
    pel_emit(c, PEL_I_BUILD_MAP, n);
    pel_emit(c, PEL_I_RETURN, 0);
    pel_codeobj *code = pel_close_unit(c);
    return n ? code : NULL;
}

static pel_node *docstring(pel_nodes body) {
    if (!body.n || body.at[0]->kind != PEL_Expr) return NULL;
    pel_node *value = body.at[0]->Expr.value;
    return value->kind == PEL_Constant && value->Constant.value->kind == PEL_CONST_STR ? value : NULL;
}

static void emit_decorators(pel_compiler *c, pel_nodes decorators) {
    for (uint32_t i = 0; i < decorators.n; i++) {
        pel_compile_expr(c, decorators.at[i]);
        pel_emit(c, PEL_I_PUSH_NULL, 0);
    }
}

static void call_decorators(pel_compiler *c, pel_nodes decorators) {
    for (uint32_t i = decorators.n; i > 0; i--) {
        c->unit->line = decorators.at[i - 1]->lineno;
        pel_emit(c, PEL_I_CALL, 1);
    }
}

static uint32_t last_line(const pel_node *node) { return node->end_lineno ? node->end_lineno : node->lineno; }

/* Decorators, type parameters and defaults belong to the scope around, so they come before the unit is opened. The
 * docstring must be the first constant: pel_run_make_function reads it there. */
static void compile_function(pel_compiler *c, pel_node *node) {
    pel_nodes body = node->FunctionDef.body, decorators = node->FunctionDef.decorator_list;
    emit_decorators(c, decorators);
    emit_type_params(c, node->FunctionDef.type_params);
    uint32_t flags = pel_compile_defaults(c, node->FunctionDef.args);
    pel_codeobj *annotations = compile_annotations(c, node);
    uint32_t line = decorators.n ? decorators.at[0]->lineno : node->lineno;
    pel_open_unit(c, node, pel_name_str(node->FunctionDef.name), line);
    pel_declare_params(c, node->FunctionDef.args);
    pel_node *doc = docstring(body);
    if (doc) {
        pel_add_const(c, pel_const_val(c, doc->Constant.value));
        c->unit->code->has_docstring = true;
    }
    pel_compile_body(c, body);
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_RETURN, 0);
    c->unit->line = last_line(node);
    pel_codeobj *code = pel_close_unit(c);
    code->annotations = annotations;
    pel_emit_function(c, code, flags);
    call_decorators(c, decorators);
    pel_emit_name(c, node->FunctionDef.name, PEL_Store);
}

static bool body_has_annotations(pel_nodes body) {
    for (uint32_t i = 0; i < body.n; i++) {
        const pel_node *stmt = body.at[i];
        if (stmt->kind == PEL_AnnAssign) return true;
        if (stmt->kind == PEL_If && (body_has_annotations(stmt->If.body) || body_has_annotations(stmt->If.orelse)))
            return true;
    }
    return false;
}

static void compile_class(pel_compiler *c, pel_node *node) {
    pel_nodes body = node->ClassDef.body, decorators = node->ClassDef.decorator_list;
    emit_decorators(c, decorators);
    emit_type_params(c, node->ClassDef.type_params);
    uint32_t line = decorators.n ? decorators.at[0]->lineno : node->lineno;
    pel_unit *u = pel_open_unit(c, node, pel_name_str(node->ClassDef.name), line);
    pel_declare_params(c, NULL);
    pel_emit(c, PEL_I_LOAD_GLOBAL, pel_add_name(c, pel_intern_c(c->ctx, "__name__")));
    pel_emit(c, PEL_I_STORE_NAME, pel_add_name(c, pel_intern_c(c->ctx, "__module__")));
    pel_emit_const(c, u->code->qualname);
    pel_emit(c, PEL_I_STORE_NAME, pel_add_name(c, pel_intern_c(c->ctx, "__qualname__")));
    pel_node *doc = docstring(body);
    if (doc) {
        pel_emit_const(c, pel_const_val(c, doc->Constant.value));
        pel_emit(c, PEL_I_STORE_NAME, pel_add_name(c, pel_intern_c(c->ctx, "__doc__")));
    }
    if (body_has_annotations(body)) pel_emit(c, PEL_I_SETUP_ANNOTATIONS, 0);
    pel_compile_body(c, body);
    uint64_t cell = pel_map_find(&u->cell_index, PEL_KEY(pel_intern_c(c->ctx, "__class__")), UINT64_MAX);
    if (cell != UINT64_MAX && cell < u->code->n_cells) {
        pel_emit(c, PEL_I_LOAD_CLOSURE, (uint32_t)cell);
        pel_emit(c, PEL_I_STORE_NAME, pel_add_name(c, pel_intern_c(c->ctx, "__classcell__")));
    }
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_RETURN, 0);
    c->unit->line = last_line(node);
    pel_codeobj *code = pel_close_unit(c);
    pel_emit_function(c, code, 0);
    pel_emit_const(c, pel_name_val(c->vm, node->ClassDef.name));
    /* bases and keywords, as a call would have them */
    pel_node *call = pel_node_new(c->ctx, PEL_Tuple);
    call->Tuple.elts = node->ClassDef.bases;
    call->lineno = node->lineno;
    pel_compile_expr(c, call);
    pel_node *dict = pel_node_new(c->ctx, PEL_Dict);
    for (uint32_t i = 0; i < node->ClassDef.keywords.n; i++) {
        pel_node *keyword = node->ClassDef.keywords.at[i];
        pel_node *key = NULL;
        if (keyword->keyword.arg) key = pel_make_text(c->ctx, pel_name_str(keyword->keyword.arg));
        pel_nodes_push(c->ctx, &dict->Dict.keys, key);
        pel_nodes_push(c->ctx, &dict->Dict.values, keyword->keyword.value);
    }
    pel_compile_expr(c, dict);
    pel_emit(c, PEL_I_BUILD_CLASS, 0);
    call_decorators(c, decorators);
    pel_emit_name(c, node->ClassDef.name, PEL_Store);
}

/* ---- imports ---- */

static pel_name first_part(pel_compiler *c, pel_name name) {
    const char *dot = memchr(name->text, '.', name->len);
    return dot ? pel_intern(c->ctx, name->text, (size_t)(dot - name->text)) : name;
}

static void compile_import(pel_compiler *c, const pel_node *node) {
    for (uint32_t i = 0; i < node->Import.names.n; i++) {
        const pel_node *alias = node->Import.names.at[i];
        pel_emit(c, PEL_I_IMPORT_NAME, pel_add_name(c, alias->alias.name));
        if (alias->alias.asname) c->unit->insns.at[c->unit->insns.n - 1].small = 1;
        pel_emit_name(c, alias->alias.asname ? alias->alias.asname : first_part(c, alias->alias.name), PEL_Store);
    }
}

static void compile_import_from(pel_compiler *c, const pel_node *node) {
    pel_name module = node->ImportFrom.module ? node->ImportFrom.module : pel_intern_c(c->ctx, "");
    if (pel_name_is(module, "__future__") && !node->ImportFrom.level) {
        for (uint32_t i = 0; i < node->ImportFrom.names.n; i++) {
            const pel_node *alias = node->ImportFrom.names.at[i];
            pel_emit_const(c, c->vm->none);
            pel_emit_name(c, alias->alias.asname ? alias->alias.asname : alias->alias.name, PEL_Store);
        }
        return;
    }
    pel_emit_ab(c, PEL_I_IMPORT_NAME, (uint32_t)node->ImportFrom.level, pel_add_name(c, module));
    c->unit->insns.at[c->unit->insns.n - 1].small = 1;
    for (uint32_t i = 0; i < node->ImportFrom.names.n; i++) {
        const pel_node *alias = node->ImportFrom.names.at[i];
        if (pel_name_is(alias->alias.name, "*")) {
            pel_emit(c, PEL_I_IMPORT_STAR, 0);
            return;
        }
        pel_emit(c, PEL_I_IMPORT_FROM, pel_add_name(c, alias->alias.name));
        pel_emit_name(c, alias->alias.asname ? alias->alias.asname : alias->alias.name, PEL_Store);
    }
    pel_emit(c, PEL_I_POP, 0);
}

/* ---- assignments ---- */

static void compile_assign(pel_compiler *c, const pel_node *node) {
    pel_compile_expr(c, node->Assign.value);
    pel_mark_value(c);
    for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
        if (i + 1 < node->Assign.targets.n) pel_emit(c, PEL_I_COPY, 1);
        pel_compile_store(c, node->Assign.targets.at[i]);
    }
}

static void compile_augmented(pel_compiler *c, const pel_node *node) {
    pel_node *target = node->AugAssign.target;
    pel_vm_op store = PEL_I_NOP;
    uint32_t name = 0;
    c->unit->node = target;
    if (target->kind == PEL_Attribute) {
        pel_compile_expr(c, target->Attribute.value);
        name = pel_add_name(c, pel_mangle(c->ctx, c->unit->scope->class_name, target->Attribute.attr));
        pel_emit(c, PEL_I_COPY, 1);
        pel_emit(c, PEL_I_LOAD_ATTR, name);
        store = PEL_I_STORE_ATTR;
    } else if (target->kind == PEL_Subscript) {
        pel_compile_expr(c, target->Subscript.value);
        pel_compile_expr(c, target->Subscript.slice);
        pel_emit(c, PEL_I_COPY, 2);
        pel_emit(c, PEL_I_COPY, 2);
        pel_emit(c, PEL_I_LOAD_SUBSCR, 0);
        store = PEL_I_STORE_SUBSCR;
    } else {
        pel_emit_name(c, target->Name.id, PEL_Load);
    }
    c->unit->node = node;
    pel_compile_expr(c, node->AugAssign.value);
    pel_emit_ab(c, PEL_I_BINARY, 1, node->AugAssign.op);
    c->unit->node = target;
    if (store == PEL_I_NOP) {
        pel_mark_value(c);
        pel_emit_name(c, target->Name.id, PEL_Store);
    } else if (store == PEL_I_STORE_ATTR) { /* object, value -> value, object */
        pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, store, name);
    } else { /* object, key, value -> value, object, key */
        pel_emit(c, PEL_I_SWAP, 3);
        pel_emit(c, PEL_I_SWAP, 2);
        pel_emit(c, store, 0);
    }
}

static void compile_annotated(pel_compiler *c, const pel_node *node) {
    pel_node *target = node->AnnAssign.target;
    if (node->AnnAssign.value) {
        pel_compile_expr(c, node->AnnAssign.value);
        pel_mark_value(c);
        pel_compile_store(c, target);
    }
    pel_scope_kind kind = c->unit->scope->kind;
    if (target->kind != PEL_Name || !node->AnnAssign.simple) return;
    if (kind != PEL_SCOPE_CLASS && kind != PEL_SCOPE_MODULE) return;
    if (c->future_annotations)
        pel_compile_text_of(c, node->AnnAssign.annotation);
    else
        pel_compile_expr(c, node->AnnAssign.annotation);
    pel_emit(c, PEL_I_LOAD_NAME, pel_add_name(c, pel_intern_c(c->ctx, "__annotations__")));
    pel_emit_const(c, pel_name_val(c->vm, pel_mangle(c->ctx, c->unit->scope->class_name, target->Name.id)));
    pel_emit(c, PEL_I_STORE_SUBSCR, 0);
}

static void compile_delete(pel_compiler *c, pel_node *target) {
    switch (target->kind) {
    case PEL_Name: pel_emit_name(c, target->Name.id, PEL_Del); break;
    case PEL_Attribute: pel_compile_attribute(c, target, PEL_I_DELETE_ATTR); break;
    case PEL_Subscript: pel_compile_subscript(c, target, PEL_I_DELETE_SUBSCR); break;
    case PEL_Tuple:
    case PEL_List: {
        pel_nodes elts = target->kind == PEL_Tuple ? target->Tuple.elts : target->List.elts;
        pel_enter(c);
        for (uint32_t i = 0; i < elts.n; i++) compile_delete(c, elts.at[i]);
        pel_leave(c);
        break;
    }
    default: break;
    }
}

static void compile_assert(pel_compiler *c, const pel_node *node) {
    pel_label end = pel_new_label(c);
    pel_compile_jump_if(c, node->Assert.test, true, end);
    pel_emit(c, PEL_I_LOAD_ASSERTION_ERROR, 0);
    if (node->Assert.msg) {
        pel_emit(c, PEL_I_PUSH_NULL, 0);
        pel_compile_expr(c, node->Assert.msg);
        pel_emit(c, PEL_I_CALL, 1);
    }
    pel_emit(c, PEL_I_RAISE, 1);
    pel_place(c, end);
}

static void compile_raise(pel_compiler *c, const pel_node *node) {
    uint32_t n = 0;
    if (node->Raise.exc) pel_compile_expr(c, node->Raise.exc), n++;
    if (node->Raise.cause) pel_compile_expr(c, node->Raise.cause), n++;
    pel_emit(c, PEL_I_RAISE, n);
}

/* Only compile_stmt may call it, which sets the line and the node that instructions carry. A `type` alias is
 * evaluated at once, while Python waits until its value is needed. A lone constant makes no code, so recover.c has
 * no row for it. */
static void compile_one(pel_compiler *c, pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: compile_function(c, node); break;
    case PEL_ClassDef: compile_class(c, node); break;
    case PEL_Return: compile_return(c, node); break;
    case PEL_Delete:
        for (uint32_t i = 0; i < node->Delete.targets.n; i++) compile_delete(c, node->Delete.targets.at[i]);
        break;
    case PEL_Assign: compile_assign(c, node); break;
    case PEL_TypeAlias:
        emit_type_params(c, node->TypeAlias.type_params);
        pel_compile_expr(c, node->TypeAlias.value);
        pel_compile_store(c, node->TypeAlias.name);
        break;
    case PEL_AugAssign: compile_augmented(c, node); break;
    case PEL_AnnAssign: compile_annotated(c, node); break;
    case PEL_For:
    case PEL_AsyncFor: compile_for(c, node); break;
    case PEL_While: compile_while(c, node); break;
    case PEL_If: compile_if(c, node); break;
    case PEL_With:
    case PEL_AsyncWith: compile_with(c, node, 0); break;
    case PEL_Match: pel_compile_match(c, node); break;
    case PEL_Raise: compile_raise(c, node); break;
    case PEL_Try:
    case PEL_TryStar: compile_try(c, node); break;
    case PEL_Assert: compile_assert(c, node); break;
    case PEL_Import: compile_import(c, node); break;
    case PEL_ImportFrom: compile_import_from(c, node); break;
    case PEL_Expr:
        if (node->Expr.value->kind == PEL_Constant) break;
        pel_compile_expr(c, node->Expr.value);
        pel_emit(c, PEL_I_POP, 0);
        break;
    case PEL_Break: compile_break(c, true); break;
    case PEL_Continue: compile_break(c, false); break;
    case PEL_Global:
    case PEL_Nonlocal:
    case PEL_Pass:
    case PEL_Comment: break;
    default:
        pel_throw(c->ctx, PEL_E_UNSUPPORTED, 0, "%.*s:%u: a statement of an unknown kind", PEL_FMT(c->source->path),
                  node->lineno);
    }
}

static uint32_t handlers_around(const pel_unit *u) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < u->blocks.n; i++) {
        pel_block_kind kind = u->blocks.at[i].kind;
        n += kind == PEL_BLOCK_TRY || kind == PEL_BLOCK_FINALLY || kind == PEL_BLOCK_NAMED || kind == PEL_BLOCK_WITH;
    }
    return n;
}

static void compile_stmt(pel_compiler *c, pel_node *node) {
    pel_enter(c);
    pel_unit *u = c->unit;
    const pel_node *outer = u->node;
    uint32_t value = u->value, start = u->insns.n;
    pel_label other = u->other;
    u->value = u->other = UINT32_MAX;
    u->node = node;
    u->line = node->lineno;
    compile_one(c, node);
    if (!c->is_stub && u->insns.n > start) {
        pel_statement row = { start, u->insns.n, u->value, u->other, handlers_around(u), -1, node };
        pel_push(c->ctx, &u->statements, row);
    }
    u->node = outer;
    u->value = value;
    u->other = other;
    pel_leave(c);
}
