/* The checker must pass what the parser makes and find each kind of flaw in what generators make. */
#include "python/ast.h"
#include "python/parse.h"
#include "check.h"

static void check_it(pel_ctx *ctx, void *arg) { pel_ast_check(ctx, arg); }

static bool passes(pel_ctx *ctx, pel_node *tree) {
    pel_err err;
    return pel_attempt(ctx, check_it, tree, &err);
}

static bool refused(pel_ctx *ctx, pel_node *tree, const char *what) {
    pel_err err;
    if (pel_attempt(ctx, check_it, tree, &err)) return false;
    if (!strstr(err.what, what)) printf("refused for another reason: %s\n", err.what);
    return err.code == PEL_E_INCOMPLETE && strstr(err.what, what);
}

static pel_node *parse(pel_ctx *ctx, const char *text) {
    pel_source source = { PEL_STR("test"), pel_str_of(text) };
    return pel_parse(ctx, &source, PEL_VERSION_MAX);
}

/* The first statement of a module, to be spoilt. */
static pel_node *first(pel_node *module) { return module->Module.body.at[0]; }

static void what_the_parser_makes_passes(pel_ctx *ctx) {
    static const char *const sources[] = {
        "a, *b = c; (d.e), [f[0]] = g\n",
        "for a, *b in c: pass\nelse: pass\n",
        "with a as (b, c.d): del e, (f, [g.h])\n",
        "x[1:2, ::3, ...], x[*a], f(*a, **b), {*a, 'k'} if y else {**z}\n",
        "[x async for (x, y) in z if (w := x)]\n",
        "f'{a!r:>{b}}c{d}'\n",
        "x: int = 1\nx.y: int\n(x): int = 2\n",
        "match x:\n case [1, -2, 3 + 4j, 'a', b.c, *_] | {'k': d, **e} | F(g, h=None) as i if j: pass\n",
        "try: pass\nexcept* A as b: pass\n",
        "try: pass\nexcept A: pass\nexcept: pass\nelse: pass\nfinally: pass\n",
        "from . import a as b\nfrom .c import *\nimport d.e.f\n",
        "def f[T: int, *Ts = *tuple[int], **P](a, /, b=1, *c: *Ts, d, e=2, **g) -> h: return (yield)\n",
        "type X[T] = list[T]\nclass C(A, *B, metaclass=M): global x; x = 1\n",
        "\xC3\xA9t\xC3\xA9 = 1\n",
    };
    for (size_t i = 0; i < PEL_COUNT(sources); i++) CHECK(passes(ctx, parse(ctx, sources[i])));
}

static void contexts(pel_ctx *ctx) {
    pel_node *tree = parse(ctx, "a = b\n");
    first(tree)->Assign.value->Name.ctx = PEL_Store;
    CHECK(refused(ctx, tree, "has the context Store"));
    tree = parse(ctx, "a = b\n");
    first(tree)->Assign.targets.at[0]->Name.ctx = PEL_Load;
    CHECK(refused(ctx, tree, "has the context Load"));
    tree = parse(ctx, "a = 1\n");
    first(tree)->Assign.targets.at[0] = first(tree)->Assign.value;
    CHECK(refused(ctx, tree, "can't be assigned to"));
    tree = parse(ctx, "del a\n");
    first(tree)->Delete.targets.at[0]->Name.ctx = PEL_Store;
    CHECK(refused(ctx, tree, "has the context Store"));
    tree = parse(ctx, "a, b = c\n");
    first(tree)->Assign.targets.at[0]->Tuple.elts.at[1]->Name.ctx = PEL_Load;
    CHECK(refused(ctx, tree, "has the context Load"));
}

static void stars_and_slices_out_of_place(pel_ctx *ctx) {
    pel_node *tree = parse(ctx, "x = [*a]\n");
    first(tree)->Assign.value = first(tree)->Assign.value->List.elts.at[0];
    CHECK(refused(ctx, tree, "a star out of place"));
    tree = parse(ctx, "a, *b = c\n");
    pel_node *row = first(tree)->Assign.targets.at[0];
    row->Tuple.elts.at[0] = row->Tuple.elts.at[1];
    CHECK(refused(ctx, tree, "more than one star"));
    tree = parse(ctx, "x[1:2]\n");
    first(tree)->Expr.value = first(tree)->Expr.value->Subscript.slice;
    CHECK(refused(ctx, tree, "a slice out of place"));
}

static void missing_parts(pel_ctx *ctx) {
    pel_node *tree = parse(ctx, "if a: b\n");
    first(tree)->If.body.n = 0;
    CHECK(refused(ctx, tree, "too few body"));
    tree = parse(ctx, "a + b\n");
    first(tree)->Expr.value->BinOp.right = NULL;
    CHECK(refused(ctx, tree, "no right"));
    tree = parse(ctx, "[a, b]\n");
    first(tree)->Expr.value->List.elts.at[1] = NULL;
    CHECK(refused(ctx, tree, "no elts"));
    tree = parse(ctx, "a.b\n");
    first(tree)->Expr.value->Attribute.attr = NULL;
    CHECK(refused(ctx, tree, "no attr"));
    tree = parse(ctx, "1\n");
    first(tree)->Expr.value->Constant.value = NULL;
    CHECK(refused(ctx, tree, "no value"));
    tree = parse(ctx, "try: a\nfinally: b\n");
    first(tree)->Try.finalbody.n = 0;
    CHECK(refused(ctx, tree, "neither handlers nor finalbody"));
    tree = parse(ctx, "a and b\n");
    first(tree)->Expr.value->BoolOp.values.n = 1;
    CHECK(refused(ctx, tree, "too few values"));
}

static void lists_of_unequal_length(pel_ctx *ctx) {
    pel_node *tree = parse(ctx, "{a: b, c: d}\n");
    first(tree)->Expr.value->Dict.keys.n = 1;
    CHECK(refused(ctx, tree, "keys and values"));
    tree = parse(ctx, "a < b < c\n");
    first(tree)->Expr.value->Compare.ops.n = 1;
    CHECK(refused(ctx, tree, "ops and comparators"));
    tree = parse(ctx, "def f(*, a, b=1): pass\n");
    first(tree)->FunctionDef.args->arguments.kw_defaults.n = 1;
    CHECK(refused(ctx, tree, "kw_defaults"));
    tree = parse(ctx, "def f(a, b=1, c=2): pass\n");
    first(tree)->FunctionDef.args->arguments.args.n = 1;
    CHECK(refused(ctx, tree, "more defaults"));
}

static void wrong_classes(pel_ctx *ctx) {
    pel_node *tree = parse(ctx, "a = b\n");
    first(tree)->Assign.value = first(tree);
    CHECK(refused(ctx, tree, "wrong class of value"));
    tree = parse(ctx, "a\n");
    tree->Module.body.at[0] = first(tree)->Expr.value;
    CHECK(refused(ctx, tree, "wrong class of body"));
}

static void names_that_cannot_be_written(pel_ctx *ctx) {
    static const char *const names[] = { "", "a b", "1a", "a\nimport os", ".0", "<lambda>", "class", "None", "a-b" };
    for (size_t i = 0; i < PEL_COUNT(names); i++) {
        pel_node *tree = parse(ctx, "a\n");
        first(tree)->Expr.value->Name.id = pel_intern_c(ctx, names[i]);
        CHECK(refused(ctx, tree, "no identifier"));
    }
    pel_node *tree = parse(ctx, "import a.b\n");
    first(tree)->Import.names.at[0]->alias.name = pel_intern_c(ctx, "a..b");
    CHECK(refused(ctx, tree, "no identifier"));
}

static void shared_subtrees_are_walked_once(pel_ctx *ctx) {
    pel_node *node = pel_make_name(ctx, pel_intern_c(ctx, "x"), PEL_Load);
    for (int i = 0; i < 200; i++) { /* as a tree it would have 2^200 leaves */
        pel_node *twice = pel_node_new(ctx, PEL_BinOp);
        twice->BinOp.left = twice->BinOp.right = node;
        node = twice;
    }
    CHECK(passes(ctx, node));
}

static void depth_has_a_limit(pel_ctx *ctx) {
    pel_node *node = pel_make_name(ctx, pel_intern_c(ctx, "x"), PEL_Load);
    for (int i = 0; i < 5000; i++) node = pel_make_attribute(ctx, node, pel_intern_c(ctx, "x"), PEL_Load);
    CHECK(passes(ctx, node));
    for (int i = 0; i < 1000000; i++) node = pel_make_attribute(ctx, node, pel_intern_c(ctx, "x"), PEL_Load);
    pel_err err;
    CHECK(!pel_attempt(ctx, check_it, node, &err));
    CHECK(err.code == PEL_E_TOO_DEEP);
}

static const test tests[] = {
    TEST(what_the_parser_makes_passes),
    TEST(contexts),
    TEST(stars_and_slices_out_of_place),
    TEST(missing_parts),
    TEST(lists_of_unequal_length),
    TEST(wrong_classes),
    TEST(names_that_cannot_be_written),
    TEST(shared_subtrees_are_walked_once),
    TEST(depth_has_a_limit),
};

int main(void) { return RUN_TESTS(tests); }
