/* Functions without a text: what is said of them, and which are to be written as straight lines instead. */
#include "trace/shrink/link.h"

typedef struct blame {
    pel_synth *s;
    const pel_node *found;
} blame;

static void find_unwritable(void *arg, pel_node **slot) {
    blame *b = arg;
    if (b->found) return;
    const pel_link *link = pel_link_at(b->s, *slot);
    if (pel_map_has(&b->s->notes.unwritable, PEL_KEY(*slot)) || (link && link->callee == PEL_CALLEE_INLINE))
        b->found = *slot;
    else
        pel_each_part(b->s, *slot, find_unwritable, b);
}

/* A function without a text is tried as a straight line, and then without the calls in it; at last those that called it
 * are. */
static void refuse_code(pel_synth *s, const pel_group *group) {
    if (pel_map_find(&s->program->straight, group->code, 0) != PEL_STRAIGHT_FLAT) {
        pel_push(s->ctx, &s->program->refused, group->code);
        return;
    }
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        const pel_group *caller = pel_caller_of(s, group->lanes[i]);
        if (caller) pel_push(s->ctx, &s->program->refused, caller->code);
    }
}

static void refuse(pel_synth *s, const pel_group *group, uint32_t line, const char *why) {
    const pel_log_code *row = &s->log->codes.at[group->code];
    refuse_code(s, group);
    pel_str path = row->file ? s->log->files.at[row->file].path : PEL_STR("?");
    pel_remark remark = { PEL_REMARK_REFUSED,
                          pel_format(s->ctx, "%s:%u: %s: %s", pel_format(s->ctx, "%.*s", PEL_FMT(path)).ptr, line,
                                     row->code->qualname ? row->code->qualname->text : row->code->name->text, why),
                          row->file, line };
    pel_push(s->ctx, &s->program->remarks, remark);
}

static bool split_groups(pel_synth *s, const pel_reach *r, bool without_text) {
    bool split = false;
    for (uint32_t i = 0; i < s->groups.n; i++)
        if (r->seen[i] && without_text == (s->groups.at[i]->why != NULL)) split |= pel_split_group(s, s->groups.at[i]);
    return split;
}

bool pel_check_texts(pel_synth *s, const pel_reach *r) {
    /* while some function has no text, what others need of their arguments is not known yet */
    if (split_groups(s, r, true) || split_groups(s, r, false)) return false;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        if (!r->seen[i]) continue;
        if (group->why) {
            refuse(s, group, group->why_line, group->why);
            continue;
        }
        if (group->is.without_self && !group->params[0].dead) {
            refuse(s, group, group->author->node->lineno, "its object has no literal");
            continue;
        }
        blame b = { s, NULL };
        for (uint32_t k = 0; k < group->body.n && !b.found; k++) find_unwritable(&b, &group->body.at[k]);
        if (!b.found) continue;
        pel_str text = b.found->kind == PEL_Name        ? pel_name_str(b.found->Name.id)
                       : b.found->kind == PEL_Attribute ? pel_name_str(b.found->Attribute.attr)
                                                        : PEL_STR("?");
        refuse(s, group, b.found->lineno,
               pel_format(s->ctx, "`%.*s` is an object without a literal", PEL_FMT(text)).ptr);
    }
    for (uint32_t i = 0; i < s->program->remarks.n; i++)
        if (s->program->remarks.at[i].kind == PEL_REMARK_REFUSED)
            pel_throw_at(s->ctx, PEL_E_UNSUPPORTED, 0, s->program->remarks.at[i].line, 0, "%.*s",
                         PEL_FMT(s->program->remarks.at[i].text));
    return true;
}
