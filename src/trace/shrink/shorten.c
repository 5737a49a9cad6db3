/* What a reader would strike out, seen over the whole program: modules that hand on what they get, assignments of
 * a name to itself, functions that only call another one. */
#include "base/map.h"
#include "trace/passes.h"
#include "trace/depends/uses.h"

#define MAX_ROUNDS 8

typedef struct shortener {
    pel_ctx *ctx;
    pel_program *program;
    const pel_log *log;
    pel_map identities;             /* class -> pel_map of child names that are nn.Identity in every instance */
    pel_map uses;                   /* name -> how often the program's text mentions it, as a name or an attribute */
    pel_program_function *function; /* being looked at */
    bool changed;
} shortener;

/* ---- who is self ---- */

static pel_name self_of(const pel_program_function *function) {
    if (!function->class || function->is_static || !function->def) return NULL;
    const pel_node *args = function->def->FunctionDef.args;
    if (args->arguments.posonlyargs.n) return args->arguments.posonlyargs.at[0]->arg.arg;
    return args->arguments.args.n ? args->arguments.args.at[0]->arg.arg : NULL;
}

static bool is_self(const shortener *s, const pel_node *node) {
    return node->kind == PEL_Name && node->Name.id == self_of(s->function);
}

/* Reads without any effect: names, attributes of names, constants, and what is, in or not on them. */
static bool is_quiet(const pel_node *node) {
    switch (node->kind) {
    case PEL_Name:
    case PEL_Constant: return true;
    case PEL_Attribute: return is_quiet(node->Attribute.value);
    case PEL_UnaryOp: return node->UnaryOp.op == PEL_Not && is_quiet(node->UnaryOp.operand);
    case PEL_Compare:
        return node->Compare.ops.n == 1 &&
               (node->Compare.ops.at[0] == PEL_Is || node->Compare.ops.at[0] == PEL_IsNot) &&
               is_quiet(node->Compare.left) && is_quiet(node->Compare.comparators.at[0]);
    default: return false;
    }
}

/* ---- modules that do nothing ---- */

static bool is_identity(const pel_log *log, pel_id module) {
    if (!module) return false;
    const pel_log_module *row = pel_module_at(log, module);
    return !row->has_hooks && pel_str_is(pel_class_at(log, row->class)->path, "torch.nn.Identity");
}

static void collect_identities(shortener *s) {
    for (uint32_t pass = 0; pass < 2; pass++) /* first all names that are one somewhere, then strike out the others */
        for (uint32_t i = 1; i < s->log->modules.n; i++) {
            const pel_log_module *row = &s->log->modules.at[i];
            pel_map *names = pel_map_pointer(&s->identities, row->class);
            if (!names) {
                names = pel_new(s->ctx, pel_map);
                pel_map_set(s->ctx, &s->identities, row->class, PEL_KEY(names));
            }
            for (uint32_t k = 0; k < row->child_names.n; k++) {
                bool is_one = is_identity(s->log, row->children[k]);
                if (is_one != (pass == 0)) continue;
                pel_map_set(s->ctx, names, PEL_KEY(row->child_names.at[k]), pass == 0);
            }
        }
}

/* self.drop(x), where drop is nn.Identity in all instances */
static bool is_idle_call(const shortener *s, const pel_node *node) {
    if (node->kind != PEL_Call || node->Call.args.n != 1 || node->Call.keywords.n ||
        node->Call.args.at[0]->kind == PEL_Starred)
        return false;
    const pel_node *callee = node->Call.func;
    if (callee->kind != PEL_Attribute || !is_self(s, callee->Attribute.value)) return false;
    const pel_map *names = pel_map_pointer(&s->identities, s->function->class);
    return names && pel_map_find(names, PEL_KEY(callee->Attribute.attr), 0);
}

/* e + 0, e * 1: folding leaves them behind. */
static bool is_idle_arithmetic(const pel_node *node) {
    if (node->kind != PEL_BinOp || !pel_makes_floats(node->BinOp.left)) return false;
    bool adds = node->BinOp.op == PEL_Add || node->BinOp.op == PEL_Sub;
    return pel_is_number(node->BinOp.right, adds ? 0 : 1) && (adds || node->BinOp.op == PEL_Mult);
}

/* x[:, :, :], which is x: only arrays take several slices, and they don't copy. */
static bool is_whole_array(const pel_node *node) {
    if (node->kind != PEL_Subscript || node->Subscript.ctx != PEL_Load || node->Subscript.slice->kind != PEL_Tuple)
        return false;
    const pel_nodes slices = node->Subscript.slice->Tuple.elts;
    for (uint32_t i = 0; i < slices.n; i++)
        if (slices.at[i]->kind != PEL_Slice || slices.at[i]->Slice.lower || slices.at[i]->Slice.upper ||
            slices.at[i]->Slice.step)
            return false;
    return slices.n > 1;
}

static pel_id child_of(const pel_log_module *row, pel_name name) {
    for (uint32_t k = 0; k < row->child_names.n; k++)
        if (row->child_names.at[k] == name) return row->children[k];
    return 0;
}

/* self.layers[:12], where there are twelve in every instance */
static bool is_whole_list(const shortener *s, const pel_node *node) {
    if (node->kind != PEL_Subscript || node->Subscript.slice->kind != PEL_Slice || node->Subscript.ctx != PEL_Load)
        return false;
    const pel_node *list = node->Subscript.value, *slice = node->Subscript.slice;
    if (slice->Slice.step || !slice->Slice.upper || (slice->Slice.lower && !pel_is_number(slice->Slice.lower, 0)) ||
        list->kind != PEL_Attribute || !is_self(s, list->Attribute.value))
        return false;
    bool found = false;
    for (uint32_t i = 1; i < s->log->modules.n; i++) {
        const pel_log_module *row = &s->log->modules.at[i];
        if (row->class != s->function->class) continue;
        pel_id child = child_of(row, list->Attribute.attr);
        if (!child || !pel_is_number(slice->Slice.upper, pel_module_at(s->log, child)->child_names.n)) return false;
        found = pel_str_is(pel_class_at(s->log, pel_module_at(s->log, child)->class)->path, "torch.nn.ModuleList");
    }
    return found;
}

/* Arguments that torch would take anyway, and that are often spelled out. */
static const struct {
    const char *function, *argument;
    enum { DEFAULT_NONE, DEFAULT_FALSE, DEFAULT_ZERO } value;
} defaults_of_torch[] = {
    { "scaled_dot_product_attention", "attn_mask", DEFAULT_NONE },
    { "scaled_dot_product_attention", "dropout_p", DEFAULT_ZERO },
    { "scaled_dot_product_attention", "is_causal", DEFAULT_FALSE },
    { "scaled_dot_product_attention", "scale", DEFAULT_NONE },
    { "scaled_dot_product_attention", "enable_gqa", DEFAULT_FALSE },
    { "softmax", "dtype", DEFAULT_NONE },
    { "pad", "value", DEFAULT_NONE },
    { "interpolate", "size", DEFAULT_NONE },
    { "interpolate", "scale_factor", DEFAULT_NONE },
    { "interpolate", "align_corners", DEFAULT_NONE },
};

static bool is_default_of_torch(const pel_node *function, const pel_node *keyword) {
    const pel_node *value = keyword->keyword.value;
    if (value->kind != PEL_Constant || !keyword->keyword.arg) return false;
    for (size_t i = 0; i < PEL_COUNT(defaults_of_torch); i++) {
        if (!pel_name_is(function->Attribute.attr, defaults_of_torch[i].function) ||
            !pel_name_is(keyword->keyword.arg, defaults_of_torch[i].argument))
            continue;
        switch (defaults_of_torch[i].value) {
        case DEFAULT_NONE: return pel_is_none(value);
        case DEFAULT_FALSE: return value->Constant.value->kind == PEL_CONST_FALSE;
        case DEFAULT_ZERO: return value->Constant.value->kind == PEL_CONST_FLOAT && value->Constant.value->real == 0.0;
        }
    }
    return false;
}

static void drop_defaults(shortener *s, pel_node *call) {
    const pel_node *function = call->Call.func;
    if (function->kind != PEL_Attribute || function->Attribute.value->kind != PEL_Name ||
        !pel_name_is(function->Attribute.value->Name.id, "F"))
        return;
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < call->Call.keywords.n; i++)
        if (!is_default_of_torch(function, call->Call.keywords.at[i]))
            pel_nodes_push(s->ctx, &kept, call->Call.keywords.at[i]);
    call->Call.keywords = kept;
}

/* ---- what a module is, by how the text names it ---- */

/* The class of self.a.b, if it is the same in all instances; 0 if not. */
static pel_id class_of(const shortener *s, const pel_node *node) {
    if (is_self(s, node)) return s->function->class;
    pel_id outer = node->kind == PEL_Attribute ? class_of(s, node->Attribute.value) : 0, found = 0;
    for (uint32_t i = 1; outer && i < s->log->modules.n; i++) {
        const pel_log_module *row = &s->log->modules.at[i];
        if (row->class != outer) continue;
        pel_id child = child_of(row, node->Attribute.attr);
        pel_id class = child ? pel_module_at(s->log, child)->class : 0;
        if (!class || (found && class != found)) return 0;
        found = class;
    }
    return found;
}

/* getattr(x, "embed"): x.embed; getattr(self.model, "embed", None), where there is one: self.model.embed */
static pel_node *plain_attribute(const shortener *s, const pel_node *node) {
    if (node->kind != PEL_Call || node->Call.func->kind != PEL_Name ||
        !pel_name_is(node->Call.func->Name.id, "getattr") || node->Call.args.n < 2 || node->Call.keywords.n)
        return NULL;
    const pel_node *name = node->Call.args.at[1];
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR ||
        !pel_is_identifier(name->Constant.value->text))
        return NULL;
    pel_str text = name->Constant.value->text;
    pel_node *made = pel_make_attribute(s->ctx, node->Call.args.at[0], pel_intern_str(s->ctx, text), PEL_Load);
    bool is_same = node->Call.args.n == 2 && !pel_str_starts(text, PEL_STR("__")); /* which a class would mangle */
    return is_same || class_of(s, made) ? made : NULL;
}

/* (x, y)[0] */
static pel_node *picked_part(const pel_node *node) {
    if (node->kind != PEL_Subscript || node->Subscript.ctx != PEL_Load || node->Subscript.value->kind != PEL_Tuple)
        return NULL;
    const pel_nodes parts = node->Subscript.value->Tuple.elts;
    pel_node *found = NULL;
    for (uint32_t i = 0; i < parts.n; i++) {
        if (pel_is_number(node->Subscript.slice, i))
            found = parts.at[i];
        else if (!is_quiet(parts.at[i]))
            return NULL;
        if (parts.at[i]->kind == PEL_Starred) return NULL;
    }
    return found;
}

static void drop_idle_parts(void *arg, pel_node **slot) {
    shortener *s = arg;
    pel_each_child(*slot, drop_idle_parts, s);
    pel_node *attribute = plain_attribute(s, *slot);
    if (attribute) {
        *slot = attribute;
        s->changed = true;
    }
    pel_node *part = picked_part(*slot);
    if (part) *slot = part;
    if ((*slot)->kind == PEL_Call) drop_defaults(s, *slot);
    if (is_idle_call(s, *slot)) *slot = (*slot)->Call.args.at[0];
    if (is_idle_arithmetic(*slot)) *slot = (*slot)->BinOp.left;
    if (is_whole_list(s, *slot) || is_whole_array(*slot)) *slot = (*slot)->Subscript.value;
}

/* ---- statements that do nothing ---- */

static bool is_true(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_TRUE;
}

/* torch._assert(True, ...) */
static bool is_idle_assertion(const pel_node *node) {
    if (node->kind == PEL_Assert) return is_true(node->Assert.test);
    if (node->kind != PEL_Expr || node->Expr.value->kind != PEL_Call) return false;
    const pel_node *call = node->Expr.value;
    return call->Call.func->kind == PEL_Attribute && pel_name_is(call->Call.func->Attribute.attr, "_assert") &&
           call->Call.args.n && is_true(call->Call.args.at[0]);
}

/* x to x, or (x, y) to (x, y) */
static bool binds_itself(const pel_node *target, const pel_node *value) {
    if (target->kind == PEL_Name && value->kind == PEL_Name) return target->Name.id == value->Name.id;
    if (target->kind != PEL_Tuple || value->kind != PEL_Tuple || target->Tuple.elts.n != value->Tuple.elts.n)
        return false;
    for (uint32_t i = 0; i < target->Tuple.elts.n; i++)
        if (!binds_itself(target->Tuple.elts.at[i], value->Tuple.elts.at[i])) return false;
    return true;
}

static bool is_idle(const pel_node *node) {
    if (node->kind == PEL_Assign && node->Assign.targets.n == 1)
        return binds_itself(node->Assign.targets.at[0], node->Assign.value);
    if (node->kind == PEL_Expr) return is_quiet(node->Expr.value) || is_idle_assertion(node);
    if (node->kind == PEL_If) return !node->If.body.n && !node->If.orelse.n && is_quiet(node->If.test);
    return is_idle_assertion(node);
}

/* `if c: x = True` `else: x = False` is x = c, where c is a bool already. */
static pel_node *as_assignment(const pel_node *node) {
    if (node->kind != PEL_If || node->If.body.n != 1 || node->If.orelse.n != 1) return NULL;
    const pel_node *test = node->If.test, *yes = node->If.body.at[0], *no = node->If.orelse.at[0];
    bool is_bool =
        test->kind == PEL_Compare || (test->kind == PEL_Attribute && pel_name_is(test->Attribute.attr, "training"));
    if (!is_bool || yes->kind != PEL_Assign || no->kind != PEL_Assign || !is_true(yes->Assign.value) ||
        no->Assign.value->kind != PEL_Constant || no->Assign.value->Constant.value->kind != PEL_CONST_FALSE ||
        !pel_same_list(yes->Assign.targets, no->Assign.targets))
        return NULL;
    return (pel_node *)(uintptr_t)yes;
}

static void drop_idle_statements(shortener *s, pel_nodes *body, bool may_be_empty) {
    pel_nodes kept = { 0 };
    for (uint32_t i = 0; i < body->n; i++) {
        pel_node *node = body->at[i];
        for (const pel_field *field = pel_kinds[node->kind].fields(); field->name; field++)
            if (field->type == PEL_FIELD_LIST && field->of == PEL_STMT) {
                pel_nodes *inner = pel_field_at(node, field, pel_nodes);
                bool is_if =
                    node->kind == PEL_If || strcmp(field->name, "orelse") == 0 || strcmp(field->name, "finalbody") == 0;
                drop_idle_statements(s, inner, is_if);
            }
        pel_node *assignment = as_assignment(node);
        if (assignment) {
            assignment->Assign.value = node->If.test;
            node = assignment;
        }
        if (node->kind == PEL_If && !node->If.body.n && node->If.orelse.n) { /* only the other side is left */
            pel_node *turned = pel_node_new(s->ctx, PEL_UnaryOp);
            turned->UnaryOp.op = PEL_Not;
            turned->UnaryOp.operand = node->If.test;
            node->If.test = turned;
            node->If.body = node->If.orelse;
            node->If.orelse = (pel_nodes){ 0 };
        }
        bool idle = is_idle(node);
        if (idle) s->changed = true;
        if (!idle && node->kind == PEL_If && !node->If.body.n)
            pel_nodes_push(s->ctx, &node->If.body, pel_node_new(s->ctx, PEL_Pass));
        if (kept.n && pel_returns_it(kept.at[kept.n - 1], node)) {
            pel_node *last = kept.at[--kept.n];
            node->Return.value = last->Assign.value;
        }
        if (!idle) pel_nodes_push(s->ctx, &kept, node);
    }
    if (!kept.n && !may_be_empty) pel_nodes_push(s->ctx, &kept, pel_node_new(s->ctx, PEL_Pass));
    *body = kept;
}

/* ---- functions that only call another one ---- */

static void count_uses(void *arg, pel_node **slot) {
    shortener *s = arg;
    pel_node *node = *slot;
    pel_name name = pel_last_name(node);
    if (name) pel_map_set(s->ctx, &s->uses, PEL_KEY(name), pel_map_find(&s->uses, PEL_KEY(name), 0) + 1);
    if (node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR) { /* getattr(self, "name") */
        pel_str text = node->Constant.value->text;
        uint64_t key = PEL_KEY(pel_intern_str(s->ctx, text));
        pel_map_set(s->ctx, &s->uses, key, pel_map_find(&s->uses, key, 0) + 2);
    }
    pel_each_child(node, count_uses, s);
}

/* The one function of that name which a call can mean: a function of the file, or the method that every class with
 * one of that name would have to share. */
static pel_program_function *function_named(const shortener *s, pel_name name, pel_id class) {
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        pel_program_function *f = s->program->functions.at[i];
        if (!f->dead && f->def && f->name == name && f->class == class) return f;
    }
    return NULL;
}

/* The function that a call reaches, if that is plain to see: f(...), self.f(...) or self.part.f(...). */
static pel_program_function *callee_of(const shortener *s, const pel_node *call) {
    const pel_node *func = call->Call.func;
    if (func->kind == PEL_Name) return function_named(s, func->Name.id, 0);
    pel_id class = func->kind == PEL_Attribute ? class_of(s, func->Attribute.value) : 0;
    return class ? function_named(s, func->Attribute.attr, class) : NULL;
}

static bool is_plain_signature(const pel_program_function *f) {
    const pel_node *a = f->def->FunctionDef.args;
    return !a->arguments.posonlyargs.n && !a->arguments.kwonlyargs.n && !a->arguments.vararg && !a->arguments.kwarg &&
           !f->def->FunctionDef.decorator_list.n && f->def->kind == PEL_FunctionDef && !f->is_property &&
           !f->is_static && !f->is_classmethod;
}

/* What a function that is a single `return expression` returns; NULL if it is more. */
static pel_node *only_expression(const pel_program_function *f) {
    const pel_nodes body = f->def->FunctionDef.body;
    return body.n == 1 && body.at[0]->kind == PEL_Return ? body.at[0]->Return.value : NULL;
}

/* ---- what a call passes, in the place of parameters ---- */

typedef struct binding {
    pel_name *names;
    pel_node **values;
    uint32_t n;
    uint32_t *used;
    pel_ctx *ctx;
    bool failed;
} binding;

static void bind(void *arg, pel_node **slot) {
    binding *b = arg;
    if ((*slot)->kind == PEL_Lambda || (*slot)->kind == PEL_ListComp || (*slot)->kind == PEL_GeneratorExp ||
        (*slot)->kind == PEL_SetComp || (*slot)->kind == PEL_DictComp) {
        b->failed = true; /* scopes of their own */
        return;
    }
    if ((*slot)->kind == PEL_Name) {
        for (uint32_t i = 0; i < b->n; i++)
            if ((*slot)->Name.id == b->names[i]) {
                *slot = pel_copy(b->ctx, b->values[i]);
                b->used[i]++;
                return;
            }
        return;
    }
    pel_each_child(*slot, bind, arg);
}

/* ---- functions that only call one that nobody else calls ---- */

/* Whether a function's own names for its parameters can give way to what a call passes, which is names. */
static bool takes_names(const pel_program_function *target, const pel_nodes params, const pel_nodes args) {
    const pel_nodes body = target->def->FunctionDef.body;
    for (uint32_t i = 0; i < params.n; i++) {
        if (args.at[i]->kind != PEL_Name) return false;
        pel_name given = args.at[i]->Name.id, own = params.at[i]->arg.arg;
        pel_uses of_given = pel_uses_in(NULL, body, given);
        if (given != own && (pel_uses_in(NULL, body, own).binds || pel_is_used(of_given) || of_given.scoped))
            return false;
    }
    return true;
}

/* forward(self, x): return self._forward_impl(x), or return f(x), takes over the body of what it calls. */
static void merge_forwarder(shortener *s) {
    pel_program_function *f = s->function;
    pel_node *value = only_expression(f);
    if (!value || value->kind != PEL_Call || value->Call.keywords.n) return;
    pel_program_function *target = callee_of(s, value);
    if (!target || target == f || !is_plain_signature(target) || (target->class && target->class != f->class)) return;
    if (pel_map_find(&s->uses, PEL_KEY(target->name), 0) != 1) return;
    const pel_nodes mine = f->def->FunctionDef.args->arguments.args,
                    its = target->def->FunctionDef.args->arguments.args;
    uint32_t skip = target->class && !target->is_static ? 1 : 0;
    const pel_nodes params = { its.at + skip, its.n - skip };
    if (value->Call.args.n != params.n || params.n + (f->class ? 1 : 0) > mine.n ||
        (skip && mine.at[0]->arg.arg != its.at[0]->arg.arg) || !takes_names(target, params, value->Call.args))
        return;
    binding b = { .names = pel_new_array(s->ctx, params.n, pel_name),
                  .values = pel_new_array(s->ctx, params.n, pel_node *),
                  .used = pel_new_array(s->ctx, params.n, uint32_t),
                  .ctx = s->ctx };
    for (uint32_t i = 0; i < params.n; i++) {
        if (params.at[i]->arg.arg == value->Call.args.at[i]->Name.id) continue;
        b.names[b.n] = params.at[i]->arg.arg;
        b.values[b.n++] = value->Call.args.at[i];
    }
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < target->def->FunctionDef.body.n; i++) {
        pel_node *copy = pel_copy(s->ctx, target->def->FunctionDef.body.at[i]);
        if (b.n) bind(&b, &copy);
        pel_nodes_push(s->ctx, &body, copy);
    }
    if (b.failed) return;
    f->def->FunctionDef.body = body;
    f->from_source &= target->from_source;
    target->dead = true;
    s->changed = true;
}

/* ---- one-line helpers are written where they are called ---- */

/* A call that only hands on: its own arguments are names, constants and attributes. */
static bool only_hands_on(const pel_node *node) {
    if (!node || node->kind != PEL_Call || !is_quiet(node->Call.func)) return false;
    for (uint32_t i = 0; i < node->Call.args.n; i++)
        if (!is_quiet(node->Call.args.at[i])) return false;
    for (uint32_t i = 0; i < node->Call.keywords.n; i++)
        if (!node->Call.keywords.at[i]->keyword.arg || !is_quiet(node->Call.keywords.at[i]->keyword.value))
            return false;
    return true;
}

static void count_nodes(void *arg, pel_node **slot) {
    uint32_t *n = arg;
    *n += (*slot)->kind == PEL_Call ? 2 : 1;
    pel_each_child(*slot, count_nodes, n);
}

/* What reads as well in the middle of another expression. The name of what is no function of the author's tells less.
 */
static bool is_small(pel_node *expression, bool from_source) {
    uint32_t n = 0;
    count_nodes(&n, &expression);
    return n <= (from_source ? 14u : 48u);
}

static bool is_protocol(pel_name name) {
    return pel_name_is(name, "forward") || pel_str_starts(pel_name_str(name), PEL_STR("__"));
}

/* Whether an expression begins with reading a name: what stands for it is evaluated first then, as an argument is. */
static bool begins_with(const pel_node *node, pel_name name) {
    for (;;) {
        switch (node->kind) {
        case PEL_Name: return node->Name.id == name;
        case PEL_Attribute: node = node->Attribute.value; break;
        case PEL_Subscript: node = node->Subscript.value; break;
        case PEL_Call: node = node->Call.func; break;
        case PEL_BinOp: node = node->BinOp.left; break;
        default: return false;
        }
    }
}

/* x.shape[1] */
static bool is_part_of_quiet(const pel_node *node) {
    return node->kind == PEL_Subscript && node->Subscript.slice->kind == PEL_Constant &&
           is_quiet(node->Subscript.value);
}

static pel_node *inlined(shortener *s, const pel_node *call) {
    pel_program_function *target = callee_of(s, call);
    if (!target || target == s->function || is_protocol(target->name) || !is_plain_signature(target)) return NULL;
    pel_node *expression = only_expression(target);
    bool once = pel_map_find(&s->uses, PEL_KEY(target->name), 0) == 1;
    if (!expression) return NULL;
    /* what it was given, a part of it, whether there is one: no shorter under a name of its own */
    bool is_plain = is_quiet(expression) || is_part_of_quiet(expression);
    if (!is_plain && !only_hands_on(expression) && !(once && is_small(expression, target->from_source))) return NULL;
    const pel_nodes params = target->def->FunctionDef.args->arguments.args;
    const pel_nodes defaults = target->def->FunctionDef.args->arguments.defaults;
    binding b = { .names = pel_new_array(s->ctx, params.n, pel_name),
                  .values = pel_new_array(s->ctx, params.n, pel_node *),
                  .used = pel_new_array(s->ctx, params.n, uint32_t),
                  .n = params.n,
                  .ctx = s->ctx };
    uint32_t given = 0;
    if (target->class && !target->is_static) b.values[given++] = call->Call.func->Attribute.value;
    if (call->Call.args.n > params.n - given) return NULL;
    for (uint32_t i = 0; i < call->Call.args.n; i++) b.values[given++] = call->Call.args.at[i];
    for (uint32_t i = 0; i < params.n; i++) {
        b.names[i] = params.at[i]->arg.arg;
        for (uint32_t k = 0; k < call->Call.keywords.n; k++)
            if (call->Call.keywords.at[k]->keyword.arg == b.names[i])
                b.values[i] = call->Call.keywords.at[k]->keyword.value;
        if (!b.values[i] && i + defaults.n >= params.n) b.values[i] = defaults.at[i + defaults.n - params.n];
        if (!b.values[i] || (!is_quiet(b.values[i]) && !begins_with(expression, b.names[i]))) return NULL;
    }
    pel_node *copy = pel_copy(s->ctx, expression);
    bind(&b, &copy);
    uint32_t n_moving = 0, n_others = 0; /* what does something, and what it might change */
    for (uint32_t i = 0; i < b.n; i++) {
        bool is_word = b.values[i]->kind == PEL_Name || b.values[i]->kind == PEL_Constant,
             moves = !is_quiet(b.values[i]);
        if ((b.used[i] > 1 && !is_word) || (b.used[i] != 1 && moves)) return NULL;
        n_moving += moves;
        n_others += !moves && !is_word;
    }
    if (n_moving && n_others) return NULL;
    return b.failed ? NULL : copy;
}

/* not exists(x)  ->  not (x is not None)  ->  x is None */
static void turn_identity(pel_ctx *ctx, pel_node **slot) {
    const pel_node *node = *slot;
    if (node->kind != PEL_UnaryOp || node->UnaryOp.op != PEL_Not) return;
    const pel_node *test = node->UnaryOp.operand;
    if (test->kind != PEL_Compare || test->Compare.ops.n != 1) return;
    uint8_t op = test->Compare.ops.at[0];
    if (op != PEL_Is && op != PEL_IsNot) return;
    *slot =
        pel_make_compare(ctx, test->Compare.left, op == PEL_Is ? PEL_IsNot : PEL_Is, test->Compare.comparators.at[0]);
}

static bool has_keyword_names(const pel_node *dict) {
    if (dict->kind != PEL_Dict) return false;
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        const pel_node *key = dict->Dict.keys.at[i];
        if (!key || key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR ||
            !pel_is_identifier(key->Constant.value->text))
            return false;
    }
    return true;
}

/* f(**{"a": x})  ->  f(a=x) */
static void spread_keywords(pel_ctx *ctx, pel_node *call) {
    pel_nodes keywords = { 0 };
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        pel_node *keyword = call->Call.keywords.at[i], *dict = keyword->keyword.value;
        if (keyword->keyword.arg || !has_keyword_names(dict)) {
            pel_nodes_push(ctx, &keywords, keyword);
            continue;
        }
        for (uint32_t k = 0; k < dict->Dict.keys.n; k++) {
            pel_name name = pel_intern_str(ctx, dict->Dict.keys.at[k]->Constant.value->text);
            pel_nodes_push(ctx, &keywords, pel_make_keyword(ctx, name, dict->Dict.values.at[k]));
        }
    }
    call->Call.keywords = keywords;
}

/* getattr(self, "weight")  ->  self.weight; a name with two underscores would mean another one in a class */
static void read_plainly(pel_ctx *ctx, pel_node **slot) {
    const pel_node *call = *slot;
    if (call->kind != PEL_Call || call->Call.func->kind != PEL_Name ||
        !pel_name_is(call->Call.func->Name.id, "getattr") || call->Call.args.n != 2 || call->Call.keywords.n)
        return;
    const pel_node *name = call->Call.args.at[1];
    if (name->kind != PEL_Constant || name->Constant.value->kind != PEL_CONST_STR) return;
    pel_str text = name->Constant.value->text;
    if (!pel_is_identifier(text) || pel_str_starts(text, PEL_STR("__"))) return;
    *slot = pel_make_attribute(ctx, call->Call.args.at[0], pel_intern_str(ctx, text), PEL_Load);
}

static void inline_calls(void *arg, pel_node **slot) {
    shortener *s = arg;
    pel_each_child(*slot, inline_calls, s);
    turn_identity(s->ctx, slot);
    read_plainly(s->ctx, slot);
    if ((*slot)->kind != PEL_Call) return;
    spread_keywords(s->ctx, *slot);
    pel_node *instead = inlined(s, *slot);
    if (!instead) return;
    *slot = instead;
    s->changed = true;
}

/* ---- the pass ---- */

static void recount(shortener *s) {
    s->uses = (pel_map){ 0 };
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        pel_program_function *function = s->program->functions.at[i];
        if (function->dead || !function->def) continue;
        count_uses(s, &function->def);
        for (uint32_t k = 0; k < function->after.n; k++) count_uses(s, &function->after.at[k]);
    }
    for (uint32_t i = 0; i < s->program->classes.n; i++)
        if (s->program->classes.at[i]->def) count_uses(s, &s->program->classes.at[i]->def);
    for (pel_id code = 1; code < s->log->codes.n; code++) { /* constructors will name what instances hold */
        pel_node *name = pel_map_pointer(&s->program->held, code);
        if (name) count_uses(s, &name);
    }
    for (uint32_t i = 0; i < s->program->hooks.registrations.n; i++) { /* and register these */
        pel_node *name = pel_make_name(s->ctx, s->program->hooks.registrations.at[i].method, PEL_Load);
        count_uses(s, &name);
    }
}

/* Functions and methods that nothing mentions any more. */
static void bury_unused(shortener *s) {
    for (uint32_t i = 0; i < s->program->functions.n; i++) {
        pel_program_function *f = s->program->functions.at[i];
        if (f->dead || !f->def || is_protocol(f->name) || pel_map_has(&s->uses, PEL_KEY(f->name))) continue;
        f->dead = true;
        s->changed = true;
    }
}

static void shorten(pel_ctx *ctx, pel_program *program) {
    shortener s = { .ctx = ctx, .program = program, .log = program->log };
    collect_identities(&s);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        s.changed = false;
        recount(&s);
        for (uint32_t i = 0; i < program->functions.n; i++) {
            s.function = program->functions.at[i];
            if (s.function->dead || !s.function->def) continue;
            for (uint32_t k = 0; k < s.function->def->FunctionDef.body.n; k++)
                drop_idle_parts(&s, &s.function->def->FunctionDef.body.at[k]);
            drop_idle_statements(&s, &s.function->def->FunctionDef.body, false);
            inline_calls(&s, &s.function->def);
            merge_forwarder(&s);
            if (s.changed) recount(&s);
        }
        bury_unused(&s);
        if (!s.changed) return;
    }
}

bool pel_pass_shorten(pel_synth *s) {
    shorten(s->ctx, s->program);
    return false;
}
