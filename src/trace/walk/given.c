/* What callers give the model. Of some of it the text keeps the names, because another call may bring something else;
 * of the rest it takes for granted what the recorded calls brought, and root.c asserts it. */
#include "trace/walk/walk.h"

#pragma GCC diagnostic error "-Wswitch-enum" /* each kind of value has its rule */

enum { DEEPEST = 6 }; /* tuples in tuples that are looked into; what lies deeper may hold anything */

typedef enum given_form {
    GIVEN_SHOWS,     /* tensors and modules: they are never folded */
    GIVEN_NUMBER,    /* data, as tensors are */
    GIVEN_PLAIN,     /* taken for granted, and asserted at the top */
    GIVEN_CONTAINER, /* holds tensors, or may come changed */
    GIVEN_OBJECT,    /* what is read off it depends on the caller (pel_is_content_of_given) */
    GIVEN_UNKNOWN,   /* whatever comes of it depends on the caller */
} given_form;

/* A number in it, at any depth: a size, or a node of a tree. */
static bool holds_number(const pel_log *log, const pel_value *value, int depth) {
    for (uint32_t i = 0; i < value->n; i++) {
        const pel_value *item = pel_value_at(log, value->items[i]);
        if (pel_value_is_number(item)) return true;
        if (item->kind == PEL_V_TUPLE && (depth == 0 || holds_number(log, item, depth - 1))) return true;
    }
    return false;
}

/* A value that is wrongly PLAIN would be folded although another call brings something else, so doubt counts as
 * UNKNOWN. What can change in place is a container, even where its items are plain. */
static given_form form_of_given(const pel_synth *s, pel_id id) {
    const pel_value *value = pel_value_at(s->log, id);
    bool plain = id && pel_plain(s, id);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_TENSOR:
    case PEL_V_NONE_YET:
    case PEL_V_MODULE: return GIVEN_SHOWS;
    case PEL_V_CONST: return pel_value_is_number(value) ? GIVEN_NUMBER : GIVEN_PLAIN;
    case PEL_V_LIBRARY:
    case PEL_V_CLASS:
    case PEL_V_LITERAL: return plain ? GIVEN_PLAIN : GIVEN_UNKNOWN;
    case PEL_V_TUPLE: return plain && !holds_number(s->log, value, DEEPEST) ? GIVEN_PLAIN : GIVEN_CONTAINER;
    case PEL_V_FROZENSET: return plain ? GIVEN_PLAIN : GIVEN_CONTAINER;
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_DICT:
    case PEL_V_SET:
    case PEL_V_SLICE:
    case PEL_V_RANGE: return GIVEN_CONTAINER;
    case PEL_V_OBJECT:
        return plain ? GIVEN_PLAIN : pel_map_has(&s->objects.given, value->object) ? GIVEN_OBJECT : GIVEN_SHOWS;
    case PEL_V_FUNCTION:
    case PEL_V_METHOD:
    case PEL_V_PARTIAL:
    case PEL_V_OPAQUE: return GIVEN_UNKNOWN;
    }
    return GIVEN_UNKNOWN;
}

/* Numbers are data, as tensors are. So are containers, whatever can't be looked into, and all that was not the same in
 * all runs: a third string may come, or a tensor for which there was None once, with other arguments. */
static const pel_taint *taint_of_given(const pel_synth *s, const pel_group *root, const pel_param *param) {
    uint32_t n[GIVEN_UNKNOWN + 1] = { 0 };
    bool same = true, is_one_type = true;
    pel_id first = pel_argument(s->log, root->lanes[0], param);
    for (uint32_t i = 0; i < root->n_lanes; i++) {
        pel_id id = pel_argument(s->log, root->lanes[i], param);
        same = same && pel_value_same(s->log, id, first);
        n[form_of_given(s, id)]++;
        const pel_value *value = pel_value_at(s->log, id);
        is_one_type &= value->kind == pel_value_at(s->log, first)->kind &&
                       pel_class_with_attributes(s->log, id) == pel_class_with_attributes(s->log, first);
    }
    if (n[GIVEN_NUMBER] == root->n_lanes) return &pel_tainted_given;
    if (n[GIVEN_CONTAINER] == root->n_lanes) return &pel_tainted_holder;
    bool is_choice = n[GIVEN_PLAIN] && !same;
    return n[GIVEN_NUMBER] || n[GIVEN_CONTAINER] || n[GIVEN_UNKNOWN] || is_choice ? &pel_tainted
           : n[GIVEN_PLAIN] == root->n_lanes                                      ? pel_constant(PEL_WHY_GIVEN)
           : !is_one_type                                                         ? pel_constant(PEL_WHY_HELD)
                                                                                  : pel_constant(PEL_WHY_BROUGHT);
}

/* ---- how many dimensions tensors have ---- */

static pel_rank_form rank_of_value(const pel_log *log, pel_id id, uint32_t *rank) {
    const pel_value *value = pel_value_at(log, id);
    if (value->kind == PEL_V_TENSOR) {
        *rank = log->tensors.at[value->tensor].n_dims;
        return PEL_RANK_OWN;
    }
    bool is_dict = value->kind == PEL_V_DICT;
    if (value->kind == PEL_V_SIZE) return PEL_RANK_OPEN; /* nobody knows of which tensor */
    for (uint32_t i = 0; value->kind == PEL_V_OBJECT && i < value->n; i++) {
        const pel_value *item = pel_value_at(log, value->items[i]);
        if (item->kind == PEL_V_TENSOR || pel_value_has_items(item->kind)) return PEL_RANK_OPEN;
    }
    if (!is_dict && value->kind != PEL_V_LIST && value->kind != PEL_V_TUPLE) return PEL_RANK_NONE;
    uint32_t n_tensors = 0, n_others = 0;
    for (uint32_t i = is_dict; i < value->n; i += 1u + is_dict) {
        const pel_value *item = pel_value_at(log, value->items[i]);
        if (pel_value_has_items(item->kind)) return PEL_RANK_OPEN;
        n_others += item->kind != PEL_V_TENSOR;
        if (item->kind != PEL_V_TENSOR) continue;
        uint32_t n_dims = log->tensors.at[item->tensor].n_dims;
        if (n_tensors++ && *rank != n_dims) return PEL_RANK_OPEN;
        *rank = n_dims;
    }
    if (!n_tensors) return PEL_RANK_NONE;
    return n_others ? PEL_RANK_OPEN : is_dict ? PEL_RANK_OF_VALUES : PEL_RANK_OF_ITEMS;
}

static bool is_none(const pel_log *log, pel_id id) {
    const pel_value *value = pel_value_at(log, id);
    return !id || (value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE);
}

pel_rank_form pel_given_rank(const pel_synth *s, const pel_group *root, const pel_param *param, uint32_t *rank,
                             bool *or_none) {
    pel_rank_form all = PEL_RANK_NONE;
    bool or_other = false;
    *or_none = false;
    for (uint32_t i = 0; i < root->n_lanes; i++) {
        pel_id id = pel_argument(s->log, root->lanes[i], param);
        uint32_t one = 0;
        pel_rank_form form = rank_of_value(s->log, id, &one);
        if (form == PEL_RANK_NONE)
            *(is_none(s->log, id) ? or_none : &or_other) = true;
        else if (all != PEL_RANK_NONE && (all != form || *rank != one))
            return PEL_RANK_OPEN;
        else {
            all = form;
            *rank = one;
        }
    }
    return all != PEL_RANK_NONE && or_other ? PEL_RANK_OPEN : all;
}

/* Whether a tensor is one that a run was given, by itself. */
static bool is_given_tensor(const pel_log *log, pel_id tensor) {
    for (uint32_t r = 0; r < log->runs.n; r++) {
        const pel_log_run *run = &log->runs.at[r];
        for (uint32_t i = 0; i < run->n_args + run->n_kwargs; i++) {
            pel_id id = i < run->n_args ? run->args[i] : run->kwargs[i - run->n_args].value;
            const pel_value *value = pel_value_at(log, id);
            if (value->kind == PEL_V_TENSOR && value->tensor == tensor) return true;
        }
    }
    return false;
}

/* x.squeeze(): how many dimensions are left hangs on sizes, and so it may of whatever is made of it. */
void pel_note_squeeze(pel_walk *w) {
    if (w->s->asked.is_rank_computed) return;
    w->s->asked.is_rank_computed = true;
    w->s->facts.changed = true; /* what was folded before is asked again */
}

/* x.reshape(sizes), x.sum(dims), x[where], where callers say how many there are: so they do of the dimensions. A list
 * of data's numbers may be of any length, too. */
void pel_note_rank_given(pel_walk *w, pel_front front, const pel_val *arg) {
    if (!pel_taint_counts(arg->taint)) return;
    bool is_open = false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, arg->at[i]);
        bool is_sequence = value->kind == PEL_V_LIST || value->kind == PEL_V_TUPLE;
        bool is_content = w->s->asked.is_type_open && pel_taint_maybe_other_type(arg->taint);
        bool is_data = w->s->asked.lists_data && value->kind == PEL_V_LIST && !arg->taint->n;
        is_open |= is_sequence ? is_content || is_data : value->kind == PEL_V_CONST && is_content;
    }
    if (is_open) pel_note_squeeze(w);
}

/* Whether the answer can be taken for granted: then it is. The weights' own does not hang on what callers give. */
bool pel_ask_rank(pel_walk *w, pel_front front, const pel_val *of) {
    bool is_weight = true, is_given = true;
    for (uint32_t i = 0; i < front.n && (is_weight || is_given); i++) {
        const pel_value *value = pel_value_at(w->log, of->at[i]);
        bool is_tensor = value->kind == PEL_V_TENSOR;
        is_weight &= is_tensor && w->log->tensors.at[value->tensor].owner;
        is_given &= is_tensor && is_given_tensor(w->log, value->tensor);
    }
    if (is_weight) return true;
    w->s->asked.rank = true;
    if (!is_given) w->s->asked.type = true; /* a number or a tensor: x[k], x * k */
    return !w->s->asked.is_rank_open && (is_given || !w->s->asked.is_rank_computed);
}

/* Which of them it was, or was computed from, is not known here. So if something in one of them may come with another
 * type, and nobody asserts that it does not, this may be it. */
bool pel_ask_type(pel_walk *w, pel_front front, const pel_val *of) {
    if (of->taint && of->taint->why == PEL_WHY_BROUGHT) {
        for (uint32_t i = 0; i < front.n; i++) {
            bool is_tensor = pel_value_at(w->log, of->at[i])->kind == PEL_V_TENSOR;
            *(is_tensor ? &w->s->asked.tensors : &w->s->asked.objects) = true;
        }
        return true;
    }
    for (uint32_t i = 0; i < front.n && pel_taint_maybe_other_type(of->taint); i++) {
        uint8_t kind = pel_value_at(w->log, of->at[i])->kind;
        bool is_asserted = kind == PEL_V_CONST || kind == PEL_V_LIST || kind == PEL_V_TUPLE || kind == PEL_V_DICT;
        if (w->s->asked.is_type_open && (is_asserted || kind == PEL_V_SET)) return false;
        if (is_asserted) w->s->asked.type = true;
        if (!is_asserted && kind != PEL_V_SET && kind != PEL_V_MODULE) return false;
    }
    return true;
}

bool pel_is_taken_out(const pel_walk *w, pel_front front, const pel_val *base) {
    if (!base || pel_is_constant(base->taint) || base->taint == &pel_tainted_count) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        uint8_t kind = pel_value_at(w->log, base->at[i])->kind;
        if (kind != PEL_V_DICT && kind != PEL_V_LIST && kind != PEL_V_TUPLE) return false;
    }
    return true;
}

/* Whether a container or an object has more in it than tensors: numbers, texts, None, containers. */
static bool holds_other_types(const pel_synth *s, pel_id id) {
    const pel_value *value = pel_value_at(s->log, id);
    if (form_of_given(s, id) == GIVEN_UNKNOWN) return true;
    if (form_of_given(s, id) != GIVEN_CONTAINER && form_of_given(s, id) != GIVEN_OBJECT) return false;
    bool has_keys = value->kind == PEL_V_DICT || value->kind == PEL_V_OBJECT;
    for (uint32_t i = has_keys; i < value->n; i += 1u + has_keys)
        if (pel_value_at(s->log, value->items[i])->kind != PEL_V_TENSOR) return true;
    return value->truncated || !value->n; /* another caller's may have anything in it */
}

pel_node *pel_is_as_recorded(const pel_synth *s, pel_node *text, pel_node *value) {
    /* 1 and None are no flags: what was folded is True or False */
    bool is_one = pel_is_truth(value, true) || pel_is_truth(value, false) || pel_is_none(value);
    return pel_make_compare(s->ctx, text, is_one ? PEL_Is : PEL_Eq, value);
}

/* Sizes that are no tensor's: torch.Size(numbers). */
static bool makes_sizes(const pel_log *log) {
    for (pel_id id = 1; id < log->values.n; id++) {
        const pel_value *value = pel_value_at(log, id);
        if (value->kind == PEL_V_LIBRARY && pel_str_is(value->text, "torch.Size")) return true;
    }
    return false;
}

/* x.tolist() somewhere: lists as long as data say. */
static bool lists_data(const pel_log *log) {
    for (pel_id id = 1; id < log->codes.n; id++)
        for (uint32_t i = 0; i < log->codes.at[id].code->names.n; i++)
            if (pel_name_is(log->codes.at[id].code->names.at[i], "tolist")) return true;
    return false;
}

void pel_mark_given(pel_synth *s, pel_group *root) {
    s->asked.is_rank_open |= makes_sizes(s->log);
    s->asked.lists_data = lists_data(s->log);
    for (uint32_t p = 0; p < root->n_params; p++) {
        uint32_t rank;
        bool or_none;
        root->params[p].taint = taint_of_given(s, root, &root->params[p]);
        if (pel_given_rank(s, root, &root->params[p], &rank, &or_none) == PEL_RANK_OPEN) s->asked.is_rank_open = true;
        for (uint32_t i = 0; p && i < root->n_lanes; i++)
            s->asked.is_type_open |= holds_other_types(s, pel_argument(s->log, root->lanes[i], &root->params[p]));
    }
}
