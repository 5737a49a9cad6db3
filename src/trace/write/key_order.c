/* The order of keyword arguments. A signature names the items of **kwargs, and callers may write them in any order, so
 * a dict that is made of them again has the recorded order and not the caller's. Where that can be told, there is no
 * text. */
#include "trace/shrink/link.h"

typedef struct {
    const pel_synth *s;
    const pel_node *excused; /* a dict whose order is not asked where it stands */
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

/* Which dict, if it is one, has no order for a node around it: len(d), d.get("a"), f(**d), d["a"], "a" in d. */
static const pel_node *asked_without_order(const pel_node *node) {
    if (node->kind == PEL_Subscript) return node->Subscript.value;
    if (node->kind == PEL_Compare && node->Compare.ops.n == 1) {
        bool is_in = node->Compare.ops.at[0] == PEL_In || node->Compare.ops.at[0] == PEL_NotIn;
        return is_in ? node->Compare.comparators.at[0] : NULL;
    }
    if (node->kind == PEL_Attribute) return pel_name_is(node->Attribute.attr, "get") ? node->Attribute.value : NULL;
    if (node->kind != PEL_Call) return NULL;
    const pel_node *func = node->Call.func;
    bool counts = func->kind == PEL_Name && (pel_name_is(func->Name.id, "len") || pel_name_is(func->Name.id, "bool"));
    if (counts) return node->Call.args.n == 1 ? node->Call.args.at[0] : NULL;
    return keeps_order(node) ? NULL : star_keyword(node);
}

static void look_at(void *arg, pel_node **slot) {
    search *look = arg;
    pel_node *node = *slot;
    if (!node || look->is_asked) return;
    bool is_one = node->kind == PEL_Dict && pel_is_noted(look->s, node, PEL_NOTE_KEYWORDS);
    look->is_asked = is_one && node->Dict.keys.n > 1 && node != look->excused;
    const pel_node *excused = asked_without_order(node);
    if (excused) look->excused = excused;
    pel_each_part(look->s, node, look_at, arg);
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
    for (uint32_t i = 0; i < group->body.n; i++) look_at(&look, &group->body.at[i]);
    if (look.is_asked) group->why = PEL_ASKS_KEY_ORDER;
}
