/* Models in several files, by the index that lists them; and model trees that --json wrote. */
#include "base/json_read.h"
#include "load/load.h"
#include "load/audit/template.h"

bool pel_is_json(pel_str bytes) {
    size_t i = 0;
    while (i < bytes.len && i < 100 &&
           (bytes.ptr[i] == ' ' || bytes.ptr[i] == '\n' || bytes.ptr[i] == '\t' || bytes.ptr[i] == '\r'))
        i++;
    if (i >= bytes.len || (bytes.ptr[i] != '{' && bytes.ptr[i] != '[')) return false;
    char next = i + 1 < bytes.len ? bytes.ptr[i + 1] : 0;
    if (bytes.ptr[i] == '[') { /* lists of objects alone: brackets begin other texts, too */
        for (i++; i < bytes.len && strchr(" \n\t\r", bytes.ptr[i]); i++) {}
        return i < bytes.len && bytes.ptr[i] == '{';
    }
    return !next || !strchr("%#{", next); /* tags of Jinja */
}

/* A plain name: shards lie beside their index. */
static bool is_plain_name(pel_str name) {
    return name.len && name.ptr[0] != '.' && !memchr(name.ptr, '/', name.len) && !memchr(name.ptr, '\\', name.len) &&
           !memchr(name.ptr, 0, name.len);
}

typedef struct shards {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_tree_builder *builder;
    pel_map wanted;             /* interned name of a tensor -> PEL_KEY of the interned name of its file */
    pel_map found;              /* interned names of tensors */
    pel_map missing;            /* interned names of files */
    const pel_network *network; /* of the shard at hand */
    pel_name file;
} shards;

static void add_module(void *arg, const pel_module *module, pel_str path) {
    shards *s = arg;
    for (uint32_t i = 0; i < module->tensors.n; i++) {
        pel_str name = pel_tensor_name(s->ctx, s->network, path, &module->tensors.at[i]);
        uint64_t key = PEL_KEY(pel_intern_str(s->ctx, name)), file;
        pel_model_tensor tensor = module->tensors.at[i];
        if (!pel_map_get(&s->wanted, key, &file) || file != PEL_KEY(s->file)) {
            pel_find(s->ctx, &s->out->findings, PEL_SUSPECT, "index", name, 0,
                     pel_format(s->ctx, "%s has it, but the index does not say so", s->file->text));
            continue;
        }
        pel_map_set(s->ctx, &s->found, key, 1);
        tensor.place.file = tensor.place.file.len
                                ? pel_format(s->ctx, "%s:%.*s", s->file->text, PEL_FMT(tensor.place.file))
                                : pel_name_str(s->file);
        pel_build_tensor(s->builder, name, tensor);
    }
}

static void load_shard(shards *s) {
    const pel_model_file *index = s->out->file;
    pel_input *input = pel_new(s->ctx, pel_input);
    if (!pel_open_beside(s->ctx, s->out, pel_name_str(s->file), input)) {
        pel_map_set(s->ctx, &s->missing, PEL_KEY(s->file), 1);
        pel_build_unknown(s->builder, pel_name_str(s->file), PEL_STR("the shard is not there"));
        return;
    }
    if (pel_is_json(pel_input_head(s->ctx, input)))
        pel_throw(s->ctx, PEL_E_FORMAT, 0, "the index %.*s lists another index", (int)index->name.len, index->name.ptr);
    pel_loaded *loaded = pel_new(s->ctx, pel_loaded);
    pel_load_input(s->ctx, pel_name_str(s->file), input, loaded);
    pel_input_check(s->ctx, input);
    pel_adopt(s->ctx, s->out, loaded, pel_name_str(s->file), 0);
    for (uint32_t i = 0; i < loaded->networks.n; i++) {
        s->network = loaded->networks.at[i];
        pel_each_module(s->ctx, s->network, add_module, s);
    }
}

/* A file name that leads out of the folder is never opened: an index could name any file of the machine. A missing
 * shard is reported once, so its tensors are not listed as missing again. */
static void load_index(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *map) {
    out->format = PEL_STR("sharded checkpoint");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    shards s = { .ctx = ctx, .out = out, .builder = &builder };
    PEL_VEC(pel_name) files = { 0 };
    pel_map listed = { 0 };
    for (uint32_t i = 0; i + 1 < map->items.n; i += 2) {
        pel_str tensor = map->items.at[i]->text, file = pel_json_text(map->items.at[i + 1]);
        if (!is_plain_name(file)) {
            pel_find(ctx, &out->findings, PEL_DANGER, "path", tensor, map->items.at[i]->at,
                     pel_format(ctx, "the index leads to %.*s, which does not lie beside it", PEL_FMT(file)));
            continue;
        }
        pel_name interned = pel_intern_str(ctx, file);
        pel_map_set(ctx, &s.wanted, PEL_KEY(pel_intern_str(ctx, tensor)), PEL_KEY(interned));
        if (pel_map_set(ctx, &listed, PEL_KEY(interned), 1)) pel_push(ctx, &files, interned);
    }
    for (uint32_t i = 0; i < files.n; i++) {
        s.file = files.at[i];
        load_shard(&s);
    }
    for (uint32_t i = 0; i + 1 < map->items.n; i += 2) {
        pel_str tensor = map->items.at[i]->text;
        uint64_t key = PEL_KEY(pel_intern_str(ctx, tensor)), file;
        bool said = pel_map_get(&s.wanted, key, &file) && pel_map_has(&s.missing, file);
        if (!said && !pel_map_has(&s.found, key))
            pel_build_unknown(&builder, tensor, PEL_STR("the index lists it, but its shard has it not"));
    }
}

/* tokenizer_config.json: one template, or a list of {"name", "template"}. */
static void load_tokenizer(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *templates) {
    out->format = PEL_STR("tokenizer config");
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("a config has none"));
    const pel_json_value *one[] = { templates };
    bool is_list = templates->kind == PEL_J_ARRAY;
    for (uint32_t i = 0; i < (is_list ? templates->items.n : 1); i++) {
        const pel_json_value *row = is_list ? templates->items.at[i] : one[0];
        const pel_json_value *text = row->kind == PEL_J_STR ? row : pel_json_get(row, "template");
        for (uint32_t k = 0; row->kind == PEL_J_OBJECT && !text && k + 1 < row->items.n; k += 2) /* by name */
            if (row->items.at[k + 1]->kind == PEL_J_STR)
                pel_audit_template(ctx, &out->findings, PEL_STR("chat_template"), row->items.at[k + 1]->text,
                                   row->items.at[k + 1]->at);
        if (row->kind == PEL_J_OBJECT && !text) continue;
        if (text && text->kind == PEL_J_STR)
            pel_audit_template(ctx, &out->findings, PEL_STR("chat_template"), text->text, text->at);
        else if (row->kind != PEL_J_NULL)
            pel_find(ctx, &out->findings, PEL_SUSPECT, "template", PEL_STR("chat_template"), row->at,
                     PEL_STR("a chat template that is no text"));
    }
}

typedef struct json_job {
    pel_str text;
    const pel_json_value *root;
} json_job;

static void json_body(pel_ctx *ctx, void *arg) {
    json_job *job = arg;
    job->root = pel_json_read(ctx, job->text, 0);
}

/* By what it has at the top: an index of shards, a config, a tree of ours. */
void pel_load_json(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    json_job job = { bytes, NULL };
    pel_err why;
    if (!pel_attempt(ctx, json_body, &job, &why)) {
        if (why.code == PEL_E_FORMAT && pel_load_json_lines(ctx, out, name, bytes)) return;
        if (why.code == PEL_E_FORMAT && pel_str_find(pel_str_of(why.what), PEL_STR("same key twice")))
            pel_find(ctx, &out->findings, PEL_SUSPECT, "duplicate-key", (pel_str){ "", 0 }, why.at,
                     PEL_STR("an object has one key twice: which of them counts depends on the reader"));
        pel_throw(ctx, why.code, why.at, "%s", why.what);
    }
    const pel_json_value *root = job.root, *map = pel_json_get(root, "weight_map");
    if (map && map->kind == PEL_J_OBJECT) {
        load_index(ctx, out, name, map);
        return;
    }
    if (pel_is_keras_config(root)) {
        pel_load_keras_config(ctx, out, name, root);
        return;
    }
    bool is_tokenizer = pel_json_get(root, "chat_template") != NULL;
    if (is_tokenizer) load_tokenizer(ctx, out, name, pel_json_get(root, "chat_template"));
    if (pel_load_repository_config(ctx, out, name, root) || is_tokenizer) return;
    if (!pel_json_get(root, "networks"))
        pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "JSON, but neither an index nor a config nor a model tree");
    out->format = PEL_STR("model tree");
    out->networks = pel_networks_read(ctx, bytes);
}
