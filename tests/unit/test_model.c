/* The model tree: what is written as JSON comes back the same. */
#include "base/buf.h"
#include "check.h"
#include "model/model.h"

static const char whole[] =
    "{\"networks\":[{\"name\":\"net\",\"class\":\"Net\",\"tree\":[{\"name\":\"\",\"class\":\"Net\",\"args\":{\"0\":3,"
    "\"act\":\"relu\",\"norm\":\"nn.LayerNorm\",\"sizes\":[1,2.5,null,true]},\"source_args\":[\"norm\"],\"parameters\":"
    "{"
    "\"w\":[4,\"n\"]},\"buffers\":{\"mask\":[2],\"count\":[]},\"frozen\":[\"w\"],\"not_saved\":[\"mask\"],\"children\":"
    "["
    "{\"name\":\"fc\",\"class\":\"Linear\",\"parameters\":{\"weight\":[5,4]},\"tied\":{\"weight\":\"w\"},\"repeat\":"
    "\"num_layers\",\"condition\":\"use_branch\",\"output\":[1,5],\"flops\":20,\"origin\":{\"file\":\"a.py\",\"line\":"
    "3}}"
    "]}],\"dtypes\":{\"fc.weight\":\"float16\"},\"flow\":[{\"from\":\"input\",\"to\":\"fc\",\"shape\":[1,4]}],"
    "\"unknown\":[{\"what\":\"n\",\"file\":\"a.py\",\"line\":7,\"why\":\"argument\"}]}]}";

typedef struct job {
    pel_str text;
    pel_networks networks;
    pel_str json;
} job;

static void read_and_write(pel_ctx *ctx, void *arg) {
    job *j = arg;
    pel_buf out = pel_buf_in(ctx);
    j->networks = pel_networks_read(ctx, j->text);
    pel_networks_json(ctx, &j->networks, &out);
    j->json = pel_buf_str(&out);
}

static void comes_back(pel_ctx *ctx) {
    pel_err err;
    job first = { .text = PEL_STR(whole) };
    CHECK(pel_attempt(ctx, read_and_write, &first, &err));
    job again = { .text = first.json };
    CHECK(pel_attempt(ctx, read_and_write, &again, &err));
    CHECK(pel_str_eq(first.json, again.json));

    const pel_module *root = first.networks.at[0]->root, *fc = root->children.at[0];
    CHECK(root->args.n == 4 && !root->args.at[0].name.len && root->args.at[2].value->kind == PEL_Attribute);
    CHECK(root->tensors.at[0].frozen && root->tensors.at[1].role == PEL_VOLATILE_BUFFER);
    CHECK(pel_str_is(root->tensors.at[0].shape.dims[1].symbol, "n"));
    CHECK(pel_str_is(fc->tensors.at[0].dtype, "float16") && pel_str_is(fc->tensors.at[0].tied_to, "w"));
    CHECK(pel_str_is(fc->repeat.symbol, "num_layers") && pel_str_is(fc->condition, "use_branch"));
    CHECK(fc->output.is_known && fc->output.n == 2 && fc->flops == 20 && fc->origin.line == 3);
}

/* An argument that has no expression is told by a text that is none. */
static void what_is_no_source_stays(pel_ctx *ctx) {
    pel_err err;
    job j = { .text = PEL_STR("{\"networks\":[{\"tree\":[{\"args\":{\"a\":\"<Block>\"},\"source_args\":[\"a\"]}]}]}") };
    CHECK(pel_attempt(ctx, read_and_write, &j, &err));
    const pel_module *root = j.networks.at[0]->root;
    CHECK(root->args.at[0].value->kind == PEL_Name && pel_name_is(root->args.at[0].value->Name.id, "<Block>"));
}

static void bad_trees_are_refused(pel_ctx *ctx) {
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"networks\":{}}",
        "{\"networks\":[3]}",
        "{\"networks\":[{\"tree\":[{},{}]}]}",
        "{\"networks\":[{\"tree\":[{\"parameters\":{\"w\":[1.5]}}]}]}",
        "{\"networks\":[{\"tree\":[{\"parameters\":[]}]}]}",
        "{\"networks\":[{\"tree\":[{\"args\":{\"a\":{}}}]}]}",
        "{\"networks\":[{\"name\":1}]}",
        "{\"networks\":[],\"networks\":[]}",
    };
    for (size_t i = 0; i < PEL_COUNT(texts); i++) {
        pel_err err;
        job j = { .text = pel_str_of(texts[i]) };
        CHECK(!pel_attempt(ctx, read_and_write, &j, &err));
        CHECK(err.what[0]);
    }
}

static const test tests[] = {
    TEST(comes_back),
    TEST(what_is_no_source_stays),
    TEST(bad_trees_are_refused),
};

int main(void) { return RUN_TESTS(tests); }
