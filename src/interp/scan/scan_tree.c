/* Live modules of the machine -> model tree. */
#include "interp/scan.h"

#include "python/parse.h"

#define MAX_DEPTH 100
#define MAX_MODULES 200000

/* ---- which objects are modules ---- */

/* torch.nn's Module and Keras' Layer, by the names that their own sources give them. */
pel_module_kind pel_module_kind_of(pel_scanner *scanner, pel_type *type) {
    uint64_t known = pel_map_find(&scanner->is_module, PEL_KEY(type), 0);
    if (known) return (pel_module_kind)(known - 1);
    pel_module_kind kind = pel_kind_of_class(scanner->vm, type);
    pel_map_set(scanner->vm->ctx, &scanner->is_module, PEL_KEY(type), (uint64_t)kind + 1);
    return kind;
}

/* ---- births ---- */

static bool is_module(pel_scanner *scanner, pel_val v) {
    return !pel_is_small(v) && !v->type->is_native && v->type->layout == PEL_L_OBJECT &&
           pel_module_kind_of(scanner, v->type);
}

pel_birth *pel_birth_of(pel_scanner *scanner, pel_val self) { return pel_map_pointer(&scanner->births, PEL_KEY(self)); }

static void add_birth(pel_scanner *scanner, pel_birth *birth) {
    pel_map_set(scanner->vm->ctx, &scanner->births, PEL_KEY(birth->self), PEL_KEY(birth));
    pel_push(scanner->vm->ctx, &scanner->order, birth);
}

pel_type *pel_torch_class_of(pel_vm *vm, const pel_type *type) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        pel_type *base = pel_as_type(mro->at[i]);
        pel_val module = base->head.attrs ? pel_dict_get_str(base->head.attrs, vm->names.s_module) : NULL;
        if (module && pel_is_str(module) && pel_str_starts(pel_text_of(module), PEL_STR("torch."))) return base;
    }
    return NULL;
}

/* One that only passes everything on (nn.LSTM) has the parameters of its base's. */
pel_val pel_torch_init_of(pel_vm *vm, const pel_type *type) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        pel_val init = mro->at[i]->attrs ? pel_dict_get_str(mro->at[i]->attrs, vm->names.s_init) : NULL;
        if (!init || !pel_is(init, PEL_L_FUNCTION)) continue;
        pel_val wrapped = init->attrs ? pel_dict_get_str(init->attrs, vm->names.s_wrapped) : NULL;
        if (wrapped && pel_is(wrapped, PEL_L_FUNCTION)) init = wrapped; /* a model of ours around torch's own */
        const pel_codeobj *code = ((pel_function *)init)->code;
        if (!code->has_varargs && !code->has_varkw) return init;
    }
    return NULL;
}

static void watch_init(pel_vm *vm, const pel_type *type) {
    const pel_type *base = pel_torch_class_of(vm, type);
    pel_val init = base ? pel_torch_init_of(vm, base) : NULL;
    if (init) ((pel_function *)init)->code->is_watched = true;
}

static void on_bind(pel_vm *vm, pel_function *function, const pel_frame *frame) {
    pel_birth *birth = function->code->n_args ? pel_birth_of(vm->scan, frame->slots[0]) : NULL;
    if (!birth || pel_torch_init_of(vm, pel_torch_class_of(vm, birth->self->type)) != &function->head) return;
    birth->built_by = &function->head;
    birth->built_of = pel_tuple_of(vm, frame->slots, function->code->n_args + function->code->n_kwonly);
}

static void on_construct(pel_vm *vm, pel_val self, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_scanner *scanner = vm->scan;
    if (!is_module(scanner, self) || pel_birth_of(scanner, self)) return;
    pel_birth *birth = pel_new(vm->ctx, pel_birth);
    birth->self = self;
    birth->args = pel_tuple_of(vm, args, n);
    birth->kw_names = pel_tuple_of(vm, kw ? kw->names : NULL, kw ? kw->n : 0);
    birth->kw_values = pel_tuple_of(vm, kw ? kw->values : NULL, kw ? kw->n : 0);
    birth->repeating = pel_repeating_counts(vm);
    birth->flops = -1;
    pel_here(vm, true, &birth->file, &birth->line);
    add_birth(scanner, birth);
    if (scanner->wants_source) watch_init(vm, self->type);
}

/* A copy was made as its original was, but in the loops that copy it. Those that the root was made in are not its own;
 * those inside of the root are. */
static void on_copy(pel_vm *vm, pel_val from, pel_val made, pel_val root) {
    pel_scanner *scanner = vm->scan;
    if (!is_module(scanner, from) || !is_module(scanner, made) || pel_birth_of(scanner, made)) return;
    const pel_birth *original = pel_birth_of(scanner, from), *outermost = pel_birth_of(scanner, root);
    pel_birth *birth = pel_new(vm->ctx, pel_birth);
    pel_val now = pel_repeating_counts(vm), loops = pel_list_of(vm, pel_tuple_at(now)->at, pel_tuple_at(now)->n);
    if (original) {
        *birth = *original;
        const pel_tuple *counts = pel_tuple_at(original->repeating);
        for (uint32_t i = outermost ? pel_tuple_at(outermost->repeating)->n : 0; i < counts->n; i++)
            pel_list_push(vm, loops, counts->at[i]);
    } else {
        birth->args = birth->kw_names = birth->kw_values = pel_tuple_of(vm, NULL, 0);
        pel_here(vm, true, &birth->file, &birth->line);
    }
    birth->self = made;
    birth->repeating = pel_tuple_of(vm, pel_list_at(loops)->at, pel_list_at(loops)->n);
    birth->output = (pel_shape){ 0 };
    birth->flops = -1;
    add_birth(scanner, birth);
}

/* A module that was made in loops which have ended stands for all that they made. */
static pel_val on_count(pel_vm *vm, pel_val member) {
    const pel_birth *birth = pel_is_small(member) ? NULL : pel_birth_of(vm->scan, member);
    if (!birth) return NULL;
    const pel_tuple *counts = pel_tuple_at(birth->repeating);
    pel_val times = NULL;
    for (uint32_t i = vm->repeating.n; i < counts->n; i++)
        times = times ? pel_symbol_binary(vm, "*", times, counts->at[i]) : counts->at[i];
    return times;
}

static bool is_network(pel_vm *vm, pel_val v) { return pel_birth_of(vm->scan, v) != NULL; }

void pel_watch_births(pel_scanner *scanner) {
    scanner->vm->is_network = is_network;
    scanner->vm->scan = scanner;
    scanner->vm->on_construct = on_construct;
    scanner->vm->on_copy = on_copy;
    scanner->vm->on_bind = on_bind;
    scanner->vm->on_count = on_count;
    scanner->vm->on_leave = pel_leave_function;
}

/* ---- arguments ---- */

static pel_node *name_node(pel_ctx *ctx, pel_str text) {
    if (text.len > 120) text = pel_format(ctx, "%.*s…", 120, text.ptr);
    return pel_make_name(ctx, pel_intern_str(ctx, text), PEL_Load);
}

static pel_node *node_of(pel_vm *vm, pel_val v, uint32_t depth);

static pel_nodes item_nodes(pel_vm *vm, pel_val v, uint32_t depth) {
    pel_nodes nodes = { 0 };
    uint32_t n;
    pel_val *items = pel_items(v, &n);
    for (uint32_t i = 0; i < n && i < 32; i++) pel_nodes_push(vm->ctx, &nodes, node_of(vm, items[i], depth + 1));
    if (n > 32) pel_nodes_push(vm->ctx, &nodes, name_node(vm->ctx, PEL_STR("…")));
    return nodes;
}

/* Readers see these nodes and scan_join.c compares them; no code runs them. Long arguments are cut, a dict without a
 * mark. A subclass of a builtin shows only its type: as a plain value it would look like the builtin. */
static pel_node *node_of(pel_vm *vm, pel_val v, uint32_t depth) {
    pel_ctx *ctx = vm->ctx;
    int64_t i;
    if (depth > 6) return name_node(ctx, PEL_STR("…"));
    pel_vm_layout layout = pel_type_of(vm, v)->layout;
    bool is_native = pel_type_of(vm, v)->is_native;
    switch (layout) {
    case PEL_L_NONE: return v == vm->none ? pel_make_none(ctx) : name_node(ctx, PEL_STR("…"));
    case PEL_L_BOOL: return pel_make_constant(ctx, pel_const_bool(v == vm->true_));
    case PEL_L_INT:
        if (is_native && pel_to_i64(v, &i)) {
            if (i >= 0) return pel_make_int(ctx, i);
            pel_node *minus = pel_node_new(ctx, PEL_UnaryOp);
            minus->UnaryOp.op = PEL_USub;
            minus->UnaryOp.operand = pel_make_int(ctx, -i);
            return minus;
        }
        break;
    case PEL_L_FLOAT:
        if (is_native) return pel_make_constant(ctx, pel_const_float(ctx, ((pel_float *)v)->value));
        break;
    case PEL_L_STR:
        if (is_native) return pel_make_text(ctx, pel_readable(vm, pel_text_of(v)));
        break;
    case PEL_L_TUPLE:
    case PEL_L_LIST: {
        if (!is_native) break;
        pel_node *node = pel_node_new(ctx, layout == PEL_L_TUPLE ? PEL_Tuple : PEL_List);
        if (layout == PEL_L_TUPLE)
            node->Tuple.elts = item_nodes(vm, v, depth);
        else
            node->List.elts = item_nodes(vm, v, depth);
        return node;
    }
    case PEL_L_DICT: {
        const pel_codeobj *made_by = pel_type_of(vm, v)->made_by; /* a model's own: the user wrote a dict */
        if (!is_native && !(made_by && made_by->is_stub)) break;
        pel_node *node = pel_node_new(ctx, PEL_Dict);
        uint32_t at = 0, n = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(v), &at)) && n < 32; n++) {
            pel_nodes_push(ctx, &node->Dict.keys, node_of(vm, entry->key, depth + 1));
            pel_nodes_push(ctx, &node->Dict.values, node_of(vm, entry->value, depth + 1));
        }
        return node;
    }
    case PEL_L_TYPE: return name_node(ctx, pel_text_of(pel_as_type(v)->name));
    case PEL_L_FUNCTION: return name_node(ctx, pel_text_of(((pel_function *)v)->name));
    case PEL_L_NATIVE: return name_node(ctx, pel_str_of(((pel_native *)v)->name));
    case PEL_L_SYMBOL: return name_node(ctx, ((pel_symbol *)v)->text);
    default: break;
    }
    return name_node(ctx, pel_format(ctx, "<%s>", pel_type_text(vm, v)));
}

pel_node *pel_value_node(pel_vm *vm, pel_val v) { return node_of(vm, v, 0); }

/* Whether a symbol is a value, or in a container. */
static bool has_symbol(pel_val v, uint32_t depth) {
    uint32_t n = 0, at = 0;
    if (pel_is_small(v) || depth > 4) return false;
    if (pel_is_symbol(v)) return true;
    if (pel_is_str(v)) return pel_text_has_symbol(v);
    pel_val *items = pel_is_tuple(v) || pel_is_list(v) ? pel_items(v, &n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        if (items[i] && has_symbol(items[i], depth + 1)) return true;
    if (!pel_is_dict(v)) return false;
    for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(v), &at));)
        if (has_symbol(entry->value, depth + 1)) return true;
    return false;
}

/* What a library lacks matters if its classes are in the tree, or symbols (library empty): then those rows are no
 * premises. */
static void keep_imports(pel_vm *vm, pel_str library) {
    for (uint32_t i = 0; i < vm->unknown.n; i++) {
        pel_note *note = &vm->unknown.at[i];
        if (!library.len || pel_str_eq(note->library, library)) note->library = PEL_STR("");
    }
}

static void keep_imports_of(pel_vm *vm, const pel_type *type) {
    const pel_tuple *mro = pel_tuple_at(type->mro);
    bool any = false;
    for (uint32_t i = 0; i < vm->unknown.n && !any; i++) any = vm->unknown.at[i].library.len > 0;
    for (uint32_t i = 0; i < mro->n && any; i++) {
        const pel_codeobj *code = pel_as_type(mro->at[i])->made_by;
        pel_str library = code ? pel_library_of(vm, code->file) : PEL_STR("");
        if (library.len) keep_imports(vm, library);
    }
}

static void put_args(pel_vm *vm, pel_module *module, const pel_birth *birth) {
    const pel_tuple *args = pel_tuple_at(birth->args), *names = pel_tuple_at(birth->kw_names),
                    *values = pel_tuple_at(birth->kw_values);
    for (uint32_t i = 0; i < args->n; i++)
        pel_push(vm->ctx, &module->args, (pel_model_argument){ { "", 0 }, node_of(vm, args->at[i], 0) });
    for (uint32_t i = 0; i < names->n; i++)
        pel_push(vm->ctx, &module->args,
                 (pel_model_argument){ pel_text_of(names->at[i]), node_of(vm, values->at[i], 0) });
    if (has_symbol(birth->args, 0) || has_symbol(birth->kw_values, 0)) keep_imports(vm, PEL_STR(""));
}

/* ---- tensors ---- */

static pel_val own(pel_vm *vm, pel_val v, const char *name) {
    return pel_is_small(v) || !v->attrs ? NULL : pel_dict_get_c(vm, v->attrs, name);
}

static pel_val ask(pel_vm *vm, pel_val v, const char *name) {
    bool failed;
    pel_val found = pel_find_attr(vm, v, pel_interned_c(vm, name), &failed);
    if (failed) pel_forget(vm);
    return found;
}

static pel_dim dim_of(pel_vm *vm, pel_val v) {
    int64_t size;
    if (pel_is_int(v) && pel_to_i64(v, &size)) return (pel_dim){ size, { "", 0 } };
    return (pel_dim){ 0, pel_symbol_arg(vm, v) };
}

pel_shape pel_shape_of_val(pel_scanner *scanner, pel_val tensor) {
    pel_vm *vm = scanner->vm;
    pel_shape shape = { 0 };
    pel_val sizes = own(vm, tensor, "_shape");
    if (!sizes) sizes = ask(vm, tensor, "_shape");
    if (!sizes || (!pel_is_tuple(sizes) && !pel_is_list(sizes))) return shape;
    pel_val *items = pel_items(sizes, &shape.n);
    shape.dims = pel_new_array(vm->ctx, shape.n ? shape.n : 1, pel_dim);
    for (uint32_t i = 0; i < shape.n; i++) shape.dims[i] = dim_of(vm, items[i]);
    shape.is_known = true;
    return shape;
}

typedef struct reader {
    pel_scanner *scanner;
    pel_map tensors; /* storage or tensor -> index of its first name */
    pel_map modules;
    PEL_VEC(pel_str) names;
    uint32_t n_modules;
} reader;

static pel_str join(pel_ctx *ctx, pel_str path, pel_str name) {
    return path.len ? pel_format(ctx, "%.*s.%.*s", PEL_FMT(path), PEL_FMT(name)) : name;
}

/* The first name of this object, or empty if this is the first. */
static pel_str first_name(reader *r, pel_map *seen, pel_val object, pel_str name) {
    uint64_t at = pel_map_find(seen, PEL_KEY(object), UINT64_MAX);
    if (at != UINT64_MAX) return r->names.at[at];
    pel_map_set(r->scanner->vm->ctx, seen, PEL_KEY(object), r->names.n);
    pel_push(r->scanner->vm->ctx, &r->names, name);
    return (pel_str){ "", 0 };
}

static void add_tensor(reader *r, pel_module *module, pel_str path, pel_str name, pel_val tensor,
                       pel_tensor_role role) {
    pel_vm *vm = r->scanner->vm;
    if (tensor == vm->none) return;
    name = pel_readable(vm, name);
    pel_model_tensor row = { .name = name, .role = role };
    row.shape = pel_shape_of_val(r->scanner, tensor);
    pel_val dtype = own(vm, tensor, "_dtype");
    if (!dtype) dtype = ask(vm, tensor, "_dtype");
    pel_val text = dtype && !pel_is_str(dtype) ? ask(vm, dtype, "_name") : dtype;
    if (text && pel_is_str(text)) row.dtype = pel_text_of(text);
    if (role == PEL_PARAMETER) {
        pel_val grad = own(vm, tensor, "requires_grad");
        if (!grad) grad = ask(vm, tensor, "requires_grad");
        pel_val trainable = own(vm, tensor, "trainable");
        row.frozen = grad == vm->false_ || trainable == vm->false_;
    }
    pel_val storage = own(vm, tensor, "_storage");
    pel_val key = storage && storage != vm->none ? storage : tensor;
    row.tied_to = first_name(r, &r->tensors, key, join(vm->ctx, path, name));
    pel_push(vm->ctx, &module->tensors, row);
}

/* ---- modules ---- */

static pel_module *read_module(reader *r, pel_val self, pel_str name, pel_str path, uint32_t parent_loops,
                               uint32_t depth);

/* One attribute holds one module, however often a loop wrote it; what is numbered, or named by the pass, is many. */
static bool is_numbered(pel_str name) {
    bool digits = name.len > 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] == '{') return true;
        digits &= name.ptr[i] >= '0' && name.ptr[i] <= '9';
    }
    return digits;
}

static void add_child(reader *r, pel_module *module, pel_str path, pel_str name, pel_val child, uint32_t loops,
                      uint32_t depth) {
    if (child == r->scanner->vm->none) return;
    pel_module *made = read_module(r, child, name, join(r->scanner->vm->ctx, path, name), loops, depth + 1);
    if (pel_module_kind_of(r->scanner, pel_type_of(r->scanner->vm, child)) == PEL_TORCH_MODULE && !is_numbered(name))
        made->repeat = (pel_dim){ 1, { "", 0 } };
    if (made) pel_push(r->scanner->vm->ctx, &module->children, made);
}

/* A module that is numbered by the index of a loop is called by its position. */
static pel_str key_text(pel_vm *vm, pel_val key, uint32_t position) {
    pel_str text = pel_is_str(key) ? pel_readable(vm, pel_text_of(key)) : (pel_str){ "", 0 };
    return text.len && text.ptr[0] != '{' ? text : pel_format(vm->ctx, "%u", position);
}

/* ---- layers of classes that are not there ---- */

static pel_str last_part(pel_str text) {
    size_t at = text.len;
    while (at > 0 && text.ptr[at - 1] != '.') at--;
    return pel_str_from(text, at);
}

static void put_written_args(pel_vm *vm, pel_module *module, const pel_node *call) {
    for (uint32_t i = 0; i < call->Call.args.n; i++)
        pel_push(vm->ctx, &module->args, ((pel_model_argument){ { "", 0 }, call->Call.args.at[i] }));
    for (uint32_t i = 0; i < call->Call.keywords.n; i++) {
        const pel_node *keyword = call->Call.keywords.at[i];
        if (!keyword->keyword.arg) continue;
        pel_model_argument row = { pel_name_str(keyword->keyword.arg), keyword->keyword.value };
        pel_push(vm->ctx, &module->args, row);
    }
}

/* Its class and arguments are all that is known; whether it has tensors is not. */
static pel_module *opaque_module(pel_vm *vm, const pel_symbol *symbol, pel_str name) {
    pel_module *module = pel_module_new(vm->ctx, name, symbol->text);
    module->is_opaque = true;
    keep_imports(vm, PEL_STR(""));
    const pel_node *call = symbol->made_by && symbol->made_by->kind == PEL_Call ? symbol->made_by : NULL;
    if (symbol->made_of) {
        const pel_val *parts = pel_tuple_at(symbol->made_of)->at;
        pel_birth made = { .args = parts[1], .kw_names = parts[2], .kw_values = parts[3] };
        module->class = last_part(((pel_symbol *)parts[0])->text);
        put_args(vm, module, &made);
    } else if (call && (call->Call.func->kind == PEL_Name || call->Call.func->kind == PEL_Attribute)) {
        module->class = pel_name_str(call->Call.func->kind == PEL_Name ? call->Call.func->Name.id
                                                                       : call->Call.func->Attribute.attr);
        put_written_args(vm, module, call);
    }
    if (symbol->code) module->origin = (pel_place){ .file = symbol->code->file, .line = symbol->line };
    pel_str what = name.len ? pel_format(vm->ctx, "%.*s: %.*s", PEL_FMT(name), PEL_FMT(module->class)) : module->class;
    pel_note row = { what, symbol->why, module->origin.file, module->origin.line };
    pel_str callee = symbol->made_of ? ((pel_symbol *)pel_tuple_at(symbol->made_of)->at[0])->text : what;
    for (uint32_t i = 0; i < vm->unknown.n; i++) { /* the call itself may have said it */
        const pel_note *there = &vm->unknown.at[i];
        if (there->line != row.line || !pel_str_eq(there->file, row.file)) continue;
        if (pel_str_eq(there->what, what) || pel_str_eq(there->what, callee)) return module;
    }
    if (vm->unknown.n < 1000) pel_push(vm->ctx, &vm->unknown, row);
    return module;
}

/* What an attribute holds that something unknown made may be a layer. */
static bool may_be_layer(pel_val v) {
    const pel_symbol *symbol = pel_is_small(v) || !pel_is_symbol(v) ? NULL : (const pel_symbol *)v;
    if (!symbol) return false;
    if (symbol->may_be_module) return true;
    return symbol->is_missing && (symbol->made_of || (symbol->made_by && pel_may_give_module(symbol->made_by)));
}

static void read_opaque(reader *r, pel_module *module, pel_val self) {
    uint32_t at = 0;
    for (pel_entry *entry; self->attrs && (entry = pel_dict_next(self->attrs, &at));)
        if (pel_is_str(entry->key) && may_be_layer(entry->value))
            pel_push(r->scanner->vm->ctx, &module->children,
                     opaque_module(r->scanner->vm, (pel_symbol *)entry->value, pel_text_of(entry->key)));
}

static void read_torch(reader *r, pel_module *module, pel_val self, pel_str path, uint32_t loops, uint32_t depth) {
    pel_vm *vm = r->scanner->vm;
    pel_val parameters = own(vm, self, "_parameters"), buffers = own(vm, self, "_buffers"),
            modules = own(vm, self, "_modules");
    pel_val volatiles = own(vm, self, "_non_persistent_buffers_set");
    uint32_t at = 0;
    if (parameters && pel_is_dict(parameters))
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(parameters), &at));)
            if (pel_is_str(entry->key))
                add_tensor(r, module, path, pel_text_of(entry->key), entry->value, PEL_PARAMETER);
    at = 0;
    if (buffers && pel_is_dict(buffers))
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(buffers), &at));) {
            if (!pel_is_str(entry->key)) continue;
            pel_val is_volatile = NULL;
            if (volatiles && pel_is_set(volatiles)) pel_dict_get(vm, pel_dict_at(volatiles), entry->key, &is_volatile);
            add_tensor(r, module, path, pel_text_of(entry->key), entry->value,
                       is_volatile ? PEL_VOLATILE_BUFFER : PEL_BUFFER);
        }
    at = 0;
    if (modules && pel_is_dict(modules))
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(modules), &at));)
            add_child(r, module, path, key_text(vm, entry->key, module->children.n), entry->value, loops, depth);
    read_opaque(r, module, self);
}

static void read_keras(reader *r, pel_module *module, pel_val self, pel_str path, uint32_t loops, uint32_t depth) {
    pel_vm *vm = r->scanner->vm;
    pel_val weights = ask(vm, self, "_weights_in_order"), layers = ask(vm, self, "_layers_in_order"), *items;
    uint32_t n;
    if (weights && pel_collect(vm, weights, &items, &n))
        for (uint32_t i = 0; i < n; i++) {
            pel_val name = ask(vm, items[i], "name");
            pel_str text = name && pel_is_str(name) ? pel_text_of(name) : pel_format(vm->ctx, "%u", i);
            add_tensor(r, module, path, text, items[i], PEL_PARAMETER);
        }
    if (layers && pel_collect(vm, layers, &items, &n))
        for (uint32_t i = 0; i < n; i++) {
            if (!pel_is_tuple(items[i]) || pel_tuple_at(items[i])->n != 2) continue;
            pel_val name = pel_tuple_at(items[i])->at[0];
            pel_str text = pel_is_str(name) ? pel_text_of(name) : pel_format(vm->ctx, "%u", i);
            add_child(r, module, path, text, pel_tuple_at(items[i])->at[1], loops, depth);
        }
    pel_forget(vm);
}

/* Networks that something unknown was called with are parts of what it gave, as far as anybody knows. */
static void add_given(reader *r, pel_module *module, const pel_symbol *symbol, pel_str path, uint32_t depth) {
    pel_vm *vm = r->scanner->vm;
    if (!symbol->made_of) return;
    const pel_val *parts = pel_tuple_at(symbol->made_of)->at;
    const pel_tuple *args = pel_tuple_at(parts[1]), *names = pel_tuple_at(parts[2]), *values = pel_tuple_at(parts[3]);
    for (uint32_t i = 0; i < args->n; i++)
        if (is_module(r->scanner, args->at[i]))
            add_child(r, module, path, pel_format(vm->ctx, "%u", i), args->at[i], 0, depth);
    for (uint32_t i = 0; i < values->n; i++)
        if (is_module(r->scanner, values->at[i]))
            add_child(r, module, path, pel_text_of(names->at[i]), values->at[i], 0, depth);
}

/* parent_loops counts the loops that the parents show already: only loops beyond it multiply this module. A shared
 * module is read under each of its names, so a cycle ends at MAX_DEPTH, and scanner->names keeps the last path. */
static pel_module *read_module(reader *r, pel_val self, pel_str name, pel_str path, uint32_t parent_loops,
                               uint32_t depth) {
    pel_vm *vm = r->scanner->vm;
    if (depth > MAX_DEPTH) pel_throw(vm->ctx, PEL_E_TOO_DEEP, 0, "modules nest deeper than %d", MAX_DEPTH);
    if (++r->n_modules > MAX_MODULES) pel_throw(vm->ctx, PEL_E_TOO_BIG, 0, "more than %d modules", MAX_MODULES);
    if (pel_is_symbol(self)) {
        pel_module *opaque = opaque_module(vm, (pel_symbol *)self, name);
        add_given(r, opaque, (pel_symbol *)self, path, depth);
        return opaque;
    }
    pel_type *type = pel_type_of(vm, self);
    pel_module *module = pel_module_new(vm->ctx, name, pel_text_of(type->name));
    keep_imports_of(vm, type);
    module->shared_with = first_name(r, &r->modules, self, path);
    if (type->made_by) module->class_file = type->made_by->file;
    uint32_t loops = parent_loops;
    const pel_birth *birth = pel_birth_of(r->scanner, self);
    if (birth) {
        put_args(vm, module, birth);
        module->origin = (pel_place){ .file = birth->file, .line = birth->line };
        module->output = birth->output;
        module->flops = birth->flops;
        const pel_tuple *counts = pel_tuple_at(birth->repeating);
        for (uint32_t i = parent_loops; i < counts->n; i++) {
            pel_str count = pel_symbol_arg(vm, counts->at[i]);
            module->repeat.symbol =
                module->repeat.symbol.len
                    ? pel_format(vm->ctx, "%.*s * %.*s", PEL_FMT(module->repeat.symbol), PEL_FMT(count))
                    : count;
        }
        if (module->repeat.symbol.len) keep_imports(vm, PEL_STR(""));
        if (counts->n > loops) loops = counts->n;
    }
    pel_map_set(vm->ctx, &r->scanner->names, PEL_KEY(self), r->scanner->paths.n);
    pel_push(vm->ctx, &r->scanner->paths, path);
    pel_module_kind kind = pel_module_kind_of(r->scanner, type);
    if (kind == PEL_TORCH_MODULE) read_torch(r, module, self, path, loops, depth);
    if (kind == PEL_KERAS_LAYER) read_keras(r, module, self, path, loops, depth);
    return module;
}

pel_module *pel_read_module(pel_scanner *scanner, pel_val self, pel_str name) {
    reader r = { .scanner = scanner };
    scanner->paths.n = 0;
    scanner->names = (pel_map){ 0 };
    pel_module *root = read_module(&r, self, name, (pel_str){ "", 0 }, 0, 0);
    return root;
}
