/* One walk over a text that sees every use of a name; all questions are sums over it. */
#include "trace/depends/uses.h"

bool pel_is_used(pel_uses uses) { return uses.reads || uses.binds; }

pel_nodes pel_nodes_from(pel_nodes body, uint32_t from) {
    return from < body.n ? (pel_nodes){ .at = body.at + from, .n = body.n - from } : (pel_nodes){ 0 };
}

pel_nodes pel_nodes_until(pel_nodes body, uint32_t end) { return (pel_nodes){ .at = body.at, .n = end }; }

pel_function_text pel_group_text(const pel_synth *s, const pel_group *group) {
    return (pel_function_text){ .s = s, .group = group };
}

pel_function_text pel_def_text(const pel_node *def) { return (pel_function_text){ .def = def }; }

void pel_each_part(const pel_synth *s, pel_node *node, pel_visit *visit, void *arg) {
    const pel_link *link = s && node->kind == PEL_Call ? pel_link_at(s, node) : NULL;
    if (!link) {
        pel_each_child(node, visit, arg);
        return;
    }
    visit(arg, &node->Call.func);
    for (uint32_t p = 0; p < link->target->n_params; p++)
        if (link->args[p] && !link->target->params[p].dead) visit(arg, &link->args[p]);
}

/* ---- every use ---- */

typedef struct watcher {
    const pel_synth *s;
    pel_see_use *see;
    void *arg;
    uint8_t within;
} watcher;

static void report(const watcher *w, pel_name_use use) {
    use.within = w->within;
    if (use.name) w->see(w->arg, &use);
}

static void report_names(const watcher *w, pel_name_list names, pel_node **slot) {
    for (uint32_t i = 0; i < names.n; i++)
        report(w, (pel_name_use){ .kind = PEL_USE_DECLARES, .name = names.at[i], .slot = slot });
}

static void report_name(const watcher *w, pel_node **slot, pel_node **part) {
    bool reads = (*slot)->Name.ctx == PEL_Load;
    report(w, (pel_name_use){ reads ? PEL_USE_READS : PEL_USE_BINDS, (*slot)->Name.id, slot, reads ? part : NULL, 0 });
}

/* The name that a node binds without a Name node; NULL: none. */
static pel_name bound_by(const pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef: return node->FunctionDef.name;
    case PEL_AsyncFunctionDef: return node->AsyncFunctionDef.name;
    case PEL_ClassDef: return node->ClassDef.name;
    case PEL_ExceptHandler: return node->ExceptHandler.name;
    case PEL_MatchAs: return node->MatchAs.name;
    case PEL_MatchStar: return node->MatchStar.name;
    case PEL_MatchMapping: return node->MatchMapping.rest;
    case PEL_alias: return node->alias.asname ? node->alias.asname : node->alias.name;
    default: return NULL;
    }
}

static uint8_t scope_of(const pel_node *node) {
    switch (node->kind) {
    case PEL_FunctionDef:
    case PEL_AsyncFunctionDef:
    case PEL_ClassDef:
    case PEL_Lambda: return PEL_WITHIN_FUNCTION;
    case PEL_GeneratorExp: return PEL_WITHIN_GENERATOR;
    case PEL_ListComp:
    case PEL_SetComp:
    case PEL_DictComp: return PEL_WITHIN_COMPREHENSION;
    default: return 0;
    }
}

/* The Name that name[...] or name.field is read of; NULL for other nodes. */
static pel_node **whole_of(pel_node *node) {
    pel_node **whole = node->kind == PEL_Attribute && node->Attribute.ctx == PEL_Load   ? &node->Attribute.value
                       : node->kind == PEL_Subscript && node->Subscript.ctx == PEL_Load ? &node->Subscript.value
                                                                                        : NULL;
    return whole && (*whole)->kind == PEL_Name ? whole : NULL;
}

static void watch(void *arg, pel_node **slot) {
    watcher *w = arg;
    pel_node *node = *slot, **whole = whole_of(node);
    if (whole) {
        report_name(w, whole, slot);
        bool stays = *slot == node;
        if (stays && node->kind == PEL_Subscript) watch(w, &node->Subscript.slice);
        return;
    }
    if (node->kind == PEL_Name) {
        report_name(w, slot, NULL);
        return;
    }
    if (node->kind == PEL_AugAssign && node->AugAssign.target->kind == PEL_Name)
        report(w, (pel_name_use){ .kind = PEL_USE_READS, .name = node->AugAssign.target->Name.id, .slot = slot });
    if (node->kind == PEL_Global) report_names(w, node->Global.names, slot);
    if (node->kind == PEL_Nonlocal) report_names(w, node->Nonlocal.names, slot);
    report(w, (pel_name_use){ .kind = PEL_USE_BINDS, .name = bound_by(node), .slot = slot });
    uint8_t around = w->within;
    w->within |= scope_of(node);
    pel_each_part(w->s, node, watch, w);
    w->within = around;
}

void pel_each_use(const pel_synth *s, pel_node **slot, pel_see_use *see, void *arg) {
    watcher w = { .s = s, .see = see, .arg = arg };
    watch(&w, slot);
}

void pel_each_use_in(const pel_synth *s, pel_nodes body, pel_see_use *see, void *arg) {
    for (uint32_t i = 0; i < body.n; i++) pel_each_use(s, &body.at[i], see, arg);
}

/* ---- the uses of one name ---- */

pel_param *pel_param_named(const pel_group *group, pel_name name) {
    for (uint32_t p = 0; p < group->n_params; p++)
        if (group->params[p].name == name && !group->params[p].dead) return &group->params[p];
    return NULL;
}

typedef struct counting {
    pel_name name;
    pel_uses found;
} counting;

static void count(void *arg, const pel_name_use *use) {
    counting *c = arg;
    if (use->name != c->name) return;
    bool declared = use->kind == PEL_USE_DECLARES;
    c->found.reads += use->kind == PEL_USE_READS;
    c->found.binds += use->kind == PEL_USE_BINDS;
    c->found.captured |= declared || (use->within & PEL_WITHIN_FUNCTION);
    c->found.scoped |= declared || use->within;
}

pel_uses pel_uses_in(const pel_synth *s, pel_nodes body, pel_name name) {
    counting c = { .name = name };
    pel_each_use_in(s, body, count, &c);
    return c.found;
}

pel_uses pel_uses_at(const pel_synth *s, const pel_node *node, pel_name name) {
    counting c = { .name = name };
    pel_node *root = (pel_node *)(uintptr_t)node;
    pel_each_use(s, &root, count, &c);
    return c.found;
}

/* ---- whole functions ---- */

static bool names_arg(pel_nodes args, pel_name name) {
    for (uint32_t i = 0; i < args.n; i++)
        if (args.at[i]->arg.arg == name) return true;
    return false;
}

bool pel_has_param(pel_function_text text, pel_name name) {
    if (text.group) return pel_param_named(text.group, name);
    const pel_node *a = text.def->FunctionDef.args;
    return names_arg(a->arguments.posonlyargs, name) || names_arg(a->arguments.args, name) ||
           names_arg(a->arguments.kwonlyargs, name) || (a->arguments.vararg && a->arguments.vararg->arg.arg == name) ||
           (a->arguments.kwarg && a->arguments.kwarg->arg.arg == name);
}

static pel_nodes body_of(pel_function_text text) { return text.group ? text.group->body : text.def->FunctionDef.body; }

pel_uses pel_uses_in_all(pel_function_text text, pel_name name) { return pel_uses_in(text.s, body_of(text), name); }

/* A parameter that is bound again before anything reads it: what it was called with does not matter. */
static bool is_overwritten(pel_function_text text, pel_name name) {
    const pel_nodes body = body_of(text);
    for (uint32_t i = 0; i < body.n; i++) {
        pel_uses uses = pel_uses_at(text.s, body.at[i], name);
        if (pel_is_used(uses)) return body.at[i]->kind == PEL_Assign && !uses.reads;
    }
    return false;
}

bool pel_is_bound_once(pel_function_text text, pel_name name) {
    pel_uses uses = pel_uses_in_all(text, name);
    return !uses.captured && uses.binds + (pel_has_param(text, name) && !is_overwritten(text, name)) == 1;
}

bool pel_is_own_name(pel_function_text text, pel_name name) {
    return pel_has_param(text, name) || pel_uses_in_all(text, name).binds;
}

/* ---- other names ---- */

typedef struct renamer {
    pel_ctx *ctx;
    pel_renaming renaming;
} renamer;

static void rename_use(void *arg, const pel_name_use *use) {
    const renamer *r = arg;
    if (use->name != r->renaming.from || (*use->slot)->kind != PEL_Name) return;
    if (use->kind == PEL_USE_READS || !r->renaming.reads_only)
        *use->slot = pel_make_name(r->ctx, r->renaming.to, (*use->slot)->Name.ctx);
}

void pel_rename(pel_ctx *ctx, const pel_synth *s, pel_nodes body, pel_renaming renaming) {
    renamer r = { ctx, renaming };
    pel_each_use_in(s, body, rename_use, &r);
}

typedef struct putting {
    pel_name name;
    pel_node *value;
} putting;

static void put(void *arg, const pel_name_use *use) {
    const putting *p = arg;
    if (use->name == p->name && use->kind == PEL_USE_READS && (*use->slot)->kind == PEL_Name) *use->slot = p->value;
}

void pel_put_value(const pel_synth *s, pel_node *node, pel_name name, pel_node *value) {
    putting p = { name, value };
    pel_each_use(s, &node, put, &p);
}
