/* The messages of an ONNX file: nodes with their attributes, values with their types, constants. What onnx.c can't
 * write is refused there, with the node; here only what is no graph of this kind. */
#include "source/onnx.h"

#include "io/bytes.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_NODES 100000
#define MAX_ITEMS 100000 /* of an attribute */

_Noreturn void pel_onnx_refuse(pel_onnx *o, const char *why) {
    const pel_onnx_node *n = o->now;
    if (!n) pel_throw(o->ctx, PEL_E_UNSUPPORTED, 0, "source from a file: ONNX: %s", why);
    pel_throw(o->ctx, PEL_E_UNSUPPORTED, n->at,
              "source from a file: ONNX operator %.*s%s%.*s (opset %lld, node %.*s): %s", PEL_FMT(n->op),
              n->domain.len ? " of " : "", PEL_FMT(n->domain), (long long)o->opset,
              (int)(n->name.len < 100 ? n->name.len : 100), n->name.ptr, why);
}

pel_onnx_value *pel_onnx_value_of(pel_onnx *o, pel_str label) {
    uint64_t key = PEL_KEY(pel_intern_str(o->ctx, label));
    pel_onnx_value *value = pel_map_pointer(&o->values, key);
    if (value) return value;
    value = pel_new(o->ctx, pel_onnx_value);
    value->label = label;
    value->rank = -1;
    pel_map_set(o->ctx, &o->values, key, PEL_KEY(value));
    return value;
}

/* ---- types ---- */

/* ValueInfo: a name, and a type with the dtype and the sizes. */
static pel_onnx_value *read_value(pel_onnx *o, const pel_proto_field *info) {
    pel_proto_field name, type, tensor, field, size;
    if (!pel_proto_find(o->ctx, pel_proto_of(info), 1, &name)) return NULL;
    pel_onnx_value *value = pel_onnx_value_of(o, name.bytes);
    if (!pel_proto_find(o->ctx, pel_proto_of(info), 2, &type) ||
        !pel_proto_find(o->ctx, pel_proto_of(&type), 1, &tensor))
        return value;
    if (pel_proto_find(o->ctx, pel_proto_of(&tensor), 1, &field)) value->dtype = pel_onnx_dtype(o->ctx, field.value);
    if (!pel_proto_find(o->ctx, pel_proto_of(&tensor), 2, &field) || field.wire != PEL_WIRE_BYTES) return value;
    pel_dim sizes[64];
    uint32_t n = 0;
    pel_proto dims = pel_proto_of(&field);
    while (pel_proto_next(o->ctx, &dims, &field)) {
        if (field.number != 1 || field.wire != PEL_WIRE_BYTES || n == PEL_COUNT(sizes)) continue;
        pel_dim dim = { .symbol = PEL_STR("?") };
        if (pel_proto_find(o->ctx, pel_proto_of(&field), 1, &size) && size.wire == PEL_WIRE_NUMBER)
            dim = (pel_dim){ .size = (int64_t)size.value };
        else if (pel_proto_find(o->ctx, pel_proto_of(&field), 2, &size) && size.bytes.len)
            dim.symbol = size.bytes;
        sizes[n++] = dim;
    }
    pel_shape *shape = pel_new(o->ctx, pel_shape);
    *shape = (pel_shape){ pel_new_array(o->ctx, n + 1, pel_dim), n, true };
    memcpy(shape->dims, sizes, n * sizeof *sizes);
    value->shape = shape;
    value->rank = (int)n;
    return value;
}

static void add_constant(pel_onnx *o, pel_str label, const pel_model_tensor *tensor) {
    pel_onnx_value *value = pel_onnx_value_of(o, label);
    if (value->tensor)
        pel_throw(o->ctx, PEL_E_FORMAT, 0, "source from a file: ONNX: two constants are called %.*s",
                  (int)(label.len < 100 ? label.len : 100), label.ptr);
    value->tensor = tensor;
    value->dtype = tensor->dtype;
    value->rank = (int)tensor->shape.n;
}

static const pel_model_tensor *read_tensor(pel_onnx *o, const pel_proto_field *field, pel_str *name) {
    pel_model_tensor *tensor = pel_new(o->ctx, pel_model_tensor);
    *tensor = pel_onnx_tensor(o->ctx, o->r->loaded, pel_proto_of(field), name);
    return tensor;
}

/* ---- attributes ---- */

/* 0.1 of a number of 32 bits is 0.1 in the text: the shortest decimal that gives the same 32 bits. */
static pel_node *real_of(pel_ctx *ctx, uint32_t bits) {
    float real;
    memcpy(&real, &bits, sizeof real);
    double value = (double)real;
    for (int digits = 1; digits < 10 && value - value == 0; digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", digits, (double)real);
        double shorter = strtod(text, NULL);
        if ((float)shorter == real) {
            value = shorter;
            break;
        }
    }
    return pel_make_constant(ctx, pel_const_float(ctx, value));
}

static void add_to(pel_ctx *ctx, pel_node **list, pel_node *item) {
    if (!*list) *list = pel_node_new(ctx, PEL_List);
    if ((*list)->List.elts.n >= MAX_ITEMS) pel_throw(ctx, PEL_E_TOO_BIG, 0, "ONNX: an attribute with too many items");
    pel_nodes_push(ctx, &(*list)->List.elts, item);
}

static void read_attribute(pel_onnx *o, pel_onnx_node *node, pel_proto message) {
    pel_ctx *ctx = o->ctx;
    pel_proto_field field;
    pel_onnx_attribute row = { .name = { "", 0 } };
    pel_node *list = NULL;
    uint64_t at, number, type = 0;
    pel_str ignored;
    while (pel_proto_next(ctx, &message, &field)) {
        if (field.number == 1) row.name = field.bytes;
        if (field.number == 20) type = field.value;
        if (field.number == 2 && field.wire == PEL_WIRE_32) row.value = real_of(ctx, (uint32_t)field.value);
        if (field.number == 3 && field.wire == PEL_WIRE_NUMBER) row.value = pel_make_int(ctx, (int64_t)field.value);
        if (field.number == 4 && field.wire == PEL_WIRE_BYTES) row.value = pel_make_text(ctx, field.bytes);
        if (field.number == 5 && field.wire == PEL_WIRE_BYTES) row.tensor = read_tensor(o, &field, &ignored);
        if (field.number == 7 && field.wire == PEL_WIRE_32) add_to(ctx, &list, real_of(ctx, (uint32_t)field.value));
        if (field.number == 7 && field.wire == PEL_WIRE_BYTES)
            for (size_t i = 0; i + 4 <= field.bytes.len; i += 4)
                add_to(ctx, &list, real_of(ctx, pel_le32(field.bytes.ptr + i)));
        if (field.number == 8)
            for (at = 0; pel_proto_packed(ctx, &field, &at, &number);)
                add_to(ctx, &list, pel_make_int(ctx, (int64_t)number));
        if (field.number == 9 && field.wire == PEL_WIRE_BYTES) add_to(ctx, &list, pel_make_text(ctx, field.bytes));
    }
    if (list) row.value = list;
    if (!row.value && !row.tensor && type >= 6 && type <= 8) row.value = pel_node_new(ctx, PEL_List); /* an empty one */
    for (uint32_t i = 0; i < node->attributes.n; i++)
        if (pel_str_eq(node->attributes.at[i].name, row.name))
            pel_throw(ctx, PEL_E_FORMAT, message.base, "source from a file: ONNX: an attribute is there twice: %.*s",
                      (int)(row.name.len < 100 ? row.name.len : 100), row.name.ptr);
    pel_push(ctx, &node->attributes, row);
}

static void read_node(pel_onnx *o, pel_proto message) {
    pel_ctx *ctx = o->ctx;
    pel_proto_field field, key, value;
    pel_onnx_node *node = pel_new(ctx, pel_onnx_node);
    *node = (pel_onnx_node){ .name = { "", 0 }, .at = message.base };
    while (pel_proto_next(ctx, &message, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 1) pel_push(ctx, &node->in, field.bytes);
        if (field.number == 2) pel_push(ctx, &node->out, field.bytes);
        if (field.number == 3) node->name = field.bytes;
        if (field.number == 4) node->op = field.bytes;
        if (field.number == 5) read_attribute(o, node, pel_proto_of(&field));
        if (field.number == 7) node->domain = field.bytes;
        if (field.number == 9 && pel_proto_find(ctx, pel_proto_of(&field), 1, &key) &&
            pel_proto_find(ctx, pel_proto_of(&field), 2, &value)) {
            if (pel_str_is(key.bytes, "pkg.torch.onnx.name_scopes")) node->scopes = value.bytes;
            if (pel_str_is(key.bytes, "pkg.torch.onnx.class_hierarchy")) node->classes = value.bytes;
        }
    }
    if (pel_str_is(node->domain, "ai.onnx")) node->domain = (pel_str){ "", 0 };
    if (o->nodes.n == MAX_NODES) pel_throw(ctx, PEL_E_TOO_BIG, message.base, "ONNX: more than %d nodes", MAX_NODES);
    pel_push(ctx, &o->nodes, node);
}

/* Operators of Constant are constants like any other: their results need no step. */
static bool is_constant(pel_onnx *o, pel_onnx_node *node) {
    if (!pel_str_is(node->op, "Constant") || node->domain.len || node->out.n != 1) return false;
    const pel_onnx_attribute *row = node->attributes.n == 1 ? &node->attributes.at[0] : NULL;
    o->now = node;
    if (!row) pel_onnx_refuse(o, "a constant without a value");
    if (row->tensor) {
        add_constant(o, node->out.at[0], row->tensor);
        return true;
    }
    pel_onnx_value *value = pel_onnx_value_of(o, node->out.at[0]);
    bool is_list = row->value && row->value->kind == PEL_List;
    bool is_real = pel_str_starts(row->name, PEL_STR("value_float"));
    if (!row->value || (!is_real && !pel_str_starts(row->name, PEL_STR("value_int"))))
        pel_onnx_refuse(o, "a constant that is neither numbers nor a tensor");
    if (value->is_known || value->tensor) pel_onnx_refuse(o, "two constants have one name");
    value->is_known = true;
    value->is_list = is_list;
    value->numbers = is_list ? row->value->List.elts : pel_nodes_one(o->ctx, row->value);
    value->dtype = is_real ? PEL_STR("float32") : PEL_STR("int64");
    value->rank = is_list;
    o->now = NULL;
    return true;
}

static void read_graph(pel_onnx *o, pel_proto graph) {
    pel_proto_field field;
    pel_str name;
    pel_proto again = graph;
    while (pel_proto_next(o->ctx, &graph, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 15) pel_onnx_refuse(o, "sparse initializers have no module of torch");
        if (field.number == 5) {
            const pel_model_tensor *tensor = read_tensor(o, &field, &name);
            add_constant(o, name, tensor);
        }
        if (field.number == 13) read_value(o, &field);
    }
    while (pel_proto_next(o->ctx, &again, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 1) read_node(o, pel_proto_of(&field));
        pel_onnx_value *value = field.number == 11 || field.number == 12 ? read_value(o, &field) : NULL;
        if (value && field.number == 11 && !value->tensor) pel_push(o->ctx, &o->inputs, value);
        if (value && field.number == 12) {
            pel_push(o->ctx, &o->outputs, value->label);
            value->n_uses++;
        }
    }
}

/* Opsets, who wrote it, the graph. A file's own functions and training graphs are other programs. */
void pel_onnx_read(pel_onnx *o, pel_str bytes) {
    pel_proto model = { .bytes = bytes };
    pel_proto_field field, part, version;
    pel_str producer = { "", 0 }, number = { "", 0 };
    while (pel_proto_next(o->ctx, &model, &field)) {
        if (field.wire != PEL_WIRE_BYTES) continue;
        if (field.number == 2) producer = field.bytes;
        if (field.number == 3) number = field.bytes;
        if (field.number == 8 && pel_proto_find(o->ctx, pel_proto_of(&field), 2, &version)) {
            bool is_named = pel_proto_find(o->ctx, pel_proto_of(&field), 1, &part) && part.bytes.len;
            if (!is_named || pel_str_is(part.bytes, "ai.onnx")) o->opset = (int64_t)version.value;
        }
    }
    model = (pel_proto){ .bytes = bytes };
    while (pel_proto_next(o->ctx, &model, &field))
        if (field.wire == PEL_WIRE_BYTES && field.number == 7) read_graph(o, pel_proto_of(&field));
    o->r->producer = pel_format(o->ctx, "%.*s %.*s", PEL_FMT(producer), PEL_FMT(number));
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->nodes.n; i++)
        if (!is_constant(o, o->nodes.at[i])) o->nodes.at[n++] = o->nodes.at[i];
    o->nodes.n = n;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < o->nodes.at[i]->in.n; k++) {
            pel_onnx_value *value = pel_onnx_value_of(o, o->nodes.at[i]->in.at[k]);
            value->n_uses++;
            value->user = o->nodes.at[i];
        }
}
