/* torch.save before 0.1.10: a tar archive of three streams of pickles and numbers: storages, tensors, the object. */
#include "io/bytes.h"
#include "io/tar.h"
#include "load/formats/torch_objects.h"

#define MAX_DIMS 64

typedef struct stream {
    pel_str bytes;
    uint64_t base, at;
    const char *name;
} stream;

typedef struct old_storage {
    pel_str dtype;
    uint64_t offset, size; /* in the file */
} old_storage;

typedef struct old_file {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_input input;
    pel_map storages, tensors; /* id -> index */
    PEL_VEC(old_storage) storage_rows;
    PEL_VEC(pel_model_tensor) tensor_rows;
} old_file;

static const pel_pickle *next_pickle(old_file *f, stream *s) {
    pel_str rest = pel_str_from(s->bytes, s->at);
    pel_pickle *pickle = pel_pickle_read(f->ctx, rest, s->base + s->at, pel_str_of(s->name), &f->out->findings);
    pel_push(f->ctx, &f->out->pickles, (pel_loaded_pickle){ pickle, pel_str_of(s->name), false });
    if (pickle->failed) pel_throw(f->ctx, pickle->fault.code, pickle->fault.at, "%s", pickle->fault.what);
    s->at += pickle->end;
    return pickle;
}

static uint64_t next_count(old_file *f, stream *s) {
    const pel_pickled *count = next_pickle(f, s)->root;
    if (count->kind != PEL_P_INT || count->is_big || count->integer < 0)
        pel_throw(f->ctx, PEL_E_FORMAT, count->at, "%s: a count was expected", s->name);
    return (uint64_t)count->integer;
}

static uint64_t next_number(old_file *f, stream *s, unsigned size) {
    if (!pel_within(s->bytes, s->at, size)) pel_throw(f->ctx, PEL_E_FORMAT, s->base + s->at, "truncated: %s", s->name);
    const char *at = s->bytes.ptr + s->at;
    s->at += size;
    return size == 4 ? pel_le32(at) : pel_le64(at);
}

/* Ids are numbers or texts of digits. */
static uint64_t id_of(const pel_pickled *object) {
    uint64_t value = 0;
    if (object->kind == PEL_P_TUPLE && object->items.n) object = object->items.at[0];
    if (object->kind == PEL_P_INT && !object->is_big) return (uint64_t)object->integer;
    for (size_t i = 0; object->kind == PEL_P_STR && i < object->text.len; i++)
        value = value * 10 + (uint64_t)(object->text.ptr[i] - '0');
    return value;
}

static const pel_pickled *next_row(old_file *f, stream *s) {
    const pel_pickled *row = next_pickle(f, s)->root;
    if (row->kind != PEL_P_TUPLE || row->items.n != 3 || row->items.at[2]->kind != PEL_P_GLOBAL)
        pel_throw(f->ctx, PEL_E_FORMAT, row->at, "%s: an id, a place and a class were expected", s->name);
    return row;
}

static void read_storages(old_file *f, stream *s) {
    for (uint64_t n = next_count(f, s); n > 0; n--) {
        const pel_pickled *row = next_row(f, s);
        old_storage storage = { .dtype = pel_storage_dtype(row->items.at[2]->global->name) };
        uint64_t count = next_number(f, s, 8), width = pel_dtype_size(storage.dtype);
        if (!width || __builtin_mul_overflow(count, width, &storage.size) || !pel_within(s->bytes, s->at, storage.size))
            pel_throw(f->ctx, PEL_E_FORMAT, s->base + s->at, "truncated: a storage goes beyond the end of its stream");
        storage.offset = s->base + s->at;
        s->at += storage.size;
        pel_map_set(f->ctx, &f->storages, id_of(row->items.at[0]), f->storage_rows.n);
        pel_push(f->ctx, &f->storage_rows, storage);
    }
}

static void read_tensors(old_file *f, stream *s) {
    for (uint64_t n = next_count(f, s); n > 0; n--) {
        const pel_pickled *row = next_row(f, s);
        uint64_t index, rank = next_number(f, s, 4);
        next_number(f, s, 4); /* the rank once took eight bytes */
        int64_t sizes[MAX_DIMS], *strides = NULL;
        if (rank > MAX_DIMS)
            pel_throw(f->ctx, PEL_E_TOO_BIG, s->base + s->at, "a tensor of %u dimensions", (unsigned)rank);
        strides = pel_new_array(f->ctx, rank, int64_t);
        for (uint64_t i = 0; i < rank; i++) sizes[i] = (int64_t)next_number(f, s, 8);
        for (uint64_t i = 0; i < rank; i++) strides[i] = (int64_t)next_number(f, s, 8);
        uint64_t start = next_number(f, s, 8), count;
        pel_model_tensor tensor = { .shape = pel_shape_of(f->ctx, sizes, (uint32_t)rank) };
        if (pel_map_get(&f->storages, id_of(row->items.at[1]), &index)) {
            const old_storage *storage = &f->storage_rows.at[index];
            uint64_t width = pel_dtype_size(storage->dtype), begin, size;
            tensor.dtype = storage->dtype;
            bool is_contiguous = true;
            int64_t expected = 1;
            for (uint64_t i = rank; i-- > 0;) {
                is_contiguous &= sizes[i] == 1 || strides[i] == expected;
                is_contiguous &= !__builtin_mul_overflow(expected, sizes[i], &expected);
            }
            if (is_contiguous && pel_shape_count(&tensor.shape, &count) &&
                !__builtin_mul_overflow(start, width, &begin) && !__builtin_mul_overflow(count, width, &size) &&
                begin <= storage->size && size <= storage->size - begin)
                pel_build_place(f->ctx, &tensor, &f->input, PEL_STR("storages"), storage->offset + begin, size);
        }
        pel_map_set(f->ctx, &f->tensors, id_of(row->items.at[0]), f->tensor_rows.n);
        pel_push(f->ctx, &f->tensor_rows, tensor);
    }
}

static bool tensor_of(void *arg, const pel_pickled *id, pel_model_tensor *tensor) {
    old_file *f = arg;
    uint64_t index;
    if (!pel_map_get(&f->tensors, id_of(id), &index)) return false;
    pel_tensor_role role = tensor->role;
    *tensor = f->tensor_rows.at[index];
    tensor->role = role;
    return true;
}

static bool no_storage(void *arg, pel_str key, pel_torch_storage *storage) {
    (void)arg, (void)key, (void)storage;
    return false;
}

bool pel_load_torch_tar(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    const pel_tar *tar = pel_tar_read(ctx, bytes, &out->findings);
    old_file f = { .ctx = ctx, .out = out, .input = pel_input_of(bytes) };
    stream storages = { .name = "storages" }, tensors = { .name = "tensors" }, object = { .name = "pickle" };
    if (!pel_tar_find(tar, bytes, "pickle", &object.bytes, &object.base)) return false;
    out->format = PEL_STR("PyTorch tar file");
    if (pel_tar_find(tar, bytes, "storages", &storages.bytes, &storages.base)) {
        pel_map_set(ctx, &out->read, storages.base, 1);
        read_storages(&f, &storages);
    }
    if (pel_tar_find(tar, bytes, "tensors", &tensors.bytes, &tensors.base)) {
        pel_map_set(ctx, &out->read, tensors.base, 1);
        read_tensors(&f, &tensors);
    }
    pel_map_set(ctx, &out->read, object.base, 1); /* not before: streams that break must not hide it */
    const pel_pickle *whole = next_pickle(&f, &object);
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_torch_source source = { .storage = no_storage, .tensor = tensor_of, .arg = &f };
    pel_load_torch_objects(&builder, whole, &source);
    return true;
}
