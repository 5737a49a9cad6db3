/* The opposite of a test, as people write it. */
#include "trace/synth.h"

pel_node *pel_not(pel_ctx *ctx, pel_node *test) {
    if (test->kind == PEL_UnaryOp && test->UnaryOp.op == PEL_Not) return test->UnaryOp.operand;
    if (test->kind == PEL_Compare && test->Compare.ops.n == 1 && !test->mark) {
        /* not for < and >: with NaN they have no opposite */
        static const struct {
            uint8_t from, to;
        } opposite[] = { { PEL_Eq, PEL_NotEq }, { PEL_NotEq, PEL_Eq }, { PEL_Is, PEL_IsNot },
                         { PEL_IsNot, PEL_Is }, { PEL_In, PEL_NotIn }, { PEL_NotIn, PEL_In } };
        for (size_t i = 0; i < PEL_COUNT(opposite); i++)
            if (test->Compare.ops.at[0] == opposite[i].from)
                return pel_make_compare(ctx, test->Compare.left, opposite[i].to, test->Compare.comparators.at[0]);
    }
    pel_node *made = pel_node_new(ctx, PEL_UnaryOp);
    made->UnaryOp.op = PEL_Not;
    made->UnaryOp.operand = test;
    return made;
}

bool pel_gives_truth(const pel_node *node) {
    if (node->kind == PEL_Compare) return true;
    if (node->kind == PEL_UnaryOp) return node->UnaryOp.op == PEL_Not;
    return node->kind == PEL_Attribute && pel_name_is(node->Attribute.attr, "training");
}
