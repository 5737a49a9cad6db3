/* The log of a run: what the recorder saw, and all that the synthesis may know.
 *
 * The recorder (ext/) fills it in the process where the model runs; a file can carry it elsewhere; the
 * passes of this folder read it without Python or torch. It is a set of tables whose rows refer to each
 * other by number. Row 0 of every table is "none", so 0 never names anything.
 *
 * An *activation* is one call of one author function. It leaves every instruction that it executed, in
 * order, with the value that the instruction pushed. What ran in torch's own Python files, in the
 * standard library and in C leaves nothing but its result, and the activations of author functions that
 * it called back, which hang below the call that led there. */
#ifndef PEL_TRACE_LOG_LOG_H
#define PEL_TRACE_LOG_LOG_H

#include "base/map.h"
#include "bytecode/code.h"

typedef uint32_t pel_id; /* row of a table; 0: none */

/* ---- source files ---- */

typedef struct pel_log_file {
    pel_str path;
    pel_str source; /* as it was on disk; empty where there is none (then the code is decompiled) */
} pel_log_file;

/* ---- author functions ---- */

typedef struct pel_log_code {
    const pel_code_object *code; /* consts hold plain constants only; nested code objects are CONST_CODE */
    pel_id file;
    pel_id class;   /* the class in whose body the function was found, if it is a method */
    pel_str module; /* __module__ of the function's globals: "timm.models.resnet" */
} pel_log_code;

/* ---- classes ---- */

typedef enum pel_class_kind {
    PEL_CLASS_TORCH_MODULE, /* an nn.Module that torch defines: written as path(...) */
    PEL_CLASS_MODULE,       /* an nn.Module that the author defines */
    PEL_CLASS_AUTOGRAD,     /* an author's torch.autograd.Function */
    PEL_CLASS_DATACLASS,    /* author's; includes OrderedDict dataclasses such as model outputs */
    PEL_CLASS_NAMEDTUPLE,
    PEL_CLASS_ENUM,
    PEL_CLASS_LIBRARY, /* importable from torch or the standard library: written as path */
    PEL_CLASS_AUTHOR,  /* any other class of the author's */
} pel_class_kind;

typedef struct pel_log_attribute {
    pel_name name;
    pel_id value;
} pel_log_attribute;

typedef struct pel_log_class {
    pel_class_kind kind;
    pel_name name;
    pel_str qualname, module; /* as the class says; "__main__" where it says so */
    pel_str path;             /* of torch's and the library's: shortest public dotted name, "torch.nn.Linear" */
    pel_id file;
    uint32_t line; /* of the class statement, decorators included; 0 unknown */
    pel_id *bases; /* classes, in order; `object` and nn.Module are rows as well */
    uint32_t n_bases;
    pel_name_list fields; /* of a dataclass or namedtuple, in order */
    /* Of an author's class: what its statement binds, but for methods and the like. Of a record: what its fields are if
     * they are not given; a class stands for a new object of it. */
    pel_log_attribute *constants;
    uint32_t n_constants;
} pel_log_class;

/* ---- values ---- */

typedef enum pel_value_kind {
    PEL_V_NONE_YET, /* row 0: no value */
    PEL_V_CONST,    /* None, bool, int, float, complex, str, bytes, Ellipsis */
    PEL_V_TUPLE,    /* items; class: namedtuple's, or 0 */
    PEL_V_SIZE,     /* torch.Size: items */
    PEL_V_LIST,     /* items, as they were when the value was seen; object tells lists apart */
    PEL_V_SET,
    PEL_V_FROZENSET,
    PEL_V_DICT,     /* items: key, value, key, value ...; class: of a subclass, or 0 */
    PEL_V_SLICE,    /* items: start, stop, step */
    PEL_V_RANGE,    /* items: start, stop, step */
    PEL_V_TENSOR,   /* tensor */
    PEL_V_MODULE,   /* module */
    PEL_V_FUNCTION, /* an author's Python function: code, items: its closure's contents */
    PEL_V_METHOD,   /* items: self, function */
    PEL_V_PARTIAL,  /* functools.partial: items: function, args tuple, kwargs dict */
    PEL_V_CLASS,    /* class */
    PEL_V_LIBRARY,  /* text: the shortest dotted name by which torch or the standard library give it:
                       "torch.nn.functional.gelu", "math.sqrt", "torch.float32", "torch", "len" */
    PEL_V_LITERAL,  /* text: an expression of torch and the standard library that makes an equal
                       object: "torch.device('cpu')"; with `object` there is only one of it in the process */
    PEL_V_OBJECT,   /* any other: class, object; items: attribute name (str), value ... of its __dict__ or slots */
    PEL_V_OPAQUE,   /* of a C type without further meaning (iterators, generators, frames): text: type's name */
} pel_value_kind;

typedef struct pel_value {
    uint8_t kind;      /* enum pel_value_kind */
    uint8_t truncated; /* more items than the recorder keeps: the value is not fully known */
    uint32_t n;
    union {
        const pel_const *constant;
        pel_id tensor, module, class, code;
    };
    union {
        pel_id *items;
        pel_str text;
    };
    uint64_t object; /* identity of a mutable or otherwise distinct object, 0 for plain values */
} pel_value;

/* ---- tensors ---- */

typedef struct pel_log_tensor {
    uint64_t serial;
    pel_str dtype; /* "torch.float32" */
    int64_t *shape;
    uint32_t n_dims;
    uint32_t *order; /* of a registered one that lies in memory as a permuted one does: dimensions, outermost first; or
                        NULL */
    bool requires_grad, is_parameter;
    pel_id owner;  /* module that registers it as parameter or buffer, or holds it as plain attribute */
    pel_name name; /* its name there */
    /* What the skeleton can't get from a state_dict: non-persistent buffers, tensors held as plain attributes. */
    pel_str formula; /* an expression of torch that makes an equal tensor, if one was found; else empty */
    pel_str data;    /* else its elements: contiguous, little-endian, compressed by zlib, as base64 text */
} pel_log_tensor;

/* ---- modules: the tree as it was before the first run ---- */

typedef struct pel_log_slot { /* a parameter or a buffer */
    pel_name name;
    pel_id tensor; /* 0: registered as None */
    bool persistent;
} pel_log_slot;

typedef struct pel_log_argument { /* of a constructor */
    pel_name name; /* empty: a functools.partial of torch's that was called on the module then, as weight_norm is */
    pel_id value;
    bool positional; /* usually written without its name: the signature gives it no default */
    bool is_default; /* the value is the signature's default */
} pel_log_argument;

typedef struct pel_log_module {
    pel_id class;
    pel_str path; /* "encoder.layer.0"; the root's is empty; of modules outside the tree "?" */
    bool in_tree, training;
    bool has_hooks; /* forward hooks or pre-hooks, parametrizations, methods set on the instance */
    pel_name_list child_names;
    pel_id *children; /* modules, as many as child_names; 0: registered as None */
    pel_log_slot *parameters, *buffers;
    uint32_t n_parameters, n_buffers;
    pel_log_attribute *attributes; /* the rest of its __dict__, but for nn.Module's own fields */
    uint32_t n_attributes;
    /* Torch's own classes, and author's classes that inherit from one other than nn.Module: all arguments
     * (defaults too; device and dtype only where they matter) that build an equal module of the torch class,
     * found and tried out by the recorder; and the names of the children, parameters, buffers and attributes that
     * the torch class then makes by itself. Sequential, ModuleList and ModuleDict take their children instead. */
    bool has_arguments;
    pel_log_argument *arguments;
    uint32_t n_arguments;
    pel_name_list made_by_base;
} pel_log_module;

/* ---- activations ----
 *
 * Instructions up to RESUME, and RESUME itself, leave no record. An instruction behind EXTENDED_ARG stands at its own
 * unit, not at the prefix's. One that does two things (pel_op_halves) leaves two records: the second stands at a
 * unit behind the code, its n-th such instruction at the n-th of them. FOR_ITER is a PUSH of the item, or a STEP when
 * the loop ends; if the loop is that of a comprehension in the same frame, the last one is a PUSH of what it made.
 * Loading a method pushes it bound to its object; which value other instructions have is said in ext/units.c. A
 * generator's activation begins where the generator is made and goes on whenever it is resumed: YIELD, then a PUSH at
 * the same unit of what was sent. An activation whose last record is a RAISE ended with that exception; a generator
 * that nobody ran to its end just stops. */

typedef enum pel_record_kind {
    PEL_R_STEP,   /* the instruction ran and pushed nothing of interest */
    PEL_R_PUSH,   /* it ran and `value` was on top of the stack afterwards */
    PEL_R_CHILD,  /* while it ran, activation `value` began (before its own PUSH) */
    PEL_R_RAISE,  /* it raised; `value`: the exception's class value */
    PEL_R_RETURN, /* the activation ended with `value` */
    PEL_R_YIELD,  /* a generator handed out `value`; what follows happened after it was resumed */
} pel_record_kind;

typedef struct pel_record {
    uint32_t at : 28; /* code unit of the instruction: offset / 2 */
    uint32_t kind : 4;
    uint32_t value; /* value, or activation for CHILD */
} pel_record;

typedef struct pel_activation {
    pel_id code;
    pel_id parent;      /* activation; 0 for the root call of a run */
    uint32_t parent_at; /* record number of the CHILD in the parent */
    bool direct;        /* called by the parent's own instruction, with no torch or library frame between */
    uint32_t run;       /* number of the run, from 0 */
    pel_id function;    /* value: the function object, if known */
    pel_id *locals;     /* values of all co_varnames at entry; 0 where unset (arguments come first) */
    pel_id *cells;      /* values of co_cellvars + co_freevars at entry; 0 where empty */
    pel_record *records;
    uint32_t n_records;
} pel_activation;

/* ---- torch events: every call that reached torch's function mode ----
 *
 * A call of one of torch's own modules, with no hooks and nothing of the author's in it, is one event: `function` is
 * then a MODULE. Reading a property is an event if it gives a tensor. Only recorders that were asked for events have
 * them. */

typedef struct pel_event {
    pel_id activation; /* the innermost author activation */
    uint32_t record;   /* number of records it had by then */
    pel_id function;   /* value: LIBRARY, or MODULE */
    pel_id *args;      /* values: positional */
    uint32_t n_args;
    pel_log_attribute *kwargs;
    uint32_t n_kwargs;
    pel_id result;     /* value */
    bool draws_random; /* the generator's state changed */
} pel_event;

typedef struct pel_log_run {
    pel_id root;  /* module */
    pel_id *args; /* values */
    uint32_t n_args;
    pel_log_attribute *kwargs;
    uint32_t n_kwargs;
    pel_id result;     /* value */
    pel_id activation; /* of the root's forward; 0 if torch's own */
    bool training, grad_enabled;
    pel_str label; /* "given", "other size", "train" */
} pel_log_run;

typedef struct pel_log {
    PEL_VEC(pel_log_file) files;
    PEL_VEC(pel_log_code) codes;
    PEL_VEC(pel_log_class) classes;
    PEL_VEC(pel_value) values;
    PEL_VEC(pel_log_tensor) tensors;
    PEL_VEC(pel_log_module) modules;
    PEL_VEC(pel_activation) activations;
    PEL_VEC(pel_event) events;
    PEL_VEC(pel_log_run) runs; /* the only table whose row 0 is a row */
    pel_id root;               /* module */
    pel_str origin;            /* how the model was named by the user: "timm:resnet18" */
    pel_str versions;          /* "Python 3.11.7, torch 2.13.0, timm 1.0.30" */
    bool from_source;          /* src/interp wrote it: nothing was executed; no file carries it */
    PEL_VEC(pel_str) assumed;  /* what it then took for granted, for people */
} pel_log;

pel_log *pel_log_new(pel_ctx *ctx); /* with row 0 of every table */

/* Throws PEL_E_FORMAT if a row refers to what is not there, a record lies outside of its code, or what rows hold has no
 * end. */
void pel_log_check(pel_ctx *ctx, const pel_log *log);

/* The trace file: versioned, compact, hostile when read. */
void pel_log_write(pel_ctx *ctx, const pel_log *log, pel_buf *out);
pel_log *pel_log_read(pel_ctx *ctx, pel_str bytes); /* checked */
bool pel_log_is_file(pel_str bytes);                /* by its first bytes */

/* For people: `pellucid skeleton TRACE --dump`. */
void pel_log_dump(pel_ctx *ctx, const pel_log *log, pel_buf *out);

/* ---- short hands ---- */

static inline const pel_value *pel_value_at(const pel_log *log, pel_id id) { return &log->values.at[id]; }
static inline const pel_log_module *pel_module_at(const pel_log *log, pel_id id) { return &log->modules.at[id]; }
static inline const pel_log_class *pel_class_at(const pel_log *log, pel_id id) { return &log->classes.at[id]; }
/* What an activation returned; 0 if it did not. */
pel_id pel_result_of(const pel_log *log, pel_id activation);
bool pel_value_has_items(pel_value_kind kind);
bool pel_value_is_number(const pel_value *value); /* an int or a float, and no bool */
/* What a dict holds under a key, or an object as an attribute; 0 if nothing. */
pel_id pel_item_named(const pel_log *log, const pel_value *whole, pel_name name);
bool pel_value_has_text(pel_value_kind kind);
const char *pel_value_kind_name(pel_value_kind kind);
/* The class of a module, an object, a named tuple, a dict of a class of its own; 0 for other values. */
pel_id pel_class_with_attributes(const pel_log *log, pel_id value);
/* The value of a module's attribute, 0 if it has none of that name. Parameters, buffers and children don't count. */
bool pel_is_field(const pel_log *log, pel_name name); /* of a record of any class */
pel_id pel_module_attribute(const pel_log *log, pel_id module, pel_name name);
pel_id pel_child_named(const pel_log_module *row, const char *name); /* 0 if there is none */
/* Whether two values are the same plain value: equal constants, tuples of equal items, the same class ... */
bool pel_value_same(const pel_log *log, pel_id a, pel_id b);
/* A member of an author's Enum that is a name and a constant, and nothing else. */
bool pel_is_member(const pel_log *log, const pel_value *value, pel_id *name, pel_id *content);

/* ---- activations and classes ---- */

/* Whether one activation is another, or was led to by it. */
bool pel_is_below(const pel_log *log, pel_id activation, pel_id above);
bool pel_inherits(const pel_log *log, pel_id class, pel_id from); /* or is it */
bool pel_is_mapping(const pel_log *log, pel_id class);            /* inherits from dict */
/* The torch class that a class is or inherits from: torch.nn.Module itself or another one; 0 if none. */
pel_id pel_torch_base(const pel_log *log, pel_id class);
/* The class of torch's or the standard library's that an author's class is one of, where that says more than that it is
 * abstract or generic; 0 if there is none. */
pel_id pel_library_base(const pel_log *log, pel_id class);
typedef enum pel_container {
    PEL_NO_CONTAINER,
    PEL_SEQUENTIAL,
    PEL_MODULE_LIST,
    PEL_MODULE_DICT,
    PEL_PARAMETER_LIST,
    PEL_PARAMETER_DICT
} pel_container;
pel_container pel_container_kind(const pel_log *log, pel_id class); /* which one of torch's it is or inherits from */

#endif
