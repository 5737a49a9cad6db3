/* A new machine: its types, names and builtins. */
#include "interp/vm.h"

#include <stdio.h>

static void make_types(pel_vm *vm) {
    vm->types.type = pel_alloc(vm->ctx, sizeof(pel_type));
    vm->types.type->head.type = vm->types.type;
    /* first bare, then with names and orders, which need str and tuple */
#define X(field, text, lay, of)                                                                                        \
    if (!vm->types.field) vm->types.field = pel_make_object(vm, vm->types.type, sizeof(pel_type));                     \
    vm->types.field->layout = PEL_L_##lay;                                                                             \
    vm->types.field->is_native = true;
    PEL_NATIVE_TYPES(X)
#undef X
    vm->empty_str = pel_interned(vm, PEL_STR(""));
#define X(field, text, lay, of)                                                                                        \
    vm->types.field->name = vm->types.field->qualname = pel_interned_c(vm, text);                                      \
    vm->types.field->base = vm->types.field == vm->types.object ? NULL : vm->types.of;
    PEL_NATIVE_TYPES(X)
#undef X
    pel_type *all[] = {
#define X(field, text, lay, of) vm->types.field,
        PEL_NATIVE_TYPES(X)
#undef X
    };
    vm->empty_tuple = pel_tuple_of(vm, NULL, 0);
    for (size_t i = 0; i < PEL_COUNT(all); i++) {
        pel_val chain[4];
        uint32_t n = 0;
        for (pel_type *type = all[i]; type && n < 4; type = type->base) chain[n++] = &type->head;
        all[i]->mro = pel_tuple_of(vm, chain, n);
        all[i]->bases = pel_tuple_of(vm, chain + 1, n > 1 ? 1 : 0);
    }
}

static void make_names(pel_vm *vm) {
#define X(field) vm->names.s_##field = pel_interned_c(vm, "__" #field "__");
    PEL_DUNDERS(X)
#undef X
    static const char *const operators[] = { "add",    "sub",    "mul", "matmul", "truediv", "mod",     "pow",
                                             "lshift", "rshift", "or",  "xor",    "and",     "floordiv" };
    static const char *const prefixes[] = { "", "r", "i" };
    for (int i = 0; i < 13; i++)
        for (int k = 0; k < 3; k++) {
            char name[24];
            snprintf(name, sizeof name, "__%s%s__", prefixes[k], operators[i]);
            vm->op_names[i][k] = pel_interned_c(vm, name);
        }
    for (int c = 0; c < 128; c++) {
        char one = (char)c;
        vm->chars[c] = pel_interned(vm, (pel_str){ &one, 1 });
    }
}

static void make_singletons(pel_vm *vm) {
    vm->none = pel_make_object(vm, vm->types.none, sizeof(pel_object));
    vm->ellipsis = pel_make_object(vm, vm->types.ellipsis, sizeof(pel_object));
    vm->not_implemented = pel_make_object(vm, vm->types.not_implemented, sizeof(pel_object));
    pel_int *booleans[2];
    for (uint32_t i = 0; i < 2; i++) {
        booleans[i] = pel_make_object(vm, vm->types.bool_, sizeof(pel_int) + sizeof(uint32_t));
        booleans[i]->n = i;
        booleans[i]->limb[0] = i;
    }
    vm->false_ = &booleans[0]->head;
    vm->true_ = &booleans[1]->head;
}

pel_vm *pel_vm_new(pel_ctx *ctx) {
    pel_vm *vm = pel_new(ctx, pel_vm);
    vm->ctx = ctx;
    vm->max_steps = 2000000000;
    vm->cache = pel_new_array(ctx, PEL_CACHE_SIZE, pel_cache_row);
    vm->pairs = pel_new_array(ctx, PEL_PAIRS, pel_val);
    make_types(vm);
    make_names(vm);
    make_singletons(vm);
    vm->builtins = pel_dict_at(pel_new_dict(vm));
    vm->modules = pel_dict_at(pel_new_dict(vm));
    pel_init_object(vm);
    pel_init_exceptions(vm);
    pel_init_numbers(vm);
    pel_init_str(vm);
    pel_init_sequences(vm);
    pel_init_dict(vm);
    pel_init_generators(vm);
    pel_init_functions(vm);
    /* types that have a name for everybody */
    pel_type *named[] = {
        vm->types.object,     vm->types.type,     vm->types.int_,        vm->types.bool_,        vm->types.float_,
        vm->types.complex,    vm->types.str,      vm->types.bytes,       vm->types.bytearray,    vm->types.tuple,
        vm->types.list,       vm->types.dict,     vm->types.set,         vm->types.frozenset,    vm->types.range,
        vm->types.slice,      vm->types.property, vm->types.classmethod, vm->types.staticmethod, vm->types.super,
        vm->types.enumerate,  vm->types.zip,      vm->types.map,         vm->types.filter,       vm->types.reversed,
        vm->types.memoryview,
    };
    for (size_t i = 0; i < PEL_COUNT(named); i++) pel_dict_set_str(vm, vm->builtins, named[i]->name, &named[i]->head);
    vm->types.bool_->is_final = true;
    pel_dict_set_c(vm, vm->builtins, "None", vm->none);
    pel_dict_set_c(vm, vm->builtins, "True", vm->true_);
    pel_dict_set_c(vm, vm->builtins, "False", vm->false_);
    pel_dict_set_c(vm, vm->builtins, "Ellipsis", vm->ellipsis);
    pel_dict_set_c(vm, vm->builtins, "NotImplemented", vm->not_implemented);
    pel_dict_set_str(vm, vm->builtins, vm->names.s_debug, vm->true_);
    pel_dict_set_str(vm, vm->builtins, vm->names.s_name, pel_interned_c(vm, "builtins"));
    pel_init_modules(vm);
    return vm;
}
