/* Dicts and lists that are filled right after they are made: each is one display.
 *
 * Authors put parts into a container under conditions; once these are decided, d = {}; d["a"] = x is {"a": x}. The
 * container is made where its next part comes, if nothing looks at it before. */
#include "trace/shrink/link.h"

typedef struct container {
    pel_synth *s;
    pel_name name;
    pel_node *display; /* Dict, with keys that are constants, or List */
} container;

static bool mentions(const container *c, pel_node *node) { return pel_is_used(pel_uses_at(c->s, node, c->name)); }

/* name = {...}, or name = [...] */
static bool is_made(const pel_node *node, container *out) {
    out->name = pel_bound_name(node);
    if (!out->name) return false;
    out->display = node->Assign.value;
    if (out->display->kind == PEL_List) return true;
    if (out->display->kind != PEL_Dict) return false;
    const pel_nodes keys = out->display->Dict.keys;
    for (uint32_t i = 0; i < keys.n; i++)
        if (!keys.at[i] || keys.at[i]->kind != PEL_Constant) return false;
    return true;
}

/* name["key"] = value, for a key that the dict has not got. */
static bool puts_item(const container *c, const pel_node *node) {
    if (node->kind != PEL_Assign || node->Assign.targets.n != 1 || node->Assign.targets.at[0]->kind != PEL_Subscript)
        return false;
    const pel_node *target = node->Assign.targets.at[0], *key = target->Subscript.slice, *dict = c->display;
    if (target->Subscript.value->kind != PEL_Name || target->Subscript.value->Name.id != c->name ||
        key->kind != PEL_Constant || mentions(c, node->Assign.value))
        return false;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++)
        if (pel_const_same(dict->Dict.keys.at[i]->Constant.value, key->Constant.value)) return false;
    return true;
}

/* What name.append(value) appends; NULL for other statements. */
static pel_node *appended(const container *c, const pel_node *node) {
    if (node->kind != PEL_Expr || node->Expr.value->kind != PEL_Call) return NULL;
    const pel_node *call = node->Expr.value, *method = call->Call.func;
    if (method->kind != PEL_Attribute || !pel_name_is(method->Attribute.attr, "append") ||
        method->Attribute.value->kind != PEL_Name || method->Attribute.value->Name.id != c->name ||
        call->Call.args.n != 1 || call->Call.keywords.n)
        return NULL;
    pel_node *value = call->Call.args.at[0];
    return value->kind == PEL_Starred || mentions(c, value) ? NULL : value;
}

/* Whether the parts of a container are what they were once a statement has run. */
static bool may_pass(const container *c, pel_node *statement) {
    const pel_nodes parts = c->display->kind == PEL_Dict ? c->display->Dict.values : c->display->List.elts;
    if (mentions(c, statement)) return false;
    for (uint32_t i = 0; i < parts.n; i++) {
        if (parts.at[i]->kind == PEL_Constant) continue;
        if (parts.at[i]->kind != PEL_Name || pel_uses_at(c->s, statement, parts.at[i]->Name.id).binds) return false;
    }
    return true;
}

static bool moves_down(pel_synth *s, pel_nodes body, uint32_t at) {
    container c = { .s = s };
    pel_node *node = body.at[at];
    if (!is_made(node, &c)) return false;
    uint32_t next = at + 1;
    while (next < body.n && may_pass(&c, body.at[next])) next++;
    if (next >= body.n) return false;
    const pel_node *fill = body.at[next];
    if (c.display->kind == PEL_Dict) {
        if (!puts_item(&c, fill)) return false;
        pel_nodes_push(s->ctx, &c.display->Dict.keys, fill->Assign.targets.at[0]->Subscript.slice);
        pel_nodes_push(s->ctx, &c.display->Dict.values, fill->Assign.value);
    } else {
        pel_node *value = appended(&c, fill);
        if (!value) return false;
        pel_nodes_push(s->ctx, &c.display->List.elts, value);
    }
    node->lineno = fill->lineno;
    body.at[next] = node;
    return true;
}

void pel_gather(pel_synth *s, pel_nodes *body) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n; i++)
        if (!moves_down(s, *body, i)) body->at[n++] = body->at[i];
    body->n = n;
}
