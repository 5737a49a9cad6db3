/* Iterators of the library that call functions of the author's once somebody asks them for an item. */
#include "trace/walk/call.h"

/* Whether what a function gives depends on data, wherever it ran: map calls it once somebody asks for an item. */
static bool gives_data(const pel_walk *w, pel_id id, uint32_t depth) {
    const pel_value *value = pel_value_at(w->log, id);
    if (value->kind == PEL_V_PARTIAL && value->n && depth < 4) return gives_data(w, value->items[0], depth + 1);
    pel_id code = pel_function_code(w->log, id);
    if (!code) return value->kind == PEL_V_METHOD || value->kind == PEL_V_OBJECT || value->kind == PEL_V_NONE_YET;
    for (pel_id a = 1; a < w->log->activations.n; a++) {
        const pel_group *group = w->log->activations.at[a].code == code ? w->s->group_of[a] : NULL;
        if (group && pel_varies(pel_taint_fact(group->facts.result))) return true;
    }
    return false;
}

/* map(f, items), iter(f, end), itertools.takewhile(f, items): what they give is what a function will give. */
bool pel_is_lazy_data(const pel_walk *w, pel_front front, const pel_call_site *c, pel_str path) {
    bool is_iter = pel_str_is(path, "iter") && c->n_args > 1;
    if (!is_iter && !pel_str_is(path, "map") && !pel_str_is(path, "filter") &&
        !pel_str_starts(path, PEL_STR("itertools.")))
        return false;
    for (uint32_t k = 0; k < c->n_args; k++)
        for (uint32_t i = 0; i < front.n; i++) {
            uint8_t kind = pel_value_at(w->log, c->args[k].val->at[i])->kind;
            bool is_called = kind == PEL_V_FUNCTION || kind == PEL_V_METHOD || kind == PEL_V_PARTIAL;
            if (is_called && gives_data(w, c->args[k].val->at[i], 0)) return true;
        }
    return is_iter; /* it changes what it asks */
}
