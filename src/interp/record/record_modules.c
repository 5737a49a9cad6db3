/* Modules and classes of the machine -> rows of the log. */
#include "interp/record/record.h"

#define MAX_DEPTH 100

/* ---- files and classes ---- */

pel_id pel_logged_file(pel_recording *rec, const pel_codeobj *code) {
    pel_name path = pel_intern_str(rec->ctx, code->file);
    uint64_t known;
    if (pel_map_get(&rec->files, PEL_KEY(path), &known)) return (pel_id)known;
    pel_log_file row = { .path = pel_name_str(path) };
    if (code->source && !code->is_stub) row.source = code->source->text;
    pel_push(rec->ctx, &rec->log->files, row);
    pel_map_set(rec->ctx, &rec->files, PEL_KEY(path), rec->log->files.n - 1);
    return rec->log->files.n - 1;
}

static pel_str text_or_empty(pel_val v) { return v && pel_is_str(v) ? pel_text_of(v) : (pel_str){ "", 0 }; }

static void set_fields(pel_recording *rec, pel_log_class *row, pel_type *type) {
    pel_vm *vm = rec->vm;
    pel_val fields = pel_lookup(vm, type, pel_interned_c(vm, "__dataclass_fields__"));
    PEL_VEC(pel_name) names = { 0 };
    uint32_t at = 0;
    if (fields && pel_is_dict(fields)) {
        row->kind = PEL_CLASS_DATACLASS;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(fields), &at));)
            if (pel_is_str(entry->key))
                pel_push(rec->ctx, &names,
                         pel_intern(rec->ctx, pel_text_of(entry->key).ptr, pel_text_of(entry->key).len));
    }
    pel_val tuple_fields = type->layout == PEL_L_TUPLE ? pel_lookup(vm, type, pel_interned_c(vm, "_fields")) : NULL;
    if (tuple_fields && pel_is_tuple(tuple_fields)) {
        row->kind = PEL_CLASS_NAMEDTUPLE;
        const pel_tuple *items = pel_tuple_at(tuple_fields);
        for (uint32_t i = 0; i < items->n; i++)
            if (pel_is_str(items->at[i]))
                pel_push(rec->ctx, &names,
                         pel_intern(rec->ctx, pel_text_of(items->at[i]).ptr, pel_text_of(items->at[i]).len));
    }
    row->fields = (pel_name_list){ names.at, names.n };
}

static bool inherits(pel_recording *rec, const pel_type *type, const char *path) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++)
        if (pel_str_is(pel_logged_name(rec, mro->at[i]), path)) return true;
    return false;
}

/* A name in torch or the standard library decides first: a program imports such a class and never writes it. The rows
 * of the bases may move the table, so the class writes its bases through its id, not through a pointer. */
pel_id pel_logged_class(pel_recording *rec, pel_type *type) {
    uint64_t known;
    if (pel_map_get(&rec->classes, PEL_KEY(type), &known)) return (pel_id)known;
    pel_vm *vm = rec->vm;
    pel_str name = pel_text_of(type->name);
    pel_log_class row = { .kind = PEL_CLASS_AUTHOR, .name = pel_intern_str(rec->ctx, name) };
    row.qualname = text_or_empty(type->qualname);
    row.module =
        type->head.attrs ? text_or_empty(pel_dict_get_str(type->head.attrs, vm->names.s_module)) : PEL_STR("builtins");
    row.path = pel_logged_name(rec, &type->head);
    bool is_module = pel_module_kind_of(rec->scanner, type) == PEL_TORCH_MODULE;
    if (row.path.len)
        row.kind = is_module ? PEL_CLASS_TORCH_MODULE : PEL_CLASS_LIBRARY;
    else if (is_module)
        row.kind = PEL_CLASS_MODULE;
    else if (inherits(rec, type, "torch.autograd.Function"))
        row.kind = PEL_CLASS_AUTOGRAD;
    else if (inherits(rec, type, "enum.Enum"))
        row.kind = PEL_CLASS_ENUM;
    else
        set_fields(rec, &row, type);
    if (!row.path.len && type->made_by) {
        row.file = pel_logged_file(rec, type->made_by);
        row.line = type->first_line;
    }
    pel_push(rec->ctx, &rec->log->classes, row);
    pel_id id = rec->log->classes.n - 1;
    pel_map_set(rec->ctx, &rec->classes, PEL_KEY(type), id);
    const pel_tuple *bases = pel_tuple_at(type->bases);
    pel_id *ids = pel_new_array(rec->ctx, bases->n, pel_id);
    uint32_t n = 0;
    for (uint32_t i = 0; i < bases->n; i++)
        if (pel_is_type(bases->at[i])) ids[n++] = pel_logged_class(rec, pel_as_type(bases->at[i]));
    rec->log->classes.at[id].bases = ids;
    rec->log->classes.at[id].n_bases = n;
    return id;
}

/* ---- the arguments of torch's modules ---- */

static pel_val own(pel_vm *vm, pel_val v, const char *name) {
    return v->attrs ? pel_dict_get_c(vm, v->attrs, name) : NULL;
}

static bool is_own_field(const pel_recording *rec, pel_val name) {
    return pel_map_has(&rec->own_fields, PEL_KEY(pel_intern_val(rec->vm, name)));
}

static bool is_same_module(pel_recording *rec, pel_val built, pel_val real, bool exact, int depth);

static bool is_same_tensor(pel_recording *rec, pel_val a, pel_val b) {
    pel_vm *vm = rec->vm;
    if (!pel_is_shaped(vm, a) || !pel_is_shaped(vm, b)) return a == b;
    pel_shape x = pel_shape_of_val(rec->scanner, a), y = pel_shape_of_val(rec->scanner, b);
    if (x.n != y.n || !x.is_known || !y.is_known) return false;
    for (uint32_t i = 0; i < x.n; i++)
        if (x.dims[i].size != y.dims[i].size || !pel_str_eq(x.dims[i].symbol, y.dims[i].symbol)) return false;
    return own(vm, a, "_dtype") == own(vm, b, "_dtype");
}

static bool is_same_value(pel_recording *rec, pel_val a, pel_val b, int depth) {
    if (a == b) return true;
    if (pel_is_small(a) || pel_is_small(b))
        return pel_equal(rec->vm, a, b) == 1 && pel_type_of(rec->vm, a) == pel_type_of(rec->vm, b);
    if ((pel_is_tuple(a) || pel_is_list(a)) && (pel_is_tuple(b) || pel_is_list(b))) {
        uint32_t n, m;
        pel_val *x = pel_items(a, &n), *y = pel_items(b, &m);
        if (n != m || depth > MAX_DEPTH) return false;
        for (uint32_t i = 0; i < n; i++)
            if (!is_same_value(rec, x[i], y[i], depth + 1)) return false;
        return true;
    }
    if (a->type != b->type) return false;
    if (pel_is_shaped(rec->vm, a)) return is_same_tensor(rec, a, b);
    if (pel_module_kind_of(rec->scanner, a->type) == PEL_TORCH_MODULE)
        return is_same_module(rec, a, b, true, depth + 1);
    if (pel_is_symbol(a)) return false;
    int same = pel_equal(rec->vm, a, b);
    if (same < 0) pel_forget(rec->vm);
    return same == 1;
}

typedef bool same_fn(pel_recording *rec, pel_val a, pel_val b, int depth);

static bool same_slot(pel_recording *rec, pel_val a, pel_val b, int depth) {
    (void)depth;
    return is_same_tensor(rec, a, b);
}

static bool same_child(pel_recording *rec, pel_val a, pel_val b, int depth) {
    if (a == b) return true;
    if (pel_is_small(a) || pel_is_small(b) || a->type != b->type) return false;
    return is_same_module(rec, a, b, true, depth + 1);
}

/* Whether all that a table of the built module has is in the real one's; exact: and nothing else. */
static bool is_same_table(pel_recording *rec, pel_val built, pel_val real, const char *table, same_fn *same, bool exact,
                          int depth) {
    pel_val a = own(rec->vm, built, table), b = own(rec->vm, real, table);
    if (!a || !b || !pel_is_dict(a) || !pel_is_dict(b)) return a == b;
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(a), &at));) {
        pel_val other = pel_is_str(entry->key) ? pel_dict_get_str(pel_dict_at(b), entry->key) : NULL;
        if (!other || !same(rec, entry->value, other, depth)) return false;
    }
    return !exact || pel_dict_at(a)->live == pel_dict_at(b)->live;
}

/* Attributes that say what others say, or that nothing reads: an author who changed those others left them behind. */
static bool is_idle(pel_vm *vm, pel_val real, pel_str name) {
    if (pel_str_is(name, "_reversed_padding_repeated_twice")) {
        pel_val mode = own(vm, real, "padding_mode");
        return mode && pel_is_str(mode) && pel_text_is(mode, "zeros");
    }
    return pel_str_starts(name, PEL_STR("_flat_weight"));
}

static bool is_same_module(pel_recording *rec, pel_val built, pel_val real, bool exact, int depth) {
    if (depth > MAX_DEPTH || !built->attrs || !real->attrs) return false;
    if (!is_same_table(rec, built, real, "_parameters", same_slot, exact, depth) ||
        !is_same_table(rec, built, real, "_buffers", same_slot, false, depth) ||
        !is_same_table(rec, built, real, "_modules", same_child, exact, depth))
        return false;
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(built->attrs, &at));) {
        if (is_own_field(rec, entry->key) || is_idle(rec->vm, real, pel_text_of(entry->key))) continue;
        pel_val other = pel_dict_get_str(real->attrs, entry->key);
        if (!other || !is_same_value(rec, entry->value, other, depth)) return false;
    }
    return true;
}

typedef struct guess { /* values for the parameters of a constructor; NULL: its default */
    pel_function *init;
    pel_val *names, *values;
    pel_val *defaults; /* NULL: it has none */
    uint32_t n;
} guess;

static guess parameters_of(pel_recording *rec, pel_val init) {
    pel_function *f = (pel_function *)init;
    guess g = { .init = f };
    uint32_t n = init ? f->code->n_args + f->code->n_kwonly : 0;
    g.names = pel_new_array(rec->ctx, n, pel_val);
    g.values = pel_new_array(rec->ctx, n, pel_val);
    g.defaults = pel_new_array(rec->ctx, n, pel_val);
    uint32_t given = init && f->defaults ? pel_tuple_at(f->defaults)->n : 0;
    for (uint32_t i = 1; i < n; i++) {
        g.names[g.n] = f->code->locals[i];
        if (i < f->code->n_args)
            g.defaults[g.n] =
                i + given >= f->code->n_args ? pel_tuple_at(f->defaults)->at[i + given - f->code->n_args] : NULL;
        else
            g.defaults[g.n] = f->kwdefaults ? pel_dict_get_str(f->kwdefaults, g.names[g.n]) : NULL;
        g.n++;
    }
    return g;
}

static bool is_wanted(pel_recording *rec, const guess *g, uint32_t i) {
    if (!g->values[i]) return false;
    return !g->defaults[i] || !is_same_value(rec, g->values[i], g->defaults[i], 0);
}

/* A module that these arguments make, on trial; NULL if they make none. */
static pel_val build(pel_recording *rec, pel_type *class, const guess *g) {
    pel_vm *vm = rec->vm;
    pel_val *names = pel_new_array(rec->ctx, g->n, pel_val), *values = pel_new_array(rec->ctx, g->n, pel_val);
    pel_kw kw = { 0, names, values };
    for (uint32_t i = 0; i < g->n; i++) {
        if (!is_wanted(rec, g, i)) continue;
        names[kw.n] = g->names[i];
        values[kw.n++] = g->values[i];
    }
    void (*watcher)(pel_vm *, pel_val, pel_val *, uint32_t, const pel_kw *) = vm->on_construct;
    vm->on_construct = NULL;
    pel_val made = pel_call(vm, &class->head, NULL, 0, kw.n ? &kw : NULL);
    vm->on_construct = watcher;
    if (!made) pel_forget(vm);
    return made;
}

/* The value that an attribute of the same name gives: what the author set afterwards counts. */
static void guess_by_attributes(pel_recording *rec, guess *g, pel_val module) {
    pel_vm *vm = rec->vm;
    for (uint32_t i = 0; i < g->n; i++) {
        bool failed;
        pel_val value = pel_find_attr(vm, module, g->names[i], &failed);
        if (failed) pel_forget(vm);
        if (!value || failed || pel_is(value, PEL_L_METHOD)) continue;
        bool is_flag = g->defaults[i] == vm->true_ || g->defaults[i] == vm->false_;
        if (is_flag && value != vm->true_ && value != vm->false_) value = pel_bool_of(vm, value != vm->none);
        if (!pel_is_shaped(vm, value)) g->values[i] = value;
    }
}

static void set_made_by_base(pel_recording *rec, pel_log_module *row, pel_val built) {
    static const char *const tables[] = { "_modules", "_parameters", "_buffers" };
    PEL_VEC(pel_name) names = { 0 };
    for (size_t t = 0; t < PEL_COUNT(tables); t++) {
        pel_val table = own(rec->vm, built, tables[t]);
        uint32_t at = 0;
        for (pel_entry *entry; table && pel_is_dict(table) && (entry = pel_dict_next(pel_dict_at(table), &at));)
            pel_push(rec->ctx, &names, pel_intern(rec->ctx, pel_text_of(entry->key).ptr, pel_text_of(entry->key).len));
    }
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(built->attrs, &at));)
        if (!is_own_field(rec, entry->key))
            pel_push(rec->ctx, &names, pel_intern(rec->ctx, pel_text_of(entry->key).ptr, pel_text_of(entry->key).len));
    row->made_by_base = (pel_name_list){ names.at, names.n };
}

static void set_found(pel_recording *rec, pel_id id, const guess *g, pel_val built) {
    pel_log_argument *made = pel_new_array(rec->ctx, g->n, pel_log_argument);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        pel_str name = pel_text_of(g->names[i]);
        bool wanted = is_wanted(rec, g, i);
        if (!wanted && (pel_str_is(name, "device") || pel_str_is(name, "dtype"))) continue;
        pel_val value = wanted ? g->values[i] : g->defaults[i];
        made[n++] = (pel_log_argument){ pel_intern_str(rec->ctx, name), pel_logged_value(rec, value), !g->defaults[i],
                                        !wanted };
    }
    pel_log_module *row = &rec->log->modules.at[id];
    row->has_arguments = true;
    row->arguments = made;
    row->n_arguments = n;
    set_made_by_base(rec, row, built);
}

static bool is_container(pel_recording *rec, const pel_type *class) {
    static const char *const names[] = { "torch.nn.Module",     "torch.nn.Sequential",    "torch.nn.ModuleList",
                                         "torch.nn.ModuleDict", "torch.nn.ParameterList", "torch.nn.ParameterDict" };
    pel_str path = pel_logged_name(rec, pel_val_of((void *)(uintptr_t) class));
    for (size_t i = 0; i < PEL_COUNT(names); i++)
        if (pel_str_is(path, names[i])) return true;
    return false;
}

/* The recurrent classes hand their own name on as the first argument. */
static void without_mode(pel_recording *rec, guess *g) {
    if (!g->n || !pel_text_is(g->names[0], "mode")) return;
    pel_val mode = g->values[0];
    bool relu = mode && pel_is_str(mode) && pel_text_is(mode, "RNN_RELU"),
         plain = mode && pel_is_str(mode) && pel_str_starts(pel_text_of(mode), PEL_STR("RNN_"));
    for (uint32_t i = 1; i < g->n; i++) {
        g->names[i - 1] = g->names[i];
        g->values[i - 1] = g->values[i];
        g->defaults[i - 1] = g->defaults[i];
    }
    g->n--;
    if (!plain) return;
    g->names[g->n] = pel_interned_c(rec->vm, "nonlinearity");
    g->values[g->n] = pel_interned_c(rec->vm, relu ? "relu" : "tanh");
    g->defaults[g->n++] = pel_interned_c(rec->vm, "tanh");
}

/* What arguments would build it: those that were given, or what its attributes say; whichever makes an equal one. */
static void set_arguments(pel_recording *rec, pel_id id, pel_val module) {
    pel_vm *vm = rec->vm;
    pel_type *class = pel_torch_class_of(vm, module->type);
    if (!class || is_container(rec, class)) return;
    pel_val init = pel_torch_init_of(vm, class);
    guess g = parameters_of(rec, init);
    const pel_birth *birth = pel_birth_of(rec->scanner, module);
    bool exact = module->type == class;
    for (int attempt = 0; attempt < 2; attempt++) {
        guess now = g;
        now.names = pel_new_array(rec->ctx, g.n + 1, pel_val);
        now.values = pel_new_array(rec->ctx, g.n + 1, pel_val);
        now.defaults = pel_new_array(rec->ctx, g.n + 1, pel_val);
        memcpy(now.names, g.names, g.n * sizeof *g.names);
        memcpy(now.defaults, g.defaults, g.n * sizeof *g.defaults);
        if (birth && birth->built_by == init && init)
            for (uint32_t i = 0; i < g.n; i++) now.values[i] = pel_tuple_at(birth->built_of)->at[i + 1];
        if (attempt) guess_by_attributes(rec, &now, module);
        without_mode(rec, &now);
        pel_val built = build(rec, class, &now);
        if (built && !pel_is_small(built) && is_same_module(rec, built, module, exact, 0)) {
            set_found(rec, id, &now, built);
            return;
        }
    }
}

/* ---- modules ---- */

typedef struct found_module {
    pel_val module;
    pel_id row;
} found_module;
typedef PEL_VEC(found_module) found_modules;

/* First all rows of a tree, so that what they hold can refer to any of them. */
static void add_rows(pel_recording *rec, pel_val module, pel_str path, bool in_tree, found_modules *list, int depth) {
    if (pel_map_has(&rec->modules, PEL_KEY(module))) return;
    if (depth > MAX_DEPTH) pel_throw(rec->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    pel_push(rec->ctx, &rec->log->modules, (pel_log_module){ .path = path, .in_tree = in_tree });
    pel_id id = rec->log->modules.n - 1;
    pel_push(rec->ctx, list, (found_module){ module, id });
    pel_map_set(rec->ctx, &rec->modules, PEL_KEY(module), id);
    pel_val children = own(rec->vm, module, "_modules");
    uint32_t at = 0;
    for (pel_entry *entry; children && pel_is_dict(children) && (entry = pel_dict_next(pel_dict_at(children), &at));) {
        if (!pel_is_str(entry->key) || entry->value == rec->vm->none) continue;
        pel_str name = pel_text_of(entry->key), below = path;
        if (in_tree) below = path.len ? pel_format(rec->ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
        if (pel_is_small(entry->value) || pel_module_kind_of(rec->scanner, entry->value->type) != PEL_TORCH_MODULE)
            pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "what module %.*s is, is not known", PEL_FMT(below));
        add_rows(rec, entry->value, below, in_tree, list, depth + 1);
    }
}

/* ---- a row ---- */

static void set_owner(pel_recording *rec, pel_id tensor, pel_id owner, pel_name name) {
    pel_log_tensor *row = &rec->log->tensors.at[tensor];
    if (row->owner) return; /* tied: the first owner counts */
    row->owner = owner;
    row->name = name;
}

static pel_name name_of(pel_recording *rec, pel_val text) {
    return pel_intern(rec->ctx, pel_text_of(text).ptr, pel_text_of(text).len);
}

static void set_slots(pel_recording *rec, pel_id id, pel_val module, const char *table, pel_log_slot **slots,
                      uint32_t *n) {
    pel_vm *vm = rec->vm;
    pel_val dict = own(vm, module, table), volatiles = own(vm, module, "_non_persistent_buffers_set");
    PEL_VEC(pel_log_slot) made = { 0 };
    uint32_t at = 0;
    for (pel_entry *entry; dict && pel_is_dict(dict) && (entry = pel_dict_next(pel_dict_at(dict), &at));) {
        if (!pel_is_str(entry->key)) continue;
        pel_val is_volatile = NULL;
        if (volatiles && pel_is_set(volatiles)) pel_dict_get(vm, pel_dict_at(volatiles), entry->key, &is_volatile);
        pel_log_slot slot = { .name = name_of(rec, entry->key), .persistent = !is_volatile };
        if (pel_is_shaped(vm, entry->value)) {
            slot.tensor = pel_logged_tensor(rec, entry->value);
            set_owner(rec, slot.tensor, id, slot.name);
            if (!slot.persistent) pel_log_elements(rec, slot.tensor, entry->value);
        } else if (entry->value != vm->none) {
            pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "what %.*s.%s is, is not known",
                      PEL_FMT(pel_module_at(rec->log, id)->path), slot.name->text);
        }
        pel_push(rec->ctx, &made, slot);
    }
    *slots = made.at;
    *n = made.n;
}

static void set_children(pel_recording *rec, pel_id id, pel_val module) {
    pel_val children = own(rec->vm, module, "_modules");
    PEL_VEC(pel_name) names = { 0 };
    PEL_VEC(pel_id) rows = { 0 };
    uint32_t at = 0;
    for (pel_entry *entry; children && pel_is_dict(children) && (entry = pel_dict_next(pel_dict_at(children), &at));) {
        if (!pel_is_str(entry->key)) continue;
        pel_push(rec->ctx, &names, name_of(rec, entry->key));
        pel_push(rec->ctx, &rows, entry->value == rec->vm->none ? 0 : pel_logged_module(rec, entry->value));
    }
    pel_log_module *row = &rec->log->modules.at[id];
    row->child_names = (pel_name_list){ names.at, names.n };
    row->children = rows.at;
}

static void set_attributes(pel_recording *rec, pel_id id, pel_val module) {
    PEL_VEC(pel_log_attribute) made = { 0 };
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(module->attrs, &at));) {
        if (!pel_is_str(entry->key) || is_own_field(rec, entry->key)) continue;
        pel_name name = name_of(rec, entry->key);
        pel_push(rec->ctx, &made, (pel_log_attribute){ name, pel_logged_value(rec, entry->value) });
        if (!pel_is_shaped(rec->vm, entry->value)) continue;
        pel_id tensor = pel_logged_tensor(rec, entry->value);
        if (rec->log->tensors.at[tensor].owner) continue;
        set_owner(rec, tensor, id, name);
        pel_log_elements(rec, tensor, entry->value);
    }
    rec->log->modules.at[id].attributes = made.at;
    rec->log->modules.at[id].n_attributes = made.n;
}

/* Whether calling the module does more than its class says. */
static bool has_hooks(pel_recording *rec, pel_val module) {
    static const char *const tables[] = { "_forward_hooks", "_forward_pre_hooks", "_backward_hooks",
                                          "_backward_pre_hooks" };
    for (size_t i = 0; i < PEL_COUNT(tables); i++) {
        pel_val table = own(rec->vm, module, tables[i]);
        if (table && pel_is_dict(table) && pel_dict_at(table)->live) return true;
    }
    pel_val children = own(rec->vm, module, "_modules");
    if (children && pel_is_dict(children) && pel_dict_get_c(rec->vm, pel_dict_at(children), "parametrizations"))
        return true;
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(module->attrs, &at));)
        if ((pel_is(entry->value, PEL_L_FUNCTION) || pel_is(entry->value, PEL_L_METHOD)) && pel_is_str(entry->key) &&
            pel_lookup(rec->vm, module->type, entry->key))
            return true;
    return false;
}

static void fill_row(pel_recording *rec, pel_val module, pel_id id) {
    pel_id class = pel_logged_class(rec, module->type);
    rec->log->modules.at[id].class = class;
    rec->log->modules.at[id].training = own(rec->vm, module, "training") == rec->vm->true_;
    rec->log->modules.at[id].has_hooks = has_hooks(rec, module);
    set_children(rec, id, module);
    pel_log_slot *slots;
    uint32_t n;
    set_slots(rec, id, module, "_parameters", &slots, &n);
    rec->log->modules.at[id].parameters = slots;
    rec->log->modules.at[id].n_parameters = n;
    set_slots(rec, id, module, "_buffers", &slots, &n);
    rec->log->modules.at[id].buffers = slots;
    rec->log->modules.at[id].n_buffers = n;
    set_attributes(rec, id, module);
    set_arguments(rec, id, module);
}

static void record_below(pel_recording *rec, pel_val module, bool in_tree) {
    found_modules list = { 0 };
    add_rows(rec, module, in_tree ? PEL_STR("") : PEL_STR("?"), in_tree, &list, 0);
    for (uint32_t i = 0; i < list.n; i++) fill_row(rec, list.at[i].module, list.at[i].row);
}

pel_id pel_logged_module(pel_recording *rec, pel_val module) {
    if (!pel_map_has(&rec->modules, PEL_KEY(module))) record_below(rec, module, false);
    return (pel_id)pel_map_find(&rec->modules, PEL_KEY(module), 0);
}

/* What an empty nn.Module has: fields of torch's own. */
static void note_own_fields(pel_recording *rec) {
    pel_vm *vm = rec->vm;
    pel_val nn = pel_import(vm, PEL_STR("torch.nn")), class = nn ? pel_getattr_c(vm, nn, "Module") : NULL;
    guess none = { 0 };
    pel_val empty = class && pel_is_type(class) ? build(rec, pel_as_type(class), &none) : NULL;
    if (!empty) pel_throw(rec->ctx, PEL_E_INCOMPLETE, 0, "torch.nn.Module can't be made");
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(empty->attrs, &at));)
        pel_map_set(rec->ctx, &rec->own_fields, PEL_KEY(pel_intern_val(vm, entry->key)), 1);
}

pel_recording *pel_recording_of(pel_scanner *scanner, pel_val root) {
    pel_recording *rec = pel_new(scanner->vm->ctx, pel_recording);
    rec->scanner = scanner;
    rec->vm = scanner->vm;
    rec->ctx = scanner->vm->ctx;
    rec->log = pel_log_new(rec->ctx);
    rec->log->from_source = true;
    pel_push(rec->ctx, &rec->same_hash, 0);
    if (pel_module_kind_of(scanner, root->type) != PEL_TORCH_MODULE)
        pel_throw(rec->ctx, PEL_E_UNSUPPORTED, 0, "only networks of torch.nn can be written as a program");
    note_own_fields(rec);
    pel_name_library(rec);
    record_below(rec, root, true);
    rec->log->root = pel_logged_module(rec, root);
    return rec;
}
