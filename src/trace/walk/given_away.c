/* Lists, dicts and sets that are handed to what may change them. */
#include "trace/walk/call.h"
#include "trace/walk/expr.h"

/* Methods of Python's own values change the value, never what they are given: others.extend(items). */
static bool is_of_plain_value(const pel_walk *w, pel_id receiver) {
    const pel_value *value = pel_value_at(w->log, receiver);
    uint8_t kind = value->kind;
    /* a context variable keeps what it is given; whoever takes it out of there says what becomes of it */
    if (kind == PEL_V_LITERAL && pel_str_starts(value->text, PEL_STR("contextvars.ContextVar("))) return true;
    return kind == PEL_V_CONST || kind == PEL_V_TUPLE || kind == PEL_V_SIZE || kind == PEL_V_LIST ||
           kind == PEL_V_SET || kind == PEL_V_FROZENSET || kind == PEL_V_DICT || kind == PEL_V_RANGE ||
           kind == PEL_V_TENSOR || kind == PEL_V_MODULE;
}

/* What gives a value and does nothing else, or hands on what is in its arguments. torch's functions look into lists. */
static bool is_reader(pel_str path) {
    return pel_library_pure(path) || pel_library_hands_on(path) || pel_str_starts(path, PEL_STR("torch.")) ||
           pel_str_is(path, "setattr") || pel_str_is(path, "print");
}

/* Functions of the library that are not known only to read, and objects that are called. */
static bool may_change_arguments(const pel_walk *w, const pel_call_site *c, pel_id callee) {
    const pel_value *value = pel_value_at(w->log, callee);
    switch ((pel_value_kind)value->kind) {
    case PEL_V_LIBRARY: return !is_reader(value->text);
    case PEL_V_OBJECT:
    case PEL_V_OPAQUE:
    case PEL_V_LITERAL:
    case PEL_V_PARTIAL: return !c->kids.n;
    case PEL_V_METHOD:
        return value->n > 1 && !c->kids.n && pel_value_at(w->log, value->items[1])->kind == PEL_V_LIBRARY &&
               !is_of_plain_value(w, value->items[0]);
    case PEL_V_NONE_YET:
    case PEL_V_CONST:
    case PEL_V_TUPLE:
    case PEL_V_SIZE:
    case PEL_V_LIST:
    case PEL_V_SET:
    case PEL_V_FROZENSET:
    case PEL_V_DICT:
    case PEL_V_SLICE:
    case PEL_V_RANGE:
    case PEL_V_TENSOR:
    case PEL_V_MODULE:
    case PEL_V_FUNCTION:
    case PEL_V_CLASS: return false; /* the author's text says what happens; methods are asked by what they belong to */
    }
    return true;
}

void pel_note_given_away(pel_walk *w, pel_front front, const pel_call_site *c) {
    bool may_change = false;
    for (uint32_t i = 0; i < front.n; i++) may_change |= may_change_arguments(w, c, c->callee[i]);
    for (uint32_t k = 0; may_change && k < c->n_args; k++) {
        const pel_val *arg = c->args[k].val;
        uint8_t kind = front.n ? pel_value_at(w->log, arg->at[0])->kind : PEL_V_NONE_YET;
        if (kind != PEL_V_LIST && kind != PEL_V_DICT && kind != PEL_V_SET) continue;
        pel_fill(w, front, arg->text, arg->at, true);
        if (arg->text->kind == PEL_Name && pel_is_local(w, arg->text->Name.id))
            pel_env_slot(w, arg->text->Name.id)->taint = &pel_tainted;
    }
}
