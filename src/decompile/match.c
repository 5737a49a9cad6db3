/* match.
 *
 * The compiler matches a pattern by taking its subject apart on the stack: a test fails to a label after the body of
 * the case, where the parts that are left are popped; captured values stay on the stack, below everything else, until
 * the whole pattern fits and they are stored. Optimised exchanges leave no fixed shape, so the instructions are run on
 * a stack of parts: what is asked of a part says what its pattern is, where it is stored says its name. */
#include "decompile/lift.h"

typedef enum part_kind { P_ANY, P_VALUE, P_SINGLETON, P_SEQUENCE, P_MAPPING, P_CLASS, P_OR } part_kind;

typedef struct part part;
typedef PEL_VEC(part *) parts;

/* Something that a pattern is matched against. */
struct part {
    part_kind kind;
    uint32_t at;
    pel_node *value;             /* VALUE, SINGLETON: what it is compared with; CLASS: the class */
    parts inside;                /* SEQUENCE, MAPPING, CLASS: its parts; OR: one for each alternative */
    uint32_t star;               /* SEQUENCE: index of the starred part, or PEL_NONE */
    bool is_taken;               /* SEQUENCE: its parts were taken apart */
    pel_nodes keys;              /* MAPPING */
    const pel_const *attributes; /* CLASS: names of the last parts */
    PEL_VEC(pel_node *) names;   /* Name nodes it is stored in, the innermost first */
    part *rest;                  /* MAPPING: what other keys there are */
    parts same;                  /* what the other alternatives of an `or` have in its place */
    PEL_VEC(uint32_t) back;      /* SEQUENCE with a starred `_`: parts counted from the end */
    parts back_parts;
};

typedef enum slot_kind { S_PART, S_EXPR, S_LENGTH, S_FROM_END, S_ASKED, S_KEYS, S_VALUES } slot_kind;

/* What is on the stack. */
typedef struct slot {
    slot_kind kind;
    part *of;
    pel_node *node; /* EXPR */
    uint32_t n;     /* FROM_END: how far */
} slot;

typedef struct slots {
    slot *at;
    uint32_t n, cap;
    uint32_t floor; /* what lies below is not touched */
} slots;

typedef struct failing {
    uint32_t to, depth;
} failing;

typedef struct matcher {
    pel_lift *l;
    uint32_t limit;
    PEL_VEC(failing) fails;
    PEL_VEC(uint32_t) stores; /* instructions that store a captured value */
    int depth;
} matcher;

#define MAX_PATTERN_DEPTH 40
#define MAX_PARTS 65536

static part *part_new(matcher *m, uint32_t at) {
    part *p = pel_new(m->l->ctx, part);
    p->at = at;
    p->star = PEL_NONE;
    return p;
}

static void push_part(matcher *m, slots *s, part *p) { pel_push(m->l->ctx, s, ((slot){ .kind = S_PART, .of = p })); }

static slots slots_copy(matcher *m, const slots *s) {
    slots copy = { 0 };
    for (uint32_t i = 0; i < s->n; i++) pel_push(m->l->ctx, &copy, s->at[i]);
    return copy;
}

/* A slot counted from the top, from 1; NULL if there are not so many. */
static slot *peek(slots *s, uint32_t n) { return n >= 1 && n + s->floor <= s->n ? &s->at[s->n - n] : NULL; }

static bool is_number(const pel_node *node, uint32_t *value) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT) return false;
    const pel_const *c = node->Constant.value;
    if (c->integer.digits.len || c->integer.small < 0 || c->integer.small > MAX_PARTS) return false;
    *value = (uint32_t)c->integer.small;
    return true;
}

static bool fresh_part(const part *p) { return p->kind == P_ANY && !p->names.n; }

/* ---- single instructions ---- */

static bool compare(matcher *m, slots *s, const pel_ins *ins, uint32_t at) {
    slot *right = peek(s, 1), *left = peek(s, 2);
    if (!left || right->kind != S_EXPR) return false;
    part *p = left->of;
    uint32_t n;
    if (left->kind == S_LENGTH) {
        if (p->kind != P_SEQUENCE && p->kind != P_MAPPING) return false;
        if (!is_number(right->node, &n)) return false;
        if (p->kind == P_SEQUENCE) {
            if (ins->sub != PEL_Eq && ins->sub != PEL_GtE) return false;
            p->star = ins->sub == PEL_Eq ? PEL_NONE : n;
            p->inside.n = 0;
            for (uint32_t i = 0; i < n + (ins->sub == PEL_GtE); i++) pel_push(m->l->ctx, &p->inside, part_new(m, at));
        }
    } else if (left->kind == S_PART && p->kind == P_ANY && (ins->sub == PEL_Eq || ins->sub == PEL_Is)) {
        p->kind = ins->sub == PEL_Eq ? P_VALUE : P_SINGLETON;
        p->value = right->node;
    } else
        return false;
    s->n -= 2;
    pel_push(m->l->ctx, s, ((slot){ .kind = S_ASKED }));
    return true;
}

static bool subscript(matcher *m, slots *s, uint32_t at) {
    slot *index = peek(s, 1), *of = peek(s, 2);
    if (!of || (of->kind != S_PART && of->kind != S_VALUES)) return false;
    part *p = of->of, *made = NULL;
    uint32_t n;
    if (index->kind == S_FROM_END && of->kind == S_PART && p->kind == P_SEQUENCE && index->of == p) {
        made = part_new(m, at);
        pel_push(m->l->ctx, &p->back, index->n);
        pel_push(m->l->ctx, &p->back_parts, made);
        p->is_taken = true;
    } else if (index->kind == S_EXPR && is_number(index->node, &n) && n < p->inside.n &&
               (of->kind == S_VALUES || p->kind == P_SEQUENCE)) {
        made = p->inside.at[n];
        if (!fresh_part(made)) return false;
        p->is_taken = true;
    }
    if (!made) return false;
    s->n -= 2;
    push_part(m, s, made);
    return true;
}

static bool unpack(matcher *m, slots *s, const pel_ins *ins, uint32_t at) {
    slot *top = peek(s, 1);
    if (!top) return false;
    part *p = top->of;
    uint32_t n = ins->arg, star = PEL_NONE;
    if (ins->op == PEL_I_UNPACK_EX) {
        star = ins->arg & 0xff;
        n = star + 1 + (ins->arg >> 8);
    }
    if (n > MAX_PARTS) return false;
    if (top->kind == S_PART) {
        if (p->kind != P_SEQUENCE || p->is_taken) return false;
        if (p->star != PEL_NONE ? p->inside.n != n : p->inside.n && p->inside.n != n) return false;
        p->inside.n = 0;
        for (uint32_t i = 0; i < n; i++) pel_push(m->l->ctx, &p->inside, part_new(m, at));
        p->star = star;
        p->is_taken = true;
    } else if (top->kind != S_VALUES || p->inside.n != n)
        return false;
    s->n--;
    for (uint32_t i = n; i-- > 0;) push_part(m, s, p->inside.at[i]);
    return true;
}

static bool match_class(matcher *m, slots *s, const pel_ins *ins, uint32_t at) {
    slot *names = peek(s, 1), *class = peek(s, 2), *subject = peek(s, 3);
    if (!subject || names->kind != S_EXPR || class->kind != S_EXPR || subject->kind != S_PART) return false;
    part *p = subject->of;
    const pel_ins *load = at ? &m->l->c->at[at - 1] : NULL;
    if (p->kind != P_ANY || !load || load->op != PEL_I_CONST || load->value->kind != PEL_CONST_TUPLE) return false;
    if (ins->arg > MAX_PARTS) return false;
    p->kind = P_CLASS;
    p->value = class->node;
    p->attributes = load->value;
    for (uint32_t i = 0; i < load->value->n; i++)
        if (load->value->items[i]->kind != PEL_CONST_STR) return false;
    for (uint32_t i = 0; i < ins->arg + load->value->n; i++) pel_push(m->l->ctx, &p->inside, part_new(m, at));
    s->n -= 3;
    pel_push(m->l->ctx, s, ((slot){ .kind = S_VALUES, .of = p }));
    return true;
}

/* A tuple of keys on a mapping: what they lead to. */
static bool match_keys(matcher *m, slots *s, uint32_t at) {
    slot *keys = peek(s, 1), *subject = peek(s, 2);
    if (!subject || keys->kind != S_EXPR || keys->node->kind != PEL_Tuple) return false;
    if (subject->kind != S_PART || subject->of->kind != P_MAPPING || subject->of->is_taken) return false;
    part *p = subject->of;
    p->keys = keys->node->Tuple.elts;
    p->is_taken = true;
    for (uint32_t i = 0; i < p->keys.n; i++) pel_push(m->l->ctx, &p->inside, part_new(m, at));
    *keys = (slot){ .kind = S_KEYS, .of = p };
    pel_push(m->l->ctx, s, ((slot){ .kind = S_VALUES, .of = p }));
    return true;
}

static void name_part(matcher *m, part *p, pel_node *name) {
    pel_push(m->l->ctx, &p->names, name);
    for (uint32_t i = 0; i < p->same.n; i++) name_part(m, p->same.at[i], name);
}

static void fail_to(matcher *m, uint32_t to, uint32_t depth) {
    pel_push(m->l->ctx, &m->fails, ((failing){ to, depth }));
}

/* One instruction. False if no pattern has it. */
static bool step(matcher *m, slots *s, uint32_t at) {
    pel_lift *l = m->l;
    const pel_ins *ins = &l->c->at[at];
    slot *top = peek(s, 1), *below = peek(s, 2);
    pel_lift_tick(l, at);
    switch ((pel_iop)ins->op) {
    case PEL_I_COPY: {
        slot *copied = peek(s, ins->arg);
        if (!copied || (copied->kind != S_PART && copied->kind != S_VALUES)) return false;
        slot it = *copied;
        pel_push(l->ctx, s, it);
        return true;
    }
    case PEL_I_SWAP: {
        slot *other = peek(s, ins->arg);
        if (!other || ins->arg < 2) return false;
        slot it = *top;
        *top = *other;
        *other = it;
        return true;
    }
    case PEL_I_POP:
        if (!top || top->kind == S_EXPR || top->kind == S_ASKED || top->kind == S_LENGTH) return false;
        s->n--;
        return true;
    case PEL_I_STORE: {
        if (!top || top->kind != S_PART) return false;
        pel_node *name = pel_make(l, PEL_Name, at);
        name->Name.id = pel_unmangle(l, ins->name);
        name->Name.ctx = PEL_Store;
        name_part(m, top->of, name);
        pel_push(l->ctx, &m->stores, at);
        s->n--;
        return true;
    }
    case PEL_I_CONST:
        if (ins->value->kind == PEL_CONST_CODE) return false;
        pel_push(l->ctx, s, ((slot){ .kind = S_EXPR, .node = pel_const_node(l, ins->value, at) }));
        return true;
    case PEL_I_LOAD: {
        pel_node *name = pel_make(l, PEL_Name, at);
        name->Name.id = pel_unmangle(l, ins->name);
        pel_push(l->ctx, s, ((slot){ .kind = S_EXPR, .node = name }));
        return true;
    }
    case PEL_I_ATTR: {
        if (!top || top->kind != S_EXPR) return false;
        pel_node *node = pel_make(l, PEL_Attribute, at);
        node->Attribute.value = top->node;
        node->Attribute.attr = pel_unmangle(l, ins->name);
        top->node = node;
        return true;
    }
    case PEL_I_BUILD: {
        pel_node *tuple = pel_make(l, PEL_Tuple, at);
        if (ins->sub != PEL_D_TUPLE || ins->arg > s->n - s->floor) return false;
        for (uint32_t i = 0; i < ins->arg; i++) {
            const slot *it = peek(s, ins->arg - i);
            if (it->kind != S_EXPR) return false;
            pel_nodes_push(l->ctx, &tuple->Tuple.elts, it->node);
        }
        s->n -= ins->arg;
        pel_push(l->ctx, s, ((slot){ .kind = S_EXPR, .node = tuple }));
        return true;
    }
    case PEL_I_DICT_REST: {
        if (!below || top->kind != S_KEYS || below->kind != S_PART || below->of != top->of) return false;
        part *mapping = top->of, *rest = part_new(m, at);
        if (mapping->rest) return false;
        mapping->rest = rest;
        *top = (slot){ .kind = S_PART, .of = rest };
        return true;
    }
    case PEL_I_MATCH_SEQUENCE:
    case PEL_I_MATCH_MAPPING:
        if (!top || top->kind != S_PART || top->of->kind != P_ANY) return false;
        top->of->kind = ins->op == PEL_I_MATCH_SEQUENCE ? P_SEQUENCE : P_MAPPING;
        if (ins->op == PEL_I_MATCH_SEQUENCE) { /* [*_], unless its length is asked for */
            top->of->star = 0;
            pel_push(l->ctx, &top->of->inside, part_new(m, at));
        }
        pel_push(l->ctx, s, ((slot){ .kind = S_ASKED }));
        return true;
    case PEL_I_MATCH_CLASS: return match_class(m, s, ins, at);
    case PEL_I_MATCH_KEYS: return match_keys(m, s, at);
    case PEL_I_GET_LEN:
        if (!top || top->kind != S_PART) return false;
        pel_push(l->ctx, s, ((slot){ .kind = S_LENGTH, .of = top->of }));
        return true;
    case PEL_I_BINARY: {
        uint32_t n;
        if (!below || below->kind != S_LENGTH || top->kind != S_EXPR || ins->sub != PEL_Sub) return false;
        if (!is_number(top->node, &n)) return false;
        part *of = below->of;
        s->n -= 2;
        pel_push(l->ctx, s, ((slot){ .kind = S_FROM_END, .of = of, .n = n }));
        return true;
    }
    case PEL_I_COMPARE: return compare(m, s, ins, at);
    case PEL_I_SUBSCR: return subscript(m, s, at);
    case PEL_I_UNPACK:
    case PEL_I_UNPACK_EX: return unpack(m, s, ins, at);
    case PEL_I_PJF:
        if (!top || top->kind != S_ASKED) return false;
        s->n--;
        fail_to(m, ins->target, s->n);
        return true;
    case PEL_I_PJN: /* no such keys, no such class */
        if (!top || top->kind != S_VALUES) return false;
        s->n--;
        fail_to(m, ins->target, s->n);
        return true;
    case PEL_I_PJNN: /* not None */
        if (!top || top->kind != S_PART || top->of->kind != P_ANY) return false;
        top->of->kind = P_SINGLETON;
        top->of->value = pel_make_none(l->ctx);
        s->n--;
        fail_to(m, ins->target, s->n);
        return true;
    default: return false;
    }
}

/* ---- alternatives ---- */

static uint32_t read_or(matcher *m, slots *s, uint32_t at);

/* Where a failed test arrives when all above `depth` has been popped, or PEL_NONE. */
static uint32_t after_pops(const pel_lift *l, failing f, uint32_t depth) {
    uint32_t at = f.to;
    if (f.depth < depth) return PEL_NONE;
    for (uint32_t n = f.depth - depth; n > 0; n--, at++) {
        at = pel_resolve(l, at);
        if (at >= l->c->n || l->c->at[at].op != PEL_I_POP) return PEL_NONE;
    }
    return at;
}

/* Runs a pattern up to a jump or to the end; PEL_NONE if it is none. */
static uint32_t run_alternative(matcher *m, slots *s, uint32_t at, uint32_t end) {
    while (at < m->limit && at != end) {
        const pel_ins *ins = &m->l->c->at[at];
        if (ins->op == PEL_I_JUMP) return at;
        if (ins->op == PEL_I_STORE) return PEL_NONE;
        if (ins->op == PEL_I_COPY && ins->arg == 1) {
            uint32_t next = read_or(m, s, at);
            if (next != PEL_NONE) {
                at = next;
                continue;
            }
        }
        if (!step(m, s, at)) return PEL_NONE;
        at++;
    }
    return at == end ? at : PEL_NONE;
}

/* a | b | c: each tries a copy of the part on top. Returns where they all go on, the part still on top of the stack
 * below what they captured; PEL_NONE if that is something else. */
static uint32_t read_or(matcher *m, slots *s, uint32_t at) {
    pel_lift *l = m->l;
    slot *top = peek(s, 1);
    if (!top || top->kind != S_PART || !fresh_part(top->of) || m->depth >= MAX_PATTERN_DEPTH) return PEL_NONE;
    part *subject = top->of, made = *subject;
    uint32_t base = s->n, end = PEL_NONE, n_fails = m->fails.n, n_stores = m->stores.n;
    slots joined = { 0 };
    made.kind = P_OR;
    m->depth++;
    for (uint32_t k = 0;; k++) {
        const pel_ins *ins = at < m->limit ? &l->c->at[at] : NULL;
        if (!ins || ins->op != PEL_I_COPY || ins->arg != 1) {
            if (k == 0 || !ins || ins->op != PEL_I_POP) goto no;
            /* none fits: the part is popped, too */
            m->fails.n = n_fails;
            fail_to(m, l->c->at[at + 1].op == PEL_I_JUMP ? l->c->at[at + 1].target : at + 1, base - 1);
            break;
        }
        slots w = slots_copy(m, s);
        part *tried = part_new(m, at);
        w.floor = base;
        push_part(m, &w, tried);
        m->fails.n = n_fails;
        uint32_t stop = run_alternative(m, &w, at + 1, end);
        if (stop == PEL_NONE) goto no;
        for (uint32_t i = base; i < w.n; i++)
            if (w.at[i].kind != S_PART) goto no;
        uint32_t to = stop == end ? end : l->c->at[stop].target;
        if (end != PEL_NONE && (to != end || w.n != joined.n)) goto no;
        if (end == PEL_NONE) {
            end = to;
            joined = w;
            if (end <= at || end > m->limit) goto no;
        } else {
            for (uint32_t i = base; i < w.n; i++) pel_push(l->ctx, &joined.at[i].of->same, w.at[i].of);
        }
        pel_push(l->ctx, &made.inside, tried);
        if (m->fails.n == n_fails) break; /* one that always fits is the last */
        uint32_t next = after_pops(l, m->fails.at[n_fails], base);
        for (uint32_t i = n_fails + 1; i < m->fails.n; i++)
            if (after_pops(l, m->fails.at[i], base) != next) goto no;
        if (next == PEL_NONE || next <= at || next > end) goto no;
        at = next;
    }
    m->depth--;
    if (made.inside.n < 2) goto no_depth;
    *subject = made;
    joined.floor = s->floor;
    *s = joined;
    return end;
no:
    m->depth--;
no_depth:
    m->fails.n = n_fails;
    m->stores.n = n_stores;
    return PEL_NONE;
}

/* ---- parts -> patterns; the mark of one that binds a name says where it is stored ---- */

static pel_node *pattern_of(matcher *m, part *p, bool is_star);

static pel_nodes patterns_of(matcher *m, const parts *list, uint32_t from, uint32_t to, uint32_t star) {
    pel_nodes made = { 0 };
    for (uint32_t i = from; i < to; i++) pel_nodes_push(m->l->ctx, &made, pattern_of(m, list->at[i], i == star));
    return made;
}

/* With a starred `_` only the parts that are asked for are taken, from either end. */
static bool place_from_end(part *p) {
    uint32_t n = p->inside.n, furthest = 0;
    for (uint32_t i = 0; i < p->back.n; i++) {
        if (p->back.at[i] == 0 || p->back.at[i] >= n) return false;
        if (p->back.at[i] > furthest) furthest = p->back.at[i];
    }
    p->star = n - 1 - furthest;
    if (!fresh_part(p->inside.at[p->star])) return false;
    for (uint32_t i = 0; i < p->back.n; i++) {
        if (!fresh_part(p->inside.at[n - p->back.at[i]])) return false;
        p->inside.at[n - p->back.at[i]] = p->back_parts.at[i];
    }
    return true;
}

/* NULL means that nothing is checked: pattern_of makes a name, `_` or a starred name of it. Parts that are counted from
 * the end of a sequence get their places only here, when all of them have been seen. */
static pel_node *pattern_inner(matcher *m, part *p) {
    pel_lift *l = m->l;
    pel_node *node;
    switch (p->kind) {
    case P_VALUE:
        node = pel_make(l, PEL_MatchValue, p->at);
        node->MatchValue.value = p->value;
        return node;
    case P_SINGLETON:
        node = pel_make(l, PEL_MatchSingleton, p->at);
        if (p->value->kind != PEL_Constant) pel_lift_fail(l, p->at, "a pattern that is no constant");
        node->MatchSingleton.value = p->value->Constant.value;
        return node;
    case P_SEQUENCE:
        if (p->back.n && !place_from_end(p)) pel_lift_fail(l, p->at, "a sequence that is taken apart twice");
        node = pel_make(l, PEL_MatchSequence, p->at);
        node->MatchSequence.patterns = patterns_of(m, &p->inside, 0, p->inside.n, p->star);
        return node;
    case P_MAPPING:
        node = pel_make(l, PEL_MatchMapping, p->at);
        node->MatchMapping.keys = p->keys;
        node->MatchMapping.patterns = patterns_of(m, &p->inside, 0, p->inside.n, PEL_NONE);
        if (p->rest && p->rest->names.n) {
            node->MatchMapping.rest = p->rest->names.at[0]->Name.id;
            node->mark = p->rest->names.at[0]->mark;
        }
        return node;
    case P_CLASS: {
        uint32_t n = p->inside.n - p->attributes->n;
        node = pel_make(l, PEL_MatchClass, p->at);
        node->MatchClass.cls = p->value;
        node->MatchClass.patterns = patterns_of(m, &p->inside, 0, n, PEL_NONE);
        node->MatchClass.kwd_patterns = patterns_of(m, &p->inside, n, p->inside.n, PEL_NONE);
        node->MatchClass.kwd_attrs.at = pel_new_array(l->ctx, (size_t)p->attributes->n + 1, pel_name);
        node->MatchClass.kwd_attrs.n = p->attributes->n;
        for (uint32_t i = 0; i < p->attributes->n; i++) {
            pel_str text = p->attributes->items[i]->text;
            node->MatchClass.kwd_attrs.at[i] = pel_unmangle(l, pel_intern_str(l->ctx, text));
        }
        return node;
    }
    case P_OR:
        node = pel_make(l, PEL_MatchOr, p->at);
        node->MatchOr.patterns = patterns_of(m, &p->inside, 0, p->inside.n, PEL_NONE);
        return node;
    default: return NULL;
    }
}

static pel_node *pattern_of(matcher *m, part *p, bool is_star) {
    pel_lift_enter(m->l, p->at);
    pel_node *node = pattern_inner(m, p);
    if (is_star) {
        if (node || p->names.n > 1) pel_lift_fail(m->l, p->at, "a pattern for the rest of a sequence");
        node = pel_make(m->l, PEL_MatchStar, p->at);
        if (p->names.n) {
            node->MatchStar.name = p->names.at[0]->Name.id;
            node->mark = p->names.at[0]->mark;
        }
        pel_lift_leave(m->l);
        return node;
    }
    for (uint32_t i = 0; i < p->names.n; i++) {
        pel_node *as = pel_make(m->l, PEL_MatchAs, p->at);
        as->MatchAs.pattern = node;
        as->MatchAs.name = p->names.at[i]->Name.id;
        as->mark = p->names.at[i]->mark;
        node = as;
    }
    if (!node) node = pel_make(m->l, PEL_MatchAs, p->at);
    pel_lift_leave(m->l);
    return node;
}

/* ---- cases ---- */

typedef struct one_case {
    part *subject;
    pel_node *guard;
    uint32_t body; /* begins here */
    uint32_t end;  /* and ends here, where failed tests arrive; or PEL_NONE */
    uint32_t next; /* the next case, or what follows the last; or PEL_NONE */
    bool is_last;  /* takes the subject from the stack */
    bool fails;
    PEL_VEC(uint32_t) stores;
} one_case;

/* Whether a pattern may begin here, with its subject on the stack. */
bool pel_begins_match(const pel_lift *l, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    if (ins->op == PEL_I_COPY) return ins->arg == 1;
    if (ins->op == PEL_I_MATCH_SEQUENCE || ins->op == PEL_I_MATCH_MAPPING) return true;
    if (ins->op != PEL_I_LOAD) return false;
    uint32_t i = at + 1;
    while (i < l->c->n && l->c->at[i].op == PEL_I_ATTR) i++;
    return i + 1 < l->c->n && l->c->at[i].op == PEL_I_CONST && l->c->at[i + 1].op == PEL_I_MATCH_CLASS;
}

/* case _ if guard: the guard comes at once where a pattern would; it is followed by the pop of the subject. */
static bool read_guard_only(pel_lift *l, const region *r, const stack *s, uint32_t at, one_case *out) {
    matcher m = { .l = l };
    test t;
    if (pel_begins_match(l, at) || !pel_first_test(l, s, at, r->end, &t)) return false;
    while (l->c->at[t.next].op != PEL_I_POP)
        if (t.used < 2 || !pel_shorter_test(l, &t, t.used - 1)) return false;
    if (t.otherwise <= t.next) return false;
    *out = (one_case){ .subject = part_new(&m, at),
                       .guard = t.expr,
                       .body = t.next + 1,
                       .end = t.otherwise,
                       .next = t.otherwise,
                       .fails = true };
    return true;
}

/* The pattern that begins at a place, run to its end. */
static bool read_case(pel_lift *l, const region *r, const stack *s, uint32_t at, one_case *out) {
    matcher m = { .l = l, .limit = r->end };
    slots w = { 0 };
    part *subject = part_new(&m, at);
    push_part(&m, &w, subject);
    bool kept = l->c->at[at].op == PEL_I_COPY;
    uint32_t first = at;
    *out = (one_case){ .subject = subject, .end = PEL_NONE, .next = PEL_NONE };
    for (;;) {
        if (at >= m.limit) return false;
        const pel_ins *ins = &l->c->at[at];
        if (w.n == 0) {
            out->is_last = true;
            break;
        }
        bool alone = kept && at > first && w.n == 1 && w.at[0].kind == S_PART && w.at[0].of == subject;
        if (alone && ins->op == PEL_I_POP) break;
        if (alone && ins->op != PEL_I_STORE && ins->op != PEL_I_SWAP) break; /* a guard */
        if (ins->op == PEL_I_COPY && ins->arg == 1) {
            uint32_t next = read_or(&m, &w, at);
            if (next != PEL_NONE) {
                at = next;
                continue;
            }
        }
        if (!step(&m, &w, at)) return false;
        at++;
    }
    uint32_t depth = 0;
    if (!out->is_last) {
        depth = 1;
        for (uint32_t i = 0; i < m.fails.n; i++)
            if (m.fails.at[i].depth == 0) depth = 0; /* alternatives took the subject */
        out->is_last = depth == 0;
    }
    if (!m.fails.n && l->c->at[at].op == PEL_I_POP) depth = 0, out->is_last = true;
    if (depth == 0 && w.n == 1) { /* popped once more, after alternatives */
        if (l->c->at[at].op != PEL_I_POP) return false;
        at++;
    }
    uint32_t fail = PEL_NONE;
    for (uint32_t i = 0; i < m.fails.n; i++) {
        uint32_t to = after_pops(l, m.fails.at[i], depth);
        if (to == PEL_NONE || (fail != PEL_NONE && pel_resolve(l, to) != pel_resolve(l, fail))) return false;
        if (fail == PEL_NONE || to > fail) fail = to;
    }
    /* a guard: after the last pattern only where it leads to the same place as a test of the pattern */
    bool asks = depth == 1 && l->c->at[at].op != PEL_I_POP;
    if (asks || (depth == 0 && fail != PEL_NONE)) {
        stack g = pel_stack_copy(l, s, s->n);
        g.n -= depth == 0;
        test t;
        bool found = pel_first_test(l, &g, at, r->end, &t);
        if (asks && !found) return false;
        while (found && depth == 1 && l->c->at[t.next].op != PEL_I_POP) {
            if (t.used < 2 || !pel_shorter_test(l, &t, t.used - 1)) return false;
        }
        bool leads = found && (fail == PEL_NONE || pel_resolve(l, t.otherwise) == pel_resolve(l, fail));
        if (asks && !leads) return false;
        if (leads && (asks || (fail < r->end && pel_resolve(l, fail) != r->fall))) {
            out->guard = t.expr;
            if (fail == PEL_NONE) fail = t.otherwise;
            if (t.otherwise > t.next) fail_to(&m, t.otherwise, depth);
            at = t.next;
        }
    }
    if (depth == 1) {
        if (l->c->at[at].op != PEL_I_POP || fail == PEL_NONE) return false;
        at++;
    }
    out->fails = m.fails.n > 0 || fail != PEL_NONE;
    out->body = at;
    out->next = fail;
    for (uint32_t i = 0; i < m.fails.n; i++)
        if (m.fails.at[i].to >= at && (out->end == PEL_NONE || m.fails.at[i].to < out->end))
            out->end = m.fails.at[i].to;
    for (uint32_t i = 0; i < m.stores.n; i++) pel_push(l->ctx, &out->stores, m.stores.at[i]);
    return true;
}

static pel_nodes body_or_pass(pel_lift *l, pel_nodes body) {
    if (!body.n) pel_nodes_push(l->ctx, &body, pel_node_new(l->ctx, PEL_Pass));
    return body;
}

/* Where in a body the copy begins that the compiler made of the end of the function after the statement, so that the
 * body did not have to jump there; the end of the body if there is none. */
static uint32_t without_copied_end(const pel_lift *l, uint32_t from, uint32_t end, uint32_t after) {
    uint32_t length = 0;
    while (length < 12 && after + length < l->c->n && !pel_ends(&l->c->at[after + length])) length++;
    if (!l->c->copies_exits || end - from <= ++length || pel_is_cond(&l->c->at[end - length - 1])) return end;
    uint32_t copy = end - length;
    for (uint32_t i = copy; i < end; i++)
        if (l->c->at[i].is_target || l->c->at[i].target != PEL_NONE) return end;
    bool begins = l->c->at[copy - 1].op == PEL_I_POP || l->c->at[copy - 1].op == PEL_I_STORE;
    return begins && pel_same_run(l, copy, after) ? copy : end;
}

uint32_t pel_read_match(pel_lift *l, region *r, stack *s, uint32_t at) {
    PEL_VEC(one_case) cases = { 0 };
    for (uint32_t place = at; place != PEL_NONE;) {
        one_case c;
        if (!read_case(l, r, s, place, &c) && (!cases.n || !read_guard_only(l, r, s, place, &c))) return PEL_NONE;
        pel_push(l->ctx, &cases, c);
        if (c.is_last) break;
        if (c.next <= place) return PEL_NONE;
        place = c.next;
    }
    one_case *last = &cases.at[cases.n - 1];
    if (cases.n == 1 && last->subject->kind == P_ANY) return PEL_NONE; /* an assignment says the same */
    pel_node *node = pel_node_new(l->ctx, PEL_Match);
    node->Match.subject = pel_pop_expr(l, s, at);
    uint32_t start = r->start, first = cases.at[0].body, after = r->end, otherwise = PEL_NONE;
    bool goes_on = last->next != PEL_NONE && last->next > last->body && last->next <= r->end &&
                   pel_resolve(l, last->next) != r->fall;
    if (!last->fails) { /* an `else` that binds a name */
        uint32_t end = pel_else_end(l, r, first, last->body);
        after = end == PEL_NONE ? r->end : end;
        last->end = after;
    } else if (goes_on) {
        uint32_t end = pel_else_end(l, r, first, last->next);
        after = last->next;
        if (end != PEL_NONE) otherwise = last->next, after = end;
        if (last->end == PEL_NONE) last->end = last->next;
    } else if (last->end == PEL_NONE || last->end > r->end)
        last->end = r->end;
    bool copied = last->fails && last->next != PEL_NONE && last->next < last->body && last->next > at;
    if (copied) { /* alternatives that fail had a copy of what follows the statement */
        uint32_t end = without_copied_end(l, last->body, last->end, last->next);
        copied = end == last->end;
        last->end = after = end;
    }
    uint32_t fall = after < r->end ? after : r->fall;
    matcher m = { .l = l };
    for (uint32_t i = 0; i < cases.n; i++) {
        one_case *c = &cases.at[i];
        if (c->end == PEL_NONE || c->end < c->body) pel_lift_fail(l, c->body, "a case without an end");
        pel_node *made = pel_make(l, PEL_match_case, c->subject->at);
        made->match_case.pattern = pattern_of(&m, c->subject, false);
        made->match_case.guard = c->guard;
        for (uint32_t k = 0; k < c->stores.n; k++) pel_declare(l, c->stores.at[k]);
        uint32_t end = after < r->end ? without_copied_end(l, c->body, c->end, after) : c->end;
        made->match_case.body = body_or_pass(l, pel_read_body(l, r, s, c->body, end, fall));
        pel_nodes_push(l->ctx, &node->Match.cases, made);
    }
    if (otherwise != PEL_NONE) {
        pel_nodes body = pel_read_body(l, r, s, otherwise, after, fall);
        pel_node *made = pel_make(l, PEL_match_case, otherwise);
        made->match_case.pattern = pel_make(l, PEL_MatchAs, otherwise);
        made->match_case.body = body_or_pass(l, body);
        pel_nodes_push(l->ctx, &node->Match.cases, made);
    }
    r->start = start;
    pel_lift_emit(l, node);
    if (copied) pel_read_tail(l, r, s, last->next, &r->out);
    return after;
}
