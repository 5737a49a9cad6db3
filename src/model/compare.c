/* Two networks by the names, shapes and dtypes of their tensors: does this checkpoint fit this code? */
#include "base/map.h"
#include "model/model.h"

typedef struct named {
    pel_str name; /* without the prefix */
    const pel_model_tensor *tensor;
} named;

typedef struct side {
    pel_ctx *ctx;
    const pel_network *network;
    PEL_VEC(named) rows;
    pel_map by_name; /* interned -> index of the row */
    pel_str prefix;  /* that was taken off its names */
    uint32_t apart;  /* tensors that do not begin with it: not compared */
} side;

#define MAX_PREFIXES 8 /* that are tried */

/* ---- collecting ---- */

static void collect(void *arg, const pel_module *module, pel_str path) {
    side *s = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        const pel_model_tensor *tensor = &module->tensors.at[i];
        if (tensor->role == PEL_VOLATILE_BUFFER) continue;
        pel_push(s->ctx, &s->rows, (named){ pel_tensor_name(s->ctx, s->network, path, tensor), tensor });
    }
}

static void index_rows(side *s) {
    s->by_name = (pel_map){ 0 };
    for (uint32_t i = 0; i < s->rows.n; i++)
        pel_map_set(s->ctx, &s->by_name, PEL_KEY(pel_intern(s->ctx, s->rows.at[i].name.ptr, s->rows.at[i].name.len)),
                    i);
}

static const named *find(const side *s, pel_str name) {
    uint64_t at;
    if (!pel_map_get(&s->by_name, PEL_KEY(pel_intern_str(s->ctx, name)), &at)) return NULL;
    return &s->rows.at[at];
}

static uint32_t n_common(const side *a, const side *b) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->rows.n; i++) n += find(b, a->rows.at[i].name) != NULL;
    return n;
}

/* ---- prefixes: a checkpoint has model.fc1.weight where the code has fc1.weight ---- */

static uint32_t n_with_prefix(const side *a, const side *b, pel_str prefix) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->rows.n; i++)
        n +=
            pel_str_starts(a->rows.at[i].name, prefix) && find(b, pel_str_from(a->rows.at[i].name, prefix.len)) != NULL;
    return n;
}

/* The prefix of a's names that makes most of them b's; empty if none does better than `least`. */
static pel_str best_prefix(const side *a, const side *b, uint32_t least) {
    pel_str best = { "", 0 };
    uint32_t tried = 0;
    for (uint32_t k = 0; k < b->rows.n && k < 3; k++) { /* by some of b's names: they must be somewhere in a */
        pel_str wanted = b->rows.at[k].name, before = { "", 0 };
        for (uint32_t i = 0; i < a->rows.n; i++) {
            pel_str name = a->rows.at[i].name;
            if (name.len <= wanted.len || !pel_str_ends(name, wanted) ||
                name.ptr[name.len - wanted.len - 1] != a->network->separator)
                continue;
            pel_str prefix = pel_str_cut(name, 0, name.len - wanted.len);
            if (pel_str_eq(prefix, before)) continue;
            if (++tried > MAX_PREFIXES) return best;
            before = prefix;
            uint32_t n = n_with_prefix(a, b, prefix);
            if (n > least) best = prefix, least = n;
        }
    }
    return best;
}

static void take_off(side *s, pel_str prefix) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->rows.n; i++) {
        named r = s->rows.at[i];
        if (!pel_str_starts(r.name, prefix)) continue;
        r.name = pel_str_from(r.name, prefix.len);
        s->rows.at[kept++] = r;
    }
    s->apart = s->rows.n - kept;
    s->rows.n = kept;
    s->prefix = prefix;
    index_rows(s);
}

/* ---- comparing ---- */

/* A symbol may be any size. */
static bool shapes_fit(const pel_shape *a, const pel_shape *b) {
    if (!a->is_known || !b->is_known) return true;
    if (a->n != b->n) return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!a->dims[i].symbol.len && !b->dims[i].symbol.len && a->dims[i].size != b->dims[i].size) return false;
    return true;
}

static side make_side(pel_ctx *ctx, const pel_network *network) {
    side s = { .ctx = ctx, .network = network };
    pel_each_module(ctx, network, collect, &s);
    index_rows(&s);
    return s;
}

/* Tensors that a file has and no reader of it could show. */
static uint32_t n_lost(const pel_network *network) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < network->unknown.n && network->format.len; i++)
        n += network->unknown.at[i].is_lost && !network->unknown.at[i].in_parts;
    return n;
}

static bool is_open(const pel_shape *shape) {
    bool any = !shape->is_known;
    for (uint32_t i = 0; i < shape->n; i++) any |= shape->dims[i].symbol.len > 0;
    return any;
}

static void count_opaque(void *arg, const pel_module *module, pel_str path) {
    (void)path;
    *(uint32_t *)arg += module->is_opaque || module->repeat.symbol.len || module->condition.len;
}

/* What a source does not say of its network: layers of unknown classes, branches, how many of them. */
static uint32_t n_unsaid(pel_ctx *ctx, const pel_network *network) {
    uint32_t n = 0;
    if (network->format.len) return 0;
    pel_each_module(ctx, network, count_opaque, &n);
    for (uint32_t i = 0; i < network->unknown.n; i++) n += network->unknown.at[i].is_lost;
    return n;
}

/* A prefix is tried only if both sides have names that the other lacks: where one side is part of the other, it could
 * only take matches away. Sizes and dtypes that are not known make no difference. */
void pel_network_compare(pel_ctx *ctx, const pel_network *first, const pel_network *second, bool ignore_dtype,
                         pel_comparison *out) {
    side a = make_side(ctx, first), b = make_side(ctx, second);
    uint32_t common = n_common(&a, &b);
    if (common < a.rows.n && common < b.rows.n) {
        pel_str of_a = best_prefix(&a, &b, common), of_b = best_prefix(&b, &a, common);
        if (of_a.len && (!of_b.len || n_with_prefix(&a, &b, of_a) >= n_with_prefix(&b, &a, of_b)))
            take_off(&a, of_a);
        else if (of_b.len)
            take_off(&b, of_b);
    }
    *out = (pel_comparison){ .prefix_a = a.prefix, .prefix_b = b.prefix, .apart_a = a.apart, .apart_b = b.apart };
    out->lost_a = n_lost(first);
    out->lost_b = n_lost(second);
    out->open = n_unsaid(ctx, first) + n_unsaid(ctx, second);
    for (uint32_t i = 0; i < a.rows.n; i++) {
        const named *x = &a.rows.at[i], *y = find(&b, x->name);
        pel_difference difference = { .name = x->name, .a = x->tensor, .b = y ? y->tensor : NULL };
        if (!y)
            difference.kind = PEL_ONLY_A;
        else if (!shapes_fit(&x->tensor->shape, &y->tensor->shape))
            difference.kind = PEL_OTHER_SHAPE;
        else if (!ignore_dtype && x->tensor->dtype.len && y->tensor->dtype.len &&
                 !pel_str_eq(x->tensor->dtype, y->tensor->dtype))
            difference.kind = PEL_OTHER_DTYPE;
        else {
            out->equal++;
            out->open += is_open(&x->tensor->shape) || is_open(&y->tensor->shape);
            continue;
        }
        pel_push(ctx, &out->differences, difference);
    }
    for (uint32_t i = 0; i < b.rows.n; i++)
        if (!find(&a, b.rows.at[i].name))
            pel_push(ctx, &out->differences,
                     (pel_difference){ .kind = PEL_ONLY_B, .name = b.rows.at[i].name, .b = b.rows.at[i].tensor });
}

/* ---- showing ---- */

static void put_tensor(pel_buf *out, const pel_model_tensor *tensor) {
    if (!tensor->shape.is_known) pel_put_c(out, "?");
    if (tensor->shape.is_known && !tensor->shape.n) pel_put_c(out, "scalar");
    for (uint32_t i = 0; i < tensor->shape.n; i++) {
        if (i) pel_put_c(out, "×");
        if (tensor->shape.dims[i].symbol.len)
            pel_put_visible(out, tensor->shape.dims[i].symbol);
        else
            pel_put_int(out, tensor->shape.dims[i].size);
    }
    if (tensor->dtype.len) pel_put_byte(out, ' '), pel_put_visible(out, tensor->dtype);
}

static const char *const kinds[] = {
    [PEL_ONLY_A] = "only_a", [PEL_ONLY_B] = "only_b", [PEL_OTHER_SHAPE] = "shape", [PEL_OTHER_DTYPE] = "dtype"
};

/* Names come from files that nobody trusts: pel_put_visible keeps their control characters away from the terminal.
 * Missing tensors come before those that only differ. */
void pel_comparison_text(const pel_comparison *found, pel_str a, pel_str b, pel_buf *out) {
    static const char *const titles[] = { [PEL_ONLY_A] = "only in ",
                                          [PEL_ONLY_B] = "only in ",
                                          [PEL_OTHER_SHAPE] = "other shape",
                                          [PEL_OTHER_DTYPE] = "other dtype" };
    if (found->prefix_a.len || found->prefix_b.len) {
        pel_put_visible(out, found->prefix_a.len ? a : b);
        pel_put_c(out, ": stripped the prefix '");
        pel_put_visible(out, found->prefix_a.len ? found->prefix_a : found->prefix_b);
        pel_put_c(out, "' from every name");
        uint32_t apart = found->apart_a + found->apart_b;
        if (apart) pel_putf(out, "; %u without it %s not compared", apart, apart == 1 ? "is" : "are");
        pel_put_byte(out, '\n');
    }
    for (int kind = PEL_ONLY_A; kind <= PEL_OTHER_DTYPE; kind++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < found->differences.n; i++) n += (int)found->differences.at[i].kind == kind;
        if (!n) continue;
        pel_put_c(out, titles[kind]);
        if (kind == PEL_ONLY_A) pel_put_visible(out, a);
        if (kind == PEL_ONLY_B) pel_put_visible(out, b);
        pel_putf(out, " (%u):\n", n);
        for (uint32_t i = 0; i < found->differences.n; i++) {
            const pel_difference *row = &found->differences.at[i];
            if ((int)row->kind != kind) continue;
            pel_put_c(out, "  ");
            pel_put_visible(out, row->name);
            pel_put_c(out, "  ");
            if (row->a) put_tensor(out, row->a);
            if (row->a && row->b) pel_put_c(out, " | ");
            if (row->b) put_tensor(out, row->b);
            pel_put_byte(out, '\n');
        }
    }
    for (int which = 0; which < 2; which++) {
        if (!(which ? found->lost_b : found->lost_a)) continue;
        pel_put_visible(out, which ? b : a);
        pel_put_c(
            out,
            ": not all of its tensors could be read, so nobody knows whether all are the same: see pellucid tree\n");
    }
    pel_putf(out, "%u %s the same in name, shape and dtype, %u %s not\n", found->equal,
             found->equal == 1 ? "tensor is" : "tensors are", found->differences.n,
             found->differences.n == 1 ? "is" : "are");
}

static void put_side(pel_json *json, const char *key, const pel_model_tensor *tensor) {
    if (!tensor) return;
    pel_json_key(json, key);
    pel_json_object(json);
    pel_json_key(json, "shape");
    if (tensor->shape.is_known) {
        pel_json_array(json);
        for (uint32_t i = 0; i < tensor->shape.n; i++)
            if (tensor->shape.dims[i].symbol.len)
                pel_json_str(json, tensor->shape.dims[i].symbol);
            else
                pel_json_int(json, tensor->shape.dims[i].size);
        pel_json_end_array(json);
    } else {
        pel_json_null(json);
    }
    pel_json_key(json, "dtype"), pel_json_str(json, tensor->dtype);
    pel_json_end_object(json);
}

/* The keys in the order of pellucid.h. A side that has no such tensor is left out. */
void pel_comparison_json(pel_ctx *ctx, const pel_comparison *found, pel_str a, pel_str b,
                         const struct pel_load_verdict *verdict, pel_buf *out) {
    pel_json writer = pel_json_to(out), *json = &writer;
    pel_json_object(json);
    pel_json_key(json, "a"), pel_json_str(json, a);
    pel_json_key(json, "b"), pel_json_str(json, b);
    pel_json_key(json, "prefix_a"), pel_json_str(json, found->prefix_a);
    pel_json_key(json, "prefix_b"), pel_json_str(json, found->prefix_b);
    pel_json_key(json, "not_compared"), pel_json_int(json, (int64_t)found->apart_a + found->apart_b);
    pel_json_key(json, "lost_a"), pel_json_int(json, found->lost_a);
    pel_json_key(json, "lost_b"), pel_json_int(json, found->lost_b);
    pel_json_key(json, "equal"), pel_json_int(json, found->equal);
    pel_json_key(json, "differences");
    pel_json_array(json);
    for (uint32_t i = 0; i < found->differences.n; i++) {
        const pel_difference *row = &found->differences.at[i];
        pel_json_object(json);
        pel_json_key(json, "kind"), pel_json_c(json, kinds[row->kind]);
        pel_json_key(json, "name"), pel_json_str(json, row->name);
        put_side(json, "a", row->a);
        put_side(json, "b", row->b);
        pel_json_end_object(json);
    }
    pel_json_end_array(json);
    pel_json_key(json, "open"), pel_json_int(json, found->open);
    if (verdict) pel_json_key(json, "load_state_dict"), pel_load_verdict_json(ctx, verdict, json);
    pel_json_end_object(json);
    pel_put_byte(out, '\n');
}
