/* Who reads a name and who binds it, asked of every construct that can do either. */
#include "python/parse.h"
#include "python/print.h"
#include "trace/depends/uses.h"
#include "check.h"

static pel_nodes parse(pel_ctx *ctx, const char *text) {
    pel_source source = { PEL_STR("test"), pel_str_of(text) };
    return pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body;
}

typedef struct expectation {
    const char *text;
    uint32_t reads, binds; /* of x */
    bool captured, scoped;
} expectation;

static void every_construct(pel_ctx *ctx) {
    static const expectation rows[] = {
        { "y = x\n", 1, 0, false, false },
        { "x = y\n", 0, 1, false, false },
        { "x += 1\n", 1, 1, false, false },
        { "x.a = x[x]\n", 3, 0, false, false },
        { "x[0] += 1\n", 1, 0, false, false },
        { "del x\n", 0, 1, false, false },
        { "for x in y: pass\n", 0, 1, false, false },
        { "with y as (x, z): pass\n", 0, 1, false, false },
        { "if (x := y): pass\n", 0, 1, false, false },
        { "def x(): pass\n", 0, 1, false, false },
        { "class x: pass\n", 0, 1, false, false },
        { "import x\n", 0, 1, false, false },
        { "import y as x\n", 0, 1, false, false },
        { "try: pass\nexcept E as x: pass\n", 0, 1, false, false },
        { "match y:\n case [1, *x]: pass\n", 0, 1, false, false },
        { "match y:\n case {'k': 1, **x}: pass\n", 0, 1, false, false },
        { "match y:\n case x: pass\n", 0, 1, false, false },
        { "def f(): return x\n", 1, 0, true, true },
        { "f = lambda: x\n", 1, 0, true, true },
        { "def f():\n nonlocal x\n x = 1\n", 0, 1, true, true },
        { "global x\n", 0, 0, true, true },
        { "y = [x for z in y]\n", 1, 0, false, true },
        { "y = (x for z in y)\n", 1, 0, false, true },
        { "y = {x: z for z in y}\n", 1, 0, false, true },
        { "y = f(a, *x, k=x, **x)\n", 3, 0, false, false },
        { "y = other.x\n", 0, 0, false, false },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++) {
        pel_uses found = pel_uses_in(NULL, parse(ctx, rows[i].text), pel_intern_c(ctx, "x"));
        bool right = found.reads == rows[i].reads && found.binds == rows[i].binds &&
                     found.captured == rows[i].captured && found.scoped == rows[i].scoped;
        if (!right) printf("%s: %u reads, %u binds\n", rows[i].text, found.reads, found.binds);
        CHECK(right);
    }
}

static pel_str text_of(pel_ctx *ctx, pel_nodes body) {
    pel_buf out = pel_buf_in(ctx);
    const pel_print_options options = { .width = 100, .version = 10 };
    pel_print_body(ctx, body, 0, &options, &out);
    return (pel_str){ out.at, out.len };
}

static void other_names(pel_ctx *ctx) {
    const char *text = "x = f(x, x[x].y)\nx += 1\n";
    pel_nodes body = parse(ctx, text);
    pel_renaming r = { .from = pel_intern_c(ctx, "x"), .to = pel_intern_c(ctx, "z"), .reads_only = true };
    pel_rename(ctx, NULL, body, r);
    CHECK_STR(text_of(ctx, body), "x = f(z, z[z].y)\nx += 1\n");
    body = parse(ctx, text);
    r.reads_only = false;
    pel_rename(ctx, NULL, body, r);
    CHECK_STR(text_of(ctx, body), "z = f(z, z[z].y)\nz += 1\n");
    body = parse(ctx, "y = g(x, h(x)[0])\n");
    pel_put_value(NULL, body.at[0], r.from, parse(ctx, "a + b\n").at[0]->Expr.value);
    CHECK_STR(text_of(ctx, body), "y = g(a + b, h(a + b)[0])\n");
}

/* d["a"] is a part of d that a rewrite may replace; what stands there then is not looked at again. */
static void replace_part(void *arg, const pel_name_use *use) {
    if (use->part && pel_name_is(use->name, "d")) *use->part = pel_copy(arg, *use->slot);
}

static void parts(pel_ctx *ctx) {
    pel_nodes body = parse(ctx, "y = d[\"a\"] + d[k] + f(d.size)\nd[\"b\"] = 1\n");
    pel_each_use_in(NULL, body, replace_part, ctx);
    CHECK_STR(text_of(ctx, body), "y = d + d + f(d)\nd[\"b\"] = 1\n");
}

static const test tests[] = { TEST(every_construct), TEST(other_names), TEST(parts) };

int main(void) { return RUN_TESTS(tests); }
