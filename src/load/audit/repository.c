/* A model's repository: what loading it with its own code (trust_remote_code=True) would import and run. Source is read
 * and not run; configs say which of it is meant; notebooks, requirements and hydra's configs are what people run. */
#include "base/json_read.h"
#include "io/pickle.h"
#include "io/zip.h"
#include "load/audit/audit.h"
#include "load/audit/source_effects.h"
#include "load/audit/template.h"
#include "load/audit/tensorflow_ops.h"

#define MAX_FILES 64  /* of a repository that one config leads to */
#define MAX_NAME 200  /* of something that a config names */
#define MAX_LEVELS 64 /* of JSON that is looked through for _target_ */
#define VERSION PEL_VERSION_MAX

typedef struct repository {
    pel_ctx *ctx;
    pel_loaded *out;
    pel_map seen; /* interned file names */
    uint32_t n;
} repository;

static pel_severity severity_of(pel_effect effect) {
    return effect == PEL_EFFECT_NONE ? PEL_NOTE : effect <= PEL_EFFECT_UNKNOWN ? PEL_SUSPECT : PEL_DANGER;
}

/* ---- source ---- */

/* "sub.part" is sub/part.py beside the file. */
static pel_str file_of(pel_ctx *ctx, pel_str module) {
    pel_buf path = pel_buf_in(ctx);
    for (size_t i = 0; i < module.len; i++) pel_put_byte(&path, module.ptr[i] == '.' ? '/' : module.ptr[i]);
    pel_put_c(&path, ".py");
    return pel_buf_str(&path);
}

static bool is_sibling(void *arg, pel_str module) {
    repository *r = arg;
    pel_input input;
    return pel_open_beside(r->ctx, r->out, file_of(r->ctx, module), &input);
}

static void find_effects(repository *r, pel_str file, const pel_source_effects *effects) {
    for (uint32_t i = 0; i < effects->rows.n; i++) {
        const pel_source_effect *row = &effects->rows.at[i];
        pel_find(
            r->ctx, &r->out->findings, severity_of(row->effect), pel_effect_kind(row->effect), (pel_str){ "", 0 }, 0,
            pel_format(r->ctx, "%.*s:%u: %.*s %s: %.*s%s%.*s%s", PEL_FMT(file), row->line,
                       PEL_FMT(row->where.len ? row->where : PEL_STR("importing it")), pel_effect_verb(row->effect),
                       PEL_FMT(row->what), row->why.len ? " (" : "", PEL_FMT(row->why), row->why.len ? ")" : ""));
    }
}

static void read_source(repository *r, pel_str file, pel_str bytes);

/* The modules that a source imports of its own folder are run with it. */
static void read_siblings(repository *r, pel_str file, const pel_source_effects *effects) {
    for (uint32_t i = 0; i < effects->siblings.n; i++) {
        pel_str name = file_of(r->ctx, effects->siblings.at[i]);
        pel_input input;
        if (!pel_map_set(r->ctx, &r->seen, PEL_KEY(pel_intern_str(r->ctx, name)), 1)) continue;
        if (++r->n > MAX_FILES)
            pel_throw(r->ctx, PEL_E_TOO_BIG, 0, "the code imports more than %d files of its folder", MAX_FILES);
        if (pel_open_beside(r->ctx, r->out, name, &input))
            read_source(r, name, pel_input_whole(r->ctx, &input));
        else
            pel_find(r->ctx, &r->out->findings, PEL_SUSPECT, "source-missing", file, 0,
                     pel_format(r->ctx, "%.*s imports %.*s, which is not there", PEL_FMT(file), PEL_FMT(name)));
    }
}

typedef struct decode_job {
    pel_str file, bytes;
    pel_source source;
} decode_job;

static void decode_body(pel_ctx *ctx, void *arg) {
    decode_job *job = arg;
    job->source = pel_source_decode(ctx, job->file, job->bytes);
}

/* Python has encodings that this machine has not, and codecs that others registered. */
static pel_source decode_source(repository *r, pel_str file, pel_str bytes) {
    decode_job job = { .file = file, .bytes = bytes };
    pel_err why;
    if (pel_attempt(r->ctx, decode_body, &job, &why)) return job.source;
    if (why.code != PEL_E_MEMORY)
        pel_find(r->ctx, &r->out->findings, PEL_SUSPECT, "source-unread", file, why.at,
                 pel_format(r->ctx, "%.*s can't be decoded here, and Python may: %s", PEL_FMT(file), why.what));
    pel_throw(r->ctx, why.code, why.at, "%s", why.what);
}

static void read_source(repository *r, pel_str file, pel_str bytes) {
    pel_source source = decode_source(r, file, bytes);
    pel_node *tree = pel_parse(r->ctx, &source, VERSION);
    pel_source_effects effects = { 0 };
    pel_source_effects_of(r->ctx, tree, is_sibling, r, &effects);
    find_effects(r, file, &effects);
    read_siblings(r, file, &effects);
}

static pel_str base_name(pel_str path) {
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '/' && path.ptr[at - 1] != '\\') at--;
    return pel_str_from(path, at);
}

static void without_weights(pel_ctx *ctx, pel_loaded *out, pel_str name) {
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    pel_build_unknown(&builder, PEL_STR("weights"), PEL_STR("the file has none"));
}

static void load_source(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    repository r = { .ctx = ctx, .out = out };
    out->format = PEL_STR("Python source");
    pel_map_set(ctx, &r.seen, PEL_KEY(pel_intern_str(ctx, base_name(name))), 1);
    read_source(&r, base_name(name), bytes);
    without_weights(ctx, out, name);
}

/* ---- notebooks ---- */

/* Lines for the shell and for IPython are no Python: "!pip install x", "%cd". They become comments. */
static void put_cell(repository *r, pel_str file, uint32_t cell, const pel_json_value *part, pel_buf *text) {
    pel_str source = pel_json_text(part);
    size_t at = 0;
    while (at < source.len && (source.ptr[at] == ' ' || source.ptr[at] == '\t')) at++;
    bool is_magic = at < source.len && (source.ptr[at] == '!' || source.ptr[at] == '%');
    if (is_magic)
        pel_find(r->ctx, &r->out->findings, source.ptr[at] == '!' ? PEL_DANGER : PEL_SUSPECT, "source-runs", file,
                 part->at,
                 pel_format(r->ctx, "cell %u runs a command of the notebook: %.*s", cell,
                            (int)(source.len < 100 ? source.len : 100), source.ptr));
    if (is_magic) pel_put_byte(text, '#');
    pel_put(text, source);
}

typedef struct cell_job {
    repository *r;
    pel_str file, text;
} cell_job;

static void read_cell(pel_ctx *ctx, void *arg) {
    (void)ctx;
    cell_job *job = arg;
    read_source(job->r, job->file, job->text);
}

static void load_notebook(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *cells) {
    repository r = { .ctx = ctx, .out = out };
    out->format = PEL_STR("notebook");
    for (uint32_t i = 0; i < cells->items.n; i++) {
        const pel_json_value *cell = cells->items.at[i], *source = pel_json_get(cell, "source");
        if (!source) source = pel_json_get(cell, "input"); /* notebooks before version 4 */
        if (!pel_str_is(pel_json_text(pel_json_get(cell, "cell_type")), "code") || !source) continue;
        pel_buf text = pel_buf_in(ctx);
        if (source->kind == PEL_J_STR) put_cell(&r, base_name(name), i + 1, source, &text);
        for (uint32_t j = 0; source->kind == PEL_J_ARRAY && j < source->items.n; j++)
            put_cell(&r, base_name(name), i + 1, source->items.at[j], &text);
        cell_job job = { &r, pel_format(ctx, "cell %u", i + 1), pel_buf_str(&text) };
        pel_err why;
        if (!pel_attempt(ctx, read_cell, &job, &why))
            pel_find(ctx, &out->findings, PEL_SUSPECT, "source-unread", job.file, cell->at,
                     pel_format(ctx, "cell %u can't be read as Python: %s", i + 1, why.what));
    }
    without_weights(ctx, out, name);
}

/* ---- configs ---- */

static bool is_base64_digit(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || strchr("+/-_=\n\r", c);
}

/* "modeling_net.Net", or "owner/other--modeling_net.Net", which is code of another repository. */
static void read_reference(repository *r, const char *who, const pel_json_value *value) {
    pel_str text = pel_json_text(value);
    for (uint32_t i = 0; value->kind == PEL_J_ARRAY && i < value->items.n; i++)
        read_reference(r, who, value->items.at[i]);
    if (value->kind != PEL_J_STR) return;
    if (pel_str_find(text, PEL_STR("--"))) {
        pel_find(
            r->ctx, &r->out->findings, PEL_SUSPECT, "remote-code", PEL_STR("auto_map"), value->at,
            pel_format(r->ctx, "%s loads %.*s, code of another repository, which is not here", who, PEL_FMT(text)));
        return;
    }
    size_t dot = text.len;
    while (dot && text.ptr[dot - 1] != '.') dot--;
    pel_str file = file_of(r->ctx, pel_str_cut(text, 0, dot ? dot - 1 : 0));
    pel_input input;
    bool is_there = dot && pel_open_beside(r->ctx, r->out, file, &input);
    pel_find(r->ctx, &r->out->findings, is_there ? PEL_NOTE : PEL_SUSPECT, "remote-code", PEL_STR("auto_map"),
             value->at,
             is_there ? pel_format(r->ctx, "with trust_remote_code=True, %s imports %.*s and makes %.*s", who,
                                   PEL_FMT(file), PEL_FMT(pel_str_from(text, dot)))
                      : pel_format(r->ctx, "%s loads %.*s, whose source is not here", who, PEL_FMT(text)));
    if (is_there && pel_map_set(r->ctx, &r->seen, PEL_KEY(pel_intern_str(r->ctx, file)), 1))
        read_source(r, file, pel_input_whole(r->ctx, &input));
}

static const char *copied(pel_ctx *ctx, pel_str text) { return pel_intern_str(ctx, text)->text; }

/* "auto_map": {"AutoModel": "modeling_net.Net"}. */
static void read_map(repository *r, const pel_json_value *map) {
    if (map->kind != PEL_J_OBJECT) read_reference(r, "a loader", map);
    for (uint32_t i = 0; map->kind == PEL_J_OBJECT && i + 1 < map->items.n; i += 2)
        read_reference(r, copied(r->ctx, pel_json_text(map->items.at[i])), map->items.at[i + 1]);
}

/* ---- names in configs ---- */

/* Keys under which loaders look for the name of what they call: hydra and NeMo, Lightning, torchtune, latent diffusion,
 * MLflow. */
bool pel_is_call_key(pel_str key) {
    static const char *const keys[] = { "_target_", "class_path", "_component_", "loader_module", "_instantiator" };
    for (size_t i = 0; i < PEL_COUNT(keys); i++)
        if (pel_str_is(key, keys[i])) return true;
    return false;
}

static bool is_of(pel_str module, const char *const *libraries) {
    for (; *libraries; libraries++) {
        size_t n = strlen(*libraries);
        if (pel_str_starts(module, pel_str_of(*libraries)) && (module.len == n || module.ptr[n] == '.')) return true;
    }
    return false;
}

/* Keys whose value is a plain word, or the dotted name of what is imported and called: sentence-transformers, MLServer,
 * Ray, peft's tensor parallel layers. */
static bool is_import_key(pel_str key) {
    static const char *const keys[] = { "activation_function", "tokenizer_class", "implementation", "import_path",
                                        "megatron_core" };
    for (size_t i = 0; i < PEL_COUNT(keys); i++)
        if (pel_str_is(key, keys[i])) return true;
    return false;
}

/* "gelu" is no name of a module; the libraries' own classes are what their configs have. */
static bool is_foreign_import(pel_str name) {
    static const char *const libraries[] = {
        "torch.nn",          "sentence_transformers", "transformers",      "megatron.core",
        "mlserver",          "mlserver_sklearn",      "mlserver_xgboost",  "mlserver_mlflow",
        "mlserver_lightgbm", "mlserver_huggingface",  "mlserver_catboost", NULL
    };
    return name.len && (memchr(name.ptr, '.', name.len) || memchr(name.ptr, ':', name.len)) &&
           !memchr(name.ptr, ' ', name.len) && !memchr(name.ptr, '/', name.len) && !is_of(name, libraries);
}

/* "module:name" of entry points, with the dot that other loaders write. */
static pel_str with_dot(pel_ctx *ctx, pel_str name) {
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    if (!colon || colon == name.ptr || memchr(name.ptr, ' ', name.len)) return name;
    size_t n = (size_t)(colon - name.ptr);
    return pel_format(ctx, "%.*s.%.*s", PEL_FMT(pel_str_cut(name, 0, n)), PEL_FMT(pel_str_from(name, n + 1)));
}

/* "defaults.yaml", "matrix.os": the end of a name that no library has is also the name of a module. A module can't be
 * called; what has parentheses may be an expression that takes something out of it. */
static bool is_like_module(pel_str target, pel_str module, pel_str name, bool is_expression) {
    bool is_foreign;
    pel_name_kind kind = pel_judge_name(module, name, &is_foreign);
    return !is_expression && kind == PEL_NAME_OTHER && !pel_is_library(target) && pel_is_whole_module(name) &&
           pel_effect_of(module) <= PEL_EFFECT_UNKNOWN;
}

/* Whether a dotted name is known to leave memory: os.system. ".inf" and ".bin" have no module: of such, only special
 * names count (.__globals__). */
static bool is_hot(pel_str target, bool is_expression) {
    size_t start = 0;
    bool ignored;
    while (start < target.len && target.ptr[start] == '.') start++;
    pel_str rest = pel_str_from(target, start);
    size_t dot = rest.len;
    while (dot && rest.ptr[dot - 1] != '.') dot--;
    if (!dot) return start && pel_str_starts(rest, PEL_STR("__")) && pel_effect_of_method(rest) > PEL_EFFECT_UNKNOWN;
    pel_str module = pel_str_cut(rest, 0, dot - 1), name = pel_str_from(rest, dot);
    if (!name.len || is_like_module(rest, module, name, is_expression)) return false;
    if (pel_is_everyday(rest)) return false;      /* test.txt: no module has that name */
    bool is_own = pel_str_is(module, "builtins"); /* getattr( of a text that is evaluated gets what that has */
    if (!is_own && pel_is_library(rest) && pel_effect_of(rest) == PEL_EFFECT_NONE) return false;
    return pel_effect_of(rest) > PEL_EFFECT_UNKNOWN || pel_judge_name(module, name, &ignored) == PEL_NAME_HOT;
}

bool pel_leaves_memory(pel_str dotted) { return is_hot(dotted, true); }

static void judge_target(pel_ctx *ctx, pel_loaded *out, pel_str target, uint64_t at) {
    pel_severity severity = is_hot(target, true)                       ? PEL_DANGER
                            : pel_effect_of(target) == PEL_EFFECT_NONE ? PEL_NOTE
                                                                       : PEL_SUSPECT;
    pel_find(ctx, &out->findings, severity, "target", PEL_STR("_target_"), at,
             pel_format(ctx, "a config calls %.*s%s", PEL_FMT(target),
                        severity == PEL_SUSPECT ? ": nobody knows what it does" : ""));
}

static bool is_word_byte(char c) {
    return ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* A word of a text: a dotted name, "eval(" (but not "eval"), ".system(". */
static bool is_hot_word(pel_ctx *ctx, pel_str word, bool is_called, bool is_expression) {
    if (!memchr(word.ptr, '.', word.len))
        return is_called && is_hot(pel_format(ctx, "builtins.%.*s", PEL_FMT(word)), true);
    bool is_method = word.ptr[0] == '.' && is_called;
    return is_hot(word, is_expression) ||
           (is_method && pel_effect_of_method(pel_str_from(word, 1)) > PEL_EFFECT_UNKNOWN);
}

/* Names in a text that leave memory, under whatever key: who reads the config may call them. */
static unsigned find_hot_names(pel_ctx *ctx, pel_loaded *out, pel_str text, uint64_t at) {
    unsigned n = 0;
    bool is_expression = text.len && memchr(text.ptr, '(', text.len);
    for (size_t i = 0; i < text.len;) {
        size_t start = i;
        while (i < text.len && is_word_byte(text.ptr[i])) i++;
        pel_str word = pel_str_cut(text, start, i);
        if (word.len && i + 1 < text.len && text.ptr[i] == ':' && is_word_byte(text.ptr[i + 1])) { /* os:system */
            size_t end = i + 1;
            while (end < text.len && is_word_byte(text.ptr[end])) end++;
            if (end - start < MAX_NAME) word = with_dot(ctx, pel_str_cut(text, start, end));
        }
        bool is_called = i < text.len && text.ptr[i] == '(';
        if (word.len && word.len < MAX_NAME && is_hot_word(ctx, word, is_called, is_expression)) {
            pel_find(ctx, &out->findings, PEL_DANGER, "target", (pel_str){ "", 0 }, at + start,
                     pel_format(ctx, "a config names %.*s, which leaves memory", PEL_FMT(word)));
            n++;
        }
        if (i == start) i++;
    }
    return n;
}

/* jsonpickle has keys of its own ("py/object", "py/reduce", "py/repr"): their values are imported, called, evaluated.
 */
static bool read_json_pickle(pel_ctx *ctx, pel_loaded *out, pel_str key, const pel_json_value *item) {
    if (!pel_str_starts(key, PEL_STR("py/"))) return false;
    if (item->kind == PEL_J_STR && !pel_str_is(key, "py/repr"))
        judge_target(ctx, out, item->text, item->at);
    else
        pel_find(ctx, &out->findings, PEL_SUSPECT, "target", key, item->at,
                 PEL_STR("jsonpickle makes objects of this, by calls that it names"));
    return true;
}

/* LangChain's objects: {"lc": 1, "type": "constructor", "id": ["langchain", "llms", "OpenAI"], "kwargs": {}}. */
static bool read_constructor(pel_ctx *ctx, pel_loaded *out, const pel_json_value *object) {
    const pel_json_value *id = pel_json_get(object, "id");
    if (!pel_json_get(object, "lc") || !id || id->kind != PEL_J_ARRAY) return false;
    pel_buf name = pel_buf_in(ctx);
    for (uint32_t i = 0; i < id->items.n; i++) {
        if (i) pel_put_byte(&name, '.');
        pel_put(&name, pel_json_text(id->items.at[i]));
    }
    judge_target(ctx, out, pel_buf_str(&name), id->at);
    return true;
}

/* Haystack's components: {"type": "module.Class", "init_parameters": {}}, which it imports and makes. */
static bool read_component(pel_ctx *ctx, pel_loaded *out, const pel_json_value *object) {
    const pel_json_value *type = pel_json_get(object, "type");
    if (!type || type->kind != PEL_J_STR || !pel_json_get(object, "init_parameters")) return false;
    judge_target(ctx, out, type->text, type->at);
    return true;
}

/* A pickle in the digits of base64, as stable-baselines3 has them in JSON (":serialized:"). It is judged as any other:
 * who reads such a text unpickles it. */
static bool read_encoded_pickle(pel_ctx *ctx, pel_loaded *out, pel_str key, const pel_json_value *item) {
    static const char mark[] = "gA"; /* the first byte of protocol 2 and later */
    bool is_marked = pel_str_is(key, ":serialized:") || pel_str_is(key, "py/b64");
    if (item->text.len < 16 || !(is_marked || pel_str_starts(item->text, PEL_STR(mark)))) return false;
    for (size_t i = 0; i < item->text.len; i++)
        if (!is_base64_digit(item->text.ptr[i])) return false;
    pel_str bytes = pel_base64(ctx, item->text);
    if (!pel_is_pickle(bytes)) return false;
    pel_pickle *pickle = pel_pickle_read(ctx, bytes, 0, key, &out->findings);
    pel_push(
        ctx, &out->pickles,
        (pel_loaded_pickle){ pickle, pel_format(ctx, "base64 at byte %llu", (unsigned long long)item->at), false });
    return true;
}

/* Names and files of code that a value may be, by its key. */
static bool judge_pair(pel_ctx *ctx, pel_loaded *out, pel_str key, const pel_json_value *item, int depth) {
    bool is_text = item->kind == PEL_J_STR && item->text.len;
    if (is_text && read_encoded_pickle(ctx, out, key, item)) return true;
    if (pel_is_call_key(key) && item->kind == PEL_J_STR) {
        judge_target(ctx, out, item->text, item->at);
        return true;
    }
    if (is_text && is_import_key(key) && is_foreign_import(item->text)) {
        judge_target(ctx, out, with_dot(ctx, item->text), item->at);
        return true;
    }
    bool is_template = pel_str_find(key, PEL_STR("template")) || pel_str_find(key, PEL_STR("prompt"));
    if (is_text && is_template && pel_is_template(item->text) && (depth || !pel_str_is(key, "chat_template"))) {
        pel_audit_template(ctx, &out->findings, key, item->text, item->at);
        return true;
    }
    bool is_file = pel_str_is(key, "model_file") && is_text && pel_str_ends(item->text, PEL_STR(".py"));
    if (is_file || (is_text && pel_str_is(key, "custom_generate"))) {
        pel_find(ctx, &out->findings, PEL_SUSPECT, "remote-code", key, item->at,
                 pel_format(ctx, "the config has its loader run code of %.*s", PEL_FMT(item->text)));
        return true;
    }
    /* a text that is one expression: loaders evaluate what their authors let be a formula */
    const char *call = is_text ? memchr(item->text.ptr, '(', item->text.len) : NULL;
    if (call && call > item->text.ptr && is_word_byte(call[-1]) &&
        !memchr(item->text.ptr, ' ', (size_t)(call - item->text.ptr)))
        return find_hot_names(ctx, out, item->text, item->at) > 0 || read_json_pickle(ctx, out, key, item);
    return read_json_pickle(ctx, out, key, item);
}

/* transformers fetches kernels, which are native code, by the names of their repositories: one for all, or one for each
 * part of a model. */
static bool find_kernels(pel_ctx *ctx, pel_loaded *out, const pel_json_value *item) {
    bool any = false;
    for (uint32_t i = 1; item->kind == PEL_J_OBJECT && i < item->items.n; i += 2)
        any = (item->items.at[i]->kind == PEL_J_STR && find_kernels(ctx, out, item->items.at[i])) || any;
    if (item->kind != PEL_J_STR || !item->text.len || !memchr(item->text.ptr, '/', item->text.len)) return any;
    pel_find(ctx, &out->findings, PEL_SUSPECT, "remote-code", (pel_str){ "", 0 }, item->at,
             pel_format(ctx, "the config asks for kernels of %.*s, code of another repository", PEL_FMT(item->text)));
    return true;
}

/* mmengine: {"custom_imports": {"imports": ["package.module"]}}. */
static bool find_imports(pel_ctx *ctx, pel_loaded *out, const pel_json_value *item) {
    const pel_json_value *names = item->kind == PEL_J_OBJECT ? pel_json_get(item, "imports") : item;
    for (uint32_t i = 0; names && names->kind == PEL_J_ARRAY && i < names->items.n; i++)
        if (names->items.at[i]->kind == PEL_J_STR) judge_target(ctx, out, names->items.at[i]->text, names->at);
    if (names && names->kind == PEL_J_STR) judge_target(ctx, out, names->text, names->at);
    return names != NULL;
}

static bool find_targets(pel_ctx *ctx, pel_loaded *out, const pel_json_value *value, int depth) {
    bool any = read_constructor(ctx, out, value);
    any = read_component(ctx, out, value) || any;
    if (depth > MAX_LEVELS) pel_throw(ctx, PEL_E_TOO_DEEP, value->at, "a config nests deeper than %d", MAX_LEVELS);
    bool is_object = value->kind == PEL_J_OBJECT;
    if (value->kind == PEL_J_STR && value->text.len < MAX_NAME && is_hot(with_dot(ctx, value->text), false)) {
        judge_target(ctx, out, with_dot(ctx, value->text), value->at);
        any = true;
    }
    for (uint32_t i = 0; (is_object || value->kind == PEL_J_ARRAY) && i < value->items.n; i += is_object ? 2 : 1) {
        const pel_json_value *item = value->items.at[is_object ? i + 1 : i];
        pel_str key = is_object ? pel_json_text(value->items.at[i]) : (pel_str){ "", 0 };
        any = judge_pair(ctx, out, key, item, depth) || any;
        bool is_kernel = pel_str_find(key, PEL_STR("attn_implementation")) || pel_str_is(key, "experts_implementation");
        any = (is_kernel && find_kernels(ctx, out, item)) || any;
        any = (pel_str_is(key, "custom_imports") && find_imports(ctx, out, item)) || any;
        if (depth && pel_str_is(key, "auto_map") && item->kind == PEL_J_OBJECT) {
            repository r = { .ctx = ctx, .out = out };
            read_map(&r, item);
            any = true;
        }
        any = find_targets(ctx, out, item, depth + 1) || any;
    }
    return any;
}

void pel_judge_settings(pel_ctx *ctx, pel_loaded *out, const pel_json_value *root) {
    repository r = { .ctx = ctx, .out = out };
    const pel_json_value *map = pel_json_get(root, "auto_map");
    if (map) read_map(&r, map);
    find_targets(ctx, out, root, 0);
}

/* "\x5f" and "\u005f" in quotes are letters to a reader of YAML. */
static pel_str unescaped(pel_ctx *ctx, pel_str line) {
    if (!line.len || !memchr(line.ptr, '\\', line.len)) return line;
    pel_buf out = pel_buf_in(ctx);
    for (size_t i = 0; i < line.len; i++) {
        char kind = line.ptr[i] == '\\' && i + 1 < line.len ? line.ptr[i + 1] : 0;
        size_t n = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        unsigned long value = 0;
        size_t k = 0;
        for (; k < n && i + 2 + k < line.len; k++) {
            const char *digit = strchr("0123456789abcdef", line.ptr[i + 2 + k] | 32);
            if (!digit || !line.ptr[i + 2 + k]) break;
            value = value * 16 + (unsigned long)(digit - "0123456789abcdef");
        }
        bool is_letter = n && k == n && value && value < 128;
        pel_put_byte(&out, is_letter ? (char)value : line.ptr[i]);
        if (is_letter) i += 1 + n;
    }
    return pel_buf_str(&out);
}

/* Whether all of an object's values are numbers: vocabularies, and results of runs. They name nothing. */
static bool has_numbers_only(const pel_json_value *root) {
    if (root->kind != PEL_J_OBJECT || !root->items.n) return false;
    for (uint32_t i = 1; i < root->items.n; i += 2)
        if (root->items.at[i]->kind != PEL_J_NUMBER) return false;
    return true;
}

typedef struct line_job {
    pel_loaded *out;
    pel_str line;
    uint64_t at;
} line_job;

static void read_json_line(pel_ctx *ctx, void *arg) {
    line_job *job = arg;
    find_targets(ctx, job->out, pel_json_read(ctx, job->line, job->at), 0);
}

/* What can't be read as JSON may be read by somebody else: its quoted texts are looked at all the same. */
static void find_quoted_names(pel_ctx *ctx, pel_loaded *out, pel_str bytes) {
    for (size_t i = 0; i < bytes.len; i++) {
        size_t start = i + 1;
        char quote = bytes.ptr[i];
        if (quote != '"' && quote != '\'') continue; /* Python's own literals have either */
        for (i = start; i < bytes.len && bytes.ptr[i] != quote; i++) i += bytes.ptr[i] == '\\';
        pel_str text = pel_str_cut(bytes, start, i < bytes.len ? i : bytes.len);
        if (text.len < MAX_NAME) text = unescaped(ctx, text);
        if (text.len < MAX_NAME && is_hot(text, false)) judge_target(ctx, out, text, start);
    }
}

bool pel_load_json_lines(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    for (uint64_t at = 0; at < bytes.len;) {
        const char *end = memchr(bytes.ptr + at, '\n', bytes.len - (size_t)at);
        uint64_t stop = end ? (uint64_t)(end - bytes.ptr) : bytes.len;
        line_job job = { out, pel_str_cut(bytes, (size_t)at, (size_t)stop), at };
        pel_err why;
        if (stop - at > 1 && !pel_attempt(ctx, read_json_line, &job, &why)) {
            find_quoted_names(ctx, out, bytes);
            return false;
        }
        at = stop + 1;
    }
    out->format = PEL_STR("JSON lines");
    without_weights(ctx, out, name);
    return true;
}

/* ---- configs that name classes ---- */

/* modules.json of sentence-transformers: [{"type": "sentence_transformers.models.Pooling", "path": ...}]. */
static bool read_module_list(repository *r, const pel_json_value *root) {
    static const char *const libraries[] = { "sentence_transformers.models",
                                             "sentence_transformers.sentence_transformer",
                                             "sentence_transformers.base.modules", NULL };
    bool any = false;
    for (uint32_t i = 0; root->kind == PEL_J_ARRAY && i < root->items.n; i++) {
        const pel_json_value *type = pel_json_get(root->items.at[i], "type");
        if (!type || !pel_json_get(root->items.at[i], "path")) continue;
        any = true;
        if (type->kind != PEL_J_STR || !is_of(type->text, libraries)) read_reference(r, "a module", type);
    }
    return any;
}

/* model_index.json of diffusers: {"_class_name": "Pipeline", "unet": ["diffusers", "UNet2DConditionModel"]}. A library
 * that is none of theirs is a file of the repository. */
static bool read_pipeline(repository *r, const pel_json_value *root) {
    static const char *const libraries[] = { "diffusers", "transformers", "onnxruntime", "flax", NULL };
    const pel_json_value *class = pel_json_get(root, "_class_name"), *custom = pel_json_get(root, "_custom_pipeline");
    if (!class) return false;
    if (custom && custom->kind == PEL_J_STR)
        pel_find(r->ctx, &r->out->findings, PEL_SUSPECT, "remote-code", (pel_str){ "", 0 }, custom->at,
                 pel_format(r->ctx, "the pipeline is code of %.*s", PEL_FMT(custom->text)));
    for (uint32_t i = 0; i + 1 < root->items.n; i += 2) {
        const pel_json_value *row = root->items.at[i + 1];
        if (row->kind != PEL_J_ARRAY || row->items.n != 2) continue;
        pel_str library = pel_json_text(row->items.at[0]), name = pel_json_text(row->items.at[1]);
        if (!library.len || (is_of(library, libraries) && !memchr(library.ptr, '.', library.len))) continue;
        pel_find(r->ctx, &r->out->findings, PEL_SUSPECT, "remote-code", root->items.at[i]->text, row->at,
                 pel_format(r->ctx, "the pipeline makes %.*s.%.*s, which is no class of its libraries",
                            PEL_FMT(library), PEL_FMT(name)));
    }
    return true;
}

/* router_config.json of sentence-transformers: {"types": {"query_0": "module.Class"}, "structure": {...}}. */
static bool read_router(repository *r, const pel_json_value *root) {
    const pel_json_value *types = pel_json_get(root, "types");
    if (!types || types->kind != PEL_J_OBJECT || !pel_json_get(root, "structure")) return false;
    for (uint32_t i = 1; i < types->items.n; i += 2)
        if (types->items.at[i]->kind != PEL_J_STR || is_foreign_import(types->items.at[i]->text))
            judge_target(r->ctx, r->out, pel_json_text(types->items.at[i]), types->items.at[i]->at);
    return true;
}

/* adapter_config.json of peft names the library that it imports. */
static bool read_adapter(repository *r, const pel_json_value *root) {
    static const char *const libraries[] = { "transformers",          "peft",      "torch.nn",
                                             "sentence_transformers", "diffusers", NULL };
    const pel_json_value *parent = pel_json_get(pel_json_get(root, "auto_mapping"), "parent_library");
    if (!pel_json_get(root, "peft_type")) return false;
    if (parent && !(parent->kind == PEL_J_STR && is_of(parent->text, libraries)))
        pel_find(r->ctx, &r->out->findings, PEL_SUSPECT, "remote-code", (pel_str){ "", 0 }, parent->at,
                 pel_format(r->ctx, "the adapter imports %.*s", PEL_FMT(pel_json_text(parent))));
    return true;
}

/* Manifest.json of a Core ML package: the files that its reader opens, by paths from Data on. */
static bool read_package(repository *r, const pel_json_value *root) {
    const pel_json_value *entries = pel_json_get(root, "itemInfoEntries");
    if (!entries || entries->kind != PEL_J_OBJECT || !pel_json_get(root, "rootModelIdentifier")) return false;
    for (uint32_t i = 0; i + 1 < entries->items.n; i += 2) {
        const pel_json_value *path = pel_json_get(entries->items.at[i + 1], "path");
        if (path && path->kind == PEL_J_STR && pel_is_safe_path(path->text)) continue;
        pel_find(
            r->ctx, &r->out->findings, PEL_DANGER, "path", entries->items.at[i]->text, entries->items.at[i + 1]->at,
            pel_format(r->ctx, "the package has a file %.*s, which leads out of it", PEL_FMT(pel_json_text(path))));
    }
    return true;
}

/* Of a notebook; before version 4 they were in worksheets, of which nobody ever wrote more than one. */
static const pel_json_value *cells_of(const pel_json_value *root) {
    const pel_json_value *cells = pel_json_get(root, "cells"), *sheets = pel_json_get(root, "worksheets");
    if (cells || !sheets || sheets->kind != PEL_J_ARRAY || sheets->items.n != 1) return cells;
    return pel_json_get(sheets->items.at[0], "cells");
}

/* Each of the readers also makes findings, so all of them must run: `is_config` is on the right side of || for that
 * reason. The marks alone make no finding. A notebook has cells instead of settings and is settled first. */
bool pel_load_repository_config(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *root) {
    static const char *const marks[] = {
        "model_type", "architectures", "tokenizer_class", "processor_class", "transformers_version",
        "image_processor_type", "feature_extractor_type",
        /* tokenizers, processors, runs of the trainer, diffusers: data that their loaders know by key */
        "added_tokens", "pre_tokenizer", "model_max_length", "bos_token", "eos_token", "unk_token", "cls_token",
        "pad_token", "additional_special_tokens", "log_history", "_diffusers_version", "do_resize", "do_normalize",
        "feature_size",
        /* XGBoost: trees and their parameters */
        "learner"
    };
    repository r = { .ctx = ctx, .out = out };
    const pel_json_value *cells = cells_of(root), *map = pel_json_get(root, "auto_map");
    const pel_json_value *pipelines = pel_json_get(root, "custom_pipelines");
    if (cells && cells->kind == PEL_J_ARRAY && pel_json_get(root, "nbformat")) {
        load_notebook(ctx, out, name, cells);
        return true;
    }
    bool is_config = map || pipelines || has_numbers_only(root);
    is_config = read_module_list(&r, root) || is_config;
    is_config = read_pipeline(&r, root) || is_config;
    is_config = read_adapter(&r, root) || is_config;
    is_config = read_router(&r, root) || is_config;
    is_config = read_package(&r, root) || is_config;
    for (size_t i = 0; i < PEL_COUNT(marks); i++) is_config = is_config || pel_json_get(root, marks[i]);
    is_config = find_targets(ctx, out, root, 0) || is_config;
    if (!is_config) return false;
    out->format = PEL_STR("model config");
    if (map) read_map(&r, map);
    for (uint32_t i = 0; pipelines && pipelines->kind == PEL_J_OBJECT && i + 1 < pipelines->items.n; i += 2) {
        const pel_json_value *impl = pel_json_get(pipelines->items.at[i + 1], "impl");
        if (impl) read_reference(&r, "a pipeline", impl);
    }
    without_weights(ctx, out, name);
    return true;
}

/* ---- texts by their names ---- */

typedef void line_reader(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at);

static void each_line(pel_ctx *ctx, pel_loaded *out, pel_str bytes, line_reader *read) {
    for (uint64_t at = 0; at < bytes.len;) {
        const char *end = memchr(bytes.ptr + at, '\n', bytes.len - (size_t)at);
        uint64_t stop = end ? (uint64_t)(end - bytes.ptr) : bytes.len, start = at;
        while (start < stop && (bytes.ptr[start] == ' ' || bytes.ptr[start] == '\t')) start++;
        read(ctx, out, pel_str_cut(bytes, start, stop), start);
        at = stop + 1;
    }
}

/* What is installed from elsewhere than the index runs code of nobody knows whom. */
static void read_requirement(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    static const char *const elsewhere[] = { "git+",
                                             "hg+",
                                             "svn+",
                                             "://",
                                             "file:",
                                             "-e ",
                                             "--editable",
                                             "--index-url",
                                             "--extra-index-url",
                                             "-i ",
                                             "--find-links",
                                             "-f ",
                                             "--trusted-host",
                                             "-r ",
                                             "-c " };
    if (!line.len || line.ptr[0] == '#') return;
    bool is_path = line.ptr[0] == '.' || line.ptr[0] == '/' || line.ptr[0] == '~' || pel_ends_folded(line, ".whl") ||
                   pel_ends_folded(line, ".tar.gz") || pel_ends_folded(line, ".zip");
    for (size_t i = 0; i < PEL_COUNT(elsewhere); i++)
        if (is_path || pel_str_find(line, pel_str_of(elsewhere[i]))) {
            pel_find(ctx, &out->findings, PEL_SUSPECT, "requirement", (pel_str){ "", 0 }, at,
                     pel_format(ctx, "installs from elsewhere than the index: %.*s",
                                (int)(line.len < 160 ? line.len : 160), line.ptr));
            return;
        }
}

/* A tag where a value may begin, outside of quotes, that is none of YAML's own: its loader calls what it has registered
 * for it. */
static bool has_own_tag(pel_str line, size_t *at) {
    static const char *const plain[] = { "!!str",  "!!int", "!!float", "!!bool",   "!!null",      "!!map",
                                         "!!list", "!!seq", "!!set",   "!!binary", "!!timestamp", "!!omap" };
    char quote = 0;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (quote) {
            if (c == quote) quote = 0;
            continue;
        }
        bool starts = !i || strchr(" \t:-[{,?", line.ptr[i - 1]);
        if (starts && (c == '"' || c == '\'')) quote = c;
        if (!starts || c != '!') continue;
        size_t end = i;
        while (end < line.len && !strchr(" \t\r,]}", line.ptr[end])) end++;
        pel_str tag = pel_str_cut(line, i, end);
        bool is_plain = tag.len == 1;
        for (size_t k = 0; k < PEL_COUNT(plain); k++) is_plain = is_plain || pel_str_is(tag, plain[k]);
        *at = i;
        if (!is_plain) return true;
        i = end;
    }
    return false;
}

/* "- value" and "key: value" without what comes before the value, and without quotes; *key: what names it. */
static pel_str yaml_value(pel_str line, pel_str *key) {
    while (pel_str_starts(line, PEL_STR("- "))) {
        line = pel_str_from(line, 2);
        while (line.len && line.ptr[0] == ' ') line = pel_str_from(line, 1);
    }
    const char *colon = pel_str_find(line, PEL_STR(": "));
    *key = colon ? pel_str_cut(line, 0, (size_t)(colon - line.ptr)) : (pel_str){ "", 0 };
    if (colon) line = pel_str_from(line, key->len + 2);
    while (line.len && strchr(" \t\"'", line.ptr[0])) line = pel_str_from(line, 1);
    return line;
}

static pel_str word_of(pel_str value) {
    size_t end = 0;
    while (end < value.len && !strchr(" \t\r,}]\"'#", value.ptr[end])) end++;
    return pel_str_cut(value, 0, end);
}

/* Environments of conda and MLflow have requirements in YAML; workflows and pipelines have commands for their tools. */
static void read_yaml_value(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    static const char *const elsewhere[] = {
        "git+", "hg+", "svn+", "bzr+", "-e ", "--index-url", "--extra-index-url", "--find-links", "--trusted-host"
    };
    static const char *const commands[] = { "run", "cmd", "command", "entrypoint", "script" };
    pel_str key, value = yaml_value(line, &key);
    int shown = (int)(value.len < 160 ? value.len : 160);
    bool is_elsewhere = (pel_str_find(value, PEL_STR(" @ ")) && pel_str_find(value, PEL_STR("://"))) ||
                        pel_str_find(value, PEL_STR("git+http")) || pel_str_find(value, PEL_STR("git+ssh"));
    if (value.len && is_import_key(key) && is_foreign_import(word_of(value)))
        judge_target(ctx, out, with_dot(ctx, word_of(value)), at);
    for (size_t i = 0; i < PEL_COUNT(elsewhere); i++)
        is_elsewhere = is_elsewhere || pel_str_starts(value, pel_str_of(elsewhere[i]));
    if (is_elsewhere)
        pel_find(ctx, &out->findings, PEL_SUSPECT, "requirement", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "installs from elsewhere than the index: %.*s", shown, value.ptr));
    for (size_t i = 0; value.len && i < PEL_COUNT(commands); i++)
        if (pel_str_is(key, commands[i]))
            pel_find(ctx, &out->findings, PEL_NOTE, "command", (pel_str){ "", 0 }, at,
                     pel_format(ctx, "a command, if a tool of its own reads this config: %.*s", shown, value.ptr));
}

/* Tags that make objects, names that are called: hydra's targets and the like. Comments are gone. */
static void read_yaml_line(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    static const char *const keys[] = { "_target_", "class_path", "_component_", "loader_module" };
    size_t tag;
    if (!line.len) return;
    line = unescaped(ctx, line);
    int shown = (int)(line.len < 160 ? line.len : 160);
    if (pel_str_find(line, PEL_STR("!!python/")) || pel_str_find(line, PEL_STR("tag:yaml.org,2002:python")))
        pel_find(ctx, &out->findings, PEL_DANGER, "yaml-python", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "a tag that makes an object of Python: %.*s", shown, line.ptr));
    else if (pel_str_starts(line, PEL_STR("%TAG")) || has_own_tag(line, &tag))
        pel_find(ctx, &out->findings, PEL_SUSPECT, "yaml-python", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "a tag that is none of YAML's own: its loader calls what it stands for: %.*s", shown,
                            line.ptr));
    find_hot_names(ctx, out, line, at);
    read_yaml_value(ctx, out, line, at);
    for (size_t k = 0; k < PEL_COUNT(keys); k++) {
        const char *found = pel_str_find(line, pel_str_of(keys[k]));
        if (!found) continue;
        size_t start = (size_t)(found - line.ptr) + strlen(keys[k]), end = line.len;
        while (start < end && strchr(" \t:\"'", line.ptr[start])) start++;
        size_t stop = start;
        while (stop < end && !strchr(" \t\r,}\"'#", line.ptr[stop])) stop++;
        judge_target(ctx, out, pel_str_cut(line, start, stop), at + start);
    }
}

/* The types of components, as read_component has them: also in braces, several to a line. */
static void read_yaml_types(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    for (size_t i = 0; i + 5 < line.len; i++) {
        if (memcmp(line.ptr + i, "type", 4) != 0 || (i && is_word_byte(line.ptr[i - 1]))) continue;
        size_t start = i + 4;
        if (start < line.len && strchr("\"'", line.ptr[start])) start++;
        if (start >= line.len || line.ptr[start] != ':') continue;
        start++;
        while (start < line.len && strchr(" \t\"'", line.ptr[start])) start++;
        pel_str name = word_of(pel_str_from(line, start));
        if (name.len && memchr(name.ptr, '.', name.len)) judge_target(ctx, out, name, at + start);
    }
}

static void read_yaml(pel_ctx *ctx, pel_loaded *out, pel_str text) {
    text = pel_yaml_without_comments(ctx, text);
    each_line(ctx, out, text, read_yaml_line);
    if (pel_str_find(text, PEL_STR("init_parameters"))) each_line(ctx, out, text, read_yaml_types);
}

/* A path file of Python: its lines that begin with import are run whenever Python starts with it in its packages. */
static void read_path_line(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    if (pel_str_starts(line, PEL_STR("import ")) || pel_str_starts(line, PEL_STR("import\t")))
        pel_find(ctx, &out->findings, PEL_DANGER, "source-code", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "a line that Python runs when it starts: %.*s", (int)(line.len < 160 ? line.len : 160),
                            line.ptr));
}

/* "checkpoint" of TensorFlow: model_checkpoint_path: "ckpt-1", the files that are read if the folder is asked for. */
static void read_checkpoint_line(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    const char *quote = line.len ? memchr(line.ptr, '"', line.len) : NULL;
    pel_str path = quote ? pel_str_from(line, (size_t)(quote - line.ptr) + 1) : (pel_str){ "", 0 };
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] == '"') path.len = i;
    if (quote && (!pel_is_safe_path(path) || memchr(line.ptr, '\\', line.len)))
        pel_find(ctx, &out->findings, PEL_SUSPECT, "path", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "the newest checkpoint lies outside of the folder: %.*s", PEL_FMT(path)));
}

/* Texts that only their names tell: what is read of each decides what it may do. */
bool pel_load_other_text(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    if (pel_ends_folded(name, ".pbtxt") || pel_ends_folded(name, ".prototxt")) pel_load_graph_text(ctx, out, bytes);
    bool is_path_file = pel_ends_folded(name, ".pth");
    bool is_template =
        pel_ends_folded(name, ".jinja") || pel_ends_folded(name, ".jinja2") || pel_ends_folded(name, ".j2");
    is_template = is_template || pel_str_starts(bytes, PEL_STR("{%")) || pel_str_starts(bytes, PEL_STR("{{")) ||
                  pel_str_starts(bytes, PEL_STR("{#"));
    bool is_mlflow = pel_str_is(base_name(name), "MLmodel");
    bool is_state =
        pel_str_is(base_name(name), "checkpoint") && pel_str_starts(bytes, PEL_STR("model_checkpoint_path:"));
    if ((!is_path_file && !is_template && !is_mlflow && !is_state) || !pel_is_utf8(bytes)) return false;
    if (is_state) {
        out->format = PEL_STR("TensorFlow checkpoint state");
        each_line(ctx, out, bytes, read_checkpoint_line);
        without_weights(ctx, out, name);
        return true;
    }
    out->format = is_template ? PEL_STR("template") : is_mlflow ? PEL_STR("YAML config") : PEL_STR("Python path file");
    if (is_template)
        pel_audit_template(ctx, &out->findings, (pel_str){ "", 0 }, bytes, 0);
    else if (is_mlflow)
        read_yaml(ctx, out, bytes);
    else
        each_line(ctx, out, bytes, read_path_line);
    without_weights(ctx, out, name);
    return true;
}

bool pel_is_repository_text(pel_str name) {
    pel_str base = base_name(name);
    return pel_ends_folded(base, ".py") || pel_ends_folded(base, ".yaml") || pel_ends_folded(base, ".yml") ||
           (pel_str_starts(base, PEL_STR("requirements")) && pel_ends_folded(base, ".txt"));
}

void pel_load_repository_text(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    pel_str base = base_name(name);
    if (pel_ends_folded(base, ".py")) {
        load_source(ctx, out, name, bytes);
        return;
    }
    bool is_yaml = !pel_ends_folded(base, ".txt");
    if (!pel_is_utf8(bytes)) pel_throw(ctx, PEL_E_ENCODING, 0, "it is no text");
    out->format = is_yaml ? PEL_STR("YAML config") : PEL_STR("requirements");
    if (is_yaml)
        read_yaml(ctx, out, bytes);
    else
        each_line(ctx, out, bytes, read_requirement);
    without_weights(ctx, out, name);
}
