/* The check of the decompiler must pass what the decompiler makes of good code and refuse that tree spoilt. */
#include "check.h"
#include "check_subject.h"
#include "decompile/decompile.h"
#define test lift_test /* another kind of test */
#include "decompile/lift.h"
#undef test

typedef struct subject {
    pel_lift lift;
    pel_nodes body; /* of the function */
} subject;

static subject read_subject(pel_ctx *ctx, pel_version version) {
    pel_str bytes = version == 11 ? (pel_str){ (const char *)subject_311, sizeof subject_311 }
                                  : (pel_str){ (const char *)subject_312, sizeof subject_312 };
    const pel_code_object *module = pel_unmarshal_code(ctx, bytes, version), *code = NULL;
    for (uint32_t i = 0; i < module->n_consts && !code; i++)
        if (module->consts[i]->kind == PEL_CONST_CODE) code = module->consts[i]->code;
    pel_decompiled *made = pel_decompile(ctx, code);
    subject s = { .lift = { .ctx = ctx, .result = made, .code = code } };
    s.lift.c = pel_normalise(ctx, pel_decode(ctx, code), false);
    s.lift.unseen = pel_new_array(ctx, (size_t)s.lift.c->n + 1, bool);
    s.body = made->tree->Module.body.at[0]->FunctionDef.body;
    return s;
}

static void check_it(pel_ctx *ctx, void *arg) {
    (void)ctx;
    subject *s = arg;
    pel_check_tree(&s->lift, s->body);
}

static bool passes(pel_ctx *ctx, subject *s) {
    pel_err err;
    return pel_attempt(ctx, check_it, s, &err);
}

/* ---- ways to spoil it ---- */

static pel_node *for_loop(subject *s) { return s->body.at[0]; }
static pel_node *first_if(subject *s) { return for_loop(s)->For.body.at[0]; }
static pel_node *second_if(subject *s) { return first_if(s)->If.orelse.at[0]; }
static pel_node *inner_if(subject *s) { return first_if(s)->If.orelse.at[1]; }
static pel_node *try_block(subject *s) { return s->body.at[1]; }
static pel_node *with_block(subject *s) { return try_block(s)->Try.body.at[0]; }
static pel_node *while_loop(subject *s) { return s->body.at[2]; }
static pel_node *choice(subject *s) { return s->body.at[3]->Assign.value; }
static pel_node *call_of(pel_node *stmt) { return stmt->Expr.value; }

static void swap_nodes(pel_node **a, pel_node **b) {
    pel_node *kept = *a;
    *a = *b;
    *b = kept;
}

static void drop(pel_nodes *list, uint32_t i) {
    memmove(&list->at[i], &list->at[i + 1], (list->n - i - 1) * sizeof *list->at);
    list->n--;
}

static void branches_swapped(subject *s) {
    pel_nodes kept = first_if(s)->If.body;
    first_if(s)->If.body = first_if(s)->If.orelse;
    first_if(s)->If.orelse = kept;
}
static void statement_dropped(subject *s) { drop(&first_if(s)->If.body, 0); }
static void last_statement_dropped(subject *s) { drop(&for_loop(s)->For.body, 1); }
static void statement_twice(subject *s) {
    pel_nodes_push(s->lift.ctx, &first_if(s)->If.body, first_if(s)->If.body.at[1]);
}
static void statements_exchanged(subject *s) { swap_nodes(&first_if(s)->If.body.at[0], &first_if(s)->If.body.at[1]); }
static void other_operator(subject *s) { for_loop(s)->For.body.at[1]->Assign.value->BinOp.op = PEL_Sub; }
static void other_comparison(subject *s) { first_if(s)->If.test->Compare.ops.at[0] = PEL_GtE; }
static void operands_exchanged(subject *s) {
    pel_node *sum = for_loop(s)->For.body.at[1]->Assign.value;
    swap_nodes(&sum->BinOp.left, &sum->BinOp.right);
}
static void other_target(subject *s) {
    for_loop(s)->For.body.at[1]->Assign.targets.at[0]->Name.id = pel_intern_c(s->lift.ctx, "c");
}
static void other_name(subject *s) {
    call_of(first_if(s)->If.body.at[0])->Call.args.at[0]->Name.id = pel_intern_c(s->lift.ctx, "a");
}
static void argument_dropped(subject *s) { call_of(first_if(s)->If.body.at[0])->Call.args.n = 0; }
static void constant_dropped(subject *s) { call_of(try_block(s)->Try.finalbody.at[0])->Call.args.n = 0; }
static void method_renamed(subject *s) {
    call_of(first_if(s)->If.body.at[0])->Call.func->Attribute.attr = pel_intern_c(s->lift.ctx, "extend");
}
static void call_dropped(subject *s) {
    first_if(s)->If.body.at[0]->Expr.value = call_of(first_if(s)->If.body.at[0])->Call.func;
}
static void break_becomes_continue(subject *s) {
    second_if(s)->If.body.at[0] = pel_node_new(s->lift.ctx, PEL_Continue);
}
static void continue_becomes_break(subject *s) { inner_if(s)->If.body.at[0] = pel_node_new(s->lift.ctx, PEL_Break); }
static void else_of_another_if(subject *s) {
    pel_node *moved = second_if(s);
    drop(&first_if(s)->If.orelse, 0);
    moved->If.orelse = first_if(s)->If.orelse;
    first_if(s)->If.orelse = (pel_nodes){ 0 };
    pel_nodes_push(s->lift.ctx, &first_if(s)->If.body, moved);
}
static void else_of_the_loop_behind_it(subject *s) {
    pel_nodes body = pel_nodes_one(s->lift.ctx, for_loop(s));
    pel_nodes_push(s->lift.ctx, &body, for_loop(s)->For.orelse.at[0]);
    for_loop(s)->For.orelse = (pel_nodes){ 0 };
    for (uint32_t i = 1; i < s->body.n; i++) pel_nodes_push(s->lift.ctx, &body, s->body.at[i]);
    s->body = body;
}
static void statement_out_of_the_loop(subject *s) {
    pel_nodes body = pel_nodes_one(s->lift.ctx, for_loop(s));
    pel_nodes_push(s->lift.ctx, &body, for_loop(s)->For.body.at[1]);
    for_loop(s)->For.body.n = 1;
    for (uint32_t i = 1; i < s->body.n; i++) pel_nodes_push(s->lift.ctx, &body, s->body.at[i]);
    s->body = body;
}
static void handlers_exchanged(subject *s) {
    swap_nodes(&try_block(s)->Try.handlers.at[0], &try_block(s)->Try.handlers.at[1]);
}
static void bodies_of_handlers_exchanged(subject *s) {
    pel_nodes *a = &try_block(s)->Try.handlers.at[0]->ExceptHandler.body;
    pel_nodes *b = &try_block(s)->Try.handlers.at[1]->ExceptHandler.body, kept = *a;
    *a = *b;
    *b = kept;
}
static void handler_dropped(subject *s) { try_block(s)->Try.handlers.n = 1; }
static void finally_dropped(subject *s) { try_block(s)->Try.finalbody.n = 0; }
static void finally_behind_it(subject *s) {
    pel_node *last = try_block(s)->Try.finalbody.at[0];
    try_block(s)->Try.finalbody.n = 0;
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < s->body.n; i++) {
        pel_nodes_push(s->lift.ctx, &body, s->body.at[i]);
        if (i == 1) pel_nodes_push(s->lift.ctx, &body, last);
    }
    s->body = body;
}
static void statement_out_of_with(subject *s) {
    pel_nodes_push(s->lift.ctx, &try_block(s)->Try.body, with_block(s)->With.body.at[1]);
    with_block(s)->With.body.n = 1;
}
static void statement_out_of_try(subject *s) {
    try_block(s)->Try.orelse = pel_nodes_one(s->lift.ctx, with_block(s));
    try_block(s)->Try.body = pel_nodes_one(s->lift.ctx, pel_node_new(s->lift.ctx, PEL_Pass));
}
static void without_as(subject *s) { with_block(s)->With.items.at[0]->withitem.optional_vars = NULL; }
static void while_becomes_if(subject *s) {
    pel_node *node = pel_node_new(s->lift.ctx, PEL_If);
    node->If.test = while_loop(s)->While.test;
    node->If.body = while_loop(s)->While.body;
    s->body.at[2] = node;
}
static void and_becomes_or(subject *s) { while_loop(s)->While.test->BoolOp.op = PEL_Or; }
static void not_dropped(subject *s) {
    pel_nodes values = while_loop(s)->While.test->BoolOp.values;
    values.at[1] = values.at[1]->UnaryOp.operand;
}
static void other_step(subject *s) { while_loop(s)->While.body.at[0]->AugAssign.op = PEL_Add; }
static void choice_swapped(subject *s) { swap_nodes(&choice(s)->IfExp.body, &choice(s)->IfExp.orelse); }
static void minus_dropped(subject *s) { choice(s)->IfExp.orelse = choice(s)->IfExp.orelse->UnaryOp.operand; }
static void return_dropped(subject *s) { s->body.n = 4; }

static const struct {
    const char *name;
    void (*spoil)(subject *s);
} ways[] = {
#define WAY(name)                                                                                                      \
    { #name, name }
    WAY(branches_swapped),
    WAY(statement_dropped),
    WAY(last_statement_dropped),
    WAY(statement_twice),
    WAY(statements_exchanged),
    WAY(other_operator),
    WAY(other_comparison),
    WAY(operands_exchanged),
    WAY(other_target),
    WAY(other_name),
    WAY(argument_dropped),
    WAY(constant_dropped),
    WAY(method_renamed),
    WAY(call_dropped),
    WAY(break_becomes_continue),
    WAY(continue_becomes_break),
    WAY(else_of_another_if),
    WAY(else_of_the_loop_behind_it),
    WAY(statement_out_of_the_loop),
    WAY(handlers_exchanged),
    WAY(bodies_of_handlers_exchanged),
    WAY(handler_dropped),
    WAY(finally_dropped),
    WAY(finally_behind_it),
    WAY(statement_out_of_with),
    WAY(statement_out_of_try),
    WAY(without_as),
    WAY(while_becomes_if),
    WAY(and_becomes_or),
    WAY(not_dropped),
    WAY(other_step),
    WAY(choice_swapped),
    WAY(minus_dropped),
    WAY(return_dropped),
#undef WAY
};

static void spoilt(pel_ctx *ctx, pel_version version) {
    subject good = read_subject(ctx, version);
    CHECK(good.lift.result->incomplete.n == 0);
    CHECK(passes(ctx, &good));
    for (size_t i = 0; i < PEL_COUNT(ways); i++) {
        subject s = read_subject(ctx, version);
        ways[i].spoil(&s);
        bool caught = !passes(ctx, &s);
        if (!caught) printf("not caught for 3.%d: %s\n", (int)version, ways[i].name);
        CHECK(caught);
    }
}

static void spoilt_311(pel_ctx *ctx) { spoilt(ctx, 11); }
static void spoilt_312(pel_ctx *ctx) { spoilt(ctx, 12); }

int main(void) {
    static const test tests[] = { TEST(spoilt_311), TEST(spoilt_312) };
    return RUN_TESTS(tests);
}
