/* The order of keyword arguments. A signature names the items of **kwargs, and callers may write them in any order, so
 * a dict that is made of them again has the recorded order and not the caller's. Where that can be told, there is no
 * text. */
#include "trace/shrink/link.h"

typedef struct {
    const pel_synth *s;
    const pel_node *excused; /* a dict whose order is not asked where it stands */
    pel_map variables;       /* names of variables that hold such a dict: their uses are looked at, too */
    bool is_asked;
} search;

/* dict(**d) keeps the order; what else takes keywords takes them as names. */
static bool keeps_order(const pel_node *call) {
    pel_name name = pel_last_name(call->Call.func);
    return !name || pel_name_is(name, "dict") || pel_name_is(name, "OrderedDict");
}

static const pel_node *star_keyword(const pel_node *call) {
    for (uint32_t i = 0; i < call->Call.keywords.n; i++)
        if (!call->Call.keywords.at[i]->keyword.arg) return call->Call.keywords.at[i]->keyword.value;
    return NULL;
}

/* Which dict, if it is one, has no order for a node around it: len(d), d.get("a"), d.pop("a"), f(**d), d["a"],
 * "a" in d. */
static const pel_node *asked_without_order(const pel_node *node) {
    if (node->kind == PEL_Subscript) return node->Subscript.value;
    if (node->kind == PEL_Compare && node->Compare.ops.n == 1) {
        bool is_in = node->Compare.ops.at[0] == PEL_In || node->Compare.ops.at[0] == PEL_NotIn;
        return is_in ? node->Compare.comparators.at[0] : NULL;
    }
    if (node->kind == PEL_Attribute) {
        bool by_key = pel_name_is(node->Attribute.attr, "get") || pel_name_is(node->Attribute.attr, "pop");
        return by_key ? node->Attribute.value : NULL;
    }
    if (node->kind != PEL_Call) return NULL;
    const pel_node *func = node->Call.func;
    bool counts = func->kind == PEL_Name && (pel_name_is(func->Name.id, "len") || pel_name_is(func->Name.id, "bool"));
    if (counts) return node->Call.args.n == 1 ? node->Call.args.at[0] : NULL;
    return keeps_order(node) ? NULL : star_keyword(node);
}

static bool is_keywords(const search *look, const pel_node *node) {
    return node->kind == PEL_Dict && node->Dict.keys.n > 1 && pel_is_noted(look->s, node, PEL_NOTE_KEYWORDS);
}

/* kwargs = {...}: the variable holds the dict; NULL: it is something else. */
static pel_name variable_of(const search *look, const pel_node *node) {
    if (node->kind != PEL_Assign || node->Assign.targets.n != 1 || !is_keywords(look, node->Assign.value)) return NULL;
    const pel_node *target = node->Assign.targets.at[0];
    return target->kind == PEL_Name ? target->Name.id : NULL;
}

static void find_variable(void *arg, pel_node **slot) {
    search *look = arg;
    if (!*slot) return;
    pel_name variable = variable_of(look, *slot);
    if (variable) pel_map_set(look->s->ctx, &look->variables, PEL_KEY(variable), 1);
    pel_each_part(look->s, *slot, find_variable, arg);
}

static bool is_such_variable(const search *look, const pel_node *node) {
    uint64_t found;
    return node->kind == PEL_Name && node->Name.ctx == PEL_Load &&
           pel_map_get(&look->variables, PEL_KEY(node->Name.id), &found);
}

static void look_at(void *arg, pel_node **slot) {
    search *look = arg;
    pel_node *node = *slot;
    if (!node || look->is_asked) return;
    look->is_asked = node != look->excused && (is_keywords(look, node) || is_such_variable(look, node));
    const pel_node *outer = look->excused;
    const pel_node *excused = variable_of(look, node) ? node->Assign.value : asked_without_order(node);
    if (excused) look->excused = excused;
    pel_each_part(look->s, node, look_at, arg);
    look->excused = outer; /* f(d[0], **d): what stands before has another */
}

/* Whether some call hands on a dict as keywords, or callers write them. */
static bool has_open_keywords(const pel_synth *s, const pel_group *group) {
    if (group->is.root || group->is.pinned) return true;
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->target == group && s->reached.active[i] && s->calls.links.at[i]->by_stars)
            return true;
    return false;
}

void pel_refuse_key_order(pel_synth *s, pel_group *group) {
    if (group->why || !has_open_keywords(s, group)) return;
    search look = { .s = s };
    for (uint32_t i = 0; i < group->body.n; i++) find_variable(&look, &group->body.at[i]);
    for (uint32_t i = 0; i < group->body.n; i++) look_at(&look, &group->body.at[i]);
    if (look.is_asked) group->why = PEL_ASKS_KEY_ORDER;
}
