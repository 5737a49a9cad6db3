/* What a straight line asked of its tensors besides their elements: sizes, types. The calls of torch that it shows may
 * depend on the answers, and so may their order, so what was the same in all lanes is asserted. What differed is told
 * by example, and which number of dimensions there was is asserted at the top of the model. */
#include "trace/lines/line.h"

static pel_str last_name(pel_str path) {
    size_t dot = path.len;
    while (dot && path.ptr[dot - 1] != '.') dot--;
    return pel_str_from(path, dot);
}

/* Functions that ask how large a tensor is, or give as many tensors as it is long. */
static bool asks_size(pel_str function) {
    static const char *const names[] = { "size",         "numel",           "nelement", "stride",       "__len__",
                                         "__iter__",     "chunk",           "split",    "tensor_split", "unbind",
                                         "unsafe_chunk", "unsafe_split",    "nbytes",   "hsplit",       "vsplit",
                                         "dsplit",       "split_with_sizes" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(last_name(function), names[i])) return true;
    return false;
}

/* Functions whose answer follows from a tensor's dtype. */
static bool asks_type(pel_str function) {
    static const char *const names[] = { "element_size", "is_floating_point", "is_complex", "is_signed", "type" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(last_name(function), names[i])) return true;
    return false;
}

static bool compares(uint16_t op) { return op == PEL_OP_COMPARE_OP || op == PEL_OP_IS_OP || op == PEL_OP_CONTAINS_OP; }

/* Whether a number that was pushed may be a size, or computed from one: constants, attributes of modules and how many
 * dimensions there are don't hang on it. */
static bool may_be_size(const pel_insn *insn, const pel_value *library, const pel_value *made) {
    if (!pel_value_is_number(made) && made->kind != PEL_V_SIZE && made->kind != PEL_V_TUPLE) return false;
    if (insn->op == PEL_OP_LOAD_CONST || insn->op == PEL_OP_LOAD_ATTR || insn->op == PEL_OP_LOAD_GLOBAL) return false;
    return insn->op != PEL_OP_CALL || !library || !pel_str_is(library->text, "len");
}

/* n > 3, `if n % 2`, max(n, 3): sizes that no run had could go another way. */
static bool decides_by_size(const pel_insn *insn, const bool *sizes, const pel_value *below, const pel_value *made) {
    if (insn->op == PEL_OP_COMPARE_OP || insn->op == PEL_OP_CONTAINS_OP)
        return (sizes[0] || sizes[1]) && made->kind == PEL_V_CONST;
    if (made->kind == PEL_V_LIBRARY) return pel_str_is(made->text, "max") || pel_str_is(made->text, "min");
    bool is_jump = insn->op == PEL_OP_POP_JUMP_IF_FALSE || insn->op == PEL_OP_POP_JUMP_IF_TRUE;
    return is_jump && sizes[1] && pel_value_is_number(below);
}

static void note_size(pel_straight *x, pel_id tensor) {
    if (tensor)
        pel_map_set(x->ctx, &x->reads.sizes, tensor, 1);
    else
        x->reads.some_size = true;
}

/* torch.is_grad_enabled() and its likes: the line has the answer of one mode. */
static bool asks_mode(const pel_value *function) {
    static const char *const names[] = { "is_grad_enabled", "is_inference_mode_enabled", "is_autocast_enabled",
                                         "is_autocast_cpu_enabled", "get_autocast_dtype" };
    if (function->kind != PEL_V_LIBRARY) return false;
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(last_name(function->text), names[i])) return true;
    return false;
}

/* How many dimensions it has is asserted at the top; of which kind its memory is, each call of torch sees by itself. */
static bool is_plain_question(pel_name name) {
    static const char *const names[] = { "ndim",   "is_cuda", "is_cpu",    "is_meta",      "is_mps",    "is_xpu",
                                         "is_xla", "is_ipu",  "is_sparse", "is_quantized", "is_nested", "is_mkldnn" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    return false;
}

/* What one instruction of the author's pushed; below: what was pushed before it. */
static void see_record(pel_straight *x, const pel_insn *insn, const pel_value *below, const pel_value *made,
                       bool *has_type) {
    pel_id tensor = below->kind == PEL_V_TENSOR ? below->tensor : 0;
    bool is_read = insn->op == PEL_OP_LOAD_ATTR && tensor;
    if (is_read && made->kind == PEL_V_SIZE) note_size(x, tensor);
    bool of_type = is_read && (pel_name_is(insn->name, "itemsize") || pel_name_is(insn->name, "nbytes"));
    x->reads.tested_type |= of_type;
    if (of_type || (is_read && pel_name_is(insn->name, "dtype"))) {
        pel_map_set(x->ctx, &x->reads.types, tensor, 1);
        *has_type = true;
    }
    if (is_read && pel_name_is(insn->name, "requires_grad") && made->kind == PEL_V_CONST)
        pel_map_set(x->ctx, &x->reads.grads, tensor, (uint64_t)(made - x->log->values.at));
    if (asks_mode(made)) pel_lost(x->w, x->node, "it asks which mode torch is in");
    if (is_read && made->kind == PEL_V_CONST && !is_plain_question(insn->name) &&
        !pel_name_is(insn->name, "requires_grad"))
        x->reads.other = insn->name;
    bool of_device = below->kind == PEL_V_LITERAL && pel_str_starts(below->text, PEL_STR("torch.device("));
    if (of_device && insn->op == PEL_OP_LOAD_ATTR && made->kind == PEL_V_CONST) x->reads.other = insn->name;
    if (is_read || made->kind != PEL_V_SIZE) return;
    bool is_known = insn->kind == PEL_ARG_LOCAL || insn->kind == PEL_ARG_FREE || insn->op == PEL_OP_BINARY_SUBSCR ||
                    insn->op == PEL_OP_BINARY_OP || insn->op == PEL_OP_LOAD_ATTR;
    if (!is_known) note_size(x, 0); /* getattr(x, "shape") */
}

/* with: what it enters must show in calls that the line has, or do nothing to tensors. The others, autocast among them,
 * change what later calls do, and no call tells. */
static void see_context(pel_straight *x, const pel_value *made_by) {
    static const char *const known[] = { "no_grad",  "enable_grad", "set_grad_enabled",
                                         "suppress", "nullcontext", "record_function" };
    for (size_t i = 0; made_by && i < PEL_COUNT(known); i++)
        if (pel_str_is(last_name(made_by->text), known[i])) return;
    pel_lost(x->w, x->node, "it enters a context whose effect no call shows");
}

/* isinstance and its likes: another type could have gone another way. */
static bool asks_kind(const pel_value *function) {
    static const char *const names[] = { "isinstance", "type", "hasattr", "callable", "issubclass", "is_tensor" };
    if (function->kind != PEL_V_LIBRARY) return false;
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(last_name(function->text), names[i])) return true;
    return false;
}

static bool is_asked(const pel_straight *x, pel_id activation, pel_id value) {
    const pel_extent *extent = &x->w->s->extents[activation];
    for (uint32_t i = extent->first_event; i < extent->end_event; i++) {
        const pel_event *event = &x->log->events.at[i];
        if (event->activation == activation && pel_value_same(x->log, event->result, value)) return true;
    }
    return false;
}

/* n * 2, sum(ns), not k: the line has the number, and not what was done for it. What torch answered is no such number.
 */
static bool computes(const pel_straight *x, pel_id activation, const pel_insn *insn, pel_id value) {
    bool is_call = insn->op == PEL_OP_CALL || insn->op == PEL_OP_CALL_KW || insn->op == PEL_OP_CALL_FUNCTION_EX;
    bool is_operator =
        insn->op == PEL_OP_BINARY_OP || insn->op == PEL_OP_UNARY_NEGATIVE || insn->op == PEL_OP_UNARY_INVERT;
    if ((!is_call && !is_operator) || !pel_value_is_number(pel_straight_at(x, value))) return false;
    return is_operator || !is_asked(x, activation, value);
}

static void see_activation(pel_straight *x, pel_id id) {
    const pel_activation *activation = &x->log->activations.at[id];
    const pel_author *author = &x->w->s->authors[activation->code];
    pel_id below = 0, asked = 0;
    bool sizes[2] = { false, false };                          /* whether the last two values may be sizes */
    const pel_value *library = NULL;                           /* the last that was named */
    bool has_type = false, is_tested = false, by_name = false; /* getattr was named, and not yet called */
    for (uint32_t i = 0; author->insns && i < activation->n_records; i++) {
        const pel_record *record = &activation->records[i];
        const pel_insn *insn = pel_author_insn(author, record);
        if (insn && (insn->op == PEL_OP_BEFORE_WITH || insn->op == PEL_OP_LOAD_SPECIAL)) see_context(x, library);
        if (insn && insn->op == PEL_OP_MATCH_CLASS) x->reads.kinds = true;
        if (record->kind == PEL_R_STEP && insn)
            x->reads.decides |= decides_by_size(insn, sizes, pel_straight_at(x, below), pel_straight_at(x, 0));
        if (record->kind != PEL_R_PUSH || !insn) continue;
        const pel_value *made = pel_straight_at(x, record->value);
        x->reads.decides |= decides_by_size(insn, sizes, pel_straight_at(x, below), made);
        x->reads.computes |= computes(x, id, insn, record->value);
        sizes[0] = sizes[1];
        sizes[1] = may_be_size(insn, library, made);
        x->reads.kinds |= asks_kind(made);
        if (made->kind == PEL_V_LIBRARY) library = made;
        if (by_name && insn->op == PEL_OP_CALL) {
            bool is_plain = made->kind == PEL_V_CONST || made->kind == PEL_V_LIBRARY || made->kind == PEL_V_LITERAL;
            if (is_plain && pel_straight_at(x, asked)->kind == PEL_V_TENSOR)
                x->reads.other = pel_intern_c(x->ctx, "attribute by its name");
            by_name = false;
        }
        if (by_name && made->kind == PEL_V_TENSOR) asked = record->value;
        if (made->kind == PEL_V_LIBRARY && pel_str_is(made->text, "getattr")) {
            by_name = true;
            asked = 0;
        }
        if (made->kind == PEL_V_CONST && made->constant->kind == PEL_CONST_STR &&
            pel_str_is(made->constant->text, "training"))
            x->w->s->asked.training = true; /* getattr(self, "training") */
        see_record(x, insn, pel_straight_at(x, below), made, &has_type);
        is_tested |= has_type && compares(insn->op);
        if (has_type && insn->op == PEL_OP_CALL) /* torch.finfo(x.dtype) */
            is_tested |= made->kind != PEL_V_TENSOR && made->kind != PEL_V_MODULE && made->kind != PEL_V_SIZE;
        below = record->value;
    }
    x->reads.tested_type |= is_tested;
}

static bool is_grad_switch(pel_str function) {
    pel_str name = PEL_STR("_set_grad_enabled");
    return function.len > name.len && pel_str_eq(pel_str_from(function, function.len - name.len), name);
}

void pel_straight_find_reads(pel_straight *x, pel_straight_owns *owns) {
    for (uint32_t lane = 0; lane < x->n_lanes; lane++) {
        const pel_extent *extent = &x->w->s->extents[x->above[lane]];
        for (pel_id id = x->above[lane]; id < extent->end; id++)
            if (owns(x, id, x->above[lane])) see_activation(x, id);
        for (uint32_t i = extent->first_event; i < extent->end_event; i++) {
            const pel_event *event = &x->log->events.at[i];
            const pel_value *function = pel_straight_at(x, event->function);
            if (function->kind != PEL_V_LIBRARY || !owns(x, event->activation, x->above[lane])) continue;
            if (event->n_args && !lane && is_grad_switch(function->text)) /* the last puts back what was before */
                x->reads.grad_mode = event->args[0];
            if (!event->n_args) continue;
            const pel_value *of = pel_straight_at(x, event->args[0]);
            if (of->kind == PEL_V_TENSOR && asks_type(function->text)) {
                pel_map_set(x->ctx, &x->reads.types, of->tensor, 1);
                x->reads.tested_type = true;
            }
            if (!asks_size(function->text)) continue;
            note_size(x, of->kind == PEL_V_TENSOR ? of->tensor : 0);
        }
    }
}

/* ---- what is asserted of that ---- */

static bool is_among(const pel_straight *x, const pel_map *read, const pel_id *tensors) {
    for (uint32_t i = 0; i < x->n_lanes; i++)
        if (pel_map_has(read, tensors[i])) return true;
    return false;
}

/* Whether a size was asked of what is no weight and was not given: it follows from the sizes of what was. */
static bool asks_steps(pel_straight *x) {
    if (x->reads.some_size) return true;
    pel_map given = { 0 };
    for (uint32_t k = 0; k < x->reads.n_given; k++)
        for (uint32_t i = 0; i < x->n_lanes; i++) pel_map_set(x->ctx, &given, x->known.tensors.at[k].values[i], 1);
    for (pel_id id = 1; id < x->log->tensors.n; id++)
        if (pel_map_has(&x->reads.sizes, id) && !x->log->tensors.at[id].owner && !pel_map_has(&given, id)) return true;
    return false;
}

static const pel_log_tensor *tensor_at(const pel_straight *x, const pel_straight_named *named, uint32_t lane) {
    return &x->log->tensors.at[named->values[lane]];
}

static pel_node *of_tensor(pel_straight *x, const pel_straight_named *named, const char *attribute) {
    return pel_make_attribute(x->ctx, pel_copy(x->ctx, named->text), pel_intern_c(x->ctx, attribute), PEL_Load);
}

/* (4, 5, 7): the sizes that runs had, each once. */
static pel_node *sizes_seen(pel_straight *x, const pel_straight_named *named, uint32_t d) {
    pel_node *all = pel_node_new(x->ctx, PEL_Tuple);
    for (uint32_t i = 0; i < x->n_lanes; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++)
            is_new = tensor_at(x, named, k)->shape[d] != tensor_at(x, named, i)->shape[d];
        if (is_new) pel_nodes_push(x->ctx, &all->Tuple.elts, pel_make_int(x->ctx, tensor_at(x, named, i)->shape[d]));
    }
    return all;
}

static bool are_of_one_rank(const pel_straight *x, const pel_straight_named *named) {
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (tensor_at(x, named, i)->n_dims != tensor_at(x, named, 0)->n_dims) return false;
    return true;
}

/* x.shape[1] == 4, for each size that was the same in all lanes; x.shape == (3, 4) if all were. Of a size that differed
 * the line says by example what it does with it, unless it decided something by it: then only the sizes that runs had
 * are known to go this way. */
static void expect_sizes(pel_straight *x, const pel_straight_named *named, pel_nodes *tests) {
    const pel_log_tensor *first = tensor_at(x, named, 0);
    pel_nodes own = { 0 };
    pel_node *all = pel_node_new(x->ctx, PEL_Tuple);
    for (uint32_t d = 0; d < first->n_dims; d++) {
        bool same = true;
        for (uint32_t i = 1; i < x->n_lanes && same; i++) {
            const pel_log_tensor *row = tensor_at(x, named, i);
            same = row->n_dims == first->n_dims && row->shape[d] == first->shape[d];
        }
        if (!same && !(x->reads.decides && are_of_one_rank(x, named))) continue;
        pel_node *size =
            pel_make_subscript(x->ctx, of_tensor(x, named, "shape"), pel_make_int(x->ctx, (int64_t)d), PEL_Load);
        if (!same) {
            pel_nodes_push(x->ctx, tests, pel_make_compare(x->ctx, size, PEL_In, sizes_seen(x, named, d)));
            continue;
        }
        pel_node *value = pel_make_int(x->ctx, first->shape[d]);
        pel_nodes_push(x->ctx, &all->Tuple.elts, value);
        pel_nodes_push(x->ctx, &own, pel_make_compare(x->ctx, size, PEL_Eq, pel_copy(x->ctx, value)));
    }
    if (own.n && own.n == first->n_dims)
        own = pel_nodes_one(x->ctx, pel_make_compare(x->ctx, of_tensor(x, named, "shape"), PEL_Eq, all));
    for (uint32_t i = 0; i < own.n; i++) pel_nodes_push(x->ctx, tests, own.at[i]);
}

static void expect_type(pel_straight *x, const pel_straight_named *named, pel_nodes *tests) {
    pel_str type = tensor_at(x, named, 0)->dtype;
    for (uint32_t i = 1; i < x->n_lanes; i++)
        if (!pel_str_eq(tensor_at(x, named, i)->dtype, type)) return;
    pel_node *expected = pel_library_expression(x->ctx, x->w->s->program, type);
    pel_nodes_push(x->ctx, tests, pel_make_compare(x->ctx, of_tensor(x, named, "dtype"), PEL_Eq, expected));
}

/* not x.requires_grad */
static void expect_grads(pel_straight *x, pel_nodes *tests) {
    for (uint32_t k = 0; k < x->reads.n_given; k++) {
        const pel_straight_named *named = &x->known.tensors.at[k];
        uint64_t first = 0, other = 0;
        if (!pel_map_get(&x->reads.grads, named->values[0], &first) || tensor_at(x, named, 0)->owner) continue;
        for (uint32_t i = 1; i < x->n_lanes; i++)
            if (!pel_map_get(&x->reads.grads, named->values[i], &other) ||
                !pel_value_same(x->log, (pel_id)first, (pel_id)other))
                pel_lost(x->w, x->node, "it asks whether a tensor wants gradients");
        pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, (pel_id)first);
        pel_nodes_push(x->ctx, tests, pel_is_as_recorded(x->w->s, of_tensor(x, named, "requires_grad"), expected));
    }
}

/* torch.is_grad_enabled(), where the line switches that and puts it back. */
static void expect_mode(pel_straight *x, pel_nodes *tests) {
    if (!x->reads.grad_mode) return;
    pel_node *function = pel_library_expression(x->ctx, x->w->s->program, PEL_STR("torch.is_grad_enabled"));
    pel_node *call = pel_make_call(x->ctx, function, (pel_nodes){ 0 }, (pel_nodes){ 0 });
    pel_node *expected = pel_value_expression(x->ctx, x->w->s->program, x->reads.grad_mode);
    if (!expected) pel_lost(x->w, x->node, "it switches gradients by what has no literal");
    pel_nodes_push(x->ctx, tests, pel_is_as_recorded(x->w->s, call, expected));
}

void pel_straight_expect_reads(pel_straight *x, pel_nodes *tests) {
    bool all = asks_steps(x);
    if (x->reads.kinds) x->w->s->asked.tensors = x->w->s->asked.objects = true;
    expect_grads(x, tests);
    expect_mode(x, tests);
    for (uint32_t k = 0; k < x->reads.n_given; k++) {
        const pel_straight_named *named = &x->known.tensors.at[k];
        if (tensor_at(x, named, 0)->owner) continue;
        if (all || is_among(x, &x->reads.sizes, named->values)) expect_sizes(x, named, tests);
        if (is_among(x, &x->reads.types, named->values) && (x->reads.tested_type || !x->reads.wrote_type))
            expect_type(x, named, tests);
    }
}

pel_node *pel_straight_type(pel_straight *x, pel_str type) {
    for (uint32_t k = 0; k < x->known.tensors.n; k++) {
        const pel_straight_named *named = &x->known.tensors.at[k];
        bool same = is_among(x, &x->reads.types, named->values);
        for (uint32_t i = 0; i < x->n_lanes && same; i++) same = pel_str_eq(tensor_at(x, named, i)->dtype, type);
        if (!same) continue;
        x->reads.wrote_type = true;
        return of_tensor(x, named, "dtype");
    }
    return NULL;
}
