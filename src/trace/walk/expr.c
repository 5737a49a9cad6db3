/* Expressions: the records that are an expression's own, and the kinds of expressions that need no file for themselves.
 */
#include "trace/walk/expr.h"

#define DEPTH_LIMIT 400

pel_node *pel_shallow(pel_walk *w, const pel_node *node) {
    pel_node *copy = pel_copy_node(w->ctx, node);
    pel_forget_notes(copy);
    return copy;
}

static bool ends_expression(uint16_t op) {
    switch (op) {
    case PEL_OP_BEFORE_WITH:
    case PEL_OP_LOAD_SPECIAL: /* the same since 3.14, with a CALL */
    case PEL_OP_FOR_ITER:
    case PEL_OP_UNPACK_SEQUENCE:
    case PEL_OP_UNPACK_EX:
    case PEL_OP_STORE_FAST:
    case PEL_OP_STORE_DEREF:
    case PEL_OP_STORE_NAME:
    case PEL_OP_STORE_GLOBAL:
    case PEL_OP_RETURN_VALUE: return true;
    default: return pel_is_conditional(op);
    }
}

void pel_own(pel_walk *w, pel_front front, const pel_node *node, const pel_node *until, pel_id *values,
             pel_kids *kids) {
    for (uint32_t i = 0; i < front.n; i++) {
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record;
        while ((record = pel_next_record(w, lane))) {
            if (record->kind == PEL_R_RETURN || record->kind == PEL_R_RAISE) break;
            const pel_insn *insn = pel_insn_of(w, record);
            const pel_position *at = &w->author->positions[insn - w->author->insns->at];
            if (!pel_inside(at, node) || (until && pel_inside(at, until)) || ends_expression(insn->op)) break;
            if (record->kind == PEL_R_PUSH && values) values[i] = record->value;
            if (record->kind == PEL_R_CHILD && !kids) w->s->calls.linked[record->value] = true;
            if (record->kind == PEL_R_CHILD && kids) {
                if (kids->n == kids->cap) kids->at = pel_grow(w->ctx, kids->at, kids->n, &kids->cap, sizeof *kids->at);
                kids->at[kids->n++] = (pel_child){ i, record->value };
            }
            lane->at++;
        }
    }
}

static pel_val *eval_constant(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *val = pel_val_constant(w, front, pel_shallow(w, node), PEL_WHY_LITERAL);
    for (uint32_t i = 0; i < front.n; i++) { /* the compiler may have folded it into something larger */
        pel_lane *lane = pel_lane_at(w, front, i);
        const pel_record *record = pel_next_record(w, lane);
        if (!record || record->kind != PEL_R_PUSH || !pel_inside(pel_position_of(w, record), node)) continue;
        if (pel_insn_of(w, record)->op != PEL_OP_LOAD_CONST) continue;
        val->at[i] = record->value;
        lane->at++;
    }
    return val;
}

static pel_val *eval_named(pel_walk *w, pel_front front, pel_node *node) {
    pel_val *value = pel_eval(w, front, node->NamedExpr.value);
    pel_node *text = pel_shallow(w, node);
    text->NamedExpr.value = value->text;
    pel_val *val = pel_val_new(w, front, text);
    memcpy(val->at, value->at, front.n * sizeof *val->at);
    pel_take_over(val, value);
    val->taint = value->taint;
    val->effect = true; /* it binds a name */
    pel_own(w, front, node, node->NamedExpr.target, NULL, NULL);
    pel_store(w, front, node->NamedExpr.target,
              &(pel_lane_stored){ .taint = value->taint, .parts = value->parts, .value = value },
              &text->NamedExpr.target);
    if (!w->in_expression) { /* a statement before this one says the same */
        pel_nodes_push(w->ctx, w->out, pel_make_assign(w->ctx, text->NamedExpr.target, value->text));
        w->effect |= value->effect;
        val->text = pel_make_name(w->ctx, node->NamedExpr.target->Name.id, PEL_Load);
        val->effect = false;
        return pel_finish(w, front, node->NamedExpr.target, val);
    }
    return val;
}

static pel_val *eval_yield(pel_walk *w, pel_front front, pel_node *node) {
    pel_node *text = pel_shallow(w, node);
    pel_val *val = pel_val_new(w, front, text); /* what is sent to a generator is not known */
    pel_node **into = node->kind == PEL_Yield ? &text->Yield.value : &text->YieldFrom.value;
    if (*into) {
        pel_val *value = pel_eval(w, front, *into);
        *into = value->text;
        pel_take_over(val, value);
        w->result = pel_taint_join(w->ctx, w->result, value->taint);
    }
    pel_own(w, front, node, NULL, val->at, NULL);
    val->effect = true;
    return val;
}

/* A model output of a library's: whether a plain dataclass does for it shows in what the texts do with it. */
static void note_output(const pel_walk *w, pel_front front, const pel_val *val) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, val->at[i]);
        if (value->kind != PEL_V_DICT || !value->class) continue;
        if (pel_class_at(w->log, value->class)->kind != PEL_CLASS_DATACLASS) continue;
        pel_note_node(w->s, val->text, PEL_NOTE_OUTPUT);
        return;
    }
}

/* Records are eaten in the order in which CPython evaluates. Each kind must visit its parts in that order and eat its
 * own records, or what comes next takes them for its own. Statements count in the depth, too. */
pel_val *pel_eval(pel_walk *w, pel_front front, pel_node *node) {
    if (++w->depth > DEPTH_LIMIT) pel_lost(w, node, "the expression nests too deep");
    pel_val *val = NULL;
    switch (node->kind) {
    case PEL_Constant: val = eval_constant(w, front, node); break;
    case PEL_Name: val = pel_eval_name(w, front, node); break;
    case PEL_Attribute: val = pel_eval_attribute(w, front, node); break;
    case PEL_Subscript: val = pel_eval_subscript(w, front, node); break;
    case PEL_BinOp: val = pel_eval_binop(w, front, node); break;
    case PEL_UnaryOp: val = pel_eval_unary(w, front, node); break;
    case PEL_Compare: val = pel_eval_compare(w, front, node); break;
    case PEL_BoolOp: val = pel_eval_boolop(w, front, node); break;
    case PEL_IfExp: val = pel_eval_ifexp(w, front, node); break;
    case PEL_Tuple:
    case PEL_List:
    case PEL_Set: val = pel_eval_sequence(w, front, node); break;
    case PEL_Dict: val = pel_eval_dict(w, front, node); break;
    case PEL_Slice: val = pel_eval_slice(w, front, node); break;
    case PEL_JoinedStr: val = pel_eval_joined(w, front, node); break;
    case PEL_Call: val = pel_eval_call(w, front, node); break;
    case PEL_NamedExpr: val = eval_named(w, front, node); break;
    case PEL_Lambda: val = pel_eval_lambda(w, front, node); break;
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp:
    case PEL_GeneratorExp: val = pel_eval_comprehension(w, front, node); break;
    case PEL_Yield:
    case PEL_YieldFrom: val = eval_yield(w, front, node); break;
    default: pel_lost(w, node, "%s is not supported here", pel_kinds[node->kind].name);
    }
    w->depth--;
    if (val->text) note_output(w, front, val);
    return val;
}
