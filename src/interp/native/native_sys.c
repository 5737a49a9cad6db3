/* sys: what a program may ask about a machine that has no outside. */
#include "interp/native/native.h"

#include <float.h>

#define METHOD(name) static pel_val name(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw)
#define IGNORE() (void)n, (void)kw

METHOD(sys_getframe) {
    IGNORE();
    int64_t depth = 0;
    if (n && !pel_index(vm, args[0], &depth)) return NULL;
    return pel_frame_picture(vm, depth < 0 ? 0 : (uint32_t)depth);
}
METHOD(sys_exc_info) {
    IGNORE();
    (void)args;
    pel_val e = vm->handled;
    pel_val none[] = { vm->none, vm->none, vm->none }, some[] = { e ? &e->type->head : NULL, e, vm->none };
    return pel_tuple_of(vm, e ? some : none, 3);
}
METHOD(sys_exception) {
    IGNORE();
    (void)args;
    return vm->handled ? vm->handled : vm->none;
}
METHOD(sys_intern) {
    IGNORE();
    return pel_is_str(args[0]) ? pel_intern_val(vm, args[0])
                               : pel_raise(vm, vm->types.TypeError, "intern() argument must be str");
}
METHOD(sys_recursion) {
    IGNORE();
    (void)vm, (void)args;
    return pel_from_small(1000);
}
METHOD(sys_none) {
    IGNORE();
    (void)args;
    return vm->none;
}
METHOD(sys_size) {
    IGNORE();
    (void)vm, (void)args;
    return pel_from_small(64);
}
METHOD(sys_exit) {
    IGNORE();
    return pel_raise_with(vm, vm->types.SystemExit, n ? args[0] : NULL);
}
METHOD(sys_utf8) {
    IGNORE();
    (void)args;
    return pel_interned_c(vm, "utf-8");
}
METHOD(sys_finalizing) {
    IGNORE();
    (void)args;
    return vm->false_;
}

/* A tuple whose items have names too: sys.version_info. */
static pel_val named_tuple(pel_vm *vm, const char *name, const char *const *fields, const pel_val *values, uint32_t n) {
    pel_type *type = pel_new_native_type(vm, name, PEL_L_TUPLE, vm->types.tuple);
    type->is_native = false;
    pel_tuple *made = pel_make_object(vm, type, sizeof *made + n * sizeof(pel_val));
    made->n = n;
    memcpy(made->at, values, n * sizeof *values);
    for (uint32_t i = 0; i < n; i++) pel_dict_set_c(vm, pel_attrs(vm, &made->head), fields[i], values[i]);
    return &made->head;
}

pel_val pel_native_sys(pel_vm *vm) {
    static const pel_native_row rows[] = {
        { "_getframe", sys_getframe, 0, 1 },
        { "exc_info", sys_exc_info, 0, 0 },
        { "exception", sys_exception, 0, 0 },
        { "intern", sys_intern, 1, 1 },
        { "getrecursionlimit", sys_recursion, 0, 0 },
        { "setrecursionlimit", sys_none, 1, 1 },
        { "getsizeof", sys_size, 1, 2 },
        { "exit", sys_exit, 0, 1 },
        { "getdefaultencoding", sys_utf8, 0, 0 },
        { "getfilesystemencoding", sys_utf8, 0, 0 },
        { "settrace", sys_none, 1, 1 },
        { "gettrace", sys_none, 0, 0 },
        { "is_finalizing", sys_finalizing, 0, 0 },
        { "audit", sys_none, 0, -1 },
        { "getrefcount", sys_size, 1, 1 },
        { "setprofile", sys_none, 1, 1 },
        { "getprofile", sys_none, 0, 0 },
        { NULL },
    };
    pel_val module = pel_new_module(vm, pel_interned_c(vm, "sys"));
    pel_dict *d = module->attrs;
    pel_add_functions(vm, d, rows);
    static const char *const version_fields[] = { "major", "minor", "micro", "releaselevel", "serial" };
    pel_val version[] = { pel_from_small(3), pel_from_small(11), pel_from_small(7), pel_interned_c(vm, "final"),
                          pel_from_small(0) };
    pel_val info = named_tuple(vm, "version_info", version_fields, version, 5);
    pel_dict_set_c(vm, d, "version_info", info);
    pel_dict_set_c(vm, d, "hexversion", pel_int_of(vm, 0x030B07F0));
    pel_dict_set_c(vm, d, "version", pel_new_text_c(vm, "3.11.7 (pellucid)"));
    pel_dict_set_c(vm, d, "modules", &vm->modules->head);
    pel_dict_set_c(vm, d, "path", pel_list_of(vm, NULL, 0));
    pel_dict_set_c(vm, d, "meta_path", pel_list_of(vm, NULL, 0));
    pel_dict_set_c(vm, d, "path_hooks", pel_list_of(vm, NULL, 0));
    vm->argv = pel_list_of(vm, &vm->empty_str, 1);
    pel_dict_set_c(vm, d, "argv", vm->argv);
    pel_dict_set_c(vm, d, "orig_argv", pel_list_of(vm, NULL, 0));
    pel_dict_set_c(vm, d, "warnoptions", pel_list_of(vm, NULL, 0));
    pel_dict_set_c(vm, d, "builtin_module_names", vm->empty_tuple);
    pel_dict_set_c(vm, d, "platform", pel_interned_c(vm, "linux"));
    pel_dict_set_c(vm, d, "byteorder", pel_interned_c(vm, "little"));
    pel_dict_set_c(vm, d, "maxsize", pel_int_of(vm, INT64_MAX));
    pel_dict_set_c(vm, d, "maxunicode", pel_int_of(vm, 0x10FFFF));
    const char *const empty[] = { "executable",       "prefix",     "base_prefix",    "exec_prefix",
                                  "base_exec_prefix", "platlibdir", "pycache_prefix", "copyright" };
    for (size_t i = 0; i < PEL_COUNT(empty); i++) pel_dict_set_c(vm, d, empty[i], vm->empty_str);
    pel_dict_set_c(vm, d, "dont_write_bytecode", vm->true_);
    pel_dict_set_c(vm, d, "stdlib_module_names", pel_new_set(vm, vm->types.frozenset));
    static const char *const float_fields[] = { "max", "min", "epsilon", "dig", "mant_dig", "max_exp", "min_exp" };
    pel_val floats[] = { pel_float_of(vm, DBL_MAX),  pel_float_of(vm, DBL_MIN),    pel_float_of(vm, DBL_EPSILON),
                         pel_from_small(DBL_DIG),    pel_from_small(DBL_MANT_DIG), pel_from_small(DBL_MAX_EXP),
                         pel_from_small(DBL_MIN_EXP) };
    pel_dict_set_c(vm, d, "float_info", named_tuple(vm, "float_info", float_fields, floats, 7));
    static const char *const flag_fields[] = {
        "debug",     "optimize", "interactive",         "verbose",           "no_site",       "dev_mode",
        "utf8_mode", "isolated", "ignore_environment",  "no_user_site",      "bytes_warning", "quiet",
        "safe_path", "inspect",  "dont_write_bytecode", "hash_randomization"
    };
    pel_val flags[16];
    for (int i = 0; i < 16; i++) flags[i] = pel_from_small(0);
    pel_dict_set_c(vm, d, "flags", named_tuple(vm, "flags", flag_fields, flags, 16));
    /* sys.implementation and the streams that swallow: a module serves as a bag of attributes */
    pel_val implementation = pel_new_module(vm, pel_interned_c(vm, "cpython"));
    pel_dict_set_c(vm, implementation->attrs, "name", pel_interned_c(vm, "cpython"));
    pel_dict_set_c(vm, implementation->attrs, "version", info);
    pel_dict_set_c(vm, implementation->attrs, "cache_tag", pel_interned_c(vm, "cpython-311"));
    pel_dict_set_c(vm, d, "implementation", implementation);
    static const pel_native_row stream[] = { { "write", sys_none, 1, 1 },
                                             { "flush", sys_none, 0, 0 },
                                             { "isatty", pel_false_native, 0, 0 },
                                             { "close", sys_none, 0, 0 },
                                             { NULL } };
    const char *const streams[] = { "stdout", "stderr", "stdin", "__stdout__", "__stderr__", "__stdin__" };
    for (size_t i = 0; i < PEL_COUNT(streams); i++) {
        pel_val bag = pel_new_module(vm, pel_interned_c(vm, streams[i]));
        pel_add_functions(vm, bag->attrs, stream);
        pel_dict_set_c(vm, bag->attrs, "encoding", pel_interned_c(vm, "utf-8"));
        pel_dict_set_c(vm, d, streams[i], bag);
    }
    return module;
}
