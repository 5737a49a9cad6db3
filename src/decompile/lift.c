/* One instruction on a stack of expressions. */
#include "decompile/flat.h"

#define MAX_STEPS 4000000u
#define MAX_DEPTH 400

_Noreturn void pel_lift_fail(pel_lift *l, uint32_t at, const char *what) {
    uint32_t offset = at < l->c->n ? l->c->at[at].offset : 0;
    pel_throw(l->ctx, PEL_E_INCOMPLETE, offset, "%s (offset %u)", what, offset);
}

void pel_lift_enter(pel_lift *l, uint32_t at) {
    if (++l->depth > MAX_DEPTH)
        pel_throw(l->ctx, PEL_E_TOO_DEEP, at < l->c->n ? l->c->at[at].offset : 0, "statements nest too deep");
}

void pel_lift_tick(pel_lift *l, uint32_t at) {
    if (++l->steps > MAX_STEPS) pel_lift_fail(l, at, "too much had to be tried");
}

uint32_t pel_resolve(const pel_lift *l, uint32_t label) {
    for (int steps = 0; steps < 64 && label < l->c->n && l->c->at[label].op == PEL_I_JUMP; steps++)
        label = l->c->at[label].target;
    return label;
}

/* ---- the stack ---- */

stack pel_stack_copy(pel_lift *l, const stack *s, uint32_t n) {
    stack copy = { .n = n, .cap = n + 8, .low = n };
    copy.at = pel_alloc_raw(l->ctx, copy.cap * sizeof *copy.at);
    if (n) memcpy(copy.at, s->at, n * sizeof *copy.at);
    return copy;
}

void pel_stack_push(pel_lift *l, stack *s, item it) { pel_push(l->ctx, s, it); }

item pel_stack_pop(pel_lift *l, stack *s, uint32_t at) {
    if (s->n == 0) {
        if (!l->trial) pel_lift_fail(l, at, "the stack is empty");
        l->broken = true;
        return (item){ .kind = IT_SILENT, .at = at };
    }
    item it = s->at[--s->n];
    if (s->n < s->low) s->low = s->n;
    return it;
}

void pel_push_expr(pel_lift *l, stack *s, uint32_t at, pel_node *node) {
    pel_push(l->ctx, s, (item){ .kind = IT_EXPR, .at = at, .node = node });
}

pel_node *pel_make(pel_lift *l, pel_kind kind, uint32_t at) {
    pel_node *node = pel_node_new(l->ctx, kind);
    if (at < l->c->n) node->mark = l->c->at[at].offset + 1;
    return node;
}

static pel_node *wrong(pel_lift *l, uint32_t at, const char *what) {
    if (!l->trial) pel_lift_fail(l, at, what);
    l->broken = true;
    return pel_make_none(l->ctx);
}

/* An expression used in another one: what was stored on the way becomes `:=`. */
pel_node *pel_item_expr(pel_lift *l, item it, uint32_t at) {
    if (it.kind == IT_AUG) return it.node; /* an in-place operator whose result is not stored: only generated code */
    if (it.kind == IT_SLOT && it.pack->n == 1 && it.pack->star == PEL_NONE && !it.pack->filled) { /* x: *value */
        pel_node *star = pel_make(l, PEL_Starred, it.pack->at);
        star->Starred.value = pel_item_expr(l, it.pack->source, at);
        return star;
    }
    if (it.kind != IT_EXPR || !it.node) return wrong(l, at, "something is used that is no value");
    if (pel_kinds[it.node->kind].class == PEL_TYPE_PARAM) return it.node; /* stored under its own name */
    if (it.chain) return wrong(l, at, "a chained comparison is used before its end");
    pel_node *node = it.node;
    if (it.node->kind == PEL_FormattedValue) { /* a string of one part */
        node = pel_make(l, PEL_JoinedStr, it.at);
        node->JoinedStr.values = pel_nodes_one(l->ctx, it.node);
    }
    if (it.targets && !it.dup) {
        PEL_VEC(pel_node *) order = { 0 };
        for (pel_targets *t = it.targets; t; t = t->before) pel_push(l->ctx, &order, t->node);
        while (order.n) {
            pel_node *target = order.at[--order.n];
            if (target->kind != PEL_Name) return wrong(l, at, "a value is stored and used");
            pel_node *walrus = pel_make(l, PEL_NamedExpr, it.at);
            walrus->NamedExpr.target = target;
            walrus->NamedExpr.value = node;
            node = walrus;
        }
    }
    return node;
}

pel_node *pel_pop_expr(pel_lift *l, stack *s, uint32_t at) {
    item it = pel_stack_pop(l, s, at);
    return pel_item_expr(l, it, at);
}

static pel_nodes pop_exprs(pel_lift *l, stack *s, uint32_t n, uint32_t at) {
    pel_nodes nodes = { 0 };
    if (n > s->n) {
        wrong(l, at, "the stack is empty");
        return nodes;
    }
    nodes.n = n;
    nodes.at = pel_alloc_array(l->ctx, n ? n : 1, sizeof *nodes.at);
    for (uint32_t i = n; i-- > 0;) nodes.at[i] = pel_pop_expr(l, s, at);
    return nodes;
}

/* ---- names and constants ---- */

/* Names of the form __x are stored as _Class__x inside a class. */
pel_name pel_unmangle(pel_lift *l, pel_name name) {
    pel_name class_name = l->class_name;
    if (!class_name || name->len < 4 || name->text[0] != '_') return name;
    uint32_t skip = 0;
    while (skip < class_name->len && class_name->text[skip] == '_') skip++;
    uint32_t len = class_name->len - skip;
    if (len == 0 || name->len < 1 + len + 3) return name;
    if (memcmp(name->text + 1, class_name->text + skip, len) != 0) return name;
    const char *rest = name->text + 1 + len;
    uint32_t rest_len = name->len - 1 - len;
    if (rest[0] != '_' || rest[1] != '_') return name;
    if (rest[rest_len - 1] == '_' && rest[rest_len - 2] == '_') return name;
    return pel_intern(l->ctx, rest, rest_len);
}

static pel_node *number_node(pel_lift *l, const pel_const *value, uint32_t at) {
    pel_node *node = pel_make(l, PEL_Constant, at);
    node->Constant.value = value;
    return node;
}

static pel_node *minus(pel_lift *l, pel_node *operand, uint32_t at) {
    pel_node *node = pel_make(l, PEL_UnaryOp, at);
    node->UnaryOp.op = PEL_USub;
    node->UnaryOp.operand = operand;
    return node;
}

/* A constant as somebody would have written it: a literal has no sign, and only imaginary ones exist. */
pel_node *pel_const_node(pel_lift *l, const pel_const *value, uint32_t at) {
    switch (value->kind) {
    case PEL_CONST_INT:
        if (value->integer.digits.len) {
            if (value->integer.digits.ptr[0] != '-') break;
            pel_const *positive = pel_new(l->ctx, pel_const);
            *positive = *value;
            positive->integer.digits = pel_str_from(value->integer.digits, 1);
            return minus(l, number_node(l, positive, at), at);
        }
        if (value->integer.small < 0) {
            if (value->integer.small == INT64_MIN) {
                pel_const *positive = pel_new(l->ctx, pel_const);
                positive->kind = PEL_CONST_INT;
                positive->integer.digits = PEL_STR("9223372036854775808");
                return minus(l, number_node(l, positive, at), at);
            }
            return minus(l, number_node(l, pel_const_int(l->ctx, -value->integer.small), at), at);
        }
        break;
    case PEL_CONST_FLOAT:
        if (value->real != value->real) return wrong(l, at, "a constant that is not a number");
        if (__builtin_signbit(value->real))
            return minus(l, number_node(l, pel_const_float(l->ctx, -value->real), at), at);
        break;
    case PEL_CONST_COMPLEX: {
        bool real_minus = __builtin_signbit(value->real), imag_minus = __builtin_signbit(value->imag);
        if (value->real == 0 && !real_minus && !imag_minus) break;
        pel_const *imag = pel_new(l->ctx, pel_const);
        *imag = *value;
        imag->real = 0;
        if (imag_minus) imag->imag = -value->imag;
        pel_node *part = number_node(l, imag, at);
        if (value->real == 0 && real_minus && imag_minus) return minus(l, part, at);
        pel_node *sum = pel_make(l, PEL_BinOp, at);
        sum->BinOp.left = pel_const_node(l, pel_const_float(l->ctx, value->real), at);
        sum->BinOp.op = imag_minus ? PEL_Sub : PEL_Add;
        sum->BinOp.right = part;
        return sum;
    }
    case PEL_CONST_TUPLE:
    case PEL_CONST_FROZENSET: {
        pel_lift_enter(l, at);
        pel_nodes elts = { 0 };
        for (uint32_t i = 0; i < value->n; i++) pel_nodes_push(l->ctx, &elts, pel_const_node(l, value->items[i], at));
        pel_lift_leave(l);
        bool is_tuple = value->kind == PEL_CONST_TUPLE;
        pel_node *node = pel_make(l, is_tuple ? PEL_Tuple : PEL_Set, at);
        if (is_tuple)
            node->Tuple.elts = elts;
        else
            node->Set.elts = elts;
        return node;
    }
    case PEL_CONST_SLICE: {
        pel_node *slice = pel_make(l, PEL_Slice, at);
        pel_node **slots[3] = { &slice->Slice.lower, &slice->Slice.upper, &slice->Slice.step };
        for (uint32_t i = 0; i < value->n && i < 3; i++)
            if (value->items[i]->kind != PEL_CONST_NONE) *slots[i] = pel_const_node(l, value->items[i], at);
        return slice;
    }
    default: break;
    }
    return number_node(l, value, at);
}

static pel_node *name_node(pel_lift *l, pel_name name, pel_CTX use, uint32_t at) {
    pel_node *node = pel_make(l, PEL_Name, at);
    node->Name.id = pel_unmangle(l, name);
    node->Name.ctx = use;
    return node;
}

/* ---- statements ---- */

void pel_lift_emit(pel_lift *l, pel_node *stmt) {
    region *r = l->region;
    if (!stmt->mark && r->start < l->c->n) stmt->mark = l->c->at[r->start].offset + 1;
    pel_nodes_push(l->ctx, &r->out, stmt);
}

static void emit_assign(pel_lift *l, pel_targets *targets, pel_node *last, pel_node *value) {
    pel_nodes all = { 0 };
    PEL_VEC(pel_node *) order = { 0 };
    for (pel_targets *t = targets; t; t = t->before) pel_push(l->ctx, &order, t->node);
    while (order.n) pel_nodes_push(l->ctx, &all, order.at[--order.n]);
    pel_nodes_push(l->ctx, &all, last);
    pel_node *assign = pel_node_new(l->ctx, PEL_Assign);
    assign->Assign.targets = all;
    assign->Assign.value = value;
    pel_lift_emit(l, assign);
}

static pel_node *alias_of(pel_lift *l, pel_name name, pel_name as) {
    pel_node *alias = pel_node_new(l->ctx, PEL_alias);
    alias->alias.name = name;
    alias->alias.asname = as;
    return alias;
}

/* import a.b.c stores `a`; import a.b.c as x stores x. */
static void store_import(pel_lift *l, pack *p, pel_name target, uint32_t at) {
    (void)at;
    pel_name module = p->module;
    pel_str text = pel_name_str(module);
    size_t dot = 0;
    while (dot < text.len && text.ptr[dot] != '.') dot++;
    bool is_first = pel_str_eq(pel_str_cut(text, 0, dot), pel_name_str(target));
    pel_node *stmt = pel_node_new(l->ctx, PEL_Import);
    bool as = p->attribute != NULL || !is_first;
    stmt->Import.names = pel_nodes_one(l->ctx, alias_of(l, module, as ? target : NULL));
    stmt->Import.is_lazy = p->is_lazy;
    pel_lift_emit(l, stmt);
}

static bool is_def(const pel_node *node) {
    return node->kind == PEL_FunctionDef || node->kind == PEL_AsyncFunctionDef || node->kind == PEL_ClassDef ||
           node->kind == PEL_TypeAlias;
}

static pel_name def_name(const pel_node *def) {
    return def->kind == PEL_ClassDef    ? def->ClassDef.name
           : def->kind == PEL_TypeAlias ? def->TypeAlias.name->Name.id
                                        : def->FunctionDef.name;
}

static bool has_pending(const pel_lift *l, const stack *s) {
    const region *r = l->region;
    uint32_t from = r->base;
    for (uint32_t i = from; i < s->n; i++)
        if (s->at[i].kind == IT_EXPR || s->at[i].kind == IT_AUG) return true;
    return false;
}

/* a, b = x, y: the values were all pushed before the first is stored. */
static void store_pending(pel_lift *l, stack *s, item it, pel_node *target, uint32_t at) {
    region *r = l->region;
    pel_node *value = pel_item_expr(l, it, at);
    uint32_t n = r->pending_targets.n;
    uint32_t *grown = pel_new_array(l->ctx, (size_t)n + 1, uint32_t);
    if (n) memcpy(grown, r->pending_at, n * sizeof *grown);
    grown[n] = it.at;
    r->pending_at = grown;
    pel_nodes_push(l->ctx, &r->pending_targets, target);
    pel_nodes_push(l->ctx, &r->pending_values, value);
    if (has_pending(l, s)) return;
    n++;
    /* the order of evaluation */
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && r->pending_at[k - 1] > r->pending_at[k]; k--) {
            uint32_t t = r->pending_at[k];
            r->pending_at[k] = r->pending_at[k - 1], r->pending_at[k - 1] = t;
            pel_node *x = r->pending_targets.at[k];
            r->pending_targets.at[k] = r->pending_targets.at[k - 1], r->pending_targets.at[k - 1] = x;
            x = r->pending_values.at[k];
            r->pending_values.at[k] = r->pending_values.at[k - 1], r->pending_values.at[k - 1] = x;
        }
    pel_node *left = pel_make(l, PEL_Tuple, at), *right = pel_make(l, PEL_Tuple, at);
    left->Tuple.elts = r->pending_targets;
    left->Tuple.ctx = PEL_Store;
    right->Tuple.elts = r->pending_values;
    r->pending_targets = r->pending_values = (pel_nodes){ 0 };
    emit_assign(l, NULL, left, right);
}

static pel_targets *add_target(pel_lift *l, pel_targets *before, pel_node *node) {
    pel_targets *t = pel_new(l->ctx, pel_targets);
    t->node = node;
    t->before = before;
    return t;
}

static pel_node *aug_target_of(pel_node *aug) { return aug->BinOp.left; }

void pel_lift_store(pel_lift *l, stack *s, item it, pel_node *target, uint32_t at) {
    switch (it.kind) {
    case IT_EXPR:
        if (it.dup) { /* the other copy goes on */
            if (s->n == 0 || s->at[s->n - 1].node != it.node) {
                wrong(l, at, "copies of a value are mixed up");
                return;
            }
            item *other = &s->at[s->n - 1];
            other->targets = add_target(l, other->targets, target);
            return;
        }
        if (l->trial) {
            l->broken = true;
            return;
        }
        if (pel_store_hidden(l, &it, target, at)) return;
        if (is_def(it.node)) {
            if (target->kind != PEL_Name || it.targets) {
                wrong(l, at, "a definition is stored in a way that no statement does");
                return;
            }
            if (def_name(it.node) != target->Name.id) pel_lift_fail(l, at, "a definition is stored under another name");
            it.node->mark = 0;
            pel_lift_emit(l, it.node);
            return;
        }
        if (l->region->pending_targets.n || has_pending(l, s)) {
            if (it.targets) pel_lift_fail(l, at, "stores are mixed up");
            store_pending(l, s, it, target, at);
            return;
        }
        {
            pel_targets *targets = it.targets;
            it.targets = NULL;
            emit_assign(l, targets, target, pel_item_expr(l, it, at));
        }
        return;
    case IT_SLOT:
        if (l->trial) {
            l->broken = true;
            return;
        }
        if (it.pack->elts[it.slot]) pel_lift_fail(l, at, "a part is stored twice");
        if (it.slot == it.pack->star) {
            pel_node *star = pel_make(l, PEL_Starred, at);
            star->Starred.value = target;
            star->Starred.ctx = PEL_Store;
            target = star;
        }
        it.pack->elts[it.slot] = target;
        if (++it.pack->filled == it.pack->n) {
            pel_node *tuple = pel_make(l, PEL_Tuple, it.pack->at);
            tuple->Tuple.elts = pel_nodes_of(l->ctx, it.pack->elts, it.pack->n);
            tuple->Tuple.ctx = PEL_Store;
            pel_lift_store(l, s, it.pack->source, tuple, at);
        }
        return;
    case IT_ITEM:
    case IT_ENTER:
    case IT_EXC:
        if (l->trial) {
            l->broken = true;
            return;
        }
        if (!it.targets) pel_lift_fail(l, at, "an exception is stored outside of its handler's beginning");
        *(pel_node **)(void *)it.targets = target;
        return;
    case IT_IMPORT:
        if (l->trial || target->kind != PEL_Name) {
            wrong(l, at, "an import is stored in a way that no statement does");
            return;
        }
        if (it.slot) { /* from m import name as target */
            if (!it.pack->attribute) pel_lift_fail(l, at, "an import without a name");
            pel_name name = it.pack->attribute;
            pel_nodes_push(l->ctx, &it.pack->aliases,
                           alias_of(l, name, name == target->Name.id ? NULL : target->Name.id));
            return;
        }
        store_import(l, it.pack, target->Name.id, at);
        return;
    case IT_AUG: {
        if (l->trial) {
            l->broken = true;
            return;
        }
        pel_node *left = aug_target_of(it.node);
        bool same = left->kind == target->kind;
        if (same && target->kind == PEL_Name)
            same = left->Name.id == target->Name.id;
        else if (same && target->kind == PEL_Attribute)
            same = left->Attribute.value == target->Attribute.value && left->Attribute.attr == target->Attribute.attr;
        else if (same && target->kind == PEL_Subscript)
            same = left->Subscript.value == target->Subscript.value && left->Subscript.slice == target->Subscript.slice;
        else
            same = false;
        if (!same) pel_lift_fail(l, at, "an in-place operator stores elsewhere");
        pel_node *aug = pel_node_new(l->ctx, PEL_AugAssign);
        aug->AugAssign.target = target;
        aug->AugAssign.op = it.node->BinOp.op;
        aug->AugAssign.value = it.node->BinOp.right;
        pel_lift_emit(l, aug);
        return;
    }
    case IT_SILENT:
        if (target->kind == PEL_Name &&
            (pel_name_is(target->Name.id, "__classcell__") || pel_name_is(target->Name.id, "__classdict__") ||
             pel_name_is(target->Name.id, "__classdictcell__"))) {
            l->unseen[at] = true;
            return;
        }
        wrong(l, at, "something is stored that is no value");
        return;
    case IT_NOTES: {
        bool ours = target->kind == PEL_Name && !l->trial && !l->notes &&
                    (pel_name_is(target->Name.id, "__annotate__") || pel_name_is(target->Name.id, "__annotate_func__"));
        if (!ours) {
            wrong(l, at, "annotations are stored in a way that no statement does");
            return;
        }
        l->unseen[at] = true;
        l->notes = pel_new(l->ctx, pel_late_notes);
        for (uint32_t i = 0; i < it.notes->n; i++) pel_push(l->ctx, l->notes, it.notes->at[i]);
        return;
    }
    case IT_SAVED: l->unseen[at] = true; return; /* a comprehension gives back the variable */
    default: wrong(l, at, "something is stored that is no value");
    }
}

/* ---- displays ---- */

static pel_node *display(pel_lift *l, pel_display what, pel_nodes elts, uint32_t at) {
    pel_node *node;
    switch (what) {
    case PEL_D_TUPLE:
        node = pel_make(l, PEL_Tuple, at);
        node->Tuple.elts = elts;
        return node;
    case PEL_D_LIST:
        node = pel_make(l, PEL_List, at);
        node->List.elts = elts;
        return node;
    default:
        node = pel_make(l, PEL_Set, at);
        node->Set.elts = elts;
        return node;
    }
}

static pel_node *starred(pel_lift *l, pel_node *value, uint32_t at) {
    pel_node *star = pel_make(l, PEL_Starred, at);
    star->Starred.value = value;
    return star;
}

/* The elements of a display that one of its parts gives: [*(a, b)] is [a, b] to the compiler. */
static void add_part(pel_lift *l, pel_nodes *elts, pel_node *part, bool is_display, uint32_t at) {
    if (is_display && part->kind == PEL_Tuple) {
        for (uint32_t i = 0; i < part->Tuple.elts.n; i++) pel_nodes_push(l->ctx, elts, part->Tuple.elts.at[i]);
        return;
    }
    pel_nodes_push(l->ctx, elts, starred(l, part, at));
}

static pel_nodes nodes_copy(pel_lift *l, pel_nodes list) {
    pel_nodes copy = { 0 };
    for (uint32_t i = 0; i < list.n; i++) pel_nodes_push(l->ctx, &copy, list.at[i]);
    return copy;
}

static void find_escape(void *arg, pel_node **slot) {
    bool *found = arg;
    const pel_node *node = *slot;
    if (node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR) {
        pel_str text = node->Constant.value->text;
        *found = *found || memchr(text.ptr, '\n', text.len) || memchr(text.ptr, '\\', text.len);
    }
    if (!*found) pel_each_child(*slot, find_escape, arg);
}

/* A string of parts. Where a part can't be in an f-string of every Python, it was written with %. */
static pel_node *string_of(pel_lift *l, pel_nodes values, uint32_t at) {
    bool escapes = false, converts = true;
    for (uint32_t i = 0; i < values.n; i++) {
        if (values.at[i]->kind != PEL_FormattedValue) continue;
        find_escape(&escapes, &values.at[i]->FormattedValue.value);
        converts = converts && values.at[i]->FormattedValue.conversion > 0 && !values.at[i]->FormattedValue.format_spec;
    }
    pel_node *node = pel_make(l, PEL_JoinedStr, at);
    node->JoinedStr.values = values;
    if (!escapes || !converts) return node;
    pel_buf text = pel_buf_in(l->ctx);
    pel_nodes parts = { 0 };
    for (uint32_t i = 0; i < values.n; i++) {
        pel_node *part = values.at[i];
        if (part->kind == PEL_FormattedValue) {
            pel_putf(&text, "%%%c", (char)part->FormattedValue.conversion);
            pel_nodes_push(l->ctx, &parts, part->FormattedValue.value);
            continue;
        }
        pel_str plain = part->Constant.value->text;
        for (size_t k = 0; k < plain.len; k++) {
            pel_put_byte(&text, plain.ptr[k]);
            if (plain.ptr[k] == '%') pel_put_byte(&text, '%');
        }
    }
    pel_node *made = pel_make(l, PEL_BinOp, at);
    made->BinOp.op = PEL_Mod;
    made->BinOp.left = pel_make_text(l->ctx, pel_buf_str(&text));
    made->BinOp.right = pel_make(l, PEL_Tuple, at);
    made->BinOp.right->Tuple.elts = parts;
    return made;
}

static void build(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    uint32_t n = ins->arg;
    switch ((pel_display)ins->sub) {
    case PEL_D_TUPLE:
    case PEL_D_LIST:
    case PEL_D_SET:
        if (ins->sub == PEL_D_TUPLE && n > 0 && s->n >= n &&
            s->at[s->n - 1].kind == IT_SILENT) { /* cells of a closure */
            for (uint32_t i = 0; i < n; i++) pel_stack_pop(l, s, at);
            pel_push(l->ctx, s, (item){ .kind = IT_SILENT, .at = at });
            return;
        }
        pel_push_expr(l, s, at, display(l, ins->sub, pop_exprs(l, s, n, at), at));
        return;
    case PEL_D_STRING: {
        pel_nodes values = { 0 };
        if (n > s->n) {
            wrong(l, at, "the stack is empty");
            return;
        }
        values.n = n;
        values.at = pel_alloc_array(l->ctx, n ? n : 1, sizeof *values.at);
        for (uint32_t i = n; i-- > 0;) {
            item it = pel_stack_pop(l, s, at);
            values.at[i] = it.kind == IT_EXPR && it.node->kind == PEL_FormattedValue && !it.targets
                               ? it.node
                               : pel_item_expr(l, it, at);
            if (values.at[i]->kind != PEL_FormattedValue && values.at[i]->kind != PEL_Constant) {
                wrong(l, at, "a part of a string that is no string");
                return;
            }
        }
        pel_push_expr(l, s, at, string_of(l, values, at));
        return;
    }
    case PEL_D_DICT: {
        pel_node *dict = pel_make(l, PEL_Dict, at);
        pel_nodes both = pop_exprs(l, s, 2 * n, at);
        for (uint32_t i = 0; i + 1 < both.n; i += 2) {
            pel_nodes_push(l->ctx, &dict->Dict.keys, both.at[i]);
            pel_nodes_push(l->ctx, &dict->Dict.values, both.at[i + 1]);
        }
        pel_push_expr(l, s, at, dict);
        return;
    }
    default: {
        pel_node *slice = pel_make(l, PEL_Slice, at);
        pel_nodes parts = pop_exprs(l, s, n, at);
        pel_node **slots[3] = { &slice->Slice.lower, &slice->Slice.upper, &slice->Slice.step };
        for (uint32_t i = 0; i < parts.n && i < 3; i++) {
            bool none = parts.at[i]->kind == PEL_Constant && parts.at[i]->Constant.value->kind == PEL_CONST_NONE;
            if (!none)
                *slots[i] = parts.at[i];
            else if (i == 2)
                *slots[i] = parts.at[i];
        }
        pel_push_expr(l, s, at, slice);
        return;
    }
    }
}

/* Whether all keys of a dict could be written as names of keywords. */
static bool names_keywords(const pel_node *dict) {
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        const pel_node *key = dict->Dict.keys.at[i];
        bool is_string = key && key->kind == PEL_Constant && key->Constant.value->kind == PEL_CONST_STR;
        if (key && !(is_string && pel_is_identifier(key->Constant.value->text))) return false;
    }
    return true;
}

static void build_unpack(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_nodes parts = pop_exprs(l, s, ins->arg, at);
    if (ins->sub == PEL_D_DICT) {
        pel_node *dict = pel_make(l, PEL_Dict, at);
        bool is_call = ins->op == PEL_I_BUILD_CALL_UNPACK, was_dict = false;
        for (uint32_t i = 0; i < parts.n; i++) {
            pel_node *part = parts.at[i];
            bool is_dict = part->kind == PEL_Dict && part->mark && !part->parens;
            /* keywords of a call that follow each other are one dict: another one was written as such */
            if (is_call && is_dict) is_dict = !was_dict && names_keywords(part);
            was_dict = is_dict;
            if (is_dict) {
                for (uint32_t k = 0; k < part->Dict.keys.n; k++) {
                    pel_nodes_push(l->ctx, &dict->Dict.keys, part->Dict.keys.at[k]);
                    pel_nodes_push(l->ctx, &dict->Dict.values, part->Dict.values.at[k]);
                }
            } else {
                pel_nodes_push(l->ctx, &dict->Dict.keys, NULL);
                pel_nodes_push(l->ctx, &dict->Dict.values, part);
            }
        }
        pel_push_expr(l, s, at, dict);
        return;
    }
    pel_nodes elts = { 0 };
    bool was_display = false; /* arguments that follow each other are one tuple: another one was written as such */
    for (uint32_t i = 0; i < parts.n; i++) {
        was_display = !(was_display && ins->op == PEL_I_BUILD_CALL_UNPACK) && parts.at[i]->kind == PEL_Tuple;
        add_part(l, &elts, parts.at[i], was_display, at);
    }
    pel_push_expr(l, s, at, display(l, ins->sub, elts, at));
}

#define LEAST_FOLDED 3 /* elements of a set display that compilers keep as a constant */

/* The accumulator arg below the top gets another part. */
static bool extend(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    bool is_const = s->n && s->at[s->n - 1].kind == IT_EXPR && l->c->at[s->at[s->n - 1].at].op == PEL_I_CONST;
    pel_node *part = pel_pop_expr(l, s, at);
    if (ins->arg == 0 || ins->arg > s->n) {
        wrong(l, at, "the stack is empty");
        return true;
    }
    item *into = &s->at[s->n - ins->arg];
    if (s->n - ins->arg < s->low) s->low = s->n - ins->arg;
    if (into->kind != IT_EXPR || into->dup || into->targets) {
        wrong(l, at, "no display to extend");
        return true;
    }
    pel_node *old = into->node, *made = NULL;
    if (ins->sub == PEL_D_LIST || ins->sub == PEL_D_SET) {
        if (old->kind != PEL_List && old->kind != PEL_Set) {
            wrong(l, at, "no display to extend");
            return true;
        }
        pel_nodes elts = nodes_copy(l, old->kind == PEL_List ? old->List.elts : old->Set.elts);
        if (is_const && (part->kind == PEL_Tuple || part->kind == PEL_Set) && !elts.n) {
            pel_nodes from = part->kind == PEL_Tuple ? part->Tuple.elts : part->Set.elts;
            for (uint32_t i = 0; i < from.n; i++) pel_nodes_push(l->ctx, &elts, from.at[i]);
            /* of fewer the compiler makes no constant: the set had one of them more than once */
            while (elts.n && elts.n < LEAST_FOLDED) pel_nodes_push(l->ctx, &elts, from.at[from.n - 1]);
        } else
            pel_nodes_push(l->ctx, &elts, starred(l, part, at));
        made = display(l, old->kind == PEL_List ? PEL_D_LIST : PEL_D_SET, elts, into->at);
    } else {
        if (old->kind != PEL_Dict) {
            wrong(l, at, "no dict to extend");
            return true;
        }
        made = pel_make(l, PEL_Dict, into->at);
        made->Dict.keys = nodes_copy(l, old->Dict.keys);
        made->Dict.values = nodes_copy(l, old->Dict.values);
        /* {a: b, c: d, **e} comes in pieces */
        bool piece = part->kind == PEL_Dict && ins->sub == PEL_D_DICT && s->n > 0 && part->parens == 0;
        if (piece) {
            for (uint32_t i = 0; i < part->Dict.keys.n; i++) {
                pel_nodes_push(l->ctx, &made->Dict.keys, part->Dict.keys.at[i]);
                pel_nodes_push(l->ctx, &made->Dict.values, part->Dict.values.at[i]);
            }
        } else {
            pel_nodes_push(l->ctx, &made->Dict.keys, NULL);
            pel_nodes_push(l->ctx, &made->Dict.values, part);
        }
    }
    into->node = made;
    return true;
}

/* ---- calls ---- */

static bool is_open_comp(const pel_node *node) {
    pel_nodes generators;
    switch (node->kind) {
    case PEL_ListComp: generators = node->ListComp.generators; break;
    case PEL_SetComp: generators = node->SetComp.generators; break;
    case PEL_DictComp: generators = node->DictComp.generators; break;
    case PEL_GeneratorExp: generators = node->GeneratorExp.generators; break;
    default: return false;
    }
    return generators.n && generators.at[0]->comprehension.iter == NULL;
}

static void close_comp(pel_node *node, pel_node *iter) {
    pel_nodes generators = node->kind == PEL_ListComp   ? node->ListComp.generators
                           : node->kind == PEL_SetComp  ? node->SetComp.generators
                           : node->kind == PEL_DictComp ? node->DictComp.generators
                                                        : node->GeneratorExp.generators;
    generators.at[0]->comprehension.iter = iter;
}

/* class Name(bases, keywords): the call of __build_class__ with the function that is the body. */
static pel_node *class_of(pel_lift *l, pel_nodes args, pel_nodes keywords, uint32_t at) {
    if (args.n < 2 || args.at[0]->kind != PEL_ClassDef || args.at[1]->kind != PEL_Constant)
        return wrong(l, at, "a class is built in a way that no statement does");
    pel_node *def = args.at[0];
    for (uint32_t i = 2; i < args.n; i++) pel_nodes_push(l->ctx, &def->ClassDef.bases, args.at[i]);
    def->ClassDef.keywords = keywords;
    pel_finish_generic_class(l, def);
    return def;
}

static void add_defaults(pel_lift *l, pel_node *args, pel_node *tuple, uint32_t at);
static void add_kw_defaults(pel_lift *l, pel_node *args, pel_node *dict, uint32_t at);
static pel_node *arguments_of(pel_node *def);

/* The function that makes something with type parameters is called, with the defaults if there are any. */
static pel_node *made_generic(pel_lift *l, pel_node *def, pel_nodes args, uint32_t at) {
    pel_node *arguments = arguments_of(def);
    for (uint32_t i = 0; i < args.n; i++) {
        if (!arguments) return wrong(l, at, "type parameters of a shape that no compiler makes");
        if (args.at[i]->kind == PEL_Tuple)
            add_defaults(l, arguments, args.at[i], at);
        else
            add_kw_defaults(l, arguments, args.at[i], at);
    }
    def->parens = 0;
    return def;
}

static pel_node *call_of(pel_lift *l, pel_node *func, pel_nodes args, pel_nodes keywords, uint32_t at) {
    if (func->kind == PEL_Comment) return class_of(l, args, keywords, at); /* what BUILD_CLASS pushed */
    if (is_def(func) && func->parens == 0x10 && !keywords.n) return made_generic(l, func, args, at);
    if (is_open_comp(func) && args.n == 1 && !keywords.n) {
        close_comp(func, args.at[0]);
        return func;
    }
    if (args.n == 1 && !keywords.n && is_def(args.at[0]) && args.at[0]->kind != PEL_TypeAlias) { /* a decorator */
        pel_node *def = args.at[0];
        pel_nodes *list = def->kind == PEL_ClassDef ? &def->ClassDef.decorator_list : &def->FunctionDef.decorator_list;
        pel_nodes all = { 0 };
        pel_nodes_push(l->ctx, &all, func);
        for (uint32_t i = 0; i < list->n; i++) pel_nodes_push(l->ctx, &all, list->at[i]);
        *list = all;
        return def;
    }
    pel_node *call = pel_make(l, PEL_Call, at);
    call->Call.func = func;
    call->Call.args = args;
    call->Call.keywords = keywords;
    return call;
}

/* The slots below the arguments: function and NULL in either order, or function and first argument. */
static pel_node *pop_callable(pel_lift *l, stack *s, int slots, pel_nodes *args, uint32_t at) {
    if (slots == 1) return pel_pop_expr(l, s, at);
    item second = pel_stack_pop(l, s, at), first = pel_stack_pop(l, s, at);
    if (second.kind == IT_NULL) return pel_item_expr(l, first, at);
    if (first.kind == IT_NULL) return pel_item_expr(l, second, at);
    pel_nodes all = { 0 };
    pel_nodes_push(l->ctx, &all, pel_item_expr(l, second, at));
    for (uint32_t i = 0; i < args->n; i++) pel_nodes_push(l->ctx, &all, args->at[i]);
    *args = all;
    return pel_item_expr(l, first, at);
}

static void call(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_nodes all = pop_exprs(l, s, ins->arg, at), keywords = { 0 }, args = all;
    if (ins->value) {
        uint32_t n = ins->value->n;
        if (n > all.n) {
            wrong(l, at, "more keyword names than arguments");
            return;
        }
        args.n = all.n - n;
        for (uint32_t i = 0; i < n; i++) {
            const pel_const *name = ins->value->items[i];
            if (name->kind != PEL_CONST_STR) {
                wrong(l, at, "a keyword name that is no string");
                return;
            }
            pel_name id = pel_intern_str(l->ctx, name->text);
            pel_nodes_push(l->ctx, &keywords, pel_make_keyword(l->ctx, pel_unmangle(l, id), all.at[args.n + i]));
        }
    }
    pel_node *func = pop_callable(l, s, ins->sub, &args, at);
    pel_push_expr(l, s, at, call_of(l, func, args, keywords, at));
}

/* The arguments that a call takes from a dict. */
static pel_nodes keywords_of(pel_lift *l, pel_node *dict) {
    pel_nodes keywords = { 0 };
    if (dict->kind != PEL_Dict || !names_keywords(dict)) {
        pel_nodes_push(l->ctx, &keywords, pel_make_keyword(l->ctx, NULL, dict));
        return keywords;
    }
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        pel_node *key = dict->Dict.keys.at[i];
        pel_name name = NULL;
        if (key) {
            pel_str text = key->Constant.value->text;
            name = pel_unmangle(l, pel_intern_str(l->ctx, text));
        }
        pel_nodes_push(l->ctx, &keywords, pel_make_keyword(l->ctx, name, dict->Dict.values.at[i]));
    }
    return keywords;
}

static bool made_by(const pel_lift *l, const stack *s, pel_iop op) {
    return s->n && s->at[s->n - 1].kind == IT_EXPR && l->c->at[s->at[s->n - 1].at].op == op;
}

/* f(*args, **keywords) */
/* Whether plain arguments and keywords would have been passed as such: only very many of them go by a tuple and a dict.
 */
static bool fits_plain_call(const pel_node *list, const pel_node *dict) {
    if (list->kind != PEL_Tuple || dict->kind != PEL_Dict) return false;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++)
        if (!dict->Dict.keys.at[i]) return false; /* {**a} */
    return list->Tuple.elts.n + 2 * dict->Dict.keys.n <= 30;
}

static void call_ex(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_nodes keywords = { 0 }, args = { 0 };
    pel_node *given = NULL;
    bool has_keywords = ins->arg, has_pairs = made_by(l, s, PEL_I_BUILD_CONST_KEYS) || made_by(l, s, PEL_I_BUILD);
    if (has_keywords && s->n && s->at[s->n - 1].kind == IT_NULL) { /* an empty place that was swapped to the top */
        s->n--;
        has_keywords = false;
    }
    if (has_keywords) {
        /* f(**{**a, b: c}): where an instruction of its own joins arguments, other dicts are written as such */
        bool is_dict = made_by(l, s, PEL_I_BUILD_UNPACK);
        given = pel_pop_expr(l, s, at);
        keywords = is_dict ? pel_nodes_one(l->ctx, pel_make_keyword(l->ctx, NULL, given)) : keywords_of(l, given);
    }
    /* f(*(a, *b)), likewise; and without keywords the compiler makes no tuple or list that nobody wrote */
    bool is_plain = made_by(l, s, PEL_I_BUILD) || made_by(l, s, PEL_I_CONST);
    bool whole = made_by(l, s, PEL_I_BUILD_UNPACK) || (is_plain && !has_keywords && !pel_is_juggled(l->c));
    pel_node *list = pel_pop_expr(l, s, at);
    if (given && has_pairs && is_plain && !pel_is_juggled(l->c) && fits_plain_call(list, given)) /* f(a, **{"b": c}) */
        keywords = pel_nodes_one(l->ctx, pel_make_keyword(l->ctx, NULL, given));
    bool is_list = list->kind == PEL_List && list->parens == 0 && l->c->at[at].sub == 1;
    if (!whole && (list->kind == PEL_Tuple || is_list)) {
        pel_nodes elts = list->kind == PEL_Tuple ? list->Tuple.elts : list->List.elts;
        for (uint32_t i = 0; i < elts.n; i++) pel_nodes_push(l->ctx, &args, elts.at[i]);
    } else
        pel_nodes_push(l->ctx, &args, starred(l, list, at));
    pel_node *func = pop_callable(l, s, ins->sub, &args, at);
    pel_push_expr(l, s, at, call_of(l, func, args, keywords, at));
}

/* ---- functions ---- */

static void add_defaults(pel_lift *l, pel_node *args, pel_node *tuple, uint32_t at) {
    if (tuple->kind == PEL_Name && pel_name_is(tuple->Name.id, ".defaults")) return; /* come with the call */
    if (tuple->kind != PEL_Tuple) {
        wrong(l, at, "defaults that are no tuple");
        return;
    }
    args->arguments.defaults = tuple->Tuple.elts;
}

static void add_kw_defaults(pel_lift *l, pel_node *args, pel_node *dict, uint32_t at) {
    if (dict->kind == PEL_Name && pel_name_is(dict->Name.id, ".kwdefaults")) return;
    if (dict->kind != PEL_Dict) {
        wrong(l, at, "keyword defaults that are no dict");
        return;
    }
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        pel_node *key = dict->Dict.keys.at[i];
        if (!key || key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) continue;
        pel_str text = key->Constant.value->text;
        pel_name id = pel_unmangle(l, pel_intern_str(l->ctx, text));
        for (uint32_t k = 0; k < args->arguments.kwonlyargs.n; k++)
            if (args->arguments.kwonlyargs.at[k]->arg.arg == id)
                args->arguments.kw_defaults.at[k] = dict->Dict.values.at[i];
    }
}

static void annotate(pel_node *arg, pel_name id, pel_node *value) {
    if (arg && arg->arg.arg == id) arg->arg.annotation = value;
}

static void add_annotations(pel_lift *l, pel_node *def, pel_node *args, pel_node *given, uint32_t at) {
    pel_nodes names = { 0 }, values = { 0 };
    if (given->kind == PEL_Tuple) { /* from 3.10 on; a dict before. A class mangles the names in it */
        for (uint32_t i = 0; i + 1 < given->Tuple.elts.n; i += 2) {
            pel_nodes_push(l->ctx, &names, given->Tuple.elts.at[i]);
            pel_nodes_push(l->ctx, &values, given->Tuple.elts.at[i + 1]);
        }
    } else if (given->kind == PEL_Dict) {
        names = given->Dict.keys;
        values = given->Dict.values;
    } else {
        wrong(l, at, "annotations of unknown shape");
        return;
    }
    for (uint32_t i = 0; i < names.n; i++) {
        if (!names.at[i] || names.at[i]->kind != PEL_Constant || names.at[i]->Constant.value->kind != PEL_CONST_STR)
            continue;
        pel_str text = names.at[i]->Constant.value->text;
        pel_name id = pel_unmangle(l, pel_intern_str(l->ctx, text));
        if (pel_name_is(id, "return")) {
            if (def->kind != PEL_Lambda) def->FunctionDef.returns = values.at[i];
            continue;
        }
        for (uint32_t k = 0; k < args->arguments.posonlyargs.n; k++)
            annotate(args->arguments.posonlyargs.at[k], id, values.at[i]);
        for (uint32_t k = 0; k < args->arguments.args.n; k++) annotate(args->arguments.args.at[k], id, values.at[i]);
        for (uint32_t k = 0; k < args->arguments.kwonlyargs.n; k++)
            annotate(args->arguments.kwonlyargs.at[k], id, values.at[i]);
        annotate(args->arguments.vararg, id, values.at[i]);
        annotate(args->arguments.kwarg, id, values.at[i]);
    }
}

static pel_node *arguments_of(pel_node *def) {
    switch (def->kind) {
    case PEL_FunctionDef: return def->FunctionDef.args;
    case PEL_AsyncFunctionDef: return def->AsyncFunctionDef.args;
    case PEL_Lambda: return def->Lambda.args;
    default: return NULL;
    }
}

static void function_part(pel_lift *l, stack *s, pel_node *def, uint32_t part, uint32_t at) {
    if (part == 8) { /* the closure */
        item it = pel_stack_pop(l, s, at);
        if (it.kind != IT_SILENT && it.kind != IT_EXPR) wrong(l, at, "a closure of unknown shape");
        return;
    }
    if (part == 16) {
        item it = pel_stack_pop(l, s, at);
        if (it.kind != IT_NOTES || !arguments_of(def))
            wrong(l, at, "annotations of unknown shape");
        else
            pel_annotate_later(l, def, it.notes);
        return;
    }
    pel_node *value = pel_pop_expr(l, s, at), *args = arguments_of(def);
    if (!args) return;
    if (part == 1)
        add_defaults(l, args, value, at);
    else if (part == 2)
        add_kw_defaults(l, args, value, at);
    else
        add_annotations(l, def, args, value, at);
}

static void function(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_node *code = pel_pop_expr(l, s, at);
    if (code->kind != PEL_Constant || code->Constant.value->kind != PEL_CONST_CODE) {
        wrong(l, at, "a function of unknown code");
        return;
    }
    const pel_code_object *made = code->Constant.value->code;
    const pel_late_notes *notes = pel_is_annotate(made) ? pel_read_notes(l, made) : NULL;
    if (notes) {
        pel_push(l->ctx, s, (item){ .kind = IT_NOTES, .at = at, .notes = notes });
        return;
    }
    bool is_lazy = pel_is_lazy(l, at);
    pel_node *def = is_lazy ? pel_read_lazy(l, code->Constant.value->code, at)
                            : pel_read_function(l, code->Constant.value->code, at);
    for (uint32_t part = 8; part > 0; part /= 2)
        if (ins->arg & part) function_part(l, s, def, part, at);
    pel_push_expr(l, s, at, def);
}

/* ---- one instruction ---- */

/* How many values a format takes that asks for nothing but their texts (%s, %r, %a); PEL_NONE if it asks for more. */
static uint32_t n_texts(pel_str format) {
    uint32_t n = 0;
    for (size_t i = 0; i < format.len; i++) {
        if (format.ptr[i] != '%') continue;
        i++;
        while (i < format.len && memchr("-+ #0123456789.", format.ptr[i], 15)) i++;
        if (i >= format.len || !memchr("sra%", format.ptr[i], 4)) return PEL_NONE;
        n += format.ptr[i] != '%';
    }
    return n;
}

/* "%s" % (a,) is compiled as an f-string; where it was not, an f-string without values stood before the operator. */
static pel_node *unfolded_format(pel_lift *l, pel_node *left, const pel_node *right, uint32_t at) {
    bool is_text = left->kind == PEL_Constant && left->Constant.value->kind == PEL_CONST_STR;
    if (!l->c->folds_formats || !is_text || right->kind != PEL_Tuple) return left;
    if (n_texts(left->Constant.value->text) != right->Tuple.elts.n) return left;
    for (uint32_t i = 0; i < right->Tuple.elts.n; i++)
        if (right->Tuple.elts.at[i]->kind == PEL_Starred) return left;
    pel_node *node = pel_make(l, PEL_JoinedStr, at);
    node->JoinedStr.values = pel_nodes_one(l->ctx, left);
    return node;
}

static void binary(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_node *right = pel_pop_expr(l, s, at), *left = pel_pop_expr(l, s, at);
    if (ins->sub == PEL_Mod && !ins->flag) left = unfolded_format(l, left, right, at);
    pel_node *node = pel_make(l, PEL_BinOp, at);
    node->BinOp.left = left;
    node->BinOp.op = ins->sub;
    node->BinOp.right = right;
    pel_push_expr(l, s, at, node);
    if (ins->flag) s->at[s->n - 1].kind = IT_AUG;
}

static void compare(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_node *right = pel_pop_expr(l, s, at);
    item left = pel_stack_pop(l, s, at);
    pel_node *node = pel_make(l, PEL_Compare, at);
    if (left.chain) {
        const pel_node *old = left.node;
        uint32_t n = old->Compare.comparators.n;
        node->Compare.left = old->Compare.left;
        node->Compare.ops.at = pel_alloc_array(l->ctx, n + 1, 1);
        memcpy(node->Compare.ops.at, old->Compare.ops.at, n);
        node->Compare.ops.at[n] = ins->sub;
        node->Compare.ops.n = n + 1;
        node->Compare.comparators = nodes_copy(l, old->Compare.comparators);
        pel_nodes_push(l->ctx, &node->Compare.comparators, right);
    } else {
        node->Compare.left = pel_item_expr(l, left, at);
        node->Compare.ops.at = pel_alloc_array(l->ctx, 1, 1);
        node->Compare.ops.at[0] = ins->sub;
        node->Compare.ops.n = 1;
        node->Compare.comparators = pel_nodes_one(l->ctx, right);
    }
    pel_push_expr(l, s, at, node);
    if (ins->op == PEL_I_CHAIN) s->at[s->n - 1].chain = true;
}

static void declare(pel_lift *l, pel_name name) {
    for (uint32_t i = 0; i < l->declared.n; i++)
        if (l->declared.at[i] == name) return;
    pel_push(l->ctx, &l->declared, name);
}

static bool is_super_call(const pel_node *e) {
    return e->kind == PEL_Call && !e->Call.keywords.n && (e->Call.args.n == 0 || e->Call.args.n == 2) &&
           e->Call.func->kind == PEL_Name && pel_name_is(e->Call.func->Name.id, "super");
}

static bool has_name(pel_name_list names, pel_name name) {
    for (uint32_t i = 0; i < names.n; i++)
        if (names.at[i] == name) return true;
    return false;
}

/* A call of super() that is not folded with the attribute: the compiler saw that somebody gives the name a meaning, in
 * the module, or by declaring it. */
static void declare_super(pel_lift *l, pel_name super) {
    const pel_lift *module = l;
    while (module->outer) module = module->outer;
    if (!has_name(l->code->localsplus, super) && !has_name(module->code->names, super)) declare(l, super);
}

static void attribute(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_node *node = pel_make(l, PEL_Attribute, at);
    node->Attribute.value = pel_pop_expr(l, s, at);
    if (l->c->folds_super && !l->is_comp && is_super_call(node->Attribute.value))
        declare_super(l, node->Attribute.value->Call.func->Name.id);
    node->Attribute.attr = pel_unmangle(l, ins->name);
    pel_push_expr(l, s, at, node);
    if (ins->op == PEL_I_METHOD) pel_push(l->ctx, s, (item){ .kind = IT_NULL, .at = at });
}

static pel_node *subscript(pel_lift *l, pel_node *value, pel_node *slice, pel_CTX use, uint32_t at) {
    pel_node *node = pel_make(l, PEL_Subscript, at);
    node->Subscript.value = value;
    node->Subscript.slice = slice;
    node->Subscript.ctx = use;
    return node;
}

static void unpack(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pack *p = pel_new(l->ctx, pack);
    p->source = pel_stack_pop(l, s, at);
    p->at = at;
    p->star = PEL_NONE;
    p->n = ins->arg;
    if (ins->op == PEL_I_UNPACK_EX) {
        p->star = ins->arg & 0xff;
        p->n = p->star + 1 + (ins->arg >> 8);
    }
    if (p->n > 65536) pel_lift_fail(l, at, "too much is unpacked");
    if (p->n == 0) { /* [] = value */
        pel_node *tuple = pel_make(l, PEL_Tuple, at);
        tuple->Tuple.ctx = PEL_Store;
        pel_lift_store(l, s, p->source, tuple, at);
        return;
    }
    p->elts = pel_new_array(l->ctx, p->n, pel_node *);
    for (uint32_t i = p->n; i-- > 0;) pel_push(l->ctx, s, (item){ .kind = IT_SLOT, .at = at, .pack = p, .slot = i });
}

static void import(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    pel_node *from = pel_pop_expr(l, s, at), *level = pel_pop_expr(l, s, at);
    pack *p = pel_new(l->ctx, pack);
    p->module = ins->name;
    p->at = at;
    if (level->kind != PEL_Constant || level->Constant.value->kind != PEL_CONST_INT) {
        wrong(l, at, "an import of unknown shape");
        return;
    }
    int64_t dots = level->Constant.value->integer.small;
    if (dots < 0 || dots > 1000) {
        wrong(l, at, "an import of unknown shape");
        return;
    }
    p->level = (int)dots;
    p->is_lazy = ins->flag;
    bool is_from = from->kind == PEL_Tuple;
    p->from = is_from ? &pel_true : NULL;
    pel_push(l->ctx, s, (item){ .kind = IT_IMPORT, .at = at, .pack = p });
}

static void emit_import_from(pel_lift *l, pack *p) {
    pel_node *stmt = pel_node_new(l->ctx, PEL_ImportFrom);
    stmt->ImportFrom.module = p->module->len ? p->module : NULL;
    stmt->ImportFrom.level = p->level;
    stmt->ImportFrom.names = p->aliases;
    stmt->ImportFrom.is_lazy = p->is_lazy;
    pel_lift_emit(l, stmt);
}

static void pop(pel_lift *l, stack *s, uint32_t at) {
    item it = pel_stack_pop(l, s, at);
    if (it.kind == IT_IMPORT) {
        if (it.pack->from && !it.slot && it.pack->aliases.n) emit_import_from(l, it.pack);
        return;
    }
    if (it.kind == IT_SLOT) { /* stored in a name that the next part is stored in, too */
        uint32_t next = at + 1;
        while (next < l->c->n && l->c->at[next].op == PEL_I_POP) next++;
        if (next >= l->c->n || l->c->at[next].op != PEL_I_STORE) pel_lift_fail(l, at, "a part that is not stored");
        pel_node *target = name_node(l, l->c->at[next].name, PEL_Store, at);
        target->parens = 8;
        pel_lift_store(l, s, it, target, at);
        return;
    }
    if (it.kind != IT_EXPR && it.kind != IT_AUG) return;
    if (it.dup) return;
    if (it.targets) { /* a = b = value, popped: only generated code */
        pel_targets *last = it.targets;
        it.targets = NULL;
        emit_assign(l, last->before, last->node, pel_item_expr(l, it, at));
        return;
    }
    pel_node *value = pel_item_expr(l, it, at);
    if (is_def(value)) pel_lift_fail(l, at, "a definition is thrown away");
    pel_node *stmt = pel_node_new(l->ctx, PEL_Expr);
    stmt->Expr.value = value;
    pel_lift_emit(l, stmt);
}

/* [a, b, c] = SWAP n: exchange. A value and the copy above it stay neighbours. */
static void swap(pel_lift *l, stack *s, uint32_t n, uint32_t at) {
    if (n < 2 || n > s->n) {
        wrong(l, at, "the stack is empty");
        return;
    }
    item *top = &s->at[s->n - 1], *other = &s->at[s->n - n];
    if (s->n - n < s->low) s->low = s->n - n;
    item t = *top;
    *top = *other;
    *other = t;
}

static void copy(pel_lift *l, stack *s, uint32_t n, uint32_t at) {
    if (n < 1 || n > s->n) {
        wrong(l, at, "the stack is empty");
        return;
    }
    item it = s->at[s->n - n];
    if (s->n - n < s->low) s->low = s->n - n;
    if (it.kind == IT_EXPR) it.dup = true;
    pel_push(l->ctx, s, it);
}

/* Whether an instruction has an effect of its own, so that it can't be part of an expression. */
static bool makes_statement(const pel_lift *l, const stack *s, const pel_ins *ins) {
    switch (ins->op) {
    case PEL_I_STORE: /* `:=` stores a copy */
        if (s->n && s->at[s->n - 1].kind == IT_SAVED) return false;
        return !(s->n >= 2 && s->at[s->n - 1].kind == IT_EXPR && s->at[s->n - 1].dup &&
                 s->at[s->n - 2].node == s->at[s->n - 1].node);
    case PEL_I_POP: return s->n && s->at[s->n - 1].kind != IT_SILENT;
    case PEL_I_DELETE:
    case PEL_I_STORE_ATTR:
    case PEL_I_STORE_SUBSCR:
    case PEL_I_DELETE_ATTR:
    case PEL_I_DELETE_SUBSCR:
    case PEL_I_IMPORT:
    case PEL_I_IMPORT_FROM:
    case PEL_I_IMPORT_STAR:
    case PEL_I_RETURN:
    case PEL_I_RAISE:
    case PEL_I_RERAISE:
    case PEL_I_WITH:
    case PEL_I_WITH_EXIT:
    case PEL_I_WITH_RAISED:
    case PEL_I_EXC:
    case PEL_I_EXC_MATCH:
    case PEL_I_POP_EXC:
    case PEL_I_FINALLY:
    case PEL_I_FOR:
    case PEL_I_SETUP_ANNOTATIONS:
    case PEL_I_PRINT:
    case PEL_I_UNPACK:
    case PEL_I_UNPACK_EX:
    case PEL_I_GROUP_RAISE:
    case PEL_I_MATCH_CLASS:
    case PEL_I_MATCH_KEYS:
    case PEL_I_MATCH_MAPPING:
    case PEL_I_MATCH_SEQUENCE:
    case PEL_I_GET_LEN: return true;
    case PEL_I_APPEND: return ins->arg != 1;
    default: (void)l; return false;
    }
}

static void append(pel_lift *l, stack *s, const pel_ins *ins, uint32_t at) {
    /* the innermost loop of a comprehension: the reader of the loop gets what it appends */
    pel_node *value = pel_pop_expr(l, s, at), *key = NULL;
    if (ins->sub == PEL_D_DICT) key = pel_pop_expr(l, s, at);
    pel_node *stmt = pel_node_new(l->ctx, PEL_Expr);
    pel_node *elt = pel_make(l, PEL_Tuple, at);
    elt->parens = 0x40; /* what makes it different from every tuple */
    if (key) pel_nodes_push(l->ctx, &elt->Tuple.elts, key);
    pel_nodes_push(l->ctx, &elt->Tuple.elts, value);
    stmt->Expr.value = elt;
    pel_lift_emit(l, stmt);
}

/* The first await of an asynchronous comprehension is a part of it. */
static void await(pel_lift *l, stack *s, uint32_t at) {
    item it = pel_stack_pop(l, s, at);
    if (it.kind == IT_EXPR && !it.awaited && !it.targets && !it.dup && pel_is_async_comp(l, it.node)) {
        it.awaited = true;
        pel_push(l->ctx, s, it);
        return;
    }
    pel_node *node = pel_make(l, PEL_Await, at);
    node->Await.value = pel_item_expr(l, it, at);
    pel_push_expr(l, s, at, node);
}

void pel_declare(pel_lift *l, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    if (ins->sub != PEL_GLOBAL && ins->sub != PEL_DEREF) return;
    if (ins->sub == PEL_DEREF) {
        bool is_free = false;
        for (uint32_t i = 0; i < l->code->freevars.n; i++) is_free |= l->code->freevars.at[i] == ins->name;
        if (!is_free) return;
    }
    declare(l, ins->name);
}

bool pel_step(pel_lift *l, stack *s, uint32_t at) {
    const pel_ins *ins = &l->c->at[at];
    pel_lift_tick(l, at);
    if (l->trial && makes_statement(l, s, ins)) return false;
    pel_node *node;
    switch ((pel_iop)ins->op) {
    case PEL_I_NOP:
    case PEL_I_FINALLY:
    case PEL_I_SETUP_ANNOTATIONS: break;
    case PEL_I_POP: pop(l, s, at); break;
    case PEL_I_COPY: copy(l, s, ins->arg, at); break;
    case PEL_I_SWAP: swap(l, s, ins->arg, at); break;
    case PEL_I_PUSH_NULL: pel_push(l->ctx, s, (item){ .kind = IT_NULL, .at = at }); break;
    case PEL_I_CONST:
        if (ins->value->kind == PEL_CONST_CODE) {
            node = pel_make(l, PEL_Constant, at);
            node->Constant.value = ins->value;
        } else
            node = pel_const_node(l, ins->value, at);
        pel_push_expr(l, s, at, node);
        break;
    case PEL_I_LOAD: pel_push_expr(l, s, at, name_node(l, ins->name, PEL_Load, at)); break;
    case PEL_I_STORE:
        pel_declare(l, at);
        pel_lift_store(l, s, pel_stack_pop(l, s, at), name_node(l, ins->name, PEL_Store, at), at);
        break;
    case PEL_I_DELETE:
        pel_declare(l, at);
        node = pel_node_new(l->ctx, PEL_Delete);
        node->Delete.targets = pel_nodes_one(l->ctx, name_node(l, ins->name, PEL_Del, at));
        pel_lift_emit(l, node);
        break;
    case PEL_I_CELL: pel_push(l->ctx, s, (item){ .kind = IT_SILENT, .at = at }); break;
    case PEL_I_LOAD_CLEAR: pel_push(l->ctx, s, (item){ .kind = IT_SAVED, .at = at }); break;
    case PEL_I_ATTR:
    case PEL_I_METHOD: attribute(l, s, ins, at); break;
    case PEL_I_SUPER: {
        pel_node *self = pel_pop_expr(l, s, at), *class = pel_pop_expr(l, s, at), *super = pel_pop_expr(l, s, at);
        pel_nodes args = { 0 };
        if (ins->flag) {
            pel_nodes_push(l->ctx, &args, class);
            pel_nodes_push(l->ctx, &args, self);
        }
        node = pel_make(l, PEL_Attribute, at);
        node->Attribute.value = pel_make_call(l->ctx, super, args, (pel_nodes){ 0 });
        node->Attribute.attr = pel_unmangle(l, ins->name);
        pel_push_expr(l, s, at, node);
        if (ins->sub) pel_push(l->ctx, s, (item){ .kind = IT_NULL, .at = at });
        break;
    }
    case PEL_I_STORE_ATTR: {
        pel_node *object = pel_pop_expr(l, s, at);
        item value = pel_stack_pop(l, s, at);
        node = pel_make(l, PEL_Attribute, at);
        node->Attribute.value = object;
        node->Attribute.attr = pel_unmangle(l, ins->name);
        node->Attribute.ctx = PEL_Store;
        pel_lift_store(l, s, value, node, at);
        break;
    }
    case PEL_I_DELETE_ATTR: {
        pel_node *target = pel_make(l, PEL_Attribute, at);
        target->Attribute.value = pel_pop_expr(l, s, at);
        target->Attribute.attr = pel_unmangle(l, ins->name);
        target->Attribute.ctx = PEL_Del;
        node = pel_node_new(l->ctx, PEL_Delete);
        node->Delete.targets = pel_nodes_one(l->ctx, target);
        pel_lift_emit(l, node);
        break;
    }
    case PEL_I_SUBSCR: {
        pel_node *slice = pel_pop_expr(l, s, at), *value = pel_pop_expr(l, s, at);
        pel_push_expr(l, s, at, subscript(l, value, slice, PEL_Load, at));
        break;
    }
    case PEL_I_STORE_SUBSCR: {
        pel_node *slice = pel_pop_expr(l, s, at), *object = pel_pop_expr(l, s, at);
        pel_lift_store(l, s, pel_stack_pop(l, s, at), subscript(l, object, slice, PEL_Store, at), at);
        break;
    }
    case PEL_I_DELETE_SUBSCR: {
        pel_node *slice = pel_pop_expr(l, s, at), *object = pel_pop_expr(l, s, at);
        node = pel_node_new(l->ctx, PEL_Delete);
        node->Delete.targets = pel_nodes_one(l->ctx, subscript(l, object, slice, PEL_Del, at));
        pel_lift_emit(l, node);
        break;
    }
    case PEL_I_UNARY:
        node = pel_make(l, PEL_UnaryOp, at);
        node->UnaryOp.op = ins->sub;
        node->parens = 4; /* an instruction of its own, not a turned jump */
        node->UnaryOp.operand = pel_pop_expr(l, s, at);
        pel_push_expr(l, s, at, node);
        break;
    case PEL_I_BINARY: binary(l, s, ins, at); break;
    case PEL_I_COMPARE:
    case PEL_I_CHAIN: compare(l, s, ins, at); break;
    case PEL_I_BUILD: build(l, s, ins, at); break;
    case PEL_I_BUILD_UNPACK:
    case PEL_I_BUILD_CALL_UNPACK: build_unpack(l, s, ins, at); break;
    case PEL_I_BUILD_CONST_KEYS: {
        pel_nodes values = pop_exprs(l, s, ins->arg, at);
        node = pel_make(l, PEL_Dict, at);
        for (uint32_t i = 0; i < values.n; i++) {
            pel_nodes_push(l->ctx, &node->Dict.keys, pel_const_node(l, ins->value->items[i], at));
            pel_nodes_push(l->ctx, &node->Dict.values, values.at[i]);
        }
        pel_push_expr(l, s, at, node);
        break;
    }
    case PEL_I_EXTEND: extend(l, s, ins, at); break;
    case PEL_I_APPEND:
        if (ins->arg == 1 && ins->sub == PEL_D_DICT) { /* a long {a: b, ...} */
            pel_node *value = pel_pop_expr(l, s, at), *key = pel_pop_expr(l, s, at);
            item *into = s->n ? &s->at[s->n - 1] : NULL;
            if (!into || into->kind != IT_EXPR || into->node->kind != PEL_Dict) {
                wrong(l, at, "no display to append to");
                break;
            }
            pel_nodes_push(l->ctx, &into->node->Dict.keys, key); /* nobody else has this node yet */
            pel_nodes_push(l->ctx, &into->node->Dict.values, value);
            break;
        }
        if (ins->arg == 1) { /* [a, *b, c] and {a, *b, c} */
            pel_node *value = pel_pop_expr(l, s, at);
            item *into = s->n ? &s->at[s->n - 1] : NULL;
            if (!into || into->kind != IT_EXPR || (into->node->kind != PEL_List && into->node->kind != PEL_Set)) {
                wrong(l, at, "no display to append to");
                break;
            }
            pel_nodes elts = nodes_copy(l, into->node->kind == PEL_List ? into->node->List.elts : into->node->Set.elts);
            pel_nodes_push(l->ctx, &elts, value);
            into->node = display(l, into->node->kind == PEL_List ? PEL_D_LIST : PEL_D_SET, elts, into->at);
            break;
        }
        append(l, s, ins, at);
        break;
    case PEL_I_LIST_TO_TUPLE: {
        pel_node *list = pel_pop_expr(l, s, at);
        if (list->kind == PEL_List)
            pel_push_expr(l, s, at, display(l, PEL_D_TUPLE, list->List.elts, at));
        else
            wrong(l, at, "a tuple of no list");
        break;
    }
    case PEL_I_UNPACK:
    case PEL_I_UNPACK_EX: unpack(l, s, ins, at); break;
    case PEL_I_CALL: call(l, s, ins, at); break;
    case PEL_I_CALL_EX: call_ex(l, s, ins, at); break;
    case PEL_I_FUNCTION: function(l, s, ins, at); break;
    case PEL_I_FUNCTION_PART: {
        if (s->n && s->at[s->n - 1].kind == IT_NOTES) { /* what it closes over */
            item it = pel_stack_pop(l, s, at);
            pel_stack_pop(l, s, at);
            pel_push(l->ctx, s, it);
            break;
        }
        pel_node *def = pel_pop_expr(l, s, at);
        function_part(l, s, def, ins->arg, at);
        pel_push_expr(l, s, at, def);
        break;
    }
    case PEL_I_BUILD_CLASS: pel_push_expr(l, s, at, pel_make(l, PEL_Comment, at)); break;
    case PEL_I_IMPORT: import(l, s, ins, at); break;
    case PEL_I_IMPORT_FROM: {
        if (!s->n || s->at[s->n - 1].kind != IT_IMPORT) pel_lift_fail(l, at, "a name is imported from no module");
        item it = s->at[s->n - 1];
        it.pack->attribute = ins->name;
        it.slot = it.pack->from != NULL;
        pel_push(l->ctx, s, it);
        break;
    }
    case PEL_I_IMPORT_STAR: {
        item it = pel_stack_pop(l, s, at);
        if (it.kind != IT_IMPORT || it.pack->aliases.n) pel_lift_fail(l, at, "all names are imported from no module");
        pel_nodes_push(l->ctx, &it.pack->aliases, alias_of(l, pel_intern_c(l->ctx, "*"), NULL));
        emit_import_from(l, it.pack);
        if (ins->flag) pel_push(l->ctx, s, (item){ .kind = IT_SILENT, .at = at });
        break;
    }
    case PEL_I_GET_ITER: /* the loop that follows knows its kind */
        if (!s->n) wrong(l, at, "the stack is empty");
        break;
    case PEL_I_YIELD:
        node = pel_make(l, PEL_Yield, at);
        node->Yield.value = pel_pop_expr(l, s, at);
        if (node->Yield.value->kind == PEL_Constant && node->Yield.value->Constant.value->kind == PEL_CONST_NONE)
            node->Yield.value = NULL;
        pel_push_expr(l, s, at, node);
        break;
    case PEL_I_YIELD_FROM:
        node = pel_make(l, PEL_YieldFrom, at);
        node->YieldFrom.value = pel_pop_expr(l, s, at);
        pel_push_expr(l, s, at, node);
        break;
    case PEL_I_AWAIT: await(l, s, at); break;
    case PEL_I_FORMAT:
    case PEL_I_CONVERT: pel_format_field(l, s, at); break;
    case PEL_I_INTERPOLATION: pel_template_field(l, s, at); break;
    case PEL_I_TEMPLATE: pel_template(l, s, at); break;
    case PEL_I_ASSERTION_ERROR:
        pel_push_expr(l, s, at, name_node(l, pel_intern_c(l->ctx, "AssertionError"), PEL_Load, at));
        break;
    case PEL_I_LOCALS: pel_push(l->ctx, s, (item){ .kind = IT_SILENT, .at = at }); break;
    case PEL_I_WITH_EXIT: {
        item it = pel_stack_pop(l, s, at);
        if (it.kind != IT_EXIT) pel_lift_fail(l, at, "a `with` ends that was not begun");
        break;
    }
    case PEL_I_PRINT: pop(l, s, at); break;
    case PEL_I_INTRINSIC:
    case PEL_I_INTRINSIC2: pel_intrinsic(l, s, at); break;
    default: wrong(l, at, "an instruction that has no meaning here");
    }
    return !(l->trial && l->broken);
}
