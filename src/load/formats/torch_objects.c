#include "load/formats/torch_objects.h"

#include "python/print.h"

#define MAX_DEPTH 100
#define MAX_DIMS 64
#define MAX_ATTRIBUTE_DEPTH 8
#define MAX_STEPS 10000000 /* attributes looked at */
#define MAX_SHARED 20000   /* modules that are there again and again; sharing must not multiply them without end */

/* A module that was walked: what it keeps in plain attributes is looked at when all modules are known. */
typedef struct kept_module {
    const pel_pickled *state;
    pel_str path;
} kept_module;

typedef struct walker {
    pel_ctx *ctx;
    pel_tree_builder *builder;
    const pel_torch_source *source;
    pel_map seen;  /* containers that were walked -> their path */
    pel_map first; /* storage key and offset -> full name of the first tensor there */
    pel_map met;   /* calls that rebuild a tensor which the tree has, whole or in parts -> 1 */
    PEL_VEC(kept_module) modules;
    uint32_t n_shared;
    uint64_t steps;
    int inside;    /* modules around: what is there is theirs, and its role is known */
    bool is_loose; /* a tensor was met outside of modules: nothing says whether it is a parameter */
} walker;

typedef struct tensor_parts {
    const pel_pickled *storage, *size, *stride;
    int64_t offset;
    bool has_grad, is_parameter;
    pel_str dtype;
} tensor_parts;

static void walk(walker *w, const pel_pickled *object, pel_str path, pel_tensor_role role, int depth);

/* ---- tensors ---- */

/* An untyped storage counts bytes; the tensor that uses it has the dtype. A class that the table lacks gives an empty
 * text: nobody knows the width of its elements. */
pel_str pel_storage_dtype(pel_str class_name) {
    static const struct {
        const char *storage, *dtype;
    } rows[] = {
        { "FloatStorage", "float32" },
        { "DoubleStorage", "float64" },
        { "HalfStorage", "float16" },
        { "BFloat16Storage", "bfloat16" },
        { "LongStorage", "int64" },
        { "IntStorage", "int32" },
        { "ShortStorage", "int16" },
        { "CharStorage", "int8" },
        { "ByteStorage", "uint8" },
        { "BoolStorage", "bool" },
        { "ComplexFloatStorage", "complex64" },
        { "ComplexDoubleStorage", "complex128" },
        { "QInt8Storage", "qint8" },
        { "QUInt8Storage", "quint8" },
        { "QInt32Storage", "qint32" },
        { "FloatTensor", "float32" },
        { "UntypedStorage", "uint8" },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(class_name, rows[i].storage)) return pel_str_of(rows[i].dtype);
    return (pel_str){ "", 0 };
}

static pel_pickled *argument(const pel_pickled *call, uint32_t i) { return pel_pickled_argument(call, i); }

/* A tuple of sizes, torch.Size or not; NULL if it is none. */
static const pel_pickled *sizes_in(const pel_pickled *object) {
    if (object && object->kind == PEL_P_CALL && pel_pickled_is_global(object->call->callable, "torch", "Size"))
        object = argument(object, 0);
    if (!object || (object->kind != PEL_P_TUPLE && object->kind != PEL_P_LIST) || object->items.n > MAX_DIMS)
        return NULL;
    for (uint32_t i = 0; i < object->items.n; i++)
        if (object->items.at[i]->kind != PEL_P_INT || object->items.at[i]->is_big || object->items.at[i]->integer < 0)
            return NULL;
    return object;
}

static pel_str global_name(const pel_pickled *object) {
    return object && object->kind == PEL_P_GLOBAL ? object->global->name : (pel_str){ "", 0 };
}

static bool is_true(const pel_pickled *object) { return object && object->kind == PEL_P_BOOL && object->integer; }

/* Reads callable(*args) as a call of one of torch's rebuilding functions. */
static bool read_call(const pel_pickled *callable, const pel_pickled *args, tensor_parts *parts, int depth) {
    if (depth > 4 || !callable || callable->kind != PEL_P_GLOBAL || !args || args->kind != PEL_P_TUPLE) return false;
    pel_str module = callable->global->module, name = callable->global->name;
    if (!pel_str_is(module, "torch._utils") && !pel_str_is(module, "torch._tensor")) return false;
    const pel_pickled *at[8] = { 0 };
    for (uint32_t i = 0; i < PEL_COUNT(at) && i < args->items.n; i++) at[i] = args->items.at[i];
    if (pel_str_is(name, "_rebuild_parameter") || pel_str_is(name, "_rebuild_parameter_with_state")) {
        if (!at[0] || at[0]->kind != PEL_P_CALL ||
            !read_call(at[0]->call->callable, at[0]->call->args, parts, depth + 1))
            return false;
        parts->is_parameter = true;
        parts->has_grad = is_true(at[1]);
        return true;
    }
    if (pel_str_is(name, "_rebuild_from_type_v2")) return read_call(at[0], at[2], parts, depth + 1);
    if (pel_str_is(name, "_rebuild_meta_tensor_no_storage")) { /* dtype, size, stride, requires_grad */
        parts->size = sizes_in(at[1]);
        parts->dtype = global_name(at[0]);
        return parts->size != NULL;
    }
    if (!pel_str_starts(name, PEL_STR("_rebuild_tensor")) && !pel_str_is(name, "_rebuild_qtensor")) return false;
    parts->storage = at[0]; /* storage, offset, size, stride, requires_grad, hooks[, dtype] */
    parts->offset = at[1] && at[1]->kind == PEL_P_INT && !at[1]->is_big ? at[1]->integer : -1;
    parts->size = sizes_in(at[2]);
    parts->stride = sizes_in(at[3]);
    parts->has_grad = is_true(at[4]);
    if (pel_str_is(name, "_rebuild_tensor_v3")) parts->dtype = global_name(at[6]);
    return parts->storage && parts->size;
}

static bool read_tensor(const pel_pickled *object, tensor_parts *parts) {
    return object->kind == PEL_P_CALL && read_call(object->call->callable, object->call->args, parts, 0);
}

/* ("storage", class, key, location, count) */
static bool read_storage(const pel_pickled *storage, pel_str *key, pel_str *dtype) {
    const pel_pickled *id = storage->kind == PEL_P_PERSISTENT ? storage->id : NULL;
    if (!id || id->kind != PEL_P_TUPLE || id->items.n < 3 || id->items.at[2]->kind != PEL_P_STR) return false;
    *key = id->items.at[2]->text;
    *dtype = pel_storage_dtype(global_name(id->items.at[1]));
    return true;
}

static bool is_contiguous(const int64_t *sizes, const int64_t *strides, uint32_t n) {
    int64_t expected = 1;
    for (uint32_t i = n; i-- > 0;) {
        if (sizes[i] != 1 && strides[i] != expected) return false;
        if (__builtin_mul_overflow(expected, sizes[i], &expected)) return false;
    }
    return true;
}

/* Bytes from the first to the last element of a view; false if that overflows. */
static bool extent(const int64_t *sizes, const int64_t *strides, uint32_t n, uint64_t width, uint64_t *bytes) {
    uint64_t last = 0, step;
    for (uint32_t i = 0; i < n; i++) {
        if (!sizes[i]) {
            *bytes = 0;
            return true;
        }
        if (__builtin_mul_overflow((uint64_t)(sizes[i] - 1), (uint64_t)strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, width, bytes);
}

/* Finds the bytes of a tensor within its storage. */
static void place_tensor(walker *w, const tensor_parts *parts, pel_str key, pel_str name, pel_model_tensor *tensor) {
    pel_torch_storage storage = { .size = 0 };
    if (!w->source->storage(w->source->arg, key, &storage)) {
        pel_find(w->ctx, w->builder->findings, PEL_NOTE, "no-storage", name, 0,
                 PEL_STR("the bytes of the tensor are not in the file"));
        return;
    }
    uint32_t n = tensor->shape.n;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS], step = 1;
    bool has_strides = parts->stride && parts->stride->items.n == n;
    for (uint32_t i = n; i-- > 0;) {
        sizes[i] = tensor->shape.dims[i].size;
        strides[i] = has_strides ? parts->stride->items.at[i]->integer : step;
        if (__builtin_mul_overflow(step, sizes[i], &step)) step = INT64_MAX;
    }
    uint64_t begin, size, width = pel_dtype_size(tensor->dtype);
    if (!width) return;
    if (parts->offset < 0 || __builtin_mul_overflow((uint64_t)parts->offset, width, &begin) ||
        !extent(sizes, strides, n, width, &size) || begin > storage.size || size > storage.size - begin) {
        pel_find(w->ctx, w->builder->findings, PEL_SUSPECT, "outside", name, storage.offset,
                 pel_format(w->ctx, "the tensor reaches beyond its storage of %llu bytes",
                            (unsigned long long)storage.size));
        return;
    }
    if (!storage.input && !storage.unpack) return; /* where it lies was not asked for */
    pel_stored *stored = pel_new(w->ctx, pel_stored);
    if (!is_contiguous(sizes, strides, n)) {
        int64_t *kept = pel_new_array(w->ctx, n, int64_t);
        memcpy(kept, strides, n * sizeof *kept);
        stored->strides = kept;
    }
    tensor->place = (pel_place){ .file = storage.member, .offset = storage.offset + begin, .size = size };
    tensor->stored = stored;
    stored->unpack = storage.unpack;
    stored->arg = storage.arg;
    if (storage.unpack) { /* which part of the storage is wanted */
        stored->bytes = pel_str_at(NULL, size);
        tensor->place = (pel_place){ .file = storage.member, .offset = storage.offset, .size = storage.size };
        if (begin) tensor->stored = NULL; /* a view into a packed storage: nobody writes that */
    } else {
        pel_store_at(w->ctx, stored, storage.input, storage.offset + begin, size);
    }
}

/* A parameter is a call around the call that rebuilds its tensor. */
static void mark_met(walker *w, const pel_pickled *object) {
    for (int depth = 0; depth < 6 && object && object->kind == PEL_P_CALL; depth++) {
        pel_map_set(w->ctx, &w->met, PEL_KEY(object), 1);
        object = argument(object, 0);
    }
}

static void add_tensor(walker *w, const tensor_parts *parts, pel_str full_name, pel_tensor_role role) {
    int64_t dims[MAX_DIMS];
    for (uint32_t i = 0; i < parts->size->items.n; i++) dims[i] = parts->size->items.at[i]->integer;
    pel_model_tensor tensor = { .role = role, .dtype = parts->dtype };
    tensor.shape = pel_shape_of(w->ctx, dims, parts->size->items.n);
    tensor.frozen = parts->is_parameter && !parts->has_grad;
    pel_str key, dtype;
    if (parts->storage && read_storage(parts->storage, &key, &dtype)) {
        if (!tensor.dtype.len) tensor.dtype = dtype;
        place_tensor(w, parts, key, full_name, &tensor);
        pel_str place = pel_format(w->ctx, "%.*s@%lld", PEL_FMT(key), (long long)parts->offset);
        uint64_t place_key = PEL_KEY(pel_intern_str(w->ctx, place)), first, count;
        if (pel_map_get(&w->first, place_key, &first)) {
            tensor.tied_to = *(const pel_str *)(uintptr_t)first;
        } else if (pel_shape_count(&tensor.shape, &count) && count) {
            pel_str *kept = pel_new(w->ctx, pel_str);
            *kept = full_name;
            pel_map_set(w->ctx, &w->first, place_key, PEL_KEY(kept));
        }
    }
    w->is_loose |= !w->inside && !parts->is_parameter;
    pel_build_tensor(w->builder, full_name, tensor);
}

/* A tensor that is quantised by channel has its scales and zero points in two more: no names of a state dict. */
static void add_quantizer(walker *w, const pel_pickled *object, pel_str path) {
    static const char *const names[] = { "", "scales", "zero_points" };
    while (object && object->kind == PEL_P_CALL &&
           pel_str_starts(global_name(object->call->callable), PEL_STR("_rebuild_parameter")))
        object = argument(object, 0);
    if (!object || object->kind != PEL_P_CALL || !pel_str_is(global_name(object->call->callable), "_rebuild_qtensor"))
        return;
    const pel_pickled *quantizer = argument(object, 4);
    for (uint32_t i = 1; quantizer && i < PEL_COUNT(names) && i < quantizer->items.n; i++) {
        tensor_parts parts = { .dtype = { "", 0 } };
        if (!read_tensor(quantizer->items.at[i], &parts)) continue;
        mark_met(w, quantizer->items.at[i]);
        add_tensor(w, &parts, pel_full_name(w->ctx, w->builder->network, path, pel_str_of(names[i])),
                   PEL_VOLATILE_BUFFER);
    }
}

bool pel_pickled_tensor(pel_ctx *ctx, const pel_pickled *object, const pel_zip *zip, pel_str folder,
                        pel_findings *findings, pel_tensor_bytes *out) {
    tensor_parts parts = { .dtype = { "", 0 } };
    int64_t strides[MAX_DIMS];
    pel_str key, dtype;
    *out = (pel_tensor_bytes){ .n = 0 };
    if (!read_tensor(object, &parts) || !parts.storage || !read_storage(parts.storage, &key, &dtype)) return false;
    out->n = parts.size->items.n;
    out->dtype = parts.dtype.len ? parts.dtype : dtype;
    for (uint32_t i = 0; i < out->n; i++) out->sizes[i] = parts.size->items.at[i]->integer;
    bool has_strides = parts.stride && parts.stride->items.n == out->n;
    for (uint32_t i = 0; has_strides && i < out->n; i++) strides[i] = parts.stride->items.at[i]->integer;
    if (has_strides && !is_contiguous(out->sizes, strides, out->n)) return false;
    const pel_zip_member *member = pel_zip_find(zip, pel_format(ctx, "%.*s%.*s", PEL_FMT(folder), PEL_FMT(key)));
    uint64_t start, width = pel_dtype_size(out->dtype);
    if (!member || !member->readable || !width || parts.offset < 0 ||
        __builtin_mul_overflow((uint64_t)parts.offset, width, &start) || start > member->size)
        return false;
    out->bytes = pel_str_from(pel_zip_content(ctx, zip, member, (uint64_t)1 << 28, findings), start);
    return true;
}

/* ---- containers ---- */

/* Plain values, and short tuples and lists of them, as expressions; NULL for all else. */
static pel_node *plain_value(pel_ctx *ctx, const pel_pickled *value, int depth) {
    switch ((pel_pickle_kind)value->kind) {
    case PEL_P_NONE: return pel_make_none(ctx);
    case PEL_P_BOOL: return pel_make_constant(ctx, pel_const_bool(value->integer != 0));
    case PEL_P_INT: return value->is_big ? NULL : pel_make_int(ctx, value->integer);
    case PEL_P_FLOAT: return pel_make_constant(ctx, pel_const_float(ctx, value->real));
    case PEL_P_STR: return value->text.len > 200 ? NULL : pel_make_text(ctx, value->text);
    case PEL_P_TUPLE:
    case PEL_P_LIST: {
        if (depth > 2 || value->items.n > 16) return NULL;
        pel_node *node = pel_node_new(ctx, value->kind == PEL_P_TUPLE ? PEL_Tuple : PEL_List);
        pel_nodes *elements = value->kind == PEL_P_TUPLE ? &node->Tuple.elts : &node->List.elts;
        for (uint32_t i = 0; i < value->items.n; i++) {
            pel_node *element = plain_value(ctx, value->items.at[i], depth + 1);
            if (!element) return NULL;
            pel_nodes_push(ctx, elements, element);
        }
        return node;
    }
    default: return NULL;
    }
}

/* What is no tensor, and has none in it. Of modules it is an attribute, and shown as such. */
static void add_value(walker *w, const pel_pickled *object, pel_str path) {
    if (w->inside || !path.len) return;
    pel_buf text = pel_buf_in(w->ctx);
    pel_node *plain = plain_value(w->ctx, object, 0);
    const pel_print_options how = { .one_line = true };
    if (plain)
        pel_print(w->ctx, plain, &how, &text);
    else
        pel_pickled_show(&text, object);
    pel_build_value(w->builder, path, pel_buf_str(&text));
}

static bool is_plain(const pel_pickled *object) { return object->kind < PEL_P_TUPLE; }

/* A list or tuple of plain values alone, also an empty one. */
static bool is_plain_row(const pel_pickled *object) {
    if (object->kind != PEL_P_LIST && object->kind != PEL_P_TUPLE) return false;
    for (uint32_t i = 0; i < object->items.n; i++)
        if (!is_plain(object->items.at[i])) return false;
    return true;
}

static pel_str join(walker *w, pel_str path, pel_str name) {
    return pel_full_name(w->ctx, w->builder->network, path, name);
}

static pel_str key_text(walker *w, const pel_pickled *key) {
    if (key->kind == PEL_P_STR) return key->text;
    if (key->kind == PEL_P_INT && !key->is_big) return pel_format(w->ctx, "%lld", (long long)key->integer);
    return (pel_str){ "", 0 };
}

static void walk_items(walker *w, const pel_pickled *dict, pel_str path, pel_tensor_role role, int depth) {
    for (uint32_t i = 0; i + 1 < dict->items.n; i += 2) {
        const pel_pickled *value = dict->items.at[i + 1];
        pel_str key = key_text(w, dict->items.at[i]);
        if (!key.len || (w->inside && is_plain(value))) continue;
        if (is_plain(value) || is_plain_row(value))
            add_value(w, value, join(w, path, key));
        else
            walk(w, value, join(w, path, key), role, depth + 1);
    }
}

/* ---- modules ---- */

static const pel_pickled *class_of(const pel_pickled *object) {
    const pel_pickled *callable = object->call->callable;
    if (callable->kind == PEL_P_GLOBAL && pel_str_is(callable->global->name, "_reconstructor"))
        callable = argument(object, 0);
    return callable && callable->kind == PEL_P_GLOBAL ? callable : NULL;
}

/* What a module keeps in its attributes is mostly what it was made with. */
static void add_arguments(walker *w, pel_module *module, const pel_pickled *state) {
    for (uint32_t i = 0; i + 1 < state->items.n; i += 2) {
        const pel_pickled *key = state->items.at[i], *value = state->items.at[i + 1];
        if (key->kind != PEL_P_STR || !key->text.len || key->text.ptr[0] == '_' || pel_str_is(key->text, "training"))
            continue;
        pel_node *plain = plain_value(w->ctx, value, 0);
        if (plain && value->kind != PEL_P_NONE)
            pel_push(w->ctx, &module->args, (pel_model_argument){ key->text, plain });
    }
}

/* A set as protocol 4 has it, or set(["a", "b"]) as the older ones: then set is the tuple of arguments. */
static bool is_in_set(const pel_pickled *set, pel_str name) {
    if (set && set->kind == PEL_P_CALL) set = argument(set, 0);
    for (uint32_t i = 0; set && i < set->items.n; i++)
        if (set->items.at[i]->kind == PEL_P_STR && pel_str_eq(set->items.at[i]->text, name)) return true;
    return false;
}

static void walk_buffers(walker *w, const pel_pickled *state, const pel_pickled *buffers, pel_str path, int depth) {
    const pel_pickled *passing = pel_pickled_get(state, "_non_persistent_buffers_set");
    for (uint32_t i = 0; i + 1 < buffers->items.n; i += 2) {
        const pel_pickled *key = buffers->items.at[i];
        if (key->kind != PEL_P_STR) continue;
        pel_tensor_role role = is_in_set(passing, key->text) ? PEL_VOLATILE_BUFFER : PEL_BUFFER;
        walk(w, buffers->items.at[i + 1], join(w, path, key->text), role, depth + 1);
    }
}

/* Attributes of a TorchScript object, in the order of its class: tensors, then the modules among the rest. */
static void walk_script(walker *w, const pel_pickled *class, const pel_pickled *state, pel_str path, int depth) {
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i + 1 < state->items.n; i += 2) {
            const pel_pickled *key = state->items.at[i], *value = state->items.at[i + 1];
            tensor_parts parts = { .dtype = { "", 0 } };
            if (key->kind != PEL_P_STR || !key->text.len) continue;
            bool is_tensor = read_tensor(value, &parts);
            if (is_tensor) mark_met(w, value);
            pel_script_role role =
                is_tensor ? w->source->role(w->source->arg, class->global->module, class->global->name, key->text)
                          : PEL_SCRIPT_ATTRIBUTE;
            if (pass == 0 && role == PEL_SCRIPT_PARAMETER)
                add_tensor(w, &parts, join(w, path, key->text), PEL_PARAMETER);
            if (pass == 1 && role == PEL_SCRIPT_BUFFER) add_tensor(w, &parts, join(w, path, key->text), PEL_BUFFER);
            if (pass == 2 && is_tensor && role == PEL_SCRIPT_ATTRIBUTE) /* in no state dict */
                add_tensor(w, &parts, join(w, path, key->text), PEL_VOLATILE_BUFFER);
            if (pass == 2 && !is_tensor && value->kind == PEL_P_NEW)
                walk(w, value, join(w, path, key->text), PEL_PARAMETER, depth + 1);
        }
    }
}

/* The __dict__ of an object. A GraphModule's is an argument of the function that makes it. */
static const pel_pickled *state_of(const pel_pickled *object) {
    const pel_pickled *state = pel_pickled_state(object), *first;
    if (state || object->kind != PEL_P_CALL) return state;
    first = argument(object, 0);
    return first && first->kind == PEL_P_DICT && pel_pickled_get(first, "_modules") ? first : NULL;
}

/* A whole nn.Module (its __dict__ has _parameters, _buffers and _modules) or an object of TorchScript. */
static bool walk_module(walker *w, const pel_pickled *object, pel_str path, int depth) {
    const pel_pickled *state = state_of(object), *class = class_of(object);
    const pel_pickled *modules = state ? pel_pickled_get(state, "_modules") : NULL;
    bool is_script = w->source->role && class && state && pel_str_starts(class->global->module, PEL_STR("__torch__"));
    if (!modules && !is_script) return false;
    pel_module *module = pel_build_module(w->builder, path);
    if (class) {
        bool is_graph = class->global->name.len > 7 && pel_str_starts(class->global->name, PEL_STR("reduce_"));
        module->class = is_graph ? PEL_STR("GraphModule") : class->global->name;
        module->origin.file = class->global->module;
    }
    add_arguments(w, module, state);
    pel_push(w->ctx, &w->modules, (kept_module){ state, path });
    if (is_script) {
        walk_script(w, class, state, path, depth);
        return true;
    }
    const pel_pickled *parameters = pel_pickled_get(state, "_parameters"),
                      *buffers = pel_pickled_get(state, "_buffers");
    if (parameters) walk_items(w, parameters, path, PEL_PARAMETER, depth);
    if (buffers) walk_buffers(w, state, buffers, path, depth);
    for (uint32_t i = 0; i + 1 < modules->items.n; i += 2) {
        pel_str key = key_text(w, modules->items.at[i]);
        const pel_pickled *child = modules->items.at[i + 1];
        if (!key.len || child->kind == PEL_P_NONE) continue;
        pel_build_module(w->builder, join(w, path, key)); /* even if nothing can be said about it */
        walk(w, child, join(w, path, key), PEL_PARAMETER, depth + 1);
    }
    return true;
}

/* A module that was met before: it is there again, with the same tensors, as state_dict() has it. */
static void walk_again(walker *w, const pel_pickled *object, pel_str path, pel_str before, int depth) {
    pel_module *module = pel_build_module(w->builder, path);
    module->shared_with = before;
    if (pel_str_starts(path, before) && (path.len == before.len || path.ptr[before.len] == '.')) return; /* a cycle */
    if (++w->n_shared > MAX_SHARED) {
        if (w->n_shared == MAX_SHARED + 1)
            pel_build_unknown(w->builder, path, PEL_STR("modules are shared too often to list them all"));
        return;
    }
    walk_module(w, object, path, depth);
}

static void walk_elements(walker *w, const pel_pickled *row, pel_str path, pel_tensor_role role, int depth) {
    for (uint32_t i = 0; i < row->items.n; i++) {
        const pel_pickled *element = row->items.at[i];
        if (w->inside && is_plain(element)) continue;
        pel_str name = join(w, path, pel_format(w->ctx, "%u", i));
        if (is_plain(element) || is_plain_row(element))
            add_value(w, element, name);
        else
            walk(w, element, name, role, depth + 1);
    }
}

/* ---- tensors that are made of others ---- */

/* "torch.sparse_coo" of _get_layout("torch.sparse_coo"). */
static pel_str layout_of(const pel_pickled *object) {
    const pel_pickled *name = object && object->kind == PEL_P_CALL ? argument(object, 0) : object;
    return name && name->kind == PEL_P_STR ? name->text : (pel_str){ "", 0 };
}

/* How the parts are called, in the order that torch has them. */
static const char *const *names_of_parts(pel_str function, pel_str layout) {
    static const struct {
        const char *of, *names[5];
    } rows[] = {
        { "torch.sparse_coo", { "indices", "values" } },
        { "torch.sparse_csr", { "crow_indices", "col_indices", "values" } },
        { "torch.sparse_bsr", { "crow_indices", "col_indices", "values" } },
        { "torch.sparse_csc", { "ccol_indices", "row_indices", "values" } },
        { "torch.sparse_bsc", { "ccol_indices", "row_indices", "values" } },
        { "_rebuild_nested_tensor", { "buffer", "sizes", "strides", "offsets" } },
    };
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        if (pel_str_is(layout, rows[i].of) || pel_str_is(function, rows[i].of)) return rows[i].names;
    return NULL;
}

/* A sparse or nested tensor: its parts become tensors below its name. What else torch rebuilds can't be shown, and
 * nobody may take the rest for all. */
static bool walk_parts(walker *w, const pel_pickled *object, pel_str path, pel_tensor_role role) {
    const pel_pickled *callable = object->kind == PEL_P_CALL ? object->call->callable : NULL, *args;
    for (int depth = 0; depth < 4 && callable && pel_str_starts(global_name(callable), PEL_STR("_rebuild_parameter"));
         depth++) {
        object = argument(object, 0);
        callable = object && object->kind == PEL_P_CALL ? object->call->callable : NULL;
    }
    if (!callable || callable->kind != PEL_P_GLOBAL || !pel_str_starts(callable->global->name, PEL_STR("_rebuild_")) ||
        (!pel_str_is(callable->global->module, "torch._utils") &&
         !pel_str_is(callable->global->module, "torch._tensor")))
        return false;
    args = object->call->args;
    if (pel_str_is(callable->global->name, "_rebuild_from_type_v2") && argument(object, 0) && argument(object, 2)) {
        callable = argument(object, 0);
        args = argument(object, 2);
    }
    pel_str layout = { "", 0 };
    bool is_sparse = pel_str_is(global_name(callable), "_rebuild_sparse_tensor") && args->items.n > 1;
    if (is_sparse) {
        layout = layout_of(args->items.at[0]);
        args = args->items.at[1];
    }
    const char *const *names = names_of_parts(global_name(callable), layout);
    uint32_t n = 0, wanted = 0;
    for (; names && wanted < 5 && names[wanted]; wanted++) {
        tensor_parts parts = { .dtype = { "", 0 } };
        if (wanted >= args->items.n || !read_tensor(args->items.at[wanted], &parts)) break;
        mark_met(w, args->items.at[wanted]);
        add_tensor(w, &parts, join(w, path, pel_str_of(names[wanted])), n ? PEL_BUFFER : role);
        n++;
    }
    bool in_parts = names && wanted && (wanted == 5 || !names[wanted]);
    pel_unknown row = { .what = path, .is_lost = true, .in_parts = in_parts };
    row.why =
        pel_format(w->ctx, "a tensor made by %.*s%s%.*s%s", PEL_FMT(global_name(callable)), layout.len ? ", " : "",
                   PEL_FMT(layout), in_parts ? ": its parts are shown below its name" : ": it can't be shown");
    pel_push(w->ctx, &w->builder->network->unknown, row);
    return true;
}

static void walk(walker *w, const pel_pickled *object, pel_str path, pel_tensor_role role, int depth) {
    tensor_parts parts = { .dtype = { "", 0 } };
    if (read_tensor(object, &parts)) {
        mark_met(w, object);
        add_tensor(w, &parts, path.len ? path : PEL_STR("tensor"), role);
        add_quantizer(w, object, path);
        return;
    }
    if (walk_parts(w, object, path.len ? path : PEL_STR("tensor"), role)) return;
    pel_model_tensor tensor = { .role = role };
    if (object->kind == PEL_P_PERSISTENT && w->source->tensor &&
        w->source->tensor(w->source->arg, object->id, &tensor)) {
        w->is_loose |= !w->inside;
        pel_build_tensor(w->builder, path.len ? path : PEL_STR("tensor"), tensor);
        return;
    }
    bool is_object = object->kind == PEL_P_CALL || object->kind == PEL_P_NEW;
    if (!is_object && object->kind != PEL_P_DICT && object->kind != PEL_P_LIST && object->kind != PEL_P_TUPLE) {
        add_value(w, object, path);
        return;
    }
    if (depth > MAX_DEPTH) {
        pel_build_unknown(w->builder, path, pel_format(w->ctx, "objects nest deeper than %d", MAX_DEPTH));
        return;
    }
    const pel_pickled *state = is_object ? state_of(object) : NULL;
    if (w->steps > MAX_STEPS) return;
    w->steps += 1 + (state ? state->items.n : 0);
    if (w->steps > MAX_STEPS)
        pel_build_unknown(w->builder, path, PEL_STR("there are too many objects to look at them all"));
    uint64_t before;
    if (pel_map_get(&w->seen, PEL_KEY(object), &before)) {
        if (state && pel_pickled_get(state, "_modules"))
            walk_again(w, object, path, *(const pel_str *)(uintptr_t)before, depth);
        return;
    }
    pel_str *kept = pel_new(w->ctx, pel_str);
    *kept = path;
    pel_map_set(w->ctx, &w->seen, PEL_KEY(object), PEL_KEY(kept));
    w->inside++;
    bool is_module = is_object && walk_module(w, object, path, depth);
    w->inside--;
    if (is_module) return;
    if (object->kind == PEL_P_LIST || object->kind == PEL_P_TUPLE) {
        walk_elements(w, object, path, role, depth);
        return;
    }
    bool is_ordered = is_object && class_of(object) && pel_str_is(class_of(object)->global->name, "OrderedDict");
    if (!object->items.n && (!state || !state->items.n) && !is_ordered) add_value(w, object, path);
    walk_items(w, object, path, role, depth);
    /* somebody's object with tensors in it; of an OrderedDict it is what state_dict() notes for itself */
    if (state && !is_ordered) walk_items(w, state, path, role, depth);
}

/* ---- what the walk does not reach ---- */

/* Tensors in plain attributes of a module: in lists, dicts and objects there, as the packed weights of quantised
 * modules are. No state dict has them. Modules have been walked. */
static void walk_attribute(walker *w, const pel_pickled *value, pel_str path, int depth) {
    tensor_parts parts = { .dtype = { "", 0 } };
    uint64_t unused;
    if (depth > MAX_ATTRIBUTE_DEPTH || ++w->steps > MAX_STEPS || is_plain(value)) return;
    if (read_tensor(value, &parts)) {
        if (pel_map_get(&w->met, PEL_KEY(value), &unused)) return;
        mark_met(w, value);
        add_tensor(w, &parts, path, PEL_VOLATILE_BUFFER);
        return;
    }
    bool is_object = value->kind == PEL_P_CALL || value->kind == PEL_P_NEW;
    const pel_pickled *state = is_object ? state_of(value) : NULL;
    if ((state && pel_pickled_get(state, "_modules")) || pel_map_get(&w->seen, PEL_KEY(value), &unused)) return;
    pel_str *kept = pel_new(w->ctx, pel_str);
    *kept = path;
    pel_map_set(w->ctx, &w->seen, PEL_KEY(value), PEL_KEY(kept));
    bool is_dict = value->kind == PEL_P_DICT || is_object;
    for (uint32_t i = 0; i + (is_dict ? 1 : 0) < value->items.n; i += is_dict ? 2 : 1) {
        pel_str name = is_dict ? key_text(w, value->items.at[i]) : pel_format(w->ctx, "%u", i);
        if (name.len) walk_attribute(w, value->items.at[i + is_dict], join(w, path, name), depth + 1);
    }
    for (uint32_t i = 0; is_object && value->states && i < value->states->list.n; i++) {
        const pel_pickled *row = value->states->list.at[i];
        bool is_wrapped = row->kind == PEL_P_TUPLE && row->items.n == 1; /* what __getstate__ gave, as one argument */
        walk_attribute(w, is_wrapped ? row->items.at[0] : row, path, depth + 1);
    }
    if (is_object && value->call->args) walk_attribute(w, value->call->args, path, depth + 1);
}

static void walk_attributes(walker *w) {
    static const char *const own[] = { "_parameters", "_buffers", "_modules" };
    for (uint32_t m = 0; m < w->modules.n; m++) {
        const pel_pickled *state = w->modules.at[m].state;
        for (uint32_t i = 0; i + 1 < state->items.n; i += 2) {
            pel_str name = key_text(w, state->items.at[i]);
            bool is_own = !name.len;
            for (size_t k = 0; k < PEL_COUNT(own); k++) is_own |= pel_str_is(name, own[k]);
            if (!is_own) walk_attribute(w, state->items.at[i + 1], join(w, w->modules.at[m].path, name), 0);
        }
    }
}

/* No tensor of the file is dropped in silence: what was rebuilt and is nowhere in the tree is said to be lost. */
static void say_lost(walker *w, const pel_pickle *pickle) {
    uint64_t n = 0, at = 0, unused;
    for (uint32_t i = 0; i < pickle->calls.n; i++) {
        const pel_pickled *call = pickle->calls.at[i];
        tensor_parts parts = { .dtype = { "", 0 } };
        if (!read_tensor(call, &parts) || pel_map_get(&w->met, PEL_KEY(call), &unused)) continue;
        if (!n++) at = call->at;
        mark_met(w, call);
    }
    if (!n) return;
    pel_unknown row = { .what = PEL_STR(PEL_SOMEWHERE), .is_lost = true, .place.offset = at };
    row.why = pel_format(w->ctx, "%llu more are in objects that can't be looked into, the first at byte %llu",
                         (unsigned long long)n, (unsigned long long)at);
    pel_push(w->ctx, &w->builder->network->unknown, row);
}

void pel_load_torch_objects(pel_tree_builder *builder, const pel_pickle *pickle, const pel_torch_source *source) {
    walker w = { .ctx = builder->ctx, .builder = builder, .source = source };
    walk(&w, pickle->root, (pel_str){ "", 0 }, PEL_PARAMETER, 0);
    walk_attributes(&w);
    say_lost(&w, pickle);
    builder->network->roles_unknown = w.is_loose;
}
