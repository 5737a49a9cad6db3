/* Variables of the file that functions set and nobody ever asks: setting them does nothing. */
#include "trace/shrink/link.h"

typedef struct asked {
    const pel_synth *s;
    pel_map names; /* of variables that something but set and reset uses */
    bool forget;   /* what is done to the others does nothing */
} asked;

static pel_name sets_variable(const pel_synth *s, const pel_node *node) {
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Attribute) return NULL;
    const pel_node *func = node->Call.func;
    if (func->Attribute.value->kind != PEL_Name ||
        !(pel_name_is(func->Attribute.attr, "set") || pel_name_is(func->Attribute.attr, "reset")))
        return NULL;
    for (uint32_t i = 0; i < s->program->globals.n; i++)
        if (s->program->globals.at[i].name == func->Attribute.value->Name.id) return func->Attribute.value->Name.id;
    return NULL;
}

static void see_asked(void *arg, pel_node **slot) {
    asked *a = arg;
    pel_node *node = *slot;
    pel_name set = sets_variable(a->s, node);
    if (set && a->forget && !pel_map_has(&a->names, PEL_KEY(set))) node->mark = 0;
    if (set) {
        for (uint32_t i = 0; i < node->Call.args.n; i++) see_asked(a, &node->Call.args.at[i]);
        return;
    }
    if (node->kind == PEL_Name) pel_map_set(a->s->ctx, &a->names, PEL_KEY(node->Name.id), 1);
    pel_each_part(a->s, node, see_asked, a);
}

void pel_forget_unasked(pel_synth *s) {
    if (!s->program->globals.n) return;
    asked a = { .s = s };
    pel_reach r = pel_find_reached(s);
    for (a.forget = false;; a.forget = true) {
        for (uint32_t i = 0; i < s->groups.n; i++)
            for (uint32_t k = 0; r.seen[i] && k < s->groups.at[i]->body.n; k++)
                see_asked(&a, &s->groups.at[i]->body.at[k]);
        if (a.forget) return;
    }
}
