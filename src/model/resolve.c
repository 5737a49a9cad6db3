/* What a network from source leaves open, read off one that is known: a checkpoint, a recorded run. */
#include "base/map.h"
#include "model/model.h"
#include "python/parse.h"

#define MAX_DEPTH 100
#define MAX_COUNT 100000 /* of modules in a row */

typedef struct resolver {
    pel_ctx *ctx;
    const pel_network *known;
    pel_str prefix;  /* that the names of the known one have before ours */
    pel_map shapes;  /* interned name -> pel_shape of the known one */
    pel_map folders; /* interned names of its modules, all of them */
    pel_facts *facts;
} resolver;

/* ---- the known one ---- */

static void note_folders(resolver *r, pel_str name) {
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] == r->known->separator)
            pel_map_set(r->ctx, &r->folders, PEL_KEY(pel_intern(r->ctx, name.ptr, i)), 1);
}

static void collect(void *arg, const pel_module *module, pel_str path) {
    resolver *r = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_str name = pel_tensor_name(r->ctx, r->known, path, &module->tensors.at[i]);
        if (!pel_str_starts(name, r->prefix)) continue;
        name = pel_str_from(name, r->prefix.len);
        pel_map_set(r->ctx, &r->shapes, PEL_KEY(pel_intern_str(r->ctx, name)), PEL_KEY(&module->tensors.at[i].shape));
        note_folders(r, name);
    }
}

static const pel_shape *known_shape(const resolver *r, pel_str name) {
    return pel_map_pointer(&r->shapes, PEL_KEY(pel_intern_str(r->ctx, name)));
}

static bool has_folder(const resolver *r, pel_str name) {
    return pel_map_has(&r->folders, PEL_KEY(pel_intern_str(r->ctx, name)));
}

/* ---- facts ---- */

static void add_fact(resolver *r, pel_str what, pel_str value, pel_str from) {
    for (uint32_t i = 0; i < r->facts->n; i++)
        if (pel_str_eq(r->facts->at[i].what, what)) return;
    pel_push(r->ctx, r->facts, (pel_fact){ what, value, from });
}

static pel_str text_of(const pel_node *node, pel_str text) {
    return pel_str_cut(text, node->col_offset, node->end_col_offset);
}

static bool is_number(const pel_node *node, int64_t *value) {
    if (node->kind != PEL_Constant || node->Constant.value->kind != PEL_CONST_INT) return false;
    *value = node->Constant.value->integer.small;
    return node->Constant.value->integer.digits.len == 0;
}

/* The one unknown in an expression, and its value if the whole has that one: 4 * hidden = 256, hidden = 64. */
static bool solve(const pel_node *node, pel_str text, int64_t value, pel_str *what, int64_t *found, int depth) {
    int64_t c;
    if (depth > MAX_DEPTH) return false;
    if (node->kind != PEL_BinOp) {
        *what = text_of(node, text);
        *found = value;
        return node->kind == PEL_Name || node->kind == PEL_Attribute || node->kind == PEL_Subscript;
    }
    bool is_left = is_number(node->BinOp.right, &c), is_right = !is_left && is_number(node->BinOp.left, &c);
    const pel_node *open = is_left ? node->BinOp.left : node->BinOp.right;
    if (!is_left && !is_right) return false;
    switch (node->BinOp.op) {
    case PEL_Mult: return c > 0 && value % c == 0 && solve(open, text, value / c, what, found, depth + 1);
    case PEL_Add: return solve(open, text, value - c, what, found, depth + 1);
    case PEL_Sub: return solve(open, text, is_left ? value + c : c - value, what, found, depth + 1);
    default: return false;
    }
}

typedef struct equation {
    pel_str text, what;
    int64_t value, found;
    bool is_solved;
} equation;

static void solve_body(pel_ctx *ctx, void *arg) {
    equation *e = arg;
    pel_source source = pel_source_text(ctx, PEL_STR("symbol"), e->text);
    const pel_node *node = pel_parse_expression(ctx, &source, PEL_VERSION_MAX)->Expression.body;
    e->is_solved = solve(node, e->text, e->value, &e->what, &e->found, 0);
}

/* whole: what can't be solved is known as it is written: hidden // 2 = 32. */
static void put_size(resolver *r, pel_str symbol, int64_t value, pel_str from, bool whole) {
    equation e = { .text = symbol, .value = value };
    pel_err ignored;
    bool solved = pel_attempt(r->ctx, solve_body, &e, &ignored) && e.is_solved && e.found >= 0;
    if (solved)
        add_fact(r, e.what, pel_format(r->ctx, "%lld", (long long)e.found), from);
    else if (whole)
        add_fact(r, symbol, pel_format(r->ctx, "%lld", (long long)value), from);
}

/* ---- sizes ---- */

static bool may_be(const pel_shape *open, const pel_shape *known) {
    if (!open->is_known || !known->is_known) return true;
    if (open->n != known->n) return false;
    for (uint32_t i = 0; i < open->n; i++)
        if (!open->dims[i].symbol.len && open->dims[i].size != known->dims[i].size) return false;
    return true;
}

static void put_sizes(resolver *r, const pel_module *module, pel_str path, bool whole) {
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        pel_str name = path.len ? pel_format(r->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(tensor->name)) : tensor->name;
        const pel_shape *known = known_shape(r, name);
        if (!known || !tensor->shape.is_known || known->n != tensor->shape.n) continue;
        for (uint32_t k = 0; k < known->n; k++)
            if (tensor->shape.dims[k].symbol.len && !known->dims[k].symbol.len)
                put_size(r, tensor->shape.dims[k].symbol, known->dims[k].size, name, whole);
    }
}

/* ---- counts ---- */

/* How many modules are in a row from a numbered one on. */
static int64_t count_from(const resolver *r, pel_str parent, pel_str first) {
    int64_t start = 0;
    for (size_t i = 0; i < first.len; i++) {
        if (first.ptr[i] < '0' || first.ptr[i] > '9' || start > MAX_COUNT) return -1;
        start = start * 10 + (first.ptr[i] - '0');
    }
    int64_t n = 0;
    for (; n < MAX_COUNT; n++) {
        pel_str name = parent.len ? pel_format(r->ctx, "%.*s.%lld", PEL_FMT(parent), (long long)(start + n))
                                  : pel_format(r->ctx, "%lld", (long long)(start + n));
        if (!has_folder(r, name)) break;
    }
    return n;
}

/* ---- conditions ---- */

/* 1: the known one has it as it is here, 0: it has not, -1: without tensors nobody can tell. */
static int is_there(const resolver *r, const pel_module *module, pel_str path, int depth) {
    int found = -1;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_str name = pel_format(r->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(module->tensors.at[i].name));
        const pel_shape *known = known_shape(r, name);
        if (!known || !may_be(&module->tensors.at[i].shape, known)) return 0;
        found = 1;
    }
    for (uint32_t i = 0; i < module->children.n && depth < MAX_DEPTH; i++) {
        const pel_module *child = module->children.at[i];
        if (child->condition.len) continue;
        pel_str name = pel_format(r->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(child->name));
        int one = is_there(r, child, name, depth + 1);
        if (one == 0) return 0;
        if (one > 0) found = 1;
    }
    return found;
}

static void put_condition(resolver *r, pel_str condition, bool holds, pel_str from) {
    if (pel_str_ends(condition, PEL_STR(" more decisions"))) return; /* cut off: nobody knows what they ask */
    pel_str negation = PEL_STR("not (");
    if (pel_str_starts(condition, negation) && pel_str_ends(condition, PEL_STR(")"))) {
        condition = pel_str_cut(condition, negation.len, condition.len - 1);
        holds = !holds;
    }
    if (memchr(condition.ptr, ' ', condition.len)) {
        /* several of them: all hold, or nobody knows which does not */
        for (size_t i = 0; i + 5 <= condition.len; i++)
            if (memcmp(condition.ptr + i, " and ", 5) == 0) {
                if (!holds) return;
                put_condition(r, pel_str_cut(condition, 0, i), true, from);
                put_condition(r, pel_str_from(condition, i + 5), true, from);
                return;
            }
    }
    add_fact(r, condition, holds ? PEL_STR("True") : PEL_STR("False"), from);
}

/* ---- walking ---- */

static void walk(resolver *r, const pel_module *module, pel_str path, bool whole, int depth) {
    if (depth > MAX_DEPTH) pel_throw(r->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    put_sizes(r, module, path, whole);
    for (uint32_t i = 0; i < module->children.n; i++) {
        const pel_module *child = module->children.at[i];
        pel_str name = path.len ? pel_format(r->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(child->name)) : child->name;
        int there = child->condition.len ? is_there(r, child, name, 0) : 1;
        if (child->condition.len && there >= 0)
            put_condition(r, child->condition, there,
                          pel_format(r->ctx, "%.*s is %s", PEL_FMT(name), there ? "there" : "absent"));
        if (!there) continue;
        if (child->repeat.symbol.len) {
            int64_t n = count_from(r, path, child->name);
            pel_str from = pel_format(r->ctx, "%.*s and the next ones", PEL_FMT(name));
            if (n > 0) put_size(r, child->repeat.symbol, n, from, true);
        }
        walk(r, child, name, whole, depth + 1);
    }
}

void pel_network_resolve(pel_ctx *ctx, const pel_network *open, const pel_network *known, pel_facts *facts) {
    if (!open->root || !known->root) return;
    pel_comparison fit;
    pel_network_compare(ctx, open, known, true, &fit);
    resolver r = { .ctx = ctx, .known = known, .prefix = fit.prefix_b, .facts = facts };
    pel_each_state_module(ctx, known, collect, &r);
    uint32_t before = facts->n;
    walk(&r, open->root, (pel_str){ "", 0 }, false, 0);
    if (facts->n == before) walk(&r, open->root, (pel_str){ "", 0 }, true, 0);
}
