/* torch.save since 1.6, TorchScript and lite: a zip archive with data.pkl and one member for each storage. */
#include "io/bytes.h"
#include "load/formats/torch_objects.h"
#include "load/audit/torch_ops.h"
#include "python/parse.h"

#define MAX_PICKLE ((uint64_t)1 << 30)
#define MAX_CODE ((uint64_t)16 << 20)
#define MAX_BYTECODE 20000000u /* objects of it */
#define MAX_BYTECODE_DEPTH 100

typedef struct archive {
    pel_ctx *ctx;
    pel_loaded *out;
    const pel_zip *zip;
    pel_str folder;       /* "name/" of the members, with its slash */
    pel_map by_name;      /* interned -> index of the first such member */
    pel_map roles;        /* interned "module Class attribute" -> enum pel_script_role */
    const char *storages; /* folder of the storages */
    bool is_big_endian;   /* the bytes are not what this machine would read */
} archive;

static const pel_zip_member *find(archive *a, pel_str name) {
    uint64_t found;
    if (!pel_map_get(&a->by_name, PEL_KEY(pel_intern_str(a->ctx, name)), &found)) return NULL;
    return &a->zip->members.at[found];
}

/* ---- storages ---- */

typedef struct packed_storage {
    const pel_zip *zip;
    const pel_zip_member *member;
    pel_findings *findings;
} packed_storage;

static pel_str unpack(pel_ctx *ctx, const pel_stored *stored) {
    const packed_storage *packed = stored->arg;
    return pel_zip_content(ctx, packed->zip, packed->member, UINT64_MAX, packed->findings);
}

static bool storage_of(void *arg, pel_str key, pel_torch_storage *storage) {
    archive *a = arg;
    const pel_zip_member *member =
        find(a, pel_format(a->ctx, "%.*s%s%.*s", PEL_FMT(a->folder), a->storages, PEL_FMT(key)));
    if (member) pel_map_set(a->ctx, &a->out->read, member->offset, 1);
    if (!member || !member->readable || a->is_big_endian) return false;
    *storage = (pel_torch_storage){ .member = member->name, .offset = member->offset, .size = member->size };
    if (member->is_rough) return true; /* its size is known, its place is not */
    if (member->method == 0) {
        storage->input = a->zip->input;
        return true;
    }
    packed_storage *packed = pel_new(a->ctx, packed_storage);
    *packed = (packed_storage){ a->zip, member, &a->out->findings };
    storage->unpack = unpack;
    storage->arg = packed;
    return true;
}

/* ---- TorchScript: the classes say which attributes are parameters ---- */

typedef struct code_file {
    archive *a;
    const pel_zip_member *member;
    pel_str module; /* "__torch__.torch.nn.modules.linear" */
} code_file;

static void note_roles(code_file *file, pel_name class, const pel_node *list, pel_script_role role) {
    pel_ctx *ctx = file->a->ctx;
    for (uint32_t i = 0; list->kind == PEL_List && i < list->List.elts.n; i++) {
        const pel_node *element = list->List.elts.at[i];
        if (element->kind != PEL_Constant || element->Constant.value->kind != PEL_CONST_STR) continue;
        pel_str name =
            pel_format(ctx, "%.*s %s %.*s", PEL_FMT(file->module), class->text, PEL_FMT(element->Constant.value->text));
        pel_map_set(ctx, &file->a->roles, PEL_KEY(pel_intern_str(ctx, name)), role);
    }
}

static void read_code(pel_ctx *ctx, void *arg) {
    code_file *file = arg;
    pel_str text = pel_zip_content(ctx, file->a->zip, file->member, MAX_CODE, &file->a->out->findings);
    pel_source source = pel_source_text(ctx, file->member->name, text);
    pel_node *root = pel_parse(ctx, &source, PEL_VERSION_MAX);
    pel_judge_script(ctx, root, file->member->name, file->member->offset, &file->a->out->findings);
    for (uint32_t i = 0; i < root->Module.body.n; i++) {
        const pel_node *class = root->Module.body.at[i];
        if (class->kind != PEL_ClassDef) continue;
        for (uint32_t k = 0; k < class->ClassDef.body.n; k++) {
            const pel_node *line = class->ClassDef.body.at[k];
            if (line->kind != PEL_Assign || line->Assign.targets.n != 1 || line->Assign.targets.at[0]->kind != PEL_Name)
                continue;
            pel_name target = line->Assign.targets.at[0]->Name.id;
            if (pel_name_is(target, "__parameters__"))
                note_roles(file, class->ClassDef.name, line->Assign.value, PEL_SCRIPT_PARAMETER);
            if (pel_name_is(target, "__buffers__"))
                note_roles(file, class->ClassDef.name, line->Assign.value, PEL_SCRIPT_BUFFER);
        }
    }
}

static void read_all_code(archive *a) {
    pel_str prefix = pel_format(a->ctx, "%.*scode/", PEL_FMT(a->folder));
    for (uint32_t i = 0; i < a->zip->members.n; i++) {
        const pel_zip_member *member = &a->zip->members.at[i];
        if (!pel_str_starts(member->name, prefix) || !pel_str_ends(member->name, PEL_STR(".py"))) continue;
        pel_map_set(a->ctx, &a->out->read, member->offset, 1);
        pel_str path = pel_str_cut(member->name, prefix.len, member->name.len - 3);
        char *module = pel_alloc_raw(a->ctx, path.len + 1);
        for (size_t k = 0; k < path.len; k++) module[k] = path.ptr[k] == '/' ? '.' : path.ptr[k];
        code_file file = { a, member, { module, path.len } };
        pel_err why;
        if (!pel_attempt(a->ctx, read_code, &file, &why))
            pel_find(a->ctx, &a->out->findings, PEL_SUSPECT, "unread-code", member->name, member->offset,
                     pel_str_copy(a->ctx, pel_str_of(why.what)));
    }
}

static pel_script_role role_of(void *arg, pel_str class_module, pel_str class_name, pel_str attribute) {
    archive *a = arg;
    pel_str name = pel_format(a->ctx, "%.*s %.*s %.*s", PEL_FMT(class_module), PEL_FMT(class_name), PEL_FMT(attribute));
    return (pel_script_role)pel_map_find(&a->roles, PEL_KEY(pel_intern_str(a->ctx, name)), PEL_SCRIPT_ATTRIBUTE);
}

/* ---- the archive ---- */

typedef struct pickle_job {
    archive *a;
    const pel_zip_member *member;
    bool is_script;
    pel_pickle *pickle;
} pickle_job;

static void read_pickle(pel_ctx *ctx, void *arg) {
    pickle_job *job = arg;
    pel_loaded *out = job->a->out;
    pel_str bytes = pel_zip_content(ctx, job->a->zip, job->member, MAX_PICKLE, &out->findings);
    job->pickle = pel_pickle_read(ctx, bytes, job->member->offset, job->member->name, &out->findings);
    pel_push(ctx, &out->pickles, (pel_loaded_pickle){ job->pickle, job->member->name, job->is_script });
    if (!job->pickle->failed && job->pickle->end != bytes.len)
        pel_find(ctx, &out->findings, PEL_SUSPECT, "trailing-data", job->member->name,
                 job->member->offset + job->pickle->end, PEL_STR("bytes after the end of the pickle"));
}

typedef struct bytecode {
    archive *a;
    pel_str member;
    uint32_t left; /* objects that may still be looked at */
} bytecode;

/* bytecode.pkl of the lite interpreter: every ("aten::add", "Tensor", 2) in it names an operator. */
static void judge_bytecode(bytecode *code, const pel_pickled *object, int depth) {
    bool is_row = object->kind == PEL_P_TUPLE || object->kind == PEL_P_LIST;
    const pel_pickled *first = is_row && object->items.n > 1 ? object->items.at[0] : NULL;
    if (!code->left || depth > MAX_BYTECODE_DEPTH)
        pel_throw(code->a->ctx, PEL_E_TOO_DEEP, object->at, "the bytecode of the lite interpreter is too large");
    code->left--;
    bool is_operator = first && first->kind == PEL_P_STR && object->items.at[1]->kind == PEL_P_STR &&
                       pel_str_find(first->text, PEL_STR("::"));
    pel_severity severity = is_operator ? pel_judge_torch_op(first->text) : PEL_NOTE;
    if (severity > PEL_NOTE)
        pel_find(code->a->ctx, &code->a->out->findings, severity, "operator", code->member, first->at,
                 pel_format(code->a->ctx, "the bytecode has %.*s, which is not known to compute and nothing else",
                            PEL_FMT(first->text)));
    for (uint32_t i = 0; is_row && i < object->items.n; i++) judge_bytecode(code, object->items.at[i], depth + 1);
}

/* Every member that somebody might unpickle: two of one name, names in capitals, members of another folder. */
static pel_pickle *read_pickles(archive *a, const pel_zip_member *main, bool is_script) {
    pel_pickle *found = NULL;
    for (uint32_t i = 0; i < a->zip->members.n; i++) {
        const pel_zip_member *member = &a->zip->members.at[i];
        bool is_debug = is_script && pel_ends_folded(member->name, ".debug_pkl");
        if (!pel_ends_folded(member->name, ".pkl") && !pel_ends_folded(member->name, ".pickle") && !is_debug) continue;
        pel_map_set(a->ctx, &a->out->read, member->offset, 1);
        pickle_job job = { a, member, is_script, NULL };
        pel_err why;
        if (!pel_attempt(a->ctx, read_pickle, &job, &why)) {
            if (member == main || why.code == PEL_E_MEMORY) pel_throw(a->ctx, why.code, why.at, "%s", why.what);
            pel_find(a->ctx, &a->out->findings, PEL_SUSPECT, "unread-pickle", member->name, why.at,
                     pel_str_copy(a->ctx, pel_str_of(why.what)));
        }
        if (member == main) found = job.pickle;
        bytecode code = { a, member->name, MAX_BYTECODE };
        if (job.pickle && job.pickle->root && pel_ends_folded(member->name, "bytecode.pkl"))
            judge_bytecode(&code, job.pickle->root, 0);
    }
    return found;
}

/* The folder is that of the first member: so does torch. */
static const pel_zip_member *main_pickle(archive *a) {
    if (!a->zip->members.n) return NULL;
    pel_str first = a->zip->members.at[0].name;
    const char *slash = memchr(first.ptr, '/', first.len);
    a->folder = pel_str_cut(first, 0, slash ? (size_t)(slash - first.ptr) + 1 : 0);
    const pel_zip_member *member = find(a, pel_format(a->ctx, "%.*sdata.pkl", PEL_FMT(a->folder)));
    for (uint32_t i = 0; i < a->zip->members.n && !member; i++) { /* not where torch looks, but there */
        pel_str name = a->zip->members.at[i].name, suffix = PEL_STR("data.pkl");
        if (!pel_str_ends(name, suffix)) continue;
        member = &a->zip->members.at[i];
        a->folder = pel_str_cut(name, 0, name.len - suffix.len);
    }
    return member;
}

static bool has_member(archive *a, const char *name) {
    return find(a, pel_format(a->ctx, "%.*s%s", PEL_FMT(a->folder), name)) != NULL;
}

bool pel_load_torch_zip(pel_ctx *ctx, pel_loaded *out, pel_str name, const pel_zip *zip) {
    archive a = { .ctx = ctx, .out = out, .zip = zip, .storages = "data/" };
    for (uint32_t i = zip->members.n; i-- > 0;) { /* the first of a name stays */
        pel_str member = zip->members.at[i].name;
        pel_map_set(ctx, &a.by_name, PEL_KEY(pel_intern_str(ctx, member)), i);
    }
    const pel_zip_member *data = main_pickle(&a);
    if (!data) return false;
    bool is_script = has_member(&a, "constants.pkl");
    bool is_lite = has_member(&a, "bytecode.pkl");
    out->format = is_lite     ? PEL_STR("TorchScript for the lite interpreter")
                  : is_script ? PEL_STR("TorchScript archive")
                              : PEL_STR("PyTorch archive");
    out->is_torch = !is_script;
    const pel_pickle *pickle = read_pickles(&a, data, is_script);
    if (is_script) read_all_code(&a);
    const pel_zip_member *order = find(&a, pel_format(ctx, "%.*sbyteorder", PEL_FMT(a.folder)));
    a.is_big_endian = order && order->readable && order->method == 0 && order->size == 3 &&
                      pel_str_is(pel_input_view(ctx, zip->input, order->offset, order->size), "big");
    if (a.is_big_endian)
        pel_find(ctx, &out->findings, PEL_NOTE, "big-endian", order->name, order->offset,
                 PEL_STR("the tensors are big-endian: they are listed, their bytes are not read"));
    pel_tree_builder builder = pel_build(ctx, out, name, '.');
    if (pickle->failed) pel_throw(ctx, pickle->fault.code, pickle->fault.at, "%s", pickle->fault.what);
    pel_torch_source source = { .storage = storage_of, .role = is_script ? role_of : NULL, .arg = &a };
    pel_load_torch_objects(&builder, pickle, &source);
    return true;
}
