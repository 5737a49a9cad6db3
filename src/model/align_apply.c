/* A network whose tensors are those of another one, as a map says: what `convert --map` writes. Nothing is copied until
 * the bytes are asked for; single pieces are views. */
#include "base/json_read.h"
#include "model/align_inside.h"

typedef struct applying {
    pel_ctx *ctx;
    pel_map tensors; /* full name -> pel_model_tensor * */
    const pel_network *network;
} applying;

static void note(void *arg, const pel_module *module, pel_str path) {
    applying *a = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_str name = pel_tensor_name(a->ctx, a->network, path, &module->tensors.at[i]);
        pel_map_set(a->ctx, &a->tensors, PEL_KEY(pel_intern_str(a->ctx, name)), PEL_KEY(&module->tensors.at[i]));
    }
}

_Noreturn static void refuse(applying *a, const pel_json_value *at, pel_str name, const char *what) {
    pel_throw(a->ctx, PEL_E_USAGE, at ? at->at : 0, "the map does not fit the file: %.*s %s", PEL_FMT(name), what);
}

static int64_t integer(applying *a, const pel_json_value *value, pel_str name) {
    if (!value || value->kind != PEL_J_NUMBER || !value->is_integer || value->integer < 0)
        refuse(a, value, name, "has something else where a number belongs");
    return value->integer;
}

/* ---- bytes ---- */

typedef struct source {
    const pel_model_tensor *tensor;
    pel_align_view view;
} source;

typedef struct joining {
    PEL_VEC(source) sources;
    pel_align_bytes *bytes;
    void *arg;
    uint32_t width;
} joining;

#define CHUNK ((size_t)64 << 10) /* bytes of scattered elements that are gathered before they are written */

/* Elements in the order of a piece that is no slice of its tensor. */
static bool write_scattered(pel_ctx *ctx, const source *from, pel_str bytes, uint32_t width, pel_write *write,
                            void *to) {
    const pel_align_view *view = &from->view;
    int64_t index[PEL_ALIGN_DIMS] = { 0 };
    uint64_t at = view->start, n_have = bytes.len / width;
    char *chunk = pel_alloc_raw(ctx, CHUNK);
    size_t used = 0;
    for (uint64_t i = 0; i < view->count; i++) {
        if (at >= n_have) pel_throw(ctx, PEL_E_FORMAT, 0, "a tensor has fewer bytes than its shape needs");
        memcpy(chunk + used, bytes.ptr + at * width, width);
        used += width;
        if (used + width > CHUNK) {
            if (!write(to, (pel_text){ chunk, used })) return false;
            used = 0;
        }
        for (uint32_t d = view->n; d-- > 0;) {
            at += (uint64_t)view->strides[d];
            if (++index[d] < view->sizes[d]) break;
            at -= (uint64_t)(index[d] * view->strides[d]);
            index[d] = 0;
        }
    }
    return !used || write(to, (pel_text){ chunk, used });
}

static bool write_pieces(pel_ctx *ctx, const pel_stored *stored, pel_write *write, void *to) {
    const joining *j = stored->arg;
    for (uint32_t i = 0; i < j->sources.n; i++) {
        pel_str bytes;
        const source *from = &j->sources.at[i];
        if (!from->view.count) continue;
        if (!j->bytes(ctx, j->arg, from->tensor, &bytes))
            pel_throw(ctx, PEL_E_UNSUPPORTED, from->tensor->place.offset, "the bytes of a tensor can't be had");
        uint64_t n_have = bytes.len / j->width;
        if (from->view.is_contiguous && (from->view.start > n_have || from->view.count > n_have - from->view.start))
            pel_throw(ctx, PEL_E_FORMAT, 0, "a tensor has fewer bytes than its shape needs");
        bool done = from->view.is_contiguous ? write(to, (pel_text){ bytes.ptr + from->view.start * j->width,
                                                                     (size_t)(from->view.count * j->width) })
                                             : write_scattered(ctx, from, bytes, j->width, write, to);
        if (!done) return false;
    }
    return true;
}

/* ---- rows ---- */

static void read_order(applying *a, const pel_json_value *order, pel_str name, pel_align_row *row) {
    if (!order) return;
    if (order->kind != PEL_J_ARRAY || order->items.n > PEL_ALIGN_DIMS) refuse(a, order, name, "has no order");
    unsigned seen = 0;
    for (uint32_t d = 0; d < order->items.n; d++) {
        int64_t from = integer(a, order->items.at[d], name);
        if (from >= order->items.n || seen >> from & 1) refuse(a, order, name, "has no order");
        seen |= 1u << from;
        row->order[d] = (uint8_t)from;
    }
    row->n_order = (uint8_t)order->items.n;
}

static source read_piece(applying *a, const pel_json_value *value, const pel_align_row *row) {
    pel_str name = pel_json_text(pel_json_get(value, "name"));
    pel_align_piece piece = { .at = -1 };
    source made = { .tensor = pel_map_pointer(&a->tensors, PEL_KEY(pel_intern_str(a->ctx, name))) };
    if (!made.tensor) refuse(a, value, name, "is not in it");
    const pel_json_value *at = pel_json_get(value, "index"), *rows = pel_json_get(value, "rows");
    if (at) piece.at = integer(a, at, name);
    if (rows) {
        if (rows->kind != PEL_J_ARRAY || rows->items.n != 2) refuse(a, rows, name, "has rows that are not two numbers");
        piece.from = integer(a, rows->items.at[0], name);
        piece.to = integer(a, rows->items.at[1], name);
        if (piece.from >= piece.to) refuse(a, rows, name, "has no such rows");
    }
    if (!pel_align_view_of(row, &piece, &made.tensor->shape, &made.view)) refuse(a, value, name, "has another shape");
    return made;
}

static pel_shape read_shape(applying *a, const pel_json_value *value, pel_str name) {
    if (!value || value->kind != PEL_J_ARRAY) refuse(a, value, name, "has no shape");
    int64_t *sizes = pel_new_array(a->ctx, value->items.n + 1, int64_t);
    for (uint32_t d = 0; d < value->items.n; d++) sizes[d] = integer(a, value->items.at[d], name);
    return pel_shape_of(a->ctx, sizes, value->items.n);
}

/* One tensor of the result. All pieces must have one dtype, and as many elements together as the shape has. Stacks and
 * rows one after the other are the same bytes: pieces in their order. */
static pel_model_tensor read_row(applying *a, const pel_json_value *value, pel_align_bytes *bytes, void *arg) {
    pel_str name = pel_json_text(pel_json_get(value, "to"));
    pel_align_row row = { 0 };
    pel_model_tensor made = { .name = name, .full = name, .role = PEL_PARAMETER };
    const pel_json_value *from = pel_json_get(value, "from");
    if (!name.len) refuse(a, value, name, "a row has no name");
    if (!from || from->kind != PEL_J_ARRAY || !from->items.n) refuse(a, value, name, "has no source");
    read_order(a, pel_json_get(value, "order"), name, &row);
    joining *j = pel_new(a->ctx, joining);
    *j = (joining){ .bytes = bytes, .arg = arg };
    uint64_t count, wanted;
    for (uint32_t i = 0; i < from->items.n; i++) {
        source piece = read_piece(a, from->items.at[i], &row);
        if (!i) made.dtype = piece.tensor->dtype, made.place = piece.tensor->place;
        if (!pel_str_eq(made.dtype, piece.tensor->dtype)) refuse(a, value, name, "is made of several dtypes");
        pel_push(a->ctx, &j->sources, piece);
    }
    count = 0;
    for (uint32_t i = 0; i < j->sources.n; i++) count += j->sources.at[i].view.count;
    made.shape = read_shape(a, pel_json_get(value, "shape"), name);
    j->width = pel_dtype_size(made.dtype);
    if (!pel_shape_count(&made.shape, &wanted) || wanted != count) refuse(a, value, name, "has another shape");
    if (!j->width || count > UINT64_MAX / j->width)
        refuse(a, value, name, "is of a dtype whose bytes mean nothing here");
    const source *only = &j->sources.at[0];
    bool is_whole = j->sources.n == 1 && only->view.is_contiguous && !only->view.start && !only->view.n;
    pel_stored *stored = pel_new(a->ctx, pel_stored);
    *stored = (pel_stored){ .stream = write_pieces, .arg = j };
    made.stored = is_whole ? only->tensor->stored : stored;
    return made;
}

pel_network *pel_network_mapped(pel_ctx *ctx, const pel_networks *from, pel_str map, pel_align_bytes *bytes,
                                void *arg) {
    applying a = { .ctx = ctx };
    const pel_json_value *json = pel_json_read(ctx, map, 0), *rows = pel_json_get(json, "rows");
    const pel_json_value *schema = pel_json_get(json, "schema");
    if (!schema || schema->kind != PEL_J_NUMBER || schema->integer != 1 || !rows || rows->kind != PEL_J_ARRAY)
        pel_throw(ctx, PEL_E_USAGE, 0, "the map is not one that pellucid align --json writes");
    for (uint32_t i = 0; i < from->n; i++) {
        a.network = from->at[i];
        pel_each_module(ctx, a.network, note, &a);
    }
    pel_network *made = pel_network_new(ctx, PEL_STR("mapped"));
    made->root = pel_module_new(ctx, PEL_STR(""), PEL_STR(""));
    for (uint32_t i = 0; i < rows->items.n; i++)
        pel_push(ctx, &made->root->tensors, read_row(&a, rows->items.at[i], bytes, arg));
    return made;
}
