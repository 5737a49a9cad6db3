/* Small rewrites that a person would have made. */
#include "trace/lanes.h"

static void tidy_body(pel_synth *s, pel_nodes *body);

static void tidy_blocks(pel_synth *s, pel_node *node) {
    for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
        if (field->type == PEL_FIELD_LIST && field->of == PEL_STMT) tidy_body(s, pel_field_at(node, field, pel_nodes));
}

/* x = e; return x  ->  return e */
static bool returns_it(const pel_node *assign, const pel_node *next) {
    return assign->kind == PEL_Assign && assign->Assign.targets.n == 1 && assign->Assign.targets.at[0]->kind == PEL_Name &&
           next->kind == PEL_Return && next->Return.value && next->Return.value->kind == PEL_Name &&
           next->Return.value->Name.id == assign->Assign.targets.at[0]->Name.id;
}

static void tidy_body(pel_synth *s, pel_nodes *body) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        tidy_blocks(s, node);
        if (i + 1 < body->n && returns_it(node, body->at[i + 1])) {
            pel_node *made = pel_make_return(s->ctx, node->Assign.value);
            made->lineno = node->lineno;
            pel_nodes_push(s->ctx, &out, made);
            i++;
            continue;
        }
        pel_nodes_push(s->ctx, &out, node);
    }
    *body = out;
}

void pel_tidy(pel_synth *s, pel_group *group) { tidy_body(s, &group->body); }
