/* Files inside of files: what somebody might unpickle, unpack or load, though the archive's own format says nothing of
 * it. An archive that no format knows is read for what it holds. */
#include "io/bytes.h"
#include "io/gguf.h"
#include "io/hdf5.h"
#include "io/seven_zip.h"
#include "io/tar.h"
#include "io/unpack.h"
#include "load/load.h"

#define MIN_UNPACKED ((uint64_t)32 << 20) /* what any stream may give */
#define MAX_UNPACKED ((uint64_t)1 << 30)  /* what one that is packed as honest ones are may give */
#define HONEST_RATIO 16                   /* weights don't pack well; what gives more is cut at MIN_UNPACKED */
#define MAX_MEMBER ((uint64_t)16 << 20)   /* deflated members that are looked into without being asked for */
#define MAX_LISTED 100                    /* members of an archive that is not unpacked */
#define MAX_REST ((uint64_t)1 << 20)      /* of padding behind the end of a file */
#define MAX_TOGETHER ((uint64_t)64 << 20) /* all of those */

typedef struct inner_file {
    pel_str name;
    pel_input input;
    pel_loaded loaded;
} inner_file;

static void load_body(pel_ctx *ctx, void *arg) {
    inner_file *inner = arg;
    pel_load_input(ctx, inner->name, &inner->input, &inner->loaded);
}

static bool load_inner(pel_ctx *ctx, const pel_loaded *out, pel_str member, const pel_input *input, inner_file *inner,
                       pel_err *why) {
    inner->name = member;
    inner->input = *input;
    inner->loaded.depth = out->depth + 1;
    bool is_read = pel_attempt(ctx, load_body, inner, why);
    if (!is_read && why->code == PEL_E_MEMORY) pel_throw(ctx, why->code, why->at, "%s", why->what);
    return is_read;
}

static pel_str within(pel_ctx *ctx, pel_str outer, pel_str inner) {
    if (!outer.len) return inner;
    return inner.len ? pel_format(ctx, "%.*s, %.*s", PEL_FMT(outer), PEL_FMT(inner)) : outer;
}

void pel_adopt(pel_ctx *ctx, pel_loaded *out, const pel_loaded *inner, pel_str member, uint64_t at) {
    for (uint32_t i = 0; i < inner->findings.n; i++) {
        const pel_finding *row = &inner->findings.at[i];
        pel_find(ctx, &out->findings, row->severity, row->kind, within(ctx, member, row->member), at, row->text);
    }
    out->findings.dropped += inner->findings.dropped;
    for (uint32_t i = 0; i < inner->pickles.n; i++) {
        pel_loaded_pickle pickle = inner->pickles.at[i];
        pickle.member = within(ctx, member, pickle.member);
        pel_push(ctx, &out->pickles, pickle);
    }
    for (uint32_t i = 0; i < inner->codes.n; i++) {
        pel_loaded_code code = inner->codes.at[i];
        code.member = within(ctx, member, code.member);
        pel_push(ctx, &out->codes, code);
    }
}

static void say_unread(pel_ctx *ctx, pel_loaded *out, pel_str member, const pel_err *why) {
    pel_find(ctx, &out->findings, PEL_SUSPECT, "unread-file", member, why->at,
             pel_str_copy(ctx, pel_str_of(why->what)));
}

/* ---- what lies in archives ---- */

/* Windows: where the program of today begins is written at a fixed place of the one for DOS. */
static bool is_portable_executable(pel_str bytes) {
    if (!pel_str_starts(bytes, PEL_STR("MZ")) || bytes.len < 64) return false;
    uint64_t at = pel_le32(bytes.ptr + 60);
    return pel_str_starts(bytes, PEL_STR("MZqFpD=")) || /* a program for all systems at once: llamafile */
           (pel_within(bytes, at, 4) && memcmp(bytes.ptr + at, "PE\0\0", 4) == 0) ||
           (bytes.len > 1024 && memcmp(bytes.ptr + 0x4E, "This program", 12) == 0);
}

/* Programs and libraries for processors and for the machines of Java and WebAssembly. "\xca\xfe\xba\xbe" is a class
 * of Java, and a library for several processors of Apple's. */
bool pel_is_native(pel_str bytes) {
    static const char marks[][5] = { "\177ELF",          "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xfe\xed\xfa\xcf",
                                     "\xfe\xed\xfa\xce", "\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf", "\0asm" };
    for (size_t i = 0; i < PEL_COUNT(marks); i++)
        if (pel_str_starts(bytes, (pel_str){ marks[i], 4 })) return true;
    return is_portable_executable(bytes);
}

/* A text that the system runs by the program in its first line. */
bool pel_is_script(pel_str bytes) {
    return pel_str_starts(bytes, PEL_STR("#!/")) || pel_str_starts(bytes, PEL_STR("#! /"));
}

static bool is_named_as_pickle(pel_str name) {
    static const char *const endings[] = { ".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib", ".p" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++)
        if (pel_ends_folded(name, endings[i])) return true;
    return false;
}

/* Endings of model files, that somebody would load by. */
static bool is_named_as_model(pel_str name) {
    static const char *const endings[] = { ".h5",      ".hdf5", ".keras", ".onnx",   ".safetensors", ".gguf",
                                           ".npz",     ".npy",  ".pb",    ".tflite", ".ptl",         ".pt2",
                                           ".msgpack", ".nemo", ".mar",   ".mlmodel" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++)
        if (pel_ends_folded(name, endings[i])) return true;
    return is_named_as_pickle(name);
}

static bool runs_something(const pel_loaded *loaded) {
    for (uint32_t i = 0; i < loaded->pickles.n; i++)
        if (loaded->pickles.at[i].pickle->calls.n) return true;
    return false;
}

/* Members that say by their names what somebody would load or run: configs of NeMo and Hydra name what is to be called,
 * YAML has tags for Python's objects, archives for servers bring their handlers, and whole repositories are packed.
 * They are read as they would be if they lay in a folder. */
static bool is_named_as_text(pel_str name) {
    static const char *const endings[] = { ".py",     ".yaml", ".yml", ".json",  ".jsonl", ".ipynb", ".jinja",
                                           ".jinja2", ".j2",   ".pth", ".pbtxt", ".pmml",  ".pyc" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++)
        if (pel_ends_folded(name, endings[i])) return true;
    return pel_is_repository_text(name) || pel_ends_folded(name, "MLmodel");
}

/* What no format knows is no fault of the archive; what a known one can't read is said. */
static bool look_at_named(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input, uint64_t at) {
    inner_file *inner = pel_new(ctx, inner_file);
    pel_err why = { .at = at, .what = "a text that is too large to be read" };
    bool is_source = pel_ends_folded(name, ".py"), is_small = input->size <= MAX_MEMBER;
    if (is_source && out->runs_members)
        pel_find(ctx, &out->findings, PEL_SUSPECT, "code", name, at,
                 PEL_STR("Python source, which the program that the archive is for would run"));
    bool is_read = is_small && load_inner(ctx, out, name, input, inner, &why);
    pel_adopt(ctx, out, &inner->loaded, name, at);
    if (is_read) return true;
    if (why.code == PEL_E_UNSUPPORTED) return false;
    pel_find(ctx, &out->findings, PEL_UNREAD, "unread-file", name, at, pel_str_copy(ctx, pel_str_of(why.what)));
    return true;
}

/* Numbers may begin as pickles do: what is not named as one must be one to its end, or call something. */
static bool look_at(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input, uint64_t at,
                    bool adopts_networks) {
    pel_str bytes = pel_input_head(ctx, input);
    if (pel_is_native(bytes)) {
        pel_find(ctx, &out->findings, PEL_DANGER, "native-code", name, at,
                 PEL_STR("native code, which its reader would load and run"));
        return true;
    }
    if (pel_is_script(bytes) && !pel_ends_folded(name, ".py"))
        pel_find(ctx, &out->findings, PEL_SUSPECT, "code", name, at,
                 PEL_STR("a script: who starts it runs it, and it is not looked at"));
    bool is_named = is_named_as_pickle(name);
    const char *packing = pel_packing(bytes);
    bool has_mark = packing && strcmp(packing, "zlib") != 0 && strcmp(packing, "lzma") != 0; /* not just two bytes */
    bool is_file = pel_is_zip(bytes) || pel_is_npy(bytes) || pel_is_tar(bytes) || has_mark ||
                   pel_is_packed_otherwise(bytes) || (packing && is_named);
    if (!is_file && !pel_is_pickle_in(ctx, input)) {
        bool is_settings = bytes.len && bytes.ptr[0] == '{' && !memchr(name.ptr, '.', name.len); /* "data" */
        bool is_model =
            is_settings || pel_is_hdf5(bytes) || pel_is_gguf(bytes) || pel_is_tflite(bytes) || is_named_as_model(name);
        return (is_model || is_named_as_text(name)) && look_at_named(ctx, out, name, input, at);
    }
    inner_file *inner = pel_new(ctx, inner_file);
    pel_err why;
    bool is_read = load_inner(ctx, out, name, input, inner, &why);
    if (!is_read && !is_file && !is_named && !runs_something(&inner->loaded)) return false;
    pel_adopt(ctx, out, &inner->loaded, name, at);
    if (!is_read) say_unread(ctx, out, name, &why);
    for (uint32_t i = 0; adopts_networks && i < inner->loaded.networks.n; i++)
        pel_push(ctx, &out->networks, inner->loaded.networks.at[i]);
    return true;
}

void pel_look_at_rest(pel_ctx *ctx, pel_loaded *out, const pel_input *input, uint64_t start, uint64_t at) {
    pel_str head = pel_input_view(ctx, input, start, input->size - start < MAX_REST ? input->size - start : MAX_REST);
    size_t n = 0;
    while (n < head.len && (!head.ptr[n] || head.ptr[n] == '\n' || head.ptr[n] == '\r' || head.ptr[n] == ' ')) n++;
    if (n == head.len && head.len == input->size - start) return; /* padding */
    pel_input rest = pel_input_part(ctx, input, start + n, input->size - start - n);
    bool is_array = pel_is_npy(pel_input_head(ctx, &rest));
    pel_find(ctx, &out->findings, is_array ? PEL_NOTE : PEL_SUSPECT, "trailing-data", (pel_str){ "", 0 },
             at + start + n, is_array ? PEL_STR("another array after the first") : PEL_STR("bytes after the end"));
    look_at(ctx, out, PEL_STR("what follows"), &rest, at + start + n, false);
}

typedef struct content_job {
    const pel_zip *zip;
    const pel_zip_member *member;
    pel_findings *findings;
    pel_input input;
} content_job;

static void content_body(pel_ctx *ctx, void *arg) {
    content_job *job = arg;
    job->input = pel_input_of(pel_zip_content(ctx, job->zip, job->member, MAX_MEMBER, job->findings));
}

/* Archives whose reader runs the Python source in them: those for servers, and torch.package's, whose importer looks
 * for every module in the archive first, whatever its name. */
static bool runs_its_members(const pel_zip *zip) {
    for (uint32_t i = 0; i < zip->members.n; i++) {
        pel_str name = zip->members.at[i].name;
        if (pel_str_ends(name, PEL_STR("MAR-INF/MANIFEST.json")) || pel_str_ends(name, PEL_STR(".data/extern_modules")))
            return true;
    }
    return false;
}

/* Of an archive that no format knows all counts that nobody understood. */
static void say_not_understood(pel_ctx *ctx, pel_loaded *out, uint32_t n, const pel_zip_member *first) {
    if (n)
        pel_find(ctx, &out->findings, PEL_UNREAD, "unread-file", first->name, first->offset,
                 pel_format(ctx,
                            n == 1 ? "a member of no format that is known"
                                   : "the first of %u members of no format that is known",
                            n));
}

uint32_t pel_look_inside_zip(pel_ctx *ctx, pel_loaded *out, const pel_zip *zip, bool adopts_networks) {
    uint32_t n = 0, n_unknown = 0;
    uint64_t unpacked = 0;
    const pel_zip_member *unknown = NULL;
    out->runs_members = runs_its_members(zip);
    for (uint32_t i = 0; i < zip->members.n; i++) {
        const pel_zip_member *member = &zip->members.at[i];
        if (!member->in_file || !member->size || pel_map_has(&out->read, member->offset)) continue;
        pel_zip_settle(ctx, zip, member, &out->findings);
        if (!member->in_file) continue; /* which was said */
        content_job job = { .zip = zip, .member = member, .findings = &out->findings };
        if (member->method == 0) {
            job.input = pel_input_part(ctx, zip->input, member->offset, member->packed);
        } else {
            bool is_big = member->size > MAX_MEMBER || unpacked + member->size > MAX_TOGETHER;
            pel_err why = { .at = member->offset, .what = "it is packed, and too large to be looked into" };
            if (is_big || !pel_attempt(ctx, content_body, &job, &why)) {
                if (why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
                say_unread(ctx, out, member->name, &why);
                continue;
            }
            unpacked += member->size;
        }
        bool is_known = look_at(ctx, out, member->name, &job.input, member->offset, adopts_networks);
        if (!is_known && !unknown) unknown = member;
        n += is_known, n_unknown += !is_known;
    }
    if (n && adopts_networks) say_not_understood(ctx, out, n_unknown, unknown);
    return n;
}

uint32_t pel_look_inside_tar(pel_ctx *ctx, pel_loaded *out, pel_str bytes, bool adopts_networks) {
    pel_findings ignored = { 0 }; /* its loader has them already */
    const pel_tar *tar = pel_tar_read(ctx, bytes, &ignored);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tar->members.n; i++) {
        const pel_tar_member *member = &tar->members.at[i];
        if (!member->is_file || pel_map_has(&out->read, member->offset)) continue;
        pel_input content = pel_input_of(pel_str_cut(bytes, member->offset, member->offset + member->size));
        n += look_at(ctx, out, member->name, &content, member->offset, adopts_networks);
    }
    pel_input whole = pel_input_of(bytes);
    pel_look_at_rest(ctx, out, &whole, tar->end, 0);
    return n;
}

void pel_look_behind(pel_ctx *ctx, pel_loaded *out, const pel_input *input, uint64_t start, bool adopts_networks) {
    pel_input behind = pel_input_part(ctx, input, start, input->size - start);
    look_at(ctx, out, PEL_STR("the archive behind"), &behind, start, adopts_networks);
}

bool pel_load_zip_row(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_input *input) {
    uint64_t *ends, start = 0;
    /* under another name, somebody would open one of them and take it for the whole */
    uint32_t n = pel_ends_folded(name, ".distcp") ? pel_zip_row(ctx, pel_input_whole(ctx, input), &ends) : 0;
    for (uint32_t i = 0; i < n; start = ends[i++]) {
        pel_input part = pel_input_part(ctx, input, start, ends[i] - start);
        inner_file *inner = pel_new(ctx, inner_file);
        pel_err why;
        pel_str member = pel_format(ctx, "archive %u", i + 1);
        bool is_read = load_inner(ctx, out, member, &part, inner, &why);
        pel_adopt(ctx, out, &inner->loaded, member, start);
        if (!is_read) say_unread(ctx, out, member, &why);
        for (uint32_t k = 0; k < inner->loaded.networks.n; k++)
            pel_push(ctx, &out->networks, inner->loaded.networks.at[k]);
    }
    if (!n) return false;
    out->format = PEL_STR("archives in a row");
    pel_find(ctx, &out->findings, PEL_NOTE, "several-archives", (pel_str){ "", 0 }, ends[0],
             pel_format(ctx, "%u archives one after the other; each was read", n));
    return true;
}

/* ---- packed streams ---- */

/* joblib before 0.10: "ZF", the length in hexadecimal digits, then zlib. */
static uint64_t old_joblib(pel_str bytes) {
    if (bytes.len < 30 || memcmp(bytes.ptr, "ZF0x", 4) != 0) return 0;
    for (uint64_t at = 21; at <= 22; at++)
        if (pel_packing(pel_str_from(bytes, at))) return at;
    return 0;
}

bool pel_is_packed(pel_str bytes) { return pel_packing(bytes) || old_joblib(bytes); }

bool pel_is_packed_whole(pel_ctx *ctx, const pel_input *input) {
    return input->size <= MAX_MEMBER && pel_may_be_packed(pel_input_head(ctx, input)) &&
           pel_packing_of_whole(ctx, pel_input_whole(ctx, input));
}

/* "x.yaml.gz" holds x.yaml. */
static pel_str name_of_content(pel_str name) {
    static const char *const endings[] = { ".gz", ".gzip", ".bz2", ".xz",  ".lzma", ".lz4", ".zlib",
                                           ".z",  ".zst",  ".lz",  ".lzo", ".sz",   ".7z" };
    for (size_t i = 0; i < PEL_COUNT(endings); i++)
        if (pel_ends_folded(name, endings[i])) return pel_str_cut(name, 0, name.len - strlen(endings[i]));
    return name;
}

static void say_fault(pel_ctx *ctx, pel_loaded *out, const pel_err *why, bool is_bomb) {
    const char *kind = is_bomb ? "zip-bomb" : why->code == PEL_E_TOO_BIG ? "too-big" : "broken-stream";
    pel_find(ctx, &out->findings, is_bomb ? PEL_DANGER : PEL_SUSPECT, kind, (pel_str){ "", 0 }, why->at,
             pel_str_copy(ctx, pel_str_of(why->what)));
}

/* Of a broken stream what it gives is looked at all the same: a reader that unpickles while it unpacks has run it. */
void pel_load_packed(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    bool failed;
    pel_err why;
    bytes = pel_str_from(bytes, old_joblib(bytes));
    const char *packing = pel_packing(bytes);
    if (!packing) packing = pel_packing_of_whole(ctx, bytes);
    uint64_t honest = bytes.len < MAX_UNPACKED / HONEST_RATIO ? HONEST_RATIO * (uint64_t)bytes.len : MAX_UNPACKED;
    uint64_t limit = honest > MIN_UNPACKED ? honest : MIN_UNPACKED;
    out->format = pel_format(ctx, "%s stream", packing);
    uint64_t end;
    pel_str content = pel_unpack(ctx, bytes, limit, &end, &failed, &why);
    if (failed) say_fault(ctx, out, &why, why.code == PEL_E_TOO_BIG && limit < MAX_UNPACKED);
    if (!content.len) pel_throw(ctx, PEL_E_FORMAT, 0, "a %s stream without content", packing);
    inner_file *inner = pel_new(ctx, inner_file);
    pel_input unpacked = pel_input_of(content);
    bool is_read = load_inner(ctx, out, name_of_content(name), &unpacked, inner, &why);
    pel_adopt(ctx, out, &inner->loaded, (pel_str){ "", 0 }, 0);
    if (inner->loaded.format.len)
        out->format = pel_format(ctx, "%.*s, packed by %s", PEL_FMT(inner->loaded.format), packing);
    out->networks = inner->loaded.networks;
    pel_input whole = pel_input_of(bytes);
    if (end < bytes.len) pel_look_at_rest(ctx, out, &whole, end, 0);
    if (!is_read) pel_throw(ctx, why.code, why.at, "%s", why.what);
}

static const struct {
    const char *mark;
    size_t len;
    const char *name;
} other_packings[] = {
    { "\x28\xb5\x2f\xfd", 4, "zstd" }, { "\x02\x21\x4c\x18", 4, "lz4 as it once was" },
    { "7z\xbc\xaf", 4, "7z" },         { "Rar!", 4, "rar" },
    { "MSCF\0\0\0\0", 8, "cab" },      { "LZIP\1", 5, "lzip" },
    { "\x89LZO\0\r\n", 7, "lzop" },    { "\xff\6\0\0sNaPpY", 10, "snappy" },
};

/* zstd and lz4 let frames that mean nothing stand first. */
static pel_str without_skipped(pel_str bytes) {
    while (bytes.len >= 8 && (pel_le32(bytes.ptr) & ~15u) == 0x184D2A50u) {
        uint64_t size = 8 + (uint64_t)pel_le32(bytes.ptr + 4);
        if (size >= bytes.len) break;
        bytes = pel_str_from(bytes, size);
    }
    return bytes;
}

static size_t other_packing(pel_str bytes) {
    size_t i = 0;
    bytes = without_skipped(bytes);
    while (i < PEL_COUNT(other_packings) &&
           !pel_str_starts(bytes, (pel_str){ other_packings[i].mark, other_packings[i].len }))
        i++;
    return i;
}

bool pel_is_packed_otherwise(pel_str bytes) { return other_packing(bytes) < PEL_COUNT(other_packings); }

typedef struct list_job {
    pel_str bytes;
    const pel_7z *list;
} list_job;

static void list_body(pel_ctx *ctx, void *arg) {
    list_job *job = arg;
    job->list = pel_7z_list(ctx, job->bytes);
}

/* What a 7z archive says that it holds. */
static void list_members(pel_ctx *ctx, pel_loaded *out, pel_str bytes) {
    list_job job = { bytes, NULL };
    pel_err why;
    if (!pel_attempt(ctx, list_body, &job, &why)) {
        if (why.code == PEL_E_MEMORY) pel_throw(ctx, why.code, why.at, "%s", why.what);
        pel_find(ctx, &out->findings, PEL_UNREAD, "archive", (pel_str){ "", 0 }, why.at,
                 pel_format(ctx, "its members can't be listed: %s", why.what));
        return;
    }
    for (uint32_t i = 0; i < job.list->names.n && i < MAX_LISTED; i++) {
        pel_str name = job.list->names.at[i];
        bool is_out = name.len && !pel_is_safe_path(name);
        pel_find(ctx, &out->findings, is_out ? PEL_DANGER : PEL_UNREAD, is_out ? "path" : "archive", name, 0,
                 is_out ? PEL_STR("the name leads out of the folder that the archive is unpacked in")
                        : PEL_STR("a member that is not unpacked: what is in it is unknown"));
    }
    if (job.list->n > MAX_LISTED)
        pel_find(ctx, &out->findings, PEL_UNREAD, "archive", (pel_str){ "", 0 }, 0,
                 pel_format(ctx, "%llu more members", (unsigned long long)(job.list->n - MAX_LISTED)));
}

void pel_load_packed_otherwise(pel_ctx *ctx, pel_loaded *out, pel_str name, pel_str bytes) {
    const char *packing = other_packings[other_packing(bytes)].name;
    out->format = pel_format(ctx, "%s stream", packing);
    if (pel_is_7z(bytes)) list_members(ctx, out, bytes);
    if (is_named_as_model(
            name_of_content(name))) /* by content it is none: the name is there to have it loaded, or passed over */
        pel_find(ctx, &out->findings, PEL_SUSPECT, "archive", (pel_str){ "", 0 }, 0,
                 pel_format(ctx, "packed by %s under the name of a model: nobody knows what is in it", packing));
    pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "packed by %s, so nobody knows what is in it: unpack it first", packing);
}
