/* What compilers since 3.12 do that the tree does not show: two instructions in one, comprehensions that run in the
 * frame around them, positions of their own. Put back to what earlier ones did, so that no later pass has to know. */
#include "trace/log/align.h"

/* ---- two in one ---- */

static uint32_t count_fused(const pel_insns *insns) {
    uint32_t n = 0;
    pel_op halves[2];
    for (uint32_t i = 0; i < insns->n; i++) n += pel_op_halves(insns->at[i].op, halves);
    return n;
}

typedef struct name_use {
    const pel_node *node;
    bool is_loaded, is_stored; /* both for x in x += y */
} name_use;

typedef struct parts { /* of a function: what its own code computes */
    pel_ctx *ctx;
    PEL_VEC(name_use) names;
    PEL_VEC(const pel_node *) others; /* attributes and subscripts */
    uint32_t depth;
} parts;

#define DEPTH_LIMIT 1000

static void see_part(void *arg, pel_node **slot);

static void see_list(parts *list, pel_nodes nodes) {
    for (uint32_t i = 0; i < nodes.n; i++) see_part(list, &nodes.at[i]);
}

/* Of a function inside, only what is evaluated where it is made. */
static void see_part(void *arg, pel_node **slot) {
    parts *list = arg;
    pel_node *node = *slot;
    if (++list->depth > DEPTH_LIMIT)
        pel_throw_at(list->ctx, PEL_E_TOO_DEEP, 0, node->lineno, node->col_offset, "source nests too deep");
    switch (node->kind) {
    case PEL_Name:
        pel_push(list->ctx, &list->names,
                 ((name_use){ node, node->Name.ctx == PEL_Load, node->Name.ctx == PEL_Store }));
        break;
    case PEL_AugAssign:
        see_part(list, &node->AugAssign.target);
        if (node->AugAssign.target->kind == PEL_Name) list->names.at[list->names.n - 1].is_loaded = true;
        see_part(list, &node->AugAssign.value);
        break;
    case PEL_Lambda: see_part(list, &node->Lambda.args); break;
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
        see_list(list, node->FunctionDef.decorator_list);
        see_part(list, &node->FunctionDef.args);
        break;
    case PEL_ClassDef:
        see_list(list, node->ClassDef.decorator_list);
        see_list(list, node->ClassDef.bases);
        break;
    case PEL_GeneratorExp: see_part(list, &node->GeneratorExp.generators.at[0]->comprehension.iter); break;
    case PEL_Attribute:
    case PEL_Subscript: pel_push(list->ctx, &list->others, node); /* fall through */
    default: pel_each_child(node, see_part, list);
    }
    list->depth--;
}

static void see_function(parts *list, pel_node *node) {
    switch (node->kind) {
    case PEL_Lambda: see_part(list, &node->Lambda.body); break;
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: see_list(list, node->FunctionDef.body); break;
    default: pel_each_child(node, see_part, list);
    }
}

static bool is_at(const pel_position *at, const pel_node *node) {
    return at->line == (int32_t)node->lineno && at->col == (int32_t)node->col_offset &&
           at->end_line == (int32_t)node->end_lineno && at->end_col == (int32_t)node->end_col_offset;
}

static pel_position place_of(const pel_node *node) {
    if (!node) return (pel_position){ -1, -1, -1, -1 };
    return (pel_position){ (int32_t)node->lineno, (int32_t)node->end_lineno, (int32_t)node->col_offset,
                           (int32_t)node->end_col_offset };
}

/* Whether another instruction does that to this very name. In x += y one loads x and one stores it. */
static bool is_taken(const pel_author *author, const bool *is_second, uint16_t op, const pel_node *node) {
    for (uint32_t i = 0; i < author->insns->n; i++) {
        const pel_insn *insn = &author->insns->at[i];
        bool same = insn->op == op || (op == PEL_OP_LOAD_FAST && insn->op == PEL_OP_LOAD_FAST_CHECK);
        if (!is_second[i] && same && insn->name == node->Name.id && is_at(&author->positions[i], node)) return true;
    }
    return false;
}

/* super().x and x[a:b] have the position of the whole: that of super() and of a:b. */
static pel_position find_first(const parts *list, const pel_position *whole) {
    for (uint32_t k = 0; k < list->others.n; k++) {
        const pel_node *node = list->others.at[k];
        if (is_at(whole, node))
            return place_of(node->kind == PEL_Attribute ? node->Attribute.value : node->Subscript.slice);
    }
    return *whole;
}

static bool is_inside(const pel_node *node, const pel_position *at) {
    int32_t line = (int32_t)node->lineno, col = (int32_t)node->col_offset;
    if (at->line < 0 || line < at->line || line > at->end_line) return false;
    return (line > at->line || col >= at->col) && (line < at->end_line || col < at->end_col);
}

/* How likely a name is the second one; 0: it is not. */
static int rank(const pel_author *author, const bool *is_second, uint32_t i, const name_use *name) {
    const pel_insn *insn = &author->insns->at[i];
    const pel_position *first = &author->positions[i - 1];
    bool fits = insn->op == PEL_OP_LOAD_FAST ? name->is_loaded : name->is_stored;
    if (!fits || name->node->Name.id != insn->name || (int32_t)name->node->lineno != first->line) return 0;
    if (!is_taken(author, is_second, insn->op, name->node)) return (int32_t)name->node->col_offset > first->col ? 3 : 2;
    return i + 1 < author->insns->n && is_inside(name->node, &author->positions[i + 1]);
}

/* The position of the second of two names. The compiler keeps that of the first one, and fuses only what stands in one
 * line. It is the next name there that no other instruction is about, or else one ahead of the first, as x is in
 * x[i] = y. In a copy of some code (a loop's test, at its end) the name has an instruction in the original; then it is
 * part of what the instruction that follows is about. */
static pel_position find_second(const pel_author *author, const parts *list, const bool *is_second, uint32_t i) {
    const pel_node *best = NULL;
    int best_rank = 0;
    for (uint32_t k = 0; k < list->names.n; k++) {
        const pel_node *node = list->names.at[k].node;
        int ranked = rank(author, is_second, i, &list->names.at[k]);
        bool is_nearer =
            best && (ranked == 2 ? node->col_offset > best->col_offset : node->col_offset < best->col_offset);
        if (ranked < best_rank || !ranked || (ranked == best_rank && !is_nearer)) continue;
        best = node;
        best_rank = ranked;
    }
    return place_of(best);
}

/* The n-th second half gets the n-th unit past the end of the code: the recorder counts the same way (ext/units.c). A
 * jump to a pair leads to its first half. The place of a second name is open until pel_align_later finds it. */
void pel_split_fused(pel_ctx *ctx, pel_author *author) {
    const pel_insns *from = author->insns;
    uint32_t n_fused = count_fused(from), n = 0, end = (uint32_t)from->code->code.len;
    if (!n_fused) return;
    pel_insns *to = pel_new(ctx, pel_insns);
    uint32_t *moved = pel_new_array(ctx, from->n + 1u, uint32_t);
    bool *is_second = pel_new_array(ctx, from->n + n_fused, bool);
    pel_position *positions = pel_new_array(ctx, from->n + n_fused, pel_position);
    *to = *from;
    to->at = pel_new_array(ctx, from->n + n_fused, pel_insn);
    for (uint32_t i = 0; i < from->n; i++) {
        pel_op halves[2];
        moved[i] = n;
        positions[n] = author->positions[i];
        pel_insn *first = &to->at[n++];
        *first = from->at[i];
        if (!pel_op_halves(first->op, halves)) continue;
        pel_insn *second = &to->at[n];
        *second = *first;
        first->op = (uint16_t)halves[0];
        second->op = (uint16_t)halves[1];
        bool is_pair = first->kind == PEL_ARG_LOCAL2;
        if (is_pair) {
            first->kind = second->kind = PEL_ARG_LOCAL;
            second->name = first->name2;
        }
        second->is_target = false;
        second->offset = end;
        second->end = end += 2;
        positions[n] = is_pair ? place_of(NULL) : positions[n - 1];
        is_second[n++] = true;
    }
    moved[from->n] = to->n = n;
    for (uint32_t i = 0; i < n; i++)
        if (to->at[i].target != PEL_NO_TARGET) to->at[i].target = moved[to->at[i].target];
    to->handlers = pel_new_array(ctx, from->n_handlers, pel_handler);
    for (uint32_t h = 0; h < from->n_handlers; h++) {
        const pel_handler *old = &from->handlers[h];
        to->handlers[h] = *old;
        to->handlers[h].start = moved[old->start];
        to->handlers[h].end = moved[old->end];
        to->handlers[h].target = moved[old->target];
    }
    author->insns = to;
    author->positions = positions;
    author->is_second = is_second;
}

/* ---- comprehensions ---- */

static bool same_place(const pel_position *a, const pel_position *b) {
    return a->line == b->line && a->end_line == b->end_line && a->col == b->col && a->end_col == b->end_col;
}

/* A variable of a comprehension that the function has, too, is put aside and back: that is nothing of the author's. */
static void hide_saved(const pel_author *author, pel_position *positions) {
    const pel_insns *insns = author->insns;
    for (uint32_t i = 0; i < insns->n; i++) {
        if (insns->at[i].op != PEL_OP_LOAD_FAST_AND_CLEAR) continue;
        pel_position whole = positions[i];
        positions[i].line = -1;
        for (uint32_t k = i + 1; k < insns->n && whole.line >= 0; k++)
            if (insns->at[k].op == PEL_OP_STORE_FAST && insns->at[k].name == insns->at[i].name &&
                same_place(&positions[k], &whole))
                positions[k].line = -1;
    }
}

/* What a generator expression yields has the element's position, and so has what it is sent, which is no value of the
 * element's. */
static void move_yields(const pel_author *author, pel_position *positions) {
    if (!author->node || author->node->kind != PEL_GeneratorExp) return;
    for (uint32_t i = 0; i < author->insns->n; i++)
        if (author->insns->at[i].op == PEL_OP_YIELD_VALUE) positions[i] = place_of(author->node);
}

void pel_align_later(pel_ctx *ctx, pel_author *author) {
    pel_position *positions = pel_new_array(ctx, author->insns->n, pel_position);
    memcpy(positions, author->positions, author->insns->n * sizeof *positions);
    if (author->is_second && author->node) {
        parts list = { .ctx = ctx };
        see_function(&list, author->node);
        for (uint32_t i = 0; i < author->insns->n; i++)
            if (author->is_second[i] && author->insns->at[i].kind == PEL_ARG_LOCAL)
                positions[i] = find_second(author, &list, author->is_second, i);
            else if (author->is_second[i])
                positions[i - 1] = find_first(&list, &positions[i]);
    }
    hide_saved(author, positions);
    move_yields(author, positions);
    author->positions = positions;
}
