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

/* Every instance in the tree, whether or not it is known yet which of them are written. */
static bool all_have(const copying *c, pel_name name) {
    uint32_t n = 0;
    for (pel_id m = 1; m < c->b->log->modules.n; m++) {
        const pel_log_module *row = pel_module_at(c->b->log, m);
        if (row->class != c->class->class) continue;
        if (!has_child(row, name)) return false;
        n++;
    }
    return n > 0;
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

/* def train(self, mode=True): assert not mode, "..."; return super().train(mode). Where eval() does something of its
 * own, too, both refuse. */
static pel_node *refusing_train(pel_ctx *ctx, pel_name class, bool plain_eval) {
    pel_str text = pel_format(ctx,
                              "def train(self, mode=True):\n    assert %s, \"%s.train() is not written\"\n"
                              "    return super().train(mode)\n",
                              plain_eval ? "not mode" : "False", class->text);
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

/* Who ran the model saw no difference between this train() and torch's; kind: "", or "eval " for eval mode alone. */
static bool is_plain(const pel_builder *b, pel_id class, const char *kind) {
    const pel_known *known = b->program->known;
    const pel_log_class *row = pel_class_at(b->log, class);
    pel_str name = pel_format(b->ctx, "%s%.*s.%.*s", kind, PEL_FMT(row->module), PEL_FMT(row->qualname));
    for (uint32_t i = 0; known && i < known->class_facts.n; i++)
        if (pel_str_eq(known->class_facts.at[i], name)) return true;
    return false;
}

/* def eval(self): return self.train(False), as torch's own is: nothing is lost without it. */
static bool is_torchs_eval(const pel_node *def) {
    if (def->FunctionDef.body.n != 1 || def->FunctionDef.args->arguments.args.n != 1) return false;
    const pel_node *only = def->FunctionDef.body.at[0];
    const pel_node *call = only->kind == PEL_Return ? only->Return.value : NULL;
    if (!call || call->kind != PEL_Call || call->Call.args.n != 1 || call->Call.keywords.n) return false;
    const pel_node *func = call->Call.func, *mode = call->Call.args.at[0];
    return func->kind == PEL_Attribute && pel_name_is(func->Attribute.attr, "train") &&
           func->Attribute.value->kind == PEL_Name &&
           func->Attribute.value->Name.id == def->FunctionDef.args->arguments.args.at[0]->arg.arg &&
           mode->kind == PEL_Constant && mode->Constant.value->kind == PEL_CONST_FALSE;
}

static const char *const mode_names[] = { "train", "eval" };

/* The class's own train() or eval(): NULL if it has none that matters. *found: it has one, written or not. */
static pel_node *mode_of(pel_builder *b, pel_program_class *class, const char *text, bool *found) {
    pel_name name = pel_intern_c(b->ctx, text);
    uint32_t n = 0;
    const pel_node *def = find_method(b, class->class, name, &n, 0);
    bool ran = false, is_train = pel_name_is(name, "train");
    for (uint32_t m = 0; m < class->methods.n; m++) ran |= class->methods.at[m]->name == name;
    *found = def && !ran && (is_train ? !is_plain(b, class->class, "") : n != 1 || !is_torchs_eval(def));
    if (!*found) return NULL;
    pel_node *made = n == 1 ? copy_method(b, class, def) : NULL;
    return !made && is_train ? refusing_train(b->ctx, class->name, is_plain(b, class->class, "eval ")) : made;
}

pel_nodes pel_modes_of(pel_builder *b, pel_program_class *class) {
    pel_nodes made = { 0 };
    for (size_t i = 0; i < PEL_COUNT(mode_names); i++) {
        bool found;
        pel_node *one = mode_of(b, class, mode_names[i], &found);
        if (one) pel_nodes_push(b->ctx, &made, one);
    }
    return made;
}

void pel_write_modes(pel_builder *b, pel_program_class *class) {
    for (size_t i = 0; i < PEL_COUNT(mode_names); i++) {
        bool found;
        pel_node *made = mode_of(b, class, mode_names[i], &found);
        if (found && !made)
            pel_throw(b->ctx, PEL_E_INCOMPLETE, 0, "%s.eval() is the author's own, and can't be written",
                      class->name->text);
        if (made) pel_nodes_push(b->ctx, &class->modes, made);
    }
}
