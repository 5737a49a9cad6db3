#include "model/model.h"

#include "base/map.h"

#define MAX_DEPTH 500
#define MAX_STATE_MODULES 2000000

pel_network *pel_network_new(pel_ctx *ctx, pel_str name) {
    pel_network *network = pel_new(ctx, pel_network);
    network->name = name;
    network->separator = '.';
    return network;
}

pel_module *pel_module_new(pel_ctx *ctx, pel_str name, pel_str class) {
    pel_module *module = pel_new(ctx, pel_module);
    module->name = name;
    module->class = class;
    module->repeat.size = 1;
    module->flops = -1;
    return module;
}

pel_shape pel_shape_of(pel_ctx *ctx, const int64_t *sizes, uint32_t n) {
    pel_shape shape = { pel_new_array(ctx, n, pel_dim), n, true };
    for (uint32_t i = 0; i < n; i++) shape.dims[i].size = sizes[i];
    return shape;
}

/* ---- walking ---- */

pel_str pel_full_name(pel_ctx *ctx, const pel_network *network, pel_str path, pel_str name) {
    if (!path.len) return name;
    char *text = pel_alloc_raw(ctx, path.len + 1 + name.len);
    memcpy(text, path.ptr, path.len);
    text[path.len] = network->separator;
    memcpy(text + path.len + 1, name.ptr, name.len);
    return (pel_str){ text, path.len + 1 + name.len };
}

pel_str pel_tensor_name(pel_ctx *ctx, const pel_network *network, pel_str path, const pel_model_tensor *tensor) {
    return tensor->full.len ? tensor->full : pel_full_name(ctx, network, path, tensor->name);
}

typedef struct walker {
    pel_ctx *ctx;
    const pel_network *network;
    pel_visit_module *visit;
    void *arg;
} walker;

static void walk(const walker *w, const pel_module *module, pel_str path, int depth) {
    if (depth > MAX_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    w->visit(w->arg, module, path);
    for (uint32_t i = 0; i < module->children.n; i++)
        walk(w, module->children.at[i], pel_full_name(w->ctx, w->network, path, module->children.at[i]->name),
             depth + 1);
}

void pel_each_module(pel_ctx *ctx, const pel_network *network, pel_visit_module *visit, void *arg) {
    walker w = { ctx, network, visit, arg };
    if (network->root) walk(&w, network->root, (pel_str){ "", 0 }, 0);
}

/* ---- walking as a state_dict does: through shared modules again ---- */

typedef struct state_walk {
    pel_ctx *ctx;
    const pel_network *network;
    pel_map modules; /* full name, interned -> module */
    pel_visit_module *visit;
    void *arg;
    uint32_t n_visits;
} state_walk;

static void note_module(void *arg, const pel_module *module, pel_str path) {
    state_walk *w = arg;
    if (!module->shared_with.len)
        pel_map_set(w->ctx, &w->modules, PEL_KEY(pel_intern_str(w->ctx, path)), PEL_KEY(module));
}

static void walk_state(state_walk *w, const pel_module *module, pel_str path, int depth) {
    if (depth > MAX_DEPTH) pel_throw(w->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    if (module->shared_with.len) {
        pel_name name = pel_intern_str(w->ctx, module->shared_with);
        const pel_module *same = pel_map_pointer(&w->modules, PEL_KEY(name));
        if (same) module = same;
    }
    /* modules that are shared on every level double the walk with each */
    if (++w->n_visits > MAX_STATE_MODULES)
        pel_throw(w->ctx, PEL_E_TOO_BIG, 0, "more than %d modules, shared ones unfolded", MAX_STATE_MODULES);
    w->visit(w->arg, module, path);
    for (uint32_t i = 0; i < module->children.n; i++)
        walk_state(w, module->children.at[i], pel_full_name(w->ctx, w->network, path, module->children.at[i]->name),
                   depth + 1);
}

void pel_each_state_module(pel_ctx *ctx, const pel_network *network, pel_visit_module *visit, void *arg) {
    state_walk w = { .ctx = ctx, .network = network, .visit = visit, .arg = arg };
    pel_each_module(ctx, network, note_module, &w);
    if (network->root) walk_state(&w, network->root, (pel_str){ "", 0 }, 0);
}

/* ---- sizes ---- */

bool pel_shape_count(const pel_shape *shape, uint64_t *count) {
    *count = 1;
    if (!shape->is_known) return false;
    for (uint32_t i = 0; i < shape->n; i++) {
        if (shape->dims[i].symbol.len || shape->dims[i].size < 0) return false;
        if (__builtin_mul_overflow(*count, (uint64_t)shape->dims[i].size, count)) return false;
    }
    return true;
}

uint32_t pel_dtype_size(pel_str dtype) {
    static const struct {
        const char *name;
        uint32_t size;
    } rows[] = {
        { "float32", 4 },         { "float16", 2 },
        { "bfloat16", 2 },        { "float64", 8 },
        { "int64", 8 },           { "int32", 4 },
        { "int16", 2 },           { "int8", 1 },
        { "uint8", 1 },           { "bool", 1 },
        { "complex64", 8 },       { "complex128", 16 },
        { "uint16", 2 },          { "uint32", 4 },
        { "uint64", 8 },          { "complex32", 4 },
        { "float8_e4m3fn", 1 },   { "float8_e5m2", 1 },
        { "qint8", 1 },           { "quint8", 1 },
        { "qint32", 4 },          { "float8_e4m3fnuz", 1 },
        { "float8_e5m2fnuz", 1 }, { "float8_e8m0fnu", 1 },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(dtype, rows[i].name)) return rows[i].size;
    return 0;
}

/* A shared module or a tied tensor counts once, where it is first. Repeats, conditions, opaque modules and open sizes
 * make the totals inexact: the numbers are then those of what is known. */
static void add_totals(void *arg, const pel_module *module, pel_str path) {
    pel_totals *totals = arg;
    (void)path;
    if (module->shared_with.len) return;
    totals->modules++;
    if (module->repeat.symbol.len || module->repeat.size != 1) totals->exact = false;
    if (module->is_opaque || module->condition.len) totals->exact = false;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        uint64_t count;
        if (tensor->tied_to.len) continue;
        if (tensor->condition.len) totals->exact = false;
        if (!pel_shape_count(&tensor->shape, &count)) {
            totals->exact = false;
            continue;
        }
        totals->bytes += count * pel_dtype_size(tensor->dtype);
        if (tensor->role == PEL_PARAMETER) {
            totals->parameters += count;
            totals->n_parameters++;
            if (!tensor->frozen) totals->trainable += count;
        } else {
            totals->buffers += count;
            totals->n_buffers++;
        }
    }
}

pel_totals pel_network_totals(pel_ctx *ctx, const pel_network *network) {
    pel_totals totals = { .exact = true, .flops = network->root ? network->root->flops : -1 };
    pel_each_module(ctx, network, add_totals, &totals);
    for (uint32_t i = 0; i < network->unknown.n; i++) totals.exact &= !network->unknown.at[i].is_lost;
    return totals;
}

/* ---- alike ---- */

static bool same_dim(pel_dim a, pel_dim b) { return a.size == b.size && pel_str_eq(a.symbol, b.symbol); }

static bool same_shape(const pel_shape *a, const pel_shape *b) {
    if (a->is_known != b->is_known || a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!same_dim(a->dims[i], b->dims[i])) return false;
    return true;
}

bool pel_module_alike(const pel_module *a, const pel_module *b) {
    if (a->is_opaque != b->is_opaque || !pel_str_eq(a->class, b->class) || !pel_str_eq(a->condition, b->condition) ||
        !same_dim(a->repeat, b->repeat) || a->args.n != b->args.n || a->tensors.n != b->tensors.n ||
        a->children.n != b->children.n || a->shared_with.len || b->shared_with.len ||
        !same_shape(&a->output, &b->output))
        return false;
    for (uint32_t i = 0; i < a->args.n; i++)
        if (!pel_str_eq(a->args.at[i].name, b->args.at[i].name) || !pel_same(a->args.at[i].value, b->args.at[i].value))
            return false;
    for (uint32_t i = 0; i < a->tensors.n; i++) {
        const pel_model_tensor *x = &a->tensors.at[i], *y = &b->tensors.at[i];
        if (!pel_str_eq(x->name, y->name) || x->role != y->role || x->frozen != y->frozen || x->tied_to.len ||
            y->tied_to.len || !pel_str_eq(x->dtype, y->dtype) || !same_shape(&x->shape, &y->shape))
            return false;
    }
    for (uint32_t i = 0; i < a->children.n; i++)
        if (!pel_str_eq(a->children.at[i]->name, b->children.at[i]->name) ||
            !pel_module_alike(a->children.at[i], b->children.at[i]))
            return false;
    return true;
}
