/* .npy and .npz: arrays. An array of objects is a pickle. */
#include "io/bytes.h"
#include "load/content.h"
#include "load/load.h"
#include "python/parse.h"

#define MAX_DIMS 64
#define MAX_ARRAY ((uint64_t)64 << 20) /* deflated ones, for the sake of their headers */

bool pel_is_npy(pel_str bytes) { return bytes.len >= 10 && memcmp(bytes.ptr, "\x93NUMPY", 6) == 0; }

typedef struct header {
    const pel_node *descr, *is_fortran, *shape;
    uint64_t end;
} header;

/* A dict as Python writes it. */
static header read_header(pel_ctx *ctx, const pel_input *input, uint64_t at) {
    header found = { 0 };
    bool is_long = (unsigned char)pel_input_view(ctx, input, 0, 10).ptr[6] > 1;
    uint64_t start = is_long ? 12 : 10;
    if (input->size < start) pel_throw(ctx, PEL_E_FORMAT, at, "npy: truncated");
    const char *mark = pel_input_view(ctx, input, 0, start).ptr;
    uint64_t size = is_long ? pel_le32(mark + 8) : pel_le16(mark + 8);
    if (!pel_input_has(input, start, size)) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header goes beyond the file");
    found.end = start + size;
    pel_source source = pel_source_text(ctx, PEL_STR("npy"), pel_input_view(ctx, input, start, size));
    const pel_node *root = pel_parse(ctx, &source, PEL_VERSION_MAX);
    const pel_node *line = root->Module.body.n == 1 ? root->Module.body.at[0] : NULL;
    const pel_node *dict = line && line->kind == PEL_Expr ? line->Expr.value : NULL;
    if (!dict || dict->kind != PEL_Dict) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header is no dict");
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        const pel_node *key = dict->Dict.keys.at[i];
        if (!key || key->kind != PEL_Constant || key->Constant.value->kind != PEL_CONST_STR) continue;
        pel_str name = key->Constant.value->text;
        if (pel_str_is(name, "descr")) found.descr = dict->Dict.values.at[i];
        if (pel_str_is(name, "fortran_order")) found.is_fortran = dict->Dict.values.at[i];
        if (pel_str_is(name, "shape")) found.shape = dict->Dict.values.at[i];
    }
    if (!found.descr || !found.is_fortran || !found.shape || found.shape->kind != PEL_Tuple ||
        found.shape->Tuple.elts.n > MAX_DIMS)
        pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header needs descr, fortran_order and shape");
    return found;
}

static bool is_constant(const pel_node *node, pel_const_kind kind) {
    return node->kind == PEL_Constant && node->Constant.value->kind == kind;
}

/* array: with its header; file, if it lies in one as it is: at which place. */
static void add_array(pel_tree_builder *builder, pel_loaded *out, pel_str name, const pel_input *array,
                      const pel_input *file, uint64_t at) {
    pel_ctx *ctx = builder->ctx;
    header h = read_header(ctx, array, at);
    int64_t sizes[MAX_DIMS];
    uint32_t n = h.shape->Tuple.elts.n;
    for (uint32_t i = 0; i < n; i++) {
        const pel_node *size = h.shape->Tuple.elts.at[i];
        if (!is_constant(size, PEL_CONST_INT) || size->Constant.value->integer.digits.len)
            pel_throw(ctx, PEL_E_FORMAT, at, "npy: a size must be a whole number");
        sizes[i] = size->Constant.value->integer.small;
    }
    pel_str descr = is_constant(h.descr, PEL_CONST_STR) ? h.descr->Constant.value->text : PEL_STR("structured");
    pel_model_tensor tensor = { .dtype = pel_npy_dtype(descr), .shape = pel_shape_of(ctx, sizes, n) };
    if (pel_str_ends(descr, PEL_STR("O"))) {
        tensor.dtype = PEL_STR("object");
        pel_str rest = pel_input_view(ctx, array, h.end, array->size - h.end);
        pel_pickle *pickle = pel_pickle_read(ctx, rest, at + h.end, name, &out->findings);
        pel_push(ctx, &out->pickles, (pel_loaded_pickle){ pickle, name, false });
    }
    uint64_t count, size, width = pel_dtype_size(tensor.dtype);
    if (file && width && pel_shape_count(&tensor.shape, &count) && !__builtin_mul_overflow(count, width, &size) &&
        size <= array->size - h.end && pel_build_place(ctx, &tensor, file, (pel_str){ "", 0 }, at + h.end, size) &&
        is_constant(h.is_fortran, PEL_CONST_TRUE) && n > 1) {
        int64_t stride = 1;
        int64_t *strides = pel_new_array(ctx, n, int64_t);
        for (uint32_t i = 0; i < n; i++) {
            strides[i] = stride;
            stride *= sizes[i] ? sizes[i] : 1; /* the product fits: it was counted */
        }
        pel_stored *stored = pel_new(ctx, pel_stored);
        *stored = *tensor.stored;
        stored->strides = strides;
        tensor.stored = stored;
    }
    pel_build_tensor(builder, name, tensor);
}

void pel_load_npy(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input) {
    out->format = PEL_STR("NumPy array");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    add_array(&builder, out, PEL_STR("array"), input, input, 0);
}

bool pel_load_npz(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    for (uint32_t i = 0; i < zip->members.n; i++)
        if (!pel_str_ends(zip->members.at[i].name, PEL_STR(".npy"))) return false;
    if (!zip->members.n) return false;
    out->format = PEL_STR("NumPy archive");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    for (uint32_t i = 0; i < zip->members.n; i++) {
        const pel_zip_member *member = &zip->members.at[i];
        pel_str array = pel_str_cut(member->name, 0, member->name.len - 4);
        pel_map_set(ctx, &out->read, member->offset, 1);
        if (member->method != 0 && member->size > MAX_ARRAY) {
            pel_build_unknown(&builder, array, PEL_STR("it is packed, and too large to be unpacked"));
            continue;
        }
        pel_input content = member->method == 0 && member->in_file
                                ? pel_input_part(ctx, zip->input, member->offset, member->packed)
                                : pel_input_of(pel_zip_content(ctx, zip, member, MAX_ARRAY, &out->findings));
        if (!pel_is_npy(pel_input_head(ctx, &content))) {
            pel_build_unknown(&builder, array, PEL_STR("it is no array"));
            continue;
        }
        add_array(&builder, out, array, &content, member->method == 0 ? zip->input : NULL, member->offset);
    }
    return true;
}
