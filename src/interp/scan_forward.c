/* A forward on abstract tensors: output shapes of every module, what feeds what, and where shapes disagree. */
#include "interp/scan.h"

static pel_str path_of(pel_scanner *scanner, pel_val self) {
    uint64_t at = pel_map_find(&scanner->names, PEL_KEY(self), UINT64_MAX);
    return at == UINT64_MAX ? (pel_str){ "", 0 } : scanner->paths.at[at];
}

static bool is_tensor(pel_vm *vm, pel_val v) {
    return !pel_is_small(v) && v->attrs && pel_dict_get_c(vm, v->attrs, "_shape") != NULL;
}

static bool is_leaf(pel_vm *vm, pel_val self) {
    pel_val modules = self->attrs ? pel_dict_get_c(vm, self->attrs, "_modules") : NULL;
    return modules && pel_is_dict(modules) && !pel_dict_at(modules)->live;
}

static void add_flow(pel_scanner *scanner, pel_str from, pel_str to, pel_val tensor) {
    pel_network *network = scanner->network;
    for (uint32_t i = 0; i < network->flow.n; i++)
        if (pel_str_eq(network->flow.at[i].from, from) && pel_str_eq(network->flow.at[i].to, to)) return;
    if (network->flow.n < 100000)
        pel_push(scanner->vm->ctx, &network->flow, (pel_flow){ from, to, pel_shape_of_val(scanner, tensor) });
}

/* Where a tensor came from is written on it: the leaf that gave it, or a tuple of those whose outputs were joined. */
static void flow_into(pel_scanner *scanner, pel_val v, pel_str to, uint32_t depth) {
    pel_vm *vm = scanner->vm;
    if (depth > 4) return;
    if (pel_is_tuple(v) || pel_is_list(v)) {
        uint32_t n;
        pel_val *items = pel_items(v, &n);
        for (uint32_t i = 0; i < n && i < 64; i++) flow_into(scanner, items[i], to, depth + 1);
    } else if (is_tensor(vm, v)) {
        pel_val from = pel_dict_get_c(vm, v->attrs, "_given_by");
        if (from && pel_is_str(from)) add_flow(scanner, pel_text_of(from), to, v);
        if (!from || !pel_is_tuple(from)) return;
        for (uint32_t i = 0; i < pel_tuple_at(from)->n; i++) {
            pel_val one = pel_tuple_at(from)->at[i];
            if (pel_is_str(one)) add_flow(scanner, pel_text_of(one), to, v);
        }
    }
}

static void mark(pel_scanner *scanner, pel_val v, pel_val name, uint32_t depth) {
    pel_vm *vm = scanner->vm;
    if (depth > 4) return;
    if (pel_is_tuple(v) || pel_is_list(v)) {
        uint32_t n;
        pel_val *items = pel_items(v, &n);
        for (uint32_t i = 0; i < n && i < 64; i++) mark(scanner, items[i], name, depth + 1);
    } else if (is_tensor(vm, v)) {
        pel_dict_set_c(vm, v->attrs, "_given_by", name);
    }
}

static bool on_call(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n) {
    pel_scanner *scanner = vm->scan;
    if (!pel_module_kind_of(scanner, callee->type)) return false;
    pel_push(vm->ctx, &scanner->running, callee);
    if (is_leaf(vm, callee))
        for (uint32_t i = 0; i < n; i++) flow_into(scanner, args[i], path_of(scanner, callee), 0);
    return true;
}

static pel_shape output_shape(pel_scanner *scanner, pel_val result) {
    if (is_tensor(scanner->vm, result)) return pel_shape_of_val(scanner, result);
    /* the first tensor of a tuple or of a dict is the output people speak of */
    if (pel_is_tuple(result) || pel_is_list(result)) {
        uint32_t n;
        pel_val *items = pel_items(result, &n);
        for (uint32_t i = 0; i < n; i++)
            if (is_tensor(scanner->vm, items[i])) return pel_shape_of_val(scanner, items[i]);
    }
    if (pel_is_dict(result)) {
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(result), &at));)
            if (is_tensor(scanner->vm, entry->value)) return pel_shape_of_val(scanner, entry->value);
    }
    return (pel_shape){ 0 };
}

static void on_return(pel_vm *vm, pel_val callee, pel_val result) {
    pel_scanner *scanner = vm->scan;
    if (scanner->running.n) scanner->running.n--;
    pel_birth *birth = pel_birth_of(scanner, callee);
    if (!result || !birth) return;
    birth->output = output_shape(scanner, result);
    if (is_leaf(vm, callee)) mark(scanner, result, pel_new_text(vm, path_of(scanner, callee)), 0);
}

/* "2x3x224x224" or "2x128:int64" */
static pel_val make_input(pel_vm *vm, pel_str text) {
    pel_val sizes = pel_list_of(vm, NULL, 0), dtype = NULL;
    const char *colon = memchr(text.ptr, ':', text.len);
    pel_val torch = pel_import(vm, PEL_STR("torch"));
    if (!torch) return NULL;
    if (colon) {
        dtype = pel_getattr(vm, torch, pel_interned(vm, pel_str_from(text, (size_t)(colon - text.ptr) + 1)));
        if (!dtype) return NULL;
        text = pel_str_cut(text, 0, (size_t)(colon - text.ptr));
    }
    int64_t size = 0;
    bool any = false;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && size < 1000000000) {
            size = size * 10 + (text.ptr[i] - '0');
            any = true;
        } else if (any && (i == text.len || text.ptr[i] == 'x')) {
            pel_list_push(vm, sizes, pel_int_of(vm, size));
            size = 0;
            any = false;
        } else {
            pel_throw(vm->ctx, PEL_E_USAGE, 0, "'%.*s' is no shape such as 2x3x224x224", PEL_FMT(text));
        }
    }
    pel_val name = pel_interned_c(vm, "dtype");
    pel_kw kw = { dtype ? 1 : 0, &name, &dtype };
    pel_val empty = pel_getattr_c(vm, torch, "empty");
    return empty ? pel_call(vm, empty, &sizes, 1, dtype ? &kw : NULL) : NULL;
}

void pel_scan_forward(pel_scanner *scanner, pel_network *network, pel_val self, pel_str shapes) {
    pel_vm *vm = scanner->vm;
    pel_val inputs = pel_list_of(vm, NULL, 0);
    scanner->network = network;
    scanner->running.n = 0;
    while (shapes.len) {
        const char *comma = memchr(shapes.ptr, ',', shapes.len);
        size_t len = comma ? (size_t)(comma - shapes.ptr) : shapes.len;
        pel_val input = make_input(vm, pel_str_cut(shapes, 0, len));
        if (!input) break;
        mark(scanner, input, pel_interned_c(vm, "input"), 0);
        pel_list_push(vm, inputs, input);
        shapes = pel_str_from(shapes, len + 1);
    }
    /* as it is used once it is trained: heads that only training has may not fit the size of the input */
    if (!vm->raised && pel_module_kind_of(scanner, self->type) == PEL_TORCH_MODULE)
        pel_call_method(vm, self, "eval", NULL, 0);
    vm->on_call = on_call;
    vm->on_return = on_return;
    pel_val result = vm->raised ? NULL : pel_call(vm, self, pel_list_at(inputs)->at, pel_list_at(inputs)->n, NULL);
    vm->on_call = NULL;
    if (result) {
        flow_into(scanner, result, PEL_STR("output"), 0);
        return;
    }
    pel_exception *e = (pel_exception *)vm->raised;
    pel_unknown row = { .what = pel_exception_text(vm, vm->raised), .why = PEL_STR("forward can't work") };
    for (uint32_t i = 0; i < e->trace.n; i++)
        if (!e->trace.at[i].code->is_stub) {
            row.place = (pel_place){ .file = e->trace.at[i].code->file, .line = e->trace.at[i].line };
            break;
        }
    /* the second place: the innermost line of the author's own file, where the module was called */
    for (uint32_t i = 0; i < e->trace.n; i++) {
        const pel_trace_row *place = &e->trace.at[i];
        if (place->code->is_stub || pel_str_starts(place->code->file, PEL_STR("<")) ||
            (place->line == row.place.line && pel_str_eq(place->code->file, row.place.file)))
            continue;
        row.why = pel_format(vm->ctx, "called at %.*s:%u", PEL_FMT(place->code->file), place->line);
        if (pel_text_is(place->code->name, "forward")) break;
    }
    pel_push(vm->ctx, &network->errors, row);
    pel_forget(vm);
}
