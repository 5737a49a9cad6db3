/* Classes and their bases: what is asked about them, and modules that hold modules. */
#include "trace/walk/call.h"

#define DEEPEST 20

static bool derives(const pel_log *log, pel_id class, const char *const *paths, size_t n, int depth) {
    const pel_log_class *row = pel_class_at(log, class);
    for (size_t i = 0; i < n; i++)
        if (pel_str_is(row->path, paths[i])) return true;
    for (uint32_t i = 0; i < row->n_bases && depth < DEEPEST; i++)
        if (derives(log, row->bases[i], paths, n, depth + 1)) return true;
    return false;
}

/* ---- kinds of tensors ---- */

/* Only torch's tracers make them: who asks for one asks who runs it, as torch.compiler.is_compiling() does. No caller
 * of the eager program gives one. */
static bool is_of_tracers(pel_str path) {
    return pel_str_starts(path, PEL_STR("torch._subclasses.")) || pel_str_starts(path, PEL_STR("torch.fx."));
}

/* A class that some tensors are of, and others not. */
static bool is_kind_of_tensor(const pel_log *log, pel_id asked, int depth) {
    static const char *const tensors[] = { "torch.Tensor", "torch._C.TensorBase" };
    const pel_value *value = pel_value_at(log, asked);
    bool found = false;
    if (value->kind == PEL_V_TUPLE && depth < DEEPEST)
        for (uint32_t i = 0; i < value->n; i++) found |= is_kind_of_tensor(log, value->items[i], depth + 1);
    if (value->kind == PEL_V_LIBRARY)
        return pel_str_starts(value->text, PEL_STR("torch.")) && !pel_str_is(value->text, tensors[0]) &&
               !is_of_tracers(value->text);
    if (value->kind != PEL_V_CLASS) return found;
    pel_str path = pel_class_at(log, value->class)->path;
    if (pel_str_is(path, tensors[0]) || is_of_tracers(path)) return false;
    return pel_str_starts(path, PEL_STR("torch.")) || derives(log, value->class, tensors, PEL_COUNT(tensors), 0);
}

bool pel_asks_kind_of_tensor(const pel_walk *w, pel_front front, const pel_call_site *c, pel_str path) {
    bool is_type = pel_str_is(path, "type");
    if (!c->n_args || (!is_type && (c->n_args < 2 || !pel_str_is(path, "isinstance")))) return false;
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *value = pel_value_at(w->log, c->args[0].val->at[i]);
        if (value->kind != PEL_V_TENSOR || w->log->tensors.at[value->tensor].owner) continue;
        if (is_type || is_kind_of_tensor(w->log, c->args[1].val->at[i], 0)) return true;
    }
    return false;
}

/* ---- classes that the output has not ---- */

static bool is_author_s(pel_class_kind kind) {
    return kind == PEL_CLASS_AUTHOR || kind == PEL_CLASS_DATACLASS || kind == PEL_CLASS_NAMEDTUPLE;
}

/* The names of a class of the author's, or of a tuple of such; false: it is something else, or other things too. */
static bool names_of(pel_walk *w, pel_id asked, int depth, pel_nodes *names) {
    const pel_value *value = pel_value_at(w->log, asked);
    if (value->kind == PEL_V_TUPLE && depth < DEEPEST) {
        for (uint32_t i = 0; i < value->n; i++)
            if (!names_of(w, value->items[i], depth + 1, names)) return false;
        return value->n > 0;
    }
    if (value->kind != PEL_V_CLASS || !is_author_s(pel_class_at(w->log, value->class)->kind)) return false;
    pel_nodes_push(w->ctx, names, pel_make_text(w->ctx, pel_str_of(pel_class_at(w->log, value->class)->name->text)));
    return true;
}

static bool asks_for_names(pel_walk *w, pel_front front, const pel_call_site *c, pel_nodes *names) {
    const pel_value *callee = pel_value_at(w->log, c->callee[0]);
    return callee->kind == PEL_V_LIBRARY && pel_str_is(callee->text, "isinstance") && c->n_args == 2 &&
           pel_all_same(w, front, c->args[1].val->at) && names_of(w, c->args[1].val->at[0], 0, names);
}

static pel_name author_s_class(const pel_log *log, pel_id asked, int depth) {
    const pel_value *value = pel_value_at(log, asked);
    pel_name found = NULL;
    if (value->kind == PEL_V_TUPLE && depth < DEEPEST)
        for (uint32_t i = 0; i < value->n && !found; i++) found = author_s_class(log, value->items[i], depth + 1);
    if (value->kind == PEL_V_CLASS && is_author_s(pel_class_at(log, value->class)->kind))
        found = pel_class_at(log, value->class)->name;
    return found;
}

void pel_refuse_author_s_class(pel_walk *w, pel_front front, const pel_call_site *c, pel_str path) {
    pel_nodes names = { 0 };
    if (c->n_args != 2 || (!pel_str_is(path, "isinstance") && !pel_str_is(path, "issubclass"))) return;
    if (asks_for_names(w, front, c, &names)) return;
    for (uint32_t i = 0; i < front.n; i++) {
        pel_name name = author_s_class(w->log, c->args[1].val->at[i], 0);
        if (name)
            pel_lost(
                w, c->node,
                "whether something that callers give or data choose is a `%s` is asked, and no object of theirs is of "
                "the skeleton's own class `%s`",
                name->text, name->text);
    }
}

/* The classes of objects for which the answer was yes: of those the file may have one of its own, without the bases. */
static void add_classes_of(pel_walk *w, pel_front front, const pel_call_site *c, pel_nodes *names) {
    for (uint32_t i = 0; i < front.n; i++) {
        const pel_value *given = pel_value_at(w->log, c->args[0].val->at[i]);
        const pel_value *answer = pel_value_at(w->log, c->val->at[i]);
        bool is_so = answer->kind == PEL_V_CONST && answer->constant->kind == PEL_CONST_TRUE;
        if (given->kind != PEL_V_OBJECT || !is_so) continue;
        pel_str name = pel_str_of(pel_class_at(w->log, given->class)->name->text);
        bool known = false;
        for (uint32_t k = 0; k < names->n; k++) known |= pel_str_eq(names->at[k]->Constant.value->text, name);
        if (!known) pel_nodes_push(w->ctx, names, pel_make_text(w->ctx, name));
    }
}

/* any(kind.__name__ == "Box" for kind in type(given).__mro__); in (...) for several */
void pel_ask_class_by_name(pel_walk *w, pel_front front, pel_call_site *c) {
    pel_nodes names = { 0 };
    if (!pel_varies(c->val->taint) || !asks_for_names(w, front, c, &names)) return;
    add_classes_of(w, front, c, &names);
    pel_ctx *ctx = w->ctx;
    pel_name kind = pel_intern_c(ctx, "kind");
    pel_node *clause = pel_node_new(ctx, PEL_comprehension), *each = pel_node_new(ctx, PEL_GeneratorExp);
    pel_node *type = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "type"), PEL_Load),
                                   pel_nodes_one(ctx, c->args[0].val->text), (pel_nodes){ 0 });
    clause->comprehension.target = pel_make_name(ctx, kind, PEL_Store);
    clause->comprehension.iter = pel_make_attribute(ctx, type, pel_intern_c(ctx, "__mro__"), PEL_Load);
    pel_node *name =
        pel_make_attribute(ctx, pel_make_name(ctx, kind, PEL_Load), pel_intern_c(ctx, "__name__"), PEL_Load);
    pel_node *all = pel_node_new(ctx, PEL_Tuple);
    all->Tuple.elts = names;
    each->GeneratorExp.elt =
        names.n == 1 ? pel_make_compare(ctx, name, PEL_Eq, names.at[0]) : pel_make_compare(ctx, name, PEL_In, all);
    each->GeneratorExp.generators = pel_nodes_one(ctx, clause);
    c->val->text = pel_make_call(ctx, pel_make_name(ctx, pel_intern_c(ctx, "any"), PEL_Load), pel_nodes_one(ctx, each),
                                 (pel_nodes){ 0 });
    c->val->lost = c->args[0].val->lost;
}

/* ---- modules that hold modules ---- */

bool pel_is_holder_of_modules(const pel_log *log, pel_id id) {
    static const char *const holders[] = { "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential",
                                           "torch.nn.ParameterList", "torch.nn.ParameterDict" };
    const pel_value *value = pel_value_at(log, id);
    if (value->kind != PEL_V_MODULE) return false;
    return derives(log, pel_module_at(log, value->module)->class, holders, PEL_COUNT(holders), 0);
}

/* What says nothing of which modules there are. */
static bool leaves_modules(pel_name name) {
    static const char *const names[] = { "forward",    "__call__",       "train",         "eval",
                                         "to",         "float",          "double",        "half",
                                         "type",       "bfloat16",       "cuda",          "cpu",
                                         "zero_grad",  "requires_grad_", "get_submodule", "get_parameter",
                                         "get_buffer", "apply",          "_call_impl",    "_wrapped_call_impl" };
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_name_is(name, names[i])) return true;
    return pel_method_pure(PEL_V_MODULE, name);
}

void pel_refuse_changed_holder(pel_walk *w, pel_front front, const pel_call_site *c) {
    if (!c->base || c->kids.n || c->node->Call.func->kind != PEL_Attribute) return;
    pel_name name = c->node->Call.func->Attribute.attr;
    bool adds = pel_name_is(name, "add_module") || pel_name_is(name, "register_module");
    for (uint32_t i = 0; i < front.n; i++) {
        /* self.mlp.up(x): a module that the holder has is called, no method of the holder */
        bool is_method = pel_value_at(w->log, c->callee[i])->kind != PEL_V_MODULE;
        bool is_module = pel_value_at(w->log, c->base->at[i])->kind == PEL_V_MODULE;
        if (is_module && is_method &&
            (adds || (pel_is_holder_of_modules(w->log, c->base->at[i]) && !leaves_modules(name))))
            pel_lost(w, c->node, "`%s` changes which modules there are while the model runs", name->text);
    }
}

void pel_refuse_item_of_modules(pel_walk *w, pel_front front, const pel_node *at, const pel_id *holders) {
    for (uint32_t i = 0; i < front.n; i++)
        if (pel_is_holder_of_modules(w->log, holders[i]))
            pel_lost(w, at, "an item of modules is stored or deleted while the model runs");
}
