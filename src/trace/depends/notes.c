/* What is noted of nodes, and the opposite of a test, which depends on it. */
#include "trace/depends/notes.h"

uint32_t pel_node_notes(const pel_note_table *table, const pel_node *node) {
    return node->mark && node->mark <= table->rows.n ? table->rows.at[node->mark - 1] : 0;
}

/* A row of its own: the one that the node had may be that of copies, too. */
void pel_set_notes(pel_ctx *ctx, pel_note_table *table, pel_node *node, uint32_t notes) {
    if (notes) pel_push(ctx, &table->rows, (uint16_t)notes);
    node->mark = notes ? table->rows.n : 0;
}

void pel_note_node(pel_synth *s, pel_node *node, pel_node_note note) {
    uint32_t known = pel_node_notes(s->program->notes, node);
    if (!(known & note)) pel_set_notes(s->ctx, s->program->notes, node, known | note);
}

bool pel_is_noted(const pel_synth *s, const pel_node *node, uint32_t notes) {
    return pel_node_notes(s->program->notes, node) & notes;
}

void pel_forget_notes(pel_node *node) { node->mark = 0; }

pel_node *pel_not(const pel_synth *s, pel_node *test) {
    if (test->kind == PEL_UnaryOp && test->UnaryOp.op == PEL_Not) return test->UnaryOp.operand;
    bool is_plain = !pel_is_noted(s, test, PEL_NOTE_COMPARES_TENSORS | PEL_NOTE_EFFECT);
    if (test->kind == PEL_Compare && test->Compare.ops.n == 1 && is_plain) {
        /* not for < and >: with NaN they have no opposite */
        static const struct {
            uint8_t from, to;
        } opposite[] = { { PEL_Eq, PEL_NotEq }, { PEL_NotEq, PEL_Eq }, { PEL_Is, PEL_IsNot },
                         { PEL_IsNot, PEL_Is }, { PEL_In, PEL_NotIn }, { PEL_NotIn, PEL_In } };
        for (size_t i = 0; i < PEL_COUNT(opposite); i++)
            if (test->Compare.ops.at[0] == opposite[i].from)
                return pel_make_compare(s->ctx, test->Compare.left, opposite[i].to, test->Compare.comparators.at[0]);
    }
    pel_node *made = pel_node_new(s->ctx, PEL_UnaryOp);
    made->UnaryOp.op = PEL_Not;
    made->UnaryOp.operand = test;
    return made;
}

bool pel_gives_truth(const pel_node *node) {
    if (node->kind == PEL_Compare) return true;
    if (node->kind == PEL_UnaryOp) return node->UnaryOp.op == PEL_Not;
    return node->kind == PEL_Attribute && pel_name_is(node->Attribute.attr, "training");
}
