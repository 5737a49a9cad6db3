/* Which format is it? By content, never by name. */
#include "load/load.h"

#include <string.h>

#include "io/bytes.h"
#include "io/gguf.h"
#include "io/hdf5.h"
#include "io/msgpack.h"
#include "io/protobuf.h"
#include "io/safetensors.h"
#include "io/tar.h"
#include "io/tfrecord.h"
#include "io/xml.h"

/* ---- the tree from full names ---- */

#define MAX_PARTS 64        /* of a name; hostile ones have thousands */
#define MAX_VALUES 10000    /* that are no tensors */
#define MAX_SPLIT_NAME 2048 /* longer names are not split: each prefix is kept */

pel_tree_builder pel_build(pel_ctx *ctx, pel_loaded *out, pel_str name, char separator) {
    pel_tree_builder builder = { .ctx = ctx, .network = pel_network_new(ctx, name), .findings = &out->findings };
    builder.network->separator = separator;
    builder.network->format = out->format;
    builder.network->roles_unknown = true; /* until a loader knows better */
    builder.network->root = pel_module_new(ctx, (pel_str){ "", 0 }, (pel_str){ "", 0 });
    pel_push(ctx, &out->networks, builder.network);
    return builder;
}

/* Whether every part of a name has letters, and there are not too many. */
static bool can_split(const pel_tree_builder *builder, pel_str name) {
    uint32_t parts = 1;
    char separator = builder->network->separator;
    if (!name.len || name.len > MAX_SPLIT_NAME || name.ptr[0] == separator || name.ptr[name.len - 1] == separator)
        return false;
    for (size_t i = 1; i < name.len; i++) {
        if (name.ptr[i] != separator) continue;
        if (name.ptr[i - 1] == separator) return false;
        parts++;
    }
    return parts <= MAX_PARTS;
}

pel_module *pel_build_module(pel_tree_builder *builder, pel_str path) {
    if (!path.len) return builder->network->root;
    uint64_t key = PEL_KEY(pel_intern_str(builder->ctx, path)), found;
    if (pel_map_get(&builder->modules, key, &found)) return (pel_module *)(uintptr_t)found;
    pel_module *parent = builder->network->root;
    size_t start = 0;
    if (can_split(builder, path)) {
        for (start = path.len; start && path.ptr[start - 1] != builder->network->separator;) start--;
        if (start) parent = pel_build_module(builder, pel_str_cut(path, 0, start - 1)); /* at most MAX_PARTS deep */
    }
    pel_module *module = pel_module_new(builder->ctx, pel_str_from(path, start), (pel_str){ "", 0 });
    pel_push(builder->ctx, &parent->children, module);
    pel_map_set(builder->ctx, &builder->modules, key, PEL_KEY(module));
    return module;
}

static bool is_new(pel_tree_builder *builder, pel_str full_name, const pel_model_tensor *tensor) {
    if (pel_map_set(builder->ctx, &builder->tensors, PEL_KEY(pel_intern_str(builder->ctx, full_name)), 1)) return true;
    pel_find(builder->ctx, builder->findings, PEL_SUSPECT, "duplicate-name", full_name, tensor->place.offset,
             PEL_STR("two tensors of one name; the first is shown"));
    return false;
}

void pel_build_tensor_at(pel_tree_builder *builder, pel_str path, pel_str full_name, pel_model_tensor tensor) {
    if (!is_new(builder, full_name, &tensor)) return;
    if (!pel_str_eq(pel_full_name(builder->ctx, builder->network, path, tensor.name), full_name))
        tensor.full = full_name;
    pel_module *module = pel_build_module(builder, path);
    pel_push(builder->ctx, &module->tensors, tensor);
}

void pel_build_tensor(pel_tree_builder *builder, pel_str full_name, pel_model_tensor tensor) {
    if (!is_new(builder, full_name, &tensor)) return;
    size_t start = 0;
    if (can_split(builder, full_name))
        for (start = full_name.len; start && full_name.ptr[start - 1] != builder->network->separator;) start--;
    pel_module *module = pel_build_module(builder, pel_str_cut(full_name, 0, start ? start - 1 : 0));
    tensor.name = pel_str_from(full_name, start);
    if (!module->tensors.cap) { /* a weight and a bias: most modules have no more, and there may be many */
        module->tensors.at = pel_new_array(builder->ctx, 2, pel_model_tensor);
        module->tensors.cap = 2;
    }
    pel_push(builder->ctx, &module->tensors, tensor);
}

void pel_build_unknown(pel_tree_builder *builder, pel_str what, pel_str why) {
    pel_push(builder->ctx, &builder->network->unknown, (pel_unknown){ .what = what, .why = why });
}

void pel_build_value(pel_tree_builder *builder, pel_str full_name, pel_str value) {
    if (builder->network->values.n == MAX_VALUES)
        builder->network->values_left_out++;
    else
        pel_push(builder->ctx, &builder->network->values, (pel_file_value){ full_name, value });
}

void pel_build_argument(pel_tree_builder *builder, pel_module *module, pel_str name, const pel_const *value) {
    pel_push(builder->ctx, &module->args, (pel_model_argument){ name, pel_make_constant(builder->ctx, value) });
}

void pel_store_at(pel_ctx *ctx, pel_stored *stored, const pel_input *file, uint64_t offset, uint64_t size) {
    if (file->near) {
        stored->bytes = pel_input_view(ctx, file, offset, size);
        return;
    }
    pel_input *part = pel_new(ctx, pel_input);
    *part = pel_input_part(ctx, file, offset, size);
    stored->far = part;
}

bool pel_build_place(pel_ctx *ctx, pel_model_tensor *tensor, const pel_input *file, pel_str member, uint64_t offset,
                     uint64_t size) {
    if (!pel_input_has(file, offset, size)) return false;
    pel_stored *stored = pel_new(ctx, pel_stored);
    pel_store_at(ctx, stored, file, offset, size);
    tensor->stored = stored;
    tensor->place = (pel_place){ .file = member, .offset = offset, .size = size };
    return true;
}

/* ---- the formats ---- */

#define PYC_HEADER 16 /* before the marshalled code, since Python 3.7 */
#define MAX_NESTING 3 /* archives inside of archives */

/* A loader of archives; what it can't read must not keep the other members from being looked at. */
typedef struct archive_job {
    bool (*load_zip)(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip);
    pel_loaded *into;
    pel_str name, bytes; /* bytes: of a tar archive */
    const pel_zip *zip;
    unsigned n;      /* loaders that knew the archive */
    bool has_failed; /* one of them; why is the first fault */
    pel_err why;
} archive_job;

static void archive_body(pel_ctx *ctx, void *arg) {
    archive_job *job = arg;
    job->n += job->zip ? job->load_zip(ctx, job->into, job->name, job->zip)
                       : pel_load_torch_tar(ctx, job->into, job->name, job->bytes);
}

static void try_archive(pel_ctx *ctx, archive_job *job) {
    pel_err why;
    if (pel_attempt(ctx, archive_body, job, &why)) return;
    if (why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
    if (!job->has_failed) job->why = why;
    job->has_failed = true;
    job->n++;
}

/* An archive that two libraries would open is two files in one: what each would do must be known. */
static void load_zip(pel_ctx *ctx, pel_loaded *into, pel_str name, const pel_input *input) {
    static bool (*const loaders[])(pel_ctx *, pel_loaded *, pel_str,
                                   const pel_zip *) = { pel_load_torch_zip, pel_load_torch_export, pel_load_keras_zip,
                                                        pel_load_skops, pel_load_npz };
    into->format = PEL_STR("zip archive");
    if (pel_load_zip_row(ctx, into, name, input)) return;
    const pel_zip *zip = pel_zip_read(ctx, input, &into->findings);
    archive_job job = { .into = into, .name = name, .zip = zip };
    for (size_t i = 0; i < PEL_COUNT(loaders); i++) {
        job.load_zip = loaders[i];
        try_archive(ctx, &job);
    }
    unsigned n = job.n;
    bool has_inside = pel_look_inside_zip(ctx, into, zip, !n);
    if (job.has_failed) pel_throw(ctx, job.why.code, job.why.at, "%s", job.why.what);
    if (!has_inside && !n) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "a zip archive, but of no model format that is known");
    if (n > 1)
        pel_find(ctx, &into->findings, PEL_SUSPECT, "polyglot", (pel_str){ "", 0 }, 0,
                 PEL_STR("several libraries would open the archive, and each would see another model"));
}

static void load_tar(pel_ctx *ctx, pel_loaded *into, pel_str name, pel_str bytes) {
    into->format = PEL_STR("tar archive");
    archive_job job = { .into = into, .name = name, .bytes = bytes };
    try_archive(ctx, &job);
    bool has_inside = pel_look_inside_tar(ctx, into, bytes, !job.n);
    if (job.has_failed) pel_throw(ctx, job.why.code, job.why.at, "%s", job.why.what);
    if (!has_inside && !job.n)
        pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "a tar archive, but of no model format that is known");
}

/* Protocol buffers have no mark: which fields there are at the top must tell. */
static bool has_fields(pel_ctx *ctx, const pel_input *input, pel_wire wire, uint32_t number, pel_wire other_wire,
                       uint32_t other) {
    pel_proto_top top;
    return pel_proto_scan(ctx, input, &top) && top.kinds[wire] >> number & 1 && top.kinds[other_wire] >> other & 1;
}

static bool is_onnx(pel_ctx *ctx, const pel_input *input) {
    return has_fields(ctx, input, PEL_WIRE_NUMBER, 1, PEL_WIRE_BYTES, 7) &&
           has_fields(ctx, input, PEL_WIRE_BYTES, 7, PEL_WIRE_BYTES, 8);
}

/* A version and graphs, and nothing else: other formats begin with a number and a text, too. */
static bool is_saved_model(pel_ctx *ctx, const pel_input *input) {
    pel_proto_top top;
    return has_fields(ctx, input, PEL_WIRE_NUMBER, 1, PEL_WIRE_BYTES, 2) && pel_proto_scan(ctx, input, &top) &&
           top.highest == 2;
}

static bool is_graphdef(pel_ctx *ctx, const pel_input *input) {
    /* nodes, the first of which begins with its name */
    return input->size > 4 && pel_input_view(ctx, input, 0, 1).ptr[0] == 0x0A &&
           has_fields(ctx, input, PEL_WIRE_BYTES, 1, PEL_WIRE_BYTES, 1);
}

/* UBJSON, XGBoost's other form: an object whose first key has a length before it. */
static bool is_ubjson(pel_str head) {
    return head.len > 16 && head.ptr[0] == '{' && strchr("IlL", head.ptr[1]) && head.ptr[1] && !head.ptr[2];
}

_Noreturn static void load_ubjson(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    (void)name, (void)bytes;
    out->format = PEL_STR("UBJSON");
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "UBJSON, which is not read: XGBoost writes it, and has JSON as well");
}

/* In this order: those with a mark of their own first. */
static const struct {
    /* By the first block (is_by_ranges: by other parts, too). */
    bool (*is)(pel_str head);
    /* All bytes in one view, or the ranges that are asked for. */
    void (*load)(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes);
    void (*load_ranges)(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input);
    bool (*is_by_ranges)(pel_ctx *ctx, const pel_input *input);
    bool is_weak; /* a mark of one byte: what can't be read so may be of a later format, or a text */
} formats[] = {
    { pel_is_zip, .load_ranges = load_zip },
    { pel_is_hdf5, .load_ranges = pel_load_hdf5 },
    { pel_is_gguf, .load_ranges = pel_load_gguf },
    { .is_by_ranges = pel_is_safetensors, .load_ranges = pel_load_safetensors, .is_weak = true },
    { pel_is_tflite, pel_load_tflite },
    { pel_is_tfrecord, pel_load_events },
    { is_ubjson, load_ubjson },
    { pel_is_json, pel_load_json, .is_weak = true },
    { pel_is_tar, load_tar },
    { pel_is_npy, .load_ranges = pel_load_npy },
    { pel_is_xml, pel_load_xml },
    { .is_by_ranges = pel_is_tf_index, .load = pel_load_tf_index },
    { pel_is_packed, pel_load_packed },
    { pel_is_packed_otherwise, pel_load_packed_otherwise },
    { .is_by_ranges = pel_is_packed_whole, .load = pel_load_packed },
    { .is_by_ranges = pel_is_pickle_in, .load = pel_load_torch_legacy },
    { .is_by_ranges = pel_is_hdf5_behind, .load_ranges = pel_load_hdf5 },
    { .is_by_ranges = is_onnx, .load = pel_load_onnx },
    { .is_by_ranges = pel_is_core_ml, .load = pel_load_core_ml },
    { .is_by_ranges = is_saved_model, .load = pel_load_saved_model },
    { .is_by_ranges = is_graphdef, .load = pel_load_graphdef },
    { .is_by_ranges = pel_is_tf_fingerprint, .load = pel_load_tf_fingerprint },
    { pel_is_msgpack, pel_load_flax },
};

/* Safetensors can be written so that their header is a text to an unpickler, and their data what it then runs;
 * torch.load unpickles whatever is no archive. */
static void look_for_pickle(pel_ctx *ctx, pel_loaded *into, const pel_input *input) {
    if (pel_pickle_scan(ctx, input) == PEL_PICKLE_NONE) return;
    pel_str bytes = pel_input_whole(ctx, input);
    pel_pickle *pickle = pel_pickle_read(ctx, bytes, 0, PEL_STR("as a pickle"), &into->findings);
    if (!pickle->calls.n && !pickle->globals.n) return;
    pel_find(ctx, &into->findings, PEL_SUSPECT, "polyglot", (pel_str){ "", 0 }, 0,
             PEL_STR("the file is of one format, and a pickle as well: readers may choose either"));
    pel_push(ctx, &into->pickles, (pel_loaded_pickle){ pickle, PEL_STR("as a pickle"), false });
}

/* No zeros and no opcodes of protocol 2: what Python and YAML are written in. */
static bool is_text(pel_str head) { return head.len && !memchr(head.ptr, 0, head.len) && head.ptr[0] != (char)0x80; }

/* The first format from that row on which the content may be. */
static size_t format_of(pel_ctx *ctx, const pel_input *input, pel_str head, size_t first) {
    size_t i = first;
    for (; i < PEL_COUNT(formats); i++) {
        if (formats[i].is && formats[i].is(head)) break;
        if (formats[i].is_by_ranges && formats[i].is_by_ranges(ctx, input)) break;
    }
    return i;
}

/* No model: but code beside one is loaded with it. */
_Noreturn static void judge_unknown(pel_ctx *ctx, pel_loaded *into, pel_str name, const pel_input *input,
                                    pel_str head) {
    if (pel_is_native(head))
        pel_find(ctx, &into->findings, PEL_SUSPECT, "native-code", (pel_str){ "", 0 }, 0,
                 PEL_STR("native code: who loads it runs it, and it is not looked at"));
    if (pel_is_script(head))
        pel_find(ctx, &into->findings, PEL_SUSPECT, "code", (pel_str){ "", 0 }, 0,
                 PEL_STR("a script: who starts it runs it, and it is not looked at"));
    if (pel_ends_folded(name, ".pyc") && input->size > PYC_HEADER) {
        into->format = PEL_STR("Python bytecode");
        pel_str code = pel_str_from(pel_input_whole(ctx, input), PYC_HEADER);
        pel_push(ctx, &into->codes, (pel_loaded_code){ (pel_str){ "", 0 }, name, code });
    }
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "of no model format that is known");
}

static void load_as(pel_ctx *ctx, pel_loaded *into, pel_str name, const pel_input *input, size_t format) {
    if (formats[format].load_ranges)
        formats[format].load_ranges(ctx, into, name, input);
    else
        formats[format].load(ctx, into, name, pel_input_whole(ctx, input));
}

typedef struct format_job {
    pel_loaded *into;
    pel_str name;
    const pel_input *input;
    size_t format;
} format_job;

static void format_body(pel_ctx *ctx, void *arg) {
    format_job *job = arg;
    load_as(ctx, job->into, job->name, job->input, job->format);
}

/* By a weak mark: if it can't be read so, it is read as the next format that it may be, or as a text by its name. What
 * then can't be read either is broken as the first one. */
static void load_weak(pel_ctx *ctx, pel_loaded *into, pel_str name, const pel_input *input, size_t format) {
    pel_err why, other;
    pel_str head = pel_input_head(ctx, input), first_format;
    format_job job = { into, name, input, format };
    if (pel_attempt(ctx, format_body, &job, &why)) return;
    if (why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
    first_format = into->format;
    into->networks.n = 0;
    job.format = format_of(ctx, input, head, format + 1);
    if (job.format < PEL_COUNT(formats)) {
        if (pel_attempt(ctx, format_body, &job, &other)) return;
    } else if (is_text(head) && pel_load_other_text(ctx, into, name, pel_input_whole(ctx, input))) {
        return;
    }
    into->format = first_format;
    pel_throw(ctx, why.code, why.at, "%s", why.what);
}

static void load_input(pel_ctx *ctx, pel_str name, const pel_input *input, pel_loaded *into) {
    if (into->depth > MAX_NESTING) pel_throw(ctx, PEL_E_TOO_DEEP, 0, "model files nest deeper than %d", MAX_NESTING);
    if (!input->size) pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "the file is empty");
    pel_str head = pel_input_head(ctx, input), text;
    if (pel_decode_text(ctx, input, head, &text)) {
        pel_find(ctx, &into->findings, PEL_NOTE, "decoded-text", (pel_str){ "", 0 }, 0,
                 PEL_STR("the text is decoded first: offsets are those of its UTF-8"));
        look_for_pickle(ctx, into, input);
        pel_input *decoded = pel_new(ctx, pel_input);
        *decoded = pel_input_of(text);
        input = decoded;
        head = pel_input_head(ctx, input);
    }
    if (pel_is_repository_text(name) && is_text(head)) {
        look_for_pickle(ctx, into, input); /* a few letters of source can be one */
        pel_load_repository_text(ctx, into, name, pel_input_whole(ctx, input));
        return;
    }
    size_t format = format_of(ctx, input, head, 0);
    bool is_known = format < PEL_COUNT(formats);
    uint64_t start;
    if (!pel_is_zip(head) && !pel_is_tar(head) && pel_has_zip_inside(ctx, input, &start)) {
        pel_find(ctx, &into->findings, PEL_SUSPECT, "polyglot", (pel_str){ "", 0 }, start,
                 PEL_STR("a zip archive ends the file, but something else begins it: readers may choose either"));
        pel_look_behind(ctx, into, input, start, !is_known);
        into->format = PEL_STR("zip archive after other data");
        if (!is_known) return;
    }
    if (!is_known && pel_is_tf_data(ctx, into, name, input)) {
        look_for_pickle(ctx, into, input);
        pel_load_tf_data(ctx, into, name);
        return;
    }
    if (!is_known && !pel_is_native(head) && !pel_is_script(head) && pel_is_onnx_data(ctx, into, name)) {
        look_for_pickle(ctx, into, input);
        pel_load_onnx_data(ctx, into, name);
        return;
    }
    if (!is_known && is_text(head) && pel_load_other_text(ctx, into, name, pel_input_whole(ctx, input))) return;
    if (!is_known) judge_unknown(ctx, into, name, input, head);
    /* To an unpickler the mark of a zip archive is a persistent id: pickle and joblib stop there, and torch, which
     * would go on, opens what has this mark as an archive. */
    if (formats[format].load != pel_load_torch_legacy && !pel_is_zip(head)) look_for_pickle(ctx, into, input);
    if (formats[format].is_weak)
        load_weak(ctx, into, name, input, format);
    else
        load_as(ctx, into, name, input, format);
    for (uint32_t i = 0; i < into->networks.n; i++) pel_network_settle_roles(ctx, into->networks.at[i]);
}

void pel_load_input(pel_ctx *ctx, pel_str name, const pel_input *input, pel_loaded *into) {
    pel_model_file *file = pel_new(ctx, pel_model_file);
    file->name = (pel_text){ name.ptr, name.len };
    into->file = file;
    into->input = input;
    load_input(ctx, name, input, into);
}

void pel_load(pel_ctx *ctx, const pel_model_file *file, pel_loaded *into) {
    if (!into->input) into->input = pel_input_of_file(ctx, file);
    into->file = file;
    load_input(ctx, (pel_str){ file->name.ptr, file->name.len }, into->input, into);
    pel_input_check(ctx, into->input);
}

bool pel_is_safe_path(pel_str path) {
    if (!path.len || path.ptr[0] == '/' || path.ptr[0] == '~' || memchr(path.ptr, '\\', path.len) ||
        memchr(path.ptr, ':', path.len) || memchr(path.ptr, 0, path.len))
        return false;
    for (size_t start = 0; start < path.len;) {
        size_t end = start;
        while (end < path.len && path.ptr[end] != '/') end++;
        if (pel_str_is(pel_str_cut(path, start, end), "..")) return false;
        start = end + 1;
    }
    return true;
}

bool pel_open_beside(pel_ctx *ctx, const pel_loaded *out, pel_str name, pel_input *input) {
    const pel_model_file *file = out->file;
    pel_model_file found = { .name = { name.ptr, name.len } };
    bool is_there = (file->source_beside && file->source_beside(file->arg, found.name, &found.source)) ||
                    (file->beside && file->beside(file->arg, found.name, &found.bytes));
    if (is_there) *input = *pel_input_of_file(ctx, &found);
    return is_there;
}
