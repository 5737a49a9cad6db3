/* The machine: what the files of the interpreter share. */
#ifndef PEL_INTERP_VM_H
#define PEL_INTERP_VM_H

#include "interp/value.h"

/* clang-format off */
/* Native types: X(field, Python's name, layout, base). Bases come first. */
#define PEL_NATIVE_TYPES(X)                                                                                            \
    X(object, "object", OBJECT, object) X(type, "type", TYPE, object) X(none, "NoneType", NONE, object)                \
    X(int_, "int", INT, object) X(bool_, "bool", BOOL, int_) X(float_, "float", FLOAT, object)                         \
    X(complex, "complex", COMPLEX, object) X(str, "str", STR, object) X(bytes, "bytes", BYTES, object)                 \
    X(bytearray, "bytearray", BYTES, object)                                                                           \
    X(tuple, "tuple", TUPLE, object) X(list, "list", LIST, object) X(dict, "dict", DICT, object)                       \
    X(set, "set", SET, object) X(frozenset, "frozenset", SET, object) X(range, "range", RANGE, object)                 \
    X(slice, "slice", SLICE, object) X(function, "function", FUNCTION, object)                                         \
    X(native, "builtin_function_or_method", NATIVE, object) X(method, "method", METHOD, object)                        \
    X(code, "code", CODE, object) X(cell, "cell", CELL, object) X(module, "module", MODULE, object)                    \
    X(generator, "generator", GENERATOR, object) X(coroutine, "coroutine", GENERATOR, object)                          \
    X(async_generator, "async_generator", GENERATOR, object)                                                           \
    X(iter, "iterator", ITER, object) X(enumerate, "enumerate", ITER, object) X(zip, "zip", ITER, object)              \
    X(map, "map", ITER, object) X(filter, "filter", ITER, object) X(reversed, "reversed", ITER, object)                \
    X(property, "property", PROPERTY, object)                                                                          \
    X(classmethod, "classmethod", WRAPPER, object) X(staticmethod, "staticmethod", WRAPPER, object)                    \
    X(super, "super", SUPER, object) X(symbol, "symbol", SYMBOL, object)                                               \
    X(dict_keys, "dict_keys", VIEW, object) X(dict_values, "dict_values", VIEW, object)                                \
    X(dict_items, "dict_items", VIEW, object) X(mappingproxy, "mappingproxy", VIEW, object)                            \
    X(alias, "GenericAlias", ALIAS, object) X(union_, "UnionType", ALIAS, object)                                      \
    X(frame, "frame", FRAME, object) X(regex, "Pattern", REGEX, object) X(getset, "getset_descriptor", GETSET, object) \
    X(not_implemented, "NotImplementedType", NONE, object) X(ellipsis, "ellipsis", NONE, object)                       \
    X(traceback, "traceback", OBJECT, object) X(memoryview, "memoryview", BYTES, object)

/* X(name, base): exceptions. */
#define PEL_EXCEPTIONS(X)                                                                                              \
    X(Exception, BaseException) X(GeneratorExit, BaseException) X(KeyboardInterrupt, BaseException)                    \
    X(SystemExit, BaseException) X(BaseExceptionGroup, BaseException) X(ExceptionGroup, BaseExceptionGroup)            \
    X(StopIteration, Exception) X(StopAsyncIteration, Exception)                                                       \
    X(ArithmeticError, Exception) X(OverflowError, ArithmeticError) X(ZeroDivisionError, ArithmeticError)              \
    X(FloatingPointError, ArithmeticError) X(AssertionError, Exception) X(AttributeError, Exception)                   \
    X(BufferError, Exception) X(EOFError, Exception) X(ImportError, Exception) X(ModuleNotFoundError, ImportError)     \
    X(LookupError, Exception) X(IndexError, LookupError) X(KeyError, LookupError) X(MemoryError, Exception)            \
    X(NameError, Exception) X(UnboundLocalError, NameError) X(OSError, Exception) X(BlockingIOError, OSError)          \
    X(ConnectionError, OSError) X(BrokenPipeError, ConnectionError) X(FileExistsError, OSError)                        \
    X(FileNotFoundError, OSError) X(InterruptedError, OSError) X(IsADirectoryError, OSError)                           \
    X(NotADirectoryError, OSError) X(PermissionError, OSError) X(ProcessLookupError, OSError)                          \
    X(TimeoutError, OSError) X(ReferenceError, Exception) X(RuntimeError, Exception)                                   \
    X(NotImplementedError, RuntimeError) X(RecursionError, RuntimeError) X(SyntaxError, Exception)                     \
    X(IndentationError, SyntaxError) X(SystemError, Exception) X(TypeError, Exception) X(ValueError, Exception)        \
    X(UnicodeError, ValueError) X(UnicodeDecodeError, UnicodeError) X(UnicodeEncodeError, UnicodeError)                \
    X(Warning, Exception) X(BytesWarning, Warning) X(DeprecationWarning, Warning) X(FutureWarning, Warning)            \
    X(ImportWarning, Warning) X(PendingDeprecationWarning, Warning) X(ResourceWarning, Warning)                        \
    X(RuntimeWarning, Warning) X(SyntaxWarning, Warning) X(UnicodeWarning, Warning) X(UserWarning, Warning)

/* Names that C looks up: X(field, text). */
#define PEL_DUNDERS(X)                                                                                                 \
    X(init) X(new) X(call) X(get) X(set) X(delete) X(getattr) X(getattribute) X(setattr) X(delattr) X(name) X(qualname) \
    X(module) X(doc) X(dict) X(class) X(bases) X(mro) X(len) X(iter) X(next) X(contains) X(getitem) X(setitem)         \
    X(delitem) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(hash) X(bool) X(str) X(repr) X(format) X(enter) X(exit) X(index)  \
    X(int) X(float) X(complex) X(neg) X(pos) X(invert) X(abs) X(reversed) X(missing) X(set_name) X(init_subclass)      \
    X(class_getitem) X(mro_entries) X(prepare) X(instancecheck) X(subclasscheck) X(annotations) X(file) X(path)        \
    X(package) X(spec) X(loader) X(all) X(builtins) X(slots) X(match_args) X(wrapped) X(self) X(func) X(defaults)      \
    X(kwdefaults) X(code) X(globals) X(closure) X(origin) X(args) X(parameters) X(dir) X(copy) X(deepcopy) X(reduce)   \
    X(reduce_ex) X(await) X(aiter) X(anext) X(aenter) X(aexit) X(subclasses) X(abstractmethods) X(cause) X(context)    \
    X(traceback) X(notes) X(suppress_context) X(round) X(trunc) X(floor) X(ceil) X(length_hint) X(type_params)         \
    X(isabstractmethod) X(debug) X(import) X(sizeof) X(bytes) X(fspath) X(classcell) X(base) X(getstate) X(static_attributes) \
    X(version) X(or) X(ror) X(del)
/* clang-format on */

typedef struct pel_types {
#define X(field, name, layout, base) pel_type *field;
    PEL_NATIVE_TYPES(X)
#undef X
    pel_type *BaseException;
#define X(name, base) pel_type *name;
    PEL_EXCEPTIONS(X)
#undef X
} pel_types;

typedef struct pel_dunders {
#define X(field) pel_val s_##field;
    PEL_DUNDERS(X)
#undef X
} pel_dunders;

/* ---- code ---- */

typedef struct pel_vm_insn {
    uint8_t op; /* enum pel_vm_op */
    uint8_t small;
    uint16_t a;
    uint32_t b;
} pel_vm_insn;

typedef struct pel_statement { /* where a run goes on if it can't run a statement (recover.c) */
    uint32_t start, end;       /* its instructions */
    uint32_t value;  /* where its value is on the stack, or, of an if, where its body begins; UINT32_MAX: none */
    uint32_t other;  /* of an if: where it goes on if the test is false */
    uint32_t blocks; /* handlers that are set around it */
    int32_t depth;   /* of the stack; negative: nothing leads here */
    const pel_node *node;
} pel_statement;

struct pel_codeobj {
    pel_object head;
    pel_val name, qualname;
    pel_str file;
    bool is_stub;
    pel_vm_insn *insns;
    uint32_t *lines;
    const pel_node **nodes; /* what each was made for; NULL: of stubs nobody asks */
    uint32_t n_insns;
    pel_statement *statements; /* inner ones first; none of stubs */
    uint32_t n_statements;
    pel_val *consts;
    uint32_t n_consts;
    pel_val *names; /* interned str */
    uint32_t n_names;
    pel_val *locals; /* names of the local variables, arguments first */
    uint32_t n_locals;
    pel_val *cells; /* names of own cells, then of free variables */
    uint32_t n_cells, n_free;
    int32_t *cell_of_arg; /* for own cell i: the local that is copied into it on entry, or -1 */
    uint32_t n_posonly, n_args, n_kwonly;
    bool has_varargs, has_varkw, is_generator, is_coroutine, is_class, has_docstring, uses_names;
    bool is_watched; /* vm->on_bind wants to know what its arguments are */
    uint32_t stack_size, n_blocks;
    uint32_t first_line, last_line;
    pel_codeobj *annotations; /* of a function; evaluated when asked for */
    struct pel_module_source *source;
};

typedef struct pel_module_source { /* a file that code came from */
    pel_str path, text;
    bool is_target; /* what is scanned, not what it imports */
} pel_module_source;

typedef struct pel_vm_handler {
    uint32_t target, depth;
    pel_val handled; /* these when it was set */
    uint32_t loops, repeating;
    const pel_vm_insn *setup; /* what set it */
} pel_vm_handler;

/* What sets a handler: its operand a. */
enum { PEL_SETS_EXCEPT, PEL_SETS_CLEANUP, PEL_SETS_WITH };

struct pel_frame {
    pel_codeobj *code;
    pel_function *function; /* NULL for modules and classes */
    pel_dict *globals;
    pel_dict *names;      /* namespace of a module or class body */
    pel_val names_object; /* the namespace when it is no plain dict (a metaclass's __prepare__) */
    pel_frame *back;
    pel_generator *generator;
    pel_val self;     /* of a constructor: what the call gives instead of the result of __init__ */
    void *activation; /* of the recorder of this run */
    pel_val watched;  /* the object whose __call__ this is, if somebody wants to know what it gives */
    pel_val handled;  /* vm->handled when the frame was entered */
    const pel_vm_insn *next;
    uint32_t sp, n_blocks, size_class;
    uint32_t loops, repeating; /* how many were running when it was entered */
    size_t taken;              /* of memory, then */
    bool is_entry, drops_result, wants_none;
    pel_vm_handler *blocks;
    pel_val *stack;
    pel_val slots[]; /* locals, cells, stack */
};

/* ---- the machine ---- */

#define PEL_WHY_ASSUMED PEL_STR("assumed: the annotation names the class, the rest are its defaults")
#define PEL_WHY_MISSING PEL_STR("there is no such module in the roots")
#define PEL_WHY_SPENT PEL_STR("not tried: what one file may cost was spent before")
#define PEL_WHAT_SPENT PEL_STR("over the budget of") /* how a row begins that a budget ended */
#define PEL_WHY_COSTLY PEL_STR("importing it costs more than a library may: its names are symbols")
#define PEL_WHY_UNWRITTEN PEL_STR("no program was written")
#define PEL_WHY_LOOP PEL_STR("changes in a loop whose count is not known")

typedef struct pel_carried {  /* a variable, an attribute or an item that one pass of a loop hands to the next */
    const pel_vm_insn *store; /* of a variable; NULL: owner.key, or owner[key] of a list or dict */
    pel_val owner, key;
    pel_str name;           /* as the report calls it */
    pel_val before, inside; /* its value before the loop; the symbol that stands for it in the body */
} pel_carried;

typedef struct pel_vm_loop { /* one whose count is not known */
    pel_val iter, count;
    const pel_frame *frame;   /* of a while: whose it is, */
    const pel_vm_insn *start; /* where a pass begins, */
    pel_val test;             /* the symbol that it depends on, */
    uint32_t passes;          /* and how many were begun */
    uint32_t outside;         /* how many such loops are around it */
    uint32_t line;
    uint32_t serial;
    PEL_VEC(pel_carried) carried;
    PEL_VEC(pel_carried) written; /* attributes and items that were not expected to change */
} pel_vm_loop;

typedef struct pel_changing { /* found by one run, for the next: what a pass of a loop changes, and how it is reached */
    pel_str file;
    uint32_t line;
    pel_val variable, attribute, key; /* variable.key; with an attribute: variable.attribute.key */
} pel_changing;

typedef struct pel_repeat {
    pel_val count;
    uint32_t serial; /* the how many-th of these loops it is */
} pel_repeat;

typedef struct pel_note { /* an unknown or an error, with its place */
    pel_str what, why;
    pel_str file;
    uint32_t line;
    bool is_lost;    /* a network may have more or less because of it */
    bool is_premise; /* not unknown but taken to be so: an environment variable that is not set */
    pel_str library; /* that lacks it since it was imported: names of it are symbols; empty: of none */
    bool may_change; /* and what was left of it did more than bind names */
} pel_note;

/* How the machine reaches source: the only door to the outside. All paths are inside the roots. */
typedef struct pel_files {
    void *arg;
    /* False if there is no such file. The bytes must live as long as the machine. */
    bool (*read)(void *arg, pel_str path, pel_str *bytes);
    enum pel_entry_kind { PEL_NOTHING, PEL_FILE, PEL_FOLDER } (*kind)(void *arg, pel_str path);
    /* Names of a folder's entries, each ended by a newline, sorted; false if it is no folder. */
    bool (*list)(void *arg, pel_str path, pel_str *names);
} pel_files;

typedef struct pel_cache_row {
    pel_type *type;
    pel_val name, found;
    uint32_t version;
} pel_cache_row;
#define PEL_CACHE_SIZE 8192
#define PEL_PAIRS 4096

struct pel_vm {
    pel_ctx *ctx;
    pel_types types;
    pel_dunders names;
    pel_val none, true_, false_, ellipsis, not_implemented, empty_tuple, empty_str;
    pel_val chars[128];      /* one-letter strings */
    pel_val op_names[13][3]; /* __add__, __radd__, __iadd__ */
    pel_map interned;        /* hash of text -> index of the first in a chain */
    pel_val *strings;
    uint32_t *string_next, n_strings, strings_cap;
    pel_map names_of;         /* pel_name -> str */
    pel_val raised;           /* the exception on its way */
    pel_val handled;          /* the one that is being handled */
    pel_val generator_result; /* of the generator that has just ended */
    pel_val stop_value;       /* of the StopIteration that pel_next_of has just eaten; NULL: none */
    pel_frame *frame;
    uint32_t depth, c_depth;
    uint64_t steps, max_steps;
    pel_frame *free_frames[16];
    pel_cache_row *cache;
    pel_val *pairs; /* tuples of two small numbers, by what they hold */
    uint32_t version;
    pel_dict *builtins, *modules;
    pel_dict *assigned; /* --set: values for symbols by their text */
    pel_val argv;       /* sys.argv */
    pel_files files;
    PEL_VEC(pel_str) roots;
    PEL_VEC(pel_note) unknown;
    PEL_VEC(pel_note) errors;
    pel_buf *out; /* what print writes to; NULL: nowhere */
    pel_map parsed;
    bool recovers;              /* a statement that can't be run is left, and said */
    bool recovers_imports_only; /* but only in libraries that are being imported */
    PEL_VEC(pel_str) reads;     /* data files that the program's own lines read, in this run */
    uint32_t catching; /* natives on the stack that catch the exceptions of protocols: AttributeError, StopIteration */
    uint32_t n_recovered;     /* statements of this run that were left */
    uint32_t max_asked;       /* questions that a run may ask; 0: the default */
    PEL_VEC(pel_val) loading; /* modules whose code is running, outermost first */
    uint32_t asked_before;    /* questions that were asked before the first of these */
    pel_str own_file;         /* what is scanned; libraries' questions about a parameter are answered as for a number */
    /* branching on symbols: the decisions of this run, and how many were asked for */
    PEL_VEC(pel_note) asked;
    PEL_VEC(bool) decided;
    PEL_VEC(bool) planned;         /* decisions for the next questions, in their order */
    PEL_VEC(pel_repeat) repeating; /* counts of the loops we are in whose count is not known */
    PEL_VEC(pel_vm_loop) loops;    /* those loops: what their passes hand on */
    PEL_VEC(pel_changing) changing;
    uint32_t loop_serial;
    struct {
        const pel_frame *frame;
        const pel_vm_insn *start;
        uint64_t answers, passes;
    } going_round;     /* the last while loop that questions were repeated in */
    uint64_t answers;  /* questions that were answered as before */
    pel_val collected; /* the list or tuple that pel_collect has just made its array of */
    pel_map born;      /* what was made in such a loop -> loop_serial at that time */
    pel_map times;     /* container -> list of how often each item is in it (None: once), or Ellipsis: not known */
    pel_val (*on_count)(pel_vm *vm, pel_val member); /* how often a module is here; NULL: once */
    void (*on_construct)(pel_vm *vm, pel_val self, pel_val *args, uint32_t n, const pel_kw *kw);
    pel_val (*on_shape)(pel_vm *vm);                      /* in a forward: what to write on a tensor of a new shape */
    bool (*is_network)(pel_vm *vm, pel_val v);            /* a module that the run made; NULL: nobody asks */
    void (*on_leave)(pel_vm *vm, const pel_frame *frame); /* of functions of the target */
    void (*on_bind)(pel_vm *vm, pel_function *function, const pel_frame *frame);
    void (*on_copy)(pel_vm *vm, pel_val from, pel_val made, pel_val root); /* root: what the copy began with */
    /* Of objects with a __call__; true: the result is wanted too. */
    bool (*on_call)(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw);
    void (*on_return)(pel_vm *vm, pel_val callee, pel_val result); /* NULL: it raised */
    /* Recording: before an instruction runs, when a frame is left or caught up by an exception, when a generator is
     * made. */
    void (*on_step)(pel_vm *vm, pel_frame *frame, const pel_vm_insn *at, uint32_t sp);
    void (*on_fail)(pel_vm *vm, pel_frame *frame);
    void (*on_generator)(pel_vm *vm, pel_frame *frame);
    void *scan;
};

pel_vm *pel_vm_new(pel_ctx *ctx);

/* ---- making values (heap.c) ---- */

void *pel_make_object(pel_vm *vm, pel_type *type, size_t size); /* cleared */
pel_val pel_int_of(pel_vm *vm, int64_t i);
pel_val pel_float_of(pel_vm *vm, double value);
pel_val pel_complex_of(pel_vm *vm, double real, double imag);
static inline pel_val pel_bool_of(pel_vm *vm, bool b) { return b ? vm->true_ : vm->false_; }
pel_val pel_new_text(pel_vm *vm, pel_str text); /* a str; the text is copied */
pel_val pel_new_text_c(pel_vm *vm, const char *text);
/* The texts of str and bytes end with a NUL, so that messages can name them. */
pel_val pel_new_text_own(pel_vm *vm, pel_str text); /* it does already, and lives as long as the machine */
pel_val pel_new_text_buf(pel_vm *vm, pel_buf *text);
pel_val pel_textf(pel_vm *vm, const char *format, ...) __attribute__((format(printf, 2, 3)));
pel_val pel_bytes_of(pel_vm *vm, pel_str bytes);
pel_val pel_interned(pel_vm *vm, pel_str text);
pel_val pel_interned_c(pel_vm *vm, const char *text);
pel_val pel_intern_val(pel_vm *vm, pel_val text); /* the interned equal of a str */
pel_val pel_name_val(pel_vm *vm, pel_name name);
pel_val pel_tuple_of(pel_vm *vm, const pel_val *at, uint32_t n); /* at NULL: holes */
pel_val pel_tuple2(pel_vm *vm, pel_val a, pel_val b);
pel_val pel_pair_of(pel_vm *vm, const pel_val *at); /* tuple of two; one for small numbers */
pel_val pel_list_of(pel_vm *vm, const pel_val *at, uint32_t n);
void pel_list_append(pel_vm *vm, pel_list *list, pel_val item); /* of our own lists */
void pel_list_push(pel_vm *vm, pel_val list, pel_val item);
pel_val pel_new_dict(pel_vm *vm);
pel_val pel_new_set(pel_vm *vm, pel_type *type);
pel_val pel_new_cell(pel_vm *vm, pel_val value);
pel_val pel_new_method(pel_vm *vm, pel_val func, pel_val self);
pel_val pel_new_native(pel_vm *vm, const char *name, pel_native_fn *fn, int min, int max, bool keywords);
pel_val pel_new_iter(pel_vm *vm, pel_type *type, pel_next_fn *next, pel_val a, int64_t i);
pel_val pel_new_module(pel_vm *vm, pel_val name);
pel_val pel_new_slice(pel_vm *vm, pel_val start, pel_val stop, pel_val step);

/* ---- asking ---- */

static inline pel_type *pel_type_of(pel_vm *vm, pel_val v) { return pel_is_small(v) ? vm->types.int_ : v->type; }
static inline bool pel_is(pel_val v, pel_vm_layout layout) { return !pel_is_small(v) && v->type->layout == layout; }
static inline bool pel_is_str(pel_val v) { return pel_is(v, PEL_L_STR); }
static inline bool pel_is_tuple(pel_val v) { return pel_is(v, PEL_L_TUPLE); }
static inline bool pel_is_list(pel_val v) { return pel_is(v, PEL_L_LIST); }
static inline bool pel_is_dict(pel_val v) { return pel_is(v, PEL_L_DICT); }
static inline bool pel_is_set(pel_val v) { return pel_is(v, PEL_L_SET); }
static inline bool pel_is_type(pel_val v) { return pel_is(v, PEL_L_TYPE); }
static inline bool pel_is_symbol(pel_val v) { return pel_is(v, PEL_L_SYMBOL); }
static inline bool pel_is_named(pel_val v) { return pel_is_symbol(v) && ((pel_symbol *)v)->is_named; }
static inline bool pel_is_float(pel_val v) { return pel_is(v, PEL_L_FLOAT); }
static inline bool pel_is_int(pel_val v) { /* bool too */
    return pel_is_small(v) || v->type->layout == PEL_L_INT || v->type->layout == PEL_L_BOOL;
}
static inline pel_tuple *pel_tuple_at(pel_val v) { return (pel_tuple *)v; }
static inline pel_list *pel_list_at(pel_val v) { return (pel_list *)v; }
static inline pel_dict *pel_dict_at(pel_val v) { return (pel_dict *)v; }
static inline pel_string *pel_string_at(pel_val v) { return (pel_string *)v; }
static inline pel_str pel_text_of(pel_val v) { return (pel_str){ pel_string_at(v)->text, pel_string_at(v)->len }; }
static inline pel_type *pel_as_type(pel_val v) { return (pel_type *)v; }
static inline pel_val pel_val_of(void *object) { return object; }
bool pel_text_is(pel_val v, const char *text);
/* Items of a tuple or list. */
static inline pel_val *pel_items(pel_val v, uint32_t *n) {
    if (pel_is_tuple(v)) {
        *n = pel_tuple_at(v)->n;
        return pel_tuple_at(v)->at;
    }
    *n = pel_list_at(v)->n;
    return pel_list_at(v)->at;
}
const char *pel_type_text(pel_vm *vm, pel_val v); /* the name of its type */
bool pel_is_subtype(const pel_type *type, const pel_type *base);
static inline bool pel_is_a(pel_vm *vm, pel_val v, const pel_type *type) {
    return pel_is_subtype(pel_type_of(vm, v), type);
}

/* ---- ints (bigint.c) ---- */

bool pel_to_i64(pel_val v, int64_t *out); /* of an int or bool; false if it does not fit */
double pel_int_to_double(pel_val v);
pel_val pel_int_from_double(pel_vm *vm, double d);
pel_val pel_int_from_text(pel_vm *vm, pel_str digits, unsigned base); /* digits checked; may have a sign */
void pel_put_int_val(pel_vm *vm, pel_buf *out, pel_val v, unsigned base);
pel_val pel_int_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b);
pel_val pel_int_negate(pel_vm *vm, pel_val a);
int pel_int_compare(pel_val a, pel_val b);
int pel_int_sign(pel_val a);
uint64_t pel_int_hash(pel_val a);
uint32_t pel_int_bits(pel_val a);
pel_val pel_int_plain(pel_vm *vm, pel_val a); /* an exact int of the same value */
pel_val pel_int_copy_as(pel_vm *vm, pel_type *type, pel_val value);

/* ---- dicts and sets (dict.c) ---- */

/* Of interned or other str keys; never fails. */
pel_val pel_dict_get_str(const pel_dict *dict, pel_val key);
void pel_dict_set_str(pel_vm *vm, pel_dict *dict, pel_val key, pel_val value);
bool pel_dict_del_str(pel_vm *vm, pel_dict *dict, pel_val key);
pel_val pel_dict_get_c(pel_vm *vm, const pel_dict *dict, const char *key);
void pel_dict_set_c(pel_vm *vm, pel_dict *dict, const char *key, pel_val value);
/* Of any key: false if hashing or comparing raised. *value is NULL if absent. */
bool pel_dict_get(pel_vm *vm, pel_dict *dict, pel_val key, pel_val *value);
bool pel_dict_set(pel_vm *vm, pel_dict *dict, pel_val key, pel_val value);
bool pel_dict_del(pel_vm *vm, pel_dict *dict, pel_val key, pel_val *value); /* *value: what was there, or NULL */
void pel_dict_clear(pel_dict *dict);
/* The next entry from *at on; NULL at the end. */
static inline pel_entry *pel_dict_next(const pel_dict *dict, uint32_t *at) {
    while (*at < dict->n) {
        pel_entry *entry = &dict->entries[(*at)++];
        if (entry->key) return entry;
    }
    return NULL;
}
bool pel_dict_update(pel_vm *vm, pel_dict *into, pel_val from); /* a mapping, or pairs */
pel_dict *pel_attrs(pel_vm *vm, pel_val v);                     /* made if there are none yet */
bool pel_hash_of(pel_vm *vm, pel_val v, uint64_t *hash);

/* ---- attributes and types (object.c) ---- */

pel_val pel_lookup(pel_vm *vm, pel_type *type, pel_val name); /* along the MRO; NULL if absent, nothing raised */
pel_val pel_getattr(pel_vm *vm, pel_val v, pel_val name);
pel_val pel_getattr_c(pel_vm *vm, pel_val v, const char *name);
/* NULL without exception if there is no such attribute; sets *failed if something else was raised. */
pel_val pel_find_attr(pel_vm *vm, pel_val v, pel_val name, bool *failed);
pel_val pel_generic_getattr(pel_vm *vm, pel_val v, pel_val name, bool raise);
bool pel_setattr(pel_vm *vm, pel_val v, pel_val name, pel_val value); /* value NULL: delete */
bool pel_generic_setattr(pel_vm *vm, pel_val v, pel_val name, pel_val value);
pel_val pel_bind(pel_vm *vm, pel_val found, pel_val self, pel_type *type); /* the descriptor protocol */
/* Looks name up on the type; a function is not bound but *self_out gets v. NULL if absent. */
pel_val pel_special(pel_vm *vm, pel_val v, pel_val name);
pel_val pel_call_special(pel_vm *vm, pel_val v, pel_val name, pel_val *args,
                         uint32_t n); /* NULL, no exception: absent */
pel_val pel_build_class(pel_vm *vm, pel_val body, pel_val name, pel_val bases, const pel_kw *kw);
pel_val pel_type_new(pel_vm *vm, pel_type *meta, pel_val name, pel_val bases, pel_dict *namespace, const pel_kw *kw);
pel_type *pel_new_native_type(pel_vm *vm, const char *name, pel_vm_layout layout, pel_type *base);
int pel_isinstance(pel_vm *vm, pel_val v, pel_val type); /* -1: raised */
int pel_issubclass(pel_vm *vm, pel_val v, pel_val type);
pel_val pel_super_getattr(pel_vm *vm, pel_super *super, pel_val name);
void pel_types_changed(pel_vm *vm);
pel_val pel_annotations_of(pel_vm *vm, pel_function *function);

/* ---- calling (call.c, run.c) ---- */

pel_val pel_call(pel_vm *vm, pel_val callee, pel_val *args, uint32_t n, const pel_kw *kw);
pel_val pel_call0(pel_vm *vm, pel_val callee);
pel_val pel_call1(pel_vm *vm, pel_val callee, pel_val a);
pel_val pel_call2(pel_vm *vm, pel_val callee, pel_val a, pel_val b);
pel_val pel_call_method(pel_vm *vm, pel_val v, const char *name, pel_val *args, uint32_t n);
/* A frame with its arguments bound; NULL if they don't fit. */
pel_frame *pel_bind_args(pel_vm *vm, pel_function *f, pel_val *args, uint32_t n, const pel_kw *kw);
pel_frame *pel_new_frame(pel_vm *vm, pel_codeobj *code);
void pel_free_frame(pel_vm *vm, pel_frame *frame);
pel_val pel_run(pel_vm *vm, pel_frame *frame); /* to its end, or to its next yield */
pel_val pel_run_code(pel_vm *vm, pel_codeobj *code, pel_dict *globals, pel_dict *names, pel_val names_object);
pel_val pel_call_native(pel_vm *vm, pel_native *native, pel_val *args, uint32_t n, const pel_kw *kw);
pel_val pel_make_generator(pel_vm *vm, pel_frame *frame);
pel_val pel_generator_resume(pel_vm *vm, pel_generator *gen, pel_val sent, bool *ended);
pel_val pel_generator_throw(pel_vm *vm, pel_generator *gen, pel_val exception);
pel_val pel_type_call(pel_vm *vm, pel_type *type, pel_val *args, uint32_t n, const pel_kw *kw);
/* Which of names (a comma between) the arguments fill; out has a NULL for what was not given. False: raised. */
bool pel_args(pel_vm *vm, const char *function, const char *names, pel_val *args, uint32_t n, const pel_kw *kw,
              uint32_t required, pel_val *out);

pel_native_fn pel_false_native; /* takes anything, gives False */

/* ---- operators (operators.c) ---- */

int pel_truth(pel_vm *vm, pel_val v); /* 1, 0, or -1: raised */
pel_val pel_binary(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b);
pel_val pel_inplace(pel_vm *vm, pel_OPERATOR op, pel_val a, pel_val b);
pel_val pel_unary(pel_vm *vm, pel_UNARYOP op, pel_val a);
pel_val pel_compare(pel_vm *vm, pel_CMPOP op, pel_val a, pel_val b);
int pel_equal(pel_vm *vm, pel_val a, pel_val b); /* 1, 0, -1 */
int pel_less(pel_vm *vm, pel_val a, pel_val b);
int pel_contains(pel_vm *vm, pel_val container, pel_val item);
pel_val pel_getitem(pel_vm *vm, pel_val v, pel_val key);
bool pel_setitem(pel_vm *vm, pel_val v, pel_val key, pel_val value); /* value NULL: delete */
pel_val pel_iter_of(pel_vm *vm, pel_val v);
pel_val pel_next_of(pel_vm *vm, pel_val iter);       /* NULL at the end, with nothing raised */
int64_t pel_len(pel_vm *vm, pel_val v);              /* -1: raised */
bool pel_index(pel_vm *vm, pel_val v, int64_t *out); /* __index__ */
bool pel_to_double(pel_vm *vm, pel_val v, double *out);
/* All items of an iterable, as an array. False: raised. */
bool pel_collect(pel_vm *vm, pel_val iterable, pel_val **at, uint32_t *n);
bool pel_extend(pel_vm *vm, pel_val list, pel_val iterable);
bool pel_slice_range(pel_vm *vm, pel_val slice, int64_t len, int64_t *start, int64_t *step, int64_t *count);

/* ---- what loops do whose count is not known (repeat.c) ---- */

uint32_t pel_born(pel_vm *vm, pel_val v);
void pel_pushed(pel_vm *vm, pel_val list, pel_val item_times); /* an item was added at its end */
void pel_resized(pel_vm *vm, pel_val container);               /* changed in another way */
void pel_copy_times(pel_vm *vm, pel_val from, pel_val to);
void pel_fill_set(pel_vm *vm, pel_val set, pel_val from); /* a set was filled from that */
pel_val pel_times_of(pel_vm *vm, pel_val container);
pel_val pel_item_times(pel_vm *vm, pel_val container, uint32_t at); /* NULL: once */
pel_val pel_unknown_len(pel_vm *vm, pel_val v);                     /* NULL: it is known */
pel_val pel_repeating_counts(pel_vm *vm);                           /* tuple */
pel_val pel_index_symbol(pel_vm *vm, pel_str name);                 /* of such a loop */
bool pel_is_symbolic_iter(pel_val iter);
/* As pel_next_of; but beside something of known length (at >= 0) an unknown iterable gives its item of that index. */
pel_val pel_next_beside(pel_vm *vm, pel_val iter, int64_t at);
/* What an older list gives in one pass is not what it gives in the next. */
pel_val pel_run_loop_takes(pel_vm *vm, pel_val from, pel_val item);
/* An attribute or an item of something is about to be set. */
void pel_run_loop_writes(pel_vm *vm, pel_val owner, pel_val key);

/* ---- text of values (format.c) ---- */

pel_val pel_repr(pel_vm *vm, pel_val v);
pel_val pel_str_val(pel_vm *vm, pel_val v);
pel_val pel_format_val(pel_vm *vm, pel_val v, pel_str spec);
pel_val pel_percent(pel_vm *vm, pel_val format, pel_val args);
pel_val pel_str_format(pel_vm *vm, pel_str format, pel_val *args, uint32_t n, const pel_kw *kw, pel_val mapping);

/* ---- exceptions (exceptions.c) ---- */

/* Always NULL, so that natives can return it. */
pel_val pel_raise(pel_vm *vm, pel_type *type, const char *format, ...) __attribute__((format(printf, 3, 4)));
pel_val pel_raise_val(pel_vm *vm, pel_val exception);
pel_val pel_raise_with(pel_vm *vm, pel_type *type, pel_val arg);
pel_val pel_make_exception(pel_vm *vm, pel_val type_or_value); /* as `raise x` does */
bool pel_raised_is(pel_vm *vm, pel_type *type);
void pel_forget(pel_vm *vm);                               /* drops the exception on its way */
pel_str pel_exception_text(pel_vm *vm, pel_val exception); /* "ValueError: text" */
_Noreturn void pel_over_budget(pel_vm *vm, const char *what);
/* Work of a native that is not done in a step or two. */
static inline void pel_spend(pel_vm *vm, uint64_t steps) {
    vm->steps += steps;
    if (vm->steps > vm->max_steps) pel_over_budget(vm, "steps");
}
/* C recurses into nested values only so deep; false: RecursionError. */
bool pel_enter_c(pel_vm *vm);
static inline void pel_leave_c(pel_vm *vm) { vm->c_depth--; }
/* Where the machine is, outside of stubs if outside is set. */
void pel_here(pel_vm *vm, bool outside, pel_str *file, uint32_t *line);
uint32_t pel_frame_line(const pel_frame *frame);

/* ---- going on (recover.c) ---- */

/* After an exception that nobody would catch: where the frame goes on, with its stack made ready; NULL: it does not. */
const pel_vm_insn *pel_recover(pel_vm *vm, pel_frame *f);
/* Whether a frame from f on may catch what was raised, and keep it: a handler that raises it again does not. */
bool pel_is_caught(pel_vm *vm, const pel_frame *f);
/* Whether leaving the statement can change nothing but the values that become symbols (contain.c). */
bool pel_is_contained(pel_vm *vm, const pel_frame *f, const pel_node *statement, bool in_value);
/* Whether a library runs because it is imported, not because the program called it. */
bool pel_is_importing(pel_vm *vm, const pel_frame *f);
typedef enum pel_module_kind { PEL_NO_MODULE, PEL_TORCH_MODULE, PEL_KERAS_LAYER } pel_module_kind;
pel_module_kind pel_kind_of_class(pel_vm *vm, const pel_type *type);
/* The library that the file is of is imported, and statements of it were left: what they would have changed. */
void pel_contain_library(pel_vm *vm, pel_str file);
/* Whether what the expression gives may be a module; what arithmetic gives is none. */
bool pel_may_give_module(const pel_node *expression);
/* The package of a library that a file is of; empty: it is the program's own. */
pel_str pel_library_of(pel_vm *vm, pel_str file);
/* scan_described.c: a file that inherits from others gets what these define (`_base_`, `with read_base():`). */
void pel_adapt_config(pel_ctx *ctx, pel_node *root);
/* registrations.c: which sources register one of the names; of libraries only in the packages of scopes. A tuple of a
 * list of rows, as lib/README.md has them, and whether the search was cut off. */
pel_val pel_registrations(pel_vm *vm, pel_val names, pel_val scopes);
/* A handler of the program takes an exception. If only our model of a library raised it, the program goes a way that it
 * may not go in truth: that is said. */
void pel_note_caught(pel_vm *vm, const pel_frame *f, const pel_vm_handler *handler);
/* A name that a module does not have, some of whose statements could not be run. */
pel_val pel_lost_name(pel_vm *vm, pel_val module, pel_val name);

/* ---- symbols (symbol.c) ---- */

pel_val pel_symbol_of(pel_vm *vm, pel_str text, pel_str why);
/* An attribute, an item or a result of a symbol: it, too, could be anything if that one could. */
pel_val pel_symbol_from(pel_vm *vm, pel_str text, pel_val parent);
pel_val pel_symbol_binary(pel_vm *vm, const char *op, pel_val a, pel_val b);
pel_val pel_symbol_call(pel_vm *vm, pel_val symbol, pel_val *args, uint32_t n, const pel_kw *kw);
int pel_symbol_truth(pel_vm *vm, pel_val symbol);
pel_str pel_symbol_arg(pel_vm *vm, pel_val v); /* how a value is written inside the text of a symbol */
pel_str pel_symbol_in_text(pel_vm *vm, pel_val symbol);
bool pel_text_has_symbol(pel_val text);
bool pel_texts_may_be_equal(pel_val a, pel_val b); /* of two that are written otherwise: parts may be symbols */
pel_str pel_readable(pel_vm *vm, pel_str text);    /* symbols in a text as "{n}" */
void pel_note_unknown(pel_vm *vm, pel_str what, pel_str why);
/* A library that costs too much to be interpreted. */
void pel_note_costly(pel_vm *vm, pel_str name);
/* The same; but for it networks may have more, or less. */
void pel_note_lost(pel_vm *vm, pel_str what, pel_str why);
/* What the machine of the user decides, and how it was taken; said of the program's own lines only. */
void pel_note_premise(pel_vm *vm, pel_str what, pel_str why);
/* Whether a symbol is certainly no number and no text: a class, or a constant that only lends its name. */
bool pel_is_apart(pel_val v);
/* Something that nobody knows was called with it. */
void pel_note_escape(pel_vm *vm, pel_val symbol, pel_val given, uint32_t depth);

/* ---- modules (import.c) ---- */

pel_val pel_import(pel_vm *vm, pel_str name); /* the module itself, not its first package */
pel_val pel_import_from(pel_vm *vm, pel_val module, pel_val name);
pel_val pel_import_relative(pel_vm *vm, pel_dict *globals, pel_str name, uint32_t level);
bool pel_find_module(pel_vm *vm, pel_str name, pel_str *path, bool *is_package);
pel_codeobj *pel_compile_source(pel_vm *vm, pel_str path, pel_str text, bool is_stub, bool is_expression);
/* Runs text as a module of that name; the module, or NULL: raised. */
pel_val pel_run_source(pel_vm *vm, pel_str name, pel_str path, pel_str text);
/* Files inside the roots; outside of them there is nothing. */
bool pel_read_inside(pel_vm *vm, pel_str path, pel_str *bytes);
enum pel_entry_kind pel_kind_inside(pel_vm *vm, pel_str path);
bool pel_list_inside(pel_vm *vm, pel_str path, pel_str *names);
/* A path that the program opens: a relative one leads on from where it was started, or from the folder of a root. */
pel_str pel_path_of_program(pel_vm *vm, pel_str path);

/* ---- compiling (compile.c) ---- */

pel_codeobj *pel_compile(pel_vm *vm, pel_node *root, pel_module_source *source, bool is_stub);

/* ---- tables of natives ---- */

typedef struct pel_native_row {
    const char *name;
    pel_native_fn *fn;
    int16_t min, max; /* with self; max < 0: any number */
    bool keywords;
} pel_native_row;
void pel_add_methods(pel_vm *vm, pel_type *type, const pel_native_row *rows);
void pel_add_functions(pel_vm *vm, pel_dict *into, const pel_native_row *rows);
void pel_add_getset(pel_vm *vm, pel_type *type, const char *name, pel_val (*get)(pel_vm *, pel_val),
                    bool (*set)(pel_vm *, pel_val, pel_val));

void pel_init_object(pel_vm *vm);    /* builtin_object.c: object, type, property, super, functions */
void pel_init_numbers(pel_vm *vm);   /* builtin_number.c */
void pel_init_str(pel_vm *vm);       /* builtin_str.c */
void pel_init_sequences(pel_vm *vm); /* builtin_sequence.c */
void pel_init_dict(pel_vm *vm);      /* builtin_dict.c */
void pel_init_functions(pel_vm *vm); /* builtin_function.c */
void pel_init_exceptions(pel_vm *vm);
void pel_init_generators(pel_vm *vm);
void pel_init_modules(pel_vm *vm); /* native_*.c: _pellucid, sys, math */
pel_val pel_native_sys(pel_vm *vm);
pel_val pel_native_math(pel_vm *vm);
pel_val pel_native_pellucid(pel_vm *vm);

#endif
