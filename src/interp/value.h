/* The values of the interpreted program.
 *
 * A pel_val is a small int (lowest bit set) or a pointer to an object; NULL means "none": an unbound local, or, as
 * the result of a function, that an exception of the interpreted program is on its way (vm->raised). Errors of the
 * analysis itself (budgets, memory) are thrown by pel_throw and can't be caught by the program.
 *
 * Every object begins with its type and its attributes; the type's layout says what follows. A class that derives
 * from list has the layout of a list: natives look at layouts, so they work for subclasses too. */
#ifndef PEL_INTERP_VALUE_H
#define PEL_INTERP_VALUE_H

#include "base/buf.h"
#include "base/map.h"
#include "python/ast.h"

typedef struct pel_object pel_object;
typedef pel_object *pel_val;
typedef struct pel_type pel_type;
typedef struct pel_dict pel_dict;
typedef struct pel_vm pel_vm;
typedef struct pel_frame pel_frame;
typedef struct pel_codeobj pel_codeobj;

struct pel_object {
    pel_type *type;
    pel_dict *attrs; /* __dict__; NULL until something is set. A type's own namespace. */
};

/* clang-format off */
typedef enum pel_vm_layout {
    PEL_L_OBJECT, PEL_L_TYPE, PEL_L_NONE, PEL_L_BOOL, PEL_L_INT, PEL_L_FLOAT, PEL_L_COMPLEX, PEL_L_STR, PEL_L_BYTES,
    PEL_L_TUPLE, PEL_L_LIST, PEL_L_DICT, PEL_L_SET, PEL_L_RANGE, PEL_L_SLICE, PEL_L_FUNCTION, PEL_L_NATIVE,
    PEL_L_METHOD, PEL_L_CODE, PEL_L_CELL, PEL_L_MODULE, PEL_L_GENERATOR, PEL_L_ITER, PEL_L_EXCEPTION, PEL_L_PROPERTY,
    PEL_L_WRAPPER, PEL_L_SUPER, PEL_L_SYMBOL, PEL_L_VIEW, PEL_L_ALIAS, PEL_L_FRAME, PEL_L_REGEX, PEL_L_GETSET,
} pel_vm_layout;
/* clang-format on */

struct pel_type {
    pel_object head; /* head.type is the metaclass, head.attrs the namespace */
    pel_val name, qualname;
    pel_vm_layout layout;
    bool is_native;   /* its attributes can't be set */
    bool has_getattr; /* __getattr__, __getattribute__ or __setattr__ may be found in the MRO; */
    bool has_setattr; /* only hints that let the common case skip a search */
    bool has_attribute;
    bool is_final;
    bool keeps_slots;   /* instances have no __dict__ beyond __slots__; never enforced */
    pel_type *base;     /* the first in the MRO that gives the layout */
    pel_val bases, mro; /* tuples */
    PEL_VEC(pel_type *) derived;
    pel_codeobj *made_by; /* body of the class statement */
    pel_val
        unknown_base; /* a class of a library that is not in the roots: instances may have what it has; NULL: none */
    uint32_t first_line, last_line;
};

typedef struct pel_int { /* one that does not fit a pel_val, or an instance of a subclass; bool too */
    pel_object head;
    bool negative;
    uint32_t n; /* limbs, the lowest first; no leading zeros */
    uint32_t limb[];
} pel_int;

typedef struct pel_float {
    pel_object head;
    double value, imag; /* imag: complex */
} pel_float;

typedef struct pel_string { /* str and bytes */
    pel_object head;
    uint32_t hash;
    bool is_interned, is_ascii;
    uint32_t len;   /* bytes */
    uint32_t chars; /* code points */
    const char *text;
} pel_string;

typedef struct pel_tuple {
    pel_object head;
    uint32_t n;
    pel_val at[];
} pel_tuple;

typedef struct pel_list {
    pel_object head;
    uint32_t n, cap;
    pel_val *at;
} pel_list;

typedef struct pel_entry {
    pel_val key; /* NULL: deleted */
    pel_val value;
    uint64_t hash;
} pel_entry;

struct pel_dict { /* dict and set, in the order of insertion */
    pel_object head;
    pel_entry *entries;
    uint32_t n, live, cap; /* n counts deleted ones too */
    int32_t *index;        /* NULL while few entries are searched one by one */
    uint32_t index_mask;
    pel_val extra; /* for subclasses in C: default_factory */
};

typedef struct pel_vm_range {
    pel_object head;
    int64_t start, stop, step; /* step 0: of an unknown count, and not known either */
    pel_val count;             /* a symbol: how often, when that is not known */
} pel_vm_range;

typedef struct pel_slice {
    pel_object head;
    pel_val start, stop, step;
} pel_slice;

typedef struct pel_function {
    pel_object head;
    pel_codeobj *code;
    pel_dict *globals;
    pel_val name, qualname, doc, module;
    pel_val defaults; /* tuple or NULL */
    pel_dict *kwdefaults;
    pel_val *closure;
    pel_val annotations; /* dict, or NULL while they have not been asked for */
    pel_val *annotation_closure;
    pel_dict *annotation_names;
    pel_val decorator; /* a symbol that it was given to: who calls it now may give more arguments; NULL: none */
} pel_function;

typedef struct pel_kw {
    uint32_t n;
    const pel_val *names; /* str */
    pel_val *values;
} pel_kw;

/* args[0] is self for methods. kw is NULL when there are no keywords. */
typedef pel_val pel_native_fn(pel_vm *vm, pel_val *args, uint32_t n, const pel_kw *kw);

typedef struct pel_native {
    pel_object head;
    pel_native_fn *fn;
    const char *name;
    pel_type *owner;  /* of methods */
    pel_val bound;    /* data of natives that are made at run time */
    int16_t min, max; /* positional arguments; max < 0: any number */
    bool keywords;
    bool is_method; /* binds to instances */
} pel_native;

typedef struct pel_method {
    pel_object head;
    pel_val func, self;
} pel_method;

typedef struct pel_cell {
    pel_object head;
    pel_val value;
} pel_cell;

typedef struct pel_module_object {
    pel_object head;
    pel_val name;
    bool is_symbolic; /* every attribute is a symbol */
    bool is_missing;  /* there is no such module in the roots */
    bool is_model;    /* written here in place of a library's own: what it lacks, the library may have */
    bool is_leaky;    /* some of its statements could not be run: it may have names that are not there */
} pel_module_object;

typedef enum pel_gen_kind { PEL_GENERATOR, PEL_COROUTINE, PEL_ASYNC_GENERATOR } pel_gen_kind;

typedef struct pel_generator {
    pel_object head;
    pel_frame *frame; /* NULL when it has ended */
    pel_val name, qualname;
    pel_gen_kind kind;
    bool is_running, is_started;
} pel_generator;

typedef struct pel_iter pel_iter;
/* Returns the next value, or NULL: at the end if nothing is raised. */
typedef pel_val pel_next_fn(pel_vm *vm, pel_iter *iter);
struct pel_iter { /* iterators of natives */
    pel_object head;
    pel_next_fn *next;
    pel_val a, b, c;
    int64_t i, j, k;
};

typedef struct pel_trace_row {
    pel_codeobj *code;
    uint32_t line;
} pel_trace_row;

typedef struct pel_exception {
    pel_object head;
    pel_val args, cause, context;
    bool suppress;
    bool is_meant;                /* a raise statement made it */
    bool is_gap;                  /* our model of a library can't do what it was asked for; the library may */
    PEL_VEC(pel_trace_row) trace; /* innermost first */
} pel_exception;

typedef struct pel_property {
    pel_object head;
    pel_val get, set, del, doc;
} pel_property;

typedef struct pel_wrapper { /* classmethod, staticmethod */
    pel_object head;
    pel_val func;
} pel_wrapper;

typedef struct pel_super {
    pel_object head;
    pel_type *type;
    pel_val self;
    pel_type *self_type;
} pel_super;

/* A value that is not known: the expression that made it, and the first reason why it is unknown. */
typedef struct pel_symbol {
    pel_object head;
    pel_str text, why;
    uint8_t level;      /* precedence of text: 0 atom, 1 unary and power, 2 product, 3 sum, 9 other */
    bool is_parameter;  /* could be anything, None too */
    bool is_named;      /* a name of a library that is not interpreted: one object, which its text identifies */
    bool is_missing;    /* of a library that is not in the roots, or that our model of the library lacks */
    bool is_unmodelled; /* the latter: a call of it is reported */
    bool may_be_module; /* one of several, some of which are modules */
    pel_type *declared; /* of a parameter: the class that its annotation names; NULL: none */
    pel_str about;      /* of a question: the symbol that it is about */
    pel_val made_of; /* of a call of something that is not there: callee, arguments, keywords, their values; or NULL */
    struct pel_node *made_by; /* of a statement that could not be run: its expression; or NULL */
    int8_t if_number; /* of a question about a parameter: 1, -1: the answer if that is a positive number; 0: none */
    pel_codeobj *code;
    uint32_t line;
} pel_symbol;

typedef struct pel_dict_view { /* keys, values, items of a dict; mappingproxy */
    pel_object head;
    pel_dict *dict;
} pel_dict_view;

typedef struct pel_alias { /* list[int], int | None */
    pel_object head;
    pel_val origin, args; /* origin NULL: a union */
} pel_alias;

typedef struct pel_frame_object { /* what sys._getframe gives: a picture of the frame */
    pel_object head;
    pel_codeobj *code;
    pel_dict *globals, *locals;
    uint32_t line;
    pel_val back;
} pel_frame_object;

typedef struct pel_regex_object {
    pel_object head;
    struct pel_regex *program;
    pel_val pattern, flags, groupindex;
} pel_regex_object;

typedef struct pel_getset { /* an attribute computed in C */
    pel_object head;
    const char *name;
    pel_val (*get)(pel_vm *vm, pel_val self);
    bool (*set)(pel_vm *vm, pel_val self, pel_val value); /* value NULL: delete */
} pel_getset;

/* ---- small ints ---- */

/* A small int is a pointer with its lowest bit set: it has as many bits as the machine's pointers leave. */
#define PEL_SMALL_MAX ((int64_t)1 << (8 * sizeof(void *) - 3))
static inline bool pel_is_small(pel_val v) { return ((uintptr_t)v & 1) != 0; }
static inline int64_t pel_small(pel_val v) { return (int64_t)(intptr_t)v >> 1; }
static inline pel_val pel_from_small(int64_t i) { return (pel_val)(uintptr_t)(((uint64_t)i << 1) | 1); }

#endif
