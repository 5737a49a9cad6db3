/* Trees that no source gives: what only the decompiler and the skeleton make, and what only an attacker would. */
#include "python/print.h"
#include "check.h"

static pel_node *name(pel_ctx *ctx, const char *id) { return pel_make_name(ctx, pel_intern_c(ctx, id), PEL_Load); }
static pel_node *number(pel_ctx *ctx, int64_t value) { return pel_make_constant(ctx, pel_const_int(ctx, value)); }

static pel_str print_with(pel_ctx *ctx, pel_node *node, pel_print_options options) {
    pel_buf out = pel_buf_in(ctx);
    pel_print(ctx, node, &options, &out);
    return pel_buf_str(&out);
}

static pel_str print(pel_ctx *ctx, pel_node *node) { return print_with(ctx, node, (pel_print_options){ 0 }); }

static pel_node *binary(pel_ctx *ctx, pel_node *left, pel_OPERATOR op, pel_node *right) {
    pel_node *node = pel_node_new(ctx, PEL_BinOp);
    node->BinOp.left = left;
    node->BinOp.op = op;
    node->BinOp.right = right;
    return node;
}

static pel_node *unary(pel_ctx *ctx, pel_UNARYOP op, pel_node *operand) {
    pel_node *node = pel_node_new(ctx, PEL_UnaryOp);
    node->UnaryOp.op = op;
    node->UnaryOp.operand = operand;
    return node;
}

static pel_node *if_of(pel_ctx *ctx, pel_node *condition, pel_node *body, pel_node *orelse) {
    pel_node *node = pel_node_new(ctx, PEL_If);
    node->If.test = condition;
    node->If.body = pel_nodes_one(ctx, body);
    if (orelse) node->If.orelse = pel_nodes_one(ctx, orelse);
    return node;
}

static pel_node *module_of(pel_ctx *ctx, pel_node *const *statements, uint32_t n) {
    pel_node *node = pel_node_new(ctx, PEL_Module);
    node->Module.body = pel_nodes_of(ctx, statements, n);
    return node;
}

static pel_node *function(pel_ctx *ctx, const char *id, pel_nodes body) {
    pel_node *node = pel_node_new(ctx, PEL_FunctionDef);
    node->FunctionDef.name = pel_intern_c(ctx, id);
    node->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    node->FunctionDef.body = body;
    return node;
}

static const pel_const *collection(pel_ctx *ctx, pel_const_kind kind, uint32_t n) {
    pel_const *value = pel_new(ctx, pel_const);
    value->kind = kind;
    value->items = pel_new_array(ctx, n, const pel_const *);
    for (uint32_t i = 0; i < n; i++) value->items[i] = pel_const_int(ctx, i);
    value->n = n;
    return value;
}

/* ---- constants that only code objects have ---- */

static void collections_are_displays(pel_ctx *ctx) {
    CHECK_STR(print(ctx, pel_make_constant(ctx, collection(ctx, PEL_CONST_TUPLE, 0))), "()");
    CHECK_STR(print(ctx, pel_make_constant(ctx, collection(ctx, PEL_CONST_TUPLE, 1))), "(0,)");
    CHECK_STR(print(ctx, pel_make_constant(ctx, collection(ctx, PEL_CONST_TUPLE, 3))), "(0, 1, 2)");
    CHECK_STR(print(ctx, pel_make_constant(ctx, collection(ctx, PEL_CONST_FROZENSET, 2))), "frozenset({0, 1})");
    CHECK_STR(print(ctx, pel_make_constant(ctx, collection(ctx, PEL_CONST_FROZENSET, 0))), "frozenset()");
}

static void objects_show_their_repr_on_one_line(pel_ctx *ctx) {
    pel_const object = { .kind = PEL_CONST_OBJECT };
    object.repr = PEL_STR("<tensor\n of 3>");
    CHECK_STR(print(ctx, pel_make_constant(ctx, &object)), "<tensor  of 3>");
}

static void negative_constants_bind_like_their_sign(pel_ctx *ctx) {
    pel_node *minus_one = number(ctx, -1);
    CHECK_STR(print(ctx, binary(ctx, minus_one, PEL_Pow, number(ctx, 2))), "(-1) ** 2");
    CHECK_STR(print(ctx, binary(ctx, number(ctx, 2), PEL_Pow, minus_one)), "2**-1");
    CHECK_STR(print(ctx, binary(ctx, name(ctx, "a"), PEL_Sub, minus_one)), "a - -1");
    CHECK_STR(print(ctx, pel_make_attribute(ctx, minus_one, pel_intern_c(ctx, "real"), PEL_Load)), "(-1).real");
}

static pel_str print_complex(pel_ctx *ctx, double real, double imag) {
    pel_const value = { .kind = PEL_CONST_COMPLEX };
    value.real = real;
    value.imag = imag;
    return print(ctx, pel_make_constant(ctx, &value));
}

static void complex_constants_keep_the_signs_of_their_parts(pel_ctx *ctx) {
    CHECK_STR(print_complex(ctx, 0.0, 2.0), "2j");
    CHECK_STR(print_complex(ctx, -0.0, -2.0), "-2j");
    CHECK_STR(print_complex(ctx, 0.0, -2.0), "0.0 - 2j");
    CHECK_STR(print_complex(ctx, 1.5, -2.0), "1.5 - 2j");
    CHECK_STR(print_complex(ctx, -0.0, 2.0), "-(0.0 - 2j)");
    CHECK_STR(print_complex(ctx, 1.0, -0.0), "-(-1.0 + 0j)");
}

static void long_integers_are_hexadecimal(pel_ctx *ctx) {
    char *digits = pel_alloc(ctx, 5001);
    digits[0] = '1';
    memset(digits + 1, '0', 4999);
    pel_const value = { .kind = PEL_CONST_INT };
    value.integer.digits = (pel_str){ digits, 4300 };
    CHECK(!pel_str_starts(print(ctx, pel_make_constant(ctx, &value)), PEL_STR("0x")));
    value.integer.digits.len = 4301; /* 10 ** 4300, which is 0x1d…0 */
    pel_str text = print(ctx, pel_make_constant(ctx, &value));
    CHECK(pel_str_starts(text, PEL_STR("0x")) && pel_str_ends(text, PEL_STR("00000000")));
    value.integer.digits = PEL_STR("36893488147419103232");
    CHECK_STR(print(ctx, pel_make_constant(ctx, &value)), "36893488147419103232");
}

/* ---- comments ---- */

static void comments_stand_above(pel_ctx *ctx) {
    pel_nodes pass = pel_nodes_one(ctx, pel_node_new(ctx, PEL_Pass));
    pel_node *statements[] = {
        pel_make_comment(ctx, PEL_STR("first\n\nlast")),
        pel_make_expr(ctx, name(ctx, "a")),
        pel_make_comment(ctx, PEL_STR("about f")),
        function(ctx, "f", pass),
        pel_make_expr(ctx, name(ctx, "b")),
    };
    CHECK_STR(print(ctx, module_of(ctx, statements, 5)),
              "# first\n#\n# last\na\n\n\n# about f\ndef f():\n    pass\n\n\nb\n");
}

static void comments_alone_are_no_body(pel_ctx *ctx) {
    pel_nodes body = pel_nodes_one(ctx, pel_make_comment(ctx, PEL_STR("nothing to do")));
    CHECK_STR(print(ctx, function(ctx, "f", body)), "def f():\n    # nothing to do\n    pass\n");
}

/* ---- trees that are deep or long ---- */

static void long_chains_print(pel_ctx *ctx) {
    enum { LENGTH = 5000 };
    pel_node *sum = name(ctx, "x"), *path = name(ctx, "x"), *choice = name(ctx, "x");
    pel_node *branch = if_of(ctx, name(ctx, "x"), pel_node_new(ctx, PEL_Pass), NULL);
    for (int i = 0; i < LENGTH; i++) {
        sum = binary(ctx, sum, i % 2 ? PEL_Add : PEL_Sub, name(ctx, "x"));
        path = pel_make_attribute(ctx, path, pel_intern_c(ctx, "x"), PEL_Load);
        pel_node *outer = pel_node_new(ctx, PEL_IfExp);
        outer->IfExp.body = outer->IfExp.test = name(ctx, "x");
        outer->IfExp.orelse = choice;
        choice = outer;
        branch = if_of(ctx, name(ctx, "x"), pel_node_new(ctx, PEL_Pass), branch);
    }
    pel_print_options wide = { .width = 1 << 20 };
    CHECK(print_with(ctx, sum, wide).len == 1 + 4 * LENGTH);
    CHECK(print_with(ctx, path, wide).len == 1 + 2 * LENGTH);
    CHECK(print_with(ctx, choice, wide).len == 1 + strlen("x if x else ") * LENGTH);
    CHECK(print_with(ctx, branch, wide).len == strlen("if x:\n    pass\n") + strlen("elif x:\n    pass\n") * LENGTH);
    CHECK(print(ctx, sum).len > 4 * LENGTH);
}

static void print_it(pel_ctx *ctx, void *arg) { print(ctx, arg); }

static void deep_trees_are_refused(pel_ctx *ctx) {
    pel_node *minus = name(ctx, "x"), *power = name(ctx, "x"), *call = name(ctx, "x"),
             *blocks = pel_node_new(ctx, PEL_Pass);
    pel_node *text = name(ctx, "x");
    for (int i = 0; i < 100000; i++) {
        minus = unary(ctx, PEL_USub, minus);
        power = binary(ctx, name(ctx, "x"), PEL_Pow, power);
        call = pel_make_call(ctx, name(ctx, "x"), pel_nodes_one(ctx, call), (pel_nodes){ 0 });
        blocks = if_of(ctx, name(ctx, "x"), blocks, pel_node_new(ctx, PEL_Pass));
        pel_node *field = pel_node_new(ctx, PEL_FormattedValue), *joined = pel_node_new(ctx, PEL_JoinedStr);
        field->FormattedValue.value = text;
        field->FormattedValue.conversion = -1;
        joined->JoinedStr.values = pel_nodes_one(ctx, field);
        text = joined;
    }
    pel_node *deep[] = { minus, power, call, blocks, text };
    for (size_t i = 0; i < PEL_COUNT(deep); i++) {
        pel_err err;
        CHECK(!pel_attempt(ctx, print_it, deep[i], &err));
        CHECK(err.code == PEL_E_TOO_DEEP);
    }
}

/* ---- f-strings of older Pythons ---- */

static pel_node *joined(pel_ctx *ctx, pel_node *value) {
    pel_node *field = pel_node_new(ctx, PEL_FormattedValue), *node = pel_node_new(ctx, PEL_JoinedStr);
    field->FormattedValue.value = value;
    field->FormattedValue.conversion = -1;
    node->JoinedStr.values = pel_nodes_one(ctx, field);
    return node;
}

static void print_for_311(pel_ctx *ctx, void *arg) { print_with(ctx, arg, (pel_print_options){ .version = 11 }); }

static void fstrings_nest_as_far_as_quotes_go(pel_ctx *ctx) {
    pel_print_options old = { .version = 11 }, new = { .version = 12 };
    pel_node *node = name(ctx, "x");
    for (int i = 0; i < 4; i++) node = joined(ctx, node);
    CHECK_STR(print_with(ctx, node, old), "f\"\"\"{f\"{f'''{f'{x}'}'''}\"}\"\"\"");
    CHECK_STR(print_with(ctx, node, new), "f\"{f'{f\"{f\"{x}\"}\"}'}\"");
    pel_err err;
    CHECK(!pel_attempt(ctx, print_for_311, joined(ctx, node), &err));
    CHECK(err.code == PEL_E_INCOMPLETE);
}

static void fstrings_avoid_backslashes(pel_ctx *ctx) {
    pel_print_options old = { .version = 8 }, new = { .version = 13 };
    pel_node *tab = joined(ctx, pel_make_constant(ctx, pel_const_str(ctx, PEL_STR("\t"))));
    CHECK_STR(print_with(ctx, tab, old), "f\"{'\t'}\"");
    CHECK_STR(print_with(ctx, tab, new), "f\"{'\\t'}\"");
    pel_node *quotes = joined(ctx, pel_make_constant(ctx, pel_const_str(ctx, PEL_STR("a\"b"))));
    CHECK_STR(print_with(ctx, quotes, old), "f'{\"\"\"a\"b\"\"\"}'");
    pel_err err;
    pel_node *backslash = joined(ctx, pel_make_constant(ctx, pel_const_str(ctx, PEL_STR("\\"))));
    CHECK(!pel_attempt(ctx, print_for_311, backslash, &err));
    CHECK(err.code == PEL_E_INCOMPLETE);
    CHECK_STR(print_with(ctx, backslash, new), "f\"{'\\\\'}\"");
}

/* ---- options ---- */

static void one_line_keeps_statements_on_one_line(pel_ctx *ctx) {
    pel_nodes arguments = { 0 };
    for (int i = 0; i < 100; i++) pel_nodes_push(ctx, &arguments, name(ctx, "argument"));
    pel_node *call = pel_make_call(ctx, name(ctx, "f"), arguments, (pel_nodes){ 0 });
    pel_str text = print_with(ctx, pel_make_return(ctx, call), (pel_print_options){ .one_line = true });
    CHECK(memchr(text.ptr, '\n', text.len) == text.ptr + text.len - 1);
    text = print(ctx, pel_make_return(ctx, call));
    CHECK(memchr(text.ptr, '\n', text.len) < (const void *)(text.ptr + 100));
}

static void positions_are_those_of_the_text(pel_ctx *ctx) {
    pel_node *a = name(ctx, "a"), *b = name(ctx, "b");
    pel_node *sum = binary(ctx, a, PEL_Add, b), *returned = pel_make_return(ctx, sum);
    pel_node *f = function(ctx, "f", pel_nodes_one(ctx, returned));
    pel_buf out = pel_buf_in(ctx);
    pel_put_c(&out, "x = 1\n"); /* lines are counted from the start of the buffer */
    pel_print(ctx, f, &(pel_print_options){ .set_positions = true }, &out);
    CHECK_STR(pel_buf_str(&out), "x = 1\ndef f():\n    return a + b\n");
    CHECK(f->lineno == 2 && f->col_offset == 0 && f->end_lineno == 3 && f->end_col_offset == 16);
    CHECK(sum->lineno == 3 && sum->col_offset == 11 && sum->end_lineno == 3 && sum->end_col_offset == 16);
    CHECK(b->lineno == 3 && b->col_offset == 15 && b->end_col_offset == 16);
}

static void docstrings_are_indented_for_a_compiler_that_strips_them(pel_ctx *ctx) {
    pel_print_options strips = { .indent_docstrings = true };
    pel_node *text = pel_make_constant(ctx, pel_const_str(ctx, PEL_STR("First.\n\n  Then.\nLast.\n")));
    pel_node *f = function(ctx, "f", pel_nodes_one(ctx, pel_make_expr(ctx, text)));
    CHECK_STR(print_with(ctx, f, strips), "def f():\n    \"\"\"First.\n\n      Then.\n    Last.\n    \"\"\"\n");
    CHECK_STR(print(ctx, f), "def f():\n    \"\"\"First.\n\n  Then.\nLast.\n\"\"\"\n");
    /* Nothing would be stripped from these: they stay. */
    text->Constant.value = pel_const_str(ctx, PEL_STR("First.\n"));
    CHECK_STR(print_with(ctx, f, strips), "def f():\n    \"\"\"First.\n\"\"\"\n");
    text->Constant.value = pel_const_str(ctx, PEL_STR("First.\n  Then."));
    CHECK_STR(print_with(ctx, f, strips), "def f():\n    \"\"\"First.\n  Then.\"\"\"\n");
}

static const test tests[] = {
    TEST(collections_are_displays),
    TEST(objects_show_their_repr_on_one_line),
    TEST(negative_constants_bind_like_their_sign),
    TEST(complex_constants_keep_the_signs_of_their_parts),
    TEST(long_integers_are_hexadecimal),
    TEST(comments_stand_above),
    TEST(comments_alone_are_no_body),
    TEST(long_chains_print),
    TEST(deep_trees_are_refused),
    TEST(fstrings_nest_as_far_as_quotes_go),
    TEST(fstrings_avoid_backslashes),
    TEST(one_line_keeps_statements_on_one_line),
    TEST(positions_are_those_of_the_text),
    TEST(docstrings_are_indented_for_a_compiler_that_strips_them),
};

int main(void) { return RUN_TESTS(tests); }
