/* A model's repository: what loading it with its own code (trust_remote_code=True) would import and run. Source is read
 * and not run; configs say which of it is meant; notebooks, requirements and hydra's configs are what people run. */
#include "base/json_read.h"
#include "io/zip.h"
#include "load/audit.h"
#include "load/source_effects.h"

#define MAX_FILES 64  /* of a repository that one config leads to */
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

static void read_source(repository *r, pel_str file, pel_str bytes) {
    pel_source source = pel_source_decode(r->ctx, file, bytes);
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

/* hydra and NeMo call what "_target_" names. */
static void judge_target(pel_ctx *ctx, pel_loaded *out, pel_str target, uint64_t at) {
    size_t dot = target.len;
    bool ignored;
    while (dot && target.ptr[dot - 1] != '.') dot--;
    pel_str module = pel_str_cut(target, 0, dot ? dot - 1 : 0), name = pel_str_from(target, dot);
    pel_effect effect = pel_effect_of(target);
    bool is_hot = effect > PEL_EFFECT_UNKNOWN || pel_judge_name(module, name, &ignored) == PEL_NAME_HOT;
    pel_severity severity = is_hot ? PEL_DANGER : effect == PEL_EFFECT_NONE ? PEL_NOTE : PEL_SUSPECT;
    pel_find(ctx, &out->findings, severity, "target", PEL_STR("_target_"), at,
             pel_format(ctx, "a config calls %.*s%s", PEL_FMT(target),
                        severity == PEL_SUSPECT ? ": nobody knows what it does" : ""));
}

static bool find_targets(pel_ctx *ctx, pel_loaded *out, const pel_json_value *value, int depth) {
    bool any = false;
    if (depth > MAX_LEVELS) pel_throw(ctx, PEL_E_TOO_DEEP, value->at, "a config nests deeper than %d", MAX_LEVELS);
    bool is_object = value->kind == PEL_J_OBJECT;
    for (uint32_t i = 0; (is_object || value->kind == PEL_J_ARRAY) && i < value->items.n; i += is_object ? 2 : 1) {
        const pel_json_value *item = value->items.at[is_object ? i + 1 : i];
        if (is_object && pel_str_is(pel_json_text(value->items.at[i]), "_target_")) {
            judge_target(ctx, out, pel_json_text(item), item->at);
            any = true;
        }
        any = find_targets(ctx, out, item, depth + 1) || any;
    }
    return any;
}

bool pel_load_repository_config(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_json_value *root) {
    static const char *const marks[] = {
        "model_type",           "architectures",        "tokenizer_class",       "processor_class",
        "transformers_version", "image_processor_type", "feature_extractor_type"
    };
    repository r = { .ctx = ctx, .out = out };
    const pel_json_value *cells = pel_json_get(root, "cells"), *map = pel_json_get(root, "auto_map");
    const pel_json_value *pipelines = pel_json_get(root, "custom_pipelines");
    if (cells && cells->kind == PEL_J_ARRAY && pel_json_get(root, "nbformat")) {
        load_notebook(ctx, out, name, cells);
        return true;
    }
    bool is_config = map || pipelines;
    for (size_t i = 0; i < PEL_COUNT(marks); i++) is_config = is_config || pel_json_get(root, marks[i]);
    is_config = find_targets(ctx, out, root, 0) || is_config;
    if (!is_config) return false;
    out->format = PEL_STR("model config");
    for (uint32_t i = 0; map && map->kind == PEL_J_OBJECT && i + 1 < map->items.n; i += 2)
        read_reference(&r, copied(ctx, pel_json_text(map->items.at[i])), map->items.at[i + 1]);
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
    for (size_t i = 0; i < PEL_COUNT(elsewhere); i++)
        if (pel_str_find(line, pel_str_of(elsewhere[i]))) {
            pel_find(ctx, &out->findings, PEL_SUSPECT, "requirement", (pel_str){ "", 0 }, at,
                     pel_format(ctx, "installs from elsewhere than the index: %.*s",
                                (int)(line.len < 160 ? line.len : 160), line.ptr));
            return;
        }
}

/* Tags that make Python's objects, and hydra's targets. */
static void read_yaml(pel_ctx *ctx, pel_loaded *out, pel_str line, uint64_t at) {
    pel_str key = PEL_STR("_target_");
    const char *found = pel_str_find(line, key);
    if (pel_str_find(line, PEL_STR("!!python/")) || pel_str_find(line, PEL_STR("tag:yaml.org,2002:python")))
        pel_find(ctx, &out->findings, PEL_DANGER, "yaml-python", (pel_str){ "", 0 }, at,
                 pel_format(ctx, "a tag that makes an object of Python: %.*s", (int)(line.len < 160 ? line.len : 160),
                            line.ptr));
    if (!found || line.ptr[0] == '#') return;
    size_t start = (size_t)(found - line.ptr) + key.len, end = line.len;
    while (start < end && strchr(" \t:\"'", line.ptr[start])) start++;
    size_t stop = start;
    while (stop < end && !strchr(" \t\r,}\"'#", line.ptr[stop])) stop++;
    judge_target(ctx, out, pel_str_cut(line, start, stop), at + start);
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
    each_line(ctx, out, bytes, is_yaml ? read_yaml : read_requirement);
    without_weights(ctx, out, name);
}
