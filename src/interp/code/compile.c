/* AST -> code: units, emitting, variables; how deep the stack gets. */
#include "interp/code/compile.h"

#include "python/parse.h"

#define MAX_DEPTH 1000

void pel_enter(pel_compiler *c) {
    if (++c->depth > MAX_DEPTH)
        pel_throw(c->ctx, PEL_E_TOO_DEEP, 0, "%.*s:%u: code nests too deep", PEL_FMT(c->source->path), c->unit->line);
}
void pel_leave(pel_compiler *c) { c->depth--; }

/* ---- emitting ---- */

void pel_emit_ab(pel_compiler *c, pel_vm_op op, uint32_t a, uint32_t b) {
    if (a > UINT16_MAX) pel_throw(c->ctx, PEL_E_TOO_BIG, 0, "%.*s: an operand is too large", PEL_FMT(c->source->path));
    pel_push(c->ctx, &c->unit->insns, (pel_vm_insn){ .op = (uint8_t)op, .a = (uint16_t)a, .b = b });
    pel_push(c->ctx, &c->unit->lines, c->unit->line);
    if (!c->is_stub) pel_push(c->ctx, &c->unit->nodes, c->unit->node);
}
void pel_emit(pel_compiler *c, pel_vm_op op, uint32_t b) { pel_emit_ab(c, op, 0, b); }

pel_label pel_new_label(pel_compiler *c) {
    pel_push(c->ctx, &c->unit->labels, UINT32_MAX);
    return c->unit->labels.n - 1;
}
void pel_place(pel_compiler *c, pel_label label) { c->unit->labels.at[label] = c->unit->insns.n; }

uint32_t pel_add_const(pel_compiler *c, pel_val value) {
    pel_unit *u = c->unit;
    for (uint32_t i = u->consts.n; i > 0 && i + 8 > u->consts.n; i--)
        if (u->consts.at[i - 1] == value) return i - 1;
    pel_push(c->ctx, &u->consts, value);
    return u->consts.n - 1;
}

void pel_emit_const(pel_compiler *c, pel_val value) { pel_emit(c, PEL_I_LOAD_CONST, pel_add_const(c, value)); }

uint32_t pel_add_name(pel_compiler *c, pel_name name) {
    pel_unit *u = c->unit;
    uint64_t at = pel_map_find(&u->name_index, PEL_KEY(name), UINT64_MAX);
    if (at == UINT64_MAX) {
        at = u->names.n;
        pel_push(c->ctx, &u->names, pel_name_val(c->vm, name));
        pel_map_set(c->ctx, &u->name_index, PEL_KEY(name), at);
    }
    return (uint32_t)at;
}

pel_val pel_const_val(pel_compiler *c, const pel_const *value) {
    pel_vm *vm = c->vm;
    switch (value->kind) {
    case PEL_CONST_NONE: return vm->none;
    case PEL_CONST_FALSE: return vm->false_;
    case PEL_CONST_TRUE: return vm->true_;
    case PEL_CONST_ELLIPSIS: return vm->ellipsis;
    case PEL_CONST_INT:
        if (value->integer.digits.len) return pel_int_from_text(vm, value->integer.digits, 10);
        return pel_int_of(vm, value->integer.small);
    case PEL_CONST_FLOAT: return pel_float_of(vm, value->real);
    case PEL_CONST_COMPLEX: return pel_complex_of(vm, value->real, value->imag);
    case PEL_CONST_STR:
        if (value->text.len <= 64) return pel_interned(vm, value->text);
        return pel_new_text(vm, value->text);
    case PEL_CONST_BYTES: return pel_bytes_of(vm, value->text);
    default: break;
    }
    pel_throw(c->ctx, PEL_E_UNSUPPORTED, 0, "%.*s:%u: no literal", PEL_FMT(c->source->path), c->unit->line);
}

/* ---- variables ---- */

static uint32_t local_number(pel_compiler *c, pel_name name) {
    pel_unit *u = c->unit;
    uint64_t at = pel_map_find(&u->local_index, PEL_KEY(name), UINT64_MAX);
    if (at == UINT64_MAX) {
        at = u->locals.n;
        pel_push(c->ctx, &u->locals, pel_name_val(c->vm, name));
        pel_map_set(c->ctx, &u->local_index, PEL_KEY(name), at);
    }
    return (uint32_t)at;
}

pel_name pel_new_temp(pel_compiler *c) {
    pel_str text = pel_format(c->ctx, ".m%u", c->unit->n_temps++);
    return pel_intern_str(c->ctx, text);
}

/* A class body stores in its namespace even what is free (unless it is nonlocal), and reads there before it looks in
 * the cell. Names of the compiler's own begin with a dot; no scope lists them, and in functions they are always
 * local. */
void pel_emit_name(pel_compiler *c, pel_name name, pel_CTX use) {
    static const pel_vm_op fast[] = { PEL_I_LOAD_FAST, PEL_I_STORE_FAST, PEL_I_DELETE_FAST };
    static const pel_vm_op deref[] = { PEL_I_LOAD_DEREF, PEL_I_STORE_DEREF, PEL_I_DELETE_DEREF };
    static const pel_vm_op global[] = { PEL_I_LOAD_GLOBAL, PEL_I_STORE_GLOBAL, PEL_I_DELETE_GLOBAL };
    static const pel_vm_op named[] = { PEL_I_LOAD_NAME, PEL_I_STORE_NAME, PEL_I_DELETE_NAME };
    pel_unit *u = c->unit;
    pel_scope_kind kind = u->scope->kind;
    name = pel_mangle(c->ctx, u->scope->class_name, name);
    uint32_t uses = pel_scope_uses(u->scope, name);
    bool in_function = kind == PEL_SCOPE_FUNCTION || kind == PEL_SCOPE_COMPREHENSION;
    if (uses & PEL_USE_GLOBAL) {
        pel_emit(c, global[use], pel_add_name(c, name));
    } else if (uses & (PEL_USE_CELL | PEL_USE_FREE) && !(kind == PEL_SCOPE_CLASS && !(uses & PEL_USE_FREE))) {
        uint32_t at = (uint32_t)pel_map_find(&u->cell_index, PEL_KEY(name), 0);
        if (kind == PEL_SCOPE_CLASS && use == PEL_Load)
            pel_emit(c, PEL_I_LOAD_CLASS_DEREF, at);
        else if (kind == PEL_SCOPE_CLASS && !(uses & PEL_USE_NONLOCAL))
            pel_emit(c, named[use], pel_add_name(c, name));
        else
            pel_emit(c, deref[use], at);
    } else if (in_function && ((uses & PEL_USE_BOUND) || name->text[0] == '.') && !(uses & PEL_USE_NONLOCAL)) {
        pel_emit(c, fast[use], local_number(c, name));
    } else if (in_function) {
        pel_emit(c, global[use], pel_add_name(c, name));
    } else {
        pel_emit(c, named[use], pel_add_name(c, name));
    }
}

/* ---- units ---- */

/* pel_find_scopes has run, so a generator is known for one before its first `yield`. The unit of the module gives no
 * prefix to qualified names. Until pel_close_unit, all that is emitted goes here. */
pel_unit *pel_open_unit(pel_compiler *c, const pel_node *scope_of, pel_str name, uint32_t line) {
    pel_unit *u = pel_new(c->ctx, pel_unit);
    u->outer = c->unit;
    u->line = line;
    u->node = c->unit ? c->unit->node : NULL;
    u->scope = pel_map_pointer(&c->scopes.of, PEL_KEY(scope_of));
    PEL_ASSERT(u->scope);
    pel_codeobj *code = pel_make_object(c->vm, c->vm->types.code, sizeof *code);
    u->code = code;
    code->name = pel_interned(c->vm, name);
    code->source = c->source;
    code->file = c->source->path;
    code->is_stub = c->is_stub;
    code->first_line = line;
    code->is_generator = u->scope->is_generator;
    code->is_coroutine = u->scope->is_coroutine;
    code->is_class = u->scope->kind == PEL_SCOPE_CLASS;
    u->qualname = name;
    if (u->outer && u->outer->outer) {
        bool in_class = u->outer->scope->kind == PEL_SCOPE_CLASS;
        u->qualname =
            pel_format(c->ctx, "%.*s%s.%.*s", PEL_FMT(u->outer->qualname), in_class ? "" : ".<locals>", PEL_FMT(name));
    }
    code->qualname = pel_interned(c->vm, u->qualname);
    c->unit = u;
    return u;
}

/* Cells are numbered after parameters are known: own cells first, then free variables. */
static void number_cells(pel_compiler *c) {
    pel_unit *u = c->unit;
    for (int free = 0; free < 2; free++) {
        for (uint32_t i = 0; i < u->scope->names.n; i++) {
            pel_scope_name *row = &u->scope->names.at[i];
            bool is_free = (row->uses & PEL_USE_FREE) != 0;
            bool is_cell = (row->uses & PEL_USE_CELL) && !is_free;
            if (free ? !is_free : !is_cell) continue;
            pel_map_set(c->ctx, &u->cell_index, PEL_KEY(row->name), u->cells.n);
            pel_push(c->ctx, &u->cells, pel_name_val(c->vm, row->name));
        }
        if (!free) u->code->n_cells = u->cells.n;
    }
    u->code->n_free = u->cells.n - u->code->n_cells;
}

/* It must run before anything else takes a local: calls fill slots by number (call.c, fill), in the order of these
 * lists, then *args, then **kwargs. A comprehension has one parameter, its outermost iterator. */
void pel_declare_params(pel_compiler *c, const pel_node *args) {
    pel_unit *u = c->unit;
    if (args) {
        const pel_nodes lists[] = { args->arguments.posonlyargs, args->arguments.args, args->arguments.kwonlyargs };
        for (int l = 0; l < 3; l++)
            for (uint32_t i = 0; i < lists[l].n; i++)
                local_number(c, pel_mangle(c->ctx, u->scope->class_name, lists[l].at[i]->arg.arg));
        u->code->n_posonly = lists[0].n;
        u->code->n_args = lists[0].n + lists[1].n;
        u->code->n_kwonly = lists[2].n;
        if (args->arguments.vararg) {
            local_number(c, pel_mangle(c->ctx, u->scope->class_name, args->arguments.vararg->arg.arg));
            u->code->has_varargs = true;
        }
        if (args->arguments.kwarg) {
            local_number(c, pel_mangle(c->ctx, u->scope->class_name, args->arguments.kwarg->arg.arg));
            u->code->has_varkw = true;
        }
    } else if (u->scope->kind == PEL_SCOPE_COMPREHENSION) {
        local_number(c, pel_intern_c(c->ctx, ".0"));
        u->code->n_args = u->code->n_posonly = 1;
    }
    number_cells(c);
    u->code->cell_of_arg = pel_new_array(c->ctx, u->code->n_cells ? u->code->n_cells : 1, int32_t);
    for (uint32_t i = 0; i < u->code->n_cells; i++) {
        u->code->cell_of_arg[i] = -1;
        for (uint32_t l = 0; l < u->locals.n; l++)
            if (u->locals.at[l] == u->cells.at[i]) u->code->cell_of_arg[i] = (int32_t)l;
    }
}

/* These numbers must agree with what run.c does. A frame has room for the depth that they add up to and little more: a
 * number that is too low lets the stack run into the handlers after it. N is the N of ops.def. */
static int effect_of(const pel_vm_insn *insn, bool jumps) {
    enum { N = 99 };
    static const int8_t effects[][2] = {
#define OP(name, effect, jump) { effect, jump },
#include "interp/code/ops.def"
#undef OP
    };
    int effect = effects[insn->op][jumps];
    if (effect != N) return effect;
    int b = (int)insn->b;
    switch ((pel_vm_op)insn->op) {
    case PEL_I_BUILD_TUPLE:
    case PEL_I_BUILD_LIST:
    case PEL_I_BUILD_SET:
    case PEL_I_BUILD_STRING:
    case PEL_I_BUILD_SLICE: return 1 - b;
    case PEL_I_BUILD_MAP: return 1 - 2 * b;
    case PEL_I_FORMAT: return -b;
    case PEL_I_UNPACK: return b - 1;
    case PEL_I_UNPACK_EX: return insn->a + b;
    case PEL_I_CALL:
    case PEL_I_CALL_KW: return -1 - b;
    case PEL_I_CALL_EX: return b ? -3 : -2;
    case PEL_I_MAKE_FUNCTION: return 1 - (insn->a & 1) - (insn->a >> 1 & 1) - (insn->a >> 2 & 1) - (insn->a >> 3 & 1);
    case PEL_I_BUILD_CLASS: return -3;
    case PEL_I_RAISE: return -b;
    default: PEL_BUG("an instruction without effect");
    }
}

static bool is_jump(pel_vm_op op) {
    return (op >= PEL_I_JUMP && op <= PEL_I_POP_JUMP_IF_NOT_NONE) || op == PEL_I_FOR_ITER || op == PEL_I_SETUP_TRY ||
           op == PEL_I_WHILE || op == PEL_I_LEAVE_WHILE;
}

static bool ends_path(pel_vm_op op) {
    return op == PEL_I_JUMP || op == PEL_I_JUMP_BACK || op == PEL_I_RETURN || op == PEL_I_RAISE || op == PEL_I_RERAISE;
}

/* Every way through the code, each instruction once. */
static uint32_t stack_depth(pel_compiler *c, const pel_codeobj *code) {
    int32_t *seen = pel_alloc_raw(c->ctx, (code->n_insns + 1) * sizeof *seen);
    for (uint32_t i = 0; i < code->n_insns; i++) seen[i] = -1;
    PEL_VEC(uint32_t) todo = { 0 };
    pel_push(c->ctx, &todo, 0);
    seen[0] = 0;
    int32_t most = 0;
    while (todo.n) {
        uint32_t at = todo.at[--todo.n];
        const pel_vm_insn *insn = &code->insns[at];
        int32_t depth = seen[at];
        for (int jumps = 0; jumps < 2; jumps++) {
            if (jumps ? !is_jump((pel_vm_op)insn->op) : ends_path((pel_vm_op)insn->op)) continue;
            uint32_t to = jumps ? insn->b : at + 1;
            int32_t then = depth + effect_of(insn, jumps != 0);
            PEL_ASSERT(then >= 0 && to < code->n_insns);
            if (then > most) most = then;
            if (seen[to] < 0) {
                seen[to] = then;
                pel_push(c->ctx, &todo, to);
            }
        }
        if (depth + 3 > most) most = depth + 3; /* room for handlers and calls that are pushed in passing */
    }
    for (uint32_t i = 0; i < code->n_statements; i++) code->statements[i].depth = seen[code->statements[i].start];
    return (uint32_t)most + 2;
}

/* Labels become numbers of instructions before stack_depth runs, because it follows the jumps. Handlers that are set at
 * once are never more than the SETUP_TRYs. u->line becomes the last line of the code: who knows a better one sets it
 * first. */
pel_codeobj *pel_close_unit(pel_compiler *c) {
    pel_unit *u = c->unit;
    pel_codeobj *code = u->code;
    code->insns = u->insns.at;
    code->n_insns = u->insns.n;
    code->lines = u->lines.at;
    code->nodes = u->nodes.at;
    for (uint32_t i = 0; i < code->n_insns; i++) {
        if (is_jump((pel_vm_op)code->insns[i].op)) code->insns[i].b = u->labels.at[code->insns[i].b];
        if (code->insns[i].op == PEL_I_SETUP_TRY) code->n_blocks++;
    }
    code->statements = u->statements.at;
    code->n_statements = u->statements.n;
    for (uint32_t i = 0; i < code->n_statements; i++)
        if (code->statements[i].other != UINT32_MAX)
            code->statements[i].other = u->labels.at[code->statements[i].other];
    code->consts = u->consts.at;
    code->n_consts = u->consts.n;
    code->names = u->names.at;
    code->n_names = u->names.n;
    code->locals = u->locals.at;
    code->n_locals = u->locals.n;
    code->cells = u->cells.at;
    code->last_line = u->line;
    code->stack_size = stack_depth(c, code);
    c->unit = u->outer;
    return code;
}

/* The cells that code's free variables are, as a tuple; nothing if it has none. Returns flag or 0. */
static uint32_t emit_closure(pel_compiler *c, const pel_codeobj *code, uint32_t flag) {
    if (!code->n_free) return 0;
    for (uint32_t i = 0; i < code->n_free; i++) {
        pel_str text = pel_text_of(code->cells[code->n_cells + i]);
        pel_name name = pel_intern_str(c->ctx, text);
        pel_emit(c, PEL_I_LOAD_CLOSURE, (uint32_t)pel_map_find(&c->unit->cell_index, PEL_KEY(name), 0));
    }
    pel_emit(c, PEL_I_BUILD_TUPLE, code->n_free);
    return flag;
}

void pel_emit_function(pel_compiler *c, pel_codeobj *code, uint32_t flags) {
    flags |= emit_closure(c, code, 4);
    if (code->annotations) flags |= emit_closure(c, code->annotations, 8);
    pel_emit_ab(c, PEL_I_MAKE_FUNCTION, flags, pel_add_const(c, &code->head));
}

/* ---- whole files ---- */

static bool has_future(const pel_node *root) {
    if (root->kind != PEL_Module) return false;
    for (uint32_t i = 0; i < root->Module.body.n; i++) {
        const pel_node *stmt = root->Module.body.at[i];
        if (stmt->kind == PEL_Expr && stmt->Expr.value->kind == PEL_Constant) continue;
        if (stmt->kind != PEL_ImportFrom || !pel_name_is(stmt->ImportFrom.module, "__future__")) return false;
        for (uint32_t k = 0; k < stmt->ImportFrom.names.n; k++)
            if (pel_name_is(stmt->ImportFrom.names.at[k]->alias.name, "annotations")) return true;
    }
    return false;
}

static bool has_annotations(const pel_node *root) {
    if (root->kind != PEL_Module) return false;
    for (uint32_t i = 0; i < root->Module.body.n; i++)
        if (root->Module.body.at[i]->kind == PEL_AnnAssign) return true;
    return false;
}

pel_codeobj *pel_compile(pel_vm *vm, pel_node *root, pel_module_source *source, bool is_stub) {
    pel_compiler c = { .vm = vm, .ctx = vm->ctx, .source = source, .is_stub = is_stub };
    c.future_annotations = has_future(root);
    pel_find_scopes(vm, root, &c.scopes);
    pel_open_unit(&c, root, root->kind == PEL_Module ? PEL_STR("<module>") : PEL_STR("<expression>"), 1);
    c.unit->qualname = PEL_STR("");
    pel_declare_params(&c, NULL);
    if (root->kind == PEL_Expression) {
        pel_compile_expr(&c, root->Expression.body);
    } else {
        if (has_annotations(root)) pel_emit(&c, PEL_I_SETUP_ANNOTATIONS, 0);
        pel_nodes body = root->Module.body;
        if (body.n && body.at[0]->kind == PEL_Expr && body.at[0]->Expr.value->kind == PEL_Constant &&
            body.at[0]->Expr.value->Constant.value->kind == PEL_CONST_STR) {
            pel_emit_const(&c, pel_const_val(&c, body.at[0]->Expr.value->Constant.value));
            pel_emit(&c, PEL_I_STORE_NAME, pel_add_name(&c, pel_intern_c(c.ctx, "__doc__")));
        }
        pel_compile_body(&c, body);
        pel_emit_const(&c, vm->none);
    }
    pel_emit(&c, PEL_I_RETURN, 0);
    return pel_close_unit(&c);
}
