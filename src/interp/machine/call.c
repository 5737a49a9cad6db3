/* Calling: frames, binding of arguments, natives, types. */
#include "interp/vm.h"

#include <stdio.h>

#define MAX_FRAMES 1000
#define MAX_NATIVE_DEPTH 600

/* ---- frames ---- */

pel_frame *pel_new_frame(pel_vm *vm, pel_codeobj *code) {
    uint32_t fixed = code->n_locals + code->n_cells + code->n_free;
    uint32_t total = fixed + code->stack_size + code->n_blocks * (uint32_t)(sizeof(pel_vm_handler) / sizeof(pel_val));
    uint32_t class = 3;
    while (class < 15 && (1u << class) < total) class ++;
    pel_frame *frame = class < 15 ? vm->free_frames[class] : NULL;
    if (frame) {
        vm->free_frames[class] = frame->back;
    } else {
        size_t slots = class < 15 ? (size_t)1 << class : total;
        frame = pel_alloc_raw(vm->ctx, sizeof *frame + slots * sizeof(pel_val));
    }
    memset(frame, 0, sizeof *frame + fixed * sizeof(pel_val));
    frame->size_class = class;
    frame->code = code;
    frame->next = code->insns;
    frame->loops = vm->loops.n;
    frame->repeating = vm->repeating.n;
    frame->taken = vm->ctx->taken;
    frame->stack = frame->slots + fixed;
    frame->blocks = (pel_vm_handler *)(void *)(frame->stack + code->stack_size);
    return frame;
}

void pel_free_frame(pel_vm *vm, pel_frame *frame) {
    if (frame->size_class >= 15) return;
    frame->back = vm->free_frames[frame->size_class];
    vm->free_frames[frame->size_class] = frame;
}

/* ---- binding ---- */

static void function_name(const pel_function *f, char *out, size_t size) {
    snprintf(out, size, "%s()", pel_string_at(f->qualname)->text);
}

static bool too_many(pel_vm *vm, const pel_function *f, uint32_t given) {
    char name[200];
    function_name(f, name, sizeof name);
    uint32_t most = f->code->n_args, defaults = f->defaults ? pel_tuple_at(f->defaults)->n : 0;
    if (defaults)
        pel_raise(vm, vm->types.TypeError, "%s takes from %u to %u positional arguments but %u were given", name,
                  most - defaults, most, given);
    else
        pel_raise(vm, vm->types.TypeError, "%s takes %u positional argument%s but %u %s given", name, most,
                  most == 1 ? "" : "s", given, given == 1 ? "was" : "were");
    return false;
}

/* Names in calls are interned, so a comparison of pointers finds them; only a key of a ** dict may need the text.
 * Positional arguments must be in their slots already: a full slot is how a second value is seen. */
static bool bind_keywords(pel_vm *vm, pel_function *f, pel_frame *frame, const pel_kw *kw, pel_dict *extra) {
    const pel_codeobj *code = f->code;
    uint32_t named = code->n_args + code->n_kwonly;
    for (uint32_t i = 0; i < kw->n; i++) {
        pel_val name = kw->names[i];
        uint32_t at = code->n_posonly;
        while (at < named && code->locals[at] != name) at++;
        if (at == named && !pel_string_at(name)->is_interned) {
            at = code->n_posonly;
            while (at < named && !pel_str_eq(pel_text_of(code->locals[at]), pel_text_of(name))) at++;
        }
        if (at < named) {
            if (frame->slots[at]) {
                char text[200];
                function_name(f, text, sizeof text);
                pel_raise(vm, vm->types.TypeError, "%s got multiple values for argument '%s'", text,
                          pel_string_at(name)->text);
                return false;
            }
            frame->slots[at] = kw->values[i];
        } else if (extra) {
            pel_dict_set_str(vm, extra, name, kw->values[i]);
        } else {
            char text[200];
            function_name(f, text, sizeof text);
            pel_raise(vm, vm->types.TypeError, "%s got an unexpected keyword argument '%s'", text,
                      pel_string_at(name)->text);
            return false;
        }
    }
    return true;
}

/* Whether parameter i has neither an argument nor a default. */
static bool is_missing(const pel_function *f, const pel_frame *frame, uint32_t i) {
    if (frame->slots[i]) return false;
    uint32_t defaults = f->defaults ? pel_tuple_at(f->defaults)->n : 0;
    if (i < f->code->n_args) return i + defaults < f->code->n_args;
    return !f->kwdefaults || !pel_dict_get_str(f->kwdefaults, f->code->locals[i]);
}

static bool missing(pel_vm *vm, const pel_function *f, const pel_frame *frame) {
    char name[200];
    pel_buf list = pel_buf_in(vm->ctx);
    function_name(f, name, sizeof name);
    const pel_codeobj *code = f->code;
    bool positional = false;
    for (uint32_t i = 0; i < code->n_args; i++) positional |= is_missing(f, frame, i);
    uint32_t from = positional ? 0 : code->n_args, to = positional ? code->n_args : code->n_args + code->n_kwonly;
    uint32_t total = 0, n = 0;
    for (uint32_t i = from; i < to; i++) total += is_missing(f, frame, i);
    for (uint32_t i = from; i < to; i++) {
        if (!is_missing(f, frame, i)) continue;
        if (n) pel_put_c(&list, n + 1 == total ? (total > 2 ? ", and " : " and ") : ", ");
        pel_putf(&list, "'%s'", pel_string_at(code->locals[i])->text);
        n++;
    }
    pel_raise(vm, vm->types.TypeError, "%s missing %u required %s argument%s: %.*s", name, n,
              positional ? "positional" : "keyword-only", n == 1 ? "" : "s", PEL_FMT(pel_buf_str(&list)));
    return false;
}

/* What a decorator that we don't know would pass. */
static pel_val from_decorator(pel_vm *vm, const pel_function *f, pel_val parameter) {
    pel_str by = ((pel_symbol *)f->decorator)->text;
    pel_str why = pel_format(vm->ctx, "%.*s gives it, which is not in the roots", PEL_FMT(by));
    pel_note_unknown(vm, pel_text_of(parameter), why);
    return pel_symbol_of(vm, pel_text_of(parameter), why);
}

/* The slots have the order of pel_declare_params. Defaults come last, for what no argument filled. A decorator that we
 * don't know may pass more than the call shows, so a missing positional parameter is then unknown and no error. */
static bool fill(pel_vm *vm, pel_function *f, pel_frame *frame, pel_val *args, uint32_t n, const pel_kw *kw) {
    const pel_codeobj *code = f->code;
    uint32_t plain = n < code->n_args ? n : code->n_args;
    for (uint32_t i = 0; i < plain; i++) frame->slots[i] = args[i];
    uint32_t at = code->n_args + code->n_kwonly;
    if (code->has_varargs)
        frame->slots[at++] = pel_tuple_of(vm, args + plain, n - plain);
    else if (n > plain)
        return too_many(vm, f, n);
    pel_dict *extra = NULL;
    if (code->has_varkw) {
        frame->slots[at] = pel_new_dict(vm);
        extra = pel_dict_at(frame->slots[at]);
    }
    if (kw && kw->n && !bind_keywords(vm, f, frame, kw, extra)) return false;
    if (plain < code->n_args) {
        uint32_t defaults = f->defaults ? pel_tuple_at(f->defaults)->n : 0;
        for (uint32_t i = plain; i < code->n_args; i++) {
            if (frame->slots[i]) continue;
            bool has_default = i + defaults >= code->n_args;
            if (!has_default && !f->decorator) return missing(vm, f, frame);
            frame->slots[i] = has_default ? pel_tuple_at(f->defaults)->at[i + defaults - code->n_args]
                                          : from_decorator(vm, f, code->locals[i]);
        }
    }
    for (uint32_t i = code->n_args; i < code->n_args + code->n_kwonly; i++) {
        if (frame->slots[i]) continue;
        pel_val given = f->kwdefaults ? pel_dict_get_str(f->kwdefaults, code->locals[i]) : NULL;
        if (!given) return missing(vm, f, frame);
        frame->slots[i] = given;
    }
    return true;
}

pel_frame *pel_bind_args(pel_vm *vm, pel_function *f, pel_val *args, uint32_t n, const pel_kw *kw) {
    const pel_codeobj *code = f->code;
    pel_frame *frame = pel_new_frame(vm, f->code);
    frame->function = f;
    frame->globals = f->globals;
    if (!kw && n == code->n_args && !code->n_kwonly && !code->has_varargs && !code->has_varkw) {
        for (uint32_t i = 0; i < n; i++) frame->slots[i] = args[i];
    } else if (!fill(vm, f, frame, args, n, kw)) {
        if (vm->raised && code->is_stub) ((pel_exception *)vm->raised)->is_gap = true;
        pel_free_frame(vm, frame);
        return NULL;
    }
    if (code->is_watched && vm->on_bind) vm->on_bind(vm, f, frame);
    pel_val *cells = frame->slots + code->n_locals;
    for (uint32_t i = 0; i < code->n_cells; i++)
        cells[i] = pel_new_cell(vm, code->cell_of_arg[i] >= 0 ? frame->slots[code->cell_of_arg[i]] : NULL);
    for (uint32_t i = 0; i < code->n_free; i++) cells[code->n_cells + i] = f->closure[i];
    return frame;
}

/* ---- natives ---- */

pel_val pel_call_native(pel_vm *vm, pel_native *native, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (kw && kw->n && !native->keywords)
        return pel_raise(vm, vm->types.TypeError, "%s() takes no keyword arguments", native->name);
    if ((int)n < native->min || (native->max >= 0 && (int)n > native->max)) {
        int self = native->is_method ? 1 : 0;
        return pel_raise(vm, vm->types.TypeError, "%s expected at %s %d argument%s, got %d", native->name,
                         (int)n < native->min ? "least" : "most",
                         ((int)n < native->min ? native->min : native->max) - self,
                         ((int)n < native->min ? native->min : native->max) - self == 1 ? "" : "s", (int)n - self);
    }
    if (native->owner && native->is_method &&
        !(pel_is_subtype(pel_type_of(vm, args[0]), native->owner) || native->owner == vm->types.object))
        return pel_raise(vm, vm->types.TypeError, "descriptor '%s' for '%s' objects doesn't apply to a '%s' object",
                         native->name, pel_string_at(native->owner->name)->text, pel_type_text(vm, args[0]));
    if (native->bound) {
        pel_val all[18];
        if (n > 16) return pel_raise(vm, vm->types.TypeError, "%s: too many arguments", native->name);
        all[0] = native->bound;
        for (uint32_t i = 0; i < n; i++) all[i + 1] = args[i];
        return native->fn(vm, all, n + 1, kw && kw->n ? kw : NULL);
    }
    return native->fn(vm, args, n, kw && kw->n ? kw : NULL);
}

/* For natives that take keywords, which pel_call_native does not place. The caller leaves out self or the class. NULL
 * in out means that there was no argument; None is a value like any other. */
bool pel_args(pel_vm *vm, const char *function, const char *names, pel_val *args, uint32_t n, const pel_kw *kw,
              uint32_t required, pel_val *out) {
    uint32_t total = 0;
    pel_str name[12];
    for (const char *at = names; *at; total++) {
        PEL_ASSERT(total < 12);
        const char *end = strchr(at, ',');
        name[total] = (pel_str){ at, end ? (size_t)(end - at) : strlen(at) };
        at = end ? end + 1 : at + strlen(at);
    }
    if (n > total) {
        pel_raise(vm, vm->types.TypeError, "%s() takes at most %u arguments (%u given)", function, total, n);
        return false;
    }
    for (uint32_t i = 0; i < total; i++) out[i] = i < n ? args[i] : NULL;
    for (uint32_t k = 0; kw && k < kw->n; k++) {
        uint32_t at = 0;
        while (at < total && !pel_str_eq(name[at], pel_text_of(kw->names[k]))) at++;
        if (at == total || out[at]) {
            pel_raise(vm, vm->types.TypeError,
                      at == total ? "%s() got an unexpected keyword argument '%s'"
                                  : "%s() got multiple values for argument '%s'",
                      function, pel_string_at(kw->names[k])->text);
            return false;
        }
        out[at] = kw->values[k];
    }
    for (uint32_t i = 0; i < required; i++) {
        if (out[i]) continue;
        pel_raise(vm, vm->types.TypeError, "%s() missing required argument '%.*s'", function, PEL_FMT(name[i]));
        return false;
    }
    return true;
}

/* ---- types ---- */

static bool check_init_args(pel_vm *vm, pel_type *type, pel_val new, pel_val init, uint32_t n, const pel_kw *kw) {
    if (!n && !(kw && kw->n)) return true;
    pel_val object_new = pel_dict_get_str(vm->types.object->head.attrs, vm->names.s_new);
    pel_val object_init = pel_dict_get_str(vm->types.object->head.attrs, vm->names.s_init);
    if (new != object_new || init != object_init) return true;
    pel_raise(vm, vm->types.TypeError, "%s() takes no arguments", pel_string_at(type->name)->text);
    return false;
}

/* on_construct runs between __new__ and __init__: the scanner must know a module before its __init__ makes those
 * inside. start_type in run.c does the same for plain classes without recursion in C; the two must agree. */
pel_val pel_type_call(pel_vm *vm, pel_type *type, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (type == vm->types.type && n == 1 && !(kw && kw->n)) return &pel_type_of(vm, args[0])->head;
    pel_val new = pel_lookup(vm, type, vm->names.s_new);
    pel_val init = pel_lookup(vm, type, vm->names.s_init);
    if (!check_init_args(vm, type, new, init, n, kw)) return NULL;
    pel_val all_room[16];
    pel_val *all = n < 16 ? all_room : pel_new_array(vm->ctx, n + 1, pel_val);
    all[0] = &type->head;
    for (uint32_t i = 0; i < n; i++) all[i + 1] = args[i];
    pel_val func = pel_is(new, PEL_L_WRAPPER) ? ((pel_wrapper *)new)->func : new;
    pel_val self = pel_call(vm, func, all, n + 1, kw);
    if (!self || !pel_is_a(vm, self, type)) return self;
    if (pel_type_of(vm, self) != type) init = pel_lookup(vm, pel_type_of(vm, self), vm->names.s_init);
    if (vm->on_construct) vm->on_construct(vm, self, args, n, kw);
    if (type == vm->types.type || !init) return self;
    if (pel_is(init, PEL_L_NATIVE) && init == pel_dict_get_str(vm->types.object->head.attrs, vm->names.s_init))
        return self;
    all[0] = self;
    pel_val result =
        pel_is(init, PEL_L_FUNCTION) || pel_is(init, PEL_L_NATIVE) ? pel_call(vm, init, all, n + 1, kw) : NULL;
    if (!result && !vm->raised) {
        pel_val bound = pel_bind(vm, init, self, type);
        result = bound ? pel_call(vm, bound, args, n, kw) : NULL;
    }
    if (!result) return NULL;
    if (result != vm->none && !pel_is_symbol(result))
        return pel_raise(vm, vm->types.TypeError, "__init__() should return None, not '%s'", pel_type_text(vm, result));
    return self;
}

/* ---- any callee ---- */

bool pel_enter_c(pel_vm *vm) {
    if (vm->c_depth >= MAX_NATIVE_DEPTH) {
        pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
        return false;
    }
    vm->c_depth++;
    return true;
}

static pel_val call_function(pel_vm *vm, pel_function *f, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (vm->depth >= MAX_FRAMES || vm->c_depth >= MAX_NATIVE_DEPTH)
        return pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
    pel_spend(vm, 8);
    pel_frame *frame = pel_bind_args(vm, f, args, n, kw);
    if (!frame) return NULL;
    if (f->code->is_generator || f->code->is_coroutine) return pel_make_generator(vm, frame);
    return pel_run(vm, frame);
}

static pel_val call_with_self(pel_vm *vm, pel_val func, pel_val self, pel_val *args, uint32_t n, const pel_kw *kw) {
    pel_val room[12];
    pel_val *all = n < 12 ? room : pel_new_array(vm->ctx, n + 1, pel_val);
    all[0] = self;
    if (n) memcpy(all + 1, args, n * sizeof *args);
    return pel_call(vm, func, all, n + 1, kw);
}

/* Each call from here may nest another run on the C stack, hence the limits on depth. start_call in run.c takes the
 * common callees without that; the two must agree, and both report to on_call. */
pel_val pel_call(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw) {
    if (kw && !kw->n) kw = NULL;
    pel_type *type = pel_type_of(vm, callee);
    switch (type->layout) {
    case PEL_L_FUNCTION: return call_function(vm, (pel_function *)callee, args, n, kw);
    case PEL_L_NATIVE: {
        if (vm->c_depth >= MAX_NATIVE_DEPTH)
            return pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
        vm->c_depth++;
        pel_val result = pel_call_native(vm, (pel_native *)callee, args, n, kw);
        vm->c_depth--;
        return result;
    }
    case PEL_L_METHOD:
        return call_with_self(vm, ((pel_method *)callee)->func, ((pel_method *)callee)->self, args, n, kw);
    case PEL_L_TYPE: {
        pel_type *meta = callee->type;
        if (meta != vm->types.type) {
            pel_val call = pel_lookup(vm, meta, vm->names.s_call);
            if (call && !pel_is(call, PEL_L_NATIVE)) return call_with_self(vm, call, callee, args, n, kw);
        }
        return pel_type_call(vm, pel_as_type(callee), args, n, kw);
    }
    case PEL_L_SYMBOL: return pel_symbol_call(vm, callee, args, n, kw);
    case PEL_L_WRAPPER: return pel_call(vm, ((pel_wrapper *)callee)->func, args, n, kw);
    case PEL_L_ALIAS: {
        pel_alias *alias = (pel_alias *)callee;
        if (alias->origin) return pel_call(vm, alias->origin, args, n, kw);
        break;
    }
    default: break;
    }
    pel_val call = pel_lookup(vm, type, vm->names.s_call);
    if (!call) return pel_raise(vm, vm->types.TypeError, "'%s' object is not callable", pel_type_text(vm, callee));
    if (vm->c_depth >= MAX_NATIVE_DEPTH)
        return pel_raise(vm, vm->types.RecursionError, "maximum recursion depth exceeded");
    if (pel_is(call, PEL_L_FUNCTION)) {
        bool watched = vm->on_call && vm->on_call(vm, callee, args, n, kw);
        pel_val result = call_with_self(vm, call, callee, args, n, kw);
        if (watched) vm->on_return(vm, callee, result);
        return result;
    }
    vm->c_depth++;
    call = pel_bind(vm, call, callee, type);
    pel_val result = call ? pel_call(vm, call, args, n, kw) : NULL;
    vm->c_depth--;
    return result;
}

pel_val pel_call0(pel_vm *vm, pel_val callee) { return pel_call(vm, callee, NULL, 0, NULL); }
pel_val pel_call1(pel_vm *vm, pel_val callee, pel_val a) { return pel_call(vm, callee, &a, 1, NULL); }
pel_val pel_call2(pel_vm *vm, pel_val callee, pel_val a, pel_val b) {
    return pel_call(vm, callee, (pel_val[]){ a, b }, 2, NULL);
}

pel_val pel_call_method(pel_vm *vm, pel_val v, const char *name, pel_val *args, uint32_t n) {
    pel_val method = pel_getattr_c(vm, v, name);
    return method ? pel_call(vm, method, args, n, NULL) : NULL;
}
