/* Model outputs: dataclasses that are dicts, too. Their library gives them keys, positions and tuples; in most models
 * nobody asks for these, and a plain dataclass with the fields that are given says all.
 *
 * What asks is found in the texts: each node that was seen to give such an output has a note. Reading a field, handing
 * it on, storing and returning it are what a plain dataclass can do; all else may ask for the dict. */
#include "trace/passes.h"
#include "trace/shrink/link.h"

typedef struct search {
    pel_synth *s;
    const pel_node *parent;
    pel_outputs *out;
    bool returned; /* an output, by the function that is looked at */
    pel_map bound; /* names that hold one there */
} search;

/* self.encoder(output), outputs.append(output), Output(output): not values.update(output), which asks for its keys. */
static bool is_ours(const pel_synth *s, const pel_node *callee) {
    static const char *const keepers[] = { "append", "insert", "add" };
    const pel_node *base = callee;
    for (size_t i = 0; callee->kind == PEL_Attribute && i < PEL_COUNT(keepers); i++)
        if (pel_name_is(callee->Attribute.attr, keepers[i])) return true;
    while (base->kind == PEL_Attribute || base->kind == PEL_Subscript)
        base = base->kind == PEL_Attribute ? base->Attribute.value : base->Subscript.value;
    if (base != callee) return base->kind == PEL_Name && pel_name_is(base->Name.id, "self");
    for (uint32_t i = 0; callee->kind == PEL_Name && i < s->program->classes.n; i++)
        if (s->program->classes.at[i]->name == callee->Name.id) return true;
    return false;
}

static bool has_plain_targets(const pel_node *assign) {
    for (uint32_t i = 0; i < assign->Assign.targets.n; i++) {
        pel_kind kind = assign->Assign.targets.at[i]->kind;
        if (kind != PEL_Name && kind != PEL_Attribute && kind != PEL_Subscript) return false;
    }
    return true;
}

static bool is_unpacked(const pel_node *dict, const pel_node *output) { /* {**output} */
    for (uint32_t i = 0; i < dict->Dict.values.n; i++)
        if (dict->Dict.values.at[i] == output && !dict->Dict.keys.at[i]) return true;
    return false;
}

/* Whether a plain dataclass will do where the output stands. */
static bool is_plain_use(const search *look, const pel_node *output) {
    const pel_node *parent = look->parent;
    if (!parent) return true;
    switch ((int)parent->kind) {
    case PEL_Attribute: return pel_is_field(look->s->log, parent->Attribute.attr);
    case PEL_Assign: return has_plain_targets(parent);
    case PEL_Call: return parent->Call.func == output || is_ours(look->s, parent->Call.func);
    case PEL_IfExp: return parent->IfExp.test != output;
    case PEL_Compare: return parent->Compare.ops.at[0] == PEL_Is || parent->Compare.ops.at[0] == PEL_IsNot;
    case PEL_Subscript: return parent->Subscript.value != output;
    case PEL_keyword: return parent->keyword.arg != NULL; /* **output */
    case PEL_Return:
    case PEL_Expr:
    case PEL_Tuple:
    case PEL_List:
    case PEL_NamedExpr: return true;
    case PEL_Dict: return !is_unpacked(parent, output);
    default: return false;
    }
}

static uint64_t count_of(const pel_map *counts, pel_name name) {
    uint64_t n = 0;
    return pel_map_get(counts, PEL_KEY(name), &n) ? n : 0;
}

static pel_name of_class(pel_synth *s, pel_name class, pel_name field) {
    return pel_intern_str(s->ctx, pel_format(s->ctx, "%s.%s", class->text, field->text));
}

/* Counts a call of a class, and the fields that it names. */
static void note_made(search *look, const pel_node *call) {
    pel_map *made = &look->out->made;
    pel_ctx *ctx = look->s->ctx;
    pel_name class = call->Call.func->Name.id;
    pel_map_set(ctx, made, PEL_KEY(class), count_of(made, class) + 1);
    if (call->Call.args.n) pel_map_set(ctx, &look->out->by_place, PEL_KEY(class), 1);
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i];
        if (!keyword->keyword.arg) {
            pel_map_set(ctx, &look->out->by_place, PEL_KEY(class), 1); /* **fields */
            continue;
        }
        pel_name name = of_class(look->s, class, keyword->keyword.arg);
        pel_map_set(ctx, made, PEL_KEY(name), count_of(made, name) + 1);
    }
}

static void see_returned(void *arg, pel_node **slot) {
    search *look = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return && node->Return.value)
        look->returned |= pel_is_noted(look->s, node->Return.value, PEL_NOTE_OUTPUT);
    pel_each_child(*slot, see_returned, look);
}

/* A function of ours that returned an output may return a tuple by now, or one field. A rewrite may have put a name in
 * the place of what was noted. */
static bool is_output(search *look, const pel_node *node) {
    if (node->kind == PEL_Name && pel_map_has(&look->bound, PEL_KEY(node->Name.id))) return true;
    if (!pel_is_noted(look->s, node, PEL_NOTE_OUTPUT)) return false;
    const pel_link *link = node->kind == PEL_Call ? pel_link_at(look->s, node) : NULL;
    if (!link) return true;
    look->returned = false;
    for (uint32_t k = 0; k < link->target->body.n; k++) see_returned(look, &link->target->body.at[k]);
    return look->returned;
}

static void see_bound(void *arg, pel_node **slot) {
    search *look = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Assign && is_output(look, node->Assign.value))
        for (uint32_t i = 0; i < node->Assign.targets.n; i++) {
            const pel_node *target = node->Assign.targets.at[i];
            if (target->kind == PEL_Name) pel_map_set(look->s->ctx, &look->bound, PEL_KEY(target->Name.id), 1);
        }
    pel_each_part(look->s, *slot, see_bound, look);
}

static void look_at(void *arg, pel_node **slot) {
    search *look = arg;
    const pel_node *node = *slot, *parent = look->parent;
    if (is_output(look, node)) {
        look->out->as_dict |= !is_plain_use(look, node);
        if (parent && parent->kind == PEL_Attribute)
            pel_map_set(look->s->ctx, &look->out->named, PEL_KEY(parent->Attribute.attr), 1);
    }
    if (node->kind == PEL_Call && node->Call.func->kind == PEL_Name) note_made(look, node);
    look->parent =
        node->kind == PEL_Call && pel_link_at(look->s, node) ? NULL : node; /* what it hands on lies in the link */
    pel_each_part(look->s, *slot, look_at, look);
    look->parent = parent;
}

pel_outputs *pel_find_outputs(pel_synth *s) {
    pel_outputs *out = pel_new(s->ctx, pel_outputs);
    search look = { .s = s, .out = out };
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (!group->function || (group->class && pel_is_mapping(s->log, group->class))) continue; /* not written */
        look.bound = (pel_map){ 0 };
        for (uint32_t known = UINT32_MAX; known != look.bound.n;) {
            known = look.bound.n;
            for (uint32_t k = 0; k < group->body.n; k++) see_bound(&look, &group->body.at[k]);
        }
        for (uint32_t k = 0; k < group->body.n; k++) look_at(&look, &group->body.at[k]);
    }
    return out;
}

bool pel_is_always_given(pel_synth *s, const pel_outputs *outputs, const pel_program_class *row, pel_name field) {
    uint64_t n = count_of(&outputs->made, row->name);
    return n && count_of(&outputs->made, of_class(s, row->name, field)) == n;
}

bool pel_is_field_left_out(pel_synth *s, const pel_outputs *outputs, const pel_program_class *row, pel_name field) {
    if (outputs->as_dict || row->is_given || row->methods.n) return false;
    if (pel_map_has(&outputs->named, PEL_KEY(field)) || pel_map_has(&outputs->by_place, PEL_KEY(row->name)))
        return false;
    return !count_of(&outputs->made, of_class(s, row->name, field));
}
