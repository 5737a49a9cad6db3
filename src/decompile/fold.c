/* Generated code packs values into lists, lists into lists, and takes them out again before it calls anything. Here the
 * packing is done beforehand: what nobody else can see of a list is not written.
 *
 * A list that a variable of our own holds is followed from where it is made: its elements are known as long as only
 * constant indexes, slices, extend and del touch it. Where it is used otherwise it is written with the elements that
 * it has by then, and must not be touched again. A list that can't be followed stays as it is, so the walk is made
 * until none is refused any more, and only then changes the statements. */
#include "decompile/flat.h"

#define MAX_WALKS 24
#define MANY 1000 /* stores of a variable that is not ours to move */
#define MAX_ELEMENTS 4096
#define MAX_DEPTH 2000
#define WORK_PER_INSTRUCTION 64 /* elements that are written or moved; no code that is meant to run needs a tenth */

/* What a variable of ours, or an element, stands for: a list that is followed, or an expression that gives the same
 * wherever it stands, or (both absent) something else. */
typedef struct thing {
    uint32_t list; /* 1 + index */
    pel_node *atom;
} thing;

typedef struct things {
    thing *at;
    uint32_t n;
} things;

typedef struct list {
    pel_name name;   /* the variable that it was made for */
    things elements; /* never changed in place: a state of all lists is copied by copying this */
    bool is_gone;    /* written, or unknown: no later use can have it */
} list;

typedef PEL_VEC(list) lists;

typedef struct fold {
    pel_lift *l;
    pel_own_names *names;
    pel_map stores, loads; /* PEL_KEY(name) -> how often */
    pel_map refused;       /* PEL_KEY(name): the list made for it stays */
    bool refuses;          /* another one was, in this walk */
    bool writes;
    lists lists;
    pel_map known; /* PEL_KEY(name) -> index in things */
    PEL_VEC(thing) things;
    pel_nodes *out;
    uint64_t work;
    int depth;
} fold;

/* ---- which variables there are ---- */

/* What is in it may run at any time. */
static bool has_own_scope(const pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef:
    case PEL_Lambda:
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp:
    case PEL_GeneratorExp: return true;
    default: return false;
    }
}

static void add(fold *f, pel_map *map, pel_name name, uint64_t n) {
    pel_map_set(f->l->ctx, map, PEL_KEY(name), pel_map_find(map, PEL_KEY(name), 0) + n);
}

/* The first walk over the whole tree: later walks need not count how deep they go. */
static void each_child(fold *f, pel_node *node, pel_visit *visit) {
    if (++f->depth > MAX_DEPTH) pel_throw(f->l->ctx, PEL_E_TOO_DEEP, 0, "the tree nests deeper than %d", MAX_DEPTH);
    pel_each_child(node, visit, f);
    f->depth--;
}

static void capture(void *arg, pel_node **slot) {
    fold *f = arg;
    if ((*slot)->kind == PEL_Name) add(f, &f->stores, (*slot)->Name.id, MANY);
    each_child(f, *slot, capture);
}

static void count_in(void *arg, pel_node **slot) {
    fold *f = arg;
    pel_node *node = *slot;
    switch (node->kind) {
    case PEL_Name: add(f, node->Name.ctx == PEL_Load ? &f->loads : &f->stores, node->Name.id, 1); return;
    case PEL_AugAssign:
        if (node->AugAssign.target->kind == PEL_Name) add(f, &f->stores, node->AugAssign.target->Name.id, MANY);
        break;
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef: add(f, &f->stores, node->FunctionDef.name, MANY); break;
    case PEL_ClassDef: add(f, &f->stores, node->ClassDef.name, MANY); break;
    default: break;
    }
    each_child(f, node, has_own_scope(node) ? capture : count_in);
}

static void count(fold *f, pel_nodes body) {
    f->stores = f->loads = (pel_map){ 0 };
    for (uint32_t i = 0; i < body.n; i++) count_in(f, &body.at[i]);
}

static uint64_t stores_of(const fold *f, pel_name name) { return pel_map_find(&f->stores, PEL_KEY(name), 0); }

static bool is_ours(const fold *f, const pel_node *node) {
    return node->kind == PEL_Name && pel_map_has(&f->names->ours, PEL_KEY(node->Name.id)) &&
           stores_of(f, node->Name.id) == 1;
}

static bool is_in(const fold *f, pel_name_list names, pel_name name) {
    for (uint32_t i = 0; i < names.n; i++)
        if (pel_unmangle(f->l, names.at[i]) == name) return true;
    return false;
}

static bool is_shared(const fold *f, pel_name name) {
    return is_in(f, f->l->code->cellvars, name) || is_in(f, f->l->code->freevars, name);
}

static bool is_local(const fold *f, pel_name name) {
    return is_in(f, f->l->code->varnames, name) && !is_shared(f, name);
}

/* Globals that begin like this, and do not end so, were made up for the code that uses them: nobody else sets them. */
static bool is_made_up(const fold *f, pel_name name) {
    pel_str text = pel_name_str(name);
    return pel_str_starts(text, PEL_STR("__")) && text.ptr[text.len - 1] != '_' && !is_shared(f, name);
}

static bool is_atom(const fold *f, const pel_node *node) {
    switch (node->kind) {
    case PEL_Constant: return node->Constant.value->kind != PEL_CONST_CODE;
    case PEL_UnaryOp: return node->UnaryOp.operand->kind == PEL_Constant;
    case PEL_Tuple:
        for (uint32_t i = 0; i < node->Tuple.elts.n; i++)
            if (!is_atom(f, node->Tuple.elts.at[i])) return false;
        return true;
    case PEL_Name:
        if (is_ours(f, node)) return true;
        return !stores_of(f, node->Name.id) && (is_local(f, node->Name.id) || is_made_up(f, node->Name.id));
    default: return false;
    }
}

/* ---- following lists ---- */

static thing unknown(void) { return (thing){ 0 }; }

static void refuse(fold *f, uint32_t number) {
    if (pel_map_set(f->l->ctx, &f->refused, PEL_KEY(f->lists.at[number - 1].name), 1)) f->refuses = true;
}

/* The list, to look into it or to change it; NULL if that can't be said. */
static list *touch(fold *f, thing it) {
    if (!it.list) return NULL;
    list *found = &f->lists.at[it.list - 1];
    if (!found->is_gone) return found;
    refuse(f, it.list);
    return NULL;
}

static bool small_number(const pel_node *node, int64_t *value) {
    bool is_minus = node->kind == PEL_UnaryOp && node->UnaryOp.op == PEL_USub;
    if (is_minus) node = node->UnaryOp.operand;
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT) return false;
    const pel_const *number = node->Constant.value;
    if (number->integer.digits.len || number->integer.small > MAX_ELEMENTS || number->integer.small < -MAX_ELEMENTS)
        return false;
    *value = is_minus ? -number->integer.small : number->integer.small;
    return true;
}

static bool index_in(const pel_node *node, uint32_t n, uint32_t *index) {
    int64_t value;
    if (!small_number(node, &value)) return false;
    if (value < 0) value += n;
    *index = (uint32_t)value;
    return value >= 0 && value < n;
}

static bool bound_in(const pel_node *node, uint32_t n, uint32_t otherwise, uint32_t *bound) {
    int64_t value = otherwise;
    if (node && !pel_is_none(node) && !small_number(node, &value)) return false;
    if (value < 0) value += n;
    *bound = value < 0 ? 0 : value > n ? n : (uint32_t)value;
    return true;
}

static bool range_in(const pel_node *slice, uint32_t n, uint32_t *from, uint32_t *to) {
    if (slice->kind != PEL_Slice || (slice->Slice.step && !pel_is_none(slice->Slice.step))) return false;
    if (!bound_in(slice->Slice.lower, n, 0, from) || !bound_in(slice->Slice.upper, n, n, to)) return false;
    if (*to < *from) *to = *from;
    return true;
}

/* What an expression stands for that reads a variable of ours, or an element. */
static thing read(fold *f, const pel_node *node) {
    uint64_t index;
    uint32_t element;
    if (node->kind == PEL_Name && node->Name.ctx == PEL_Load && pel_map_get(&f->known, PEL_KEY(node->Name.id), &index))
        return f->things.at[index];
    if (node->kind != PEL_Subscript || node->Subscript.ctx != PEL_Load || node->Subscript.slice->kind == PEL_Slice)
        return unknown();
    thing base = read(f, node->Subscript.value);
    const list *from = touch(f, base);
    if (!from) return unknown();
    if (index_in(node->Subscript.slice, from->elements.n, &element)) return from->elements.at[element];
    refuse(f, base.list);
    return unknown();
}

static void work(fold *f, uint32_t n) {
    f->work += n;
    if (f->work > (uint64_t)WORK_PER_INSTRUCTION * f->l->c->n + MAX_ELEMENTS)
        pel_lift_fail(f->l, 0, "too much is packed");
}

/* elements[from:to] = put */
static things replaced(fold *f, things elements, uint32_t from, uint32_t to, things put) {
    things made = { .n = elements.n - (to - from) + put.n };
    work(f, made.n);
    made.at = pel_new_array(f->l->ctx, (size_t)made.n + 1, thing);
    for (uint32_t i = 0; i < from; i++) made.at[i] = elements.at[i];
    for (uint32_t i = 0; i < put.n; i++) made.at[from + i] = put.at[i];
    for (uint32_t i = to; i < elements.n; i++) made.at[from + put.n + i - to] = elements.at[i];
    return made;
}

static pel_node *display(fold *f, thing it);

static pel_node *written(fold *f, thing it) {
    work(f, 1);
    if (it.list) return display(f, it);
    pel_node *copy = pel_copy(f->l->ctx, it.atom);
    copy->mark = 0;
    return copy;
}

/* The list as it is now, written down. From here on the program has it. */
static pel_node *display(fold *f, thing it) {
    pel_node *made = pel_node_new(f->l->ctx, PEL_List);
    list *of = touch(f, it);
    if (!of) return made; /* refused: this walk writes nothing */
    of->is_gone = true;
    things elements = of->elements;
    pel_lift_enter(f->l, 0);
    for (uint32_t i = 0; i < elements.n; i++) pel_nodes_push(f->l->ctx, &made->List.elts, written(f, elements.at[i]));
    pel_lift_leave(f->l);
    return made;
}

static void put(fold *f, pel_node **slot, pel_node *node) {
    if (f->writes) *slot = node;
}

static void resolve(void *arg, pel_node **slot);

/* f(*list) -> f(its, elements) */
static void resolve_arguments(fold *f, pel_node *call) {
    pel_nodes args = { 0 };
    for (uint32_t i = 0; i < call->Call.args.n; i++) {
        pel_node *arg = call->Call.args.at[i];
        thing it = arg->kind == PEL_Starred ? read(f, arg->Starred.value) : unknown();
        const list *of = touch(f, it);
        if (!of) {
            resolve(f, &arg);
            pel_nodes_push(f->l->ctx, &args, arg);
            continue;
        }
        things elements = of->elements;
        for (uint32_t k = 0; k < elements.n; k++) pel_nodes_push(f->l->ctx, &args, written(f, elements.at[k]));
    }
    if (f->writes) call->Call.args = args;
}

/* An expression that stays: what is in it for something else is written. */
static void resolve(void *arg, pel_node **slot) {
    fold *f = arg;
    pel_node *node = *slot;
    thing it = read(f, node);
    if (it.list || it.atom) {
        put(f, slot, written(f, it));
        return;
    }
    if (node->kind == PEL_Call) {
        resolve(f, &node->Call.func);
        resolve_arguments(f, node);
        for (uint32_t i = 0; i < node->Call.keywords.n; i++) resolve(f, &node->Call.keywords.at[i]->keyword.value);
    } else if (!has_own_scope(node)) {
        pel_each_child(node, resolve, f);
    }
}

/* ---- statements ---- */

static void emit(fold *f, pel_node *stmt) {
    if (f->writes) pel_nodes_push(f->l->ctx, f->out, stmt);
}

static void know(fold *f, pel_name name, thing it) {
    pel_map_set(f->l->ctx, &f->known, PEL_KEY(name), f->things.n);
    pel_push(f->l->ctx, &f->things, it);
}

/* An element of a list. What must be evaluated now is, into a variable of its own. */
static thing element(fold *f, pel_node **slot) {
    thing it = read(f, *slot);
    if (it.list || it.atom) return it;
    if (is_atom(f, *slot)) return (thing){ .atom = *slot };
    resolve(f, slot);
    if (!f->writes) return (thing){ .atom = *slot };
    pel_name name = pel_own_name(f->l->ctx, f->names, "value");
    pel_node *target = pel_make_name(f->l->ctx, name, PEL_Store);
    pel_node *stmt = pel_make_assign(f->l->ctx, target, *slot);
    stmt->mark = target->mark = (*slot)->mark;
    emit(f, stmt);
    add(f, &f->stores, name, 1);
    return (thing){ .atom = pel_make_name(f->l->ctx, name, PEL_Load) };
}

static bool has_star(pel_nodes elts) {
    for (uint32_t i = 0; i < elts.n; i++)
        if (elts.at[i]->kind == PEL_Starred) return true;
    return elts.n > MAX_ELEMENTS;
}

/* The elements of a list that is there, or is followed. */
static bool elements_of(fold *f, pel_node *node, things *out) {
    *out = (things){ 0 };
    bool is_list = node->kind == PEL_List;
    if (is_list || node->kind == PEL_Tuple) {
        pel_nodes elts = is_list ? node->List.elts : node->Tuple.elts;
        if (has_star(elts)) return false;
        out->n = elts.n;
        out->at = pel_new_array(f->l->ctx, (size_t)elts.n + 1, thing);
        for (uint32_t i = 0; i < elts.n; i++) out->at[i] = element(f, &elts.at[i]);
        return true;
    }
    const list *of = touch(f, read(f, node));
    if (of) *out = of->elements;
    return of && of->elements.n <= MAX_ELEMENTS;
}

/* variable = list[a:b], or a list that is there */
static bool makes_list(fold *f, pel_node *value, things *out) {
    if (value->kind == PEL_List) return elements_of(f, value, out);
    if (value->kind != PEL_Subscript || value->Subscript.slice->kind != PEL_Slice) return false;
    thing base = read(f, value->Subscript.value);
    const list *from = touch(f, base);
    uint32_t begin, end;
    if (!from) return false;
    if (!range_in(value->Subscript.slice, from->elements.n, &begin, &end)) {
        refuse(f, base.list);
        return false;
    }
    *out = (things){ from->elements.at + begin, end - begin };
    return true;
}

static bool assign_ours(fold *f, pel_node *stmt) {
    pel_name name = stmt->Assign.targets.at[0]->Name.id;
    things elements;
    if (!pel_map_has(&f->refused, PEL_KEY(name)) && makes_list(f, stmt->Assign.value, &elements)) {
        pel_push(f->l->ctx, &f->lists, ((list){ .name = name, .elements = elements }));
        know(f, name, (thing){ .list = f->lists.n });
        return true;
    }
    thing it = read(f, stmt->Assign.value);
    if (!it.list && !it.atom && is_atom(f, stmt->Assign.value)) it.atom = stmt->Assign.value;
    if (it.list || it.atom) know(f, name, it);
    return it.list || it.atom;
}

/* list[i] = x, list[a:b] = others */
static bool assign_element(fold *f, pel_node *target, pel_node **value) {
    thing base = read(f, target->Subscript.value);
    if (!touch(f, base)) return false;
    uint32_t n = f->lists.at[base.list - 1].elements.n, from, to;
    things values;
    bool fits = false;
    if (range_in(target->Subscript.slice, n, &from, &to)) {
        fits = elements_of(f, *value, &values);
    } else if (index_in(target->Subscript.slice, n, &from)) {
        values = (things){ pel_new(f->l->ctx, thing), 1 };
        values.at[0] = element(f, value);
        to = from + 1;
        fits = true;
    }
    list *of = fits ? touch(f, base) : NULL;
    if (of)
        of->elements = replaced(f, of->elements, from, to, values);
    else
        refuse(f, base.list);
    return of != NULL;
}

static bool delete_element(fold *f, const pel_node *target) {
    thing base = read(f, target->Subscript.value);
    list *of = touch(f, base);
    uint32_t from, to;
    if (!of) return false;
    bool fits = range_in(target->Subscript.slice, of->elements.n, &from, &to);
    if (!fits && index_in(target->Subscript.slice, of->elements.n, &from)) {
        to = from + 1;
        fits = true;
    }
    if (fits)
        of->elements = replaced(f, of->elements, from, to, (things){ 0 });
    else
        refuse(f, base.list);
    return fits;
}

/* list.extend(others), list.append(x) */
static bool grow(fold *f, const pel_node *call) {
    const pel_node *function = call->Call.func;
    if (function->kind != PEL_Attribute || call->Call.args.n != 1 || call->Call.keywords.n) return false;
    thing base = read(f, function->Attribute.value);
    if (!touch(f, base)) return false;
    things values;
    bool fits = false;
    if (pel_name_is(function->Attribute.attr, "extend")) {
        fits = elements_of(f, call->Call.args.at[0], &values);
    } else if (pel_name_is(function->Attribute.attr, "append")) {
        values = (things){ pel_new(f->l->ctx, thing), 1 };
        values.at[0] = element(f, &call->Call.args.at[0]);
        fits = true;
    }
    list *of = fits ? touch(f, base) : NULL;
    if (of)
        of->elements = replaced(f, of->elements, of->elements.n, of->elements.n, values);
    else
        refuse(f, base.list);
    return of != NULL;
}

/* Whether the statement only moves values between lists that are followed. */
static bool is_packing(fold *f, pel_node *stmt) {
    switch (stmt->kind) {
    case PEL_Assign:
        if (stmt->Assign.targets.n != 1) return false;
        if (is_ours(f, stmt->Assign.targets.at[0])) return assign_ours(f, stmt);
        return stmt->Assign.targets.at[0]->kind == PEL_Subscript &&
               assign_element(f, stmt->Assign.targets.at[0], &stmt->Assign.value);
    case PEL_Delete:
        return stmt->Delete.targets.n == 1 && stmt->Delete.targets.at[0]->kind == PEL_Subscript &&
               delete_element(f, stmt->Delete.targets.at[0]);
    case PEL_Expr: return stmt->Expr.value->kind == PEL_Call && grow(f, stmt->Expr.value);
    default: return false;
    }
}

/* ---- ways ---- */

static bool walk(fold *f, pel_nodes *body);

static lists state(fold *f) {
    lists copy = { 0 };
    for (uint32_t i = 0; i < f->lists.n; i++) pel_push(f->l->ctx, &copy, f->lists.at[i]);
    return copy;
}

static bool is_changed(const list *a, const list *b) {
    return a->elements.at != b->elements.at || a->elements.n != b->elements.n || a->is_gone != b->is_gone;
}

/* Another way from where the state was taken. Lists that were made since are not on it. */
static void go_back(fold *f, lists to) {
    for (uint32_t i = 0; i < f->lists.n; i++) {
        if (i < to.n)
            f->lists.at[i] = to.at[i];
        else
            f->lists.at[i].is_gone = true;
    }
}

static bool branch(fold *f, pel_node *stmt) {
    resolve(f, &stmt->If.test);
    lists before = state(f);
    bool falls = walk(f, &stmt->If.body);
    lists then = state(f);
    go_back(f, before);
    bool other = walk(f, &stmt->If.orelse);
    if (falls && !other) {
        for (uint32_t i = 0; i < then.n; i++) f->lists.at[i] = then.at[i];
    } else if (falls && other) {
        for (uint32_t i = 0; i < before.n; i++) {
            if (is_changed(&then.at[i], &f->lists.at[i]) && !then.at[i].is_gone && !f->lists.at[i].is_gone)
                refuse(f, i + 1);
            f->lists.at[i].is_gone |= then.at[i].is_gone;
        }
    }
    return falls || other;
}

/* A part that may run many times, or end anywhere. */
static void part(fold *f, pel_nodes *body, bool repeats) {
    lists before = state(f);
    walk(f, body);
    for (uint32_t i = 0; i < before.n; i++) {
        if (!is_changed(&before.at[i], &f->lists.at[i])) continue;
        if (repeats) refuse(f, i + 1);
        f->lists.at[i].is_gone = true;
    }
}

static bool compound(fold *f, pel_node *stmt) {
    switch (stmt->kind) {
    case PEL_If: return branch(f, stmt);
    case PEL_For:
        resolve(f, &stmt->For.iter);
        part(f, &stmt->For.body, true);
        part(f, &stmt->For.orelse, false);
        return true;
    case PEL_With:
    case PEL_AsyncWith:
        for (uint32_t i = 0; i < stmt->With.items.n; i++) resolve(f, &stmt->With.items.at[i]->withitem.context_expr);
        part(f, &stmt->With.body, false);
        return true;
    default:
        part(f, &stmt->Try.body, false);
        for (uint32_t i = 0; i < stmt->Try.handlers.n; i++)
            part(f, &stmt->Try.handlers.at[i]->ExceptHandler.body, false);
        return true;
    }
}

/* Returns whether control reaches its end. */
static bool walk(fold *f, pel_nodes *body) {
    pel_nodes made = { 0 }, *outer = f->out;
    f->out = &made;
    bool falls = true;
    pel_lift_enter(f->l, 0);
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *stmt = body->at[i];
        if (is_packing(f, stmt)) continue;
        switch (stmt->kind) {
        case PEL_If:
        case PEL_For:
        case PEL_With:
        case PEL_AsyncWith:
        case PEL_Try: falls = compound(f, stmt); break;
        default:
            if (!has_own_scope(stmt)) pel_each_child(stmt, resolve, f);
            falls = stmt->kind != PEL_Return && stmt->kind != PEL_Raise;
        }
        emit(f, stmt);
    }
    pel_lift_leave(f->l);
    f->out = outer;
    if (!f->writes) return falls;
    if (body->n && !made.n) pel_nodes_push(f->l->ctx, &made, pel_node_new(f->l->ctx, PEL_Pass));
    *body = made;
    return falls;
}

static bool walk_all(fold *f, pel_nodes *body, bool writes) {
    f->writes = writes;
    f->refuses = false;
    f->work = 0;
    f->lists = (lists){ 0 };
    f->known = (pel_map){ 0 };
    f->things.n = 0;
    walk(f, body);
    return !f->refuses;
}

/* ---- one variable less ---- */

static bool is_store_of(const pel_node *stmt, pel_name *name) {
    if (stmt->kind != PEL_Assign || stmt->Assign.targets.n != 1 || stmt->Assign.targets.at[0]->kind != PEL_Name)
        return false;
    *name = stmt->Assign.targets.at[0]->Name.id;
    return true;
}

static bool deletes_other(const pel_node *stmt, pel_name name) {
    if (stmt->kind != PEL_Delete) return false;
    for (uint32_t i = 0; i < stmt->Delete.targets.n; i++)
        if (stmt->Delete.targets.at[i]->kind != PEL_Name || stmt->Delete.targets.at[i]->Name.id == name) return false;
    return true;
}

/* ours = e; del others; x = ours  ->  x = e; del others */
static bool store_at_once(fold *f, pel_nodes *body, uint32_t at) {
    pel_name name, ours;
    if (!is_store_of(body->at[at], &name) || !is_local(f, name) || !is_ours(f, body->at[at]->Assign.value))
        return false;
    ours = body->at[at]->Assign.value->Name.id;
    if (pel_map_find(&f->loads, PEL_KEY(ours), 0) != 1) return false;
    uint32_t from = at;
    while (from > 0 && deletes_other(body->at[from - 1], name)) from--;
    pel_name stored;
    if (!from || !is_store_of(body->at[from - 1], &stored) || stored != ours) return false;
    body->at[from - 1]->Assign.targets = body->at[at]->Assign.targets;
    /* The store runs after the deletions: all of it is one step, so that the variable is there in the next line. */
    for (uint32_t i = from; i < at; i++) pel_forget_marks(body->at[i]);
    body->at[at]->Assign.targets.at[0]->mark = 0;
    return true;
}

static void shorten(fold *f, pel_nodes *body);

static void shorten_parts(fold *f, pel_node *stmt) {
    switch (stmt->kind) {
    case PEL_If:
        shorten(f, &stmt->If.body);
        shorten(f, &stmt->If.orelse);
        break;
    case PEL_For: shorten(f, &stmt->For.body); break;
    case PEL_With: shorten(f, &stmt->With.body); break;
    case PEL_Try: shorten(f, &stmt->Try.body); break;
    default: break;
    }
}

static void shorten(fold *f, pel_nodes *body) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *stmt = body->at[n] = body->at[i];
        pel_name name;
        shorten_parts(f, stmt);
        if (store_at_once(f, body, n)) continue;
        if (is_store_of(stmt, &name) && is_ours(f, stmt->Assign.targets.at[0]) &&
            !pel_map_has(&f->loads, PEL_KEY(name))) {
            body->at[n] = pel_make_expr(f->l->ctx, stmt->Assign.value);
            body->at[n]->mark = stmt->mark;
        }
        if (n && stmt->kind == PEL_Return && stmt->Return.value && is_ours(f, stmt->Return.value) &&
            is_store_of(body->at[n - 1], &name) && name == stmt->Return.value->Name.id &&
            pel_map_find(&f->loads, PEL_KEY(name), 0) == 1) {
            stmt->Return.value = body->at[n - 1]->Assign.value;
            body->at[n - 1] = stmt;
            continue;
        }
        n++;
    }
    body->n = n;
}

/* value_1, value_2... in the order in which they appear */
typedef struct renaming {
    fold *f;
    pel_map to;   /* PEL_KEY(name) -> its new name */
    pel_map done; /* PEL_KEY(node) */
} renaming;

static void rename_in(void *arg, pel_node **slot) {
    renaming *r = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Assign) rename_in(r, &node->Assign.value); /* it runs first */
    if (!pel_map_set(r->f->l->ctx, &r->done, PEL_KEY(node), 1)) return;
    pel_each_child(node, rename_in, r);
    if (node->kind != PEL_Name || !pel_map_has(&r->f->names->ours, PEL_KEY(node->Name.id))) return;
    if (!pel_str_starts(pel_name_str(node->Name.id), PEL_STR("value_"))) return;
    uint64_t known;
    if (!pel_map_get(&r->to, PEL_KEY(node->Name.id), &known)) {
        known = PEL_KEY(pel_own_name(r->f->l->ctx, r->f->names, "value"));
        pel_map_set(r->f->l->ctx, &r->to, PEL_KEY(node->Name.id), known);
    }
    node->Name.id = (pel_name)(uintptr_t)known;
}

static void rename_all(fold *f, pel_nodes *body) {
    renaming r = { .f = f };
    f->names->n = 0;
    for (uint32_t i = 0; i < body->n; i++) rename_in(&r, &body->at[i]);
}

void pel_fold_lists(pel_lift *l, pel_nodes *body, pel_own_names *names) {
    fold f = { .l = l, .names = names };
    count(&f, *body);
    for (int i = 0; i < MAX_WALKS; i++) {
        if (!walk_all(&f, body, false)) continue;
        walk_all(&f, body, true);
        break;
    }
    count(&f, *body);
    shorten(&f, body);
    rename_all(&f, body);
}
