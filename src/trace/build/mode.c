/* train() and eval(), where the author's class has its own: frozen batch norms, backbones that stay in eval mode.
 * Nobody calls them in a recorded run, so they are written from their text if it names nothing but what the output has
 * too. A train() that can't be written says so when somebody wants train mode. */
#include "python/parse.h"
#include "trace/build/init.h"

enum { DEEPEST = 16 };

typedef struct copying {
    pel_builder *b;
    const pel_program_class *class;
    pel_map own; /* names that the function binds */
    bool fits;
} copying;

static bool among(pel_name name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pel_name_is(name, names[i])) return true;
    return false;
}

/* What every module has. */
static bool is_of_modules(pel_name name) {
    static const char *const names[] = {
        "modules",          "children", "named_modules", "named_children", "training", "parameters",
        "named_parameters", "buffers",  "apply",         "train",          "eval",     "requires_grad_"
    };
    return among(name, names, PEL_COUNT(names));
}

static bool has_child(const pel_log_module *module, pel_name name) {
    for (uint32_t i = 0; i < module->child_names.n; i++)
        if (module->child_names.at[i] == name) return module->children[i] != 0;
    return false;
}

static bool all_have(const copying *c, pel_name name) {
    for (uint32_t i = 0; i < c->class->instances.n; i++)
        if (!has_child(pel_module_at(c->b->log, c->class->instances.at[i]), name)) return false;
    return c->class->instances.n > 0;
}

static void note_bound(void *arg, pel_node **slot) {
    copying *c = arg;
    if ((*slot)->kind == PEL_Name && (*slot)->Name.ctx != PEL_Load)
        pel_map_set(c->b->ctx, &c->own, PEL_KEY((*slot)->Name.id), 1);
    pel_each_child(*slot, note_bound, arg);
}

static void check_names(void *arg, pel_node **slot) {
    static const char *const known[] = { "self",  "super", "isinstance", "getattr", "hasattr", "nn",       "torch",
                                         "range", "len",   "list",       "tuple",   "zip",     "enumerate" };
    copying *c = arg;
    const pel_node *node = *slot;
    switch (node->kind) {
    case PEL_Name:
        c->fits &= among(node->Name.id, known, PEL_COUNT(known)) || pel_map_has(&c->own, PEL_KEY(node->Name.id));
        break;
    case PEL_Attribute: {
        bool of_self = node->Attribute.value->kind == PEL_Name && pel_name_is(node->Attribute.value->Name.id, "self");
        if (of_self) c->fits &= is_of_modules(node->Attribute.attr) || all_have(c, node->Attribute.attr);
        break;
    }
    case PEL_FunctionDef:
    case PEL_ClassDef:
    case PEL_Lambda:
    case PEL_Import:
    case PEL_ImportFrom:
    case PEL_Global: c->fits = false; break;
    default: break;
    }
    pel_each_child(*slot, check_names, arg);
}

/* The text of a method, without annotations and what it says of itself; NULL: it names what the output has not. */
static pel_node *copy_method(pel_builder *b, const pel_program_class *class, const pel_node *def) {
    pel_ctx *ctx = b->ctx;
    pel_node *made = pel_copy(ctx, def);
    const pel_node *args = made->FunctionDef.args;
    if (made->FunctionDef.decorator_list.n || args->arguments.vararg || args->arguments.kwarg) return NULL;
    made->FunctionDef.returns = NULL;
    copying c = { .b = b, .class = class, .fits = true };
    for (uint32_t i = 0; i < args->arguments.args.n; i++) {
        args->arguments.args.at[i]->arg.annotation = NULL;
        pel_map_set(ctx, &c.own, PEL_KEY(args->arguments.args.at[i]->arg.arg), 1);
    }
    pel_nodes *body = &made->FunctionDef.body;
    bool has_words = body->n > 1 && body->at[0]->kind == PEL_Expr && body->at[0]->Expr.value->kind == PEL_Constant;
    if (has_words) *body = (pel_nodes){ body->at + 1, body->n - 1 };
    for (uint32_t i = 0; i < body->n; i++) note_bound(&c, &body->at[i]);
    for (uint32_t i = 0; i < body->n; i++) check_names(&c, &body->at[i]);
    return c.fits ? made : NULL;
}

/* def train(self, mode=True): assert not mode, "..."; return super().train(mode) */
static pel_node *refusing_train(pel_ctx *ctx, pel_name class) {
    pel_str text = pel_format(ctx,
                              "def train(self, mode=True):\n    assert not mode, \"%s.train() is not written\"\n"
                              "    return super().train(mode)\n",
                              class->text);
    pel_source source = { PEL_STR("train"), text };
    return pel_parse(ctx, &source, PEL_VERSION_MAX)->Module.body.at[0];
}

/* The author's method of a class or of those above it; n: how many of these have one. */
static const pel_node *find_method(const pel_builder *b, pel_id class, pel_name name, uint32_t *n, int depth) {
    const pel_log_class *row = pel_class_at(b->log, class);
    if (row->kind != PEL_CLASS_MODULE || depth > DEEPEST) return NULL;
    const pel_node *def = pel_author_class(b->program, class);
    const pel_node *found = NULL;
    for (uint32_t i = 0; def && i < def->ClassDef.body.n; i++) {
        const pel_node *one = def->ClassDef.body.at[i];
        if (one->kind == PEL_FunctionDef && one->FunctionDef.name == name) found = one;
    }
    *n += found != NULL;
    for (uint32_t i = 0; i < row->n_bases; i++) {
        const pel_node *above = find_method(b, row->bases[i], name, n, depth + 1);
        if (!found) found = above;
    }
    return found;
}

/* Whoever ran the model saw no difference between this train() and torch's. */
static bool is_plain(const pel_builder *b, pel_id class) {
    const pel_known *known = b->program->known;
    const pel_log_class *row = pel_class_at(b->log, class);
    pel_str name = pel_format(b->ctx, "%.*s.%.*s", PEL_FMT(row->module), PEL_FMT(row->qualname));
    for (uint32_t i = 0; known && i < known->plain_train.n; i++)
        if (pel_str_eq(known->plain_train.at[i], name)) return true;
    return false;
}

void pel_write_modes(pel_builder *b, pel_program_class *class) {
    static const char *const names[] = { "train", "eval" };
    for (size_t i = 0; i < PEL_COUNT(names); i++) {
        pel_name name = pel_intern_c(b->ctx, names[i]);
        uint32_t n = 0;
        const pel_node *def = find_method(b, class->class, name, &n, 0);
        bool ran = false;
        for (uint32_t m = 0; m < class->methods.n; m++) ran |= class->methods.at[m]->name == name;
        if (!def || ran) continue;
        pel_node *made = n == 1 ? copy_method(b, class, def) : NULL;
        if (i == 0 && is_plain(b, class->class)) continue;
        if (!made && i == 0) made = refusing_train(b->ctx, class->name);
        if (!made)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%s.eval() is the author's own, and can't be written",
                      class->name->text);
        pel_nodes_push(b->ctx, &class->modes, made);
    }
}
