/* TensorFlow: graphs (frozen ones, those of event files, torch's among them) and SavedModels. */
#include "io/protobuf.h"
#include "io/tfrecord.h"
#include "load/load.h"
#include "load/audit/tensorflow_ops.h"

#define MAX_DIMS 64
#define MAX_NODES 1000000
#define MAX_OBJECT_DEPTH 60

static pel_str dtype_of(uint64_t number) {
    static const char *const names[] = { "",           "float32", "float64",   "int32",   "uint8",   "int16",
                                         "int8",       "string",  "complex64", "int64",   "bool",    "qint8",
                                         "quint8",     "qint32",  "bfloat16",  "qint16",  "quint16", "uint16",
                                         "complex128", "float16", "resource",  "variant", "uint32",  "uint64" };
    if (number > 100) number -= 100; /* references */
    return pel_str_of(number < PEL_COUNT(names) ? names[number] : "");
}

/* TensorShape: dims {size, name}; unknown_rank. */
static pel_shape read_shape(pel_ctx *ctx, pel_proto message) {
    pel_proto_field field, size;
    pel_dim dims[MAX_DIMS];
    uint32_t n = 0;
    bool is_known = true;
    while (pel_proto_next(ctx, &message, &field)) {
        if (field.number == 3 && field.value) is_known = false;
        if (field.number != 2 || n == MAX_DIMS) continue;
        pel_dim dim = { .size = 0 };
        if (pel_proto_find(ctx, pel_proto_of(&field), 1, &size)) dim.size = (int64_t)size.value;
        if (dim.size < 0) dim = (pel_dim){ .symbol = PEL_STR("?") };
        dims[n++] = dim;
    }
    pel_shape shape = { pel_new_array(ctx, n, pel_dim), n, is_known };
    memcpy(shape.dims, dims, n * sizeof *dims);
    return shape;
}

/* ---- graphs ---- */

typedef struct graph {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_map nodes; /* interned name -> pel_str *: the name itself */
    uint32_t n_nodes;
    bool is_torch; /* of torch's SummaryWriter: scopes are Class[name] */
} graph;

/* "Sequential/Linear[fc1]/..." : the module fc1 of class Linear. */
static void name_scopes(graph *g, pel_str path) {
    for (size_t end = 0; end <= path.len; end++) {
        if (end < path.len && path.ptr[end] != '/') continue;
        pel_module *module = pel_build_module(&g->builder, pel_str_cut(path, 0, end));
        pel_str name = module->name;
        const char *bracket = name.len ? memchr(name.ptr, '[', name.len) : NULL;
        if (!bracket || module->class.len || name.ptr[name.len - 1] != ']') continue;
        size_t at = (size_t)(bracket - name.ptr);
        module->class = pel_str_cut(name, 0, at);
        module->name = pel_str_cut(name, at + 1, name.len - 1);
    }
}

static void read_const(graph *g, pel_str name, pel_proto tensor) {
    pel_proto_field field;
    pel_model_tensor made = { .shape = { .is_known = true } };
    pel_str content = { NULL, 0 };
    uint64_t content_at = 0, count, size;
    while (pel_proto_next(g->ctx, &tensor, &field)) {
        if (field.number == 1) made.dtype = dtype_of(field.value);
        if (field.number == 2) made.shape = read_shape(g->ctx, pel_proto_of(&field));
        if (field.number == 4) content = field.bytes, content_at = field.at;
    }
    bool is_number = pel_dtype_size(made.dtype) > 0;
    if (!made.shape.n || !is_number) return; /* an axis, a text: no weight */
    if (content.ptr && pel_shape_count(&made.shape, &count) &&
        !__builtin_mul_overflow(count, pel_dtype_size(made.dtype), &size) && size == content.len) {
        pel_stored *stored = pel_new(g->ctx, pel_stored);
        stored->bytes = content;
        made.stored = stored;
        made.place = (pel_place){ .offset = content_at, .size = size };
    }
    pel_build_tensor(&g->builder, name, made);
}

static void read_node(graph *g, pel_proto message) {
    pel_proto_field field, value, key;
    pel_proto again = message;
    pel_str name = { "", 0 }, op = { "", 0 };
    while (pel_proto_next(g->ctx, &message, &field)) {
        if (field.number == 1) name = field.bytes;
        if (field.number == 2) op = field.bytes;
    }
    if (++g->n_nodes > MAX_NODES)
        pel_throw(g->ctx, PEL_E_TOO_BIG, message.base, "graph: more than %d nodes", MAX_NODES);
    if (!name.len) return;
    bool is_const = pel_str_is(op, "Const");
    pel_module *module = is_const ? NULL : pel_build_module(&g->builder, name);
    if (module) {
        module->class = op;
        if (g->is_torch) name_scopes(g, name);
    }
    pel_str *kept = pel_new(g->ctx, pel_str);
    *kept = name;
    pel_map_set(g->ctx, &g->nodes, PEL_KEY(pel_intern_str(g->ctx, name)), PEL_KEY(kept));
    while (pel_proto_next(g->ctx, &again, &field)) {
        if (field.number == 3 && !is_const) { /* input: "name:output", "^name" for order alone */
            pel_str from = field.bytes;
            const char *colon = from.len ? memchr(from.ptr, ':', from.len) : NULL;
            if (colon) from.len = (size_t)(colon - from.ptr);
            uint64_t found;
            if (from.len && from.ptr[0] != '^' && pel_map_get(&g->nodes, PEL_KEY(pel_intern_str(g->ctx, from)), &found))
                pel_push(g->ctx, &g->builder.network->flow,
                         (pel_flow){ .from = *(const pel_str *)(uintptr_t)found, .to = name });
        }
        if (field.number != 5 || !pel_proto_find(g->ctx, pel_proto_of(&field), 1, &key) ||
            !pel_proto_find(g->ctx, pel_proto_of(&field), 2, &value))
            continue;
        pel_proto_field content;
        if (is_const && pel_str_is(key.bytes, "value") && pel_proto_find(g->ctx, pel_proto_of(&value), 8, &content))
            read_const(g, name, pel_proto_of(&content));
        if (module && pel_str_is(key.bytes, "_output_shapes") &&
            pel_proto_find(g->ctx, pel_proto_of(&value), 1, &content) &&
            pel_proto_find(g->ctx, pel_proto_of(&content), 7, &value))
            module->output = read_shape(g->ctx, pel_proto_of(&value));
    }
}

static void read_graph(graph *g, pel_proto message) {
    pel_proto_field field, inner;
    pel_proto again = message;
    for (int looked = 0; looked < 50 && pel_proto_next(g->ctx, &again, &field); looked++) /* torch's own operators */
        if (field.number == 1 && pel_proto_find(g->ctx, pel_proto_of(&field), 2, &inner) &&
            (pel_str_starts(inner.bytes, PEL_STR("aten::")) || pel_str_starts(inner.bytes, PEL_STR("prim::")) ||
             pel_str_is(inner.bytes, "IO Node")))
            g->is_torch = true;
    while (pel_proto_next(g->ctx, &message, &field))
        if (field.number == 1 && field.wire == PEL_WIRE_BYTES) read_node(g, pel_proto_of(&field));
}

void pel_load_graphdef(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("TensorFlow graph");
    graph g = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '/') };
    read_graph(&g, (pel_proto){ .bytes = bytes });
    if (!g.is_torch) pel_audit_graphdef(ctx, out, (pel_proto){ .bytes = bytes });
}

/* ---- event files ---- */

void pel_load_events(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("TensorBoard event file");
    pel_str record;
    for (uint64_t at = 0; pel_tfrecord_next(ctx, bytes, &at, &record, &out->findings);) {
        pel_proto event = { .bytes = record, .base = (uint64_t)(record.ptr - bytes.ptr) };
        pel_proto_field field, inner;
        while (pel_proto_next(ctx, &event, &field)) {
            bool is_meta = field.number == 9;
            if ((field.number != 4 && !is_meta) || field.wire != PEL_WIRE_BYTES) continue;
            if (is_meta && !pel_proto_find(ctx, pel_proto_of(&field), 2, &inner)) continue;
            graph g = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '/') };
            read_graph(&g, pel_proto_of(is_meta ? &inner : &field));
        }
    }
    if (!out->networks.n) {
        pel_tree_builder builder = pel_build(ctx, out, name, '/');
        pel_build_unknown(&builder, PEL_STR("graph"), PEL_STR("the events hold none"));
    }
}

/* ---- SavedModel ---- */

typedef struct saved_model {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder *builder;
    PEL_VEC(pel_proto) objects;
    pel_map seen;
    pel_map index;  /* interned key of a checkpoint -> pel_str *, the entry */
    pel_input data; /* the file of variables; empty: not there */
} saved_model;

static const char index_name[] = "variables/variables.index", data_name[] = "variables/variables.data-00000-of-00001";

/* The index of the variables says where each lies. */
static void read_index(saved_model *m) {
    pel_input index;
    if (!pel_open_beside(m->ctx, m->out, PEL_STR(index_name), &index)) return;
    pel_open_beside(m->ctx, m->out, PEL_STR(data_name), &m->data);
    const pel_table *table = pel_table_read(m->ctx, pel_input_whole(m->ctx, &index));
    for (uint32_t i = 0; i < table->rows.n; i++) {
        pel_str key = table->rows.at[i].key;
        pel_map_set(m->ctx, &m->index, PEL_KEY(pel_intern_str(m->ctx, key)), PEL_KEY(&table->rows.at[i].value));
    }
}

static void place_variable(saved_model *m, pel_model_tensor *tensor, pel_str path) {
    pel_str key = pel_format(m->ctx, "%.*s/.ATTRIBUTES/VARIABLE_VALUE", PEL_FMT(path));
    uint64_t found, offset = 0, size = 0, shard = 0;
    if (!pel_map_get(&m->index, PEL_KEY(pel_intern_str(m->ctx, key)), &found)) return;
    pel_proto entry = { .bytes = *(const pel_str *)(uintptr_t)found };
    pel_proto_field field;
    while (pel_proto_next(m->ctx, &entry, &field)) {
        if (field.number == 3) shard = field.value;
        if (field.number == 4) offset = field.value;
        if (field.number == 5) size = field.value;
    }
    if (m->data.size && !shard && !pel_build_place(m->ctx, tensor, &m->data, PEL_STR(data_name), offset, size))
        pel_find(m->ctx, &m->out->findings, PEL_SUSPECT, "outside", path, offset,
                 PEL_STR("the variable lies outside of the file of variables"));
}

/* In lists, variables are known by their own names: the number says nothing, and Keras lists each twice. */
static bool is_numbered(pel_str path) {
    size_t i = path.len;
    while (i && path.ptr[i - 1] >= '0' && path.ptr[i - 1] <= '9') i--;
    return i < path.len && (!i || path.ptr[i - 1] == '/');
}

static void add_variable(saved_model *m, pel_proto variable, pel_str path) {
    pel_proto_field field;
    pel_model_tensor tensor = { .role = PEL_BUFFER, .shape = { .is_known = true } };
    pel_str name = path;
    while (pel_proto_next(m->ctx, &variable, &field)) {
        if (field.number == 1) tensor.dtype = dtype_of(field.value);
        if (field.number == 2) tensor.shape = read_shape(m->ctx, pel_proto_of(&field));
        if (field.number == 3 && field.value) tensor.role = PEL_PARAMETER;
        if (field.number == 6 && field.bytes.len && is_numbered(path)) name = field.bytes;
    }
    if (!pel_dtype_size(tensor.dtype)) return;
    if (name.ptr != path.ptr && pel_map_has(&m->builder->tensors, PEL_KEY(pel_intern_str(m->ctx, name)))) return;
    place_variable(m, &tensor, path);
    pel_build_tensor(m->builder, name, tensor);
}

/* Objects by their references: the names that the model's own code has for them. */
static void walk_object(saved_model *m, uint64_t index, pel_str path, int depth) {
    pel_proto_field field, id, name;
    if (index >= m->objects.n || depth > MAX_OBJECT_DEPTH || !pel_map_set(m->ctx, &m->seen, index, 1)) return;
    pel_proto message = m->objects.at[index], again = message;
    while (pel_proto_next(m->ctx, &again, &field))
        if (field.number == 7 && path.len) add_variable(m, pel_proto_of(&field), path);
    while (pel_proto_next(m->ctx, &message, &field)) {
        if (field.number != 1 || !pel_proto_find(m->ctx, pel_proto_of(&field), 2, &name)) continue;
        uint64_t child = pel_proto_find(m->ctx, pel_proto_of(&field), 1, &id) ? id.value : 0;
        walk_object(m, child, pel_full_name(m->ctx, m->builder->network, path, name.bytes), depth + 1);
    }
}

/* AssetFileDef: its loader gives the graph the path of assets/<filename>, wherever that leads. */
static void judge_asset(pel_ctx *ctx, pel_loaded *out, pel_proto asset) {
    pel_proto_field name;
    if (pel_proto_find(ctx, asset, 2, &name) && name.wire == PEL_WIRE_BYTES && !pel_is_safe_path(name.bytes))
        pel_find(ctx, &out->findings, PEL_DANGER, "path", (pel_str){ "", 0 }, name.at,
                 pel_format(ctx, "an asset is %.*s, which leads out of the model's folder", PEL_FMT(name.bytes)));
}

void pel_load_saved_model(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("TensorFlow SavedModel");
    graph g = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '/') };
    g.builder.network->roles_unknown = false; /* variables say whether they are trained */
    saved_model m = { .ctx = ctx, .out = out, .builder = &g.builder };
    pel_proto model = { .bytes = bytes };
    pel_proto_field meta, field, node;
    bool has_graph = false;
    read_index(&m);
    while (pel_proto_next(ctx, &model, &meta)) {
        if (meta.number != 2 || meta.wire != PEL_WIRE_BYTES) continue;
        pel_proto parts = pel_proto_of(&meta);
        m.objects.n = 0;
        m.seen = (pel_map){ 0 };
        while (pel_proto_next(ctx, &parts, &field)) {
            pel_proto objects = pel_proto_of(&field);
            /* of the graph and its functions, what they would do: the objects tell the rest */
            if (field.number == 2 && field.wire == PEL_WIRE_BYTES) {
                pel_audit_graphdef(ctx, out, objects);
                has_graph = true;
            }
            if (field.number == 6 && field.wire == PEL_WIRE_BYTES) judge_asset(ctx, out, objects);
            while (field.number == 7 && pel_proto_next(ctx, &objects, &node))
                if (node.number == 1) pel_push(ctx, &m.objects, pel_proto_of(&node));
        }
        walk_object(&m, 0, (pel_str){ "", 0 }, 0);
    }
    if (!has_graph) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "like a SavedModel, but it has no graph");
}

/* ---- checkpoints ---- */

#define MAX_SHARDS 10000

typedef struct checkpoint {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder builder;
    pel_str base;   /* "model.ckpt" of model.ckpt.index */
    pel_map shards; /* number -> pel_input *, NULL: it is not there */
    uint64_t n_shards;
} checkpoint;

/* BundleEntryProto. */
typedef struct bundle_entry {
    uint64_t dtype, shard, offset, size;
    pel_shape shape;
    bool has_slices;
} bundle_entry;

static bundle_entry read_entry(pel_ctx *ctx, pel_str bytes) {
    pel_proto message = { .bytes = bytes };
    pel_proto_field field;
    bundle_entry entry = { .shape = { .is_known = true } };
    while (pel_proto_next(ctx, &message, &field)) {
        if (field.number == 1) entry.dtype = field.value;
        if (field.number == 2 && field.wire == PEL_WIRE_BYTES) entry.shape = read_shape(ctx, pel_proto_of(&field));
        if (field.number == 3) entry.shard = field.value;
        if (field.number == 4) entry.offset = field.value;
        if (field.number == 5) entry.size = field.value;
        if (field.number == 7) entry.has_slices = true;
    }
    return entry;
}

static pel_str last_part(pel_str path) {
    size_t start = path.len;
    while (start && path.ptr[start - 1] != '/') start--;
    return pel_str_from(path, start);
}

static const pel_input *shard_of(checkpoint *c, uint64_t number) {
    uint64_t found;
    if (number >= c->n_shards) return NULL;
    if (pel_map_get(&c->shards, number, &found)) return (const pel_input *)(uintptr_t)found;
    pel_input *data = pel_new(c->ctx, pel_input);
    pel_str name =
        pel_format(c->ctx, "%.*s.data-%05u-of-%05u", PEL_FMT(c->base), (unsigned)number, (unsigned)c->n_shards);
    if (!c->base.len || !pel_open_beside(c->ctx, c->out, name, data)) {
        pel_push(c->ctx, &c->builder.network->unknown,
                 (pel_unknown){ .what = name, .why = PEL_STR("a file of the checkpoint that is not there") });
        data = NULL;
    }
    pel_map_set(c->ctx, &c->shards, number, PEL_KEY(data));
    return data;
}

static void add_entry(checkpoint *c, const pel_table_row *row) {
    static const char suffix[] = "/.ATTRIBUTES/VARIABLE_VALUE";
    bundle_entry entry = read_entry(c->ctx, row->value);
    pel_str name = row->key;
    if (pel_str_ends(name, PEL_STR(suffix))) name.len -= strlen(suffix);
    pel_model_tensor tensor = { .dtype = dtype_of(entry.dtype), .shape = entry.shape };
    if (!pel_dtype_size(tensor.dtype)) { /* texts: the graph of objects, mostly */
        pel_build_value(&c->builder, name,
                        pel_format(c->ctx, "%.*s, %llu bytes", PEL_FMT(tensor.dtype), (unsigned long long)entry.size));
        return;
    }
    if (entry.has_slices) {
        pel_build_unknown(&c->builder, name, PEL_STR("it is kept in slices, which are not read"));
    } else {
        const pel_input *data = shard_of(c, entry.shard);
        if (data && !pel_build_place(c->ctx, &tensor, data, last_part(c->base), entry.offset, entry.size))
            pel_find(c->ctx, &c->out->findings, PEL_SUSPECT, "outside", name, entry.offset,
                     PEL_STR("the variable lies outside of the file of variables"));
    }
    pel_build_tensor(&c->builder, name, tensor);
}

static const char table_mark[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

bool pel_is_tf_index(pel_ctx *ctx, const pel_input *input) {
    return input->size >= 48 && memcmp(pel_input_view(ctx, input, input->size - 8, 8).ptr, table_mark, 8) == 0;
}

void pel_load_tf_index(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    out->format = PEL_STR("TensorFlow checkpoint");
    const pel_table *table = pel_table_read(ctx, bytes);
    checkpoint c = { .ctx = ctx, .out = out, .builder = pel_build(ctx, out, name, '/') };
    pel_str file = last_part(name);
    if (pel_str_ends(file, PEL_STR(".index"))) c.base = pel_str_cut(file, 0, file.len - strlen(".index"));
    for (uint32_t i = 0; i < table->rows.n; i++) {
        const pel_table_row *row = &table->rows.at[i];
        pel_proto_field field;
        if (!row->key.len) { /* BundleHeaderProto */
            pel_proto header = { .bytes = row->value };
            c.n_shards = pel_proto_find(ctx, header, 1, &field) ? field.value : 1;
            if (c.n_shards > MAX_SHARDS) pel_throw(ctx, PEL_E_FORMAT, 0, "checkpoint: an absurd number of shards");
            if (pel_proto_find(ctx, header, 2, &field) && field.value) {
                pel_find(ctx, &out->findings, PEL_NOTE, "big-endian", (pel_str){ "", 0 }, 0,
                         PEL_STR("the tensors are big-endian: they are listed, their bytes are not read"));
                c.n_shards = 0;
            }
        } else if (row->key.ptr[0]) { /* others are slices, under the name of the whole */
            add_entry(&c, row);
        }
    }
}

/* "model.ckpt" of model.ckpt.data-00000-of-00001, and which shard it is. */
static bool split_data_name(pel_str path, pel_str *base, uint64_t *shard) {
    static const char form[] = ".data-#####-of-#####";
    pel_str name = last_part(path);
    size_t len = strlen(form);
    if (name.len <= len) return false;
    pel_str end = pel_str_from(name, name.len - len);
    *shard = 0;
    for (size_t i = 0; i < len; i++) {
        bool is_digit = end.ptr[i] >= '0' && end.ptr[i] <= '9';
        if (form[i] == '#' ? !is_digit : end.ptr[i] != form[i]) return false;
        if (form[i] == '#' && i < 12) *shard = 10 * *shard + (uint64_t)(end.ptr[i] - '0');
    }
    *base = pel_str_cut(name, 0, name.len - len);
    return true;
}

typedef struct data_check {
    const pel_input *index;
    uint64_t shard, size;
    bool fits;
} data_check;

static void check_data(pel_ctx *ctx, void *arg) {
    data_check *check = arg;
    const pel_table *table = pel_table_read(ctx, pel_input_whole(ctx, check->index));
    uint64_t end = 0;
    for (uint32_t i = 0; i < table->rows.n; i++) {
        if (!table->rows.at[i].key.len) continue;
        bundle_entry entry = read_entry(ctx, table->rows.at[i].value);
        if (entry.shard != check->shard || entry.has_slices) continue;
        if (entry.offset > check->size || entry.size > check->size - entry.offset) return;
        if (entry.offset + entry.size > end) end = entry.offset + entry.size;
    }
    check->fits = end == check->size; /* no byte that the index does not speak of */
}

bool pel_is_tf_data(pel_ctx *ctx, const pel_loaded *out, pel_str name, const pel_input *input) {
    pel_str base;
    pel_input index;
    pel_err ignored;
    data_check check = { .index = &index, .size = input->size };
    if (!split_data_name(name, &base, &check.shard) ||
        !pel_open_beside(ctx, out, pel_format(ctx, "%.*s.index", PEL_FMT(base)), &index))
        return false;
    return pel_is_tf_index(ctx, &index) && pel_attempt(ctx, check_data, &check, &ignored) && check.fits;
}

void pel_load_tf_data(pel_ctx *ctx, pel_loaded *out, pel_str name) {
    out->format = PEL_STR("TensorFlow checkpoint data");
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    pel_build_unknown(&builder, PEL_STR("tensors"), PEL_STR("the index beside it lists them"));
}

/* FingerprintDef: five hashes, and a version. */
bool pel_is_tf_fingerprint(pel_ctx *ctx, const pel_input *input) {
    pel_proto_top top;
    if (input->size > 1024 || !pel_proto_scan(ctx, input, &top)) return false;
    uint32_t hashes = top.kinds[PEL_WIRE_NUMBER], all = top.kinds[PEL_WIRE_64] | top.kinds[PEL_WIRE_32];
    return top.highest < 32 && !all && (hashes & 6) == 6 && !(hashes & ~(uint32_t)0x3E) &&
           !(top.kinds[PEL_WIRE_BYTES] & ~(uint32_t)0xC0);
}

void pel_load_tf_fingerprint(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    (void)bytes;
    out->format = PEL_STR("TensorFlow fingerprint");
    pel_tree_builder builder = pel_build(ctx, out, name, '/');
    pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("a fingerprint has none"));
}
