/* Parts of results that every caller throws away: of returned tuples, dicts and records. What is left of one part
 * is that part; a record of which few fields are ever read is a tuple of them, and callers give them the fields' names.
 */
#include "trace/passes.h"
#include "trace/shrink/link.h"

#define PARTS_MAX 64
#define FIELDS_MAX 3 /* of a record that becomes a tuple */

typedef struct part_read { /* f(x)[0], f(x).field, or the same of a name that holds nothing but f(x) */
    pel_node **slot;
    const pel_group *in; /* whose text has it */
    pel_name field;      /* NULL: by index or key */
    const pel_node *key; /* a text or None; NULL: by index */
    uint32_t index;
} part_read;

typedef struct holding { /* a, b = f(x), or a name that holds f(x) */
    pel_node *assign;
    const pel_group *in;
} holding;

typedef struct wants { /* of one function's result, over all its calls */
    uint32_t n;        /* parts that calls take it apart into; 0: none does */
    bool blocked;
    uint32_t thrown; /* calls that want no result at all */
    uint64_t used;   /* parts that assignments want */
    PEL_VEC(holding) assigns;
    PEL_VEC(part_read) reads;
    PEL_VEC(const pel_group *) forwarders; /* functions that return it as theirs */
} wants;

typedef struct survey {
    pel_synth *s;
    wants *uses;            /* per group */
    const pel_group *group; /* whose text is being looked at */
    pel_name blank;
} survey;

static wants *use_of(const survey *v, const pel_node *call) {
    const pel_link *link = call->kind == PEL_Call ? pel_link_at(v->s, call) : NULL;
    return link ? &v->uses[link->target->number] : NULL;
}

/* ---- how calls use what they get ---- */

/* A read of one part, of what stands before the brackets or the dot. */
static bool as_part_read(pel_node **slot, part_read *out) {
    const pel_node *node = *slot;
    *out = (part_read){ .slot = slot };
    if (node->kind == PEL_Attribute && node->Attribute.ctx == PEL_Load) {
        out->field = node->Attribute.attr;
        return true;
    }
    if (node->kind != PEL_Subscript || node->Subscript.ctx != PEL_Load || node->Subscript.slice->kind != PEL_Constant)
        return false;
    const pel_const *value = node->Subscript.slice->Constant.value;
    if (value->kind == PEL_CONST_STR || value->kind == PEL_CONST_NONE) {
        out->key = node->Subscript.slice;
        return true;
    }
    if (value->kind != PEL_CONST_INT || value->integer.digits.len || value->integer.small < 0 ||
        value->integer.small >= PARTS_MAX)
        return false;
    out->index = (uint32_t)value->integer.small;
    return true;
}

static pel_node *owner_of(const pel_node *part) {
    return part->kind == PEL_Attribute ? part->Attribute.value : part->Subscript.value;
}

typedef struct holder {
    const pel_synth *s;
    const pel_group *in;
    pel_name name;
    wants *result;
    bool whole; /* it is read as a whole, too */
} holder;

static void see_holder(void *arg, const pel_name_use *use) {
    holder *h = arg;
    part_read read;
    if (use->name != h->name || use->kind != PEL_USE_READS) return;
    if (!use->part || !as_part_read(use->part, &read)) {
        h->whole = true;
        return;
    }
    read.in = h->in;
    pel_push(h->s->ctx, &h->result->reads, read);
}

/* v = f(x), where v is only ever read as v[0] or v.field */
static void look_at_holder(const survey *v, wants *u, pel_name name) {
    holder h = { v->s, v->group, name, u, !pel_is_bound_once(pel_group_text(v->s, v->group), name) };
    if (!h.whole) pel_each_use_in(v->s, v->group->body, see_holder, &h);
    u->blocked |= h.whole;
}

static void look_at_targets(const survey *v, wants *u, const pel_node *target) {
    uint32_t n = target->Tuple.elts.n;
    if (u->n == 0) u->n = n;
    u->blocked |= u->n != n || n > PARTS_MAX;
    for (uint32_t i = 0; !u->blocked && i < n; i++) {
        const pel_node *part = target->Tuple.elts.at[i];
        u->blocked |= part->kind == PEL_Starred;
        if (part->kind != PEL_Name || part->Name.id != v->blank) u->used |= (uint64_t)1 << i;
    }
}

/* A call that the last branch sees has an unknown use, and blocks its function. Where the use is known, the walk
 * therefore goes on with the parts of the call and never with the call itself. */
static void look(void *arg, pel_node **slot) {
    survey *v = arg;
    pel_node *node = *slot, *call = NULL;
    wants *u;
    part_read read;
    if (node->kind == PEL_Expr && (u = use_of(v, node->Expr.value))) {
        u->thrown++;
        call = node->Expr.value;
    } else if (node->kind == PEL_Assign && node->Assign.targets.n == 1 && (u = use_of(v, node->Assign.value))) {
        pel_node *target = node->Assign.targets.at[0];
        call = node->Assign.value;
        pel_push(v->s->ctx, &u->assigns, ((holding){ node, v->group }));
        if (target->kind == PEL_Tuple) {
            look_at_targets(v, u, target);
        } else {
            if (target->kind == PEL_Name)
                look_at_holder(v, u, target->Name.id);
            else
                u->blocked = true;
            look(v, &node->Assign.targets.at[0]);
        }
    } else if (node->kind == PEL_Return && node->Return.value && (u = use_of(v, node->Return.value))) {
        call = node->Return.value;
        pel_push(v->s->ctx, &u->forwarders, v->group);
    } else if ((node->kind == PEL_Attribute || node->kind == PEL_Subscript) && (u = use_of(v, owner_of(node)))) {
        call = owner_of(node);
        u->blocked |= !as_part_read(slot, &read);
        read.in = v->group;
        pel_push(v->s->ctx, &u->reads, read);
    } else if ((u = use_of(v, node))) {
        u->blocked = true;
    }
    pel_each_part(v->s, call ? call : node, look, v);
}

/* ---- what a function returns ---- */

typedef struct returning {
    const pel_synth *s;
    uint32_t n_returns, n_parts;
    const pel_log_class *record; /* NULL: tuples, or dicts */
    const pel_node *dict;        /* the first of the dicts that are returned */
    uint32_t first;              /* of a record: the field that [0] is */
    bool fine;
    uint64_t kept, nones; /* nones: wanted, and always None */
    bool cut;
} returning;

/* The class of records that a call makes, all arguments by their names; NULL if it is something else. */
static const pel_log_class *record_made(const pel_synth *s, const pel_node *value) {
    if (value->kind != PEL_Call || value->Call.func->kind != PEL_Name || value->Call.args.n || pel_link_at(s, value))
        return NULL;
    for (uint32_t i = 0; i < value->Call.keywords.n; i++)
        if (!value->Call.keywords.at[i]->keyword.arg) return NULL;
    const pel_log_class *found = NULL;
    for (uint32_t i = 0; i < s->program->classes.n; i++) {
        const pel_program_class *row = s->program->classes.at[i];
        if (row->name != value->Call.func->Name.id) continue;
        if (found) return NULL;
        found = pel_class_at(s->log, row->class);
    }
    return found && found->kind == PEL_CLASS_DATACLASS && found->fields.n <= PARTS_MAX ? found : NULL;
}

static uint32_t field_number(const pel_log_class *record, pel_name name) {
    for (uint32_t i = 0; i < record->fields.n; i++)
        if (record->fields.at[i] == name) return i;
    return UINT32_MAX;
}

/* A part of what is returned; NULL: the record's field is left to its default. */
static pel_node *part_of(const returning *r, const pel_node *value, uint32_t part) {
    if (r->dict) return value->Dict.values.at[part];
    if (!r->record) return value->Tuple.elts.at[part];
    for (uint32_t i = 0; i < value->Call.keywords.n; i++)
        if (value->Call.keywords.at[i]->keyword.arg == r->record->fields.at[part])
            return value->Call.keywords.at[i]->keyword.value;
    return NULL;
}

static bool has_shape(returning *r, const pel_node *value) {
    const pel_log_class *record = value ? record_made(r->s, value) : NULL;
    const pel_node *dict = value && value->kind == PEL_Dict ? value : NULL;
    if (!value || (!record && !dict && value->kind != PEL_Tuple)) return false;
    uint32_t n = record ? record->fields.n : dict ? dict->Dict.keys.n : value->Tuple.elts.n, first = 0;
    for (uint32_t i = 0; !record && i < n; i++)
        if (dict ? !dict->Dict.keys.at[i] : value->Tuple.elts.at[i]->kind == PEL_Starred) return false;
    if (r->n_returns++ == 0) {
        r->record = record;
        r->dict = dict;
        r->n_parts = n;
    }
    if (record != r->record || !dict != !r->dict || n != r->n_parts || n > PARTS_MAX) return false;
    if (dict && !pel_same_list(dict->Dict.keys, r->dict->Dict.keys)) return false;
    while (record && first < n && !part_of(r, value, first)) first++;
    if (r->n_returns == 1) r->first = first;
    return first == r->first;
}

static void see_return(void *arg, pel_node **slot) {
    returning *r = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind != PEL_Return) {
        if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler)
            pel_each_child(node, see_return, r);
        return;
    }
    pel_node *value = node->Return.value;
    if (!r->cut) {
        r->fine = r->fine && has_shape(r, value);
        return;
    }
    pel_nodes left = { 0 };
    for (uint32_t i = 0; i < r->n_parts; i++) {
        pel_node *part = part_of(r, value, i);
        if (r->kept >> i & 1) pel_nodes_push(r->s->ctx, &left, part ? part : pel_make_none(r->s->ctx));
    }
    node->Return.value = left.at[0];
    if (left.n == 1) return;
    node->Return.value = pel_node_new(r->s->ctx, PEL_Tuple);
    node->Return.value->Tuple.elts = left;
}

static void see_lost_parts(void *arg, pel_node **slot) {
    returning *r = arg;
    if ((*slot)->kind == PEL_FunctionDef || (*slot)->kind == PEL_Lambda) return;
    for (uint32_t i = 0; (*slot)->kind == PEL_Return && i < r->n_parts; i++) {
        const pel_node *part = part_of(r, (*slot)->Return.value, i);
        if (part && !(r->kept >> i & 1) && !pel_pure(r->s, part)) r->fine = false;
    }
    if (pel_kinds[(*slot)->kind].class == PEL_STMT || (*slot)->kind == PEL_ExceptHandler)
        pel_each_child(*slot, see_lost_parts, r);
}

static returning returned_by(const pel_synth *s, const pel_group *group) {
    returning r = { .s = s, .fine = true };
    for (uint32_t k = 0; k < group->body.n; k++) see_return(&r, &group->body.at[k]);
    r.fine &= r.n_returns > 0 && !group->facts.falls_off;
    return r;
}

static void cut_returns(const pel_group *group, returning *r) {
    r->cut = true;
    for (uint32_t k = 0; k < group->body.n; k++) see_return(r, &group->body.at[k]);
}

static uint32_t count(uint64_t set) {
    uint32_t n = 0;
    for (; set; set &= set - 1) n++;
    return n;
}

/* The fields of a record that are kept, as names or as targets. */
static pel_node *field_target(const returning *r) {
    pel_node *made = pel_node_new(r->s->ctx, PEL_Tuple);
    made->Tuple.ctx = PEL_Store;
    for (uint32_t i = 0; i < r->n_parts; i++)
        if (r->kept >> i & 1)
            pel_nodes_push(r->s->ctx, &made->Tuple.elts, pel_make_name(r->s->ctx, r->record->fields.at[i], PEL_Store));
    return made;
}

static void cut_assign(const returning *r, pel_node *node) {
    pel_node *target = node->Assign.targets.at[0];
    if (target->kind != PEL_Tuple) { /* a holder: its reads are cut */
        if (r->record && count(r->kept) > 1) node->Assign.targets = pel_nodes_one(r->s->ctx, field_target(r));
        return;
    }
    pel_nodes left = { 0 };
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (r->kept >> i & 1) pel_nodes_push(r->s->ctx, &left, target->Tuple.elts.at[i]);
    if (left.n == 1)
        node->Assign.targets = pel_nodes_one(r->s->ctx, left.at[0]);
    else
        target->Tuple.elts = left;
}

/* Which part of what is returned a read wants; UINT32_MAX if that can't be told. */
static uint32_t part_wanted(const returning *r, const part_read *read) {
    if (r->dict || read->key) {
        for (uint32_t i = 0; r->dict && read->key && i < r->n_parts; i++)
            if (pel_same(r->dict->Dict.keys.at[i], read->key)) return i;
        return UINT32_MAX;
    }
    if (!r->record) return read->field || read->index >= r->n_parts ? UINT32_MAX : read->index;
    if (read->field) return field_number(r->record, read->field);
    return read->index ? UINT32_MAX : r->first; /* counted without the fields that are None */
}

/* out.last  ->  out, which is no output any more. */
static pel_node *only_part(pel_ctx *ctx, pel_node *owner) {
    if (owner->kind != PEL_Name) return owner;
    owner = pel_copy(ctx, owner);
    pel_forget_notes(owner);
    return owner;
}

static void cut_read(const returning *r, const part_read *read) {
    pel_node *node = *read->slot;
    uint32_t part = part_wanted(r, read);
    if (r->nones >> part & 1)
        *read->slot = pel_make_none(r->s->ctx);
    else if (count(r->kept) == 1)
        *read->slot = only_part(r->s->ctx, owner_of(node));
    else if (r->record)
        *read->slot = pel_make_name(r->s->ctx, r->record->fields.at[part], PEL_Load);
    else
        node->Subscript.slice =
            pel_make_constant(r->s->ctx, pel_const_int(r->s->ctx, count(r->kept & (((uint64_t)1 << read->index) - 1))));
}

/* The parts that somebody wants; 0 if that can't be told. */
static uint64_t wanted_parts(const wants *u, const returning *r) {
    uint64_t wanted = u->used;
    if (u->n && (r->record || r->dict || u->n != r->n_parts)) return 0;
    for (uint32_t i = 0; i < u->reads.n; i++) {
        uint32_t part = part_wanted(r, &u->reads.at[i]);
        if (part >= r->n_parts) return 0;
        wanted |= (uint64_t)1 << part;
    }
    return wanted;
}

static bool is_free(const pel_synth *s, const pel_group *group, pel_name name) {
    return !pel_param_named(group, name) && !pel_is_used(pel_uses_in(s, group->body, name));
}

/* Whether all that hold a record can hold its fields under their names instead. */
static bool can_name_fields(const wants *u, const returning *r) {
    if (count(r->kept) > FIELDS_MAX || u->assigns.n == 0) return false;
    for (uint32_t k = 0; k < u->reads.n; k++)
        if (owner_of(*u->reads.at[k].slot)->kind != PEL_Name) return false;
    for (uint32_t k = 0; k < u->assigns.n; k++) {
        for (uint32_t i = 0; i < r->n_parts; i++)
            if ((r->kept >> i & 1) && !is_free(r->s, u->assigns.at[k].in, r->record->fields.at[i])) return false;
        for (uint32_t i = 0; i < k; i++) /* two of them would want the same names */
            if (u->assigns.at[i].in == u->assigns.at[k].in) return false;
    }
    return true;
}

/* Fields of a record that no return gives: whoever reads them gets None. */
static void see_given_fields(void *arg, pel_node **slot) {
    returning *r = arg;
    if ((*slot)->kind == PEL_FunctionDef || (*slot)->kind == PEL_Lambda) return;
    for (uint32_t i = 0; (*slot)->kind == PEL_Return && i < r->n_parts; i++) {
        const pel_node *part = part_of(r, (*slot)->Return.value, i);
        if (part && !pel_is_none(part)) r->nones &= ~((uint64_t)1 << i);
    }
    if (pel_kinds[(*slot)->kind].class == PEL_STMT || (*slot)->kind == PEL_ExceptHandler)
        pel_each_child(*slot, see_given_fields, r);
}

static void find_nones(const pel_group *group, returning *r) {
    if (!r->record) return;
    r->nones = r->kept;
    for (uint32_t k = 0; k < group->body.n; k++) see_given_fields(r, &group->body.at[k]);
    r->kept &= ~r->nones;
}

bool pel_is_none_by_default(const pel_log *log, const pel_log_class *record, pel_name field) {
    for (uint32_t i = 0; i < record->n_constants; i++) {
        if (record->constants[i].name != field) continue;
        const pel_value *value = pel_value_at(log, record->constants[i].value);
        return value->kind == PEL_V_CONST && value->constant->kind == PEL_CONST_NONE;
    }
    return false;
}

/* Output(result=x, past=None)  ->  Output(result=x), where None is what the author's class gives it. */
static void leave_out_nones(void *arg, pel_node **slot) {
    pel_synth *s = arg;
    pel_node *call = *slot;
    const pel_log_class *record = record_made(s, call);
    uint32_t n = 0;
    for (uint32_t i = 0; record && i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i];
        bool is_said =
            !pel_is_none(keyword->keyword.value) || !pel_is_none_by_default(s->log, record, keyword->keyword.arg);
        if (is_said) call->Call.keywords.at[n++] = keyword;
    }
    if (record) call->Call.keywords.n = n;
    pel_each_child(call, leave_out_nones, s);
}

static bool cut_results(pel_synth *s, pel_group *group, const wants *u) {
    returning r = returned_by(s, group);
    r.kept = r.fine ? wanted_parts(u, &r) : 0;
    find_nones(group, &r);
    if (!r.kept) return false;
    bool is_one = count(r.kept) == 1;
    if (r.dict && !is_one) return false;
    if (r.record ? !is_one && !can_name_fields(u, &r) : !(is_one && r.n_parts == 1) && count(r.kept) == r.n_parts)
        return false;
    for (uint32_t k = 0; k < group->body.n; k++) see_lost_parts(&r, &group->body.at[k]);
    if (!r.fine) return false;
    cut_returns(group, &r);
    for (uint32_t k = 0; k < u->assigns.n; k++) cut_assign(&r, u->assigns.at[k].assign);
    for (uint32_t k = 0; k < u->reads.n; k++) cut_read(&r, &u->reads.at[k]);
    for (uint32_t k = 0; r.nones && k < u->reads.n; k++)
        for (uint32_t i = 0; i < u->reads.at[k].in->body.n; i++) leave_out_nones(s, &u->reads.at[k].in->body.at[i]);
    return true;
}

/* ---- parts that are the same thing twice ---- */

typedef struct doubles {
    uint32_t n;
    uint64_t differs[PARTS_MAX]; /* per part: others that are not always the same name */
    uint32_t returns;
    bool fine;
} doubles;

static void see_doubles(void *arg, pel_node **slot) {
    doubles *d = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return) {
        const pel_node *value = node->Return.value;
        if (!value || value->kind != PEL_Tuple || value->Tuple.elts.n != d->n) {
            d->fine = false;
            return;
        }
        d->returns++;
        for (uint32_t i = 0; i < d->n; i++)
            for (uint32_t k = 0; k < d->n; k++) {
                const pel_node *a = value->Tuple.elts.at[i], *b = value->Tuple.elts.at[k];
                if (a->kind != PEL_Name || b->kind != PEL_Name || a->Name.id != b->Name.id)
                    d->differs[i] |= (uint64_t)1 << k;
            }
        return;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler)
        pel_each_child(node, see_doubles, d);
}

/* f() returns (x, x): a, b = f() becomes a = b = f(). Only where nothing else is left: then it is one statement. */
static bool merge_doubles(pel_synth *s, pel_group *group, wants *u) {
    doubles d = { .n = u->n, .fine = u->n == 2 && !u->reads.n };
    for (uint32_t k = 0; d.fine && k < group->body.n; k++) see_doubles(&d, &group->body.at[k]);
    if (!d.fine || !d.returns || d.differs[0] & 2) return false;
    returning r = returned_by(s, group);
    r.kept = 1;
    cut_returns(group, &r);
    for (uint32_t k = 0; k < u->assigns.n; k++)
        u->assigns.at[k].assign->Assign.targets =
            pel_nodes_of(s->ctx, u->assigns.at[k].assign->Assign.targets.at[0]->Tuple.elts.at, 2);
    return true;
}

/* ---- results that nobody wants ---- */

typedef struct silencing {
    pel_synth *s;
    bool changed;
} silencing;

static void silence(void *arg, pel_node **slot) {
    silencing *q = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return && node->Return.value && pel_pure(q->s, node->Return.value)) {
        node->Return.value = NULL;
        q->changed = true;
    }
    if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler) pel_each_child(node, silence, q);
}

static bool return_nothing(pel_synth *s, pel_group *group) {
    silencing q = { s, false };
    for (uint32_t k = 0; k < group->body.n; k++) silence(&q, &group->body.at[k]);
    if (q.changed && group->body.n > 1) {
        const pel_node *last = group->body.at[group->body.n - 1];
        if (last->kind == PEL_Return && !last->Return.value) group->body.n--;
    }
    return q.changed;
}

/* Whether a read stands in a text whose returns were cut: its place may be gone, and it is seen again next time. */
static bool is_stale(const wants *u, const bool *cut) {
    for (uint32_t i = 0; i < u->reads.n; i++)
        if (cut[u->reads.at[i].in->number]) return true;
    return false;
}

/* ---- functions that return what another one returned ---- */

static bool is_ours(const pel_group *group) { /* no one but the text calls it, as a function */
    return !group->is.root && !group->is.pinned && !group->is.property && !group->is.generator && !group->is.nested &&
           !group->why;
}

typedef struct passing {
    const pel_synth *s;
    const pel_group *target;
    bool only; /* every return returns what target returned */
} passing;

static void see_passing(void *arg, pel_node **slot) {
    passing *p = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_FunctionDef || node->kind == PEL_Lambda) return;
    if (node->kind == PEL_Return) {
        const pel_link *link = node->Return.value ? pel_link_at(p->s, node->Return.value) : NULL;
        p->only &= link && link->target == p->target;
    } else if (pel_kinds[node->kind].class == PEL_STMT || node->kind == PEL_ExceptHandler) {
        pel_each_child(*slot, see_passing, p);
    }
}

/* How the results of a function are used in the end: what forwards them is asked, too. */
static void add_forwarded(const survey *v, const pel_group *target, wants *u, uint32_t depth) {
    for (uint32_t i = 0; i < u->forwarders.n && !u->blocked; i++) {
        const pel_group *forwarder = u->forwarders.at[i];
        passing p = { v->s, target, is_ours(forwarder) && !forwarder->facts.falls_off && depth < 8 };
        for (uint32_t k = 0; p.only && k < forwarder->body.n; k++) see_passing(&p, &forwarder->body.at[k]);
        wants further = v->uses[forwarder->number];
        if (p.only) add_forwarded(v, forwarder, &further, depth + 1);
        u->blocked |= !p.only || further.blocked || (u->n && further.n && u->n != further.n);
        u->thrown += further.thrown;
        u->used |= further.used;
        if (!u->n) u->n = further.n;
        for (uint32_t k = 0; k < further.assigns.n; k++) pel_push(v->s->ctx, &u->assigns, further.assigns.at[k]);
        for (uint32_t k = 0; k < further.reads.n; k++) pel_push(v->s->ctx, &u->reads, further.reads.at[k]);
    }
}

bool pel_pass_results(pel_synth *s) {
    const bool *reached = pel_find_reached(s).seen;
    survey v = { s, pel_new_array(s->ctx, s->groups.n + 1u, wants), NULL, pel_intern_c(s->ctx, "_") };
    for (uint32_t i = 0; i < s->groups.n; i++) {
        v.group = s->groups.at[i];
        for (uint32_t k = 0; reached[i] && k < v.group->body.n; k++) look(&v, &v.group->body.at[k]);
    }
    bool changed = false, *cut = pel_new_array(s->ctx, s->groups.n + 1u, bool);
    for (uint32_t i = 0; i < s->groups.n; i++) {
        pel_group *group = s->groups.at[i];
        if (!reached[i] || !is_ours(group)) continue;
        wants u = v.uses[i];
        add_forwarded(&v, group, &u, 0);
        bool is_asked = u.assigns.n || u.reads.n;
        if (u.blocked) continue;
        if (u.thrown && !is_asked && !u.forwarders.n) changed |= return_nothing(s, group);
        if (u.thrown || !is_asked || is_stale(&u, cut)) continue;
        cut[i] = merge_doubles(s, group, &u) || cut_results(s, group, &u);
        changed |= cut[i];
        for (uint32_t k = 0; cut[i] && k < u.forwarders.n; k++) cut[u.forwarders.at[k]->number] = true;
    }
    return changed;
}

/* Arguments of which a single item is ever read: layer(x, masks), where the layer reads masks["full"] and nothing else
 * of them, becomes layer(x, masks["full"]). One function at a time; who called it may be next. */

typedef struct item_use {
    pel_name name;
    const pel_node *key; /* of the reads seen so far */
    uint32_t by_key;
    bool blocked;  /* read by different keys, or as a whole, or bound again */
    bool rewrites; /* reads of the item become reads of the name */
} item_use;

static bool is_item(const pel_node *part) {
    return part->kind == PEL_Subscript && part->Subscript.slice->kind == PEL_Constant;
}

static void see_item(void *arg, const pel_name_use *use) {
    item_use *u = arg;
    if (use->name != u->name) return;
    if (!use->part || !is_item(*use->part)) {
        u->blocked = true;
        return;
    }
    const pel_node *key = (*use->part)->Subscript.slice;
    if (!u->key) u->key = key;
    u->blocked |= !pel_same(u->key, key);
    u->by_key++;
    if (u->rewrites) *use->part = *use->slot;
}

/* Whether a dict is passed there, by all that call. */
static bool is_dict(const pel_synth *s, const pel_group *group, const pel_param *param) {
    for (uint32_t i = 0; i < group->n_lanes; i++) {
        pel_id value = s->log->activations.at[group->lanes[i]].locals[param->local];
        if (!value || pel_value_at(s->log, value)->kind != PEL_V_DICT) return false;
    }
    for (uint32_t i = 0; i < s->calls.links.n; i++)
        if (s->calls.links.at[i]->target == group && !s->calls.links.at[i]->args[param - group->params]) return false;
    return group->n_lanes > 0;
}

/* The key of the one item that a function reads of a parameter, whatever happens in it; NULL if there is none. */
static const pel_node *only_key(const pel_synth *s, const pel_group *group, pel_name name) {
    item_use all = { .name = name }, certain = all;
    for (uint32_t i = 0; i < group->body.n; i++) {
        pel_each_use(s, &group->body.at[i], see_item, &all);
        uint8_t kind = group->body.at[i]->kind;
        if (kind == PEL_Assign || kind == PEL_Return || kind == PEL_Expr)
            pel_each_use(s, &group->body.at[i], see_item, &certain);
        if (kind == PEL_FunctionDef && all.by_key) return NULL;
    }
    return certain.by_key && !all.blocked ? all.key : NULL;
}

/* {"a": x, "b": y}["a"] is x, if making y does nothing. */
static pel_node *item_of(pel_synth *s, pel_node *dict, const pel_node *key) {
    pel_node *item = pel_make_subscript(s->ctx, dict, pel_copy(s->ctx, key), PEL_Load), *found = NULL;
    for (uint32_t i = 0; dict->kind == PEL_Dict && i < dict->Dict.keys.n; i++) {
        if (!dict->Dict.keys.at[i]) return item;
        if (pel_same(dict->Dict.keys.at[i], key))
            found = dict->Dict.values.at[i];
        else if (!pel_pure(s, dict->Dict.values.at[i]))
            return item;
    }
    return found ? found : item;
}

static void pass_item(pel_synth *s, const pel_group *group, uint32_t p, const pel_node *key) {
    item_use u = { .name = group->params[p].name, .rewrites = true };
    pel_each_use_in(s, group->body, see_item, &u);
    for (uint32_t i = 0; i < s->calls.links.n; i++) {
        pel_link *link = s->calls.links.at[i];
        if (link->target == group) link->args[p] = item_of(s, link->args[p], key);
    }
}

bool pel_pass_arguments(pel_synth *s) {
    const bool *reached = pel_find_reached(s).seen;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const pel_group *group = s->groups.at[i];
        if (!reached[i] || group->is.root || group->is.pinned || group->is.nested || group->is.generator ||
            group->why || group->rest || group->instead)
            continue;
        for (uint32_t p = group->class ? 1 : 0; p < group->n_params; p++) {
            const pel_param *param = &group->params[p];
            if (param->dead || param->kind != PEL_PARAM_PLAIN || !is_dict(s, group, param)) continue;
            const pel_node *key = only_key(s, group, param->name);
            if (!key) continue;
            pass_item(s, group, p, key);
            group->params[p].fallback = NULL; /* the author's default is no item */
            return true;
        }
    }
    return false;
}
