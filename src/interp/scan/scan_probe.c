/* Shape errors that need no input: a layer that gives 32 features before one that takes 31.
 *
 * The forward is run twice. The first time it gets a tensor of no use, to see which layer takes the input; what that
 * layer asks for makes an input whose other sizes are symbols, and the second run gets that. Such an input is a guess,
 * so only one kind of error counts: a layer whose own output does not fit the next layer, with nothing in between that
 * changes the shape. That one is wrong whatever the input is. */
#include "interp/record/record.h"

#define PROBE_STEPS 20000000u

static pel_val attribute(pel_vm *vm, pel_val self, const char *name) {
    return self->attrs ? pel_dict_get_c(vm, self->attrs, name) : NULL;
}

static bool number_of(pel_vm *vm, pel_val self, const char *name, int64_t *out) {
    pel_val v = attribute(vm, self, name);
    return v && pel_is_int(v) && pel_to_i64(v, out) && *out > 0;
}

/* ---- which layer takes the input, and what it takes ---- */

static bool see_first(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_scanner *scanner = vm->scan;
    (void)kw;
    pel_val taken;
    bool takes = n && args[0] == scanner->probe && !scanner->probed;
    if (takes && (taken = attribute(vm, callee, "_parameters")) && pel_is_dict(taken) && pel_dict_at(taken)->live)
        scanner->probed = callee;
    return false;
}

/* "BxTx16"; empty: the layer does not say it. Layers that take any number of dimensions have several such inputs:
 * what flattens all but two of them keeps the shape of one, and not of the other. */
static pel_str input_of(pel_vm *vm, pel_val layer, bool has_more) {
    static const char *const spaces[] = { "", "xL", "xHxW", "xDxHxW" };
    int64_t size;
    if (number_of(vm, layer, "num_embeddings", &size)) return has_more ? PEL_STR("BxTxS:int64") : PEL_STR("BxT:int64");
    if (number_of(vm, layer, "in_features", &size))
        return pel_format(vm->ctx, "Bx%s%lld", has_more ? "Tx" : "", (long long)size);
    pel_val kernel = attribute(vm, layer, "kernel_size");
    if (number_of(vm, layer, "in_channels", &size) && kernel && pel_is_tuple(kernel) && pel_tuple_at(kernel)->n < 4)
        return pel_format(vm->ctx, "Bx%lld%s", (long long)size, spaces[pel_tuple_at(kernel)->n]);
    if (number_of(vm, layer, "input_size", &size)) return pel_format(vm->ctx, "BxTx%lld", (long long)size);
    pel_val shape = attribute(vm, layer, "normalized_shape");
    if (shape && pel_is_tuple(shape) && pel_tuple_at(shape)->n == 1 && pel_to_i64(pel_tuple_at(shape)->at[0], &size))
        return pel_format(vm->ctx, "BxTx%s%lld", has_more ? "Sx" : "", (long long)size);
    return (pel_str){ "", 0 };
}

/* Exactly one argument besides self, or the others have defaults. */
static bool takes_one(pel_vm *vm, pel_val self) {
    pel_val found = pel_lookup(vm, self->type, pel_interned_c(vm, "forward"));
    if (!found || !pel_is(found, PEL_L_FUNCTION)) return false;
    const pel_function *f = (const pel_function *)found;
    uint32_t defaults = f->defaults ? pel_tuple_at(f->defaults)->n : 0;
    return f->code->n_args >= 2 && f->code->n_args - defaults <= 2 && !f->code->has_varargs;
}

/* A tensor of so many sizes, none of which is known. */
static pel_val probe_of(pel_vm *vm, uint32_t rank) {
    static const char *const names[] = { "B", "T", "S", "R" };
    pel_val torch = pel_import(vm, PEL_STR("torch")), empty = torch ? pel_getattr_c(vm, torch, "empty") : NULL;
    pel_val sizes = pel_list_of(vm, NULL, 0);
    for (uint32_t i = 0; i < rank; i++)
        pel_list_push(vm, sizes, pel_symbol_of(vm, pel_str_of(names[i]), PEL_STR("a size of the input")));
    return empty ? pel_call1(vm, empty, sizes) : NULL;
}

/* A forward may take the sizes apart (`b, t = x.size()`) before any layer gets the input: every rank is tried. */
static void find_first(pel_scanner *scanner, pel_val self) {
    pel_vm *vm = scanner->vm;
    scanner->probed = NULL;
    for (uint32_t rank = 1; rank <= 4 && !scanner->probed; rank++) {
        scanner->probe = probe_of(vm, rank);
        if (scanner->probe) {
            vm->on_call = see_first;
            pel_call1(vm, self, scanner->probe);
            vm->on_call = NULL;
        }
        pel_forget(vm);
    }
}

/* ---- errors that no input can mend ---- */

static pel_val module_called(pel_scanner *scanner, pel_str path) {
    for (uint32_t i = 0; i < scanner->order.n; i++) {
        pel_val self = scanner->order.at[i]->self;
        uint64_t at = pel_map_find(&scanner->names, PEL_KEY(self), UINT64_MAX);
        if (at != UINT64_MAX && pel_str_eq(scanner->paths.at[at], path)) return self;
    }
    return NULL;
}

/* A Linear decides the last size, a convolution the second; the layer that fails must look at the same one. */
bool pel_is_certain(pel_scanner *scanner, const pel_exception *e, pel_val taker) {
    pel_vm *vm = scanner->vm;
    pel_val given = e->head.attrs ? pel_dict_get_c(vm, e->head.attrs, "given") : NULL;
    pel_str name;
    pel_place place;
    int64_t size;
    if (!given || pel_is_small(given) || !taker || !pel_shaped_by(scanner, given, &name, &place)) return false;
    pel_val giver = module_called(scanner, name);
    if (!giver) return false;
    if (number_of(vm, giver, "out_features", &size)) return number_of(vm, taker, "in_features", &size);
    if (!number_of(vm, giver, "out_channels", &size)) return false;
    return number_of(vm, taker, "in_channels", &size) || number_of(vm, taker, "num_features", &size);
}

static void forget_run(pel_scanner *scanner) {
    for (uint32_t i = 0; i < scanner->order.n; i++) {
        scanner->order.at[i]->output = (pel_shape){ 0 };
        scanner->order.at[i]->flops = -1;
    }
}

/* A forward that an editor watches: what it saw is kept if it ran to its end, or if its error is sure. */
static bool forward(pel_scanner *scanner, pel_network *network, pel_val self, pel_str shape, bool is_given) {
    pel_watch *watch = scanner->watch;
    if (!watch) return pel_scan_forward(scanner, network, self, shape, NULL);
    pel_watch_begin(scanner);
    bool done = pel_scan_forward(scanner, network, self, shape, NULL);
    pel_seen_run *run = pel_watch_end(scanner);
    run->network = network->name;
    run->class = pel_text_of(self->type->name);
    run->input = shape;
    run->is_given = is_given;
    run->is_done = done;
    run->n_asked = scanner->vm->asked.n;
    if (done || is_given || network->errors.n) pel_push(scanner->vm->ctx, &watch->runs, run);
    return done;
}

/* The input that the user gave: what is wrong with it is an error, unless an open question led there. */
static bool run_given(pel_scanner *scanner, pel_network *network, pel_val self) {
    pel_vm *vm = scanner->vm;
    const pel_watch *watch = scanner->watch;
    pel_str shape = watch ? watch->input(watch->arg, pel_text_of(self->type->name), network->name) : (pel_str){ 0 };
    if (!shape.len) return false;
    pel_network *tried = pel_network_new(vm->ctx, network->name);
    forward(scanner, tried, self, shape, true);
    for (uint32_t i = 0; i < tried->errors.n && !vm->asked.n; i++)
        pel_push(vm->ctx, &network->errors, tried->errors.at[i]);
    for (uint32_t i = 0; i < tried->unknown.n; i++) pel_push(vm->ctx, &network->unknown, tried->unknown.at[i]);
    return true;
}

/* Inputs that fit the layer that takes them. Two that fail at the same place leave no doubt. */
static void run_guessed(pel_scanner *scanner, pel_network *network, pel_val self) {
    pel_vm *vm = scanner->vm;
    find_first(scanner, self);
    pel_network *tried[2] = { pel_network_new(vm->ctx, network->name), pel_network_new(vm->ctx, network->name) };
    bool done = false;
    scanner->wants_certain = true;
    for (int k = 0; k < 2 && scanner->probed; k++) {
        pel_str shape = input_of(vm, scanner->probed, k == 1);
        if (shape.len && (!k || tried[0]->errors.n || (scanner->watch && !done)))
            done = forward(scanner, tried[k], self, shape, false);
    }
    scanner->wants_certain = false;
    const pel_unknown *one = tried[0]->errors.at, *other = tried[1]->errors.at;
    /* with another answer to an open question the layers may be others, or not run: then no error is certain */
    if (!vm->asked.n && tried[0]->errors.n && tried[1]->errors.n && one->place.line == other->place.line &&
        pel_str_eq(one->what, other->what))
        pel_push(vm->ctx, &network->errors, *one);
}

void pel_scan_probe(pel_scanner *scanner, pel_network *network, pel_val self) {
    pel_vm *vm = scanner->vm;
    if (pel_is_symbol(self) || pel_module_kind_of(scanner, self->type) != PEL_TORCH_MODULE) return;
    if (!scanner->watch && !takes_one(vm, self)) return;
    uint64_t whole = vm->max_steps;
    uint32_t unknown = vm->unknown.n, errors = vm->errors.n, asked = vm->asked.n;
    bool recovers = vm->recovers;
    vm->recovers = false;
    if (vm->max_steps > vm->steps + PROBE_STEPS) vm->max_steps = vm->steps + PROBE_STEPS;
    pel_read_module(scanner, self, (pel_str){ "", 0 }); /* names */
    if (!run_given(scanner, network, self) && takes_one(vm, self)) run_guessed(scanner, network, self);
    forget_run(scanner);
    vm->recovers = recovers;
    vm->max_steps = whole;
    vm->unknown.n = unknown;
    vm->errors.n = errors;
    vm->asked.n = vm->decided.n = asked;
}
