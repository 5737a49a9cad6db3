/* Steps with their stacks become calls of modules: what a call takes and gives is found by who makes a value and who
 * uses it. Each module gets one method for all calls that do the same. */
#include "source/export.h"

typedef struct call call;
typedef struct item {
    pel_step *step; /* or: */
    call *inner;
} item;

struct call {
    pel_name key;
    pel_part *part;
    call *parent;
    int depth;
    PEL_VEC(item) items;
    pel_values takes, gives;
    pel_map taken, given;
    pel_name method;
};

typedef struct cutter {
    pel_export *e;
    pel_ctx *ctx;
    call *root, *now; /* where the walk is */
    pel_map made_in;  /* value -> the innermost call that makes it */
    pel_map made_at;  /* value -> its number */
    uint64_t n_values;
    call *user; /* of the step whose arguments are looked at */
    pel_map renamed;
} cutter;

static call *new_call(cutter *c, pel_name key, pel_str path, call *parent) {
    call *new = pel_new(c->ctx, call);
    new->key = key;
    new->part = pel_part_make(c->e->r, path);
    new->parent = parent;
    new->depth = parent ? parent->depth + 1 : 0;
    if (parent) pel_push(c->ctx, &parent->items, (item){ .inner = new });
    return new;
}

/* The innermost call of a step: those that both this step and the one before it are in stay open. */
static call *call_of(cutter *c, const pel_step *step) {
    call *at[256];
    int n = 0;
    for (call *i = c->now; i; i = i->parent) at[i->depth] = i;
    call *inner = c->root;
    bool is_open = true;
    for (uint32_t i = 1; i < step->stack.n; i++) {
        n = inner->depth + 1;
        is_open = is_open && n <= c->now->depth && at[n]->key == step->stack.at[i].key;
        inner = is_open ? at[n] : new_call(c, step->stack.at[i].key, step->stack.at[i].path, inner);
    }
    return c->now = inner;
}

static void made(cutter *c, pel_name value, call *by) {
    if (!value) return;
    if (!pel_map_set(c->ctx, &c->made_in, PEL_KEY(value), PEL_KEY(by)))
        pel_throw(c->ctx, PEL_E_FORMAT, 0, "source from a file: two nodes make the value %s", value->text);
    pel_map_set(c->ctx, &c->made_at, PEL_KEY(value), c->n_values++);
}

/* ---- who takes and gives what ---- */

/* The name under which a part, or what is below it, has this weight; NULL: it has it not. */
static pel_name weight_in(cutter *c, pel_name value, const pel_part *part) {
    const pel_str *full = pel_map_pointer(&c->e->weights, PEL_KEY(value));
    pel_name name = pel_intern_str(c->ctx, *full);
    const pel_values *names = pel_map_pointer(&c->e->names_of, pel_map_find(&c->e->weight_ids, PEL_KEY(name), 0));
    if (pel_part_holds(part->path, *full)) return name;
    for (uint32_t i = 0; names && i < names->n; i++)
        if (pel_part_holds(part->path, pel_name_str(names->at[i]))) return names->at[i];
    return NULL;
}

static void take(cutter *c, call *by, pel_name value) {
    if (pel_map_set(c->ctx, &by->taken, PEL_KEY(value), 1)) pel_push(c->ctx, &by->takes, value);
}

static void give(cutter *c, call *by, pel_name value) {
    if (!pel_map_set(c->ctx, &by->given, PEL_KEY(value), 1)) return;
    pel_push(c->ctx, &by->gives, value);
    uint64_t number = pel_map_find(&c->made_at, PEL_KEY(value), 0);
    for (uint32_t i = by->gives.n - 1; i && pel_map_find(&c->made_at, PEL_KEY(by->gives.at[i - 1]), 0) > number; i--) {
        by->gives.at[i] = by->gives.at[i - 1];
        by->gives.at[i - 1] = value;
    }
}

static void use(cutter *c, pel_name value, call *user) {
    if (pel_map_has(&c->e->weights, PEL_KEY(value))) {
        for (call *i = user; i && !weight_in(c, value, i->part); i = i->parent) take(c, i, value);
        return;
    }
    call *maker = pel_map_pointer(&c->made_in, PEL_KEY(value));
    if (!maker) pel_throw(c->ctx, PEL_E_FORMAT, 0, "source from a file: nothing makes the value %s", value->text);
    while (user != maker) {
        if (user->depth >= maker->depth) {
            take(c, user, value);
            user = user->parent;
        } else {
            give(c, maker, value);
            maker = maker->parent;
        }
    }
}

static bool is_operator(pel_name name) { return memchr(name->text, '.', name->len) != NULL; }

static void look(void *arg, pel_node **slot) {
    cutter *c = arg;
    static const char *const plain[] = { "float", "torch", "F", "self" };
    bool is_value = (*slot)->kind == PEL_Name && !is_operator((*slot)->Name.id);
    for (size_t i = 0; is_value && i < PEL_COUNT(plain); i++) is_value = !pel_name_is((*slot)->Name.id, plain[i]);
    if (is_value) use(c, (*slot)->Name.id, c->user);
    pel_each_child(*slot, look, c);
}

/* ---- methods ---- */

typedef struct writer {
    cutter *c;
    call *of;
} writer;

/* Weights are attributes, where the module has them; all other values get names that no Python has, in order. */
static void settle(void *arg, pel_node **slot) {
    writer *w = arg;
    pel_node *node = *slot;
    if (node->kind == PEL_Name) {
        bool is_weight = pel_map_has(&w->c->e->weights, PEL_KEY(node->Name.id));
        pel_name full = is_weight ? weight_in(w->c, node->Name.id, w->of->part) : NULL;
        if (full) {
            *slot = pel_part_access(w->c->ctx, w->of->part->path, pel_name_str(full));
        } else if (is_weight || pel_map_has(&w->c->made_in, PEL_KEY(node->Name.id))) {
            uint64_t known = pel_map_find(&w->c->renamed, PEL_KEY(node->Name.id), 0);
            pel_name name = known ? (pel_name)(uintptr_t)known
                                  : pel_intern_str(w->c->ctx, pel_format(w->c->ctx, "v.%u", w->c->renamed.n));
            if (!known) pel_map_set(w->c->ctx, &w->c->renamed, PEL_KEY(node->Name.id), PEL_KEY(name));
            *slot = pel_make_name(w->c->ctx, name, node->Name.ctx);
        }
        return;
    }
    pel_each_child(node, settle, w);
}

static pel_node *row_of(cutter *c, const pel_values *names, pel_CTX ctx, bool is_row) {
    if (names->n == 1 && !is_row)
        return pel_make_name(c->ctx, names->at[0] ? names->at[0] : pel_intern_c(c->ctx, "_"), ctx);
    pel_node *row = pel_node_new(c->ctx, PEL_Tuple);
    row->Tuple.ctx = ctx;
    for (uint32_t i = 0; i < names->n; i++)
        pel_nodes_push(c->ctx, &row->Tuple.elts,
                       pel_make_name(c->ctx, names->at[i] ? names->at[i] : pel_intern_c(c->ctx, "_"), ctx));
    return row;
}

static pel_node *inner_call(cutter *c, const call *of, const call *inner) {
    pel_node *function = pel_part_access(c->ctx, of->part->path, inner->part->path);
    if (!pel_name_is(inner->method, "forward"))
        function = pel_make_attribute(c->ctx, function, inner->method, PEL_Load);
    pel_nodes args = { 0 };
    for (uint32_t i = 0; i < inner->takes.n; i++)
        pel_nodes_push(c->ctx, &args, pel_make_name(c->ctx, inner->takes.at[i], PEL_Load));
    return pel_make_call(c->ctx, function, args, (pel_nodes){ 0 });
}

static void add_method(cutter *c, call *of, pel_node *method) {
    pel_part *part = of->part;
    for (uint32_t i = 0; i < part->methods.n; i++) {
        pel_node *known = part->methods.at[i];
        of->method = method->FunctionDef.name = known->FunctionDef.name;
        if (pel_same(known, method)) return;
    }
    pel_str name = part->methods.n ? pel_format(c->ctx, "forward_%u", part->methods.n) : PEL_STR("forward");
    of->method = method->FunctionDef.name = pel_intern_str(c->ctx, name);
    pel_nodes_push(c->ctx, &part->methods, method);
}

/* Inner calls first: their callers must know which method it is. */
static void write_call(cutter *c, call *of) {
    pel_ctx *ctx = c->ctx;
    pel_nodes body = { 0 };
    for (uint32_t i = 0; i < of->items.n; i++)
        if (of->items.at[i].inner) write_call(c, of->items.at[i].inner);
    for (uint32_t i = 0; i < of->items.n; i++) {
        const pel_step *step = of->items.at[i].step;
        const call *inner = of->items.at[i].inner;
        const pel_values *results = step ? &step->results : &inner->gives;
        pel_node *value = step ? step->call : inner_call(c, of, inner);
        pel_nodes_push(ctx, &body,
                       results->n ? pel_make_assign(ctx, row_of(c, results, PEL_Store, step && step->is_list), value)
                                  : pel_make_expr(ctx, value));
    }
    if (!of->parent)
        pel_nodes_push(ctx, &body, pel_make_return(ctx, c->e->output));
    else if (of->gives.n)
        pel_nodes_push(ctx, &body, pel_make_return(ctx, row_of(c, &of->gives, PEL_Load, false)));
    pel_node *method = pel_node_new(ctx, PEL_FunctionDef);
    method->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    method->FunctionDef.name = pel_intern_c(ctx, "forward");
    method->FunctionDef.body = body;
    const pel_values *takes = of->parent ? &of->takes : &c->e->inputs;
    c->renamed = (pel_map){ 0 };
    pel_node *self = pel_node_new(ctx, PEL_arg);
    self->arg.arg = pel_intern_c(ctx, "self");
    pel_nodes_push(ctx, &method->FunctionDef.args->arguments.args, self);
    for (uint32_t i = 0; i < takes->n; i++) {
        pel_name name = of->parent ? pel_intern_str(ctx, pel_format(ctx, "v.%u", i)) : takes->at[i];
        pel_map_set(ctx, &c->renamed, PEL_KEY(takes->at[i]), PEL_KEY(name));
        pel_node *arg = pel_node_new(ctx, PEL_arg);
        arg->arg.arg = name;
        pel_nodes_push(ctx, &method->FunctionDef.args->arguments.args, arg);
    }
    writer w = { c, of };
    pel_node *holder = method;
    pel_each_child(holder, settle, &w);
    add_method(c, of, method);
}

void pel_export_methods(pel_export *e) {
    cutter c = { .e = e, .ctx = e->r->ctx };
    c.now = c.root = new_call(&c, NULL, (pel_str){ "", 0 }, NULL);
    for (uint32_t i = 0; i < e->inputs.n; i++) made(&c, e->inputs.at[i], c.root);
    for (uint32_t i = 0; i < e->steps.n; i++) {
        pel_step *step = &e->steps.at[i];
        call *by = call_of(&c, step);
        pel_push(c.ctx, &by->items, (item){ .step = step });
        for (uint32_t k = 0; k < step->results.n; k++) made(&c, step->results.at[k], by);
        c.user = by;
        pel_each_child(step->call, look, &c);
    }
    c.user = c.root;
    look(&c, &e->output);
    write_call(&c, c.root);
}
