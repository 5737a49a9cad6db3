/* The root keeps the author's signature, but arguments that every run left at one value are not read any more:
 * whoever gives another one must hear about it. */
#include "trace/program.h"

typedef struct search {
    pel_name name;
    bool found;
} search;

static void look_for_name(void *arg, pel_node **slot) {
    search *s = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.id == s->name) s->found = true;
    if (!s->found) pel_each_child(*slot, look_for_name, arg);
}

static bool mentions(pel_node *node, pel_name name) {
    search s = { name, false };
    look_for_name(&s, &node);
    return s.found;
}

/* Whether the argument's own value is read: a plain assignment to its name before any reading ends it. */
static bool is_read(pel_nodes body, pel_name name) {
    for (uint32_t i = 0; i < body.n; i++) {
        pel_node *node = body.at[i];
        if (!mentions(node, name)) continue;
        if (node->kind != PEL_Assign || mentions(node->Assign.value, name)) return true;
        for (uint32_t k = 0; k < node->Assign.targets.n; k++)
            if (node->Assign.targets.at[k]->kind == PEL_Name && node->Assign.targets.at[k]->Name.id == name) return false;
        return true;
    }
    return false;
}

/* What a run gave for the argument; 0 if nothing. */
static pel_id given_value(const pel_run *run, uint32_t position, pel_name name) {
    if (position < run->n_args) return run->args[position];
    for (uint32_t i = 0; i < run->n_kwargs; i++)
        if (run->kwargs[i].name == name) return run->kwargs[i].value;
    return 0;
}

typedef struct observed {
    bool any, never_given, differs;
    pel_id value; /* given by every run */
} observed;

static observed observe(const pel_log *log, uint32_t position, pel_name name) {
    observed o = { .never_given = true };
    for (uint32_t i = 0; i < log->runs.n; i++) {
        if (log->runs.at[i].root != log->root) continue;
        pel_id here = given_value(&log->runs.at[i], position, name);
        if (here) o.never_given = false;
        if (o.any && (!here != !o.value || (here && !pel_value_same(log, here, o.value)))) o.differs = true;
        o.value = here;
        o.any = true;
    }
    return o;
}

static pel_node *compare(pel_ctx *ctx, pel_nodes operands, pel_CMPOP op) {
    pel_node *node = pel_node_new(ctx, PEL_Compare);
    node->Compare.left = operands.at[0];
    node->Compare.comparators = pel_nodes_of(ctx, operands.at + 1, operands.n - 1);
    node->Compare.ops = (pel_cmpops){ pel_alloc_raw(ctx, operands.n), operands.n - 1 };
    memset(node->Compare.ops.at, op, operands.n - 1);
    return node;
}

static pel_node *assertion(pel_ctx *ctx, pel_node *test, pel_str message) {
    pel_node *node = pel_node_new(ctx, PEL_Assert);
    node->Assert.test = test;
    node->Assert.msg = pel_make_constant(ctx, pel_const_str(ctx, message));
    return node;
}

/* One line for all of them: a is b is None, or {a, b, c, d, e} == {None}. */
static pel_node *all_none(pel_ctx *ctx, pel_nodes names) {
    pel_node *none = pel_make_constant(ctx, &pel_none);
    if (names.n <= 4) {
        pel_nodes_push(ctx, &names, none);
        return compare(ctx, names, PEL_Is);
    }
    pel_node *given = pel_node_new(ctx, PEL_Set), *expected = pel_node_new(ctx, PEL_Set);
    given->Set.elts = names;
    expected->Set.elts = pel_nodes_one(ctx, none);
    pel_nodes pair = pel_nodes_one(ctx, given);
    pel_nodes_push(ctx, &pair, expected);
    return compare(ctx, pair, PEL_Eq);
}

/* The one value that the argument may have, as an expression; NULL if it is free. */
static pel_node *only_value(pel_ctx *ctx, pel_program *program, pel_node *arguments, uint32_t i) {
    const pel_nodes args = arguments->arguments.args, defaults = arguments->arguments.defaults;
    observed o = observe(program->log, i - 1, args.at[i]->arg.arg);
    if (!o.any || o.differs) return NULL;
    if (o.never_given) {
        pel_node *usual = i + defaults.n >= args.n ? defaults.at[i + defaults.n - args.n] : NULL;
        return usual && usual->kind == PEL_Constant ? usual : NULL;
    }
    if (pel_value_at(program->log, o.value)->kind != PEL_V_CONST) return NULL;
    return pel_value_expression(ctx, program, o.value);
}

static void guard_arguments(pel_ctx *ctx, pel_program *program, pel_program_function *f) {
    pel_node *arguments = f->def->FunctionDef.args;
    pel_nodes nones = { 0 }, guards = { 0 };
    for (uint32_t i = 1; i < arguments->arguments.args.n; i++) {
        pel_name name = arguments->arguments.args.at[i]->arg.arg;
        if (is_read(f->def->FunctionDef.body, name)) continue;
        pel_node *value = only_value(ctx, program, arguments, i), *operand = pel_make_name(ctx, name, PEL_Load);
        if (!value) continue;
        bool is_constant = value->kind == PEL_Constant;
        pel_const_kind kind = is_constant ? value->Constant.value->kind : PEL_CONST_INT;
        if (is_constant && kind == PEL_CONST_NONE) {
            pel_nodes_push(ctx, &nones, operand);
            continue;
        }
        pel_nodes pair = { 0 };
        pel_nodes_push(ctx, &pair, operand);
        pel_nodes_push(ctx, &pair, value);
        pel_CMPOP op = kind == PEL_CONST_TRUE || kind == PEL_CONST_FALSE ? PEL_Is : PEL_Eq;
        pel_nodes_push(ctx, &guards, assertion(ctx, compare(ctx, pair, op), PEL_STR("no other value was recorded")));
    }
    pel_nodes body = { 0 };
    if (nones.n) pel_nodes_push(ctx, &body, assertion(ctx, all_none(ctx, nones), PEL_STR("only None was recorded")));
    for (uint32_t i = 0; i < guards.n; i++) pel_nodes_push(ctx, &body, guards.at[i]);
    if (!body.n) return;
    for (uint32_t i = 0; i < f->def->FunctionDef.body.n; i++)
        pel_nodes_push(ctx, &body, f->def->FunctionDef.body.at[i]);
    f->def->FunctionDef.body = body;
}

void pel_guard_root(pel_ctx *ctx, pel_program *program) {
    if (!program->log->root) return;
    pel_id class = pel_module_at(program->log, program->log->root)->class;
    for (uint32_t i = 0; i < program->functions.n; i++) {
        pel_program_function *f = program->functions.at[i];
        if (!f->dead && f->def && f->class == class && pel_name_is(f->name, "forward")) guard_arguments(ctx, program, f);
    }
}
