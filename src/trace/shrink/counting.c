/* Tensors that count: torch.arange(n).unsqueeze(0), and what is computed of it, whatever n is.
 *
 * Transformers ask of their own positions whether sequences were packed, that is, whether positions begin again. Where
 * they are a range that the model made, they can't, and an assertion of it says nothing. What is known of a tensor:
 * its last dimension goes up by one from each number to the next; it is the first of these, or the one before; all its
 * numbers are one. A name has what all its bindings have, a parameter what all its calls pass. */
#include "trace/shrink/link.h"

/* NOT_YET: of a name that is being looked at. What keeps a manner keeps this, too, so that what holds for all other
 * bindings of the name holds for those that are made of it; all else makes it unknown. */
typedef enum manner { UNKNOWN, NOT_YET, COUNTS, FIRST, BEFORE, ALIKE } manner;

typedef struct fact {
    manner manner;
    int64_t value;  /* ALIKE: of all; a truth is 0 or 1 */
    pel_name first; /* FIRST, BEFORE: of whom */
} fact;

enum { DEEP = 64, MOST_STEPS = 20000 };

typedef struct asked { /* of a name, while it is looked at */
    const struct asked *outer;
    const pel_group *group;
    pel_name name;
} asked;

typedef struct counter {
    pel_synth *s;
    const pel_group *group;
    const asked *open;
    int depth;
    uint32_t *steps; /* of the whole question */
} counter;

static const fact unknown = { UNKNOWN, 0, NULL };

static fact join(fact a, fact b) {
    if (a.manner == NOT_YET) return b;
    if (b.manner == NOT_YET) return a;
    return a.manner == b.manner && a.value == b.value && a.first == b.first ? a : unknown;
}

static fact evaluate(const counter *c, const pel_node *node);

/* ---- names ---- */

typedef struct bindings {
    const counter *c;
    pel_name name;
    uint32_t n;
    fact sum;
} bindings;

static void see_binding(void *arg, pel_node **slot) {
    bindings *b = arg;
    const pel_node *node = *slot;
    if (pel_bound_name(node) == b->name) {
        b->n++;
        b->sum = join(b->sum, evaluate(b->c, node->Assign.value));
    }
    if (pel_kinds[node->kind].class == PEL_STMT && node->kind != PEL_FunctionDef)
        pel_each_child(*slot, see_binding, arg);
}

/* What all calls pass for it; unknown if somebody else may call. */
static fact passed(const counter *c, uint32_t p) {
    const pel_group *group = c->group;
    if (group->is.root || group->is.pinned || group->is.nested || group->star || group->rest) return unknown;
    for (uint32_t i = 0; i < group->n_lanes; i++)
        if (!c->s->calls.linked[group->lanes[i]]) return unknown;
    fact sum = { NOT_YET, 0, NULL };
    for (uint32_t i = 0; i < c->s->calls.links.n; i++) {
        const pel_link *link = c->s->calls.links.at[i];
        if (link->target != group) continue;
        const counter outside = { c->s, link->caller, c->open, c->depth + 1, c->steps };
        sum = join(sum, link->args[p] && link->caller ? evaluate(&outside, link->args[p]) : unknown);
    }
    return sum;
}

static fact of_name(const counter *c, pel_name name) {
    for (const asked *open = c->open; open; open = open->outer)
        if (open->group == c->group && open->name == name) return (fact){ NOT_YET, 0, NULL };
    const asked here = { c->open, c->group, name };
    const counter inner = { c->s, c->group, &here, c->depth + 1, c->steps };
    bindings b = { &inner, name, 0, { NOT_YET, 0, NULL } };
    for (uint32_t i = 0; i < c->group->body.n; i++) see_binding(&b, &c->group->body.at[i]);
    pel_uses uses = pel_uses_in(c->s, c->group->body, name);
    if (uses.binds != b.n || uses.scoped) return unknown; /* a loop, a handler, `+=` */
    for (uint32_t p = 0; p < c->group->n_params; p++)
        if (c->group->params[p].name == name && !c->group->params[p].dead && !c->group->params[p].unread) {
            if (c->group->params[p].kind != PEL_PARAM_PLAIN) return unknown;
            b.sum = join(b.sum, passed(&inner, p));
            b.n++;
        }
    return b.n ? b.sum : unknown;
}

/* ---- expressions ---- */

static bool is_torchs(const pel_node *call, const char *name) {
    const pel_node *func = call->Call.func;
    return func->kind == PEL_Attribute && pel_name_is(func->Attribute.attr, name) &&
           func->Attribute.value->kind == PEL_Name && pel_name_is(func->Attribute.value->Name.id, "torch");
}

static const pel_node *keyword_of(const pel_node *call, const char *name) {
    for (uint32_t i = 0; i < call->Call.keywords.n; i++)
        if (call->Call.keywords.at[i]->keyword.arg && pel_name_is(call->Call.keywords.at[i]->keyword.arg, name))
            return call->Call.keywords.at[i]->keyword.value;
    return NULL;
}

static bool number(const pel_node *node, int64_t *value) {
    bool is_minus = node && node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_USub;
    if (is_minus) node = node->UnaryOp.operand;
    if (!node || node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT) return false;
    const pel_const *held = node->Constant.value;
    if (held->integer.digits.len) return false;
    *value = is_minus ? -held->integer.small : held->integer.small;
    return true;
}

/* torch.arange(n, device=...): other dtypes may round. */
static bool is_range(const pel_node *call) {
    if (!is_torchs(call, "arange") || call->Call.args.n != 1 || call->Call.args.at[0]->kind == PEL_Starred)
        return false;
    return call->Call.keywords.n == (keyword_of(call, "device") ? 1u : 0u);
}

/* torch.diff(x, prepend=x[:, :1] - 1, dim=-1), where x is one thing: the step. */
static fact difference(const counter *c, const pel_node *call) {
    int64_t dim = 0;
    const pel_node *before = keyword_of(call, "prepend"), *of = call->Call.args.n == 1 ? call->Call.args.at[0] : NULL;
    if (!of || of->kind != PEL_Name || !before || call->Call.keywords.n != 2) return unknown;
    if (!number(keyword_of(call, "dim"), &dim) || dim != -1) return unknown;
    if (!pel_is_bound_once(pel_group_text(c->s, c->group), of->Name.id)) return unknown;
    fact all = evaluate(c, of), one = evaluate(c, before);
    bool fits = all.manner == COUNTS && one.manner == BEFORE && one.first == of->Name.id;
    return fits ? (fact){ ALIKE, 1, NULL } : unknown;
}

/* Methods that leave the last dimension as it is, or need not look at it. */
static fact of_method(const counter *c, const pel_node *call) {
    const pel_node *func = call->Call.func;
    if (func->kind != PEL_Attribute || call->Call.keywords.n) return unknown;
    fact of = evaluate(c, func->Attribute.value);
    const pel_nodes args = call->Call.args;
    int64_t last = 0;
    bool ends_with = args.n && number(args.at[args.n - 1], &last);
    pel_name name = func->Attribute.attr;
    if (of.manner == COUNTS || of.manner == NOT_YET) {
        bool keeps = (pel_name_is(name, "unsqueeze") && args.n == 1 && ends_with && last == 0) ||
                     (pel_name_is(name, "expand") && args.n > 1 && ends_with && last == -1) ||
                     (pel_name_is(name, "repeat") && args.n > 1 && ends_with && last == 1);
        return keeps ? of : unknown;
    }
    if (of.manner != ALIKE) return unknown;
    if (pel_name_is(name, "cumsum") && args.n == 1 && of.value == 0) return of;
    return pel_name_is(name, "all") && !args.n ? (fact){ ALIKE, of.value != 0, NULL } : unknown;
}

static bool is_slice(const pel_node *node, int64_t until) {
    int64_t upper = 0;
    if (node->kind != PEL_Slice || node->Slice.lower || node->Slice.step) return false;
    return until < 0 ? !node->Slice.upper : node->Slice.upper && number(node->Slice.upper, &upper) && upper == until;
}

/* x[:, :1], and any part of what is alike. */
static fact part(const counter *c, const pel_node *node) {
    const pel_node *of = node->Subscript.value, *at = node->Subscript.slice;
    fact whole = evaluate(c, of);
    if (whole.manner == ALIKE) return whole;
    bool is_first = at->kind == PEL_Tuple && at->Tuple.elts.n == 2 && is_slice(at->Tuple.elts.at[0], -1) &&
                    is_slice(at->Tuple.elts.at[1], 1);
    return whole.manner == COUNTS && is_first && of->kind == PEL_Name ? (fact){ FIRST, 0, of->Name.id } : unknown;
}

static fact compared(const counter *c, const pel_node *node) {
    fact left = evaluate(c, node->Compare.left);
    int64_t value = 0;
    if (left.manner != ALIKE || node->Compare.ops.n != 1 || !number(node->Compare.comparators.at[0], &value))
        return unknown;
    uint8_t op = node->Compare.ops.at[0];
    if (op != PEL_Eq && op != PEL_NotEq) return unknown;
    return (fact){ ALIKE, (left.value == value) == (op == PEL_Eq), NULL };
}

static void see_return(void *arg, pel_node **slot) {
    bindings *b = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Return) {
        b->n++;
        b->sum = join(b->sum, node->Return.value ? evaluate(b->c, node->Return.value) : unknown);
    } else if (pel_kinds[node->kind].class == PEL_STMT && node->kind != PEL_FunctionDef) {
        pel_each_child(*slot, see_return, arg);
    }
}

/* What a function of ours gives, whoever calls it. */
static fact returned(const counter *c, const pel_group *group) {
    if (group->facts.falls_off || group->is.generator || group->is.context || group->is.nested) return unknown;
    const counter inside = { c->s, group, c->open, c->depth + 1, c->steps };
    bindings b = { &inside, NULL, 0, { NOT_YET, 0, NULL } };
    for (uint32_t i = 0; i < group->body.n; i++) see_return(&b, &group->body.at[i]);
    return b.n && b.sum.manner == ALIKE ? b.sum : unknown;
}

static fact evaluate(const counter *c, const pel_node *node) {
    int64_t less = 0;
    if (c->depth > DEEP || ++*c->steps > MOST_STEPS) return unknown;
    const counter inner = { c->s, c->group, c->open, c->depth + 1, c->steps };
    switch ((int)node->kind) {
    case PEL_Name: return of_name(&inner, node->Name.id);
    case PEL_Call:
        if (pel_link_at(c->s, node)) return returned(&inner, pel_link_at(c->s, node)->target);
        if (is_range(node)) return (fact){ COUNTS, 0, NULL };
        return is_torchs(node, "diff") ? difference(&inner, node) : of_method(&inner, node);
    case PEL_Subscript: return part(&inner, node);
    case PEL_Compare: return compared(&inner, node);
    case PEL_BinOp: {
        fact left = evaluate(&inner, node->BinOp.left);
        bool is_less = node->BinOp.op == PEL_Sub && number(node->BinOp.right, &less) && less == 1;
        return left.manner == FIRST && is_less ? (fact){ BEFORE, 0, left.first } : unknown;
    }
    default: return unknown;
    }
}

/* ---- what changes tensors in place ---- */

static void see_change(void *arg, pel_node **slot) {
    bool *changes = arg;
    const pel_node *node = *slot;
    *changes |= node->kind == PEL_AugAssign || (node->kind == PEL_Subscript && node->Subscript.ctx == PEL_Store &&
                                                node->Subscript.value->kind == PEL_Name);
    if (node->kind == PEL_Call && node->Call.func->kind == PEL_Attribute) {
        pel_str name = pel_name_str(node->Call.func->Attribute.attr);
        bool is_private = pel_str_ends(name, PEL_STR("__"));
        *changes |= pel_str_ends(name, PEL_STR("_")) && !is_private;
    }
    *changes |= node->kind == PEL_keyword && node->keyword.arg && pel_name_is(node->keyword.arg, "out");
    if (!*changes) pel_each_child(*slot, see_change, arg);
}

/* Whether some text may write into a tensor: positions could be it. */
static bool changes_in_place(pel_synth *s) {
    bool changes = false;
    const pel_reach reached = pel_find_reached(s);
    for (uint32_t i = 0; i < s->groups.n && !changes; i++)
        for (uint32_t k = 0; reached.seen[i] && k < s->groups.at[i]->body.n && !changes; k++)
            see_change(&changes, &s->groups.at[i]->body.at[k]);
    return changes;
}

bool pel_holds_by_counting(pel_synth *s, const pel_group *group, const pel_node *test) {
    if (test->kind != PEL_Call || test->Call.args.n || test->Call.func->kind != PEL_Attribute) return false;
    uint32_t steps = 0;
    const counter c = { s, group, NULL, 0, &steps };
    fact found = evaluate(&c, test);
    return found.manner == ALIKE && found.value && !changes_in_place(s);
}
