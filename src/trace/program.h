/* What the synthesis passes hand to each other: the skeleton in the making.
 *
 * passes.def has all steps in order. The walk (with synth.h and link.h) writes the bodies of functions and methods;
 * from there on each has its name and definition, and passes make them shorter; init writes the constructors from the
 * module tree; emit puts all in one file in an order that Python can read, with its imports and header. */
#ifndef PEL_TRACE_PROGRAM_H
#define PEL_TRACE_PROGRAM_H

#include "python/ast.h"
#include "trace/log/log.h"

/* How much of what a function calls its straight line takes in. */
typedef enum pel_straight_level {
    PEL_STRAIGHT_TEXT = 0,  /* none: it has its author's text */
    PEL_STRAIGHT_CALLS = 1, /* calls of modules stay calls */
    PEL_STRAIGHT_FLAT = 2,  /* nothing but torch's own */
} pel_straight_level;

/* One function of the output: the specialisation of one author function over all its lanes. */
typedef struct pel_program_function {
    pel_id code;      /* whose specialisation; 0 for one that has no author's code */
    pel_id class;     /* a method of this class, or 0 for a function of the file */
    pel_name name;    /* in the output */
    pel_node *def;    /* FunctionDef, complete */
    bool from_source; /* false: written by the straight-line fallback */
    bool is_property, is_static, is_classmethod;
    PEL_VEC(pel_id) activations; /* its lanes */
    bool dead;                   /* nothing calls it any more */
    pel_nodes after;             /* statements of the file that follow it */
} pel_program_function;

/* An attribute of self that methods of a class read and that is neither child, parameter nor buffer:
 * the constructor must set it. */
typedef struct pel_needed_attribute {
    pel_name name;  /* as the output reads it: self.<name> */
    pel_name of;    /* attribute of the original it comes from, or NULL where values says all */
    pel_map values; /* module -> value (log values); a module that is absent here takes the attribute `of` */
} pel_needed_attribute;

typedef struct pel_program_class {
    pel_id class;  /* whose; the author's name is kept, made unique if two authors' classes share it */
    pel_name name; /* in the output */
    PEL_VEC(pel_program_function *) methods;
    bool is_given;                       /* callers pass instances of it */
    PEL_VEC(pel_id) instances;           /* modules of exactly this class */
    PEL_VEC(pel_needed_attribute) needs; /* filled by lanes and link, read by init */
    pel_node *init;                      /* FunctionDef `__init__`, by init */
    pel_nodes modes;                     /* the author's train() and eval(), by init */
    pel_node *def; /* whole ClassDef for classes that are no modules (dataclasses, caches, autograd functions);
                      bases and methods then count for nothing */
} pel_program_class;

typedef struct pel_remark { /* goes to the header and the report */
    enum { PEL_REMARK_FALLBACK, PEL_REMARK_REFUSED, PEL_REMARK_STEP } kind;
    pel_str text;
    pel_id file;
    uint32_t line;
} pel_remark;

/* An object that functions share: a variable of the file. */
typedef struct pel_global {
    uint64_t object; /* its identity, or that of a name of some file */
    pel_name name;
    pel_node *value;
} pel_global;

/* What an operator that an author gave torch.library is made of: functions of one file. */
typedef enum pel_operator_part {
    PEL_OPERATOR_KERNEL,
    PEL_OPERATOR_FAKE, /* for tensors without values */
    PEL_OPERATOR_SETUP,
    PEL_OPERATOR_BACKWARD,
    PEL_N_OPERATOR_PARTS,
} pel_operator_part;

/* Such an operator: the output registers it again, under a name of its own. */
typedef struct pel_operator {
    pel_str path; /* torch.ops.namespace.name */
    pel_str schema;
    pel_name name;                        /* of its function in the output */
    pel_id code;                          /* of its kernel */
    uint32_t lines[PEL_N_OPERATOR_PARTS]; /* of the file, where they begin; 0: there is none */
} pel_operator;

/* A method that its module registers as a forward hook of another one. */
typedef struct pel_registration {
    pel_id owner, module;
    pel_name method;
    bool before, with_kwargs;
} pel_registration;

typedef struct pel_registered {
    pel_map hooked; /* module of torch's with forward hooks -> the class that stands for it */
    PEL_VEC(pel_registration) registrations;
} pel_registered;

/* A function that has no text and would have to have one. */
typedef struct pel_refused {
    pel_id code;
    pel_str why;
} pel_refused;

/* A function whose text proved wrong: the one that begins in a line of a file. */
typedef struct pel_retreat {
    pel_str path;
    uint32_t line;
} pel_retreat;

/* What whoever runs the model found out about it. */
typedef struct pel_known {
    PEL_VEC(pel_retreat)
    retreats; /* one step back for each (synthesise.c has the steps) */
    /* Classes, as module.qualname, whose own train() does what nn.Module's does; with "eval " in front, of which that
     * is so in eval mode; with "pytree ", records that torch's trees of values know. And operators that authors
     * registered: "operator torch.ops.namespace.name", schema, and the lines of their parts, a line of text each.
     * "rates", a formula and its numbers, a line each: a row that attributes of one name are from (write/rates.c).
     * PEL_NUMBERS_BY_NAME: every number that the author keeps in a module is written by its name there, whatever it is.
     */
    PEL_VEC(pel_str) class_facts;
} pel_known;

#define PEL_NUMBERS_BY_NAME "numbers by name"

/* What somebody wants to see of the passes (passes.def). */
typedef struct pel_pass_watch {
    pel_str dump; /* the pass after which the program is printed; empty: none */
    pel_buf *out; /* where to */
    bool check;   /* every pass is followed by its checker */
} pel_pass_watch;

/* Rows of sets of pel_node_note; nodes have their numbers: depends/notes.h. */
typedef struct pel_note_table {
    PEL_VEC(uint16_t) rows;
} pel_note_table;

/* What is said of functions, beside their text. */
typedef struct pel_said {
    PEL_VEC(pel_remark) remarks;
    PEL_VEC(pel_refused) refused;
    PEL_VEC(pel_id) roundabout; /* codes of those whose calls of torch would say more than their text does */
} pel_said;

typedef struct pel_program {
    const pel_log *log;
    pel_note_table *notes;
    const pel_pass_watch *watch;               /* NULL: nobody looks */
    const pel_known *known;                    /* NULL: nobody ran the model */
    pel_str text;                              /* the file, by emit */
    const struct pel_author *authors;          /* a row per code, by lanes; NULL if no code is looked at */
    PEL_VEC(pel_program_function *) functions; /* all of them, methods too */
    PEL_VEC(pel_program_class *) classes;
    PEL_VEC(pel_global) globals;
    PEL_VEC(pel_operator) operators;
    pel_registered hooks;
    PEL_VEC(pel_name) imports; /* dotted modules that the bodies use: "torch.nn.functional", "math" */
    pel_said said;
    PEL_VEC(pel_id) embedded; /* tensors whose elements stand at the end of the file */
    pel_name root;            /* name of the root class */
    pel_map straight;         /* codes that are written as what they were seen to do -> pel_straight_level */
    pel_map changed;          /* class of objects, no modules, that the run changes -> 1 */
    pel_map held;             /* code of a function that instances hold -> the Name node that has its final name */
    bool only_construction;   /* constructors and nothing else: no code reads what they make */
} pel_program;

pel_program *pel_program_new(pel_ctx *ctx, const pel_log *log);

/* The whole way: log -> source text. */
typedef struct pel_skeleton {
    pel_str source;
    pel_name root;
    pel_program *program;
} pel_skeleton;
void pel_synthesise(pel_ctx *ctx, const pel_log *log, pel_skeleton *out);
/* The same, looked at: what the watch wants of the passes. */
void pel_synthesise_watched(pel_ctx *ctx, const pel_log *log, const pel_pass_watch *watch, pel_skeleton *out);
/* The module tree alone: classes with their constructors. */
void pel_write_construction(pel_ctx *ctx, const pel_log *log, pel_skeleton *out);

/* With what whoever ran the model found out about it. Retreats need a log with events. */
void pel_synthesise_knowing(pel_ctx *ctx, const pel_log *log, const pel_known *known, pel_skeleton *out);

/* ---- passes over the program; those over functions in the making are in synth.h and link.h ---- */
#define PEL_LINE_LENGTH 110 /* that passes which make lines longer keep to */
/* x = e; return x: two statements that are `return e`. */
bool pel_returns_it(const pel_node *assign, const pel_node *next);
void pel_init(pel_ctx *ctx, pel_program *program);
void pel_write_numbers(pel_ctx *ctx, pel_program *program);
bool pel_is_computed(pel_ctx *ctx, const pel_node *node); /* a number of so many digits that nobody wrote it */
void pel_write_rates(pel_ctx *ctx, pel_program *program, pel_str fact); /* a row of known->class_facts */
void pel_write_file(pel_ctx *ctx, pel_program *program);                /* fills in program->text */

/* Of a method that ran and stands in the class's statement: `within` is the statement, `file` what it stands in. */
const struct pel_author *pel_author_of_class(const pel_program *program, pel_id class);
const pel_node *pel_author_inherits(pel_ctx *ctx, const pel_program *program, pel_id class); /* super().__init__(...) */
/* The parameters of the author's constructor of a class; NULL: not known. */
const pel_node *pel_author_parameters(pel_ctx *ctx, const pel_program *program, pel_id class);
/* The author's expression for an attribute in the constructor of a class, to compare with ours; NULL: none, or several
 * of which no one fits. */
const pel_node *pel_author_builds(pel_ctx *ctx, const pel_program *program, pel_id class, pel_name attribute,
                                  const pel_node *ours);

/* The row of an author's class, which is new if nothing asked for it before. */
pel_program_class *pel_class_row(pel_ctx *ctx, pel_program *program, pel_id class);
/* The row of an operator, new or not; NULL: how it was made is not known. code: of its kernel. */
pel_operator *pel_operator_row(pel_ctx *ctx, pel_program *program, pel_str path, pel_id code);
/* wish, or wish_2 ...: a name that no function and no class of the file has. */
pel_name pel_unused_name(pel_ctx *ctx, const pel_program *program, pel_name wish);
bool pel_is_bound_by_imports(pel_str name);

/* An object that instances of a class hold can't be written: functions that were given it, or a part of it, count as
 * refused; if there are none, the methods of the class. */
void pel_refuse_users(pel_ctx *ctx, pel_program *program, pel_id class, pel_id value);

/* The line that verification replaces by its verdict. */
#define PEL_VERDICT_LINE "Verification: not run."

/* The expression that rebuilds a plain value: a literal, a dotted library name, a tuple of such. NULL if there
 * is none. Adds what it needs to program->imports. Library paths are written with the usual short names:
 * torch, nn, F, math ... */
pel_node *pel_value_expression(pel_ctx *ctx, pel_program *program, pel_id value);
/* The name of the file's variable that holds an object. key: what tells it from others; wish: what the author calls it.
 */
pel_node *pel_global_expression(pel_ctx *ctx, pel_program *program, pel_id value, uint64_t key, pel_name wish);
/* The same for a tensor that the module tree holds: its formula, or embedded data. NULL if neither is known. */
pel_node *pel_tensor_expression(pel_ctx *ctx, pel_program *program, pel_id tensor);
#define PEL_EMBEDDED "_embedded" /* the function at the end of the file that makes a tensor of embedded data */
/* One that the author's file, class or table holds, and no module. */
bool pel_is_constant_tensor(const pel_log *log, const pel_value *value);
bool pel_is_builtin(pel_str name); /* one of Python's own that a text may mean */
/* The name node for a library path: "torch.nn.functional.gelu" -> F.gelu, with its import. */
pel_node *pel_library_expression(pel_ctx *ctx, pel_program *program, pel_str path);

#endif
