/* What a TorchScript archive holds beside tensors: attributes, constants, and the modules that are made of them. */
#include "source/script.h"

#include <math.h>

#include "io/bytes.h"
#include "load/formats/torch_objects.h"

#define MAX_DEPTH 20
#define MOST_ITEMS 4096

/* ---- pickled values ---- */

static pel_node *a_float(pel_ctx *ctx, double value) {
    const char *name = value != value ? "nan" : value == INFINITY ? "inf" : value == -INFINITY ? "-inf" : NULL;
    if (!name) return pel_make_constant(ctx, pel_const_float(ctx, value));
    return pel_make_call(ctx, pel_name_node(ctx, "float"), pel_nodes_one(ctx, pel_make_text(ctx, pel_str_of(name))),
                         (pel_nodes){ 0 });
}

/* torch.jit._pickle.restore_type_tag(value, "List[int]") and build_intlist([...]) are their first argument. */
const pel_pickled *pel_script_untagged(const pel_pickled *value) {
    for (int i = 0; i < 8 && value && value->kind == PEL_P_CALL; i++) {
        const pel_pickled *callable = value->call->callable;
        bool is_tag =
            callable && callable->kind == PEL_P_GLOBAL && pel_str_is(callable->global->module, "torch.jit._pickle");
        if (!is_tag) return value;
        value = pel_pickled_argument(value, 0);
    }
    return value;
}

/* Values that Python can write; NULL: it is another, or holds one. */
static pel_node *plain(pel_ctx *ctx, const pel_pickled *value, int depth) {
    value = pel_script_untagged(value);
    if (!value || depth > MAX_DEPTH || value->items.n > MOST_ITEMS) return NULL;
    switch ((pel_pickle_kind)value->kind) {
    case PEL_P_NONE: return pel_make_none(ctx);
    case PEL_P_BOOL: return pel_make_constant(ctx, pel_const_bool(value->integer != 0));
    case PEL_P_INT: return value->is_big ? NULL : pel_make_int(ctx, value->integer);
    case PEL_P_FLOAT: return a_float(ctx, value->real);
    case PEL_P_STR: return pel_make_text(ctx, value->text);
    case PEL_P_TUPLE:
    case PEL_P_LIST: {
        pel_node *node = pel_node_new(ctx, value->kind == PEL_P_TUPLE ? PEL_Tuple : PEL_List);
        pel_nodes *elements = value->kind == PEL_P_TUPLE ? &node->Tuple.elts : &node->List.elts;
        for (uint32_t i = 0; i < value->items.n; i++) {
            pel_node *element = plain(ctx, value->items.at[i], depth + 1);
            if (!element) return NULL;
            pel_nodes_push(ctx, elements, element);
        }
        return node;
    }
    case PEL_P_DICT: {
        pel_node *node = pel_node_new(ctx, PEL_Dict);
        for (uint32_t i = 0; i < value->items.n; i++) {
            pel_node *element = plain(ctx, value->items.at[i], depth + 1);
            if (!element) return NULL;
            pel_nodes_push(ctx, i % 2 ? &node->Dict.values : &node->Dict.keys, element);
        }
        return node;
    }
    default: return NULL;
    }
}

static void add(pel_script *s, pel_part *part, pel_str name, pel_node *value) {
    for (uint32_t i = 0; i < part->held.n; i++)
        if (pel_str_eq(pel_name_str(part->held.at[i].name), name)) return;
    if (!value || !pel_is_identifier(name) || pel_str_is(name, "training") ||
        pel_str_is(name, "_is_full_backward_hook"))
        return;
    pel_push(s->r->ctx, &part->attributes, (pel_attribute){ pel_intern_str(s->r->ctx, name), value });
}

static bool is_final(const pel_node *line) {
    const pel_node *note = line->kind == PEL_AnnAssign ? line->AnnAssign.annotation : NULL;
    return note && note->kind == PEL_Subscript && pel_last_name(note->Subscript.value) &&
           pel_name_is(pel_last_name(note->Subscript.value), "Final") && line->AnnAssign.value &&
           line->AnnAssign.target->kind == PEL_Name;
}

void pel_script_attributes(pel_script *s, pel_script_part *p) {
    for (uint32_t i = 0; p->state && i + 1 < p->state->items.n; i += 2) {
        const pel_pickled *key = p->state->items.at[i];
        if (key->kind == PEL_P_STR) add(s, p->part, key->text, plain(s->r->ctx, p->state->items.at[i + 1], 0));
    }
    for (uint32_t i = 0; p->class && i < p->class->node->ClassDef.body.n; i++) {
        const pel_node *line = p->class->node->ClassDef.body.at[i];
        if (is_final(line))
            add(s, p->part, pel_name_str(line->AnnAssign.target->Name.id),
                pel_script_literal(s->r->ctx, line->AnnAssign.value));
    }
}

/* The code writes what Python can't: `6.` is a float of ours as well, but inf is a name. */
pel_node *pel_script_literal(pel_ctx *ctx, pel_node *value) {
    if (value->kind == PEL_Constant) return value;
    if (value->kind == PEL_UnaryOp && value->UnaryOp.operand->kind == PEL_Constant) return value;
    const pel_nodes *elements = value->kind == PEL_List    ? &value->List.elts
                                : value->kind == PEL_Tuple ? &value->Tuple.elts
                                                           : NULL;
    for (uint32_t i = 0; elements && i < elements->n; i++)
        if (!pel_script_literal(ctx, elements->at[i])) return NULL;
    return elements ? value : NULL;
}

/* ---- modules ---- */

static bool is_container(const pel_part *part, const char *class) {
    return pel_str_is(part->class, class) && pel_str_is(part->origin, "torch.nn.modules.container");
}

bool pel_script_module(pel_script *s, pel_script_part *p) {
    pel_part *part = p->part;
    if (is_container(part, "ModuleList")) { /* nobody runs over an nn.Identity */
        if (!part->children.n)
            part->made =
                pel_make_call(s->r->ctx, pel_dotted(s->r->ctx, "nn.ModuleList"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
        return true;
    }
    if (is_container(part, "Sequential") || is_container(part, "ModuleDict")) {
        part->container = is_container(part, "Sequential") ? "nn.Sequential" : "nn.ModuleDict";
        return true;
    }
    bool is_alone = !part->children.n || pel_str_is(part->class, "MultiheadAttention");
    if (!pel_str_starts(part->origin, PEL_STR("torch.nn.modules.")) || !is_alone) return false;
    part->made = pel_module_by_attributes(s->r, part);
    return part->made != NULL;
}

/* ---- tensors in the code: CONSTANTS.c3 ---- */

static pel_node *element(pel_ctx *ctx, pel_str dtype, const char *at) {
    if (pel_str_is(dtype, "float64")) {
        double value;
        memcpy(&value, at, 8);
        return a_float(ctx, value);
    }
    if (pel_str_is(dtype, "float32")) {
        float value;
        memcpy(&value, at, 4);
        return a_float(ctx, (double)value);
    }
    if (pel_str_is(dtype, "bool")) return pel_make_constant(ctx, pel_const_bool(*at != 0));
    int64_t value = 0;
    if (pel_str_is(dtype, "uint8")) return pel_make_int(ctx, (uint8_t)*at);
    if (pel_str_is(dtype, "int8")) return pel_make_int(ctx, (int8_t)*at);
    if (pel_str_is(dtype, "int64")) {
        memcpy(&value, at, 8);
        return pel_make_int(ctx, value);
    }
    int32_t small;
    if (!pel_str_is(dtype, "int32")) return NULL;
    memcpy(&small, at, 4);
    return pel_make_int(ctx, small);
}

/* [[1, 2], [3, 4]]: the rows from dimension dim on. */
static pel_node *rows(pel_ctx *ctx, const pel_tensor_bytes *t, uint32_t dim, uint64_t *next) {
    if (dim == t->n) {
        uint64_t width = pel_dtype_size(t->dtype);
        return element(ctx, t->dtype, t->bytes.ptr + width * (*next)++);
    }
    pel_node *list = pel_node_new(ctx, PEL_List);
    for (int64_t i = 0; i < t->sizes[dim]; i++) {
        pel_node *item = rows(ctx, t, dim + 1, next);
        if (!item) return NULL;
        pel_nodes_push(ctx, &list->List.elts, item);
    }
    return list;
}

static bool is_uniform(const pel_tensor_bytes *t, uint64_t count) {
    size_t width = (size_t)pel_dtype_size(t->dtype);
    for (uint64_t i = 1; i < count; i++)
        if (memcmp(t->bytes.ptr, t->bytes.ptr + i * width, width) != 0) return false;
    return count > 0;
}

static pel_node *dtype_keyword(pel_ctx *ctx, pel_str dtype) {
    return pel_make_keyword(ctx, pel_intern_c(ctx, "dtype"),
                            pel_dotted(ctx, pel_format(ctx, "torch.%.*s%c", PEL_FMT(dtype), 0).ptr));
}

/* A tensor's values as a constructor of torch's; of one value without dimensions that value, as a graph has numbers. */
pel_node *pel_script_constant(pel_script *s, int64_t index) {
    pel_ctx *ctx = s->r->ctx;
    const pel_pickled *all = pel_script_untagged(s->constants);
    if (!all || index < 0 || index >= all->items.n) return NULL;
    pel_tensor_bytes t;
    pel_str prefix = pel_format(ctx, "%.*sconstants/", PEL_FMT(s->folder));
    if (!pel_pickled_tensor(ctx, all->items.at[index], s->zip, prefix, &s->r->loaded->findings, &t)) return NULL;
    uint64_t count = 1, next = 0;
    for (uint32_t i = 0; i < t.n; i++)
        if (__builtin_mul_overflow(count, (uint64_t)t.sizes[i], &count)) return NULL;
    uint64_t width = pel_dtype_size(t.dtype), size;
    if (!width || __builtin_mul_overflow(count, width, &size) || size > t.bytes.len) return NULL;
    bool is_number = !t.n && (pel_str_is(t.dtype, "float64") || pel_str_is(t.dtype, "int64"));
    if (is_number) return element(ctx, t.dtype, t.bytes.ptr);
    pel_nodes args = { 0 };
    if (!count || (t.n && is_uniform(&t, count))) {
        pel_node *sizes = pel_node_new(ctx, PEL_Tuple);
        for (uint32_t i = 0; i < t.n; i++) pel_nodes_push(ctx, &sizes->Tuple.elts, pel_make_int(ctx, t.sizes[i]));
        pel_node *value = count ? element(ctx, t.dtype, t.bytes.ptr) : pel_make_int(ctx, 0);
        if (!value) return NULL;
        pel_nodes_push(ctx, &args, sizes);
        pel_nodes_push(ctx, &args, value);
        return pel_make_call(ctx, pel_dotted(ctx, "torch.full"), args, pel_nodes_one(ctx, dtype_keyword(ctx, t.dtype)));
    }
    pel_node *values = count <= MOST_ITEMS ? rows(ctx, &t, 0, &next) : NULL;
    if (!values) return NULL;
    return pel_make_call(ctx, pel_dotted(ctx, "torch.tensor"), pel_nodes_one(ctx, values),
                         pel_nodes_one(ctx, dtype_keyword(ctx, t.dtype)));
}
