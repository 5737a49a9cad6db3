/* A forward on abstract tensors: output shapes of every module, what feeds what, and where shapes disagree. */
#include "interp/record/record.h"

static pel_str path_of(pel_scanner *scanner, pel_val self) {
    uint64_t at = pel_map_find(&scanner->names, PEL_KEY(self), UINT64_MAX);
    return at == UINT64_MAX ? (pel_str){ "", 0 } : scanner->paths.at[at];
}

static bool is_tensor(pel_vm *vm, pel_val v) {
    return !pel_is_small(v) && v->attrs && pel_dict_get_c(vm, v->attrs, "_shape") != NULL;
}

/* ---- tensors in what is passed and returned ---- */

#define MAX_NESTED 6

static void gather_members(pel_vm *vm, pel_val v, pel_val into, uint32_t depth);

/* All tensors in a nest of containers and plain objects. */
static void gather(pel_vm *vm, pel_val v, pel_val into, uint32_t depth) {
    if (pel_is_small(v) || depth > MAX_NESTED) return;
    if (pel_is_tuple(v) || pel_is_list(v)) {
        uint32_t n;
        pel_val *items = pel_items(v, &n);
        for (uint32_t i = 0; i < n; i++) gather(vm, items[i], into, depth + 1);
    } else if (pel_is_dict(v)) {
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(v), &at));) gather(vm, entry->value, into, depth + 1);
    } else if (is_tensor(vm, v)) {
        pel_list_push(vm, into, v);
    } else {
        gather_members(vm, v, into, depth);
    }
}

/* Of a dataclass. */
static void gather_members(pel_vm *vm, pel_val v, pel_val into, uint32_t depth) {
    pel_val fields = v->attrs ? pel_lookup(vm, v->type, pel_interned_c(vm, "__dataclass_fields__")) : NULL;
    uint32_t at = 0;
    for (pel_entry *entry; fields && pel_is_dict(fields) && (entry = pel_dict_next(pel_dict_at(fields), &at));) {
        pel_val member = pel_is_str(entry->key) ? pel_dict_get_str(v->attrs, entry->key) : NULL;
        if (member) gather(vm, member, into, depth + 1);
    }
}

/* ---- flow: where a tensor came from is written on it ---- */

static void add_flow(pel_scanner *scanner, pel_val from, pel_str to, pel_val tensor) {
    pel_ctx *ctx = scanner->vm->ctx;
    if (!pel_is_str(from) || pel_str_eq(pel_text_of(from), to)) return;
    pel_str edge = pel_format(ctx, "%.*s %.*s", PEL_FMT(pel_text_of(from)), PEL_FMT(to));
    if (!pel_map_set(ctx, &scanner->flows, PEL_KEY(pel_intern_str(ctx, edge)), 1)) return;
    pel_push(ctx, &scanner->network->flow, (pel_flow){ pel_text_of(from), to, pel_shape_of_val(scanner, tensor) });
}

/* The leaf that gave it, or a tuple of those whose outputs were joined; as a tuple. NULL: nobody. */
static const pel_tuple *givers_of(pel_vm *vm, pel_val tensor) {
    pel_val from = pel_dict_get_c(vm, tensor->attrs, "_given_by");
    if (!from || from == vm->none) return NULL;
    return pel_tuple_at(pel_is_tuple(from) ? from : pel_tuple_of(vm, &from, 1));
}

static void flow_into(pel_scanner *scanner, pel_val tensors, pel_str to) {
    const pel_list *list = pel_list_at(tensors);
    for (uint32_t i = 0; i < list->n; i++) {
        const pel_tuple *from = givers_of(scanner->vm, list->at[i]);
        for (uint32_t k = 0; from && k < from->n; k++) add_flow(scanner, from->at[k], to, list->at[i]);
    }
}

static bool is_inside(pel_val name, pel_str path) {
    pel_str text = pel_is_str(name) ? pel_text_of(name) : (pel_str){ 0 };
    return text.len > path.len && pel_str_starts(text, path) && text.ptr[path.len] == '.';
}

/* What a module was given may be in what it gives, as residual streams are: it went through, not around. */
static void flow_through(pel_scanner *scanner, pel_val tensor, pel_str path) {
    pel_vm *vm = scanner->vm;
    const pel_tuple *from = givers_of(vm, tensor);
    if (!from) return;
    pel_val *kept = pel_new_array(vm->ctx, from->n + 1u, pel_val);
    uint32_t n = 0;
    for (uint32_t k = 0; k < from->n; k++) {
        if (is_inside(from->at[k], path))
            kept[n++] = from->at[k];
        else
            add_flow(scanner, from->at[k], path, tensor);
    }
    if (n == from->n) return;
    kept[n++] = pel_new_text(vm, path);
    pel_dict_set_c(vm, tensor->attrs, "_given_by", pel_tuple_of(vm, kept, n));
}

static void mark(pel_vm *vm, pel_val tensors, pel_val name) {
    const pel_list *list = pel_list_at(tensors);
    for (uint32_t i = 0; i < list->n; i++) pel_dict_set_c(vm, list->at[i]->attrs, "_given_by", name);
}

/* ---- work ---- */

/* Multiply-adds so far: torch._abstract.types.work; negative where some could not be counted. */
static double work_so_far(pel_vm *vm) {
    pel_val types = pel_dict_get_c(vm, vm->modules, "torch._abstract.types");
    pel_val work = types && types->attrs ? pel_dict_get_c(vm, types->attrs, "work") : NULL;
    if (!work || !pel_is_list(work) || pel_list_at(work)->n != 2 || pel_list_at(work)->at[1] != vm->false_) return -1;
    pel_val sum = pel_list_at(work)->at[0];
    return pel_is_int(sum) ? pel_int_to_double(sum) : -1;
}

static void forget_work(pel_vm *vm) {
    pel_val types = pel_dict_get_c(vm, vm->modules, "torch._abstract.types");
    pel_val work = types && types->attrs ? pel_dict_get_c(vm, types->attrs, "work") : NULL;
    if (!work || !pel_is_list(work) || pel_list_at(work)->n != 2) return;
    pel_list_at(work)->at[0] = pel_int_of(vm, 0);
    pel_list_at(work)->at[1] = vm->false_;
}

/* ---- calls of modules ---- */

static bool on_call(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_scanner *scanner = vm->scan;
    if (!pel_module_kind_of(scanner, callee->type)) return false;
    if (scanner->running.n) scanner->running.at[scanner->running.n - 1].is_leaf = false;
    pel_running call = { callee, pel_list_of(vm, NULL, 0), work_so_far(vm), true, pel_watched_call(scanner) };
    for (uint32_t i = 0; i < n; i++) gather(vm, args[i], call.inputs, 0);
    for (uint32_t i = 0; kw && i < kw->n; i++) gather(vm, kw->values[i], call.inputs, 0);
    pel_push(vm->ctx, &scanner->running, call);
    pel_birth *birth = pel_birth_of(scanner, callee);
    if (birth) birth->called = pel_author_place(scanner);
    return true;
}

static void on_return(pel_vm *vm, pel_val callee, pel_val result) {
    pel_scanner *scanner = vm->scan;
    if (!scanner->running.n) return;
    pel_running call = scanner->running.at[--scanner->running.n];
    pel_birth *birth = pel_birth_of(scanner, callee);
    if (!result || !birth) return;
    pel_val tensors = pel_list_of(vm, NULL, 0);
    gather(vm, result, tensors, 0);
    /* the first tensor is the output people speak of */
    if (pel_list_at(tensors)->n) birth->output = pel_shape_of_val(scanner, pel_list_at(tensors)->at[0]);
    double now = work_so_far(vm);
    bool is_counted = now >= 0 && call.work >= 0 && pel_module_kind_of(scanner, callee->type) == PEL_TORCH_MODULE;
    if (is_counted) birth->flops = (birth->flops > 0 ? birth->flops : 0) + now - call.work;
    pel_str path = path_of(scanner, callee);
    pel_seen_call seen = { path, pel_text_of(callee->type->name), { 0 }, is_counted ? now - call.work : -1 };
    if (pel_list_at(tensors)->n) seen.output = birth->output;
    pel_watch_return(scanner, call.written, &seen);
    if (!path.len) return;
    if (call.is_leaf) {
        flow_into(scanner, call.inputs, path);
        mark(vm, tensors, pel_new_text(vm, path));
        return;
    }
    for (uint32_t i = 0; i < pel_list_at(tensors)->n; i++) flow_through(scanner, pel_list_at(tensors)->at[i], path);
}

/* ---- what can't work ---- */

/* The module whose parameter or buffer a tensor is. */
static pel_birth *owner_of(pel_scanner *scanner, pel_val tensor) {
    for (uint32_t i = 0; i < scanner->order.n; i++) {
        pel_val self = scanner->order.at[i]->self;
        for (int k = 0; k < 2; k++) {
            const char *name = k ? "_buffers" : "_parameters";
            pel_val table = self->attrs ? pel_dict_get_c(scanner->vm, self->attrs, name) : NULL;
            uint32_t at = 0;
            for (pel_entry *entry; table && pel_is_dict(table) && (entry = pel_dict_next(pel_dict_at(table), &at));)
                if (entry->value == tensor) return scanner->order.at[i];
        }
    }
    return NULL;
}

static void put_sizes(pel_buf *out, const pel_shape *shape) {
    for (uint32_t i = 0; i < shape->n; i++) {
        if (i) pel_put_c(out, "×");
        if (shape->dims[i].symbol.len)
            pel_put(out, shape->dims[i].symbol);
        else
            pel_put_int(out, shape->dims[i].size);
    }
    if (!shape->n) pel_put_c(out, "a scalar");
}

/* The operation that gave a tensor its shape; where the author wrote it is the other place. */
static void put_giver(pel_scanner *scanner, pel_val tensor, pel_buf *why, pel_place *also) {
    pel_vm *vm = scanner->vm;
    if (!tensor || pel_is_small(tensor) || !is_tensor(vm, tensor) || owner_of(scanner, tensor)) return;
    pel_shape shape = pel_shape_of_val(scanner, tensor);
    pel_str name = PEL_STR("input");
    pel_place place = { 0 };
    pel_val from = pel_dict_get_c(vm, tensor->attrs, "_given_by");
    bool is_known = pel_shaped_by(scanner, tensor, &name, &place);
    if (!is_known && !(from && pel_is_str(from))) return;
    pel_putf(why, "%s%.*s gave ", pel_buf_str(why).len ? "; " : "", PEL_FMT(name));
    put_sizes(why, &shape);
    if (!is_known) return;
    pel_putf(why, " at %.*s:%u", PEL_FMT(place.file), place.line);
    if (!also->line) *also = place;
}

/* The two places that disagree: the author's line that can't work, and the one that made what does not fit. */
static pel_unknown describe_error(pel_scanner *scanner, const pel_exception *e) {
    pel_vm *vm = scanner->vm;
    pel_unknown row = { .what = pel_exception_text(vm, vm->raised) };
    bool has_author = false;
    for (uint32_t i = 0; i < e->trace.n; i++) {
        const pel_codeobj *code = e->trace.at[i].code;
        bool is_author = pel_is_author(scanner, code);
        if (code->is_stub || (row.place.line && !is_author)) continue;
        row.place = (pel_place){ .file = code->file, .line = e->trace.at[i].line };
        has_author = is_author;
        if (is_author) break;
    }
    pel_buf why = pel_buf_in(vm->ctx);
    pel_val wanted = e->head.attrs ? pel_dict_get_c(vm, e->head.attrs, "wanted") : NULL;
    if (wanted && (pel_is_small(wanted) || !is_tensor(vm, wanted))) wanted = NULL;
    const pel_birth *owner = wanted ? owner_of(scanner, wanted) : NULL;
    if (owner && !has_author) row.place = (pel_place){ .file = owner->file, .line = owner->line };
    if (owner) row.made = (pel_place){ .file = owner->file, .line = owner->line };
    if (owner)
        pel_putf(&why, "%.*s was made at %.*s:%u", PEL_FMT(path_of(scanner, owner->self)), PEL_FMT(owner->file),
                 owner->line);
    if (e->head.attrs) put_giver(scanner, pel_dict_get_c(vm, e->head.attrs, "given"), &why, &row.also);
    if (wanted && !owner) put_giver(scanner, wanted, &why, &row.also);
    row.why = pel_buf_str(&why).len ? pel_buf_str(&why) : PEL_STR("forward can't work");
    return row;
}

/* A number, or a name for one that is not known; NULL: neither. */
static pel_val make_size(pel_vm *vm, pel_str text) {
    bool is_name = text.len && ((text.ptr[0] | 32) >= 'a' && (text.ptr[0] | 32) <= 'z');
    int64_t size = 0;
    for (size_t i = 0; i < text.len && !is_name; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || size > 1000000000) return NULL;
        size = size * 10 + (text.ptr[i] - '0');
    }
    if (is_name) return pel_symbol_of(vm, text, PEL_STR("a size of the input"));
    return text.len ? pel_int_of(vm, size) : NULL;
}

/* "2x3x224x224", "nx3x224x224" or "2x128:int64" */
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
    for (size_t at = 0, end; at <= text.len; at = end + 1) {
        const char *cross = memchr(text.ptr + at, 'x', text.len - at);
        end = cross ? (size_t)(cross - text.ptr) : text.len;
        pel_val size = make_size(vm, pel_str_cut(text, at, end));
        if (!size) pel_throw(vm->ctx, PEL_E_USAGE, 0, "'%.*s' is no shape such as 2x3x224x224", PEL_FMT(text));
        pel_list_push(vm, sizes, size);
    }
    pel_val name = pel_interned_c(vm, "dtype");
    pel_kw kw = { dtype ? 1 : 0, &name, &dtype };
    pel_val empty = pel_getattr_c(vm, torch, "empty");
    return empty ? pel_call(vm, empty, &sizes, 1, dtype ? &kw : NULL) : NULL;
}

/* nn.Module itself has a forward that only says that there is none. */
static bool has_forward(pel_vm *vm, pel_val self) {
    if (pel_module_kind_of(vm->scan, self->type) != PEL_TORCH_MODULE) return true;
    const pel_tuple *mro = pel_tuple_at(self->type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        const pel_type *base = pel_as_type(mro->at[i]);
        pel_val found = base->head.attrs ? pel_dict_get_c(vm, base->head.attrs, "forward") : NULL;
        if (!found) continue;
        pel_val of = pel_dict_get_str(base->head.attrs, vm->names.s_module);
        return !(pel_text_is(base->name, "Module") && of && pel_is_str(of) &&
                 pel_text_is(of, "torch.nn.modules.module"));
    }
    return self->attrs && pel_dict_get_c(vm, self->attrs, "forward");
}

static void put_not_run(pel_vm *vm, pel_network *network, pel_str why, pel_place place) {
    pel_push(vm->ctx, &network->unknown, ((pel_unknown){ .what = PEL_STR("--forward"), .why = why, .place = place }));
}

static bool mentions(pel_str text, pel_str part) { return pel_str_find(text, part) != NULL; }

/* The inputs that were given are not those that forward takes: nothing of the network ran. */
static bool is_other_signature(pel_vm *vm, const pel_exception *e) {
    if (!pel_raised_is(vm, vm->types.TypeError)) return false;
    for (uint32_t i = 0; i < e->trace.n; i++)
        if (pel_is_author(vm->scan, e->trace.at[i].code)) return false;
    return true;
}

typedef struct forward_job {
    pel_scanner *scanner;
    pel_network *network;
    pel_val self, inputs;
    pel_str shapes;
    uint64_t integers; /* inputs that are of whole numbers although nobody said it */
} forward_job;

/* Tensors of the shapes; false: raised. */
static bool make_inputs(forward_job *job) {
    pel_vm *vm = job->scanner->vm;
    pel_str shapes = job->shapes;
    job->inputs = pel_list_of(vm, NULL, 0);
    for (uint32_t i = 0; shapes.len; i++) {
        const char *comma = memchr(shapes.ptr, ',', shapes.len);
        size_t len = comma ? (size_t)(comma - shapes.ptr) : shapes.len;
        pel_str text = pel_str_cut(shapes, 0, len);
        if (i < 64 && job->integers >> i & 1) text = pel_format(vm->ctx, "%.*s:int64", PEL_FMT(text));
        pel_val input = make_input(vm, text);
        if (!input) return false;
        pel_dict_set_c(vm, input->attrs, "_given_by", pel_interned_c(vm, "input"));
        pel_list_push(vm, job->inputs, input);
        shapes = pel_str_from(shapes, comma ? len + 1 : len);
    }
    return true;
}

static pel_val call_forward(forward_job *job, pel_recording *rec) {
    pel_vm *vm = job->scanner->vm;
    pel_scanner *scanner = job->scanner;
    scanner->network = job->network;
    scanner->running.n = 0;
    scanner->flows = scanner->authors = (pel_map){ 0 };
    job->network->flow.n = 0;
    forget_work(vm);
    if (!make_inputs(job)) return NULL;
    /* as it is used once it is trained: heads that only training has may not fit the size of the input */
    if (pel_module_kind_of(scanner, job->self->type) == PEL_TORCH_MODULE)
        pel_call_method(vm, job->self, "eval", NULL, 0);
    vm->on_call = on_call;
    vm->on_return = on_return;
    vm->on_shape = pel_shaped_here;
    const pel_list *inputs = pel_list_at(job->inputs);
    if (rec) pel_recording_begin(rec, inputs->at, inputs->n);
    pel_val result = vm->raised ? NULL : pel_call(vm, job->self, inputs->at, inputs->n, NULL);
    vm->on_call = NULL;
    vm->on_shape = NULL;
    if (rec) pel_recording_end(rec, result);
    return result;
}

/* An Embedding got an input whose dtype nobody gave: then that is one of whole numbers. */
static bool takes_integers(forward_job *job) {
    pel_vm *vm = job->scanner->vm;
    const pel_exception *e = (const pel_exception *)vm->raised;
    pel_val given = e->head.attrs ? pel_dict_get_c(vm, e->head.attrs, "given") : NULL;
    if (!given || !mentions(pel_exception_text(vm, vm->raised), PEL_STR("Embedding takes integers"))) return false;
    const pel_list *inputs = pel_list_at(job->inputs);
    for (uint32_t i = 0; i < inputs->n && i < 64; i++) {
        if (job->integers >> i & 1) continue;
        bool is_it = inputs->at[i] == given;
        if (!is_it && inputs->n == 1) {
            pel_val from = pel_dict_get_c(vm, given->attrs, "_given_by");
            is_it = from && pel_is_str(from) && pel_text_is(from, "input");
        }
        if (!is_it || memchr(job->shapes.ptr, ':', job->shapes.len)) continue;
        job->integers |= (uint64_t)1 << i;
        pel_unknown row = { .what = pel_format(vm->ctx, "input %u", i + 1),
                            .why = PEL_STR("taken to be of int64: an Embedding gets it") };
        pel_push(vm->ctx, &job->network->premises, row);
        return true;
    }
    return false;
}

static bool is_certain(pel_scanner *scanner, const pel_exception *e) {
    pel_val wanted = e->head.attrs ? pel_dict_get_c(scanner->vm, e->head.attrs, "wanted") : NULL;
    const pel_birth *owner = wanted && !pel_is_small(wanted) ? owner_of(scanner, wanted) : NULL;
    return pel_is_certain(scanner, e, owner ? owner->self : NULL);
}

/* Each round of the loop makes one more input int64, so it ends. Inputs that don't fit the signature say nothing about
 * the network: they are a row of unknown, not an error. wants_certain drops errors that another input might mend. */
bool pel_scan_forward(pel_scanner *scanner, pel_network *network, pel_val self, pel_str shapes, pel_recording *rec) {
    pel_vm *vm = scanner->vm;
    if (!has_forward(vm, self)) {
        pel_str why = pel_format(vm->ctx, "not run: %s has no forward", pel_type_text(vm, self));
        const pel_birth *birth = pel_birth_of(scanner, self);
        pel_place place = { .file = birth ? birth->file : PEL_STR(""), .line = birth ? birth->line : 0 };
        put_not_run(vm, network, why, place);
        return false;
    }
    forward_job job = { .scanner = scanner, .network = network, .self = self, .shapes = shapes };
    pel_val result = call_forward(&job, rec);
    while (!result && takes_integers(&job)) {
        pel_forget(vm);
        result = call_forward(&job, rec);
    }
    if (result) {
        pel_val tensors = pel_list_of(vm, NULL, 0);
        gather(vm, result, tensors, 0);
        flow_into(scanner, tensors, PEL_STR("output"));
        return true;
    }
    const pel_exception *e = (const pel_exception *)vm->raised;
    if (is_other_signature(vm, e)) {
        pel_str why = pel_format(vm->ctx, "not run: %.*s", PEL_FMT(pel_exception_text(vm, vm->raised)));
        put_not_run(vm, network, why, (pel_place){ 0 });
    } else if (!scanner->wants_certain || is_certain(scanner, e)) {
        pel_push(vm->ctx, &network->errors, describe_error(scanner, e));
    }
    pel_forget(vm);
    return false;
}
