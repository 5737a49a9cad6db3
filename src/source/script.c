/* A TorchScript archive: its code, what its modules hold, and the methods of each. */
#include "source/script.h"

#define MAX_CODE ((uint64_t)16 << 20)
#define MAX_DEPTH 100

static bool is_mangle(pel_str word) { return pel_str_starts(word, PEL_STR("___torch_mangle_")); }

pel_str pel_script_plain(pel_ctx *ctx, pel_str module) {
    pel_buf out = pel_buf_in(ctx);
    for (size_t start = 0; start <= module.len;) {
        size_t end = start;
        while (end < module.len && module.ptr[end] != '.') end++;
        pel_str word = pel_str_cut(module, start, end);
        if (!is_mangle(word) && !(start == 0 && pel_str_is(word, "__torch__"))) {
            if (out.len) pel_put_byte(&out, '.');
            pel_put(&out, word);
        }
        start = end + 1;
    }
    return pel_buf_str(&out);
}

void pel_script_refuse(pel_script *s, const pel_script_file *file, const pel_node *where, const char *what,
                       pel_str name) {
    uint64_t line = where && where->lineno ? where->lineno : 0;
    uint64_t at = file ? file->at + (line && line <= file->lines.n ? file->lines.at[line - 1] : 0) : 0;
    pel_throw(s->r->ctx, PEL_E_UNSUPPORTED, at, "source from a file: %s: %.*s (%.*s, line %llu of its code)", what,
              (int)(name.len < 100 ? name.len : 100), name.ptr, (int)(file ? file->module.len : 1),
              file ? file->module.ptr : "?", (unsigned long long)line);
}

/* ---- the code ---- */

static pel_str module_of(pel_ctx *ctx, pel_str path) {
    char *text = pel_alloc_raw(ctx, path.len + 1);
    for (size_t i = 0; i < path.len; i++) text[i] = path.ptr[i] == '/' ? '.' : path.ptr[i];
    return (pel_str){ text, path.len };
}

static void read_code(pel_script *s) {
    pel_ctx *ctx = s->r->ctx;
    pel_str prefix = pel_format(ctx, "%.*scode/", PEL_FMT(s->folder)), ending = PEL_STR(".py");
    for (uint32_t i = 0; i < s->zip->members.n; i++) {
        const pel_zip_member *member = &s->zip->members.at[i];
        if (!pel_str_starts(member->name, prefix) || !pel_str_ends(member->name, ending)) continue;
        pel_script_file *file = pel_new(ctx, pel_script_file);
        file->module = module_of(ctx, pel_str_cut(member->name, prefix.len, member->name.len - ending.len));
        if (pel_map_has(&s->files, PEL_KEY(pel_intern_str(ctx, file->module)))) continue; /* torch reads the first */
        file->text = pel_zip_content(ctx, s->zip, member, MAX_CODE, &s->r->loaded->findings);
        file->at = member->offset;
        pel_source source = pel_source_text(ctx, member->name, file->text);
        file->root = pel_parse(ctx, &source, PEL_VERSION_MAX);
        pel_push(ctx, &file->lines, 0);
        for (size_t k = 0; k < file->text.len; k++)
            if (file->text.ptr[k] == '\n') pel_push(ctx, &file->lines, k + 1);
        pel_map_set(ctx, &s->files, PEL_KEY(pel_intern_str(ctx, file->module)), PEL_KEY(file));
    }
}

const pel_script_class *pel_script_class_of(pel_script *s, pel_str module, pel_str name) {
    pel_script_file *file = pel_map_pointer(&s->files, PEL_KEY(pel_intern_str(s->r->ctx, module)));
    for (uint32_t i = 0; file && i < file->root->Module.body.n; i++) {
        const pel_node *node = file->root->Module.body.at[i];
        if (node->kind != PEL_ClassDef || !pel_str_eq(pel_name_str(node->ClassDef.name), name)) continue;
        pel_script_class *class = pel_new(s->r->ctx, pel_script_class);
        *class = (pel_script_class){ file, node };
        return class;
    }
    return NULL;
}

const pel_node *pel_script_function(pel_script *s, pel_str full, pel_script_file **file) {
    size_t dot = full.len;
    while (dot && full.ptr[dot - 1] != '.') dot--;
    if (!dot) return NULL;
    *file = pel_map_pointer(&s->files, PEL_KEY(pel_intern_str(s->r->ctx, pel_str_cut(full, 0, dot - 1))));
    for (uint32_t i = 0; *file && i < (*file)->root->Module.body.n; i++) {
        const pel_node *node = (*file)->root->Module.body.at[i];
        if (node->kind == PEL_FunctionDef && pel_str_eq(pel_name_str(node->FunctionDef.name), pel_str_from(full, dot)))
            return node;
    }
    return NULL;
}

/* ---- what the modules hold ---- */

static const pel_pickled *pickle_of(pel_script *s, const char *name) {
    pel_str full = pel_format(s->r->ctx, "%.*s%s", PEL_FMT(s->folder), name);
    for (uint32_t i = 0; i < s->r->loaded->pickles.n; i++) {
        const pel_loaded_pickle *pickle = &s->r->loaded->pickles.at[i];
        if (pel_str_eq(pickle->member, full) && !pickle->pickle->failed) return pickle->pickle->root;
    }
    return NULL;
}

/* Modules of the archive are the parts that its loader found: a shared one is there under each of its names. */
static void add_part(pel_script *s, const pel_pickled *object, pel_str path, int depth) {
    pel_ctx *ctx = s->r->ctx;
    pel_part *part = pel_part_at(s->r, path);
    const pel_pickled *class = object->kind == PEL_P_NEW ? object->call->callable : NULL;
    if (!part || !class || class->kind != PEL_P_GLOBAL || depth > MAX_DEPTH ||
        pel_map_has(&s->by_part, PEL_KEY(part)) || !pel_str_starts(class->global->module, PEL_STR("__torch__")))
        return;
    pel_script_part *p = pel_new(ctx, pel_script_part);
    *p = (pel_script_part){ .part = part, .state = pel_pickled_state(object) };
    p->class = pel_script_class_of(s, class->global->module, class->global->name);
    part->class = class->global->name;
    part->origin = pel_script_plain(ctx, class->global->module);
    pel_map_set(ctx, &s->by_part, PEL_KEY(part), PEL_KEY(p));
    pel_push(ctx, &s->parts, p);
    for (uint32_t i = 0; p->state && i + 1 < p->state->items.n; i += 2) {
        const pel_pickled *key = p->state->items.at[i];
        if (key->kind != PEL_P_STR || !key->text.len) continue;
        add_part(s, p->state->items.at[i + 1],
                 path.len ? pel_format(ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(key->text)) : key->text, depth + 1);
    }
}

/* ---- methods ---- */

static bool is_method(const pel_node *line) {
    return line->kind == PEL_FunctionDef && line->FunctionDef.args->arguments.args.n;
}

/* A trace calls a module's second call forward1; where it does the same it is the same method here. */
static void add_method(pel_script *s, pel_script_part *p, pel_node *method, pel_name old) {
    pel_ctx *ctx = s->r->ctx;
    pel_part *part = p->part;
    for (uint32_t i = 0; s->is_traced && i < part->methods.n; i++) {
        pel_node *known = part->methods.at[i];
        method->FunctionDef.name = known->FunctionDef.name;
        if (!pel_same(known, method)) continue;
        pel_map_set(ctx, &p->methods, PEL_KEY(old), PEL_KEY(known->FunctionDef.name));
        return;
    }
    if (s->is_traced)
        method->FunctionDef.name =
            pel_intern_str(ctx, part->methods.n ? pel_format(ctx, "forward_%u", part->methods.n) : PEL_STR("forward"));
    pel_map_set(ctx, &p->methods, PEL_KEY(old), PEL_KEY(method->FunctionDef.name));
    pel_nodes_push(ctx, &part->methods, method);
}

/* What a scripted module's hooks do is not in its methods. */
static void refuse_hooks(pel_script *s, const pel_script_part *p) {
    for (uint32_t i = 0; p->class && i < p->class->node->ClassDef.body.n; i++) {
        const pel_node *line = p->class->node->ClassDef.body.at[i];
        pel_name name = pel_bound_name(line);
        bool is_hooks = name && (pel_name_is(name, "__forward_hooks__") || pel_name_is(name, "__forward_pre_hooks__"));
        if (is_hooks && (line->Assign.value->kind != PEL_List || line->Assign.value->List.elts.n))
            pel_script_refuse(s, p->class->file, line, "a module with hooks", p->part->path);
    }
}

/* A trace calls what does nothing without arguments: it has no method here. */
static bool is_nothing(const pel_script *s, const pel_node *method) {
    return s->is_traced && method->FunctionDef.args->arguments.args.n == 1 && method->FunctionDef.body.n == 1 &&
           method->FunctionDef.body.at[0]->kind == PEL_Return && method->FunctionDef.body.at[0]->Return.value &&
           pel_is_none(method->FunctionDef.body.at[0]->Return.value);
}

static void write_methods(pel_script *s, pel_script_part *p) {
    const pel_node *class = p->class ? p->class->node : NULL;
    for (uint32_t i = 0; class && i < class->ClassDef.body.n; i++) {
        const pel_node *line = class->ClassDef.body.at[i];
        if (!is_method(line) || is_nothing(s, line)) continue;
        if (pel_str_starts(pel_name_str(line->FunctionDef.name), PEL_STR("__"))) continue; /* len() of a list */
        pel_node *method = s->is_traced ? NULL : pel_script_text(s, p, p->class->file, line);
        if (method)
            s->n_texts++;
        else
            method = pel_script_translate(s, p, p->class->file, line);
        add_method(s, p, method, line->FunctionDef.name);
    }
}

static void add_notes(pel_script *s) {
    pel_ctx *ctx = s->r->ctx;
    if (s->n_texts)
        pel_push(ctx, &s->r->notes,
                 pel_format(ctx,
                            "%u functions are their author's text, which the file keeps for messages; %u are its code, "
                            "translated",
                            s->n_texts, s->n_translated));
    else
        pel_push(ctx, &s->r->notes,
                 PEL_STR("Functions are the file's code, translated: it has no text of the author's"));
}

/* Members come before their owners: a caller must know what the methods of its members are called here. */
bool pel_recover_script(pel_recovery *r, const pel_zip *zip) {
    pel_script s = { .r = r, .zip = zip };
    pel_str ending = PEL_STR("constants.pkl");
    bool is_found = false;
    for (uint32_t i = 0; i < zip->members.n && !is_found; i++) {
        pel_str name = zip->members.at[i].name;
        is_found = pel_str_ends(name, ending) && (name.len == ending.len || name.ptr[name.len - ending.len - 1] == '/');
        if (is_found) s.folder = pel_str_cut(name, 0, name.len - ending.len);
    }
    const pel_pickled *root = is_found ? pickle_of(&s, "data.pkl") : NULL;
    if (!root) return false;
    r->producer = PEL_STR("TorchScript");
    s.constants = pickle_of(&s, "constants.pkl");
    s.is_traced = pickle_of(&s, "traced_inputs.pkl") != NULL;
    read_code(&s);
    add_part(&s, root, (pel_str){ "", 0 }, 0);
    for (uint32_t i = s.parts.n; i-- > 0;) {
        refuse_hooks(&s, s.parts.at[i]);
        pel_script_attributes(&s, s.parts.at[i]);
        if (s.parts.at[i]->part->parent && !s.is_traced && pel_script_module(&s, s.parts.at[i])) continue;
        write_methods(&s, s.parts.at[i]);
    }
    add_notes(&s);
    return true;
}
