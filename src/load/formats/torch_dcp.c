/* torch.distributed.checkpoint: a folder whose .metadata says which tensors there are, in which pieces, and in which
 * part of which file each piece lies. A piece is an archive of torch.save. */
#include "load/load.h"

#define MODULE "torch.distributed.checkpoint.metadata"
#define MAX_DIMS 64

typedef struct dcp {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_map files;  /* interned name -> pel_input *; NULL: not there */
    pel_map places; /* interned name of a tensor -> pel_pickled *, the state of its place; NULL: several pieces */
} dcp;

static bool is_made_of(const pel_pickled *object, const char *class) {
    return object && object->kind == PEL_P_NEW && pel_pickled_is_global(object->call->callable, MODULE, class);
}

bool pel_is_dcp(const pel_pickled *root) { return is_made_of(root, "Metadata") && pel_pickled_state(root); }

/* torch.Size((4, 3)). */
static bool read_size(const pel_pickled *size, int64_t dims[MAX_DIMS], uint32_t *n) {
    const pel_pickled *list = size && size->kind == PEL_P_CALL ? pel_pickled_argument(size, 0) : NULL;
    if (!list || list->kind != PEL_P_TUPLE || list->items.n > MAX_DIMS) return false;
    for (uint32_t i = 0; i < list->items.n; i++) {
        if (list->items.at[i]->kind != PEL_P_INT || list->items.at[i]->integer < 0) return false;
        dims[i] = list->items.at[i]->integer;
    }
    *n = list->items.n;
    return true;
}

/* The properties' state is a tuple that begins with the dtype. */
static pel_str read_dtype(const pel_pickled *properties) {
    const pel_pickled *state = properties && properties->states ? properties->states->list.at[0] : NULL;
    const pel_pickled *dtype = state && state->kind == PEL_P_TUPLE && state->items.n ? state->items.at[0] : NULL;
    bool is_named = dtype && dtype->kind == PEL_P_GLOBAL && pel_str_is(dtype->global->module, "torch");
    return is_named ? dtype->global->name : (pel_str){ "", 0 };
}

/* storage_data: {MetadataIndex: _StorageInfo}. */
static void note_places(dcp *d, const pel_pickled *places) {
    for (uint32_t i = 0; places && places->kind == PEL_P_DICT && i + 1 < places->items.n; i += 2) {
        const pel_pickled *index = pel_pickled_state(places->items.at[i]);
        const pel_pickled *place = pel_pickled_state(places->items.at[i + 1]);
        const pel_pickled *name = index ? pel_pickled_get(index, "fqn") : NULL;
        if (!place || !name || name->kind != PEL_P_STR) continue;
        uint64_t key = PEL_KEY(pel_intern_str(d->ctx, name->text));
        bool is_first = !pel_map_has(&d->places, key);
        pel_map_set(d->ctx, &d->places, key, is_first ? PEL_KEY(place) : 0);
    }
}

static const pel_input *file_of(dcp *d, pel_str name) {
    uint64_t found, key = PEL_KEY(pel_intern_str(d->ctx, name));
    if (pel_map_get(&d->files, key, &found)) return (const pel_input *)(uintptr_t)found;
    pel_input *file = pel_new(d->ctx, pel_input);
    bool is_plain = name.len && !memchr(name.ptr, '/', name.len) && !memchr(name.ptr, '\\', name.len) &&
                    !pel_str_is(name, "..") && !memchr(name.ptr, 0, name.len);
    if (!is_plain)
        pel_find(d->ctx, &d->out->findings, PEL_SUSPECT, "path", name, 0,
                 PEL_STR("the index leads to a file that does not lie beside it"));
    bool is_there = is_plain && pel_open_beside(d->ctx, d->out, name, file);
    if (is_plain && !is_there)
        pel_push(d->ctx, &d->builder.network->unknown,
                 (pel_unknown){ .what = name, .why = PEL_STR("a file of the checkpoint that is not there") });
    pel_map_set(d->ctx, &d->files, key, is_there ? PEL_KEY(file) : 0);
    return is_there ? file : NULL;
}

typedef struct piece_job {
    pel_str name;
    pel_input part;
    pel_loaded loaded;
} piece_job;

static void load_piece(pel_ctx *ctx, void *arg) {
    piece_job *job = arg;
    job->loaded.depth = 1;
    pel_load_input(ctx, job->name, &job->part, &job->loaded);
}

/* The bytes of a tensor in one piece: the only tensor of the archive in that part of the file. */
static void place_piece(dcp *d, pel_str name, pel_model_tensor *tensor) {
    const pel_pickled *place = pel_map_pointer(&d->places, PEL_KEY(pel_intern_str(d->ctx, name)));
    const pel_pickled *path = place ? pel_pickled_get(place, "relative_path") : NULL;
    const pel_pickled *offset = place ? pel_pickled_get(place, "offset") : NULL;
    const pel_pickled *length = place ? pel_pickled_get(place, "length") : NULL;
    pel_err ignored;
    if (!path || path->kind != PEL_P_STR || !offset || offset->kind != PEL_P_INT || !length ||
        length->kind != PEL_P_INT || offset->integer < 0 || length->integer < 0)
        return;
    const pel_input *file = file_of(d, path->text);
    if (!file) return;
    if (!pel_input_has(file, (uint64_t)offset->integer, (uint64_t)length->integer)) {
        pel_find(d->ctx, &d->out->findings, PEL_SUSPECT, "outside", name, (uint64_t)offset->integer,
                 PEL_STR("the tensor lies outside of its file"));
        return;
    }
    piece_job *job = pel_new(d->ctx, piece_job);
    job->name = name;
    job->part = pel_input_part(d->ctx, file, (uint64_t)offset->integer, (uint64_t)length->integer);
    if (!pel_attempt(d->ctx, load_piece, job, &ignored) || job->loaded.networks.n != 1) return;
    const pel_module *root = job->loaded.networks.at[0]->root;
    if (root->tensors.n != 1 || root->children.n) return;
    const pel_model_tensor *found = &root->tensors.at[0];
    bool is_same = pel_str_eq(found->dtype, tensor->dtype) && found->shape.n == tensor->shape.n;
    for (uint32_t i = 0; is_same && i < found->shape.n; i++)
        is_same = found->shape.dims[i].size == tensor->shape.dims[i].size;
    if (!is_same) {
        pel_find(d->ctx, &d->out->findings, PEL_SUSPECT, "index", name, (uint64_t)offset->integer,
                 PEL_STR("the piece has another shape or dtype than the index says"));
        return;
    }
    tensor->stored = found->stored;
    tensor->place = found->place;
    tensor->place.file = path->text;
    tensor->place.offset += (uint64_t)offset->integer;
}

static void add_entry(dcp *d, pel_str name, const pel_pickled *entry) {
    const pel_pickled *state = pel_pickled_state(entry), *chunks;
    int64_t dims[MAX_DIMS];
    uint32_t n;
    if (is_made_of(entry, "BytesStorageMetadata")) {
        pel_build_value(&d->builder, name, PEL_STR("pickled, in a file of the checkpoint"));
        return;
    }
    if (!is_made_of(entry, "TensorStorageMetadata") || !state || !read_size(pel_pickled_get(state, "size"), dims, &n)) {
        pel_push(d->ctx, &d->builder.network->unknown,
                 (pel_unknown){ .what = name, .why = PEL_STR("what it is can't be read"), .is_lost = true });
        return;
    }
    pel_model_tensor tensor = { .dtype = read_dtype(pel_pickled_get(state, "properties")),
                                .shape = pel_shape_of(d->ctx, dims, n) };
    chunks = pel_pickled_get(state, "chunks");
    if (chunks && chunks->items.n == 1)
        place_piece(d, name, &tensor);
    else
        pel_build_unknown(
            &d->builder, name,
            pel_format(d->ctx, "its bytes lie in %u pieces, which are not put together", chunks ? chunks->items.n : 0));
    pel_build_tensor(&d->builder, name, tensor);
}

void pel_load_dcp(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_pickled *root) {
    out->format = PEL_STR("torch.distributed.checkpoint");
    dcp d = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '.') };
    const pel_pickled *state = pel_pickled_state(root), *entries = pel_pickled_get(state, "state_dict_metadata");
    note_places(&d, pel_pickled_get(state, "storage_data"));
    if (!entries || entries->kind != PEL_P_DICT) {
        pel_build_unknown(&d.builder, PEL_STR("tensors"), PEL_STR("the index has no state_dict_metadata"));
        return;
    }
    for (uint32_t i = 0; i + 1 < entries->items.n; i += 2)
        if (entries->items.at[i]->kind == PEL_P_STR)
            add_entry(&d, entries->items.at[i]->text, entries->items.at[i + 1]);
        else
            pel_build_unknown(&d.builder, PEL_STR("a tensor"), PEL_STR("its name is no text"));
}
