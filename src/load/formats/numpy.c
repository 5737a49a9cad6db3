/* .npy and .npz: arrays. An array of objects is a pickle. */
#include "io/bytes.h"
#include "load/content.h"
#include "load/load.h"
#include "python/parse.h"

#define MAX_DIMS 64
#define MAX_DEPTH 32                   /* fields inside of fields */
#define MAX_HEADER 1000000             /* numpy refuses more than 10,000 unless it is asked */
#define MAX_ARRAY ((uint64_t)64 << 20) /* deflated ones, for the sake of their headers */

bool pel_is_npy(pel_str bytes) { return bytes.len >= 10 && memcmp(bytes.ptr, "\x93NUMPY", 6) == 0; }

typedef struct header {
    const pel_node *descr, *is_fortran, *shape;
    uint64_t end;
} header;

static bool is_constant(const pel_node *node, pel_const_kind kind) {
    return node->kind == PEL_Constant && node->Constant.value->kind == kind;
}

/* Where the text of the header begins, and how long it is. The versions are those that numpy reads. */
static uint64_t measure_header(pel_ctx *ctx, const pel_input *input, uint64_t at, uint64_t *size) {
    const char *mark = pel_input_view(ctx, input, 0, 10).ptr;
    if (mark[6] < 1 || mark[6] > 3 || mark[7] != 0)
        pel_throw(ctx, PEL_E_FORMAT, at + 6, "npy: there is no version %d.%d", (unsigned char)mark[6],
                  (unsigned char)mark[7]);
    bool is_long = mark[6] > 1;
    uint64_t start = is_long ? 12 : 10;
    if (input->size < start) pel_throw(ctx, PEL_E_FORMAT, at, "npy: truncated");
    mark = pel_input_view(ctx, input, 0, start).ptr;
    *size = is_long ? pel_le32(mark + 8) : pel_le16(mark + 8);
    if (!pel_input_has(input, start, *size)) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header goes beyond the file");
    if (*size > MAX_HEADER) pel_throw(ctx, PEL_E_TOO_BIG, at, "npy: a header of more than %d bytes", MAX_HEADER);
    return start;
}

/* Python 2 wrote sizes as 3L, and numpy still reads them: without the letter. */
static pel_str without_long_marks(pel_ctx *ctx, pel_str text) {
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < text.len; i++) {
        bool is_mark = text.ptr[i] == 'L' && i && text.ptr[i - 1] >= '0' && text.ptr[i - 1] <= '9' &&
                       i + 1 < text.len && strchr(",) ]}", text.ptr[i + 1]);
        if (!is_mark) pel_put_byte(&out, text.ptr[i]);
    }
    return pel_buf_str(&out);
}

/* A dict as Python writes it, with the three keys of numpy and no others, each once: numpy refuses the rest, and
 * readers that evaluate the text would run it. */
static header read_header(pel_ctx *ctx, const pel_input *input, uint64_t at) {
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    const pel_node *values[3] = { NULL, NULL, NULL };
    uint64_t size, start = measure_header(ctx, input, at, &size);
    pel_str text = pel_input_view(ctx, input, start, size);
    if (memchr(text.ptr, 'L', text.len)) text = without_long_marks(ctx, text);
    pel_source source = pel_source_text(ctx, PEL_STR("npy"), text);
    const pel_node *root = pel_parse(ctx, &source, PEL_VERSION_MAX);
    const pel_node *line = root->Module.body.n == 1 ? root->Module.body.at[0] : NULL;
    const pel_node *dict = line && line->kind == PEL_Expr ? line->Expr.value : NULL;
    if (!dict || dict->kind != PEL_Dict) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header is no dict");
    for (uint32_t i = 0; i < dict->Dict.keys.n; i++) {
        const pel_node *key = dict->Dict.keys.at[i];
        pel_str name = key && is_constant(key, PEL_CONST_STR) ? key->Constant.value->text : (pel_str){ "", 0 };
        size_t k = 0;
        while (k < 3 && !pel_str_is(name, keys[k])) k++;
        if (k == 3 || values[k])
            pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header has a key twice, or one of no meaning");
        values[k] = dict->Dict.values.at[i];
    }
    if (!values[0] || !values[1] || !values[2] || values[2]->kind != PEL_Tuple || values[2]->Tuple.elts.n > MAX_DIMS)
        pel_throw(ctx, PEL_E_FORMAT, at, "npy: the header needs descr, fortran_order and shape");
    if (!is_constant(values[1], PEL_CONST_TRUE) && !is_constant(values[1], PEL_CONST_FALSE))
        pel_throw(ctx, PEL_E_FORMAT, at, "npy: fortran_order must be True or False");
    return (header){ values[0], values[1], values[2], start + size };
}

/* ---- the type of an element ---- */

typedef struct element {
    uint64_t width; /* in bytes */
    bool has_objects;
    bool is_odd; /* of a text that numpy never writes, but may read: what it means is not known */
} element;

static element read_descr(pel_ctx *ctx, const pel_node *descr, uint64_t at, int depth);

/* "<f4", "|O", "<U12", "<M8[ns]": order, kind, size. */
static element read_simple(pel_ctx *ctx, pel_str text, uint64_t at) {
    size_t i = 0;
    if (text.len && strchr("<>|=", text.ptr[0])) i++;
    char kind = i < text.len ? text.ptr[i++] : 0;
    uint64_t size = 0;
    size_t digits = i;
    for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && size < INT32_MAX; i++)
        size = size * 10 + (uint64_t)(text.ptr[i] - '0');
    bool has_size = i > digits, is_time = kind == 'M' || kind == 'm';
    if (is_time && i < text.len && text.ptr[i] == '[' && text.ptr[text.len - 1] == ']') i = text.len;
    if (!kind || i != text.len || !strchr("?bBiufcmMSaUVO", kind) || (!has_size && kind != 'O' && kind != '?')) {
        if (!text.len) pel_throw(ctx, PEL_E_FORMAT, at, "npy: an empty dtype");
        return (element){ .is_odd = true };
    }
    if (kind == 'U') size *= 4;
    return (element){ kind == '?' && !has_size ? 1 : size, kind == 'O', false };
}

static uint64_t times(pel_ctx *ctx, uint64_t a, uint64_t b, uint64_t at) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product)) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the sizes are too large");
    return product;
}

/* (name, descr), or (name, descr, shape); the name may be (title, name). */
static element read_field(pel_ctx *ctx, const pel_node *field, uint64_t at, int depth) {
    bool is_row = field->kind == PEL_Tuple && (field->Tuple.elts.n == 2 || field->Tuple.elts.n == 3);
    if (!is_row) pel_throw(ctx, PEL_E_FORMAT, at, "npy: a field of descr is no pair of name and type");
    element found = read_descr(ctx, field->Tuple.elts.at[1], at, depth + 1);
    const pel_node *shape = field->Tuple.elts.n == 3 ? field->Tuple.elts.at[2] : NULL;
    if (!shape) return found;
    uint32_t n = shape->kind == PEL_Tuple ? shape->Tuple.elts.n : 1;
    for (uint32_t i = 0; i < n; i++) {
        const pel_node *size = shape->kind == PEL_Tuple ? shape->Tuple.elts.at[i] : shape;
        if (!is_constant(size, PEL_CONST_INT) || size->Constant.value->integer.digits.len)
            pel_throw(ctx, PEL_E_FORMAT, at, "npy: a size must be a whole number");
        found.width = times(ctx, found.width, (uint64_t)size->Constant.value->integer.small, at);
    }
    return found;
}

/* A text, or a list of fields; anything else has no meaning to numpy, and may be code. */
static element read_descr(pel_ctx *ctx, const pel_node *descr, uint64_t at, int depth) {
    element whole = { 0, false, false };
    if (depth > MAX_DEPTH) pel_throw(ctx, PEL_E_TOO_DEEP, at, "npy: fields nest deeper than %d", MAX_DEPTH);
    if (is_constant(descr, PEL_CONST_STR)) return read_simple(ctx, descr->Constant.value->text, at);
    if (descr->kind == PEL_Tuple && descr->Tuple.elts.n == 2) { /* a type of several: (descr, shape) */
        pel_node row = *descr, name = { .kind = PEL_Constant };
        pel_node *parts[3] = { &name, descr->Tuple.elts.at[0], descr->Tuple.elts.at[1] };
        row.Tuple.elts.at = parts;
        row.Tuple.elts.n = 3;
        return read_field(ctx, &row, at, depth);
    }
    if (descr->kind != PEL_List) pel_throw(ctx, PEL_E_FORMAT, at, "npy: descr is neither a text nor a list of fields");
    for (uint32_t i = 0; i < descr->List.elts.n; i++) {
        element field = read_field(ctx, descr->List.elts.at[i], at, depth);
        whole.has_objects |= field.has_objects;
        whole.is_odd |= field.is_odd;
        if (__builtin_add_overflow(whole.width, field.width, &whole.width))
            pel_throw(ctx, PEL_E_FORMAT, at, "npy: the sizes are too large");
    }
    return whole;
}

/* Objects are one pickle; numbers are as many bytes as the shape says. What follows is a second array to readers that
 * go on (numpy.load of an open file), so it is read as a file of its own. */
static void read_elements(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *array, const element *type,
                          const pel_shape *shape, uint64_t start, uint64_t at) {
    uint64_t end, count = 0;
    if (type->is_odd)
        pel_find(
            ctx, &out->findings, PEL_SUSPECT, "unusual-type", name, at,
            PEL_STR("a dtype that numpy does not write, and may read: as objects, it would unpickle what follows"));
    if (type->has_objects || type->is_odd) {
        pel_str rest = pel_input_view(ctx, array, start, array->size - start);
        pel_pickle *pickle = pel_pickle_read(ctx, rest, at + start, name, &out->findings);
        pel_push(ctx, &out->pickles, (pel_loaded_pickle){ pickle, name, false });
        if (pickle->failed) return;
        end = start + pickle->end;
    } else {
        if (!pel_shape_count(shape, &count)) pel_throw(ctx, PEL_E_FORMAT, at, "npy: the sizes are too large");
        uint64_t size = times(ctx, count, type->width, at);
        if (!pel_input_has(array, start, size))
            pel_throw(ctx, PEL_E_FORMAT, at + start, "npy: the elements go beyond the end of the file");
        end = start + size;
    }
    if (end < array->size) pel_look_at_rest(ctx, out, array, end, at);
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
    element type = read_descr(ctx, h.descr, at, 0);
    pel_str descr = is_constant(h.descr, PEL_CONST_STR) ? h.descr->Constant.value->text : PEL_STR("structured");
    pel_model_tensor tensor = { .dtype = pel_npy_dtype(descr), .shape = pel_shape_of(ctx, sizes, n) };
    if (type.has_objects) tensor.dtype = PEL_STR("object");
    read_elements(ctx, out, name, array, &type, &tensor.shape, h.end, at);
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

void pel_add_arrays(pel_tree_builder *builder, pel_loaded *out, const pel_zip *zip) {
    pel_ctx *ctx = builder->ctx;
    for (uint32_t i = 0; i < zip->members.n; i++) {
        const pel_zip_member *member = &zip->members.at[i];
        if (!pel_str_ends(member->name, PEL_STR(".npy"))) continue;
        pel_str array = pel_str_cut(member->name, 0, member->name.len - 4);
        if (member->method != 0 && member->size > MAX_ARRAY) {
            pel_build_unknown(builder, array, PEL_STR("it is packed, and too large to be unpacked"));
            continue;
        }
        pel_input content = member->method == 0 && member->in_file
                                ? pel_input_part(ctx, zip->input, member->offset, member->packed)
                                : pel_input_of(pel_zip_content(ctx, zip, member, MAX_ARRAY, &out->findings));
        if (!pel_is_npy(pel_input_head(ctx, &content))) {
            pel_build_unknown(builder, array, PEL_STR("it is no array"));
            continue; /* and is looked into as members of any archive are */
        }
        pel_map_set(ctx, &out->read, member->offset, 1);
        add_array(builder, out, array, &content, member->method == 0 ? zip->input : NULL, member->offset);
    }
}

bool pel_load_npz(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    for (uint32_t i = 0; i < zip->members.n; i++)
        if (!pel_str_ends(zip->members.at[i].name, PEL_STR(".npy"))) return false;
    if (!zip->members.n) return false;
    out->format = PEL_STR("NumPy archive");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_add_arrays(&builder, out, zip);
    return true;
}
