/* AST -> code: match. Each subject is put into a variable of its own, so that a test that fails can jump with
 * nothing on the stack. Names are bound as soon as their part matches. */
#include "interp/code/compile.h"

static void compile_pattern(pel_compiler *c, pel_node *pattern, pel_name subject, pel_label fail);

static void load(pel_compiler *c, pel_name name) { pel_emit_name(c, name, PEL_Load); }

static pel_name store_new(pel_compiler *c) {
    pel_name temp = pel_new_temp(c);
    pel_emit_name(c, temp, PEL_Store);
    return temp;
}

/* The value on the stack is an element: match it. */
static void match_element(pel_compiler *c, pel_node *pattern, pel_label fail) {
    compile_pattern(c, pattern, store_new(c), fail);
}

/* UNPACK raises if the length is wrong, so the length is tested first. All items go into variables before the first is
 * matched: a jump to fail needs an empty stack. The tests leave the subject below their answer, hence SWAP and POP. */
static void match_sequence(pel_compiler *c, const pel_node *node, pel_name subject, pel_label fail) {
    pel_nodes patterns = node->MatchSequence.patterns;
    uint32_t star = 0;
    while (star < patterns.n && patterns.at[star]->kind != PEL_MatchStar) star++;
    bool has_star = star < patterns.n;
    load(c, subject);
    pel_emit(c, PEL_I_MATCH_SEQUENCE, 0);
    pel_emit(c, PEL_I_SWAP, 2);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
    load(c, subject);
    pel_emit(c, PEL_I_GET_LEN, 0);
    pel_emit(c, PEL_I_SWAP, 2);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit_const(c, pel_int_of(c->vm, patterns.n - has_star));
    pel_emit(c, PEL_I_COMPARE, has_star ? PEL_GtE : PEL_Eq);
    pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
    load(c, subject);
    if (has_star)
        pel_emit_ab(c, PEL_I_UNPACK_EX, star, patterns.n - star - 1);
    else
        pel_emit(c, PEL_I_UNPACK, patterns.n);
    pel_name *temps = pel_new_array(c->ctx, patterns.n ? patterns.n : 1, pel_name);
    for (uint32_t i = 0; i < patterns.n; i++) temps[i] = store_new(c);
    for (uint32_t i = 0; i < patterns.n; i++) compile_pattern(c, patterns.at[i], temps[i], fail);
}

static void match_mapping(pel_compiler *c, const pel_node *node, pel_name subject, pel_label fail) {
    pel_nodes keys = node->MatchMapping.keys;
    load(c, subject);
    pel_emit(c, PEL_I_MATCH_MAPPING, 0);
    pel_emit(c, PEL_I_SWAP, 2);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
    for (uint32_t i = 0; i < keys.n; i++) pel_compile_expr(c, keys.at[i]);
    pel_emit(c, PEL_I_BUILD_TUPLE, keys.n);
    pel_name key_tuple = store_new(c);
    load(c, subject);
    load(c, key_tuple);
    pel_emit(c, PEL_I_MATCH_KEYS, 0); /* subject, keys, values */
    pel_name values = store_new(c);
    pel_emit(c, PEL_I_POP, 0);
    pel_emit(c, PEL_I_POP, 0);
    load(c, values);
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_COMPARE, PEL_IsNot);
    pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
    for (uint32_t i = 0; i < keys.n; i++) {
        load(c, values);
        pel_emit_const(c, pel_int_of(c->vm, i));
        pel_emit(c, PEL_I_LOAD_SUBSCR, 0);
        match_element(c, node->MatchMapping.patterns.at[i], fail);
    }
    if (node->MatchMapping.rest) {
        load(c, subject);
        load(c, key_tuple);
        pel_emit(c, PEL_I_DICT_REST, 0);
        pel_emit_name(c, node->MatchMapping.rest, PEL_Store);
    }
}

static void match_class(pel_compiler *c, const pel_node *node, pel_name subject, pel_label fail) {
    uint32_t n_positional = node->MatchClass.patterns.n, n_named = node->MatchClass.kwd_attrs.n;
    load(c, subject);
    pel_compile_expr(c, node->MatchClass.cls);
    pel_val names = pel_tuple_of(c->vm, NULL, n_named);
    for (uint32_t i = 0; i < n_named; i++)
        pel_tuple_at(names)->at[i] = pel_name_val(c->vm, node->MatchClass.kwd_attrs.at[i]);
    pel_emit_const(c, names);
    pel_emit(c, PEL_I_MATCH_CLASS, n_positional);
    pel_name values = store_new(c);
    load(c, values);
    pel_emit_const(c, c->vm->none);
    pel_emit(c, PEL_I_COMPARE, PEL_IsNot);
    pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
    for (uint32_t i = 0; i < n_positional + n_named; i++) {
        load(c, values);
        pel_emit_const(c, pel_int_of(c->vm, i));
        pel_emit(c, PEL_I_LOAD_SUBSCR, 0);
        match_element(
            c, i < n_positional ? node->MatchClass.patterns.at[i] : node->MatchClass.kwd_patterns.at[i - n_positional],
            fail);
    }
}

/* The stack must be as it was wherever a jump to fail may happen. Alternatives of an `or` bind the same names (a rule
 * of Python's), so the next one overwrites what a failed one bound. */
static void compile_pattern(pel_compiler *c, pel_node *pattern, pel_name subject, pel_label fail) {
    pel_enter(c);
    switch (pattern->kind) {
    case PEL_MatchValue:
        load(c, subject);
        pel_compile_expr(c, pattern->MatchValue.value);
        pel_emit(c, PEL_I_COMPARE, PEL_Eq);
        pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
        break;
    case PEL_MatchSingleton:
        load(c, subject);
        pel_emit_const(c, pel_const_val(c, pattern->MatchSingleton.value));
        pel_emit(c, PEL_I_COMPARE, PEL_Is);
        pel_emit(c, PEL_I_POP_JUMP_IF_FALSE, fail);
        break;
    case PEL_MatchSequence: match_sequence(c, pattern, subject, fail); break;
    case PEL_MatchMapping: match_mapping(c, pattern, subject, fail); break;
    case PEL_MatchClass: match_class(c, pattern, subject, fail); break;
    case PEL_MatchStar:
        if (!pattern->MatchStar.name) break;
        load(c, subject);
        pel_emit_name(c, pattern->MatchStar.name, PEL_Store);
        break;
    case PEL_MatchAs:
        if (pattern->MatchAs.pattern) compile_pattern(c, pattern->MatchAs.pattern, subject, fail);
        if (!pattern->MatchAs.name) break;
        load(c, subject);
        pel_emit_name(c, pattern->MatchAs.name, PEL_Store);
        break;
    case PEL_MatchOr: {
        pel_label matched = pel_new_label(c);
        for (uint32_t i = 0; i < pattern->MatchOr.patterns.n; i++) {
            bool is_last = i + 1 == pattern->MatchOr.patterns.n;
            pel_label next = is_last ? fail : pel_new_label(c);
            compile_pattern(c, pattern->MatchOr.patterns.at[i], subject, next);
            if (is_last) break;
            pel_emit(c, PEL_I_JUMP, matched);
            pel_place(c, next);
        }
        pel_place(c, matched);
        break;
    }
    default: PEL_BUG("a pattern of an unknown kind");
    }
    pel_leave(c);
}

void pel_compile_match(pel_compiler *c, pel_node *node) {
    pel_compile_expr(c, node->Match.subject);
    pel_name subject = store_new(c);
    pel_label end = pel_new_label(c);
    for (uint32_t i = 0; i < node->Match.cases.n; i++) {
        const pel_node *one = node->Match.cases.at[i];
        pel_label next = pel_new_label(c);
        c->unit->line = one->match_case.pattern->lineno;
        compile_pattern(c, one->match_case.pattern, subject, next);
        if (one->match_case.guard) pel_compile_jump_if(c, one->match_case.guard, false, next);
        pel_compile_body(c, one->match_case.body);
        pel_emit(c, PEL_I_JUMP, end);
        pel_place(c, next);
    }
    pel_place(c, end);
}
