/* What a class is made with that no source makes: its parameters without default.
 *
 * Each is a symbol, so that the tree says how it depends on them. Where such a tree can't be made (a library asks what
 * the configuration is, or looks its values up in tables), those whose annotation names a class are instances of that
 * class, made with its defaults; which was assumed is listed. */
#include "interp/scan.h"

/* An annotation is a value, or the text of one. */
static pel_val evaluated(pel_vm *vm, pel_val annotation, pel_dict *globals) {
    if (!annotation || !pel_is_str(annotation)) return annotation;
    pel_val builtin = pel_dict_get_str(vm->builtins, annotation);
    if (builtin) return builtin;
    pel_codeobj *code = pel_compile_source(vm, PEL_STR("<annotation>"), pel_text_of(annotation), true, true);
    return code ? pel_run_code(vm, code, globals, NULL, NULL) : NULL;
}

static pel_val annotation_in(pel_vm *vm, pel_val annotations, pel_val name, pel_dict *globals) {
    bool is_there = annotations && pel_is_dict(annotations);
    pel_val found = is_there ? evaluated(vm, pel_dict_get_str(pel_dict_at(annotations), name), globals) : NULL;
    pel_forget(vm); /* a name that is not there is no annotation */
    return found;
}

static pel_dict *globals_of(pel_vm *vm, const pel_dict *own_names, pel_dict *otherwise) {
    pel_val name = own_names ? pel_dict_get_str(own_names, vm->names.s_module) : NULL;
    pel_val module = name && pel_is_str(name) ? pel_dict_get_str(vm->modules, name) : NULL;
    return module && !pel_is_small(module) && module->attrs ? module->attrs : otherwise;
}

/* The class that a parameter is of: by its annotation, by that of the attribute of its name, or by an attribute
 * `config_class`; a class may say it more closely than the constructor that it inherits. NULL: nothing says it. */
static pel_type *annotated_class(pel_vm *vm, const pel_type *type, pel_function *init, pel_val name) {
    pel_val of_parameter = annotation_in(vm, pel_annotations_of(vm, init), name, init->globals);
    if (of_parameter && !pel_is_type(of_parameter)) return NULL;
    pel_type *class = of_parameter ? pel_as_type(of_parameter) : NULL;
    pel_val by_name = pel_interned(vm, pel_format(vm->ctx, "%s_class", pel_string_at(name)->text));
    const pel_tuple *mro = pel_tuple_at(type->mro);
    for (uint32_t i = 0; i < mro->n; i++) {
        const pel_dict *own = mro->at[i]->attrs;
        pel_val annotations = own ? pel_dict_get_str(own, vm->names.s_annotations) : NULL;
        pel_val said = annotation_in(vm, annotations, name, globals_of(vm, own, init->globals));
        if (!said && own) said = pel_dict_get_str(own, by_name);
        if (!said || !pel_is_type(said)) continue;
        if (!class || pel_is_subtype(pel_as_type(said), class)) class = pel_as_type(said);
        break;
    }
    return class;
}

static pel_val parameter_symbol(pel_vm *vm, const pel_type *type, pel_function *init, pel_val name) {
    pel_val made = pel_symbol_of(vm, pel_text_of(name), PEL_STR("a parameter of the class"));
    if (!pel_is_symbol(made)) return made;
    pel_type *class = annotated_class(vm, type, init, name);
    ((pel_symbol *)made)->is_parameter = true;
    ((pel_symbol *)made)->declared = class == vm->types.object ? NULL : class;
    return made;
}

/* --set config.width=64 is an argument of the class that config is of. */
static void put_settings(pel_vm *vm, pel_val name, pel_kw *kw, pel_val *names, uint32_t room, pel_buf *text) {
    pel_str prefix = pel_format(vm->ctx, "%s.", pel_string_at(name)->text);
    uint32_t at = 0;
    for (pel_entry *entry; vm->assigned && kw->n < room && (entry = pel_dict_next(vm->assigned, &at));) {
        pel_str given = pel_text_of(entry->key);
        if (!pel_str_starts(given, prefix)) continue;
        names[kw->n] = pel_interned(vm, pel_str_from(given, prefix.len));
        kw->values[kw->n++] = entry->value;
        pel_putf(text, "%s%.*s=%.*s", kw->n > 1 ? ", " : "", PEL_FMT(pel_str_from(given, prefix.len)),
                 PEL_FMT(pel_symbol_arg(vm, entry->value)));
    }
}

/* An instance of the class that annotates a parameter, with a note that says so; NULL: there is none. Modules are
 * no settings: one that nobody chose says nothing about the network. */
static pel_val assumed_instance(pel_scanner *scanner, const pel_type *type, pel_function *init, pel_val name) {
    pel_vm *vm = scanner->vm;
    pel_type *class = annotated_class(vm, type, init, name);
    if (!class || class->is_native || pel_module_kind_of(scanner, class)) return NULL;
    pel_val names[32], values[32];
    pel_kw kw = { 0, names, values };
    pel_buf text = pel_buf_in(vm->ctx);
    pel_putf(&text, "%s = %s(", pel_string_at(name)->text, pel_string_at(class->name)->text);
    put_settings(vm, name, &kw, names, PEL_COUNT(names), &text);
    pel_put_byte(&text, ')');
    bool recovers = vm->recovers;
    vm->recovers = false; /* a configuration that can't be made is none */
    pel_val made = pel_call(vm, &class->head, NULL, 0, kw.n ? &kw : NULL);
    vm->recovers = recovers;
    if (!made) {
        pel_forget(vm);
        return NULL;
    }
    pel_push(vm->ctx, &vm->unknown,
             (pel_note){ .what = pel_buf_str(&text),
                         .why = PEL_WHY_ASSUMED,
                         .file = init->code->file,
                         .line = init->code->first_line });
    return made;
}

/* Parameters between two that the user set keep their defaults, so one that has a default goes by keyword. n_open
 * counts what the user left open: scan.c runs the forward that was asked for only if that is 0. Parameters beyond
 * PEL_CLASS_ARGS are left out, and the call may fail. */
bool pel_class_args(pel_scanner *scanner, pel_type *type, bool by_annotation, pel_class_call *call) {
    pel_vm *vm = scanner->vm;
    pel_val found = pel_lookup(vm, type, vm->names.s_init);
    *call = (pel_class_call){ 0 };
    call->kw = (pel_kw){ 0, call->names, call->values };
    if (!found || !pel_is(found, PEL_L_FUNCTION)) return false;
    pel_function *init = (pel_function *)found;
    const pel_codeobj *code = init->code;
    uint32_t defaults = init->defaults ? pel_tuple_at(init->defaults)->n : 0;
    bool any_assumed = false;
    for (uint32_t i = 1; i < code->n_args + code->n_kwonly && call->n < PEL_CLASS_ARGS && call->kw.n < PEL_CLASS_ARGS;
         i++) {
        pel_val name = code->locals[i];
        bool has_default = i < code->n_args ? i + defaults >= code->n_args
                                            : init->kwdefaults && pel_dict_get_str(init->kwdefaults, name);
        pel_val value = vm->assigned ? pel_dict_get_str(vm->assigned, name) : NULL;
        if (has_default && !value) continue;
        call->n_open += !value;
        if (!value && by_annotation) {
            value = assumed_instance(scanner, type, init, name);
            any_assumed |= value != NULL;
        }
        if (!value) value = parameter_symbol(vm, type, init, name);
        if (i < code->n_args && !has_default) {
            call->args[call->n++] = value;
        } else {
            call->names[call->kw.n] = name;
            call->values[call->kw.n++] = value;
        }
    }
    return any_assumed;
}
