/* What is written as its author has it, with functions that no run shows: autograd functions, operators. And calls of
 * which only a value is left: what tells people something, what gives back what it is given. */
#include "trace/depends/uses.h"
#include "trace/walk/call.h"

/* ---- functions of autograd ---- */

bool pel_is_autograd(const pel_walk *w, const pel_call_site *c) {
    if (!c->base) return false;
    const pel_value *base = pel_value_at(w->log, c->base->at[0]);
    return base->kind == PEL_V_CLASS && pel_class_at(w->log, base->class)->kind == PEL_CLASS_AUTOGRAD;
}

/* scan = Scan.apply, and then scan(x): Scan.apply(x), whatever held it. */
static void name_apply(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_METHOD || !pel_all_same(w, front, c->callee)) return;
    const pel_value *class = pel_value_at(w->log, callee->items[0]), *function = pel_value_at(w->log, callee->items[1]);
    if (class->kind != PEL_V_CLASS || pel_class_at(w->log, class->class)->kind != PEL_CLASS_AUTOGRAD) return;
    if (function->kind != PEL_V_LIBRARY || !pel_str_ends(function->text, PEL_STR(".apply"))) return;
    pel_node *name = pel_make_name(w->ctx, pel_class_row(w->ctx, w->s->program, class->class)->name, PEL_Load);
    pel_val *base = pel_val_constant(w, front, name, PEL_WHY_LIBRARY);
    for (uint32_t i = 0; i < front.n; i++) base->at[i] = callee->items[0];
    c->base = base;
    pel_node *apply = pel_make_attribute(w->ctx, base->text, pel_intern_c(w->ctx, "apply"), PEL_Load);
    c->func = pel_val_constant(w, front, apply, PEL_WHY_LIBRARY);
    memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
    c->node = pel_shallow(w, c->node);
    c->node->Call.func = c->func->text;
}

/* Whether a forward ran while a call did. What an activation calls follows it in the log. */
static bool ran_modules(const pel_walk *w, const pel_kids *kids) {
    for (uint32_t i = 0; i < kids->n; i++) {
        pel_id first = kids->at[i].activation;
        for (pel_id id = first + 1; id < w->log->activations.n && w->log->activations.at[id].parent >= first; id++)
            if (pel_runs_module(w->s, id)) return true;
    }
    return false;
}

/* A class for torch.autograd is kept as its author wrote it, with methods that were never recorded. What it calls back
 * is called by a text that names no function of ours, as what torch calls back is. */
void pel_call_autograd(pel_walk *w, pel_front front, pel_call_site *c) {
    name_apply(w, front, c);
    if (!pel_is_autograd(w, c)) return;
    c->kids = pel_called_back(w, &c->kids);
    c->calls_back = true;
    pel_class_row(w->ctx, w->s->program, pel_value_at(w->log, c->base->at[0])->class);
}

/* torch.ops.library.name, of which torch knows nothing where the library is not: a function of the output is registered
 * for it, with the author's functions for tensors without values and for gradients, which no run shows. */
void pel_call_operator(pel_walk *w, pel_front front, pel_call_site *c) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    if (callee->kind != PEL_V_LIBRARY || !pel_is_foreign_operator(callee->text)) return;
    if (!pel_all_same(w, front, c->callee) || !c->kids.n || ran_modules(w, &c->kids)) return;
    pel_str path = callee->text, plain = PEL_STR(".default");
    if (pel_str_ends(path, plain)) path = pel_str_cut(path, 0, path.len - plain.len);
    pel_id code = w->log->activations.at[c->kids.at[0].activation].code;
    const pel_operator *row = pel_operator_row(w->ctx, w->s->program, path, code);
    if (!row) return;
    pel_forget_kids(w, &c->kids);
    c->kids.n = 0;
    pel_node *name = pel_make_name(w->ctx, row->name, PEL_Load);
    c->base = NULL;
    c->func = pel_val_constant(w, front, name, PEL_WHY_LIBRARY);
    memcpy(c->func->at, c->callee, front.n * sizeof *c->callee);
    c->node = pel_shallow(w, c->node);
    c->node->Call.func = name;
}

/* ---- what such a text tells, and what it calls back ----
 *
 * Classes for torch.autograd are written with methods that never ran, and with what the run did inside of them. Which
 * activations such a text tells, and which it calls back: the function that a checkpoint was given, the halves of a
 * reversible block. Those have texts of their own, as what torch calls back has. */

static bool names(const pel_node *text, pel_name name) { return pel_uses_at(NULL, text, name).reads > 0; }

/* A method of the class, called by torch or by another method; what the file has under a name that the text reads; what
 * stands within the text. */
static bool is_told_with(const pel_synth *s, pel_id id) {
    const pel_activation *activation = &s->log->activations.at[id];
    const pel_log_code *row = &s->log->codes.at[activation->code];
    const pel_log_code *caller = &s->log->codes.at[s->log->activations.at[activation->parent].code];
    const pel_author *author = &s->authors[activation->code];
    const pel_author *above = &s->authors[s->log->activations.at[activation->parent].code];
    if (!author->node || !above->node || author->file != above->file) return false;
    if (row->class && row->class == caller->class) return true;
    if (author->node->kind != PEL_FunctionDef) return author->within == above->node || author->within == above->within;
    if (author->within) return author->within == above->node;
    return activation->direct && names(above->node, row->code->name);
}

static bool is_autograd(const pel_synth *s, pel_id id) {
    pel_id class = s->log->codes.at[s->log->activations.at[id].code].class;
    return class && !s->log->activations.at[id].direct && s->log->classes.at[class].kind == PEL_CLASS_AUTOGRAD;
}

bool *pel_find_kept(pel_synth *s) {
    bool *kept = pel_new_array(s->ctx, s->log->activations.n, bool);
    for (pel_id id = 1; id < s->log->activations.n; id++)
        kept[id] = is_autograd(s, id) || (kept[s->log->activations.at[id].parent] && is_told_with(s, id));
    return kept;
}

/* The outermost that have a text of their own. */
static bool is_outermost(const pel_walk *w, pel_id id, pel_id first) {
    if (!w->s->group_of[id] || !pel_is_below(w->log, id, first)) return false;
    while (id != first)
        if (w->s->group_of[id = w->log->activations.at[id].parent]) return false;
    return true;
}

pel_kids pel_called_back(pel_walk *w, const pel_kids *kids) {
    pel_kids out = { 0 };
    for (uint32_t i = 0; i < kids->n; i++) {
        pel_id first = kids->at[i].activation;
        for (pel_id id = first; id < w->s->extents[first].end; id++) {
            if (!is_outermost(w, id, first)) continue;
            if (out.n == out.cap) out.at = pel_grow(w->ctx, out.at, out.n, &out.cap, sizeof *out.at);
            out.at[out.n++] = (pel_child){ kids->at[i].lane, id };
        }
    }
    return out;
}

/* ---- dropped calls ---- */

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
