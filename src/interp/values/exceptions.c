/* Exceptions of the interpreted program, and the budget errors of the machine. */
#include "interp/vm.h"

#include <stdio.h>

static pel_val new_exception(pel_vm *vm, pel_type *type, pel_val args) {
    pel_exception *e = pel_make_object(vm, type, sizeof *e);
    e->args = args;
    return &e->head;
}

pel_val pel_raise_val(pel_vm *vm, pel_val exception) {
    pel_exception *e = (pel_exception *)exception;
    if (!e->context && vm->handled && vm->handled != exception) e->context = vm->handled;
    vm->raised = exception;
    return NULL;
}

pel_val pel_raise_with(pel_vm *vm, pel_type *type, pel_val arg) {
    pel_val args = arg && arg != vm->none ? pel_tuple_of(vm, &arg, 1) : vm->empty_tuple;
    return pel_raise_val(vm, new_exception(vm, type, args));
}

pel_val pel_raise(pel_vm *vm, pel_type *type, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pel_val message = pel_new_text(vm, pel_str_of(text));
    return pel_raise_val(vm, new_exception(vm, type, pel_tuple_of(vm, &message, 1)));
}

pel_val pel_make_exception(pel_vm *vm, pel_val what) {
    if (pel_is(what, PEL_L_EXCEPTION)) return what;
    if (pel_is_type(what) && pel_as_type(what)->layout == PEL_L_EXCEPTION) {
        pel_val made = pel_call0(vm, what);
        if (!made || pel_is(made, PEL_L_EXCEPTION)) return made;
    }
    if (pel_is_symbol(what)) {
        pel_raise(vm, vm->types.Exception, "%.*s", PEL_FMT(((pel_symbol *)what)->text));
        return NULL;
    }
    return pel_raise(vm, vm->types.TypeError, "exceptions must derive from BaseException");
}

bool pel_raised_is(pel_vm *vm, pel_type *type) { return vm->raised && pel_is_subtype(vm->raised->type, type); }
void pel_forget(pel_vm *vm) { vm->raised = NULL; }

pel_str pel_exception_text(pel_vm *vm, pel_val exception) {
    pel_val saved = vm->raised;
    vm->raised = NULL;
    pel_val text = pel_str_val(vm, exception);
    vm->raised = saved;
    const char *name = pel_string_at(exception->type->name)->text;
    if (!text || !pel_text_of(text).len) return pel_format(vm->ctx, "%s", name);
    return pel_format(vm->ctx, "%s: %.*s", name, PEL_FMT(pel_text_of(text)));
}

void pel_here(pel_vm *vm, bool outside, pel_str *file, uint32_t *line) {
    *file = (pel_str){ "", 0 };
    *line = 0;
    for (const pel_frame *frame = vm->frame; frame; frame = frame->back) {
        if (outside && frame->code->is_stub) continue;
        *file = frame->code->file;
        *line = pel_frame_line(frame);
        return;
    }
}

void pel_over_budget(pel_vm *vm, const char *what) {
    pel_throw(vm->ctx, PEL_E_TOO_BIG, 0, "over the budget of %s", what);
}

/* ---- methods ---- */

static pel_val exc_new(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)kw;
    if (!pel_is_type(args[0])) return pel_raise(vm, vm->types.TypeError, "__new__ needs a type");
    return new_exception(vm, pel_as_type(args[0]), pel_tuple_of(vm, args + 1, n - 1));
}

static pel_val exc_init(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    ((pel_exception *)args[0])->args = pel_tuple_of(vm, args + 1, n - 1);
    for (uint32_t i = 0; kw && i < kw->n; i++)
        pel_dict_set_str(vm, pel_attrs(vm, args[0]), kw->names[i], kw->values[i]);
    if (n > 1 && pel_is_subtype(args[0]->type, vm->types.OSError) && n >= 3) {
        pel_dict *attrs = pel_attrs(vm, args[0]);
        pel_dict_set_c(vm, attrs, "errno", args[1]);
        pel_dict_set_c(vm, attrs, "strerror", args[2]);
        if (n > 3) pel_dict_set_c(vm, attrs, "filename", args[3]);
    }
    return vm->none;
}

static pel_val exc_str(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_tuple *own = pel_tuple_at(((pel_exception *)args[0])->args);
    if (!own->n) return vm->empty_str;
    if (own->n == 1)
        return pel_is_subtype(args[0]->type, vm->types.KeyError) ? pel_repr(vm, own->at[0])
                                                                 : pel_str_val(vm, own->at[0]);
    if (own->n >= 2 && pel_is_subtype(args[0]->type, vm->types.OSError)) {
        pel_val number = pel_str_val(vm, own->at[0]), text = pel_str_val(vm, own->at[1]);
        if (!number || !text) return NULL;
        return pel_textf(vm, "[Errno %s] %s", pel_string_at(number)->text, pel_string_at(text)->text);
    }
    return pel_repr(vm, ((pel_exception *)args[0])->args);
}

static pel_val exc_repr(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_tuple *own = pel_tuple_at(((pel_exception *)args[0])->args);
    pel_val inner = own->n == 1 ? pel_repr(vm, own->at[0]) : pel_repr(vm, ((pel_exception *)args[0])->args);
    if (!inner) return NULL;
    pel_str text = pel_text_of(inner);
    if (own->n != 1) text = pel_str_cut(text, 1, text.len - 1);
    return pel_new_text(vm, pel_format(vm->ctx, "%s(%.*s)", pel_string_at(args[0]->type->name)->text, PEL_FMT(text)));
}

static pel_val exc_with_traceback(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)vm, (void)n, (void)kw;
    return args[0];
}

static pel_val exc_add_note(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw) {
    (void)n, (void)kw;
    pel_dict *attrs = pel_attrs(vm, args[0]);
    pel_val notes = pel_dict_get_str(attrs, vm->names.s_notes);
    if (!notes) pel_dict_set_str(vm, attrs, vm->names.s_notes, notes = pel_list_of(vm, NULL, 0));
    if (pel_is_list(notes)) pel_list_push(vm, notes, args[1]);
    return vm->none;
}

static pel_val get_args(pel_vm *vm, pel_val self) {
    (void)vm;
    return ((pel_exception *)self)->args;
}
static bool set_args(pel_vm *vm, pel_val self, pel_val value) {
    pel_val *items;
    uint32_t n;
    if (!value || !pel_collect(vm, value, &items, &n)) return false;
    ((pel_exception *)self)->args = pel_tuple_of(vm, items, n);
    return true;
}
static pel_val get_cause(pel_vm *vm, pel_val self) {
    pel_val cause = ((pel_exception *)self)->cause;
    return cause ? cause : vm->none;
}
static bool set_cause(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm;
    ((pel_exception *)self)->cause = value;
    return true;
}
static pel_val get_context(pel_vm *vm, pel_val self) {
    pel_val context = ((pel_exception *)self)->context;
    return context ? context : vm->none;
}
static bool set_context(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm;
    ((pel_exception *)self)->context = value;
    return true;
}
static pel_val get_traceback(pel_vm *vm, pel_val self) {
    (void)self;
    return vm->none;
}
static bool set_traceback(pel_vm *vm, pel_val self, pel_val value) {
    (void)vm, (void)self, (void)value;
    return true;
}
static pel_val get_value(pel_vm *vm, pel_val self) {
    pel_tuple *own = pel_tuple_at(((pel_exception *)self)->args);
    return own->n ? own->at[0] : vm->none;
}
static pel_val get_exceptions(pel_vm *vm, pel_val self) {
    pel_tuple *own = pel_tuple_at(((pel_exception *)self)->args);
    pel_val *items;
    uint32_t n;
    if (own->n < 2) return vm->empty_tuple;
    if (!pel_collect(vm, own->at[1], &items, &n)) return NULL;
    return pel_tuple_of(vm, items, n);
}

/* Nothing can be raised before it has run, so pel_vm_new calls it right after pel_init_object. Each row of
 * PEL_EXCEPTIONS reads the type of its base, so a base must be above what derives from it. */
void pel_init_exceptions(pel_vm *vm) {
    static const pel_native_row rows[] = {
        { "__init__", exc_init, 1, -1, true }, { "__str__", exc_str, 1, 1 },
        { "__repr__", exc_repr, 1, 1 },        { "with_traceback", exc_with_traceback, 2, 2 },
        { "add_note", exc_add_note, 2, 2 },    { NULL },
    };
    pel_type *base = vm->types.BaseException =
        pel_new_native_type(vm, "BaseException", PEL_L_EXCEPTION, vm->types.object);
    pel_add_methods(vm, base, rows);
    pel_dict_set_str(vm, pel_attrs(vm, &base->head), vm->names.s_new,
                     pel_new_native(vm, "__new__", exc_new, 1, -1, true));
    pel_add_getset(vm, base, "args", get_args, set_args);
    pel_add_getset(vm, base, "__cause__", get_cause, set_cause);
    pel_add_getset(vm, base, "__context__", get_context, set_context);
    pel_add_getset(vm, base, "__traceback__", get_traceback, set_traceback);
    pel_dict_set_c(vm, vm->builtins, "BaseException", &base->head);
#define X(name, of)                                                                                                    \
    vm->types.name = pel_new_native_type(vm, #name, PEL_L_EXCEPTION, vm->types.of);                                    \
    pel_dict_set_c(vm, vm->builtins, #name, &vm->types.name->head);
    PEL_EXCEPTIONS(X)
#undef X
    pel_dict_set_c(vm, vm->builtins, "EnvironmentError", &vm->types.OSError->head);
    pel_dict_set_c(vm, vm->builtins, "IOError", &vm->types.OSError->head);
    pel_add_getset(vm, vm->types.StopIteration, "value", get_value, NULL);
    pel_add_getset(vm, vm->types.SystemExit, "code", get_value, NULL);
    pel_add_getset(vm, vm->types.BaseExceptionGroup, "message", get_value, NULL);
    pel_add_getset(vm, vm->types.BaseExceptionGroup, "exceptions", get_exceptions, NULL);
}
