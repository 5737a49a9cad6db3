/* Calls of which only a value is left: what tells people something, what gives back what it is given. */
#include "trace/walk/call.h"

/* A filter that makes exceptions of warnings, or one that nobody knows: it decides which way is taken. */
static bool is_strict_filter(const pel_call_site *c, pel_str path) {
    static const char *const harmless[] = { "ignore", "default", "always", "module", "once" };
    if (!pel_str_is(path, "warnings.simplefilter") && !pel_str_is(path, "warnings.filterwarnings")) return false;
    const pel_node *action = c->n_args ? c->args[0].val->text : NULL;
    if (!action || action->kind != PEL_Constant || action->Constant.value->kind != PEL_CONST_STR) return true;
    for (size_t i = 0; i < PEL_COUNT(harmless); i++)
        if (pel_str_is(action->Constant.value->text, harmless[i])) return false;
    return true;
}

/* Functions that tell people or statistics of a call, and change nothing. warnings.catch_warnings is an object, which a
 * with may need. */
static bool is_telling(pel_walk *w, const pel_call_site *c, pel_str path) {
    if (pel_str_is(path, "warnings.catch_warnings")) return false;
    if (is_strict_filter(c, path)) pel_lost(w, c->node, "a filter that may make exceptions of warnings");
    return pel_str_starts(path, PEL_STR("warnings.")) || pel_str_starts(path, PEL_STR("torch._C._log_api_usage"));
}

static bool is_logging(pel_walk *w, const pel_call_site *c, pel_front front) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        if (callee->kind == PEL_V_LIBRARY && is_telling(w, c, callee->text)) continue;
        const pel_value *base = c->base ? pel_value_at(w->log, c->base->at[i]) : NULL;
        pel_id class = base && base->kind == PEL_V_OBJECT ? base->class : 0;
        if (!class) return false;
        const pel_log_class *row = pel_class_at(w->log, class);
        if (!pel_str_starts(row->path, PEL_STR("logging.")) && !pel_str_is(row->module, "logging")) return false;
    }
    return front.n > 0;
}

/* typing.cast(type, value) is the value. */
static bool is_cast(const pel_walk *w, const pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    return callee->kind == PEL_V_LIBRARY && pel_str_is(callee->text, "typing.cast") && c->n_args == 2 &&
           !c->args[0].star && !c->args[1].star && !c->args[1].stars;
}

static bool is_identity_module(pel_walk *w, const pel_call_site *c, pel_front front) {
    if (c->n_args != 1 || c->args[0].keyword || c->args[0].star || c->args[0].stars || c->kids.n || c->func->effect)
        return false;
    if (pel_varies(c->func->taint) || pel_is_chosen(w, c->node->Call.func, c->callee[0]))
        return false; /* another may come */
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *callee = pel_value_at(w->log, c->callee[i]);
        if (callee->kind != PEL_V_MODULE || pel_module_at(w->log, callee->module)->has_hooks) return false;
        const pel_log_class *class = pel_class_at(w->log, pel_module_at(w->log, callee->module)->class);
        if (!pel_str_is(class->path, "torch.nn.Identity")) return false;
    }
    return true;
}

pel_val *pel_drop_call(pel_walk *w, pel_front front, const pel_call_site *c) {
    pel_refuse_callee(w, c, front);
    if (is_logging(w, c, front)) {
        c->val->text = pel_make_none(w->ctx);
        c->val->taint = pel_constant(PEL_WHY_LITERAL);
        pel_forget_kids(w, &c->kids);
        return c->val;
    }
    if (is_cast(w, c)) return c->args[1].val;
    if (!is_identity_module(w, c, front)) return NULL;
    memcpy(c->args[0].val->at, c->val->at, front.n * sizeof *c->val->at);
    return c->args[0].val;
}
