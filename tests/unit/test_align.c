/* Aligning: what names say, and where the elements of a piece lie. */
#include "check.h"
#include "model/align_inside.h"

static uint8_t role(const char *path) {
    pel_str holder;
    return pel_align_role(pel_str_of(path), &holder);
}

static void roles(pel_ctx *ctx) {
    (void)ctx;
    CHECK(role("blocks.0.attn.q_proj") == ROLE_Q && role("layer.1.attention.self.query") == ROLE_Q);
    CHECK(role("layers.0.attention.wk") == ROLE_K && role("h.0.v_lin") == ROLE_V && role("to_out.0") == ROLE_OUT);
    CHECK(role("query.dense") == ROLE_Q); /* what holds it says it */
    CHECK(role("attn.qkv") == (ROLE_Q | ROLE_K | ROLE_V) && role("self_attn.in_proj") == role("h.0.attn.c_attn"));
    CHECK(role("mlp.gate_up_proj") == (ROLE_GATE | ROLE_UP) && role("feed_forward.w2") == ROLE_DOWN);
    CHECK(role("attention.query_key_value") & ROLE_UNORDERED); /* by heads or one after the other: not said */
    CHECK(!role("attention.output.dense") && !role("keypoints") && !role("value_norm") && !role(""));
}

static void places(pel_ctx *ctx) {
    (void)ctx;
    CHECK(pel_align_place(PEL_STR("blocks.0.norm1")) == 1 && pel_align_place(PEL_STR("blocks.0.norm2")) == 2);
    CHECK(pel_align_place(PEL_STR("a.layernorm_before")) == 1 && pel_align_place(PEL_STR("features.0.1")) == 0);
    CHECK(pel_align_half(PEL_STR("layers.0.encoder_attn.k")) == 2 && pel_align_half(PEL_STR("layers.0.attn.k")) == 1);
    CHECK(pel_align_by_numbers(PEL_STR("1.10"), PEL_STR("1.9")) > 0 &&
          !pel_align_by_numbers(PEL_STR("2"), PEL_STR("2")));
    CHECK(pel_align_same_words(PEL_STR("a.0.LayerNorm"), PEL_STR("b.1.layer_norm")));
    CHECK(!pel_align_same_words(PEL_STR("a.0.attn_norm"), PEL_STR("b.1.ffn_norm")));
}

static void views(pel_ctx *ctx) {
    int64_t sizes[] = { 4, 3, 2 };
    pel_shape shape = pel_shape_of(ctx, sizes, 3);
    pel_align_view view;
    pel_align_row plain = { 0 }, turned = { .n_order = 2, .order = { 1, 0 } };
    pel_align_piece whole = { .at = -1 }, third = { .at = 2, .from = 1, .to = 2 };
    CHECK(pel_align_view_of(&plain, &whole, &shape, &view) && view.count == 24 && view.is_contiguous);
    CHECK(pel_align_view_of(&plain, &third, &shape, &view) && view.start == 2 * 6 + 2 && view.count == 2);
    CHECK(pel_align_view_of(&turned, &third, &shape, &view) && view.start == 2 * 6 + 1 && view.count == 3);
    CHECK(view.strides[1] == 2 && !view.is_contiguous);
    third.at = 4;
    CHECK(!pel_align_view_of(&plain, &third, &shape, &view)); /* outside of the tensor */
    third = (pel_align_piece){ .at = -1, .from = 3, .to = 5 };
    CHECK(!pel_align_view_of(&plain, &third, &shape, &view));
    CHECK(!pel_align_view_of(&turned, &whole, &shape, &view)); /* an order of two for three dimensions */
}

static const test tests[] = {
    TEST(roles),
    TEST(places),
    TEST(views),
};

int main(void) { return RUN_TESTS(tests); }
