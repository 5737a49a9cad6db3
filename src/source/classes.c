/* Modules that are alike become one class; numbers in which they differ are arguments of its constructor. */
#include "source/source.h"

#define MOST_MEMBERS 10000

typedef PEL_VEC(pel_node **) slots; /* where numbers hang */

typedef struct made_class {
    pel_str base;    /* the author's name for it */
    pel_node *shape; /* the class of the first, with holes for numbers */
    PEL_VEC(pel_part *) parts;
    PEL_VEC(pel_node *) texts; /* the class of each part, with its numbers */
    PEL_VEC(slots) numbers;
    PEL_VEC(pel_name) arguments;
    pel_name name;
} made_class;

typedef struct maker {
    pel_recovery *r;
    pel_ctx *ctx;
    PEL_VEC(made_class *) classes;
    pel_map taken;   /* names of classes */
    pel_map by_name; /* … -> made_class */
    pel_map read;    /* names of attributes that a method reads */
} maker;

/* ---- lists ---- */

static int64_t index_of(pel_str name) {
    int64_t value = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || name.len > 6) return -1;
        value = value * 10 + (name.ptr[i] - '0');
    }
    return name.len ? value : -1;
}

static bool has_index_children(const pel_part *part, bool all) {
    bool any = false, other = false;
    for (uint32_t i = 0; i < part->children.n; i++)
        (index_of(part->children.at[i]->name) >= 0 ? (any = true) : (other = true));
    return all ? !other : any;
}

static pel_node *identity(pel_ctx *ctx) {
    return pel_make_call(ctx, pel_dotted(ctx, "nn.Identity"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
}

/* The members in order; what the file says nothing of did nothing. Three equal ones in a row are a comprehension. */
static pel_nodes members(maker *m, const pel_part *part) {
    pel_ctx *ctx = m->ctx;
    pel_nodes all = { 0 }, out = { 0 };
    for (uint32_t i = 0; i < part->children.n; i++) {
        int64_t index = index_of(part->children.at[i]->name);
        if (index < 0) continue;
        if (index > MOST_MEMBERS)
            pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "source from a file: a list with member %lld", (long long)index);
        while (all.n <= index) pel_nodes_push(ctx, &all, NULL);
        all.at[index] = part->children.at[i]->made;
    }
    for (uint32_t i = 0, n; i < all.n; i += n) {
        pel_node *member = all.at[i] ? all.at[i] : identity(ctx);
        for (n = 1; i + n < all.n && all.at[i] && all.at[i + n] && pel_same(all.at[i], all.at[i + n]);) n++;
        if (n < 3) n = 1;
        if (n > 1) {
            pel_node *each = pel_node_new(ctx, PEL_comprehension), *row = pel_node_new(ctx, PEL_GeneratorExp);
            each->comprehension.target = pel_make_name(ctx, pel_intern_c(ctx, "_"), PEL_Store);
            each->comprehension.iter = pel_make_call(ctx, pel_name_node(ctx, "range"),
                                                     pel_nodes_one(ctx, pel_make_int(ctx, n)), (pel_nodes){ 0 });
            row->GeneratorExp.elt = member;
            row->GeneratorExp.generators = pel_nodes_one(ctx, each);
            member = pel_make_starred(ctx, row);
        }
        pel_nodes_push(ctx, &out, member);
    }
    return out;
}

/* What nn.ModuleList and the like take: [a, b], or the comprehension alone. */
static pel_nodes list_argument(pel_ctx *ctx, pel_nodes all) {
    if (!all.n) return (pel_nodes){ 0 };
    if (all.n == 1 && all.at[0]->kind == PEL_Starred) return pel_nodes_one(ctx, all.at[0]->Starred.value);
    pel_node *list = pel_node_new(ctx, PEL_List);
    list->List.elts = all;
    return pel_nodes_one(ctx, list);
}

/* Whether a module only calls its members one after the other: what nn.Sequential does. */
static bool is_chain(const pel_part *part) {
    const pel_node *method = part->methods.n == 1 ? part->methods.at[0] : NULL;
    if (!method || method->mark != PEL_FROM_GRAPH || part->held.n || !part->children.n ||
        !has_index_children(part, true))
        return false;
    const pel_nodes *body = &method->FunctionDef.body, *args = &method->FunctionDef.args->arguments.args;
    pel_name value = args->n == 2 ? args->at[1]->arg.arg : NULL;
    int64_t last = -1;
    uint32_t n_called = 0;
    for (uint32_t i = 0; value && i < body->n; i++) {
        const pel_node *line = body->at[i];
        if (line->kind == PEL_Return)
            return i + 1 == body->n && line->Return.value && line->Return.value->kind == PEL_Name &&
                   line->Return.value->Name.id == value && n_called == part->children.n;
        pel_name target = pel_bound_name(line);
        const pel_node *call = target ? line->Assign.value : NULL;
        if (!call || call->kind != PEL_Call || call->Call.args.n != 1 || call->Call.keywords.n ||
            call->Call.func->kind != PEL_Subscript || call->Call.func->Subscript.value->kind != PEL_Name ||
            !pel_name_is(call->Call.func->Subscript.value->Name.id, "self") ||
            call->Call.args.at[0]->kind != PEL_Name || call->Call.args.at[0]->Name.id != value)
            return false;
        int64_t index = call->Call.func->Subscript.slice->Constant.value->integer.small;
        if (index <= last) return false;
        last = index;
        value = target;
        n_called++;
    }
    return false;
}

/* ---- the text of one module's class ---- */

static pel_node *empty_tensor(pel_ctx *ctx, const pel_model_tensor *tensor) {
    pel_nodes sizes = { 0 }, keywords = { 0 };
    for (uint32_t i = 0; i < tensor->shape.n; i++)
        pel_nodes_push(ctx, &sizes, pel_make_int(ctx, tensor->shape.dims[i].size));
    if (!sizes.n) pel_nodes_push(ctx, &sizes, pel_node_new(ctx, PEL_Tuple));
    if (!pel_str_is(tensor->dtype, "float32"))
        pel_nodes_push(
            ctx, &keywords,
            pel_make_keyword(ctx, pel_intern_c(ctx, "dtype"),
                             pel_dotted(ctx, pel_format(ctx, "torch.%.*s%c", PEL_FMT(tensor->dtype), 0).ptr)));
    return pel_make_call(ctx, pel_dotted(ctx, "torch.empty"), sizes, keywords);
}

static pel_node *set_self(pel_ctx *ctx, pel_name name, pel_node *value) {
    return pel_make_assign(ctx, pel_make_attribute(ctx, pel_name_node(ctx, "self"), name, PEL_Store), value);
}

/* self.register_buffer("mask", ...), for what no assignment can make. */
static pel_node *registered(pel_ctx *ctx, const char *how, pel_str name, pel_node *value) {
    pel_nodes args = { 0 };
    pel_nodes_push(ctx, &args, pel_make_text(ctx, name));
    pel_nodes_push(ctx, &args, value);
    pel_node *function = pel_make_attribute(ctx, pel_name_node(ctx, "self"), pel_intern_c(ctx, how), PEL_Load);
    return pel_make_expr(ctx, pel_make_call(ctx, function, args, (pel_nodes){ 0 }));
}

static pel_node *held_line(pel_ctx *ctx, const pel_held *held) {
    const pel_model_tensor *tensor = held->tensor;
    if (!tensor->shape.is_known || !tensor->dtype.len)
        pel_throw(ctx, PEL_E_UNSUPPORTED, 0, "source from a file: shape or dtype of %s is not known", held->name->text);
    pel_node *value = empty_tensor(ctx, tensor);
    if (tensor->role != PEL_PARAMETER) return registered(ctx, "register_buffer", pel_name_str(held->name), value);
    pel_nodes keywords = { 0 };
    if (tensor->frozen)
        pel_nodes_push(ctx, &keywords,
                       pel_make_keyword(ctx, pel_intern_c(ctx, "requires_grad"), pel_make_constant(ctx, &pel_false)));
    value = pel_make_call(ctx, pel_dotted(ctx, "nn.Parameter"), pel_nodes_one(ctx, value), keywords);
    if (!pel_is_identifier(pel_name_str(held->name)))
        return registered(ctx, "register_parameter", pel_name_str(held->name), value);
    return set_self(ctx, held->name, value);
}

/* What the file says of one module: its tensors, its members, its methods; every number still its own. */
static pel_node *class_text(maker *m, const pel_part *part) {
    pel_ctx *ctx = m->ctx;
    bool is_list = has_index_children(part, false);
    pel_str base = part->base.len ? part->base : pel_str_of(is_list ? "nn.ModuleList" : "nn.Module");
    bool is_row = pel_str_is(base, "nn.Sequential");
    pel_node *class = pel_node_new(ctx, PEL_ClassDef), *init = pel_node_new(ctx, PEL_FunctionDef);
    pel_node *super = pel_make_call(ctx, pel_name_node(ctx, "super"), (pel_nodes){ 0 }, (pel_nodes){ 0 });
    pel_node *self = pel_node_new(ctx, PEL_arg);
    self->arg.arg = pel_intern_c(ctx, "self");
    class->ClassDef.name = pel_intern_c(ctx, "Class");
    class->ClassDef.bases = pel_nodes_one(ctx, pel_dotted(ctx, base.ptr));
    init->FunctionDef.name = pel_intern_c(ctx, "__init__");
    init->FunctionDef.args = pel_node_new(ctx, PEL_arguments);
    pel_nodes_push(ctx, &init->FunctionDef.args->arguments.args, self);
    pel_nodes *body = &init->FunctionDef.body;
    pel_nodes_push(
        ctx, body,
        pel_make_expr(ctx, pel_make_call(ctx, pel_make_attribute(ctx, super, pel_intern_c(ctx, "__init__"), PEL_Load),
                                         !is_list ? (pel_nodes){ 0 }
                                         : is_row ? members(m, part)
                                                  : list_argument(ctx, members(m, part)),
                                         (pel_nodes){ 0 })));
    for (uint32_t i = 0; i < part->held.n; i++) pel_nodes_push(ctx, body, held_line(ctx, &part->held.at[i]));
    for (uint32_t i = 0; i < part->attributes.n; i++)
        if (pel_map_has(&m->read, PEL_KEY(part->attributes.at[i].name)))
            pel_nodes_push(ctx, body, set_self(ctx, part->attributes.at[i].name, part->attributes.at[i].value));
    for (uint32_t i = 0; i < part->children.n; i++) {
        const pel_part *child = part->children.at[i];
        if (index_of(child->name) >= 0) continue;
        pel_nodes_push(ctx, body,
                       pel_is_identifier(child->name) ? set_self(ctx, pel_intern_str(ctx, child->name), child->made)
                                                      : registered(ctx, "add_module", child->name, child->made));
    }
    pel_nodes_push(ctx, &class->ClassDef.body, init);
    for (uint32_t i = 0; i < part->methods.n; i++) pel_nodes_push(ctx, &class->ClassDef.body, part->methods.at[i]);
    return class;
}

/* ---- merging ---- */

typedef struct finder {
    maker *m;
    slots *found;
    bool makes_holes;
} finder;

static void find_numbers(void *arg, pel_node **slot) {
    finder *f = arg;
    pel_node *node = *slot;
    bool is_number = node->kind == PEL_Constant &&
                     (node->Constant.value->kind == PEL_CONST_INT || node->Constant.value->kind == PEL_CONST_FLOAT);
    if (is_number && f->makes_holes)
        *slot = pel_name_node(f->m->ctx, node->Constant.value->kind == PEL_CONST_INT ? "?" : "?.");
    if (is_number && !f->makes_holes) pel_push(f->m->ctx, f->found, slot);
    if (!is_number) pel_each_child(node, find_numbers, f);
}

static void join(maker *m, pel_part *part) {
    pel_node *text = pel_copy(m->ctx, class_text(m, part)), *shape = pel_copy(m->ctx, text);
    finder holes = { .m = m, .makes_holes = true };
    find_numbers(&holes, &shape);
    pel_str base = part->class.len && pel_is_identifier(part->class) ? part->class : (pel_str) { "", 0 };
    made_class *class = NULL;
    for (uint32_t i = 0; i < m->classes.n && !class; i++)
        if (!m->classes.at[i]->name && pel_str_eq(m->classes.at[i]->base, base) &&
            pel_same(m->classes.at[i]->shape, shape))
            class = m->classes.at[i];
    if (!class) {
        class = pel_new(m->ctx, made_class);
        class->base = base;
        class->shape = shape;
        pel_push(m->ctx, &m->classes, class);
    }
    slots numbers = { 0 };
    finder f = { .m = m, .found = &numbers };
    find_numbers(&f, &text);
    pel_push(m->ctx, &class->parts, part);
    pel_push(m->ctx, &class->texts, text);
    pel_push(m->ctx, &class->numbers, numbers);
}

static bool same_column(const made_class *class, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < class->parts.n; i++)
        if (!pel_same(*class->numbers.at[i].at[a], *class->numbers.at[i].at[b])) return false;
    return true;
}

static bool is_constant(const made_class *class, uint32_t column) {
    for (uint32_t i = 1; i < class->parts.n; i++)
        if (!pel_same(*class->numbers.at[i].at[column], *class->numbers.at[0].at[column])) return false;
    return true;
}

typedef struct hint {
    maker *m;
    pel_node **slot;
    pel_str name;
} hint;

/* What the number at a slot is called where it is an argument of a constructor. */
static void find_hint(void *arg, pel_node **slot) {
    hint *h = arg;
    pel_node *node = *slot;
    for (uint32_t i = 0; node->kind == PEL_Call && i < node->Call.args.n; i++) {
        if (&node->Call.args.at[i] != h->slot) continue;
        const made_class *class = node->Call.func->kind == PEL_Name
                                      ? pel_map_pointer(&h->m->by_name, PEL_KEY(node->Call.func->Name.id))
                                      : NULL;
        bool is_range = node->Call.func->kind == PEL_Name && pel_name_is(node->Call.func->Name.id, "range");
        h->name = class && i < class->arguments.n ? pel_name_str(class->arguments.at[i])
                  : is_range                      ? PEL_STR("depth")
                                                  : pel_module_argument(node, i);
    }
    if (node->kind == PEL_keyword && &node->keyword.value == h->slot && node->keyword.arg)
        h->name = pel_name_str(node->keyword.arg);
    pel_each_child(node, find_hint, h);
}

static pel_name argument_name(maker *m, made_class *class, pel_node **slot) {
    hint h = { m, slot, PEL_STR("size") };
    find_hint(&h, &class->texts.at[0]);
    pel_name name = pel_intern_str(m->ctx, h.name);
    for (unsigned i = 2, known = 1; known; i++) {
        known = 0;
        for (uint32_t k = 0; k < class->arguments.n; k++) known |= class->arguments.at[k] == name;
        for (uint32_t k = 0; k < class->parts.at[0]->children.n; k++)
            known |= pel_str_eq(class->parts.at[0]->children.at[k]->name, pel_name_str(name));
        for (uint32_t k = 0; k < class->parts.at[0]->held.n; k++) known |= class->parts.at[0]->held.at[k].name == name;
        if (known) name = pel_intern_str(m->ctx, pel_format(m->ctx, "%.*s_%u", PEL_FMT(h.name), i));
    }
    return name;
}

/* A copied tree's lists have no room: what is added goes to lists of their own. */
static pel_nodes with_room(pel_ctx *ctx, pel_nodes list) {
    pel_nodes out = { 0 };
    for (uint32_t i = 0; i < list.n; i++) pel_nodes_push(ctx, &out, list.at[i]);
    return out;
}

/* Numbers that differ: parameters of __init__; attributes, where a method reads them. */
static void write_arguments(maker *m, made_class *class) {
    pel_ctx *ctx = m->ctx;
    pel_node *text = class->texts.at[0], *init = text->ClassDef.body.at[0];
    slots *first = &class->numbers.at[0];
    slots in_init = { 0 };
    finder f = { .m = m, .found = &in_init };
    find_numbers(&f, &text->ClassDef.body.at[0]);
    PEL_VEC(uint32_t) columns = { 0 };
    PEL_VEC(pel_name) names = { 0 };
    pel_nodes kept = { 0 };
    pel_node **values = pel_new_array(ctx, (uint64_t)first->n * class->parts.n + 1, pel_node *);
    for (uint32_t i = 0; i < first->n; i++)
        for (uint32_t k = 0; k < class->parts.n; k++) values[i * class->parts.n + k] = *class->numbers.at[k].at[i];
    for (uint32_t i = 0; i < first->n; i++) {
        pel_name name = NULL;
        if (!is_constant(class, i)) {
            for (uint32_t k = 0; k < columns.n && !name; k++)
                if (same_column(class, i, columns.at[k])) name = class->arguments.at[k];
            if (!name) {
                name = argument_name(m, class, first->at[i]);
                pel_push(ctx, &columns, i);
                pel_push(ctx, &class->arguments, name);
            }
        }
        pel_push(ctx, &names, name);
    }
    for (uint32_t i = 0; i < first->n; i++) {
        if (!names.at[i]) continue;
        bool is_method = i >= in_init.n;
        *first->at[i] = is_method ? pel_make_attribute(ctx, pel_name_node(ctx, "self"), names.at[i], PEL_Load)
                                  : pel_make_name(ctx, names.at[i], PEL_Load);
        bool is_kept = false;
        for (uint32_t k = 0; k < kept.n; k++) is_kept |= pel_last_name(kept.at[k]->Assign.targets.at[0]) == names.at[i];
        if (is_method && !is_kept)
            pel_nodes_push(ctx, &kept, set_self(ctx, names.at[i], pel_make_name(ctx, names.at[i], PEL_Load)));
    }
    init->FunctionDef.body = with_room(ctx, init->FunctionDef.body);
    init->FunctionDef.args->arguments.args = with_room(ctx, init->FunctionDef.args->arguments.args);
    for (uint32_t i = 0; i < kept.n; i++) pel_nodes_push(ctx, &init->FunctionDef.body, kept.at[i]);
    for (uint32_t i = 0; i < class->arguments.n; i++) {
        pel_node *arg = pel_node_new(ctx, PEL_arg);
        arg->arg.arg = class->arguments.at[i];
        pel_nodes_push(ctx, &init->FunctionDef.args->arguments.args, arg);
    }
    for (uint32_t k = 0; k < class->parts.n; k++) {
        pel_nodes args = { 0 };
        for (uint32_t i = 0; i < columns.n; i++) pel_nodes_push(ctx, &args, values[columns.at[i] * class->parts.n + k]);
        class->parts.at[k]->made =
            pel_make_call(ctx, pel_make_name(ctx, class->name, PEL_Load), args, (pel_nodes){ 0 });
    }
}

static pel_name class_name(maker *m, const made_class *class) {
    pel_ctx *ctx = m->ctx;
    pel_str base = class->base;
    const pel_part *part = class->parts.at[0];
    while (part->parent && index_of(part->name) >= 0) part = part->parent; /* a member is called after its list */
    pel_str attr = part->path.len ? part->name : PEL_STR("model");
    bool is_plural =
        part != class->parts.at[0] && attr.len > 2 && attr.ptr[attr.len - 1] == 's' && attr.ptr[attr.len - 2] != 's';
    attr.len -= is_plural;
    if (!base.len && pel_is_identifier(attr)) {
        char *text = pel_alloc_raw(ctx, attr.len + 1);
        size_t n = 0;
        for (size_t i = 0; i < attr.len; i++) {
            if (attr.ptr[i] == '_') continue;
            bool starts = !i || attr.ptr[i - 1] == '_';
            text[n++] = starts && attr.ptr[i] >= 'a' && attr.ptr[i] <= 'z' ? (char)(attr.ptr[i] - 32) : attr.ptr[i];
        }
        base = (pel_str){ text, n };
    }
    if (!base.len || !pel_is_identifier(base)) base = PEL_STR("Part");
    pel_name name = pel_intern_str(ctx, base);
    for (unsigned i = 2; !pel_map_set(ctx, &m->taken, PEL_KEY(name), 1); i++)
        name = pel_intern_str(ctx, pel_format(ctx, "%.*s_%u", PEL_FMT(base), i));
    return name;
}

static void finish(maker *m, made_class *class) {
    class->name = class_name(m, class);
    pel_map_set(m->ctx, &m->by_name, PEL_KEY(class->name), PEL_KEY(class));
    write_arguments(m, class);
    class->texts.at[0]->ClassDef.name = class->name;
    pel_nodes_push(m->ctx, &m->r->classes, class->texts.at[0]);
}

static void find_read(void *arg, pel_node **slot) {
    maker *m = arg;
    if ((*slot)->kind == PEL_Attribute) pel_map_set(m->ctx, &m->read, PEL_KEY((*slot)->Attribute.attr), 1);
    pel_each_child(*slot, find_read, m);
}

/* nn.Sequential(a, b), nn.Sequential(OrderedDict([("conv", a)])), nn.ModuleDict({"a": a}). */
static pel_node *container(maker *m, const pel_part *part) {
    pel_ctx *ctx = m->ctx;
    bool is_dict = strcmp(part->container, "nn.ModuleDict") == 0;
    pel_nodes args = { 0 };
    if (!is_dict && has_index_children(part, true)) {
        args = members(m, part);
    } else if (part->children.n) {
        pel_node *dict = pel_node_new(ctx, PEL_Dict);
        for (uint32_t i = 0; i < part->children.n; i++) {
            pel_nodes_push(ctx, &dict->Dict.keys, pel_make_text(ctx, part->children.at[i]->name));
            pel_nodes_push(ctx, &dict->Dict.values, part->children.at[i]->made);
        }
        if (!is_dict) pel_map_set(ctx, &m->r->imports, PEL_KEY(pel_intern_c(ctx, "OrderedDict")), 1);
        args = pel_nodes_one(ctx, is_dict ? dict
                                          : pel_make_call(ctx, pel_name_node(ctx, "OrderedDict"),
                                                          pel_nodes_one(ctx, dict), (pel_nodes){ 0 }));
    }
    return pel_make_call(ctx, pel_dotted(ctx, part->container), args, (pel_nodes){ 0 });
}

/* Inner modules first: how one is made must be known before the class of its owner is. */
void pel_recover_classes(pel_recovery *r) {
    static const char *const reserved[] = { "torch", "nn", "F" };
    maker m = { .r = r, .ctx = r->ctx };
    int highest = 0;
    for (uint32_t i = 0; i < r->parts.n; i++)
        for (uint32_t k = 0; k < r->parts.at[i]->methods.n; k++) find_read(&m, &r->parts.at[i]->methods.at[k]);
    for (uint32_t i = 0; i < r->functions.n; i++) {
        find_read(&m, &r->functions.at[i]);
        pel_map_set(r->ctx, &m.taken, PEL_KEY(r->functions.at[i]->FunctionDef.name), 1);
    }
    for (size_t i = 0; i < PEL_COUNT(reserved); i++)
        pel_map_set(r->ctx, &m.taken, PEL_KEY(pel_intern_c(r->ctx, reserved[i])), 1);
    for (uint32_t i = r->parts.n; i-- > 0;) {
        pel_part *part = r->parts.at[i];
        if (part->parent && part->parent->height <= part->height) part->parent->height = part->height + 1;
        if (part->height > highest) highest = part->height;
    }
    for (int height = 0; height <= highest; height++) {
        uint32_t start = m.classes.n;
        for (uint32_t i = 0; i < r->parts.n; i++) {
            pel_part *part = r->parts.at[i];
            if (part->height != height || part->made) continue;
            bool is_plain = !part->methods.n && !part->held.n && part->parent && has_index_children(part, true);
            if (part->parent && part->container)
                part->made = container(&m, part);
            else if (part->parent && is_chain(part))
                part->made =
                    pel_make_call(r->ctx, pel_dotted(r->ctx, "nn.Sequential"), members(&m, part), (pel_nodes){ 0 });
            else if (is_plain && !part->children.n)
                part->made = identity(r->ctx);
            else if (is_plain)
                part->made = pel_make_call(r->ctx, pel_dotted(r->ctx, "nn.ModuleList"),
                                           list_argument(r->ctx, members(&m, part)), (pel_nodes){ 0 });
            else {
                pel_spell(r, part);
                pel_tidy(r, part);
                join(&m, part);
            }
        }
        for (uint32_t i = start; i < m.classes.n; i++) finish(&m, m.classes.at[i]);
    }
    r->root_class = r->root->made->Call.func->Name.id;
}
