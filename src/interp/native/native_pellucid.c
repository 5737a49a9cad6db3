/* _pellucid: what stubs get from the machine (lib/README.md has the list). */
#include "interp/native/native.h"
#include "interp/native/yaml.h"

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

static pel_str text_or(pel_val v, const char *fallback) {
    return v && pel_is_str(v) ? pel_text_of(v) : pel_str_of(fallback);
}

METHOD(p_symbol) {
    pel_val p[2];
    if (!pel_args(vm, "symbol", "text,why", args, n, kw, 1, p)) return NULL;
    return pel_symbol_of(vm, text_or(p[0], "?"), text_or(p[1], ""));
}
METHOD(p_symbol_module) {
    IGNORE();
    if (!pel_is_str(args[0])) return pel_raise(vm, vm->types.TypeError, "symbol_module() needs a name");
    pel_val name = pel_intern_val(vm, args[0]);
    pel_val module = pel_dict_get_str(vm->modules, name);
    /* A stub may say this about itself: then it keeps its place and becomes symbolic. */
    if (!module || !pel_is(module, PEL_L_MODULE)) module = pel_new_module(vm, name);
    ((pel_module_object *)module)->is_symbolic = true;
    pel_dict_set_str(vm, vm->modules, name, module);
    return module;
}
METHOD(p_is_symbol) {
    IGNORE();
    return pel_bool_of(vm, pel_is_symbol(args[0]));
}
METHOD(p_symbol_text) {
    IGNORE();
    return pel_is_symbol(args[0]) ? pel_new_text(vm, ((pel_symbol *)args[0])->text) : pel_str_val(vm, args[0]);
}
METHOD(p_symbol_why) {
    IGNORE();
    return pel_is_symbol(args[0]) ? pel_new_text(vm, ((pel_symbol *)args[0])->why) : vm->empty_str;
}
METHOD(p_unknown) {
    pel_val p[2];
    if (!pel_args(vm, "unknown", "what,why", args, n, kw, 1, p)) return NULL;
    pel_note_unknown(vm, text_or(p[0], "?"), text_or(p[1], "not known"));
    return pel_symbol_of(vm, text_or(p[0], "?"), text_or(p[1], "not known"));
}
/* What a model of ours lacks although the library has it: calling it gives data that nobody knows. */
METHOD(p_unmodelled) {
    IGNORE();
    pel_val made = pel_symbol_of(vm, text_or(args[0], "?"), PEL_STR("pellucid has no model of it"));
    if (pel_is_symbol(made)) ((pel_symbol *)made)->is_unmodelled = true;
    return made;
}
/* Something from outside that may well be a network. */
METHOD(p_unknown_module) {
    pel_val made = p_unknown(vm, args, n, kw);
    if (made && pel_is_symbol(made)) ((pel_symbol *)made)->may_be_module = true;
    return made;
}
METHOD(p_shaped) {
    IGNORE();
    (void)args;
    return vm->on_shape ? vm->on_shape(vm) : vm->none;
}
METHOD(p_premise) {
    IGNORE();
    pel_note_premise(vm, text_or(args[0], "?"), text_or(args[1], ""));
    return vm->none;
}
/* What was taken for something that it may not be: no sum is exact. */
METHOD(p_note_guess) {
    IGNORE();
    pel_note_lost(vm, text_or(args[0], "?"), text_or(args[1], "not known"));
    return vm->none;
}
METHOD(p_note_error) {
    pel_val p[2];
    if (!pel_args(vm, "note_error", "what,why", args, n, kw, 1, p)) return NULL;
    pel_note note = { text_or(p[0], "?"), text_or(p[1], ""), { "", 0 }, 0 };
    pel_here(vm, true, &note.file, &note.line);
    if (vm->errors.n < 1000) pel_push(vm->ctx, &vm->errors, note);
    return vm->none;
}
METHOD(p_place) {
    IGNORE();
    (void)args;
    pel_str file;
    uint32_t line;
    pel_here(vm, true, &file, &line);
    return pel_tuple2(vm, pel_new_text(vm, file), pel_int_of(vm, line));
}
METHOD(p_copied) {
    IGNORE();
    if (vm->on_copy) vm->on_copy(vm, args[0], args[1], args[2]);
    return vm->none;
}
METHOD(p_type_of) {
    IGNORE();
    return &pel_type_of(vm, args[0])->head;
}
METHOD(p_lookup) {
    (void)kw;
    if (!pel_is_type(args[0]) || !pel_is_str(args[1]))
        return pel_raise(vm, vm->types.TypeError, "lookup() needs a type and a name");
    pel_val found = pel_lookup(vm, pel_as_type(args[0]), pel_intern_val(vm, args[1]));
    return found ? found : n > 2 ? args[2] : vm->none;
}
METHOD(p_get_dict) {
    IGNORE();
    if (pel_is_small(args[0]) || (args[0]->type->is_native && !args[0]->attrs)) return vm->none;
    return &pel_attrs(vm, args[0])->head;
}
METHOD(p_object_setattr) {
    IGNORE();
    if (!pel_is_str(args[1])) return pel_raise(vm, vm->types.TypeError, "attribute name must be string");
    return pel_generic_setattr(vm, args[0], pel_intern_val(vm, args[1]), args[2]) ? vm->none : NULL;
}

/* ---- nn.Module: most of what a constructor runs is setting and finding attributes ---- */

/* A table of the module; these natives are bound to the names of all three. */
static pel_dict *table_of(pel_val module, pel_val name) {
    pel_val table = !pel_is_small(module) && module->attrs ? pel_dict_get_str(module->attrs, name) : NULL;
    return table && pel_is_dict(table) ? pel_dict_at(table) : NULL;
}
/* What no table of the module is about: a value of Python's own under a name that is in none of them. */
METHOD(p_set_plain) {
    IGNORE();
    const pel_tuple *tables = pel_tuple_at(args[0]);
    pel_val module = args[1], value = args[3];
    bool is_plain = pel_is_small(value) || (value->type->is_native && !pel_is_symbol(value));
    if (!is_plain || !pel_is_str(args[2])) return vm->false_;
    pel_val name = pel_intern_val(vm, args[2]);
    for (uint32_t i = 0; i < tables->n; i++) {
        const pel_dict *table = table_of(module, tables->at[i]);
        if (!table || pel_dict_get_str(table, name)) return vm->false_;
    }
    return pel_generic_setattr(vm, module, name, value) ? vm->true_ : NULL;
}
METHOD(p_registered) {
    IGNORE();
    const pel_tuple *tables = pel_tuple_at(args[0]);
    pel_val module = args[1], name = args[2];
    for (uint32_t i = 0; i < tables->n && pel_is_str(name); i++) {
        const pel_dict *table = table_of(module, tables->at[i]);
        pel_val found = table ? pel_dict_get_str(table, name) : NULL;
        if (found) return found;
    }
    return pel_raise(vm, vm->types.AttributeError, "'%s' object has no attribute '%.*s'", pel_type_text(vm, module),
                     PEL_FMT(text_or(name, "?")));
}
/* discard(name, dict or set...) */
METHOD(p_discard) {
    (void)kw;
    for (uint32_t i = 1; i < n; i++) {
        pel_val ignored;
        bool fits = pel_is_dict(args[i]) || pel_is(args[i], PEL_L_SET);
        if (!fits || !pel_dict_del(vm, pel_dict_at(args[i]), args[0], &ignored))
            return fits ? NULL : pel_raise(vm, vm->types.TypeError, "discard() needs dicts and sets");
    }
    return vm->none;
}

/* ---- elements of tensors that lie regularly ---- */

#define MAX_RANK 16
#define MAX_ELEMENTS (1 << 24)

typedef struct lattice { /* the places offset + sum(index * step), the last index fastest */
    int64_t steps[MAX_RANK], sizes[MAX_RANK], at[MAX_RANK];
    int64_t place, count;
    uint32_t rank;
} lattice;

static bool read_ints(pel_vm *vm, pel_val from, int64_t *into, uint32_t *n) {
    if (!pel_is_tuple(from) && !pel_is_list(from)) return false;
    const pel_val *items = pel_items(from, n);
    for (uint32_t i = 0; i < *n && *n <= MAX_RANK; i++)
        if (!pel_index(vm, items[i], &into[i])) return false;
    return *n <= MAX_RANK;
}
/* args: offset, steps, shape */
static bool begin_lattice(pel_vm *vm, pel_val *args, lattice *l) {
    uint32_t n_steps;
    *l = (lattice){ .count = 1 };
    bool fine = pel_index(vm, args[0], &l->place) && read_ints(vm, args[1], l->steps, &n_steps) &&
                read_ints(vm, args[2], l->sizes, &l->rank) && n_steps == l->rank;
    for (uint32_t i = 0; i < l->rank && fine; i++) {
        fine =
            l->sizes[i] >= 0 && !__builtin_mul_overflow(l->count, l->sizes[i], &l->count) && l->count <= MAX_ELEMENTS;
        fine &= l->steps[i] >= -MAX_ELEMENTS && l->steps[i] <= MAX_ELEMENTS;
    }
    fine &= l->place >= 0 && l->place <= MAX_ELEMENTS;
    if (!fine && !vm->raised) pel_raise(vm, vm->types.ValueError, "no elements lie like that");
    if (fine) pel_spend(vm, (uint64_t)l->count);
    return fine;
}
static void next_place(lattice *l) {
    for (uint32_t i = l->rank; i-- > 0;) {
        l->place += l->steps[i];
        if (++l->at[i] < l->sizes[i]) return;
        l->place -= l->steps[i] * l->sizes[i];
        l->at[i] = 0;
    }
}
static pel_val outside(pel_vm *vm) {
    return pel_raise(vm, vm->types.IndexError, "an element lies outside of the data");
}

/* strided(data, offset, steps, shape): the elements there, as a list */
METHOD(p_strided) {
    IGNORE();
    lattice l;
    if (!pel_is_list(args[0])) return pel_raise(vm, vm->types.TypeError, "strided() needs a list");
    if (!begin_lattice(vm, args + 1, &l)) return NULL;
    const pel_list *data = pel_list_at(args[0]);
    pel_val made = pel_list_of(vm, NULL, (uint32_t)l.count);
    for (int64_t i = 0; i < l.count; i++, next_place(&l)) {
        if (l.place < 0 || l.place >= data->n) return outside(vm);
        pel_list_at(made)->at[i] = data->at[l.place];
    }
    return made;
}
/* put_strided(data, offset, steps, shape, new): a copy with these in their places */
METHOD(p_put_strided) {
    IGNORE();
    lattice l;
    if (!pel_is_list(args[0]) || !pel_is_list(args[4]))
        return pel_raise(vm, vm->types.TypeError, "put_strided() needs lists");
    if (!begin_lattice(vm, args + 1, &l)) return NULL;
    const pel_list *data = pel_list_at(args[0]), *new = pel_list_at(args[4]);
    pel_val made = pel_list_of(vm, data->at, data->n);
    for (int64_t i = 0; i < l.count && i < new->n; i++, next_place(&l)) {
        if (l.place < 0 || l.place >= data->n) return outside(vm);
        pel_list_at(made)->at[l.place] = new->at[i];
    }
    return made;
}

/* ---- files inside the roots ---- */

static pel_val not_found(pel_vm *vm, pel_val path) {
    pel_val arguments[] = { pel_from_small(2), pel_interned_c(vm, "No such file or directory"), path };
    pel_val e = pel_call(vm, &vm->types.FileNotFoundError->head, arguments, 3, NULL);
    return e ? pel_raise_val(vm, e) : NULL;
}
/* Which data the program itself read: its configuration. */
static void note_read(pel_vm *vm, pel_str path) {
    const pel_frame *f = vm->frame;
    while (f && f->code->is_stub) f = f->back;
    bool is_code = pel_str_ends(path, PEL_STR(".py"));
    if (!f || is_code || pel_library_of(vm, f->code->file).len || vm->reads.n >= 20) return;
    for (uint32_t i = 0; i < vm->reads.n; i++)
        if (pel_str_eq(vm->reads.at[i], path)) return;
    pel_push(vm->ctx, &vm->reads, pel_str_copy(vm->ctx, path));
}

METHOD(p_read_text) {
    IGNORE();
    pel_str bytes;
    if (!pel_is_str(args[0]) || !pel_read_inside(vm, pel_path_of_program(vm, pel_text_of(args[0])), &bytes))
        return not_found(vm, args[0]);
    note_read(vm, pel_text_of(args[0]));
    return pel_new_text(vm, bytes);
}
METHOD(p_read_bytes) {
    IGNORE();
    pel_str bytes;
    if (!pel_is_str(args[0]) || !pel_read_inside(vm, pel_path_of_program(vm, pel_text_of(args[0])), &bytes))
        return not_found(vm, args[0]);
    return pel_bytes_of(vm, bytes);
}
static enum pel_entry_kind kind_of(pel_vm *vm, pel_val path) {
    return pel_is_str(path) ? pel_kind_inside(vm, pel_path_of_program(vm, pel_text_of(path))) : PEL_NOTHING;
}
METHOD(p_is_file) {
    IGNORE();
    return pel_bool_of(vm, kind_of(vm, args[0]) == PEL_FILE);
}
METHOD(p_is_dir) {
    IGNORE();
    return pel_bool_of(vm, kind_of(vm, args[0]) == PEL_FOLDER);
}
METHOD(p_list_dir) {
    IGNORE();
    pel_str names;
    if (!pel_is_str(args[0]) || !pel_list_inside(vm, pel_path_of_program(vm, pel_text_of(args[0])), &names))
        return not_found(vm, args[0]);
    pel_val list = pel_list_of(vm, NULL, 0);
    while (names.len) {
        const char *end = memchr(names.ptr, '\n', names.len);
        size_t len = end ? (size_t)(end - names.ptr) : names.len;
        if (len) pel_list_push(vm, list, pel_new_text(vm, pel_str_cut(names, 0, len)));
        names = pel_str_from(names, len + 1);
    }
    return list;
}

/* ---- source ---- */

static pel_codeobj *code_of(pel_val v, uint32_t *first, uint32_t *last) {
    pel_codeobj *code = NULL;
    if (pel_is(v, PEL_L_METHOD)) v = ((pel_method *)v)->func;
    if (pel_is(v, PEL_L_FUNCTION)) code = ((pel_function *)v)->code;
    if (pel_is(v, PEL_L_CODE)) code = (pel_codeobj *)v;
    if (pel_is_type(v)) code = pel_as_type(v)->made_by;
    if (!code) return NULL;
    *first = code->first_line;
    *last = code->last_line;
    return code;
}
METHOD(p_source_of) {
    IGNORE();
    uint32_t first, last;
    pel_codeobj *code = code_of(args[0], &first, &last);
    if (!code) return vm->none;
    pel_str text = code->source->text;
    size_t start = 0, end = 0;
    for (uint32_t line = 1; end < text.len && line <= last; line++) {
        if (line == first) start = end;
        while (end < text.len && text.ptr[end] != '\n') end++;
        if (end < text.len) end++;
    }
    return pel_new_text(vm, pel_str_cut(text, start, end));
}
METHOD(p_source_place) {
    IGNORE();
    uint32_t first, last;
    pel_codeobj *code = code_of(args[0], &first, &last);
    if (!code) return vm->none;
    return pel_tuple_of(vm, (pel_val[]){ pel_new_text(vm, code->file), pel_int_of(vm, first), pel_int_of(vm, last) },
                        3);
}

/* ---- modules ---- */

METHOD(p_import_module) {
    pel_val p[2];
    if (!pel_args(vm, "import_module", "name,package", args, n, kw, 1, p)) return NULL;
    if (!pel_is_str(p[0])) return pel_raise(vm, vm->types.TypeError, "import_module() needs a name");
    pel_str name = pel_text_of(p[0]);
    uint32_t level = 0;
    while (name.len && name.ptr[0] == '.') {
        level++;
        name = pel_str_from(name, 1);
    }
    if (!level) return pel_import(vm, name);
    if (!p[1] || !pel_is_str(p[1]))
        return pel_raise(vm, vm->types.TypeError, "the 'package' argument is required to perform a relative import");
    pel_dict *globals = pel_dict_at(pel_new_dict(vm));
    pel_dict_set_str(vm, globals, vm->names.s_package, p[1]);
    return pel_import_relative(vm, globals, name, level);
}
/* The names that a file defines: a module of its own, not one that import finds. */
METHOD(p_run_file) {
    IGNORE();
    pel_str bytes;
    if (!pel_is_str(args[0]) || !pel_read_inside(vm, pel_text_of(args[0]), &bytes)) return not_found(vm, args[0]);
    if (!pel_enter_c(vm)) return NULL;
    pel_str path = pel_text_of(args[0]);
    pel_val module = pel_run_source(vm, pel_format(vm->ctx, "<%.*s>", PEL_FMT(path)), path, bytes);
    pel_leave_c(vm);
    return module ? &pel_attrs(vm, module)->head : NULL;
}
METHOD(p_registrations) {
    IGNORE();
    if (!pel_is_list(args[0]) || !pel_is_list(args[1]))
        return pel_raise(vm, vm->types.TypeError, "registrations() needs two lists");
    return pel_registrations(vm, args[0], args[1]);
}
METHOD(p_find_module) {
    IGNORE();
    pel_str path;
    bool is_package;
    if (!pel_is_str(args[0])) return vm->none;
    if (!pel_find_module(vm, pel_text_of(args[0]), &path, &is_package)) return vm->raised ? NULL : vm->none;
    return pel_tuple2(vm, pel_new_text(vm, path), pel_bool_of(vm, is_package));
}
METHOD(p_new_module) {
    IGNORE();
    return pel_new_module(vm, args[0]);
}
METHOD(p_make_function) { return pel_call(vm, &vm->types.function->head, args, n, kw); }
/* One model of ours stands for many functions; each gets an object and a name of its own, as the real ones have. */
METHOD(p_name_apart) {
    IGNORE();
    pel_dict *names = pel_is_type(args[0]) ? args[0]->attrs : pel_is_dict(args[0]) ? pel_dict_at(args[0]) : NULL;
    uint32_t at = 0;
    for (pel_entry *entry; names && (entry = pel_dict_next(names, &at));) {
        if (!pel_is_str(entry->key) || !pel_is(entry->value, PEL_L_FUNCTION)) continue;
        const pel_function *given = (const pel_function *)entry->value;
        if (pel_str_eq(pel_text_of(given->name), pel_text_of(entry->key))) continue;
        pel_function *own = pel_make_object(vm, given->head.type, sizeof *own);
        *own = *given;
        own->name = own->qualname = entry->key;
        entry->value = &own->head;
    }
    pel_types_changed(vm);
    return vm->none;
}
METHOD(p_make_method) {
    IGNORE();
    return pel_new_method(vm, args[0], args[1]);
}
METHOD(p_make_cell) {
    IGNORE();
    return pel_new_cell(vm, n ? args[0] : NULL);
}

/* No builtin name leads to these classes: types, inspect, copy and typing of lib/ take them from here. The keys are a
 * contract with these four files. */
METHOD(p_types) {
    IGNORE();
    (void)args;
    const struct {
        const char *name;
        pel_type *type;
    } rows[] = {
        { "function", vm->types.function },
        { "method", vm->types.method },
        { "builtin", vm->types.native },
        { "code", vm->types.code },
        { "frame", vm->types.frame },
        { "generator", vm->types.generator },
        { "coroutine", vm->types.coroutine },
        { "async_generator", vm->types.async_generator },
        { "cell", vm->types.cell },
        { "module", vm->types.module },
        { "mappingproxy", vm->types.mappingproxy },
        { "NoneType", vm->types.none },
        { "NotImplementedType", vm->types.not_implemented },
        { "ellipsis", vm->types.ellipsis },
        { "traceback", vm->types.traceback },
        { "dict_keys", vm->types.dict_keys },
        { "dict_values", vm->types.dict_values },
        { "dict_items", vm->types.dict_items },
        { "getset", vm->types.getset },
        { "union", vm->types.union_ },
        { "generic_alias", vm->types.alias },
        { "symbol", vm->types.symbol },
        { "iterator", vm->types.iter },
    };
    pel_val dict = pel_new_dict(vm);
    for (size_t i = 0; i < PEL_COUNT(rows); i++)
        pel_dict_set_c(vm, pel_dict_at(dict), rows[i].name, &rows[i].type->head);
    return dict;
}

METHOD(p_regex) {
    IGNORE();
    int64_t flags = 0;
    if (n > 1 && !pel_index(vm, args[1], &flags)) return NULL;
    if (!pel_is_str(args[0]) && !pel_is(args[0], PEL_L_BYTES))
        return pel_raise(vm, vm->types.TypeError, "first argument must be string or compiled pattern");
    return pel_regex_compile(vm, args[0], flags);
}
METHOD(p_json_loads) {
    IGNORE();
    if (!pel_is_str(args[0]) && !pel_is(args[0], PEL_L_BYTES))
        return pel_raise(vm, vm->types.TypeError, "the JSON object must be str, bytes or bytearray");
    return pel_json_value(vm, pel_text_of(args[0]));
}
METHOD(p_yaml_documents) {
    IGNORE();
    if (!pel_is_str(args[0])) return pel_raise(vm, vm->types.TypeError, "yaml_documents() needs text");
    return pel_yaml_documents(vm, pel_text_of(args[0]), n > 1 && args[1] == vm->true_);
}
METHOD(p_hash_text) {
    IGNORE();
    if (!pel_is_str(args[0]) && !pel_is(args[0], PEL_L_BYTES))
        return pel_raise(vm, vm->types.TypeError, "hash_text() needs text");
    return pel_hash_text(vm, pel_text_of(args[0]), text_or(args[1], "sha256"));
}
METHOD(p_float_format) {
    IGNORE();
    return pel_format_val(vm, args[0], text_or(args[1], ""));
}
METHOD(p_steps) {
    IGNORE();
    (void)args;
    return pel_int_of(vm, (int64_t)vm->steps);
}

/* lib/README.md lists these names: a new row needs a line there. The two natives of of_tables run for most attributes
 * of an nn.Module, so the names of its tables are interned once and bound to them. */
pel_val pel_native_pellucid(pel_vm *vm) {
    static const pel_native_row rows[] = {
        { "symbol", p_symbol, 1, 2, true },
        { "symbol_module", p_symbol_module, 1, 1 },
        { "is_symbol", p_is_symbol, 1, 1 },
        { "symbol_text", p_symbol_text, 1, 1 },
        { "symbol_why", p_symbol_why, 1, 1 },
        { "unknown", p_unknown, 1, 2, true },
        { "unknown_module", p_unknown_module, 1, 2, true },
        { "unmodelled", p_unmodelled, 1, 1, false },
        { "premise", p_premise, 2, 2, false },
        { "shaped", p_shaped, 0, 0, false },
        { "note_guess", p_note_guess, 2, 2, false },
        { "note_error", p_note_error, 1, 2, true },
        { "place", p_place, 0, 0 },
        { "copied", p_copied, 3, 3 },
        { "type_of", p_type_of, 1, 1 },
        { "lookup", p_lookup, 2, 3 },
        { "get_dict", p_get_dict, 1, 1 },
        { "object_setattr", p_object_setattr, 3, 3 },
        { "discard", p_discard, 1, -1 },
        { "strided", p_strided, 4, 4 },
        { "put_strided", p_put_strided, 5, 5 },
        { "read_text", p_read_text, 1, 1 },
        { "read_bytes", p_read_bytes, 1, 1 },
        { "is_file", p_is_file, 1, 1 },
        { "is_dir", p_is_dir, 1, 1 },
        { "list_dir", p_list_dir, 1, 1 },
        { "source_of", p_source_of, 1, 1 },
        { "source_place", p_source_place, 1, 1 },
        { "import_module", p_import_module, 1, 2, true },
        { "find_module", p_find_module, 1, 1 },
        { "run_file", p_run_file, 1, 1 },
        { "registrations", p_registrations, 2, 2 },
        { "new_module", p_new_module, 1, 1 },
        { "make_function", p_make_function, 2, 5, true },
        { "name_apart", p_name_apart, 1, 1 },
        { "make_method", p_make_method, 2, 2 },
        { "make_cell", p_make_cell, 0, 1 },
        { "types", p_types, 0, 0 },
        { "regex", p_regex, 1, 2 },
        { "json_loads", p_json_loads, 1, 1 },
        { "yaml_documents", p_yaml_documents, 1, 2 },
        { "hash_text", p_hash_text, 2, 2 },
        { "float_format", p_float_format, 2, 2 },
        { "steps", p_steps, 0, 0 },
        { NULL },
    };
    pel_val module = pel_new_module(vm, pel_interned_c(vm, "_pellucid"));
    pel_add_functions(vm, module->attrs, rows);
    static const pel_native_row of_tables[] = {
        { "set_plain", p_set_plain, 3, 3 },
        { "registered", p_registered, 2, 2 },
    };
    pel_val tables[] = { pel_interned_c(vm, "_parameters"), pel_interned_c(vm, "_modules"),
                         pel_interned_c(vm, "_buffers") };
    for (size_t i = 0; i < PEL_COUNT(of_tables); i++) {
        const pel_native_row *row = &of_tables[i];
        pel_val native = pel_new_native(vm, row->name, row->fn, row->min, row->max, false);
        ((pel_native *)native)->bound = pel_tuple_of(vm, tables, PEL_COUNT(tables));
        pel_dict_set_c(vm, module->attrs, row->name, native);
    }
    return module;
}

void pel_init_modules(pel_vm *vm) {
    pel_init_regex(vm);
    pel_dict_set_c(vm, vm->modules, "sys", pel_native_sys(vm));
    pel_dict_set_c(vm, vm->modules, "math", pel_native_math(vm));
    pel_dict_set_c(vm, vm->modules, "_pellucid", pel_native_pellucid(vm));
    pel_val builtins = pel_new_module(vm, pel_interned_c(vm, "builtins"));
    builtins->attrs = vm->builtins;
    pel_dict_set_c(vm, vm->modules, "builtins", builtins);
}
