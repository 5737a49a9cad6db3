/* Code that no compiler laid out -> statements that do the same, one after the other.
 *
 * The walk of the other files trusts that a compiler made the code: then a value is used where the expression that
 * holds it ends, and what is copied or exchanged on the stack is one of a few idioms. Generated code juggles its stack
 * at will. Here nothing is trusted. An expression stays on the stack unevaluated only as long as no order can be
 * mistaken: before anything with an effect, and before it is copied or moved, it is stored in a variable of our own,
 * the deepest first, which is the order in which the instructions ran. Of control flow there are forward jumps that
 * nest, loops over an iterator that run to their end, and handlers that clean up and raise again. */
#include "decompile/flat.h"

#define MAX_DEPTH 100

typedef pel_flat_walk flat;

/* How a walk ended. */
typedef enum outcome {
    ENDED,  /* returned, or raised */
    FELL,   /* reached the label that it was to stop at */
    JUMPED, /* goes on at another label */
} outcome;

static outcome run(flat *f, stack *s, uint32_t at, uint32_t stop, uint32_t *to);

static _Noreturn void fail(flat *f, uint32_t at, const char *what) { pel_lift_fail(f->l, at, what); }

/* ---- variables of our own ---- */

static void take_names(flat *f, pel_name_list list) {
    for (uint32_t i = 0; i < list.n; i++) pel_map_set(f->l->ctx, &f->names.taken, PEL_KEY(list.at[i]), 1);
}

/* A variable of ours must not hide a global that code inside uses. */
static void take_all_names(flat *f, const pel_code_object *code, int depth) {
    if (depth > MAX_DEPTH) fail(f, 0, "code objects nest too deep");
    take_names(f, code->names);
    take_names(f, code->localsplus);
    take_names(f, code->cellvars);
    for (uint32_t i = 0; i < code->n_consts; i++)
        if (code->consts[i]->kind == PEL_CONST_CODE) take_all_names(f, code->consts[i]->code, depth + 1);
}

pel_name pel_own_name(pel_ctx *ctx, pel_own_names *names, const char *prefix) {
    for (;;) {
        pel_str text = pel_format(ctx, "%s_%u", prefix, ++names->n);
        pel_name name = pel_intern_str(ctx, text);
        if (pel_map_has(&names->taken, PEL_KEY(name))) continue;
        pel_map_set(ctx, &names->ours, PEL_KEY(name), 1);
        return name;
    }
}

static pel_name new_name(flat *f, const char *prefix) { return pel_own_name(f->l->ctx, &f->names, prefix); }

static pel_node *name_node(flat *f, pel_name name, pel_CTX use, uint32_t at) {
    pel_node *node = pel_make(f->l, PEL_Name, at);
    node->Name.id = name;
    node->Name.ctx = use;
    return node;
}

/* A value that was made before, by instructions that belong to the statement which made it. */
static pel_node *reload(flat *f, pel_name name) { return name_node(f, name, PEL_Load, PEL_NONE); }

static void assign(flat *f, pel_node *target, pel_node *value, uint32_t at) {
    pel_node *stmt = pel_make(f->l, PEL_Assign, at);
    stmt->Assign.targets = pel_nodes_one(f->l->ctx, target);
    stmt->Assign.value = value;
    pel_lift_emit(f->l, stmt);
}

/* A variable that surely has a value: evaluating it raises nothing. */
static bool is_sure(const flat *f, pel_name name) {
    const pel_code_object *code = f->l->code;
    uint32_t n =
        code->argcount + code->kwonlyargcount + !!(code->flags & PEL_CO_VARARGS) + !!(code->flags & PEL_CO_VARKEYWORDS);
    bool is_arg = false;
    for (uint32_t i = 0; i < n && i < code->varnames.n; i++) is_arg |= pel_unmangle(f->l, code->varnames.at[i]) == name;
    return is_arg && !pel_map_has(&f->deleted, PEL_KEY(name));
}

static bool is_local(const flat *f, pel_name name) {
    if (f->is_careful && !is_sure(f, name)) return false;
    for (uint32_t i = 0; i < f->l->code->varnames.n; i++)
        if (pel_unmangle(f->l, f->l->code->varnames.at[i]) == name) {
            for (uint32_t k = 0; k < f->l->code->cellvars.n; k++)
                if (f->l->code->cellvars.at[k] == f->l->code->varnames.at[i]) return false;
            return true;
        }
    return false;
}

/* Whether evaluating it later gives the same and can't be noticed: constants, our variables, and local variables, until
 * somebody stores there. */
static bool is_fixed(const flat *f, const pel_node *node) {
    switch (node->kind) {
    case PEL_Constant: return node->Constant.value->kind != PEL_CONST_CODE;
    case PEL_Name: return pel_map_has(&f->names.ours, PEL_KEY(node->Name.id)) || is_local(f, node->Name.id);
    case PEL_UnaryOp: return node->UnaryOp.operand->kind == PEL_Constant;
    case PEL_Tuple:
        for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
            if (node->Tuple.elts.at[i]->kind != PEL_Constant) return false;
        return true;
    default: return false;
    }
}

static pel_node *or_none(flat *f, pel_node *node) { return node ? node : pel_make_none(f->l->ctx); }

pel_node *pel_flat_builtin(flat *f, const char *name) {
    pel_name id = pel_intern_c(f->l->ctx, name);
    if (pel_map_has(&f->bound, PEL_KEY(id))) fail(f, 0, "a built-in name has another meaning");
    return pel_make_name(f->l->ctx, id, PEL_Load);
}

static pel_node *call_builtin(flat *f, const char *name, pel_nodes args) {
    return pel_make_call(f->l->ctx, pel_flat_builtin(f, name), args, (pel_nodes){ 0 });
}

/* slice(a, b, c), for a slice that does not stand in brackets */
static pel_node *slice_call(flat *f, const pel_node *slice) {
    pel_nodes args = { 0 };
    pel_nodes_push(f->l->ctx, &args, or_none(f, slice->Slice.lower));
    pel_nodes_push(f->l->ctx, &args, or_none(f, slice->Slice.upper));
    if (slice->Slice.step) pel_nodes_push(f->l->ctx, &args, slice->Slice.step);
    return call_builtin(f, "slice", args);
}

static void spill_item(flat *f, item *it, uint32_t at) {
    if (it->kind == IT_NULL || it->kind == IT_ITER || it->kind == IT_EXIT) return;
    if (f->is_careful && it->kind != IT_EXPR) return; /* no value of the language */
    if (it->kind == IT_EXPR && is_fixed(f, it->node)) return;
    pel_node *value = pel_item_expr(f->l, *it, at);
    if (value->kind == PEL_Comment) fail(f, at, "a class is built in a way that no statement does");
    if (value->kind == PEL_Slice) value = slice_call(f, value);
    pel_name name = new_name(f, "value");
    assign(f, name_node(f, name, PEL_Store, it->at), value, it->at);
    *it = (item){ .kind = IT_EXPR, .at = it->at, .node = reload(f, name) };
}

/* The n deepest items can wait from here on, whatever is done. */
static void spill(flat *f, stack *s, uint32_t n, uint32_t at) {
    for (uint32_t i = 0; i < n && i < s->n; i++) spill_item(f, &s->at[i], at);
}

/* A variable changes: what still is to be read from it is read now. */
static void spill_variable(flat *f, stack *s, pel_name name, uint32_t at) {
    for (uint32_t i = 0; i < s->n; i++) {
        item *it = &s->at[i];
        if (it->kind != IT_EXPR || it->node->kind != PEL_Name || it->node->Name.id != name) continue;
        pel_name ours = new_name(f, "value");
        assign(f, name_node(f, ours, PEL_Store, at), it->node, at);
        it->node = reload(f, ours);
    }
}

/* ---- instructions that mean something else here ---- */

static void declare(flat *f, const pel_ins *ins) {
    const pel_code_object *code = f->l->code;
    bool is_free = false;
    for (uint32_t i = 0; i < code->freevars.n; i++) is_free |= code->freevars.at[i] == ins->name;
    if (ins->sub != PEL_GLOBAL && !(ins->sub == PEL_DEREF && is_free)) return;
    for (uint32_t i = 0; i < f->l->declared.n; i++)
        if (f->l->declared.at[i] == ins->name) return;
    pel_push(f->l->ctx, &f->l->declared, ins->name);
}

static void store_name(flat *f, stack *s, pel_node *value, const pel_ins *ins, uint32_t at) {
    pel_name name = pel_unmangle(f->l, ins->name);
    declare(f, ins);
    spill(f, s, s->n, at);
    spill_variable(f, s, name, at);
    if (value->kind == PEL_Slice) value = slice_call(f, value);
    assign(f, name_node(f, name, PEL_Store, at), value, at);
}

/* COPY 1; STORE x: the variable itself stands for the copy. */
static bool copy_and_store(flat *f, stack *s, uint32_t at) {
    const pel_ins *next = &f->l->c->at[at + 1];
    if (at + 1 >= f->limit || next->op != PEL_I_STORE || next->sub != PEL_FAST || next->is_target ||
        s->at[s->n - 1].kind != IT_EXPR)
        return false;
    if (!is_local(f, next->name)) return false;
    store_name(f, s, pel_pop_expr(f->l, s, at), next, at + 1);
    pel_push_expr(f->l, s, at, reload(f, pel_unmangle(f->l, next->name)));
    return true;
}

static void copy(flat *f, stack *s, uint32_t n, uint32_t at) {
    if (n < 1 || n > s->n) fail(f, at, "the stack is empty");
    spill(f, s, s->n - n + 1, at);
    item copied = s->at[s->n - n];
    if (copied.kind == IT_EXPR) {
        copied.node = pel_copy(f->l->ctx, copied.node);
        copied.node->mark = 0;
    }
    pel_stack_push(f->l, s, copied);
}

static void swap(flat *f, stack *s, uint32_t n, uint32_t at) {
    if (n < 2 || n > s->n) fail(f, at, "the stack is empty");
    spill(f, s, s->n, at);
    item top = s->at[s->n - 1];
    s->at[s->n - 1] = s->at[s->n - n];
    s->at[s->n - n] = top;
}

static void pop(flat *f, stack *s, uint32_t at) {
    item it = pel_stack_pop(f->l, s, at);
    if (it.kind == IT_NULL || (f->is_careful && it.kind != IT_EXPR) || (it.kind == IT_EXPR && is_fixed(f, it.node)))
        return;
    pel_node *value = pel_item_expr(f->l, it, at);
    if (value->kind == PEL_Slice) return;
    spill(f, s, s->n, at);
    pel_lift_emit(f->l, pel_make_expr(f->l->ctx, value));
}

/* One target of an unpacking: a star if it takes the rest. */
static pel_node *part_target(flat *f, pel_name name, bool is_star, uint32_t at) {
    pel_node *target = name_node(f, name, PEL_Store, at);
    if (!is_star) return target;
    pel_node *star = pel_make(f->l, PEL_Starred, at);
    star->Starred.value = target;
    star->Starred.ctx = PEL_Store;
    return star;
}

/* Each part into a variable of our own, or where the instructions that follow store it. Returns how many of those. */
static uint32_t unpack(flat *f, stack *s, const pel_ins *ins, uint32_t at) {
    pel_lift *l = f->l;
    bool is_ex = ins->op == PEL_I_UNPACK_EX;
    uint32_t star = is_ex ? ins->arg & 0xff : PEL_NONE;
    uint32_t n = is_ex ? star + 1 + (ins->arg >> 8) : ins->arg;
    if (n > 65536) fail(f, at, "too much is unpacked");
    pel_node *value = pel_pop_expr(l, s, at);
    spill(f, s, s->n, at);
    bool stored = true;
    for (uint32_t i = 1; i <= n && stored; i++)
        stored = at + i < f->limit && l->c->at[at + i].op == PEL_I_STORE && !l->c->at[at + i].is_target;
    pel_node *tuple = pel_make(l, PEL_Tuple, at);
    tuple->Tuple.ctx = PEL_Store;
    PEL_VEC(pel_name) names = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        const pel_ins *store = &l->c->at[at + 1 + i];
        pel_name name = stored ? pel_unmangle(l, store->name) : new_name(f, "value");
        if (stored) {
            declare(f, store);
            spill_variable(f, s, name, at);
        }
        pel_push(l->ctx, &names, name);
        pel_nodes_push(l->ctx, &tuple->Tuple.elts, part_target(f, name, i == star, at));
    }
    assign(f, tuple, value, at);
    if (stored) return n;
    for (uint32_t i = n; i-- > 0;) pel_push_expr(l, s, at, reload(f, names.at[i]));
    return 0;
}

/* a += b has no value in the language: it is made on a variable. Returns how many instructions after it are done too.
 */
static uint32_t in_place(flat *f, stack *s, const pel_ins *ins, uint32_t at) {
    pel_lift *l = f->l;
    pel_node *right = pel_pop_expr(l, s, at), *left = pel_pop_expr(l, s, at);
    const pel_ins *next = &l->c->at[at + 1];
    bool same = at + 1 < f->limit && next->op == PEL_I_STORE && !next->is_target && left->kind == PEL_Name &&
                left->Name.id == pel_unmangle(l, next->name);
    spill(f, s, s->n, at);
    pel_name name = same ? left->Name.id : new_name(f, "value");
    if (same) {
        declare(f, next);
        spill_variable(f, s, name, at);
    } else {
        assign(f, name_node(f, name, PEL_Store, at), left, at);
    }
    pel_node *stmt = pel_make(l, PEL_AugAssign, at);
    stmt->AugAssign.target = name_node(f, name, PEL_Store, at);
    stmt->AugAssign.op = ins->sub;
    stmt->AugAssign.value = right;
    pel_lift_emit(l, stmt);
    if (same) return 1;
    pel_push_expr(l, s, at, reload(f, name));
    return 0;
}

static void emit_method(flat *f, pel_node *object, const char *method, pel_nodes args, uint32_t at) {
    pel_node *attribute = pel_make(f->l, PEL_Attribute, at);
    attribute->Attribute.value = object;
    attribute->Attribute.attr = pel_intern_c(f->l->ctx, method);
    pel_lift_emit(f->l, pel_make_expr(f->l->ctx, pel_make_call(f->l->ctx, attribute, args, (pel_nodes){ 0 })));
}

/* A list, set or dict that is somewhere on the stack grows. */
static void grow(flat *f, stack *s, const pel_ins *ins, uint32_t at) {
    pel_lift *l = f->l;
    bool is_append = ins->op == PEL_I_APPEND, is_dict = ins->sub == PEL_D_DICT || ins->sub == PEL_D_MERGE;
    if (!is_append && ins->arg == 1 && s->n >= 2 && s->at[s->n - 2].kind == IT_EXPR) {
        pel_kind kind = s->at[s->n - 2].node->kind; /* a display in the making */
        if (kind == PEL_List || kind == PEL_Set || kind == PEL_Dict) {
            pel_step(l, s, at);
            return;
        }
    }
    pel_node *value = pel_pop_expr(l, s, at), *key = NULL;
    if (is_append && is_dict) key = pel_pop_expr(l, s, at);
    if (!ins->arg || ins->arg > s->n) fail(f, at, "the stack is empty");
    spill(f, s, s->n, at);
    pel_node *into = pel_item_expr(l, s->at[s->n - ins->arg], at);
    if (key) {
        pel_node *target = pel_make(l, PEL_Subscript, at);
        target->Subscript.value = into;
        target->Subscript.slice = key;
        target->Subscript.ctx = PEL_Store;
        assign(f, target, value, at);
        return;
    }
    if (f->is_careful && ins->sub == PEL_D_MERGE) fail(f, at, "keywords of a call are joined in several steps");
    if (f->is_careful && is_dict) { /* only a mapping has a place there */
        pel_node *only = pel_make(l, PEL_Dict, at);
        pel_nodes_push(l->ctx, &only->Dict.keys, NULL);
        pel_nodes_push(l->ctx, &only->Dict.values, value);
        value = only;
    }
    const char *method = is_append                ? (ins->sub == PEL_D_SET ? "add" : "append")
                         : ins->sub == PEL_D_LIST ? "extend"
                                                  : "update";
    emit_method(f, into, method, pel_nodes_one(l->ctx, value), at);
}

/* (lambda: x).__closure__[0]: how a cell is had */
static pel_node *cell(flat *f, pel_name name, uint32_t at) {
    pel_lift *l = f->l;
    pel_node *lambda = pel_make(l, PEL_Lambda, at);
    lambda->Lambda.args = pel_node_new(l->ctx, PEL_arguments);
    lambda->Lambda.body = pel_make_name(l->ctx, pel_unmangle(l, name), PEL_Load);
    pel_node *closure = pel_make_attribute(l->ctx, lambda, pel_intern_c(l->ctx, "__closure__"), PEL_Load);
    pel_node *node = pel_make(l, PEL_Subscript, at);
    node->Subscript.value = closure;
    node->Subscript.slice = pel_make_int(l->ctx, 0);
    return node;
}

/* A code object as a value: that of a function which is defined for it and never called. */
static pel_node *code_value(flat *f, const pel_code_object *code, uint32_t at) {
    pel_lift *l = f->l;
    pel_node *def = pel_read_function(l, code, at);
    pel_name attribute = pel_intern_c(l->ctx, "__code__");
    bool is_lambda = def->kind == PEL_Lambda;
    if (is_lambda && !code->freevars.n) return pel_make_attribute(l->ctx, def, attribute, PEL_Load);
    if (!is_lambda && def->kind != PEL_FunctionDef && def->kind != PEL_AsyncFunctionDef)
        fail(f, at, "code of this kind is used as a value");
    /* inside a function of its own, where its name is in nobody's way */
    pel_node *maker = pel_make(l, PEL_FunctionDef, at);
    maker->FunctionDef.name = new_name(f, "code");
    maker->FunctionDef.args = pel_node_new(l->ctx, PEL_arguments);
    pel_node *function = is_lambda ? def : pel_make_name(l->ctx, def->FunctionDef.name, PEL_Load);
    for (uint32_t i = 0; i < code->freevars.n; i++) { /* whose cells it will get is not said here */
        pel_node *variable = pel_make_name(l->ctx, pel_unmangle(l, code->freevars.at[i]), PEL_Store);
        pel_node *none = pel_make_none(l->ctx);
        pel_nodes_push(l->ctx, &maker->FunctionDef.body, pel_make_assign(l->ctx, variable, none));
    }
    if (!is_lambda) pel_nodes_push(l->ctx, &maker->FunctionDef.body, def);
    pel_nodes_push(l->ctx, &maker->FunctionDef.body,
                   pel_make_return(l->ctx, pel_make_attribute(l->ctx, function, attribute, PEL_Load)));
    pel_lift_emit(l, maker);
    return pel_make_call(l->ctx, pel_make_name(l->ctx, maker->FunctionDef.name, PEL_Load), (pel_nodes){ 0 },
                         (pel_nodes){ 0 });
}

/* Whether the next instruction only adds to a def: a default, a decorator. */
static bool adds_to_def(const flat *f, const stack *s, uint32_t at) {
    const pel_ins *next = &f->l->c->at[at + 1];
    if (at + 1 >= f->limit) return false;
    if (next->op == PEL_I_FUNCTION_PART) return true;
    if (s->n < 2 || s->at[s->n - 2].kind != IT_EXPR || s->at[s->n - 2].node->kind == PEL_Comment) return false;
    return next->op == PEL_I_CALL && !next->value && next->arg + next->sub == 2;
}

/* A def is a statement at once; its name stands for it. */
static void settle_def(flat *f, stack *s, uint32_t at) {
    if (!s->n || s->at[s->n - 1].kind != IT_EXPR || adds_to_def(f, s, at)) return;
    pel_node *def = s->at[s->n - 1].node;
    if (def->kind != PEL_FunctionDef && def->kind != PEL_AsyncFunctionDef && def->kind != PEL_ClassDef) return;
    const pel_ins *next = &f->l->c->at[at + 1];
    bool is_stored = at + 1 < f->limit && next->op == PEL_I_STORE &&
                     pel_unmangle(f->l, next->name) == def->FunctionDef.name; /* a class has it in the same place */
    if (!is_stored && pel_map_has(&f->names.taken, PEL_KEY(def->FunctionDef.name)))
        fail(f, at, "a function whose name means something else");
    s->n--;
    spill(f, s, s->n, at);
    spill_variable(f, s, def->FunctionDef.name, at);
    pel_lift_emit(f->l, def);
    pel_push_expr(f->l, s, at, reload(f, def->FunctionDef.name));
    pel_map_set(f->l->ctx, &f->names.ours, PEL_KEY(def->FunctionDef.name), 1);
}

static bool is_cell(const pel_node *node) {
    return node->kind == PEL_Subscript && node->Subscript.value->kind == PEL_Attribute &&
           pel_name_is(node->Subscript.value->Attribute.attr, "__closure__");
}

/* The closure of a def goes without saying; it is not evaluated. */
static void make_function(flat *f, stack *s, const pel_ins *ins, uint32_t at) {
    if (ins->arg & 8 && s->n >= 2 && s->at[s->n - 2].kind == IT_EXPR) {
        pel_node *closure = s->at[s->n - 2].node; /* below the code, or below the function in the making */
        if (closure->kind != PEL_Tuple) fail(f, at, "a closure of unknown shape");
        for (uint32_t i = 0; i < closure->Tuple.elts.n; i++)
            if (!is_cell(closure->Tuple.elts.at[i])) fail(f, at, "a closure of unknown shape");
        s->at[s->n - 2] = (item){ .kind = IT_SILENT, .at = at };
    }
    pel_step(f->l, s, at);
    bool is_class = s->n && s->at[s->n - 1].kind == IT_EXPR && s->at[s->n - 1].node->kind == PEL_ClassDef;
    if (!is_class) settle_def(f, s, at); /* that is not built yet */
}

static void list_to_tuple(flat *f, stack *s, uint32_t at) {
    if (s->n && s->at[s->n - 1].kind == IT_EXPR && s->at[s->n - 1].node->kind == PEL_List) {
        pel_step(f->l, s, at);
        return;
    }
    pel_node *star = pel_make(f->l, PEL_Starred, at), *tuple = pel_make(f->l, PEL_Tuple, at);
    star->Starred.value = pel_pop_expr(f->l, s, at);
    tuple->Tuple.elts = pel_nodes_one(f->l->ctx, star);
    pel_push_expr(f->l, s, at, tuple);
}

/* Statements on an object: the walk of the others, on a stack where nothing else waits. */
static void object_statement(flat *f, stack *s, uint32_t at, uint32_t operands) {
    if (s->n < operands) fail(f, at, "the stack is empty");
    uint32_t below = s->n - operands;
    spill(f, s, below, at);
    stack own = { 0 };
    for (uint32_t i = below; i < s->n; i++) {
        if (s->at[i].kind == IT_EXPR && s->at[i].node->kind == PEL_Slice && i == below && operands == 3)
            s->at[i].node = slice_call(f, s->at[i].node);
        pel_stack_push(f->l, &own, s->at[i]);
    }
    s->n = below;
    uint32_t base = f->l->region->base;
    f->l->region->base = 0;
    pel_step(f->l, &own, at);
    f->l->region->base = base;
}

/* One instruction that is no jump. Returns how many after it are done too. */
static uint32_t step(flat *f, stack *s, uint32_t at) {
    pel_lift *l = f->l;
    const pel_ins *ins = &l->c->at[at];
    switch ((pel_iop)ins->op) {
    case PEL_I_COPY:
        if (ins->arg == 1 && s->n && at + 1 < l->c->n && copy_and_store(f, s, at)) return 1;
        copy(f, s, ins->arg, at);
        return 0;
    case PEL_I_SWAP: swap(f, s, ins->arg, at); return 0;
    case PEL_I_POP: pop(f, s, at); return 0;
    case PEL_I_STORE: {
        if (s->n && s->at[s->n - 1].kind == IT_NOTES) break;
        pel_node *value = pel_pop_expr(l, s, at);
        bool is_itself = value->kind == PEL_Name && value->Name.id == pel_unmangle(l, ins->name);
        if (is_itself && f->is_careful) is_itself = pel_map_has(&f->names.ours, PEL_KEY(value->Name.id));
        if (is_itself)
            declare(f, ins);
        else
            store_name(f, s, value, ins, at);
        return 0;
    }
    case PEL_I_DELETE:
        spill(f, s, s->n, at);
        spill_variable(f, s, pel_unmangle(l, ins->name), at);
        pel_step(l, s, at);
        return 0;
    case PEL_I_STORE_ATTR: object_statement(f, s, at, 2); return 0;
    case PEL_I_STORE_SUBSCR: object_statement(f, s, at, 3); return 0;
    case PEL_I_DELETE_ATTR: object_statement(f, s, at, 1); return 0;
    case PEL_I_DELETE_SUBSCR: object_statement(f, s, at, 2); return 0;
    case PEL_I_UNPACK:
    case PEL_I_UNPACK_EX: return unpack(f, s, ins, at);
    case PEL_I_BINARY:
        if (ins->flag) return in_place(f, s, ins, at);
        break;
    case PEL_I_EXTEND:
    case PEL_I_APPEND: grow(f, s, ins, at); return 0;
    case PEL_I_LIST_TO_TUPLE: list_to_tuple(f, s, at); return 0;
    case PEL_I_GET_ITER:
        if (!f->is_careful && (ins->flag || (at + 1 < l->c->n && l->c->at[at + 1].op == PEL_I_FOR)))
            break; /* the loop does it */
        if (ins->flag) fail(f, at, "an `async for`, which has no form without structure");
        pel_push_expr(l, s, at, call_builtin(f, "iter", pel_nodes_one(l->ctx, pel_pop_expr(l, s, at))));
        return 0;
    case PEL_I_CELL: pel_push_expr(l, s, at, cell(f, ins->name, at)); return 0;
    case PEL_I_CONST: {
        bool is_code = ins->value->kind == PEL_CONST_CODE;
        if (!is_code || (at + 1 < f->limit && l->c->at[at + 1].op == PEL_I_FUNCTION)) break;
        pel_push_expr(l, s, at, code_value(f, ins->value->code, at));
        return 0;
    }
    case PEL_I_FUNCTION:
    case PEL_I_FUNCTION_PART: make_function(f, s, ins, at); return 0;
    case PEL_I_IMPORT:
    case PEL_I_IMPORT_FROM:
    case PEL_I_IMPORT_STAR:
    case PEL_I_WITH_EXIT:
    case PEL_I_LOAD_CLEAR: fail(f, at, "an instruction that is not for code without a layout");
    default: break;
    }
    pel_step(l, s, at);
    if (ins->op == PEL_I_CALL || ins->op == PEL_I_CALL_EX) settle_def(f, s, at);
    return 0;
}

uint32_t pel_flat_step(pel_flat_walk *f, stack *s, uint32_t at) { return step(f, s, at); }
void pel_flat_spill(pel_flat_walk *f, stack *s, uint32_t n, uint32_t at) { spill(f, s, n, at); }

void pel_flat_begin(pel_flat_walk *f, pel_lift *l) {
    *f = (flat){ .l = l, .open = pel_new_array(l->ctx, (size_t)l->c->n_guards + 1, bool), .limit = l->c->n };
    take_all_names(f, l->code, 0);
    for (uint32_t i = 0; i < l->c->n; i++) {
        const pel_ins *ins = &l->c->at[i];
        bool is_deleted = ins->op == PEL_I_DELETE || ins->op == PEL_I_LOAD_CLEAR;
        if (is_deleted) pel_map_set(l->ctx, &f->deleted, PEL_KEY(pel_unmangle(l, ins->name)), 1);
        if (is_deleted || ins->op == PEL_I_STORE) pel_map_set(l->ctx, &f->bound, PEL_KEY(ins->name), 1);
    }
    pel_name_list lists[] = { l->code->varnames, l->code->cellvars, l->code->freevars };
    for (uint32_t k = 0; k < PEL_COUNT(lists); k++)
        for (uint32_t i = 0; i < lists[k].n; i++) pel_map_set(l->ctx, &f->bound, PEL_KEY(lists[k].at[i]), 1);
}

/* ---- jumps ---- */

/* Statements go to a region of their own. */
static region begin(flat *f, region **outer) {
    *outer = f->l->region;
    return (region){ .outer = *outer, .end = f->l->c->n, .fall = PEL_NONE };
}

static pel_nodes pass_if_empty(flat *f, pel_nodes body) {
    if (!body.n) pel_nodes_push(f->l->ctx, &body, pel_node_new(f->l->ctx, PEL_Pass));
    return body;
}

static bool same_item(const item *a, const item *b) {
    if (a->kind != b->kind) return false;
    if (a->kind != IT_EXPR || a->node == b->node) return true;
    return a->node->kind == PEL_Name && b->node->kind == PEL_Name && a->node->Name.id == b->node->Name.id;
}

/* Two ways meet: what differs on their stacks goes into a variable of our own, on both. */
static void meet(flat *f, stack *a, pel_nodes *a_out, stack *b, pel_nodes *b_out, uint32_t at) {
    if (a->n != b->n) fail(f, at, "ways with unequal stacks meet");
    region *outer, r = begin(f, &outer);
    for (uint32_t i = 0; i < a->n; i++) {
        if (same_item(&a->at[i], &b->at[i])) continue;
        if (a->at[i].kind != IT_EXPR || b->at[i].kind != IT_EXPR) fail(f, at, "ways with unequal stacks meet");
        pel_name name = new_name(f, "value");
        struct {
            stack *s;
            pel_nodes *out;
        } ways[] = { { a, a_out }, { b, b_out } };
        for (int k = 0; k < 2; k++) {
            r.out = *ways[k].out;
            f->l->region = &r;
            pel_node *value = pel_item_expr(f->l, ways[k].s->at[i], at);
            if (value->kind == PEL_Slice) value = slice_call(f, value);
            assign(f, name_node(f, name, PEL_Store, at), value, at);
            *ways[k].out = r.out;
            ways[k].s->at[i] = (item){ .kind = IT_EXPR, .at = at, .node = reload(f, name) };
        }
    }
    f->l->region = outer;
}

/* The condition under which a jump is not taken. */
pel_node *pel_flat_stays(pel_lift *l, const pel_ins *ins, pel_node *value, uint32_t at) {
    switch (ins->op) {
    case PEL_I_PJF:
    case PEL_I_JFP: return value;
    case PEL_I_PJT:
    case PEL_I_JTP: return pel_negate(l, value);
    default: {
        pel_node *node = pel_make(l, PEL_Compare, at);
        node->Compare.left = value;
        node->Compare.ops.at = pel_alloc_array(l->ctx, 1, 1);
        node->Compare.ops.at[0] = ins->op == PEL_I_PJN ? PEL_IsNot : PEL_Is;
        node->Compare.ops.n = 1;
        node->Compare.comparators = pel_nodes_one(l->ctx, pel_make_none(l->ctx));
        return node;
    }
    }
}

static outcome run_part(flat *f, stack *s, uint32_t at, uint32_t stop, uint32_t *to, pel_nodes *out) {
    region *outer, r = begin(f, &outer);
    f->l->region = &r;
    outcome how = run(f, s, at, stop, to);
    f->l->region = outer;
    *out = r.out;
    return how;
}

/* At a conditional jump forward: an `if`, and what comes after it. Returns where to go on, PEL_NONE if nowhere. */
static uint32_t branch(flat *f, stack *s, uint32_t at) {
    pel_lift *l = f->l;
    const pel_ins *ins = &l->c->at[at];
    uint32_t target = ins->target;
    if (target <= at) fail(f, at, "a loop");
    bool keeps = ins->op == PEL_I_JFP || ins->op == PEL_I_JTP;
    if (keeps) spill(f, s, s->n, at);
    item tested = pel_stack_pop(l, s, at);
    spill(f, s, s->n, at);
    stack yes = pel_stack_copy(l, s, s->n), no = pel_stack_copy(l, s, s->n);
    if (keeps) pel_stack_push(l, &no, tested);
    pel_node *stmt = pel_make(l, PEL_If, at);
    stmt->If.test = pel_flat_stays(l, ins, pel_item_expr(l, tested, at), at);
    pel_nodes body = { 0 }, orelse = { 0 };
    uint32_t to = PEL_NONE, other = PEL_NONE, next = target;
    outcome how = run_part(f, &yes, at + 1, target, &to, &body);
    if (how == FELL) {
        meet(f, &yes, &body, &no, &orelse, at);
        *s = yes;
    } else if (how == JUMPED) {
        outcome then = run_part(f, &no, target, to, &other, &orelse);
        if (then == JUMPED) fail(f, at, "ways that do not meet");
        if (then == FELL) meet(f, &yes, &body, &no, &orelse, at);
        *s = yes;
        next = to;
    } else {
        *s = no;
    }
    stmt->If.body = pass_if_empty(f, body);
    stmt->If.orelse = orelse;
    pel_lift_emit(l, stmt);
    return next;
}

/* `for`, as far as it ends by itself. Returns where to go on. */
static uint32_t for_loop(flat *f, stack *s, uint32_t at) {
    pel_lift *l = f->l;
    const pel_ins *ins = &l->c->at[at];
    if (ins->target <= at || ins->flag) fail(f, at, "a loop of unknown shape");
    pel_node *stmt = pel_make(l, PEL_For, at);
    stmt->For.iter = pel_pop_expr(l, s, at);
    spill(f, s, s->n, at);
    pel_name name = new_name(f, "item");
    stmt->For.target = name_node(f, name, PEL_Store, at);
    stack inside = pel_stack_copy(l, s, s->n);
    pel_stack_push(l, &inside, (item){ .kind = IT_ITER, .at = at });
    pel_push_expr(l, &inside, at, reload(f, name));
    pel_nodes body;
    uint32_t to;
    if (run_part(f, &inside, at + 1, at, &to, &body) != FELL) fail(f, at, "a loop that is left in its middle");
    if (inside.n != s->n + 1) fail(f, at, "a loop that changes the stack");
    for (uint32_t i = 0; i < s->n; i++)
        if (!same_item(&s->at[i], &inside.at[i])) fail(f, at, "a loop that changes the stack");
    stmt->For.body = pass_if_empty(f, body);
    pel_lift_emit(l, stmt);
    return ins->target;
}

/* ---- handlers ---- */

/* The outermost handler around an instruction whose statement has not begun. */
static uint32_t guard_at(const flat *f, uint32_t at) {
    uint32_t found = PEL_NONE;
    const pel_canon *c = f->l->c;
    for (uint32_t g = c->at[at].cover, steps = 0; g != PEL_NONE && steps <= c->n_guards;
         g = c->guards[g].outer, steps++)
        if (!f->open[g]) found = g;
    return found;
}

static bool is_covered(const flat *f, uint32_t at, uint32_t guard) {
    const pel_canon *c = f->l->c;
    for (uint32_t g = c->at[at].cover, steps = 0; g != PEL_NONE && steps <= c->n_guards;
         g = c->guards[g].outer, steps++)
        if (g == guard) return true;
    return false;
}

/* What a handler does before it raises again. */
static pel_nodes clean_up(flat *f, uint32_t guard, uint32_t at) {
    uint32_t start = f->l->c->guards[guard].target, to;
    if (f->l->c->at[start].op != PEL_I_EXC) fail(f, at, "a handler of unknown shape");
    uint32_t end = start + 1;
    while (end < f->l->c->n && f->l->c->at[end].op != PEL_I_RERAISE) end++;
    stack s = { 0 };
    pel_nodes body;
    if (run_part(f, &s, start + 1, end, &to, &body) != FELL || s.n) fail(f, at, "a handler of unknown shape");
    return body;
}

static uint32_t guarded(flat *f, stack *s, uint32_t at, uint32_t guard) {
    pel_lift *l = f->l;
    uint32_t end = at, to;
    while (end < l->c->n && is_covered(f, end, guard)) end++;
    if (l->c->guards[guard].kind != PEL_G_FINALLY) fail(f, at, "a handler in code without a layout");
    spill(f, s, s->n, at);
    f->open[guard] = true;
    region *outer, r = begin(f, &outer);
    l->region = &r;
    outcome how = run(f, s, at, end, &to);
    if (how == FELL) spill(f, s, s->n, at);
    l->region = outer;
    if (how == JUMPED) fail(f, at, "a jump out of a guarded range");
    f->open[guard] = false;
    pel_node *handler = pel_make(l, PEL_ExceptHandler, l->c->guards[guard].target);
    pel_nodes body = clean_up(f, guard, at);
    pel_nodes_push(l->ctx, &body, pel_node_new(l->ctx, PEL_Raise));
    handler->ExceptHandler.body = body;
    pel_node *stmt = pel_make(l, PEL_Try, at);
    stmt->Try.body = pass_if_empty(f, r.out);
    stmt->Try.handlers = pel_nodes_one(l->ctx, handler);
    pel_lift_emit(l, stmt);
    return how == FELL ? end : PEL_NONE;
}

/* `with`. An exception that the manager swallows goes on after the statement, or where generated code says: then a
 * variable tells whether the block came to its end. Returns where to go on. */
static uint32_t with_block(flat *f, stack *s, uint32_t at) {
    pel_lift *l = f->l;
    uint32_t guard = at + 1 < l->c->n ? guard_at(f, at + 1) : PEL_NONE, end = at + 1, to;
    if (guard == PEL_NONE || l->c->guards[guard].kind != PEL_G_WITH) fail(f, at, "a `with` of unknown shape");
    for (uint32_t i = at + 1; i < l->c->n_main; i++)
        if (is_covered(f, i, guard)) end = i + 1; /* there may be gaps, which are jumped over */
    if (end >= l->c->n || l->c->at[end].op != PEL_I_WITH_EXIT) fail(f, at, "a `with` of unknown shape");
    uint32_t exit = l->c->guards[guard].exit;
    bool is_apart = exit < l->c->n && exit != end + 1;
    pel_node *manager = pel_make(l, PEL_withitem, at),
             *stmt = pel_make(l, l->c->at[at].flag ? PEL_AsyncWith : PEL_With, at);
    manager->withitem.context_expr = pel_pop_expr(l, s, at);
    spill(f, s, s->n, at);
    pel_name ended = is_apart ? new_name(f, "ended") : NULL;
    if (is_apart) assign(f, name_node(f, ended, PEL_Store, at), pel_make_constant(l->ctx, &pel_false), at);
    stack inside = pel_stack_copy(l, s, s->n);
    pel_stack_push(l, &inside, (item){ .kind = IT_EXIT, .at = at });
    bool is_unused = l->c->at[at + 1].op == PEL_I_POP;
    if (!is_unused) {
        pel_name value = new_name(f, "value");
        manager->withitem.optional_vars = name_node(f, value, PEL_Store, at);
        pel_push_expr(l, &inside, at, reload(f, value));
    }
    f->open[guard] = true;
    region *outer, r = begin(f, &outer);
    l->region = &r;
    if (run(f, &inside, at + 1 + is_unused, end, &to) != FELL) fail(f, at, "a `with` that is left in its middle");
    spill(f, &inside, inside.n, at);
    if (is_apart) assign(f, name_node(f, ended, PEL_Store, at), pel_make_constant(l->ctx, &pel_true), end);
    l->region = outer;
    f->open[guard] = false;
    if (!inside.n || inside.at[inside.n - 1].kind != IT_EXIT) fail(f, at, "a `with` of unknown shape");
    stmt->With.items = pel_nodes_one(l->ctx, manager);
    stmt->With.body = pass_if_empty(f, r.out);
    pel_lift_emit(l, stmt);
    if (is_apart) {
        stack empty = { 0 };
        pel_node *otherwise = pel_make(l, PEL_If, at);
        otherwise->If.test = pel_negate(l, reload(f, ended));
        if (run_part(f, &empty, exit, PEL_NONE, &to, &otherwise->If.body) != ENDED)
            fail(f, at, "a swallowed exception goes elsewhere");
        pel_lift_emit(l, otherwise);
    }
    inside.n--;
    *s = inside;
    return end + 1;
}

/* ---- the walk ---- */

static void emit_return(flat *f, stack *s, uint32_t at) {
    pel_node *value = pel_pop_expr(f->l, s, at);
    if (value->kind == PEL_Slice) value = slice_call(f, value);
    spill(f, s, s->n, at);
    pel_node *stmt = pel_make(f->l, PEL_Return, at);
    stmt->Return.value = value;
    pel_lift_emit(f->l, stmt);
}

static void emit_raise(flat *f, stack *s, uint32_t n, uint32_t at) {
    pel_node *stmt = pel_make(f->l, PEL_Raise, at);
    if (n > 1) stmt->Raise.cause = pel_pop_expr(f->l, s, at);
    if (n > 0) stmt->Raise.exc = pel_pop_expr(f->l, s, at);
    spill(f, s, s->n, at);
    pel_lift_emit(f->l, stmt);
}

static outcome run(flat *f, stack *s, uint32_t at, uint32_t stop, uint32_t *to) {
    pel_lift *l = f->l;
    pel_lift_enter(l, at);
    outcome how = FELL;
    while (at != stop) {
        if (at >= l->c->n) fail(f, at, "the code runs off its end");
        pel_lift_tick(l, at);
        const pel_ins *ins = &l->c->at[at];
        uint32_t guard = guard_at(f, at);
        l->region->start = at;
        if (guard != PEL_NONE) {
            at = guarded(f, s, at, guard);
        } else if (ins->op == PEL_I_WITH) {
            at = with_block(f, s, at);
        } else if (pel_is_cond(ins)) {
            at = branch(f, s, at);
        } else if (ins->op == PEL_I_FOR) {
            at = for_loop(f, s, at);
        } else if (ins->op == PEL_I_JUMP) {
            if (ins->target == stop) break;
            if (ins->target <= at) fail(f, at, "a loop");
            if (ins->target < stop) { /* over code that something else leads to */
                at = ins->target;
                continue;
            }
            *to = ins->target;
            how = JUMPED;
            break;
        } else if (ins->op == PEL_I_RETURN) {
            emit_return(f, s, at);
            at = PEL_NONE;
        } else if (ins->op == PEL_I_RAISE) {
            emit_raise(f, s, ins->arg, at);
            at = PEL_NONE;
        } else if (ins->op == PEL_I_FINALLY) {
            spill(f, s, s->n, at);
            pel_nodes body = clean_up(f, ins->arg, at);
            for (uint32_t i = 0; i < body.n; i++) pel_lift_emit(l, body.at[i]);
            at++;
        } else if (ins->target != PEL_NONE) {
            fail(f, at, "a loop");
        } else {
            at += 1 + step(f, s, at);
        }
        if (at == PEL_NONE) {
            how = ENDED;
            break;
        }
    }
    pel_lift_leave(l);
    return how;
}

pel_nodes pel_read_flat(pel_lift *l) {
    flat f;
    pel_flat_begin(&f, l);
    pel_nodes body;
    stack s = { 0 };
    uint32_t to;
    if (run_part(&f, &s, 0, PEL_NONE, &to, &body) != ENDED) fail(&f, 0, "ways that do not meet");
    pel_fold_lists(l, &body, &f.names);
    return body;
}

/* ---- recognising it ---- */

/* Pushes a value and has no other effect that the language could see as a statement. */
static bool makes_value(const pel_ins *ins) {
    switch ((pel_iop)ins->op) {
    case PEL_I_CONST:
    case PEL_I_LOAD:
    case PEL_I_CELL:
    case PEL_I_ATTR:
    case PEL_I_SUBSCR:
    case PEL_I_CALL:
    case PEL_I_CALL_EX:
    case PEL_I_BUILD:
    case PEL_I_SWAP: return true;
    default: return false;
    }
}

/* Cells and code objects that are not for a function which is made at once. */
static bool is_loose(const pel_canon *c, uint32_t at) {
    while (at < c->n && c->at[at].op == PEL_I_CELL) at++;
    if (at < c->n && c->at[at].op == PEL_I_BUILD) at++;
    if (at < c->n && c->at[at].op == PEL_I_CONST && c->at[at].value->kind == PEL_CONST_CODE) at++;
    return at >= c->n || c->at[at].op != PEL_I_FUNCTION;
}

/* One value is stored and the one below is not: neither a, b = x, y nor a = b = x. */
static bool waits_for_store(const pel_canon *c, uint32_t at) {
    if (at + 3 >= c->n_main) return false;
    const pel_ins *ins = &c->at[at];
    for (int i = 1; i < 4; i++)
        if (ins[i].is_target) return false;
    bool is_pair =
        makes_value(&ins[0]) && ins[0].op != PEL_I_SWAP && ins[1].op == PEL_I_CONST && ins[2].op == PEL_I_STORE;
    return is_pair && ins[3].op != PEL_I_STORE && ins[3].op != PEL_I_UNPACK && ins[3].op != PEL_I_UNPACK_EX;
}

/* case _ if guard: the guard, a jump, and the subject is popped. */
static bool is_guard(const pel_canon *c, uint32_t at) {
    while (at + 1 < c->n && !pel_is_pop_jump(&c->at[at]) && !pel_ends(&c->at[at])) at++;
    return at + 1 < c->n && pel_is_pop_jump(&c->at[at]) && c->at[at + 1].op == PEL_I_POP;
}

bool pel_is_juggled(const pel_canon *c) {
    if (!(c->code->flags & PEL_CO_OPTIMIZED)) return false; /* a class hands out its cell */
    for (uint32_t i = 0; i + 1 < c->n_main; i++) {
        const pel_ins *ins = &c->at[i], *next = &c->at[i + 1];
        if (ins->op == PEL_I_EXTEND && ins->arg != 1) return true;
        if (ins->op == PEL_I_CELL && is_loose(c, i)) return true;
        if (ins->op == PEL_I_CONST && ins->value->kind == PEL_CONST_CODE && is_loose(c, i)) return true;
        if (next->is_target) continue;
        if (ins->op == PEL_I_PUSH_NULL && next->op == PEL_I_SWAP) return true;
        if (ins->op == PEL_I_COPY && next->op == PEL_I_POP && !(ins->arg == 1 && is_guard(c, i + 2))) return true;
        if (makes_value(ins) && next->op == PEL_I_DELETE) return true;
        if (waits_for_store(c, i)) return true;
    }
    return false;
}
