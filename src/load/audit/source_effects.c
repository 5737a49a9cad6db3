#include "load/audit/source_effects.h"

#include "base/map.h"

#include <string.h>

#define MAX_CHAIN 32 /* a.b.c. ... */

typedef struct walker {
    pel_ctx *ctx;
    pel_source_effects *out;
    pel_map imported; /* name -> the dotted name that it stands for, interned */
    pel_map own;      /* names that the source binds itself: variables, parameters, functions, classes */
    pel_map defined;  /* attributes that it defines: methods, self.x = ... */
    bool (*is_sibling)(void *arg, pel_str module);
    void *arg;
    pel_str where;
} walker;

static void add(walker *w, pel_effect effect, pel_str what, const char *why, const pel_node *at) {
    if (effect == PEL_EFFECT_NONE) return;
    pel_push(w->ctx, &w->out->rows, (pel_source_effect){ effect, what, w->where, pel_str_of(why), at->lineno });
}

static pel_str first_part(pel_str dotted) {
    const char *dot = dotted.len ? memchr(dotted.ptr, '.', dotted.len) : NULL;
    return pel_str_cut(dotted, 0, dot ? (size_t)(dot - dotted.ptr) : dotted.len);
}

/* ---- which names there are ---- */

static void bind(walker *w, pel_name name) {
    if (name) pel_map_set(w->ctx, &w->own, PEL_KEY(name), 1);
}

static void import_as(walker *w, pel_name name, pel_str dotted) {
    pel_map_set(w->ctx, &w->imported, PEL_KEY(name), PEL_KEY(pel_intern_str(w->ctx, dotted)));
}

static void note_import(walker *w, const pel_node *node) {
    for (uint32_t i = 0; i < node->Import.names.n; i++) {
        const pel_node *alias = node->Import.names.at[i];
        pel_str full = pel_name_str(alias->alias.name);
        const char *dot = memchr(full.ptr, '.', full.len);
        pel_str top = pel_str_cut(full, 0, dot ? (size_t)(dot - full.ptr) : full.len);
        if (alias->alias.asname)
            import_as(w, alias->alias.asname, full);
        else
            import_as(w, pel_intern_str(w->ctx, top), top);
    }
}

/* Modules of the source's own folder are read themselves: their names are no library's. */
static bool is_own_module(walker *w, const pel_node *node) {
    if (node->ImportFrom.level) return true;
    return node->ImportFrom.module && w->is_sibling(w->arg, pel_name_str(node->ImportFrom.module));
}

static void note_import_from(walker *w, const pel_node *node) {
    bool is_own = is_own_module(w, node);
    for (uint32_t i = 0; i < node->ImportFrom.names.n; i++) {
        const pel_node *alias = node->ImportFrom.names.at[i];
        pel_name name = alias->alias.asname ? alias->alias.asname : alias->alias.name;
        if (is_own)
            bind(w, name);
        else
            import_as(w, name,
                      pel_format(w->ctx, "%.*s.%.*s", PEL_FMT(pel_name_str(node->ImportFrom.module)),
                                 PEL_FMT(pel_name_str(alias->alias.name))));
    }
}

static pel_name defined_name(const pel_node *node) {
    return node->kind == PEL_FunctionDef        ? node->FunctionDef.name
           : node->kind == PEL_AsyncFunctionDef ? node->AsyncFunctionDef.name
           : node->kind == PEL_ClassDef         ? node->ClassDef.name
                                                : NULL;
}

/* Everything that the source binds, in any of its scopes. A name that it both imports and binds stays imported. */
static void note_names(void *arg, pel_node **slot) {
    walker *w = arg;
    pel_node *node = *slot;
    pel_kind kind = (pel_kind)node->kind;
    if (kind == PEL_Import) note_import(w, node);
    if (kind == PEL_ImportFrom) note_import_from(w, node);
    if (kind == PEL_arg) bind(w, node->arg.arg);
    if (kind == PEL_Name && node->Name.ctx != PEL_Load) bind(w, node->Name.id);
    if (kind == PEL_ExceptHandler) bind(w, node->ExceptHandler.name);
    if (kind == PEL_MatchAs) bind(w, node->MatchAs.name);
    if (kind == PEL_MatchStar) bind(w, node->MatchStar.name);
    if (kind == PEL_MatchMapping) bind(w, node->MatchMapping.rest);
    if (kind == PEL_TypeVar) bind(w, node->TypeVar.name);
    pel_name defined = defined_name(node);
    bind(w, defined);
    if (defined) pel_map_set(w->ctx, &w->defined, PEL_KEY(defined), 1);
    if (kind == PEL_Attribute && node->Attribute.ctx == PEL_Store)
        pel_map_set(w->ctx, &w->defined, PEL_KEY(node->Attribute.attr), 1);
    pel_each_child(node, note_names, w);
}

/* ---- what they do ---- */

static void look(void *arg, pel_node **slot);

/* "os.path.join" of a chain of attributes whose root is a library's name, or Python's own; false: of a value. */
static bool dotted_of(walker *w, const pel_node *node, pel_str *dotted) {
    pel_name parts[MAX_CHAIN];
    uint32_t n = 0;
    uint64_t found;
    for (; node->kind == PEL_Attribute && n < MAX_CHAIN; node = node->Attribute.value)
        parts[n++] = node->Attribute.attr;
    if (node->kind != PEL_Name) return false;
    pel_buf text = pel_buf_in(w->ctx);
    if (pel_map_get(&w->imported, PEL_KEY(node->Name.id), &found)) {
        pel_put_name(&text, (pel_name)(uintptr_t)found);
    } else {
        pel_put_c(&text, "builtins.");
        pel_put_name(&text, node->Name.id);
        /* another scope may bind a name, and this one mean Python's: what is dangerous counts always */
        bool is_own = pel_map_has(&w->own, PEL_KEY(node->Name.id));
        if (is_own && pel_effect_of(pel_buf_str(&text)) <= PEL_EFFECT_UNKNOWN) return false;
    }
    while (n) {
        pel_put_byte(&text, '.');
        pel_put_name(&text, parts[--n]);
    }
    *dotted = pel_buf_str(&text);
    return true;
}

static bool is_text(const pel_node *node) {
    return node->kind == PEL_Constant && node->Constant.value->kind == PEL_CONST_STR;
}

/* "builtins.open" is for people "open". */
static pel_str shown(pel_str dotted) {
    pel_str own = PEL_STR("builtins.");
    return pel_str_starts(dotted, own) ? pel_str_from(dotted, own.len) : dotted;
}

/* A name of a library, in any place. Methods of plain values that it leads to ("a".join) are not looked up. */
static void look_at_name(walker *w, const pel_node *node, pel_str dotted) {
    pel_effect effect = pel_effect_of(dotted);
    bool is_dynamic = pel_str_is(dotted, "builtins.getattr") || pel_str_is(dotted, "builtins.setattr") ||
                      pel_str_is(dotted, "builtins.delattr");
    if (effect <= PEL_EFFECT_UNKNOWN && (is_dynamic || pel_is_whole_module(dotted))) {
        add(w, PEL_EFFECT_HIDES, shown(dotted), is_dynamic ? "handed on" : "a module as a value", node);
        return;
    }
    if (node->kind == PEL_Attribute) {
        pel_effect method = pel_effect_of_method(pel_name_str(node->Attribute.attr));
        if (effect == PEL_EFFECT_NONE && method > PEL_EFFECT_UNKNOWN && !pel_str_starts(dotted, PEL_STR("torch.nn.")))
            effect = method; /* transformers.AutoModel.from_pretrained */
    }
    add(w, effect, shown(dotted), "", node);
}

/* open(path, "w") writes; a mode that is computed may. */
static void look_at_open(walker *w, const pel_node *call) {
    const pel_node *mode = call->Call.args.n > 1 ? call->Call.args.at[1] : NULL;
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i];
        if (!keyword->keyword.arg || pel_name_is(keyword->keyword.arg, "mode")) mode = keyword->keyword.value;
    }
    if (!mode) return;
    if (!is_text(mode)) {
        add(w, PEL_EFFECT_WRITES, PEL_STR("open"), "the mode is computed", call);
        return;
    }
    pel_str text = mode->Constant.value->text;
    for (size_t i = 0; i < text.len; i++)
        if (strchr("wax+", text.ptr[i])) {
            add(w, PEL_EFFECT_WRITES, PEL_STR("open"), "", call);
            return;
        }
}

/* getattr(x, "name") is x.name; a name that is computed can be any, unless its first letters are known. */
static void look_at_getattr(walker *w, const pel_node *call) {
    const pel_node *name = call->Call.args.n > 1 ? call->Call.args.at[1] : NULL;
    if (!name) return;
    if (is_text(name)) {
        pel_effect effect = pel_effect_of_method(name->Constant.value->text);
        if (effect > PEL_EFFECT_UNKNOWN || effect == PEL_EFFECT_HIDES)
            add(w, effect, name->Constant.value->text, "by getattr", call);
        pel_str of;
        if (dotted_of(w, call->Call.args.at[0], &of)) {
            pel_str whole = pel_format(w->ctx, "%.*s.%.*s", PEL_FMT(of), PEL_FMT(name->Constant.value->text));
            add(w, pel_effect_of(whole), shown(whole), "by getattr", call);
        }
        return;
    }
    const pel_node *first =
        name->kind == PEL_JoinedStr && name->JoinedStr.values.n ? name->JoinedStr.values.at[0] : NULL;
    pel_str of;
    bool is_library = dotted_of(w, call->Call.args.at[0], &of);
    if (!is_library && first && is_text(first) && first->Constant.value->text.len &&
        first->Constant.value->text.ptr[0] != '_')
        return;
    add(w, PEL_EFFECT_HIDES, PEL_STR("getattr"), "the name is computed", call);
}

/* getattr(x, "name"), setattr(x, ...), hasattr: the function is called where it stands, not handed on. */
static bool is_dynamic_call(walker *w, const pel_node *call) {
    pel_str dotted;
    return dotted_of(w, call->Call.func, &dotted) &&
           (pel_str_is(dotted, "builtins.getattr") || pel_str_is(dotted, "builtins.setattr") ||
            pel_str_is(dotted, "builtins.delattr") || pel_str_is(dotted, "builtins.hasattr"));
}

/* The object whose attribute is asked for may be a module: the name that is asked for was judged. */
static void look_at_argument(walker *w, pel_node **slot, bool is_object) {
    pel_str dotted;
    if (is_object && dotted_of(w, *slot, &dotted) && pel_is_whole_module(dotted)) return;
    look(w, slot);
}

static void look_at_call(walker *w, const pel_node *call) {
    const pel_node *func = call->Call.func;
    pel_str dotted;
    if (dotted_of(w, func, &dotted)) {
        if (pel_str_is(dotted, "builtins.open") || pel_str_is(dotted, "io.open")) look_at_open(w, call);
        if (pel_str_is(dotted, "builtins.getattr")) look_at_getattr(w, call);
        return; /* the name itself was judged */
    }
    if (func->kind != PEL_Attribute) return; /* a value: it was named somewhere, or the source defines it */
    pel_name name = func->Attribute.attr;
    pel_effect effect = pel_effect_of_method(pel_name_str(name));
    if (effect == PEL_EFFECT_UNKNOWN && pel_map_has(&w->defined, PEL_KEY(name))) return;
    if (effect == PEL_EFFECT_UNKNOWN)
        add(w, effect, pel_format(w->ctx, ".%.*s()", PEL_FMT(pel_name_str(name))), "a method of a value", call);
}

/* Attributes of values: only names that lead out of it. */
static void look_at_attribute(walker *w, const pel_node *node) {
    pel_effect effect = pel_effect_of_method(pel_name_str(node->Attribute.attr));
    bool is_own = pel_map_has(&w->defined, PEL_KEY(node->Attribute.attr));
    bool is_special = pel_str_starts(pel_name_str(node->Attribute.attr), PEL_STR("__"));
    if (effect == PEL_EFFECT_NONE || effect == PEL_EFFECT_UNKNOWN || (is_own && !is_special)) return;
    add(w, effect, pel_format(w->ctx, ".%.*s", PEL_FMT(pel_name_str(node->Attribute.attr))), "of a value", node);
}

/* `import x` only names a module, so its uses are judged where they are. `from x import y` is judged here as a use of
 * y. Files beside this one are read as well; those of other folders stay unknown. */
static void look_at_imports(walker *w, const pel_node *node) {
    if (node->kind == PEL_Import) {
        for (uint32_t i = 0; i < node->Import.names.n; i++) {
            pel_str full = pel_name_str(node->Import.names.at[i]->alias.name);
            if (w->is_sibling(w->arg, full)) {
                pel_push(w->ctx, &w->out->siblings, full);
                continue;
            }
            pel_effect effect = pel_effect_of(full);
            if (effect == PEL_EFFECT_UNKNOWN && !pel_is_library(full)) add(w, effect, full, "imported", node);
        }
        return;
    }
    pel_str module = node->ImportFrom.module ? pel_name_str(node->ImportFrom.module) : (pel_str){ "", 0 };
    bool is_star = node->ImportFrom.names.n == 1 && pel_name_is(node->ImportFrom.names.at[0]->alias.name, "*");
    if (is_own_module(w, node)) {
        if (node->ImportFrom.level > 1) add(w, PEL_EFFECT_UNKNOWN, module, "a module of another folder", node);
        if (module.len) pel_push(w->ctx, &w->out->siblings, module);
        for (uint32_t i = 0; !module.len && i < node->ImportFrom.names.n; i++)
            pel_push(w->ctx, &w->out->siblings, pel_name_str(node->ImportFrom.names.at[i]->alias.name));
        return;
    }
    if (is_star) add(w, PEL_EFFECT_UNKNOWN, module, "all of its names are imported", node);
    for (uint32_t i = 0; !is_star && i < node->ImportFrom.names.n; i++) {
        pel_str whole = pel_format(w->ctx, "%.*s.%.*s", PEL_FMT(module),
                                   PEL_FMT(pel_name_str(node->ImportFrom.names.at[i]->alias.name)));
        add(w, pel_effect_of(whole), whole, "imported", node);
    }
}

static void look_inside(walker *w, pel_node *node, pel_name name) {
    pel_str outer = w->where;
    w->where =
        outer.len ? pel_format(w->ctx, "%.*s.%.*s", PEL_FMT(outer), PEL_FMT(pel_name_str(name))) : pel_name_str(name);
    pel_each_child(node, look, w);
    w->where = outer;
}

/* Whether a text is the name of something that leads from any object to all of Python. */
static bool is_way_out(pel_str text) {
    return text.len > 4 && pel_str_starts(text, PEL_STR("__")) && pel_str_ends(text, PEL_STR("__")) &&
           pel_effect_of_method(text) > PEL_EFFECT_UNKNOWN;
}

static void look(void *arg, pel_node **slot) {
    walker *w = arg;
    pel_node *node = *slot;
    pel_str dotted;
    pel_name defined = defined_name(node);
    if (defined) {
        look_inside(w, node, defined);
        return;
    }
    if (node->kind == PEL_Import || node->kind == PEL_ImportFrom) {
        look_at_imports(w, node);
        return;
    }
    if (node->kind == PEL_Name && pel_map_has(&w->defined, PEL_KEY(node->Name.id)))
        pel_push(w->ctx, &w->out->uses, (pel_source_use){ first_part(w->where), node->Name.id });
    bool is_chain = node->kind == PEL_Attribute || (node->kind == PEL_Name && node->Name.ctx == PEL_Load);
    if (is_chain && dotted_of(w, node, &dotted)) {
        look_at_name(w, node, dotted);
        return;
    }
    if (node->kind == PEL_Attribute) look_at_attribute(w, node);
    if (node->kind == PEL_Call) look_at_call(w, node);
    if (node->kind == PEL_Call && is_dynamic_call(w, node)) { /* it was judged with its arguments */
        for (uint32_t i = 0; i < node->Call.args.n; i++) look_at_argument(w, &node->Call.args.at[i], i == 0);
        for (uint32_t i = 0; i < node->Call.keywords.n; i++) look(w, &node->Call.keywords.at[i]);
        return;
    }
    if (node->kind == PEL_Constant && is_text(node) && is_way_out(node->Constant.value->text))
        add(w, PEL_EFFECT_HIDES, node->Constant.value->text, "as a text", node);
    pel_each_child(node, look, w);
}

void pel_source_effects_of(pel_ctx *ctx, pel_node *tree, bool (*is_sibling)(void *arg, pel_str module), void *arg,
                           pel_source_effects *out) {
    walker w = { .ctx = ctx, .out = out, .is_sibling = is_sibling, .arg = arg, .where = { "", 0 } };
    note_names(&w, &tree);
    look(&w, &tree);
}

void pel_source_reached(pel_ctx *ctx, const pel_source_effects *effects, pel_str name, pel_source_effects *out) {
    pel_map reached = { 0 };
    pel_map_set(ctx, &reached, PEL_KEY(pel_intern_str(ctx, first_part(name))), 1);
    pel_map_set(ctx, &reached, PEL_KEY(pel_intern_c(ctx, "")), 1);
    for (bool again = true; again;) { /* as often as the longest chain of mentions */
        again = false;
        for (uint32_t i = 0; i < effects->uses.n; i++) {
            const pel_source_use *use = &effects->uses.at[i];
            if (pel_map_has(&reached, PEL_KEY(pel_intern_str(ctx, use->in))))
                again = pel_map_set(ctx, &reached, PEL_KEY(use->name), 1) || again;
        }
    }
    for (uint32_t i = 0; i < effects->rows.n; i++)
        if (pel_map_has(&reached, PEL_KEY(pel_intern_str(ctx, first_part(effects->rows.at[i].where)))))
            pel_push(ctx, &out->rows, effects->rows.at[i]);
}
