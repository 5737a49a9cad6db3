/* Classes for torch.autograd are written as their author wrote them: with methods that never ran, and with what the run
 * did inside of them. Which activations such a text tells, and which it calls back: the function that a checkpoint was
 * given, the halves of a reversible block. Those have texts of their own, as what torch calls back has. */
#include "trace/depends/uses.h"
#include "trace/walk/call.h"

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
