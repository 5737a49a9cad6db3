/* What single instructions do, when that is more than a few lines. */
#include "interp/machine/run.h"

#include "interp/code/ops.h"

pel_val pel_run_format(pel_vm *vm, pel_val value, uint32_t conversion, pel_val spec) {
    if (conversion == 'r' || conversion == 'a')
        value = pel_repr(vm, value);
    else if (conversion == 's')
        value = pel_str_val(vm, value);
    if (!value) return NULL;
    return pel_format_val(vm, value, spec ? pel_text_of(spec) : (pel_str){ "", 0 });
}

/* A table of positions may have millions of items, of which only the shape matters to the network. */
bool pel_takes_too_much(pel_vm *vm, const pel_frame *f) {
    size_t taken = vm->ctx->taken - f->taken, left = vm->ctx->may_take - f->taken;
    if (taken <= left / 2 || !pel_str_eq(pel_text_of(f->code->name), PEL_STR("<listcomp>"))) return false;
    pel_raise(vm, vm->types.MemoryError, "a list of more than %zu MiB", taken >> 20);
    return true;
}

bool pel_run_merge(pel_vm *vm, pel_dict *into, pel_val from, bool no_doubles) {
    if (no_doubles && pel_is_dict(from)) {
        uint32_t at = 0;
        for (pel_entry *entry; (entry = pel_dict_next(pel_dict_at(from), &at));) {
            pel_val there;
            if (!pel_dict_get(vm, into, entry->key, &there)) return false;
            if (!there) continue;
            pel_raise(vm, vm->types.TypeError, "got multiple values for keyword argument '%s'",
                      pel_is_str(entry->key) ? pel_string_at(entry->key)->text : "?");
            return false;
        }
    }
    if (pel_is_symbol(from)) {
        pel_note_lost(vm, ((pel_symbol *)from)->text, PEL_STR("arguments or items by name that are not known"));
        return true;
    }
    return pel_dict_update(vm, into, from);
}

static bool wrong_count(pel_vm *vm, uint32_t want, uint32_t got, bool at_least) {
    if (got > want)
        pel_raise(vm, vm->types.ValueError, "too many values to unpack (expected %u)", want);
    else
        pel_raise(vm, vm->types.ValueError, "not enough values to unpack (expected %s%u, got %u)",
                  at_least ? "at least " : "", want, got);
    return false;
}

/* Parts of something unknown are unknown, each with its index. */
static void unpack_symbol(pel_vm *vm, pel_val from, uint32_t n, pel_val *out) {
    for (uint32_t i = 0; i < n; i++) {
        pel_symbol *symbol = (pel_symbol *)from;
        pel_str text = pel_format(vm->ctx, symbol->level ? "(%.*s)[%u]" : "%.*s[%u]", PEL_FMT(symbol->text), i);
        out[n - 1 - i] = pel_symbol_from(vm, text, from);
    }
}

bool pel_run_unpack(pel_vm *vm, pel_val from, uint32_t n, pel_val *out) {
    pel_val *items;
    uint32_t got;
    if (pel_is_symbol(from)) {
        unpack_symbol(vm, from, n, out);
        return true;
    }
    if ((pel_is_tuple(from) || pel_is_list(from)) && from->type->is_native)
        items = pel_items(from, &got);
    else if (!pel_collect(vm, from, &items, &got))
        return false;
    if (got != n) return wrong_count(vm, n, got, false);
    for (uint32_t i = 0; i < n; i++) out[n - 1 - i] = items[i];
    return true;
}

bool pel_run_unpack_ex(pel_vm *vm, pel_val from, uint32_t before, uint32_t after, pel_val *out) {
    pel_val *items;
    uint32_t got;
    if (!pel_collect(vm, from, &items, &got)) return false;
    if (got < before + after) return wrong_count(vm, before + after, got, true);
    uint32_t n = before + 1 + after, middle = got - before - after;
    for (uint32_t i = 0; i < before; i++) out[n - 1 - i] = items[i];
    out[n - 1 - before] = pel_list_of(vm, items + before, middle);
    for (uint32_t i = 0; i < after; i++) out[after - 1 - i] = items[before + middle + i];
    return true;
}

pel_val pel_run_make_function(pel_vm *vm, pel_frame *frame, pel_codeobj *code, pel_val *parts) {
    pel_function *f = pel_make_object(vm, vm->types.function, sizeof *f);
    f->code = code;
    f->globals = frame->globals;
    f->name = code->name;
    f->qualname = code->qualname;
    f->doc = code->has_docstring ? code->consts[0] : vm->none;
    pel_val module = pel_dict_get_str(frame->globals, vm->names.s_name);
    f->module = module ? module : vm->none;
    f->defaults = parts[0];
    f->kwdefaults = parts[1] ? pel_dict_at(parts[1]) : NULL;
    f->closure = parts[2] ? pel_tuple_at(parts[2])->at : NULL;
    f->annotation_closure = parts[3] ? pel_tuple_at(parts[3])->at : NULL;
    if (code->annotations) f->annotation_names = frame->code->is_class ? frame->names : NULL;
    return &f->head;
}

pel_val pel_annotations_of(pel_vm *vm, pel_function *f) {
    if (f->annotations) return f->annotations;
    pel_codeobj *code = f->code->annotations;
    if (!code) return f->annotations = pel_new_dict(vm);
    pel_frame *frame = pel_new_frame(vm, code);
    frame->globals = f->globals;
    frame->names = f->annotation_names;
    for (uint32_t i = 0; i < code->n_free; i++)
        frame->slots[code->n_locals + code->n_cells + i] = f->annotation_closure[i];
    pel_val made = pel_run(vm, frame);
    if (made) f->annotations = made;
    return made;
}

pel_val pel_run_class(pel_vm *vm, pel_val *parts) {
    pel_dict *dict = pel_dict_at(parts[3]);
    pel_val names[32], values[32];
    pel_kw kw = { 0, names, values };
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(dict, &at)) && kw.n < 32;) {
        names[kw.n] = pel_intern_val(vm, entry->key);
        values[kw.n++] = entry->value;
    }
    return pel_build_class(vm, parts[0], parts[1], parts[2], kw.n ? &kw : NULL);
}

/* ---- exceptions ---- */

void pel_run_raise(pel_vm *vm, pel_val what, pel_val cause) {
    if (!what) {
        if (vm->handled)
            vm->raised = vm->handled;
        else
            pel_raise(vm, vm->types.RuntimeError, "No active exception to reraise");
        return;
    }
    pel_val made = pel_make_exception(vm, what);
    if (!made) return;
    ((pel_exception *)made)->is_meant = true;
    if (cause) {
        pel_exception *e = (pel_exception *)made;
        e->suppress = true;
        if (cause != vm->none) {
            cause = pel_make_exception(vm, cause);
            if (!cause) return;
        }
        e->cause = cause;
    }
    pel_raise_val(vm, made);
}

int pel_run_match_exception(pel_vm *vm, pel_val exception, pel_val type) {
    if (pel_is_type(type)) return pel_is_subtype(exception->type, pel_as_type(type));
    if (pel_is_tuple(type)) {
        for (uint32_t i = 0; i < pel_tuple_at(type)->n; i++) {
            int match = pel_run_match_exception(vm, exception, pel_tuple_at(type)->at[i]);
            if (match) return match;
        }
        return 0;
    }
    if (pel_is_symbol(type)) return 0;
    pel_raise(vm, vm->types.TypeError, "catching classes that do not inherit from BaseException is not allowed");
    return -1;
}

/* exception, type -> rest, match. A plain exception counts as a group of one. */
bool pel_run_match_group(pel_vm *vm, pel_val *at) {
    if (at[0] == vm->none) {
        at[1] = vm->none;
        return true;
    }
    pel_val exception = at[0];
    int whole = pel_run_match_exception(vm, exception, at[1]);
    if (whole < 0) return false;
    if (!pel_is_subtype(exception->type, vm->types.BaseExceptionGroup)) {
        if (!whole) {
            at[1] = vm->none;
            return true;
        }
        pel_val args[] = { vm->empty_str, pel_list_of(vm, &exception, 1) };
        at[1] = pel_call(vm, &vm->types.ExceptionGroup->head, args, 2, NULL);
        at[0] = vm->none;
        return at[1] != NULL;
    }
    pel_val *items, parts[2];
    uint32_t n;
    pel_tuple *own = pel_tuple_at(((pel_exception *)exception)->args);
    if (own->n < 2 || !pel_collect(vm, own->at[1], &items, &n)) return false;
    parts[0] = pel_list_of(vm, NULL, 0);
    parts[1] = pel_list_of(vm, NULL, 0);
    for (uint32_t i = 0; i < n; i++) {
        int match = pel_run_match_exception(vm, items[i], at[1]);
        if (match < 0) return false;
        pel_list_push(vm, parts[match], items[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (!pel_list_at(parts[i])->n) {
            at[i] = vm->none;
            continue;
        }
        pel_val args[] = { own->at[0], parts[i] };
        at[i] = pel_call(vm, &exception->type->head, args, 2, NULL);
        if (!at[i]) return false;
    }
    return true;
}

bool pel_run_enter(pel_vm *vm, pel_val manager, bool is_async, pel_val *exit, pel_val *entered) {
    if (pel_is_symbol(manager)) {
        *exit = pel_new_native(vm, "__exit__", pel_false_native, 0, -1, true);
        *entered = pel_symbol_of(vm, ((pel_symbol *)manager)->text, ((pel_symbol *)manager)->why);
        return true;
    }
    pel_val enter_name = is_async ? vm->names.s_aenter : vm->names.s_enter;
    pel_val exit_name = is_async ? vm->names.s_aexit : vm->names.s_exit;
    pel_type *type = pel_type_of(vm, manager);
    pel_val found = pel_lookup(vm, type, exit_name);
    if (!found || !pel_lookup(vm, type, enter_name)) {
        pel_raise(vm, vm->types.TypeError, "'%s' object does not support the context manager protocol",
                  pel_type_text(vm, manager));
        return false;
    }
    *exit = pel_bind(vm, found, manager, type);
    if (!*exit) return false;
    *entered = pel_call_special(vm, manager, enter_name, NULL, 0);
    return *entered != NULL;
}

/* ---- imports ---- */

pel_val pel_run_import(pel_vm *vm, pel_frame *frame, pel_val name, uint32_t level, bool wants_last) {
    pel_str text = pel_text_of(name);
    if (level) return pel_import_relative(vm, frame->globals, text, level);
    pel_val module = pel_import(vm, text);
    if (!module || wants_last) return module;
    const char *dot = memchr(text.ptr, '.', text.len);
    if (!dot) return module;
    pel_val first = pel_dict_get_str(vm->modules, pel_interned(vm, pel_str_cut(text, 0, (size_t)(dot - text.ptr))));
    return first ? first : module;
}

/* A symbol as __all__ says nothing and counts as none. __all__ may name submodules that nobody imported yet, so
 * pel_import_from looks for each. A symbolic module holds only names that were read before: a note says that others are
 * unknown. */
bool pel_run_import_star(pel_vm *vm, pel_dict *into, pel_val module) {
    bool failed;
    pel_val all = pel_find_attr(vm, module, vm->names.s_all, &failed);
    if (failed) return false;
    if (all && !pel_is_symbol(all)) {
        pel_val *names;
        uint32_t n;
        if (!pel_collect(vm, all, &names, &n)) return false;
        for (uint32_t i = 0; i < n; i++) {
            if (!pel_is_str(names[i])) continue;
            pel_val name = pel_intern_val(vm, names[i]);
            pel_val value = pel_import_from(vm, module, name);
            if (!value) return false;
            pel_dict_set_str(vm, into, name, value);
        }
        return true;
    }
    if (!module->attrs) return true;
    if (pel_is(module, PEL_L_MODULE) && ((pel_module_object *)module)->is_symbolic)
        pel_note_unknown(vm, PEL_STR("import *"), PEL_STR("from a module that is not interpreted"));
    uint32_t at = 0;
    for (pel_entry *entry; (entry = pel_dict_next(module->attrs, &at));)
        if (pel_is_str(entry->key) && pel_text_of(entry->key).len && pel_text_of(entry->key).ptr[0] != '_')
            pel_dict_set_str(vm, into, entry->key, entry->value);
    return true;
}

pel_val pel_run_type_param(pel_vm *vm, pel_val name, uint32_t kind) {
    static const char *const classes[] = { "TypeVar", "ParamSpec", "TypeVarTuple" };
    pel_val typing = pel_import(vm, PEL_STR("typing"));
    if (!typing) return NULL;
    pel_val class = pel_getattr_c(vm, typing, classes[kind < 3 ? kind : 0]);
    return class ? pel_call1(vm, class, name) : NULL;
}

/* ---- match ---- */

int pel_run_match_kind(pel_vm *vm, pel_val v, bool mapping) {
    pel_vm_layout layout = pel_type_of(vm, v)->layout;
    if (mapping) {
        if (layout == PEL_L_DICT) return 1;
    } else {
        if (layout == PEL_L_LIST || layout == PEL_L_TUPLE || layout == PEL_L_RANGE) return 1;
        if (layout == PEL_L_STR || layout == PEL_L_BYTES || layout == PEL_L_DICT || layout == PEL_L_SET) return 0;
    }
    if (pel_type_of(vm, v)->is_native) return 0;
    pel_val abc = pel_import(vm, PEL_STR("collections.abc"));
    pel_val class = abc ? pel_getattr_c(vm, abc, mapping ? "Mapping" : "Sequence") : NULL;
    if (!class) {
        pel_forget(vm);
        return 0;
    }
    return pel_isinstance(vm, v, class);
}

pel_val pel_run_match_keys(pel_vm *vm, pel_val subject, pel_val keys) {
    uint32_t n = pel_tuple_at(keys)->n;
    pel_val values = pel_tuple_of(vm, NULL, n);
    for (uint32_t i = 0; i < n; i++) {
        pel_val value = NULL, key = pel_tuple_at(keys)->at[i];
        if (pel_is_dict(subject)) {
            if (!pel_dict_get(vm, pel_dict_at(subject), key, &value)) return NULL;
        } else {
            value = pel_call_method(vm, subject, "get", (pel_val[]){ key, vm->not_implemented }, 2);
            if (!value) return NULL;
            if (value == vm->not_implemented) value = NULL;
        }
        if (!value) return vm->none;
        pel_tuple_at(values)->at[i] = value;
    }
    return values;
}

/* None means no match, NULL an exception. A builtin class with one positional pattern matches the subject itself:
 * CPython has a flag for such classes, here every layout but that of plain objects counts. The loop leaves values alone
 * that are set. */
pel_val pel_run_match_class(pel_vm *vm, pel_val *at, uint32_t positional) {
    pel_val subject = at[0], class = at[1], names = at[2];
    int match = pel_isinstance(vm, subject, class);
    if (match < 0) return NULL;
    if (!match) return vm->none;
    uint32_t n = positional + pel_tuple_at(names)->n;
    pel_val values = pel_tuple_of(vm, NULL, n);
    pel_val order = NULL;
    if (positional) {
        bool failed;
        order = pel_find_attr(vm, class, vm->names.s_match_args, &failed);
        if (failed) return NULL;
        bool is_self = pel_is_type(class) && !order && pel_as_type(class)->layout != PEL_L_OBJECT;
        if (is_self && positional == 1) {
            pel_tuple_at(values)->at[0] = subject;
        } else if (!order || !pel_is_tuple(order) || pel_tuple_at(order)->n < positional) {
            return pel_raise(vm, vm->types.TypeError, "%s() accepts fewer positional sub-patterns (%u given)",
                             pel_is_type(class) ? pel_string_at(pel_as_type(class)->name)->text : "?", positional);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (pel_tuple_at(values)->at[i]) continue;
        pel_val name = i < positional ? pel_tuple_at(order)->at[i] : pel_tuple_at(names)->at[i - positional];
        bool failed;
        pel_val value = pel_find_attr(vm, subject, pel_intern_val(vm, name), &failed);
        if (failed) return NULL;
        if (!value) return vm->none;
        pel_tuple_at(values)->at[i] = value;
    }
    return values;
}

pel_val pel_run_dict_rest(pel_vm *vm, pel_val subject, pel_val keys) {
    pel_val rest = pel_new_dict(vm);
    if (!pel_dict_update(vm, pel_dict_at(rest), subject)) return NULL;
    for (uint32_t i = 0; i < pel_tuple_at(keys)->n; i++) {
        pel_val ignored;
        if (!pel_dict_del(vm, pel_dict_at(rest), pel_tuple_at(keys)->at[i], &ignored)) return NULL;
    }
    return rest;
}
