/* A trace keeps sizes as tensors of one number: NumToTensor(size), arithmetic, int(). Where nothing but arithmetic and
 * int() uses them they are numbers, as their author had them. */
#include "source/script.h"

typedef struct sizes {
    pel_ctx *ctx;
    pel_nodes *body;
    pel_map line_of; /* value -> 1 + its line */
    pel_map uses;    /* value -> how many */
    pel_map numbers; /* values that can be numbers -> 1 + whether they are whole */
    bool changed;
    const pel_node *line; /* whose uses are looked at */
} sizes;

/* The operator of `v = operator(...)`; empty: the line is something else. */
static pel_str operator_of(const pel_node *line) {
    const pel_node *call = pel_bound_name(line) ? line->Assign.value : NULL;
    bool is_call = call && call->kind == PEL_Call && call->Call.func->kind == PEL_Name;
    return is_call ? pel_name_str(call->Call.func->Name.id) : (pel_str){ "", 0 };
}

static bool is_word(pel_str text, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(text, words[i])) return true;
    return false;
}

static bool is_arithmetic(pel_str target) {
    static const char *const words[] = { "aten.add", "aten.sub", "aten.rsub",      "aten.mul",
                                         "aten.div", "aten.neg", "aten.remainder", "aten.floor_divide" };
    return is_word(target, words, PEL_COUNT(words));
}

static bool is_cast(pel_str target) {
    static const char *const words[] = { "int", "float", "bool" };
    return is_word(target, words, PEL_COUNT(words));
}

static bool is_constant_number(const pel_node *node, bool *is_whole) {
    if (node->kind == PEL_UnaryOp) node = node->UnaryOp.operand;
    if (node->kind != PEL_Constant) return false;
    *is_whole = node->Constant.value->kind == PEL_CONST_INT;
    return *is_whole || node->Constant.value->kind == PEL_CONST_FLOAT;
}

/* Whether a value is a number; whether it is whole. */
static bool is_number(const sizes *s, const pel_node *node, bool *is_whole) {
    if (node->kind != PEL_Name) return is_constant_number(node, is_whole);
    uint64_t found = pel_map_find(&s->numbers, PEL_KEY(node->Name.id), 0);
    *is_whole = found == 2;
    return found > 0;
}

/* Only what numbers have, too: alpha=1, and a division that is rounded down. */
static bool has_plain_keywords(const pel_node *call) {
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i], *value = keyword->keyword.value;
        bool is_floor = pel_name_is(keyword->keyword.arg, "rounding_mode") && value->kind == PEL_Constant &&
                        value->Constant.value->kind == PEL_CONST_STR &&
                        pel_str_is(value->Constant.value->text, "floor");
        if (!is_floor && !(pel_name_is(keyword->keyword.arg, "alpha") && pel_is_number(value, 1))) return false;
    }
    return true;
}

/* A line whose result is a number if what it takes are numbers. */
static void note_number(sizes *s, const pel_node *line) {
    pel_str target = operator_of(line);
    const pel_nodes *args = target.len ? &line->Assign.value->Call.args : NULL;
    bool all_whole = true, is_whole = false;
    if (pel_str_is(target, "prim.NumToTensor") && args->n == 1) {
        pel_map_set(s->ctx, &s->numbers, PEL_KEY(pel_bound_name(line)), 2);
        return;
    }
    if (!is_arithmetic(target) || !has_plain_keywords(line->Assign.value)) return;
    bool any = false;
    for (uint32_t i = 0; i < args->n; i++) {
        if (!is_number(s, args->at[i], &is_whole)) return;
        any |= args->at[i]->kind == PEL_Name;
        all_whole &= is_whole;
    }
    bool is_quotient = pel_str_is(target, "aten.div") && !line->Assign.value->Call.keywords.n;
    if (any) pel_map_set(s->ctx, &s->numbers, PEL_KEY(pel_bound_name(line)), all_whole && !is_quotient ? 2 : 1);
}

static void forget(sizes *s, pel_name name) {
    if (!pel_map_find(&s->numbers, PEL_KEY(name), 0)) return;
    pel_map_set(s->ctx, &s->numbers, PEL_KEY(name), 0);
    s->changed = true;
}

/* Arithmetic of a number and a tensor is the same with a number of Python's. */
static bool takes_numbers(const sizes *s, const pel_node *line) {
    pel_str target = operator_of(line);
    bool is_whole;
    if (is_cast(target)) return true;
    if (!is_arithmetic(target)) return false;
    if (pel_map_find(&s->numbers, PEL_KEY(pel_bound_name(line)), 0)) return true;
    for (uint32_t i = 0; i < line->Assign.value->Call.args.n; i++)
        if (!is_number(s, line->Assign.value->Call.args.at[i], &is_whole)) return true;
    return false;
}

static void find_uses(void *arg, pel_node **slot) {
    sizes *s = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.ctx == PEL_Load) {
        pel_name name = (*slot)->Name.id;
        pel_map_set(s->ctx, &s->uses, PEL_KEY(name), pel_map_find(&s->uses, PEL_KEY(name), 0) + 1);
        bool is_argument = false;
        if (operator_of(s->line).len)
            for (uint32_t i = 0; i < s->line->Assign.value->Call.args.n; i++)
                is_argument |= s->line->Assign.value->Call.args.at[i] == *slot;
        if (!is_argument || !takes_numbers(s, s->line)) forget(s, name);
    }
    pel_each_child(*slot, find_uses, s);
}

static void replace_everywhere(sizes *s, pel_name name, pel_node *by) {
    for (uint32_t i = 0; i < s->body->n; i++) pel_replace_name(&s->body->at[i], name, by);
}

static void rename_operator(sizes *s, pel_node *call, const char *name) {
    call->Call.func = pel_make_name(s->ctx, pel_intern_c(s->ctx, name), PEL_Load);
}

/* True: the line is needed no more. */
static bool rewrite(sizes *s, pel_node *line) {
    pel_str target = operator_of(line);
    pel_name name = pel_bound_name(line);
    if (!target.len) return false;
    pel_node *call = line->Assign.value, *first = call->Call.args.n ? call->Call.args.at[0] : NULL;
    uint64_t number = pel_map_find(&s->numbers, PEL_KEY(name), 0);
    bool is_whole;
    if (pel_str_is(target, "prim.NumToTensor") && !number) {
        call->Call.func = pel_dotted(s->ctx, "torch.tensor");
    } else if (pel_str_is(target, "prim.NumToTensor")) {
        uint64_t at = first->kind == PEL_Name ? pel_map_find(&s->line_of, PEL_KEY(first->Name.id), 0) : 0;
        pel_node *maker = at ? s->body->at[at - 1] : NULL;
        if (maker && pel_map_find(&s->uses, PEL_KEY(first->Name.id), 0) == 1) { /* its name is the author's */
            line->Assign.value = maker->Assign.value;
            maker->Assign.value = pel_make_none(s->ctx);
            return false;
        }
        replace_everywhere(s, name, first);
        return true;
    } else if (number) {
        bool is_floor = call->Call.keywords.n && pel_name_is(call->Call.keywords.at[0]->keyword.arg, "rounding_mode");
        call->Call.keywords = (pel_nodes){ 0 };
        if (is_floor) rename_operator(s, call, "aten.floor_divide");
    } else if (pel_str_is(target, "int") && is_number(s, first, &is_whole) && is_whole) {
        replace_everywhere(s, name, first);
        return true;
    }
    return false;
}

void pel_script_sizes(pel_ctx *ctx, pel_nodes *body) {
    sizes s = { .ctx = ctx, .body = body };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_name name = pel_bound_name(body->at[i]);
        if (name) pel_map_set(ctx, &s.line_of, PEL_KEY(name), i + 1);
        note_number(&s, body->at[i]);
    }
    do { /* as often as the longest chain of values */
        s.changed = false;
        s.uses = (pel_map){ 0 };
        for (uint32_t i = 0; i < body->n; i++) {
            s.line = body->at[i];
            pel_each_child(body->at[i], find_uses, &s);
        }
    } while (s.changed);
    bool *is_gone = pel_new_array(ctx, body->n + 1, bool);
    for (uint32_t i = 0; i < body->n; i++) is_gone[i] = rewrite(&s, body->at[i]);
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        bool was_moved = pel_bound_name(body->at[i]) && pel_is_none(body->at[i]->Assign.value);
        if (!is_gone[i] && !was_moved) pel_nodes_push(ctx, &kept, body->at[i]);
    }
    *body = kept;
}
